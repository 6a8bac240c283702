"""Compiled loops of belief peaks over tables of neighbours: a row an object, the nearest first (``peak_kernels.c``)."""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["add_up_belief", "first_higher", "follow"]

_add_up_belief = kernel("""add_up_belief(
    index: int32[rows, K] below n, distance: float64[rows, K], scale: float64[n], belief: float64[rows] out)""")
_first_higher = kernel("""first_higher(
    objects: int64[rows] below n, index: int32[rows, K] below n, distance: float64[rows, K], rank: int64[n],
    nearest: int64[n] out, delta: float64[n] out)""")
_follow = kernel("follow(order: int64[n] below n, nearest: int64[n] below n or -1, labels: int64[n] out)")


def add_up_belief(index: np.ndarray, distance: np.ndarray, scale: np.ndarray, belief: np.ndarray) -> None:
    """Bel_i = 1 - prod_j (1 - exp(-(d_ij / scale_j)^2) / K) over the K neighbours j (Su and Denoeux, 2019).

    Where the scale is zero (twins), only twins bear witness.
    """
    _add_up_belief(index, distance, scale, belief)


def first_higher(
    objects: np.ndarray,
    index: np.ndarray,
    distance: np.ndarray,
    rank: np.ndarray,
    nearest: np.ndarray,
    delta: np.ndarray,
) -> None:
    """The nearest of the given neighbours that is believed more, of equally near ones the most believed."""
    _first_higher(objects, index, distance, rank, nearest, delta)


def follow(order: np.ndarray, nearest: np.ndarray, labels: np.ndarray) -> None:
    """Every object takes the label of its nearest object of higher belief; peaks have theirs already."""
    _follow(order, nearest, labels)
