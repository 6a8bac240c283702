"""Interface of data that are read in blocks of rows, and statistics over all blocks.

==================================  ==============================================================
X                                   blocks
==================================  ==============================================================
path of a Parquet file or folder    batches of rows (requires pyarrow)
PyArrow dataset or table            batches of rows
list or tuple of arrays or tables   the arrays or tables
any other iterable                  its items; every pass iterates over it again
function without arguments          the items that it returns; every pass calls it again
Dask array or DataFrame             its partitions, processed by Dask tasks
==================================  ==============================================================
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dempster._arrays import column_bounds, divide, is_graph, module_of, row_mean
from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._types import ArrayPair, Seed
from dempster._validation import has_missing
from dempster.optimize.blocks import Apply


@dataclass(frozen=True)
class Moments:
    """Mean, scatter and range of rows with p columns; the moments of several blocks can be added.

    The formulas are those of Chan, Golub and LeVeque (1983). ``scatter`` is the weighted sum of (x
    - mean)(x - mean)', shape (p, p), or only its diagonal, shape (p,). The full matrix requires
    rows without missing values.
    """

    n: int  # number of rows
    weight: float  # sum of the weights of the rows
    # for each column, the sum of the weights of the rows in which it is not missing, shape (p,)
    present: np.ndarray
    mean: np.ndarray  # shape (p,)
    scatter: np.ndarray
    # smallest value of each column, shape (p,); NaN if all values are missing
    low: np.ndarray
    # largest value of each column, shape (p,); NaN if all values are missing
    high: np.ndarray

    @classmethod
    def from_rows(
        cls, X: np.ndarray, weights: np.ndarray, *, products: bool
    ) -> Moments:
        """Compute the moments of rows, with the full scatter matrix if ``products`` is True."""
        values = X.astype(float)
        low, high = column_bounds(values)
        n = len(X)
        if len(weights) == 0 and not has_missing(values):
            mean = row_mean(values)
            gap = values - mean
            if products:
                scatter = gap.T @ gap
            else:
                scatter = np.einsum("ij,ij->j", gap, gap)
            total = float(n)
            present = np.full(len(mean), total)
            return cls(n, total, present, mean, scatter, low, high)
        if len(weights) == 0:
            weights = np.ones(n)
        is_present = ~np.isnan(values)
        shares = is_present * weights[:, None]
        present = shares.sum(axis=0)
        sums = np.einsum("ij,ij->j", shares, np.where(is_present, values, 0.0))
        mean = divide(sums, present, 0)
        mean = np.fmax(np.fmin(mean, high), low)
        gap = np.where(is_present, values - mean, 0.0)
        if products:
            scatter = (gap * shares).T @ gap
        else:
            scatter = np.einsum("ij,ij,ij->j", shares, gap, gap)
        return cls(n, float(weights.sum()), present, mean, scatter, low, high)

    def __add__(self, other: Moments) -> Moments:
        gap = other.mean - self.mean
        weight = self.weight + other.weight
        present = self.present + other.present
        share = divide(other.present, present, 0)
        if self.scatter.ndim == 1:
            between = gap * gap * (self.present * share)
        elif weight > 0:
            between = np.outer(gap, gap) * (self.weight * (other.weight / weight))
        else:
            between = np.zeros_like(self.scatter)
        return Moments(
            self.n + other.n,
            weight,
            present,
            self.mean + gap * share,
            self.scatter + other.scatter + between,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )


BlockFunction = Callable[[np.ndarray, Any, Apply], Any]
"""Pure function of a block, of data shared by all blocks (such as a model), and of `Apply`."""

TileFunction = Callable[[np.ndarray, int, int, Any], Any]
"""Function of a block, of the number of its first row, of its number, and of shared data."""


class Blocks(ABC):
    """Blocks of rows of X, or blocks of results that are computed from the rows of X."""

    width: int | None  # number of columns; None if each row is one number
    names: tuple[str, ...] | None
    dtype: np.dtype
    # number of rows; None if it is not known before all blocks have been read
    n_rows: int | None

    @abstractmethod
    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks in order, one in memory at a time."""

    @abstractmethod
    def reduce(self, function: BlockFunction, shared: Any, apply: Apply) -> Any:
        """Return the sum of a function over the blocks, added in a fixed order."""

    @abstractmethod
    def map(
        self,
        function: BlockFunction,
        shared: Any,
        width: int | None,
        dtype: np.dtype | type,
    ) -> Self:
        """Return blocks that a function computes lazily, one row for each row of a block."""

    @abstractmethod
    def with_column(self, column: Any) -> Self:
        """Return the blocks with an additional column, an array or blocks of any length."""

    @abstractmethod
    def positions(self) -> Self:
        """Return the row numbers of the True values in blocks of a Boolean column.

        They continue across blocks.
        """

    @abstractmethod
    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows with the given row numbers, which must be increasing."""

    @abstractmethod
    def count_rows(self) -> int:
        """Return the number of rows, and read all blocks if it is not known yet."""

    @abstractmethod
    def map_numbered(self, function: TileFunction, shared: Any) -> list[Any]:
        """Return the results of calling a function for each block.

        The arguments of the function are the block, the number of its first row, the number of the
        block, and ``shared``. The function may write files. If it is called again for a block, it
        must write the same content.
        """

    def to_lazy(self) -> Any:
        """Return a Dask array if X is a Dask collection, otherwise these blocks."""
        return self

    @property
    def row_shape(self) -> tuple[int, ...]:
        if self.width is None:
            return ()
        return (self.width,)

    def compute(self) -> np.ndarray:
        """Return all rows as one array in memory."""
        blocks = list(self.blocks())
        if blocks:
            return np.concatenate(blocks)
        return np.empty((0, *self.row_shape), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.compute()
        if dtype is None:
            return values
        return values.astype(dtype)

    def __repr__(self) -> str:
        rows = "an unknown number of"
        if self.n_rows is not None:
            rows = f"{self.n_rows:,}"
        columns = ""
        if self.width is not None:
            columns = f" with {self.width} columns"
        return (
            f"{type(self).__name__}({rows} rows{columns}, {self.dtype}; "
            "compute() loads them into memory)"
        )


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or DataFrame, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def comes_in_blocks(X: Any) -> bool:
    """Return whether X is read in blocks instead of as one table in memory."""
    if isinstance(X, np.ndarray):
        return False
    if isinstance(X, str | os.PathLike) or is_dask(X):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(len(getattr(block, "shape", ())) == 2 for block in X)
    if isinstance(X, bytes | Mapping | set | frozenset | range | type) or is_graph(X):
        return False
    if module_of(X) == "pyarrow":
        return True
    array_attributes = (
        "__array__",
        "__array_interface__",
        "__dataframe__",
        "shape",
        "dtype",
    )
    if any(hasattr(X, name) for name in array_attributes):
        return False
    return callable(X) or hasattr(X, "__iter__")


def compute_moments(
    blocks: Blocks, apply: Apply, *, products: bool = False, weighted: bool = False
) -> Moments:
    """Compute the moments in one pass over the blocks.

    If ``weighted`` is True, their last column is the weight.
    """
    moments = blocks.reduce(_block_moments, (products, weighted), apply)
    if moments is None:
        raise InvalidParameterError(
            "X", must="contain at least one row, got no blocks or only empty blocks"
        )
    return moments


def _block_moments(
    block: np.ndarray, shared: tuple[bool, bool], apply: Apply
) -> Moments:
    products, weighted = shared
    if not weighted:
        return Moments.from_rows(block, np.empty(0), products=products)
    return Moments.from_rows(block[:, :-1], block[:, -1], products=products)


def sample_rows(n: int, size: int, random_state: Seed) -> np.ndarray:
    """Draw at most ``size`` different row numbers below n, and return them in increasing order."""
    if n <= size:
        return np.arange(n)
    return np.sort(as_generator(random_state).choice(n, size, replace=False))


def weighted_sample(blocks: Blocks, size: int, random_state: Seed) -> ArrayPair:
    """Draw ``size`` rows with probabilities proportional to the last column.

    Return their numbers and counts.
    """
    sums = np.array(blocks.map_numbered(_sum_weights, None))
    ends = np.cumsum(sums)
    at = (np.arange(size) + as_generator(random_state).random(size)) / size * ends[-1]
    which = np.minimum(np.searchsorted(ends, at, "right"), np.flatnonzero(sums)[-1])
    parts = blocks.map_numbered(_find_rows, (at - (ends - sums)[which], which))
    rows, times = np.unique(np.concatenate(parts), return_counts=True)
    return rows, times.astype(float)


def _sum_weights(block: np.ndarray, start: int, number: int, shared: None) -> float:
    if len(block):
        return float(np.cumsum(block[:, -1])[-1])
    return 0.0


def _find_rows(
    block: np.ndarray, start: int, number: int, shared: ArrayPair
) -> np.ndarray:
    """Return the rows at which the cumulative weights of the block reach the given values."""
    at, which = shared
    reach = np.cumsum(block[:, -1])
    places = np.searchsorted(reach, at[which == number], "right")
    if len(places):
        return start + np.minimum(places, np.flatnonzero(block[:, -1])[-1])
    return np.empty(0, np.int64)
