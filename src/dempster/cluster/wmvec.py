"""Weighted multi-view evidential clustering."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Self, TypeVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import rel_entr
from sklearn.base import BaseEstimator

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster._random import as_random_state
from dempster._text import printable
from dempster._types import ArrayLike, Index, Seed, TableLike
from dempster._validation import as_reals, check_tensor, in_order_of, numbered_attributes, object_index, order_of_names
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, FitRequest
from dempster.cluster._mass_step import MassStep, project_masses
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._search import FitResult, Method, Sample, require_singletons
from dempster.cluster._starts import distances_to_centers, fuzziness, isolated, outlier_distance, reasons, too_few
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks, uses_belief_peaks
from dempster.cluster.evidence import ClusterEvidence
from dempster.data import sampling
from dempster.dissimilarity.input import DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, MatrixSource
from dempster.dissimilarity.transform import intrinsic_dimension
from dempster.dissimilarity.views import Views, index_of_views, split_views
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.partition import CredalPartition


class View(BaseEstimator):
    """What is remembered of one table: how many columns it had, and their names."""


class ViewMatrices:
    """Dissimilarities of the same objects, a matrix a view."""

    def __init__(self, matrices: Sequence[np.ndarray]):
        self.matrices = list(matrices)
        self.dtype = np.result_type(*self.matrices)

    def __len__(self) -> int:
        return len(self.matrices[0])

    def __getitem__(self, rows: slice) -> ViewMatrices:
        """Some of the objects, with their dissimilarities to all."""
        return ViewMatrices([D[rows] for D in self.matrices])


def given_views(X: TableLike, name: str = "X") -> tuple[list[str], list[TableLike]] | None:
    """Names and tables of the views; None if X is one table."""
    check_tensor(X, name)
    split = split_views(X)
    shape = getattr(X, "shape", ())
    if split is None and len(shape) == 3:
        raise InvalidInputError(
            f"{name} must be one table or a list of tables, got an array of shape {shape}; give list({name})"
        )
    if (split is not None and not split[1]) or (isinstance(X, list | tuple) and len(X) == 0):
        raise InvalidInputError(f"{name} must hold at least one table, got none")
    return split


class ViewInput:
    """Reads the views of a fit, and later new objects in the same way.

    Parameters
    ----------
    metric : {"euclidean", "precomputed"}
    symmetrize : bool
        As in `DissimilarityInput`.
    views : None, "attributes" or array-like of shape (n_features,)
        As in `WMVEC`.
    """

    def __init__(self, metric: str, symmetrize: bool, views: str | ArrayLike | None):
        self.metric, self.symmetrize, self.views = metric, symmetrize, views
        self.names: list[str] = []
        self.several = False
        self.of_column = np.empty(0, dtype=np.intp)
        self._doors: list[DissimilarityInput] = []
        self._readers: list[BaseEstimator] = []  # none if X is one table: the estimator itself remembers it
        self._orders: list[np.ndarray | None] = []

    @property
    def is_precomputed(self) -> bool:
        return self.metric == "precomputed"

    # ---- the objects of a fit -------------------------------------------------------------------------------------

    def training(self, estimator: BaseEstimator, X: TableLike) -> np.ndarray | ViewMatrices:
        """All attributes side by side, or the matrices; sets what scikit-learn wants to know (``n_features_in_``)."""
        split = given_views(X)
        self.several = split is not None
        if split is None:
            names, tables, self._readers = ["X"], [X], []
        else:
            if self.views is not None:
                raise InvalidInputError(f"views tells the columns of one table apart, but X is {len(split[1])} tables")
            names, tables = split
            self._readers = [View() for _ in tables]
        self.names, readers = names, self._readers or [estimator]
        self._doors = [DissimilarityInput(self.metric, symmetrize=self.symmetrize) for _ in tables]
        parts = [
            self._named(name, lambda d=door, r=reader, t=table: _values(d.training(r, t)))
            for name, door, reader, table in zip(names, self._doors, readers, tables, strict=True)
        ]
        parts, self._orders = self._matched(parts, tables, square=self.is_precomputed)
        if self.several:
            estimator.n_features_in_ = len(parts[0]) if self.is_precomputed else sum(part.shape[1] for part in parts)
        if self.is_precomputed:
            if self.views is not None:
                raise InvalidInputError("views tells attributes apart, but with metric='precomputed' X has none")
            return ViewMatrices(parts)
        self.of_column = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
        if self.views is not None:
            self._tell_columns_apart(tables[0], parts[0].shape[1])
        return np.ascontiguousarray(np.hstack(parts)) if len(parts) > 1 else parts[0]

    def _tell_columns_apart(self, table: TableLike, n_columns: int) -> None:
        """Views that are columns, or groups of them, of one table."""
        columns = getattr(table, "columns", None)
        if isinstance(self.views, str):
            self.names = numbered_attributes(n_columns) if columns is None else [*map(printable, columns)]
            self.of_column = np.arange(n_columns)
            return
        labels = np.asarray(self.views)
        if labels.shape != (n_columns,):
            got = f"{len(labels)} names" if labels.ndim == 1 else f"an array of shape {labels.shape}"
            raise InvalidInputError(f"views must name the view of each of the {n_columns} columns of X, got {got}")
        given = labels.tolist()
        different = list(dict.fromkeys(given))
        self.names = [printable(name) for name in different]
        self.of_column = np.array([different.index(name) for name in given])

    # ---- new objects ----------------------------------------------------------------------------------------------

    def new(self, estimator: BaseEstimator, X: TableLike) -> np.ndarray | ViewMatrices:
        """New objects: all attributes side by side, or their dissimilarities to the objects of the fit."""
        split = given_views(X)
        if split is None:
            if self.several and len(self._doors) > 1:
                raise InvalidInputError(
                    f"X must be a list of {len(self._doors)} tables, one a view ({', '.join(self.names)})"
                )
            split = self.names[:1], [X]
        names, tables = split
        if len(tables) != len(self._doors):
            raise InvalidInputError(f"X has {len(tables)} views, but there were {len(self._doors)} in fit")
        if isinstance(X, Mapping):
            tables = [tables[k] for k in self._order_of_views(names)]
        shown = self.names if self.several else ["X"]
        parts = [
            self._named(name, lambda d=door, r=reader, t=table: d.new(r, t))
            for name, door, reader, table in zip(shown, self._doors, self._readers or [estimator], tables, strict=True)
        ]
        if self.is_precomputed:
            pairs = zip(parts, self._orders, strict=True)
            parts = [part if order is None else part[:, order] for part, order in pairs]
        parts, _ = self._matched(parts, tables, square=False)
        if self.is_precomputed:
            return ViewMatrices(parts)
        return np.ascontiguousarray(np.hstack(parts)) if len(parts) > 1 else parts[0]

    def joined(self, estimator: BaseEstimator, attributes: TableLike) -> np.ndarray | ViewMatrices:
        """New objects whose attributes of all views come side by side, in the order of the fit."""
        readers = self._readers or [estimator]
        values = np.asarray(attributes)
        ends = np.cumsum([reader.n_features_in_ for reader in readers])[:-1]
        tables = [
            _with_names(part, getattr(reader, "feature_names_in_", None))
            for part, reader in zip(np.split(values, ends, axis=1), readers, strict=True)
        ]
        return self.new(estimator, tables)

    def _order_of_views(self, names: list[str]) -> list[int]:
        """Where the views of the fit are among those of new objects."""
        if sorted(names) != sorted(self.names):
            raise InvalidInputError(
                f"the views of X are {', '.join(names)}, but those of fit were {', '.join(self.names)}"
            )
        return [names.index(name) for name in self.names]

    # ---- both -----------------------------------------------------------------------------------------------------

    def _named(self, name: str, read: Any) -> Any:
        """What is read; if it is refused, the error names the view."""
        try:
            return read()
        except (ValueError, TypeError) as error:
            if not self.several:
                raise
            raise InvalidInputError(f"{name!r} in X: {error}") from error

    def _matched(
        self, parts: list[np.ndarray], tables: list[TableLike], *, square: bool
    ) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
        """The same objects in the same order in all views, by their names where they have some."""
        lengths = [len(part) for part in parts]
        if len(set(lengths)) > 1:
            said = ", ".join(f"{name!r} has {n}" for name, n in zip(self.names, lengths, strict=False))
            raise InvalidInputError(f"all views must hold the same objects, but {said} of them")
        wanted = index_of_views(tables)
        orders: list[np.ndarray | None] = []
        for v, table in enumerate(tables):
            order = self._named(self.names[v], lambda t=table: order_of_names(object_index(t), wanted))
            if order is not None:
                parts[v] = parts[v][order]
                parts[v] = parts[v][:, order] if square else parts[v]
            orders.append(order)
        return parts, orders


def _with_names(values: np.ndarray, names: np.ndarray | None) -> TableLike:
    if names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=names)


def _values(source: Any) -> np.ndarray:
    return source.objects if source.matrix is None else source.matrix


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
class Comparison:
    """What objects are compared with, as the kernels take it."""

    step: MassStep
    arguments: tuple

    @classmethod
    def of(cls, step: MassStep, centers: np.ndarray, roots: np.ndarray) -> Comparison:
        """For (c, p) prototypes, and the roots of the weights of the attributes."""
        placed = np.ascontiguousarray((centers * roots).T)
        sizes = step.sets.sum(axis=1).astype(np.int64)
        offsets = np.append(0, np.cumsum(sizes))
        members = np.ascontiguousarray(np.nonzero(step.sets)[1])
        own = np.square(centers * roots).sum(axis=1)
        means = step.averages @ (centers * roots)
        inside = np.where(sizes > 1, step.averages @ own - np.square(means).sum(axis=1), 0.0)
        return cls(step, (roots, placed, offsets, members, inside, *step.kernel_arguments()))

    def powers(self, X: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective, and (n, g) masses to the power beta times the weights; rows have weight 1 if there are none."""
        powers = np.empty((len(X), len(self.step.sets)))
        return _view_powers(X, weights if len(weights) else None, *self.arguments, powers), powers

    def write_masses(self, X: np.ndarray, out: np.ndarray) -> None:
        """Masses of the rows into the columns of the family."""
        _view_masses(X, *self.arguments, *self.step.columns(), out)


