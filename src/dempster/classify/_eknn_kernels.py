"""The evidential K nearest neighbour rule on arrays: masses from neighbours, the cost of gamma and its gradient."""

from __future__ import annotations

import numpy as np

__all__ = ["neighbour_masses", "cost_and_gradient"]


def _supports(squared: np.ndarray, classes: np.ndarray, gamma: np.ndarray, alpha: float) -> np.ndarray:
    """(n, K) mass that each neighbour gives to its class: s = alpha exp(-gamma_k^2 d^2) (Zouhal and Denoeux, 1998)."""
    s = gamma[classes]
    s *= s
    s *= squared
    np.negative(s, out=s)
    np.exp(s, out=s)
    s *= alpha
    return s


def _weights_of_classes(supports: np.ndarray, classes: np.ndarray, n_classes: int) -> np.ndarray:
    """(n, M) weights of evidence: minus the logarithm of the product of 1 - s over the neighbours of each class."""
    n = len(supports)
    cells = classes + n_classes * np.arange(n)[:, None]
    weights = np.bincount(cells.ravel(), weights=-np.log1p(-supports).ravel(), minlength=n * n_classes)
    return weights.reshape(n, n_classes)


def _combined(weights: np.ndarray) -> np.ndarray:
    """(n, M + 1) Dempster combination of simple mass functions {k}^w_k, the whole frame last.

    m_k is proportional to exp(w_k) - 1 and m(frame) to 1 (Denoeux, 1995); all is divided by exp(largest weight), so
    that many close neighbours do not overflow.
    """
    top = weights.max(axis=1, keepdims=True)
    out = np.empty((len(weights), weights.shape[1] + 1))
    out[:, :-1] = -np.expm1(-weights) * np.exp(weights - top)
    out[:, -1:] = np.exp(-top)
    out /= out.sum(axis=1, keepdims=True)
    return out


def neighbour_masses(
    squared: np.ndarray, classes: np.ndarray, gamma: np.ndarray, alpha: float, n_classes: int
) -> np.ndarray:
    """(n, M + 1) masses of objects from the (n, K) squared distances and classes of their neighbours, frame last."""
    return _combined(_weights_of_classes(_supports(squared, classes, gamma, alpha), classes, n_classes))


def cost_and_gradient(
    gamma: np.ndarray, squared: np.ndarray, classes: np.ndarray, targets: np.ndarray, alpha: float, mixing: float
) -> tuple[float, np.ndarray]:
    """Half the mean squared difference of outputs o_k = m_k + mixing m(frame) and targets, and its gradient.

    Zouhal and Denoeux (1998), equation 9. With o_k = (r_k + mixing) / Z, r_k = exp(w_k) - 1 and Z = 1 + sum of r, the
    derivative by the support s of a neighbour of class k is (q_k - sum of q o) pl_k / (1 - s), q = (o - t) / n.
    """
    n, n_classes = targets.shape
    supports = _supports(squared, classes, gamma, alpha)
    masses = _combined(_weights_of_classes(supports, classes, n_classes))
    outputs = masses[:, :-1] + mixing * masses[:, -1:]
    errors = outputs - targets
    per_class = (errors - (errors * outputs).sum(axis=1, keepdims=True)) * (masses[:, :-1] + masses[:, -1:])
    per_neighbour = np.take_along_axis(per_class, classes, axis=1) * squared * supports / (1 - supports)
    slopes = np.bincount(classes.ravel(), weights=per_neighbour.ravel(), minlength=n_classes)
    return 0.5 * float((errors * errors).sum()) / n, -2.0 * gamma * slopes / n
