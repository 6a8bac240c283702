"""Arrays of NumPy and tensors of torch: what the package asks of either, in one place.

Everything follows its input, as scikit-learn has it for the array API: what is computed from a tensor is a tensor on
the same device. Tables that the package knows by itself (memberships of sets, losses) are arrays of NumPy and are sent
to where they are needed by `like`. Torch is never imported here: who gives a tensor has done that.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

_AT_ONCE = 512  # rows

Array: TypeAlias = Any
"""An array of NumPy or a tensor of torch."""


def is_tensor(values: Any) -> bool:
    """Whether these are a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def module_of(values: Any) -> str:
    """The name of the library that a value comes from; "" of types that belong to none."""
    return str(type(values).__module__ or "").split(".")[0]


def is_followed(X: Any) -> bool:
    """Whether an estimator works where X is: X is a tensor on another device than the processor, or one in memory while
    ``array_api_dispatch`` is on; without it scikit-learn reads such a tensor as an array of NumPy."""
    if not is_tensor(X):
        return False
    if X.device.type != "cpu":
        return True
    from sklearn import get_config

    return bool(get_config()["array_api_dispatch"])


def library_of(values: Array) -> Any:
    """The library that an array belongs to."""
    return sys.modules["torch"] if is_tensor(values) else np


def precision_of(values: Array) -> np.dtype:
    """float32 or float64 (or what else it is), as NumPy names it."""
    return np.dtype(str(values.dtype).removeprefix("torch.")) if is_tensor(values) else values.dtype


def as_array(values: Any) -> Array:
    """A tensor as it is, anything else as an array of NumPy."""
    return values if is_tensor(values) else np.asarray(values)


def with_shape(values: Any) -> Any:
    """An array of what NumPy reads though it has no shape of its own, as pictures have none; others as they are."""
    plain = hasattr(values, "__array_interface__") and not hasattr(values, "shape")
    return np.asarray(values) if plain else values


def to_host(values: Array) -> np.ndarray:
    """The same numbers as an array of NumPy, in the memory of the host."""
    if not is_tensor(values):
        return values
    held = values.detach().cpu().resolve_conj().resolve_neg()
    try:
        return held.numpy()
    except TypeError:  # a precision that NumPy does not have
        return held.float().numpy()


def to_device_of(values: Array, other: Array) -> Array:
    """The same numbers, in their own precision, where another array is."""
    if not is_tensor(other):
        return values
    if is_tensor(values):
        return values.to(other.device)
    writable = values if values.flags.writeable else values.copy()  # torch warns of memory that it must not write
    return library_of(other).as_tensor(np.ascontiguousarray(writable), device=other.device)


def like(values: np.ndarray, other: Array) -> Array:
    """The same numbers in the precision of another array, and where it is."""
    return to_device_of(values.astype(precision_of(other)), other)


def zeros(shape: tuple[int, ...], other: Array) -> Array:
    """Zeros in the precision of another array, and where it is."""
    if is_tensor(other):
        return other.new_zeros(shape)
    return np.zeros(shape, dtype=other.dtype)


def copied(values: Array) -> Array:
    """A copy that may be changed."""
    return values.clone() if is_tensor(values) else values.copy(order="K")


def frozen(array: Array) -> Array:
    """The array, which nobody can change any more: what is cached is shared. Tensors know no such thing."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def divided(values: Array, by: Array, otherwise: float) -> Array:
    """The quotients where the divisor is positive, another number elsewhere."""
    if is_tensor(values):
        torch, positive = library_of(values), by > 0
        return torch.where(positive, values / torch.where(positive, by, 1), otherwise)
    return np.divide(values, by, out=np.full_like(values, otherwise), where=by > 0)


def product(values: Array, table: np.ndarray) -> Array:
    """The matrix product with a table, in the higher precision of the two."""
    if not is_tensor(values):
        return values @ table
    there = to_device_of(table, values)
    wider = library_of(values).promote_types(values.dtype, there.dtype)
    return values.to(wider) @ there.to(wider)


def rows_times(rows: Array, table: np.ndarray) -> Array:
    """The matrix product with a table, in the precision of the rows. Many short ones are taken a few at a time, which
    is some times faster: small products stay in the cache and are not shared among threads."""
    if is_tensor(rows):
        return rows @ like(table, rows)
    there = table.astype(rows.dtype)
    out = np.empty((len(rows), there.shape[1]), dtype=rows.dtype)
    for start in range(0, len(rows), _AT_ONCE):
        np.matmul(rows[start : start + _AT_ONCE], there, out=out[start : start + _AT_ONCE])
    return out


def looked_up(table: np.ndarray, where: Array) -> Array:
    """The entries (or rows) of a table at these positions, where the positions are."""
    return to_device_of(table, where)[where] if is_tensor(where) else table[where]


def positions_where(marks: Array) -> Array:
    """Positions of what is true in one dimension."""
    return library_of(marks).nonzero(marks).flatten() if is_tensor(marks) else np.flatnonzero(marks)
