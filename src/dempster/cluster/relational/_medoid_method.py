"""What the medoid methods share: starts, a sample on which they compete, and the choice of central objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._mass_step import MassStep
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._scales import outlier_distance
from dempster.cluster._search import Method, Sample
from dempster.cluster.relational._compared import ComparedObjects
from dempster.cluster.relational._matrices import check_different_objects, pair_quantile
from dempster.cluster.relational._medoid_model import MedoidModel
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

__all__ = ["MedoidSettings", "Representatives", "Medoids", "MedoidDescent", "PlainMedoidDescent", "MedoidMethod"]

SAMPLE_SIZE = 2_000  # objects on which starts compete
_MANY_CANDIDATES = 500  # for each cluster, of more objects than the whole matrix holds
_ROUNDING = 1e-6  # of the mean dissimilarity: that of twins, in a matrix made by a fast and inexact way
_QUANTILE = 0.95  # of the dissimilarities: delta="auto"


@dataclass(frozen=True, kw_only=True)
class MedoidSettings:
    """What a user may set. ``delta`` is None if it follows from the data; ``init`` is the name of a way to draw
    starts, or the positions of objects or the partition to start from."""

    n_clusters: int
    power: float = 1.0
    alpha: float
    beta: float
    delta: float | None
    n_candidates: int | str | None
    init: str | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    tol: float


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
Settings = TypeVar("Settings", bound=MedoidSettings)


class MedoidDescent(ABC, Generic[Settings, State]):
    """Some objects, all or a sample of them, and how a method descends there."""

    def __init__(self, settings: Settings, objects: ComparedObjects, apply: Apply):
        self.settings, self.objects, self.apply = settings, objects, apply

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
        wanted = self.settings.n_candidates
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


class PlainMedoidDescent(MedoidDescent[Settings, Medoids]):
    """Descends with one medoid for each cluster."""

    def start(self, step: MassStep, medoids: np.ndarray) -> Medoids:
        return Medoids(step, np.asarray(medoids, dtype=np.intp))

    def enlarged(self, state: Medoids, positions: np.ndarray, whole: Self) -> Medoids:
        return replace(state, positions=positions[state.positions])


class MedoidMethod(Method[State, State], Generic[Settings, State]):
    """A medoid method: `_descent` says which."""

    cost_power = 1  # costs are the dissimilarities, raised already, to this power
    pairs_can_win = False  # whether the published cost of a pair is below those of its clusters for objects in between

    def __init__(
        self, settings: Settings, sample: Sample[DissimilaritySource], rng: np.random.RandomState, apply: Apply
    ):
        self.settings, self.source, self.rng, self.apply = settings, sample.values, rng, apply
        n = len(self.source)
        whole = ComparedObjects(self.source, settings.power, np.ones(n) if sample.weights is None else sample.weights)
        check_different_objects(lambda i: whole.columns(np.array([i]))[:, 0], whole.weights, settings.n_clusters)
        self.positions, part = np.arange(n), whole
        if n > SAMPLE_SIZE:
            self.positions, weights = _starts.sample_in_order(whole.order, whole.weights, SAMPLE_SIZE, rng)
            part = whole.subset(self.positions, weights)
        assert part.matrix is not None
        self.zero = 1e-12 * float((part.matrix**self.cost_power).mean())
        self.rounding = _ROUNDING**settings.power * float(part.matrix.mean())
        share = part.weights / part.weights.sum()
        self.unit = float(share @ part.matrix @ share)  # mean dissimilarity: the same if rows are repeated
        self._delta2 = None if settings.delta is None else settings.delta**2
        self.whole = self._descent(whole)
        self.part = self.whole if part is whole else self._descent(part)

    @abstractmethod
    def _descent(self, objects: ComparedObjects) -> MedoidDescent[Settings, State]: ...

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
        return MassStep(family, self.settings.alpha, self.settings.beta, delta2, self.zero)

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> State | None:
        init = self.settings.init
        return None if isinstance(init, str) else self.whole.start(self._mass_step(family), self._given_medoids(init))

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[State], int]:
        step, medoids = self._mass_step(family), self._drawn_medoids()
        return (self.part.start(step, chosen) for chosen in medoids), len(medoids)

    def _drawn_medoids(self) -> list[np.ndarray]:
        """Positions in the sample, drawn along an order that has nothing to do with the rows."""
        s, objects = self.settings, self.part.objects
        order = objects.order[objects.weights[objects.order] > 0]
        assert objects.matrix is not None
        D, weights = np.ascontiguousarray(objects.matrix[np.ix_(order, order)]), objects.weights[order]
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if s.init == "medoids":
            drawn = medoid_starts(D, s.n_clusters, s.n_init, rng, weights)
        else:
            drawn = [_different_objects(D, weights, s.n_clusters, self.rounding, rng) for _ in range(s.n_init)]
        return [order[places] for places in drawn]

    def _given_medoids(self, init: ArrayLike | CredalPartition) -> np.ndarray:
        n, c = len(self.source), self.settings.n_clusters
        if isinstance(init, CredalPartition):
            _starts.check_partition(init, n, c)
            return self.whole.central(init.pignistic() ** self.settings.beta)
        medoids = _starts.checked_positions(init, n, c)
        twins = np.argwhere(np.tril(self.whole.objects.columns(medoids)[medoids] <= 0, -1))
        if len(twins):
            a, b = medoids[twins[0]]
            raise InvalidInputError(f"init must hold different objects, got {b} and {a}, which do not differ at all")
        return medoids

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: State) -> Run[State]:
        return self.part.run(start)

    def completed(self, best: Run[State]) -> Run[State]:
        if self.part is self.whole:
            return best
        return self.descend(self.part.enlarged(best.model, self.positions, self.whole))

    def descend(self, start: State) -> Run[State]:
        return self.whole.run(start)

    def extended(self, run: Run[State], family: FocalSets) -> Run[State]:
        return self.descend(replace(run.model, step=self._mass_step(family)))

    def with_neighbors(self, run: Run[State]) -> Run[State]:
        model = self.whole.fitted(run.model)
        if self._delta2 is None:
            power = self.cost_power * self.settings.power
            nearest = model.costs_of_objects(self._values).min(axis=1) ** (1 / power)
            self._delta2 = outlier_distance(nearest, self.whole.objects.weights) ** power
        medoids = model.medoid_positions
        family = FocalSets.neighbors(squared_distances=np.square(self.source.block(medoids, medoids)))
        gaps = None if self.pairs_can_win else model.gaps_between(self._values[medoids])
        return Run(replace(run.model, step=self._mass_step(family), gaps=gaps), run.history, run.converged)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[State]) -> CredalPartition:
        model, masses = self.result(run)
        return CredalPartition.unchecked(masses, model.family)

    def result(self, run: Run[State]) -> tuple[MedoidModel, np.ndarray]:
        model = self.whole.fitted(run.model)
        return model, model.masses(self._values, self.apply)

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
