"""Objects by their attributes: any table, read column by column, and written again with other cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from dempster._arrays import to_host
from dempster._errors import InvalidInputError
from dempster._types import Index, TableLike
from dempster._validation import numbered_attributes, object_index, reading_table, shown, texts
from dempster.dissimilarity.views import Views

__all__ = ["ObjectTable", "Cells", "is_missing", "rows_of", "array_of"]

Cells = list[np.ndarray]
"""The cells of some objects, a column for each attribute: numbers (NaN where missing) or objects."""


class ObjectTable:
    """The attributes of n objects.

    Parameters
    ----------
    X : pandas or polars DataFrame, or array-like of shape (n, p) or, for pictures and the like, (n, ...)
    names : sequence of str, optional
        Names of the attributes, instead of those of the columns.
    categorical : bool
        Numbers are names of categories.
    numeric : bool
        Text that says a number is this number, as for a model that reads it so.

    Attributes
    ----------
    names : list of str
    index : names of the objects, or None
    columns : Cells
    is_number : (p,) Boolean array
    """

    def __init__(
        self,
        X: TableLike,
        *,
        names: Sequence[Any] | None = None,
        categorical: bool = False,
        numeric: bool = False,
        argument: str = "X",
    ):
        with reading_table(X, argument):
            X = X.collect() if hasattr(X, "collect") else X  # lazily evaluated
            self._kind: Any = type(X) if hasattr(X, "columns") else None
        self._labels: list[Any] = [] if self._kind is None else list(X.columns)
        self.index: Index = object_index(X)
        if self._kind is None:
            array = array_of(X, argument)
            if array.ndim < 2 or array.size == 0:
                raise InvalidInputError(f"{argument} must hold objects in rows, got shape {array.shape}")
            self._dtype, self._shape = array.dtype, array.shape[1:]
            flat = array.reshape(len(array), -1)
            columns = [flat[:, d] for d in range(flat.shape[1])]
        else:
            columns = [_frame_column(X, label) for label in self._labels]
        with reading_table(X, argument):
            columns = [_said_numbers(column) for column in columns] if numeric else columns
            self.columns: Cells = [_objects(column) if categorical else _cells(column) for column in columns]
        self.is_number = np.array([column.dtype == float for column in self.columns], dtype=bool)
        self.names = self._checked_names(names)
        for name, column in zip(self.names, self.columns, strict=True):
            if column.dtype == float and np.isinf(column).any():
                raise InvalidInputError(f"{argument} must hold finite numbers; {name} is infinite for some object")

    def _checked_names(self, names: Sequence[Any] | None) -> list[str]:
        p = len(self.columns)
        if names is None:
            return [str(label) for label in self._labels] or numbered_attributes(p)
        given = texts(names, "feature_names", "names of attributes")
        if len(given) != p:
            raise InvalidInputError(f"feature_names must hold {p} names, one for each attribute, got {len(given)}")
        return given

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    @cached_property
    def numbers(self) -> np.ndarray:
        """(n, p) numbers; the attributes must all be numbers."""
        return np.column_stack(self.columns)

    @property
    def all_numbers(self) -> bool:
        return bool(self.is_number.all())

    @cached_property
    def deviations(self) -> np.ndarray:
        """(p,) standard deviations, 0 for constant attributes and for categories."""
        out = np.zeros(len(self.columns))
        for d in np.flatnonzero(self.is_number):
            known = self.columns[d][~np.isnan(self.columns[d])]
            spread = float(known.std()) if len(known) else 0.0
            # of a constant column rounding may leave a little
            out[d] = spread if spread > 1e-12 * float(np.abs(known).max(initial=0.0)) else 0.0
        return out

    def row(self, i: int) -> Cells:
        """The cells of one object."""
        return [column[i : i + 1] for column in self.columns]

    def read(self, row: Any) -> Cells:
        """The cells of a new object: a sequence, a mapping or a series by the names of the attributes, or a table of
        one row."""
        p = len(self.columns)
        if hasattr(row, "columns"):
            if len(row) != 1 or set(map(str, row.columns)) != set(map(str, self._labels or row.columns)):
                raise InvalidInputError(f"i must be one row with the columns of X, got a table of shape {row.shape}")
            found = [_frame_column(row, label)[0] for label in (self._labels or list(row.columns))]
        elif isinstance(row, Mapping) or (self._labels and object_index(row) is not None):
            named, labels = {str(name): cell for name, cell in row.items()}, list(map(str, self._labels))
            wanted = labels if set(named) == set(labels) else self.names
            if set(named) != set(wanted) or len(named) != len(row):
                given = ", ".join(str(name) for name, _ in row.items())
                raise InvalidInputError(f"i must give the attributes {', '.join(self.names)}; got {given}")
            found = [named[name] for name in wanted]
        else:
            found = list(array_of(row, "i").reshape(-1))
        if len(found) != p:
            raise InvalidInputError(
                f"i must be a position, a name, or a row of {p} attributes, got {len(found)} of them"
            )
        return [self._read_cell(d, cell) for d, cell in enumerate(found)]

    def _read_cell(self, d: int, cell: Any) -> np.ndarray:
        out = np.empty(1, dtype=float if self.is_number[d] else object)
        try:
            out[0] = np.nan if self.is_number[d] and is_missing(cell) else cell
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"{self.names[d]} of the object must be a number, got {shown(cell)}") from error
        if self.is_number[d] and np.isinf(out[0]):
            raise InvalidInputError(f"{self.names[d]} of the object must be a finite number, got {shown(cell)}")
        return out

    def find(self, cells: Cells) -> int:
        """The first object with these cells, -1 if there is none."""
        same = np.ones(len(self), dtype=bool)
        for column, cell in zip(self.columns, cells, strict=True):
            equal = column == cell[0]
            if column.dtype == float and np.isnan(cell[0]):
                equal = np.isnan(column)
            same &= np.asarray(equal, dtype=bool)
        return int(same.argmax()) if same.any() else -1

    def like(self, cells: Cells) -> Any:
        """A table of the kind this one was read from, with these cells."""
        if self._kind is not None:
            return self._kind(dict(zip(self._labels, (_plain(column) for column in cells), strict=True)))
        if not all(column.dtype == float for column in cells):
            out = np.empty((len(cells[0]), len(cells)), dtype=object)
            for d, column in enumerate(cells):
                out[:, d] = column
            return out.astype(self._dtype) if self._dtype.kind in "biufUS" else out
        numbers = np.column_stack(cells)
        kept = self._dtype if self._dtype == np.float32 else np.dtype(float)
        return np.ascontiguousarray(numbers.reshape(len(numbers), *self._shape), dtype=kept)


def rows_of(X: TableLike, positions: Sequence[int] | np.ndarray) -> Any:
    """Some rows of a table of any kind, or of several views."""
    where = np.asarray(positions, dtype=np.intp)
    views = Views.of(X)
    if views is not None:
        return views.rows(where)
    if hasattr(X, "iloc"):
        return X.iloc[where]
    if hasattr(X, "columns"):
        with reading_table(X, "X"):
            return X[where.tolist()]
    if hasattr(X, "tocsr"):
        return X.tocsr()[where]
    return array_of(X)[where]


def array_of(X: Any, name: str = "X") -> np.ndarray:
    """Anything that is no table as an array; numbers beside text stay numbers."""
    with reading_table(X, name):
        array = np.asarray(to_host(X))
        wanted = array.dtype.kind in "US" and not isinstance(X, np.ndarray)
        return np.asarray(X, dtype=object) if wanted else array


def _frame_column(frame: Any, label: Any) -> np.ndarray:
    """A column of a pandas or polars table as an array of numbers or objects."""
    series = frame[label]
    if getattr(series, "ndim", 1) != 1:
        raise InvalidInputError(f"X must have different names of columns, got {shown(label)} twice")
    return np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)


def _said_numbers(column: np.ndarray) -> np.ndarray:
    """Numbers for text that says them, other columns as they are."""
    try:
        return column.astype(float) if column.dtype.kind in "USO" else column
    except (ValueError, TypeError, OverflowError):
        return column


def _cells(column: np.ndarray) -> np.ndarray:
    """Numbers where all cells are, objects else; missing cells are NaN or None."""
    if column.dtype.kind in "iuf":
        return column.astype(float)
    if column.dtype.kind == "c" or (column.dtype.kind == "O" and any(isinstance(cell, complex) for cell in column)):
        raise InvalidInputError("Complex data not supported: all cells must be real numbers, text or categories")
    if column.dtype.kind == "O" and all(is_missing(cell) or _is_number(cell) for cell in column):
        try:
            return np.array([np.nan if is_missing(cell) else cell for cell in column], dtype=float)
        except OverflowError as error:
            raise InvalidInputError(
                "X must hold numbers in the range of floating-point numbers, got a larger one"
            ) from error
    return _objects(column)


def is_missing(cell: Any) -> bool:
    """None, NaN, and what pandas has for them."""
    nothing = cell is None or type(cell).__name__ in ("NAType", "NaTType")
    return nothing or (isinstance(cell, float | np.floating) and bool(np.isnan(cell)))


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real | Decimal | np.number) and not isinstance(cell, bool | np.bool_ | np.timedelta64)


def _objects(column: np.ndarray) -> np.ndarray:
    out = np.empty(len(column), dtype=object)
    out[:] = column.tolist()
    return out


def _plain(column: np.ndarray) -> Any:
    return column if column.dtype == float else column.tolist()
