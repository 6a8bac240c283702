"""Weights of evidence: the mass functions behind a softmax of linear scores.

Each feature of a linear classifier is a piece of evidence. A positive weight for class k supports {k}, a negative one
its complement, and Dempster's rule combines them all (Denoeux, 2019, "Logistic regression, neural networks and
Dempster-Shafer theory: a new perspective", Knowledge-Based Systems 176).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from dempster._errors import InvalidParameterError
from dempster.belief import FocalSets

MAX_CLASSES = 12  # whose sets are all listed
_NEVER = -1e300  # logarithm of zero that survives a multiplication by zero


def two_class_scores(coefficients: np.ndarray, intercept: float) -> tuple[np.ndarray, np.ndarray]:
    """Share the log-odds of the second of two classes between scores of the two: (J, 2) and (2,)."""
    half = np.asarray(coefficients, dtype=float).reshape(-1, 1) / 2
    return np.hstack([-half, half]), np.array([-intercept / 2, intercept / 2])


def least_informative(
    coefficients: np.ndarray, intercepts: np.ndarray, means: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return (J, M) slopes and offsets of the weights w_jk = slope_jk feature_j + offset_jk.

    Adding the same to all scores changes nothing, and an intercept may be shared between features in many ways: of all
    these weights the ones with the smallest sum of squares over the training objects say least.

    Parameters
    ----------
    coefficients : array of shape (J, M)
    intercepts : array of shape (M,)
    means : array of shape (J,)
        Means of the features over the training objects.
    """
    slopes = coefficients - coefficients.mean(axis=1, keepdims=True)
    level = intercepts - intercepts.mean() + means @ slopes
    return slopes, level / len(slopes) - slopes * means[:, None]


def evidence_family(focal_sets: str, n_classes: int) -> FocalSets:
    """Return the family of the option ``focal_sets``: all nonempty sets of classes, or the classes and the frame."""
    if focal_sets == "full" and n_classes > MAX_CLASSES:
        raise InvalidParameterError(
            "focal_sets", message=f"focal_sets='full' is for at most {MAX_CLASSES} classes, got {n_classes}"
        )
    if focal_sets == "full" or (focal_sets == "auto" and n_classes <= MAX_CLASSES):
        return FocalSets.full(n_classes, empty=False)
    return FocalSets.simple(n_classes, empty=False)


def _log_complement(logs: np.ndarray) -> np.ndarray:
    """Compute log(1 - exp(x)) for x <= 0."""
    with np.errstate(divide="ignore"):
        return np.where(logs > -np.log(2), np.log(-np.expm1(logs)), np.log1p(-np.exp(logs)))


@dataclass(frozen=True)
class WeightsOfEvidence:
    """Total weights for and against each class, both (n, M) and at least 0, and what Dempster's rule makes of them."""

    support: np.ndarray
    opposition: np.ndarray

    @classmethod
    def from_features(cls, features: np.ndarray, slopes: np.ndarray, offsets: np.ndarray) -> WeightsOfEvidence:
        """Add up the weights of (n, J) features with (J, M) slopes and offsets; nothing of size n J M is kept."""
        support = np.zeros((len(features), slopes.shape[1]))
        opposition = np.zeros_like(support)
        for j in range(features.shape[1]):
            weights = features[:, [j]] * slopes[j] + offsets[j]
            support += np.maximum(weights, 0)
            opposition += np.maximum(-weights, 0)
        return cls(support, opposition)

    @cached_property
    def _log_single(self) -> np.ndarray:
        """(n, M) logarithm of the mass that the support of {k} alone brings, before normalisation."""
        others = self.support.sum(axis=1, keepdims=True) - self.support
        return _log_complement(-self.support) - others - self.opposition

    @cached_property
    def _log_agreement(self) -> np.ndarray:
        """(n,) logarithm of 1 - conflict, in closed form."""
        # 1 - prod_k (1 - a_k) is the sum of a_k prod_{l < k} (1 - a_l): no digits are lost
        before = np.zeros_like(self.opposition)
        before[:, 1:] = _log_complement(-self.opposition[:, :-1]).cumsum(axis=1)
        common = before - self.opposition - self.support.sum(axis=1, keepdims=True)
        return logsumexp(np.hstack([common, self._log_single]), axis=1)

    @property
    def conflict(self) -> np.ndarray:
        """(n,) degree of conflict between the features."""
        return np.clip(-np.expm1(self._log_agreement), 0, 1)

    @property
    def contour(self) -> np.ndarray:
        """(n, M) plausibilities of the classes."""
        others = self.support.sum(axis=1, keepdims=True) - self.support
        return np.exp(-self.opposition - others - self._log_agreement[:, None])

    @property
    def probabilities(self) -> np.ndarray:
        """(n, M) plausibilities divided by their sum: the softmax of the scores."""
        logs = self.support - self.opposition
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def masses(self, family: FocalSets) -> np.ndarray:
        """Compute the (n, f) masses on a family: all nonempty sets, or the single classes and the frame.

        The second is an outer approximation: what belongs to other sets goes to the whole frame.
        """
        with np.errstate(under="ignore"):
            out = np.exp(self._log_masses(family))
        if family.is_full or len(family) == 2**family.n_clusters - 1:
            return out / out.sum(axis=1, keepdims=True)
        omega = family.omega_index
        out[:, omega] = 0
        out[:, omega] = np.maximum(1 - out.sum(axis=1), 0)
        return out / out.sum(axis=1, keepdims=True)

    def _log_masses(self, family: FocalSets) -> np.ndarray:
        """Compute the (n, f) logarithms of normalised masses.

        m(A) is proportional to prod_k b_k prod_{k in A} a_k prod_{k not in A} (1 - a_k), b and a being the exponentials
        of minus the support and the opposition; a singleton has the mass of its own support besides.
        """
        inside = family.membership.astype(float)
        against = np.maximum(_log_complement(-self.opposition), _NEVER)
        logs = -self.opposition @ inside.T + against @ (1 - inside).T - self.support.sum(axis=1, keepdims=True)
        for k, column in enumerate(family.singleton_index):
            if column >= 0:
                logs[:, column] = np.logaddexp(logs[:, column], self._log_single[:, k])
        return np.maximum(logs, _NEVER) - self._log_agreement[:, None]
