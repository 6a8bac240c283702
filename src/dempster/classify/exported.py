"""Which classifiers can be written as ONNX graphs, and how each makes masses of attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._parameters import shown
from dempster.classify._linear_layer import is_network
from dempster.classify.eknn import EKNNClassifier
from dempster.classify.evidence import EvidenceFromClassifier
from dempster.classify.graphs.neighbours import masses_of_classes, masses_of_labels
from dempster.classify.graphs.prototypes import network_masses, responses
from dempster.classify.graphs.weights import evidence_masses
from dempster.classify.neural_network import EvidentialNeuralNetworkClassifier
from dempster.classify.rbf import EvidentialRBFClassifier
from dempster.dissimilarity.point_tree import PointTree, minkowski_power
from dempster.io.onnx.formulas import centred, squared_distances
from dempster.io.onnx.graph import Value

__all__ = ["EXPORTED", "label_shares"]


def _of_neighbours(estimator: EKNNClassifier, X: Value) -> Value:
    if estimator.metric == "precomputed":
        squares = X * X
    elif minkowski_power(estimator.metric, estimator.metric_params) == 2:
        squares = squared_distances(X, _training_objects(estimator))
    else:
        metric = estimator.metric if isinstance(estimator.metric, str) else "a function"
        raise ValueError(
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
    from dempster.io.onnx.scikit_learn import activated, transformed
    from dempster.io.onnx.torch_layers import network_features

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


def label_shares(estimator: Any) -> np.ndarray:
    """(f, M) what the mass of each set adds to the score of each class; the largest score is the class predicted."""
    family = estimator.focal_sets_
    inside = family.membership.astype(float)
    return inside if estimator._probability == "plausibility" else inside / family.cardinality[:, None]
