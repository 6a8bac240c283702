"""Find the smallest change that would make an object a certain member of a cluster.

If all attributes are numbers, the model predicts masses at evenly spaced points on straight lines that start at the
object. Along a line either one attribute varies over its range, or all attributes move towards a certain object. The
first point at which the object is certain is then refined on finer grids. If some attributes are categorical, the
search first tries several values of each attribute. Then it replaces the values of the object by the values of a
certain object, one after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster.explain.inputs import Cells, ObjectTable
from dempster.explain.object_explanation import Change

_N_LINE_POINTS = 32
_N_REFINED_POINTS, _N_REFINEMENTS = 16, 3
_MAX_SINGLE_ATTRIBUTES = 40  # only the attributes with the largest contributions are changed alone
_MAX_ROUNDING_FACTOR = 1.25  # maximum increase of a change by rounding it to fewer digits
_MAX_LEVELS = 40  # maximum number of values to try per attribute if some attributes are categorical

CertainClusters = Callable[[Cells], np.ndarray]
"""Function of attribute values that returns the cluster to which each object certainly belongs, or -1."""


@dataclass(frozen=True)
class Target:
    """An object that certainly belongs to a cluster, and towards which the explained object may move."""

    cluster: int
    cluster_name: Hashable
    name: Hashable
    cells: Cells


def find_smallest_changes(
    table: ObjectTable, cells: Cells, targets: Sequence[Target], strengths: np.ndarray, certain_of: CertainClusters
) -> list[Change]:
    """Return the smallest changes that would make the object a certain member of each target, sorted by size."""
    search = _search_lines if table.is_numeric else _search_levels
    best: dict[tuple[Hashable, bool], Change] = {}
    for change in sorted(search(table, cells, targets, strengths, certain_of), key=lambda change: change.size):
        best.setdefault((change.cluster, change.towards is None), change)
    return sorted(best.values(), key=lambda change: change.size)


# ---- numbers --------------------------------------------------------------------------------------------------------


def _search_lines(
    table: ObjectTable, cells: Cells, targets: Sequence[Target], strengths: np.ndarray, certain_of: CertainClusters
) -> list[Change]:
    start = np.array([cell[0] for cell in cells])
    movable = np.flatnonzero((table.deviations > 0) & ~np.isnan(start))
    if len(movable) == 0 or not targets:
        return []
    single = movable[np.argsort(-np.abs(strengths[movable]), kind="stable")][:_MAX_SINGLE_ATTRIBUTES]
    ends, labels = _line_ends(table, start, single, targets)

    def certain_at(lines: np.ndarray, shares: np.ndarray) -> np.ndarray:
        points = start + shares[:, None] * np.nan_to_num(ends[lines] - start, nan=0.0)
        return certain_of(list(np.ascontiguousarray(points.T)))

    names = {target.cluster: target.cluster_name for target in targets}
    crossings = _find_crossings(certain_at, labels, list(names))
    units = np.where(table.deviations > 0, table.deviations, 1)
    changes = []
    for line, cluster, share in crossings:
        end, target = start + share * np.nan_to_num(ends[line] - start, nan=0.0), labels[line]
        moved = np.flatnonzero(np.abs(end - start) > 0)  # Missing values do not change.
        if len(moved) == 0:
            continue
        size = float(np.linalg.norm(((end - start) / units)[moved]))
        before, after = (tuple(values[moved].tolist()) for values in (start, end))
        attributes = tuple(table.names[d] for d in moved)
        if target is not None:
            changes.append(Change(names[cluster], attributes, before, after, size, target.name, share))
            continue
        change = Change(names[cluster], attributes, before, after, size)
        changes.append(_round_change(change, cluster, int(moved[0]), table, start, certain_of))
    return changes


def _find_crossings(
    certain_at: Callable[[np.ndarray, np.ndarray], np.ndarray], labels: list[Target | None], clusters: list[int]
) -> list[tuple[int, int, float]]:
    """Find the first point of each line that certainly belongs to a cluster.

    Return the line, the cluster and the position of each point; the position is a share of the length of the line. On a
    line towards a certain object, consider only the cluster of this object.
    """
    shares = np.arange(1, _N_LINE_POINTS + 1) / _N_LINE_POINTS
    certain = certain_at(np.repeat(np.arange(len(labels)), _N_LINE_POINTS), np.tile(shares, len(labels)))
    certain = certain.reshape(len(labels), _N_LINE_POINTS)
    crossings = []
    for line, label in enumerate(labels):
        for cluster in clusters if label is None else [label.cluster]:
            is_certain = certain[line] == cluster
            if is_certain.any():
                crossings.append((line, cluster, shares[is_certain.argmax()]))
    if not crossings:
        return []
    lines, goals = (np.array([crossing[k] for crossing in crossings]) for k in (0, 1))
    upper, step = np.array([crossing[2] for crossing in crossings]), 1 / _N_LINE_POINTS
    for _ in range(_N_REFINEMENTS):
        step /= _N_REFINED_POINTS
        grid = upper[:, None] - step * np.arange(_N_REFINED_POINTS)[::-1]
        is_certain = certain_at(np.repeat(lines, _N_REFINED_POINTS), grid.ravel()).reshape(grid.shape) == goals[:, None]
        upper = grid[np.arange(len(lines)), is_certain.argmax(axis=1)]
    return list(zip(lines.tolist(), goals.tolist(), upper.tolist(), strict=True))


def _line_ends(
    table: ObjectTable, start: np.ndarray, single: np.ndarray, targets: Sequence[Target]
) -> tuple[np.ndarray, list[Target | None]]:
    """Return the end point and the target object of each line; the target is None if only one attribute varies."""
    ends: list[np.ndarray] = []
    labels: list[Target | None] = []
    for d in single:
        for bound in (np.nanmin(table.columns[d]), np.nanmax(table.columns[d])):
            if bound != start[d]:
                ends.append(np.where(np.arange(len(start)) == d, bound, start))
                labels.append(None)
    for target in targets:
        ends.append(np.array([cell[0] for cell in target.cells]))
        labels.append(target)
    return np.array(ends), labels


def _round_change(
    change: Change, cluster: int, d: int, table: ObjectTable, start: np.ndarray, certain_of: CertainClusters
) -> Change:
    """Round the new value of attribute ``d`` to few digits, away from the old value, if the object remains certain."""
    move = change.after[0] - start[d]
    column = table.columns[d]
    low, high = (np.nanmin(column), np.inf) if move < 0 else (-np.inf, np.nanmax(column))
    sign, first = np.sign(move), -int(np.floor(np.log10(abs(move))))
    values = []
    for digits in range(first, first + 3):
        step = 10.0**-digits
        values.append(float(round(sign * np.ceil(sign * change.after[0] / step) * step, max(digits, 0))))
    values = [v for v in values if low <= v <= high and abs(v - start[d]) <= _MAX_ROUNDING_FACTOR * abs(move)]
    if not values:
        return change
    points = np.tile(start, (len(values), 1))
    points[:, d] = values
    certain = certain_of(list(np.ascontiguousarray(points.T))) == cluster
    if not certain.any():
        return change
    value = values[int(certain.argmax())]
    return replace(change, after=(value,), size=float(abs(value - start[d]) / table.deviations[d]))


# ---- tables with categories -----------------------------------------------------------------------------------------


def _search_levels(
    table: ObjectTable, cells: Cells, targets: Sequence[Target], strengths: np.ndarray, certain_of: CertainClusters
) -> list[Change]:
    order = np.argsort(-np.abs(strengths), kind="stable")
    trials: list[tuple[dict[int, Any], Target | None]] = []
    for d in order[:_MAX_SINGLE_ATTRIBUTES]:
        trials += [({int(d): level}, None) for level in _levels(table, int(d)) if level != cells[d][0]]
    for target in targets:
        replaced: dict[int, Any] = {}
        for d in order:
            if target.cells[d][0] != cells[d][0]:
                replaced = {**replaced, int(d): target.cells[d][0]}
                trials.append((replaced, target))
    if not trials:
        return []
    columns = [np.repeat(cell, len(trials)) for cell in cells]
    for row, (changed, _) in enumerate(trials):
        for d, value in changed.items():
            columns[d][row] = value
    certain = certain_of(columns)
    changes = []
    for (changed, towards), cluster in zip(trials, certain, strict=True):
        for target in targets:
            if cluster == target.cluster and (towards is None or towards is target):
                changes.append(_build_change(table, cells, changed, target, towards))
    return changes


def _levels(table: ObjectTable, d: int) -> list[Any]:
    """Return values to try for attribute ``d``, which are its most frequent categories or its quantiles."""
    present = table.present(d)
    if len(present) == 0:
        return []
    if table.is_number[d]:
        return np.unique(np.quantile(present, np.linspace(0, 1, _MAX_LEVELS), method="nearest")).tolist()
    return [level for level, _ in Counter(present).most_common(_MAX_LEVELS)]


def _build_change(
    table: ObjectTable, cells: Cells, changed: dict[int, Any], target: Target, towards: Target | None
) -> Change:
    size = 0.0
    for d, value in changed.items():
        is_distance = table.is_number[d] and table.deviations[d] > 0 and not np.isnan(value - cells[d][0])
        size += abs(value - cells[d][0]) / table.deviations[d] if is_distance else 1.0
    names = tuple(table.names[d] for d in changed)
    before, after = tuple(cells[d][0] for d in changed), tuple(changed.values())
    return Change(target.cluster_name, names, before, after, float(size), None if towards is None else towards.name)
