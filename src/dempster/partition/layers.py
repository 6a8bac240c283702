"""Hierarchy of the clusters of a partition, by the objects that they have in common."""

from __future__ import annotations

import numpy as np

from dempster._arrays import divide

MIN_SIMILARITY = 1e-6  # smaller similarities of clusters are regarded as equal
_MAX_LAYERS = 3
_ROUNDING = 1e-9


def merge_clusters(overlaps: np.ndarray) -> np.ndarray:
    """Return the average linkage of c clusters, shape (c - 1, 4), in the format of SciPy.

    ``overlaps`` contains the inner products of vectors that describe the clusters, shape (c, c).
    The dissimilarity of two clusters is one minus the cosine between their vectors.
    Clusters without mass have dissimilarity one to all clusters.
    """
    from scipy.cluster.hierarchy import linkage  # slow to import

    size = np.sqrt(np.diagonal(overlaps))
    cosines = divide(overlaps, np.outer(size, size), 0)
    pairs = np.triu_indices(len(overlaps), 1)
    dissimilarities = np.clip(1 - cosines[pairs], 0, 1)
    if len(dissimilarities) == 0:
        return np.empty((0, 4))
    return linkage(dissimilarities, "average")


def select_numbers(tree: np.ndarray) -> list[int]:
    """Return up to three numbers of clusters of layers, in decreasing order.

    After such a number, the similarity of the clusters that merge decreases most. Two numbers, and
    the number of all clusters, differ by a factor of two or more.
    """
    c = len(tree) + 1
    similarity = np.maximum(1 - tree[:, 2], MIN_SIMILARITY)
    decreases = -np.diff(np.log(similarity))
    numbers = [c]
    for place in np.argsort(-decreases, kind="stable"):
        # The last merger before the layer with k clusters has the index c - k - 1.
        k = c - 1 - int(place)
        differs = all(k >= 2 * other or 2 * k <= other for other in numbers)
        if differs and decreases[place] > _ROUNDING:
            numbers.append(k)
    layers = numbers[1 : 1 + _MAX_LAYERS]
    return sorted(layers, reverse=True)


def cut_tree(tree: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of each of c clusters, shape (c,), after c - n_groups mergers.

    The groups are numbered in the order of their first clusters.
    """
    c = len(tree) + 1
    nodes = np.arange(2 * c - 1)
    parent = nodes.copy()
    merged = tree[: c - n_groups, :2].astype(int)
    parent[merged] = nodes[c : c + len(merged), None]
    for node in nodes[::-1]:
        parent[node] = parent[parent[node]]
    _, first, group = np.unique(parent[:c], return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return rank[group]