_DENSE = 500  # attributes up to which their covariances are computed, and objects that tell the spectrum of more


@dataclass(frozen=True)
class WeightRule:
    """How weights follow from dispersions.

    Attributes
    ----------
    first : (V,) array
        Weights to start from.
    prior : (V,) array
        What the weights are drawn to.
    evenness : float or None
        How strongly; None if the weights stay what they are.
    """

    first: np.ndarray
    prior: np.ndarray
    evenness: float | None

    def best(self, dispersion: np.ndarray) -> np.ndarray:
        """The weights that minimise the objective for the shares of dispersion left within the clusters."""
        if self.evenness is None:
            return self.first
        here = self.prior > 0
        weights = self.prior * np.exp(-(dispersion - dispersion[here].min()) / self.evenness)
        return weights / weights.sum()

    def penalty(self, weights: np.ndarray) -> float:
        """What uneven weights cost, for each unit of weight of the objects; never negative."""
        if self.evenness is None:
            return 0.0
        return max(self.evenness * float(rel_entr(weights, self.prior).sum()), 0.0)


def learnt_weights(shapeless: np.ndarray, varies: np.ndarray, evenness: float) -> WeightRule:
    """Weights that are learnt. Views that do not vary, which say nothing, have none."""
    varies = varies if varies.any() else np.ones(len(varies), dtype=bool)
    even = varies / varies.sum()
    prior = np.where(varies, np.exp((shapeless - shapeless[varies].max()) / evenness), 0.0)
    return WeightRule(even, prior / prior.sum(), evenness)


