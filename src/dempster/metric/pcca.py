"""Pairwise constrained component analysis, linear (PCCA) and with a kernel (KPCCA)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from dempster import _validation as rule
from dempster._arrays import row_mean
from dempster._errors import InvalidParameterError
from dempster._native import interruptible
from dempster._types import ArrayLike, ArrayPair, Seed
from dempster._validation import as_reals
from dempster.metric._base import (
    METRIC_RULES,
    KernelMetricLearner,
    LinearMetricLearner,
    PairMetricLearner,
    Pairs,
    fix_signs,
    limit_threads,
    minimize_array,
    typical_square,
)
from dempster.optimize.descent import Run

_MIN_ITERATIONS = 10  # The first steps from an initial value near zero are short.
# Distances below this share of the largest value are rounding errors.
_ROUNDING = 1e-13
_TIE = 1e-3  # Objectives with a smaller relative difference are tied; the first one is kept.
# Eigenvalues of the kernel matrix below this share of the largest one are ignored.
_MIN_EIGENVALUE = 1e-10

PCCA_RULES = {
    **METRIC_RULES,
    "n_components": rule.positive_integer,
    "beta": rule.positive,
    "init": rule.choice("pca", "random") | rule.array,
}


class PairLoss:
    """Objective of `PCCA` for a linear map L, plus ``penalty`` times the squared norm of L."""

    def __init__(
        self, objects: np.ndarray, pairs: Pairs, beta: float, penalty: float = 0.0
    ):
        n_pairs = len(pairs.signs)
        used, ends = np.unique(pairs.ends, return_inverse=True)
        self.objects = objects[used]
        self.signs = pairs.signs
        self.beta = beta
        self.penalty = penalty
        # The product with a sparse matrix, u_n = sum_i incidence_ni x_i, is cheaper than storing
        # all differences.
        self.incidence = sparse.csr_array(
            (
                np.tile([1.0, -1.0], n_pairs),
                (np.repeat(np.arange(n_pairs), 2), ends.reshape(-1)),
            ),
            shape=(n_pairs, len(used)),
        )
        self.typical_distance = float(np.sqrt(_typical(self.incidence @ self.objects)))
        if self.typical_distance <= _ROUNDING * np.abs(self.objects).max(initial=0.0):
            raise InvalidParameterError(
                "X", must="contain two different objects for at least one of the pairs"
            )

    def mapped_differences(self, L: np.ndarray) -> np.ndarray:
        """Return L u_n for all N pairs, shape (N, q), where u_n is the difference of pair n."""
        return self.incidence @ (self.objects @ L.T)

    def value_and_gradient(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient with respect to L."""
        mapped = self.mapped_differences(L)
        excess = self.beta * self.signs * (np.einsum("nq,nq->n", mapped, mapped) - 1)
        value = np.logaddexp(0, excess).sum() / self.beta + self.penalty * np.vdot(L, L)
        weights = self.signs * expit(excess)
        pulls = self.incidence.T @ (weights[:, None] * mapped)
        return float(value), 2 * pulls.T @ self.objects + 2 * self.penalty * L


def _typical(differences: np.ndarray) -> float:
    """Return the typical squared norm of the rows."""
    return typical_square(np.einsum("nq,nq->n", differences, differences))


def validate_map(init: Any, shape: tuple[int, int], axes: str) -> np.ndarray:
    """Return ``init`` as an array of the given shape."""
    start = np.array(as_reals(init, "init"), np.float64)
    if start.shape != shape:
        must = f"have shape {shape} ({axes}), got {start.shape}"
        raise InvalidParameterError("init", must=must)
    if not np.isfinite(start).all() or not start.any():
        must = "be finite and not all zero, because the gradient is zero there"
        raise InvalidParameterError("init", must=must)
    return start


