"""The evidential neural network, compiled (``neural_network.c``, which states the model): masses, loss and gradient."""

from __future__ import annotations

import numpy as np

from dempster._native import interruptible, kernel
from dempster.optimize.descent import Run

__all__ = ["write_masses", "cost_and_gradient", "minimum"]

_masses = kernel("""network_masses(
    X: float64[n, p], start: int up to n, stop: int up to n, prototypes: float64[r, p], gamma: float64[r],
    alpha: float64[r], u: float64[r, n_classes], out: float64[n, n_classes + 1] out)""")
_cost = kernel("""network_cost(
    X: float64[n, p], lower: float64[n, n_classes], upper: float64[n, n_classes], mixing: float, mu: float,
    parameters: float64[q], gradient: float64[q] out) -> float""")
_minimum = kernel("""network_minimum(
    X: float64[n, p], lower: float64[n, n_classes], upper: float64[n, n_classes], mixing: float, mu: float,
    parameters: float64[q] out, held: bool[q], memory: int, max_iter: int, tol: float, gradient_tol: float,
    history: float64[max_iter + 1] out, outcome: int64[2] out)""")

_MEMORY = 20  # of L-BFGS


def write_masses(
    X: np.ndarray,
    start: int,
    stop: int,
    prototypes: np.ndarray,
    gamma: np.ndarray,
    alpha: np.ndarray,
    u: np.ndarray,
    out: np.ndarray,
) -> None:
    """Masses of objects start..stop: the classes, then the frame."""
    _masses(X, start, stop, prototypes, gamma, alpha, u, out)


def cost_and_gradient(
    X: np.ndarray, lower: np.ndarray, upper: np.ndarray, mixing: float, mu: float, parameters: np.ndarray
) -> tuple[float, np.ndarray]:
    """The cost of parameters (prototypes, gamma, beta and xi in one vector) and its gradient.

    Half the mean over objects of the squares of the outputs' excess over their bounds, plus mu times the sum of the
    reliabilities. The outputs are o_k = m({k}) + mixing m(frame); the bounds are equal where the class is known.
    """
    gradient = np.empty_like(parameters)
    return _cost(X, lower, upper, mixing, mu, parameters, gradient), gradient


def minimum(
    X: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    mixing: float,
    mu: float,
    start: np.ndarray,
    held: np.ndarray,
    max_iter: int,
    tol: float,
) -> Run[np.ndarray]:
    """The same as `minimize_lbfgs` of `cost_and_gradient` in one compiled loop, which leaves the threads to others."""
    parameters, history, outcome = start.copy(), np.empty(max_iter + 1), np.empty(2, np.int64)
    interruptible(
        _minimum, X, lower, upper, mixing, mu, parameters, held, _MEMORY, max_iter, tol, tol / 10, history, outcome
    )
    n_iter, converged = outcome.tolist()
    return Run(parameters, (history[1 : n_iter + 1] if n_iter else history[:1]).tolist(), bool(converged))
