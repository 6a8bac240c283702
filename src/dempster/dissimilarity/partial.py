"""Distances between rows with missing values, and imputation.

A missing value contains no information about the cluster of an object. It therefore adds the same
term to the squared distances of an object x to all cluster centers v. For attribute d this term is
the expected squared difference, the variance s_d^2 within clusters,

    |x - v|^2 = sum_{d observed} (x_d - v_d)^2 + sum_{d missing} s_d^2.

The term in the squared distance between two objects is 2 s_d^2 if one of the objects lacks
attribute d. On average, distances are neither too small nor too large. The distances of an
incomplete object to different clusters become more similar, so its masses are less certain. The
partial distances of Hathaway and Bezdek (2001) multiply the sum over the observed attributes by
their inverse proportion. They give the same clusters, but the masses of incomplete objects are as
certain as those of complete objects (``docs/missing.md``).
"""

from __future__ import annotations

import numpy as np

from dempster._arrays import clip_to_range, row_slices
from dempster._validation import has_missing

_MAX_DONORS = 1000  # maximum number of rows from which values are imputed
_MAX_CELLS = 4_000_000  # maximum number of squared distances in memory
# two rows may be equal if their squared distance divided by the squared norm is at most this value
_EQUAL_TOL = 1e-9


# ---- squared distances ---------------------------------------------------------------------------


def squared_distances_to_points(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the squared distances to k complete points over the observed attributes."""
    middle = clip_to_range(points.mean(axis=0), points)
    present = ~np.isnan(X)
    Z = np.where(present, X - middle, 0.0)
    V = points - middle
    squares = (-2 * Z) @ V.T
    squares += np.einsum("nd,nd->n", Z, Z)[:, None]
    squares += present.astype(float) @ np.square(V).T
    return np.maximum(squares, 0, out=squares)


def partial_squares(A: np.ndarray, B: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return the squared distances between the rows of A and the rows of B, shape (a, b).

    If a value is missing in one of two rows, the attribute adds twice its variance ``within``
    clusters. The distance of equal rows with the same missing values is zero.
    """
    middle = _column_means(B)
    here = (~np.isnan(A)).astype(float)
    there = (~np.isnan(B)).astype(float)
    Za = np.where(here, A - middle, 0.0)
    Zb = np.where(there, B - middle, 0.0)
    terms = np.square(Za)
    squares = (-2 * Za) @ Zb.T
    squares += terms @ there.T
    squares += here @ np.square(Zb).T
    np.maximum(squares, 0, out=squares)
    expected = 2 * within
    missing_here = 1 - here
    missing_there = 1 - there
    lacking = missing_here @ expected
    gaps = (here * expected) @ missing_there.T
    gaps += lacking[:, None]
    squares += gaps
    norms = terms.sum(axis=1)
    bounds = lacking + _EQUAL_TOL * norms
    i, j = np.nonzero(squares <= bounds[:, None])
    equal = are_rows_equal(A[i], B[j])
    squares[i[equal], j[equal]] = 0
    return squares


def pair_squares(A: np.ndarray, B: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return the squared distances between row i of A and row i of B for all i, shape (n,).

    See `partial_squares`.
    """
    terms = np.square(A - B, dtype=float)
    terms = np.where(np.isnan(terms), 2 * within, terms)
    squares = terms.sum(axis=1)
    squares[are_rows_equal(A, B)] = 0
    return squares


def are_rows_equal(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return for each i whether row i of A equals row i of B and has the same missing values."""
    are_missing = np.isnan(A) & np.isnan(B)
    are_equal = are_missing | (A == B)
    return are_equal.all(axis=1)


# ---- imputation ----------------------------------------------------------------------------------


def impute_missing(X: np.ndarray) -> np.ndarray:
    """Replace each missing value by its mean over the nearest rows in which it is observed.

    Complete rows are needed for initial prototypes, for the selection of the number of clusters,
    and for plots. At most 1,000 distinct rows are candidates, and the number of nearest rows is the
    square root of the number of candidates. If a column is missing in all candidates, its mean is
    used, and zero if it has no observed value. The result does not depend on the order of the rows
    or on duplicate rows. If no value is missing, X is returned unchanged.
    """
    if not has_missing(X):
        return X
    donors = _select_donors(X)
    near = round(np.sqrt(len(donors)))
    means = _column_means(X)
    variances = _column_means(np.square(X - means))
    out = X.copy()
    is_incomplete = np.isnan(X).any(axis=1)
    incomplete = np.flatnonzero(is_incomplete)
    block_rows = _MAX_CELLS // len(donors)
    for block in row_slices(len(incomplete), block_rows):
        which = incomplete[block]
        rows = X[which]
        squares = partial_squares(rows, donors, variances)
        is_missing = np.isnan(rows)
        incomplete_columns = is_missing.any(axis=0)
        for d in np.flatnonzero(incomplete_columns):
            column = donors[:, d]
            missing = np.flatnonzero(is_missing[:, d])
            observed = np.flatnonzero(~np.isnan(column))
            values = column[observed] - means[d]
            compared = squares[np.ix_(missing, observed)]
            imputed = _mean_of_nearest(compared, values, near)
            out[which[missing], d] = means[d] + imputed
    return out


def _column_means(X: np.ndarray) -> np.ndarray:
    """Return the mean of the observed values of each column, or zero if there are none."""
    present = ~np.isnan(X)
    filled = np.where(present, X, 0)
    total = filled.sum(axis=0, dtype=float)
    count = np.maximum(present.sum(axis=0), 1)
    return clip_to_range(total / count, X)


def _mean_of_nearest(squares: np.ndarray, values: np.ndarray, near: int) -> np.ndarray:
    """Return for each row the mean of ``values`` over the ``near`` smallest ``squares``."""
    n_values = len(values)
    if n_values == 0:
        return np.zeros(len(squares))
    k = min(near, n_values) - 1
    largest = np.partition(squares, k)[:, [k]]
    is_near = squares <= largest * (1 + 1e-12)
    totals = is_near @ values
    return totals / is_near.sum(axis=1)


def _select_donors(X: np.ndarray) -> np.ndarray:
    """Return at most 1,000 distinct rows, which do not depend on the order of the rows of X."""
    order = np.lexsort(X.T)
    ordered = X[order]
    is_repeated = are_rows_equal(ordered[1:], ordered[:-1])
    is_first = np.append(True, ~is_repeated)
    distinct = ordered[is_first]
    n_distinct = len(distinct)
    n_donors = min(n_distinct, _MAX_DONORS)
    places = np.linspace(0, n_distinct - 1, n_donors)
    which = np.unique(places.astype(int))
    return distinct[which]
