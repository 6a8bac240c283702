"""Gaussian mixtures: bootstrap refits beside scikit-learn, scaling with the number of objects, model selection."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Row, Task, at_least, at_most, benchmark, memory, timings

_COMPONENTS = 3


@cache
def _iris() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_iris

    return load_iris(return_X_y=True)


@cache
def _draws(refits: int) -> np.ndarray:
    """Return bootstrap samples of Iris as counts of each object."""
    rng = np.random.default_rng(0)
    n = len(_iris()[0])
    return np.stack(
        [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(refits)]
    ).astype(float)


def _quietly(function: Any, *arguments: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


# ---- a bootstrap ---------------------------------------------------------------------------------


def _warm_refits(refits: int, model: str) -> Task:
    from dempster.mixture import ParsimoniousGaussianMixture
    from dempster.mixture.em import fit_em

    X, _ = _iris()
    start = ParsimoniousGaussianMixture(_COMPONENTS, model=model).fit(X).parameters_
    draws = _draws(refits)
    fit_em(X, draws[0], start, model)  # compile

    def likelihood(runs: list[Any]) -> dict[str, Any]:
        fitted = [run for run in runs if run.problem is None]
        return {
            "collapsed": len(runs) - len(fitted),
            "likelihood": float(np.mean([run.log_likelihood for run in fitted])),
            "iterations": float(np.mean([len(run.history) for run in fitted])),
        }

    return Task(
        lambda: [fit_em(X, weights, start, model) for weights in draws], likelihood
    )


def _sklearn_refits(refits: int) -> Task:
    from sklearn.mixture import GaussianMixture

    X, _ = _iris()
    rows = [np.repeat(np.arange(len(X)), draw.astype(int)) for draw in _draws(refits)]
    model = GaussianMixture(_COMPONENTS, random_state=0)

    def work() -> list[float]:
        # The log-likelihood is part of the fit (lower_bound_), so nothing else is timed.
        return [_quietly(model.fit, X[r]).lower_bound_ * len(X) for r in rows]

    return Task(work, lambda values: {"likelihood": float(np.mean(values))})


@benchmark
def bootstrap(quick: bool) -> list[Row]:
    """Compare refits of a mixture of three components to bootstrap samples of Iris with scikit-learn."""
    if quick:
        refits = 20
    else:
        refits = 500
    entries: list[tuple[Any, ...]] = [
        (_warm_refits, refits, model) for model in ("VEV", "VVV")
    ]
    entries.append((_sklearn_refits, refits))
    verdicts = [memory(*entry)[1] for entry in entries]
    vev, vvv, theirs = timings(entries, rounds=2 if quick else 3)
    size = f"{refits} bootstrap samples of Iris, 3 components"
    rows = [
        Row(
            f"fit_em {model}, warm start",
            f"{size}; ratio: times faster than scikit-learn below",
            ours.best,
            ours.noise,
            quality=f"mean log-likelihood {verdict['likelihood']:.1f}, {verdict['iterations']:.1f} iterations, "
            f"{verdict['collapsed']} collapsed",
            ratio=theirs.best / ours.best,
            **at_least(theirs.best / ours.best, 5),
        )
        for model, ours, verdict in zip(
            ("VEV", "VVV"), (vev, vvv), verdicts, strict=False
        )
    ]
    likelihood = f"mean log-likelihood {verdicts[2]['likelihood']:.1f}"
    return rows + [
        Row(
            "scikit-learn GaussianMixture",
            size,
            theirs.best,
            theirs.noise,
            quality=likelihood,
        )
    ]


# ---- many objects, many models -------------------------------------------------------------------


def _iterations(n: int, iterations: int) -> Task:
    from dempster.mixture.em import fit_em

    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    X = rng.normal(size=(n, 5)) + rng.uniform(-4, 4, (5, 5))[y]
    start = np.eye(5)[y]
    fit_em(X[:1000], None, start[:1000], "VVV", max_iter=2)
    return Task(lambda: fit_em(X, None, start, "VVV", max_iter=iterations, tol=0.0))


@benchmark
def growth(quick: bool) -> list[Row]:
    """Measure twenty iterations of the most general model for ten times the objects."""
    if quick:
        small = 2_000
        large = 20_000
    else:
        small = 20_000
        large = 200_000
    peak, _ = memory(_iterations, large, 20)
    before, after = timings(
        [(_iterations, small, 20), (_iterations, large, 20)], rounds=3
    )
    ratio = after.best / before.best
    what = "x 5, 5 components, VVV, 20 iterations"
    return [
        Row("EM", f"{small:,} {what}", before.best, before.noise),
        Row(
            "EM",
            f"{large:,} {what}; ratio to {small:,}",
            after.best,
            after.noise,
            peak,
            ratio=ratio,
            **at_most(ratio, 13),
        ),
    ]


def _selection() -> Task:
    from dempster.mixture import ParsimoniousGaussianMixture

    X, _ = _iris()
    _quietly(ParsimoniousGaussianMixture(2).fit, X)
    return Task(
        lambda: _quietly(ParsimoniousGaussianMixture().fit, X),
        lambda model: (
            f"{model.model_} with {model.n_components_} components, BIC {model.bic_:.2f}"
        ),
    )


@benchmark
def selection(quick: bool) -> list[Row]:
    """Fit all 14 models with 1 to 9 components from one hierarchical clustering."""
    _, verdict = memory(_selection)
    (ours,) = timings([(_selection,)], rounds=2)
    return [
        Row(
            "ParsimoniousGaussianMixture",
            "Iris, 126 models",
            ours.best,
            ours.noise,
            quality=verdict,
        )
    ]
