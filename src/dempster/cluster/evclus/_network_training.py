"""Loss of NN-EVCLUS as a function of the weights of a network, and its minimization with torch.

Equation and section numbers refer to Denoeux (2021), "NN-EVCLUS: Neural network-based evidential
clustering".
"""

from __future__ import annotations

import copy
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from dempster._arrays import Array, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.belief import FocalSets
from dempster.cluster.evclus._network_targets import NetworkTargets, draw_batches
from dempster.cluster.evclus._pairs import WeightedPairs, link_form
from dempster.cluster.evclus.evclus import LINK_FACTORS
from dempster.data.device import to_tensor
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.transform import decay, to_conflict
from dempster.io.atomic import atomic_write
from dempster.nn import MassNetwork

LBFGS_STEPS_PER_ROUND = 10
_LBFGS_MEMORY = 20
_GRADIENT_TOLERANCE = 1e-12
# values of the paper
_RMSPROP_RHO = 0.9
_RMSPROP_DELTA = 1e-8
# factor by which earlier gains are multiplied in the running mean of the gain
_GAIN_DECAY = 0.9
# If rounding could change target conflicts by more, they are computed in the precision of X.
_MAX_CONFLICT_ERROR = 1e-4
# maximum number of constraints, and of labeled rows, that are added to a mini-batch
_MAX_EXTRA_ROWS = 256
# pretraining by L-BFGS
_PRETRAINING_ITERATIONS = 150
_PRETRAINING_TOLERANCE = 1e-6
_MAX_PRETRAINING_ROWS = 3000
# pretraining of modules of the user, in mini-batches
_PRETRAINING_EPOCHS = 20
_PRETRAINING_STEPS = 50  # in an epoch
_PRETRAINING_RATE = 5e-3

# ---- networks ------------------------------------------------------------------------------------


def build_layers(sizes: Iterable[int], rng: np.random.Generator) -> nn.Sequential:
    """Return linear layers in double precision with ReLU between them.

    The weights and biases of a layer with k inputs are uniform between -1 / sqrt(k + 1) and
    1 / sqrt(k + 1).
    """
    layers: list[nn.Module] = []
    for k, units in pairwise(sizes):
        values = rng.uniform(-1, 1, (k + 1, units)) / math.sqrt(k + 1)
        linear = nn.utils.skip_init(nn.Linear, k, units, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(values[:-1].T.copy()))
            linear.bias.copy_(torch.from_numpy(values[-1]))
        layers += [linear, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def copy_module(
    module: nn.Module, shape: tuple[int, ...], family: FocalSets
) -> nn.Module:
    """Return a copy of a module of the user.

    Raise an error if it cannot be trained or does not return one score per focal set.
    """
    if not any(p.requires_grad for p in module.parameters()):
        message = (
            "network must have weights that are trained, but none requires a gradient"
        )
        raise InvalidParameterError("network", message=message)
    body = copy.deepcopy(module).eval()
    f = len(family)
    with torch.no_grad():
        output = tuple(body(torch.zeros((2, *shape), dtype=dtype_of(module))).shape)
    if output != (2, f):
        sets = ", ".join(family.names()[:4])
        must = f"return {f} outputs per row, one for each focal set ({sets}, ...)"
        found = f"two rows gave an output of shape {output}"
        raise InvalidParameterError("network", must=f"{must}; {found}")
    return body


def dtype_of(module: nn.Module) -> torch.dtype:
    """Return the precision of the weights of a module."""
    return next((p.dtype for p in module.parameters()), torch.float32)


@contextmanager
def torch_session(seed: int, device: str, *, one_thread: bool) -> Iterator[None]:
    """Use a seed for random layers and, if ``one_thread`` is True, a single thread of torch.

    The synchronization of threads takes longer than the operations on small arrays. Subnormal
    masses, which slow down computations, become zero.
    """
    n_threads = torch.get_num_threads()
    devices = [device] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        torch.set_flush_denormal(True)
        if one_thread:
            torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)
            torch.set_flush_denormal(False)


# ---- terms of the loss ---------------------------------------------------------------------------


