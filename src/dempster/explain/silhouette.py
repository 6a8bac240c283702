"""Silhouettes of credal partitions: is each object nearer to the clusters of its sets than to the others?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._text import printable
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import object_index, order_of_names
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource
from dempster.dissimilarity.views import joined_views
from dempster.explain.inputs import resolve_input
from dempster.explain.scores import doubt_scores
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


_EXACT_UP_TO = 10_000  # objects; beyond, a sample is judged against a sample
_SAMPLE = 5_000
_BLOCK_CELLS = 1 << 22  # dissimilarities computed at once
_RULES = {
    "metric": METRIC_RULE,
    "sample_size": rule.choice("auto") | rule.choice(None) | rule.integer(2),
    "random_state": rule.seed,
}


@dataclass(frozen=True, eq=False, repr=False)
class CredalSilhouette:
    """How much nearer each object is to the clusters of its sets than to the others, from -1 to 1.

    Attributes
    ----------
    values : (m,) array
        Silhouette of each object that was judged: the mean of its sets, by their masses.
    label_values : (m,) array
        The silhouette of its label alone, as if it had no doubt itself; other objects count for their clusters as
        before.
    objects : (m,) array
        Positions of these objects in the partition: all of them, or a sample.
    partition : CredalPartition
    is_sampled : bool
        Whether the objects are a sample, judged against a sample of each cluster.
    """

    values: np.ndarray
    label_values: np.ndarray
    objects: np.ndarray
    partition: CredalPartition
    is_sampled: bool

    @cached_property
    def sizes(self) -> np.ndarray:
        """(m,) number of clusters in the set of largest mass of each object: 0 for outliers, 1 for certain ones."""
        return self.partition.focal_sets.cardinality[self.partition.best_set[self.objects]]

    @property
    def mean(self) -> float:
        """Mean over the objects that are no outliers; NaN if all are."""
        return _mean(self.values[self.sizes > 0])

    @property
    def certain_mean(self) -> float:
        """Mean over the objects that are certainly in one cluster; NaN if none is."""
        return _mean(self.values[self.sizes == 1])

    @property
    def weighted_mean(self) -> float:
        """Mean with the weights 1 - `doubt_scores` the objects, 0 for outliers; NaN if all weights are 0."""
        weights = np.clip(1 - doubt_scores(self.partition[self.objects]), 0, None)
        total = float(weights.sum())
        return float(weights @ self.values / total) if total > 0 else float("nan")

    @property
    def label_mean(self) -> float:
        """Mean of `label_values` over all objects, outliers as well."""
        return _mean(self.label_values)

    @property
    def standard_error(self) -> float:
        """Standard error of `mean` if the objects are a sample, else 0."""
        kept = self.values[self.sizes > 0]
        return float(kept.std(ddof=1) / np.sqrt(len(kept))) if self.is_sampled and len(kept) > 1 else 0.0

    def per_cluster(self) -> pd.DataFrame:
        """A row for each cluster: how many objects are certainly and possibly in it, and their mean silhouettes."""
        import pandas as pd

        chosen = self.partition.assignment()[self.objects]
        sure = chosen & (self.sizes == 1)[:, None]
        columns = {
            "certain": sure.sum(axis=0),
            "possible": chosen.sum(axis=0),
            "certain_mean": [_mean(self.values[who]) for who in sure.T],
            "possible_mean": [_mean(self.values[who]) for who in chosen.T],
        }
        return pd.DataFrame(columns, index=pd.Index(list(self.partition.frame), name="cluster"))

    def to_frame(self) -> pd.DataFrame:
        """A row for each object that was judged: its set, its label, its doubt and its silhouettes."""
        import pandas as pd

        own = self.partition[self.objects]
        names = own.focal_sets.names(own.frame)
        columns = {
            "set": [names[j] for j in own.best_set],
            "label": [own.frame[k] for k in own.labels],
            "doubt": doubt_scores(own),
            "silhouette": self.values,
            "label_silhouette": self.label_values,
        }
        return pd.DataFrame(columns, index=self.objects if own.index is None else own.index)

    def to_text(self) -> str:
        """The means, and a line for each cluster."""
        how = f", {len(self):,} of {len(self.partition):,} objects sampled" if self.is_sampled else ""
        error = f" (standard error {self.standard_error:.3f})" if self.is_sampled else ""
        lines = [
            f"credal silhouette{how}",
            f"  all but outliers    {self.mean:6.3f}{error}",
            f"  certain objects     {self.certain_mean:6.3f}",
            f"  weighted by doubt   {self.weighted_mean:6.3f}",
            f"  labels, no doubt    {self.label_mean:6.3f}",
        ]
        for name, row in self.per_cluster().iterrows():
            lines.append(
                f"cluster {printable(name)}: {row['certain_mean']:.3f} ({row['certain']:.0f} certain), "
                f"{row['possible_mean']:.3f} ({row['possible']:.0f} possible)"
            )
        return "\n".join(lines).replace("nan", "-")

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the silhouettes (see `dempster.plot.SilhouetteDisplay`)."""
        from dempster.plot.quality import SilhouetteDisplay  # a view of this value, imported when looked at

        return SilhouetteDisplay(silhouette=self).plot(ax=ax, **options)

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        how = ", sampled" if self.is_sampled else ""
        return (
            f"CredalSilhouette({len(self)} objects{how}, mean={self.mean:.3f}, certain={self.certain_mean:.3f}, "
            f"weighted={self.weighted_mean:.3f})"
        )


