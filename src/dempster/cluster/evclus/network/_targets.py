"""What a network of NN-EVCLUS is to match: dissimilarities, labels and constraints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from dempster._arrays import to_host
from dempster._errors import InvalidInputError
from dempster._parameters import is_integer, is_number
from dempster._reading import reading_labels
from dempster._scale import as_reals
from dempster._types import ArrayLike
from dempster.cluster.evclus.shepard import ComparedPairs
from dempster.constraints import Constraints
from dempster.dissimilarity.input import with_columns_like_rows
from dempster.dissimilarity.sampling import drawn_pairs, random_pairs
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, MatrixSource, check_square
from dempster.dissimilarity.transform import default_quantile, scale_at

__all__ = ["SMALL", "NetworkTargets", "HeldOutPairs", "targets_of", "network_quantile"]

SMALL = 1000  # objects, up to which all pairs are looked at
_QUANTILE_FOR_FEW = 0.62  # d0 for three or four clusters: below that of EVCLUS, as networks smooth the borders
_SCALE_PAIRS = 100_000
_JUDGED_PAIRS = 20_000
_ASSESSED_PAIRS = 200_000


class HeldOutPairs(NamedTuple):
    """Pairs of objects i and j, with their dissimilarities, by which trainings are judged."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray


@dataclass(frozen=True)
class NetworkTargets:
    """What is known about the n objects.

    Attributes
    ----------
    source : DissimilaritySource
    labels : (n,) array
        Clusters of labelled objects, -1 for the others.
    constraints : Constraints or None
    remark : str
        What the user should know about the labels.
    """

    source: DissimilaritySource
    labels: np.ndarray
    constraints: Constraints | None
    remark: str = ""

    def __len__(self) -> int:
        return len(self.source)

    def all_dissimilarities(self) -> np.ndarray:
        """(n, n) matrix."""
        return self.source.block(np.arange(len(self)), np.arange(len(self)))

    def scale(self, quantile: float, rng: np.random.Generator) -> float:
        """d0, the dissimilarity at a quantile."""
        if len(self) <= SMALL:
            d = self.all_dissimilarities()[np.triu_indices(len(self), 1)]
        else:
            d = self.source.pairs(*drawn_pairs(len(self), _SCALE_PAIRS, rng))
        return scale_at(d, quantile)

    def pairs_to_judge(self, rng: np.random.Generator) -> HeldOutPairs:
        """Pairs to judge a training by: random ones, or a tenth of all for small data."""
        if len(self) <= SMALL:
            i, j = np.triu_indices(len(self), 1)
            chosen = rng.choice(len(i), max(1, min(_JUDGED_PAIRS, len(i) // 10)), replace=False)
            i, j = i[chosen], j[chosen]
        else:
            i, j = drawn_pairs(len(self), _JUDGED_PAIRS, rng)
        return HeldOutPairs(i, j, np.asarray(self.source.pairs(i, j), dtype=float))

    def pairs_to_assess(self, rng: np.random.Generator) -> ComparedPairs:
        """All pairs, or a sample of large data."""
        if len(self) <= SMALL:
            i, j = np.triu_indices(len(self), 1)
            d = self.all_dissimilarities()[i, j]
        else:
            i, j = drawn_pairs(len(self), _ASSESSED_PAIRS, rng)
            d = self.source.pairs(i, j)
        return ComparedPairs(i, j, np.asarray(d, dtype=float), np.ones(len(i)))

    def pairs_to_train_on(
        self, n_partners: int | None, held_out: HeldOutPairs | None, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """All pairs, or random partners of each object, without those held out."""
        n = len(self)
        pairs, times = random_pairs(n, n - 1 if n_partners is None else n_partners, rng)
        pairs = pairs if n_partners is None else np.repeat(pairs, times.astype(int), axis=0)
        if held_out is not None:
            low, high = np.minimum(held_out.i, held_out.j), np.maximum(held_out.i, held_out.j)
            pairs = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], low * n + high)]
        return pairs[:, 0], pairs[:, 1]


def targets_of(
    X: np.ndarray,
    metric: Any,
    n_clusters: int,
    y: ArrayLike,
    constraints: Constraints | None,
    dissimilarities: ArrayLike,
) -> NetworkTargets:
    """What is known about the rows of X: labels, constraints, and dissimilarities given or computed by a metric."""
    labels, remark = _checked_labels(y, len(X), n_clusters)
    known = constraints if constraints is not None and len(constraints) else None
    if dissimilarities is not None:
        D = as_reals(with_columns_like_rows(dissimilarities), "dissimilarities").astype(float, copy=False)
        if D.shape != (len(X), len(X)):
            raise InvalidInputError(f"dissimilarities must have shape ({len(X)}, {len(X)}), got {D.shape}")
        return NetworkTargets(MatrixSource(check_square(D, symmetrize=False)), labels, known, remark)
    rows = X.reshape(len(X), -1)
    if hasattr(metric, "transform"):
        rows, metric = _transformed(rows, clone(metric), labels, known), "euclidean"
    return NetworkTargets(AttributeSource(rows, metric), labels, known, remark)


def network_quantile(n_clusters: int) -> float:
    """Quantile of the dissimilarities taken as d0."""
    return _QUANTILE_FOR_FEW if n_clusters in (3, 4) else default_quantile(n_clusters)


def _transformed(rows: np.ndarray, learner: Any, labels: np.ndarray, constraints: Constraints | None) -> np.ndarray:
    """The space of a metric that is learnt from the constraints or, without any, from the labels."""
    if constraints is not None:
        learner.fit(rows, constraints=constraints)
    elif (labels >= 0).any():
        learner.fit(rows, labels)
    else:
        raise InvalidInputError("metric is a transformer, which learns from constraints or labels: give one of them")
    return np.ascontiguousarray(learner.transform(rows))


def _checked_labels(y: ArrayLike, n: int, c: int) -> tuple[np.ndarray, str]:
    """Clusters of labelled objects, -1 for the others, and what the user should know."""
    if y is None:
        return np.full(n, -1), ""
    with reading_labels(y, "y"):
        labels = np.asarray(to_host(y))
    if labels.shape != (n,):
        raise InvalidInputError(f"y must hold one label for each of the {n} objects, got shape {labels.shape}")
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == labels.astype(int)).all():
        labels = labels.astype(int)
    if labels.dtype.kind == "O" and all(is_integer(label) and is_number(label) for label in labels.tolist()):
        labels = labels.astype(np.int64)
    are_numbers = labels.dtype.kind in "iu"
    inside = bool(are_numbers and labels.min() >= -1 and labels.max() < c)
    if not inside and not (labels == -1).any():
        # a target that came along with the data, as in pipelines: clusterers ignore it
        return np.full(n, -1), f"y holds no -1 and is not made of the clusters 0 to {c - 1}: it is ignored"
    if not are_numbers:
        raise InvalidInputError("y must hold cluster numbers (integers), -1 for objects without a label")
    if not inside:
        raise InvalidInputError(f"y must hold numbers from 0 to {c - 1}, or -1, got {labels.min()} to {labels.max()}")
    return labels.astype(np.int64), ""
