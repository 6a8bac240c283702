"""How X is read: a list of tables, one a view, or one table whose columns make the views.

=================================  =================================================================================
X                                  views
=================================  =================================================================================
a list of tables                   each is one, in their order
a dictionary of tables             each is one, with its name
one table                          it is the only one; or its columns are told apart by the parameter ``views``
=================================  =================================================================================

With ``metric="precomputed"`` tables are square matrices of dissimilarities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from dempster._errors import InvalidInputError
from dempster._reading import check_tensor
from dempster._tables import numbered_attributes, object_index, order_of_names, printable
from dempster._types import ArrayLike, TableLike
from dempster.dissimilarity.input import DissimilarityInput
from dempster.dissimilarity.views import index_of_views, split_views

__all__ = ["ViewInput", "ViewMatrices", "given_views"]


class View(BaseEstimator):
    """What is remembered of one table: how many columns it had, and their names."""


class ViewMatrices:
    """Dissimilarities of the same objects, a matrix a view."""

    def __init__(self, matrices: Sequence[np.ndarray]):
        self.matrices = list(matrices)
        self.dtype = np.result_type(*self.matrices)

    def __len__(self) -> int:
        return len(self.matrices[0])

    def __getitem__(self, rows: slice) -> ViewMatrices:
        """Some of the objects, with their dissimilarities to all."""
        return ViewMatrices([D[rows] for D in self.matrices])


def given_views(X: TableLike, name: str = "X") -> tuple[list[str], list[TableLike]] | None:
    """Names and tables of the views; None if X is one table."""
    check_tensor(X, name)
    split = split_views(X)
    shape = getattr(X, "shape", ())
    if split is None and len(shape) == 3:
        raise InvalidInputError(
            f"{name} must be one table or a list of tables, got an array of shape {shape}; give list({name})"
        )
    if (split is not None and not split[1]) or (isinstance(X, list | tuple) and len(X) == 0):
        raise InvalidInputError(f"{name} must hold at least one table, got none")
    return split


class ViewInput:
    """Reads the views of a fit, and later new objects in the same way.

    Parameters
    ----------
    metric : {"euclidean", "precomputed"}
    symmetrize : bool
        As in `DissimilarityInput`.
    views : None, "attributes" or array-like of shape (n_features,)
        As in `WMVEC`.
    """

    def __init__(self, metric: str, symmetrize: bool, views: str | ArrayLike | None):
        self.metric, self.symmetrize, self.views = metric, symmetrize, views
        self.names: list[str] = []
        self.several = False
        self.of_column = np.empty(0, dtype=np.intp)
        self._doors: list[DissimilarityInput] = []
        self._readers: list[BaseEstimator] = []  # none if X is one table: the estimator itself remembers it
        self._orders: list[np.ndarray | None] = []

    @property
    def is_precomputed(self) -> bool:
        return self.metric == "precomputed"

    # ---- the objects of a fit -------------------------------------------------------------------------------------

    def training(self, estimator: BaseEstimator, X: TableLike) -> np.ndarray | ViewMatrices:
        """All attributes side by side, or the matrices; sets what scikit-learn wants to know (``n_features_in_``)."""
        split = given_views(X)
        self.several = split is not None
        if split is None:
            names, tables, self._readers = ["X"], [X], []
        else:
            if self.views is not None:
                raise InvalidInputError(f"views tells the columns of one table apart, but X is {len(split[1])} tables")
            names, tables = split
            self._readers = [View() for _ in tables]
        self.names, readers = names, self._readers or [estimator]
        self._doors = [DissimilarityInput(self.metric, symmetrize=self.symmetrize) for _ in tables]
        parts = [
            self._named(name, lambda d=door, r=reader, t=table: _values(d.training(r, t)))
            for name, door, reader, table in zip(names, self._doors, readers, tables, strict=True)
        ]
        parts, self._orders = self._matched(parts, tables, square=self.is_precomputed)
        if self.several:
            estimator.n_features_in_ = len(parts[0]) if self.is_precomputed else sum(part.shape[1] for part in parts)
        if self.is_precomputed:
            if self.views is not None:
                raise InvalidInputError("views tells attributes apart, but with metric='precomputed' X has none")
            return ViewMatrices(parts)
        self.of_column = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
        if self.views is not None:
            self._tell_columns_apart(tables[0], parts[0].shape[1])
        return np.ascontiguousarray(np.hstack(parts)) if len(parts) > 1 else parts[0]

    def _tell_columns_apart(self, table: TableLike, n_columns: int) -> None:
        """Views that are columns, or groups of them, of one table."""
        columns = getattr(table, "columns", None)
        if isinstance(self.views, str):
            self.names = numbered_attributes(n_columns) if columns is None else [*map(printable, columns)]
            self.of_column = np.arange(n_columns)
            return
        labels = np.asarray(self.views)
        if labels.shape != (n_columns,):
            got = f"{len(labels)} names" if labels.ndim == 1 else f"an array of shape {labels.shape}"
            raise InvalidInputError(f"views must name the view of each of the {n_columns} columns of X, got {got}")
        given = labels.tolist()
        different = list(dict.fromkeys(given))
        self.names = [printable(name) for name in different]
        self.of_column = np.array([different.index(name) for name in given])

    # ---- new objects ----------------------------------------------------------------------------------------------

    def new(self, estimator: BaseEstimator, X: TableLike) -> np.ndarray | ViewMatrices:
        """New objects: all attributes side by side, or their dissimilarities to the objects of the fit."""
        split = given_views(X)
        if split is None:
            if self.several and len(self._doors) > 1:
                raise InvalidInputError(
                    f"X must be a list of {len(self._doors)} tables, one a view ({', '.join(self.names)})"
                )
            split = self.names[:1], [X]
        names, tables = split
        if len(tables) != len(self._doors):
            raise InvalidInputError(f"X has {len(tables)} views, but there were {len(self._doors)} in fit")
        if isinstance(X, Mapping):
            tables = [tables[k] for k in self._order_of_views(names)]
        shown = self.names if self.several else ["X"]
        parts = [
            self._named(name, lambda d=door, r=reader, t=table: d.new(r, t))
            for name, door, reader, table in zip(shown, self._doors, self._readers or [estimator], tables, strict=True)
        ]
        if self.is_precomputed:
            pairs = zip(parts, self._orders, strict=True)
            parts = [part if order is None else part[:, order] for part, order in pairs]
        parts, _ = self._matched(parts, tables, square=False)
        if self.is_precomputed:
            return ViewMatrices(parts)
        return np.ascontiguousarray(np.hstack(parts)) if len(parts) > 1 else parts[0]

    def joined(self, estimator: BaseEstimator, attributes: TableLike) -> np.ndarray | ViewMatrices:
        """New objects whose attributes of all views come side by side, in the order of the fit."""
        readers = self._readers or [estimator]
        values = np.asarray(attributes)
        ends = np.cumsum([reader.n_features_in_ for reader in readers])[:-1]
        tables = [
            _with_names(part, getattr(reader, "feature_names_in_", None))
            for part, reader in zip(np.split(values, ends, axis=1), readers, strict=True)
        ]
        return self.new(estimator, tables)

    def _order_of_views(self, names: list[str]) -> list[int]:
        """Where the views of the fit are among those of new objects."""
        if sorted(names) != sorted(self.names):
            raise InvalidInputError(
                f"the views of X are {', '.join(names)}, but those of fit were {', '.join(self.names)}"
            )
        return [names.index(name) for name in self.names]

    # ---- both -----------------------------------------------------------------------------------------------------

    def _named(self, name: str, read: Any) -> Any:
        """What is read; if it is refused, the error names the view."""
        try:
            return read()
        except (ValueError, TypeError) as error:
            if not self.several:
                raise
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{name!r} in X: {error}") from error

    def _matched(
        self, parts: list[np.ndarray], tables: list[TableLike], *, square: bool
    ) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
        """The same objects in the same order in all views, by their names where they have some."""
        lengths = [len(part) for part in parts]
        if len(set(lengths)) > 1:
            said = ", ".join(f"{name!r} has {n}" for name, n in zip(self.names, lengths, strict=False))
            raise InvalidInputError(f"all views must hold the same objects, but {said} of them")
        wanted = index_of_views(tables)
        orders: list[np.ndarray | None] = []
        for v, table in enumerate(tables):
            order = self._named(self.names[v], lambda t=table: order_of_names(object_index(t), wanted))
            if order is not None:
                parts[v] = parts[v][order]
                parts[v] = parts[v][:, order] if square else parts[v]
            orders.append(order)
        return parts, orders


def _with_names(values: np.ndarray, names: np.ndarray | None) -> TableLike:
    if names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=names)


def _values(source: Any) -> np.ndarray:
    return source.objects if source.matrix is None else source.matrix
