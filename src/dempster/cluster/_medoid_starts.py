"""First partitions for methods that know conflicts between objects only: seeds far from each other, then medoids.

Conflicts are bounded by one, so a cluster without a medoid costs about as much as its objects are many, whatever its
distance: the sum of conflicts to the nearest medoid tells good seeds from bad ones, and drawing many sets of seeds and
keeping the best few spares the descents that would have ended in poor minima.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel
from dempster.belief import FocalSets

# Seeds drawn in proportion to the conflict with the nearest seed so far, the best of several each time (greedy
# k-means++; Arthur and Vassilvitskii, 2007). ``uniform`` holds the draws, a row for each seed.
far_seeds = kernel("far_seeds(delta: real[n, n], uniform: float64[c, trials], seeds: int64[c] out)")
# Alternate between nearest medoids and the most central object of each group, in place.
to_medoids = kernel("to_medoids(delta: real[n, n], medoids: int64[c] below n out, steps: int)")

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
    """Return up to ``n_starts`` sets of medoids (indices) that make different partitions, the best first.

    ``weights`` are positive; an object of weight 2 counts as two.
    """
    trials = 5 + int(2 * np.log(n_clusters))
    draws = rng.random((_DRAWS * n_starts, n_clusters, trials))
    if weights is not None:
        reach = np.cumsum(weights)
        for uniform in draws:  # the first seed is drawn by the weights, the others by weighted conflicts
            row = min(int(np.searchsorted(reach, uniform[0, 0] * reach[-1], side="right")), len(weights) - 1)
            uniform[0, 0] = (row + 0.5) / len(weights)
        delta = delta * weights  # all sums are over columns
    delta = np.ascontiguousarray(delta)  # rows taken from a matrix may lie in memory column by column

    seeds, conflict = np.zeros((len(draws), n_clusters), np.int64), np.empty(len(draws))
    for k, uniform in enumerate(draws):
        far_seeds(delta, uniform, seeds[k])
        conflict[k] = delta[seeds[k]].min(axis=0).sum()
    improved = seeds[np.argsort(conflict, kind="stable")[: n_starts + 1]]
    for k, medoids in enumerate(improved):
        to_medoids(delta, medoids, _MEDOID_STEPS)
        conflict[k] = delta[medoids].min(axis=0).sum()
    kept: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    for medoids in improved[np.argsort(conflict[: len(improved)], kind="stable")]:
        nearest = delta[medoids].argmin(axis=0)
        for other in labels:
            if _are_alike(nearest, other, n_clusters, weights):
                break
        else:
            kept.append(medoids)
            labels.append(nearest)
    return kept[:n_starts]


def _are_alike(a: np.ndarray, b: np.ndarray, c: int, weights: np.ndarray | None) -> bool:
    """Tell whether two partitions are the same but for a few objects, and lead to the same descent."""
    table = np.bincount(a * c + b, weights, minlength=c * c).reshape(c, c)
    common = min(table.max(axis=0).sum(), table.max(axis=1).sum())
    return common >= (1 - _ALIKE) * table.sum()


def masses_of_labels(labels: np.ndarray, family: FocalSets) -> np.ndarray:
    """Return masses that lean on a hard partition without excluding anything.

    Objects in clusters beyond the family are left open.
    """
    masses = np.full((len(labels), len(family)), 0.1 / len(family))
    column = family.singleton_index[labels]
    masses[np.flatnonzero(column >= 0), column[column >= 0]] += 0.9
    return masses / masses.sum(axis=1, keepdims=True)


def random_masses(n: int, family: FocalSets, rng: np.random.Generator) -> np.ndarray:
    """Draw rows uniform on [0, 1]^f, rescaled."""
    masses = rng.random((n, len(family)))
    return masses / masses.sum(axis=1, keepdims=True)


def masses_from_medoids(
    delta: np.ndarray, family: FocalSets, n_starts: int, rng: np.random.Generator, weights: np.ndarray | None = None
) -> list[np.ndarray]:
    """Starting masses: objects are certain of the cluster of the nearest of some medoids, by the dissimilarities
    delta."""
    starts = []
    for medoids in medoid_starts(delta, family.n_clusters, n_starts, rng, weights):
        starts.append(masses_of_labels(delta[medoids].argmin(axis=0), family))
    return starts
