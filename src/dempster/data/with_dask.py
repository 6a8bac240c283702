"""Blocks of a Dask array or DataFrame: every pass is a graph of pure tasks, one a block, added up in a tree.

A task that is lost with its worker is computed again and gives the same. What all blocks share is one node of the
graph, so that it goes to every worker once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Self

import numpy as np

from dempster._errors import InvalidInputError
from dempster.data.blocks import BlockFunction, Blocks, is_dask
from dempster.data.in_process import Columns, checked_weights
from dempster.optimize.blocks import Apply

_ADDED_PER_BLOCK = 8


class DaskBlocks(Blocks):
    """Parts of a Dask collection; nothing is computed before it is asked for.

    Parameters
    ----------
    parts : sequence of Delayed
        Each gives an array.
    lengths : sequence of int, or None
        Rows of the parts, if they are known.
    """

    def __init__(
        self,
        parts: Sequence[Any],
        lengths: Sequence[int] | None,
        width: int | None,
        dtype: np.dtype | type,
        names: tuple[str, ...] | None = None,
    ):
        self.parts, self.width, self.dtype, self.names = list(parts), width, np.dtype(dtype), names
        self.lengths = None if lengths is None else [int(length) for length in lengths]

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        return None if self.lengths is None else sum(self.lengths)

    def blocks(self) -> Iterator[np.ndarray]:
        return (_computed([part])[0] for part in self.parts)

    def reduce(self, function: BlockFunction, shared: Any, apply: Apply) -> Any:
        import dask

        task, once = dask.delayed(_unless_empty, pure=False), dask.delayed((function, shared), traverse=False)
        sums = [task(part, once) for part in self.parts]
        while len(sums) > 1:
            groups = [sums[k : k + _ADDED_PER_BLOCK] for k in range(0, len(sums), _ADDED_PER_BLOCK)]
            sums = [dask.delayed(_added, pure=False)(group) for group in groups]
        return _computed(sums)[0]

    def map(self, function: BlockFunction, shared: Any, width: int | None, dtype: np.dtype | type) -> Self:
        import dask

        task, once = dask.delayed(_called, pure=False), dask.delayed((function, shared), traverse=False)
        return type(self)([task(part, once) for part in self.parts], self.lengths, width, dtype)

    def with_column(self, column: Any) -> Self:
        import dask

        weights = self._delayed_weights(column)
        joined = dask.delayed(_joined, pure=False)
        parts = [joined(*both, number) for number, both in enumerate(zip(self.parts, weights, strict=True))]
        return type(self)(parts, self.lengths, None if self.width is None else self.width + 1, np.float64)

    def _delayed_weights(self, column: Any) -> list[Any]:
        """Weights of the rows of each part."""
        import dask

        if not is_dask(column):
            self.counted()
            weights = np.asarray(column, dtype=float)
            self._check_number(weights.shape)
            ends = np.cumsum([0, *(self.lengths or [])])
            return [dask.delayed(weights[a:b], traverse=False) for a, b in pairwise(ends)]
        if hasattr(column, "rechunk") and self.lengths is not None and not np.isnan(column.shape).any():
            self._check_number(column.shape)
            column = column.rechunk((tuple(self.lengths),))
        found = list(np.ravel(column.to_delayed()))
        if len(found) != len(self.parts):
            raise InvalidInputError(
                f"sample_weight must come in the blocks of X, which are {len(self.parts)}, got {len(found)} blocks"
            )
        return found

    def _check_number(self, shape: tuple[int, ...]) -> None:
        if shape != (self.n_rows,):
            raise InvalidInputError(
                f"sample_weight must hold a weight for each of the {self.n_rows:,} objects, got shape {shape}"
            )

    def positions(self) -> Self:
        return type(self)(self._numbered(_positions, None), None, None, np.int64)

    def each(self, function: Callable[[np.ndarray, int, int, Any], Any], shared: Any) -> list[Any]:
        return _computed(self._numbered(function, shared))

    def _numbered(self, function: Callable[[np.ndarray, int, int, Any], Any], shared: Any) -> list[Any]:
        """Tasks that know the number of the first row of their block, which may itself have to be found."""
        import dask

        task, length = dask.delayed(function, pure=False), dask.delayed(_end, pure=False)
        once = dask.delayed(shared, traverse=False)
        start: Any = 0
        found = []
        for number, part in enumerate(self.parts):
            found.append(task(part, start, number, once))
            start = length(part, start) if self.lengths is None else start + self.lengths[number]
        return found

    def take(self, rows: np.ndarray) -> np.ndarray:
        import dask

        self.counted()
        ends = np.cumsum([0, *(self.lengths or [])])
        cuts = np.searchsorted(rows, ends)
        wanted = [
            dask.delayed(_rows, pure=False)(part, rows[a:b] - start)
            for part, a, b, start in zip(self.parts, cuts[:-1], cuts[1:], ends[:-1], strict=True)
            if b > a
        ]
        return np.concatenate(_computed(wanted))

    def counted(self) -> int:
        import dask

        if self.lengths is None:
            self.lengths = _computed([dask.delayed(len)(part) for part in self.parts])
        return sum(self.lengths)

    def lazy(self) -> Any:
        import dask.array as da

        further = () if self.width is None else (self.width,)
        lengths = [np.nan] * len(self.parts) if self.lengths is None else self.lengths
        arrays = [
            da.from_delayed(part, (length, *further), dtype=self.dtype)
            for part, length in zip(self.parts, lengths, strict=True)
        ]
        return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _computed(tasks: Sequence[Any]) -> list[Any]:
    """What tasks give; an error of a cluster in words that say what to do."""
    import dask

    try:
        return list(dask.compute(*tasks))
    except Exception as error:
        if type(error).__name__ != "KilledWorker":  # of distributed, which may not be there
            raise
        raise MemoryError(
            "workers of Dask were lost again and again at the same block of X, most likely because it does not fit in "
            "their memory: cut X into smaller blocks (X.rechunk, X.repartition), or give the workers more memory"
        ) from error


def dask_blocks_of(X: Any, *, missing: bool = False) -> DaskBlocks:
    """The blocks of a Dask array or DataFrame."""
    import dask

    if hasattr(X, "chunks"):
        if X.ndim != 2:
            raise InvalidInputError(f"X must have two dimensions, got shape {X.shape}")
        if np.isnan(X.shape[1]):
            raise InvalidInputError("X must be a Dask array whose number of columns is known")
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        known = not np.isnan(X.shape[0])
        columns = Columns.of(np.empty((0, int(X.shape[1])), X.dtype), missing=missing)
        lengths, parts = X.chunks[0] if known else None, list(X.to_delayed().reshape(-1))
    elif hasattr(X, "npartitions") and getattr(X, "ndim", 0) == 2:
        columns, lengths, parts = Columns.of(_empty_table(X), missing=missing), None, list(X.to_delayed())
    else:
        raise InvalidInputError(f"X must be an array or a DataFrame if it is of Dask, got a {type(X).__name__}")
    if not parts or (lengths is not None and sum(lengths) == 0):
        raise InvalidInputError("X holds no objects: it has no blocks, or only empty ones")
    once, read = dask.delayed(columns, traverse=False), dask.delayed(_numbers, pure=False)
    checked = [read(part, once, number) for number, part in enumerate(parts)]
    return DaskBlocks(checked, lengths, columns.n, columns.dtype, columns.names)


def _empty_table(X: Any) -> Any:
    """A table without rows that has the columns of a Dask DataFrame, which are known before any is read."""
    import pandas as pd

    if not X.columns.is_unique:
        raise InvalidInputError(f"X must have different names for its columns, got {list(X.columns)}")
    return pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in X.dtypes.items()})


# ---- tasks ----------------------------------------------------------------------------------------------------------


def _numbers(block: Any, columns: Columns, number: int) -> np.ndarray:
    return columns.numbers(block, number)


def _joined(block: np.ndarray, weights: Any, number: int) -> np.ndarray:
    return np.column_stack([block, checked_weights(weights, len(block), f"block {number}")])


def _one_by_one(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], /) -> list[Any]:
    """An `Apply` without threads: Dask has its own."""
    return [function(*each) for each in arguments]


def _called(block: np.ndarray, once: tuple[BlockFunction, Any]) -> Any:
    function, shared = once
    # a block that came from another worker may lie askew in memory
    return function(np.require(block, requirements=["C", "A"]), shared, _one_by_one)


def _unless_empty(block: np.ndarray, once: tuple[BlockFunction, Any]) -> Any:
    return _called(block, once) if len(block) else None


def _added(parts: Sequence[Any]) -> Any:
    some = [part for part in parts if part is not None]
    return reduce(add, some) if some else None


def _positions(block: np.ndarray, start: int, number: int, shared: None) -> np.ndarray:
    return start + np.flatnonzero(block)


def _end(block: np.ndarray, start: int) -> int:
    return start + len(block)


def _rows(block: np.ndarray, which: np.ndarray) -> np.ndarray:
    return block[which]
