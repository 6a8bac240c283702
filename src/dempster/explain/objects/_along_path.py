"""Attributes of an object as the reasons of a model that gives masses and no more, such as a network.

The plausibilities change along the straight line from a point where the clusters are balanced to the object. What they
change by in all is shared by the attributes step by step, each for what it changes alone: the integral of the gradient
along the line (Sundararajan, Taly and Yan, 2017, "Axiomatic attribution for deep networks"), by differences, so that
any model will do and the shares add up to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dempster.cluster.evidence import ClusterEvidence

__all__ = ["evidence_along_path"]

_STEPS = 64
_CELLS = 4_000_000  # of the objects asked about at once


def evidence_along_path(
    plausibilities: Callable[[np.ndarray], np.ndarray], middle: np.ndarray, point: np.ndarray
) -> ClusterEvidence:
    """Parts of the attributes in what the plausibilities of the clusters change by from the middle to the object.

    Parameters
    ----------
    plausibilities : function of (m, p) objects that gives (m, c) plausibilities
    middle, point : (p,) arrays
    """
    p = len(point)
    move = np.nan_to_num(point - middle, nan=0.0)
    corners = middle + np.linspace(0, 1, _STEPS + 1)[:, None] * move
    values = plausibilities(corners)
    total = np.zeros((p, values.shape[1]))
    moving = np.flatnonzero(move)
    size = max(1, _CELLS // max(1, 2 * p * max(len(moving), 1)))
    for start in range(0, _STEPS, size):
        stop = min(start + size, _STEPS)
        first = np.repeat(corners[start:stop, None], len(moving), axis=1)
        last = np.repeat(corners[start + 1 : stop + 1, None], len(moving), axis=1)
        for j, d in enumerate(moving):  # the one attribute that goes first, and the one that goes last
            first[:, j, d], last[:, j, d] = corners[start + 1 : stop + 1, d], corners[start:stop, d]
        shape = (stop - start, len(moving), -1)
        gains = plausibilities(first.reshape(-1, p)).reshape(shape) - values[start:stop, None]
        losses = values[start + 1 : stop + 1, None] - plausibilities(last.reshape(-1, p)).reshape(shape)
        total[moving] += _adding_up((gains + losses) / 2, np.diff(values[start : stop + 1], axis=0)).sum(axis=0)
    return ClusterEvidence.of_attributes("plausibility", total, values[0].astype(float))


def _adding_up(parts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(s, p, c) parts that add up to the (s, c) changes wanted: what is missing goes to attributes that do much."""
    if parts.shape[1] == 0:
        return parts
    size = np.abs(parts)
    sums = size.sum(axis=1, keepdims=True)
    shares = np.where(sums > 0, size / np.where(sums > 0, sums, 1), 1 / parts.shape[1])
    return parts + shares * (wanted - parts.sum(axis=1))[:, None]
