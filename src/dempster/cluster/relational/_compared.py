"""Objects that are compared with each other, by a matrix or block by block.

Up to 5,000 objects the whole matrix of dissimilarities is kept; above, objects that were not given by a matrix are
compared when asked, no more of them at once than fit in memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dempster.cluster._starts import order_along_line
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import row_blocks

__all__ = ["ComparedObjects", "blocks_of_rows", "raised"]

WHOLE_MATRIX = 5_000  # objects up to which the matrix of dissimilarities is kept: 200 MB
CELLS = 4_000_000  # dissimilarities computed at once


def raised(values: np.ndarray, power: float) -> np.ndarray:
    """Dissimilarities to a power, in double precision."""
    values = np.asarray(values, dtype=float)
    with np.errstate(over="ignore"):  # the masses are checked at the end
        return values if power == 1 else values**power


def blocks_of_rows(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    """Cut rows of dissimilarities into blocks that fit in memory."""
    return row_blocks(n_rows, max(1, CELLS // max(1, n_columns)), most=None)


class ComparedObjects:
    """n objects with weights, and their dissimilarities to some power. Objects of weight 0 represent no cluster."""

    def __init__(self, source: DissimilaritySource, power: float, weights: np.ndarray):
        self.source, self.power, self.weights = source, power, weights

    def __len__(self) -> int:
        return len(self.source)

    def subset(self, positions: np.ndarray, weights: np.ndarray) -> ComparedObjects:
        return ComparedObjects(self.source.subset(positions), self.power, weights)

    @cached_property
    def order(self) -> np.ndarray:
        """The objects along their sums of dissimilarities, which is the same order however the rows are permuted;
        without a matrix along a line through the attributes, if there are any."""
        if self.matrix is not None:
            return np.argsort(self.matrix @ self.weights, kind="stable")
        if isinstance(self.source, AttributeSource):
            return order_along_line(self.source.objects)
        return np.arange(len(self))

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """All dissimilarities, unless there are too many."""
        if self.source.matrix is not None:
            return raised(self.source.matrix, self.power)
        if len(self) > WHOLE_MATRIX:
            return None
        D = np.asarray(self.source.block(slice(None), slice(None)), dtype=float)
        D = raised((D + D.T) / 2, self.power)
        np.fill_diagonal(D, 0)
        return D

    def columns(self, objects: np.ndarray) -> np.ndarray:
        """(n, k) dissimilarities to a few objects, zero for their twins."""
        if self.source.matrix is not None:
            return np.ascontiguousarray(raised(self.source.matrix[objects].T, self.power))
        out = np.empty((len(self), len(objects)))
        if len(objects) == 0:  # metrics do not compare with nobody
            return out
        everyone, few = self.source.objects, self.source.objects[objects]
        for start, stop in blocks_of_rows(len(self), len(objects)):
            out[start:stop] = self.source.between(everyone[start:stop], few, exact=True)
        return raised(out, self.power)

    def block(self, rows: Any, columns: np.ndarray | None = None) -> np.ndarray:
        """Dissimilarities of some objects to some (None: all); no more at once than `blocks_of` says."""
        if columns is not None and len(columns) == len(self):
            columns = None
        if self.matrix is not None:
            return self.matrix[rows] if columns is None else self.matrix[rows][:, columns]
        return raised(self.source.block(rows, slice(None) if columns is None else columns), self.power)

    def blocks_of(self, k: int) -> list[tuple[int, int]]:
        """Cut k objects into blocks whose dissimilarities to all fit in memory."""
        return blocks_of_rows(k, len(self))

    def sums(self, weights: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
        """(c, k) sum over i of weights[i] d(i, o) for every candidate o (None: all objects)."""
        if candidates is None and self.matrix is not None:
            return weights.T @ self.matrix
        who = np.arange(len(self)) if candidates is None else candidates
        parts = [self.block(who[a:b]) @ weights for a, b in self.blocks_of(len(who))]
        return np.concatenate(parts).T
