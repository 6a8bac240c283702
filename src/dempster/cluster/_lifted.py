"""Prototypes with one additional coordinate, which represents an additional cost as a distance.

A cost |x - v|^2 + s^2 is the squared distance between x and v if one of the points is shifted by s
along an additional axis. The model and the kernels of evidential c-means can then compute this
cost. In credal c-means the barycenters have a nonzero additional coordinate; in spatial evidential
c-means the objects have a nonzero additional coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np

from dempster._arrays import Array, library_of, zeros
from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._starts import outlier_cost
from dempster.cluster.ecm import PrototypeMethod, PrototypeModel, Statistics
from dempster.cluster.explanation import ClusterEvidence
from dempster.data.blocks import Blocks
from dempster.optimize.blocks import Apply


def lift(X: Array) -> Array:
    """Append the additional coordinate, a column of zeros, to X."""
    return library_of(X).concatenate([X, zeros((len(X), 1), X)], 1)


def pad(X: np.ndarray, width: int) -> np.ndarray:
    """Append columns of zeros to X."""
    return np.hstack([X, np.zeros((len(X), width - X.shape[1]), X.dtype)])


def lift_blocks(source: Blocks) -> Blocks:
    """Append the additional coordinate to all blocks."""
    assert source.width is not None
    return source.map(_lift_block, None, source.width + 1, source.dtype)


def _lift_block(block: np.ndarray, shared: None, apply: Apply) -> np.ndarray:
    return lift(block)


def drop_last_part(evidence: ClusterEvidence) -> ClusterEvidence:
    """Remove the additional coordinate, which is not an attribute, from the evidence."""
    assert evidence.parts is not None
    return replace(evidence, parts=evidence.parts[:-1])


class LiftedMethod(PrototypeMethod):
    """Evidential c-means with an additional last coordinate, which is zero for prototypes."""

    n_added = 1

    def _validate_centers(self, init: ArrayLike) -> np.ndarray:
        n_attributes = self.rows.values.shape[1] - 1
        return lift(_starts.validate_centers(init, (self.n_clusters, n_attributes)))


@dataclass(frozen=True)
class SpatialModel(PrototypeModel):
    """Prototypes of spatial evidential c-means.

    The mean squared distance from a pixel and its neighbors to a prototype v is the squared
    distance from their mean to v plus their spread, which is their mean squared distance from their
    mean. The additional coordinate of a pixel is the square root of the spread. The additional
    coordinate of a prototype is zero.
    """

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        return drop_last_part(super().evidence(X, itself))

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        # The coordinates are independent, so setting the additional coordinate to zero does not
        # change the others.
        return lift(super()._best_centers(statistics)[:, :-1])


class SpatialMethod(LiftedMethod):
    """Spatial evidential c-means."""

    model_type = SpatialModel

    def _draw_start(
        self, family: FocalSets, rng: np.random.RandomState
    ) -> PrototypeModel:
        model = super()._draw_start(family, rng)
        return replace(model, centers=lift(model.centers[:, :-1]))

    def _outlier_cost(self) -> float:
        X = self.sample
        return outlier_cost(
            X[:, :-1],
            self.sample_weights,
            self.n_clusters,
            self.rng,
            np.square(X[:, -1], dtype=float),
        )


@dataclass(frozen=True)
class AdaptiveSpatialModel(PrototypeModel):
    """Prototypes of spatial evidential c-means with adaptive metrics.

    With the metric S, the mean squared distance from a pixel and its neighbors to a prototype v is
    the squared distance from their mean to v plus tr(S C), where C is their covariance matrix. The
    additional coordinates of a pixel are the entries of the lower triangle of C. The additional
    coordinates of a prototype are zero.
    """

    centers: Annotated[np.ndarray, "c w"]
    within: Annotated[np.ndarray, "w"] | None = None

    @property
    def n_channels(self) -> int:
        """Number p of channels; the number of columns is p (p + 3) / 2."""
        return round((np.sqrt(8 * self.centers.shape[1] + 9) - 3) / 2)

    @property
    def core(self) -> PrototypeModel:
        """Model without the additional coordinates."""
        return PrototypeModel(
            self.step, self.centers[:, : self.n_channels], self.metrics
        )

    def squared_distances(self, X: np.ndarray) -> np.ndarray:
        p = self.n_channels
        metrics = self.metrics
        if metrics is None:
            metrics = np.broadcast_to(np.eye(p), (len(self.centers), p, p))
        row, column = np.tril_indices(p)
        factors = np.einsum("jk,kde->dej", self.step.averages, metrics)[row, column]
        # An entry beside the diagonal represents two entries.
        factors *= np.where(row == column, 1, 2)[:, None]
        squares = self.core.squared_distances(np.ascontiguousarray(X[:, :p]))
        return squares + X[:, p:].astype(float) @ factors

    def masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        squares = self.squared_distances(X).astype(float)
        return self.step.masses(squares, np.empty(0), apply)[1].astype(X.dtype)

    def statistics(
        self, X: np.ndarray, weights: np.ndarray | None, apply: Apply
    ) -> Statistics:
        assert weights is not None
        p = self.n_channels
        squares = self.squared_distances(X).astype(float)
        objective, masses, _ = self.step.nonempty_masses(squares, weights, apply)
        powers = masses**self.step.beta
        if len(weights):
            powers *= weights[:, None]
        means = X[:, :p].astype(float)
        row, column = np.tril_indices(p)
        second = np.zeros((p, p, powers.shape[1]))
        second[row, column] = (means[:, row] * means[:, column] + X[:, p:]).T @ powers
        return Statistics(objective, powers.sum(axis=0), means.T @ powers, second)

    def update(self, statistics: Statistics) -> Self:
        moved = self.core.update(statistics)
        centers = pad(moved.centers, self.centers.shape[1])
        return replace(self, centers=centers, metrics=moved.metrics)

    def fit_centers(
        self, masses: np.ndarray, family: FocalSets, X: np.ndarray
    ) -> np.ndarray:
        return pad(
            self.core.fit_centers(masses, family, X[:, : self.n_channels]), X.shape[1]
        )

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        return self.core.evidence(X[:, : self.n_channels], itself)


class AdaptiveSpatialMethod(PrototypeMethod):
    """Spatial evidential c-means with adaptive metrics.

    The estimator stores the number of channels.
    """

    model_type = AdaptiveSpatialModel

    @property
    def n_channels(self) -> int:
        return self.estimator.n_features_in_

    @property
    def n_added(self) -> int:  # type: ignore[override]
        """Number of covariances."""
        return self.original.values.shape[1] - self.n_channels

    def _find_points(self) -> np.ndarray:
        return self.sample[:, : self.n_channels]

    def _identity_metrics(self) -> np.ndarray:
        return np.stack([np.eye(self.n_channels)] * self.n_clusters)

    def _model(
        self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None
    ) -> PrototypeModel:
        return super()._model(family, pad(centers, self.rows.values.shape[1]), metrics)

    def _validate_centers(self, init: ArrayLike) -> np.ndarray:
        centers = _starts.validate_centers(init, (self.n_clusters, self.n_channels))
        return pad(centers, self.rows.values.shape[1])

    def _outlier_cost(self) -> float:
        row, column = np.tril_indices(self.n_channels)
        traces = self.sample[:, self.n_channels :][:, row == column].sum(axis=1)
        return outlier_cost(
            self.points, self.sample_weights, self.n_clusters, self.rng, traces
        )
