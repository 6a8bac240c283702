"""Where methods start: samples, first prototypes, the scale of the data.

Random choices are made along a fixed order of the objects (that of a projection, or of their sums of dissimilarities),
not along the rows, so that permuting the rows, or repeating them instead of giving them a weight, leads to the same
start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dempster._arrays import Array, to_host
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError
from dempster._types import ArrayLike
from dempster._validation import as_reals, check_size, reading
from dempster.belief import FocalSets
from dempster.partition import CredalPartition

__all__ = [
    "too_few",
    "check_different_objects",
    "check_partition",
    "checked_centers",
    "check_different",
    "checked_masses_start",
    "checked_positions",
    "first_centers",
    "far_objects",
    "k_means",
    "nearest_centers",
]


# ---- samples --------------------------------------------------------------------------------------------------------


# ---- what was given -------------------------------------------------------------------------------------------------


def check_different_objects(X: Array, sample: np.ndarray, n_clusters: int, weights: np.ndarray | None = None) -> None:
    """As many different objects (of positive weight) as clusters are needed; the sample is looked at first."""
    if len(np.unique(sample, axis=0)) >= n_clusters:
        return
    X = to_host(X)
    different = len(np.unique(X if weights is None else X[weights > 0], axis=0))
    if different < n_clusters:
        raise too_few(n_clusters, different, weights)


def too_few(n_clusters: int, different: int, weights: np.ndarray | None) -> ValueError:
    """Says that there are more clusters than different objects, and why some may not count."""
    which = "in X" if weights is None or weights.all() else "of X whose sample_weight is not zero"
    return ValueError(f"n_clusters={n_clusters} is more than the {different} different objects {which}")


def check_partition(init: CredalPartition, n_objects: int, n_clusters: int) -> None:
    """A partition to start from is one of the same objects into as many clusters."""
    if init.n_clusters != n_clusters or len(init) != n_objects:
        raise InvalidInputError(
            f"init must be a partition of {n_objects} objects into {n_clusters} clusters, "
            f"got {len(init)} objects and {init.n_clusters} clusters"
        )


def checked_centers(init: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Given prototypes, a row a cluster."""
    centers = as_reals(init, "init").astype(float, copy=False)
    if centers.shape != shape:
        raise InvalidInputError(f"init must have shape {shape} (n_clusters, n_features), got {centers.shape}")
    if not np.isfinite(centers).all():
        raise InvalidInputError("init must be finite")
    check_size(centers, "init")
    check_different(centers)
    return centers


def check_different(prototypes: np.ndarray) -> None:
    """No two rows of given prototypes are the same."""
    different = len(np.unique(prototypes, axis=0))
    if different < len(prototypes):
        raise InvalidInputError(
            f"init must hold {len(prototypes)} different prototypes, got {different}: clusters that begin in the same "
            "place never part"
        )


def checked_masses_start(init: ArrayLike, n_objects: int, family: FocalSets) -> CredalPartition:
    """A given partition, or an array of masses on the sets of the family."""
    if isinstance(init, CredalPartition):
        check_partition(init, n_objects, family.n_clusters)
        return init.to_numpy()
    masses = np.ascontiguousarray(as_reals(init, "init"))  # sums must not depend on the order in memory
    if masses.shape != (n_objects, len(family)):
        raise InvalidInputError(
            f"init must hold masses of shape {(n_objects, len(family))} (n_samples, number of focal sets), "
            f"got shape {masses.shape}"
        )
    return CredalPartition(masses, family)


def checked_positions(init: ArrayLike, n_objects: int, n_clusters: int) -> np.ndarray:
    """Positions of the objects to begin with, one a cluster."""
    with reading(init, "init"):
        positions = np.asarray(init)
    if positions.shape != (n_clusters,) or positions.dtype.kind not in "iu":
        raise InvalidInputError(
            f"init must hold the positions of {n_clusters} objects, got an array of {positions.dtype} "
            f"of shape {positions.shape}"
        )
    if len(np.unique(positions)) < n_clusters or positions.min() < 0 or positions.max() >= n_objects:
        raise InvalidInputError(
            f"init must hold different positions from 0 to {n_objects - 1}, got {positions.tolist()}"
        )
    return positions.astype(np.intp)


# ---- first prototypes -----------------------------------------------------------------------------------------------


def first_centers(
    X: np.ndarray, weights: np.ndarray, n_clusters: int, method: str, rng: np.random.RandomState
) -> np.ndarray:
    """Prototypes by k-means++, or objects at random plus a small noise."""
    if method == "random":
        which = rng.choice(len(X), n_clusters, replace=False, p=weights / weights.sum())
        return X[which] + 1e-3 * X.std(axis=0) * rng.normal(size=(n_clusters, X.shape[1]))
    from sklearn.cluster import kmeans_plusplus

    return kmeans_plusplus(X, n_clusters, sample_weight=weights, random_state=rng)[0]


def far_objects(
    distances: Callable[[Any], np.ndarray],
    weights: np.ndarray,
    order: np.ndarray,
    n_objects: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Positions of objects far from each other: drawn in proportion to the (squared) distance to the nearest so far,
    the best of several each time (greedy k-means++; Arthur and Vassilvitskii, 2007), along a given order.

    ``distances(which)`` gives (k, n) distances of the objects ``which`` to all.
    """
    trials = 2 + int(np.log(n_objects))

    def draw(chances: np.ndarray, size: int) -> np.ndarray:
        reach = np.cumsum(chances[order])
        at = np.searchsorted(reach, rng.random_sample(size) * reach[-1], side="right")
        return order[at.clip(max=len(order) - 1)]

    chosen = [draw(weights, 1)[0]]
    nearest = distances(chosen)[0].astype(float)
    for _ in range(1, n_objects):
        candidates = draw(nearest * weights, trials)
        after = np.minimum(nearest, distances(candidates))
        best = int((after @ weights).argmin())
        chosen.append(candidates[best])
        nearest = after[best]
    return np.array(chosen)


# ---- the scale of the data ------------------------------------------------------------------------------------------


def k_means(X: np.ndarray, weights: np.ndarray, centers: np.ndarray, n_iter: int) -> np.ndarray:
    """Centres after some iterations of k-means; one without objects stays where it is."""
    n_clusters = len(centers)
    centers = centers.astype(float)
    for _ in range(n_iter):
        nearest = nearest_centers(X, centers)
        total = np.bincount(nearest, weights, minlength=n_clusters)
        moved = np.stack([np.bincount(nearest, weights * x, minlength=n_clusters) for x in X.T], axis=1)
        centers = np.where(total[:, None] > 0, moved / np.maximum(total, 1e-300)[:, None], centers)
    return centers


def nearest_centers(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """(n,) nearest of some centres, for objects measured from their mean, where products of attributes keep their
    digits."""
    with one_blas_thread():  # on busy cores several threads take much longer for small products
        return (np.square(centers).sum(axis=1) - X @ (2 * centers.T)).argmin(axis=1)
