"""Base classes of the clusterers that represent clusters by objects (medoids)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Generic, Self, TypeVar

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike, Metric, TableLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import (
    COMMON_RULES,
    FUZZINESS_RULE,
    EvidentialClusterer,
    FitRequest,
)
from dempster.cluster._mass_step import (
    MassMethod,
    MassStep,
    StepModel,
    interpolate_plausibilities,
    masses_from_plausibilities,
)
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._search import FitResult, Sample
from dempster.cluster._starts import too_few_objects_error
from dempster.cluster.belief_peaks import PEAKS_RULE, Init, fit_source_peaks
from dempster.data import sampling
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    References,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition
from dempster.posterior.evidence import ClusterEvidence

# largest number of rows for which the matrix of dissimilarities is kept (200 MB)
MAX_MATRIX_ROWS = 5_000
MAX_BLOCK_CELLS = 4_000_000  # number of dissimilarities in a block
SAMPLE_SIZE = 2_000  # number of objects on which initial medoids are compared
# number of candidate medoids for each cluster if the matrix is not kept
_N_CANDIDATES = 500
# exponent of (cost / cost of the empty set) in the odds of an outlier; a ratio of 4/3 gives odds of
# ten
_SHARPNESS = 8
# largest dissimilarity, relative to the mean, that counts as zero in an inexact matrix
_ROUNDING = 1e-6
_DELTA_SHARE = 0.95  # level of the quantile of the dissimilarities for delta="auto"


# ---- dissimilarities -----------------------------------------------------------------------------


def raise_to_power(values: np.ndarray, power: float) -> np.ndarray:
    values = np.asarray(values, float)
    if power == 1:
        return values
    with np.errstate(over="ignore"):  # The validation of the masses detects overflows.
        return values**power


def split_rows(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    """Return the (start, stop) indices of blocks of rows that fit in memory."""
    return row_blocks(n_rows, max(1, MAX_BLOCK_CELLS // max(1, n_columns)), most=None)


class ComparedObjects:
    """Weighted objects, and their dissimilarities to the power ``power``.

    Objects of weight 0 are never medoids.
    """

    candidates: Any = None  # objects that may have weights in `WECMdd`

    def __init__(self, source: DissimilaritySource, power: float, weights: np.ndarray):
        self.source = source
        self.power = power
        self.weights = weights

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def order(self) -> np.ndarray:
        """Order in which objects get random numbers.

        If possible, it does not depend on the order of the rows.
        """
        if self.matrix is not None:
            return np.argsort(self.matrix @ self.weights, kind="stable")
        if isinstance(self.source, AttributeSource):
            return order_along_line(self.source.objects)
        return np.arange(len(self))

    @cached_property
    def matrix(self) -> np.ndarray | None:
        """Matrix of all dissimilarities, or None if there are too many objects."""
        if self.source.matrix is not None:
            return raise_to_power(self.source.matrix, self.power)
        if len(self) > MAX_MATRIX_ROWS:
            return None
        D = np.asarray(self.source.block(slice(None), slice(None)), float)
        D = raise_to_power((D + D.T) / 2, self.power)
        np.fill_diagonal(D, 0)
        return D

    def columns(self, objects: np.ndarray) -> np.ndarray:
        """Return the dissimilarities of all objects to k objects, shape (n, k).

        They are exactly zero between equal objects.
        """
        source = self.source
        if source.matrix is not None:
            return np.ascontiguousarray(self.block(objects).T)
        n = len(objects)
        out = np.empty((len(self), n))
        if n == 0:  # scikit-learn's metrics reject an empty table
            return out
        rows = source.objects
        columns = source.objects[objects]
        for start, stop in split_rows(len(self), n):
            out[start:stop] = source.between(rows[start:stop], columns, exact=True)
        return raise_to_power(out, self.power)

    def block(self, rows: Any, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the dissimilarities between two subsets of the objects.

        None selects all objects.
        """
        which: Any = columns
        if columns is None or len(columns) == len(self):
            which = slice(None)
        if self.matrix is None:
            return raise_to_power(self.source.block(rows, which), self.power)
        return self.matrix[rows][:, which]

    def sums(self, weights: np.ndarray, candidates: np.ndarray | None) -> np.ndarray:
        """Return the sums over objects i of weights[i] d(i, o), shape (c, k).

        The sums are computed for the k candidates o (None: all objects).
        """
        if candidates is None:
            if self.matrix is not None:
                return weights.T @ self.matrix
            candidates = np.arange(len(self))
        blocks = split_rows(len(candidates), len(self))
        parts = [self.block(candidates[a:b]) @ weights for a, b in blocks]
        return np.concatenate(parts).T


