"""What the medoid methods share: starts, a sample on which they compete, and the choice of central objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, Self, TypeVar

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._random import as_random_state
from dempster._types import ArrayLike, Metric, TableLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, FitRequest
from dempster.cluster._mass_step import MassStep, doubtful_masses, plausible_on_the_way
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._search import FitResult, Method, Sample, require_singletons
from dempster.cluster._starts import outlier_distance, too_few
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks
from dempster.cluster.evidence import ClusterEvidence
from dempster.data import sampling
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, References
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

WHOLE_MATRIX = 5_000  # objects up to which the matrix of dissimilarities is kept: 200 MB
CELLS = 4_000_000  # dissimilarities computed at once


def raised(values: np.ndarray, power: float) -> np.ndarray:
    """Dissimilarities to a power, in double precision."""
    values = np.asarray(values, dtype=float)
    with np.errstate(over="ignore"):  # the masses are checked at the end
        return values if power == 1 else values**power


def blocks_of_rows(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    """Cut rows of dissimilarities into blocks that fit in memory."""
    return row_blocks(n_rows, max(1, CELLS // max(1, n_columns)), most=None)


class ComparedObjects:
    """n objects with weights, and their dissimilarities to some power. Objects of weight 0 represent no cluster."""

    def __init__(self, source: DissimilaritySource, power: float, weights: np.ndarray):
        self.source, self.power, self.weights = source, power, weights

    def __len__(self) -> int:
        return len(self.source)

    def subset(self, positions: np.ndarray, weights: np.ndarray) -> ComparedObjects:
        return ComparedObjects(self.source.subset(positions), self.power, weights)

    @cached_property
    def order(self) -> np.ndarray:
        """The objects along their sums of dissimilarities, which is the same order however the rows are permuted;
        without a matrix along a line through the attributes, if there are any."""
        if self.matrix is not None:
            return np.argsort(self.matrix @ self.weights, kind="stable")
        if isinstance(self.source, AttributeSource):
            return order_along_line(self.source.objects)
        return np.arange(len(self))

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """All dissimilarities, unless there are too many."""
        if self.source.matrix is not None:
            return raised(self.source.matrix, self.power)
        if len(self) > WHOLE_MATRIX:
            return None
        D = np.asarray(self.source.block(slice(None), slice(None)), dtype=float)
        D = raised((D + D.T) / 2, self.power)
        np.fill_diagonal(D, 0)
        return D

    def columns(self, objects: np.ndarray) -> np.ndarray:
        """(n, k) dissimilarities to a few objects, zero for their twins."""
        if self.source.matrix is not None:
            return np.ascontiguousarray(raised(self.source.matrix[objects].T, self.power))
        out = np.empty((len(self), len(objects)))
        if len(objects) == 0:  # metrics do not compare with nobody
            return out
        everyone, few = self.source.objects, self.source.objects[objects]
        for start, stop in blocks_of_rows(len(self), len(objects)):
            out[start:stop] = self.source.between(everyone[start:stop], few, exact=True)
        return raised(out, self.power)

    def block(self, rows: Any, columns: np.ndarray | None = None) -> np.ndarray:
        """Dissimilarities of some objects to some (None: all); no more at once than `blocks_of` says."""
        if columns is not None and len(columns) == len(self):
            columns = None
        if self.matrix is not None:
            return self.matrix[rows] if columns is None else self.matrix[rows][:, columns]
        return raised(self.source.block(rows, slice(None) if columns is None else columns), self.power)

    def blocks_of(self, k: int) -> list[tuple[int, int]]:
        """Cut k objects into blocks whose dissimilarities to all fit in memory."""
        return blocks_of_rows(k, len(self))

    def sums(self, weights: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
        """(c, k) sum over i of weights[i] d(i, o) for every candidate o (None: all objects)."""
        if candidates is None and self.matrix is not None:
            return weights.T @ self.matrix
        who = np.arange(len(self)) if candidates is None else candidates
        parts = [self.block(who[a:b]) @ weights for a, b in self.blocks_of(len(who))]
        return np.concatenate(parts).T


_SHARPNESS = 8  # of the mass of outliers: odds of ten at a cost a third above that of the empty set


@dataclass(frozen=True)
class MedoidModel(ABC):
    """Objects that represent clusters, for objects that are compared with them.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    references : References
        The objects that represent clusters or sets of them.
    power : float
        Dissimilarities are raised to this power first.
    gaps : (c, c) array or None
        Differences of costs between the clusters, by which pairs are read off; None if pairs have costs of their own.
    """

    step: MassStep
    references: References
    power: float
    gaps: np.ndarray | None = field(default=None, kw_only=True)

    @property
    def family(self) -> FocalSets:
        return self.step.family

    @property
    @abstractmethod
    def medoid_positions(self) -> np.ndarray:
        """(c,) where the object that represents each cluster best was among those of the fit."""

    @abstractmethod
    def costs(self, near: np.ndarray) -> np.ndarray:
        """(n, g) costs of the nonempty sets for objects with these dissimilarities, to the power, to the references."""

    @property
    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """(c, r) what a single cluster pays for the dissimilarity, to the power, to each reference."""

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer the objects that represent it, the more."""
        near = self._near(values, 0, 1)[0]
        coefficients = self.coefficients
        words = "minus the dissimilarity to the objects that represent the cluster"
        return ClusterEvidence.of_costs(words, near, coefficients, -coefficients @ near, self.references, values)

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """(n, f) masses of new objects."""
        costs = self.costs_of_objects(values)
        masses = self.step.masses(costs, np.empty(0), apply)[1] if self.gaps is None else self._read_off(costs)
        return masses.astype(values.dtype, copy=False)

    def _read_off(self, costs: np.ndarray) -> np.ndarray:
        """Masses on single clusters, and on pairs of neighbors for what lies between them."""
        assert self.gaps is not None
        single = self.single_costs(costs)
        with np.errstate(divide="ignore", over="ignore"):
            outlying = 1 / (1 + (self.step.delta2 / single.min(axis=1)) ** _SHARPNESS)
        return doubtful_masses(plausible_on_the_way(single, self.gaps, self.step.alpha), self.family, outlying)

    def single_costs(self, costs: np.ndarray) -> np.ndarray:
        """(n, c) costs of the single clusters, of those of the nonempty sets."""
        column = np.cumsum(self.family.cardinality > 0) - 1
        return np.ascontiguousarray(costs[:, column[self.family.singleton_index]])

    def gaps_between(self, values: Any) -> np.ndarray:
        """(c, c) differences of the costs of two clusters at their medoids, given as the values of a fit."""
        at = self.single_costs(self.costs_of_objects(values))
        beyond = at - np.diagonal(at)[:, None]
        return np.maximum((beyond + beyond.T) / 2, 0)

    def costs_of_objects(self, values: Any) -> np.ndarray:
        """(n, g) costs of the nonempty sets for objects."""
        blocks = blocks_of_rows(len(values), len(self.references))
        return np.concatenate([self.costs(self._near(values, start, stop)) for start, stop in blocks])

    def _near(self, values: Any, start: int, stop: int) -> np.ndarray:
        return raised(self.references.dissimilarities(values, start, stop, exact=True), self.power)


