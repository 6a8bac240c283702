"""The graph of neighbours that EK-NNclus works on: who is near whom, and the weight of that evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from dempster.cluster.neighbors._kernels import agreement, both_sides, relabel, reordered, write_masses
from dempster.dissimilarity.neighbors import Finder, Neighbors
from dempster.optimize.blocks import Apply, row_blocks

__all__ = ["Evidence", "Graph", "renumbered", "as_rows", "neighbors_of_all", "nearest_stored"]

_LEAST_SUPPORT, _MOST_SUPPORT = 1e-6, 1 - 1e-9  # weights stay in [1e-6, 20.7]: twins and far objects are safe
_AT_ONCE = 65_536  # distances whose weights are found while they are in the cache
_QUANTILE_VALUES = 10_000_000  # distances that tell the quantile; of more, every second, third ... object serves


@dataclass(frozen=True)
class Evidence:
    """phi(d) = exp(-(d / scale)^power): the degree of support that two objects are in the same cluster."""

    scale: float
    power: float

    @classmethod
    def learnt(cls, neighbors: sparse.csr_matrix, q: float, power: float) -> Evidence:
        """``scale^power`` is the q-quantile of d^power between objects and their neighbours."""
        d = np.asarray(neighbors.data, dtype=float)
        d = d[:: max(1, len(d) // _QUANTILE_VALUES)]
        largest = float(d.max(initial=0.0))
        if largest == 0:
            return cls(1.0, power)  # all neighbours are twins
        relative = (d / largest) ** power  # no overflow, whatever the unit
        quantile = float(np.quantile(relative, q)) or float(relative[relative > 0].mean())
        return cls(largest * max(quantile, np.finfo(float).tiny) ** (1 / power), power)

    def energies(self, d: np.ndarray) -> np.ndarray:
        """(d / scale)^power: minus the logarithm of the support."""
        with np.errstate(over="ignore"):
            return np.minimum((np.asarray(d, dtype=float) / self.scale) ** self.power, np.finfo(float).max)

    def log_weights(self, d: np.ndarray) -> np.ndarray:
        """Logarithms of the weights, those below the least as well: log w = -energy for far objects."""
        energies = self.energies(d)
        return np.where(np.exp(-energies) > _LEAST_SUPPORT, np.log(self.weights(d)), -energies)

    def weights(self, d: np.ndarray) -> np.ndarray:
        """w = -log(1 - phi(d))."""
        with np.errstate(over="ignore"):
            support = np.exp(-((np.asarray(d, dtype=float) / self.scale) ** self.power))
        np.clip(support, _LEAST_SUPPORT, _MOST_SUPPORT, out=support)
        return -np.log1p(-support)

    def of(self, neighbors: sparse.csr_matrix, apply: Apply) -> sparse.csr_matrix:
        """The graph with weights in place of distances."""
        d = neighbors.data
        w = np.empty(len(d))

        def write(start: int, stop: int) -> None:
            w[start:stop] = self.weights(d[start:stop])

        apply(write, row_blocks(len(d), _AT_ONCE, most=None))
        return sparse.csr_matrix((w, neighbors.indices, neighbors.indptr), neighbors.shape)


@dataclass(frozen=True)
class Graph:
    """Weights of evidence between objects, in compressed rows.

    Attributes
    ----------
    indptr, indices, weights : arrays
        The neighbours of the object in row i are those in the rows ``indices[indptr[i]:indptr[i + 1]]``.
    symmetric : bool
    order : (n,) array or None
        Which object is in which row; None: they are in order. Rows of near objects that lie together in memory are
        visited faster.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    symmetric: bool
    order: np.ndarray | None = None

    @classmethod
    def of(cls, weights: sparse.csr_matrix, whose: str, apply: Apply, order: np.ndarray | None = None) -> Graph:
        """Whose evidence counts for object i: "directed", that of its neighbours; "union", also that of the objects it
        is a neighbour of; "mean", likewise, with half the weight if only one of the two is near the other."""
        parts = weights.indptr, weights.indices, weights.data
        if order is not None:
            parts = reordered(*parts, order, _ranks(order), apply)
        if whose != "directed":
            parts = both_sides(*parts, whose == "mean", apply)
        return cls(*parts, whose != "directed", order)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def agreement(self, labels: np.ndarray) -> float:
        """Log-plausibility of a partition, up to a constant: the weight that it keeps inside its clusters."""
        return float(agreement(self.indptr, self.indices, self.weights, self._in_rows(labels)))

    @cached_property
    def _rank(self) -> np.ndarray | None:
        """In which row each object is; None: they are in order."""
        return None if self.order is None else _ranks(self.order)

    def _in_rows(self, labels: np.ndarray) -> np.ndarray:
        """Labels of the objects in the order of the rows."""
        return labels if self.order is None else labels[self.order]

    def _of_objects(self, labels: np.ndarray) -> np.ndarray:
        """Labels of the rows in the order of the objects."""
        return labels if self._rank is None else labels[self._rank]

    def search(
        self,
        labels: np.ndarray,
        rng: np.random.Generator,
        max_iter: int,
        orders: Sequence[np.ndarray] | np.ndarray | None = None,
    ) -> tuple[np.ndarray, list[float], bool]:
        """Sweep until nobody moves: final labels 0..c-1, the agreement after every sweep, whether it ended.

        ``orders``: the orders of visits, one a sweep; drawn by default.
        """
        n = len(self)
        labels = renumbered(labels)
        agreement = self.agreement(labels)
        labels = self._in_rows(labels)
        awake = np.ones(n, dtype=bool)
        support = np.zeros(int(labels.max()) + 1)
        history: list[float] = []
        converged = False
        while not converged and len(history) < max_iter:
            order = rng.permutation(n) if orders is None else np.asarray(orders[len(history)], dtype=np.int64)
            moves, gain = self._sweep(order, labels, awake, support, False)
            agreement += gain
            history.append(agreement)
            converged = moves == 0
        if self.symmetric and converged:
            labels, history[-1] = self._settled(labels, agreement, max_iter)
        return renumbered(self._of_objects(labels)), history, converged

    def _settled(self, labels: np.ndarray, agreement: float, max_iter: int) -> tuple[np.ndarray, float]:
        """Ties go to the lowest label, as they do in the labels of the masses; the agreement stays."""
        labels = renumbered(labels)
        n = len(labels)
        awake = np.ones(n, dtype=bool)
        support = np.zeros(int(labels.max()) + 1)
        for _ in range(max_iter):
            moves, gain = self._sweep(np.arange(n), labels, awake, support, True)
            agreement += gain
            if moves == 0:
                break
        return labels, agreement

    def _sweep(
        self, order: np.ndarray, labels: np.ndarray, awake: np.ndarray, support: np.ndarray, settle: bool
    ) -> tuple[int, float]:
        if self._rank is not None:
            order = self._rank[order]
        return relabel(self.indptr, self.indices, self.weights, self.symmetric, order, labels, awake, support, settle)

    def masses(self, labels: np.ndarray, n_clusters: int, apply: Apply) -> np.ndarray:
        """(n, c + 2) masses of the empty set, the clusters and the frame: the neighbours by Dempster's rule."""
        n = len(self)
        out = np.empty((n, n_clusters + 2))
        fixed = (self.indptr, self.indices, self.weights, self._in_rows(labels))
        apply(write_masses, [(*fixed, start, stop, n_clusters, out) for start, stop in row_blocks(n)])
        return self._of_objects(out)


