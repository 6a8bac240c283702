"""How the networks of NN-EVCLUS are trained: whole batches for small data, mini-batches for large, resumable.

Every trainer is a loop of *rounds* over a state that can be written down: parameters, optimiser, history, best
parameters so far. A fit killed at any moment and started again goes on from the last round it wrote, to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = ["Progress", "train_lbfgs", "train_adaptive_steps", "train_mini_batches", "pretrain"]

_LBFGS_STEPS = 10  # iterations in a round
_KEPT = 0.9  # of the running gain, a round
_PRETRAIN_RATE = 5e-3


class Progress:
    """What a training has come to: losses after every round, the best parameters, the state of the optimiser."""

    def __init__(self, network: Any):
        self.network = network
        self.history: list[float] = []
        self.validation: list[float] = []
        self.best_value = float("inf")
        self.best = {k: v.detach().clone() for k, v in network.state_dict().items()}
        self.optimizer_state: dict[str, Any] | None = None
        self.extra: dict[str, Any] = {}
        self.finished = False
        self.converged = False

    def note(self, loss: float, judged: float | None = None) -> None:
        """Add a round; the parameters are kept if they are the best so far (by the held-out pairs if there are any)."""
        self.history.append(float(loss))
        value = float(loss if judged is None else judged)
        if judged is not None:
            self.validation.append(value)
        if value < self.best_value:
            self.best_value = value
            self.best = {k: v.detach().clone() for k, v in self.network.state_dict().items()}

    @property
    def rounds_since_best(self) -> int:
        series = self.validation or self.history
        return len(series) - 1 - min(range(len(series)), key=series.__getitem__) if series else 0

    def state(self) -> dict[str, Any]:
        return {
            "network": self.network.state_dict(),
            "history": self.history,
            "validation": self.validation,
            "best_value": self.best_value,
            "best": self.best,
            "optimizer": self.optimizer_state,
            "extra": self.extra,
            "finished": self.finished,
            "converged": self.converged,
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["network"])
        self.history, self.validation = list(state["history"]), list(state["validation"])
        self.best_value, self.best = state["best_value"], state["best"]
        self.optimizer_state, self.extra = state["optimizer"], state["extra"]
        self.finished, self.converged = state["finished"], state["converged"]


Loss = Callable[[], Any]
Save = Callable[[Progress], None]


def train_lbfgs(
    progress: Progress,
    loss: Loss,
    judge: Callable[[], float] | None,
    *,
    max_iter: int,
    tol: float,
    save: Save,
    patience: int,
) -> None:
    """Limited-memory quasi-Newton steps on the whole loss, until a round of ten gains less than ``tol`` relatively."""
    network = progress.network
    optimizer = torch.optim.LBFGS(
        network.parameters(), max_iter=_LBFGS_STEPS, history_size=20, line_search_fn="strong_wolfe",
        tolerance_grad=1e-12, tolerance_change=0.0,
    )  # fmt: skip
    if progress.optimizer_state is not None:
        optimizer.load_state_dict(progress.optimizer_state)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    while not progress.finished:
        before = {k: v.detach().clone() for k, v in network.state_dict().items()}
        optimizer.step(closure)
        with torch.no_grad():
            value = float(loss())
        previous = progress.history[-1] if progress.history else float("inf")
        if not value <= previous:  # a line search that failed: the point before stands
            network.load_state_dict(before)
            progress.converged = progress.finished = True
            save(progress)
            return
        progress.note(value, judge() if judge else None)
        progress.converged = previous - value <= tol * abs(value)
        stopped = judge is not None and progress.rounds_since_best >= patience
        progress.finished = progress.converged or stopped or len(progress.history) * _LBFGS_STEPS >= max_iter
        progress.converged = progress.converged or stopped
        progress.optimizer_state = optimizer.state_dict()
        save(progress)


def train_adaptive_steps(
    progress: Progress,
    loss: Loss,
    judge: Callable[[], float] | None,
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

    def evaluate() -> tuple[float, list[Any]]:
        value = loss()
        gradient = torch.autograd.grad(value, parameters)
        return float(value.detach()), list(gradient)

    def put(values: list[Any]) -> None:
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
        progress.note(value, judge() if judge else None)
    state = progress.extra
    while not progress.finished:
        put([x - s * g for x, s, g in zip(state["point"], state["steps"], state["gradient"], strict=True)])
        value, gradient = evaluate()
        if value > state["value"]:
            state["steps"] = [0.5 * s for s in state["steps"]]
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
        progress.finished = progress.converged or stopped or len(progress.history) > max_iter
        if progress.finished:
            put(state["point"])
        save(progress)


def train_mini_batches(
    progress: Progress,
    batches: Callable[[int], Any],
    judge: Callable[[], float],
    *,
    max_iter: int,
    learning_rate: float,
    save: Save,
    patience: int | None,
) -> None:
    """Adam with a rate that falls to zero along a cosine; ``batches(epoch)`` gives the losses of an epoch one by one.

    After every epoch the held-out pairs are judged; the best parameters are kept, and with ``patience`` that many
    epochs without a better one end the training (without, it goes on: much is gained when the rate is small).
    """
    network = progress.network
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    if progress.optimizer_state is not None:
        optimizer.load_state_dict(progress.optimizer_state)
    while not progress.finished:
        epoch = len(progress.history)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate * 0.5 * (1 + math.cos(math.pi * epoch / max_iter))
        total = count = 0
        network.train()
        for value in batches(epoch):
            optimizer.zero_grad(set_to_none=True)
            value.backward()
            optimizer.step()
            total = total + value.detach()
            count += 1
        network.eval()
        progress.note(float(total) / max(count, 1), judge())
        stopped = patience is not None and progress.rounds_since_best >= patience
        progress.finished = stopped or len(progress.history) >= max_iter
        progress.converged = progress.finished
        progress.optimizer_state = optimizer.state_dict()
        save(progress)


def pretrain(
    network: Any, inputs: Callable[[Any], Any], targets: Any, *, steps: int, batch_size: int, rng: np.random.Generator
) -> None:
    """Teach the body of a network given masses (cross-entropy), so that it starts where EVCLUS ended."""
    optimizer = torch.optim.Adam(network.body.parameters(), lr=_PRETRAIN_RATE)
    n = len(targets)
    order, at = rng.permutation(n), 0
    network.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = _PRETRAIN_RATE * 0.5 * (1 + math.cos(math.pi * step / steps))
        if at + batch_size > n:
            order, at = rng.permutation(n), 0
        who = order[at : at + batch_size]
        at += batch_size
        optimizer.zero_grad(set_to_none=True)
        scores = torch.log_softmax(network.body(inputs(who)), dim=1)
        wanted = torch.as_tensor(targets[who], dtype=scores.dtype).to(scores.device)
        (-(wanted * scores).sum(dim=1)).mean().backward()
        optimizer.step()
    network.eval()
