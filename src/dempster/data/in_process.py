"""Blocks that this process reads one after the other, in tiles whose size does not depend on the blocks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np

from dempster._arrays import made_by
from dempster._errors import InvalidInputError
from dempster.data.blocks import BlockFunction, Blocks
from dempster.data.columns import Columns
from dempster.data.weights import WeightsInOrder, weight_blocks
from dempster.optimize.blocks import Apply, block_map

__all__ = ["Tiles", "tiles_of", "parquet_dataset", "cut", "PairwiseSum"]

_ROWS = 65_536  # of a tile
_CELLS = 1 << 23  # of a tile at most, unless a row has more
_ANEW = "a function must begin anew whenever it is called"


class Tiles(Blocks):
    """Tiles of rows, read again at every pass; what is made of them is made in ``n_jobs`` threads.

    However the rows come, they are cut in the same way, so that sums over them are the same to the last bit.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[np.ndarray]],
        width: int | None,
        dtype: np.dtype | type,
        names: tuple[str, ...] | None = None,
        n_rows: int | None = None,
        n_jobs: int | None = 1,
        *,
        watched: bool = False,
    ):
        self._read, self.width, self.dtype, self.names, self.n_rows = read, width, np.dtype(dtype), names, n_rows
        self.n_jobs = n_jobs
        self._marks: list[int] | None = [] if watched else None  # some rows of the tiles that a pass has seen

    def blocks(self) -> Iterator[np.ndarray]:
        seen = 0
        for number, tile in enumerate(self._read()):
            seen += len(tile)
            self._watch(number, tile)
            yield tile
        if self.n_rows is None:
            self.n_rows = seen
        elif self.n_rows != seen:
            raise InvalidInputError(
                f"X must give the same rows at every pass, but gave {self.n_rows:,} and then {seen:,}: {_ANEW}"
            )

    def _watch(self, number: int, tile: np.ndarray) -> None:
        """Refuse a tile that differs from that of another pass, as far as three of its rows tell."""
        if self._marks is None:
            return
        mark = crc32(tile[[0, len(tile) // 2, -1]].tobytes())
        if number == len(self._marks):
            self._marks.append(mark)
        elif self._marks[number] != mark:
            raise InvalidInputError(
                f"X must give the same rows at every pass, but gave others in the next one: {_ANEW}"
            )

    def reduce(self, function: BlockFunction, shared: Any, apply: Apply) -> Any:
        total = PairwiseSum()
        for tile in self.blocks():
            total.add(function(tile, shared, apply))
        return total.result()

    def map(self, function: BlockFunction, shared: Any, width: int | None, dtype: np.dtype | type) -> Self:
        return type(self)(partial(self._mapped, function, shared), width, dtype, n_rows=self.n_rows, n_jobs=self.n_jobs)

    def _mapped(self, function: BlockFunction, shared: Any) -> Iterator[np.ndarray]:
        with block_map(self.n_jobs) as apply:
            for tile in self.blocks():
                yield function(tile, shared, apply)

    def beside(self, column: Any) -> Self:
        width = None if self.width is None else self.width + 1
        numbers = partial(self._beside, weight_blocks(column))
        return type(self)(numbers, width, np.float64, n_rows=self.n_rows, n_jobs=self.n_jobs)

    def _beside(self, read: Callable[[], Iterable[np.ndarray]]) -> Iterator[np.ndarray]:
        seen, rest = 0, WeightsInOrder(read())
        for tile in self.blocks():
            yield np.column_stack([tile, rest.next(len(tile), seen)])
            seen += len(tile)
        rest.check_end(seen)

    def positions(self) -> Self:
        return type(self)(self._positions, None, np.int64)

    def _positions(self) -> Iterator[np.ndarray]:
        start = 0
        for tile in self.blocks():
            yield start + np.flatnonzero(tile)
            start += len(tile)

    def take(self, rows: np.ndarray) -> np.ndarray:
        found, start = [], 0
        for tile in self.blocks():
            here = rows[np.searchsorted(rows, start) : np.searchsorted(rows, start + len(tile))]
            found.append(tile[here - start])
            start += len(tile)
        return np.concatenate(found)

    def counted(self) -> int:
        if self.n_rows is None:
            for _ in self.blocks():
                pass
        assert self.n_rows is not None
        return self.n_rows

    def each(self, function: Callable[[np.ndarray, int, int, Any], Any], shared: Any) -> list[Any]:
        found, start = [], 0
        for number, tile in enumerate(self.blocks()):
            found.append(function(tile, start, number, shared))
            start += len(tile)
        return found

    def lazy(self) -> Tiles:
        return self


class PairwiseSum:
    """Adds what comes one after the other as the leaves of a binary tree: the error grows with the logarithm of their
    number, and the order of the additions depends on it alone."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Any]] = []  # sums of 2^level parts, levels decreasing

    def add(self, part: Any) -> None:
        level = 0
        while self._waiting and self._waiting[-1][0] == level:
            part, level = self._waiting.pop()[1] + part, level + 1
        self._waiting.append((level, part))

    def result(self) -> Any:
        """The sum; None if nothing came."""
        total = None
        for _, part in reversed(self._waiting):
            total = part if total is None else part + total
        return total


# ---- what X may be --------------------------------------------------------------------------------------------------


def tiles_of(X: Any, n_jobs: int | None = 1, *, missing: bool = False) -> Tiles:
    """The rows of anything that `comes_in_blocks` here; Dask has blocks of its own."""
    read = _reader(X)
    columns = _first_columns(read(), missing=missing)
    return Tiles(partial(_tiles, read, columns), columns.n, columns.dtype, columns.names, n_jobs=n_jobs, watched=True)


def _reader(X: Any) -> Callable[[], Iterable[Any]]:
    """A function that begins to read the blocks of X whenever it is called."""
    if isinstance(X, str | os.PathLike):
        return _batches(parquet_dataset(Path(X)))
    if made_by(X) == "pyarrow":
        return _arrow_batches(X)
    if hasattr(X, "__next__"):
        raise InvalidInputError(
            f"X is a {type(X).__name__}, which can be read only once, but a fit reads its objects many times: give a "
            "function that returns it (lambda: ...), or hand the blocks to partial_fit"
        )
    return _without_arguments(X) if callable(X) else partial(iter, X)


def _without_arguments(function: Callable[..., Any]) -> Callable[[], Any]:
    """The function, which must not need an argument."""
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise InvalidInputError(f"X is a function that must be called without arguments: {error}") from error
    except ValueError:  # of a function that does not say what it takes
        pass
    return function


def parquet_dataset(path: Path) -> Any:
    """A PyArrow dataset of a Parquet file, or of a folder of some."""
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise ImportError("X is a path: Parquet files need pyarrow (pip install 'dempster[parquet]')") from error
    if not path.exists():
        raise FileNotFoundError(f"X is the path {path}, but there is no such file or folder")
    if not path.is_dir() and not path.is_file():  # pipes and devices can be read once, or never end
        raise InvalidInputError(f"X is the path {path}, which must be a Parquet file or a folder of some")
    try:
        found = ds.dataset(path, format="parquet")
        empty = not found.files
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"X is the path {path}, which must be a Parquet file or a folder of some: {error}"
        ) from error
    if empty:
        raise InvalidInputError(f"X is the path {path}, a folder without Parquet files")
    return found


def _arrow_batches(X: Any) -> Callable[[], Iterable[Any]]:
    if hasattr(X, "to_batches") and hasattr(X, "scanner"):
        return _batches(X)
    if hasattr(X, "to_batches"):
        return X.to_batches
    if hasattr(X, "num_rows") and hasattr(X, "columns"):
        return partial(iter, [X])
    raise InvalidInputError(f"X must be a dataset, a table or a path if it is of PyArrow, got a {type(X).__name__}")


def _batches(dataset: Any) -> Callable[[], Iterable[Any]]:
    # little is read ahead, so that memory stays flat
    return partial(dataset.to_batches, batch_size=_ROWS, batch_readahead=2, fragment_readahead=1)


def _first_columns(blocks: Iterable[Any], *, missing: bool) -> Columns:
    """Columns of the first block that has rows; empty ones may lack what makes numbers of them."""
    for number, block in enumerate(_iterated(blocks)):
        if Columns.length(block):
            return Columns.of(block, number, missing=missing)
    raise InvalidInputError("X holds no objects: it has no blocks, or only empty ones")


def _iterated(blocks: Any) -> Iterator[Any]:
    if not hasattr(blocks, "__iter__"):
        raise InvalidInputError(
            f"X is a function that must return blocks one after the other, got a {type(blocks).__name__}"
        )
    return iter(blocks)


def _tiles(read: Callable[[], Iterable[Any]], columns: Columns) -> Iterator[np.ndarray]:
    checked = (columns.numbers(block, number) for number, block in enumerate(_iterated(read())))
    return cut(checked, max(1, min(_ROWS, _CELLS // columns.n)))


def cut(blocks: Iterable[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The same rows in blocks of ``size``, the last one perhaps smaller."""
    waiting: list[np.ndarray] = []
    count = 0
    for block in blocks:
        start = 0
        while count + len(block) - start >= size:
            stop = start + size - count
            rows = block[start:stop]
            yield np.concatenate([*waiting, rows]) if waiting else rows
            waiting, count, start = [], 0, stop
        if start < len(block):
            waiting.append(block[start:])
            count += len(block) - start
    if waiting:
        yield np.concatenate(waiting)
