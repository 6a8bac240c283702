"""Algorithm of `WMVEC` for matrices of dissimilarities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import FitRequest
from dempster.cluster._boundaries import count_boundaries, neighbor_family
from dempster.cluster._mass_step import MassStep, project_masses
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._search import Sample
from dempster.cluster._view_input import ViewMatrices
from dempster.cluster._view_weights import BaseViewMethod
from dempster.cluster.explanation import ClusterEvidence
from dempster.data import sampling
from dempster.dissimilarity.transform import intrinsic_dimension
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

_SAMPLE_SIZE = 2_000  # maximum number of rows from which initial medoids are drawn
# maximum number of rows from which variances and intrinsic dimensions are estimated
_SPECTRUM_SIZE = 500
MAX_BLOCK_CELLS = 4_000_000  # number of dissimilarities that are squared at once
_RISE = 1e-12  # largest relative increase of the objective that is considered a rounding error


@dataclass(frozen=True)
class MedoidViewModel:
    """Fitted model of `WMVEC` for dissimilarities, with c medoids in each of V views."""

    step: MassStep
    dispersions: Annotated[np.ndarray, "V"]  # divisors of the squared dissimilarities
    medoids: Annotated[
        np.ndarray, "V c:int"
    ]  # index of the medoid of each cluster in each view
    # squared dissimilarities between the medoids, divided by the dispersions
    between: Annotated[np.ndarray, "V c c"]
    weights: Annotated[np.ndarray, "V"]  # weights of the views
    # shares of the dispersion within clusters, which determine the weights
    dispersion: Annotated[np.ndarray, "V"]

    @property
    def family(self) -> FocalSets:
        return self.step.family

    @property
    def squared_medoid_distances(self) -> np.ndarray:
        """Weighted squared dissimilarities between the medoids over all views, shape (c, c)."""
        return np.einsum("v,vkl->kl", self.weights, self.between)

    def _factors(self) -> np.ndarray:
        """Return the factors of the squared dissimilarities in each view, shape (V,)."""
        return self.weights / self.dispersions

    def cluster_costs(self, X: ViewMatrices) -> np.ndarray:
        """Return the costs of the c single clusters for n rows, shape (n, c)."""
        out = np.zeros((len(X), self.medoids.shape[1]))
        for D, factor, medoids in zip(
            X.matrices, self._factors(), self.medoids, strict=True
        ):
            out += factor * squares(D[:, medoids])
        return out

    def costs(self, X: ViewMatrices) -> np.ndarray:
        """Return the costs of the g nonempty sets for n rows, shape (n, g)."""
        averages = self.step.averages
        inside = (
            np.einsum("jk,kl,jl->j", averages, self.squared_medoid_distances, averages)
            / 2
        )
        return np.maximum(self.cluster_costs(X) @ averages.T - inside, 0.0)

    def masses(self, X: ViewMatrices, apply: Apply) -> np.ndarray:
        """Return the masses of n rows, shape (n, f), given their dissimilarities."""
        return self.step.masses(self.costs(X), np.empty(0), apply)[1].astype(
            X.dtype, copy=False
        )

    def dissimilarities(self, X: ViewMatrices) -> np.ndarray:
        """Return the weighted dissimilarities from n rows to N training rows, shape (n, N)."""
        return np.sqrt(weighted_squares(X.matrices, self._factors()))

    def evidence(self, X: ViewMatrices, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: minus the squared dissimilarities."""
        distinct = [np.unique(medoids, return_inverse=True) for medoids in self.medoids]
        views = np.repeat(
            np.arange(len(distinct)), [len(objects) for objects, _ in distinct]
        )
        positions = np.concatenate([objects for objects, _ in distinct])
        near = [
            float(X.matrices[v][0, j]) for v, j in zip(views, positions, strict=True)
        ]
        costs = np.array(near) ** 2 / self.dispersions[views]
        n_clusters = self.medoids.shape[1]
        coefficients = np.zeros((len(positions), n_clusters))
        start = 0
        for weight, (objects, which) in zip(self.weights, distinct, strict=True):
            coefficients[start + which, np.arange(n_clusters)] = weight
            start += len(objects)
        quantity = "minus the weighted squared dissimilarity to the medoids"
        return ClusterEvidence(
            quantity,
            -costs @ coefficients,
            None,
            positions,
            coefficients,
            costs,
            views=views,
        )


