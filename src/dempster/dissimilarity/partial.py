"""Distances between rows with missing values, and imputation for steps that need complete rows.

A missing attribute contains no information about the cluster of an object. It therefore adds the same to the squared
distances to all clusters: its expected contribution, the variance s_d^2 within clusters,

    |x - v|^2 = sum_{d observed} (x_d - v_d)^2 + sum_{d missing} s_d^2,

and 2 s_d^2 to the squared distance between two objects if one of them lacks it. Distances keep their scale, and the
distances of an incomplete object to all clusters are more similar, so its masses are less certain. The partial
distances of Hathaway and Bezdek (2001), p / |observed| times the sum over the observed attributes, give the same
clusters, but masses as certain as for complete objects (``docs/missing.md``).
"""

from __future__ import annotations

import numpy as np

from dempster._validation import clip_to_range, has_missing
from dempster.optimize.blocks import row_blocks

_MAX_DONORS = 1000  # rows used for imputation
_MAX_CELLS = 4_000_000  # numbers in memory at once
_EQUAL_TOL = 1e-9  # squared distance, relative to the squares of the rows, up to which rows may be equal


# ---- squared distances ----------------------------------------------------------------------------------------------


def squared_distances_to_points(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return (n, k) squared distances of rows to complete points over the observed attributes, in double precision."""
    middle = clip_to_range(points.mean(axis=0), points)
    present = ~np.isnan(X)
    Z, V = np.where(present, X - middle, 0.0), points - middle
    squares = (-2 * Z) @ V.T
    squares += np.einsum("nd,nd->n", Z, Z)[:, None]
    squares += present.astype(float) @ np.square(V).T
    return np.maximum(squares, 0, out=squares)


def partial_squares(A: np.ndarray, B: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return (a, b) squared distances; an attribute that one row lacks adds twice its variance ``within`` clusters.

    The distance of equal rows, with the same missing values, is zero.
    """
    squares, here, there = _shared_squares(A, B)
    lacking = (1 - here) @ within
    squares += 2 * (lacking[:, None] + (here * within) @ (1 - there).T)
    size = np.square(np.where(np.isnan(A), 0, A - _column_means(B))).sum(axis=1)
    i, j = np.nonzero(squares <= (2 * lacking + _EQUAL_TOL * size)[:, None])
    twins = are_rows_equal(A[i], B[j])
    squares[i[twins], j[twins]] = 0
    return squares


def pair_squares(A: np.ndarray, B: np.ndarray, within: np.ndarray) -> np.ndarray:
    """Return (n,) squared distances between corresponding rows; see `partial_squares`."""
    gap = np.square(A - B, dtype=float)
    squares = np.where(np.isnan(gap), 2 * within, gap).sum(axis=1)
    squares[are_rows_equal(A, B)] = 0
    return squares


def are_rows_equal(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the (n,) mask of corresponding rows that are equal, with the same missing values."""
    return ((A == B) | (np.isnan(A) & np.isnan(B))).all(axis=1)


def _shared_squares(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (a, b) squared distances over common observed attributes, and (a, p) and (b, p) observation indicators."""
    in_a, in_b = ~np.isnan(A), ~np.isnan(B)
    middle = _column_means(B)
    Za, Zb = np.where(in_a, A - middle, 0.0), np.where(in_b, B - middle, 0.0)
    here, there = in_a.astype(float), in_b.astype(float)
    squares = (-2 * Za) @ Zb.T
    squares += np.square(Za) @ there.T
    squares += here @ np.square(Zb).T
    return np.maximum(squares, 0, out=squares), here, there


# ---- imputation -----------------------------------------------------------------------------------------------------


def impute_missing(X: np.ndarray) -> np.ndarray:
    """Impute every missing value by the mean over the nearest rows with an observed value.

    Initial prototypes, the number of clusters and plots need complete rows. The number of nearest rows is the square
    root of the number of distinct rows, of which at most 1,000 are used. If these rows have no value in a column, the
    mean of the column is imputed. The result does not depend on the order and the repetitions of the rows.

    Parameters
    ----------
    X : (n, p) array
        NaN for missing values; X is returned unchanged if no value is missing. A column without values becomes zero.

    Examples
    --------
    >>> import numpy as np
    >>> impute_missing(np.array([[0.0, 1.0], [0.1, np.nan], [0.2, 1.5], [9.0, 8.0], [9.2, 8.2]]))[1].tolist()
    [0.1, 1.25]
    """
    if not has_missing(X):
        return X
    donors = _select_donors(X)
    near = max(1, round(np.sqrt(len(donors))))
    means = _column_means(X)
    variances = _column_means(np.square(X - means))
    out = X.copy()
    incomplete = np.flatnonzero(np.isnan(X).any(axis=1))
    for start, stop in row_blocks(len(incomplete), max(1, _MAX_CELLS // len(donors)), most=None):
        rows = X[incomplete[start:stop]]
        squares = partial_squares(rows, donors, variances)
        for d in np.flatnonzero(np.isnan(rows).any(axis=0)):
            missing, observed = np.flatnonzero(np.isnan(rows[:, d])), np.flatnonzero(~np.isnan(donors[:, d]))
            values = donors[observed, d] - means[d]
            imputed = _mean_of_nearest(squares[np.ix_(missing, observed)], values, near)
            out[incomplete[start + missing], d] = means[d] + imputed
    return out


def _column_means(X: np.ndarray) -> np.ndarray:
    """Return the means over observed values; zero for a column without any."""
    present = ~np.isnan(X)
    mean = np.where(present, X, 0).sum(axis=0, dtype=float) / np.maximum(present.sum(axis=0), 1)
    return clip_to_range(mean, X)


def _mean_of_nearest(squares: np.ndarray, values: np.ndarray, near: int) -> np.ndarray:
    """Return for each row the mean of the values at the nearest columns, ties included; zero without columns."""
    if squares.shape[1] == 0:
        return np.zeros(len(squares))
    k = min(near, squares.shape[1]) - 1
    reach = np.partition(squares, k, axis=1)[:, k : k + 1]
    chosen = squares <= reach * (1 + 1e-12)
    return chosen @ values / chosen.sum(axis=1)


def _select_donors(X: np.ndarray) -> np.ndarray:
    """Return at most 1,000 distinct rows, independently of the order of the rows."""
    ordered = X[np.lexsort(X.T)]
    different = ordered[np.concatenate([[True], ~are_rows_equal(ordered[1:], ordered[:-1])])]
    return different[np.unique(np.linspace(0, len(different) - 1, min(len(different), _MAX_DONORS)).astype(int))]
