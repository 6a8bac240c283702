"""Partitions of all numbers of clusters from one tree."""

from __future__ import annotations

import numpy as np

_MAX_GINI = 0.3  # threshold of Genie, as recommended by its authors


def minimum_spanning_tree(D: np.ndarray) -> np.ndarray:
    """Return the edges in increasing order of their lengths, shape (n - 1, 2) (Prim, 1957)."""
    n = len(D)
    nearest = np.zeros(n, int)
    lengths = np.array(D[0], float)
    is_outside = np.ones(n, bool)
    is_outside[0] = False
    lengths[0] = np.inf
    edges = np.empty((n - 1, 2), int)
    found = np.empty(n - 1)
    for place in range(n - 1):
        new = int(lengths.argmin())
        edges[place] = nearest[new], new
        found[place] = lengths[new]
        is_outside[new] = False
        row = D[new]
        closer = is_outside & (row < lengths)
        lengths[closer] = row[closer]
        nearest[closer] = new
        lengths[new] = np.inf
    return edges[np.argsort(found, kind="stable")]


def genie(edges: np.ndarray, numbers: list[int]) -> list[np.ndarray]:
    """Return the labels for each number of clusters (Gagolewski, Bartoszuk and Cena, 2016).

    Clusters are merged along the edges of a minimum spanning tree. If the Gini index of the sizes
    of the clusters exceeds 0.3, the shortest edge of one of the smallest clusters is taken first.
    """
    n = len(edges) + 1
    wanted = set(numbers)
    labels = np.arange(n)
    sizes = np.ones(n, int)
    members = [[row] for row in range(n)]
    is_open = np.ones(len(edges), bool)
    partitions = []
    first = 0
    for k in range(n - 1, 0, -1):
        while not is_open[first]:
            first += 1
        place = first
        present = np.sort(sizes[sizes > 0])
        ranks = 2 * np.arange(1, len(present) + 1) - len(present) - 1
        if len(present) > 1 and ranks @ present > _MAX_GINI * (len(present) - 1) * n:
            ends = sizes[labels[edges]].min(axis=1)
            place = int(np.flatnonzero(is_open & (ends == present[0]))[0])
        is_open[place] = False
        large, small = labels[edges[place]]
        if len(members[large]) < len(members[small]):
            large, small = small, large
        labels[members[small]] = large
        members[large] += members[small]
        sizes[large] += sizes[small]
        sizes[small] = 0
        if k in wanted:
            partitions.append(labels.copy())
        if k <= min(wanted, default=n):
            break
    return partitions
