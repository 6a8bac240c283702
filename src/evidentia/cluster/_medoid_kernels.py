"""Compiled kernels of the first partitions: seeds far from each other, and medoids."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["far_seeds", "to_medoids"]


@njit(cache=True, nogil=True, error_model="numpy")
def far_seeds(delta, uniform):
    """Seeds drawn in proportion to the conflict with the nearest seed so far, the best of several each time
    (greedy k-means++; Arthur and Vassilvitskii, 2007). ``uniform`` holds the draws, a row for each seed."""
    n = delta.shape[0]
    c, trials = uniform.shape
    seeds = np.empty(c, np.int64)
    seeds[0] = min(int(uniform[0, 0] * n), n - 1)
    nearest = delta[seeds[0]].copy()
    reach = np.empty(n)
    for k in range(1, c):
        total = 0.0
        for i in range(n):
            total += nearest[i]
            reach[i] = total
        best, lowest = 0, np.inf
        for t in range(trials):
            if total > 0:
                candidate = min(np.searchsorted(reach, uniform[k, t] * total, side="right"), n - 1)
            else:  # fewer different objects than clusters so far
                candidate = min(int(uniform[k, t] * n), n - 1)
            after = 0.0
            for i in range(n):
                after += min(nearest[i], delta[candidate, i])
            if after < lowest:
                best, lowest = candidate, after
        seeds[k] = best
        for i in range(n):
            nearest[i] = min(nearest[i], delta[best, i])
    return seeds


@njit(cache=True, nogil=True, error_model="numpy")
def to_medoids(delta, seeds, steps):
    """Alternate between nearest medoids and the most central object of each group."""
    n, c = delta.shape[0], seeds.shape[0]
    medoids = seeds.copy()
    label = np.empty(n, np.int64)
    for _ in range(steps):
        for i in range(n):
            label[i] = 0
            for k in range(1, c):
                if delta[medoids[k], i] < delta[medoids[label[i]], i]:
                    label[i] = k
        moved = medoids.copy()
        lowest = np.full(c, np.inf)
        for i in range(n):
            total = 0.0
            for j in range(n):
                if label[j] == label[i]:
                    total += delta[i, j]
            if total < lowest[label[i]]:
                lowest[label[i]] = total
                moved[label[i]] = i
        if np.array_equal(moved, medoids):
            break
        medoids = moved
    return medoids
