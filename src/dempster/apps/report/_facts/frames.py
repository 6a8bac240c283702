"""Tables of any kind as pandas tables with short names of columns and plain rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import TableLike
from dempster._validation import column_names, numbered_attributes
from dempster.apps.report._facts.naming import different
from dempster.dissimilarity.views import joined_views

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_frame", "plain_rows", "rows_of", "naming_columns"]

_FEW = 20  # different texts that may well be categories, whatever the number of rows


def plain_rows(table: TableLike) -> Any:
    """The same table, its rows called by their positions."""
    if hasattr(table, "reset_index"):
        return table.reset_index(drop=True)
    if hasattr(table, "detach"):
        return table.detach().cpu().numpy()  # a tensor
    return table


def as_frame(table: TableLike) -> pd.DataFrame:
    """A table, or several side by side, as a pandas table; the columns of an array are called attribute 1, ..."""
    import pandas as pd
    from scipy.sparse import issparse

    table = joined_views(table)
    if issparse(table):
        raise InvalidInputError(
            "table must be a dense table, got a sparse matrix; use table.toarray(), or fewer columns"
        )
    names = column_names(table)
    if hasattr(table, "iloc"):
        frame = table.copy(deep=False)
    elif hasattr(table, "columns"):
        frame = pd.concat([pd.Series(table[name].to_numpy()) for name in table.columns], axis=1)
    else:
        frame = pd.DataFrame(np.asarray(table).reshape(len(table), -1))
        if frame.shape[1] and all(dtype.kind == "O" for dtype in frame.dtypes):
            frame = frame.infer_objects()
    if frame.shape[1] == 0:
        raise InvalidInputError("table must have at least one column, got none")
    if names is None:
        names = numbered_attributes(frame.shape[1])
    frame.columns = pd.Index(different(names))
    return frame.reset_index(drop=True)


def rows_of(table: TableLike, rows: np.ndarray) -> Any:
    """Some rows of a table or array."""
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def naming_columns(frame: pd.DataFrame, clustered: list[str] | None) -> list[str]:
    """Columns that name or number the rows, unless clusters were made of them: text that differs in most rows, and
    whole numbers that count them."""
    found = []
    for name in frame.columns:
        column = frame[name]
        if clustered is not None and name in clustered:
            continue
        if column.dtype.kind in "iu":
            values = column.to_numpy()
            names = len(values) > _FEW and bool((np.diff(values) == 1).all())
        elif column.dtype.kind in "fbmM":
            names = False
        else:
            names = column.astype(str).nunique() > max(_FEW, len(column) // 2)
        if names:
            found.append(name)
    return found if len(found) < frame.shape[1] else []
