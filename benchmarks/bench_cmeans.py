"""Variants of ECM for dissimilarities (RECM), constraints (CECM), images and categories."""

from __future__ import annotations

import warnings
from functools import cache
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import Row, Task, Timing, at_most, benchmark, memory, timings

_CLUSTERS = 5
_COLUMNS = 5


@cache
def _gaussians(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate n objects in five touching round Gaussian clusters."""
    rng = np.random.default_rng(0)
    centres = rng.uniform(-4, 4, (_CLUSTERS, _COLUMNS))
    y = rng.integers(0, _CLUSTERS, n)
    return centres[y] + rng.normal(size=(n, _COLUMNS)), y


def _agreement(y: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(y, labels))


def _quietly(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Fit without convergence warnings, because iterations are limited on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **keywords)


def _per_iteration(short: Timing, long: Timing, iterations: int) -> float:
    """Return the time of an iteration.

    The difference of two lengths excludes the setup of a fit.
    """
    return median(
        (b - a) / iterations for a, b in zip(short.rounds, long.rounds, strict=True)
    )


def _growth(
    name: str,
    what: str,
    prepare: Any,
    sizes: tuple[int, int],
    lengths: tuple[int, int],
    most: float,
) -> Row:
    """Return the ratio of the times of an iteration for two sizes."""
    (small, large), (few, many) = sizes, lengths
    entries = [
        (prepare, small, few),
        (prepare, small, many),
        (prepare, large, few),
        (prepare, large, many),
    ]
    times = timings(entries, rounds=3)
    before = _per_iteration(times[0], times[1], many - few)
    after = _per_iteration(times[2], times[3], many - few)
    return Row(
        f"{name} iteration",
        f"{large:,} {what}; ratio to {small:,}",
        seconds=after,
        noise=times[3].noise,
        ratio=after / before,
        **at_most(after / before, most),
    )


# ---- RECM ----------------------------------------------------------------------------------------


@cache
def _squared_distances(n: int) -> np.ndarray:
    from sklearn.metrics import pairwise_distances

    return pairwise_distances(_gaussians(n)[0], metric="sqeuclidean")


def _recm_fit(n: int) -> Task:
    from dempster.cluster import RECM

    D = _squared_distances(n)
    (_, y) = _gaussians(n)
    RECM(_CLUSTERS, metric="precomputed", random_state=0).fit(D[:100, :100])  # compile
    model = RECM(_CLUSTERS, metric="precomputed", random_state=0)
    return Task(
        lambda: model.fit(D),
        lambda m: {"ari": _agreement(y, m.labels_), "input": D.nbytes},
    )


def _recm_iterations(n: int, max_iter: int) -> Task:
    from dempster.cluster import RECM

    D = _squared_distances(n)
    start = np.arange(_CLUSTERS)
    model = RECM(
        _CLUSTERS,
        focal_sets="simple",
        metric="precomputed",
        init=start,
        max_iter=max_iter,
        tol=0.0,
    )
    _quietly(model.fit, D)
    return Task(lambda: _quietly(model.fit, D))


def _ecm_ari(n: int) -> float:
    from dempster.cluster import ECM

    X, y = _gaussians(n)
    return _agreement(y, ECM(_CLUSTERS, beta=1.5, random_state=0).fit(X).labels_)


@benchmark
def recm(quick: bool) -> list[Row]:
    """Measure a default fit on a matrix of dissimilarities, and the growth of an iteration with its size."""
    rows = []
    for n, most in ((500, None),) if quick else ((2_000, 0.6), (5_000, None)):
        peak, verdict = memory(_recm_fit, n)
        (fit,) = timings([(_recm_fit, n)], rounds=1 if quick else 2)
        matrix = f"matrix of {verdict['input'] / 1e6:,.0f} MB"
        rows.append(
            Row(
                "RECM fit",
                f"{n:,} x {n:,} dissimilarities, c = {_CLUSTERS}, 10 starts; {matrix}",
                seconds=fit.best,
                noise=fit.noise,
                peak_bytes=peak,
                quality=f"ARI {verdict['ari']:.3f}, that of ECM on the attributes {_ecm_ari(n):.3f}",
                **({} if most is None else at_most(fit.best, most, " s")),
            )
        )
    if quick:
        sizes = (250, 500)
    else:
        sizes = (2_500, 5_000)
    growth = _growth(
        "RECM",
        "objects (n^2: 4 for twice the objects)",
        _recm_iterations,
        sizes,
        (5, 25),
        5.5,
    )
    return [*rows, growth]


# ---- CECM ----------------------------------------------------------------------------------------


def _cecm_fit(n: int, n_constraints: int, metric: str) -> Task:
    from dempster.cluster import CECM
    from dempster.constraints import Constraints

    X, y = _gaussians(n)
    known = Constraints.from_labels(y, n_constraints, random_state=0)
    # compile
    CECM(_CLUSTERS, focal_sets="pairs", metric=metric, n_init=1, random_state=0).fit(
        X, constraints=known
    )
    model = CECM(_CLUSTERS, focal_sets="pairs", metric=metric, random_state=0)
    return Task(
        lambda: model.fit(X, constraints=known),
        lambda m: {
            "ari": _agreement(y, m.labels_),
            "violated": known.violations(m.credal_partition_).proportion,
        },
    )


def _cecm_iterations(n: int, max_iter: int) -> Task:
    from dempster.cluster import CECM
    from dempster.constraints import Constraints

    X, y = _gaussians(n)
    known = Constraints.from_labels(y, n // 10, random_state=0)
    # One thread processes linked objects; use one thread for the others as well, so that sizes can
    # be compared.
    model = CECM(
        _CLUSTERS,
        focal_sets="pairs",
        init=X[:_CLUSTERS],
        max_iter=max_iter,
        tol=0.0,
        n_jobs=1,
    )
    _quietly(model.fit, X, constraints=known)
    return Task(lambda: _quietly(model.fit, X, constraints=known))


@benchmark
def cecm(quick: bool) -> list[Row]:
    """Measure a default fit with equal numbers of constraints and objects, and the growth of an iteration with both."""
    if quick:
        n = 200
    else:
        n = 1_000
    rows = []
    for metric in ("euclidean", "adaptive"):
        peak, verdict = memory(_cecm_fit, n, n, metric)
        (fit,) = timings([(_cecm_fit, n, n, metric)], rounds=1 if quick else 2)
        rows.append(
            Row(
                f"CECM fit, {metric}",
                f"{n:,} objects, {n:,} constraints, c = {_CLUSTERS}, all pairs, 10 starts",
                seconds=fit.best,
                noise=fit.noise,
                peak_bytes=peak,
                quality=f"ARI {verdict['ari']:.3f}, {verdict['violated']:.1%} of the constraints violated",
                **at_most(fit.best, 10, " s"),
            )
        )
    if quick:
        sizes = (1_000, 4_000)
    else:
        sizes = (5_000, 50_000)
    # Later iterations need a number of sweeps that depends on the distance from convergence.
    lengths = (2, 7)
    most = 1.3 * sizes[1] / sizes[0]
    rows.append(
        _growth(
            "CECM",
            "objects, a tenth as many constraints",
            _cecm_iterations,
            sizes,
            lengths,
            most,
        )
    )
    return rows


# ---- SECM and CatECM -----------------------------------------------------------------------------


def _secm_iterations(n: int, max_iter: int) -> Task:
    from dempster.cluster import SECM

    side = int(np.sqrt(n))
    truth = np.add.outer(np.arange(side), np.arange(side)) * 4 // (2 * side)
    image = truth + np.random.default_rng(0).normal(scale=0.3, size=truth.shape)
    model = SECM(
        4,
        focal_sets="pairs",
        beta=2.0,
        init=np.arange(4.0)[:, None],
        max_iter=max_iter,
        tol=0.0,
    )
    _quietly(model.fit, image)
    return Task(lambda: _quietly(model.fit, image))


def _catecm_iterations(n: int, max_iter: int) -> Task:
    from dempster.cluster import CatECM

    rng = np.random.default_rng(0)
    modes = rng.integers(0, 6, (4, 15))
    y = rng.integers(0, 4, n)
    X = np.where(rng.random((n, 15)) < 0.5, modes[y], rng.integers(0, 6, (n, 15)))
    # With the same start, one more iteration is the only difference until convergence.
    model = CatECM(4, focal_sets="pairs", init=X[:4], max_iter=max_iter, tol=0.0)
    _quietly(model.fit, X)
    return Task(lambda: _quietly(model.fit, X))


@benchmark
def images(quick: bool) -> list[Row]:
    """Measure the growth of an iteration on an image with the number of pixels."""
    if quick:
        sizes = (10_000, 40_000)
    else:
        sizes = (90_000, 810_000)
    return [
        _growth(
            "SECM",
            "pixels",
            _secm_iterations,
            sizes,
            (3, 13),
            1.3 * sizes[1] / sizes[0],
        )
    ]


@benchmark
def categories(quick: bool) -> list[Row]:
    """Measure the growth of an iteration on categories with the number of objects."""
    if quick:
        sizes = (5_000, 20_000)
    else:
        sizes = (20_000, 200_000)
    return [
        _growth(
            "CatECM",
            "objects, 15 attributes",
            _catecm_iterations,
            sizes,
            (1, 3),
            1.3 * sizes[1] / sizes[0],
        )
    ]
