"""Compiled loops over objects whose attributes are numbers of categories (``category_kernels.c``)."""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["accumulate", "write_masses"]

_category_sums = kernel("""category_sums(
    codes: int64[n, p] below categories, weights: float64[n], table: float64[categories, g], share: float64[g, c],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    counts: float64[categories, c] out) -> float""")
_category_masses = kernel("""category_masses(
    codes: int64[n, p] below categories or -1, table: float64[categories, g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: float64[n, f] out)""")


def accumulate(
    codes: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    table: np.ndarray,
    share: np.ndarray,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
) -> tuple[float, np.ndarray]:
    """Objective of rows start..stop, and for every category and cluster the sum of the weights with which it would
    lower the cost.

    ``table`` (categories, g) holds the mismatch of each category with each set, ``share`` (g, c) the weight with which
    a mass on a set counts for each of its clusters.
    """
    counts = np.empty((len(table), share.shape[1]))
    objective = _category_sums(
        codes[start:stop], weights[start:stop], table, share, factor, size, delta2, beta, zero, counts
    )
    return objective, counts


def write_masses(
    codes: np.ndarray,
    start: int,
    stop: int,
    table: np.ndarray,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
    columns: np.ndarray,
    empty_column: int,
    out: np.ndarray,
) -> None:
    """Masses of rows start..stop into the columns of the family; a category that no prototype has is -1."""
    _category_masses(codes[start:stop], table, factor, size, delta2, beta, zero, columns, empty_column, out[start:stop])
