"""The base of the clusterers: parameters, the one way through a fit, the result, and masses of new rows."""

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
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, copied, is_followed, is_tensor, to_device_of, to_host
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._progress import progress_bar
from dempster._site import DocumentedEstimator
from dempster._types import Advance, ArrayLike, Index, Seed, TableLike
from dempster._validation import (
    checked_masses,
    column_names,
    missing_value_advice,
    object_index,
    object_weights,
    order_of_names,
    ordered_like,
    read_features,
)
from dempster.belief import FocalSets
from dempster.cluster._incomplete import comparable, prepared
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
from dempster.cluster.number import NumberOfClusters, compare_numbers
from dempster.constraints import Constraints
from dempster.constraints.constraints import checked_constraints
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
_NEEDED_BY_WORKERS = ("_model", "_input", "focal_sets_", "n_features_in_")  # fitted attributes that give masses
_LEFT_BEHIND = ("_online", "_shepard", "_evclus", "_peaks", "_fits")  # private attributes that may be large
_WITHOUT_EFFECT = ("checkpoint", "n_jobs", "verbose")  # parameters that do not change the result


@dataclass(frozen=True)
class Support:
    """Forms of X, besides arrays and tables in memory, to which a clusterer can be fitted.

    Attributes
    ----------
    blocks : bool
        X may come in blocks. The method is fitted to a sample, or makes passes over all rows.
    block_weights : bool
        So may the weights.
    passes : bool
        Every iteration is a pass over all blocks, whose results ``checkpoint`` keeps.
    products : bool
        The method needs sums of products of columns over all blocks.
    tensors : bool
        X may be a tensor; the fit then runs where it is.
    """

    blocks: bool = False
    block_weights: bool = False
    passes: bool = False
    products: bool = False
    tensors: bool = False


@dataclass(frozen=True)
class FitRequest:
    """What a method is asked to do: how many clusters to find, and what is known besides the rows.

    ``dissimilarities`` are those of the rows, where they are given beside attributes.
    """

    n_clusters: int
    labels: ArrayLike
    constraints: Constraints | None
    apply: Apply
    dissimilarities: ArrayLike = None


