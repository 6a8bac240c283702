"""Masses of the objects for given costs of the focal sets.

Every method of the c-means family minimizes, for each object,

    sum_j |A_j|^alpha m_j^beta costs_j  +  delta^2 m_0^beta

over masses that sum to one, where m_j is the mass of the nonempty focal set A_j and m_0 is the mass
of the empty set. The minimum has a closed form (Masson and Denoeux, 2008, eq. 17).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import sparse

from dempster._errors import InvalidParameterError
from dempster._native import kernel
from dempster._random import as_random_state
from dempster.belief import FocalSets
from dempster.belief.focal_sets import has_many_clusters
from dempster.cluster._base import FitRequest
from dempster.cluster._search import Method, Model, Sample, require_singletons
from dempster.cluster._starts import (
    MAX_RESTARTED_CLUSTERS,
    default_beta,
    draw_centers,
    outlier_cost,
    outlier_distance,
    without_isolated,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.optimize.nearest import N_NEAREST
from dempster.partition import CredalPartition
from dempster.posterior.boundaries import count_boundaries, neighbor_family
from dempster.posterior.collection import compress_masses

# Write the masses for given costs to ``masses`` and ``empty``, and return the objective. ``delta2``
# is infinite if the family lacks the empty set. Costs up to ``zero`` count as zero. The smallest
# sets with zero cost share the mass equally.
masses_from_costs = kernel("""masses_from_costs(
    costs: float64[n, g], weights: float64[n] or None, factor: float64[g], size: int64[g],
    delta2: float, beta: float, zero: float,
    masses: float64[n, g] out, empty: float64[n] out) -> float""")


@dataclass(frozen=True)
class MassStep:
    """Parameters that determine the masses, for one family of focal sets."""

    family: FocalSets
    alpha: float  # exponent of the sizes of the sets, which penalizes large sets
    beta: float  # exponent of the masses (fuzziness)
    delta2: float  # cost delta^2 of the empty set
    zero: float  # largest cost that counts as zero

    def __post_init__(self) -> None:
        require_singletons(self.family)

    @cached_property
    def sets(self) -> np.ndarray:
        """Indicators of the c clusters in the g nonempty sets, shape (g, c)."""
        return self.family.membership[self.family.cardinality > 0].astype(float)

    @cached_property
    def averages(self) -> np.ndarray:
        """Weights of the c clusters in the barycenters of the g nonempty sets, shape (g, c)."""
        return self.sets / self.sets.sum(axis=1, keepdims=True)

    def kernel_arguments(self, dtype: np.dtype | type = np.float64) -> tuple:
        """Return |A|^alpha and |A| for the nonempty sets A, delta^2, beta and zero."""
        size = self.sets.sum(axis=1)
        delta2 = np.inf
        if self.family.empty_index is not None:
            delta2 = self.delta2
        with np.errstate(over="ignore"):
            factor = (size**self.alpha).astype(dtype)
        if not np.isfinite(factor).all():
            problem = f"{size.max():g}^alpha exceeds the range of {np.dtype(dtype)}"
            message = f"alpha={self.alpha:g} is too large: {problem}"
            raise InvalidParameterError("alpha", message=message)
        return (
            factor,
            size.astype(np.int64),
            float(delta2),
            float(self.beta),
            float(self.zero),
        )

    def columns(self) -> tuple[np.ndarray, int]:
        """Return the indices of the nonempty sets and of the empty set (-1 if absent)."""
        empty = self.family.empty_index
        columns = np.flatnonzero(self.family.cardinality > 0)
        return columns, -1 if empty is None else empty

    def nonempty_masses(
        self, costs: np.ndarray, weights: np.ndarray, apply: Apply
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the objective, the masses of the nonempty sets, (n, g), and the empty set, (n,).

        If ``weights`` is an empty array, all objects have equal weight.
        """
        arguments = self.kernel_arguments()
        masses = np.empty_like(costs)
        empty = np.empty(len(costs))

        def write(start: int, stop: int) -> float:
            w = weights[start:stop] if len(weights) else None
            out = (masses[start:stop], empty[start:stop])
            return masses_from_costs(costs[start:stop], w, *arguments, *out)

        parts = apply(write, row_blocks(len(costs)))
        return float(sum(parts)), masses, empty

    def masses(
        self, costs: np.ndarray, weights: np.ndarray, apply: Apply
    ) -> tuple[float, np.ndarray]:
        """Return the objective, and the masses of all focal sets, shape (n, f)."""
        objective, masses, empty = self.nonempty_masses(costs, weights, apply)
        columns, empty_column = self.columns()
        out = np.zeros((len(costs), len(self.family)))
        out[:, columns] = masses
        if empty_column >= 0:
            out[:, empty_column] = empty
        return objective, out

    def best_prototypes(self, total: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the prototypes that minimize the objective for fixed masses m, shape (c, p).

        ``total`` (g,) and ``first`` (g, p) contain the sums of m^beta and of m^beta x over the
        objects x (Masson and Denoeux, 2008, eq. 22).
        """
        sets = self.sets
        size = sets.sum(axis=1)
        H = (sets.T * (size ** (self.alpha - 2) * total)) @ sets
        R = (sets.T * size ** (self.alpha - 1)) @ first
        return solve_normal_equations(H, R)


@dataclass(frozen=True)
class StepModel:
    """Base class of the models whose masses are computed by a `MassStep`."""

    step: MassStep

    @property
    def family(self) -> FocalSets:
        return self.step.family


class MassMethod(Method[Model, Model]):
    """Base class of the algorithms whose models are `StepModel`.

    A subclass defines `_user_start`, `_draw_start` and `_step`, or methods that call them.
    """

    distance_power = 2.0  # The costs are distances to this power.
    zero: float  # largest cost that counts as zero
    # complete rows of a sample, from which initial prototypes are drawn, and their weights
    points: np.ndarray
    sample_weights: np.ndarray

    def __init__(self, estimator: Any, sample: Sample[Any], request: FitRequest):
        self.estimator = estimator
        self.n_clusters = request.n_clusters
        self.apply = request.apply
        # name of an initialization, or initial prototypes or masses
        self.init: Any = estimator.init
        self.beta = default_beta(estimator.n_features_in_)
        if estimator.beta != "auto":
            self.beta = float(estimator.beta)
        self._delta2: float | None = None  # estimated if ``delta`` is "auto"
        if estimator.delta != "auto":
            self._delta2 = float(estimator.delta) ** 2

    @cached_property
    def rng(self) -> np.random.RandomState:
        return as_random_state(self.estimator.random_state)

    @property
    def has_user_start(self) -> bool:
        return not isinstance(self.init, str)

    @property
    def delta2(self) -> float:
        """Cost of the empty set."""
        if self._delta2 is None:
            self._delta2 = self._outlier_cost()
        return self._delta2

    @property
    def delta(self) -> float:
        return float(np.sqrt(self.delta2))

    def _outlier_cost(self) -> float:
        """Return the cost of the empty set for delta="auto", if it is needed before the fit."""
        return outlier_cost(self.points, self.sample_weights, self.n_clusters, self.rng)

    def _mass_step(self, family: FocalSets) -> MassStep:
        delta2 = np.inf
        if family.empty_index is not None:
            delta2 = self.delta2
        return MassStep(family, self.estimator.alpha, self.beta, delta2, self.zero)

    def _neighbor_step(self, costs: np.ndarray, weights: np.ndarray) -> MassStep:
        """Return the step for the pairs of neighboring clusters, given the costs of clusters.

        If delta is "auto" and not estimated yet, estimate it from the costs.
        """
        if self._delta2 is None:
            nearest = np.maximum(costs.min(axis=1), 0) ** (1 / self.distance_power)
            self._delta2 = outlier_distance(nearest, weights) ** self.distance_power
        counts = count_boundaries(costs, weights)
        return self._mass_step(neighbor_family(counts))

    @property
    def n_starts(self) -> int:
        return self.estimator.n_init

    def draw_starts(self, family: FocalSets) -> list[Model]:
        if self.has_user_start:
            return [self._user_start(family)]
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.n_starts)
        return [self._draw_start(family, np.random.RandomState(s)) for s in seeds]

    def _user_start(self, family: FocalSets) -> Model:
        """Return the initial state that the parameter ``init`` contains."""
        raise NotImplementedError

    def _draw_start(self, family: FocalSets, rng: np.random.RandomState) -> Model:
        """Return a random initial state."""
        raise NotImplementedError

    @cached_property
    def _weights_without_isolated(self) -> np.ndarray:
        return without_isolated(self.points, self.sample_weights, self.n_clusters)

    def _start_weights(self, family: FocalSets) -> np.ndarray:
        """Return the weights of the sample on which starts are compared.

        Without the empty set, isolated rows would attract some of many prototypes.
        """
        is_closed = family.empty_index is None
        if is_closed and self.n_clusters > MAX_RESTARTED_CLUSTERS:
            return self._weights_without_isolated
        return self.sample_weights

    def _draw_centers(
        self, family: FocalSets, rng: np.random.RandomState
    ) -> np.ndarray:
        """Draw initial prototypes; without the empty set, outliers would remain prototypes."""
        weights = self.sample_weights
        if family.empty_index is None:
            weights = self._weights_without_isolated
        return draw_centers(self.points, weights, self.n_clusters, self.init, rng)

    def run_start(self, start: Model) -> Run[Model]:
        return self._run(start, on_sample=not self.has_user_start)

    def extend(self, run: Run[Model], family: FocalSets) -> Run[Model]:
        model: Any = run.model
        extended = replace(model, step=self._mass_step(family))
        return self._run(extended, on_sample=False)

    def _run(self, start: Model, *, on_sample: bool) -> Run[Model]:
        """Iterate until convergence, on all rows or on the sample on which starts are compared."""
        step = partial(self._step, on_sample=on_sample)
        return self._descend(step, start)

    def _step(self, model: Model, *, on_sample: bool) -> tuple[float, Model]:
        """Return the objective of a model, and the model after one iteration."""
        raise NotImplementedError

    def _descend(
        self, step: Callable[[Model], tuple[float, Model]], start: Model
    ) -> Run[Model]:
        """Iterate ``step`` until convergence."""
        params = self.estimator
        return descend(step, start, max_iter=params.max_iter, tol=params.tol)


def has_many_components(family: FocalSets) -> bool:
    """Return whether the sets are many single clusters."""
    return has_many_clusters(family) and len(family) == family.n_clusters


def nearest_masses(
    step: MassStep,
    near: np.ndarray,
    squares: np.ndarray,
    apart: np.ndarray,
    dtype: np.dtype,
) -> sparse.csr_array:
    """Return the masses on the empty set, the nearest clusters and the pairs among them.

    ``near`` and ``squares`` are the results of `nearest_clusters`, and ``apart`` contains the
    squared distances between all prototypes. The squared distance to the barycenter of two
    prototypes is the mean of the squared distances to them, minus a quarter of the squared distance
    between them.
    """
    family = step.family
    first, second = np.triu_indices(N_NEAREST, 1)
    ends = near[:, first], near[:, second]
    pairs = family.pair_index[ends]
    between = (squares[:, first] + squares[:, second]) / 2
    between -= apart[ends] / 4
    between = np.where(pairs >= 0, np.maximum(between, 0), np.inf)
    costs = np.hstack([squares, between])
    size = np.repeat([1, 2], [squares.shape[1], between.shape[1]])
    masses = np.empty_like(costs)
    empty = np.empty(len(costs))
    arguments = size**step.alpha, size, *step.kernel_arguments()[2:]
    masses_from_costs(costs, None, *arguments, masses, empty)
    singles = family.singleton_index[near]
    sets = np.hstack([singles, np.maximum(pairs, 0)])
    return compress_masses(family, sets, masses, dtype, empty)


def nearest_doubt(
    near: np.ndarray,
    plausible: np.ndarray,
    family: FocalSets,
    outlying: np.ndarray | None,
    dtype: np.dtype,
) -> sparse.csr_array:
    """Return the masses of `masses_from_plausibilities` as compressed rows.

    ``near`` and ``plausible`` contain the most plausible clusters and their plausibilities, in
    decreasing order, shape (n, k).
    """
    rows = np.arange(len(near))
    top = plausible[:, 0]
    pairs = family.pair_index[near[:, :1], near[:, 1:]]
    place = (pairs >= 0).argmax(axis=1)
    column = pairs[rows, place]
    ratio = np.zeros(len(near))
    is_between = (column >= 0) & (top > 0)
    np.divide(plausible[rows, place + 1], top, out=ratio, where=is_between)
    own = family.singleton_index[near[:, 0]]
    sets = np.column_stack([own, np.maximum(column, 0)])
    masses = np.column_stack([1 - ratio, ratio])
    if family.empty_index is None:
        return compress_masses(family, sets, masses, dtype)
    empty = np.where(top > 0, 0.0 if outlying is None else outlying, 1)
    masses *= (1 - empty)[:, None]
    return compress_masses(family, sets, masses, dtype, empty)


def project_masses(
    masses: np.ndarray, source: FocalSets, target: FocalSets
) -> np.ndarray:
    """Convert masses on the family ``source`` to the g nonempty sets of ``target``, shape (n, g).

    The mass of a set that is not in ``target`` is divided equally among the clusters of the set.
    """
    here = target.membership[target.cardinality > 0]
    projected = np.zeros((len(masses), len(here)))
    for j in np.flatnonzero(source.cardinality > 0):
        row = source.membership[j]
        targets = np.flatnonzero((here == row).all(axis=1))
        if len(targets) == 0:
            is_single = here.sum(axis=1) == 1
            targets = np.flatnonzero(is_single & (here @ row))
        projected[:, targets] += masses[:, j, None] / len(targets)
    return projected


def project_partition(partition: CredalPartition, target: FocalSets) -> CredalPartition:
    """Convert a partition to the family ``target``, which must contain the empty set."""
    given = partition.to_numpy().masses
    masses = np.zeros((len(partition), len(target)))
    nonempty = project_masses(given, partition.focal_sets, target)
    masses[:, target.cardinality > 0] = nonempty
    masses[:, target.empty_index] = 1 - masses.sum(axis=1)
    return CredalPartition.unchecked(masses, target)


# The plausibility of the other cluster is 1 at the midpoint and 2^(-_DECAY alpha) at the prototype.
_DECAY = 2.5
_INFINITE_POSITION = 1e9  # position u of an object if two clusters coincide

_doubtful_masses = kernel("""doubtful_masses(
    contour: real[n, c], single_of: int64[c] below f, pair_of: int64[c, c] below f or -1,
    empty: int, outlying: real[n] or None, masses: real[n, f] out)""")


def masses_from_plausibilities(
    contour: np.ndarray, family: FocalSets, outlying: np.ndarray | None = None
) -> np.ndarray:
    """Return consonant masses, shape (n, f), for given plausibilities of the clusters.

    Let k be the most plausible cluster of an object, l the most plausible neighbor of k, and r the
    plausibility of l divided by the plausibility of k. The mass is r on {k, l} and 1 - r on {k}.
    The object is certain if r <= 1/2, and ambiguous between k and l otherwise. If all
    plausibilities are zero, the mass is on the empty set, or on the first cluster if the family
    lacks the empty set. ``outlying`` contains the masses of the empty set.
    """
    masses = np.empty((len(contour), len(family)), contour.dtype)
    _doubtful_masses(
        np.ascontiguousarray(contour),
        family.singleton_index,
        family.pair_index,
        -1 if family.empty_index is None else family.empty_index,
        None if outlying is None else outlying.astype(contour.dtype),
        masses,
    )
    return masses


def interpolate_plausibilities(
    costs: np.ndarray, gaps: np.ndarray, alpha: float
) -> np.ndarray:
    """Return the plausibilities of the clusters, shape (n, c).

    They depend on the positions of the objects between clusters. The position u of an object is the
    cost of a cluster minus the cost of the nearest cluster, divided by the value of this difference
    at the prototypes (``gaps``). It is 0 at the midpoint between the two clusters, and 1 at the
    prototype of the nearest cluster. The plausibility of the cluster is 2^(-2.5 alpha u). The
    spread of the clusters adds the same amount to all costs, so it cancels in the difference. It
    would not cancel in the ratio of the costs, which tends to one in high dimensions.
    """
    beyond = costs - costs.min(axis=1, keepdims=True)
    gap = gaps[costs.argmin(axis=1)]
    position = np.where(beyond > 0, _INFINITE_POSITION, 0.0)
    np.divide(beyond, gap, out=position, where=gap > 0)
    return np.exp2(-_DECAY * alpha * position)
