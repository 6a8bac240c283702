"""What a user gives: a model or a partition, objects in one table or in several, and which object is meant."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from dempster._errors import InvalidInputError
from dempster._types import Index, TableLike
from dempster._validation import as_reals, is_integer, shown
from dempster.belief import MassFunctions
from dempster.dissimilarity.sources import check_values
from dempster.dissimilarity.views import Views
from dempster.explain.objects._table import array_of

__all__ = ["as_meant", "checked_matrix", "full_row", "is_estimator", "position_of"]


def as_meant(estimator: Any, X: TableLike, i: Any, metric: str | None) -> tuple[TableLike, Any]:
    """X and i, where X may be several tables: a model that takes these takes them as they are, with a new object that
    has all its attributes in a row; anything else takes all views as one."""
    if getattr(getattr(i, "dtype", None), "kind", "") == "c":
        raise InvalidInputError("Complex data not supported: i must be a position, a name, or hold real numbers")
    if is_estimator(estimator) and not hasattr(estimator, "view_names_"):
        return (array_of(X) if isinstance(X, list | tuple) else X), i  # perhaps of pictures
    views = Views.of(X)
    if views is None:
        return X, i
    if is_estimator(estimator):
        views = views.in_order(estimator.view_names_)
        return views.given(views.tables), i if get_tags(estimator).input_tags.pairwise else views.row(i)
    if metric != "precomputed":
        return views.table(), views.row(i)
    known = isinstance(i, Hashable) and not isinstance(i, tuple)
    return views.dissimilarities(), i if known else np.sqrt(np.square(views.row_of_dissimilarities(i)).sum(axis=0))


def _is_sequence(given: Any) -> bool:
    try:
        return np.ndim(given) == 1
    except Exception:  # what NumPy cannot read is no sequence of labels
        return False


def is_estimator(given: Any) -> bool:
    """Whether something is a fitted estimator, rather than a partition."""
    if isinstance(given, MassFunctions) or not hasattr(given, "get_params"):
        if not isinstance(given, MassFunctions) and not _is_sequence(given):
            raise InvalidInputError(
                f"estimator must be a fitted clusterer, a CredalPartition or labels, got {type(given).__name__}"
            )
        return False
    if isinstance(given, type):
        raise InvalidInputError(
            f"estimator must be a fitted clusterer, got the class {given.__name__}: make one and fit it"
        )
    if hasattr(given, "steps"):
        raise InvalidInputError(
            "estimator must not be a pipeline: explain its last step with what the others make of X, "
            "explain_object(pipeline[-1], pipeline[:-1].transform(X), i)"
        )
    if not any(hasattr(given, name) for name in ("credal_partition_", "labels_", "classes_")):
        name = type(given).__name__
        raise NotFittedError(f"This {name} instance is not fitted yet, or gives no partition. Call fit first.")
    return True


def position_of(i: Any, names: Index, n: int, image: tuple[int, ...] | None) -> int:
    """Where the object is among n objects; -1 for a new one."""
    if isinstance(i, bool | np.bool_) or i is None:
        raise InvalidInputError(f"i must be the position or name of an object, or a row of attributes, got {shown(i)}")
    listed = None if names is None else list(names)
    if listed is not None and isinstance(i, Hashable) and not isinstance(i, np.ndarray) and i in listed:
        if listed.count(i) > 1:
            raise InvalidInputError(
                f"i must name one object; {i!r} is the name of {listed.count(i)}: give its position"
            )
        return listed.index(i)
    if image is not None and isinstance(i, tuple):
        if len(i) != len(image) or not all(0 <= k < size for k, size in zip(i, image, strict=True)):
            raise InvalidInputError(f"i must be a pixel of an image of shape {image}, got {i}")
        return int(np.ravel_multi_index(i, image))
    if is_integer(i):
        if listed is not None and any(isinstance(name, int | float | np.number) for name in listed):
            raise InvalidInputError(
                f"i must be a name of an object, since some names are numbers; none is called {i!r}"
            )
        if not 0 <= i < n:
            raise InvalidInputError(f"i must be a position from 0 to {n - 1}, got {i}")
        return int(i)
    if isinstance(i, str) or not (isinstance(i, list | tuple | Mapping) or array_of(i, "i").ndim):
        raise InvalidInputError(
            f"i must be the position or name of an object, or a row of attributes; none is called {shown(i)}"
        )
    return -1


def checked_matrix(X: TableLike) -> Any:
    """Dissimilarities of objects in rows, checked."""
    if hasattr(X, "tocsr"):
        return X
    values = as_reals(X, "X")
    if values.ndim != 2:
        raise InvalidInputError(f"X must hold dissimilarities of objects in rows, got shape {values.shape}")
    check_values(values, "X")
    return X if hasattr(X, "iloc") else values


def full_row(estimator: Any, row: Any, n: int) -> np.ndarray:
    """(n,) dissimilarities to all objects, NaN where they are not known."""
    out = np.full(n, np.nan)
    if hasattr(row, "tocsr"):
        stored = row.tocsr()
        out[stored.indices] = stored.data
        return out
    values = np.asarray(row, dtype=float).reshape(-1)
    where = np.arange(n) if len(values) == n else getattr(estimator, "landmark_indices_", np.zeros(0, dtype=int))
    if len(values) != len(where):
        raise InvalidInputError(
            f"i must be a position, a name, or {n} dissimilarities to the objects, got {len(values)}"
        )
    out[where] = values
    return out
