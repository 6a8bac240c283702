"""What users give as numbers, read in one way, whatever it comes in.

NumPy and scikit-learn read nearly everything. Some things that they accept are no numbers here, and refused: dates,
whose number depends on their unit, masked cells, whose mask would be lost without a word, and complex numbers, which
would lose their imaginary part. What they cannot read they refuse in words of their own, which do not say which
argument it was; `reading` adds that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dempster._arrays import is_tensor, made_by
from dempster._errors import InvalidInputError

__all__ = [
    "reading",
    "reading_labels",
    "reading_table",
    "as_labels",
    "check_tensor",
    "is_missing",
    "naming_table",
    "plain_text",
    "same_label",
]

_NO_NUMBERS = {np.datetime64, np.timedelta64, np.complex64, np.complex128, np.clongdouble}  # float() takes them


@contextmanager
def reading(values: Any, name: str) -> Iterator[None]:
    """Around the lines that read an argument as numbers: refusals name it, and what cannot be told apart afterwards
    (dates, masked cells) is refused before."""
    check_tensor(values, name)
    _refuse_masked(values, name)
    _refuse_kinds(values, name)
    try:
        yield
    except Exception as error:
        if _repeated(values):
            raise InvalidInputError(f"{name} must have columns of different names: {error}") from error
        reason = _unreadable(values)
        kind = TypeError if isinstance(error, TypeError) else ValueError
        if reason is not None:
            raise kind(f"{name} must hold real numbers: {reason}") from error
        if _names(error, name) or "feature names" in str(error):  # which says it all
            raise
        raise kind(f"{name} must be an array of real numbers, objects in rows: {error}") from error


@contextmanager
def reading_labels(labels: Any, name: str) -> Iterator[None]:
    """The same around the lines that read labels, which may be names of any kind, dates too."""
    check_tensor(labels, name)
    _refuse_masked(labels, name)
    try:
        yield
    except Exception as error:
        if _names(error, name):
            raise
        reason = "its rows have different lengths" if "inhomogeneous" in str(error) else error
        raise InvalidInputError(f"{name} must hold one label for each object: {reason}") from error


@contextmanager
def reading_table(table: Any, name: str) -> Iterator[None]:
    """The same around the lines that read a table whose cells may be text as well as numbers."""
    check_tensor(table, name)
    _refuse_masked(table, name)
    if hasattr(table, "compute"):
        raise InvalidInputError(f"{name} must be in memory, got a {type(table).__name__} that is not computed yet")
    if made_by(table) == "pyarrow":
        raise InvalidInputError(f"{name} must be an array or a table of pandas or polars: take its to_pandas()")
    with naming_table(name):
        yield


@contextmanager
def naming_table(name: str) -> Iterator[None]:
    """Around lines that read a table: refusals that name neither the argument nor a column do so."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ValueError | TypeError) and (_names(error, name) or "column" in str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must be a table, objects in rows: {str(error) or type(error).__name__}") from error


def _names(error: Exception, name: str) -> bool:
    """Whether an error says which argument it means."""
    return re.search(rf"\b{name}\b", str(error)) is not None


def as_labels(labels: Any, name: str) -> np.ndarray:
    """(n,) labels of any kind, none of them missing."""
    with reading_labels(labels, name):
        values = np.asarray(plain_text(labels))
    if values.ndim != 1 or values.dtype.kind in "cV":
        raise InvalidInputError(
            f"{name} must be one label for each object, shape (n,), got shape {values.shape} of {values.dtype}"
        )
    if any(map(is_missing, values.tolist())) or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise InvalidInputError(f"{name} must hold labels without missing values, NaN or infinity")
    if values.dtype.kind == "O":
        with reading_labels(labels, name):
            set(values.tolist())  # which tells them apart
    return values


def plain_text(labels: Any) -> Any:
    """Labels of NumPy's text of any length, which scikit-learn does not know, as its usual text; others as they are."""
    return np.array(labels.tolist()) if getattr(getattr(labels, "dtype", None), "kind", "") == "T" else labels


