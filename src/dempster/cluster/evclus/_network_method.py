"""Algorithm of NN-EVCLUS: it trains networks on pairs of rows, and finally on masses with pairs.

`NetworkMethod` standardizes the rows (`Preparation`), pretrains a network on initial masses, and
minimizes its loss (`NetworkObjective`). With ``focal_sets="auto"``, it finally trains the network
on masses that include pairs of neighboring clusters (`compute_doubt_targets`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn

from dempster._arrays import is_network, to_host
from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._validation import format_value
from dempster.belief import FocalSets
from dempster.cluster._base import FitRequest
from dempster.cluster._search import FitResult, Method, Sample
from dempster.cluster.belief_peaks import fit_source_peaks
from dempster.cluster.evclus._model import Assessment, replace_masses
from dempster.cluster.evclus._network_model import (
    ConstrainedNetwork,
    NetworkModel,
    Preparation,
    assess_rows,
    flatten,
)
from dempster.cluster.evclus._network_targets import (
    build_targets,
    compute_doubt_targets,
    read_epochs,
    score_matrix,
)
from dempster.cluster.evclus._network_training import (
    LBFGS_STEPS_PER_ROUND,
    Checkpoint,
    NetworkInputs,
    NetworkObjective,
    Solver,
    TrainingProgress,
    build_layers,
    copy_module,
    dtype_of,
    fit_masses,
    fit_masses_in_batches,
    make_optimizer,
    torch_session,
)
from dempster.cluster.evclus._pairs import MAX_ALL_PAIRS_ROWS
from dempster.constraints import Constraints
from dempster.data.device import import_torch, to_tensor
from dempster.dissimilarity.sources import AttributeSource
from dempster.nn import MassNetwork
from dempster.optimize.descent import Run

_ITERATIONS_PER_EPOCH = 10  # The mini-batch solver runs max_iter / 10 epochs.
_BATCH_SIZE = 512
# A GPU needs hardly more time for a larger batch, which allows a larger learning rate. With a rate
# of 0.03, some trainings fail.
_LARGE_BATCH_SIZE = 1024
_LEARNING_RATE = 0.005
_LARGE_LEARNING_RATE = 0.01
_MAX_DOUBT_ROWS = 2000
_MAX_DOUBT_ROWS_OF_MODULES = 20_000
# number of interquartile ranges from the first quartile of the decision values to the fence
_FENCE = 2.0
# The fence is not below this quantile: decision values have a lower bound, which they reach if
# there are many attributes.
_MAX_OUTLIER_SHARE = 0.01
# lower bound of the interquartile range of the decision values, whose standard deviation is 1
_MIN_RANGE = 0.1
_STEEPNESS = 17.0  # Half an interquartile range below the fence, the mass on the empty set is 0.9.
# parameters that do not change the training, or whose effect on it is among the data of the fit
_IRRELEVANT_PARAMS = {
    "checkpoint",
    "metric",
    "n_jobs",
    "outlier_detector",
    "random_state",
    "verbose",
}

Start = tuple[int, int]
"""Number of a training (from 0), and the seed of its initial weights and its batches."""


class NetworkMethod(Method[Start, NetworkModel]):
    """Algorithm of NN-EVCLUS."""

    def __init__(
        self,
        params: Any,
        training: Any,
        sample: Sample[np.ndarray],
        request: FitRequest,
    ):
        self.params = params
        self.training = training
        self.apply = request.apply
        self.rng = rng = as_generator(params.random_state)
        self.module = params.network if is_network(params.network) else None
        self.device = self._select_device(sample)
        self.blocks = sample.blocks
        if self.blocks is not None and self.blocks.are_in_memory:
            self.blocks = None
        self.is_full_batch = self._uses_full_batches(len(sample.values))
        self._set_targets(to_host(sample.values), request)
        self.family = self.first.family
        if params.outlier_detector is not None and self.family.empty_index is None:
            must = "contain the empty set if there is an outlier_detector"
            raise InvalidParameterError("focal_sets", must=must)
        # Full batches use double precision, which L-BFGS needs.
        self.dtype = torch.float64 if self.is_full_batch else torch.float32
        if self.module is not None:
            self.dtype = dtype_of(self.module)
        self.values = to_host(sample.values)
        if self.device != "cpu":
            self.values = to_tensor(sample.values, self.device)
        moments = None
        if self.blocks is not None:
            sums = self.blocks.moments
            moments = sums.mean, np.sqrt(sums.scatter / sums.weight)
        # The random numbers are drawn in a fixed order: a sample for the detector, the seeds of the
        # trainings, the validation pairs and the training pairs.
        self.preparation = Preparation.from_rows(
            self.values, params.outlier_detector, rng, moments
        )
        self.inputs = self._prepare(self.values)
        self.objective = NetworkObjective(
            self.targets, self.family, self.first.d0, self.inputs, params
        )
        self.seeds = rng.integers(0, 2**31, params.n_init)
        self.held_out = self.targets.draw_validation_pairs(rng)
        self.pairs = None  # all pairs
        early_stopping = self.training.early_stopping
        if self.is_full_batch and (params.n_partners is not None or early_stopping):
            held_out = self.held_out if early_stopping else None
            self.pairs = self.targets.draw_training_pairs(
                params.n_partners, held_out, rng
            )
        # model before pairs were added
        self._before_pairs: NetworkModel | None = None
        fingerprint = ""
        if params.checkpoint is not None:
            fingerprint = self._compute_fingerprint()
        self.checkpoint = Checkpoint(params.checkpoint, fingerprint)

    def _select_device(self, sample: Sample[np.ndarray]) -> str:
        device = self.params.device
        if sample.device is not None:
            device = str(sample.device)
        import_torch(device)  # checks the device
        # For few rows, the CPU is faster, and the result is the same.
        is_small = len(sample.values) <= MAX_ALL_PAIRS_ROWS and self.module is None
        if is_small or torch.device(device).type == "cpu":
            return "cpu"
        return device

    def _uses_full_batches(self, n: int) -> bool:
        solver = self.training.solver
        if solver == "auto":
            return n <= MAX_ALL_PAIRS_ROWS and self.blocks is None
        uses_full_batches = solver in ("lbfgs", "adaptive-steps")
        if uses_full_batches and self.blocks is not None:
            rows = f"{len(self.blocks):,} rows in blocks"
            must = f"have the solver 'mini-batch' or 'auto' for {rows}, got {format_value(solver)}"
            raise InvalidParameterError("training", must=must)
        return uses_full_batches

    def _set_targets(self, X: np.ndarray, request: FitRequest) -> None:
        """Set the initial masses, and the targets for the rows of X."""
        params = self.params
        c = request.n_clusters
        targets = build_targets(X, params.metric, request)
        # constraints that revise the masses instead of changing the loss
        self.revising: Constraints | None = None
        if params.xi == "auto":
            self.revising = targets.constraints
            targets = replace(targets, constraints=None)
        self.first = params._initialize(targets, c, self.rng)
        peaks = fit_source_peaks(
            params.init, targets.source, c, params.random_state, params.n_jobs
        )
        if peaks is not None:
            # The density peaks become labeled rows.
            labels = targets.labels.copy()
            labels[peaks.peak_indices_] = np.arange(c)
            targets = replace(targets, labels=labels)
        self.targets = targets

    def _prepare(self, rows: Any) -> NetworkInputs:
        return NetworkInputs(*self.preparation.inputs(rows, self.device, self.dtype))

    def _compute_fingerprint(self) -> str:
        """Return a hash of the parameters and the data of the fit, for its checkpoint."""
        import joblib

        params = self.params.get_params(deep=False)
        seed = self.params.random_state
        parts = [
            {k: repr(v) for k, v in params.items() if k not in _IRRELEVANT_PARAMS},
            seed if isinstance(seed, int) else None,
            self.device,
            repr(list(self.family)),
            self.held_out.dissimilarity,
            to_host(self.values),
            self.targets.labels,
            self.targets.table,
            self.objective.linked,
            to_host(self.objective.signs),
            to_host(self.inputs.decision),
        ]
        if self.first.evclus is None:
            parts.append(self.first.masses)
        if self.module is not None:
            parts += map(to_host, self.module.state_dict().values())
        if self.blocks is not None:
            moments = self.blocks.moments
            parts += [len(self.blocks), moments.mean, moments.scatter]
        return joblib.hash(parts)

    # ---- starts and runs -------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[Start]:
        return [(number, int(seed)) for number, seed in enumerate(self.seeds)]

    def run_start(self, start: Start) -> Run[NetworkModel]:
        """Train a network, or continue a training that was saved to a checkpoint."""
        number, seed = start
        network = self._new_network(seed)
        saved = self.checkpoint.get_state(number)
        if saved is None and self.first.masses is not None:
            masses = self._match_labels(self.first.masses)
            rng = np.random.default_rng(seed)
            self._pretrain(network, self.first.rows, masses, seed, rng)
        progress = TrainingProgress(network)
        if saved is not None:
            with self.checkpoint.restoring():
                progress.restore(saved["progress"])
        if not progress.is_finished:
            self._train(progress, number, seed)
        history = progress.kept_history
        network.load_state_dict(progress.best)
        validation = tuple(progress.validation[: len(history)])
        model = self._make_model(self.family, network, validation)
        return Run(model, history, progress.is_converged)

    def select_run(
        self, runs: Iterable[Run[NetworkModel]], tol: float
    ) -> Run[NetworkModel]:
        """Select the run with the smallest validation error or, without validation pairs, loss."""
        return min(runs, key=lambda run: (run.model.validation or run.history)[-1])

    def add_neighbor_pairs(self, run: Run[NetworkModel]) -> Run[NetworkModel]:
        """Train a network that has outputs for pairs of neighboring clusters instead of the frame.

        The target masses include these pairs, except for rows with labels or constraints, whose
        targets are the masses of the first training.
        """
        self._before_pairs = run.model
        seed = int(self.seeds[0])
        rng = np.random.default_rng([seed, 1])
        single = self.family.singleton_index
        family, rows, masses = compute_doubt_targets(
            self.targets.source,
            lambda rows: self._masses_before_pairs(rows)[:, single].argmax(axis=1),
            self.family.n_clusters,
            _MAX_DOUBT_ROWS if self.module is None else _MAX_DOUBT_ROWS_OF_MODULES,
            rng,
            outliers=self.inputs.decision is None,
        )
        is_supervised = self.targets.labels >= 0
        if self.objective.xi > 0:
            is_supervised[self.objective.linked] = True
        positions = np.flatnonzero(is_supervised[rows])
        kept = self._masses_before_pairs(rows[positions])
        replace_masses(masses, family, positions, kept, self.family)
        decision = to_host(self.inputs.decision)
        if self.preparation.detector is not self.params.outlier_detector:
            values = to_host(self.preparation.standardize(self.values))
            decision = self.preparation.held_out_decision_values(values)
        network = add_sets(run.model.network, self.family, family, decision)
        network.to(self.device)
        self._pretrain(network, rows, masses, seed, rng)
        model = self._make_model(family, network, run.model.validation)
        return replace(run, model=model)

    def _new_network(self, seed: int) -> MassNetwork:
        shape = tuple(self.values.shape[1:])
        body: nn.Module
        if self.module is None:
            f = len(self.family)
            hidden = [max(20, 3 * f)]
            if self.params.network != "auto":
                hidden = np.atleast_1d(self.params.network).tolist()
            sizes = [math.prod(shape), *hidden, f]
            body = build_layers(sizes, np.random.default_rng(seed))
        else:
            body = copy_module(self.module, shape, self.family)
        unit = None if self.inputs.decision is None else self.params.convention
        network = MassNetwork(body, self.family.empty_index, unit).eval()
        return network.to(self.device, self.dtype)

    def _pretrain(
        self,
        network: MassNetwork,
        rows: Any,
        masses: np.ndarray,
        seed: int,
        rng: np.random.Generator,
    ) -> None:
        """Train the network to return the given masses for rows."""
        if rows is not ...:
            rows = torch.as_tensor(rows, device=self.device)
        x = self.inputs.values[rows]
        with self._session(seed):
            if self.module is None:
                fit_masses(network, x, masses, rng)
            else:
                size = self._get_batch_size()
                fit_masses_in_batches(network, x, masses, size, rng)

    def _session(self, seed: int) -> Any:
        return torch_session(seed, self.device, one_thread=self.module is None)

    def _match_labels(self, masses: np.ndarray) -> np.ndarray:
        """Return the initial masses, renumbered to match the labels if the family allows it."""
        labels = self.targets.labels[self.first.rows]
        family = self.family
        labelled = np.flatnonzero(labels >= 0)
        if len(labelled) == 0:
            return masses
        plausible = masses[labelled] @ family.membership
        sums = [
            plausible[labels[labelled] == k].sum(axis=0)
            for k in range(family.n_clusters)
        ]
        _, cluster_of_label = linear_sum_assignment(-np.stack(sums))
        renumbered = FocalSets(family.membership[:, cluster_of_label])
        columns = renumbered.find(family.membership)
        if (columns >= 0).all():
            return masses[:, columns]
        return masses

    def _train(self, progress: TrainingProgress, number: int, seed: int) -> None:
        network = progress.network
        training = self.training
        validation_error = None
        if training.early_stopping or not self.is_full_batch:
            validation_error = self.objective.validation_error(network, self.held_out)
        patience = training.patience if training.early_stopping else np.inf
        with self._session(seed):
            solver = self._make_solver(network, seed, len(progress.history))
            saved = self.checkpoint.get_state(number)
            if saved is not None:
                with self.checkpoint.restoring():
                    solver.restore(saved["solver"])
            with self.params._open_progress(solver.n_rounds, "rounds") as advance:
                while not progress.is_finished:
                    loss = solver.run_round(len(progress.history))
                    error = None
                    if validation_error is not None:
                        with torch.no_grad():
                            error = float(validation_error())
                    progress.record(loss, error)
                    progress.is_converged = (
                        progress.n_worse_rounds >= patience
                        or solver.has_converged(progress.history, self.params.tol)
                    )
                    is_last = len(progress.history) == solver.n_rounds
                    progress.is_finished = progress.is_converged or is_last
                    self.checkpoint.save(number, progress, solver)
                    advance(f"loss {loss:.6g}")

    def _make_solver(self, network: MassNetwork, seed: int, n_done: int) -> Solver:
        """Return the solver for a training of which ``n_done`` rounds are completed."""
        name = self.training.solver
        n_rounds = self.params.max_iter
        if self.is_full_batch:
            if name != "adaptive-steps":
                name = "lbfgs"
                n_rounds = -(-n_rounds // LBFGS_STEPS_PER_ROUND)
            loss = self.objective.full_batch_loss(network, self.pairs)
            return Solver(network, make_optimizer(name, network), loss, n_rounds)
        n_rounds = max(1, n_rounds // _ITERATIONS_PER_EPOCH)
        size = self._get_batch_size()
        rate = self.training.learning_rate
        if rate == "auto":
            rate = _LARGE_LEARNING_RATE if size >= _LARGE_BATCH_SIZE else _LEARNING_RATE
        optimizer = make_optimizer(name, network, rate)
        if self.blocks is not None:
            epochs = range(n_done, n_rounds)
            streamed = read_epochs(self.blocks, size, seed, epochs)

            def read(epoch: int) -> Iterator[Any]:
                for rows in next(streamed):
                    yield rows, self._prepare(rows)

            loss = partial(self.objective.streamed_loss, network)
            return Solver(network, optimizer, loss, n_rounds, read)

        def draw(epoch: int) -> Iterator[Any]:
            rng = np.random.default_rng([seed, epoch])
            return self.objective.draw_mini_batches(size, rng)

        loss = partial(self.objective.mini_batch_loss, network)
        # Modules of the user may contain random layers, which cannot be recorded.
        recorded = self.module is None and self.inputs.values.is_cuda
        return Solver(network, optimizer, loss, n_rounds, draw, recorded=recorded)

    def _get_batch_size(self) -> int:
        if self.training.batch_size != "auto":
            return int(self.training.batch_size)
        if self.module is None and self.device != "cpu":
            return _LARGE_BATCH_SIZE
        return _BATCH_SIZE

    # ---- results ---------------------------------------------------------------------------------

    def _make_model(
        self, family: FocalSets, network: MassNetwork, validation: tuple[float, ...]
    ) -> NetworkModel:
        in_memory = copy.deepcopy(network).cpu()
        return NetworkModel(family, in_memory, self.preparation, validation)

    def _masses_before_pairs(self, rows: np.ndarray) -> np.ndarray:
        """Return the masses of rows before pairs were added."""
        assert self._before_pairs is not None
        values = self.values[rows]
        return to_host(self._before_pairs.masses(values, self.apply, self.device))

    def result(self, run: Run[NetworkModel]) -> FitResult:
        if self._before_pairs is None:
            self._before_pairs = run.model
        masses = run.model.masses(self.values, self.apply, self.device)
        model: NetworkModel | ConstrainedNetwork = run.model
        if self.revising is not None:
            source = AttributeSource(flatten(self.values))
            model, masses = ConstrainedNetwork.revise(
                run.model, to_host(masses), source, self.revising
            )
        return FitResult(run, model, masses, self.targets.warnings)

    def assess(self) -> Assessment:
        """Assess the masses before pairs of clusters were added."""
        predict = self._masses_before_pairs
        return assess_rows(
            self.targets.source, predict, self.family, self.first.d0, self.rng
        )


# ---- final masses, with pairs of clusters --------------------------------------------------------


def add_sets(
    network: MassNetwork,
    first: FocalSets,
    family: FocalSets,
    decision: np.ndarray | None,
) -> MassNetwork:
    """Return a network for another family, with a head that maps scores to scores of its sets.

    With decision values, its outlier unit gives half of the mass at their fence.
    """
    sizes = len(first), len(family)
    head = nn.utils.skip_init(nn.Linear, *sizes, dtype=dtype_of(network))
    body = copy.deepcopy(network.body)
    wider = MassNetwork(body, family.empty_index, network.outlier_unit, head).eval()
    with torch.no_grad():
        head.weight.copy_(torch.from_numpy(score_matrix(first, family).T))
        head.bias.zero_()
        if wider.coefficients is not None and decision is not None:
            falls = bool(wider.coefficients[1] < 0)
            coefficients = fence_coefficients(decision, falls=falls)
            wider.coefficients.copy_(torch.from_numpy(coefficients))
    return wider


def fence_coefficients(decision: np.ndarray, *, falls: bool) -> np.ndarray:
    """Return coefficients with which the outlier unit gives half of the mass at a box plot's fence.

    ``falls`` is whether the argument of the unit falls with the decision value.
    """
    lowest, low, high = np.quantile(decision, [_MAX_OUTLIER_SHARE, 0.25, 0.75])
    width = max(float(high - low), _MIN_RANGE)
    fence = max(low - _FENCE * width, lowest)
    slope = _STEEPNESS / width * (-1 if falls else 1)
    half = np.log(np.expm1(1))  # argument at which softplus is 1
    return np.array([half - slope * fence, slope])
