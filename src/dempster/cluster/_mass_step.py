"""The mass step: from the costs of the sets of clusters to the masses of the objects.

Every method of the c-means family minimises, for each object,

    sum_j |A_j|^alpha m_j^beta costs_j  +  delta^2 m_0^beta

over masses that sum to one, where A_j are the nonempty focal sets and m_0 is the mass of the empty set. The minimum
has a closed form (Masson and Denoeux, 2008, eq. 17).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster.belief import FocalSets
from dempster.optimize.blocks import Apply, row_blocks
from dempster.partition import CredalPartition


@dataclass(frozen=True)
class MassStep:
    """The penalties of one fit, for one family of focal sets.

    Attributes
    ----------
    family : FocalSets
    alpha : float
        Penalty of large sets.
    beta : float
        Fuzziness.
    delta2 : float
        Cost of the empty set.
    zero : float
        Cost up to which an object lies on a prototype.
    """

    family: FocalSets
    alpha: float
    beta: float
    delta2: float
    zero: float

    @cached_property
    def sets(self) -> np.ndarray:
        """(g, c) membership of the nonempty sets."""
        return self.family.membership[self.family.cardinality > 0].astype(float)

    @cached_property
    def averages(self) -> np.ndarray:
        """(g, c) shares of the clusters in the nonempty sets: a set lies in the middle of its clusters."""
        return self.sets / self.sets.sum(axis=1, keepdims=True)

    def kernel_arguments(self, dtype: np.dtype | type = np.float64) -> tuple:
        """Factors and sizes of the nonempty sets, delta^2, beta, zero: as the kernels take them."""
        size = self.sets.sum(axis=1)
        delta2 = self.delta2 if self.family.empty_index is not None else np.inf
        with np.errstate(over="ignore"):
            factor = (size**self.alpha).astype(dtype)
        if not np.isfinite(factor).all():
            raise InvalidInputError(
                f"alpha must be smaller: {size.max():g}^alpha, the penalty of the largest set, leaves the range of "
                f"{np.dtype(dtype)}, got {self.alpha:g}"
            )
        return factor, size.astype(np.int64), float(delta2), float(self.beta), float(self.zero)

    def columns(self) -> tuple[np.ndarray, int]:
        """Columns of the nonempty sets, and that of the empty set (-1 if the family lacks it)."""
        empty = self.family.empty_index
        return np.flatnonzero(self.family.cardinality > 0), -1 if empty is None else empty

    def nonempty_masses(
        self, costs: np.ndarray, weights: np.ndarray, apply: Apply
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Objective, (n, g) masses of the nonempty sets and (n,) masses of the empty set, for (n, g) costs."""
        arguments = self.kernel_arguments()
        masses, empty = np.empty_like(costs), np.empty(len(costs))
        parts = apply(
            masses_from_costs,
            [
                (costs[a:b], weights[a:b] if len(weights) else weights, *arguments, masses[a:b], empty[a:b])
                for a, b in row_blocks(len(costs))
            ],
        )
        return float(sum(parts)), masses, empty

    def masses(self, costs: np.ndarray, weights: np.ndarray, apply: Apply) -> tuple[float, np.ndarray]:
        """Objective, and (n, f) masses in the columns of the family."""
        objective, masses, empty = self.nonempty_masses(costs, weights, apply)
        columns, empty_column = self.columns()
        out = np.zeros((len(costs), len(self.family)))
        out[:, columns] = masses
        if empty_column >= 0:
            out[:, empty_column] = empty
        return objective, out


def project_masses(masses: np.ndarray, source: FocalSets, target: FocalSets) -> np.ndarray:
    """(n, g) masses on the nonempty sets of another family; a set that it lacks counts for its clusters one by one."""
    here = target.membership[target.cardinality > 0]
    carried = np.zeros((len(masses), len(here)))
    for j in np.flatnonzero(source.cardinality > 0):
        row = source.membership[j]
        targets = np.flatnonzero((here == row).all(axis=1))
        if len(targets) == 0:
            targets = np.flatnonzero((here.sum(axis=1) == 1) & (here @ row))
        carried[:, targets] += masses[:, j, None] / len(targets)
    return carried


