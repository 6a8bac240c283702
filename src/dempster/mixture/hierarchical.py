"""Model-based hierarchical clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._native import interruptible, kernel

_MODELS = ("EII", "VII", "VVV")  # In the order of the constants in agglomeration.c.
_agglomerate = kernel("""agglomerate(
    points: float64[steps + 1, d], sizes: float64[steps + 1], model: int, alpha: float, merges: int64[steps, 2] out)""")
_cut = kernel("""cut_merges(
    merges: int64[steps, 2] up to steps, n_merges: int up to steps, labels: int64[steps + 1] out)""")


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Merges of an agglomerative clustering of the distinct rows (points) of a table."""

    merges: np.ndarray  # Clusters merged at each step, shape (n_points - 1, 2), given by their first points.
    point_of: np.ndarray  # Index of the point of each row, shape (n_samples,); -1 for a row of weight zero.

    def labels(self, n_clusters: int) -> np.ndarray:
        """Return the cluster of each row, numbered in the order of the sorted points; -1 for rows of weight zero."""
        n_points = len(self.merges) + 1
        if not 1 <= n_clusters <= n_points:
            expected = f"between 1 and the number of different objects, {n_points}"
            raise InvalidParameterError("n_clusters", expected, n_clusters)
        labels = np.empty(n_points, np.int64)
        _cut(self.merges, n_points - n_clusters, labels)
        return np.append(labels, -1)[self.point_of]


def merge_tree(X: Any, *, model: str = "VVV", sample_weight: Any = None, sphere: bool = True) -> MergeTree:
    """Compute a hierarchy of clusters by a Gaussian classification likelihood (Fraley, 1998).

    Each step merges the two clusters whose union decreases the likelihood least. Time and memory are quadratic in the
    number of different rows. The covariance ``model`` is unconstrained ("VVV"), spherical ("VII"), or spherical with
    equal volumes ("EII", Ward's method). If ``sphere`` is True, the data are standardized, rotated to their principal
    axes and divided by the square roots of the singular values (Scrucca and Raftery, 2015).
    """
    if model not in _MODELS:
        raise InvalidParameterError("model", f"one of {', '.join(_MODELS)}", model)
    data = np.asarray(X, dtype=np.float64)
    weights = np.ones(len(data)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    used = np.flatnonzero(weights > 0)
    # The points are sorted and distinct, so that the result does not depend on the order of the rows.
    points, inverse = np.unique(data[used], axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    sizes = np.bincount(inverse, weights[used], minlength=len(points))
    if sphere:
        points = _sphere(points, sizes)
    gaps = points - np.average(points, axis=0, weights=sizes)
    alpha = float(sizes @ (gaps * gaps).sum(axis=1)) / (sizes.sum() * max(points.shape[1], 1))
    merges, alpha = np.empty((len(points) - 1, 2), np.int64), max(alpha, np.finfo(float).tiny)
    interruptible(_agglomerate, np.ascontiguousarray(points), sizes, _MODELS.index(model), alpha, merges)
    point_of = np.full(len(data), -1)
    point_of[used] = inverse
    return MergeTree(merges, point_of)


def _sphere(points: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the standardized points in their principal axes, divided by the square roots of the singular values."""
    total = sizes.sum()
    gaps = points - np.average(points, axis=0, weights=sizes)
    deviation = np.sqrt(sizes @ (gaps * gaps) / max(total - 1, 1.0))
    varying = (points != points[0]).any(axis=0)
    gaps = gaps[:, varying] / deviation[varying]
    _, singular, axes = np.linalg.svd(np.sqrt(sizes)[:, None] * gaps, full_matrices=False)
    used = singular > 1e-10 * singular.max(initial=0.0)
    return gaps @ axes[used].T / np.sqrt(singular[used])
