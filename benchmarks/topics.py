"""Command ``python -m benchmarks.topics``: compare cluster models of BERTopic and write a table of OTHER.md.

The documents are docstrings of four libraries. They are embedded by latent semantic analysis and,
as by default in BERTopic, reduced by UMAP to five dimensions, or not reduced. The table has the
number of topics, the share of documents without a topic (-1), and the coherence of the topics: the
mean normalized pointwise mutual information (NPMI) of the pairs of their ten words. Means over
libraries and seeds. The program needs the package bertopic and takes some minutes.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
from bertopic import BERTopic
from bertopic.dimensionality import BaseDimensionalityReduction
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from umap import UMAP

from benchmarks.embeddings import (
    LIBRARIES,
    N_WORDS,
    WORDS,
    coherence,
    collect_documents,
)
from benchmarks.other import write_table
from dempster.cluster import EVCLUS, CredalClustering
from dempster.integrations.bertopic import TopicClusterer, find_topics

SEEDS = range(5)


def evaluate(
    cluster_model: Any,
    documents: list[str],
    embeddings: np.ndarray,
    reduce: bool = False,
) -> list[float]:
    """Return the number of topics, the share of documents without and with several topics, and the coherence.

    If ``reduce`` is True, BERTopic then assigns documents without a topic to the topic with the
    most similar words.
    """
    vectorizer = CountVectorizer(**WORDS)
    model = BERTopic(
        umap_model=BaseDimensionalityReduction(),
        hdbscan_model=cluster_model,
        vectorizer_model=vectorizer,
        top_n_words=N_WORDS,
    ).fit(documents, embeddings)
    if reduce:
        topics = model.reduce_outliers(documents, model.topics_, strategy="c-tf-idf")
        model.update_topics(documents, topics=topics, vectorizer_model=vectorizer)
    labels = np.array(model.topics_)
    words = [
        [word for word, _ in described]
        for topic, described in model.get_topics().items()
        if topic != -1
    ]
    several = np.nan
    if isinstance(cluster_model, TopicClusterer):
        several = np.mean([len(found) > 1 for found in find_topics(model)])
    return [
        len(words),
        float(np.mean(labels == -1)),
        float(several),
        coherence(words, documents),
    ]


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    results: dict[tuple[str, str], list[list[float]]] = {}
    for seed, library in itertools.product(SEEDS, LIBRARIES):
        documents = list(collect_documents(LIBRARIES[library]))
        words = TfidfVectorizer(**WORDS, min_df=3)
        vectors = make_pipeline(
            words, TruncatedSVD(20, random_state=seed), Normalizer()
        ).fit_transform(documents)
        reduced = UMAP(
            15, 5, min_dist=0.0, metric="cosine", random_state=seed
        ).fit_transform(vectors)
        for reduction, embeddings in {
            "none": vectors,
            "UMAP": reduced.astype(float),
        }.items():
            noise = HDBSCAN(min_cluster_size=10, copy=True)
            k = len(set(noise.fit(embeddings).labels_) - {-1})
            models: dict[str, Any] = {
                "`HDBSCAN(min_cluster_size=10)`": noise,
                "`HDBSCAN(min_cluster_size=10)`, `reduce_outliers`": noise,
                "`HDBSCAN(min_cluster_size=5)`": HDBSCAN(min_cluster_size=5, copy=True),
                "`TopicClusterer()`": TopicClusterer(
                    CredalClustering(random_state=seed)
                ),
                "`EVCLUS(k)`": TopicClusterer(EVCLUS(k, random_state=seed)),
                "`KMeans(k)`": KMeans(k, n_init=10, random_state=seed),
            }
            for name, model in models.items():
                values = evaluate(
                    model, documents, embeddings, reduce="reduce_outliers" in name
                )
                results.setdefault((reduction, name), []).append(values)
                print(
                    library,
                    len(documents),
                    seed,
                    reduction,
                    name,
                    np.round(values, 3),
                    flush=True,
                )
    rows = []
    for (reduction, name), values in results.items():
        number, without, several, npmi = np.mean(values, axis=0)
        if np.isnan(several):
            between = ""
        else:
            between = f"{several:.0%}"
        rows.append(
            [reduction, name, f"{number:.0f}", f"{without:.0%}", between, f"{npmi:.2f}"]
        )
    write_table(
        "Topics",
        ["reduction", "cluster model", "topics", "no topic", "several topics", "NPMI"],
        rows,
    )


if __name__ == "__main__":
    main()
