"""The numbers that every method can work with: squares, and squares of squares, stay in the range of the type.

Beyond it sums overflow or differences vanish, and what comes out looks like a result. The check is one, for attributes,
dissimilarities and weights; its error says which number it is and by what to multiply.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import Array, library_of, like, precision_of, to_host
from dempster._errors import InvalidInputError
from dempster._reading import check_tensor, reading

__all__ = [
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
    "far_origin",
    "mean_of_rows",
    "within_range",
]

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
    return within_range(mean, values)


def within_range(mean: np.ndarray, values: np.ndarray) -> np.ndarray:
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


def far_origin(low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
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
