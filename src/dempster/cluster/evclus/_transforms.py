"""Monotone transformations of dissimilarities other than the exponential one.

EVCLUS computes the target conflict of two objects by the exponential transformation 1 - exp(-gamma
d^2). The classes of this module convert the dissimilarities d first, so that the exponential
transformation of the result is the required target conflict. Dissimilarities of zero remain zero,
because objects at dissimilarity zero get equal masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np

from dempster.dissimilarity.transform import LARGE_CONFLICT

# limits of the target conflict, so that the conversion can be inverted
_MIN_CONFLICT = 1e-6
_MAX_CONFLICT = 1 - 1e-9


@dataclass(frozen=True)
class LinearTransform:
    """Conversion for d0 = 1 to the target conflict (d - offset) / slope, limited to [0, 1]."""

    slope: float
    offset: float = 0.0

    def __call__(self, d: np.ndarray) -> np.ndarray:
        delta = np.clip((d - self.offset) / self.slope, _MIN_CONFLICT, _MAX_CONFLICT)
        return np.where(
            d > 0, np.sqrt(np.log1p(-delta) / np.log(1 - LARGE_CONFLICT)), 0.0
        ).astype(d.dtype)

    def fit(
        self, d: np.ndarray, conflicts: np.ndarray
    ) -> tuple[LinearTransform, float]:
        """Return the best approximation slope * conflict + offset of d.

        The second result is the sum of squares for this object.
        """
        columns = np.column_stack([conflicts, np.ones_like(conflicts)])
        slope, offset = np.linalg.lstsq(columns, d, rcond=None)[0]
        error = float(np.sum((self.slope * conflicts + self.offset - d) ** 2))
        return LinearTransform(float(slope), float(offset)), error


@dataclass(frozen=True)
class RankTransform:
    """Conversion to ranks among the training dissimilarities, divided by the number of pairs.

    Equal dissimilarities have their mean rank. A new value between two values has a rank between
    their ranks.
    """

    values: Annotated[np.ndarray, "u"]  # distinct dissimilarities in increasing order
    # share of the pairs with a dissimilarity below each value, and 1
    counts: Annotated[np.ndarray, "u+1"]

    @classmethod
    def from_matrix(cls, D: np.ndarray) -> Self:
        values, counts = np.unique(D[np.triu_indices(len(D), 1)], return_counts=True)
        return cls(values, np.concatenate([[0], np.cumsum(counts)]) / counts.sum())

    def __call__(self, d: np.ndarray) -> np.ndarray:
        below, up_to = (
            self.counts[np.searchsorted(self.values, d, side)]
            for side in ("left", "right")
        )
        return np.where(d > 0, (below + up_to) / 2, 0.0).astype(d.dtype)
