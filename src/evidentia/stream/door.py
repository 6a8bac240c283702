"""The door: X as blocks, and what every fit wants to know of them first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia._random import generator
from evidentia._types import Seed
from evidentia.optimize.blocks import Apply
from evidentia.stream.blocks import Blocks, comes_in_blocks, is_dask
from evidentia.stream.in_process import tiles_of

__all__ = ["blocks_of", "Moments", "moments_of", "sample_rows"]


def blocks_of(X: Any, n_jobs: int | None = 1) -> Blocks:
    """The rows of anything that `comes_in_blocks`, and of arrays and tables in memory (one block).

    ``n_jobs`` threads work on blocks that this process reads.
    """
    if is_dask(X):
        from evidentia.stream.with_dask import dask_blocks_of

        return dask_blocks_of(X)
    return tiles_of(X if comes_in_blocks(X) else [X], n_jobs)


@dataclass(frozen=True)
class Moments:
    """What is known of objects after one pass: they can be added over blocks.

    Deviations are taken from the means of the blocks, and then corrected (Chan, Golub and LeVeque, 1983): sums of
    squares lose their digits far from the origin.

    Attributes
    ----------
    n : int
    mean : (p,) array
    scatter : (p, p) or (p,) array
        Sum of (x - mean)(x - mean)', or its diagonal.
    low, high : (p,) arrays
        Smallest and largest values.
    """

    n: int
    mean: np.ndarray
    scatter: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, *, products: bool) -> Moments:
        """Those of some objects; ``products``: whether the scatter is a matrix."""
        values = X.astype(float)
        mean = values.mean(axis=0)
        gap = values - mean
        scatter = gap.T @ gap if products else np.einsum("ij,ij->j", gap, gap)
        return cls(len(X), mean, scatter, values.min(axis=0), values.max(axis=0))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        gap = other.mean - self.mean
        products = np.outer(gap, gap) if self.scatter.ndim == 2 else gap * gap
        return Moments(
            n,
            self.mean + gap * (other.n / n),
            self.scatter + other.scatter + products * (self.n * (other.n / n)),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    @property
    def mean_squared_deviation(self) -> float:
        """Mean squared distance of the objects to their mean."""
        squares = np.diagonal(self.scatter) if self.scatter.ndim == 2 else self.scatter
        return float(squares.sum()) / self.n


def moments_of(blocks: Blocks, apply: Apply, *, products: bool = False) -> Moments:
    """One pass over the blocks."""
    found = blocks.reduce(_moments, products, apply)
    if found is None:
        raise ValueError("X holds no objects: it has no blocks, or only empty ones")
    return found


def _moments(block: np.ndarray, products: bool, apply: Apply) -> Moments:
    return Moments.of(block, products=products)


def sample_rows(n: int, size: int, random_state: Seed) -> np.ndarray:
    """Increasing numbers of rows drawn without replacement: all if there are no more than ``size``.

    They depend on the seed and on the number of rows, not on how these are cut into blocks.
    """
    if n <= size:
        return np.arange(n)
    return np.sort(generator(random_state).choice(n, size, replace=False))
