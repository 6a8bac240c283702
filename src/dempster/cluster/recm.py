"""Relational evidential c-means."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import interruptible, kernel
from dempster._types import ArrayFunction, ArrayPair, Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import FitRequest
from dempster.cluster._mass_step import MassMethod, StepModel, project_masses
from dempster.cluster._medoids import (
    RELATIONAL_RULES,
    RelationalClusterer,
    check_distinct_objects,
    pair_quantile,
)
from dempster.cluster._search import FitResult, Sample, Search, most_likely_runs
from dempster.cluster._starts import default_beta, find_isolated_by_distances
from dempster.cluster.belief_peaks import INIT_RULE, Init
from dempster.data import sampling
from dempster.dissimilarity.sources import (
    DissimilaritySource,
    References,
    check_square,
    rounding,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition
from dempster.posterior.evidence import ClusterEvidence

# Compute the product D P' without BLAS, because the threads of BLAS slow down many small products.
fill_products = kernel(
    "relational_products(D: real[n, m], P: float64[c, m], out: float64[n, c] out)"
)
# Run one iteration, given the weights P of the prototypes and their products with the
# dissimilarities. Return the objective of P. Write the new weights to ``following`` and the
# smallest squared distance to ``least``. ``factor``, ``delta2``, ``beta`` and ``zero`` are
# explained in `MassStep`.
relational_step = kernel("""relational_step(
    products: float64[n, c], P: float64[c, n], sets: bool[g, c], weights: float64[n] or None,
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float, negative: float,
    shift: float, alpha: float, following: float64[c, n] out, least: float64[1] out) -> float""")

MIN_BLOCK_ROWS = 256
# maximum number of dissimilarities of new objects in memory at once
MAX_BLOCK_CELLS = 16_000_000
MAX_DENSE_ROWS = 500  # Up to this number of rows, all eigenvalues are computed.
# With more than 1,000 objects, starts are compared on a sample of 500.
MAX_UNSAMPLED_ROWS = 1_000
SAMPLE_SIZE = 500
_DELTA_SHARE = 0.95  # quantile of the squared dissimilarities for delta="auto"
# shares of the largest shift that correction="auto" tries
_SHIFT_SHARES = (1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0)
_SQUARED_METRICS = ("precomputed", "sqeuclidean", "gower")


# ---- squared dissimilarities ---------------------------------------------------------------------


def needs_squares(square: bool | str, metric: Metric) -> bool:
    """Return whether to square dissimilarities, given the parameters of `RECM`."""
    if isinstance(square, str):
        return metric not in _SQUARED_METRICS
    return bool(square)


def square_if(D: np.ndarray, square: bool) -> np.ndarray:
    """Return D, or the squares of its entries if ``square`` is True."""
    if not square:
        return D
    with np.errstate(over="ignore"):
        D = D * D
    if not np.isfinite(D).all():
        raise InvalidParameterError(
            "X", must="be rescaled, because the squares of its dissimilarities overflow"
        )
    return D


def squared_matrix(
    source: DissimilaritySource, *, square: bool, symmetrize: bool
) -> np.ndarray:
    """Return the matrix of squared dissimilarities between the n training objects, shape (n, n)."""
    if source.matrix is not None:
        return square_if(source.matrix, square)
    D = source.block(slice(None), slice(None))
    if not callable(source.metric):
        np.fill_diagonal(D, 0)  # zero except for rounding
    return square_if(check_square(D, symmetrize=symmetrize), square)


def smallest_eigenvalue(D: np.ndarray) -> float:
    """Return the smallest eigenvalue of the doubly centered matrix -Q D Q / 2, Q = I - 1 1' / n.

    The result is 0 if the eigenvalue is negative only because of rounding errors. For more than 500
    objects, the eigenvalue is computed by Lanczos iterations, which need a few dozen products of D
    with a vector. The result then exceeds the true value by at most a rounding error.
    """
    n = len(D)
    is_double = D.dtype == np.float64
    if n <= MAX_DENSE_ROWS:
        negligible = 1e-10 if is_double else 1e-5
        D = D.astype(float)
        gram = -0.5 * (D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean())
        values = interruptible(np.linalg.eigvalsh, gram)
        if values[0] < -negligible * abs(values[-1]):
            return float(values[0])
        return 0.0
    from scipy.sparse.linalg import LinearOperator, eigsh

    start = np.random.RandomState(0).normal(size=n)
    precision = 1e-7 if is_double else 1e-4

    def gram_times(v: np.ndarray) -> np.ndarray:
        v = v.reshape(-1) - v.mean()
        image = np.asarray(D @ v.astype(D.dtype), float)
        return -0.5 * (image - image.mean())

    options = {"v0": start, "tol": precision, "return_eigenvectors": False}

    def find_eigenvalue(matvec: ArrayFunction, which: str) -> float:
        operator = LinearOperator((n, n), matvec=matvec, dtype=float)
        return float(eigsh(operator, 1, which=which, **options)[0])

    largest = find_eigenvalue(gram_times, "LM")
    if largest < 0:
        return largest * (1 + precision)
    # Lanczos iterations are most accurate for the largest eigenvalue. For the matrix largest * I -
    # G, where G is the doubly centered matrix, this is the largest minus the smallest eigenvalue of
    # G.
    reach = find_eigenvalue(lambda v: largest * v.reshape(-1) - gram_times(v), "LA")
    smallest = largest - reach
    if smallest < -10 * precision * largest:
        return smallest - precision * reach
    return 0.0


# ---- prototypes ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightedMeans(StepModel):
    """Prototypes of c clusters, which are weighted means of the n training objects.

    Below, P denotes ``weights`` and Delta the matrix of squared dissimilarities between the
    training objects. If a squared distance to a prototype is below ``negative``, it is not a
    rounding error, and the dissimilarities are not Euclidean.
    """

    # weights of the objects in each prototype; rows sum to one
    weights: Annotated[np.ndarray, "c n"]
    # constant added to the squared dissimilarities of different objects
    shift: float = 0.0
    negative: float = 0.0
    # product P Delta P'; None until it is computed
    inner: Annotated[np.ndarray, "c c"] | None = None

    def costs(self, D: np.ndarray, own: np.ndarray, apply: Apply) -> ArrayPair:
        """Return the squared distances to the prototypes of g sets, shape (n, g), and P Delta P'.

        ``D`` contains the squared dissimilarities to the training objects. ``own`` contains the
        weights of the objects in the prototypes, shape (n, c), with zero for new objects. They are
        needed because the shift is not added to the zero dissimilarity of an object to itself.
        """
        products = self._products(D, apply)
        averages = self.step.averages
        inner = self.weights @ products if self.inner is None else self.inner
        shifted = inner
        if self.shift:
            shifted = inner + self.shift * (1 - self.weights @ self.weights.T)
        offsets = self.shift - np.sum(averages @ shifted * averages, axis=1) / 2
        return (products - self.shift * own) @ averages.T + offsets, inner

    def squared_distances(self, D: np.ndarray, itself: int) -> np.ndarray:
        """Return the squared distances from one object to the prototypes.

        ``itself`` is the training row of the object, or -1 for a new object.
        """
        assert self.inner is not None
        own = self.weights[:, itself] if itself >= 0 else 0.0
        products = self.weights @ D[0] + self.shift * (1 - own)
        inner = np.diagonal(self.inner) + self.shift * (
            1 - (self.weights**2).sum(axis=1)
        )
        return products - inner / 2

    def iterate(
        self, D: np.ndarray, weights: np.ndarray, apply: Apply
    ) -> tuple[float, float, Self]:
        """Return the objective, the smallest squared distance, and the next prototypes."""
        following = np.empty_like(self.weights)
        least = np.empty(1)
        step = self.step
        objective = relational_step(
            self._products(D, apply),
            self.weights,
            step.sets > 0,
            weights,
            *step.kernel_arguments(),
            self.negative,
            self.shift,
            step.alpha,
            following,
            least,
        )
        return objective, float(least[0]), replace(self, weights=following, inner=None)

    def _products(self, D: np.ndarray, apply: Apply) -> np.ndarray:
        """Return the product D P', shape (n, c), without the shift."""
        D = np.ascontiguousarray(D)
        out = np.empty((len(D), len(self.weights)))
        blocks = row_blocks(len(D), MIN_BLOCK_ROWS)
        apply(fill_products, [(D[a:b], self.weights, out[a:b]) for a, b in blocks])
        return out

    def make_nonnegative(self, costs: np.ndarray) -> np.ndarray:
        """Replace negative squared distances, except for rounding errors, by a small number."""
        return np.where(costs < self.negative, -self.negative, costs)

    def masses(self, D: np.ndarray, apply: Apply) -> np.ndarray:
        """Return the masses of objects, shape (n, f), from their squared dissimilarities D.

        If there is a shift, an object with dissimilarity zero to a training object is treated as
        this training object.
        """
        own = np.zeros((len(D), len(self.weights)))
        if self.shift:
            same = np.less_equal(D, rounding(D.dtype) * float(D.max()))
            rows = np.flatnonzero(same.any(axis=1))
            own[rows] = self.weights.T[same[rows].argmax(axis=1)]
        costs, _ = self.costs(D, own, apply)
        _, masses = self.step.masses(self.make_nonnegative(costs), np.empty(0), apply)
        return masses.astype(D.dtype, copy=False)

    def update(self, masses: np.ndarray, weights: np.ndarray) -> Self:
        """Return the optimal prototypes for fixed masses (Masson and Denoeux, 2009)."""
        W = masses**self.step.beta
        W *= weights[:, None]
        best = self.step.best_prototypes(W.sum(axis=0), W.T)
        total = best.sum(axis=1, keepdims=True)
        # If no set with mass contains a cluster, its prototype is unchanged.
        empty = ~(total > 0.5)
        best = np.where(empty, self.weights, best / np.where(empty, 1, total))
        return replace(self, weights=best, inner=None)


