"""Operations that work on NumPy arrays and torch tensors alike.

Results follow the input, as in scikit-learn's array API support: the result of a computation on a tensor is a tensor on
the same device. Constant tables (membership of clusters in focal sets, losses) are NumPy arrays and are moved to the
device of the data by `cast_like`. This module does not import torch: if the input is a tensor, torch is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any, TypeAlias

import numpy as np

_ROWS_PER_BLOCK = 512

Array: TypeAlias = Any
"""A NumPy array or a torch tensor."""


def is_tensor(values: Any) -> bool:
    """Return whether the values are a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def module_of(values: Any) -> str:
    """Return the name of the top-level package that defines the type of a value."""
    return str(type(values).__module__ or "").split(".")[0]


def is_followed(X: Any) -> bool:
    """Return whether an estimator computes on the device of X.

    This holds for tensors on a GPU, and for tensors in memory if scikit-learn's ``array_api_dispatch`` is enabled.
    Otherwise scikit-learn converts a tensor in memory to a NumPy array.
    """
    if not is_tensor(X):
        return False
    if X.device.type != "cpu":
        return True
    from sklearn import get_config

    return bool(get_config()["array_api_dispatch"])


def library_of(values: Array) -> Any:
    """Return torch for a tensor and NumPy for anything else."""
    return sys.modules["torch"] if is_tensor(values) else np


def precision_of(values: Array) -> np.dtype:
    """Return the NumPy dtype of an array or a tensor."""
    return np.dtype(str(values.dtype).removeprefix("torch.")) if is_tensor(values) else values.dtype


def as_array(values: Any) -> Array:
    """Return a tensor unchanged and anything else as a NumPy array."""
    return values if is_tensor(values) else np.asarray(values)


def to_array_with_shape(values: Any) -> Any:
    """Convert objects that have an array interface but no shape, such as Pillow images, to NumPy arrays."""
    plain = hasattr(values, "__array_interface__") and not hasattr(values, "shape")
    return np.asarray(values) if plain else values


def to_host(values: Array) -> np.ndarray:
    """Return a tensor as a NumPy array in main memory."""
    if not is_tensor(values):
        return values
    held = values.detach().cpu().resolve_conj().resolve_neg()
    try:
        return held.numpy()
    except TypeError:  # NumPy does not have this dtype, e.g. bfloat16.
        return held.float().numpy()


def to_device_of(values: Array, other: Array) -> Array:
    """Move values to the device of another array; their precision does not change."""
    if not is_tensor(other):
        return values
    if is_tensor(values):
        return values.to(other.device)
    writable = values if values.flags.writeable else values.copy()  # Torch warns about read-only memory.
    return library_of(other).as_tensor(np.ascontiguousarray(writable), device=other.device)


def cast_like(values: np.ndarray, other: Array) -> Array:
    """Cast values to the precision of another array and move them to its device."""
    return to_device_of(values.astype(precision_of(other)), other)


def zeros(shape: tuple[int, ...], other: Array) -> Array:
    """Return zeros with the precision and device of another array."""
    if is_tensor(other):
        return other.new_zeros(shape)
    return np.zeros(shape, dtype=other.dtype)


def copy_array(values: Array) -> Array:
    """Return a writable copy."""
    return values.clone() if is_tensor(values) else values.copy(order="K")


def freeze(array: Array) -> Array:
    """Mark the array read-only (no effect on tensors)."""
    if isinstance(array, np.ndarray):
        array.flags.writeable = False
    return array


def divide(values: Array, by: Array, otherwise: float) -> Array:
    """Divide where the divisor is positive, and return ``otherwise`` elsewhere."""
    if is_tensor(values):
        torch, positive = library_of(values), by > 0
        return torch.where(positive, values / torch.where(positive, by, 1), otherwise)
    return np.divide(values, by, out=np.full_like(values, otherwise), where=by > 0)


def multiply(values: Array, table: np.ndarray) -> Array:
    """Multiply by a matrix in the higher precision of the two."""
    if not is_tensor(values):
        return values @ table
    there = to_device_of(table, values)
    wider = library_of(values).promote_types(values.dtype, there.dtype)
    return values.to(wider) @ there.to(wider)


def multiply_rows(rows: Array, table: np.ndarray) -> Array:
    """Multiply rows by a matrix in the precision of the rows.

    Blocks of rows are several times faster than one product: small products stay in the cache and use one thread.
    """
    if is_tensor(rows):
        return rows @ cast_like(table, rows)
    there = table.astype(rows.dtype)
    out = np.empty((len(rows), there.shape[1]), dtype=rows.dtype)
    for start in range(0, len(rows), _ROWS_PER_BLOCK):
        block = slice(start, start + _ROWS_PER_BLOCK)
        np.matmul(rows[block], there, out=out[block])
    return out


def look_up(table: np.ndarray, where: Array) -> Array:
    """Return the entries (or rows) of a table at the given positions, on the device of the positions."""
    return to_device_of(table, where)[where] if is_tensor(where) else table[where]


def positions_where(marks: Array) -> Array:
    """Return the positions of true values in a one-dimensional array."""
    return library_of(marks).nonzero(marks).flatten() if is_tensor(marks) else np.flatnonzero(marks)
