"""One fit of NN-EVCLUS: what the network sees, where it starts, how it is trained to match what `_nn_problem` says."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import clone

from evidentia._random import generator
from evidentia.belief import FocalSets
from evidentia.cluster.evclus.evclus import EVCLUS
from evidentia.cluster.evclus.network.checkpoint import Checkpoint, fingerprint
from evidentia.cluster.evclus.network.model import MassNetwork, Preparation, feed_forward
from evidentia.cluster.evclus.network.problem import SMALL, Objective, Objects, Problem
from evidentia.cluster.evclus.network.training import (
    Progress,
    pretrain,
    train_adaptive_steps,
    train_lbfgs,
    train_mini_batches,
)
from evidentia.dissimilarity.sources import AttributeSource, MatrixSource
from evidentia.optimize.descent import Run

if TYPE_CHECKING:
    from evidentia.cluster.evclus.nnevclus import NNEVCLUS

__all__ = ["Fit"]

_DETECTOR_SAMPLE = 10_000
_PRETRAIN_STEPS = 1000


class Fit:
    """Everything one call of `NNEVCLUS.fit` does: a start, the networks trained from it, the best of them.

    Attributes
    ----------
    problem, objective
        What must be matched.
    family : FocalSets
    d0 : float
    evclus : EVCLUS or None
        The fit that gave the first masses.
    preparation : Preparation
        What happens to an object before the network sees it.
    network, validation, loss, shepard
        Results of `run`.
    """

    network: MassNetwork
    validation: list[float]
    loss: float
    shepard: tuple[np.ndarray, ...]

    def __init__(self, estimator: NNEVCLUS, X: np.ndarray, y: Any, constraints: Any, dissimilarities: Any):
        self.estimator, self.X, self.n = estimator, X, len(X)
        _check_device(estimator.device)
        self.rng = generator(estimator.random_state)
        self.problem = Problem(estimator, X, y, constraints, dissimilarities)
        self.whole = estimator.solver in ("lbfgs", "adaptive-steps") or (estimator.solver == "auto" and self.n <= SMALL)
        self.dtype = torch.float64 if self.whole and estimator.module is None else torch.float32
        if estimator.module is not None:
            self.dtype = next((p.dtype for p in estimator.module.parameters()), torch.float32)
        self.evclus: EVCLUS | None = None
        self._start()
        self.preparation = self._prepare()
        inputs = self.preparation.inputs(X)
        self.objects = Objects(inputs, self.preparation.decision(inputs), self.dtype, estimator.device)
        self.objective = Objective(estimator, self.problem, self.family, self.d0, self.objects)

    # ---- where it starts -------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Family and scale, and masses to learn first."""
        e, problem = self.estimator, self.problem
        self.targets: np.ndarray | None = None
        if e.init == "evclus":
            metric, table = _as_given(problem.source)
            self.evclus = EVCLUS(
                e.n_clusters,
                focal_sets=e.focal_sets,
                metric=metric,
                d0=e.d0,
                d0_quantile=problem.quantile,
                n_neighbors=e.n_neighbors,
                random_state=int(self.rng.integers(2**31)),
                n_jobs=e.n_jobs,
                device=e.device if metric == "euclidean" else "cpu",
            ).fit(table, constraints=problem.constraints)
            self.family, self.d0 = self.evclus.focal_sets_, self.evclus.d0_
            self.targets = self._renumbered(self.evclus.credal_partition_.masses)
            return
        if e.focal_sets == "selected":
            raise ValueError("focal_sets='selected' takes its pairs from an EVCLUS fit: use init='evclus'")
        self.family = e._family()
        self.d0 = e.d0 if e.d0 is not None else problem.scale(self.rng)
        if e.init == "belief-peaks":
            self._label_peaks()

    def _renumbered(self, masses: np.ndarray) -> np.ndarray:
        """Number the clusters of the first partition as the labels do."""
        labels = self.problem.labels
        known = np.flatnonzero(labels >= 0)
        if len(known) == 0:
            return masses
        from scipy.optimize import linear_sum_assignment

        c = self.estimator.n_clusters
        plausible = masses[known] @ self.family.membership
        score = np.stack([plausible[labels[known] == k].sum(axis=0) for k in range(c)])
        _, cluster_of_label = linear_sum_assignment(-score)
        moved = FocalSets(self.family.membership[:, cluster_of_label])
        where = moved.find(self.family.membership)
        if (where >= 0).all():
            return masses[:, where]
        return masses  # a family that is not symmetric keeps its numbering

    def _label_peaks(self) -> None:
        """Belief peaks count as labelled objects, one of each cluster."""
        from evidentia.cluster.neighbors.belief_peaks import BeliefPeaks

        metric, table = _as_given(self.problem.source)
        peaks = BeliefPeaks(n_clusters=self.estimator.n_clusters, metric=metric).fit(table)
        self.problem.labels[peaks.peaks_] = np.arange(len(peaks.peaks_))

    # ---- what the network sees ------------------------------------------------------------------------------------

    def _prepare(self) -> Preparation:
        mean, scale = self.X.mean(axis=0), self.X.std(axis=0)
        preparation = Preparation(mean, np.where(scale > 0, scale, 1).astype(self.X.dtype))
        detector = self.estimator.outlier_detector
        if detector is None:
            return preparation
        if self.family.empty_index is None:
            raise ValueError("outlier_detector gives mass to the empty set, which focal_sets lacks")
        inputs = preparation.inputs(self.X).reshape(self.n, -1)
        preparation.detector = self._fitted_detector(detector, inputs)
        values = preparation.decision(inputs)
        assert values is not None
        preparation.detector_scale = float(values.std()) or 1.0
        return preparation

    def _fitted_detector(self, detector: Any, inputs: np.ndarray) -> Any:
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        if isinstance(detector, str):
            from sklearn.svm import OneClassSVM

            detector = OneClassSVM(kernel="rbf", gamma=0.2, nu=0.2)
        else:
            try:
                check_is_fitted(detector)
                return detector
            except NotFittedError:
                detector = clone(detector)
        if len(inputs) > _DETECTOR_SAMPLE:
            inputs = inputs[self.rng.choice(len(inputs), _DETECTOR_SAMPLE, replace=False)]
        return detector.fit(inputs)

    # ---- training -------------------------------------------------------------------------------------------------

    def run(self) -> tuple[Run, np.ndarray]:
        e = self.estimator
        best: Progress | None = None
        seeds = self.rng.integers(0, 2**31, e.n_init)
        judged = self.problem.pairs_to_judge(self.rng)
        checkpoint = self._checkpoint()
        saved = checkpoint.load() if checkpoint else None
        done: list[dict[str, Any]] = saved["done"] if saved else []
        with e._progress(e.n_init * self._rounds, "rounds") as advance:
            for k, seed in enumerate(seeds):
                progress = self._new_network(int(seed), pretrained=k >= len(done) and not (saved and k == len(done)))
                if k < len(done):
                    progress.restore(done[k])
                else:
                    if saved and saved["current"] is not None and k == len(done):
                        progress.restore(saved["current"])

                    def save(p: Progress) -> None:
                        if checkpoint:
                            checkpoint.save({"done": done, "current": p.state()})
                        advance(f"loss {p.history[-1]:.6g}")

                    self._train(progress, int(seed), judged, save)
                    done.append(progress.state())
                    saved = None
                if best is None or progress.best_value < best.best_value:
                    best = progress
        assert best is not None
        best.network.load_state_dict(best.best)
        self.network = best.network
        self.validation = best.validation
        masses = self.preparation.masses(self.network, self.X, e.device)
        self.loss, self.shepard = self.objective.assess(masses, self.rng)
        return Run(None, best.history, best.converged), masses

    @property
    def _rounds(self) -> int:
        return max(1, self.estimator.max_iter // 10) if self.whole else self._epochs

    @property
    def _epochs(self) -> int:
        return max(1, self.estimator.max_iter // 10)

    def _new_network(self, seed: int, *, pretrained: bool) -> Progress:
        e = self.estimator
        generator = torch.Generator().manual_seed(seed)
        f = len(self.family)
        if e.module is not None:
            body = copy.deepcopy(e.module)
            self._check_width(body, f)
        else:
            body = feed_forward(int(np.prod(self.X.shape[1:])), self._hidden(f), f, generator).to(self.dtype)
        network = MassNetwork(
            body, self.family.empty_index, detector=self.objects.decision is not None, convention=e.outlier_convention
        ).to(e.device)
        if pretrained and self.targets is not None:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                pretrain(
                    network,
                    self.objects.inputs,
                    self.targets,
                    steps=_PRETRAIN_STEPS,
                    batch_size=min(e.batch_size, self.n),
                    rng=np.random.default_rng(seed),
                )
        return Progress(network)

    def _hidden(self, f: int) -> list[int]:
        sizes = self.estimator.hidden_layer_sizes
        if isinstance(sizes, str):
            if sizes != "auto":
                raise ValueError(f"hidden_layer_sizes must be 'auto', an integer or several, got {sizes!r}")
            return [max(20, 3 * f)]
        sizes = [sizes] if isinstance(sizes, int | np.integer) else list(sizes)
        if any(isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 1 for s in sizes):
            raise ValueError(f"hidden_layer_sizes must hold integers of at least 1, got {sizes}")
        return [int(s) for s in sizes]

    def _check_width(self, body: Any, f: int) -> None:
        with torch.no_grad():
            body.eval()
            shape = tuple(body(torch.zeros((2, *self.X.shape[1:]), dtype=self.dtype)).shape)
        if shape != (2, f):
            raise ValueError(
                f"module must give {f} outputs for each object, one for each focal set "
                f"({', '.join(self.family.names()[:4])}, ...), but two objects gave shape {shape}"
            )

    def _train(self, progress: Progress, seed: int, judged: Any, save: Callable) -> None:
        e, network, objective = self.estimator, progress.network, self.objective
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            if not self.whole:
                train_mini_batches(
                    progress,
                    lambda epoch: objective.mini_batches(network, np.random.default_rng([seed, epoch])),
                    objective.judge(network, judged),
                    max_iter=self._epochs,
                    learning_rate=e.learning_rate,
                    save=save,
                    patience=e.patience if e.early_stopping else None,
                )
                return
            trainer = train_adaptive_steps if e.solver == "adaptive-steps" else train_lbfgs
            judge = objective.judge(network, judged) if e.early_stopping else None
            trainer(
                progress,
                objective.whole_loss(network, judged if e.early_stopping else None),
                judge,
                max_iter=e.max_iter,
                tol=e.tol,
                save=save,
                patience=e.patience,
            )

    def _checkpoint(self) -> Checkpoint | None:
        e = self.estimator
        if e.checkpoint is None:
            return None
        hidden = {"checkpoint", "verbose", "n_jobs", "module", "outlier_detector", "metric", "focal_sets"}
        settings = {k: repr(v) for k, v in e.get_params(deep=False).items() if k not in hidden}
        settings.update(
            module=repr(e.module),
            detector=repr(e.outlier_detector),
            metric=repr(e.metric),
            sets=repr(list(self.family)),
        )
        problem = self.problem
        arrays = [self.X, problem.labels]
        if problem.constraints is not None:
            arrays += [problem.constraints.must_link, problem.constraints.cannot_link]
        if isinstance(problem.source, MatrixSource):
            arrays.append(problem.source.D)
        return Checkpoint(e.checkpoint, fingerprint(settings, arrays))


def _as_given(source: AttributeSource | MatrixSource) -> tuple[Any, np.ndarray]:
    """The dissimilarities as another estimator takes them: its ``metric`` and the table for its ``fit``."""
    return ("precomputed", source.D) if isinstance(source, MatrixSource) else (source.metric, source.X)


def _check_device(device: str) -> None:
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r} is not available: {str(error).splitlines()[0]}") from error
