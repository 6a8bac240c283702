"""NN-EVCLUS: evidential clustering by a neural network that maps features to masses.

`NetworkMethod` standardizes the rows (`Preparation`), pretrains a network on initial masses, and
trains it on pairs of rows (`NetworkObjective`). With ``focal_sets="auto"``, it finally trains the
network on masses that include pairs of neighboring clusters (`compute_doubt_targets`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import (
    Array,
    is_tensor,
    library_of,
    precision_of,
    row_mean,
    to_device_of,
    to_host,
)
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._progress import progress_bar
from dempster._random import as_generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import format_value
from dempster.belief import FocalSets
from dempster.cluster._base import (
    COMMON_RULES,
    EvidentialClusterer,
    FitRequest,
    Support,
)
from dempster.cluster._mass_step import masses_from_plausibilities, project_partition
from dempster.cluster._revision import ConstrainedModel
from dempster.cluster._search import Families, FitResult, Method, Sample, Search
from dempster.cluster._starts import check_partition
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks
from dempster.cluster.evclus._model import (
    Assessment,
    ShepardMixin,
    Surroundings,
    assess,
    neighboring_clusters,
    replace_masses,
)
from dempster.cluster.evclus._network import (
    FeedForward,
    HostArrays,
    MassLayer,
    ValueAndGradient,
)
from dempster.cluster.evclus._network_loss import (
    Arrays,
    Network,
    NetworkInputs,
    NetworkObjective,
    NetworkTargets,
    build_targets,
    draw_batches,
)
from dempster.cluster.evclus._pairs import MAX_ALL_PAIRS_ROWS, WeightedPairs
from dempster.cluster.evclus._training import (
    LBFGS_STEPS_PER_ROUND,
    Adam,
    AdaptiveSteps,
    Checkpoint,
    LBFGSSolver,
    RMSprop,
    Solver,
    TrainingProgress,
    fit_masses,
)
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.constraints import Constraints
from dempster.data.device import allocate_rows, copy_into, import_torch, to_tensor
from dempster.data.rows import BlockRows
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.dissimilarity.transform import (
    choose_landmarks,
    default_quantile,
    scale_at,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    from torch import nn

_RULES = {
    "solver": rule.choice("auto", "lbfgs", "adaptive-steps", "mini-batch", "rmsprop"),
    "batch_size": rule.choice("auto") | rule.integer(2),
    "learning_rate": rule.choice("auto") | rule.real(0, open_low=True),
    "early_stopping": rule.flag,
    "patience": rule.integer(1),
}


@dataclass(frozen=True)
class Training:
    """Training parameters of `NNEVCLUS`.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "adaptive-steps", "mini-batch", "rmsprop"}, default="auto"
        Optimization algorithm. "lbfgs" is L-BFGS on all pairs. "adaptive-steps" is gradient descent
        on all pairs with one step size per weight, which the papers use. "mini-batch" is Adam on
        the pairs inside random batches, with a learning rate that decreases to zero. "rmsprop" is
        RMSprop on random batches with a constant learning rate, which is 0.001 in the paper. "auto"
        selects L-BFGS up to 1,000 rows, and "mini-batch" for more rows.
    batch_size : int or "auto", default="auto"
        Number of rows in a mini-batch. "auto" is 512, or 1024 on a GPU unless the network is a
        torch module. An epoch consists of at most 50 mini-batches and 25,600 rows.
    learning_rate : float > 0 or "auto", default="auto"
        Initial learning rate of the mini-batch solver, or learning rate of RMSprop. "auto" is
        0.005, or 0.01 for at least 1024 rows in a mini-batch.
    early_stopping : bool, default=False
        Stop when the error on validation pairs does not decrease. A tenth of all pairs is held out
        of the training as validation pairs. (Even without early stopping, the mini-batch solver
        keeps the weights of the epoch with the smallest error on validation pairs.)
    patience : int, default=20
        Number of rounds without a decrease of the validation error before early stopping. A round
        is ten iterations of L-BFGS, one adaptive step, or one epoch.

    Examples
    --------
    >>> from dempster.cluster import Training
    >>> Training(solver="mini-batch", batch_size=128)  # doctest: +NORMALIZE_WHITESPACE
    Training(solver='mini-batch', batch_size=128, learning_rate='auto', early_stopping=False,
    patience=20)
    """

    solver: str = "auto"
    batch_size: int | str = "auto"
    learning_rate: float | str = "auto"
    early_stopping: bool = False
    patience: int = 20

    def __post_init__(self) -> None:
        rule.check_parameters(self, _RULES)


MAX_LAYER_UNITS = 1_000_000


def _are_layer_sizes(network: Any) -> bool:
    is_vector = isinstance(network, np.ndarray) and network.ndim == 1
    sizes = network if is_vector or isinstance(network, list | tuple) else [network]
    return all(map(rule.integer(1, MAX_LAYER_UNITS).test, sizes))


def _is_module(network: Any) -> bool:
    """Return whether ``network`` is a torch.nn.Module, without importing torch."""
    is_instance = not isinstance(network, type)
    return is_instance and callable(network) and hasattr(network, "state_dict")


# ---- inputs of the network -----------------------------------------------------------------------

# maximum number of rows for the fit of a detector and for one call of decision_function
_MAX_DETECTOR_ROWS = 10_000
_N_FOLDS = 10  # of the cross-validation of the detector


@dataclass(frozen=True)
class Preparation:
    """Standardization and outlier detector, fitted to the training rows."""

    mean: np.ndarray
    scale: np.ndarray
    detector: Any = None
    # standard deviation of the decision values of the training rows
    detector_scale: float = 1.0

    def standardize(self, X: Array) -> Array:
        return (X - to_device_of(self.mean, X)) / to_device_of(self.scale, X)

    def decision_values(self, inputs: Array) -> np.ndarray | None:
        """Return the scaled decision values of standardized rows, or None without a detector.

        Decision values are positive inside the region of the data.
        """
        if self.detector is None:
            return None
        flat = to_host(inputs).reshape(len(inputs), -1)
        blocks = row_blocks(len(flat), _MAX_DETECTOR_ROWS, most=None)
        parts = [self.detector.decision_function(flat[a:b]) for a, b in blocks]
        return np.concatenate(parts).astype(float).reshape(-1) / self.detector_scale

    def held_out_decision_values(self, inputs: np.ndarray) -> np.ndarray:
        """Return the scaled decision values of training rows for detectors fitted to other rows.

        A detector gives the rows that it was fitted to larger decision values than new rows,
        especially if there are many attributes.
        """
        flat = inputs.reshape(len(inputs), -1)
        order = order_along_line(flat)
        parts = []
        for fold in range(_N_FOLDS):
            held_out = np.s_[fold::_N_FOLDS]
            others = flat[np.delete(order, held_out)]
            every = -(-len(others) // _MAX_DETECTOR_ROWS)
            detector = clone(self.detector).fit(others[::every])
            values = detector.decision_function(flat[order[held_out]])
            parts.append(values.reshape(-1))
        return np.concatenate(parts) / self.detector_scale

    def inputs(self, X: Array, arrays: Arrays) -> NetworkInputs:
        """Return the inputs of the network for rows of X."""
        values = self.standardize(arrays.place(X))
        decision = self.decision_values(values)
        if decision is not None:
            decision = arrays.array(decision)
        return NetworkInputs(arrays.array(values), decision)

    @classmethod
    def from_rows(
        cls,
        X: Array,
        detector: Any,
        rng: np.random.Generator,
        moments: tuple[np.ndarray, np.ndarray] | None,
    ) -> Preparation:
        """Fit the standardization and the detector to training rows.

        ``detector`` is None, "one-class-svm" or an object with a method ``decision_function``. If X
        is a sample of the training rows, ``moments`` contains the mean and the standard deviation
        of all training rows.
        """
        n = len(X)
        if moments is None:
            values = X
            if n <= MAX_ALL_PAIRS_ROWS:
                # For few rows, sums are computed in a fixed order, because full-batch training
                # amplifies rounding errors.
                values = to_host(X)
                values = values[order_along_line(values.reshape(n, -1))]
            moments = _compute_moments(values)
        mean, scale = moments
        dtype = precision_of(X)
        scaler = cls(mean.astype(dtype), np.where(scale > 0, scale, 1).astype(dtype))
        if detector is None:
            return scaler
        inputs = to_host(scaler.standardize(X)).reshape(n, -1)
        preparation = replace(scaler, detector=_fit_detector(detector, inputs, rng))
        decision = preparation.decision_values(inputs)
        assert decision is not None
        return replace(preparation, detector_scale=float(decision.std()) or 1.0)


def _compute_moments(values: Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and the standard deviations of the features."""
    if is_tensor(values):
        mean = to_host(values.double().mean(dim=0))
        deviation = to_host(values.double().std(dim=0, correction=0))
    else:
        mean = row_mean(values)
        deviation = values.std(axis=0, dtype=float)
    # Rounding errors can make the standard deviation of a constant feature nonzero.
    library = library_of(values)
    varies = library.amax(values, axis=0) > library.amin(values, axis=0)
    return mean, np.where(to_host(varies), deviation, 0)


