"""One declarative table of parameters per estimator, checked in one place.

A table maps each parameter to a rule; `check_parameters` raises a ValueError that names the parameter, what it must be
and what it was.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from dempster._arrays import Array, is_tensor, library_of, like, made_by, precision_of, to_host, with_shape
from dempster._errors import InvalidInputError

__all__ = [
    "MOST_BYTES",
    "check_memory",
    "reading",
    "reading_labels",
    "reading_table",
    "as_labels",
    "check_tensor",
    "is_missing",
    "naming_table",
    "plain_text",
    "same_label",
    "LARGEST",
    "SMALLEST",
    "as_reals",
    "as_truth",
    "real_tensor",
    "read_fields",
    "check_scale",
    "check_size",
    "checked_masses",
    "column_bounds",
    "centering_offset",
    "mean_of_rows",
    "clip_to_range",
    "Rule",
    "integer",
    "repetitions",
    "iterations",
    "real",
    "choice",
    "flag",
    "verbosity",
    "kind",
    "array",
    "seed",
    "n_jobs",
    "check",
    "check_flags",
    "check_choice",
    "check_parameters",
    "listed",
    "is_estimator",
    "is_integer",
    "is_number",
    "plain_number",
    "hashable",
    "told",
    "names",
    "texts",
    "shown",
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
    "PARTIAL_METRICS",
    "check_missing",
    "has_missing",
    "missing_value_advice",
    "read_features",
    "readable",
    "tensor_attributes",
]


MOST_BYTES = 4 << 30  # what one result, or one table that is needed on the way, may take


def check_memory(n_bytes: int, what: str, advice: str) -> None:
    """Refuse a table that does not fit, saying how much it would take and what to do instead."""
    if n_bytes > MOST_BYTES:
        raise InvalidInputError(f"{what} would take {n_bytes / (1 << 30):,.1f} GB of memory; {advice}")


_NO_NUMBERS = {np.datetime64, np.timedelta64, np.complex64, np.complex128, np.clongdouble}  # float() takes them


@contextmanager
def reading(values: Any, name: str) -> Iterator[None]:
    """Around the lines that read an argument as numbers: refusals name it, and what cannot be told apart afterwards
    (dates, masked cells) is refused before."""
    if not (type(values) is np.ndarray and values.dtype.kind == "f"):
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


LARGEST, SMALLEST = 1e75, 1e-75  # for double precision, and for parameters in units of the data
_SINGLE = 1e12, 1e-12
_FIRST_FEW = 1000  # rows that mostly show that not all are the same
_FEW_COLUMNS = 16  # one by one, as a step along short rows takes ten times longer than one along a column
_FAR = 2.0**16  # times as far from zero as they differ: squares of such numbers lose most of what tells them apart
_SUM_TO_ONE = 1e-4  # what rounding may take from the sum of masses, in single precision


def _bounds(dtype: np.dtype) -> tuple[float, float]:
    return _SINGLE if dtype == np.float32 else (LARGEST, SMALLEST)


def as_reals(values: Any, name: str) -> np.ndarray:
    """An array of real numbers: float32 as it is, anything else as float64."""
    if hasattr(values, "tocsr"):
        raise InvalidInputError(f"{name} must be a dense array, got a sparse one: take its toarray()")
    if isinstance(values, bool | np.bool_):
        raise InvalidInputError(f"{name} must be a number or an array of numbers, got {values}")
    with reading(values, name):
        array = np.require(to_host(values), requirements=["A", "E"])  # kernels take no others
        if array.dtype.kind == "O":
            array = _without_text(array, name).astype(float)
    if array.dtype.kind not in "buif":
        raise InvalidInputError(f"{name} must hold real numbers, got {array.dtype}")
    return array if array.dtype == np.float32 else array.astype(float, copy=False)


def _without_text(cells: np.ndarray, name: str) -> np.ndarray:
    """An array of objects, none of which is text, of which NumPy would make numbers where it can."""
    texts = [cell for cell in cells.flat if isinstance(cell, str | bytes)]
    if texts:
        raise InvalidInputError(f"{name} must hold real numbers, got the text {texts[0]!r}")
    return cells


def real_tensor(values: Array, name: str) -> Array:
    """The same for a tensor, which stays one: float32 as it is, other real numbers as float64."""
    if values.is_complex() or values.is_sparse:
        raise InvalidInputError(
            f"{name} must hold real numbers in a dense tensor, got {values.dtype} in {values.layout}"
        )
    check_tensor(values, name)
    return values if values.dtype == library_of(values).float32 else values.double()


def read_fields(owner: Any, **axes: str) -> None:
    """Fields of a frozen dataclass become arrays of finite numbers; a letter for each axis, the same for the same
    length: ``read_fields(self, means="gd", covariances="gdd")``."""
    lengths: dict[str, int] = {}
    for name, letters in axes.items():
        array = as_reals(getattr(owner, name), name)
        shape = ", ".join(letters) + "," * (len(letters) == 1)
        if array.ndim != len(letters) or not np.isfinite(array).all():
            raise InvalidInputError(f"{name} must be an array ({shape}) of finite numbers, got shape {array.shape}")
        for letter, length in zip(letters, array.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                raise InvalidInputError(
                    f"{name} must have shape ({shape}) with {letter} = {lengths[letter]}, got {array.shape}"
                )
        object.__setattr__(owner, name, array)


def as_truth(table: Any, name: str) -> np.ndarray:
    """A Boolean array, from one or from ones and zeros."""
    with reading(table, name):
        plain = table if isinstance(table, np.ndarray) and table.dtype == bool else as_reals(table, name)
    if plain.dtype != bool and not ((plain == 0) | (plain == 1)).all():
        raise InvalidInputError(f"{name} must be Boolean, and hold only true/false (or 1/0)")
    return np.asarray(plain).astype(bool, copy=False)


def check_size(values: Array, name: str) -> None:
    """No number of an array is so large that its square leaves the range of floating-point numbers; NaN, a missing
    value, is left to others."""
    if 0 in values.shape:
        return
    largest, _ = _bounds(precision_of(values))
    most = max(-float(values.min()), float(values.max()))
    if np.isnan(most):
        values = library_of(values).where(library_of(values).isnan(values), 0, values)
        most = float(abs(values).max())
    if most > largest:
        place = np.unravel_index(int(abs(values).argmax()), values.shape)
        at = ", ".join(map(str, place))
        raise InvalidInputError(
            f"{name} must hold numbers of at most {largest:g} in size ({precision_of(values)}), but {name}[{at}] is "
            f"{values[place]:.6g}: divide {name} by its scale, and mark missing values as such instead of by a "
            "large number"
        )


def check_scale(values: Array, name: str) -> None:
    """Neither too large nor, unless all rows are the same, so near to each other that the squares of differences
    vanish."""
    check_size(values, name)
    if len(values) == 0:
        return
    _, smallest = _bounds(precision_of(values))
    if _spread(values[:_FIRST_FEW]) >= smallest:  # all rows differ at least as much
        return
    spread = _spread(values)
    if np.isnan(spread):
        known = values[:, ~np.isnan(values).all(axis=0)] if values.ndim > 1 else values[~np.isnan(values)]
        spread = float((np.nanmax(known, axis=0) - np.nanmin(known, axis=0)).max(initial=0.0)) if known.size else 0.0
    if 0 < spread < smallest:
        raise InvalidInputError(
            f"{name} must hold numbers that differ by at least {smallest:g} ({precision_of(values)}), but they differ "
            f"by at most {spread:.6g}: multiply {name} by about {1 / spread:.0e}"
        )


def _spread(values: Array) -> float:
    """The largest difference between two rows in any column; NaN if a value is missing."""
    library = library_of(values)
    return float(to_host(library.amax(values, 0) - library.amin(values, 0)).max(initial=0.0))


def mean_of_rows(values: np.ndarray, weights: np.ndarray | None = None, dtype: Any = float) -> np.ndarray:
    """(p,) mean of the rows, which rounding does not take out of their range: the mean of equal numbers is this number,
    however large it is. In double precision, or in that of the rows (``dtype=None``)."""
    mean = values.mean(axis=0, dtype=dtype) if weights is None else np.average(values, axis=0, weights=weights)
    return clip_to_range(mean, values)


def clip_to_range(mean: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(p,) means of columns that rounding has taken out of the range of their values, back in it; missing values, NaN,
    say nothing."""
    low, high = column_bounds(values)
    return np.fmax(np.fmin(mean, high), low)


