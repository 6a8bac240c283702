"""The model of NN-EVCLUS: attributes in, masses out, with an optional unit that recognises outliers.

Notation of Denoeux (2021), "NN-EVCLUS: Neural network-based evidential clustering", Information Sciences 572.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from evidentia.belief import FocalSets
from evidentia.cluster.evclus.network._preparation import Preparation
from evidentia.optimize.blocks import Apply

__all__ = ["MassNetwork", "NetworkModel", "feed_forward", "weight_penalty"]

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

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        """(n, f) masses of objects, from their inputs and the decision values of the detector."""
        m = torch.softmax(self.body(x), dim=1)
        if self.coefficients is None:
            return m
        if h is None:
            raise ValueError("a network with an outlier unit needs the decision values of the detector")
        g = self.mass_to_empty(h)[:, None]
        unit = nn.functional.one_hot(torch.tensor(self.empty, device=m.device), m.shape[1]).to(m.dtype)
        return (1 - g) * m + g * unit

    def mass_to_empty(self, h: Tensor) -> Tensor:
        """g, the share of mass that goes to the empty set."""
        assert self.coefficients is not None
        eta = nn.functional.softplus(self.coefficients[0] + self.coefficients[1] * h)
        share = eta / (1 + eta)
        return share if self.convention == "program" else 1 - share


def weight_penalty(body: nn.Module) -> Tensor:
    """Half the sum over layers of the mean squared weights, biases included (Denoeux, 2021, eq. 10)."""
    total = torch.zeros(())
    for layer in body.modules():
        own = list(layer.parameters(recurse=False))
        if own:
            squares = torch.stack([(p**2).sum() for p in own]).sum()
            total = total.to(squares) + squares / sum(p.numel() for p in own)
    return total / 2


@dataclass(frozen=True)
class NetworkModel:
    """A trained network with everything needed to turn an object into masses.

    Attributes
    ----------
    family : FocalSets
    network : MassNetwork
    preparation : Preparation
    validation : tuple of float
        Errors on held-out pairs along the training, where there were any.
    """

    family: FocalSets
    network: MassNetwork
    preparation: Preparation
    validation: tuple[float, ...] = ()

    def masses(self, values: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of objects by a forward pass, in blocks; of their precision. Torch has threads of its own."""
        parameter = next(self.network.parameters())
        precision = torch.float32 if values.dtype == np.float32 else torch.float64
        out = np.empty((len(values), len(self.family)), dtype=values.dtype)
        self.network.eval()
        with torch.no_grad():
            for start in range(0, len(values), _ROWS_AT_ONCE):
                rows = slice(start, start + _ROWS_AT_ONCE)
                inputs = self.preparation.inputs(values[rows])
                h = self.preparation.decision(inputs)
                x = torch.as_tensor(inputs, dtype=parameter.dtype).to(parameter.device)
                hx = None if h is None else torch.as_tensor(h, dtype=parameter.dtype).to(parameter.device)
                m = self.network(x, hx).to(precision)
                torch.from_numpy(out[rows]).copy_(m.div_(m.sum(dim=1, keepdim=True)))
        return out
