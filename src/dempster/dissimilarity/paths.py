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
        cores = np.partition(D, k, axis=1)[:, k]
        reach = np.maximum(D, np.maximum(cores[:, None], cores))
        np.fill_diagonal(reach, 0)
        smallest = _MIN_CORE * float(np.median(cores)) or float(np.finfo(float).tiny)
        return cls(
            linkage(squareform(reach, checks=False), "single"),
            np.maximum(cores, smallest),
        )

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
        sizes = np.ones(2 * n - 1)
        logs = np.zeros(2 * n - 1)
        logs[:n] = np.log(self.cores)
        out = np.empty(n - 1)
        for t, (a, b, height, size) in enumerate(self.merges):
            parts = [int(a), int(b)]
            out[t] = (
                sizes[parts] * np.log(max(height, self.cores.min())) - logs[parts]
            ).min()
            sizes[n + t] = size
            logs[n + t] = logs[parts].sum()
        return out

    def support(self, n_clusters: int) -> tuple[float, float]:
        """Return how clearly the tree separates this number of clusters.

        The first value is the prominence of the last separated cluster per object of an average
        cluster. The second value is the ratio of this prominence to the next smaller one.
        """
        largest = -np.sort(-self.prominences)[[n_clusters - 2, n_clusters - 1]]
        return largest[0] * n_clusters / len(self.cores), largest[0] / max(
            largest[1], 1e-9
        )

    def cut(self, n_clusters: int) -> np.ndarray:
        """Return the labels, shape (n,), after undoing the merges with the largest prominences."""
        n = len(self.cores)
        kept = np.ones(n - 1, dtype=bool)
        kept[np.argsort(-self.prominences, kind="stable")[: n_clusters - 1]] = False
        # Each node of the tree is represented by an object of its larger part.
        members = np.arange(2 * n - 1)
        sizes = np.append(np.ones(n), self.merges[:, 3])
        edges = []
        for t, (a, b) in enumerate(self.merges[:, :2].astype(int)):
            large, small = (a, b) if sizes[a] >= sizes[b] else (b, a)
            members[n + t] = members[large]
            if kept[t]:
                edges.append((members[large], members[small]))
        rows, columns = np.array(edges, dtype=int).reshape(-1, 2).T
        graph = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n))
        return sparse.csgraph.connected_components(graph, directed=False)[1]


def _average_neighbors(D: np.ndarray) -> np.ndarray:
    """Return the distances between the means of the nearest neighbors of the objects, shape (n, n).

    The squared distance between the means of two groups is the mean squared distance between the
    groups minus half of the mean squared distance within each group, so no coordinates are needed.
    """
    n = len(D)
    k = min(
        int(np.clip(n / _OBJECTS_PER_AVERAGED, _MIN_AVERAGED, _MAX_AVERAGED)) + 1, n
    )
    nearest = np.argpartition(D, k - 1, axis=1)[:, :k]
    entries = (np.full(n * k, 1 / k), nearest.ravel(), np.arange(n + 1) * k)
    average = sparse.csr_matrix(entries, shape=(n, n))
    squares = average @ (average @ np.square(D, dtype=float)).T
    within = np.diagonal(squares) / 2
    return np.sqrt(np.maximum((squares + squares.T) / 2 - within - within[:, None], 0))


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
            X = X[
                np.random.default_rng(0).choice(len(X), _MAX_LANDMARKS, replace=False)
            ]
        if len(X) > 1:
            paths = DensityTree.from_dissimilarities(cdist(X, X)).path_distances()
        else:
            paths = np.zeros((1, 1))
        return cls(X, paths.astype(X.dtype))

    def block(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the path distances between all objects A and all objects B."""
        a, first = self._attach(A)
        b, second = self._attach(B)
        steps = np.maximum(
            self.between[np.ix_(a, b)], np.maximum(first[:, None], second)
        )
        return np.minimum(steps, cdist(A, B))

    def pairs(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the path distances between each object of A and the corresponding object of B."""
        a, first = self._attach(A)
        b, second = self._attach(B)
        steps = np.maximum(self.between[a, b], np.maximum(first, second))
        return np.minimum(steps, np.linalg.norm(A - B, axis=1))

    def _attach(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the nearest landmark of each object, and the distance to it."""
        from sklearn.metrics import pairwise_distances_argmin  # slow to import

        nearest = pairwise_distances_argmin(X, self.landmarks)
        return nearest, np.linalg.norm(X - self.landmarks[nearest], axis=1)
