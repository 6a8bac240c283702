"""Training of the networks of NN-EVCLUS: solvers, progress, checkpoint files and pretraining.

A `Solver` minimizes the loss of a network in rounds. `TrainingProgress` records the rounds, and a
training can be continued from it. Checkpoint files are written atomically and read without
executing code.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dempster._arrays import Array, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import is_number
from dempster.cluster.evclus._network import ValueAndGradient
from dempster.cluster.evclus._network_loss import Arrays, Network
from dempster.data.sampling import order_along_line
from dempster.io.atomic import atomic_write
from dempster.optimize.lbfgs import LBFGS, minimize_lbfgs

LBFGS_STEPS_PER_ROUND = 10
# limits on the steps and numbers stored by L-BFGS
_MAX_MEMORY = 40
_MIN_MEMORY = 10
_MAX_MEMORY_NUMBERS = 2_000_000
_GRADIENT_TOLERANCE = 1e-12
# factor by which earlier gains are multiplied in the running mean of the gain
_GAIN_DECAY = 0.9
# values recommended by Kingma and Ba (2015)
_ADAM_BETA1 = 0.9
_ADAM_BETA2 = 0.999
_ADAM_EPSILON = 1e-8
# values of the paper
RMSPROP_RHO = 0.9
RMSPROP_DELTA = 1e-8
# pretraining
_LBFGS_ITERATIONS = 150
_LBFGS_TOLERANCE = 1e-6
_MAX_LBFGS_ROWS = 3000

Loss = Callable[[], ValueAndGradient]

# ---- solvers -------------------------------------------------------------------------------------


class Round(NamedTuple):
    """Result of one round of a solver, which consists of several iterations."""

    loss: float
    is_stable: bool  # whether the loss has converged
    is_last: bool  # whether the maximum number of iterations is reached


class Solver(ABC):
    """Minimization of the loss of a network, which can be saved after each round."""

    saved: tuple[str, ...] = ()  # attributes that are saved

    def __init__(self, network: Network, arrays: Arrays):
        self.network = network
        self.arrays = arrays

    @abstractmethod
    def run_round(self, number: int) -> Round:
        """Run a round and set the weights of the network.

        The number is 0 for the first round.
        """

    def get_state(self) -> dict[str, Any]:
        return {name: to_host(getattr(self, name)) for name in self.saved}

    def restore(self, state: dict[str, Any]) -> None:
        for name in self.saved:
            value = state[name]
            if np.ndim(value):  # one number for each weight
                value = self.arrays.array(value.reshape(len(self.network.weights)))
            elif not is_number(value):
                raise InvalidInputError(f"{name} must be a number")
            setattr(self, name, value)


class LBFGSSolver(Solver):
    """L-BFGS, until ten iterations decrease the loss by a relative amount of at most ``tol``."""

    def __init__(
        self, network: Network, arrays: Arrays, loss: Loss, max_iter: int, tol: float
    ):
        super().__init__(network, arrays)
        self.tol = tol
        self.evaluate = loss_of_weights(network, loss)
        start = to_host(network.weights)
        memory = max(_MIN_MEMORY, min(_MAX_MEMORY, _MAX_MEMORY_NUMBERS // len(start)))
        self.search = LBFGS(
            start,
            max_iter=max_iter,
            tol=0.0,
            gradient_tol=_GRADIENT_TOLERANCE,
            memory=memory,
        )

    def run_round(self, number: int) -> Round:
        search = self.search
        previous = search.value if number else math.inf
        for _ in range(LBFGS_STEPS_PER_ROUND):
            if not search.iterate(self.evaluate):
                break
        self.network.weights = search.point
        value = search.value
        is_stable = search.converged or previous - value <= self.tol * abs(value)
        return Round(value, is_stable, search.ended)

    def get_state(self) -> dict[str, Any]:
        return self.search.get_state()

    def restore(self, state: dict[str, Any]) -> None:
        self.search.restore(state)


class AdaptiveSteps(Solver):
    """Gradient descent with one step size per weight (Silva and Almeida, 1990)."""

    saved = ("point", "gradient", "steps", "value", "gain")

    def __init__(
        self, network: Network, arrays: Arrays, loss: Loss, max_iter: int, tol: float
    ):
        super().__init__(network, arrays)
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol

    def run_round(self, number: int) -> Round:
        network = self.network
        if number == 0:
            value, self.gradient = self.loss()
            self.value = float(value)
            self.gain = 1.0
            self.point = network.weights
            self.steps = self.arrays.array(np.full(len(self.point), 0.1))
        network.weights = self.point - self.steps * self.gradient
        value, gradient = self.loss()
        value = float(value)
        if value > self.value:
            self.steps = 0.5 * self.steps
            network.weights = self.point
        else:
            gain = abs(self.value - value)
            self.gain = _GAIN_DECAY * self.gain + (1 - _GAIN_DECAY) * gain
            same_sign = gradient * self.gradient >= 0
            steps = 1.2 * self.steps * same_sign + 0.8 * self.steps * ~same_sign
            self.steps = steps.clip(1e-6, 1e4)
            self.point = network.weights
            self.gradient = gradient
            self.value = value
        is_stable = self.gain <= self.tol * abs(self.value)
        return Round(self.value, is_stable, number + 1 >= self.max_iter)


class MiniBatchSolver(Solver):
    """Gradient steps on mini-batches; a round is an epoch.

    ``batches(epoch)`` yields the batches of an epoch, and ``loss`` returns the loss of a batch and
    its gradient.
    """

    def __init__(
        self,
        network: Network,
        arrays: Arrays,
        batches: Callable[[int], Iterable[Any]],
        loss: Callable[[Any], ValueAndGradient],
        epochs: int,
        learning_rate: float,
    ):
        super().__init__(network, arrays)
        self.batches = batches
        self.loss = loss
        self.epochs = epochs
        self.learning_rate = learning_rate

    @abstractmethod
    def step(self, batch: Any, epoch: int) -> Any:
        """Change the weights and return the loss of the batch before the change."""

    def run_round(self, number: int) -> Round:
        total = 0.0
        count = 0
        self.network.train()
        for batch in self.batches(number):
            total = total + self.step(batch, number)
            count += 1
        self.network.eval()
        is_last = number + 1 == self.epochs
        return Round(float(total) / count, is_last, is_last)

    def decayed_rate(self, epoch: int) -> float:
        """Return a learning rate that decreases to zero along a cosine."""
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * epoch / self.epochs))


class Adam(MiniBatchSolver):
    """Adam (Kingma and Ba, 2015), with a decreasing learning rate."""

    saved = ("n_steps", "mean", "square")

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.n_steps = 0
        self.mean = np.zeros_like(self.network.weights)
        self.square = np.zeros_like(self.mean)

    def step(self, batch: Any, epoch: int) -> float:
        value, gradient = self.loss(batch)
        self.n_steps += 1
        self.mean += (1 - _ADAM_BETA1) * (gradient - self.mean)
        self.square += (1 - _ADAM_BETA2) * (gradient * gradient - self.square)
        mean_correction = 1 - _ADAM_BETA1**self.n_steps
        square_correction = 1 - _ADAM_BETA2**self.n_steps
        size = (self.square / square_correction) ** 0.5 + _ADAM_EPSILON
        rate = self.decayed_rate(epoch) / mean_correction
        self.network.weights = self.network.weights - rate * self.mean / size
        return value


class RMSprop(MiniBatchSolver):
    """RMSprop with the constants of the published program."""

    saved = ("square",)

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.square = np.zeros_like(self.network.weights)

    def step(self, batch: Any, epoch: int) -> float:
        value, gradient = self.loss(batch)
        self.square = RMSPROP_RHO * self.square + (1 - RMSPROP_RHO) * gradient**2
        size = self.square**0.5 + RMSPROP_DELTA
        step = self.learning_rate * gradient / size
        self.network.weights = self.network.weights - step
        return value


def loss_of_weights(
    network: Network, loss: Loss
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return a function that maps weights to the loss and its gradient, as NumPy arrays."""

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        network.weights = weights
        value, gradient = loss()
        return float(value), to_host(gradient).astype(np.float64)

    return evaluate


