"""Blocks of a Dask array or DataFrame.

Every pass over the data is a Dask graph with one pure task per block, whose results are added in a
tree. A task that is lost because its worker failed is computed again and gives the same result.
Data shared by all blocks are a single node of the graph, so that they are sent to each worker only
once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import add, getitem
from typing import Any, Self

import dask
import numpy as np
import pandas as pd

from dempster._errors import InvalidParameterError
from dempster._validation import check_weights
from dempster.data.blocks import BlockFunction, Blocks, TileFunction, is_dask
from dempster.data.in_process import Columns
from dempster.optimize.blocks import Apply, block_map

_SUM_ARITY = 8  # number of results that one task adds


class DaskBlocks(Blocks):
    """Partitions of a Dask collection as delayed arrays, and their lengths (None if unknown)."""

    def __init__(
        self,
        parts: Sequence[Any],
        lengths: Sequence[int] | None,
        width: int | None,
        dtype: np.dtype | type,
        names: tuple[str, ...] | None = None,
    ):
        self.parts = list(parts)
        self.width = width
        self.dtype = np.dtype(dtype)
        self.names = names
        self.lengths = None if lengths is None else list(map(int, lengths))

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        if self.lengths is None:
            return None
        return sum(self.lengths)

    def blocks(self) -> Iterator[np.ndarray]:
        return (_compute([part])[0] for part in self.parts)

    def reduce(self, function: BlockFunction, shared: Any, apply: Apply) -> Any:
        sums = self._tasks(_call_unless_empty, function, shared)
        while len(sums) > 1:
            groups = [sums[k : k + _SUM_ARITY] for k in range(0, len(sums), _SUM_ARITY)]
            sums = [dask.delayed(_add_parts)(group) for group in groups]
        return _compute(sums)[0]

    def map(
        self,
        function: BlockFunction,
        shared: Any,
        width: int | None,
        dtype: np.dtype | type,
    ) -> Self:
        tasks = self._tasks(_call, function, shared)
        return type(self)(tasks, self.lengths, width, dtype)

    def _tasks(self, call: Any, function: BlockFunction, shared: Any) -> list[Any]:
        once = dask.delayed((function, shared), traverse=False)
        return [dask.delayed(call)(part, once) for part in self.parts]

    def with_column(self, column: Any) -> Self:
        assert self.width is not None
        weights = self._delayed_weights(column)
        append = dask.delayed(_append_weights)
        parts = list(map(append, self.parts, weights, range(len(self.parts))))
        return type(self)(parts, self.lengths, self.width + 1, np.float64)

    def _delayed_weights(self, column: Any) -> list[Any]:
        """Return a delayed array of the weights for each partition."""
        if not is_dask(column):
            ends = self._ends()
            weights = np.asarray(column, float)
            self._check_number(weights.shape)
            return [
                dask.delayed(weights[a:b], traverse=False) for a, b in pairwise(ends)
            ]
        has_known_length = (
            hasattr(column, "rechunk") and not np.isnan(column.shape).any()
        )
        if has_known_length and self.lengths is not None:
            self._check_number(column.shape)
            column = column.rechunk((tuple(self.lengths),))
        parts = list(np.ravel(column.to_delayed()))
        if len(parts) != len(self.parts):
            raise InvalidParameterError(
                "sample_weight",
                must=f"have {len(self.parts)} blocks like X, got {len(parts)}",
            )
        return parts

    def _check_number(self, shape: tuple[int, ...]) -> None:
        if shape != (self.n_rows,):
            raise InvalidParameterError(
                "sample_weight", must=f"have {self.n_rows:,} values, got shape {shape}"
            )

    def positions(self) -> Self:
        return type(self)(self._numbered_tasks(_positions, None), None, None, np.int64)

    def map_numbered(self, function: TileFunction, shared: Any) -> list[Any]:
        return _compute(self._numbered_tasks(function, shared))

    def _numbered_tasks(self, function: TileFunction, shared: Any) -> list[Any]:
        """Return one task per block, which calls the function as described in `map_numbered`."""
        task = dask.delayed(function)
        length = dask.delayed(_end)
        once = dask.delayed(shared, traverse=False)
        start: Any = 0
        tasks = []
        for number, part in enumerate(self.parts):
            tasks.append(task(part, start, number, once))
            if self.lengths is None:
                start = length(part, start)
            else:
                start = start + self.lengths[number]
        return tasks

    def take(self, rows: np.ndarray) -> np.ndarray:
        ends = self._ends()
        groups = np.split(rows, np.searchsorted(rows, ends[1:-1]))
        parts = [
            dask.delayed(getitem)(part, group - start)
            for part, group, start in zip(self.parts, groups, ends, strict=False)
            if len(group)
        ]
        return np.concatenate(_compute(parts))

    def count_rows(self) -> int:
        return int(self._ends()[-1])

    def _ends(self) -> np.ndarray:
        """Return 0 and the position at which each partition ends."""
        if self.lengths is None:
            self.lengths = _compute([dask.delayed(len)(part) for part in self.parts])
        return np.cumsum([0, *self.lengths])

    def to_lazy(self) -> Any:
        import dask.array as da

        lengths: Sequence[float] = self.lengths or [np.nan] * len(self.parts)
        arrays = [
            da.from_delayed(part, (length, *self.row_shape), dtype=self.dtype)
            for part, length in zip(self.parts, lengths, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _compute(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of tasks; raise a MemoryError with advice if workers were killed."""
    try:
        return list(dask.compute(*tasks))
    except Exception as error:
        # a class of the package distributed, which may not be installed
        if type(error).__name__ != "KilledWorker":
            raise
        raise MemoryError(
            "Dask workers were killed repeatedly at the same block of X, probably because it does "
            "not fit in their memory; use smaller blocks (X.rechunk, X.repartition) or workers "
            "with more memory"
        ) from error


