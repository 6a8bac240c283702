"""Command ``python -m benchmarks.neighbor_graphs``: cluster cells by a graph of neighbors, and write a table of OTHER.md.

The 700 blood cells that scanpy contains are clustered by their principal components and by
distances along graphs of nearest neighbors. The table has the adjusted Rand index. The program
needs scanpy and takes some minutes.
"""

from __future__ import annotations

import warnings
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


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    cells = scanpy.datasets.pbmc68k_reduced()
    types = cells.obs["bulk_labels"].astype(str)
    lineages = types.where(~types.str.contains(T_CELLS), "T")
    options: dict[str, dict[str, Any]] = {'`use_rep="X_pca"`': {}}
    for n_neighbors in NEIGHBORS:
        scanpy.pp.neighbors(cells, n_neighbors, key_added=f"{n_neighbors}")
        options[f"graph of {n_neighbors} neighbors"] = {
            "neighbors_key": f"{n_neighbors}"
        }
    rows = []
    for name, chosen in options.items():
        values: list[list[str]] = [[], []]
        for number in NUMBERS:
            found = []
            for seed in SEEDS:
                cluster(cells, n_clusters=number, random_state=seed, **chosen)
                labels = cells.obs["dempster"]
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
