"""Type aliases for annotations."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np

TableLike: TypeAlias = Any
"""Table with objects in rows: an array, a pandas or polars table, or a sparse matrix."""

ArrayLike: TypeAlias = Any
"""Any value that `numpy.asarray` accepts."""

Index: TypeAlias = Any
"""Names of the objects: a pandas Index, a sequence, or None."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""Permitted values of ``random_state``."""

FilePath: TypeAlias = str | os.PathLike[str]
"""Path of a file."""

Metric: TypeAlias = str | Callable[[np.ndarray, np.ndarray], float]
"""Name of a metric, or a function of two rows."""

ArrayPair: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Two arrays, such as the indices of the nearest objects and their distances."""

ArrayFunction: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""Function of an array, such as the rows of a table."""

Objective: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Function of an array that returns a value and its gradient."""

Advance: TypeAlias = Callable[[str], None]
"""Function that advances a progress bar by one unit and sets its status text."""

UNSET = "?"
"""Note in the annotation of a fitted attribute that only some fits set."""

T = TypeVar("T")
MaybeUnset: TypeAlias = Annotated[T, UNSET]
"""Type of a fitted attribute that only some fits set, for `dempster.persistence`."""
