"""Coordinates of objects that are only known by their dissimilarities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np

from dempster.dissimilarity.sources import DissimilaritySource, References

_MAX_LANDMARKS = 500
_MIN_VARIANCE = 0.01  # smallest share of the variance of a coordinate
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Scaling:
    """Classical scaling of landmarks, with Gower's formula for other objects."""

    landmarks: Annotated[np.ndarray, "l:int"]  # positions among the references
    means: Annotated[np.ndarray, "l"]  # mean squared dissimilarities of the landmarks
    maps: Annotated[np.ndarray, "l p"]

    @classmethod
    def fit(
        cls, source: DissimilaritySource, rng: np.random.RandomState
    ) -> tuple[Self, np.ndarray]:
        """Return the scaling and the coordinates of all objects of a source."""
        landmarks = np.sort(rng.permutation(len(source))[:_MAX_LANDMARKS])
        squares = np.square(source.block(landmarks, landmarks).astype(float))
        means = squares.mean(axis=0)
        products = (means + means[:, None] - means.mean() - squares) / 2
        values, vectors = np.linalg.eigh((products + products.T) / 2)
        kept = values > _MIN_VARIANCE * max(values[values > 0].sum(), _TINY)
        kept[-1] = True
        maps = vectors[:, kept] / np.sqrt(np.maximum(values[kept], _TINY))
        if values[-1] <= 0:
            maps[:] = 0
        scaling = cls(landmarks, means, maps)
        everything = np.arange(len(source))
        return scaling, scaling._place(source.block(everything, landmarks))

    def coordinates(self, references: References, values: Any) -> np.ndarray:
        """Return the coordinates of new objects, shape (m, p)."""
        return self._place(references.dissimilarities(values)[:, self.landmarks])

    def _place(self, D: np.ndarray) -> np.ndarray:
        return (self.means - np.square(D.astype(float))) @ self.maps / 2
