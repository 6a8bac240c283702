"""Prototypes and objects of which attributes are missing: costs, masses, and sums over the values that are there.

The objective with missing values is that of Masson and Denoeux (2008) where an attribute d that object i lacks adds to
the cost of every set A the same, its variance s_d^2 within clusters (`dempster.dissimilarity.partial`):

    sum_i sum_{A nonempty} m_i(A)^beta (|A|^alpha sum_{d present} (x_id - v_Ad)^2 + sum_{d missing} s_d^2)
    + delta^2 sum_i m_i(empty)^beta.

What is not known speaks for no set, be it small or large: of an object without any value all sets are equally
possible. The s_d do not change, so both steps are exact: masses as ever, and prototypes attribute by attribute, over
the objects that have it. The objective never rises.
"""

from __future__ import annotations

import numpy as np

from dempster.cluster._mass_step import MassStep, masses_from_costs

__all__ = ["missing_costs", "sums_of_masses", "sums_of_present"]


def missing_costs(X: np.ndarray, factor: np.ndarray, within: np.ndarray) -> np.ndarray:
    """(n, g) what missing attributes add to the costs of the nonempty sets before the penalties |A|^alpha, the
    ``factor``, which they do not have."""
    return (np.isnan(X) @ within)[:, None] / factor


def sums_of_masses(
    X: np.ndarray, costs: np.ndarray, weights: np.ndarray, step: MassStep
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """As `_kernels.accumulate`, for rows with missing cells and the (n, g) costs of the nonempty sets: the sums of
    m^beta are (p, g), over the objects that have an attribute."""
    masses, empty = np.empty_like(costs), np.empty(len(costs))
    factor, size, delta2, beta, zero = step.kernel_arguments()
    objective = masses_from_costs(costs, weights, factor, size, delta2, beta, zero, masses, empty)
    masses **= step.beta
    if len(weights):
        masses *= weights[:, None]
    return objective, *sums_of_present(X, masses)


def sums_of_present(X: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(p, g) sums of powers of masses over the objects that have an attribute, and of these times its values; there are
    no second moments."""
    present = ~np.isnan(X)
    first = np.where(present, X, 0).astype(float).T @ powers
    return present.T.astype(float) @ powers, first, np.empty((0, 0, powers.shape[1]))
