"""Pairwise constrained component analysis."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._fitting import fit_transaction
from dempster._native import interruptible
from dempster._random import generator
from dempster._types import ArrayLike, Seed, TableLike
from dempster.constraints import Constraints
from dempster.metric._base import PAIR_RULES, LinearMetricLearner, checked_n_components, few_threads
from dempster.metric._pair_loss import PairLoss, best_descent, given_map, starting_maps, warn_one_kind
from dempster.metric._supervision import known_pairs, labels_for

__all__ = ["PCCA"]


class PCCA(LinearMetricLearner):
    """Pairwise constrained component analysis: few linear features that bring must-links within distance one.

    Minimises over linear maps L, with u_n the difference of the two objects of pair n and y_n = 1 for a must-link, -1
    for a cannot-link,

        E(L) = 1/beta sum_n ln(1 + exp(beta y_n (|L u_n|^2 - 1))),

    so that objects of a must-link come closer than one and those of a cannot-link go farther apart. Of the linear
    methods for pairs, the one to try first; `KPCCA` is its nonlinear version. Standardise the attributes before.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of attributes.
    beta : float > 0, default=1
        Sharpness of the threshold at distance one.
    regularization : float >= 0, default=0
        Weight of the squared norm of L, added to the objective; zero in the paper.
    init : {"pca", "random"} or array of shape (n_components, n_features), default="pca"
        "pca": principal directions, scaled so that the median distance of the pairs is one, then random maps. The
        objective has several minima, and L = 0 is stationary. A given map is used once, whatever ``n_init``.
    n_init : int, default=3
        Starts, of which the one with the smallest objective is kept (the first one, if they tie within a thousandth).
    max_pairs : int, default=10000
        Learning from labels, all pairs of labelled objects are used up to this number, and beyond it as many drawn
        at random.
    max_iter : int, default=1000
    tol : float, default=1e-5
        Relative decrease of the objective that ends the iterations (L-BFGS).
    random_state : int, RandomState, Generator or None
        For the random starts and the sampling of pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map L; only its distances are determined, not its rotation.
    objective_ : float
    history_ : ndarray
        Objective at the best start and after every iteration; never rises.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    A. Mignon and F. Jurie (2012). PCCA: a new approach for distance learning from sparse pairwise constraints. CVPR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.constraints import Constraints
    >>> from dempster.metric import PCCA
    >>> X, y = load_iris(return_X_y=True)
    >>> known = Constraints.from_labels(y, 50, random_state=0)
    >>> PCCA(n_components=1, random_state=0).fit_transform(X, constraints=known).shape
    (150, 1)
    """

    _rules = {
        **PAIR_RULES,
        "n_components": rule.integer(1),
        "beta": rule.real(0, open_low=True),
        "regularization": rule.real(0),
        "init": rule.choice("pca", "random") | rule.array,
        "n_init": rule.repetitions(),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        beta: float = 1.0,
        regularization: float = 0.0,
        init: Any = "pca",
        n_init: int = 3,
        max_pairs: int = 10_000,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Seed = None,
    ):
        self.n_components = n_components
        self.beta = beta
        self.regularization = regularization
        self.init = init
        self.n_init = n_init
        self.max_pairs = max_pairs
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: TableLike, y: ArrayLike = None, *, constraints: Constraints | None = None) -> Self:
        """Learn the features from pairs.

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
        q = checked_n_components(self.n_components, data.shape[1], f"n_features={data.shape[1]}")
        rng = generator(self.random_state)
        pairs = known_pairs("PCCA", data, labels_for(X, y), constraints, self.max_pairs, rng)
        warn_one_kind("PCCA", pairs)
        objects = data.astype(np.float64, copy=False)
        with few_threads(data.shape[1]):
            loss = PairLoss(objects, pairs, self.beta, self.regularization)
            if isinstance(self.init, str):
                starts = interruptible(starting_maps, loss, objects, q, self.init, self.n_init, rng)
            else:
                starts = [given_map(self.init, (q, data.shape[1]), "n_components, n_features")]
            run = best_descent(loss, starts, self.max_iter, self.tol)
        self.components_ = run.unknowns.astype(data.dtype)
        self._set_descent(run)
