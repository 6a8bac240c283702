"""Minimisation of smooth functions of some hundred variables: L-BFGS.

It does what SciPy's does, with a tenth of its overhead, which is most of what small problems cost; and it
calls no BLAS, whose threads make vectors of this length slower, not faster.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from evidentia._native import kernel
from evidentia.optimize.descent import Run

__all__ = ["minimize_lbfgs"]

_EVALUATE, _CONVERGED = 0, 1

_advance = kernel("""lbfgs_advance(
    x: float64[n] out, value: float, gradient: float64[n], vectors: float64[4, n] out,
    steps: float64[memory, n] out, changes: float64[memory, n] out, line: float64[10] out, counts: int64[6] out,
    max_iter: int, tol: float, gradient_tol: float, history: float64[max_iter + 1] out) -> int""")


def minimize_lbfgs(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    gradient_tol: float = 0.0,
    memory: int = 20,
) -> Run[np.ndarray]:
    """Minimise a smooth function.

    Parameters
    ----------
    evaluate : function
        Gives the value and the gradient at a point (a one-dimensional array, which is overwritten afterwards).
    start : array of shape (q,)
    max_iter : int
        At least 1.
    tol : float
        The iterations end when one lowers the value f by no more than ``tol * max(|f|, 1)``,
    gradient_tol : float
        or when no derivative is larger than this, or when rounding allows no further decrease.
    memory : int
        Pairs of steps and changes of the gradient from which the curvature follows.

    Returns
    -------
    Run
        Its history holds the value at the start and after each iteration.

    References
    ----------
    J. Nocedal (1980). Updating quasi-Newton matrices with limited storage. Mathematics of Computation 35.
    J. Nocedal and S. J. Wright (2006). Numerical Optimization. Springer.

    Examples
    --------
    >>> import numpy as np
    >>> def bowl(x):
    ...     return float(((x - [1, -2]) ** 2).sum()), 2 * (x - [1, -2])
    >>> minimize_lbfgs(bowl, np.zeros(2), max_iter=50, tol=0).model.round(6).tolist()
    [1.0, -2.0]
    """
    x = np.array(start, dtype=np.float64)
    n = len(x)
    vectors, pairs = np.empty((4, n)), (np.empty((memory, n)), np.empty((memory, n)))
    state = vectors, *pairs, np.empty(10), np.zeros(6, np.int64)
    counts, history, ends = state[-1], np.empty(max_iter + 1), (float(tol), float(gradient_tol))
    status = _EVALUATE
    while status == _EVALUATE:
        value, gradient = evaluate(x)
        status = _advance(x, float(value), gradient, *state, max_iter, *ends, history)
    return Run(vectors[0].copy(), history[: counts[3] + 1].tolist(), status == _CONVERGED)
