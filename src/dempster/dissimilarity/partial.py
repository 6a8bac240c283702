"""Rows of which cells are missing: how far apart they are, and a stand-in where points are needed.

An attribute that is missing says nothing about which cluster an object belongs to. So it adds to every squared distance
the same, what it adds on average between an object and its own cluster: its variance s_d^2 within clusters,

    |x - v|^2 = sum_{d present} (x_d - v_d)^2 + sum_{d missing} s_d^2,

and twice that between two objects one of which lacks it. Distances keep their size, and the less of an object is known
the more alike are its distances to all clusters: it is in more doubt. The partial distances of Hathaway and Bezdek
(2001), which extrapolate from the attributes that are there, p / |present| times their sum, find the same clusters but
are as certain of an object with half of its values as of one with all (``docs/missing.md``).
"""

from __future__ import annotations

import numpy as np

from dempster._validation import clip_to_range, has_missing
from dempster.optimize.blocks import row_blocks

_KNOWN = 1000  # objects whose cells serve for those that are missing
_CELLS = 4_000_000  # numbers held at once
_TWINS = 1e-9  # squared distance, relative to the squares of the rows, up to which they may be equal


# ---- squared distances ----------------------------------------------------------------------------------------------


def point_squares(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, k) squared distances of rows to complete points over the attributes that the rows have, in double precision.

    Three products of matrices; digits are kept by counting from the middle of the points.
    """
    middle = clip_to_range(points.mean(axis=0), points)
    present = ~np.isnan(X)
    Z, V = np.where(present, X - middle, 0.0), points - middle
    squares = (-2 * Z) @ V.T
    squares += np.einsum("nd,nd->n", Z, Z)[:, None]
    squares += present.astype(float) @ np.square(V).T
    return np.maximum(squares, 0, out=squares)


def partial_squares(A: np.ndarray, B: np.ndarray, within: np.ndarray) -> np.ndarray:
    """(a, b) squared distances between rows, where an attribute that one of the two lacks adds twice its variance
    ``within`` clusters. Rows that are equal, missing cells too, are one object, at distance zero."""
    squares, here, there = _shared_squares(A, B)
    lacking = (1 - here) @ within
    squares += 2 * (lacking[:, None] + (here * within) @ (1 - there).T)
    size = np.square(np.where(np.isnan(A), 0, A - _column_means(B))).sum(axis=1)
    i, j = np.nonzero(squares <= (2 * lacking + _TWINS * size)[:, None])
    twins = same_rows(A[i], B[j])
    squares[i[twins], j[twins]] = 0
    return squares


def pair_squares(A: np.ndarray, B: np.ndarray, within: np.ndarray) -> np.ndarray:
    """(n,) the same for every row of A and the row of B beside it."""
    gap = np.square(A - B, dtype=float)
    squares = np.where(np.isnan(gap), 2 * within, gap).sum(axis=1)
    squares[same_rows(A, B)] = 0
    return squares


def same_rows(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """(n,) whether rows are equal to those beside them, missing cells too."""
    return ((A == B) | (np.isnan(A) & np.isnan(B))).all(axis=1)


def _shared_squares(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(a, b) squared distances over the attributes that both rows have, and who has which: (a, p) and (b, p) arrays of
    zeros and ones."""
    in_a, in_b = ~np.isnan(A), ~np.isnan(B)
    middle = _column_means(B)
    Za, Zb = np.where(in_a, A - middle, 0.0), np.where(in_b, B - middle, 0.0)
    here, there = in_a.astype(float), in_b.astype(float)
    squares = (-2 * Za) @ Zb.T
    squares += np.square(Za) @ there.T
    squares += here @ np.square(Zb).T
    return np.maximum(squares, 0, out=squares), here, there


# ---- stand-ins ------------------------------------------------------------------------------------------------------


def filled(X: np.ndarray) -> np.ndarray:
    """The rows with a stand-in for every missing cell: the mean over the nearest rows that have it; X itself if nothing
    is missing.

    For what needs points and decides nothing by itself: first prototypes, the number of clusters, pictures. Nearest
    are as many as the square root of the number of different rows, among 1,000 of these; an attribute that one of two
    rows lacks counts for twice its variance there, so that rows with much in common come first. The mean of the column
    serves where no other row has the cell. Neither the order of the rows nor repetitions matter.

    Parameters
    ----------
    X : (n, p) array, NaN where a cell is missing; a column without any value becomes zero

    Examples
    --------
    >>> import numpy as np
    >>> filled(np.array([[0.0, 1.0], [0.1, np.nan], [0.2, 1.5], [9.0, 8.0], [9.2, 8.2]]))[1].tolist()
    [0.1, 1.25]
    """
    if not has_missing(X):
        return X
    known = _known_rows(X)
    near = max(1, round(np.sqrt(len(known))))
    means = _column_means(X)
    variances = _column_means(np.square(X - means))
    out = X.copy()
    lacking = np.flatnonzero(np.isnan(X).any(axis=1))
    for start, stop in row_blocks(len(lacking), max(1, _CELLS // len(known)), most=None):
        rows = X[lacking[start:stop]]
        squares = partial_squares(rows, known, variances)
        for d in np.flatnonzero(np.isnan(rows).any(axis=0)):
            who, have = np.flatnonzero(np.isnan(rows[:, d])), np.flatnonzero(~np.isnan(known[:, d]))
            values = known[have, d] - means[d]
            out[lacking[start + who], d] = means[d] + _mean_of_nearest(squares[np.ix_(who, have)], values, near)
    return out


def _column_means(X: np.ndarray) -> np.ndarray:
    """Over the cells that are there; zero where there are none."""
    present = ~np.isnan(X)
    mean = np.where(present, X, 0).sum(axis=0, dtype=float) / np.maximum(present.sum(axis=0), 1)
    return clip_to_range(mean, X)


def _mean_of_nearest(squares: np.ndarray, values: np.ndarray, near: int) -> np.ndarray:
    """For each row the mean of the values at the nearest columns, and at those that are as near; zero if there are
    none."""
    if squares.shape[1] == 0:
        return np.zeros(len(squares))
    k = min(near, squares.shape[1]) - 1
    reach = np.partition(squares, k, axis=1)[:, k : k + 1]
    chosen = squares <= reach * (1 + 1e-12)
    return chosen @ values / chosen.sum(axis=1)


def _known_rows(X: np.ndarray) -> np.ndarray:
    """Different rows, some of them if they are many, the same whatever the order of the rows."""
    ordered = X[np.lexsort(X.T)]
    different = ordered[np.concatenate([[True], ~same_rows(ordered[1:], ordered[:-1])])]
    return different[np.unique(np.linspace(0, len(different) - 1, min(len(different), _KNOWN)).astype(int))]
