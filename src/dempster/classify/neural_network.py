"""The evidential neural network: prototypes as pieces of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._native import interruptible, kernel
from dempster._types import ArrayLike, Seed
from dempster.belief import FocalSets
from dempster.classify._prototype_network import (
    NETWORK_RULES,
    Cost,
    Problem,
    PrototypeNetworkClassifier,
    clustered,
    shares,
)
from dempster.optimize.blocks import block_map, row_blocks
from dempster.optimize.descent import Run

# The kernels are in neural_network.c, which states the model.
_masses = kernel("""network_masses(
    X: float64[n, p], start: int up to n, stop: int up to n, prototypes: float64[r, p], gamma: float64[r],
    alpha: float64[r], u: float64[r, n_classes], out: float64[n, n_classes + 1] out)""")
_cost = kernel("""network_cost(
    X: float64[n, p], lower: float64[n, n_classes], upper: float64[n, n_classes], mixing: float, mu: float,
    parameters: float64[q], gradient: float64[q] out) -> float""")
_descent = kernel("""network_minimum(
    X: float64[n, p], lower: float64[n, n_classes], upper: float64[n, n_classes], mixing: float, mu: float,
    parameters: float64[q] out, held: bool[q], memory: int, max_iter: int, tol: float, gradient_tol: float,
    history: float64[max_iter + 1] out, outcome: int64[2] out)""")

_MEMORY = 20  # of L-BFGS
_MAX_RELIABILITY = 0.99  # bound of alpha: no prototype is beyond doubt, and no product is zero
_FIRST_SCALE = 0.5  # gamma times the root mean square distance in the cluster, at first
_BLUR = 0.1  # share of the other classes in the first memberships


class EvidentialNeuralNetworkClassifier(PrototypeNetworkClassifier):
    """Evidential neural network: a few prototypes, each a piece of evidence that fades with distance.

    Prototype i, of reliability alpha_i, scale gamma_i and memberships u_ik to the classes, supports class k of an
    object at distance d with the mass alpha_i exp(-gamma_i^2 d^2 / 2) u_ik and leaves the rest to the whole set of
    classes. Dempster's rule combines the prototypes: far from all of them nothing is left but ignorance. Prototypes,
    reliabilities, scales and memberships are learnt together; they minimise

        sum_n |o_n - t_n|^2 / (2 N)  +  regularization sum_i alpha_i,    o_nk = m_n({k}) + mixing m_n(frame),

    t_nk being 1 for the class of object n and 0 otherwise. The second term switches prototypes off.

    Attributes should have comparable scales: distances are Euclidean.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        In all. "auto": five for each class (or as many as there are different objects).
    regularization : float >= 0, sequence of float or "cv", default=0
        Strength of the regularisation. A sequence or "cv" (0 and 1e-5 to 1e-2): the one with the smallest
        cross-validated squared error.
    mixing : float in [0, 1] or None, default=1
        Share of the mass of the whole frame in the outputs: 1 compares plausibilities with the labels, 0 beliefs, None
        (1 / n_classes, as in the R package evclass) pignistic probabilities.
    optimize_prototypes : bool, default=True
        Whether the prototypes move, or stay where k-means put them.
    cv : int, default=5
        Parts of the cross-validation.
    init : {"auto", "classes", "all"}, default="auto"
        First prototypes: "classes", k-means within each class, as evenly as its objects allow; "all", k-means of all
        objects, with the class proportions of each cluster as memberships. "auto": "classes" if there are two
        prototypes or more for each class.
    n_init : int, default=10
        Starts, of which the one with the smallest cost is kept.
    max_iter : int, default=1000
        Iterations of L-BFGS.
    tol : float, default=1e-6
        Decrease of the cost that ends them.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    prototypes_ : array of shape (n_prototypes, n_features)
    memberships_ : array of shape (n_prototypes, n_classes)
    reliabilities_ : array of shape (n_prototypes,)
        alpha, below 0.99.
    gamma_ : array of shape (n_prototypes,)
    regularization_ : float
    cv_losses_ : dict of float to float
        Cross-validated error for each strength that was tried.
    focal_sets_ : FocalSets
        The single classes and the whole frame.
    objective_, history_, n_iter_, converged_
        Cost at the end and after each iteration, their number, and whether ``tol`` was reached.

    Notes
    -----
    Soft labels: ``fit(X, y)`` takes `MassFunctions` as y. An output is compared with the interval from the belief to
    the plausibility of the class under the label, inside which it costs nothing. Certain labels give the loss above,
    probabilities likewise, and vacuous labels have no effect on the loss.

    References
    ----------
    T. Denoeux (2000). A neural network classifier based on Dempster-Shafer theory. IEEE Trans. SMC A 30.

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

    _any_scale = True
    _rules: Mapping[str, rule.Rule] = {
        **NETWORK_RULES,
        "mixing": rule.choice(None) | rule.real(0, 1),
        "init": rule.choice("auto", "classes", "all"),
    }
    _strengths = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)

    def __init__(
        self,
        n_prototypes: int | str = "auto",
        *,
        regularization: float | ArrayLike | str = 0.0,
        mixing: float | None = 1.0,
        optimize_prototypes: bool = True,
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
        self.optimize_prototypes = optimize_prototypes
        self.cv = cv
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- starts ---------------------------------------------------------------------------------------------------

    def _start(self, problem: Problem, n_prototypes: int, rng: np.random.RandomState) -> np.ndarray:
        n_classes = problem.indicators.shape[1]
        by_class = self.init == "classes" or (self.init == "auto" and n_prototypes >= 2 * n_classes)
        if by_class and n_prototypes < n_classes:
            raise InvalidParameterError(
                "n_prototypes", f"at least the number of classes, {n_classes}, when init='classes'", n_prototypes
            )
        found = _within_classes(problem, n_prototypes, rng) if by_class else _among_all(problem, n_prototypes, rng)
        prototypes, beta, spread = found
        # They are wide: at the typical distance in the cluster, nearly nine tenths of the support are left
        overall = float(spread.mean()) or 1.0
        gamma = _FIRST_SCALE / np.sqrt(np.where(spread > 1e-3 * overall, spread, overall))
        return np.concatenate([prototypes.ravel(), gamma, beta.ravel(), np.zeros(len(gamma))])

    def _held(self, start: np.ndarray) -> np.ndarray:
        per_prototype = self.n_features_in_ + len(self.classes_) + 2
        n_coordinates = len(start) // per_prototype * self.n_features_in_
        return (np.arange(len(start)) < n_coordinates) & (not self.optimize_prototypes)

    # ---- the model ------------------------------------------------------------------------------------------------

    def _constants(self, problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Return what the cost depends on, besides the parameters and the strength of the regularisation."""
        mixing = 1 / len(self.classes_) if self.mixing is None else float(self.mixing)
        return problem.data, problem.belief, problem.contour, mixing

    def _cost(self, problem: Problem, strength: float) -> Cost:
        constants = self._constants(problem)
        return lambda parameters: network_cost(parameters, *constants, strength)

    def _minimum(self, problem: Problem, strength: float, start: np.ndarray) -> Run[np.ndarray]:
        """Do what the base class does in one compiled loop, which leaves the threads to others."""
        history, outcome, tol = np.empty(self.max_iter + 1), np.empty(2, np.int64), float(self.tol)
        parameters, constants = start.copy(), (*self._constants(problem), strength)
        interruptible(
            _descent, *constants, parameters, self._held(start), _MEMORY, self.max_iter, tol, tol / 10, history, outcome
        )
        n_iter, converged = outcome.tolist()
        return Run(parameters, (history[1 : n_iter + 1] if n_iter else history[:1]).tolist(), bool(converged))

    def _set_model(self, parameters: np.ndarray, n_features: int) -> None:
        prototypes, gamma, beta, xi = unpacked(parameters, n_features, len(self.classes_))
        self.focal_sets_ = FocalSets.simple(len(self.classes_), empty=False)
        self.memberships_ = memberships(beta)
        self.reliabilities_ = reliabilities(xi)
        self.prototypes_ = prototypes * self._unit + self._centre
        self.gamma_ = np.abs(gamma) / self._unit
        self._network = (np.ascontiguousarray(prototypes), gamma.copy(), self.reliabilities_, self.memberships_)

    def _masses(self, X: np.ndarray) -> np.ndarray:
        return network_masses(self._in_unit(X), *self._network, self.n_jobs)


# ---- parameters, cost and masses as functions of arrays --------------------------------------------------------------


def unpacked(parameters: np.ndarray, n_features: int, n_classes: int) -> tuple[np.ndarray, ...]:
    """Split a vector of parameters into views: prototypes (r, p), gamma (r,), beta (r, M) and xi (r,)."""
    r = len(parameters) // (n_features + n_classes + 2)
    at_gamma, at_beta, at_xi = r * n_features, r * (n_features + 1), r * (n_features + 1 + n_classes)
    return (
        parameters[:at_gamma].reshape(r, n_features),
        parameters[at_gamma:at_beta],
        parameters[at_beta:at_xi].reshape(r, n_classes),
        parameters[at_xi:],
    )


def memberships(beta: np.ndarray) -> np.ndarray:
    """Compute u_ik = beta_ik^2 / sum_l beta_il^2."""
    return beta**2 / np.maximum((beta**2).sum(axis=1, keepdims=True), np.finfo(float).tiny)


def reliabilities(xi: np.ndarray) -> np.ndarray:
    """Compute alpha_i = 0.99 / (1 + exp(-xi_i))."""
    return _MAX_RELIABILITY * 0.5 * (1 + np.tanh(xi / 2))


def network_cost(
    parameters: np.ndarray, X: np.ndarray, lower: np.ndarray, upper: np.ndarray, mixing: float, regularization: float
) -> tuple[float, np.ndarray]:
    """Compute the cost and its exact gradient with respect to prototypes, gamma, beta and xi, in one vector.

    The cost is half the mean over objects of the squares of the outputs' excess over their bounds, plus
    ``regularization`` times the sum of the reliabilities. ``lower`` and ``upper`` are the (n, M) bounds of the outputs
    o_k = m({k}) + mixing m(frame): both are the indicators where classes are known.
    """
    gradient = np.empty_like(parameters)
    return _cost(X, lower, upper, mixing, regularization, parameters, gradient), gradient


def network_masses(
    X: np.ndarray,
    prototypes: np.ndarray,
    gamma: np.ndarray,
    alpha: np.ndarray,
    u: np.ndarray,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """Compute the (n, M + 1) masses of the classes and the frame."""
    out = np.empty((len(X), u.shape[1] + 1))
    with block_map(n_jobs) as apply:
        apply(_masses, [(X, a, b, prototypes, gamma, alpha, u, out) for a, b in row_blocks(len(X))])
    return out


# ---- first prototypes ------------------------------------------------------------------------------------------------


def _within_classes(problem: Problem, total: int, rng: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find prototypes by k-means within each class (soft labels: weighted by the share of the class)."""
    weights = problem.indicators
    members = [np.flatnonzero(weights[:, k] > 0) for k in range(weights.shape[1])]
    different = [len(np.unique(problem.data[rows], axis=0)) for rows in members]
    count = shares(weights.sum(axis=0), different, total)
    parts = []
    for k, rows in enumerate(members):
        if count[k] == 0:
            continue
        centres, cluster = clustered(problem.data[rows], weights[rows, k], count[k], rng)
        beta = np.full((len(centres), weights.shape[1]), _BLUR)
        beta[:, k] += 1
        parts.append((centres, beta, _spreads(problem.data[rows], centres, cluster)))
    prototypes, betas, spreads = (np.concatenate([part[j] for part in parts]) for j in range(3))
    return prototypes, betas, spreads


def _among_all(problem: Problem, total: int, rng: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find prototypes by k-means of all objects; memberships from the class proportions in the clusters."""
    centres, cluster = clustered(problem.data, np.ones(len(problem)), total, rng)
    proportion = np.zeros((len(centres), problem.indicators.shape[1]))
    np.add.at(proportion, cluster, problem.indicators)
    proportion /= np.maximum(proportion.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    # A membership of exactly zero would stay there: its derivative is zero.
    return centres, np.sqrt(proportion) + _BLUR, _spreads(problem.data, centres, cluster)


def _spreads(X: np.ndarray, centres: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Compute the mean squared distance to the centre in each cluster."""
    squared = ((X - centres[cluster]) ** 2).sum(axis=1)
    return np.bincount(cluster, squared, len(centres)) / np.maximum(np.bincount(cluster, minlength=len(centres)), 1)
