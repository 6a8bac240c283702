"""Distances along paths through dense regions, for clusters of any shape.

The path distance of two objects is the largest step on the best path between them, so that the two
ends of a ring or of a crescent are close to each other. Three measures keep single objects from
connecting two clusters:

- Every object is first moved to the mean of its nearest neighbors, which reduces noise across a
  thin cluster.
- A step to an object in a sparse region is long. It is at least the distance from that object to
  its fifth neighbor (mutual reachability; Campello, Moulavi and Sander, 2013).
- A cluster is separated from another one by its excess of mass, not by the length of a single step
  (`DensityTree`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist, squareform

_CORE_NEIGHBORS = 5  # neighbors that define the density around an object
# neighbors whose mean replaces an object
_MIN_AVERAGED = 5
_MAX_AVERAGED = 10
_OBJECTS_PER_AVERAGED = 50  # number of objects for each neighbor in the mean
_MAX_LANDMARKS = 2000
_MIN_CORE = 1e-3  # smallest core distance, relative to the median


@dataclass(frozen=True)
class DensityTree:
    """Single-linkage tree of the mutual reachability distances of n objects."""

    merges: np.ndarray  # (n - 1, 4), in the format of `scipy.cluster.hierarchy.linkage`
    cores: np.ndarray  # (n,), distance from each object to its fifth neighbor

    @classmethod
    def from_dissimilarities(cls, D: np.ndarray) -> DensityTree:
        """Compute the tree from the dissimilarities between objects, shape (n, n)."""
        from scipy.cluster.hierarchy import linkage  # slow to import

        D = _average_neighbors(D)
        k = min(_CORE_NEIGHBORS, len(D) - 1)
        cores = np.partition(D, k)[:, k]
        reach = np.maximum(cores[:, None], cores)
        reach = np.maximum(D, reach)
        np.fill_diagonal(reach, 0)
        merges = linkage(squareform(reach, checks=False), "single")
        smallest = _MIN_CORE * np.median(cores) or np.finfo(float).tiny
        return cls(merges, np.maximum(cores, smallest))

    def path_distances(self) -> np.ndarray:
        """Return the path distances between all objects, shape (n, n)."""
        from scipy.cluster.hierarchy import cophenet  # slow to import

        return squareform(cophenet(self.merges))

    @cached_property
    def prominences(self) -> np.ndarray:
        """Prominence of the smaller part at each merge, shape (n - 1,).

        The prominence is the sum of log(height / core distance) over the objects of the part. It is
        large for a part with many objects, most of which are much closer to their neighbors than to
        the other part.
        """
        n = len(self.cores)
        pairs = self._pairs
        heights = np.maximum(self.merges[:, 2], self.cores.min())
        # sums of log(core distance) over the objects of each node
        logs = np.append(np.log(self.cores), np.empty(n - 1))
        for node, pair in enumerate(pairs, start=n):
            logs[node] = logs[pair].sum()
        log_heights = np.log(heights)
        totals = self._sizes[pairs] * log_heights[:, None]
        prominences = totals - logs[pairs]
        return prominences.min(axis=1)

    @property
    def _pairs(self) -> np.ndarray:
        """Two nodes that each merge connects, shape (n - 1, 2)."""
        return self.merges[:, :2].astype(int)

    @property
    def _sizes(self) -> np.ndarray:
        """Number of objects of each node, shape (2 n - 1,)."""
        return np.append(np.ones(len(self.cores)), self.merges[:, 3])

    def support(self, n_clusters: int) -> tuple[float, float]:
        """Return how clearly the tree separates this number of clusters.

        The first value is the prominence of the last separated cluster per object of an average
        cluster. The second value is the ratio of this prominence to the next smaller one.
        """
        decreasing = -np.sort(-self.prominences)
        last, following = decreasing[n_clusters - 2 : n_clusters]
        relative = last * n_clusters / len(self.cores)
        ratio = last / max(following, 1e-9)
        return relative, ratio

    def cut(self, n_clusters: int) -> np.ndarray:
        """Return the labels, shape (n,), after undoing the merges with the largest prominences."""
        n = len(self.cores)
        sizes = self._sizes
        pairs = self._pairs
        nodes = np.arange(len(sizes))
        parents = nodes.copy()
        parents[pairs] = nodes[n:, None]
        # Undoing a merge separates the smaller part from the node, which keeps the larger part.
        order = np.argsort(-self.prominences, kind="stable")
        undone = order[: n_clusters - 1]
        first, second = pairs[undone].T
        is_first_larger = sizes[first] >= sizes[second]
        smaller = np.where(is_first_larger, second, first)
        parents[smaller] = smaller
        weights = np.ones(len(nodes))
        graph = sparse.coo_matrix((weights, (nodes, parents)))
        labels = sparse.csgraph.connected_components(graph, directed=False)[1]
        return labels[:n]


def _average_neighbors(D: np.ndarray) -> np.ndarray:
    """Return the distances between the means of the nearest neighbors of the objects, shape (n, n).

    The squared distance between the means of two groups is the mean squared distance between the
    groups minus half of the mean squared distance within each group, so no coordinates are needed.
    """
    n = len(D)
    n_neighbors = np.clip(n / _OBJECTS_PER_AVERAGED, _MIN_AVERAGED, _MAX_AVERAGED)
    k = min(int(n_neighbors) + 1, n)
    nearest = np.argpartition(D, k - 1)[:, :k]
    weights = np.full(n * k, 1 / k)
    starts = np.arange(n + 1) * k
    average = sparse.csr_matrix((weights, nearest.ravel(), starts), shape=(n, n))
    squares = average @ np.square(D, dtype=float)
    squares = average @ squares.T
    within = np.diagonal(squares) / 2
    squares = (squares + squares.T) / 2 - within - within[:, None]
    return np.sqrt(np.maximum(squares, 0))


@dataclass(frozen=True)
class PathMetric:
    """Path distances between any objects by way of landmarks, at most 2,000 training objects.

    An object is connected to its nearest landmark. The path distance of two objects is the largest
    of three steps, the two steps to the landmarks and the path distance of the landmarks. It is at
    most their Euclidean distance.
    """

    landmarks: np.ndarray
    between: np.ndarray

    @classmethod
    def from_objects(cls, X: np.ndarray) -> PathMetric:
        """Draw the landmarks, and compute their path distances."""
        X = np.unique(X, axis=0)
        if len(X) > _MAX_LANDMARKS:
            rng = np.random.default_rng(0)
            drawn = rng.choice(len(X), _MAX_LANDMARKS, replace=False)
            X = X[drawn]
        paths = np.zeros((1, 1))
        if len(X) > 1:
            tree = DensityTree.from_dissimilarities(cdist(X, X))
            paths = tree.path_distances()
        return cls(X, paths.astype(X.dtype))

    def block(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the path distances between all objects A and all objects B."""
        a, first = self._attach(A)
        b, second = self._attach(B)
        ends = np.maximum(first[:, None], second)
        between = self.between[np.ix_(a, b)]
        steps = np.maximum(between, ends)
        return np.minimum(steps, cdist(A, B))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the path distances between each object of A and the corresponding object of B."""
        a, first = self._attach(A)
        b, second = self._attach(B)
        ends = np.maximum(first, second)
        steps = np.maximum(self.between[a, b], ends)
        direct = np.linalg.norm(A - B, axis=1)
        return np.minimum(steps, direct)

    def _attach(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the nearest landmark of each object, and the distance to it."""
        from sklearn.metrics import pairwise_distances_argmin  # slow to import

        nearest = pairwise_distances_argmin(X, self.landmarks)
        gaps = X - self.landmarks[nearest]
        return nearest, np.linalg.norm(gaps, axis=1)
