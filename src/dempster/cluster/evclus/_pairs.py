"""Optimization problem of EVCLUS: conflicts between pairs of objects match target conflicts.

`AllPairs` and `SomePairs` minimize the stress from initial masses, with or without constraints.
`WeightedPairs` contains the dissimilarities of pairs of objects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy import sparse

from dempster._arrays import rows_of_entries
from dempster._native import Kernel
from dempster.belief import FocalSets
from dempster.cluster._revision import Links
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.dissimilarity.transform import sample_pairs
from dempster.optimize.row_fit import (
    descend_all_pairs,
    descend_near_pairs,
    descend_rows,
    descend_some_pairs,
    is_simple_family,
    pairs_value,
    symmetric_pairs,
)

# maximum number of objects for which all pairs are used by default
MAX_ALL_PAIRS_ROWS = 1000

# ---- constraints ---------------------------------------------------------------------------------


def link_form(family: FocalSets) -> np.ndarray:
    """Return the matrix Z such that m_i' Z m_j = pl(different) + 1 - pl(same).

    The two objects have the masses m_i and m_j. pl(same) and pl(different) are the plausibilities
    that they are in the same cluster or in different clusters. The value is 0 if they are certainly
    in the same cluster, and 2 if they are certainly in different clusters.
    """
    nothing = (family.cardinality == 0).astype(float)
    empty = np.maximum.outer(nothing, nothing)
    same = np.diag((family.cardinality == 1).astype(float))
    return np.ascontiguousarray(1 + family.conflict - empty - same)


# ---- problems ------------------------------------------------------------------------------------

# With more clusters, an object has masses only on some of them, which costs accuracy.
_MAX_CLUSTERS_PER_ROW = 100
_FAR = 0.95  # Objects with at least this target conflict are distant.
_CLEAR = 0.05  # Sets with a smaller mass are not offered to near objects.
# number of objects whose conflicts with all objects are computed at once
_ROWS_PER_BLOCK = 1024


class ConflictProblem(ABC):
    """Pairs of objects with weights w and target conflicts delta, for any family of focal sets."""

    kernel: Kernel  # compiled function that minimizes the objective
    arrays: tuple[np.ndarray, ...]  # arguments of the kernel
    total: float  # sum of w delta^2 over the pairs; 1 if all objects are equal

    @abstractmethod
    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        """Return the sum of w (conflict - delta)^2 over the pairs, the stress times ``total``."""

    def descend(
        self,
        masses: np.ndarray,
        family: FocalSets,
        order: np.ndarray,
        max_iter: int,
        tol: float,
        links: Links,
        xi: float,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Minimize the objective in sweeps.

        Return the masses, all objectives, and whether the sweeps converged.
        """
        masses = np.array(masses, float, order="C")
        conflict = np.array(family.conflict)
        # The objective is stress + xi / (2 N_c) [sum_ML m'Zm + sum_CL (2 - m'Zm)]; the kernel
        # multiplies it by total.
        weight = self.total * xi / (2 * max(len(links), 1))
        n_cannot = int(np.sum(links.signs < 0)) // 2
        history, converged = descend_rows(
            self.kernel,
            masses,
            *self.arrays,
            conflict,
            is_simple_family(conflict),
            order,
            max_iter,
            tol,
            2 * weight * n_cannot,
            links.indptr,
            links.indices,
            weight * links.signs,
            link_form(family),
            max_iter=max_iter,
        )
        return masses, np.maximum(history, 0) / self.total, converged


