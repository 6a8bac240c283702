"""Prototypes and objects of which attributes are missing: costs, masses, and sums over the values that are there.

The objective with missing values is that of Masson and Denoeux (2008) where an attribute d that object i lacks adds to
the cost of every set A the same, its variance s_d^2 within clusters (`evidentia.dissimilarity.partial`):

    sum_i sum_{A nonempty} m_i(A)^beta (|A|^alpha sum_{d present} (x_id - v_Ad)^2 + sum_{d missing} s_d^2)
    + delta^2 sum_i m_i(empty)^beta.

What is not known speaks for no set, be it small or large: of an object without any value all sets are equally
possible. The s_d do not change, so both steps are exact: masses as ever, and prototypes attribute by attribute, over the
objects that have it. The objective never rises.
"""

from __future__ import annotations

import numpy as np

from evidentia.cluster._mass_step import MassStep, masses_from_costs
from evidentia.dissimilarity.partial import point_squares

__all__ = ["partial_costs", "partial_sums", "sums_of_present"]


def partial_costs(X: np.ndarray, barycentres: np.ndarray, factor: np.ndarray, within: np.ndarray) -> np.ndarray:
    """(n, g) costs of the nonempty sets before their penalties |A|^alpha, the ``factor``, which missing attributes do
    not have."""
    lacking = np.isnan(X) @ within
    return point_squares(X, barycentres.T) + lacking[:, None] / factor


def partial_sums(
    X: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    barycentres: np.ndarray,
    step: MassStep,
    within: np.ndarray,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """As `_kernels.accumulate`, for rows start..stop with missing cells: the sums of m^beta are (p, g), over the objects
    that have an attribute."""
    rows = X[start:stop]
    arguments = step.kernel_arguments()
    costs = np.ascontiguousarray(partial_costs(rows, barycentres, arguments[0], within))
    given = weights[start:stop] if len(weights) else weights
    masses, empty = np.empty_like(costs), np.empty(len(costs))
    objective = masses_from_costs(costs, given, *arguments, masses, empty)
    masses **= step.beta
    if len(given):
        masses *= given[:, None]
    return objective, *sums_of_present(rows, masses)


def sums_of_present(X: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(p, g) sums of powers of masses over the objects that have an attribute, and of these times its values; there are
    no second moments."""
    present = ~np.isnan(X)
    first = np.where(present, X, 0).astype(float).T @ powers
    return present.T.astype(float) @ powers, first, np.empty((0, 0, powers.shape[1]))
