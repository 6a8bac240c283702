"""Initial prototypes, validation of ``init``, and defaults that depend on the data.

Random numbers are assigned to the objects in increasing order of a projection or of the sum of
dissimilarities, not in the order of the rows. The initial prototypes therefore do not change if
rows are permuted, or if a row of weight 2 is replaced by two equal rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dempster._arrays import Array, to_host
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike
from dempster._validation import as_floats, as_reals, check_size, validating
from dempster.belief import FocalSets
from dempster.data.sampling import systematic_draw
from dempster.optimize.k_means import (
    MAX_RESTARTED_CLUSTERS,
    k_means,
    squared_distances,
)
from dempster.optimize.nearest import find_nearest_clusters
from dempster.partition import CredalPartition

# ---- validation ----------------------------------------------------------------------------------


def check_different_objects(
    X: Array, sample: np.ndarray, n_clusters: int, weights: np.ndarray | None = None
) -> None:
    """Raise an error if X, a superset of ``sample``, has fewer distinct rows than clusters.

    Rows of weight zero do not count.
    """
    if len(np.unique(sample, axis=0)) >= n_clusters:
        return
    X = to_host(X)
    if weights is not None:
        X = X[weights > 0]
    different = len(np.unique(X, axis=0))
    if different < n_clusters:
        raise too_few_objects_error(n_clusters, different, weights)


def too_few_objects_error(
    n_clusters: int, different: int, weights: np.ndarray | None
) -> InvalidParameterError:
    """Return the error to raise if there are more clusters than distinct objects."""
    which = "in X"
    if weights is not None and not weights.all():
        which = "of X whose sample_weight is not zero"
    message = f"n_clusters={n_clusters} is more than the {different} different objects {which}"
    return InvalidParameterError("n_clusters", message=message)


def check_partition(init: CredalPartition, n_objects: int, n_clusters: int) -> None:
    """Raise an error unless ``init`` has the right numbers of objects and clusters."""
    if init.n_clusters != n_clusters or len(init) != n_objects:
        must = f"be a partition of {n_objects} objects into {n_clusters} clusters"
        found = f"{len(init)} objects and {init.n_clusters} clusters"
        raise InvalidParameterError("init", must=f"{must}, got {found}")


def validate_centers(init: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Return ``init`` as a float array of distinct prototypes."""
    centers = as_floats(init, "init")
    if centers.shape != shape:
        must = f"have shape {shape} (n_clusters, n_features), got {centers.shape}"
        raise InvalidParameterError("init", must=must)
    if not np.isfinite(centers).all():
        raise InvalidParameterError("init", must="be finite")
    check_size(centers, "init")
    check_distinct(centers)
    return centers


def check_distinct(prototypes: np.ndarray) -> None:
    """Raise an error if two prototypes are equal, because the iterations cannot separate them."""
    different = len(np.unique(prototypes, axis=0))
    if different < len(prototypes):
        must = f"contain {len(prototypes)} distinct prototypes, got {different}"
        raise InvalidParameterError("init", must=must)


def validate_initial_masses(
    init: ArrayLike, n_objects: int, family: FocalSets
) -> CredalPartition:
    """Return ``init``, a partition or an array of masses on the family, as a partition."""
    if isinstance(init, CredalPartition):
        check_partition(init, n_objects, family.n_clusters)
        return init.to_numpy()
    # Sums must not depend on the memory order.
    masses = np.ascontiguousarray(as_reals(init, "init"))
    if masses.shape != (n_objects, len(family)):
        expected = f"{(n_objects, len(family))} (n_samples, number of focal sets)"
        must = f"contain masses of shape {expected}, got shape {masses.shape}"
        raise InvalidParameterError("init", must=must)
    return CredalPartition(masses, family)


def validate_positions(init: ArrayLike, n_objects: int, n_clusters: int) -> np.ndarray:
    """Return ``init`` as indices of distinct objects, one per cluster."""
    with validating(init, "init"):
        positions = np.asarray(init)
    if positions.shape != (n_clusters,) or positions.dtype.kind not in "iu":
        found = f"an array of {positions.dtype} of shape {positions.shape}"
        must = f"contain the indices of {n_clusters} objects, got {found}"
        raise InvalidParameterError("init", must=must)
    is_valid = (positions >= 0) & (positions < n_objects)
    if len(np.unique(positions)) < n_clusters or not is_valid.all():
        must = f"contain distinct indices from 0 to {n_objects - 1}, got {positions.tolist()}"
        raise InvalidParameterError("init", must=must)
    return positions.astype(np.intp)


# ---- first prototypes ----------------------------------------------------------------------------


# For many clusters, initial prototypes are drawn from a sample of the rows.
_MIN_ROWS_PER_CENTER = 20
_MAX_COMPARISONS = 1_000_000  # number of rows times number of clusters


def number_of_starts(n_init: int, init: str, n_clusters: int) -> int:
    """Return the number of starts, which is 1 for many clusters whose centers are exchanged."""
    if n_clusters > MAX_RESTARTED_CLUSTERS and init != "random":
        return 1
    return n_init


