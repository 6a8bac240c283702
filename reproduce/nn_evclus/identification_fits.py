"""Candidates for the unidentified data of Table 2, and fits of the methods of Table 3 that we can reproduce."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import kruskal
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS
from reproduce.data import standardised, stored, table
from reproduce.nn_evclus.attribute_fits import estimator

# of the dissimilarities, for d0 with more than four clusters; the paper does not say which
QUANTILES = (0.5, 0.2, 0.1)
# Methods to compare, fast ones first. With many clusters, our CCM, NN-EVCLUS, sECMdd, wECMdd and
# BootClus are far from the printed scores on identified data as well.
FEW = ("ECM", "CCM", "ECM-bp", "CCM-bp", "wECMdd", "EVCLUS")
MANY = ("ECM", "EVCLUS")
SCREENING = {"Mice": FEW, "Leaves5p1": MANY, "Letters4p1": MANY}
CONFIRMING = {
    "Mice": ("NN-EVCLUS", "BootClus"),
    "Leaves5p1": ("EVCLUS",),
    "Letters4p1": ("EVCLUS",),
}
IDENTIFIED = {
    "Mice": ("Wine", "Ecoli", "Heart", "Seeds"),
    "Leaves5p1": ("Segment", "S2", "S4", "D31"),
}
IDENTIFIED["Letters4p1"] = IDENTIFIED["Leaves5p1"]


@dataclass(frozen=True)
class Candidate:
    """Subset of letters, species or proteins (positions in the full data)."""

    family: str
    chosen: tuple[int, ...]
    standardise: bool
    source: str  # data file

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the attributes and the classes 0, 1, ..."""
        X, y = _complete(self.source)
        if self.source == "Mice":
            X = X[:, list(self.chosen)]
        else:
            kept = np.isin(y, self.chosen)
            X = X[kept]
            y = np.unique(y[kept], return_inverse=True)[1]
        return (standardised(X) if self.standardise else X), y

    @property
    def names(self) -> list[str]:
        """Names of the letters, species or proteins."""
        data = stored(self.source.lower())
        if self.source == "Mice":
            names = data["columns"][_complete_proteins()]
        else:
            names = data["names"]
        return [str(names[k]) for k in self.chosen]


