"""Compare the ambiguous objects of `CredalClustering` with the margin of k-means on the digits of scikit-learn.

``python -m benchmarks.digits`` (three minutes) repeats the comparison of the page ``docs/start.md``
for 20 random choices of four digits and for all ten digits: both methods set aside the same number
of images, each with a pair of digits. It writes a table of OTHER.md.
"""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from benchmarks.other import write_table
from dempster.cluster import CredalClustering

COLUMNS = (
    "ambiguous",
    "wrong among certain",
    "wrong, k-means",
    "set has the digit",
    "pair has the digit, k-means",
)


def name_clusters(labels: np.ndarray, truth: np.ndarray, c: int) -> np.ndarray:
    return np.array([np.bincount(truth[labels == k]).argmax() for k in range(c)])


def compare(chosen: tuple[int, ...]) -> list[int]:
    """Return a value for each of the columns."""
    digits: Any = load_digits()
    used = np.isin(digits.target, chosen)
    truth = digits.target[used]
    c = len(chosen)
    X = PCA(20, random_state=0).fit_transform(digits.data[used])
    partition = CredalClustering(c, random_state=0).fit(X).credal_partition_
    names = name_clusters(partition.labels, truth, c)
    sets = [set(names[list(clusters)]) for clusters in partition.focal_sets]
    is_certain = partition.focal_sets.cardinality[partition.best_set] == 1
    holds = np.array(
        [digit in sets[j] for digit, j in zip(truth, partition.best_set, strict=True)]
    )

    distances = KMeans(c, n_init=10, random_state=0).fit_transform(X)
    nearest = np.argsort(distances, axis=1)[:, :2]
    (d1, d2) = np.sort(distances, axis=1)[:, :2].T
    pairs = name_clusters(nearest[:, 0], truth, c)[nearest]
    is_kept = np.ones(len(truth), dtype=bool)
    is_kept[np.argsort(-d1 / d2)[: (~is_certain).sum()]] = False
    is_wrong = pairs[:, 0] != truth
    in_pair = (pairs == truth[:, None]).any(axis=1)
    counts = (
        ~is_certain,
        is_certain & ~holds,
        is_kept & is_wrong,
        ~is_certain & holds,
        ~is_kept & in_pair,
    )
    return [int(count.sum()) for count in counts]


def main() -> None:
    """Write the table."""
    choices = list(combinations(range(10), 4))
    selected = [
        choices[i]
        for i in np.random.default_rng(0).choice(len(choices), 20, replace=False)
    ]
    results = np.array([compare(chosen) for chosen in selected])
    difference = results[:, 1] - results[:, 2]
    four = [
        *(f"{value:.0f}" for value in results.mean(axis=0)),
        str((difference < 0).sum()),
        str((difference > 0).sum()),
    ]
    ten = [*map(str, compare(tuple(range(10)))), "", ""]
    heads = ["digits", *COLUMNS, "choices with fewer wrong", "choices with more wrong"]
    write_table(
        "Digits",
        heads,
        [["four digits, mean of 20 choices", *four], ["all ten digits", *ten]],
    )


if __name__ == "__main__":
    main()
