"""Validation of what users give: parameters, X, weights, labels, and the names of rows and columns.

Everything public passes through here, and every error names the argument (`InvalidParameterError`). NumPy and
scikit-learn read nearly everything. What they would read wrongly is rejected first: dates, whose number depends on
their unit, masked cells, whose mask would be lost, and complex numbers, which would lose their imaginary part.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np

from dempster._arrays import Array, is_tensor, library_of, like, module_of, precision_of, to_host, with_shape
from dempster._errors import InvalidInputError, InvalidParameterError, MissingExtraError
from dempster._text import printable

LARGEST, SMALLEST = 1e75, 1e-75  # size of numbers in double precision, and of parameters in units of the data
_SINGLE = 1e12, 1e-12
MAX_BYTES = 4 << 30  # of one result, or of one table that is needed on the way
_MAX_INTEGER = 2**31 - 1
_MAX_REPETITIONS = 100_000  # of a fit
_MAX_ITERATIONS = 100_000_000
_MAX_LISTED = 10_000_000  # items of an argument; an endless iterator has more
_MAX_NAMED_COLUMNS = 5  # in a message
_MAX_SUM_ERROR = 1e-4  # of masses, by rounding in single precision
_FEW_ROWS = 1000  # rows that mostly show that not all are equal
_FEW_COLUMNS = 16  # reduced one by one: ten times faster than along short rows
_FAR = 2.0**16  # times as far from zero as they differ: squares of such numbers lose most digits of the differences
_NOT_NUMBERS = {np.datetime64, np.timedelta64, np.complex64, np.complex128, np.clongdouble}  # float() accepts them
_OBJECT = np.dtype(object)


# ---- parameters -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What a parameter must be. Rules are joined by ``|``.

    Attributes
    ----------
    words : str
        To stand after "must be".
    predicate : function, optional
    options : tuple
        Permitted values.
    types : tuple of types
    integers : (low, high), optional
    reals : (low, high, whether low is excluded, whether high is excluded), optional
    """

    words: str
    predicate: Callable[[Any], bool] | None = None
    options: tuple[Any, ...] = ()
    types: tuple[type, ...] = ()
    integers: tuple[int, int] | None = None
    reals: tuple[float, float, bool, bool] | None = None
    alternatives: tuple[Rule, ...] = ()

    def __or__(self, other: Rule) -> Rule:
        parts = (*(self.alternatives or (self,)), *(other.alternatives or (other,)))
        return Rule(f"{self.words} or {other.words}", alternatives=parts)

    def test(self, value: Any) -> bool:
        """Return whether a value is permitted."""
        for part in self.alternatives or (self,):
            if part.types and isinstance(value, part.types):
                return True
            if (
                part.integers
                and (type(value) is int or is_integer(value))
                and part.integers[0] <= int(value) <= part.integers[1]
            ):
                return True
            if part.reals and _is_between(value, *part.reals):
                return True
            for option in part.options:
                is_text = isinstance(value, str) and isinstance(option, str)  # NumPy's text is text
                if value is option or ((is_text or type(value) is type(option)) and bool(value == option)):
                    return True
            if part.predicate is not None and part.predicate(value):
                return True
        return False


def is_integer(value: Any) -> bool:
    """Return whether this is an integer: no truth value, and no span of time, which NumPy counts among them."""
    return type(value) is int or (
        isinstance(value, Integral) and not isinstance(value, bool | np.bool_ | np.timedelta64)
    )


def is_number(value: Any) -> bool:
    """Return whether kernels can compute with this: fractions, long doubles and integers beyond 64 bits would spoil the
    arrays that they meet, and half precision loses digits."""
    if is_integer(value):
        return abs(int(value)) < 2**63
    return isinstance(value, float | np.floating) and not isinstance(value, np.longdouble | np.float16)


def _is_between(value: Any, low: float, high: float, open_low: bool, open_high: bool) -> bool:
    if type(value) is not float and not is_number(value):
        return False
    number = float(value)
    if not abs(number) <= LARGEST or (open_low and low == 0 and 0 < number < SMALLEST):
        return False
    return (number > low if open_low else number >= low) and (number < high if open_high else number <= high)


def plain_number(value: Any) -> Any:
    """Return a NumPy number that a parameter may be as a Python number, and anything else unchanged."""
    return value.item() if isinstance(value, np.number) and is_number(value) else value


def is_estimator(value: Any) -> bool:
    """Return whether this is an instance of a scikit-learn estimator."""
    return not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "get_params")


def integer(low: int) -> Rule:
    """Return a rule for an integer of at least ``low``."""
    return Rule(f"an integer of at least {low}", integers=(low, _MAX_INTEGER))


