"""From dissimilarities to degrees of conflict."""

from __future__ import annotations

import numpy as np

from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster._validation import as_reals, is_number, shown

__all__ = ["to_conflict", "conflicts_among", "decay", "default_quantile", "scale_at", "LARGE_CONFLICT"]

LARGE_CONFLICT = 0.95  # conflict of two objects at dissimilarity d0
_LOST = 1e-4  # of an exponent, which single precision may lose

_conflicts = kernel("transform_conflicts(products: float32[n, n] out, half: float32[n])")


def decay(d0: float) -> float:
    """gamma in delta = 1 - exp(-gamma d^2), such that delta(d0) = 0.95."""
    return -np.log(1 - LARGE_CONFLICT) / d0**2


def to_conflict(dissimilarities: np.ndarray, d0: float) -> np.ndarray:
    """delta = 1 - exp(-gamma d^2): 0 for identical objects, 0.95 at d0 (Denoeux, 2021, eq. 4).

    Parameters
    ----------
    dissimilarities : array of any shape
        Not negative.
    d0 : float > 0
        From here on two objects must be in different clusters.

    Examples
    --------
    >>> from dempster.dissimilarity import to_conflict
    >>> to_conflict([0, 1, 2], d0=2).round(2)
    array([0.  , 0.53, 0.95])
    """
    if not is_number(d0) or not 0 < d0 < np.inf:
        raise InvalidInputError(f"d0 must be a number above 0, got {shown(d0)}")
    d = as_reals(dissimilarities, "dissimilarities")
    if not (d >= 0).all():
        raise InvalidInputError("dissimilarities must not hold negative numbers or NaN")
    with np.errstate(over="ignore"):  # as far apart as can be
        return -np.expm1(np.log(1 - LARGE_CONFLICT) * np.square(d / float(d0)))


def conflicts_among(points: np.ndarray, gamma: float) -> np.ndarray:
    """delta = 1 - exp(-gamma d^2) of all pairs of points, from Euclidean distances, in single precision; the diagonal
    is zero.

    One product gives all distances; in double precision where points far from the others would cost it too many
    digits.
    """
    scaled = (points - points.mean(axis=0)) * (2 * gamma) ** 0.5
    half = 0.5 * np.einsum("id,id->i", scaled, scaled)
    if half.max() * np.finfo(np.float32).eps < _LOST:
        single, half = scaled.astype(np.float32), half.astype(np.float32)
        delta = single @ np.ascontiguousarray(single.T)  # of a plain transpose NumPy would ask a slower product
    else:
        delta, half = (scaled @ scaled.T - half[:, None] - half).astype(np.float32), np.zeros(len(half), np.float32)
    _conflicts(delta, half)
    np.fill_diagonal(delta, 0)
    return delta


def default_quantile(n_clusters: int) -> float:
    """Quantile of the dissimilarities taken as d0: 0.8 up to four clusters, 2.5 / c beyond.

    The share of pairs that lie in one cluster falls like 1 / c, and the published choices (about 0.5, 0.2 and 0.1 for
    7, 15 and 31 clusters) fall with it. For few clusters the papers take 0.9. Smaller values
    find the classes of their datasets better, but make fewer objects ambiguous and more of them outliers; 0.8 lies
    between.
    """
    return 0.8 if n_clusters <= 4 else 2.5 / n_clusters


def scale_at(
    dissimilarities: np.ndarray, quantile: float, weights: np.ndarray | None = None, *, zero: bool = False
) -> float:
    """d0, the dissimilarity at a quantile; with weights the smallest that at least this share does not exceed.

    ``zero``: zero may come out, which is no scale.
    """
    if weights is None:
        d0 = float(np.quantile(dissimilarities, quantile))
    else:
        order = np.argsort(dissimilarities, kind="stable")
        reach = np.cumsum(weights[order])
        place = np.searchsorted(reach, quantile * reach[-1] * (1 - 1e-12))
        d0 = float(dissimilarities[order[min(place, len(order) - 1)]])
    if not d0 > 0 and not zero:
        if np.any(dissimilarities > 0):
            raise InvalidInputError(
                f"the {quantile:g} quantile of the dissimilarities is 0, which cannot serve as d0: "
                "give d0, or a larger d0_quantile"
            )
        raise InvalidInputError("all dissimilarities are zero: there is nothing to tell the objects apart")
    return d0
