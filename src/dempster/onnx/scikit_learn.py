"""What scikit-learn does before, or within, an estimator of dempster, as operators of ONNX.

Pipelines of scalers and principal components; the hidden layers of perceptrons; one-class support vector machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import OneClassSVM

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.onnx.formulas import centred, squared_distances
from dempster.onnx.graph import Value, maximum, minimum

__all__ = ["activated", "decision_values", "transformed"]


def transformed(steps: Any, X: Value) -> Value:
    """Objects after the steps of a pipeline."""
    for name, step in steps:
        if step is None or step == "passthrough":
            continue
        if type(step) is Pipeline:
            X = transformed(step.steps, X)
            continue
        if type(step) not in _STEPS:
            known = ", ".join(kind.__name__ for kind in _STEPS)
            raise InvalidInputError(
                f"the step {name!r} of the pipeline must be one of {known}, got {type(step).__name__}"
            )
        X = _STEPS[type(step)](step, X)
    return X


def _standard(step: Any, X: Value) -> Value:
    return centred(X, step.mean_ if step.with_mean else 0.0, step.scale_ if step.with_std else 1.0)


def _robust(step: Any, X: Value) -> Value:
    return centred(X, step.center_ if step.with_centering else 0.0, step.scale_ if step.with_scaling else 1.0)


def _into_range(step: Any, X: Value) -> Value:
    scaled = (X.double() * step.scale_ + step.min_).astype(X.dtype)
    low, high = step.feature_range
    return maximum(minimum(scaled, high), low) if step.clip else scaled


def _largest(step: Any, X: Value) -> Value:
    return centred(X, 0.0, step.scale_)


def _components(step: Any, X: Value) -> Value:
    found = centred(X, step.mean_) @ step.components_.T
    if not step.whiten:
        return found
    variance = step.explained_variance_
    return found / np.sqrt(np.maximum(variance, np.finfo(variance.dtype).eps))


_STEPS: dict[type, Callable[[Any, Value], Value]] = {
    StandardScaler: _standard,
    MinMaxScaler: _into_range,
    MaxAbsScaler: _largest,
    RobustScaler: _robust,
    PCA: _components,
}


def activated(name: str, values: Value) -> Value:
    """What a unit makes of its sum, by the name that scikit-learn's perceptrons have for it."""
    match name:
        case "identity":
            return values
        case "relu":
            return values.relu()
        case "tanh" | "logistic":
            return values.graph.node("Tanh" if name == "tanh" else "Sigmoid", values)
    raise InvalidInputError(f"the activation must be 'identity', 'relu', 'tanh' or 'logistic', got {shown(name)}")


def decision_values(detector: Any, inputs: Value) -> Value:
    """(n, 1) decision values of a detector of outliers."""
    if type(detector) is not OneClassSVM or detector.kernel != "rbf":
        kernel = f" with kernel={detector.kernel!r}" if type(detector) is OneClassSVM else ""
        raise InvalidInputError(
            f"outlier_detector must be a OneClassSVM with kernel='rbf', or None, got {type(detector).__name__}{kernel}"
        )
    width = float(vars(detector)["_gamma"])  # a number, also where "scale" was asked for
    alike = (squared_distances(inputs, detector.support_vectors_) * -width).exp()
    return alike @ detector.dual_coef_.T + detector.intercept_
