"""Compare the coverage and the size of conformal sets with other packages: ``python -m benchmarks.conformal``.

All packages get the same fitted classifier, calibration objects and new objects, in several random
divisions of ten public data sets into three equal parts. The script writes
``benchmarks/CONFORMAL.md``. It needs the folder of shared data, and mapie, crepes and puncc, which
are not dependencies of the package.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import shared_folder
from dempster import MassFunctions
from dempster.belief import merge_e_values, merge_p_values, p_to_e_values
from dempster.classify import ConformalClassifier, EKNNClassifier
from dempster.cluster import ConformalClustering

PAGE = Path(__file__).with_name("CONFORMAL.md")
SETS = (
    "wine",
    "seeds",
    "glass",
    "ecoli",
    "ionosphere",
    "vehicles",
    "heart",
    "diabetes",
    "vowel",
)
CONFIDENCES = (0.9, 0.95)
MIN_OBJECTS = 20  # in a class; smaller classes are removed
MAX_OBJECTS = 1000
N_DIVISIONS = 10
EMPTY_CONFIDENCES = (0.8, 0.9, 0.95)
N_EMPTY_DIVISIONS = 20
N_DRAWS = 50  # of each mixture, for clusters

Sets = Callable[..., np.ndarray]


def data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    folder = shared_folder()
    if folder is None:
        sys.exit("the folder of shared data is missing")
    stored = {
        name: np.load(folder / "data" / f"{name}.npz", allow_pickle=False)
        for name in SETS
    }
    pairs = {"iris": load_iris(return_X_y=True)} | {
        name: (one["X"], one["y"]) for name, one in stored.items()
    }
    for name, (X, y) in pairs.items():
        codes, counts = np.unique(y, return_inverse=True, return_counts=True)[1:]
        keep = np.flatnonzero(counts[codes] >= MIN_OBJECTS)
        keep = np.random.default_rng(0).permutation(keep)[:MAX_OBJECTS]
        yield (
            name,
            StandardScaler().fit_transform(X[keep].astype(float)),
            np.unique(y[keep], return_inverse=True)[1],
        )


def sets_of_dempster(model, score, X, y, new, confidence):
    """Return the sets by p-values alone, without the rules for novel objects and empty sets."""
    one = ConformalClassifier(
        FrozenEstimator(model), conformity=score, confidence=confidence
    ).fit(X, y)
    return one.select_classes(one.p_values(new))


def sets_of_mapie(model, score, X, y, new, confidence):
    from mapie.classification import SplitConformalClassifier

    last = {"lac": None, "aps": True, "aps, randomized": "randomized"}[score]
    one = SplitConformalClassifier(
        model, confidence_level=confidence, conformity_score=score[:3], prefit=True
    )
    if last:
        options = {"conformity_score_params": {"include_last_label": last}}
    else:
        options = {}
    return one.conformalize(X, y).predict_set(new, **options)[1][:, :, 0]


def sets_of_crepes(model, score, X, y, new, confidence):
    from crepes import WrapClassifier

    one = WrapClassifier(model)
    one.calibrate(X, y)
    return one.predict_set(
        new, labels=False, confidence=confidence, smoothing=False
    ).astype(bool)


def sets_of_puncc(model, score, X, y, new, confidence):
    from deel.puncc.api.prediction import BasePredictor
    from deel.puncc.classification import APS, LAC

    class Probabilities(BasePredictor):
        def predict(self, X, **options):
            return self.model.predict_proba(X)

    predictor = Probabilities(model, is_trained=True)
    if score == "lac":
        one = LAC(predictor, train=False)
    else:
        one = APS(predictor, train=False, rand=score != "aps")
    one.fit(X_calib=X, y_calib=y)
    out = np.zeros((len(new), len(model.classes_)), dtype=bool)
    for i, members in enumerate(one.predict(new, alpha=1 - confidence)[1]):
        out[i, list(members)] = True
    return out


PACKAGES: dict[str, tuple[Sets, tuple[str, ...]]] = {
    "dempster": (sets_of_dempster, ("lac", "aps")),
    "mapie": (sets_of_mapie, ("lac", "aps", "aps, randomized")),
    "crepes": (sets_of_crepes, ("lac",)),
    "puncc": (sets_of_puncc, ("lac", "aps", "aps, randomized")),
}


def compare_packages() -> dict[tuple[str, str, str, float], np.ndarray]:
    """Return mean coverage and size by data set, score and classifier, package, and confidence."""
    found: dict[tuple[str, str, str, float], list[tuple[float, float]]] = {}
    for name, X, y in data_sets():
        for division in range(N_DIVISIONS):
            rng = np.random.default_rng(division)
            train, known, new = np.array_split(rng.permutation(len(X)), 3)
            while len(np.unique(y[train])) < len(np.unique(y)):
                train, known, new = np.array_split(rng.permutation(len(X)), 3)
            logistic = LogisticRegression(max_iter=2000).fit(X[train], y[train])
            neighbors = EKNNClassifier(10).fit(X[train], y[train])
            runs = [
                (f"{score}, logistic regression", package, function, logistic, score)
                for package, (function, scores) in PACKAGES.items()
                for score in scores
                # its APS needs three classes
                if package != "mapie" or score == "lac" or len(logistic.classes_) > 2
            ]
            runs += [
                (f"{score}, EK-NN", "dempster", sets_of_dempster, neighbors, score)
                for score in ("lac", "aps", "plausibility")
            ]
            for confidence in CONFIDENCES:
                for title, package, function, model, score in runs:
                    sets = function(
                        model, score, X[known], y[known], X[new], confidence
                    )
                    hits = sets[np.arange(len(new)), y[new]].mean()
                    found.setdefault((name, title, package, confidence), []).append(
                        (hits, sets.sum(axis=1).mean())
                    )
        print(name, flush=True)
    return {key: np.mean(values, axis=0) for key, values in found.items()}


# ---- empty sets ----------------------------------------------------------------------------------


def draw_division(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Return known and new objects with their classes, 600 and 300 at most."""
    rng = np.random.default_rng(seed)
    if name == "four classes that overlap":
        centers = np.random.default_rng(5).normal(size=(4, 3)) * 1.6
        y = rng.integers(0, 4, 900)
        X = centers[y] + rng.normal(size=(900, 3))
    else:
        load = {
            "breast cancer": load_breast_cancer,
            "wine": load_wine,
            "digits": load_digits,
        }[name]
        X, y = load(return_X_y=True)
    order = rng.permutation(len(X))[:900]
    known, new = np.split(order, [2 * len(order) // 3])
    return X[known], y[known], X[new], y[new]


def compare_empty_sets() -> Iterator[str]:
    """Yield rows of a table of coverage, mean size and share of empty sets at each confidence."""
    variants = {
        "lac, p-values alone": {},
        "lac": {},
        "aps": {"conformity": "aps"},
        "lac, by class": {"by_class": True},
    }
    for name in ("breast cancer", "wine", "digits", "four classes that overlap"):
        for title, options in variants.items():
            cells = []
            for confidence in EMPTY_CONFIDENCES:
                results = []
                for seed in range(N_EMPTY_DIVISIONS):
                    X, y, new, truth = draw_division(name, seed)
                    model = ConformalClassifier(
                        make_pipeline(StandardScaler(), LogisticRegression()),
                        confidence=confidence,
                        random_state=seed,
                        **options,
                    ).fit(X, y)
                    if "alone" in title:
                        sets = model.select_classes(model.p_values(new))
                    else:
                        sets = model.predict_set(new)
                    size = sets.sum(axis=1)
                    hits = sets[np.arange(len(new)), truth]
                    results.append([hits.mean(), size.mean(), np.mean(size == 0)])
                cells.append(
                    "{:.3f} / {:.2f} / {:.3f}".format(*np.mean(results, axis=0))
                )
            yield f"| {name} | {title} | " + " | ".join(cells) + " |"
            print(name, title, flush=True)


def describe_empty_sets() -> list[str]:
    """Return the section on empty sets."""
    titles = " | ".join(f"{confidence:g}" for confidence in EMPTY_CONFIDENCES)
    return [
        "",
        "## Empty sets",
        "",
        "Coverage, mean size and share of empty sets at three confidences, logistic regression, "
        f"means over {N_EMPTY_DIVISIONS} divisions into 600 known and 300 new objects (118 and 60 "
        "for wine, 379 and 190 for breast cancer); 30% of the known objects are for calibration.",
        "",
        f"| data | sets | {titles} |",
        "|:--|:--|" + "--:|" * len(EMPTY_CONFIDENCES),
        *compare_empty_sets(),
    ]


# ---- clusters ------------------------------------------------------------------------------------


def draw_mixture(
    kind: str, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    centers = {
        "separated": [[0, 0], [4, 0], [0, 4]],
        "overlapping": [[0, 0], [2.5, 0], [0, 2.5]],
        "two that overlap": [[0, 0], [2, 0]],
        "five in three dimensions": [
            [0, 0, 0],
            [3, 0, 0],
            [0, 3, 0],
            [0, 0, 3],
            [3, 3, 3],
        ],
        "unequal spread": [[0, 0], [4, 0], [0, 4]],
        "heavy tails (misspecified)": [[0, 0], [4, 0], [0, 4]],
        "uniform squares (misspecified)": [[0, 0], [2.5, 0], [0, 2.5]],
    }[kind]
    y = rng.integers(0, len(centers), n)
    noise = rng.normal(size=(n, len(centers[0])))
    if kind == "unequal spread":
        noise *= np.array([0.6, 1.0, 1.5])[y][:, None]
    if kind.startswith("heavy"):
        noise = rng.standard_t(2, size=noise.shape)
    if kind.startswith("uniform"):
        noise = rng.uniform(-1.7, 1.7, size=noise.shape)
    return np.asarray(centers, dtype=float)[y] + noise, y


MIXTURES = (
    "separated",
    "overlapping",
    "two that overlap",
    "five in three dimensions",
    "unequal spread",
    "heavy tails (misspecified)",
    "uniform squares (misspecified)",
)


def cover_clusters(
    model: ConformalClustering, new: np.ndarray, truth: np.ndarray
) -> list[float]:
    """Return coverage of the true components, matched one to one with the clusters, and mean size at each confidence."""
    p_values = model.predict_mass(new).contour
    found = model.predict(new)
    counts = np.zeros((p_values.shape[1], truth.max() + 1))
    np.add.at(counts, (found, truth), 1)
    clusters, components = linear_sum_assignment(-counts)
    cluster_of = np.empty(counts.shape[1], dtype=int)
    cluster_of[components] = clusters
    results = []
    for confidence in CONFIDENCES:
        sets = p_values > 1 - confidence + 1e-9
        results += [
            sets[np.arange(len(new)), cluster_of[truth]].mean(),
            sets.sum(axis=1).mean(),
        ]
    return results


def compare_clusterings() -> dict[tuple[str, int], np.ndarray]:
    """Return mean coverage and size at each confidence, and stability, by mixture and number of refits."""
    found: dict[tuple[str, int], list[list[float]]] = {}
    for kind in MIXTURES:
        for draw in range(N_DRAWS):
            X, y = draw_mixture(kind, 1500, np.random.default_rng([1, draw]))
            mixture = GaussianMixture(y.max() + 1, n_init=2, random_state=0)
            for n_refits in (0, 12):  # 0: the published method
                model = ConformalClustering(
                    mixture, confidence=0.95, n_refits=n_refits, random_state=draw
                ).fit(X[:500])
                found.setdefault((kind, n_refits), []).append(
                    [*cover_clusters(model, X[500:], y[500:]), model.stability_]
                )
        print(kind, flush=True)
    return {key: np.mean(values, axis=0) for key, values in found.items()}


# ---- combination ---------------------------------------------------------------------------------


def combine_sources() -> dict[tuple[str, str], tuple[float, float]]:
    """Return coverage and size at 0.9 of two conformal sources and of their combinations."""
    results: dict[tuple[str, str], list[tuple[float, float]]] = {}
    centers = np.array([[0, 0, 0, 0], [2, 0, 2, 0], [0, 2, 0, 2.0]])
    for draw in range(40):
        rng = np.random.default_rng(draw)
        y = rng.integers(0, 3, 2000)
        X = centers[y] + rng.normal(size=(2000, 4))
        for title, columns in (
            ("independent attributes", [[0, 1], [2, 3]]),
            ("the same attributes", [[0, 1], [0, 1]]),
        ):
            models = [
                ConformalClassifier(
                    LogisticRegression(), random_state=draw + 1000 * s
                ).fit(X[:1000][:, part], y[:1000])
                for s, part in enumerate(columns)
            ]
            p = np.array(
                [
                    model.p_values(X[1000:][:, part])
                    for model, part in zip(models, columns, strict=True)
                ]
            )
            masses = [MassFunctions.from_contour(one) for one in p]
            contours = {
                "one source": p[0],
                "Dempster's rule": masses[0].combine(masses[1]).contour,
                "conjunctive rule": masses[0]
                .combine(masses[1], rule="conjunctive")
                .contour,
                "twice the mean p-value": merge_p_values(p),
                "mean e-value": np.minimum(
                    1, 1 / merge_e_values(p_to_e_values(np.clip(p, 1e-9, 1)))
                ),
            }
            for rule, contour in contours.items():
                sets = contour > 0.1
                hits = sets[np.arange(1000), y[1000:]].mean()
                results.setdefault((title, rule), []).append(
                    (hits, sets.sum(axis=1).mean())
                )
    return {key: tuple(np.mean(values, axis=0)) for key, values in results.items()}


# ---- page ----------------------------------------------------------------------------------------


def write_page() -> None:
    packages = ", ".join(
        f"{name} {version(name)}"
        for name in ("dempster", "mapie", "crepes", "puncc", "scikit-learn")
    )
    lines = [
        "# Conformal sets: coverage and size",
        "",
        f"Written by `python -m benchmarks.conformal` with {packages}.",
    ]
    sizes = compare_packages()
    names = list(dict.fromkeys(key[0] for key in sizes))
    columns = list(dict.fromkeys(key[1:3] for key in sizes))
    for confidence in CONFIDENCES:
        lines += ["", f"## Coverage and mean size at confidence {confidence:g}", ""]
        lines += [
            "Means over ten divisions into training, calibration and new objects.",
            "",
        ]
        lines += [
            "| score, classifier | package | " + " | ".join(names) + " |",
            "|:--|:--|" + "--:|" * len(names),
        ]
        for title, package in columns:
            values = [sizes.get((name, title, package, confidence)) for name in names]
            cells = " | ".join(
                "" if one is None else f"{one[0]:.3f} / {one[1]:.2f}" for one in values
            )
            lines.append(f"| {title} | {package} | {cells} |")
        for rival in ("lac, EK-NN", "lac, logistic regression"):
            ours = [
                sizes[name, "plausibility, EK-NN", "dempster", confidence][1]
                for name in names
            ]
            others = [sizes[name, rival, "dempster", confidence][1] for name in names]
            n_smaller = sum(a < b for a, b in zip(ours, others, strict=True))
            lines += [
                "",
                f"plausibility, EK-NN: smaller sets than {rival} on {n_smaller} of {len(names)} data sets.",
            ]
    lines += describe_empty_sets()
    clusters = compare_clusterings()
    lines += ["", "## Clusters", ""]
    error = "the standard error is about 0.004 (0.02 for heavy tails)"
    lines += [
        f"500 objects, Gaussian mixture of scikit-learn, {N_DRAWS} draws; {error}.",
        "",
    ]
    titles = [
        f"{name}, {c:g}"
        for c in CONFIDENCES
        for name in ("published method", "`ConformalClustering`")
    ]
    lines += [
        "| mixture | " + " | ".join(titles) + " | stability |",
        "|:--|" + "--:|" * (len(titles) + 1),
    ]
    for kind in MIXTURES:
        values = [
            clusters[kind, n][k : k + 2]
            for k in range(0, 2 * len(CONFIDENCES), 2)
            for n in (0, 12)
        ]
        cells = " | ".join(f"{coverage:.3f} / {size:.2f}" for coverage, size in values)
        lines.append(f"| {kind} | {cells} | {clusters[kind, 12][-1]:.2f} |")
    combined = combine_sources()
    titles = list(dict.fromkeys(key[0] for key in combined))
    lines += [
        "",
        "## Two sources at confidence 0.9",
        "",
        "Coverage and mean size of three classes, 40 draws.",
        "",
    ]
    lines += ["| rule | " + " | ".join(titles) + " |", "|:--|" + "--:|" * len(titles)]
    for rule in dict.fromkeys(key[1] for key in combined):
        cells = " | ".join(
            "{:.3f} / {:.2f}".format(*combined[title, rule]) for title in titles
        )
        lines.append(f"| {rule} | {cells} |")
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    write_page()
