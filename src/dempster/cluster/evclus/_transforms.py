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
        conflicts = (d - self.offset) / self.slope
        delta = np.clip(conflicts, _MIN_CONFLICT, _MAX_CONFLICT)
        squares = np.log1p(-delta) / np.log(1 - LARGE_CONFLICT)
        return np.where(d > 0, np.sqrt(squares), 0.0).astype(d.dtype)

    def fit(
        self, d: np.ndarray, conflicts: np.ndarray
    ) -> tuple[LinearTransform, float]:
        """Return the best approximation slope * conflict + offset of d.

        The second result is the sum of squares for this object.
        """
        columns = np.column_stack([conflicts, np.ones_like(conflicts)])
        slope, offset = np.linalg.lstsq(columns, d, rcond=None)[0]
        residuals = self.slope * conflicts + self.offset - d
        error = float(np.sum(residuals**2))
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
        dissimilarities = D[np.triu_indices(len(D), 1)]
        values, counts = np.unique(dissimilarities, return_counts=True)
        n_below = np.append(0, np.cumsum(counts))
        return cls(values, n_below / n_below[-1])

    def __call__(self, d: np.ndarray) -> np.ndarray:
        below = self.counts[np.searchsorted(self.values, d)]
        up_to = self.counts[np.searchsorted(self.values, d, "right")]
        ranks = (below + up_to) / 2
        return np.where(d > 0, ranks, 0.0).astype(d.dtype)
