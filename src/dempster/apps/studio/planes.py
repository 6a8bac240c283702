"""Compute positions of the objects on the map.

The axes are two attributes or principal components.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dempster._types import ArrayFunction
from dempster.data.blocks import sample_rows
from dempster.dissimilarity.partial import impute_missing
from dempster.plot.plane import fit_components, place_on_strip

MAX_DISTORTION_OBJECTS = 1500
N_NEIGHBORS = 10
# minimum shares of preserved neighbors
MIN_FAITHFUL_SHARE = 0.75
MIN_FAIR_SHARE = 0.45

_DISTORTION_MESSAGES = {
    "faithful": "This plane is faithful",
    "fair": "This plane distorts the data somewhat",
    "distorted": "This plane distorts the data: rely on the masses, not on the positions",
}


def compute_distortion(points: np.ndarray, data: np.ndarray) -> dict[str, Any] | None:
    """Measure how well positions in the plane preserve distances and neighbors.

    None for fewer than four objects.
    """
    sample = sample_rows(len(data), MAX_DISTORTION_OBJECTS, 0)
    points = points[sample]
    data = data[sample]
    if len(data) < 4 or not (
        np.ptp(data, axis=0).any() and np.ptp(points, axis=0).any()
    ):
        return None
    k = min(N_NEIGHBORS, (len(data) - 1) // 2)
    is_near = [_find_neighbors(rows, k) for rows in (data, points)]
    kept = float(np.mean(is_near[0] & is_near[1])) * len(data) / k
    if kept >= MIN_FAITHFUL_SHARE:
        grade = "faithful"
    elif kept >= MIN_FAIR_SHARE:
        grade = "fair"
    else:
        grade = "distorted"
    message = (
        f"{_DISTORTION_MESSAGES[grade]}. About {round(10 * kept)} of the 10 nearest neighbors of "
        "an object are also its nearest here."
    )
    return {"kept": kept, "grade": grade, "words": message}


def _find_neighbors(rows: np.ndarray, k: int) -> np.ndarray:
    """Return a matrix that is True for the k nearest neighbors of each row."""
    distances = cdist(rows, rows)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argpartition(distances, k - 1, axis=1)[:, :k]
    is_near = np.zeros(distances.shape, bool)
    np.put_along_axis(is_near, nearest, True, axis=1)
    return is_near


@dataclass(frozen=True)
class MapPlane:
    """Positions of the objects on the map."""

    points: np.ndarray  # (n, 2)
    axes: tuple[str, str]  # names of the axes
    distortion: dict[str, Any] | None
    # function from points of the plane to clustered values; None for a strip
    to_values: ArrayFunction | None = None


def attribute_plane(
    table: Any, data: np.ndarray, x: int, y: int, center: np.ndarray, scale: np.ndarray
) -> MapPlane:
    """Return the plane of two columns in the units of the table, or a strip of one column."""
    values = impute_missing(np.asarray(table, float))
    names = [str(name) for name in table.columns]
    if x == y:
        points = place_on_strip(values[:, x])
        distortion = compute_distortion(data[:, [x]], data)
        return MapPlane(points, (names[x], ""), distortion)
    columns = [x, y]
    median = np.median(data, axis=0)

    def to_values(points: np.ndarray) -> np.ndarray:
        rows = np.tile(median, (len(points), 1))
        rows[:, columns] = (points - center[columns]) / scale[columns]
        return rows

    distortion = compute_distortion(data[:, columns], data)
    return MapPlane(values[:, columns], (names[x], names[y]), distortion, to_values)


def principal_plane(data: np.ndarray) -> MapPlane:
    """Return the plane of the first two principal components."""
    model = None
    if data.shape[1] > 1:
        model = fit_components(data)
    if model is None:
        points = np.column_stack([data[:, 0], np.zeros(len(data))])
        return MapPlane(points, ("only attribute", ""), None)
    points = model.transform(data)
    shares = model.explained_variance_ratio_
    first, second = (
        f"principal component {k} ({share:.0%} of the variance)"
        for k, share in enumerate(shares, 1)
    )
    distortion = compute_distortion(points, data)
    return MapPlane(points, (first, second), distortion, model.inverse_transform)
