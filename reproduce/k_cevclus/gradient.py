"""EVCLUS and CEVCLUS as first published: the same objective, minimised with a gradient method, for comparison.

Masses are m_i(A) proportional to exp(a_iA), as in Denoeux and Masson (2004). The optimizer is
SciPy's L-BFGS, which is faster than the adaptive steps of that paper.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from dempster import CredalPartition, FocalSets
from dempster.constraints import Constraints

__all__ = ["scaled", "GradientEVCLUS"]


def scaled(D: np.ndarray, d0: float) -> np.ndarray:
    """Return the target conflicts, Eqs. (5) and (6) of the k-CEVCLUS paper: 0.95 at d0."""
    return 1 - np.exp(np.log(0.05) * (D / d0) ** 2)


class GradientEVCLUS:
    """Stress (4) plus penalty (9) of the k-CEVCLUS paper, minimised over all masses at once.

    The weight of the penalty is multiplied by four, as in the published program.
    """

    def __init__(
        self,
        family: FocalSets,
        delta: np.ndarray,
        constraints: Constraints | None = None,
        xi: float = 0.5,
    ):
        self.family = family
        self.delta = delta
        self.total = np.sum(delta**2) / 2
        C = np.array(family.conflict, float)
        size = np.array(family.cardinality)
        empty = np.array(family.cardinality) == 0
        nowhere = np.add.outer(empty, empty) > 0
        # m_i' Z m_j = pl(different) + 1 - pl(same)
        self.C = C
        self.Z = 1 + C - nowhere - np.diag(size == 1)
        self.links = np.zeros_like(delta)
        self.constant = 0.0
        if constraints is not None and len(constraints):
            weight = 4 * xi / (2 * len(constraints))
            for pairs, sign in (
                (constraints.must_link, 1),
                (constraints.cannot_link, -1),
            ):
                self.links[pairs[:, 0], pairs[:, 1]] = self.links[
                    pairs[:, 1], pairs[:, 0]
                ] = sign * weight
            self.constant = 2 * weight * len(constraints.cannot_link)

    def objective(self, masses: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient with respect to the masses."""
        rest = masses @ self.C @ masses.T - self.delta
        np.fill_diagonal(rest, 0)
        linked = self.links @ masses @ self.Z
        value = (
            np.sum(rest**2) / 2 / self.total
            + np.sum(linked * masses) / 2
            + self.constant
        )
        return value, 2 * rest @ masses @ self.C / self.total + linked

    def minimise(self, start: np.ndarray) -> Any:
        """Minimise from the given masses.

        Return partition, value, seconds and the trace of (seconds, value).
        """
        began = perf_counter()
        trace = []

        def value_and_gradient(a: np.ndarray) -> tuple[float, np.ndarray]:
            masses = softmax(a.reshape(start.shape), axis=1)
            value, slope = self.objective(masses)
            trace.append((perf_counter() - began, value))
            return value, (
                masses * (slope - np.sum(slope * masses, axis=1, keepdims=True))
            ).ravel()

        # At zero mass the gradient with respect to a vanishes.
        a = np.log(np.maximum(start, 1e-3))
        limits = {"maxiter": 1000, "maxfun": 1500, "ftol": 1e-7, "gtol": 1e-7}
        best = minimize(
            value_and_gradient, a.ravel(), jac=True, method="L-BFGS-B", options=limits
        )
        masses = softmax(best.x.reshape(start.shape), axis=1)
        return (
            CredalPartition(masses, self.family),
            float(best.fun),
            perf_counter() - began,
            trace,
        )
