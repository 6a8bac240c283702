"""NN-EVCLUS: a network that maps attributes to masses.

`NetworkMethod` prepares the objects (`Preparation`), lets a network learn first masses, trains it on pairs of objects
(`_network.NetworkObjective`) and, for families of neighbors, teaches it the doubt between clusters (`doubt_lessons`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, to_device_of, to_host, zeros
from dempster._errors import InvalidInputError
from dempster._progress import progress_bar
from dempster._random import generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import mean_of_rows, shown
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, FitRequest, Support
from dempster.cluster._mass_step import carried_partition, doubtful_masses
from dempster.cluster._search import Families, FitResult, Method, Sample, Search
from dempster.cluster._starts import check_partition
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks
from dempster.cluster.evclus._checkpoint import Checkpoint, TrainingRecord, fingerprint
from dempster.cluster.evclus._model import Assessment, ShepardMixin, Surroundings, assess, neighboring_clusters
from dempster.cluster.evclus._network import (
    LBFGS_STEPS,
    SMALL,
    Adam,
    Arrays,
    FeedForward,
    GivenBatch,
    HostArrays,
    MassLayer,
    Network,
    NetworkInputs,
    NetworkObjective,
    NetworkTargets,
    Penalties,
    TrainingProgress,
    ValueAndGradient,
    batches_of_epoch,
    falling,
    network_quantile,
    targets_of,
    train_adaptive_steps,
    train_lbfgs,
    train_mini_batches,
)
from dempster.cluster.evclus.evclus import EVCLUS, LINK_FACTORS
from dempster.constraints import Constraints
from dempster.data.device import torch_on
from dempster.data.rows import BlockRows
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.dissimilarity.transform import choose_landmarks
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.optimize.lbfgs import minimize_lbfgs
from dempster.partition import CredalPartition

_RULES = {
    "solver": rule.choice("auto", "lbfgs", "adaptive-steps", "mini-batch"),
    "batch_size": rule.integer(2),
    "learning_rate": rule.real(0, open_low=True),
    "early_stopping": rule.flag,
    "patience": rule.integer(1),
}


@dataclass(frozen=True)
class Training:
    """How the network of `NNEVCLUS` is trained.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "adaptive-steps", "mini-batch"}, default="auto"
        "lbfgs": limited-memory quasi-Newton steps on all pairs. "adaptive-steps": gradient descent on all pairs with a
        step of its own for each weight, the papers' method. "mini-batch": Adam on all pairs inside random batches, with
        a rate that falls to zero. "auto": L-BFGS up to 1,000 objects, mini-batches beyond.
    batch_size : int, default=512
        Objects of a batch.
    learning_rate : float > 0, default=0.005
        Of the mini-batches, at their beginning.
    early_stopping : bool, default=False
        Stop when held-out pairs get no better: a tenth of all pairs, which the training does not see. (Mini-batches
        keep the best of their epochs on such pairs even if they are not stopped.)
    patience : int, default=20
        Rounds (ten iterations of L-BFGS, one adaptive step, or one epoch) without improvement before stopping early.

    Examples
    --------
    >>> from dempster.cluster import Training
    >>> Training(solver="mini-batch", batch_size=128)
    Training(solver='mini-batch', batch_size=128, learning_rate=0.005, early_stopping=False, patience=20)
    """

    solver: str = "auto"
    batch_size: int = 512
    learning_rate: float = 0.005
    early_stopping: bool = False
    patience: int = 20

    def __post_init__(self) -> None:
        rule.check_parameters(self, _RULES)


MAX_LAYER_UNITS = 1_000_000


def are_sizes(network: Any) -> bool:
    """Tell whether it is the size of a hidden layer, or those of several."""
    several = isinstance(network, list | tuple) or (isinstance(network, np.ndarray) and network.ndim == 1)
    sizes = network if several else [network]
    return all(rule.is_integer(s) and 1 <= int(s) <= MAX_LAYER_UNITS for s in sizes)


def is_module(network: Any) -> bool:
    """Tell whether it is a torch.nn.Module (torch may not be installed)."""
    return callable(network) and hasattr(network, "state_dict")


# ---- inputs of the network ------------------------------------------------------------------------------------------

_DETECTOR_SAMPLE = 10_000  # objects a detector is fitted to
_ROWS = 10_000  # objects a detector is asked about at once


@dataclass(frozen=True)
class Preparation:
    """Learnt from the objects of the fit.

    Attributes
    ----------
    mean, scale : arrays of the shape of an object
    detector : object with ``decision_function``, or None
    detector_scale : float
        Standard deviation of its decision values among the objects of the fit.
    """

    mean: np.ndarray
    scale: np.ndarray
    detector: Any = None
    detector_scale: float = 1.0

    def inputs(self, X: Array) -> Array:
        """The objects, standardised."""
        return (X - to_device_of(self.mean, X)) / to_device_of(self.scale, X)

    def decision(self, inputs: np.ndarray) -> np.ndarray | None:
        """Decision values of standardised objects, over their standard deviation; positive inside the region of the
        data. None without a detector."""
        if self.detector is None:
            return None
        flat = inputs.reshape(len(inputs), -1)
        parts = [self.detector.decision_function(flat[s : s + _ROWS]) for s in range(0, len(flat), _ROWS)]
        return np.concatenate(parts).astype(float).reshape(-1) / self.detector_scale

    @classmethod
    def of(
        cls, X: np.ndarray, detector: Any, rng: np.random.Generator, of_all: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Preparation:
        """Learn from the objects of a fit; ``detector`` is None, "one-class-svm" or an object with decision_function.

        ``of_all`` : mean and standard deviation of all objects, where X are some of them.
        """
        if of_all is None:
            # few objects are added up in a fixed order: whole batches would magnify the rounding of another
            values = X[order_along_line(X.reshape(len(X), -1))] if len(X) <= SMALL else X
            varies = values.max(axis=0) > values.min(axis=0)  # which rounding would hide
            of_all = mean_of_rows(values), np.where(varies, values.std(axis=0, dtype=float), 0)
        mean, scale = of_all
        plain = cls(mean.astype(X.dtype), np.where(scale > 0, scale, 1).astype(X.dtype))
        if detector is None:
            return plain
        inputs = plain.inputs(X).reshape(len(X), -1)
        found = replace(plain, detector=_fit_detector(detector, inputs, rng))
        decision = found.decision(inputs)
        assert decision is not None
        return replace(found, detector_scale=float(decision.std()) or 1.0)


def _fit_detector(detector: Any, inputs: np.ndarray, rng: np.random.Generator) -> Any:
    """Fit a detector unless it is ready: scikit-learn tells of its own whether they are, others are taken to be."""
    if isinstance(detector, str):
        from sklearn.svm import OneClassSVM

        detector = OneClassSVM(kernel="rbf", gamma=0.2, nu=0.2)
    elif not isinstance(detector, BaseEstimator):
        return detector
    else:
        try:
            check_is_fitted(detector)
            return detector
        except NotFittedError:
            detector = clone(detector)
    if len(inputs) > _DETECTOR_SAMPLE:
        inputs = inputs[rng.choice(len(inputs), _DETECTOR_SAMPLE, replace=False)]
    return detector.fit(inputs)


# ---- learning masses, and doubt -------------------------------------------------------------------------------------

_ITERATIONS, _GAIN, _OBJECTS = 150, 1e-6, 3000  # of L-BFGS: iterations, relative gain at the end, objects at most
_STEPS, _RATE = 1000, 5e-3  # of Adam


def learn_masses(network: Network, inputs: NetworkInputs, masses: np.ndarray, rng: np.random.Generator) -> None:
    """Teach the network by L-BFGS, from all objects or, of many, some of them: it is only where the training starts.

    The objects are taken in a fixed order: so many steps would magnify the rounding of another.
    """
    n, arrays = len(masses), inputs.arrays
    who = order_along_line(inputs.values.reshape(n, -1))
    if n > _OBJECTS:
        who = who[np.sort(rng.choice(n, _OBJECTS, replace=False))]
    x, wanted = inputs.objects(who), arrays.array(masses[who])

    def evaluate(weights: np.ndarray) -> tuple[float, np.ndarray]:
        network.weights = arrays.array(weights)
        value, gradient = network.taught(x, wanted)
        return float(value), arrays.to_host(gradient).astype(np.float64)

    network.weights = arrays.array(
        minimize_lbfgs(evaluate, arrays.to_host(network.weights), max_iter=_ITERATIONS, tol=_GAIN).model
    )


def learn_masses_in_batches(
    network: Network, inputs: NetworkInputs, masses: np.ndarray, batch_size: int, rng: np.random.Generator
) -> None:
    """Teach the network by Adam: a network of the user's may be large, and draw numbers or learn from batches."""
    n, adam = len(masses), Adam(network, inputs.arrays)
    order, at = rng.permutation(n), 0
    network.train()
    for step in range(_STEPS):
        if at + batch_size > n:
            order, at = rng.permutation(n), 0
        who = order[at : at + batch_size]
        at += batch_size
        _, gradient = network.taught(inputs.objects(who), inputs.arrays.array(masses[who]))
        adam.step(gradient, falling(_RATE, step, _STEPS))
    network.eval()


