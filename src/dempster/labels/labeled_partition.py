"""The doubt about labels that another program found."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from dempster import _validation as rule
from dempster._arrays import Array, freeze
from dempster._errors import InvalidParameterError
from dempster._random import as_random_state
from dempster._types import ArrayLike, Index, Metric, Seed, TableLike
from dempster._validation import as_list, check_masses, is_estimator, row_index
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource
from dempster.labels.connection import Connection, add_outliers
from dempster.labels.encoding import NOISE, read_labels
from dempster.labels.runs import pool_runs, select_reference
from dempster.optimize.blocks import block_map
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import compute_labels
from dempster.posterior import PosteriorModel
from dempster.posterior.model import MAX_ROWS

_RULES = {"metric": METRIC_RULE, "random_state": rule.seed, "n_jobs": rule.n_jobs}


class InputValidator(BaseEstimator):
    """Validate X, and new rows in the same form."""

    def __init__(self, metric: Metric, random_state: Seed, n_jobs: int | None):
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    _input: Annotated[DissimilarityInput, ".unit n_features"]

    def read(self, X: TableLike) -> DissimilaritySource:
        """Validate the parameters and X, and return the objects."""
        rule.check_parameters(self, _RULES)
        self._input = DissimilarityInput(self.metric, centered=True)
        source = self._input.training(self, X)
        assert not isinstance(source, SparseSource)
        return source

    def read_new(self, X: TableLike, n_references: int) -> Any:
        """Validate new rows."""
        return self._input.new(self, X, or_width=n_references)


class LabeledPartition(CredalPartition):
    """Credal partition of labeled objects, which also gives masses to new objects.

    `doubt` creates it. It has all methods of a `CredalPartition`; the names of the clusters are the
    labels. A subset of its objects is a `LabeledPartition` with the same clusters.
    """

    _model: LabelModel

    def _set(self, masses, focal_sets, index, frame, metadata=None, model=None) -> None:
        super()._set(masses, focal_sets, index, frame, metadata)
        self._model = model

    def _copy_with(self, masses: Array, index: Any) -> LabeledPartition:
        return type(self).unchecked(
            masses,
            self.focal_sets,
            index,
            self.frame,
            metadata=self._metadata,
            model=self._model,
        )

    @property
    def model(self) -> LabelModel:
        """Estimate that `predict_mass` uses."""
        return self._model

    def predict_mass(self, X: TableLike) -> LabeledPartition:
        """Return the masses of new objects.

        A row that is equal to a training row gets the masses of this row.

        Parameters
        ----------
        X : array-like
            New objects in the same form as the training objects. If ``metric="precomputed"``, row
            i contains the dissimilarities between new object i and the training objects.

        Returns
        -------
        LabeledPartition
        """
        masses = self._model.masses(X)
        return self._copy_with(masses, row_index(X))


@dataclass(frozen=True)
class LabelModel:
    """Estimate of the probabilities of the clusters, and how new rows are validated."""

    validator: InputValidator
    posterior: PosteriorModel
    connection: Connection | None  # None if all training objects have labels

    def masses(self, X: TableLike) -> Array:
        """Return the masses of new rows."""
        values = self.validator.read_new(X, len(self.posterior.references))
        with block_map(self.validator.n_jobs) as apply:
            masses = check_masses(self.posterior.masses(values, apply))
        if self.connection is None:
            return masses
        connected = self.connection.probabilities(self.posterior.neighbors, values)
        return add_outliers(masses, self.posterior.family, connected)


def doubt(
    X: TableLike,
    labels: ArrayLike = None,
    *,
    runs: Sequence[ArrayLike] | None = None,
    clusterer: Any = None,
    metric: Metric = "euclidean",
    random_state: Seed = None,
    n_jobs: int | None = -1,
) -> LabeledPartition:
    """Estimate how plausible each cluster is for each object, for clusters of any program.

    The masses are those of `dempster.cluster.CredalClustering` for its own clusters (see
    ``docs/doubt.md``): an object between two clusters gets mass on the pair, and an object far from
    all clusters gets mass on the empty set. An object has another most plausible cluster than its
    label if the data contradict the label.

    Noise (-1, None or NaN) is no cluster: by the evidence of the other objects, each of these
    objects is certain of a cluster, ambiguous, or an outlier (`dempster.labels.connection`).

    Parameters
    ----------
    X : array-like of shape (n, p), table, or (n, n) dissimilarities
        Objects, with the same scale of the columns with which the clusters were found.
    labels : array-like of shape (n,), optional
        Cluster of each object: names or numbers; -1, None or NaN for noise.
    runs : sequence of array-like, optional
        Several labelings of the objects, such as repetitions with other seeds, instead of
        ``labels``. Their numbers of clusters may differ. They are matched with the run that agrees
        most with the others, among those with the most frequent number of clusters.
    clusterer : clusterer, optional
        Clusterer of any library, instead of ``labels``. A copy is fitted to X; its ``labels_`` are
        used.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers and categories; "precomputed": X contains dissimilarities.
    random_state : int, RandomState, Generator or None
        Seed for the folds of the objects, and for drawing 4,000 objects from which the
        probabilities are estimated if there are more.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Returns
    -------
    LabeledPartition
        A `CredalPartition` whose clusters have the labels as names, in increasing order, with
        `predict_mass` for new objects.

    See Also
    --------
    evaluate : How good the clusters are.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from dempster import doubt
    >>> from dempster.datasets import load_iris
    >>> X = load_iris().data
    >>> partition = doubt(X, clusterer=KMeans(3, n_init=5, random_state=0), random_state=0)
    >>> partition.n_clusters, partition.predict_mass(X[:1]).labels == partition.labels[:1]
    (3, array([ True]))
    """
    arguments = {"labels": labels, "runs": runs, "clusterer": clusterer}
    given = [name for name, value in arguments.items() if value is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        message = f"pass exactly one of labels, runs and clusterer, got {got}"
        raise InvalidParameterError(given[1] if given else "labels", message=message)
    validator = InputValidator(metric, random_state, n_jobs)
    source = validator.read(X)
    index = row_index(X)
    if clusterer is not None:
        labels = fit_labels(clusterer, X)
    if runs is None:
        names, codes = read_labels(labels, given[0], len(source), index)
        return estimate(validator, source, codes, names, index)
    names, memberships = _read_runs(runs, len(source), index)
    return estimate(validator, source, memberships, names, index)


def fit_labels(clusterer: Any, X: TableLike) -> Any:
    """Fit a copy of a clusterer, and return its labels."""
    if not is_estimator(clusterer):
        raise InvalidParameterError("clusterer", "an estimator", clusterer)
    fitted = clone(clusterer).fit(X)
    if not hasattr(fitted, "labels_"):
        must = f"have labels_ after fit, but {type(fitted).__name__} has none"
        raise InvalidParameterError("clusterer", must=must)
    return fitted.labels_


def _read_runs(runs: Any, n_objects: int, index: Index) -> tuple[list[Any], np.ndarray]:
    """Return the names of the clusters of the reference, and the memberships, shape (n, c)."""
    values = as_list(runs, "runs", "labelings of the same objects")
    if not values:
        raise InvalidParameterError("runs", must="contain at least one labeling")
    pairs = [read_labels(labels, "runs", n_objects, index) for labels in values]
    labelings = [codes for _, codes in pairs]
    reference = select_reference(labelings)
    names = pairs[reference][0]
    return names, pool_runs(labelings, labelings[reference])


def estimate(
    validator: InputValidator,
    source: DissimilaritySource,
    labels: np.ndarray,
    names: Sequence[Hashable],
    index: Index,
) -> LabeledPartition:
    """Estimate the masses of all objects from their clusters (n,) or memberships (n, c)."""
    n_clusters = len(names)
    if n_clusters >= MAX_ROWS // 2:
        must = f"contain fewer than {MAX_ROWS // 2:,} clusters, got {n_clusters:,}"
        raise InvalidParameterError("labels", must=must)
    codes = labels
    if labels.ndim == 2:
        codes = np.where(labels.any(axis=1), labels.argmax(axis=1), NOISE)
    rng = as_random_state(validator.random_state)
    weights = _draw_weights(codes, rng)
    with block_map(validator.n_jobs) as apply:
        model = PosteriorModel.fit(
            source, labels, weights, random_state=rng, apply=apply
        )
        values: Any = source.matrix if source.objects is None else source.objects
        masses = check_masses(model.training_masses(values, apply))
        connection = None
        noise = np.flatnonzero(codes < 0)
        if len(noise):
            connection = Connection.fit(model.neighbors, values, codes >= 0, apply)
            connected = np.ones(len(codes))
            connected[noise] = connection.probabilities(model.neighbors, values[noise])
            masses = add_outliers(masses, model.family, connected)
        metadata = {
            "method": "doubt",
            "parameters": {
                name: value
                for name, value in validator.get_params().items()
                if value is None or isinstance(value, int | str)
            },
            "random_state": validator.random_state,
        }
        partition = LabeledPartition.unchecked(
            masses,
            model.family,
            index,
            names,
            metadata=metadata,
            model=LabelModel(validator, model, connection),
        )
        compute_labels(partition, apply)
    partition.labels = freeze(partition.labels)
    return partition


def _draw_weights(codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray | None:
    """Return weights that are zero except for at most 4,000 objects; None if there are not more.

    Half of the objects are drawn in proportion to the sizes of the clusters, and half are divided
    equally, so that small clusters remain. The weights compensate for this.
    """
    n = len(codes)
    if n <= MAX_ROWS:
        return None
    _, cluster, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    half = MAX_ROWS // 2
    n_drawn = np.minimum(sizes, half // len(sizes) + half * sizes // n)
    order = rng.permutation(n)
    order = order[np.argsort(cluster[order], kind="stable")]
    rank = np.empty(n, np.intp)
    rank[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    is_drawn = rank < n_drawn[cluster]
    weights = np.where(is_drawn, (sizes / n_drawn)[cluster], 0)
    return weights / weights[is_drawn].mean()
