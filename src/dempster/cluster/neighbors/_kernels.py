"""Compiled loops of EK-NNclus over a sparse graph of neighbours (``kernels.c``).

The graph is held in compressed rows: the neighbours of object i are ``indices[indptr[i]:indptr[i + 1]]``, and
``weights`` are the weights of evidence w = -log(1 - phi(d)) that they lend to the cluster they are in.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel
from dempster.optimize.blocks import Apply, row_blocks

__all__ = ["relabel", "agreement", "write_masses", "reordered", "both_sides"]

_relabel = kernel("""relabel(
    indptr: integer[n + 1] offsets in e, indices: integer[e] below n, weights: float64[e], symmetric: bool,
    order: int64[visits] below n, labels: int32[n] below n_labels out, awake: bool[n] out,
    support: float64[n_labels] out, settle: bool, gained: float64[1] out) -> int""")
_agreement = kernel("""agreement(
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


def agreement(indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, labels: np.ndarray) -> float:
    """Half the sum of the weights between objects of the same label: for a symmetric graph, that over pairs."""
    return _agreement(indptr, indices, weights, labels)


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
    first, last = indptr[start], indptr[stop]  # the door looks at all indices that it is given: only at these
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
