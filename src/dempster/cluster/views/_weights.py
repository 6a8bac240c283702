"""How much each view counts: what the clusters explain of it, beyond what they would explain of anything.

Let e_v be the share of the dispersion of view v that is left within the clusters. Weights that minimise

    sum_v w_v e_v  +  evenness sum_v w_v log(w_v / prior_v)

over the simplex are w_v ~ prior_v exp(-e_v / evenness): with an even prior, the entropy weights of Jing, Ng and Huang
(2007). But a view with few degrees of freedom is explained well by any clusters that follow it, a view with many by
none, whatever there is to be seen in it. So the prior is prior_v ~ exp(s_v / evenness), where s_v is the share that
would be left in a Gaussian cloud of the same covariance: the weights are those of e_v - s_v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr

__all__ = ["WeightRule", "learnt_weights", "fixed_weights", "shapeless_dispersion", "spectrum", "gram_spectrum"]

_DENSE = 500  # attributes up to which their covariances are computed, and objects that tell the spectrum of more


@dataclass(frozen=True)
class WeightRule:
    """How weights follow from dispersions.

    Attributes
    ----------
    first : (V,) array
        Weights to start from.
    prior : (V,) array
        What the weights are drawn to.
    evenness : float or None
        How strongly; None if the weights stay what they are.
    """

    first: np.ndarray
    prior: np.ndarray
    evenness: float | None

    def best(self, dispersion: np.ndarray) -> np.ndarray:
        """The weights that minimise the objective for the shares of dispersion left within the clusters."""
        if self.evenness is None:
            return self.first
        here = self.prior > 0
        weights = self.prior * np.exp(-(dispersion - dispersion[here].min()) / self.evenness)
        return weights / weights.sum()

    def penalty(self, weights: np.ndarray) -> float:
        """What uneven weights cost, for each unit of weight of the objects; never negative."""
        if self.evenness is None:
            return 0.0
        return max(self.evenness * float(rel_entr(weights, self.prior).sum()), 0.0)


def learnt_weights(shapeless: np.ndarray, varies: np.ndarray, evenness: float) -> WeightRule:
    """Weights that are learnt. Views that do not vary, which say nothing, have none."""
    varies = varies if varies.any() else np.ones(len(varies), dtype=bool)
    even = varies / varies.sum()
    prior = np.where(varies, np.exp((shapeless - shapeless[varies].max()) / evenness), 0.0)
    return WeightRule(even, prior / prior.sum(), evenness)


def fixed_weights(weights: np.ndarray) -> WeightRule:
    """Weights that are given; they sum to one."""
    return WeightRule(weights, weights, None)


def shapeless_dispersion(variances: np.ndarray, n_clusters: int) -> float:
    """The share of the dispersion of a Gaussian cloud that is left when so many places stand for all of it.

    By the theory of rates and distortions: with log(c) nats to spend, the principal axes of variance above a level keep
    this level, the others all they have (reverse water-filling; Cover and Thomas, 2006, section 10.3.3).
    """
    variances = np.sort(variances)[::-1]
    if not variances[0] > 0:
        return 0.0
    variances = np.maximum(variances / variances[0], 1e-12)
    n_axes = np.arange(1, len(variances) + 1)
    levels = np.exp((np.cumsum(np.log(variances)) - 2 * np.log(n_clusters)) / n_axes)
    level = levels[np.argmax(np.append(variances[1:], 0.0) <= levels)]
    return float(np.minimum(variances, level).sum() / variances.sum())


def spectrum(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Variances along the principal axes of a table whose mean is zero; of many attributes by some of the objects."""
    n, p = X.shape
    if p <= _DENSE:
        return np.maximum(np.linalg.eigvalsh((X.T * weights) @ X / weights.sum()), 0.0)
    some = np.unique(np.linspace(0, n - 1, _DENSE).astype(int))
    roots = np.sqrt(weights[some] / weights[some].sum())
    centered = (X[some] - weights[some] @ X[some] / weights[some].sum()) * roots[:, None]
    return np.maximum(np.linalg.eigvalsh(centered @ centered.T), 0.0)


def gram_spectrum(squares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same for objects with these squared dissimilarities (Torgerson, 1958); negative variances count as none."""
    share = weights / weights.sum()
    rows = squares @ share
    gram = (rows[:, None] + rows - squares - share @ rows) / 2
    roots = np.sqrt(share)
    return np.maximum(np.linalg.eigvalsh(gram * roots[:, None] * roots), 0.0)
