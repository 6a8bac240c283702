"""Medoids in several matrices of dissimilarities at once, and how they and the weights of the views descend.

Dissimilarities are squared and divided by the dispersion of their view. The cost of a set of clusters for an object is
the one that the barycentre of the medoids would have in a Euclidean space: the mean of the costs of its clusters, less
half the mean cost between their medoids (zero where this is negative).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._mass_step import MassStep, carried_masses
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._scales import outlier_distance
from dempster.cluster._search import MassModel, Method, Sample
from dempster.cluster._starts import too_few
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.views._input import ViewMatrices
from dempster.cluster.views._settings import ViewSettings, all_on_one_view
from dempster.cluster.views._weights import (
    WeightRule,
    fixed_weights,
    gram_spectrum,
    learnt_weights,
    shapeless_dispersion,
)
from dempster.dissimilarity.dimension import intrinsic_dimension
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

__all__ = ["MedoidViewModel", "MedoidViewMethod", "joined_dissimilarities", "dimension_of"]

_ZERO = 1e-12  # an object lies on a medoid up to this cost; the dispersion of every view is 1
_SAMPLE_SIZE = 2_000  # objects among which first medoids are looked for
_SPECTRUM_SIZE = 500  # objects that tell how shapeless a view is, and its dimension
_CELLS = 4_000_000  # dissimilarities squared at once
_ROUNDING = 1e-12  # by which an objective may rise


@dataclass(frozen=True)
class MedoidViewModel:
    """Medoids and weights of the views, with everything needed to turn an object into masses.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    dispersions : (V,) array
        Squared dissimilarities are divided by these.
    medoids : (V, c) int array
        Position of the object that stands for each cluster in each view.
    between : (V, c, c) array
        Squared dissimilarities between them, divided already.
    weights : (V,) array
        Of the views.
    dispersion : (V,) array
        What is left of the dispersion of each view within the clusters, as the weights saw it last.
    """

    step: MassStep
    dispersions: np.ndarray
    medoids: np.ndarray
    between: np.ndarray
    weights: np.ndarray
    dispersion: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.step.family

    @property
    def distances_of_medoids(self) -> np.ndarray:
        """(c, c) squared dissimilarities between the clusters, over all views."""
        return np.einsum("v,vkl->kl", self.weights, self.between)

    def near(self, X: ViewMatrices) -> np.ndarray:
        """(n, c) costs of the single clusters."""
        out = np.zeros((len(X), self.medoids.shape[1]))
        for D, factor, medoids in zip(X.matrices, self.weights / self.dispersions, self.medoids, strict=True):
            out += factor * np.square(D[:, medoids], dtype=float)
        return out

    def costs(self, X: ViewMatrices) -> np.ndarray:
        """(n, g) costs of the nonempty sets."""
        averages = self.step.averages
        inside = np.einsum("jk,kl,jl->j", averages, self.distances_of_medoids, averages) / 2
        return np.maximum(self.near(X) @ averages.T - inside, 0.0)

    def masses(self, X: ViewMatrices, apply: Apply) -> np.ndarray:
        """(n, f) masses of objects, by their dissimilarities to those of the fit."""
        return self.step.masses(self.costs(X), np.empty(0), apply)[1].astype(X.dtype, copy=False)

    def dissimilarities(self, X: ViewMatrices) -> np.ndarray:
        """(n, N) dissimilarities of objects to those of the fit over all views, as much as each of these counts."""
        total = np.zeros(X.matrices[0].shape)
        for D, factor in zip(X.matrices, self.weights / self.dispersions, strict=True):
            total += factor * np.square(D, dtype=float)
        return np.sqrt(total)

    def evidence(self, X: ViewMatrices, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer its medoid is in each view, the more; an object that stands for
        clusters in several views is compared with in each."""
        n_clusters = self.medoids.shape[1]
        found = [np.unique(medoids, return_inverse=True) for medoids in self.medoids]
        views = np.repeat(np.arange(len(found)), [len(objects) for objects, _ in found])
        positions = np.concatenate([objects for objects, _ in found])
        costs = np.array([float(X.matrices[v][0, j]) for v, j in zip(views, positions, strict=True)]) ** 2
        costs /= self.dispersions[views]
        coefficients = np.zeros((len(positions), n_clusters))
        start = 0
        for weight, (objects, which) in zip(self.weights, found, strict=True):
            coefficients[start + which, np.arange(n_clusters)] = weight
            start += len(objects)
        words = "minus the weighted squared dissimilarity to the medoids"
        return ClusterEvidence(words, -costs @ coefficients, None, positions, coefficients, costs, views=views)


