"""How imprecise a mass function is, and how far two of them are from each other."""

from __future__ import annotations

import numpy as np

from dempster._arrays import Array, library_of, like, same_place, zeros
from dempster._errors import InvalidInputError
from dempster.belief import transforms
from dempster.belief.focal_sets import FocalSets

__all__ = ["nonspecificity", "jousselme_distance", "belief_distance"]

_BLOCK_ROWS = 65536
_BLOCK_CELLS = 1 << 20  # beliefs computed at once
_MOST_BELIEFS = 1_000_000_000  # in all, some twenty seconds
_LARGEST_FRAME = 20


def nonspecificity(masses: Array, family: FocalSets) -> Array:
    """Sum of m(A) log2 |A|, the empty set counting as the whole frame (Klir and Wierman, 1999): 0 to log2 c."""
    size = family.cardinality.astype(float)
    size[size == 0] = family.n_clusters
    return masses @ like(np.log2(size), masses)


def jousselme_distance(difference: Array, family: FocalSets) -> Array:
    """sqrt(d' J d / 2), d the difference of mass functions, J the Jaccard index of sets (Jousselme et al., 2001)."""
    library, jaccard = library_of(difference), like(family.jaccard, difference)
    squared = zeros((len(difference),), difference)
    for start in range(0, len(difference), _BLOCK_ROWS):
        d = difference[start : start + _BLOCK_ROWS]
        squared[start : start + _BLOCK_ROWS] = library.einsum("if,if->i", d @ jaccard, d)
    return library.sqrt(library.clip(squared / 2, 0, None))


def belief_distance(difference: Array, family: FocalSets) -> Array:
    """Half the sum of |bel1(A) - bel2(A)| over all sets A (Denoeux, Li and Sriboonchitta, 2018).

    At most 1 on a frame of two elements only. It looks at all 2^c sets, so the frame must be small.
    """
    c = family.n_clusters
    if c > _LARGEST_FRAME or (len(difference) << c) > _MOST_BELIEFS:
        raise InvalidInputError(
            f"rule='belief' looks at all 2^{c} sets of {c} answers for each of {len(difference):,} rows (at most "
            f"2^{_LARGEST_FRAME}, and {_MOST_BELIEFS:,} in all): use rule='jousselme', or fewer rows at once"
        )
    total = zeros((len(difference),), difference)
    rows = max(1, _BLOCK_CELLS >> c)
    for start in range(0, len(difference), rows):
        d = difference[start : start + rows]
        dense = zeros((len(d), 1 << c), d)
        dense[:, same_place(family.codes, d)] = d
        dense[:, 0] = 0  # beliefs leave the empty set out
        total[start : start + rows] = abs(transforms.mass_to_implicability(dense)).sum(axis=1)
    return total / 2