# ---- progress ------------------------------------------------------------------------------------


class TrainingProgress:
    """History and current state of the training of a network."""

    def __init__(self, network: Network):
        self.network = network
        self.history: list[float] = []  # loss after every round
        # error on the validation pairs after every round, if there are any
        self.validation: list[float] = []
        # smallest validation error, or loss without validation
        self.best_value = math.inf
        self.best_round = 0
        self.best = network.get_state()  # network after the best round
        self.solver: dict[str, Any] = {}  # state from which the solver can continue
        self.is_finished = False
        self.is_converged = False

    def end_round(self, result: Round, error: float | None, patience: float) -> None:
        """Record a round, with the error on the validation pairs if there are any.

        The training converged if the loss is stable, or the error in ``patience`` rounds.
        """
        value = result.loss
        self.history.append(value)
        if error is not None:
            value = error
            self.validation.append(error)
        if value < self.best_value:
            self.best_value = value
            self.best_round = len(self.history)
            self.best = self.network.get_state()
        n_worse = len(self.history) - self.best_round
        self.is_converged = result.is_stable or (
            error is not None and n_worse >= patience
        )
        self.is_finished = self.is_converged or result.is_last

    def get_state(self) -> dict[str, Any]:
        """Return the state as nested dictionaries of lists, arrays and numbers."""
        return {**vars(self), "network": self.network.get_state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.network.restore(state["best"])
        self.best = self.network.get_state()
        self.network.restore(state["network"])
        self.history = list(map(float, state["history"]))
        self.validation = list(map(float, state["validation"]))
        self.best_value = float(state["best_value"])
        self.best_round = int(state["best_round"])
        self.solver = dict(state["solver"])
        self.is_finished = bool(state["is_finished"])
        self.is_converged = bool(state["is_converged"])


# ---- checkpoint files ----------------------------------------------------------------------------


class Checkpoint:
    """States of the trainings of a fit, with the fingerprint of the fit, in an npz file.

    Without a path, nothing is saved.
    """

    def __init__(self, path: str | Path | None, fingerprint: str):
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._states: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def get_state(self, number: int) -> dict[str, Any] | None:
        """Return the saved state of a training, or None if it has not started."""
        return self._states.get(str(number))

    def save(self, number: int, progress: TrainingProgress) -> None:
        """Save the state of a training, with the states of the previous trainings."""
        if self.path is None:
            return
        self._states[str(number)] = progress.get_state()
        with atomic_write(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, fingerprint=self.fingerprint, **_flatten(self._states))

    def _read(self, path: Path) -> None:
        with self.restoring(), np.load(path, allow_pickle=False) as file:
            self._states = _nest(file)
            fingerprint = self._states.pop("fingerprint")
        if fingerprint != self.fingerprint:
            message = (
                f"checkpoint {path} belongs to another model, other data or other parameters; use "
                "another path, or remove the file to start again"
            )
            raise InvalidParameterError("checkpoint", message=message)

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Raise an error that names the file if its contents are not the state of a training."""
        try:
            yield
        except Exception as error:  # NumPy and torch raise errors of many types.
            message = (
                f"checkpoint {self.path} does not contain the state of this training; use another "
                "path, or remove the file to start again"
            )
            raise InvalidParameterError("checkpoint", message=message) from error


def _flatten(state: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries of arrays and numbers as one dictionary whose keys are paths."""
    arrays: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, dict):
            arrays |= _flatten(value, f"{prefix}{name}/")
        else:
            arrays[prefix + name] = value
    return arrays


