"""The objects of a fit on a device: sent there once, or there from the start, where every pass goes over them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dempster._arrays import Array, is_tensor, library_of, same_place, to_host
from dempster.cluster import _starts
from dempster.cluster.on_device.order import order_on_device
from dempster.optimize.projection_torch import sent, torch_on

__all__ = ["RowsOnDevice", "block_on_device", "rows_on_device"]

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
        mean = same_place(self.mean(), self.rows)
        gaps = [((rows - mean) ** 2 if w is None else (rows - mean) ** 2 * w).sum() for rows, w in self._blocks()]
        return float(sum(gaps)) / self.total

    def products(self) -> np.ndarray:
        """(p, p) sum of x x'."""
        return to_host(sum(rows.T @ (rows if w is None else rows * w) for rows, w in self._blocks()))

    def measured_from(self, origin: np.ndarray) -> RowsOnDevice:
        """The same objects measured from a point, in their precision."""
        return replace(self, rows=self.rows - same_place(origin, self.rows).to(self.rows.dtype))

    def standardized(self, origin: np.ndarray, unit: float) -> RowsOnDevice:
        """The same objects measured from a point in a unit, in double precision."""
        return replace(self, rows=(self.rows - same_place(origin, self.rows)) / unit)

    def representative_sample(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """As `_starts.representative_sample`: some of the objects on the host, with weights."""
        order, size = order_on_device(self.rows)[0], _starts.SAMPLE_SIZE
        weights = None if self.weights is None else self.weights[order]
        if weights is not None:
            order, weights = order[weights > 0], weights[weights > 0]
        if len(order) <= size:
            counts = np.ones(len(order)) if weights is None else to_host(weights)
            return to_host(self.rows[order]), counts
        if weights is None:
            drawn = _starts.evenly_spread(len(order), size, rng).astype(np.int64)  # each object has a unit of the line
            places = same_place(drawn.clip(max=len(order) - 1), self.rows)
        else:
            reach = weights.cumsum(dim=0)
            at = same_place(_starts.evenly_spread(float(reach[-1]), size, rng), self.rows)
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
    return RowsOnDevice(X, None if len(weights) == 0 else same_place(weights, X))
