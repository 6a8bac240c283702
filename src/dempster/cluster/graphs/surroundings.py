"""Doubt of EVCLUS for Euclidean data (`evclus._doubt_model`), as operators of ONNX."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dempster.io.onnx.graph import Value, maximum, minimum, take, where

__all__ = ["contour"]

_NEGLIGIBLE = 58 * math.log(2)  # powers of e from which on nothing is added, as in affinity.c


def contour(squares: Value, around: Any, affinity: Any) -> tuple[Value, Value]:
    """(n, c) plausibilities of the clusters and (n, 1) masses on the empty set, from (n, r) squared distances to the
    references.

    Parameters
    ----------
    squares : Value
    around : Surroundings
    affinity : Affinity
        Of the same references.
    """
    near, far = _reached(squares, affinity.weights, affinity.near, affinity.far)
    own = maximum(far.sqrt(), affinity.scales.min())
    powers = squares * (affinity.rate / affinity.scales) / own
    alike = where(powers < _NEGLIGIBLE, (-powers).exp(), 0.0)
    total = np.bincount(affinity.labels, affinity.weights, minlength=affinity.n_clusters)
    members = np.zeros((len(affinity.labels), affinity.n_clusters))
    members[np.arange(len(members)), affinity.labels] = affinity.weights / np.sqrt(total[affinity.labels])
    distance = maximum(near.sqrt() / around.usual, np.exp(around.fence - 50 * around.softness))
    above = minimum((distance.log() - around.fence) / around.softness, 50.0)
    return alike @ members, 1 / ((-above).exp() + 1)


def _reached(squares: Value, weights: np.ndarray, near: float, far: float) -> tuple[Value, Value]:
    """(n, 1) smallest of the numbers of each row up to which the weights of their columns add up to two amounts."""
    # as many as are enough where they have the smallest weights
    most = min(int(np.searchsorted(np.cumsum(np.sort(weights)), max(near, far))) + 1, len(weights))
    ordered, order = squares.smallest(most)
    if (weights == weights[0]).all():
        near_k, far_k = (min(int(np.ceil(amount / weights[0])), most) for amount in (near, far))
        return ordered.columns([near_k - 1]), ordered.columns([far_k - 1])
    sums = take(weights, order, np.float64).cumsum()
    before_near, before_far = (minimum((sums < amount).astype(np.int64).sum(), most - 1) for amount in (near, far))
    return ordered.at(before_near), ordered.at(before_far)