SAMPLE_SIZE = 2_000  # objects on which starts compete
_MANY_CANDIDATES = 500  # for each cluster, of more objects than the whole matrix holds
_ROUNDING = 1e-6  # of the mean dissimilarity: that of twins, in a matrix made by a fast and inexact way
_QUANTILE = 0.95  # of the dissimilarities: delta="auto"


@dataclass(frozen=True)
class Representatives:
    """What represents the clusters while a method descends; ``step`` holds the penalties and the family, ``gaps`` are
    those of `MedoidModel`."""

    step: MassStep
    gaps: np.ndarray | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Medoids(Representatives):
    """One object a cluster, by its position."""

    positions: np.ndarray


State = TypeVar("State", bound=Representatives)


class MedoidDescent(ABC, Generic[State]):
    """Some objects, all or a sample of them, and how a method descends there."""

    def __init__(self, method: MedoidMethod[State], objects: ComparedObjects):
        self.params: Any = method.params  # each method has some of its own
        self.objects, self.apply, self.unit = objects, method.apply, method.unit

    @abstractmethod
    def start(self, step: MassStep, medoids: np.ndarray) -> State:
        """What one object for each cluster stands for."""

    @abstractmethod
    def run(self, start: State) -> Run[State]:
        """From a start to the end."""

    @abstractmethod
    def enlarged(self, state: State, positions: np.ndarray, whole: Self) -> State:
        """The same for more objects, among which those of this descent are at ``positions``."""

    @abstractmethod
    def fitted(self, state: State) -> MedoidModel:
        """What is left for new objects."""

    def candidates(self, scores: np.ndarray) -> np.ndarray | None:
        """Objects that may become the medoid of a cluster: all (None), or those of largest score."""
        wanted = self.params.n_candidates
        if wanted == "auto":
            wanted = None if self.objects.matrix is not None else _MANY_CANDIDATES
        if wanted is None or int(wanted) >= len(self.objects):
            return None
        return np.sort(np.argsort(-scores, kind="stable")[: int(wanted)])

    def central(self, weights: np.ndarray) -> np.ndarray:
        """For each column of (n, c) weights the object with the least weighted sum of dissimilarities; those of the
        objects themselves come on top.

        Two clusters cannot have the same object, nor twins: the second takes its next best.
        """
        weights = weights * self.objects.weights[:, None]
        free = self.objects.weights > 0
        limited = [self.candidates(column) for column in weights.T]
        everyone = self.objects.sums(weights, None) if limited[0] is None else None
        medoids = np.empty(weights.shape[1], dtype=np.intp)
        for k, candidates in enumerate(limited):
            totals = everyone[k] if everyone is not None else self.objects.sums(weights[:, [k]], candidates)[0]
            best = np.where(free if candidates is None else free[candidates], totals, np.inf).argmin()
            medoids[k] = best if candidates is None else candidates[best]
            free &= ~self.taken(medoids[[k]])
        return medoids

    def taken(self, medoids: np.ndarray) -> np.ndarray:
        """Whether each object is one of the medoids, or a twin of one."""
        taken = self.objects.columns(medoids).min(axis=1) <= 0
        taken[medoids] = True
        return taken


