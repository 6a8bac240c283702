"""Descents that several methods share: a model, the step that lowers its objective, the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

Model = TypeVar("Model")

_SAME_LIKELIHOOD = (
    1e-9  # difference for each object that counts as none: units of the data add to all likelihoods alike
)


@dataclass
class Run(Generic[Model]):
    """One descent: the model it ended with and the objective after every iteration."""

    model: Model
    history: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def objective(self) -> float:
        return self.history[-1]


def as_likely(log_likelihoods: Sequence[float], n_objects: float = 1.0) -> np.ndarray:
    """Which log-likelihoods, of so many objects, are the largest, but for rounding, which must not decide between
    equals."""
    most = max(log_likelihoods)  # infinite where every cluster is a place
    return np.flatnonzero(np.asarray(log_likelihoods) >= most - _SAME_LIKELIHOOD * n_objects)


def descend(step: Callable[[Model], tuple[float, Model]], start: Model, *, max_iter: int, tol: float) -> Run[Model]:
    """Iterate until the objective changes by no more than ``tol`` times itself.

    ``step`` gives the objective of a model and the next model; the run ends with the model whose objective is the
    last of the history.
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
    """X with H X = R, for H symmetric and nonnegative definite."""
    try:
        solution = np.linalg.solve(H, R)
        if np.isfinite(solution).all():
            return solution
    except np.linalg.LinAlgError:
        pass
    # a cluster without mass leaves H singular
    return np.linalg.solve(H + 1e-10 * (np.trace(H) / len(H) + np.finfo(float).tiny) * np.eye(len(H)), R)
