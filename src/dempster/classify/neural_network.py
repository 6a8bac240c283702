"""Evidential neural network classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import interruptible, kernel
from dempster._types import ArrayLike, Objective, Seed
from dempster.belief import FocalSets
from dempster.classify._prototype_network import (
    NETWORK_RULES,
    Problem,
    PrototypeNetworkClassifier,
    allocate,
)
from dempster.optimize.blocks import block_map, row_blocks
from dempster.optimize.descent import Run
from dempster.optimize.k_means import k_means

# The compiled functions and a description of the model are in neural_network.c.
_masses = kernel("""network_masses(
    X: float64[n, p], start: int up to n, stop: int up to n, prototypes: float64[r, p],
    gamma: float64[r], alpha: float64[r], u: float64[r, n_classes],
    out: float64[n, n_classes + 1] out)""")
_cost = kernel("""network_cost(
    X: float64[n, p], lower: float64[n, n_classes], upper: float64[n, n_classes], mixing: float,
    mu: float, parameters: float64[q], gradient: float64[q] out) -> float""")
_descent = kernel("""network_minimum(
    X: float64[n, p], lower: float64[n, n_classes], upper: float64[n, n_classes], mixing: float,
    mu: float, parameters: float64[q] out, memory: int, max_iter: int, tol: float,
    gradient_tol: float, history: float64[max_iter + 1] out, outcome: int64[2] out)""")

_MEMORY = 20  # number of updates that L-BFGS stores
_MAX_RELIABILITY = 0.99  # upper bound of alpha, which prevents products equal to zero
# initial gamma multiplied by the root mean square distance from the cluster center
_INITIAL_SCALE = 0.5
_INITIAL_BETA = 0.1  # initial beta of the classes other than that of the prototype


class EvidentialNeuralNetworkClassifier(PrototypeNetworkClassifier):
    r"""Evidential neural network: each prototype is a piece of evidence about the class.

    Each prototype is a piece of evidence about the class of an object. Prototype i has a
    reliability alpha_i, a scale gamma_i and memberships u_ik to the classes. For an object at
    distance d, it assigns the mass :math:`\alpha_i \exp(-\gamma_i^2 d^2 / 2) u_{ik}` to each class
    k, and the remaining mass to the frame, the set of all classes. Dempster's rule combines the
    masses of all prototypes. Far from all prototypes the result is vacuous. Prototypes,
    reliabilities, scales and memberships minimize

    .. math::

        \frac{1}{2N} \sum_n \|o_n - t_n\|^2 + \mathrm{regularization} \sum_i \alpha_i,
        \qquad o_{nk} = m_n(\{k\}) + \mathrm{mixing} \cdot m_n(\Omega),

    where t_nk is 1 for the class of object n and 0 otherwise, N is the number of objects, and Ω is
    the frame. The second term reduces the number of active prototypes. Distances are Euclidean, so
    attributes should have comparable scales.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        Number of prototypes of all classes together; "auto": five per class, but at most the number
        of unique objects.
    regularization : float >= 0, sequence of float or "cv", default=0
        Strength of the regularization; a sequence or "cv": selected by cross-validation. The value
        with the smallest cross-validated squared error is selected; "cv" selects 0 or one of four
        values from 1e-5 to 1e-2.
    mixing : float in [0, 1] or None, default=1
        Share of the mass of the frame in the outputs: 1 gives plausibilities, 0 gives beliefs. The
        squared error compares the labels with the outputs m({k}) + mixing m(frame). None gives
        pignistic probabilities, which means 1 / n_classes (the value in the R package evclass).
    cv : int, default=5
        Number of folds of the cross-validation.
    init : {"auto", "classes", "all"}, default="auto"
        Initial prototypes. "classes" applies k-means within each class. "all" applies k-means to
        all objects, and the initial memberships are the class proportions in each cluster. "auto"
        is "classes" if there are at least two prototypes per class, and otherwise "all".
    n_init : int, default=10
        Number of optimizations with different random initial values; the one with the smallest cost
        is selected.
    max_iter : int, default=1000
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-6
        Decrease of the cost in an iteration at which the optimization stops.
    random_state : int, RandomState, Generator or None
        Seed of the initial values. The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Names of the classes.
    prototypes_ : array of shape (n_prototypes, n_features)
        Coordinates of the prototypes.
    memberships_ : array of shape (n_prototypes, n_classes)
        Memberships u_ik of the prototypes to the classes.
    reliabilities_ : array of shape (n_prototypes,)
        Reliability alpha_i of each prototype, smaller than 0.99.
    gamma_ : array of shape (n_prototypes,)
        Scale gamma_i of each prototype.
    regularization_ : float
        Given or selected strength of the regularization.
    cv_losses_ : dict of float to float
        Cross-validated squared error for each strength.
    focal_sets_ : FocalSets
        The single classes and the frame.
    objective_, history_, n_iter_, converged_
        Final cost, cost after each iteration, number of iterations, and whether the optimization
        converged within ``max_iter`` iterations.

    Notes
    -----
    y may contain soft labels (`MassFunctions`). The error of an output is then its distance from
    the interval between the belief and the plausibility of the class under the label. If all labels
    are certain, the result is the same as for hard labels. A vacuous label has no effect.

    References
    ----------
    T. Denoeux (2000). A neural network classifier based on Dempster-Shafer theory. IEEE Trans. SMC
    A 30.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.classify import EvidentialNeuralNetworkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialNeuralNetworkClassifier(6, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> print(model.predict_mass([[5.0, 3.4, 1.5, 0.2], [50, 34, 15, 2]]).masses.round(1))
    [[1. 0. 0. 0.]
     [0. 0. 0. 1.]]
    """

    _network: tuple[
        Annotated[np.ndarray, "r n_features"],
        Annotated[np.ndarray, "r"],
        Annotated[np.ndarray, "r"],
        Annotated[np.ndarray, "r n_classes"],
    ]

    _any_scale = True
    _rules: Mapping[str, rule.Rule] = {
        **NETWORK_RULES,
        "mixing": rule.none | rule.share,
        "init": rule.choice("auto", "classes", "all"),
    }
    _strengths = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)

    def __init__(
        self,
        n_prototypes: int | str = "auto",
        *,
        regularization: float | ArrayLike | str = 0.0,
        mixing: float | None = 1.0,
        cv: int = 5,
        init: str = "auto",
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
    ):
        self.n_prototypes = n_prototypes
        self.regularization = regularization
        self.mixing = mixing
        self.cv = cv
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- starts ----------------------------------------------------------------------------------

    def _start(
        self, problem: Problem, n_prototypes: int, rng: np.random.RandomState
    ) -> np.ndarray:
        n_classes = problem.indicators.shape[1]
        by_class = self.init == "classes" or (
            self.init == "auto" and n_prototypes >= 2 * n_classes
        )
        if by_class and n_prototypes < n_classes:
            raise InvalidParameterError(
                "n_prototypes", f"at least n_classes = {n_classes}", n_prototypes
            )
        cluster = _cluster_all
        if by_class:
            cluster = _cluster_classes
        prototypes, beta, spread = cluster(problem, n_prototypes, rng)
        # At the root mean square distance from the center, exp(-gamma^2 d^2 / 2) is still nearly
        # 0.9.
        overall = float(spread.mean()) or 1.0
        gamma = _INITIAL_SCALE / np.sqrt(
            np.where(spread > 1e-3 * overall, spread, overall)
        )
        return np.concatenate(
            [prototypes.ravel(), gamma, beta.ravel(), np.zeros(len(gamma))]
        )

    # ---- the model -------------------------------------------------------------------------------

    def _constants(
        self, problem: Problem
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return the arguments of `network_cost` between ``parameters`` and ``regularization``."""
        mixing = 1 / len(self.classes_) if self.mixing is None else float(self.mixing)
        return problem.data, problem.belief, problem.contour, mixing

    def _cost(self, problem: Problem, strength: float) -> Objective:
        constants = self._constants(problem)
        return lambda parameters: network_cost(parameters, *constants, strength)

    def _minimize(
        self, problem: Problem, strength: float, start: np.ndarray
    ) -> Run[np.ndarray]:
        """Minimize the cost by L-BFGS in compiled code."""
        history = np.empty(self.max_iter + 1)
        outcome = np.empty(2, np.int64)
        tol = float(self.tol)
        parameters = start.copy()
        constants = (*self._constants(problem), strength)
        limits = (_MEMORY, self.max_iter, tol, tol / 10)
        interruptible(_descent, *constants, parameters, *limits, history, outcome)
        n_iter, converged = outcome.tolist()
        costs = history[1 : n_iter + 1] if n_iter else history[:1]
        return Run(parameters, costs.tolist(), bool(converged))

    def _set_model(self, parameters: np.ndarray, n_features: int) -> None:
        prototypes, gamma, beta, xi = unpack(parameters, n_features, len(self.classes_))
        self.focal_sets_ = FocalSets.simple(len(self.classes_), empty=False)
        self.memberships_ = memberships(beta)
        self.reliabilities_ = reliabilities(xi)
        self.prototypes_ = prototypes * self._unit + self._centre
        self.gamma_ = np.abs(gamma) / self._unit
        self._network = (
            np.ascontiguousarray(prototypes),
            gamma.copy(),
            self.reliabilities_,
            self.memberships_,
        )

    def _compute_masses(self, X: np.ndarray) -> np.ndarray:
        return network_masses(self._apply_scale(X), *self._network, self.n_jobs)


# ---- parameters, cost and masses as functions of arrays ------------------------------------------


def unpack(
    parameters: np.ndarray, n_features: int, n_classes: int
) -> tuple[np.ndarray, ...]:
    """Return views of the parameters: prototypes (r, p), gamma (r,), beta (r, M) and xi (r,)."""
    r = len(parameters) // (n_features + n_classes + 2)
    ends = np.cumsum([r * n_features, r, r * n_classes])
    prototypes, gamma, beta, xi = np.split(parameters, ends)
    return prototypes.reshape(r, n_features), gamma, beta.reshape(r, n_classes), xi


def memberships(beta: np.ndarray) -> np.ndarray:
    """Return the memberships u_ik = beta_ik^2 / sum_l beta_il^2 of prototype i to class k."""
    return beta**2 / np.maximum(
        (beta**2).sum(axis=1, keepdims=True), np.finfo(float).tiny
    )


def reliabilities(xi: np.ndarray) -> np.ndarray:
    """Return the reliabilities alpha_i = 0.99 / (1 + exp(-xi_i)) of the prototypes."""
    return _MAX_RELIABILITY * 0.5 * (1 + np.tanh(xi / 2))


def network_cost(
    parameters: np.ndarray,
    X: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    mixing: float,
    regularization: float,
) -> tuple[float, np.ndarray]:
    """Return the cost and its exact gradient with respect to ``parameters`` (see `unpack`).

    The cost is half the mean squared distance of the outputs o_k = m({k}) + mixing m(frame) from
    the intervals between ``lower`` and ``upper``, both of shape (n, M), plus ``regularization``
    times the sum of the reliabilities. For hard labels both bounds are 1 for the class of the
    object and 0 otherwise.
    """
    gradient = np.empty_like(parameters)
    return _cost(
        X, lower, upper, mixing, regularization, parameters, gradient
    ), gradient


def network_masses(
    X: np.ndarray,
    prototypes: np.ndarray,
    gamma: np.ndarray,
    alpha: np.ndarray,
    u: np.ndarray,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """Return the masses of n objects on M classes and the frame, shape (n, M + 1)."""
    out = np.empty((len(X), u.shape[1] + 1))
    with block_map(n_jobs) as apply:
        network = (prototypes, gamma, alpha, u)
        apply(_masses, [(X, a, b, *network, out) for a, b in row_blocks(len(X))])
    return out


# ---- initial prototypes --------------------------------------------------------------------------


def _cluster_classes(
    problem: Problem, total: int, rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return initial prototypes, beta and mean squared distances from k-means within each class."""
    weights = problem.indicators
    members = [np.flatnonzero(weights[:, k] > 0) for k in range(weights.shape[1])]
    n_unique = [len(np.unique(problem.data[rows], axis=0)) for rows in members]
    count = allocate(weights.sum(axis=0), n_unique, total)
    parts = []
    for k in np.flatnonzero(count):
        rows = members[k]
        centers, cluster = k_means(problem.data[rows], count[k], rng, weights[rows, k])
        beta = np.full((len(centers), weights.shape[1]), _INITIAL_BETA)
        beta[:, k] += 1
        parts.append((centers, beta, _spreads(problem.data[rows], centers, cluster)))
    prototypes, betas, spreads = map(np.concatenate, zip(*parts, strict=True))
    return prototypes, betas, spreads


def _cluster_all(
    problem: Problem, total: int, rng: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return initial prototypes, beta and mean squared distances from k-means of all objects."""
    centers, cluster = k_means(problem.data, total, rng)
    proportion = np.zeros((len(centers), problem.indicators.shape[1]))
    np.add.at(proportion, cluster, problem.indicators)
    proportion /= np.maximum(
        proportion.sum(axis=1, keepdims=True), np.finfo(float).tiny
    )
    # A beta of exactly zero would never change, because the derivative with respect to it is zero.
    return (
        centers,
        np.sqrt(proportion) + _INITIAL_BETA,
        _spreads(problem.data, centers, cluster),
    )


def _spreads(X: np.ndarray, centers: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Return the mean squared distance of the objects of each cluster from its center."""
    squared = ((X - centers[cluster]) ** 2).sum(axis=1)
    sizes = np.bincount(cluster, minlength=len(centers))
    return np.bincount(cluster, squared, len(centers)) / np.maximum(sizes, 1)
