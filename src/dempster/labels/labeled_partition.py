"""The doubt about labels that another program found."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from dempster._arrays import Array, freeze
from dempster._errors import InvalidParameterError
from dempster._random import as_random_state
from dempster._text import format_count
from dempster._types import ArrayLike, Index, Metric, Seed, TableLike
from dempster._validation import (
    as_list,
    check_masses,
    is_estimator,
    match_names,
    row_index,
)
from dempster.data.blocks import comes_in_blocks
from dempster.data.in_process import open_blocks
from dempster.dissimilarity.graphs import GraphSource
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.labels.connection import Connection, move_unconnected
from dempster.labels.encoding import NOISE, read_labels
from dempster.labels.graphs import GraphModel
from dempster.labels.rows import InputValidator, LabeledRows, name_columns
from dempster.labels.runs import pool_runs, select_reference
from dempster.optimize.blocks import Apply, block_map
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.partition.credal_partition import compute_labels
from dempster.posterior import PosteriorModel
from dempster.posterior.model import MAX_ROWS


class LabeledPartition(CredalPartition):
    """Credal partition of labeled objects, which also gives masses to new objects.

    `doubt` creates it. It has all methods of a `CredalPartition`; the names of the clusters are the
    labels. A subset of its objects is a `LabeledPartition` with the same clusters.
    """

    _model: LabelModel | GraphModel

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
    def model(self) -> LabelModel | GraphModel:
        """Estimate that `predict_mass` uses."""
        return self._model

    def predict_mass(self, X: TableLike) -> LabeledPartition | LazyLabeledPartition:
        """Return the masses of new objects.

        A row that is equal to a training row gets the masses of this row.

        Parameters
        ----------
        X : array-like, or blocks
            New objects in the same form as the training objects. If ``metric="precomputed"``, row
            i contains the dissimilarities between new object i and the training objects. If X was a
            graph, X is a graph with new nodes, or a matrix of the weights of their edges to the
            training nodes.

        Returns
        -------
        LabeledPartition, or LazyLabeledPartition for blocks
        """
        return predict(self._model, X, self.frame)


class LazyLabeledPartition(LazyCredalPartition):
    """Credal partition of labeled objects in blocks, which is computed on access.

    `doubt` creates it for X in blocks. It has all methods of a `LazyCredalPartition`; the names of
    the clusters are the labels.
    """

    @property
    def model(self) -> LabelModel:
        """Estimate that `predict_mass` uses."""
        assert self._predict is not None
        return self._predict[1].model

    def predict_mass(self, X: TableLike) -> LabeledPartition | LazyLabeledPartition:
        """Return the masses of new objects.

        Parameters
        ----------
        X : array-like, or blocks
            New objects with the same columns as the training objects.

        Returns
        -------
        LabeledPartition, or LazyLabeledPartition for blocks
        """
        return self.model.predict(X, self.frame)


def predict(
    model: LabelModel | GraphModel, X: TableLike, names: Sequence[Hashable]
) -> LabeledPartition | LazyLabeledPartition:
    """Return the partition of new objects; ``names`` are those of the clusters."""
    if isinstance(model, LabelModel):
        return model.predict(X, names)
    index = model.nodes.row_names(X)
    return LabeledPartition.unchecked(
        model.masses(X), model.family, index, names, model=model
    )


@dataclass(frozen=True)
class LabelModel:
    """Estimate of the probabilities of the clusters, and how new rows are validated."""

    validator: InputValidator
    posterior: PosteriorModel
    connection: Connection | None  # None if all training objects have labels

    def predict(
        self, X: TableLike, names: Sequence[Hashable]
    ) -> LabeledPartition | LazyLabeledPartition:
        """Return the partition of new objects."""
        family = self.posterior.family
        if self.validator.metric != "precomputed" and comes_in_blocks(X):
            blocks = open_blocks(X, self.validator.n_jobs)
            predict = _block_masses, _BlockModel(self, blocks.names)
            return LazyLabeledPartition(blocks, family, None, predict, names)
        with block_map(self.validator.n_jobs) as apply:
            values = self.validator.read_new(X, len(self.posterior.references))
            masses = self.masses(values, None, apply)
        return LabeledPartition.unchecked(
            masses, family, row_index(X), names, model=self
        )

    def masses(
        self,
        values: Any,
        noise: np.ndarray | None,
        apply: Apply,
        *,
        training: bool = False,
    ) -> Array:
        """Return the masses of new objects, or of all training objects.

        ``noise`` contains the positions of those without a label, None for all of them.
        """
        compute = self.posterior.masses
        if training:
            compute = self.posterior.training_masses
        masses = check_masses(compute(values, apply))
        if self.connection is None:
            return masses
        connected = np.ones(len(values))
        if noise is None:
            noise = np.arange(len(values))
        if len(noise):
            neighbors = self.posterior.neighbors
            connected[noise] = self.connection.probabilities(neighbors, values[noise])
        return move_unconnected(masses, self.posterior.family.empty_index, connected)


@dataclass(frozen=True)
class _BlockModel:
    """Model of the masses of blocks."""

    model: LabelModel
    names: tuple[str, ...] | None  # of the columns
    # whether the last column is zero for objects without a label, and positive for others
    has_labels: bool = False


def _block_masses(block: np.ndarray, of: _BlockModel, apply: Apply) -> Array:
    posterior = of.model.posterior
    if len(block) == 0:
        return np.empty((0, len(posterior.family)), block.dtype)
    noise = None
    if of.has_labels:
        noise = np.flatnonzero(block[:, -1] == 0)
        block = np.ascontiguousarray(block[:, :-1])
    rows = name_columns(block, of.names)
    values = of.model.validator.read_new(rows, len(posterior.references))
    return of.model.masses(values, noise, apply)


def doubt(
    X: TableLike,
    labels: ArrayLike = None,
    *,
    runs: Sequence[ArrayLike] | None = None,
    clusterer: Any = None,
    metric: Metric = "euclidean",
    random_state: Seed = None,
    n_jobs: int | None = -1,
) -> LabeledPartition | LazyLabeledPartition:
    """Estimate how plausible each cluster is for each object, for clusters of any program.

    The masses are those of `dempster.cluster.CredalClustering` for its own clusters (see
    ``docs/doubt.md``): an object between two clusters gets mass on the pair, and an object far from
    all clusters gets mass on the empty set. An object has another most plausible cluster than its
    label if the data contradict the label.

    Noise (-1, None or NaN) is no cluster: by the evidence of the other objects, each of these
    objects is certain of a cluster, ambiguous, or an outlier (`dempster.labels.connection`).

    Parameters
    ----------
    X : array-like of shape (n, p), table, (n, n) dissimilarities, graph, or blocks
        Objects, with the same scale of the columns with which the clusters were found. X may be a
        sparse matrix of features, of which the 100 leading singular vectors are used, or a graph of
        networkx or igraph, and may come in blocks (``docs/blocks.md``).
    labels : array-like of shape (n,), optional
        Cluster of each object: names or numbers; -1, None or NaN for noise. For a graph also a
        mapping of the nodes to their clusters.
    runs : sequence of array-like, optional
        Several labelings of the objects, such as repetitions with other seeds, instead of
        ``labels``. Their numbers of clusters may differ. They are matched with the run that agrees
        most with the others, among those with the most frequent number of clusters.
    clusterer : clusterer, optional
        Clusterer of any library, instead of ``labels``. A copy is fitted to X; its ``labels_`` are
        used.
    metric : {"euclidean", "gower", "precomputed", "graph"}, str or callable, default="euclidean"
        "gower" accepts numbers and categories; "precomputed": X contains dissimilarities; "graph":
        X is a sparse matrix of the weights of the edges of a graph.
    random_state : int, RandomState, Generator or None
        Seed for the folds of the objects, and for drawing 4,000 objects from which the
        probabilities are estimated if there are more.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Returns
    -------
    LabeledPartition, or LazyLabeledPartition for blocks
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
    rows = LabeledRows.open(InputValidator(metric, random_state, n_jobs), X)
    if clusterer is not None:
        labels = fit_labels(clusterer, X)
    if runs is None:
        labels = rows.order_labels(labels)
        names, codes = read_labels(labels, given[0], rows.n, rows.index)
        return estimate(rows, codes, names).partition
    names, memberships = _read_runs(runs, rows.n, rows.index)
    return estimate(rows, memberships, names).partition


