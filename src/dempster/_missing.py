"""Missing values at the doors of the methods: who takes them, and what is said where they are refused."""

from __future__ import annotations

from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from dempster._arrays import Array, library_of, precision_of
from dempster._errors import InvalidInputError
from dempster._tables import object_index, printable

__all__ = ["PARTIAL_METRICS", "check_missing", "has_missing", "remedy"]

PARTIAL_METRICS = ("euclidean", "l2", "sqeuclidean")  # sums over attributes, some of which may be left out
_NAMED = 5  # columns that a message names


def has_missing(values: Array) -> bool:
    """Whether a cell is NaN; a sum, which is fast, tells that there is none."""
    if precision_of(values).kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(float(values.sum())) and bool(library_of(values).isnan(values).any())


def remedy(estimator: Any, metric: Any = "euclidean") -> str | None:
    """What to do about missing values, in words; None if the estimator takes them as it is set."""
    kind: Any = type(estimator)
    if isinstance(metric, str) and metric == "precomputed":
        return "a matrix of dissimilarities must be complete"
    if not _has_parameter(kind):
        return (
            f"{kind.__name__} does not take them; impute them, or take a method that does, such as ECM or EVCLUS with "
            "missing='partial'"
        )
    if not (isinstance(metric, str) and metric in PARTIAL_METRICS):
        return f"metric={metric!r} needs all attributes; impute them, or take metric='euclidean' with missing='partial'"
    if estimator.missing != "partial":
        return "set missing='partial' to compare the attributes that are there, or impute them"
    return None


@cache
def _has_parameter(kind: type) -> bool:
    """Whether a class has the parameter ``missing``."""
    return "missing" in signature(kind).parameters


def check_missing(values: np.ndarray, X: Any, words: str | None, *, learning: bool) -> None:
    """Refuse missing values, or objects and columns of which nothing is there.

    Parameters
    ----------
    values : (n, p) array
    X : what the user gave, whose names of rows and columns go into the message
    words : str or None
        What to do instead (`remedy`); None if missing values are taken.
    learning : bool
        Whether these are the objects of a fit, which need a value in every column.
    """
    if not has_missing(values):
        return
    missing = np.isnan(values)
    names = getattr(X, "columns", None)
    if words is not None:
        count = int(missing.sum())
        several = "" if count == 1 else "s"
        where = _columns(np.flatnonzero(missing.any(axis=0)), names)
        raise InvalidInputError(f"X has {count:,} missing value{several} (NaN) in {where}: {words}")
    nowhere = np.flatnonzero(missing.all(axis=0))
    if learning and len(nowhere):
        it = "it" if len(nowhere) == 1 else "them"
        raise InvalidInputError(f"X has no value at all (all NaN) in {_columns(nowhere, names)}: leave {it} out")
    nothing = np.flatnonzero(missing.all(axis=1))
    if len(nothing):
        index = object_index(X)
        row = f"row {nothing[0]}" if index is None else f"row {printable(index[nothing[0]])!r}"
        more = f" (and {len(nothing) - 1:,} more)" if len(nothing) > 1 else ""
        raise InvalidInputError(
            f"X has no value at all (all NaN) in {row}{more}: nothing can be said of it, leave it out"
        )


def _columns(which: np.ndarray, names: Any) -> str:
    named = [str(k) if names is None else printable(names[k]) for k in which[:_NAMED]]
    more = f" and {len(which) - _NAMED} more" if len(which) > _NAMED else ""
    return f"column{'s' if len(which) > 1 else ''} {', '.join(named)}{more}"
