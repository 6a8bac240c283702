"""The one protocol of blocks, and the door to it: a method asks for what it needs, whatever X is.

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
from typing import Any, Self

import numpy as np

from dempster._arrays import made_by
from dempster.optimize.blocks import Apply

__all__ = ["Blocks", "BlockFunction", "comes_in_blocks", "is_dask"]

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
    def beside(self, column: Any) -> Self:
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
    if made_by(X) == "pyarrow":
        return True
    if any(hasattr(X, name) for name in ("__array__", "__array_interface__", "__dataframe__", "shape", "dtype")):
        return False
    return callable(X) or hasattr(X, "__iter__")
