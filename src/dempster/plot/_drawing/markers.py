"""Markers split into sectors, one in the colour of each cluster that an object may belong to."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["sector_angles", "split_markers"]


def sector_angles(centers: np.ndarray) -> tuple[np.ndarray, float]:
    """How to turn a marker so that its sectors face their clusters.

    Returns the order of the clusters around the middle of their centres, and the direction (radians) of the first
    sector; the others follow at equal angles.
    """
    direction = centers - centers.mean(axis=0)
    angle = np.arctan2(direction[:, 1], direction[:, 0])
    order = np.argsort(angle, kind="stable")
    turn = 2 * np.pi / len(centers)
    # the mean direction, on the circle, of what each sector would like as the first one's
    wished = np.exp(1j * (angle[order] - turn * np.arange(len(centers)))).sum()
    return order, float(np.angle(wished))


def split_markers(points: np.ndarray, colors: np.ndarray, start: float, size: float, **properties: Any) -> Any:
    """A collection of discs, each cut into a sector of each colour, with a dark rim.

    The sectors and the rim of an object follow each other in the collection, which keeps overlapping discs whole.
    """
    from matplotlib.collections import PathCollection
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D, IdentityTransform

    from dempster.plot._drawing.canvas import INK

    m = len(colors)
    half = 180 / m
    disc = Affine2D().scale(0.5)  # the size of Matplotlib's own "o"
    middles = np.degrees(start) + 2 * half * np.arange(m)
    paths = [disc.transform_path(Path.wedge(middle - half, middle + half)) for middle in middles]
    paths.append(disc.transform_path(Path.unit_circle()))
    clear = (0.0, 0.0, 0.0, 0.0)
    collection = PathCollection(
        paths,
        sizes=[size],
        offsets=np.repeat(points, m + 1, axis=0),
        facecolors=[(*color, 1.0) for color in colors] + [clear],
        edgecolors=[clear] * m + [INK],
        **properties,
    )
    collection.set_transform(IdentityTransform())
    return collection
