"""Doubt between neighboring clusters, read off from how plausible each cluster is for an object."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from evidentia.belief import FocalSets

__all__ = ["doubtful_masses", "pair_columns"]


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
    c = family.n_clusters
    rows = np.arange(len(contour))
    best = contour.argmax(axis=1)
    top = contour[rows, best]
    pair_of = pair_columns(family)
    others = np.where(pair_of[best] >= 0, contour, 0)
    second = others.argmax(axis=1) if c > 1 else best
    column = pair_of[best, second]
    ratio = np.where(column >= 0, others[rows, second] / np.where(top > 0, top, 1), 0)
    one = 1 - ratio
    masses = np.zeros((len(contour), len(family)), dtype=contour.dtype)
    if family.empty_index is not None:
        nowhere = np.where(top > 0, 0 if outlying is None else outlying, 1).astype(contour.dtype)
        one *= 1 - nowhere
        ratio *= 1 - nowhere
        masses[:, family.empty_index] = nowhere
    masses[rows, family.singleton_index[best]] = one
    between = np.flatnonzero(ratio > 0)
    masses[between, column[between]] = ratio[between]
    return masses


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
