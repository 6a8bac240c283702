"""L-BFGS for smooth functions of a few hundred variables.

The algorithm is that of SciPy, but has a tenth of its overhead, which dominates the cost of small
problems. The implementation does not call BLAS, because the threads of BLAS slow down operations on
short vectors.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel
from dempster._types import Objective
from dempster.optimize.descent import Run

_EVALUATE = 0
_CONVERGED = 1
_ITERATIONS = 3  # Index of the number of iterations in the counts.
_MEMORY = 20  # number of previous steps that are used to estimate the curvature

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
    """Minimize a smooth function; the run has the value at the start and after each iteration.

    The solver stops after ``max_iter`` iterations (at least 1), if an iteration decreases the value
    f by at most ``tol * max(|f|, 1)``, or if all derivatives are at most ``gradient_tol`` in
    absolute value.

    References
    ----------
    J. Nocedal (1980). Updating quasi-Newton matrices with limited storage. Mathematics of
    Computation 35. J. Nocedal and S. J. Wright (2006). Numerical Optimization. Springer.
    """
    n = len(start)
    x = np.array(start, np.float64)  # next point to evaluate
    vectors = np.zeros((4, n))  # the first one is the result of the last iteration
    counts = np.zeros(6, np.int64)
    history = np.zeros(max_iter + 1)
    state = (
        vectors,
        np.zeros((_MEMORY, n)),
        np.zeros((_MEMORY, n)),
        np.zeros(10),
        counts,
    )
    ends = max_iter, float(tol), float(gradient_tol)
    status = _EVALUATE
    while status == _EVALUATE:
        value, gradient = evaluate(x)
        status = _advance(x, float(value), gradient, *state, *ends, history)
    values = history[: counts[_ITERATIONS] + 1].tolist()
    return Run(vectors[0], values, status == _CONVERGED)
