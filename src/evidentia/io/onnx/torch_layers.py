"""Layers of torch, as operators of ONNX: those that follow one after the other, each from one table to another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from evidentia.io.onnx.graph import Value

__all__ = ["plain_layers", "through_layers"]


def plain_layers(module: Any) -> list[Any]:
    """The layers of a network one after the other; other networks are refused."""
    return list(_unfolded(module))


def _unfolded(module: Any) -> Iterator[Any]:
    from torch import nn

    if type(module) is nn.Sequential:
        for layer in module:
            yield from _unfolded(layer)
    elif type(module) in _kinds():
        yield module
    else:
        known = ", ".join(sorted(kind.__name__ for kind in _kinds()))
        raise TypeError(
            f"a network of torch must be a Sequential of the layers {known}, got {type(module).__name__}: others "
            "cannot be exported"
        )


def _kinds() -> dict[type, Any]:
    from torch import nn

    return {
        nn.Linear: _linear,
        nn.BatchNorm1d: _normalised,
        nn.ReLU: lambda layer, x: x.relu(),
        nn.LeakyReLU: lambda layer, x: x.relu() - layer.negative_slope * (-x).relu(),
        nn.Tanh: lambda layer, x: x.graph.node("Tanh", x),
        nn.Sigmoid: lambda layer, x: x.graph.node("Sigmoid", x),
        nn.Softmax: lambda layer, x: x.softmax(),
        nn.Identity: lambda layer, x: x,
        nn.Dropout: lambda layer, x: x,  # in a network that is not being trained
        nn.Flatten: lambda layer, x: x,  # of a table
    }


def through_layers(layers: list[Any], inputs: Value) -> Value:
    """What the layers make of a table."""
    kinds = _kinds()
    for layer in layers:
        inputs = kinds[type(layer)](layer, inputs)
    return inputs


def _linear(layer: Any, inputs: Value) -> Value:
    outputs = inputs @ _numbers(layer.weight).T
    return outputs if layer.bias is None else outputs + _numbers(layer.bias)


def _normalised(layer: Any, inputs: Value) -> Value:
    if layer.running_mean is None:
        raise ValueError("a BatchNorm1d must have track_running_stats=True to be exported")
    scale = 1 / np.sqrt(_numbers(layer.running_var) + layer.eps)
    shift = -_numbers(layer.running_mean) * scale
    if layer.affine:
        weight = _numbers(layer.weight)
        scale, shift = scale * weight, shift * weight + _numbers(layer.bias)
    return inputs * scale + shift


def _numbers(tensor: Any) -> np.ndarray:
    return tensor.detach().double().cpu().numpy()
