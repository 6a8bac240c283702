"""What comes before or inside an estimator of dempster, as operators of ONNX.

From scikit-learn: pipelines of scalers and principal components, hidden layers of perceptrons, one-class support vector
machines. From torch: layers that follow one after the other are written here, each from one table to another; any other
network is exported by torch itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import OneClassSVM

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.onnx.graph import OPSET, Value, centred, maximum, minimum, squared_distances


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


# ---- networks of torch ----------------------------------------------------------------------------------------------


def network_outputs(module: Any, inputs: Value, shape: tuple[int, ...]) -> Value:
    """What a network that is not being trained makes of objects of a given shape."""
    layers = list(_unfolded(module)) if len(shape) == 1 else [None]
    return _traced(module, inputs, shape) if None in layers else _through(layers, inputs)


def network_features(module: Any, inputs: Value, shape: tuple[int, ...]) -> Value:
    """What the last linear layer of a network sees."""
    from torch import nn

    last = [layer for layer in module.modules() if isinstance(layer, nn.Linear)][-1]
    layers = list(_unfolded(module)) if len(shape) == 1 else [None]
    if None not in layers:
        return _through(layers[: layers.index(last)], inputs)

    class Before(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network, self.last = module, last

        def forward(self, objects: Any) -> Any:
            seen: list[Any] = []
            handle = self.last.register_forward_pre_hook(lambda layer, given: seen.append(given[0]))
            try:
                self.network(objects)
            finally:
                handle.remove()
            return seen[-1]

    return _traced(Before(), inputs, shape)


def _unfolded(module: Any) -> Iterator[Any]:
    """The layers of a network one after the other, None for one that is not known."""
    from torch import nn

    if type(module) is nn.Sequential:
        for layer in module:
            yield from _unfolded(layer)
    else:
        yield module if type(module) in _kinds() else None


def _through(layers: list[Any], inputs: Value) -> Value:
    kinds = _kinds()
    for layer in layers:
        inputs = kinds[type(layer)](layer, inputs)
    return inputs


def _kinds() -> dict[type, Any]:
    from torch import nn

    return {
        nn.Linear: _linear,
        nn.ReLU: lambda layer, x: x.relu(),
        nn.Tanh: lambda layer, x: x.graph.node("Tanh", x),
        nn.Sigmoid: lambda layer, x: x.graph.node("Sigmoid", x),
        nn.Dropout: lambda layer, x: x,  # in a network that is not being trained
        nn.Softmax: lambda layer, x: x.softmax(),
    }


def _linear(layer: Any, inputs: Value) -> Value:
    outputs = inputs @ _numbers(layer.weight).T
    return outputs if layer.bias is None else outputs + _numbers(layer.bias)


def _numbers(tensor: Any) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()


def _traced(module: Any, inputs: Value, shape: tuple[int, ...]) -> Value:
    """What torch says that a network does."""
    import copy
    import tempfile
    from pathlib import Path

    import onnx
    import torch

    first = next(module.parameters(), torch.zeros(1))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what torch recommends instead needs further packages
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
                f"torch cannot tell the operators of the network {type(module).__name__}: {words}"
            ) from error
        found = onnx.load(path)
    given = inputs.astype(torch.zeros(1, dtype=first.dtype).numpy().dtype)
    return inputs.graph.inserted(found, given).astype(inputs.dtype)