def initial_maps(
    loss: PairLoss,
    objects: np.ndarray,
    q: int,
    init: str,
    n_init: int,
    rng: np.random.Generator,
) -> list[np.ndarray]:
    """Return initial maps of shape (q, r).

    They are scaled so that the median squared distance of the pairs is one. With ``init="pca"`` the
    first map consists of the principal directions; all others are random. The rows of a random map
    are random linear combinations of the centered objects, because gradient steps cannot change
    directions outside the span of the objects.
    """
    centered = objects - row_mean(objects)
    maps = []
    if init == "pca":
        principal = np.zeros((q, objects.shape[1]))
        _, singular, directions = np.linalg.svd(centered, full_matrices=False)
        kept = directions[:q][singular[:q] > 1e-10 * singular[0]]
        principal[: len(kept)] = fix_signs(kept)
        maps.append(principal)
    while len(maps) < n_init:
        maps.append(rng.standard_normal((q, len(centered))) @ centered)
    typical = [_typical(loss.mapped_differences(L)) for L in maps]
    useful = [L / np.sqrt(t) for L, t in zip(maps, typical, strict=True) if t > 0]
    # If the objects of all pairs coincide in all maps, use the attributes, in which at least one
    # pair differs.
    return useful or [np.eye(q, objects.shape[1]) / loss.typical_distance]


def best_descent(
    params: PCCA | KPCCA,
    objects: np.ndarray,
    pairs: Pairs,
    q: int,
    start: np.ndarray | None,
    rng: np.random.Generator,
) -> Run[np.ndarray]:
    """Minimize the loss from ``start``, or from several initial maps, and return the best run."""
    loss = PairLoss(objects, pairs, params.beta, params.regularization)
    if start is None:
        starts = interruptible(
            initial_maps, loss, objects, q, params.init, params.n_init, rng
        )
    else:
        starts = [start]
    runs = [_descend(loss, start, params.max_iter, params.tol) for start in starts]
    best = runs[0]
    for run in runs[1:]:
        if run.objective < (1 - _TIE) * best.objective:
            best = run
    return best


