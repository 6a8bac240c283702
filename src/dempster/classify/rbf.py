"""Evidential radial basis function network classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from scipy.spatial.distance import cdist

from dempster import _validation as rule
from dempster._types import ArrayLike, ArrayPair, Objective, Seed
from dempster.classify._prototype_network import (
    NETWORK_RULES,
    Problem,
    PrototypeNetworkClassifier,
)
from dempster.classify._weights import WeightsOfEvidence, evidence_family
from dempster.optimize.k_means import k_means

_RIDGE = 1e-2  # penalty of the ridge regression that gives the initial weights


class EvidentialRBFClassifier(PrototypeNetworkClassifier):
    r"""Radial basis function network with a softmax output, interpreted as weights of evidence.

    The activation of prototype i by an object at distance d is :math:`s_i = \exp(-\gamma_i^2 d^2 /
    2)`. The score of class k is :math:`a_k = \sum_i w_{ik} s_i`, and the softmax of the scores
    gives the probabilities pi_k. The prototypes, the scales gamma_i and the weights w_ik maximize

    .. math::

        \frac{1}{N} \sum_n \log \pi_{n,y(n)} - \mathrm{regularization} \sum_{i,k} w_{ik}^2,

    where :math:`\pi_{n,y(n)}` is the probability of the true class y(n) of object n, and N is the
    number of objects.

    The value of w_ik s_i minus its mean over the classes is a weight of evidence for (positive) or
    against (negative) class k. Dempster's rule combines the weights into a mass function whose
    normalized plausibilities are the pi_k. The mass function is vacuous far from all prototypes.
    Distances are Euclidean, so attributes should have comparable scales.

    Parameters
    ----------
    n_prototypes : int or "auto", default="auto"
        Number of initial prototypes; "auto": five per class, but at most the number of unique
        objects. They are the centers of k-means clusters of all objects; clusters with a single
        object are removed.
    focal_sets : {"auto", "full", "simple"}, default="auto"
        Sets of classes that may carry mass. "full" uses all nonempty sets. "simple" uses the single
        classes and the frame, and adds the mass of all sets between them to the frame. "auto" is
        "full" for at most twelve classes and "simple" for more.
    regularization : float >= 0, sequence of float or "cv", default=1e-3
        Strength of the regularization; a sequence or "cv": selected by cross-validation. With 0 the
        weights diverge if the classes are separable. The value with the largest cross-validated
        likelihood is selected; "cv" selects one of five values from 1e-5 to 1e-1.
    cv : int, default=5
        Number of folds of the cross-validation.
    n_init : int, default=5
        Number of optimizations with different random initial values; the best one is selected.
    max_iter : int, default=1000
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-5
        Improvement of the objective in an iteration at which the optimization stops.
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
    gamma_ : array of shape (n_prototypes,)
        Scale gamma_i of each prototype.
    prototype_weights_ : array of shape (n_prototypes, n_classes)
        Weights w_ik.
    regularization_, cv_losses_ : float and dict of float to float
        Strength of the regularization, and cross-validated negative log-likelihood for each
        strength.
    focal_sets_ : FocalSets
        Focal sets of the predicted masses.
    objective_, history_, n_iter_, converged_
        Final value of the negative objective, its value after each iteration, number of iterations,
        and whether the optimization converged within ``max_iter`` iterations.

    Notes
    -----
    y may contain soft labels (`MassFunctions`). The likelihood of an object is then :math:`\sum_k
    pl_k \pi_k`, where pl_k is the plausibility of class k under the label of the object. A vacuous
    label has no effect.

    References
    ----------
    T. Denoeux (2019). Logistic regression, neural networks and Dempster-Shafer theory: a new
    perspective. Knowledge-Based Systems 176. C. Huang, S. Ruan, P. Decazes and T. Denoeux (2022).
    Lymphoma segmentation from 3D PET-CT images using a deep evidential network. Int. J. Approximate
    Reasoning 149.

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

    prototype_weights_: Annotated[np.ndarray, "r n_classes"]
    _network: tuple[Annotated[np.ndarray, "r n_features"], Annotated[np.ndarray, "r"]]

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
        self.cv = cv
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- the network -----------------------------------------------------------------------------

    def _start(
        self, problem: Problem, n_prototypes: int, rng: np.random.RandomState
    ) -> np.ndarray:
        """Return prototypes by k-means, scales from mean distances, and weights by regression."""
        prototypes, cluster = k_means(problem.data, n_prototypes, rng)
        is_single = np.bincount(cluster, minlength=len(prototypes)) < 2
        if not is_single.all():
            prototypes = prototypes[~is_single]
        squared = cdist(problem.data, prototypes, "sqeuclidean")
        spread = squared.mean(axis=0)
        gamma = 1 / np.sqrt(np.where(spread > 0, spread, 1.0))
        features = np.exp(-0.5 * gamma**2 * squared)
        # Prototypes with a small gamma have nearly collinear activations, so the linear system
        # needs a ridge penalty.
        gram = features.T @ features / len(problem) + _RIDGE * np.eye(len(gamma))
        weights = np.linalg.solve(gram, features.T @ problem.indicators / len(problem))
        return np.concatenate([prototypes.ravel(), gamma, weights.ravel()])

    def _cost(self, problem: Problem, strength: float) -> Objective:
        return lambda parameters: network_cost(
            parameters, problem.data, problem.contour, strength
        )

    def _set_model(self, parameters: np.ndarray, n_features: int) -> None:
        n_classes = len(self.classes_)
        prototypes, gamma, self.prototype_weights_ = unpack(
            parameters, n_features, n_classes
        )
        self.focal_sets_ = evidence_family(self.focal_sets, n_classes)
        self.prototypes_ = prototypes * self._unit + self._centre
        self.gamma_ = np.abs(gamma) / self._unit
        self._network = prototypes.copy(), gamma.copy()

    def _evidence(self, X: np.ndarray) -> WeightsOfEvidence:
        prototypes, gamma = self._network
        return compute_evidence(
            self._apply_scale(X), prototypes, gamma, self.prototype_weights_
        )

    def _compute_masses(self, X: np.ndarray) -> np.ndarray:
        return self._evidence(X).masses(self.focal_sets_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities, the softmax of the scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, with columns in the order of ``classes_``.
        """
        return self._evidence(self._validate_new(X)).probabilities


# ---- parameters, cost and evidence as functions of arrays ----------------------------------------


def unpack(
    parameters: np.ndarray, n_features: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split the parameters into the prototypes (r, p), gamma (r,) and the weights (r, M)."""
    r = len(parameters) // (n_features + n_classes + 1)
    prototypes, gamma, weights = np.split(parameters, np.cumsum([r * n_features, r]))
    return prototypes.reshape(r, n_features), gamma, weights.reshape(r, n_classes)


def network_cost(
    parameters: np.ndarray, X: np.ndarray, contour: np.ndarray, regularization: float
) -> tuple[float, np.ndarray]:
    """Compute the regularized negative mean log-likelihood and its gradient."""
    prototypes, gamma, weights = unpack(parameters, X.shape[1], contour.shape[1])
    squared = cdist(X, prototypes, "sqeuclidean")
    s = np.exp(-0.5 * gamma**2 * squared)
    scores = s @ weights
    total, log_total = _softmax(scores)
    # Exclude the scores of impossible classes from the offset of the softmax, because they may be
    # much larger.
    possible, log_likelihood = _softmax(np.where(contour > 0, scores, -np.inf), contour)
    delta = possible - total
    n = len(X)
    d_weights = -s.T @ delta / n + 2 * regularization * weights
    pull = (delta @ weights.T) * s / n
    d_gamma = gamma * (pull * squared).sum(axis=0)
    d_prototypes = -(gamma**2)[:, None] * (
        pull.T @ X - pull.sum(axis=0)[:, None] * prototypes
    )
    cost = float(
        (log_total - log_likelihood).mean() + regularization * (weights**2).sum()
    )
    return cost, np.concatenate([d_prototypes.ravel(), d_gamma, d_weights.ravel()])


def _softmax(scores: np.ndarray, weights: np.ndarray | float = 1.0) -> ArrayPair:
    """Return the weighted exponentials, normalized to sum 1 in each row, and the log of the sum."""
    largest = scores.max(axis=1, keepdims=True)
    terms = weights * np.exp(scores - largest)
    sums = terms.sum(axis=1, keepdims=True)
    return terms / sums, np.log(sums) + largest


def compute_evidence(
    X: np.ndarray, prototypes: np.ndarray, gamma: np.ndarray, weights: np.ndarray
) -> WeightsOfEvidence:
    """Compute the weights of evidence, which are zero for objects far from all prototypes."""
    features = np.exp(-0.5 * gamma**2 * cdist(X, prototypes, "sqeuclidean"))
    slopes = weights - weights.mean(axis=1, keepdims=True)
    return WeightsOfEvidence.from_features(features, slopes, np.zeros_like(slopes))