def _nest(arrays: Any) -> dict[str, Any]:
    """Return the nested dictionaries of `_flatten`, with arrays and numbers."""
    state: dict[str, Any] = {}
    for path, value in arrays.items():
        *folders, name = path.split("/")
        part = state
        for folder in folders:
            part = part.setdefault(folder, {})
        part[name] = value if value.ndim else value.item()
    return state


# ---- pretraining ---------------------------------------------------------------------------------


def fit_masses(
    network: Network,
    arrays: Arrays,
    values: Array,
    masses: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Train the network to return the given masses, by L-BFGS on all rows or on a sample.

    The rows are used in a fixed order, because the iterations amplify rounding errors.
    """
    n = len(masses)
    rows = order_along_line(to_host(values).reshape(n, -1))
    if n > _MAX_LBFGS_ROWS:
        rows = rows[np.sort(rng.choice(n, _MAX_LBFGS_ROWS, replace=False))]
    x = values[rows]
    targets = arrays.array(masses[rows])
    evaluate = loss_of_weights(network, lambda: network.cross_entropy(x, targets))
    start = to_host(network.weights)
    run = minimize_lbfgs(
        evaluate, start, max_iter=_LBFGS_ITERATIONS, tol=_LBFGS_TOLERANCE
    )
    network.weights = run.model