def doubt_clusters(
    partition: CredalPartition,
    X: TableLike,
    metric: Metric,
    random_state: Seed,
    n_jobs: int | None,
) -> LabeledPartition:
    """Estimate the masses of `doubt` for the clusters of a partition, in the order of X."""
    if comes_in_blocks(X):
        raise InvalidParameterError("X", must="be in memory, not in blocks")
    rows = LabeledRows.open(InputValidator(metric, random_state, n_jobs), X)
    partition = partition.to_numpy()
    order = match_names(partition.index, rows.index)
    if order is not None:
        partition = partition[order]
    if rows.n != len(partition):
        count = format_count(len(partition), "object")
        must = f"contain the {count} of the partition, got {rows.n:,}"
        raise InvalidParameterError("X", must=must)
    labels = partition.labels_with_outliers
    if not (labels >= 0).any():
        must = "contain objects that are not outliers of the partition"
        raise InvalidParameterError("X", must=must)
    if rows.index is None:
        rows = replace(rows, index=partition.index)
    found = estimate(rows, labels, partition.frame).partition
    assert isinstance(found, LabeledPartition)
    return found


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


@dataclass(frozen=True)
class Estimate:
    """Partition of all objects, and the objects from which it was estimated."""

    partition: LabeledPartition | LazyLabeledPartition
    # objects in memory: all objects, or those that were drawn from blocks; None for a graph
    source: DissimilaritySource | None
    weights: np.ndarray | None  # of these objects; None if they are all objects
    positions: np.ndarray  # of these objects among all objects


