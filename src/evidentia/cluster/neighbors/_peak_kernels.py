"""Compiled loops of belief peaks over tables of neighbours: a row an object, the nearest first."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["add_up_belief", "first_higher", "follow"]


@njit(cache=True, nogil=True)
def add_up_belief(index, distance, scale, belief):
    """Bel_i = 1 - prod_j (1 - exp(-(d_ij / scale_j)^2) / K) over the K neighbours j (Su and Denoeux, 2019).

    Where the scale is zero (twins), only twins bear witness.
    """
    n_neighbors = index.shape[1]
    for i in range(len(belief)):
        doubt = 1.0
        for k in range(n_neighbors):
            d, s = distance[i, k], scale[index[i, k]]
            support = 1.0
            if d > 0:
                support = np.exp(-((d / s) ** 2)) if s > 0 else 0.0
            doubt *= 1 - support / n_neighbors
        belief[i] = 1 - doubt


@njit(cache=True, nogil=True)
def first_higher(objects, index, distance, rank, nearest, delta):
    """The nearest of the given neighbours that is believed more, of equally near ones the most believed."""
    for r in range(len(objects)):
        i = objects[r]
        best = -1
        for k in range(index.shape[1]):
            j = index[r, k]
            if best >= 0 and distance[r, k] > delta[i]:
                break
            if rank[j] < rank[i] and (best < 0 or rank[j] < rank[best]):
                best = j
                delta[i] = distance[r, k]
        nearest[i] = best


@njit(cache=True, nogil=True)
def follow(order, nearest, labels):
    """Every object takes the label of its nearest object of higher belief; peaks have theirs already."""
    for i in order:
        if labels[i] < 0:
            labels[i] = labels[nearest[i]]