_CELLS = 1 << 24  # that are read at once


class StreamedBatches:
    """The batches of every epoch of a training.

    Parameters
    ----------
    blocks : BlockRows
    preparation : Preparation
    batch_size : int
    epochs : int
        Of the training.
    """

    def __init__(self, blocks: BlockRows, preparation: Preparation, batch_size: int, epochs: int):
        self.blocks, self.preparation, self.batch_size, self.epochs = blocks, preparation, batch_size, epochs
        self._read: dict[int, list[np.ndarray]] = {}
        self._seed: int | None = None

    def epoch(self, seed: int, number: int) -> Iterator[GivenBatch]:
        """The batches of one epoch of the training with a seed."""
        if seed != self._seed or number not in self._read:
            self._seed, self._read = seed, self._several(seed, number)
        for objects in self._read.pop(number):
            inputs = self.preparation.inputs(objects)
            yield objects, inputs, self.preparation.decision(inputs)

    def _several(self, seed: int, first: int) -> dict[int, list[np.ndarray]]:
        """The objects of this epoch and of some that follow, by their numbers."""
        n, width = len(self.blocks), self.blocks.values.shape[1]
        drawn: dict[int, list[np.ndarray]] = {}
        cells = 0
        for number in range(first, self.epochs):
            rows = list(batches_of_epoch(n, self.batch_size, np.random.default_rng([seed, number])))
            cells += width * sum(map(len, rows))
            if drawn and cells > _CELLS:
                break
            drawn[number] = rows
        wanted = np.unique(np.concatenate([rows for batches in drawn.values() for rows in batches]))
        objects = self.blocks.take(wanted, f"the objects of epochs {first + 1} to {first + len(drawn)}")
        return {
            number: [objects[np.searchsorted(wanted, rows)] for rows in batches] for number, batches in drawn.items()
        }


