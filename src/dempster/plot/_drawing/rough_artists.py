"""How a picture of a credal partition is drawn: hulls, certain, ambiguous and outlying objects, names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dempster.plot._drawing.colors import mixed_colors
from dempster.plot._drawing.hulls import rounded_outline
from dempster.plot._drawing.legend import MOST_SECTORS, MOST_SPLIT
from dempster.plot._drawing.markers import sector_angles, split_markers
from dempster.plot._drawing.rough_picture import RoughPicture

__all__ = [
    "draw_ambiguous",
    "draw_certain",
    "draw_lower_hulls",
    "draw_outliers",
    "draw_upper_hulls",
    "is_crowded",
    "write_names",
]

_RASTER_FROM = 2_000  # objects, beyond which a vector file would be larger than an image
_PADDING = 0.012  # of the width of the picture, around hulls


def is_crowded(picture: RoughPicture) -> bool:
    """Whether there are so many objects that points overlap."""
    return len(picture.points) > _RASTER_FROM


# ---- hulls ----------------------------------------------------------------------------------------------------------


def draw_lower_hulls(ax: Any, picture: RoughPicture, colors: np.ndarray) -> list[Any]:
    """Filled: what certainly belongs to a cluster."""
    from matplotlib.patches import Polygon

    patches = []
    for hull, color in zip(picture.lower_hulls, colors, strict=True):
        if len(hull):
            outline = rounded_outline(_hull_corners(picture, hull, 0), _PADDING * picture.extent)
            patch = Polygon(outline, facecolor=(*color, 0.18), edgecolor=(*color, 0.55), linewidth=0.8, zorder=1)
            patches.append(ax.add_patch(patch))
    return patches


def draw_upper_hulls(ax: Any, picture: RoughPicture, colors: np.ndarray) -> list[Any]:
    """Dashed: what possibly belongs to a cluster."""
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import withStroke

    crowded = is_crowded(picture)
    patches = []
    for k, (hull, color) in enumerate(zip(picture.upper_hulls, colors, strict=True)):
        if len(hull):
            padding = (1.5 + 0.25 * (k % 4)) * _PADDING * picture.extent
            outline = rounded_outline(_hull_corners(picture, hull, k + 1), padding)
            patch = Polygon(outline, fill=False, edgecolor=color, linewidth=1.2, zorder=3.5 if crowded else 1.5)
            patch.set_linestyle((0, (4, 2.5)))
            if crowded:  # the line crosses points of its own colour
                patch.set_path_effects([withStroke(linewidth=2.6, foreground="white")])
            patches.append(ax.add_patch(patch))
    return patches


def _hull_corners(picture: RoughPicture, hull: np.ndarray, level: int) -> np.ndarray:
    corners = picture.points[hull]
    if not picture.is_strip:
        return corners
    height = 0.55 + 0.06 * level  # bands of different heights, or the edges would lie on each other
    return np.concatenate([corners * [1, 0] + [0, sign * height] for sign in (-1, 1)])


# ---- objects --------------------------------------------------------------------------------------------------------


def draw_certain(ax: Any, picture: RoughPicture, colors: np.ndarray, size: float) -> list[Any]:
    """A collection for each cluster that has certain objects."""
    raster = is_crowded(picture)
    style: dict[str, Any] = {"linewidths": 0.5, "edgecolors": "white"}
    if raster:  # overlapping points show how dense they are
        style = {"linewidths": 0, "alpha": float(np.clip(60 / np.sqrt(len(picture.points)), 0.1, 0.8))}
    return [
        ax.scatter(*picture.points[members].T, s=size, color=[color], zorder=2, rasterized=raster, **style)
        for members, color in zip(picture.lower, colors, strict=True)
        if len(members)
    ]


def draw_ambiguous(ax: Any, picture: RoughPicture, colors: np.ndarray, size: float) -> list[Any]:
    """A collection for each set of clusters, discs with sectors; past a few thousand objects mixed colours."""
    if not len(picture.ambiguous):
        return []
    raster = is_crowded(picture)
    packed, which = np.unique(np.packbits(picture.assignment[picture.ambiguous], axis=1), axis=0, return_inverse=True)
    sets = np.unpackbits(packed, axis=1, count=picture.n_clusters).astype(bool)
    which = which.reshape(-1)
    points = picture.points[picture.ambiguous]
    mixed = mixed_colors(sets, colors)
    mixed[sets.sum(axis=1) > MOST_SECTORS] = 0.5
    if len(picture.ambiguous) > MOST_SPLIT:
        return [ax.scatter(*points.T, s=1.3 * size, c=mixed[which], linewidths=0, zorder=3, rasterized=raster)]
    big = max(2.2 * size, 14)
    properties = {"linewidths": [0.7], "zorder": 3, "rasterized": raster, "offset_transform": ax.transData}
    artists = []
    for j, clusters in enumerate(sets):
        members = np.flatnonzero(clusters)
        inside, start = mixed[j : j + 1], 0.0
        if len(members) <= MOST_SECTORS:
            order, start = sector_angles(picture.middles[members] / picture.extent)
            inside = colors[members[order]]
        artists.append(ax.add_collection(split_markers(points[which == j], inside, start, big, **properties)))
    return artists


def draw_outliers(ax: Any, picture: RoughPicture, size: float) -> Any:
    """Black crosses; None if there are no outliers."""
    if not len(picture.outliers):
        return None
    raster = is_crowded(picture)
    return ax.scatter(
        *picture.points[picture.outliers].T,
        s=max(1.3 * size, 4),
        marker="x",
        color="black",
        linewidths=0.3 if raster else 1.2,
        zorder=1.2 if raster else 4,
        rasterized=raster,
    )


# ---- names ----------------------------------------------------------------------------------------------------------


def write_names(ax: Any, places: np.ndarray, names: Sequence[str], colors: np.ndarray, *, raised: bool) -> None:
    """Names of the clusters on them; ``raised``: above a marker that is there."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.5, foreground="white")]
    for name, place, color in zip(names, places, colors, strict=True):
        if np.isfinite(place[0]):
            ax.annotate(
                name,
                place,
                xytext=(0, 7 if raised else 0),
                textcoords="offset points",
                ha="center",
                va="bottom" if raised else "center",
                color=0.6 * color,
                fontweight="bold",
                fontsize="small",
                path_effects=halo,
                zorder=6,
                parse_math=False,
            )