def column_bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(p,) smallest and largest values of each column; missing ones, NaN, say nothing."""
    if values.ndim != 2 or values.shape[1] > _FEW_COLUMNS:
        return np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    low, high = (np.array([f.reduce(column) for column in values.T]) for f in (np.fmin, np.fmax))
    return low, high


def centering_offset(low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """(p,) point to measure attributes from, given the smallest and largest values of each; None where zero is as good.

    An attribute that is much farther from zero than any attribute varies is measured from its smallest value, which
    takes no digits from it; the others from zero.
    """
    far = np.abs(low) > _FAR * float((high - low).max(initial=0.0))
    return np.where(far, low, 0.0) if far.any() else None


def checked_masses(masses: Array) -> Array:
    """Masses that are numbers and sum to one; others come from numbers out of the range of floating-point ones.

    X and every parameter are checked by themselves; what is left are combinations of them.
    """
    total = masses @ like(np.ones(masses.shape[1]), masses)
    wrong = ~(abs(total - 1) <= _SUM_TO_ONE)  # NaN is wrong too
    if wrong.any():
        first = to_host(wrong).argmax()
        raise InvalidInputError(
            f"the masses cannot be computed: those of object {first} sum to {total[first]:g}. The "
            "scale of X and the parameters do not go together: powers leave the range of floating-point numbers. "
            "Scale X, give it in double precision, or set less extreme parameters"
        )
    return masses


_MOST = 2**31 - 1  # what any number of things may be
_MOST_REPETITIONS = 100_000  # of a fit
_MOST_ITERATIONS = 100_000_000
_MOST_LISTED = 10_000_000  # things that an argument holds; an endless iterator holds more


@dataclass(frozen=True)
class Rule:
    """What a parameter must be: words for people, and a test. Rules are joined by ``|``."""

    words: str
    test: Callable[[Any], bool]

    def __or__(self, other: Rule) -> Rule:
        return Rule(f"{self.words} or {other.words}", lambda value: self.test(value) or other.test(value))


def is_integer(value: Any) -> bool:
    """A whole number: no truth value, and no span of time, which NumPy counts among the integers."""
    plain = type(value) is int  # which is told in no time
    return plain or (isinstance(value, Integral) and not isinstance(value, bool | np.bool_ | np.timedelta64))


def is_number(value: Any) -> bool:
    """A number that kernels can calculate with: fractions, long doubles and whole numbers beyond 64 bits would spoil
    the arrays that they meet, and numbers of half precision lose what is calculated with them."""
    if is_integer(value):
        return abs(int(value)) < 2**63
    return isinstance(value, float | np.floating) and not isinstance(value, np.longdouble | np.float16)


def plain_number(value: Any) -> Any:
    """A number of NumPy that a parameter may be as one of Python; anything else as it is."""
    return value.item() if isinstance(value, np.number) and is_number(value) else value


def is_estimator(value: Any) -> bool:
    """An estimator of scikit-learn: an instance, no class."""
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "get_params")


def integer(low: int) -> Rule:
    return Rule(f"an integer of at least {low}", lambda v: is_integer(v) and low <= int(v) <= _MOST)


def repetitions(low: int = 1) -> Rule:
    """How often something as long as a fit is done."""
    words = f"an integer of at least {low} and at most {_MOST_REPETITIONS:,}"
    return Rule(words, lambda v: is_integer(v) and low <= int(v) <= _MOST_REPETITIONS)


def iterations() -> Rule:
    """Of a descent, whose history is kept."""
    words = f"an integer of at least 1 and at most {_MOST_ITERATIONS:,}"
    return Rule(words, lambda v: is_integer(v) and 1 <= int(v) <= _MOST_ITERATIONS)


def real(low: float = -np.inf, high: float = np.inf, *, open_low: bool = False, open_high: bool = False) -> Rule:
    """A number between two bounds, whose square stays in the range of floating-point numbers."""
    left = "above" if open_low else "of at least"
    words = "a number" if low == -np.inf else f"a number {left} {low:g}"
    if high < np.inf:
        words += f" and {'below' if open_high else 'at most'} {high:g}"

    def test(v: Any) -> bool:
        if not is_number(v):
            return False
        number = float(v)
        if not abs(number) <= LARGEST:
            return False
        if open_low and low == 0 and 0 < number < SMALLEST:
            return False
        return (number > low if open_low else number >= low) and (number < high if open_high else number <= high)

    return Rule(words, test)


def choice(*options: Any) -> Rule:
    *most, last = map(repr, options)
    return Rule(
        f"{', '.join(most)} or {last}" if most else last,
        lambda v: v is None if options == (None,) else any(_same_word(v, o) for o in options),
    )


def _same_word(value: Any, option: Any) -> bool:
    """The same value of the same type; text of NumPy is text."""
    alike = isinstance(value, str) if isinstance(option, str) else type(value) is type(option)
    return alike and bool(value == option)


flag = Rule("True or False", lambda v: isinstance(v, bool | np.bool_) or (is_integer(v) and int(v) in (0, 1)))

verbosity = Rule("True, False or an integer of at least 0", lambda v: flag.test(v) or integer(0).test(v))


def kind(*types: type, words: str | None = None) -> Rule:
    return Rule(words or " or ".join(f"a {t.__name__}" for t in types), lambda v: isinstance(v, types))


def _is_array(value: Any) -> bool:
    try:
        return not isinstance(value, str) and hasattr(value, "__len__") and np.ndim(value) >= 1
    except Exception:  # rows of several lengths, and whatever else NumPy cannot read
        return False


array = Rule("an array", _is_array)

hashable = Rule("a name that can be told apart (text, a number, a tuple)", lambda v: _is_hashable(v))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # of an object that cannot be told apart
        return False
    return True


told = Rule("None or a function of one text", lambda v: v is None or callable(v))

seed = Rule(
    "None, an integer of at least 0, or a numpy RandomState or Generator",
    lambda v: v is None or (is_integer(v) and v >= 0) or isinstance(v, np.random.RandomState | np.random.Generator),
)

n_jobs = choice(None) | Rule("a nonzero integer", lambda v: is_integer(v) and v != 0 and abs(int(v)) <= _MOST)


def check_parameters(owner: object, rules: Mapping[str, Rule]) -> None:
    """Check the attributes of an estimator against its table."""
    for name, rule in rules.items():
        check(getattr(owner, name), name, rule)


def check(value: Any, name: str, rule: Rule) -> None:
    """Refuse an argument of a function that does not obey its rule."""
    if not rule.test(value):
        raise InvalidInputError(f"{name} must be {rule.words}{_range_of(value)}, got {shown(value)}")


def check_flags(**flags: Any) -> None:
    """Refuse arguments that are neither true nor false, given by their names."""
    for name, value in flags.items():
        check(value, name, flag)


def check_choice(value: Any, name: str, options: Iterable[str]) -> None:
    """Refuse a word that is none of the options."""
    words = [repr(option) for option in options]
    several = f"one of {', '.join(words)}" if len(words) > 2 else " or ".join(words)
    check(value, name, Rule(several, choice(*options).test))


def listed(values: Any, name: str, what: str) -> list[Any]:
    """A list of what an argument holds; refuses what holds nothing, as numbers, and text."""
    if not isinstance(values, str | bytes | Mapping):
        try:
            found = list(islice(values, _MOST_LISTED + 1))
        except Exception:  # of what cannot be gone through, or says it is longer than any list
            found = None
        if found is not None and len(found) > _MOST_LISTED:
            raise InvalidInputError(f"{name} must hold {what}, at most {_MOST_LISTED:,} of them, got {shown(values)}")
        if found is not None:
            return found
    raise InvalidInputError(f"{name} must hold {what}, got {shown(values)}")


def names(values: Any, name: str, what: str) -> tuple[str, ...]:
    """Names that an argument holds, or the one that it is."""
    found = (values,) if isinstance(values, str) else tuple(listed(values, name, what))
    odd = [value for value in found if not isinstance(value, str | Integral)]
    if odd:
        raise InvalidInputError(f"{name} must hold {what}, got {shown(odd[0])} among them")
    return tuple(map(str, found))


def texts(values: Any, name: str, what: str) -> list[str]:
    """Names of any kind that an argument holds, as text; rows of a table are none."""
    found = listed(values, name, what)
    for value in found:
        if not hashable.test(value):
            raise InvalidInputError(f"{name} must hold {what}, got {shown(value)} among them")
    return list(map(str, found))


def shown(value: Any) -> str:
    """An argument in an error: cut where it is long, and told by its type where it cannot say what it is."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # that of an object which cannot say what it is
        text = f"an object of the type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def _range_of(value: Any) -> str:
    """What more must be said of numbers that no method can work with."""
    if is_integer(value) and abs(int(value)) > _MOST:
        return f" (and at most {_MOST:,})"
    if isinstance(value, float | np.floating) and (abs(float(value)) > LARGEST or 0 < abs(float(value)) < SMALLEST):
        return f" (and its size from {SMALLEST:g} to {LARGEST:g})"
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_) and not is_number(value):
        return f" (of a type that arrays can hold, as float is and {type(value).__name__} is not)"
    return ""


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