_REFERENCES_PER_CLUSTER = 30  # at least; of few objects all are references
_DOUBT_CELLS = 1_000_000  # dissimilarities held at once
_FENCE = 2.0  # interquartile ranges below the first quartile of the decision values
_LEAST_RANGE = 0.1  # of these values, which have the standard deviation 1
_STEEPNESS = 17.0  # half an interquartile range below the fence the share of the empty set is 0.9


def doubt_lessons(
    source: DissimilaritySource,
    labels: np.ndarray,
    n_clusters: int,
    most: int,
    rng: np.random.Generator,
    *,
    outliers: bool,
) -> tuple[FocalSets, np.ndarray, np.ndarray]:
    """Return what a network is taught: a family of single clusters and pairs of neighbors, objects, and their masses.

    Parameters
    ----------
    source : DissimilaritySource
    labels : (n,) array
        Clusters that were found.
    n_clusters : int
    most : int
        How many objects have masses, at most.
    rng : Generator
    outliers : bool
        Whether objects far from all others get mass on the empty set.
    """
    n = len(source)
    references = choose_landmarks(n, max(SMALL, _REFERENCES_PER_CLUSTER * n_clusters), rng)
    D = np.asarray(source.block(references, references), dtype=float)
    D = (D + D.T) / 2
    of_references = labels[references]
    family = neighboring_clusters(D, of_references, n_clusters)
    surroundings = Surroundings.of(D, None)
    affinity = surroundings.affinity(of_references, n_clusters)
    who = choose_landmarks(n, most, rng)
    itself = np.full(n, -1)
    itself[references] = np.arange(len(references))
    masses = np.empty((len(who), len(family)))
    for start, stop in row_blocks(len(who), max(1, _DOUBT_CELLS // len(references)), most=None):
        some = who[start:stop]
        apart = np.ascontiguousarray(source.block(some, references), dtype=float)
        contour, near = affinity.by_distances(apart, itself[some])
        masses[start:stop] = doubtful_masses(contour, family, surroundings.outlying(near) if outliers else None)
    return family, who, masses


def scores_of_sets(first: FocalSets, family: FocalSets) -> np.ndarray:
    """(f, g) matrix that makes scores of the sets of a family from those of the first: a pair has the mean of its two
    clusters, so that it comes before both where they are almost alike."""
    matrix = np.zeros((len(first), len(family)))
    for column, members in enumerate(family.membership):
        sources = first.singleton_index[members] if members.any() else first.find(members[None])
        matrix[sources, column] = 1 / len(sources)
    return matrix


def coefficients_at_fence(layer: MassLayer, decision: np.ndarray | None) -> np.ndarray:
    """(2,) coefficients of the outlier unit by which half of the mass goes to the empty set at the lower fence of a box
    plot of the decision values; none without a detector."""
    if decision is None:
        return np.empty(0)
    low, high = np.quantile(decision, [0.25, 0.75])
    width = max(float(high - low), _LEAST_RANGE)
    slope = _STEEPNESS / width * (-1 if layer.convention == "program" else 1)
    half = np.log(np.expm1(1))  # softplus is one there
    return np.array([half - slope * (low - _FENCE * width), slope])


_ROWS_PER_BLOCK = 65_536


@dataclass(frozen=True)
class NetworkModel:
    """A trained network with everything needed to turn an object into masses.

    Attributes
    ----------
    family : FocalSets
    network : Network
    preparation : Preparation
    validation : tuple of float
        Errors on held-out pairs along the training, where there were any.
    """

    family: FocalSets
    network: Network
    preparation: Preparation
    validation: tuple[float, ...] = ()

    def masses(self, values: Array, apply: Apply) -> Array:
        """(n, f) masses of objects by a forward pass; of their precision, and where they are."""
        out = zeros((len(values), len(self.family)), values)
        for start in range(0, len(values), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            inputs = self.preparation.inputs(values[rows])
            out[rows] = self.network.masses(inputs, self.preparation.decision(inputs), apply)
        out /= out.sum(axis=1, keepdims=True)
        return out


_ITERATIONS_OF_AN_EPOCH = 10  # of max_iter
_TAUGHT, _TAUGHT_IN_BATCHES = 2000, 20_000  # objects whose doubt is read off for a network to learn


@dataclass(frozen=True)
class FirstMasses:
    """What a training starts from.

    Attributes
    ----------
    family : FocalSets
    d0 : float
    masses : (n, f) array or None
        What the network learns first; None: it starts from random weights.
    origin : str
        Where all this comes from: a checkpoint belongs to one origin.
    given : bool
        Whether the masses are the user's, and not found from data and seed.
    """

    family: FocalSets
    d0: float
    masses: np.ndarray | None
    origin: str
    given: bool = False


@dataclass(frozen=True)
class TrainedNetwork:
    """A network with the family of its outputs, and the training it comes from."""

    family: FocalSets
    network: Network
    progress: TrainingProgress


Start = tuple[int, int]
"""The number of a training, and the seed of its weights and batches."""


class NetworkMethod(Method[Start, TrainedNetwork]):
    """NN-EVCLUS on one sample of objects."""

    def __init__(
        self,
        params: NNEVCLUS,
        sample: Sample[np.ndarray],
        targets: NetworkTargets,
        first: FirstMasses,
        rng: np.random.Generator,
        device: str,
        apply: Apply,
    ):
        self.params, self.values, self.targets, self.first = params, sample.values, targets, first
        self.rng, self.device, self.apply = rng, device, apply
        self.family, self.d0 = first.family, first.d0
        if params.outlier_detector is not None and self.family.empty_index is None:
            raise InvalidInputError("outlier_detector gives mass to the empty set, which focal_sets lacks")
        self.training = training = params.training or Training()
        self.blocks = None if sample.blocks is None or sample.blocks.are_in_memory else sample.blocks
        self.whole = training.solver in ("lbfgs", "adaptive-steps") or (
            training.solver == "auto" and len(self.values) <= SMALL and self.blocks is None
        )
        if self.blocks is not None and self.whole:
            raise InvalidInputError(
                f"training must have the solver 'mini-batch' or 'auto' for {len(self.blocks):,} objects in blocks, "
                f"got {shown(training.solver)}, which needs all of them at once"
            )
        of_all = None
        if self.blocks is not None:
            moments = self.blocks.moments
            of_all = moments.mean, np.sqrt(moments.scatter / moments.weight)
        self.preparation = Preparation.of(self.values, params.outlier_detector, rng, of_all)
        objects = self.preparation.inputs(self.values)
        decision = self.preparation.decision(objects)
        # a network of the user's own is torch's, and so is all that happens on a device; the rest is NumPy
        self.module = params.network if is_module(params.network) else None
        self.uses_torch = self.module is not None or device != "cpu"
        # whole batches, of small data, are computed in double precision: L-BFGS needs the last digits
        arrays: Arrays = HostArrays(np.dtype(np.float64 if self.whole else np.float32))
        if self.uses_torch:
            from dempster.cluster.evclus._torch_network import DeviceArrays, precision_of

            arrays = DeviceArrays(precision_of(self.module, whole=self.whole), device)
        self.inputs = NetworkInputs(objects, decision, arrays)
        self.penalties = Penalties(LINK_FACTORS[params.convention] * params.xi, params.nu, params.regularization)
        self.objective = NetworkObjective(targets, self.family, self.d0, self.inputs, self.penalties)
        self.seeds = rng.integers(0, 2**31, params.n_init)
        self.held_out = targets.pairs_to_judge(rng)
        self.pairs = None  # all pairs need no list
        if self.whole and (params.n_partners is not None or training.early_stopping):
            held_out = self.held_out if training.early_stopping else None
            self.pairs = targets.pairs_to_train_on(params.n_partners, held_out, rng)
        self._assessed: tuple[FocalSets, np.ndarray] | None = None  # before doubt was read off
        checkpoint = None
        if params.checkpoint is not None:
            checkpoint = Checkpoint(params.checkpoint, fingerprint(self._settings(), self._arrays()))
        self.record = TrainingRecord(checkpoint)

    def _settings(self) -> dict[str, str]:
        """Return the parameters that a training depends on, as text: a checkpoint belongs to them."""
        params, metric, seed = self.params, self.targets.source.metric, self.params.random_state
        names = ("network", "convention", "n_partners", "n_init", "max_iter", "tol")
        return {name: repr(getattr(params, name)) for name in names} | {
            "training": repr(self.training),
            "penalties": repr(self.penalties),
            "device": self.device,
            "seed": repr(int(seed) if isinstance(seed, Integral) else None),
            "first": self.first.origin,
            "sets": repr(list(self.family)),
            "metric": metric if isinstance(metric, str) else getattr(metric, "__qualname__", type(metric).__name__),
        }

    def _arrays(self) -> Iterator[np.ndarray]:
        """Yield the arrays that a training depends on."""
        source, known = self.targets.source, self.targets.constraints
        yield from (self.values, self.targets.labels, source.objects if source.matrix is None else source.matrix)
        if known is not None:
            yield from (known.must_link, known.cannot_link)
        if self.inputs.decision is not None:
            yield self.inputs.decision
        if self.first.given and self.first.masses is not None:
            yield self.first.masses
        if self.module is not None:
            yield from self._new_network(0).state().values()
        if self.blocks is not None:
            yield from (np.array(len(self.blocks)), self.blocks.moments.mean, self.blocks.moments.scatter)

    # ---- starts and runs ------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[Start]:
        return [(number, int(seed)) for number, seed in enumerate(self.seeds)]

    def run_start(self, start: Start) -> Run[TrainedNetwork]:
        """Train a network, or go on with one that a checkpoint holds."""
        number, seed = start
        network = self._new_network(seed)
        saved = self.record.state_of(number)
        if saved is None and self.first.masses is not None:
            self._teach(network, self.inputs, self._renumber(self.first.masses), seed, np.random.default_rng(seed))
        progress = TrainingProgress(network, self.inputs.arrays)
        if saved is not None:
            progress.restore(saved)
        if not progress.finished:
            self._train(progress, seed)
        self.record.close(number, progress)
        kept = progress.kept_rounds
        if kept == 0 or not np.isfinite(progress.history[kept - 1]):
            raise InvalidInputError("the loss of the network is not a number: scale X, or start from other weights")
        network.restore(progress.best)
        return Run(TrainedNetwork(self.family, network, progress), progress.history[:kept], progress.converged)

    def select_run(self, runs: Iterable[Run[TrainedNetwork]], tol: float) -> Run[TrainedNetwork]:
        """Select the smallest loss or, where pairs are held out, the smallest error on them."""
        return min(runs, key=lambda run: run.model.progress.best_value)

    def add_neighbor_pairs(self, run: Run[TrainedNetwork]) -> Run[TrainedNetwork]:
        """Read off doubt by the clusters of the network; a wider one, with outputs for pairs of neighbors and without
        the frame, learns it. Objects that labels or constraints speak of keep the masses that these led to."""
        found, seed = run.model, int(self.seeds[0])
        trained = self.result(run).masses
        self._assessed = self.family, trained
        rng = np.random.default_rng([seed, 1])
        labels = trained[:, self.family.singleton_index].argmax(axis=1)
        most = _TAUGHT_IN_BATCHES if self.uses_torch else _TAUGHT
        outliers = self.inputs.decision is None  # else the detector tells them
        source, c = self.targets.source, self.family.n_clusters
        family, who, masses = doubt_lessons(source, labels, c, most, rng, outliers=outliers)
        self._keep_known(masses, who, trained, family)
        layer = MassLayer(family.empty_index, not outliers, self.params.convention)
        coefficients = coefficients_at_fence(layer, self.inputs.decision)
        network = found.network.widened(scores_of_sets(self.family, family), layer, coefficients)
        self._teach(network, replace(self.inputs, values=self.inputs.values[who]), masses, seed, rng)
        return Run(replace(found, family=family, network=network), run.history, run.converged)

    def _keep_known(self, masses: np.ndarray, who: np.ndarray, trained: np.ndarray, family: FocalSets) -> None:
        """Write the masses, without those on the frame, that the training gave to objects with labels or constraints;
        they stand in the rows of ``who``."""
        known, given = self.targets.labels >= 0, self.targets.constraints
        if given is not None and self.penalties.xi > 0:
            known[np.concatenate([given.must_link, given.cannot_link]).ravel()] = True
        rows, place = np.flatnonzero(known[who]), family.find(self.family.membership)
        own = trained[np.ix_(who[rows], place >= 0)]
        total = own.sum(axis=1)
        there = rows[total > 0]
        masses[there] = 0
        masses[np.ix_(there, place[place >= 0])] = (own / np.where(total > 0, total, 1)[:, None])[total > 0]

    def _new_network(self, seed: int) -> Network:
        given, f, arrays = self.params.network, len(self.family), self.inputs.arrays
        layer = MassLayer(self.family.empty_index, self.inputs.decision is not None, self.params.convention)
        if self.module is None:
            hidden = [max(20, 3 * f)] if isinstance(given, str) else [int(size) for size in np.atleast_1d(given)]
            sizes = [int(np.prod(self.values.shape[1:])), *hidden, f]
        if isinstance(arrays, HostArrays):
            return FeedForward(sizes, layer, arrays.dtype, np.random.default_rng(seed))
        from dempster.cluster.evclus import _torch_network as networks

        assert isinstance(arrays, networks.DeviceArrays)
        if self.module is not None:
            body = networks.checked_module(self.module, self.values.shape[1:], self.family)
        else:
            body = networks.feed_forward(sizes, seed)
        return networks.network_on(arrays, body, layer)

    def _teach(
        self, network: Network, inputs: NetworkInputs, masses: np.ndarray, seed: int, rng: np.random.Generator
    ) -> None:
        """Let a network learn the masses of the objects that are its inputs."""
        with inputs.arrays.session(seed):
            if self.uses_torch:
                size = min(self.training.batch_size, len(masses))
                learn_masses_in_batches(network, inputs, masses, size, rng)
            else:
                learn_masses(network, inputs, masses, rng)

    def _renumber(self, masses: np.ndarray) -> np.ndarray:
        """Number the clusters of the first partition as the labels do."""
        labels = self.targets.labels
        known = np.flatnonzero(labels >= 0)
        if len(known) == 0:
            return masses
        plausible = masses[known] @ self.family.membership
        score = np.stack([plausible[labels[known] == k].sum(axis=0) for k in range(self.family.n_clusters)])
        _, cluster_of_label = linear_sum_assignment(-score)
        moved = FocalSets(self.family.membership[:, cluster_of_label])
        where = moved.find(self.family.membership)
        return masses[:, where] if (where >= 0).all() else masses  # a family that is not symmetric keeps its numbering

    def _train(self, progress: TrainingProgress, seed: int) -> None:
        training, objective, network = self.training, self.objective, progress.network
        max_iter, judge = self.params.max_iter, None
        if training.early_stopping or not self.whole:
            judge = objective.judge(network, self.held_out)
        epochs = max(1, max_iter // _ITERATIONS_OF_AN_EPOCH)
        rounds = max_iter if training.solver == "adaptive-steps" else -(-max_iter // LBFGS_STEPS)
        total = rounds if self.whole else epochs
        with self.inputs.arrays.session(seed), self.params._open_progress(total, "rounds") as advance:

            def save(state: TrainingProgress) -> None:
                self.record.save(state)
                advance(f"loss {state.history[-1]:.6g}")

            if self.whole:
                train = train_adaptive_steps if training.solver == "adaptive-steps" else train_lbfgs
                train(
                    progress,
                    objective.whole_loss(network, self.pairs),
                    judge,
                    max_iter=max_iter,
                    tol=self.params.tol,
                    save=save,
                    patience=training.patience,
                )
                return
            assert judge is not None
            if self.blocks is None:

                def batches(epoch: int) -> Iterator[ValueAndGradient]:
                    return objective.mini_batches(network, training.batch_size, np.random.default_rng([seed, epoch]))

            else:
                streamed = StreamedBatches(self.blocks, self.preparation, training.batch_size, epochs)

                def batches(epoch: int) -> Iterator[ValueAndGradient]:
                    return objective.given_batches(network, streamed.epoch(seed, epoch))

            train_mini_batches(
                progress,
                batches,
                judge,
                epochs=epochs,
                learning_rate=training.learning_rate,
                save=save,
                patience=training.patience if training.early_stopping else None,
            )

    # ---- results --------------------------------------------------------------------------------------------------

    def result(self, run: Run[TrainedNetwork]) -> FitResult:
        found = run.model
        validation = tuple(found.progress.validation[: len(run.history)])
        model = NetworkModel(found.family, found.network, self.preparation, validation)
        warnings = (self.targets.remark,) if self.targets.remark else ()
        return FitResult(run, model, model.masses(self.values, self.apply), warnings)

    def assess(self, masses: np.ndarray) -> Assessment:
        """How well the conflicts of all objects match their dissimilarities; if doubt was read off, before that."""
        family, masses = self._assessed or (self.family, masses)
        return assess(masses, family, self.targets.pairs_to_assess(self.rng), self.d0, self.rng)


if TYPE_CHECKING:
    from torch import nn


class NNEVCLUS(ShepardMixin, EvidentialClusterer):
    """Neural-network evidential clustering: EVCLUS whose masses are the outputs of a network.

    A network with a softmax over the focal sets is trained so that the conflicts kappa_ij of the masses of pairs match
    their dissimilarities delta_ij = 1 - exp(-gamma d_ij^2):

        (1 - nu) mean over pairs of (kappa_ij - delta_ij)^2  +  nu mean over labelled objects of |pl_i - y_i|^2
            +  penalties for constraints and large weights,

    with pl_i the plausibilities of the clusters and y_i the indicator of the label (nu = 0 without labels).

    By default it is trained with single clusters; then doubt is read off as in `EVCLUS`, and the network, with outputs
    for the pairs of neighboring clusters, learns it. New objects get masses by a forward pass. With an
    ``outlier_detector`` a share of the mass that grows outside the region of the data goes to the empty set, so that
    the network recognises what it has never seen.

    Layers of the sizes in ``network`` are computed with NumPy. A network of your own, or another ``device`` than the
    processor, needs torch (``pip install dempster[nn]``).

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the pairs of neighboring
        clusters (with no third one between them) and outliers are read off around 1,000 objects or more, by how near
        the members of each cluster are, and learnt by the network that found the clusters. Objects with labels or
        constraints keep what these led to. The others are outputs of the network from the start. "selected": single
        clusters, and the pairs of mutually nearest clusters of the partition that the network starts from.
    metric : str, callable, or transformer, default="euclidean"
        Dissimilarities of the rows of X: a metric of scikit-learn, or a transformer (such as
        `dempster.metric.PCCA`) that is fitted to ``constraints`` or ``y`` and in whose space distances are Euclidean.
    d0 : float, optional
        Dissimilarity at which two objects are almost surely in different clusters.
    d0_quantile : float in (0, 1] or "auto", default="auto"
        If ``d0`` is not given: quantile of the dissimilarities. "auto": what `EVCLUS` finds from the data, with
        ``focal_sets="auto"`` and ``init="evclus"``; else the quantile that it had in the papers, but 0.62 for three or
        four clusters, as a network smooths the borders between clusters and leaves enough objects ambiguous.
    xi : float >= 0, default=0.5
        Weight of the constraints.
    nu : float in [0, 1], default=0.5
        Weight of the labels. The published program divides their term by the number of clusters c, so that its nu
        corresponds to nu / (nu + c (1 - nu)) here, where the formula of the paper is followed.
    regularization : float >= 0, default=0
        Weight of the squared network weights.
    convention : {"program", "paper"}, default="program"
        What ``xi`` and the outlier detector mean. The paper's formula divides ``xi`` by twice the number of
        constraints; "program" gives them four times that weight, the one they have in `EVCLUS`. How a decision value
        becomes mass on the empty set differs between the two as well; "program" leaves objects inside the region of
        the data alone.
    network : "auto", int, sequence of int or torch.nn.Module, default="auto"
        Sizes of rectified linear hidden layers; "auto": one of 3 units for each focal set (at least 20). Or a network
        of your own, with one output for each focal set (before the softmax); X may then have any shape
        (n_samples, ...), such as images. With ``focal_sets="auto"`` the sets are those of the training: the empty set,
        the clusters and the frame; those of the pairs are linear in its outputs.
    outlier_detector : None, "one-class-svm" or an object with ``decision_function``, default=None
        "one-class-svm": scikit-learn's, nu=0.2, Gaussian kernel with gamma=0.2 on standardised attributes. An
        estimator of scikit-learn that is not fitted is fitted to the standardised attributes; anything else is used
        as it is, on these. With ``focal_sets="auto"`` half of the mass goes to the empty set at the lower fence of a
        box plot of the decision values (two interquartile ranges); else where the training puts it.
    n_partners : int, optional
        Random partners of each object for training on whole batches; all pairs by default.
    training : Training, optional
        How the network is trained; see `Training` for what None stands for.
    init : {"evclus", "belief-peaks", "random"}, BeliefPeaks or CredalPartition, default="evclus"
        "evclus": the network first learns the masses of an `EVCLUS` fit. A `CredalPartition`: it first learns these
        masses. "belief-peaks": the peaks found by `BeliefPeaks`, or by one with parameters of its own, are labelled
        objects, with weight ``nu`` (the "-bp" variant of the paper).
    n_init : int, default=1
        Trainings from different weights; the smallest loss is kept (with held-out pairs, the smallest error on them).
    max_iter : int, default=1000
        Iterations of the whole-batch solvers; a tenth of it, epochs of mini-batches.
    tol : float, default=1e-4
        Relative gain of the loss, in ten iterations of L-BFGS or in the running mean of the adaptive steps, that ends
        the whole-batch solvers.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    checkpoint : path, optional
        A file that is rewritten, atomically, after every round; a fit that was killed goes on from it, to the same
        result. It is refused if data, parameters or the starting weights of a network of your own are others.
    device : str, default="cpu"
        Where the network lives; the data stay in the memory of the host and are sent batch by batch.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.
        A network of torch has those of torch.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    network_ : FeedForward or torch.nn.Module
        It gives masses to standardised objects. `FeedForward.matrices` are the weights and biases of each layer; where
        torch is needed, it is a module of torch.
    evclus_ : EVCLUS or None
        The fit that the network started from, with ``init="evclus"``.
    outlier_detector_ : object or None
        The detector, fitted.
    d0_ : float
    stress_, loss_ : float
        Sum of squares of conflict minus delta over all pairs, divided by the sum of delta^2, and by the number of
        pairs; beyond 1,000 objects estimated from 200,000 random pairs. Of the masses before doubt is read off.
    focal_sets_ : FocalSets
    objective_ : float
        Loss with all penalties that the training ended with.
    history_ : ndarray
        Objective after every round: ten iterations of L-BFGS, one adaptive step, or one epoch of mini-batches (the mean
        over its batches). Where pairs are held out, it ends with the round that was the best on them, whose weights
        are kept.
    validation_history_ : ndarray
        Error on the held-out pairs after the same rounds, where there are any.
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether the loss settled, the held-out pairs got no better (with early stopping), or the rate of the
        mini-batches fell to zero.
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn to start from, if X came in blocks.

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences 572.

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
            lambda v: isinstance(v, str) or callable(v) or (hasattr(v, "transform") and hasattr(v, "get_params")),
        ),
        "d0": rule.choice(None) | rule.real(0, open_low=True),
        "d0_quantile": rule.choice("auto") | rule.real(0, 1, open_low=True),
        "xi": rule.real(0),
        "nu": rule.real(0, 1),
        "regularization": rule.real(0),
        "convention": rule.choice("program", "paper"),
        "network": rule.choice("auto")
        | rule.Rule(
            "an integer of at least 1, several of them or a torch.nn.Module", lambda v: are_sizes(v) or is_module(v)
        ),
        "outlier_detector": rule.choice(None)
        | rule.choice("one-class-svm")
        | rule.Rule("an object with decision_function", lambda v: hasattr(v, "decision_function")),
        "n_partners": rule.choice(None) | rule.integer(1),
        "training": rule.choice(None) | rule.kind(Training),
        "init": rule.choice("evclus", "random") | PEAKS_RULE | rule.kind(CredalPartition),
        "checkpoint": rule.choice(None) | rule.kind(str, Path, words="a path"),
        "device": rule.kind(str, words="the name of a device"),
    }
    _min_rows = 2
    _support = Support(blocks=True, tensors=True)
    _model: NetworkModel

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric | Any = "euclidean",
        d0: float | None = None,
        d0_quantile: float | str = "auto",
        xi: float = 0.5,
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
        n_neighbor_clusters: int = 1,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
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
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        X : array-like of shape (n_samples, n_features), or (n_samples, ...) with a network of your own
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): the network
            starts from a sample of 20,000 objects, its mini-batches are drawn from all, and their masses are lazy. A
            tensor of torch (``docs/scale.md``) is copied to memory for the training; results are where it is.
        y : array-like of shape (n_samples,), optional
            Clusters 0..n_clusters-1 of labelled objects, -1 for the others. A target without any -1 that is not made
            of these numbers is ignored, with a warning, as clusterers in pipelines do.
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster, or in different ones.
        dissimilarities : array-like of shape (n_samples, n_samples), optional
            Dissimilarities to match instead of distances between the rows of X.
        """
        return self._fit(X, y, constraints=constraints, dissimilarities=dissimilarities)

    def _accepts_tensors(self) -> bool:
        return super()._accepts_tensors() and self.outlier_detector is None  # which works on the processor

    def _read(self, X: TableLike, *, reset: bool) -> Array:
        values = self._validate_attributes(X, reset=reset, allow_nd=is_module(self.network))
        return to_host(values) if reset else values  # a training draws its batches from memory

    def _resolve_families(self, n_clusters: int) -> Families:
        """With "auto" the frame and the empty set are there too, as in EVCLUS, and for the outlier detector."""
        if self.focal_sets != "auto":
            return super()._resolve_families(n_clusters)
        return Families(FocalSets.simple(n_clusters), neighbors=True)

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[Method[Any, Any], Run[Any]]:
        """The family is that of the first masses; a training shows its rounds, so the starts are not counted."""
        method = self._make_method(sample, request)
        quiet = replace(search, progress=partial(progress_bar, type(self).__name__, shown=False))
        return method, quiet.run(method, Families(method.family, neighbors=self.focal_sets == "auto"))

    def _make_method(self, sample: Sample[np.ndarray], request: FitRequest) -> NetworkMethod:
        device = self.device
        if sample.device is not None:  # few objects are quicker on the processor, and give what an array gives
            few = len(sample.values) <= SMALL and not is_module(self.network)
            device = "cpu" if sample.device.type == "cpu" or few else str(sample.device)
        if is_module(self.network) or device != "cpu":
            torch_on(device, "a network of your own" if is_module(self.network) else None)
        rng = generator(self.random_state)
        targets = targets_of(
            sample.values, self.metric, request.n_clusters, request.labels, request.constraints, request.dissimilarities
        )
        targets, first = self._start(targets, request, rng, device)
        return NetworkMethod(self, sample, targets, first, rng, device, request.apply)

    # ---- where a training starts ----------------------------------------------------------------------------------

    def _start(
        self, targets: NetworkTargets, request: FitRequest, rng: np.random.Generator, device: str
    ) -> tuple[NetworkTargets, FirstMasses]:
        """What the network learns first, and what it is to match: belief peaks count as labelled objects."""
        c = request.n_clusters
        quantile = network_quantile(c) if isinstance(self.d0_quantile, str) else float(self.d0_quantile)
        init = self.init if isinstance(self.init, str) else type(self.init).__name__
        origin = f"{init}, d0={self.d0}, quantile={quantile}"
        self._evclus = None
        if init == "evclus":
            found = self.focal_sets == "auto" and self.d0_quantile == "auto"  # by EVCLUS, from the data
            seed = int(rng.integers(2**31))
            self._evclus = model = self._fitted_evclus(targets, c, None if found else quantile, seed, device)
            return targets, FirstMasses(model.focal_sets_, model.d0_, model.credal_partition_.masses, origin)
        families = self._resolve_families(c)
        family, masses = families.first, None
        if isinstance(self.init, CredalPartition):
            check_partition(self.init, len(targets), c)
            family = family if families.select is None else families.select(self.init, None)
            given = carried_partition(self.init, family) if families.neighbors else self.init.on(family)
            masses = given.to_numpy().masses
        elif families.select is not None:
            raise InvalidInputError(
                "focal_sets='selected' takes its pairs from a partition: use init='evclus', or give one"
            )
        d0 = targets.scale(quantile, rng) if self.d0 is None else float(self.d0)
        peaks = fit_source_peaks(self.init, targets.source, c, self.random_state, self.n_jobs)
        if peaks is not None:
            labels = targets.labels.copy()
            labels[peaks.peak_indices_] = np.arange(c)
            targets = replace(targets, labels=labels)
        return targets, FirstMasses(family, d0, masses, origin, given=masses is not None)

    def _fitted_evclus(self, targets: NetworkTargets, c: int, quantile: float | None, seed: int, device: str) -> EVCLUS:
        source = targets.source
        metric, table = (source.metric, source.objects) if source.matrix is None else ("precomputed", source.matrix)
        return EVCLUS(
            c,
            focal_sets="simple" if self.focal_sets == "auto" else self.focal_sets,
            metric=metric,
            d0="auto" if self.d0 is None else self.d0,
            d0_quantile=quantile,
            n_neighbor_clusters=self.n_neighbor_clusters,
            device=device if source.is_euclidean else "cpu",
            random_state=seed,
            n_jobs=self.n_jobs,
        ).fit(table, constraints=targets.constraints)

    def _auto_params(self, method: NetworkMethod) -> dict[str, str]:
        scale = None if self._evclus is None else self._evclus.scale_
        return {} if scale is None else {"d0": scale.reasons()}

    def _fitted_attributes(self, method: NetworkMethod, model: NetworkModel) -> dict[str, Any]:
        found = method.assess(self.credal_partition_.masses)
        return {
            "network_": model.network,
            "evclus_": self._evclus,
            "outlier_detector_": model.preparation.detector,
            "d0_": method.d0,
            "stress_": found.stress,
            "loss_": found.loss,
            "validation_history_": np.asarray(model.validation),
            "_shepard": found.shepard,
        }