class MedoidViewMethod(Method[MedoidViewModel, MedoidViewModel]):
    """Masses, medoids and weights of views by turns."""

    def __init__(self, settings: ViewSettings, sample: Sample[ViewMatrices], rng: np.random.RandomState, apply: Apply):
        self.settings, self.values, self.rng, self.apply = settings, sample.values, rng, apply
        n = len(self.values)
        self.weights = np.ones(n) if sample.weights is None else sample.weights
        self.total = float(self.weights.sum())
        share = self.weights / self.total
        dispersions = np.array([_quadratic(D, share) / 2 for D in self.values.matrices])
        self.varies = dispersions > 0
        self.dispersions = np.where(self.varies, dispersions, 1.0)
        sums = np.sum([_weighted_sums(D, share[:, None])[0] / s for D, s in self._views()], axis=0)
        order = np.argsort(sums, kind="stable")
        self.positions, self.sample_weights = _starts.sample_in_order(order, self.weights, _SAMPLE_SIZE, rng)
        self._check_different_objects()
        self.shapeless = self._shapeless_dispersions()
        self.rule = self._weight_rule()
        self._delta = settings.delta

    def _views(self) -> Iterable[tuple[np.ndarray, float]]:
        """Matrices and their dispersions."""
        return zip(self.values.matrices, self.dispersions, strict=True)

    def _shapeless_dispersions(self) -> np.ndarray:
        some = np.unique(np.linspace(0, len(self.positions) - 1, _SPECTRUM_SIZE).astype(int))
        which, weights, c = self.positions[some], self.sample_weights[some], self.settings.n_clusters
        spectra = (
            gram_spectrum(np.square(D[np.ix_(which, which)], dtype=float), weights) for D in self.values.matrices
        )
        return np.array([shapeless_dispersion(variances, c) for variances in spectra])

    def _weight_rule(self) -> WeightRule:
        s = self.settings
        if s.view_weights is not None:
            return fixed_weights(s.view_weights)
        return learnt_weights(self.shapeless, self.varies, s.evenness)

    def _check_different_objects(self) -> None:
        """As many different objects as clusters are needed; the sample is looked at first."""
        c = self.settings.n_clusters
        if _number_of_different(self.values, self.positions) >= c:
            return
        different = _number_of_different(self.values, np.flatnonzero(self.weights > 0))
        if different < c:
            raise too_few(c, different, self.weights)

    @cached_property
    def _sample_squares(self) -> np.ndarray:
        """Squared dissimilarities in the sample, where all views count alike."""
        place = np.ix_(self.positions, self.positions)
        factors = self.rule.first / self.dispersions
        parts = zip(self.values.matrices, factors, strict=True)
        return np.asarray(sum(factor * np.square(D[place], dtype=float) for D, factor in parts))

    @cached_property
    def _drawn_medoids(self) -> list[np.ndarray]:
        """Positions in the sample, drawn along an order that has nothing to do with the rows."""
        s = self.settings
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if s.init == "random":
            chances = self.sample_weights / self.sample_weights.sum()
            return [rng.choice(len(self.positions), s.n_clusters, replace=False, p=chances) for _ in range(s.n_init)]
        return medoid_starts(self._sample_squares, s.n_clusters, s.n_init, rng, self.sample_weights)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta is None:
            nearest = np.sqrt(self._sample_squares[self._drawn_medoids[0]].min(axis=0))
            self._delta = outlier_distance(nearest, self.sample_weights)
        return self._delta

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        return MassStep(family, self.settings.alpha, self.settings.beta, delta2, _ZERO)

    def _model(self, family: FocalSets, medoids: np.ndarray) -> MedoidViewModel:
        first = self.rule.first
        step, between = self._mass_step(family), self._between(medoids)
        return MedoidViewModel(step, self.dispersions, medoids, between, first, np.ones(len(first)))

    def _between(self, medoids: np.ndarray) -> np.ndarray:
        return np.stack(
            [np.square(D[np.ix_(m, m)], dtype=float) / s for (D, s), m in zip(self._views(), medoids, strict=True)]
        )

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> MedoidViewModel | None:
        init = self.settings.init
        if isinstance(init, str):
            return None
        n, c, n_views = len(self.values), self.settings.n_clusters, len(self.dispersions)
        if not isinstance(init, CredalPartition):
            return self._model(family, np.tile(_starts.checked_positions(init, n, c), (n_views, 1)))
        _starts.check_partition(init, n, c)
        blank = self._model(family, np.tile(self.positions[:c], (n_views, 1)))
        powers = carried_masses(init.masses, init.focal_sets, family) ** self.settings.beta
        return replace(self._updated(blank, powers * self.weights[:, None]), weights=self.rule.first)

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[MedoidViewModel], int]:
        drawn, n_views = self._drawn_medoids, len(self.dispersions)
        starts = (self._model(family, np.tile(self.positions[chosen], (n_views, 1))) for chosen in drawn)
        return starts, len(drawn)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def descend(self, start: MedoidViewModel) -> Run[MedoidViewModel]:
        """Until the objective stays. Where costs of sets were cut off at zero the next medoids might make it rise: then
        those before are the end."""
        run = Run(start)
        following = start
        for _ in range(self.settings.max_iter):
            objective, after = self._step(following)
            change = run.objective - objective if run.history else np.inf
            if change < -_ROUNDING * abs(objective):
                run.converged = True
                break
            run.model, following = following, after
            run.history.append(objective)
            if change <= self.settings.tol * abs(objective):
                run.converged = True
                break
        return run

    def _step(self, model: MedoidViewModel) -> tuple[float, MedoidViewModel]:
        """One iteration: the objective of a model, and the next model."""
        objective, masses, _ = model.step.nonempty_masses(model.costs(self.values), self.weights, self.apply)
        powers = masses**self.settings.beta * self.weights[:, None]
        return objective + self.total * self.rule.penalty(model.weights), self._updated(model, powers)

    def _updated(self, model: MedoidViewModel, powers: np.ndarray) -> MedoidViewModel:
        """The medoids, one after the other, that minimise the objective given the masses; then the weights."""
        factor, averages = model.step.kernel_arguments()[0], model.step.averages
        pull = powers @ (factor[:, None] * averages)
        shared = (averages.T * (factor * powers.sum(axis=0))) @ averages
        np.fill_diagonal(shared, 0.0)
        medoids, dispersion = model.medoids.copy(), np.empty(len(model.weights))
        for v, (D, unit) in enumerate(self._views()):
            totals = _weighted_sums(D, pull) / unit
            dispersion[v] = self._move(medoids[v], D, unit, totals, shared)
        dispersion = np.maximum(dispersion, 0.0) / self.total
        between, weights = self._between(medoids), self.rule.best(dispersion)
        return replace(model, medoids=medoids, between=between, weights=weights, dispersion=dispersion)

    def _move(self, medoids: np.ndarray, D: np.ndarray, unit: float, totals: np.ndarray, shared: np.ndarray) -> float:
        """Move the medoids of one view, in place; returns the dispersion that is left.

        ``totals`` are the (c, n) costs of every object as the medoid of every cluster, ``shared`` the (c, c) masses on
        sets of two clusters, for which medoids that are far from each other count less.
        """
        free = np.where(self.weights > 0, 0.0, np.inf)
        for k in range(len(medoids)):
            others = np.flatnonzero(shared[k])
            gain = shared[k, others] @ (np.square(D[medoids[others]], dtype=float) / unit)
            scores = totals[k] - gain + free
            best = int(scores.argmin())
            if scores[best] < scores[medoids[k]]:  # a cluster without objects stays where it is
                medoids[k] = best
        apart = np.square(D[np.ix_(medoids, medoids)], dtype=float) / unit
        return float(totals[np.arange(len(medoids)), medoids].sum() - (shared * apart).sum() / 2)

    def extended(self, run: Run[MedoidViewModel], family: FocalSets) -> Run[MedoidViewModel]:
        return self.descend(replace(run.model, step=self._mass_step(family)))

    def with_neighbors(self, run: Run[MedoidViewModel]) -> Run[MedoidViewModel]:
        model = run.model
        if self._delta is None:
            self._delta = outlier_distance(np.sqrt(model.near(self.values).min(axis=1)), self.weights)
        step = self._mass_step(FocalSets.neighbors(squared_distances=model.distances_of_medoids))
        return Run(replace(model, step=step), run.history, run.converged)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[MedoidViewModel]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.values, self.apply), run.model.family)

    def result(self, run: Run[MedoidViewModel]) -> tuple[MedoidViewModel, np.ndarray]:
        return run.model, run.model.masses(self.values, self.apply)

    def remarks(self, model: MassModel[ViewMatrices]) -> list[str]:
        assert isinstance(model, MedoidViewModel)
        return all_on_one_view(model.weights, self.rule, self.settings)


