"""Full metrics (x - x')' A (x - x'), found in coordinates where the sum over the must-links is the trace.

With S the scatter of the must-links (plus a small ridge) and B = S^1/2 A S^1/2, the sum of the squared distances of the
must-links is tr(B): the matrices allowed are positive semidefinite of trace one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from dempster._errors import InvalidInputError
from dempster._native import interruptible
from dempster._validation import mean_of_rows
from dempster.metric._base import Descent, signed_rows
from dempster.metric._supervision import Pairs

__all__ = ["Problem", "Whitened", "whitened", "ascend", "normalised", "projector"]

Problem = Callable[[np.ndarray], tuple[float, np.ndarray]]  # B -> value, gradient


class Whitened(NamedTuple):
    """Cannot-link differences in coordinates where the must-links have unit scatter, and the way back.

    ``basis``: where there are more attributes than objects, (r, d) orthonormal directions that hold all differences.
    The best metric is zero beside them, and coordinates are taken along them; None if they are the attributes.
    """

    cannot: np.ndarray
    back: np.ndarray
    basis: np.ndarray | None

    def metric(self, B: np.ndarray) -> np.ndarray:
        """A = S^-1/2 B S^-1/2."""
        A = self._along_basis(B)
        if self.basis is not None:
            A = self.basis.T @ A @ self.basis
        return (A + A.T) / 2

    def root(self, B: np.ndarray, q: int) -> np.ndarray:
        """(q, d) map L of the leading features, L'L = A if q = d."""
        if self.basis is None:
            return _metric_root(self.metric(B), q)
        r, d = self.basis.shape
        leading = _metric_root(self._along_basis(B), min(q, r)) @ self.basis
        return np.concatenate([signed_rows(leading), np.zeros((q - len(leading), d))])

    def _along_basis(self, B: np.ndarray) -> np.ndarray:
        A = self.back @ B @ self.back
        return (A + A.T) / 2


def whitened(learner: str, pairs: Pairs, data: np.ndarray, ridge: float, *, diagonal: bool = False) -> Whitened:
    """Whiten by the must-links (attribute by attribute, if ``diagonal``); the ridge is in units of the mean eigenvalue
    of their scatter."""
    must, cannot = pairs.differences(data, 1), pairs.differences(data, -1)
    for differences, words in ((must, "must-link"), (cannot, "cannot-link")):
        if not len(differences):
            raise InvalidInputError(
                f"{learner} needs pairs of both kinds, but there is no {words} in y or constraints, or among the "
                "max_pairs of them that were drawn"
            )
        if not differences.any():
            raise InvalidInputError(
                f"{learner} needs a {words} between objects that differ, but all join identical ones"
            )
    basis = None if diagonal else _basis_of_differences(data[np.unique(pairs.ends)])
    if basis is not None:
        must, cannot = must @ basis.T, cannot @ basis.T
    scatter = must.T @ must
    if diagonal:
        scatter = np.diag(np.diag(scatter))
    scatter += ridge * np.trace(scatter) / data.shape[1] * np.eye(len(scatter))
    eigenvalues, vectors = interruptible(np.linalg.eigh, scatter)
    if eigenvalues[0] <= 1e-14 * eigenvalues[-1]:
        raise InvalidInputError(
            "regularization must be larger here: the scatter of the must-links is singular "
            f"({len(must)} of them, {data.shape[1]} attributes), got {ridge:g}"
        )
    back = (vectors / np.sqrt(eigenvalues)) @ vectors.T
    return Whitened(cannot @ back, back, basis)


def _basis_of_differences(objects: np.ndarray) -> np.ndarray | None:
    """(r, d) orthonormal directions that hold all differences of the objects, if there are fewer than attributes."""
    if len(objects) > objects.shape[1]:
        return None
    return interruptible(np.linalg.svd, objects - mean_of_rows(objects), False)[2]


def _metric_root(A: np.ndarray, q: int) -> np.ndarray:
    """(q, d) map L of the leading features, L'L = A if q = d."""
    eigenvalues, vectors = np.linalg.eigh(A)
    leading = slice(-1, -q - 1, -1)
    return signed_rows(np.sqrt(np.maximum(eigenvalues[leading], 0))[:, None] * vectors[:, leading].T)


def projector(differences: np.ndarray) -> np.ndarray:
    """The projection on the span of difference vectors: a start from which the ascent never leaves that span.

    Weight outside it would gain nothing, and disturb new objects (if an attribute was constant, say).
    """
    eigenvalues, vectors = np.linalg.eigh(differences.T @ differences)
    spanned = vectors[:, eigenvalues > 1e-12 * eigenvalues[-1]]
    return spanned @ spanned.T


def ascend(problem: Problem, start: np.ndarray, max_iter: int, tol: float) -> Descent:
    """Maximise a concave function of B, by L-BFGS on a factor of it: B = F F' / tr(F F'), or b = f^2 / sum(f^2).

    The unknowns are the factor, a square matrix (or a vector, for a diagonal B, written as a vector too). What can
    still be gained is at most the largest eigenvalue (entry) of the gradient minus its inner product with B, as B has
    trace one: the ascent ends when that is at most ``tol`` times the value, so it ends at a global maximum or says
    that it did not.
    """
    ascent = _Ascent(problem, start)
    history, converged = [ascent.at(start)[0]], False
    unit = abs(history[0]) or 1.0

    def negative(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope, _ = ascent.at(flat.reshape(start.shape))
        return -value / unit, -slope.reshape(-1) / unit

    def watch(intermediate_result: OptimizeResult) -> None:
        nonlocal converged
        value, _, gap = ascent.at(intermediate_result.x.reshape(start.shape))
        history.append(value)
        if gap() <= float(tol) * abs(value):
            converged = True
            raise StopIteration

    result = minimize(
        negative,
        start.reshape(-1),
        jac=True,
        method="L-BFGS-B",
        callback=watch,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20, "ftol": 0.0, "gtol": 0.0},
    )
    return Descent(result.x.reshape(start.shape), history, converged)


def normalised(factor: np.ndarray) -> np.ndarray:
    """The matrix (or vector) of trace one that a factor stands for."""
    return (factor**2 if factor.ndim == 1 else factor @ factor.T) / np.vdot(factor, factor)


class _Ascent:
    """A problem as a function of the factor; remembers the last point, which the minimiser asks for twice."""

    def __init__(self, problem: Problem, start: np.ndarray):
        self.problem = problem
        self.last = np.full_like(start, np.nan)
        self.found: tuple[float, np.ndarray, Callable[[], float]]

    def at(self, factor: np.ndarray) -> tuple[float, np.ndarray, Callable[[], float]]:
        """Value, slope in the factor, and a function for the bound on what can be gained."""
        if not np.array_equal(factor, self.last):
            B = normalised(factor)
            value, gradient = self.problem(B)
            inner = np.vdot(gradient, B)
            product = gradient * factor if factor.ndim == 1 else gradient @ factor
            slope = 2 * (product - inner * factor) / np.vdot(factor, factor)
            self.last, self.found = factor.copy(), (value, slope, lambda: _largest(gradient) - inner)
        return self.found


def _largest(gradient: np.ndarray) -> float:
    return float(gradient.max() if gradient.ndim == 1 else np.linalg.eigvalsh(gradient)[-1])
