"""Evidential c-means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add, methodcaller
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse

from dempster import _validation as rule
from dempster._arrays import (
    Array,
    centering_offset,
    is_tensor,
    library_of,
    normalize_rows,
    precision_of,
    to_device_of,
    to_host,
    zeros,
)
from dempster._blas import one_blas_thread
from dempster._native import kernel
from dempster._types import MaybeUnset, Seed, TableLike
from dempster._validation import check_directions, has_missing
from dempster.belief import FocalSets
from dempster.belief.focal_sets import has_many_clusters
from dempster.cluster import _device, _starts
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, FitRequest
from dempster.cluster._mass_step import (
    MassMethod,
    StepModel,
    has_many_components,
    masses_from_costs,
    nearest_masses,
    project_masses,
)
from dempster.cluster._online import OnlineClusterer
from dempster.cluster._search import (
    FitResult,
    Sample,
    most_likely_runs,
    resolve_families,
)
from dempster.cluster._starts import explain_auto_params
from dempster.cluster.belief_peaks import INIT_RULE, Init, centers_from_peaks
from dempster.data.blocks import Blocks
from dempster.data.sampling import mean_squared_deviation
from dempster.dissimilarity.partial import impute_missing, squared_distances_to_points
from dempster.optimize.blocks import Apply, Sums, row_blocks, sum_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.optimize.nearest import NEAREST_ROWS, nearest_clusters, sum_nearest
from dempster.partition import CredalPartition
from dempster.posterior.boundaries import count_boundaries, neighbor_family
from dempster.posterior.collection import collect_masses
from dempster.posterior.evidence import ClusterEvidence, quadratic_parts

_prototype_sums = kernel("""prototype_sums(
    X: real[n, p], weights: float64[n] or None, barycentres: real[p, g],
    metrics: real[p, p, g] or None, factor: real[g], size: int64[g], delta2: float, beta: float,
    zero: float, total: float64[g] out, first: float64[p, g] out,
    second: float64[p, p, g] out or None) -> float""")
_prototype_masses = kernel("""prototype_masses(
    X: real[n, p], barycentres: real[p, g], metrics: real[p, p, g] or None,
    factor: real[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: real[n, f] out)""")
_squared_distances = kernel("""squared_distances(
    X: real[n, p], barycentres: real[p, g], metrics: real[p, p, g] or None, out: real[n, g] out)""")


def append_zeros(X: Array, n_columns: int) -> Array:
    """Append columns of zeros to X."""
    return library_of(X).concatenate([X, zeros((len(X), n_columns), X)], 1)


def sum_present(
    X: np.ndarray, powers: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sums of m^beta (``powers``), of m^beta x and (none) of m^beta x x'.

    The sums are over observed values x. They are the fields of `Statistics` after the objective.
    """
    present = ~np.isnan(X)
    total = present.T.astype(float) @ powers
    first = np.where(present, X, 0).astype(float).T @ powers
    second = np.empty((0, 0, powers.shape[1]))
    return total, first, second


@dataclass(frozen=True)
class PrototypeModel(StepModel):
    """Prototypes, and the parameters that determine the masses."""

    centers: Annotated[np.ndarray, "c p"]  # prototypes of the clusters
    # matrices of determinant 1 (adaptive metric)
    metrics: Annotated[np.ndarray, "c p p"] | None = None
    # variances within clusters; None if missing values raise an error
    within: Annotated[np.ndarray, "p"] | None = None
    is_spherical: bool = False  # whether the prototypes have length one
    n_added = 0  # number of last coordinates that are not attributes

    def kernel_arguments(self, dtype: np.dtype) -> tuple:
        """Return the barycenters, the metrics (None if Euclidean) and the arguments of the step."""
        averages = self.step.averages
        barycentres = np.ascontiguousarray((averages @ self.centers).T, dtype)
        metrics = None
        if self.metrics is not None:
            metrics = np.einsum("jk,kde->dej", averages, self.metrics)
            metrics = np.ascontiguousarray(metrics, dtype)
        return barycentres, metrics, *self.step.kernel_arguments(dtype)

    def _kernel_type(self, X: np.ndarray) -> np.dtype:
        """Return the precision of the computation, which is double for an adaptive metric.

        The eigenvalues of a metric may differ by a factor of 10^6.
        """
        if self.metrics is None:
            return X.dtype
        return np.dtype(float)

    @property
    def _has_distances(self) -> bool:
        """Whether the costs are squared Euclidean distances."""
        return self.metrics is None and self.within is None

    @property
    def _uses_nearest(self) -> bool:
        """Whether rows have masses only on their nearest clusters during the fit."""
        return self._has_distances and has_many_components(self.family)

    def _is_incomplete(self, X: np.ndarray) -> bool:
        return self.within is not None and has_missing(X)

    def masses(self, X: Array, apply: Apply) -> Array:
        """Return the masses of the rows of X, shape (n, f); a tensor is processed on its device."""
        if is_tensor(X):
            return self.masses_on_device(X, X.device)
        if self._is_incomplete(X):
            return self._partial_masses(X, apply)
        if self._has_distances and has_many_clusters(self.family):
            return self._nearest_masses(X, apply)
        dtype = self._kernel_type(X)
        arguments = (*self.kernel_arguments(dtype), *self.step.columns())

        def compute(start: int, stop: int) -> np.ndarray:
            rows = X[start:stop].astype(dtype, copy=False)
            masses = np.empty((len(rows), len(self.family)), dtype)
            _prototype_masses(rows, *arguments, masses)
            return masses

        # The masses of a block fit in the cache.
        blocks = row_blocks(len(X), most=None)
        return collect_masses(compute, blocks, self.family, X.dtype, apply)

    def _nearest_masses(self, X: np.ndarray, apply: Apply) -> Array:
        """Return the masses on the nearest clusters and their pairs as compressed rows."""
        apart = squared_distances_to_points(self.centers, self.centers)

        def compute(start: int, stop: int) -> sparse.csr_array:
            nearest = nearest_clusters(X[start:stop], self.centers)
            return nearest_masses(self.step, *nearest, apart, X.dtype)

        blocks = row_blocks(len(X), NEAREST_ROWS, None)
        with one_blas_thread():
            return collect_masses(compute, blocks, self.family, X.dtype, apply)

    def _partial_masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        """Return the masses of rows, some of which have missing values.

        Incomplete rows do not affect complete rows.
        """
        is_incomplete = np.isnan(X).any(axis=1)
        out = np.empty((len(X), len(self.family)), X.dtype)
        if not is_incomplete.all():
            out[~is_incomplete] = to_host(
                self.masses(np.ascontiguousarray(X[~is_incomplete]), apply)
            )
        costs = self._partial_costs(X[is_incomplete])
        out[is_incomplete] = self.step.masses(costs, np.empty(0), apply)[1]
        return out

    def squared_distances(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances to the barycenters of the g nonempty sets, shape (n, g).

        If values are missing, return the costs.
        """
        if self._is_incomplete(X):
            return self._partial_costs(X)
        dtype = self._kernel_type(X)
        barycentres, metrics, *_ = self.kernel_arguments(dtype)
        out = np.empty((len(X), barycentres.shape[1]), dtype)
        _squared_distances(X.astype(dtype, copy=False), barycentres, metrics, out)
        return out

    def _partial_costs(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances plus the contributions of missing values, not penalized."""
        assert self.within is not None
        factor, *_ = self.step.kernel_arguments()
        missing = np.isnan(X) @ self.within
        costs = self._observed_squares(X) + missing[:, None] / factor
        return np.ascontiguousarray(costs)

    def _observed_squares(self, X: np.ndarray) -> np.ndarray:
        """Return the squared distances over the observed attributes, shape (n, g)."""
        return squared_distances_to_points(X, self.step.averages @ self.centers)

    def statistics(self, X: Array, weights: Array | None, apply: Apply) -> Statistics:
        """Return the objective and the sums that `update` needs.

        A tensor is processed on its device.
        """
        if is_tensor(X):
            arguments = self.kernel_arguments(np.dtype(float))
            sets = None
            if self._uses_nearest:
                sets = self.step.sets
            return Statistics(*_device.prototype_sums(arguments, X, weights, sets))
        assert weights is not None
        if self._uses_nearest:
            return self._nearest_statistics(X, weights, apply)
        is_incomplete = self._is_incomplete(X)
        dtype = self._kernel_type(X)
        arguments = self.kernel_arguments(dtype)
        p, g = arguments[0].shape

        def sums(start: int, stop: int) -> Statistics:
            rows = X[start:stop]
            w = weights[start:stop] if len(weights) else None
            if is_incomplete:
                return self._partial_statistics(rows, w)
            total = np.empty(g)
            first = np.empty((p, g))
            second = None
            if self.metrics is not None:
                second = np.empty((p, p, g))
            objective = _prototype_sums(
                rows.astype(dtype, copy=False), w, *arguments, total, first, second
            )
            if second is None:
                second = np.empty((0, 0, g))
            return Statistics(objective, total, first, second)

        return reduce(add, apply(sums, row_blocks(len(X))))

    def _nearest_statistics(
        self, X: np.ndarray, weights: np.ndarray, apply: Apply
    ) -> Statistics:
        """Return the objective and the sums if rows have masses only on their nearest clusters.

        The objective never increases, because the nearest clusters are the best ones.
        """
        arguments = self.step.kernel_arguments()[2:]

        def sums(start: int, stop: int) -> Statistics:
            rows = X[start:stop]
            w = weights[start:stop] if len(weights) else None
            near, squares = nearest_clusters(rows, self.centers)
            size = np.ones(near.shape[1], np.int64)
            factor = size.astype(float)
            powers = np.empty_like(squares)
            empty = np.empty(len(rows))
            objective = masses_from_costs(
                squares, w, factor, size, *arguments, powers, empty
            )
            powers **= self.step.beta
            if w is not None:
                powers *= w[:, None]
            total, first = sum_nearest(near, powers, rows, len(self.centers))
            return Statistics(objective, total, first.T, np.empty((0, 0, len(total))))

        with one_blas_thread():
            return sum_blocks(sums, len(X), NEAREST_ROWS, apply)

    def _partial_statistics(
        self, rows: np.ndarray, weights: np.ndarray | None
    ) -> Statistics:
        """Return the objective and the sums over rows with missing values.

        The shape of ``total`` is (p, g).
        """
        costs = self._partial_costs(rows)
        masses = np.empty_like(costs)
        empty = np.empty(len(costs))
        arguments = self.step.kernel_arguments()
        objective = masses_from_costs(costs, weights, *arguments, masses, empty)
        masses **= self.step.beta
        if weights is not None:
            masses *= weights[:, None]
        return Statistics(objective, *sum_present(rows, masses))

    def masses_on_device(self, X: Array, device: Any) -> Array:
        """Return the masses of the rows of X, shape (n, f), computed by torch on a device."""
        arguments = self.kernel_arguments(np.dtype(float))
        nearest = self._has_distances and has_many_clusters(self.family)
        return _device.prototype_masses(
            arguments, self.step, X, device, nearest=nearest
        )

    def update(self, statistics: Statistics) -> Self:
        """Return the model whose prototypes, and then metrics, are best for given masses."""
        centers = self._move_centers(statistics)
        if self.is_spherical:
            centers = normalize_rows(centers)
        return replace(self, centers=centers).update_metrics(statistics)

    def fit_centers(
        self, masses: np.ndarray, family: FocalSets, X: np.ndarray
    ) -> np.ndarray:
        """Return the best prototypes (Euclidean metric) for given masses on any family of sets."""
        X = X[:, : self.centers.shape[1]]
        weight = project_masses(masses, family, self.step.family)
        weight **= self.step.beta
        if self._is_incomplete(X):
            return self._move_centers(Statistics(0.0, *sum_present(X, weight)))
        first = (weight.T @ X).T
        sums = Statistics(0.0, weight.sum(axis=0), first, np.empty(0))
        return self._move_centers(sums)

    def _move_centers(self, statistics: Statistics) -> np.ndarray:
        """Return the best prototypes; the prototype of a cluster without mass does not move.

        If values are missing, they are computed for each attribute from its observed values.
        """
        if statistics.total.ndim == 1:
            centers = self._best_centers(statistics)
        else:
            columns = [
                self._best_centers(Statistics(0.0, total, first[None], np.empty(0)))
                for total, first in zip(statistics.total, statistics.first, strict=True)
            ]
            centers = np.hstack(columns)
        masses = statistics.total @ self.step.sets
        has_mass = np.atleast_2d(masses > 0)
        return np.where(has_mass.T, centers, self.centers)

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        """Return the prototypes V that solve H V = R (Masson and Denoeux, 2008, eq. 22)."""
        total = statistics.total
        first = statistics.first
        if self._uses_nearest:
            positive = np.maximum(total, np.finfo(float).tiny)
            return first.T / positive[:, None]
        step = self.step
        if self.metrics is None:
            return step.best_prototypes(total, first.T)
        sets = step.sets
        size = sets.sum(axis=1)
        weight = size ** (step.alpha - 2) * total
        c, p = self.centers.shape
        mean = np.einsum("jk,kde->jde", step.averages, self.metrics)
        H = np.einsum("jk,jl,j,jde->kdle", sets, sets, weight, mean, optimize=True)
        share = size ** (step.alpha - 1)
        R = np.einsum("jk,j,jde,ej->kd", sets, share, mean, first, optimize=True)
        size = c * p
        solution = solve_normal_equations(H.reshape(size, size), R.reshape(size, 1))
        return solution.reshape(c, p)

    def update_metrics(self, statistics: Statistics) -> Self:
        """Return the model whose metrics, if not Euclidean, are best for given masses.

        For the scatter S of a cluster, the metric is det(S)^(1/p) S^-1 (Antoine et al., eq. 20). A
        direction with little variance would get almost all weight, so the variances of a cluster
        are at least `_MIN_VARIANCE` times their mean. The old metric is kept if it gives a smaller
        objective, so that the objective never increases, and if S contains only rounding errors.
        """
        old = self.metrics
        if old is None:
            return self
        sets = self.step.sets
        bary = self.step.averages @ self.centers
        lower = np.moveaxis(statistics.second, 2, 0)
        moment = lower + np.transpose(np.tril(lower, -1), (0, 2, 1))
        first = statistics.first.T
        total = statistics.total[:, None, None]
        column = bary[:, :, None]
        row = bary[:, None]
        cross = first[:, :, None] * row
        scatter = moment - cross - np.transpose(cross, (0, 2, 1))
        scatter += total * column * row
        share = sets.sum(axis=1) ** (self.step.alpha - 1)
        sigma = np.einsum("jk,j,jde->kde", sets, share, scatter)
        size = np.einsum("jk,j,jdd->k", sets, share, moment)
        trace = np.trace(sigma, axis1=1, axis2=2)
        has_scatter = trace > np.maximum(1e-15 * size, 1e-290)
        # Dividing by a power of two makes the result independent of the units of X up to the last
        # bit.
        _, exponent = np.frexp(np.where(has_scatter, trace, 1.0))
        unit = np.ldexp(1.0, exponent)[:, None, None]
        identity = np.eye(sigma.shape[1])
        matrices = np.where(has_scatter[:, None, None], sigma / unit, identity)
        values, vectors = np.linalg.eigh(matrices)
        floor = _MIN_VARIANCE * values.mean(axis=1, keepdims=True)
        flat = (values < floor).any(axis=1)
        values = np.maximum(values, floor)
        scale = np.exp(np.log(values).mean(axis=1, keepdims=True))
        best = np.einsum("kde,ke,kfe->kdf", vectors, scale / values, vectors)
        best_costs = np.einsum("kde,kde->k", best, sigma)
        old_costs = np.einsum("kde,kde->k", old, sigma)
        worse = best_costs > old_costs
        is_better = has_scatter & ~(flat & worse)
        metrics = np.where(is_better[:, None, None], best, old)
        return replace(self, metrics=metrics)

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        """Return minus the squared distance from the row to each prototype, by attribute."""
        gap = X[0, : self.centers.shape[1]] - self.centers
        metrics = self.metrics
        if metrics is None:
            metrics = np.eye(gap.shape[1])[None]
        parts = -quadratic_parts(gap, metrics).T
        quantity = "minus the squared distance to the center"
        evidence = ClusterEvidence.from_attributes(quantity, parts)
        return replace(evidence, parts=parts[: len(parts) - self.n_added])


# Smallest variance of a cluster in any direction, as a share of its mean variance, for the adaptive
# metric. With a much smaller value, a prototype can fit a few objects in a thin layer, and the
# metric then ignores all other directions.
_MIN_VARIANCE = 0.03


@dataclass(frozen=True)
class Statistics(Sums):
    """Sums over objects x with masses m on the g nonempty sets."""

    objective: float  # sum of the weighted costs of the objects
    # sums of m^beta; with missing values, sums over the objects that have an attribute
    total: Annotated[np.ndarray, "g", "p g"]
    first: Annotated[np.ndarray, "p g"]  # sums of m^beta x
    # (p, p, g), lower triangles of the sums of m^beta x x'; empty if the metric is fixed
    second: Annotated[np.ndarray, "* * g"]


def sum_statistics(
    rows: Array, weights: Array | None, model: PrototypeModel, apply: Apply
) -> Statistics:
    """Return the objective and the sums over a block of rows."""
    return model.statistics(rows, weights, apply)


@dataclass(frozen=True)
class OnlinePrototypes:
    """Prototypes, and the sums over the objects that they were fitted to.

    The masses of a block are computed once, with the prototypes fitted to the earlier blocks. The
    new prototypes minimize the objective for the masses of all blocks so far (see incremental EM;
    Neal and Hinton, 1998).
    """

    model: PrototypeModel  # current prototypes, relative to ``origin``
    # point that is subtracted from the objects
    origin: Annotated[np.ndarray, "p"] | None
    delta: float  # distance from each object to the empty set
    # numbers of objects between the clusters (`count_boundaries`), from which `to_model` selects
    # pairs of neighbors; None if the family is fixed
    boundaries: Annotated[np.ndarray, "c c"] | None = None
    # sums over all blocks so far; None before the first block
    sums: Statistics | None = None

    @property
    def objective(self) -> float:
        """Objective of all objects so far, for the masses computed when their block was added."""
        assert self.sums is not None
        return self.sums.objective

    @property
    def beta(self) -> float:
        return self.model.step.beta

    def add_block(
        self, X: Array, weights: np.ndarray, kept: float, *, update: bool, apply: Apply
    ) -> Self:
        """Return the prototypes after one more block.

        The sums over earlier blocks are multiplied by ``kept``.
        """
        if self.origin is not None:
            X = X - to_device_of(self.origin, X)
        sums = self.model.statistics(X, to_device_of(weights, X), apply)
        if self.sums is not None:
            sums = self.sums.scaled(kept) + sums
        boundaries = self.boundaries
        if boundaries is not None:
            squares = self.model.squared_distances(to_host(X))
            boundaries = kept * boundaries + count_boundaries(squares, weights)
        model = self.model.update(sums) if update else self.model
        return replace(self, sums=sums, model=model, boundaries=boundaries)

    def to_model(self) -> PrototypeModel:
        """Return the model for new objects, in the coordinates of X."""
        model = self.model
        if self.boundaries is not None:
            family = neighbor_family(self.boundaries)
            step = replace(model.step, family=family, delta2=self.delta**2)
            model = replace(model, step=step)
        if self.origin is None:
            return model
        return replace(model, centers=model.centers + self.origin)


# largest cost, in mean squared deviations of the data, at which an object coincides with a
# prototype
ZERO = 1e-12
# smallest tolerance with many clusters and more rows than in a sample
_MIN_TOLERANCE = 1e-4
_EUCLIDEAN_ITERATIONS = 5  # number of Euclidean iterations before the metric is adapted


class PrototypeMethod(MassMethod[PrototypeModel]):
    """Algorithm of evidential c-means, and base class of its variants.

    A variant has another ``model_type``, or overrides `_outlier_cost`, `_step` or others. The
    estimator has the parameters ``alpha``, ``beta``, ``delta``, ``init``, ``n_init``, ``max_iter``,
    ``tol`` and ``random_state``.
    """

    model_type: type[PrototypeModel] = PrototypeModel

    def __init__(self, estimator: Any, sample: Sample[Any], request: FitRequest):
        super().__init__(estimator, sample, request)
        attributes = sample.values[:, : estimator.n_features_in_]
        self.init = centers_from_peaks(estimator, attributes, self.n_clusters)
        self.used_tol = estimator.tol
        self.is_adaptive = estimator.metric == "adaptive"
        self.is_spherical = estimator.metric == "cosine"
        self.within = sample.within
        self.original = sample.rows(self.apply, estimator.device)
        self.origin = self._find_origin()  # subtracted from the rows for accuracy
        self.rows = self.original
        if self.origin is not None:
            self.rows = self.original.shift(self.origin)
        self.sample, self.sample_weights = self.rows.sample(self.rng)
        self.points = self._find_points()
        X = self.rows.values
        _starts.check_different_objects(X, self.points, self.n_clusters, sample.weights)
        self.mean_squared_deviation = mean_squared_deviation(
            self.sample, self.sample_weights
        )
        self.zero = ZERO * self.mean_squared_deviation

    def _find_origin(self) -> np.ndarray | None:
        if self.is_spherical:
            return None
        dtype = precision_of(self.original.values)
        if not self.is_adaptive:
            offset = centering_offset(*self.original.bounds())
            if offset is None:
                return None
            return offset.astype(dtype)
        # Second moments are inaccurate far from the mean.
        mean = self.original.mean().astype(dtype)
        mean[self.estimator.n_features_in_ :] = 0
        return mean

    def _find_points(self) -> np.ndarray:
        if self.within is None:
            return self.sample
        return impute_missing(self.sample)

    # ---- overridden by variants ------------------------------------------------------------------

    def _model_parameters(self) -> dict[str, Any]:
        """Return the fields of ``model_type`` that `PrototypeModel` lacks."""
        return {}

    def _identity_metrics(self) -> np.ndarray:
        return np.stack([np.eye(self.points.shape[1])] * self.n_clusters)

    def _model(
        self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None
    ) -> PrototypeModel:
        centers = np.asarray(centers, float)
        if self.is_spherical:
            centers = normalize_rows(centers)
        return self.model_type(
            self._mass_step(family),
            centers,
            metrics,
            self.within,
            self.is_spherical,
            **self._model_parameters(),
        )

    def _step(
        self, model: PrototypeModel, *, on_sample: bool
    ) -> tuple[float, PrototypeModel]:
        """Return the objective of a model, and the model after one iteration."""
        if on_sample:
            weights = self._start_weights(model.family)
            statistics = model.statistics(self.sample, weights, self.apply)
        else:
            statistics = self.rows.sum(sum_statistics, model, Statistics)
        return statistics.objective, model.update(statistics)

    # ---- starts ----------------------------------------------------------------------------------

    @property
    def n_starts(self) -> int:
        n_init = self.estimator.n_init
        return _starts.number_of_starts(n_init, self.init, self.n_clusters)

    def _user_start(self, family: FocalSets) -> PrototypeModel:
        width = self.points.shape[1]
        if isinstance(self.init, CredalPartition):
            X = to_host(self.rows.values)
            _starts.check_partition(self.init, len(X), self.n_clusters)
            blank = self._model(family, np.zeros((self.n_clusters, width)))
            masses = to_host(self.init.masses)
            return self._model(
                family, blank.fit_centers(masses, self.init.focal_sets, X)
            )
        n_attributes = self.estimator.n_features_in_
        centers = _starts.validate_centers(self.init, (self.n_clusters, n_attributes))
        centers = append_zeros(centers, width - n_attributes)
        if self.origin is not None:
            centers -= self.origin[:width]
        return self._model(family, centers)

    def _draw_start(
        self, family: FocalSets, rng: np.random.RandomState
    ) -> PrototypeModel:
        return self._model(family, self._draw_centers(family, rng))

    # ---- runs ------------------------------------------------------------------------------------

    def select_run(
        self, runs: Iterable[Run[PrototypeModel]], tol: float
    ) -> Run[PrototypeModel]:
        if self.estimator.focal_sets == "auto":
            costs = methodcaller("squared_distances", self.sample)
            dimension = self.estimator.n_features_in_
            runs = most_likely_runs(list(runs), costs, self.sample_weights, dimension)
        return super().select_run(runs, tol)

    def refine(self, best: Run[PrototypeModel]) -> Run[PrototypeModel]:
        if self.has_user_start or self.rows.are_all_in(self.sample):
            return best
        return self._run(best.model, on_sample=False)

    def extend(
        self, run: Run[PrototypeModel], family: FocalSets
    ) -> Run[PrototypeModel]:
        model = self._model(family, run.model.centers, run.model.metrics)
        return self._run(model, on_sample=False)

    def add_neighbor_pairs(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        squares = run.model.squared_distances(self.sample)
        step = self._neighbor_step(squares, self.sample_weights)
        return replace(run, model=replace(run.model, step=step))

    def _run(self, start: PrototypeModel, *, on_sample: bool) -> Run[PrototypeModel]:
        step = partial(self._step, on_sample=on_sample)
        if has_many_components(start.family) and not self.rows.are_all_in(self.sample):
            self.used_tol = max(self.used_tol, _MIN_TOLERANCE)
        tol = self.used_tol
        if self.is_adaptive and start.metrics is None:
            start = descend(step, start, max_iter=_EUCLIDEAN_ITERATIONS, tol=tol).model
            start = replace(start, metrics=self._identity_metrics())
        return descend(step, start, max_iter=self.estimator.max_iter, tol=tol)

    # ---- results ---------------------------------------------------------------------------------

    def result(self, run: Run[PrototypeModel]) -> FitResult:
        model = run.model
        if self.origin is not None:
            origin = self.origin[: model.centers.shape[1]]
            model = replace(model, centers=model.centers + origin)
        return FitResult(run, model, self.original.masses(model))

    def online(self, model: PrototypeModel, *, neighbors: bool) -> OnlinePrototypes:
        """Return the prototypes from which `partial_fit` starts, without pairs of neighbors."""
        if neighbors:
            family = resolve_families("auto", self.n_clusters).first
            model = self._model(family, model.centers, model.metrics)
        if self.is_adaptive and model.metrics is None:
            model = replace(model, metrics=self._identity_metrics())
        boundaries = None
        if neighbors:
            # estimates the distance to the empty set
            self.add_neighbor_pairs(Run(model))
            boundaries = np.zeros((self.n_clusters, self.n_clusters))
        return OnlinePrototypes(model, self.origin, self.delta, boundaries)


class PrototypeClusterer(EvidentialClusterer):
    """Base class of the clusterers with prototypes."""

    _method_type = PrototypeMethod
    _auto_params = explain_auto_params
    # parameters whose values are fitted attributes, because they may be estimated
    _estimated: tuple[str, ...] = ("delta", "beta")

    def _fitted_attributes(self, method: Any, model: Any) -> dict[str, Any]:
        centers = model.centers[:, : self.n_features_in_]
        found = {"cluster_centers_": centers.astype(self.credal_partition_.dtype)}
        if model.metrics is not None:
            found["metric_matrices_"] = model.metrics
        for name in self._estimated:
            found[f"{name}_"] = getattr(method, name)
        return found


def project_to_sphere(rows: Array) -> Array:
    """Divide rows by their lengths, for metric="cosine"."""
    check_directions(rows)
    return normalize_rows(rows)


def _project_block(block: np.ndarray, shared: None, apply: Apply) -> np.ndarray:
    return project_to_sphere(block)


class ECM(PrototypeClusterer, OnlineClusterer):
    r"""Evidential c-means: every set of clusters has a prototype, the barycenter of its clusters.

    The method minimizes, over masses m and prototypes v,

    .. math::

        \sum_i \sum_{A \neq \emptyset} |A|^\alpha m_i(A)^\beta d(x_i, v_A)^2
        + \delta^2 \sum_i m_i(\emptyset)^\beta,

    where v_A is the mean of the prototypes of the clusters in A. The masses and the prototypes are
    updated in turn, and the objective never increases. An object near one prototype gets mass on
    that cluster, an object halfway between two prototypes on the pair, and an object farther than
    ``delta`` from all prototypes on the empty set. The cost of an iteration is linear in the number
    of objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then contains the candidates and
        the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. "auto" fits single clusters, then adds the empty set
        and the pairs of neighboring clusters (with objects between them) without moving
        the prototypes. "simple", "pairs" and "full" fit the whole family. "selected" fits single
        clusters, then adds the pairs of mutually nearest clusters and continues. With more than 50
        clusters, "auto" gives mass only to the five nearest clusters of an object, to their pairs
        and to the empty set, in the fit as well as in the result, whose masses are compressed rows.
    metric : {"euclidean", "adaptive", "cosine"}, default="euclidean"
        "adaptive" learns a metric matrix of determinant one for each cluster, for elongated
        clusters. "cosine" divides rows and prototypes by their lengths, for embeddings and counts
        of words. The squared distance is then 2 - 2 cos, and a row of zeros raises an error.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness; values near 1 give nearly certain masses. "auto" is 1.5 for up to five
        attributes, else smaller.
    delta : float > 0 or "auto", default="auto"
        Distance from objects to the empty set, in units of the data; smaller values give more
        outliers. "auto" is the upper fence of a box plot (third quartile plus two interquartile
        ranges) of distances to the nearest prototype.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. "refuse" raises an error. "partial" adds, for each missing attribute, its variance
        within clusters to the costs of all clusters, so incomplete objects get less certain masses.
        A row that contains only NaN raises an error, and so does the adaptive metric.
        ``docs/missing.md`` explains when to impute instead.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes. "belief-peaks" or a `BeliefPeaks` uses its centers, computed without
        weights. An array contains the prototypes, shape (n_clusters, n_features). A deterministic
        start is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With
        ``focal_sets="auto"``, results whose objectives are nearly equal (up to 10 %) are compared
        by their classification likelihood, which is smaller if a large cluster is divided. With
        more than 20,000 objects the starts are compared on a sample of that size, and the best one
        is continued with all objects. If there are more than 25 clusters, k-means with exchanges of
        centers (breathing k-means, Fritzke, 2020) gives one start, which is better than many
        others, unless ``init="random"``. Isolated objects then have no weight on the sample.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop. It is at least 1e-4 with more
        than 50 clusters, ``focal_sets="auto"`` and more than 20,000 objects.
    checkpoint : path or None, default=None
        For X in blocks: file from which an interrupted fit resumes, with the same result. It stores
        the result of each pass over X. A file written for other data or parameters raises an error.
    device : str, default="cpu"
        Device that computes the sums over all objects; "cuda" is a GPU. A GPU requires torch and no
        missing values. If X is a tensor, the device of X is used instead. Starts are compared on
        the CPU.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Masses of the objects.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes of the clusters.
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        Metric matrices of the clusters; only with the adaptive metric.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        Values of ``beta`` and ``delta`` that were used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the sampled rows, if X came in blocks.
    n_samples_seen_ : int
        Number of objects in `fit` and in all blocks of `partial_fit`.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm.
    Pattern Recognition 41. Adaptive metric: V. Antoine, B. Quost, M.-H. Masson and T. Denoeux
    (2012). CECM: constrained evidential C-means algorithm. Computational Statistics & Data Analysis
    56.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, focal_sets="full", delta=5, random_state=0).fit(X)
    >>> model.credal_partition_.ambiguous  # the object between the two clusters
    array([5])
    >>> model.credal_partition_.outliers  # the distant object
    array([11])
    """

    _model: PrototypeModel
    _online: MaybeUnset[OnlinePrototypes]

    _rules = {
        **COMMON_RULES,
        "metric": rule.choice("euclidean", "adaptive", "cosine"),
        "init": INIT_RULE,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: str = "euclidean",
        alpha: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        missing: str = "refuse",
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.missing = missing
        self.init = init
        self.checkpoint = checkpoint
        self.device = device

    def _read(self, X: TableLike, *, reset: bool) -> Array:
        values = super()._read(X, reset=reset)
        if self.metric == "cosine":
            return project_to_sphere(values)
        return values

    def _map_blocks(self, source: Blocks) -> Blocks:
        if self.metric != "cosine":
            return source
        return source.map(_project_block, None, source.width, source.dtype)