def fixed_weights(weights: np.ndarray) -> WeightRule:
    """Weights that are given; they sum to one."""
    return WeightRule(weights, weights, None)


def shapeless_dispersion(variances: np.ndarray, n_clusters: int) -> float:
    """The share of the dispersion of a Gaussian cloud that is left when so many places stand for all of it.

    By the theory of rates and distortions: with log(c) nats to spend, the principal axes of variance above a level keep
    this level, the others all they have (reverse water-filling; Cover and Thomas, 2006, section 10.3.3).
    """
    variances = np.sort(variances)[::-1]
    if not variances[0] > 0:
        return 0.0
    variances = np.maximum(variances / variances[0], 1e-12)
    n_axes = np.arange(1, len(variances) + 1)
    levels = np.exp((np.cumsum(np.log(variances)) - 2 * np.log(n_clusters)) / n_axes)
    level = levels[np.argmax(np.append(variances[1:], 0.0) <= levels)]
    return float(np.minimum(variances, level).sum() / variances.sum())


def spectrum(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Variances along the principal axes of a table whose mean is zero; of many attributes by some of the objects."""
    n, p = X.shape
    if p <= _DENSE:
        return np.maximum(np.linalg.eigvalsh((X.T * weights) @ X / weights.sum()), 0.0)
    some = np.unique(np.linspace(0, n - 1, _DENSE).astype(int))
    roots = np.sqrt(weights[some] / weights[some].sum())
    centered = (X[some] - weights[some] @ X[some] / weights[some].sum()) * roots[:, None]
    return np.maximum(np.linalg.eigvalsh(centered @ centered.T), 0.0)


def gram_spectrum(squares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same for objects with these squared dissimilarities (Torgerson, 1958); negative variances count as none."""
    share = weights / weights.sum()
    rows = squares @ share
    gram = (rows[:, None] + rows - squares - share @ rows) / 2
    roots = np.sqrt(share)
    return np.maximum(np.linalg.eigvalsh(gram * roots[:, None] * roots), 0.0)


_ALL = 0.99  # of the weight: all of it
Model = TypeVar("Model")


class AnyViewMethod(Method[Model, Model]):
    """What the methods for attributes and for dissimilarities share: parameters, penalties, weights of the views."""

    def __init__(self, params: WMVEC, sample: Sample[Any], request: FitRequest):
        self.params, self.values, self.apply, self.n_clusters = params, sample.values, request.apply, request.n_clusters
        self.rng = as_random_state(params.random_state)
        self.view_names = params._input.names
        self.beta = params._fuzziness(sample.values)
        self.view_weights = params._given_weights()
        self.init = params._start(sample.values, request.n_clusters)
        self._delta = None if isinstance(params.delta, str) else float(params.delta)
        self.rule: WeightRule

    @property
    @abstractmethod
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""

    def _weight_rule(self, shapeless: np.ndarray, varies: np.ndarray) -> WeightRule:
        if self.view_weights is not None:
            return fixed_weights(self.view_weights)
        return learnt_weights(shapeless, varies, float(self.params.evenness))

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        delta2 = np.inf if family.empty_index is None else self.delta**2
        return MassStep(family, self.params.alpha, self.beta, delta2, _ZERO)

    def partition(self, run: Run[Model]) -> CredalPartition:
        model: Any = run.model
        return CredalPartition.unchecked(model.masses(self.values, self.apply), model.family)

    def result(self, run: Run[Model]) -> FitResult:
        """Warn if the weights that were learnt leave one view only."""
        model: Any = run.model
        result = FitResult(run, model, model.masses(self.values, self.apply))
        weights, rule = model.weights, self.rule
        if rule.evenness is None or (rule.prior > 0).sum() < 2 or weights.max() < _ALL:
            return result
        name, share = self.view_names[int(weights.argmax())], f"{weights.max():.1%}"
        warning = f"{name!r} has {share} of the weight of all views; try a larger evenness, got {rule.evenness:g}"
        return replace(result, warnings=(warning,))


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
        origin = sampling.mean_of_objects(X, weights)
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


class ViewMethod(AnyViewMethod[ViewModel]):
    """Masses, prototypes and weights of views by turns."""

    def __init__(self, params: WMVEC, sample: Sample[np.ndarray], request: FitRequest):
        super().__init__(params, sample, request)
        self.weights, view = sample.kernel_weights, params._input.of_column
        self.coordinates = Coordinates.of(self.values, view, self.weights)
        self.data = self.coordinates(self.values)
        self.sample, self.sample_weights = sampling.representative_sample(self.data, self.weights, self.rng)
        _starts.check_different_objects(self.data, self.sample, self.n_clusters, sample.weights)
        self.shapeless = np.array(
            [
                shapeless_dispersion(spectrum(self.sample[:, view == v], self.sample_weights), self.n_clusters)
                for v in range(len(self.view_names))
            ]
        )
        self.rule = self._weight_rule(self.shapeless, self.coordinates.varies)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta is None:
            squares, which = distances_to_centers(
                self.sample * self._first_roots, self.sample_weights, self.n_clusters, self.rng
            )
            self._delta = outlier_distance(np.sqrt(squares), self.sample_weights[which])
        return self._delta

    @property
    def _first_roots(self) -> np.ndarray:
        return np.sqrt(self.rule.first)[self.coordinates.view]

    def _model(self, family: FocalSets, centers: np.ndarray) -> ViewModel:
        first = self.rule.first
        return ViewModel(self._mass_step(family), self.coordinates, centers, first, np.ones(len(first)))

    # ---- starts ---------------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[ViewModel]:
        if not isinstance(self.init, str):
            return [self._model(family, self._given_centers(self.init, family))]
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.params.n_init)
        return [self._drawn(family, np.random.RandomState(seed)) for seed in seeds]

    def _given_centers(self, init: ArrayLike | CredalPartition, family: FocalSets) -> np.ndarray:
        c, p = self.n_clusters, self.data.shape[1]
        if not isinstance(init, CredalPartition):
            return self.coordinates(_starts.checked_centers(init, (c, p)))
        _starts.check_partition(init, len(self.data), c)
        blank = self._model(family, np.zeros((c, p)))
        powers = project_masses(init.masses, init.focal_sets, family) ** self.beta
        powers *= self.weights[:, None] if len(self.weights) else 1.0
        return blank.best_centers(powers.sum(axis=0), powers.T @ self.data)

    def _drawn(self, family: FocalSets, rng: np.random.RandomState) -> ViewModel:
        """First prototypes far from each other where all views count alike."""
        roots, init = self._first_roots, self.init
        assert isinstance(init, str)
        weights = self.sample_weights if family.empty_index is not None else self._crowded_weights
        drawn = _starts.first_centers(self.sample * roots, weights, self.n_clusters, init, rng)
        return self._model(family, drawn / np.where(roots > 0, roots, 1.0))

    @cached_property
    def _crowded_weights(self) -> np.ndarray:
        """Weights of the sample, zero for isolated objects, on which prototypes would stay where there is no empty set
        to take them."""
        weights = np.where(isolated(self.sample * self._first_roots), 0.0, self.sample_weights)
        enough = len(np.unique(self.sample[weights > 0], axis=0)) >= self.n_clusters
        return weights if enough else self.sample_weights

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: ViewModel) -> Run[ViewModel]:
        if not isinstance(self.init, str):
            return self._run(start, self.data, self.weights)
        return self._run(start, self.sample, self.sample_weights)

    def refine(self, best: Run[ViewModel]) -> Run[ViewModel]:
        if not isinstance(self.init, str) or sampling.holds_all(self.sample, self.data, self.weights):
            return best
        return self._run(best.model, self.data, self.weights)

    def extend(self, run: Run[ViewModel], family: FocalSets) -> Run[ViewModel]:
        return self._run(replace(run.model, step=self._mass_step(family)), self.data, self.weights)

    def add_neighbor_pairs(self, run: Run[ViewModel]) -> Run[ViewModel]:
        model = run.model
        if self._delta is None:
            squares = model.squared_distances(self.sample).min(axis=1)
            self._delta = outlier_distance(np.sqrt(squares), self.sample_weights)
        step = self._mass_step(FocalSets.neighbors(model.centers * model.roots))
        return Run(replace(model, step=step), run.history, run.converged)

    def _run(self, start: ViewModel, data: np.ndarray, weights: np.ndarray) -> Run[ViewModel]:
        step = self._step(data, weights)
        return descend(step, start, max_iter=self.params.max_iter, tol=self.params.tol)

    def _step(self, data: np.ndarray, weights: np.ndarray) -> Callable[[ViewModel], tuple[float, ViewModel]]:
        """One iteration: the objective of a model, and the next model."""
        total = float(weights.sum()) if len(weights) else float(len(data))

        def step(model: ViewModel) -> tuple[float, ViewModel]:
            sums = model.sums(data, weights, self.apply)
            objective = sums.objective + total * self.rule.penalty(model.weights)
            return objective, model.updated(sums, self.rule, total)

        return step


