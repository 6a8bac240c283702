"""Graph of weights of evidence between rows, and the search of EK-NNclus on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np
from scipy import sparse

from dempster._arrays import rows_of_entries
from dempster._native import kernel
from dempster.optimize.blocks import Apply, row_blocks

relabel = kernel("""relabel(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e],
    strengths: float64[n], symmetric: bool, order: int64[visits] below n,
    labels: int32[n] below n_labels out, totals: float64[n_labels] out, awake: bool[n] out,
    support: float64[n_labels] out, settle: bool, gained: float64[1] out) -> int""")
# Return half the sum of the weights of edges between rows with the same label. In a symmetric
# graph, every pair of rows has two edges, so the result is the sum over pairs.
agreement = kernel("""agreement(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e],
    labels: int32[n]) -> float""")
neighbor_masses = kernel("""neighbor_masses(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below m, weights: float64[e],
    labels: int32[m] below n_clusters, n_clusters: int, out: float64[n, n_clusters + 2] out)""")
_transposed_rows = kernel("""transposed_rows(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e],
    turned_indptr: integer[n + 1] out, turned_indices: integer[e] out,
    turned_weights: float64[e] out)""")
_union_sizes = kernel("""union_sizes(
    indptr: integer[n + 1], indices: integer[e], turned_indptr: integer[n + 1],
    turned_indices: integer[e], start: int up to stop, stop: int up to n, sizes: integer[n] out)""")
_union_rows = kernel("""union_rows(
    indptr: integer[n + 1], indices: integer[e], weights: float64[e], turned_indptr: integer[n + 1],
    turned_indices: integer[e], turned_weights: float64[e], mean: bool, start: int up to stop,
    stop: int up to n, union_indptr: integer[n + 1], union_indices: integer[u] out,
    union_weights: float64[u] out)""")


def symmetrize_graph(
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    mean: bool,
    apply: Apply,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``indptr``, ``indices`` and weights of a symmetric graph, given a directed graph.

    The new weights are (w_ij + w_ji) / 2 if ``mean`` is True, and max(w_ij, w_ji) otherwise. A
    missing edge has weight zero. In each row, edges of the directed graph come first, so that the
    result is the same for any number of threads.
    """
    n = len(indptr) - 1
    e = len(indices)
    dtype = np.int32 if 2 * e < 2**31 else np.int64  # There may be twice as many edges.
    indptr = np.ascontiguousarray(indptr, dtype)
    indices = np.ascontiguousarray(indices, dtype)
    transposed = np.empty(n + 1, dtype), np.empty(e, dtype), np.empty(e)
    _transposed_rows(indptr, indices, weights, *transposed)
    sizes = np.empty(n, dtype)
    blocks = row_blocks(n)
    pattern = indptr, indices, *transposed[:2]
    apply(_union_sizes, [(*pattern, *block, sizes) for block in blocks])
    union = np.append(0, np.cumsum(sizes)).astype(dtype)
    entries = np.empty(union[-1], dtype), np.empty(union[-1])
    graph = indptr, indices, weights, *transposed, mean
    apply(_union_rows, [(*graph, *block, union, *entries) for block in blocks])
    return union, *entries


