"""Command ``python -m benchmarks.embeddings``: clusters in hundreds of dimensions.

Simulated embeddings are noisy directions of very different lengths with a few strong directions
that have nothing to do with the clusters. Texts are docstrings of four libraries, embedded by latent
semantic analysis; images are digits and, if the folder of public data sets exists, MNIST and leaves.
The command writes three tables of OTHER.md in about ten minutes, without the rows of packages (umap,
evoc) that are not installed.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import time
import warnings
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, normalize

from benchmarks.harness import shared_folder
from benchmarks.other import write_table
from dempster.cluster import ECM, EVCLUS, CredalClustering
from dempster.partition.layers import cut_tree

N_SEEDS = 2
N_OBJECTS = 600
N_CLUSTERS = 12
N_NUISANCE = 5


def simulate(n_features: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return embeddings and their clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(N_CLUSTERS, size=N_OBJECTS)
    directions = normalize(rng.normal(size=(N_CLUSTERS, n_features)))
    nuisance = normalize(rng.normal(size=(N_NUISANCE, n_features)))
    X = directions[y]
    X = X + rng.normal(size=X.shape) / np.sqrt(n_features)
    X = X + 0.3 * rng.normal(size=(N_OBJECTS, N_NUISANCE)) @ nuisance
    return X * rng.lognormal(0, 0.5, size=(N_OBJECTS, 1)), y


def methods(c: int, seed: int) -> dict[str, Any]:
    common: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    k_means = KMeans(c, n_init=10, random_state=seed)
    evclus = EVCLUS(c, n_init=1, **common)
    return {
        "k-means": k_means,
        "k-means of unit rows": make_pipeline(Normalizer(), k_means),
        "ECM": ECM(c, **common),
        'ECM, metric="cosine"': ECM(c, metric="cosine", **common),
        "EVCLUS": evclus,
        "EVCLUS of 20 components of unit rows": make_pipeline(
            Normalizer(), PCA(20), evclus
        ),
        "HDBSCAN of 20 components of unit rows": make_pipeline(
            Normalizer(), PCA(20), HDBSCAN(min_cluster_size=10, copy=True)
        ),
    }


def measure(method: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the adjusted Rand index, and the shares between clusters and left out."""
    labels = method.fit_predict(X)
    last = method[-1] if hasattr(method, "steps") else method
    partition = getattr(last, "credal_partition_", None)
    if partition is None:
        shares = [0.0, float((labels == -1).mean())]
    else:
        shares = [len(partition.ambiguous) / len(X), len(partition.outliers) / len(X)]
    return [float(adjusted_rand_score(y, labels)), *shares]


def write_simulated() -> None:
    digits: Any = load_digits()
    rows = []
    for name, n_features in (("384", 384), ("768", 768), ("digits, 64", 64)):
        results: dict[str, list[list[float]]] = {}
        for seed in range(N_SEEDS):
            if name == "digits, 64":
                X, y = digits.data, digits.target
            else:
                X, y = simulate(n_features, seed)
            for method, model in methods(len(np.unique(y)), seed).items():
                results.setdefault(method, []).append(measure(model, X, y))
        for method, values in results.items():
            rand, ambiguous, outliers = np.mean(values, axis=0)
            shares = f"{ambiguous:.0%}", f"{outliers:.0%}"
            rows.append([f"{name}, {method}", f"{rand:.2f}", *shares])
    heads = ["dimensions, method", "ARI", "ambiguous", "left out"]
    write_table("Embeddings", heads, rows)


# ---- texts and images ----------------------------------------------------------------------------

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


def collect_documents(places: tuple[str, ...]) -> dict[str, str]:
    """Return different docstrings of more than 300 characters, with the module or class of each."""
    texts: dict[str, str] = {}
    for place in places:
        owner = pkgutil.resolve_name(place)
        for name in dir(owner):
            text = inspect.getdoc(getattr(owner, name)) or ""
            if not name.startswith("_") and len(text) > 300:
                # BERTopic would join words at other characters.
                texts.setdefault(re.sub("[^A-Za-z0-9]+", " ", text), place)
    return texts


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