_SAMPLE_SIZE = 2_000  # objects among which first medoids are looked for
_SPECTRUM_SIZE = 500  # objects that tell how shapeless a view is, and its dimension
_CELLS = 4_000_000  # dissimilarities squared at once
_MEDOIDS_ROUNDING = 1e-12  # by which an objective may rise


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


class MedoidViewMethod(AnyViewMethod[MedoidViewModel]):
    """Masses, medoids and weights of views by turns."""

    def __init__(self, params: WMVEC, sample: Sample[ViewMatrices], request: FitRequest):
        super().__init__(params, sample, request)
        n = len(self.values)
        self.weights = np.ones(n) if sample.weights is None else sample.weights
        self.total = float(self.weights.sum())
        share = self.weights / self.total
        dispersions = np.array([_quadratic(D, share) / 2 for D in self.values.matrices])
        self.varies = dispersions > 0
        self.dispersions = np.where(self.varies, dispersions, 1.0)
        sums = np.sum([_weighted_sums(D, share[:, None])[0] / s for D, s in self._views()], axis=0)
        order = np.argsort(sums, kind="stable")
        self.positions, self.sample_weights = sampling.sample_in_order(order, self.weights, _SAMPLE_SIZE, self.rng)
        self._check_different_objects()
        self.shapeless = self._shapeless_dispersions()
        self.rule = self._weight_rule(self.shapeless, self.varies)

    def _views(self) -> Iterable[tuple[np.ndarray, float]]:
        """Matrices and their dispersions."""
        return zip(self.values.matrices, self.dispersions, strict=True)

    def _shapeless_dispersions(self) -> np.ndarray:
        some = np.unique(np.linspace(0, len(self.positions) - 1, _SPECTRUM_SIZE).astype(int))
        which, weights, c = self.positions[some], self.sample_weights[some], self.n_clusters
        spectra = (
            gram_spectrum(np.square(D[np.ix_(which, which)], dtype=float), weights) for D in self.values.matrices
        )
        return np.array([shapeless_dispersion(variances, c) for variances in spectra])

    def _check_different_objects(self) -> None:
        """As many different objects as clusters are needed; the sample is looked at first."""
        c = self.n_clusters
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
        n_init, c = self.params.n_init, self.n_clusters
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if self.params.init == "random":
            chances = self.sample_weights / self.sample_weights.sum()
            return [rng.choice(len(self.positions), c, replace=False, p=chances) for _ in range(n_init)]
        return medoid_starts(self._sample_squares, c, n_init, rng, self.sample_weights)

    @property
    def delta(self) -> float:
        """Distance to the empty set: given, or found from the data; pairs that are read off find it from the fit."""
        if self._delta is None:
            nearest = np.sqrt(self._sample_squares[self._drawn_medoids[0]].min(axis=0))
            self._delta = outlier_distance(nearest, self.sample_weights)
        return self._delta

    def _model(self, family: FocalSets, medoids: np.ndarray) -> MedoidViewModel:
        first = self.rule.first
        step, between = self._mass_step(family), self._between(medoids)
        return MedoidViewModel(step, self.dispersions, medoids, between, first, np.ones(len(first)))

    def _between(self, medoids: np.ndarray) -> np.ndarray:
        return np.stack(
            [np.square(D[np.ix_(m, m)], dtype=float) / s for (D, s), m in zip(self._views(), medoids, strict=True)]
        )

    # ---- starts ---------------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[MedoidViewModel]:
        if not isinstance(self.init, str):
            return [self._user_start(family, self.init)]
        n_views = len(self.dispersions)
        medoids = (np.tile(self.positions[places], (n_views, 1)) for places in self._drawn_medoids)
        return [self._model(family, places) for places in medoids]

    def _user_start(self, family: FocalSets, init: ArrayLike | CredalPartition) -> MedoidViewModel:
        n, c, n_views = len(self.values), self.n_clusters, len(self.dispersions)
        if not isinstance(init, CredalPartition):
            return self._model(family, np.tile(_starts.checked_positions(init, n, c), (n_views, 1)))
        _starts.check_partition(init, n, c)
        blank = self._model(family, np.tile(self.positions[:c], (n_views, 1)))
        powers = project_masses(init.masses, init.focal_sets, family) ** self.beta
        return replace(self._updated(blank, powers * self.weights[:, None]), weights=self.rule.first)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: MedoidViewModel) -> Run[MedoidViewModel]:
        """Until the objective stays. Where costs of sets were cut off at zero the next medoids might make it rise: then
        those before are the end."""
        run = Run(start)
        following = start
        for _ in range(self.params.max_iter):
            objective, after = self._step(following)
            change = run.objective - objective if run.history else np.inf
            if change < -_MEDOIDS_ROUNDING * abs(objective):
                run.converged = True
                break
            run.model, following = following, after
            run.history.append(objective)
            if change <= self.params.tol * abs(objective):
                run.converged = True
                break
        return run

    def _step(self, model: MedoidViewModel) -> tuple[float, MedoidViewModel]:
        """One iteration: the objective of a model, and the next model."""
        objective, masses, _ = model.step.nonempty_masses(model.costs(self.values), self.weights, self.apply)
        powers = masses**self.beta * self.weights[:, None]
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

    def extend(self, run: Run[MedoidViewModel], family: FocalSets) -> Run[MedoidViewModel]:
        return self.run_start(replace(run.model, step=self._mass_step(family)))

    def add_neighbor_pairs(self, run: Run[MedoidViewModel]) -> Run[MedoidViewModel]:
        model = run.model
        if self._delta is None:
            self._delta = outlier_distance(np.sqrt(model.near(self.values).min(axis=1)), self.weights)
        step = self._mass_step(FocalSets.neighbors(squared_distances=model.distances_of_medoids))
        return Run(replace(model, step=step), run.history, run.converged)


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


