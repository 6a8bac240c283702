"""Equal rows, which methods that compare rows with their neighbors treat as one row with a weight.

Rows at distance zero would otherwise be the nearest neighbors of each other, and support only
themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from dempster._arrays import rows_of_entries
from dempster.dissimilarity.sources import (
    DissimilaritySource,
    References,
    SparseSource,
)

Source = DissimilaritySource | SparseSource
# Distances that are computed from squares of double precision are accurate to about the root of
# the machine epsilon, relative to the other distances. Smaller ones are zero.
_SMALLEST = 10 * float(np.sqrt(np.finfo(float).eps))


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The g distinct rows among n rows."""

    source: Source  # the distinct rows
    first: np.ndarray  # (g,), index of the first copy of each distinct row
    group: np.ndarray  # (n,), index of the distinct row of each row
    sizes: np.ndarray  # (g,), number of copies, divided by its mean

    @classmethod
    def from_source(cls, source: Source) -> DistinctRows:
        """Find the distinct rows; in a matrix, they have dissimilarity zero up to rounding."""
        first, group = np.unique(find_first_copies(source), return_inverse=True)
        group = group.reshape(-1)
        if isinstance(source, SparseSource):
            matrix = sparse.csr_matrix(source.stored)
            source = SparseSource(merge_columns(matrix[first], group, len(first)))
        elif len(first) < len(group):
            source = source.subset(first)
        copies = np.bincount(group)
        return cls(source, first, group, copies / copies.mean())

    def __len__(self) -> int:
        return len(self.first)

    @property
    def n_rows(self) -> int:
        """Number of rows, including all copies."""
        return len(self.group)

    def subset(self, which: np.ndarray) -> DistinctRows:
        """Return some of the distinct rows, with their weights."""
        assert isinstance(self.source, DissimilaritySource)
        rows = np.arange(len(which))
        sizes = self.sizes[which]
        return DistinctRows(self.source.subset(which), rows, rows, sizes / sizes.mean())

    def references(self) -> References:
        """Return the distinct rows as reference objects."""
        kept = None
        if (
            isinstance(self.source, DissimilaritySource)
            and self.source.metric != "precomputed"
        ):
            kept = self.source
        return References(self.first, self.n_rows, kept)


def merge_columns(
    matrix: sparse.csr_matrix, group: np.ndarray, n_groups: int
) -> sparse.csr_matrix:
    """Return a sparse matrix with one column for each group of columns, the smallest entry."""
    if n_groups == len(group):
        return matrix
    rows = rows_of_entries(matrix.indptr)
    columns = group[matrix.indices]
    order = np.lexsort((matrix.data, columns, rows))
    rows = rows[order]
    columns = columns[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = (np.diff(rows) > 0) | (np.diff(columns) > 0)
    indptr = np.searchsorted(rows[is_first], np.arange(matrix.shape[0] + 1))
    entries = matrix.data[order[is_first]], columns[is_first], indptr
    return sparse.csr_matrix(entries, (matrix.shape[0], n_groups))


def find_first_copies(source: Any) -> np.ndarray:
    """Return the index of the first copy of each row."""
    if getattr(source, "objects", None) is not None:
        known: dict[bytes, int] = {}
        keys = source.keys(source.objects)
        return np.array([known.setdefault(key, row) for row, key in enumerate(keys)])
    if isinstance(source, SparseSource):
        stored = sparse.coo_matrix(source.stored)
        is_zero = stored.data == 0
        rows = stored.row[is_zero]
        columns = stored.col[is_zero]
    else:
        D = np.asarray(source.matrix)
        rows, columns = np.nonzero(_SMALLEST * np.median(D, axis=1, keepdims=True) >= D)
    n = len(source)
    pairs = sparse.coo_matrix((np.ones(len(rows), bool), (rows, columns)), (n, n))
    _, group = sparse.csgraph.connected_components(pairs, directed=False)
    return np.unique(group, return_index=True)[1][group]


def without_common_repetition(source: DissimilaritySource) -> np.ndarray:
    """Return the indices of the rows that remain if a repeated table is replaced by the table.

    If the numbers of copies of all rows have a common divisor, each number is divided by it. Other
    equal rows remain, because they are independent observations, and so do all rows if each one has
    more copies than there are distinct rows, which are then the values of discrete attributes.
    """
    group = np.unique(find_first_copies(source), return_inverse=True)[1].reshape(-1)
    copies = np.bincount(group)
    common = np.gcd.reduce(copies)
    if common == 1 or common > len(copies):
        return np.arange(len(group))
    order = np.argsort(group, kind="stable")
    number = np.empty(len(group), np.int64)
    number[order] = np.arange(len(group)) - np.repeat(
        np.cumsum(copies) - copies, copies
    )
    return np.flatnonzero(number < copies[group] // common)
