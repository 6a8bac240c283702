"""Agglomeration by a Gaussian classification likelihood, compiled (``agglomeration.c``, which states the costs)."""

from __future__ import annotations

import numpy as np

from dempster._native import interruptible, kernel

__all__ = ["EII", "VII", "VVV", "agglomerate", "cut"]

EII, VII, VVV = 0, 1, 2

_agglomerate = kernel("""agglomerate(
    points: float64[steps + 1, d], sizes: float64[steps + 1], model: int, alpha: float, merges: int64[steps, 2] out)""")
_cut = kernel("""cut_merges(
    merges: int64[steps, 2] up to steps, n_merges: int up to steps, labels: int64[steps + 1] out)""")


def agglomerate(points: np.ndarray, sizes: np.ndarray, model: int, alpha: float) -> np.ndarray:
    """(m - 1, 2) merges, in order, of m points of given sizes; of two clusters the lower number lives on."""
    merges = np.empty((len(points) - 1, 2), np.int64)
    interruptible(_agglomerate, points, sizes, model, alpha, merges)
    return merges


def cut(merges: np.ndarray, n_points: int, n_clusters: int) -> np.ndarray:
    """(n_points,) labels after all merges but the last n_clusters - 1, numbered by first appearance."""
    labels = np.empty(n_points, np.int64)
    _cut(merges, n_points - n_clusters, labels)
    return labels
