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
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import ArrayLike
from dempster._validation import as_reals, check_size, reading
from dempster.belief import FocalSets
from dempster.data.sampling import systematic_draw
from dempster.optimize.k_means import k_means
from dempster.partition import CredalPartition

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


def too_few(n_clusters: int, different: int, weights: np.ndarray | None) -> InvalidParameterError:
    """Says that there are more clusters than different objects, and why some may not count."""
    which = "in X" if weights is None or weights.all() else "of X whose sample_weight is not zero"
    message = f"n_clusters={n_clusters} is more than the {different} different objects {which}"
    return InvalidParameterError("n_clusters", message=message)


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


def move_centers(X: np.ndarray, weights: np.ndarray, centers: np.ndarray, n_iter: int) -> np.ndarray:
    """Return centers after some iterations of k-means; one without rows stays where it is."""
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


_OBJECTS = 1000  # of the published formula, which depends on their number little
_LEAST, _MOST = 1.05, 1.5  # fuzziness
_FENCE = 2.0  # interquartile ranges above the third quartile
_SAMPLE_SIZE = 2000
_STARTS = 10  # of k-means
_NEAR = 5  # objects by whose distance an isolated one is known
_LEAST_RANGE = 0.1  # of the logarithms of these distances
_FAR_FENCE = 5.0  # interquartile ranges of these logarithms: an object is isolated only if it is extreme
_THINNER = 2.0  # times as far from others as these are
_COMPARED, _ROWS = 1000, 4096  # objects that others are compared with, and how many at once


def fuzziness(n_features: float) -> float:
    """beta="auto": 1.5 up to five attributes, then less, 1.05 at the least.

    In many dimensions all distances are alike, and with beta = 2 the prototypes meet in the middle. The formula was
    found for fuzzy c-means (Schwaemmle and Jensen, 2010, eq. 5), where it says how fuzzy a partition must be to show no
    clusters where there are none; here half of what it gives beyond 1 does better.
    """
    n, d = _OBJECTS, max(float(n_features), 1.0)
    beyond = (1418 / n + 22.05) * d**-2 + (12.33 / n + 0.243) * d ** (-0.0406 * np.log(n) - 0.1134)
    return float(np.clip(1 + beyond / 2, _LEAST, _MOST))


def outlier_distance(distances: np.ndarray, weights: np.ndarray) -> float:
    """delta="auto": the upper fence of a box plot of the distances of objects to the nearest prototype.

    Where all objects are prototypes nothing is far from one, and any distance will do.
    """
    order = np.argsort(distances, kind="stable")
    reach = np.cumsum(weights[order])
    low, high = distances[order[np.searchsorted(reach, np.array([0.25, 0.75]) * reach[-1] * (1 - 1e-12))]].astype(float)
    return float(high + _FENCE * (high - low)) or float(distances.max()) or 1.0


def distances_to_centers(
    X: np.ndarray, weights: np.ndarray, n_clusters: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances of some objects to the nearest center of the best of several k-means, and their positions.

    The objects stand in an order that does not depend on the rows; they are drawn in proportion to the weights.
    """
    which = np.arange(len(X))
    if len(X) > _SAMPLE_SIZE:
        which = np.unique(systematic_draw(weights, _SAMPLE_SIZE, rng))
    data, w = np.ascontiguousarray(X[which], dtype=float), weights[which]
    best = None
    for _ in range(_STARTS):
        centers, labels = k_means(data, n_clusters, rng, w)
        squares = np.square(data - centers[labels]).sum(axis=1)
        if best is None or w @ squares < w @ best:
            best = squares
    assert best is not None
    return best, which


def isolated(X: np.ndarray) -> np.ndarray:
    """(n,) whether an object is much farther from its nearest few different objects than these are from theirs, and
    than is usual.

    Such objects are no place for a first prototype: it would stay there, on one outlier. Members of a thin cluster are
    far from each other, too, but not by themselves. Of more than 1,000 different objects, they are compared with 1,000.
    """
    different, which = np.unique(X, axis=0, return_inverse=True)
    n = len(different)
    if n <= _NEAR + 1:
        return np.zeros(len(X), dtype=bool)
    chosen = np.unique(np.linspace(0, n - 1, min(n, _COMPARED)).astype(int))
    column = np.full(n, -1)
    column[chosen] = np.arange(len(chosen))
    from sklearn.metrics import pairwise_distances

    def nearest(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        D = pairwise_distances(different[rows], different[chosen])
        own = np.flatnonzero(column[rows] >= 0)
        D[own, column[rows[own]]] = np.inf
        return _nearest_few(D)

    around = nearest(chosen)[0]
    near, who = np.empty(n, around.dtype), np.empty((n, _NEAR), dtype=np.intp)
    for start in range(0, n, _ROWS):
        stop = min(start + _ROWS, n)
        near[start:stop], who[start:stop] = nearest(np.arange(start, stop))
    return _isolated(near, around[who])[which.reshape(-1)]


def isolated_by_distances(D: np.ndarray) -> np.ndarray:
    """The same from the (n, n) distances; those that do not count, of objects to themselves, are infinite."""
    if len(D) <= _NEAR + 1:
        return np.zeros(len(D), dtype=bool)
    near, who = _nearest_few(D)
    return _isolated(near, near[who])


def _nearest_few(D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row the distance within which the nearest few lie, and which these are."""
    who = np.argpartition(D, _NEAR - 1, axis=1)[:, :_NEAR]
    return np.take_along_axis(D, who, axis=1).max(axis=1), who


def _isolated(near: np.ndarray, around: np.ndarray) -> np.ndarray:
    """From the distances within which the nearest few objects lie, for the objects and for these few: beyond the fence
    of a box plot of logarithms, and in a much thinner place (as the local outlier factor measures it; Breunig and
    others, 2000)."""
    near, around = np.maximum(near, np.finfo(float).tiny), np.maximum(around, np.finfo(float).tiny)
    if not np.isfinite(near).all():
        return np.zeros(len(near), dtype=bool)
    logs = np.log(near)
    low, high = np.quantile(logs, [0.25, 0.75])
    unusual = logs > high + _FAR_FENCE * max(high - low, _LEAST_RANGE)
    return unusual & ((near[:, None] / around).mean(axis=1) > _THINNER)


def reasons(beta: float | str, delta: float | str, used_beta: float, used_delta: float) -> dict[str, str]:
    """What "auto" stood for in the parameters beta and delta, in words."""
    found = {}
    if beta == "auto":
        found["beta"] = f"{used_beta:.3g}, by the number of attributes"
    if delta == "auto":
        found["delta"] = f"{used_delta:.3g}, beyond which distances to the nearest prototype are unusual"
    return found