def _fit_detector(detector: Any, inputs: np.ndarray, rng: np.random.Generator) -> Any:
    """Fit an outlier detector.

    Return a fitted one, or an object that is not an estimator, unchanged.
    """
    if isinstance(detector, str):
        from sklearn.svm import OneClassSVM

        detector = OneClassSVM(kernel="rbf", gamma=0.2, nu=0.2)
    elif not isinstance(detector, BaseEstimator):
        return detector
    try:
        check_is_fitted(detector)
        return detector
    except NotFittedError:
        detector = clone(detector)
    if len(inputs) > _MAX_DETECTOR_ROWS:
        inputs = inputs[rng.choice(len(inputs), _MAX_DETECTOR_ROWS, replace=False)]
    return detector.fit(inputs)


# ---- batches and doubt ---------------------------------------------------------------------------

_MAX_CACHED_CELLS = 1 << 24


def read_epochs(
    blocks: BlockRows, batch_size: int, seed: int, epochs: range
) -> Iterator[list[np.ndarray]]:
    """Yield the mini-batches of each epoch; one pass over the blocks reads several epochs."""
    width = blocks.values.shape[1]
    while epochs:
        indices: list[np.ndarray] = []  # row indices of the epochs of this pass
        n_cells = 0
        for epoch in epochs:
            rng = np.random.default_rng([seed, epoch])
            batches = draw_batches(len(blocks), batch_size, rng)
            n_cells += width * batches.size
            if indices and n_cells > _MAX_CACHED_CELLS:
                break
            indices.append(batches)
        needed = np.unique(np.stack(indices))
        last = epochs[0] + len(indices)
        values = blocks.take(needed, f"the objects of epochs {epochs[0] + 1} to {last}")
        for batches in indices:
            yield [values[np.searchsorted(needed, rows)] for rows in batches]
        epochs = epochs[len(indices) :]


_MIN_REFERENCES_PER_CLUSTER = 30
_MAX_DISSIMILARITIES = 1_000_000  # maximum number of dissimilarities in memory at once
# number of interquartile ranges from the first quartile of the decision values to the fence
_FENCE = 2.0
# The fence is not below this quantile: decision values have a lower bound, which they reach if
# there are many attributes.
_MAX_OUTLIER_SHARE = 0.01
# lower bound of the interquartile range of the decision values, whose standard deviation is 1
_MIN_RANGE = 0.1
_STEEPNESS = 17.0  # Half an interquartile range below the fence, the mass on the empty set is 0.9.


