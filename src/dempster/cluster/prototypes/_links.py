"""Masses of objects tied by constraints: exact descent on one object after the other.

The constrained objective of CECM is quadratic in all masses and bilinear between linked objects, so it is not convex
in all of them but it is in each: a diagonal quadratic program on the simplex, solved exactly (``links.c``). Only linked
objects take part, and nothing larger than their masses is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dempster._native import kernel
from dempster.belief import FocalSets
from dempster.constraints import Constraints, links

__all__ = ["LinkCosts", "LinkedObjects"]

_SWEEPS = 10  # over the linked objects in one mass step: more of them are better spent after the prototypes have moved
_SETTLED = 1e-6  # largest change of a mass that ends a mass step

_sweep_links = kernel("""sweep_links(
    costs: float64[n, f], penalty: float64[n, f], indptr: int64[n + 1] offsets in e, indices: int64[e] below n,
    sign: float64[e], must: float64[f, f], cannot: float64[f, f], masses: float64[n, f] out, max_sweeps: int,
    settled: float) -> int""")
_link_terms = kernel("""link_terms(
    masses: float64[n, f], penalty: float64[n, f], indptr: int64[n + 1] offsets in e, indices: int64[e] below n,
    sign: float64[e], must: float64[f, f], cannot: float64[f, f]) -> float""")


@dataclass(frozen=True)
class LinkCosts:
    """What constraints cost, for one family of focal sets.

    Attributes
    ----------
    family : FocalSets
    must, cannot : (f, f) arrays
        Cost of a must-link, of a cannot-link, for a unit of mass on each pair of sets.
    empty_each, empty_must : float
        Cost of a unit of mass on the empty set, for every linked object and for every must-link of an object.
    constant : float
        Added to the objective.
    """

    family: FocalSets
    must: np.ndarray
    cannot: np.ndarray
    empty_each: float
    empty_must: float
    constant: float

    @classmethod
    def of_paper(cls, family: FocalSets, constraints: Constraints, xi: float, empty_penalty: float) -> LinkCosts:
        """pl(different) for must-links, pl(same) for cannot-links (Antoine et al., 2012)."""
        nonempty = family.cardinality > 0
        different = np.outer(nonempty, nonempty) - np.diag(family.cardinality == 1).astype(float)
        weight = xi / max(len(constraints), 1)
        return cls(family, weight * different, weight * (1 - family.conflict), empty_penalty, 0.0, 0.0)

    @classmethod
    def of_program(cls, family: FocalSets, constraints: Constraints, xi: float, empty_penalty: float) -> LinkCosts:
        """As in the published program: both kinds on an equal footing, and no way out through the empty set."""
        same = np.diag(family.cardinality == 1).astype(float)
        must, cannot = (xi / max(len(pairs), 1) for pairs in (constraints.must_link, constraints.cannot_link))
        return cls(family, -must * same, cannot * (1 - family.conflict), empty_penalty, 2.0, xi)


class LinkedObjects:
    """The objects that have constraints, in an order that does not depend on the numbering of the rows.

    Attributes
    ----------
    places : (q,) array
        Where the linked objects are among all.
    others : (n - q,) array
        Where the objects without constraints are.
    n_must_links : (q,) array
    """

    def __init__(self, X: np.ndarray, constraints: Constraints):
        indptr, indices, sign = links(constraints, len(X))
        graph = sparse.csr_matrix((sign, indices, indptr), shape=(len(X), len(X)))
        where = np.flatnonzero(np.diff(indptr) > 0)
        direction = np.random.RandomState(0).normal(size=X.shape[1])
        self.places = where[np.argsort(np.nan_to_num(X[where]) @ direction, kind="stable")]
        self.others = np.setdiff1d(np.arange(len(X)), where)
        graph = graph[self.places][:, self.places].tocsr()
        graph.sort_indices()
        self._graph = graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data
        must = graph.copy()
        must.data = (must.data > 0).astype(float)
        self.n_must_links = np.asarray(must.sum(axis=1)).ravel()

    def __len__(self) -> int:
        return len(self.places)

    def improved_masses(self, masses: np.ndarray, squared_costs: np.ndarray, costs: LinkCosts) -> np.ndarray:
        """(q, f) masses at which no change of a single object lowers the objective, found from given ones.

        ``squared_costs`` (q, f) multiply the squares of the masses.
        """
        masses = np.array(masses, dtype=float, order="C")
        linear = self._linear_costs(costs)
        _sweep_links(squared_costs, linear, *self._graph, costs.must, costs.cannot, masses, _SWEEPS, _SETTLED)
        return masses

    def cost_of_links(self, masses: np.ndarray, costs: LinkCosts) -> float:
        """What the constraints add to the objective."""
        linear = self._linear_costs(costs)
        return _link_terms(masses, linear, *self._graph, costs.must, costs.cannot) + costs.constant

    def _linear_costs(self, costs: LinkCosts) -> np.ndarray:
        """(q, f) costs of the masses themselves: only the empty set has any."""
        out = np.zeros((len(self), len(costs.family)))
        if costs.family.empty_index is not None:
            out[:, costs.family.empty_index] = costs.empty_each + costs.empty_must * self.n_must_links
        return out
