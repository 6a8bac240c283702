"""Compiled loops over objects whose attributes are numbers of categories."""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.cluster._mass_step import masses_of_row

__all__ = ["accumulate", "write_masses"]


@njit(cache=True, nogil=True, error_model="numpy")
def _set_mismatches(row, table, costs):
    """Number of attributes in which an object differs from the prototype of each set (the mean of its members)."""
    for j in range(costs.shape[0]):
        costs[j] = 0.0
    for d in range(row.shape[0]):
        if row[d] < 0:
            for j in range(costs.shape[0]):
                costs[j] += 1.0
        else:
            level = table[row[d]]
            for j in range(costs.shape[0]):
                costs[j] += level[j]


@njit(cache=True, nogil=True, error_model="numpy")
def accumulate(codes, weights, start, stop, table, share, factor, size, delta2, beta, zero):
    """Objective, and for every category and cluster the sum of the weights with which it would lower the cost."""
    g, c = share.shape
    costs = np.empty(g)
    masses = np.empty(g)
    pull = np.empty(c)
    counts = np.zeros((table.shape[0], c))
    objective = 0.0
    for i in range(start, stop):
        _set_mismatches(codes[i], table, costs)
        _, value = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
        objective += weights[i] * value
        pull[:] = 0.0
        for j in range(g):
            if masses[j] > 0:
                power = weights[i] * masses[j] ** beta
                for k in range(c):
                    pull[k] += share[j, k] * power
        for d in range(codes.shape[1]):
            row = counts[codes[i, d]]
            for k in range(c):
                row[k] += pull[k]
    return objective, counts


@njit(cache=True, nogil=True, error_model="numpy")
def write_masses(codes, start, stop, table, factor, size, delta2, beta, zero, columns, empty_column, out):
    g = table.shape[1]
    costs = np.empty(g)
    masses = np.empty(g)
    for i in range(start, stop):
        _set_mismatches(codes[i], table, costs)
        empty, _ = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
        for j in range(g):
            out[i, columns[j]] = masses[j]
        if empty_column >= 0:
            out[i, empty_column] = empty
