"""Distance metric learning with eigenvalue optimisation."""

from __future__ import annotations

import warnings
from typing import Self

import numpy as np
from scipy.special import logsumexp, softmax

from dempster import _validation as rule
from dempster._fitting import fit_transaction
from dempster._random import generator
from dempster._types import ArrayLike, Seed, TableLike
from dempster.constraints import Constraints
from dempster.metric._base import PAIR_RULES, Descent, LinearMetricLearner, checked_n_components, few_threads
from dempster.metric._full_metric import Problem, ascend, normalised, projector, whitened
from dempster.metric._supervision import known_pairs, labels_for

__all__ = ["DMLEig"]

_FIRST_SMOOTHING = 0.1
_ROUGH = 1e-2  # gap that ends all degrees of smoothing but the last


class DMLEig(LinearMetricLearner):
    """Metric learning by eigenvalue optimisation (DML-eig): the nearest cannot-link as far as possible.

    Maximises over positive semidefinite matrices A the smallest squared distance of the cannot-links, given the sum of
    those of the must-links,

        min_CL u' A u    subject to    sum_ML u' A u <= 1,

    u the difference of the two objects of a pair. The minimum is smoothed, f = -mu ln sum_CL exp(-u'Au / mu), and mu
    lowered in steps of ten down to ``smoothing``, each solved from the solution before. (The paper takes Frank-Wolfe
    steps; L-BFGS on a factor of A solves the same problem to a given duality gap in far fewer.) As the worst pair
    decides, one wrong cannot-link spoils the metric: prefer `MMC` or `PCCA` if there may be any. Standardise the
    attributes before.

    Parameters
    ----------
    n_components : int, optional
        Number of features: the leading ones of the metric. None: all, as many as attributes.
    smoothing : float > 0, default=1e-3
        Last mu, in units of the mean squared distance of the cannot-links at the start (where must-links have the
        same scatter in all directions).
    regularization : float > 0, default=1e-6
        Ridge on the scatter of the must-links, in units of its mean eigenvalue. With fewer must-links than attributes
        the metric collapses on directions in which they do not differ; a larger ridge prevents it.
    max_pairs : int, default=10000
        Learning from labels, all pairs of labelled objects are used up to this number, and beyond it as many drawn
        at random.
    max_iter : int, default=1000
        Iterations for each degree of smoothing.
    tol : float, default=1e-3
        The objective is at most this part of itself below the largest possible.
    random_state : int, RandomState, Generator or None
        For the sampling of pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Map L with L'L = A, features in the order of their weight.
    metric_matrix_ : ndarray of shape (n_features, n_features)
        A.
    objective_ : float
        Smoothed smallest squared distance of the cannot-links; the smallest itself is above it, by mu ln(number of
        cannot-links) at most.
    history_ : ndarray
        Objective at the start and after every iteration; never falls (lowering mu raises it).
    smoothing_ : float
        Last mu.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    Y. Ying and P. Li (2012). Distance metric learning with eigenvalue optimization. Journal of Machine Learning
    Research 13.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> from dempster.metric import DMLEig
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (0, 3), (1, 2), (1, 3)])
    >>> DMLEig(regularization=0.1).fit(X, constraints=known).metric_matrix_.round(2)  # the first attribute tells
    array([[10.,  0.],
           [ 0.,  0.]])
    """

    _squares_attributes = True
    _rules = {
        **PAIR_RULES,
        "n_components": rule.choice(None) | rule.integer(1),
        "smoothing": rule.real(0, open_low=True),
        "regularization": rule.real(0, open_low=True),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        smoothing: float = 1e-3,
        regularization: float = 1e-6,
        max_pairs: int = 10_000,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Seed = None,
    ):
        self.n_components = n_components
        self.smoothing = smoothing
        self.regularization = regularization
        self.max_pairs = max_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: TableLike, y: ArrayLike = None, *, constraints: Constraints | None = None) -> Self:
        """Learn the metric from pairs of both kinds.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All objects, constrained or not. float32 is kept.
        y : array-like of shape (n_samples,), optional
            Labels, -1 for unlabelled objects: two objects with a label are a must-link if it is the same.
        constraints : Constraints, optional
            Instead of ``y``: pairs of rows of X. Cannot-links of identical objects are left out, with a warning.
        """
        with fit_transaction(self) as draft:
            draft._learn(X, y, constraints)
        return self

    def _learn(self, X: TableLike, y: ArrayLike, constraints: Constraints | None) -> None:
        data = self._checked_objects(X, reset=True)
        q = checked_n_components(self.n_components, data.shape[1], f"n_features={data.shape[1]}")
        pairs = known_pairs("DMLEig", data, labels_for(X, y), constraints, self.max_pairs, generator(self.random_state))
        coordinates = whitened("DMLEig", pairs, data.astype(np.float64, copy=False), self.regularization)
        U = coordinates.cannot
        different = U.any(axis=1)
        if not different.all():
            warnings.warn(
                f"{(~different).sum()} cannot-links join identical objects, which no metric can separate; "
                "they are left out",
                UserWarning,
                stacklevel=3,
            )
            U = U[different]
        self.smoothing_ = float(self.smoothing * np.vdot(U, U) / U.size)
        with few_threads(U.shape[1]):
            run = self._ascent(U)
        B = normalised(run.unknowns)
        self.metric_matrix_, self.components_ = coordinates.metric(B), coordinates.root(B, q).astype(data.dtype)
        self._set_descent(run)

    def _ascent(self, U: np.ndarray) -> Descent:
        """One ascent for each degree of smoothing, from strong to the last."""
        first = max(_FIRST_SMOOTHING, self.smoothing)
        degrees = np.geomspace(first, self.smoothing, 1 + int(np.ceil(np.log10(first / self.smoothing))))
        factor, history, converged = projector(U), [], False
        for degree in degrees:
            mu = self.smoothing_ * degree / self.smoothing
            tol = self.tol if degree == degrees[-1] else max(self.tol, _ROUGH)
            run = ascend(_smoothed_minimum(U, mu), factor, self.max_iter, tol)
            factor, converged = run.unknowns, run.converged
            history += run.history
        return Descent(factor, history, converged)


def _smoothed_minimum(U: np.ndarray, mu: float) -> Problem:
    """-mu ln sum_n exp(-u_n' B u_n / mu) and its gradient in B (Ying and Li, 2012)."""

    def value_and_gradient(B: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = -np.einsum("nd,nd->n", U @ B, U) / mu
        return float(-mu * logsumexp(exponents)), (U.T * softmax(exponents)) @ U

    return value_and_gradient
