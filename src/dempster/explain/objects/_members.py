"""What a partition alone says of an object: how far it is from the members of each cluster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dempster.cluster.evidence import ClusterEvidence
from dempster.explain.objects._table import Cells, ObjectTable, is_missing
from dempster.partition import CredalPartition

__all__ = ["members_of", "typical_cells", "evidence_from_members", "evidence_from_dissimilarities", "differences"]


def members_of(partition: CredalPartition, cluster: int, itself: int) -> np.ndarray:
    """Positions of the objects that stand for a cluster: the certain ones but ``itself``; where there is none, those
    of which it is the most plausible one."""
    certain = partition.lower(partition.frame[cluster])
    perhaps = np.flatnonzero((partition.labels == cluster) & (partition.contour[:, cluster] > 0))
    for some in (certain, perhaps):
        others = some[some != itself]
        if len(others):
            return others
    return certain  # perhaps the object itself


def differences(table: ObjectTable, cells: Cells, positions: np.ndarray) -> np.ndarray:
    """(r, p) squared differences to some objects: of numbers in standard deviations, of categories 0 or 1; those of
    missing cells, and of constant attributes, are NaN."""
    out = np.full((len(positions), len(cells)), np.nan)
    for d, (column, cell) in enumerate(zip(table.columns, cells, strict=True)):
        if table.is_number[d]:
            if table.deviations[d] > 0:
                out[:, d] = ((column[positions] - cell[0]) / table.deviations[d]) ** 2
        elif not is_missing(cell[0]):
            known = [not is_missing(other) for other in column[positions]]
            out[:, d] = np.where(known, np.asarray(column[positions] != cell[0], dtype=float), np.nan)
    return out


def evidence_from_members(partition: CredalPartition, table: ObjectTable, cells: Cells, itself: int) -> ClusterEvidence:
    """Minus the squared standardized distance to the mean of the members of each cluster; of categories, the share of
    the members that have another one."""
    parts = np.zeros((len(cells), partition.n_clusters))
    total = np.full(partition.n_clusters, -np.inf)
    for k in range(partition.n_clusters):
        members = members_of(partition, k, itself)
        if len(members) == 0:
            continue
        for d, cell in enumerate(cells):
            column = table.columns[d][members]
            if table.is_number[d]:
                known = column[~np.isnan(column)]
                if len(known) and table.deviations[d] > 0 and not np.isnan(cell[0]):
                    parts[d, k] = -(((cell[0] - known.mean()) / table.deviations[d]) ** 2)
            elif not is_missing(cell[0]):
                others = [other != cell[0] for other in column if not is_missing(other)]
                parts[d, k] = -float(np.mean(others)) if others else 0.0
        total[k] = parts[:, k].sum()
    found = ClusterEvidence.of_attributes("minus the squared standardized distance to the mean of its members", parts)
    return replace(found, total=total)


def evidence_from_dissimilarities(partition: CredalPartition, row: np.ndarray, itself: int) -> ClusterEvidence:
    """Minus the mean dissimilarity to the members of each cluster, given the (n,) dissimilarities to all objects."""
    n, c = len(row), partition.n_clusters
    weights, total = np.zeros((n, c)), np.full(c, -np.inf)
    for k in range(c):
        members = members_of(partition, k, itself)
        members = members[~np.isnan(row[members])]
        if len(members):
            weights[members, k] = 1 / len(members)
            total[k] = -float(row[members].mean())
    used = np.flatnonzero(weights.any(axis=1))
    return ClusterEvidence("minus the mean dissimilarity to its members", total, None, used, weights[used], row[used])


def typical_cells(partition: CredalPartition, table: ObjectTable, cluster: int, itself: int) -> list:
    """What is usual in a cluster: means of numbers, the most frequent category; None where nothing is known."""
    members = members_of(partition, cluster, itself)
    out: list = []
    for d, column in enumerate(table.columns):
        cells = column[members]
        if table.is_number[d]:
            known = cells[~np.isnan(cells)]
            out.append(float(known.mean()) if len(known) else None)
        else:
            there = [cell for cell in cells if not is_missing(cell)]
            out.append(max(dict.fromkeys(there), key=there.count) if there else None)
    return out
