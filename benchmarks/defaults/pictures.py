"""The figures of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.defaults.evidence import Evidence
from benchmarks.defaults.measures import SHARES
from benchmarks.defaults.methods import K_MEANS, MIXTURE, SILHOUETTE
from dempster.explain import RetentionCurve
from dempster.plot import RetentionCurveDisplay

__all__ = ["AUTO", "draw_kept", "draw_numbers"]

AUTO = "CredalClustering()"
_DRAWN = ("CredalClustering", "EVCLUS", "ECM", "EGMM", "BootClus", K_MEANS, MIXTURE)


def draw_kept(evidence: Evidence, file: Path) -> None:
    """Draw the mean adjusted Rand index of the kept objects over the public data sets, by method."""
    import matplotlib.pyplot as plt

    rows = evidence.public()
    curves = {}
    for name in _DRAWN:
        kept = rows.loc[rows["method"] == name, "kept"]
        if len(kept):
            curves[name] = RetentionCurve(np.array(SHARES), np.mean(kept.tolist(), axis=0), "ari")
    display = RetentionCurveDisplay(curves=curves).plot(title="mean over the public sets")
    for line, name in zip(display.lines_, curves, strict=True):
        if name in (K_MEANS, MIXTURE):
            line.set_linestyle("--")
    display.ax_.legend(fontsize="small", frameon=False)
    display.figure_.savefig(file, dpi=100)
    plt.close(display.figure_)


def draw_numbers(evidence: Evidence, file: Path) -> None:
    """Draw the found numbers of clusters against the numbers of classes on public and generated data."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        1, 2, figsize=(8, 4), layout="constrained", sharex=True, sharey=True
    )
    for ax, name in zip(panels, (AUTO, SILHOUETTE), strict=True):
        rows = evidence.rows[evidence.rows["method"] == name]
        right = int((rows["found"] == rows["c"]).sum())
        for public, color in ((True, "#0072B2"), (False, "#D55E00")):
            some = rows[(rows["family"] == "public") == public]
            points = some.groupby(["c", "found"]).size().reset_index(name="sets")
            if public:
                label = "public"
            else:
                label = "generated"
            size = 28 * points["sets"]
            ax.scatter(
                points["c"],
                points["found"],
                s=size,
                color=color,
                alpha=0.6,
                linewidth=0,
                label=label,
            )
        ax.plot([2, 32], [2, 32], color="#8A8A8A", linewidth=0.8, zorder=0)
        ax.set(
            title=f"{name}: {right} of {len(rows)} right",
            xlabel="number of classes",
            xscale="log",
            yscale="log",
        )
        ax.set_xticks([2, 3, 5, 10, 20, 30], labels=["2", "3", "5", "10", "20", "30"])
        ax.set_yticks([2, 3, 5, 10, 20, 30], labels=["2", "3", "5", "10", "20", "30"])
        ax.minorticks_off()
    panels[0].set_ylabel("number of clusters found")
    panels[0].legend(fontsize="small", frameon=False)
    figure.savefig(file, dpi=100)
    plt.close(figure)
