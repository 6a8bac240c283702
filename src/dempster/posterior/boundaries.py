"""Pairs of clusters that may carry mass, selected by the objects between them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dempster._arrays import scale_rows
from dempster.belief import FocalSets

_MAX_PARTNERS = 8  # number of neighbors that each cluster selects
# smallest share of the objects of a cluster that must be between it and a neighbor
_MIN_SHARE = 0.01


def count_boundaries(
    costs: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return how often a cluster (row) is the nearest and another (column) the second nearest.

    ``costs`` contains the squared distances of n objects to c clusters, or other costs; infinite
    costs do not count. ``weights`` is None or empty if all objects have equal weight. In case of
    ties, an object counts for each of the tied clusters. The diagonal contains the numbers of
    objects of the clusters. Counts of several blocks can be added.
    """
    second = min(1, costs.shape[1] - 1)
    two = np.partition(costs, second)[:, :2]
    nearest = sparse.csr_array(costs <= two[:, :1])
    near = sparse.csr_array((costs <= two[:, -1:]) & np.isfinite(costs))
    if weights is not None and len(weights):
        nearest = scale_rows(nearest, weights)
    counts = nearest.T.astype(float) @ near.astype(float)
    return counts.toarray()


def count_nearest(
    nearest: np.ndarray, weights: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Return the result of `count_boundaries`, without ties.

    ``nearest`` contains the nearest and the second nearest cluster of each object, shape (n, 2).
    """
    first, second = nearest.T
    size = (n_clusters, n_clusters)
    shared = sparse.coo_array((weights, (first, second)), size).toarray()
    totals = np.bincount(first, weights, n_clusters)
    np.fill_diagonal(shared, totals)
    return shared


def neighbor_family(
    counts: np.ndarray, *, empty: bool = True, omega: bool = False
) -> FocalSets:
    """Return the empty set, the single clusters, the pairs of neighbors, and possibly the frame.

    Two clusters are neighbors if they are the two nearest clusters of at least 1 % of the objects
    of the smaller cluster, and if one of them has at most seven better neighbors, which share more
    objects with it. ``counts`` is explained in `count_boundaries`.
    """
    sizes = np.diagonal(counts)
    shared = counts + counts.T
    np.fill_diagonal(shared, 0)
    smaller = np.minimum.outer(sizes, sizes)
    least = np.maximum(_MIN_SHARE * smaller, np.finfo(float).tiny)
    shared[shared < least] = 0
    order = np.argsort(-shared, kind="stable")[:, :_MAX_PARTNERS]
    pairs = []
    for k, partners in enumerate(order):
        pairs += [(k, m) for m in partners.tolist() if shared[k, m] > 0]
    return FocalSets.with_pairs(len(counts), pairs, empty=empty, omega=omega)
