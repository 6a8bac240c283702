"""How masses are found around prototypes that stay where they are, and perhaps a metric for each of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dempster._missing import has_missing
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._mass_step import MassStep
from dempster.cluster._scales import outlier_distance
from dempster.cluster._search import Method, Sample
from dempster.cluster.prototypes._method import ZERO
from dempster.cluster.prototypes._model import PrototypeModel
from dempster.dissimilarity.partial import point_squares
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run, descend
from dempster.partition import CredalPartition

__all__ = ["FixedPrototypeSettings", "FixedPrototypeMethod"]


@dataclass(frozen=True)
class FixedPrototypeSettings:
    """The (c, p) prototypes, and what a user may set. ``delta`` is None if it follows from the data."""

    centers: np.ndarray
    alpha: float
    beta: float
    delta: float | None
    adaptive: bool
    max_iter: int
    tol: float


class FixedPrototypeMethod(Method[PrototypeModel, PrototypeModel]):
    """Evidential c-means whose prototypes do not move. There is one start."""

    def __init__(self, settings: FixedPrototypeSettings, sample: Sample[np.ndarray], apply: Apply):
        self.settings, self.values, self.weights, self.apply = settings, sample.values, sample.kernel_weights, apply
        # second moments, which the adaptive metric needs, lose digits far from the origin
        origin = _starts.mean_of_objects(self.values, self.weights).astype(self.values.dtype)
        self.data, self.centers, self.within = self.values - origin, settings.centers - origin, sample.within
        self.zero = ZERO * _starts.mean_squared_deviation(self.data, self.weights)
        self.delta = self._outlier_distance() if settings.delta is None else settings.delta

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[PrototypeModel], int]:
        c, p = self.centers.shape
        return [self._model(family, np.stack([np.eye(p)] * c) if self.settings.adaptive else None)], 1

    def descend(self, start: PrototypeModel) -> Run[PrototypeModel]:
        return descend(self._step, start, max_iter=self.settings.max_iter, tol=self.settings.tol)

    def extended(self, run: Run[PrototypeModel], family: FocalSets) -> Run[PrototypeModel]:
        return self.descend(self._model(family, run.model.metrics))

    def with_neighbors(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        return Run(self._model(FocalSets.neighbors(self.centers), run.model.metrics), run.history, run.converged)

    def partition(self, run: Run[PrototypeModel]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def result(self, run: Run[PrototypeModel]) -> tuple[PrototypeModel, np.ndarray]:
        model = replace(run.model, centers=self.settings.centers)
        return model, model.masses(self.values, self.apply)

    def _model(self, family: FocalSets, metrics: np.ndarray | None) -> PrototypeModel:
        require_singletons(family)
        step = MassStep(family, self.settings.alpha, self.settings.beta, self.delta**2, self.zero)
        return PrototypeModel(step, self.centers, metrics, self.within)

    def _outlier_distance(self) -> float:
        """What delta="auto" stands for, from the distances to the nearest prototype."""
        if has_missing(self.data):
            squares = point_squares(self.data, self.centers).min(axis=1) + np.isnan(self.data) @ self.within
            distances = np.sqrt(squares)
        else:
            from sklearn.metrics import pairwise_distances_argmin_min

            _, distances = pairwise_distances_argmin_min(self.data, self.centers.astype(self.data.dtype))
        return outlier_distance(distances, self.weights if len(self.weights) else np.ones(len(distances)))

    def _step(self, model: PrototypeModel) -> tuple[float, PrototypeModel]:
        """The objective of a model, and the model with the best metrics for its masses."""
        statistics = model.statistics(self.data, self.weights, self.apply)
        return statistics.objective, model.updated(statistics, move_centers=False)
