"""Masses whose pairwise beliefs and plausibilities match given intervals, by exact descent one row at a time.

Minimise over masses M (n, f), rows on the simplex,

    J(M) = sum over pairs i < j of  sum_r (m_i' A_r m_j - t_ijr)^2

for a few symmetric forms A_r (Denoeux, 2020, eq. 7: the form S of "same cluster" with the lower bounds as targets, and
the form C of "different clusters" with one minus the upper bounds). It is the problem of EVCLUS with several forms
instead of one, and is solved in the same way (`dempster.optimize.row_descent`).
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel
from dempster.optimize.row_descent import descend_rows

__all__ = ["descend_intervals", "interval_hessian"]

_descend_intervals = kernel("""descend_intervals(
    M: float64[n, f] out, targets: float32[q, n, n], forms: float64[q, f, f], order: int64[visits] below n,
    squares: float, max_iter: int, tol: float, history: float64[max_iter] out, ending: int64[2] out)""")


def interval_hessian(masses: np.ndarray, forms: np.ndarray) -> np.ndarray:
    """2 sum_r A_r M'M A_r: the Hessian of an object that is compared with all the given ones."""
    images = masses.astype(float) @ forms  # (q, n, f)
    return 2 * np.einsum("qnf,qng->fg", images, images)


def descend_intervals(
    M: np.ndarray, targets: np.ndarray, forms: np.ndarray, order: np.ndarray, max_iter: int, tol: float
) -> tuple[np.ndarray, bool]:
    """Sweep over all rows, in place, until the smoothed relative change of the objective is below ``tol``.

    Parameters
    ----------
    M : (n, f) float64
    targets : (q, n, n) float32, each symmetric with a zero diagonal
    forms : (q, f, f) float64, symmetric
    order : (k,) int64, rows to visit in a sweep
    max_iter, tol : cap on the sweeps; the descent ends when e_t = (e_{t-1} + relative change) / 2 falls below tol
        (Denoeux, 2020, eq. 18)

    Returns
    -------
    history : objective after every sweep
    converged : bool
    """
    squares = 0.5 * sum(float(np.einsum("ij,ij->", t, t, dtype=float)) for t in targets)
    return descend_rows(_descend_intervals, M, targets, forms, order, squares, max_iter, tol, max_iter=max_iter)
