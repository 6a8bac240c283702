"""Which clusters are neighbors: those with no third one between them."""

from __future__ import annotations

import numpy as np

__all__ = ["gabriel_pairs"]

_ROUNDING = 1e-9


def gabriel_pairs(squared_distances: np.ndarray) -> list[tuple[int, int]]:
    """Pairs (k, l), k < l, of points such that the ball between the two holds no third point.

    The ball over the segment from k to l as its diameter holds the point j if |j - k|^2 + |j - l|^2 < |k - l|^2, so
    squared distances are all that is needed (Gabriel and Sokal, 1969). Of points in a row, those next to each other
    are the pairs.
    """
    S = np.asarray(squared_distances, dtype=float)
    pairs = []
    for k in range(len(S)):
        for m in range(k + 1, len(S)):
            through = S[k] + S[m]
            through[[k, m]] = np.inf
            if through.min() >= S[k, m] * (1 - _ROUNDING):
                pairs.append((k, m))
    return pairs