def open_dask_blocks(X: Any, *, missing: bool) -> DaskBlocks:
    """Open a Dask array or DataFrame."""
    sample: Any
    lengths = None
    if hasattr(X, "chunks"):
        if X.ndim != 2 or np.isnan(X.shape[1]):
            must = f"have two dimensions and a known number of columns, got shape {X.shape}"
            raise InvalidParameterError("X", must=must)
        X = X.rechunk({1: -1})
        sample = np.empty((0, X.shape[1]), X.dtype)
        if not np.isnan(X.shape[0]):
            lengths = X.chunks[0]
    elif hasattr(X, "npartitions") and getattr(X, "ndim", 0) == 2:
        sample = pd.DataFrame(columns=X.columns).astype(X.dtypes.to_dict())
    else:
        raise InvalidParameterError(
            "X",
            f"an array or a DataFrame if it is a Dask collection, got {type(X).__name__}",
        )
    columns = Columns.from_block(sample, missing=missing)
    parts = list(np.ravel(X.to_delayed()))
    once = dask.delayed(columns, traverse=False)
    validate = dask.delayed(Columns.validate)
    blocks = [validate(once, part, number) for number, part in enumerate(parts)]
    return DaskBlocks(blocks, lengths, columns.n, columns.dtype, columns.names)


# ---- tasks ---------------------------------------------------------------------------------------


def _append_weights(block: np.ndarray, weights: Any, number: int) -> np.ndarray:
    return np.column_stack(
        [block, check_weights(weights, len(block), where=f" in block {number}")]
    )


def _call(block: np.ndarray, once: tuple[BlockFunction, Any]) -> Any:
    function, shared = once
    with block_map(1) as apply:  # Dask manages its own threads.
        # A block that comes from another worker may not be aligned in memory.
        return function(np.require(block, requirements=["C", "A"]), shared, apply)


def _call_unless_empty(block: np.ndarray, once: tuple[BlockFunction, Any]) -> Any:
    if len(block):
        return _call(block, once)
    return None


def _add_parts(parts: Sequence[Any]) -> Any:
    nonempty = [part for part in parts if part is not None]
    if nonempty:
        return reduce(add, nonempty)
    return None


def _positions(block: np.ndarray, start: int, number: int, shared: None) -> np.ndarray:
    return start + np.flatnonzero(block)


def _end(block: np.ndarray, start: int) -> int:
    return start + len(block)
