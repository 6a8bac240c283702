"""Training rows in memory, on a device, or in blocks that are read again at every pass.

Clusterers use only the moments, a random sample, and sums over all rows, which all three classes
provide.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from dempster._arrays import (
    Array,
    column_bounds,
    is_tensor,
    library_of,
    row_slices,
    to_device_of,
    to_host,
)
from dempster._errors import InvalidParameterError
from dempster._text import printable
from dempster._types import ArrayPair, Seed
from dempster._validation import check_scale
from dempster.data import sampling
from dempster.data.blocks import (
    Blocks,
    Moments,
    compute_moments,
    sample_rows,
    weighted_sample,
)
from dempster.data.device import import_torch, order_on_device, to_tensor
from dempster.data.passes import PassRunner
from dempster.data.sampling import SAMPLE_SIZE
from dempster.optimize.blocks import Apply, sum_blocks

RowFunction = Callable[[Array, Any, Any, Apply], Any]
"""Pure function of rows, their weights, shared data (such as a model), and `Apply`.

The weights are empty or None if all are 1. The results for different rows can be added.
"""

SCATTER_ROWS = 4096  # number of rows whose products are computed at once
# maximum number of values that are converted to double precision on a device at once
MAX_DEVICE_CELLS = 1 << 26


class Rows:
    """Rows in memory and their weights (empty if all weights are 1)."""

    def __init__(self, values: Array, weights: np.ndarray, apply: Apply):
        self.values = values
        self.weights = weights
        self._apply = apply

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        if len(self.weights):
            return float(self.weights.sum())
        return float(len(self.values))

    def mean(self) -> np.ndarray:
        """Return the mean of the observed values of each of the p columns, shape (p,)."""
        return sampling.mean_of_objects(self.values, self.weights)

    def bounds(self) -> ArrayPair:
        """Return the smallest and the largest value of each column, two arrays of shape (p,)."""
        return column_bounds(self.values)

    def scatter(self, origin: np.ndarray) -> np.ndarray:
        """Return the weighted sum of (x - o)(x - o)' over all rows x, shape (p, p).

        The origin o must be the mean of the rows, up to rounding.
        """

        def products(start: int, stop: int) -> np.ndarray:
            gaps = self.values[start:stop] - origin
            if len(self.weights) == 0:
                return gaps.T @ gaps
            return (gaps.T * self.weights[start:stop]) @ gaps

        return sum_blocks(products, len(self.values), SCATTER_ROWS, self._apply)

    def shift(self, origin: np.ndarray, unit: float | None = None) -> Self:
        """Return the rows minus ``origin``, divided by ``unit``."""
        shifted = copy.copy(self)
        shifted.values = _shift(self.values, origin, unit)
        return shifted

    def sample(self, rng: np.random.RandomState) -> ArrayPair:
        """Return at most 20,000 rows, sorted along a line, and their weights.

        If there are more rows, they are drawn in proportion to their weights.
        """
        order = sampling.order_along_line(self.values)
        weights = self.weights
        if len(weights):
            order = order[weights[order] > 0]
            weights = weights[order].astype(float)
        size = sampling.SAMPLE_SIZE
        if len(order) > size:
            order = order[sampling.systematic_draw(weights, size, rng, len(order))]
            weights = np.empty(0)
        return self.values[order], weights if len(weights) else np.ones(len(order))

    def are_all_in(self, sample: np.ndarray) -> bool:
        """Return whether the sample contains all rows with positive weight."""
        if len(self.weights):
            return len(sample) == np.count_nonzero(self.weights)
        return len(sample) == len(self.values)

    def sum(self, function: RowFunction, shared: Any, kind: type) -> Any:
        """Return the sum of ``function`` over all rows; ``kind`` is the type of the result."""
        return function(self.values, self.weights, shared, self._apply)

    def masses(self, model: Any) -> Array:
        """Return the masses of the rows, computed by a model."""
        return model.masses(self.values, self._apply)


class _DeviceRows(Rows):
    """Rows on a device, from which only small results are copied to main memory."""

    def __init__(self, values: Array, weights: np.ndarray, apply: Apply, device: Any):
        self._given = values
        super().__init__(to_tensor(values, device), weights, apply)
        self._there = None
        if len(weights):
            self._there = to_device_of(weights, self.values)

    def mean(self) -> np.ndarray:
        total = sum((rows * w).sum(dim=0) for rows, w in self._pieces())
        return np.clip(to_host(total) / self.total_weight, *self.bounds())

    def bounds(self) -> ArrayPair:
        return to_host(self.values.amin(dim=0).double()), to_host(
            self.values.amax(dim=0).double()
        )

    def scatter(self, origin: np.ndarray) -> np.ndarray:
        there = to_device_of(origin, self.values)
        parts = ((rows - there, w) for rows, w in self._pieces())
        return to_host(sum(gaps.T @ (gaps * w) for gaps, w in parts))

    def sample(self, rng: np.random.RandomState) -> ArrayPair:
        order = order_on_device(self.values)[0]
        if self._there is None:
            weights = self.values.new_ones(
                len(order), dtype=library_of(self.values).float64
            )
        else:
            weights = self._there[order]
            order = order[weights > 0]
            weights = weights[weights > 0]
        size = sampling.SAMPLE_SIZE
        if len(order) <= size:
            return to_host(self.values[order]), to_host(weights)
        reach = weights.cumsum(dim=0)
        at = to_device_of(
            sampling.draw_evenly(float(reach[-1]), size, rng), self.values
        )
        places = (
            library_of(reach)
            .searchsorted(reach, at, right=True)
            .clamp(max=len(order) - 1)
        )
        return to_host(self.values[order[places]]), np.ones(size)

    def sum(self, function: RowFunction, shared: Any, kind: type) -> Any:
        return function(self.values, self._there, shared, self._apply)

    def masses(self, model: Any) -> Array:
        return model.masses_on_device(self._given, self.values.device)

    def _pieces(self) -> Any:
        """Yield blocks of rows in double precision, and their weights as a column or a number."""
        step = max(1024, MAX_DEVICE_CELLS // self.values.shape[1])
        for block in row_slices(len(self.values), step):
            weights = 1.0
            if self._there is not None:
                weights = self._there[block, None]
            yield self.values[block].double(), weights


class BlockRows(Rows):
    """Rows that are read in blocks; each sum is a pass over all blocks.

    ``values`` and ``weights`` are a sample in memory.
    """

    def __init__(
        self,
        source: Blocks,
        blocks: Blocks,
        sample_weight: Any,
        random_state: Seed,
        runner: PassRunner,
        *,
        products: bool,
        min_sample: int = 0,
    ):
        """Compute the moments and draw the sample, in one pass each (two for a weighted sample)."""
        self.source = source
        self._runner = runner
        self._is_weighted = sample_weight is not None
        given = source
        if self._is_weighted:
            given = source.with_column(sample_weight)
            blocks = blocks.with_column(sample_weight)
        self._blocks = blocks
        self.moments: Moments = runner.run(
            "moments",
            lambda: compute_moments(
                self._blocks,
                runner.apply,
                products=products,
                weighted=self._is_weighted,
            ),
            Moments,
            is_fingerprint=True,
        )
        n = self.moments.n
        runner.n_rows = n
        self._check_moments()
        size = max(SAMPLE_SIZE, min_sample)
        self.indices, drawn, weights = runner.run(
            f"a sample of {min(size, n):,} of {n:,} rows",
            lambda: _draw(given, n, size, random_state, weighted=self._is_weighted),
            tuple,
        )
        super().__init__(drawn.astype(source.dtype, copy=False), weights, runner.apply)
        self._device = "cpu"
        self._origin: np.ndarray | None = None
        self._unit: float | None = None

    def __len__(self) -> int:
        return self.moments.n

    def _check_moments(self) -> None:
        moments = self.moments
        empty = np.flatnonzero(np.isnan(moments.low))
        if len(empty):
            name = empty[0]
            if self.source.names is not None:
                name = printable(self.source.names[name])
            raise InvalidParameterError(
                "X", message=f"column {name} of X contains only NaN; remove it"
            )
        if moments.weight <= 0:
            raise InvalidParameterError("sample_weight", "nonzero for at least one row")
        check_scale(
            np.stack([moments.low, moments.high]).astype(self.source.dtype),
            "X",
        )

    @property
    def are_in_memory(self) -> bool:
        """Whether the sample contains all rows."""
        return len(self.indices) == len(self)

    @property
    def total_weight(self) -> float:
        return self.moments.weight

    def mean(self) -> np.ndarray:
        return self.moments.mean

    def bounds(self) -> ArrayPair:
        return self.moments.low, self.moments.high

    def scatter(self, origin: np.ndarray) -> np.ndarray:
        return self.moments.scatter

    def with_values(self, values: np.ndarray, device: str, apply: Apply) -> Self:
        """Return a copy with another sample, whose sums are computed on ``device``."""
        rows = copy.copy(self)
        rows.values = values
        rows._device = device
        rows._apply = apply
        return rows

    def shift(self, origin: np.ndarray, unit: float | None = None) -> Self:
        shifted = super().shift(origin, unit)
        shifted._origin = origin
        shifted._unit = unit
        return shifted

    def are_all_in(self, sample: np.ndarray) -> bool:
        return super().are_all_in(sample) and self.are_in_memory

    def take(self, rows: np.ndarray, purpose: str) -> np.ndarray:
        """Read the rows of X with the given row numbers, which must be increasing, in one pass."""
        return self._runner.run(purpose, lambda: self.source.take(rows))

    def sum(self, function: RowFunction, shared: Any, kind: type) -> Any:
        """Return the sum of ``function`` over all rows, computed in one pass."""
        context = (
            function,
            shared,
            self._origin,
            self._unit,
            self._device,
            self.source.dtype,
            self._is_weighted,
        )
        return self._runner.run(
            "sums",
            lambda: self._blocks.reduce(_sum_block, context, self._runner.apply),
            kind,
        )


def open_rows(
    values: Array, weights: np.ndarray, apply: Apply, device: str = "cpu"
) -> Rows:
    """Return `Rows` of an array or a tensor.

    An array is copied to ``device`` unless the device is "cpu".
    """
    if is_tensor(values):
        return _DeviceRows(values, weights, apply, values.device)
    if device == "cpu":
        return Rows(values, weights, apply)
    import_torch(device)  # checks the device
    return _DeviceRows(values, weights, apply, device)


def _draw(
    given: Blocks, n: int, size: int, random_state: Seed, *, weighted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw at most ``size`` rows, and return their numbers, values and weights (empty if 1)."""
    if not weighted:
        rows = sample_rows(n, size, random_state)
        return rows, given.take(rows), np.empty(0)
    if n <= size:
        rows = np.arange(n)
        found = given.take(rows)
        return rows, found[:, :-1], found[:, -1]
    rows, times = weighted_sample(given, size, random_state)
    return rows, given.take(rows)[:, :-1], times


def _shift(values: Array, origin: np.ndarray, unit: float | None) -> Array:
    shifted = values - to_device_of(origin, values)
    if unit is not None:
        shifted /= unit
    return shifted


def _sum_block(block: np.ndarray, context: tuple[Any, ...], apply: Apply) -> Any:
    function, shared, origin, unit, device, dtype, weighted = context
    weights = np.empty(0)
    if weighted:
        weights = np.ascontiguousarray(block[:, -1])
        block = np.ascontiguousarray(block[:, :-1], dtype)
    rows: Array = block
    if device != "cpu":
        rows = to_tensor(block, device)
    if origin is not None:
        rows = _shift(rows, origin, unit)
    return function(rows, to_device_of(weights, rows), shared, apply)
