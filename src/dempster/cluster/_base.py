"""Base class of the clusterers, which implements the validation of parameters, `fit` and prediction."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, copy_array, is_followed, is_tensor, to_device_of, to_host
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._progress import progress_bar
from dempster._site import DocumentedEstimator
from dempster._types import Advance, ArrayLike, Index, MaybeUnset, Seed, TableLike
from dempster._validation import (
    check_masses,
    column_names,
    match_names,
    missing_value_advice,
    reorder_like,
    row_index,
    validate_features,
    validate_weights,
)
from dempster.belief import FocalSets
from dempster.cluster._incomplete import add_usual_differences, add_within_variances
from dempster.cluster._search import (
    FAMILY_NAMES,
    Families,
    FitResult,
    MassModel,
    Method,
    Sample,
    Search,
    resolve_families,
)
from dempster.cluster.number_of_clusters import NumberOfClusters, compare_numbers
from dempster.constraints import Constraints
from dempster.constraints.constraints import validate_constraints
from dempster.data.blocks import Blocks, comes_in_blocks
from dempster.data.device import import_torch
from dempster.data.in_process import open_blocks
from dempster.data.passes import Journal, PassRunner
from dempster.data.rows import BlockRows
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import Apply, block_map
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.partition.credal_partition import compute_labels

COMMON_RULES: Mapping[str, rule.Rule] = {
    "n_clusters": rule.choice("auto") | rule.integer(1),
    "focal_sets": rule.choice(*FAMILY_NAMES) | rule.kind(FocalSets),
    "n_init": rule.repetitions(),
    "max_iter": rule.iterations(),
    "tol": rule.real(0),
    "n_neighbor_clusters": rule.integer(1),
    "random_state": rule.seed,
    "n_jobs": rule.n_jobs,
    "verbose": rule.verbosity,
}
MISSING_RULE = rule.choice("refuse", "partial")

_LOG = logging.getLogger("dempster")
_PREDICTION_ATTRIBUTES = ("_model", "_input", "focal_sets_", "n_features_in_")
_LARGE_ATTRIBUTES = ("_online", "_shepard", "_evclus", "_peaks", "_fits")  # unused by prediction
_IRRELEVANT_PARAMS = ("checkpoint", "n_jobs", "verbose")  # parameters that do not change the result


@dataclass(frozen=True)
class Support:
    """Forms of X that a clusterer supports in addition to arrays and tables in memory."""

    # X may come in blocks; the fit uses a random subset of the rows, or iterates over all blocks
    blocks: bool = False
    block_weights: bool = False  # ``sample_weight`` may come in blocks
    # every iteration is a pass over all blocks; ``checkpoint`` stores the result of each pass
    passes: bool = False
    products: bool = False  # the fit needs the sums, over all rows, of the products of two columns
    tensors: bool = False  # X may be a torch tensor; the fit then runs on the device of the tensor


@dataclass(frozen=True)
class FitRequest:
    """Arguments of one fit of a clusterer; ``apply`` is a function that runs tasks in parallel."""

    n_clusters: int
    labels: ArrayLike
    constraints: Constraints | None
    apply: Apply
    dissimilarities: ArrayLike = None


class EvidentialClusterer(ClusterMixin, TransformerMixin, DocumentedEstimator, BaseEstimator):
    """Base class of the clusterers.

    A subclass defines the constructor, the rules that validate its parameters (`_rules`), a `fit`
    that calls `_fit`, the algorithm (`_make_method`) and its own fitted attributes
    (`_fitted_attributes`). If X is not an array of attributes, it also overrides `_read`. The base
    class implements everything else, for X in memory, in blocks or on a device.
    """

    # Defaults for clusterers whose constructor lacks these parameters.
    focal_sets: str | FocalSets = "simple"
    n_neighbor_clusters = 1
    tol = 0.0
    missing = "refuse"
    checkpoint: str | Path | None = None

    _rules: Mapping[str, rule.Rule] = COMMON_RULES
    _support = Support()
    _min_rows = 1
    _advice = "increase max_iter or tol"  # shown in the convergence warning
    _model: MassModel[Any]
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
        """Validate X and convert it for the algorithm.

        The default implementation returns an array of attributes.
        """
        return self._validate_attributes(X, reset=reset)

    def _validate_attributes(self, X: TableLike, *, reset: bool, **options: Any) -> Array:
        """Return X as a C-contiguous array of floats.

        ``options`` are passed to scikit-learn's ``validate_data``.
        """
        if reset:
            min_rows = self._min_rows
        else:
            min_rows = 1
        return validate_features(
            self, X, reset=reset, min_rows=min_rows, stay=self._stays_on_device(X), **options
        )

    def _stays_on_device(self, X: TableLike) -> bool:
        """Return whether X is a tensor and scikit-learn's array API dispatch keeps the results on its device."""
        return is_tensor(X) and self._accepts_tensors() and is_followed(X)

    def _accepts_tensors(self) -> bool:
        """Return whether the clusterer can be fitted to a tensor on the device of the tensor."""
        return self._support.tensors and self.missing != "partial"

    def _extract_attributes(self, X: TableLike) -> TableLike:
        """Return the attributes that the model uses for the rows of X.

        The default implementation returns X.
        """
        return X

    def _read_objects(self, attributes: TableLike, like: Any) -> Any:
        """Validate objects with the given attributes, and further properties of ``like`` unless ``like`` is None."""
        return self._read(attributes, reset=False)

    def _validate_weights(self, sample_weight: ArrayLike, n_objects: int) -> np.ndarray | None:
        """Return the validated weights of the rows, or None if all weights are equal."""
        return validate_weights(sample_weight, n_objects)

    def _row_names(self, X: TableLike) -> Index:
        return row_index(X)

    def _make_method(self, sample: Sample[Any], request: FitRequest) -> Method[Any, Any]:
        """Return the algorithm object that fits the rows in ``sample``."""
        raise NotImplementedError

    def _fitted_attributes(self, method: Any, model: Any) -> dict[str, Any]:
        """Return the fitted attributes that only this class has, as a dictionary of names and values."""
        return {}

    def _auto_params(self, method: Any) -> dict[str, str]:
        """Return a dictionary that explains, for each parameter set to "auto", which value was used and why."""
        return {}

    def _map_blocks(self, source: Blocks) -> Blocks:
        """Return the blocks of X, converted for the algorithm.

        The default implementation does not change them.
        """
        return source

    def _min_sample(self) -> int:
        """Return the minimum number of rows to draw if X comes in blocks."""
        return 0

    # ---- fitting ---------------------------------------------------------------------------------

    def _fit(
        self,
        X: TableLike,
        labels: ArrayLike = None,
        *,
        sample_weight: ArrayLike = None,
        constraints: Constraints | None = None,
        dissimilarities: ArrayLike = None,
    ) -> Self:
        """Fit the estimator; an error or an interrupt leaves it unchanged."""
        per_row = {"constraints": constraints, "dissimilarities": dissimilarities, "y": labels}
        with fit_transaction(self) as draft:
            draft.__dict__.pop("_online", None)  # sums of earlier calls of `partial_fit`
            result = draft._fit_all(X, sample_weight, per_row)
        for message in result.warnings:
            warnings.warn(f"{type(self).__name__}: {message}", UserWarning, stacklevel=3)
        if not result.run.converged:
            message = f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations; {self._advice}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return self

    def _fit_all(
        self, X: TableLike, sample_weight: ArrayLike, per_row: dict[str, Any]
    ) -> FitResult:
        """Run the algorithm, set all fitted attributes and return the result."""
        self._check_parameters()
        with (
            block_map(self.n_jobs) as apply,
            self._open_sample(X, sample_weight, per_row, apply) as sample,
        ):
            if per_row["constraints"] is not None:
                per_row["constraints"] = validate_constraints(
                    per_row["constraints"], len(sample.values)
                )
            for name in ("y", "dissimilarities"):
                if per_row[name] is not None:
                    per_row[name] = reorder_like(per_row[name], sample.index)
            n_clusters = self._find_n_clusters(sample, apply)
            request = FitRequest(
                n_clusters, per_row["y"], per_row["constraints"], apply, per_row["dissimilarities"]
            )
            if self.missing == "partial":
                sample = add_within_variances(sample, n_clusters)
            init = getattr(self, "init", None)
            is_named = init is None or isinstance(init, str)
            if not is_named:
                self.init = self._align_init(init, sample.index)
            progress = partial(progress_bar, type(self).__name__, shown=bool(self.verbose))
            method, run = self._run_search(
                Search(self.tol, apply, progress, self.n_jobs), sample, request
            )
            if not is_named:
                self.init = init
            result = method.result(run)
            self._model = result.model
            if "number_" in vars(self):
                auto_params = {"n_clusters": self.number_.reasons()}
            else:
                auto_params = {}
            auto_params |= self._auto_params(method)
            stays = self._stays_on_device(X)
            if stays:
                masses = to_device_of(result.masses, X)
            else:
                masses = result.masses
            check_masses(masses)
            if not np.isfinite(result.run.objective):
                message = f"the objective is {result.run.objective}; scale X or use less extreme parameters"
                raise InvalidParameterError("X", message=message)
            self.focal_sets_ = self._model.family
            self.n_clusters_ = self.focal_sets_.n_clusters
            self.objective_ = result.run.objective
            self.history_ = np.asarray(result.run.history)
            self.n_iter_ = len(result.run.history)
            self.converged_ = bool(result.run.converged)
            metadata = self._make_metadata(auto_params)
            self.credal_partition_ = CredalPartition.unchecked(
                masses, self.focal_sets_, sample.index, metadata=metadata
            )
            compute_labels(self.credal_partition_, apply)
            self.labels_ = copy_array(self.credal_partition_.labels)
            self.__dict__.update(self._fitted_attributes(method, self._model))
            if sample.blocks is not None:
                self._set_lazy_result(sample.blocks)
            if stays:
                self._move_to(X)
        return result

    @contextmanager
    def _open_sample(
        self, X: TableLike, sample_weight: ArrayLike, per_row: dict[str, Any], apply: Apply
    ) -> Iterator[Sample[Any]]:
        """Yield the rows to fit, which are all rows of X in memory, or a random subset if X comes in blocks."""
        if isinstance(X, np.ndarray) or not self._comes_in_blocks(X):
            if self.checkpoint is not None and self._support.passes:
                must = f"be None if X is in memory, got {str(self.checkpoint)!r}; pass [X] to fit X as one block"
                raise InvalidParameterError("checkpoint", must=must)
            yield self._read_sample(X, sample_weight)
            return
        per_row = per_row | {
            "sample_weight": None if self._support.block_weights else sample_weight
        }
        for argument, value in per_row.items():
            if value is not None:
                raise InvalidParameterError(argument, must="be None if X comes in blocks")
        if isinstance(getattr(self, "init", None), CredalPartition):
            raise InvalidParameterError(
                "init", "prototypes or a name if X comes in blocks, not a partition"
            )
        name = type(self).__name__
        with progress_bar(
            f"{name}, passes over X", None, " passes", shown=bool(self.verbose)
        ) as advance:
            source = self._open_blocks(X)
            journal = self._open_journal(source, weighted=sample_weight is not None)
            mark = {"is_pass": True}  # for log handlers that count passes

            def log(purpose: str) -> None:
                _LOG.info("%s: a pass over X begins, for %s", name, purpose, extra=mark)

            runner = PassRunner(apply, journal, log, advance)
            rows = BlockRows(
                source,
                self._map_blocks(source),
                sample_weight,
                self.random_state,
                runner,
                products=self._support.products,
                min_sample=self._min_sample(),
            )
            check_enough_rows(len(rows), self._requested_clusters())
            values = self._read(named_rows(rows.values, source), reset=True)
            yield Sample(values, rows.weights if len(rows.weights) else None, blocks=rows)

    def _read_sample(self, X: TableLike, sample_weight: ArrayLike) -> Sample[Any]:
        """Validate X in memory and the weights of its rows, and return them."""
        values = self._read(X, reset=True)
        check_enough_rows(len(values), self._requested_clusters())
        if isinstance(X, np.ndarray):
            names = None
        else:
            names = self._row_names(X)
        weights = None
        if sample_weight is not None:
            weights = self._validate_weights(reorder_like(sample_weight, names), len(values))
        return Sample(values, weights, names, device=X.device if self._stays_on_device(X) else None)

    def _align_init(self, init: Any, index: Index) -> Any:
        """Return ``init`` with rows and columns in the order of the rows and columns of X."""
        if isinstance(init, CredalPartition):
            try:
                order = match_names(init.index, index)
            except InvalidParameterError as error:
                must = f"be a partition of the rows of X: {error}"
                raise InvalidParameterError("init", must=must) from error
            if order is None:
                return init
            return init[order]
        init = reorder_like(init, index)
        names = list(getattr(self, "feature_names_in_", []))
        columns = column_names(init)
        if (
            columns is None
            or columns == names
            or len(columns) != len(names)
            or set(columns) != set(names)
        ):
            return init
        return init[names]

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[Method[Any, Any], Run[Any]]:
        """Return the algorithm object and the best of its runs."""
        method = self._make_method(sample, request)
        return method, search.run(
            method, self._resolve_families(request.n_clusters), sample.weights
        )

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
        source = self._comparison_source(sample.values)
        if self.missing == "partial":
            source = add_usual_differences(source)
        self.number_ = compare_numbers(source, sample.weights, None, self.random_state, apply)
        return self.number_.best

    def _comparison_source(self, values: Any) -> DissimilaritySource:
        """Return the dissimilarities that select the number of clusters.

        The default is the Euclidean distance.
        """
        return AttributeSource(to_host(values))

    def _resolve_families(self, n_clusters: int) -> Families:
        return resolve_families(self.focal_sets, n_clusters, self.n_neighbor_clusters)

    def _check_parameters(self) -> None:
        rule.check_parameters(self, self._rules)
        family = self.focal_sets
        if isinstance(family, FocalSets) and self._requested_clusters() not in (
            None,
            family.n_clusters,
        ):
            must = f"have n_clusters={self._requested_clusters()} clusters, got {family.n_clusters}"
            raise InvalidParameterError("focal_sets", must=must)
        device = getattr(self, "device", "cpu")
        if device != "cpu" and self._support.passes:
            if self.missing == "partial":
                raise InvalidParameterError(
                    "missing", f"'refuse' if device={device!r}", self.missing
                )
            import_torch(device)

    def _open_progress(self, total: int | None, unit: str) -> AbstractContextManager[Advance]:
        return progress_bar(type(self).__name__, total, unit, shown=bool(self.verbose))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "partial" and missing_value_advice(self) is None
        tags.array_api_support = self._accepts_tensors()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # ---- blocks ----------------------------------------------------------------------------------

    def _comes_in_blocks(self, X: TableLike, *, new: bool = False) -> bool:
        """Return whether X comes in blocks.

        Raise an error if the clusterer does not support blocks.
        """
        if not comes_in_blocks(X):
            return False
        if isinstance(X, list | tuple) and not self._support.blocks:
            return False
        if not (self._support.blocks or new):
            must = f"be an array or a table in memory for {type(self).__name__}, got blocks ({type(X).__name__})"
            raise InvalidParameterError("X", must=must)
        if not new and getattr(self, "metric", None) == "precomputed":
            raise InvalidParameterError(
                "X", must="be in memory, not in blocks, if metric='precomputed'"
            )
        return True

    def _open_blocks(self, X: TableLike) -> Blocks:
        return open_blocks(X, self.n_jobs, missing=missing_value_advice(self) is None)

    def _open_journal(self, source: Blocks, *, weighted: bool) -> Journal | None:
        """Open the checkpoint file, or return None if the parameter ``checkpoint`` is not set."""
        if self.checkpoint is None or not self._support.passes:
            return None
        if not isinstance(self.random_state, int | np.integer):
            # A resumed fit must draw the same rows as the interrupted fit.
            raise InvalidParameterError(
                "random_state", "an integer if checkpoint is set", self.random_state
            )
        from dempster import __version__  # not yet defined when this module is imported

        parameters = {
            name: _fingerprint(v)
            for name, v in self.get_params().items()
            if name not in _IRRELEVANT_PARAMS
        }
        columns = f"{source.width} {source.dtype} {source.names} weighted={weighted}"
        about = {"class": type(self).__name__, "version": __version__, "columns": columns}
        return Journal(self.checkpoint, {**parameters, **about})

    def _set_lazy_result(self, rows: BlockRows) -> None:
        """Replace the partition of the sampled rows by a lazy partition of all rows."""
        self.credal_partition_ = self._make_lazy_partition(
            rows.source, self.credal_partition_.metadata
        )
        self.labels_ = self.credal_partition_.labels
        self.sample_indices_ = rows.indices

    def _make_lazy_partition(
        self, source: Blocks, metadata: dict[str, Any] | None
    ) -> LazyCredalPartition:
        # a copy without large attributes, because it is sent to the workers
        light = copy.copy(self)
        light.__dict__ = {
            name: value
            for name, value in vars(self).items()
            if name in _PREDICTION_ATTRIBUTES
            or not (name.endswith("_") or name in _LARGE_ATTRIBUTES)
        }
        if hasattr(self, "init"):
            light.__dict__["init"] = None  # ``init`` may be a large partition of all rows.
        masses = source.map(_block_masses, light, len(self.focal_sets_), source.dtype)
        return LazyCredalPartition(masses, self.focal_sets_, metadata)

    # ---- the result ------------------------------------------------------------------------------

    def _move_to(self, X: Array) -> None:
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_") and isinstance(value, np.ndarray):
                setattr(self, name, to_device_of(value, X))

    def _make_metadata(self, auto_params: dict[str, str]) -> dict[str, Any]:
        parameters = {}
        for name, value in self.get_params(deep=False).items():
            if value is None or isinstance(value, bool | int | float | str):
                parameters[name] = value
        return {
            "method": type(self).__name__,
            "parameters": parameters,
            "choices": auto_params,
            "objective": self.objective_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "random_state": self.random_state,
        }

    def _repr_html_inner(self) -> str:
        return super()._repr_html_inner() + self._result_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._result_html()
        return bundle

    def _result_html(self) -> str:
        """Return the summary as HTML, which follows scikit-learn's diagram.

        A lazy partition is not computed.
        """
        partition = getattr(self, "credal_partition_", None)
        if isinstance(partition, CredalPartition):
            return partition.summary().to_html()
        return ""

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
        if self._comes_in_blocks(X, new=True):
            source = self._open_blocks(X)
            assert source.width is not None
            # One row suffices to check the number and the names of the columns.
            self._read(named_rows(np.zeros((1, source.width), source.dtype), source), reset=False)
            return self._make_lazy_partition(source, None)
        values = self._read(X, reset=False)
        with block_map(self.n_jobs) as apply:
            masses = self._compute_masses(values, apply)
        if self._stays_on_device(X):
            masses = to_device_of(masses, X)
        return CredalPartition.unchecked(check_masses(masses), self.focal_sets_, self._row_names(X))

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

    def fit_transform(self, X: TableLike, y: ArrayLike = None, **fit_params: Any) -> Any:
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
        return np.array(
            [f"mass {name}".replace(",", ", ") for name in self.focal_sets_.names()], dtype=object
        )


def _writable_masses(partition: Any) -> Any:
    """Return the masses, copied if they are in memory, because the masses of a partition are read-only."""
    if isinstance(partition, CredalPartition):
        return copy_array(partition.masses)
    return partition.masses


def check_enough_rows(n_rows: int, n_clusters: int | None) -> None:
    if n_rows < (n_clusters or 1):
        message = f"n_samples={n_rows} should be >= n_clusters={n_clusters}"
        raise InvalidParameterError("n_clusters", message=message)


def _block_masses(block: np.ndarray, clusterer: EvidentialClusterer, apply: Apply) -> np.ndarray:
    if len(block) == 0:
        return np.empty((0, len(clusterer.focal_sets_)), block.dtype)
    values = clusterer._read(block, reset=False)
    return check_masses(clusterer._compute_masses(values, apply)).astype(block.dtype, copy=False)


def _fingerprint(value: Any) -> str:
    """Return a text that identifies the value of a parameter."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tolist()}"
    if isinstance(value, FocalSets):
        return repr(list(value))
    return repr(value)


def named_rows(values: np.ndarray, source: Blocks) -> TableLike:
    """Return the rows as a DataFrame with the column names of the blocks, or unchanged if there are no names."""
    if source.names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(source.names))
