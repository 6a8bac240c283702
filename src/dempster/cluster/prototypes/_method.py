"""How methods with prototypes among attributes descend: starts, a sample for the first of them, given prototypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dempster._arrays import Array, precision_of, to_host
from dempster._scale import column_bounds, far_origin
from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._mass_step import MassStep
from dempster.cluster._scales import distances_to_centers, isolated, outlier_distance
from dempster.cluster._search import MassModel, Method, Sample
from dempster.cluster.on_device.rows import rows_on_device
from dempster.cluster.prototypes._model import OnlinePrototypes, PrototypeModel, Statistics, block_statistics
from dempster.data.moments import Moments
from dempster.dissimilarity.partial import filled
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run, descend
from dempster.partition import CredalPartition

__all__ = ["PrototypeSettings", "PrototypeMethod", "PrototypeStep", "ZERO"]

ZERO = 1e-12  # an object lies on a prototype up to this cost, in mean squared deviations of the data
_EUCLIDEAN_FIRST = 5  # iterations before the metric adapts

PrototypeStep = Callable[[PrototypeModel], tuple[float, PrototypeModel]]


@dataclass(frozen=True, kw_only=True)
class PrototypeSettings:
    """What a user may set. ``delta`` is None if it follows from the data; ``init`` is the name of a way to draw
    starts, or the prototypes or the partition to start from."""

    n_clusters: int
    alpha: float
    beta: float
    delta: float | None
    adaptive: bool
    init: str | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    tol: float
    device: str = "cpu"


class PrototypeMethod(Method[PrototypeModel, PrototypeModel]):
    """Evidential c-means, and what its relatives share with it.

    A method that changes the model, the distance to the empty set, the step or what given prototypes are overrides
    `_model`, `_outlier_distance`, `_step` or `_checked_centers`.
    """

    def __init__(
        self, settings: PrototypeSettings, sample: Sample[np.ndarray], rng: np.random.RandomState, apply: Apply
    ):
        self.settings, self.values, self.weights = settings, sample.values, sample.kernel_weights
        self.within, self.everyone, self.rng, self.apply = sample.within, sample.everyone, rng, apply
        moments = None if self.everyone is None else self.everyone.moments
        self.on_device = None
        if self.everyone is None:
            self.on_device = rows_on_device(self.values, self.weights, settings.device)
        self.origin = self._origin(moments)
        if self.on_device is None:
            self.data = self.values if self.origin is None else self.values - self.origin
            self.sample, self.sample_weights = _starts.representative_sample(self.data, self.weights, rng)
        else:
            self.on_device = self.on_device if self.origin is None else self.on_device.measured_from(self.origin)
            self.data = self.on_device.rows
            self.sample, self.sample_weights = self.on_device.representative_sample(rng)
        self.points = filled(self.sample)  # where the first prototypes are drawn
        _starts.check_different_objects(self.data, self.points, settings.n_clusters, sample.weights)
        self.mean_squared_deviation = moments.mean_squared_deviation if moments else self._mean_squared_deviation()
        self._delta = settings.delta

    def _origin(self, moments: Moments | None) -> np.ndarray | None:
        """Where the objects are measured from: their mean for second moments, which the adaptive metric needs, and
        which lose digits far from zero; else zero, where that is near enough."""
        if self.settings.adaptive:
            return (moments.mean if moments else self._mean()).astype(precision_of(self.values))
        found = far_origin(*((moments.low, moments.high) if moments else self._bounds()))
        return None if found is None else found.astype(precision_of(self.values))

    def _mean(self) -> np.ndarray:
        if self.on_device is not None:
            return self.on_device.mean()
        return _starts.mean_of_objects(self.values, self.weights)

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        if self.on_device is not None:
            return self.on_device.bounds()
        return column_bounds(self.values)

    def _mean_squared_deviation(self) -> float:
        if self.on_device is not None:
            return self.on_device.mean_squared_deviation()
        return _starts.mean_squared_deviation(self.data, self.weights)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta is None:
            self._delta = self._outlier_distance()
        return self._delta

    # ---- what relatives of ECM change -----------------------------------------------------------------------------

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> PrototypeModel:
        return PrototypeModel(self._mass_step(family), np.asarray(centers, float), metrics, self.within)

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        return MassStep(family, self.settings.alpha, self.settings.beta, delta2, ZERO * self.mean_squared_deviation)

    def _outlier_distance(self) -> float:
        """What delta="auto" stands for before there is a fit: from the best of several k-means."""
        c, weights = self.settings.n_clusters, self.sample_weights
        squares, which = distances_to_centers(self.points, weights, c, self.rng)
        return outlier_distance(np.sqrt(squares), weights[which])

    def _step(self, *, on_sample: bool) -> PrototypeStep:
        """One iteration: the objective of a model, and the next model."""
        weights: Array | None
        data, weights = (self.sample, self.sample_weights) if on_sample else (self.data, self.weights)
        if self.on_device is not None and not on_sample:
            weights = self.on_device.weights
        everyone = None if on_sample else self.everyone

        def step(model: PrototypeModel) -> tuple[float, PrototypeModel]:
            if everyone is None:
                statistics = model.statistics(data, weights, self.apply)
            else:
                statistics = everyone.sum(block_statistics, (model, self.origin, self.settings.device), Statistics)
            return statistics.objective, model.updated(statistics)

        return step

    def _checked_centers(self, init: ArrayLike) -> np.ndarray:
        """Given prototypes, in the coordinates of the values."""
        return _starts.checked_centers(init, (self.settings.n_clusters, self.data.shape[1]))

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> PrototypeModel | None:
        init = self.settings.init
        return None if isinstance(init, str) else self._model(family, self._given_centers(init, family))

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[PrototypeModel], int]:
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.settings.n_init)
        return (self._drawn(family, np.random.RandomState(seed)) for seed in seeds), len(seeds)

    def _drawn(self, family: FocalSets, rng: np.random.RandomState) -> PrototypeModel:
        c, init = self.settings.n_clusters, self.settings.init
        assert isinstance(init, str)
        weights = self.sample_weights if family.empty_index is not None else self._crowded_weights
        return self._model(family, _starts.first_centers(self.points, weights, c, init, rng))

    @cached_property
    def _crowded_weights(self) -> np.ndarray:
        """Weights of the sample, zero for isolated objects, on which prototypes would stay where there is no empty set
        to take them."""
        weights = np.where(isolated(self.points), 0.0, self.sample_weights)
        enough = len(np.unique(self.points[weights > 0], axis=0)) >= self.settings.n_clusters
        return weights if enough else self.sample_weights

    def _given_centers(self, init: ArrayLike | CredalPartition, family: FocalSets) -> np.ndarray:
        if isinstance(init, CredalPartition):
            c = self.settings.n_clusters
            _starts.check_partition(init, len(self.data), c)
            blank = self._model(family, np.zeros((c, self.data.shape[1])))
            return blank.centers_from(to_host(init.masses), init.focal_sets, to_host(self.data))
        centers = self._checked_centers(init)
        return centers if self.origin is None else centers - self.origin

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: PrototypeModel) -> Run[PrototypeModel]:
        return self._run(start, on_sample=True)

    def completed(self, best: Run[PrototypeModel]) -> Run[PrototypeModel]:
        all_competed = _starts.holds_all(self.sample, self.data, self.weights)
        all_competed &= self.everyone is None or self.everyone.are_drawn
        return best if all_competed else self.descend(best.model)

    def descend(self, start: PrototypeModel) -> Run[PrototypeModel]:
        return self._run(start, on_sample=False)

    def extended(self, run: Run[PrototypeModel], family: FocalSets) -> Run[PrototypeModel]:
        return self.descend(self._model(family, run.model.centers, run.model.metrics))

    def with_neighbors(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        if self._delta is None:
            squares = run.model.squared_distances(self.sample).min(axis=1)
            self._delta = outlier_distance(np.sqrt(np.maximum(squares, 0)), self.sample_weights)
        step = self._mass_step(FocalSets.neighbors(run.model.centers))
        return Run(replace(run.model, step=step), run.history, run.converged)

    def _run(self, start: PrototypeModel, *, on_sample: bool) -> Run[PrototypeModel]:
        s, step = self.settings, self._step(on_sample=on_sample)
        if s.adaptive and start.metrics is None:
            start = descend(step, start, max_iter=_EUCLIDEAN_FIRST, tol=s.tol).model
            start = replace(start, metrics=np.stack([np.eye(self.data.shape[1])] * s.n_clusters))
        return descend(step, start, max_iter=s.max_iter, tol=s.tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[PrototypeModel]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def result(self, run: Run[PrototypeModel]) -> tuple[MassModel[Array], Array]:
        model = run.model
        if self.origin is not None:
            model = replace(model, centers=model.centers + self.origin)
        if self.on_device is not None:
            return model, model.masses_on_device(self.values, self.on_device.rows.device)
        return model, model.masses(self.values, self.apply)

    def online(self, model: PrototypeModel, *, neighbors: bool) -> OnlinePrototypes:
        """Where learning block by block begins; ``neighbors``: whether pairs of neighbors are read off."""
        if self.settings.adaptive and model.metrics is None:
            model = replace(model, metrics=np.stack([np.eye(self.data.shape[1])] * self.settings.n_clusters))
        if neighbors:
            self.with_neighbors(Run(model))  # finds the distance to the empty set
        return OnlinePrototypes(model, self.origin, self.delta, neighbors)
