"""The loss of pairwise constrained component analysis, and its descent; shared by the linear and kernel versions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, mean_of_rows
from dempster.metric._base import Descent, signed_rows
from dempster.metric._supervision import Pairs

__all__ = ["PairLoss", "starting_maps", "given_map", "best_descent", "warn_one_kind"]

_LEAST_ITERATIONS = 10  # the first steps away from a start near zero are short
_SAME = 1e-13  # distances below this part of the largest coordinate are rounding errors
_TIE = 1e-3  # starts whose objectives differ by less, relatively, are tied: the first one wins


class PairLoss:
    """E(L) = 1/beta sum_n ln(1 + exp(beta y_n (|L u_n|^2 - 1))) + penalty |L|^2 (Mignon and Jurie, 2012).

    Parameters
    ----------
    objects : (n, r) coordinates of the objects
    pairs : Pairs of these objects
    beta : float
    penalty : float
    """

    def __init__(self, objects: np.ndarray, pairs: Pairs, beta: float, penalty: float = 0.0):
        n_pairs = len(pairs.signs)
        used, ends = np.unique(pairs.ends, return_inverse=True)
        self.objects, self.signs, self.beta, self.penalty = objects[used], pairs.signs, beta, penalty
        # u_n = sum_i incidence_ni x_i: products of this and the objects cost less than N difference vectors
        self.incidence = sparse.csr_array(
            (np.tile([1.0, -1.0], n_pairs), (np.repeat(np.arange(n_pairs), 2), ends.reshape(-1))),
            shape=(n_pairs, len(used)),
        )
        self.typical_distance = float(np.sqrt(_typical(self.incidence @ self.objects)))
        if self.typical_distance <= _SAME * np.abs(self.objects).max(initial=0.0):
            raise InvalidInputError(
                "X must tell the two objects of at least one pair apart, but all pairs are identical"
            )

    def mapped_differences(self, L: np.ndarray) -> np.ndarray:
        """(N, q) vectors L u_n."""
        return self.incidence @ (self.objects @ L.T)

    def value_and_gradient(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """E(L) and 2 L sum_n w_n u_n u_n' with w_n = y_n / (1 + exp(-beta y_n (|L u_n|^2 - 1)))."""
        mapped = self.mapped_differences(L)
        excess = self.beta * self.signs * (np.einsum("nq,nq->n", mapped, mapped) - 1)
        value = np.logaddexp(0, excess).sum() / self.beta + self.penalty * np.vdot(L, L)
        weights = self.signs * expit(excess)
        gradient = 2 * (self.incidence.T @ (weights[:, None] * mapped)).T @ self.objects + 2 * self.penalty * L
        return float(value), gradient


def _typical(differences: np.ndarray) -> float:
    """Median of the squared lengths; their mean, if most are zero."""
    squared = np.einsum("nq,nq->n", differences, differences)
    return np.median(squared) or squared.mean()


def starting_maps(loss: PairLoss, objects: np.ndarray, q: int, init: str, n_init: int, rng: Any) -> list[np.ndarray]:
    """(q, r) maps to start from, scaled so that the median of the squared distances of the pairs is one.

    Principal directions first if ``init="pca"``, then random ones. A random row is a random combination of the centred
    objects, so it has no part outside their span (which the gradient, itself such a combination, could never remove).
    """
    centred = objects - mean_of_rows(objects)
    maps = []
    if init == "pca":
        principal = np.zeros((q, objects.shape[1]))
        _, singular, directions = np.linalg.svd(centred, full_matrices=False)
        kept = directions[:q][singular[:q] > 1e-10 * singular[0]]
        principal[: len(kept)] = signed_rows(kept)
        maps.append(principal)
    maps += [rng.standard_normal((q, len(centred))) @ centred for _ in range(n_init - len(maps))]
    typical = [_typical(loss.mapped_differences(L)) for L in maps]
    useful = [L / np.sqrt(t) for L, t in zip(maps, typical, strict=True) if t > 0]
    # no principal direction tells the pairs apart: attributes as they are do, as the loss made sure
    return useful or [np.eye(q, objects.shape[1]) / loss.typical_distance]


def given_map(init: Any, shape: tuple[int, int], words: str) -> np.ndarray:
    """A start given by the user."""
    start = np.array(as_reals(init, "init"), dtype=np.float64)
    if start.shape != shape:
        raise InvalidInputError(f"init must have shape {shape} ({words}), got {start.shape}")
    if not np.isfinite(start).all() or not start.any():
        raise InvalidInputError("init must be finite and not all zero (the gradient vanishes at zero)")
    return start


def best_descent(loss: PairLoss, starts: list[np.ndarray], max_iter: int, tol: float) -> Descent:
    """Descend from every start and keep the smallest objective, the earliest on ties."""
    best = _descend(loss, starts[0], max_iter, tol)
    for start in starts[1:]:
        run = _descend(loss, start, max_iter, tol)
        if run.objective < (1 - _TIE) * best.objective:
            best = run
    return best


def _descend(loss: PairLoss, start: np.ndarray, max_iter: int, tol: float) -> Descent:
    """L-BFGS until an iteration lowers the objective by less than ``tol`` times itself, or the gradient vanishes."""
    # Unknowns of order one whatever the units of the objects: the minimiser's own thresholds suppose it.
    unit = loss.typical_distance

    def scaled(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss.value_and_gradient(flat.reshape(start.shape) / unit)
        return value, gradient.reshape(-1) / unit

    history = [loss.value_and_gradient(start)[0]]
    settled = False

    def watch(intermediate_result: OptimizeResult) -> None:
        nonlocal settled
        history.append(float(intermediate_result.fun))
        settled = history[-2] - history[-1] <= tol * max(abs(history[-2]), 1e-2)
        if settled and len(history) > _LEAST_ITERATIONS:
            raise StopIteration

    result = minimize(
        scaled,
        (start * unit).reshape(-1),
        jac=True,
        method="L-BFGS-B",
        callback=watch,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 0.0, "gtol": 1e-2 * tol},
    )
    # status 1 means the limit; anything else that no further descent is possible or worth while
    return Descent(result.x.reshape(start.shape) / unit, history, settled or result.status != 1)


def warn_one_kind(learner: str, pairs: Pairs) -> None:
    """Pairs of one kind alone have a trivial best answer; say so."""
    if (pairs.signs > 0).all():
        words = "must-links alone: the best map sends all objects to one point"
    elif (pairs.signs < 0).all():
        words = "cannot-links alone: the best map spreads all objects without limit"
    else:
        return
    warnings.warn(f"{learner} was given {words}; give pairs of both kinds", UserWarning, stacklevel=4)
