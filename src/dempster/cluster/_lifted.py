"""Prototypes with one additional coordinate, which represents an additional cost as a distance.

A cost |x - v|^2 + s^2 is the squared distance between x and v if one of the points is shifted by s along an additional
axis. The model and the kernels of evidential c-means can then compute this cost. In credal c-means the barycenters have
a nonzero additional coordinate; in spatial evidential c-means the objects have a nonzero additional coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dempster._arrays import Array, library_of, zeros
from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._starts import k_means_distances, outlier_distance
from dempster.cluster.ecm import PrototypeMethod, PrototypeModel, Statistics
from dempster.cluster.evidence import ClusterEvidence
from dempster.optimize.blocks import Apply


def lift(X: Array) -> Array:
    """Append the additional coordinate, a column of zeros, to X."""
    return library_of(X).concatenate([X, zeros((len(X), 1), X)], 1)


def lift_block(block: np.ndarray, shared: None, apply: Apply) -> np.ndarray:
    return lift(block)


def drop_last_part(evidence: ClusterEvidence) -> ClusterEvidence:
    """Remove the contribution of the additional coordinate to the evidence, because it is not an attribute."""
    assert evidence.parts is not None
    return replace(evidence, parts=evidence.parts[:-1])


class LiftedMethod(PrototypeMethod):
    """Evidential c-means with an additional last coordinate, which is zero for prototypes."""

    @property
    def n_attributes(self) -> int:
        return super().n_attributes - 1

    def _validate_centers(self, init: ArrayLike) -> np.ndarray:
        return lift(_starts.validate_centers(init, (self.n_clusters, self.data.shape[1] - 1)))


@dataclass(frozen=True)
class SpatialModel(PrototypeModel):
    """Prototypes of spatial evidential c-means.

    The mean squared distance from a pixel and its neighbors to a prototype v is the squared distance from their mean to
    v plus their spread, which is their mean squared distance from their mean. The additional coordinate of a pixel is
    the square root of the spread. The additional coordinate of a prototype is zero.
    """

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        return drop_last_part(super().evidence(X, itself))

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        # The coordinates are independent, so setting the additional coordinate to zero does not change the others.
        return lift(super()._best_centers(statistics)[:, :-1])


class SpatialMethod(LiftedMethod):
    """Spatial evidential c-means."""

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> SpatialModel:
        return SpatialModel(self._mass_step(family), np.asarray(centers, float), metrics)

    def _draw(self, family: FocalSets, seed: int) -> PrototypeModel:
        model = super()._draw(family, seed)
        return replace(model, centers=lift(model.centers[:, :-1]))

    def _outlier_distance(self) -> float:
        c, weights = self.n_clusters, self.sample_weights
        squares, which = k_means_distances(self.sample[:, :-1], weights, c, self.rng)
        squares += np.square(self.sample[which, -1], dtype=float)
        return outlier_distance(np.sqrt(squares), weights[which])
