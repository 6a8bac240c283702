"""The largest masses of each object, for very many clusters: what is left over says nothing.

A mass function with its k largest masses kept and the rest on the frame is an outer approximation of it: no degree of
belief is larger than it was, no plausibility smaller. What is lost is which of the small sets the rest was on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dempster.belief import FocalSets

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["family_with_frame", "top_masses"]


def family_with_frame(family: FocalSets) -> FocalSets:
    """The same sets in the same order, and the set of all clusters at the end if it is not among them."""
    if family.omega_index is not None:
        return family
    return FocalSets(np.vstack([family.membership, np.ones((1, family.n_clusters), dtype=bool)]))


def top_masses(masses: np.ndarray, family: FocalSets, top: int) -> sparse.csr_array:
    """(n, f) the ``top`` largest masses of each row, of equal ones the first, with the rest on the frame.

    ``family`` is that of the masses; the columns are those of `family_with_frame`. Rows sum to what they did.
    """
    from scipy import sparse  # which tables and partitions do without

    wider = family_with_frame(family)
    assert wider.omega_index is not None
    n, f = masses.shape
    k = min(top, f)
    sets = np.sort(np.argsort(-masses, axis=1, kind="stable")[:, :k], axis=1)
    kept = np.take_along_axis(masses, sets, axis=1)
    rest = np.maximum(masses.sum(axis=1) - kept.sum(axis=1), 0)
    rows = np.repeat(np.arange(n), k)
    everything = np.concatenate([kept.ravel(), rest])
    places = np.concatenate([sets.ravel(), np.full(n, wider.omega_index)])
    found = sparse.csr_array((everything, (np.concatenate([rows, np.arange(n)]), places)), shape=(n, len(wider)))
    found.eliminate_zeros()
    found.sort_indices()
    return found