def joined_dissimilarities(X: ViewMatrices) -> np.ndarray:
    """(n, n) dissimilarities over all views, which count alike."""
    total = np.zeros((len(X), len(X)))
    for D in X.matrices:
        squares = np.square(D, dtype=float)
        total += squares / (squares.mean() or 1.0)
    return np.sqrt(total)


def dimension_of(X: ViewMatrices) -> float:
    """Sum of the intrinsic dimensions of the views; of many objects some are looked at, in an order of their own."""
    everyone = np.full((len(X), 1), 1 / len(X))
    order = np.argsort(np.sum([_weighted_sums(D, everyone)[0] for D in X.matrices], axis=0), kind="stable")
    some = order[np.unique(np.linspace(0, len(X) - 1, _SPECTRUM_SIZE).astype(int))]
    return float(sum(intrinsic_dimension(D[np.ix_(some, some)].astype(float)) for D in X.matrices))


def _weighted_sums(D: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(c, n) sums over objects i of weights[i, k] d(i, o)^2, in blocks of candidates o."""
    out = np.empty((weights.shape[1], len(D)))
    for start, stop in row_blocks(len(D), max(1, _CELLS // len(D)), most=None):
        out[:, start:stop] = (np.square(D[start:stop], dtype=float) @ weights).T
    return out


def _quadratic(D: np.ndarray, share: np.ndarray) -> float:
    """Mean squared dissimilarity of two objects that are drawn by their shares."""
    return float(sum(share[a:b] @ np.square(D[a:b], dtype=float) @ share for a, b in row_blocks(len(D))))


def _number_of_different(X: ViewMatrices, which: np.ndarray) -> int:
    """How many of these objects have no twin, in all views, before them."""
    twins = np.ones((len(which), len(which)), dtype=bool)
    for D in X.matrices:
        twins &= D[np.ix_(which, which)] <= 0
    return len(which) - int(np.tril(twins, -1).any(axis=1).sum())
