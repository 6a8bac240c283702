"""Training of torch networks on mini-batches by the optimizers of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dempster._arrays import is_tensor, to_host
from dempster.cluster.evclus._torch_network import DeviceArrays, TorchNetwork, split
from dempster.cluster.evclus._training import (
    RMSPROP_DELTA,
    RMSPROP_RHO,
    MiniBatchSolver,
    Round,
)

_CALLS_BEFORE_RECORDING = 3
# pretraining
_STEPS = 1000
_RATE = 5e-3


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
            str(number): {name: to_host(value) for name, value in values.items()}
            for number, values in state.items()
        }

    def restore(self, state: dict[str, Any]) -> None:
        whole = self.optimizer.state_dict()
        whole["state"] = {
            int(number): {
                name: torch.as_tensor(value) for name, value in values.items()
            }
            for number, values in state.items()
        }
        self.optimizer.load_state_dict(whole)


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