def all_pairs_error(
    masses: Tensor, delta: Tensor, squares: Tensor, conflict: Tensor
) -> Tensor:
    """Return the mean of (conflict - delta)^2 over all pairs of n rows (eq. 9).

    ``delta`` contains the target conflicts, shape (n, n); it is symmetric with a zero diagonal.
    ``squares`` is the sum of their squares. The square of the difference is expanded, so that no
    other (n, n) matrix is needed.
    """
    n = len(masses)
    images = masses @ conflict
    gram = masses.T @ images
    own = (masses * images).sum(dim=1)
    # Since delta is symmetric, both arguments of the bilinear form have the same gradient, and
    # the product with delta is needed only once.
    products = (delta @ masses.detach() * images).sum()
    products = 2 * products - products.detach()
    total = (gram * gram.T).sum() - own @ own - 2 * products + squares
    return total / (n * (n - 1))


def some_pairs_error(
    masses: Tensor, i: Tensor, j: Tensor, delta: Tensor, conflict: Tensor
) -> Tensor:
    """Return the mean of (conflict - delta)^2 over the pairs (i, j) (eq. 9)."""
    images = masses @ conflict
    conflicts = (images.index_select(0, i) * masses.index_select(0, j)).sum(dim=1)
    return (conflicts - delta).square().mean()


def links_error(first: Tensor, second: Tensor, signs: Tensor, form: Tensor) -> Tensor:
    """Return the mean violation of constraints between rows with two sets of masses (eq. 15).

    The violation is m_i' Z m_j / 2 for a must-link (sign 1) and 1 - m_i' Z m_j / 2 for a
    cannot-link constraint (sign -1), where Z is ``form`` (see `link_form`).
    """
    forms = (first @ form * second).sum(dim=1)
    return (1 + signs * (forms - 1)).mean() / 2


def labels_error(masses: Tensor, indicators: Tensor, membership: Tensor) -> Tensor:
    """Return the mean squared error of plausibilities for labels (section 4)."""
    return (masses @ membership - indicators).square().sum(dim=1).mean()


def weight_penalty(body: nn.Module) -> Tensor:
    """Return half the sum over layers of the mean squared trained weight (eq. 10)."""
    means = []
    for layer in body.modules():
        weights = [p for p in layer.parameters(recurse=False) if p.requires_grad]
        if weights:
            squares = torch.stack([p.square().sum() for p in weights]).sum()
            means.append(squares / sum(p.numel() for p in weights))
    return torch.stack(means).sum() / 2


def scale_points(points: Array, d0: float, device: str, dtype: torch.dtype) -> Tensor:
    """Return points whose squared distances are minus twice the logarithms of 1 - delta.

    They are centered, which avoids cancellation in their products.
    """
    values = to_tensor(points, device)
    scaled = (values - values.mean(dim=0)) * math.sqrt(2 * decay(d0))
    error = scaled.square().sum(dim=1).amax() * torch.finfo(dtype).eps / 2
    return scaled.to(dtype) if error < _MAX_CONFLICT_ERROR else scaled


def conflicts_among(scaled: Tensor) -> Tensor:
    """Return the target conflicts 1 - exp(-gamma d^2) among n scaled points, shape (n, n)."""
    half = scaled.square().sum(dim=1) / -2
    exponent = torch.addmm(half, scaled, scaled.T).add_(half[:, None])
    return exponent.expm1_().neg_().fill_diagonal_(0)


# ---- the loss of a network -----------------------------------------------------------------------


class NetworkInputs(NamedTuple):
    """Inputs of the network for n rows."""

    values: Tensor  # standardized rows
    decision: Tensor | None  # decision values of the outlier detector, if there is one

    def take(self, rows: Tensor) -> NetworkInputs:
        if self.decision is None:
            return NetworkInputs(self.values[rows], None)
        return NetworkInputs(self.values[rows], self.decision[rows])


class Batch(NamedTuple):
    """Rows whose pairs are compared, followed by the rows of constraints and of labels.

    The rows i of all constraints precede the rows j.
    """

    rows: Tensor
    delta: Tensor | None  # target conflicts; None if they are computed from the rows
    signs: Tensor  # 1 for a must-link, and -1 for a cannot-link constraint
    indicators: Tensor  # one-hot encoding of the labels

    @property
    def n_compared(self) -> int:
        return len(self.rows) - 2 * len(self.signs) - len(self.indicators)


