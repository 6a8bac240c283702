"""How near objects are to clusters, each measured by the distances that are usual around it (``affinity.c``)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster._native import kernel

__all__ = ["Affinity", "reach"]

_reach = kernel("""reach(
    D: real[n, r], weights: real[r], itself: int64[n] below r or -1 or None, unit: float, near_amount: float,
    far_amount: float, near: real[n] out, far: real[n] out)""")
_affinity = kernel("""affinity(
    D: real[n, r], scales: real[r], weights: real[r], labels: int64[r] below c, itself: int64[n] below r or -1 or None,
    unit: float, rate: float, near_amount: float, far_amount: float, least: float, near: real[n] out,
    out: real[n, c] out)""")
_affinity_of_points = kernel("""affinity_of_points(
    A: real[n, d], B: real[r, d], scales: real[r], weights: real[r], labels: int64[r] below c, unit: float, rate: float,
    near_amount: float, far_amount: float, least: float, near: real[n] out, nearest: real[n] out,
    out: real[n, c] out)""")


@dataclass(frozen=True)
class Affinity:
    """How near objects are to clusters of references.

    For object i and cluster k, the sum over the references j of the cluster of exp(-rate d_ij^2 / (s_i s_j)), with the
    scales s of both, divided by the root of their weight. A cluster without references gets zero.

    Attributes
    ----------
    scales, weights : (r,) array
        Of the references.
    labels : (r,) array
        Clusters of the references.
    n_clusters : int
    rate : float
    near, far : float
        Weights of references: within the distance where references of weight ``far`` lie is the scale of an object (at
        least that of the smallest reference).
    """

    scales: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    n_clusters: int
    rate: float
    near: float
    far: float

    def by_distances(self, D: np.ndarray, itself: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(n, c) affinities of objects with these distances to the references, and (n,) distances within which
        references of weight ``near`` lie. ``itself`` is as in `reach`, but who is alone in a cluster counts itself."""
        near, out = np.empty(len(D), D.dtype), np.empty((len(D), self.n_clusters), D.dtype)
        scales, weights = self.scales.astype(D.dtype), self.weights.astype(D.dtype)
        _affinity(D, scales, weights, self.labels, itself, self._unit, self.rate, *self._amounts, near, out)
        return out, near

    def by_points(self, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for points A and references B at Euclidean distances, which are never all held; and (n,) distances
        to the nearest reference, zero if they are equal."""
        near, nearest = np.empty(len(A), A.dtype), np.empty(len(A), A.dtype)
        out = np.empty((len(A), self.n_clusters), A.dtype)
        A, B = np.ascontiguousarray(A), np.ascontiguousarray(B)
        scales, weights = self.scales.astype(A.dtype), self.weights.astype(A.dtype)
        _affinity_of_points(
            A, B, scales, weights, self.labels, self._unit, self.rate, *self._amounts, near, nearest, out
        )
        return out, near, nearest

    @property
    def _unit(self) -> float:
        """What one object weighs."""
        return float(self.weights.mean())

    @property
    def _amounts(self) -> tuple[float, float, float]:
        return self.near, self.far, float(self.scales.min())


def reach(
    D: np.ndarray, weights: np.ndarray, itself: np.ndarray | None, unit: float, near: float, far: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) distances within which references of the weights ``near`` and ``far`` lie.

    Parameters
    ----------
    D : (n, r) array
        Dissimilarities of objects to references.
    weights : (r,) array
        Of the references.
    itself : (n,) array or None
        The reference that an object is, -1 if it is none: it does not count itself, but what that reference weighs
        beyond ``unit`` counts as others at its place.
    unit : float
        What one object weighs.
    near, far : float
        ``near`` is not above ``far``.
    """
    close, distant = np.empty(len(D), D.dtype), np.empty(len(D), D.dtype)
    _reach(D, weights, itself, unit, near, far, close, distant)
    return close, distant
