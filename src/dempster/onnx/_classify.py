"""Which classifiers can be written as ONNX graphs, and how each makes masses of attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.belief import FocalSets
from dempster.classify.eknn import EKNNClassifier
from dempster.classify.evidence import EvidenceFromClassifier, is_network
from dempster.classify.neural_network import EvidentialNeuralNetworkClassifier
from dempster.classify.rbf import EvidentialRBFClassifier
from dempster.dissimilarity.neighbors import PointTree, minkowski_power
from dempster.onnx.graph import Value, centred, concatenated, maximum, squared_distances, squares_of, take, where


def masses_of_classes(
    squares: Value, n_neighbors: int, codes: np.ndarray, gamma: np.ndarray, reliability: float
) -> Value:
    """(n, M + 1) masses of the classes and the frame, from (n, r) squared distances to the training objects."""
    nearest, which = squares.smallest(n_neighbors)
    supports = reliability * (-nearest * take(np.square(gamma)[codes], which, squares.dtype)).exp()
    of_class = take(np.eye(len(gamma))[codes], which, squares.dtype)
    weights = -((1 - supports).log().reshape(0, n_neighbors, 1) * of_class).sum().reshape(0, len(gamma))
    top = weights.max()
    masses = concatenated((1 - (-weights).exp()) * (weights - top).exp(), (-top).exp())
    return masses / masses.sum()


def masses_of_labels(squares: Value, n_neighbors: int, labels: Any, gamma: float, reliability: float) -> Value:
    """(n, f) masses on the family of soft labels, which neighbours keep a share of; masses are differences of
    commonalities, which double precision keeps apart.

    Parameters
    ----------
    squares : Value
    n_neighbors : int
    labels : SoftLabels
    gamma, reliability : float
    """
    nearest, which = squares.smallest(n_neighbors)
    supports = reliability * (nearest.double() * -(gamma**2)).exp()
    f = len(labels.family)
    kept = 1 - supports.reshape(0, n_neighbors, 1) * take(labels.missing, which, np.float64)
    logs = kept.log().sum().reshape(0, f)
    masses = ((logs - logs.max()).exp() @ np.linalg.inv(labels._supersets).T).relu()
    return (masses / masses.sum()).astype(squares.dtype)


def responses(rows: Value, prototypes: np.ndarray, gamma: np.ndarray) -> Value:
    """(n, r) exp(-gamma_i^2 d^2 / 2) of the prototypes; both are in the unit of the training objects."""
    return (squares_of(rows, prototypes) * (-0.5 * np.square(gamma))).exp()


def network_masses(rows: Value, prototypes: np.ndarray, gamma: np.ndarray, alpha: np.ndarray, u: np.ndarray) -> Value:
    """(n, M + 1) masses of the classes and the frame. With s_i what prototype i lends, m({k}) is proportional to
    A_k - B and m(frame) to B, A_k the product of 1 - s_i (1 - u_ik) and B that of 1 - s_i."""
    r, n_classes = u.shape
    lent = responses(rows, prototypes, gamma) * alpha
    logs_of_A = (1 - lent.reshape(0, r, 1) * (1 - u)).log().sum().reshape(0, n_classes)
    log_of_B = (1 - lent).log().sum()
    top = logs_of_A.max()  # only ratios matter
    A, B = (logs_of_A - top).exp(), (log_of_B - top).exp()
    return concatenated((A - B).relu(), B) / (A.sum() - (n_classes - 1) * B)


_NEVER = -1e300  # logarithm of zero that survives a multiplication by zero


def evidence_masses(features: Value, slopes: np.ndarray, offsets: np.ndarray, family: FocalSets) -> Value:
    """(n, f) masses from (n, J) features: on all nonempty sets, or on the single classes and the frame, which takes
    what belongs to other sets."""
    J, n_classes = slopes.shape
    weights = features.double().reshape(0, J, 1) * slopes + offsets
    support, opposition = (part.relu().sum().reshape(0, n_classes) for part in (weights, -weights))
    masses = _log_masses(support, opposition, family).exp()
    if len(family) < 2**n_classes - 1:
        single = np.arange(len(family)) != family.omega_index
        masses = masses * single.astype(float)
        masses = masses + (1 - masses.sum()).relu() * (~single).astype(float)
    return (masses / masses.sum()).astype(features.dtype)


def _log_masses(support: Value, opposition: Value, family: FocalSets) -> Value:
    """Logarithms of masses: of prod_k b_k prod_{k in A} a_k prod_{k not in A} (1 - a_k), a singleton with that of its
    own support besides, after division by one minus the conflict."""
    inside = family.membership.astype(float)
    against = _log_complement(opposition)
    every = support.sum()
    logs = against @ (1 - inside).T - opposition @ inside.T - every
    single = _log_complement(support) - (every - support) - opposition
    agreement = _log_agreement(opposition, against, every, single)
    columns = np.zeros((inside.shape[1], len(family)))
    columns[np.arange(inside.shape[1]), family.singleton_index] = 1
    own = single @ columns + _NEVER * (1 - columns.sum(axis=0))
    top = maximum(logs, own)
    both = top + ((logs - top).exp() + (own - top).exp()).log()
    return maximum(both, _NEVER) - agreement


def _log_agreement(opposition: Value, against: Value, every: Value, single: Value) -> Value:
    """(n, 1) logarithm of one minus the conflict: 1 - prod_k (1 - a_k) is the sum of a_k prod_{l < k} (1 - a_l)."""
    before = against.cumsum(exclusive=True)
    logs = concatenated(before - opposition - every, single)
    top = logs.max()
    return top + (logs - top).exp().sum().log()


def _log_complement(weights: Value) -> Value:
    """log(1 - exp(-w)) for w >= 0, from the digits of w where it is small."""
    small = weights * (1 - weights * (0.5 - weights / 6.0))
    return maximum(where(weights < 1e-5, small, 1 - (-weights).exp()).log(), _NEVER)


def _of_neighbours(estimator: EKNNClassifier, X: Value) -> Value:
    if estimator.metric == "precomputed":
        squares = X * X
    elif minkowski_power(estimator.metric, estimator.metric_params) == 2:
        squares = squared_distances(X, _training_objects(estimator))
    else:
        metric = estimator.metric if isinstance(estimator.metric, str) else "a function"
        raise InvalidInputError(
            f"EKNNClassifier can be exported with metric='euclidean' or 'precomputed', got {shown(metric)}"
        )
    k, reliability = estimator.n_neighbors_, estimator._reliability
    if estimator._soft is not None:
        return masses_of_labels(squares, k, estimator._soft, float(estimator.gamma_[0]), reliability)
    assert estimator._codes is not None
    return masses_of_classes(squares, k, estimator._codes, estimator.gamma_, reliability)


def _training_objects(estimator: EKNNClassifier) -> np.ndarray:
    found = estimator._search
    return found.points if isinstance(found, PointTree) else vars(found)["_fit_X"]


def _of_prototypes(estimator: EvidentialNeuralNetworkClassifier, X: Value) -> Value:
    return network_masses(centred(X, estimator._centre, estimator._unit), *estimator._network)


def _of_radial_basis(estimator: EvidentialRBFClassifier, X: Value) -> Value:
    features = responses(centred(X, estimator._centre, estimator._unit), *estimator._network)
    weights = estimator.prototype_weights_
    slopes = weights - weights.mean(axis=1, keepdims=True)
    return evidence_masses(features, slopes, np.zeros_like(slopes), estimator.focal_sets_)


def _of_evidence(estimator: EvidenceFromClassifier, X: Value) -> Value:
    features = _features(estimator.estimator_, X)
    return evidence_masses(features, estimator.slopes_, estimator.offsets_, estimator.focal_sets_)


def _features(estimator: Any, X: Value) -> Value:
    """What the last layer of a classifier sees (`_linear_layer`)."""
    from dempster.onnx.layers import activated, network_features, transformed

    if is_network(estimator):
        return network_features(estimator, X, X.graph.shape)
    if hasattr(estimator, "steps"):
        return _features(estimator[-1], transformed(estimator.steps[:-1], X))
    if hasattr(estimator, "coefs_"):
        for weights, biases in zip(estimator.coefs_[:-1], estimator.intercepts_[:-1], strict=True):
            X = activated(estimator.activation, X @ weights + biases)
    return X


EXPORTED: Mapping[type, Callable[[Any, Value], Value]] = {
    EKNNClassifier: _of_neighbours,
    EvidentialNeuralNetworkClassifier: _of_prototypes,
    EvidentialRBFClassifier: _of_radial_basis,
    EvidenceFromClassifier: _of_evidence,
}
