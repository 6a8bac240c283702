"""How imprecise a mass function is, and how far two of them are from each other."""

from __future__ import annotations

import numpy as np

from evidentia.belief.focal_sets import FocalSets

__all__ = ["nonspecificity", "jousselme_distance", "belief_distance"]

_BLOCK_ROWS = 65536


def nonspecificity(masses: np.ndarray, family: FocalSets) -> np.ndarray:
    """Sum of m(A) log2 |A|, the empty set counting as the whole frame (Klir and Wierman, 1999): 0 to log2 c."""
    size = family.cardinality.astype(float)
    size[size == 0] = family.n_clusters
    return masses @ np.log2(size).astype(masses.dtype)


def jousselme_distance(difference: np.ndarray, family: FocalSets) -> np.ndarray:
    """sqrt(d' J d / 2), d the difference of mass functions, J the Jaccard index of sets (Jousselme et al., 2001)."""
    jaccard = family.jaccard.astype(difference.dtype)
    squared = np.empty(len(difference), dtype=difference.dtype)
    for start in range(0, len(difference), _BLOCK_ROWS):
        d = difference[start : start + _BLOCK_ROWS]
        squared[start : start + _BLOCK_ROWS] = np.einsum("if,if->i", d @ jaccard, d)
    return np.sqrt(np.clip(squared / 2, 0, None))


def belief_distance(difference: np.ndarray, family: FocalSets) -> np.ndarray:
    """Half the sum of |bel1(A) - bel2(A)| over all sets A (Denoeux, Li and Sriboonchitta, 2018).

    At most 1 on a frame of two elements only. It looks at all 2^c sets, so the frame must be small.
    """
    inside = FocalSets.full(family.n_clusters, empty=False).membership
    subset = (family.membership.astype(float) @ (~inside).T == 0) & (family.cardinality > 0)[:, None]
    total = np.zeros(len(difference), dtype=difference.dtype)
    for start in range(0, len(difference), _BLOCK_ROWS):
        d = difference[start : start + _BLOCK_ROWS]
        total[start : start + _BLOCK_ROWS] = np.abs(d @ subset.astype(difference.dtype)).sum(axis=1)
    return total / 2
