"""How near objects are to clusters, each measured by the distances that are usual around it (``affinity.c``)."""

from __future__ import annotations

import numpy as np

from evidentia._native import kernel

__all__ = ["distances_between", "reach", "affinity"]

_reach = kernel("""reach(
    D: real[n, r], weights: real[r], itself: int64[n] below r or -1 or None, unit: float, near_amount: float,
    far_amount: float, near: real[n] out, far: real[n] out)""")
_affinity = kernel("""affinity(
    D: real[n, r], own_scales: real[n], scales: real[r], weights: real[r], labels: int64[r] below c,
    itself: int64[n] below r or -1 or None, unit: float, rate: float, out: real[n, c] out)""")
_distances_between = kernel("distances_between(A: real[n, d], B: real[r, d], out: real[n, r] out)")


def distances_between(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(n, r) Euclidean distances between the rows of two tables, by their differences: zero between equal rows."""
    out = np.empty((len(A), len(B)), A.dtype)
    _distances_between(np.ascontiguousarray(A), np.ascontiguousarray(B), out)
    return out


def reach(
    D: np.ndarray, weights: np.ndarray, itself: np.ndarray | None, unit: float, near: float, far: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) distances within which references of the weights ``near`` and ``far`` lie.

    Parameters
    ----------
    D : (n, r) array
        Dissimilarities of objects to references.
    weights : (r,) array
        Of the references.
    itself : (n,) array or None
        The reference that an object is, -1 if it is none: it does not count itself, but what that reference weighs
        beyond ``unit`` counts as others at its place.
    unit : float
        What one object weighs.
    near, far : float
        ``near`` is not above ``far``.
    """
    close, distant = np.empty(len(D), D.dtype), np.empty(len(D), D.dtype)
    _reach(D, weights, itself, unit, near, far, close, distant)
    return close, distant


def affinity(
    D: np.ndarray,
    own_scales: np.ndarray,
    scales: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
    itself: np.ndarray | None,
    unit: float,
    rate: float,
) -> np.ndarray:
    """(n, c) sum over the references j of each cluster of exp(-rate d_ij^2 / (s_i s_j)), with the scales s of both,
    divided by the root of their weight.

    ``itself`` and ``unit`` are as in `reach`, but an object that is alone in its cluster counts itself. A cluster
    without references gets zero.
    """
    out = np.empty((len(D), n_clusters), D.dtype)
    _affinity(D, own_scales, scales, weights, labels, itself, unit, rate, out)
    return out
