"""Pairs of objects as arrays: checking, numbering, drawing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._validation import is_integer, listed, reading, shown

__all__ = [
    "checked_pairs",
    "normalised_pairs",
    "pair_codes",
    "n_pairs_of",
    "pairs_at",
    "all_pairs",
    "draw_pairs",
    "checked_count",
    "selected_rows",
]

_READ_AS_THEY_ARE = (list, tuple, str, memoryview)
_LARGEST_OBJECT = np.iinfo(np.int32).max  # object numbers are int32 in the kernels; codes i * n + j then fit in int64


def checked_pairs(pairs: Any, name: str) -> np.ndarray:
    """Pairs in any reasonable form (list of tuples, set, array, two-column table) as a (p, 2) int64 array."""
    if pairs is None:
        return np.empty((0, 2), dtype=np.int64)
    if isinstance(pairs, set | frozenset):
        pairs = sorted(pairs)  # sets have no order of their own, and the result must not depend on chance
    elif isinstance(pairs, Iterable) and not (isinstance(pairs, _READ_AS_THEY_ARE) or hasattr(pairs, "__array__")):
        pairs = listed(pairs, name, "pairs of object numbers")
    if isinstance(pairs, Mapping) or np.ma.is_masked(pairs):
        raise InvalidInputError(f"{name} must hold pairs of object numbers, shape (p, 2), got {shown(pairs)}")
    try:
        array = np.asarray(pairs)
    except Exception as error:  # rows of different lengths, and what is no array
        raise InvalidInputError(
            f"{name} must hold pairs of object numbers, shape (p, 2), got {shown(pairs)}"
        ) from error
    if array.size == 0 and (array.ndim < 2 or array.shape[1] in (0, 2)):
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidInputError(f"{name} must hold pairs of object numbers, shape (p, 2), got shape {array.shape}")
    if array.dtype == object and all(map(is_integer, array.flat)):
        array = np.array([[int(i), int(j)] for i, j in array])  # too large a number stays an object and is refused
    if array.dtype.kind not in "iu":
        raise InvalidInputError(f"{name} must hold integers (object numbers), got {shown(pairs)} of type {array.dtype}")
    for bad, words in ((array < 0, "nonnegative"), (array > _LARGEST_OBJECT, f"at most {_LARGEST_OBJECT}")):
        if bad.any():
            i, j = array[bad.any(axis=1)][0]
            raise InvalidInputError(f"{name} must hold object numbers that are {words}, got the pair ({i}, {j})")
    return array.astype(np.int64)


def normalised_pairs(pairs: np.ndarray) -> np.ndarray:
    """Each pair once, smaller number first, in the order of first appearance; read-only."""
    pairs = np.sort(pairs, axis=1)
    first = np.unique(pair_codes(pairs), return_index=True)[1]
    pairs = np.ascontiguousarray(pairs[np.sort(first)])
    pairs.flags.writeable = False
    return pairs


def pair_codes(pairs: np.ndarray, n: int = _LARGEST_OBJECT + 1) -> np.ndarray:
    """One number for each unordered pair of numbers below n."""
    return pairs.min(axis=1) * n + pairs.max(axis=1) if len(pairs) else np.empty(0, dtype=np.int64)


def n_pairs_of(n: int) -> int:
    return n * (n - 1) // 2


def pairs_at(positions: np.ndarray, n: int) -> np.ndarray:
    """(p, 2) pairs at the given positions of the list (0, 1), (0, 2), ..., (0, n - 1), (1, 2), ..."""
    positions = np.asarray(positions, dtype=np.int64)

    def start(i: np.ndarray) -> np.ndarray:  # position of (i, i + 1)
        return i * (2 * n - i - 1) // 2

    from_end = n_pairs_of(n) - 1 - positions
    first = n - 2 - ((np.sqrt(8.0 * from_end + 1) - 1) // 2).astype(np.int64)
    # the square root of a number above 2^53 may be off by one
    first = np.clip(first, 0, max(n - 2, 0))
    first -= start(first) > positions
    first += start(first + 1) <= positions
    return np.column_stack([first, positions - start(first) + first + 1])


def all_pairs(objects: np.ndarray) -> np.ndarray:
    """All pairs among the given objects."""
    return np.column_stack([objects[side] for side in np.triu_indices(len(objects), 1)])


def draw_pairs(objects: np.ndarray, n_pairs: int, random_state: Any) -> np.ndarray:
    """Different pairs of the given objects, drawn uniformly; memory in proportion to their number only."""
    positions = generator(random_state).choice(n_pairs_of(len(objects)), size=n_pairs, replace=False)
    return objects[pairs_at(positions, len(objects))]


def checked_count(value: Any, name: str) -> int:
    if not is_integer(value):
        raise InvalidInputError(f"{name} must be an integer, got {shown(value)}")
    if not 0 <= value <= _LARGEST_OBJECT:
        raise InvalidInputError(f"{name} must be at least 0 and at most {_LARGEST_OBJECT}, got {value}")
    return int(value)


def selected_rows(rows: Any, n: int) -> np.ndarray:
    """(r,) positions, of n, that a slice, a Boolean mask or an array of positions stands for."""
    if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis:  # how scikit-learn takes rows of arrays
        rows = rows[0]
    if isinstance(rows, slice):
        return np.arange(n)[rows]
    with reading(rows, "rows"):
        chosen = np.asarray(rows)
    if chosen.ndim != 1 or chosen.dtype.kind not in ("biu" if chosen.size else "biuf"):
        raise InvalidInputError(f"rows must be a slice, a Boolean mask or an array of positions, got {shown(rows)}")
    if chosen.dtype == bool:
        if len(chosen) != n:
            raise IndexError(f"rows must be a mask of {n} values, one for each object, got {len(chosen)}")
        return np.flatnonzero(chosen)
    chosen = chosen.astype(np.int64)
    if chosen.size and not (-n <= chosen.min() <= chosen.max() < n):
        raise IndexError(f"rows must be positions below {n}, the number of objects, got {shown(rows)}")
    return chosen % n if n else chosen
