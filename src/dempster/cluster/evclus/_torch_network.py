"""Networks of NN-EVCLUS with a torch module of the user, arrays on a device, and their training."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dempster._arrays import Array, is_tensor, to_host
from dempster._errors import InvalidParameterError
from dempster.belief import FocalSets
from dempster.cluster.evclus._network import MassLayer, MassNetwork
from dempster.cluster.evclus._training import (
    RMSPROP_DELTA,
    RMSPROP_RHO,
    MiniBatchSolver,
    Round,
)
from dempster.data.device import to_tensor
from dempster.optimize.blocks import Apply

_CALLS_BEFORE_RECORDING = 3
# pretraining
_STEPS = 1000
_RATE = 5e-3


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


# ---- training ------------------------------------------------------------------------------------


def descend(optimizer: torch.optim.Optimizer, gradient: Tensor) -> None:
    """Change the parameters, whose gradients are the parts of a vector."""
    for parameter, part in split(gradient, optimizer.param_groups[0]["params"]):
        parameter.grad = part
    optimizer.step()


class RecordedStep:
    """Function of a batch of tensors on a GPU that is recorded as a CUDA graph and then repeated.

    Starting the kernels of a step one by one takes longer than their arithmetic.
    """

    def __init__(self, step: Callable[[Any], Tensor]):
        self.step = step
        self.stream = torch.cuda.Stream()
        self.n_calls = 0

    def __call__(self, batch: Any) -> Tensor:
        self.n_calls += 1
        if self.n_calls <= _CALLS_BEFORE_RECORDING:
            # Torch requires some calls on another stream before the recording.
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                result = self.step(batch)
            torch.cuda.current_stream().wait_stream(self.stream)
            return result
        if self.n_calls == _CALLS_BEFORE_RECORDING + 1:
            self.batch = batch
            self.graph = torch.cuda.CUDAGraph()
            # Unlike torch.cuda.graph, this does not release cached memory, which takes long.
            torch.cuda.synchronize()
            with torch.cuda.stream(self.stream):
                self.graph.capture_begin()
                self.result = self.step(batch)
                self.graph.capture_end()
        for recorded, new in zip(self.batch, batch, strict=True):
            if new is not None and len(new):
                recorded.copy_(new)
        self.graph.replay()
        return self.result


class TorchSolver(MiniBatchSolver):
    """Adam with a decreasing learning rate, or RMSprop, of torch."""

    def __init__(self, *args: Any, name: str = "adam", recorded: bool = False):
        super().__init__(*args)
        parameters = list(self.network.parameters())
        device = parameters[0].device
        on_gpu = device.type == "cuda"
        self.random: Any = torch.cuda if on_gpu else torch  # for random layers
        self.optimizer: torch.optim.Optimizer
        if name == "rmsprop":
            self.optimizer = torch.optim.RMSprop(
                parameters,
                lr=self.learning_rate,
                alpha=RMSPROP_RHO,
                eps=RMSPROP_DELTA,
                capturable=on_gpu,
            )
        else:
            rate = torch.tensor(self.learning_rate, device=device)
            self.optimizer = torch.optim.Adam(
                parameters, lr=rate, fused=True, capturable=on_gpu
            )
        self.take_step = self._take_step
        if on_gpu and recorded:
            self.take_step = RecordedStep(self._take_step)

    def run_round(self, number: int) -> Round:
        rate = self.optimizer.param_groups[0]["lr"]
        if is_tensor(rate):
            rate.fill_(self.decayed_rate(number))
        return super().run_round(number)

    def step(self, batch: Any, epoch: int) -> Tensor:
        return self.take_step(batch)

    def _take_step(self, batch: Any) -> Tensor:
        value, gradient = self.loss(batch)
        descend(self.optimizer, gradient)
        return value

    def get_state(self) -> dict[str, Any]:
        state = self.optimizer.state_dict()["state"]
        return {
            "random": self.random.get_rng_state().numpy(),
            "optimizer": {
                str(number): {name: to_host(value) for name, value in values.items()}
                for number, values in state.items()
            },
        }

    def restore(self, state: dict[str, Any]) -> None:
        whole = self.optimizer.state_dict()
        whole["state"] = {
            int(number): {
                name: torch.as_tensor(value) for name, value in values.items()
            }
            for number, values in state["optimizer"].items()
        }
        self.optimizer.load_state_dict(whole)
        self.random.set_rng_state(torch.from_numpy(state["random"]))


def fit_masses_in_batches(
    network: TorchNetwork,
    arrays: DeviceArrays,
    values: Tensor,
    masses: np.ndarray,
    batch_size: int,
    rng: np.random.Generator,
) -> None:
    """Train a torch network, which may be large or depend on the batch, by Adam.

    The targets are the given masses.
    """
    n = len(masses)
    size = min(batch_size, n)
    targets = arrays.array(masses)
    adam = torch.optim.Adam(network.parameters(), lr=_RATE, fused=True)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(adam, _STEPS)
    network.train()
    for _ in range(_STEPS):
        rows = arrays.integers(rng.choice(n, size, replace=False))
        _, gradient = network.cross_entropy(values[rows], targets[rows])
        descend(adam, gradient)
        decay.step()
    network.eval()
