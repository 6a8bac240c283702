"""The door: X as blocks, and what every fit wants to know of them first."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._types import Seed
from dempster.data.blocks import Blocks, comes_in_blocks, is_dask
from dempster.data.in_process import tiles_of
from dempster.data.moments import Moments
from dempster.optimize.blocks import Apply

__all__ = ["blocks_of", "moments_of", "sample_rows", "weighted_sample"]


def blocks_of(X: Any, n_jobs: int | None = 1, *, missing: bool = False) -> Blocks:
    """The rows of anything that `comes_in_blocks`, and of arrays and tables in memory (one block).

    ``n_jobs`` threads work on blocks that this process reads. ``missing``: whether cells may be NaN.
    """
    if is_dask(X):
        from dempster.data.with_dask import dask_blocks_of

        return dask_blocks_of(X, missing=missing)
    return tiles_of(X if comes_in_blocks(X) else [X], n_jobs, missing=missing)


def moments_of(blocks: Blocks, apply: Apply, *, products: bool = False, weighted: bool = False) -> Moments:
    """One pass over the blocks; ``weighted``: whether their last column is a weight."""
    found = blocks.reduce(_moments, (products, weighted), apply)
    if found is None:
        raise InvalidInputError("X holds no objects: it has no blocks, or only empty ones")
    return found


def _moments(block: np.ndarray, shared: tuple[bool, bool], apply: Apply) -> Moments:
    products, weighted = shared
    if not weighted:
        return Moments.of(block, np.empty(0), products=products)
    return Moments.of(block[:, :-1], block[:, -1], products=products)


def sample_rows(n: int, size: int, random_state: Seed) -> np.ndarray:
    """Increasing numbers of rows drawn without replacement: all if there are no more than ``size``.

    They depend on the seed and on the number of rows, not on how these are cut into blocks.
    """
    if n <= size:
        return np.arange(n)
    return np.sort(generator(random_state).choice(n, size, replace=False))


def weighted_sample(blocks: Blocks, size: int, random_state: Seed) -> tuple[np.ndarray, np.ndarray]:
    """Increasing numbers of rows drawn in proportion to their last column, one from each of ``size`` equal shares of
    its sum, and how often each was drawn. One pass for the sums of the blocks, and one for the rows."""
    sums = np.array(blocks.each(_sum_of_weights, None))
    ends = np.cumsum(sums)
    at = (np.arange(size) + generator(random_state).random(size)) / size * ends[-1]
    which = np.minimum(np.searchsorted(ends, at, side="right"), np.flatnonzero(sums)[-1])
    found = blocks.each(_places_of_weights, (at - (ends - sums)[which], which))
    rows, times = np.unique(np.concatenate(found), return_counts=True)
    return rows, times.astype(float)


def _sum_of_weights(block: np.ndarray, start: int, number: int, shared: None) -> float:
    return float(np.cumsum(block[:, -1])[-1]) if len(block) else 0.0


def _places_of_weights(block: np.ndarray, start: int, number: int, shared: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Rows of this block in whose share of the sum the points ``at`` lie, counted from the first of all rows."""
    at, which = shared
    reach = np.cumsum(block[:, -1])
    places = np.searchsorted(reach, at[which == number], side="right")
    return start + np.minimum(places, np.flatnonzero(block[:, -1])[-1]) if len(places) else np.empty(0, np.int64)
