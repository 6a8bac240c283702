"""CCM, EGMM, BPEC and the medoid methods: scaling with the number of objects, and large data."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import (
    Row,
    Task,
    Timing,
    at_least,
    at_most,
    benchmark,
    memory,
    shared_folder,
    skipped,
    timings,
)

_CLUSTERS = 5
_COLUMNS = 5


@cache
def _gaussians(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate n objects in five round Gaussian clusters in five dimensions."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-6, 6, (_CLUSTERS, _COLUMNS))
    y = rng.integers(0, _CLUSTERS, n)
    return rng.normal(size=(n, _COLUMNS)) + centres[y], y


def _agreement(y: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(y, labels))


def _quietly(function: Any, *arguments: Any) -> Any:
    """Fit without convergence warnings, because iterations are limited on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


# ---- prototype methods: time of an iteration -----------------------------------------------------


def _prototype_fit(name: str, n: int, max_iter: int) -> Task:
    import dempster.cluster

    X, y = _gaussians(n)
    init = X[[int(np.flatnonzero(y == k)[0]) for k in range(_CLUSTERS)]]

    def fit(data: np.ndarray, iterations: int) -> Any:
        model = getattr(dempster.cluster, name)(
            _CLUSTERS, focal_sets="pairs", init=init, max_iter=iterations, tol=0.0
        )
        return _quietly(model.fit, data)

    fit(X[:5_000], 2)  # compile
    return Task(
        lambda: fit(X, max_iter),
        lambda model: {"quality": f"ARI {_agreement(y, model.labels_):.3f}"},
    )


def _per_iteration(short: Timing, long: Timing, iterations: int) -> list[float]:
    """Return the time of an iteration in each round.

    The difference of two lengths excludes the setup of a fit.
    """
    return [
        (after - before) / iterations
        for before, after in zip(short.rounds, long.rounds, strict=True)
    ]


@benchmark
def iteration(quick: bool) -> list[Row]:
    """Measure an iteration of CCM and EGMM with all pairs of five clusters for ten times the objects."""
    if quick:
        small = 5_000
        large = 50_000
    else:
        small = 50_000
        large = 500_000
    few = (5, 25)
    many = (3, 8)
    rows = []
    for name in ("CCM", "EGMM"):
        _, verdict = memory(_prototype_fit, name, large, few[0])
        entries = [
            (_prototype_fit, name, small, few[0]),
            (_prototype_fit, name, small, few[1]),
            (_prototype_fit, name, large, many[0]),
            (_prototype_fit, name, large, many[1]),
        ]
        small_short, small_long, large_short, large_long = timings(
            entries, rounds=2 if quick else 4
        )
        first = median(_per_iteration(small_short, small_long, few[1] - few[0]))
        second = median(_per_iteration(large_short, large_long, many[1] - many[0]))
        what = f"x {_COLUMNS}, 16 nonempty sets"
        rows += [
            Row(
                f"{name} iteration",
                f"{small:,} {what}",
                seconds=first,
                noise=small_long.noise,
            ),
            Row(
                f"{name} iteration",
                f"{large:,} {what}; ratio to {small:,}",
                seconds=second,
                noise=large_long.noise,
                quality=verdict["quality"],
                ratio=second / first,
                **at_most(second / first, 12),
            ),
        ]
    return rows


# ---- medoid methods: a fit of attributes, without a matrix ---------------------------------------


def _medoid_fit(name: str, n: int) -> Task:
    import dempster.cluster

    X, y = _gaussians(n)
    model = getattr(dempster.cluster, name)(_CLUSTERS, n_init=3, random_state=0)
    _quietly(model.fit, X[:300])  # compile

    def judge(fitted: Any) -> dict[str, Any]:
        return {
            "quality": f"ARI {_agreement(y, fitted.labels_):.3f}, {fitted.n_iter_} iterations",
            "n_iter": fitted.n_iter_,
        }

    return Task(lambda: _quietly(model.fit, X), judge)


@benchmark
def medoids(quick: bool) -> list[Row]:
    """Fit objects whose full distance matrix would be too large.

    Measure time, and memory relative to the matrix.
    """
    if quick:
        n = 6_000
    else:
        n = 20_000
    rows = []
    for name in ("ECMdd", "MECM", "WECMdd"):
        peak, verdict = memory(_medoid_fit, name, n)
        (time,) = timings([(_medoid_fit, name, n)], rounds=1 if quick else 2)
        if peak is None:
            share = None
        else:
            share = peak / (8 * n**2)
        rows.append(
            Row(
                f"{name} fit",
                f"{n:,} x {_COLUMNS}, c = {_CLUSTERS}; ratio: memory to that of the matrix",
                seconds=time.best,
                noise=time.noise,
                peak_bytes=peak,
                quality=verdict["quality"],
                ratio=share,
                **({} if share is None else at_most(share, 0.25)),
            )
        )
    return rows


# ---- BPEC: a hundred clusters among 100,000 objects ----------------------------------------------


def _peak_fit(folder: Path, step: int) -> Task:
    from dempster.cluster import BPEC

    with np.load(folder / "data" / "birch1.npz", allow_pickle=False) as z:
        X = z["X"][::step]
        y = z["y"][::step]
    means = np.array([X[y == k].mean(axis=0) for k in range(100)])

    def judge(model: Any) -> dict[str, Any]:
        from sklearn.metrics import pairwise_distances

        apart = pairwise_distances(means) + np.diag(np.full(100, np.inf))
        near = pairwise_distances(means, model.cluster_centers_).min(axis=1)
        return {
            "found": int((near < apart.min(axis=1) / 2).sum()),
            "ari": _agreement(y, model.labels_),
            "n": len(X),
        }

    _quietly(BPEC(init=X[:3]).fit, X[:1_000])  # compile
    return Task(lambda: BPEC().fit(X), judge)


@benchmark
def peaks(quick: bool) -> list[Row]:
    """Fit BPEC with an automatic number of clusters to Birch1: 100,000 objects, 100 clusters."""
    folder = shared_folder()
    if folder is None or not (folder / "data" / "birch1.npz").is_file():
        return [skipped("BPEC fit", "Birch1 not found")]
    if quick:
        step = 10
    else:
        step = 1
    peak, verdict = memory(_peak_fit, folder, step)
    (time,) = timings([(_peak_fit, folder, step)], rounds=1)
    quality = f"{verdict['found']} of 100 centres, ARI {verdict['ari']:.3f}"
    what = f"Birch1, {verdict['n']:,} x 2"
    return [
        Row(
            "BPEC fit",
            what,
            time.best,
            time.noise,
            peak,
            quality,
            **at_most(time.best, 60, " s"),
        ),
        Row(
            "BPEC centres",
            f"{what}; ratio: centres found",
            quality=quality,
            ratio=verdict["found"],
            **at_least(verdict["found"], 97),
        ),
    ]