class MedoidViewMethod(BaseViewMethod[MedoidViewModel]):
    """Algorithm for dissimilarities, which updates masses, medoids and view weights in turn."""

    def __init__(self, params: Any, sample: Sample[ViewMatrices], request: FitRequest):
        super().__init__(params, sample, request)
        self.weights = (
            np.ones(len(self.values)) if sample.weights is None else sample.weights
        )
        self.total = float(self.weights.sum())
        share = self.weights / self.total
        dispersions = np.array(
            [_mean_square(D, share) / 2 for D in self.values.matrices]
        )
        varies = dispersions > 0
        self.dispersions = np.where(varies, dispersions, 1.0)
        sums = [weighted_sums(D, share[:, None])[0] / unit for D, unit in self._views()]
        order = np.argsort(np.sum(sums, axis=0), kind="stable")
        self.positions, self.sample_weights = sampling.sample_in_order(
            order, self.weights, _SAMPLE_SIZE, self.rng
        )
        self._check_distinct_objects()
        subset = spread_positions(len(self.positions))
        which = self.positions[subset]
        variances = [
            gram_spectrum(squares(D[np.ix_(which, which)]), self.sample_weights[subset])
            for D in self.values.matrices
        ]
        self._set_weight_rule(variances, varies)

    def _count_dimensions(self) -> float:
        """Return the sum of the intrinsic dimensions of the views, estimated from some rows."""
        matrices = self.values.matrices
        n = len(self.values)
        share = np.full((n, 1), 1 / n)
        sums = np.sum([weighted_sums(D, share)[0] for D in matrices], axis=0)
        which = np.argsort(sums, kind="stable")[spread_positions(n)]
        pairs = np.ix_(which, which)
        return float(sum(intrinsic_dimension(D[pairs].astype(float)) for D in matrices))

    def _check_distinct_objects(self) -> None:
        if _count_distinct(self.values, self.positions) < self.n_clusters:
            distinct = _count_distinct(self.values, np.flatnonzero(self.weights > 0))
            if distinct < self.n_clusters:
                raise _starts.too_few_objects_error(
                    self.n_clusters, distinct, self.weights
                )

    def _views(self) -> Iterable[tuple[np.ndarray, float]]:
        return zip(self.values.matrices, self.dispersions, strict=True)

    @cached_property
    def _sample_squares(self) -> np.ndarray:
        """Squared dissimilarities between the sampled rows, with the initial view weights."""
        pairs = np.ix_(self.positions, self.positions)
        factors = self.rule.first / self.dispersions
        return weighted_squares([D[pairs] for D in self.values.matrices], factors)

    @cached_property
    def _initial_medoids(self) -> list[np.ndarray]:
        """Initial medoids of each start, as positions in the sample."""
        n_init = self.params.n_init
        c = self.n_clusters
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if self.params.init == "random":
            n = len(self.positions)
            chances = self.sample_weights / self.sample_weights.sum()
            return [rng.choice(n, c, replace=False, p=chances) for _ in range(n_init)]
        return medoid_starts(self._sample_squares, c, n_init, rng, self.sample_weights)

    @property
    def delta(self) -> float:
        if self._delta is None:
            nearest = np.sqrt(
                self._sample_squares[self._initial_medoids[0]].min(axis=0)
            )
            self._delta = _starts.outlier_distance(nearest, self.sample_weights)
        return self._delta

    def _model(self, family: FocalSets, medoids: np.ndarray) -> MedoidViewModel:
        """Return an initial model with the same medoids in all views."""
        first = self.rule.first
        step = self._mass_step(family)
        between = [
            squares(D[np.ix_(medoids, medoids)]) / unit for D, unit in self._views()
        ]
        return MedoidViewModel(
            step,
            self.dispersions,
            np.tile(medoids, (len(first), 1)),
            np.stack(between),
            first,
            np.ones(len(first)),
        )

    def draw_starts(self, family: FocalSets) -> list[MedoidViewModel]:
        if not isinstance(self.init, str):
            return [self._user_start(family, self.init)]
        return [
            self._model(family, self.positions[which])
            for which in self._initial_medoids
        ]

    def _user_start(
        self, family: FocalSets, init: ArrayLike | CredalPartition
    ) -> MedoidViewModel:
        n = len(self.values)
        c = self.n_clusters
        if not isinstance(init, CredalPartition):
            return self._model(family, _starts.validate_positions(init, n, c))
        _starts.check_partition(init, n, c)
        powers = project_masses(init.masses, init.focal_sets, family) ** self.beta
        model = self._model(family, self.positions[:c])
        return replace(
            self._update(model, powers * self.weights[:, None]), weights=self.rule.first
        )

    def run_start(self, start: MedoidViewModel) -> Run[MedoidViewModel]:
        """Run iterations from an initial model until the objective converges.

        Because negative costs of sets are replaced by zero, new medoids may increase the objective.
        In this case, the run ends with the previous medoids.
        """
        run = Run(start)
        following = start
        for _ in range(self.params.max_iter):
            objective, after = self._step(following)
            change = run.objective - objective if run.history else np.inf
            run.converged = bool(change <= self.params.tol * abs(objective))
            if change < -_RISE * abs(objective):
                break
            run.model = following
            following = after
            run.history.append(objective)
            if run.converged:
                break
        return run

    def _step(self, model: MedoidViewModel) -> tuple[float, MedoidViewModel]:
        """Return the objective of a model, and the model after one iteration."""
        costs = model.costs(self.values)
        objective, masses, _ = model.step.nonempty_masses(
            costs, self.weights, self.apply
        )
        powers = masses**self.beta * self.weights[:, None]
        penalty = self.total * self.rule.penalty(model.weights)
        return objective + penalty, self._update(model, powers)

    def _update(self, model: MedoidViewModel, powers: np.ndarray) -> MedoidViewModel:
        """Optimize one medoid after the other for fixed masses, then the view weights."""
        factor = model.step.kernel_arguments()[0]
        averages = model.step.averages
        pull = powers @ (factor[:, None] * averages)
        shared = (averages.T * (factor * powers.sum(axis=0))) @ averages
        np.fill_diagonal(shared, 0.0)
        medoids = model.medoids.copy()
        between = np.empty_like(model.between)
        dispersion = np.empty(len(model.weights))
        for v, (D, unit) in enumerate(self._views()):
            totals = weighted_sums(D, pull) / unit
            own = medoids[v]
            self._move_medoids(own, D, unit, totals, shared)
            between[v] = squares(D[np.ix_(own, own)]) / unit
            to_medoids = totals[np.arange(len(own)), own].sum()
            dispersion[v] = to_medoids - (shared * between[v]).sum() / 2
        dispersion = np.maximum(dispersion, 0.0) / self.total
        weights = self.rule.best_weights(dispersion)
        return replace(
            model,
            medoids=medoids,
            between=between,
            weights=weights,
            dispersion=dispersion,
        )

    def _move_medoids(
        self,
        medoids: np.ndarray,
        D: np.ndarray,
        unit: float,
        totals: np.ndarray,
        shared: np.ndarray,
    ) -> None:
        """Replace the medoids of one view in place.

        ``totals`` contains the cost of each of the n rows as the medoid of each cluster, shape (c,
        n). ``shared`` contains, for each pair of clusters, the weighted mass on sets that include
        both clusters. The cost of such sets decreases as the distance between the two medoids
        increases.
        """
        excluded = np.where(self.weights > 0, 0.0, np.inf)
        for k in range(len(medoids)):
            others = np.flatnonzero(shared[k])
            gain = shared[k, others] @ (squares(D[medoids[others]]) / unit)
            scores = totals[k] - gain + excluded
            best = int(scores.argmin())
            if scores[best] < scores[medoids[k]]:  # An empty cluster keeps its medoid.
                medoids[k] = best

    def extend(
        self, run: Run[MedoidViewModel], family: FocalSets
    ) -> Run[MedoidViewModel]:
        return self.run_start(replace(run.model, step=self._mass_step(family)))

    def add_neighbor_pairs(self, run: Run[MedoidViewModel]) -> Run[MedoidViewModel]:
        model = run.model
        costs = model.cluster_costs(self.values)
        if self._delta is None:
            nearest = np.sqrt(costs.min(axis=1))
            self._delta = _starts.outlier_distance(nearest, self.weights)
        family = neighbor_family(count_boundaries(costs, self.weights))
        return replace(run, model=replace(model, step=self._mass_step(family)))


