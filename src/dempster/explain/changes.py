"""Find the smallest change that would make an object certain, by predictions of the model.

Along straight lines from the object (one attribute at a time, from end to end of its range, and all of them, towards
objects that are certain) the model is asked at evenly spaced points; between the last point that is not certain of a
cluster and the first that is, it is asked again, closer and closer. Categories are tried one by one, and then those of
a certain object are taken over one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster._validation import is_missing
from dempster.explain.inputs import Cells, ObjectTable
from dempster.explain.object_explanation import Change

_POINTS = 32  # asked about along a line
_FINER, _ROUNDS = 16, 3  # as many points between two of them, and again
_MAX_ATTRIBUTES = 40  # moved one by one; of more, those that do most
_FARTHER = 1.25  # a change with fewer digits may be as much larger
_MAX_LEVELS = 40  # of one attribute that are tried, where not all attributes are numbers

Certain = Callable[[Cells], np.ndarray]


@dataclass(frozen=True)
class Target:
    """A certain object of a cluster: the position of the cluster, its name, the name of the object and its cells."""

    cluster: int
    cluster_name: Hashable
    name: Hashable
    cells: Cells


def smallest_changes(
    table: ObjectTable, cells: Cells, targets: Sequence[Target], pulls: np.ndarray, certain_of: Certain
) -> list[Change]:
    """Return for each cluster the smallest change of one attribute and the smallest move of all, smallest first.

    Parameters
    ----------
    table : ObjectTable
        What is usual.
    cells : Cells
        The object.
    targets : a certain object of each cluster
    pulls : (p,) array
        How much each attribute does: of many, only the first are moved one by one.
    certain_of : function of cells that gives the cluster that the model is certain of, -1 for none
    """
    found = _along_lines(table, cells, targets, pulls, certain_of) if table.all_numbers else []
    if not table.all_numbers:
        found = _by_levels(table, cells, targets, pulls, certain_of)
    best: dict[tuple[Hashable, bool], Change] = {}
    for change in sorted(found, key=lambda change: change.size):
        best.setdefault((change.cluster, change.towards is None), change)
    return sorted(best.values(), key=lambda change: change.size)


# ---- numbers --------------------------------------------------------------------------------------------------------


def _along_lines(
    table: ObjectTable, cells: Cells, targets: Sequence[Target], pulls: np.ndarray, certain_of: Certain
) -> list[Change]:
    start = np.array([cell[0] for cell in cells])
    movable = np.flatnonzero((table.deviations > 0) & ~np.isnan(start))
    if len(movable) == 0 or not targets:
        return []
    single = movable[np.argsort(-np.abs(pulls[movable]), kind="stable")][:_MAX_ATTRIBUTES]
    ends, labels = _line_ends(table, start, single, targets)

    def certain_at(lines: np.ndarray, shares: np.ndarray) -> np.ndarray:
        places = start + shares[:, None] * np.nan_to_num(ends[lines] - start, nan=0.0)
        return certain_of(list(np.ascontiguousarray(places.T)))

    crossings = _crossings(certain_at, labels, list(dict.fromkeys(target.cluster for target in targets)))
    named = {target.cluster: target.cluster_name for target in targets}
    units = np.where(table.deviations > 0, table.deviations, 1)
    changes = []
    for line, cluster, share in crossings:
        end, target = start + share * np.nan_to_num(ends[line] - start, nan=0.0), labels[line]
        moved = np.flatnonzero(np.abs(end - start) > 0)  # what is not known does not move
        size = float(np.linalg.norm(((end - start) / units)[moved]))
        before, after = (tuple(float(v) for v in values[moved]) for values in (start, end))
        names = tuple(table.names[d] for d in moved)
        towards, part = (None, None) if target is None else (target.name, share)
        if len(moved):
            change = Change(named[cluster], names, before, after, size, towards, part)
            if target is None:
                change = _rounded(change, cluster, int(moved[0]), table, start, certain_of)
            changes.append(change)
    return changes


def _crossings(
    certain_at: Callable[[np.ndarray, np.ndarray], np.ndarray], labels: list[Target | None], clusters: list[int]
) -> list[tuple[int, int, float]]:
    """Find where along each line the model becomes certain of a cluster: line, cluster, share of the way.

    On the way to an object only its own cluster counts.
    """
    shares = np.arange(1, _POINTS + 1) / _POINTS
    known = certain_at(np.repeat(np.arange(len(labels)), _POINTS), np.tile(shares, len(labels)))
    known = known.reshape(len(labels), _POINTS)
    found = []
    for line, label in enumerate(labels):
        for cluster in clusters if label is None else [label.cluster]:
            there = known[line] == cluster
            if there.any():
                found.append((line, cluster, shares[there.argmax()]))
    if not found:
        return []
    which, goal = (np.array([one[k] for one in found]) for k in (0, 1))
    upper, step = np.array([one[2] for one in found]), 1 / _POINTS
    for _ in range(_ROUNDS):
        step /= _FINER
        between = upper[:, None] - step * np.arange(_FINER)[::-1]
        there = certain_at(np.repeat(which, _FINER), between.ravel()).reshape(-1, _FINER) == goal[:, None]
        upper = between[np.arange(len(which)), there.argmax(axis=1)]
    return [(int(line), int(cluster), float(share)) for line, cluster, share in zip(which, goal, upper, strict=True)]


def _line_ends(
    table: ObjectTable, start: np.ndarray, single: np.ndarray, targets: Sequence[Target]
) -> tuple[np.ndarray, list[Target | None]]:
    """Return the ends of the lines, and the object there if all attributes move.

    The lines lead to the ends of the range of each attribute, and to the certain objects.
    """
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


def _rounded(
    change: Change, cluster: int, d: int, table: ObjectTable, start: np.ndarray, certain_of: Certain
) -> Change:
    """Round the value of a single attribute to few digits, a little farther.

    The model must be certain there, and the value must lie in the range of the column.
    """
    move = change.after[0] - start[d]
    column = table.columns[d]
    low, high = (np.nanmin(column), np.inf) if move < 0 else (-np.inf, np.nanmax(column))
    digits = -int(np.floor(np.log10(abs(move))))
    values = [_away(change.after[0], np.sign(move), digits + more) for more in (0, 1, 2)]
    values = [v for v in values if low <= v <= high and abs(v - start[d]) <= _FARTHER * abs(move)]
    if not values:
        return change
    places = np.tile(start, (len(values), 1))
    places[:, d] = values
    certain = certain_of(list(np.ascontiguousarray(places.T))) == cluster
    if not certain.any():
        return change
    value = values[int(certain.argmax())]
    return replace(change, after=(value,), size=float(abs(value - start[d]) / table.deviations[d]))


def _away(value: float, sign: float, digits: int) -> float:
    """Round a number up, or down if the sign is negative."""
    step = 10.0**-digits
    return float(round(sign * np.ceil(sign * value / step) * step, max(digits, 0)))


# ---- categories, and tables of both ---------------------------------------------------------------------------------


def _by_levels(
    table: ObjectTable, cells: Cells, targets: Sequence[Target], pulls: np.ndarray, certain_of: Certain
) -> list[Change]:
    order = np.argsort(-np.abs(pulls), kind="stable")
    trials: list[tuple[dict[int, Any], Target | None]] = []
    for d in order[:_MAX_ATTRIBUTES]:
        trials += [({int(d): level}, None) for level in _levels(table, int(d)) if level != cells[d][0]]
    for target in targets:
        taken: dict[int, Any] = {}
        for d in order:
            if target.cells[d][0] != cells[d][0]:
                taken = {**taken, int(d): target.cells[d][0]}
                trials.append((taken, target))
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
                changes.append(_change_of_levels(table, cells, changed, target, towards))
    return changes


def _levels(table: ObjectTable, d: int) -> list[Any]:
    """Return values of an attribute to try: the most frequent categories, or quantiles of numbers."""
    column = table.columns[d]
    if table.is_number[d]:
        known = column[~np.isnan(column)]
        return (
            np.unique(np.quantile(known, np.linspace(0, 1, _MAX_LEVELS), method="nearest")).tolist()
            if len(known)
            else []
        )
    counts: dict[Any, int] = {}
    for cell in column:
        if not is_missing(cell):
            counts[cell] = counts.get(cell, 0) + 1
    return sorted(counts, key=lambda level: -counts[level])[:_MAX_LEVELS]


def _change_of_levels(
    table: ObjectTable, cells: Cells, changed: dict[int, Any], target: Target, towards: Target | None
) -> Change:
    size = 0.0
    for d, value in changed.items():
        number = table.is_number[d] and table.deviations[d] > 0 and not np.isnan(value - cells[d][0])
        size += abs(value - cells[d][0]) / table.deviations[d] if number else 1.0
    names = tuple(table.names[d] for d in changed)
    before, after = tuple(cells[d][0] for d in changed), tuple(changed.values())
    return Change(target.cluster_name, names, before, after, float(size), None if towards is None else towards.name)
