"""What "auto" stands for in the methods of the c-means family: fuzziness and the distance to the empty set."""

from __future__ import annotations

import numpy as np

from dempster.data.sampling import systematic_draw
from dempster.optimize.k_means import k_means

__all__ = ["fuzziness", "outlier_distance", "distances_to_centers", "isolated", "isolated_by_distances", "reasons"]

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
    parts = [nearest(np.arange(start, min(start + _ROWS, n))) for start in range(0, n, _ROWS)]
    near, who = (np.concatenate(part) for part in zip(*parts, strict=True))
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
    near, around = (np.maximum(distances, np.finfo(float).tiny) for distances in (near, around))
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
