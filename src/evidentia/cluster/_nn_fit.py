"""One fit of NN-EVCLUS: what the network sees, what it must match, where it starts, how it is trained."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import clone

from evidentia.belief import FocalSets
from evidentia.cluster import _nn_losses as losses
from evidentia.cluster._base import Run, checked_constraints
from evidentia.cluster._conflict_problems import link_form
from evidentia.cluster._nn_checkpoint import Checkpoint, fingerprint
from evidentia.cluster._nn_model import MassNetwork, Preparation, feed_forward, weight_penalty
from evidentia.cluster._nn_training import Progress, pretrain, train_adaptive_steps, train_lbfgs, train_mini_batches
from evidentia.cluster.evclus import EVCLUS
from evidentia.dissimilarity.sources import AttributeSource, MatrixSource, check_square
from evidentia.dissimilarity.transform import decay, default_quantile, to_conflict

if TYPE_CHECKING:
    from evidentia.cluster.nnevclus import NNEVCLUS

__all__ = ["Fit"]

_QUANTILE_FOR_FEW = 0.62  # d0 for three or four clusters: below that of EVCLUS, as networks smooth the borders
_WHOLE_UP_TO = 1000  # objects trained on in one batch
_JUDGED_PAIRS = 20_000
_MOST_STEPS = 50  # of mini-batches in an epoch
_EXTRA = 256  # labelled objects and constraints added to a mini-batch
_DETECTOR_SAMPLE = 10_000
_PRETRAIN_STEPS = 1000


class Fit:
    """Everything one call of `NNEVCLUS.fit` does."""

    def __init__(self, estimator: NNEVCLUS, X: np.ndarray, y: Any, constraints: Any, dissimilarities: Any):
        self.estimator, self.X, self.n = estimator, X, len(X)
        _check_device(estimator.device)
        seed = estimator.random_state
        if isinstance(seed, np.random.RandomState):
            seed = seed.randint(np.iinfo(np.int32).max)
        self.rng = np.random.default_rng(seed)
        self.labels = _checked_labels(y, self.n, estimator.n_clusters)
        known = checked_constraints(constraints, self.n)
        self.constraints = known if len(known) else None
        self.source = self._source(dissimilarities)
        self.whole = estimator.solver in ("lbfgs", "adaptive-steps") or (
            estimator.solver == "auto" and self.n <= _WHOLE_UP_TO
        )
        self.dtype = torch.float64 if self.whole and estimator.module is None else torch.float32
        if estimator.module is not None:
            self.dtype = next((p.dtype for p in estimator.module.parameters()), torch.float32)
        self.evclus: EVCLUS | None = None
        self._start()
        self.known = np.flatnonzero(self.labels >= 0)  # labelled objects, belief peaks included
        self.preparation = self._prepare()
        self.inputs = self.preparation.inputs(X)
        self.decision = self.preparation.decision(self.inputs)

    # ---- what must be matched -------------------------------------------------------------------------------------

    def _source(self, dissimilarities: Any) -> Any:
        metric = self.estimator.metric
        if dissimilarities is not None:
            D = np.asarray(dissimilarities, dtype=float)
            if D.shape != (self.n, self.n):
                raise ValueError(f"dissimilarities must have shape ({self.n}, {self.n}), got {D.shape}")
            return MatrixSource(check_square(D, symmetrize=False))
        flat = self.X.reshape(self.n, -1)
        if hasattr(metric, "transform"):
            self.metric_ = clone(metric)
            if self.constraints is not None:
                self.metric_.fit(flat, constraints=self.constraints)
            elif (self.labels >= 0).any():
                self.metric_.fit(flat, self.labels)
            else:
                raise ValueError("metric is a transformer, which learns from constraints or labels: give one of them")
            return AttributeSource(np.ascontiguousarray(self.metric_.transform(flat)), "euclidean")
        return AttributeSource(flat, metric)

    def _start(self) -> None:
        """Family and scale, and masses to learn first."""
        e = self.estimator
        self.targets: np.ndarray | None = None
        if e.init == "evclus":
            precomputed = isinstance(self.source, MatrixSource)
            self.evclus = EVCLUS(
                e.n_clusters,
                focal_sets=e.focal_sets,
                metric="precomputed" if precomputed else self.source.metric,
                d0=e.d0,
                d0_quantile=self._quantile,
                n_neighbors=e.n_neighbors,
                random_state=int(self.rng.integers(2**31)),
                n_jobs=e.n_jobs,
                device=e.device if not precomputed and self.source.metric == "euclidean" else "cpu",
            ).fit(self.source.D if precomputed else self.source.X, constraints=self.constraints)
            self.family, self.d0 = self.evclus.focal_sets_, self.evclus.d0_
            self.targets = self._renumbered(self.evclus.credal_partition_.masses)
            return
        if e.focal_sets == "selected":
            raise ValueError("focal_sets='selected' takes its pairs from an EVCLUS fit: use init='evclus'")
        self.family = e._family()
        self.d0 = e.d0 if e.d0 is not None else self._scale()
        if e.init == "belief-peaks":
            self._label_peaks()

    @property
    def _quantile(self) -> float:
        e = self.estimator
        if e.d0_quantile != "auto":
            return float(e.d0_quantile)
        return _QUANTILE_FOR_FEW if e.n_clusters in (3, 4) else default_quantile(e.n_clusters)

    def _scale(self) -> float:
        q = self._quantile
        if self.n <= _WHOLE_UP_TO:
            d = self.source.block(np.arange(self.n), np.arange(self.n))[np.triu_indices(self.n, 1)]
        else:
            d = self.source.pairs(*self._random_pairs(100_000))
        d0 = float(np.quantile(d, q))
        if not d0 > 0:
            raise ValueError(f"the {q:g} quantile of the dissimilarities is 0, which cannot serve as d0: give d0")
        return d0

    def _random_pairs(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        i = self.rng.integers(0, self.n, count)
        j = self.rng.integers(0, self.n - 1, count)
        return i, j + (j >= i)

    def _renumbered(self, masses: np.ndarray) -> np.ndarray:
        """Number the clusters of the first partition as the labels do."""
        known = np.flatnonzero(self.labels >= 0)
        if len(known) == 0:
            return masses
        from scipy.optimize import linear_sum_assignment

        c = self.estimator.n_clusters
        plausible = masses[known] @ self.family.membership
        score = np.stack([plausible[self.labels[known] == k].sum(axis=0) for k in range(c)])
        _, cluster_of_label = linear_sum_assignment(-score)
        moved = FocalSets(self.family.membership[:, cluster_of_label])
        where = moved.find(self.family.membership)
        if (where >= 0).all():
            return masses[:, where]
        return masses  # a family that is not symmetric keeps its numbering

    def _label_peaks(self) -> None:
        from evidentia.cluster.belief_peaks import BeliefPeaks

        precomputed = isinstance(self.source, MatrixSource)
        peaks = BeliefPeaks(n_clusters=self.estimator.n_clusters, metric="precomputed" if precomputed else "euclidean")
        peaks.fit(self.source.D if precomputed else self.source.X)
        self.labels[peaks.peaks_] = np.arange(len(peaks.peaks_))

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
        judged = self._judged_pairs()
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
        self._assess(masses)
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
            body, self.family.empty_index, detector=self.decision is not None, convention=e.outlier_convention
        ).to(e.device)
        if pretrained and self.targets is not None:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                pretrain(
                    network,
                    self._inputs_of,
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

    def _inputs_of(self, who: Any) -> Any:
        rows = self.inputs if who is None else self.inputs[np.asarray(who)]
        return torch.as_tensor(rows, dtype=self.dtype).to(self.estimator.device)

    def _decision_of(self, who: Any) -> Any:
        if self.decision is None:
            return None
        rows = self.decision if who is None else self.decision[np.asarray(who)]
        return torch.as_tensor(rows, dtype=self.dtype).to(self.estimator.device)

    def _tensor(self, values: Any, dtype: Any = None) -> Any:
        return torch.tensor(np.asarray(values), dtype=dtype or self.dtype, device=self.estimator.device)

    def _train(self, progress: Progress, seed: int, judged: Any, save: Callable) -> None:
        e = self.estimator
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            if not self.whole:
                train_mini_batches(
                    progress,
                    lambda epoch: self._mini_batches(progress.network, np.random.default_rng([seed, epoch])),
                    self._judge(progress.network, judged),
                    max_iter=self._epochs,
                    learning_rate=e.learning_rate,
                    save=save,
                    patience=e.patience if e.early_stopping else None,
                )
                return
            trainer = train_adaptive_steps if e.solver == "adaptive-steps" else train_lbfgs
            judge = self._judge(progress.network, judged) if e.early_stopping else None
            trainer(
                progress,
                self._whole_loss(progress.network, judged if e.early_stopping else None),
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
        arrays = [self.X, self.labels]
        if self.constraints is not None:
            arrays += [self.constraints.must_link, self.constraints.cannot_link]
        if isinstance(self.source, MatrixSource):
            arrays.append(self.source.D)
        return Checkpoint(e.checkpoint, fingerprint(settings, arrays))

    # ---- losses ---------------------------------------------------------------------------------------------------

    @property
    def _label_weight(self) -> float:
        return self.estimator.nu if len(self.known) else 0.0

    def _penalties(self, network: MassNetwork, masses: Any, must: Any, cannot: Any, labels: Any) -> Any:
        """Constraints, labels (with their positions) and weights, for masses of the objects they refer to."""
        e = self.estimator
        total = masses.new_zeros(())
        if e.xi > 0 and len(must) + len(cannot):
            total = total + e.xi * losses.links_loss(masses, must, cannot, self._tensor(link_form(self.family)))
        if self._label_weight and len(labels[0]):
            sets = self._tensor(self.family.membership)
            total = total + self._label_weight * losses.labels_loss(masses[labels[0]], sets, labels[1])
        if e.alpha > 0:
            total = total + e.alpha * weight_penalty(network.body)
        return total

    def _whole_loss(self, network: MassNetwork, held_out: Any) -> Callable[[], Any]:
        """The loss on all objects, as a function of the network's parameters."""
        e = self.estimator
        x, h = self._inputs_of(None), self._decision_of(None)
        conflict = self._tensor(np.array(self.family.conflict))
        must, cannot = self._pairs_of_constraints()
        known = self.known
        labels = (self._tensor(known, torch.long), self._tensor(self.labels[known], torch.long))
        share = 1 - self._label_weight
        if e.n_pairs is None and held_out is None:
            D = self.source.block(np.arange(self.n), np.arange(self.n)).astype(float)
            np.fill_diagonal(D, 0)
            delta = self._tensor(to_conflict(D, self.d0))
            squares = delta.square().sum()

            def pair_term(m: Any) -> Any:
                return losses.all_pairs_loss(m, delta, conflict, squares)
        else:
            i, j = self._training_pairs(held_out)
            delta = self._tensor(to_conflict(self.source.pairs(i, j), self.d0))
            first, second = self._tensor(i, torch.long), self._tensor(j, torch.long)

            def pair_term(m: Any) -> Any:
                return losses.pairs_loss(m, first, second, delta, conflict)

        def loss() -> Any:
            m = network(x, h)
            return share * pair_term(m) + self._penalties(network, m, must, cannot, labels)

        return loss

    def _training_pairs(self, held_out: Any) -> tuple[np.ndarray, np.ndarray]:
        from evidentia.dissimilarity.sampling import random_pairs

        k = self.n - 1 if self.estimator.n_pairs is None else self.estimator.n_pairs
        pairs, count = random_pairs(self.n, k, np.random.default_rng(0))
        pairs = np.repeat(pairs, count.astype(int), axis=0) if self.estimator.n_pairs is not None else pairs
        if held_out is not None:
            code = pairs[:, 0] * self.n + pairs[:, 1]
            low, high = np.minimum(*held_out[:2]), np.maximum(*held_out[:2])
            pairs = pairs[~np.isin(code, low * self.n + high)]
        return pairs[:, 0], pairs[:, 1]

    def _pairs_of_constraints(self) -> tuple[Any, Any]:
        none = np.empty((0, 2), dtype=np.int64)
        must, cannot = (none, none) if self.constraints is None else (
            self.constraints.must_link, self.constraints.cannot_link
        )  # fmt: skip
        return self._tensor(must, torch.long), self._tensor(cannot, torch.long)

    def _mini_batches(self, network: MassNetwork, rng: np.random.Generator) -> Any:
        """Losses of the batches of an epoch: all pairs inside a batch, with some constraints and labelled objects."""
        size = min(self.estimator.batch_size, self.n)
        steps = max(1, min(_MOST_STEPS, self.n // size))
        sees_few = steps * size < self.n // 2  # far more objects than an epoch sees
        order = rng.integers(0, self.n, steps * size) if sees_few else rng.permutation(self.n)
        conflict = self._tensor(np.array(self.family.conflict))
        share = 1 - self._label_weight
        for who in np.array_split(order[: max(steps * size, size)], steps):
            who = np.unique(who)
            if len(who) < 2:
                continue
            extra, must, cannot, labels = self._extra_objects(rng)
            both = np.concatenate([who, extra])
            m = network(self._inputs_of(both), self._decision_of(both))
            delta = self._delta_of(who)
            value = share * losses.all_pairs_loss(m[: len(who)], delta, conflict, delta.square().sum())
            yield value + self._penalties(network, m[len(who) :], must, cannot, labels)

    def _extra_objects(self, rng: np.random.Generator) -> tuple[np.ndarray, Any, Any, Any]:
        """Objects of some constraints and labels, and these in terms of positions among them."""
        must: np.ndarray = np.empty((0, 2), dtype=np.int64)
        cannot = must
        if self.constraints is not None and len(self.constraints):
            total = len(self.constraints)
            chosen = rng.choice(total, min(_EXTRA, total), replace=False)
            n_must = len(self.constraints.must_link)
            must = self.constraints.must_link[chosen[chosen < n_must]]
            cannot = self.constraints.cannot_link[chosen[chosen >= n_must] - n_must]
        known = rng.choice(self.known, min(_EXTRA, len(self.known)), replace=False) if len(self.known) else self.known
        extra = np.unique(np.concatenate([must.ravel(), cannot.ravel(), known]))
        place = {int(o): k for k, o in enumerate(extra)}

        def positions(values: np.ndarray) -> Any:
            return self._tensor(
                np.vectorize(place.get, otypes=[np.int64])(values) if values.size else values, torch.long
            )

        labels = (positions(known), self._tensor(self.labels[known], torch.long))
        return extra, positions(must), positions(cannot), labels

    def _delta_of(self, who: np.ndarray) -> Any:
        if isinstance(self.source, AttributeSource) and self.source.metric == "euclidean":
            points = torch.as_tensor(self.source.X[who]).to(self.estimator.device)
            return losses.conflicts_wanted(points, decay(self.d0)).to(self.dtype)
        return self._tensor(to_conflict(self.source.block(who, who), self.d0))

    def _judged_pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs to judge a training by: random ones, or a tenth of all for small data."""
        if self.n <= _WHOLE_UP_TO:
            i, j = np.triu_indices(self.n, 1)
            chosen = self.rng.choice(len(i), max(1, min(_JUDGED_PAIRS, len(i) // 10)), replace=False)
            i, j = i[chosen], j[chosen]
        else:
            i, j = self._random_pairs(_JUDGED_PAIRS)
        return i, j, np.asarray(self.source.pairs(i, j), dtype=float)

    def _judge(self, network: MassNetwork, judged: Any) -> Callable[[], float]:
        i, j, d = judged
        objects, position = np.unique(np.concatenate([i, j]), return_inverse=True)
        first, second = self._tensor(position[: len(i)], torch.long), self._tensor(position[len(i) :], torch.long)
        delta = self._tensor(to_conflict(d, self.d0))
        conflict = self._tensor(np.array(self.family.conflict))
        x, h = self._inputs_of(objects), self._decision_of(objects)

        def judge() -> float:
            with torch.no_grad():
                return float(losses.pairs_loss(network(x, h), first, second, delta, conflict))

        return judge

    def _assess(self, masses: np.ndarray) -> None:
        """Loss over all pairs (or a sample), and the data of the Shepard diagram."""
        if self.n <= _WHOLE_UP_TO:
            i, j = np.triu_indices(self.n, 1)
            d = self.source.block(np.arange(self.n), np.arange(self.n))[i, j]
        else:
            i, j = self._random_pairs(200_000)
            d = self.source.pairs(i, j)
        kappa = np.einsum("pf,pf->p", masses[i] @ np.asarray(self.family.conflict, dtype=masses.dtype), masses[j])
        delta = to_conflict(np.asarray(d, dtype=float), self.d0)
        self.loss = float(np.mean((kappa - delta) ** 2))
        kept = slice(None) if len(i) <= 20_000 else self.rng.choice(len(i), 20_000, replace=False)
        self.shepard = (np.asarray(d, dtype=float)[kept], delta[kept], kappa[kept])


def _checked_labels(y: Any, n: int, c: int) -> np.ndarray:
    if y is None:
        return np.full(n, -1)
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ValueError(f"y must hold one label for each of the {n} objects, got shape {labels.shape}")
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == labels.astype(int)).all():
        labels = labels.astype(int)
    is_number = labels.dtype.kind in "iu"
    inside = bool(is_number and labels.min() >= -1 and labels.max() < c)
    if not inside and not (labels == -1).any():
        # a target that came along with the data, as in pipelines: clusterers ignore it
        warnings.warn(f"y holds no -1 and is not made of the clusters 0 to {c - 1}: it is ignored", stacklevel=4)
        return np.full(n, -1)
    if not is_number:
        raise ValueError("y must hold cluster numbers (integers), -1 for objects without a label")
    if not inside:
        raise ValueError(f"y must hold numbers from 0 to {c - 1}, or -1, got {labels.min()} to {labels.max()}")
    return labels.astype(np.int64)


def _check_device(device: str) -> None:
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device={device!r} is not available: {str(error).splitlines()[0]}") from error
