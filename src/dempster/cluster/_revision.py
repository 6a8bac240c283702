"""Revision of masses by must-link and cannot-link constraints.

A fit without constraints finds the clusters. The constraints then revise the plausibilities of the
clusters for their objects (`revise_plausibilities`), and a `ConstrainedModel` contains the revised
masses. Other objects keep their masses, so that true constraints cannot make them worse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse

from dempster._arrays import (
    Array,
    decompress,
    is_sparse,
    precision_of,
    rows_of_entries,
)
from dempster.belief import FocalSets
from dempster.cluster._mass_step import masses_from_plausibilities
from dempster.constraints import Constraints
from dempster.constraints.constraints import links as linked_pairs
from dempster.dissimilarity.sources import (
    DissimilaritySource,
    References,
    separations,
)
from dempster.optimize.blocks import Apply
from dempster.optimize.projection import (
    approach_compressed,
    approach_known_masses,
    approach_radii,
)

SATISFYING_XI = 0.5  # weight with which constraints are satisfied
# With this weight, the cost of a violated constraint is larger than the maximum cost of a
# cluster, so that constraints are satisfied even if they contradict the dissimilarities.
_COST_OF_VIOLATION = 10.0  # divided by xi; minus a log-plausibility
_MAX_COST = 4.6  # minus the log-plausibility 0.01
_TIE_BREAK = 1e-4  # relative difference between the costs of two objects with equal plausibilities
_MAX_ROUNDS = 100
_DAMPING = 0.5
_TOLERANCE = 1e-10

# ---- constraints ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Links:
    """Constraints between objects, as a symmetric sparse matrix (CSR).

    The entries are +1 for must-link and -1 for cannot-link constraints.
    """

    indptr: np.ndarray
    indices: np.ndarray
    signs: np.ndarray

    def __len__(self) -> int:
        return len(self.signs) // 2

    @classmethod
    def from_constraints(cls, constraints: Constraints | None, n: int) -> Links:
        """Create the matrix of constraints between n objects."""
        if constraints is None:
            return cls(
                np.zeros(n + 1, np.int64),
                np.empty(0, np.int32),
                np.empty(0),
            )
        return cls(*linked_pairs(constraints, n))

    def among(self, which: np.ndarray) -> Links:
        """Return the constraints between the objects in ``which``, as indices into ``which``."""
        n = len(self.indptr) - 1
        matrix = sparse.csr_matrix(
            (self.signs, self.indices, self.indptr), shape=(n, n)
        )
        part = matrix[which][:, which].tocsr()
        part.sort_indices()
        return Links(
            part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data
        )

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Objects i and j of each constraint, and whether it is a must-link."""
        i = rows_of_entries(self.indptr)
        is_first = i < self.indices  # The matrix contains each constraint twice.
        return i[is_first], self.indices[is_first], self.signs[is_first] > 0

    @property
    def objects(self) -> np.ndarray:
        """Indices of the objects that have constraints."""
        return np.flatnonzero(np.diff(self.indptr) > 0)


def are_satisfied(links: Links, labels: np.ndarray) -> np.ndarray:
    """Return whether the labels of the objects satisfy each constraint."""
    i, j, is_must_link = links.pairs
    return (labels[i] == labels[j]) == is_must_link


def improvement(before: np.ndarray, after: np.ndarray) -> float:
    """Return the statistic of a sign test for the increase of the satisfied constraints.

    It is the difference of their numbers, in standard deviations.
    """
    n_changed = np.count_nonzero(before != after)
    gain = np.count_nonzero(after) - np.count_nonzero(before)
    return float(gain / np.sqrt(n_changed or 1))


# ---- plausibilities ------------------------------------------------------------------------------


