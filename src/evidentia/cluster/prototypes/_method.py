"""How methods with prototypes among attributes descend: starts, a sample for the first of them, given prototypes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from evidentia._types import ArrayLike
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._families import require_singletons
from evidentia.cluster._mass_step import MassStep
from evidentia.cluster._search import Method, Sample
from evidentia.cluster.prototypes._model import PrototypeModel
from evidentia.optimize.blocks import Apply
from evidentia.optimize.descent import Run, descend
from evidentia.partition import CredalPartition

__all__ = ["PrototypeSettings", "PrototypeMethod", "PrototypeStep"]

_DELTA_FACTOR = 10.0  # delta="auto": squared, this many times the mean squared distance to the nearest centre
_EUCLIDEAN_FIRST = 5  # iterations before the metric adapts

PrototypeStep = Callable[[PrototypeModel], tuple[float, PrototypeModel]]


@dataclass(frozen=True)
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


class PrototypeMethod(Method[PrototypeModel, PrototypeModel]):
    """Evidential c-means, and what its relatives share with it.

    A method that changes the model, the scale of the data or the step overrides `_model`, `_scale` or `_step`.
    """

    def __init__(
        self, settings: PrototypeSettings, sample: Sample[np.ndarray], rng: np.random.RandomState, apply: Apply
    ):
        self.settings, self.values, self.weights = settings, sample.values, sample.kernel_weights
        self.rng, self.apply = rng, apply
        # second moments, which the adaptive metric needs, lose digits far from the origin
        self.origin = None
        if settings.adaptive:
            mean = np.average(self.values, axis=0, weights=sample.weights)
            self.origin = mean.astype(self.values.dtype)
        self.data = self.values if self.origin is None else self.values - self.origin
        self.sample, self.sample_weights = _starts.representative_sample(self.data, self.weights, rng)
        _starts.check_different_objects(self.data, self.sample, settings.n_clusters)
        self.zero = 1e-12 * _starts.mean_squared_deviation(self.data, self.weights)
        # with as many clusters as different objects nothing is far from a centre, and any distance will do
        given = settings.delta
        self.delta = float(given) if given is not None else float(np.sqrt(_DELTA_FACTOR * self._scale())) or 1.0

    # ---- what relatives of ECM change -----------------------------------------------------------------------------

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> PrototypeModel:
        return PrototypeModel(self._mass_step(family), np.asarray(centers, float), metrics)

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        return MassStep(family, self.settings.alpha, self.settings.beta, self.delta**2, self.zero)

    def _scale(self) -> float:
        """Mean cost of an object that is where it belongs."""
        return _starts.within_cluster_scale(self.sample, self.sample_weights, self.settings.n_clusters, self.rng)

    def _step(self, *, on_sample: bool) -> PrototypeStep:
        """One iteration: the objective of a model, and the next model."""
        data, weights = (self.sample, self.sample_weights) if on_sample else (self.data, self.weights)

        def step(model: PrototypeModel) -> tuple[float, PrototypeModel]:
            statistics = model.statistics(data, weights, self.apply)
            return statistics.objective, model.updated(statistics)

        return step

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> PrototypeModel | None:
        init = self.settings.init
        return None if isinstance(init, str) else self._model(family, self._given_centers(init, family))

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[PrototypeModel], int]:
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.settings.n_init)
        return (self._drawn(family, np.random.RandomState(seed)) for seed in seeds), len(seeds)

    def _drawn(self, family: FocalSets, rng: np.random.RandomState) -> PrototypeModel:
        s = self.settings
        return self._model(family, _starts.first_centers(self.sample, self.sample_weights, s.n_clusters, s.init, rng))

    def _given_centers(self, init: ArrayLike | CredalPartition, family: FocalSets) -> np.ndarray:
        shape = (self.settings.n_clusters, self.data.shape[1])
        if isinstance(init, CredalPartition):
            _starts.check_partition(init, len(self.data), shape[0])
            return self._model(family, np.zeros(shape)).centers_from(init.masses, init.focal_sets, self.data)
        centers = _starts.checked_centers(init, shape)
        return centers if self.origin is None else centers - self.origin

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: PrototypeModel) -> Run[PrototypeModel]:
        return self._run(start, on_sample=True)

    def completed(self, best: Run[PrototypeModel]) -> Run[PrototypeModel]:
        return best if len(self.sample) == len(self.data) else self.descend(best.model)

    def descend(self, start: PrototypeModel) -> Run[PrototypeModel]:
        return self._run(start, on_sample=False)

    def extended(self, run: Run[PrototypeModel], family: FocalSets) -> Run[PrototypeModel]:
        return self.descend(self._model(family, run.model.centers, run.model.metrics))

    def _run(self, start: PrototypeModel, *, on_sample: bool) -> Run[PrototypeModel]:
        s, step = self.settings, self._step(on_sample=on_sample)
        if s.adaptive and start.metrics is None:
            start = descend(step, start, max_iter=_EUCLIDEAN_FIRST, tol=s.tol).model
            start = replace(start, metrics=np.stack([np.eye(self.data.shape[1])] * s.n_clusters))
        return descend(step, start, max_iter=s.max_iter, tol=s.tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[PrototypeModel]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def result(self, run: Run[PrototypeModel]) -> tuple[PrototypeModel, np.ndarray]:
        model = run.model
        if self.origin is not None:
            model = replace(model, centers=model.centers + self.origin)
        return model, model.masses(self.values, self.apply)
