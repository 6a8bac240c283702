"""Blocks of rows, and how X is opened as such: one protocol for everything that is read block by block.

=====================================  ============================================================================
X                                      read
=====================================  ============================================================================
path of a Parquet file or folder       a batch of rows at a time (needs pyarrow)
PyArrow dataset or table               likewise
list or tuple of arrays or tables      one after the other
iterable that is no array or table     its blocks, from the beginning at every pass
function without arguments             the blocks of what it returns, called at every pass
Dask array or DataFrame                where the blocks are, as tasks
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
from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._types import Seed
from dempster._validation import has_missing, mean_of_rows
from dempster.optimize.blocks import Apply


@dataclass(frozen=True)
class Moments:
    """Deviations are taken from the means of the blocks, and then corrected (Chan, Golub and LeVeque, 1983): sums of
    squares lose their digits far from the origin.

    Attributes
    ----------
    n : int
        Number of objects.
    weight : float
        Sum of their weights.
    present : (p,) array
        Sum of the weights of the objects that have an attribute.
    mean : (p,) array
        Over these.
    scatter : (p, p) or (p,) array
        Weighted sum of (x - mean)(x - mean)', or its diagonal; a matrix only of objects that lack nothing.
    low, high : (p,) arrays
        Smallest and largest values; NaN where there are none.
    """

    n: int
    weight: float
    present: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray, *, products: bool) -> Moments:
        """Those of some objects; ``weights`` is empty if all count alike, ``products``: whether the scatter is a
        matrix."""
        values = X.astype(float)
        if len(weights) == 0 and not has_missing(values):
            mean = mean_of_rows(values)
            gap = values - mean
            scatter = gap.T @ gap if products else np.einsum("ij,ij->j", gap, gap)
            total = float(len(X))
            return cls(len(X), total, np.full(len(mean), total), mean, scatter, values.min(axis=0), values.max(axis=0))
        there = ~np.isnan(values)
        shares = there * (np.ones(len(X)) if len(weights) == 0 else weights)[:, None]
        present = shares.sum(axis=0)
        low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        mean = np.einsum("ij,ij->j", shares, np.where(there, values, 0.0)) / np.where(present > 0, present, 1.0)
        mean = np.fmax(np.fmin(mean, high), low)
        gap = np.where(there, values - mean, 0.0)
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
        """Mean squared distance of the objects to their mean: the sum of the variances of the attributes."""
        squares = np.diagonal(self.scatter) if self.scatter.ndim == 2 else self.scatter
        return float((squares / np.where(self.present > 0, self.present, 1.0)).sum())


BlockFunction = Callable[[np.ndarray, Any, Apply], Any]
"""A pure function of a block, of what all blocks share (a model), and of threads to work with."""


class Blocks(ABC):
    """Rows that come block by block, those of X or what was made of them.

    Attributes
    ----------
    width : int or None
        Number of columns; None if each row is one number.
    names : tuple of str or None
    dtype : numpy.dtype
    n_rows : int or None
        None if it is not known before all blocks were read.
    """

    width: int | None
    names: tuple[str, ...] | None
    dtype: np.dtype
    n_rows: int | None

    @abstractmethod
    def blocks(self) -> Iterator[np.ndarray]:
        """The blocks in order, one in memory at a time."""

    @abstractmethod
    def reduce(self, function: BlockFunction, shared: Any, apply: Apply) -> Any:
        """The sum of what a function gives for the blocks, added by ``+`` in an order that the blocks fix."""

    @abstractmethod
    def map(self, function: BlockFunction, shared: Any, width: int | None, dtype: np.dtype | type) -> Self:
        """What a function makes of the rows of each block, when it is asked for; as many rows."""

    @abstractmethod
    def with_column(self, column: Any) -> Self:
        """The same rows with one more number each, in double precision: their weights, which come as an array of all
        of them or in blocks as rows do, cut in any way."""

    @abstractmethod
    def positions(self) -> Self:
        """Where rows of one truth value each are true, counted from the first row of all blocks."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> np.ndarray:
        """Some rows, by their increasing numbers."""

    @abstractmethod
    def counted(self) -> int:
        """Number of rows; reads all blocks if it is not known."""

    @abstractmethod
    def each(self, function: Callable[[np.ndarray, int, int, Any], Any], shared: Any) -> list[Any]:
        """What a function gives for each block, the number of its first row, its own number, and what all share; it may
        write something, and must write the same if it is called again."""

    @abstractmethod
    def lazy(self) -> Any:
        """As users hold it: a Dask array where X is one, else these blocks themselves."""

    def compute(self) -> np.ndarray:
        """All rows in memory."""
        found = list(self.blocks())
        empty = np.empty((0,) if self.width is None else (0, self.width), self.dtype)
        return np.concatenate(found) if found else empty

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.compute()
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        rows = "an unknown number of" if self.n_rows is None else f"{self.n_rows:,}"
        columns = "" if self.width is None else f" with {self.width} columns"
        return f"{type(self).__name__}({rows} rows{columns}, {self.dtype}; compute() brings them into memory)"


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame; Dask is not imported for it."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def comes_in_blocks(X: Any) -> bool:
    """Whether X is read block by block, rather than as one table in memory."""
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


def moments_of(blocks: Blocks, apply: Apply, *, products: bool = False, weighted: bool = False) -> Moments:
    """One pass over the blocks; ``weighted``: whether their last column is a weight."""
    found = blocks.reduce(_moments, (products, weighted), apply)
    if found is None:
        raise InvalidInputError("X holds no objects: it has no blocks, or only empty ones")
    return found


def _moments(block: np.ndarray, shared: tuple[bool, bool], apply: Apply) -> Moments:
    products, weighted = shared
    if not weighted:
        return Moments.of(block, np.empty(0), products=products)
    return Moments.of(block[:, :-1], block[:, -1], products=products)


def sample_rows(n: int, size: int, random_state: Seed) -> np.ndarray:
    """Increasing numbers of rows drawn without replacement: all if there are no more than ``size``.

    They depend on the seed and on the number of rows, not on how these are cut into blocks.
    """
    if n <= size:
        return np.arange(n)
    return np.sort(generator(random_state).choice(n, size, replace=False))


def weighted_sample(blocks: Blocks, size: int, random_state: Seed) -> tuple[np.ndarray, np.ndarray]:
    """Increasing numbers of rows drawn in proportion to their last column, one from each of ``size`` equal shares of
    its sum, and how often each was drawn. One pass for the sums of the blocks, and one for the rows."""
    sums = np.array(blocks.each(_sum_of_weights, None))
    ends = np.cumsum(sums)
    at = (np.arange(size) + generator(random_state).random(size)) / size * ends[-1]
    which = np.minimum(np.searchsorted(ends, at, side="right"), np.flatnonzero(sums)[-1])
    found = blocks.each(_places_of_weights, (at - (ends - sums)[which], which))
    rows, times = np.unique(np.concatenate(found), return_counts=True)
    return rows, times.astype(float)


def _sum_of_weights(block: np.ndarray, start: int, number: int, shared: None) -> float:
    return float(np.cumsum(block[:, -1])[-1]) if len(block) else 0.0


def _places_of_weights(block: np.ndarray, start: int, number: int, shared: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Rows of this block in whose share of the sum the points ``at`` lie, counted from the first of all rows."""
    at, which = shared
    reach = np.cumsum(block[:, -1])
    places = np.searchsorted(reach, at[which == number], side="right")
    return start + np.minimum(places, np.flatnonzero(block[:, -1])[-1]) if len(places) else np.empty(0, np.int64)
