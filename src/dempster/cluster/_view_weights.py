"""Weights of the views in `WMVEC`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr


@dataclass(frozen=True)
class WeightRule:
    """Rule that computes the optimal weights of V views from their within-cluster dispersions."""

    first: np.ndarray  # (V,), initial weights
    # (V,), prior weights; the weights approach them as ``evenness`` increases
    prior: np.ndarray
    evenness: float | None  # strength of the prior; None if the weights are fixed

    @classmethod
    def from_dispersions(
        cls, shapeless: np.ndarray, varies: np.ndarray, evenness: float
    ) -> WeightRule:
        """Return the rule for learned weights.

        ``shapeless`` contains the shapeless dispersions; ``varies`` is False for constant views.
        """
        if not varies.any():
            varies = np.ones(len(varies), bool)
        even = varies / varies.sum()
        largest = shapeless[varies].max()
        relative = np.exp((shapeless - largest) / evenness)
        prior = np.where(varies, relative, 0.0)
        return cls(even, prior / prior.sum(), evenness)

    def best_weights(self, dispersion: np.ndarray) -> np.ndarray:
        """Return the weights that minimize the objective, given the dispersions within clusters."""
        if self.evenness is None:
            return self.first
        smallest = dispersion[self.prior > 0].min()
        weights = self.prior * np.exp(-(dispersion - smallest) / self.evenness)
        return weights / weights.sum()

    def penalty(self, weights: np.ndarray) -> float:
        """Return the penalty for the difference from the prior, per unit of sample weight."""
        if self.evenness is None:
            return 0.0
        divergence = float(rel_entr(weights, self.prior).sum())
        return max(self.evenness * divergence, 0.0)


def shapeless_dispersion(variances: np.ndarray, n_clusters: int) -> float:
    """Return the share of the variance of a Gaussian distribution that remains within clusters.

    ``variances`` contains the variances along the principal axes. The share follows from
    rate-distortion theory: with log(c) nats for c clusters, principal axes whose variance exceeds a
    certain level keep a variance equal to the level, and the other axes keep their variance
    (reverse water-filling; Cover and Thomas, 2006, section 10.3.3).
    """
    variances = np.sort(variances)[::-1]
    if not variances[0] > 0:
        return 0.0
    variances = np.maximum(variances / variances[0], 1e-12)
    n_axes = np.arange(1, len(variances) + 1)
    logs = np.cumsum(np.log(variances))
    levels = np.exp((logs - 2 * np.log(n_clusters)) / n_axes)
    following = np.append(variances[1:], 0.0)
    level = levels[np.argmax(following <= levels)]
    remaining = np.minimum(variances, level)
    return float(remaining.sum() / variances.sum())
