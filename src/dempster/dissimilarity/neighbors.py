"""Nearest neighbours of the objects of a source of dissimilarities, exact or approximate.

`finder` chooses how they are found. What it gives answers for some of the objects at a time; `Neighbors.of_all` asks
it for all of them, and `ReferenceFinder` finds the objects of a fit that are nearest to new ones. `PointTree` is a k-d
tree for Minkowski metrics. Where the triangle inequality may not hold (Gower's dissimilarity with missing cells, a
function of the user), `BlockFinder` compares every object with all others, some rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError, MissingExtraError
from dempster._native import kernel
from dempster._random import as_random_state
from dempster._types import Seed
from dempster._validation import shown
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    References,
    check_values,
    naming_metric,
)
from dempster.optimize.blocks import Apply, block_map, n_threads, row_blocks

_CELLS = 4_000_000  # dissimilarities that a thread holds at once
_WIDTH = 16  # places in a leaf
_QUERIES = 256  # that a thread answers at a time
_TREE_DIMENSIONS = 10  # in more dimensions a tree visits most of its leaves, and plain comparison is faster
_SMALL_TABLE = 100_000  # numbers in a table that stays in the cache, where a tree is as fast as plain comparison
_APPROXIMATE_FROM = 100_000, 6  # more objects of more dimensions, from where approximate neighbours save time
_GRAPH_NEIGHBORS = 30  # of the approximate index; asking it for K afterwards is much faster than building it with K
_QUERY_ROWS = 4096  # objects whose neighbours are asked for at once


# ---- comparison with all objects ------------------------------------------------------------------------------------


def needs_blocks(source: DissimilaritySource) -> bool:
    """Whether neighbours can be found by comparison with all objects only."""
    if isinstance(source, AttributeSource):
        return callable(source.metric) or source.lacks_cells
    return not isinstance(source, MatrixSource)


class BlockFinder:
    """Finds neighbours by comparison with all objects; of equally near ones the first."""

    kind = "exact"

    def __init__(self, source: DissimilaritySource, n_jobs: int | None = None):
        self._source = source
        # a function of the user's may not be safe in threads, and holds the interpreter's lock anyway
        self._n_jobs = 1 if callable(source.metric) else n_jobs

    def __call__(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(r, k) positions of the k objects nearest to each of the objects ``rows``, nearest first, and distances."""
        with block_map(self._n_jobs) as apply:
            blocks = row_blocks(len(rows), rows_at_once(len(self._source)), most=None)
            parts = apply(self._nearest, [(rows[start:stop], k) for start, stop in blocks])
        return np.concatenate([index for index, _ in parts]), np.concatenate([distance for _, distance in parts])

    def _nearest(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        return nearest_columns(self._source.block(rows, slice(None)), k)


def rows_at_once(n_columns: int) -> int:
    """Rows of dissimilarities to so many objects that a thread may hold."""
    return max(1, _CELLS // n_columns)


def nearest_columns(block: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(r, k) columns of the k smallest values of each row, the smallest first, and the values; ties: the first column.

    Linear in the number of columns: only what is kept is sorted.
    """
    largest = np.partition(block, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = block < largest, block == largest
    room = k - np.count_nonzero(nearer, axis=1, keepdims=True)
    kept = nearer | (tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= room))
    index = np.nonzero(kept)[1].reshape(len(block), k)
    values = np.take_along_axis(block, index, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(values, order, axis=1)


_METRICS = ("euclidean", "cityblock", "chebyshev", "minkowski")
_POWERS = {"euclidean": 2.0, "l2": 2.0, "cityblock": 1.0, "manhattan": 1.0, "l1": 1.0, "chebyshev": np.inf}

_build = kernel("""point_tree_build(
    X: float64[n, d], points: float64[leaves, d, 16] out, positions: int64[leaves, 16] out,
    boxes: float64[leaves, 2, 2, d] out, lowest: int64[leaves, 2] out)""")
_query = kernel("""point_tree_query(
    points: float64[leaves, d, 16], positions: int64[leaves, 16], boxes: float64[leaves, 2, 2, d],
    lowest: int64[leaves, 2], metric: int, p: float, queries: float64[m, d], own: int64[m] or None,
    start: int up to m, stop: int up to m, index: int64[m, k] out, distance: float64[m, k] out)""")


# ---- a tree of points -----------------------------------------------------------------------------------------------


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
            raise InvalidParameterError("n_neighbors", f"at most the number of other objects, {most}", n_neighbors)
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


# ---- how they are found ---------------------------------------------------------------------------------------------


class Finder(Protocol):
    """Finds the nearest objects of some objects, themselves included."""

    kind: str  # "exact" or "approximate"

    def __call__(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(r, k) positions of the k objects nearest to each of the objects ``rows``, nearest first, and distances."""
        ...


def finder(
    source: DissimilaritySource, neighbors: str = "auto", random_state: Seed = None, n_jobs: int | None = -1
) -> Finder:
    """How to find the neighbours of the objects of a source.

    Parameters
    ----------
    source : DissimilaritySource
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        "approximate": nearest-neighbour descent (needs ``dempster[neighbors]``), for attributes and a metric by name.
        "auto": exact, unless there are more than 100,000 objects with more than six attributes, the metric is
        Euclidean and the extra is installed.
    random_state : int, RandomState, Generator or None
        For approximate neighbours; exact ones draw nothing from it.
    n_jobs : int or None
        Threads; None and -1 use all processors.

    Returns
    -------
    Finder

    References
    ----------
    W. Dong, M. Charikar and K. Li (2011). Efficient k-nearest neighbor graph construction for generic similarity
    measures. Proc. 20th International Conference on World Wide Web.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.dissimilarity.neighbors import Neighbors, finder
    >>> from dempster.dissimilarity.sources import AttributeSource
    >>> find = finder(AttributeSource(np.array([[0.0], [1.0], [3.0], [3.5]])))
    >>> find.kind
    'exact'
    >>> index, distance = find(np.array([1]), 3)
    >>> index.tolist(), distance.tolist()
    ([[1, 0, 2]], [[0.0, 1.0, 2.0]])
    >>> Neighbors.of_all(find, 4, 1).index.ravel().tolist()
    [1, 0, 3, 2]
    """
    if neighbors == "exact" or (neighbors == "auto" and not _pays_to_approximate(source)):
        return BlockFinder(source, n_jobs) if needs_blocks(source) else ExactFinder(source, n_jobs)
    if not isinstance(source, AttributeSource) or not isinstance(source.metric, str):
        raise InvalidInputError(
            f"neighbors='approximate' needs attributes and a metric by name, got {shown(source.metric)}"
        )
    return ApproximateFinder(source, as_random_state(random_state), n_jobs)


def _pays_to_approximate(source: DissimilaritySource) -> bool:
    objects, dimensions = _APPROXIMATE_FROM
    if not source.is_euclidean or len(source) <= objects:
        return False
    return source.objects.shape[1] > dimensions and find_spec("pynndescent") is not None


class ExactFinder:
    """Finds neighbours by trees or plain comparison."""

    kind = "exact"

    def __init__(self, source: DissimilaritySource, n_jobs: int | None = -1):
        self._table = source.matrix if isinstance(source, MatrixSource) else source.objects
        self._index = exact_index(source, n_jobs)

    @property
    def has_tree(self) -> bool:
        """Whether our own tree finds them, whose distances are exact."""
        return isinstance(self._index, PointTree)

    @property
    def order(self) -> np.ndarray:
        """(n,) the objects, near ones together where that is known: asked for in this order, they are found fastest."""
        return self._index.order if self.has_tree else np.arange(len(self._table))

    def __call__(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        distance, index = self._index.kneighbors(self._table[rows], n_neighbors=k)
        return index, distance

    def others(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Neighbours of objects by our own tree, each object left out of its own."""
        distance, index = self._index.neighbors_of(rows, k)
        return index, distance


class ApproximateFinder:
    """Finds neighbours by nearest-neighbour descent; objects that it leaves short are looked up exactly."""

    kind = "approximate"

    def __init__(self, source: AttributeSource, random_state: Any = None, n_jobs: int | None = None):
        try:
            from pynndescent import NNDescent
        except ImportError as error:
            raise MissingExtraError("neighbors='approximate'", "pynndescent", "neighbors") from error
        self._source, self._n_jobs = source, n_jobs
        self._index = NNDescent(
            source.objects,
            metric=source.metric,
            n_neighbors=min(_GRAPH_NEIGHBORS, len(source)),
            random_state=random_state,
            n_jobs=n_threads(n_jobs),
            parallel_batch_queries=n_threads(n_jobs) > 1,
        )

    def __call__(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        index, distance = self._index.query(self._source.objects[rows], k=k)
        short = (index < 0).any(axis=1) | ~np.isfinite(distance).all(axis=1)
        if short.any():
            index[short], distance[short] = self._exact(rows[short], k)
        return index, distance

    @cached_property
    def _exact(self) -> ExactFinder:
        return ExactFinder(self._source, self._n_jobs)


def exact_index(source: DissimilaritySource, n_jobs: int | None = -1) -> Any:
    """What finds the objects of a source that are nearest to any objects: its ``kneighbors`` is that of scikit-learn.

    Our own tree for Minkowski metrics, which gives ties to the first object; for Euclidean distances in many
    dimensions, and for other metrics, scikit-learn's `NearestNeighbors`.
    """
    from sklearn.neighbors import NearestNeighbors

    if isinstance(source, MatrixSource):
        return NearestNeighbors(metric="precomputed", n_jobs=n_threads(n_jobs)).fit(source.matrix)
    assert isinstance(source, AttributeSource)
    power = minkowski_power(source.metric, source.parameters)
    plain = power == 2 and source.objects.shape[1] > _TREE_DIMENSIONS and source.objects.size > _SMALL_TABLE
    if power is not None and not plain:
        return PointTree(source.objects, power, n_jobs)
    with naming_metric(source.metric):
        return NearestNeighbors(
            algorithm="brute" if plain else "auto",
            metric=source.metric,
            metric_params=source.parameters or None,
            n_jobs=safe_jobs(source.metric, n_threads(n_jobs)),
        ).fit(source.objects)


def safe_jobs(metric: Any, n_jobs: int | None) -> int | None:
    """For scikit-learn's search: one thread for "mahalanobis", whose trees share a buffer that others would spoil."""
    return 1 if metric == "mahalanobis" else n_jobs


# ---- those of all objects -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbors:
    """The K nearest neighbours of every object, itself excluded, nearest first: 12 bytes for each.

    Attributes
    ----------
    index : (n, K) array
        Their positions.
    distance : (n, K) array
        Dissimilarities to them.
    """

    index: np.ndarray
    distance: np.ndarray

    @classmethod
    def of_all(cls, find: Finder, n: int, n_neighbors: int) -> Neighbors:
        """Ask a finder for the neighbours of the objects 0..n-1, block by block."""
        kept = cls(np.empty((n, n_neighbors), dtype=np.int32), np.empty((n, n_neighbors)))
        order = find.order if isinstance(find, ExactFinder) else np.arange(n)
        for start, stop in row_blocks(n, _QUERY_ROWS, most=None):
            rows = order[start:stop]
            if isinstance(find, ExactFinder) and find.has_tree:
                index, distance = find.others(rows, n_neighbors)
                check_neighbors(index, distance, n)
            else:
                index, distance = find(rows, n_neighbors + 1)
                check_neighbors(index, distance, n)
                index, distance = _without_themselves(rows, index, distance)
            kept.index[rows], kept.distance[rows] = index, distance
        return kept

    def quantile(self, q: float) -> np.ndarray:
        """(n,) q-quantiles of the distances from each object to its neighbours."""
        place = q * (self.distance.shape[1] - 1)
        below = int(place)
        above = min(below + 1, self.distance.shape[1] - 1)
        return self.distance[:, below] + (place - below) * (self.distance[:, above] - self.distance[:, below])


def check_neighbors(index: np.ndarray, distance: np.ndarray, n: int) -> None:
    """Positions among n objects, and distances that are numbers.

    A tree leaves places unset where the metric gives no number or breaks the triangle inequality; compiled loops would
    then read beyond the end of an array.
    """
    check_values(distance, "metric")
    if index.size and (index.min() < 0 or index.max() >= n):
        raise InvalidParameterError(
            "metric", message="metric gave dissimilarities between which no nearest neighbours could be found"
        )


def _without_themselves(objects: np.ndarray, index: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of K + 1 neighbours K are kept: all but the object itself or, where its twins hide it, all but the last."""
    kept = index != objects[:, None]
    kept[kept.all(axis=1), -1] = False
    k = index.shape[1] - 1
    return index[kept].reshape(-1, k), distance[kept].reshape(-1, k)


# ---- those of new objects -------------------------------------------------------------------------------------------


class ReferenceFinder:
    """Finds the references nearest to new objects, exactly; what can be prepared for all of them is, once."""

    def __init__(self, references: References):
        self._references = references
        source = references.source
        self._index = None if source is None or needs_blocks(source) else exact_index(source, 1)
        # scikit-learn's trees share a buffer for this metric, and a function of the user's may not be safe in threads
        self._in_threads = source is None or not (source.metric == "mahalanobis" or callable(source.metric))

    def __call__(self, values: Any, k: int, apply: Apply) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) references nearest to each of the new objects, nearest first, and their distances.

        ``values`` are the objects as `DissimilarityInput.new` reads them; references are counted from 0, in their
        own order.
        """
        rows = rows_at_once(len(self._references)) if self._index is None else _QUERY_ROWS
        tasks = [(values, k, start, stop) for start, stop in row_blocks(len(values), rows, most=None)]
        parts = apply(self._nearest, tasks) if self._in_threads else [self._nearest(*task) for task in tasks]
        index, distance = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        check_neighbors(index, distance, len(self._references))
        return index, distance

    def _nearest(self, values: Any, k: int, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        if self._index is None:
            return nearest_columns(self._references.dissimilarities(values, start, stop), k)
        distance, index = self._index.kneighbors(values[start:stop], n_neighbors=k)
        return index, distance
