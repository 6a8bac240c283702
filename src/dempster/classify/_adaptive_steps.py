"""Gradient descent with a step of its own for each unknown, the method of the papers on evidential classifiers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dempster.optimize.descent import Run

__all__ = ["adaptive_steps"]

_KEPT = 0.9  # share of the running gain that an iteration keeps
_ROUNDING = 4 * np.finfo(float).eps  # a rise that is none: at the bottom the value only trembles


def adaptive_steps(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    *,
    max_iter: int = 300,
    tol: float = 1e-6,
    first_step: float = 0.1,
    step_range: tuple[float, float] = (1e-4, 1e6),
) -> Run[np.ndarray]:
    """Minimise a function by the method of Silva and Almeida (1990).

    A step grows by a fifth while its derivative keeps its sign and shrinks by a fifth when it changes. If the value
    rises, all steps are halved and taken again from the last accepted point, which is also what is returned.

    Parameters
    ----------
    evaluate : function
        Gives the value and the gradient at a point (a one-dimensional array).
    start : array of shape (q,)
    max_iter : int
        Evaluations after the first.
    tol : float
        The running mean of the gains (absolute, first 1) that ends the descent.
    first_step : float
    step_range : pair of float
        Between which the steps are kept.

    Returns
    -------
    Run
        Its history holds the value accepted so far after each evaluation, the start included.
    """
    point = np.array(start, dtype=float)
    value, gradient = evaluate(point)
    run = Run(point, [float(value)])
    steps = np.clip(np.full_like(point, 1.2 * first_step), *step_range)
    gain = 1.0
    for _ in range(max_iter):
        trial = run.model - steps * gradient
        value, slope = evaluate(trial)
        last = run.history[-1]
        if not value <= last + _ROUNDING * abs(last):
            steps *= 0.5
            run.history.append(last)
            continue
        gain = _KEPT * gain + (1 - _KEPT) * abs(last - value)
        steps = np.clip(np.where(slope * gradient >= 0, 1.2, 0.8) * steps, *step_range)
        run.model, gradient = trial, slope
        run.history.append(min(float(value), last))
        if gain < tol:
            run.converged = True
            break
    return run