class EvidentialClusterer(ClusterMixin, DocumentedEstimator, BaseEstimator):
    """Base of the clusterers.

    A clusterer writes its constructor and docstring, a table of rules for its parameters, a `fit` that calls `_fit`,
    and three more methods: `_read` (how X is read, attributes by default), `_make_method` (the algorithm) and
    `_fitted_attributes`. The base does the rest, for X in memory, in blocks and on devices.
    """

    n_clusters: int | str | None
    n_jobs: int | None
    verbose: int
    random_state: Seed
    # parameters that some methods do not have
    focal_sets: str | FocalSets = "simple"
    n_neighbor_clusters = 1
    tol = 0.0
    missing = "refuse"
    checkpoint: str | Path | None = None

    _rules: Mapping[str, rule.Rule] = COMMON_RULES
    _support = Support()
    _min_rows = 1
    _advice = "increase max_iter or tol"  # if it does not converge
    _model: MassModel[Any]
    number_: NumberOfClusters
    credal_partition_: Any
    labels_: Any

    # ---- what a clusterer supplies --------------------------------------------------------------------------------

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """Validate X as the method reads it; here attributes, C-contiguous, float32 kept."""
        min_rows = self._min_rows if reset else 1
        return read_features(self, X, reset=reset, min_rows=min_rows, stay=self._stays_on_device(X))

    def _validate_attributes(self, X: TableLike, *, reset: bool, **options: Any) -> Array:
        """Validate attributes; ``options`` go to scikit-learn's ``validate_data``."""
        min_rows = self._min_rows if reset else 1
        return read_features(self, X, reset=reset, min_rows=min_rows, stay=self._stays_on_device(X), **options)

    def _stays_on_device(self, X: TableLike) -> bool:
        """Return whether X is a tensor whose results stay where it is, as scikit-learn has it for the array API."""
        return is_tensor(X) and self._accepts_tensors() and is_followed(X)

    def _accepts_tensors(self) -> bool:
        """Return whether a fit to a tensor runs where it is."""
        return self._support.tensors and self.missing != "partial"

    def _extract_attributes(self, X: TableLike) -> TableLike:
        """Return the attributes by which the model knows the rows of X; here those that were given."""
        return X

    def _read_objects(self, attributes: TableLike, like: Any) -> Any:
        """Validate rows given by these attributes, in all else like one that was read, or None."""
        return self._read(attributes, reset=False)

    def _validate_weights(self, sample_weight: ArrayLike, n_objects: int) -> np.ndarray | None:
        """Validate the weights of the rows; None if all count alike."""
        return object_weights(sample_weight, n_objects)

    def _row_names(self, X: TableLike) -> Index:
        """Return the names of the rows."""
        return object_index(X)

    def _make_method(self, sample: Sample[Any], request: FitRequest) -> Method[Any, Any]:
        """Return the algorithm for these rows."""
        raise NotImplementedError

    def _fitted_attributes(self, method: Any, model: Any) -> dict[str, Any]:
        """Return the fitted attributes of this clusterer, by name."""
        return {}

    def _auto_params(self, method: Any) -> dict[str, str]:
        """Return what "auto" stood for, by parameter, in words with the reason."""
        return {}

    def _map_blocks(self, source: Blocks) -> Blocks:
        """Return the blocks as a method that makes passes reads them."""
        return source

    def _min_sample(self) -> int:
        """Return how many rows must be drawn from blocks at least."""
        return 0

    # ---- fitting --------------------------------------------------------------------------------------------------

    def _fit(
        self,
        X: TableLike,
        labels: ArrayLike = None,
        *,
        sample_weight: ArrayLike = None,
        constraints: Constraints | None = None,
        dissimilarities: ArrayLike = None,
    ) -> Self:
        """Fit. An error or an interrupt leaves the estimator as it was."""
        known = {"constraints": constraints, "dissimilarities": dissimilarities, "y": labels}
        with fit_transaction(self) as draft:
            draft.__dict__.pop("_online", None)  # what `partial_fit` has learned
            result = draft._fit_all(X, sample_weight, known)
        for message in result.warnings:
            warnings.warn(f"{type(self).__name__}: {message}", UserWarning, stacklevel=3)
        if not result.run.converged:
            message = f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations; {self._advice}"
            warnings.warn(message, ConvergenceWarning, stacklevel=3)
        return self

    def _fit_all(self, X: TableLike, sample_weight: ArrayLike, known: dict[str, Any]) -> FitResult:
        """Set all fitted attributes and return the result."""
        self._check_parameters()
        with block_map(self.n_jobs) as apply, self._open_sample(X, sample_weight, known, apply) as sample:
            if known["constraints"] is not None:
                known["constraints"] = checked_constraints(known["constraints"], len(sample.values))
            for name in ("y", "dissimilarities"):
                if known[name] is not None:
                    known[name] = ordered_like(known[name], sample.index)
            n_clusters = self._find_n_clusters(sample, apply)
            request = FitRequest(n_clusters, known["y"], known["constraints"], apply, known["dissimilarities"])
            if self.missing == "partial":
                sample = prepared(sample, n_clusters)
            given = getattr(self, "init", None)
            has_names = given is not None and not isinstance(given, str)
            if has_names:
                self.init = self._align_init(given, sample.index)
            progress = partial(progress_bar, type(self).__name__, shown=bool(self.verbose))
            method, run = self._run_search(
                Search(self.tol, apply, progress, self.n_jobs),
                sample,
                request,
            )
            if has_names:
                self.init = given
            result = method.result(run)
            self._model, masses = result.model, result.masses
            follows = self._stays_on_device(X)
            choices = {"n_clusters": self.number_.reasons()} if "number_" in vars(self) else {}
            choices |= self._auto_params(method)
            self._set_result(result.run, to_device_of(masses, X) if follows else masses, sample, choices, apply)
            self.__dict__.update(self._fitted_attributes(method, self._model))
            if sample.blocks is not None:
                self._set_lazy_result(sample.blocks)
            if follows:
                self._move_to(X)
        return result

    @contextmanager
    def _open_sample(
        self, X: TableLike, sample_weight: ArrayLike, known: dict[str, Any], apply: Apply
    ) -> Iterator[Sample[Any]]:
        """Open the rows to fit to: all of them in memory, or a sample of those in blocks."""
        if isinstance(X, np.ndarray) or not self._comes_in_blocks(X):
            if self.checkpoint is not None and self._support.passes:
                message = (
                    f"checkpoint must be None if X is in memory, got {str(self.checkpoint)!r}: it keeps the results of "
                    "passes over blocks (give [X] to fit X in one block)"
                )
                raise InvalidParameterError("checkpoint", message=message)
            yield self._read_sample(X, sample_weight)
            return
        _check_alone(known | {"sample_weight": None if self._support.block_weights else sample_weight})
        if isinstance(getattr(self, "init", None), CredalPartition):
            raise InvalidParameterError("init", "prototypes or a name if X comes in blocks, not a partition")
        name = type(self).__name__
        with progress_bar(f"{name}, passes over X", None, " passes", shown=bool(self.verbose)) as advance:
            source = self._open_blocks(X)
            journal = self._open_journal(source, weighted=sample_weight is not None)
            mark = {"is_pass": True}  # for handlers that count passes
            runner = PassRunner(
                apply,
                journal,
                lambda text: _LOG.info("%s: a pass over X begins, for %s", name, text, extra=mark),
                advance,
            )
            rows = BlockRows(
                source,
                self._map_blocks(source),
                sample_weight,
                self.random_state,
                runner,
                products=self._support.products,
                min_sample=self._min_sample(),
            )
            check_enough_objects(len(rows), self._requested_clusters())
            values = self._read(named_rows(rows.values, source), reset=True)
            yield Sample(values, rows.weights if len(rows.weights) else None, blocks=rows)

    def _read_sample(self, X: TableLike, sample_weight: ArrayLike) -> Sample[Any]:
        """Validate all rows, in memory."""
        values = self._read(X, reset=True)
        check_enough_objects(len(values), self._requested_clusters())
        names = None if isinstance(X, np.ndarray) else self._row_names(X)
        weights = None
        if sample_weight is not None:
            weights = self._validate_weights(ordered_like(sample_weight, names), len(values))
        return Sample(values, weights, names, device=X.device if self._stays_on_device(X) else None)

    def _align_init(self, given: Any, index: Index) -> Any:
        """Return ``init`` with its rows in the order of X, and a table of centers with its columns in that order."""
        if isinstance(given, CredalPartition):
            try:
                order = order_of_names(given.index, index)
            except InvalidParameterError as error:
                message = f"init must be a partition of the objects of X: {error}"
                raise InvalidParameterError("init", message=message) from error
            return given if order is None else given[order]
        given = ordered_like(given, index)
        names, columns = list(getattr(self, "feature_names_in_", [])), column_names(given)
        if columns is None or columns == names or len(columns) != len(names) or set(columns) != set(names):
            return given
        return given[names]

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[Method[Any, Any], Run[Any]]:
        """Return the method and its best run."""
        method = self._make_method(sample, request)
        return method, search.run(method, self._resolve_families(request.n_clusters), sample.weights)

    def _requested_clusters(self) -> int | None:
        """Return the number of clusters that was asked for; None if it is to be found."""
        return None if isinstance(self.n_clusters, str) else self.n_clusters

    def _find_n_clusters(self, sample: Sample[Any], apply: Apply) -> int:
        """Return the number of clusters to find: the one that was asked for, or the one that the data support best."""
        wanted = self._requested_clusters()
        if wanted is not None:
            return int(wanted)
        if isinstance(self.focal_sets, FocalSets):
            return self.focal_sets.n_clusters
        compared = self._comparison_source(sample.values)
        if self.missing == "partial":
            compared = comparable(compared)
        self.number_ = compare_numbers(compared, sample.weights, None, self.random_state, apply)
        return self.number_.best

    def _comparison_source(self, values: Any) -> DissimilaritySource:
        """Return the dissimilarities by which the number of clusters is found; here Euclidean distances."""
        return AttributeSource(to_host(values))

    def _resolve_families(self, n_clusters: int) -> Families:
        return resolve_families(self.focal_sets, n_clusters, self.n_neighbor_clusters)

    def _check_parameters(self) -> None:
        rule.check_parameters(self, self._rules)
        family = self.focal_sets
        if isinstance(family, FocalSets) and self._requested_clusters() not in (None, family.n_clusters):
            message = (
                f"focal_sets is a family on {family.n_clusters} clusters, but n_clusters={self._requested_clusters()}"
            )
            raise InvalidParameterError("focal_sets", message=message)
        device = getattr(self, "device", "cpu")
        if device != "cpu" and self._support.passes:
            if self.missing == "partial":
                message = f"device={device!r} needs all cells of X: missing must be 'refuse', got 'partial'"
                raise InvalidParameterError("missing", message=message)
            import_torch(device)

    def _open_progress(self, total: int | None, unit: str) -> AbstractContextManager[Advance]:
        return progress_bar(type(self).__name__, total, unit, shown=bool(self.verbose))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "partial" and missing_value_advice(self) is None
        tags.array_api_support = self._accepts_tensors()
        return tags

    # ---- blocks ---------------------------------------------------------------------------------------------------

    def _comes_in_blocks(self, X: TableLike, *, new: bool = False) -> bool:
        """Return whether X is read block by block; refuse it if the method needs all rows at once."""
        if not comes_in_blocks(X):
            return False
        if isinstance(X, list | tuple) and not self._support.blocks:
            return False
        if not (self._support.blocks or new):
            message = (
                f"{type(self).__name__} needs all rows in memory, but X comes in blocks ({type(X).__name__}): give an "
                "array, or a table of pandas or polars"
            )
            raise InvalidParameterError("X", message=message)
        if not new and getattr(self, "metric", None) == "precomputed":
            message = "X must be in memory if metric='precomputed': dissimilarities cannot be drawn from blocks"
            raise InvalidParameterError("X", message=message)
        return True

    def _open_blocks(self, X: TableLike) -> Blocks:
        return open_blocks(X, self.n_jobs, missing=missing_value_advice(self) is None)

    def _open_journal(self, source: Blocks, *, weighted: bool) -> Journal | None:
        """Open the checkpoint, if there is one."""
        if self.checkpoint is None or not self._support.passes:
            return None
        if not isinstance(self.random_state, int | np.integer):
            message = (
                f"checkpoint needs random_state to be an integer, got {self.random_state!r}: a fit that resumes must "
                "draw the same sample"
            )
            raise InvalidParameterError("random_state", message=message)
        from dempster import __version__  # the package is complete when a fit begins

        parameters = {name: _fingerprint(v) for name, v in self.get_params().items() if name not in _WITHOUT_EFFECT}
        columns = f"{source.width} {source.dtype} {source.names} weighted={weighted}"
        about = {"class": type(self).__name__, "version": __version__, "columns": columns}
        return Journal(self.checkpoint, {**parameters, **about})

    def _set_lazy_result(self, rows: BlockRows) -> None:
        """Replace the result for the sample by the one for all rows, computed when it is used."""
        self.credal_partition_ = self._make_lazy_partition(rows.source, self.credal_partition_.metadata)
        self.labels_ = self.credal_partition_.labels
        self.sample_indices_ = rows.indices

    def _make_lazy_partition(self, source: Blocks, metadata: dict[str, Any] | None) -> LazyCredalPartition:
        light = copy.copy(self)  # rows of blocks have no names, and what is sent to workers should be small
        light.__dict__ = {
            name: value
            for name, value in vars(self).items()
            if name in _NEEDED_BY_WORKERS or not (name.endswith("_") or name in _LEFT_BEHIND)
        }
        if hasattr(self, "init"):
            light.__dict__["init"] = None  # it may be a partition of all rows
        masses = source.map(_block_masses, light, len(self.focal_sets_), source.dtype)
        return LazyCredalPartition(masses, self.focal_sets_, metadata)

    # ---- the result -----------------------------------------------------------------------------------------------

    def _move_to(self, X: Array) -> None:
        """Move fitted attributes that are arrays to the device of X."""
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_") and isinstance(value, np.ndarray):
                setattr(self, name, to_device_of(value, X))

    def _set_result(
        self, run: Run[Any], masses: Array, sample: Sample[Any], choices: dict[str, str], apply: Apply
    ) -> None:
        checked_masses(masses)
        if not np.isfinite(run.objective):
            message = f"the objective is {run.objective}: scale X, or set less extreme parameters"
            raise InvalidParameterError("X", message=message)
        self.focal_sets_ = self._model.family
        self.n_clusters_ = self.focal_sets_.n_clusters
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = len(run.history)
        self.converged_ = bool(run.converged)
        self.credal_partition_ = CredalPartition.unchecked(
            masses, self.focal_sets_, sample.index, metadata=self._metadata(choices)
        )
        compute_labels(self.credal_partition_, apply)
        self.labels_ = copied(self.credal_partition_.labels)

    def _metadata(self, choices: dict[str, str]) -> dict[str, Any]:
        parameters = {}
        for name, value in self.get_params(deep=False).items():
            if value is None or isinstance(value, bool | int | float | str):
                parameters[name] = value
        return {
            "method": type(self).__name__,
            "parameters": parameters,
            "choices": choices,
            "objective": self.objective_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "random_state": self.random_state,
        }

    # ---- new rows -------------------------------------------------------------------------------------------------

    def predict_mass(self, X: TableLike) -> Any:
        """Credal partition of new objects under the fitted model.

        Parameters
        ----------
        X : array-like
            Objects as `fit` takes them; with ``metric="precomputed"`` the dissimilarities of each new object (a row)
            to the objects of `fit`.

        Returns
        -------
        CredalPartition
            A `LazyCredalPartition` if X comes in blocks.
        """
        check_is_fitted(self, "focal_sets_")
        if self._comes_in_blocks(X, new=True):
            source = self._open_blocks(X)
            assert source.width is not None
            # one row shows whether the columns and their names are those of the fit
            self._read(named_rows(np.zeros((1, source.width), source.dtype), source), reset=False)
            return self._make_lazy_partition(source, None)
        values = self._read(X, reset=False)
        with block_map(self.n_jobs) as apply:
            masses = self._compute_masses(values, apply)
        masses = to_device_of(masses, X) if self._stays_on_device(X) else masses
        return CredalPartition.unchecked(checked_masses(masses), self.focal_sets_, self._row_names(X))

    def _compute_masses(self, values: Any, apply: Apply) -> Array:
        """Return the (n, f) masses of rows as the method reads them."""
        return self._model.masses(values, apply)

    def predict(self, X: TableLike) -> Array:
        """Cluster of largest plausibility of new objects."""
        partition = self.predict_mass(X)
        return copied(partition.labels) if isinstance(partition, CredalPartition) else partition.labels


