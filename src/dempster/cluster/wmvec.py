"""Weighted multi-view evidential clustering."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import rel_entr
from sklearn.base import BaseEstimator

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import kernel
from dempster._random import as_random_state
from dempster._text import printable
from dempster._types import ArrayLike, Index, Seed, TableLike
from dempster._validation import (
    as_reals,
    check_tensor,
    default_feature_names,
    match_names,
    reorder_by_names,
    row_index,
)
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, FitRequest
from dempster.cluster._mass_step import MassStep, project_masses
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._search import FitResult, Method, Sample, require_singletons
from dempster.cluster._starts import (
    default_beta,
    explain_auto_params,
    find_isolated,
    k_means_distances,
    outlier_distance,
    too_few_objects_error,
)
from dempster.cluster.belief_peaks import (
    PEAKS_RULE,
    BeliefPeaks,
    fit_source_peaks,
    uses_belief_peaks,
)
from dempster.cluster.explanation import ClusterEvidence
from dempster.data import sampling
from dempster.data.rows import Rows
from dempster.dissimilarity.input import DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, MatrixSource
from dempster.dissimilarity.transform import intrinsic_dimension
from dempster.dissimilarity.views import Views, index_of_views, split_views
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.partition import CredalPartition

# ---- input ---------------------------------------------------------------------------------------


class View(BaseEstimator):
    """Estimator that stores the number and the names of the columns of one view (one of the tables in X)."""


class ViewMatrices:
    """Matrices of dissimilarities between the same objects, one for each view."""

    def __init__(self, matrices: Sequence[np.ndarray]):
        self.matrices = list(matrices)
        self.dtype = np.result_type(*self.matrices)

    def __len__(self) -> int:
        return len(self.matrices[0])

    def __getitem__(self, rows: slice) -> ViewMatrices:
        return ViewMatrices([D[rows] for D in self.matrices])


def split_tables(X: TableLike, name: str = "X") -> tuple[list[str], list[TableLike]] | None:
    """Return the names and the tables of the views in X, or None if X is a single table."""
    check_tensor(X, name)
    split = split_views(X)
    shape = getattr(X, "shape", ())
    if split is None and len(shape) == 3:
        raise InvalidParameterError(
            name,
            must=f"be one table or a list of tables, got an array of shape {shape}; use list({name})",
        )
    if (split is not None and not split[1]) or (isinstance(X, list | tuple) and len(X) == 0):
        raise InvalidParameterError(name, must="contain at least one table, got none")
    return split


class ViewInput:
    """Validation of training data and new data with several views.

    The parameters are those of `WMVEC`.
    """

    def __init__(self, metric: str, symmetrize: bool, views: str | ArrayLike | None):
        self.metric = metric
        self.symmetrize = symmetrize
        self.views = views
        self.names: list[str] = []
        self.several = False
        self.of_column = np.empty(0, dtype=np.intp)
        self._doors: list[DissimilarityInput] = []
        # one `View` per table; empty if X is a single table
        self._readers: list[BaseEstimator] = []
        self._orders: list[np.ndarray | None] = []

    @property
    def is_precomputed(self) -> bool:
        return self.metric == "precomputed"

    def read_training(self, estimator: BaseEstimator, X: TableLike) -> np.ndarray | ViewMatrices:
        """Validate training data.

        Return one table with the columns of all views, or matrices of dissimilarities.
        """
        split = split_tables(X)
        self.several = split is not None
        if self.views is not None and (self.several or self.is_precomputed):
            if self.is_precomputed:
                reason = "with metric='precomputed'"
            else:
                reason = "if X is a list of tables"
            raise InvalidParameterError("views", f"None {reason}", self.views)
        if split is None:
            self.names = ["X"]
            tables = [X]
        else:
            self.names, tables = split
        if self.several:
            self._readers = [View() for _ in tables]
        else:
            self._readers = []
        self._doors = [DissimilarityInput(self.metric, symmetrize=self.symmetrize) for _ in tables]
        sources = self._read_tables(DissimilarityInput.training, estimator, tables)
        parts = [source.objects if source.matrix is None else source.matrix for source in sources]
        self._orders = self._match_rows(parts, tables)
        widths = [part.shape[1] for part in parts]
        if self.several:
            if self.is_precomputed:
                estimator.n_features_in_ = widths[0]
            else:
                estimator.n_features_in_ = sum(widths)
        if not self.is_precomputed:
            self.of_column = np.repeat(np.arange(len(parts)), widths)
            if self.views is not None:
                self._group_columns(tables[0], widths[0])
        return self._join(parts)

    def _group_columns(self, table: TableLike, n_columns: int) -> None:
        """Define one view for each column of a table, or for each group of columns with the same label."""
        if isinstance(self.views, str):
            columns = getattr(table, "columns", None)
            if columns is None:
                self.names = default_feature_names(n_columns)
            else:
                self.names = [*map(printable, columns)]
            self.of_column = np.arange(n_columns)
            return
        labels = np.asarray(self.views)
        if labels.shape != (n_columns,):
            raise InvalidParameterError(
                "views",
                must=f"contain one label for each of the {n_columns} columns of X, got shape {labels.shape}",
            )
        distinct = list(dict.fromkeys(labels.tolist()))
        self.names = [printable(name) for name in distinct]
        self.of_column = np.array([distinct.index(name) for name in labels.tolist()], dtype=np.intp)

    def read_new(self, estimator: BaseEstimator, X: TableLike) -> np.ndarray | ViewMatrices:
        """Validate new rows.

        Return one table with the columns of all views, or dissimilarities to training rows.
        """
        split = split_tables(X)
        if split is None and self.several and len(self._doors) > 1:
            raise InvalidParameterError(
                "X",
                must=f"be a list of {len(self._doors)} tables, one per view ({', '.join(self.names)})",
            )
        if split is None:
            names = self.names[:1]
            tables = [X]
        else:
            names, tables = split
        if len(tables) != len(self._doors):
            raise InvalidParameterError(
                "X", must=f"have {len(self._doors)} views, like X in fit, got {len(tables)}"
            )
        if isinstance(X, Mapping):
            if sorted(names) != sorted(self.names):
                raise InvalidParameterError(
                    "X",
                    must=f"have the same views as in fit, {', '.join(self.names)}, got {', '.join(names)}",
                )
            tables = [tables[names.index(name)] for name in self.names]
        parts = self._read_tables(DissimilarityInput.new, estimator, tables)
        self._match_rows(parts, tables)
        return self._join(parts)

    def read_joined(
        self, estimator: BaseEstimator, attributes: TableLike
    ) -> np.ndarray | ViewMatrices:
        """Validate new rows, given as one table with the columns of all views in the order of the training data."""
        import pandas as pd

        readers = self._readers or [estimator]
        ends = np.cumsum([reader.n_features_in_ for reader in readers])[:-1]
        tables: list[TableLike] = np.split(np.asarray(attributes), ends, axis=1)
        for v, reader in enumerate(readers):
            if hasattr(reader, "feature_names_in_"):
                tables[v] = pd.DataFrame(tables[v], columns=reader.feature_names_in_)
        return self.read_new(estimator, tables)

    @contextmanager
    def _naming_view(self, name: str) -> Iterator[None]:
        """Add the name of the view to error messages, if there are several views."""
        try:
            yield
        except (ValueError, TypeError) as error:
            if not self.several:
                raise
            raise InvalidParameterError("X", message=f"{name!r} in X: {error}") from error

    def _read_tables(
        self, read: Callable[..., Any], estimator: BaseEstimator, tables: list[TableLike]
    ) -> list[Any]:
        parts = []
        for v, (door, reader) in enumerate(
            zip(self._doors, self._readers or [estimator], strict=True)
        ):
            with self._naming_view(self.names[v]):
                parts.append(read(door, reader, tables[v]))
        return parts

    def _match_rows(
        self, parts: list[np.ndarray], tables: list[TableLike]
    ) -> list[np.ndarray | None]:
        """Sort the rows of all views in place by their names, if they have names.

        Return the order of each view.
        """
        lengths = [len(part) for part in parts]
        if len(set(lengths)) > 1:
            counts = ", ".join(
                f"{n} in {name!r}" for name, n in zip(self.names, lengths, strict=False)
            )
            raise InvalidParameterError("X", must=f"have the same rows in all views, got {counts}")
        index = index_of_views(tables)
        orders: list[np.ndarray | None] = []
        for v, table in enumerate(tables):
            with self._naming_view(self.names[v]):
                order = match_names(row_index(table), index)
            if order is not None:
                parts[v] = parts[v][order]
            orders.append(order)
        return orders

    def _join(self, parts: list[np.ndarray]) -> np.ndarray | ViewMatrices:
        """Return one table with the columns of all views, or matrices with columns in the order of training rows."""
        if not self.is_precomputed:
            if len(parts) > 1:
                return np.ascontiguousarray(np.hstack(parts))
            return parts[0]
        pairs = zip(parts, self._orders, strict=True)
        return ViewMatrices([part if order is None else part[:, order] for part, order in pairs])


# ---- weights of the views ------------------------------------------------------------------------

# Up to this number of features, variances along principal axes are computed from the covariance
# matrix. With more features, they are computed from a subset of this number of rows.
MAX_DENSE_FEATURES = 500
_ONE_VIEW = 0.99  # A view with at least this weight causes a warning.


@dataclass(frozen=True)
class WeightRule:
    """Rule that computes the optimal weights of V views from their within-cluster dispersions."""

    first: np.ndarray  # (V,), initial weights
    prior: np.ndarray  # (V,), prior weights; the weights approach them as ``evenness`` increases
    evenness: float | None  # strength of the prior; None if the weights are fixed

    @classmethod
    def from_dispersions(
        cls, shapeless: np.ndarray, varies: np.ndarray, evenness: float
    ) -> WeightRule:
        """Return the rule for learned weights, given the shapeless dispersion of each view and whether it varies."""
        if not varies.any():
            varies = np.ones(len(varies), dtype=bool)
        even = varies / varies.sum()
        prior = np.where(varies, np.exp((shapeless - shapeless[varies].max()) / evenness), 0.0)
        return cls(even, prior / prior.sum(), evenness)

    def best_weights(self, dispersion: np.ndarray) -> np.ndarray:
        """Return the weights that minimize the objective, given the share of dispersion within clusters per view."""
        if self.evenness is None:
            return self.first
        positive = self.prior > 0
        weights = self.prior * np.exp(-(dispersion - dispersion[positive].min()) / self.evenness)
        return weights / weights.sum()

    def penalty(self, weights: np.ndarray) -> float:
        """Return the penalty for weights that differ from the prior, divided by the sum of the sample weights."""
        if self.evenness is None:
            return 0.0
        return max(self.evenness * float(rel_entr(weights, self.prior).sum()), 0.0)


def shapeless_dispersion(variances: np.ndarray, n_clusters: int) -> float:
    """Return the share of the variance of a Gaussian distribution that remains within ``n_clusters`` clusters.

    ``variances`` contains the variances along the principal axes. The share follows from
    rate-distortion theory: with log(c) nats for c clusters, principal axes whose variance exceeds a
    certain level keep a variance equal to the level, and the other axes keep their variance
    (reverse water-filling; Cover and Thomas, 2006, section 10.3.3).
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
    """Return the variances along the principal axes of a centered table.

    For wide tables, a subset of rows is used.
    """
    n, p = X.shape
    if p <= MAX_DENSE_FEATURES:
        return np.maximum(np.linalg.eigvalsh((X.T * weights) @ X / weights.sum()), 0.0)
    subset = np.unique(np.linspace(0, n - 1, MAX_DENSE_FEATURES).astype(int))
    roots = np.sqrt(weights[subset] / weights[subset].sum())
    centered = (X[subset] - weights[subset] @ X[subset] / weights[subset].sum()) * roots[:, None]
    return np.maximum(np.linalg.eigvalsh(centered @ centered.T), 0.0)


