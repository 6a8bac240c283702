"""First partitions for methods that know conflicts between objects only: seeds far from each other, then medoids.

Conflicts are bounded by one, so a cluster without a medoid costs about as much as its objects are many, whatever its
distance: the sum of conflicts to the nearest medoid tells good seeds from bad ones, and drawing many sets of seeds and
keeping the best few spares the descents that would have ended in poor minima.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.belief import FocalSets

__all__ = ["medoid_starts", "masses_of_labels", "random_masses"]

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
    drawn = [_far_seeds(delta, uniform) for uniform in draws]
    drawn.sort(key=lambda seeds: delta[seeds].min(axis=0).sum())
    improved = [_to_medoids(delta, seeds, _MEDOID_STEPS) for seeds in drawn[: n_starts + 1]]
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


@njit(cache=True, nogil=True, error_model="numpy")
def _far_seeds(delta, uniform):
    """Seeds drawn in proportion to the conflict with the nearest seed so far, the best of several each time
    (greedy k-means++; Arthur and Vassilvitskii, 2007). ``uniform`` holds the draws, a row for each seed."""
    n = delta.shape[0]
    c, trials = uniform.shape
    seeds = np.empty(c, np.int64)
    seeds[0] = min(int(uniform[0, 0] * n), n - 1)
    nearest = delta[seeds[0]].copy()
    reach = np.empty(n)
    for k in range(1, c):
        total = 0.0
        for i in range(n):
            total += nearest[i]
            reach[i] = total
        best, lowest = 0, np.inf
        for t in range(trials):
            if total > 0:
                candidate = min(np.searchsorted(reach, uniform[k, t] * total, side="right"), n - 1)
            else:  # fewer different objects than clusters so far
                candidate = min(int(uniform[k, t] * n), n - 1)
            after = 0.0
            for i in range(n):
                after += min(nearest[i], delta[candidate, i])
            if after < lowest:
                best, lowest = candidate, after
        seeds[k] = best
        for i in range(n):
            nearest[i] = min(nearest[i], delta[best, i])
    return seeds


@njit(cache=True, nogil=True, error_model="numpy")
def _to_medoids(delta, seeds, steps):
    """Alternate between nearest medoids and the most central object of each group."""
    n, c = delta.shape[0], seeds.shape[0]
    medoids = seeds.copy()
    label = np.empty(n, np.int64)
    for _ in range(steps):
        for i in range(n):
            label[i] = 0
            for k in range(1, c):
                if delta[medoids[k], i] < delta[medoids[label[i]], i]:
                    label[i] = k
        moved = medoids.copy()
        lowest = np.full(c, np.inf)
        for i in range(n):
            total = 0.0
            for j in range(n):
                if label[j] == label[i]:
                    total += delta[i, j]
            if total < lowest[label[i]]:
                lowest[label[i]] = total
                moved[label[i]] = i
        if np.array_equal(moved, medoids):
            break
        medoids = moved
    return medoids


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