def repetitions(low: int = 1) -> Rule:
    """Return a rule for the number of repetitions of something as long as a fit."""
    return Rule(f"an integer of at least {low} and at most {_MAX_REPETITIONS:,}", integers=(low, _MAX_REPETITIONS))


def iterations() -> Rule:
    """Return the rule for ``max_iter``."""
    return Rule(f"an integer of at least 1 and at most {_MAX_ITERATIONS:,}", integers=(1, _MAX_ITERATIONS))


def real(low: float = -np.inf, high: float = np.inf, *, open_low: bool = False, open_high: bool = False) -> Rule:
    """Return a rule for a number between two bounds, whose square does not overflow."""
    words = "a number" if low == -np.inf else f"a number {'above' if open_low else 'of at least'} {low:g}"
    if high < np.inf:
        words += f" and {'below' if open_high else 'at most'} {high:g}"
    return Rule(words, reals=(low, high, open_low, open_high))


def choice(*options: Any) -> Rule:
    """Return a rule for one of several values."""
    *most, last = map(repr, options)
    return Rule(f"{', '.join(most)} or {last}" if most else last, options=options)


def kind(*types: type, words: str | None = None) -> Rule:
    """Return a rule for an instance of a type."""
    return Rule(words or " or ".join(f"a {t.__name__}" for t in types), types=types)


def _is_array(value: Any) -> bool:
    try:
        return not isinstance(value, str) and hasattr(value, "__len__") and np.ndim(value) >= 1
    except Exception:  # rows of several lengths, and whatever else NumPy cannot read
        return False


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except Exception:  # an object may raise anything
        return False
    return True


array = Rule("an array", _is_array)
hashable = Rule("a name that can be told apart (text, a number, a tuple)", _is_hashable)
told = Rule("None or a function of one text", callable, options=(None,))
flag = Rule("True or False", options=(np.True_, np.False_), types=(bool,), integers=(0, 1))
verbosity = Rule("True, False or an integer of at least 0", types=(bool, np.bool_), integers=(0, _MAX_INTEGER))
n_jobs = Rule(
    "None or a nonzero integer",
    alternatives=(
        choice(None),
        Rule("a positive integer", integers=(1, _MAX_INTEGER)),
        Rule("a negative integer", integers=(-_MAX_INTEGER, -1)),
    ),
)
seed = Rule(
    "None, an integer of at least 0, or a numpy RandomState or Generator",
    options=(None,),
    types=(np.random.RandomState, np.random.Generator),
    integers=(0, 10**100),
)


def check_parameters(owner: object, rules: Mapping[str, Rule]) -> None:
    """Check the attributes of an estimator against its table of rules."""
    for name, rule in rules.items():
        if not rule.test(getattr(owner, name)):
            check(getattr(owner, name), name, rule)


def check(value: Any, name: str, rule: Rule) -> None:
    """Check an argument against its rule."""
    if not rule.test(value):
        expected = f"{rule.words}{_explain_range(value)}"
        raise InvalidParameterError(name, expected, value)


def check_flags(**flags: Any) -> None:
    """Check that arguments are true or false."""
    for name, value in flags.items():
        check(value, name, flag)


def check_choice(value: Any, name: str, options: Iterable[str]) -> None:
    """Check that a word is one of the options."""
    options = tuple(options)
    words = [repr(option) for option in options]
    several = f"one of {', '.join(words)}" if len(words) > 2 else " or ".join(words)
    check(value, name, Rule(several, options=options))


def _explain_range(value: Any) -> str:
    """Return what else must be said of numbers that no method can work with."""
    if is_integer(value) and abs(int(value)) > _MAX_INTEGER:
        return f" (and at most {_MAX_INTEGER:,})"
    if isinstance(value, float | np.floating) and (abs(float(value)) > LARGEST or 0 < abs(float(value)) < SMALLEST):
        return f" (and its size from {SMALLEST:g} to {LARGEST:g})"
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_) and not is_number(value):
        return f" (of a type that arrays can hold, as float is and {type(value).__name__} is not)"
    return ""


def listed(values: Any, name: str, what: str) -> list[Any]:
    """Return what an argument holds as a list; text and things that cannot be iterated are rejected."""
    if not isinstance(values, str | bytes | Mapping):
        try:
            found = list(islice(values, _MAX_LISTED + 1))
        except Exception:  # iterators may raise anything
            found = None
        if found is not None and len(found) > _MAX_LISTED:
            what += f", at most {_MAX_LISTED:,} of them"
        elif found is not None:
            return found
    raise InvalidParameterError(name, value=values, message=f"{name} must hold {what}, got {shown(values)}")


def names(values: Any, name: str, what: str) -> tuple[str, ...]:
    """Return the names that an argument holds, or the one that it is."""
    found = (values,) if isinstance(values, str) else tuple(listed(values, name, what))
    return _as_texts(found, name, what, lambda value: isinstance(value, str | Integral))


