"""ONNX operators for components of scikit-learn and torch.

Supported components of scikit-learn are scalers and principal components in pipelines, hidden
layers of perceptrons, and one-class support vector machines. Sequences of common torch layers are
translated here, and other torch networks are exported by torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import OneClassSVM

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.classify.evidence import run_network
from dempster.onnx.graph import (
    OPSET,
    Value,
    center_rows,
    maximum,
    minimum,
    squared_distances,
)


def apply_steps(steps: Any, X: Value) -> Value:
    """Return X after the transformations in the steps of a scikit-learn pipeline."""
    for name, step in steps:
        if step is None or step == "passthrough":
            continue
        if type(step) is Pipeline:
            X = apply_steps(step.steps, X)
            continue
        if type(step) not in _STEPS:
            names = ", ".join(kind.__name__ for kind in _STEPS)
            raise InvalidParameterError(
                "estimator",
                message=f"the step {name!r} of the pipeline must be one of {names}, "
                f"got {type(step).__name__}",
            )
        X = _STEPS[type(step)](step, X)
    return X


def _into_range(step: Any, X: Value) -> Value:
    scaled = (X.double() * step.scale_ + step.min_).astype(X.dtype)
    if not step.clip:
        return scaled
    low, high = step.feature_range
    return maximum(minimum(scaled, high), low)


def _components(step: Any, X: Value) -> Value:
    scores = center_rows(X, step.mean_) @ step.components_.T
    if not step.whiten:
        return scores
    variance = step.explained_variance_
    return scores / np.sqrt(np.maximum(variance, np.finfo(variance.dtype).eps))


def _standardize(X: Value, center: Any, scale: Any) -> Value:
    """Center and scale X, each unless the argument is None."""
    return center_rows(
        X, 0.0 if center is None else center, 1.0 if scale is None else scale
    )


_STEPS: dict[type, Callable[[Any, Value], Value]] = {
    StandardScaler: lambda step, X: _standardize(
        X, step.mean_ if step.with_mean else None, step.scale_
    ),
    MinMaxScaler: _into_range,
    MaxAbsScaler: lambda step, X: _standardize(X, None, step.scale_),
    RobustScaler: lambda step, X: _standardize(X, step.center_, step.scale_),
    PCA: _components,
}
_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh", "logistic": "Sigmoid"}


def activate(name: str, values: Value) -> Value:
    """Apply an activation function of scikit-learn's perceptrons."""
    if name == "identity":
        return values
    return values.graph.node(_ACTIVATIONS[name], values)


def decision_values(detector: Any, inputs: Value) -> Value:
    """Return the decision values of an outlier detector, shape (n, 1)."""
    if type(detector) is not OneClassSVM or detector.kernel != "rbf":
        raise InvalidParameterError(
            "outlier_detector", "a OneClassSVM with kernel='rbf', or None", detector
        )
    # Unlike the parameter gamma, this attribute is always a number.
    width = float(vars(detector)["_gamma"])
    similarity = (squared_distances(inputs, detector.support_vectors_) * -width).exp()
    return similarity @ detector.dual_coef_.T + detector.intercept_


# ---- networks of torch ---------------------------------------------------------------------------


def network_features(module: Any, inputs: Value, shape: tuple[int, ...]) -> Value:
    """Return the inputs of the last linear layer of a torch module."""
    from torch import nn

    last = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1]

    class Before(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = module
            self.last = last

        def forward(self, x: Any) -> Any:
            return run_network(self.network, self.last, x)[0]

    return network_outputs(Before(), inputs, shape)


def network_outputs(module: Any, inputs: Value, shape: tuple[int, ...]) -> Value:
    """Return the outputs of a torch module, exported by torch, in evaluation mode."""
    import copy
    import tempfile
    from pathlib import Path

    import onnx
    import torch

    first = next(module.parameters(), torch.zeros(1))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Torch recommends a newer exporter, which needs additional packages.
        warnings.simplefilter("ignore")
        path = Path(folder, "network.onnx")
        try:
            torch.onnx.export(
                copy.deepcopy(module).cpu().eval(),
                (torch.zeros((2, *shape), dtype=first.dtype),),
                path,
                dynamo=False,
                opset_version=OPSET,
                input_names=["objects"],
                output_names=["outputs"],
                dynamic_axes={"objects": {0: "n"}, "outputs": {0: "n"}},
            )
        except Exception as error:
            words = " ".join(str(error).split()) or type(error).__name__
            raise InvalidInputError(
                f"torch cannot export {type(module).__name__} to ONNX: {words}"
            ) from error
        exported = onnx.load(path)
    cast_inputs = inputs.astype(torch.zeros(1, dtype=first.dtype).numpy().dtype)
    return inputs.graph.insert(exported, cast_inputs).astype(inputs.dtype)