def carried_partition(partition: CredalPartition, target: FocalSets) -> CredalPartition:
    """The same on another family, which holds the empty set."""
    masses = np.zeros((len(partition), len(target)))
    masses[:, target.cardinality > 0] = project_masses(partition.to_numpy().masses, partition.focal_sets, target)
    masses[:, target.empty_index] = 1 - masses.sum(axis=1)
    return CredalPartition.unchecked(masses, target)


# ---- the kernel (mass_step.c) ----------------------------------------------------------------------------------------

_masses_from_costs = kernel("""masses_from_costs(
    costs: float64[n, g], weights: float64[n] or None, factor: float64[g], size: int64[g], delta2: float, beta: float,
    zero: float, masses: float64[n, g] out, empty: float64[n] out) -> float""")


def masses_from_costs(
    costs: np.ndarray,
    weights: np.ndarray,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
    masses: np.ndarray,
    empty: np.ndarray,
) -> float:
    """Masses of objects whose costs are known, a row each; returns the objective, weighted unless weights is empty.

    ``delta2`` is infinite when the empty set is not allowed. Costs up to ``zero`` count as zero: then the mass is
    shared equally by the smallest sets among those.
    """
    given = weights if len(weights) else None
    return _masses_from_costs(costs, given, factor, size, delta2, beta, zero, masses, empty)


_DECAY = 2.5  # of the plausibility of a neighbor, on the way from halfway to a cluster, times alpha
_NO_WAY = 1e9  # between clusters that coincide

_doubtful_masses = kernel("""doubtful_masses(
    contour: real[n, c], single_of: int64[c] below f, pair_of: int64[c, c] below f or -1, empty: int,
    outlying: real[n] or None, masses: real[n, f] out)""")


def doubtful_masses(contour: np.ndarray, family: FocalSets, outlying: np.ndarray | None = None) -> np.ndarray:
    """(n, f) masses whose plausibilities match those given, as far as a cluster and one neighbor of it can.

    The most plausible cluster k of an object is possible, and the most plausible neighbor l of it as much as its
    plausibility is that of k: with r = contour_l / contour_k, the consonant mass function with r on {k, l} and 1 - r
    on {k}. Up to r = 1/2 the object is certain, beyond it is between the two.

    Parameters
    ----------
    contour : (n, c) array
        How plausible the clusters are for the objects, up to a factor for each object. Zero for all of them: mass on
        the empty set, or on the first cluster if the family lacks it.
    family : FocalSets
        Single clusters and pairs of neighbors.
    outlying : (n,) array, optional
        Mass that goes to the empty set first.
    """
    masses = np.empty((len(contour), len(family)), dtype=contour.dtype)
    _doubtful_masses(
        np.ascontiguousarray(contour),
        family.singleton_index,
        pair_columns(family),
        -1 if family.empty_index is None else family.empty_index,
        None if outlying is None else outlying.astype(contour.dtype),
        masses,
    )
    return masses


def plausible_on_the_way(costs: np.ndarray, gaps: np.ndarray, alpha: float) -> np.ndarray:
    """(n, c) plausibilities of the clusters, by where an object is on the way between the nearest one and another.

    The way u from halfway (0) to what represents the nearest cluster (1) is the difference of the two costs over what
    it is there. A neighbor has the plausibility 2^(-2.5 alpha u). What clusters spread adds to all costs alike and
    counts for nothing, in contrast to their ratio, which tends to one where attributes are many.

    Parameters
    ----------
    costs : (n, c) array
        Of the single clusters.
    gaps : (c, c) array
        Difference of the costs of two clusters where one of them is represented, the mean of both places.
    alpha : float
        Penalty of pairs.
    """
    beyond, gap = costs - costs.min(axis=1, keepdims=True), gaps[costs.argmin(axis=1)]
    on_the_way = np.where(beyond > 0, _NO_WAY, 0.0)
    np.divide(beyond, gap, out=on_the_way, where=gap > 0)
    return np.exp2(-_DECAY * alpha * on_the_way)


@lru_cache(maxsize=16)
def pair_columns(family: FocalSets) -> np.ndarray:
    """(c, c) column of each pair of clusters in the family, -1 where it has none."""
    c = family.n_clusters
    columns = np.full((c, c), -1)
    for column in np.flatnonzero(family.cardinality == 2):
        k, m = np.flatnonzero(family.membership[column])
        columns[k, m] = columns[m, k] = column
    columns.setflags(write=False)
    return columns
