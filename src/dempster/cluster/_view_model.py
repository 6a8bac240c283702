"""Model and algorithm of `WMVEC`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Annotated, Any

import numpy as np
from scipy.spatial.distance import cdist

from dempster._native import kernel
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import FitRequest
from dempster.cluster._mass_step import MassMethod, StepModel, project_masses
from dempster.cluster._search import FitResult, Sample
from dempster.cluster._view_weights import WeightRule, shapeless_dispersion
from dempster.data import sampling
from dempster.data.rows import Rows
from dempster.optimize.blocks import Apply, Sums, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition
from dempster.posterior.evidence import ClusterEvidence

# Up to this number of features, variances along principal axes are computed from the covariance
# matrix. With more features, they are computed from a subset of this number of rows.
MAX_DENSE_FEATURES = 500
# A view is constant if its dispersion divided by its squared mean is at most this number.
_ROUNDING = 1e-28
_ONE_VIEW = 0.99  # A view with at least this weight causes a warning.

_view_powers = kernel("""view_powers(
    X: float64[n, p], weights: float64[n] or None, roots: float64[p], centers: float64[p, c],
    offsets: int64[o], members: int64[t] below c, inside: float64[g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    powers: float64[n, g] out) -> float""")
_view_masses = kernel("""view_masses(
    X: float64[n, p], roots: float64[p], centers: float64[p, c],
    offsets: int64[o], members: int64[t] below c, inside: float64[g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: float64[n, f] out)""")


@dataclass(frozen=True)
class Coordinates:
    """Standardized coordinates, in which every view has mean zero and total dispersion 1."""

    view: Annotated[np.ndarray, "p:int"]  # view of each attribute
    origin: Annotated[np.ndarray, "p"]  # mean of each attribute
    # root mean squared distance from the rows to their mean; 1 if the view is constant
    unit: Annotated[np.ndarray, "V"]
    varies: Annotated[np.ndarray, "V"]  # False for a constant view

    @classmethod
    def from_rows(
        cls, X: np.ndarray, view: np.ndarray, weights: np.ndarray
    ) -> Coordinates:
        """Compute the mean and the scale of a table.

        ``weights`` is empty if all rows have the same weight.
        """
        origin = sampling.mean_of_objects(X, weights)
        n = len(X)
        if len(weights) == 0:
            shares = np.full(n, 1 / n)
        else:
            shares = weights / weights.sum()
        squares = np.zeros(X.shape[1])
        for start, stop in row_blocks(n):
            squares += shares[start:stop] @ np.square(X[start:stop] - origin)
        dispersion = np.bincount(view, squares)
        squared_mean = np.bincount(view, origin**2)
        varies = dispersion > _ROUNDING * squared_mean
        unit = np.where(varies, np.sqrt(dispersion), 1.0)
        return cls(view, origin, unit, varies)

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.origin) / self.unit[self.view]

    def inverse_transform(self, Z: np.ndarray) -> np.ndarray:
        return Z * self.unit[self.view] + self.origin


@dataclass(frozen=True)
class ViewSums(Sums):
    """Weighted sums over the rows x with masses m, from which the model is updated."""

    objective: float
    total: np.ndarray  # (g,), sums of m(A)^beta for each nonempty set A
    first: np.ndarray  # (g, p), sums of m(A)^beta x
    # (p,), sums of |A|^alpha m(A)^beta x^2 over the rows and the sets
    squares: np.ndarray


@dataclass(frozen=True)
class ViewModel(StepModel):
    """Fitted model of `WMVEC`, with c prototypes and the weights of V views."""

    coordinates: Coordinates
    centers: Annotated[np.ndarray, "c p"]  # prototypes in standardized coordinates
    weights: Annotated[np.ndarray, "V"]  # weights of the views
    # shares of the dispersion within clusters, which determine the weights
    dispersion: Annotated[np.ndarray, "V"]

    @property
    def roots(self) -> np.ndarray:
        """Factors from standardized to weighted coordinates, shape (p,)."""
        return np.sqrt(self.weights)[self.coordinates.view]

    @property
    def weighted_centers(self) -> np.ndarray:
        return self.centers * self.roots

    def _kernel_arguments(self) -> tuple:
        step = self.step
        scaled = self.weighted_centers
        sizes = step.sets.sum(axis=1).astype(np.int64)
        offsets = np.append(0, np.cumsum(sizes))
        _, clusters = np.nonzero(step.sets)
        members = np.ascontiguousarray(clusters)
        barycenters = step.averages @ scaled
        mean_norm = step.averages @ np.square(scaled).sum(axis=1)
        norm_of_mean = np.square(barycenters).sum(axis=1)
        spread = mean_norm - norm_of_mean
        inside = np.where(sizes > 1, spread, 0.0)
        centers = np.ascontiguousarray(scaled.T)
        return self.roots, centers, offsets, members, inside, *step.kernel_arguments()

    def masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        """Return the masses of the n rows of X, shape (n, f)."""
        out = np.zeros((len(X), len(self.family)))
        arguments = self._kernel_arguments()

        def write(start: int, stop: int) -> None:
            Z = self.coordinates.transform(X[start:stop])
            _view_masses(Z, *arguments, *self.step.columns(), out[start:stop])

        apply(write, row_blocks(len(X)))
        return out.astype(X.dtype, copy=False)

    def placed(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of X in weighted coordinates, with Euclidean weighted distances."""
        return self.coordinates.transform(X) * self.roots

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: minus the weighted squared distance."""
        gaps = self.placed(X)[0] - self.weighted_centers
        quantity = "minus the weighted squared distance to the center"
        return ClusterEvidence.from_attributes(quantity, -np.square(gaps).T)

    def sums(self, Z: np.ndarray, weights: np.ndarray, apply: Apply) -> ViewSums:
        """Return the objective and the sums for the updates.

        The rows of Z are in standardized coordinates.
        """
        arguments = self._kernel_arguments()
        factor = self.step.kernel_arguments()[0]

        def sum_block(start: int, stop: int) -> ViewSums:
            part = Z[start:stop]
            row_weights = None
            if len(weights):
                row_weights = weights[start:stop]
            powers = np.empty((stop - start, len(self.step.sets)))
            objective = _view_powers(part, row_weights, *arguments, powers)
            squares = np.einsum("i,id,id->d", powers @ factor, part, part)
            return ViewSums(objective, powers.sum(axis=0), powers.T @ part, squares)

        return reduce(add, apply(sum_block, row_blocks(len(Z))))

    def update(self, sums: ViewSums, rule: WeightRule, total: float) -> ViewModel:
        """Return the model with optimal prototypes for fixed masses, then optimal view weights."""
        centers = self.step.best_prototypes(sums.total, sums.first)
        factor = self.step.kernel_arguments()[0]
        barycenters = self.step.averages @ centers
        change = sums.total[:, None] * barycenters**2 - 2 * barycenters * sums.first
        squares = np.maximum(sums.squares + factor @ change, 0.0)
        n_views = len(self.weights)
        by_view = np.bincount(self.coordinates.view, squares, n_views)
        dispersion = by_view / total
        weights = rule.best_weights(dispersion)
        return replace(self, centers=centers, weights=weights, dispersion=dispersion)


class ViewMethod(MassMethod[ViewModel]):
    """Algorithm that updates masses, prototypes and view weights in turn."""

    zero = 1e-12  # Every view is scaled to dispersion 1.

    def __init__(self, estimator: Any, sample: Sample[np.ndarray], request: FitRequest):
        super().__init__(estimator, sample, request)
        self.values = sample.values
        self.view_names = estimator._input.names
        fixed_weights = estimator._fixed_weights()
        n_clusters = self.n_clusters
        self.init = estimator._resolve_init(self.values, n_clusters)
        self.weights = sample.kernel_weights
        view = estimator._input.of_column
        self.coordinates = Coordinates.from_rows(self.values, view, self.weights)
        self.data = self.coordinates.transform(self.values)
        self.rows = Rows(self.data, self.weights, self.apply)
        self.sample, self.sample_weights = self.rows.sample(self.rng)
        _starts.check_different_objects(
            self.data, self.sample, n_clusters, sample.weights
        )
        n_views = len(self.view_names)
        self.shapeless = np.empty(n_views)  # shapeless dispersions
        for v in range(n_views):
            columns = self.sample[:, view == v]
            variances = spectrum(columns, self.sample_weights)
            self.shapeless[v] = shapeless_dispersion(variances, n_clusters)
        if fixed_weights is None:
            varies = self.coordinates.varies
            evenness = float(estimator.evenness)
            self.rule = WeightRule.from_dispersions(self.shapeless, varies, evenness)
        else:
            self.rule = WeightRule(fixed_weights, fixed_weights, None)
        self._first_roots = np.sqrt(self.rule.first)[view]
        self.points = self.sample * self._first_roots

    def _model(self, family: FocalSets, centers: np.ndarray) -> ViewModel:
        first = self.rule.first
        step = self._mass_step(family)
        return ViewModel(step, self.coordinates, centers, first, np.ones(len(first)))

    def _user_start(self, family: FocalSets) -> ViewModel:
        init = self.init
        shape = (self.n_clusters, self.data.shape[1])
        if not isinstance(init, CredalPartition):
            centers = _starts.validate_centers(init, shape)
            return self._model(family, self.coordinates.transform(centers))
        _starts.check_partition(init, len(self.data), self.n_clusters)
        powers = project_masses(init.masses, init.focal_sets, family) ** self.beta
        if len(self.weights):
            powers *= self.weights[:, None]
        model = self._model(family, np.zeros(shape))
        first = powers.T @ self.data
        centers = model.step.best_prototypes(powers.sum(axis=0), first)
        return replace(model, centers=centers)

    def _draw_start(self, family: FocalSets, rng: np.random.RandomState) -> ViewModel:
        centers = self._draw_centers(family, rng)
        roots = self._first_roots
        positive_roots = np.where(roots > 0, roots, 1.0)
        return self._model(family, centers / positive_roots)

    def refine(self, best: Run[ViewModel]) -> Run[ViewModel]:
        if self.has_user_start or self.rows.are_all_in(self.sample):
            return best
        return self._run(best.model, on_sample=False)

    def add_neighbor_pairs(self, run: Run[ViewModel]) -> Run[ViewModel]:
        model = run.model
        centers = model.weighted_centers
        squares = cdist(self.sample * model.roots, centers, "sqeuclidean")
        step = self._neighbor_step(squares, self.sample_weights)
        return replace(run, model=replace(model, step=step))

    def result(self, run: Run[ViewModel]) -> FitResult:
        """Return the result, with a warning if one view has nearly all of the learned weight."""
        model = run.model
        result = FitResult(run, model, model.masses(self.values, self.apply))
        evenness = self.rule.evenness
        largest = model.weights.max()
        if evenness is None or (self.rule.prior > 0).sum() < 2 or largest < _ONE_VIEW:
            return result
        name = self.view_names[model.weights.argmax()]
        warning = (
            f"{name!r} has {largest:.1%} of the weight of all views; "
            f"increase evenness, got {evenness:g}"
        )
        return replace(result, warnings=(warning,))

    def _step(self, model: ViewModel, *, on_sample: bool) -> tuple[float, ViewModel]:
        data = self.data
        weights = self.weights
        if on_sample:
            data = self.sample
            weights = self.sample_weights
        total = float(weights.sum() if len(weights) else len(data))
        sums = model.sums(data, weights, self.apply)
        objective = sums.objective + total * self.rule.penalty(model.weights)
        return objective, model.update(sums, self.rule, total)


def spectrum(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the variances along the principal axes of a centered table.

    For wide tables, a subset of rows is used.
    """
    n, p = X.shape
    if p <= MAX_DENSE_FEATURES:
        products = (X.T * weights) @ X / weights.sum()
    else:
        places = np.linspace(0, n - 1, MAX_DENSE_FEATURES).astype(int)
        subset = np.unique(places)
        X = X[subset]
        weights = weights[subset]
        total = weights.sum()
        mean = weights @ X / total
        roots = np.sqrt(weights / total)
        centered = (X - mean) * roots[:, None]
        products = centered @ centered.T
    return np.maximum(np.linalg.eigvalsh(products), 0.0)