def texts(values: Any, name: str, what: str) -> list[str]:
    """Return hashable values that an argument holds, as text."""
    return list(_as_texts(listed(values, name, what), name, what, _is_hashable))


def _as_texts(found: Iterable[Any], name: str, what: str, is_name: Callable[[Any], bool]) -> tuple[str, ...]:
    for value in found:
        if not is_name(value):
            message = f"{name} must hold {what}, got {shown(value)} among them"
            raise InvalidParameterError(name, value=value, message=message)
    return tuple(map(str, found))


def shown(value: Any) -> str:
    """Return an argument as text for a message: shortened, and its type where it has no representation."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an object may raise anything
        text = f"an object of the type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


# ---- numbers --------------------------------------------------------------------------------------------------------


@contextmanager
def reading(values: Any, name: str) -> Iterator[None]:
    """Name the argument in errors of lines that read it as numbers, and reject what would be read wrongly."""
    if not (type(values) is np.ndarray and values.dtype.kind == "f"):
        check_tensor(values, name)
        _check_not_masked(values, name)
        _check_kinds(values, name)
    try:
        yield
    except Exception as error:
        if isinstance(error, InvalidInputError):
            raise
        if _is_table(values) and hasattr(values, "iloc") and len(set(values.columns)) < len(values.columns):
            message = f"{name} must have columns of different names: {error}"
        elif (reason := _why_not_numbers(values)) is not None:
            message = f"{name} must hold real numbers: {reason}"
        else:
            message = f"{name} cannot be read: {error}"
        raise InvalidParameterError(name, value=values, message=message) from error


def check_tensor(values: Any, name: str) -> None:
    """Check that a tensor holds a number in each place, and that it can be read."""
    if not is_tensor(values):
        return
    if values.is_nested or values.layout != library_of(values).strided:
        kind = "a nested one" if values.is_nested else f"one with the layout {values.layout}: give {name}.to_dense()"
        expected = f"a dense tensor, got {kind}"
    elif values.is_quantized:
        expected = f"a tensor of real numbers, got {values.dtype}: give {name}.dequantize()"
    elif values.device.type == "meta":
        expected = "a tensor with numbers, got one on the device meta, which has none"
    else:
        return
    raise InvalidParameterError(name, expected)


def _check_not_masked(values: Any, name: str) -> None:
    rows = values if isinstance(values, list | tuple) else [values]
    if any(isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row) for row in rows):
        message = (
            f"{name} has masked cells, which would be read as if they were not masked: remove these rows, or fill the "
            "cells with NaN where missing values are allowed"
        )
        raise InvalidParameterError(name, message=message)


def _check_kinds(values: Any, name: str) -> None:
    """Reject dates and complex numbers in an array, a table, or a list of rows."""
    if _is_table(values):
        kinds = [(f"column {c!r}", k) for c, k in zip(values.columns, values.dtypes, strict=False)]
    elif isinstance(values, list | tuple):
        if set(map(type, values)) <= {bool, int, float, np.float64}:
            return
        kinds = [(f"{name}[{i}]", getattr(row, "dtype", None)) for i, row in enumerate(values)]
        for i, row in enumerate(values):
            cells = set(map(type, row)) if isinstance(row, list | tuple) else {type(row)}
            for odd in cells & (_NOT_NUMBERS | {complex}):
                raise _not_real(name, f"{name}[{i}]", odd.__name__)
    else:
        kinds = [(name, getattr(values, "dtype", None) if not isinstance(values, complex) else np.dtype(complex))]
    for place, dtype in kinds:
        temporal = getattr(dtype, "is_temporal", None)  # types of polars
        if getattr(dtype, "kind", "") in ("m", "M") or (temporal is not None and bool(temporal())):
            raise _not_real(name, place, f"dates or times ({dtype})")
        if getattr(dtype, "kind", "") == "c":
            raise _not_real(name, place, "complex numbers")
    if any(getattr(dtype, "kind", "") == "O" for _, dtype in kinds):
        _check_cells(values, name)


def _check_cells(values: Any, name: str) -> None:
    """Reject cells of an array of objects that NumPy would convert to numbers, though they are none."""
    try:
        cells = np.asarray(values, dtype=object)
    except Exception:  # the reader says what is wrong with it
        return
    if {type(cell) for cell in cells.flat}.isdisjoint(_NOT_NUMBERS):
        return
    place, cell = next((p, cell) for p, cell in np.ndenumerate(cells) if type(cell) in _NOT_NUMBERS)
    raise _not_real(name, f"{name}[{', '.join(map(str, place))}]", type(cell).__name__)


def _not_real(name: str, place: str, what: str) -> InvalidParameterError:
    message = f"{name} must hold real numbers, but {place} holds {what}"
    if "complex" in what:
        message = f"Complex data not supported: {message}"  # scikit-learn's own words
    return InvalidParameterError(name, message=message)


def _why_not_numbers(values: Any) -> str | None:
    """Return why these cannot be numbers; None if they can."""
    for lazy in ("collect", "compute"):
        if hasattr(values, lazy):
            return f"it is not computed yet, call its {lazy}()"
    parts = [(f"column {c!r}", values[c]) for c in values.columns] if _is_table(values) else [("", values)]
    for place, part in parts:
        if hasattr(part, "tocsr"):  # sparse matrices hold numbers, and are rejected elsewhere if they may not be given
            continue
        try:
            np.asarray(part).astype(float)
        except Exception as error:
            reason = str(error) or type(error).__name__
            if isinstance(part, list | tuple) and _has_rows_of_several_lengths(part):
                reason = "its rows have different lengths"
            return f"{place} does not ({reason})" if place else reason
    return None


def _has_rows_of_several_lengths(rows: list[Any] | tuple[Any, ...]) -> bool:
    return len({len(row) if isinstance(row, list | tuple | np.ndarray) else -1 for row in rows}) > 1


def _is_table(values: Any) -> bool:
    """Return whether this has columns with names and types of their own (pandas, polars)."""
    return hasattr(values, "dtypes") and hasattr(values, "columns") and getattr(values, "ndim", 2) == 2


def as_reals(values: Any, name: str) -> np.ndarray:
    """Return an array of real numbers: float32 as it is, anything else as float64."""
    if hasattr(values, "tocsr"):
        raise InvalidParameterError(name, "a dense array, got a sparse one: take its toarray()")
    if isinstance(values, bool | np.bool_):
        raise InvalidParameterError(name, "a number or an array of numbers", values)
    with reading(values, name):
        found = np.require(to_host(values), requirements=["A", "E"])  # kernels take no others
        if found.dtype.kind == "O":
            for cell in found.flat:
                if isinstance(cell, str | bytes):  # NumPy would convert it where it can
                    raise InvalidParameterError(name, message=f"{name} must hold real numbers, got the text {cell!r}")
            found = found.astype(float)
    if found.dtype.kind not in "buif":
        raise InvalidParameterError(name, message=f"{name} must hold real numbers, got {found.dtype}")
    return found if found.dtype == np.float32 else found.astype(float, copy=False)


def real_tensor(values: Array, name: str) -> Array:
    """Return a tensor of real numbers: float32 as it is, anything else as float64."""
    check_tensor(values, name)
    if values.is_complex():
        raise InvalidParameterError(name, message=f"{name} must hold real numbers, got {values.dtype}")
    return values if values.dtype == library_of(values).float32 else values.double()


def as_truth(table: Any, name: str) -> np.ndarray:
    """Return a Boolean array, from one or from ones and zeros."""
    if type(table) is np.ndarray and table.dtype == bool:
        return table
    numbers = as_reals(table, name)
    if not ((numbers == 0) | (numbers == 1)).all():
        raise InvalidParameterError(name, "Boolean, with only true/false (or 1/0)")
    return numbers.astype(bool)


def read_fields(owner: Any, **axes: str) -> None:
    """Convert fields of a frozen dataclass to arrays of finite numbers; a letter stands for each axis, the same for the
    same length: ``read_fields(self, means="gd", covariances="gdd")``."""
    lengths: dict[str, int] = {}
    for name, letters in axes.items():
        found = as_reals(getattr(owner, name), name)
        shape = ", ".join(letters) + "," * (len(letters) == 1)
        if found.ndim != len(letters) or not np.isfinite(found).all():
            raise InvalidParameterError(name, f"an array ({shape}) of finite numbers, got shape {found.shape}")
        for letter, length in zip(letters, found.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                expected = f"of shape ({shape}) with {letter} = {lengths[letter]}, got {found.shape}"
                raise InvalidParameterError(name, expected)
        object.__setattr__(owner, name, found)


def check_size(values: Array, name: str) -> None:
    """Check that the square of no number overflows; NaN, a missing value, is left to others."""
    if 0 in values.shape:
        return
    largest = _SINGLE[0] if precision_of(values) == np.float32 else LARGEST
    most = max(-float(values.min()), float(values.max()))
    if np.isnan(most):
        values = library_of(values).where(library_of(values).isnan(values), 0, values)
        most = float(abs(values).max())
    if most > largest:
        place = np.unravel_index(int(abs(values).argmax()), values.shape)
        message = (
            f"{name} must hold numbers of at most {largest:g} in size ({precision_of(values)}), but "
            f"{name}[{', '.join(map(str, place))}] is {values[place]:.6g}: divide {name} by its scale, and mark "
            "missing values as such instead of by a large number"
        )
        raise InvalidParameterError(name, message=message)


def check_scale(values: Array, name: str) -> None:
    """Check that numbers are neither too large nor, unless all rows are equal, so near to each other that the squares
    of differences vanish."""
    check_size(values, name)
    if len(values) == 0:
        return
    smallest = _SINGLE[1] if precision_of(values) == np.float32 else SMALLEST
    if _spread(values[:_FEW_ROWS]) >= smallest:  # all rows differ at least as much
        return
    spread = _spread(values)
    if np.isnan(spread):
        known = values[:, ~np.isnan(values).all(axis=0)] if values.ndim > 1 else values[~np.isnan(values)]
        spread = float((np.nanmax(known, axis=0) - np.nanmin(known, axis=0)).max(initial=0.0)) if known.size else 0.0
    if 0 < spread < smallest:
        message = (
            f"{name} must hold numbers that differ by at least {smallest:g} ({precision_of(values)}), but they differ "
            f"by at most {spread:.6g}: multiply {name} by about {1 / spread:.0e}"
        )
        raise InvalidParameterError(name, message=message)


def _spread(values: Array) -> float:
    """Return the largest difference between two rows in any column; NaN if a value is missing."""
    if is_tensor(values):
        return float((values.amax(0) - values.amin(0)).max()) if values.numel() else 0.0
    return float(np.max(np.ptp(values, axis=0), initial=0.0))


def check_memory(n_bytes: int, what: str, advice: str) -> None:
    """Reject a table that does not fit into memory."""
    if n_bytes > MAX_BYTES:
        raise InvalidInputError(f"{what} would take {n_bytes / (1 << 30):,.1f} GB of memory; {advice}")


def checked_masses(masses: Array) -> Array:
    """Check that masses are numbers that sum to one; others come from a scale of X and parameters that together leave
    the range of floating-point numbers."""
    ones = like(np.ones(masses.shape[1]), masses) if is_tensor(masses) else np.ones(masses.shape[1], masses.dtype)
    total = masses @ ones
    wrong = ~(abs(total - 1) <= _MAX_SUM_ERROR)  # NaN is wrong too
    if wrong.any():
        first = to_host(wrong).argmax()
        message = (
            f"the masses cannot be computed: those of object {first} sum to {total[first]:g}. The scale of X and the "
            "parameters do not go together: powers leave the range of floating-point numbers. Scale X, give it in "
            "double precision, or set less extreme parameters"
        )
        raise InvalidParameterError("X", message=message)
    return masses


def mean_of_rows(values: np.ndarray, weights: np.ndarray | None = None, dtype: Any = float) -> np.ndarray:
    """Return the (p,) mean of the rows, which rounding does not take out of their range: the mean of equal numbers is
    this number. In double precision, or in that of the rows (``dtype=None``)."""
    mean = values.mean(axis=0, dtype=dtype) if weights is None else np.average(values, axis=0, weights=weights)
    low, high = column_bounds(values)
    return np.fmax(np.fmin(mean, high), low)


def clip_to_range(mean: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Clip (p,) means of columns to the range of their values; missing values are ignored."""
    low, high = column_bounds(values)
    return np.fmax(np.fmin(mean, high), low)


