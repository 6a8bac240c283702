"""BootClus: speed beside refits of scikit-learn's mixture, and scaling with the number of objects."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Row, Task, at_least, at_most, benchmark, memory, timings

_CLUSTERS = 3


@cache
def _iris() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


def _bootclus(n_bootstraps: int) -> Task:
    from sklearn.metrics import adjusted_rand_score

    from dempster.cluster import BootClus

    X, y = _iris()
    model = BootClus(
        _CLUSTERS, focal_sets="pairs", n_bootstraps=n_bootstraps, random_state=0
    )
    model.fit(X)  # compile

    def judge(fitted: BootClus) -> str:
        ari = adjusted_rand_score(y, fitted.labels_)
        return f"model {fitted.mixture_.model_}, ARI {ari:.3f}, objective {fitted.objective_:.3f}"

    return Task(lambda: model.fit(X), judge)


def _refits(n_bootstraps: int, warm: bool) -> Task:
    """Fit only scikit-learn's mixture to bootstrap samples, from its own start or from the fit to the data."""
    from sklearn.mixture import GaussianMixture
    from threadpoolctl import threadpool_limits

    X, _ = _iris()
    fitted = GaussianMixture(_CLUSTERS, random_state=0).fit(X)
    start: dict[str, Any] = {}
    if warm:
        start = {
            "weights_init": fitted.weights_,
            "means_init": fitted.means_,
            "precisions_init": fitted.precisions_,
        }

    def work() -> None:
        rng = np.random.default_rng(0)
        # On small matrices threads make it slower.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            for b in range(n_bootstraps):
                sample = X[rng.integers(len(X), size=len(X))]
                GaussianMixture(_CLUSTERS, random_state=b, **start).fit(sample)

    return Task(work)


@benchmark
def iris(quick: bool) -> list[Row]:
    """Compare a full BootClus fit of Iris with only the refits by scikit-learn."""
    if quick:
        n_bootstraps = 50
    else:
        n_bootstraps = 500
    peak, verdict = memory(_bootclus, n_bootstraps)
    entries = [
        (_bootclus, n_bootstraps),
        (_refits, n_bootstraps, False),
        (_refits, n_bootstraps, True),
    ]
    ours, cold, warm = timings(entries, rounds=3)
    what = f"Iris (150 x 4), c = {_CLUSTERS}, {n_bootstraps} samples"
    return [
        Row(
            "BootClus fit",
            f"{what}: selection of the model, samples, intervals, masses; ratio: times faster than the refits below",
            seconds=ours.best,
            noise=ours.noise,
            peak_bytes=peak,
            quality=f"{verdict}; {warm.best / ours.best:.1f} times faster than the refits from the fitted mixture",
            ratio=cold.best / ours.best,
            **at_least(cold.best / ours.best, 5),
        ),
        Row(
            "scikit-learn GaussianMixture refits",
            f"{what}, full covariances",
            seconds=cold.best,
            noise=cold.noise,
        ),
        Row(
            "scikit-learn GaussianMixture refits",
            f"{what}, from the mixture fitted to the data",
            seconds=warm.best,
            noise=warm.noise,
        ),
    ]


# ---- many objects --------------------------------------------------------------------------------


def _many(n: int, n_bootstraps: int, n_partners: Any) -> Task:
    from dempster.cluster import BootClus
    from dempster.datasets import make_gaussian_mixture

    def model(size: int) -> BootClus:
        settings: dict[str, Any] = {
            "focal_sets": "pairs",
            "n_partners": n_partners,
            "random_state": 0,
        }
        return BootClus(_CLUSTERS, mixture="EII", n_bootstraps=size, **settings)

    model(20).fit(make_gaussian_mixture(1, 300, random_state=1)[0])  # compile
    sample = make_gaussian_mixture(1, n, as_bunch=True, random_state=0)

    def judge(fitted: BootClus) -> str:
        coverage = fitted.intervals_.coverage(sample.posterior)
        return f"coverage of [Bel, Pl] {coverage.belief:.2f}, mean length {coverage.belief_length:.3f}"

    return Task(lambda: model(n_bootstraps).fit(sample.data), judge)


@benchmark
def growth(quick: bool) -> list[Row]:
    """Fit 5,000 objects with the default number of pairs and with all pairs, and larger data."""
    if quick:
        n_bootstraps = 50
    else:
        n_bootstraps = 500
    sizes: list[tuple[int, Any]] = (
        [(2_500, "auto")]
        if quick
        else [(5_000, "auto"), (5_000, "all"), (100_000, "auto")]
    )
    rows = []
    for n, n_partners in sizes:
        peak, verdict = memory(_many, n, n_bootstraps, n_partners)
        (timing,) = timings([(_many, n, n_bootstraps, n_partners)], rounds=1)
        if n_partners == "all":
            pairs = "all pairs"
        else:
            pairs = "500 partners of each object"
        if n_partners == "auto":
            target = at_most(timing.best, 30, " s")
        else:
            target = {}
        rows.append(
            Row(
                "BootClus fit",
                f"{n:,} x 2, c = {_CLUSTERS}, {n_bootstraps} samples, {pairs}",
                seconds=timing.best,
                peak_bytes=peak,
                quality=verdict,
                **target,
            )
        )
        if peak is not None and n == 5_000:
            gigabytes = peak / 1e9
            rows.append(
                Row(
                    "BootClus memory",
                    f"{n:,} objects, {pairs}",
                    peak_bytes=peak,
                    **at_most(gigabytes, 2, " GB"),
                )
            )
    return rows