class AllPairs(ConflictProblem):
    """All pairs of n objects, weighted by the products of the weights of the objects.

    ``delta`` contains the target conflicts, shape (n, n).
    """

    kernel = descend_all_pairs

    def __init__(self, delta: np.ndarray, weights: np.ndarray | None = None):
        if weights is None:
            weights = np.ones(len(delta))
        self.delta = np.ascontiguousarray(delta, float)
        self.weights = np.asarray(weights, float)
        self.arrays = self.delta, self.weights
        total = float(np.sum(self.delta**2 * self.weights, axis=1) @ self.weights) / 2
        self.total = total or 1.0

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        image = masses @ family.conflict
        own = self.weights * np.einsum("ia,ia->i", image, masses)
        # The sum below includes the pairs of each object with itself.
        total = -float(own @ own)
        for start in range(0, len(masses), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            gap = image[rows] @ masses.T - self.delta[rows]
            total += float(
                self.weights[rows] @ np.einsum("ij,ij,j->i", gap, gap, self.weights)
            )
        return total / 2


class SomePairs(ConflictProblem):
    """Some pairs of n objects, with their weights.

    ``pairs`` contains the indices of the objects, shape (p, 2).
    """

    kernel = descend_some_pairs

    def __init__(
        self, n: int, pairs: np.ndarray, weights: np.ndarray, delta: np.ndarray
    ):
        *adjacency, which = symmetric_pairs(n, pairs, weights)
        self.arrays = *adjacency, np.asarray(delta, float)[which]
        self.total = float(np.sum(weights * delta**2)) or 1.0

    def descend(
        self,
        masses: np.ndarray,
        family: FocalSets,
        order: np.ndarray,
        max_iter: int,
        tol: float,
        links: Links,
        xi: float,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        is_simple = is_simple_family(np.array(family.conflict))
        has_few = family.n_clusters <= _MAX_CLUSTERS_PER_ROW
        if has_few or len(links) or not is_simple:
            return super().descend(masses, family, order, max_iter, tol, links, xi)
        sets = self._near_sets(masses)
        is_set = sets >= 0
        few = np.where(is_set, np.take_along_axis(masses, sets, axis=1), 0)
        history, converged = descend_rows(
            descend_near_pairs,
            few,
            sets,
            len(family),
            *self.arrays,
            order,
            max_iter,
            tol,
            max_iter=max_iter,
        )
        masses = np.zeros_like(masses)
        rows = np.nonzero(is_set)[0]
        masses[rows, sets[is_set]] = few[is_set]
        return masses, history / self.total, converged

    def _near_sets(self, masses: np.ndarray) -> np.ndarray:
        """Return the sets on which each object may have mass, as described in `row_fit`.

        They are the sets on which the object has mass, or a near object has a clear mass.
        """
        n, n_sets = masses.shape
        indptr, indices, _, delta = self.arrays
        near = sparse.csr_array((delta < _FAR, indices, indptr), shape=(n, n))
        used = sparse.csr_array(masses > 0)
        near_sets = near @ sparse.csr_array(masses > _CLEAR) + used
        near_sets.eliminate_zeros()
        near_sets.sort_indices()
        rows = rows_of_entries(near_sets.indptr)
        is_single = (near_sets.indices > 0) & (near_sets.indices < n_sets - 1)
        rows = rows[is_single]
        counts = np.bincount(rows, minlength=n)
        sets = np.full((n, counts.max() + 3), -1, np.int32)
        places = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
        sets[rows, places + 2] = near_sets.indices[is_single]
        sets[:, 0] = 0
        sets[np.arange(n), counts + 2] = n_sets - 1
        return sets

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        conflict = np.array(family.conflict)
        masses = np.ascontiguousarray(masses, float)
        return float(
            pairs_value(masses, *self.arrays, conflict, is_simple_family(conflict))
        )


# ---- dissimilarities of pairs --------------------------------------------------------------------


class WeightedPairs(NamedTuple):
    """Pairs of objects i and j with their dissimilarities and weights."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray
    weight: np.ndarray

    @classmethod
    def from_matrix(cls, D: np.ndarray) -> WeightedPairs:
        """Return all pairs of objects with the dissimilarities D."""
        i, j = np.triu_indices(len(D), 1)
        return cls(i, j, D[i, j], np.ones(len(i)))

    @classmethod
    def sample(
        cls,
        source: DissimilaritySource,
        rows: np.ndarray,
        n_pairs: int,
        rng: np.random.Generator,
    ) -> WeightedPairs:
        """Draw pairs of the objects ``rows``."""
        i, j = (rows[ends] for ends in sample_pairs(len(rows), n_pairs, rng))
        return cls(i, j, source.pairs(i, j), np.ones(n_pairs))

    @classmethod
    def from_source(
        cls,
        source: DissimilaritySource,
        rows: np.ndarray,
        n_pairs: int,
        rng: np.random.Generator,
    ) -> WeightedPairs:
        """Return all pairs of the objects ``rows``, or random pairs if there are many objects."""
        if len(rows) > MAX_ALL_PAIRS_ROWS:
            return cls.sample(source, rows, n_pairs, rng)
        pairs = cls.from_matrix(source.block(rows, rows))
        return pairs._replace(i=rows[pairs.i], j=rows[pairs.j])

    def multiply(self, weights: np.ndarray | None) -> WeightedPairs:
        """Multiply the weight of each pair by the weights of its objects, None if all are equal."""
        if weights is None:
            return self
        return self._replace(weight=self.weight * (weights[self.i] * weights[self.j]))

    def renumber(self, rows: np.ndarray) -> WeightedPairs:
        """Return the pairs with the position of each object in ``rows`` instead of its index."""
        order = np.argsort(rows)
        i, j = order[np.searchsorted(rows, [self.i, self.j], sorter=order)]
        return self._replace(i=i, j=j)
