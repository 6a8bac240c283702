"""Command ``python -m benchmarks.neighbor_graphs``: cluster cells by a graph of neighbors, and write a table of OTHER.md.

The 700 blood cells that scanpy contains are clustered by their principal components and by
distances along graphs of nearest neighbors, and by Leiden communities of these graphs. The table
has the adjusted Rand index. The program needs scanpy and igraph and takes some minutes.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import scanpy
from sklearn.metrics import adjusted_rand_score

from benchmarks.doublets import T_CELLS
from benchmarks.other import write_table
from dempster.integrations.anndata import cluster

SEEDS = range(3)
NUMBERS = (6, 10, "auto")
NEIGHBORS = (10, 15, 30)


def find_communities(cells: Any, number: int | str, seed: int, key: str) -> Any:
    """Return Leiden communities with the default resolution, or with one that gives a number of them."""
    low = 0.0
    high = 2.0
    resolution = 1.0
    for _ in range(30):
        scanpy.tl.leiden(
            cells,
            resolution,
            random_state=seed,
            neighbors_key=key,
            flavor="igraph",
            directed=False,
        )
        found = cells.obs["leiden"].nunique()
        if number in ("auto", found):
            return cells.obs["leiden"]
        low, high = (resolution, high) if found < number else (low, resolution)
        resolution = (low + high) / 2
    raise RuntimeError(f"no resolution gives {number} communities")


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    cells = scanpy.datasets.pbmc68k_reduced()
    types = cells.obs["bulk_labels"].astype(str)
    lineages = types.where(~types.str.contains(T_CELLS), "T")

    def find_clusters(number: int | str, seed: int, **chosen: Any) -> Any:
        cluster(cells, n_clusters=number, random_state=seed, **chosen)
        return cells.obs["dempster"]

    methods = {'`use_rep="X_pca"`': find_clusters}
    for n_neighbors in NEIGHBORS:
        key = f"{n_neighbors}"
        scanpy.pp.neighbors(cells, n_neighbors, key_added=key)
        methods[f"graph of {n_neighbors} neighbors"] = partial(
            find_clusters, neighbors_key=key
        )
        methods[f"graph of {n_neighbors} neighbors, Leiden"] = partial(
            find_communities, cells, key=key
        )
    rows = []
    for name, method in methods.items():
        values: list[list[str]] = [[], []]
        for number in NUMBERS:
            found = []
            for seed in SEEDS:
                labels = method(number=number, seed=seed)
                found.append(
                    [adjusted_rand_score(truth, labels) for truth in (types, lineages)]
                )
            for column, mean in zip(values, np.mean(found, axis=0), strict=True):
                column.append(f"{mean:.2f}")
        rows.append([name, *values[0], *values[1]])
        print(*rows[-1], flush=True)
    heads = [
        f"{truth}, {number}" for truth in ("types", "lineages") for number in NUMBERS
    ]
    write_table("Neighbor graphs", ["cells compared by", *heads], rows)


if __name__ == "__main__":
    main()
