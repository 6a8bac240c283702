"""Compiled sums of Gower's dissimilarity (``gower.c``), on encoded tables: see `dempster.dissimilarity.gower`."""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["MISSING", "UNSEEN", "fill_block", "fill_pairs"]

MISSING = -1  # code of a cell that is missing
UNSEEN = -2  # code of a category that the encoder does not know

_block = kernel("""gower_block(
    numeric: real[a, p], codes: int32[a, q], other_numeric: real[p, b], other_codes: int32[q, b],
    numeric_weights: real[p], code_weights: real[q], out: real[a, b] out) -> int""")
_pairs = kernel("""gower_pairs(
    numeric: real[a, p], codes: int32[a, q], first: int64[n] below a, other_numeric: real[b, p],
    other_codes: int32[b, q], second: int64[n] below b, numeric_weights: real[p], code_weights: real[q],
    out: real[n] out) -> int""")


def fill_block(
    numeric: np.ndarray,
    codes: np.ndarray,
    other_numeric: np.ndarray,
    other_codes: np.ndarray,
    numeric_weights: np.ndarray,
    code_weights: np.ndarray,
    out: np.ndarray,
) -> int:
    """Write dissimilarities (a, b) of rows to others, which are stored column by column.

    Returns the first pair without common columns (its place in ``out``), or -1.
    """
    return _block(numeric, codes, other_numeric, other_codes, numeric_weights, code_weights, out)


def fill_pairs(
    numeric: np.ndarray,
    codes: np.ndarray,
    i: np.ndarray,
    other_numeric: np.ndarray,
    other_codes: np.ndarray,
    j: np.ndarray,
    numeric_weights: np.ndarray,
    code_weights: np.ndarray,
    out: np.ndarray,
) -> int:
    """Write dissimilarities of chosen pairs; returns the place of the first pair without common columns, or -1."""
    return _pairs(numeric, codes, i, other_numeric, other_codes, j, numeric_weights, code_weights, out)