def compute_doubt_targets(
    source: DissimilaritySource,
    predict: Callable[[np.ndarray], np.ndarray],
    n_clusters: int,
    max_rows: int,
    rng: np.random.Generator,
    *,
    outliers: bool,
) -> tuple[FocalSets, np.ndarray, np.ndarray]:
    """Compute masses with pairs of neighboring clusters, by the method of EVCLUS.

    Return the family of the empty set, single clusters and pairs of neighboring clusters, the
    indices of at most ``max_rows`` rows, and the masses of these rows. ``predict`` returns the
    clusters of the given rows. If ``outliers`` is True, isolated rows get mass on the empty set.
    """
    n = len(source)
    n_references = max(MAX_ALL_PAIRS_ROWS, _MIN_REFERENCES_PER_CLUSTER * n_clusters)
    references = choose_landmarks(n, n_references, rng)
    D = np.asarray(source.block(references, references), float)
    D = (D + D.T) / 2
    reference_labels = predict(references)

    def blocks() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        return [(np.arange(len(D)), np.arange(len(D)), D)]

    family = neighboring_clusters(blocks, reference_labels, n_clusters)
    surroundings = Surroundings.from_dissimilarities(blocks, len(D), None, n_clusters)
    compared = surroundings.compare(blocks, reference_labels, n_clusters)
    affinity = surroundings.affinity(reference_labels, compared.contrast)
    rows = choose_landmarks(n, max_rows, rng)
    own_reference = np.full(n, -1)
    own_reference[references] = np.arange(len(references))
    masses = np.empty((len(rows), len(family)))
    size = max(1, _MAX_DISSIMILARITIES // len(references))
    for start, stop in row_blocks(len(rows), size, most=None):
        block = rows[start:stop]
        distances = np.ascontiguousarray(source.block(block, references), float)
        affinities, near = affinity.by_distances(distances, own_reference[block])
        contour = compared.contrast.plausibilities(affinities)
        outlying = None
        if outliers:
            outlying = surroundings.outlying(near)
        masses[start:stop] = masses_from_plausibilities(contour, family, outlying)
    return family, rows, masses


def score_matrix(first: FocalSets, family: FocalSets) -> np.ndarray:
    """Return the matrix that maps scores of the sets in ``first`` to scores of those in ``family``.

    The score of a pair is the mean of the scores of its two clusters, so that a row with almost
    equal scores for both clusters can get mass on the pair.
    """
    matrix = np.zeros((len(first), len(family)))
    for column, members in enumerate(family.membership):
        if members.any():
            sources = first.singleton_index[members]
        else:
            sources = first.find(members[None])
        matrix[sources, column] = 1 / len(sources)
    return matrix


def fence_coefficients(layer: MassLayer, decision: np.ndarray | None) -> np.ndarray:
    """Return coefficients with which the outlier unit gives half of the mass at a box plot's fence.

    Without decision values, there are no coefficients.
    """
    if decision is None:
        return np.empty(0)
    lowest, low, high = np.quantile(decision, [_MAX_OUTLIER_SHARE, 0.25, 0.75])
    width = max(float(high - low), _MIN_RANGE)
    fence = max(low - _FENCE * width, lowest)
    slope = _STEEPNESS / width * layer.first_coefficients[1]
    half = np.log(np.expm1(1))  # argument at which softplus is 1
    return np.array([half - slope * fence, slope])


_ROWS_PER_BLOCK = 65_536


@dataclass(frozen=True)
class NetworkModel:
    """Fitted model of `NNEVCLUS`, a trained network with the standardization of its inputs."""

    family: FocalSets
    network: FeedForward | Any  # or a TorchNetwork
    preparation: Preparation
    # errors on the validation pairs during the training
    validation: tuple[float, ...] = ()

    def masses(self, values: Array, apply: Apply, device: Any = "cpu") -> Array:
        """Return the masses of n rows, shape (n, f), in the precision and on the device of X.

        ``device`` is the device of the computation; "cpu" is the device of X.
        """
        out = allocate_rows(values, len(self.family))
        device = getattr(self.network, "device", device)
        for start in range(0, len(values), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            block = values[rows]
            if device != "cpu":
                block = to_tensor(block, device)
            inputs = self.preparation.standardize(block)
            decision = self.preparation.decision_values(inputs)
            masses = self.network.predict_masses(inputs, decision, apply)
            masses /= masses.sum(axis=1, keepdims=True)
            if is_tensor(masses):
                copy_into(masses, out[rows])
            else:
                out[rows] = masses
        return out


@dataclass(frozen=True)
class ConstrainedNetwork(ConstrainedModel):
    """Trained network, and the revised masses of the rows with constraints."""

    @property
    def network(self) -> FeedForward | Any:
        return self.free.network

    @property
    def preparation(self) -> Preparation:
        return self.free.preparation

    @property
    def validation(self) -> tuple[float, ...]:
        return self.free.validation

    def masses(self, values: Array, apply: Apply, device: Any = "cpu") -> Array:
        masses = self.free.masses(values, apply, device)
        rows = _flatten(values)
        return to_device_of(self.approach(to_host(masses), rows), masses)


def _flatten(values: Array) -> np.ndarray:
    """Return the rows of X, which may be images, as vectors in main memory."""
    return to_host(values).reshape(len(values), -1)


# ---- the algorithm -------------------------------------------------------------------------------

_ITERATIONS_PER_EPOCH = 10  # The mini-batch solver runs max_iter / 10 epochs.
_BATCH_SIZE = 512
# A GPU needs hardly more time for a larger batch, which allows a larger learning rate. With a rate
# of 0.03, some trainings fail.
_LARGE_BATCH_SIZE = 1024
_LEARNING_RATE = 0.005
_LARGE_LEARNING_RATE = 0.01
# With 20,000 rows, the initial partition is sometimes poor.
_MAX_INITIAL_ROWS = 100_000
_MAX_DOUBT_ROWS = 2000
_MAX_DOUBT_ROWS_OF_MODULES = 20_000
# quantile of the dissimilarities used as d0 for three or four clusters
_QUANTILE_FOR_FEW = 0.62
_SCALE_PAIRS = 100_000
_ASSESSMENT_PAIRS = 200_000
# parameters that do not change the training, or whose effect on it is among the data of the fit
_IRRELEVANT_PARAMS = {
    "checkpoint",
    "metric",
    "n_jobs",
    "outlier_detector",
    "random_state",
    "verbose",
}


@dataclass(frozen=True)
class InitialMasses:
    """Family of focal sets, value of d0 and initial masses of a training."""

    family: FocalSets
    d0: float
    # masses on which the network is pretrained; None if there is no pretraining
    masses: np.ndarray | None
    rows: Any = ...  # indices of the rows with these masses, by default all
    evclus: EVCLUS | None = None  # model that computed the masses


Start = tuple[int, int]
"""Number of a training (from 0), and the seed of its initial weights and its batches."""


class NetworkMethod(Method[Start, NetworkModel]):
    """Algorithm of NN-EVCLUS."""

    def __init__(
        self, params: NNEVCLUS, sample: Sample[np.ndarray], request: FitRequest
    ):
        self.params = params
        self.apply = request.apply
        self.rng = rng = as_generator(params.random_state)
        self.training = training = params.training or Training()
        # Networks of the user and all computations on a device use torch; everything else uses
        # NumPy.
        self.module = params.network if _is_module(params.network) else None
        self.device = device = self._select_device(sample)
        self.uses_torch = self.module is not None or device != "cpu"
        if self.uses_torch:
            import_torch(device, "a network of your own" if self.module else None)
        self._set_targets(to_host(sample.values), request)
        self.family = self.first.family
        if params.outlier_detector is not None and self.family.empty_index is None:
            must = "contain the empty set if there is an outlier_detector"
            raise InvalidParameterError("focal_sets", must=must)
        self.blocks = sample.blocks
        if self.blocks is not None and self.blocks.are_in_memory:
            self.blocks = None
        is_small = len(self.targets) <= MAX_ALL_PAIRS_ROWS and self.blocks is None
        self.is_full_batch = training.solver in ("lbfgs", "adaptive-steps") or (
            training.solver == "auto" and is_small
        )
        moments = None
        if self.blocks is not None:
            if self.is_full_batch:
                rows = f"{len(self.blocks):,} rows in blocks"
                found = format_value(training.solver)
                must = f"have the solver 'mini-batch' or 'auto' for {rows}, got {found}"
                raise InvalidParameterError("training", must=must)
            sums = self.blocks.moments
            moments = sums.mean, np.sqrt(sums.scatter / sums.weight)
        self.batch_size = _BATCH_SIZE
        if training.batch_size != "auto":
            self.batch_size = int(training.batch_size)
        elif self.module is None and not device.startswith("cpu"):
            self.batch_size = _LARGE_BATCH_SIZE
        arrays: Arrays
        if self.uses_torch:
            from dempster.cluster.evclus import _torch_network as networks

            dtype = networks.select_dtype(self.module, is_full_batch=self.is_full_batch)
            arrays = networks.DeviceArrays(dtype, device)
        else:
            # Full batches use double precision, which L-BFGS needs.
            arrays = HostArrays(
                np.dtype(np.float64 if self.is_full_batch else np.float32)
            )
        self.arrays = arrays
        self.values = arrays.place(sample.values)
        # The random numbers are drawn in a fixed order: a sample for the detector, the seeds of the
        # trainings, the validation pairs and the training pairs.
        self.preparation = Preparation.from_rows(
            self.values, params.outlier_detector, rng, moments
        )
        self.inputs = self.preparation.inputs(self.values, arrays)
        self.objective = NetworkObjective(
            self.targets,
            self.family,
            self.first.d0,
            self.inputs,
            arrays,
            params,
        )
        self.seeds = rng.integers(0, 2**31, params.n_init)
        self.held_out = self.targets.draw_validation_pairs(rng)
        self.pairs = None  # all pairs
        if self.is_full_batch and (
            params.n_partners is not None or training.early_stopping
        ):
            held_out = None
            if training.early_stopping:
                held_out = self.held_out
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
        if sample.device is None:
            return self.params.device
        # For few rows, the CPU is faster, and the result is the same as for a NumPy array.
        is_small = len(sample.values) <= MAX_ALL_PAIRS_ROWS and self.module is None
        if sample.device.type == "cpu" or is_small:
            return "cpu"
        return str(sample.device)

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
            self.objective.signs,
            to_host(self.inputs.decision),
        ]
        if self.first.evclus is None:
            parts.append(self.first.masses)
        if self.module is not None:
            parts.append(self._new_network(0).get_state())
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
                progress.restore(saved)
        if not progress.is_finished:
            self._train(progress, number, seed)
        # With validation pairs, the best round is kept.
        n_kept = progress.best_round if progress.validation else len(progress.history)
        history = progress.history[:n_kept]
        if not history or not np.isfinite(history[-1]):
            raise InvalidInputError(
                "the loss of the network is NaN or infinite; scale X or use another random_state"
            )
        network.restore(progress.best)
        validation = tuple(progress.validation[:n_kept])
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
        has_detector = self.inputs.decision is not None
        single = self.family.singleton_index
        family, rows, masses = compute_doubt_targets(
            self.targets.source,
            lambda rows: self._masses_before_pairs(rows)[:, single].argmax(axis=1),
            self.family.n_clusters,
            _MAX_DOUBT_ROWS if self.module is None else _MAX_DOUBT_ROWS_OF_MODULES,
            rng,
            outliers=not has_detector,
        )
        is_supervised = self.targets.labels >= 0
        if self.objective.xi > 0:
            is_supervised[self.objective.linked] = True
        positions = np.flatnonzero(is_supervised[rows])
        kept = self._masses_before_pairs(rows[positions])
        replace_masses(masses, family, positions, kept, self.family)
        layer = MassLayer(family.empty_index, has_detector, self.params.convention)
        decision = to_host(self.inputs.decision)
        if self.preparation.detector is not self.params.outlier_detector:
            values = to_host(self.preparation.standardize(self.values))
            decision = self.preparation.held_out_decision_values(values)
        coefficients = fence_coefficients(layer, decision)
        matrix = score_matrix(self.family, family)
        network = run.model.network.widen(matrix, layer, coefficients)
        if isinstance(network, FeedForward):
            network = network.with_weights(self.arrays.array(network.weights))
        self._pretrain(network, rows, masses, seed, rng)
        model = self._make_model(family, network, run.model.validation)
        return replace(run, model=model)

    def _new_network(self, seed: int) -> Network:
        arrays = self.arrays
        shape = tuple(self.values.shape[1:])
        has_detector = self.inputs.decision is not None
        layer = MassLayer(self.family.empty_index, has_detector, self.params.convention)
        f = len(self.family)
        if self.module is None:
            hidden = [max(20, 3 * f)]
            if _are_layer_sizes(self.params.network):
                hidden = [int(size) for size in np.atleast_1d(self.params.network)]
            sizes = [int(np.prod(shape)), *hidden, f]
            return FeedForward(sizes, layer, arrays, np.random.default_rng(seed))
        from dempster.cluster.evclus._torch_network import TorchNetwork, validate_module

        body = validate_module(self.module, shape, self.family)
        return TorchNetwork(body.to(arrays.dtype), layer).to(arrays.device)

    def _pretrain(
        self,
        network: Network,
        rows: Any,
        masses: np.ndarray,
        seed: int,
        rng: np.random.Generator,
    ) -> None:
        """Train the network to return the given masses for rows."""
        problem = network, self.arrays, self.inputs.values[rows], masses
        with self.arrays.session(seed):
            if self.module is None:
                fit_masses(*problem, rng)
                return
            from dempster.cluster.evclus._torch_network import fit_masses_in_batches

            fit_masses_in_batches(*problem, self.batch_size, rng)

    def _match_labels(self, masses: np.ndarray) -> np.ndarray:
        """Return the initial masses, renumbered to match the labels if the family allows it."""
        from scipy.optimize import linear_sum_assignment  # slow to import

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
        training = self.training
        validation_error = None
        if training.early_stopping or not self.is_full_batch:
            validation_error = self.objective.validation_error(
                progress.network, self.held_out
            )
        patience = np.inf
        if training.early_stopping:
            patience = training.patience
        with self.arrays.session(seed):
            solver, n_rounds = self._make_solver(progress, seed)
            if progress.solver:
                with self.checkpoint.restoring():
                    solver.restore(progress.solver)
            with self.params._open_progress(n_rounds, "rounds") as advance:
                while not progress.is_finished:
                    result = solver.run_round(len(progress.history))
                    progress.solver = solver.get_state()
                    error = None
                    if validation_error is not None:
                        error = validation_error()
                    progress.end_round(result, error, patience)
                    self.checkpoint.save(number, progress)
                    advance(f"loss {progress.history[-1]:.6g}")

    def _make_solver(self, progress: TrainingProgress, seed: int) -> tuple[Solver, int]:
        """Return the solver and its maximum number of rounds."""
        max_iter = self.params.max_iter
        if not self.is_full_batch:
            epochs = max(1, max_iter // _ITERATIONS_PER_EPOCH)
            return self._make_mini_batch_solver(progress, seed, epochs), epochs
        network = progress.network
        loss = self.objective.full_batch_loss(network, self.pairs)
        problem = network, self.arrays, loss, max_iter, self.params.tol
        if self.training.solver == "adaptive-steps":
            return AdaptiveSteps(*problem), max_iter
        return LBFGSSolver(*problem), -(-max_iter // LBFGS_STEPS_PER_ROUND)

    def _make_mini_batch_solver(
        self, progress: TrainingProgress, seed: int, epochs: int
    ) -> Solver:
        network = progress.network
        objective = self.objective
        size = self.batch_size
        loss: Callable[[Any], ValueAndGradient]
        if self.blocks is None:
            loss = partial(objective.mini_batch_loss, network)

            def batches(epoch: int) -> Iterable[Any]:
                rng = np.random.default_rng([seed, epoch])
                return objective.draw_mini_batches(size, rng)
        else:
            loss = partial(objective.streamed_loss, network)
            remaining = range(len(progress.history), epochs)
            streamed = read_epochs(self.blocks, size, seed, remaining)

            def batches(epoch: int) -> Iterable[Any]:
                for rows in next(streamed):
                    yield rows, self.preparation.inputs(rows, self.arrays)

        rate = self.training.learning_rate
        if rate == "auto":
            is_large = size >= _LARGE_BATCH_SIZE
            rate = _LEARNING_RATE
            if is_large:
                rate = _LARGE_LEARNING_RATE
        problem = network, self.arrays, batches, loss, epochs, rate
        name = self.training.solver
        if self.uses_torch:
            from dempster.cluster.evclus._torch_network import TorchSolver

            recorded = self.module is None and self.blocks is None
            return TorchSolver(*problem, name=name, recorded=recorded)
        if name == "rmsprop":
            return RMSprop(*problem)
        return Adam(*problem)

    # ---- results ---------------------------------------------------------------------------------

    def _make_model(
        self, family: FocalSets, network: Network, validation: tuple[float, ...]
    ) -> NetworkModel:
        if isinstance(network, FeedForward):
            network = network.with_weights(to_host(network.weights))
        return NetworkModel(family, network, self.preparation, validation)

    def _masses_before_pairs(self, rows: np.ndarray) -> np.ndarray:
        """Return the masses of rows before pairs were added."""
        assert self._before_pairs is not None
        return to_host(self._before_pairs.masses(self.values[rows], self.apply))

    def result(self, run: Run[NetworkModel]) -> FitResult:
        if self._before_pairs is None:
            self._before_pairs = run.model
        masses = run.model.masses(self.values, self.apply)
        model: NetworkModel | ConstrainedNetwork = run.model
        if self.revising is not None:
            source = AttributeSource(_flatten(self.values))
            model, masses = ConstrainedNetwork.revise(
                run.model, to_host(masses), source, self.revising
            )
        return FitResult(run, model, masses, self.targets.warnings)

    def assess(self) -> Assessment:
        """Assess the masses before pairs of clusters were added."""
        predict = self._masses_before_pairs
        return _assess_rows(
            self.targets.source, predict, self.family, self.first.d0, self.rng
        )


def _assess_rows(
    source: DissimilaritySource,
    predict: Callable[[np.ndarray], np.ndarray],
    family: FocalSets,
    d0: float,
    rng: np.random.Generator,
) -> Assessment:
    """Compare the conflicts of all pairs of rows, or of random pairs, with the dissimilarities.

    ``predict`` returns the masses of the given rows.
    """
    pairs = WeightedPairs.from_source(
        source, np.arange(len(source)), _ASSESSMENT_PAIRS, rng
    )
    rows, positions = np.unique(np.stack(pairs[:2]), return_inverse=True)
    i, j = positions.reshape(2, -1)
    among = pairs._replace(i=i, j=j, dissimilarity=pairs.dissimilarity.astype(float))
    return assess(predict(rows), family, among, d0, rng)


# ---- the estimator -------------------------------------------------------------------------------


class NNEVCLUS(ShepardMixin, EvidentialClusterer):
    r"""Neural-network evidential clustering: a neural network computes the masses of `EVCLUS`.

    The network has a softmax output for each focal set. The training minimizes the loss

    .. math::

        (1 - \nu) \operatorname*{mean}_{\text{pairs}} (\kappa_{ij} - \delta_{ij})^2
        + \nu \operatorname*{mean}_{\text{labeled rows}} \|pl_i - y_i\|^2 + \text{penalties},

    where kappa_ij is the degree of conflict between the masses of rows i and j,
    :math:`\delta_{ij} = 1 - \exp(-\gamma d_{ij}^2)` is computed from their dissimilarity d_ij, pl_i
    contains the plausibilities of the clusters, and y_i is the one-hot encoding of the label
    (nu = 0 without labels). The penalties are for violated constraints and for large weights.

    By default, the network is first trained with masses on single clusters. Then masses on pairs of
    neighboring clusters and on the empty set are computed by the method of `EVCLUS`, and the
    network is trained on these masses. The masses of new rows are outputs of the network. With an
    ``outlier_detector``, the mass on the empty set increases outside the region of the data.

    Networks given by layer sizes use NumPy. Torch modules, and devices other than the CPU, require
    torch (``pip install dempster[nn]``).

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then contains the candidates and
        the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. "auto" first trains the network with masses on single
        clusters. Then masses on pairs of neighboring clusters (with objects between them)
        and on the empty set are computed from the distances to the members of the clusters, and the
        network is trained on these masses. Rows with labels or constraints keep the masses of the
        first training. "simple", "pairs" and "full" train the whole family. "selected" uses single
        clusters and the pairs of mutually nearest clusters of the initial partition.
    metric : str, callable or transformer, default="euclidean"
        Metric of the rows of X; a transformer is fitted to ``constraints`` or ``y``. A name is a
        metric of scikit-learn; a transformer is, for example, `dempster.metric.PCCA`. With a
        transformer, d is the Euclidean distance between transformed rows.
    d0 : float > 0 or "auto", default="auto"
        Dissimilarity at which two rows are almost certainly in different clusters. "auto" is the
        value that `EVCLUS` selects if ``focal_sets="auto"``, ``init="evclus"`` and ``d0_quantile``
        is None. Otherwise, it is the quantile ``d0_quantile``.
    d0_quantile : float in (0, 1] or None, default=None
        Quantile of the dissimilarities that is used as ``d0="auto"``. None is 0.62 for three or
        four clusters, because networks smooth the borders between clusters, and the value of the
        papers for other numbers.
    xi : float >= 0 or "auto", default="auto"
        Weight of the constraints in the loss, for example 0.5. With "auto", the network is trained
        without constraints, which then revise the masses of their objects only: they move to the
        most plausible clusters that satisfy the constraints, as in `EVCLUS`. In the loss, the
        weight of a few constraints is that of all pairs, so that they may change all clusters.
    nu : float in [0, 1], default=0.5
        Weight of the labels. The published program divides the term by the number of clusters c, so
        its nu corresponds to nu / (nu + c (1 - nu)) here.
    regularization : float >= 0, default=0
        Weight of the penalty on squared network weights.
    convention : {"program", "paper"}, default="program"
        Meaning of ``xi`` and of the outlier unit, as in the published program or in the paper. With
        "paper", ``xi`` is divided by twice the number of constraints; with "program", the
        constraints have four times this weight, as in `EVCLUS`. The conventions also differ in the
        mass on the empty set for a decision value; "program" gives little mass inside the region of
        the data. The function nnevclus of the R package evclust has the outlier unit of "program",
        but the constraints have the weight of "paper"; divide its ``xi`` by 4 and use "program".
    network : "auto", int, sequence of int or torch.nn.Module, default="auto"
        Sizes of the ReLU hidden layers; "auto": one layer with 3 units per focal set (at least 20).
        A torch module must have one output (before the softmax) per focal set, and X may have any
        shape (n_samples, ...), such as images. With ``focal_sets="auto"``, the outputs of the
        module are scores of the empty set, the clusters and the frame; the scores of pairs are
        linear functions of these outputs.
    outlier_detector : None, "one-class-svm" or an object with ``decision_function``, default=None
        Detector that gives mass on the empty set to objects far from the data. "one-class-svm" is
        scikit-learn's `OneClassSVM` with nu=0.2 and gamma=0.2 on standardized features. An unfitted
        estimator of scikit-learn is fitted to the standardized features. Fitted estimators and
        other objects are used without a fit, on the same features. With ``focal_sets="auto"``, half
        of the mass is on the empty set at the lower fence of a box plot of the decision values (two
        interquartile ranges below the first quartile, or the quantile 0.01 if it is larger). If the
        detector is fitted here, these values are cross-validated: a detector gives new rows smaller
        values than the rows that it was fitted to. Otherwise, the training determines the mass on
        the empty set.
    n_partners : int or None, default=None
        Number of random partners of each row for the full-batch solvers; None: all pairs.
    training : Training or None, default=None
        Parameters of the solver. None means ``Training()``.
    init : {"evclus", "belief-peaks", "random"}, BeliefPeaks or CredalPartition
        Initial target of the network. "evclus" pretrains the network on the masses of a fitted
        `EVCLUS`, and a `CredalPartition` on its masses. "belief-peaks" or a `BeliefPeaks` uses the
        density peaks as labeled rows, with weight ``nu`` (the "-bp" variant of the paper). "random"
        uses no pretraining.
    n_init : int, default=1
        Number of trainings with different initial weights; the result with the smallest loss is
        kept. With validation data, it is the result with the smallest validation error.
    max_iter : int, default=1000
        Maximum number of iterations of the full-batch solvers; the mini-batch solver runs
        ``max_iter / 10`` epochs.
    tol : float, default=1e-4
        Relative decrease of the loss at which the full-batch solvers stop. It is the decrease in
        ten iterations of L-BFGS, or the running mean of the adaptive steps.
    checkpoint : path or None, default=None
        File from which an interrupted fit resumes, with the same result. It is replaced after every
        round. A file written for different data, parameters or initial weights of a torch module
        raises an error.
    device : str, default="cpu"
        Device of the network; "cuda" is a GPU. The data are copied to the device several times; if
        they do not fit into its memory, pass X in blocks.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number. Torch networks use the threads of torch.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    network_ : FeedForward or torch.nn.Module
        Network that maps standardized rows to masses. If it is a FeedForward, its method
        ``matrices`` returns the weights and biases of each layer.
    evclus_ : EVCLUS or None
        Fitted `EVCLUS` on whose masses the network was pretrained, with ``init="evclus"``. Without
        constraints, it is fitted to a random sample if there are more than 100,000 rows.
    outlier_detector_ : object or None
        Fitted outlier detector.
    d0_ : float
        Value of ``d0`` that was used.
    stress_, loss_ : float
        Sum of (conflict - delta)^2 over all pairs, divided by the sum of delta^2 (stress) or by the
        number of pairs (loss). For more than 1,000 rows, they are estimated from 200,000 random
        pairs. With ``focal_sets="auto"``, they describe the masses on single clusters, before
        masses on pairs of clusters are added.
    focal_sets_ : FocalSets
    objective_ : float
        Final loss including all penalties.
    history_ : ndarray
        Objective after every round (ten iterations of L-BFGS, one adaptive step, or one epoch). For
        an epoch, it is the mean over the batches. With validation pairs, the last entry belongs to
        the round with the smallest validation error, whose weights are kept.
    validation_history_ : ndarray
        Error on the validation pairs after the same rounds; empty without validation pairs.
    n_iter_ : int
        Number of rounds.
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    converged_ : bool
        Whether the loss was stable, early stopping ended the training, or all epochs were
        completed.
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the rows in the random sample on which the network was initialized, if X is given
        in blocks.

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences
    572.

    Examples
    --------
    >>> from dempster.cluster import NNEVCLUS
    >>> from dempster.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NNEVCLUS(3, random_state=0).fit(X)
    >>> model.predict_mass(X[:2]).labels
    array([1, 1])
    """

    _rules = {
        **COMMON_RULES,
        "metric": rule.Rule(
            "the name of a metric, a callable or a transformer",
            lambda v: (
                isinstance(v, str)
                or callable(v)
                or (hasattr(v, "transform") and hasattr(v, "get_params"))
            ),
        ),
        "d0": rule.auto | rule.real(0, open_low=True),
        "d0_quantile": rule.none | rule.real(0, 1, open_low=True),
        "xi": rule.auto | rule.real(0),
        "nu": rule.real(0, 1),
        "regularization": rule.real(0),
        "convention": rule.choice("program", "paper"),
        "network": rule.choice("auto")
        | rule.Rule(
            "an integer of at least 1, a sequence of such integers or a torch.nn.Module",
            lambda v: _are_layer_sizes(v) or _is_module(v),
        ),
        "outlier_detector": rule.choice(None)
        | rule.choice("one-class-svm")
        | rule.Rule(
            "an object with decision_function",
            lambda v: hasattr(v, "decision_function"),
        ),
        "n_partners": rule.choice(None) | rule.integer(1),
        "training": rule.choice(None) | rule.kind(Training),
        "init": rule.choice("evclus", "random")
        | PEAKS_RULE
        | rule.kind(CredalPartition),
    }
    _min_rows = 2
    _support = Support(blocks=True, tensors=True)
    training: Training | None
    _model: NetworkModel | ConstrainedNetwork
    evclus_: EVCLUS | None

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric | Any = "euclidean",
        d0: float | str = "auto",
        d0_quantile: float | None = None,
        xi: float | str = "auto",
        nu: float = 0.5,
        regularization: float = 0.0,
        convention: str = "program",
        network: str | int | Sequence[int] | nn.Module = "auto",
        outlier_detector: Any = None,
        n_partners: int | None = None,
        training: Training | None = None,
        init: str | BeliefPeaks | CredalPartition = "evclus",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.xi = xi
        self.nu = nu
        self.regularization = regularization
        self.convention = convention
        self.network = network
        self.outlier_detector = outlier_detector
        self.n_partners = n_partners
        self.training = training
        self.init = init
        self.checkpoint = checkpoint
        self.device = device

    def fit(
        self,
        X: TableLike,
        y: ArrayLike = None,
        *,
        constraints: Constraints | None = None,
        dissimilarities: ArrayLike = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, ...) with a torch module
            Data of type float32 keep their precision, and the results keep the index of a
            DataFrame. If X is given in blocks (``docs/blocks.md``), the network is initialized on a
            sample of 20,000 rows, the mini-batches are drawn from all rows, and the masses are
            computed lazily. With a torch tensor (``docs/scale.md``), the network is trained on its
            device, and the results are tensors on this device; pairs of rows that are compared
            before and after the training are selected from a copy in main memory.
        y : array-like of shape (n_samples,), optional
            Clusters 0..n_clusters-1 of the labeled rows, and -1 for unlabeled rows. If y contains
            no -1 and values outside 0..n_clusters-1, it is ignored with a warning, because
            pipelines pass the target to every step.
        constraints : Constraints, optional
            Pairs of rows that are known to be in the same cluster or in different clusters.
        dissimilarities : array-like of shape (n_samples, n_samples), optional
            Dissimilarities that replace the distances between the rows of X.

        Returns
        -------
        self
        """
        return self._fit(
            X, y=y, constraints=constraints, dissimilarities=dissimilarities
        )

    def score(self, X: TableLike, y: None = None) -> float:
        """Return minus the mean of (conflict - delta)^2 over pairs of rows of X.

        X may contain rows that were held out of the fit. The targets delta are computed with
        ``metric`` and ``d0_``. The pairs are all pairs up to 1,000 rows, and 200,000 random pairs
        for more rows. With this score, `sklearn.model_selection.GridSearchCV` can select
        ``regularization`` or ``network``. Use a fixed ``d0``, so that all fits are compared with
        the same targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two rows.
        y : ignored

        Returns
        -------
        float
        """
        check_is_fitted(self, "focal_sets_")
        if hasattr(self.metric, "transform"):
            expected = "the name of a metric or a function for score"
            raise InvalidParameterError("metric", expected, self.metric)
        rows = to_host(self._read(X, reset=False))
        masses = to_host(self.predict_mass(X).masses)
        source = AttributeSource(rows.reshape(len(rows), -1), self.metric)
        rng = np.random.default_rng(0)
        predict = masses.__getitem__
        return -_assess_rows(source, predict, self.focal_sets_, self.d0_, rng).loss

    @available_if(lambda self: self.outlier_detector is not None)
    def decision_function(self, X: TableLike) -> np.ndarray:
        """Return the decision values of the outlier detector.

        They are positive inside the region of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values, divided by their standard deviation on the training objects.
        """
        check_is_fitted(self, "focal_sets_")
        preparation = self._model.preparation
        values = preparation.decision_values(
            preparation.standardize(self._read(X, reset=False))
        )
        assert values is not None
        return values

    def _compute_masses(self, values: Array, apply: Apply) -> Array:
        if self.device != "cpu" and not _is_module(self.network):
            import_torch(self.device)  # checks the device
        return self._model.masses(values, apply, self.device)

    def _accepts_tensors(self) -> bool:
        # Detectors run on the CPU.
        return super()._accepts_tensors() and self.outlier_detector is None

    def _read(self, X: TableLike, *, reset: bool) -> Array:
        return self._validate_attributes(
            X, reset=reset, allow_nd=_is_module(self.network)
        )

    def _resolve_families(self, n_clusters: int) -> Families:
        """Return the families of focal sets.

        For "auto", the first family includes the frame and the empty set.
        """
        if self.focal_sets != "auto":
            return super()._resolve_families(n_clusters)
        return Families(FocalSets.simple(n_clusters), neighbors=True)

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[Method[Any, Any], Run[Any]]:
        """Run the trainings with the focal sets of the initial masses.

        The progress bar counts rounds, not starts.
        """
        method = NetworkMethod(self, sample, request)
        families = Families(method.family, neighbors=self.focal_sets == "auto")
        quiet = replace(
            search, progress=partial(progress_bar, type(self).__name__, shown=False)
        )
        return method, quiet.run(method, families)

    def _initialize(
        self, targets: NetworkTargets, c: int, rng: np.random.Generator
    ) -> InitialMasses:
        """Return the initial masses, with their focal sets and d0."""
        quantile = default_quantile(c)
        if self.d0_quantile is not None:
            quantile = float(self.d0_quantile)
        elif c in (3, 4):
            quantile = _QUANTILE_FOR_FEW
        init = self.init
        if isinstance(init, str) and init == "evclus":
            return self._fit_evclus(targets, c, quantile, rng)
        families = self._resolve_families(c)
        family = families.first
        masses = None
        if isinstance(init, CredalPartition):
            check_partition(init, len(targets), c)
            if families.select is not None:
                family = families.select(init, None)
            if families.neighbors:
                masses = project_partition(init, family).masses
            else:
                masses = init.to_family(family).to_numpy().masses
        elif families.select is not None:
            expected = "'evclus' or a CredalPartition if focal_sets='selected'"
            raise InvalidParameterError("init", expected, init)
        d0 = self.d0
        if isinstance(d0, str):
            rows = np.arange(len(targets))
            pairs = WeightedPairs.from_source(targets.source, rows, _SCALE_PAIRS, rng)
            d0 = scale_at(pairs.dissimilarity, quantile)
        return InitialMasses(family, float(d0), masses)

    def _fit_evclus(
        self,
        targets: NetworkTargets,
        c: int,
        quantile: float | None,
        rng: np.random.Generator,
    ) -> InitialMasses:
        """Return the masses of EVCLUS, which selects d0 if the focal sets and d0 are automatic."""
        focal_sets = self.focal_sets
        if focal_sets == "auto":
            focal_sets = "simple"
            if self.d0_quantile is None:
                quantile = None
        source = targets.source
        table = targets.table
        rows: Any = ...
        if source.matrix is None and targets.constraints is None:
            rows = targets.draw_rows(_MAX_INITIAL_ROWS, rng)
            table = table[rows]
        model = EVCLUS(
            c,
            focal_sets=focal_sets,
            metric=source.metric,
            d0=self.d0,
            d0_quantile=quantile,
            random_state=int(rng.integers(2**31)),
            n_jobs=self.n_jobs,
        ).fit(table, constraints=targets.constraints)
        masses = model.credal_partition_.masses
        return InitialMasses(model.focal_sets_, model.d0_, masses, rows, model)

    def _auto_params(self, method: NetworkMethod) -> dict[str, str]:
        evclus = method.first.evclus
        if evclus is None or evclus.scale_ is None:
            return {}
        return {"d0": evclus.scale_.reasons()}

    def _fitted_attributes(
        self, method: NetworkMethod, model: NetworkModel | ConstrainedNetwork
    ) -> dict[str, Any]:
        assessment = method.assess()
        return {
            "network_": model.network,
            "evclus_": method.first.evclus,
            "outlier_detector_": model.preparation.detector,
            "d0_": method.first.d0,
            "stress_": assessment.stress,
            "loss_": assessment.loss,
            "validation_history_": np.asarray(model.validation),
            "_shepard": assessment.shepard,
        }

    def _check_loaded(self) -> None:
        """Raise an error if the layers do not match the numbers of features and focal sets."""
        network = self._model.network
        mean = self._model.preparation.mean
        scale = self._model.preparation.scale
        if mean.shape != scale.shape:
            raise InvalidInputError(
                f"scale must have the shape of mean, {mean.shape}, got {scale.shape}"
            )
        if not isinstance(network, FeedForward):
            return
        n_weights = len(network.layer.first_coefficients)
        n_weights += sum((a + 1) * b for a, b in pairwise(network.sizes))
        n_inputs = self.n_features_in_
        ends = (n_inputs, len(self._model.family))
        if (
            mean.shape != (n_inputs,)
            or (network.sizes[0], network.sizes[-1]) != ends
            or len(network.weights) != n_weights
        ):
            raise InvalidInputError(
                "the layers of network must match n_features_in_, mean, scale and family"
            )