def column_bounds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the (p,) smallest and largest values of each column; missing values are ignored."""
    if values.ndim != 2 or values.shape[1] > _FEW_COLUMNS:
        return np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    low, high = np.empty(values.shape[1], values.dtype), np.empty(values.shape[1], values.dtype)
    for j, column in enumerate(values.T):
        low[j], high[j] = np.fmin.reduce(column), np.fmax.reduce(column)
    return low, high


def centering_offset(low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """Return the (p,) point from which to measure attributes, given their bounds; None where zero is as good.

    An attribute that is much farther from zero than any attribute varies is measured from its smallest value, which
    takes no digits from it; the others are measured from zero.
    """
    far = np.abs(low) > _FAR * float((high - low).max(initial=0.0))
    return np.where(far, low, 0.0) if far.any() else None


# ---- X and weights --------------------------------------------------------------------------------------------------

PARTIAL_METRICS = ("euclidean", "l2", "sqeuclidean")  # sums over attributes, some of which may be left out


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
    from sklearn.utils.validation import validate_data  # takes a second, which tables and data sets need not wait for

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


def tensor_attributes(estimator: Any, X: Array, *, reset: bool, fewest: int = 1, more_axes: bool = False) -> Array:
    """Validate a tensor of attributes where it is; ``more_axes``: whether a row may have more than one axis."""
    from sklearn.utils.validation import validate_data

    check_tensor(X, "X")
    found = f"(shape={tuple(X.shape)}) while a minimum of"
    if X.ndim != 2 and not (more_axes and X.ndim > 2):
        message = f"Expected 2D array, got {X.ndim}D array instead: X must be a tensor (n_samples, n_features)"
    elif len(X) < fewest:
        message = f"Found array with {len(X)} sample(s) {found} {fewest} is required."
    elif X.shape[1] == 0:
        message = f"Found array with 0 feature(s) {found} 1 is required."
    else:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        values = real_tensor(X.detach(), "X").contiguous()
        if not has_missing(values):
            (check_scale if reset else check_size)(values, "X")
            return values
        count = int(library_of(values).isnan(values).sum())
        message = (
            f"X has {count:,} missing value{'s' * (count > 1)} (NaN): a tensor must have all of its cells; impute "
            "them, or give an array of NumPy with missing='partial'"
        )
    raise InvalidParameterError("X", message=message)


def readable(estimator: Any, X: Any) -> Any:
    """Return X as scikit-learn reads it: tensors in memory as arrays, and pandas tables with plain columns."""
    X = with_shape(X)
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "T":  # text of any length
            return X.astype(object)
        return _without_na(X) if X.dtype.kind == "O" else X if X.flags.aligned else X.copy()
    if not is_tensor(X):
        return with_plain_columns(X)
    check_tensor(X, "X")
    if X.device.type != "cpu":
        message = (
            f"X must be in memory for {type(estimator).__name__} as it is set, which works on the processor, but is a "
            f"tensor on {X.device}: give X.cpu()"
        )
        raise InvalidParameterError("X", message=message)
    return to_host(X)


def has_missing(values: Array) -> bool:
    """Return whether a cell is NaN; a sum, which is fast, shows that there is none."""
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


def check_missing(values: np.ndarray, X: Any, advice: str | None, *, learning: bool) -> None:
    """Reject missing values, or rows and columns that have no value at all.

    Parameters
    ----------
    values : (n, p) array
    X : what the user gave, whose names of rows and columns go into the message
    advice : str or None
        What to do instead (`missing_value_advice`); None if missing values are allowed.
    learning : bool
        Whether these are the rows of a fit, which need a value in every column.
    """
    if not has_missing(values):
        return
    missing = np.isnan(values)
    columns = getattr(X, "columns", None)
    if advice is not None:
        count = int(missing.sum())
        where = _name_columns(np.flatnonzero(missing.any(axis=0)), columns)
        message = f"X has {count:,} missing value{'s' * (count > 1)} (NaN) in {where}: {advice}"
        settings = {"missing": "partial"} if "missing='partial'" in advice else {}
        raise InvalidParameterError("X", message=message, settings=settings)
    empty = np.flatnonzero(missing.all(axis=0))
    if learning and len(empty):
        it = "it" if len(empty) == 1 else "them"
        message = f"X has no value at all (all NaN) in {_name_columns(empty, columns)}: leave {it} out"
        raise InvalidParameterError("X", message=message)
    empty = np.flatnonzero(missing.all(axis=1))
    if len(empty):
        index = object_index(X)
        row = f"row {empty[0]}" if index is None else f"row {printable(index[empty[0]])!r}"
        more = f" (and {len(empty) - 1:,} more)" if len(empty) > 1 else ""
        raise InvalidParameterError("X", message=f"X has no value at all (all NaN) in {row}{more}: remove it")


def _name_columns(which: np.ndarray, columns: Any) -> str:
    named = [str(k) if columns is None else printable(columns[k]) for k in which[:_MAX_NAMED_COLUMNS]]
    more = f" and {len(which) - _MAX_NAMED_COLUMNS} more" if len(which) > _MAX_NAMED_COLUMNS else ""
    return f"column{'s' if len(which) > 1 else ''} {', '.join(named)}{more}"


def object_weights(sample_weight: Any, n_objects: int, name: str = "sample_weight") -> np.ndarray | None:
    """Validate the weights of the rows; None if none are given. ``name`` is that of the argument."""
    if sample_weight is None:
        return None
    given = as_reals(sample_weight, name)
    if given.ndim == 0:
        given = np.full(n_objects, float(given))
    weights = given.astype(np.float64)
    if weights.ndim != 1:
        expected = f"1D array or scalar of {n_objects:,} weights, one for each object"  # scikit-learn's own words
        raise InvalidParameterError(name, message=f"Sample weights must be {expected}: {name} has shape {given.shape}")
    if len(weights) != n_objects:
        message = f"{name} must hold {n_objects:,} weights, one for each object: {name}.shape == {weights.shape}"
        raise InvalidParameterError(name, message=message)
    if not np.isfinite(weights).all():
        raise InvalidParameterError(name, message=f"{name} must hold finite weights, got NaN or infinity")
    if (weights < 0).any():
        message = f"Negative values in data passed to `{name}`: {name} must hold nonnegative weights"
        raise InvalidParameterError(name, message=message)
    if not weights.any():
        raise InvalidParameterError(name, message=f"{name} must hold at least one non-zero weight")
    check_size(weights, name)
    least = weights[weights > 0].min()
    if least < SMALLEST:
        message = f"{name} must hold zeros or weights of at least {SMALLEST:g}, got {least:.6g}"
        raise InvalidParameterError(name, message=message)
    return weights


# ---- labels and tables ----------------------------------------------------------------------------------------------


@contextmanager
def reading_labels(labels: Any, name: str) -> Iterator[None]:
    """Name the argument in errors of lines that read labels, which may be of any kind, dates too."""
    check_tensor(labels, name)
    _check_not_masked(labels, name)
    try:
        yield
    except Exception as error:
        if isinstance(error, InvalidInputError):
            raise
        uneven = isinstance(labels, list | tuple) and _has_rows_of_several_lengths(labels)
        reason = "its rows have different lengths" if uneven else error
        message = f"{name} must hold one label for each object: {reason}"
        raise InvalidParameterError(name, value=labels, message=message) from error


@contextmanager
def reading_table(table: Any, name: str) -> Iterator[None]:
    """Name the argument in errors of lines that read a table whose cells may be text as well as numbers."""
    check_tensor(table, name)
    _check_not_masked(table, name)
    if hasattr(table, "compute"):
        raise InvalidParameterError(name, f"in memory, got a {type(table).__name__} that is not computed yet")
    if module_of(table) == "pyarrow":
        raise InvalidParameterError(name, "an array or a table of pandas or polars: take its to_pandas()")
    with naming_table(name):
        yield


@contextmanager
def naming_table(name: str) -> Iterator[None]:
    """Name the argument in errors of lines that read a table, unless they name another one."""
    try:
        yield
    except Exception as error:
        if isinstance(error, InvalidParameterError) and error.name != "table":
            raise
        message = f"{name} must be a table, objects in rows: {str(error) or type(error).__name__}"
        raise InvalidParameterError(name, message=message) from error


def as_labels(labels: Any, name: str) -> np.ndarray:
    """Return the (n,) labels, of any kind, none of them missing."""
    with reading_labels(labels, name):
        values = np.asarray(plain_text(labels))
    if values.ndim != 1 or values.dtype.kind in "cV":
        expected = f"one label for each object, shape (n,), got shape {values.shape} of {values.dtype}"
        raise InvalidParameterError(name, expected)
    if any(map(is_missing, values.tolist())) or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise InvalidParameterError(name, message=f"{name} must hold labels without missing values, NaN or infinity")
    if values.dtype.kind == "O":
        with reading_labels(labels, name):
            set(values.tolist())  # labels must be hashable
    return values


def plain_text(labels: Any) -> Any:
    """Return labels of NumPy's text of any length, which scikit-learn does not know, as its usual text."""
    return np.array(labels.tolist()) if getattr(getattr(labels, "dtype", None), "kind", "") == "T" else labels


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or the missing value of pandas."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def same_label(label: Any, other: Any) -> bool:
    """Return whether two labels are equal; a truth value is no number, and what cannot be compared is not equal."""
    if isinstance(label, bool | np.bool_) != isinstance(other, bool | np.bool_):
        return False
    try:
        return label is other or bool(label == other)
    except Exception:  # an object may raise anything
        return False