def find_words(documents: list[str], labels: np.ndarray) -> list[list[str]]:
    """Return the words of each cluster with the largest frequency times inverse frequency."""
    vectorizer = CountVectorizer(**WORDS)
    counts = vectorizer.fit_transform(documents)
    words = vectorizer.get_feature_names_out()
    total = np.asarray(counts.sum(axis=0)).ravel()
    found = []
    for k in np.unique(labels[labels >= 0]):
        own = np.asarray(counts[labels == k].sum(axis=0)).ravel()
        score = own / own.sum() * np.log(1 + total.sum() / total)
        found.append(words[np.argsort(-score)[:N_WORDS]].tolist())
    return found


def load_data() -> dict[str, tuple[np.ndarray, np.ndarray, list[str]]]:
    """Return the rows, classes and texts of each data set."""
    texts: dict[str, str] = {}
    for places in LIBRARIES.values():
        texts = collect_documents(places) | texts
    documents = list(texts)
    embed = make_pipeline(
        TfidfVectorizer(**WORDS, min_df=3), TruncatedSVD(100, random_state=0)
    )
    digits: Any = load_digits()
    data = {
        "docstrings": (embed.fit_transform(documents), [*texts.values()], documents),
        "digits": (digits.data, digits.target, []),
    }
    folder = shared_folder()
    if folder is not None:
        for name, file in (("MNIST", "mnist_test"), ("leaves", "leaves_margin")):
            content = np.load(folder / "data" / f"{file}.npz")
            data[name] = (content["X"][:2000], content["y"][:2000], [])
    return {
        name: (np.asarray(X, dtype=float), np.unique(y, return_inverse=True)[1], texts)
        for name, (X, y, texts) in data.items()
    }


def real_methods(c: int, seed: int) -> dict[str, Any]:
    common: dict[str, Any] = {"random_state": seed, "n_jobs": 1}
    components = [Normalizer(), PCA(20, random_state=seed)]
    found: dict[str, Any] = {
        "k-means of unit rows": make_pipeline(
            Normalizer(), KMeans(c, n_init=10, random_state=seed)
        ),
        'ECM, metric="cosine"': ECM(c, metric="cosine", **common),
        "EVCLUS of 20 components": make_pipeline(
            *components, EVCLUS(c, n_init=1, **common)
        ),
        "CredalClustering of 20 components": make_pipeline(
            *components, CredalClustering(scale=False, **common)
        ),
    }
    if find_spec("evoc"):
        from evoc import EVoC

        found["EVoC"] = EVoC(random_state=seed)
    return found


def methods_after_umap(c: int, seed: int) -> dict[str, Any]:
    return {
        "ECM after UMAP": ECM(c, random_state=seed, n_jobs=1),
        "HDBSCAN after UMAP": HDBSCAN(min_cluster_size=10, copy=True),
    }


def measure_real(
    method: Any, X: np.ndarray, y: np.ndarray, documents: list[str]
) -> list[float]:
    """Return the number of clusters, shares, agreement with the classes, coherence and seconds.

    Packages with Numba compile their functions in the first call, which is not measured.
    """
    if type(method).__module__.startswith("evoc"):
        method.fit_predict(X[:500])
    start = time.process_time()
    labels = np.asarray(method.fit_predict(X))
    seconds = time.process_time() - start
    last = method[-1] if hasattr(method, "steps") else method
    is_certain = labels >= 0
    ambiguous: Any = []
    if hasattr(last, "credal_partition_"):
        ambiguous = last.credal_partition_.ambiguous
        is_certain[ambiguous] = is_certain[last.credal_partition_.outliers] = False
    npmi = np.nan
    if documents:
        npmi = coherence(find_words(documents, labels), documents)
    return [
        len(np.unique(labels[labels >= 0])),
        len(ambiguous) / len(X),
        1 - len(ambiguous) / len(X) - float(is_certain.mean()),
        float(adjusted_rand_score(y, labels)),
        float(adjusted_mutual_info_score(y, labels)),
        float(adjusted_mutual_info_score(y[is_certain], labels[is_certain])),
        npmi,
        seconds,
    ]


