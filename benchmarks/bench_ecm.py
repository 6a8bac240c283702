"""ECM: speed beside k-means and evclust, and scaling with the number of objects."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings
from functools import cache
from importlib.metadata import version
from statistics import median
from typing import Any

import numpy as np

from benchmarks.harness import (
    Row,
    Task,
    Timing,
    apart,
    at_least,
    at_most,
    benchmark,
    memory,
    skipped,
    timings,
)

_CLUSTERS = 10
_COLUMNS = 10
# The mean squared distance to the nearest centre is 10; the squared distance to the empty set is
# 100.
_DELTA = 10.0


@cache
def _gaussians(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generate n objects in ten round Gaussian clusters in ten dimensions.

    Return them, their clusters and initial prototypes.
    """
    rng = np.random.default_rng(0)
    centres = rng.uniform(-4, 4, (_CLUSTERS, _COLUMNS))
    y = rng.integers(0, _CLUSTERS, n)
    X = rng.normal(size=(n, _COLUMNS))
    X += centres[y]
    return X, y, centres + rng.normal(size=centres.shape)


def _agreement(y: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(y, labels))


# ---- one iteration: ECM with 56 sets beside k-means with 56 centres ------------------------------


def _ecm_fit(n: int, max_iter: int) -> Task:
    from dempster import FocalSets
    from dempster.cluster import ECM

    X, y, init = _gaussians(n)
    family = FocalSets.pairs(_CLUSTERS)

    def fit(data: np.ndarray, iterations: int) -> ECM:
        model = ECM(
            _CLUSTERS,
            focal_sets=family,
            beta=2.0,
            delta=_DELTA,
            init=init,
            n_init=1,
            max_iter=iterations,
            tol=0.0,
        )
        return _quietly(model.fit, data)

    fit(X[:10_000], 2)  # compile
    return Task(
        lambda: fit(X, max_iter),
        lambda model: {
            "iterations": model.n_iter_,
            "quality": f"ARI {_agreement(y, model.labels_):.3f}",
            "floor": X.nbytes + model.credal_partition_.masses.nbytes,
            "input": X.nbytes,
        },
    )


def _kmeans_fit(n: int, max_iter: int) -> Task:
    from sklearn.cluster import KMeans

    X = _gaussians(n)[0]
    centres = 56  # The number of nonempty sets of ECM: ten clusters, their 45 pairs and the frame.
    init = X[np.random.default_rng(1).choice(n, centres, replace=False)]
    model = KMeans(
        centres, algorithm="lloyd", init=init, n_init=1, max_iter=max_iter, tol=0.0
    )
    _quietly(
        KMeans(
            centres, algorithm="lloyd", init=init, n_init=1, max_iter=2, tol=0.0
        ).fit,
        X[:10_000],
    )
    return Task(
        lambda: _quietly(model.fit, X),
        lambda fitted: {
            "iterations": fitted.n_iter_,
            "quality": f"inertia {fitted.inertia_:.4g}",
        },
    )


