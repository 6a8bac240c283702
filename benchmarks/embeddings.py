"""Command ``python -m benchmarks.embeddings``: clusters in hundreds of dimensions.

Simulated embeddings are noisy directions of very different lengths with a few strong directions
that have nothing to do with the clusters. The command writes a table of OTHER.md in a
minute.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, normalize

from benchmarks.other import write_table
from dempster.cluster import ECM, EVCLUS

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


def main() -> None:
    """Write the table."""
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


if __name__ == "__main__":
    main()
