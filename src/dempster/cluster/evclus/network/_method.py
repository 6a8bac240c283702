"""How NN-EVCLUS fits: networks trained from several seeds, of which the best is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from dempster._errors import InvalidInputError
from dempster._parameters import shown
from dempster._types import Advance
from dempster.belief import FocalSets
from dempster.cluster._search import Method, Sample
from dempster.cluster.evclus.network._checkpoint import Checkpoint, TrainingRecord, fingerprint
from dempster.cluster.evclus.network._doubt import coefficients_at_fence, lessons, scores_of_sets
from dempster.cluster.evclus.network._feed_forward import FeedForward, HostArrays
from dempster.cluster.evclus.network._losses import ValueAndGradient
from dempster.cluster.evclus.network._mass_layer import MassLayer
from dempster.cluster.evclus.network._model import NetworkModel
from dempster.cluster.evclus.network._objective import Arrays, Network, NetworkInputs, NetworkObjective
from dempster.cluster.evclus.network._preparation import prepared
from dempster.cluster.evclus.network._pretraining import learn_masses, learn_masses_in_batches
from dempster.cluster.evclus.network._settings import NetworkSettings
from dempster.cluster.evclus.network._streamed import StreamedBatches
from dempster.cluster.evclus.network._targets import SMALL, NetworkTargets
from dempster.cluster.evclus.network._trainers import (
    LBFGS_STEPS,
    TrainingProgress,
    train_adaptive_steps,
    train_lbfgs,
    train_mini_batches,
)
from dempster.cluster.evclus.shepard import Assessment, assess
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

__all__ = ["FirstMasses", "NetworkMethod", "Seeded"]

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


class Seeded(NamedTuple):
    """The start of a training: its number, and the seed of its weights and batches."""

    number: int
    seed: int


@dataclass(frozen=True)
class TrainedNetwork:
    """A network with the family of its outputs, and the training it comes from."""

    family: FocalSets
    network: Network
    progress: TrainingProgress


class NetworkMethod(Method[Seeded, TrainedNetwork]):
    """NN-EVCLUS on one sample of objects."""

    def __init__(
        self,
        settings: NetworkSettings,
        sample: Sample[np.ndarray],
        targets: NetworkTargets,
        first: FirstMasses,
        rng: np.random.Generator,
        progress: Callable[[int, str], AbstractContextManager[Advance]],
        apply: Apply,
    ):
        self.settings, self.values, self.targets, self.first = settings, sample.values, targets, first
        self.rng, self.progress, self.apply = rng, progress, apply
        self.family, self.d0 = first.family, first.d0
        if settings.outlier_detector is not None and self.family.empty_index is None:
            raise InvalidInputError("outlier_detector gives mass to the empty set, which focal_sets lacks")
        training = settings.training
        self.everyone = None if sample.everyone is None or sample.everyone.are_drawn else sample.everyone
        self.whole = training.solver in ("lbfgs", "adaptive-steps") or (
            training.solver == "auto" and len(self.values) <= SMALL and self.everyone is None
        )
        if self.everyone is not None and self.whole:
            raise InvalidInputError(
                f"training must have the solver 'mini-batch' or 'auto' for {len(self.everyone):,} objects in blocks, "
                f"got {shown(training.solver)}, which needs all of them at once"
            )
        self.preparation = prepared(self.values, settings.outlier_detector, rng, self._mean_and_scale())
        objects = self.preparation.inputs(self.values)
        decision = self.preparation.decision(objects)
        self.inputs = NetworkInputs(objects, decision, self._arrays())
        self.objective = NetworkObjective(targets, self.family, self.d0, self.inputs, settings.penalties)
        self.seeds = rng.integers(0, 2**31, settings.n_init)
        self.held_out = targets.pairs_to_judge(rng)
        self.pairs = self._pairs_to_train_on()
        self._assessed: tuple[FocalSets, np.ndarray] | None = None  # before doubt was read off
        mark = fingerprint(*self._marks()) if settings.checkpoint is not None else ""
        self.record = TrainingRecord(None if settings.checkpoint is None else Checkpoint(settings.checkpoint, mark))

    def _mean_and_scale(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Of all objects, where they come in blocks."""
        if self.everyone is None:
            return None
        moments = self.everyone.moments
        return moments.mean, np.sqrt(moments.scatter / moments.weight)

    def _arrays(self) -> Arrays:
        """Whole batches, of small data, are computed in double precision: L-BFGS needs the last digits."""
        s = self.settings
        if not s.uses_torch:
            return HostArrays(np.dtype(np.float64 if self.whole else np.float32))
        from dempster.cluster.evclus.network._torch_network import DeviceArrays, precision_of

        return DeviceArrays(precision_of(s.module, whole=self.whole), s.device)

    def _pairs_to_train_on(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Of whole batches; None for all pairs, which need no list."""
        n_partners, held_out = self.settings.n_partners, self.settings.training.early_stopping
        if not self.whole or (n_partners is None and not held_out):
            return None
        return self.targets.pairs_to_train_on(n_partners, self.held_out if held_out else None, self.rng)

    def _marks(self) -> tuple[dict[str, str], Iterator[np.ndarray]]:
        """All that a training depends on."""
        names = {field.name for field in fields(self.settings)} - {"checkpoint", "outlier_detector"}
        told = {name: repr(getattr(self.settings, name)) for name in names}
        metric = self.targets.source.metric
        told["first"] = self.first.origin
        told["sets"] = repr(list(self.family))
        told["metric"] = metric if isinstance(metric, str) else getattr(metric, "__qualname__", type(metric).__name__)

        def arrays() -> Iterator[np.ndarray]:
            source, known = self.targets.source, self.targets.constraints
            yield from (self.values, self.targets.labels, source.objects if source.matrix is None else source.matrix)
            if known is not None:
                yield from (known.must_link, known.cannot_link)
            if self.inputs.decision is not None:
                yield self.inputs.decision
            if self.first.given and self.first.masses is not None:
                yield self.first.masses
            if self.settings.module is not None:
                yield from self._new_network(0).state().values()
            if self.everyone is not None:
                yield from (np.array(len(self.everyone)), self.everyone.moments.mean, self.everyone.moments.scatter)

        return told, arrays()

    # ---- starts and runs ------------------------------------------------------------------------------------------

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[Seeded], int]:
        return [Seeded(number, int(seed)) for number, seed in enumerate(self.seeds)], len(self.seeds)

    def descend(self, start: Seeded) -> Run[TrainedNetwork]:
        """Train a network, or go on with one that a checkpoint holds."""
        network = self._new_network(start.seed)
        saved = self.record.state_of(start.number)
        if saved is None:
            self._pretrain(network, start.seed)
        progress = TrainingProgress(network, self.inputs.arrays)
        if saved is not None:
            progress.restore(saved)
        if not progress.finished:
            self._train(progress, start.seed)
        self.record.close(start.number, progress)
        kept = progress.kept_rounds
        if kept == 0 or not np.isfinite(progress.history[kept - 1]):
            raise InvalidInputError("the loss of the network is not a number: scale X, or start from other weights")
        network.restore(progress.best)
        return Run(TrainedNetwork(self.family, network, progress), progress.history[:kept], progress.converged)

    def chosen(self, runs: Iterable[Run[TrainedNetwork]], tol: float) -> Run[TrainedNetwork]:
        """The smallest loss or, where pairs are held out, the smallest error on them."""
        return min(runs, key=lambda run: run.model.progress.best_value)

    def with_neighbors(self, run: Run[TrainedNetwork]) -> Run[TrainedNetwork]:
        """Doubt is read off by the clusters of the network, and a wider one, with outputs for pairs of neighbors and
        without the frame, learns it. Objects that labels or constraints speak of keep the masses that these led to."""
        found, seed = run.model, int(self.seeds[0])
        _, trained = self.result(run)
        self._assessed = self.family, trained
        rng = np.random.default_rng([seed, 1])
        labels = trained[:, self.family.singleton_index].argmax(axis=1)
        most = _TAUGHT_IN_BATCHES if self.settings.uses_torch else _TAUGHT
        outliers = self.inputs.decision is None  # else the detector tells them
        source, c = self.targets.source, self.family.n_clusters
        family, who, masses = lessons(source, labels, c, most, rng, outliers=outliers)
        self._keep_known(masses, who, trained, family)
        layer = MassLayer(family.empty_index, not outliers, self.settings.convention)
        coefficients = coefficients_at_fence(layer, self.inputs.decision)
        network = found.network.widened(scores_of_sets(self.family, family), layer, coefficients)
        self._teach(network, replace(self.inputs, values=self.inputs.values[who]), masses, seed, rng)
        return Run(replace(found, family=family, network=network), run.history, run.converged)

    def _keep_known(self, masses: np.ndarray, who: np.ndarray, trained: np.ndarray, family: FocalSets) -> None:
        """Write the masses, without those on the frame, that the training gave to objects with labels or constraints;
        they stand in the rows of ``who``."""
        known, given = self.targets.labels >= 0, self.targets.constraints
        if given is not None and self.settings.penalties.xi > 0:
            known[np.concatenate([given.must_link, given.cannot_link]).ravel()] = True
        rows, place = np.flatnonzero(known[who]), family.find(self.family.membership)
        own = trained[np.ix_(who[rows], place >= 0)]
        total = own.sum(axis=1)
        there = rows[total > 0]
        masses[there] = 0
        masses[np.ix_(there, place[place >= 0])] = (own / np.where(total > 0, total, 1)[:, None])[total > 0]

    def _new_network(self, seed: int) -> Network:
        s, f = self.settings, len(self.family)
        layer = MassLayer(self.family.empty_index, self.inputs.decision is not None, s.convention)
        n_inputs, arrays = int(np.prod(self.values.shape[1:])), self.inputs.arrays
        if isinstance(arrays, HostArrays):
            return FeedForward([n_inputs, *s.hidden_layers(f), f], layer, arrays.dtype, np.random.default_rng(seed))
        from dempster.cluster.evclus.network import _torch_network as networks

        assert isinstance(arrays, networks.DeviceArrays)
        if s.module is not None:
            body = networks.checked_module(s.module, self.values.shape[1:], self.family)
        else:
            body = networks.feed_forward([n_inputs, *s.hidden_layers(f), f], seed)
        return networks.network_on(arrays, body, layer)

    def _pretrain(self, network: Network, seed: int) -> None:
        if self.first.masses is None:
            return
        self._teach(network, self.inputs, self._renumbered(self.first.masses), seed, np.random.default_rng(seed))

    def _teach(
        self, network: Network, inputs: NetworkInputs, masses: np.ndarray, seed: int, rng: np.random.Generator
    ) -> None:
        """Let a network learn the masses of the objects that are its inputs."""
        with inputs.arrays.session(seed):
            if self.settings.uses_torch:
                size = min(self.settings.training.batch_size, len(masses))
                learn_masses_in_batches(network, inputs, masses, size, rng)
            else:
                learn_masses(network, inputs, masses, rng)

    def _renumbered(self, masses: np.ndarray) -> np.ndarray:
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
        s, objective, network = self.settings, self.objective, progress.network
        training = s.training
        epochs = max(1, s.max_iter // _ITERATIONS_OF_AN_EPOCH)
        rounds = s.max_iter if training.solver == "adaptive-steps" else -(-s.max_iter // LBFGS_STEPS)
        total = rounds if self.whole else epochs
        with self.inputs.arrays.session(seed), self.progress(total, "rounds") as advance:

            def save(state: TrainingProgress) -> None:
                self.record.save(state)
                advance(f"loss {state.history[-1]:.6g}")

            if not self.whole:
                train_mini_batches(
                    progress,
                    self._batches(network, seed, epochs),
                    objective.judge(network, self.held_out),
                    epochs=epochs,
                    learning_rate=training.learning_rate,
                    save=save,
                    patience=training.patience if training.early_stopping else None,
                )
                return
            train = train_adaptive_steps if training.solver == "adaptive-steps" else train_lbfgs
            train(
                progress,
                objective.whole_loss(network, self.pairs),
                objective.judge(network, self.held_out) if training.early_stopping else None,
                max_iter=s.max_iter,
                tol=s.tol,
                save=save,
                patience=training.patience,
            )

    def _batches(self, network: Network, seed: int, epochs: int) -> Callable[[int], Iterator[ValueAndGradient]]:
        """The losses of the mini-batches of an epoch, by its number."""
        objective, size = self.objective, self.settings.training.batch_size
        if self.everyone is None:
            return lambda epoch: objective.mini_batches(network, size, np.random.default_rng([seed, epoch]))
        streamed = StreamedBatches(self.everyone, self.preparation, size, epochs)
        return lambda epoch: objective.given_batches(network, streamed.epoch(seed, epoch))

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[TrainedNetwork]) -> CredalPartition:
        model, masses = self.result(run)
        return CredalPartition.unchecked(masses, model.family)

    def result(self, run: Run[TrainedNetwork]) -> tuple[NetworkModel, np.ndarray]:
        found = run.model
        validation = tuple(found.progress.validation[: len(run.history)])
        model = NetworkModel(found.family, found.network, self.preparation, validation)
        return model, model.masses(self.values, self.apply)

    def assess(self, masses: np.ndarray) -> Assessment:
        """How well the conflicts of all objects match their dissimilarities; if doubt was read off, before that."""
        family, masses = self._assessed or (self.family, masses)
        return assess(masses, family, self.targets.pairs_to_assess(self.rng), self.d0, self.rng)

    def remarks(self, model: Any) -> list[str]:
        return [self.targets.remark] if self.targets.remark else []
