"""Command ``python -m benchmarks.one_cluster``: how often the number of clusters is one.

The command writes a table of OTHER.md. Samples of a single distribution should have one cluster,
samples of two normal clusters should have several. The columns are the numbers of objects and
attributes. The program takes a minute on sixteen cores.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from benchmarks.other import write_table
from dempster.model_selection import number_of_clusters

N_SAMPLES = 100
SHAPES = (40, 2), (150, 4), (300, 2), (300, 30), (1000, 10)
SINGLE = "normal", "correlated", "uniform", "exponential", "lognormal", "t", "integers"
DISTANCES = 4, 5, 6, 8


def draw(kind: str, n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return a sample of a single distribution, or of two normal clusters."""
    X = rng.normal(size=(n, p))
    if kind.startswith("two"):
        direction = rng.normal(size=p)
        distance = float(kind.split()[-1])
        shift = distance * direction / np.linalg.norm(direction)
        return X + np.outer(np.arange(n) % 2, shift)
    if kind == "correlated":
        return X @ rng.normal(size=(p, p))
    if kind == "uniform":
        return rng.uniform(size=(n, p))
    if kind == "exponential":
        return rng.exponential(size=(n, p))
    if kind == "lognormal":
        return np.exp(0.7 * X)
    if kind == "t":
        return X / np.sqrt(rng.chisquare(3, (n, 1)) / 3)
    if kind == "integers":
        return rng.integers(0, 6, (n, p)).astype(float)
    return X


def share_of_one(kind: str, shape: tuple[int, int]) -> float:
    """Return the share of the samples whose number of clusters is one."""
    found = []
    for seed in range(N_SAMPLES):
        X = draw(kind, *shape, np.random.default_rng([seed, *shape]))
        found.append(number_of_clusters(X, random_state=seed, n_jobs=1).best == 1)
    return float(np.mean(found))


def main() -> None:
    kinds = [*SINGLE, *(f"two clusters, distance {d}" for d in DISTANCES)]
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor() as pool:
        rows = []
        tasks = {
            kind: [pool.submit(share_of_one, kind, shape) for shape in SHAPES]
            for kind in kinds
        }
        for kind, results in tasks.items():
            rows.append([kind, *(f"{one.result():.2f}" for one in results)])
    heads = ["sample", *(f"{n} x {p}" for n, p in SHAPES)]
    write_table("One cluster", heads, rows)


if __name__ == "__main__":
    main()
