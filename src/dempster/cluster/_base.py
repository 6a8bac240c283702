"""What every clusterer shares: parameters, the one way through a fit, the result, new objects."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._arrays import Array, copied, is_followed, same_place, to_host
from dempster._errors import InvalidInputError
from dempster._fitting import draft_of
from dempster._progress import progress_bar
from dempster._site import DocumentedEstimator
from dempster._types import Advance, ArrayLike, Index, TableLike
from dempster._validation import (
    check_missing,
    check_scale,
    check_size,
    checked_masses,
    column_names,
    object_index,
    object_weights,
    order_of_names,
    ordered_like,
    readable,
    reading,
    remedy,
    tensor_attributes,
)
from dempster.belief import FocalSets
from dempster.cluster._blockwise import BlockwiseClusterer, check_alone
from dempster.cluster._families import NAMES, Families, families_of
from dempster.cluster._incomplete import comparable, prepared
from dempster.cluster._search import MassModel, Method, Sample, Search
from dempster.cluster.number import NumberOfClusters, compared_numbers
from dempster.constraints import Constraints
from dempster.constraints.constraints import checked_constraints
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import Apply, block_map
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import find_labels

__all__ = ["EvidentialClusterer", "COMMON_RULES", "MISSING_RULE", "Task", "check_enough_objects"]

COMMON_RULES: Mapping[str, rule.Rule] = {
    "n_clusters": rule.choice("auto") | rule.integer(1),
    "focal_sets": rule.choice(*NAMES) | rule.kind(FocalSets),
    "n_init": rule.repetitions(),
    "max_iter": rule.iterations(),
    "tol": rule.real(0),
    "n_neighbor_clusters": rule.integer(1),
    "random_state": rule.seed,
    "n_jobs": rule.n_jobs,
    "verbose": rule.verbosity,
}
MISSING_RULE = rule.choice("refuse", "partial")


@dataclass(frozen=True)
class Task:
    """What a method is asked to do: how many clusters to find, and what is known besides the objects.

    ``dissimilarities`` are those of the objects, where they are given beside attributes.
    """

    n_clusters: int
    labels: ArrayLike
    constraints: Constraints | None
    apply: Apply
    dissimilarities: ArrayLike = None


class EvidentialClusterer(BlockwiseClusterer, ClusterMixin, DocumentedEstimator, BaseEstimator):
    """Base of the clusterers.

    A clusterer writes its constructor and docstring, a table of rules for its parameters, a `fit` that hands over to
    `_fit`, and three things more: how X is read (`_read`, attributes by default), the algorithm (`_method`), and what
    of the model is shown (`_attributes`). The base has the rest.
    """

    n_clusters: int | str | None
    # parameters that some methods do not have
    focal_sets: str | FocalSets = "simple"
    n_neighbor_clusters = 1
    tol = 0.0
    missing = "refuse"

    _rules: Mapping[str, rule.Rule] = COMMON_RULES
    _fewest_objects = 1
    _takes_tensors = False  # whether a fit to a tensor runs where it is
    _advice = "increase max_iter or tol"  # if it does not converge
    _model: MassModel[Any]
    number_: NumberOfClusters

    # ---- what a clusterer supplies --------------------------------------------------------------------------------

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """X as the method reads it, checked; here attributes, C-contiguous, float32 kept."""
        return self._checked_attributes(X, reset=reset)

    def _checked_attributes(self, X: TableLike, *, reset: bool, **options: Any) -> Array:
        """Finite numbers of a size that can be worked with, or missing ones where the method takes these; ``options``
        go to scikit-learn's ``validate_data``."""
        fewest = self._fewest_objects if reset else 1
        if self._follows(X):
            more_axes = options.get("allow_nd", False)
            return tensor_attributes(self, X, reset=reset, fewest=fewest, more_axes=more_axes)
        X = readable(self, X)
        floats: dict[str, Any] = {"dtype": [np.float64, np.float32], "order": "C", "ensure_all_finite": "allow-nan"}
        with reading(X, "X"):
            values = validate_data(self, X, reset=reset, ensure_min_samples=fewest, **floats, **options)
        check_missing(values, X, remedy(self, getattr(self, "metric", "euclidean")), learning=reset)
        (check_scale if reset else check_size)(values, "X")
        return values

    def _follows(self, X: TableLike) -> bool:
        """Whether X is a tensor, and what is found from it is where it is: scikit-learn's "everything follows X"."""
        return self._takes_tensors and self.missing != "partial" and is_followed(X)

    def _attributes_of(self, X: TableLike) -> TableLike:
        """The attributes by which the model knows the objects of X; here those they were given by."""
        return X

    def _read_objects(self, attributes: TableLike, like: Any) -> Any:
        """Objects given by these attributes as the model takes them, in all else as one that was read, or None."""
        return self._read(attributes, reset=False)

    def _weights(self, sample_weight: ArrayLike, n_objects: int) -> np.ndarray | None:
        """Weights of the objects as they were given, checked; None if all count alike."""
        return object_weights(sample_weight, n_objects)

    def _names(self, X: TableLike) -> Index:
        """Names of the objects; here those of the rows of a table."""
        return object_index(X)

    def _method(self, sample: Sample[Any], task: Task) -> Method[Any, Any]:
        """The algorithm with its settings, for these objects."""
        raise NotImplementedError

    def _attributes(self, method: Any, model: Any) -> dict[str, Any]:
        """The fitted attributes of this clusterer, by name."""
        return {}

    def _choices(self, method: Any) -> dict[str, str]:
        """What "auto" stood for, by parameter, in words with the reason."""
        return {"n_clusters": self.number_.reasons()} if "number_" in vars(self) else {}

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
        """The one way through a fit. An error or an interrupt leaves the estimator as it was."""
        with draft_of(self) as draft:
            draft.__dict__.pop("_online", None)  # what was learned by `partial_fit`
            remarks = draft._fitted_to(X, labels, sample_weight, constraints, dissimilarities)
        for category, words in remarks:
            warnings.warn(words, category, stacklevel=3)
        return self

    def _fitted_to(
        self,
        X: TableLike,
        labels: ArrayLike,
        sample_weight: ArrayLike,
        constraints: Constraints | None,
        dissimilarities: ArrayLike,
    ) -> list[tuple[type[Warning], str]]:
        """Set all fitted attributes; gives what the user should be warned of."""
        self._check_parameters()
        with block_map(self.n_jobs) as apply, self._passes(X) as told:
            if self._comes_in_blocks(X):
                weights = None if self._weighs_blocks else sample_weight
                check_alone(
                    sample_weight=weights,
                    constraints=constraints,
                    dissimilarities=dissimilarities,
                    y=labels,
                    init=getattr(self, "init", None),
                )
                sample = self._drawn_sample(X, sample_weight, apply, told)
            else:
                self._check_in_memory()
                sample = self._read_sample(X, sample_weight)
            n = len(sample.values)
            known = None if constraints is None else checked_constraints(constraints, n)
            labels, dissimilarities = (ordered_like(given, sample.index) for given in (labels, dissimilarities))
            task = Task(self._number_of_clusters(sample, apply), labels, known, apply, dissimilarities)
            if self.missing == "partial":
                sample = prepared(sample, task.n_clusters)
            with self._matched_start(sample.index):
                method, run = self._searched(Search(self.tol, apply, self._progress, self.n_jobs), sample, task)
            self._model, masses = method.result(run)
            masses = same_place(masses, X) if self._follows(X) else masses
            self._set_result(run, masses, sample, self._choices(method), apply)
            for name, value in self._attributes(method, self._model).items():
                setattr(self, name, value)
            if sample.everyone is not None:
                self._set_blocks(sample.everyone)
            self._follow(X)
        remarks: list[tuple[type[Warning], str]] = [
            (UserWarning, f"{type(self).__name__}: {words}") for words in method.remarks(self._model)
        ]
        if not run.converged:
            remarks.append(
                (
                    ConvergenceWarning,
                    f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations; {self._advice}",
                )
            )
        return remarks

    def _read_sample(self, X: TableLike, sample_weight: ArrayLike) -> Sample[Any]:
        """All objects, in memory."""
        values = self._read(X, reset=True)
        n = len(values)
        check_enough_objects(n, self._wanted_clusters())
        names = self._names(X)
        place = X.device if self._follows(X) else None
        return Sample(values, self._weights(ordered_like(sample_weight, names), n), names, device=place)

    @contextmanager
    def _matched_start(self, index: Index) -> Iterator[None]:
        """What to start from is in the order of the names of the objects and attributes while this lasts."""
        given = getattr(self, "init", None)
        matched = self._start_like(given, index)
        if matched is given:
            yield
            return
        self.init = matched
        try:
            yield
        finally:
            self.init = given

    def _start_like(self, given: Any, index: Index) -> Any:
        """A partition, labels or masses with rows in the order of the objects, a table of centers with columns in that
        of the attributes, where both have names."""
        if isinstance(given, CredalPartition):
            try:
                order = order_of_names(given.index, index)
            except ValueError as error:
                raise InvalidInputError(f"init must be a partition of the objects of X: {error}") from error
            return given if order is None else given[order]
        given = ordered_like(given, index)
        names, columns = list(getattr(self, "feature_names_in_", [])), column_names(given)
        if columns is None or columns == names or len(columns) != len(names) or set(columns) != set(names):
            return given
        return given[names]

    def _searched(self, search: Search, sample: Sample[Any], task: Task) -> tuple[Method[Any, Any], Run[Any]]:
        """The method and its best run."""
        method = self._method(sample, task)
        return method, search.run(method, self._families(task.n_clusters), sample.weights)

    def _wanted_clusters(self) -> int | None:
        """How many clusters were asked for; None if their number is to be found."""
        return None if isinstance(self.n_clusters, str) else self.n_clusters

    def _number_of_clusters(self, sample: Sample[Any], apply: Apply) -> int:
        """How many clusters to find: what was asked for, or what speaks from the data."""
        wanted = self._wanted_clusters()
        if wanted is not None:
            return int(wanted)
        if isinstance(self.focal_sets, FocalSets):
            return self.focal_sets.n_clusters
        compared = self._compared(sample.values)
        if self.missing == "partial":
            compared = comparable(compared)
        self.number_ = compared_numbers(compared, sample.weights, None, self.random_state, apply)
        return self.number_.best

    def _compared(self, values: Any) -> DissimilaritySource:
        """The objects as dissimilarities, by which their number of clusters is found; here Euclidean distances."""
        return AttributeSource(to_host(values))

    def _families(self, n_clusters: int) -> Families:
        return families_of(self.focal_sets, n_clusters, self.n_neighbor_clusters)

    def _check_parameters(self) -> None:
        rule.check_parameters(self, self._rules)
        family = self.focal_sets
        wanted = self._wanted_clusters()
        if isinstance(family, FocalSets) and wanted not in (None, family.n_clusters):
            raise InvalidInputError(f"focal_sets is a family on {family.n_clusters} clusters, but n_clusters={wanted}")

    def _progress(self, total: int | None, unit: str) -> AbstractContextManager[Advance]:
        return progress_bar(type(self).__name__, total, unit, shown=bool(self.verbose))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = remedy(self, getattr(self, "metric", "euclidean")) is None
        tags.array_api_support = self._takes_tensors and self.missing != "partial"
        return tags

    # ---- the result -----------------------------------------------------------------------------------------------

    def _follow(self, X: TableLike) -> None:
        """Fitted attributes that are arrays go to where X is."""
        if not self._follows(X):
            return
        for name, value in vars(self).items():
            if name.endswith("_") and not name.startswith("_") and isinstance(value, np.ndarray):
                setattr(self, name, same_place(value, X))

    def _set_result(
        self, run: Run[Any], masses: Array, sample: Sample[Any], choices: dict[str, str], apply: Apply
    ) -> None:
        checked_masses(masses)
        if not np.isfinite(run.objective):
            raise InvalidInputError(f"the objective is {run.objective}: scale X, or set less extreme parameters")
        self.focal_sets_ = self._model.family
        self.n_clusters_ = self.focal_sets_.n_clusters
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = len(run.history)
        self.converged_ = bool(run.converged)
        self.credal_partition_ = CredalPartition.unchecked(
            masses, self.focal_sets_, sample.index, metadata=self._metadata(choices)
        )
        find_labels(self.credal_partition_, apply)
        self.labels_ = copied(self.credal_partition_.labels)

    def _metadata(self, choices: dict[str, str]) -> dict[str, Any]:
        return {
            "method": type(self).__name__,
            "parameters": {
                name: value
                for name, value in self.get_params(deep=False).items()
                if value is None or isinstance(value, bool | int | float | str)
            },
            "choices": choices,
            "objective": self.objective_,
            "n_iter": self.n_iter_,
            "converged": self.converged_,
            "random_state": self.random_state,
        }

    # ---- new objects ----------------------------------------------------------------------------------------------

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
            return self._predicted_blocks(X)
        values = self._read(X, reset=False)
        with block_map(self.n_jobs) as apply:
            masses = self._masses_of(values, apply)
        masses = same_place(masses, X) if self._follows(X) else masses
        return CredalPartition.unchecked(checked_masses(masses), self.focal_sets_, self._names(X))

    def _masses_of(self, values: Any, apply: Apply) -> Array:
        """(n, f) masses of objects as the method reads them."""
        return self._model.masses(values, apply)

    def predict(self, X: TableLike) -> Array:
        """Cluster of largest plausibility of new objects."""
        partition = self.predict_mass(X)
        return copied(partition.labels) if isinstance(partition, CredalPartition) else partition.labels


def check_enough_objects(n_objects: int, n_clusters: int | None) -> None:
    """As many objects as clusters, at least."""
    if n_objects < (n_clusters or 1):
        raise InvalidInputError(f"n_samples={n_objects} should be >= n_clusters={n_clusters}")