def with_plain_columns(X: Any) -> Any:
    """Return a pandas table whose columns NumPy can hold as they are, and anything else unchanged.

    Sparse columns are filled, other byte orders become native, and pandas' missing value among objects becomes NaN.
    """
    if not hasattr(X, "iloc") or hasattr(X, "compute") or X.ndim != 2:
        return X
    kinds = list(X.dtypes)
    changed = {}
    for k, kind in enumerate(kinds):
        if type(kind).__name__ == "SparseDtype":
            changed[k] = kind.subtype
        elif isinstance(kind, np.dtype) and not kind.isnative:
            changed[k] = kind.newbyteorder("=")
    with_na = [k for k, kind in enumerate(kinds) if kind is _OBJECT and _holds_na(X.iloc[:, k].to_numpy())]
    if not changed and not with_na:
        return X
    n_sparse = sum(type(kind).__name__ == "SparseDtype" for kind in kinds)
    check_memory(8 * len(X) * n_sparse, "X with its sparse columns filled", "give fewer columns, such as components")
    plain = X.set_axis(range(X.shape[1]), axis=1).astype(changed)
    for k in with_na:
        plain[k] = _without_na(plain[k].to_numpy())
    return plain.set_axis(X.columns, axis=1)


def _holds_na(cells: np.ndarray) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and any(cell is pandas.NA for cell in cells.flat)


