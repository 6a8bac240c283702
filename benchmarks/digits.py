"""Compare the ambiguous objects of `CredalClustering` with the margin of k-means on the digits of scikit-learn.

``python -m benchmarks.digits`` (three minutes) repeats the comparison of the page ``docs/start.md`` for 20 random choices
of four digits: both methods set aside the same number of images, each with a pair of digits.
"""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from dempster.cluster import CredalClustering

COLUMNS = ("ambiguous", "wrong among certain", "the same, k-means", "set has the digit", "the same, k-means")


def name_clusters(labels: np.ndarray, truth: np.ndarray, c: int) -> np.ndarray:
    return np.array([np.bincount(truth[labels == k]).argmax() for k in range(c)])


def compare(chosen: tuple[int, ...]) -> list[int]:
    """Return a value for each of the columns."""
    digits: Any = load_digits()
    used = np.isin(digits.target, chosen)
    truth, c = digits.target[used], len(chosen)
    X = PCA(20, random_state=0).fit_transform(digits.data[used])
    partition = CredalClustering(c, random_state=0).fit(X).credal_partition_
    names = name_clusters(partition.labels, truth, c)
    sets = [set(names[list(clusters)]) for clusters in partition.focal_sets]
    is_certain = partition.focal_sets.cardinality[partition.best_set] == 1
    holds = np.array([digit in sets[j] for digit, j in zip(truth, partition.best_set, strict=True)])

    distances = KMeans(c, n_init=10, random_state=0).fit_transform(X)
    nearest, (d1, d2) = np.argsort(distances, axis=1)[:, :2], np.sort(distances, axis=1)[:, :2].T
    pairs = name_clusters(nearest[:, 0], truth, c)[nearest]
    is_kept = np.ones(len(truth), dtype=bool)
    is_kept[np.argsort(-d1 / d2)[: (~is_certain).sum()]] = False
    is_wrong, in_pair = pairs[:, 0] != truth, (pairs == truth[:, None]).any(axis=1)
    counts = ~is_certain, is_certain & ~holds, is_kept & is_wrong, ~is_certain & holds, ~is_kept & in_pair
    return [int(count.sum()) for count in counts]


def main() -> None:
    choices = list(combinations(range(10), 4))
    selected = [choices[i] for i in np.random.default_rng(0).choice(len(choices), 20, replace=False)]
    print(f"{'digits':14}" + "".join(f"{name:>22}" for name in COLUMNS))
    results = []
    for chosen in selected:
        results.append(compare(chosen))
        print(f"{chosen!s:14}" + "".join(f"{value:22}" for value in results[-1]))
    print(f"{'mean':14}" + "".join(f"{value:22.1f}" for value in np.mean(results, axis=0)))


if __name__ == "__main__":
    main()
