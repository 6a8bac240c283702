"""Relational evidential c-means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._native import interruptible, kernel
from dempster._random import as_random_state
from dempster._types import ArrayLike, Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import FitRequest
from dempster.cluster._mass_step import MassStep, project_masses
from dempster.cluster._medoids import (
    RELATIONAL_RULES,
    RelationalClusterer,
    check_different_objects,
    pair_quantile,
)
from dempster.cluster._search import FitResult, Method, Sample, Search, require_singletons
from dempster.cluster._starts import isolated_by_distances, outlier_distance
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks
from dempster.cluster.evidence import ClusterEvidence
from dempster.data import sampling
from dempster.dissimilarity.sources import DissimilaritySource, References, check_square, rounding
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.partition import CredalPartition

# D times P': without BLAS, whose threads get in the way of small products, again and again.
fill_products = kernel("relational_products(D: real[n, m], P: float64[c, m], out: float64[n, c] out)")
# One iteration: returns the objective of the prototypes P, whose products with the dissimilarities are given, and
# writes the prototypes that follow and the smallest squared distance. The penalties are those of `MassStep`.
relational_step = kernel("""relational_step(
    products: float64[n, c], P: float64[c, n], sets: bool[g, c], weights: float64[n] or None, factor: float64[g],
    size: int64[g], delta2: float, beta: float, zero: float, negative: float, shift: float, alpha: float,
    following: float64[c, n] out, least: float64[1] out) -> float""")

_SQUARED_ALREADY = ("precomputed", "sqeuclidean", "gower")


def is_to_be_squared(square: bool | str, metric: Metric) -> bool:
    """What ``square="auto"`` stands for: a given matrix is used as it is, and some metrics are squares already."""
    return metric not in _SQUARED_ALREADY if isinstance(square, str) else bool(square)


def squared(D: np.ndarray, square: bool) -> np.ndarray:
    """The dissimilarities, squared if asked for."""
    if not square:
        return D
    with np.errstate(over="ignore"):
        D = D * D
    if not np.isfinite(D).all():
        raise InvalidInputError("X holds dissimilarities too large to be squared; scale them down")
    return D


def squared_matrix(source: DissimilaritySource, *, square: bool, symmetrize: bool) -> np.ndarray:
    """(n, n) squared distances between the objects of a fit."""
    if source.matrix is not None:
        return squared(source.matrix, square)
    D = source.block(slice(None), slice(None))
    if not callable(source.metric):
        np.fill_diagonal(D, 0)  # zero but for rounding
    return squared(check_square(D, symmetrize=symmetrize), square)


_ROWS = 256  # of dissimilarities in a block, at least
_CELLS = 16_000_000  # dissimilarities of new objects held at once


@dataclass(frozen=True)
class WeightedMeans:
    """Prototypes as weighted means of the objects of a fit.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    weights : (c, n) array
        Of the objects in each prototype; rows sum to one.
    shift : float
        Added to the dissimilarities of different objects.
    negative : float
        Squared distance below which the dissimilarities are not Euclidean (above, it is a rounding error).
    inner : (c, c) array or None
        P Delta P' for the weights P, once known.
    """

    step: MassStep
    weights: np.ndarray
    shift: float = 0.0
    negative: float = 0.0
    inner: np.ndarray | None = None

    @property
    def family(self) -> FocalSets:
        return self.step.family

    def costs(self, D: np.ndarray, own: np.ndarray, apply: Apply) -> tuple[np.ndarray, np.ndarray]:
        """(n, g) squared distances of objects to the prototypes of the sets, and P Delta P'.

        ``D`` holds the dissimilarities to the objects of the fit, ``own`` (n, c) the weights of the objects
        themselves: an object is at no distance from itself, so nothing is added there by the shift.
        """
        products = self._products(D, apply)
        inner = self.weights @ products if self.inner is None else self.inner
        return (products - self.shift * own) @ self.step.averages.T + self._offsets(inner), inner

    def squared_distances(self, D: np.ndarray, itself: int) -> np.ndarray:
        """(c,) of one object, at these dissimilarities (1, n) from those of the fit, to the prototypes."""
        assert self.inner is not None
        products = self.weights @ D[0] + (self.shift * (1 - self.weights[:, itself]) if itself >= 0 else self.shift)
        inner = np.diagonal(self.inner) + self.shift * (1 - (self.weights**2).sum(axis=1))
        return products - inner / 2

    def iterated(self, D: np.ndarray, weights: np.ndarray, apply: Apply) -> tuple[float, float, Self]:
        """One iteration with the objects of the fit: the objective, the smallest squared distance, the prototypes that
        follow; ``weights`` are those of the objects in the objective."""
        following, least, step = np.empty_like(self.weights), np.empty(1), self.step
        objective = relational_step(
            self._products(D, apply), self.weights, step.sets > 0, weights if len(weights) else None,
            *step.kernel_arguments(), self.negative, self.shift, step.alpha, following, least,
        )  # fmt: skip
        return objective, float(least[0]), replace(self, weights=following, inner=None)

    def _products(self, D: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, c) Delta P', without the shift."""
        D, out = np.ascontiguousarray(D), np.empty((len(D), len(self.weights)))
        apply(fill_products, [(D[a:b], self.weights, out[a:b]) for a, b in row_blocks(len(D), _ROWS)])
        return out

    def _offsets(self, inner: np.ndarray) -> np.ndarray:
        """What is added to the mean product of the clusters of a set, for P Delta P'."""
        averages = self.step.averages
        if self.shift:
            inner = inner + self.shift * (1 - self.weights @ self.weights.T)
        return self.shift - np.sum(averages @ inner * averages, axis=1) / 2

    def nonnegative(self, costs: np.ndarray) -> np.ndarray:
        """Negative squared distances become small positive ones; rounding errors below zero count as zero later."""
        return np.where(costs < self.negative, -self.negative, costs)

    def masses(self, D: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of objects given by their squared dissimilarities to those of the fit.

        With a shift, an object at no dissimilarity from one of the fit is that object (of several, the first).
        """
        own = np.zeros((len(D), len(self.weights)))
        if self.shift:
            same = np.less_equal(D, rounding(D.dtype) * float(D.max()))
            known = np.flatnonzero(same.any(axis=1))
            own[known] = self.weights.T[same[known].argmax(axis=1)]
        costs, _ = self.costs(D, own, apply)
        _, masses = self.step.masses(self.nonnegative(costs), np.empty(0), apply)
        return masses.astype(D.dtype, copy=False)

    def updated(self, masses: np.ndarray, weights: np.ndarray) -> Self:
        """The prototypes that minimise the objective given the masses of the nonempty sets (Masson and Denoeux, 2009);
        ``weights`` are those of the objects in the objective."""
        W = masses**self.step.beta
        if len(weights):
            W *= weights[:, None]
        sets, alpha = self.step.sets, self.step.alpha
        size = sets.sum(axis=1)
        H = (sets.T * (size ** (alpha - 2) * W.sum(axis=0))) @ sets
        best = solve_normal_equations(H, (sets.T * size ** (alpha - 1)) @ W.T)
        total = best.sum(axis=1, keepdims=True)
        lost = ~(total > 0.5)  # no mass is left for the cluster: its prototype stays
        best = np.where(lost, self.weights, best / np.where(lost, 1, total))
        return replace(self, weights=best, inner=None)


@dataclass(frozen=True)
class WeightedMeansModel:
    """The prototypes of a fit, for objects that are compared with those of the fit.

    Attributes
    ----------
    means : WeightedMeans
        With P Delta P' known.
    references : References
        All objects of the fit.
    square : bool
        Whether the dissimilarities are squared first.
    """

    means: WeightedMeans
    references: References
    square: bool

    @property
    def family(self) -> FocalSets:
        return self.means.family

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """(n, f) masses of new objects."""
        blocks = row_blocks(len(values), max(1, _CELLS // len(self.references)), most=None)
        distances = self.references.dissimilarities
        return np.concatenate(
            [self.means.masses(squared(distances(values, a, b), self.square), apply) for a, b in blocks]
        )

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer its mean, the more.

        Where dissimilarities are squared Euclidean distances the mean is a point, with attributes. Elsewhere the
        attributes share the mean dissimilarity to the objects, and how far these are from each other counts besides.
        """
        D = squared(np.asarray(self.references.dissimilarities(values), dtype=float), self.square)
        words, P = "minus the squared distance to the center", self.means.weights
        total = -self.means.squared_distances(D, itself)
        found = ClusterEvidence.of_costs(words, D[0], P, total, self.references, values)
        source = self.references.source
        if source is None or not (source.is_euclidean if self.square else source.metric == "sqeuclidean"):
            return found
        gap = P @ np.asarray(source.objects, dtype=float) - values[0]
        return replace(found, parts=-(gap**2).T) if np.isfinite(gap).all() else found


_DENSE = 500  # objects up to which all eigenvalues are computed


def smallest_eigenvalue(D: np.ndarray) -> float:
    """Smallest eigenvalue of the doubly centred matrix -Q D Q / 2 (0 if there is none below rounding errors).

    Above a few hundred objects by Lanczos iterations, which cost as much as a few dozen products with a vector. The
    value is on the safe side: not above the true one by more than rounding.
    """
    n = len(D)
    if n < 2:
        return 0.0
    negligible = 1e-10 if D.dtype == np.float64 else 1e-5
    if n <= _DENSE:
        D = D.astype(float)
        gram = -0.5 * (D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean())
        values = interruptible(np.linalg.eigvalsh, gram)
        return float(values[0]) if values[0] < -negligible * abs(values[-1]) else 0.0
    from scipy.sparse.linalg import LinearOperator, eigsh

    def gram_times(v: np.ndarray) -> np.ndarray:
        v = v.reshape(-1) - v.mean()
        image = np.asarray(D @ v.astype(D.dtype), dtype=float)
        return -0.5 * (image - image.mean())

    start = np.random.RandomState(0).normal(size=n)
    precision = 1e-7 if D.dtype == np.float64 else 1e-4
    operator = LinearOperator((n, n), matvec=gram_times, dtype=float)
    largest = float(eigsh(operator, k=1, which="LM", v0=start, tol=precision, return_eigenvectors=False)[0])
    if largest < 0:
        return largest * (1 + precision)
    # what is smallest for the one is largest for the other, and the largest is found to a relative precision
    mirrored = LinearOperator((n, n), matvec=lambda v: largest * v.reshape(-1) - gram_times(v), dtype=float)
    reach = float(eigsh(mirrored, k=1, which="LA", v0=start, tol=precision, return_eigenvectors=False)[0])
    smallest = largest - reach
    return smallest - precision * reach if smallest < -10 * precision * largest else 0.0


SAMPLE_FROM, SAMPLE_SIZE = 1_000, 500  # starts compete on a sample of this size if there are more objects
_DELTA_SHARE = 0.95  # delta="auto": squared, this quantile of the dissimilarities
_SHARES_OF_SHIFT = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0)  # tried in turn by correction="auto", if none does not do
_REDRAWS = 5  # of a random start whose prototypes all end at the same place