def _without_na(cells: np.ndarray) -> np.ndarray:
    """Return an array of objects with NaN for pandas' missing value."""
    if not _holds_na(cells):
        return cells
    pandas, filled = sys.modules["pandas"], cells.copy()
    filled[np.frompyfunc(lambda cell: cell is pandas.NA, 1, 1)(cells).astype(bool)] = np.nan
    return filled


def table(values: np.ndarray, columns: list[str], index: Any, backend: str) -> Any:
    """Return numbers as a pandas table, or as a polars table, where the names of the rows are a column."""
    check_choice(backend, "backend", ("pandas", "polars"))
    if backend == "pandas":
        import pandas as pd

        return pd.DataFrame(values, index=index, columns=columns)
    try:
        import polars as pl
    except ImportError as error:
        raise MissingExtraError("backend='polars'", "polars", "polars") from error
    if len(set(columns)) < len(columns):
        raise InvalidInputError(f"polars needs different names for the columns, got {columns}")
    named = {} if index is None else {"object": list(index)}
    return pl.DataFrame(named | dict(zip(columns, values.T, strict=True)), strict=False)


# ---- names of rows and columns --------------------------------------------------------------------------------------


def object_index(X: Any) -> Any:
    """Return the names of the rows of a pandas table, None for anything else (a plain 0..n-1 index names nothing)."""
    if not hasattr(X, "iloc"):
        return None
    return None if _is_plain(X.index) else X.index


