"""Command ``python -m benchmarks.front_door``: evaluate CredalClustering and write two tables of OTHER.md.

The first table has the mean adjusted Rand index of rings, moons and spirals, and the second one
processor times. The program takes about ten minutes on two cores. An argument (``shapes`` or
``time``) selects one of the tables.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.datasets import load_iris, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks.other import write_table
from dempster.cluster import CredalClustering

SEEDS = range(10)
NOISE = {
    "rings": (0.05, 0.07, 0.09),
    "moons": (0.05, 0.08, 0.12),
    "spirals": (0.02, 0.03, 0.04),
}


def make_shape(shape: str, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 600 objects in two clusters, and their clusters."""
    if shape == "rings":
        return make_circles(600, factor=0.45, noise=noise, random_state=seed)
    if shape == "moons":
        return make_moons(600, noise=noise, random_state=seed)
    rng = np.random.default_rng(seed)
    angle = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, 300))
    arm = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]) / 9
    return np.vstack([arm, -arm]) + rng.normal(0, noise, (600, 2)), np.repeat(
        [0, 1], 300
    )


def compare_shapes() -> None:
    """Write the first table."""
    rows = []
    for shape, levels in NOISE.items():
        cells = []
        for number in (2, "auto"):
            scores = []
            for noise in levels:
                sets = [make_shape(shape, noise, seed) for seed in SEEDS]
                found = [
                    (CredalClustering(number, random_state=0).fit(X).labels_, y)
                    for X, y in sets
                ]
                scores.append(
                    np.mean([adjusted_rand_score(y, labels) for labels, y in found])
                )
            cells.append(", ".join(f"{score:.2f}" for score in scores))
        rows.append([f"{shape}, noise {', '.join(map(str, levels))}", *cells])
        print(rows[-1], flush=True)
    write_table(
        "CredalClustering: connected clusters",
        ["shape", "number given", "number automatic"],
        rows,
    )


def measure_time() -> None:
    """Write the second table."""
    iris = load_iris().data
    tables = {
        "iris, number of clusters given": (3, iris),
        "iris, automatic number": ("auto", iris),
    }
    for n in (10_000, 100_000, 1_000_000):
        X = make_blobs(n, n_features=10, centers=8, random_state=0)[0]
        tables[f"{n:,} objects, 10 attributes"] = ("auto", X)
    CredalClustering(3, random_state=0).fit(iris)  # The first fit imports modules.
    rows = []
    for name, (number, X) in tables.items():
        start = time.process_time()
        CredalClustering(number, random_state=0).fit(X)
        rows.append([name, f"{time.process_time() - start:.1f} s"])
        print(rows[-1], flush=True)
    write_table("CredalClustering: time", ["data", "time"], rows)


TABLES = {"shapes": compare_shapes, "time": measure_time}

if __name__ == "__main__":
    for table in sys.argv[1:] or TABLES:
        TABLES[table]()
