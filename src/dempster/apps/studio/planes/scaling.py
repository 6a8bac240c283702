"""Multidimensional scaling: places in the plane whose distances are as near as can be to the true ones.

The stress is minimized over landmarks by majorization (SMACOF: de Leeuw, 1977); every other object is then placed
against the landmarks by the same steps: memory and time grow with the number of objects and not with its square.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

__all__ = ["scaled_to_plane"]

_MOST_LANDMARKS, _LANDMARK_STEPS = 600, 200
_FEW_LANDMARKS, _PLACING_STEPS = 120, 30
_BLOCK_CELLS = 1 << 21
_TOLERANCE = 1e-5


def scaled_to_plane(data: np.ndarray, start: np.ndarray, tell: Callable[[str, float | None], None]) -> np.ndarray:
    """(n, 2) places of n objects, from a start such as their principal components."""
    n = len(data)
    number = n if n <= _MOST_LANDMARKS else _FEW_LANDMARKS if n > 20_000 else _MOST_LANDMARKS // 2
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
    for step in range(_LANDMARK_STEPS):
        flat = cdist(points, points)
        stress = float(np.square(flat - distances).sum()) / total
        if last - stress <= _TOLERANCE * max(stress, 1e-12):
            break
        last = stress
        ratio = np.divide(distances, flat, out=np.zeros_like(flat), where=flat > 0)
        points = (ratio.sum(axis=1)[:, None] * points - ratio @ points) / len(points)
        tell(f"multidimensional scaling: stress {stress**0.5:.3f}", (step + 1) / _LANDMARK_STEPS)
    return points


def _placed(distances: np.ndarray, points: np.ndarray, landmarks: np.ndarray) -> np.ndarray:
    """The same step for objects that only see the landmarks."""
    middle = landmarks.mean(axis=0)
    for _ in range(_PLACING_STEPS):
        flat = cdist(points, landmarks)
        ratio = np.divide(distances, flat, out=np.zeros_like(flat), where=flat > 0)
        points = middle + (ratio.sum(axis=1)[:, None] * points - ratio @ landmarks) / len(landmarks)
    return points
