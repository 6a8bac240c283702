"""Radial basis function network whose output is a mass function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._types import ArrayLike, Seed
from dempster.classify._prototype_network import (
    NETWORK_RULES,
    Cost,
    Problem,
    PrototypeNetworkClassifier,
    clustered,
)
from dempster.classify._weights import WeightsOfEvidence, evidence_family

_RIDGE = 1e-2  # of the first weights


class EvidentialRBFClassifier(PrototypeNetworkClassifier):
    """Radial basis function network with a softmax output, read as weights of evidence.

    Prototype i responds to an object at distance d with s_i = exp(-gamma_i^2 d^2 / 2). The scores of the classes are
    a_k = sum_i w_ik s_i, and their softmax gives the probabilities pi_k. Prototypes, scales and weights maximise

        sum_n log pi_n,y(n) / N  -  regularization sum_ik w_ik^2.

    The same network says more than probabilities: w_ik s_i, less its mean over the classes, is a weight of evidence,
    for class k where it is positive and against it where it is negative. Dempster's rule combines them into a mass
    function whose plausibilities, divided by their sum, are the pi_k. Far from all prototypes it is vacuous.

    Attributes should have comparable scales: distances are Euclidean.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        First prototypes, found by k-means of all objects; those alone in their cluster are left out. "auto": five for
        each class (or as many as there are different objects).
    focal_sets : {"auto", "full", "simple"}, default="auto"
        "full": all sets of classes. "simple": the single classes and the whole frame, which takes the mass of the
        other sets. "auto": "full" up to twelve classes.
    regularization : float >= 0, sequence of float or "cv", default=1e-3
        Strength of the regularisation. Without it the weights of separable classes grow without end. A sequence or
        "cv" (1e-5 to 1e-1): the one with the largest cross-validated likelihood.
    optimize_prototypes : bool, default=True
        Whether prototypes move, or stay where k-means put them.
    cv : int, default=5
        Parts of the cross-validation.
    n_init : int, default=5
        Starts, of which the one with the largest objective is kept.
    max_iter : int, default=1000
        Iterations of L-BFGS.
    tol : float, default=1e-5
        Gain that ends them.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    prototypes_ : array of shape (n_prototypes, n_features)
    gamma_ : array of shape (n_prototypes,)
    prototype_weights_ : array of shape (n_prototypes, n_classes)
    regularization_ : float
    cv_losses_ : dict of float to float
        Cross-validated minus log-likelihood for each strength that was tried.
    focal_sets_ : FocalSets
    objective_, history_, n_iter_, converged_
        Minus the objective above at the end and after each iteration, their number, and whether ``tol`` was reached.

    Notes
    -----
    Soft labels: ``fit(X, y)`` takes `MassFunctions` as y. The likelihood of an object is sum_k pl_k pi_k, pl_k being
    the plausibility of class k under its label; a vacuous label has no effect.

    References
    ----------
    T. Denoeux (2019). Logistic regression, neural networks and Dempster-Shafer theory: a new perspective.
    Knowledge-Based Systems 176. C. Huang, S. Ruan, P. Decazes and T. Denoeux (2022). Lymphoma segmentation from 3D
    PET-CT images using a deep evidential network. Int. J. Approximate Reasoning 149.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.classify import EvidentialRBFClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidentialRBFClassifier(5, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.predict_mass([[50, 34, 15, 2]]).mass((0, 1, 2)).round(3)  # far from all prototypes
    array([1.])
    """

    _rules: Mapping[str, rule.Rule] = {
        **NETWORK_RULES,
        "focal_sets": rule.choice("auto", "full", "simple"),
    }
    _strengths = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    _probability = "plausibility"

    def __init__(
        self,
        n_prototypes: int | str = "auto",
        *,
        focal_sets: str = "auto",
        regularization: float | ArrayLike | str = 1e-3,
        optimize_prototypes: bool = True,
        cv: int = 5,
        n_init: int = 5,
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Seed = None,
        n_jobs: int | None = -1,
    ):
        self.n_prototypes = n_prototypes
        self.focal_sets = focal_sets
        self.regularization = regularization
        self.optimize_prototypes = optimize_prototypes
        self.cv = cv
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- the network ----------------------------------------------------------------------------------------------

    def _start(self, problem: Problem, n_prototypes: int, rng: np.random.RandomState) -> np.ndarray:
        """Run k-means; scales from the mean squared distance of all objects; weights by least squares."""
        prototypes, cluster = clustered(problem.data, np.ones(len(problem)), n_prototypes, rng)
        alone = np.bincount(cluster, minlength=len(prototypes)) < 2
        if not alone.all():
            prototypes = prototypes[~alone]
        squared = _squared_distances(problem.data, prototypes)
        spread = squared.mean(axis=0)
        gamma = 1 / np.sqrt(np.where(spread > 0, spread, 1.0))
        features = np.exp(-0.5 * gamma**2 * squared)
        # wide prototypes respond much alike: plain least squares would give them huge weights of opposite signs
        gram = features.T @ features / len(problem) + _RIDGE * np.eye(len(gamma))
        weights = np.linalg.solve(gram, features.T @ problem.indicators / len(problem))
        return np.concatenate([prototypes.ravel(), gamma, weights.ravel()])

    def _held(self, start: np.ndarray) -> np.ndarray:
        per_prototype = self.n_features_in_ + len(self.classes_) + 1
        n_coordinates = len(start) // per_prototype * self.n_features_in_
        return (np.arange(len(start)) < n_coordinates) & (not self.optimize_prototypes)

    def _cost(self, problem: Problem, strength: float) -> Cost:
        return lambda parameters: network_cost(parameters, problem.data, problem.contour, strength)

    def _set_model(self, parameters: np.ndarray, n_features: int) -> None:
        n_classes = len(self.classes_)
        prototypes, gamma, self.prototype_weights_ = unpacked(parameters, n_features, n_classes)
        self.focal_sets_ = evidence_family(self.focal_sets, n_classes)
        self.prototypes_ = prototypes * self._unit + self._centre
        self.gamma_ = np.abs(gamma) / self._unit
        self._network = prototypes.copy(), gamma.copy()

    def _evidence(self, X: np.ndarray) -> WeightsOfEvidence:
        prototypes, gamma = self._network
        return evidence(self._in_unit(X), prototypes, gamma, self.prototype_weights_)

    def _masses(self, X: np.ndarray) -> np.ndarray:
        return self._evidence(X).masses(self.focal_sets_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, n_classes) the softmax of the scores: plausibilities of the classes divided by their sum."""
        check_is_fitted(self, "classes_")
        return self._evidence(self._checked_objects(X, reset=False)).probabilities


# ---- parameters, cost and evidence as functions of arrays ------------------------------------------------------------


def unpacked(parameters: np.ndarray, n_features: int, n_classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split a vector of parameters into prototypes (r, p), gamma (r,) and weights (r, M)."""
    r = len(parameters) // (n_features + n_classes + 1)
    prototypes, gamma, weights = np.split(parameters, np.cumsum([r * n_features, r]))
    return prototypes.reshape(r, n_features), gamma, weights.reshape(r, n_classes)


def network_cost(
    parameters: np.ndarray, X: np.ndarray, contour: np.ndarray, regularization: float
) -> tuple[float, np.ndarray]:
    """Compute minus the mean log-likelihood, regularised, and its gradient in prototypes, gamma and weights.

    ``contour`` holds the (n, M) plausibilities of the classes: 1 for the class and 0 for the others where it is known.
    """
    prototypes, gamma, weights = unpacked(parameters, X.shape[1], contour.shape[1])
    squared = _squared_distances(X, prototypes)
    s = np.exp(-0.5 * gamma**2 * squared)
    scores = s @ weights
    total, log_total = _softmax(scores)
    # impossible classes must not decide what is subtracted: their scores may be far above the others
    possible, log_likelihood = _softmax(np.where(contour > 0, scores, -np.inf), contour)
    delta = possible - total
    n = len(X)
    d_weights = -s.T @ delta / n + 2 * regularization * weights
    pull = (delta @ weights.T) * s / n
    d_gamma = gamma * (pull * squared).sum(axis=0)
    d_prototypes = -(gamma**2)[:, None] * (pull.T @ X - pull.sum(axis=0)[:, None] * prototypes)
    cost = float((log_total - log_likelihood).mean() + regularization * (weights**2).sum())
    return cost, np.concatenate([d_prototypes.ravel(), d_gamma, d_weights.ravel()])


def _softmax(scores: np.ndarray, weights: np.ndarray | float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted exponentials divided by their sum, and the logarithm of that sum."""
    largest = scores.max(axis=1, keepdims=True)
    terms = weights * np.exp(scores - largest)
    sums = terms.sum(axis=1, keepdims=True)
    return terms / sums, np.log(sums) + largest


def evidence(X: np.ndarray, prototypes: np.ndarray, gamma: np.ndarray, weights: np.ndarray) -> WeightsOfEvidence:
    """Compute the weights of evidence of the prototypes, which are zero far from all of them."""
    features = np.exp(-0.5 * gamma**2 * _squared_distances(X, prototypes))
    slopes = weights - weights.mean(axis=1, keepdims=True)
    return WeightsOfEvidence.from_features(features, slopes, np.zeros_like(slopes))


def _squared_distances(X: np.ndarray, prototypes: np.ndarray) -> np.ndarray:
    return cdist(X, prototypes, "sqeuclidean")
