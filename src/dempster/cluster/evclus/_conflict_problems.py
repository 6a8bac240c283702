"""The two problems behind EVCLUS: match the conflicts of all pairs of objects, or of some.

Both minimise stress + penalty: the squared differences of conflict and dissimilarity over their pairs, divided by the
squared dissimilarities, plus the weight of the constraints (Li, Li, Denoeux and Boukebir, 2018, eq. 12).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dempster.belief import FocalSets
from dempster.constraints import Constraints
from dempster.constraints import links as linked_pairs
from dempster.optimize.conflict_fit import descend_all_pairs, descend_some_pairs, is_simple_family, pairs_value
from dempster.optimize.row_fit import symmetric_pairs

__all__ = ["ConflictProblem", "AllPairs", "SomePairs", "Links", "link_form"]

_ROWS = 1024  # of the conflicts of all pairs, held at once


@dataclass(frozen=True)
class Links:
    """Constraints between the objects of a problem: symmetric adjacency with +1 (must-link) and -1 (cannot-link)."""

    indptr: np.ndarray
    indices: np.ndarray
    signs: np.ndarray

    @property
    def n_must(self) -> int:
        return int(np.sum(self.signs > 0)) // 2

    @property
    def n_cannot(self) -> int:
        return int(np.sum(self.signs < 0)) // 2

    def __len__(self) -> int:
        return len(self.signs) // 2

    @classmethod
    def of(cls, constraints: Constraints | None, n: int) -> Links:
        """Those of n objects; none without constraints."""
        return cls.none(n) if constraints is None else cls(*linked_pairs(constraints, n))

    @classmethod
    def none(cls, n: int) -> Links:
        return cls(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))

    def among(self, which: np.ndarray) -> Links:
        """The links between some of the objects, renumbered."""
        from scipy.sparse import csr_matrix

        n = len(self.indptr) - 1
        part = csr_matrix((self.signs, self.indices, self.indptr), shape=(n, n))[which][:, which].tocsr()
        part.sort_indices()
        return Links(part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data.astype(float))

    @property
    def objects(self) -> np.ndarray:
        """Positions of the objects that have links."""
        return np.flatnonzero(np.diff(self.indptr) > 0)


def link_form(family: FocalSets) -> np.ndarray:
    """Z with m_i' Z m_j = pl(different) + 1 - pl(same): 0 when two objects are surely together, 2 when surely apart."""
    nothing = (family.cardinality == 0).astype(float)
    empty = np.maximum(nothing[:, None], nothing[None, :])
    same = np.diag((family.cardinality == 1).astype(float))
    return np.ascontiguousarray(1 + family.conflict - empty - same)


class ConflictProblem(ABC):
    """Pairs with their dissimilarities, for any family of focal sets."""

    n: int
    total: float  # sum over the pairs of w delta^2
    n_pairs: float  # sum over the pairs of w

    @abstractmethod
    def _descend(self, masses, conflict, simple, order, max_iter, tol, constant, links): ...

    @abstractmethod
    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        """Sum over the pairs of w (conflict - delta)^2."""

    def stress(self, masses: np.ndarray, family: FocalSets) -> float:
        """The objective without constraints."""
        return self.squares(masses, family) / self.total

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
        """Masses, objective after every sweep, and whether it converged."""
        masses = np.array(masses, dtype=float, order="C")
        conflict = np.array(family.conflict)
        # stress + xi / (2 N_c) [sum_ML m'Zm + sum_CL (2 - m'Zm)], in units of the sum of squares
        weight = self.total * xi / (2 * len(links)) if len(links) else 0.0
        linear = (links.indptr, links.indices, weight * links.signs, link_form(family))
        history, converged = self._descend(
            masses, conflict, is_simple_family(conflict), order, max_iter, tol, 2 * weight * links.n_cannot, linear
        )
        return masses, np.maximum(history, 0) / self.total, bool(converged)


class AllPairs(ConflictProblem):
    """Every pair of n objects, from the (n, n) matrix of conflicts wanted; a pair counts as much as the product of the
    weights (None: one each)."""

    def __init__(self, delta: np.ndarray, weights: np.ndarray | None = None):
        self.delta = np.ascontiguousarray(delta, dtype=float)
        self.n = len(delta)
        self.weights = np.ones(self.n) if weights is None else np.asarray(weights, dtype=float)
        self.total = float(np.sum(self.delta**2 * self.weights, axis=1) @ self.weights) / 2
        self.n_pairs = (float(np.sum(self.weights)) ** 2 - float(np.sum(self.weights**2))) / 2

    def _descend(self, masses, conflict, simple, order, max_iter, tol, constant, links):
        return descend_all_pairs(
            masses, self.delta, self.weights, conflict, simple, order, max_iter, tol, constant, links
        )

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        image = masses @ family.conflict
        own = self.weights * np.einsum("ia,ia->i", image, masses)
        total = -float(own @ own)  # pairs of an object with itself are no pairs
        for start in range(0, self.n, _ROWS):
            rows = slice(start, start + _ROWS)
            gap = image[rows] @ masses.T - self.delta[rows]
            total += float(self.weights[rows] @ np.einsum("ij,ij,j->i", gap, gap, self.weights))
        return total / 2


class SomePairs(ConflictProblem):
    """Chosen pairs (p, 2) with weights."""

    def __init__(self, n: int, pairs: np.ndarray, weights: np.ndarray, delta: np.ndarray):
        self.n = n
        self.indptr, self.indices, self.weights, which = symmetric_pairs(n, pairs, weights)
        self.delta = np.asarray(delta, dtype=float)[which]
        self.total = float(np.sum(weights * delta**2))
        self.n_pairs = float(np.sum(weights))

    def _descend(self, masses, conflict, simple, order, max_iter, tol, constant, links):
        return descend_some_pairs(
            masses, self.indptr, self.indices, self.weights, self.delta, conflict, simple, order, max_iter, tol,
            constant, links,
        )  # fmt: skip

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        conflict, masses = np.array(family.conflict), np.ascontiguousarray(masses, dtype=float)
        simple = is_simple_family(conflict)
        return float(pairs_value(masses, self.indptr, self.indices, self.weights, self.delta, conflict, simple))
