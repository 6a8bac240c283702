"""Interface of blockwise data, and statistics of all blocks.

=====================================  ============================================================================
X                                      blocks
=====================================  ============================================================================
path of a Parquet file or folder       batches of rows (requires pyarrow)
PyArrow dataset or table               batches of rows
list or tuple of arrays or tables      the arrays or tables
iterable that is no array or table     its items, from the first one at every pass
function without arguments             the items of the iterable that it returns at every pass
Dask array or DataFrame                its partitions, processed by Dask tasks
=====================================  ============================================================================
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dempster._arrays import module_of
from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._types import Seed
from dempster._validation import has_missing, row_mean
from dempster.optimize.blocks import Apply


@dataclass(frozen=True)
class Moments:
    """Moments of rows, which can be added over blocks (Chan, Golub and LeVeque, 1983).

    ``scatter`` is the (p, p) weighted sum of (x - mean)(x - mean)', or its diagonal. A matrix requires rows without
    missing values.
    """

    n: int  # number of rows
    weight: float  # sum of their weights
    present: np.ndarray  # (p,) sum of the weights of the rows without a missing value in the column
    mean: np.ndarray  # (p,)
    scatter: np.ndarray
    low: np.ndarray  # (p,) smallest values; NaN if all are missing
    high: np.ndarray

    @classmethod
    def from_rows(cls, X: np.ndarray, weights: np.ndarray, *, products: bool) -> Moments:
        """Compute the moments of rows (empty ``weights``: all are equal; ``products``: the scatter is a matrix)."""
        values = X.astype(float)
        if len(weights) == 0 and not has_missing(values):
            mean = row_mean(values)
            gap = values - mean
            scatter = gap.T @ gap if products else np.einsum("ij,ij->j", gap, gap)
            total = float(len(X))
            return cls(len(X), total, np.full(len(mean), total), mean, scatter, values.min(axis=0), values.max(axis=0))
        is_present = ~np.isnan(values)
        shares = is_present * (np.ones(len(X)) if len(weights) == 0 else weights)[:, None]
        present = shares.sum(axis=0)
        low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        mean = np.einsum("ij,ij->j", shares, np.where(is_present, values, 0.0)) / np.where(present > 0, present, 1.0)
        mean = np.fmax(np.fmin(mean, high), low)
        gap = np.where(is_present, values - mean, 0.0)
        scatter = (gap * shares).T @ gap if products else np.einsum("ij,ij,ij->j", shares, gap, gap)
        total = float(len(X) if len(weights) == 0 else weights.sum())
        return cls(len(X), total, present, mean, scatter, low, high)

    def __add__(self, other: Moments) -> Moments:
        gap = other.mean - self.mean
        present = self.present + other.present
        share = other.present / np.where(present > 0, present, 1.0)
        if self.scatter.ndim == 2:
            weight = self.weight + other.weight
            between = np.outer(gap, gap) * (self.weight * (other.weight / weight) if weight > 0 else 0.0)
        else:
            between = gap * gap * (self.present * share)
        return Moments(
            self.n + other.n,
            self.weight + other.weight,
            present,
            self.mean + gap * share,
            self.scatter + other.scatter + between,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )

    @property
    def mean_squared_deviation(self) -> float:
        """Mean squared distance of the rows to their mean, which is the sum of the variances of the columns."""
        squares = np.diagonal(self.scatter) if self.scatter.ndim == 2 else self.scatter
        return float((squares / np.where(self.present > 0, self.present, 1.0)).sum())


BlockFunction = Callable[[np.ndarray, Any, Apply], Any]
"""A pure function of a block, of data that all blocks share (a model), and of `Apply`, which runs threads."""


class Blocks(ABC):
    """Blocks of rows of X, or blocks of results computed from these rows."""

    width: int | None  # number of columns; None if each row is one number
    names: tuple[str, ...] | None
    dtype: np.dtype
    n_rows: int | None  # None until all blocks have been read, if the number of rows is not known before

    @abstractmethod
    def blocks(self) -> Iterator[np.ndarray]:
        """Yield the blocks in order, one in memory at a time."""

    @abstractmethod
    def reduce(self, function: BlockFunction, shared: Any, apply: Apply) -> Any:
        """Return the sum of a function over the blocks, added by ``+`` in a fixed order."""

    @abstractmethod
    def map(self, function: BlockFunction, shared: Any, width: int | None, dtype: np.dtype | type) -> Self:
        """Return blocks that are computed lazily by a function, which returns one row for each row."""

    @abstractmethod
    def with_column(self, column: Any) -> Self:
        """Append a column of weights, in double precision.

        The weights are one array, or come in blocks of any lengths.
        """

    @abstractmethod
    def positions(self) -> Self:
        """Return the numbers of the true rows of a boolean column, counted from the first row of all blocks."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return rows by their increasing numbers."""

    @abstractmethod
    def count_rows(self) -> int:
        """Return the number of rows; read all blocks if it is not known."""

    @abstractmethod
    def map_numbered(self, function: Callable[[np.ndarray, int, int, Any], Any], shared: Any) -> list[Any]:
        """Call a function with each block, the number of its first row, the number of the block, and the shared data.

        The function may write files. It may be called again for the same block and must then write the same content.
        """

    @abstractmethod
    def to_lazy(self) -> Any:
        """Return a Dask array if X is a Dask collection, otherwise these blocks."""

    def compute(self) -> np.ndarray:
        """Return all rows in memory."""
        blocks = list(self.blocks())
        empty = np.empty((0,) if self.width is None else (0, self.width), self.dtype)
        return np.concatenate(blocks) if blocks else empty

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.compute()
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        rows = "an unknown number of" if self.n_rows is None else f"{self.n_rows:,}"
        columns = "" if self.width is None else f" with {self.width} columns"
        return f"{type(self).__name__}({rows} rows{columns}, {self.dtype}; compute() loads them into memory)"


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or DataFrame, without importing Dask."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def comes_in_blocks(X: Any) -> bool:
    """Return whether X is read in blocks, not as one table in memory."""
    if isinstance(X, str | os.PathLike) or is_dask(X):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(len(getattr(block, "shape", ())) == 2 for block in X)
    if isinstance(X, bytes | Mapping | set | frozenset | range | type):
        return False
    if module_of(X) == "pyarrow":
        return True
    if any(hasattr(X, name) for name in ("__array__", "__array_interface__", "__dataframe__", "shape", "dtype")):
        return False
    return callable(X) or hasattr(X, "__iter__")


