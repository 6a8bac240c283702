"""Where prototype methods start: samples, first prototypes, the scale of the data.

Random choices are made along a fixed order of the objects (that of a projection), not along the rows, so that
permuting the rows, or repeating them instead of giving them a weight, leads to the same start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evidentia.cluster.neighbors.belief_peaks import BeliefPeaks

__all__ = [
    "representative_sample",
    "first_centers",
    "belief_peaks",
    "k_means",
    "within_cluster_scale",
    "mean_squared_deviation",
]

SAMPLE_SIZE = 20_000


def representative_sample(X: np.ndarray, weights: np.ndarray, rng: np.random.RandomState):
    """The objects in a fixed order, with weights; at most 20,000 of them, drawn in proportion to the weights."""
    direction = np.random.RandomState(0).normal(size=X.shape[1])
    order = np.argsort(X @ direction.astype(X.dtype), kind="stable")
    w = np.ones(len(X)) if len(weights) == 0 else weights.astype(float)
    order = order[w[order] > 0]
    if len(order) <= SAMPLE_SIZE:
        return X[order], w[order]
    reach = np.cumsum(w[order])
    at = (np.arange(SAMPLE_SIZE) + rng.random_sample(SAMPLE_SIZE)) / SAMPLE_SIZE * reach[-1]
    return X[order[np.searchsorted(reach, at, side="right").clip(max=len(order) - 1)]], np.ones(SAMPLE_SIZE)


def check_enough_objects(X: np.ndarray, sample: np.ndarray, n_clusters: int) -> None:
    """As many different objects as clusters are needed."""
    if len(np.unique(sample, axis=0)) >= n_clusters:
        return
    different = len(np.unique(X, axis=0))
    if different < n_clusters:
        raise ValueError(f"n_clusters={n_clusters} is more than the {different} different objects in X")


def first_centers(
    X: np.ndarray, weights: np.ndarray, n_clusters: int, method: str, rng: np.random.RandomState
) -> np.ndarray:
    """Prototypes by k-means++, or objects at random plus a small noise."""
    if method == "random":
        which = rng.choice(len(X), n_clusters, replace=False, p=weights / weights.sum())
        return X[which] + 1e-3 * X.std(axis=0) * rng.normal(size=(n_clusters, X.shape[1]))
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, n_clusters, sample_weight=weights, random_state=rng)[0]


def belief_peaks(
    finder: str | BeliefPeaks, X: np.ndarray, n_clusters: int | None, estimator: Any, metric: Any = "euclidean"
) -> BeliefPeaks:
    """Belief peaks of the objects, found as ``finder`` says; the number of clusters must be that of the estimator."""
    from sklearn.base import clone

    from evidentia.cluster.neighbors.belief_peaks import BeliefPeaks

    peaks = BeliefPeaks(n_clusters, metric=metric, random_state=estimator.random_state, n_jobs=estimator.n_jobs)
    if isinstance(finder, BeliefPeaks):
        peaks = clone(finder)
        if peaks.n_clusters is None:
            peaks.set_params(n_clusters=n_clusters)
    peaks.fit(X)
    if n_clusters is not None and peaks.n_clusters_ != n_clusters:
        raise ValueError(f"init finds {peaks.n_clusters_} belief peaks, but n_clusters={n_clusters}")
    return peaks


def within_cluster_scale(
    X: np.ndarray, weights: np.ndarray, n_clusters: int, rng: np.random.RandomState, n_iter: int = 20
) -> float:
    """Mean squared distance of the objects to the nearest centre of a short k-means."""
    from sklearn.metrics import pairwise_distances_argmin_min

    centers = k_means(X, weights, first_centers(X, weights, n_clusters, "k-means++", rng), n_iter)
    _, distance = pairwise_distances_argmin_min(X, centers)
    return float(np.average(distance.astype(float) ** 2, weights=weights))


def k_means(X: np.ndarray, weights: np.ndarray, centers: np.ndarray, n_iter: int) -> np.ndarray:
    """Centres after some iterations of k-means; one without objects stays where it is."""
    from sklearn.metrics import pairwise_distances_argmin

    n_clusters = len(centers)
    centers = centers.astype(float)
    for _ in range(n_iter):
        nearest = pairwise_distances_argmin(X, centers)
        total = np.bincount(nearest, weights, minlength=n_clusters)
        moved = np.stack([np.bincount(nearest, weights * x, minlength=n_clusters) for x in X.T], axis=1)
        centers = np.where(total[:, None] > 0, moved / np.maximum(total, 1e-300)[:, None], centers)
    return centers


def mean_squared_deviation(X: np.ndarray, weights: np.ndarray) -> float:
    """Mean squared distance to the mean of the data, in blocks."""
    w: Any = None if len(weights) == 0 else weights
    mean = np.average(X, axis=0, weights=w).astype(float)
    total = 0.0
    for start in range(0, len(X), 65536):
        gap = X[start : start + 65536] - mean
        squared = np.einsum("ij,ij->i", gap, gap)
        total += float(squared.sum() if w is None else squared @ w[start : start + 65536])
    return total / (len(X) if w is None else float(w.sum()))
