"""Descents that several methods share: a model, the step that lowers its objective, the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Run", "descend"]

Model = TypeVar("Model")


@dataclass
class Run(Generic[Model]):
    """One descent: the model it ended with and the objective after every iteration."""

    model: Model
    history: list[float] = field(default_factory=list)
    converged: bool = False

    @property
    def objective(self) -> float:
        return self.history[-1]


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
