"""Distance metric learning with side information (MMC, or LSI)."""

from __future__ import annotations

from typing import Self

import numpy as np

from dempster import _validation as rule
from dempster._fitting import fit_transaction
from dempster._random import generator
from dempster._types import ArrayLike, Seed, TableLike
from dempster.constraints import Constraints
from dempster.metric._base import PAIR_RULES, LinearMetricLearner, checked_n_components, few_threads
from dempster.metric._full_metric import Problem, ascend, normalised, projector, whitened
from dempster.metric._supervision import known_pairs, labels_for

__all__ = ["MMC"]

_ZERO = 1e-12  # squared distances below this part of their mean do not steepen the gradient further


class MMC(LinearMetricLearner):
    """Metric learning with side information (Xing et al., also called LSI): cannot-links far, must-links near.

    Maximises over positive semidefinite matrices A the sum of the distances of the cannot-links, given that of the
    squared distances of the must-links,

        sum_CL sqrt(u' A u)    subject to    sum_ML u' A u <= 1,

    u the difference of the two objects of a pair. The problem is convex; it is solved in coordinates where the
    must-links have unit scatter, by L-BFGS on a factor of A, up to a duality gap of ``tol``. For full metrics of few
    attributes: an iteration costs the cube of their number. Standardise the attributes before.

    Parameters
    ----------
    n_components : int, optional
        Number of features: the leading ones of the metric. None: all, as many as attributes.
    diagonal : bool, default=False
        Only weigh the attributes: A diagonal. (The published form of this variant minimises
        sum_ML u'Au - ln sum_CL sqrt(u'Au), which has the same solution up to scale.)
    regularization : float > 0, default=1e-6
        Ridge on the scatter of the must-links, in units of its mean eigenvalue. With fewer must-links than attributes
        the metric collapses on directions in which they do not differ; a larger ridge prevents it.
    max_pairs : int, default=10000
        Learning from labels, all pairs of labelled objects are used up to this number, and beyond it as many drawn
        at random.
    max_iter : int, default=1000
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
        Sum of the distances of the cannot-links.
    history_ : ndarray
        Objective at the start and after every iteration; never falls.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    E. P. Xing, A. Y. Ng, M. I. Jordan and S. Russell (2002). Distance metric learning with application to clustering
    with side-information. NIPS 15.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> from dempster.metric import MMC
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (0, 3), (1, 2), (1, 3)])
    >>> MMC(regularization=0.1).fit(X, constraints=known).metric_matrix_.round(2)  # the first attribute tells
    array([[10.,  0.],
           [ 0.,  0.]])
    """

    _squares_attributes = True
    _rules = {
        **PAIR_RULES,
        "n_components": rule.choice(None) | rule.integer(1),
        "diagonal": rule.flag,
        "regularization": rule.real(0, open_low=True),
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        diagonal: bool = False,
        regularization: float = 1e-6,
        max_pairs: int = 10_000,
        max_iter: int = 1000,
        tol: float = 1e-3,
        random_state: Seed = None,
    ):
        self.n_components = n_components
        self.diagonal = diagonal
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
            Instead of ``y``: pairs of rows of X.
        """
        with fit_transaction(self) as draft:
            draft._learn(X, y, constraints)
        return self

    def _learn(self, X: TableLike, y: ArrayLike, constraints: Constraints | None) -> None:
        data = self._checked_objects(X, reset=True)
        d = data.shape[1]
        q = checked_n_components(self.n_components, d, f"n_features={d}")
        pairs = known_pairs("MMC", data, labels_for(X, y), constraints, self.max_pairs, generator(self.random_state))
        objects = data.astype(np.float64, copy=False)
        coordinates = whitened("MMC", pairs, objects, self.regularization, diagonal=bool(self.diagonal))
        cannot = coordinates.cannot
        if self.diagonal:
            problem, start = _weights_problem(cannot), np.where(np.any(cannot, axis=0), 1.0, 0.0)
        else:
            problem, start = _matrix_problem(cannot), projector(cannot)
        with few_threads(cannot.shape[1]):
            run = ascend(problem, start, self.max_iter, self.tol)
        B = normalised(run.unknowns)
        B = np.diag(B) if self.diagonal else B
        self.metric_matrix_ = coordinates.metric(B)
        self.components_ = coordinates.root(B, q).astype(data.dtype)
        self._set_descent(run)


def _matrix_problem(U: np.ndarray) -> Problem:
    """sum_n sqrt(u_n' B u_n) and its gradient in B."""

    def value_and_gradient(B: np.ndarray) -> tuple[float, np.ndarray]:
        value, weights = _sum_of_roots(np.einsum("nd,nd->n", U @ B, U))
        return value, (U.T * weights) @ U

    return value_and_gradient


def _weights_problem(U: np.ndarray) -> Problem:
    """sum_n sqrt(sum_k b_k u_nk^2) and its gradient in b."""
    squares = U**2

    def value_and_gradient(b: np.ndarray) -> tuple[float, np.ndarray]:
        value, weights = _sum_of_roots(squares @ b)
        return value, weights @ squares

    return value_and_gradient


def _sum_of_roots(squared: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum of the distances, and the derivative in each squared distance."""
    squared = np.maximum(squared, 0)
    guarded = np.sqrt(np.maximum(squared, max(_ZERO * squared.mean(), np.finfo(float).tiny)))
    return float(np.sqrt(squared).sum()), 0.5 / guarded
