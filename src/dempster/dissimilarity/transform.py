"""Conversion of dissimilarities to degrees of conflict, and random pairs of objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from dempster._arrays import row_slices
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import ArrayPair
from dempster._validation import as_reals, check, real
from dempster.dissimilarity.sources import rounding

LARGE_CONFLICT = 0.95  # degree of conflict of two objects with dissimilarity d0
_N_NEAREST = 10  # number of neighbors used to estimate the intrinsic dimension


def decay(d0: float) -> float:
    """Return gamma such that the degree of conflict 1 - exp(-gamma d0^2) is 0.95."""
    return -np.log(1 - LARGE_CONFLICT) / d0**2


def to_conflict(dissimilarities: Any, d0: float) -> np.ndarray:
    """Convert dissimilarities d to degrees of conflict 1 - exp(-gamma d^2).

    The degree of conflict is 0 for d = 0 and 0.95 for d = d0, which determines gamma (Denoeux,
    2021, equation 6).

    Parameters
    ----------
    dissimilarities : array-like of any shape
        Nonnegative dissimilarities.
    d0 : float > 0
        Dissimilarity for which the plausibility that two objects are in different clusters is 0.95.

    Returns
    -------
    array of the same shape
        Degrees of conflict in [0, 1].

    Examples
    --------
    >>> from dempster.dissimilarity import to_conflict
    >>> to_conflict([0, 1, 2], d0=2).round(2)
    array([0.  , 0.53, 0.95])
    """
    check(d0, "d0", real(0, open_low=True))
    d = as_reals(dissimilarities, "dissimilarities")
    if not (d >= 0).all():
        must = "not contain negative numbers or NaN"
        raise InvalidParameterError("dissimilarities", must=must)
    return conflicts_at(d, d0)


def conflicts_at(d: np.ndarray, d0: float) -> np.ndarray:
    """Return the degrees of conflict for validated dissimilarities; see `to_conflict`."""
    log_agreement = np.log(1 - LARGE_CONFLICT)
    with np.errstate(over="ignore"):
        return -np.expm1(log_agreement * np.square(d / float(d0)))


def default_quantile(n_clusters: int) -> float:
    """Return the default level of the quantile of the dissimilarities that is used as d0.

    The level is 0.8 for c <= 4 clusters and 2.5 / c for more. The proportion of pairs of objects
    within one cluster decreases like 1 / c, and so do the levels in the literature (about 0.5, 0.2
    and 0.1 for 7, 15 and 31 clusters). For few clusters the literature uses 0.9. Smaller levels
    recover the classes of the published data sets better, but give fewer ambiguous objects and more
    outliers. The value 0.8 is a compromise.
    """
    if n_clusters <= 4:
        return 0.8
    return 2.5 / n_clusters


def scale_at(
    dissimilarities: np.ndarray,
    quantile: float,
    weights: np.ndarray | None = None,
    *,
    zero: bool = False,
) -> float:
    """Return d0, the (weighted) quantile of the dissimilarities.

    Raise if it is zero, unless ``zero`` is True.
    """
    if weights is None:
        d0 = float(np.quantile(dissimilarities, quantile))
    else:
        order = np.argsort(dissimilarities, kind="stable")
        reach = np.cumsum(weights[order])
        place = np.searchsorted(reach, quantile * reach[-1] * (1 - 1e-12))
        which = order[min(place, len(order) - 1)]
        d0 = float(dissimilarities[which])
    if not d0 > 0 and not zero:
        if np.any(dissimilarities > 0):
            raise InvalidInputError(
                f"the {quantile:g} quantile of the dissimilarities is 0, but d0 must be positive; "
                "set d0 or a larger d0_quantile"
            )
        raise InvalidInputError("all dissimilarities in X are zero")
    return d0


# ---- dimension -----------------------------------------------------------------------------------


def intrinsic_dimension(D: np.ndarray) -> float:
    """Estimate the intrinsic dimension of n objects from the (n, n) dissimilarities D between them.

    For each object, Levina and Bickel (2004) give a maximum-likelihood estimate of the dimension
    from the distances to its nearest neighbors. The result is the harmonic mean of these estimates
    over the objects, as proposed by MacKay and Ghahramani.
    """
    k = min(_N_NEAREST, len(D) - 1)
    if k < 2:
        return 1.0
    to_itself = np.diag(np.full(len(D), np.inf))
    near = np.partition(D + to_itself, range(k))[:, :k]
    # Exclude objects with duplicates, for which the estimate is undefined.
    near = near[near[:, 0] > 0]
    if len(near) == 0:
        return 1.0
    ratios = near[:, -1:] / near[:, :-1]
    slopes = np.log(ratios).mean(axis=1)
    return float(1 / max(slopes.mean(), 1e-3))


# ---- pairs of objects ----------------------------------------------------------------------------


def random_pairs(n: int, k: int, rng: np.random.Generator) -> ArrayPair:
    """Draw k random partners for each of n objects.

    Return the p distinct pairs (i, j) with i < j, shape (p, 2), and how often each pair was drawn
    (once or twice). The pairs contain a random cycle through all objects, so that their graph is
    connected. Otherwise the clusters of its connected components would be numbered independently.
    """
    if k >= n - 1:
        pairs = np.column_stack(np.triu_indices(n, 1))
        return pairs, np.full(len(pairs), 2.0)
    cycle = rng.permutation(n)
    follower = np.empty(n, np.int64)
    follower[cycle] = np.roll(cycle, -1)
    partner = np.empty((n, k), np.int64)
    partner[:, 0] = follower
    objects = np.arange(n)
    for block in row_slices(n, 4096):
        some = objects[block]
        partner[block, 1:] = _distinct_partners(n, some, follower[block], k - 1, rng)
    pairs = np.column_stack([np.repeat(objects, k), partner.ravel()])
    low, high = np.sort(pairs).T
    code, count = np.unique(low * n + high, return_counts=True)
    pairs = np.column_stack([code // n, code % n])
    return pairs, count.astype(float)


def _distinct_partners(
    n: int, objects: np.ndarray, taken: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw k distinct partners of each object, other than itself and its partner in ``taken``."""
    b = len(objects)
    if 4 * k > n:
        rows = np.arange(b)
        keys = rng.random((b, n))
        keys[rows, objects] = 2
        keys[rows, taken] = 2
        return np.argpartition(keys, max(k - 1, 0))[:, :k]
    chosen = rng.integers(0, n, (b, k))
    # Draw again where a partner is repeated, is the object itself, or is in taken.
    while True:
        everything = np.column_stack([objects, taken, chosen])
        order = np.argsort(everything, kind="stable")
        ordered = np.take_along_axis(everything, order, axis=1)
        equals_previous = ordered[:, 1:] == ordered[:, :-1]
        repeated = np.zeros_like(everything, bool)
        np.put_along_axis(repeated, order[:, 1:], equals_previous, axis=1)
        bad = repeated[:, 2:]
        if not bad.any():
            return chosen
        chosen[bad] = rng.integers(0, n, int(bad.sum()))


