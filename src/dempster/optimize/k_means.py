"""Weighted k-means, which several methods use for initialization.

With many clusters, the centers are improved by the exchanges of the breathing k-means algorithm
(Fritzke, 2020, arXiv:2006.15666).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dempster._arrays import divide
from dempster._native import interruptible, kernel
from dempster.optimize.nearest import find_nearest_clusters, sum_nearest

_MAX_ITER = 300
_TOLERANCE = 1e-4  # Tolerance as a share of the mean variance of the columns.
_MAX_UNINTERRUPTIBLE_OPERATIONS = 30_000_000  # Less than a tenth of a second.
# With more clusters, every run ends with some bad centers, which are exchanged.
MAX_RESTARTED_CLUSTERS = 25
# number of clusters divided by the number of centers that are exchanged at once, and its minimum
_EXCHANGED_SHARE = 20
_MIN_EXCHANGED = 5
_EXCHANGE_ITERATIONS = 4  # number of iterations between the exchanges
# smallest gain of an exchanged center, divided by the mean cost of a cluster
_MIN_GAIN = 0.1
# distance from an added center to the center of its cluster, in standard deviations
_SHIFT = 0.1

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
    If there are several runs of many clusters, `exchange_centers` improves one run instead.
    """
    data = np.ascontiguousarray(X, np.float64)
    w = np.ones(len(data))
    if weights is not None:
        w = np.ascontiguousarray(weights, np.float64)
    trials = 2 + int(np.log(n_clusters))
    tol = _TOLERANCE * float(data.var(axis=0).mean())
    is_short = data.size * n_clusters * _MAX_ITER < _MAX_UNINTERRUPTIBLE_OPERATIONS
    call = _k_means if is_short else partial(interruptible, _k_means)
    max_iter = _MAX_ITER
    exchanges = n_runs > 1 and n_clusters > MAX_RESTARTED_CLUSTERS
    if exchanges:
        max_iter = _EXCHANGE_ITERATIONS
        n_runs = 1
    runs = []
    for _ in range(n_runs):
        draws = rng.random_sample((n_clusters, trials))
        centers = np.empty((n_clusters, data.shape[1]))
        labels = np.empty(len(data), np.int64)
        call(data, w, draws, max_iter, tol, centers, labels)
        runs.append((centers, labels))
    if exchanges:
        return exchange_centers(data, w, runs[0][0], rng)
    if n_runs == 1:
        return runs[0]
    return min(runs, key=lambda run: w @ squared_distances(data, *run))


def squared_distances(
    X: np.ndarray, centers: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """Return the squared distance from each row to the center of its cluster."""
    return np.square(X - centers[labels]).sum(axis=1)


# ---- exchange of centers -------------------------------------------------------------------------


class NearestCenters:
    """Rows with weights, centers, and the nearest center of each row with its squared distance."""

    def __init__(self, X: np.ndarray, weights: np.ndarray, centers: np.ndarray):
        self.X = X
        self.weights = weights
        self.centers = centers
        self.labels = np.zeros(len(X), np.int64)
        self.squares = np.empty(len(X))
        self._assign(np.arange(len(centers)))

    @property
    def cost(self) -> float:
        return float(self.weights @ self.squares)

    def iterate(self, n_iter: int) -> None:
        """Move the centers to the means of their rows, until they do not change any more."""
        for _ in range(n_iter):
            labels, weights = self.labels[:, None], self.weights[:, None]
            total, sums = sum_nearest(labels, weights, self.X, len(self.centers))
            means = divide(sums, total[:, None], self.centers)
            moved = np.flatnonzero((means != self.centers).any(axis=1))
            if len(moved) == 0:
                break
            self.centers = means
            self._assign(moved)

    def _assign(self, moved: np.ndarray) -> None:
        """Update the nearest centers after some centers moved.

        Rows whose own center did not move are only compared with the centers that moved.
        """
        is_lost = np.isin(self.labels, moved)
        stays = np.flatnonzero(~is_lost)
        near, squares = find_nearest_clusters(self.X[stays], self.centers[moved], 1)
        is_nearer = squares[:, 0] < self.squares[stays]
        self.labels[stays[is_nearer]] = moved[near[is_nearer, 0]]
        self.squares[stays[is_nearer]] = squares[is_nearer, 0]
        near, squares = find_nearest_clusters(self.X[is_lost], self.centers, 1)
        self.labels[is_lost] = near[:, 0]
        self.squares[is_lost] = squares[:, 0]

    def add(self, n_added: int, rng: np.random.RandomState) -> np.ndarray:
        """Return the centers, and further centers beside those of the clusters with most cost."""
        k, p = self.centers.shape
        costs = np.bincount(self.labels, self.weights * self.squares, k)
        total = np.bincount(self.labels, self.weights, k)
        worst = np.argsort(-costs, kind="stable")[:n_added]
        deviations = np.sqrt(divide(costs, total * p, 0.0)[worst])
        noise = _SHIFT * deviations[:, None] * rng.normal(size=(n_added, p))
        return np.concatenate([self.centers, self.centers[worst] + noise])

    def remove(self, n_removed: int) -> np.ndarray:
        """Return the centers without those whose removal costs least; no neighbors are removed."""
        near, squares = find_nearest_clusters(self.X, self.centers, 2)
        gains = self.weights * (squares[:, 1] - squares[:, 0])
        costs = np.bincount(near[:, 0], gains, len(self.centers))
        neighbor = find_nearest_clusters(self.centers, self.centers, 2)[0][:, 1]
        removed: list[int] = []
        kept = set()
        for k in np.argsort(costs, kind="stable"):
            if k not in kept and len(removed) < n_removed:
                removed.append(k)
                kept.add(neighbor[k])
        return np.delete(self.centers, removed, axis=0)


def exchange_centers(
    X: np.ndarray,
    weights: np.ndarray,
    centers: np.ndarray,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Return better centers for k-means, and the labels.

    Runs of k-means with many clusters end with some centers between two clusters, and some clusters
    with two centers. Centers are added to the clusters with the largest sums of squared distances,
    and as many centers whose removal costs least are removed, as long as the sum decreases.
    """
    best = NearestCenters(X, weights, centers)
    k = len(centers)
    n_exchanged = max(k // _EXCHANGED_SHARE, _MIN_EXCHANGED)
    while n_exchanged > 0:
        wider = NearestCenters(X, weights, best.add(n_exchanged, rng))
        wider.iterate(_EXCHANGE_ITERATIONS)
        changed = NearestCenters(X, weights, wider.remove(n_exchanged))
        changed.iterate(_EXCHANGE_ITERATIONS)
        if changed.cost < best.cost * (1 - _MIN_GAIN * n_exchanged / k):
            best = changed
        else:
            n_exchanged //= 2
    best.iterate(_MAX_ITER)
    return best.centers, best.labels
