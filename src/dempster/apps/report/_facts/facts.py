"""Everything a report says, before a word of it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._validation import ordered_like
from dempster.apps.report._facts.case import Case
from dempster.apps.report._facts.described import Described, Pair, described, pairs_between
from dempster.apps.report._facts.places import Places, places_of
from dempster.apps.report._facts.told import Reasons, Told, most_doubtful
from dempster.apps.report._facts.trust import Trust, trust_of
from dempster.cluster.number import NumberOfClusters
from dempster.explain import Stability
from dempster.explain.scores import checked_classes

__all__ = ["Facts", "Counts", "facts_of"]

_MOST_LISTED = 200  # doubtful objects in a table
_WITH_CHANGES = 5  # of those that are explained, also what would make them certain
_MOST_PAIRS = 12
_SECONDS_FOR_REASONS = 8.0


@dataclass(frozen=True, eq=False)
class Counts:
    """How many objects give which answer.

    Attributes
    ----------
    n_objects, n_clusters, n_certain, n_torn, n_outliers : int
    certain, possible : (c,) arrays
        Of each cluster.
    sets : list of (clusters, number)
        Answers of several clusters, the most frequent first.
    """

    n_objects: int
    n_clusters: int
    certain: np.ndarray
    possible: np.ndarray
    sets: list[tuple[tuple[int, ...], int]]
    n_outliers: int

    @property
    def n_certain(self) -> int:
        return int(self.certain.sum())

    @property
    def n_torn(self) -> int:
        return sum(number for _, number in self.sets)


@dataclass(eq=False)
class Facts:
    """What is known: the case, its counts, clusters, doubts, places and trust."""

    case: Case
    counts: Counts
    described: Described | None
    pairs: list[Pair]
    torn: list[Told]
    outliers: list[Told]
    places: Places | None
    trust: Trust
    reasons: Reasons
    n_explained: int

    @property
    def number(self) -> NumberOfClusters | None:
        """The candidates, where the number of clusters was found."""
        found = getattr(self.case.model, "number_", None)
        return found if isinstance(found, NumberOfClusters) else None

    @property
    def history(self) -> np.ndarray:
        """The objective after every iteration, empty if it is not known."""
        found = np.asarray(getattr(self.case.model, "history_", ()), dtype=float)
        return found if found.ndim == 1 and np.isfinite(found).all() else np.zeros(0)


def facts_of(
    case: Case,
    *,
    y: Any,
    stability: bool | Stability,
    seconds: float,
    n_explained: int,
    max_points: int,
    rng: np.random.Generator,
) -> Facts:
    """Look at everything, in bounded time."""
    partition = case.partition
    classes = None if y is None else checked_classes(ordered_like(y, case.objects.names), partition)
    found = described(case, rng)
    reasons = Reasons(case, _SECONDS_FOR_REASONS)
    torn = most_doubtful(case, partition.ambiguous, _MOST_LISTED, reasons, n_explained, _WITH_CHANGES)
    outliers = most_doubtful(case, partition.outliers, _MOST_LISTED, reasons, n_explained, _WITH_CHANGES)
    always = np.array(sorted({told.position for told in (*torn, *outliers)} | _typical(found)), dtype=np.intp)
    return Facts(
        case=case,
        counts=_counts(case),
        described=found,
        pairs=pairs_between(case, found, _MOST_PAIRS),
        torn=torn,
        outliers=outliers,
        places=places_of(case, found, max_points, always, rng),
        trust=trust_of(case, classes, stability, seconds, rng),
        reasons=reasons,
        n_explained=n_explained,
    )


def _typical(found: Described | None) -> set[int]:
    return set() if found is None else {i for g in range(len(found.profile.groups)) for i in found.typical(g)}


def _counts(case: Case) -> Counts:
    partition = case.partition
    numbers = np.bincount(partition.best_set, minlength=len(partition.focal_sets))
    certain, possible = np.zeros(partition.n_clusters, dtype=int), np.zeros(partition.n_clusters, dtype=int)
    sets: list[tuple[tuple[int, ...], int]] = []
    n_outliers = 0
    for clusters, number in zip(partition.focal_sets, numbers, strict=True):
        possible[list(clusters)] += number
        if len(clusters) == 1:
            certain[clusters[0]] = number
        elif len(clusters) == 0:
            n_outliers = int(number)
        elif number:
            sets.append((_plain(clusters), int(number)))
    sets.sort(key=lambda item: (-item[1], item[0]))
    return Counts(len(partition), partition.n_clusters, certain, possible, sets, n_outliers)


def _plain(clusters: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(k) for k in clusters)