def _quietly(function: Any, *arguments: Any) -> Any:
    """Fit without convergence warnings, because iterations are limited on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


def _per_iteration(short: Timing, long: Timing, iterations: int) -> list[float]:
    """Return the time of an iteration in each round.

    The difference of two lengths excludes the setup of a fit.

    The two fits of a round run one after the other, under similar load of the machine. The fastest
    short fit and the fastest long fit of all rounds may have run under different load, so their
    difference would be meaningless.
    """
    return [
        (after - before) / iterations
        for before, after in zip(short.rounds, long.rounds, strict=True)
    ]


def _spread(ours: list[float], theirs: list[float]) -> str:
    """Return the ratio in each round, which shows its variation."""
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return f"ratio of single rounds {min(ratios):.2f} to {max(ratios):.2f}, median {median(ratios):.2f}"


@benchmark
def iteration(quick: bool) -> list[Row]:
    """Compare one iteration with 56 nonempty sets with one iteration of k-means with 56 centres."""
    if quick:
        n = 20_000
        short = 5
        long = 15
    else:
        n = 100_000
        short = 10
        long = 40
    peaks = {}
    verdicts = {}
    for name, prepare in (("ECM", _ecm_fit), ("KMeans", _kmeans_fit)):
        peaks[name], verdicts[name] = memory(prepare, n, long)
        if verdicts[name]["iterations"] != long:
            return [
                skipped(
                    "ECM iteration",
                    f"{name} stopped after {verdicts[name]['iterations']} iterations",
                )
            ]
    entries = [
        (_ecm_fit, n, short),
        (_ecm_fit, n, long),
        (_kmeans_fit, n, short),
        (_kmeans_fit, n, long),
    ]
    ecm_short, ecm_long, kmeans_short, kmeans_long = timings(
        entries, rounds=3 if quick else 9
    )
    ecm = _per_iteration(ecm_short, ecm_long, long - short)
    kmeans = _per_iteration(kmeans_short, kmeans_long, long - short)
    ours = median(ecm)
    theirs = median(kmeans)
    size = f"{n:,} x {_COLUMNS}"
    return [
        Row(
            "ECM iteration",
            f"{size}, c = {_CLUSTERS}, 56 nonempty sets; ratio to KMeans below",
            seconds=ours,
            noise=ecm_long.noise,
            peak_bytes=peaks["ECM"],
            quality=f"{verdicts['ECM']['quality']}; {_spread(ecm, kmeans)}",
            ratio=ours / theirs,
            **at_most(ours / theirs, 2.5),
        ),
        Row(
            "scikit-learn KMeans iteration",
            f"{size}, 56 centres, Lloyd",
            seconds=theirs,
            noise=kmeans_long.noise,
            peak_bytes=peaks["KMeans"],
            quality=verdicts["KMeans"]["quality"],
        ),
    ]


@benchmark
def growth(quick: bool) -> list[Row]:
    """Measure time of an iteration and peak memory for ten times the objects."""
    if quick:
        small = 10_000
        large = 100_000
    else:
        small = 100_000
        large = 1_000_000
    few = (10, 40)
    many = (3, 8)
    peak, verdict = memory(_ecm_fit, large, few[0])
    entries = [
        (_ecm_fit, small, few[0]),
        (_ecm_fit, small, few[1]),
        (_ecm_fit, large, many[0]),
        (_ecm_fit, large, many[1]),
    ]
    small_short, small_long, large_short, large_long = timings(
        entries, rounds=3 if quick else 5
    )
    before = _per_iteration(small_short, small_long, few[1] - few[0])
    after = _per_iteration(large_short, large_long, many[1] - many[0])
    first = median(before)
    second = median(after)
    rows = [
        Row(
            "ECM iteration",
            f"{small:,} x {_COLUMNS}, 56 nonempty sets",
            seconds=first,
            noise=small_long.noise,
        ),
        Row(
            "ECM iteration",
            f"{large:,} x {_COLUMNS}, 56 nonempty sets; ratio to {small:,}",
            seconds=second,
            noise=large_long.noise,
            quality=f"{verdict['quality']}; {_spread(after, before)}",
            ratio=second / first,
            **at_most(second / first, 11),
        ),
    ]
    if peak is not None:
        rows.append(
            Row(
                "ECM memory",
                f"{large:,} x {_COLUMNS}; ratio of input + memory to input + masses ({verdict['floor'] / 1e6:,.0f} MB)",
                peak_bytes=peak,
                ratio=(verdict["input"] + peak) / verdict["floor"],
            )
        )
    return rows


# ---- a full fit: beside evclust ------------------------------------------------------------------

_FULL_CLUSTERS = 4
_FULL_DELTA = 5.0
_DEFAULT_TOLERANCE = 1e-6
_TOLERANCES = tuple(10.0**-k for k in range(3, 15))


@cache
def _fourclass(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from dempster.datasets import make_fourclass

    X, y = make_fourclass(n, random_state=0)
    rng = np.random.default_rng(0)
    # Start a little off the objects, because evclust divides by the distances.
    init = X[rng.choice(n, _FULL_CLUSTERS, replace=False)] + rng.normal(
        scale=0.01, size=(_FULL_CLUSTERS, 2)
    )
    return X, y, init


def _objective(
    X: np.ndarray, masses: np.ndarray, sets: np.ndarray, prototypes: np.ndarray
) -> float:
    """Return the objective of ECM (Masson and Denoeux, 2008) with alpha = 1, beta = 2.

    The first set is empty.
    """
    size = sets[1:].sum(axis=1)
    barycentres = sets[1:] @ prototypes / size[:, None]
    squared = ((X[:, None, :] - barycentres[None, :, :]) ** 2).sum(axis=2)
    return float(
        (size * masses[:, 1:] ** 2 * squared).sum()
        + _FULL_DELTA**2 * (masses[:, 0] ** 2).sum()
    )


def _evclust_fit(n: int) -> Task:
    from evclust.ecm import ecm

    X, y, init = _fourclass(n)

    def fit(data: np.ndarray) -> dict[str, Any]:
        with contextlib.redirect_stdout(io.StringIO()):
            return ecm(
                data,
                _FULL_CLUSTERS,
                g0=init,
                type="full",
                alpha=1,
                beta=2,
                delta=_FULL_DELTA,
                disp=False,
            )

    def judge(result: dict[str, Any]) -> dict[str, Any]:
        labels = np.asarray(result["y_pl"]).ravel()
        objective = _objective(
            X,
            np.asarray(result["mass"]),
            np.asarray(result["F"]),
            np.asarray(result["g"]),
        )
        return {"objective": objective, "ari": _agreement(y, labels), "labels": labels}

    fit(X[:20])
    return Task(lambda: fit(X), judge)


def _full_fit(n: int, tol: float) -> Task:
    from dempster.cluster import ECM

    X, y, init = _fourclass(n)
    model = ECM(
        _FULL_CLUSTERS,
        focal_sets="full",
        beta=2.0,
        delta=_FULL_DELTA,
        init=init,
        n_init=1,
        max_iter=10_000,
        tol=tol,
    )
    model.fit(X)  # compile

    def judge(fitted: ECM) -> dict[str, Any]:
        partition = fitted.credal_partition_
        objective = _objective(
            X,
            partition.masses,
            partition.focal_sets.membership,
            fitted.cluster_centers_,
        )
        return {
            "objective": objective,
            "ari": _agreement(y, fitted.labels_),
            "labels": fitted.labels_,
        }

    return Task(lambda: model.fit(X), judge)


def _tolerance_reaching(n: int, objective: float) -> float | None:
    """Return the largest tolerance with which our fit reaches the given objective, or None."""
    for tol in _TOLERANCES:
        task = _full_fit(n, tol)
        if task.judge(task.work())["objective"] <= objective:
            return tol
    return None


def _missing_evclust() -> str:
    """Return why evclust cannot be used, or an empty string."""
    try:
        importlib.import_module("evclust.ecm")
    except ImportError as error:
        if error.name == "evclust":
            return "not installed"
        return f"cannot be imported: {error}"
    return ""


@benchmark
def full_fit(quick: bool) -> list[Row]:
    """Fit all subsets of four clusters to an objective at least as low as that of evclust."""
    if quick:
        n = 100
    else:
        n = 1_000
    what = f"{n:,} x 2, c = {_FULL_CLUSTERS}, all subsets"
    missing = apart(_missing_evclust)
    if missing:
        peak, verdict = memory(_full_fit, n, _DEFAULT_TOLERANCE)
        (ours,) = timings([(_full_fit, n, _DEFAULT_TOLERANCE)], rounds=2)
        return [
            Row("ECM fit", what, ours.best, ours.noise, peak, _worth(verdict)),
            skipped("evclust ecm", missing),
        ]
    evclust_peak, evclust = memory(_evclust_fit, n)
    tol = apart(_tolerance_reaching, n, evclust["objective"])
    if tol is None:
        return [
            skipped(
                "ECM fit",
                f"no tolerance reaches the objective of evclust, {evclust['objective']:.6f}",
            )
        ]
    peak, verdict = memory(_full_fit, n, tol)
    ours, theirs = timings([(_full_fit, n, tol), (_evclust_fit, n)], rounds=2)
    faster = theirs.best / ours.best
    same = _agreement(evclust["labels"], verdict["labels"])
    return [
        Row(
            "ECM fit",
            f"{what}, tol = {tol:.0e}; ratio: times faster than evclust below, same start",
            seconds=ours.best,
            noise=ours.noise,
            peak_bytes=peak,
            quality=f"{_worth(verdict)}, ARI to evclust {same:.3f}",
            ratio=faster,
            **at_least(faster, 200),
        ),
        Row(
            f"evclust {version('evclust')} ecm",
            what,
            theirs.best,
            theirs.noise,
            evclust_peak,
            _worth(evclust),
        ),
    ]


def _worth(verdict: dict[str, Any]) -> str:
    return f"objective {verdict['objective']:.6f}, ARI {verdict['ari']:.3f}"
