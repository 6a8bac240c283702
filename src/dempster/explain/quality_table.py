"""Compute the quality measures of a partition and compare them with two baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import sparse

from dempster._arrays import is_graph
from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster.belief import FocalSets
from dempster.dissimilarity.graphs import read_graph
from dempster.dissimilarity.views import joined_views
from dempster.explain.inputs import resolve_input
from dempster.explain.resamples import Stability
from dempster.explain.scores import (
    format_scores,
    retention_curve,
    set_scores,
    validate_classes,
)
from dempster.explain.silhouette import credal_silhouette
from dempster.partition import CredalPartition

N_SHUFFLES = 5
# maximum number of objects for the silhouettes of shuffled masses
MAX_SHUFFLED_SILHOUETTES = 1_000
_KEPT = 0.8
# Each measure has the direction in which it is better, and the label of its row in the text.
_MEASURES = {
    "silhouette": ("higher", "credal silhouette, all but outliers"),
    "silhouette_certain": ("higher", "credal silhouette, certain objects"),
    "silhouette_weighted": ("higher", "credal silhouette, weighted by doubt"),
    "modularity": ("higher", "modularity of the graph"),
    "nonspecificity": ("lower", "nonspecificity N*"),
    "ambiguous": ("", "share of ambiguous objects"),
    "outliers": ("", "share of outliers"),
    "stability": ("higher", "stability of objects"),
    "jaccard": ("higher", "stability of clusters (Jaccard)"),
    "rand": ("higher", "credal Rand index of resamples"),
    "ari": ("higher", "adjusted Rand index of the labels"),
    "ari_kept": ("higher", f"the same, least doubtful {_KEPT:.0%}"),
    "accuracy": ("higher", "accuracy of the labels"),
    "held": ("higher", "sets that contain the class"),
    "size": ("lower", "mean size of the sets"),
    "u65": ("higher", "utility u65 of the sets"),
    "u80": ("higher", "utility u80 of the sets"),
}


@dataclass(frozen=True, eq=False, repr=False)
class Quality:
    """Quality measures of a partition and of two baselines; returned by `quality`.

    Attributes
    ----------
    partition : mapping of str to float
        Measures of the partition.
    labels_alone : mapping of str to float
        Measures of the hard partition that assigns each object to the cluster of its label, without
        outliers.
    shuffled : mapping of str to float
        Measures of the same mass functions after a random permutation of the objects (mean over
        five permutations).
    """

    partition: Mapping[str, float]
    labels_alone: Mapping[str, float]
    shuffled: Mapping[str, float]

    def to_frame(self) -> pd.DataFrame:
        """Return a table of all measures of the partition and the baselines.

        "better" is "higher" or "lower".

        Returns
        -------
        pandas.DataFrame
        """
        columns = {
            "partition": self.partition,
            "labels alone": self.labels_alone,
            "shuffled": self.shuffled,
        }
        table = pd.DataFrame(columns, index=list(self.partition), dtype=float)
        table["better"] = [_MEASURES[key][0] for key in table.index]
        return table

    def to_text(self) -> str:
        """Return the table as text.

        Returns
        -------
        str
        """
        table = self.to_frame()
        labels = [_MEASURES[key][1] for key in self.partition]
        better = table.pop("better")
        lines = format_scores(table, labels, 12)
        lines[0] += "  better"
        for k, direction in enumerate(better, start=1):
            lines[k] = f"{lines[k]}  {direction}".rstrip()
        return "\n".join(lines)

    __repr__ = to_text


def modularity(adjacency: sparse.csr_array, partition: CredalPartition) -> float:
    """Return the modularity of the pignistic probabilities of the communities."""
    probabilities = partition.pignistic()
    total = adjacency.sum()
    inside = float((probabilities * (adjacency @ probabilities)).sum()) / total
    shares = adjacency.sum(axis=0) @ probabilities / total
    return inside - float(shares @ shares)


def quality(
    partition: CredalPartition | ArrayLike,
    X: TableLike | None = None,
    y: ArrayLike = None,
    *,
    metric: Metric = "euclidean",
    stability: Stability | None = None,
    random_state: Seed = None,
) -> Quality:
    """Compute all quality measures that the data allow, and compare them with two baselines.

    The baseline *labels alone* is the hard partition by the labels. The comparison with it shows
    whether the doubt is useful. The baseline *shuffled* assigns the same mass functions to the
    objects in random order. It has the same cluster sizes, doubt and number of outliers, and it
    shows the values that are expected by chance.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator or pipeline that has one, or array-like of labels
        Partition to evaluate.
    X : table, array, square matrix of dissimilarities or graph, optional
        Objects, or a list or dictionary of several tables or matrices. With X, the table includes
        the silhouettes (`credal_silhouette`). If X is a graph of networkx or igraph, or a sparse
        adjacency matrix, the table includes the modularity instead.
    y : array-like of shape (n,), optional
        Known classes. With y, the table includes the agreement of labels with classes (the adjusted
        Rand index of all objects and of the least doubtful 80 %, see `retention_curve`) and the
        agreement of sets (`set_scores`).
    metric : str or callable, default="euclidean"
        Metric of the silhouettes; see `credal_silhouette`.
    stability : Stability, optional
        Result of `dempster.explain.stability` for the method. The baselines have no stability.
    random_state : int, RandomState, Generator or None
        Seed of the permutations and of the sample for the silhouettes.

    Returns
    -------
    Quality

    Notes
    -----
    The modularity of a partition of a graph with the adjacency matrix A, the degrees k_i and the
    pignistic probabilities p_ik is the sum over all pairs of nodes of (A_ij - k_i k_j / (2 m)) / (2
    m) times the probability that they are in the same community, the sum of p_ik p_jk over k. For
    labels it is Newman's modularity.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import quality
    >>> iris = load_iris()
    >>> table = quality(EVCLUS(3, random_state=0).fit(iris.data), iris.data, iris.target).to_frame()
    >>> bool(table.loc["ari_kept", "partition"] > table.loc["ari_kept", "labels alone"] > 0.7)
    True
    >>> bool(abs(table.loc["ari", "shuffled"]) < 0.1)
    True
    """
    credal = resolve_input(partition).partition
    n = len(credal)
    if n == 0:
        raise InvalidParameterError("partition", must="contain at least one object")
    if stability is not None and not (
        isinstance(stability, Stability) and len(stability) == n
    ):
        expected = f"a result of dempster.explain.stability for {n} objects"
        raise InvalidParameterError("stability", expected, stability)
    graph = None
    if is_graph(X) or (sparse.issparse(X) and metric != "precomputed"):
        graph = read_graph(X).adjacency
        if graph.shape[0] != n:
            must = f"have the {n} nodes of the partition, got {graph.shape[0]}"
            raise InvalidParameterError("X", must=must)
        X = None
    X = joined_views(X)
    rng = as_generator(random_state)
    classes = None
    if y is not None:
        classes = validate_classes(y, credal)

    def measure(
        masses: np.ndarray, focal_sets: FocalSets, size: int | str | None = "auto"
    ) -> dict[str, float]:
        one = CredalPartition.unchecked(masses, focal_sets, credal.index, credal.frame)
        measures = {}
        if graph is not None:
            measures["modularity"] = modularity(graph, one)
        if X is not None:
            silhouette = credal_silhouette(
                one, X, metric=metric, sample_size=size, random_state=rng
            )
            measures["silhouette"] = silhouette.mean
            measures["silhouette_certain"] = silhouette.certain_mean
            measures["silhouette_weighted"] = silhouette.weighted_mean
        measures["nonspecificity"] = one.nonspecificity_index()
        measures["ambiguous"] = len(one.ambiguous) / n
        measures["outliers"] = len(one.outliers) / n
        if classes is not None:
            curve = retention_curve(one, classes, shares=[_KEPT, 1])
            scores = set_scores(one, classes)
            measures["ari"] = curve.at(1)
            measures["ari_kept"] = curve.at(_KEPT)
            for name in ("accuracy", "held", "size", "u65", "u80"):
                measures[name] = getattr(scores, name)
        return measures

    measures = measure(credal.stored_masses, credal.focal_sets)
    if stability is not None:
        measures["stability"] = stability.mean
        measures["jaccard"] = float(np.nanmean(stability.clusters))
        measures["rand"] = float(stability.rand.mean())
    singletons = FocalSets.simple(credal.n_clusters, empty=False, omega=False)
    alone = measure(np.eye(credal.n_clusters)[credal.labels], singletons)
    size = None
    if n > 1:
        size = min(MAX_SHUFFLED_SILHOUETTES, n)
    shuffles = [
        measure(credal.stored_masses[rng.permutation(n)], credal.focal_sets, size)
        for _ in range(N_SHUFFLES)
    ]
    shuffled = {
        name: float(np.mean([shuffle[name] for shuffle in shuffles]))
        for name in shuffles[0]
    }
    ordered = {name: measures[name] for name in _MEASURES if name in measures}
    return Quality(ordered, alone, shuffled)