def estimate(
    rows: LabeledRows, labels: np.ndarray, names: Sequence[Hashable]
) -> Estimate:
    """Estimate the masses of all objects from their clusters (n,) or memberships (n, c)."""
    n_clusters = len(names)
    if n_clusters >= MAX_ROWS // 2:
        must = f"contain fewer than {MAX_ROWS // 2:,} clusters, got {n_clusters:,}"
        raise InvalidParameterError("labels", must=must)
    if rows.graph is not None:
        return _estimate_graph(rows, rows.graph, labels, names)
    codes = labels
    if labels.ndim == 2:
        codes = np.where(labels.any(axis=1), labels.argmax(axis=1), NOISE)
    validator = rows.validator
    rng = as_random_state(validator.random_state)
    weights = _draw_weights(codes, rng)
    drawn = np.arange(rows.n) if weights is None else np.flatnonzero(weights)
    source, which = rows.draw(drawn)
    metadata = _describe(validator)
    with block_map(validator.n_jobs) as apply:
        positions = drawn if rows.source is None else np.arange(rows.n)
        used = None if weights is None else weights[positions]
        posterior = PosteriorModel.fit(
            source, labels[positions], used, random_state=rng, apply=apply
        )
        values: Any = source.matrix if source.objects is None else source.objects
        noise = np.flatnonzero(codes < 0)
        connection = None
        if len(noise):
            connection = Connection.fit(
                posterior.neighbors, values[which], codes[drawn] >= 0, apply
            )
        model = LabelModel(validator, posterior, connection)
        family = posterior.family
        if rows.blocks is not None:
            blocks = rows.blocks
            has_labels = connection is not None
            predict = _block_masses, _BlockModel(model, blocks.names, has_labels)
            if has_labels:
                blocks = blocks.with_column(codes + 1)
            lazy = LazyLabeledPartition(blocks, family, metadata, predict, names)
            return Estimate(lazy, source, used, positions)
        masses = model.masses(values, noise, apply, training=True)
        partition = LabeledPartition.unchecked(
            masses, family, rows.index, names, metadata=metadata, model=model
        )
        compute_labels(partition, apply)
    partition.labels = freeze(partition.labels)
    return Estimate(partition, source, None, positions)


def _estimate_graph(
    rows: LabeledRows,
    graph: GraphSource,
    labels: np.ndarray,
    names: Sequence[Hashable],
) -> Estimate:
    """Estimate the masses of the nodes of a graph."""
    members = labels
    if labels.ndim == 1:
        members = (labels[:, None] == np.arange(len(names))).astype(float)
    model, masses = GraphModel.fit(graph, members)
    metadata = _describe(rows.validator)
    partition = LabeledPartition.unchecked(
        masses, model.family, rows.index, names, metadata=metadata, model=model
    )
    return Estimate(partition, None, None, np.arange(rows.n))


def _describe(validator: InputValidator) -> dict[str, Any]:
    """Return the metadata of a partition."""
    return {
        "method": "doubt",
        "parameters": {
            name: value
            for name, value in validator.get_params().items()
            if value is None or isinstance(value, int | str)
        },
        "random_state": validator.random_state,
    }


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
