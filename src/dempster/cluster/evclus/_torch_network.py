"""Networks of torch for NN-EVCLUS: those of the user, and layers that live on a device."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from dempster._arrays import Array, is_tensor
from dempster._errors import InvalidInputError
from dempster.belief import FocalSets
from dempster.cluster.evclus._network import MassLayer, ValueAndGradient, cross_entropy
from dempster.optimize.blocks import Apply


def feed_forward(sizes: Sequence[int], seed: int) -> nn.Sequential:
    """Rectified linear layers; weights and biases uniform on +-1 / sqrt(inputs + 1)."""
    generator = torch.Generator().manual_seed(seed)
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layer = nn.Linear(a, b, dtype=torch.float64)
        with torch.no_grad():
            for parameter in (layer.weight, layer.bias):
                drawn = torch.rand(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.copy_((2 * drawn - 1) / np.sqrt(a + 1))
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def checked_module(module: nn.Module, shape: tuple[int, ...], family: FocalSets) -> nn.Module:
    """A copy of a network of the user's, if it gives one score for each focal set to objects of this shape."""
    body, f = copy.deepcopy(module), len(family)
    with torch.no_grad():
        body.eval()
        found = tuple(body(torch.zeros((2, *shape), dtype=precision_of(module, whole=False))).shape)
    if found != (2, f):
        raise InvalidInputError(
            f"network must give {f} outputs for each object, one for each focal set "
            f"({', '.join(family.names()[:4])}, ...), but two objects gave shape {found}"
        )
    return body


def precision_of(module: nn.Module | None, *, whole: bool) -> torch.dtype:
    """That of the weights of a network of the user's; otherwise double for whole batches, single for others."""
    if module is not None:
        return next((p.dtype for p in module.parameters()), torch.float32)
    return torch.float64 if whole else torch.float32


