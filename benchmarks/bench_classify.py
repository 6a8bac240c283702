"""Evidential K-nearest neighbor rule beside scikit-learn's classifier, and optimization of its scales."""

from __future__ import annotations

from functools import cache

import numpy as np

from benchmarks.harness import Row, Task, at_most, benchmark, memory, timings

_NEIGHBOURS = 10
_CLASSES = 5


@cache
def _gaussians(n: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate n objects in five overlapping round Gaussian classes."""
    centres = np.random.default_rng(0).normal(
        scale=3 / np.sqrt(columns), size=(_CLASSES, columns)
    )
    rng = np.random.default_rng(seed)
    y = rng.integers(0, _CLASSES, n)
    return centres[y] + rng.normal(size=(n, columns)), y


def _eknn_prediction(n: int, columns: int) -> Task:
    from dempster.classify import EKNNClassifier

    X, y = _gaussians(n, columns, 1)
    new, truth = _gaussians(n, columns, 2)
    model = EKNNClassifier(_NEIGHBOURS).fit(X, y)
    return Task(
        lambda: model.predict_mass(new),
        lambda m: f"error {(m.decide() != truth).mean():.3f}",
    )


def _knn_prediction(n: int, columns: int) -> Task:
    from sklearn.neighbors import KNeighborsClassifier

    X, y = _gaussians(n, columns, 1)
    new, truth = _gaussians(n, columns, 2)
    model = KNeighborsClassifier(_NEIGHBOURS).fit(X, y)
    return Task(
        lambda: model.predict_proba(new),
        lambda p: f"error {(p.argmax(axis=1) != truth).mean():.3f}",
    )


def _eknn_fit(n: int, columns: int, n_neighbors: int | str) -> Task:
    from dempster.classify import EKNNClassifier

    X, y = _gaussians(n, columns, 1)
    return Task(
        lambda: EKNNClassifier(n_neighbors).fit(X, y),
        lambda model: (
            f"cost {model.objective_:.5f}, leave-one-out error {model.leave_one_out_error_:.3f}"
        ),
    )


def _evidence(n: int, n_classes: int) -> Task:
    from dempster.classify._weights import WeightsOfEvidence, evidence_family

    support, opposition = np.random.default_rng(0).exponential(size=(2, n, n_classes))
    family = evidence_family("full", n_classes)
    evidence = WeightsOfEvidence(support, opposition)
    return Task(
        lambda: WeightsOfEvidence(support, opposition).masses(family),
        lambda m: _same_plausibilities(m, evidence),
    )


def _same_plausibilities(masses: np.ndarray, evidence) -> str:
    from dempster.classify._weights import evidence_family

    contour = masses @ evidence_family("full", evidence.support.shape[1]).membership
    error = contour / contour.sum(axis=1, keepdims=True) - evidence.probabilities
    return f"normalized plausibilities right to {np.abs(error).max():.0e}"


@benchmark
def eknn_prediction(quick: bool) -> list[Row]:
    """Compare masses of new objects with the probabilities of scikit-learn's rule."""
    if quick:
        n = 2_000
    else:
        n = 10_000
    rows = []
    for columns in (5, 50):
        ours, theirs = timings(
            [(_eknn_prediction, n, columns), (_knn_prediction, n, columns)], 3
        )
        ratio = ours.best / theirs.best
        what = (
            f"{n:,} new objects, {n:,} known, {columns} attributes, K = {_NEIGHBOURS}"
        )
        for name, prepare, timing, extra in (
            ("KNeighborsClassifier.predict_proba", _knn_prediction, theirs, {}),
            (
                "EKNNClassifier.predict_mass",
                _eknn_prediction,
                ours,
                {"ratio": ratio, **at_most(ratio, 1.5)},
            ),
        ):
            peak, quality = memory(prepare, n, columns)
            rows.append(
                Row(name, what, timing.best, timing.noise, peak, quality, **extra)
            )
    return rows


@benchmark
def eknn_fit(quick: bool) -> list[Row]:
    """Learn the scales, including the search of the neighbours."""
    if quick:
        n = 2_000
    else:
        n = 10_000
    rows = []
    for n_neighbors, limit in ((_NEIGHBOURS, 5.0), ("auto", None)):
        (timing,) = timings([(_eknn_fit, n, 5, n_neighbors)], 1 if quick else 2)
        peak, quality = memory(_eknn_fit, n, 5, n_neighbors)
        if limit is None:
            target = {}
        else:
            target = at_most(timing.best, limit, " s")
        what = f"fit, {n:,} objects, 5 attributes, K = {n_neighbors}"
        rows.append(
            Row(
                "EKNNClassifier",
                what,
                timing.best,
                timing.noise,
                peak,
                quality,
                **target,
            )
        )
    return rows


@benchmark
def masses_behind_a_softmax(quick: bool) -> list[Row]:
    """Compute all 2^M - 1 masses from weights of evidence."""
    rows = []
    for n, n_classes in (
        (1_000 if quick else 20_000, 4),
        (200 if quick else 2_000, 10),
    ):
        (timing,) = timings([(_evidence, n, n_classes)], 2)
        peak, quality = memory(_evidence, n, n_classes)
        what = f"masses of {n:,} objects, {n_classes} classes"
        rows.append(
            Row("weights of evidence", what, timing.best, timing.noise, peak, quality)
        )
    return rows
