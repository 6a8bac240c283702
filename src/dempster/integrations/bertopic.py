"""Cluster documents in BERTopic, and find sets and layers of topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from dempster import CredalPartition
from dempster import _validation as rule
from dempster._errors import InvalidParameterError, MissingExtraError
from dempster._site import DocumentedEstimator
from dempster._types import Seed, TableLike
from dempster.belief.refinement import coarsen
from dempster.cluster import CredalClustering
from dempster.labels import doubt as estimate_doubt
from dempster.partition.layers import MIN_SIMILARITY

__all__ = ["TopicClusterer", "find_topics", "get_partition", "make_linkage"]
__all__ += ["doubt"]


class TopicClusterer(DocumentedEstimator, BaseEstimator):
    """Cluster model for BERTopic, which replaces HDBSCAN.

    Use ``BERTopic(hdbscan_model=TopicClusterer())``. `find_topics` then returns the set of topics
    of each document.

    Parameters
    ----------
    clusterer : clusterer, optional
        Unfitted clusterer from `dempster.cluster`. The default is `CredalClustering`, which selects
        the number of topics, with the seed 0.
    outliers : bool, default=True
        Whether outliers, whose largest mass is on the empty set, get the label -1. Otherwise they
        get the most plausible topic.

    Attributes
    ----------
    clusterer_ : clusterer
        Fitted clusterer.
    credal_partition_ : CredalPartition
        Masses of the documents on sets of clusters. BERTopic numbers its topics by their size, so
        that topics and clusters have different numbers; `get_partition` converts them.
    labels_ : ndarray of shape (n_documents,)
        Cluster of each document, -1 for outliers.
    probabilities_ : ndarray of shape (n_documents, n_clusters)
        Pignistic probabilities of the clusters, which divide the mass of a set equally among its
        clusters.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.integrations.bertopic import TopicClusterer
    >>> model = TopicClusterer(EVCLUS(3, random_state=0)).fit(load_iris().data)
    >>> model.probabilities_.shape, int((model.labels_ == -1).sum())
    ((150, 3), 1)
    """

    _doc_link_path = "/api/generated/dempster.integrations.bertopic.{name}.html"

    def __init__(self, clusterer: Any = None, *, outliers: bool = True):
        self.clusterer = clusterer
        self.outliers = outliers

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Cluster the embeddings of the documents.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Embeddings of the documents.
        y : ignored

        Returns
        -------
        self
        """
        rule.check_flags(outliers=self.outliers)
        clusterer = self.clusterer
        if clusterer is None:
            clusterer = CredalClustering(scale=False, random_state=0)
        if not (rule.is_estimator(clusterer) and hasattr(clusterer, "predict_mass")):
            raise InvalidParameterError(
                "clusterer", "a clusterer from dempster.cluster", clusterer
            )
        self.clusterer_ = clone(clusterer).fit(X)
        self.credal_partition_ = self.clusterer_.credal_partition_
        self.labels_ = self._select_labels(self.credal_partition_)
        self.probabilities_ = self.credal_partition_.pignistic()
        return self

    def predict(self, X: TableLike) -> np.ndarray:
        """Return the cluster of each new document, -1 for outliers.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
            Embeddings of new documents.

        Returns
        -------
        array of shape (n_documents,)
        """
        check_is_fitted(self, "clusterer_")
        return self._select_labels(self.clusterer_.predict_mass(X))

    def _select_labels(self, partition: CredalPartition) -> np.ndarray:
        if self.outliers:
            return partition.labels_with_outliers.copy()
        return partition.labels.copy()


