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
    scale = np.outer(size, size)
    cosines = divide(overlaps, scale, 0)
    first, second = np.triu_indices(len(overlaps), 1)
    if len(first) == 0:
        return np.empty((0, 4))
    return linkage(np.clip(1 - cosines[first, second], 0, 1), "average")


def select_numbers(tree: np.ndarray) -> list[int]:
    """Return up to three numbers of clusters of layers, in decreasing order.

    After such a number, the similarity of the clusters that merge decreases most. Two numbers, and
    the number of all clusters, differ by a factor of two or more.
    """
    c = len(tree) + 1
    similarity = np.log(np.maximum(1 - tree[:, 2], MIN_SIMILARITY))
    # The last merger before the layer with k clusters has the index c - k - 1.
    decrease = -np.diff(similarity)
    numbers = [c]
    for place in np.argsort(-decrease, kind="stable"):
        k = c - 1 - int(place)
        if decrease[place] > _ROUNDING and all(
            k >= 2 * other or 2 * k <= other for other in numbers
        ):
            numbers.append(k)
    return sorted(numbers[1 : 1 + _MAX_LAYERS], reverse=True)


def cut_tree(tree: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the group of each of c clusters, shape (c,), after c - n_groups mergers.

    The groups are numbered in the order of their first clusters.
    """
    c = len(tree) + 1
    parent = np.arange(2 * c - 1)
    for step, (left, right) in enumerate(tree[: c - n_groups, :2].astype(int)):
        parent[[left, right]] = c + step
    for node in range(2 * c - 2, -1, -1):
        parent[node] = parent[parent[node]]
    _, first, group = np.unique(parent[:c], return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]
