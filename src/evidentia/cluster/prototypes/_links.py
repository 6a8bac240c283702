"""Masses of objects tied by constraints: exact descent on one object after the other.

The constrained objective of CECM is quadratic in all masses and bilinear between linked objects, so it is not convex
in all of them but it is in each: a diagonal quadratic program on the simplex, solved exactly. Only linked objects take
part, and nothing larger than their masses is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import sparse

from evidentia.belief import FocalSets
from evidentia.constraints import Constraints, links
from evidentia.optimize.diagonal_qp import diagonal_simplex_qp

__all__ = ["LinkedObjects", "LinkTerms"]

_SWEEPS = 10  # over the linked objects in one mass step: more of them are better spent after the prototypes have moved
_SETTLED = 1e-6  # largest change of a mass that ends a mass step


@njit(cache=True, nogil=True, error_model="numpy")
def _linear_term(i, masses, indptr, indices, sign, must, cannot, around, out):
    """Gradient of the constraint terms in the masses of object i; ``around`` (2, f) is scratch."""
    f = masses.shape[1]
    around[:] = 0.0
    for e in range(indptr[i], indptr[i + 1]):
        other = masses[indices[e]]
        row = around[0] if sign[e] > 0 else around[1]
        for q in range(f):
            row[q] += other[q]
    out[:] = 0.0
    for r in range(f):  # both matrices are symmetric; many masses are zero
        if around[0, r] != 0:
            for q in range(f):
                out[q] += around[0, r] * must[r, q]
        if around[1, r] != 0:
            for q in range(f):
                out[q] += around[1, r] * cannot[r, q]


@njit(cache=True, nogil=True, error_model="numpy")
def sweep(costs, penalty, indptr, indices, sign, must, cannot, masses, max_sweeps, settled):
    """Minimise over the masses of one object after the other, in place, until none changes by more than ``settled``.

    ``costs`` (q, f) multiply the squared masses, ``penalty`` (q, f) the masses, ``must`` and ``cannot`` (f, f) the
    products of the masses of linked objects. Returns the number of sweeps.
    """
    n, f = costs.shape
    around = np.empty((2, f))
    linear = np.empty(f)
    best = np.empty(f)
    heap = np.empty(f, np.int64)
    for done in range(1, max_sweeps + 1):
        change = 0.0
        for i in range(n):
            _linear_term(i, masses, indptr, indices, sign, must, cannot, around, linear)
            for q in range(f):
                linear[q] += penalty[i, q]
            diagonal_simplex_qp(costs[i], linear, best, heap)
            for q in range(f):
                change = max(change, abs(best[q] - masses[i, q]))
                masses[i, q] = best[q]
        if change <= settled:
            return done
    return max_sweeps


@njit(cache=True, nogil=True, error_model="numpy")
def _pair_terms(masses, penalty, indptr, indices, sign, must, cannot):
    """Value of the constraint terms: half the sum over objects (each pair is met twice), and the penalties."""
    n, f = masses.shape
    around = np.empty((2, f))
    linear = np.empty(f)
    total = 0.0
    for i in range(n):
        _linear_term(i, masses, indptr, indices, sign, must, cannot, around, linear)
        for q in range(f):
            total += masses[i, q] * (0.5 * linear[q] + penalty[i, q])
    return total


@dataclass(frozen=True)
class LinkTerms:
    """Coefficients of the constraint terms for one family: what a pair of sets costs a must-link, a cannot-link.

    Attributes
    ----------
    must, cannot : (f, f) arrays
    empty_each, empty_must : float
        Added to the cost of the empty set for every linked object, and for every must-link of an object.
    constant : float
        Added to the objective.
    """

    must: np.ndarray
    cannot: np.ndarray
    empty_each: float
    empty_must: float
    constant: float

    @classmethod
    def published(cls, family: FocalSets, xi: float, n_links: int, empty_penalty: float) -> LinkTerms:
        """pl(different) for must-links, pl(same) for cannot-links (Antoine et al., 2012)."""
        nonempty = family.cardinality > 0
        different = np.outer(nonempty, nonempty) - np.diag(family.cardinality == 1).astype(float)
        weight = xi / n_links
        return cls(weight * different, weight * (1 - family.conflict), empty_penalty, 0.0, 0.0)

    @classmethod
    def of_program(cls, family: FocalSets, xi: float, n_must: int, n_cannot: int, empty_penalty: float) -> LinkTerms:
        """As in the published program: both kinds on an equal footing, and no way out through the empty set."""
        same = np.diag(family.cardinality == 1).astype(float)
        must, cannot = xi / max(n_must, 1), xi / max(n_cannot, 1)
        return cls(-must * same, cannot * (1 - family.conflict), empty_penalty, 2.0, xi)


class LinkedObjects:
    """The objects that have constraints, in an order that does not depend on the numbering of the rows."""

    def __init__(self, X: np.ndarray, constraints: Constraints):
        indptr, indices, sign = links(constraints, len(X))
        graph = sparse.csr_matrix((sign, indices, indptr), shape=(len(X), len(X)))
        where = np.flatnonzero(np.diff(indptr) > 0)
        direction = np.random.RandomState(0).normal(size=X.shape[1])
        self.places = where[np.argsort(X[where] @ direction, kind="stable")]
        self.others = np.setdiff1d(np.arange(len(X)), where)
        graph = graph[self.places][:, self.places].tocsr()
        graph.sort_indices()
        self._graph = graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data
        must = graph.copy()
        must.data = (must.data > 0).astype(float)
        self.n_must_links = np.asarray(must.sum(axis=1)).ravel()

    def __len__(self) -> int:
        return len(self.places)

    def penalty(self, family: FocalSets, terms: LinkTerms) -> np.ndarray:
        """(q, f) linear costs of the masses."""
        out = np.zeros((len(self), len(family)))
        if family.empty_index is not None:
            out[:, family.empty_index] = terms.empty_each + terms.empty_must * self.n_must_links
        return out

    def improved(self, costs: np.ndarray, family: FocalSets, terms: LinkTerms, masses: np.ndarray) -> np.ndarray:
        """Masses at which no change of a single object lowers the objective, found from given ones."""
        masses = np.array(masses, dtype=float, order="C")
        sweep(costs, self.penalty(family, terms), *self._graph, terms.must, terms.cannot, masses, _SWEEPS, _SETTLED)
        return masses

    def pair_terms(self, family: FocalSets, terms: LinkTerms, masses: np.ndarray) -> float:
        """What the constraints add to the objective."""
        penalty = self.penalty(family, terms)
        return float(_pair_terms(masses, penalty, *self._graph, terms.must, terms.cannot)) + terms.constant
