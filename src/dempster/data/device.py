"""Transfer of tensors between main memory and a device, and sorting of the rows of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import Array, copy_from_gpu, is_tensor, to_device_of, to_host
from dempster._errors import InvalidParameterError, MissingExtraError
from dempster.data.sampling import order_along_line


def order_on_device(rows: Array) -> tuple[Array, Array]:
    """Return the order of the rows of a tensor along a line, and a mask of repeated rows.

    The mask marks the sorted rows that equal the previous row. In the rare cases of missing values
    and of different rows with the same projection, the rows are sorted on the CPU.
    """
    import torch

    projection = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    for column, factor in enumerate(
        np.random.RandomState(0).normal(size=rows.shape[1:])
    ):
        projection += factor * rows[:, column].double()
    places, order = torch.sort(projection, stable=True)
    repeated = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
    ordered = rows[order]
    repeated[1:] = (ordered[1:] == ordered[:-1]).all(dim=1)
    has_ties = ((places[1:] == places[:-1]) & ~repeated[1:]).any()
    if not has_ties and not torch.isnan(projection).any():
        return order, repeated
    X = to_host(rows)
    on_host = order_along_line(X)
    after = X[on_host[1:]]
    before = X[on_host[:-1]]
    same = np.zeros(len(X), bool)
    same[1:] = ((after == before) | (np.isnan(after) & np.isnan(before))).all(axis=1)
    return to_device_of(on_host, rows), to_device_of(same, rows)


def to_tensor(values: Array, device: Any) -> Any:
    """Return an array or a tensor as a tensor on a device.

    The result may share memory with the input.
    """
    import torch

    if is_tensor(values):
        return values.to(device)
    # Torch warns about read-only arrays.
    return torch.as_tensor(np.require(values, requirements=["C", "W"]), device=device)


def copy_into(block: Any, out: Array) -> None:
    """Copy a tensor into an array or another tensor."""
    import torch

    target = out if is_tensor(out) else torch.from_numpy(out)
    if block.is_cuda and not target.is_cuda:
        copy_from_gpu(block, target)
    else:
        target.copy_(block)


def allocate_rows(rows: Array, width: int) -> Array:
    """Return an uninitialized array or tensor like the rows, with ``width`` columns."""
    if is_tensor(rows):
        return rows.new_empty((len(rows), width))
    return np.empty((len(rows), width), rows.dtype)


def import_torch(device: Any, what: str | None = None) -> Any:
    """Import torch and check the device.

    ``what`` names the feature that requires torch in the error message.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(what or f"device={device!r}", "torch", "nn") from error
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        message = f"device={device!r} is not available: {str(error).splitlines()[0]}"
        raise InvalidParameterError("device", message=message) from error
    return torch
