"""Networks of torch, as operators of ONNX.

Layers that follow one after the other are written here, each from one table to another. Any other network is asked what
it does by torch itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.onnx.graph import OPSET, Value

__all__ = ["network_features", "network_outputs"]


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


# ---- layers one after the other -------------------------------------------------------------------------------------


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


# ---- any network ----------------------------------------------------------------------------------------------------


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
