"""How far a flat picture distorts: whether neighbors stay neighbors, and whether far stays far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Distortion", "distortion_of"]

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
