"""Evidence for clusters that depends only on their members, or on the predictions of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dempster._arrays import divide
from dempster._types import ArrayFunction
from dempster._validation import is_missing
from dempster.explain.inputs import Cells, ObjectTable
from dempster.partition import CredalPartition
from dempster.posterior.evidence import ClusterEvidence

N_PATH_STEPS = 64
MAX_PATH_CELLS = 4_000_000  # maximum number of attribute values in one prediction


# ---- evidence from members -----------------------------------------------------------------------


def find_members(partition: CredalPartition, cluster: int, itself: int) -> np.ndarray:
    """Return the certain objects of a cluster or, without any, its most plausible objects.

    The object at the position ``itself`` is omitted unless the cluster has no other object.
    """
    family = partition.focal_sets
    is_single = family.membership[:, cluster] & (family.cardinality == 1)
    certain = np.flatnonzero(is_single[partition.best_set])
    is_most_plausible = partition.labels == cluster
    is_possible = partition.contour[:, cluster] > 0
    plausible = np.flatnonzero(is_most_plausible & is_possible)
    for members in (certain, plausible):
        others = members[members != itself]
        if len(others):
            return others
    return certain


def squared_differences(
    table: ObjectTable, cells: Cells, positions: np.ndarray
) -> np.ndarray:
    """Return the squared differences of the attributes from the objects at ``positions``.

    The array has the shape (n_positions, n_attributes). Differences of numbers are in standard
    deviations. Differences of categories are 0 or 1. For missing values and constant attributes the
    difference is NaN.
    """
    squares = np.full((len(positions), len(cells)), np.nan)
    for d, cell in enumerate(cells):
        value = cell[0]
        others = table.columns[d][positions]
        if table.is_number[d]:
            if table.deviations[d] > 0:
                differences = (others - value) / table.deviations[d]
                squares[:, d] = differences**2
        elif not is_missing(value):
            is_present = [not is_missing(other) for other in others]
            squares[is_present, d] = others[is_present] != value
    return squares


def evidence_from_members(
    partition: CredalPartition, table: ObjectTable, cells: Cells, itself: int
) -> ClusterEvidence:
    """Return minus the squared standardized distances to the means of the members.

    A categorical attribute contributes minus the share of the members with a different category.
    """
    parts = np.zeros((len(cells), partition.n_clusters))
    total = np.full(partition.n_clusters, -np.inf)
    for k in range(partition.n_clusters):
        members = find_members(partition, k, itself)
        if len(members) == 0:
            continue
        for d, cell in enumerate(cells):
            value = cell[0]
            present = table.present(d, members)
            if len(present) == 0 or is_missing(value):
                continue
            if not table.is_number[d]:
                parts[d, k] = -np.mean([other != value for other in present])
            elif table.deviations[d] > 0:
                difference = (value - present.mean()) / table.deviations[d]
                parts[d, k] = -(difference**2)
        total[k] = parts[:, k].sum()
    quantity = "minus the squared standardized distance to the mean of its members"
    evidence = ClusterEvidence.from_attributes(quantity, parts)
    return replace(evidence, total=total)


def evidence_from_dissimilarities(
    partition: CredalPartition, row: np.ndarray, itself: int
) -> ClusterEvidence:
    """Return minus the mean dissimilarities (entries of ``row``) to the members."""
    weights = np.zeros((len(row), partition.n_clusters))
    total = np.full(partition.n_clusters, -np.inf)
    for k in range(partition.n_clusters):
        members = find_members(partition, k, itself)
        members = members[~np.isnan(row[members])]
        if len(members):
            weights[members, k] = 1 / len(members)
            total[k] = -row[members].mean()
    used = np.flatnonzero(weights.any(axis=1))
    quantity = "minus the mean dissimilarity to its members"
    return ClusterEvidence(quantity, total, None, used, weights[used], row[used])


def typical_cells(
    partition: CredalPartition, table: ObjectTable, cluster: int, itself: int
) -> tuple[Any, ...]:
    """Return the mean or the most frequent category of each attribute in a cluster.

    None if all values are missing.
    """
    members = find_members(partition, cluster, itself)
    cells: list[Any] = []
    for d, is_number in enumerate(table.is_number):
        present = table.present(d, members)
        if len(present) == 0:
            cells.append(None)
        elif is_number:
            cells.append(float(present.mean()))
        else:
            cells.append(max(dict.fromkeys(present), key=present.count))
    return tuple(cells)


# ---- evidence along a path -----------------------------------------------------------------------


def evidence_along_path(
    plausibilities: ArrayFunction,
    middle: np.ndarray,
    point: np.ndarray,
) -> ClusterEvidence:
    """Divide the change of the plausibilities between two points among the attributes.

    The method is integrated gradients (Sundararajan, Taly and Yan, 2017, "Axiomatic attribution for
    deep networks"). Finite differences replace the derivatives, so that the method is applicable to
    any model and the contributions add up exactly. The function ``plausibilities`` returns the
    plausibility of each cluster, shape (n_objects, n_clusters), for an array of attributes of shape
    (n_objects, n_attributes).
    """
    p = len(point)
    move = np.nan_to_num(point - middle)
    moving = np.flatnonzero(move)
    shares = np.linspace(0, 1, N_PATH_STEPS + 1)
    corners = middle + shares[:, None] * move
    values = plausibilities(corners)
    baseline = values[0].astype(float)
    total = np.zeros((p, len(baseline)))
    n_moving = len(moving)
    if n_moving == 0:
        return ClusterEvidence.from_attributes("plausibility", total, baseline)
    size = max(1, MAX_PATH_CELLS // (2 * p * n_moving))
    for start in range(0, N_PATH_STEPS, size):
        stop = min(start + size, N_PATH_STEPS)
        before = corners[start:stop]
        after = corners[start + 1 : stop + 1]
        first = np.repeat(before[:, None], n_moving, axis=1)
        last = np.repeat(after[:, None], n_moving, axis=1)
        # Attribute d moves before (first) or after (last) all others.
        for j, d in enumerate(moving):
            first[:, j, d] = after[:, d]
            last[:, j, d] = before[:, d]
        shape = (stop - start, n_moving, -1)
        moved_first = plausibilities(first.reshape(-1, p)).reshape(shape)
        moved_last = plausibilities(last.reshape(-1, p)).reshape(shape)
        gains = moved_first - values[start:stop, None]
        losses = values[start + 1 : stop + 1, None] - moved_last
        steps = np.diff(values[start : stop + 1], axis=0)
        parts = _make_additive((gains + losses) / 2, steps)
        total[moving] += parts.sum(axis=0)
    return ClusterEvidence.from_attributes("plausibility", total, baseline)


def _make_additive(parts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Correct ``parts``, in proportion to their sizes, so that they sum to ``totals`` (axis 1)."""
    sizes = np.abs(parts)
    sums = sizes.sum(axis=1, keepdims=True)
    shares = divide(sizes, sums, 1 / parts.shape[1])
    missing = totals - parts.sum(axis=1)
    return parts + shares * missing[:, None]
