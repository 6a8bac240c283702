"""Masses whose conflicts with those of references match best (`evclus._model`), as operators of ONNX.

The masses of an object minimise x'Hx / 2 + g'x on the simplex; H is the same for all objects. As in ``simplex_qp.c`` a
set of variables is passive, the others are zero, and one variable at a time enters or leaves. Here that happens to all
objects at once, each with a tableau of its own,

    T = [K_PP^-1, K_PP^-1 K_PN; -K_NP K_PP^-1, K_NN - K_NP K_PP^-1 K_PN],   K = [H, 1; 1', 0],

P the passive variables and the multiplier of the sum: a variable that enters or leaves is one exchange of rank one. A
further column has the point where the passive variables are best, and how much the others promise.
"""

from __future__ import annotations

import numpy as np

from dempster.io.onnx.graph import Value, concatenated, minimum, take, where
from dempster.optimize.projection import linear_image, projection_hessian

__all__ = ["matched_masses"]

_RIDGE = 1e-12  # of the Hessian, which may be singular
_ENTER = 1e-9  # relative size of a promise that lets a variable enter
_FAR = 1e300


def matched_masses(
    squares: Value, masses: np.ndarray, conflict: np.ndarray, gamma: float, weights: np.ndarray | None
) -> Value:
    """(n, f) masses from (n, r) squared distances to references of these masses, in double precision.

    Parameters
    ----------
    squares : Value
        In double precision.
    masses : (r, f) array
    conflict : (f, f) array
    gamma : float
        Conflicts wanted are 1 - exp(-gamma d^2).
    weights : (r,) array or None
        Of the references.
    """
    H = projection_hessian(masses, conflict, weights)
    wanted = 1 - (squares * -gamma).exp()
    linear = wanted @ linear_image(masses, conflict, weights)
    scale = float(np.abs(H).max()) or 1.0
    return simplex_minimisers(H / scale, linear / scale)


def simplex_minimisers(H: np.ndarray, linear: Value) -> Value:
    """(n, f) minimisers of x'Hx / 2 + g'x on the simplex, for every row g."""
    f = len(H)
    H = H + _RIDGE * np.eye(f) * max(float(np.diag(H).max()), np.finfo(float).tiny)
    vertex = (linear + np.diag(H) / 2).argmin()  # the best one, to start from
    corners, changes = _tableaus(H)
    right = concatenated(-linear, linear.columns([0]) * 0 + 1).reshape(0, f + 1, 1)
    tableau = concatenated(take(corners, vertex, np.float64), take(changes, vertex, np.float64) @ right, axis=2)
    point = take(np.eye(f), vertex, np.float64)
    size = linear.abs().max() + np.abs(H).max()

    def step(tableau: Value, point: Value, passive: Value) -> tuple[Value, ...]:
        last = tableau.columns([f + 1], axis=2).reshape(0, f + 1).columns(np.arange(f))
        best = last * passive
        # towards the best point, up to where the first variable becomes zero: it leaves
        way = where(best < 0, point / (point - best), _FAR)
        share = minimum(way.min(), 1.0)
        cut = share < 1
        point = (point + share * (best - point)).relu()
        promise = where(passive > 0.5, -_FAR, last)
        moves = cut | (promise.max() > _ENTER * size)
        which = where(cut.flat(), way.argmin(), promise.argmax())
        passive = where(moves, (passive - take(np.eye(f), which, np.float64)).abs(), passive)
        tableau = where(moves.reshape(0, 1, 1), _exchanged(tableau, which, f + 1), tableau)
        going_on = moves.astype(np.int64).sum(axis=0).reshape() > 0
        return going_on, tableau, point, passive

    _, point, _ = linear.graph.loop(step, (tableau, point, point), 20 * f + 20)
    return point / point.sum()


def _exchanged(tableau: Value, which: Value, m: int) -> Value:
    """(n, m, m + 1) tableaus after a variable of each has entered or left."""
    unit = take(np.eye(m, m + 1), which, np.float64)
    across, down = unit.reshape(0, 1, m + 1), unit.columns(np.arange(m)).reshape(0, m, 1)
    column = tableau @ unit.reshape(0, m + 1, 1)
    row = down.reshape(0, 1, m) @ tableau
    pivot = (column * down).sum()
    return tableau - (column - down) * ((row + across) / pivot)


def _tableaus(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(f, m, m) tableaus where one variable is passive, and (f, m, m) matrices that make the further column of the
    right-hand sides."""
    f = len(H)
    K = np.ones((f + 1, f + 1))
    K[:f, :f], K[f, f] = H, 0
    corners, changes = np.empty((2, f, f + 1, f + 1))
    for k in range(f):
        P, N = np.array([k, f]), np.delete(np.arange(f), k)
        inverse = np.linalg.inv(K[np.ix_(P, P)])
        T = corners[k]
        T[np.ix_(P, P)], T[np.ix_(P, N)] = inverse, inverse @ K[np.ix_(P, N)]
        T[np.ix_(N, P)] = -K[np.ix_(N, P)] @ inverse
        T[np.ix_(N, N)] = K[np.ix_(N, N)] - K[np.ix_(N, P)] @ inverse @ K[np.ix_(P, N)]
        changes[k] = np.eye(f + 1)
        changes[k][:, P] = T[:, P]
    return corners, changes
