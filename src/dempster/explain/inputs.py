"""Validate and convert the input of explanations: a clustering result and a table of objects.

The clustering result is an estimator, a partition or labels. If the table and the partition both
have object names, the rows are matched by name. The applications accept the same input.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import to_array_with_shape, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import Index, TableLike
from dempster.dissimilarity.columns import Column, read_columns
from dempster.dissimilarity.views import Views, joined_views, split_views
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.partition.credal_partition import as_credal_partition

# ---- estimator, partition or labels --------------------------------------------------------------

_ACCEPTED = (
    "a CredalPartition, a fitted estimator that has one, or a sequence of labels"
)


@dataclass(frozen=True, eq=False)
class ExplainedInput:
    """A clustering result, which the user passed as an estimator, a partition or labels."""

    estimator: Any  # fitted estimator or pipeline, None for a partition or labels
    model: Any  # the last step of a pipeline, otherwise the estimator
    partition: CredalPartition
    is_pairwise: bool  # whether the table of objects contains dissimilarities
    is_blockwise: bool  # whether the model was fitted to blocks, so that its table is not in memory

    @property
    def image_shape(self) -> tuple[int, ...] | None:
        """Shape of the image whose pixels were clustered; None if the data are not an image."""
        return getattr(self.model, "image_shape_", None)

    def align_partition(self, X: TableLike, n_rows: int) -> CredalPartition:
        """Return the partition in the order of the rows of X."""
        self._check_rows(n_rows, "X")
        order = rule.match_names(self.partition.index, row_names(X))
        if order is None:
            return self.partition
        return self.partition[order]

    def align_table(
        self, table: TableLike, name: str = "table", *, of_fit: bool = True
    ) -> TableLike:
        """Return a table with its rows in the order of the objects of the partition.

        ``of_fit`` states whether the estimator was fitted to this table.
        """
        is_pairwise = self.is_pairwise and of_fit
        views = Views.from_input(table)
        if views is not None:
            self._check_rows(len(views), name)
            order = rule.match_names(views.index, self.partition.index)
            if order is None:
                order = np.arange(len(views))
            return views.rows(order)
        if not hasattr(table, "shape"):
            table = to_array(table, name)
        if of_fit and self.image_shape is not None:
            return table
        if len(table.shape) != 2:
            raise InvalidParameterError(
                name,
                must=f"be a table with two dimensions, got shape {tuple(table.shape)}",
            )
        self._check_rows(int(table.shape[0]), name)
        order = rule.match_names(rule.row_index(table), self.partition.index)
        if order is None:
            return table
        if is_pairwise:
            return table.iloc[order, order]
        return table.iloc[order]

    def _check_rows(self, n_rows: int, name: str) -> None:
        if n_rows != len(self.partition):
            objects = f"{len(self.partition):,} objects of the partition"
            advice = (
                f"for other objects use the partition estimator.predict_mass({name})"
            )
            raise InvalidParameterError(
                name,
                must=f"have a row for each of the {objects}, got {n_rows:,}; {advice}",
            )

    def reject_dissimilarities(self, X: TableLike) -> None:
        """Raise an error if X contains the dissimilarities to which the model was fitted."""
        if self.estimator is None or not self.is_pairwise:
            return
        n = len(self.partition)
        if split_views(X) is None and np.shape(X) == (n, n):
            method = type(self.estimator).__name__
            raise InvalidParameterError(
                "X",
                must=f"contain attributes, got the training dissimilarities of {method}",
            )


def resolve_input(
    subject: Any,
    name: str = "partition",
    *,
    metric: str | None = None,
    needs_partition: bool = True,
) -> ExplainedInput:
    """Convert an estimator, a partition or labels to an `ExplainedInput`.

    With ``metric="precomputed"``, a partition or labels belong to a table of dissimilarities. If
    ``needs_partition`` is False, a fitted classifier is also accepted, and the ``partition`` of the
    result is None.
    """
    rule.check(metric, "metric", rule.none | rule.choice("precomputed"))
    estimator = model = None
    result = subject
    if hasattr(subject, "fit") and not isinstance(subject, type):
        check_is_fitted(subject)
        estimator = model = subject
        while hasattr(model, "steps"):
            model = model.steps[-1][1]
        result = getattr(model, "credal_partition_", None)
        if result is None:
            result = getattr(model, "labels_", None)
        if result is None and (needs_partition or not hasattr(model, "classes_")):
            got = f"{type(model).__name__} without credal_partition_ or labels_"
            raise InvalidParameterError(name, must=f"be {_ACCEPTED}, got {got}")
    elif not hasattr(subject, "focal_sets"):
        result = _read_labels(subject, name)
    is_pairwise = metric == "precomputed"
    if hasattr(estimator, "__sklearn_tags__"):
        is_pairwise = bool(get_tags(estimator).input_tags.pairwise)
    is_blockwise = isinstance(result, LazyCredalPartition)
    if is_blockwise:
        result = result.compute()
    partition: Any = None if result is None else as_credal_partition(result, name)
    return ExplainedInput(estimator, model, partition, is_pairwise, is_blockwise)


def _read_labels(values: Any, name: str) -> Any:
    with rule.validating_labels(values, name):
        labels = np.asarray(values)
    if labels.ndim != 1:
        got = f"{type(values).__name__} of shape {labels.shape}"
        advice = (
            "construct a partition from masses by CredalPartition(masses, focal_sets)"
        )
        raise InvalidParameterError(name, must=f"be {_ACCEPTED}, got {got}; {advice}")
    # a pandas Series keeps its index
    if hasattr(values, "iloc"):
        return values
    return labels


# ---- rows ----------------------------------------------------------------------------------------


def row_names(*tables: TableLike) -> Index:
    """Return the row names of the first table (or list of views) that has row names.

    None if no table has names.
    """
    for table in tables:
        views = None
        if table is not None:
            views = Views.from_input(table)
        index = rule.row_index(table) if views is None else views.index
        if index is not None:
            return index
    return None


def select_rows(X: TableLike, positions: Sequence[int] | np.ndarray) -> Any:
    """Return the rows at the given positions of a table of any type, or of several views."""
    rows = np.asarray(positions, np.intp)
    views = Views.from_input(X)
    if views is not None:
        return views.rows(rows)
    if hasattr(X, "tocsr"):
        X = X.tocsr()
    elif not hasattr(X, "columns"):
        X = to_array(X)
    return _safe_indexing(X, rows)


def find_object(
    i: Any, names: Index, n: int, image_shape: tuple[int, ...] | None = None
) -> int:
    """Return the position of the object with the position, name or pixel ``i``.

    -1 if ``i`` contains attributes.
    """
    labels = [] if names is None else list(names)
    expected = "the position or name of an object, or a row of attributes"
    is_row = isinstance(i, list | tuple | Mapping) or np.ndim(i) > 0
    if isinstance(i, Hashable) and i in labels and not isinstance(i, bool | np.bool_):
        if labels.count(i) == 1:
            return labels.index(i)
        expected = f"a position, because {labels.count(i)} objects are called {i!r}"
    elif image_shape is not None and isinstance(i, tuple):
        with suppress(ValueError, TypeError):
            return int(np.ravel_multi_index(i, image_shape))
        expected = f"a pixel of an image of shape {image_shape}"
    elif is_row:
        return -1
    elif rule.is_integer(i):
        if any(isinstance(name, int | float | np.number) for name in labels):
            expected = "the name of an object, because some names are numbers"
        elif 0 <= i < n:
            return int(i)
        else:
            expected = f"a position from 0 to {n - 1}"
    raise InvalidParameterError("i", expected, i)


# ---- attributes ----------------------------------------------------------------------------------


def join_attributes(X: TableLike) -> Any:
    """Join the attributes of several views to one table; return a single table unchanged."""
    return joined_views(to_array_with_shape(X))


def read_attributes(
    X: TableLike, name: str = "X", *, dates: bool = False
) -> list[Column]:
    """Return the columns of a table of any type; dates are accepted if ``dates`` is True."""
    if hasattr(X, "tocsr"):
        raise InvalidParameterError(
            name, must=f"be a dense table, got a sparse matrix; use {name}.toarray()"
        )
    with rule.validating_table(X, name):
        if hasattr(X, "to_frame") and not hasattr(X, "columns"):
            X = X.to_frame()  # pandas or polars Series
        if hasattr(X, "columns"):
            names = [str(label) for label in X.columns]
            if twice := [
                label for label in dict.fromkeys(names) if names.count(label) > 1
            ]:
                repeated = ", ".join(map(repr, twice))
                raise InvalidParameterError(
                    name,
                    must=f"have unique column names, got {repeated} more than once",
                )
        else:
            if not isinstance(X, list | tuple):
                X = np.asarray(to_host(X))
            shape = np.shape(X)
            if len(shape) != 2:
                advice = f"Reshape your data: {name}.reshape(-1, 1) is one attribute"
                raise InvalidParameterError(
                    name,
                    must=f"be a table with two dimensions, got shape {shape}. {advice}",
                )
            if np.iscomplexobj(X):
                raise InvalidInputError(
                    f"Complex data not supported: {name} must contain numbers, text or categories"
                )
            names = rule.default_feature_names(shape[1])
        for number, what in zip(np.shape(X), ("sample(s)", "feature(s)"), strict=True):
            if number == 0:
                shape = tuple(np.shape(X))
                raise InvalidInputError(
                    f"{name} has 0 {what} (shape={shape}) while a minimum of 1 is required."
                )
        columns = read_columns(X, dates=dates).values()
        return [
            Column(label, column.series)
            for label, column in zip(names, columns, strict=True)
        ]


# ---- cells ---------------------------------------------------------------------------------------

Cells = list[np.ndarray]
"""List with an array for each attribute, which contains numbers (NaN if missing) or objects."""


class ObjectTable:
    """The p attributes of n objects, stored by column.

    X is a pandas or polars DataFrame, or an array-like of shape (n, p) or, for images and tensors,
    (n, ...). ``names`` replaces the column names. If ``categorical`` is True, numbers are treated
    as categories. If ``numeric`` is True, text is parsed as numbers where possible, because some
    models read all columns as numbers.
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
        self._frame_type: Any = type(X) if hasattr(X, "columns") else None
        self._labels: list[Any] = [] if self._frame_type is None else list(X.columns)
        self.index: Index = rule.row_index(X)
        if self._frame_type is None:
            X = to_array(X, argument)
            if X.ndim < 2 or X.size == 0:
                raise InvalidParameterError(
                    argument, must=f"contain objects in rows, got shape {X.shape}"
                )
            self._dtype = X.dtype
            self._shape = X.shape[1:]
            X = X.reshape(len(X), -1)
        columns = read_attributes(X, argument, dates=True)
        self.columns: Cells = [
            _read_cells(column, categorical, numeric) for column in columns
        ]
        self.is_number = np.array(
            [column.dtype == float for column in self.columns], bool
        )
        self.names = [str(column.name) for column in columns]
        if names is not None:
            self.names = rule.as_texts(names, "feature_names", "names of attributes")
        if len(self.names) != len(columns):
            raise InvalidParameterError(
                "feature_names",
                must=f"contain {len(columns)} names, got {len(self.names)}",
            )

    def __len__(self) -> int:
        return len(self.columns[0])

    @cached_property
    def numbers(self) -> np.ndarray:
        """Values as an array of shape (n, p); all attributes must be numbers."""
        return np.column_stack(self.columns)

    @property
    def is_numeric(self) -> bool:
        return bool(self.is_number.all())

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviation of each attribute; 0 for constant attributes and for categories."""
        out = np.zeros(len(self.columns))
        for d in np.flatnonzero(self.is_number).tolist():
            present = self.present(d)
            if len(present):
                deviation = float(present.std())
                # The standard deviation of a constant column may differ from 0 by rounding.
                if deviation > 1e-12 * float(np.abs(present).max()):
                    out[d] = deviation
        return out

    def present(self, d: int, rows: Any = slice(None)) -> Any:
        """Return the values of attribute ``d`` that are not missing.

        They are an array of numbers or a list of categories.
        """
        cells = self.columns[d][rows]
        if self.is_number[d]:
            return cells[~np.isnan(cells)]
        return [cell for cell in cells if not rule.is_missing(cell)]

    def row(self, i: int) -> Cells:
        return [column[i : i + 1] for column in self.columns]

    def parse_row(self, row: Any) -> Cells:
        """Validate a new object (a sequence, mapping or series) and return its values in order."""
        p = len(self.columns)
        if hasattr(row, "columns"):
            raise InvalidParameterError("i", "a row of attributes, not a table", row)
        if isinstance(row, Mapping) or (
            self._labels and rule.row_index(row) is not None
        ):
            by_name = {str(name): cell for name, cell in row.items()}
            names = list(map(str, self._labels))
            if set(by_name) != set(names):
                names = self.names
            if set(by_name) != set(names) or len(by_name) != len(row):
                got = ", ".join(by_name)
                raise InvalidParameterError(
                    "i", must=f"give the attributes {', '.join(self.names)}, got {got}"
                )
            cells = [by_name[name] for name in names]
        else:
            values = to_array(row, "i")
            if isinstance(row, list | tuple) and values.ndim > 1:
                raise InvalidParameterError(
                    "i", must=f"be one row, got shape {values.shape}"
                )
            cells = list(values.reshape(-1))
        if len(cells) != p:
            raise InvalidParameterError(
                "i", must=f"be a position, a name, or {p} attributes, got {len(cells)}"
            )
        return [self._parse_cell(d, cell) for d, cell in enumerate(cells)]

    def _parse_cell(self, d: int, cell: Any) -> np.ndarray:
        out = np.empty(1, object)
        if not self.is_number[d]:
            out[0] = cell
            return out
        try:
            number = np.nan if rule.is_missing(cell) else float(cell)
        except (TypeError, ValueError):
            number = np.inf
        if np.isinf(number):
            expected = f"a row with a finite number as {self.names[d]}"
            raise InvalidParameterError("i", expected, cell)
        return np.array([number])

    def find(self, cells: Cells) -> int:
        """Return the position of the first object with the attribute values ``cells``.

        -1 if there is none.
        """
        same = np.ones(len(self), bool)
        for column, cell in zip(self.columns, cells, strict=True):
            equal = column == cell[0]
            if column.dtype == float and np.isnan(cell[0]):
                equal = np.isnan(column)
            same &= np.asarray(equal, bool)
        if same.any():
            return int(same.argmax())
        return -1

    def to_table(self, cells: Cells) -> Any:
        """Return the attribute values ``cells`` as a table of the same type as X."""
        if self._frame_type is not None:
            columns = [
                column if column.dtype == float else column.tolist() for column in cells
            ]
            return self._frame_type(dict(zip(self._labels, columns, strict=True)))
        if not all(column.dtype == float for column in cells):
            out = np.empty((len(cells[0]), len(cells)), object)
            for d, column in enumerate(cells):
                out[:, d] = column
            if self._dtype.kind in "biufUS":
                return out.astype(self._dtype)
            return out
        numbers = np.column_stack(cells)
        dtype = np.float32 if self._dtype == np.float32 else float
        return np.ascontiguousarray(numbers.reshape(len(numbers), *self._shape), dtype)


def to_array(X: Any, name: str = "X") -> np.ndarray:
    """Convert array-like data to an array.

    Numbers in a list that also contains text remain numbers.
    """
    with rule.validating_table(X, name):
        array = np.asarray(to_host(X))
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            return np.asarray(X, object)
        return array


def _read_cells(column: Column, categorical: bool, numeric: bool) -> np.ndarray:
    if not categorical and column.is_numeric:
        return column.numbers()
    if not categorical and column.is_empty:
        return np.full(len(column), np.nan)
    cells = column.objects()
    if numeric and not column.is_boolean:
        try:
            return cells.astype(float)
        except (ValueError, TypeError):
            pass
    return cells
