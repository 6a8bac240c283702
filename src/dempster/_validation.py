"""Validation of parameters, X, weights, labels, and the names of rows and columns.

All public functions and estimators use this module, and every error names the argument
(`InvalidParameterError`). NumPy and scikit-learn perform most of the checks. This module first
rejects dates, masked arrays and complex numbers, which they would silently convert to wrong
numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from dempster._arrays import (
    Array,
    cast_like,
    column_bounds,
    is_graph,
    is_tensor,
    library_of,
    module_of,
    precision_of,
    row_max,
    to_array_with_shape,
    to_host,
)
from dempster._errors import (
    InvalidInputError,
    InvalidParameterError,
    format_value,
)
from dempster._text import format_count, join_some, printable

# bounds for the absolute values of X in double precision, and for real parameters
LARGEST = 1e75
SMALLEST = 1e-75
_SINGLE = 1e12, 1e-12  # bounds for the absolute values of X in single precision
MAX_BYTES = 4 << 30  # maximum size of one result or intermediate array
_MAX_INTEGER = 2**31 - 1
_MAX_REPETITIONS = 100_000  # maximum number of repetitions of a fit
_MAX_ITERATIONS = 100_000_000
_MAX_NAMED_COLUMNS = 5  # maximum number of column names in a message
# largest error of a sum of masses that rounding in single precision can cause
_MAX_SUM_ERROR = 1e-4
# number of rows that usually suffices to show that not all rows are equal
_FEW_ROWS = 1000


# ---- parameters ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """Permitted values of a parameter."""

    words: str  # completes the sentence "<name> must be ..."
    test: Callable[[Any], bool]
    options: tuple[str | None, ...] = ()  # permitted words

    def __or__(self, other: Rule) -> Rule:
        return Rule(
            f"{self.words} or {other.words}",
            lambda value: self.test(value) or other.test(value),
            self.options + other.options,
        )


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer, but not a Boolean."""
    return type(value) is int or (
        isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    )


def is_number(value: Any) -> bool:
    """Return whether a value is an int, float or NumPy number that compiled code supports."""
    if is_integer(value):
        return abs(int(value)) < 2**63
    return isinstance(value, float | np.floating)


def _is_between(
    value: Any, low: float, high: float, open_low: bool, open_high: bool
) -> bool:
    if type(value) is not float and not is_number(value):
        return False
    number = float(value)
    if not abs(number) <= LARGEST or (open_low and low == 0 and 0 < number < SMALLEST):
        return False
    return (number > low if open_low else number >= low) and (
        number < high if open_high else number <= high
    )


def is_estimator(value: Any) -> bool:
    return (
        not isinstance(value, type)
        and hasattr(value, "fit")
        and hasattr(value, "get_params")
    )


def integer(low: int, high: int | None = None) -> Rule:
    words = f"an integer of at least {low}"
    if high is not None:
        words += f" and at most {high:,}"
    most = _MAX_INTEGER if high is None else high
    return Rule(words, lambda value: is_integer(value) and low <= value <= most)


def repetitions(low: int = 1) -> Rule:
    """Return the rule for ``n_init`` and similar parameters."""
    return integer(low, _MAX_REPETITIONS)


