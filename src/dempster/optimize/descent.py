"""Iterative minimization and related functions that several methods use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

Model = TypeVar("Model")

# Absolute, because the units of the data add a constant to all values.
_LIKELIHOOD_TOLERANCE = 1e-9


@dataclass
class Run(Generic[Model]):
    """Result of an iterative fit: final parameters, and the objective after every iteration."""

    model: Model
    history: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def objective(self) -> float:
        return self.history[-1]


def find_likeliest(
    log_likelihoods: Sequence[float], n_objects: float = 1.0
) -> np.ndarray:
    """Return the indices of all log-likelihoods that are equal to the largest up to rounding."""
    # It is infinite if each cluster consists of equal objects.
    largest = max(log_likelihoods)
    return np.flatnonzero(
        np.asarray(log_likelihoods) >= largest - _LIKELIHOOD_TOLERANCE * n_objects
    )


def descend(
    step: Callable[[Model], tuple[float, Model]],
    start: Model,
    *,
    max_iter: int,
    tol: float,
    least: float = np.inf,
) -> Run[Model]:
    """Iterate ``step``, which returns the objective and the next parameters, until convergence.

    The relative change of the objective is then at most ``tol``. Give up earlier if the objective
    would remain above ``least``, that of another run, even if it decreased by as much as in the
    last iteration in each of the remaining ones; iterations usually become slower.
    """
    run = Run(start)
    following = start
    for remaining in reversed(range(max_iter)):
        run.model = following
        objective, following = step(run.model)
        run.history.append(float(objective))
        if len(run.history) == 1:
            continue
        change = abs(run.history[-2] - objective)
        if change <= tol * abs(run.history[-2]):
            run.converged = True
            break
        if objective - remaining * change > least:
            break
    return run


def solve_normal_equations(H: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return the solution X of H X = R for a symmetric positive semidefinite H.

    Add a small ridge if H is singular.
    """
    try:
        solution = np.linalg.solve(H, R)
        if np.isfinite(solution).all():
            return solution
    except np.linalg.LinAlgError:
        pass
    # H is singular, for example if a cluster has no mass.
    ridge = 1e-10 * (np.trace(H) / len(H) + np.finfo(float).tiny)
    return np.linalg.solve(H + ridge * np.eye(len(H)), R)
