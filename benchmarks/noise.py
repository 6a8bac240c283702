"""Command ``python -m benchmarks.noise``: what doubt says about HDBSCAN's noise, a table of OTHER.md.

The tables are random (`benchmarks.choice.generate`) or public, with at most 800 rows. HDBSCAN finds
clusters of at least 2 % of the rows, and tables without noise or with one cluster are left out. A
class belongs to the cluster with most of its labeled objects, if these are a tenth of the class
and of the cluster. An object is right if its class belongs to its cluster; the labels are right if
this holds for 95 % of the labeled objects. Scattered objects, which have no class, are never right.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import HDBSCAN

from benchmarks.choice.generate import draw
from benchmarks.defaults.data import NOISE, public_sets
from benchmarks.other import write_table
from dempster import doubt

SEEDS = range(3000, 3100)
N_ROWS = 800
_MIN_SHARE = 0.1  # of a class in its cluster
_MIN_RIGHT = 0.95  # of the labels

Table = tuple[str, np.ndarray, np.ndarray]


def random_tables() -> Iterator[Table]:
    """Yield tables, and the clusters of their rows (-1: scattered)."""
    for seed in SEEDS:
        _, X, y = draw(seed)
        yield "random", X, y


def public_tables() -> Iterator[Table]:
    for one in public_sets():
        y = np.where(one.y == NOISE, NOISE, one.y - one.y[one.y != NOISE].min())
        yield "public", one.X, y


def find_homes(labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return whether each class belongs to each cluster, shape (clusters, classes + 1).

    The last column is that of scattered objects.
    """
    counts = np.zeros((labels.max() + 1, y.max() + 2))
    known = labels >= 0
    np.add.at(counts, (labels[known], y[known]), 1)
    sizes = np.bincount(y + 1, minlength=y.max() + 2)
    share = counts / np.roll(sizes, -1).clip(1)
    of_cluster = counts / counts.sum(axis=1, keepdims=True)
    is_home = counts == counts.max(axis=0)
    is_home &= (share >= _MIN_SHARE) & (of_cluster >= _MIN_SHARE)
    is_home |= counts == counts.max(axis=1, keepdims=True)
    is_home[:, -1] = False
    return is_home


def judge(X: np.ndarray, y: np.ndarray, labels: np.ndarray) -> dict[str, float] | None:
    """Return shares of the noise, or None if the labels are not right."""
    is_home = find_homes(labels, y)
    noise = labels < 0
    if is_home[labels, y][~noise].mean() < _MIN_RIGHT:
        return None
    partition = doubt(X, labels, random_state=0)[noise]
    size = partition.focal_sets.cardinality[partition.best_set]
    certain = size == 1
    right = is_home[partition.labels, y[noise]][certain]
    return {
        "certain": certain.mean(),
        "right": right.mean() if len(right) else np.nan,
        "ambiguous": (size > 1).mean(),
        "outliers": (size == 0).mean(),
    }


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    found: dict[str, list[dict[str, float]]] = {}
    for tables in (random_tables(), public_tables()):
        for kind, X, y in tables:
            drawn = np.random.default_rng(0).permutation(len(X))[:N_ROWS]
            smallest = max(5, len(drawn) // 50)
            labels = HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(X[drawn])
            if labels.max() < 1 or (labels < 0).sum() < 5:
                continue
            result = judge(X[drawn], y[drawn], labels)
            if result is not None:
                found.setdefault(kind, []).append(result)
                print(kind, {name: round(value, 2) for name, value in result.items()})
    heads = ["tables", "number", "certain", "of these right", "ambiguous", "outliers"]
    rows = []
    for kind, results in found.items():
        names = ("certain", "right", "ambiguous", "outliers")
        means = [np.nanmean([one[name] for one in results]) for name in names]
        rows.append([kind, f"{len(results)}", *(f"{mean:.0%}" for mean in means)])
    write_table("Noise of HDBSCAN", heads, rows)


if __name__ == "__main__":
    main()
