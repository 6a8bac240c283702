"""First partitions for methods that know conflicts between objects only: seeds far from each other, then medoids.

Conflicts are bounded by one, so a cluster without a medoid costs about as much as its objects are many, whatever its
distance: the sum of conflicts to the nearest medoid tells good seeds from bad ones, and drawing many sets of seeds and
keeping the best few spares the descents that would have ended in poor minima.
"""

from __future__ import annotations

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._medoid_kernels import far_seeds, to_medoids

__all__ = ["medoid_starts", "masses_from_medoids", "masses_of_labels", "random_masses"]

_DRAWS = 8  # sets of seeds per start
_MEDOID_STEPS = 10
_ALIKE = 0.02  # of the objects may differ between starts that count as one


def medoid_starts(
    delta: np.ndarray,
    n_clusters: int,
    n_starts: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Up to ``n_starts`` sets of medoids (indices) that make different partitions, the best first.

    ``weights`` are positive; an object of weight 2 counts as two.
    """
    trials = 5 + int(2 * np.log(n_clusters))
    draws = [rng.random((n_clusters, trials)) for _ in range(_DRAWS * n_starts)]
    if weights is not None:
        for uniform in draws:  # the first seed is drawn by the weights, the others by weighted conflicts
            uniform[0, 0] = _share_of_rows(uniform[0, 0], weights)
        delta = delta * weights  # all sums are over columns
    delta = np.ascontiguousarray(delta)  # rows taken from a matrix may lie in memory column by column
    drawn = [far_seeds(delta, uniform) for uniform in draws]
    drawn.sort(key=lambda seeds: delta[seeds].min(axis=0).sum())
    improved = [to_medoids(delta, seeds, _MEDOID_STEPS) for seeds in drawn[: n_starts + 1]]
    improved.sort(key=lambda seeds: delta[seeds].min(axis=0).sum())
    kept: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    for seeds in improved:
        nearest = delta[seeds].argmin(axis=0)
        if len(kept) < n_starts and not any(_alike(nearest, other, n_clusters, weights) for other in labels):
            kept.append(seeds)
            labels.append(nearest)
    return kept


def _share_of_rows(share: float, weights: np.ndarray) -> float:
    """The share of the rows that ends within the row where this share of the weights ends."""
    reach = np.cumsum(weights)
    row = min(int(np.searchsorted(reach, share * reach[-1], side="right")), len(weights) - 1)
    return (row + 0.5) / len(weights)


def _alike(a: np.ndarray, b: np.ndarray, c: int, weights: np.ndarray | None) -> bool:
    """Whether two partitions are the same but for a few objects: descents from them would end at the same place."""
    table = np.bincount(a * c + b, weights, minlength=c * c).reshape(c, c)
    common = min(table.max(axis=0).sum(), table.max(axis=1).sum())
    return common >= (1 - _ALIKE) * table.sum()


def masses_of_labels(labels: np.ndarray, family: FocalSets) -> np.ndarray:
    """Masses that lean on a hard partition without excluding anything; clusters beyond the family are left open."""
    masses = np.full((len(labels), len(family)), 0.1 / len(family))
    column = family.singleton_index[labels]
    masses[np.flatnonzero(column >= 0), column[column >= 0]] += 0.9
    return masses / masses.sum(axis=1, keepdims=True)


def random_masses(n: int, family: FocalSets, rng: np.random.Generator) -> np.ndarray:
    """Rows uniform on [0, 1]^f, rescaled."""
    masses = rng.random((n, len(family)))
    return masses / masses.sum(axis=1, keepdims=True)


def masses_from_medoids(
    delta: np.ndarray, family: FocalSets, n_starts: int, rng: np.random.Generator, weights: np.ndarray | None = None
) -> list[np.ndarray]:
    """Starting masses: objects are certain of the cluster of the nearest of some medoids, by the dissimilarities
    delta."""
    sets = medoid_starts(delta, family.n_clusters, n_starts, rng, weights)
    return [masses_of_labels(delta[medoids].argmin(axis=0), family) for medoids in sets]
