"""Resolve what is explained: an estimator, a partition or labels, and the table of its objects.

Everything in `dempster.explain`, the report, the program and the studio takes the same things in the same ways; this
module finds out what was given.

- `resolve_input`: the estimator (or pipeline), the model that clustered, the partition, and whether the table holds
  dissimilarities or an image
- `ExplainedInput.align_table`, `ExplainedInput.align_partition`: table and partition in the same order, by the names of
  the objects where both have some; `row_names` finds them
- `find_object`: one object by its position, name or pixel
- `join_attributes`, `read_attributes`: columns of any table, also of several views
- `ObjectTable`, `select_rows`: cells of any table, and tables of the same kind with other cells
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from dempster._arrays import to_host, with_shape
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import Index, TableLike
from dempster._validation import (
    check,
    choice,
    is_integer,
    is_missing,
    numbered_attributes,
    object_index,
    order_of_names,
    reading_labels,
    reading_table,
    shown,
    texts,
)
from dempster.dissimilarity.columns import Column, read_columns
from dempster.dissimilarity.views import Views, joined_views, split_views
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.partition.credal_partition import as_credal_partition

# ---- estimator, partition or labels ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExplainedInput:
    """A result of clustering, whatever it was given as.

    Attributes
    ----------
    estimator : fitted estimator or pipeline, or None for a partition or labels
    model : the last step of a pipeline, otherwise ``estimator``
    partition : CredalPartition
    is_pairwise : bool
        Whether the table that belongs to it holds dissimilarities.
    is_blockwise : bool
        Whether the partition came in blocks, so that its table is not at hand.
    """

    estimator: Any
    model: Any
    partition: CredalPartition
    is_pairwise: bool
    is_blockwise: bool

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """Shape of the image whose pixels were clustered."""
        return getattr(self.model, "image_shape_", None)

    def align_partition(self, X: TableLike, n_rows: int) -> CredalPartition:
        """Return the partition in the order of the rows of X."""
        partition = self.partition
        if len(partition) != n_rows:
            raise InvalidInputError(
                f"X must have a row for each of the {len(partition)} objects of the partition, got {n_rows} rows; the "
                "partition of other objects is estimator.predict_mass(X)"
            )
        order = order_of_names(partition.index, row_names(X))
        return partition if order is None else partition[order]

    def refuse_dissimilarities(self, X: TableLike) -> None:
        """Raise an error for the dissimilarities that an estimator was fitted to, where attributes are needed."""
        n, tables = len(self.partition), (split_views(X) or ([], [X]))[1]
        if self.estimator is not None and self.is_pairwise and all(np.shape(table) == (n, n) for table in tables):
            raise InvalidInputError(
                "X must hold attributes of the objects, any that are known, but it has the shape of the "
                f"dissimilarities that {type(self.estimator).__name__} was fitted to"
            )

    def align_table(self, table: TableLike, name: str = "table", *, of_fit: bool = True) -> TableLike:
        """Return a table with its rows in the order of the objects of the partition.

        ``of_fit`` says that the model was fitted to it, so that it may hold dissimilarities or an image.
        """
        if hasattr(table, "collect"):
            table = table.collect()  # a lazy table of polars
        elif hasattr(table, "compute"):
            table = table.compute()  # a table of Dask
        is_pairwise = self.is_pairwise and of_fit
        views = Views.of(table)
        if views is None and not hasattr(table, "shape"):
            table = to_array(table, name)
        if of_fit and self.image_shape is not None:
            return table
        if views is None and len(table.shape) != 2:
            raise InvalidInputError(
                f"{name} must have two dimensions, objects and attributes, got shape {tuple(table.shape)}"
            )
        n, n_rows = len(self.partition), int(table.shape[0]) if views is None else len(views)
        if n_rows != n:
            raise InvalidInputError(
                f"{name} must have a row for each of the {n:,} objects of the partition, got {n_rows:,}; the partition "
                f"of other objects is estimator.predict_mass({name})"
            )
        order = order_of_names(row_names(table), self.partition.index)
        if views is not None:
            rows = np.arange(n) if order is None else order
            return views.square_parts(rows) if is_pairwise else views.rows(rows)
        if order is None:
            return table
        return table.iloc[order, order] if is_pairwise else table.iloc[order]


def resolve_input(
    given: Any, name: str = "partition", *, metric: str | None = None, needs_partition: bool = True
) -> ExplainedInput:
    """Find out what was given: a fitted estimator or pipeline, a partition, or labels.

    Parameters
    ----------
    given : fitted estimator (or pipeline) with ``credal_partition_`` or ``labels_``, partition, or array-like of labels
    name : str
        Name of the argument, for errors.
    metric : {"precomputed"} or None
        For a partition or labels: its table holds dissimilarities.
    needs_partition : bool
        If not, a fitted classifier will do, whose ``partition`` is None.
    """
    check(metric, "metric", choice(None) | choice("precomputed"))
    estimator = model = None
    found = given
    if hasattr(given, "fit") and not isinstance(given, type):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(given)
        estimator = model = given
        while hasattr(model, "steps"):  # the last step of a pipeline has clustered
            model = model.steps[-1][1]
        found = getattr(model, "credal_partition_", None)
        if found is None:
            found = getattr(model, "labels_", None)
        if found is None and (needs_partition or not hasattr(model, "classes_")):
            raise InvalidInputError(
                f"{name} must be a CredalPartition, a fitted estimator that has one, or labels, got "
                f"{type(model).__name__} without credal_partition_ or labels_"
            )
    elif not hasattr(given, "focal_sets"):
        found = _read_labels(given, name)
    is_pairwise = metric == "precomputed"
    if estimator is not None:
        is_pairwise = hasattr(estimator, "__sklearn_tags__") and bool(get_tags(estimator).input_tags.pairwise)
    is_blockwise = isinstance(found, LazyCredalPartition)
    if is_blockwise:
        found = found.compute()
    partition: Any = None if found is None else as_credal_partition(found, name)
    return ExplainedInput(estimator, model, partition, is_pairwise, is_blockwise)


def _read_labels(given: Any, name: str) -> Any:
    with reading_labels(given, name):
        labels = np.asarray(given)
    if labels.ndim != 1:
        raise InvalidInputError(
            f"{name} must be a CredalPartition, a fitted estimator that has one, or a sequence of labels, got "
            f"{type(given).__name__} of shape {labels.shape}; masses need their sets: "
            "CredalPartition(masses, focal_sets)"
        )
    return given if hasattr(given, "iloc") else labels  # a column has names


# ---- rows -----------------------------------------------------------------------------------------------------------


def row_names(*tables: TableLike) -> Index:
    """Return the names of the rows of the first table, or of several views, that has some."""
    for table in tables:
        views = None if table is None else Views.of(table)
        found = object_index(table) if views is None else views.index
        if found is not None:
            return found
    return None


def select_rows(X: TableLike, positions: Sequence[int] | np.ndarray) -> Any:
    """Return some rows of a table of any kind, or of several views."""
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
    return to_array(X)[where]


def find_object(i: Any, names: Index, n: int, image_shape: tuple[int, ...] | None = None, argument: str = "i") -> int:
    """Return the position of an object among n objects, -1 for a row of attributes of a new one.

    ``i`` is a name if there are some, a position, or the tuple of coordinates of a pixel of an image.
    """
    if isinstance(i, bool | np.bool_) or i is None:
        raise InvalidParameterError(argument, "the position or name of an object, or a row of attributes", i)
    known = None if names is None else list(names)
    if known is not None and isinstance(i, Hashable) and not isinstance(i, np.ndarray) and i in known:
        if known.count(i) > 1:
            raise InvalidInputError(
                f"{argument} must name one object; {i!r} is the name of {known.count(i)}: give its position"
            )
        return known.index(i)
    if image_shape is not None and isinstance(i, tuple):
        if len(i) != len(image_shape) or not all(0 <= k < size for k, size in zip(i, image_shape, strict=True)):
            raise InvalidParameterError(argument, f"a pixel of an image of shape {image_shape}", i)
        return int(np.ravel_multi_index(i, image_shape))
    if is_integer(i):
        if known is not None and any(isinstance(name, int | float | np.number) for name in known):
            raise InvalidInputError(
                f"{argument} must be a name of an object, since some names are numbers; none is called {i!r}"
            )
        if not 0 <= i < n:
            raise InvalidParameterError(argument, f"a position from 0 to {n - 1}", i)
        return int(i)
    if isinstance(i, str) or not (isinstance(i, list | tuple | Mapping) or to_array(i, argument).ndim):
        raise InvalidInputError(
            f"{argument} must be the position or name of an object, or a row of attributes; none is called {shown(i)}"
        )
    return -1


# ---- attributes -----------------------------------------------------------------------------------------------------


def join_attributes(X: TableLike) -> Any:
    """Return the attributes of several views as one table, anything else as it is."""
    return joined_views(with_shape(X))


def read_attributes(X: TableLike, *, dates: bool = False) -> list[Column]:
    """Return the columns of a table of any kind; those of an array are called attribute 1, attribute 2, ..."""
    from scipy.sparse import issparse

    if issparse(X):
        raise InvalidInputError("X must be a dense table, got a sparse matrix; use X.toarray(), or fewer columns")
    with reading_table(X, "X"):
        if hasattr(X, "collect"):
            X = X.collect()  # a lazy table of polars
        if hasattr(X, "to_frame") and not hasattr(X, "columns"):
            X = X.to_frame()  # a series
        if hasattr(X, "columns"):
            names = [str(name) for name in X.columns]
            if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
                raise InvalidInputError(
                    f"X must have different names of columns, got {', '.join(map(repr, twice))} more than once"
                )
        else:
            X = X if isinstance(X, list | tuple) else np.asarray(to_host(X))
            shape = np.shape(X)
            if len(shape) != 2:
                raise InvalidInputError(
                    f"X must have two dimensions, objects and attributes, got shape {shape}. Reshape your data: "
                    "X.reshape(-1, 1) is one attribute"
                )
            if np.iscomplexobj(X):
                raise InvalidInputError("Complex data not supported: X must hold real numbers, text or categories")
            names = numbered_attributes(shape[1])
        for number, what in zip(np.shape(X), ("sample(s)", "feature(s)"), strict=True):
            if number == 0:
                raise InvalidInputError(
                    f"X has 0 {what} (shape={tuple(np.shape(X))}) while a minimum of 1 is required."
                )
        columns = read_columns(X, dates=dates).values()
        return [Column(name, column.series, column.described) for name, column in zip(names, columns, strict=True)]


# ---- cells ----------------------------------------------------------------------------------------------------------

Cells = list[np.ndarray]
"""The cells of some objects, a column for each attribute: numbers (NaN where missing) or objects."""


class ObjectTable:
    """The attributes of n objects, read column by column, and written again with other cells.

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
            X = X.collect() if hasattr(X, "collect") else X  # a lazy table of polars
            self._kind: Any = type(X) if hasattr(X, "columns") else None
        self._labels: list[Any] = [] if self._kind is None else list(X.columns)
        self.index: Index = object_index(X)
        if self._kind is None:
            array = to_array(X, argument)
            if array.ndim < 2 or array.size == 0:
                raise InvalidInputError(f"{argument} must hold objects in rows, got shape {array.shape}")
            self._dtype, self._shape = array.dtype, array.shape[1:]
            columns = list(array.reshape(len(array), -1).T)
        else:
            columns = [_frame_column(X, label) for label in self._labels]
        with reading_table(X, argument):
            columns = [_parse_numbers(column) for column in columns] if numeric else columns
            self.columns: Cells = [_as_objects(column) if categorical else _as_cells(column) for column in columns]
        self.is_number = np.array([column.dtype == float for column in self.columns], dtype=bool)
        self.names = self._check_names(names)
        for name, column in zip(self.names, self.columns, strict=True):
            if column.dtype == float and np.isinf(column).any():
                raise InvalidInputError(f"{argument} must hold finite numbers; {name} is infinite for some object")

    def _check_names(self, names: Sequence[Any] | None) -> list[str]:
        p = len(self.columns)
        if names is None:
            return [str(label) for label in self._labels] or numbered_attributes(p)
        found = texts(names, "feature_names", "names of attributes")
        if len(found) != p:
            raise InvalidInputError(f"feature_names must hold {p} names, one for each attribute, got {len(found)}")
        return found

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
            # rounding may leave a little of the spread of a constant column
            out[d] = spread if spread > 1e-12 * float(np.abs(known).max(initial=0.0)) else 0.0
        return out

    def row(self, i: int) -> Cells:
        """Return the cells of one object."""
        return [column[i : i + 1] for column in self.columns]

    def read(self, row: Any) -> Cells:
        """Return the cells of a new object.

        It is a sequence, a mapping or a series by the names of the attributes, or a table of one row.
        """
        p = len(self.columns)
        if hasattr(row, "columns"):
            if len(row) != 1 or set(map(str, row.columns)) != set(map(str, self._labels or row.columns)):
                raise InvalidInputError(f"i must be one row with the columns of X, got a table of shape {row.shape}")
            cells = [_frame_column(row, label)[0] for label in (self._labels or list(row.columns))]
        elif isinstance(row, Mapping) or (self._labels and object_index(row) is not None):
            by_name, labels = {str(name): cell for name, cell in row.items()}, list(map(str, self._labels))
            wanted = labels if set(by_name) == set(labels) else self.names
            if set(by_name) != set(wanted) or len(by_name) != len(row):
                got = ", ".join(str(name) for name, _ in row.items())
                raise InvalidInputError(f"i must give the attributes {', '.join(self.names)}; got {got}")
            cells = [by_name[name] for name in wanted]
        else:
            cells = list(to_array(row, "i").reshape(-1))
        if len(cells) != p:
            raise InvalidInputError(
                f"i must be a position, a name, or a row of {p} attributes, got {len(cells)} of them"
            )
        return [self._read_cell(d, cell) for d, cell in enumerate(cells)]

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
        """Return the position of the first object with these cells, -1 if there is none."""
        same = np.ones(len(self), dtype=bool)
        for column, cell in zip(self.columns, cells, strict=True):
            equal = column == cell[0]
            if column.dtype == float and np.isnan(cell[0]):
                equal = np.isnan(column)
            same &= np.asarray(equal, dtype=bool)
        return int(same.argmax()) if same.any() else -1

    def like(self, cells: Cells) -> Any:
        """Return a table of the kind this one was read from, with these cells."""
        if self._kind is not None:
            columns = [column if column.dtype == float else column.tolist() for column in cells]
            return self._kind(dict(zip(self._labels, columns, strict=True)))
        if not all(column.dtype == float for column in cells):
            out = np.empty((len(cells[0]), len(cells)), dtype=object)
            for d, column in enumerate(cells):
                out[:, d] = column
            return out.astype(self._dtype) if self._dtype.kind in "biufUS" else out
        numbers = np.column_stack(cells)
        kept = self._dtype if self._dtype == np.float32 else np.dtype(float)
        return np.ascontiguousarray(numbers.reshape(len(numbers), *self._shape), dtype=kept)