def draw_centers(
    X: np.ndarray,
    weights: np.ndarray,
    n_clusters: int,
    method: str,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Draw prototypes by k-means++ or, if ``method`` is "random", random objects plus noise.

    The prototypes of many clusters are those of k-means with exchanged centers.
    """
    if method == "random":
        chances = weights / weights.sum()
        which = rng.choice(len(X), n_clusters, replace=False, p=chances)
        noise = rng.normal(size=(n_clusters, X.shape[1]))
        return X[which] + 1e-3 * X.std(axis=0) * noise
    size = max(_MIN_ROWS_PER_CENTER * n_clusters, _MAX_COMPARISONS // n_clusters)
    if len(X) > size:
        drawn = systematic_draw(weights, size, rng)
        which, counts = np.unique(drawn, return_counts=True)
        X = X[which]
        weights = counts.astype(float)
    if n_clusters > MAX_RESTARTED_CLUSTERS:
        return k_means(X, n_clusters, rng, weights, n_runs=_STARTS)[0]
    X = X.astype(float)

    def distances(which: Any) -> np.ndarray:
        return cdist(X[which], X, "sqeuclidean")

    order = np.arange(len(X))
    return X[draw_distant_objects(distances, weights, order, n_clusters, rng)]


def draw_distant_objects(
    distances: Callable[[Any], np.ndarray],
    weights: np.ndarray,
    order: np.ndarray,
    n_objects: int,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Draw the indices of objects far from each other by greedy k-means++.

    Each object is the best of several candidates. The probability of a candidate is proportional to
    its (squared) distance to the nearest previous object (Arthur and Vassilvitskii, 2007).
    ``distances(which)`` returns the (k, n) distances of the objects ``which`` to all objects.
    """
    trials = 2 + int(np.log(n_objects))

    def draw(chances: np.ndarray, size: int) -> np.ndarray:
        reach = np.cumsum(chances[order])
        points = rng.random_sample(size) * reach[-1]
        at = np.searchsorted(reach, points, "right")
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


# ---- defaults that depend on the data ------------------------------------------------------------


_N_OBJECTS = 1000  # number of objects in the formula for beta; its effect is small
_MIN_BETA = 1.05
_MAX_BETA = 1.5
_FENCE = 2.0  # height of the fence above the third quartile, in interquartile ranges
_SAMPLE_SIZE = 2000
_STARTS = 10  # number of runs of k-means
_N_NEAREST = 5  # number of neighbors used to detect isolated objects
# lower bound of the interquartile range of the log-distances to the neighbors
_MIN_LOG_RANGE = 0.1
# height of the fence for log-distances above the third quartile, in interquartile ranges
_FAR_FENCE = 5.0
# minimum ratio of the distance of an isolated object to the distances of its neighbors
_MIN_RATIO = 2.0
_MAX_COMPARED = 1000


def default_beta(n_features: float) -> float:
    """Return the value of beta="auto".

    It is 1.5 for up to five attributes and smaller for more, at least 1.05. In high dimensions all
    distances are similar, and with beta = 2 all prototypes converge to the mean of the data. The
    formula gives the smallest fuzzifier with which fuzzy c-means finds no clusters in data without
    clusters (Schwaemmle and Jensen, 2010, eq. 5). Half of its excess over 1 gives better results
    for evidential c-means.
    """
    n = _N_OBJECTS
    d = max(float(n_features), 1.0)
    exponent = -0.0406 * np.log(n) - 0.1134
    beyond = (1418 / n + 22.05) * d**-2 + (12.33 / n + 0.243) * d**exponent
    return float(np.clip(1 + beyond / 2, _MIN_BETA, _MAX_BETA))


def outlier_distance(distances: np.ndarray, weights: np.ndarray) -> float:
    """Return the value of delta="auto".

    It is the upper fence of a box plot of the distances from rows to nearest prototypes. If the
    fence is zero, return the largest distance, or 1 if all distances are zero.
    """
    order = np.argsort(distances, kind="stable")
    reach = np.cumsum(weights[order])
    bounds = np.array([0.25, 0.75]) * reach[-1] * (1 - 1e-12)
    quartiles = np.searchsorted(reach, bounds)
    low, high = distances[order[quartiles]].astype(float)
    return float(high + _FENCE * (high - low)) or float(distances.max()) or 1.0


def k_means_distances(
    X: np.ndarray, weights: np.ndarray, n_clusters: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared distances from up to 2,000 rows to k-means centers, and the rows."""
    which = np.arange(len(X))
    if len(X) > _SAMPLE_SIZE:
        which = np.unique(systematic_draw(weights, _SAMPLE_SIZE, rng))
    data = np.ascontiguousarray(X[which], float)
    best = k_means(data, n_clusters, rng, weights[which], n_runs=_STARTS)
    return squared_distances(data, *best), which


def outlier_cost(
    X: np.ndarray,
    weights: np.ndarray,
    n_clusters: int,
    rng: np.random.RandomState,
    added: np.ndarray | float = 0.0,
) -> float:
    """Return the square of the value of delta="auto", estimated by k-means.

    ``added`` contains terms of the squared distances that k-means does not use.
    """
    squares, which = k_means_distances(X, weights, n_clusters, rng)
    squares += np.broadcast_to(added, len(X))[which]
    return outlier_distance(np.sqrt(squares), weights[which]) ** 2


def find_isolated_by_attributes(X: np.ndarray) -> np.ndarray:
    """Return a Boolean mask of the isolated rows, shape (n,).

    The distance from an isolated row to its nearest neighbors is unusually large, and much larger
    than the distances from these neighbors to their own neighbors. An initial prototype on an
    isolated row would represent one outlier in all iterations. Rows of a sparse cluster are not
    isolated, because their neighbors are also far from other rows. Several outliers in different
    directions are isolated, because they are as far from each other as from the other rows. Rows
    are compared with at most 1,000 distinct rows.
    """
    different, which = np.unique(X, axis=0, return_inverse=True)
    n = len(different)
    if n <= _N_NEAREST + 1:
        return np.zeros(len(X), bool)
    n_chosen = min(n, _MAX_COMPARED)
    places = np.linspace(0, n - 1, n_chosen)
    chosen = np.unique(places.astype(int))
    column = np.full(n, -1)
    column[chosen] = np.arange(len(chosen))
    # The nearest of the chosen rows to a chosen row is the row itself.
    columns, squares = find_nearest_clusters(
        different, different[chosen], _N_NEAREST + 1
    )
    others = columns != column[:, None]
    others[others.all(axis=1), -1] = False
    near = np.sqrt(squares.max(axis=1, where=others, initial=0))
    around = near[chosen[columns[others].reshape(n, _N_NEAREST)]]
    isolated = _find_isolated(near, around)
    is_unusual = _find_unusual(near)
    usual = chosen[~is_unusual[chosen]]
    unusual = np.flatnonzero(is_unusual)
    if len(unusual):
        gaps = find_nearest_clusters(different[unusual], different[usual], 1)[1]
        isolated[unusual] |= _MIN_RATIO * near[unusual] > np.sqrt(gaps[:, 0])
    return isolated[which.reshape(-1)]


def without_isolated(X: np.ndarray, weights: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return the weights, zero for isolated rows, on which an initial prototype would not move.

    If there are fewer distinct other rows than clusters, return the weights unchanged.
    """
    others = np.where(find_isolated_by_attributes(X), 0.0, weights)
    n_different = len(np.unique(X[others > 0], axis=0))
    if n_different >= n_clusters:
        return others
    return weights


def find_isolated_by_distances(D: np.ndarray) -> np.ndarray:
    """Return a mask of the isolated rows, given distances with an infinite diagonal."""
    n = len(D)
    if n <= _N_NEAREST + 1:
        return np.zeros(n, bool)
    near, who = _nearest_few(D)
    return _find_isolated(near, near[who])


def _nearest_few(D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances to the fifth nearest column, and the five nearest columns."""
    who = np.argpartition(D, _N_NEAREST - 1)[:, :_N_NEAREST]
    distances = np.take_along_axis(D, who, axis=1)
    return distances.max(axis=1), who


def _find_isolated(near: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Return a Boolean mask of the isolated rows.

    ``near`` contains the distance from each row to its fifth neighbor, and ``around`` the same
    distances for the five neighbors of each row. The log-distance of an isolated row exceeds the
    fence of a box plot, and its local density is much lower than that of its neighbors (see the
    local outlier factor; Breunig et al., 2000).
    """
    is_unusual = _find_unusual(near)
    if not is_unusual.any():
        return is_unusual
    tiny = np.finfo(float).tiny
    near = np.maximum(near, tiny)
    around = np.maximum(around, tiny)
    ratios = near[:, None] / around
    is_sparse = ratios.mean(axis=1) > _MIN_RATIO
    return is_unusual & is_sparse


def _find_unusual(near: np.ndarray) -> np.ndarray:
    """Return a mask of the rows for which log ``near`` exceeds the fence of a box plot."""
    if not np.isfinite(near).all():
        return np.zeros(len(near), bool)
    logs = np.log(np.maximum(near, np.finfo(float).tiny))
    low, high = np.quantile(logs, [0.25, 0.75])
    spread = max(high - low, _MIN_LOG_RANGE)
    return logs > high + _FAR_FENCE * spread


def explain_auto_params(estimator: Any, method: Any) -> dict[str, str]:
    """Return a dictionary that explains the values used for beta and delta, if they are "auto"."""
    found = {}
    if estimator.beta == "auto":
        found["beta"] = f"{method.beta:.3g}, by the number of attributes"
    if estimator.delta == "auto":
        reason = "beyond which distances to the nearest prototype are unusual"
        found["delta"] = f"{method.delta:.3g}, {reason}"
    return found