def sample_pairs(n: int, n_pairs: int, rng: np.random.Generator) -> ArrayPair:
    """Draw pairs of different objects uniformly with replacement, and return their indices."""
    i = rng.integers(0, n, n_pairs)
    j = rng.integers(0, n - 1, n_pairs)
    return i, j + (j >= i)


def pairs_of_sparse(
    D: sparse.spmatrix, *, symmetrize: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pairs i < j in a sparse matrix, their numbers of entries, and dissimilarities.

    A pair may be stored above the diagonal, below it, or both. Two entries of a pair must be equal;
    if ``symmetrize`` is True, their mean is used instead. Stored zeros are dissimilarities of 0.
    """
    coo = D.tocoo()
    i = coo.row.astype(np.int64)
    j = coo.col.astype(np.int64)
    d = np.asarray(coo.data, float)
    off = i != j
    if np.any(d[~off] != 0):
        raise InvalidParameterError("X", must="have a zero diagonal")
    n = D.shape[0]
    code = (np.minimum(i, j) * n + np.maximum(i, j))[off]
    order = np.argsort(code, kind="stable")
    d = d[off][order]
    unique, first, count = np.unique(code[order], return_index=True, return_counts=True)
    low = np.minimum.reduceat(d, first)
    high = np.maximum.reduceat(d, first)
    if not symmetrize and np.any(high - low > rounding(D.dtype) * high):
        worst = (high - low).argmax()
        a, b = divmod(unique[worst], n)
        got = f"{low[worst]:.6g} and {high[worst]:.6g} for the pair ({a}, {b})"
        advice = "set symmetrize=True to use the mean of the two"
        raise InvalidParameterError("X", must=f"be symmetric, got {got}; {advice}")
    pairs = np.column_stack([unique // n, unique % n])
    return pairs, count.astype(float), np.add.reduceat(d, first) / count


def choose_landmarks(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Draw p distinct objects at random and return their sorted indices."""
    if p >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, p, replace=False))
