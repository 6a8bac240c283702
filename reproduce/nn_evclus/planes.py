"""Consistency, nonspecificity and dominance of methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster import CredalPartition
from dempster.partition import consistency_index, pairwise_nonspecificity
from reproduce.runner import Run, summary

Results = dict[str, list[dict[str, Any]]]  # results of every method, one for each seed
Dominance = dict[str, dict[str, list[str]]]  # data, method: methods that dominate it
MARKS = "osD^v<>PX*ph8d"


def place(partition: CredalPartition, y: np.ndarray) -> dict[str, float]:
    """Return consistency and nonspecificity of the partition, normalised and not normalised."""
    normal = partition.normalize("dempster")
    return {
        "consistency": float(consistency_index(normal, y)),
        "nonspecificity": float(pairwise_nonspecificity(normal)),
        "consistency as it is": float(consistency_index(partition, y)),
        "nonspecificity as it is": float(pairwise_nonspecificity(partition)),
    }


def position(
    results: list[dict[str, Any]], *, normalised: bool = True
) -> tuple[float, float]:
    """Return mean nonspecificity and mean consistency over seeds."""
    if normalised:
        form = ""
    else:
        form = " as it is"
    return summary(results, "nonspecificity" + form).mean, summary(
        results, "consistency" + form
    ).mean


def dominated_by(methods: Results, *, normalised: bool = True) -> dict[str, list[str]]:
    """Return for every method the methods that dominate it.

    As `dempster.partition.dominates` with ``strict=True``, on means over seeds.
    """
    at = {
        name: position(results, normalised=normalised)
        for name, results in methods.items()
    }
    return {
        name: [
            other
            for other, (ns, ci) in at.items()
            if ns <= at[name][0] and ci >= at[name][1] and (ns, ci) != at[name]
        ]
        for name in methods
    }


def dominance(planes: dict[str, Results], *, normalised: bool = True) -> Dominance:
    """Return the dominating methods of every method on all data."""
    return {
        data: dominated_by(methods, normalised=normalised)
        for data, methods in planes.items()
    }


def table_of_dominance(run: Run, planes: dict[str, Results]) -> None:
    """Append a table of the methods that are not dominated and of those that are, for each data set."""
    lines = ["| data | dominated by no other | dominated (by) |", "| --- | --- | --- |"]
    for data, methods in planes.items():
        above = dominated_by(methods)
        free = [name for name, others in above.items() if not others]
        beaten = [
            f"{name} ({', '.join(others)})" for name, others in above.items() if others
        ]
        lines.append(f"| {data} | {', '.join(free)} | {'; '.join(beaten)} |")
    run.text("\n".join(lines))


def draw_planes(planes: dict[str, Results]) -> Any:
    """Draw a panel for each data set; filled markers are methods that are not dominated."""
    import matplotlib.pyplot as plt

    n_columns = min(4, len(planes))
    n_rows = -(-len(planes) // n_columns)
    figure, grid = plt.subplots(
        n_rows, n_columns, figsize=(4.2 * n_columns, 3.6 * n_rows), squeeze=False
    )
    names = list(dict.fromkeys(name for methods in planes.values() for name in methods))
    style = {
        name: (MARKS[k % len(MARKS)], plt.get_cmap("tab20")(k % 20))
        for k, name in enumerate(names)
    }
    for ax, (data, methods) in zip(grid.flat, planes.items(), strict=False):
        above = dominated_by(methods)
        for name, results in methods.items():
            mark, colour = style[name]
            ax.plot(
                *position(results),
                mark,
                color=colour,
                ms=8,
                mfc="none" if above[name] else colour,
                label=name,
            )
        ax.set_title(data, fontsize=10)
        ax.locator_params(axis="x", nbins=5)
    for ax in list(grid.flat)[len(planes) :]:
        ax.set_axis_off()
    figure.supxlabel("nonspecificity")
    figure.supylabel("consistency")
    handles = [
        plt.Line2D([], [], ls="", marker=mark, color=colour, ms=8, label=name)
        for name, (mark, colour) in style.items()
    ]
    figure.tight_layout(rect=(0.015, 0, 1, 1))  # Leave space for the label on the left.
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=min(7, len(names)),
    )
    return figure