class DeviceArrays:
    """Where a training computes: with tensors of one precision on one device."""

    def __init__(self, dtype: torch.dtype, device: str):
        self.dtype, self.device = dtype, device

    def array(self, values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def integers(self, values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.device)

    def to_host(self, array: Tensor) -> np.ndarray:
        return _to_host(array)

    def conflicts_among(self, points: np.ndarray, gamma: float) -> Tensor:
        """As `dempster.dissimilarity.transform.conflicts_among`, on the device."""
        values = torch.as_tensor(points).to(self.device)
        scaled = (values - values.mean(dim=0)) * (2 * gamma) ** 0.5  # products lose digits far from the origin
        half = 0.5 * scaled.square().sum(dim=1)
        exponent = torch.addmm(-half[:, None] - half[None, :], scaled, scaled.T)
        return exponent.clamp_(max=0).expm1_().neg_().fill_diagonal_(0).to(self.dtype)

    @contextmanager
    def session(self, seed: int) -> Iterator[None]:
        """In which a training runs: layers that draw numbers draw them from the seed."""
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield


class TorchNetwork(nn.Module):
    """A network of torch, whose last scores become masses.

    Parameters
    ----------
    body : module with as many outputs as there are focal sets, or as the matrix makes scores from
    layer : MassLayer
    matrix : (g + 1, f) array, optional
        Makes the scores of f sets from g outputs; its last row is added to them.
    """

    def __init__(self, body: nn.Module, layer: MassLayer, matrix: np.ndarray | None = None):
        super().__init__()
        self.body, self.layer = body, layer
        dtype = next((p.dtype for p in body.parameters()), torch.float64)
        start = torch.tensor(layer.first_coefficients, dtype=dtype)
        self.coefficients = nn.Parameter(start) if layer.detector else None
        self.matrix = None if matrix is None else nn.Parameter(torch.tensor(matrix, dtype=dtype))

    def forward(self, x: Tensor, h: Tensor | None = None) -> Tensor:
        """(n, f) masses of objects, from their inputs and the decision values of the detector."""
        return self.layer.forward(self.scores(x), h, self.coefficients)[0]

    def scores(self, x: Tensor) -> Tensor:
        """(n, f) scores of the focal sets."""
        outputs = self.body(x)
        return outputs if self.matrix is None else torch.addmm(self.matrix[-1], outputs, self.matrix[:-1])

    def widened(self, matrix: np.ndarray, layer: MassLayer, coefficients: np.ndarray) -> TorchNetwork:
        """A network whose scores are those of this one times a matrix, which learns along with a copy of the body."""
        unbiased = np.vstack([matrix, np.zeros(matrix.shape[1])])
        wider = TorchNetwork(copy.deepcopy(self.body), layer, unbiased).to(next(self.parameters()).device)
        if wider.coefficients is not None:
            with torch.no_grad():
                wider.coefficients.copy_(torch.as_tensor(coefficients))
        return wider

    @property
    def weights(self) -> Tensor:
        """All parameters, in one vector."""
        return nn.utils.parameters_to_vector(self.parameters()).detach()

    @weights.setter
    def weights(self, values: Tensor) -> None:
        with torch.no_grad():
            at = 0
            for parameter in self.parameters():
                parameter.copy_(values[at : at + parameter.numel()].view_as(parameter))
                at += parameter.numel()

    @property
    def shares(self) -> Tensor:
        """One over the number of weights of the same layer, for each weight; zero for the outlier unit."""
        shares = {id(parameter): torch.zeros_like(parameter) for parameter in self.parameters()}
        for layer in self.body.modules():
            own = list(layer.parameters(recurse=False))
            for parameter in own:
                shares[id(parameter)] += 1 / sum(p.numel() for p in own)
        return nn.utils.parameters_to_vector(shares.values())

    def traced(self, x: Tensor, h: Tensor | None = None) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Masses, and the function that turns a gradient with respect to them into one with respect to the weights."""
        scores = self.scores(x)
        with torch.no_grad():
            masses, back = self.layer.forward(scores, h, self.coefficients)

        def gradient(of_masses: Tensor) -> Tensor:
            return self._gradient(scores, *back(of_masses))

        return masses, gradient

    def taught(self, x: Tensor, wanted: Tensor) -> ValueAndGradient:
        """How far the body, without the outlier unit, is from masses wanted: cross-entropy and its gradient with
        respect to the weights."""
        scores = self.scores(x)
        value, of_scores = cross_entropy(scores.detach(), wanted)
        return value, self._gradient(scores, of_scores, None)

    def masses(self, inputs: Array, decision: np.ndarray | None, apply: Apply) -> Array:
        """Masses of objects by a forward pass; torch has threads of its own. Those of a tensor are where it is."""
        parameter = next(self.parameters())

        def sent(values: Array) -> Tensor:
            return torch.as_tensor(values).to(device=parameter.device, dtype=parameter.dtype)

        self.eval()
        with torch.no_grad():
            found = self(sent(inputs), None if decision is None else sent(decision))
        return found.to(inputs.device) if is_tensor(inputs) else _to_host(found)

    def state(self) -> dict[str, np.ndarray]:
        return {name: _to_host(value).copy() for name, value in self.state_dict().items()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.load_state_dict({name: torch.as_tensor(value) for name, value in state.items()})

    def _gradient(self, scores: Tensor, of_scores: Tensor, of_coefficients: Tensor | None) -> Tensor:
        """Torch knows the way back through the body."""
        self.zero_grad(set_to_none=True)
        if scores.requires_grad:  # a body may be given that is not to learn
            scores.backward(of_scores)
        if of_coefficients is not None and self.coefficients is not None:
            self.coefficients.grad = of_coefficients
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.parameters()]
        return torch.cat([part.reshape(-1) for part in parts])


def network_on(arrays: DeviceArrays, body: nn.Module, layer: MassLayer) -> TorchNetwork:
    """A network where its arrays are."""
    return TorchNetwork(body.to(arrays.dtype), layer).to(arrays.device)


def _to_host(tensor: Tensor) -> np.ndarray:
    values = tensor.detach().cpu()
    return (values.float() if values.dtype == torch.bfloat16 else values).numpy()
