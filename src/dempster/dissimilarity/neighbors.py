"""Nearest neighbours of the objects of a source of dissimilarities, exact or approximate.

`finder` chooses how they are found. What it gives answers for some of the objects at a time; `Neighbors.of_all` asks
it for all of them. New objects are served by `dempster.dissimilarity.reference_neighbors`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import as_random_state
from dempster._types import Seed
from dempster._validation import shown
from dempster.dissimilarity.block_neighbors import BlockFinder, needs_blocks
from dempster.dissimilarity.point_tree import PointTree, minkowski_power
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    check_values,
    naming_metric,
)
from dempster.optimize.blocks import n_threads, row_blocks

__all__ = [
    "Neighbors",
    "Finder",
    "ExactFinder",
    "ApproximateFinder",
    "finder",
    "exact_index",
    "safe_jobs",
    "check_neighbors",
]

_TREE_DIMENSIONS = 10  # in more dimensions a tree visits most of its leaves, and plain comparison is faster
_SMALL_TABLE = 100_000  # numbers in a table that stays in the cache, where a tree is as fast as plain comparison
_APPROXIMATE_FROM = 100_000, 6  # more objects of more dimensions, from where approximate neighbours save time
_GRAPH_NEIGHBORS = 30  # of the approximate index; asking it for K afterwards is much faster than building it with K
_QUERY_ROWS = 4096  # objects whose neighbours are asked for at once


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
            raise ImportError("neighbors='approximate' needs pynndescent: pip install dempster[neighbors]") from error
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
        raise InvalidInputError("metric gave dissimilarities between which no nearest neighbours could be found")


def _without_themselves(objects: np.ndarray, index: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of K + 1 neighbours K are kept: all but the object itself or, where its twins hide it, all but the last."""
    kept = index != objects[:, None]
    kept[kept.all(axis=1), -1] = False
    k = index.shape[1] - 1
    return index[kept].reshape(-1, k), distance[kept].reshape(-1, k)
