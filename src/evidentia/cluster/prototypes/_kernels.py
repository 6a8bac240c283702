"""Compiled loops of the methods with prototypes: squared distances to barycentres, masses, and sums over objects.

Notation of Masson and Denoeux (2008): g nonempty focal sets A_j of c_j clusters, prototypes V (c, p), barycentres of
the sets A V, stored (p, g). The kernels go through a block of rows and keep nothing of size n x g; what they return
can be added up over blocks (or machines).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.cluster._mass_step import masses_of_row

__all__ = ["accumulate", "write_masses", "squared_distances"]

# Sums may be reordered (which vectorises them) but NaN and infinity keep their meaning.
_REORDER = {"reassoc", "contract"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _set_costs(x, barycentres, costs):
    """Squared Euclidean distances of one object to the barycentres.

    They are stored (p, g), so that the inner loop is long; four attributes at a time spare loads and stores.
    """
    p, g = barycentres.shape
    for j in range(g):
        costs[j] = 0
    whole = p - p % 4
    for d in range(0, whole, 4):
        row0, row1, row2, row3 = barycentres[d], barycentres[d + 1], barycentres[d + 2], barycentres[d + 3]
        x0, x1, x2, x3 = x[d], x[d + 1], x[d + 2], x[d + 3]
        for j in range(g):
            gap0, gap1, gap2, gap3 = x0 - row0[j], x1 - row1[j], x2 - row2[j], x3 - row3[j]
            costs[j] += gap0 * gap0 + gap1 * gap1 + gap2 * gap2 + gap3 * gap3
    for d in range(whole, p):
        row = barycentres[d]
        value = x[d]
        for j in range(g):
            gap = value - row[j]
            costs[j] += gap * gap


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _set_costs_adaptive(x, barycentres, metrics, gaps, costs):
    """Squared distances in the metric of each set; ``metrics`` is (p, p, g), ``gaps`` (p, g) scratch."""
    costs[:] = 0
    for d in range(barycentres.shape[0]):
        row = barycentres[d]
        gap = gaps[d]
        value = x[d]
        for j in range(costs.shape[0]):
            gap[j] = value - row[j]
        for e in range(d):
            metric = metrics[d, e]
            other = gaps[e]
            for j in range(costs.shape[0]):
                costs[j] += 2 * metric[j] * gap[j] * other[j]
        metric = metrics[d, d]
        for j in range(costs.shape[0]):
            costs[j] += metric[j] * gap[j] * gap[j]
    for j in range(costs.shape[0]):
        costs[j] = max(costs[j], 0)


_TILE = 4  # rows whose contributions are added to the sums together


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def accumulate(X, weights, start, stop, barycentres, metrics, factor, size, delta2, beta, zero):
    """Objective and sums over rows start..stop: of m^beta, of m^beta x, and (adaptive metric) of m^beta x x'."""
    p, g = barycentres.shape
    adaptive = metrics.shape[0] > 0
    costs = np.empty(g, X.dtype)
    tile = np.zeros((_TILE, g), X.dtype)
    gaps = np.empty((p, g), X.dtype)
    total = np.zeros(g)
    first = np.zeros((p, g))
    second = np.zeros((p if adaptive else 0, p if adaptive else 0, g))
    objective = 0.0
    for begin in range(start, stop, _TILE):
        last = min(begin + _TILE, stop) - 1
        for r in range(_TILE):
            masses = tile[r]
            i = begin + r
            weight = 0.0 if i > last else (weights[i] if weights.shape[0] > 0 else 1.0)
            if weight == 0:
                masses[:] = 0
                continue
            if adaptive:
                _set_costs_adaptive(X[i], barycentres, metrics, gaps, costs)
            else:
                _set_costs(X[i], barycentres, costs)
            _, value = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
            objective += weight * value
            if beta == 2:
                for j in range(g):
                    masses[j] = weight * masses[j] * masses[j]
            else:
                for j in range(g):
                    masses[j] = weight * masses[j] ** beta
        # rows beyond the last have no mass: any row of X will do for them
        x0, x1, x2, x3 = X[begin], X[min(begin + 1, last)], X[min(begin + 2, last)], X[min(begin + 3, last)]
        m0, m1, m2, m3 = tile[0], tile[1], tile[2], tile[3]
        for j in range(g):
            total[j] += m0[j] + m1[j] + m2[j] + m3[j]
        for d in range(p):
            _add_products(first[d], x0[d], m0, x1[d], m1, x2[d], m2, x3[d], m3)
            if adaptive:
                for e in range(d + 1):
                    _add_products(
                        second[d, e], x0[d] * x0[e], m0, x1[d] * x1[e], m1, x2[d] * x2[e], m2, x3[d] * x3[e], m3
                    )
    return objective, total, first, second


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _add_products(row, a0, m0, a1, m1, a2, m2, a3, m3):
    for j in range(row.shape[0]):
        row[j] += a0 * m0[j] + a1 * m1[j] + a2 * m2[j] + a3 * m3[j]


@njit(cache=True, nogil=True, error_model="numpy")
def write_masses(X, start, stop, barycentres, metrics, factor, size, delta2, beta, zero, columns, empty_column, out):
    """Masses of rows start..stop into the columns of the family."""
    p, g = barycentres.shape
    costs = np.empty(g, X.dtype)
    masses = np.empty(g, X.dtype)
    gaps = np.empty((p, g), X.dtype)
    for i in range(start, stop):
        if metrics.shape[0] > 0:
            _set_costs_adaptive(X[i], barycentres, metrics, gaps, costs)
        else:
            _set_costs(X[i], barycentres, costs)
        empty, _ = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
        for j in range(g):
            out[i, columns[j]] = masses[j]
        if empty_column >= 0:
            out[i, empty_column] = empty


@njit(cache=True, nogil=True, error_model="numpy")
def squared_distances(X, barycentres, metrics):
    """(n, g) squared distances of the rows of X to the barycentres, for methods that need all of them at once."""
    p, g = barycentres.shape
    out = np.empty((X.shape[0], g), X.dtype)
    gaps = np.empty((p, g), X.dtype)
    for i in range(X.shape[0]):
        if metrics.shape[0] > 0:
            _set_costs_adaptive(X[i], barycentres, metrics, gaps, out[i])
        else:
            _set_costs(X[i], barycentres, out[i])
    return out
