"""Nearest neighbours among points, in a Minkowski metric: a k-d tree, exact, ties to the lowest position."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster.optimize.blocks import block_map

__all__ = ["PointTree", "minkowski_power"]

_WIDTH = 16  # places in a leaf
_QUERIES = 256  # that a thread answers at a time

_METRICS = ("euclidean", "cityblock", "chebyshev", "minkowski")
_POWERS = {"euclidean": 2.0, "l2": 2.0, "cityblock": 1.0, "manhattan": 1.0, "l1": 1.0, "chebyshev": np.inf}

_build = kernel("""point_tree_build(
    X: float64[n, d], points: float64[leaves, d, 16] out, positions: int64[leaves, 16] out,
    boxes: float64[leaves, 2, 2, d] out, lowest: int64[leaves, 2] out)""")
_query = kernel("""point_tree_query(
    points: float64[leaves, d, 16], positions: int64[leaves, 16], boxes: float64[leaves, 2, 2, d],
    lowest: int64[leaves, 2], metric: int, p: float, queries: float64[m, d], own: int64[m] or None,
    start: int up to m, stop: int up to m, index: int64[m, k] out, distance: float64[m, k] out)""")


def minkowski_power(metric: Any, parameters: dict[str, Any] | None = None) -> float | None:
    """p of a Minkowski metric given by name (infinity for Chebyshev's); None for any other metric.

    >>> minkowski_power("manhattan"), minkowski_power("minkowski", {"p": 3}), minkowski_power("cosine")
    (1.0, 3.0, None)
    """
    parameters = parameters or {}
    if metric == "minkowski" and set(parameters) <= {"p"}:
        power = float(parameters.get("p", 2.0))
        return power if power >= 1 else None
    return None if parameters or not isinstance(metric, str) else _POWERS.get(metric)


class PointTree:
    """A tree of points that finds the nearest of them.

    The answer is that of sorting all distances: exact, and of equally near points those of lowest position. Time for a
    query grows with the logarithm of the number of points in few dimensions, and with the number in many.

    Parameters
    ----------
    X : array of shape (n, d)
    p : float >= 1, default=2
        Power of the Minkowski metric: 1 (city block), 2 (Euclidean), infinity (Chebyshev).
    n_jobs : int or None
        Threads that answer queries.

    Examples
    --------
    >>> import numpy as np
    >>> tree = PointTree(np.array([[0.0], [1.0], [3.0], [3.5]]))
    >>> distance, index = tree.kneighbors(np.array([[2.0]]), 3)
    >>> index.tolist(), distance.tolist()
    ([[1, 2, 3]], [[1.0, 1.0, 1.5]])
    >>> tree.kneighbors(n_neighbors=1)[1].ravel().tolist()  # of the points themselves, each among the others
    [1, 0, 3, 2]
    """

    def __init__(self, X: np.ndarray, p: float = 2.0, n_jobs: int | None = None):
        self.points = np.ascontiguousarray(X, dtype=np.float64)
        self.p, self.n_jobs = float(p), n_jobs
        name = {1.0: "cityblock", 2.0: "euclidean", np.inf: "chebyshev"}.get(p, "minkowski")
        n, d = self.points.shape
        leaves = 1
        while leaves * _WIDTH < n:
            leaves *= 2
        tree = (
            np.empty((leaves, d, _WIDTH)),
            np.empty((leaves, _WIDTH), np.int64),
            np.empty((leaves, 2, 2, d)),
            np.empty((leaves, 2), np.int64),
        )
        _build(self.points, *tree)
        self._tree = (*tree, _METRICS.index(name), float(p))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def order(self) -> np.ndarray:
        """(n,) positions of the points, near ones together: queries in this order are answered fastest."""
        positions = self._tree[1].ravel()
        return positions[positions < len(self)]

    def kneighbors(self, X: np.ndarray | None = None, n_neighbors: int = 1, return_distance: bool = True) -> Any:
        """(m, k) distances to the nearest points and their positions, nearest first; called as in scikit-learn.

        Parameters
        ----------
        X : array of shape (m, d), optional
            Queries. By default the points themselves, each of which is left out of its own neighbours.
        n_neighbors : int
        return_distance : bool, default=True
            Whether distances come with the positions.
        """
        if X is None:
            distance, index = self.neighbors_of(np.arange(len(self)), n_neighbors)
        else:
            distance, index = self._nearest(X, None, n_neighbors, len(self))
        return (distance, index) if return_distance else index

    def neighbors_of(self, positions: np.ndarray, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
        """The same for some of the points themselves, each of which is left out of its own neighbours."""
        return self._nearest(self.points[positions], positions, n_neighbors, len(self) - 1)

    def _nearest(
        self, X: np.ndarray, own: np.ndarray | None, n_neighbors: int, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        if n_neighbors > most:
            raise InvalidInputError(
                f"n_neighbors must be at most the number of other objects, {most}, got {n_neighbors}"
            )
        queries = np.ascontiguousarray(X, dtype=np.float64)
        index = np.empty((len(queries), n_neighbors), np.int64)
        distance = np.empty((len(queries), n_neighbors))
        starts = range(0, len(queries), _QUERIES)
        arguments = [
            (*self._tree, queries, own, start, min(start + _QUERIES, len(queries)), index, distance) for start in starts
        ]
        with block_map(self.n_jobs) as apply:
            apply(_query, arguments)
        return distance, index
