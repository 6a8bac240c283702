"""Compiled kernels of the first partitions: seeds far from each other, and medoids (``medoid_kernels.c``)."""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["far_seeds", "to_medoids"]

_far_seeds = kernel("far_seeds(delta: real[n, n], uniform: float64[c, trials], seeds: int64[c] out)")
_to_medoids = kernel("to_medoids(delta: real[n, n], medoids: int64[c] below n out, steps: int)")


def far_seeds(delta: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Seeds drawn in proportion to the conflict with the nearest seed so far, the best of several each time
    (greedy k-means++; Arthur and Vassilvitskii, 2007). ``uniform`` holds the draws, a row for each seed."""
    seeds = np.zeros(len(uniform), np.int64)
    _far_seeds(delta, uniform, seeds)
    return seeds


def to_medoids(delta: np.ndarray, seeds: np.ndarray, steps: int) -> np.ndarray:
    """Alternate between nearest medoids and the most central object of each group."""
    medoids = seeds.copy()
    _to_medoids(delta, medoids, steps)
    return medoids
