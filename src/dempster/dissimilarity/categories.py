"""Conversion of tables of categories to numbers."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import validate_data

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import ArrayPair, TableLike
from dempster._validation import refuse_sparse, to_supported_type, validating_table
from dempster.dissimilarity.gower import MISSING, GowerEncoder

ABSENT = -1  # number of an unknown category or of a missing value


class CategoryEncoder:
    """Encode categories as numbers that are unique over all columns and contiguous within a column.

    ``missing`` determines whether missing values raise an error ("error"), are a category of their
    own ("category"), or have the number -1 ("ignore").
    """

    missing: str
    names: list[Any]
    levels: list[np.ndarray]
    offsets: Annotated[np.ndarray, "*:int"]
    _encoder: GowerEncoder

    def __init__(self, *, missing: str):
        self.missing = missing

    def read(
        self, estimator: Any, X: TableLike, *, reset: bool, unknown: str = "error"
    ) -> np.ndarray:
        """Validate the argument X of an estimator and return its category numbers, shape (n, p).

        If ``reset`` is True, the categories and the names of the columns are learned from X.
        Otherwise, unknown categories raise an error, or have the number -1 if ``unknown`` is
        "ignore".
        """
        X = to_supported_type(estimator, X)
        refuse_sparse(X, "X")
        with validating_table(X, "X"):
            table = _validate_table(estimator, X, reset=reset)
            if not reset:
                return self.encode(table, unknown=unknown)
        self.names = list(
            table.columns if hasattr(table, "columns") else range(table.shape[1])
        )
        self._encoder = GowerEncoder(all_categorical=True)
        codes = self._encoder.fit_transform(table).codes
        self.levels = []
        for column, categories in enumerate(self._encoder.categories_):
            values = list(categories)
            if self.missing == "category" and (codes[:, column] == MISSING).any():
                values.append(None)
            level = np.empty(len(values), object)
            level[:] = values
            self.levels.append(level)
        sizes = [len(level) for level in self.levels]
        self.offsets = np.cumsum([0, *sizes], dtype=np.int64)
        return self._number(table, codes, "error")

    def encode(self, table: TableLike, *, unknown: str = "error") -> np.ndarray:
        """Return the category numbers of a table.

        Unknown categories raise an error, or are -1 if ignored.
        """
        return self._number(table, self._encoder.transform(table).codes, unknown)

    def check_categories(self, n_features: int, n_categories: int) -> None:
        """Raise an error unless the numbers of the categories are below ``n_categories``.

        A file may contain other numbers.
        """
        sizes = [len(level) for level in self.levels]
        offsets = np.cumsum([0, *sizes])
        if (
            sizes != [len(found) for found in self._encoder.categories_]
            or len(sizes) != n_features
            or not np.array_equal(self.offsets, offsets)
            or offsets[-1] != n_categories
        ):
            raise InvalidInputError(
                "the levels, offsets and probabilities must be those of the categories"
            )

    def _number(self, table: TableLike, codes: np.ndarray, unknown: str) -> np.ndarray:
        out = np.empty(codes.shape, np.int64)
        for column, level in enumerate(self.levels):
            code = codes[:, column]
            has_missing = len(level) > 0 and level[-1] is None
            if self.missing == "error" and (code == MISSING).any():
                row = int((code == MISSING).argmax())
                message = (
                    f"X contains missing values (NaN, None) in column {self.names[column]!r}, "
                    f"the first in row {row}; impute them, or set missing='category' to treat "
                    "them as a category"
                )
                raise InvalidParameterError("X", message=message)
            value = np.where(code < 0, ABSENT, code)
            if has_missing:
                value[code == MISSING] = len(level) - 1
            is_unknown = (value == ABSENT) & (
                (code != MISSING) | (self.missing != "ignore")
            )
            if unknown == "error" and is_unknown.any():
                row = int(is_unknown.argmax())
                cell = np.asarray(table, object)[row, column]
                message = (
                    f"X contains a category in column {self.names[column]!r} that was not in "
                    f"fit: {cell!r} in row {row}; handle_unknown='ignore' treats such categories "
                    "like missing values, or as different from all others"
                )
                raise InvalidParameterError("X", message=message)
            out[:, column] = np.where(
                value == ABSENT, ABSENT, value + self.offsets[column]
            )
        return out

    def decode(self, numbers: np.ndarray) -> np.ndarray:
        """Return the categories of rows of category numbers, shape (n, p).

        The result for the number -1 is None.
        """
        out = np.empty(numbers.shape, object)
        for column, level in enumerate(self.levels):
            known = numbers[:, column] != ABSENT
            out[known, column] = level[numbers[known, column] - self.offsets[column]]
        return out


def _validate_table(estimator: Any, X: TableLike, *, reset: bool) -> TableLike:
    """Validate X, and return a DataFrame unchanged or any other X as a two-dimensional array."""
    if hasattr(X, "columns"):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        if len(X) == 0 or len(X.columns) == 0:
            raise InvalidParameterError(
                "X", must=f"have at least one row and one column, got shape {X.shape}"
            )
        return X
    if not hasattr(X, "dtype") and not hasattr(X, "__array__"):
        # Other types convert numbers to text in mixed columns.
        X = np.asarray(X, object)
    # The encoder checks missing values by column.
    return validate_data(
        estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
    )


def find_distinct_rows(codes: np.ndarray, offsets: np.ndarray) -> ArrayPair:
    """Return the distinct rows in lexicographic order, and for each row the index of its copy."""
    sizes = np.diff(offsets) + 1  # including the number -1
    if np.log2(sizes.astype(float)).sum() >= 62:
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        return rows, inverse.reshape(-1)
    keys = np.zeros(len(codes), np.int64)  # Numbers are much faster to sort than rows.
    for column, size in enumerate(sizes):
        code = codes[:, column]
        keys = keys * size + np.where(code == ABSENT, 0, code - offsets[column] + 1)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return codes[first], inverse.reshape(-1)
