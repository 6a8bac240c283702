"""Which pairs of clusters deserve to be focal sets: those of mutually nearest clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._validation import check, integer, object_weights, ordered_like
from dempster.partition.credal_partition import CredalPartition, as_credal_partition

__all__ = ["cluster_similarity", "mutual_neighbors", "nearest_pairs"]


def cluster_similarity(partition: CredalPartition, weights: np.ndarray | None = None) -> np.ndarray:
    """(c, c) sum over the objects of the product of the normalised plausibilities of two clusters.

    Objects that belong nowhere (mass of the empty set above 1 - 1e-6) do not count. With weights, one of weight 2
    counts as two.
    """
    known = partition.empty <= 1 - 1e-6
    plausible = partition.contour[known].astype(float) / (1 - partition.empty[known].astype(float))[:, None]
    return plausible.T @ (plausible if weights is None else plausible * weights[known, None])


def mutual_neighbors(similarity: Any, n_neighbors: int = 1) -> list[tuple[int, int]]:
    """Pairs (j, l), j < l, each among the ``n_neighbors`` most similar of the other; ties go to the lower number."""
    check(n_neighbors, "n_neighbors", integer(1))
    similarity = np.array(similarity, dtype=float)
    c = len(similarity)
    np.fill_diagonal(similarity, -np.inf)  # a cluster is not its own neighbour
    near = np.zeros((c, c), dtype=bool)
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : min(n_neighbors, c - 1)]
    np.put_along_axis(near, order, True, axis=1)
    return [(int(j), int(k)) for j, k in np.argwhere(np.triu(near & near.T, 1))]


def nearest_pairs(
    partition: CredalPartition, n_neighbors: int = 1, weights: np.ndarray | None = None
) -> list[tuple[int, int]]:
    """Pairs of mutually nearest clusters of a partition made with single clusters.

    The second step of the two-step strategy adds them as focal sets (Denoeux, 2021, NN-EVCLUS, section 2.3).

    Parameters
    ----------
    partition : CredalPartition
    n_neighbors : int, default=1
        A pair is taken if each cluster is among so many nearest ones of the other.
    weights : array of shape (n,), optional
        Weights of the objects.

    Examples
    --------
    >>> from dempster import CredalPartition
    >>> from dempster.partition import nearest_pairs
    >>> cp = CredalPartition.from_fuzzy([[0.5, 0.5, 0], [0.6, 0.4, 0], [0, 0.2, 0.8]])
    >>> nearest_pairs(cp)
    [(0, 1)]
    """
    credal = as_credal_partition(partition)
    checked = object_weights(ordered_like(weights, credal.index), len(credal), "weights")
    return mutual_neighbors(cluster_similarity(credal, checked), n_neighbors)