@cache
def _complete(source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return attributes and classes of the full data, for Mice of the 507 objects and 71 proteins without missing."""
    if source == "Mice":
        return table("Mice", standardise=False)
    data = stored(source)
    return data["X"].astype(float), data["y"]


def _complete_proteins() -> np.ndarray:
    """Return the columns of the file that are complete for the 507 trisomic objects."""
    data = stored("mice")
    trisomic = np.char.startswith(data["names"][data["y"]], "t-") & (
        np.isnan(data["X"]).sum(axis=1) <= 10
    )
    return np.flatnonzero(~np.isnan(data["X"][trisomic]).any(axis=0))


# ---- candidates ----------------------------------------------------------------------------------


def letters() -> list[Candidate]:
    """Return all sets of six letters with 4634 objects."""
    y = stored("letter")["y"]
    sizes = np.bincount(y)
    order = list(dict.fromkeys(y.tolist()))
    sets = [
        chosen
        for chosen in combinations(range(26), 6)
        if sizes[list(chosen)].sum() == 4634
    ]
    families = dict.fromkeys(sets, "other six letters")
    # The second of the four parts 0-5, 6-11, 12-17 and 18-23 is the only one with this size.
    for k in range(21):
        chosen = tuple(sorted(order[k : k + 6]))
        if chosen in families:
            families[chosen] = (
                f"{'part 2 of 4' if k == 6 else 'other six in a row'}, in the order of the file"
            )
    return [
        Candidate(families[s], s, scaled, "letter")
        for s in sets
        for scaled in (True, False)
    ]


def leaves(n_random: int = 200) -> list[Candidate]:
    """Return the regular sets of twenty species with 320 leaves, and random sets of species described by shape."""
    rng = np.random.default_rng(0)
    found = []
    for source in ("leaves_shape", "leaves_margin", "leaves_texture"):
        y = stored(source)["y"]
        sizes = np.bincount(y)
        orders = {"order of the names": list(range(100))}
        if (np.diff(y) < 0).any():
            orders["order of the file"] = list(dict.fromkeys(y.tolist()))
        families = {
            f"{order}, {name}": sets
            for order, species in orders.items()
            for name, sets in (
                ("part 1 of 5", [species[:20]]),
                ("part 2 of 5", [species[20:40]]),
                (
                    "others in a row",
                    [species[k : k + 20] for k in range(81) if k not in (0, 20)],
                ),
                ("every fifth", [species[k::5] for k in range(5)]),
            )
        }
        if source == "leaves_shape":
            families["random"] = [
                rng.choice(100, 20, replace=False).tolist() for _ in range(n_random)
            ]
        found += [
            Candidate(
                f"{source.removeprefix('leaves_')}: {family}",
                tuple(chosen),
                scaled,
                source,
            )
            for family, sets in families.items()
            for chosen in sets
            if sizes[chosen].sum() == 320
            for scaled in (True, False)
        ]
    return found


def mice(n_random: int = 300) -> list[Candidate]:
    """Return sets of 22 complete proteins: the most discriminant ones of one or two comparisons, and random ones."""
    data = stored("mice")
    group = np.where(
        np.isnan(data["X"]).sum(axis=1) <= 10, data["names"][data["y"]], ""
    )
    X = data["X"][:, _complete_proteins()]
    trisomic = ["t-CS-m", "t-CS-s", "t-SC-m", "t-SC-s"]
    comparisons = [*combinations(trisomic, 2), tuple(trisomic)]
    ranking = {  # The most discriminant protein comes first.
        groups: np.argsort(
            [
                kruskal(*(X[group == g, j] for g in groups)).pvalue
                for j in range(X.shape[1])
            ],
            kind="stable",
        )
        for groups in comparisons
    }
    alternating = [
        np.column_stack(pair).ravel() for pair in combinations(ranking.values(), 2)
    ]
    rng = np.random.default_rng(0)
    sets: dict[str, list[Any]] = {
        "most discriminant, one comparison": [order[:22] for order in ranking.values()],
        "most discriminant, two comparisons": [
            list(dict.fromkeys(order.tolist()))[:22] for order in alternating
        ],
        "random": [rng.choice(X.shape[1], 22, replace=False) for _ in range(n_random)],
    }
    return [
        Candidate(family, tuple(sorted(map(int, chosen))), scaled, "Mice")
        for family, several in sets.items()
        for chosen in several
        for scaled in (True, False)
    ]


CANDIDATES = {"Letters4p1": letters, "Leaves5p1": leaves, "Mice": mice}


# ---- fits ----------------------------------------------------------------------------------------


def fit(
    method: str, data: str, X: np.ndarray, y: np.ndarray, quantile: float | None = None
) -> dict[str, float]:
    """Return the ARI of a method; of EVCLUS with more than four clusters for each quantile.

    With more than four clusters EVCLUS starts from medoids and uses landmarks, which takes a
    fiftieth of the time, unless a quantile is given: then it has the settings of the paper.
    """
    c = int(y.max()) + 1
    if method != "EVCLUS" or c <= 4:
        return {method: _ari(estimator(method, data, X, c, 0), X, y)}
    if quantile is not None:
        return {
            method: _ari(
                estimator(method, data, X, c, 0).set_params(d0_quantile=quantile), X, y
            )
        }
    models = {
        q: EVCLUS(c, focal_sets="simple", d0_quantile=q, random_state=0, n_jobs=1)
        for q in QUANTILES
    }
    return {f"{method} {q}": _ari(model, X, y) for q, model in models.items()}


def _ari(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(adjusted_rand_score(y, model.fit(X).credal_partition_.labels))


def nearest(scores: dict[str, float], method: str, printed: float) -> str:
    """Return the key of the score of a method.

    Of several quantiles the one whose score is nearest to the printed.
    """
    return min(
        (name for name in scores if name.split(" ")[0] == method),
        key=lambda name: abs(scores[name] - printed),
    )


def calibrate(data: str, methods: Sequence[str]) -> dict[str, Any]:
    """Return the scores on identified data."""
    X, y = table(data)
    return {
        "scores": {
            k: s for method in methods for k, s in fit(method, data, X, y).items()
        }
    }


def screen(
    data: str,
    candidates: list[dict[str, Any]],
    methods: Sequence[str],
    quantile: float | None = None,
) -> dict[str, Any]:
    """Return the scores on several candidates."""
    loaded = [Candidate(**arguments).load() for arguments in candidates]
    return {
        "scores": [
            {k: s for m in methods for k, s in fit(m, data, X, y, quantile).items()}
            for X, y in loaded
        ]
    }


def distance(
    scores: dict[str, float], printed: dict[str, float], tolerances: dict[str, float]
) -> float:
    """Return the largest difference from the printed scores in units of the tolerance.

    At most 1 is agreement.
    """
    methods = {name.split(" ")[0] for name in scores} & set(tolerances)
    return max(
        abs(scores[nearest(scores, m, printed[m])] - printed[m]) / tolerances[m]
        for m in methods
    )


def climb(
    candidate: dict[str, Any],
    n_steps: int,
    printed: dict[str, float],
    tolerances: dict[str, float],
) -> dict[str, Any]:
    """Exchange single proteins of a set, as long as the scores come closer to the printed ones, until they agree."""
    start = Candidate(**candidate)
    n_proteins = len(_complete_proteins())
    rng = np.random.default_rng(0)
    chosen = list(start.chosen)
    best = np.inf
    for step in range(n_steps + 1):
        trial = list(chosen)
        if step:
            trial[int(rng.integers(len(trial)))] = int(
                rng.choice(np.setdiff1d(np.arange(n_proteins), chosen))
            )
        X, y = replace(start, chosen=tuple(trial)).load()
        worst = 0.0
        for method in (m for m in FEW if m in tolerances):
            worst = max(worst, distance(fit(method, "Mice", X, y), printed, tolerances))
            if worst >= best:
                break
        else:
            best = worst
            chosen = trial
        if best <= 1:
            break
    return {
        "distance": best,
        "names": sorted(replace(start, chosen=tuple(chosen)).names),
        "steps": step,
    }


def as_arguments(
    candidates: Sequence[Candidate], size: int
) -> list[list[dict[str, Any]]]:
    """Divide candidates into blocks that can be saved."""
    plain = [asdict(candidate) for candidate in candidates]
    return [plain[k : k + size] for k in range(0, len(plain), size)]