# ---- models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MedoidModel(StepModel):
    """Fitted model in which reference objects represent clusters or sets of clusters.

    ``gaps`` (c, c) contains the differences between the costs of two clusters at their medoids,
    from which the masses of pairs are computed. It is None if the masses of pairs are computed from
    the costs of pairs.
    """

    references: References
    power: float  # exponent of the dissimilarities
    gaps: Annotated[np.ndarray, "c c"] | None = field(default=None, kw_only=True)

    @property
    def medoid_positions(self) -> np.ndarray:
        """Index, in the training data, of the object that represents each cluster best.

        Shape (c,). By default, the first reference objects are the medoids of the clusters.
        """
        return self.references.positions[: self.family.n_clusters]

    def costs(self, near: np.ndarray) -> np.ndarray:
        """Return the costs of the g nonempty sets, shape (n, g), from powers of dissimilarities."""
        raise NotImplementedError

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients of the reference objects in the costs of single clusters, shape (c, r)."""
        return np.eye(self.family.n_clusters, len(self.references))

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: minus the dissimilarity to its representatives."""
        near = self._near(values, 0, 1)[0]
        coefficients = self.coefficients
        quantity = "minus the dissimilarity to the objects that represent the cluster"
        return ClusterEvidence.from_costs(
            quantity, near, coefficients, -coefficients @ near, self.references, values
        )

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """Return the masses of new objects, shape (n, f)."""
        costs = self.predict_costs(values)
        if self.gaps is None:
            masses = self.step.masses(costs, np.empty(0), apply)[1]
        else:  # Objects between two clusters have mass on the pair.
            single = self.cluster_costs(costs)
            with np.errstate(divide="ignore", over="ignore"):
                ratio = self.step.delta2 / single.min(axis=1)
                outlying = 1 / (1 + ratio**_SHARPNESS)
            contour = interpolate_plausibilities(single, self.gaps, self.step.alpha)
            masses = masses_from_plausibilities(contour, self.family, outlying)
        return masses.astype(values.dtype, copy=False)

    def cluster_costs(self, costs: np.ndarray) -> np.ndarray:
        """Select the costs of the single clusters, shape (n, c), from those of all sets."""
        column = np.cumsum(self.family.cardinality > 0) - 1
        return np.ascontiguousarray(costs[:, column[self.family.singleton_index]])

    def predict_costs(self, values: Any) -> np.ndarray:
        """Return the costs of the nonempty sets for new objects, shape (n, g)."""
        blocks = split_rows(len(values), len(self.references))
        return np.concatenate([self.costs(self._near(values, a, b)) for a, b in blocks])

    def _near(self, values: Any, start: int, stop: int) -> np.ndarray:
        near = self.references.dissimilarities(values, start, stop, exact=True)
        return raise_to_power(near, self.power)


@dataclass(frozen=True)
class Representatives(StepModel):
    """Objects that represent the clusters in the iterations; see `MedoidModel` for ``gaps``."""

    gaps: np.ndarray | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Medoids(Representatives):
    """One medoid for each cluster; ``positions`` contains the indices of the medoids."""

    positions: np.ndarray


State = TypeVar("State", bound=Representatives)


# ---- methods -------------------------------------------------------------------------------------


