"""Gower's dissimilarity: tables that mix numbers and categories, with cells missing.

The dissimilarity of two objects is a weighted mean over the columns present in both,

    d(x, y) = sum_k w_k d_k(x, y) / sum_k w_k,    d_k = |x_k - y_k| / range_k  or  [x_k != y_k],

one minus the coefficient S of Gower (1971).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._native import kernel
from dempster.dissimilarity.columns import Column, read_columns
from dempster.dissimilarity.partial import same_rows

MISSING = -1  # code of a cell that is missing
UNSEEN = -2  # code of a category that the encoder does not know

# Both give the place of the first pair that has no column in common, or -1. The others of a block are stored column by
# column.
_block = kernel("""gower_block(
    numeric: real[a, p], codes: int32[a, q], other_numeric: real[p, b], other_codes: int32[q, b],
    numeric_weights: real[p], code_weights: real[q], out: real[a, b] out) -> int""")
_pairs = kernel("""gower_pairs(
    numeric: real[a, p], codes: int32[a, q], first: int64[n] below a, other_numeric: real[b, p],
    other_codes: int32[b, q], second: int64[n] below b, numeric_weights: real[p], code_weights: real[q],
    out: real[n] out) -> int""")


# ---- encoded tables -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GowerData:
    """A table ready for comparisons, made by `GowerEncoder`. Indexing with a slice or an array selects rows.

    Attributes
    ----------
    numeric : (n, p1) float array
        Numeric columns, less their minimum and divided by their range; NaN for missing cells.
    codes : (n, p2) int32 array
        Categorical columns: position of the category among the sorted ones, -1 for missing cells, -2 for categories
        unknown to the encoder.
    numeric_weights : (p1,) float array
    code_weights : (p2,) float array
    positions : (n,) int array
        Row numbers in the table, kept by indexing so that errors name the right rows.
    """

    numeric: np.ndarray
    codes: np.ndarray
    numeric_weights: np.ndarray
    code_weights: np.ndarray
    positions: np.ndarray

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def dtype(self) -> np.dtype:
        """Of the dissimilarities."""
        return self.numeric.dtype

    def __getitem__(self, rows: Any) -> GowerData:
        chosen = self.positions[rows]
        if chosen.ndim != 1:
            raise InvalidParameterError("rows", "selected by a slice or an array", rows)
        return GowerData(self.numeric[rows], self.codes[rows], self.numeric_weights, self.code_weights, chosen)

    def _parts(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """The numeric and the categorical part, contiguous, as the kernels want them."""
        return np.ascontiguousarray(self.numeric, dtype=dtype), np.ascontiguousarray(self.codes)

    def _weights(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        return self.numeric_weights.astype(dtype), self.code_weights.astype(dtype)


def gower_block(rows: GowerData, columns: GowerData, *, dtype: Any = None, incomparable: str = "raise") -> np.ndarray:
    """Dissimilarity of every object of ``rows`` to every object of ``columns``.

    The work is done by one compiled function without the interpreter's lock: threads may each fill a block.

    Parameters
    ----------
    rows, columns : GowerData
        Of a and b objects, from the same `GowerEncoder`.
    dtype : float dtype, optional
        Of the result (and of the sums); that of the encoded tables by default.
    incomparable : {"raise", "nan"}, default="raise"
        Two objects with no column present in both have no dissimilarity. "raise": a ValueError names the first such
        rows. "nan": they get NaN and the caller decides.

    Returns
    -------
    array of shape (a, b)
        In [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.dissimilarity.gower import GowerEncoder, gower_block
    >>> data = GowerEncoder().fit_transform(np.array([[0.0, 1.0], [5.0, np.nan], [10.0, 3.0]]))
    >>> gower_block(data[:2], data)
    array([[0. , 0.5, 1. ],
           [0.5, 0. , 0.5]])
    """
    kind = _result_dtype(rows, columns, dtype, incomparable)
    out = np.empty((len(rows), len(columns)), dtype=kind)
    numeric, codes = columns._parts(kind)
    others = np.ascontiguousarray(numeric.T), np.ascontiguousarray(codes.T)
    apart = _block(*rows._parts(kind), *others, *rows._weights(kind), out)
    if apart >= 0 and incomparable == "raise":
        i, j = divmod(apart, len(columns))
        raise _no_common_column(rows.positions[i], columns.positions[j])
    return out


def gower_pairs(
    data_a: GowerData, i: Any, data_b: GowerData, j: Any, *, dtype: Any = None, incomparable: str = "raise"
) -> np.ndarray:
    """Dissimilarity of object ``i[e]`` of one table to object ``j[e]`` of another (or the same), for every e.

    Parameters
    ----------
    data_a, data_b : GowerData
        From the same `GowerEncoder`.
    i, j : int arrays of shape (p,)
        Rows of ``data_a`` and of ``data_b``.
    dtype, incomparable
        As in `gower_block`.

    Returns
    -------
    array of shape (p,)

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.dissimilarity.gower import GowerEncoder, gower_pairs
    >>> data = GowerEncoder().fit_transform(np.array([[0.0, 1.0], [5.0, np.nan], [10.0, 3.0]]))
    >>> gower_pairs(data, [0, 1], data, [2, 2])
    array([1. , 0.5])
    """
    kind = _result_dtype(data_a, data_b, dtype, incomparable)
    first, second = _checked_rows(i, "i", len(data_a)), _checked_rows(j, "j", len(data_b))
    if len(first) != len(second):
        raise InvalidInputError(f"i and j must be of the same length, got {len(first)} and {len(second)}")
    out = np.empty(len(first), dtype=kind)
    apart = _pairs(*data_a._parts(kind), first, *data_b._parts(kind), second, *data_a._weights(kind), out)
    if apart >= 0 and incomparable == "raise":
        raise _no_common_column(data_a.positions[first[apart]], data_b.positions[second[apart]])
    return out


def gower_matrix(
    table: Any,
    *,
    weights: Sequence[float] | Mapping[Hashable, float] | None = None,
    categorical: Sequence[Hashable] | None = None,
    dtype: Any = np.float64,
    incomparable: str = "raise",
) -> np.ndarray:
    """The square matrix of Gower's dissimilarities of a small table, 8 n^2 bytes.

    Parameters
    ----------
    table : pandas or polars DataFrame, or array of shape (n, p)
    weights, categorical, dtype
        As in `GowerEncoder`.
    incomparable : {"raise", "nan"}, default="raise"
        As in `gower_block`.

    Returns
    -------
    array of shape (n, n)
        Symmetric, zeros on the diagonal.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.dissimilarity.gower import gower_matrix
    >>> table = pd.DataFrame({"age": [20, 40, 60], "smokes": [True, False, None], "town": ["Lens", "Arras", "Lens"]})
    >>> gower_matrix(table).round(3)
    array([[0.   , 0.833, 0.5  ],
           [0.833, 0.   , 0.75 ],
           [0.5  , 0.75 , 0.   ]])
    """
    data = GowerEncoder(weights=weights, categorical=categorical, dtype=dtype).fit_transform(table)
    matrix = gower_block(data, data, incomparable=incomparable)
    np.fill_diagonal(matrix, 0)
    return matrix


class GowerEncoder(BaseEstimator):
    """Learns the columns of a table and turns tables into the arrays that `gower_block` compares.

    Columns of numbers are numeric, also if they are objects (whole numbers beside None, decimals); Booleans, text,
    categories and other objects are categorical. A cell is missing when it
    is None, NaN or null. Objects with many missing cells are compared on few columns: their dissimilarities are
    noisier, and two objects may have no column in common (see `gower_block`).

    Parameters
    ----------
    weights : sequence of p floats, or mapping of columns to floats, optional
        Weight of each column, at least 0; columns that a mapping leaves out have weight 1. Equal by default.
    categorical : sequence of columns, optional
        Numeric columns whose numbers are only names. Columns are given by name for a DataFrame and by position for an
        array, here and in ``weights``.
    dtype : {float64, float32}, default=float64
        Of the numeric part and of the dissimilarities.

    Attributes
    ----------
    n_features_in_ : int
    column_names_ : list
        Names of the columns of a DataFrame, positions for an array.
    is_categorical_ : (p,) Boolean array
    minimum_, range_ : (p1,) arrays
        Of the numeric columns. Where the range is 0 (constant columns) any two objects agree. New objects may lie
        outside the range; no column contributes more than 1.
    categories_ : list of p2 arrays
        Of the categorical columns, in the order of their codes. A category unknown to ``fit`` differs from
        everything, itself included: nothing says that two unknown objects are alike.
    weights_ : (p,) array

    References
    ----------
    J. C. Gower (1971). A general coefficient of similarity and some of its properties. Biometrics 27, 857-871.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.dissimilarity.gower import GowerEncoder
    >>> table = pd.DataFrame({"age": [20, 40, None], "town": ["Lens", "Arras", "Lens"]})
    >>> data = GowerEncoder().fit_transform(table)
    >>> data.numeric.ravel(), data.codes.ravel()
    (array([ 0.,  1., nan]), array([1, 0, 1], dtype=int32))
    """

    def __init__(
        self,
        *,
        weights: Sequence[float] | Mapping[Hashable, float] | None = None,
        categorical: Sequence[Hashable] | None = None,
        dtype: Any = np.float64,
    ):
        self.weights = weights
        self.categorical = categorical
        self.dtype = dtype

    def fit(self, table: Any, y: Any = None) -> GowerEncoder:
        """Learn kinds, ranges and categories of the columns.

        Parameters
        ----------
        table : pandas or polars DataFrame, or array of shape (n, p)
        y : ignored
        """
        self._learn(read_columns(table))
        return self

    def transform(self, table: Any) -> GowerData:
        """Encode a table with the same columns; those of a DataFrame are found by name.

        Parameters
        ----------
        table : pandas or polars DataFrame, or array of shape (n, p)

        Returns
        -------
        GowerData
        """
        check_is_fitted(self)
        return self._encode(read_columns(table))

    def fit_transform(self, table: Any, y: Any = None) -> GowerData:
        """`fit` and `transform` in one reading of the table."""
        columns = read_columns(table)
        self._learn(columns)
        return self._encode(columns)

    def _learn(self, columns: Mapping[Hashable, Column]) -> None:
        _float_dtype(self.dtype)
        names = list(columns)
        if not names or len(columns[names[0]]) == 0:
            raise InvalidParameterError("table", must="have at least one row and one column")
        asked = set() if self.categorical is None else set(self.categorical)
        if asked - set(names):
            raise InvalidParameterError(
                "categorical",
                message=f"categorical names columns that the table does not have: {_listed(asked - set(names))}",
            )
        weights = _column_weights(self.weights, names)
        kinds = np.array([name in asked or not columns[name].is_numeric for name in names])
        spans = [columns[names[at]].low_and_range() for at in np.flatnonzero(~kinds)]
        categories = [columns[names[at]].categories() for at in np.flatnonzero(kinds)]
        self.n_features_in_ = len(names)
        self.column_names_ = names
        self.is_categorical_ = kinds
        self.minimum_, self.range_ = np.array(spans, dtype=float).reshape(-1, 2).T
        self.categories_ = categories
        self.weights_ = weights

    def _encode(self, columns: Mapping[Hashable, Column]) -> GowerData:
        ordered = self._same_columns(columns)
        n = len(ordered[0])
        kinds = self.is_categorical_
        numeric = np.empty((n, len(self.range_)), dtype=_float_dtype(self.dtype))
        codes = np.empty((n, len(self.categories_)), dtype=np.int32)
        for k, at in enumerate(np.flatnonzero(~kinds)):
            gap = ordered[at].numbers() - self.minimum_[k]
            numeric[:, k] = gap / self.range_[k] if self.range_[k] > 0 else np.where(np.isnan(gap), np.nan, 0.0)
        for k, at in enumerate(np.flatnonzero(kinds)):
            codes[:, k] = ordered[at].codes(self.categories_[k], missing=MISSING, unseen=UNSEEN)
        return GowerData(numeric, codes, self.weights_[~kinds], self.weights_[kinds], np.arange(n))

    def _same_columns(self, columns: Mapping[Hashable, Column]) -> list[Column]:
        """The columns in the order of ``fit``: found by name, by position where either table has no names."""
        if len(columns) != self.n_features_in_:
            raise InvalidParameterError(
                "table", must=f"have the {self.n_features_in_} columns given to fit, got {len(columns)}"
            )
        plain = list(range(len(columns)))
        if list(columns) != plain and self.column_names_ != plain:
            absent = set(self.column_names_) - set(columns)
            if absent:
                raise InvalidParameterError(
                    "table", message=f"table lacks columns that fit has seen: {_listed(absent)}"
                )
            ordered = [columns[name] for name in self.column_names_]
        else:
            ordered = list(columns.values())
        for column, named in zip(ordered, self.is_categorical_, strict=True):
            if not named and not (column.is_numeric or column.is_empty):
                raise InvalidInputError(f"column {column.name!r} must hold numbers as in fit, got {column.described}")
        return ordered


# ---- checking -------------------------------------------------------------------------------------------------------


def _column_weights(weights: Any, names: list[Hashable]) -> np.ndarray:
    if weights is None:
        return np.ones(len(names))
    if isinstance(weights, Mapping):
        unknown = set(weights) - set(names)
        if unknown:
            raise InvalidParameterError(
                "weights", message=f"weights names columns that the table does not have: {_listed(unknown)}"
            )
        weights = [weights.get(name, 1.0) for name in names]
    values = np.asarray(weights, dtype=float)
    if values.shape != (len(names),):
        raise InvalidParameterError(
            "weights", must=f"hold one number for each of the {len(names)} columns, got {values.shape}"
        )
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise InvalidParameterError("weights", must=f"be finite, not negative and not all zero, got {values.tolist()}")
    return values


def _result_dtype(a: GowerData, b: GowerData, dtype: Any, incomparable: str) -> np.dtype:
    for data in (a, b):
        if not isinstance(data, GowerData):
            raise InvalidInputError(f"tables must be encoded by GowerEncoder.transform, got {type(data).__name__}")
    if incomparable not in ("raise", "nan"):
        raise InvalidParameterError("incomparable", "'raise' or 'nan'", incomparable)
    if not (np.array_equal(a.numeric_weights, b.numeric_weights) and np.array_equal(a.code_weights, b.code_weights)):
        raise InvalidInputError(
            "both tables must be encoded by the same GowerEncoder, got different columns or weights"
        )
    return _float_dtype(np.result_type(a.numeric, b.numeric) if dtype is None else dtype)


def _float_dtype(dtype: Any) -> np.dtype:
    kind = np.dtype(dtype)
    if kind not in (np.float64, np.float32):
        raise InvalidParameterError("dtype", "float64 or float32", dtype)
    return kind


def _checked_rows(rows: Any, name: str, n: int) -> np.ndarray:
    array = np.asarray(rows)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidParameterError(
            name, must=f"be a sequence of row numbers, got shape {array.shape} and type {array.dtype}"
        )
    if array.size and (array.min() < 0 or array.max() >= n):
        raise InvalidParameterError(
            name, must=f"hold row numbers from 0 to {n - 1}, got {array.min()} to {array.max()}"
        )
    return array.astype(np.int64)


def _no_common_column(i: int, j: int) -> InvalidInputError:
    return InvalidInputError(
        f"rows {i} and {j} have no column present in both, so they have no dissimilarity; fill in their missing "
        "cells, leave one of the two out or, in a clusterer, set missing='partial' (`gower_block` itself gives NaN for "
        "such pairs with incomparable='nan')"
    )


def _listed(names: Any) -> str:
    return ", ".join(sorted(repr(name) for name in names))


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
