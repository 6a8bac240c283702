"""Where objects lie in a flat picture: two attributes, principal components, scaling, or UMAP where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from dempster.apps.studio.planes.distortion import Distortion, distortion_of
from dempster.apps.studio.planes.scaling import scaled_to_plane
from dempster.dissimilarity.partial import filled

__all__ = ["Plane", "attribute_plane", "principal_plane", "scaling_plane", "umap_plane", "plane_kinds"]

Tell = Callable[[str, float | None], None]
_GOLDEN = (np.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Plane:
    """Places of the objects.

    Attributes
    ----------
    points : (n, 2) array
    axes : names of the two axes
    distortion : Distortion or None
    directions, origin, shift, stretch : arrays or None
        Of a plane that lies straight in the space of the data: a place is the origin and so much of the two directions
        as the point, less the shift, over the stretch, says.
    """

    points: np.ndarray
    axes: tuple[str, str]
    distortion: Distortion | None
    directions: np.ndarray | None = None
    origin: np.ndarray | None = None
    shift: np.ndarray | float = 0.0
    stretch: np.ndarray | float = 1.0

    def to_values(self, points: np.ndarray) -> np.ndarray | None:
        """What is clustered at (m, 2) places of a straight plane; None for others."""
        if self.directions is None or self.origin is None:
            return None
        return self.origin + ((points - self.shift) / self.stretch) @ self.directions

    def describe(self) -> dict[str, Any]:
        return {
            "axes": list(self.axes),
            "distortion": None if self.distortion is None else self.distortion.describe(),
            "straight": self.directions is not None,
        }


def plane_kinds() -> list[str]:
    """Kinds that can be drawn here."""
    return ["attributes", "pca", "mds", *(["umap"] if find_spec("umap") else [])]


def attribute_plane(table: Any, data: np.ndarray, x: int, y: int, center: np.ndarray, scale: np.ndarray) -> Plane:
    """Two columns in the units of the table; a single one becomes a strip, whose height says nothing.

    The distortion is that of looking at these two attributes only, in the scale in which they were clustered.
    """
    complete = filled(data)
    values = filled(np.asarray(table, dtype=float))
    names = [str(name) for name in table.columns]
    if x == y:
        rank = np.empty(len(values))
        rank[np.argsort(values[:, x], kind="stable")] = np.arange(len(values))
        height = (rank * _GOLDEN + 0.5) % 1 - 0.5
        points, flat = np.column_stack([values[:, x], height]), np.column_stack([complete[:, x], 0 * height])
        return Plane(points, (names[x], ""), distortion_of(flat, complete))
    unit = np.zeros((2, data.shape[1]))
    unit[0, x] = unit[1, y] = 1
    origin = np.median(complete, axis=0)
    origin[[x, y]] = 0
    distortion = distortion_of(complete[:, [x, y]], complete)
    shown = [x, y]
    return Plane(values[:, shown], (names[x], names[y]), distortion, unit, origin, center[shown], scale[shown])


def principal_plane(data: np.ndarray) -> Plane:
    """The two directions in which the data vary most."""
    from sklearn.decomposition import PCA

    complete = filled(data)
    if data.shape[1] == 1 or len(data) < 2 or not np.ptp(complete, axis=0).any():
        points = np.column_stack([complete[:, 0], np.zeros(len(data))])
        return Plane(points, ("only attribute", ""), None)
    model = PCA(2, random_state=0).fit(complete)
    points, names = model.transform(complete), []
    for k, share in enumerate(model.explained_variance_ratio_, start=1):
        names.append(f"principal component {k} ({share:.0%} of the variance)")
    return Plane(points, (names[0], names[1]), distortion_of(points, complete), model.components_, model.mean_)


def scaling_plane(data: np.ndarray, tell: Tell) -> Plane:
    """Distances in the picture as near as can be to the true ones."""
    complete = filled(data)
    start = principal_plane(data).points
    points = scaled_to_plane(complete, start + 1e-6 * np.random.default_rng(0).normal(size=start.shape), tell)
    return Plane(points, ("scaling 1", "scaling 2"), distortion_of(points, complete))


def umap_plane(data: np.ndarray, tell: Tell) -> Plane:
    """Neighbors together; distances between groups mean little."""
    try:
        from umap import UMAP
    except ImportError as error:
        raise ImportError("UMAP is not installed (pip install umap-learn)") from error
    complete = filled(data)
    tell("UMAP", None)
    points = np.asarray(UMAP(random_state=0).fit_transform(complete), dtype=float)
    return Plane(points, ("UMAP 1", "UMAP 2"), distortion_of(points, complete))
