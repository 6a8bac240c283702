"""First partitions for methods that know conflicts between objects only: seeds far from each other, then medoids.

Conflicts are bounded by one, so a cluster without a medoid costs about as much as its objects are many, whatever its
distance: the sum of conflicts to the nearest medoid tells good seeds from bad ones, and drawing many sets of seeds and
keeping the best few spares the descents that would have ended in poor minima.
"""

from __future__ import annotations

import numpy as np

from evidentia.belief import FocalSets

__all__ = ["medoid_starts", "masses_of_labels", "random_masses"]

_DRAWS = 8  # sets of seeds per start
_MEDOID_STEPS = 10


def medoid_starts(delta: np.ndarray, n_clusters: int, n_starts: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Up to ``n_starts`` different sets of medoids (indices), the best first."""
    trials = 5 + int(2 * np.log(n_clusters))
    drawn = [_far_seeds(delta, n_clusters, trials, rng) for _ in range(_DRAWS * n_starts)]
    drawn.sort(key=lambda seeds: delta[seeds].min(axis=0).sum())
    improved = [_to_medoids(delta, seeds) for seeds in drawn[: 2 * n_starts]]
    improved.sort(key=lambda seeds: delta[seeds].min(axis=0).sum())
    different = {tuple(np.sort(seeds).tolist()): seeds for seeds in reversed(improved)}
    return list(reversed(different.values()))[:n_starts]


def _far_seeds(delta: np.ndarray, c: int, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Seeds drawn in proportion to the conflict with the nearest seed so far, the best of several each time
    (greedy k-means++; Arthur and Vassilvitskii, 2007)."""
    n = len(delta)
    seeds = [int(rng.integers(n))]
    nearest = delta[seeds[0]].copy()
    while len(seeds) < c:
        reach = np.cumsum(nearest)
        if reach[-1] > 0:
            candidates = np.searchsorted(reach, rng.random(trials) * reach[-1], side="right").clip(max=n - 1)
        else:  # fewer different objects than clusters so far
            candidates = rng.integers(0, n, trials)
        after = np.minimum(nearest, delta[candidates])
        best = int(after.sum(axis=1).argmin())
        seeds.append(int(candidates[best]))
        nearest = after[best]
    return np.array(seeds)


def _to_medoids(delta: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Alternate between nearest medoids and the most central object of each group."""
    for _ in range(_MEDOID_STEPS):
        labels = delta[seeds].argmin(axis=0)
        moved = seeds.copy()
        for k in range(len(seeds)):
            members = np.flatnonzero(labels == k)
            if len(members):
                moved[k] = members[delta[np.ix_(members, members)].sum(axis=1).argmin()]
        if np.array_equal(moved, seeds):
            break
        seeds = moved
    return seeds


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
