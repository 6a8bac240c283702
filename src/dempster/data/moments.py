"""What is known of objects after one pass: their moments, which can be added over blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster._validation import has_missing, mean_of_rows

__all__ = ["Moments"]


@dataclass(frozen=True)
class Moments:
    """Deviations are taken from the means of the blocks, and then corrected (Chan, Golub and LeVeque, 1983): sums of
    squares lose their digits far from the origin.

    Attributes
    ----------
    n : int
        Number of objects.
    weight : float
        Sum of their weights.
    present : (p,) array
        Sum of the weights of the objects that have an attribute.
    mean : (p,) array
        Over these.
    scatter : (p, p) or (p,) array
        Weighted sum of (x - mean)(x - mean)', or its diagonal; a matrix only of objects that lack nothing.
    low, high : (p,) arrays
        Smallest and largest values; NaN where there are none.
    """

    n: int
    weight: float
    present: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray, *, products: bool) -> Moments:
        """Those of some objects; ``weights`` is empty if all count alike, ``products``: whether the scatter is a
        matrix."""
        values = X.astype(float)
        if len(weights) == 0 and not has_missing(values):
            mean = mean_of_rows(values)
            gap = values - mean
            scatter = gap.T @ gap if products else np.einsum("ij,ij->j", gap, gap)
            total = float(len(X))
            return cls(len(X), total, np.full(len(mean), total), mean, scatter, values.min(axis=0), values.max(axis=0))
        there = ~np.isnan(values)
        shares = there * (np.ones(len(X)) if len(weights) == 0 else weights)[:, None]
        present = shares.sum(axis=0)
        low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        mean = np.einsum("ij,ij->j", shares, np.where(there, values, 0.0)) / np.where(present > 0, present, 1.0)
        mean = np.fmax(np.fmin(mean, high), low)
        gap = np.where(there, values - mean, 0.0)
        scatter = (gap * shares).T @ gap if products else np.einsum("ij,ij,ij->j", shares, gap, gap)
        total = float(len(X) if len(weights) == 0 else weights.sum())
        return cls(len(X), total, present, mean, scatter, low, high)

    def __add__(self, other: Moments) -> Moments:
        gap = other.mean - self.mean
        present = self.present + other.present
        share = other.present / np.where(present > 0, present, 1.0)
        if self.scatter.ndim == 2:
            weight = self.weight + other.weight
            between = np.outer(gap, gap) * (self.weight * (other.weight / weight) if weight > 0 else 0.0)
        else:
            between = gap * gap * (self.present * share)
        return Moments(
            self.n + other.n,
            self.weight + other.weight,
            present,
            self.mean + gap * share,
            self.scatter + other.scatter + between,
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )

    @property
    def mean_squared_deviation(self) -> float:
        """Mean squared distance of the objects to their mean: the sum of the variances of the attributes."""
        squares = np.diagonal(self.scatter) if self.scatter.ndim == 2 else self.scatter
        return float((squares / np.where(self.present > 0, self.present, 1.0)).sum())
