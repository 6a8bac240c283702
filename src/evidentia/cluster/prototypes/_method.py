"""How methods with prototypes among attributes descend: starts, a sample for the first of them, given prototypes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster.prototypes._model import Model
from evidentia.optimize.descent import Run, descend
from evidentia.partition import CredalPartition

__all__ = ["PrototypeSolver", "require_singletons", "check_partition"]

_DELTA_FACTOR = 10.0  # delta="auto": squared, this many times the mean squared distance to the nearest centre
_EUCLIDEAN_FIRST = 5  # iterations before the metric adapts


class PrototypeSolver:
    """The data of one fit, and how to descend for one family of focal sets.

    A method that changes the model, the scale of the data or the step overrides `model_type`, `_scale` or `_step`.
    """

    model_type: type[Model] = Model

    def __init__(self, estimator: Any, data, weights, centre, rng, apply: Callable):
        self.estimator = estimator
        self.data, self.weights, self.centre, self.rng, self.apply = data, weights, centre, rng, apply
        self.sample, self.sample_weights = _starts.representative_sample(data, weights, rng)
        _starts.check_enough_objects(data, self.sample, estimator.n_clusters)
        self.zero = 1e-12 * _starts.mean_squared_deviation(data, weights)
        if estimator.delta != "auto":
            self.delta = float(estimator.delta)
        else:
            # with as many clusters as different objects nothing is far from a centre, and any distance will do
            self.delta = float(np.sqrt(_DELTA_FACTOR * self._scale())) or 1.0

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        """Best run for a family, from several starts or from the prototypes of the run before."""
        require_singletons(family)
        if previous is not None:
            return self._run(self._model(family, previous.model.centers, previous.model.metrics))
        init = self.estimator.init
        if not isinstance(init, str):
            return self._run(self._model(family, self._given_centers(init, family)))
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.estimator.n_init)
        starts = (self._drawn(family, init, seed) for seed in seeds)
        best = self.estimator._best_of(starts, len(seeds), partial(self._run, on_sample=True))
        return best if len(self.data) == len(self.sample) else self._run(best.model)

    def partition_of(self, run: Run) -> CredalPartition:
        return CredalPartition._trusted(run.model.masses(self.data, self.apply), run.model.family)

    def _scale(self) -> float:
        """Mean cost of an object that is where it belongs."""
        c = self.estimator.n_clusters
        return _starts.within_cluster_scale(self.sample, self.sample_weights, c, self.rng)

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> Model:
        e = self.estimator
        centers = np.asarray(centers, float)
        return self.model_type(family, centers, e.alpha, getattr(e, "beta", 2.0), self.delta, self.zero, metrics)

    def _drawn(self, family: FocalSets, method: str, seed: int) -> Model:
        rng = np.random.RandomState(seed)
        c = self.estimator.n_clusters
        return self._model(family, _starts.first_centers(self.sample, self.sample_weights, c, method, rng))

    def _given_centers(self, init: Any, family: FocalSets) -> np.ndarray:
        shape = (self.estimator.n_clusters, self.data.shape[1])
        if isinstance(init, CredalPartition):
            check_partition(init, len(self.data), shape[0])
            return self._model(family, np.zeros(shape)).centers_from(init.masses, init.focal_sets, self.data)
        centers = checked_centers(init, shape)
        return centers if self.centre is None else centers - self.centre

    def _step(self, on_sample: bool) -> Callable[[Model], tuple[float, Model]]:
        """One iteration: the objective of a model, and the next model."""
        data, weights = (self.sample, self.sample_weights) if on_sample else (self.data, self.weights)

        def step(model: Model) -> tuple[float, Model]:
            statistics = model.statistics(data, weights, self.apply)
            return statistics.objective, model.updated(statistics)

        return step

    def _run(self, start: Model, *, on_sample: bool = False) -> Run:
        e = self.estimator
        step = self._step(on_sample)
        if getattr(e, "metric", "euclidean") == "adaptive" and start.metrics is None:
            start = descend(step, start, max_iter=_EUCLIDEAN_FIRST, tol=e.tol).model
            start = replace(start, metrics=np.stack([np.eye(self.data.shape[1])] * e.n_clusters))
        return descend(step, start, max_iter=e.max_iter, tol=e.tol)


def require_singletons(family: FocalSets) -> None:
    if (family.singleton_index < 0).any():
        raise ValueError("focal_sets must hold every single cluster: each has a prototype of its own")


def check_partition(init: CredalPartition, n_objects: int, n_clusters: int) -> None:
    """A partition to start from is one of the same objects into as many clusters."""
    if init.n_clusters != n_clusters or len(init) != n_objects:
        raise ValueError(
            f"init must be a partition of {n_objects} objects into {n_clusters} clusters, "
            f"got {len(init)} objects and {init.n_clusters} clusters"
        )


def checked_centers(init: Any, shape: tuple[int, int]) -> np.ndarray:
    centers = np.asarray(init, dtype=float)
    if centers.shape != shape:
        raise ValueError(f"init must have shape {shape} (n_clusters, n_features), got {centers.shape}")
    if not np.isfinite(centers).all():
        raise ValueError("init must be finite")
    return centers