def get_partition(
    topic_model: Any, documents: Sequence[str] | None = None, *, embeddings: Any = None
) -> CredalPartition:
    """Return the credal partition of the documents into the current topics of BERTopic.

    The clusters have the numbers of the topics, also after `reduce_topics` or `merge_topics` of
    BERTopic. Mass on sets of topics that BERTopic discarded becomes mass on the empty set.

    Parameters
    ----------
    topic_model : BERTopic
        Fitted topic model whose cluster model is a `TopicClusterer`.
    documents : sequence of str, optional
        New documents, which are embedded by the embedding model of BERTopic. The default is the
        training documents.
    embeddings : array-like of shape (n_documents, n_features), optional
        Embeddings of new documents, before the reduction of the dimensionality, instead of
        ``documents``.

    Returns
    -------
    CredalPartition
        Its `layers` are coarser topics; ``topic_model.merge_topics(training_documents,
        layer.metadata["merged"])`` uses them in BERTopic.
    """
    _check_topic_model(topic_model)
    clusterer = topic_model.hdbscan_model
    if not isinstance(clusterer, TopicClusterer):
        raise InvalidParameterError(
            "topic_model",
            must=f"have a TopicClusterer as hdbscan_model, got {type(clusterer).__name__}",
        )
    check_is_fitted(clusterer, "clusterer_")
    partition = clusterer.credal_partition_
    if documents is not None and embeddings is None:
        if topic_model.embedding_model is None:
            raise InvalidParameterError(
                "embeddings", must="be given if BERTopic has no embedding model"
            )
        embeddings = topic_model.embedding_model.embed_documents(list(documents))
    if embeddings is not None:
        reduced = topic_model.umap_model.transform(np.asarray(embeddings))
        partition = clusterer.clusterer_.predict_mass(reduced)
    # A cluster has no topic (-1) if it is the most plausible cluster of no document, or if
    # BERTopic discarded it.
    topic_of = topic_model.topic_mapper_.get_mappings()
    topics = [int(topic_of.get(k, -1)) for k in range(partition.n_clusters)]
    masses, family = coarsen(
        partition.stored_masses, partition.focal_sets, np.array(topics)
    )
    return CredalPartition(masses, family, metadata=partition.metadata)


def doubt(topic_model: Any, embeddings: Any, *, random_state: Seed = 0) -> Any:
    """Estimate the doubt about the topics of the documents, for any cluster model.

    Documents without a topic, such as the noise of HDBSCAN, become certain of a topic, ambiguous
    between several, or outliers; see `dempster.doubt`. ``labels_with_outliers`` of the result
    contains the position of the topic of each document in ``frame``, -1 for outliers.

    Parameters
    ----------
    topic_model : BERTopic
        Fitted topic model, whose ``topics_`` are used.
    embeddings : array-like of shape (n_documents, n_features)
        Embeddings of the training documents, before the reduction of the dimensionality.
    random_state : int, RandomState, Generator or None, default=0
        Seed, as in `dempster.doubt`.

    Returns
    -------
    LabeledPartition
        The clusters have the numbers of the topics as names.
    """
    _check_topic_model(topic_model)
    if getattr(topic_model, "topics_", None) is None:
        raise InvalidParameterError("topic_model", must="be fitted")
    reduced = topic_model.umap_model.transform(np.asarray(embeddings))
    return estimate_doubt(reduced, topic_model.topics_, random_state=random_state)


def _check_topic_model(topic_model: Any) -> None:
    try:
        from bertopic import BERTopic
    except ImportError as error:
        raise MissingExtraError(
            "dempster.integrations.bertopic", "bertopic", "topics"
        ) from error
    rule.check(topic_model, "topic_model", rule.kind(BERTopic))


def find_topics(
    topic_model: Any, documents: Sequence[str] | None = None, *, embeddings: Any = None
) -> list[tuple[int, ...]]:
    """Return the set of topics of each document.

    The set with the largest mass contains one topic, several topics if the document lies between
    them, or no topic if the document is an outlier.

    Parameters
    ----------
    topic_model : BERTopic
        Fitted topic model whose cluster model is a `TopicClusterer`.
    documents : sequence of str, optional
        New documents, see `get_partition`.
    embeddings : array-like of shape (n_documents, n_features), optional
        Embeddings of new documents, see `get_partition`.

    Returns
    -------
    list of tuples
        Current topic numbers of BERTopic in increasing order, also after a reduction of the number
        of topics.
    """
    partition = get_partition(topic_model, documents, embeddings=embeddings)
    sets = list(partition.focal_sets)
    return [sets[i] for i in partition.best_set]


def make_linkage(topic_model: Any) -> Callable[[Any], np.ndarray]:
    """Return a linkage function for the hierarchy of the topics in BERTopic.

    Topics with many documents between them merge first. The distance of two topics is minus the
    logarithm of their similarity, see `DendrogramDisplay`.

    Parameters
    ----------
    topic_model : BERTopic
        Fitted topic model with two or more topics whose cluster model is a `TopicClusterer`.

    Returns
    -------
    callable
        Argument ``linkage_function`` of `hierarchical_topics` and `visualize_hierarchy` of
        BERTopic.
    """
    tree = get_partition(topic_model).merge_tree.copy()
    tree[:, 2] = -np.log(np.maximum(1 - tree[:, 2], MIN_SIMILARITY))
    return lambda distances: tree