def is_missing(label: Any) -> bool:
    """None, NaN, or the missing value of pandas, which answers no question with yes or no."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def same_label(label: Any, other: Any) -> bool:
    """Whether two labels are the same; a truth value is no number, and what cannot be compared is not the same."""
    if isinstance(label, bool | np.bool_) != isinstance(other, bool | np.bool_):
        return False
    try:
        return label is other or bool(label == other)
    except Exception:  # of values that cannot be compared, each in its own way
        return False


def check_tensor(values: Any, name: str) -> None:
    """Refuse tensors that do not hold a number in each place, or hold it where nobody can read it."""
    if not is_tensor(values):
        return
    if values.is_nested or str(values.layout) != "torch.strided":
        kind = "a nested one" if values.is_nested else f"one with the layout {values.layout}: give {name}.to_dense()"
        raise InvalidInputError(f"{name} must be a dense tensor, got {kind}")
    if values.is_quantized:
        raise InvalidInputError(
            f"{name} must hold real numbers, got a tensor of {values.dtype}: give {name}.dequantize()"
        )
    if values.device.type == "meta":
        raise InvalidInputError(f"{name} must hold numbers, got a tensor on the device meta, which has none")


def _refuse_masked(values: Any, name: str) -> None:
    rows = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows):
        raise InvalidInputError(
            f"{name} has masked cells, which would be read as if they were not masked: leave these objects out, or "
            "fill the cells with NaN where missing values are understood"
        )


def _refuse_kinds(values: Any, name: str) -> None:
    if _is_table(values):
        for column, kind in zip(values.columns, values.dtypes, strict=False):
            if _is_date(kind):
                raise InvalidInputError(
                    f"{name} must hold real numbers, but column {column!r} holds dates or times ({kind})"
                )
            if getattr(kind, "kind", "") == "c":
                raise InvalidInputError(
                    f"Complex data not supported: {name} must hold real numbers, but column {column!r} does not"
                )
        if any(getattr(kind, "kind", "") == "O" for kind in values.dtypes):
            _refuse_cells(values, name)
        return
    if isinstance(values, list | tuple):
        _refuse_rows(values, name)
        return
    kind = getattr(values, "dtype", None)
    if _is_date(kind):
        raise InvalidInputError(f"{name} must hold real numbers, got dates or times ({kind})")
    if getattr(kind, "kind", "") == "c" or isinstance(values, complex):
        raise InvalidInputError(f"Complex data not supported: {name} must hold real numbers")
    if getattr(kind, "kind", "") == "O":
        _refuse_cells(values, name)


def _refuse_rows(rows: list[Any] | tuple[Any, ...], name: str) -> None:
    """The same for a list: of numbers, of lists of them, or of arrays."""
    if set(map(type, rows)) <= {bool, int, float, np.float64}:
        return
    for i, row in enumerate(rows):
        kind = getattr(row, "dtype", None)
        cells = set(map(type, row)) if isinstance(row, list | tuple) else {type(row)}
        if _is_date(kind):
            raise InvalidInputError(f"{name} must hold real numbers, but {name}[{i}] holds dates or times ({kind})")
        if getattr(kind, "kind", "") == "c" or complex in cells:
            raise InvalidInputError(
                f"Complex data not supported: {name} must hold real numbers, but {name}[{i}] does not"
            )
        if not cells.isdisjoint(_NO_NUMBERS):
            odd = next(cell for cell in cells if cell in _NO_NUMBERS)
            raise InvalidInputError(f"{name} must hold real numbers, but {name}[{i}] holds a {odd.__name__}")


def _refuse_cells(values: Any, name: str) -> None:
    """Cells of an array of objects that NumPy would make numbers of, though they are none."""
    try:
        cells = np.asarray(values, dtype=object)
    except Exception:
        return  # the reader says what is wrong with it
    if not {type(cell) for cell in cells.flat}.isdisjoint(_NO_NUMBERS):
        place, cell = next((p, cell) for p, cell in np.ndenumerate(cells) if type(cell) in _NO_NUMBERS)
        at = ", ".join(map(str, place))
        raise InvalidInputError(f"{name} must hold real numbers, but {name}[{at}] is a {type(cell).__name__}")


def _is_date(kind: Any) -> bool:
    """Types of NumPy and pandas have a letter for their kind, those of polars a question."""
    temporal = getattr(kind, "is_temporal", None)
    return getattr(kind, "kind", "") in ("m", "M") or (temporal is not None and bool(temporal()))


def _unreadable(values: Any) -> str | None:
    """Why these cannot be numbers; None if they can."""
    for lazy in ("collect", "compute"):
        if hasattr(values, lazy):
            return f"it is not computed yet, call its {lazy}()"
    if _is_table(values):
        for column in values.columns:
            reason = _not_numbers(values[column])
            if reason is not None:
                return f"column {column!r} does not ({reason})"
        return None
    return _not_numbers(values)


def _repeated(values: Any) -> bool:
    """Whether columns of a table have the same name."""
    return _is_table(values) and hasattr(values, "iloc") and len(set(values.columns)) < len(values.columns)


def _is_table(values: Any) -> bool:
    """Columns with names and types of their own, of pandas or polars."""
    return hasattr(values, "dtypes") and hasattr(values, "columns") and getattr(values, "ndim", 2) == 2


def _not_numbers(values: Any) -> str | None:
    if hasattr(values, "tocsr"):  # sparse matrices hold numbers, and are refused elsewhere if they may not be given
        return None
    try:
        np.asarray(values).astype(float)
    except Exception as error:
        uneven = "inhomogeneous" in str(error)
        return "its rows have different lengths" if uneven else str(error) or type(error).__name__
    return None
