"""The objects of a fit on a device: sent there once, or there from the start, where every pass goes over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster._arrays import Array, is_tensor, library_of, to_device_of, to_host
from dempster._errors import InvalidInputError, MissingExtraError
from dempster.data import sampling
from dempster.data.sampling import order_along_line


def order_on_device(rows: Array) -> tuple[Array, Array]:
    """Positions of the objects of a tensor along the line, and which of them repeat the one before, cell by cell.

    What is rare is left to the processor: cells that are missing, and different objects at the same place.
    """
    import torch

    at = torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    for column, factor in enumerate(np.random.RandomState(0).normal(size=rows.shape[1:])):
        at += factor * rows[:, column].double()
    places, order = torch.sort(at, stable=True)
    repeated = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
    ordered = rows[order]
    repeated[1:] = (ordered[1:] == ordered[:-1]).all(dim=1)
    if bool(torch.isnan(at).any()) or bool(((places[1:] == places[:-1]) & ~repeated[1:]).any()):
        X = to_host(rows)
        found = order_along_line(X)
        same = np.zeros(len(X), dtype=bool)
        same[1:] = ((X[found[1:]] == X[found[:-1]]) | (np.isnan(X[found[1:]]) & np.isnan(X[found[:-1]]))).all(axis=1)
        return to_device_of(found, rows), to_device_of(same, rows)
    return order, repeated


_CELLS = 1 << 26  # held in double precision at once


@dataclass(frozen=True)
class RowsOnDevice:
    """Objects, as tensors. What is short comes back to the host: moments, and a sample on which starts compete.

    Attributes
    ----------
    rows : (n, p) tensor
    weights : (n,) tensor of double precision, or None if all count alike
    """

    rows: Array
    weights: Array | None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(len(self.rows) if self.weights is None else self.weights.sum())

    def mean(self) -> np.ndarray:
        """(p,) mean of the objects."""
        parts = [(rows if w is None else rows * w).sum(dim=0) for rows, w in self._blocks()]
        return np.clip(to_host(sum(parts)) / self.total, *self.bounds())

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(p,) smallest and largest values of the attributes."""
        return to_host(self.rows.amin(dim=0).double()), to_host(self.rows.amax(dim=0).double())

    def mean_squared_deviation(self) -> float:
        """Mean squared distance to the mean."""
        mean = to_device_of(self.mean(), self.rows)
        gaps = [((rows - mean) ** 2 if w is None else (rows - mean) ** 2 * w).sum() for rows, w in self._blocks()]
        return float(sum(gaps)) / self.total

    def products(self) -> np.ndarray:
        """(p, p) sum of x x'."""
        return to_host(sum(rows.T @ (rows if w is None else rows * w) for rows, w in self._blocks()))

    def measured_from(self, origin: np.ndarray) -> RowsOnDevice:
        """The same objects measured from a point, in their precision."""
        return replace(self, rows=self.rows - to_device_of(origin, self.rows).to(self.rows.dtype))

    def standardized(self, origin: np.ndarray, unit: float) -> RowsOnDevice:
        """The same objects measured from a point in a unit, in double precision."""
        return replace(self, rows=(self.rows - to_device_of(origin, self.rows)) / unit)

    def representative_sample(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """As `sampling.representative_sample`: some of the objects on the host, with weights."""
        order, size = order_on_device(self.rows)[0], sampling.SAMPLE_SIZE
        weights = None if self.weights is None else self.weights[order]
        if weights is not None:
            order, weights = order[weights > 0], weights[weights > 0]
        if len(order) <= size:
            counts = np.ones(len(order)) if weights is None else to_host(weights)
            return to_host(self.rows[order]), counts
        if weights is None:
            drawn = sampling.evenly_spread(len(order), size, rng).astype(np.int64)  # each object has a unit of the line
            places = to_device_of(drawn.clip(max=len(order) - 1), self.rows)
        else:
            reach = weights.cumsum(dim=0)
            at = to_device_of(sampling.evenly_spread(float(reach[-1]), size, rng), self.rows)
            places = library_of(reach).searchsorted(reach, at, right=True).clamp(max=len(order) - 1)
        return to_host(self.rows[order[places]]), np.ones(size)

    def _blocks(self) -> Iterator[tuple[Array, Array | None]]:
        """Rows in double precision, with their weights as a column."""
        step = max(1024, _CELLS // self.rows.shape[1])
        for start in range(0, len(self.rows), step):
            weights = None if self.weights is None else self.weights[start : start + step, None]
            yield self.rows[start : start + step].double(), weights


def block_on_device(block: np.ndarray, device: str) -> Array:
    """One of the blocks that objects come in, where a pass over them is made."""
    return block if device == "cpu" else sent(block, device)


def rows_on_device(X: Array, weights: np.ndarray, device: str) -> RowsOnDevice | None:
    """The objects where they are, if X is a tensor, or else sent to the device; None if that is the processor.
    ``weights`` is empty if all count alike."""
    if not is_tensor(X):
        if device == "cpu":
            return None
        torch_on(device)
        X = sent(X, device)
    return RowsOnDevice(X, None if len(weights) == 0 else to_device_of(weights, X))


_PIECE = 1 << 26  # bytes that come back from a GPU at a time


def sent(values: Array, device: Any) -> Any:
    """An array as a tensor on a device; where that is the memory of the host, perhaps the same memory. A tensor that is
    there is left as it is."""
    import torch

    if is_tensor(values):
        return values.to(device)
    contiguous = np.ascontiguousarray(values)
    return torch.as_tensor(contiguous if contiguous.flags.writeable else contiguous.copy(), device=device)


def bring(block: Any, out: Array) -> None:
    """Write a tensor into an array, straight from its device, or into another tensor."""
    import torch

    target = out if is_tensor(out) else torch.from_numpy(out)
    if block.is_cuda and not target.is_cuda:
        _bring_from_gpu(block, target)
    else:
        target.copy_(block)


def _bring_from_gpu(block: Any, target: Any) -> None:
    """By two page-locked pieces of memory in turn: while the GPU fills one, all cores empty the other. Straight into
    the array, one core would do all of it, and touch every page of new memory for the first time on its own."""
    import torch

    size = max(1, _PIECE // max(1, block[:1].nelement() * target.element_size()))
    starts = range(0, len(block), size)
    pieces = [torch.empty_like(target[:size], pin_memory=True) for _ in range(min(2, len(starts)))]
    filled = [torch.cuda.Event() for _ in pieces]

    def fill(number: int) -> None:
        rows = block[number * size : (number + 1) * size]
        pieces[number % 2][: len(rows)].copy_(rows, non_blocking=True)
        filled[number % 2].record(torch.cuda.current_stream(block.device))

    fill(0)
    for number, start in enumerate(starts):
        if number + 1 < len(starts):
            fill(number + 1)
        filled[number % 2].synchronize()
        rows = target[start : start + size]
        rows.copy_(pieces[number % 2][: len(rows)])


def room_for(rows: Array, width: int) -> Array:
    """Where a row of results for each of the rows is written: an array for an array, a tensor beside a tensor."""
    if is_tensor(rows):
        return rows.new_empty((len(rows), width))
    return np.empty((len(rows), width), dtype=rows.dtype)


def torch_on(device: Any, what: str | None = None) -> Any:
    """The torch package, if it is installed and knows the device; ``what`` is needing it, if not the device."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(what or f"device={device!r}", "torch", "nn") from error
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InvalidInputError(f"device={device!r} is not available: {str(error).splitlines()[0]}") from error
    return torch