@dataclass(frozen=True)
class WeightedMeansModel:
    """Fitted model of `RECM`."""

    means: WeightedMeans  # prototypes
    references: References  # training objects
    square: bool  # whether dissimilarities to the training objects must be squared

    @property
    def family(self) -> FocalSets:
        return self.means.family

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """Return the masses of n new objects, shape (n, f)."""
        size = max(1, MAX_BLOCK_CELLS // len(self.references))
        parts = []
        for start, stop in row_blocks(len(values), size, most=None):
            D = self.references.dissimilarities(values, start, stop)
            parts.append(self.means.masses(square_if(D, self.square), apply))
        return np.concatenate(parts)

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: minus the squared distance to the prototype.

        If the dissimilarities are squared Euclidean distances, the prototype is a point, and the
        contributions of the attributes to the squared distance are exact. Otherwise, the
        contributions to the weighted mean of the dissimilarities to the training objects are used.
        """
        D = np.asarray(self.references.dissimilarities(values), float)
        D = square_if(D, self.square)
        quantity = "minus the squared distance to the center"
        P = self.means.weights
        total = -self.means.squared_distances(D, itself)
        evidence = ClusterEvidence.from_costs(
            quantity, D[0], P, total, self.references, values
        )
        source = self.references.source
        if source is None:
            return evidence
        is_squared = not self.square and source.metric == "sqeuclidean"
        if is_squared or (self.square and source.is_euclidean):
            gap = P @ np.asarray(source.objects, float) - values[0]
            if np.isfinite(gap).all():
                return replace(evidence, parts=-(gap**2).T)
        return evidence


# ---- the method ----------------------------------------------------------------------------------


class NotEuclideanError(Exception):
    """Error if a squared distance is negative or the objective increases."""


@dataclass(frozen=True, eq=False)
class RelationalObjects:
    """Squared distances between objects, their weights, and an order that is independent of X."""

    distances: np.ndarray  # (n, n)
    weights: np.ndarray
    order: np.ndarray

    def __len__(self) -> int:
        return len(self.distances)

    @cached_property
    def mean_distance(self) -> float:
        return float(self.distances.mean(dtype=float))

    @property
    def zero(self) -> float:
        """Squared distance up to which two objects are considered equal."""
        return 1e-12 * self.mean_distance

    @cached_property
    def large_distance(self) -> float:
        """Quantile 0.95 of the squared distances between different objects."""
        return pair_quantile(self.distances, self.weights, _DELTA_SHARE, self.zero)

    @cached_property
    def dimension(self) -> float:
        """Effective number of dimensions.

        It is (sum of l)^2 / (sum of l^2) for the eigenvalues l of the Gram matrix G = -Q D Q' / 2.
        With weights that sum to one, the sum of l is m / 2 and the sum of l^2 is the weighted sum
        of squares of G, where m is the mean squared distance. The matrix G itself is not needed.
        """
        weights = self.weights / self.weights.sum()
        rows = np.einsum("ij,j->i", self.distances, weights, dtype=float)
        mean = float(weights @ rows)
        D = self.distances
        squares = float(np.einsum("i,ij,ij,j->", weights, D, D, weights, dtype=float))
        scatter = squares - 2 * float(weights @ rows**2) + mean**2
        if scatter > 0:
            return mean**2 / scatter
        return 1.0

    def sample(
        self, rng: np.random.RandomState
    ) -> tuple[np.ndarray, RelationalObjects]:
        """Return the indices of a sample of at most 1,000 objects, and the sampled objects."""
        if len(self) <= MAX_UNSAMPLED_ROWS:
            return np.arange(len(self)), self
        which, weights = sampling.sample_in_order(
            self.order, self.weights, SAMPLE_SIZE, rng
        )
        D = np.ascontiguousarray(self.distances[np.ix_(which, which)])
        return which, RelationalObjects(D, weights, np.arange(len(D)))


class RelationalMethod(MassMethod[WeightedMeans]):
    """Relational evidential c-means; `with_shift` returns the algorithm for one shift."""

    shift: float
    checked: bool
    part: RelationalObjects  # objects on which the starts are compared
    sampled: np.ndarray  # their indices

    def __init__(
        self, estimator: RECM, sample: Sample[DissimilaritySource], request: FitRequest
    ):
        super().__init__(estimator, sample, request)
        source = sample.values
        self.init = estimator._resolve_init(source, self.n_clusters)
        self.square = needs_squares(estimator.square, estimator.metric)
        D = squared_matrix(
            source, square=self.square, symmetrize=bool(estimator.symmetrize)
        )
        weights = np.ones(len(D)) if sample.weights is None else sample.weights
        order = np.argsort(D @ weights.astype(D.dtype), kind="stable")
        self.objects = RelationalObjects(D, weights, order)
        self.references = References.from_source(source, np.arange(len(source)))
        self.seed = self.rng.randint(np.iinfo(np.int32).max)
        rounding_error = 1e-9 if D.dtype == np.float64 else 1e-4
        self.negative = -self.objects.mean_distance * rounding_error
        self.zero = self.objects.zero
        check_distinct_objects(D.__getitem__, weights, self.n_clusters, self.zero)
        if estimator.beta == "auto":
            self.beta = default_beta(self.objects.dimension)

    def with_shift(self, shift: float, *, checked: bool) -> Self:
        """Return the algorithm for one shift, with the same random numbers for every shift.

        If ``checked``, a too small shift raises `NotEuclideanError`.
        """
        method = copy.copy(self)
        method.rng = np.random.RandomState(self.seed)
        method.shift = shift
        method.checked = checked
        if self._delta2 is not None:
            method._delta2 = float(np.sqrt(self._delta2 + shift / 2)) ** 2
        method.part = self.objects
        if not self.has_user_start:
            method.sampled, method.part = self.objects.sample(method.rng)
        return method

    def select_run(
        self, runs: Iterable[Run[WeightedMeans]], tol: float
    ) -> Run[WeightedMeans]:
        if self.estimator.focal_sets == "auto":
            dimension = self.objects.dimension
            runs = most_likely_runs(
                list(runs), self._sample_costs, self.part.weights, dimension
            )
        return super().select_run(runs, tol)

    def _outlier_cost(self) -> float:
        return (float(np.sqrt(self.objects.large_distance + self.shift)) or 1.0) ** 2

    def _means(self, family: FocalSets, weights: np.ndarray) -> WeightedMeans:
        step = self._mass_step(family)
        return WeightedMeans(step, weights, self.shift, self.negative)

    def _means_from_objects(
        self, family: FocalSets, which: np.ndarray, n: int
    ) -> WeightedMeans:
        weights = np.zeros((len(which), n))
        weights[np.arange(len(which)), which] = 1
        return self._means(family, weights)

    def _means_from_masses(
        self, family: FocalSets, masses: np.ndarray, objects: RelationalObjects
    ) -> WeightedMeans:
        n = len(objects)
        means = self._means(family, np.full((self.n_clusters, n), 1 / n))
        return means.update(masses, objects.weights)

    def _user_start(self, family: FocalSets) -> WeightedMeans:
        init = self.init
        n = len(self.objects)
        if not isinstance(init, CredalPartition) and np.ndim(init) == 1:
            which = _starts.validate_positions(init, n, self.n_clusters)
            return self._means_from_objects(family, which, n)
        partition = _starts.validate_initial_masses(init, n, family)
        masses = project_masses(partition.masses, partition.focal_sets, family)
        return self._means_from_masses(family, masses, self.objects)

    def _draw_start(
        self, family: FocalSets, rng: np.random.RandomState
    ) -> WeightedMeans:
        """Draw random masses, or prototypes at random objects that are far from each other."""
        part = self.part
        if self.init == "random":
            masses = np.empty((len(part), int((family.cardinality > 0).sum())))
            masses[part.order] = rng.random_sample(masses.shape)
            masses /= masses.sum(axis=1, keepdims=True)
            return self._means_from_masses(family, masses, part)
        weights = part.weights
        if family.empty_index is None:
            weights = self._weights_without_outliers
        which = _starts.draw_distant_objects(
            part.distances.__getitem__, weights, part.order, self.n_clusters, rng
        )
        return self._means_from_objects(family, which, len(part))

    @cached_property
    def _weights_without_outliers(self) -> np.ndarray:
        """Weights of the sampled objects; zero for isolated ones, where prototypes would remain."""
        part = self.part
        D = np.where(part.distances > part.zero, part.distances, np.inf)
        isolated = find_isolated_by_distances(np.sqrt(D))
        weights = np.where(isolated, 0.0, part.weights)
        if (weights > 0).sum() > 2 * self.n_clusters:
            return weights
        return part.weights

    def _sample_costs(self, means: WeightedMeans) -> np.ndarray:
        return means.costs(self.part.distances, means.weights.T, self.apply)[0]

    def refine(self, best: Run[WeightedMeans]) -> Run[WeightedMeans]:
        if self.part is self.objects:
            return best
        weights = np.zeros((self.n_clusters, len(self.objects)))
        weights[:, self.sampled] = best.model.weights
        return self._run(replace(best.model, weights=weights), on_sample=False)

    def add_neighbor_pairs(self, run: Run[WeightedMeans]) -> Run[WeightedMeans]:
        own = run.model.weights.T
        costs, _ = run.model.costs(self.objects.distances, own, self.apply)
        step = self._neighbor_step(costs, self.objects.weights)
        return replace(run, model=replace(run.model, step=step))

    def _run(self, start: WeightedMeans, *, on_sample: bool) -> Run[WeightedMeans]:
        objects = self.part if on_sample else self.objects
        lowest = np.inf

        def step(means: WeightedMeans) -> tuple[float, WeightedMeans]:
            nonlocal lowest
            objective, least, following = means.iterate(
                objects.distances, objects.weights, self.apply
            )
            if self.checked and (
                least < means.negative or objective > lowest * (1 + 1e-9)
            ):
                raise NotEuclideanError
            lowest = objective
            return objective, following

        return self._descend(step, start)

    def result(self, run: Run[WeightedMeans]) -> FitResult:
        D = self.objects.distances
        _, inner = run.model.costs(D, run.model.weights.T, self.apply)
        means = replace(run.model, inner=inner)
        model = WeightedMeansModel(means, self.references, self.square)
        return FitResult(run, model, means.masses(D, self.apply))


class RECM(RelationalClusterer):
    """Relational evidential c-means: `ECM` for dissimilarities between objects.

    The dissimilarities are interpreted as *squared* distances between points. The prototypes are
    weighted means of the points, and their distances to the points are computed from the
    dissimilarities alone. For squared Euclidean distances, the result is the same as that of `ECM`.
    For n objects and c clusters, the memory is of order n^2, and the cost of an iteration is of
    order n^2 c.

    If the dissimilarities are not Euclidean (there are no points with these distances), squared
    distances to the prototypes may be negative, and the objective may increase. The parameter
    ``correction`` handles this case.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Other names are metrics of scikit-learn's ``pairwise_distances``; a
        function has two rows as arguments.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    square : bool or "auto", default="auto"
        Whether to square the dissimilarities before the fit. "auto" squares dissimilarities that
        are computed by a metric, except "sqeuclidean" and "gower", which behave like squared
        distances. It does not square a precomputed matrix.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness; values near 1 give nearly certain masses. "auto" is 1.5 for up to five
        dimensions, else smaller. The number of dimensions is estimated from the dissimilarities as
        (sum of l)^2 / (sum of l^2), where l are the eigenvalues of the Gram matrix.
    delta : float > 0 or "auto", default="auto"
        Distance (not squared) to the empty set; smaller values give more outliers. With
        ``focal_sets="auto"``, "auto" is the upper fence of a box plot of the distances to the
        nearest prototype, computed after the fit. Otherwise, it is the square root of the
        0.95-quantile of the squared dissimilarities between different objects.
    correction : {"auto", "shift", "clip"}, default="auto"
        Correction of dissimilarities that are not Euclidean. "shift" adds a constant to the squared
        dissimilarities of all pairs of different objects. The constant is the smallest one that
        makes them Euclidean, which is minus twice the smallest eigenvalue of the Gram matrix. The
        objective then never increases, but a large shift makes all objects nearly equidistant. It
        also adds distance between repeated rows, so a repeated row is not equivalent to a sample
        weight. "auto" multiplies this constant by 0, 1/256, 1/64, 1/16, 1/4 and 1, and uses the
        first shift for which no squared distance is negative and the objective never increases.
        "clip" replaces negative squared distances by a small positive number instead of adding a
        constant; the objective may increase.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. "refuse" raises an error. "partial" adds a correction for missing attributes (see
        `ECMdd`).
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes or masses. "k-means++" selects objects far from each other. "random"
        draws random masses, as in the paper. "belief-peaks" or a `BeliefPeaks` uses its peaks,
        without weights. An array contains the indices of ``n_clusters`` objects, or masses with one
        column per focal set. A deterministic start is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With
        ``focal_sets="auto"``, results whose objectives are nearly equal (up to 10 %) are compared
        by their classification likelihood, which is smaller if a large cluster is divided. With
        more than 1,000 objects the starts are compared on a sample of 500, and the best one is
        continued with all objects.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number. Matrix products use the threads of the linear algebra library.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    prototype_weights_ : ndarray of shape (n_clusters, n_samples)
        Weights of the objects in each prototype; rows sum to one.
    shift_ : float
        Constant added to the squared dissimilarities of different objects; 0 if there was no
        correction.
    delta_ : float
        Distance to the empty set that was used. If the squared dissimilarities were shifted, a
        number ``delta`` is increased as well, by ``delta_**2 = delta**2 + shift_ / 2``.
    beta_ : float
        Value of ``beta`` that was used.
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    M.-H. Masson and T. Denoeux (2009). RECM: relational evidential c-means algorithm. Pattern
    Recognition Letters 30. Shift: R. J. Hathaway and J. C. Bezdek (1994). NERF c-means:
    non-Euclidean relational fuzzy clustering. Pattern Recognition 27.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from dempster.cluster import RECM
    >>> from dempster.datasets import load_butterfly
    >>> D = pairwise_distances(load_butterfly().data, metric="sqeuclidean")
    >>> model = RECM(2, focal_sets="full", metric="precomputed", delta=5, random_state=0).fit(D)
    >>> model.credal_partition_.ambiguous, model.credal_partition_.outliers
    (array([5]), array([11]))
    >>> model.predict_mass(D[[5, 11]]).outliers  # new objects, by their dissimilarities
    array([1])
    """

    _model: WeightedMeansModel
    prototype_weights_: Annotated[np.ndarray, "n_clusters n_candidates"]

    _rules = {
        **RELATIONAL_RULES,
        "square": rule.auto | rule.flag,
        "correction": rule.choice("auto", "shift", "clip"),
        "init": INIT_RULE,
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
        beta: float | str = "auto",
        delta: float | str = "auto",
        correction: str = "auto",
        missing: str = "refuse",
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.symmetrize = symmetrize
        self.square = square
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.correction = correction
        self.missing = missing
        self.init = init

    def _run_search(
        self, search: Search, sample: Sample[DissimilaritySource], request: FitRequest
    ) -> tuple[RelationalMethod, Run[WeightedMeans]]:
        """Return the algorithm object and the best run for the first shift that is large enough."""
        method = RelationalMethod(self, sample, request)
        families = self._resolve_families(request.n_clusters)
        for shift, checked in self._shifts(method.objects.distances):
            shifted = method.with_shift(shift, checked=checked)
            try:
                return shifted, search.run(shifted, families, sample.weights)
            except NotEuclideanError:
                continue
        raise AssertionError("the last shift is not checked")

    def _shifts(self, D: np.ndarray) -> Iterator[tuple[float, bool]]:
        """Yield the shifts to try, and whether the run must check that the shift is sufficient."""
        correction = self.correction
        if correction != "shift":
            yield 0.0, correction == "auto"
        if correction == "clip":
            return
        sufficient = max(0.0, -2 * smallest_eigenvalue(D))
        shares = _SHIFT_SHARES if correction == "auto" else (1.0,)
        for share in shares:
            yield share * sufficient, share < 1

    def _fitted_attributes(
        self, method: RelationalMethod, model: WeightedMeansModel
    ) -> dict[str, Any]:
        return {
            "prototype_weights_": model.means.weights,
            "shift_": method.shift,
            "delta_": method.delta,
            "beta_": method.beta,
        }
