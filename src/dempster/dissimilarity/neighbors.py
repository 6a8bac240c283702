"""Exact or approximate search for nearest neighbors.

`make_finder` selects the algorithm. `Neighbors.find_all` computes the neighbors of all training
objects, and `ReferenceFinder` the neighbors of new objects. `PointTree` is a k-d tree for Minkowski
metrics. `BlockFinder` compares every object with all others. It is used if the triangle inequality
may be violated, which can happen for Gower's dissimilarity with missing values and for metric
functions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Annotated, Any

import numpy as np

from dempster._arrays import row_slices
from dempster._errors import InvalidParameterError, MissingExtraError
from dempster._native import kernel
from dempster._random import as_random_state
from dempster._types import ArrayPair, Seed
from dempster._validation import format_value
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    References,
    check_values,
    naming_metric,
)
from dempster.optimize.blocks import Apply, block_map, n_threads, row_blocks

_MAX_CELLS = 4_000_000  # maximum number of dissimilarities in memory per thread
_LEAF_SIZE = 16
_QUERIES = 256  # number of queries per call of the compiled function
# in higher dimensions a tree visits most leaves, and brute force is faster
_MAX_TREE_DIMENSIONS = 10
# size of a table that fits into the cache; a tree is then as fast as brute force
_MAX_CACHED_CELLS = 100_000
# numbers of objects and attributes above which the approximate search is faster
_MIN_APPROXIMATE = 100_000, 6
# neighbors per object in the approximate index, which can be queried for more neighbors
_GRAPH_NEIGHBORS = 30
_QUERY_ROWS = 4096  # number of objects per query


# ---- brute force ---------------------------------------------------------------------------------


def needs_blocks(source: DissimilaritySource) -> bool:
    """Return whether exact neighbors require a comparison with all objects."""
    if isinstance(source, AttributeSource):
        return callable(source.metric) or source.lacks_cells
    return not isinstance(source, MatrixSource)


class Finder(ABC):
    """Search for the training objects nearest to given training objects.

    Each object is its own nearest neighbor.
    """

    kind = "exact"  # or "approximate"
    # indices of the objects in the order in which queries are fastest; None for any order
    order: np.ndarray | None = None

    @abstractmethod
    def __call__(self, rows: np.ndarray, k: int) -> ArrayPair:
        """Return the indices and distances of the k objects nearest to the objects in ``rows``."""

    def others(self, rows: np.ndarray, k: int) -> ArrayPair:
        """Return the indices and distances of neighbors, excluding each object itself."""
        index, distance = self(rows, k + 1)
        is_self = index == rows[:, None]
        # Duplicates may have replaced the object itself.
        is_self[:, -1] |= ~is_self.any(axis=1)
        kept = np.arange(k + 1) != is_self.argmax(axis=1)[:, None]
        return index[kept].reshape(-1, k), distance[kept].reshape(-1, k)


class BlockFinder(Finder):
    """Brute-force search for nearest neighbors; equally near objects are sorted by index."""

    def __init__(self, source: DissimilaritySource, n_jobs: int | None = None):
        self._source = source
        # A metric function may not be thread-safe, and it holds the global interpreter lock.
        self._n_jobs = 1 if callable(source.metric) else n_jobs

    def __call__(self, rows: np.ndarray, k: int) -> ArrayPair:
        blocks = row_blocks(len(rows), rows_at_once(len(self._source)), most=None)
        with block_map(self._n_jobs) as apply:
            parts = apply(
                self._nearest, [(rows[start:stop], k) for start, stop in blocks]
            )
        return _join(parts)

    def _nearest(self, rows: np.ndarray, k: int) -> ArrayPair:
        return nearest_columns(self._source.block(rows, slice(None)), k)


def _join(parts: list[ArrayPair]) -> ArrayPair:
    index, distance = map(np.concatenate, zip(*parts, strict=True))
    return index, distance


def rows_at_once(n_columns: int) -> int:
    """Return the number of rows of a dissimilarity matrix that a thread may keep in memory."""
    return max(1, _MAX_CELLS // n_columns)


def nearest_columns(block: Any, k: int) -> ArrayPair:
    """Return the columns of the k smallest values of each row, sorted by value, and the values."""
    largest = np.partition(block, k - 1)[:, k - 1 : k]
    nearer = block < largest
    tied = block == largest
    room = k - np.count_nonzero(nearer, axis=1, keepdims=True)
    kept = nearer | (tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= room))
    index = np.nonzero(kept)[1].reshape(len(block), k)
    rows = np.arange(len(block))[:, None]
    values = block[rows, index]
    order = np.argsort(values, kind="stable")
    return index[rows, order], values[rows, order]


# numbers of the metrics in point_tree.c, by their powers; 3 for other powers
_METRICS = {2.0: 0, 1.0: 1, np.inf: 2}
_POWERS = {
    "euclidean": 2.0,
    "minkowski": 2.0,
    "l2": 2.0,
    "cityblock": 1.0,
    "manhattan": 1.0,
    "l1": 1.0,
    "chebyshev": np.inf,
}

_build = kernel("""point_tree_build(
    X: float64[n, d], points: float64[leaves, d, 16] out, positions: int64[leaves, 16] out,
    boxes: float64[leaves, 2, 2, d] out, lowest: int64[leaves, 2] out)""")
_query = kernel("""point_tree_query(
    points: float64[leaves, d, 16], positions: int64[leaves, 16], boxes: float64[leaves, 2, 2, d],
    lowest: int64[leaves, 2], metric: int, p: float, queries: float64[m, d], own: int64[m] or None,
    start: int up to m, stop: int up to m, index: int64[m, k] out, distance: float64[m, k] out)""")


# ---- k-d tree ------------------------------------------------------------------------------------


def minkowski_power(metric: Any) -> float | None:
    """Return the power p of a Minkowski metric given by name, or None for other metrics."""
    if isinstance(metric, str):
        return _POWERS.get(metric)
    return None


class PointTree:
    """K-d tree for nearest neighbors.

    The result is exact; among equally near points, those with the lowest index are returned. The
    time of a query is logarithmic in the number of points in low dimensions and linear in high
    dimensions. ``p`` is the power of the Minkowski metric: 1 for the city block, 2 for the
    Euclidean, infinity for the Chebyshev metric.
    """

    points: Annotated[np.ndarray, "n d"]

    def __init__(self, X: np.ndarray, p: float = 2.0, n_jobs: int | None = None):
        self.points = np.ascontiguousarray(X, np.float64)
        self.p = float(p)
        self.n_jobs = n_jobs
        n, d = self.points.shape
        leaves = 1
        while leaves * _LEAF_SIZE < n:
            leaves *= 2
        tree = (
            np.empty((leaves, d, _LEAF_SIZE)),
            np.empty((leaves, _LEAF_SIZE), np.int64),
            np.empty((leaves, 2, 2, d)),
            np.empty((leaves, 2), np.int64),
        )
        _build(self.points, *tree)
        self._tree = (*tree, _METRICS.get(p, 3), float(p))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def order(self) -> np.ndarray:
        """Indices of the points, sorted by leaf of the tree; queries in this order are fastest."""
        positions = self._tree[1].ravel()
        return positions[positions < len(self)]

    def kneighbors(
        self, X: np.ndarray | None = None, n_neighbors: int = 1
    ) -> ArrayPair:
        """Return sorted distances and indices of the points nearest to X, or to the points."""
        if X is None:
            return self.neighbors_of(np.arange(len(self)), n_neighbors)
        return self._nearest(X, None, n_neighbors, len(self))

    def neighbors_of(self, positions: np.ndarray, n_neighbors: int) -> ArrayPair:
        """Return the distances and indices of the neighbors of points, excluding each point."""
        return self._nearest(
            self.points[positions], positions, n_neighbors, len(self) - 1
        )

    def _nearest(
        self, X: np.ndarray, own: np.ndarray | None, n_neighbors: int, most: int
    ) -> ArrayPair:
        if n_neighbors > most:
            raise InvalidParameterError(
                "n_neighbors",
                f"at most the number of other objects, {most}",
                n_neighbors,
            )
        queries = np.ascontiguousarray(X, np.float64)
        index = np.empty((len(queries), n_neighbors), np.int64)
        distance = np.empty((len(queries), n_neighbors))
        arguments = [
            (*self._tree, queries, own, start, stop, index, distance)
            for start, stop in row_blocks(len(queries), _QUERIES, most=None)
        ]
        with block_map(self.n_jobs) as apply:
            apply(_query, arguments)
        return distance, index


# ---- selection of the algorithm ------------------------------------------------------------------


def make_finder(
    source: DissimilaritySource,
    neighbors: str = "auto",
    random_state: Seed = None,
    n_jobs: int | None = -1,
) -> Finder:
    """Return a function that finds the nearest neighbors of training objects.

    If ``neighbors`` is "approximate", the function uses nearest-neighbor descent (Dong, Charikar
    and Li, 2011), which requires the extra ``dempster[neighbors]``, attributes, and a metric given
    by name. "auto" is "exact" unless there are more than 100,000 objects with more than six
    attributes, the metric is Euclidean, and ``dempster[neighbors]`` is installed.
    """
    if neighbors == "exact" or (
        neighbors == "auto" and not _pays_to_approximate(source)
    ):
        if needs_blocks(source):
            return BlockFinder(source, n_jobs)
        return ExactFinder(source, n_jobs)
    if not isinstance(source, AttributeSource) or not isinstance(source.metric, str):
        message = (
            "neighbors='approximate' requires attributes and a metric given by name, "
            f"got {format_value(source.metric)}"
        )
        raise InvalidParameterError("neighbors", message=message)
    return ApproximateFinder(source, as_random_state(random_state), n_jobs)


def _pays_to_approximate(source: DissimilaritySource) -> bool:
    objects, dimensions = _MIN_APPROXIMATE
    if not source.is_euclidean or len(source) <= objects:
        return False
    return source.objects.shape[1] > dimensions and find_spec("pynndescent") is not None


class ExactFinder(Finder):
    """Exact search for nearest neighbors by a tree or by brute force."""

    def __init__(self, source: DissimilaritySource, n_jobs: int | None):
        self._table = (
            source.matrix if isinstance(source, MatrixSource) else source.objects
        )
        self._index = exact_index(source, n_jobs)
        if isinstance(self._index, PointTree):
            self.order = self._index.order

    def __call__(self, rows: np.ndarray, k: int) -> ArrayPair:
        distance, index = self._index.kneighbors(self._table[rows], n_neighbors=k)
        return index, distance

    def others(self, rows: np.ndarray, k: int) -> ArrayPair:
        if not isinstance(self._index, PointTree):
            return super().others(rows, k)
        distance, index = self._index.neighbors_of(rows, k)
        return index, distance


class ApproximateFinder(Finder):
    """Approximate search by nearest-neighbor descent.

    Objects with too few neighbors are searched exactly.
    """

    kind = "approximate"

    def __init__(
        self,
        source: AttributeSource,
        random_state: Any,
        n_jobs: int | None,
    ):
        try:
            from pynndescent import NNDescent
        except ImportError as error:
            raise MissingExtraError(
                "neighbors='approximate'", "pynndescent", "neighbors"
            ) from error
        self._source = source
        self._n_jobs = n_jobs
        self._index = NNDescent(
            source.objects,
            metric=source.metric,
            n_neighbors=min(_GRAPH_NEIGHBORS, len(source)),
            random_state=random_state,
            n_jobs=n_threads(n_jobs),
            parallel_batch_queries=n_threads(n_jobs) > 1,
        )

    def __call__(self, rows: np.ndarray, k: int) -> ArrayPair:
        index, distance = self._index.query(self._source.objects[rows], k=k)
        short = (index < 0).any(axis=1) | ~np.isfinite(distance).all(axis=1)
        if short.any():
            index[short], distance[short] = self._exact(rows[short], k)
        return index, distance

    @cached_property
    def _exact(self) -> ExactFinder:
        return ExactFinder(self._source, self._n_jobs)


def exact_index(source: DissimilaritySource, n_jobs: int | None = -1) -> Any:
    """Return a `PointTree` for Minkowski metrics in few dimensions, or `NearestNeighbors`."""
    if isinstance(source, MatrixSource):
        from sklearn.neighbors import NearestNeighbors  # slow to import

        return NearestNeighbors(metric="precomputed", n_jobs=n_threads(n_jobs)).fit(
            source.matrix
        )
    assert isinstance(source, AttributeSource)
    power = minkowski_power(source.metric)
    plain = (
        power == 2
        and source.objects.shape[1] > _MAX_TREE_DIMENSIONS
        and source.objects.size > _MAX_CACHED_CELLS
    )
    if power is not None and not plain:
        return PointTree(source.objects, power, n_jobs)
    from sklearn.neighbors import NearestNeighbors  # slow to import

    with naming_metric(source.metric):
        return NearestNeighbors(
            algorithm="brute" if plain else "auto",
            metric=source.metric,
            metric_params=source.parameters or None,
            # The trees of scikit-learn for this metric are not thread-safe.
            n_jobs=1 if source.metric == "mahalanobis" else n_threads(n_jobs),
        ).fit(source.objects)


# ---- neighbors of all objects --------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbors:
    """The K nearest neighbors of each of n objects, sorted by distance."""

    index: np.ndarray  # indices of the neighbors, shape (n, K)
    distance: np.ndarray  # dissimilarities to the neighbors, shape (n, K)

    @classmethod
    def find_all(cls, find: Finder, n: int, n_neighbors: int) -> Neighbors:
        """Return the neighbors of all n training objects, excluding each object itself."""
        kept = cls(np.empty((n, n_neighbors), np.int32), np.empty((n, n_neighbors)))
        order = np.arange(n) if find.order is None else find.order
        for block in row_slices(n, _QUERY_ROWS):
            rows = order[block]
            index, distance = find.others(rows, n_neighbors)
            check_neighbors(index, distance, n)
            kept.index[rows] = index
            kept.distance[rows] = distance
        return kept

    def quantile(self, q: float) -> np.ndarray:
        """Return the q-quantile of the distances of each object to its neighbors, shape (n,)."""
        last = self.distance.shape[1] - 1
        place = q * last
        position = int(place)
        below = self.distance[:, position]
        above = self.distance[:, min(position + 1, last)]
        return below + (place - position) * (above - below)


def check_neighbors(index: np.ndarray, distance: np.ndarray, n: int) -> None:
    """Raise an error if indices of neighbors are not from 0 to n - 1, or distances are invalid.

    A tree returns undefined indices if the metric returns NaN or violates the triangle inequality.
    With such indices, compiled code would read beyond the end of an array.
    """
    check_values(distance, "metric")
    if index.size and (index.min() < 0 or index.max() >= n):
        raise InvalidParameterError(
            "metric",
            must="satisfy the triangle inequality; the search for neighbors failed",
        )


# ---- neighbors of new objects --------------------------------------------------------------------


class ReferenceFinder:
    """Exact search for the reference objects nearest to new objects."""

    def __init__(self, references: References):
        self._references = references
        source = references.source
        self._index = None
        self._in_threads = True
        if source is not None:
            if not needs_blocks(source):
                self._index = exact_index(source, 1)
            # Metric functions and the trees of scikit-learn for "mahalanobis" are not thread-safe.
            self._in_threads = source.metric != "mahalanobis" and not callable(
                source.metric
            )

    def __call__(self, values: Any, k: int, apply: Apply) -> ArrayPair:
        """Return the indices and distances of the k references nearest to each new object."""
        rows = _QUERY_ROWS
        if self._index is None:
            rows = rows_at_once(len(self._references))
        blocks = row_blocks(len(values), rows, most=None)
        tasks = [(values, k, start, stop) for start, stop in blocks]
        if self._in_threads:
            parts = apply(self._nearest, tasks)
        else:
            parts = [self._nearest(*task) for task in tasks]
        index, distance = _join(parts)
        check_neighbors(index, distance, len(self._references))
        return index, distance

    def _nearest(self, values: Any, k: int, start: int, stop: int) -> ArrayPair:
        if self._index is None:
            return nearest_columns(
                self._references.dissimilarities(values, start, stop), k
            )
        distance, index = self._index.kneighbors(values[start:stop], n_neighbors=k)
        return index, distance
