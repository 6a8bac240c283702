"""Clusters of any program as a clusterer and transformer of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster.belief import FocalSets
from dempster.dissimilarity.input import METRIC_RULE, mark_tags
from dempster.labels.graphs import GraphModel
from dempster.labels.labeled_partition import (
    LabeledPartition,
    LabelModel,
    LazyLabeledPartition,
    doubt,
    predict,
)
from dempster.partition import CredalPartition, LazyCredalPartition


class LabeledClustering(
    ClusterMixin, TransformerMixin, DocumentedEstimator, BaseEstimator
):
    """Estimates the doubt about clusters of any program.

    This is `dempster.doubt` as an estimator, for pipelines and files. The labels are those of a
    clusterer, or the argument y of `fit`.

    Parameters
    ----------
    clusterer : clusterer or None, default=None
        Clusterer of any library, of which a copy is fitted; its ``labels_`` are used. None: the
        labels are the argument y of `fit`.
    metric : {"euclidean", "gower", "precomputed", "graph"}, str or callable, default="euclidean"
        As in `dempster.doubt`.
    random_state : int, RandomState, Generator or None, default=None
        Seed for the folds of the objects, and for drawing objects if there are many.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Attributes
    ----------
    credal_partition_ : CredalPartition, or LazyCredalPartition for blocks
        Masses of the training objects. The clusters have the labels as names, in increasing order.
    labels_ : array of shape (n_samples,)
        Number of the most plausible cluster of each training object, which may be another cluster
        than that of its label. ``credal_partition_.frame`` contains the names of the clusters.
    n_clusters_ : int
    focal_sets_ : FocalSets
    n_features_in_ : int
        Number of columns of X, or of nodes of a graph.

    See Also
    --------
    dempster.doubt : The same as a function, also for several runs.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from dempster.datasets import load_iris
    >>> from dempster.labels import LabeledClustering
    >>> X = load_iris().data
    >>> model = LabeledClustering(KMeans(3, random_state=0), random_state=0).fit(X)
    >>> model.transform(X[:2]).shape, model.get_feature_names_out()[1]
    ((2, 6), 'mass {0}')
    """

    _doc_link_path = "/api/generated/dempster.labels.{name}.html"
    _rules = {
        "clusterer": rule.none | rule.Rule("an estimator", rule.is_estimator),
        "metric": METRIC_RULE,
        "random_state": rule.seed,
        "n_jobs": rule.n_jobs,
    }
    _model: LabelModel | GraphModel
    credal_partition_: CredalPartition | LazyCredalPartition
    focal_sets_: FocalSets
    n_clusters_: int
    labels_: Any

    def __init__(
        self,
        clusterer: Any = None,
        *,
        metric: Metric = "euclidean",
        random_state: Seed = None,
        n_jobs: int | None = -1,
    ):
        self.clusterer = clusterer
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: TableLike, y: ArrayLike = None) -> Self:
        """Estimate how plausible each cluster is for each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or other objects
            Objects, in the same forms as for `dempster.doubt`.
        y : array-like of shape (n_samples,), optional
            Cluster of each object: names or numbers; -1, None or NaN for noise. It is ignored if
            there is a clusterer.

        Returns
        -------
        self
        """
        rule.check_parameters(self, self._rules)
        if self.clusterer is None and y is None:
            raise InvalidParameterError(
                "y", must="contain the labels if there is no clusterer"
            )
        with fit_transaction(self) as draft:
            partition = doubt(
                X,
                y if self.clusterer is None else None,
                clusterer=self.clusterer,
                metric=self.metric,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
            )
            draft._set_partition(partition)
        return self

    def _set_partition(
        self, partition: LabeledPartition | LazyLabeledPartition
    ) -> None:
        self._model = partition.model
        self.focal_sets_ = partition.focal_sets
        self.n_clusters_ = partition.n_clusters
        self.credal_partition_ = partition
        self.labels_ = partition.labels
        if isinstance(partition, LabeledPartition):
            # The estimator contains the model already.
            self.credal_partition_ = CredalPartition.unchecked(
                partition.stored_masses,
                partition.focal_sets,
                partition.index,
                partition.frame,
                metadata=partition.metadata,
            )
            self.labels_ = partition.labels.copy()
        self.n_features_in_ = len(self.labels_)  # nodes of a graph
        if isinstance(self._model, LabelModel):
            validator = vars(self._model.validator)
            for name in ("n_features_in_", "feature_names_in_"):
                if name in validator:
                    setattr(self, name, validator[name])

    def predict_mass(self, X: TableLike) -> LabeledPartition | LazyLabeledPartition:
        """Return the credal partition of new objects.

        Parameters
        ----------
        X : array-like, or blocks
            New objects, in the same form as in `fit`; see `LabeledPartition.predict_mass`.

        Returns
        -------
        LabeledPartition, or LazyLabeledPartition for blocks
        """
        check_is_fitted(self, "focal_sets_")
        return predict(self._model, X, self.credal_partition_.frame)

    def predict(self, X: TableLike) -> Any:
        """Return the number of the most plausible cluster of each new object.

        Parameters
        ----------
        X : array-like, or blocks
            New objects, as in `predict_mass`.

        Returns
        -------
        array of shape (n_samples,)
            Clusters 0, ..., c-1; ``credal_partition_.frame`` contains their names.
        """
        return self.predict_mass(X).labels

    def predict_proba(self, X: TableLike) -> Any:
        """Return the pignistic probabilities of the clusters for new objects.

        Parameters
        ----------
        X : array-like, or blocks
            New objects, as in `predict_mass`.

        Returns
        -------
        array of shape (n_samples, n_clusters)
            Probabilities of the clusters, in the order of their names.
        """
        return self.predict_mass(X).pignistic()

    def transform(self, X: TableLike) -> Any:
        """Return the masses of new objects as features.

        Parameters
        ----------
        X : array-like, or blocks
            New objects, as in `predict_mass`.

        Returns
        -------
        array of shape (n_samples, n_focal_sets)
            Masses on the focal sets in the order of ``focal_sets_``.
        """
        return _copy_masses(self.predict_mass(X))

    def fit_transform(
        self, X: TableLike, y: ArrayLike = None, **fit_params: Any
    ) -> Any:
        """Fit the estimator and return the masses of the training objects.

        Parameters
        ----------
        X, y, **fit_params
            Arguments of `fit`.

        Returns
        -------
        array of shape (n_samples, n_focal_sets)
            Masses on the focal sets.
        """
        return _copy_masses(self.fit(X, y, **fit_params).credal_partition_)

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
        frame = list(map(str, self.credal_partition_.frame))
        names = [f"mass {name}" for name in self.focal_sets_.names(frame)]
        return np.array([name.replace(",", ", ") for name in names], object)

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


def _copy_masses(partition: CredalPartition | LazyCredalPartition) -> Any:
    """Return the masses, copied if in memory, because the masses of a partition are read-only."""
    if isinstance(partition, CredalPartition):
        return np.array(partition.masses)
    return partition.masses
