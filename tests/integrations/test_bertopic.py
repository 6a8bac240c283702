"""The cluster model of BERTopic, by itself and in BERTopic."""

import inspect
import sys

import numpy as np
import pytest
from scipy import optimize, signal, stats
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from dempster._errors import MissingExtraError
from dempster.cluster import ECM, EVCLUS
from dempster.integrations.bertopic import (
    TopicClusterer,
    doubt,
    find_topics,
    get_partition,
    make_linkage,
)

X = load_iris().data


def test_cluster_model():
    model = clone(TopicClusterer(EVCLUS(3, n_init=1, random_state=0))).fit(X, y=None)
    outliers = model.credal_partition_.outliers
    assert len(outliers)
    np.testing.assert_array_equal(np.flatnonzero(model.labels_ == -1), outliers)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(
        model.probabilities_, model.clusterer_.predict_proba(X)
    )
    everything = TopicClusterer(model.clusterer, outliers=False).fit(X)
    np.testing.assert_array_equal(everything.labels_, everything.clusterer_.labels_)


@pytest.mark.parametrize("clusterer", [KMeans(), EVCLUS, "EVCLUS"])
def test_wrong_clusterer(clusterer):
    with pytest.raises(ValueError, match="clusterer must be a clusterer from dempster"):
        TopicClusterer(clusterer).fit(X)


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bertopic", None)
    with pytest.raises(MissingExtraError, match=r"dempster\[topics\]"):
        find_topics(None)


@pytest.fixture(scope="module")
def corpus():
    """Return documents and a pipeline that embeds them."""
    texts = [
        inspect.getdoc(getattr(m, name))
        for m in (stats, signal, optimize)
        for name in m.__all__
    ]
    documents = [text for text in texts if text and len(text) > 300][:300]
    pipeline = make_pipeline(
        TfidfVectorizer(stop_words="english"),
        TruncatedSVD(5, random_state=0),
        Normalizer(),
    )
    return documents, pipeline.fit(documents)


@pytest.mark.filterwarnings("ignore")
def test_topics_of_documents(corpus):
    bertopic = pytest.importorskip("bertopic")
    from bertopic.backend import BaseEmbedder
    from bertopic.dimensionality import BaseDimensionalityReduction

    documents, pipeline = corpus

    class Embedder(BaseEmbedder):
        def embed(self, documents, verbose=False):
            return pipeline.transform(documents)

    model = bertopic.BERTopic(
        embedding_model=Embedder(),
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=TopicClusterer(
            ECM(4, focal_sets="pairs", n_init=1, random_state=0)
        ),
    )
    topics, probabilities = model.fit_transform(documents)
    partition = model.hdbscan_model.credal_partition_
    outliers = np.array(topics) == -1
    np.testing.assert_array_equal(np.flatnonzero(outliers), partition.outliers)
    assert probabilities.shape == (len(documents), 4)
    pignistic_topic = probabilities.argmax(axis=1)
    assert np.mean(pignistic_topic[~outliers] == np.array(topics)[~outliers]) > 0.9

    # BERTopic sorts the topics by their numbers of documents.
    sets = find_topics(model)
    topic_of = dict(zip(model.hdbscan_model.labels_, topics, strict=True))
    expected = [
        tuple(sorted(topic_of[k] for k in np.flatnonzero(row)))
        for row in partition.assignment()
    ]
    assert sets == expected
    assert any(len(topics) > 1 for topics in sets)
    new = documents[::-7]
    assert (
        find_topics(model, new)
        == find_topics(model, embeddings=pipeline.transform(new))
        == sets[::-7]
    )
    assert model.transform(new)[0] == topics[::-7]

    model.reduce_topics(documents, nr_topics=2)
    assert {topic for topics in find_topics(model) for topic in topics} == set(
        model.topics_
    ) - {-1}
    with pytest.raises(
        ValueError, match="have a TopicClusterer as hdbscan_model, got HDBSCAN"
    ):
        find_topics(bertopic.BERTopic())


@pytest.mark.filterwarnings("ignore")
def test_hierarchy_of_many_topics(corpus):
    """Compressed rows, the hierarchy of BERTopic, and merging the topics of a layer."""
    bertopic = pytest.importorskip("bertopic")
    from bertopic.dimensionality import BaseDimensionalityReduction

    documents, pipeline = corpus
    clusterer = TopicClusterer(ECM(55, n_init=1, random_state=0), outliers=False)
    model = bertopic.BERTopic(
        umap_model=BaseDimensionalityReduction(), hdbscan_model=clusterer
    ).fit(documents, pipeline.transform(documents))
    partition = get_partition(model)
    n_topics = len(set(model.topics_))
    assert partition.n_clusters == n_topics
    is_certain = np.ones(len(documents), dtype=bool)
    is_certain[[*partition.ambiguous, *partition.outliers]] = False
    topics = np.array(model.topics_)
    assert 0 < is_certain.sum() < len(documents)
    assert (partition.labels == topics)[is_certain].all()

    make = make_linkage(model)
    hierarchy = model.hierarchical_topics(documents, linkage_function=make)
    merged = hierarchy[hierarchy["Parent_ID"].astype(int) == n_topics]["Topics"]
    [pair] = [
        sorted(group)
        for group in partition.layers([n_topics - 1])[0].metadata["merged"]
        if len(group) > 1
    ]
    assert list(merged) == [pair]
    assert model.visualize_hierarchy(
        hierarchical_topics=hierarchy, linkage_function=make
    )

    [layer] = partition.layers([4])
    model.merge_topics(documents, layer.metadata["merged"])
    assert set(model.topics_) == set(range(4))
    sets = find_topics(model)
    assert sum(len(topics) > 1 for topics in sets) == len(layer.ambiguous)
    merged_topics = np.array(model.topics_)
    new_name = {k: merged_topics[is_certain & (layer.labels == k)][0] for k in range(4)}
    expected = [
        tuple(sorted(new_name[k] for k in np.flatnonzero(row)))
        for row in layer.assignment()
    ]
    assert sets == expected


@pytest.mark.filterwarnings("ignore")
def test_topics_of_noise(corpus):
    bertopic = pytest.importorskip("bertopic")
    from bertopic.dimensionality import BaseDimensionalityReduction
    from sklearn.cluster import HDBSCAN

    documents, pipeline = corpus
    embeddings = pipeline.transform(documents)
    model = bertopic.BERTopic(
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=HDBSCAN(min_cluster_size=10, copy=True),
    )
    with pytest.raises(ValueError, match="topic_model must be fitted"):
        doubt(model, embeddings)
    topics = np.array(model.fit(documents, embeddings).topics_)
    partition = doubt(model, embeddings)
    assert partition.frame == tuple(sorted(set(topics[topics >= 0].tolist())))
    noise = topics < 0
    assert noise.any()
    found = partition.labels_with_outliers[noise]
    assert (found >= 0).any()
    assert (partition.labels[~noise] == topics[~noise]).mean() > 0.9
