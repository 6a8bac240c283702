"""L-BFGS for smooth functions of a few hundred variables.

The algorithm is that of SciPy, but has a tenth of its overhead, which dominates the cost of small
problems. The implementation does not call BLAS, because the threads of BLAS slow down operations on
short vectors.
"""

from __future__ import annotations

import numpy as np

from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster._types import Objective
from dempster.optimize.descent import Run

_EVALUATE = 0
_CONVERGED = 1
_ITERATIONS = 3  # Index of the number of iterations in _counts.
_SAVED = (
    "_x",
    "_vectors",
    "_steps",
    "_changes",
    "_line",
    "_counts",
    "_values",
    "_status",
)

_advance = kernel("""lbfgs_advance(
    x: float64[n] out, value: float, gradient: float64[n], vectors: float64[4, n] out,
    steps: float64[memory, n] out, changes: float64[memory, n] out, line: float64[10] out,
    counts: int64[6] out, max_iter: int, tol: float, gradient_tol: float,
    history: float64[max_iter + 1] out) -> int""")


def minimize_lbfgs(
    evaluate: Objective,
    start: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    gradient_tol: float = 0.0,
) -> Run[np.ndarray]:
    """Minimize a smooth function by `LBFGS`; the run has the value after each iteration."""
    search = LBFGS(start, max_iter=max_iter, tol=tol, gradient_tol=gradient_tol)
    while search.iterate(evaluate):
        pass
    return Run(search.point, search.history, search.converged)


class LBFGS:
    """L-BFGS solver that runs one iteration at a time, and can be saved and restored exactly.

    The solver stops after ``max_iter`` iterations (at least 1), if an iteration decreases the value
    f by at most ``tol * max(|f|, 1)``, or if all derivatives are at most ``gradient_tol`` in
    absolute value. ``memory`` is the number of previous steps that are used to estimate the
    curvature. ``point`` and ``value`` are the results of the last iteration. ``history`` contains
    the value at the initial point and after each iteration.

    References
    ----------
    J. Nocedal (1980). Updating quasi-Newton matrices with limited storage. Mathematics of
    Computation 35. J. Nocedal and S. J. Wright (2006). Numerical Optimization. Springer.
    """

    def __init__(
        self,
        start: np.ndarray,
        *,
        max_iter: int,
        tol: float,
        gradient_tol: float = 0.0,
        memory: int = 20,
    ):
        n = len(start)
        self._ends = max_iter, float(tol), float(gradient_tol)
        self._x = np.array(start, np.float64)  # Next point to evaluate.
        self._vectors = np.zeros((4, n))
        self._steps = np.zeros((memory, n))
        self._changes = np.zeros((memory, n))
        self._line = np.zeros(10)
        self._counts = np.zeros(6, np.int64)
        self._values = np.zeros(max_iter + 1)
        self._status = np.array(_EVALUATE)

    def iterate(self, evaluate: Objective) -> bool:
        """Run one iteration; return whether another iteration is required."""
        done = self._counts[_ITERATIONS]
        while not self.ended and self._counts[_ITERATIONS] == done:
            value, gradient = evaluate(self._x)
            self._status[...] = _advance(
                self._x,
                float(value),
                gradient,
                self._vectors,
                self._steps,
                self._changes,
                self._line,
                self._counts,
                *self._ends,
                self._values,
            )
        return not self.ended

    @property
    def point(self) -> np.ndarray:
        return self._vectors[0].copy()

    @property
    def value(self) -> float:
        return float(self._values[self._counts[_ITERATIONS]])

    @property
    def history(self) -> list[float]:
        return self._values[: self._counts[_ITERATIONS] + 1].tolist()

    @property
    def ended(self) -> bool:
        return int(self._status) != _EVALUATE

    @property
    def converged(self) -> bool:
        return int(self._status) == _CONVERGED

    def get_state(self) -> dict[str, np.ndarray]:
        """Return copies of all arrays of the solver, for `restore`."""
        return {name: getattr(self, name).copy() for name in _SAVED}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore the arrays that `get_state` returned. The settings must be the same."""
        # The kernel uses the numbers of iterations and of the newest and stored steps as indices.
        counts = state["_counts"][_ITERATIONS:]
        memory = len(self._steps)
        if not (
            (counts >= 0) & (counts < [len(self._values), memory, memory + 1])
        ).all():
            raise InvalidInputError("the counts of the solver are out of range")
        for name in _SAVED:
            getattr(self, name)[...] = state[name]
