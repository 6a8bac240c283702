"""Which of the objects of a fit are nearest to new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster.dissimilarity.block_neighbors import nearest_columns, needs_blocks, rows_at_once
from dempster.dissimilarity.neighbors import check_neighbors, exact_index
from dempster.dissimilarity.references import References
from dempster.optimize.blocks import Apply, row_blocks

__all__ = ["ReferenceFinder"]

_QUERY_ROWS = 4096  # new objects that are looked up at once


class ReferenceFinder:
    """Finds the references nearest to new objects, exactly; what can be prepared for all of them is, once."""

    def __init__(self, references: References):
        self._references = references
        source = references.source
        self._index = None if source is None or needs_blocks(source) else exact_index(source, 1)
        # scikit-learn's trees share a buffer for this metric, and a function of the user's may not be safe in threads
        self._in_threads = source is None or not (source.metric == "mahalanobis" or callable(source.metric))

    def __call__(self, values: Any, k: int, apply: Apply) -> tuple[np.ndarray, np.ndarray]:
        """(n, k) references nearest to each of the new objects, nearest first, and their distances.

        ``values`` are the objects as `DissimilarityInput.new` reads them; references are counted from 0, in their
        own order.
        """
        rows = rows_at_once(len(self._references)) if self._index is None else _QUERY_ROWS
        tasks = [(values, k, start, stop) for start, stop in row_blocks(len(values), rows, most=None)]
        parts = apply(self._nearest, tasks) if self._in_threads else [self._nearest(*task) for task in tasks]
        index, distance = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        check_neighbors(index, distance, len(self._references))
        return index, distance

    def _nearest(self, values: Any, k: int, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        if self._index is None:
            return nearest_columns(self._references.dissimilarities(values, start, stop), k)
        distance, index = self._index.kneighbors(values[start:stop], n_neighbors=k)
        return index, distance