def real(
    low: float = -np.inf,
    high: float = np.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> Rule:
    """Return a rule for a real number between two bounds, which are excluded if they are open."""
    if low == -np.inf:
        words = "a number"
    else:
        words = f"a number {'above' if open_low else 'of at least'} {low:g}"
    if high < np.inf:
        words += f" and {'below' if open_high else 'at most'} {high:g}"
    return Rule(words, lambda value: _is_between(value, low, high, open_low, open_high))


def choice(*options: str | None) -> Rule:
    *most, last = map(repr, options)
    words = f"{', '.join(most)} or {last}" if most else last
    return Rule(
        words,
        lambda value: isinstance(value, str | None) and value in options,
        options,
    )


def kind(*types: type, words: str | None = None) -> Rule:
    words = words or " or ".join(f"a {t.__name__}" for t in types)
    return Rule(words, lambda value: isinstance(value, types))


def _is_array(value: Any) -> bool:
    try:
        return hasattr(value, "__len__") and np.ndim(value) >= 1
    # NumPy cannot convert some values, e.g. rows of different lengths.
    except Exception:
        return False


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    # Methods of objects from other libraries may raise any exception.
    except Exception:
        return False
    return True


none = choice(None)
auto = choice("auto")
positive_integer = integer(1)
iterations = integer(1, _MAX_ITERATIONS)
nonnegative = real(0)
positive = real(0, open_low=True)
share = real(0, 1)
positive_share = real(0, 1, open_low=True)
proper_share = real(0, 1, open_low=True, open_high=True)
array = Rule("an array", _is_array)
hashable = Rule("a hashable name (text, a number or a tuple)", _is_hashable)
callback = Rule(
    "None or a function with one string argument", lambda v: v is None or callable(v)
)
flag = Rule(
    "True or False",
    lambda v: isinstance(v, bool | np.bool_) or (is_integer(v) and v in (0, 1)),
)
verbosity = Rule(
    "True, False or an integer of at least 0",
    lambda v: isinstance(v, bool | np.bool_) or integer(0).test(v),
)
n_jobs = Rule(
    "None or a nonzero integer",
    lambda v: v is None or (is_integer(v) and 0 < abs(v) <= _MAX_INTEGER),
)
seed = Rule(
    "None, an integer of at least 0, or a numpy RandomState or Generator",
    lambda v: (
        v is None
        or isinstance(v, np.random.RandomState | np.random.Generator)
        or (is_integer(v) and 0 <= v <= 10**100)
    ),
)


def check_parameters(owner: object, rules: Mapping[str, Rule]) -> None:
    """Raise an error if a parameter of an estimator is not permitted by its rule."""
    for name, rule in rules.items():
        check(getattr(owner, name), name, rule)


def check(value: Any, name: str, rule: Rule) -> None:
    """Raise an error if the value of the argument ``name`` is not permitted by the rule."""
    if not rule.test(value):
        raise InvalidParameterError(name, f"{rule.words}{_explain_range(value)}", value)


def check_flags(**flags: Any) -> None:
    for name, value in flags.items():
        check(value, name, flag)


def check_choice(value: Any, name: str, options: Iterable[str]) -> None:
    """Raise an error if the value of the argument ``name`` is not one of the options."""
    check(value, name, choice(*options))


def _explain_range(value: Any) -> str:
    """Return a note about the supported range if the value is outside of it, otherwise ""."""
    if is_integer(value) and abs(int(value)) > _MAX_INTEGER:
        return f" (and at most {_MAX_INTEGER:,})"
    if isinstance(value, float | np.floating) and (
        abs(float(value)) > LARGEST or 0 < abs(float(value)) < SMALLEST
    ):
        return f" (with an absolute value from {SMALLEST:g} to {LARGEST:g})"
    return ""


def as_list(values: Any, name: str, what: str) -> list[Any]:
    """Return the items of an argument as a list, unless it is a string or not iterable."""
    if not isinstance(values, str | bytes | Mapping):
        # Iterators of other libraries may raise any exception.
        with suppress(Exception):
            return list(values)
    raise InvalidParameterError(name, value=values, must=f"contain {what}")


def as_names(values: Any, name: str, what: str) -> tuple[str, ...]:
    """Return the names in an argument as strings; the argument may be a single name."""
    if isinstance(values, str):
        return (values,)
    return tuple(as_texts(values, name, what))


def as_texts(values: Any, name: str, what: str) -> list[str]:
    """Return the hashable values in an argument as strings."""
    found = as_list(values, name, what)
    for value in found:
        if not hashable.test(value):
            message = f"{name} must contain {what}, but one of its items is {format_value(value)}"
            raise InvalidParameterError(name, value=value, message=message)
    return list(map(str, found))


# ---- numbers -------------------------------------------------------------------------------------


@contextmanager
def validating(values: Any, name: str) -> Iterator[None]:
    """Name the argument in errors of its conversion to numbers, and reject unsuitable types."""
    if not (type(values) is np.ndarray and values.dtype.kind == "f"):
        check_tensor(values, name)
        _check_not_masked(values, name)
        _check_kinds(values, name)
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as error:
        refuse_sparse(values, name)
        message = _why_not_numbers(values, name) or f"{name} cannot be read: {error}"
        raise InvalidParameterError(name, value=values, message=message) from error


def refuse_sparse(X: Any, name: str) -> None:
    """Raise an error if a table is a sparse matrix, whose dense copy may not fit into memory."""
    if hasattr(X, "tocsr"):
        n, p = X.shape
        expected = (
            f"a dense array, got a sparse matrix of {n:,} rows and {p:,} columns; reduce it with "
            "sklearn.decomposition.TruncatedSVD, or call its toarray() method if it is small"
        )
        raise InvalidParameterError(name, expected)


def check_tensor(values: Any, name: str) -> None:
    """Raise an error if values is a sparse tensor."""
    if is_tensor(values) and values.layout != library_of(values).strided:
        raise InvalidParameterError(
            name,
            f"a dense tensor, got the layout {values.layout}: use {name}.to_dense()",
        )


def _check_not_masked(values: Any, name: str) -> None:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        message = (
            f"{name} has masked values, and the mask would be lost: remove these rows, or replace "
            "masked values by NaN if the method accepts missing values"
        )
        raise InvalidParameterError(name, message=message)


def _check_kinds(values: Any, name: str) -> None:
    """Raise an error if an array or a table contains dates or complex numbers."""
    if _is_table(values):
        places = [f"column {column!r}" for column in values.columns]
        kinds = list(zip(places, values.dtypes, strict=True))
    else:
        kinds = [(name, getattr(values, "dtype", None))]
    for place, dtype in kinds:
        letter = getattr(dtype, "kind", "")
        # a method of polars data types
        is_temporal = getattr(dtype, "is_temporal", bool)
        message = f"{name} must contain real numbers, but {place} contains"
        if letter in ("m", "M") or is_temporal():
            raise InvalidParameterError(
                name, message=f"{message} dates or times ({dtype})"
            )
        if letter == "c":
            # The estimator checks of scikit-learn require the first words.
            message = f"Complex data not supported: {message} complex numbers"
            raise InvalidParameterError(name, message=message)


def _why_not_numbers(values: Any, name: str) -> str | None:
    """Return why values cannot be converted to numbers, or None if the reason is another one."""
    for lazy in ("collect", "compute"):
        if hasattr(values, lazy):
            return f"{name} is a lazy object; call its {lazy}() method"
    parts = {name: values}
    if _is_table(values):
        if len(set(values.columns)) < len(values.columns):
            return f"{name} must have unique column names"
        parts = {f"column {c!r} of {name}": values[c] for c in values.columns}
    for place, part in parts.items():
        if hasattr(part, "tocsr"):  # Other functions check sparse matrices.
            continue
        try:
            np.asarray(part).astype(float)
        except Exception as error:
            return f"{place} must contain real numbers: {error}"
    return None


def _is_table(values: Any) -> bool:
    return (
        hasattr(values, "dtypes")
        and hasattr(values, "columns")
        and getattr(values, "ndim", 2) == 2
    )


def as_reals(values: Any, name: str) -> np.ndarray:
    """Return values as an array of real numbers, float32 unchanged and other types as float64."""
    if hasattr(values, "tocsr"):
        expected = "a dense array, got a sparse matrix: use its toarray() method"
        raise InvalidParameterError(name, expected)
    if isinstance(values, bool | np.bool_):
        raise InvalidParameterError(name, "a number or an array of numbers", values)
    with validating(values, name):
        # Kernels need aligned arrays of the base class.
        found = np.require(to_host(values), requirements=["A", "E"])
        if found.dtype.kind == "O":
            for cell in found.flat:
                # Reject text such as "1.5", which NumPy would convert to a number.
                if isinstance(cell, str | bytes):
                    must = f"contain real numbers, got the text {cell!r}"
                    raise InvalidParameterError(name, must=must)
            found = found.astype(float)
    if found.dtype.kind not in "buif":
        raise InvalidParameterError(
            name, must=f"contain real numbers, got {found.dtype}"
        )
    if found.dtype == np.float32:
        return found
    return found.astype(float, copy=False)


def as_floats(values: Any, name: str) -> np.ndarray:
    """Return values as an array of real numbers in double precision."""
    return as_reals(values, name).astype(float, copy=False)


def as_numbers(
    values: Any, name: str, low: float = -np.inf, high: float = np.inf
) -> np.ndarray:
    """Return values as an array of finite numbers between two bounds, in double precision."""
    found = as_floats(values, name)
    if not (np.isfinite(found) & (found >= low) & (found <= high)).all():
        words = real(low, high).words.replace("a number", "finite numbers")
        raise InvalidParameterError(name, must=f"contain {words}")
    return found


def row_positions(rows: Any, n: int) -> np.ndarray:
    """Return the positions that a slice, a Boolean mask or an array of indices selects."""
    if isinstance(rows, slice):
        return np.arange(n)[rows]
    with validating(rows, "rows"):
        indices = np.asarray(rows)
    if indices.shape == (0,):
        indices = indices.astype(np.intp)  # The type of an empty list is float.
    if indices.ndim != 1 or indices.dtype.kind not in "biu":
        expected = "an index, a slice, a Boolean mask or an array of indices"
        raise InvalidParameterError("rows", expected, rows)
    try:
        return np.arange(n)[indices]
    except IndexError as error:
        raise IndexError(
            f"rows must be indices below {n}, or a mask of {n} values, got {format_value(rows)}"
        ) from error


def real_tensor(values: Array, name: str) -> Array:
    """Return a tensor of real numbers, float32 unchanged and all other types as float64."""
    check_tensor(values, name)
    if values.is_complex():
        raise InvalidParameterError(
            name, must=f"contain real numbers, got {values.dtype}"
        )
    if values.dtype == library_of(values).float32:
        return values
    return values.double()


def as_boolean(table: Any, name: str) -> np.ndarray:
    """Return a Boolean array; the numbers 0 and 1 are accepted."""
    if type(table) is np.ndarray and table.dtype == bool:
        return table
    numbers = as_reals(table, name)
    if not ((numbers == 0) | (numbers == 1)).all():
        raise InvalidParameterError(name, "Boolean (True and False, or 1 and 0)")
    return numbers.astype(bool)


def convert_fields(owner: Any, **axes: str) -> None:
    """Convert fields of a frozen dataclass to arrays of finite numbers, and check their shapes.

    Each axis of an array is denoted by a letter, and axes with the same letter must have the same
    length, for example ``convert_fields(self, means="gd", covariances="gdd")``.
    """
    lengths: dict[str, int] = {}
    for name, letters in axes.items():
        found = as_reals(getattr(owner, name), name)
        shape = ", ".join(letters) + "," * (len(letters) == 1)
        if found.ndim != len(letters) or not np.isfinite(found).all():
            expected = f"an array ({shape}) of finite numbers, got shape {found.shape}"
            raise InvalidParameterError(name, expected)
        for letter, length in zip(letters, found.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                known = f"({shape}) with {letter} = {lengths[letter]}"
                raise InvalidParameterError(
                    name, f"of shape {known}, got {found.shape}"
                )
        object.__setattr__(owner, name, found)


def check_directions(X: Array) -> None:
    """Raise an error if a row contains only zeros, so that it has no cosine with other rows."""
    is_zero = to_host(row_max(abs(X)) == 0)
    if is_zero.any():
        row = is_zero.argmax()
        must = f"not contain rows of zeros if metric='cosine', got row {row}"
        raise InvalidParameterError("X", must=must)


def check_size(values: Array, name: str) -> None:
    """Raise an error if squares of the values could overflow; NaN is ignored."""
    if 0 in values.shape:
        return
    largest, _ = _limits(values)
    most = max(-float(values.min()), float(values.max()))
    if np.isnan(most):
        values = library_of(values).where(library_of(values).isnan(values), 0, values)
        most = float(abs(values).max())
    if most > largest:
        place = np.unravel_index(int(abs(values).argmax()), values.shape)
        must = (
            f"contain numbers of absolute value at most {largest:g} ({precision_of(values)}), but "
            f"{name}[{', '.join(map(str, place))}] is {values[place]:.6g}: rescale {name}; "
            "if large numbers mark missing values, replace them by NaN"
        )
        raise InvalidParameterError(name, must=must)


def check_scale(values: Array, name: str) -> None:
    """Raise an error if squares of the values or of their differences could over- or underflow."""
    check_size(values, name)
    if len(values) == 0:
        return
    _, smallest = _limits(values)
    # The range of all rows is at least as large.
    if _spread(values[:_FEW_ROWS]) >= smallest:
        return
    spread = _spread(values)
    if np.isnan(spread):
        low, high = column_bounds(values)
        spread = float(np.nanmax(high - low, initial=0.0))
    if 0 < spread < smallest:
        must = (
            f"contain values that differ by at least {smallest:g} ({precision_of(values)}), but "
            f"they differ by at most {spread:.6g}: multiply {name} by about {1 / spread:.0e}"
        )
        raise InvalidParameterError(name, must=must)


def _limits(values: Array) -> tuple[float, float]:
    """Return the largest and the smallest absolute value that are supported."""
    if precision_of(values) == np.float32:
        return _SINGLE
    return LARGEST, SMALLEST


def _spread(values: Array) -> float:
    """Return the largest range of a column, or NaN if a value is missing."""
    if is_tensor(values):
        if values.numel():
            return float((values.amax(0) - values.amin(0)).max())
        return 0.0
    return float(np.max(np.ptp(values, axis=0), initial=0.0))


def check_memory(n_bytes: int, what: str, advice: str) -> None:
    """Raise an error if an array of ``n_bytes`` would exceed the memory limit.

    ``what`` describes the array.
    """
    if n_bytes > MAX_BYTES:
        raise InvalidInputError(
            f"{what} would take {n_bytes / (1 << 30):,.1f} GB of memory; {advice}"
        )


def check_masses(masses: Array) -> Array:
    """Return the masses, and raise an error if those of an object do not sum to one."""
    total = masses @ cast_like(np.ones(masses.shape[1]), masses)
    wrong = ~(abs(total - 1) <= _MAX_SUM_ERROR)  # also True for NaN
    if wrong.any():
        first = to_host(wrong).argmax()
        message = (
            f"the masses of X cannot be computed: the sum for object {first} is {total[first]:g} "
            "instead of 1, because powers overflow or underflow. Rescale X, use double precision, "
            "or set less extreme parameters"
        )
        raise InvalidParameterError("X", message=message)
    return masses


# ---- X and weights -------------------------------------------------------------------------------

# metrics that are computed as |a|^2 - 2 ab + |b|^2, and that support missing="partial"
SQUARED_METRICS = ("euclidean", "l2", "sqeuclidean")


def validate_features(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    min_rows: int = 1,
    **options: Any,
) -> np.ndarray:
    """Validate X and return it as a C-contiguous array of float32 or float64.

    ``reset`` is True for the argument of ``fit``. ``options`` are keyword arguments of
    ``validate_data`` of scikit-learn.
    """
    # Import it here, because the import takes a second.
    from sklearn.utils.validation import validate_data

    refuse_sparse(X, "X")
    if not (type(X) is np.ndarray and X.dtype.kind == "f" and X.flags.aligned):
        X = to_supported_type(estimator, X)
    with validating(X, "X"):
        values = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=min_rows,
            ensure_all_finite="allow-nan",
            **options,
        )
    check_missing(values, X, missing_value_advice(estimator), learning=reset)
    (check_scale if reset else check_size)(values, "X")
    return values


def validate_tensor(
    estimator: Any, X: Array, *, reset: bool, min_rows: int = 1, allow_nd: bool = False
) -> Array:
    """Validate a tensor on its device; if ``allow_nd``, it may have more than two axes."""
    from sklearn.utils.validation import validate_data

    check_tensor(X, "X")
    has_axes = X.ndim == 2 or (allow_nd and X.ndim > 2)
    if not has_axes or len(X) < min_rows or X.shape[1] == 0:
        expected = (
            f"(n_samples, n_features) with at least {format_count(min_rows, 'row')}"
        )
        must = f"be a tensor {expected}, got shape {tuple(X.shape)}"
        raise InvalidParameterError("X", must=must)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    values = real_tensor(X.detach(), "X").contiguous()
    if has_missing(values):
        must = (
            "be complete if it is a tensor, got NaN: impute missing values, "
            "or pass a NumPy array with missing='partial'"
        )
        raise InvalidParameterError("X", must=must)
    (check_scale if reset else check_size)(values, "X")
    return values


def validate_wrapped(estimator: Any, X: Any, wrapped: Any, *, reset: bool) -> Any:
    """Validate X for an estimator that passes it to the estimator ``wrapped``.

    Tables remain tables, because ``wrapped`` may select columns by name. ``reset`` is True for the
    argument of ``fit``; otherwise X must have the same columns as in ``fit``. X must also have the
    columns to which a `FrozenEstimator` was fitted, because not all estimators check their names.
    """
    from sklearn.frozen import FrozenEstimator
    from sklearn.utils import get_tags
    from sklearn.utils.validation import validate_data

    if isinstance(wrapped, FrozenEstimator):
        validate_data(wrapped, X, reset=False, skip_check_array=True)
    if hasattr(X, "columns"):
        if len(set(X.columns)) < len(X.columns):
            must = f"have unique column names, got {list(X.columns)}"
            raise InvalidParameterError("X", must=must)
        values = validate_data(estimator, X, reset=reset, skip_check_array=True)
        numbers = np.asarray(values)
    else:
        X = to_supported_type(estimator, X)
        tags = get_tags(wrapped).input_tags
        with validating(X, "X"):
            values = validate_data(
                estimator,
                X,
                reset=reset,
                dtype=[np.float64, np.float32],
                order="C",
                accept_sparse="csr" if get_tags(estimator).input_tags.sparse else False,
                ensure_all_finite="allow-nan" if tags.allow_nan else True,
            )
        numbers = values
    if isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f":
        check_size(numbers, "X")
    return values


# how to pass data of other libraries, by library and type
_CONVERSIONS = {
    ("xarray", "Dataset"): "pass X.to_dataframe()",
    ("duckdb", "DuckDBPyRelation"): "pass X.df()",
    ("_duckdb", "DuckDBPyRelation"): "pass X.df()",
    ("anndata", "AnnData"): "use dempster.integrations.anndata.cluster, or pass X.X",
}


def to_supported_type(estimator: Any, X: Any) -> Any:
    """Convert tensors to arrays and columns of tables to NumPy types, for scikit-learn."""
    kind_of_X = type(X).__name__
    conversion = _CONVERSIONS.get((module_of(X), kind_of_X))
    if conversion is not None:
        must = f"be an array or a table, got {kind_of_X}: {conversion}"
        raise InvalidParameterError("X", must=must)
    if is_graph(X):
        must = f"be a table or a matrix for {type(estimator).__name__}, got a graph"
        raise InvalidParameterError("X", must=f"{must}; EKNNClus clusters its nodes")
    X = to_array_with_shape(X)
    if isinstance(X, np.ndarray):
        if X.dtype.kind == "O":
            return _without_na(X)
        if X.flags.aligned:
            return X
        return X.copy()
    if not is_tensor(X):
        return to_plain_columns(X)
    check_tensor(X, "X")
    if X.device.type != "cpu":
        must = (
            f"be in main memory for {type(estimator).__name__} with these parameters, "
            f"but it is a tensor on {X.device}: pass X.cpu()"
        )
        raise InvalidParameterError("X", must=must)
    return to_host(X)


def has_missing(values: Array) -> bool:
    """Return whether any value is NaN.

    If the sum of all values is finite, the values need not be checked.
    """
    if precision_of(values).kind != "f":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(float(values.sum())) and bool(
            library_of(values).isnan(values).any()
        )


def missing_value_advice(estimator: Any, metric: Any = None) -> str | None:
    """Return advice about missing values, or None if they are accepted."""
    if metric is None:
        metric = getattr(estimator, "metric", "euclidean")
    if metric == "precomputed":
        return "a dissimilarity matrix must be complete"
    if "missing" not in vars(estimator):
        name = type(estimator).__name__
        return (
            f"{name} does not accept them; impute them, or "
            "use ECM or EVCLUS with missing='partial'"
        )
    if metric not in SQUARED_METRICS:
        return (
            f"metric={metric!r} does not accept them; impute them, "
            "or set metric='euclidean' and missing='partial'"
        )
    if estimator.missing != "partial":
        return (
            "set missing='partial' to use the values that are present, or impute them"
        )
    return None


def check_missing(
    values: np.ndarray,
    X: Any,
    advice: str | None,
    *,
    learning: bool,
) -> None:
    """Raise an error for missing values or, if allowed, for rows and columns of NaN only.

    ``advice`` is the result of `missing_value_advice`, and ``learning`` is True for the argument of
    ``fit``.
    """
    if not has_missing(values):
        return
    missing = np.isnan(values)
    columns = getattr(X, "columns", None)
    if advice is not None:
        count = int(missing.sum())
        where = _name_columns(np.flatnonzero(missing.any(axis=0)), columns)
        message = (
            f"X has {format_count(count, 'missing value')} (NaN) in {where}: {advice}"
        )
        raise InvalidParameterError("X", message=message)
    empty = np.flatnonzero(missing.all(axis=0))
    if learning and len(empty):
        it = "it" if len(empty) == 1 else "them"
        message = f"X contains only NaN in {_name_columns(empty, columns)}; remove {it}"
        raise InvalidParameterError("X", message=message)
    empty = np.flatnonzero(missing.all(axis=1))
    if len(empty):
        index = row_index(X)
        row = empty[0] if index is None else repr(printable(index[empty[0]]))
        more = ""
        if len(empty) > 1:
            more = f" (and {len(empty) - 1:,} more)"
        message = f"X contains only NaN in row {row}{more}; remove it"
        raise InvalidParameterError("X", message=message)


def _name_columns(which: np.ndarray, columns: Any) -> str:
    names = [str(k) if columns is None else printable(columns[k]) for k in which]
    return f"column{'s' * (len(which) > 1)} {join_some(names, _MAX_NAMED_COLUMNS)}"


def validate_weights(
    sample_weight: Any, n_objects: int, name: str = "sample_weight"
) -> np.ndarray | None:
    """Validate sample weights and return them as an array, or None.

    ``name`` is the name of the argument.
    """
    if sample_weight is None:
        return None
    given = as_reals(sample_weight, name)
    if given.ndim == 0:
        given = np.full(n_objects, float(given))
    weights = check_weights(given, n_objects, name)
    if not weights.any():
        raise InvalidParameterError(name, must="contain at least one non-zero weight")
    return weights


def check_weights(
    weights: Any, n_objects: int, name: str = "sample_weight", where: str = ""
) -> np.ndarray:
    """Return weights of some objects as floats; ``where`` describes them, such as " in block 3"."""
    values = as_reals(weights, name).astype(float)
    if values.ndim != 1:
        # The estimator checks of scikit-learn require the first words of this message.
        expected = (
            f"1D array or scalar of {n_objects:,} weights, one for each object{where}"
        )
        message = f"Sample weights must be {expected}: {name} has shape {values.shape}"
        raise InvalidParameterError(name, message=message)
    if len(values) != n_objects:
        must = f"contain {n_objects:,} weights{where}, one per object: got shape {values.shape}"
        raise InvalidParameterError(name, must=must)
    if (values < 0).any():
        message = (
            f"Negative values in data passed to `{name}`{where}: got {values.min()}"
        )
        raise InvalidParameterError(name, message=message)
    valid = (values == 0) | ((values >= SMALLEST) & (values <= LARGEST))
    if not valid.all():
        must = f"contain finite weights, 0 or from {SMALLEST:g} to {LARGEST:g}"
        wrong = values[valid.argmin()]
        raise InvalidParameterError(name, must=f"{must}, got {wrong:.6g}{where}")
    return values


# ---- labels and tables ---------------------------------------------------------------------------


@contextmanager
def validating_labels(labels: Any, name: str) -> Iterator[None]:
    """Add the name of the argument to errors while labels of any type are read."""
    check_tensor(labels, name)
    _check_not_masked(labels, name)
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as error:
        message = f"{name} must contain one label for each object: {error}"
        raise InvalidParameterError(name, value=labels, message=message) from error


@contextmanager
def validating_table(table: Any, name: str) -> Iterator[None]:
    """Name the argument in errors while a table is read, and reject tables outside of memory."""
    check_tensor(table, name)
    _check_not_masked(table, name)
    for method in ("compute", "collect"):
        if hasattr(table, method):
            kind_of_table = type(table).__name__
            expected = (
                f"in memory, got a lazy {kind_of_table}; call its {method}() method"
            )
            raise InvalidParameterError(name, expected)
    if module_of(table) == "pyarrow":
        expected = "an array or a pandas or polars table; call its to_pandas() method"
        raise InvalidParameterError(name, expected)
    if is_graph(table):
        raise InvalidParameterError(name, "an array or a table, not a graph")
    with naming_table(name):
        yield


@contextmanager
def naming_table(name: str) -> Iterator[None]:
    """Name the argument in errors while a table is read, unless they name another argument."""
    try:
        yield
    except Exception as error:
        if isinstance(error, InvalidParameterError) and error.name != "table":
            raise
        reason = str(error) or type(error).__name__
        expected = f"a table with objects in rows: {reason}"
        raise InvalidParameterError(name, expected) from error


def as_labels(labels: Any, name: str) -> np.ndarray:
    """Return labels of any type as an array of shape (n,); missing values raise an error."""
    with validating_labels(labels, name):
        values = np.asarray(labels)
        different = set(values.ravel().tolist())  # Labels must be hashable.
    if values.ndim != 1:
        expected = f"one label for each object, shape (n,), got shape {values.shape}"
        raise InvalidParameterError(name, expected)
    if any(map(is_missing, different)) or different & {np.inf, -np.inf}:
        raise InvalidParameterError(
            name, must="contain labels without missing values, NaN or infinity"
        )
    return values


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or the missing value of pandas."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def are_labels_equal(label: Any, other: Any) -> bool:
    """Return whether two labels are equal.

    True and 1 are different, and so are labels that cannot be compared.
    """
    if isinstance(label, bool | np.bool_) != isinstance(other, bool | np.bool_):
        return False
    try:
        return label is other or bool(label == other)
    # Methods of objects from other libraries may raise any exception.
    except Exception:
        return False


def to_plain_columns(X: Any) -> Any:
    """Convert the columns of a pandas table to NumPy types, and return anything else unchanged.

    Sparse columns become dense, byte orders become native, and ``pandas.NA`` becomes NaN.
    """
    if not hasattr(X, "iloc") or hasattr(X, "compute") or X.ndim != 2:
        return X
    changed = {}
    with_na = {}
    n_sparse = 0
    for k, kind in enumerate(X.dtypes):
        if type(kind).__name__ == "SparseDtype":
            changed[k] = kind.subtype
            n_sparse += 1
        elif str(kind) == "object":
            with_na[k] = _without_na(X.iloc[:, k].to_numpy())
        elif isinstance(kind, np.dtype) and not kind.isnative:
            changed[k] = kind.newbyteorder("=")
    if not (changed or with_na):
        return X
    check_memory(
        8 * len(X) * n_sparse,
        "X with dense columns",
        "reduce the number of columns, e.g. by TruncatedSVD",
    )
    plain = X.set_axis(range(X.shape[1]), axis=1).astype(changed)
    for k, cells in with_na.items():
        plain[k] = cells
    return plain.set_axis(X.columns, axis=1)


def _without_na(cells: np.ndarray) -> np.ndarray:
    """Replace ``pandas.NA`` by NaN in an array of objects."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not any(cell is pandas.NA for cell in cells.flat):
        return cells
    return np.where(pandas.isna(cells), np.nan, cells)


# ---- names of rows and columns -------------------------------------------------------------------


def row_index(X: Any) -> Any:
    """Return the index of a pandas table, or None for a default index and for other types."""
    if not hasattr(X, "iloc") or _is_plain(X.index):
        return None
    return X.index


def _is_plain(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def column_names(X: Any) -> list[Any] | None:
    """Return the column names of a pandas, polars or Arrow table, or None for default names."""
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns) or _is_plain(columns):
        return None
    if module_of(X) == "pyarrow":
        columns = X.column_names
    return list(columns)


def default_feature_names(count: int) -> list[str]:
    """Return default names for the columns of an array, "attribute 1", "attribute 2", ..."""
    return [f"attribute {j}" for j in range(1, count + 1)]


def table_names(values: Any) -> dict[str, Any]:
    index = None
    if getattr(values, "ndim", 0) == 2:
        index = row_index(values)
    return {"index": index, "frame": column_names(values)}


def match_names(names: Any, wanted: Any) -> np.ndarray | None:
    """Return the positions of ``wanted`` in ``names``, or None if both are in the same order."""
    if names is None or wanted is None:
        return None
    ours = list(names)
    theirs = list(wanted)
    if ours == theirs:
        return None
    if len(ours) == len(theirs) and all(map(_is_same_name, ours, theirs)):
        return None
    where = {name: k for k, name in enumerate(ours)}
    missing = [name for name in theirs if name not in where]
    if missing or len(theirs) != len(ours):
        odd = missing or [name for name in ours if name not in set(theirs)] or ours
        message = (
            f"the names of the objects differ: {odd[0]!r} occurs in only one table; use the same "
            "objects, or remove the names (index=None) if the rows correspond by position"
        )
        raise InvalidParameterError("index", message=message)
    if len(where) < len(ours) or len(set(theirs)) < len(theirs):
        message = (
            "the objects are in different orders, and their names are not unique; "
            "make the names unique, or use the same order"
        )
        raise InvalidParameterError("index", message=message)
    return np.array([where[name] for name in theirs], np.intp)


def _is_same_name(name: Any, other: Any) -> bool:
    return (is_missing(name) and is_missing(other)) or bool(name == other)


def reorder_like(values: Any, index: Any) -> Any:
    """Reorder a pandas Series of weights or labels to match the row names ``index``.

    If both contain different names, rows correspond by position (like in scikit-learn), and the
    order does not change.
    """
    given = row_index(values)
    if given is None or index is None or len(given) != len(index):
        return values
    return reorder_by_names(values, index)


def reorder_by_names(values: Any, names: Any) -> Any:
    """Reorder the rows of a pandas Series or table by ``names``; other rows follow."""
    index = row_index(values)
    if index is None or names is None:
        return values
    places = {name: k for k, name in enumerate(index)}
    wanted = dict.fromkeys(names)
    are_unique = len(places) == len(index) and len(wanted) == len(names)
    if not are_unique or not wanted.keys() <= places.keys():
        return values
    order = [places.pop(name) for name in wanted]
    return values.iloc[[*order, *places.values()]]
