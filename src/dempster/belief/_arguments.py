"""What users give to mass functions, checked: masses, names, tables of probabilities, sets of answers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from numbers import Number
from typing import Any

import numpy as np

from dempster._arrays import Array, is_tensor, library_of, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import (
    as_reals,
    as_truth,
    column_names,
    hashable,
    is_integer,
    listed,
    real_tensor,
    same_label,
    shown,
)
from dempster.belief.focal_sets import FocalSets

SUM_TOLERANCE = 1e-6
_NEGATIVE_TOLERANCE = 1e-10


def positions(clusters: Any, frame: tuple[Hashable, ...], name: str = "sets") -> tuple[int, ...]:
    """Positions in the frame of a set given by names or numbers; ``name`` is that of the argument."""
    where = {name: k for k, name in enumerate(frame)}
    unnumbered = not any(isinstance(name, Number) for name in frame)  # numbers can only mean positions
    members = list(clusters) if isinstance(clusters, tuple | list | set | frozenset | range) else [clusters]
    if len(members) == 1 and isinstance(members[0], str) and members[0] not in where:
        members = list(members[0]) if all(letter in where for letter in members[0]) else members
    found = []
    for member in members:
        named = hashable.test(member) and member in where and same_label(member, frame[where[member]])
        if named:
            found.append(where[member])
        elif unnumbered and _is_position(member, len(frame)):
            found.append(int(member))
        else:
            raise InvalidParameterError(
                name, must=f"hold answers of the frame: {shown(member)} is not in the frame {frame}"
            )
    return tuple(sorted(set(found)))


def _is_position(member: Any, c: int) -> bool:
    return is_integer(member) and 0 <= int(member) < c


def membership_rows(
    sets: Any, family: FocalSets, frame: tuple[Hashable, ...], name: str = "sets"
) -> tuple[np.ndarray, bool]:
    """(s, c) membership of the sets asked for (the family for None), and whether it was a single set."""
    c = family.n_clusters
    if sets is None:
        return family.membership, False
    if isinstance(sets, FocalSets):
        if sets.n_clusters != c:
            raise InvalidParameterError(name, message=f"{name} has {sets.n_clusters} clusters instead of {c}")
        return sets.membership, False
    if isinstance(sets, np.ndarray) and sets.dtype == bool and sets.ndim == 2:
        if sets.shape[1] != c:
            raise InvalidParameterError(name, must=f"have {c} columns, got {sets.shape[1]}")
        return as_truth(sets, name), False
    if isinstance(sets, complex) or getattr(sets, "ndim", 0) > 0:
        raise InvalidParameterError(
            name,
            must=f"be one set (a tuple of answers), a list of sets, a Boolean array (s, {c}) or a FocalSets, got "
            f"{type(sets).__name__}",
        )
    single = not isinstance(sets, list)
    rows = np.zeros((1 if single else len(sets), c), dtype=bool)
    for i, clusters in enumerate([sets] if single else sets):
        rows[i, list(positions(clusters, frame, name))] = True
    return rows, single


def in_order_of_sets(masses: Any, focal_sets: FocalSets, frame: tuple[Hashable, ...]) -> Any:
    """A table whose columns are called as the sets, with the columns in their order; anything else as it is.

    Columns of which only some are called as sets go by their places, which these must then have.
    """
    columns = column_names(masses)
    if columns is None or len(columns) != len(focal_sets):
        return masses
    names = focal_sets.names(frame)
    if columns == names or set(columns) == set(names):
        return masses if columns == names else masses[names]
    for column, name in zip(columns, names, strict=True):
        if column != name and column in names:
            raise InvalidParameterError(
                "masses",
                message=f"masses has a column called {shown(column)} where the set {name} must be: call all columns as "
                "the sets, or give an array",
            )
    return masses


def checked_masses(masses: Any, f: int) -> Array:
    """(n, f) masses without rounding errors, as a new array; a tensor stays one."""
    values: Array = real_tensor(masses, "masses") if is_tensor(masses) else as_reals(masses, "masses")
    if values.ndim == 1:
        values = values.reshape(len(values) // f, f) if len(values) in (0, f) else values[None, :]
    if values.ndim != 2 or values.shape[1] != f:
        raise InvalidParameterError("masses", must=f"have shape (n, {f}), one column per focal set, got {values.shape}")
    total = values.sum(axis=1)
    library = library_of(values)
    if not library.isfinite(total).all():
        raise InvalidParameterError("masses", must="be finite; they hold NaN or infinite values")
    single = values.dtype == library.float32
    if len(values) and values.min() < -(1e-6 if single else _NEGATIVE_TOLERANCE):
        row = int(np.flatnonzero(to_host((values < 0).any(axis=1)))[0])
        raise InvalidParameterError("masses", must=f"not be negative, got {values[row].min():.3g} in row {row}")
    if (abs(total - 1) > (1e-5 if single else SUM_TOLERANCE)).any():
        row = int(abs(total - 1).argmax())
        raise InvalidParameterError("masses", must=f"sum to one in every row; row {row} sums to {total[row]:.6g}")
    values = values.clamp(min=0) if is_tensor(values) else np.maximum(values, 0)
    return values / values.sum(axis=1, keepdims=True)


def checked_index(index: Any, n: int) -> Any:
    """Check the names of the rows."""
    count = _number_of_names(index)
    if count != n:
        raise InvalidParameterError(
            "index", must=f"hold one name per row ({n}), got {shown(index) if count is None else count}"
        )
    if isinstance(index, list | tuple | np.ndarray):
        try:
            set(index)
        except Exception as error:
            words = f"index must hold {hashable.words} for each row, got {shown(index)}"
            raise InvalidInputError(words) from error
    return index


def _number_of_names(index: Any) -> int | None:
    """How many names these are; None if they are none, or in no order."""
    if isinstance(index, str | bytes | Set | Mapping) or hasattr(index, "tocsr") or getattr(index, "ndim", 1) != 1:
        return None
    try:
        return len(index)
    except Exception:  # of what has no length, or cannot say it
        return None


def checked_positions(rows: Any, n: int) -> np.ndarray:
    """Which of n rows: an array of positions, or a Boolean mask as long."""
    try:
        words = isinstance(rows, str | bytes | Mapping)
        array = np.empty((0, 0)) if words else np.array(rows if isinstance(rows, np.ndarray) else list(rows))
    except Exception:
        array = np.empty((0, 0))
    if array.size == 0 and array.ndim == 1:
        return array.astype(np.intp)
    if array.ndim != 1 or array.dtype.kind not in "biu" or np.ma.is_masked(rows):
        raise IndexError(
            f"rows must be a position, a slice, a Boolean mask or an array of positions, got {shown(rows)}"
        )
    if array.dtype == bool and len(array) != n:
        raise IndexError(f"a Boolean mask must be as long as the {n} mass functions, got {len(array)}")
    if array.dtype != bool and not (-n <= int(array.min()) and int(array.max()) < n):
        raise IndexError(f"rows must be positions of {n} mass functions, got {array.min()} to {array.max()}")
    return array


def checked_frame(frame: Iterable[Hashable] | None, c: int) -> tuple[Hashable, ...]:
    """Names of the answers, 0..c-1 by default."""
    if frame is None:
        return tuple(range(c))
    names = tuple(_answers(frame, c))
    if not all(map(hashable.test, names)):
        raise InvalidParameterError(
            "frame", must="hold names that can be told apart (text, numbers, tuples)", value=names
        )
    if len(names) != c or len(set(names)) != len(names):
        raise InvalidParameterError("frame", must=f"hold {c} different names", value=names)
    return names


def _answers(frame: Any, c: int) -> list[Hashable]:
    return list(frame) if isinstance(frame, str) else listed(frame, "frame", f"{c} different names")


def checked_probabilities(values: Any, name: str) -> np.ndarray:
    """(n, c) values in [0, 1]."""
    values = np.atleast_2d(as_reals(values, name)).astype(float, copy=False)
    if values.ndim != 2 or values.size == 0 or not np.all((values >= -1e-12) & (values <= 1 + 1e-12)):
        raise InvalidParameterError(
            name, must=f"be a nonempty table (n, c) of values in [0, 1], got shape {values.shape}"
        )
    return np.clip(values, 0, 1)
