"""Compare the doubt of `CredalClustering` with the margin of k-means on the digits of scikit-learn.

``python -m benchmarks.digits`` (three minutes) repeats the comparison of the page ``docs/start.md``
for 20 random choices of four digits and for all ten digits: both methods set aside a tenth of the
images, each with a pair of digits. It writes a table of OTHER.md.
"""

from itertools import combinations
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from benchmarks.other import write_table
from dempster.cluster import CredalClustering
from dempster.explain import doubt_scores

COLUMNS = (
    "asked",
    "ambiguous",
    "wrong, not asked",
    "wrong, not asked, k-means",
    "pair has the digit",
    "pair has the digit, k-means",
)


def name_clusters(labels: np.ndarray, truth: np.ndarray, c: int) -> np.ndarray:
    return np.array([np.bincount(truth[labels == k]).argmax() for k in range(c)])


def ask(truth: np.ndarray, closeness: np.ndarray, doubt: np.ndarray) -> tuple[int, int]:
    """Return the numbers of wrong labels not asked about, and of pairs with the true digit.

    A person is asked about the tenth of the images with the largest doubt: which of the two closest
    clusters is right?
    """
    closest = np.argsort(-closeness, axis=1)[:, :2]
    pairs = name_clusters(closest[:, 0], truth, closeness.shape[1])[closest]
    asked, others = np.split(np.argsort(-doubt), [len(truth) // 10])
    n_wrong = (pairs[others, 0] != truth[others]).sum()
    n_right = (pairs[asked] == truth[asked, None]).any(axis=1).sum()
    return int(n_wrong), int(n_right)


def compare(chosen: tuple[int, ...]) -> list[int]:
    """Return a value for each of the columns."""
    digits: Any = load_digits()
    used = np.isin(digits.target, chosen)
    truth = digits.target[used]
    c = len(chosen)
    X = PCA(20, random_state=0).fit_transform(digits.data[used])
    partition = CredalClustering(c, random_state=0).fit(X).credal_partition_
    wrong, right = ask(truth, partition.contour, doubt_scores(partition))
    distances = KMeans(c, n_init=10, random_state=0).fit_transform(X)
    (d1, d2) = np.sort(distances, axis=1)[:, :2].T
    wrong_k_means, right_k_means = ask(truth, -distances, d1 / d2)
    n_asked = len(truth) // 10
    n_ambiguous = len(partition.ambiguous)
    return [n_asked, n_ambiguous, wrong, wrong_k_means, right, right_k_means]


def main() -> None:
    """Write the table."""
    choices = list(combinations(range(10), 4))
    selected = [
        choices[i]
        for i in np.random.default_rng(0).choice(len(choices), 20, replace=False)
    ]
    results = np.array([compare(chosen) for chosen in selected])
    difference = results[:, 2] - results[:, 3]
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
