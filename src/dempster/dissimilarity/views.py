"""Objects that several tables, or matrices of dissimilarities, describe: which is which, some rows of all, all as one.

=================================  =================================================================================
X                                  views
=================================  =================================================================================
a list of tables                   each is one, in their order, called "view 0", "view 1", ...
a dictionary of tables             each is one, with its name
=================================  =================================================================================

Rows are the same objects in all views, in the same order unless pandas tables name them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import printable
from dempster._types import Index, Metric, TableLike
from dempster._validation import column_names, numbered_attributes, object_index, order_of_names
from dempster.dissimilarity.input import DissimilarityInput, with_columns_like_rows
from dempster.dissimilarity.sources import MatrixSource

if TYPE_CHECKING:
    import pandas as pd


def split_views(X: TableLike) -> tuple[list[str], list[TableLike]] | None:
    """Names and tables of the views; None if X is one table."""
    if isinstance(X, Mapping) and not hasattr(X, "shape"):  # some sparse matrices are dictionaries
        return [printable(name) for name in X], list(X.values())
    if isinstance(X, list | tuple) and any(map(_is_table, X)):
        return [f"view {v}" for v in range(len(X))], list(X)
    return None


def _is_table(value: Any) -> bool:
    """Whether something has rows and columns."""
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) >= 2
    return isinstance(value, list | tuple) and len(value) > 0 and isinstance(value[0], list | tuple | np.ndarray)


def index_of_views(tables: Sequence[TableLike]) -> Index:
    """Names of the objects: those of the first table that has some."""
    return next((index for index in map(object_index, tables) if index is not None), None)


def joined_views(X: TableLike, metric: Metric = "euclidean") -> TableLike:
    """What comes in several tables as one table, in several matrices (``metric="precomputed"``) as one matrix;
    anything else as it is."""
    views = Views.of(X)
    if views is None:
        return X
    return views.dissimilarities() if isinstance(metric, str) and metric == "precomputed" else views.table()


@dataclass(frozen=True, eq=False)
class Views:
    """Tables, or matrices, of the same objects.

    Attributes
    ----------
    names : list of str
    tables : list of tables
    is_named : bool
        Whether they came in a dictionary.
    """

    names: list[str]
    tables: list[TableLike]
    is_named: bool

    @classmethod
    def of(cls, X: TableLike) -> Self | None:
        """The views of X, checked; None if X is one table."""
        split = split_views(X)
        if split is None:
            return None
        names, tables = split
        if not tables:
            raise InvalidParameterError("X", must="hold at least one table, got none")
        if twice := [name for name in dict.fromkeys(names) if names.count(name) > 1]:
            raise InvalidParameterError("X", must=f"have different names of views, got {twice[0]!r} more than once")
        for name, table in zip(names, tables, strict=True):
            try:
                shape = np.shape(table)
            except ValueError as error:  # a list of lists of different lengths
                raise InvalidInputError(f"{name!r} in X must be a table, got rows of different lengths") from error
            if len(shape) != 2 or 0 in shape:
                raise InvalidInputError(
                    f"{name!r} in X must be a table of objects and attributes, got shape {tuple(shape)}"
                )
        lengths = [np.shape(table)[0] for table in tables]
        if len(set(lengths)) > 1:
            said = ", ".join(f"{name!r} has {n}" for name, n in zip(names, lengths, strict=True))
            raise InvalidInputError(f"all views of X must hold the same objects, but {said} of them")
        return cls(names, tables, isinstance(X, Mapping))

    def __len__(self) -> int:
        """How many objects there are."""
        return int(np.shape(self.tables[0])[0])

    @property
    def index(self) -> Index:
        """Names of the objects."""
        return index_of_views(self.tables)

    @cached_property
    def _places(self) -> list[np.ndarray]:
        """Where each object is in each table, by its name where both have one."""
        everyone, places = np.arange(len(self)), []
        for name, table in zip(self.names, self.tables, strict=True):
            try:
                order = order_of_names(object_index(table), self.index)
            except ValueError as error:
                raise InvalidInputError(f"{name!r} in X: {error}") from error
            places.append(everyone if order is None else order)
        return places

    def in_order(self, names: Sequence[str]) -> Views:
        """The same views in the order of these names, if they have names."""
        if not self.is_named or sorted(names) != sorted(self.names):
            return self
        return Views(list(names), [self.tables[self.names.index(name)] for name in names], True)

    def given(self, tables: Sequence[TableLike]) -> Any:
        """Other tables for these views, in the form in which the views came."""
        return dict(zip(self.names, tables, strict=True)) if self.is_named else list(tables)

    def rows(self, which: np.ndarray) -> Any:
        """Some objects in all views, in the form in which these came."""
        return self.given([_rows(table, place[which]) for table, place in zip(self.tables, self._places, strict=True)])

    def square_parts(self, which: np.ndarray) -> Any:
        """Dissimilarities between some objects in all views, in the form in which these came."""
        pairs = zip(self.tables, self._places, strict=True)
        return self.given([square_part(table, place[which]) for table, place in pairs])

    # ---- all as one -----------------------------------------------------------------------------------------------

    def table(self) -> pd.DataFrame:
        """All attributes side by side, in their own units. They have the names of their columns where these tell them
        apart and the views have none; else "view: column"."""
        import pandas as pd

        everyone = np.arange(len(self))
        parts = [_frame(_rows(table, place[everyone])) for table, place in zip(self.tables, self._places, strict=True)]
        joined = pd.concat(parts, axis=1)
        joined.columns = pd.Index(self._attributes())
        if self.index is not None:
            joined.index = self.index
        return joined

    def _attributes(self) -> list[str]:
        columns = [column_names(table) for table in self.tables]
        own = [printable(name) for names in columns for name in names or ()]
        if not self.is_named and all(columns) and len(set(own)) == len(own):
            return own
        out = []
        for view, table, names in zip(self.names, self.tables, columns, strict=True):
            shown = numbered_attributes(np.shape(table)[1]) if names is None else map(printable, names)
            out += [f"{view}: {name}" for name in shown]
        return out

    def dissimilarities(self) -> TableLike:
        """(n, n) roots of the sums of the squared dissimilarities of all views: of Euclidean distances, the distances
        of all attributes side by side."""
        total = np.zeros((len(self), len(self)))
        for name, table, place in zip(self.names, self.tables, self._places, strict=True):
            try:
                source = DissimilarityInput("precomputed", remedy="; give the mean of the two, (X + X.T) / 2").training(
                    BaseEstimator(), table
                )
            except (ValueError, TypeError) as error:
                raise InvalidParameterError("X", message=f"{name!r} in X: {error}") from error
            assert isinstance(source, MatrixSource)
            total += np.square(source.matrix[np.ix_(place, place)], dtype=float)
        np.sqrt(total, out=total)
        if self.index is None:
            return total
        import pandas as pd

        return pd.DataFrame(total, index=self.index, columns=self.index)

    def row(self, i: Any) -> Any:
        """The cells of a new object in all views side by side, where it comes as a row for each of them; anything else
        as it is."""
        rows = self._split(i)
        if rows is None:
            return i
        cells: list[Any] = []
        for name, table, row in zip(self.names, self.tables, rows, strict=True):
            found, width = _cells(row, table), np.shape(table)[1]
            if len(found) != width:
                raise InvalidParameterError("i", must=f"have {width} attributes in {name!r}, got {len(found)}")
            cells += found
        return cells

    def row_of_dissimilarities(self, i: Any) -> np.ndarray:
        """(V, n) dissimilarities of a new object in each of the views."""
        rows = self._split(i)
        if rows is None or len(rows) != len(self.tables):
            raise InvalidParameterError(
                "i",
                must=f"be a position, a name, or a row of dissimilarities for each of the {len(self.tables)} views "
                f"({', '.join(self.names)})",
            )
        found = [np.asarray(row, dtype=float).reshape(-1) for row in rows]
        for name, table, row in zip(self.names, self.tables, found, strict=True):
            if len(row) != np.shape(table)[1]:
                raise InvalidParameterError(
                    "i", must=f"have {np.shape(table)[1]} dissimilarities in {name!r}, got {len(row)}"
                )
        return np.array(found)

    def _split(self, i: Any) -> list[Any] | None:
        """A row for each view, if these are given."""
        if isinstance(i, Mapping):
            named = {printable(name): row for name, row in i.items()}
            return [named[name] for name in self.names] if set(named) == set(self.names) else None
        several = isinstance(i, list | tuple | np.ndarray) and len(i) == len(self.names)
        return list(i) if several and all(_is_row(row) for row in i) else None


def _is_row(value: Any) -> bool:
    return not isinstance(value, str) and (hasattr(value, "__len__") or getattr(value, "ndim", 0) > 0)


def _rows(table: TableLike, which: np.ndarray) -> TableLike:
    return _safe_indexing(table if hasattr(table, "shape") else np.asarray(table), which)


def square_part(D: TableLike, which: np.ndarray) -> TableLike:
    """Dissimilarities between some of the objects."""
    from scipy import sparse

    if hasattr(D, "iloc"):
        return with_columns_like_rows(D).iloc[which, which]
    if sparse.issparse(D):
        return D.tocsr()[which][:, which]
    return np.asarray(D)[np.ix_(which, which)]


def _frame(table: Any) -> pd.DataFrame:
    """A table of any kind with plain rows."""
    import pandas as pd
    from scipy import sparse

    if sparse.issparse(table):
        raise InvalidParameterError(
            "X", must="hold dense tables, got a sparse matrix; use X.toarray(), or fewer columns"
        )
    if hasattr(table, "iloc"):
        return table.reset_index(drop=True)
    if hasattr(table, "columns"):
        return pd.concat([pd.Series(table[name].to_numpy()) for name in table.columns], axis=1)
    return pd.DataFrame(np.asarray(table))


def _cells(row: Any, table: TableLike) -> list[Any]:
    """The cells of one row, by the names of the columns where both have some."""
    names = column_names(table)
    if hasattr(row, "columns"):
        if len(row) != 1:
            raise InvalidParameterError("i", must=f"be one object, got a table of {len(row)} rows")
        row = dict(zip(row.columns, _frame(row).iloc[0], strict=True))
        names = names or list(row)
    if isinstance(row, Mapping) or (names is not None and object_index(row) is not None):
        missing = [name for name in names or () if name not in row]
        if names is None or missing or len(row) != len(names):
            wanted = "a sequence: X names no columns" if names is None else ", ".join(map(str, names))
            raise InvalidParameterError(
                "i", must=f"give the attributes {wanted}; got {', '.join(map(str, row.keys()))}"
            )
        return [row[name] for name in names]
    return np.asarray(row, dtype=object).reshape(-1).tolist()
