"""Base class of the clusterers: validation of parameters, `fit` and prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import wraps
from html import escape
from inspect import signature
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import (
    Array,
    copy_array,
    freeze,
    is_followed,
    is_sparse,
    is_tensor,
    row_argmax,
    to_device_of,
    to_host,
)
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction, warn_user
from dempster._progress import progress_bar
from dempster._random import as_random_state
from dempster._site import DocumentedEstimator
from dempster._types import Advance, ArrayLike, Index, MaybeUnset, Seed, TableLike
from dempster._validation import (
    check_masses,
    missing_value_advice,
    reorder_like,
    row_index,
    validate_features,
    validate_tensor,
    validate_weights,
)
from dempster.belief import FocalSets
from dempster.cluster._incomplete import add_usual_differences, add_within_variances
from dempster.cluster._open_sample import (
    align_init,
    in_blocks,
    move_results,
    open_sample,
    predict_lazily,
    set_lazy_result,
)
from dempster.cluster._search import (
    FAMILY_NAMES,
    Families,
    FitResult,
    Method,
    Sample,
    Search,
    resolve_families,
)
from dempster.cluster.choice.decision import SOME_ROWS, choose, defer_separation
from dempster.cluster.choice.number import NumberOfClusters
from dempster.constraints import Constraints
from dempster.constraints.constraints import validate_constraints, warn_about_number
from dempster.data.blocks import Blocks
from dempster.data.device import import_torch, to_tensor
from dempster.data.sampling import draw_indices
from dempster.dissimilarity.gower import GowerData, predict_combinations
from dempster.dissimilarity.input import find_spreads, spreads_differ
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import Apply, block_map
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.partition.credal_partition import Deferred, compute_labels

MISSING_RULE = rule.choice("refuse", "partial")
FUZZINESS_RULE = rule.real(1, 50, open_low=True)
# Rules of all parameters that several clusterers have. Only parameters of the constructor are
# validated.
COMMON_RULES: Mapping[str, rule.Rule] = {
    "n_clusters": rule.auto | rule.positive_integer,
    "focal_sets": rule.choice(*FAMILY_NAMES) | rule.kind(FocalSets),
    "alpha": rule.nonnegative,
    "beta": rule.auto | FUZZINESS_RULE,
    "delta": rule.auto | rule.positive,
    "missing": MISSING_RULE,
    "n_init": rule.repetitions(),
    "max_iter": rule.iterations,
    "tol": rule.nonnegative,
    "checkpoint": rule.none | rule.kind(str, Path, words="a path"),
    "device": rule.kind(str, words="the name of a device"),
    "random_state": rule.seed,
    "n_jobs": rule.n_jobs,
    "verbose": rule.verbosity,
}
_MAX_SPREAD_ROWS = 1000  # rows from which the spreads are computed
# share of the errors that clusters must avoid to be combinations of categories
_CLEAR_PREDICTION = 0.9


@dataclass(frozen=True)
class Support:
    """Forms of X that a clusterer supports in addition to arrays and tables in memory."""

    # X may come in blocks; the fit uses a random subset of the rows, or iterates over all blocks
    blocks: bool = False
    block_weights: bool = False  # ``sample_weight`` may come in blocks
    # every iteration is a pass over all blocks; ``checkpoint`` stores the result of each pass
    passes: bool = False
    # the fit needs the sums, over all rows, of the products of two columns
    products: bool = False
    # X may be a torch tensor; the fit then runs on the device of the tensor
    tensors: bool = False
    images: bool = False  # X is an image, which never comes in blocks


@dataclass(frozen=True)
class FitRequest:
    """Arguments of one fit of a clusterer; ``apply`` is a function that runs tasks in parallel."""

    n_clusters: int
    labels: ArrayLike
    constraints: Constraints | None
    apply: Apply
    dissimilarities: ArrayLike = None


class EvidentialClusterer(
    ClusterMixin, TransformerMixin, DocumentedEstimator, BaseEstimator
):
    """Base class of the clusterers.

    A subclass defines the constructor, the rules that validate its parameters (`_rules`), a `fit`
    that calls `_fit`, the algorithm (`_method_type`) and its own fitted attributes
    (`_fitted_attributes`). If X is not an array of attributes, it also overrides `_read`. The base
    class implements everything else, for X in memory, in blocks or on a device.
    """

    # Defaults for clusterers whose constructor lacks these parameters.
    focal_sets: str | FocalSets = "simple"
    tol = 0.0
    missing = "refuse"
    metric: Any = "euclidean"
    device = "cpu"
    checkpoint: str | Path | None = None

    _rules: Mapping[str, rule.Rule] = COMMON_RULES
    _support = Support()
    _min_rows = 1
    _advice = "increase max_iter or tol"  # shown in the convergence warning
    # attributes, besides the parameters, that `predict_mass` reads
    _prediction_state: tuple[str, ...] = (
        "_model",
        "_input",
        "focal_sets_",
        "n_features_in_",
    )
    _method_type: type[Any] = Method  # class of the algorithm
    _model: Any
    focal_sets_: FocalSets
    number_: MaybeUnset[NumberOfClusters]
    credal_partition_: MaybeUnset[Any]
    labels_: MaybeUnset[Any]

    def __init__(
        self,
        n_clusters: int | str | None,
        focal_sets: str | FocalSets,
        n_init: int,
        max_iter: int,
        tol: float,
        random_state: Seed,
        n_jobs: int | None,
        verbose: int,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- overridden by clusterers ----------------------------------------------------------------

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """Validate X and convert it for the algorithm, by default to an array of attributes."""
        return self._validate_attributes(X, reset=reset)

    def _map_blocks(self, source: Blocks) -> Blocks:
        """Convert blocks like `_read` converts rows in memory."""
        return source

    def _validate_attributes(
        self, X: TableLike, *, reset: bool, **options: Any
    ) -> Array:
        """Return X as a C-contiguous array of floats.

        ``options`` are passed to scikit-learn's ``validate_data``.
        """
        min_rows = self._min_rows if reset else 1
        if self._stays_on_device(X):
            return validate_tensor(self, X, reset=reset, min_rows=min_rows, **options)
        return validate_features(self, X, reset=reset, min_rows=min_rows, **options)

    def _stays_on_device(self, X: TableLike) -> bool:
        """Return whether the results for X stay on its device (scikit-learn's array API)."""
        return is_tensor(X) and self._accepts_tensors() and is_followed(X)

    def _accepts_tensors(self) -> bool:
        """Return whether the clusterer can be fitted to a tensor on the device of the tensor."""
        return self._support.tensors and self.missing != "partial"

    def _extract_attributes(self, X: TableLike) -> TableLike:
        """Return the attributes that the model uses for the rows of X, by default X."""
        return X

    def _read_objects(self, attributes: TableLike, like: Any) -> Any:
        """Validate objects with new attributes, and other properties of ``like`` if not None."""
        return self._read(attributes, reset=False)

    def _validate_weights(
        self, sample_weight: ArrayLike, n_objects: int
    ) -> np.ndarray | None:
        """Return the validated weights of the rows, or None if all weights are equal."""
        return validate_weights(sample_weight, n_objects)

    def _row_names(self, X: TableLike) -> Index:
        return row_index(X)

    def _make_method(
        self, sample: Sample[Any], request: FitRequest
    ) -> Method[Any, Any]:
        """Return the algorithm object that fits the rows in ``sample``."""
        return self._method_type(self, sample, request)

    def _fitted_attributes(self, method: Any, model: Any) -> dict[str, Any]:
        """Return the names and values of the fitted attributes that only this class has."""
        return {}

    def _auto_params(self, method: Any) -> dict[str, str]:
        """Return, for each parameter set to "auto", which value was used and why."""
        return {}

    def _min_sample(self) -> int:
        """Return the minimum number of rows to draw if X comes in blocks."""
        return 0

    # ---- fitting ---------------------------------------------------------------------------------

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls.fit = _explain_keywords(cls.fit)

    def _fit(
        self, X: TableLike, sample_weight: ArrayLike = None, **per_row: Any
    ) -> Self:
        """Fit the estimator; an error or an interrupt leaves it unchanged.

        ``per_row`` contains further arguments of `fit`: y, constraints or dissimilarities.
        """
        with fit_transaction(self) as draft:
            result = draft._fit_draft(X, sample_weight, per_row)
        name = type(self).__name__
        for message in (*result.warnings, *outlier_warnings(result)):
            warn_user(f"{name}: {message}")
        self._warn_empty_clusters()
        if not result.run.converged:
            limit = f"max_iter={self.max_iter} iterations"
            message = f"{name} did not converge in {limit}; {self._advice}"
            warn_user(message, ConvergenceWarning)
        return self

    def _fit_silently(
        self, X: TableLike, sample_weight: ArrayLike, **per_row: Any
    ) -> FitResult:
        """Fit the estimator without warnings."""
        with fit_transaction(self) as draft:
            return draft._fit_draft(X, sample_weight, per_row, warn=False)

    def _unit_warnings(self, values: Any) -> list[str]:
        """Return a warning if the units of the attributes differ, as `spreads_differ` decides."""
        if isinstance(values, AttributeSource) and values.is_euclidean:
            values = values.objects
        is_table = isinstance(values, np.ndarray) and values.ndim == 2
        if not is_table or self.metric == "cosine":
            return []
        values = values[:, : self.n_features_in_]
        spreads = find_spreads(values[:: max(len(values) // _MAX_SPREAD_ROWS, 1)])
        if not spreads_differ(spreads):
            return []
        names = getattr(self, "feature_names_in_", range(len(spreads)))
        least, most = (
            f"{spreads[k]:.3g} (column {names[k]})"
            for k in (np.where(spreads > 0, spreads, np.inf).argmin(), spreads.argmax())
        )
        problem = f"the spreads of the columns range from {least} to {most}"
        return [f"{problem}, so that those of large spread decide alone; standardize X"]

    def _category_warnings(self, values: Any) -> list[str]:
        """Return a warning if the categories of the objects determined the number of clusters."""
        table = getattr(values, "objects", None)
        if "number_" not in vars(self) or not isinstance(table, GowerData):
            return []
        if table.numeric.shape[1] == 0:
            return []
        prediction = predict_combinations(table.codes, self.labels_)
        if prediction < _CLEAR_PREDICTION:
            return []
        return [
            f"the objects of each of the {self.n_clusters_} clusters have the same categories; "
            "give n_clusters, or leave out columns whose categories should not separate clusters"
        ]

    def _warn_empty_clusters(self) -> None:
        """Warn if a cluster is the most plausible one of no object."""
        labels = getattr(self, "labels_", None)
        if not isinstance(labels, np.ndarray):
            return
        sizes = np.bincount(labels.ravel(), minlength=self.n_clusters_)
        n_empty = int((sizes == 0).sum())
        if n_empty:
            message = (
                f"{type(self).__name__}: {n_empty} of {self.n_clusters_} clusters contain no "
                "object; reduce n_clusters"
            )
            warn_user(message)

    def _forget_stream(self) -> None:
        """Delete the results of earlier calls of `partial_fit` and `update`."""
        for name in ("_online", "_stream", "_memory", "_n_born"):
            self.__dict__.pop(name, None)

    def _fit_draft(
        self,
        X: TableLike,
        sample_weight: ArrayLike,
        per_row: dict[str, Any],
        *,
        warn: bool = True,
    ) -> FitResult:
        """Run the algorithm, set all fitted attributes and return the result.

        ``warn`` is whether to warn about X, before the computation begins.
        `fit_transaction` restores the parameters that this method changes.
        """
        self._check_parameters()
        self._forget_stream()
        with (
            block_map(self.n_jobs) as apply,
            open_sample(self, X, sample_weight, per_row, apply, warn=warn) as sample,
        ):
            constraints = per_row.get("constraints")
            if constraints is not None:
                constraints = validate_constraints(
                    constraints, len(sample.values), sample.index
                )
            labels = reorder_like(per_row.get("y"), sample.index)
            dissimilarities = reorder_like(per_row.get("dissimilarities"), sample.index)
            n_clusters = self._find_n_clusters(sample, apply)
            if constraints is not None:
                warn_about_number(constraints, n_clusters, sample.index)
            request = FitRequest(
                n_clusters, labels, constraints, apply, dissimilarities
            )
            is_separated = self._defer_separation(sample)
            if self.missing == "partial":
                sample = add_within_variances(sample, n_clusters)
            align_init(self, sample.index)
            search = Search(self.tol, apply, self._open_progress, self.n_jobs)
            method, run = self._run_search(search, sample, request)
            result = method.result(run)
            while "number_" in vars(self):
                # The selected number is that of another method; this one may use fewer clusters.
                n_used = _count_used_clusters(result, apply)
                if n_used == request.n_clusters:
                    break
                request = replace(request, n_clusters=n_used)
                method, run = self._run_search(search, sample, request)
                result = method.result(run)
            if result.is_separated is not None:
                is_separated = result.is_separated
            found = (*result.warnings, *self._unit_warnings(sample.values))
            result = replace(result, warnings=found, is_separated=is_separated)
            self._model = result.model
            auto_params = {}
            if "number_" in vars(self):
                auto_params["n_clusters"] = self.number_.reasons()
                if request.n_clusters < n_clusters:
                    used = f"{type(self).__name__} used {request.n_clusters} of them"
                    auto_params["n_clusters"] += f"; {used}"
            auto_params.update(self._auto_params(method))
            metadata = self._set_result(result, sample, auto_params, apply)
            found = (*result.warnings, *self._category_warnings(sample.values))
            result = replace(result, warnings=found)
            self.__dict__.update(self._fitted_attributes(method, self._model))
            if "n_init" in self.get_params():
                self.n_starts_ = method.n_starts_drawn
            if method.used_tol is not None:
                self.tol_ = float(method.used_tol)
            if sample.blocks is not None:
                set_lazy_result(self, sample.blocks, metadata)
            if sample.device is not None:
                move_results(self, X)
        return result

    def _set_result(
        self,
        result: FitResult,
        sample: Sample[Any],
        auto_params: dict[str, str],
        apply: Apply,
        n_iter: int | None = None,
    ) -> dict[str, Any]:
        """Set the attributes that all clusterers have, and return the metadata of the partition.

        The partition and the labels are those of the rows in memory, if their masses are known.
        ``n_iter`` is the number of iterations, by default the length of the history.
        """
        run = result.run
        masses = result.masses
        is_lazy = isinstance(masses, Blocks)
        if masses is not None and not is_lazy:
            check_masses(masses)
        if not np.isfinite(run.objective):
            message = f"the objective is {run.objective}; scale X or use less extreme parameters"
            raise InvalidParameterError("X", message=message)
        self._model = result.model
        family = result.model.family
        self.focal_sets_ = family
        self.n_clusters_ = family.n_clusters
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = len(run.history) if n_iter is None else n_iter
        self.converged_ = bool(run.converged)
        parameters = {}
        for name, value in self.get_params(deep=False).items():
            if value is None or isinstance(value, bool | int | float | str):
                parameters[name] = value
        metadata = {
            "method": type(self).__name__,
            "parameters": parameters,
            "choices": auto_params,
            "separated": result.is_separated,
            "objective": self.objective_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "random_state": self.random_state,
        }
        if masses is None:
            return metadata
        if is_lazy:
            self.credal_partition_ = LazyCredalPartition(masses, family, metadata)
            return metadata
        if sample.device is not None and not is_sparse(masses):
            masses = to_tensor(masses, sample.device)
        partition = CredalPartition.unchecked(
            masses, family, sample.index, metadata=metadata
        )
        compute_labels(partition, apply)
        labels = partition.labels
        if sample.device is None:  # The masses may be on the device of the computation.
            partition = partition.to_numpy()
            partition.labels = freeze(to_host(labels))
        self.credal_partition_ = partition
        self.labels_ = copy_array(partition.labels)
        return metadata

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[Method[Any, Any], Run[Any]]:
        """Return the algorithm object and the best of its runs."""
        method = self._make_method(sample, request)
        families = self._resolve_families(request.n_clusters)
        return method, search.run(method, families, sample.weights)

    def _requested_clusters(self) -> int | None:
        if isinstance(self.n_clusters, str):
            return None
        return self.n_clusters

    def _find_n_clusters(self, sample: Sample[Any], apply: Apply) -> int:
        """Return the number of clusters, selected from the data if ``n_clusters`` is "auto"."""
        n_clusters = self._requested_clusters()
        if n_clusters is not None:
            return int(n_clusters)
        if isinstance(self.focal_sets, FocalSets):
            return self.focal_sets.n_clusters
        rng = as_random_state(self.random_state)
        source = self._open_comparison(sample)
        choice = choose(source, sample.weights, rng, apply, scale=False)
        self.number_ = choice.number
        return self.number_.best

    def _defer_separation(self, sample: Sample[Any]) -> bool | Deferred | None:
        """Return whether the rows form several clusters; None if this is not examined.

        If the number of clusters is given, this is computed when it is first read, because it
        may take longer than a fit.
        """
        if "number_" in vars(self):
            return True
        if self._requested_clusters() in (None, 1):
            return None
        if is_tensor(sample.values):  # Few rows leave the device.
            some = draw_indices(len(sample.values), SOME_ROWS)
            values = to_host(sample.values[to_device_of(some, sample.values)])
            weights = None
            if sample.weights is not None:
                weights = sample.weights[some]
            sample = replace(sample, values=values, weights=weights)
        return defer_separation(self._open_comparison(sample), sample.weights)

    def _open_comparison(self, sample: Sample[Any]) -> DissimilaritySource:
        """Return the dissimilarities by which numbers of clusters are compared."""
        source = self._comparison_source(sample.values)
        if self.missing == "partial":
            return add_usual_differences(source)
        return source

    def _comparison_source(self, values: Any) -> DissimilaritySource:
        """Return dissimilarities of validated rows; Euclidean distances for an array."""
        if isinstance(values, DissimilaritySource):
            return values
        rows = to_host(values)
        return AttributeSource(rows.reshape(len(rows), -1))  # for images

    def _resolve_families(self, n_clusters: int) -> Families:
        return resolve_families(self.focal_sets, n_clusters)

    def _check_parameters(self) -> None:
        for name, value in self.get_params(deep=False).items():
            rule.check(value, name, self._rules[name])
        if isinstance(self.focal_sets, FocalSets):
            requested = self._requested_clusters()
            n_clusters = self.focal_sets.n_clusters
            if requested not in (None, n_clusters):
                must = f"have n_clusters={requested} clusters, got {n_clusters}"
                raise InvalidParameterError("focal_sets", must=must)
        if self.device != "cpu" and self._support.passes:
            if self.missing == "partial":
                expected = f"'refuse' if device={self.device!r}"
                raise InvalidParameterError("missing", expected, self.missing)
            import_torch(self.device)

    def _open_progress(
        self, total: int | None, unit: str
    ) -> AbstractContextManager[Advance]:
        return progress_bar(type(self).__name__, total, unit, shown=bool(self.verbose))

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram and the summary of the partition, unless it is lazy."""
        page = super()._repr_html_inner()
        partition = getattr(self, "credal_partition_", None)
        if isinstance(partition, CredalPartition):
            page += f"<pre>{escape(str(partition.summary()))}</pre>"
        return page

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = missing_value_advice(self) is None
        tags.array_api_support = self._accepts_tensors()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- new rows --------------------------------------------------------------------------------

    def predict_mass(self, X: TableLike) -> Any:
        """Return the credal partition of new objects.

        Parameters
        ----------
        X : array-like
            New objects in the same form as in `fit`. If ``metric="precomputed"``, row i contains
            the dissimilarities between new object i and the training objects.

        Returns
        -------
        CredalPartition
            Masses of the new objects; a `LazyCredalPartition` if X comes in blocks.
        """
        check_is_fitted(self, "focal_sets_")
        if in_blocks(self, X, new=True):
            return predict_lazily(self, X)
        values = self._read(X, reset=False)
        with block_map(self.n_jobs) as apply:
            masses = self._compute_masses(values, apply)
        if self._stays_on_device(X):
            masses = to_device_of(masses, X)
        return CredalPartition.unchecked(
            check_masses(masses), self.focal_sets_, self._row_names(X)
        )

    def _compute_masses(self, values: Any, apply: Apply) -> Array:
        """Return the masses of n validated rows on the f focal sets, shape (n, f)."""
        return self._model.masses(values, apply)

    def predict(self, X: TableLike) -> Array:
        """Return, for each new object, the cluster with the largest plausibility.

        Parameters
        ----------
        X : array-like
            New objects in the same form as in `predict_mass`.

        Returns
        -------
        array of shape (n_samples,)
            Clusters 0, ..., c-1; a lazy array if X comes in blocks.
        """
        partition = self.predict_mass(X)
        if isinstance(partition, CredalPartition):
            return copy_array(partition.labels)
        return partition.labels

    def predict_proba(self, X: TableLike) -> Any:
        """Return the pignistic probabilities of the clusters for new objects.

        They divide the mass of each set of clusters equally among its clusters. The mass on the
        empty set is divided in proportion to the result. The most probable cluster may differ from
        `predict`, which returns the most plausible cluster.

        Parameters
        ----------
        X : array-like
            New objects in the same form as in `predict_mass`.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            Probabilities of the clusters; a lazy array if X comes in blocks.
        """
        return self.predict_mass(X).pignistic()

    def transform(self, X: TableLike) -> Any:
        """Return the masses of new objects as features, for example for a classifier in a pipeline.

        Parameters
        ----------
        X : array-like
            New objects in the same form as in `predict_mass`.

        Returns
        -------
        array of shape (n_samples, n_focal_sets)
            Masses on the focal sets in the order of ``focal_sets_``; a lazy array if X comes in
            blocks, or a table if `set_output` was called.
        """
        return _writable_masses(self.predict_mass(X))

    def fit_transform(
        self, X: TableLike, y: ArrayLike = None, **fit_params: Any
    ) -> Any:
        """Fit the clusterer and return the masses of the training objects (see `transform`).

        Parameters
        ----------
        X, y, **fit_params
            Arguments of `fit`.

        Returns
        -------
        array of shape (n_samples, n_focal_sets)
            Masses on the focal sets.
        """
        return _writable_masses(self.fit(X, y, **fit_params).credal_partition_)

    def get_feature_names_out(self, input_features: ArrayLike = None) -> np.ndarray:
        """Return the names of the columns of `transform`, such as "mass {0, 1}".

        Parameters
        ----------
        input_features : ignored
            Accepted because pipelines pass the names of the columns of X.

        Returns
        -------
        ndarray of str objects
            One name for each focal set.
        """
        check_is_fitted(self, "focal_sets_")
        names = [f"mass {name}".replace(",", ", ") for name in self.focal_sets_.names()]
        return np.array(names, object)


def _explain_keywords(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``fit`` with an error for unknown arguments that names the class of the object."""
    known = signature(fit).parameters

    @wraps(fit)
    def checked_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() - known.keys():
            message = f"{type(self).__name__}.fit() got an unexpected argument {name!r}"
            if name == "constraints":
                message += (
                    "; CredalClustering, EVCLUS, NNEVCLUS and CECM accept constraints"
                )
            raise TypeError(message)
        return fit(self, *args, **kwargs)

    return checked_fit


def _writable_masses(partition: Any) -> Any:
    """Return the masses, copied if in memory, because the masses of a partition are read-only."""
    if isinstance(partition, CredalPartition):
        return copy_array(partition.masses)
    return partition.masses


def outlier_warnings(result: FitResult) -> list[str]:
    """Return a warning if most objects are outliers."""
    empty = result.model.family.empty_index
    if empty is None or result.masses is None:
        return []
    if not is_sparse(result.masses):
        # The largest mass is at least the mean.
        is_large = result.masses[:, empty] * result.masses.shape[1] >= 1
        if float(is_large.sum()) <= 0.5 * len(is_large):
            return []
    are_outliers = row_argmax(result.masses) == empty
    share = float(are_outliers.sum()) / len(are_outliers)
    if share <= 0.5:
        return []
    problem = f"{share:.0%} of the objects are outliers (largest mass on the empty set)"
    return [f"{problem}; scale X or use other parameters"]


def _count_used_clusters(result: FitResult, apply: Apply) -> int:
    """Return the number of clusters that are the most plausible ones of some rows in memory."""
    family = result.model.family
    if result.masses is None or isinstance(result.masses, Blocks):
        return family.n_clusters
    partition = CredalPartition.unchecked(result.masses, family)
    compute_labels(partition, apply)
    return len(np.unique(to_host(partition.labels)))