@dataclass(frozen=True)
class NeighborGraph:
    """Weights of evidence between rows of X, in compressed sparse row format.

    The neighbors of row i of the graph are ``indices[indptr[i]:indptr[i + 1]]``. The rows of the
    graph may be sorted so that neighbors are close in memory, which makes sweeps faster. Row i of
    the graph is row ``order[i]`` of X.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    # strengths[i] * strengths[j] is evidence against a common cluster
    strengths: np.ndarray
    movable: np.ndarray  # rows whose labels are not known
    symmetric: bool
    order: np.ndarray
    # numbers of copies of the rows, by which the weights are multiplied; None: all are one
    sizes: np.ndarray | None = None

    @classmethod
    def from_weights(
        cls,
        weights: sparse.csr_matrix,
        graph: str,
        apply: Apply,
        order: np.ndarray | None = None,
        sizes: np.ndarray | None = None,
    ) -> NeighborGraph:
        """Create the graph from weights between rows and their neighbors.

        ``graph`` is the parameter ``neighbor_graph`` of `EKNNClus`. Row i of X stands for
        ``sizes[i]`` equal rows, so that two rows are that many pairs.
        """
        n = weights.shape[0]
        indices = weights.indices
        if order is None:
            order = np.arange(n)
        else:
            rank = np.argsort(order).astype(indices.dtype)
            weights = weights[order]
            indices = rank[weights.indices]
        parts = weights.indptr, indices, weights.data
        if graph != "directed":
            parts = symmetrize_graph(*parts, graph == "mean", apply)
        if sizes is not None:
            sizes = sizes[order]
            pairs = sizes[rows_of_entries(parts[0])] * sizes[parts[1]]
            parts = *parts[:2], parts[2] * pairs
        return cls(*parts, np.zeros(n), np.arange(n), graph != "directed", order, sizes)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def agreement(self, labels: np.ndarray) -> float:
        """Return the sum of weights inside clusters: the log-plausibility up to a constant."""
        labels = labels[self.order]
        return float(agreement(self.indptr, self.indices, self.weights, labels))

    @cached_property
    def _rank(self) -> np.ndarray:
        """Index in the graph of each row of X."""
        return np.argsort(self.order)

    def search(
        self, labels: np.ndarray, rng: np.random.Generator, max_iter: int
    ) -> tuple[np.ndarray, list[float], bool]:
        """Relabel the rows in sweeps until no label changes.

        In a sweep, every row in turn, in random order, gets the label that its neighbors support
        most. The plausibility that a row belongs to cluster k is proportional to exp(u_k), where
        u_k is the sum of the weights of its neighbors in cluster k (Denoeux, Kanjanatarakul and
        Sriboonchitta, 2015). Return the labels 0..c-1, the value of `agreement` after every sweep,
        and whether the search converged.
        """
        labels = renumber(labels)
        agreement = self.agreement(labels)
        labels = labels[self.order]
        gains, converged = self._relabel(
            labels, lambda: rng.permutation(self.movable), max_iter
        )
        history = list(accumulate(gains, initial=agreement))[1:]
        if self.symmetric and converged:
            # Resolve ties in favor of the lowest label, which is the rule of partitions.
            labels = renumber(labels)
            gains, _ = self._relabel(
                labels, lambda: self.movable, max_iter, settle=True
            )
            for gain in gains:
                history[-1] += gain
        return renumber(labels[self._rank]), history, converged

    def _relabel(
        self,
        labels: np.ndarray,
        next_order: Callable[[], np.ndarray],
        max_iter: int,
        *,
        settle: bool = False,
    ) -> tuple[list[float], bool]:
        """Relabel the rows in place, in sweeps until no label changes.

        Return the increase of the agreement in every sweep, and whether the sweeps converged.
        """
        awake = np.ones(len(self), bool)
        totals = np.bincount(labels, self.strengths)
        support = np.zeros(len(totals))
        edges = (self.indptr, self.indices, self.weights)
        graph = (*edges, self.strengths, self.symmetric)
        gained = np.empty(1)
        gains = []
        for _ in range(max_iter):
            order = self._rank[next_order()]
            state = (labels, totals, awake, support)
            n_moves = relabel(*graph, order, *state, settle, gained)
            gains.append(float(gained[0]))
            if n_moves == 0:
                return gains, True
        return gains, False

    def masses(self, labels: np.ndarray, n_clusters: int, apply: Apply) -> np.ndarray:
        """Return the masses of all rows on the empty set, the clusters and the frame."""
        weights = self.weights
        if self.sizes is not None:
            # A row has the evidence of its neighbors once, however many copies it has.
            weights = weights / self.sizes[rows_of_entries(self.indptr)]
        edges = self.indptr, self.indices, weights
        masses = combine_evidence(edges, labels[self.order], n_clusters, apply)
        return masses[self._rank]


def combine_evidence(
    edges: tuple[np.ndarray, np.ndarray, np.ndarray],
    labels: np.ndarray,
    n_clusters: int,
    apply: Apply,
) -> np.ndarray:
    """Return the masses of rows on the empty set, the clusters and the frame.

    Dempster's rule combines the evidence of the neighbors. Let r_k = exp(u_k) - 1, where u_k is the
    sum of the weights of the neighbors in cluster k. Then m({k}) = r_k / (1 + sum r) and m(frame) =
    1 / (1 + sum r). ``edges`` is a matrix of weights in compressed rows, whose columns have labels.
    """
    indptr, indices, weights = edges
    n = len(indptr) - 1
    out = np.empty((n, n_clusters + 2))

    def write(start: int, stop: int) -> None:
        part = slice(indptr[start], indptr[stop])
        rows = indptr[start : stop + 1] - indptr[start]
        entries = rows, indices[part], weights[part]
        neighbor_masses(*entries, labels, n_clusters, out[start:stop])

    apply(write, row_blocks(n))
    if n_clusters == 1:  # The cluster is the frame.
        return np.column_stack([out[:, 0], out[:, 1] + out[:, 2]])
    return out


def renumber(labels: np.ndarray) -> np.ndarray:
    """Return the labels replaced by 0..c-1, in the order of their values."""
    return np.unique(labels, return_inverse=True)[1].astype(np.int32).reshape(-1)
