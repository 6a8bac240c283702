"""Symmetric linear systems that may be singular."""

from __future__ import annotations

import numpy as np

__all__ = ["solve_normal_equations"]


def solve_normal_equations(H: np.ndarray, R: np.ndarray) -> np.ndarray:
    """X with H X = R, for H symmetric and nonnegative definite."""
    try:
        solution = np.linalg.solve(H, R)
        if np.isfinite(solution).all():
            return solution
    except np.linalg.LinAlgError:
        pass
    # a cluster without mass leaves H singular
    return np.linalg.solve(H + 1e-10 * (np.trace(H) / len(H) + np.finfo(float).tiny) * np.eye(len(H)), R)