class PlainMedoidDescent(MedoidDescent[Medoids]):
    """Descends with one medoid for each cluster."""

    def start(self, step: MassStep, medoids: np.ndarray) -> Medoids:
        return Medoids(step, np.asarray(medoids, dtype=np.intp))

    def enlarged(self, state: Medoids, positions: np.ndarray, whole: Self) -> Medoids:
        return replace(state, positions=positions[state.positions])


class MedoidMethod(Method[State, State], Generic[State]):
    """A medoid method: ``descent`` says which."""

    descent: type[MedoidDescent[State]]
    cost_power = 1  # costs are the dissimilarities, raised already, to this power
    pairs_can_win = False  # whether the published cost of a pair is below those of its clusters for objects in between

    def __init__(self, params: MedoidClusterer, sample: Sample[DissimilaritySource], request: FitRequest):
        self.params, self.source, self.apply, self.n_clusters = params, sample.values, request.apply, request.n_clusters
        self.peaks = fit_source_peaks(params.init, self.source, self.n_clusters, params.random_state, params.n_jobs)
        self.has_user_start = self.peaks is not None or not isinstance(params.init, str)
        self.rng = rng = as_random_state(params.random_state)
        n = len(self.source)
        whole = ComparedObjects(self.source, params.power, np.ones(n) if sample.weights is None else sample.weights)
        check_different_objects(lambda i: whole.columns(np.array([i]))[:, 0], whole.weights, self.n_clusters)
        self.positions, part = np.arange(n), whole
        if n > SAMPLE_SIZE:
            self.positions, weights = sampling.sample_in_order(whole.order, whole.weights, SAMPLE_SIZE, rng)
            part = whole.subset(self.positions, weights)
        assert part.matrix is not None
        self.zero = 1e-12 * float((part.matrix**self.cost_power).mean())
        self.rounding = _ROUNDING**params.power * float(part.matrix.mean())
        share = part.weights / part.weights.sum()
        self.unit = float(share @ part.matrix @ share)  # mean dissimilarity: the same if rows are repeated
        self._delta2 = None if isinstance(params.delta, str) else float(params.delta) ** 2
        self.whole = self.descent(self, whole)
        self.part = self.whole if part is whole else self.descent(self, part)

    @property
    def delta(self) -> float:
        return float(np.sqrt(self.delta2))

    @property
    def delta2(self) -> float:
        """Cost of the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta2 is None:
            objects = self.part.objects
            assert objects.matrix is not None
            large = pair_quantile(objects.matrix, objects.weights, _QUANTILE, self.rounding)
            self._delta2 = large**self.cost_power or 1.0  # any will do if there are twins only
        return self._delta2

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta2
        return MassStep(family, self.params.alpha, self.params.beta, delta2, self.zero)

    # ---- starts ---------------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[State]:
        step = self._mass_step(family)
        init = self.params.init if self.peaks is None else self.peaks.peak_indices_
        if not isinstance(init, str):
            return [self.whole.start(step, self._given_medoids(init))]
        return [self.part.start(step, medoids) for medoids in self._drawn_medoids()]

    def _drawn_medoids(self) -> list[np.ndarray]:
        """Positions in the sample, drawn along an order that has nothing to do with the rows."""
        n_init, objects = self.params.n_init, self.part.objects
        order = objects.order[objects.weights[objects.order] > 0]
        assert objects.matrix is not None
        D, weights = np.ascontiguousarray(objects.matrix[np.ix_(order, order)]), objects.weights[order]
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if self.params.init == "medoids":
            drawn = medoid_starts(D, self.n_clusters, n_init, rng, weights)
        else:
            drawn = [_different_objects(D, weights, self.n_clusters, self.rounding, rng) for _ in range(n_init)]
        return [order[places] for places in drawn]

    def _given_medoids(self, init: ArrayLike | CredalPartition) -> np.ndarray:
        n, c = len(self.source), self.n_clusters
        if isinstance(init, CredalPartition):
            _starts.check_partition(init, n, c)
            return self.whole.central(init.pignistic() ** self.params.beta)
        medoids = _starts.checked_positions(init, n, c)
        twins = np.argwhere(np.tril(self.whole.objects.columns(medoids)[medoids] <= 0, -1))
        if len(twins):
            a, b = medoids[twins[0]]
            raise InvalidInputError(f"init must hold different objects, got {b} and {a}, which do not differ at all")
        return medoids

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: State) -> Run[State]:
        return self.whole.run(start) if self.has_user_start else self.part.run(start)

    def refine(self, best: Run[State]) -> Run[State]:
        if self.has_user_start or self.part is self.whole:
            return best
        return self.whole.run(self.part.enlarged(best.model, self.positions, self.whole))

    def extend(self, run: Run[State], family: FocalSets) -> Run[State]:
        return self.whole.run(replace(run.model, step=self._mass_step(family)))

    def add_neighbor_pairs(self, run: Run[State]) -> Run[State]:
        model = self.whole.fitted(run.model)
        if self._delta2 is None:
            power = self.cost_power * self.params.power
            nearest = model.costs_of_objects(self._values).min(axis=1) ** (1 / power)
            self._delta2 = outlier_distance(nearest, self.whole.objects.weights) ** power
        medoids = model.medoid_positions
        family = FocalSets.neighbors(squared_distances=np.square(self.source.block(medoids, medoids)))
        gaps = None if self.pairs_can_win else model.gaps_between(self._values[medoids])
        return Run(replace(run.model, step=self._mass_step(family), gaps=gaps), run.history, run.converged)

    # ---- results --------------------------------------------------------------------------------------------------

    def result(self, run: Run[State]) -> FitResult:
        model = self.whole.fitted(run.model)
        return FitResult(run, model, model.masses(self._values, self.apply))

    @property
    def _values(self) -> Any:
        """The objects as a model takes them."""
        return self.source.objects if self.source.matrix is None else self.source.matrix

    def attributes_of(self, positions: np.ndarray) -> np.ndarray | None:
        """Attributes of some objects; None for dissimilarities without any, or of mixed tables."""
        objects = self.source.objects
        return objects[positions] if isinstance(objects, np.ndarray) else None


def _different_objects(
    D: np.ndarray, weights: np.ndarray, n_objects: int, zero: float, rng: np.random.Generator
) -> np.ndarray:
    """Positions drawn in proportion to the weights, without twins."""
    chances = weights.copy()
    chosen = np.empty(n_objects, dtype=np.intp)
    for k in range(n_objects):
        reach = np.cumsum(chances)
        chosen[k] = np.searchsorted(reach, rng.random() * reach[-1], side="right").clip(max=len(D) - 1)
        chances[D[chosen[k]] <= zero] = 0
    return chosen


RELATIONAL_RULES = {
    **COMMON_RULES,
    "metric": METRIC_RULE,
    "symmetrize": rule.flag,
    "alpha": rule.real(0),
    "beta": rule.real(1, 50, open_low=True),
    "delta": rule.choice("auto") | rule.real(0, open_low=True),
    "missing": MISSING_RULE,
}
MEDOID_RULES = {
    **RELATIONAL_RULES,
    "n_candidates": rule.choice("auto") | rule.choice(None) | rule.integer(1),
    "init": rule.choice("medoids", "random") | rule.kind(CredalPartition) | rule.array | PEAKS_RULE,
}


class RelationalClusterer(EvidentialClusterer):
    """Base of the clusterers that know objects by their dissimilarities only."""

    metric: Metric
    symmetrize: bool
    _input: DissimilarityInput

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
            For ``metric="gower"`` a table with any columns. float32 is kept. A pandas table keeps its index.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        return self._fit(X, sample_weight=sample_weight)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """The objects of a fit as a source of dissimilarities, new ones as their references take them."""
        if not reset:
            return self._input.new(self, X)
        self._input = DissimilarityInput(self.metric, symmetrize=self.symmetrize)
        return self._input.training(self, X)

    def _comparison_source(self, values: DissimilaritySource) -> DissimilaritySource:
        return values

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


class MedoidClusterer(RelationalClusterer):
    """Base of the clusterers that represent clusters by objects."""

    alpha: float
    beta: float
    delta: float | str
    n_candidates: int | str | None
    init: str | BeliefPeaks | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    power = 1.0  # for methods without this parameter
    _method_type: type[MedoidMethod[Any]]

    def _make_method(self, sample: Sample[DissimilaritySource], request: FitRequest) -> MedoidMethod[Any]:
        return self._method_type(self, sample, request)

    def _fitted_attributes(self, method: Any, model: Any) -> dict[str, Any]:
        medoids = model.medoid_positions
        found = {"medoid_indices_": medoids, "delta_": method.delta}
        centers = method.attributes_of(medoids)
        return found if centers is None else {**found, "cluster_centers_": centers}


_ROUNDED = 1 - 1e-12  # a share of the pairs that is a whole number but for rounding is that number


_PROBES = 20_000  # values that tell about where a quantile is


_MARGIN = 0.02  # how far it may be from there, as a share of all values


def pair_quantile(D: np.ndarray, weights: np.ndarray, share: float, zero: float = 0.0) -> float:
    """The smallest dissimilarity that a share of the pairs of different objects does not exceed; 0 without pairs.

    ``weights`` are those of the objects, or empty if all count alike; dissimilarities up to ``zero`` are rounding
    errors, of objects that do not differ.
    """
    positive = np.greater(D, zero)
    values = D[positive]
    if len(weights) == 0 or (weights == weights[0]).all():
        if len(values) == 0:
            return 0.0
        rank = max(int(np.ceil(share * len(values) * _ROUNDED)) - 1, 0)
        return float(np.partition(values, rank)[rank])
    pair_weights = np.outer(weights, weights)[positive]
    return _weighted_quantile(values, pair_weights, share) if pair_weights.any() else 0.0


def check_different_objects(
    dissimilarities: Callable[[int], np.ndarray], weights: np.ndarray, n_clusters: int, zero: float = 0.0
) -> None:
    """As many objects with a weight apart from each other as clusters are needed; ``dissimilarities(i)`` are those of
    object i."""
    counts = weights > 0
    nearest = np.where(counts, dissimilarities(int(counts.argmax())), 0)
    for count in range(1, n_clusters):
        farthest = int(nearest.argmax())
        if nearest[farthest] <= zero:
            raise too_few(n_clusters, count, weights)
        np.minimum(nearest, dissimilarities(farthest), out=nearest)


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The smallest value that a share of the weights does not exceed. Only values near it, as some of them tell, are
    sorted."""
    target = share * weights.sum() * _ROUNDED
    step = max(1, len(values) // _PROBES)
    probes = np.argsort(values[::step]) * step
    reach = np.cumsum(weights[probes])
    low, high = (
        values[probes[min(int(np.searchsorted(reach, bound * reach[-1])), len(probes) - 1)]]
        for bound in (share - _MARGIN, share + _MARGIN)
    )
    below = float(weights[values < low].sum())
    near = (values >= low) & (values <= high)
    if not below < target <= below + weights[near].sum():
        below, near = 0.0, np.ones(len(values), dtype=bool)
    values, weights = values[near], weights[near]
    order = np.argsort(values, kind="stable")
    reach = below + np.cumsum(weights[order])
    return float(values[order[min(int(np.searchsorted(reach, target)), len(order) - 1)]])