class MedoidMethod(MassMethod[State], Generic[State]):
    """Base class of the algorithms that represent clusters by objects (medoids)."""

    cost_power = 1  # exponent of the dissimilarities in the costs
    # whether the published cost of a pair can be lower than the costs of both clusters
    pairs_can_win = False

    def __init__(
        self,
        params: MedoidClusterer,
        sample: Sample[DissimilaritySource],
        request: FitRequest,
    ):
        super().__init__(params, sample, request)
        self.source = sample.values
        self.init = params._resolve_init(self.source, self.n_clusters)
        self.distance_power = self.cost_power * params.power
        n = len(self.source)
        weights = np.ones(n) if sample.weights is None else sample.weights
        whole = ComparedObjects(self.source, params.power, weights)
        check_distinct_objects(
            lambda i: whole.columns(np.array([i]))[:, 0], whole.weights, self.n_clusters
        )
        self.positions = np.arange(n)
        part = whole
        if n > SAMPLE_SIZE:
            self.positions, weights = sampling.sample_in_order(
                whole.order, whole.weights, SAMPLE_SIZE, self.rng
            )
            part = ComparedObjects(
                self.source.subset(self.positions), params.power, weights
            )
        self.whole = whole
        self.part = part
        D = self._sample_matrix
        self.zero = 1e-12 * float((D**self.cost_power).mean())
        self.rounding = _ROUNDING**params.power * float(D.mean())
        share = part.weights / part.weights.sum()
        # mean dissimilarity between weighted objects
        self.unit = float(share @ D @ share)

    @property
    def _sample_matrix(self) -> np.ndarray:
        assert self.part.matrix is not None
        return self.part.matrix

    def _outlier_cost(self) -> float:
        large = pair_quantile(
            self._sample_matrix, self.part.weights, _DELTA_SHARE, self.rounding
        )
        # If all objects are equal, any positive value is valid.
        return large**self.cost_power or 1.0

    # ---- steps of a method -----------------------------------------------------------------------

    @abstractmethod
    def start(
        self, objects: ComparedObjects, step: MassStep, medoids: np.ndarray
    ) -> State:
        """Return the initial representatives of the clusters, given one object for each cluster."""

    @abstractmethod
    def enlarge(self, state: State) -> State:
        """Convert representatives in the sample to representatives among all objects."""

    @abstractmethod
    def fitted_model(self, state: State) -> MedoidModel:
        """Return the fitted model, given the final representatives of the clusters."""

    def count_candidates(self, objects: ComparedObjects, default: int) -> int:
        """Return the number of candidates, ``default`` if "auto" and the matrix is not kept."""
        size = self.estimator.n_candidates
        if size == "auto":
            size = None
            if objects.matrix is None:
                size = default
        if size is None:
            return len(objects)
        return int(size)

    def candidates(
        self, objects: ComparedObjects, scores: np.ndarray
    ) -> np.ndarray | None:
        """Return the indices of the objects with the largest scores, or None for all objects.

        Only these objects may become medoids.
        """
        size = self.count_candidates(objects, _N_CANDIDATES)
        if size >= len(objects):
            return None
        return np.sort(np.argsort(-scores, kind="stable")[:size])

    def central_objects(
        self, objects: ComparedObjects, weights: np.ndarray
    ) -> np.ndarray:
        """Return the object with the smallest weighted sum of dissimilarities in each cluster.

        ``weights`` (n, c) are multiplied by the weights of the objects. If two clusters would get
        equal objects, the second cluster gets its next best object.
        """
        weights = weights * objects.weights[:, None]
        free = objects.weights > 0
        candidates: list[Any] = [
            self.candidates(objects, column) for column in weights.T
        ]
        totals: Any = None
        if candidates[0] is None:
            totals = objects.sums(weights, None)
            candidates = [np.arange(len(objects))] * weights.shape[1]
        medoids = np.empty(weights.shape[1], np.intp)
        for k, which in enumerate(candidates):
            sums = (
                objects.sums(weights[:, [k]], which)[0] if totals is None else totals[k]
            )
            medoids[k] = which[np.where(free[which], sums, np.inf).argmin()]
            free &= ~self.equal_to_any(objects, medoids[[k]])
        return medoids

    def equal_to_any(self, objects: ComparedObjects, medoids: np.ndarray) -> np.ndarray:
        """Return a Boolean mask of the objects that are equal to one of the medoids."""
        mask = objects.columns(medoids).min(axis=1) <= 0
        mask[medoids] = True
        return mask

    # ---- starts ----------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[State]:
        step = self._mass_step(family)
        if self.has_user_start:
            return [self.start(self.whole, step, self._user_medoids())]
        return [
            self.start(self.part, step, medoids) for medoids in self._draw_medoids()
        ]

    def _user_medoids(self) -> np.ndarray:
        init = self.init
        n = len(self.source)
        c = self.n_clusters
        if isinstance(init, CredalPartition):
            _starts.check_partition(init, n, c)
            return self.central_objects(
                self.whole, init.pignistic() ** self.estimator.beta
            )
        medoids = _starts.validate_positions(init, n, c)
        equal = np.argwhere(np.tril(self.whole.columns(medoids)[medoids] <= 0, -1))
        if len(equal):
            a, b = medoids[equal[0]]
            must = f"select different objects, but objects {b} and {a} are equal"
            raise InvalidParameterError("init", must=must)
        return medoids

    def _draw_medoids(self) -> list[np.ndarray]:
        """Draw sets of initial medoids, independently of the order of the rows."""
        n_init = self.estimator.n_init
        objects = self.part
        order = objects.order[objects.weights[objects.order] > 0]
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if self.init == "random":
            return [
                _draw_distinct(objects, order, self.n_clusters, rng)
                for _ in range(n_init)
            ]
        D = np.ascontiguousarray(self._sample_matrix[np.ix_(order, order)])
        weights = objects.weights[order]
        starts = medoid_starts(D, self.n_clusters, n_init, rng, weights)
        return [order[which] for which in starts]

    # ---- runs ------------------------------------------------------------------------------------

    def refine(self, best: Run[State]) -> Run[State]:
        if self.has_user_start or self.part is self.whole:
            return best
        return self._run(self.enlarge(best.model), on_sample=False)

    def add_neighbor_pairs(self, run: Run[State]) -> Run[State]:
        model = self.fitted_model(run.model)
        costs = model.cluster_costs(model.predict_costs(self._values))
        step = self._neighbor_step(costs, self.whole.weights)
        medoids = model.medoid_positions
        gaps = None
        if not self.pairs_can_win:
            costs = model.cluster_costs(model.predict_costs(self._values[medoids]))
            excess = costs - np.diagonal(costs)[:, None]
            gaps = np.maximum((excess + excess.T) / 2, 0)
        return replace(run, model=replace(run.model, step=step, gaps=gaps))

    def result(self, run: Run[State]) -> FitResult:
        model = self.fitted_model(run.model)
        return FitResult(run, model, model.masses(self._values, self.apply))

    @property
    def _values(self) -> Any:
        """Training objects in the form that the fitted model accepts."""
        if self.source.matrix is None:
            return self.source.objects
        return self.source.matrix


