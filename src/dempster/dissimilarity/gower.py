"""Gower's dissimilarity for tables with numbers, categories and missing values.

The dissimilarity of two objects x and y is the weighted mean of their differences over the columns
that are observed in both. The difference in a numeric column k is |x_k - y_k| divided by the range
of the column. The difference in a categorical column is 0 for equal and 1 for different categories.
The dissimilarity is one minus the similarity of Gower (1971), who leaves the weights open.

The weight of numeric columns is 1. That of categorical columns is the mean difference of two
different values of a numeric column, over all numeric columns that are not constant, and 1 if there
are none. Two different categories thus count as much as two different numbers do on average. With
equal weights, they would count as much as the whole range, so that few categories outweigh many
numbers, and each combination of categories looks like a cluster.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._native import kernel
from dempster._text import quote_names
from dempster.dissimilarity.columns import Column, read_columns
from dempster.dissimilarity.partial import are_rows_equal

MISSING = -1  # code of a missing value
UNSEEN = -2  # code of a category that did not occur in fit

# Both compiled functions return the position of the first pair without a common observed column, or
# -1. The second table of gower_block is transposed.
_block = kernel("""gower_block(
    numeric: float64[a, p], codes: int32[a, q], other_numeric: float64[p, b],
    other_codes: int32[q, b], weight: float, out: float64[a, b] out) -> int""")
_pairs = kernel("""gower_pairs(
    numeric: float64[a, p], codes: int32[a, q], first: int64[n] below a,
    other_numeric: float64[b, p], other_codes: int32[b, q], second: int64[n] below b, weight: float,
    out: float64[n] out) -> int""")


# ---- encoded tables ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GowerData:
    """Table encoded by `GowerEncoder`. Indexing with a slice or an array selects rows."""

    # numeric columns minus their minimum, divided by their range; NaN for missing values
    numeric: Annotated[np.ndarray, "n p1"]
    # indices of the categories; -1 for missing values, -2 for categories unknown in `fit`
    codes: Annotated[np.ndarray, "n p2:int32"]
    # weight of the categorical columns; numeric columns have the weight 1
    weight: float
    # row numbers in the original table, used in error messages
    positions: Annotated[np.ndarray, "n:int"]

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def dtype(self) -> np.dtype:
        """Type of the dissimilarities."""
        return self.numeric.dtype

    def __getitem__(self, rows: Any) -> GowerData:
        positions = self.positions[rows]
        if positions.ndim != 1:
            raise InvalidParameterError("rows", "a slice or an array", rows)
        return GowerData(self.numeric[rows], self.codes[rows], self.weight, positions)

    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return ``numeric`` and ``codes`` as contiguous arrays."""
        return np.ascontiguousarray(self.numeric), np.ascontiguousarray(self.codes)

    @property
    def column_weights(self) -> np.ndarray:
        """Weights of the columns, numeric columns first."""
        n_columns = [self.numeric.shape[1], self.codes.shape[1]]
        return np.repeat([1.0, self.weight], n_columns)


def gower_block(
    rows: GowerData, columns: GowerData, *, incomparable: str = "raise"
) -> np.ndarray:
    """Return the dissimilarities in [0, 1] between a objects and b objects, shape (a, b).

    The same `GowerEncoder` must have encoded both tables. The dissimilarity of two objects without
    a common observed column is undefined. If ``incomparable`` is "raise", such a pair raises a
    ValueError; if it is "nan", the result is NaN. The function releases the global interpreter
    lock, so several threads can compute blocks in parallel.
    """
    out = np.empty((len(rows), len(columns)))
    numeric, codes = columns._parts()
    others = np.ascontiguousarray(numeric.T), np.ascontiguousarray(codes.T)
    apart = _block(*rows._parts(), *others, columns.weight, out)
    if apart >= 0 and incomparable == "raise":
        i, j = divmod(apart, len(columns))
        raise _incomparable_error(rows.positions[i], columns.positions[j])
    return out


def gower_pairs(
    data: GowerData, i: np.ndarray, j: np.ndarray, *, incomparable: str = "raise"
) -> np.ndarray:
    """Return the dissimilarities of the e pairs of rows (i[k], j[k]), shape (e,).

    See `gower_block`.
    """
    first = np.ascontiguousarray(i, np.int64)
    second = np.ascontiguousarray(j, np.int64)
    out = np.empty(len(first))
    apart = _pairs(*data._parts(), first, *data._parts(), second, data.weight, out)
    if apart >= 0 and incomparable == "raise":
        one = data.positions[first[apart]]
        other = data.positions[second[apart]]
        raise _incomparable_error(one, other)
    return out


