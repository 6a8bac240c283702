"""Command ``python -m benchmarks.topics``: compare cluster models of BERTopic and write a table of OTHER.md.

The documents are docstrings of four libraries. They are embedded by latent semantic analysis and,
as by default in BERTopic, reduced by UMAP to five dimensions, or not reduced. The table has the
number of topics, the share of documents without a topic (-1), and the coherence of the topics: the
mean normalized pointwise mutual information (NPMI) of the pairs of their ten words. Means over
libraries and seeds. The program needs the package bertopic and takes some minutes.
"""

from __future__ import annotations

import inspect
import itertools
import pkgutil
import re
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

from benchmarks.other import write_table
from dempster.cluster import EVCLUS, CredalClustering
from dempster.integrations.bertopic import TopicClusterer, find_topics

SEEDS = range(5)
LIBRARIES = {
    "SciPy": (
        "scipy.stats",
        "scipy.signal",
        "scipy.optimize",
        "scipy.special",
        "scipy.sparse",
        "numpy.linalg",
    ),
    "NumPy": (
        "numpy",
        "numpy.linalg",
        "numpy.fft",
        "numpy.random",
        "numpy.ma",
        "numpy.polynomial.polynomial",
    ),
    "scikit-learn": tuple(
        f"sklearn.{name}"
        for name in (
            *(
                "cluster",
                "covariance",
                "datasets",
                "decomposition",
                "ensemble",
                "feature_extraction.text",
            ),
            *(
                "feature_selection",
                "gaussian_process",
                "linear_model",
                "manifold",
                "metrics",
                "model_selection",
            ),
            *(
                "naive_bayes",
                "neighbors",
                "neural_network",
                "preprocessing",
                "svm",
                "tree",
                "utils",
            ),
        )
    ),
    "pandas": (
        "pandas",
        "pandas.DataFrame",
        "pandas.Series",
        "pandas.Series.str",
        "pandas.Series.dt",
        "pandas.plotting",
    ),
}
WORDS = {"stop_words": "english", "token_pattern": "[a-z]{3,}"}
N_WORDS = 10  # words that describe a topic


def collect_documents(places: tuple[str, ...]) -> list[str]:
    """Return the words of different docstrings of more than 300 characters in modules and classes."""
    texts: dict[str, None] = {}
    for place in places:
        owner = pkgutil.resolve_name(place)
        for name in dir(owner):
            text = inspect.getdoc(getattr(owner, name)) or ""
            if not name.startswith("_") and len(text) > 300:
                # BERTopic would join words at other characters.
                texts[re.sub("[^A-Za-z0-9]+", " ", text)] = None
    return list(texts)


def coherence(topics: list[list[str]], documents: list[str]) -> float:
    """Return the mean NPMI of all pairs of words of a topic, which are counted in documents.

    Mean over topics.
    """
    vectorizer = CountVectorizer(**WORDS, binary=True)
    occurs = vectorizer.fit_transform(documents).tocsc().astype(float)
    values = []
    for topic in topics:
        some = occurs[:, [vectorizer.vocabulary_[word] for word in topic if word]]
        both = (some.T @ some).toarray() / len(documents)
        i, j = np.triu_indices(len(both), 1)
        p = both[i, i]
        q = both[j, j]
        r = both[i, j]
        with np.errstate(divide="ignore", invalid="ignore"):
            npmi = np.where(
                r == 0, -1, np.where(r == 1, 1, np.log(r / (p * q)) / -np.log(r))
            )
        values.append(npmi.mean())
    return float(np.mean(values))


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
        documents = collect_documents(LIBRARIES[library])
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
