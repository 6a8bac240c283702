"""What a network of NN-EVCLUS must match: dissimilarities, constraints and labels, and the losses made of them.

`Problem` holds what is known about the objects, `Objects` what the network sees of them, and `Objective` turns both
into losses: of the whole data, of mini-batches, of the pairs that candidate networks are judged by.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from sklearn.base import clone

from evidentia.belief import FocalSets
from evidentia.cluster._base import checked_constraints
from evidentia.cluster.evclus._conflict_problems import link_form
from evidentia.cluster.evclus.network import losses as losses
from evidentia.cluster.evclus.network.model import MassNetwork, weight_penalty
from evidentia.dissimilarity.sampling import random_pairs
from evidentia.dissimilarity.sources import AttributeSource, MatrixSource, check_square
from evidentia.dissimilarity.transform import decay, default_quantile, to_conflict

if TYPE_CHECKING:
    from evidentia.cluster.evclus.nnevclus import NNEVCLUS

__all__ = ["Problem", "Objects", "Objective", "SMALL"]

SMALL = 1000  # objects, up to which all pairs are looked at
_QUANTILE_FOR_FEW = 0.62  # d0 for three or four clusters: below that of EVCLUS, as networks smooth the borders
_SCALE_PAIRS = 100_000
_JUDGED_PAIRS = 20_000
_ASSESSED_PAIRS, _SHOWN_PAIRS = 200_000, 20_000
_MOST_STEPS = 50  # of mini-batches in an epoch
_EXTRA = 256  # labelled objects and constraints added to a mini-batch

Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]  # the one and the other object, and their dissimilarity


class Problem:
    """What is known about the n objects.

    Attributes
    ----------
    source : AttributeSource or MatrixSource
        Their dissimilarities.
    labels : (n,) array
        Clusters of labelled objects, -1 for the others.
    constraints : Constraints or None
    quantile : float
        Of the dissimilarities, that serves as d0.
    """

    def __init__(self, estimator: NNEVCLUS, X: np.ndarray, y: Any, constraints: Any, dissimilarities: Any):
        self.n = len(X)
        self.labels = _checked_labels(y, self.n, estimator.n_clusters)
        known = checked_constraints(constraints, self.n)
        self.constraints = known if len(known) else None
        self.source = self._source(X.reshape(self.n, -1), estimator.metric, dissimilarities)
        self.quantile = _quantile(estimator.d0_quantile, estimator.n_clusters)

    def _source(self, X: np.ndarray, metric: Any, dissimilarities: Any) -> AttributeSource | MatrixSource:
        if dissimilarities is not None:
            D = np.asarray(dissimilarities, dtype=float)
            if D.shape != (self.n, self.n):
                raise ValueError(f"dissimilarities must have shape ({self.n}, {self.n}), got {D.shape}")
            return MatrixSource(check_square(D, symmetrize=False))
        if not hasattr(metric, "transform"):
            return AttributeSource(X, metric)
        learner = clone(metric)
        if self.constraints is not None:
            learner.fit(X, constraints=self.constraints)
        elif (self.labels >= 0).any():
            learner.fit(X, self.labels)
        else:
            raise ValueError("metric is a transformer, which learns from constraints or labels: give one of them")
        return AttributeSource(np.ascontiguousarray(learner.transform(X)), "euclidean")

    def scale(self, rng: np.random.Generator) -> float:
        """d0, the dissimilarity at the quantile."""
        if self.n <= SMALL:
            d = self.all_dissimilarities()[np.triu_indices(self.n, 1)]
        else:
            d = self.source.pairs(*self._random_pairs(_SCALE_PAIRS, rng))
        d0 = float(np.quantile(d, self.quantile))
        if not d0 > 0:
            raise ValueError(
                f"the {self.quantile:g} quantile of the dissimilarities is 0, which cannot serve as d0: give d0"
            )
        return d0

    def pairs_to_judge(self, rng: np.random.Generator) -> Pairs:
        """Pairs to judge a training by: random ones, or a tenth of all for small data."""
        if self.n <= SMALL:
            i, j = np.triu_indices(self.n, 1)
            chosen = rng.choice(len(i), max(1, min(_JUDGED_PAIRS, len(i) // 10)), replace=False)
            i, j = i[chosen], j[chosen]
        else:
            i, j = self._random_pairs(_JUDGED_PAIRS, rng)
        return i, j, np.asarray(self.source.pairs(i, j), dtype=float)

    def pairs_to_assess(self, rng: np.random.Generator) -> Pairs:
        """All pairs, or a sample of large data."""
        if self.n <= SMALL:
            i, j = np.triu_indices(self.n, 1)
            d = self.all_dissimilarities()[i, j]
        else:
            i, j = self._random_pairs(_ASSESSED_PAIRS, rng)
            d = self.source.pairs(i, j)
        return i, j, np.asarray(d, dtype=float)

    def pairs_to_train_on(self, n_pairs: int | None, held_out: Pairs | None) -> tuple[np.ndarray, np.ndarray]:
        """All pairs, or ``n_pairs`` random ones of each object, without those held out."""
        k = self.n - 1 if n_pairs is None else n_pairs
        pairs, count = random_pairs(self.n, k, np.random.default_rng(0))
        pairs = np.repeat(pairs, count.astype(int), axis=0) if n_pairs is not None else pairs
        if held_out is not None:
            code = pairs[:, 0] * self.n + pairs[:, 1]
            low, high = np.minimum(*held_out[:2]), np.maximum(*held_out[:2])
            pairs = pairs[~np.isin(code, low * self.n + high)]
        return pairs[:, 0], pairs[:, 1]

    def all_dissimilarities(self) -> np.ndarray:
        """(n, n) matrix."""
        return self.source.block(np.arange(self.n), np.arange(self.n))

    def _random_pairs(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        i = rng.integers(0, self.n, count)
        j = rng.integers(0, self.n - 1, count)
        return i, j + (j >= i)


@dataclass(frozen=True)
class Objects:
    """What the network sees of the objects, as tensors of its precision on its device."""

    values: np.ndarray
    decision: np.ndarray | None  # of the outlier detector, where there is one
    dtype: Any
    device: str

    def inputs(self, who: Any = None) -> Any:
        """Inputs of some objects; of all for None."""
        rows = self.values if who is None else self.values[np.asarray(who)]
        return torch.as_tensor(rows, dtype=self.dtype).to(self.device)

    def decisions(self, who: Any = None) -> Any:
        """Decision values of some objects; of all for None."""
        if self.decision is None:
            return None
        rows = self.decision if who is None else self.decision[np.asarray(who)]
        return torch.as_tensor(rows, dtype=self.dtype).to(self.device)

    def tensor(self, values: Any, dtype: Any = None) -> Any:
        """Anything else, in the same precision and place."""
        return torch.tensor(np.asarray(values), dtype=dtype or self.dtype, device=self.device)

    def integers(self, values: Any) -> Any:
        return self.tensor(values, torch.long)


class Objective:
    """How far the conflicts of a network are from the dissimilarities, and its masses from the other knowledge.

    The loss is (1 - nu) times the mean squared error of the conflicts, xi times the violation of the constraints, nu
    times that of the labels and alpha times the size of the weights (Denoeux, 2021, eqs. 9, 10, 15 and section 4).
    """

    def __init__(self, estimator: NNEVCLUS, problem: Problem, family: FocalSets, d0: float, objects: Objects):
        self.problem, self.family, self.d0, self.objects = problem, family, d0, objects
        self.xi, self.alpha = estimator.xi, estimator.alpha
        self.n_pairs, self.batch_size = estimator.n_pairs, estimator.batch_size
        self.known = np.flatnonzero(problem.labels >= 0)
        self.nu = estimator.nu if len(self.known) else 0.0
        none: np.ndarray = np.empty((0, 2), dtype=np.int64)
        given = problem.constraints
        self.must_link: np.ndarray = none if given is None else given.must_link
        self.cannot_link: np.ndarray = none if given is None else given.cannot_link
        self.conflict = objects.tensor(np.array(family.conflict))
        self.link_form = objects.tensor(link_form(family))
        self.membership = objects.tensor(family.membership)

    def whole_loss(self, network: MassNetwork, held_out: Pairs | None) -> Callable[[], Any]:
        """The loss on all objects, as a function of the network's parameters."""
        problem, objects = self.problem, self.objects
        x, h = objects.inputs(), objects.decisions()
        must, cannot = objects.integers(self.must_link), objects.integers(self.cannot_link)
        labels = (objects.integers(self.known), objects.integers(problem.labels[self.known]))
        if self.n_pairs is None and held_out is None:
            D = problem.all_dissimilarities().astype(float)
            np.fill_diagonal(D, 0)
            delta = objects.tensor(to_conflict(D, self.d0))
            squares = delta.square().sum()

            def pair_term(m: Any) -> Any:
                return losses.all_pairs_loss(m, delta, self.conflict, squares)
        else:
            i, j = problem.pairs_to_train_on(self.n_pairs, held_out)
            delta = objects.tensor(to_conflict(problem.source.pairs(i, j), self.d0))
            first, second = objects.integers(i), objects.integers(j)

            def pair_term(m: Any) -> Any:
                return losses.pairs_loss(m, first, second, delta, self.conflict)

        def loss() -> Any:
            m = network(x, h)
            return (1 - self.nu) * pair_term(m) + self._penalties(network, m, must, cannot, labels)

        return loss

    def mini_batches(self, network: MassNetwork, rng: np.random.Generator) -> Iterator[Any]:
        """Losses of the batches of an epoch: all pairs inside a batch, with some constraints and labelled objects."""
        n, objects = self.problem.n, self.objects
        size = min(self.batch_size, n)
        steps = max(1, min(_MOST_STEPS, n // size))
        sees_few = steps * size < n // 2  # far more objects than an epoch sees
        order = rng.integers(0, n, steps * size) if sees_few else rng.permutation(n)
        for who in np.array_split(order[: max(steps * size, size)], steps):
            who = np.unique(who)
            if len(who) < 2:
                continue
            extra, must, cannot, labels = self._extra_objects(rng)
            both = np.concatenate([who, extra])
            m = network(objects.inputs(both), objects.decisions(both))
            delta = self._delta_among(who)
            value = (1 - self.nu) * losses.all_pairs_loss(m[: len(who)], delta, self.conflict, delta.square().sum())
            yield value + self._penalties(network, m[len(who) :], must, cannot, labels)

    def judge(self, network: MassNetwork, judged: Pairs) -> Callable[[], float]:
        """The error of the network on some pairs, to compare candidates by."""
        i, j, d = judged
        objects = self.objects
        who, position = np.unique(np.concatenate([i, j]), return_inverse=True)
        first, second = objects.integers(position[: len(i)]), objects.integers(position[len(i) :])
        delta = objects.tensor(to_conflict(d, self.d0))
        x, h = objects.inputs(who), objects.decisions(who)

        def judge() -> float:
            with torch.no_grad():
                return float(losses.pairs_loss(network(x, h), first, second, delta, self.conflict))

        return judge

    def assess(self, masses: np.ndarray, rng: np.random.Generator) -> tuple[float, tuple[np.ndarray, ...]]:
        """Mean squared error of conflicts over all pairs (or a sample); dissimilarity, delta and conflict of some."""
        i, j, d = self.problem.pairs_to_assess(rng)
        conflict = np.asarray(self.family.conflict, dtype=masses.dtype)
        kappa = np.einsum("pf,pf->p", masses[i] @ conflict, masses[j])
        delta = to_conflict(d, self.d0)
        kept = slice(None) if len(i) <= _SHOWN_PAIRS else rng.choice(len(i), _SHOWN_PAIRS, replace=False)
        return float(np.mean((kappa - delta) ** 2)), (d[kept], delta[kept], kappa[kept])

    def _penalties(self, network: MassNetwork, masses: Any, must: Any, cannot: Any, labels: Any) -> Any:
        """Constraints, labels (with their positions) and weights, for masses of the objects they refer to."""
        total = masses.new_zeros(())
        if self.xi > 0 and len(must) + len(cannot):
            total = total + self.xi * losses.links_loss(masses, must, cannot, self.link_form)
        if self.nu and len(labels[0]):
            total = total + self.nu * losses.labels_loss(masses[labels[0]], self.membership, labels[1])
        if self.alpha > 0:
            total = total + self.alpha * weight_penalty(network.body)
        return total

    def _extra_objects(self, rng: np.random.Generator) -> tuple[np.ndarray, Any, Any, Any]:
        """Objects of some constraints and labels, and these in terms of positions among them."""
        must, cannot = self.must_link, self.cannot_link
        total = len(must) + len(cannot)
        if total:
            chosen = rng.choice(total, min(_EXTRA, total), replace=False)
            n_must = len(must)
            must, cannot = must[chosen[chosen < n_must]], cannot[chosen[chosen >= n_must] - n_must]
        known = rng.choice(self.known, min(_EXTRA, len(self.known)), replace=False) if len(self.known) else self.known
        extra = np.unique(np.concatenate([must.ravel(), cannot.ravel(), known]))
        place = {int(o): k for k, o in enumerate(extra)}

        def positions(values: np.ndarray) -> Any:
            found = np.vectorize(place.get, otypes=[np.int64])(values) if values.size else values
            return self.objects.integers(found)

        labels = (positions(known), self.objects.integers(self.problem.labels[known]))
        return extra, positions(must), positions(cannot), labels

    def _delta_among(self, who: np.ndarray) -> Any:
        source = self.problem.source
        if isinstance(source, AttributeSource) and source.metric == "euclidean":
            points = torch.as_tensor(source.X[who]).to(self.objects.device)
            return losses.conflicts_wanted(points, decay(self.d0)).to(self.objects.dtype)
        return self.objects.tensor(to_conflict(source.block(who, who), self.d0))


def _quantile(given: Any, n_clusters: int) -> float:
    if given != "auto":
        return float(given)
    return _QUANTILE_FOR_FEW if n_clusters in (3, 4) else default_quantile(n_clusters)


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
        warnings.warn(f"y holds no -1 and is not made of the clusters 0 to {c - 1}: it is ignored", stacklevel=5)
        return np.full(n, -1)
    if not is_number:
        raise ValueError("y must hold cluster numbers (integers), -1 for objects without a label")
    if not inside:
        raise ValueError(f"y must hold numbers from 0 to {c - 1}, or -1, got {labels.min()} to {labels.max()}")
    return labels.astype(np.int64)
