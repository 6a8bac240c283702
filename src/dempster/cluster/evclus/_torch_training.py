"""Training of torch networks on mini-batches by the optimizers of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dempster._arrays import is_tensor, to_host
from dempster.cluster.evclus._torch_network import DeviceArrays, TorchNetwork
from dempster.cluster.evclus._training import (
    RMSPROP_DELTA,
    RMSPROP_RHO,
    MiniBatchSolver,
    Round,
)

_CALLS_BEFORE_RECORDING = 3
# pretraining
_ROUNDS = 20
_STEPS_PER_ROUND = 50
_RATE = 5e-3


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
            with torch.cuda.graph(self.graph):
                self.result = self.step(batch)
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
        self.network.set_gradient(gradient)
        self.optimizer.step()
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
    *,
    recorded: bool,
) -> None:
    """Train a torch network, which may be large or depend on the batch, by Adam.

    The targets are the given masses.
    """
    n = len(masses)
    size = min(batch_size, n)
    targets = arrays.array(masses)

    def batches(number: int) -> Iterator[tuple[Tensor]]:
        drawn = [rng.choice(n, size, replace=False) for _ in range(_STEPS_PER_ROUND)]
        yield from zip(arrays.integers(np.stack(drawn)), strict=True)

    def loss(batch: tuple[Tensor]) -> tuple[Tensor, Tensor]:
        (rows,) = batch
        return network.cross_entropy(values[rows], targets[rows])

    adam = TorchSolver(
        network, arrays, batches, loss, _ROUNDS, _RATE, recorded=recorded
    )
    for number in range(_ROUNDS):
        adam.run_round(number)