def _ranks(order: np.ndarray) -> np.ndarray:
    """In which place of an order each object stands."""
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks


def renumbered(labels: np.ndarray) -> np.ndarray:
    """Labels 0..c-1, in their order, as a new array."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32).reshape(-1)


# ---- who is near whom -----------------------------------------------------------------------------------------------


def neighbors_of_all(find: Finder, n: int, n_neighbors: int) -> sparse.csr_matrix:
    """(n, n) distances of every object to its nearest others; objects at distance zero are stored too."""
    found = Neighbors.of_all(find, n, n_neighbors)
    return as_rows(found.index, found.distance, n)


def as_rows(index: np.ndarray, distance: np.ndarray, n_columns: int) -> sparse.csr_matrix:
    """A table of neighbours and their distances as a sparse matrix."""
    n, k = index.shape
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    return sparse.csr_matrix((distance.reshape(-1), index.reshape(-1), indptr), (n, n_columns))


def nearest_stored(matrix: sparse.csr_matrix, n_neighbors: int | None, *, drop_diagonal: bool) -> sparse.csr_matrix:
    """Of the stored entries of every row (zeros included) the ``n_neighbors`` smallest, all for None."""
    matrix = sparse.csr_matrix(matrix)
    matrix.sort_indices()
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    keep = np.ones(matrix.nnz, dtype=bool)
    if drop_diagonal:
        keep = matrix.indices != rows
    if n_neighbors is not None:
        order = np.lexsort((matrix.data, rows))
        order = order[keep[order]]
        begin = np.concatenate([[0], np.cumsum(np.bincount(rows[keep], minlength=matrix.shape[0]))[:-1]])
        rank = np.arange(len(order)) - begin[rows[order]]
        keep = np.zeros(matrix.nnz, dtype=bool)
        keep[order[rank < n_neighbors]] = True
    count = np.bincount(rows[keep], minlength=matrix.shape[0])
    indptr = np.concatenate([[0], np.cumsum(count)]).astype(matrix.indptr.dtype)
    return sparse.csr_matrix((matrix.data[keep], matrix.indices[keep], indptr), matrix.shape)