def _descend(
    loss: PairLoss, start: np.ndarray, max_iter: int, tol: float
) -> Run[np.ndarray]:
    """Run L-BFGS until the objective decreases by at most ``tol`` or the gradient is zero."""
    # The unknowns are scaled to order one, so that the thresholds of the optimizer do not depend on
    # the units.
    unit = loss.typical_distance
    history = [loss.value_and_gradient(start)[0]]
    settled = False

    def evaluate(scaled: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = loss.value_and_gradient(scaled / unit)
        return value, gradient / unit

    def is_decrease_small(value: float) -> bool:
        nonlocal settled
        history.append(value)
        settled = history[-2] - history[-1] <= tol * max(abs(history[-2]), 1e-2)
        return settled and len(history) > _MIN_ITERATIONS

    scaled, ended = minimize_array(
        evaluate, start * unit, is_decrease_small, max_iter, gtol=1e-2 * tol
    )
    return Run(scaled / unit, history, settled or ended)


def warn_one_kind(learner: str, pairs: Pairs) -> None:
    """Warn if there is only one kind of links, for which the optimal map is trivial."""
    if (pairs.signs > 0).all():
        message = "has only must-links, so that the optimal map sends all objects to one point"
    elif (pairs.signs < 0).all():
        message = "has only cannot-links, so that the distances of the optimal map are unbounded"
    else:
        return
    message = f"{learner} {message}; pass both must-links and cannot-links"
    warnings.warn(message, UserWarning, stacklevel=5)


class PCCA(PairMetricLearner, LinearMetricLearner):
    r"""Pairwise constrained component analysis, which learns linear features from pairs.

    The method minimizes, over linear maps L,

    .. math::

        E(L) = \frac{1}{\beta} \sum_n \ln\bigl(1 + \exp(\beta y_n (\|L u_n\|^2 - 1))\bigr),

    where u_n is the difference of the two objects of pair n, and y_n is 1 for a must-link and -1
    for a cannot-link. Must-linked objects get distances below one, and cannot-linked objects get
    distances above one. Among the linear methods that learn from pairs, try this method first;
    `KPCCA` is its nonlinear version. Standardize the attributes first.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of attributes.
    beta : float > 0, default=1
        Steepness of the loss at the distance 1, which separates must-links from cannot-links.
    regularization : float >= 0, default=0
        Weight of the squared norm of L, which is added to the objective; zero in the paper.
    init : {"pca", "random"} or array-like of shape (n_components, n_features), default="pca"
        Initial value of L. "pca" uses first the principal directions, then random maps; "random"
        uses only random maps. With an array, ``n_init`` has no effect.
    n_init : int, default=3
        Number of initial values. The result with the smallest objective is kept; if the relative
        difference is below 0.001, the first one.
    max_pairs : int, default=10000
        Maximum number of pairs of labeled objects. If there are more pairs, this number of pairs is
        drawn at random.
    max_iter : int, default=1000
        Maximum number of iterations.
    tol : float, default=1e-5
        Relative decrease of the objective at which the iterations (L-BFGS) stop.
    random_state : int, RandomState, Generator or None
        Seed for random initial values and for drawing pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Matrix L of the linear map, which is unique only up to a rotation.
    objective_, history_, n_iter_, converged_
        Final objective, array of the objective at the initial value and after every iteration (it
        never increases), number of iterations, and whether the optimization converged within
        ``max_iter`` iterations.

    References
    ----------
    A. Mignon and F. Jurie (2012). PCCA: a new approach for distance learning from sparse pairwise
    constraints. CVPR.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.constraints import Constraints
    >>> from dempster.metric import PCCA
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = Constraints.from_labels(y, 50, random_state=0)
    >>> PCCA(n_components=1, random_state=0).fit_transform(X, constraints=constraints).shape
    (150, 1)
    """

    _rules = PCCA_RULES

    def __init__(
        self,
        n_components: int = 2,
        *,
        beta: float = 1.0,
        regularization: float = 0.0,
        init: str | ArrayLike = "pca",
        n_init: int = 3,
        max_pairs: int = 10_000,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Seed = None,
    ):
        super().__init__(
            n_components, regularization, max_pairs, max_iter, tol, random_state
        )
        self.beta = beta
        self.init = init
        self.n_init = n_init

    def _learn_pairs(
        self, data: np.ndarray, pairs: Pairs, rng: np.random.Generator
    ) -> Run[np.ndarray]:
        q = self._number_of_components(data.shape[1], f"n_features={data.shape[1]}")
        warn_one_kind("PCCA", pairs)
        objects = data.astype(np.float64, copy=False)
        start = None
        if not isinstance(self.init, str):
            shape = (q, data.shape[1])
            start = validate_map(self.init, shape, "n_components, n_features")
        with limit_threads(data.shape[1]):
            run = best_descent(self, objects, pairs, q, start, rng)
        self.components_ = run.model.astype(data.dtype)
        return run


class KPCCA(PairMetricLearner, KernelMetricLearner):
    r"""Kernel pairwise constrained component analysis, which learns nonlinear features from pairs.

    The method is `PCCA` in the feature space of a Gaussian kernel k. It minimizes, over
    coefficients A,

    .. math::

        E(A) = \frac{1}{\beta} \sum_{n = (i, j)}
        \ln\bigl(1 + \exp(\beta y_n (\|A (k_i - k_j)\|^2 - 1))\bigr),

    where k_i is the column of object i in the kernel matrix, and y_n is 1 for a must-link and -1
    for a cannot-link. The features of any object x are :math:`z(x) = \sum_i a_i k(x_i, x)`, where
    a_i is column i of A. Only constrained objects have coefficients, so that the cost does not
    depend on the number of other objects. For example, fifty pairs are enough to separate a disc
    from a surrounding ring by one feature. For another kernel, use `PCCA` on the features of
    scikit-learn's ``KernelPCA`` with this kernel, which is the same problem.

    Parameters
    ----------
    n_components : int, default=2
        Number of features, at most the number of constrained objects.
    gamma : float > 0 or "auto", default="auto"
        Inverse width of the kernel; see `KFDA`.
    beta : float > 0, default=1
        Steepness of the loss; see `PCCA`.
    regularization : float >= 0, default=0
        Weight of the squared norm of the map in the feature space, which is added to the objective;
        zero in the paper. With few pairs a small value (0.01) makes the features smoother.
    init : {"pca", "random"} or array-like of shape (n_components, n_samples), default="pca"
        Initial coefficients, as in `PCCA`; "pca" uses first the kernel principal directions of the
        constrained objects. With an array, all objects with a nonzero coefficient are in
        ``support_``.
    n_init, max_pairs, max_iter : int, default=3, 10000, 1000
        Number of initial values, maximum number of pairs of labeled objects, and maximum number of
        iterations; see `PCCA`.
    tol : float, default=1e-4
        Relative decrease of the objective at which the iterations (L-BFGS) stop. Much smaller
        values overfit the pairs.
    random_state : int, RandomState, Generator or None
        Seed for random initial values and for drawing pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_support)
        Coefficients A of the objects in ``support_``.
    support_ : ndarray of shape (n_support,)
        Indices of the objects that have a coefficient.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Objects in ``support_``.
    gamma_ : float
        Value of ``gamma``.
    objective_, history_, n_iter_, converged_
        Objective and course of the optimization; see `PCCA`.

    References
    ----------
    A. Mignon and F. Jurie (2012). PCCA: a new approach for distance learning from sparse pairwise
    constraints. CVPR.

    Examples
    --------
    >>> from dempster.constraints import Constraints
    >>> from dempster.datasets import make_circles
    >>> from dempster.metric import KPCCA
    >>> X, y = make_circles(500, random_state=0)
    >>> constraints = Constraints.from_labels(y, 50, random_state=0)
    >>> model = KPCCA(n_components=1, gamma=0.3, random_state=0)
    >>> z = model.fit_transform(X, constraints=constraints)[:, 0]
    >>> disc, ring = z[y == 0], z[y == 1]
    >>> bool(disc.max() < ring.min() or ring.max() < disc.min())
    True
    """

    _rules = PCCA_RULES

    def __init__(
        self,
        n_components: int = 2,
        *,
        gamma: float | str = "auto",
        beta: float = 1.0,
        regularization: float = 0.0,
        init: str | ArrayLike = "pca",
        n_init: int = 3,
        max_pairs: int = 10_000,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Seed = None,
    ):
        super().__init__(
            n_components, regularization, max_pairs, max_iter, tol, random_state
        )
        self.gamma = gamma
        self.beta = beta
        self.init = init
        self.n_init = n_init

    def _learn_pairs(
        self, data: np.ndarray, pairs: Pairs, rng: np.random.Generator
    ) -> Run[np.ndarray]:
        warn_one_kind("KPCCA", pairs)
        support = np.unique(pairs.ends)
        q = self._number_of_components(
            len(support), f"{len(support)}, the number of constrained objects"
        )
        start = None
        if not isinstance(self.init, str):
            shape = (q, len(data))
            start = validate_map(self.init, shape, "n_components, n_samples")
            support = np.union1d(support, np.flatnonzero(start.any(axis=0)))
        among_support = Pairs(np.searchsorted(support, pairs.ends), pairs.signs)
        with limit_threads(len(support)):
            gram = self._kernel_values(data[support], data[support])
            coordinates, back = interruptible(_kernel_coordinates, gram)
            if start is not None:
                start = start[:, support] @ coordinates
            run = best_descent(self, coordinates, among_support, q, start, rng)
        self._set_support(data, support, run.model @ back)
        return run


def _kernel_coordinates(gram: np.ndarray) -> ArrayPair:
    """Return coordinates R of the objects in the feature space, with R R' = K, and a matrix Q.

    In these coordinates the problem is the same as for linear PCCA. A linear map M of the
    coordinates corresponds to the coefficients A = M Q of the objects, for which A K = M R'.
    """
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > _MIN_EIGENVALUE * eigenvalues[-1]
    roots = np.sqrt(eigenvalues[kept])
    vectors = vectors[:, kept]
    return vectors * roots, (vectors / roots).T
