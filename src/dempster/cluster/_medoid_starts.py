"""Initial medoids for clusterers that use only dissimilarities.

The medoids are random objects far from each other ("seeds"), improved by k-medoids. The
dissimilarities are scaled to [0, 1] ("conflicts"). A set of seeds is good if the sum of the
conflicts between objects and their nearest seed is small. A cluster without a seed adds about the
number of its objects to this sum, regardless of its distance from the seeds. Drawing many sets of
seeds and keeping the best few avoids runs that end in poor local minima.
"""

from __future__ import annotations

import numpy as np

from dempster._arrays import divide
from dempster._native import kernel
from dempster.belief import FocalSets
from dempster.belief.focal_sets import MAX_DENSE_CLUSTERS

# Draw several candidates for each seed, with probabilities proportional to the conflict with the
# nearest previous seed, and keep the best candidate (greedy k-means++; Arthur and Vassilvitskii,
# 2007). ``uniform`` contains one row of random numbers for each seed.
far_seeds = kernel(
    "far_seeds(delta: real[n, n], uniform: float64[c, trials], seeds: int64[c] out)"
)
# Improve ``medoids`` in place. Each step assigns the objects to the nearest medoid, then selects
# the central object of each group as the new medoid.
to_medoids = kernel(
    "to_medoids(delta: real[n, n], medoids: int64[c] below n out, steps: int)"
)

_DRAWS = 8  # number of sets of seeds that are drawn for each set of medoids
_MAX_MEDOID_STEPS = 10
_MAX_MEAN_STEPS = 30
_DIFFERENT = 0.02  # minimum share of the objects on which two partitions must differ


def medoid_starts(
    delta: np.ndarray,
    n_clusters: int,
    n_starts: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return up to ``n_starts`` sets of medoids with different partitions, the best first."""
    trials = 5 + int(2 * np.log(n_clusters))
    draws = rng.random((_DRAWS * n_starts, n_clusters, trials))
    if weights is not None:
        n = len(weights)
        reach = np.cumsum(weights)
        # The probability of the first seed is proportional to its weight.
        points = draws[:, 0, 0] * reach[-1]
        rows = np.searchsorted(reach, points, "right")
        draws[:, 0, 0] = (np.minimum(rows, n - 1) + 0.5) / n
        delta = delta * weights  # The kernels sum conflicts over columns.
    delta = np.ascontiguousarray(delta)

    seeds = np.zeros((len(draws), n_clusters), np.int64)
    conflict = np.empty(len(draws))
    for k, uniform in enumerate(draws):
        far_seeds(delta, uniform, seeds[k])
        conflict[k] = delta[seeds[k]].min(axis=0).sum()
    order = np.argsort(conflict, kind="stable")
    improved = seeds[order[: n_starts + 1]]
    for k, medoids in enumerate(improved):
        to_medoids(delta, medoids, _MAX_MEDOID_STEPS)
        conflict[k] = delta[medoids].min(axis=0).sum()
    kept: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    order = np.argsort(conflict[: len(improved)], kind="stable")
    for medoids in improved[order]:
        nearest = delta[medoids].argmin(axis=0)
        are_similar = (
            _are_similar(nearest, other, n_clusters, weights) for other in labels
        )
        if not any(are_similar):
            kept.append(medoids)
            labels.append(nearest)
    return kept[:n_starts]


def labelings_from_means(
    D: np.ndarray,
    n_clusters: int,
    n_starts: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return the labels of k-means from each of up to ``n_starts`` sets of medoids.

    The squared distance of object i to the mean of cluster k is a_ik - a_kk / 2, where a_ik is the
    mean of the squared dissimilarities to the members of the cluster, and a_kk is the mean of a_ik
    over the members. In contrast to conflicts, which are at most 1, squared dissimilarities
    separate a small distant cluster, and means are more accurate than medoids in many dimensions.
    """
    squares = np.square(D / (D.max() or 1))
    w = np.ones(len(D)) if weights is None else weights
    labelings = []
    for medoids in medoid_starts(squares, n_clusters, n_starts, rng, weights):
        costs = squares[:, medoids]
        for _ in range(_MAX_MEAN_STEPS):
            labels = costs.argmin(axis=1)
            members = np.where(labels[:, None] == np.arange(n_clusters), w[:, None], 0)
            total = members.sum(axis=0)
            means = divide(squares @ members, total, np.inf)
            own = np.take_along_axis(means, labels[:, None], axis=1)[:, 0]
            within = divide(own @ members, total, 0.0)
            costs = means - within / 2
            if (costs.argmin(axis=1) == labels).all():
                break
        labelings.append(labels)
    return labelings


def _are_similar(
    a: np.ndarray, b: np.ndarray, c: int, weights: np.ndarray | None
) -> bool:
    """Return whether two partitions are equal except for a few objects."""
    table = np.bincount(a * c + b, weights, c * c).reshape(c, c)
    common = min(table.max(axis=0).sum(), table.max(axis=1).sum())
    return common >= (1 - _DIFFERENT) * table.sum()


def masses_from_labels(labels: np.ndarray, family: FocalSets) -> np.ndarray:
    """Return masses that are largest on the cluster of each object, and positive on all sets.

    With many clusters, the remaining mass is on the last set, which is the frame, to save time.
    """
    masses = np.full((len(labels), len(family)), 0.1 / len(family))
    if family.n_clusters > MAX_DENSE_CLUSTERS:
        masses[:, :-1] = 0
    column = family.singleton_index[labels]
    rows = np.flatnonzero(column >= 0)
    masses[rows, column[rows]] += 0.9
    return masses / masses.sum(axis=1, keepdims=True)


def certain_masses(labels: np.ndarray, family: FocalSets) -> np.ndarray:
    """Return masses of one on the cluster of each object.

    Sweeps hardly leave these clusters, because a small mass on another cluster would conflict with
    the other objects of the own cluster.
    """
    return np.eye(len(family))[family.singleton_index[labels]]


def random_masses(n: int, family: FocalSets, rng: np.random.Generator) -> np.ndarray:
    """Draw masses of n objects from the uniform distribution on [0, 1]^f, and normalize them."""
    masses = rng.random((n, len(family)))
    return masses / masses.sum(axis=1, keepdims=True)


def masses_from_medoids(
    delta: np.ndarray,
    family: FocalSets,
    n_starts: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return up to ``n_starts`` arrays of initial masses, computed from medoids."""
    starts = medoid_starts(delta, family.n_clusters, n_starts, rng, weights)
    return [
        masses_from_labels(delta[medoids].argmin(axis=0), family) for medoids in starts
    ]
