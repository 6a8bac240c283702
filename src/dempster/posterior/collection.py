"""Masses of blocks of rows, as one array or as compressed rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from dempster._arrays import Array
from dempster.belief import FocalSets
from dempster.belief.focal_sets import has_many_clusters
from dempster.optimize.blocks import Apply

MIN_STORED_MASS = 1e-6  # smaller masses are left out of compressed rows


def collect_masses(
    compute: Callable[[int, int], Array],
    blocks: list[tuple[int, int]],
    family: FocalSets,
    dtype: np.dtype,
    apply: Apply,
) -> Array:
    """Return the masses of consecutive blocks of rows, shape (n, f).

    ``compute(start, stop)`` returns the masses of a block, possibly as compressed rows. The result
    is an array, or compressed rows without small masses if the family has many clusters.
    """
    if not has_many_clusters(family):
        out = np.empty((blocks[-1][1] if blocks else 0, len(family)), dtype)

        def write(start: int, stop: int) -> None:
            out[start:stop] = compute(start, stop)

        apply(write, blocks)
        return out

    def compress(start: int, stop: int) -> sparse.csr_array:
        masses = compute(start, stop)
        if sparse.issparse(masses):
            return masses
        sets = np.broadcast_to(np.arange(len(family)), masses.shape)
        return compress_masses(family, sets, masses, dtype)

    return sparse.vstack(apply(compress, blocks), format="csr")


def compress_masses(
    family: FocalSets,
    sets: np.ndarray,
    masses: np.ndarray,
    dtype: np.dtype,
    empty: np.ndarray | None = None,
) -> sparse.csr_array:
    """Return compressed rows, shape (n, f), of masses on some sets, shape (n, k).

    ``empty`` contains the masses of the empty set, if ``sets`` does not contain it.
    """
    if empty is not None and family.empty_index is not None:
        sets = np.column_stack([np.full(len(sets), family.empty_index), sets])
        masses = np.column_stack([empty, masses])
    kept = masses >= MIN_STORED_MASS
    total = np.where(kept, masses, 0).sum(axis=1, keepdims=True)
    ends = np.append(0, kept.sum(axis=1).cumsum())
    values = (masses / total)[kept].astype(dtype)
    columns = sets[kept].astype(np.int32)
    parts = values, columns, ends.astype(np.int64)
    rows = sparse.csr_array(parts, shape=(len(masses), len(family)))
    rows.sort_indices()
    return rows
