"""Compiled loops of EK-NNclus over a sparse graph of neighbours (``kernels.c``).

The graph is held in compressed rows: the neighbours of object i are ``indices[indptr[i]:indptr[i + 1]]``, and
``weights`` are the weights of evidence w = -log(1 - phi(d)) that they lend to the cluster they are in.
"""

from __future__ import annotations

import numpy as np

from evidentia._native import kernel

__all__ = ["relabel", "agreement", "write_masses"]

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
