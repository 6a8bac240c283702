"""Convex hulls of any number of points in the plane, in any position."""

from __future__ import annotations

import numpy as np

__all__ = ["hull_vertices", "rounded_outline"]

_FLAT = 1e-9  # ratio of the widths below which points count as lying on a line
_CORNER = np.exp(2j * np.pi * np.arange(32) / 32)  # a circle, to round the corners with


def hull_vertices(points: np.ndarray) -> np.ndarray:
    """Positions of the corners of the convex hull, counterclockwise.

    Points on a line have two corners, coincident points one, no points none.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.plot._drawing.hulls import hull_vertices
    >>> hull_vertices(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])).tolist()
    [0, 2]
    """
    from scipy.spatial import ConvexHull, QhullError

    if len(points) == 0:
        return np.empty(0, dtype=np.intp)
    centred = points - points.mean(axis=0)
    width = np.ptp(centred, axis=0)
    # A change of units does not move the corners but keeps Qhull from taking a long thin cloud for a line.
    scaled = centred / np.where(width > 0, width, 1)
    _, widths, directions = np.linalg.svd(scaled, full_matrices=False)
    if len(points) > 2 and widths[1] > _FLAT * widths[0]:
        try:
            return ConvexHull(scaled).vertices.astype(np.intp)
        except QhullError:
            pass  # flat at Qhull's precision
    along = scaled @ directions[0]
    ends = np.array([along.argmin(), along.argmax()])
    return ends[:1] if along[ends[0]] == along[ends[1]] else ends


def rounded_outline(corners: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """(k, 2) outline of everything within ``radius`` (one for each axis) of the convex hull of the corners.

    One point gives a circle, two a capsule: a hull can always be seen, and its points are not on its edge.
    """
    circle = np.column_stack([_CORNER.real, _CORNER.imag]) * radius
    around = (corners[:, None, :] + circle).reshape(-1, 2)
    return around[hull_vertices(around)]