class GowerEncoder:
    """Encode tables as numbers from which `gower_block` computes Gower's dissimilarities (1971).

    Columns of numbers are numeric, also if the column has the type object. Columns of Booleans,
    text, categories or other objects are categorical, and all columns are if ``all_categorical``
    is True. None, NaN and null are missing values. Two objects may have no common observed column
    (see `gower_block`). The difference of two values in a constant column is 0. Values of new
    objects may be outside the range of the training objects, but differences are limited to 1. A
    category that did not occur in the training table differs from all values, including itself. The
    weight of categories is that of the training table.
    """

    all_categorical: bool
    column_names_: list[Hashable]
    is_categorical_: Annotated[np.ndarray, "p"]
    minimum_: Annotated[np.ndarray, "p1"]
    range_: Annotated[np.ndarray, "p1"]
    weight_: float
    categories_: list[Any]

    def __init__(self, *, all_categorical: bool = False):
        self.all_categorical = all_categorical

    def fit_transform(self, table: Any) -> GowerData:
        """Determine the types of the columns and their ranges or categories; encode the table."""
        columns = read_columns(table)
        names = list(columns)
        if not names or len(columns[names[0]]) == 0:
            must = "have at least one row and one column"
            raise InvalidParameterError("table", must=must)
        kinds = []
        spans = []
        categories = []
        for column in columns.values():
            is_categorical = self.all_categorical or not column.is_numeric
            kinds.append(is_categorical)
            if is_categorical:
                categories.append(column.categories())
            else:
                spans.append(column.low_and_range())
        self.column_names_ = names
        self.is_categorical_ = np.array(kinds)
        self.minimum_, self.range_ = np.array(spans, float).reshape(-1, 2).T
        self.categories_ = categories
        self.weight_ = 1.0
        data = self._encode(columns)
        self.weight_ = _category_weight(data)
        return replace(data, weight=self.weight_)

    def transform(self, table: Any) -> GowerData:
        """Encode a table that has the columns of the training table, matched by name."""
        return self._encode(read_columns(table))

    def _encode(self, columns: Mapping[Hashable, Column]) -> GowerData:
        ordered = self._order_columns(columns)
        n = len(ordered[0])
        kinds = self.is_categorical_
        numeric = np.empty((n, len(self.range_)))
        codes = np.empty((n, len(self.categories_)), np.int32)
        for k, at in enumerate(np.flatnonzero(~kinds)):
            gap = ordered[at].numbers() - self.minimum_[k]
            if self.range_[k] > 0:
                numeric[:, k] = gap / self.range_[k]
            else:
                numeric[:, k] = np.where(np.isnan(gap), np.nan, 0.0)
        for k, at in enumerate(np.flatnonzero(kinds)):
            known = self.categories_[k]
            codes[:, k] = ordered[at].codes(known, missing=MISSING, unseen=UNSEEN)
        return GowerData(numeric, codes, self.weight_, np.arange(n))

    def _order_columns(self, columns: Mapping[Hashable, Column]) -> list[Column]:
        """Return the columns in the order of ``fit``, matched by name if both tables have names."""
        names = self.column_names_
        if len(columns) != len(names):
            expected = f"{len(names)} columns like the table of fit"
            must = f"have {expected}, got {len(columns)}"
            raise InvalidParameterError("table", must=must)
        plain = list(range(len(columns)))
        ordered = list(columns.values())
        if list(columns) != plain and names != plain:
            absent = [name for name in names if name not in columns]
            if absent:
                must = f"have the columns of fit; missing: {quote_names(absent)}"
                raise InvalidParameterError("table", must=must)
            ordered = [columns[name] for name in names]
        for column, named in zip(ordered, self.is_categorical_, strict=True):
            if not named and not (column.is_numeric or column.is_empty):
                kind = column.series.dtype
                raise InvalidInputError(
                    f"column {column.name!r} must contain numbers as in fit, got the type {kind}"
                )
        return ordered