def credal_silhouette(
    partition: CredalPartition | ArrayLike,
    X: TableLike,
    *,
    metric: Metric = "euclidean",
    sample_size: int | str | None = "auto",
    random_state: Seed = None,
) -> CredalSilhouette:
    """Silhouettes of the objects of a credal partition: how much nearer they are to their clusters than to others.

    With d(i, k) the mean dissimilarity of object i to the other objects of cluster k, weighted by their unnormalised
    pignistic memberships (so that outliers hardly count, and an object between two clusters counts half in each),
    an object that is said to be in the set A is judged against every cluster of A in turn, with the clusters outside
    A as rivals:

        s(i, A) = mean over k in A of (b_A - d(i, k)) / max(b_A, d(i, k)),   b_A = min over l not in A of d(i, l).

    An object between clusters 2 and 3 has a large silhouette if it is near to both and far from all others; if it
    clearly is in 2, doubt between 2 and 3 costs. The silhouette of the object is the mean of s(i, A) over its sets,
    weighted by its masses (without that of the empty set). For hard partitions it is Rousseeuw's (1987).

    Where there is nothing to compare, s is 0: for the whole frame, which has no rival, for a cluster without other
    objects, for an object with all its mass on the empty set.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator (or pipeline) that has one, or array-like of n labels
        Of labels -1 marks noise, which belongs to no cluster.
    X : table, array or square matrix of dissimilarities
        The objects. Rows of tables with names are matched with those of the partition.
        Several tables, a list or a dictionary, are compared by all their attributes in their own units; of several
        matrices the squares are added.
    metric : str or callable, default="euclidean"
        A metric of scikit-learn, a function of two rows, "gower" for a table of numbers and categories, or
        "precomputed" if X holds dissimilarities.
    sample_size : int, "auto" or None
        How many objects to judge, and against how many: drawn uniformly, and from each cluster alike. "auto": all up
        to 10,000 objects, beyond that 5,000. None: all, in time that grows with the square of their number (memory
        does not).
    random_state : int, RandomState, Generator or None
        For the sample.

    Returns
    -------
    CredalSilhouette

    References
    ----------
    P. J. Rousseeuw (1987). Silhouettes: a graphical aid to the interpretation and validation of cluster analysis.
    J. Computational and Applied Mathematics 20.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.explain import credal_silhouette
    >>> X = [[0.0], [1.0], [5.0], [9.0], [10.0], [90.0]]
    >>> masses = [[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    >>> partition = CredalPartition(masses, FocalSets.from_sets(3, [(0,), (1,), (2,), (0, 1)]))
    >>> credal_silhouette(partition, X).values.round(2)  # the third lies between two clusters, and says so
    array([0.73, 0.74, 0.95, 0.74, 0.73, 0.  ])
    """
    credal = resolve_input(partition).partition
    reader = _Reader(metric, sample_size, random_state)
    rule.check_parameters(reader, _RULES)
    if len(credal) == 0:
        raise InvalidInputError("partition must hold at least one object")
    X = joined_views(X, metric)
    remedy = "; give the mean of the two, (X + X.T) / 2"
    source = DissimilarityInput(metric, centered=True, remedy=remedy).training(reader, X)
    assert not isinstance(source, SparseSource)  # which this reading refuses
    if len(source) != len(credal):
        raise InvalidInputError(f"X must hold the {len(credal)} objects of the partition, got {len(source)}")
    order = order_of_names(object_index(X), credal.index)
    position = np.arange(len(credal)) if order is None else order  # row of X of each object
    n = len(credal)
    most = (None if n <= _EXACT_UP_TO else _SAMPLE) if sample_size == "auto" else sample_size
    if most is None or int(most) >= n:
        judged = others = np.arange(n)
        counts = np.ones(n)
        sampled = False
    else:
        rng = generator(random_state)
        judged = np.sort(rng.choice(n, int(most), replace=False))
        others, counts = _from_each_cluster(credal.labels, credal.n_clusters, int(most), rng)
        sampled = True
    values, label_values = np.empty(len(judged)), np.empty(len(judged))
    for rows, near in _mean_dissimilarities(source, position, judged, others, counts, credal):
        some = judged[rows]
        values[rows] = _of_masses(near, credal.masses[some].astype(float), credal.focal_sets.membership)
        label_values[rows] = _of_labels(near, credal.labels[some])
    return CredalSilhouette(values, label_values, judged, credal, sampled)


