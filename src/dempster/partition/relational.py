"""Relational representation of a partition by mass functions on pairs of objects.

For each pair, the masses of same cluster, different clusters, same or different (unknown) and the
empty set do not depend on the numbering of the clusters. They are therefore used to compare and
combine partitions (Denoeux, Li and Sriboonchitta, 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dempster._arrays import (
    decompress,
    is_sparse,
    row_products,
    row_slices,
    rows_of_entries,
)
from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._validation import check, check_memory, is_integer, kind, validating
from dempster.belief import FocalSets, MassFunctions

_PAIRS_PER_BLOCK = 1 << 18  # Number of pairs that are processed together.
RELATIONS = ("empty", "same", "different", "unknown")


def pair_forms(family: FocalSets) -> np.ndarray:
    """Return the matrices of the four pairwise masses (see `RELATIONS`), shape (4, f, f).

    For a matrix O and two objects with masses m_i and m_j, m_i' O m_j is the pairwise mass. For two
    focal sets, let E be 1 if one of them is empty, S be 1 if both are the same singleton, and C be
    1 if they are disjoint, else 0. The four matrices are E, S, C - E and 1 - C - S.
    """
    nothing = (family.cardinality == 0).astype(float)
    empty = np.maximum.outer(nothing, nothing)
    same = np.diag((family.cardinality == 1).astype(float))
    return np.stack([empty, same, family.conflict - empty, 1 - family.conflict - same])


class RelationalPartition:
    """Masses of empty, same cluster, different clusters and unknown for pairs of objects.

    The masses are computed on access, so no n x n array is stored.

    Parameters
    ----------
    partition : CredalPartition
        Partition of n objects.
    pairs : array-like of shape (p, 2), optional
        Pairs of row indices; by default all pairs i < j.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> cp = CredalPartition([[0.3, 0.6, 0.1, 0], [0, 0.7, 0.1, 0.2]], FocalSets.full(2))
    >>> cp.relational([(0, 1)]).masses.round(2)  # empty, same, different, unknown
    array([[0.3 , 0.43, 0.13, 0.14]])
    """

    def __init__(self, partition: MassFunctions, pairs: Any = None):
        check(partition, "partition", kind(MassFunctions))
        self.partition = partition = partition.to_numpy()
        self._forms = pair_forms(partition.focal_sets).astype(partition.dtype)
        if pairs is not None:
            pairs = check_pair_indices(pairs, len(partition))
        self._pairs = pairs

    @property
    def n_objects(self) -> int:
        return len(self.partition)

    def __len__(self) -> int:
        n = self.n_objects
        if self._pairs is None:
            return n * (n - 1) // 2
        return len(self._pairs)

    @property
    def pairs(self) -> np.ndarray:
        """Pairs of row indices, shape (p, 2), by default (0, 1), (0, 2), ..., (1, 2), ..."""
        if self._pairs is not None:
            return self._pairs
        return np.column_stack(np.triu_indices(self.n_objects, 1))

    @property
    def masses(self) -> np.ndarray:
        """Masses of empty, same, different and unknown for each pair of `pairs`, shape (p, 4)."""
        if self._pairs is not None:
            return self.pair_masses(self._pairs)
        out = np.empty((len(self), 4), self.partition.dtype)
        start = 0
        for rows, block in self.blocks():
            for i, row in zip(rows, block, strict=True):
                stop = start + self.n_objects - i - 1
                out[start:stop] = row[i - rows[0] + 1 :]
                start = stop
        return out

    def pair_masses(self, pairs: np.ndarray) -> np.ndarray:
        """Return the masses of empty, same, different and unknown for the given pairs.

        Parameters
        ----------
        pairs : integer array of shape (p, 2)
            Pairs of object indices.

        Returns
        -------
        array of shape (p, 4)
        """
        pairs = check_pair_indices(pairs, self.n_objects)
        masses = self.partition.stored_masses
        out = np.empty((len(pairs), 4), masses.dtype)
        if is_sparse(masses):
            self._write_sparse_products(pairs[:, 0], pairs[:, 1], out)
            return out
        for block in row_slices(len(pairs), _PAIRS_PER_BLOCK):
            i, j = pairs[block].T
            left = masses[i]
            right = masses[j]
            for k, form in enumerate(self._forms):
                out[block, k] = row_products(left, form, right)
        return out

    def _write_sparse_products(
        self, i: np.ndarray, j: np.ndarray, out: np.ndarray
    ) -> None:
        """Write the masses of pairs of compressed rows, which have few focal sets.

        The product with a form is computed once for each different row i.
        """
        masses = self.partition.stored_masses
        order = np.argsort(i, kind="stable")
        which, first = np.unique(i[order], return_index=True)
        ends = np.append(first, len(i))
        size = max(1, _PAIRS_PER_BLOCK // masses.shape[1])
        for some in row_slices(len(which), size):
            stop = min(some.stop, len(which))
            rows = which[some.start : stop]
            pairs = order[ends[some.start] : ends[stop]]
            right = masses[j[pairs]]
            pair = rows_of_entries(right.indptr)
            places = np.searchsorted(rows, i[pairs])[pair], right.indices
            left = decompress(masses[rows])
            for k, form in enumerate(self._forms):
                products = (left @ form)[places] * right.data
                out[pairs, k] = np.bincount(pair, products, len(pairs))

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Iterate over all pairs in blocks of rows, whose number limits the memory.

        Yields
        ------
        rows : array
            Row indices i of the block.
        masses : array of shape (len(rows), n - rows[0], 4)
            Masses of the pairs (i, j) for all objects j from the first row of the block; use only
            those with i < j.
        """
        masses = self.partition.stored_masses
        n = self.n_objects
        start = 0
        while start < n:
            size = max(1, _PAIRS_PER_BLOCK // (n - start))
            rows = np.arange(start, min(start + size, n))
            left = decompress(masses[rows])
            right = masses[start:]
            block = np.empty((len(rows), n - start, 4), masses.dtype)
            for k, form in enumerate(self._forms):
                block[:, :, k] = (left @ form) @ right.T
            yield rows, block
            start = int(rows[-1]) + 1

    def totals(self) -> np.ndarray:
        """Return the sums of the four masses over the pairs; the time for all pairs is linear in n.

        Returns
        -------
        array of shape (4,)
        """
        if self._pairs is not None:
            return self.masses.sum(axis=0, dtype=float)
        masses = self.partition.stored_masses
        column = masses.sum(axis=0, dtype=float)
        forms = self._forms.astype(float)
        # For symmetric O and m = sum_i m_i, the sum of m_i' O m_j over i < j is (m' O m - sum_i
        # m_i' O m_i) / 2.
        products = decompress(masses.T @ masses).astype(float)
        diagonal = np.einsum("kfg,fg->k", forms, products)
        return (np.einsum("f,kfg,g->k", column, forms, column) - diagonal) / 2

    def to_dense(self) -> np.ndarray:
        """Return the masses of all pairs, for small n.

        Returns
        -------
        array of shape (4, n, n)
            On the diagonal, the mass of "same" is 1.
        """
        masses = self.partition.stored_masses
        out = np.stack([(masses @ form) @ masses.T for form in self._forms])
        for k, relation in enumerate(RELATIONS):
            np.fill_diagonal(out[k], float(relation == "same"))
        return out

    def __repr__(self) -> str:
        which = "all pairs" if self._pairs is None else "selected pairs"
        return f"RelationalPartition({len(self)} pairs of {self.n_objects} objects, {which})"


def sample_pairs(n: int, n_pairs: int, random_state: Any = None) -> np.ndarray:
    """Draw pairs i < j uniformly with replacement; return an array of shape (n_pairs, 2)."""
    check_memory(32 * n_pairs, f"n_pairs={n_pairs:,}", "use fewer pairs")
    rng = as_generator(random_state)
    first = rng.integers(0, n, n_pairs)
    second = rng.integers(0, n - 1, n_pairs)
    second += second >= first
    return np.sort(np.column_stack([first, second]))


def read_pairs(pairs: Any, name: str) -> np.ndarray:
    """Return pairs of indices as an integer array of shape (p, 2)."""
    with validating(pairs, name):
        array = np.asarray(pairs)
        if array.dtype == object and all(map(is_integer, array.flat)):
            array = array.astype(np.int64)
    if array.size == 0 and array.ndim in (1, 2):
        return np.empty((0, 2), np.intp)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        got = f"got shape {array.shape} of type {array.dtype}"
        raise InvalidParameterError(
            name, must=f"contain pairs of integers, shape (p, 2), {got}"
        )
    return array


def check_pair_indices(pairs: Any, n: int) -> np.ndarray:
    """Return pairs as an array of shape (p, 2).

    Raise an error if they are not pairs of two different rows below n.
    """
    pairs = read_pairs(pairs, "pairs")
    if len(pairs) == 0:
        return pairs
    if pairs.min() < 0 or pairs.max() >= n:
        must = (
            f"contain row indices from 0 to {n - 1}, got {pairs.min()} to {pairs.max()}"
        )
        raise InvalidParameterError("pairs", must=must)
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise InvalidParameterError(
            "pairs", must="contain two different objects in each pair"
        )
    return pairs
