"""Doubt between neighboring clusters, read off from how plausible each cluster is for an object."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from dempster._native import kernel
from dempster.belief import FocalSets

__all__ = ["doubtful_masses", "pair_columns", "plausible_on_the_way"]

_DECAY = 2.5  # of the plausibility of a neighbor, on the way from halfway to a cluster, times alpha
_NO_WAY = 1e9  # between clusters that coincide

_doubtful_masses = kernel("""doubtful_masses(
    contour: real[n, c], single_of: int64[c] below f, pair_of: int64[c, c] below f or -1, empty: int,
    outlying: real[n] or None, masses: real[n, f] out)""")


def doubtful_masses(contour: np.ndarray, family: FocalSets, outlying: np.ndarray | None = None) -> np.ndarray:
    """(n, f) masses whose plausibilities match those given, as far as a cluster and one neighbor of it can.

    The most plausible cluster k of an object is possible, and the most plausible neighbor l of it as much as its
    plausibility is that of k: with r = contour_l / contour_k, the consonant mass function with r on {k, l} and 1 - r
    on {k}. Up to r = 1/2 the object is certain, beyond it is between the two.

    Parameters
    ----------
    contour : (n, c) array
        How plausible the clusters are for the objects, up to a factor for each object. Zero for all of them: mass on
        the empty set, or on the first cluster if the family lacks it.
    family : FocalSets
        Single clusters and pairs of neighbors.
    outlying : (n,) array, optional
        Mass that goes to the empty set first.
    """
    masses = np.empty((len(contour), len(family)), dtype=contour.dtype)
    _doubtful_masses(
        np.ascontiguousarray(contour),
        family.singleton_index,
        pair_columns(family),
        -1 if family.empty_index is None else family.empty_index,
        None if outlying is None else outlying.astype(contour.dtype),
        masses,
    )
    return masses


def plausible_on_the_way(costs: np.ndarray, gaps: np.ndarray, alpha: float) -> np.ndarray:
    """(n, c) plausibilities of the clusters, by where an object is on the way between the nearest one and another.

    The way u from halfway (0) to what represents the nearest cluster (1) is the difference of the two costs over what
    it is there. A neighbor has the plausibility 2^(-2.5 alpha u). What clusters spread adds to all costs alike and
    counts for nothing, in contrast to their ratio, which tends to one where attributes are many.

    Parameters
    ----------
    costs : (n, c) array
        Of the single clusters.
    gaps : (c, c) array
        Difference of the costs of two clusters where one of them is represented, the mean of both places.
    alpha : float
        Penalty of pairs.
    """
    beyond, gap = costs - costs.min(axis=1, keepdims=True), gaps[costs.argmin(axis=1)]
    on_the_way = np.where(beyond > 0, _NO_WAY, 0.0)
    np.divide(beyond, gap, out=on_the_way, where=gap > 0)
    return np.exp2(-_DECAY * alpha * on_the_way)


@lru_cache(maxsize=16)
def pair_columns(family: FocalSets) -> np.ndarray:
    """(c, c) column of each pair of clusters in the family, -1 where it has none."""
    c = family.n_clusters
    columns = np.full((c, c), -1)
    for column in np.flatnonzero(family.cardinality == 2):
        k, m = np.flatnonzero(family.membership[column])
        columns[k, m] = columns[m, k] = column
    columns.setflags(write=False)
    return columns
