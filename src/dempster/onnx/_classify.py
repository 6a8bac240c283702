"""Export of classifiers to ONNX."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._arrays import is_network
from dempster._errors import InvalidParameterError
from dempster.belief import FocalSets
from dempster.classify._weights import LOG_ZERO
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
    squares = np.square(estimator.gamma_)
    indicators = np.eye(n_classes)
    rates = take(squares[codes], which, nearest.dtype)
    supports = estimator._reliability * (-nearest * rates).exp()
    is_class = take(indicators[codes], which, nearest.dtype)
    logs = (1 - supports).log()
    logs = logs.reshape(0, estimator.n_neighbors_, 1) * is_class
    weights = -logs.sum().reshape(0, n_classes)
    top = weights.max()
    relative = (weights - top).exp()
    singles = (1 - (-weights).exp()) * relative
    frame = (-top).exp()
    masses = concatenate(singles, frame)
    return masses / masses.sum()


def masses_of_labels(estimator: EKNNClassifier, nearest: Value, which: Value) -> Value:
    """Return the masses of `EKNNClassifier` with soft labels on f focal sets, shape (n, f)."""
    labels: Any = estimator._soft
    rate = float(estimator.gamma_[0]) ** 2
    supports = estimator._reliability * (nearest.double() * -rate).exp()
    supports = supports.reshape(0, estimator.n_neighbors_, 1)
    missing = take(labels.missing, which, np.float64)
    logs = (1 - supports * missing).log()
    logs = logs.sum().reshape(0, len(labels.family))
    commonalities = (logs - logs.max()).exp()
    inverse = np.linalg.inv(labels._supersets)
    masses = (commonalities @ inverse.T).relu()
    shares = masses / masses.sum()
    return shares.astype(nearest.dtype)


def responses(rows: Value, prototypes: np.ndarray, gamma: np.ndarray) -> Value:
    """Return the activations exp(-gamma_i^2 d_i^2 / 2) of r prototypes, shape (n, r)."""
    rates = -0.5 * np.square(gamma)
    squares = squares_of(rows, prototypes)
    return (squares * rates).exp()


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
    others = support.reshape(0, r, 1) * (1 - u)
    logs_of_A = (1 - others).log().sum()
    logs_of_A = logs_of_A.reshape(0, n_classes)
    log_of_B = (1 - support).log().sum()
    # Divide the products by the largest one to avoid underflow; the masses are ratios.
    top = logs_of_A.max()
    A = (logs_of_A - top).exp()
    B = (log_of_B - top).exp()
    total = A.sum() - (n_classes - 1) * B
    singles = (A - B).relu()
    return concatenate(singles, B) / total


def evidence_masses(
    features: Value, slopes: np.ndarray, offsets: np.ndarray, family: FocalSets
) -> Value:
    """Return masses on f focal sets, shape (n, f), from features (n, J).

    See `WeightsOfEvidence.masses`.
    """
    J, n_classes = slopes.shape
    weights = features.double().reshape(0, J, 1) * slopes + offsets
    support = weights.relu().sum()
    opposition = (-weights).relu().sum()
    logs = _log_masses(
        support.reshape(0, n_classes), opposition.reshape(0, n_classes), family
    )
    masses = logs.exp()
    if len(family) < 2**n_classes - 1:
        is_frame = np.arange(len(family)) == family.omega_index
        masses = masses * ~is_frame
        rest = (1 - masses.sum()).relu()
        masses = masses + rest * is_frame
    shares = masses / masses.sum()
    return shares.astype(features.dtype)


def _log_masses(support: Value, opposition: Value, family: FocalSets) -> Value:
    """Return the logarithms of the normalized masses.

    See `WeightsOfEvidence._log_masses` in `dempster.classify`.
    """
    inside = family.membership.T
    against = _log_complement(opposition)
    every = support.sum()
    logs = against @ ~inside - opposition @ inside - every
    single = _log_complement(support) - (every - support) - opposition
    # See `WeightsOfEvidence._log_agreement`.
    before = against.cumsum(exclusive=True)
    terms = concatenate(before - opposition - every, single)
    largest = terms.max()
    total = (terms - largest).exp().sum()
    agreement = largest + total.log()
    is_own = np.arange(len(family)) == family.singleton_index[:, None]
    has_no_own = ~is_own.any(axis=0)
    own = single @ is_own + LOG_ZERO * has_no_own
    top = maximum(logs, own)
    both = (logs - top).exp() + (own - top).exp()
    return maximum(top + both.log(), LOG_ZERO) - agreement


def _log_complement(weights: Value) -> Value:
    """Return log(1 - exp(-w)) for weights w >= 0, computed by a power series if w is small."""
    is_small = weights < 1e-5
    series = weights * (1 - weights * (0.5 - weights / 6.0))
    direct = 1 - (-weights).exp()
    complement = where(is_small, series, direct)
    return maximum(complement.log(), LOG_ZERO)


def _export_neighbors(estimator: EKNNClassifier, X: Value) -> Value:
    if estimator.metric == "precomputed":
        squares = X * X
    elif minkowski_power(estimator.metric) == 2:
        search = estimator._search
        if isinstance(search, PointTree):
            points = search.points
        else:
            points = search._fit_X
        squares = squared_distances(X, points)
    else:
        expected = "'euclidean' or 'precomputed' to export"
        raise InvalidParameterError("metric", expected, estimator.metric)
    nearest, which = squares.smallest(estimator.n_neighbors_)
    if estimator._soft is None:
        return masses_of_classes(estimator, nearest, which)
    return masses_of_labels(estimator, nearest, which)


def _export_radial_basis(estimator: EvidentialRBFClassifier, X: Value) -> Value:
    rows = center_rows(X, estimator._centre, estimator._unit)
    features = responses(rows, *estimator._network)
    weights = estimator.prototype_weights_
    slopes = weights - weights.mean(axis=1, keepdims=True)
    offsets = np.zeros_like(slopes)
    return evidence_masses(features, slopes, offsets, estimator.focal_sets_)


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
        *transformers, (_, last) = estimator.steps
        inputs = apply_steps(transformers, X)
        return _features(last, inputs)
    if hasattr(estimator, "coefs_"):
        *hidden, _ = zip(estimator.coefs_, estimator.intercepts_, strict=True)
        for weights, biases in hidden:
            X = activate(estimator.activation, X @ weights + biases)
    return X


EXPORTED: Mapping[type, Callable[[Any, Value], Value]] = {
    EKNNClassifier: _export_neighbors,
    EvidentialNeuralNetworkClassifier: network_masses,
    EvidentialRBFClassifier: _export_radial_basis,
    EvidenceFromClassifier: _export_evidence,
}
