"""How relational evidential c-means descends: starts, a sample for the first of them, shifts tried in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._mass_step import MassStep, carried_masses
from dempster.cluster._scales import isolated_by_distances, outlier_distance
from dempster.cluster._search import Method, Sample
from dempster.cluster.relational._matrices import check_different_objects, pair_quantile, smallest_eigenvalue
from dempster.cluster.relational._squares import squared_matrix
from dempster.cluster.relational._weighted_means import WeightedMeans, WeightedMeansModel
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run, descend
from dempster.partition import CredalPartition

__all__ = ["RelationalSettings", "RelationalObjects", "RelationalMethod", "NotEuclidean", "shifted_methods"]

SAMPLE_FROM, SAMPLE_SIZE = 1_000, 500  # starts compete on a sample of this size if there are more objects
_DELTA_SHARE = 0.95  # delta="auto": squared, this quantile of the dissimilarities
_SHARES_OF_SHIFT = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0)  # tried in turn by correction="auto", if none does not do
_REDRAWS = 5  # of a random start whose prototypes all end at the same place

Draw = Callable[[], WeightedMeans]  # a start; a random one gives other prototypes each time


class NotEuclidean(Exception):
    """A squared distance was negative, or the objective rose: no points have these dissimilarities."""


@dataclass(frozen=True)
class RelationalSettings:
    """What a user may set. ``delta`` is None if it follows from the data; ``init`` is the name of a way to draw
    starts, or the positions of objects, masses or the partition to start from."""

    n_clusters: int
    symmetrize: bool
    square: bool
    alpha: float
    beta: float
    delta: float | None
    correction: str
    init: str | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    tol: float


@dataclass(frozen=True, eq=False)
class RelationalObjects:
    """Objects known by the squared distances between them.

    Attributes
    ----------
    distances : (n, n) array
    weights : (n,) array, empty if all objects count alike
    order : (n,) array
        The objects along their sums of distances: the same order however the rows are permuted.
    """

    distances: np.ndarray
    weights: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, D: np.ndarray, weights: np.ndarray) -> RelationalObjects:
        w = np.ones(len(D)) if len(weights) == 0 else weights
        return cls(D, weights, np.argsort(D @ w.astype(D.dtype), kind="stable"))

    def __len__(self) -> int:
        return len(self.distances)

    @property
    def all_weights(self) -> np.ndarray:
        return np.ones(len(self)) if len(self.weights) == 0 else self.weights

    @cached_property
    def mean_distance(self) -> float:
        return float(self.distances.mean(dtype=float))

    @property
    def zero(self) -> float:
        """Squared distance that counts as none."""
        return 1e-12 * self.mean_distance

    @cached_property
    def large_distance(self) -> float:
        """The squared distance that few pairs of different objects exceed."""
        return pair_quantile(self.distances, self.weights, _DELTA_SHARE, self.zero)

    def sample(self, rng: np.random.RandomState) -> tuple[np.ndarray, RelationalObjects]:
        """Positions of some of the objects, drawn in proportion to the weights, and these objects; all if they are
        few."""
        if len(self) <= SAMPLE_FROM:
            return np.arange(len(self)), self
        which, weights = _starts.sample_in_order(self.order, self.all_weights, SAMPLE_SIZE, rng)
        D = np.ascontiguousarray(self.distances[np.ix_(which, which)])
        return which, RelationalObjects(D, weights, np.arange(len(D)))


def shifted_methods(
    settings: RelationalSettings, sample: Sample[DissimilaritySource], rng: np.random.RandomState, apply: Apply
) -> Iterator[RelationalMethod]:
    """The method with the shifts that the correction asks for, to be tried one after the other until one does not give
    up; the last of them never does."""
    source = sample.values
    D = squared_matrix(source, square=settings.square, symmetrize=settings.symmetrize)
    objects = RelationalObjects.of(D, sample.kernel_weights)
    references = References.of(source, np.arange(len(source)))
    make = partial(RelationalMethod, settings, objects, references, rng.randint(np.iinfo(np.int32).max), apply)
    if settings.correction == "clip":
        yield make(0.0, watched=False)
        return
    if settings.correction == "auto":
        yield make(0.0, watched=True)
    enough = max(0.0, -2 * smallest_eigenvalue(D))  # to make the dissimilarities Euclidean
    for share in _SHARES_OF_SHIFT if settings.correction == "auto" else (1.0,):
        yield make(share * enough, watched=share < 1)


class RelationalMethod(Method[Draw, WeightedMeans]):
    """Relational evidential c-means, with one shift of the dissimilarities.

    ``watched``: give up (`NotEuclidean`) as soon as something shows that no points have the dissimilarities.
    """

    def __init__(
        self,
        settings: RelationalSettings,
        objects: RelationalObjects,
        references: References,
        seed: int,
        apply: Apply,
        shift: float,
        *,
        watched: bool,
    ):
        self.settings, self.objects, self.references = settings, objects, references
        self.rng, self.apply = np.random.RandomState(seed), apply
        self.shift, self.watched = shift, watched
        self.negative = -objects.mean_distance * (1e-9 if objects.distances.dtype == np.float64 else 1e-4)
        check_different_objects(objects.distances.__getitem__, objects.all_weights, settings.n_clusters, objects.zero)
        self._delta = None if settings.delta is None else float(np.sqrt(settings.delta**2 + shift / 2))
        self.sampled, self.part = objects.sample(self.rng)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta is None:
            self._delta = float(np.sqrt(self.objects.large_distance + self.shift)) or 1.0
        return self._delta

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> Draw | None:
        init, n, c = self.settings.init, len(self.objects), self.settings.n_clusters
        if isinstance(init, str):
            return None
        if not isinstance(init, CredalPartition) and np.ndim(init) == 1:
            given = self._means_of_objects(family, _starts.checked_positions(init, n, c), n)
        else:
            partition = _starts.checked_masses_start(init, n, family)
            masses = carried_masses(partition.masses, partition.focal_sets, family)
            given = self._means_of_masses(family, masses, self.objects)
        return lambda: given

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[Draw], int]:
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.settings.n_init)
        draw = self._drawn_objects if self.settings.init == "k-means++" else self._drawn_masses
        return (partial(draw, family, np.random.RandomState(seed)) for seed in seeds), len(seeds)

    def _drawn_objects(self, family: FocalSets, rng: np.random.RandomState) -> WeightedMeans:
        """Objects far from each other."""
        part = self.part
        weights = part.all_weights if family.empty_index is not None else self._crowded_weights
        chosen = _starts.far_objects(part.distances.__getitem__, weights, part.order, self.settings.n_clusters, rng)
        return self._means_of_objects(family, chosen, len(part))

    @cached_property
    def _crowded_weights(self) -> np.ndarray:
        """Weights of the sample, zero for isolated objects, on which prototypes would stay where there is no empty set
        to take them."""
        D = np.where(self.part.distances > self.part.zero, self.part.distances, np.inf)
        weights = np.where(isolated_by_distances(np.sqrt(D)), 0.0, self.part.all_weights)
        return weights if (weights > 0).sum() > 2 * self.settings.n_clusters else self.part.all_weights

    def _drawn_masses(self, family: FocalSets, rng: np.random.RandomState) -> WeightedMeans:
        masses = np.empty((len(self.part), int((family.cardinality > 0).sum())))
        masses[self.part.order] = rng.random_sample(masses.shape)
        return self._means_of_masses(family, masses / masses.sum(axis=1, keepdims=True), self.part)

    def _means(self, family: FocalSets, weights: np.ndarray) -> WeightedMeans:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        step = MassStep(family, self.settings.alpha, self.settings.beta, delta2, self.objects.zero)
        return WeightedMeans(step, weights, self.shift, self.negative)

    def _means_of_objects(self, family: FocalSets, chosen: np.ndarray, n: int) -> WeightedMeans:
        weights = np.zeros((len(chosen), n))
        weights[np.arange(len(chosen)), chosen] = 1
        return self._means(family, weights)

    def _means_of_masses(self, family: FocalSets, masses: np.ndarray, objects: RelationalObjects) -> WeightedMeans:
        n = len(objects)
        alike = self._means(family, np.full((self.settings.n_clusters, n), 1 / n))
        return alike.updated(masses, objects.weights)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: Draw) -> Run[WeightedMeans]:
        run = self._run(start(), self.part)
        if self.settings.init == "random":
            for _ in range(1, _REDRAWS):
                if not self._coincide(run.model):
                    break
                run = self._run(start(), self.part)
        return run

    def _coincide(self, means: WeightedMeans) -> bool:
        """Whether all prototypes are at the same place: a fixed point that says nothing."""
        apart = self._squared_gaps(means, self.part)
        return len(apart) > 1 and float(apart.max()) < 1e-6 * self.part.mean_distance

    @staticmethod
    def _squared_gaps(means: WeightedMeans, objects: RelationalObjects) -> np.ndarray:
        """(c, c) squared distances between the prototypes."""
        D = objects.distances
        inner = means.weights @ np.asarray(D @ means.weights.T.astype(D.dtype), dtype=float)
        return np.maximum(inner - np.diagonal(inner) / 2 - np.diagonal(inner)[:, None] / 2, 0)

    def completed(self, best: Run[WeightedMeans]) -> Run[WeightedMeans]:
        if self.part is self.objects:
            return best
        weights = np.zeros((self.settings.n_clusters, len(self.objects)))
        weights[:, self.sampled] = best.model.weights
        return self._run(replace(best.model, weights=weights), self.objects)

    def descend(self, start: Draw) -> Run[WeightedMeans]:
        return self._run(start(), self.objects)

    def extended(self, run: Run[WeightedMeans], family: FocalSets) -> Run[WeightedMeans]:
        return self._run(self._means(family, run.model.weights), self.objects)

    def with_neighbors(self, run: Run[WeightedMeans]) -> Run[WeightedMeans]:
        if self._delta is None:
            costs, _ = run.model.costs(self.objects.distances, run.model.weights.T, self.apply)
            self._delta = outlier_distance(np.sqrt(np.maximum(costs.min(axis=1), 0)), self.objects.all_weights)
        family = FocalSets.neighbors(squared_distances=self._squared_gaps(run.model, self.objects))
        return Run(self._means(family, run.model.weights), run.history, run.converged)

    def _run(self, start: WeightedMeans, objects: RelationalObjects) -> Run[WeightedMeans]:
        lowest = np.inf

        def step(means: WeightedMeans) -> tuple[float, WeightedMeans]:
            nonlocal lowest
            objective, least, following = means.iterated(objects.distances, objects.weights, self.apply)
            if self.watched and (least < means.negative or objective > lowest * (1 + 1e-9)):
                raise NotEuclidean
            lowest = objective
            return objective, following

        return descend(step, start, max_iter=self.settings.max_iter, tol=self.settings.tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[WeightedMeans]) -> CredalPartition:
        model, masses = self.result(run)
        return CredalPartition.unchecked(masses, model.family)

    def result(self, run: Run[WeightedMeans]) -> tuple[WeightedMeansModel, np.ndarray]:
        D = self.objects.distances
        _, inner = run.model.costs(D, run.model.weights.T, self.apply)
        means = replace(run.model, inner=inner)
        return WeightedMeansModel(means, self.references, self.settings.square), means.masses(D, self.apply)
