"""A point for each pair of objects or, where points would cover each other, hexagons that count them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dempster.plot._drawing.canvas import INK

__all__ = ["N_PAIRS", "STYLES", "style_for", "draw_points", "draw_density", "draw_reference"]

N_PAIRS = 20_000  # pairs that are sampled
_MOST_POINTS = 5_000  # pairs, beyond which points would cover each other
STYLES = ("auto", "points", "density")


def style_for(style: str, n_pairs: int) -> str:
    """ "points" or "density"; "auto" stands for points while there are few."""
    if style == "auto":
        return "density" if n_pairs > _MOST_POINTS else "points"
    return style


def draw_points(ax: Any, across: np.ndarray, up: np.ndarray, *, size: float, color: Any) -> Any:
    """A collection of points, fainter for more pairs: overlapping points show how dense they are."""
    alpha = float(np.clip(20 / np.sqrt(len(across)), 0.25, 0.9))
    raster = len(across) > _MOST_POINTS
    return ax.scatter(across, up, s=size, color=[color], alpha=alpha, linewidths=0, zorder=2, rasterized=raster)


def draw_density(
    ax: Any,
    across: np.ndarray,
    up: np.ndarray,
    *,
    shades: Sequence[str],
    n_hexagons: int,
    extent: tuple[float, float, float, float],
) -> Any:
    """Hexagons, darker for more pairs (logarithmic), whose array holds the numbers of pairs."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    return ax.hexbin(
        across,
        up,
        gridsize=n_hexagons,
        extent=extent,
        mincnt=1,
        norm=LogNorm(vmin=1),
        cmap=LinearSegmentedColormap.from_list("pairs", shades),
        linewidths=0.1,
        zorder=2,
    )


def draw_reference(ax: Any, across: Any, up: Any) -> Any:
    """The line of a perfect match, seen on dark hexagons too."""
    from matplotlib.patheffects import withStroke

    (line,) = ax.plot(across, up, color=INK, linewidth=1.1, zorder=3)
    line.set_path_effects([withStroke(linewidth=3, foreground="white")])
    return line
