"""Compiled sums of median evidential c-means: see `evidentia.cluster.relational._median`."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["fill_costs", "add_totals"]

# Sums may be reordered (which vectorises them) but NaN and infinity keep their meaning.
_REORDER = {"reassoc", "contract"}


@njit(cache=True, nogil=True, error_model="numpy")
def fill_costs(near, between, sets, gamma, eta, costs):
    """(n, g) costs for dissimilarities ``near`` (n, c) to the medoids and ``between`` (c, c) them."""
    g, c = sets.shape
    for j in range(g):
        size = 0
        spread = 0.0
        for k in range(c):
            size += sets[j, k]
            for m in range(k):
                if sets[j, k] and sets[j, m]:
                    spread += between[k, m]
        for i in range(near.shape[0]):
            total, least, gaps = 0.0, np.inf, 0.0
            for k in range(c):
                if not sets[j, k]:
                    continue
                square = near[i, k] ** 2
                total += square
                least = min(least, square)
                for m in range(k):
                    if sets[j, m]:
                        gaps += abs(near[i, k] - near[i, m])
            if size == 1:
                costs[i, j] = total
            else:
                ratio = gaps / (eta * spread) if spread > 0 else 0.0
                costs[i, j] = (gamma * total / size + ratio * least) / (1 + gamma)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def add_totals(rows, weights, near, between, sets, k, gamma, eta, totals):
    """For every candidate (a row of dissimilarities to all objects) the part of the objective that cluster k has a
    share in, were the candidate its medoid.

    ``weights`` (h, n) are |A|^alpha m_i(A)^beta for the h sets with cluster k, ``sets`` (h, c) their members, k left
    out; ``near`` (c, n) dissimilarities to the medoids, of which row k is not used, ``between`` (c, o) from them to
    the candidates in its first columns and among them in the last c.
    """
    h = sets.shape[0]
    n = near.shape[1]
    gaps = np.empty(n)
    for j in range(h):
        members = np.flatnonzero(sets[j])
        size = 1 + len(members)
        # what the other medoids contribute, for each object
        total, least, apart = np.zeros(n), np.full(n, np.inf), np.zeros(n)
        others_apart = 0.0
        for at, a in enumerate(members):
            for i in range(n):
                total[i] += near[a, i] ** 2
                least[i] = min(least[i], near[a, i] ** 2)
            for b in members[:at]:
                others_apart += between[a, len(totals) + b]
                for i in range(n):
                    apart[i] += abs(near[a, i] - near[b, i])
        weight = weights[j]
        for o in range(rows.shape[0]):
            row = rows[o]
            value = 0.0
            if size == 1:
                for i in range(n):
                    value += weight[i] * row[i] * row[i]
                totals[o] += value
                continue
            spread = others_apart
            gaps[:] = apart
            for a in members:
                spread += between[a, o]
                u = near[a]
                for i in range(n):
                    gaps[i] += abs(row[i] - u[i])
            share = 1 / (eta * spread) if spread > 0 else 0.0
            for i in range(n):
                square = row[i] * row[i]
                value += weight[i] * (gamma * (square + total[i]) / size + gaps[i] * share * min(square, least[i]))
            totals[o] += value / (1 + gamma)
