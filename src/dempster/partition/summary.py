"""What a person wants to know about a partition, as text, table and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._text import join_some, join_words, printable
from dempster.belief import FocalSets, MassFunctions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PartitionSummary"]

_NAMED_OUTLIERS = 8


@dataclass(frozen=True)
class PartitionSummary:
    """Counts of certain, ambiguous and outlying objects. ``str()`` gives the table a person reads.

    Attributes
    ----------
    n_objects : int
    names : list of str
        Names of the clusters.
    certain, possible : (c,) arrays
        Objects in the lower and in the upper approximation of each cluster.
    typical : list
        For each cluster the object with the largest mass on it alone (its index if it has one), None if there is none.
    ambiguous : list of (set of clusters, number of objects)
        Most frequent first.
    outliers : list
        Index (or position) of every outlier; of many in blocks, the first.
    nonspecificity : float
    choices : dict of str to str
        What "auto" stood for in the parameters of the method, with the reason.
    n_outliers : int
    """

    n_objects: int
    names: list[str]
    certain: np.ndarray
    possible: np.ndarray
    typical: list[Any]
    ambiguous: list[tuple[tuple[int, ...], int]]
    outliers: list[Any]
    nonspecificity: float
    choices: Mapping[str, str] = field(default_factory=dict)
    n_outliers: int = 0

    @classmethod
    def of(cls, partition: MassFunctions, best_set: np.ndarray, nonspecificity: float) -> PartitionSummary:
        """Summarise a partition by its sets of largest mass, given by their positions in the family."""
        family = partition.focal_sets
        own = partition.singleton_belief

        def name(i: int) -> Any:
            return int(i) if partition.index is None else partition.index[i]

        return cls.of_counts(
            family,
            np.bincount(best_set, minlength=len(family)),
            typical=[name(int(own[:, k].argmax())) for k in range(partition.n_clusters)] if len(partition) else [],
            outliers=[name(int(i)) for i in np.flatnonzero(family.cardinality[best_set] == 0)],
            nonspecificity=nonspecificity,
            names=partition.frame,
            choices=getattr(partition, "metadata", {}).get("choices", {}),
        )

    @classmethod
    def of_counts(
        cls,
        family: FocalSets,
        counts: np.ndarray,
        *,
        typical: Sequence[Any],
        outliers: list[Any],
        nonspecificity: float,
        names: Sequence[Any] | None = None,
        choices: Mapping[str, str],
    ) -> PartitionSummary:
        """From the number of objects whose largest mass is on each set; ``typical`` objects count where a cluster has
        certain ones, and ``outliers`` may be the first of them."""
        size, sets, c = family.cardinality, list(family), family.n_clusters
        certain, possible = np.zeros(c, dtype=int), np.zeros(c, dtype=int)
        for clusters, number in zip(sets, counts, strict=True):
            possible[list(clusters)] += number
            if len(clusters) == 1:
                certain[clusters[0]] = number
        between = [(sets[j], int(counts[j])) for j in range(len(sets)) if size[j] > 1 and counts[j]]
        between.sort(key=lambda item: (-item[1], item[0]))
        return cls(
            n_objects=int(counts.sum()),
            names=[printable(k) for k in (range(c) if names is None else names)],
            certain=certain,
            possible=possible,
            typical=[typical[k] if certain[k] else None for k in range(c)],
            ambiguous=between,
            outliers=outliers,
            nonspecificity=nonspecificity,
            choices=choices,
            n_outliers=int(counts[size == 0].sum()),
        )

    def to_frame(self) -> pd.DataFrame:
        """A row for each cluster: certain, possible, typical object."""
        import pandas as pd

        table = {"certain": self.certain, "possible": self.possible, "typical": self.typical}
        return pd.DataFrame(table, index=pd.Index(self.names, name="cluster"))

    def describe_set(self, clusters: tuple[int, ...]) -> str:
        """``clusters 1 and 2`` / ``clusters 1, 2 and 3`` / ``all clusters``."""
        names = [self.names[k] for k in clusters]
        if len(names) == len(self.names) > 2:
            return f"all {len(names)} clusters"
        return f"clusters {join_words(names)}"

    def __str__(self) -> str:
        width = max(len("ambiguous"), *(len(f"cluster {name}") for name in self.names))
        lines = [f"{'':{width}}  certain  possible  typical object"]
        rows = zip(self.names, self.certain, self.possible, self.typical, strict=True)
        for name, certain, possible, typical in rows:
            shown = "-" if typical is None else printable(typical)
            lines.append(f"{f'cluster {name}':{width}}  {certain:7d}  {possible:8d}  {shown}")
        torn = sum(number for _, number in self.ambiguous)
        parts = [f"{n} between {self.describe_set(s)}" for s, n in self.ambiguous[:6]]
        if len(self.ambiguous) > 6:
            parts.append(f"{sum(n for _, n in self.ambiguous[6:])} between other sets")
        lines.append(f"{'ambiguous':{width}}  {torn:7d}  {'; '.join(parts)}".rstrip())
        named = join_some(
            [printable(i) for i in self.outliers[:_NAMED_OUTLIERS]], _NAMED_OUTLIERS, total=self.n_outliers
        )
        lines.append(f"{'outliers':{width}}  {self.n_outliers:7d}  {named}".rstrip())
        lines.append(f"nonspecificity {self.nonspecificity:.3f} (0 certain, 1 nothing known)")
        lines += [f"chosen: {name} = {printable(words)}" for name, words in self.choices.items()]
        return "\n".join(lines)

    __repr__ = __str__
