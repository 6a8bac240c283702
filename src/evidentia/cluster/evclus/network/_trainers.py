"""How the networks of NN-EVCLUS are trained: whole batches for small data, mini-batches for large, resumable.

Every trainer is a loop of *rounds* over a state that can be written down: parameters, optimiser, history, best
parameters so far. A fit killed at any moment and started again goes on from the last round it wrote, to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evidentia.cluster.evclus.network._model import MassNetwork

__all__ = [
    "LBFGS_STEPS",
    "TrainingProgress",
    "pretrain",
    "train_adaptive_steps",
    "train_lbfgs",
    "train_mini_batches",
]

LBFGS_STEPS = 10  # iterations in a round
_KEPT = 0.9  # of the running gain, a round
_PRETRAIN_RATE = 5e-3

Loss = Callable[[], Tensor]
Judge = Callable[[], float]


class TrainingProgress:
    """What a training has come to.

    Attributes
    ----------
    network : MassNetwork
    history, validation : list of float
        The loss after every round, and the error on held-out pairs where there are any.
    best : dict
        The parameters of the best round, by the held-out pairs if there are any.
    best_value, best_round
        Its loss or error, and its number, counted from 1.
    finished, converged : bool
    """

    def __init__(self, network: MassNetwork):
        self.network = network
        self.history: list[float] = []
        self.validation: list[float] = []
        self.best_value, self.best_round = float("inf"), 0
        self.best = _copied(network)
        self.optimizer_state: dict[str, Any] | None = None
        self.extra: dict[str, Any] = {}
        self.finished = False
        self.converged = False

    def note(self, loss: float, judged: float | None = None) -> None:
        """Add a round; the parameters are kept if they are the best so far."""
        self.history.append(float(loss))
        value = float(loss if judged is None else judged)
        if judged is not None:
            self.validation.append(value)
        if value < self.best_value:
            self.best_value, self.best_round = value, len(self.history)
            self.best = _copied(self.network)

    @property
    def rounds_since_best(self) -> int:
        return len(self.history) - self.best_round

    @property
    def kept_rounds(self) -> int:
        """Rounds up to the one whose parameters are kept; without held-out pairs nothing is lost after it."""
        return self.best_round if self.validation else len(self.history)

    def state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "history": self.history,
            "validation": self.validation,
            "best_value": self.best_value,
            "best_round": self.best_round,
            "best": self.best,
            "optimizer": self.optimizer_state,
            "extra": self.extra,
            "finished": self.finished,
            "converged": self.converged,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.history, self.validation = list(state["history"]), list(state["validation"])
        self.best_value, self.best_round, self.best = state["best_value"], state["best_round"], state["best"]
        self.optimizer_state, self.extra = state["optimizer"], state["extra"]
        self.finished, self.converged = state["finished"], state["converged"]


def _copied(network: MassNetwork) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


Save = Callable[[TrainingProgress], None]


def train_lbfgs(
    progress: TrainingProgress,
    loss: Loss,
    judge: Judge | None,
    *,
    max_iter: int,
    tol: float,
    save: Save,
    patience: int,
) -> None:
    """Limited-memory quasi-Newton steps on the whole loss, until a round of ten gains less than ``tol`` relatively."""
    network = progress.network
    optimizer = torch.optim.LBFGS(
        network.parameters(), max_iter=LBFGS_STEPS, history_size=20, line_search_fn="strong_wolfe",
        tolerance_grad=1e-12, tolerance_change=0.0,
    )  # fmt: skip
    if progress.optimizer_state is not None:
        optimizer.load_state_dict(progress.optimizer_state)

    def closure() -> Tensor:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    while not progress.finished:
        before = _copied(network)
        optimizer.step(closure)
        with torch.no_grad():
            value = float(loss())
        previous = progress.history[-1] if progress.history else float("inf")
        if not value <= previous:  # a line search that failed: the point before stands
            network.load_state_dict(before)
            if not progress.history:
                with torch.no_grad():
                    progress.note(float(loss()), judge() if judge else None)
            progress.converged = progress.finished = True
            save(progress)
            return
        progress.note(value, judge() if judge else None)
        progress.converged = previous - value <= tol * abs(value)
        stopped = judge is not None and progress.rounds_since_best >= patience
        progress.finished = progress.converged or stopped or len(progress.history) * LBFGS_STEPS >= max_iter
        progress.converged = progress.converged or stopped
        progress.optimizer_state = optimizer.state_dict()
        save(progress)


def train_adaptive_steps(
    progress: TrainingProgress,
    loss: Loss,
    judge: Judge | None,
    *,
    max_iter: int,
    tol: float,
    save: Save,
    patience: int,
) -> None:
    """Gradient descent with a step of its own for each parameter (Silva and Almeida, 1990), the papers' method.

    A step grows by a fifth while its derivative keeps its sign and shrinks by a fifth when it changes; if the loss
    rises, all are halved and the step is taken again from the last accepted point, which is also what is returned.
    """
    parameters = list(progress.network.parameters())

    def evaluate() -> tuple[float, list[Tensor]]:
        value = loss()
        gradient = torch.autograd.grad(value, parameters)
        return float(value.detach()), list(gradient)

    def put(values: Iterable[Tensor]) -> None:
        with torch.no_grad():
            for parameter, value in zip(parameters, values, strict=True):
                parameter.copy_(value)

    if not progress.extra:
        value, gradient = evaluate()
        progress.extra = {
            "steps": [torch.full_like(p, 0.1) for p in parameters],
            "point": [p.detach().clone() for p in parameters],
            "gradient": gradient,
            "value": value,
            "gain": 1.0,
        }
    state = progress.extra
    while not progress.finished:
        put(x - s * g for x, s, g in zip(state["point"], state["steps"], state["gradient"], strict=True))
        value, gradient = evaluate()
        if value > state["value"]:
            state["steps"] = [0.5 * s for s in state["steps"]]
            put(state["point"])
        else:
            state["gain"] = _KEPT * state["gain"] + (1 - _KEPT) * abs(state["value"] - value)
            state["steps"] = [
                torch.where(g * old >= 0, 1.2 * s, 0.8 * s).clamp(1e-6, 1e4)
                for s, g, old in zip(state["steps"], gradient, state["gradient"], strict=True)
            ]
            state.update(point=[p.detach().clone() for p in parameters], gradient=gradient, value=value)
        progress.note(state["value"], judge() if judge else None)
        progress.converged = state["gain"] <= tol * abs(state["value"])
        stopped = judge is not None and progress.rounds_since_best >= patience
        progress.finished = progress.converged or stopped or len(progress.history) >= max_iter
        progress.converged = progress.converged or stopped
        save(progress)


def train_mini_batches(
    progress: TrainingProgress,
    batches: Callable[[int], Iterable[Tensor]],
    judge: Judge,
    *,
    epochs: int,
    learning_rate: float,
    save: Save,
    patience: int | None,
) -> None:
    """Adam with a rate that falls to zero along a cosine; ``batches(epoch)`` gives the losses of an epoch one by one.

    After every epoch the held-out pairs are judged; the best parameters are kept, and with ``patience`` that many
    epochs without a better one end the training (without, it goes on: much is gained when the rate is small). A rate
    of zero is an end, too: the training counts as converged.
    """
    network = progress.network
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    if progress.optimizer_state is not None:
        optimizer.load_state_dict(progress.optimizer_state)
    while not progress.finished:
        epoch = len(progress.history)
        _set_rate(optimizer, learning_rate, epoch, epochs)
        total, count = torch.zeros(()), 0
        network.train()
        for value in batches(epoch):
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            optimizer.step()
            total = total.to(value) + value.detach()
            count += 1
        network.eval()
        progress.note(float(total) / max(count, 1), judge())
        stopped = patience is not None and progress.rounds_since_best >= patience
        progress.finished = stopped or len(progress.history) >= epochs
        progress.converged = progress.finished
        progress.optimizer_state = optimizer.state_dict()
        save(progress)


def pretrain(
    network: MassNetwork,
    inputs: Callable[[np.ndarray], Tensor],
    masses: np.ndarray,
    *,
    steps: int,
    batch_size: int,
    rng: np.random.Generator,
) -> None:
    """Teach the body of a network given masses (cross-entropy), so that it starts where EVCLUS ended."""
    optimizer = torch.optim.Adam(network.body.parameters(), lr=_PRETRAIN_RATE)
    n = len(masses)
    order, at = rng.permutation(n), 0
    network.train()
    for step in range(steps):
        _set_rate(optimizer, _PRETRAIN_RATE, step, steps)
        if at + batch_size > n:
            order, at = rng.permutation(n), 0
        who = order[at : at + batch_size]
        at += batch_size
        optimizer.zero_grad(set_to_none=True)
        scores = torch.log_softmax(network.body(inputs(who)), dim=1)
        wanted = torch.as_tensor(masses[who], dtype=scores.dtype).to(scores.device)
        (-(wanted * scores).sum(dim=1)).mean().backward()
        optimizer.step()
    network.eval()


def _set_rate(optimizer: torch.optim.Optimizer, first: float, step: int, steps: int) -> None:
    """The rate of a step, along a cosine from the first rate to zero."""
    for group in optimizer.param_groups:
        group["lr"] = first * 0.5 * (1 + math.cos(math.pi * step / steps))
