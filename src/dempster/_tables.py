"""What comes with a table of objects besides its numbers: names and weights."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dempster._arrays import made_by
from dempster._errors import InvalidInputError
from dempster._parameters import check_choice
from dempster._reading import is_missing, reading
from dempster._scale import SMALLEST, as_reals, check_size
from dempster._sizes import check_memory

__all__ = [
    "object_index",
    "column_index",
    "column_names",
    "in_order_of",
    "names_of_table",
    "numbered_attributes",
    "object_weights",
    "order_of_names",
    "ordered_like",
    "printable",
    "table",
    "with_plain_columns",
    "without_na",
]

_OBJECT = np.dtype(object)
_JOINERS = "\u200c\u200d"  # between the parts of an emoji, and between letters of some scripts


def object_index(X: Any) -> Any:
    """Names of the rows of a pandas table, None for anything else (a plain 0..n-1 index says nothing)."""
    if not hasattr(X, "iloc"):
        return None
    return None if _is_plain(X.index) else X.index


def column_index(X: Any) -> Any:
    """Names of the columns of a pandas or polars table, None for anything else (a plain 0..n-1 index says nothing)."""
    if getattr(X, "ndim", 2) != 2 or not hasattr(X, "columns"):
        return None
    if not hasattr(X, "iloc"):
        return list(X.columns) if made_by(X) == "polars" else None
    return None if _is_plain(X.columns) else X.columns


def _is_plain(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def column_names(X: Any) -> list[Any] | None:
    """Names of the columns of a pandas, polars or Arrow table, None if it has none or only numbers them."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns) or type(columns).__name__ == "RangeIndex":
        return None
    return list(X.column_names if made_by(X) == "pyarrow" else columns)


def numbered_attributes(count: int) -> list[str]:
    """What the columns of an array are called, everywhere: attribute 1, attribute 2, ..."""
    return [f"attribute {j}" for j in range(1, count + 1)]


def names_of_table(values: Any) -> dict[str, Any]:
    """Names of the rows and columns of a table of answers, as `MassFunctions` take them, None where there are none."""
    index = object_index(values) if getattr(values, "ndim", 0) == 2 else None
    return {"index": index, "frame": column_names(values)}


def object_weights(sample_weight: Any, n_objects: int, name: str = "sample_weight") -> np.ndarray | None:
    """Weights of the objects, checked; None if none are given. ``name`` is that of the argument."""
    if sample_weight is None:
        return None
    from sklearn.utils.validation import _check_sample_weight

    objects = np.empty((n_objects, 1))
    given = as_reals(sample_weight, name)
    with reading(sample_weight, name):
        try:
            plain = float(given) if given.ndim == 0 else given
            weights = _check_sample_weight(plain, objects, dtype=np.float64, ensure_non_negative=True)
        except (ValueError, TypeError) as error:
            if name in str(error):
                raise
            raise type(error)(f"{name} must hold {n_objects:,} weights, one for each object: {error}") from error
    if not np.isfinite(weights).all():
        raise InvalidInputError(f"{name} must hold finite weights, got NaN or infinity")
    if not weights.any():
        raise InvalidInputError(f"{name} must hold at least one non-zero weight")
    check_size(weights, name)
    least = weights[weights > 0].min()
    if least < SMALLEST:
        raise InvalidInputError(f"{name} must hold zeros or weights of at least {SMALLEST:g}, got {least:.6g}")
    return weights


def ordered_like(values: Any, index: Any) -> Any:
    """A pandas column of weights or labels in the order of the objects, where it has their names in another order.

    Columns with other names go by their positions, as everywhere in scikit-learn.
    """
    names = object_index(values)
    if names is None or index is None or len(names) != len(index):
        return values
    ours, theirs = list(names), list(index)
    if ours == theirs or len(set(ours)) < len(ours) or set(ours) != set(theirs):
        return values
    return values.iloc[order_of_names(names, index)]


def in_order_of(values: Any, names: Any) -> Any:
    """A pandas column or table with a row for each of some names (classes, answers, views), called as they are, in
    their order; rows called otherwise come after them. Anything else goes by its positions."""
    index = object_index(values)
    if index is None or names is None:
        return values
    wanted, given = list(names), list(index)
    if len(set(given)) < len(given) or not set(wanted) <= set(given):
        return values
    more = [name for name in given if name not in set(wanted)]
    return values.iloc[[given.index(name) for name in [*wanted, *more]]]


