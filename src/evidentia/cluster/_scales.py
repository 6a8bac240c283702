"""What "auto" stands for in the methods of the c-means family: fuzziness and the distance to the empty set."""

from __future__ import annotations

import numpy as np

from evidentia.cluster._starts import systematic_draw
from evidentia.optimize.k_means import k_means

__all__ = ["fuzziness", "outlier_distance", "distances_to_centers", "isolated", "isolated_of", "reasons"]

_OBJECTS = 1000  # of the published formula, which depends on their number little
_LEAST, _MOST = 1.05, 1.5  # fuzziness
_FENCE = 2.0  # interquartile ranges above the third quartile
_SAMPLE_SIZE = 2000
_STARTS = 10  # of k-means
_NEAR = 5  # objects by whose distance an isolated one is known
_LEAST_RANGE = 0.1  # of the logarithms of these distances
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
    """(n,) whether an object is much farther from its nearest few different objects than is usual (see `isolated_of`).

    Of more than 1,000 different objects, they are compared with 1,000.
    """
    different, which = np.unique(X, axis=0, return_inverse=True)
    n = len(different)
    if n <= _NEAR + 1:
        return np.zeros(len(X), dtype=bool)
    chosen = np.unique(np.linspace(0, n - 1, min(n, _COMPARED)).astype(int))
    from sklearn.metrics import pairwise_distances

    place = np.full(n, _NEAR - 1)
    place[chosen] = _NEAR  # an object is among its own nearest
    near = np.empty(n)
    for start in range(0, n, _ROWS):
        D = np.partition(pairwise_distances(different[start : start + _ROWS], different[chosen]), (_NEAR - 1, _NEAR))
        near[start : start + _ROWS] = D[np.arange(len(D)), place[start : start + _ROWS]]
    return isolated_of(near)[which.reshape(-1)]


def isolated_of(near: np.ndarray) -> np.ndarray:
    """(n,) whether distances to the nearest few objects are unusual: beyond the fence of a box plot of logarithms.

    Such objects are no place for a first prototype: it would stay there, on one outlier.
    """
    logs = np.log(np.maximum(near, np.finfo(float).tiny))
    low, high = np.quantile(logs, [0.25, 0.75])
    return logs > high + _FENCE * max(high - low, _LEAST_RANGE)


def reasons(beta: float | str, delta: float | str, used_beta: float, used_delta: float) -> dict[str, str]:
    """What "auto" stood for in the parameters beta and delta, in words."""
    found = {}
    if beta == "auto":
        found["beta"] = f"{used_beta:.3g}, by the number of attributes"
    if delta == "auto":
        found["delta"] = f"{used_delta:.3g}, beyond which distances to the nearest prototype are unusual"
    return found
