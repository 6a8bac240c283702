"""Mass functions from the weights of evidence of a linear classifier.

Each feature of a classifier with softmax probabilities is a piece of evidence. A positive weight
for class k supports {k}, and a negative weight supports the complement of {k}. Dempster's rule
combines all pieces of evidence (Denoeux, 2019, "Logistic regression, neural networks and
Dempster-Shafer theory: a new perspective", Knowledge-Based Systems 176).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from dempster._errors import InvalidParameterError
from dempster.belief import FocalSets

# maximum number of classes for which masses on all sets of classes are computed
MAX_CLASSES = 12
# replaces log(0); it is finite, so that its product with zero is zero
LOG_ZERO = -1e300


def least_informative(
    coefficients: np.ndarray, intercepts: np.ndarray, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes and offsets of the least informative weights of evidence, shape (J, M).

    The weight of evidence of feature j for class k is w_jk = slope_jk feature_j + offset_jk. Many
    weights give the same probabilities, because a constant can be added to all scores and the
    intercepts can be distributed over the features. The least informative weights have the smallest
    sum of squares over the training objects. ``means`` contains the means of the J features over
    the training objects.
    """
    slopes = coefficients - coefficients.mean(axis=1, keepdims=True)
    levels = intercepts - intercepts.mean() + means @ slopes
    offsets = levels / len(slopes) - slopes * means[:, None]
    return slopes, offsets


def evidence_family(focal_sets: str, n_classes: int) -> FocalSets:
    """Return all nonempty sets ("full"), or the single classes and the frame ("simple")."""
    if n_classes <= MAX_CLASSES and focal_sets != "simple":
        return FocalSets.full(n_classes, empty=False)
    if focal_sets == "full":
        expected = f"'auto' or 'simple' for more than {MAX_CLASSES} classes"
        raise InvalidParameterError("focal_sets", expected, focal_sets)
    return FocalSets.simple(n_classes, empty=False)


def _log_complement(logs: np.ndarray) -> np.ndarray:
    """Return log(1 - exp(x)) for each value x <= 0 of ``logs``."""
    with np.errstate(divide="ignore"):
        near_zero = np.log(-np.expm1(logs))
        far = np.log1p(-np.exp(logs))
    return np.where(logs > -np.log(2), near_zero, far)


@dataclass(frozen=True)
class WeightsOfEvidence:
    """Total weights of evidence for and against M classes, to be combined by Dempster's rule."""

    support: np.ndarray  # weights for the classes, shape (n, M), nonnegative
    opposition: np.ndarray  # weights against the classes, shape (n, M), nonnegative

    @classmethod
    def from_features(
        cls, features: np.ndarray, slopes: np.ndarray, offsets: np.ndarray
    ) -> WeightsOfEvidence:
        """Sum the weights of J features; slopes and offsets have the shape (J, M)."""
        support = np.zeros((len(features), slopes.shape[1]))
        opposition = np.zeros_like(support)
        for j in range(features.shape[1]):
            weights = features[:, [j]] * slopes[j] + offsets[j]
            support += np.maximum(weights, 0)
            opposition += np.maximum(-weights, 0)
        return cls(support, opposition)

    @cached_property
    def _log_single(self) -> np.ndarray:
        """Logarithm of the unnormalized mass of {k} from the evidence for class k, shape (n, M)."""
        others = self.support.sum(axis=1, keepdims=True) - self.support
        return _log_complement(-self.support) - others - self.opposition

    @cached_property
    def _log_agreement(self) -> np.ndarray:
        """Logarithm of 1 - conflict, shape (n,)."""
        # Use 1 - prod_k (1 - a_k) = sum_k a_k prod_{l < k} (1 - a_l) with a_k = exp(-opposition_k).
        # The right-hand side avoids cancellation.
        logs = _log_complement(-self.opposition[:, :-1])
        before = np.zeros_like(self.opposition)
        before[:, 1:] = logs.cumsum(axis=1)
        common = before - self.opposition - self.support.sum(axis=1, keepdims=True)
        logs = np.hstack([common, self._log_single])
        return logsumexp(logs, axis=1)

    @property
    def conflict(self) -> np.ndarray:
        """Degree of conflict between the features for each object, shape (n,)."""
        return np.clip(-np.expm1(self._log_agreement), 0, 1)

    @property
    def probabilities(self) -> np.ndarray:
        """Softmax of the scores, which equals the normalized plausibilities, shape (n, M)."""
        logs = self.support - self.opposition
        total = logsumexp(logs, axis=1, keepdims=True)
        return np.exp(logs - total)

    def masses(self, family: FocalSets) -> np.ndarray:
        """Return the masses on the f focal sets of ``family``, shape (n, f).

        The family contains either all nonempty sets, or the single classes and the frame. In the
        second case the masses of all sets outside the family are added to the frame (outer
        approximation).
        """
        with np.errstate(under="ignore"):
            out = np.exp(self._log_masses(family))
        if len(family) < 2**family.n_clusters - 1:
            omega = family.omega_index
            out[:, omega] = 0
            out[:, omega] = np.maximum(1 - out.sum(axis=1), 0)
        return out / out.sum(axis=1, keepdims=True)

    def _log_masses(self, family: FocalSets) -> np.ndarray:
        """Return the logarithms of the normalized masses on the f focal sets, shape (n, f).

        The mass of a set A is proportional to prod_k b_k prod_{k in A} a_k prod_{k not in A} (1 -
        a_k), where b_k = exp(-support_k) and a_k = exp(-opposition_k). The mass of a single class
        {k} also contains the term ``_log_single``, which is due to the evidence for class k.
        """
        inside = family.membership.astype(float)
        against = np.maximum(_log_complement(-self.opposition), LOG_ZERO)
        logs = -self.opposition @ inside.T
        logs += against @ (1 - inside).T
        logs -= self.support.sum(axis=1, keepdims=True)
        single = family.singleton_index
        logs[:, single] = np.logaddexp(logs[:, single], self._log_single)
        return np.maximum(logs, LOG_ZERO) - self._log_agreement[:, None]
