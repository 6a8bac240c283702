"""How good is a partition: every measure in one table, beside what comes for nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import check_choice
from dempster.belief import FocalSets
from dempster.dissimilarity.views import joined_views
from dempster.explain.inputs import resolve_input
from dempster.explain.resamples import Stability
from dempster.explain.scores import checked_classes, retention_curve, set_scores
from dempster.explain.silhouette import credal_silhouette
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


_SHUFFLES = 5
_SHUFFLED_SAMPLE = 1_000  # objects whose silhouettes are computed for a shuffle
_KEPT = 0.8
_UP, _DOWN, _NEITHER = "higher", "lower", ""
# what is measured, which way is better (nothing where neither is), and in words
_MEASURES = {
    "silhouette": (_UP, "credal silhouette, all but outliers"),
    "silhouette_certain": (_UP, "credal silhouette of the certain"),
    "silhouette_weighted": (_UP, "credal silhouette, weighted by doubt"),
    "nonspecificity": (_DOWN, "nonspecificity N*"),
    "ambiguous": (_NEITHER, "share of ambiguous objects"),
    "outliers": (_NEITHER, "share of outliers"),
    "stability": (_UP, "objects that stay when drawn again"),
    "jaccard": (_UP, "clusters found again (Jaccard)"),
    "rand": (_UP, "credal Rand index of resamples"),
    "ari": (_UP, "adjusted Rand index of the labels"),
    "ari_kept": (_UP, f"the same for the surest {_KEPT:.0%}"),
    "accuracy": (_UP, "accuracy of the labels"),
    "held": (_UP, "sets that hold the class"),
    "size": (_DOWN, "mean size of the sets"),
    "u65": (_UP, "utility u65 of the sets"),
    "u80": (_UP, "utility u80 of the sets"),
}
_COLUMNS = ("partition", "labels alone", "shuffled")


@dataclass(frozen=True, eq=False, repr=False)
class Quality:
    """Measures of a partition beside those of what comes for nothing.

    Attributes
    ----------
    partition : mapping of str to float
        Of the partition itself.
    labels_alone : mapping of str to float
        Of its labels, without doubt and outliers: what the doubt adds, or costs.
    shuffled : mapping of str to float
        Of the same mass functions dealt to the objects at random, the mean of five deals: what a partition of the
        same sizes and with as much doubt gets without looking at the objects.
    """

    partition: Mapping[str, float]
    labels_alone: Mapping[str, float]
    shuffled: Mapping[str, float]

    def to_frame(self) -> pd.DataFrame:
        """A row for each measure: the partition, the two trivial ones (NaN where they have none), which is better."""
        import pandas as pd

        columns = dict(zip(_COLUMNS, (self.partition, self.labels_alone, self.shuffled), strict=True))
        rows = {key: [column.get(key, np.nan) for column in columns.values()] for key in self.partition}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=list(columns), dtype=float)
        table["better"] = [_MEASURES[key][0] for key in table.index]
        return table

    def to_text(self) -> str:
        """The table in words."""
        width = max(len(_MEASURES[key][1]) for key in self.partition)
        lines = [f"{'':{width}}" + "".join(f"  {name:>12}" for name in _COLUMNS) + "  better"]
        for key, *values, better in self.to_frame().itertuples():
            cells = "".join(f"  {'-' if np.isnan(v) else f'{v:.3f}':>12}" for v in values)
            lines.append(f"{_MEASURES[key][1]:{width}}{cells}  {better}".rstrip())
        return "\n".join(lines)

    def __getitem__(self, measure: str) -> float:
        """A measure of the partition."""
        check_choice(measure, "measure", self.partition)
        return self.partition[measure]

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"Quality({', '.join(f'{key}={value:.3f}' for key, value in self.partition.items())})"


def quality(
    partition: CredalPartition | ArrayLike,
    X: TableLike | None = None,
    y: ArrayLike = None,
    *,
    metric: Metric = "euclidean",
    stability: Stability | None = None,
    sample_size: int | str | None = "auto",
    random_state: Seed = None,
) -> Quality:
    """Every measure of a partition that the data at hand allow, beside what comes for nothing.

    A number alone says little: sets that hold the class of 98 % of the objects are no merit if each of them holds all
    classes. So two trivial partitions are measured in the same way. *Labels alone*, the partition without its doubt:
    where it is as good, the doubt is worth nothing. *Shuffled*, the same mass functions dealt to the objects at random:
    it has the same sizes of clusters, the same doubt and as many outliers, and has not seen the objects; what it
    reaches, chance reaches.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator (or pipeline) that has one, or array-like of n labels
    X : table, array or square matrix of dissimilarities, optional
        Adds the silhouettes (`credal_silhouette`); several tables or matrices as there.
    y : array-like of shape (n,), optional
        Known classes. Adds the agreement of labels (adjusted Rand index of all objects and of the surest 80 %, see
        `retention_curve`) and of sets (`set_scores`).
    metric : str or callable, default="euclidean"
        For ``X``.
    stability : Stability, optional
        What `dempster.explain.stability` found for the method; the trivial partitions come from no method and have
        none.
    sample_size : int, "auto" or None
        For the silhouettes, as in `credal_silhouette`.
    random_state : int, RandomState, Generator or None
        For the shuffles, and the sample.

    Returns
    -------
    Quality
        With ``to_frame()`` and ``to_text()``.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import quality
    >>> iris = load_iris()
    >>> found = quality(EVCLUS(3, random_state=0).fit(iris.data).credal_partition_, iris.data, iris.target)
    >>> table = found.to_frame()
    >>> bool(table.loc["ari_kept", "partition"] > table.loc["ari_kept", "labels alone"] > 0.7)
    True
    >>> bool(abs(table.loc["ari", "shuffled"]) < 0.1)
    True
    """
    credal = resolve_input(partition).partition
    if len(credal) == 0:
        raise InvalidInputError("partition must hold at least one object")
    if stability is not None and not isinstance(stability, Stability):
        raise InvalidInputError(f"stability must come from dempster.explain.stability, got {type(stability).__name__}")
    if stability is not None and len(stability) != len(credal):
        raise InvalidInputError(
            f"stability must be that of the {len(credal)} objects of the partition, got {len(stability)}"
        )
    X = joined_views(X, metric)
    rng = generator(random_state)
    classes = None if y is None else checked_classes(y, credal)

    def silhouettes(one: CredalPartition, most: int | str | None) -> dict[str, float]:
        if X is None:
            return {}
        found = credal_silhouette(one, X, metric=metric, sample_size=most, random_state=rng)
        return {
            "silhouette": found.mean,
            "silhouette_certain": found.certain_mean,
            "silhouette_weighted": found.weighted_mean,
        }

    measures = {
        **silhouettes(credal, sample_size),
        **_own(credal),
        **({} if stability is None else _of_resamples(stability)),
        **_agreement(credal, classes),
    }
    certain = FocalSets.simple(credal.n_clusters, empty=False, omega=False)
    alone = CredalPartition.unchecked(np.eye(credal.n_clusters)[credal.labels], certain, credal.index, credal.frame)
    hard = {**silhouettes(alone, sample_size), **_own(alone), **_agreement(alone, classes)}

    def dealt() -> dict[str, float]:
        order = rng.permutation(len(credal))
        one = CredalPartition.unchecked(credal.masses[order], credal.focal_sets, credal.index, credal.frame)
        most = min(_SHUFFLED_SAMPLE, len(credal)) if len(credal) > 1 else None
        return {**silhouettes(one, most), **_own(one), **_agreement(one, classes)}

    return Quality(measures, hard, _mean_of(dealt, _SHUFFLES))


def _own(partition: CredalPartition) -> dict[str, float]:
    """What a partition says of itself."""
    n = len(partition)
    return {
        "nonspecificity": partition.nonspecificity_index(),
        "ambiguous": len(partition.ambiguous) / n,
        "outliers": len(partition.outliers) / n,
    }


def _of_resamples(found: Stability) -> dict[str, float]:
    jaccard = found.clusters[~np.isnan(found.clusters)]
    return {"stability": found.mean, "jaccard": float(jaccard.mean()), "rand": float(found.rand.mean())}


def _agreement(partition: CredalPartition, classes: np.ndarray | None) -> dict[str, float]:
    if classes is None:
        return {}
    curve = retention_curve(partition, classes, shares=[_KEPT, 1])
    scores = set_scores(partition, classes)
    return {
        "ari": curve.at(1),
        "ari_kept": curve.at(_KEPT),
        "accuracy": scores.accuracy,
        "held": scores.held,
        "size": scores.size,
        "u65": scores.u65,
        "u80": scores.u80,
    }


def _mean_of(draw: Callable[[], dict[str, float]], times: int) -> dict[str, float]:
    drawn = [draw() for _ in range(times)]
    return {key: float(np.mean([one[key] for one in drawn])) for key in drawn[0]}
