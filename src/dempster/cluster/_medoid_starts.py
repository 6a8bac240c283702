"""Initial medoids for methods that use only dissimilarities: distant seeds, improved by k-medoids.

The dissimilarities are scaled to [0, 1] ("conflicts"). A cluster without a medoid then costs about the number of its
objects, regardless of its distance from the medoids. The sum of conflicts to the nearest medoid therefore separates
good seeds from bad ones. Drawing many sets of seeds and keeping the best few avoids runs that end in poor minima.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel
from dempster.belief import FocalSets

# Draw seeds in proportion to the conflict with the nearest previous seed, and keep the best of several candidates
# (greedy k-means++; Arthur and Vassilvitskii, 2007). ``uniform`` contains one row of random numbers for each seed.
far_seeds = kernel("far_seeds(delta: real[n, n], uniform: float64[c, trials], seeds: int64[c] out)")
# Alternate, in place, between assigning objects to medoids and selecting the central object of each group.
to_medoids = kernel("to_medoids(delta: real[n, n], medoids: int64[c] below n out, steps: int)")

_DRAWS = 8  # sets of seeds per start
_MAX_MEDOID_STEPS = 10
_DIFFERENT = 0.02  # minimum share of the objects by which two starts must differ


def medoid_starts(
    delta: np.ndarray, n_clusters: int, n_starts: int, rng: np.random.Generator, weights: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return the indices of up to ``n_starts`` sets of medoids with different partitions, the best first.

    ``weights`` are positive; an object of weight 2 counts as two objects.
    """
    trials = 5 + int(2 * np.log(n_clusters))
    draws = rng.random((_DRAWS * n_starts, n_clusters, trials))
    if weights is not None:
        reach = np.cumsum(weights)
        for uniform in draws:  # The probability of the first seed is proportional to its weight.
            row = min(int(np.searchsorted(reach, uniform[0, 0] * reach[-1], side="right")), len(weights) - 1)
            uniform[0, 0] = (row + 0.5) / len(weights)
        delta = delta * weights  # Conflicts are summed over columns.
    delta = np.ascontiguousarray(delta)

    seeds, conflict = np.zeros((len(draws), n_clusters), np.int64), np.empty(len(draws))
    for k, uniform in enumerate(draws):
        far_seeds(delta, uniform, seeds[k])
        conflict[k] = delta[seeds[k]].min(axis=0).sum()
    improved = seeds[np.argsort(conflict, kind="stable")[: n_starts + 1]]
    for k, medoids in enumerate(improved):
        to_medoids(delta, medoids, _MAX_MEDOID_STEPS)
        conflict[k] = delta[medoids].min(axis=0).sum()
    kept: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    for medoids in improved[np.argsort(conflict[: len(improved)], kind="stable")]:
        nearest = delta[medoids].argmin(axis=0)
        if not any(_are_similar(nearest, other, n_clusters, weights) for other in labels):
            kept.append(medoids)
            labels.append(nearest)
    return kept[:n_starts]


def _are_similar(a: np.ndarray, b: np.ndarray, c: int, weights: np.ndarray | None) -> bool:
    """Return whether two partitions are equal except for a few objects."""
    table = np.bincount(a * c + b, weights, minlength=c * c).reshape(c, c)
    common = min(table.max(axis=0).sum(), table.max(axis=1).sum())
    return common >= (1 - _DIFFERENT) * table.sum()


def masses_from_labels(labels: np.ndarray, family: FocalSets) -> np.ndarray:
    """Return masses that are positive on all sets, and largest on the cluster of each object if the family has it."""
    masses = np.full((len(labels), len(family)), 0.1 / len(family))
    column = family.singleton_index[labels]
    masses[np.flatnonzero(column >= 0), column[column >= 0]] += 0.9
    return masses / masses.sum(axis=1, keepdims=True)


def random_masses(n: int, family: FocalSets, rng: np.random.Generator) -> np.ndarray:
    """Draw rows from the uniform distribution on [0, 1]^f, and normalize them."""
    masses = rng.random((n, len(family)))
    return masses / masses.sum(axis=1, keepdims=True)


def masses_from_medoids(
    delta: np.ndarray, family: FocalSets, n_starts: int, rng: np.random.Generator, weights: np.ndarray | None = None
) -> list[np.ndarray]:
    """Return initial masses from the nearest medoids, for up to ``n_starts`` sets of medoids."""
    starts = medoid_starts(delta, family.n_clusters, n_starts, rng, weights)
    return [masses_from_labels(delta[medoids].argmin(axis=0), family) for medoids in starts]
