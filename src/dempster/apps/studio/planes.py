"""Where objects lie in a flat picture: two attributes, principal components, scaling, or UMAP where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dempster.dissimilarity.partial import filled

_SAMPLE = 1500
_NEIGHBORS = 10
_GOOD, _FAIR = 0.75, 0.45  # share of the neighbors that are kept


@dataclass(frozen=True)
class Distortion:
    """Of a picture.

    Attributes
    ----------
    kept : float
        Of the ten nearest neighbors of an object, the share that is among the ten nearest in the picture.
    correlation : float
        Rank correlation of the distances between objects with those in the picture.
    n_objects : int
        How many objects were looked at.
    """

    kept: float
    correlation: float
    n_objects: int

    @property
    def grade(self) -> str:
        """ "faithful", "bent" or "distorted"."""
        return "faithful" if self.kept >= _GOOD else "bent" if self.kept >= _FAIR else "distorted"

    def to_words(self) -> str:
        """For the badge."""
        tenths = round(10 * self.kept)
        start = {
            "faithful": "This picture is faithful",
            "bent": "This picture bends the data somewhat",
            "distorted": "This picture distorts: trust the masses more than the places",
        }[self.grade]
        return (
            f"{start}. Of an object's 10 nearest neighbors about {tenths} are still its nearest here; distances agree "
            f"in rank by {self.correlation:.2f} (1 is perfect)."
        )

    def describe(self) -> dict[str, Any]:
        return {"kept": self.kept, "correlation": self.correlation, "grade": self.grade, "words": self.to_words()}


def distortion_of(points: np.ndarray, data: np.ndarray) -> Distortion | None:
    """Compare (n, 2) places with the (n, p) attributes they stand for, on a sample; None for fewer than four."""
    from scipy.spatial.distance import pdist, squareform
    from scipy.stats import spearmanr

    n = len(data)
    some = np.arange(n) if n <= _SAMPLE else np.sort(np.random.default_rng(0).choice(n, _SAMPLE, replace=False))
    if len(some) < 4:
        return None
    true, flat = pdist(data[some]), pdist(points[some])
    if not (np.ptp(true) > 0 and np.ptp(flat) > 0):
        return None
    k = min(_NEIGHBORS, (len(some) - 1) // 2)
    near, shown = _nearest(squareform(true), k), _nearest(squareform(flat), k)
    kept = float(np.mean([len(np.intersect1d(a, b, assume_unique=True)) / k for a, b in zip(near, shown, strict=True)]))
    every = max(1, len(true) // 100_000)
    return Distortion(kept, float(spearmanr(true[::every], flat[::every])[0]), len(some))


def _nearest(distances: np.ndarray, k: int) -> np.ndarray:
    np.fill_diagonal(distances, np.inf)
    return np.argpartition(distances, k - 1, axis=1)[:, :k]


MAX_LANDMARKS, MAX_LANDMARK_STEPS = 600, 200
N_LANDMARKS_OF_MANY, N_PLACING_STEPS = 120, 30
MANY_OBJECTS = 20_000
_BLOCK_CELLS = 1 << 21
_TOLERANCE = 1e-5


def scaled_to_plane(data: np.ndarray, start: np.ndarray, tell: Callable[[str, float | None], None]) -> np.ndarray:
    """(n, 2) places of n objects, from a start such as their principal components."""
    n = len(data)
    number = n if n <= MAX_LANDMARKS else N_LANDMARKS_OF_MANY if n > MANY_OBJECTS else MAX_LANDMARKS // 2
    chosen = np.sort(np.random.default_rng(0).choice(n, number, replace=False)) if number < n else np.arange(n)
    landmarks = _majorized(cdist(data[chosen], data[chosen]), start[chosen].copy(), tell)
    if number == n:
        return landmarks
    points, rows = np.empty((n, 2)), max(1, _BLOCK_CELLS // number)
    for begin in range(0, n, rows):
        end = min(begin + rows, n)
        points[begin:end] = _placed(cdist(data[begin:end], data[chosen]), start[begin:end].copy(), landmarks)
        tell("multidimensional scaling: placing objects", end / n)
    points[chosen] = landmarks
    return points


def _majorized(distances: np.ndarray, points: np.ndarray, tell: Callable[[str, float | None], None]) -> np.ndarray:
    """Guttman's transform, over and over: the stress never rises."""
    total, last = float(np.square(distances).sum()) or 1.0, np.inf
    for step in range(MAX_LANDMARK_STEPS):
        flat = cdist(points, points)
        stress = float(np.square(flat - distances).sum()) / total
        if last - stress <= _TOLERANCE * max(stress, 1e-12):
            break
        last = stress
        ratio = np.divide(distances, flat, out=np.zeros_like(flat), where=flat > 0)
        points = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / len(points)
        tell(f"multidimensional scaling: stress {stress**0.5:.3f}", (step + 1) / MAX_LANDMARK_STEPS)
    return points


def _placed(distances: np.ndarray, points: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """The same step for objects that only see the landmarks."""
    middle = landmarks.mean(axis=0)
    for _ in range(N_PLACING_STEPS):
        flat = cdist(points, landmarks)
        ratio = np.divide(distances, flat, out=np.zeros_like(flat), where=flat > 0)
        points = middle + (ratio.sum(axis=1)[:, None] * points - ratio @ landmarks) / len(landmarks)
    return points


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
