"""Data sets of the paper (Table 1), their settings and functions that all experiments share."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS
from dempster.constraints import Constraints
from dempster.datasets import make_bananas
from reproduce.data import stored

__all__ = [
    "PAPER",
    "SMALL",
    "SETTINGS",
    "Setting",
    "objects",
    "fit",
    "measures",
    "warm_up",
    "wrong_share",
]

PAPER = "k-CEVCLUS (Li, Li and Denoeux, 2018)"


@dataclass(frozen=True)
class Setting:
    """Number of clusters, quantile of the dissimilarities for d0, and weight of the constraints."""

    n_clusters: int
    d0_quantile: float
    xi: float = 0.5


SETTINGS = {
    "Banana_200": Setting(2, 0.9),
    "Glass": Setting(2, 0.9),
    "Iris": Setting(3, 0.6),
    "Ecoli": Setting(3, 0.9),
    "Banana_2000": Setting(2, 0.9),
    "Banana_10000": Setting(2, 0.9),
    "Banana_100000": Setting(2, 0.9),
    "Letter": Setting(3, 0.8, xi=0.1),
}
SMALL = ("Banana_200", "Glass", "Iris", "Ecoli")


def objects(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the unscaled attributes and the classes (Table 1 of the paper)."""
    if name.startswith("Banana"):
        return make_bananas(int(name.split("_")[1]), random_state=0)
    data = stored(name.lower())
    X = data["X"].astype(float)
    y = data["y"]
    names = [str(word) for word in data["names"]]
    if name == "Glass":  # Window glass or not: 163 and 51 objects.
        return X, np.array(["windows" in words for words in names])[y].astype(int)
    if name == "Ecoli":  # 143 + 77 + 52 = 272 objects
        kept = np.isin(y, [names.index(word) for word in ("cp", "im", "pp")])
        return X[kept], y[kept]
    if name == "Letter":  # 2263 objects
        kept = np.isin(y, [names.index(letter) for letter in "IJL"])
        return X[kept], y[kept]
    return X, y


def fit(
    name: str, X: np.ndarray, constraints: Constraints, seed: int, **options: Any
) -> EVCLUS:
    """Fit CEVCLUS as in the paper: empty set, single clusters and the frame; tolerance 1e-5."""
    setting = SETTINGS[name]
    defaults = {
        "focal_sets": "simple",
        "convention": "program",
        "sampling": "all",
        "tol": 1e-5,
        "random_state": seed,
        "n_jobs": 1,
    }
    chosen = {
        "d0_quantile": setting.d0_quantile,
        "xi": setting.xi,
        **defaults,
        **options,
    }
    return EVCLUS(setting.n_clusters, **chosen).fit(X, constraints=constraints)


def measures(model: Any, y: np.ndarray, began: float) -> dict[str, float]:
    """Return the measures of the paper: adjusted Rand index, nonspecificity and seconds."""
    seconds = perf_counter() - began
    partition = model.credal_partition_
    index = adjusted_rand_score(y, partition.labels)
    return {
        "ari": float(index),
        "nonspecificity": partition.nonspecificity_index(),
        "time": seconds,
    }


def warm_up(*models: Any) -> None:
    """Load compiled code before timing."""
    X, y = make_bananas(40, random_state=0)
    known = Constraints.from_labels(y, 5, random_state=0)
    for model in models:
        model.fit(X, constraints=known)


def wrong_share(known: Constraints, y: np.ndarray) -> float:
    """Return the proportion of the constraints that contradict the classes."""
    same, different = (
        y[pairs[:, 0]] == y[pairs[:, 1]]
        for pairs in (known.must_link, known.cannot_link)
    )
    if len(known):
        return float(np.mean(np.concatenate([~same, different])))
    return 0.0
