"""Figures of the papers that the displays of `dempster.plot` do not cover."""

from typing import Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.colors import TwoSlopeNorm

from dempster.plot._canvas import cluster_colors, finish_axes
from dempster.plot.masses import draw_objects, make_grid_table
from dempster.plot.palette import INK

N_LEVELS = 12


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
