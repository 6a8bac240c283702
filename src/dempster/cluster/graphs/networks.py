"""The network of NN-EVCLUS (`evclus.network`), as operators of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster.io.onnx.formulas import softplus
from dempster.io.onnx.graph import Value

__all__ = ["dense_layers", "layer_of_masses"]


def dense_layers(inputs: Value, layers: list[tuple[np.ndarray, np.ndarray]]) -> Value:
    """(n, f) scores at the end of rectified linear layers."""
    for matrix, biases in layers[:-1]:
        inputs = (inputs @ matrix + biases).relu()
    matrix, biases = layers[-1]
    return inputs @ matrix + biases


def layer_of_masses(scores: Value, layer: Any, n_sets: int, unit: tuple[np.ndarray, Value] | None) -> Value:
    """(n, f) masses: the softmax of the scores, of which the outlier unit gives a share to the empty set.

    Parameters
    ----------
    scores : Value
    layer : MassLayer
    n_sets : int
    unit : (coefficients, decision) or None
        The two coefficients of the outlier unit, and (n, 1) values of the detector.
    """
    masses = scores.softmax()
    if unit is None:
        return masses
    coefficients, decision = unit
    eta = softplus(decision * coefficients[1] + coefficients[0])
    share = (eta / (eta + 1) if layer.convention == "program" else 1 / (eta + 1)).astype(scores.dtype)
    return (1 - share) * masses + share * np.eye(n_sets)[layer.empty]
