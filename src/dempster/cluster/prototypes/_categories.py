"""Tables of categories as numbers."""

from __future__ import annotations

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import TableLike
from dempster.dissimilarity.gower import GowerEncoder

__all__ = ["CategoryEncoder", "different_rows", "mismatches"]

_ABSENT = -1  # number of a category that no prototype has
_MISSING = -1  # code of a missing cell in GowerEncoder, which gives categories that it has not seen another below zero


class CategoryEncoder:
    """Every category of every column has a number of its own; those of a column follow each other, in order."""

    def __init__(self, names: list, *, missing: str):
        self.names, self.missing = names, missing

    def fit_encode(self, table: TableLike) -> np.ndarray:
        """Learn the categories of a table; returns (n, p) numbers of its categories."""
        self._encoder = GowerEncoder(categorical=self.names)
        codes = self._encoder.fit_transform(table).codes
        self.levels: list[np.ndarray] = []
        for column, categories in enumerate(self._encoder.categories_):
            values = list(categories)
            if self.missing == "category" and (codes[:, column] == _MISSING).any():
                values.append(None)
            level = np.empty(len(values), dtype=object)
            level[:] = values
            self.levels.append(level)
        self.offsets = np.concatenate([[0], np.cumsum([len(level) for level in self.levels])]).astype(np.int64)
        return self._numbered(table, codes, "error")

    def encode(self, table: TableLike, *, unknown: str = "error") -> np.ndarray:
        """(n, p) numbers of the categories; those unknown are refused, or -1 if they are to be ignored."""
        return self._numbered(table, self._encoder.transform(table).codes, unknown)

    def _numbered(self, table: TableLike, codes: np.ndarray, unknown: str) -> np.ndarray:
        out = np.empty(codes.shape, dtype=np.int64)
        for column, level in enumerate(self.levels):
            code = codes[:, column]
            has_missing = len(level) > 0 and level[-1] is None
            if self.missing == "error" and (code == _MISSING).any():
                row = int((code == _MISSING).argmax())
                raise InvalidInputError(
                    f"X contains missing values (NaN, None) in column {self.names[column]!r}, the first in row {row}; "
                    "fill them in, or set missing='category' to make them a category of their own"
                )
            value = np.where(code < 0, _ABSENT, code)
            if has_missing:
                value[code == _MISSING] = len(level) - 1
            if unknown == "error" and (value == _ABSENT).any():
                raise self._unknown(table, column, int((value == _ABSENT).argmax()))
            out[:, column] = np.where(value == _ABSENT, _ABSENT, value + self.offsets[column])
        return out

    def _unknown(self, table: TableLike, column: int, row: int) -> ValueError:
        cell = table.iloc[row, column] if hasattr(table, "iloc") else np.asarray(table, dtype=object)[row, column]
        return ValueError(
            f"X holds a category in column {self.names[column]!r} that fit has not seen: {cell!r} in row {row}; "
            "set handle_unknown='ignore' to treat such categories as different from all others"
        )

    def decode(self, modes: np.ndarray) -> np.ndarray:
        """(c, p) categories with the given numbers."""
        out = np.empty(modes.shape, dtype=object)
        for column, level in enumerate(self.levels):
            out[:, column] = level[modes[:, column] - self.offsets[column]]
        return out


def different_rows(codes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of encoded objects in lexicographic order, and for each object which one it is."""
    sizes = np.diff(offsets)
    if np.log2(sizes.astype(float)).sum() >= 62:
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        return rows, inverse.reshape(-1)
    keys = np.zeros(len(codes), dtype=np.int64)  # the row as digits of one number: much faster to sort
    for column, size in enumerate(sizes):
        keys = keys * size + (codes[:, column] - offsets[column])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return codes[first], inverse.reshape(-1)


def mismatches(codes: np.ndarray, row: np.ndarray) -> np.ndarray:
    """(n,) number of attributes in which objects differ from one."""
    return (codes != row).sum(axis=1).astype(float)
