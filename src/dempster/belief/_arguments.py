"""Validation of the arguments of mass functions: masses, names, probabilities, sets of answers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from numbers import Number
from typing import Any

import numpy as np

from dempster._arrays import (
    Array,
    divide,
    is_sparse,
    is_tensor,
    library_of,
    precision_of,
)
from dempster._errors import InvalidParameterError
from dempster._validation import (
    are_labels_equal,
    as_floats,
    as_list,
    as_reals,
    column_names,
    format_value,
    hashable,
    is_integer,
    real_tensor,
)
from dempster.belief.focal_sets import FocalSets

SUM_TOLERANCE = 1e-6


def parse_set(
    clusters: Any, frame: tuple[Hashable, ...], argument: str
) -> tuple[int, ...]:
    """Return the sorted indices, in the frame, of the answers of a set.

    An answer is given by its name or index.
    """
    where = {name: k for k, name in enumerate(frame)}
    # If False, integers are names.
    may_be_index = not any(isinstance(name, Number) for name in frame)
    members = [clusters]
    is_text = isinstance(clusters, str) and clusters not in where
    if isinstance(clusters, tuple | list | set | frozenset | range) or (
        is_text and where.keys() >= set(clusters)
    ):
        members = list(clusters)
    indices = set()
    for member in members:
        if (
            hashable.test(member)
            and member in where
            and are_labels_equal(member, frame[where[member]])
        ):
            indices.add(where[member])
        elif may_be_index and is_integer(member) and 0 <= int(member) < len(frame):
            indices.add(int(member))
        else:
            raise InvalidParameterError(
                argument, must=f"contain answers of the frame {frame}", value=member
            )
    return tuple(sorted(indices))


def membership_rows(
    sets: Any, family: FocalSets, frame: tuple[Hashable, ...], name: str
) -> tuple[np.ndarray, bool]:
    """Return the membership array of ``sets``, shape (s, c), and whether ``sets`` is one set.

    None stands for all sets of the family.
    """
    c = family.n_clusters
    if sets is None:
        sets = family
    if isinstance(sets, FocalSets):
        sets = sets.membership
    if isinstance(sets, np.ndarray) and sets.dtype == bool and sets.ndim == 2:
        if sets.shape[1] != c:
            raise InvalidParameterError(
                name, must=f"have {c} answers, got {sets.shape[1]}"
            )
        return sets, False
    if getattr(sets, "ndim", 0) > 0:
        raise InvalidParameterError(
            name,
            must="be one set (a tuple of answers), a list of sets, "
            f"a Boolean array (s, {c}) or a FocalSets, got {type(sets).__name__}",
        )
    single = not isinstance(sets, list)
    return set_rows([sets] if single else sets, frame, name), single


def set_rows(sets: list[Any], frame: tuple[Hashable, ...], name: str) -> np.ndarray:
    """Return the membership array of a list of sets of answers, shape (s, c)."""
    rows = np.zeros((len(sets), len(frame)), bool)
    for row, members in zip(rows, sets, strict=True):
        row[list(parse_set(members, frame, name))] = True
    return rows


def reorder_columns(
    masses: Any, focal_sets: FocalSets, frame: tuple[Hashable, ...]
) -> Any:
    """Sort the columns of a table into the order of the sets, if they have the names of the sets.

    Otherwise return ``masses`` unchanged, after checking that no column has the name of a set at
    another position.
    """
    columns = column_names(masses)
    if columns is None or len(columns) != len(focal_sets):
        return masses
    names = focal_sets.names(frame)
    if set(columns) == set(names):
        return masses[names]
    for column, name in zip(columns, names, strict=True):
        if column != name and column in names:
            raise InvalidParameterError(
                "masses",
                message=f"masses has the column {format_value(column)} at the position of the set "
                f"{name}; name all columns after the sets, or use an array",
            )
    return masses


def rounding_tolerance(masses: Array) -> float:
    """Return the largest absolute value of a mass that is regarded as a rounding error."""
    if precision_of(masses) == np.float32:
        return 1e-6
    return 1e-10


def validate_masses(masses: Any, f: int) -> Array:
    """Validate masses.

    Return them without negative values and with rows that sum to one, shape (n, f).
    """
    values: Array = _read_masses(masses)
    if values.ndim == 1:
        values = values[None, :] if len(values) else values.reshape(0, f)
    if values.ndim != 2 or values.shape[1] != f:
        raise InvalidParameterError(
            "masses",
            must=f"have shape (n, {f}), one column per focal set, got {values.shape}",
        )
    total = values.sum(axis=1)
    library = library_of(values)
    if not library.isfinite(total).all():
        raise InvalidParameterError(
            "masses", must="be finite, got NaN or infinite values"
        )
    if values.shape[0] and values.min() < -rounding_tolerance(values):
        raise InvalidParameterError(
            "masses", must=f"not be negative, got {values.min():.3g}"
        )
    error = abs(total - 1)
    tolerance = SUM_TOLERANCE
    if values.dtype == library.float32:
        tolerance = 1e-5
    if (error > tolerance).any():
        row = int(error.argmax())
        raise InvalidParameterError(
            "masses",
            must=f"sum to one in every row; row {row} sums to {total[row]:.6g}",
        )
    if is_sparse(values):
        values = values.maximum(0)
        values.eliminate_zeros()
        return divide(values, values.sum(axis=1)[:, None], 0)
    values = library.clip(values, 0, None)
    return values / values.sum(axis=1, keepdims=True)


def _read_masses(masses: Any) -> Array:
    if hasattr(masses, "tocsr"):
        from scipy.sparse import csr_array  # slow to import

        dtype = np.float32 if masses.dtype == np.float32 else np.float64
        values = csr_array(masses, dtype=dtype)
        values.sum_duplicates()
        return values
    read = real_tensor if is_tensor(masses) else as_reals
    return read(masses, "masses")


def validate_index(index: Any, n: int) -> Any:
    """Return the row names ``index``, or raise an error if it does not contain n hashable names."""
    is_valid = hasattr(index, "__len__") and not isinstance(index, str | Set | Mapping)
    is_valid = is_valid and getattr(index, "ndim", 1) == 1 and len(index) == n
    if isinstance(index, list | tuple | np.ndarray):
        is_valid = is_valid and hashable.test(tuple(index))
    if not is_valid:
        raise InvalidParameterError(
            "index", must=f"contain {n} hashable names, one per row", value=index
        )
    return index


def validate_frame(
    frame: Any, c: int | None = None, argument: str = "frame"
) -> tuple[Any, ...]:
    """Return the names of the c (or any number of) answers; the letters of a string are names."""
    names = tuple(
        frame
        if isinstance(frame, str)
        else as_list(frame, argument, "names of answers")
    )
    if not all(map(hashable.test, names)):
        raise InvalidParameterError(
            argument, must="contain hashable names (text, numbers, tuples)", value=names
        )
    if len(set(names)) != len(names) or c not in (None, len(names)):
        raise InvalidParameterError(
            argument, must=f"contain {c or len(names)} different names", value=names
        )
    return names


def validate_probabilities(
    values: Any, name: str, *, sum_to_one: bool = False
) -> np.ndarray:
    """Return the values as an array of shape (n, c) of numbers in [0, 1]."""
    values = np.atleast_2d(as_floats(values, name))
    is_inside = (values >= -1e-12) & (values <= 1 + 1e-12)
    if values.ndim != 2 or values.size == 0 or not is_inside.all():
        raise InvalidParameterError(
            name,
            must=f"be a nonempty table (n, c) of values in [0, 1], got shape {values.shape}",
        )
    if sum_to_one and np.any(np.abs(values.sum(axis=1) - 1) > SUM_TOLERANCE):
        raise InvalidParameterError(name, must="sum to one in every row")
    return np.clip(values, 0, 1)