def compute_moments(blocks: Blocks, apply: Apply, *, products: bool = False, weighted: bool = False) -> Moments:
    """Compute the moments in one pass over the blocks; with ``weighted`` their last column is the weight."""
    moments = blocks.reduce(_block_moments, (products, weighted), apply)
    if moments is None:
        raise InvalidParameterError("X", must="contain at least one row, got no blocks or only empty ones")
    return moments


def _block_moments(block: np.ndarray, shared: tuple[bool, bool], apply: Apply) -> Moments:
    products, weighted = shared
    if not weighted:
        return Moments.from_rows(block, np.empty(0), products=products)
    return Moments.from_rows(block[:, :-1], block[:, -1], products=products)


def sample_rows(n: int, size: int, random_state: Seed) -> np.ndarray:
    """Draw ``size`` of n row numbers without replacement, in increasing order; return all numbers if n <= ``size``.

    The sample depends on the seed and on the number of rows, not on the blocks.
    """
    if n <= size:
        return np.arange(n)
    return np.sort(as_generator(random_state).choice(n, size, replace=False))


def weighted_sample(blocks: Blocks, size: int, random_state: Seed) -> tuple[np.ndarray, np.ndarray]:
    """Draw row numbers in proportion to the last column, one from each of ``size`` equal parts of its sum.

    Return the distinct numbers, sorted, and how often each was drawn. This takes two passes.
    """
    sums = np.array(blocks.map_numbered(_sum_weights, None))
    ends = np.cumsum(sums)
    at = (np.arange(size) + as_generator(random_state).random(size)) / size * ends[-1]
    which = np.minimum(np.searchsorted(ends, at, side="right"), np.flatnonzero(sums)[-1])
    parts = blocks.map_numbered(_find_rows, (at - (ends - sums)[which], which))
    rows, times = np.unique(np.concatenate(parts), return_counts=True)
    return rows, times.astype(float)


def _sum_weights(block: np.ndarray, start: int, number: int, shared: None) -> float:
    return float(np.cumsum(block[:, -1])[-1]) if len(block) else 0.0


def _find_rows(block: np.ndarray, start: int, number: int, shared: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the numbers of the rows of this block at the points ``at`` of the cumulative sum of weights."""
    at, which = shared
    reach = np.cumsum(block[:, -1])
    places = np.searchsorted(reach, at[which == number], side="right")
    return start + np.minimum(places, np.flatnonzero(block[:, -1])[-1]) if len(places) else np.empty(0, np.int64)
