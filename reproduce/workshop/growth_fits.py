"""Fits for the influence of n, of the focal sets and of the partners, on samples of the four classes."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import FocalSets
from dempster.cluster import EVCLUS, NNEVCLUS, RECM, Training
from dempster.datasets import make_fourclass
from reproduce.k_cevclus.gradient import GradientEVCLUS, scaled

QUANTILE = 0.9  # of the dissimilarities, for d0
SETTINGS: dict[str, Any] = {
    "focal_sets": "simple",
    "init": "random",
    "n_init": 1,
    "n_jobs": 1,
}


def one_size(method: str, n: int, seed: int) -> dict[str, Any]:
    """Fit from random masses to convergence.

    Return the ARI and the CPU seconds without those of the distances.
    """
    X, y = make_fourclass(n, random_state=seed)
    if method.startswith("k-"):
        model = EVCLUS(
            4,
            sampling="random",
            n_partners=100,
            d0_quantile=QUANTILE,
            random_state=seed,
            **SETTINGS,
        )
        return _measure(y, lambda: model.fit(X).credal_partition_)
    D = pairwise_distances(X)
    if method.endswith("gradient"):
        start = np.random.default_rng(seed).random((n, 6))
        problem = GradientEVCLUS(
            FocalSets.simple(4),
            scaled(D, float(np.quantile(D[np.triu_indices(n, 1)], QUANTILE))),
        )
        return _measure(
            y, lambda: problem.minimise(start / start.sum(axis=1, keepdims=True))[0]
        )
    shared: dict[str, Any] = {"metric": "precomputed", "random_state": seed, **SETTINGS}
    if method == "RECM":
        relational = RECM(4, square=True, beta=1.5, **shared)
        return _measure(y, lambda: relational.fit(D).credal_partition_)
    full = EVCLUS(4, sampling="all", d0_quantile=QUANTILE, **shared)
    return _measure(y, lambda: full.fit(D).credal_partition_)


def _measure(y: np.ndarray, fit: Callable[[], Any]) -> dict[str, Any]:
    EVCLUS(2, n_jobs=1).fit(np.arange(20.0)[:, None])  # Loads compiled code.
    began = process_time()
    partition = fit()
    return {
        "time": process_time() - began,
        "ari": float(adjusted_rand_score(y, partition.labels)),
    }


def with_focal_sets(method: str, c: int, seed: int) -> dict[str, Any]:
    """Return the CPU seconds of one iteration with all sets of c clusters, from two fits that differ by ten."""
    X, y = make_fourclass(400, random_state=seed)
    shared: dict[str, Any] = {
        **SETTINGS,
        "focal_sets": "full",
        "n_partners": 100,
        "tol": 0.0,
        "random_state": seed,
    }
    if method == "EVCLUS":
        model: Any = EVCLUS(c, sampling="random", d0_quantile=QUANTILE, **shared)
    else:
        model = NNEVCLUS(
            c, training=Training(solver="lbfgs"), d0_quantile=QUANTILE, **shared
        )
    few = _measure(y, lambda: model.set_params(max_iter=10).fit(X).credal_partition_)
    many = _measure(y, lambda: model.set_params(max_iter=20).fit(X).credal_partition_)
    return {"time": (many["time"] - few["time"]) / 10}


def with_partners(k: int, seed: int) -> dict[str, Any]:
    """Fit k-EVCLUS to 10,000 objects from a random start."""
    X, y = make_fourclass(10_000, random_state=0)
    model = EVCLUS(
        4,
        sampling="random",
        n_partners=k,
        d0_quantile=QUANTILE,
        random_state=seed,
        **SETTINGS,
    )
    result = _measure(y, lambda: model.fit(X).credal_partition_)
    return {**result, "nonspecificity": model.credal_partition_.nonspecificity_index()}