def check_enough_objects(n_objects: int, n_clusters: int | None) -> None:
    """Refuse fewer rows than clusters."""
    if n_objects < (n_clusters or 1):
        message = f"n_samples={n_objects} should be >= n_clusters={n_clusters}"
        raise InvalidParameterError("n_clusters", message=message)


def _block_masses(block: np.ndarray, clusterer: EvidentialClusterer, apply: Apply) -> np.ndarray:
    if len(block) == 0:
        return np.empty((0, len(clusterer.focal_sets_)), block.dtype)
    values = clusterer._read(block, reset=False)
    return checked_masses(clusterer._compute_masses(values, apply)).astype(block.dtype, copy=False)


def _fingerprint(value: Any) -> str:
    """Return a text that differs whenever a parameter does."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tolist()}"
    return repr(list(value)) if isinstance(value, FocalSets) else repr(value)


def named_rows(values: np.ndarray, source: Blocks) -> TableLike:
    """Return rows of blocks as scikit-learn reads them: a table if the blocks have names."""
    if source.names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(source.names))


def _check_alone(given: Mapping[str, Any]) -> None:
    """Refuse arguments with a value for each row, which would have to be in memory."""
    for name, value in given.items():
        if value is not None:
            message = f"{name} is known only for X in memory, but X comes in blocks"
            raise InvalidParameterError(name, message=message)