class NetworkObjective:
    """Loss of a network, which is a function of its weights.

    The loss is the sum of (1 - nu) times the mean squared error of the conflicts, xi times the
    violation of the constraints, nu times the error on the labels, and ``regularization`` times a
    penalty on large weights (eqs. 9, 10, 15 and section 4).
    """

    def __init__(
        self,
        targets: NetworkTargets,
        family: FocalSets,
        d0: float,
        inputs: NetworkInputs,
        params: Any,
    ):
        self.targets = targets
        self.d0 = d0
        self.inputs = inputs
        self.dtype = inputs.values.dtype
        self.device = str(inputs.values.device)
        self.regularization = params.regularization
        self.labelled = np.flatnonzero(targets.labels >= 0)
        self.nu = params.nu if len(self.labelled) else 0.0
        self.xi = 0.0
        self.linked = np.empty((0, 2), np.int64)
        signs = np.empty(0)
        if targets.constraints is not None:
            self.xi = LINK_FACTORS[params.convention] * params.xi
            must = targets.constraints.must_link
            cannot = targets.constraints.cannot_link
            self.linked = np.concatenate([must, cannot])
            signs = np.repeat([1.0, -1.0], [len(must), len(cannot)])
        self.signs = self._tensor(signs)
        self.conflict = self._tensor(np.array(family.conflict))
        self.link_form = self._tensor(link_form(family))
        self.membership = self._tensor(family.membership)
        # points whose distances are the dissimilarities if the metric is Euclidean
        self.points: Tensor | None = None
        if targets.source.is_euclidean:
            self.points = self._scaled(targets.source.objects)

    def full_batch_loss(
        self, network: MassNetwork, pairs: tuple[np.ndarray, np.ndarray] | None
    ) -> Callable[[], Tensor]:
        """Return a function that computes the loss over ``pairs``; None means all pairs."""
        source = self.targets.source
        n = len(source)
        extra = np.concatenate([*self.linked.T, self.labelled])
        rows = self._integers(np.concatenate([np.arange(n), extra]))
        indicators = self._indicators(self.labelled)
        if pairs is None:
            delta = self._conflicts(source.block(np.arange(n), np.arange(n)))
            error = self._error_for(delta)
        else:
            i, j = map(self._integers, pairs)
            delta = self._tensor(to_conflict(source.pairs(*pairs), self.d0))
            error = partial(
                some_pairs_error, i=i, j=j, delta=delta, conflict=self.conflict
            )
        batch = Batch(rows, None, self.signs, indicators)

        def loss() -> Tensor:
            masses = network(*self.inputs)
            if len(extra):
                masses = masses.index_select(0, rows)
            return self._total(network, masses, batch, error)

        return loss

    def draw_mini_batches(
        self, batch_size: int, rng: np.random.Generator
    ) -> Iterator[Batch]:
        """Yield the batches of an epoch, with random constraints and labels."""
        source = self.targets.source
        rows = draw_batches(len(source), batch_size, rng)
        steps = len(rows)
        links = _draw_some(len(self.linked), steps, rng)
        labelled = self.labelled[_draw_some(len(self.labelled), steps, rng)]
        first, second = np.moveaxis(self.linked[links], -1, 0)
        all_rows = self._integers(np.hstack([rows, first, second, labelled]))
        signs = self.signs[self._integers(links)]
        indicators = self._indicators(labelled)
        for step in range(steps):
            delta = None
            if self.points is None:
                delta = self._conflicts(source.block(rows[step], rows[step]))
            yield Batch(all_rows[step], delta, signs[step], indicators[step])

    def mini_batch_loss(self, network: MassNetwork, batch: Batch) -> Tensor:
        """Return the loss of a batch."""
        delta = batch.delta
        if delta is None:
            assert self.points is not None
            compared = self.points[batch.rows[: batch.n_compared]]
            delta = conflicts_among(compared).to(self.dtype)
        masses = network(*self.inputs.take(batch.rows))
        error = self._error_for(delta)
        return self._total(network, masses, batch, error)

    def streamed_loss(
        self, network: MassNetwork, batch: tuple[np.ndarray, NetworkInputs]
    ) -> Tensor:
        """Return the loss of a batch that was read from blocks, without constraints and labels."""
        rows, inputs = batch
        source = self.targets.source
        if source.is_euclidean:
            delta = conflicts_among(self._scaled(rows)).to(self.dtype)
        else:
            delta = self._conflicts(source.between(rows, rows))
        return self._total(network, network(*inputs), None, self._error_for(delta))

    def validation_error(
        self, network: MassNetwork, pairs: WeightedPairs
    ) -> Callable[[], Tensor]:
        """Return a function that computes the mean squared error of the conflicts of pairs."""
        rows, position = np.unique(
            np.concatenate([pairs.i, pairs.j]), return_inverse=True
        )
        i, j = map(self._integers, np.split(position, 2))
        delta = self._tensor(to_conflict(pairs.dissimilarity.astype(float), self.d0))
        inputs = self.inputs.take(self._integers(rows))
        return lambda: some_pairs_error(network(*inputs), i, j, delta, self.conflict)

    def _error_for(self, delta: Tensor) -> Callable[[Tensor], Tensor]:
        squares = delta.square().sum()
        return partial(
            all_pairs_error, delta=delta, squares=squares, conflict=self.conflict
        )

    def _total(
        self,
        network: MassNetwork,
        masses: Tensor,
        batch: Batch | None,
        error: Callable[[Tensor], Tensor],
    ) -> Tensor:
        """Return the loss, given the masses of the rows of a batch.

        Without a batch, all rows are compared, and there are no constraints and labels.
        """
        if batch is None:
            value = error(masses)
        else:
            k = len(batch.signs)
            sizes = [batch.n_compared, k, k, len(batch.indicators)]
            compared, first, second, labelled = masses.split(sizes)
            value = error(compared)
            if self.nu:
                misfit = labels_error(labelled, batch.indicators, self.membership)
                value = (1 - self.nu) * value + self.nu * misfit
            if self.xi > 0 and k > 0:
                violation = links_error(first, second, batch.signs, self.link_form)
                value = value + self.xi * violation
        if self.regularization:
            value = value + self.regularization * weight_penalty(network.body)
        return value

    def _indicators(self, rows: np.ndarray) -> Tensor:
        """Return the one-hot encoding of the labels of rows."""
        n_clusters = self.membership.shape[1]
        return self._tensor(np.eye(n_clusters)[self.targets.labels[rows]])

    def _scaled(self, points: Array) -> Tensor:
        return scale_points(points, self.d0, self.device, self.dtype)

    def _conflicts(self, dissimilarities: np.ndarray) -> Tensor:
        D = np.array(dissimilarities, float)
        np.fill_diagonal(D, 0)
        return self._tensor(to_conflict(D, self.d0))

    def _tensor(self, values: np.ndarray) -> Tensor:
        return to_tensor(values, self.device).to(self.dtype)

    def _integers(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, dtype=torch.long, device=self.device)


