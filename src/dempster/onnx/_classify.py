"""Export of classifiers to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._arrays import is_network
from dempster._errors import InvalidParameterError
from dempster.belief import FocalSets
from dempster.classify.eknn import EKNNClassifier
from dempster.classify.evidence import EvidenceFromClassifier
from dempster.classify.neural_network import EvidentialNeuralNetworkClassifier
from dempster.classify.rbf import EvidentialRBFClassifier
from dempster.dissimilarity.neighbors import PointTree, minkowski_power
from dempster.onnx.graph import (
    Value,
    center_rows,
    concatenate,
    maximum,
    squared_distances,
    squares_of,
    take,
    where,
)


def masses_of_classes(estimator: EKNNClassifier, nearest: Value, which: Value) -> Value:
    """Return the masses of `EKNNClassifier` on M classes and the frame, shape (n, M + 1).

    ``nearest`` and ``which`` are the squared distances and the positions of the neighbors.
    """
    codes = estimator._codes
    n_classes = len(estimator.gamma_)
    rates = take(np.square(estimator.gamma_)[codes], which, nearest.dtype)
    supports = estimator._reliability * (-nearest * rates).exp()
    is_class = take(np.eye(n_classes)[codes], which, nearest.dtype)
    logs = (1 - supports).log().reshape(0, estimator.n_neighbors_, 1)
    weights = -(logs * is_class).sum().reshape(0, n_classes)
    top = weights.max()
    masses = concatenate((1 - (-weights).exp()) * (weights - top).exp(), (-top).exp())
    return masses / masses.sum()


def masses_of_labels(estimator: EKNNClassifier, nearest: Value, which: Value) -> Value:
    """Return the masses of `EKNNClassifier` with soft labels on f focal sets, shape (n, f)."""
    labels: Any = estimator._soft
    rate = float(estimator.gamma_[0]) ** 2
    supports = estimator._reliability * (nearest.double() * -rate).exp()
    missing = take(labels.missing, which, np.float64)
    commonalities = 1 - supports.reshape(0, estimator.n_neighbors_, 1) * missing
    logs = commonalities.log().sum().reshape(0, len(labels.family))
    masses = ((logs - logs.max()).exp() @ np.linalg.inv(labels._supersets).T).relu()
    return (masses / masses.sum()).astype(nearest.dtype)


def responses(rows: Value, prototypes: np.ndarray, gamma: np.ndarray) -> Value:
    """Return the activations exp(-gamma_i^2 d_i^2 / 2) of r prototypes, shape (n, r)."""
    return (squares_of(rows, prototypes) * (-0.5 * np.square(gamma))).exp()


def network_masses(estimator: EvidentialNeuralNetworkClassifier, X: Value) -> Value:
    """Return the masses of `EvidentialNeuralNetworkClassifier`, shape (n, M + 1).

    They are on M classes and the frame. Let s_i be the mass that prototype i assigns to the
    classes. m({k}) is proportional to A_k - B and m(frame) to B, where A_k is the product of 1 -
    s_i (1 - u_ik) over the prototypes, and B the product of 1 - s_i.
    """
    prototypes, gamma, alpha, u = estimator._network
    r, n_classes = u.shape
    rows = center_rows(X, estimator._centre, estimator._unit)
    support = responses(rows, prototypes, gamma) * alpha
    logs_of_A = (
        (1 - support.reshape(0, r, 1) * (1 - u)).log().sum().reshape(0, n_classes)
    )
    log_of_B = (1 - support).log().sum()
    # Divide the products by the largest one to avoid underflow; the masses are ratios.
    top = logs_of_A.max()
    A = (logs_of_A - top).exp()
    B = (log_of_B - top).exp()
    return concatenate((A - B).relu(), B) / (A.sum() - (n_classes - 1) * B)


_LOG_ZERO = -1e300  # finite substitute for log(0), whose product with zero is zero


def evidence_masses(
    features: Value, slopes: np.ndarray, offsets: np.ndarray, family: FocalSets
) -> Value:
    """Return masses on f focal sets, shape (n, f), from features (n, J).

    See `WeightsOfEvidence.masses`.
    """
    J, n_classes = slopes.shape
    weights = features.double().reshape(0, J, 1) * slopes + offsets
    support, opposition = (
        part.relu().sum().reshape(0, n_classes) for part in (weights, -weights)
    )
    masses = _log_masses(support, opposition, family).exp()
    if len(family) < 2**n_classes - 1:
        single = np.arange(len(family)) != family.omega_index
        masses = masses * single.astype(float)
        masses = masses + (1 - masses.sum()).relu() * (~single).astype(float)
    return (masses / masses.sum()).astype(features.dtype)


def _log_masses(support: Value, opposition: Value, family: FocalSets) -> Value:
    """Return the logarithms of the normalized masses.

    See `WeightsOfEvidence._log_masses` in `dempster.classify`.
    """
    inside = family.membership.astype(float)
    against = _log_complement(opposition)
    every = support.sum()
    logs = against @ (1 - inside).T - opposition @ inside.T - every
    single = _log_complement(support) - (every - support) - opposition
    # See `WeightsOfEvidence._log_agreement`.
    terms = concatenate(against.cumsum(exclusive=True) - opposition - every, single)
    largest = terms.max()
    agreement = largest + (terms - largest).exp().sum().log()
    columns = np.zeros((inside.shape[1], len(family)))
    columns[np.arange(inside.shape[1]), family.singleton_index] = 1
    own = single @ columns + _LOG_ZERO * (1 - columns.sum(axis=0))
    top = maximum(logs, own)
    both = top + ((logs - top).exp() + (own - top).exp()).log()
    return maximum(both, _LOG_ZERO) - agreement


def _log_complement(weights: Value) -> Value:
    """Return log(1 - exp(-w)) for weights w >= 0, computed by a power series if w is small."""
    small = weights * (1 - weights * (0.5 - weights / 6.0))
    return maximum(where(weights < 1e-5, small, 1 - (-weights).exp()).log(), _LOG_ZERO)


def _export_neighbors(estimator: EKNNClassifier, X: Value) -> Value:
    if estimator.metric == "precomputed":
        squares = X * X
    elif minkowski_power(estimator.metric) == 2:
        search = estimator._search
        is_tree = isinstance(search, PointTree)
        squares = squared_distances(
            X, search.points if is_tree else vars(search)["_fit_X"]
        )
    else:
        raise InvalidParameterError(
            "metric", "'euclidean' or 'precomputed' to export", estimator.metric
        )
    combine = masses_of_classes if estimator._soft is None else masses_of_labels
    return combine(estimator, *squares.smallest(estimator.n_neighbors_))


def _export_radial_basis(estimator: EvidentialRBFClassifier, X: Value) -> Value:
    features = responses(
        center_rows(X, estimator._centre, estimator._unit), *estimator._network
    )
    weights = estimator.prototype_weights_
    slopes = weights - weights.mean(axis=1, keepdims=True)
    return evidence_masses(
        features, slopes, np.zeros_like(slopes), estimator.focal_sets_
    )


def _export_evidence(estimator: EvidenceFromClassifier, X: Value) -> Value:
    features = _features(estimator.estimator_, X)
    return evidence_masses(
        features, estimator.slopes_, estimator.offsets_, estimator.focal_sets_
    )


def _features(estimator: Any, X: Value) -> Value:
    """Return the inputs of the last linear layer of a classifier."""
    from dempster.onnx.layers import activate, apply_steps, network_features

    if is_network(estimator):
        return network_features(estimator, X, X.graph.shape)
    if hasattr(estimator, "steps"):
        return _features(estimator[-1], apply_steps(estimator.steps[:-1], X))
    if hasattr(estimator, "coefs_"):
        for weights, biases in zip(
            estimator.coefs_[:-1], estimator.intercepts_[:-1], strict=True
        ):
            X = activate(estimator.activation, X @ weights + biases)
    return X


EXPORTED: Mapping[type, Callable[[Any, Value], Value]] = {
    EKNNClassifier: _export_neighbors,
    EvidentialNeuralNetworkClassifier: network_masses,
    EvidentialRBFClassifier: _export_radial_basis,
    EvidenceFromClassifier: _export_evidence,
}