class IndexMedoidMethod(MedoidMethod[Medoids]):
    """Base class of the algorithms with one medoid for each cluster."""

    def start(
        self, objects: ComparedObjects, step: MassStep, medoids: np.ndarray
    ) -> Medoids:
        return Medoids(step, medoids)

    def enlarge(self, state: Medoids) -> Medoids:
        return replace(state, positions=self.positions[state.positions])


def _draw_distinct(
    objects: ComparedObjects, order: np.ndarray, n_drawn: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw different objects in ``order``, with probabilities proportional to their weights."""
    weights = objects.weights[order]
    chances = weights
    drawn = np.empty(n_drawn, np.intp)
    for k in range(n_drawn):
        if not chances.any():  # A sample may have fewer different objects.
            chances = weights
        drawn[k] = order[rng.choice(len(order), p=chances / chances.sum())]
        is_equal = objects.columns(drawn[k : k + 1])[order, 0] <= 0
        chances = np.where(is_equal, 0.0, chances)
    return drawn


def check_distinct_objects(
    dissimilarities: Callable[[int], np.ndarray],
    weights: np.ndarray,
    n_clusters: int,
    zero: float = 0.0,
) -> None:
    """Raise an error if there are fewer different objects of positive weight than clusters."""
    positive = weights > 0
    nearest = np.where(positive, dissimilarities(int(positive.argmax())), 0)
    for count in range(1, n_clusters):
        farthest = int(nearest.argmax())
        if nearest[farthest] <= zero:
            raise too_few_objects_error(n_clusters, count, weights)
        np.minimum(nearest, dissimilarities(farthest), out=nearest)


# ---- quantiles of dissimilarities ----------------------------------------------------------------

# factor that prevents rounding errors from increasing the rank of a quantile
_ROUNDED = 1 - 1e-12


def pair_quantile(
    D: np.ndarray, weights: np.ndarray, share: float, zero: float = 0.0
) -> float:
    """Return the quantile of level ``share`` of the dissimilarities between different objects.

    Dissimilarities up to ``zero`` are rounding errors between equal objects. The result is 0 if all
    objects are equal.
    """
    positive = np.greater(D, zero)
    values = D[positive]
    if (weights == weights[0]).all():
        if len(values) == 0:
            return 0.0
        rank = max(int(np.ceil(share * len(values) * _ROUNDED)) - 1, 0)
        return float(np.partition(values, rank)[rank])
    pair_weights = np.outer(weights, weights)[positive]
    if not pair_weights.any():
        return 0.0
    order = np.argsort(values, kind="stable")
    reach = np.cumsum(pair_weights[order])
    rank = int(np.searchsorted(reach, share * reach[-1] * _ROUNDED))
    return float(values[order[min(rank, len(order) - 1)]])


# ---- estimators ----------------------------------------------------------------------------------

RELATIONAL_RULES = {**COMMON_RULES, "metric": METRIC_RULE, "symmetrize": rule.flag}
MEDOID_RULES = {
    **RELATIONAL_RULES,
    "beta": FUZZINESS_RULE,
    "n_candidates": rule.auto | rule.none | rule.positive_integer,
    "init": rule.choice("medoids", "random")
    | rule.kind(CredalPartition)
    | rule.array
    | PEAKS_RULE,
}


class RelationalClusterer(EvidentialClusterer):
    """Base class of the clusterers that use only the dissimilarities between objects."""

    metric: Metric
    symmetrize: bool
    init: Init
    _input: Annotated[DissimilarityInput, ".origin n_features"]

    def fit(
        self, X: TableLike, y: None = None, sample_weight: ArrayLike = None
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
            Attributes or dissimilarities; a table with columns of any type if ``metric="gower"``.
            float32 data are not converted. The partition keeps the index of a DataFrame.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two objects.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """Validate X, and return its dissimilarities, or new objects if ``reset`` is False."""
        if not reset:
            return self._input.new(self, X)
        self._input = DissimilarityInput(self.metric, symmetrize=self.symmetrize)
        return self._input.training(self, X)

    def _resolve_init(self, source: DissimilaritySource, n_clusters: int) -> Any:
        """Return ``init``, or the indices of the belief peaks if it selects them."""
        peaks = fit_source_peaks(
            self.init, source, n_clusters, self.random_state, self.n_jobs
        )
        if peaks is None:
            return self.init
        return peaks.peak_indices_

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


class MedoidClusterer(RelationalClusterer):
    """Base class of the clusterers that represent clusters by objects."""

    power = 1.0  # default for clusterers without this parameter

    def _fitted_attributes(self, method: Any, model: Any) -> dict[str, Any]:
        medoids = model.medoid_positions
        rows = method.source.objects
        attributes = {"medoid_indices_": medoids, "delta_": method.delta}
        if isinstance(rows, np.ndarray):
            attributes["cluster_centers_"] = rows[medoids]
        return attributes
