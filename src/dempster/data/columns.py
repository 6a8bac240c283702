"""One block of objects as numbers, and what it must have in common with the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._arrays import made_by
from dempster._errors import InvalidInputError
from dempster._validation import check_size, column_names, printable, reading

__all__ = ["Columns"]


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
    kind = made_by(block)
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


def _not_numbers(name: Any, number: int, dtype: Any) -> ValueError:
    return ValueError(
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
