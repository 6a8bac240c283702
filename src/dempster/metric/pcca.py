"""Pairwise constrained component analysis, linear (PCCA) and with kernels (KPCCA)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import OptimizeResult, minimize
from scipy.special import expit

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import interruptible
from dempster._random import generator
from dempster._types import Seed
from dempster._validation import as_reals, mean_of_rows
from dempster.metric._base import (
    KERNEL_RULES,
    PAIR_RULES,
    KernelMetricLearner,
    LinearMetricLearner,
    Pairs,
    few_threads,
    signed_rows,
)
from dempster.optimize.descent import Run

_MIN_ITERATIONS = 10  # the first steps away from a start near zero are short
_SAME = 1e-13  # distances below this part of the largest coordinate are rounding errors
_TIE = 1e-3  # starts whose objectives differ by less, relatively, are tied: the first one wins
_MIN_EIGENVALUE = 1e-10  # eigenvalues of the kernel matrix below this part of the largest are rounding errors
_INDEFINITE = 0.1  # a kernel matrix in few digits has small negative eigenvalues, which are left out; distances, large


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
            raise InvalidParameterError(
                "X", message="X must tell the two objects of at least one pair apart, but all pairs are identical"
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
    """Return the median of the squared lengths; their mean, if most are zero."""
    squared = np.einsum("nq,nq->n", differences, differences)
    return np.median(squared) or squared.mean()


def starting_maps(loss: PairLoss, objects: np.ndarray, q: int, init: str, n_init: int, rng: Any) -> list[np.ndarray]:
    """Return (q, r) maps to start from, scaled so that the median of the squared distances of the pairs is one.

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
    """Validate a start given by the user."""
    start = np.array(as_reals(init, "init"), dtype=np.float64)
    if start.shape != shape:
        raise InvalidParameterError("init", message=f"init must have shape {shape} ({words}), got {start.shape}")
    if not np.isfinite(start).all() or not start.any():
        raise InvalidParameterError("init", "finite and not all zero (the gradient vanishes at zero)")
    return start


def best_descent(loss: PairLoss, starts: list[np.ndarray], max_iter: int, tol: float) -> Run[np.ndarray]:
    """Descend from every start and keep the smallest objective, the earliest on ties."""
    best = _descend(loss, starts[0], max_iter, tol)
    for start in starts[1:]:
        run = _descend(loss, start, max_iter, tol)
        if run.objective < (1 - _TIE) * best.objective:
            best = run
    return best


def _descend(loss: PairLoss, start: np.ndarray, max_iter: int, tol: float) -> Run[np.ndarray]:
    """Run L-BFGS until the objective falls by less than ``tol`` times itself, or the gradient vanishes."""
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
        if settled and len(history) > _MIN_ITERATIONS:
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
    return Run(result.x.reshape(start.shape) / unit, history, settled or result.status != 1)


def warn_one_kind(learner: str, pairs: Pairs) -> None:
    """Warn that pairs of one kind alone have a trivial best answer."""
    if (pairs.signs > 0).all():
        words = "must-links alone: the best map sends all objects to one point"
    elif (pairs.signs < 0).all():
        words = "cannot-links alone: the best map spreads all objects without limit"
    else:
        return
    warnings.warn(f"{learner} was given {words}; give pairs of both kinds", UserWarning, stacklevel=4)


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

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        q = self._number_of_features(data.shape[1], f"n_features={data.shape[1]}")
        rng = generator(self.random_state)
        pairs = self._pairs(data, y, constraints, rng)
        warn_one_kind("PCCA", pairs)
        objects = data.astype(np.float64, copy=False)
        with few_threads(data.shape[1]):
            loss = PairLoss(objects, pairs, self.beta, self.regularization)
            if isinstance(self.init, str):
                starts = interruptible(starting_maps, loss, objects, q, self.init, self.n_init, rng)
            else:
                starts = [given_map(self.init, (q, data.shape[1]), "n_components, n_features")]
            run = best_descent(loss, starts, self.max_iter, self.tol)
        self.components_ = run.model.astype(data.dtype)
        self._set_descent(run)


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

    def _learn(self, data: np.ndarray, y: Any, constraints: Any) -> None:
        rng = generator(self.random_state)
        pairs = self._pairs(data, y, constraints, rng)
        warn_one_kind("KPCCA", pairs)
        support = np.unique(pairs.ends)
        q = self._number_of_features(len(support), f"{len(support)}, the number of constrained objects")
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
        self._set_support(data, support, run.model @ back)
        self._set_descent(run)


def _kernel_coordinates(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates R of the objects in the space of the kernel, R R' = K, and a matrix.

    The matrix takes a linear map M of the coordinates to coefficients A of the objects with A K = M R'.

    In coordinates the problem is that of linear PCCA, and the gradient in M is the steepest direction in the space of
    the kernel.
    """
    eigenvalues, vectors = np.linalg.eigh(gram)
    if eigenvalues[0] < -_INDEFINITE * max(eigenvalues[-1], 0):
        raise InvalidParameterError(
            "X",
            "a positive semidefinite kernel matrix with kernel='precomputed', "
            f"but has eigenvalues from {eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}",
        )
    kept = eigenvalues > _MIN_EIGENVALUE * eigenvalues[-1]
    roots, vectors = np.sqrt(eigenvalues[kept]), vectors[:, kept]
    return vectors * roots, (vectors / roots).T
