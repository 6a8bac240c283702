"""Compiled loops over the objects that have constraints."""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.optimize.diagonal_qp import diagonal_simplex_qp

__all__ = ["sweep", "pair_terms"]


@njit(cache=True, nogil=True, error_model="numpy")
def _linear_term(i, masses, indptr, indices, sign, must, cannot, around, out):
    """Gradient of the constraint terms in the masses of object i; ``around`` (2, f) is scratch."""
    f = masses.shape[1]
    around[:] = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        other = masses[indices[e]]
        row = around[0] if sign[e] > 0 else around[1]
        for q in range(f):
            row[q] += other[q]
    out[:] = 0.0
    for r in range(f):  # both matrices are symmetric; many masses are zero
        if around[0, r] != 0:
            for q in range(f):
                out[q] += around[0, r] * must[r, q]
        if around[1, r] != 0:
            for q in range(f):
                out[q] += around[1, r] * cannot[r, q]


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(costs, penalty, indptr, indices, sign, must, cannot, masses, max_sweeps, settled):
    """Minimise over the masses of one object after the other, in place, until none changes by more than ``settled``.

    ``costs`` (q, f) multiply the squared masses, ``penalty`` (q, f) the masses, ``must`` and ``cannot`` (f, f) the
    products of the masses of linked objects. Returns the number of sweeps.
    """
    n, f = costs.shape
    around = np.empty((2, f))
    linear = np.empty(f)
    best = np.empty(f)
    heap = np.empty(f, np.int64)
    for done in range(1, max_sweeps + 1):
        change = 0.0
        for i in range(n):
            _linear_term(i, masses, indptr, indices, sign, must, cannot, around, linear)
            for q in range(f):
                linear[q] += penalty[i, q]
            diagonal_simplex_qp(costs[i], linear, best, heap)
            for q in range(f):
                change = max(change, abs(best[q] - masses[i, q]))
                masses[i, q] = best[q]
        if change <= settled:
            return done
    return max_sweeps


@njit(cache=True, nogil=True, error_model="numpy")
def pair_terms(masses, penalty, indptr, indices, sign, must, cannot):
    """Value of the constraint terms: half the sum over objects (each pair is met twice), and the penalties."""
    n, f = masses.shape
    around = np.empty((2, f))
    linear = np.empty(f)
    total = 0.0
    for i in range(n):
        _linear_term(i, masses, indptr, indices, sign, must, cannot, around, linear)
        for q in range(f):
            total += masses[i, q] * (0.5 * linear[q] + penalty[i, q])
    return total
