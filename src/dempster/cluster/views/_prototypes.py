"""Prototypes in several tables at once, and how they and the weights of the views descend."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add

import numpy as np
from scipy.spatial.distance import cdist

from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._mass_step import MassStep, carried_masses
from dempster.cluster._scales import distances_to_centers, isolated, outlier_distance
from dempster.cluster._search import MassModel, Method, Sample
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.views._kernels import Comparison
from dempster.cluster.views._settings import ViewSettings, all_on_one_view
from dempster.cluster.views._weights import (
    WeightRule,
    fixed_weights,
    learnt_weights,
    shapeless_dispersion,
    spectrum,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend
from dempster.optimize.normal_equations import solve_normal_equations
from dempster.partition import CredalPartition

__all__ = ["Coordinates", "ViewModel", "ViewMethod"]

_ZERO = 1e-12  # an object lies on a prototype up to this cost; the dispersion of every view is 1
_ROUNDING = 1e-28  # of the squares of a view: a dispersion below is that of a view that does not vary


@dataclass(frozen=True)
class Coordinates:
    """How attributes are made comparable: every view has its mean at the origin, and a total dispersion of 1.

    Attributes
    ----------
    view : (p,) int array
        To which view each attribute belongs.
    origin : (p,) array
    unit : (V,) array
        Root mean squared distance to the mean, in units of the view; 1 if the view does not vary.
    varies : (V,) array of bool
    """

    view: np.ndarray
    origin: np.ndarray
    unit: np.ndarray
    varies: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, view: np.ndarray, weights: np.ndarray) -> Coordinates:
        origin = _starts.mean_of_objects(X, weights)
        shares = np.full(len(X), 1 / len(X)) if len(weights) == 0 else weights / weights.sum()
        squares = np.zeros(X.shape[1])
        for start, stop in row_blocks(len(X)):
            squares += shares[start:stop] @ np.square(X[start:stop] - origin)
        dispersion = np.bincount(view, squares)
        varies = dispersion > _ROUNDING * np.bincount(view, origin**2)
        return cls(view, origin, np.where(varies, np.sqrt(dispersion), 1.0), varies)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The objects in these coordinates, in double precision."""
        return (X - self.origin) / self.unit[self.view]

    def inverse(self, Z: np.ndarray) -> np.ndarray:
        return Z * self.unit[self.view] + self.origin