def write_real() -> None:
    rows = []
    for name, (X, y, documents) in load_data().items():
        c = len(np.unique(y))
        results = {
            method: measure_real(model, X, y, documents)
            for method, model in real_methods(c, 0).items()
        }
        if find_spec("umap"):
            from umap import UMAP

            reduce = UMAP(
                15, 5, min_dist=0.0, metric="cosine", random_state=0, n_jobs=1
            )
            reduce.fit(X[:500])
            start = time.process_time()
            reduced = reduce.fit_transform(X)
            seconds = time.process_time() - start
            for method, model in methods_after_umap(c, 0).items():
                results[method] = measure_real(model, reduced, y, documents)
                results[method][-1] += seconds
        for method, values in results.items():
            number, ambiguous, out, *scores, npmi, seconds = values
            row = [f"{name}, {method}", f"{number:.0f}"]
            row += [f"{ambiguous:.0%}", f"{out:.0%}"]
            row += [f"{score:.2f}" for score in scores]
            row.append("" if np.isnan(npmi) else f"{npmi:.2f}")
            row.append("< 1" if seconds < 1 else f"{seconds:.0f}")
            rows.append(row)
    heads = ["clusters", "ambiguous", "left out", "ARI", "AMI", "AMI of the certain"]
    write_table("Texts and images", ["data, method", *heads, "NPMI", "seconds"], rows)


# ---- layers --------------------------------------------------------------------------------------


def compare_layers(X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the agreement of layers, of Ward's method and of a layer of EVoC with the classes."""
    k = len(np.unique(y))
    X = normalize(X)
    partition = (
        ECM(6 * k, n_init=1, random_state=seed, n_jobs=1).fit(X).credal_partition_
    )
    [layer] = partition.layers([k])
    used, labels = np.unique(partition.labels, return_inverse=True)
    centers = [X[labels == j].mean(axis=0) for j in range(len(used))]
    ward = cut_tree(linkage(centers, "ward"), k)[labels]
    found = [
        float(adjusted_mutual_info_score(y, layer.labels)),
        float(adjusted_mutual_info_score(y, ward)),
    ]
    if not find_spec("evoc"):
        return [*found, np.nan, np.nan, np.nan]
    from evoc import EVoC

    layers = EVoC(random_state=seed).fit(X).cluster_layers_
    nearest = min(layers, key=lambda labels: abs(labels.max() + 1 - k))
    score = float(adjusted_mutual_info_score(y, nearest))
    return [*found, score, nearest.max() + 1, float((nearest == -1).mean())]


def write_layers() -> None:
    rows = []
    for name, (X, y, _) in load_data().items():
        k = len(np.unique(y))
        if 6 * k > len(X) / 5:
            continue
        values = [compare_layers(X, y, seed) for seed in range(N_SEEDS)]
        ours, ward, evoc, number, out = np.mean(values, axis=0)
        shown = ["", "", ""]
        if not np.isnan(evoc):
            shown = [f"{evoc:.2f}", f"{number:.0f}", f"{out:.0%}"]
        rows.append([name, f"{6 * k}", f"{k}", f"{ours:.2f}", f"{ward:.2f}", *shown])
    heads = ["data", "clusters", "classes", "AMI, layers", "AMI, Ward"]
    evoc_heads = ["AMI, EVoC", "clusters, EVoC", "left out, EVoC"]
    write_table("Layers of clusters", [*heads, *evoc_heads], rows)


def main() -> None:
    """Write the tables."""
    warnings.simplefilter("ignore")
    write_simulated()
    write_real()
    write_layers()


if __name__ == "__main__":
    main()
