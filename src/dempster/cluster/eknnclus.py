"""EK-NNclus: clustering by the evidential k-nearest-neighbour rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster._random import generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import as_labels
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, FitRequest, Support
from dempster.cluster._search import FitResult, Method, Sample
from dempster.cluster.evidence import ClusterEvidence
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.neighbors import ExactFinder, Finder, Neighbors, ReferenceFinder, finder
from dempster.dissimilarity.sources import DissimilaritySource, References, SparseSource
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

_relabel = kernel("""relabel(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e], symmetric: bool,
    order: int64[visits] below n, labels: int32[n] below n_labels out, awake: bool[n] out,
    support: float64[n_labels] out, settle: bool, gained: float64[1] out) -> int""")
# Half the sum of the weights between objects of the same label: for a symmetric graph, that over pairs.
agreement = kernel("""agreement(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e],
    labels: int32[n]) -> float""")
_neighbor_masses = kernel("""neighbor_masses(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below m, weights: float64[e],
    labels: int32[m] below n_clusters, n_clusters: int, out: float64[n, n_clusters + 2] out)""")
_reordered_rows = kernel("""reordered_rows(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e], order: int64[n] below n,
    rank: integer[n], start: int up to stop, stop: int up to n, new_indptr: integer[n + 1] offsets in e,
    new_indices: integer[e] out, new_weights: float64[e] out)""")
_transposed_rows = kernel("""transposed_rows(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e],
    turned_indptr: integer[n + 1] out, turned_indices: integer[e] out, turned_weights: float64[e] out)""")
_union_sizes = kernel("""union_sizes(
    indptr: integer[n + 1], indices: integer[e], turned_indptr: integer[n + 1], turned_indices: integer[e],
    start: int up to stop, stop: int up to n, sizes: integer[n] out)""")
_union_rows = kernel("""union_rows(
    indptr: integer[n + 1], indices: integer[e], weights: float64[e], turned_indptr: integer[n + 1],
    turned_indices: integer[e], turned_weights: float64[e], mean: bool, start: int up to stop, stop: int up to n,
    union_indptr: integer[n + 1], union_indices: integer[u] out, union_weights: float64[u] out)""")


def relabel(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    symmetric: bool,
    order: np.ndarray,
    labels: np.ndarray,
    awake: np.ndarray,
    support: np.ndarray,
    settle: bool,
) -> tuple[int, float]:
    """One sweep: every object in turn takes the label that its neighbours support most.

    The plausibility that object i belongs to cluster k is proportional to exp(u_k), u_k = sum of the weights of its
    neighbours in k (Denoeux, Kanjanatarakul and Sriboonchitta, 2015), so this is the evidential k-NN rule. An object
    moves if it gains; with ``settle`` also if it loses nothing and the other label is lower.

    ``labels`` and ``awake`` change in place: where the graph is symmetric, objects sleep until a neighbour moves.
    ``support`` is scratch, one zero a label. Returns the number of moves and the sum of gains.
    """
    gained = np.empty(1)
    moves = _relabel(indptr, indices, weights, symmetric, order, labels, awake, support, settle, gained)
    return moves, float(gained[0])


def write_masses(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    start: int,
    stop: int,
    n_clusters: int,
    out: np.ndarray,
) -> None:
    """Dempster's combination of the neighbours of objects start..stop, on the columns empty, single clusters, frame.

    With r_k = exp(u_k) - 1: m({k}) = r_k / (1 + sum r), m(frame) = 1 / (1 + sum r).
    """
    first, last = indptr[start], indptr[stop]  # all indices that a kernel is given are checked: only these
    rows = indptr[start : stop + 1] - first
    _neighbor_masses(rows, indices[first:last], weights[first:last], labels, n_clusters, out[start:stop])


def reordered(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, order: np.ndarray, rank: np.ndarray, apply: Apply
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The graph whose row r is that of the object ``order[r]``; ``rank`` says in which row each object is."""
    dtype = indices.dtype
    old = np.ascontiguousarray(indptr, dtype), indices, weights, order.astype(np.int64, copy=False), rank.astype(dtype)
    new = np.concatenate([[0], np.cumsum(np.diff(indptr)[order])]).astype(dtype)
    found = np.empty_like(indices), np.empty_like(weights)
    apply(_reordered_rows, [(*old, start, stop, new, *found) for start, stop in row_blocks(len(order))])
    return new, *found


