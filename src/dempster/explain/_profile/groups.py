"""The groups that a partition makes of its objects: those of each cluster, between clusters, and the outliers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dempster._text import format_group
from dempster.partition import CredalPartition

__all__ = ["Group", "groups_of", "group_weights", "add_typical"]


@dataclass(eq=False)
class Group:
    """The objects of one answer.

    Attributes
    ----------
    name : str
    clusters : tuple of int
        The answer: one cluster, several for ambiguous objects, none for outliers.
    rows : array of int
        Positions of the objects.
    n_possible : int or None
        For a cluster, the objects that may belong to it; None for other groups.
    typical : list
        Names (or positions) of the objects that stand for it best.
    """

    name: str
    clusters: tuple[int, ...]
    rows: np.ndarray
    n_possible: int | None = None
    typical: list[Any] = field(default_factory=list)

    @property
    def is_cluster(self) -> bool:
        return len(self.clusters) == 1

    def __len__(self) -> int:
        return len(self.rows)


def groups_of(partition: CredalPartition, rule: str) -> list[Group]:
    """Clusters in their order (empty ones too), then ambiguous groups, the largest first, then the outliers."""
    from dempster.belief.focal_sets import unique_sets

    answers = partition.assignment(rule, keep_outliers=False)
    sets, which = unique_sets(answers)
    rows = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(sets)))[:-1])
    members = {tuple(int(k) for k in np.flatnonzero(row)): places for row, places in zip(sets, rows, strict=True)}
    single = [(k,) for k in range(partition.n_clusters)]
    between = sorted((s for s in members if len(s) > 1), key=lambda s: (-len(members[s]), s))
    ordered = [*single, *between, *([()] if () in members else [])]
    possible = answers.sum(axis=0)
    nobody = np.empty(0, dtype=np.intp)
    groups = [
        Group(
            format_group(clusters, partition.frame),
            clusters,
            members.get(clusters, nobody),
            int(possible[clusters[0]]) if len(clusters) == 1 else None,
        )
        for clusters in ordered
    ]
    taken: dict[str, int] = {}
    for group in groups:  # large sets are called by their size
        taken[group.name] = taken.get(group.name, 0) + 1
        if taken[group.name] > 1:
            group.name = f"{group.name} ({taken[group.name]})"
    return groups


def group_weights(partition: CredalPartition, groups: list[Group], weights: str, rule: str) -> Any:
    """(g, n) sparse: how much each object counts in each group.

    "certain": 1 in the group of its answer. "possible": 1 in every cluster it may belong to as well. "pignistic": its
    pignistic probability in the clusters. Ambiguous groups and outliers are always those of the answers.
    """
    from scipy.sparse import csr_array, vstack

    n = len(partition)
    share: Any = None
    if weights == "possible":
        share = partition.assignment(rule, keep_outliers=False)
    elif weights == "pignistic":
        share = partition.pignistic(normalized=False)
    rows = []
    for group in groups:
        if group.is_cluster and share is not None:
            rows.append(csr_array(np.asarray(share[:, group.clusters[0]], dtype=float)[None]))
        else:
            ends = np.array([0, len(group)])
            rows.append(csr_array((np.ones(len(group)), group.rows, ends), shape=(1, n)))
    return vstack(rows, format="csr")


def add_typical(partition: CredalPartition, groups: list[Group], distance: np.ndarray, number: int, names: Any) -> None:
    """Name the objects with the largest mass on the set of their group; of equal ones those nearest to its mean."""
    for group in groups:
        if not len(group):
            continue
        answer = np.zeros((1, partition.n_clusters), dtype=bool)
        answer[0, list(group.clusters)] = True
        where = int(partition.focal_sets.find(answer)[0])
        mass = np.round(partition.masses[group.rows, where], 9) if where >= 0 else np.zeros(len(group))
        best = group.rows[np.lexsort((group.rows, distance[group.rows], -mass))[:number]]
        group.typical = [int(i) if names is None else names[i] for i in best]
