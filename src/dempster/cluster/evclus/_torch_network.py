"""Networks of NN-EVCLUS with a torch module of the user, and arrays on a device."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dempster._arrays import Array, to_host
from dempster._errors import InvalidParameterError
from dempster.belief import FocalSets
from dempster.cluster.evclus._network import MassLayer, MassNetwork
from dempster.data.device import to_tensor
from dempster.optimize.blocks import Apply


def validate_module(
    module: nn.Module, shape: tuple[int, ...], family: FocalSets
) -> nn.Module:
    """Return a copy of a module of the user.

    Raise an error if it does not return one score per focal set.
    """
    body = copy.deepcopy(module).eval()
    f = len(family)
    with torch.no_grad():
        rows = torch.zeros((2, *shape), dtype=select_dtype(module, is_full_batch=False))
        output = tuple(body(rows).shape)
    if output != (2, f):
        sets = ", ".join(family.names()[:4])
        must = f"return {f} outputs per row, one for each focal set ({sets}, ...)"
        found = f"two rows gave an output of shape {output}"
        raise InvalidParameterError("network", must=f"{must}; {found}")
    return body


def select_dtype(module: nn.Module | None, *, is_full_batch: bool) -> torch.dtype:
    """Return the precision of a module.

    Without a module, it is double for full batches and single for mini-batches.
    """
    if module is not None:
        return next((p.dtype for p in module.parameters()), torch.float32)
    if is_full_batch:
        return torch.float64
    return torch.float32


class DeviceArrays:
    """Functions that create the arrays for a training as torch tensors on one device."""

    def __init__(self, dtype: torch.dtype, device: str):
        self.dtype = dtype
        self.device = device

    def array(self, values: Array) -> Tensor:
        return to_tensor(values, self.device).to(self.dtype)

    def place(self, values: Array) -> Tensor:
        """Return values on the device, in their precision."""
        return to_tensor(values, self.device)

    def integers(self, values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.device)

    def conflict_function(
        self, points: np.ndarray, gamma: float
    ) -> Callable[[Any], Tensor]:
        """Return a function that computes the target conflicts among some of the points."""
        values = self.place(points)
        # Centering avoids cancellation in the products.
        scaled = (values - values.mean(dim=0)) * (2 * gamma) ** 0.5
        halves = -0.5 * scaled.square().sum(dim=1)

        def conflicts_among(rows: Any) -> Tensor:
            some = scaled[rows]
            half = halves[rows]
            exponent = torch.addmm(half, some, some.T).add_(half[:, None])  # -gamma d^2
            return exponent.expm1_().neg_().fill_diagonal_(0).to(self.dtype)

        return conflicts_among

    @contextmanager
    def session(self, seed: int) -> Iterator[None]:
        """Return a context manager for a training, in which random layers use the seed."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield


def split(
    vector: Tensor, parameters: Iterable[Tensor]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each parameter with its part of a vector, in the shape of the parameter."""
    for parameter in parameters:
        n = parameter.numel()
        yield parameter, vector[:n].view_as(parameter)
        vector = vector[n:]


class TorchNetwork(MassNetwork, nn.Module):
    """Torch module with a `MassLayer` as output layer.

    Without ``matrix``, ``body`` returns one score for each of f focal sets. With a matrix of shape
    (g + 1, f), it returns g values, which the matrix maps to the scores; the last row of the matrix
    contains the biases.
    """

    def __init__(
        self, body: nn.Module, layer: MassLayer, matrix: np.ndarray | None = None
    ):
        super().__init__()
        self.body = body
        self.layer = layer
        self.coefficients = None
        self.matrix = None
        dtype = next((p.dtype for p in body.parameters()), torch.float64)
        if layer.detector:
            coefficients = torch.tensor(layer.first_coefficients, dtype=dtype)
            self.coefficients = nn.Parameter(coefficients)
        if matrix is not None:
            self.matrix = nn.Parameter(torch.tensor(matrix, dtype=dtype))

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        """Return the masses for n inputs x, shape (n, f).

        The tensor ``h`` contains the decision values of the outlier detector.
        """
        return self.layer.forward(self.scores(x), h, self.coefficients)[0]

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores of the f focal sets for n inputs, shape (n, f)."""
        outputs = self.body(x)
        if self.matrix is None:
            return outputs
        return torch.addmm(self.matrix[-1], outputs, self.matrix[:-1])

    def differentiate_scores(
        self, x: Tensor
    ) -> tuple[Tensor, Callable[[Tensor, Tensor | None], Tensor]]:
        scores = self.scores(x)

        def backward(of_scores: Tensor, of_coefficients: Tensor | None) -> Tensor:
            self.zero_grad(set_to_none=True)
            if scores.requires_grad:  # False if all parameters of the body are frozen.
                scores.backward(of_scores)
            if of_coefficients is not None and self.coefficients is not None:
                self.coefficients.grad = of_coefficients
            parts = [
                torch.zeros_like(p) if p.grad is None else p.grad
                for p in self.parameters()
            ]
            return torch.cat([part.reshape(-1) for part in parts])

        return scores.detach(), backward

    def widen(
        self, matrix: np.ndarray, layer: MassLayer, coefficients: np.ndarray
    ) -> TorchNetwork:
        """Return a network with other focal sets and another output layer.

        Its scores are the scores of this network times a matrix, which becomes a parameter.
        """
        unbiased = np.vstack([matrix, np.zeros(matrix.shape[1])])
        wider = TorchNetwork(copy.deepcopy(self.body), layer, unbiased)
        if wider.coefficients is not None:
            with torch.no_grad():
                wider.coefficients.copy_(torch.as_tensor(coefficients))
        return wider.to(next(self.parameters()).device)

    @property
    def weights(self) -> Tensor:
        """All parameters of the network in one vector."""
        return nn.utils.parameters_to_vector(self.parameters()).detach()

    @weights.setter
    def weights(self, values: Array) -> None:
        vector = to_tensor(values, self.device)
        with torch.no_grad():
            for parameter, part in split(vector, self.parameters()):
                parameter.copy_(part)

    @property
    def shares(self) -> Tensor:
        """One divided by the number of trained weights in the layer of each weight.

        Zero without penalty.
        """
        shares = {id(p): torch.zeros_like(p) for p in self.parameters()}
        for layer in self.body.modules():
            own = [p for p in layer.parameters(recurse=False) if p.requires_grad]
            for parameter in own:
                shares[id(parameter)] += 1 / sum(p.numel() for p in own)
        return nn.utils.parameters_to_vector(shares.values())

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def predict_masses(
        self, inputs: Tensor, decision: np.ndarray | None, apply: Apply
    ) -> Tensor:
        """Return the masses for inputs on the device of the network.

        ``apply`` is not used, because torch has its own threads.
        """
        dtype = next(self.parameters()).dtype
        h = None
        if decision is not None:
            h = to_tensor(decision, self.device).to(dtype)
        self.eval()
        with torch.no_grad():
            return self(inputs.to(dtype), h)

    def get_state(self) -> dict[str, np.ndarray]:
        return {
            name: to_host(value).copy() for name, value in self.state_dict().items()
        }

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.load_state_dict(
            {name: torch.as_tensor(value) for name, value in state.items()}
        )
