"""Positions of objects in the plane of two attributes or principal components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.utils import check_array

from dempster._errors import InvalidParameterError
from dempster._validation import check_missing, check_scale, validating
from dempster.dissimilarity.partial import impute_missing

_GOLDEN_RATIO = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Plane:
    """Coordinates of the objects in the plane, and a function that projects new rows."""

    points: np.ndarray  # (n, 2)
    axis_names: tuple[str, str]
    n_attributes: int
    project: Callable[[np.ndarray], np.ndarray]


def project_to_plane(X: Any, n_objects: int | None = None) -> Plane:
    """Project objects to the plane (see `CredalPartitionDisplay.from_partition`)."""
    names = getattr(X, "columns", None)
    if names is None and getattr(X, "name", None) is not None:
        names = [X.name]  # of a series
    with validating(X, "X"):
        data = check_array(
            X,
            dtype=np.float64,
            ensure_2d=False,
            input_name="X",
            ensure_all_finite="allow-nan",
        )
    check_scale(data, "X")
    if data.ndim == 1:
        data = data[:, None]
    check_missing(data, X, None, learning=True)
    data = impute_missing(data)
    n, p = data.shape
    if n_objects not in (None, n):
        raise InvalidParameterError(
            "X",
            must=f"have a row for each of the {n_objects} objects of the partition, got {n}",
        )
    if names is None:
        names = ("attribute 1", "attribute 2")
    if p == 1:
        points = place_on_strip(data[:, 0])
        return Plane(
            points, (str(names[0]), ""), 1, lambda rows: rows[:, :1] * [1.0, 0.0]
        )
    if p == 2:
        return Plane(data, (str(names[0]), str(names[1])), 2, np.asarray)
    model = fit_components(data)
    if model is None:
        center = data.mean(axis=0)
        points = (data - center)[:, :2]
        return Plane(points, ("PC 1", "PC 2"), p, lambda rows: (rows - center)[:, :2])
    first, second = (
        f"PC {k} ({100 * share:.0f} % of variance)"
        for k, share in enumerate(model.explained_variance_ratio_, start=1)
    )
    return Plane(model.transform(data), (first, second), p, model.transform)


def place_on_strip(values: np.ndarray) -> np.ndarray:
    """Return points with the given first coordinates, spread over a strip of height 1."""
    # Multiples of the golden ratio modulo 1 give neighbors on the line very different heights,
    # reproducibly.
    rank = np.argsort(np.argsort(values, kind="stable"))
    height = (rank * _GOLDEN_RATIO + 0.5) % 1 - 0.5
    return np.column_stack([values, height])


def fit_components(data: np.ndarray) -> PCA | None:
    """Fit two principal components, or return None if the data have no variance."""
    if len(data) < 2 or not np.ptp(data, axis=0).any():
        return None
    return PCA(2, random_state=0).fit(data)