def gram_spectrum(squares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the nonnegative variances along the principal axes, given squared dissimilarities (Torgerson, 1958)."""
    share = weights / weights.sum()
    rows = squares @ share
    gram = (rows[:, None] + rows - squares - share @ rows) / 2
    roots = np.sqrt(share)
    return np.maximum(np.linalg.eigvalsh(gram * roots[:, None] * roots), 0.0)


Model = TypeVar("Model")


class BaseViewMethod(Method[Model, Model]):
    """Common base class of the `WMVEC` algorithms for attributes and for dissimilarities."""

    def __init__(self, params: WMVEC, sample: Sample[Any], request: FitRequest):
        self.params = params
        self.values = sample.values
        self.apply = request.apply
        self.n_clusters = request.n_clusters
        self.rng = as_random_state(params.random_state)
        self.view_names = params._input.names
        self.beta = params._fuzziness(sample.values)
        self.view_weights = params._fixed_weights()
        self.init = params._start(sample.values, request.n_clusters)
        if isinstance(params.delta, str):
            self._delta = None
        else:
            self._delta = float(params.delta)
        self.rule: WeightRule

    @property
    @abstractmethod
    def delta(self) -> float:
        """Distance from each object to the empty set, computed from the data if the parameter ``delta`` is "auto"."""

    def _weight_rule(self, shapeless: np.ndarray, varies: np.ndarray) -> WeightRule:
        if self.view_weights is not None:
            return WeightRule(self.view_weights, self.view_weights, None)
        return WeightRule.from_dispersions(shapeless, varies, float(self.params.evenness))

    def _mass_step(self, family: FocalSets) -> MassStep:
        require_singletons(family)
        if family.empty_index is None:
            delta2 = np.inf
        else:
            delta2 = self.delta**2
        return MassStep(family, self.params.alpha, self.beta, delta2, _ZERO)

    def result(self, run: Run[Model]) -> FitResult:
        """Return the result of a run, with a warning if one view has nearly all of the learned weight."""
        model: Any = run.model
        result = FitResult(run, model, model.masses(self.values, self.apply))
        rule = self.rule
        weights = model.weights
        if rule.evenness is None or (rule.prior > 0).sum() < 2 or weights.max() < _ONE_VIEW:
            return result
        name = self.view_names[int(weights.argmax())]
        share = f"{weights.max():.1%}"
        warning = f"{name!r} has {share} of the weight of all views; increase evenness, got {rule.evenness:g}"
        return replace(result, warnings=(warning,))


# ---- attributes ----------------------------------------------------------------------------------

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

# A row with at most this cost coincides with a prototype (every view is scaled to dispersion 1).
_ZERO = 1e-12
# A view is constant if its dispersion divided by its squared mean is at most this number.
_ROUNDING = 1e-28


@dataclass(frozen=True)
class Coordinates:
    """Standardized coordinates, in which every view has mean zero and total dispersion 1."""

    view: np.ndarray  # (p,), view of each attribute
    origin: np.ndarray  # (p,), mean of each attribute
    # (V,), root mean squared distance from the rows to their mean; 1 if the view is constant
    unit: np.ndarray
    varies: np.ndarray  # (V,), False for a constant view

    @classmethod
    def from_rows(cls, X: np.ndarray, view: np.ndarray, weights: np.ndarray) -> Coordinates:
        """Compute the mean and the scale of a table.

        ``weights`` is empty if all rows have the same weight.
        """
        origin = sampling.mean_of_objects(X, weights)
        if len(weights) == 0:
            shares = np.full(len(X), 1 / len(X))
        else:
            shares = weights / weights.sum()
        squares = np.zeros(X.shape[1])
        for start, stop in row_blocks(len(X)):
            squares += shares[start:stop] @ np.square(X[start:stop] - origin)
        dispersion = np.bincount(view, squares)
        varies = dispersion > _ROUNDING * np.bincount(view, origin**2)
        return cls(view, origin, np.where(varies, np.sqrt(dispersion), 1.0), varies)

    def transform(self, X: np.ndarray) -> np.ndarray:
        return (X - self.origin) / self.unit[self.view]

    def inverse_transform(self, Z: np.ndarray) -> np.ndarray:
        return Z * self.unit[self.view] + self.origin


class ViewSums(NamedTuple):
    """Weighted sums over the rows x with masses m, from which the prototypes and the view weights are updated."""

    objective: float
    total: np.ndarray  # (g,), sums of m(A)^beta for each nonempty set A
    first: np.ndarray  # (g, p), sums of m(A)^beta x
    squares: np.ndarray  # (p,), sums of |A|^alpha m(A)^beta x^2 over the rows and the sets


@dataclass(frozen=True)
class ViewModel:
    """Fitted model of `WMVEC` for attributes, with c prototypes and the weights of V views."""

    step: MassStep
    coordinates: Coordinates
    centers: np.ndarray  # (c, p), prototypes in standardized coordinates
    weights: np.ndarray  # (V,), weights of the views
    # (V,), shares of the dispersion within clusters, which determine the weights
    dispersion: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.step.family

    @property
    def roots(self) -> np.ndarray:
        """Factors that turn standardized coordinates into weighted coordinates, one for each of the p attributes."""
        return np.sqrt(self.weights)[self.coordinates.view]

    def _kernel_arguments(self) -> tuple:
        step = self.step
        scaled = self.centers * self.roots
        sizes = step.sets.sum(axis=1).astype(np.int64)
        offsets = np.append(0, np.cumsum(sizes))
        members = np.ascontiguousarray(np.nonzero(step.sets)[1])
        barycenters = step.averages @ scaled
        spread = step.averages @ np.square(scaled).sum(axis=1) - np.square(barycenters).sum(axis=1)
        inside = np.where(sizes > 1, spread, 0.0)
        return (
            self.roots,
            np.ascontiguousarray(scaled.T),
            offsets,
            members,
            inside,
            *step.kernel_arguments(),
        )

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
        """Return points whose Euclidean distances are the weighted distances between the rows of X."""
        return self.coordinates.transform(X) * self.roots

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: minus the weighted squared distance from the row to the prototype."""
        parts = -np.square(self.placed(X)[0] - self.centers * self.roots).T
        return ClusterEvidence.from_attributes(
            "minus the weighted squared distance to the center", parts
        )

    def sums(self, Z: np.ndarray, weights: np.ndarray, apply: Apply) -> ViewSums:
        """Return the objective and the sums for the updates.

        The rows of Z are in standardized coordinates.
        """
        arguments = self._kernel_arguments()
        factor = self.step.kernel_arguments()[0]

        def sum_block(start: int, stop: int) -> ViewSums:
            part = Z[start:stop]
            powers = np.empty((stop - start, len(self.step.sets)))
            objective = _view_powers(
                part, weights[start:stop] if len(weights) else None, *arguments, powers
            )
            squares = np.einsum("i,id,id->d", powers @ factor, part, part)
            return ViewSums(objective, powers.sum(axis=0), powers.T @ part, squares)

        blocks = apply(sum_block, row_blocks(len(Z)))
        return ViewSums(*(reduce(add, parts) for parts in zip(*blocks, strict=True)))

    def update(self, sums: ViewSums, rule: WeightRule, total: float) -> ViewModel:
        """Return the model with optimal prototypes for fixed masses, and optimal view weights for these prototypes."""
        centers = self.best_centers(sums.total, sums.first)
        factor = self.step.kernel_arguments()[0]
        barycenters = self.step.averages @ centers
        squares = sums.squares + factor @ (
            sums.total[:, None] * barycenters**2 - 2 * barycenters * sums.first
        )
        n_views = len(self.weights)
        dispersion = (
            np.bincount(self.coordinates.view, np.maximum(squares, 0.0), minlength=n_views) / total
        )
        return replace(
            self, centers=centers, weights=rule.best_weights(dispersion), dispersion=dispersion
        )

    def best_centers(self, total: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the optimal prototypes, given two fields of `ViewSums` (Masson and Denoeux, 2008, eq. 22)."""
        sets = self.step.sets
        alpha = self.step.alpha
        size = sets.sum(axis=1)
        H = (sets.T * size ** (alpha - 2) * total) @ sets
        return solve_normal_equations(H, (sets.T * size ** (alpha - 1)) @ first)


class ViewMethod(BaseViewMethod[ViewModel]):
    """Algorithm of `WMVEC` for attributes, which alternates updates of masses, prototypes and view weights."""

    def __init__(self, params: WMVEC, sample: Sample[np.ndarray], request: FitRequest):
        super().__init__(params, sample, request)
        self.weights = sample.kernel_weights
        view = params._input.of_column
        self.coordinates = Coordinates.from_rows(self.values, view, self.weights)
        self.data = self.coordinates.transform(self.values)
        self.rows = Rows(self.data, self.weights, self.apply)
        self.sample, self.sample_weights = self.rows.sample(self.rng)
        _starts.check_different_objects(self.data, self.sample, self.n_clusters, sample.weights)
        self.shapeless = np.array(
            [
                shapeless_dispersion(
                    spectrum(self.sample[:, view == v], self.sample_weights), self.n_clusters
                )
                for v in range(len(self.view_names))
            ]
        )
        self.rule = self._weight_rule(self.shapeless, self.coordinates.varies)
        self._first_roots = np.sqrt(self.rule.first)[view]

    @property
    def delta(self) -> float:
        if self._delta is None:
            squares, which = k_means_distances(
                self.sample * self._first_roots, self.sample_weights, self.n_clusters, self.rng
            )
            self._delta = outlier_distance(np.sqrt(squares), self.sample_weights[which])
        return self._delta

    def _model(self, family: FocalSets, centers: np.ndarray) -> ViewModel:
        first = self.rule.first
        return ViewModel(
            self._mass_step(family), self.coordinates, centers, first, np.ones(len(first))
        )

    def draw_starts(self, family: FocalSets) -> list[ViewModel]:
        if not isinstance(self.init, str):
            return [self._user_start(family, self.init)]
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.params.n_init)
        return [self._draw_start(family, self.init, np.random.RandomState(seed)) for seed in seeds]

    def _user_start(self, family: FocalSets, init: ArrayLike | CredalPartition) -> ViewModel:
        c = self.n_clusters
        p = self.data.shape[1]
        if not isinstance(init, CredalPartition):
            return self._model(
                family, self.coordinates.transform(_starts.validate_centers(init, (c, p)))
            )
        _starts.check_partition(init, len(self.data), c)
        powers = project_masses(init.masses, init.focal_sets, family) ** self.beta
        powers *= self.weights[:, None] if len(self.weights) else 1.0
        model = self._model(family, np.zeros((c, p)))
        return replace(model, centers=model.best_centers(powers.sum(axis=0), powers.T @ self.data))

    def _draw_start(self, family: FocalSets, init: str, rng: np.random.RandomState) -> ViewModel:
        roots = self._first_roots
        if family.empty_index is not None:
            weights = self.sample_weights
        else:
            weights = self._weights_without_outliers
        centers = _starts.draw_centers(self.sample * roots, weights, self.n_clusters, init, rng)
        return self._model(family, centers / np.where(roots > 0, roots, 1.0))

    @cached_property
    def _weights_without_outliers(self) -> np.ndarray:
        """Weights of the sampled rows, zero for isolated ones, which would keep a prototype to themselves."""
        weights = np.where(find_isolated(self.sample * self._first_roots), 0.0, self.sample_weights)
        enough = len(np.unique(self.sample[weights > 0], axis=0)) >= self.n_clusters
        if enough:
            return weights
        return self.sample_weights

    def run_start(self, start: ViewModel) -> Run[ViewModel]:
        if not isinstance(self.init, str):
            return self._run(start, self.data, self.weights)
        return self._run(start, self.sample, self.sample_weights)

    def refine(self, best: Run[ViewModel]) -> Run[ViewModel]:
        if not isinstance(self.init, str) or self.rows.are_all_in(self.sample):
            return best
        return self._run(best.model, self.data, self.weights)

    def extend(self, run: Run[ViewModel], family: FocalSets) -> Run[ViewModel]:
        return self._run(replace(run.model, step=self._mass_step(family)), self.data, self.weights)

    def add_neighbor_pairs(self, run: Run[ViewModel]) -> Run[ViewModel]:
        model = run.model
        if self._delta is None:
            squares = cdist(
                self.sample * model.roots, model.centers * model.roots, "sqeuclidean"
            ).min(axis=1)
            self._delta = outlier_distance(np.sqrt(squares), self.sample_weights)
        step = self._mass_step(FocalSets.neighbors(model.centers * model.roots))
        return Run(replace(model, step=step), run.history, run.converged)

    def _run(self, start: ViewModel, data: np.ndarray, weights: np.ndarray) -> Run[ViewModel]:
        if len(weights):
            total = float(weights.sum())
        else:
            total = float(len(data))

        def step(model: ViewModel) -> tuple[float, ViewModel]:
            sums = model.sums(data, weights, self.apply)
            objective = sums.objective + total * self.rule.penalty(model.weights)
            return objective, model.update(sums, self.rule, total)

        return descend(step, start, max_iter=self.params.max_iter, tol=self.params.tol)


# ---- dissimilarities -----------------------------------------------------------------------------

_SAMPLE_SIZE = 2_000  # maximum number of rows from which initial medoids are drawn
# maximum number of rows from which variances and intrinsic dimensions are estimated
_SPECTRUM_SIZE = 500
MAX_BLOCK_CELLS = 4_000_000  # number of dissimilarities that are squared at once
_RISE = 1e-12  # largest relative increase of the objective that is considered a rounding error


@dataclass(frozen=True)
class MedoidViewModel:
    """Fitted model of `WMVEC` for dissimilarities, with c medoids in each of V views and the weights of the views."""

    step: MassStep
    dispersions: np.ndarray  # (V,), divisors of the squared dissimilarities
    medoids: np.ndarray  # (V, c), index of the medoid of each cluster in each view
    # (V, c, c), squared dissimilarities between the medoids, divided by the dispersions
    between: np.ndarray
    weights: np.ndarray  # (V,), weights of the views
    # (V,), shares of the dispersion within clusters, which determine the weights
    dispersion: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.step.family

    @property
    def squared_medoid_distances(self) -> np.ndarray:
        """Weighted sums over the views of the squared dissimilarities between the medoids, shape (c, c)."""
        return np.einsum("v,vkl->kl", self.weights, self.between)

    def cluster_costs(self, X: ViewMatrices) -> np.ndarray:
        """Return the costs of the c single clusters for n rows, shape (n, c)."""
        out = np.zeros((len(X), self.medoids.shape[1]))
        for D, factor, medoids in zip(
            X.matrices, self.weights / self.dispersions, self.medoids, strict=True
        ):
            out += factor * np.square(D[:, medoids], dtype=float)
        return out

    def costs(self, X: ViewMatrices) -> np.ndarray:
        """Return the costs of the g nonempty sets for n rows, shape (n, g)."""
        averages = self.step.averages
        inside = np.einsum("jk,kl,jl->j", averages, self.squared_medoid_distances, averages) / 2
        return np.maximum(self.cluster_costs(X) @ averages.T - inside, 0.0)

    def masses(self, X: ViewMatrices, apply: Apply) -> np.ndarray:
        """Return the masses of n rows, shape (n, f), given their dissimilarities to the training rows."""
        return self.step.masses(self.costs(X), np.empty(0), apply)[1].astype(X.dtype, copy=False)

    def dissimilarities(self, X: ViewMatrices) -> np.ndarray:
        """Return the dissimilarities from n rows to N training rows, weighted over all views, shape (n, N)."""
        total = np.zeros(X.matrices[0].shape)
        for D, factor in zip(X.matrices, self.weights / self.dispersions, strict=True):
            total += factor * np.square(D, dtype=float)
        return np.sqrt(total)

    def evidence(self, X: ViewMatrices, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: minus the weighted sum of squared dissimilarities to the medoids."""
        n_clusters = self.medoids.shape[1]
        distinct = [np.unique(medoids, return_inverse=True) for medoids in self.medoids]
        views = np.repeat(np.arange(len(distinct)), [len(objects) for objects, _ in distinct])
        positions = np.concatenate([objects for objects, _ in distinct])
        costs = (
            np.array([float(X.matrices[v][0, j]) for v, j in zip(views, positions, strict=True)])
            ** 2
        )
        costs /= self.dispersions[views]
        coefficients = np.zeros((len(positions), n_clusters))
        start = 0
        for weight, (objects, which) in zip(self.weights, distinct, strict=True):
            coefficients[start + which, np.arange(n_clusters)] = weight
            start += len(objects)
        quantity = "minus the weighted squared dissimilarity to the medoids"
        return ClusterEvidence(
            quantity, -costs @ coefficients, None, positions, coefficients, costs, views=views
        )


class MedoidViewMethod(BaseViewMethod[MedoidViewModel]):
    """Algorithm of `WMVEC` for dissimilarities, which alternates updates of masses, medoids and view weights."""

    def __init__(self, params: WMVEC, sample: Sample[ViewMatrices], request: FitRequest):
        super().__init__(params, sample, request)
        n = len(self.values)
        if sample.weights is None:
            self.weights = np.ones(n)
        else:
            self.weights = sample.weights
        self.total = float(self.weights.sum())
        share = self.weights / self.total
        dispersions = np.array([_mean_square(D, share) / 2 for D in self.values.matrices])
        varies = dispersions > 0
        self.dispersions = np.where(varies, dispersions, 1.0)
        sums = np.sum([_weighted_sums(D, share[:, None])[0] / s for D, s in self._views()], axis=0)
        order = np.argsort(sums, kind="stable")
        self.positions, self.sample_weights = sampling.sample_in_order(
            order, self.weights, _SAMPLE_SIZE, self.rng
        )
        if _count_distinct(self.values, self.positions) < self.n_clusters:
            distinct = _count_distinct(self.values, np.flatnonzero(self.weights > 0))
            if distinct < self.n_clusters:
                raise too_few_objects_error(self.n_clusters, distinct, self.weights)
        self.shapeless = self._shapeless_dispersions()
        self.rule = self._weight_rule(self.shapeless, varies)

    def _views(self) -> Iterable[tuple[np.ndarray, float]]:
        return zip(self.values.matrices, self.dispersions, strict=True)

    def _shapeless_dispersions(self) -> np.ndarray:
        subset = np.unique(np.linspace(0, len(self.positions) - 1, _SPECTRUM_SIZE).astype(int))
        which = self.positions[subset]
        weights = self.sample_weights[subset]
        squares = (np.square(D[np.ix_(which, which)], dtype=float) for D in self.values.matrices)
        return np.array(
            [shapeless_dispersion(gram_spectrum(S, weights), self.n_clusters) for S in squares]
        )

    @cached_property
    def _sample_squares(self) -> np.ndarray:
        """Squared dissimilarities between the sampled rows, with the initial view weights."""
        pairs = np.ix_(self.positions, self.positions)
        parts = zip(self.values.matrices, self.rule.first / self.dispersions, strict=True)
        return np.asarray(sum(factor * np.square(D[pairs], dtype=float) for D, factor in parts))

    @cached_property
    def _initial_medoids(self) -> list[np.ndarray]:
        """Initial medoids of each start, as positions in the sample, which do not depend on the order of the rows."""
        n_init = self.params.n_init
        c = self.n_clusters
        rng = np.random.default_rng(self.rng.randint(np.iinfo(np.int32).max))
        if self.params.init == "random":
            chances = self.sample_weights / self.sample_weights.sum()
            return [
                rng.choice(len(self.positions), c, replace=False, p=chances) for _ in range(n_init)
            ]
        return medoid_starts(self._sample_squares, c, n_init, rng, self.sample_weights)

    @property
    def delta(self) -> float:
        if self._delta is None:
            nearest = np.sqrt(self._sample_squares[self._initial_medoids[0]].min(axis=0))
            self._delta = outlier_distance(nearest, self.sample_weights)
        return self._delta

    def _model(self, family: FocalSets, medoids: np.ndarray) -> MedoidViewModel:
        """Return an initial model with the same medoids in all views."""
        first = self.rule.first
        medoids = np.tile(medoids, (len(first), 1))
        step = self._mass_step(family)
        between = self._between(medoids)
        return MedoidViewModel(step, self.dispersions, medoids, between, first, np.ones(len(first)))

    def _between(self, medoids: np.ndarray) -> np.ndarray:
        return np.stack(
            [
                np.square(D[np.ix_(m, m)], dtype=float) / s
                for (D, s), m in zip(self._views(), medoids, strict=True)
            ]
        )

    def draw_starts(self, family: FocalSets) -> list[MedoidViewModel]:
        if not isinstance(self.init, str):
            return [self._user_start(family, self.init)]
        return [self._model(family, self.positions[which]) for which in self._initial_medoids]

    def _user_start(self, family: FocalSets, init: ArrayLike | CredalPartition) -> MedoidViewModel:
        n = len(self.values)
        c = self.n_clusters
        if not isinstance(init, CredalPartition):
            return self._model(family, _starts.validate_positions(init, n, c))
        _starts.check_partition(init, n, c)
        powers = project_masses(init.masses, init.focal_sets, family) ** self.beta
        start = self._update(
            self._model(family, self.positions[:c]), powers * self.weights[:, None]
        )
        return replace(start, weights=self.rule.first)

    def run_start(self, start: MedoidViewModel) -> Run[MedoidViewModel]:
        """Run iterations from an initial model until the objective converges.

        Because negative costs of sets are replaced by zero, new medoids may increase the objective.
        In this case, the run ends with the previous medoids.
        """
        run = Run(start)
        following = start
        for _ in range(self.params.max_iter):
            objective, after = self._step(following)
            if run.history:
                change = run.objective - objective
            else:
                change = np.inf
            if change < -_RISE * abs(objective):
                run.converged = True
                break
            run.model = following
            following = after
            run.history.append(objective)
            if change <= self.params.tol * abs(objective):
                run.converged = True
                break
        return run

    def _step(self, model: MedoidViewModel) -> tuple[float, MedoidViewModel]:
        """Return the objective of a model, and the model after one iteration."""
        objective, masses, _ = model.step.nonempty_masses(
            model.costs(self.values), self.weights, self.apply
        )
        powers = masses**self.beta * self.weights[:, None]
        return objective + self.total * self.rule.penalty(model.weights), self._update(
            model, powers
        )

    def _update(self, model: MedoidViewModel, powers: np.ndarray) -> MedoidViewModel:
        """Optimize one medoid after the other for fixed masses, then the view weights.

        Return the new model.
        """
        factor = model.step.kernel_arguments()[0]
        averages = model.step.averages
        pull = powers @ (factor[:, None] * averages)
        shared = (averages.T * (factor * powers.sum(axis=0))) @ averages
        np.fill_diagonal(shared, 0.0)
        medoids = model.medoids.copy()
        dispersion = np.empty(len(model.weights))
        for v, (D, unit) in enumerate(self._views()):
            totals = _weighted_sums(D, pull) / unit
            dispersion[v] = self._move_medoids(medoids[v], D, unit, totals, shared)
        dispersion = np.maximum(dispersion, 0.0) / self.total
        between = self._between(medoids)
        weights = self.rule.best_weights(dispersion)
        return replace(
            model, medoids=medoids, between=between, weights=weights, dispersion=dispersion
        )

    def _move_medoids(
        self,
        medoids: np.ndarray,
        D: np.ndarray,
        unit: float,
        totals: np.ndarray,
        shared: np.ndarray,
    ) -> float:
        """Replace the medoids of one view in place, and return the dispersion within the clusters.

        ``totals`` contains the cost of each of the n rows as the medoid of each cluster, shape (c,
        n). ``shared`` contains, for each pair of clusters, the weighted mass on sets that include
        both clusters. The cost of such sets decreases as the distance between the two medoids
        increases.
        """
        excluded = np.where(self.weights > 0, 0.0, np.inf)
        for k in range(len(medoids)):
            others = np.flatnonzero(shared[k])
            gain = shared[k, others] @ (np.square(D[medoids[others]], dtype=float) / unit)
            scores = totals[k] - gain + excluded
            best = int(scores.argmin())
            if scores[best] < scores[medoids[k]]:  # An empty cluster keeps its medoid.
                medoids[k] = best
        apart = np.square(D[np.ix_(medoids, medoids)], dtype=float) / unit
        return float(totals[np.arange(len(medoids)), medoids].sum() - (shared * apart).sum() / 2)

    def extend(self, run: Run[MedoidViewModel], family: FocalSets) -> Run[MedoidViewModel]:
        return self.run_start(replace(run.model, step=self._mass_step(family)))

    def add_neighbor_pairs(self, run: Run[MedoidViewModel]) -> Run[MedoidViewModel]:
        model = run.model
        if self._delta is None:
            nearest = np.sqrt(model.cluster_costs(self.values).min(axis=1))
            self._delta = outlier_distance(nearest, self.weights)
        step = self._mass_step(
            FocalSets.neighbors(squared_distances=model.squared_medoid_distances)
        )
        return Run(replace(model, step=step), run.history, run.converged)


def joined_dissimilarities(X: ViewMatrices) -> np.ndarray:
    """Return the dissimilarities over all views with equal weights, shape (n, n)."""
    total = np.zeros((len(X), len(X)))
    for D in X.matrices:
        squares = np.square(D, dtype=float)
        total += squares / (squares.mean() or 1.0)
    return np.sqrt(total)


def total_dimension(X: ViewMatrices) -> float:
    """Return the sum of the intrinsic dimensions of the views, estimated from a subset of the rows."""
    share = np.full((len(X), 1), 1 / len(X))
    order = np.argsort(
        np.sum([_weighted_sums(D, share)[0] for D in X.matrices], axis=0), kind="stable"
    )
    subset = order[np.unique(np.linspace(0, len(X) - 1, _SPECTRUM_SIZE).astype(int))]
    return float(
        sum(intrinsic_dimension(D[np.ix_(subset, subset)].astype(float)) for D in X.matrices)
    )


def _weighted_sums(D: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return an array of shape (c, n) that contains sum_i weights[i, k] D[i, j]^2 in row k and column j."""
    out = np.empty((weights.shape[1], len(D)))
    for start, stop in row_blocks(len(D), max(1, MAX_BLOCK_CELLS // len(D)), most=None):
        out[:, start:stop] = (np.square(D[start:stop], dtype=float) @ weights).T
    return out


def _mean_square(D: np.ndarray, share: np.ndarray) -> float:
    return float(
        sum(share[a:b] @ np.square(D[a:b], dtype=float) @ share for a, b in row_blocks(len(D)))
    )


def _count_distinct(X: ViewMatrices, which: np.ndarray) -> int:
    """Count the distinct rows in ``which``.

    Rows are distinct if they differ in at least one view.
    """
    equal = np.ones((len(which), len(which)), dtype=bool)
    for D in X.matrices:
        equal &= D[np.ix_(which, which)] <= 0
    return len(which) - int(np.tril(equal, -1).any(axis=1).sum())


# ---- the estimator -------------------------------------------------------------------------------

_MAX_SHOWN_VIEWS = 6


class WMVEC(EvidentialClusterer):
    r"""Weighted multi-view evidential clustering, a version of `ECM` for several tables or matrices (views).

    All views describe the same objects and share the masses. Every view has its own prototypes and
    its own weight. The method minimizes, over the masses m, the prototypes and the view weights w,
    which sum to one,

    .. math::

        \sum_i \sum_{A \neq \emptyset} |A|^\alpha m_i(A)^\beta \sum_q w_q d_q(i, A)^2
        + \delta^2 \sum_i m_i(\emptyset)^\beta + \mathrm{evenness} \cdot n \sum_q w_q \log \frac{w_q}{\mathrm{prior}_q},

    where d_q(i, A) is the distance in view q from object i to the prototype of the set A. Masses,
    prototypes and weights are updated in turn, each in closed form, so the objective never
    increases. An iteration costs as much as an iteration of `ECM` on one table with the columns of
    all views.

    **Units.** Each view is scaled so that the mean squared distance from the objects to their mean is 1. The units of a
    view and its number of attributes therefore do not matter. Attributes within a view keep their
    proportions; standardize them if their units differ.

    **Weights.** Let e_q be the share of the dispersion of view q that remains within the clusters. The optimal weights
    w_q are proportional to :math:`\mathrm{prior}_q \exp(-e_q / \mathrm{evenness})`. A uniform prior
    gives the entropy weights of the literature, which put all weight on the view with the fewest
    degrees of freedom, even if it is noise, because clusters that follow this view explain most of
    its dispersion. Here prior_q is proportional to
    :math:`\exp(s_q / \mathrm{evenness})`, where s_q is the share that would remain within the same number of clusters
    of a Gaussian distribution with the covariance of the view. A view gains weight only if the
    clusters explain more of its dispersion than they would in a Gaussian.

    **Dissimilarities.** With ``metric="precomputed"``, the prototype of a cluster is a medoid (an object), which can
    differ between views. The dissimilarities are squared, so Euclidean distances give the same
    costs as attributes. The cost of a set of clusters is computed as for the barycenter of its
    medoids in a Euclidean space.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, with equal view weights (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then contains the candidates and
        the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        With "precomputed", every view is a square matrix of dissimilarities.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    views : None, "attributes" or array-like of shape (n_features,), default=None
        Views, if X is a single table. With None, the table is one view. With "attributes", every
        column is a view, so that the attributes are weighted. An array contains the label of the
        view of each column.
    view_weights : {"auto", "equal"} or array-like of shape (n_views,), default="auto"
        "auto" learns the weights. With "equal" or an array, the weights are fixed; an array is
        divided by its sum. A pandas Series is matched by the names of the views.
    evenness : float from 0.01 to 1000, default=0.4
        Larger values make the weights more equal. Small values put all weight on one view, which
        causes a warning. Results differ little between 0.2 and 0.5.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness; values near 1 give nearly certain masses. "auto" is 1.5 for up to five attributes
        in all views together, smaller for more. For matrices, the intrinsic dimension replaces the
        number of attributes.
    delta : float > 0 or "auto", default="auto"
        Distance from each object to the empty set, in units of the root mean squared distance from
        the objects to their mean; smaller values give more outliers. "auto" is the upper fence of a
        box plot (third quartile plus two interquartile ranges) of the distances from the objects to
        the nearest prototypes.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition, default="k-means++"
        Initial prototypes. "k-means++" uses equal view weights; for matrices it selects medoids far
        from each other. "belief-peaks" or a `BeliefPeaks` uses its centers, without weights.
        Prototypes are tables of ``n_clusters`` rows in the format of X. For matrices, give the
        indices of ``n_clusters`` objects, the initial medoids in all views. A deterministic start
        is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With more than 20,000
        objects the starts are compared on a sample of that size, and the best one is continued with
        all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: a pair is added if each cluster is among this many nearest
        clusters of the other.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    view_weights_ : ndarray of shape (n_views,)
        Weights of the views, which sum to one; a constant view has weight zero.
    view_names_ : list of str
        Names of the views: the keys if X is a dictionary, or "view 0", "view 1", ... if X is a
        list.
    attribute_weights_ : ndarray of shape (n_features,)
        Weights of the attributes (only with ``views="attributes"``).
    view_dispersion_ : ndarray of shape (n_views,)
        Share of the dispersion of each view within the clusters, from which the weights were
        computed.
    shapeless_dispersion_ : ndarray of shape (n_views,)
        Share of the dispersion that would remain within the clusters if the view had a Gaussian
        distribution.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes, in one array with the columns of all views.
    view_of_feature_ : ndarray of shape (n_features,)
        View of each column of ``cluster_centers_``.
    medoid_indices_ : ndarray of shape (n_views, n_clusters)
        Indices of the medoids in each view, with ``metric="precomputed"`` (instead of
        ``cluster_centers_``).
    focal_sets_ : FocalSets
    beta_, delta_ : float
        Values of ``beta`` and ``delta`` that were used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
        Number of features of all views together.

    References
    ----------
    K. Zhou, M. Guo and M. Jiang (2021). Evidential weighted multi-view clustering. BELIEF 2021:
    shared masses, one weight per view. Entropy weights: L. Jing, M. K. Ng and J. Z. Huang (2007).
    An entropy weighting k-means algorithm for subspace clustering of high-dimensional sparse data.
    IEEE Transactions on Knowledge and Data Engineering 19. Dispersion within a Gaussian cloud: T.
    M. Cover and J. A. Thomas (2006). Elements of Information Theory, section 10.3.3; its use for
    view weights is specific to dempster.

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
        | rule.Rule(
            "tables or an array", lambda v: isinstance(v, list | tuple | dict) or rule.array.test(v)
        ),
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
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.symmetrize = symmetrize
        self.views = views
        self.view_weights = view_weights
        self.evenness = evenness
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.init = init
        self.n_neighbor_clusters = n_neighbor_clusters

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : list of tables, dict of str to table, or one table
            Tables of shape (n_samples, n_features of the view), or (n_samples, n_samples) for
            dissimilarities. All tables have the same rows in the same order; rows of pandas tables
            are matched by their names. Data of type float32 keep their precision.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two objects.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight)

    # ---- input -----------------------------------------------------------------------------------

    def _read(self, X: TableLike, *, reset: bool) -> np.ndarray | ViewMatrices:
        if not reset:
            return self._input.read_new(self, X)
        self._input = ViewInput(self.metric, bool(self.symmetrize), self.views)
        return self._input.read_training(self, X)

    def _row_names(self, X: TableLike) -> Index:
        split = split_views(X)
        if split is None:
            return super()._row_names(X)
        return index_of_views(split[1])

    def _extract_attributes(self, X: TableLike) -> TableLike:
        if split_tables(X) is None:
            views = None
        else:
            views = Views.from_input(X)
        if views is None:
            return X
        return views.in_order(self.view_names_).table()

    def _read_objects(self, attributes: TableLike, like: Any) -> np.ndarray | ViewMatrices:
        return self._input.read_joined(self, attributes)

    def _comparison_source(self, values: np.ndarray | ViewMatrices) -> DissimilaritySource:
        if isinstance(values, ViewMatrices):
            return MatrixSource(joined_dissimilarities(values))
        return AttributeSource(
            Coordinates.from_rows(values, self._input.of_column, np.empty(0)).transform(values)
        )

    # ---- the method ------------------------------------------------------------------------------

    def _make_method(
        self, sample: Sample[Any], request: FitRequest
    ) -> ViewMethod | MedoidViewMethod:
        method = MedoidViewMethod if isinstance(sample.values, ViewMatrices) else ViewMethod
        return method(self, sample, request)

    def _fuzziness(self, values: np.ndarray | ViewMatrices) -> float:
        if self.beta != "auto":
            return float(self.beta)
        return default_beta(
            total_dimension(values) if isinstance(values, ViewMatrices) else values.shape[1]
        )

    def _fixed_weights(self) -> np.ndarray | None:
        """Return the fixed weights of the views, divided by their sum, or None if the weights are learned."""
        n_views = len(self._input.names)
        if isinstance(self.view_weights, str):
            if self.view_weights == "auto":
                return None
            return np.full(n_views, 1 / n_views)
        weights = as_reals(reorder_by_names(self.view_weights, self._input.names), "view_weights")
        if (
            weights.shape != (n_views,)
            or not (np.isfinite(weights) & (weights >= 0)).all()
            or not weights.any()
        ):
            raise InvalidParameterError(
                "view_weights",
                f"{n_views} numbers of at least 0, not all zero, one per view ({_shorten(self._input.names)})",
                self.view_weights,
            )
        return weights.astype(float) / weights.sum(dtype=float)

    def _start(
        self, values: np.ndarray | ViewMatrices, n_clusters: int
    ) -> str | ArrayLike | CredalPartition:
        """Return ``init`` as the name of an initialization, an array of prototypes or of indices, or a partition."""
        init = self.init
        if uses_belief_peaks(init):
            peaks = fit_source_peaks(
                init, self._comparison_source(values), n_clusters, self.random_state, self.n_jobs
            )
            assert peaks is not None
            if isinstance(values, ViewMatrices):
                return peaks.peak_indices_
            return values[peaks.peak_indices_]
        if isinstance(init, str | CredalPartition) or isinstance(values, ViewMatrices):
            return init
        split = split_tables(init, "init")
        if split is None:
            return as_reals(init, "init")
        tables = [as_reals(table, "init") for table in split[1]]
        if len(tables) == len(self._input.names):
            widths = np.bincount(self._input.of_column).tolist()
        else:
            widths = []
        if [table.shape for table in tables] != [(n_clusters, width) for width in widths]:
            shapes = ", ".join(str(table.shape) for table in tables)
            raise InvalidParameterError(
                "init",
                must=f"contain a table of {n_clusters} rows for each view ({_shorten(self._input.names)}), with the "
                f"columns of that view, got shapes {shapes}",
            )
        return np.hstack(tables)

    # ---- the result ------------------------------------------------------------------------------

    def _auto_params(self, method: Any) -> dict[str, str]:
        choices = explain_auto_params(self, method)
        if method.rule.evenness is not None and len(self._input.names) > 1:
            model: Any = self._model
            order = np.argsort(-model.weights, kind="stable")
            choices["view_weights"] = _shorten(
                [f"{self._input.names[v]} {model.weights[v]:.2f}" for v in order]
            )
        return choices

    def _fitted_attributes(self, method: Any, model: ViewModel | MedoidViewModel) -> dict[str, Any]:
        fitted = {
            "view_weights_": model.weights,
            "view_names_": list(self._input.names),
            "view_dispersion_": model.dispersion,
            "shapeless_dispersion_": method.shapeless,
            "delta_": method.delta,
            "beta_": method.beta,
        }
        if isinstance(model, MedoidViewModel):
            return {**fitted, "medoid_indices_": model.medoids}
        centers = model.coordinates.inverse_transform(model.centers)
        fitted["cluster_centers_"] = centers.astype(method.values.dtype)
        fitted["view_of_feature_"] = self._input.of_column
        if isinstance(self.views, str):
            return {**fitted, "attribute_weights_": model.weights}
        return fitted

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


def _shorten(names: list[str]) -> str:
    if len(names) > _MAX_SHOWN_VIEWS:
        rest = f" and {len(names) - _MAX_SHOWN_VIEWS} more"
    else:
        rest = ""
    return ", ".join(names[:_MAX_SHOWN_VIEWS]) + rest