def _mean_dissimilarities(
    source: DissimilaritySource,
    position: np.ndarray,
    judged: np.ndarray,
    others: np.ndarray,
    counts: np.ndarray,
    partition: CredalPartition,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Blocks of the objects judged, and their (rows, c) mean dissimilarities to the clusters, themselves left out.

    NaN where a cluster has no other object. ``counts`` says for how many objects each of the others stands.
    """
    weights = partition[others].pignistic(normalized=False).astype(float) * counts[:, None]
    total = weights.sum(axis=0)
    tiny = 1e-9 * max(float(total.max(initial=0.0)), 1.0)
    place = np.full(len(partition), -1)
    place[others] = np.arange(len(others))
    size = max(1, _BLOCK_CELLS // len(others))
    for start in range(0, len(judged), size):
        rows = slice(start, min(start + size, len(judged)))
        block = np.array(source.block(position[judged[rows]], position[others]), dtype=float)
        own = place[judged[rows]]
        among = np.flatnonzero(own >= 0)
        block[among, own[among]] = 0
        rest = np.tile(total, (len(block), 1))
        rest[among] -= weights[own[among]]
        sums = block @ weights
        yield rows, np.divide(sums, rest, out=np.full_like(sums, np.nan), where=rest > tiny)


def _of_masses(near: np.ndarray, masses: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Return (rows,) means over the sets of each object, weighted by mass; 0 where all is on the empty set."""
    out, known = np.zeros(len(near)), np.zeros(len(near))
    for j, members in enumerate(sets):
        who = np.flatnonzero(masses[:, j] > 0)
        if len(who) == 0 or not members.any():
            continue
        known[who] += masses[who, j]
        out[who] += masses[who, j] * _of_set(near[who], members)
    return np.divide(out, known, out=np.zeros_like(out), where=known > 0)


def _of_set(near: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return (rows,) silhouettes of objects with respect to one set of clusters."""
    if members.all():
        return np.zeros(len(near))
    rival = np.nanmin(np.where(np.isnan(near[:, ~members]), np.inf, near[:, ~members]), axis=1)
    return np.mean([_silhouette(near[:, k], rival) for k in np.flatnonzero(members)], axis=0)


def _of_labels(near: np.ndarray, labels: np.ndarray) -> np.ndarray:
    own = near[np.arange(len(near)), labels]
    rivals = np.where(np.isnan(near), np.inf, near)
    rivals[np.arange(len(near)), labels] = np.inf
    return _silhouette(own, rivals.min(axis=1))


def _silhouette(own: np.ndarray, rival: np.ndarray) -> np.ndarray:
    """Return (rival - own) / max(rival, own); 0 without own cluster (NaN), rival (infinite) or distance."""
    largest = np.maximum(own, rival)
    compared = np.isfinite(largest) & (largest > 0)
    return np.divide(rival - own, largest, out=np.zeros(len(own)), where=compared)


def _from_each_cluster(
    labels: np.ndarray, n_clusters: int, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Sample as many objects from each cluster, all of small ones, with the number of objects each stands for."""
    share = max(2, most // n_clusters)
    chosen, counts = [], []
    for k in range(n_clusters):
        members = np.flatnonzero(labels == k)
        drawn = members if len(members) <= share else rng.choice(members, share, replace=False)
        chosen.append(drawn)
        counts.append(np.full(len(drawn), len(members) / max(len(drawn), 1)))
    return np.concatenate(chosen), np.concatenate(counts)


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


class _Reader(BaseEstimator):
    """Stand-in for an estimator whose parameters and X are validated."""

    def __init__(self, metric: Metric, sample_size: int | str | None, random_state: Seed):
        self.metric, self.sample_size, self.random_state = metric, sample_size, random_state
