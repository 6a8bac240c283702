"""Nearest neighbours by blocks of dissimilarities, for sources that give nothing else: exact, whatever the metric.

A tree leaves out objects because of the triangle inequality. Gower's dissimilarity of tables with missing cells breaks
it, and so may any function of the user's, so for those every object is compared with all others, some rows at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, MatrixSource
from dempster.optimize.blocks import block_map, row_blocks

__all__ = ["BlockFinder", "needs_blocks", "nearest_columns", "rows_at_once"]

_CELLS = 4_000_000  # dissimilarities that a thread holds at once


def needs_blocks(source: DissimilaritySource) -> bool:
    """Whether neighbours can be found by comparison with all objects only."""
    if isinstance(source, AttributeSource):
        return callable(source.metric) or source.lacks_cells
    return not isinstance(source, MatrixSource)


class BlockFinder:
    """Finds neighbours by comparison with all objects; of equally near ones the first."""

    kind = "exact"

    def __init__(self, source: DissimilaritySource, n_jobs: int | None = None):
        self._source = source
        # a function of the user's may not be safe in threads, and holds the interpreter's lock anyway
        self._n_jobs = 1 if callable(source.metric) else n_jobs

    def __call__(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(r, k) positions of the k objects nearest to each of the objects ``rows``, nearest first, and distances."""
        with block_map(self._n_jobs) as apply:
            blocks = row_blocks(len(rows), rows_at_once(len(self._source)), most=None)
            parts = apply(self._nearest, [(rows[start:stop], k) for start, stop in blocks])
        return np.concatenate([index for index, _ in parts]), np.concatenate([distance for _, distance in parts])

    def _nearest(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        return nearest_columns(self._source.block(rows, slice(None)), k)


def rows_at_once(n_columns: int) -> int:
    """Rows of dissimilarities to so many objects that a thread may hold."""
    return max(1, _CELLS // n_columns)


def nearest_columns(block: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(r, k) columns of the k smallest values of each row, the smallest first, and the values; ties: the first column.

    Linear in the number of columns: only what is kept is sorted.
    """
    largest = np.partition(block, k - 1, axis=1)[:, k - 1 : k]
    nearer, tied = block < largest, block == largest
    room = k - np.count_nonzero(nearer, axis=1, keepdims=True)
    kept = nearer | (tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= room))
    index = np.nonzero(kept)[1].reshape(len(block), k)
    values = np.take_along_axis(block, index, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(values, order, axis=1)
