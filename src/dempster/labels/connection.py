r"""Whether an object without a label is connected with the clusters.

An object that a program left without a cluster may be on the edge of a cluster, or belong to a
group that has no label: a cluster that the program missed, or scattered objects. The probabilities
of the clusters do not distinguish these cases, because they only compare clusters. The objects
around it do: at the edge of a cluster, the density increases toward labeled objects, and in a group
of its own toward others without a label.

A random walk on the graph of nearest neighbors moves from object i to its neighbor j with a
probability proportional to

.. math:: w_{ij} = \exp(-d_{ij}^2 / (s_i s_j)),

where :math:`s_i` is the distance from object i to one of its neighbors. It ends at the first
labeled object. An object without a label is also its own neighbor, with :math:`w_{ii} = 1`, and the
walk fails with the probability of a move to itself. The *connection* of an object is the
probability that the walk from the object reaches a labeled one; the object itself is no evidence,
so that the first move always succeeds.

A walk that fails says nothing: the object is then in its most plausible cluster or in none. With
the probability u of failing, the doubt is u / 2, and the mass of the empty set is the mass that
`dempster.posterior.masses` gives to this doubt. An object is therefore an outlier, and not certain
of a cluster, if its doubt exceeds .1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse

from dempster._arrays import Array, add_to_column, scale_rows
from dempster.dissimilarity.neighbors import ReferenceFinder
from dempster.dissimilarity.sources import References
from dempster.optimize.blocks import Apply
from dempster.posterior.masses import mass_on_pairs
from dempster.posterior.neighbors import N_NEIGHBORS, NeighborShares

_N_STEPS = 100  # Few walks are longer.
_MIN_SCALE = 1e-9  # relative to the largest distance, for equal objects


@dataclass(frozen=True)
class Connection:
    """Connections of r reference objects."""

    # probability that a walk that arrives at the object reaches a labeled one
    reached: Annotated[np.ndarray, "r"]
    connected: Annotated[np.ndarray, "r"]  # the same for the walk from the object

    @classmethod
    def fit(
        cls, neighbors: NeighborShares, values: Any, labeled: np.ndarray, apply: Apply
    ) -> Self:
        """Compute the connections of the reference objects.

        ``values`` contains the training objects among which these are the distinct ones, and
        ``labeled`` says which of them have a label.
        """
        references = neighbors.references
        r = len(references)
        equal = np.arange(r)
        if references.source is not None:
            equal = _find_equal(references, values)
        known = np.zeros(r)
        known[equal[labeled]] = 1
        k = min(N_NEIGHBORS, r - 1)
        if k < 1:
            return cls(known, known)
        finder = ReferenceFinder(references)
        distinct = values[np.unique(equal, return_index=True)[1]]
        index, distance = finder(distinct, k + 1, apply)
        is_self = index == np.arange(r)[:, None]
        is_self[:, -1] |= ~is_self.any(axis=1)
        kept = np.arange(k + 1) != is_self.argmax(axis=1)[:, None]
        index = index[kept].reshape(r, k)
        distance = distance[kept].reshape(r, k)
        scales = np.maximum(neighbors.scales, _MIN_SCALE * distance.max())
        near = np.exp(-(distance**2) / (scales[:, None] * scales[index]))
        ends = np.arange(0, r * k + 1, k)
        graph = sparse.csr_array((near.ravel(), index.ravel(), ends), shape=(r, r))
        return cls.from_graph(graph.maximum(graph.T), neighbors.counts, known)

    @classmethod
    def from_graph(
        cls, similarities: sparse.csr_array, weights: np.ndarray, known: np.ndarray
    ) -> Self:
        """Compute the connections of r objects from their similarities to their neighbors.

        ``known`` contains 1 for objects with a label, and 0 for others. An object of weight two
        is equivalent to two objects.
        """
        moves = sparse.csr_array(similarities.multiply(weights))
        total = np.asarray(moves.sum(axis=1)).reshape(-1)
        moves = moves.multiply(1 / np.where(total > 0, total, 1)[:, None]).tocsr()
        leaves = total / (weights + total)
        reached = known
        for _ in range(_N_STEPS):
            reached = np.maximum(known, leaves * (moves @ reached))
        return cls(reached, np.maximum(known, moves @ reached))

    def probabilities(self, neighbors: NeighborShares, values: Any) -> np.ndarray:
        """Return the connections of objects; those equal to a reference object are known."""
        equal = _find_equal(neighbors.references, values)
        reached = replace(neighbors, shares=self.reached[:, None], mean=np.ones(1))
        found = reached.shares_of(values, equal)[:, 0]
        return np.where(equal >= 0, self.connected[equal], found)


def move_unconnected(masses: Array, to: int | None, connected: np.ndarray) -> Array:
    """Move mass to the set with the index ``to`` for objects with the given connections."""
    assert to is not None
    unconnected = 1 - connected
    none = np.zeros_like(unconnected)
    moved = mass_on_pairs(unconnected / 2, none + 1, none).astype(masses.dtype)
    return add_to_column(scale_rows(masses, 1 - moved), to, moved)


def _find_equal(references: References, values: Any) -> np.ndarray:
    """Return the index of the reference object that is equal to each object, or -1."""
    source = references.source
    if source is None:
        D = references.dissimilarities(values)
        nearest = D.argmin(axis=1)
        return np.where(D[np.arange(len(D)), nearest] == 0, nearest, -1)
    places = {key: i for i, key in enumerate(source.keys(source.objects))}
    return np.array([places.get(key, -1) for key in source.keys(values)], np.intp)