def column_index(X: Any) -> Any:
    """Return the names of the columns of a pandas or polars table, None for anything else."""
    if getattr(X, "ndim", 2) != 2 or not hasattr(X, "columns"):
        return None
    if not hasattr(X, "iloc"):
        return list(X.columns) if module_of(X) == "polars" else None
    return None if _is_plain(X.columns) else X.columns


def _is_plain(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns of a pandas, polars or Arrow table, None if it has none or only numbers them."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns) or type(columns).__name__ == "RangeIndex":
        return None
    return list(X.column_names if module_of(X) == "pyarrow" else columns)


def numbered_attributes(count: int) -> list[str]:
    """Return the names of the columns of an array: attribute 1, attribute 2, ..."""
    return [f"attribute {j}" for j in range(1, count + 1)]


def names_of_table(values: Any) -> dict[str, Any]:
    """Return the names of the rows and columns of a table of answers, as `MassFunctions` take them."""
    index = object_index(values) if getattr(values, "ndim", 0) == 2 else None
    return {"index": index, "frame": column_names(values)}


def order_of_names(names: Any, wanted: Any) -> np.ndarray | None:
    """Return where the rows called ``wanted`` are among those called ``names``; None if they are in this order already.

    The one rule for tables whose rows have names: if both have some they must be the same, in any order; if one has
    none the rows correspond by their positions.
    """
    if names is None or wanted is None:
        return None
    ours, theirs = list(names), list(wanted)
    if ours == theirs:
        return None
    if len(ours) == len(theirs) and all(_is_same_name(*pair) for pair in zip(ours, theirs, strict=True)):
        return None
    where = {name: k for k, name in enumerate(ours)}
    missing = [name for name in theirs if name not in where]
    if missing or len(theirs) != len(ours):
        odd = missing or [name for name in ours if name not in set(theirs)] or ours
        message = (
            f"the names of the objects differ: {odd[0]!r} is in one of the two only; take the same objects, or leave "
            "the names away (index=None) if the rows correspond by their positions"
        )
        raise InvalidParameterError("index", message=message)
    if len(where) < len(ours) or len(set(theirs)) < len(theirs):
        message = (
            "the objects are in different orders, and their names, some of which occur twice, do not tell which is "
            "which; give different names, or the same order"
        )
        raise InvalidParameterError("index", message=message)
    return np.array([where[name] for name in theirs], dtype=np.intp)


def _is_same_name(name: Any, other: Any) -> bool:
    """Return whether two names are equal, or both missing, which no comparison says."""
    return (is_missing(name) and is_missing(other)) or bool(name == other)


def ordered_like(values: Any, index: Any) -> Any:
    """Return a pandas column of weights or labels in the order of the rows, where it has their names in another order.

    Columns with other names go by their positions, as everywhere in scikit-learn.
    """
    given = None if values is None else object_index(values)
    if given is None or index is None or len(given) != len(index):
        return values
    ours, theirs = list(given), list(index)
    if ours == theirs or len(set(ours)) < len(ours) or set(ours) != set(theirs):
        return values
    return values.iloc[order_of_names(given, index)]


def in_order_of(values: Any, names: Any) -> Any:
    """Return a pandas column or table with a row for each of some names (classes, answers, views) in their order, rows
    with other names after them. Anything else goes by its positions."""
    index = object_index(values)
    if index is None or names is None:
        return values
    wanted, given = list(names), list(index)
    if len(set(given)) < len(given) or not set(wanted) <= set(given):
        return values
    more = [name for name in given if name not in set(wanted)]
    return values.iloc[[given.index(name) for name in [*wanted, *more]]]