@dataclass(frozen=True)
class ViewModel:
    """Prototypes and weights of the views, with everything needed to turn an object into masses.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    coordinates : Coordinates
    centers : (c, p) array
        In these coordinates.
    weights : (V,) array
        Of the views.
    dispersion : (V,) array
        What is left of the dispersion of each view within the clusters, as the weights saw it last.
    """

    step: MassStep
    coordinates: Coordinates
    centers: np.ndarray
    weights: np.ndarray
    dispersion: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.step.family

    @property
    def roots(self) -> np.ndarray:
        """(p,) what attributes are multiplied by so that Euclidean distances are those of the method."""
        return np.sqrt(self.weights)[self.coordinates.view]

    def masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of the rows of X, in the units of the fit."""
        out = np.zeros((len(X), len(self.family)))
        comparison = Comparison.of(self.step, self.centers, self.roots)

        def write(start: int, stop: int) -> None:
            comparison.write_masses(self.coordinates(X[start:stop]), out[start:stop])

        apply(write, row_blocks(len(X)))
        return out.astype(X.dtype, copy=False)

    def placed(self, X: np.ndarray) -> np.ndarray:
        """Points of a space in which Euclidean distances are those of the method."""
        return self.coordinates(X) * self.roots

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer its prototype, in each attribute, the more; views that count much
        say much."""
        parts = -np.square(self.placed(X)[0] - self.centers * self.roots).T
        return ClusterEvidence.of_attributes("minus the weighted squared distance to the center", parts)

    def sums(self, Z: np.ndarray, weights: np.ndarray, apply: Apply) -> Sums:
        """One pass over objects in the coordinates of the model: the objective, and what the updates need."""
        comparison, factor = Comparison.of(self.step, self.centers, self.roots), self.step.kernel_arguments()[0]

        def block(start: int, stop: int) -> Sums:
            part = Z[start:stop]
            objective, powers = comparison.powers(part, weights[start:stop] if len(weights) else weights)
            squares = np.einsum("i,id,id->d", powers @ factor, part, part)
            return Sums(objective, powers.sum(axis=0), powers.T @ part, squares)

        return reduce(add, apply(block, row_blocks(len(Z))))

    def updated(self, sums: Sums, rule: WeightRule, total: float) -> ViewModel:
        """The prototypes that minimise the objective given the masses, then the weights given both."""
        centers = self.best_centers(sums.total, sums.first)
        factor, middle = self.step.kernel_arguments()[0], self.step.averages @ centers
        squares = sums.squares + factor @ (sums.total[:, None] * middle**2 - 2 * middle * sums.first)
        n_views = len(self.weights)
        dispersion = np.bincount(self.coordinates.view, np.maximum(squares, 0.0), minlength=n_views) / total
        return replace(self, centers=centers, weights=rule.best(dispersion), dispersion=dispersion)

    def best_centers(self, total: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Solve H V = R (Masson and Denoeux, 2008, eq. 22): the same in all views, whatever their weights."""
        sets, alpha = self.step.sets, self.step.alpha
        size = sets.sum(axis=1)
        H = (sets.T * size ** (alpha - 2) * total) @ sets
        return solve_normal_equations(H, (sets.T * size ** (alpha - 1)) @ first)

    def squared_distances(self, Z: np.ndarray) -> np.ndarray:
        """(n, c) weighted squared distances of objects, in the coordinates of the model, to the prototypes."""
        return cdist(Z * self.roots, self.centers * self.roots, "sqeuclidean")


@dataclass(frozen=True)
class Sums:
    """Sums over objects, which can be added over blocks of data.

    Attributes
    ----------
    objective : float
    total : (g,) sum of m^beta for each nonempty set
    first : (g, p) sum of m^beta x
    squares : (p,) sum of |A|^alpha m^beta x^2 over objects and sets
    """

    objective: float
    total: np.ndarray
    first: np.ndarray
    squares: np.ndarray

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.objective + other.objective,
            self.total + other.total,
            self.first + other.first,
            self.squares + other.squares,
        )


class ViewMethod(Method[ViewModel, ViewModel]):
    """Masses, prototypes and weights of views by turns."""

    def __init__(
        self,
        settings: ViewSettings,
        sample: Sample[np.ndarray],
        view: np.ndarray,
        rng: np.random.RandomState,
        apply: Apply,
    ):
        self.settings, self.values, self.weights = settings, sample.values, sample.kernel_weights
        self.rng, self.apply = rng, apply
        self.coordinates = Coordinates.of(self.values, view, self.weights)
        self.data = self.coordinates(self.values)
        self.sample, self.sample_weights = _starts.representative_sample(self.data, self.weights, rng)
        _starts.check_different_objects(self.data, self.sample, settings.n_clusters, sample.weights)
        self.shapeless = np.array(
            [
                shapeless_dispersion(spectrum(self.sample[:, view == v], self.sample_weights), settings.n_clusters)
                for v in range(len(settings.view_names))
            ]
        )
        self.rule = self._weight_rule()
        self._delta = settings.delta

    def _weight_rule(self) -> WeightRule:
        s = self.settings
        if s.view_weights is not None:
            return fixed_weights(s.view_weights)
        return learnt_weights(self.shapeless, self.coordinates.varies, s.evenness)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta is None:
            squares, which = distances_to_centers(
                self.sample * self._first_roots, self.sample_weights, self.settings.n_clusters, self.rng
            )
            self._delta = outlier_distance(np.sqrt(squares), self.sample_weights[which])
        return self._delta

    @property
    def _first_roots(self) -> np.ndarray:
        return np.sqrt(self.rule.first)[self.coordinates.view]

    def _model(self, family: FocalSets, centers: np.ndarray) -> ViewModel:
        first = self.rule.first
        return ViewModel(self._mass_step(family), self.coordinates, centers, first, np.ones(len(first)))

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        return MassStep(family, self.settings.alpha, self.settings.beta, delta2, _ZERO)

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> ViewModel | None:
        init = self.settings.init
        return None if isinstance(init, str) else self._model(family, self._given_centers(init, family))

    def _given_centers(self, init: ArrayLike | CredalPartition, family: FocalSets) -> np.ndarray:
        c, p = self.settings.n_clusters, self.data.shape[1]
        if not isinstance(init, CredalPartition):
            return self.coordinates(_starts.checked_centers(init, (c, p)))
        _starts.check_partition(init, len(self.data), c)
        blank = self._model(family, np.zeros((c, p)))
        powers = carried_masses(init.masses, init.focal_sets, family) ** self.settings.beta
        powers *= self.weights[:, None] if len(self.weights) else 1.0
        return blank.best_centers(powers.sum(axis=0), powers.T @ self.data)

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[ViewModel], int]:
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.settings.n_init)
        return (self._drawn(family, np.random.RandomState(seed)) for seed in seeds), len(seeds)

    def _drawn(self, family: FocalSets, rng: np.random.RandomState) -> ViewModel:
        """First prototypes far from each other where all views count alike."""
        roots, init = self._first_roots, self.settings.init
        assert isinstance(init, str)
        weights = self.sample_weights if family.empty_index is not None else self._crowded_weights
        drawn = _starts.first_centers(self.sample * roots, weights, self.settings.n_clusters, init, rng)
        return self._model(family, drawn / np.where(roots > 0, roots, 1.0))

    @cached_property
    def _crowded_weights(self) -> np.ndarray:
        """Weights of the sample, zero for isolated objects, on which prototypes would stay where there is no empty set
        to take them."""
        weights = np.where(isolated(self.sample * self._first_roots), 0.0, self.sample_weights)
        enough = len(np.unique(self.sample[weights > 0], axis=0)) >= self.settings.n_clusters
        return weights if enough else self.sample_weights

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: ViewModel) -> Run[ViewModel]:
        return self._run(start, self.sample, self.sample_weights)

    def completed(self, best: Run[ViewModel]) -> Run[ViewModel]:
        return best if _starts.holds_all(self.sample, self.data, self.weights) else self.descend(best.model)

    def descend(self, start: ViewModel) -> Run[ViewModel]:
        return self._run(start, self.data, self.weights)

    def extended(self, run: Run[ViewModel], family: FocalSets) -> Run[ViewModel]:
        return self.descend(replace(run.model, step=self._mass_step(family)))

    def with_neighbors(self, run: Run[ViewModel]) -> Run[ViewModel]:
        model = run.model
        if self._delta is None:
            squares = model.squared_distances(self.sample).min(axis=1)
            self._delta = outlier_distance(np.sqrt(squares), self.sample_weights)
        step = self._mass_step(FocalSets.neighbors(model.centers * model.roots))
        return Run(replace(model, step=step), run.history, run.converged)

    def _run(self, start: ViewModel, data: np.ndarray, weights: np.ndarray) -> Run[ViewModel]:
        step = self._step(data, weights)
        return descend(step, start, max_iter=self.settings.max_iter, tol=self.settings.tol)

    def _step(self, data: np.ndarray, weights: np.ndarray) -> Callable[[ViewModel], tuple[float, ViewModel]]:
        """One iteration: the objective of a model, and the next model."""
        total = float(weights.sum()) if len(weights) else float(len(data))

        def step(model: ViewModel) -> tuple[float, ViewModel]:
            sums = model.sums(data, weights, self.apply)
            objective = sums.objective + total * self.rule.penalty(model.weights)
            return objective, model.updated(sums, self.rule, total)

        return step

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[ViewModel]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.values, self.apply), run.model.family)

    def result(self, run: Run[ViewModel]) -> tuple[ViewModel, np.ndarray]:
        return run.model, run.model.masses(self.values, self.apply)

    def remarks(self, model: MassModel[np.ndarray]) -> list[str]:
        assert isinstance(model, ViewModel)
        return all_on_one_view(model.weights, self.rule, self.settings)