def revise_plausibilities(
    contour: np.ndarray, links: Links, xi: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the plausibilities of clusters before and after a revision by constraints.

    ``contour`` contains the plausibilities of c clusters for q objects up to a factor, shape (q,
    c). The revised plausibility of cluster k for object i is the maximum of

        prod_j pl_j(k_j) exp(-10 xi v)

    over the clusters k_j of all other objects, where k_i = k and v is the number of violated
    constraints. It is computed by max-product message passing, which is exact if the graph of the
    constraints has no cycle. The factors are at least 0.01, so that constraints are satisfied even
    between objects that are far from the border of their cluster. Objects that remain in their
    cluster keep smaller plausibilities of other clusters. The rows of both results sum to one.
    """
    largest = contour.max(axis=1, keepdims=True)
    # All clusters are equally plausible for an object that is certainly an outlier.
    contour = np.where(largest > 0, contour, 1)
    relative = contour / np.where(largest > 0, largest, 1)
    with np.errstate(divide="ignore"):
        costs = -np.log(relative)
    costs = np.minimum(np.nan_to_num(costs), 1e3)
    # Objects with equal plausibilities must be separable, whatever the order of the objects.
    rank = np.empty(len(costs))
    rank[np.lexsort(costs.T)] = np.arange(len(costs)) / len(costs)
    bounded = costs * _MAX_COST / (costs + _MAX_COST)
    bounded *= (1 + _TIE_BREAK * rank)[:, None]
    revised = _pass_messages(bounded, links, _COST_OF_VIOLATION * xi)
    stays = revised.argmin(axis=1) == costs.argmin(axis=1)
    revised[stays] += (costs - bounded)[stays]
    return _normalize(np.exp(-costs)), _normalize(np.exp(-revised))


def _normalize(plausibilities: np.ndarray) -> np.ndarray:
    return plausibilities / plausibilities.sum(axis=1, keepdims=True)


def _pass_messages(costs: np.ndarray, links: Links, violation: float) -> np.ndarray:
    """Return the smallest total cost for each object and cluster, up to a constant per object."""
    q, c = costs.shape
    if c == 1:
        return costs.copy()
    n_entries = len(links.indices)
    to = rows_of_entries(links.indptr)
    # position of each pair with its ends exchanged
    back = np.lexsort((to, links.indices))
    cells = np.ones(n_entries), np.arange(n_entries), links.indptr
    collect = sparse.csr_array(cells, shape=(q, n_entries))
    is_must_link = (links.signs > 0)[:, None]
    messages = np.zeros((n_entries, c))
    for _ in range(_MAX_ROUNDS):
        # Costs of the other object of each pair, without the message from this object.
        other = (costs + collect @ messages)[links.indices] - messages[back]
        other -= other.min(axis=1, keepdims=True)
        second = np.partition(other, 1)[:, 1:2]
        best = other.argmin(axis=1)
        is_best = np.arange(c) == best[:, None]
        # The other object is in another cluster.
        apart = np.where(is_best, second, 0.0)
        if_must_link = np.minimum(other, apart + violation)
        if_cannot_link = np.minimum(other + violation, apart)
        new = np.where(is_must_link, if_must_link, if_cannot_link)
        new -= new.min(axis=1, keepdims=True)
        step = new - messages
        messages += _DAMPING * step
        if np.abs(step).max(initial=0) < _TOLERANCE:
            break
    return costs + collect @ messages


# ---- models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ConstrainedModel:
    """Model of a fit, and the masses of the objects with constraints.

    The masses of an object near a linked object approach those of the linked object.
    """

    free: Any  # model for objects without constraints
    linked: References  # linked objects
    linked_masses: Annotated[np.ndarray, "q f"]  # masses of the linked objects
    radii: Annotated[np.ndarray, "q"]  # see `approach_known_masses`

    @classmethod
    def from_source(
        cls,
        free: Any,
        source: DissimilaritySource,
        positions: np.ndarray,
        linked_masses: np.ndarray,
    ) -> Self:
        """Create the model, given the positions and the masses of the linked objects."""
        linked = References.from_source(source, positions)
        radii = approach_radii(separations(source, positions))
        return cls(free, linked, linked_masses, radii)

    @classmethod
    def revise(
        cls,
        free: Any,
        masses: Array,
        source: DissimilaritySource,
        constraints: Constraints,
        xi: float = SATISFYING_XI,
    ) -> tuple[Self, Array]:
        """Revise the masses of the n training objects; return the model and the masses.

        Only the masses of the linked objects, and of objects equal to them, change.
        """
        links = Links.from_constraints(constraints, len(source))
        positions = links.objects
        family = free.family
        own = decompress(masses[positions]).astype(float)
        contour = own @ family.membership
        _, after = revise_plausibilities(contour, links.among(positions), xi)
        outlying = None
        if family.empty_index is not None:
            outlying = own[:, family.empty_index]
        revised = masses_from_plausibilities(after, family, outlying)
        model = cls.from_source(free, source, positions, revised)
        values = source.matrix if source.objects is None else source.objects
        nearest, distance = model._nearest(values)
        # An equal object may be linked, too.
        nearest[positions] = np.arange(len(positions))
        distance[positions] = 0
        return model, model._mix(masses, nearest, distance)

    @property
    def family(self) -> FocalSets:
        return self.free.family

    @property
    def evidence(self) -> Any:
        """Evidence of the free model for each cluster, if it has a method for it."""
        return self.free.evidence

    def masses(self, values: Any, apply: Apply) -> Array:
        """Return the masses of n objects, shape (n, f)."""
        return self.approach(self.free.masses(values, apply), values)

    def approach(self, masses: Array, values: Any) -> Array:
        """Let the masses of n objects approach those of the linked objects, possibly in place."""
        if len(self.linked) == 0:
            return masses
        return self._mix(masses, *self._nearest(values))

    def _nearest(self, values: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the nearest linked object, and its distance."""
        if self.linked.source is None:
            D = self.linked.dissimilarities(values)
            nearest = D.argmin(axis=1)
            return nearest, D[np.arange(len(D)), nearest]
        linked = self.linked
        if isinstance(values, np.ndarray):
            linked = linked.astype(precision_of(values))
        return linked.nearest(values)

    def _mix(self, masses: Array, nearest: np.ndarray, distance: np.ndarray) -> Array:
        known = self.linked_masses, nearest, distance, self.radii
        if is_sparse(masses):
            return approach_compressed(masses, *known)
        approach_known_masses(masses, *known)
        return masses
