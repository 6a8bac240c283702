"""Blocks that this process reads one after the other, in tiles whose size does not depend on the blocks."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import numpy as np

from dempster._arrays import module_of
from dempster._errors import InvalidInputError, MissingExtraError
from dempster._text import printable
from dempster._validation import LARGEST, SMALLEST, check_size, column_names, reading
from dempster.data.blocks import BlockFunction, Blocks, comes_in_blocks, is_dask
from dempster.optimize.blocks import Apply, block_map


@dataclass(frozen=True)
class Columns:
    """What every block must have.

    Attributes
    ----------
    n : int
        Number of columns.
    names : tuple of str or None
        Their names, if the blocks are tables.
    dtype : numpy.dtype
        float32 if the blocks are, else float64.
    missing : bool
        Whether cells may be missing (NaN).
    """

    n: int
    names: tuple[str, ...] | None
    dtype: np.dtype
    missing: bool = False

    @classmethod
    def of(cls, block: Any, number: int = 0, *, missing: bool = False) -> Columns:
        """Those of a block, which the others must have as well."""
        values, names = _numbers(block, number)
        return cls(values.shape[1], names, values.dtype, missing)

    def name(self, column: int) -> str:
        """What a column is called in messages."""
        return str(column) if self.names is None else printable(self.names[column])

    @staticmethod
    def length(block: Any) -> int:
        """Number of rows of a block of any kind."""
        rows = getattr(block, "num_rows", None)  # of pyarrow
        if rows is not None:
            return int(rows)
        try:
            return len(block)
        except (TypeError, ValueError):  # nothing that has rows, which is refused when it is read
            return 1

    def numbers(self, block: Any, number: int) -> np.ndarray:
        """(n, p) numbers of a block, C-contiguous and finite; ``number`` says which block it is, for the errors."""
        if self.length(block) == 0:
            return np.empty((0, self.n), self.dtype)
        values, names = _numbers(block, number)
        if names is not None and self.names is not None and names != self.names:
            raise InvalidInputError(
                f"all blocks of X must have the same columns in the same order, but block {number} has "
                f"{_listed(names)} where others have {_listed(self.names)}"
            )
        if values.shape[1] != self.n:
            raise InvalidInputError(
                f"all blocks of X must have the same columns, but block {number} has {values.shape[1]} where others "
                f"have {self.n}"
            )
        if self.dtype == np.float32 and values.dtype != np.float32:
            raise InvalidInputError(
                f"all blocks of X must be float32 if the first one is, but block {number} is {values.dtype}: give all "
                "of them in double precision"
            )
        self._check_finite(values, number)
        check_size(values, f"block {number} of X")
        # what came from another process may lie askew in memory
        return np.require(values, self.dtype, ["C", "A"])

    def _check_finite(self, values: np.ndarray, number: int) -> None:
        """Refuse infinities, and missing cells unless they may be; an object of which nothing is known never may."""
        finite = np.isfinite(values)
        if finite.all():
            return
        fits = finite | np.isnan(values) if self.missing else finite
        if not fits.all():
            row, column = np.unravel_index(fits.argmin(), fits.shape)
            raise InvalidInputError(
                f"X must hold finite numbers, but row {row} of block {number} has {values[row, column]} in column "
                f"{self.name(int(column))}: fill in or drop what is missing before the blocks are handed over"
            )
        something = finite.any(axis=1)
        if not something.all():
            raise InvalidInputError(
                f"row {something.argmin()} of block {number} of X has no value at all (all NaN): nothing can be said "
                "of it, leave it out"
            )


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    text = ", ".join(map(printable, names[:most]))
    return f"{text}, ..." if len(names) > most else text


def _numbers(block: Any, number: int) -> tuple[np.ndarray, tuple[str, ...] | None]:
    """An array of float32 or float64, and the names of the columns if the block is a table."""
    kind = module_of(block)
    if kind == "pyarrow" and hasattr(block, "schema"):
        values = _arrow_numbers(block, number)
        return values, tuple(block.schema.names)
    if kind in ("pandas", "polars"):
        if not hasattr(block, "columns"):
            raise InvalidInputError(f"block {number} of X must be a table, got a {type(block).__name__}")
        return _table_numbers(block, number, kind), _names(block)
    if hasattr(block, "toarray") and hasattr(block, "nnz"):
        raise InvalidInputError(f"block {number} of X is a sparse matrix; blocks must be dense: take block.toarray()")
    with reading(block, f"block {number} of X"):
        values = np.asarray(block)
    return _as_floats(values, number), None


def _names(table: Any) -> tuple[str, ...] | None:
    """Names of the columns, if all are text, as scikit-learn counts them."""
    names = column_names(table)
    return tuple(names) if names and all(isinstance(name, str) for name in names) else None


def _table_numbers(table: Any, number: int, kind: str) -> np.ndarray:
    dtypes = list(table.dtypes)
    for name, dtype in zip(table.columns, dtypes, strict=True):
        if kind == "pandas":
            from pandas.api.types import is_bool_dtype, is_numeric_dtype

            fits = is_numeric_dtype(dtype) or is_bool_dtype(dtype)
        else:
            fits = dtype.is_numeric() or str(dtype) == "Boolean"
        if not fits or "complex" in str(dtype):
            raise _not_numbers(name, number, dtype)
    if kind == "polars":
        return _as_floats(table.to_numpy(), number)
    single = all(str(dtype).lower() == "float32" for dtype in dtypes)
    return table.to_numpy(dtype=np.float32 if single else np.float64, na_value=np.nan)


def _arrow_numbers(batch: Any, number: int) -> np.ndarray:
    import pyarrow as pa

    for field in batch.schema:
        numeric = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        if not (numeric or pa.types.is_decimal(field.type) or pa.types.is_boolean(field.type)):
            raise _not_numbers(field.name, number, field.type)
    single = all(field.type == pa.float32() for field in batch.schema)
    values = np.empty((batch.num_rows, batch.num_columns), np.float32 if single else np.float64)
    for j in range(batch.num_columns):
        column = batch.column(j)
        if pa.types.is_decimal(column.type) or pa.types.is_boolean(column.type):
            column = column.cast(pa.float64() if pa.types.is_decimal(column.type) else pa.int8())
        plain = isinstance(column, pa.ChunkedArray)
        values[:, j] = column.to_numpy() if plain else column.to_numpy(zero_copy_only=False)
    return values


def _not_numbers(name: Any, number: int, dtype: Any) -> InvalidInputError:
    return InvalidInputError(
        f"blocks of X must hold numbers, but column {printable(name)} of block {number} is {dtype}: leave it out, or "
        "turn it into numbers in the same way for all blocks"
    )


def _as_floats(values: np.ndarray, number: int) -> np.ndarray:
    if values.ndim != 2:
        raise InvalidInputError(f"block {number} of X must have two dimensions, got shape {values.shape}")
    if values.shape[1] == 0:
        raise InvalidInputError(f"block {number} of X has no columns")
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(f"block {number} of X must hold real numbers, got {values.dtype}")
    return values if values.dtype == np.float32 else values.astype(float, copy=False)


def weight_blocks(column: Any) -> Callable[[], Iterable[Any]]:
    """A function that begins to give blocks of weights whenever it is called."""
    if is_dask(column):
        raise InvalidInputError(
            "sample_weight is a Dask collection, but X is not: compute it, or give X to Dask as well"
        )
    if hasattr(column, "__next__"):
        raise InvalidInputError(
            f"sample_weight is a {type(column).__name__}, which can be read only once, but a fit reads it many times: "
            "give an array, a list of blocks, or a function that returns it"
        )
    if callable(column):
        return column
    if isinstance(column, list | tuple) and column and all(len(getattr(part, "shape", ())) == 1 for part in column):
        return partial(iter, column)
    return partial(iter, [np.asarray(column)])


def checked_weights(weights: Any, n: int, where: str) -> np.ndarray:
    """(n,) finite weights of zero or more; ``where`` they belong to, for the errors."""
    values = np.asarray(weights)
    if values.shape != (n,):
        raise InvalidInputError(
            f"sample_weight must hold one weight for each of the {n} rows of {where}, got {values.shape}"
        )
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(f"sample_weight must hold numbers, got {values.dtype} in {where}")
    values = values.astype(float)
    fits = (values == 0) | ((values >= SMALLEST) & (values <= LARGEST))
    if not fits.all():
        raise InvalidInputError(
            f"sample_weight must hold zeros or finite weights of at least {SMALLEST:g}, got {values[fits.argmin()]} in "
            f"{where}"
        )
    return values


class WeightsInOrder:
    """Hands out weights one after the other, in other pieces than they come in."""

    def __init__(self, blocks: Iterable[Any]):
        self._blocks, self._left = iter(blocks), np.empty(0)

    def next(self, n: int, seen: int) -> np.ndarray:
        """The next n weights, after ``seen`` ones."""
        pieces = [self._left]
        while sum(map(len, pieces)) < n:
            block = next(self._blocks, None)
            if block is None:
                got = seen + sum(map(len, pieces))
                raise InvalidInputError(
                    f"sample_weight must hold a weight for each object, but there are only {got:,} of them"
                )
            pieces.append(checked_weights(block, len(np.ravel(block)), f"the weights after the first {seen:,}"))
        joined = np.concatenate(pieces)
        self._left = joined[n:]
        return joined[:n]

    def check_end(self, n: int) -> None:
        """After the last of n objects there is no weight left."""
        if len(self._left) or any(len(np.ravel(block)) for block in self._blocks):
            raise InvalidInputError(
                f"sample_weight must hold a weight for each of the {n:,} objects, but there are more"
            )


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

    def with_column(self, column: Any) -> Self:
        width = None if self.width is None else self.width + 1
        numbers = partial(self._with_column, weight_blocks(column))
        return type(self)(numbers, width, np.float64, n_rows=self.n_rows, n_jobs=self.n_jobs)

    def _with_column(self, read: Callable[[], Iterable[np.ndarray]]) -> Iterator[np.ndarray]:
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
    if module_of(X) == "pyarrow":
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
        raise MissingExtraError("X as a path of Parquet files", "pyarrow", "parquet") from error
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


def open_blocks(X: Any, n_jobs: int | None = 1, *, missing: bool = False) -> Blocks:
    """The rows of anything that `comes_in_blocks`, and of arrays and tables in memory (one block).

    ``n_jobs`` threads work on blocks that this process reads. ``missing``: whether cells may be NaN.
    """
    if is_dask(X):
        from dempster.data.with_dask import dask_blocks_of

        return dask_blocks_of(X, missing=missing)
    return tiles_of(X if comes_in_blocks(X) else [X], n_jobs, missing=missing)
