"""What a matrix of dissimilarities is like: how far from Euclidean, how large, between how many different objects."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dempster._native import interruptible
from dempster.cluster._starts import too_few

__all__ = ["smallest_eigenvalue", "pair_quantile", "check_different_objects"]

_DENSE = 500  # objects up to which all eigenvalues are computed
_ROUNDED = 1 - 1e-12  # a share of the pairs that is a whole number but for rounding is that number
_PROBES = 20_000  # values that tell about where a quantile is
_MARGIN = 0.02  # how far it may be from there, as a share of all values


def smallest_eigenvalue(D: np.ndarray) -> float:
    """Smallest eigenvalue of the doubly centred matrix -Q D Q / 2 (0 if there is none below rounding errors).

    Above a few hundred objects by Lanczos iterations, which cost as much as a few dozen products with a vector. The
    value is on the safe side: not above the true one by more than rounding.
    """
    n = len(D)
    if n < 2:
        return 0.0
    negligible = 1e-10 if D.dtype == np.float64 else 1e-5
    if n <= _DENSE:
        D = D.astype(float)
        gram = -0.5 * (D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean())
        values = interruptible(np.linalg.eigvalsh, gram)
        return float(values[0]) if values[0] < -negligible * abs(values[-1]) else 0.0
    from scipy.sparse.linalg import LinearOperator, eigsh

    def gram_times(v: np.ndarray) -> np.ndarray:
        v = v.reshape(-1) - v.mean()
        image = np.asarray(D @ v.astype(D.dtype), dtype=float)
        return -0.5 * (image - image.mean())

    start = np.random.RandomState(0).normal(size=n)
    precision = 1e-7 if D.dtype == np.float64 else 1e-4
    operator = LinearOperator((n, n), matvec=gram_times, dtype=float)
    largest = float(eigsh(operator, k=1, which="LM", v0=start, tol=precision, return_eigenvectors=False)[0])
    if largest < 0:
        return largest * (1 + precision)
    # what is smallest for the one is largest for the other, and the largest is found to a relative precision
    mirrored = LinearOperator((n, n), matvec=lambda v: largest * v.reshape(-1) - gram_times(v), dtype=float)
    reach = float(eigsh(mirrored, k=1, which="LA", v0=start, tol=precision, return_eigenvectors=False)[0])
    smallest = largest - reach
    return smallest - precision * reach if smallest < -10 * precision * largest else 0.0


def pair_quantile(D: np.ndarray, weights: np.ndarray, share: float, zero: float = 0.0) -> float:
    """The smallest dissimilarity that a share of the pairs of different objects does not exceed; 0 without pairs.

    ``weights`` are those of the objects, or empty if all count alike; dissimilarities up to ``zero`` are rounding
    errors, of objects that do not differ.
    """
    positive = np.greater(D, zero)
    values = D[positive]
    if len(weights) == 0 or (weights == weights[0]).all():
        if len(values) == 0:
            return 0.0
        rank = max(int(np.ceil(share * len(values) * _ROUNDED)) - 1, 0)
        return float(np.partition(values, rank)[rank])
    pair_weights = np.outer(weights, weights)[positive]
    return _weighted_quantile(values, pair_weights, share) if pair_weights.any() else 0.0


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The smallest value that a share of the weights does not exceed. Only values near it, as some of them tell, are
    sorted."""
    target = share * weights.sum() * _ROUNDED
    step = max(1, len(values) // _PROBES)
    probes = np.argsort(values[::step]) * step
    reach = np.cumsum(weights[probes])
    low, high = (
        values[probes[min(int(np.searchsorted(reach, bound * reach[-1])), len(probes) - 1)]]
        for bound in (share - _MARGIN, share + _MARGIN)
    )
    below = float(weights[values < low].sum())
    near = (values >= low) & (values <= high)
    if not below < target <= below + weights[near].sum():
        below, near = 0.0, np.ones(len(values), dtype=bool)
    values, weights = values[near], weights[near]
    order = np.argsort(values, kind="stable")
    reach = below + np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(reach, target)), len(order) - 1)]])


def check_different_objects(
    dissimilarities: Callable[[int], np.ndarray], weights: np.ndarray, n_clusters: int, zero: float = 0.0
) -> None:
    """As many objects with a weight apart from each other as clusters are needed; ``dissimilarities(i)`` are those of
    object i."""
    counts = weights > 0
    nearest = np.where(counts, dissimilarities(int(counts.argmax())), 0)
    for count in range(1, n_clusters):
        farthest = int(nearest.argmax())
        if nearest[farthest] <= zero:
            raise too_few(n_clusters, count, weights)
        np.minimum(nearest, dissimilarities(farthest), out=nearest)
