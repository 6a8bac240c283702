"""Weighted k-means, which several methods use for initialization."""

from __future__ import annotations

from functools import partial

import numpy as np

from dempster._native import interruptible, kernel

_MAX_ITER = 300
_TOLERANCE = 1e-4  # Tolerance as a share of the mean variance of the columns.
_MAX_UNINTERRUPTIBLE_OPERATIONS = 30_000_000  # Less than a tenth of a second.

_k_means = kernel("""k_means(
    X: float64[n, d], weights: float64[n], draws: float64[k, trials], max_iter: int, tol: float,
    centers: float64[k, d] out, labels: int64[n] out)""")


def k_means(
    X: np.ndarray,
    n_clusters: int,
    rng: np.random.RandomState,
    weights: np.ndarray | None = None,
    n_runs: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the centers, shape (k, d), and the labels, shape (n,), of the best run of k-means.

    The initialization is greedy k-means++. The center of an empty cluster is moved to the row that
    is farthest from its own center. Rows with weight 0 do not change the centers but get a label.
    """
    data = np.ascontiguousarray(X, np.float64)
    w = np.ones(len(data))
    if weights is not None:
        w = np.ascontiguousarray(weights, np.float64)
    trials = 2 + int(np.log(n_clusters))
    tol = _TOLERANCE * float(data.var(axis=0).mean())
    is_short = data.size * n_clusters * _MAX_ITER < _MAX_UNINTERRUPTIBLE_OPERATIONS
    call = _k_means if is_short else partial(interruptible, _k_means)
    runs = []
    for _ in range(n_runs):
        draws = rng.random_sample((n_clusters, trials))
        centers = np.empty((n_clusters, data.shape[1]))
        labels = np.empty(len(data), np.int64)
        call(data, w, draws, _MAX_ITER, tol, centers, labels)
        runs.append((centers, labels))
    if n_runs == 1:
        return runs[0]
    return min(runs, key=lambda run: w @ squared_distances(data, *run))


def squared_distances(
    X: np.ndarray, centers: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the squared distance from each row to the center of its cluster."""
    return np.square(X - centers[labels]).sum(axis=1)