Draw = Callable[[], WeightedMeans]  # a start; a random one gives other prototypes each time


class NotEuclidean(Exception):
    """A squared distance was negative, or the objective rose: no points have these dissimilarities."""


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
        which, weights = sampling.sample_in_order(self.order, self.all_weights, SAMPLE_SIZE, rng)
        D = np.ascontiguousarray(self.distances[np.ix_(which, which)])
        return which, RelationalObjects(D, weights, np.arange(len(D)))


class RelationalMethod(Method[Draw, WeightedMeans]):
    """Relational evidential c-means, with one shift of the dissimilarities.

    ``watched``: give up (`NotEuclidean`) as soon as something shows that no points have the dissimilarities.
    """

    def __init__(
        self,
        params: RECM,
        n_clusters: int,
        init: str | ArrayLike | CredalPartition,
        objects: RelationalObjects,
        references: References,
        seed: int,
        apply: Apply,
        shift: float,
        *,
        watched: bool,
    ):
        self.params, self.n_clusters, self.init = params, n_clusters, init
        self.objects, self.references = objects, references
        self.rng, self.apply = np.random.RandomState(seed), apply
        self.shift, self.watched = shift, watched
        self.negative = -objects.mean_distance * (1e-9 if objects.distances.dtype == np.float64 else 1e-4)
        check_different_objects(objects.distances.__getitem__, objects.all_weights, n_clusters, objects.zero)
        given = params.delta
        self._delta = None if isinstance(given, str) else float(np.sqrt(float(given) ** 2 + shift / 2))
        self.part = objects
        if isinstance(init, str):
            self.sampled, self.part = objects.sample(self.rng)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta is None:
            self._delta = float(np.sqrt(self.objects.large_distance + self.shift)) or 1.0
        return self._delta

    # ---- starts ---------------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[Draw]:
        if not isinstance(self.init, str):
            start = self._user_start(family, self.init)
            return [lambda: start]
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.params.n_init)
        draw = self._drawn_objects if self.init == "k-means++" else self._drawn_masses
        return [partial(draw, family, np.random.RandomState(seed)) for seed in seeds]

    def _user_start(self, family: FocalSets, init: ArrayLike | CredalPartition) -> WeightedMeans:
        n, c = len(self.objects), self.n_clusters
        if not isinstance(init, CredalPartition) and np.ndim(init) == 1:
            return self._means_of_objects(family, _starts.checked_positions(init, n, c), n)
        partition = _starts.checked_masses_start(init, n, family)
        masses = project_masses(partition.masses, partition.focal_sets, family)
        return self._means_of_masses(family, masses, self.objects)

    def _drawn_objects(self, family: FocalSets, rng: np.random.RandomState) -> WeightedMeans:
        """Objects far from each other."""
        part = self.part
        weights = part.all_weights if family.empty_index is not None else self._crowded_weights
        chosen = _starts.far_objects(part.distances.__getitem__, weights, part.order, self.n_clusters, rng)
        return self._means_of_objects(family, chosen, len(part))

    @cached_property
    def _crowded_weights(self) -> np.ndarray:
        """Weights of the sample, zero for isolated objects, on which prototypes would stay where there is no empty set
        to take them."""
        D = np.where(self.part.distances > self.part.zero, self.part.distances, np.inf)
        weights = np.where(isolated_by_distances(np.sqrt(D)), 0.0, self.part.all_weights)
        return weights if (weights > 0).sum() > 2 * self.n_clusters else self.part.all_weights

    def _drawn_masses(self, family: FocalSets, rng: np.random.RandomState) -> WeightedMeans:
        masses = np.empty((len(self.part), int((family.cardinality > 0).sum())))
        masses[self.part.order] = rng.random_sample(masses.shape)
        return self._means_of_masses(family, masses / masses.sum(axis=1, keepdims=True), self.part)

    def _means(self, family: FocalSets, weights: np.ndarray) -> WeightedMeans:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        step = MassStep(family, self.params.alpha, self.params.beta, delta2, self.objects.zero)
        return WeightedMeans(step, weights, self.shift, self.negative)

    def _means_of_objects(self, family: FocalSets, chosen: np.ndarray, n: int) -> WeightedMeans:
        weights = np.zeros((len(chosen), n))
        weights[np.arange(len(chosen)), chosen] = 1
        return self._means(family, weights)

    def _means_of_masses(self, family: FocalSets, masses: np.ndarray, objects: RelationalObjects) -> WeightedMeans:
        n = len(objects)
        alike = self._means(family, np.full((self.n_clusters, n), 1 / n))
        return alike.updated(masses, objects.weights)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: Draw) -> Run[WeightedMeans]:
        run = self._run(start(), self.part)
        if isinstance(self.init, str) and self.init == "random":
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

    def refine(self, best: Run[WeightedMeans]) -> Run[WeightedMeans]:
        if self.part is self.objects:
            return best
        weights = np.zeros((self.n_clusters, len(self.objects)))
        weights[:, self.sampled] = best.model.weights
        return self._run(replace(best.model, weights=weights), self.objects)

    def extend(self, run: Run[WeightedMeans], family: FocalSets) -> Run[WeightedMeans]:
        return self._run(self._means(family, run.model.weights), self.objects)

    def add_neighbor_pairs(self, run: Run[WeightedMeans]) -> Run[WeightedMeans]:
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

        return descend(step, start, max_iter=self.params.max_iter, tol=self.params.tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def result(self, run: Run[WeightedMeans]) -> FitResult:
        D = self.objects.distances
        _, inner = run.model.costs(D, run.model.weights.T, self.apply)
        means = replace(run.model, inner=inner)
        square = is_to_be_squared(self.params.square, self.params.metric)
        return FitResult(run, WeightedMeansModel(means, self.references, square), means.masses(D, self.apply))


class RECM(RelationalClusterer):
    """Relational evidential c-means: `ECM` for objects known by their dissimilarities only.

    The dissimilarities are taken for *squared* distances between points, and the prototypes are weighted means of the
    points; their distances follow from the dissimilarities alone. On squared Euclidean distances the result is that
    of `ECM`. Memory and cost of an iteration: n^2 and n^2 c, for n objects and c clusters.

    Dissimilarities that no points could have ("non-Euclidean") may lead to negative squared distances, and the
    objective may then rise. See ``correction``.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, "gower" (tables with numbers,
        categories and missing cells), or "precomputed": X is a square matrix of dissimilarities.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    square : {"auto"} or bool, default="auto"
        Whether to square the dissimilarities first. "auto": those computed by a metric are squared ("sqeuclidean" and
        "gower" are not: they behave like squared distances), those of a given matrix are used as they are.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=1.5
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Distance (not squared) to the empty set: smaller values give more outliers. "auto": the upper
        fence of a box plot of the distances to the nearest prototype with ``focal_sets="auto"``, where it is needed
        after the fit only; else, squared, the 0.95 quantile of the squared dissimilarities of different objects.
    correction : {"auto", "shift", "clip"}, default="auto"
        What to do if the dissimilarities are not Euclidean. "shift": add the same number to the squared dissimilarities
        of all pairs of different objects, the smallest that makes them Euclidean (twice the most negative eigenvalue
        of the Gram matrix, with the sign changed); the objective then never rises, but a large shift makes all
        objects about equally distant (and repeated rows are different objects, which a weight does not make). "auto":
        the smallest of 0, 1/256, 1/64, 1/16, 1/4 and 1 times that number with which no squared distance is negative
        and the objective never rises. "clip": no shift; negative squared distances are replaced by a small positive
        number, and the objective may rise.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN) under "euclidean", "sqeuclidean" or "gower". "partial": objects are
        compared by the attributes that both have, and one that is missing adds its usual difference within clusters:
        the less is known of an object, the more it is in doubt. An object without any value is refused. (Gower's
        dissimilarity takes missing cells in any case; without "partial" it is the mean over those that are there.)
        ``docs/missing.md`` tells when to impute instead.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array or CredalPartition, default="k-means++"
        "k-means++": objects far from each other. "random": random masses, as in the paper. "belief-peaks": the objects
        found by `BeliefPeaks`, which knows no weights, or by one with parameters of its own. An array holds the
        positions of ``n_clusters`` objects to begin with, or masses (a column for each focal set). A start without
        chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and the
        winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise. Matrix products use
        those of the linear algebra library.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    prototype_weights_ : ndarray of shape (n_clusters, n_samples)
        Weights of the objects in each prototype; rows sum to one.
    shift_ : float
        What was added to the squared dissimilarities of different objects, 0 if they were used as they are.
    delta_ : float
        The distance used. A given ``delta`` is enlarged along with the distances if they were shifted:
        ``delta_**2 = delta**2 + shift_ / 2``.
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    M.-H. Masson and T. Denoeux (2009). RECM: relational evidential c-means algorithm. Pattern Recognition Letters 30.
    Shift: R. J. Hathaway and J. C. Bezdek (1994). NERF c-means: non-Euclidean relational fuzzy clustering. Pattern
    Recognition 27.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from dempster.cluster import RECM
    >>> from dempster.datasets import load_butterfly
    >>> D = pairwise_distances(load_butterfly().data, metric="sqeuclidean")
    >>> model = RECM(2, focal_sets="full", metric="precomputed", delta=5, random_state=0).fit(D)
    >>> model.credal_partition_.ambiguous, model.credal_partition_.outliers
    (array([5]), array([11]))
    >>> model.predict_mass(D[[5, 11]]).outliers  # new objects, by their dissimilarities to the old ones
    array([1])
    """

    _rules = {
        **RELATIONAL_RULES,
        "square": rule.choice("auto") | rule.flag,
        "correction": rule.choice("auto", "shift", "clip"),
        "init": rule.choice("k-means++", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        square: bool | str = "auto",
        alpha: float = 1.0,
        beta: float = 1.5,
        delta: float | str = "auto",
        correction: str = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbor_clusters: int = 1,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.symmetrize = symmetrize
        self.square = square
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.correction = correction
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _run_search(
        self, search: Search, sample: Sample[DissimilaritySource], request: FitRequest
    ) -> tuple[RelationalMethod, Run[WeightedMeans]]:
        """Try shifts one after the other until one does not give up; the last of them never does."""
        source = sample.values
        peaks = fit_source_peaks(self.init, source, request.n_clusters, self.random_state, self.n_jobs)
        init = self.init if peaks is None else peaks.peak_indices_
        rng = as_random_state(self.random_state)
        square = is_to_be_squared(self.square, self.metric)
        D = squared_matrix(source, square=square, symmetrize=bool(self.symmetrize))
        objects = RelationalObjects.of(D, sample.kernel_weights)
        references, seed = References.of(source, np.arange(len(source))), rng.randint(np.iinfo(np.int32).max)
        families = self._resolve_families(request.n_clusters)
        for shift, watched in self._shifts(D):
            method = RelationalMethod(
                self, request.n_clusters, init, objects, references, seed, request.apply, shift, watched=watched
            )
            try:
                return method, search.run(method, families, sample.weights)
            except NotEuclidean:
                continue
        raise AssertionError("the last method does not give up")

    def _shifts(self, D: np.ndarray) -> Iterator[tuple[float, bool]]:
        """Yield the shifts that the correction asks for, and whether each is watched for signs that it is too small."""
        if self.correction != "shift":
            yield 0.0, self.correction == "auto"
        if self.correction == "clip":
            return
        enough = max(0.0, -2 * smallest_eigenvalue(D))  # to make the dissimilarities Euclidean
        for share in _SHARES_OF_SHIFT if self.correction == "auto" else (1.0,):
            yield share * enough, share < 1

    def _fitted_attributes(self, method: RelationalMethod, model: WeightedMeansModel) -> dict[str, Any]:
        return {"prototype_weights_": model.means.weights, "shift_": method.shift, "delta_": method.delta}