_SHOWN = 6  # views that a summary names


class WMVEC(EvidentialClusterer):
    """Weighted multi-view evidential clustering: `ECM` for objects that several tables, or matrices, describe.

    All views share the masses. Every view has prototypes, and a weight, of its own. Minimises, over masses m,
    prototypes v and weights w that sum to one,

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta sum_q w_q d_q(i, A)^2  +  delta^2 sum_i m_i(empty)^beta
            +  evenness n sum_q w_q log(w_q / prior_q),

    by turns, each in closed form. The objective never rises. Cost per iteration: that of `ECM` on all tables joined.

    **Units.** Views are made comparable first: each is divided by its total dispersion, so that the mean squared
    distance to the mean is 1 in every view, whatever its unit and the number of its attributes. Attributes within a
    view keep their proportions: standardize them if their units differ.

    **Weights.** With e_q the share of the dispersion of view q that the clusters leave unexplained, the best weights
    are w_q ~ prior_q exp(-e_q / evenness). An even prior would give the entropy weights of the literature, and with
    them all weight to the view with the fewest degrees of freedom, noise or not: any clusters that follow it explain it
    well. Here prior_q ~ exp(s_q / evenness), where s_q is the share that as many clusters would leave of a Gaussian
    cloud with the covariance of the view. A view counts by what its clusters explain beyond that.

    **Dissimilarities.** With ``metric="precomputed"`` every cluster has a medoid, an object, in every view.
    Dissimilarities are squared first, so that Euclidean distances count as attributes would. A set of clusters lies in
    the middle of its medoids, by the rule that holds in a Euclidean space.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks where all views count alike (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        "precomputed": every view is a square matrix of dissimilarities.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    views : None, "attributes" or array-like of shape (n_features,), default=None
        How the columns of one table make views. None: they are one view, or X is a list of tables. "attributes": each
        is a view of its own, so that attributes are weighted. An array names the view of each column.
    view_weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        "auto": learnt. Given weights stay; they are divided by their sum. A pandas column is read by the names of the
        views, where it has them.
    evenness : float from 0.01 to 1000, default=0.4
        Larger values draw the weights together, smaller ones give all weight to one view (a warning says so). From 0.2
        to 0.5 results differ little.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness: towards 1 the masses become certain. "auto": 1.5 up to five attributes of all views, then less the
        more there are; for matrices by their intrinsic dimension.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, where 1 is the root mean squared distance to the mean: smaller values give more
        outliers. "auto": the upper fence of a box plot (two interquartile ranges above the third quartile) of the
        distances to the nearest prototype.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, prototypes, positions or CredalPartition, \
default="k-means++"
        Prototypes: tables of ``n_clusters`` rows, given as X is. Positions, for matrices: those of ``n_clusters``
        objects, the first medoids in all views. "k-means++": where all views count alike; for matrices medoids that are
        far from each other. "belief-peaks": the centres found by `BeliefPeaks`, which knows no weights, or by one with
        parameters of its own. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    view_weights_ : ndarray of shape (n_views,)
        They sum to one; a view that does not vary has none.
    view_names_ : list of str
        Keys of a dictionary, "view 0" and so on for a list.
    attribute_weights_ : ndarray of shape (n_features,)
        With ``views="attributes"``.
    view_dispersion_ : ndarray of shape (n_views,)
        Share of the dispersion of each view that is left within the clusters, as the weights saw it.
    shapeless_dispersion_ : ndarray of shape (n_views,)
        Share that would be left if the view were a Gaussian cloud.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The columns of all views side by side.
    view_of_feature_ : ndarray of shape (n_features,)
        To which view each of these columns belongs.
    medoid_indices_ : ndarray of shape (n_views, n_clusters)
        With ``metric="precomputed"``, instead of the centers.
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
        Of all views together.

    References
    ----------
    K. Zhou, M. Guo and M. Jiang (2021). Evidential weighted multi-view clustering. BELIEF 2021: shared masses, a weight
    for each view. Entropy weights: L. Jing, M. K. Ng and J. Z. Huang (2007). An entropy weighting k-means algorithm for
    subspace clustering of high-dimensional sparse data. IEEE Transactions on Knowledge and Data Engineering 19. What is
    left of a Gaussian cloud: T. M. Cover and J. A. Thomas (2006). Elements of Information Theory, section 10.3.3; this
    use of it is ours.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import WMVEC
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 50)
    >>> views = {
    ...     "shape": rng.normal(size=(150, 2)) + 6 * np.eye(3)[y, :2],
    ...     "color": rng.normal(size=(150, 4)) + 6 * np.eye(3, 4)[y],
    ...     "noise": rng.normal(size=(150, 3)),
    ... }
    >>> model = WMVEC(3, random_state=0).fit(views)
    >>> dict(zip(model.view_names_, model.view_weights_.round(2).tolist()))
    {'shape': 0.43, 'color': 0.49, 'noise': 0.08}
    """

    _input: ViewInput
    _rules = {
        **COMMON_RULES,
        "metric": rule.choice("euclidean", "precomputed"),
        "symmetrize": rule.flag,
        "views": rule.choice(None) | rule.choice("attributes") | rule.array,
        "view_weights": rule.choice("auto", "equal") | rule.array,
        "evenness": rule.real(0.01, 1000),
        "alpha": rule.real(0),
        "beta": rule.choice("auto") | rule.real(1, 50, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": rule.choice("k-means++", "random")
        | PEAKS_RULE
        | rule.kind(CredalPartition)
        | rule.Rule("tables or an array", lambda v: isinstance(v, list | tuple | dict) or rule.array.test(v)),
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: str = "euclidean",
        symmetrize: bool = False,
        views: str | ArrayLike | None = None,
        view_weights: str | ArrayLike = "auto",
        evenness: float = 0.4,
        alpha: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        init: str | BeliefPeaks | TableLike | CredalPartition = "k-means++",
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
        self.views = views
        self.view_weights = view_weights
        self.evenness = evenness
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : list of tables, dict of str to table, or one table
            Tables have shape (n_samples, n_features of the view), or (n_samples, n_samples) for dissimilarities. Rows
            are the same objects in all of them, in the same order unless pandas tables name them. float32 is kept.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        return self._fit(X, sample_weight=sample_weight)

    # ---- reading --------------------------------------------------------------------------------------------------

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray | ViewMatrices:
        if not reset:
            return self._input.new(self, X)
        self._input = ViewInput(self.metric, bool(self.symmetrize), self.views)
        return self._input.training(self, X)

    def _row_names(self, X: TableLike) -> Index:
        split = split_views(X)
        return super()._row_names(X) if split is None else index_of_views(split[1])

    def _extract_attributes(self, X: TableLike) -> TableLike:
        views = None if given_views(X) is None else Views.of(X)
        return X if views is None else views.in_order(self.view_names_).table()

    def _read_objects(self, attributes: TableLike, like: Any) -> np.ndarray | ViewMatrices:
        return self._input.joined(self, attributes)

    def _comparison_source(self, values: np.ndarray | ViewMatrices) -> DissimilaritySource:
        if isinstance(values, ViewMatrices):
            return MatrixSource(joined_dissimilarities(values))
        return AttributeSource(Coordinates.of(values, self._input.of_column, np.empty(0))(values))

    # ---- the method -----------------------------------------------------------------------------------------------

    def _make_method(self, sample: Sample[Any], request: FitRequest) -> ViewMethod | MedoidViewMethod:
        method = MedoidViewMethod if isinstance(sample.values, ViewMatrices) else ViewMethod
        return method(self, sample, request)

    def _fuzziness(self, values: np.ndarray | ViewMatrices) -> float:
        """Return beta: given, or by the number of dimensions."""
        if self.beta != "auto":
            return float(self.beta)
        return fuzziness(dimension_of(values) if isinstance(values, ViewMatrices) else values.shape[1])

    def _given_weights(self) -> np.ndarray | None:
        """Weights of the views that were asked for, which sum to one; None if they are to be learnt."""
        n_views = len(self._input.names)
        if isinstance(self.view_weights, str):
            return None if self.view_weights == "auto" else np.full(n_views, 1 / n_views)
        weights = as_reals(in_order_of(self.view_weights, self._input.names), "view_weights")
        if weights.shape != (n_views,) or not (np.isfinite(weights) & (weights >= 0)).all() or not weights.any():
            raise InvalidInputError(
                f"view_weights must hold {n_views} numbers of at least 0, one for each view ("
                f"{_some(self._input.names)}), and not zeros only, got {rule.shown(self.view_weights)}"
            )
        return weights.astype(float) / weights.sum(dtype=float)

    def _start(self, values: np.ndarray | ViewMatrices, n_clusters: int) -> str | ArrayLike | CredalPartition:
        """What `init` stands for, as the method takes it."""
        init = self.init
        if uses_belief_peaks(init):
            peaks = fit_source_peaks(init, self._comparison_source(values), n_clusters, self.random_state, self.n_jobs)
            assert peaks is not None
            return peaks.peak_indices_ if isinstance(values, ViewMatrices) else values[peaks.peak_indices_]
        if isinstance(init, str | CredalPartition) or isinstance(values, ViewMatrices):
            return init
        split = given_views(init, "init")
        if split is None:
            return as_reals(init, "init")
        tables = [as_reals(table, "init") for table in split[1]]
        wanted = np.bincount(self._input.of_column).tolist() if len(tables) == len(self._input.names) else []
        if [table.shape for table in tables] != [(n_clusters, width) for width in wanted]:
            shapes = ", ".join(str(table.shape) for table in tables)
            raise InvalidInputError(
                f"init must hold a table of {n_clusters} rows for each view ({_some(self._input.names)}), with the "
                f"columns of that view, got shapes {shapes}"
            )
        return np.hstack(tables)

    # ---- what is shown --------------------------------------------------------------------------------------------

    def _auto_params(self, method: Any) -> dict[str, str]:
        found = reasons(self.beta, self.delta, method.beta, method.delta)
        if method.rule.evenness is not None and len(self._input.names) > 1:
            model: Any = self._model
            found["view_weights"] = _described(self._input.names, model.weights)
        return found

    def _fitted_attributes(self, method: Any, model: ViewModel | MedoidViewModel) -> dict[str, Any]:
        found = {
            "view_weights_": model.weights,
            "view_names_": list(self._input.names),
            "view_dispersion_": model.dispersion,
            "shapeless_dispersion_": method.shapeless,
            "delta_": method.delta,
            "beta_": method.beta,
        }
        if isinstance(model, MedoidViewModel):
            return {**found, "medoid_indices_": model.medoids}
        found["cluster_centers_"] = model.coordinates.inverse(model.centers).astype(method.values.dtype)
        found["view_of_feature_"] = self._input.of_column
        return {**found, "attribute_weights_": model.weights} if isinstance(self.views, str) else found

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _described(names: list[str], weights: np.ndarray) -> str:
    """The weights in words, largest first."""
    order = np.argsort(-weights, kind="stable")
    return _some([f"{names[v]} {weights[v]:.2f}" for v in order])