def to_array(X: Any, name: str = "X") -> np.ndarray:
    """Return anything that is no table as an array; numbers beside text stay numbers."""
    with reading_table(X, name):
        array = np.asarray(to_host(X))
        is_mixed = array.dtype.kind in "US" and not isinstance(X, np.ndarray)
        return np.asarray(X, dtype=object) if is_mixed else array


def _frame_column(frame: Any, label: Any) -> np.ndarray:
    series = frame[label]
    if getattr(series, "ndim", 1) != 1:
        raise InvalidInputError(f"X must have different names of columns, got {shown(label)} twice")
    return np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)


def _parse_numbers(column: np.ndarray) -> np.ndarray:
    """Return numbers for text that says them, other columns as they are."""
    try:
        return column.astype(float) if column.dtype.kind in "USO" else column
    except (ValueError, TypeError, OverflowError):
        return column


def _as_cells(column: np.ndarray) -> np.ndarray:
    """Return numbers where all cells are, otherwise objects; missing cells are NaN or None."""
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
    return _as_objects(column)


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real | Decimal | np.number) and not isinstance(cell, bool | np.bool_ | np.timedelta64)


def _as_objects(column: np.ndarray) -> np.ndarray:
    out = np.empty(len(column), dtype=object)
    out[:] = column.tolist()
    return out
