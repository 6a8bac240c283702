"""Kernel pairwise constrained component analysis."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._fitting import fit_transaction
from dempster._native import interruptible
from dempster._random import generator
from dempster._types import ArrayLike, Seed, TableLike
from dempster.constraints import Constraints
from dempster.metric._base import PAIR_RULES, checked_n_components, few_threads
from dempster.metric._kernels import KERNEL_RULES, KernelMetricLearner
from dempster.metric._pair_loss import PairLoss, best_descent, given_map, starting_maps, warn_one_kind
from dempster.metric._supervision import Pairs, known_pairs, labels_for

__all__ = ["KPCCA"]

_SMALLEST = 1e-10  # eigenvalues of the kernel matrix below this part of the largest are rounding errors
_INDEFINITE = 0.1  # a kernel matrix in few digits has small negative eigenvalues, which are left out; distances, large


class KPCCA(KernelMetricLearner):
    """Kernel pairwise constrained component analysis: nonlinear features from must-link and cannot-link pairs.

    `PCCA` in the space of a kernel: minimises over coefficients A, with k_i the column of object i of the kernel
    matrix,

        E(A) = 1/beta sum_n ln(1 + exp(beta y_n (|A (k_i - k_j)|^2 - 1))),    pair n = (i, j).

    Only constrained objects have a coefficient, so the cost does not grow with the number of the others, and
    z(x) = sum_i a_i k(x_i, x) are the features of any object. The descent takes place in the space of the kernel (its
    direction is the gradient in A without the last factor K). A disc inside a ring becomes linearly separable with
    one feature from fifty pairs.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of constrained objects.
    kernel : {"rbf", "laplacian", "linear", "precomputed"}, default="rbf"
        "precomputed": X holds kernel values, of all pairs of training objects for ``fit``, of objects with all
        training objects for ``transform``.
    gamma : float > 0 or "auto", default="auto"
        Inverse width of the Gaussian kernel exp(-gamma |x - x'|^2), or of the Laplacian one. "auto": two over the
        median squared distance of the objects (Laplacian: the median L1 distance).
    beta : float > 0, default=1
        Sharpness of the threshold at distance one.
    regularization : float >= 0, default=0
        Weight of the squared norm of the map in the space of the kernel, added to the objective; zero in the paper.
        With few pairs a small value (0.01) makes the features smoother.
    init : {"pca", "random"} or array of shape (n_components, n_samples), default="pca"
        "pca": kernel principal directions of the constrained objects, scaled so that the median distance of the pairs
        is one, then random coefficients. Given coefficients are used once, whatever ``n_init``; objects with one that
        is not zero join the constrained ones.
    n_init : int, default=3
        Starts, of which the one with the smallest objective is kept (the first one, if they tie within a thousandth).
    max_pairs : int, default=10000
        Learning from labels, all pairs of labelled objects are used up to this number, and beyond it as many drawn
        at random.
    max_iter : int, default=1000
    tol : float, default=1e-4
        Relative decrease of the objective that ends the iterations (L-BFGS). Much smaller values fit the pairs better
        and new objects worse.
    random_state : int, RandomState, Generator or None
        For the random starts and the sampling of pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_support)
        Coefficients A of the objects in ``support_``.
    support_ : ndarray of shape (n_support,)
        Positions of the objects that have a coefficient.
    support_vectors_ : ndarray of shape (n_support, n_features)
        These objects; absent if the kernel is precomputed.
    gamma_ : float
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
    >>> from dempster.constraints import Constraints
    >>> from dempster.datasets import make_circles
    >>> from dempster.metric import KPCCA
    >>> X, y = make_circles(500, random_state=0)
    >>> known = Constraints.from_labels(y, 50, random_state=0)
    >>> z = KPCCA(n_components=1, gamma=0.3, random_state=0).fit_transform(X, constraints=known)[:, 0]
    >>> bool(z[y == 0].max() < z[y == 1].min() or z[y == 1].max() < z[y == 0].min())  # the disc and the ring
    True
    """

    _rules = {
        **PAIR_RULES,
        **KERNEL_RULES,
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
        kernel: str = "rbf",
        gamma: float | str = "auto",
        beta: float = 1.0,
        regularization: float = 0.0,
        init: Any = "pca",
        n_init: int = 3,
        max_pairs: int = 10_000,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Seed = None,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
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
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if the kernel is precomputed
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
        rng = generator(self.random_state)
        pairs = known_pairs("KPCCA", data, labels_for(X, y), constraints, self.max_pairs, rng)
        warn_one_kind("KPCCA", pairs)
        self._set_kernel(data)
        support = np.unique(pairs.ends)
        q = checked_n_components(self.n_components, len(support), f"{len(support)}, the number of constrained objects")
        start = None
        if not isinstance(self.init, str):
            start = given_map(self.init, (q, len(data)), "n_components, n_samples")
            support = np.union1d(support, np.flatnonzero(start.any(axis=0)))
        among_support = Pairs(np.searchsorted(support, pairs.ends), pairs.signs)
        with few_threads(len(support)):
            coordinates, back = interruptible(_kernel_coordinates, self._gram(data, support))
            loss = PairLoss(coordinates, among_support, self.beta, self.regularization)
            if start is None:
                starts = interruptible(starting_maps, loss, coordinates, q, self.init, self.n_init, rng)
            else:
                starts = [start[:, support] @ coordinates]
            run = best_descent(loss, starts, self.max_iter, self.tol)
        self._set_support(data, support, run.unknowns @ back)
        self._set_descent(run)


def _kernel_coordinates(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates R of the objects in the space of the kernel, R R' = K, and the matrix that takes a linear map M of
    the coordinates to coefficients A of the objects with A K = M R'.

    In coordinates the problem is that of linear PCCA, and the gradient in M is the steepest direction in the space of
    the kernel.
    """
    eigenvalues, vectors = np.linalg.eigh(gram)
    if eigenvalues[0] < -_INDEFINITE * max(eigenvalues[-1], 0):
        raise InvalidInputError(
            "X must be a positive semidefinite kernel matrix with kernel='precomputed', "
            f"but has eigenvalues from {eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}"
        )
    kept = eigenvalues > _SMALLEST * eigenvalues[-1]
    roots, vectors = np.sqrt(eigenvalues[kept]), vectors[:, kept]
    return vectors * roots, (vectors / roots).T
