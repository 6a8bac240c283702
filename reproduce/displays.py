"""Figures of the papers that the displays of `dempster.plot` do not cover."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.colors import TwoSlopeNorm

from dempster import CredalPartition, FocalSets
from dempster.constraints import Constraints
from dempster.plot._canvas import (
    MARKERS,
    cluster_colors,
    draw_outside_legend,
    finish_axes,
    mix_colors,
)
from dempster.plot.masses import draw_objects, make_grid_table
from dempster.plot.palette import GREY, INK, PALETTE

N_LEVELS = 12
ELLIPSE_SHARES = (0.5, 0.95)  # Probabilities of the regions inside the ellipses.


def draw_outlier_contours(
    detector: Any,
    X: Any,
    ax: Any,
    *,
    grid_resolution: int = 150,
    title: str | None = None,
) -> np.ndarray:
    """Draw the decision values of an outlier detector, and return those of the grid.

    The thick line is the border of the region with positive decision values.
    """
    plane, xx, yy, table = make_grid_table(detector, X, grid_resolution)
    values = np.reshape(detector.decision_function(table), xx.shape)
    # The norm needs both signs.
    norm = TwoSlopeNorm(0, min(values.min(), -1e-12), max(values.max(), 1e-12))
    fill = ax.contourf(
        xx, yy, values, levels=N_LEVELS, cmap="RdBu", norm=norm, zorder=1
    )
    if values.min() < 0 < values.max():
        ax.contour(xx, yy, values, levels=[0.0], colors=[INK], linewidths=1.8, zorder=2)
    draw_objects(ax, plane.points, np.zeros(len(plane.points)))
    ax.figure.colorbar(fill, ax=ax, label="decision value", shrink=0.8, aspect=30)
    finish_axes(ax, *plane.axis_names, title=title)
    return values


def draw_feature_boxplots(features: np.ndarray, labels: Any, axes: Any = None) -> Any:
    """Draw a panel for each feature, with a box for each class, and return the figure."""
    classes, codes = np.unique(labels, return_inverse=True)
    if axes is None:
        n_features = features.shape[1]
        size = (4.4, 4) if n_features == 1 else (3.4 * n_features, 3.4)
        _, axes = plt.subplots(
            1, n_features, figsize=size, layout="constrained", squeeze=False
        )
    axes = np.ravel(axes)
    for k, (ax, values) in enumerate(zip(axes, features.T, strict=True), start=1):
        parts = ax.boxplot(
            [values[codes == code] for code in range(len(classes))],
            patch_artist=True,
            widths=0.6,
            medianprops={"color": INK},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": INK},
        )
        for box, color in zip(
            parts["boxes"], cluster_colors(len(classes)), strict=True
        ):
            box.set(facecolor=(*color, 0.6), edgecolor=INK)
        finish_axes(ax, "class", f"feature {k}", grid=True)
        ax.set_xticks(np.arange(1, len(classes) + 1), [str(name) for name in classes])
    return axes[0].figure


def draw_masses(masses: Any, sets: FocalSets, names: Sequence[Any]) -> Any:
    """Draw a line for the masses of all objects on each set, and return the figure.

    Lines of single clusters are solid, those of several clusters dashed, and that of the empty set dotted.
    """
    figure, ax = plt.subplots(figsize=(7.2, 4), layout="constrained")
    colors = mix_colors(sets.membership, cluster_colors(sets.n_clusters))
    for j, (name, size) in enumerate(
        zip(sets.names(names), sets.cardinality, strict=True)
    ):
        ax.plot(
            np.asarray(masses)[:, j],
            color=colors[j] if size else GREY,
            label=name,
            linestyle=(":", "-", "--")[min(size, 2)],
            marker=MARKERS[j % len(MARKERS)],
            markersize=4.5,
        )
    finish_axes(ax, "object", "mass", grid=True, integer_ticks=True)
    draw_outside_legend(ax, ax.lines)
    return figure


def draw_pair_matrix(
    ax: Any,
    matrix: np.ndarray,
    labels: Any,
    *,
    title: str,
    highest: float | None = None,
) -> Any:
    """Draw a matrix of pairs as a heat map, with the objects sorted by cluster, and return the image.

    Lines separate the clusters.
    """
    names, codes = np.unique(labels, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    image = ax.imshow(
        matrix[np.ix_(order, order)], vmin=0, vmax=highest, interpolation="nearest"
    )
    ends = np.cumsum(np.bincount(codes))
    for border in ends[:-1] - 0.5:
        ax.axhline(border, color="white", linewidth=0.8)
        ax.axvline(border, color="white", linewidth=0.8)
    middles = ends - np.bincount(codes) / 2 - 0.5
    ax.set_xticks(middles, [str(name) for name in names])
    ax.set_yticks(middles, [str(name) for name in names])
    ax.tick_params(length=0, labelsize="small")
    ax.set_title(title, fontsize="medium")
    return image


def draw_relations(partition: CredalPartition) -> Any:
    """Draw the relational representation of a partition, and return the figure.

    The panels show the masses of "same cluster", "different clusters" and "unknown", and the plausibility of "same
    cluster", which is the sum of the first and the third mass.
    """
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 7.8), layout="constrained")
    _, same, different, unknown = partition.relational().to_dense()
    panels = {
        "same": same,
        "different": different,
        "unknown": unknown,
        "plausibility of same": same + unknown,
    }
    labels = [partition.frame[k] for k in partition.labels]
    for ax, (title, matrix) in zip(axes.ravel(), panels.items(), strict=True):
        image = draw_pair_matrix(ax, matrix, labels, title=title, highest=1)
    figure.colorbar(image, ax=axes, shrink=0.8, aspect=30)
    return figure


def draw_constraints(
    ax: Any, X: np.ndarray, constraints: Constraints, labels: Any, *, title: str
) -> tuple[LineCollection, LineCollection]:
    """Draw must-links as solid and cannot-links as dashed segments between the objects, and return them.

    Objects have the color of their label; unlabeled objects (label -1) are gray.
    """
    labels = np.asarray(labels)
    is_labeled = labels != -1
    names, codes = np.unique(labels[is_labeled], return_inverse=True)
    ax.scatter(*X[~is_labeled].T, s=15, color=[GREY], linewidths=0)
    ax.scatter(
        *X[is_labeled].T, s=15, c=cluster_colors(len(names))[codes], linewidths=0
    )
    links = []
    for pairs, color, style in (
        (constraints.must_link, INK, "-"),
        (constraints.cannot_link, PALETTE[1], "--"),
    ):
        lines = LineCollection(X[pairs], colors=color, linestyles=style, linewidths=0.9)
        links.append(ax.add_collection(lines))
    finish_axes(ax, "attribute 1", "attribute 2")
    ax.set_title(title, loc="left")
    return links[0], links[1]


def draw_history(
    ax: Any, history: Any, *, title: str, reference: float | None = None
) -> None:
    """Draw the objective after every iteration, and a dotted line at a reference value."""
    ax.plot(np.arange(1, len(history) + 1), history, color=PALETTE[0], marker=".")
    if reference is not None:
        ax.axhline(reference, color=GREY, linestyle=":")
    finish_axes(
        ax, "iteration", "objective", title=title, grid=True, integer_ticks=True
    )


def ellipse_outlines(mean: np.ndarray, covariance: np.ndarray) -> list[np.ndarray]:
    """Return the ellipses of constant density that contain the shares `ELLIPSE_SHARES` of a Gaussian."""
    variances, axes = np.linalg.eigh(covariance)
    angles = 2 * np.pi * np.linspace(0, 1, 101)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    unit = circle * np.sqrt(variances) @ axes.T
    return [mean + np.sqrt(-2 * np.log(1 - share)) * unit for share in ELLIPSE_SHARES]


def draw_mixture(mixture: Any, X: np.ndarray, names: Sequence[str]) -> Any:
    """Draw a Gaussian mixture in all pairs of attributes, and return the figure.

    Objects have the color of their most probable component.
    """
    pairs = list(combinations(range(X.shape[1]), 2))
    figure, axes = plt.subplots(
        -(-len(pairs) // 3),
        3,
        figsize=(10.8, 3.2 * -(-len(pairs) // 3)),
        layout="constrained",
        squeeze=False,
    )
    colors = cluster_colors(len(mixture.means_))
    labels = mixture.predict(X)
    for ax, pair in zip(axes.ravel(), pairs, strict=True):
        plane = list(pair)
        ax.scatter(*X[:, plane].T, c=colors[labels], s=8, linewidths=0, alpha=0.6)
        for mean, covariance, color in zip(
            mixture.means_, mixture.covariances_, colors, strict=True
        ):
            for outline in ellipse_outlines(
                mean[plane], covariance[np.ix_(plane, plane)]
            ):
                ax.plot(*outline.T, color=0.75 * color, linewidth=1.2)
        ax.scatter(*mixture.means_[:, plane].T, marker="+", s=50, color=INK, zorder=3)
        finish_axes(ax, *(names[q] for q in pair))
    return figure
