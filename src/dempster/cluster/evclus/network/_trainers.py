"""How the networks of NN-EVCLUS are trained: whole batches for small data, mini-batches for large, resumable.

Every trainer is a loop of *rounds* over a state that can be written down: weights, optimiser, history, best weights so
far. A fit killed at any moment and started again goes on from the last round it wrote, to the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dempster.cluster.evclus.network._losses import Array, ValueAndGradient
from dempster.cluster.evclus.network._objective import Arrays, Network
from dempster.optimize.lbfgs import LBFGS

__all__ = [
    "LBFGS_STEPS",
    "Adam",
    "TrainingProgress",
    "falling",
    "train_adaptive_steps",
    "train_lbfgs",
    "train_mini_batches",
]

LBFGS_STEPS = 10  # iterations in a round
_MEMORY = 40  # steps from which L-BFGS learns the curvature
_LEAST_MEMORY, _REMEMBERED = 10, 2_000_000  # numbers of all steps, if a network has many weights
_NO_SLOPE = 1e-12  # derivatives below which it ends
_KEPT = 0.9  # of the running gain, a round
_MEAN_KEPT, _SQUARE_KEPT, _NO_ROOT = 0.9, 0.999, 1e-8  # of Adam, the authors' values
_WRITTEN = ("history", "validation", "best_value", "best_round", "best", "optimizer", "finished", "converged")

Loss = Callable[[], ValueAndGradient]
Judge = Callable[[], float]


class TrainingProgress:
    """What a training has come to.

    Attributes
    ----------
    network : Network
    arrays : Arrays
        Where the network computes.
    history, validation : list of float
        The loss after every round, and the error on held-out pairs where there are any.
    best : dict
        The network of the best round, by the held-out pairs if there are any.
    best_value, best_round
        Its loss or error, and its number, counted from 1.
    optimizer : dict
        Arrays and numbers that the trainer goes on with.
    finished, converged : bool
    """

    def __init__(self, network: Network, arrays: Arrays):
        self.network, self.arrays = network, arrays
        self.history: list[float] = []
        self.validation: list[float] = []
        self.best_value, self.best_round = float("inf"), 0
        self.best = network.state()
        self.optimizer: dict[str, Any] = {}
        self.finished = False
        self.converged = False

    def note(self, loss: float, judged: float | None = None) -> None:
        """Add a round; the network is kept if it is the best so far."""
        self.history.append(float(loss))
        value = float(loss if judged is None else judged)
        if judged is not None:
            self.validation.append(value)
        if value < self.best_value:
            self.best_value, self.best_round = value, len(self.history)
            self.best = self.network.state()

    def end_if(self, settled: bool, *, out_of_patience: bool, out_of_rounds: bool) -> None:
        """A training is over when it settled, when held-out pairs got no better for long, or when its time is up."""
        self.converged = settled or out_of_patience
        self.finished = self.converged or out_of_rounds

    @property
    def rounds_since_best(self) -> int:
        return len(self.history) - self.best_round

    @property
    def kept_rounds(self) -> int:
        """Rounds up to the one whose network is kept; without held-out pairs nothing is lost after it."""
        return self.best_round if self.validation else len(self.history)

    def state(self) -> dict[str, Any]:
        """Arrays of the host, numbers, and lists and dictionaries of them."""
        return {**{name: getattr(self, name) for name in _WRITTEN}, "network": self.network.state()}

    def restore(self, state: dict[str, Any]) -> None:
        for name in _WRITTEN:
            setattr(self, name, state[name])
        self.network.restore(state["network"])


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
    network, arrays = progress.network, progress.arrays

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        network.weights = arrays.array(weights)
        value, gradient = loss()
        return float(value), arrays.to_host(gradient).astype(np.float64)

    start = arrays.to_host(network.weights)
    memory = max(_LEAST_MEMORY, min(_MEMORY, _REMEMBERED // len(start)))
    search = LBFGS(start, max_iter=max_iter, tol=0.0, gradient_tol=_NO_SLOPE, memory=memory)
    if progress.optimizer:
        search.restore(progress.optimizer)
    while not progress.finished:
        for _ in range(LBFGS_STEPS):
            if not search.iterate(evaluate):
                break
        network.weights = arrays.array(search.point)
        value = search.value
        previous = progress.history[-1] if progress.history else float("inf")
        progress.note(value, judge() if judge else None)
        progress.end_if(
            search.converged or previous - value <= tol * abs(value),
            out_of_patience=judge is not None and progress.rounds_since_best >= patience,
            out_of_rounds=search.ended,
        )
        progress.optimizer = search.state()
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
    """Gradient descent with a step of its own for each weight (Silva and Almeida, 1990), the papers' method.

    A step grows by a fifth while its derivative keeps its sign and shrinks by a fifth when it changes; if the loss
    rises, all are halved and the step is taken again from the last accepted point, which is also what is returned.
    """
    network, arrays = progress.network, progress.arrays
    if progress.optimizer:
        saved = progress.optimizer
        point, gradient, steps = (arrays.array(saved[name]) for name in ("point", "gradient", "steps"))
        value, gain = saved["value"], saved["gain"]
    else:
        value, gradient = loss()
        value, gain, point = float(value), 1.0, network.weights
        steps = arrays.array(np.full(len(point), 0.1))
    while not progress.finished:
        network.weights = point - steps * gradient
        new_value, new_gradient = loss()
        if float(new_value) > value:
            steps = 0.5 * steps
            network.weights = point
        else:
            gain = _KEPT * gain + (1 - _KEPT) * abs(value - float(new_value))
            same_sign = new_gradient * gradient >= 0
            steps = (1.2 * steps * same_sign + 0.8 * steps * ~same_sign).clip(1e-6, 1e4)
            point, gradient, value = network.weights, new_gradient, float(new_value)
        progress.note(value, judge() if judge else None)
        progress.end_if(
            gain <= tol * abs(value),
            out_of_patience=judge is not None and progress.rounds_since_best >= patience,
            out_of_rounds=len(progress.history) >= max_iter,
        )
        vectors = {"point": point, "gradient": gradient, "steps": steps}
        progress.optimizer = {name: arrays.to_host(vector) for name, vector in vectors.items()}
        progress.optimizer |= {"value": value, "gain": gain}
        save(progress)


def train_mini_batches(
    progress: TrainingProgress,
    batches: Callable[[int], Iterable[ValueAndGradient]],
    judge: Judge,
    *,
    epochs: int,
    learning_rate: float,
    save: Save,
    patience: int | None,
) -> None:
    """Adam with a rate that falls to zero along a cosine; ``batches(epoch)`` gives the losses of an epoch one by one.

    After every epoch the held-out pairs are judged; the best weights are kept, and with ``patience`` that many
    epochs without a better one end the training (without, it goes on: much is gained when the rate is small). A rate
    of zero is an end, too: the training counts as converged.
    """
    network = progress.network
    adam = Adam(network, progress.arrays)
    if progress.optimizer:
        adam.restore(progress.optimizer)
    while not progress.finished:
        epoch = len(progress.history)
        rate = falling(learning_rate, epoch, epochs)
        total, count = 0.0, 0
        network.train()
        for value, gradient in batches(epoch):
            adam.step(gradient, rate)
            total += value
            count += 1
        network.eval()
        progress.note(float(total) / max(count, 1), judge())
        progress.end_if(
            len(progress.history) >= epochs,
            out_of_patience=patience is not None and progress.rounds_since_best >= patience,
            out_of_rounds=False,
        )
        progress.optimizer = adam.state()
        save(progress)


class Adam:
    """Steps along the running mean of the gradient, over the root of that of its squares (Kingma and Ba, 2015)."""

    def __init__(self, network: Network, arrays: Arrays):
        self.network, self.arrays, self.steps = network, arrays, 0
        zeros = np.zeros(len(network.weights))
        self.mean, self.square = arrays.array(zeros), arrays.array(zeros)

    def step(self, gradient: Array, rate: float) -> None:
        self.steps += 1
        self.mean += (1 - _MEAN_KEPT) * (gradient - self.mean)
        self.square += (1 - _SQUARE_KEPT) * (gradient * gradient - self.square)
        mean_seen, square_seen = 1 - _MEAN_KEPT**self.steps, 1 - _SQUARE_KEPT**self.steps
        size = (self.square / square_seen) ** 0.5 + _NO_ROOT
        self.network.weights = self.network.weights - (rate / mean_seen) * self.mean / size

    def state(self) -> dict[str, Any]:
        to_host = self.arrays.to_host
        return {"steps": self.steps, "mean": to_host(self.mean).copy(), "square": to_host(self.square).copy()}

    def restore(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]
        self.mean, self.square = self.arrays.array(state["mean"]), self.arrays.array(state["square"])


def falling(first: float, step: int, steps: int) -> float:
    """The rate of a step, along a cosine from the first rate to zero."""
    return first * 0.5 * (1 + math.cos(math.pi * step / steps))
