"""Contours of values over a grid of places: panels, shades, lines, boundaries, objects, and names on regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, shown
from dempster.plot._drawing.canvas import INK
from dempster.plot._drawing.labels import place_labels

__all__ = [
    "checked_levels",
    "checked_values",
    "draw_boundaries",
    "draw_lines",
    "draw_objects",
    "halo",
    "name_regions",
    "panels_of_one_figure",
    "rival_margins",
    "shades",
]

_TENTHS = np.linspace(0, 1, 11)
_TOGETHER = np.array([0.5, 0.7, 0.9])  # at most one set has a mass above a half, so the regions do not overlap
_MOST_COLUMNS = 4
_RASTER_FROM = 2_000  # objects, beyond which a vector file would be larger than an image


# ---- what was given -------------------------------------------------------------------------------------------------


def checked_values(values: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values in [0, 1] of the given shape."""
    array = as_reals(values, name)
    if array.shape != shape:
        raise InvalidInputError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.all((array >= -1e-6) & (array <= 1 + 1e-6)):
        raise InvalidInputError(f"{name} must lie in [0, 1], got values from {array.min():g} to {array.max():g}")
    return np.clip(array, 0, 1)  # sums of masses may pass one by rounding


def checked_levels(levels: Any, together: bool) -> np.ndarray:
    """Levels of the contours: those given, or tenths for panels and three above a half for all sets together."""
    if levels is None:
        return _TOGETHER if together else _TENTHS
    array = as_reals(levels, "levels")
    if array.ndim != 1 or len(array) < (1 if together else 2) or not np.all(np.diff(array) > 0):
        raise InvalidInputError(f"levels must be an increasing sequence of at least two numbers, got {shown(levels)}")
    if array[0] < 0 or array[-1] > 1:
        raise InvalidInputError(f"levels must lie in [0, 1], got {shown(levels)}")
    return array


# ---- panels and colours ---------------------------------------------------------------------------------------------


def panels_of_one_figure(n_panels: int, n_columns: int | None) -> list[Any]:
    """Panels that share their axes, on a new figure."""
    import matplotlib.pyplot as plt

    if n_columns is None:
        n_columns = min(int(np.ceil(np.sqrt(n_panels))), _MOST_COLUMNS)
    n_columns = min(int(n_columns), n_panels)
    n_rows = -(-n_panels // n_columns)
    if n_panels == 1:
        return [plt.subplots(figsize=(6, 5), layout="constrained")[1]]
    figure = plt.figure(figsize=(2.7 * n_columns + 0.9, 2.5 * n_rows + 0.4), layout="constrained")
    panels: list[Any] = []
    for i in range(n_panels):
        shared = panels[0] if panels else None
        panel = figure.add_subplot(n_rows, n_columns, i + 1, sharex=shared, sharey=shared)
        panel.tick_params(labelbottom=i + n_columns >= n_panels, labelleft=i % n_columns == 0)
        panels.append(panel)
    return panels


def shades(color: np.ndarray) -> Any:
    """From white, kept for the lowest tenth, through the colour to a darker one."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = [(0, "white"), (0.06, "white"), (0.75, tuple(color)), (1, tuple(0.7 * color))]
    return LinearSegmentedColormap.from_list("mass", stops)


def halo(width: float) -> list[Any]:
    """A white rim, so that ink is seen on dark regions too."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground="white")]


# ---- lines, objects, names ------------------------------------------------------------------------------------------


def draw_lines(
    ax: Any, xx: np.ndarray, yy: np.ndarray, value: np.ndarray, levels: np.ndarray, color: Any, width: float
) -> Any:
    """Lines of the levels that are crossed; None if none is (Matplotlib would warn)."""
    crossed = levels[(levels > value.min()) & (levels < value.max())]
    if not len(crossed):
        return None
    return ax.contour(xx, yy, value, levels=crossed, colors=[color], linewidths=width, zorder=1.5)


def rival_margins(plausibility: np.ndarray) -> np.ndarray:
    """(c, rows, columns) normalised plausibility of each cluster less that of its best rival.

    Far away all plausibilities may be tiny: normalising keeps the sign clear of rounding. NaN where all are zero.
    """
    total = plausibility.sum(axis=0)
    share = np.divide(plausibility, total, out=np.full_like(plausibility, np.nan), where=total > 0)
    if len(share) == 1:  # no rival
        return share
    second, best = np.sort(share, axis=0)[-2:]
    return np.where(share == best, share - second, share - best)


def draw_boundaries(ax: Any, xx: np.ndarray, yy: np.ndarray, margins: np.ndarray) -> list[Any]:
    """Where each cluster but the last ceases to be the most plausible, its margin over its best rival being zero; the
    rival beyond shares the line."""
    drawn = []
    for margin in margins[:-1]:
        if (margin < 0).any() and (margin > 0).any():
            line = ax.contour(
                xx, yy, np.ma.masked_invalid(margin), levels=[0.0], colors=[INK], linewidths=0.9, zorder=2
            )
            line.set_path_effects(halo(2))
            drawn.append(line)
    return drawn


def draw_objects(
    ax: Any, points: np.ndarray, labels: np.ndarray | None, colors: np.ndarray | None, size: float | None
) -> list[Any]:
    """Points in the colours of their clusters, or in faint ink without colours; crosses for outliers (label -1)."""
    n = len(points)
    if n == 0:
        return []
    if size is None:
        size = float(np.clip((120 if colors is None else 250) / np.sqrt(n), 1, 16))
    inside = np.ones(n, dtype=bool) if labels is None else labels >= 0
    style: dict[str, Any] = {"zorder": 3, "rasterized": n > _RASTER_FROM}
    look: dict[str, Any] = {"c": INK, "alpha": 0.6, "linewidths": 0}
    if colors is not None:
        look = {"c": INK if labels is None else colors[labels[inside]], "edgecolors": "white", "linewidths": 0.4}
    artists = [ax.scatter(*points[inside].T, s=size, **look, **style)] if inside.any() else []
    if not inside.all():
        cross = {"marker": "x", "color": "black", "linewidths": 0.7}
        artists.append(ax.scatter(*points[~inside].T, s=max(1.3 * size, 8), **cross, **style))
    return artists


def name_regions(
    ax: Any, xx: np.ndarray, yy: np.ndarray, regions: np.ndarray, names: Sequence[str], colors: np.ndarray
) -> list[Any]:
    """A name on each region that is somewhere, at the place farthest from its edge; beside it where a name is
    already."""
    from scipy.ndimage import distance_transform_edt

    texts: list[Any] = []
    crowded: list[tuple[np.ndarray, str, dict[str, Any]]] = []
    for region, name, color in zip(regions, names, colors, strict=True):
        if not region.any():
            continue
        style = {"color": 0.55 * color, "fontweight": "bold", "zorder": 6, "path_effects": halo(3)}
        depth = distance_transform_edt(np.pad(region, 1))[1:-1, 1:-1]
        row, column = np.unravel_index(depth.argmax(), depth.shape)
        place = np.array([xx[row, column], yy[row, column]])
        text = ax.text(*place, name, ha="center", va="center", parse_math=False, **style)
        if any(text.get_window_extent().overlaps(other.get_window_extent()) for other in texts):
            text.remove()
            crowded.append((place, name, style))
        else:
            texts.append(text)
    for place, name, style in crowded:
        texts += place_labels(ax, place[None], [name], avoid=tuple(texts), **style)
    return texts
