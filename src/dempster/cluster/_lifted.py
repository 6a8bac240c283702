"""Prototypes in one dimension more than the attributes, where a further cost becomes a distance.

A cost |x - v|^2 + s^2 is the squared distance between points one of which is lifted by s off the space of the
attributes, so that the model and the kernels of evidential c-means serve for it: in credal c-means the barycentres are
lifted, in spatial evidential c-means the objects.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dempster._arrays import Array, library_of, zeros
from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._starts import distances_to_centers, outlier_distance
from dempster.cluster.ecm import PrototypeMethod, PrototypeModel, Statistics
from dempster.cluster.evidence import ClusterEvidence
from dempster.optimize.blocks import Apply


def lifted(X: Array) -> Array:
    """The rows with one more coordinate, zero for all."""
    return library_of(X).concatenate([X, zeros((len(X), 1), X)], 1)


def lifted_block(block: np.ndarray, shared: None, apply: Apply) -> np.ndarray:
    """The same for rows that come in blocks."""
    return lifted(block)


def grounded_evidence(evidence: ClusterEvidence) -> ClusterEvidence:
    """The additional coordinate is no attribute: what it adds counts besides."""
    assert evidence.parts is not None
    return replace(evidence, parts=evidence.parts[:-1])


class LiftedMethod(PrototypeMethod):
    """As for ECM; the last coordinate is the additional one. It is zero for prototypes."""

    def _checked_centers(self, init: ArrayLike) -> np.ndarray:
        return lifted(_starts.checked_centers(init, (self.n_clusters, self.data.shape[1] - 1)))


@dataclass(frozen=True)
class SpatialModel(PrototypeModel):
    """Prototypes in one dimension more than the image: there the pixels have the spread of their neighbourhood.

    The mean squared distance of a pixel and its neighbours to v is that of their mean to v plus their spread: the
    squared distance between points lifted off the space of the image and prototypes that stay in it.
    """

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        return grounded_evidence(super().evidence(X, itself))

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        return _grounded(super()._best_centers(statistics))


def _grounded(centers: np.ndarray) -> np.ndarray:
    """The minimum over prototypes whose last coordinate is zero: coordinates do not depend on each other."""
    return lifted(centers[:, :-1])


class SpatialMethod(LiftedMethod):
    """Spatial evidential c-means, on pixels with the spread of their neighbourhood as a last coordinate."""

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> SpatialModel:
        return SpatialModel(self._mass_step(family), np.asarray(centers, float), metrics)

    def _draw(self, family: FocalSets, seed: int) -> PrototypeModel:
        model = super()._draw(family, seed)
        return replace(model, centers=_grounded(model.centers))

    def _outlier_distance(self) -> float:
        c, weights = self.n_clusters, self.sample_weights
        squares, which = distances_to_centers(self.sample[:, :-1], weights, c, self.rng)
        squares += np.square(self.sample[which, -1], dtype=float)
        return outlier_distance(np.sqrt(squares), weights[which])
