"""The model of NN-EVCLUS: attributes in, masses out, with an optional unit that recognises outliers.

Notation of Denoeux (2021), "NN-EVCLUS: Neural network-based evidential clustering", Information Sciences 572.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["MassNetwork", "Preparation", "feed_forward", "weight_penalty"]

_ROWS_AT_ONCE = 65_536


def feed_forward(n_inputs: int, hidden: Sequence[int], n_outputs: int, generator: torch.Generator) -> nn.Sequential:
    """Rectified linear layers; weights and biases uniform on +-1 / sqrt(inputs + 1)."""
    sizes = [n_inputs, *hidden, n_outputs]
    layers: list[nn.Module] = []
    for k, (a, b) in enumerate(pairwise(sizes)):
        layer = nn.Linear(a, b, dtype=torch.float64)
        bound = 1 / np.sqrt(a + 1)
        with torch.no_grad():
            for parameter in (layer.weight, layer.bias):
                parameter.copy_((2 * torch.rand(parameter.shape, generator=generator, dtype=torch.float64) - 1) * bound)
        layers.append(layer)
        if k < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


class MassNetwork(nn.Module):
    """Masses m* = (1 - g) m + g e_empty: softmax of a network's outputs, of which a share g goes to the empty set.

    Parameters
    ----------
    body : module with as many outputs as there are focal sets
    empty : position of the empty set, None if the family lacks it
    convention : {"program", "paper"}
        g = eta / (1 + eta) with eta = softplus(b0 + b1 h), starting from (0, -1), as in the published program and
        appendices; or 1 - g = eta / (1 + eta), starting from (0, 1), as in equations 12 and 13.
    detector : bool
        Whether there is an outlier unit; h is then given with the inputs, positive inside the region of the data.
    """

    def __init__(self, body: nn.Module, empty: int | None, *, detector: bool, convention: str = "program"):
        super().__init__()
        self.body = body
        self.empty = empty
        self.convention = convention
        dtype = next((p.dtype for p in body.parameters()), torch.float64)
        start = [0.0, -1.0] if convention == "program" else [0.0, 1.0]
        self.coefficients = nn.Parameter(torch.tensor(start, dtype=dtype)) if detector else None

    def forward(self, x: Any, h: Any = None) -> Any:
        return self.with_outliers(torch.softmax(self.body(x), dim=1), h)

    def with_outliers(self, m: Any, h: Any) -> Any:
        if self.coefficients is None:
            return m
        g = self.mass_to_empty(h)[:, None]
        unit = nn.functional.one_hot(torch.tensor(self.empty, device=m.device), m.shape[1]).to(m.dtype)
        return (1 - g) * m + g * unit

    def mass_to_empty(self, h: Any) -> Any:
        """g, the share of mass that goes to the empty set."""
        assert self.coefficients is not None
        eta = nn.functional.softplus(self.coefficients[0] + self.coefficients[1] * h)
        share = eta / (1 + eta)
        return share if self.convention == "program" else 1 - share


def weight_penalty(body: nn.Module) -> Any:
    """Half the sum over layers of the mean squared weights, biases included (Denoeux, 2021, eq. 10)."""
    total: Any = 0.0
    for layer in body.modules():
        own = list(layer.parameters(recurse=False))
        if own:
            total = total + sum((p**2).sum() for p in own) / sum(p.numel() for p in own)
    return total / 2


@dataclass
class Preparation:
    """What happens to an object before the network sees it: standardisation, and the value of the detector."""

    mean: np.ndarray
    scale: np.ndarray
    detector: Any = None
    detector_scale: float = 1.0

    def inputs(self, X: np.ndarray) -> np.ndarray:
        return (X - self.mean) / self.scale

    def decision(self, inputs: np.ndarray) -> np.ndarray | None:
        """Decision values over their standard deviation among the training objects; positive inside."""
        if self.detector is None:
            return None
        flat = inputs.reshape(len(inputs), -1)
        parts = [self.detector.decision_function(flat[s : s + 10_000]) for s in range(0, len(flat), 10_000)]
        return np.concatenate(parts).astype(float).reshape(-1) / self.detector_scale

    def masses(self, network: MassNetwork, X: np.ndarray, device: str) -> np.ndarray:
        """Masses of objects by a forward pass, in blocks; of the precision of X."""
        parameter = next(network.parameters())
        precision = torch.float32 if X.dtype == np.float32 else torch.float64
        out: np.ndarray | None = None
        network.eval()
        with torch.no_grad():
            for start in range(0, len(X), _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                inputs = self.inputs(X[rows])
                h = self.decision(inputs)
                x = torch.as_tensor(inputs, dtype=parameter.dtype).to(device)
                hx = None if h is None else torch.as_tensor(h, dtype=parameter.dtype).to(device)
                m = network(x, hx).to(precision)
                if out is None:
                    out = np.empty((len(X), m.shape[1]), dtype=X.dtype)
                torch.from_numpy(out[rows]).copy_(m.div_(m.sum(dim=1, keepdim=True)))
        assert out is not None
        return out
