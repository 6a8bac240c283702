"""Learning of full metrics (x - x')' A (x - x') from must-links and cannot-links (MMC and DMLEig).

Let S be the scatter matrix of the must-links plus a small ridge, and B = S^1/2 A S^1/2. The sum of
the squared distances of the must-links is then tr(B). The feasible matrices B are positive
semidefinite with trace one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, softmax

from dempster import _validation as rule
from dempster._arrays import row_mean
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._native import interruptible
from dempster._types import Objective, Seed
from dempster.metric._base import (
    METRIC_RULES,
    LinearMetricLearner,
    PairMetricLearner,
    Pairs,
    fix_signs,
    limit_threads,
    minimize_array,
)
from dempster.optimize.descent import Run

_MIN_SQUARE = 1e-12  # Minimum squared distance in gradients, as a share of the mean.
# Degrees of smoothing, as shares of the mean squared distance of the cannot-links.
_SMOOTHING = np.geomspace(0.1, 1e-3, 3)
_ROUGH_TOL = 1e-2  # Tolerance for all degrees of smoothing except the last.


class Whitened(NamedTuple):
    """Differences of the cannot-links in whitened coordinates.

    In these coordinates, the scatter of the must-links is the identity. ``inverse`` is S^-1/2. With
    more features than objects, the coordinates refer to r orthonormal directions that span all
    differences, ``basis``, shape (r, d), and the optimal metric is zero in all orthogonal
    directions. Otherwise ``basis`` is the identity matrix.
    """

    cannot: np.ndarray
    inverse: np.ndarray
    basis: np.ndarray

    def metric(self, B: np.ndarray) -> np.ndarray:
        """Return the matrix A = S^-1/2 B S^-1/2 of the metric."""
        A = self.basis.T @ self._along_basis(B) @ self.basis
        return (A + A.T) / 2

    def root(self, B: np.ndarray, q: int) -> np.ndarray:
        """Return the matrix L, shape (q, d), of the features with the largest eigenvalues of A.

        L'L = A if q = d.
        """
        r, d = self.basis.shape
        eigenvalues, vectors = np.linalg.eigh(self._along_basis(B))
        leading = slice(-1, -min(q, r) - 1, -1)
        scales = np.sqrt(np.maximum(eigenvalues[leading], 0))[:, None]
        L = np.zeros((q, d))
        L[:r] = fix_signs(scales * vectors[:, leading].T @ self.basis)
        return L

    def _along_basis(self, B: np.ndarray) -> np.ndarray:
        A = self.inverse @ B @ self.inverse
        return (A + A.T) / 2


def whiten(learner: str, pairs: Pairs, data: np.ndarray, ridge: float) -> Whitened:
    """Whiten the differences of the cannot-links by the scatter matrix of the must-links.

    ``ridge`` times the mean eigenvalue of the scatter matrix is added to its diagonal.
    """
    must = pairs.differences(data, 1)
    cannot = pairs.differences(data, -1)
    for differences, kind in ((must, "must-link"), (cannot, "cannot-link")):
        if not differences.any():
            raise InvalidInputError(
                f"{learner} requires a {kind} between different objects; add one to constraints "
                "or, if y has both kinds, increase max_pairs"
            )
    basis = _basis_of_differences(data[np.unique(pairs.ends)])
    must = must @ basis.T
    cannot = cannot @ basis.T
    scatter = must.T @ must
    scatter += ridge * np.trace(scatter) / data.shape[1] * np.eye(len(scatter))
    eigenvalues, vectors = interruptible(np.linalg.eigh, scatter)
    if eigenvalues[0] <= 1e-14 * eigenvalues[-1]:
        reason = f"because the scatter matrix of the {len(must)} must-links is singular"
        raise InvalidParameterError(
            "regularization", f"larger than {ridge:g}, {reason}"
        )
    inverse = (vectors / np.sqrt(eigenvalues)) @ vectors.T
    return Whitened(cannot @ inverse, inverse, basis)


def _basis_of_differences(objects: np.ndarray) -> np.ndarray:
    """Return directions, shape (r, d), that span all differences; all if objects are many."""
    n, d = objects.shape
    if n > d:
        return np.eye(d)
    return interruptible(np.linalg.svd, objects - row_mean(objects), False)[2]


def projector(differences: np.ndarray) -> np.ndarray:
    """Return the projection onto the span of the differences, which is the initial value of B.

    With this initial value, B remains zero in the directions orthogonal to all differences. Other
    values in these directions, such as a feature that is constant in the training data, would not
    change the objective but would affect new objects.
    """
    eigenvalues, vectors = np.linalg.eigh(differences.T @ differences)
    spanned = vectors[:, eigenvalues > 1e-12 * eigenvalues[-1]]
    return spanned @ spanned.T


def ascend(
    problem: Objective, start: np.ndarray, max_iter: int, tol: float
) -> Run[np.ndarray]:
    """Maximize a concave function of B, a positive semidefinite matrix with trace one, by L-BFGS.

    The variables are a square matrix F with B = F F' / tr(F F'). The objective can increase by at
    most the largest eigenvalue of the gradient minus its inner product with B. The iterations stop
    when this bound is at most ``tol`` times the objective, so that a converged result is a global
    maximum.
    """
    history: list[float] = []
    converged = False
    # At the last point that was evaluated, which is the result of an iteration when it ends.
    value: float
    gap: Callable[[], float]

    def negative(factor: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal value, gap
        value, slope, gap = evaluate_factor(problem, factor)
        if not history:
            history.append(value)
        unit = abs(history[0]) or 1.0
        return -value / unit, -slope / unit

    def is_gap_small(_: float) -> bool:
        nonlocal converged
        history.append(value)
        converged = bool(gap() <= tol * abs(value))
        return converged

    factor, _ = minimize_array(
        negative, start, is_gap_small, max_iter, maxcor=20, gtol=0.0
    )
    return Run(factor, history, converged)


def normalize_factor(factor: np.ndarray) -> np.ndarray:
    """Return the matrix F F' / tr(F F')."""
    return factor @ factor.T / np.vdot(factor, factor)


def evaluate_factor(
    problem: Objective, factor: np.ndarray
) -> tuple[float, np.ndarray, Callable[[], float]]:
    """Return the objective, its gradient with respect to F, and a function that bounds its rise."""
    B = normalize_factor(factor)
    value, gradient = problem(B)
    inner = np.vdot(gradient, B)
    slope = 2 * (gradient @ factor - inner * factor) / np.vdot(factor, factor)
    return value, slope, lambda: float(np.linalg.eigvalsh(gradient)[-1]) - inner


class FullMetricLearner(PairMetricLearner, LinearMetricLearner):
    """Base class of the learners of a full metric. A subclass defines the objective."""

    _needs_square_matrices = True
    _rules = {
        **METRIC_RULES,
        "regularization": rule.positive,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        regularization: float = 1e-6,
        max_pairs: int = 10_000,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Seed = None,
    ):
        super().__init__(
            n_components, regularization, max_pairs, max_iter, tol, random_state
        )

    def _maximize(self, U: np.ndarray) -> Run[np.ndarray]:
        """Maximize the objective, given the whitened differences of the cannot-links."""
        raise NotImplementedError

    def _learn_pairs(
        self, data: np.ndarray, pairs: Pairs, rng: np.random.Generator
    ) -> Run[np.ndarray]:
        q = self._number_of_components(data.shape[1], f"n_features={data.shape[1]}")
        objects = data.astype(np.float64, copy=False)
        coordinates = whiten(type(self).__name__, pairs, objects, self.regularization)
        with limit_threads(coordinates.cannot.shape[1]):
            run = self._maximize(coordinates.cannot)
        B = normalize_factor(run.model)
        self.metric_matrix_ = coordinates.metric(B)
        self.components_ = coordinates.root(B, q).astype(data.dtype)
        return run


class MMC(FullMetricLearner):
    r"""Metric learning with side information (Xing et al., also called LSI).

    The method maximizes, over positive semidefinite matrices A, the sum of the distances of the
    cannot-links (CL) under a bound on the squared distances of the must-links (ML),

    .. math::

        \max_A \sum_{CL} \sqrt{u^T A u} \quad\text{subject to}\quad \sum_{ML} u^T A u \leq 1,

    where u is the difference of the two objects of a pair. The problem is convex. It is solved by
    L-BFGS on a factor of A, up to a duality gap of ``tol``. The cost of an iteration is cubic in
    the number of attributes, so the method is suitable for few attributes. Standardize the
    attributes first.

    Parameters
    ----------
    n_components : int, optional
        Number of features, those with the largest eigenvalues of A; by default n_features.
    regularization : float > 0, default=1e-6
        Ridge on the scatter of the must-links, in units of its mean eigenvalue. Use a larger value
        if there are fewer must-links than attributes. Otherwise A is concentrated on directions in
        which must-linked objects do not differ.
    max_pairs : int, default=10000
        Maximum number of pairs of labeled objects. If there are more pairs, this number of pairs is
        drawn at random.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-3
        Relative duality gap at which the iterations stop. The objective is at most this share below
        its maximum.
    random_state : int, RandomState, Generator or None
        Seed for drawing pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Matrix L of the linear map, with L'L = A if n_components = n_features. Features are sorted
        by eigenvalue.
    metric_matrix_ : ndarray of shape (n_features, n_features)
        Matrix A of the metric.
    objective_, history_, n_iter_, converged_
        Sum of the distances of the cannot-links, array of its values at the start and after every
        iteration (it never decreases), number of iterations, and whether the duality gap reached
        ``tol`` within ``max_iter`` iterations.

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan and S. Russell (2002). Distance metric learning with
    application to clustering with side-information. NIPS 15.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> from dempster.metric import MMC
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> cannot_link = [(0, 2), (0, 3), (1, 2), (1, 3)]
    >>> constraints = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=cannot_link)
    >>> MMC(regularization=0.1).fit(X, constraints=constraints).metric_matrix_.round(2)
    array([[10.,  0.],
           [ 0.,  0.]])
    """

    def _maximize(self, U: np.ndarray) -> Run[np.ndarray]:
        return ascend(
            partial(sum_of_distances, U), projector(U), self.max_iter, self.tol
        )


def sum_of_distances(U: np.ndarray, B: np.ndarray) -> tuple[float, np.ndarray]:
    """Return sum_n sqrt(u_n' B u_n) and its gradient with respect to B; U has the rows u_n."""
    squared = np.maximum(np.einsum("nd,nd->n", U @ B, U), 0)
    smallest = max(_MIN_SQUARE * squared.mean(), np.finfo(float).tiny)
    weights = 0.5 / np.sqrt(np.maximum(squared, smallest))
    return float(np.sqrt(squared).sum()), (U.T * weights) @ U


class DMLEig(FullMetricLearner):
    r"""Metric learning by eigenvalue optimization (DML-eig).

    The method maximizes, over positive semidefinite matrices A, the smallest squared distance of
    the cannot-links (CL) under a bound on the squared distances of the must-links (ML),

    .. math::

        \max_A \min_{CL} u^T A u \quad\text{subject to}\quad \sum_{ML} u^T A u \leq 1,

    where u is the difference of the two objects of a pair. The minimum is replaced by the smooth
    function :math:`-\mu \ln \sum_{CL} \exp(-u^T A u / \mu)`. The parameter mu is decreased by
    factors of ten down to a small value, and each solution is the initial value for the next mu.
    L-BFGS on a factor of A needs far fewer iterations than the Frank-Wolfe steps of the paper.

    The cannot-link with the smallest distance determines the result, so that one wrong cannot-link
    can make the metric useless. Prefer `MMC` or `PCCA` if there may be errors. Cannot-links between
    identical objects are ignored with a warning. Standardize the attributes first.

    Parameters
    ----------
    n_components : int, optional
        Number of features, those with the largest eigenvalues of A; by default n_features.
    regularization : float > 0, default=1e-6
        Ridge on the scatter of the must-links, in units of its mean eigenvalue; see `MMC`.
    max_pairs : int, default=10000
        Maximum number of pairs of labeled objects; see `MMC`.
    max_iter : int, default=1000
        Maximum number of iterations for each value of mu.
    tol : float, default=1e-3
        Relative duality gap at which the iterations stop. The objective is at most this share below
        its maximum.
    random_state : int, RandomState, Generator or None
        Seed for drawing pairs.

    Attributes
    ----------
    components_, metric_matrix_ : ndarrays
        Matrix L of the linear map and matrix A of the metric; see `MMC`.
    objective_ : float
        Smoothed minimum of the squared distances of the cannot-links. The exact minimum is larger
        by at most mu ln(number of cannot-links).
    smoothing_ : float
        Final value of mu, 0.001 times the mean squared distance of the cannot-links under the
        initial metric, in which the must-links have the same scatter in all directions.
    history_, n_iter_, converged_
        Course of the optimization; see `MMC`.

    References
    ----------
    Y. Ying and P. Li (2012). Distance metric learning with eigenvalue optimization. Journal of
    Machine Learning Research 13.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> from dempster.metric import DMLEig
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> cannot_link = [(0, 2), (0, 3), (1, 2), (1, 3)]
    >>> constraints = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=cannot_link)
    >>> DMLEig(regularization=0.1).fit(X, constraints=constraints).metric_matrix_.round(2)
    array([[10.,  0.],
           [ 0.,  0.]])
    """

    def _maximize(self, U: np.ndarray) -> Run[np.ndarray]:
        """Maximize the objective for decreasing degrees of smoothing."""
        different = U.any(axis=1)
        if not different.all():
            message = f"{(~different).sum()} cannot-links join identical objects and are ignored"
            warnings.warn(message, UserWarning, stacklevel=5)
            U = U[different]
        self.smoothing_ = float(_SMOOTHING[-1] * np.vdot(U, U) / U.size)
        run = Run(projector(U))
        history = []
        for degree in _SMOOTHING:
            mu = self.smoothing_ * degree / _SMOOTHING[-1]
            is_last = degree == _SMOOTHING[-1]
            tol = self.tol if is_last else max(self.tol, _ROUGH_TOL)
            run = ascend(
                partial(smoothed_minimum, U, mu), run.model, self.max_iter, tol
            )
            history += run.history
        return replace(run, history=history)


def smoothed_minimum(
    U: np.ndarray, mu: float, B: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return -mu ln sum_n exp(-u_n' B u_n / mu) and its gradient with respect to B."""
    exponents = -np.einsum("nd,nd->n", U @ B, U) / mu
    return float(-mu * logsumexp(exponents)), (U.T * softmax(exponents)) @ U