def squares(D: np.ndarray) -> np.ndarray:
    """Return squared dissimilarities in double precision."""
    return np.square(D, dtype=float)


def weighted_squares(matrices: list[np.ndarray], factors: np.ndarray) -> np.ndarray:
    """Return the weighted sum of squared dissimilarities over the views."""
    total = np.zeros(matrices[0].shape)
    for D, factor in zip(matrices, factors, strict=True):
        total += factor * squares(D)
    return total


def joined_dissimilarities(X: ViewMatrices) -> np.ndarray:
    """Return the dissimilarities over all views with equal weights, shape (n, n)."""
    total = np.zeros((len(X), len(X)))
    for D in X.matrices:
        squared = squares(D)
        total += squared / (squared.mean() or 1.0)
    return np.sqrt(total)


def spread_positions(n: int) -> np.ndarray:
    """Return at most 500 positions, evenly spaced among n."""
    return np.unique(np.linspace(0, n - 1, _SPECTRUM_SIZE).astype(int))


def gram_spectrum(squared: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the variances along the principal axes (Torgerson, 1958)."""
    share = weights / weights.sum()
    rows = squared @ share
    gram = (rows[:, None] + rows - squared - share @ rows) / 2
    roots = np.sqrt(share)
    return np.maximum(np.linalg.eigvalsh(gram * roots[:, None] * roots), 0.0)


def weighted_sums(D: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return sum_i weights[i, k] D[i, j]^2 in row k and column j, shape (c, n)."""
    out = np.empty((weights.shape[1], len(D)))
    for start, stop in row_blocks(len(D), max(1, MAX_BLOCK_CELLS // len(D)), most=None):
        out[:, start:stop] = (squares(D[start:stop]) @ weights).T
    return out


def _mean_square(D: np.ndarray, share: np.ndarray) -> float:
    return float(
        sum(share[a:b] @ squares(D[a:b]) @ share for a, b in row_blocks(len(D)))
    )


def _count_distinct(X: ViewMatrices, which: np.ndarray) -> int:
    """Count the rows in ``which`` that differ from all previous rows in at least one view."""
    equal = np.ones((len(which), len(which)), dtype=bool)
    for D in X.matrices:
        equal &= D[np.ix_(which, which)] <= 0
    return len(which) - int(np.tril(equal, -1).any(axis=1).sum())
