"""Section 4.2, GvHD: seven populations of cells, some of which overlap."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from dempster.cluster import BootClus
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.plot import CredalPartitionDisplay
from dempster.plot._canvas import MARKERS, draw_outside_legend, finish_axes
from dempster.plot.palette import PALETTE
from reproduce import data
from reproduce.bootclus import PAPER
from reproduce.bootclus.written import partition_as_lists, partition_of
from reproduce.displays import draw_mixture
from reproduce.runner import Run, experiment, summary


def _cells(draw: int) -> np.ndarray:
    X = data.stored("gvhd_pos")["X"].astype(float)
    return X[np.random.default_rng(draw).choice(len(X), 1000, replace=False)]


def chosen_by_bic(draw: int) -> dict[str, Any]:
    """Select the best of 14 models and 1 to 9 clusters for 1,000 random cells."""
    mixture = ParsimoniousGaussianMixture(
        convention="mclust", random_state=0, n_jobs=1
    ).fit(_cells(draw))
    table = mixture.bic_table_["bic"].unstack()
    curves = {
        model: [None if not np.isfinite(v) else float(v) for v in table[model]]
        for model in table
    }
    return {
        "model": mixture.model_,
        "n_clusters": mixture.n_components_,
        "curves": curves,
    }


def seven_clusters(draw: int, n_bootstraps: int, whole: bool) -> dict[str, Any]:
    """Fit model VVV with the pairs of mutually most similar clusters (K = 2)."""
    X = _cells(draw)
    model = BootClus(
        7,
        focal_sets="selected",
        mixture="VVV",
        n_bootstraps=n_bootstraps,
        n_neighbor_clusters=2,
        random_state=0,
        n_jobs=1,
    ).fit(X)
    result = {
        "n_pairs": int(np.sum(model.focal_sets_.cardinality == 2)),
        "n_sets": len(model.focal_sets_),
        "in doubt": len(model.credal_partition_.ambiguous),
    }
    return result | (
        {"partition": partition_as_lists(model.credal_partition_)} if whole else {}
    )


@experiment(PAPER, "Figures 19 to 21", "GvHD: 1,000 cells in seven clusters")
def gvhd(run: Run) -> None:
    """A random sample of 1,000 of the 9,083 cells of the positive patient.

    The sample of the paper is not known, so we
    draw several. BIC selects the paper's model, VVV with seven clusters, only for some samples. The
    pairs of clusters that can have mass are pairs of mutual neighbours (K = 2): five in the paper,
    which gives twelve focal sets."""
    draws = run.seeds(10, 2)
    found = run.each(chosen_by_bic, [{"draw": draw} for draw in draws])
    counts = Counter(f"{f['model']} with {f['n_clusters']}" for f in found)
    run.text(
        f"Selected by BIC in {len(draws)} samples: "
        + ", ".join(f"{name} ({n})" for name, n in counts.most_common())
        + "."
    )
    fits = [
        {"draw": d, "n_bootstraps": run.choose(500, 40), "whole": d == draws[0]}
        for d in draws[: run.choose(5, 1)]
    ]
    fitted = run.each(seven_clusters, fits)
    table = run.table("seven clusters, VVV", quantity="number", short=None, form=".1f")
    table.add("pairs of clusters", paper=5, ours=summary(fitted, "n_pairs"))
    table.add("focal sets", paper=12, ours=summary(fitted, "n_sets"))
    table.add(
        "cells in doubt",
        ours=summary(fitted, "in doubt"),
        seconds=summary(fitted, "seconds").mean,
    )
    like = next(
        (k for k, f in enumerate(found) if (f["model"], f["n_clusters"]) == ("VVV", 7)),
        0,
    )
    caption = f"Figure 19: BIC against the number of clusters (sample {draws[like]}: {found[like]['model']} with "
    run.figure(
        "bic",
        draw_bic(found[like]["curves"]),
        caption + f"{found[like]['n_clusters']} clusters).",
    )
    words = f"Figure 20: seven components of model VVV (sample {draws[like]}), with 50 % and 95 % ellipses."
    run.figure("mixture", draw_seven_components(draws[like]), words)
    drawn = CredalPartitionDisplay.from_partition(
        partition_of(fitted[0]["partition"]), _cells(draws[0])
    )
    run.figure(
        "partition",
        drawn.figure_,
        "Figure 21: the partition of sample 0, on two principal components.",
    )


def draw_bic(curves: dict[str, list[float | None]]) -> Any:
    """Draw the BIC of all models; None stands for a model that could not be fitted."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for k, (model, values) in enumerate(curves.items()):
        ax.plot(
            range(1, 10),
            np.array(values, dtype=float),
            label=model,
            color=PALETTE[k],
            linewidth=1,
            marker=MARKERS[k % len(MARKERS)],
            markersize=4,
        )
    finish_axes(ax, "number of clusters", "BIC", grid=True, integer_ticks=True)
    draw_outside_legend(ax, ax.lines)
    return figure


def draw_seven_components(draw: int) -> Any:
    """Draw the mixture of seven components in all pairs of attributes."""
    X = _cells(draw)
    mixture = ParsimoniousGaussianMixture(
        7, model="VVV", convention="mclust", random_state=0, n_jobs=1
    ).fit(X)
    return draw_mixture(
        mixture, X, [f"attribute {q}" for q in range(1, X.shape[1] + 1)]
    )
