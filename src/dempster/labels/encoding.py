"""Labels of any type as the numbers of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import to_host
from dempster._errors import InvalidParameterError
from dempster._text import format_count
from dempster._types import Index
from dempster._validation import is_missing, reorder_like, validating_labels
from dempster.partition.credal_partition import encode_labels

NOISE = -1


def read_labels(
    labels: Any, name: str, n_objects: int | None = None, index: Index = None
) -> tuple[list[Any], np.ndarray]:
    """Return the sorted names of the clusters, and the number of the cluster of each object.

    The number of objects without a cluster (-1, None or NaN) is -1. ``name`` is the name of the
    argument, ``n_objects`` the number of rows of X and ``index`` their names.
    """
    labels = reorder_like(labels, index)
    with validating_labels(labels, name):
        values = _to_array(labels)
    if values.ndim != 1:
        expected = f"one label for each object, shape (n,), got shape {values.shape}"
        raise InvalidParameterError(name, expected)
    if n_objects is not None and len(values) != n_objects:
        rows = format_count(n_objects, "row")
        must = f"contain one label for each of the {rows} of X, got {len(values):,}"
        raise InvalidParameterError(name, must=must)
    known = np.flatnonzero(~_are_missing(values))
    present = values[known]
    if present.dtype.kind == "f" and (present % 1 == 0).all():
        present = present.astype(np.int64)  # Missing labels make integers floats.
    codes = np.full(len(values), NOISE)
    names, codes[known] = encode_labels(present, name, NOISE)
    if not names:
        must = "assign at least one object to a cluster, not only noise (-1)"
        raise InvalidParameterError(name, must=must)
    return names, codes


def _to_array(labels: Any) -> np.ndarray:
    """Return labels as an array; labels of several types keep them."""
    values = np.asarray(to_host(labels))
    if values.dtype.kind in "US" and not isinstance(labels, np.ndarray):
        return np.asarray(labels, object)
    return values


def _are_missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), bool)
    return np.array([is_missing(value) for value in values], bool)
