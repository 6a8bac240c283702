"""Evidential c-means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from pathlib import Path
from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._arrays import Array, is_tensor, precision_of, to_device_of, to_host
from dempster._native import kernel
from dempster._random import as_random_state
from dempster._types import ArrayLike, Seed, TableLike
from dempster._validation import centering_offset, has_missing
from dempster.belief import FocalSets
from dempster.cluster import _device, _starts
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, FitRequest
from dempster.cluster._mass_step import MassStep, masses_from_costs, project_masses
from dempster.cluster._online import CHECKPOINT_RULE, DEVICE_RULE, OnlineClusterer
from dempster.cluster._search import FitResult, Method, Sample, require_singletons
from dempster.cluster._starts import distances_to_centers, fuzziness, isolated, outlier_distance, reasons
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, centers_from_peaks
from dempster.cluster.evidence import ClusterEvidence, quadratic_parts
from dempster.dissimilarity.partial import filled, point_squares
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.partition import CredalPartition

_prototype_sums = kernel("""prototype_sums(
    X: real[n, p], weights: float64[n] or None, barycentres: real[p, g], metrics: real[p, p, g] or None,
    factor: real[g], size: int64[g], delta2: float, beta: float, zero: float,
    total: float64[g] out, first: float64[p, g] out, second: float64[p, p, g] out or None) -> float""")
_prototype_masses = kernel("""prototype_masses(
    X: real[n, p], barycentres: real[p, g], metrics: real[p, p, g] or None,
    factor: real[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: real[n, f] out)""")
_squared_distances = kernel("""squared_distances(
    X: real[n, p], barycentres: real[p, g], metrics: real[p, p, g] or None, out: real[n, g] out)""")


def missing_costs(X: np.ndarray, factor: np.ndarray, within: np.ndarray) -> np.ndarray:
    """(n, g) what missing attributes add to the costs of the nonempty sets before the penalties |A|^alpha, the
    ``factor``, which they do not have."""
    return (np.isnan(X) @ within)[:, None] / factor


def sums_of_present(X: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(p, g) sums of powers of masses over the objects that have an attribute, and of these times its values; there are
    no second moments."""
    present = ~np.isnan(X)
    first = np.where(present, X, 0).astype(float).T @ powers
    return present.T.astype(float) @ powers, first, np.empty((0, 0, powers.shape[1]))


@dataclass(frozen=True)
class PrototypeModel:
    """Prototypes with everything needed to turn an object into masses.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    centers : (c, p) array
    metrics : (c, p, p) array or None
        One matrix of determinant 1 a cluster (adaptive metric).
    within : (p,) array or None
        Variances of the attributes within clusters, for which missing ones count; None if none may be missing.
    """

    step: MassStep
    centers: np.ndarray
    metrics: np.ndarray | None = None
    within: np.ndarray | None = None

    @property
    def family(self) -> FocalSets:
        return self.step.family

    def kernel_arguments(self, dtype: np.dtype) -> tuple:
        """Barycentres, metrics (None: Euclidean), and the arguments of the mass step: as the kernels take them."""
        sets = self.step.sets
        mean = sets / sets.sum(axis=1)[:, None]
        barycentres = np.ascontiguousarray((mean @ self.centers).T, dtype=dtype)
        metrics = None
        if self.metrics is not None:
            metrics = np.ascontiguousarray(np.einsum("jk,kde->dej", mean, self.metrics), dtype=dtype)
        return barycentres, metrics, *self.step.kernel_arguments(dtype)

    def masses(self, X: Array, apply: Apply) -> Array:
        """(n, f) masses of the rows of X; those of a tensor are found where it is."""
        if is_tensor(X):
            return self.masses_on_device(X, X.device)
        if self.within is not None and has_missing(X):
            return self._partial_masses(X, apply)
        out = np.zeros((len(X), len(self.family)), dtype=X.dtype)
        in_double = self.metrics is not None and X.dtype == np.float32  # weights may be a million times apart
        arguments = (*self.kernel_arguments(np.dtype(float) if in_double else X.dtype), *self.step.columns())

        def write(start: int, stop: int) -> None:
            if not in_double:
                _prototype_masses(X[start:stop], *arguments, out[start:stop])
                return
            masses = np.zeros((stop - start, len(self.family)))
            _prototype_masses(X[start:stop].astype(float), *arguments, masses)
            out[start:stop] = masses

        apply(write, row_blocks(len(X)))
        return out

    def _partial_masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        """Rows that have all of their cells get the masses that they have among rows like them."""
        lacking = np.isnan(X).any(axis=1)
        out = np.empty((len(X), len(self.family)), dtype=X.dtype)
        if not lacking.all():
            out[~lacking] = self.masses(np.ascontiguousarray(X[~lacking]), apply)
        places = np.flatnonzero(lacking)
        for start, stop in row_blocks(len(places)):
            block = places[start:stop]
            out[block] = self.step.masses(self._partial_costs(X[block]), np.empty(0), apply)[1]
        return out

    def squared_distances(self, X: np.ndarray) -> np.ndarray:
        """(n, g) squared distances of objects to the barycentres of the nonempty sets; where attributes are missing,
        what the mass step takes for them (`_partial`)."""
        if self.within is not None and has_missing(X):
            return self._partial_costs(X)
        if self.metrics is not None and X.dtype == np.float32:
            return self.squared_distances(X.astype(float))
        barycentres, metrics, *_ = self.kernel_arguments(X.dtype)
        out = np.empty((len(X), barycentres.shape[1]), X.dtype)
        _squared_distances(X, barycentres, metrics, out)
        return out

    def _partial_costs(self, X: np.ndarray) -> np.ndarray:
        assert self.within is not None
        factor, *_ = self.step.kernel_arguments()
        return np.ascontiguousarray(self._present_squares(X) + missing_costs(X, factor, self.within))

    def _present_squares(self, X: np.ndarray) -> np.ndarray:
        """(n, g) squared distances over the attributes that objects have."""
        return point_squares(X, self.step.averages @ self.centers)

    def statistics(self, X: Array, weights: Array | None, apply: Apply) -> Statistics:
        """One pass over the data: the objective, and the sums that the updates need; of a tensor, where it is."""
        if is_tensor(X):
            return Statistics(*_device.prototype_sums(self.kernel_arguments(np.dtype(float)), X, weights))
        assert weights is not None
        lacking = self.within is not None and has_missing(X)
        in_double = self.metrics is not None and X.dtype == np.float32  # weights may be a million times apart
        arguments = self.kernel_arguments(np.dtype(float) if in_double else X.dtype)
        barycentres, metrics, *_ = arguments
        (p, g), second_shape = barycentres.shape, (0, 0) if metrics is None else barycentres.shape[:1] * 2

        def sums(start: int, stop: int) -> Statistics:
            rows, given = X[start:stop], weights[start:stop] if len(weights) else None
            if lacking:
                return self._partial_statistics(rows, given)
            total, first, second = np.empty(g), np.empty((p, g)), np.empty((*second_shape, g))
            objective = _prototype_sums(
                rows.astype(float) if in_double else rows, given, *arguments,
                total, first, None if metrics is None else second,
            )  # fmt: skip
            return Statistics(objective, total, first, second)

        return reduce(add, apply(sums, row_blocks(len(X))))

    def _partial_statistics(self, rows: np.ndarray, weights: np.ndarray | None) -> Statistics:
        """Return the sums over rows some of whose cells are missing: those of m^beta are (p, g), over the rows that
        have an attribute."""
        costs = self._partial_costs(rows)
        masses, empty = np.empty_like(costs), np.empty(len(costs))
        factor, size, delta2, beta, zero = self.step.kernel_arguments()
        given = np.empty(0) if weights is None else weights
        objective = masses_from_costs(costs, given, factor, size, delta2, beta, zero, masses, empty)
        masses **= self.step.beta
        if weights is not None:
            masses *= weights[:, None]
        return Statistics(objective, *sums_of_present(rows, masses))

    def masses_on_device(self, X: Array, device: Any) -> Array:
        """(n, f) masses of the rows of X, by torch."""
        return _device.prototype_masses(self.kernel_arguments(np.dtype(float)), self.step, X, device)

    def updated(self, statistics: Statistics, *, move_centers: bool = True) -> Self:
        """The prototypes, then the metrics, that minimise the objective given the masses."""
        model = self
        if move_centers:
            best = self._best_centers if statistics.total.ndim == 1 else self._partial_centers
            model = replace(self, centers=best(statistics))
        return model if self.metrics is None else replace(model, metrics=model._best_metrics(statistics))

    def centers_from(self, masses: np.ndarray, family: FocalSets, X: np.ndarray) -> np.ndarray:
        """Prototypes that minimise the Euclidean objective for given masses on any family of sets."""
        weight = project_masses(masses, family, self.family)
        weight **= self.step.beta
        if self.within is not None and has_missing(X):
            return self._partial_centers(Statistics(0.0, *sums_of_present(X, weight)))
        return self._best_centers(Statistics(0.0, weight.sum(axis=0), (weight.T @ X).T, np.empty(0)))

    def _partial_centers(self, statistics: Statistics) -> np.ndarray:
        """Return the best prototypes, attribute by attribute, where some values are missing."""
        found = np.hstack([self._best_centers(statistics.of_attribute(d)) for d in range(len(statistics.total))])
        seen = statistics.total @ self.step.sets > 0
        return np.where(seen.T, found, self.centers)  # what no object of a cluster has stays where it was

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        """Solve H V = R (Masson and Denoeux, 2008, eq. 22; one block of p rows a cluster if the metric adapts)."""
        sets, alpha = self.step.sets, self.step.alpha
        size = sets.sum(axis=1)
        weight = size ** (alpha - 2) * statistics.total
        if self.metrics is None:
            H = (sets.T * weight) @ sets
            return solve_normal_equations(H, (sets.T * size ** (alpha - 1)) @ statistics.first.T)
        c, p = self.centers.shape
        mean = np.einsum("jk,kde->jde", sets / size[:, None], self.metrics)
        H = np.einsum("jk,jl,j,jde->kdle", sets, sets, weight, mean, optimize=True).reshape(c * p, c * p)
        R = np.einsum("jk,j,jde,ej->kd", sets, size ** (alpha - 1), mean, statistics.first, optimize=True)
        return solve_normal_equations(H, R.reshape(c * p, 1)).reshape(c, p)

    def _best_metrics(self, statistics: Statistics) -> np.ndarray:
        """S_k = det(Sigma_k)^(1/p) Sigma_k^-1, Sigma_k the scatter of cluster k (Antoine et al., 2012, eq. 20)."""
        sets = self.step.sets
        size = sets.sum(axis=1)
        bary = (sets / size[:, None]) @ self.centers
        lower = np.moveaxis(statistics.second, 2, 0)
        moment = lower + np.transpose(np.tril(lower, -1), (0, 2, 1))
        first = statistics.first.T
        cross = first[:, :, None] * bary[:, None, :]
        scatter = moment - cross - np.transpose(cross, (0, 2, 1))
        scatter += statistics.total[:, None, None] * bary[:, :, None] * bary[:, None, :]
        share = size ** (self.step.alpha - 1)
        sigma = np.einsum("jk,j,jde->kde", sets, share, scatter)
        return _metrics_of(sigma, np.einsum("jk,j,jdd->k", sets, share, moment), self.metrics)

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer its prototype, in each attribute, the more."""
        gap = X[0] - self.centers
        metrics = np.eye(gap.shape[1])[None] if self.metrics is None else self.metrics
        return ClusterEvidence.from_attributes(
            "minus the squared distance to the center", -quadratic_parts(gap, metrics).T
        )


def _metrics_of(sigma: np.ndarray, size: np.ndarray, old: np.ndarray | None) -> np.ndarray:
    """(k, p, p) metrics of determinant one that make tr(S_k Sigma_k) least, for moments about the origin of traces
    ``size``.

    A flat direction would get an infinite weight, so the variances of a cluster are kept above a millionth of their
    mean. That is no longer the least, and where it is above what the ``old`` metric gives, that one stays, so that the
    objective never rises. It stays as well where a cluster has lost its objects, and nothing is left but rounding.
    """
    assert old is not None
    trace = np.trace(sigma, axis1=1, axis2=2)
    known = trace > np.maximum(1e-15 * size, 1e-290)
    unit = np.ldexp(1.0, np.frexp(np.where(known, trace, 1.0))[1])[:, None, None]  # logarithms are not rounded alike
    values, vectors = np.linalg.eigh(np.where(known[:, None, None], sigma / unit, np.eye(sigma.shape[1])))
    floor = 1e-6 * values.mean(axis=1, keepdims=True)
    flat = (values < floor).any(axis=1)
    values = np.maximum(values, floor)
    scale = np.exp(np.log(values).mean(axis=1, keepdims=True))
    best = np.einsum("kde,ke,kfe->kdf", vectors, scale / values, vectors)
    worse = np.einsum("kde,kde->k", best, sigma) > np.einsum("kde,kde->k", old, sigma)
    return np.where((known & ~(flat & worse))[:, None, None], best, old)


@dataclass(frozen=True)
class Statistics:
    """Sums over objects, one value a nonempty set: they can be added over blocks of data.

    Attributes
    ----------
    objective : float
    total : (g,) sum of m^beta, or (p, g) over the objects that have an attribute, where some are missing
    first : (p, g) sum of m^beta x
    second : (p, p, g) lower triangle of the sum of m^beta x x' (empty if the metric is fixed)
    """

    objective: float
    total: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def of_attribute(self, d: int) -> Statistics:
        """Those of one attribute, where not all objects have it."""
        return Statistics(self.objective, self.total[d], self.first[d : d + 1], np.empty(0))

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.objective + other.objective,
            self.total + other.total,
            self.first + other.first,
            self.second + other.second,
        )

    def scaled(self, factor: float) -> Statistics:
        """The sums of objects that count for so much."""
        return Statistics(factor * self.objective, factor * self.total, factor * self.first, factor * self.second)


def sum_statistics(rows: Array, weights: Array | None, model: PrototypeModel, apply: Apply) -> Statistics:
    """Return the sums over some rows."""
    return model.statistics(rows, weights, apply)


@dataclass(frozen=True)
class OnlinePrototypes:
    """Prototypes and the sums over the objects that they were learned from.

    The masses of a block are those under the prototypes of its time; new prototypes minimise the objective given the
    masses of all blocks so far (Neal and Hinton, 1998: incremental variants of EM).

    Attributes
    ----------
    model : PrototypeModel
        What moves, measured from ``origin``.
    origin : (p,) array or None
    delta : float
        Distance to the empty set.
    neighbors : bool
        Whether the empty set and pairs of neighboring clusters are read off.
    sums : Statistics or None
        None before the first block.
    """

    model: PrototypeModel
    origin: np.ndarray | None
    delta: float
    neighbors: bool
    sums: Statistics | None = None

    @property
    def objective(self) -> float:
        """That of all objects so far, each under the prototypes of its time."""
        assert self.sums is not None
        return self.sums.objective

    def after(self, X: Array, weights: np.ndarray, kept: float, *, update: bool, apply: Apply) -> Self:
        """After one more block; ``kept`` is the share of the earlier sums that is not forgotten."""
        data = X if self.origin is None else X - to_device_of(self.origin, X)
        sums = self.model.statistics(data, to_device_of(weights, X), apply)
        if self.sums is not None:
            sums = self.sums.scaled(kept) + sums
        return replace(self, sums=sums, model=self.model.updated(sums) if update else self.model)

    def fitted(self) -> PrototypeModel:
        """The model for new objects, in their coordinates."""
        model = self.model
        if self.neighbors:
            step = replace(model.step, family=FocalSets.neighbors(model.centers), delta2=self.delta**2)
            model = replace(model, step=step)
        return model if self.origin is None else replace(model, centers=model.centers + self.origin)


ZERO = 1e-12  # an object lies on a prototype up to this cost, in mean squared deviations of the data
_EUCLIDEAN_FIRST = 5  # iterations before the metric adapts


class PrototypeMethod(Method[PrototypeModel, PrototypeModel]):
    """Evidential c-means, and what its relatives share with it.

    A relative that changes the model, the distance to the empty set, the step or what given prototypes are overrides
    `_model`, `_outlier_distance`, `_step` or `_checked_centers`.

    Parameters
    ----------
    estimator : EvidentialClusterer
        With ``delta``, ``n_init``, ``max_iter``, ``tol`` and ``random_state``, perhaps ``metric`` and ``device``.
    sample : Sample
    request : FitRequest
    alpha, beta : float
    init : str, array or CredalPartition
        The name of a way to draw starts, or the prototypes or the partition to start from.
    """

    def __init__(
        self,
        estimator: Any,
        sample: Sample[Any],
        request: FitRequest,
        *,
        alpha: float,
        beta: float,
        init: str | ArrayLike | CredalPartition,
    ):
        self.estimator, self.n_clusters, self.apply = estimator, request.n_clusters, request.apply
        self.alpha, self.beta, self.init = alpha, beta, init
        self.is_adaptive = getattr(estimator, "metric", "euclidean") == "adaptive"
        self.rng = as_random_state(estimator.random_state)
        self.rows = sample.rows(request.apply, getattr(estimator, "device", "cpu"))
        self.values, self.weights, self.within = self.rows.values, self.rows.weights, sample.within
        # second moments, which the adaptive metric needs, lose digits far from the mean
        origin = self.rows.mean() if self.is_adaptive else centering_offset(*self.rows.bounds())
        self.origin = None if origin is None else origin.astype(precision_of(self.values))
        self.shifted = self.rows if self.origin is None else self.rows.shift(self.origin)
        self.data = self.shifted.values
        self.sample, self.sample_weights = self.shifted.sample(self.rng)
        self.points = filled(self.sample)  # where the first prototypes are drawn
        _starts.check_different_objects(self.data, self.points, self.n_clusters, sample.weights)
        self.mean_squared_deviation = self.shifted.mean_squared_deviation()
        self._delta = None if estimator.delta == "auto" else float(estimator.delta)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; `add_neighbor_pairs` finds it from the fit."""
        if self._delta is None:
            self._delta = self._outlier_distance()
        return self._delta

    # ---- what relatives of ECM change -----------------------------------------------------------------------------

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> PrototypeModel:
        return PrototypeModel(self._mass_step(family), np.asarray(centers, float), metrics, self.within)

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        return MassStep(family, self.alpha, self.beta, delta2, ZERO * self.mean_squared_deviation)

    def _outlier_distance(self) -> float:
        """Return what delta="auto" stands for before there is a fit: from the best of several k-means."""
        squares, which = distances_to_centers(self.points, self.sample_weights, self.n_clusters, self.rng)
        return outlier_distance(np.sqrt(squares), self.sample_weights[which])

    def _step(self, model: PrototypeModel, *, on_sample: bool) -> tuple[float, PrototypeModel]:
        """Make one iteration: return the objective of a model, and the next model."""
        if on_sample:
            statistics = model.statistics(self.sample, self.sample_weights, self.apply)
        else:
            statistics = self.shifted.sum(sum_statistics, model, Statistics)
        return statistics.objective, model.updated(statistics)

    def _checked_centers(self, init: ArrayLike) -> np.ndarray:
        """Validate given prototypes, in the coordinates of the values."""
        return _starts.checked_centers(init, (self.n_clusters, self.data.shape[1]))

    # ---- starts ---------------------------------------------------------------------------------------------------

    @property
    def has_user_start(self) -> bool:
        """Whether ``init`` holds prototypes or a partition."""
        return not isinstance(self.init, str)

    def draw_starts(self, family: FocalSets) -> list[PrototypeModel]:
        if self.has_user_start:
            return [self._user_start(family)]
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.estimator.n_init)
        return [self._draw(family, seed) for seed in seeds]

    def _user_start(self, family: FocalSets) -> PrototypeModel:
        if isinstance(self.init, CredalPartition):
            _starts.check_partition(self.init, len(self.data), self.n_clusters)
            blank = self._model(family, np.zeros((self.n_clusters, self.data.shape[1])))
            centers = blank.centers_from(to_host(self.init.masses), self.init.focal_sets, to_host(self.data))
        else:
            centers = self._checked_centers(self.init)
            centers = centers if self.origin is None else centers - self.origin
        return self._model(family, centers)

    def _draw(self, family: FocalSets, seed: int) -> PrototypeModel:
        assert isinstance(self.init, str)
        rng = np.random.RandomState(seed)
        weights = self.sample_weights if family.empty_index is not None else self._crowded_weights
        return self._model(family, _starts.first_centers(self.points, weights, self.n_clusters, self.init, rng))

    @cached_property
    def _crowded_weights(self) -> np.ndarray:
        """Weights of the sample, zero for isolated rows, on which prototypes would stay where there is no empty set to
        take them."""
        weights = np.where(isolated(self.points), 0.0, self.sample_weights)
        enough = len(np.unique(self.points[weights > 0], axis=0)) >= self.n_clusters
        return weights if enough else self.sample_weights

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: PrototypeModel) -> Run[PrototypeModel]:
        return self._run(start, on_sample=not self.has_user_start)

    def refine(self, best: Run[PrototypeModel]) -> Run[PrototypeModel]:
        if self.has_user_start or self.shifted.are_all_in(self.sample):
            return best
        return self._run(best.model, on_sample=False)

    def extend(self, run: Run[PrototypeModel], family: FocalSets) -> Run[PrototypeModel]:
        return self._run(self._model(family, run.model.centers, run.model.metrics), on_sample=False)

    def add_neighbor_pairs(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        if self._delta is None:
            squares = run.model.squared_distances(self.sample).min(axis=1)
            self._delta = outlier_distance(np.sqrt(np.maximum(squares, 0)), self.sample_weights)
        step = self._mass_step(FocalSets.neighbors(run.model.centers))
        return Run(replace(run.model, step=step), run.history, run.converged)

    def _run(self, start: PrototypeModel, *, on_sample: bool) -> Run[PrototypeModel]:
        step, max_iter, tol = partial(self._step, on_sample=on_sample), self.estimator.max_iter, self.estimator.tol
        if self.is_adaptive and start.metrics is None:
            start = descend(step, start, max_iter=_EUCLIDEAN_FIRST, tol=tol).model
            start = replace(start, metrics=np.stack([np.eye(self.data.shape[1])] * self.n_clusters))
        return descend(step, start, max_iter=max_iter, tol=tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[PrototypeModel]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def result(self, run: Run[PrototypeModel]) -> FitResult:
        model = run.model
        if self.origin is not None:
            model = replace(model, centers=model.centers + self.origin)
        return FitResult(run, model, self.rows.masses(model))

    def online(self, model: PrototypeModel, *, neighbors: bool) -> OnlinePrototypes:
        """Return the state in which learning block by block begins; ``neighbors``: whether pairs of neighbors are added
        to the model for new rows."""
        if self.is_adaptive and model.metrics is None:
            model = replace(model, metrics=np.stack([np.eye(self.data.shape[1])] * self.n_clusters))
        if neighbors:
            self.add_neighbor_pairs(Run(model))  # finds the distance to the empty set
        return OnlinePrototypes(model, self.origin, self.delta, neighbors)


class ECM(OnlineClusterer):
    """Evidential c-means: every *set* of clusters has a prototype, the barycentre of those of its clusters.

    Minimises, over masses m and prototypes v,

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta d(x_i, v_A)^2  +  delta^2 sum_i m_i(empty)^beta,

    by turns: masses for given prototypes, prototypes for given masses. The objective never rises. An object near one
    prototype gets mass on that cluster, one halfway between two on the pair, one farther than ``delta`` from all on
    the empty set. Cost per iteration: linear in the number of objects.

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
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": each cluster learns a matrix of determinant one (elongated clusters).
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness: towards 1 the masses become certain. "auto": 1.5 up to five attributes, then less the more there are.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the data: smaller values give more outliers. "auto": the upper
        fence of a box plot (two interquartile ranges above the third quartile) of the distances to the nearest
        prototype.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN). "partial": objects are compared by the attributes that they have, and one
        that is missing adds the same to all costs, its variance within clusters: the less is known of an object, the
        more it is in doubt. An object without any value is refused, and so is the adaptive metric.
        ``docs/missing.md`` tells when to impute instead.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array of shape (n_clusters, n_features) or \
CredalPartition, default="k-means++"
        "belief-peaks": the centres found by `BeliefPeaks`, which knows no weights, or by one with parameters of its
        own. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    checkpoint : path, optional
        For X that comes in blocks: a file to which what each pass over them gave is added; a fit that was killed goes
        on from it, to the same result. It is refused if data or parameters are others.
    device : str, default="cpu"
        Where the sums over all objects are taken, in memory or in blocks; "cuda" is a GPU (needs torch, and all cells
        of X). A tensor is not moved. Starts compete on the processor.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        With the adaptive metric.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        What was used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks.
    n_samples_seen_ : int
        Objects of all blocks, after `partial_fit`.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm. Pattern
    Recognition 41. Adaptive metric: V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained
    evidential C-means algorithm. Computational Statistics & Data Analysis 56.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, focal_sets="full", delta=5, random_state=0).fit(X)
    >>> model.credal_partition_.ambiguous  # the object in the middle
    array([5])
    >>> model.credal_partition_.outliers  # the one far away
    array([11])
    """

    _rules = {
        **COMMON_RULES,
        "checkpoint": CHECKPOINT_RULE,
        "metric": rule.choice("euclidean", "adaptive"),
        "alpha": rule.real(0),
        "beta": rule.choice("auto") | rule.real(1, 50, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": rule.choice("k-means++", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
        "device": DEVICE_RULE,
        "missing": MISSING_RULE,
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
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbor_clusters: int = 1,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): every
            iteration is then a pass over them, and what has a row for each object is lazy. It may be a tensor of torch
            (``docs/scale.md``): the fit then runs where it is, and the results are tensors there.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two. It may come in blocks if X
            does.
        """
        return self._fit(X, sample_weight=sample_weight)

    def _make_method(self, sample: Sample[np.ndarray], request: FitRequest) -> PrototypeMethod:
        beta = fuzziness(sample.values.shape[1]) if self.beta == "auto" else float(self.beta)
        init = centers_from_peaks(self.init, sample.values, request.n_clusters, self.random_state, self.n_jobs)
        return PrototypeMethod(self, sample, request, alpha=self.alpha, beta=beta, init=init)

    def _auto_params(self, method: PrototypeMethod) -> dict[str, str]:
        used = method.beta, method.delta
        return reasons(self.beta, self.delta, *used)

    def _fitted_attributes(self, method: PrototypeMethod | OnlinePrototypes, model: PrototypeModel) -> dict[str, Any]:
        found = {
            "cluster_centers_": model.centers.astype(precision_of(self.credal_partition_.masses)),
            "delta_": method.delta,
            "beta_": model.step.beta,
        }
        return found if model.metrics is None else {**found, "metric_matrices_": model.metrics}