def printable(name: Any) -> str:
    """A name as text for a screen: codes that would steer a terminal are written as Python writes them."""
    text = str(name)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _JOINERS else repr(c)[1:-1] for c in text)


def with_plain_columns(X: Any) -> Any:
    """A pandas table whose columns NumPy holds as they are, anything else as it is.

    Sparse columns are filled: to pandas they hold a number in every row. Columns of numbers whose bytes are in another
    order, as some files have them, get the usual one. The missing value of pandas among objects becomes NaN.
    """
    if not hasattr(X, "iloc") or hasattr(X, "compute") or X.ndim != 2:
        return X
    kinds = list(X.dtypes)
    changed = {k: plain for k, kind in enumerate(kinds) if (plain := _plain_kind(kind)) is not kind}
    with_missing = [k for k, kind in enumerate(kinds) if kind is _OBJECT and _holds_na(X.iloc[:, k].to_numpy())]
    if not changed and not with_missing:
        return X
    n_sparse = sum(type(kind).__name__ == "SparseDtype" for kind in kinds)
    check_memory(8 * len(X) * n_sparse, "X with its sparse columns filled", "give fewer columns, such as components")
    plain = X.set_axis(range(X.shape[1]), axis=1).astype(changed)
    for k in with_missing:
        plain[k] = without_na(plain[k].to_numpy())
    return plain.set_axis(X.columns, axis=1)


def _plain_kind(kind: Any) -> Any:
    if type(kind).__name__ == "SparseDtype":
        return kind.subtype
    return kind.newbyteorder("=") if isinstance(kind, np.dtype) and not kind.isnative else kind


def _holds_na(cells: np.ndarray) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and any(cell is pandas.NA for cell in cells.flat)


def without_na(cells: np.ndarray) -> np.ndarray:
    """An array of objects with NaN for the missing value of pandas, of which no number can be made."""
    if not _holds_na(cells):
        return cells
    pandas, filled = sys.modules["pandas"], cells.copy()
    filled[np.frompyfunc(lambda cell: cell is pandas.NA, 1, 1)(cells).astype(bool)] = np.nan
    return filled


def order_of_names(names: Any, wanted: Any) -> np.ndarray | None:
    """Where the rows called ``wanted`` are among those called ``names``; None if they are in this order already.

    The one rule of the package for tables whose rows have names: if both have some they must be the same, in any
    order; if one has none the rows correspond by their positions.
    """
    if names is None or wanted is None:
        return None
    ours, theirs = list(names), list(wanted)
    if ours == theirs:
        return None
    if len(ours) == len(theirs) and all(_is_same(*pair) for pair in zip(ours, theirs, strict=True)):
        return None
    where = {name: k for k, name in enumerate(ours)}
    missing = [name for name in theirs if name not in where]
    if missing or len(theirs) != len(ours):
        odd = missing or [name for name in ours if name not in set(theirs)] or ours
        raise InvalidInputError(
            f"the names of the objects differ: {odd[0]!r} is in one of the two only; take the same objects, or leave "
            "the names away (index=None) if the rows correspond by their positions"
        )
    if len(where) < len(ours) or len(set(theirs)) < len(theirs):
        raise InvalidInputError(
            "the objects are in different orders, and their names, some of which occur twice, do not tell which is "
            "which; give different names, or the same order"
        )
    return np.array([where[name] for name in theirs], dtype=np.intp)


def _is_same(name: Any, other: Any) -> bool:
    """Equal, or both missing, which no comparison says."""
    return (is_missing(name) and is_missing(other)) or bool(name == other)


def table(values: np.ndarray, columns: list[str], index: Any, backend: str) -> Any:
    """A pandas table of numbers with the given index, or a polars one, where the names of the rows are a column."""
    check_choice(backend, "backend", ("pandas", "polars"))
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame(values, index=index, columns=columns)
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("backend='polars' needs polars, which is not installed: pip install polars") from error
    if len(set(columns)) < len(columns):
        raise InvalidInputError(f"polars needs different names for the columns, got {columns}")
    names = {} if index is None else {"object": list(index)}
    return pl.DataFrame(names | dict(zip(columns, values.T, strict=True)), strict=False)
