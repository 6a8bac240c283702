"""Compiled sums of Gower's dissimilarity, on encoded tables: see `evidentia.dissimilarity.gower`."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["MISSING", "UNSEEN", "fill_block", "fill_pairs"]

MISSING = -1  # code of a cell that is missing
UNSEEN = -2  # code of a category that the encoder does not know
_TILE = 1024  # columns of a block whose sums stay in the first cache


@njit(cache=True, nogil=True, error_model="numpy")
def _add_numbers(x, others, weight, total, present):
    """Add one numeric column of one object against many; NaN is missing."""
    zero, one = total.dtype.type(0), total.dtype.type(1)
    for j in range(others.shape[0]):
        gap = abs(x - others[j])
        there = gap == gap
        gap = gap if gap < one else one  # new objects may lie outside the range
        total[j] += weight * gap if there else zero
        present[j] += weight if there else zero


@njit(cache=True, nogil=True, error_model="numpy")
def _add_categories(code, others, weight, total, present):
    """Add one categorical column of one object against many; an unseen category differs from every other."""
    zero = total.dtype.type(0)
    for j in range(others.shape[0]):
        there = others[j] != MISSING
        differs = there and (others[j] != code or code == UNSEEN)
        total[j] += weight if differs else zero
        present[j] += weight if there else zero


@njit(cache=True, nogil=True, error_model="numpy")
def fill_block(numeric, codes, other_numeric, other_codes, numeric_weights, code_weights, out):
    """Dissimilarities of a rows to b others, stored column by column; returns a pair without common columns or -1.

    The columns of the table are added in the same order whatever the pair, so that d(x, y) = d(y, x) to the last bit
    and no sum passes the sum of its weights.
    """
    n_rows, n_others = out.shape
    sums = np.empty(min(_TILE, n_others), out.dtype)
    apart = -1
    for begin in range(0, n_others, _TILE):
        end = min(begin + _TILE, n_others)
        for i in range(n_rows):
            total, present = out[i, begin:end], sums[: end - begin]
            total[:] = 0
            present[:] = 0
            for k in range(numeric.shape[1]):
                if not np.isnan(numeric[i, k]):
                    _add_numbers(numeric[i, k], other_numeric[k, begin:end], numeric_weights[k], total, present)
            for k in range(codes.shape[1]):
                if codes[i, k] != MISSING:
                    _add_categories(codes[i, k], other_codes[k, begin:end], code_weights[k], total, present)
            for j in range(end - begin):
                if apart < 0 and not present[j] > 0:
                    apart = i * n_others + begin + j
                total[j] = total[j] / present[j]  # 0 / 0 is NaN
    return apart


@njit(cache=True, nogil=True, error_model="numpy")
def fill_pairs(numeric, codes, i, other_numeric, other_codes, j, numeric_weights, code_weights, out):
    """Dissimilarities of chosen pairs; returns the position of a pair without common columns or -1."""
    apart = -1
    for e in range(out.shape[0]):
        a, b = i[e], j[e]
        total = out.dtype.type(0)
        present = out.dtype.type(0)
        for k in range(numeric.shape[1]):
            gap = abs(numeric[a, k] - other_numeric[b, k])
            if not np.isnan(gap):
                total += numeric_weights[k] * min(gap, out.dtype.type(1))
                present += numeric_weights[k]
        for k in range(codes.shape[1]):
            first, second = codes[a, k], other_codes[b, k]
            if first != MISSING and second != MISSING:
                if first != second or first == UNSEEN:
                    total += code_weights[k]
                present += code_weights[k]
        if apart < 0 and not present > 0:
            apart = e
        out[e] = total / present
    return apart
