"""Command ``python -m benchmarks.doublets``: find simulated doublets of cells, and write a table of OTHER.md.

The counts of 765 genes in the 700 blood cells that scanpy contains are restored from their
normalized logarithms. Each of ten data sets replaces the two cells of about 50 random pairs of
different lineages by the sum of their counts. After the usual preparation, the cells are clustered.
Scores that should be high for doublets: the mass on all pairs of clusters, the doubt, Scrublet's
score, and the total count. The program needs scanpy and takes some minutes.
"""

from __future__ import annotations

import warnings
from typing import Any

import anndata
import numpy as np
import pandas as pd
import scanpy
from sklearn.metrics import roc_auc_score

from benchmarks.other import write_table
from dempster.cluster import ECM, EVCLUS, CredalClustering
from dempster.integrations.anndata import cluster

SEEDS = range(10)
N_PAIRS = 70
N_CLUSTERS = 6
METHODS: tuple[Any, ...] = (ECM, EVCLUS, CredalClustering)
T_CELLS = "T Reg|Cytotoxic|Memory|Naive"  # types of the lineage T


def load_counts() -> tuple[np.ndarray, pd.DataFrame]:
    """Return the counts of the genes in each cell, and a table with the total count and the lineage of the cells."""
    cells = scanpy.datasets.pbmc68k_reduced()
    types = cells.obs["bulk_labels"].astype(str)
    total = cells.obs["n_counts"]
    counts = np.expm1(cells.raw.X.toarray()) * total.to_numpy()[:, None] / 1e4
    lineage = types.where(~types.str.contains(T_CELLS), "T")
    return counts.round(), pd.DataFrame({"total": total, "lineage": lineage})


def simulate(counts: np.ndarray, about: pd.DataFrame, seed: int) -> anndata.AnnData:
    """Replace random pairs of cells of different lineages by the sum of their counts."""
    first, second = (
        np.random.default_rng(seed)
        .permutation(len(counts))[: 2 * N_PAIRS]
        .reshape(2, N_PAIRS)
    )
    lineage = about["lineage"].to_numpy()
    total = about["total"].to_numpy()
    differ = lineage[first] != lineage[second]
    first = first[differ]
    second = second[differ]
    single = np.setdiff1d(np.arange(len(counts)), np.concatenate([first, second]))
    cells = anndata.AnnData(np.vstack([counts[single], counts[first] + counts[second]]))
    cells.obs["total"] = np.concatenate([total[single], total[first] + total[second]])
    cells.obs["first"] = np.concatenate([lineage[single], lineage[first]])
    cells.obs["second"] = np.concatenate([lineage[single], lineage[second]])
    cells.obs["doublet"] = np.arange(len(cells)) >= len(single)
    return cells


def prepare(cells: anndata.AnnData, seed: int) -> None:
    """Add Scrublet's score and 20 principal components of the normalized and scaled logarithms."""
    scanpy.pp.scrublet(cells, threshold=0.25, random_state=seed, verbose=False)
    scanpy.pp.normalize_total(cells, target_sum=1e4)
    scanpy.pp.log1p(cells)
    scanpy.pp.scale(cells, max_value=10)
    scanpy.pp.pca(cells, n_comps=20)


def evaluate(cells: anndata.AnnData, method: Any, seed: int) -> list[float]:
    """Return the AUC of the mass on pairs and of the doubt, and shares of doublets and other cells."""
    cluster(cells, n_clusters=N_CLUSTERS, method=method, random_state=seed)
    obs, is_doublet = cells.obs, cells.obs["doublet"].to_numpy()
    pairs = cells.obsm["dempster_mass"].filter(regex=r"^\d+\|\d+$")
    lineage_of = (
        obs[~is_doublet]
        .groupby("dempster", observed=True)["first"]
        .agg(lambda some: some.mode()[0])
    )
    truth = [
        {one, other} for one, other in zip(obs["first"], obs["second"], strict=True)
    ]
    lineages = [
        {lineage_of.get(k) for k in name.split("|")} for name in pairs.idxmax(axis=1)
    ]
    is_right = np.array(
        [found == true for found, true in zip(lineages, truth, strict=True)]
    )
    is_pair = obs["dempster_set"].astype(str).isin(pairs.columns).to_numpy()
    return [
        roc_auc_score(is_doublet, pairs.sum(axis=1)),
        roc_auc_score(is_doublet, obs["dempster_doubt"]),
        is_right[is_doublet].mean(),
        is_pair[is_doublet].mean(),
        is_pair[~is_doublet].mean(),
    ]


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    counts, about = load_counts()
    others: dict[str, list[float]] = {"Scrublet": [], "total count": []}
    results: dict[str, list[list[float]]] = {}
    for seed in SEEDS:
        cells = simulate(counts, about, seed)
        prepare(cells, seed)
        others["Scrublet"].append(
            roc_auc_score(cells.obs["doublet"], cells.obs["doublet_score"])
        )
        others["total count"].append(
            roc_auc_score(cells.obs["doublet"], cells.obs["total"])
        )
        for method in METHODS:
            results.setdefault(method.__name__, []).append(
                evaluate(cells, method, seed)
            )
        print(
            seed,
            *(
                f"{name} {np.round(values[-1], 2)}"
                for name, values in (results | others).items()
            ),
            flush=True,
        )
    rows = []
    for name, values in results.items():
        pair, doubt, right, doublets, singles = np.mean(values, axis=0)
        low = np.min(values, axis=0)[0]
        high = np.max(values, axis=0)[0]
        spread = f"{pair:.2f} ({low:.2f} to {high:.2f})"
        rows.append(
            [
                f"`{name}({N_CLUSTERS})`",
                spread,
                f"{doubt:.2f}",
                f"{right:.0%}",
                f"{doublets:.0%}",
                f"{singles:.0%}",
            ]
        )
    for name, scores in others.items():
        rows.append(
            [
                name,
                f"{np.mean(scores):.2f} ({min(scores):.2f} to {max(scores):.2f})",
                *[""] * 4,
            ]
        )
    heads = [
        "method",
        "AUC",
        "AUC of the doubt",
        "right pair",
        "doublets in a pair",
        "other cells in a pair",
    ]
    write_table("Doublets", heads, rows)


if __name__ == "__main__":
    main()
