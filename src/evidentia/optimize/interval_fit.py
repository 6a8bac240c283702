"""Masses whose pairwise beliefs and plausibilities match given intervals, by exact descent one row at a time.

Minimise over masses M (n, f), rows on the simplex,

    J(M) = sum over pairs i < j of  sum_r (m_i' A_r m_j - t_ijr)^2

for a few symmetric forms A_r (Denoeux, 2020, eq. 7: the form S of "same cluster" with the lower bounds as targets, and
the form C of "different clusters" with one minus the upper bounds). It is the problem of EVCLUS with several forms
instead of one, and is solved in the same way (`evidentia.optimize.conflict_fit`): with the other rows fixed, row i is
a quadratic program on the simplex with

    H = 2 sum_r (A_r M'M A_r - A_r m_i m_i' A_r),   g = -2 sum_r A_r T_r[:, i],   T_r = M' t_r,

and the matrices sum_r A_r M'M A_r and T_r are kept and corrected when a row changes.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.optimize.conflict_fit import (
    _EVERY,
    _EXACT_FIRST,
    _LONGEST,
    _PERFECT,
    _look_ahead,
    _overshoot,
    _value,
)
from evidentia.optimize.simplex_qp import simplex_qp, simplex_qp_workspace

__all__ = ["descend_intervals", "interval_hessian"]


def interval_hessian(masses: np.ndarray, forms: np.ndarray) -> np.ndarray:
    """2 sum_r A_r M'M A_r: the Hessian of an object that is compared with all the given ones."""
    images = masses.astype(float) @ forms  # (q, n, f)
    return 2 * np.einsum("qnf,qng->fg", images, images)


@njit(cache=True, nogil=True, error_model="numpy")
def _images(forms, v, out):
    """out_r = A_r v."""
    f = v.shape[0]
    for r in range(forms.shape[0]):
        for a in range(f):
            s = 0.0
            for b in range(f):
                s += forms[r, a, b] * v[b]
            out[r, a] = s


@njit(cache=True, nogil=True, error_model="numpy")
def _correct(T, r, a, factor, targets, i):
    """T_r[a] += factor t_r[i]; by indices, slices would cost more than the sums they are used for."""
    for j in range(T.shape[2]):
        T[r, a, j] += factor * targets[r, i, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _state(M, targets, forms, K, T):
    """K = sum_r A_r M'M A_r and T_r = M' t_r from scratch; returns the objective less the squares of the targets."""
    n, f = M.shape
    q = forms.shape[0]
    T[:, :, :] = 0
    K[:, :] = 0
    y = np.empty((q, f))
    for i in range(n):
        _images(forms, M[i], y)
        for r in range(q):
            for a in range(f):
                if M[i, a] > 0:
                    _correct(T, r, a, M[i, a], targets, i)
                for b in range(f):
                    K[a, b] += y[r, a] * y[r, b]
    twice = 0.0  # sums over ordered pairs of the squared values; their products with the targets, twice
    for i in range(n):
        _images(forms, M[i], y)
        for a in range(f):
            for b in range(f):
                twice += M[i, a] * K[a, b] * M[i, b]
        for r in range(q):
            own = 0.0
            for a in range(f):
                own += M[i, a] * y[r, a]
                twice -= 2 * y[r, a] * T[r, a, i]
            twice -= own * own
    return 0.5 * twice


@njit(cache=True, nogil=True, error_model="numpy")
def _sweep(M, targets, forms, order, beyond, K, T):
    """Set every row to its minimum, or beyond; returns the change of the objective."""
    f = M.shape[1]
    q = forms.shape[0]
    work, index = simplex_qp_workspace(f)
    H, y, y_new = np.empty((f, f)), np.empty((q, f)), np.empty((q, f))
    g, x, old = np.empty(f), np.empty(f), np.empty(f)
    change = 0.0
    for i in order:
        for a in range(f):
            x[a] = M[i, a]
            old[a] = x[a]
            g[a] = 0.0
        _images(forms, x, y)
        for r in range(q):
            for b in range(f):
                value = -2 * T[r, b, i]
                for a in range(f):
                    g[a] += forms[r, b, a] * value
        for a in range(f):
            for b in range(f):
                s = K[a, b]
                for r in range(q):
                    s -= y[r, a] * y[r, b]
                H[a, b] = 2 * s
        simplex_qp(H, g, x, 10 * f + 10, work, index)
        if beyond:
            _overshoot(old, x)
        moved = False
        for a in range(f):
            if x[a] != old[a]:
                moved = True
                for r in range(q):
                    _correct(T, r, a, x[a] - old[a], targets, i)
                M[i, a] = x[a]
        if moved:
            change += _value(H, g, x) - _value(H, g, old)
            _images(forms, x, y_new)
            for a in range(f):
                for b in range(f):
                    for r in range(q):
                        K[a, b] += y_new[r, a] * y_new[r, b] - y[r, a] * y[r, b]
    return change


def descend_intervals(M, targets, forms, order, max_iter, tol):
    """Sweep over all rows, in place, until the smoothed relative change of the objective is below ``tol``.

    The first sweeps set each row to its minimum; the later ones go beyond it, and every few sweeps the direction they
    took together is followed as long as the objective falls. The objective never rises.

    Parameters
    ----------
    M : (n, f) float64
    targets : (q, n, n) float32, each symmetric with a zero diagonal
    forms : (q, f, f) float64, symmetric
    order : (n,) order of the rows
    max_iter, tol : cap on the sweeps; the descent ends when e_t = (e_{t-1} + relative change) / 2 falls below tol
        (Denoeux, 2020, eq. 18)

    Returns
    -------
    history : objective after every sweep
    converged : bool
    """
    K, T = np.empty((M.shape[1],) * 2), np.empty((len(forms), *M.shape[::-1]))
    squares = 0.5 * sum(float(np.einsum("ij,ij->", t, t, dtype=float)) for t in targets)
    previous = _state(M, targets, forms, K, T) + squares
    history: list[float] = []
    error, step = 1.0, 1.0
    before, trial = M.copy(), M.copy()
    for sweep in range(max_iter):
        objective = previous + _sweep(M, targets, forms, order, sweep >= _EXACT_FIRST, K, T)
        if sweep % _EVERY == _EVERY - 1:
            objective = _state(M, targets, forms, K, T) + squares
            best = None
            while step <= _LONGEST:
                _look_ahead(M, before, step, trial)
                value = _state(trial, targets, forms, K, T) + squares
                if not value < objective:
                    break
                objective, best = value, trial.copy()
                step *= 2
            if best is not None:
                M[:] = best
            step = max(step / 2, 1.0)
            _state(M, targets, forms, K, T)  # from scratch, against drift
            before[:] = M
        history.append(objective)
        error = 0.5 * error + 0.5 * abs(objective - previous) / max(abs(previous), 1e-300)
        previous = objective
        if error < tol or objective <= _PERFECT * squares:
            return np.array(history), True
    return np.array(history), False
