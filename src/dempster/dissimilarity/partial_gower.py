"""Gower's dissimilarity of rows of which cells are missing, where a column that is not there says nothing.

Gower (1971) takes the mean over the columns that two rows both have, which extrapolates from few columns and is
undefined for none. Here a column that one of the two lacks counts for its ``usual`` difference within clusters instead,

    d(x, y) = (sum_{k in both} w_k d_k(x, y) + sum_{k not in both} w_k usual_k) / sum_k w_k,

as in `dempster.dissimilarity.partial`. Rows that are equal, missing cells too, are one object.
"""

from __future__ import annotations

import numpy as np

from dempster.dissimilarity._gower_kernels import MISSING
from dempster.dissimilarity.gower import GowerData, gower_block, gower_pairs
from dempster.dissimilarity.partial import same_rows

__all__ = ["column_differences", "partial_gower_block", "partial_gower_pairs", "present_cells"]


def present_cells(data: GowerData) -> np.ndarray:
    """(n, p) ones for the cells that are there and zeros for others: numeric columns, then categorical ones."""
    return np.hstack([~np.isnan(data.numeric), data.codes != MISSING]).astype(float)


def partial_gower_block(A: GowerData, B: GowerData, usual: np.ndarray) -> np.ndarray:
    """(a, b) dissimilarities of all rows of two tables."""
    D = gower_block(A, B, incomparable="nan")
    here, there, w = present_cells(A), present_cells(B), _weights(A)
    if here.all() and there.all():
        return D
    lacking = ((1 - here) @ (w * usual))[:, None]
    D = np.nan_to_num(D) * ((here * w) @ there.T)
    D += lacking + (here * w * usual) @ (1 - there).T
    i, j = np.nonzero(lacking + 1e-12 * w.sum() >= D)  # no difference in what both have
    D /= w.sum()
    twins = _same(A[i], B[j])
    D[i[twins], j[twins]] = 0
    return D


def partial_gower_pairs(data: GowerData, i: np.ndarray, j: np.ndarray, usual: np.ndarray) -> np.ndarray:
    """(e,) dissimilarities of the rows i to the rows j."""
    d = gower_pairs(data, i, data, j, incomparable="nan")
    cells, w = present_cells(data), _weights(data)
    if cells.all():
        return d
    both = cells[i] * cells[j]
    d = np.nan_to_num(d) * (both @ w) + (1 - both) @ (w * usual)
    d /= w.sum()
    d[_same(data[i], data[j])] = 0
    return d


def column_differences(data: GowerData) -> list[np.ndarray]:
    """For each column the (n, n) differences d_k between all rows, NaN where one lacks it; for few rows."""
    numeric = [np.minimum(np.abs(x[:, None] - x), 1) for x in data.numeric.T]
    codes = [np.where(c == MISSING, np.nan, c) for c in data.codes.T.astype(float)]
    return numeric + [np.where(np.isnan(c[:, None] + c), np.nan, c[:, None] != c) for c in codes]


def _weights(data: GowerData) -> np.ndarray:
    return np.concatenate([data.numeric_weights, data.code_weights])


def _same(A: GowerData, B: GowerData) -> np.ndarray:
    return same_rows(A.numeric, B.numeric) & (A.codes == B.codes).all(axis=1)
