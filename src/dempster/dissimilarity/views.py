"""Multi-view data, which consist of several tables of the same objects.

X is a dictionary of tables, or a list of tables with the names "view 0", "view 1", ... The rows of
all tables are the same objects. They are matched by name if the tables have row names; otherwise
they must be in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils import _safe_indexing

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import printable
from dempster._types import Index, TableLike
from dempster._validation import (
    column_names,
    default_feature_names,
    match_names,
    row_index,
)
from dempster.dissimilarity.input import with_columns_like_rows

if TYPE_CHECKING:
    import pandas as pd


def split_views(X: TableLike) -> tuple[list[str], list[TableLike]] | None:
    """Return the names and the tables of the views, or None if X is a single table."""
    # The sparse DOK matrices of SciPy are also mappings.
    if isinstance(X, Mapping) and not hasattr(X, "shape"):
        names = [printable(name) for name in X]
        if len(set(names)) < max(len(names), 1):
            raise InvalidParameterError(
                "X",
                must=f"contain one or more tables with different names, got {names}",
            )
        return names, list(X.values())
    if isinstance(X, list | tuple) and any(map(_is_table, X)):
        return [f"view {v}" for v in range(len(X))], list(X)
    return None


def _is_table(value: Any) -> bool:
    shape = getattr(value, "shape", None)
    if shape is not None:
        return len(shape) >= 2
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and isinstance(value[0], list | tuple | np.ndarray)
    )


def index_of_views(tables: Sequence[TableLike]) -> Index:
    """Return the row names of the first table that has row names."""
    return next((index for index in map(row_index, tables) if index is not None), None)


def joined_views(X: TableLike) -> TableLike:
    """Return multi-view data as one table, and other X unchanged."""
    views = Views.from_input(X)
    if views is None:
        return X
    return views.table()


@dataclass(frozen=True, eq=False)
class Views:
    """Several tables of the same objects."""

    names: list[str]
    tables: list[TableLike]
    is_named: bool  # whether X was a dictionary

    @classmethod
    def from_input(cls, X: TableLike) -> Self | None:
        """Return the validated views of X, or None if X is a single table."""
        split = split_views(X)
        if split is None:
            return None
        names, tables = split
        lengths = {}
        for name, table in zip(names, tables, strict=True):
            try:
                shape = np.shape(table)
            except ValueError:  # rows of different lengths
                shape = ()
            if len(shape) != 2 or 0 in shape:
                raise InvalidInputError(
                    f"{name!r} in X must be a nonempty table, got shape {tuple(shape)}"
                )
            lengths[name] = shape[0]
        if len(set(lengths.values())) > 1:
            raise InvalidParameterError(
                "X", must=f"have the same number of rows in all views, got {lengths}"
            )
        return cls(names, tables, isinstance(X, Mapping))

    def __len__(self) -> int:
        return int(np.shape(self.tables[0])[0])

    @property
    def index(self) -> Index:
        """Names of the objects."""
        return index_of_views(self.tables)

    @cached_property
    def _places(self) -> list[np.ndarray]:
        """Row number of each object in each table, matched by name if the tables have row names."""
        places = []
        for name, table in zip(self.names, self.tables, strict=True):
            try:
                order = match_names(row_index(table), self.index)
            except ValueError as error:
                raise InvalidInputError(f"{name!r} in X: {error}") from error
            places.append(np.arange(len(self)) if order is None else order)
        return places

    def in_order(self, names: Sequence[str]) -> Views:
        """Return the views in the order of ``names`` if X was a dictionary.

        Otherwise return them unchanged.
        """
        if not self.is_named or sorted(names) != sorted(self.names):
            return self
        return Views(
            list(names), [self.tables[self.names.index(name)] for name in names], True
        )

    def like_input(self, tables: Sequence[TableLike]) -> Any:
        """Return ``tables``, one for each view, in the container type of X (dictionary or list)."""
        if self.is_named:
            return dict(zip(self.names, tables, strict=True))
        return list(tables)

    def rows(self, which: np.ndarray) -> Any:
        """Return the objects at the positions ``which`` from all views, in the container of X."""
        return self.like_input(self._select_rows(which))

    def _select_rows(self, which: Any = slice(None)) -> list[TableLike]:
        places = zip(self.tables, self._places, strict=True)
        return [
            _safe_indexing(
                table if hasattr(table, "shape") else np.asarray(table), place[which]
            )
            for table, place in places
        ]

    # ---- joined views ----------------------------------------------------------------------------

    def table(self) -> pd.DataFrame:
        """Return the unscaled attributes of all views in one table.

        If X was a list and all column names are different, the columns keep their names. Otherwise
        the names are "view: column".
        """
        import pandas as pd

        joined = pd.concat([_frame(rows) for rows in self._select_rows()], axis=1)
        joined.columns = pd.Index(self._column_names())
        if self.index is not None:
            joined.index = self.index
        return joined

    def _column_names(self) -> list[str]:
        columns = [column_names(table) for table in self.tables]
        own = [printable(name) for names in columns for name in names or ()]
        if not self.is_named and all(columns) and len(set(own)) == len(own):
            return own
        out = []
        for view, table, names in zip(self.names, self.tables, columns, strict=True):
            names = names or default_feature_names(np.shape(table)[1])
            out += [f"{view}: {printable(name)}" for name in names]
        return out


def square_part(D: TableLike, which: np.ndarray) -> TableLike:
    """Return the rows and columns of the dissimilarity matrix D at the positions ``which``."""
    from scipy import sparse

    if hasattr(D, "iloc"):
        return with_columns_like_rows(D).iloc[which, which]
    if sparse.issparse(D):
        return D.tocsr()[which][:, which]
    return np.asarray(D)[np.ix_(which, which)]


def _frame(table: Any) -> pd.DataFrame:
    """Return a table of any type as a pandas DataFrame without row names."""
    import pandas as pd
    from scipy import sparse

    if sparse.issparse(table):
        raise InvalidParameterError(
            "X", must="contain dense tables, got a sparse matrix; use X.toarray()"
        )
    if hasattr(table, "iloc"):
        return table.reset_index(drop=True)
    if hasattr(table, "columns"):
        return pd.concat(
            [pd.Series(table[name].to_numpy()) for name in table.columns], axis=1
        )
    return pd.DataFrame(np.asarray(table))