def _draw_some(n: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Draw some of n constraints or labeled rows for each batch, shape (steps, number)."""
    return np.stack([rng.permutation(n)[:_MAX_EXTRA_ROWS] for _ in range(steps)])


# ---- optimizers ----------------------------------------------------------------------------------


class AdaptiveSteps(torch.optim.Optimizer):
    """Gradient descent with one step size per weight (Silva and Almeida, 1990).

    A step that increases the loss is undone, and all step sizes are halved.
    """

    def __init__(self, weights: Iterable[Tensor]):
        super().__init__(weights, {"loss": None, "gain": 1.0})

    @property
    def gain(self) -> float:
        """Running mean of the decrease of the loss."""
        return self.param_groups[0]["gain"]

    @torch.no_grad()
    def step(self, closure: Callable[[], Tensor]) -> float:
        """Run one iteration, and return the loss after it."""
        (group,) = self.param_groups
        evaluate = torch.enable_grad()(closure)
        if group["loss"] is None:
            group["loss"] = float(evaluate())
            for p in group["params"]:
                size = torch.full_like(p, 0.1)
                self.state[p] = {"gradient": gradient_of(p), "size": size}
        before = [p.clone() for p in group["params"]]
        for p in group["params"]:
            p -= self.state[p]["size"] * self.state[p]["gradient"]
        loss = float(evaluate())
        if loss > group["loss"]:
            for p, previous in zip(group["params"], before, strict=True):
                p.copy_(previous)
                self.state[p]["size"] *= 0.5
            return group["loss"]
        for p in group["params"]:
            state = self.state[p]
            gradient = gradient_of(p)
            same_sign = gradient * state["gradient"] >= 0
            size = state["size"]
            size = torch.where(same_sign, 1.2 * size, 0.8 * size)
            state["size"] = size.clamp(1e-6, 1e4)
            state["gradient"] = gradient
        gain = abs(group["loss"] - loss)
        group["gain"] = _GAIN_DECAY * group["gain"] + (1 - _GAIN_DECAY) * gain
        group["loss"] = loss
        return loss


def gradient_of(weights: Tensor) -> Tensor:
    """Return a copy of the gradient, which is zero if the loss does not depend on the weights."""
    if weights.grad is None:
        return torch.zeros_like(weights)
    return weights.grad.clone()


def make_optimizer(
    solver: str, network: MassNetwork, learning_rate: float = 1.0
) -> torch.optim.Optimizer:
    """Return the optimizer for a solver of `Training`.

    "lbfgs" and "adaptive-steps" have no learning rate; all others use mini-batches.
    """
    weights = [p for p in network.parameters() if p.requires_grad]
    if solver == "lbfgs":
        return make_lbfgs(weights, LBFGS_STEPS_PER_ROUND, 0.0)
    if solver == "adaptive-steps":
        return AdaptiveSteps(weights)
    device = weights[0].device
    on_gpu = device.type == "cuda"
    if solver == "rmsprop":
        return torch.optim.RMSprop(
            weights,
            lr=learning_rate,
            alpha=_RMSPROP_RHO,
            eps=_RMSPROP_DELTA,
            capturable=on_gpu,
        )
    rate = torch.tensor(learning_rate, device=device)
    return torch.optim.Adam(weights, lr=rate, fused=True, capturable=on_gpu)


def make_lbfgs(weights: list[Tensor], max_iter: int, tol: float) -> torch.optim.LBFGS:
    """Return L-BFGS whose step consists of at most ``max_iter`` iterations."""
    return torch.optim.LBFGS(
        weights,
        max_iter=max_iter,
        max_eval=100 * max_iter,  # The number of iterations is the only limit.
        history_size=_LBFGS_MEMORY,
        tolerance_grad=_GRADIENT_TOLERANCE,
        tolerance_change=tol,
        line_search_fn="strong_wolfe",
    )


class RecordedStep:
    """Function of a batch of tensors on a GPU that is recorded as a CUDA graph and then repeated.

    Starting the operations of a step one by one takes longer than computing them. The batches must
    have the same shapes.
    """

    N_FIRST = 3  # calls that are not recorded, because torch allocates memory in the first ones

    def __init__(self, step: Callable[[Any], Tensor]):
        self.step = step
        self.stream = torch.cuda.Stream()
        self.graph: torch.cuda.CUDAGraph | None = None
        self.n_calls = 0

    def __call__(self, batch: Any) -> Tensor:
        self.n_calls += 1
        if self.n_calls <= self.N_FIRST:
            self.stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(self.stream):
                loss = self.step(batch)
            torch.cuda.current_stream().wait_stream(self.stream)
            return loss
        if self.graph is None:
            self.batch = [None if part is None else part.clone() for part in batch]
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=self.stream):
                self.loss = self.step(type(batch)(*self.batch))
        for recorded, new in zip(self.batch, batch, strict=True):
            if recorded is not None:
                recorded.copy_(new)
        self.graph.replay()
        return self.loss


# ---- training ------------------------------------------------------------------------------------


def check_loss(loss: float) -> None:
    if not math.isfinite(loss):
        raise InvalidInputError(
            "the loss of the network is NaN or infinite; scale X or use another random_state"
        )


class Solver:
    """Minimization of the loss of a network in rounds.

    With ``batches``, a round is an epoch: ``batches(epoch)`` yields its batches, and ``loss``
    returns the loss of a batch. Otherwise a round is a step of the optimizer (ten iterations of
    L-BFGS), and ``loss`` has no arguments.
    """

    def __init__(
        self,
        network: MassNetwork,
        optimizer: torch.optim.Optimizer,
        loss: Callable[..., Tensor],
        n_rounds: int,
        batches: Callable[[int], Iterable[Any]] | None = None,
        *,
        recorded: bool = False,
    ):
        self.network = network
        self.optimizer = optimizer
        self.loss = loss
        self.n_rounds = n_rounds
        self.batches = batches
        self.learning_rate = optimizer.defaults.get("lr")
        if isinstance(self.learning_rate, Tensor):
            self.learning_rate = float(self.learning_rate)
        self.take_step: Callable[[Any], Tensor] = self._take_step
        if recorded:
            self.take_step = RecordedStep(self._take_step)

    def run_round(self, number: int) -> float:
        """Run the round with this number, and return its loss.

        The loss is that after the round, or the mean over the mini-batches.
        """
        if self.batches is None:
            loss = self.optimizer.step(self._evaluate)
            if isinstance(self.optimizer, torch.optim.LBFGS):
                # It returns the loss before the step.
                with torch.no_grad():
                    loss = self.loss()
            return float(loss)
        self._decrease_rate(number)
        # A number would make the program wait for the device after each step.
        total = torch.zeros((), device=next(self.network.parameters()).device)
        count = 0
        self.network.train()
        for batch in self.batches(number):
            total = total + self.take_step(batch)
            count += 1
        self.network.eval()
        mean = float(total) / count
        check_loss(mean)
        return mean

    def has_converged(self, history: list[float], tol: float) -> bool:
        """Return whether the loss is stable, or all epochs are completed."""
        if self.batches is not None:
            return len(history) == self.n_rounds
        if isinstance(self.optimizer, AdaptiveSteps):
            gain = self.optimizer.gain
        else:
            gain = history[-2] - history[-1] if len(history) > 1 else math.inf
        return gain <= tol * abs(history[-1])

    def _evaluate(self, *batch: Any) -> Tensor:
        """Compute the loss and its gradient."""
        self.network.zero_grad()
        loss = self.loss(*batch)
        loss.backward()
        if self.batches is None:
            # Otherwise, L-BFGS would search with steps that are not numbers.
            check_loss(float(loss))
        return loss.detach()

    def _take_step(self, batch: Any) -> Tensor:
        loss = self._evaluate(batch)
        self.optimizer.step()
        return loss

    def _decrease_rate(self, epoch: int) -> None:
        """Decrease the learning rate of Adam to zero along a cosine."""
        rate = self.optimizer.param_groups[0]["lr"]
        if isinstance(rate, Tensor):  # RMSprop has a constant rate.
            share = (1 + math.cos(math.pi * epoch / self.n_rounds)) / 2
            rate.fill_(self.learning_rate * share)

    def get_state(self) -> dict[str, Any]:
        return {
            "optimizer": self.optimizer.state_dict(),
            "random": self._random_state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state["optimizer"])
        cpu, *gpu = state["random"]
        torch.set_rng_state(cpu)
        if gpu:
            torch.cuda.set_rng_state(gpu[0])

    def _random_state(self) -> list[Tensor]:
        """Return the states of the random numbers for random layers."""
        states = [torch.get_rng_state()]
        if next(self.network.parameters()).is_cuda:
            states.append(torch.cuda.get_rng_state())
        return states


class TrainingProgress:
    """History and current state of the training of a network."""

    def __init__(self, network: MassNetwork):
        self.network = network
        self.history: list[float] = []  # loss after every round
        # error on the validation pairs after every round, if there are any
        self.validation: list[float] = []
        self.best_round = (
            0  # with the smallest validation error, or loss without validation
        )
        self.best = copy.deepcopy(network.state_dict())  # weights after the best round
        self.is_finished = False
        self.is_converged = False

    @property
    def kept_history(self) -> list[float]:
        """Loss after every round up to the one whose weights are kept."""
        if self.validation:
            return self.history[: self.best_round]
        return self.history

    @property
    def n_worse_rounds(self) -> int:
        """Number of rounds after the best one."""
        return len(self.history) - self.best_round

    def record(self, loss: float, error: float | None) -> None:
        """Record a round, with the error on the validation pairs if there are any."""
        self.history.append(loss)
        values = self.history
        if error is not None:
            self.validation.append(error)
            values = self.validation
        if self.best_round == 0 or values[-1] < values[self.best_round - 1]:
            self.best_round = len(values)
            self.best = copy.deepcopy(self.network.state_dict())

    def get_state(self) -> dict[str, Any]:
        return {**vars(self), "network": self.network.state_dict()}

    def restore(self, state: dict[str, Any]) -> None:
        # Loading checks the names and shapes of the weights.
        self.network.load_state_dict(state["best"])
        self.network.load_state_dict(state["network"])
        self.best = dict(state["best"])
        self.history = list(map(float, state["history"]))
        self.validation = list(map(float, state["validation"]))
        self.best_round = range(len(self.history) + 1)[state["best_round"]]
        self.is_finished = bool(state["is_finished"])
        self.is_converged = bool(state["is_converged"])


# ---- checkpoint files ----------------------------------------------------------------------------


class Checkpoint:
    """States of the trainings of a fit, with the fingerprint of the fit, in a file of torch.

    The file contains only tensors, numbers and texts, and reading it executes no code. Without a
    path, nothing is saved.
    """

    def __init__(self, path: str | Path | None, fingerprint: str):
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._states: dict[int, Any] = {}
        if self.path is not None and self.path.exists():
            with self.restoring():
                with zipfile.ZipFile(self.path) as archive:
                    if archive.testzip() is not None:
                        raise ValueError("a checksum does not match")
                content = torch.load(self.path, weights_only=True, map_location="cpu")
                self._states = dict(content["states"])
                found = content["fingerprint"]
            if found != fingerprint:
                message = (
                    f"checkpoint {path} belongs to another model, other data or other parameters; "
                    "use another path, or remove the file to start again"
                )
                raise InvalidParameterError("checkpoint", message=message)

    def get_state(self, number: int) -> dict[str, Any] | None:
        """Return the saved state of a training, or None if it has not started."""
        return self._states.get(number)

    def save(self, number: int, progress: TrainingProgress, solver: Solver) -> None:
        """Save the state of a training, with the states of the previous trainings."""
        if self.path is None:
            return
        self._states[number] = {
            "progress": progress.get_state(),
            "solver": solver.get_state(),
        }
        content = {"fingerprint": self.fingerprint, "states": self._states}
        with atomic_write(self.path) as temporary, temporary.open("wb") as file:
            torch.save(content, file)

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Raise an error that names the file if its contents are not the state of a training."""
        try:
            yield
        except Exception as error:  # Torch raises errors of many types.
            message = (
                f"checkpoint {self.path} does not contain the state of this training; use another "
                "path, or remove the file to start again"
            )
            raise InvalidParameterError("checkpoint", message=message) from error


# ---- pretraining ---------------------------------------------------------------------------------


def fit_masses(
    network: MassNetwork, x: Tensor, masses: np.ndarray, rng: np.random.Generator
) -> None:
    """Train the network to return the given masses, by L-BFGS on all rows or on a sample.

    The outlier unit is not used. The computations are in double precision, and the rows are used in
    a fixed order, because the iterations amplify rounding errors. They run in main memory, because
    L-BFGS waits for many numbers.
    """
    n = len(masses)
    values = to_host(x).reshape(n, -1)
    rows = order_along_line(values)
    if n > _MAX_PRETRAINING_ROWS:
        rows = rows[np.sort(rng.choice(n, _MAX_PRETRAINING_ROWS, replace=False))]
    inputs = torch.from_numpy(values[rows]).double()
    targets = torch.from_numpy(masses[rows]).double()
    device, dtype = x.device, dtype_of(network)
    network.to("cpu", torch.float64)
    weights = list(network.parameters())
    optimizer = make_lbfgs(weights, _PRETRAINING_ITERATIONS, _PRETRAINING_TOLERANCE)
    Solver(
        network, optimizer, lambda: F.cross_entropy(network.scores(inputs), targets), 1
    ).run_round(0)
    network.to(device, dtype)


def fit_masses_in_batches(
    network: MassNetwork,
    x: Tensor,
    masses: np.ndarray,
    batch_size: int,
    rng: np.random.Generator,
) -> None:
    """Train a module of the user, which may be large or depend on the batch, by Adam."""
    n = len(masses)
    size = min(batch_size, n)
    targets = torch.as_tensor(masses, dtype=x.dtype, device=x.device)

    def draw(epoch: int) -> Iterator[Tensor]:
        for _ in range(_PRETRAINING_STEPS):
            rows = rng.choice(n, size, replace=False)
            yield torch.as_tensor(rows, device=x.device)

    def loss(rows: Tensor) -> Tensor:
        return F.cross_entropy(network.scores(x[rows]), targets[rows])

    optimizer = make_optimizer("mini-batch", network, _PRETRAINING_RATE)
    solver = Solver(network, optimizer, loss, _PRETRAINING_EPOCHS, draw)
    for epoch in range(_PRETRAINING_EPOCHS):
        solver.run_round(epoch)
