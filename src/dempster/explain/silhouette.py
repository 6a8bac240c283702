"""Compute silhouettes of credal partitions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from dempster import _validation as rule
from dempster._arrays import decompress
from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._text import printable
from dempster._types import ArrayLike, ArrayPair, Metric, Seed, TableLike
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource
from dempster.dissimilarity.views import joined_views
from dempster.explain.inputs import resolve_input
from dempster.explain.scores import doubt_scores, mean_of_present
from dempster.partition import CredalPartition

# maximum number of objects without sampling for sample_size="auto"
MAX_EXACT_OBJECTS = 10_000
AUTO_SAMPLE_SIZE = 5_000
MAX_BLOCK_CELLS = 1 << 22  # maximum number of dissimilarities in a block


@dataclass(frozen=True, eq=False, repr=False)
class CredalSilhouette:
    """Silhouettes of the objects of a credal partition, from -1 to 1.

    Returned by `credal_silhouette`.

    Attributes
    ----------
    values : array of shape (m,)
        Silhouette of each evaluated object, which is a mean over the focal sets, weighted by the
        masses of the object.
    label_values : array of shape (m,)
        Silhouette that each evaluated object would have if all its mass were on the cluster of its
        label.
    objects : array of shape (m,)
        Positions of the evaluated objects in the partition. They are all objects or a random
        sample.
    partition : CredalPartition
        Partition of all objects.
    is_sampled : bool
        Whether a sample of the objects was evaluated and compared with a sample of each cluster.
    """

    values: np.ndarray
    label_values: np.ndarray
    objects: np.ndarray
    partition: CredalPartition
    is_sampled: bool

    @cached_property
    def sizes(self) -> np.ndarray:
        """Size of the set with the largest mass of each evaluated object.

        0 for outliers, 1 for certain objects.
        """
        return self.partition.focal_sets.cardinality[
            self.partition.best_set[self.objects]
        ]

    @property
    def mean(self) -> float:
        """Mean silhouette of all evaluated objects except outliers.

        NaN if all objects are outliers.
        """
        return mean_of_present(self.values[self.sizes > 0])

    @property
    def certain_mean(self) -> float:
        """Mean silhouette of the certain objects; NaN if there are no certain objects."""
        return mean_of_present(self.values[self.sizes == 1])

    @property
    def weighted_mean(self) -> float:
        """Mean silhouette weighted by one minus the doubt (0 for outliers).

        NaN if all weights are 0.
        """
        weights = np.maximum(1 - doubt_scores(self.partition[self.objects]), 0)
        total = float(weights.sum())
        if total > 0:
            return float(weights @ self.values / total)
        return float("nan")

    @property
    def label_mean(self) -> float:
        """Mean of `label_values` over all evaluated objects including outliers."""
        return mean_of_present(self.label_values)

    def per_cluster(self) -> pd.DataFrame:
        """Return the numbers and mean silhouettes of the certain and possible objects per cluster.

        Returns
        -------
        pandas.DataFrame
        """
        possible = self.partition.assignment()[self.objects]
        certain = possible & (self.sizes == 1)[:, None]
        columns = {
            "certain": certain.sum(axis=0),
            "possible": possible.sum(axis=0),
            "certain_mean": [
                mean_of_present(self.values[members]) for members in certain.T
            ],
            "possible_mean": [
                mean_of_present(self.values[members]) for members in possible.T
            ],
        }
        return pd.DataFrame(
            columns, index=pd.Index(list(self.partition.frame), name="cluster")
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with the set, label, doubt and silhouettes of each evaluated object.

        Returns
        -------
        pandas.DataFrame
        """
        own = self.partition[self.objects]
        names = own.focal_sets.names(own.frame)
        columns = {
            "set": [names[j] for j in own.best_set],
            "label": [own.frame[k] for k in own.labels],
            "doubt": doubt_scores(own),
            "silhouette": self.values,
            "label_silhouette": self.label_values,
        }
        return pd.DataFrame(
            columns, index=self.objects if own.index is None else own.index
        )

    def to_text(self) -> str:
        """Return the means, and a line for each cluster, as text.

        Returns
        -------
        str
        """
        sample = ""
        if self.is_sampled:
            sample = f", {len(self):,} of {len(self.partition):,} objects sampled"
        lines = [
            f"credal silhouette{sample}",
            f"  all but outliers    {self.mean:6.3f}",
            f"  certain objects     {self.certain_mean:6.3f}",
            f"  weighted by doubt   {self.weighted_mean:6.3f}",
            f"  labels alone        {self.label_mean:6.3f}",
        ]
        for name, row in self.per_cluster().iterrows():
            certain = f"{row['certain_mean']:.3f} ({row['certain']:.0f} certain)"
            possible = f"{row['possible_mean']:.3f} ({row['possible']:.0f} possible)"
            lines.append(f"cluster {printable(name)}: {certain}, {possible}")
        return "\n".join(lines).replace("nan", "-")

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Plot the silhouettes as bars, in decreasing order within each cluster.

        Objects that certainly belong to a cluster have its color. Ambiguous objects have a lighter
        color and appear in the cluster of their label. Outliers are not drawn. Short or negative
        bars belong to objects that are about as near to another cluster as to their own.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure, whose height depends on the number of clusters.
        title : str, optional

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_``, ``bars_`` and ``lines_``.
        """
        # dempster.plot imports this package
        from dempster.plot.quality import SilhouetteDisplay

        return SilhouetteDisplay(self).plot(ax=ax, title=title)

    def __len__(self) -> int:
        return len(self.values)

    __repr__ = to_text


def credal_silhouette(
    partition: CredalPartition | ArrayLike,
    X: TableLike,
    *,
    metric: Metric = "euclidean",
    sample_size: int | str | None = "auto",
    random_state: Seed = None,
) -> CredalSilhouette:
    r"""Compute the silhouettes of the objects of a credal partition.

    Let d(i, k) be the mean dissimilarity of object i to the other objects of cluster k, weighted by
    their unnormalized pignistic probabilities. The silhouette of object i with respect to a set A
    compares each cluster of A with the nearest cluster outside A:

    .. math::

        s(i, A) = \frac{1}{|A|} \sum_{k \in A} \frac{b_A - d(i, k)}{\max(b_A, d(i, k))}, \qquad
        b_A = \min_{l \notin A} d(i, l).

    The silhouette of the object is the mean of s(i, A) over its sets, weighted by its masses
    (without that of the empty set). Mass on a pair of clusters gives a large silhouette if the
    object is near to both clusters and far from all others. It gives a smaller silhouette if the
    object is clearly in one of the two clusters. The silhouette of a hard partition is equal to the
    silhouette of Rousseeuw (1987).

    s(i, A) is 0 if A contains all clusters, or if A is a cluster without other objects, because no
    comparison is possible. The silhouette of an object with all mass on the empty set is 0.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator or pipeline that has one, or array-like of labels
        The label -1 marks noise, which belongs to no cluster.
    X : table, array or square matrix of dissimilarities
        The objects. They are matched with the objects of the partition by name if both have names.
        A list or dictionary of tables is joined to one table. Several matrices of dissimilarities
        are combined by adding their squares.
    metric : str or callable, default="euclidean"
        A metric of scikit-learn, a function of two rows, "gower" for a table of numbers and
        categories, or "precomputed" if X contains dissimilarities.
    sample_size : int, "auto" or None
        Number of objects to evaluate. They are compared with a sample of the same size, with equal
        numbers of objects from each cluster. "auto" evaluates all objects if there are at most
        10,000, otherwise 5,000 objects. None evaluates all objects, in a time that is quadratic in
        their number.
    random_state : int, RandomState, Generator or None
        Seed of the sample.

    Returns
    -------
    CredalSilhouette

    References
    ----------
    P. J. Rousseeuw (1987). Silhouettes: a graphical aid to the interpretation and validation of
    cluster analysis. J. Computational and Applied Mathematics 20.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.explain import credal_silhouette
    >>> X = [[0.0], [1.0], [5.0], [9.0], [10.0], [90.0]]
    >>> sets = FocalSets.from_sets(3, [(0,), (1,), (2,), (0, 1)])
    >>> partition = CredalPartition(np.eye(4)[[0, 0, 3, 1, 1, 2]], sets)
    >>> credal_silhouette(partition, X).values.round(2)  # the third object is ambiguous
    array([0.73, 0.74, 0.95, 0.74, 0.73, 0.  ])
    """
    credal = resolve_input(partition).partition
    rule.check(metric, "metric", METRIC_RULE)
    rule.check(sample_size, "sample_size", rule.choice("auto", None) | rule.integer(2))
    rule.check(random_state, "random_state", rule.seed)
    if len(credal) == 0:
        raise InvalidParameterError("partition", must="contain at least one object")
    X = joined_views(X)
    source = DissimilarityInput(metric, centered=True).training(BaseEstimator(), X)
    assert not isinstance(source, SparseSource)
    if len(source) != len(credal):
        raise InvalidParameterError(
            "X",
            must=f"contain the {len(credal)} objects of the partition, got {len(source)}",
        )
    n = len(credal)
    position = rule.match_names(rule.row_index(X), credal.index)  # of each object in X
    if position is None:
        position = np.arange(n)
    size = n
    if sample_size != "auto":
        size = int(sample_size or n)
    elif n > MAX_EXACT_OBJECTS:
        size = AUTO_SAMPLE_SIZE
    if size >= n:
        objects = others = np.arange(n)
        counts = np.ones(n)
    else:
        rng = as_generator(random_state)
        objects = np.sort(rng.choice(n, size, replace=False))
        others, counts = _sample_clusters(credal.labels, credal.n_clusters, size, rng)
    values = np.empty(len(objects))
    label_values = np.empty(len(objects))
    singletons = np.eye(credal.n_clusters)
    for rows, distances in _mean_dissimilarities(
        source, position, objects, others, counts, credal
    ):
        masses = decompress(credal.stored_masses[objects[rows]]).astype(float)
        values[rows] = _silhouettes_of_masses(
            distances, masses, credal.focal_sets.membership
        )
        label_values[rows] = _silhouettes_of_masses(
            distances, singletons[credal.labels[objects[rows]]], singletons > 0
        )
    return CredalSilhouette(values, label_values, objects, credal, size < n)


def _mean_dissimilarities(
    source: DissimilaritySource,
    position: np.ndarray,
    objects: np.ndarray,
    others: np.ndarray,
    counts: np.ndarray,
    partition: CredalPartition,
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield slices of ``objects`` and their mean dissimilarities to the other objects of clusters.

    The means have the shape (slice length, n_clusters). A mean is NaN if the cluster has no other
    object. The means are computed from the sample ``others``, and ``counts`` contains the number of
    objects that each of them represents.
    """
    weights = (
        partition[others].pignistic(normalized=False).astype(float) * counts[:, None]
    )
    total = weights.sum(axis=0)
    tiny = 1e-9 * max(float(total.max(initial=0.0)), 1.0)
    column = np.full(len(partition), -1)
    column[others] = np.arange(len(others))
    size = max(1, MAX_BLOCK_CELLS // len(others))
    for start in range(0, len(objects), size):
        rows = slice(start, min(start + size, len(objects)))
        block = np.array(source.block(position[objects[rows]], position[others]), float)
        own = column[objects[rows]]
        is_among = np.flatnonzero(own >= 0)
        block[is_among, own[is_among]] = 0
        rest = np.tile(total, (len(block), 1))
        rest[is_among] -= weights[own[is_among]]
        sums = block @ weights
        yield (
            rows,
            np.divide(sums, rest, out=np.full_like(sums, np.nan), where=rest > tiny),
        )


def _silhouettes_of_masses(
    distances: np.ndarray, masses: np.ndarray, sets: np.ndarray
) -> np.ndarray:
    """Average the silhouettes of each object over the nonempty sets, weighted by its masses.

    0 if all weights are 0.
    """
    out = np.zeros(len(distances))
    total = np.zeros(len(distances))
    for j, members in enumerate(sets):
        rows = np.flatnonzero(masses[:, j] > 0)
        if len(rows) and members.any():
            total[rows] += masses[rows, j]
            out[rows] += masses[rows, j] * _silhouettes_of_set(distances[rows], members)
    return np.divide(out, total, out=np.zeros_like(out), where=total > 0)


def _silhouettes_of_set(distances: np.ndarray, members: np.ndarray) -> np.ndarray:
    if members.all():
        return np.zeros(len(distances))
    own = distances[:, members].T
    rest = distances[:, ~members]
    nearest = np.where(np.isnan(rest), np.inf, rest).min(axis=1)
    largest = np.maximum(own, nearest)
    # The silhouette is 0 if a distance is NaN or infinite, or if both distances are 0.
    is_comparable = np.isfinite(largest) & (largest > 0)
    values = np.divide(
        nearest - own, largest, out=np.zeros_like(own), where=is_comparable
    )
    return np.mean(values, axis=0)


def _sample_clusters(
    labels: np.ndarray, n_clusters: int, size: int, rng: np.random.Generator
) -> ArrayPair:
    """Sample equally from each cluster.

    Return the positions, and how many objects each of them represents.
    """
    share = max(2, size // n_clusters)
    sample = []
    counts = []
    for k in range(n_clusters):
        members = np.flatnonzero(labels == k)
        part = members
        if len(members) > share:
            part = rng.choice(members, share, replace=False)
        sample.append(part)
        counts.append(np.full(len(part), len(members) / max(len(part), 1)))
    return np.concatenate(sample), np.concatenate(counts)
