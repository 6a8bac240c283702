"""Blocks that this process reads (without Dask), divided into tiles.

The sizes of the tiles do not depend on the blocks.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np

from dempster._arrays import module_of
from dempster._errors import InvalidParameterError, MissingExtraError
from dempster._text import join_some, printable
from dempster._validation import check_size, check_weights, column_names, validating
from dempster.data.blocks import (
    BlockFunction,
    Blocks,
    TileFunction,
    comes_in_blocks,
    is_dask,
)
from dempster.optimize.blocks import Apply, block_map

TILE_ROWS = 65_536
MAX_TILE_CELLS = 1 << 23


@dataclass(frozen=True)
class Columns:
    """Columns that all blocks have in common."""

    n: int  # number of columns
    names: tuple[str, ...] | None  # None for arrays
    dtype: np.dtype  # float32 or float64
    missing: bool  # whether NaN is allowed

    @classmethod
    def from_block(cls, block: Any, number: int = 0, *, missing: bool) -> Columns:
        """Return the columns of a block."""
        values, names = _to_floats(block, number)
        return cls(values.shape[1], names, values.dtype, missing)

    def validate(self, block: Any, number: int) -> np.ndarray:
        """Return the validated values of a block as a C-contiguous array.

        Error messages contain its ``number``.
        """
        if count_block_rows(block) == 0:
            return np.empty((0, self.n), self.dtype)
        values, names = _to_floats(block, number)
        if names is not None and self.names is not None and names != self.names:
            expected = join_some(list(map(printable, self.names)))
            actual = join_some(list(map(printable, names)))
            raise _invalid_block(
                number, f"have the columns {expected} in this order, got {actual}"
            )
        if values.shape[1] != self.n:
            raise _invalid_block(
                number, f"have {self.n} columns like the first, got {values.shape[1]}"
            )
        if self.dtype == np.float32 and values.dtype != np.float32:
            raise _invalid_block(
                number, f"be float32 like the first, got {values.dtype}"
            )
        self._check_finite(values, number)
        check_size(values, f"block {number} of X")
        # A block that comes from another process may not be aligned in memory.
        return np.require(values, self.dtype, ["C", "A"])

    def _check_finite(self, values: np.ndarray, number: int) -> None:
        """Raise an error for infinite values, for rows of NaN only, and for NaN if not allowed."""
        finite = np.isfinite(values)
        if finite.all():
            return
        valid = finite
        if self.missing:
            valid = finite | np.isnan(values)
        if not valid.all():
            row, column = np.argwhere(~valid)[0]
            name = column
            if self.names is not None:
                name = printable(self.names[column])
            raise _invalid(
                f"X must be finite, but row {row} of block {number} has {values[row, column]} "
                f"in column {name}; impute missing values or drop their rows"
            )
        has_value = finite.any(axis=1)
        if not has_value.all():
            raise _invalid(
                f"row {has_value.argmin()} of block {number} of X contains only NaN; remove it"
            )


def count_block_rows(block: Any) -> int:
    """Return the number of rows of a block, or 1 for an object without a length."""
    try:
        return len(block)
    except (TypeError, ValueError):
        return 1  # The object is rejected later.


def _invalid(message: str) -> InvalidParameterError:
    return InvalidParameterError("X", message=message)


def _invalid_block(number: int, must: str) -> InvalidParameterError:
    return _invalid(f"block {number} of X must {must}")


def _to_floats(block: Any, number: int) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """Return a block as an array of float32 or float64, and its column names or None."""
    library = module_of(block)
    if library == "pyarrow" and hasattr(block, "schema"):
        import pandas as pd

        block = block.to_pandas(types_mapper=pd.ArrowDtype)
        library = "pandas"
    if library in ("pandas", "polars"):
        if not hasattr(block, "columns"):
            raise _invalid_block(number, f"be a table, got a {type(block).__name__}")
        values = _table_to_floats(block, number, library)
        names = column_names(block)
        if names and all(isinstance(name, str) for name in names):
            return values, tuple(names)
        return values, None
    if hasattr(block, "toarray") and hasattr(block, "nnz"):
        raise _invalid_block(
            number, "be dense, got a sparse matrix; use block.toarray()"
        )
    with validating(block, f"block {number} of X"):
        values = np.asarray(block)
    return _as_floats(values, number), None


def _table_to_floats(table: Any, number: int, library: str) -> np.ndarray:
    for name, dtype in zip(table.columns, table.dtypes, strict=True):
        if library == "pandas":
            from pandas.api.types import is_numeric_dtype

            is_numeric = is_numeric_dtype(dtype)  # also for Booleans
        else:
            is_numeric = dtype.is_numeric() or str(dtype) == "Boolean"
        if not is_numeric or "complex" in str(dtype):
            raise _invalid(
                f"X must be numeric, but column {printable(name)} of block {number} is {dtype}; "
                "drop or encode it"
            )
    if library == "polars":
        return _as_floats(table.to_numpy(), number)
    single = {"float32", "Float32", "float[pyarrow]"}.issuperset(map(str, table.dtypes))
    return table.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)


def _as_floats(values: np.ndarray, number: int) -> np.ndarray:
    if values.ndim != 2:
        raise _invalid_block(number, f"have two dimensions, got shape {values.shape}")
    if values.shape[1] == 0:
        raise _invalid_block(number, "have at least one column, got none")
    if values.dtype.kind not in "biuf":
        raise _invalid_block(number, f"contain real numbers, got {values.dtype}")
    if values.dtype == np.float32:
        return values
    return values.astype(float, copy=False)


def _open_weights(column: Any) -> Callable[[], Iterable[Any]]:
    """Return a function that returns a new iterable of blocks of weights at every call."""
    if is_dask(column):
        raise InvalidParameterError(
            "sample_weight", must="not be a Dask collection if X is not one; compute it"
        )
    if hasattr(column, "__next__"):
        raise InvalidParameterError(
            "sample_weight",
            must=f"be readable several times, got a {type(column).__name__}; "
            "use an array or a function that returns it",
        )
    if callable(column):
        return column
    is_list = isinstance(column, list | tuple) and len(column) > 0
    if is_list and all(len(getattr(part, "shape", ())) == 1 for part in column):
        return partial(iter, column)
    return partial(iter, [np.asarray(column)])


class Tiles(Blocks):
    """Tiles of rows, read again at every pass by ``n_jobs`` threads.

    All tiles but the last have ``size`` rows. They do not depend on the blocks of X.
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
        size: int = TILE_ROWS,
        checked: bool = False,
    ):
        self._read = read
        self.width = width
        self.dtype = np.dtype(dtype)
        self.names = names
        self.n_rows = n_rows
        self.n_jobs = n_jobs
        self.size = size
        # checksums of three rows of each tile
        self._checksums: list[int] | None = [] if checked else None

    def blocks(self) -> Iterator[np.ndarray]:
        seen = 0
        for number, tile in enumerate(self._read()):
            seen += len(tile)
            if self._checksums is not None:
                self._check_unchanged(number, tile, self._checksums)
            yield tile
        if self.n_rows is None:
            self.n_rows = seen
        elif self.n_rows != seen:
            counts = f"{self.n_rows:,}, then {seen:,}"
            raise InvalidParameterError(
                "X", must=f"have the same rows at every pass, got {counts}"
            )

    @staticmethod
    def _check_unchanged(number: int, tile: np.ndarray, checksums: list[int]) -> None:
        """Raise an error if three rows of a tile differ from those of a previous pass."""
        checksum = crc32(tile[[0, len(tile) // 2, -1]].tobytes())
        if number == len(checksums):
            checksums.append(checksum)
        elif checksums[number] != checksum:
            raise _invalid(
                "X must have the same rows at every pass; "
                "a function must always return the same blocks"
            )

    def reduce(self, function: BlockFunction, shared: Any, apply: Apply) -> Any:
        return pairwise_sum(function(tile, shared, apply) for tile in self.blocks())

    def map(
        self,
        function: BlockFunction,
        shared: Any,
        width: int | None,
        dtype: np.dtype | type,
    ) -> Self:
        return self._derive(partial(self._map_tiles, function, shared), width, dtype)

    def _derive(
        self,
        read: Callable[[], Iterator[np.ndarray]],
        width: int | None,
        dtype: np.dtype | type,
    ) -> Self:
        """Return tiles of the same rows with other columns."""
        return type(self)(
            read, width, dtype, n_rows=self.n_rows, n_jobs=self.n_jobs, size=self.size
        )

    def _map_tiles(self, function: BlockFunction, shared: Any) -> Iterator[np.ndarray]:
        with block_map(self.n_jobs) as apply:
            for tile in self.blocks():
                yield function(tile, shared, apply)

    def with_column(self, column: Any) -> Self:
        assert self.width is not None
        read = partial(self._append_weights, _open_weights(column))
        return self._derive(read, self.width + 1, np.float64)

    def _append_weights(
        self, read: Callable[[], Iterable[Any]]
    ) -> Iterator[np.ndarray]:
        blocks = (
            check_weights(block, np.size(block), where=f" in block {number}")
            for number, block in enumerate(read())
        )
        seen = 0
        none = np.empty(0)
        for tile, weights in zip_longest(
            self.blocks(), cut_tiles(blocks, self.size), fillvalue=none
        ):
            if len(weights) != len(tile):
                found = f"{len(weights):,} for the {len(tile):,} rows from row {seen:,}"
                raise InvalidParameterError(
                    "sample_weight", must=f"have one value per row of X, got {found}"
                )
            yield np.column_stack([tile, weights])
            seen += len(tile)

    def positions(self) -> Self:
        return type(self)(self._positions, None, np.int64)

    def _positions(self) -> Iterator[np.ndarray]:
        for _, start, tile in self._numbered_tiles():
            yield start + np.flatnonzero(tile)

    def _numbered_tiles(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield the number of each tile, the number of its first row, and the tile."""
        start = 0
        for number, tile in enumerate(self.blocks()):
            yield number, start, tile
            start += len(tile)

    def take(self, rows: np.ndarray) -> np.ndarray:
        parts = []
        for _, start, tile in self._numbered_tiles():
            here = rows[
                np.searchsorted(rows, start) : np.searchsorted(rows, start + len(tile))
            ]
            parts.append(tile[here - start])
        return np.concatenate(parts)

    def count_rows(self) -> int:
        if self.n_rows is None:
            for _ in self.blocks():
                pass
        assert self.n_rows is not None
        return self.n_rows

    def map_numbered(self, function: TileFunction, shared: Any) -> list[Any]:
        return [
            function(tile, start, number, shared)
            for number, start, tile in self._numbered_tiles()
        ]


def pairwise_sum(terms: Iterable[Any]) -> Any:
    """Add terms in pairs, in a fixed order and with a small rounding error.

    Return None if there are no terms.
    """
    # (level, sum of 2^level terms), with decreasing levels
    sums: list[tuple[int, Any]] = []
    for term in terms:
        level = 0
        while sums and sums[-1][0] == level:
            term = sums.pop()[1] + term
            level += 1
        sums.append((level, term))
    total = None
    for _, part in reversed(sums):
        total = part if total is None else part + total
    return total


def open_blocks(X: Any, n_jobs: int | None = 1, *, missing: bool = False) -> Blocks:
    """Return the blocks of X, or one block if X is in memory, for ``n_jobs`` threads.

    ``missing`` allows NaN.
    """
    if is_dask(X):
        from dempster.data.dask_blocks import open_dask_blocks

        return open_dask_blocks(X, missing=missing)
    if not comes_in_blocks(X):
        X = [X]
    read = _block_reader(X)
    try:
        blocks = iter(read())
    except TypeError as error:
        raise _invalid(
            f"X must be a function without arguments that returns blocks: {error}"
        ) from error
    for number, block in enumerate(blocks):
        if count_block_rows(block):
            columns = Columns.from_block(block, number, missing=missing)
            break
    else:
        raise InvalidParameterError(
            "X", must="contain at least one row, got no blocks or only empty blocks"
        )
    size = max(1, min(TILE_ROWS, MAX_TILE_CELLS // columns.n))
    return Tiles(
        partial(_read_tiles, read, columns, size),
        columns.n,
        columns.dtype,
        columns.names,
        n_jobs=n_jobs,
        size=size,
        checked=True,
    )


def _block_reader(X: Any) -> Callable[[], Iterable[Any]]:
    """Return a function that returns a new iterable of the blocks of X at every call."""
    if isinstance(X, str | os.PathLike):
        return _batch_reader(parquet_dataset(Path(X)))
    if hasattr(X, "scanner"):  # a PyArrow dataset
        return _batch_reader(X)
    if hasattr(X, "to_batches"):  # a PyArrow table
        return X.to_batches
    if module_of(X) == "pyarrow" and hasattr(X, "num_rows"):  # a record batch
        return partial(iter, [X])
    if hasattr(X, "__next__"):
        raise _invalid(
            f"X must be readable several times, got a {type(X).__name__}; use a function "
            "that returns it (lambda: ...), or pass the blocks to partial_fit"
        )
    if callable(X):
        return X
    return partial(iter, X)


def parquet_dataset(path: Path) -> Any:
    """Return the PyArrow dataset of a Parquet file or a folder of Parquet files."""
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise MissingExtraError(
            "X as a path of Parquet files", "pyarrow", "parquet"
        ) from error
    expected = "X must be a Parquet file or a folder of Parquet files"
    try:
        dataset = ds.dataset(path, format="parquet")
        is_empty = not dataset.files
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"X is the path {path}, which does not exist"
        ) from error
    except (OSError, ValueError) as error:
        advice = "read other files with dempster.io.read_table or pandas (pd.read_csv)"
        raise _invalid(f"{expected}, got the path {path}; {advice}") from error
    if is_empty:
        raise _invalid(f"{expected}, got the folder {path} without Parquet files")
    return dataset


def _batch_reader(dataset: Any) -> Callable[[], Iterable[Any]]:
    # Read few batches ahead, so that memory use does not grow.
    return partial(
        dataset.to_batches,
        batch_size=TILE_ROWS,
        batch_readahead=2,
        fragment_readahead=1,
    )


def _read_tiles(
    read: Callable[[], Iterable[Any]], columns: Columns, size: int
) -> Iterator[np.ndarray]:
    blocks = (columns.validate(block, number) for number, block in enumerate(read()))
    return cut_tiles(blocks, size)


def cut_tiles(blocks: Iterable[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """Yield the rows of the blocks in tiles of ``size`` rows; the last tile may be smaller."""
    waiting: list[np.ndarray] = []
    count = 0
    for block in blocks:
        start = 0
        n = len(block)
        while count + n - start >= size:
            stop = start + size - count
            rows = block[start:stop]
            yield np.concatenate([*waiting, rows]) if waiting else rows
            waiting = []
            count = 0
            start = stop
        if start < n:
            waiting.append(block[start:])
            count += n - start
    if waiting:
        yield np.concatenate(waiting)
