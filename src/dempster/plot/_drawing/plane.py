"""Objects as points in the plane, whatever the number of their attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_missing, check_scale, reading
from dempster.dissimilarity.partial import filled

__all__ = ["Plane", "to_plane"]

_GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Plane:
    """Where the objects lie, and how anything else with the same attributes comes to lie beside them."""

    points: np.ndarray  # (n, 2)
    axis_names: tuple[str, str]
    n_attributes: int
    project: Callable[[np.ndarray], np.ndarray]
    explained_variance_ratio: np.ndarray | None = None  # (2,) for principal components

    @property
    def is_strip(self) -> bool:
        """One attribute: the second coordinate only keeps the points apart."""
        return self.n_attributes == 1


def to_plane(X: Any, n_objects: int | None = None) -> Plane:
    """One attribute becomes a strip, two are taken as they are, more go through principal components. An object with
    missing values lies where those that are most like it do. There may be any number of objects if none is given."""
    from sklearn.utils import check_array

    names = _column_names(X)
    with reading(X, "X"):
        data = check_array(X, dtype=np.float64, ensure_2d=False, input_name="X", ensure_all_finite="allow-nan")
    check_scale(data, "X")
    if data.ndim == 1:
        data = data[:, None]
    check_missing(data, X, None, learning=True)
    data = filled(data)
    if n_objects is not None and len(data) != n_objects:
        raise InvalidInputError(
            f"X must have a row for each of the {n_objects} objects of the partition, got {len(data)} rows"
        )
    if data.shape[1] == 1:
        return _strip(data, names)
    if data.shape[1] == 2:
        return Plane(data, (names[0], names[1]) if names else ("attribute 1", "attribute 2"), 2, np.asarray)
    return _principal_plane(data)


def _strip(data: np.ndarray, names: list[str] | None) -> Plane:
    # Multiples of the golden ratio modulo one: neighbours on the line get heights far apart, and always the same ones.
    rank = np.empty(len(data))
    rank[np.argsort(data[:, 0], kind="stable")] = np.arange(len(data))
    height = (rank * _GOLDEN + 0.5) % 1 - 0.5
    name = names[0] if names else "attribute 1"
    return Plane(
        np.column_stack([data[:, 0], height]), (name, ""), 1, lambda rows: np.column_stack([rows[:, 0], 0 * rows[:, 0]])
    )


def _principal_plane(data: np.ndarray) -> Plane:
    from sklearn.decomposition import PCA

    if len(data) < 2 or not np.ptp(data, axis=0).any():  # nothing varies: any plane will do
        centre = data.mean(axis=0)
        return Plane(data[:, :2] - centre[:2], ("PC 1", "PC 2"), data.shape[1], lambda rows: (rows - centre)[:, :2])
    model = PCA(2, random_state=0).fit(data)
    ratio = model.explained_variance_ratio_
    first, second = (f"PC {k} ({100 * share:.0f} % of variance)" for k, share in enumerate(ratio, start=1))
    return Plane(model.transform(data), (first, second), data.shape[1], model.transform, ratio)


def _column_names(X: Any) -> list[str] | None:
    """Names of the columns of a table, or of a series; None for plain arrays."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    name = getattr(X, "name", None)
    return None if name is None else [str(name)]
