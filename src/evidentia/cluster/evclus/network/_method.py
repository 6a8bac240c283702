"""How NN-EVCLUS fits: networks trained from several seeds, of which the best is kept."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import nn

from evidentia._types import Advance
from evidentia.belief import FocalSets
from evidentia.cluster._search import Method, Sample
from evidentia.cluster.evclus.network._checkpoint import Checkpoint, TrainingRecord, fingerprint
from evidentia.cluster.evclus.network._model import MassNetwork, NetworkModel, feed_forward
from evidentia.cluster.evclus.network._objective import NetworkInputs, NetworkObjective, Penalties
from evidentia.cluster.evclus.network._preparation import prepared
from evidentia.cluster.evclus.network._targets import SMALL, NetworkTargets
from evidentia.cluster.evclus.network._trainers import (
    LBFGS_STEPS,
    TrainingProgress,
    pretrain,
    train_adaptive_steps,
    train_lbfgs,
    train_mini_batches,
)
from evidentia.cluster.evclus.shepard import Assessment, assess
from evidentia.cluster.evclus.training import Training
from evidentia.optimize.blocks import Apply
from evidentia.optimize.descent import Run
from evidentia.optimize.projection_torch import torch_on
from evidentia.partition import CredalPartition

__all__ = ["FirstMasses", "NetworkMethod", "NetworkSettings", "Seeded"]

_PRETRAIN_STEPS = 1000
_ITERATIONS_OF_AN_EPOCH = 10  # of max_iter


@dataclass(frozen=True)
class NetworkSettings:
    """The parameters of one fit.

    Attributes
    ----------
    network : "auto", int, sequence of int, or torch.nn.Module
        Hidden layers, or a network.
    penalties : Penalties
    convention : str
        Of the outlier unit.
    n_partners : int or None
        None: all pairs.
    seed : int or None
        The user's, where it is a number: a checkpoint belongs to one seed.
    """

    network: str | int | Sequence[int] | nn.Module
    penalties: Penalties
    convention: str
    n_partners: int | None
    outlier_detector: Any
    training: Training
    n_init: int
    max_iter: int
    tol: float
    device: str
    checkpoint: str | Path | None
    seed: int | None


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


class NetworkMethod(Method[Seeded, TrainingProgress]):
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
        torch_on(settings.device)
        self.settings, self.values, self.targets, self.first = settings, sample.values, targets, first
        self.rng, self.progress, self.apply = rng, progress, apply
        self.family, self.d0 = first.family, first.d0
        if settings.outlier_detector is not None and self.family.empty_index is None:
            raise ValueError("outlier_detector gives mass to the empty set, which focal_sets lacks")
        training = settings.training
        self.whole = training.solver in ("lbfgs", "adaptive-steps") or (
            training.solver == "auto" and len(self.values) <= SMALL
        )
        self.preparation = prepared(self.values, settings.outlier_detector, rng)
        objects = self.preparation.inputs(self.values)
        decision = self.preparation.decision(objects)
        self.inputs = NetworkInputs(objects, decision, self._precision(), settings.device)
        self.objective = NetworkObjective(targets, self.family, self.d0, self.inputs, settings.penalties)
        self.seeds = rng.integers(0, 2**31, settings.n_init)
        self.held_out = targets.pairs_to_judge(rng)
        self.pairs = self._pairs_to_train_on()
        mark = fingerprint(*self._marks()) if settings.checkpoint is not None else ""
        self.record = TrainingRecord(None if settings.checkpoint is None else Checkpoint(settings.checkpoint, mark))

    def _precision(self) -> torch.dtype:
        network = self.settings.network
        if isinstance(network, nn.Module):
            return next((p.dtype for p in network.parameters()), torch.float32)
        return torch.float64 if self.whole else torch.float32

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
            source, known, network = self.targets.source, self.targets.constraints, self.settings.network
            yield from (self.values, self.targets.labels, source.objects if source.matrix is None else source.matrix)
            if known is not None:
                yield from (known.must_link, known.cannot_link)
            if self.inputs.decision is not None:
                yield self.inputs.decision
            if self.first.given and self.first.masses is not None:
                yield self.first.masses
            if isinstance(network, nn.Module):
                for value in network.state_dict().values():
                    yield value.detach().cpu().numpy()

        return told, arrays()

    # ---- starts and runs ------------------------------------------------------------------------------------------

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[Seeded], int]:
        return [Seeded(number, int(seed)) for number, seed in enumerate(self.seeds)], len(self.seeds)

    def descend(self, start: Seeded) -> Run[TrainingProgress]:
        """Train a network, or go on with one that a checkpoint holds."""
        network = self._new_network(start.seed)
        saved = self.record.state_of(start.number)
        if saved is None:
            self._pretrain(network, start.seed)
        progress = TrainingProgress(network)
        if saved is not None:
            progress.restore(saved)
        if not progress.finished:
            self._train(progress, start.seed)
        self.record.close(start.number, progress)
        kept = progress.kept_rounds
        if kept == 0 or not np.isfinite(progress.history[kept - 1]):
            raise ValueError("the loss of the network is not a number: scale X, or start from other weights")
        network.load_state_dict(progress.best)
        return Run(progress, progress.history[:kept], progress.converged)

    def chosen(self, runs: Iterable[Run[TrainingProgress]], tol: float) -> Run[TrainingProgress]:
        """The smallest loss or, where pairs are held out, the smallest error on them."""
        return min(runs, key=lambda run: run.model.best_value)

    def _new_network(self, seed: int) -> MassNetwork:
        s, f = self.settings, len(self.family)
        if isinstance(s.network, nn.Module):
            body = copy.deepcopy(s.network)
            self._check_width(body, f)
        else:
            generator = torch.Generator().manual_seed(seed)
            body = feed_forward(int(np.prod(self.values.shape[1:])), _hidden_layers(s.network, f), f, generator)
        detector = self.inputs.decision is not None
        network = MassNetwork(
            body.to(self.inputs.dtype), self.family.empty_index, detector=detector, convention=s.convention
        )
        return network.to(s.device)

    def _check_width(self, body: nn.Module, f: int) -> None:
        with torch.no_grad():
            body.eval()
            shape = tuple(body(torch.zeros((2, *self.values.shape[1:]), dtype=self.inputs.dtype)).shape)
        if shape != (2, f):
            raise ValueError(
                f"network must give {f} outputs for each object, one for each focal set "
                f"({', '.join(self.family.names()[:4])}, ...), but two objects gave shape {shape}"
            )

    def _pretrain(self, network: MassNetwork, seed: int) -> None:
        if self.first.masses is None:
            return
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            pretrain(
                network,
                self.inputs.objects,
                self._renumbered(self.first.masses),
                steps=_PRETRAIN_STEPS,
                batch_size=min(self.settings.training.batch_size, len(self.values)),
                rng=np.random.default_rng(seed),
            )

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
        with torch.random.fork_rng(), self.progress(rounds if self.whole else epochs, "rounds") as advance:
            torch.manual_seed(seed)

            def save(state: TrainingProgress) -> None:
                self.record.save(state)
                advance(f"loss {state.history[-1]:.6g}")

            if not self.whole:
                train_mini_batches(
                    progress,
                    lambda epoch: objective.mini_batches(
                        network, training.batch_size, np.random.default_rng([seed, epoch])
                    ),
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

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[TrainingProgress]) -> CredalPartition:
        model, masses = self.result(run)
        return CredalPartition.unchecked(masses, model.family)

    def result(self, run: Run[TrainingProgress]) -> tuple[NetworkModel, np.ndarray]:
        progress = run.model
        validation = tuple(progress.validation[: len(run.history)])
        model = NetworkModel(self.family, progress.network, self.preparation, validation)
        return model, model.masses(self.values, self.apply)

    def assess(self, masses: np.ndarray) -> Assessment:
        """How well the conflicts of all objects match their dissimilarities."""
        return assess(masses, self.family, self.targets.pairs_to_assess(self.rng), self.d0, self.rng)

    def remarks(self, model: Any) -> list[str]:
        return [self.targets.remark] if self.targets.remark else []


def _hidden_layers(given: str | int | Sequence[int], n_sets: int) -> list[int]:
    if isinstance(given, str):
        return [max(20, 3 * n_sets)]
    return [int(size) for size in ([given] if isinstance(given, int | np.integer) else given)]