def _category_weight(data: GowerData) -> float:
    """Return the weight of categorical columns, as the module describes."""
    if data.codes.shape[1] == 0:
        return 1.0
    means = []
    for values in data.numeric.T:
        # Repeated rows and weights of rows do not change the differences of distinct values.
        distinct = np.unique(values[~np.isnan(values)])
        m = len(distinct)
        if m > 1:
            # Value i is the larger one in i pairs, and the smaller one in m - 1 - i pairs.
            n_pairs = m * (m - 1) / 2
            means.append((2 * np.arange(m) - m + 1) @ distinct / n_pairs)
    return float(np.mean(means)) if means else 1.0


# ---- validation ----------------------------------------------------------------------------------


def _incomparable_error(i: int, j: int) -> InvalidInputError:
    return InvalidInputError(
        f"rows {i} and {j} have no common observed column, so their dissimilarity is undefined; "
        "impute missing values, remove one of the rows, or set missing='partial' in a clusterer"
    )


def present_cells(data: GowerData) -> np.ndarray:
    """Return 1 for observed and 0 for missing values, numeric columns first, shape (n, p)."""
    has_number = ~np.isnan(data.numeric)
    has_category = data.codes != MISSING
    return np.hstack([has_number, has_category]).astype(float)


def partial_gower_block(A: GowerData, B: GowerData, usual: np.ndarray) -> np.ndarray:
    """Return the dissimilarities, with the differences ``usual`` where a value is missing.

    ``usual`` contains differences multiplied by the weights of the columns.
    """
    D = gower_block(A, B, incomparable="nan")
    here = present_cells(A)
    there = present_cells(B)
    if here.all() and there.all():
        return D
    lacking = ((1 - here) @ usual)[:, None]
    weights = B.column_weights
    total = weights.sum()
    D = np.nan_to_num(D) * ((here * weights) @ there.T)
    D += lacking + (here * usual) @ (1 - there).T
    bounds = lacking + 1e-12 * total
    i, j = np.nonzero(bounds >= D)  # pairs of rows that may be equal
    D /= total
    twins = _same(A[i], B[j])
    D[i[twins], j[twins]] = 0
    return D


def partial_gower_pairs(
    data: GowerData, i: np.ndarray, j: np.ndarray, usual: np.ndarray
) -> np.ndarray:
    """Return the dissimilarities, shape (e,), of the e pairs of rows (i[k], j[k]).

    See `partial_gower_block`.
    """
    d = gower_pairs(data, i, j, incomparable="nan")
    cells = present_cells(data)
    if cells.all():
        return d
    both = cells[i] * cells[j]
    weights = data.column_weights
    observed = np.nan_to_num(d) * (both @ weights)
    d = (observed + (1 - both) @ usual) / weights.sum()
    twins = _same(data[i], data[j])
    d[twins] = 0
    return d


def column_differences(data: GowerData) -> list[np.ndarray]:
    """Return for each column the differences between all objects, multiplied by its weight.

    Differences are NaN for missing values.
    """
    differences = []
    for values in data.numeric.T:
        gaps = np.abs(values[:, None] - values)
        differences.append(np.minimum(gaps, 1))
    for codes in data.codes.T:
        present = codes != MISSING
        both = present[:, None] & present
        differ = data.weight * (codes[:, None] != codes)
        differences.append(np.where(both, differ, np.nan))
    return differences


def _same(A: GowerData, B: GowerData) -> np.ndarray:
    has_same_categories = (A.codes == B.codes).all(axis=1)
    return are_rows_equal(A.numeric, B.numeric) & has_same_categories


def predict_combinations(codes: np.ndarray, labels: np.ndarray) -> float:
    """Return how well clusters predict the combinations of categories of the objects.

    It is the lambda of Goodman and Kruskal (1954): the share of the errors, when the most frequent
    combination of all objects is predicted, that are avoided when the most frequent combination of
    each cluster is predicted. It is 0 if all objects have the same combination. Objects with
    missing categories are left out.
    """
    is_complete = (codes != MISSING).all(axis=1)
    if codes.shape[1] == 0 or not is_complete.any():
        return 0.0
    combination = np.unique(codes[is_complete], axis=0, return_inverse=True)[1]
    counts = np.zeros((labels.max() + 1, combination.max() + 1))
    np.add.at(counts, (labels[is_complete], combination.reshape(-1)), 1)
    most = counts.sum(axis=0).max()
    errors = counts.sum() - most
    if errors == 0:
        return 0.0
    return float((counts.max(axis=1).sum() - most) / errors)
