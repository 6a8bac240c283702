"""Validation of several tables of the same objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

import numpy as np
from sklearn.base import BaseEstimator

from dempster._errors import InvalidParameterError
from dempster._text import printable
from dempster._types import ArrayLike, TableLike
from dempster._validation import (
    default_feature_names,
    match_names,
    row_index,
    validate_features,
)
from dempster.dissimilarity.views import index_of_views, split_views


class View(BaseEstimator):
    """Estimator that stores the number and the names of the columns of one table."""


class ViewInput:
    """Validation of training data and new data with several views."""

    names: list[str]
    of_column: Annotated[np.ndarray, "*:int"]  # view of each column
    _readers: list[View]  # one per table; empty if X is a single table

    def read_training(
        self, estimator: BaseEstimator, X: TableLike, views: str | ArrayLike | None
    ) -> np.ndarray:
        """Validate training data, and return one table with the columns of all views.

        ``views`` is the parameter of `WMVEC`.
        """
        split = split_views(X)
        if views is not None and split is not None:
            raise InvalidParameterError("views", "None if X is a list of tables", views)
        self.names, tables = split or (["X"], [X])
        self._readers = [View() for _ in tables if split is not None]
        parts = self._read_tables(estimator, tables, reset=True)
        widths = [part.shape[1] for part in parts]
        if split is not None:
            estimator.n_features_in_ = sum(widths)
        self.of_column = np.repeat(np.arange(len(parts)), widths)
        if views is not None:
            self._group_columns(tables[0], views)
        return _join(parts)

    def _group_columns(self, table: TableLike, views: str | ArrayLike) -> None:
        """Define one view for each column of a table, or for each group of columns."""
        n_columns = len(self.of_column)
        if isinstance(views, str):
            names = getattr(table, "columns", None)
            if names is None:
                names = default_feature_names(n_columns)
            self.names = [printable(name) for name in names]
            self.of_column = np.arange(n_columns)
            return
        labels = np.asarray(views)
        if labels.shape != (n_columns,):
            raise InvalidParameterError(
                "views",
                must=f"contain one label for each of the {n_columns} columns of X, "
                f"got shape {labels.shape}",
            )
        labels = labels.tolist()
        distinct = list(dict.fromkeys(labels))
        self.names = [printable(name) for name in distinct]
        self.of_column = np.array([distinct.index(name) for name in labels], np.intp)

    def read_new(self, estimator: BaseEstimator, X: TableLike) -> np.ndarray:
        """Validate new rows, and return one table with the columns of all views."""
        names, tables = split_views(X) or ([], [X])
        is_named = isinstance(X, Mapping)
        n_views = max(len(self._readers), 1)
        if len(tables) != n_views or (is_named and set(names) != set(self.names)):
            must = f"have the same {n_views} views as in fit, {', '.join(self.names)}"
            found = ", ".join(names) or "a single table"
            raise InvalidParameterError("X", must=f"{must}, got {found}")
        if is_named:
            tables = [tables[names.index(name)] for name in self.names]
        return _join(self._read_tables(estimator, tables, reset=False))

    def read_joined(
        self, estimator: BaseEstimator, attributes: TableLike
    ) -> np.ndarray:
        """Validate new rows in one table with the columns of all views, as in the training data."""
        import pandas as pd

        readers = self._readers or [estimator]
        ends = np.cumsum([reader.n_features_in_ for reader in readers])[:-1]
        tables: list[TableLike] = np.split(np.asarray(attributes), ends, axis=1)
        for v, reader in enumerate(readers):
            if hasattr(reader, "feature_names_in_"):
                tables[v] = pd.DataFrame(tables[v], columns=reader.feature_names_in_)
        return self.read_new(estimator, tables)

    @contextmanager
    def _naming_view(self, v: int) -> Iterator[None]:
        """Add the name of the view to error messages, if X is not a single table."""
        try:
            yield
        except (ValueError, TypeError) as error:
            if not self._readers:
                raise
            raise InvalidParameterError(
                "X", message=f"{self.names[v]!r} in X: {error}"
            ) from error

    def _read_tables(
        self, estimator: BaseEstimator, tables: list[TableLike], *, reset: bool
    ) -> list[np.ndarray]:
        """Validate the tables and sort their rows by their names, if they have names."""
        parts = []
        for v, reader in enumerate(self._readers or [estimator]):
            with self._naming_view(v):
                parts.append(validate_features(reader, tables[v], reset=reset))
        lengths = [len(part) for part in parts]
        if len(set(lengths)) > 1:
            counts = ", ".join(
                f"{n} in {name!r}" for name, n in zip(self.names, lengths, strict=True)
            )
            raise InvalidParameterError(
                "X", must=f"have the same rows in all views, got {counts}"
            )
        index = index_of_views(tables)
        for v, table in enumerate(tables):
            with self._naming_view(v):
                order = match_names(row_index(table), index)
            if order is not None:
                parts[v] = parts[v][order]
        return parts


def _join(parts: list[np.ndarray]) -> np.ndarray:
    if len(parts) == 1:
        return parts[0]
    return np.ascontiguousarray(np.hstack(parts))