def both_sides(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, mean: bool, apply: Apply
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The graph in which i is a neighbour of j where j is one of i: of two weights the larger or, with ``mean``, half
    their sum (a weight that is not there counts as none)."""
    n, e = len(indptr) - 1, len(indices)
    dtype = np.int32 if 2 * e < 2**31 else np.int64  # the union may be twice as large
    indptr, indices = np.ascontiguousarray(indptr, dtype), np.ascontiguousarray(indices, dtype)
    turned = np.empty(n + 1, dtype), np.empty(e, dtype), np.empty(e)
    _transposed_rows(indptr, indices, weights, *turned)
    sizes, blocks = np.empty(n, dtype), row_blocks(n)
    apply(_union_sizes, [(indptr, indices, *turned[:2], a, b, sizes) for a, b in blocks])
    union = np.concatenate([[0], np.cumsum(sizes)]).astype(dtype)
    found = np.empty(union[-1], dtype), np.empty(union[-1])
    apply(_union_rows, [(indptr, indices, weights, *turned, mean, a, b, union, *found) for a, b in blocks])
    return union, *found


_LEAST_SUPPORT, _MAX_SUPPORT = 1e-6, 1 - 1e-9  # weights stay in [1e-6, 20.7]: twins and far objects are safe
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
        np.clip(support, _LEAST_SUPPORT, _MAX_SUPPORT, out=support)
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


_ROWS = 16_384  # new objects whose neighbours are held at once


@dataclass(frozen=True, eq=False)
class NeighborModel:
    """Each new object is judged by its nearest objects of the fit; one that is the same as one of them has its masses.

    Attributes
    ----------
    family : FocalSets
        Empty set, single clusters, frame.
    references : References
        All objects of the fit.
    support : Evidence
        What a neighbour says at a distance.
    labels : (n,) array
        Clusters of the objects of the fit.
    own_masses : (n, f) array
        Masses of the objects of the fit, each by its own neighbours.
    n_neighbors : int
        That a new object is judged by.
    n_stored : int or None
        Of the stored entries of a sparse row so many count; None: all.
    searches : tuple of (int, float)
        Number of clusters and objective of every search that competed.
    """

    family: FocalSets
    references: References
    support: Evidence
    labels: np.ndarray
    own_masses: np.ndarray
    n_neighbors: int
    n_stored: int | None
    searches: tuple[tuple[int, float], ...]

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """(n, f) masses of objects as `DissimilarityInput.new` reads them: attributes, an encoded table, or a matrix,
        perhaps sparse, of dissimilarities to the objects of the fit."""
        if sparse.issparse(values):
            nearest = nearest_stored(values, self.n_stored, drop_diagonal=False)
            return self._combined(nearest, _first_stored_zeros(values), apply).astype(values.dtype, copy=False)
        find = ReferenceFinder(self.references)
        out = np.empty((len(values), len(self.family)), values.dtype if isinstance(values, np.ndarray) else float)
        for start, stop in row_blocks(len(values), _ROWS, most=None):
            some = values[start:stop]
            nearest = as_rows(*find(some, self.n_neighbors, apply), len(self.labels))
            same = self._known(some)
            out[start:stop] = self._combined(nearest, same, apply)
        return out

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the logarithm of the weight of evidence of its members among the neighbours.

        Of a cluster without any, which the method does not hear, the nearest member speaks.
        """
        stored = sparse.issparse(values)
        positions = values.indices if stored else np.arange(len(self.labels))
        d = np.asarray(values.data if stored else self.references.dissimilarities(values, exact=True)[0], dtype=float)
        order = np.argsort(d, kind="stable")
        order = order[positions[order] != itself]
        labels = self.labels[positions[order]]
        most = self.n_stored if stored else self.n_neighbors
        heard = np.arange(len(order)) < (len(order) if most is None else most)
        first = np.unique(labels, return_index=True)[1]
        heard[first[~np.isin(labels[first], labels[heard])]] = True
        which, labels = order[heard], labels[heard]
        energies, logs = self.support.energies(d[which]), np.full((len(which), self.family.n_clusters), -np.inf)
        logs[np.arange(len(which)), labels] = self.support.log_weights(d[which])
        words = "logarithm of the weight of evidence of the neighbors in the cluster"
        return ClusterEvidence.of_strengths(words, logs, energies, self.references.some(positions[which]), values)

    def without(self, position: int) -> NeighborModel:
        """The same, but that one object of the fit is nobody's neighbour."""
        others = np.flatnonzero(np.arange(len(self.labels)) != position)
        if len(others) == 0 or self.references.source is None:
            return self
        return replace(
            self,
            references=self.references.some(others),
            labels=self.labels[others],
            own_masses=self.own_masses[others],
            n_neighbors=min(self.n_neighbors, len(others)),
        )

    def _known(self, values: Any) -> np.ndarray:
        """The first object of the fit that cannot be told from each, -1 where there is none."""
        return _first_zeros(values) if self.references.source is None else self.references.equals(values)

    def _combined(self, neighbors: sparse.csr_matrix, same: np.ndarray, apply: Apply) -> np.ndarray:
        """The neighbours by Dempster's rule, except where the object is a known one."""
        graph = Graph.of(self.support.of(neighbors, apply), "directed", apply)
        masses = on_family(graph.masses(self.labels, self.family.n_clusters, apply))
        masses[same >= 0] = self.own_masses[same[same >= 0]]
        return masses


def on_family(masses: np.ndarray) -> np.ndarray:
    """With a single cluster the frame is that cluster."""
    return masses if masses.shape[1] > 3 else np.column_stack([masses[:, 0], masses[:, 1] + masses[:, 2]])


def references_of(source: DissimilaritySource | SparseSource) -> References:
    """All objects of a source, for comparison with new ones."""
    everyone = np.arange(len(source))
    if isinstance(source, SparseSource):
        return References(everyone, len(source), None)
    return References.of(source, everyone)


def twins_of(
    source: DissimilaritySource | SparseSource, references: References, among: np.ndarray | None = None
) -> np.ndarray:
    """The first object that cannot be told from each: equal attributes, or dissimilarity zero.

    ``among``: positions, in order, of all objects that may have a twin; None: any may.
    """
    if references.source is not None and among is not None:
        twins, some = np.arange(len(source)), References.of(references.source, among)
        twins[among] = among[some.equals(references.source.objects[among])]
        return twins
    if references.source is not None:
        return references.equals(references.source.objects)
    if isinstance(source, SparseSource):
        first = _first_stored_zeros(source.stored)
    else:
        blocks = row_blocks(len(source), most=None)
        first = np.concatenate([_first_zeros(source.block(slice(*rows), slice(None))) for rows in blocks])
    # where the diagonal is not stored, or not exactly zero, an object stands for itself
    return np.where(first >= 0, first, np.arange(len(source)))


def _first_zeros(block: np.ndarray) -> np.ndarray:
    """Lowest column of a zero in each row, -1 where there is none."""
    zero = block == 0
    return np.where(zero.any(axis=1), zero.argmax(axis=1), -1)


def _first_stored_zeros(matrix: sparse.csr_matrix) -> np.ndarray:
    """Lowest column of a stored zero in each row, -1 where there is none."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    zero = matrix.data == 0
    first = np.full(matrix.shape[0], matrix.shape[1])
    np.minimum.at(first, rows[zero], matrix.indices[zero])
    return np.where(first < matrix.shape[1], first, -1)


_PER_ROOT = 2.5  # neighbours per square root of the number of objects (the authors advise two to three)
_MAX_NEIGHBORS = 400
_DISTINCT_UP_TO = 1_000  # objects that start in a cluster each; beyond, in a tenth as many clusters
_SAMPLE_FROM, _SAMPLE_SIZE = 20_000, 5_000
_MAX_NEIGHBORS_AFTER_SAMPLE = 50  # the sample has found the clusters; what remains is local
_MAX_PARTITION = 2**31  # cells of the table of masses: 17 GB


@dataclass(frozen=True, eq=False)
class LabelStart:
    """Labels to start from, and the chance that orders the visits."""

    labels: np.ndarray
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class FoundLabels:
    """Labels 0..c-1 at the end of a search; number of clusters and objective of every search that competed."""

    labels: np.ndarray
    searches: tuple[tuple[int, float], ...]


class NeighborMethod(Method[LabelStart, FoundLabels]):
    """The graph of one fit, and the searches on it."""

    starts_in_threads = True

    def __init__(
        self,
        params: EKNNClus,
        sample: Sample[DissimilaritySource | SparseSource],
        rng: np.random.Generator,
        apply: Apply,
        init: str | int | ArrayLike | CredalPartition,
        n_neighbors: int | None,
    ):
        self.params, self.source, self.rng, self.apply = params, sample.values, rng, apply
        self.init, self.wanted_neighbors = init, n_neighbors
        if isinstance(self.source, SparseSource):
            self.source = SparseSource(sparse.csr_matrix(self.source.stored))
        self.n = len(self.source)
        self.n_neighbors = self._number_of_neighbors()
        seed = int(rng.integers(2**31))  # drawn whatever the data, so that the searches have the same chances
        self.with_twins: np.ndarray | None = None  # objects that may have equal ones, if that is known
        neighbors, order = self._neighbors(seed)
        self.evidence = Evidence.learnt(neighbors, params.q, params.power)
        self.graph = Graph.of(self.evidence.of(neighbors, apply), params.graph, apply, order)

    @classmethod
    def of(
        cls,
        params: EKNNClus,
        sample: Sample[DissimilaritySource | SparseSource],
        rng: np.random.Generator,
        apply: Apply,
        init: str | int | ArrayLike | CredalPartition,
        n_neighbors: int | None,
    ) -> NeighborMethod:
        """Return the method with the start that is asked for, or that suits the number of objects."""
        source = sample.values
        has_objects = isinstance(source, DissimilaritySource) and source.objects is not None
        if isinstance(init, str) and init == "auto":
            init = "distinct" if len(source) <= _DISTINCT_UP_TO else max(2, len(source) // 10)
            if has_objects and len(source) > _SAMPLE_FROM:
                init = "sample"
        if isinstance(init, str) and init == "sample":
            if not has_objects:
                raise InvalidInputError("init='sample' needs attributes, not precomputed dissimilarities")
            return SampledNeighborMethod(params, sample, rng, apply, init, n_neighbors)
        return NeighborMethod(params, sample, rng, apply, init, n_neighbors)

    def _number_of_neighbors(self) -> int:
        wanted = self.wanted_neighbors
        if wanted is None:
            return self._automatic_number_of_neighbors()
        if wanted >= self.n:
            raise InvalidInputError(f"n_neighbors must be below the number of objects, {self.n}, got {wanted}")
        return int(wanted)

    def _automatic_number_of_neighbors(self) -> int:
        if isinstance(self.source, SparseSource):
            return int(np.diff(self.source.stored.indptr).max())
        return max(1, min(int(np.ceil(_PER_ROOT * np.sqrt(self.n))), _MAX_NEIGHBORS, self.n - 1))

    def _neighbors(self, seed: int) -> tuple[sparse.csr_matrix, np.ndarray | None]:
        """(n, n) distances of every object to its neighbours; an order in which near objects stand together."""
        if isinstance(self.source, SparseSource):
            stored = nearest_stored(self.source.stored, self.wanted_neighbors, drop_diagonal=True)
            if stored.nnz == 0:
                raise InvalidInputError("X must hold dissimilarities between different objects, got none")
            return stored, None
        find = finder(self.source, self.params.neighbors, seed, self.params.n_jobs)
        nearest = neighbors_of_all(find, self.n, self.n_neighbors)
        if not isinstance(find, ExactFinder):
            return nearest, None
        if find.has_tree:  # equal objects are at no distance from each other, to the last bit
            self.with_twins = np.flatnonzero(nearest.data[nearest.indptr[:-1]] == 0)
        return nearest, find.order

    # ---- starts ---------------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[LabelStart]:
        if not isinstance(self.init, str | int | np.integer):
            return [LabelStart(self._given_labels(self.init), self.rng)]
        seeds = self.rng.integers(2**63, size=self.params.n_init)
        return [self._drawn(np.random.default_rng(seed)) for seed in seeds]

    def _drawn(self, rng: np.random.Generator) -> LabelStart:
        init = self.init
        return LabelStart(np.arange(self.n) if isinstance(init, str) else rng.integers(init, size=self.n), rng)

    def _given_labels(self, init: ArrayLike | CredalPartition) -> np.ndarray:
        labels = init.labels if isinstance(init, CredalPartition) else as_labels(init, "init")
        if len(labels) != self.n:
            raise InvalidInputError(f"init must hold {self.n} labels, one for each object, got {len(labels)}")
        return renumbered(labels)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: LabelStart) -> Run[FoundLabels]:
        labels, agreement, converged = self.graph.search(start.labels, start.rng, self.params.max_iter)
        history = [-value for value in agreement]
        return Run(FoundLabels(labels, ((int(labels.max()) + 1, history[-1]),)), history, converged)

    def select_run(self, runs: Iterable[Run[FoundLabels]], tol: float) -> Run[FoundLabels]:
        """Because the objective favours few clusters, it compares results with the same number of them only."""
        runs = list(runs)
        searches = tuple(search for run in runs for search in run.model.searches)
        best = runs[preferred(searches)]
        return replace(best, model=replace(best.model, searches=searches))

    # ---- results --------------------------------------------------------------------------------------------------

    def result(self, run: Run[FoundLabels]) -> FitResult:
        labels = run.model.labels
        n_clusters = int(labels.max()) + 1
        self._check_size(n_clusters)
        references = references_of(self.source)
        model = NeighborModel(
            family=FocalSets.simple(n_clusters),
            references=references,
            support=self.evidence,
            labels=labels,
            own_masses=on_family(self.graph.masses(labels, n_clusters, self.apply)),
            n_neighbors=self.n_neighbors,
            n_stored=self.wanted_neighbors,
            searches=run.model.searches,
        )
        twins = twins_of(self.source, references, self.with_twins)
        all_differ = np.array_equal(twins, np.arange(self.n))
        masses = model.own_masses if all_differ else model.own_masses[twins]
        warnings = ("a single cluster was found; decrease n_neighbors or q for more",) if n_clusters == 1 else ()
        return FitResult(run, model, masses.astype(self.source.dtype, copy=False), warnings)

    def _check_size(self, n_clusters: int) -> None:
        if self.n * (n_clusters + 2) > _MAX_PARTITION:
            raise InvalidInputError(
                f"n_neighbors={self.n_neighbors} left {n_clusters} clusters, and the masses of {self.n} objects would "
                f"take {8 * self.n * (n_clusters + 2) / 2**30:.0f} GB; use more neighbours, a larger q or init='sample'"
            )


class SampledNeighborMethod(NeighborMethod):
    """The searches compete on a sample; each of the other objects then starts in the cluster of the nearest of it."""

    def __init__(
        self,
        params: EKNNClus,
        sample: Sample[DissimilaritySource | SparseSource],
        rng: np.random.Generator,
        apply: Apply,
        init: str | int | ArrayLike | CredalPartition,
        n_neighbors: int | None,
    ):
        super().__init__(params, sample, rng, apply, init, n_neighbors)
        assert isinstance(self.source, DissimilaritySource)
        self.drawn = np.sort(rng.permutation(self.n)[:_SAMPLE_SIZE])
        self.small = NeighborMethod.of(params, Sample(self.source.subset(self.drawn)), rng, apply, "auto", None)

    def _automatic_number_of_neighbors(self) -> int:
        if self.n > _SAMPLE_SIZE:
            return _MAX_NEIGHBORS_AFTER_SAMPLE
        return super()._automatic_number_of_neighbors()

    def draw_starts(self, family: FocalSets) -> list[LabelStart]:
        return self.small.draw_starts(family)

    def run_start(self, start: LabelStart) -> Run[FoundLabels]:
        return self.small.run_start(start)

    def refine(self, best: Run[FoundLabels]) -> Run[FoundLabels]:
        assert isinstance(self.source, DissimilaritySource)
        nearest, _ = ReferenceFinder(References.of(self.source, self.drawn))(self.source.objects, 1, self.apply)
        labels = self.small.partition(best).labels[nearest[:, 0]]
        run = super().run_start(LabelStart(labels, self.rng))
        return replace(run, model=replace(run.model, searches=best.model.searches))


def preferred(searches: tuple[tuple[int, float], ...]) -> int:
    """Of the results with the most frequent number of clusters the one with the smallest objective, the first on ties;
    of equally frequent numbers that of the smallest objective."""
    counts = [count for count, _ in searches]
    return min(range(len(searches)), key=lambda r: (-counts.count(counts[r]), searches[r][1], r))


class EKNNClus(EvidentialClusterer):
    """Clustering by the evidential k-nearest-neighbour rule, which finds the number of clusters.

    That two objects at distance d belong together is supported to the degree phi(d) = exp(-(d / s)^power). Combined
    by Dempster's rule, these pieces of evidence make a partition the more plausible the more weight it keeps inside
    its clusters: up to a constant its log-plausibility is

        sum_{i<j} w_ij [i and j in the same cluster],    w_ij = -log(1 - phi(d_ij)),

    over pairs of neighbours. Starting from many small clusters, each object in turn joins the cluster that its
    neighbours support most, until nobody moves. The log-plausibility never falls, and the search ends at a partition
    that no move of a single object improves. (The global maximum would be a single cluster. The local one depends on
    ``n_neighbors``: few neighbours make many clusters.) Combining the neighbours of each object by Dempster's rule
    gives the credal partition, on single clusters and the whole frame: an object among those of one cluster is
    certain, one between clusters is not, and an isolated one has mass on the frame.

    Time and memory grow with the number of objects times that of neighbours; no n x n matrix is made.

    A new object is judged by its nearest objects of `fit`; one that cannot be told from one of these (equal attributes,
    dissimilarity zero) has its masses.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`, a function of two rows, "gower" for a table with numbers,
        categories and missing cells, or "precomputed": X is a square matrix of dissimilarities, or a SciPy sparse
        matrix that holds those to the neighbours of each object, stored zeros included (as made by scikit-learn's
        ``kneighbors_graph``). With a function and with "gower" every object is compared with all others.
    symmetrize : bool, default=False
        Replace an asymmetric square matrix by the mean of itself and its transpose, instead of refusing it.
    n_neighbors : int or "auto", default="auto"
        "auto": 2.5 times the square root of the number of objects, at most 400; 50 after a search on a sample; all
        stored entries of a sparse matrix.
    q : float in (0, 1], default=0.9
        s^power is the q-quantile of d^power between objects and their neighbours. Larger values give fewer clusters.
    power : float > 0, default=2
        1 or 2 in the papers.
    graph : {"union", "mean", "directed"}, default="union"
        Whose evidence counts for an object: "union" that of its neighbours and of the objects it is a neighbour of;
        "mean" likewise, but with half the weight if only one of the two is near the other; "directed" that of its
        own neighbours only, as in the published program. Then the objective, a running sum, may rise, and the search
        may be ended by ``max_iter``.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        "approximate": nearest-neighbour descent (needs ``dempster[neighbors]``). "auto": exact, unless there are
        more than 100,000 objects with more than six attributes, the metric is Euclidean and the extra is installed.
    init : {"auto", "distinct", "sample"}, int, array of labels or CredalPartition, default="auto"
        "distinct": a cluster for each object. An integer: so many clusters at random. "sample": the clusters of
        5,000 objects, each of the others beginning in that of the nearest of them. "auto": distinct up to 1,000
        objects, a tenth as many random clusters as objects up to 20,000, then (with attributes) a sample. Given
        labels, or those of a partition, are used once, whatever ``n_init``.
    n_init : int, default=10
        Searches with other random labels and orders of visits. Because the objective favours few clusters, it only
        compares results with the same number of clusters: of those with the most frequent number (of equally
        frequent ones, that of the smallest objective) the one with the smallest objective is kept.
    max_iter : int, default=100
        Sweeps over the objects.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        On the empty set (whose mass is zero), the single clusters and the frame. Objects that cannot be told apart
        have the same masses.
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    focal_sets_ : FocalSets
    objective_ : float
        Minus the log-plausibility of the partition, up to a constant.
    history_ : ndarray
        Objective after every sweep of the search that was kept.
    n_clusters_found_, objectives_found_ : ndarray of shape (n_searches,)
        Number of clusters and objective of every search (on the sample, if there was one).
    n_neighbors_ : int
    scale_ : float
        The distance s at which the support has fallen to exp(-1).
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    T. Denoeux, O. Kanjanatarakul and S. Sriboonchitta (2015). EK-NNclus: a clustering procedure based on the
    evidential K-nearest neighbor rule. Knowledge-Based Systems 88.

    Examples
    --------
    >>> from dempster.cluster import EKNNClus
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    >>> model = EKNNClus(random_state=0).fit(X)
    >>> model.n_clusters_
    3
    >>> model.predict_mass([[6, 1], [40, 40]]).masses[:, -1].round(2)  # mass of the frame: nothing known far away
    array([0., 1.])
    """

    _rules = {
        "metric": METRIC_RULE,
        "symmetrize": rule.flag,
        "n_neighbors": rule.choice("auto") | rule.integer(1),
        "q": rule.real(0, 1, open_low=True),
        "power": rule.real(0, open_low=True),
        "graph": rule.choice("union", "mean", "directed"),
        "neighbors": rule.choice("auto", "exact", "approximate"),
        "init": rule.choice("auto", "distinct", "sample") | rule.integer(1) | rule.kind(CredalPartition) | rule.array,
        **{name: COMMON_RULES[name] for name in ("n_init", "max_iter", "random_state", "n_jobs", "verbose")},
    }
    _advice = 'increase max_iter (the sweeps may go on for ever with graph="directed")'
    _support = Support(blocks=True)

    def __init__(
        self,
        *,
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        n_neighbors: int | str = "auto",
        q: float = 0.9,
        power: float = 2.0,
        graph: str = "union",
        neighbors: str = "auto",
        init: str | int | ArrayLike | CredalPartition = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.metric = metric
        self.symmetrize = symmetrize
        self.n_neighbors = n_neighbors
        self.q = q
        self.power = power
        self.graph = graph
        self.neighbors = neighbors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or dissimilarities if ``metric="precomputed"``
            A pandas table keeps its index.
        y : ignored
        """
        return self._fit(X)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(
                self.metric, symmetrize=self.symmetrize, sparse=True, centered=True, fewest=2
            )
            return self._input.training(self, X)
        return self._input.new(self, X)

    def _requested_clusters(self) -> None:
        return None

    def _find_n_clusters(self, sample: Sample[Any], apply: Apply) -> int:
        return 1  # nobody asks: the searches find it

    def _make_method(self, sample: Sample[DissimilaritySource | SparseSource], request: FitRequest) -> NeighborMethod:
        n_neighbors = None if isinstance(self.n_neighbors, str) else self.n_neighbors
        rng = generator(self.random_state)
        return NeighborMethod.of(self, sample, rng, request.apply, self.init, n_neighbors)

    def _fitted_attributes(self, method: NeighborMethod, model: NeighborModel) -> dict[str, Any]:
        counts, objectives = zip(*model.searches, strict=True)
        return {
            "n_clusters_found_": np.array(counts),
            "objectives_found_": np.array(objectives),
            "n_neighbors_": method.n_neighbors,
            "scale_": method.evidence.scale,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
