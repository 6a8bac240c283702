"""Relational representation of a partition: masses on {empty, same, different, unknown} for pairs of objects.

It does not depend on the numbering of the clusters, so it is used to compare and combine partitions (Denoeux, Li and
Sriboonchitta, 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._validation import check, check_memory, choice, integer, validating
from dempster.belief import FocalSets, MassFunctions

_PAIRS_PER_BLOCK = 1 << 18  # number of pairs that are processed together
RELATIONS = ("empty", "same", "different", "unknown")


def pair_forms(family: FocalSets) -> np.ndarray:
    """Return (4, f, f) matrices O such that m_i' O m_j are the masses of empty, same, different and unknown.

    For two sets, E is one if either set is empty, S is one if both are the same singleton, and C is one if the sets are
    disjoint. The four matrices are E, S, C - E and 1 - C - S.
    """
    nothing = (family.cardinality == 0).astype(float)
    empty = np.maximum(nothing[:, None], nothing[None, :])
    same = np.diag((family.cardinality == 1).astype(float))
    return np.stack([empty, same, family.conflict - empty, 1 - family.conflict - same])


class RelationalPartition:
    """Masses on {empty, same, different, unknown} for pairs of objects, computed on access.

    No n x n array is kept in memory. Use selected pairs, blocks, or a sample.

    Parameters
    ----------
    partition : CredalPartition
    pairs : array-like of shape (p, 2), optional
        Pairs of row indices; None: all pairs i < j.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> cp = CredalPartition([[0.3, 0.6, 0.1, 0], [0, 0.7, 0.1, 0.2]], FocalSets.full(2))
    >>> cp.relational([(0, 1)]).masses.round(2)  # empty, same, different, unknown
    array([[0.3 , 0.43, 0.13, 0.14]])
    """

    def __init__(self, partition: MassFunctions, pairs: Any = None):
        if not isinstance(partition, MassFunctions):
            raise InvalidParameterError("partition", "a CredalPartition", partition)
        self.partition = partition = partition.to_numpy()
        self._forms = pair_forms(partition.focal_sets).astype(partition.masses.dtype)
        self._pairs = None if pairs is None else check_pair_indices(pairs, len(partition))

    @property
    def n_objects(self) -> int:
        return len(self.partition)

    def __len__(self) -> int:
        """Return the number of pairs."""
        n = self.n_objects
        return n * (n - 1) // 2 if self._pairs is None else len(self._pairs)

    @property
    def pairs(self) -> np.ndarray:
        """Pairs (p, 2); all pairs are in the order (0, 1), (0, 2), ..., (1, 2), ..."""
        if self._pairs is not None:
            return self._pairs
        return np.column_stack(np.triu_indices(self.n_objects, 1))

    @property
    def masses(self) -> np.ndarray:
        """Masses (p, 4) of empty, same, different and unknown for every pair, in the order of `pairs`."""
        if self._pairs is not None:
            return self.pair_masses(self._pairs)
        out = np.empty((len(self), 4), dtype=self.partition.masses.dtype)
        start = 0
        for rows, block in self.blocks():
            for i, row in zip(rows, block, strict=True):
                stop = start + self.n_objects - i - 1
                out[start:stop] = row[i - rows[0] + 1 :]
                start = stop
        return out

    def pair_masses(self, pairs: np.ndarray) -> np.ndarray:
        """Return the masses (p, 4) of the given pairs."""
        pairs = check_pair_indices(pairs, self.n_objects)
        masses = self.partition.masses
        out = np.empty((len(pairs), 4), dtype=masses.dtype)
        for start in range(0, len(pairs), _PAIRS_PER_BLOCK):
            i, j = pairs[start : start + _PAIRS_PER_BLOCK].T
            left, right = masses[i], masses[j]
            for k, form in enumerate(self._forms):
                out[start : start + len(i), k] = np.einsum("pf,pf->p", left @ form, right)
        return out

    def blocks(self, rows_at_once: int | None = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Iterate over all pairs in blocks of rows.

        Yields
        ------
        rows : array
            Row indices i of the block.
        masses : array of shape (len(rows), n - rows[0], 4)
            Masses of the pairs (i, j), j from the first row of the block to the last object; use only i < j.
        """
        check(rows_at_once, "rows_at_once", choice(None) | integer(1))
        masses, n = self.partition.masses, self.n_objects
        start = 0
        while start < n:
            size = int(rows_at_once or 0) or max(1, _PAIRS_PER_BLOCK // max(n - start, 1))
            rows = np.arange(start, min(start + size, n))
            left, right = masses[rows], masses[start:]
            block = np.empty((len(rows), n - start, 4), dtype=masses.dtype)
            for k, form in enumerate(self._forms):
                block[:, :, k] = (left @ form) @ right.T
            yield rows, block
            start = int(rows[-1]) + 1

    def totals(self) -> np.ndarray:
        """Return the sum (4,) of each mass over the pairs; the time for all pairs is linear in n."""
        if self._pairs is not None:
            return self.masses.sum(axis=0, dtype=float)
        masses = self.partition.masses
        column = masses.sum(axis=0, dtype=float)
        forms = self._forms.astype(float)
        # The sum over i < j of m_i' O m_j is ((sum m)' O (sum m) - sum m_i' O m_i) / 2 for symmetric O.
        diagonal = np.einsum("kfg,fg->k", forms, (masses.T @ masses).astype(float))
        return (np.einsum("f,kfg,g->k", column, forms, column) - diagonal) / 2

    def to_dense(self) -> np.ndarray:
        """Return all masses (4, n, n), for small n; the diagonal is "same"."""
        masses = self.partition.masses
        out = np.stack([(masses @ form) @ masses.T for form in self._forms])
        for k, relation in enumerate(RELATIONS):
            np.fill_diagonal(out[k], float(relation == "same"))
        return out

    def to_frame(self):
        """Return a DataFrame with one row for each pair."""
        import pandas as pd

        pairs = self.pairs
        return pd.DataFrame(self.masses, columns=list(RELATIONS), index=pd.MultiIndex.from_arrays(list(pairs.T)))

    def __repr__(self) -> str:
        which = "all pairs" if self._pairs is None else "selected pairs"
        return f"RelationalPartition({len(self)} pairs of {self.n_objects} objects, {which})"


def sample_pairs(n: int, n_pairs: int, random_state: Any = None) -> np.ndarray:
    """Draw (n_pairs, 2) pairs i < j uniformly, with replacement."""
    check_memory(32 * n_pairs, f"n_pairs={n_pairs:,}", "take fewer pairs")
    rng = as_generator(random_state)
    first = rng.integers(0, n, n_pairs)
    second = rng.integers(0, n - 1, n_pairs)
    second += second >= first
    return np.sort(np.column_stack([first, second]), axis=1)


def check_pair_indices(pairs: Any, n: int) -> np.ndarray:
    """Return pairs of different objects as a (p, 2) array; raise an error if an index is not in 0..n-1."""
    with validating(pairs, "pairs"):
        pairs = np.asarray(pairs)
    if pairs.size == 0 and pairs.ndim in (1, 2):
        return np.empty((0, 2), dtype=np.intp)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidParameterError("pairs", must=f"be an integer array of shape (p, 2), got shape {pairs.shape}")
    if pairs.min() < 0 or pairs.max() >= n:
        must = f"contain row indices from 0 to {n - 1}, got {pairs.min()} to {pairs.max()}"
        raise InvalidParameterError("pairs", must=must)
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise InvalidParameterError("pairs", must="contain two different objects each")
    return pairs
