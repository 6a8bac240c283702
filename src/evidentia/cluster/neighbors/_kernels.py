"""Compiled loops of EK-NNclus over a sparse graph of neighbours.

The graph is held in compressed rows: the neighbours of object i are ``indices[indptr[i]:indptr[i + 1]]``, and
``weights`` are the weights of evidence w = -log(1 - phi(d)) that they lend to the cluster they are in.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["relabel", "agreement", "write_masses"]

_SMALLEST_GAIN = 1e-12  # less may be rounding, and objects would move to and fro


@njit(cache=True, nogil=True)
def relabel(indptr, indices, weights, symmetric, order, labels, awake, support, settle):
    """One sweep: every object in turn takes the label that its neighbours support most.

    The plausibility that object i belongs to cluster k is proportional to exp(u_k), u_k = sum of the weights of its
    neighbours in k (Denoeux, Kanjanatarakul and Sriboonchitta, 2015), so this is the evidential k-NN rule. An object
    moves if it gains; with ``settle`` also if it loses nothing and the other label is lower.

    ``labels`` and ``awake`` change in place: where the graph is symmetric, objects sleep until a neighbour moves.
    ``support`` is scratch, one zero a label. Returns the number of moves and the sum of gains.
    """
    n_moves = 0
    total = 0.0
    for i in order:
        if not awake[i]:
            continue
        awake[i] = not symmetric
        own = labels[i]
        best = own
        if indptr[i] == indptr[i + 1]:
            best = 0 if settle else own  # nobody speaks for any label
        for e in range(indptr[i], indptr[i + 1]):
            support[labels[indices[e]]] += weights[e]
        for e in range(indptr[i], indptr[i + 1]):
            k = labels[indices[e]]
            if support[k] > support[best] or (support[k] == support[best] and k < best):
                best = k
        gain = support[best] - support[own]
        for e in range(indptr[i], indptr[i + 1]):
            support[labels[indices[e]]] = 0.0
        if gain > _SMALLEST_GAIN or (settle and gain >= 0 and best < own):
            labels[i] = best
            n_moves += 1
            total += gain
            if symmetric:
                for e in range(indptr[i], indptr[i + 1]):
                    awake[indices[e]] = True
    return n_moves, total


@njit(cache=True, nogil=True)
def agreement(indptr, indices, weights, labels):
    """Half the sum of the weights between objects of the same label: for a symmetric graph, that over pairs."""
    total = 0.0
    for i in range(len(labels)):
        for e in range(indptr[i], indptr[i + 1]):
            if labels[indices[e]] == labels[i]:
                total += weights[e]
    return total / 2


@njit(cache=True, nogil=True)
def write_masses(indptr, indices, weights, labels, start, stop, n_clusters, out):
    """Dempster's combination of the neighbours of objects start..stop, on the columns empty, single clusters, frame.

    With r_k = exp(u_k) - 1: m({k}) = r_k / (1 + sum r), m(frame) = 1 / (1 + sum r); all is divided by the largest
    exp(u_k), so nothing overflows.
    """
    support = np.zeros(n_clusters)
    for i in range(start, stop):
        largest = 0.0
        for e in range(indptr[i], indptr[i + 1]):
            k = labels[indices[e]]
            support[k] += weights[e]
            largest = max(largest, support[k])
        frame = np.exp(-largest)
        total = frame
        for k in range(n_clusters):
            ratio = 0.0
            if support[k] > 0:
                ratio = -np.expm1(-support[k]) * np.exp(support[k] - largest)
                support[k] = 0.0
            out[i, 1 + k] = ratio
            total += ratio
        for k in range(n_clusters):
            out[i, 1 + k] /= total
        out[i, 0] = 0.0
        out[i, n_clusters + 1] = frame / total
