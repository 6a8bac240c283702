"""Iterative descent that several methods share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

Model = TypeVar("Model")

_LIKELIHOOD_TOLERANCE = 1e-9  # This is absolute, because the units of the data shift all values equally.


@dataclass
class Run(Generic[Model]):
    """Result of a descent: the final model and the objective after every iteration."""

    model: Model
    history: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def objective(self) -> float:
        return self.history[-1]


def find_likeliest(log_likelihoods: Sequence[float], n_objects: float = 1.0) -> np.ndarray:
    """Return the indices of the largest log-likelihoods; values that differ by rounding errors are considered equal."""
    largest = max(log_likelihoods)  # The value is infinite if each cluster consists of equal objects.
    return np.flatnonzero(np.asarray(log_likelihoods) >= largest - _LIKELIHOOD_TOLERANCE * n_objects)


def descend(step: Callable[[Model], tuple[float, Model]], start: Model, *, max_iter: int, tol: float) -> Run[Model]:
    """Iterate until the relative change of the objective is at most ``tol``.

    ``step`` returns the objective of a model and the next model. The last value of the history is the objective of the
    final model.
    """
    run = Run(start)
    following = start
    for _ in range(max_iter):
        run.model = following
        objective, following = step(run.model)
        run.history.append(float(objective))
        if len(run.history) > 1 and abs(run.history[-2] - objective) <= tol * abs(run.history[-2]):
            run.converged = True
            break
    return run


def solve_normal_equations(H: np.ndarray, R: np.ndarray) -> np.ndarray:
    """Return the solution X of H X = R for a symmetric positive semidefinite H."""
    try:
        solution = np.linalg.solve(H, R)
        if np.isfinite(solution).all():
            return solution
    except np.linalg.LinAlgError:
        pass
    # H is singular if a cluster has no mass.
    return np.linalg.solve(H + 1e-10 * (np.trace(H) / len(H) + np.finfo(float).tiny) * np.eye(len(H)), R)