PARTIAL_METRICS = ("euclidean", "l2", "sqeuclidean")  # sums over attributes, some of which may be left out
_NAMED = 5  # columns that a message names


def has_missing(values: Array) -> bool:
    """Whether a cell is NaN; a sum, which is fast, tells that there is none."""
    if precision_of(values).kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(float(values.sum())) and bool(library_of(values).isnan(values).any())


def missing_value_advice(estimator: Any, metric: Any = None) -> str | None:
    """Return what to do about missing values; None if the estimator takes them as it is set."""
    metric = getattr(estimator, "metric", "euclidean") if metric is None else metric
    if isinstance(metric, str) and metric == "precomputed":
        return "a matrix of dissimilarities must be complete"
    if "missing" not in vars(estimator):
        return (
            f"{type(estimator).__name__} does not take them; impute them, or take a method that does, such as ECM or "
            "EVCLUS with missing='partial'"
        )
    if not (isinstance(metric, str) and metric in PARTIAL_METRICS):
        return f"metric={metric!r} needs all attributes; impute them, or take metric='euclidean' with missing='partial'"
    if estimator.missing != "partial":
        return "set missing='partial' to compare the attributes that are there, or impute them"
    return None


def check_missing(values: np.ndarray, X: Any, words: str | None, *, learning: bool) -> None:
    """Refuse missing values, or objects and columns of which nothing is there.

    Parameters
    ----------
    values : (n, p) array
    X : what the user gave, whose names of rows and columns go into the message
    words : str or None
        What to do instead (`missing_value_advice`); None if missing values are taken.
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


def tensor_attributes(
    estimator: BaseEstimator, X: Array, *, reset: bool, fewest: int = 1, more_axes: bool = False
) -> Array:
    """The attributes of objects, checked where they are: finite numbers of a size that can be worked with.

    Parameters
    ----------
    estimator : estimator
        Learns, or is asked, how many attributes there are.
    X : (n, p) tensor
        float32 is kept, anything else becomes float64; rows become contiguous.
    reset : bool
        Whether these are the objects of a fit.
    fewest : int
        Objects that are needed.
    more_axes : bool
        Whether an object may have more than one axis.
    """
    check_tensor(X, "X")
    if X.ndim != 2 and not (more_axes and X.ndim > 2):
        raise InvalidInputError(
            f"Expected 2D array, got {X.ndim}D array instead: X must be a tensor (n_samples, n_features)"
        )
    if len(X) < fewest:
        raise InvalidInputError(
            f"Found array with {len(X)} sample(s) (shape={tuple(X.shape)}) while a minimum of {fewest} is required."
        )
    if X.shape[1] == 0:
        raise InvalidInputError(
            f"Found array with 0 feature(s) (shape={tuple(X.shape)}) while a minimum of 1 is required."
        )
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    values = real_tensor(X.detach(), "X").contiguous()
    if has_missing(values):
        count = int(library_of(values).isnan(values).sum())
        raise InvalidInputError(
            f"X has {count:,} missing value{'s' * (count > 1)} (NaN): a tensor must have all of its cells; impute "
            "them, or give an array of NumPy with missing='partial'"
        )
    (check_scale if reset else check_size)(values, "X")
    return values


def read_features(
    estimator: Any, X: Any, *, reset: bool, min_rows: int = 1, stay: bool = False, **options: Any
) -> Array:
    """Validate attributes: finite numbers of a size that can be worked with, or missing ones if the estimator takes
    these.

    Parameters
    ----------
    estimator : estimator
        Learns, or is asked, how many columns there are and their names.
    X : array-like
        float32 is kept, anything else becomes float64; rows become contiguous.
    reset : bool
        Whether these are the rows of a fit.
    min_rows : int
    stay : bool
        Whether X is a tensor that stays where it is.
    options
        For scikit-learn's ``validate_data``.
    """
    if stay:
        return tensor_attributes(estimator, X, reset=reset, fewest=min_rows, more_axes=options.get("allow_nd", False))
    if not (type(X) is np.ndarray and X.dtype.kind == "f" and X.flags.aligned):
        X = readable(estimator, X)
    floats: dict[str, Any] = {"dtype": [np.float64, np.float32], "order": "C", "ensure_all_finite": "allow-nan"}
    with reading(X, "X"):
        values = validate_data(estimator, X, reset=reset, ensure_min_samples=min_rows, **floats, **options)
    if has_missing(values):
        check_missing(values, X, missing_value_advice(estimator), learning=reset)
    (check_scale if reset else check_size)(values, "X")
    return values


def readable(estimator: Any, X: Any) -> Any:
    """X as scikit-learn reads it: a tensor as an array of NumPy, if it is in memory; others are refused by an estimator
    that works on the processor. Arrays and tables are made such that they can be read."""
    X = with_shape(X)
    if isinstance(X, np.ndarray):
        return _readable_array(X)
    if not is_tensor(X):
        return with_plain_columns(X)
    check_tensor(X, "X")
    if X.device.type != "cpu":
        raise InvalidInputError(
            f"X must be in memory for {type(estimator).__name__} as it is set, which works on the processor, but is a "
            f"tensor on {X.device}: give X.cpu()"
        )
    return to_host(X)


def _readable_array(X: np.ndarray) -> np.ndarray:
    """An array that lies askew in memory is copied, and objects and text are of kinds that scikit-learn knows."""
    if X.dtype.kind == "T":  # text of any length
        return X.astype(object)
    if X.dtype.kind == "O":
        return without_na(X)
    return X if X.flags.aligned else X.copy()
