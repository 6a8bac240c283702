"""Smallest changes of the attributes that would make an object a certain member of a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster.explain.inputs import Cells, ObjectTable
from dempster.explain.object_explanation import Change

_N_LINE_POINTS = 32
_N_REFINED_POINTS = 16
_N_REFINEMENTS = 3
# only the attributes with the largest contributions are changed alone
_MAX_SINGLE_ATTRIBUTES = 40
# maximum increase of a change by rounding it to fewer digits
_MAX_ROUNDING_FACTOR = 1.25
_MAX_LEVELS = 40  # maximum number of values to try per attribute if some attributes are categorical


@dataclass(frozen=True, eq=False)
class Target:
    """A certain object of a cluster, towards which the explained object may move."""

    cluster: int
    cluster_name: Hashable
    name: Hashable
    cells: Cells


@dataclass(frozen=True)
class ChangeSearch:
    """Search for the smallest changes that would make an object a certain member of a cluster.

    A change replaces the value of one attribute (target None), or moves several attributes towards
    a target.
    """

    table: ObjectTable
    cells: Cells  # attribute values of the object
    targets: Sequence[Target]
    strengths: np.ndarray  # attributes with large values are changed first
    # returns for attribute values the cluster to which each object certainly belongs, or -1
    certain_of: Callable[[Cells], np.ndarray]

    def find(self) -> list[Change]:
        """Return the smallest change of each kind for each cluster, sorted by size."""
        if self.table.is_numeric:
            changes = self._search_lines()
        else:
            changes = self._search_levels()
        changes.sort(key=lambda change: change.size)
        smallest: dict[tuple[Hashable, bool], Change] = {}
        for change in changes:
            smallest.setdefault((change.cluster, change.towards is None), change)
        return list(smallest.values())

    # ---- changes of numbers ----------------------------------------------------------------------

    def _search_lines(self) -> list[Change]:
        """Search the lines on which one attribute varies, and the lines towards the targets."""
        table = self.table
        start = np.array([cell[0] for cell in self.cells])
        movable = np.flatnonzero((table.deviations > 0) & ~np.isnan(start))
        if len(movable) == 0 or not self.targets:
            return []
        strongest = np.argsort(-np.abs(self.strengths[movable]), kind="stable")
        single = movable[strongest[:_MAX_SINGLE_ATTRIBUTES]]
        ends, targets = self._line_ends(start, single)
        moves = np.nan_to_num(ends - start, nan=0.0)  # Missing values do not change.
        names = {target.cluster: target.cluster_name for target in self.targets}
        units = np.where(table.deviations > 0, table.deviations, 1)
        changes = []
        for line, cluster, share in self._find_crossings(
            start, moves, targets, list(names)
        ):
            end = start + share * moves[line]
            moved = np.flatnonzero(np.abs(end - start) > 0)
            if len(moved) == 0:
                continue
            change = Change(
                names[cluster],
                attributes=tuple(table.names[d] for d in moved),
                before=tuple(start[moved].tolist()),
                after=tuple(end[moved].tolist()),
                size=float(np.linalg.norm(((end - start) / units)[moved])),
            )
            target = targets[line]
            if target is None:
                change = self._round_change(change, cluster, int(moved[0]), start)
            else:
                change = replace(change, towards=target.name, share=share)
            changes.append(change)
        return changes

    def _line_ends(
        self, start: np.ndarray, single: np.ndarray
    ) -> tuple[np.ndarray, list[Target | None]]:
        """Return the end point and the target of each line."""
        ends: list[np.ndarray] = []
        targets: list[Target | None] = []
        for d in single:
            column = self.table.columns[d]
            for bound in (np.nanmin(column), np.nanmax(column)):
                if bound != start[d]:
                    ends.append(np.where(np.arange(len(start)) == d, bound, start))
                    targets.append(None)
        for target in self.targets:
            ends.append(np.array([cell[0] for cell in target.cells]))
            targets.append(target)
        return np.array(ends), targets

    def _find_crossings(
        self,
        start: np.ndarray,
        moves: np.ndarray,
        targets: list[Target | None],
        clusters: list[int],
    ) -> list[tuple[int, int, float]]:
        """Find the first point of each line that certainly belongs to a cluster.

        Return the line, the cluster and the position of each point; the position is a share of the
        length of the line. On a line towards a target, consider only the cluster of the target.
        """

        def certain_at(lines: np.ndarray, shares: np.ndarray) -> np.ndarray:
            points = start + shares.ravel()[:, None] * np.repeat(
                moves[lines], shares.shape[1], 0
            )
            return self._certain_at(points).reshape(shares.shape)

        shares = np.arange(1, _N_LINE_POINTS + 1) / _N_LINE_POINTS
        certain = certain_at(np.arange(len(moves)), np.tile(shares, (len(moves), 1)))
        crossings = []
        for line, target in enumerate(targets):
            for cluster in clusters if target is None else [target.cluster]:
                is_certain = certain[line] == cluster
                if is_certain.any():
                    crossings.append((line, cluster, shares[is_certain.argmax()]))
        if not crossings:
            return []
        lines = np.array([line for line, _, _ in crossings])
        goals = np.array([cluster for _, cluster, _ in crossings])
        upper = np.array([share for _, _, share in crossings])
        step = 1 / _N_LINE_POINTS
        for _ in range(_N_REFINEMENTS):
            step /= _N_REFINED_POINTS
            grid = upper[:, None] - step * np.arange(_N_REFINED_POINTS)[::-1]
            is_certain = certain_at(lines, grid) == goals[:, None]
            upper = grid[np.arange(len(lines)), is_certain.argmax(axis=1)]
        return list(zip(lines.tolist(), goals.tolist(), upper.tolist(), strict=True))

    def _certain_at(self, points: np.ndarray) -> np.ndarray:
        return self.certain_of(list(np.ascontiguousarray(points.T)))

    def _round_change(
        self, change: Change, cluster: int, d: int, start: np.ndarray
    ) -> Change:
        """Round the new value of attribute ``d`` to few digits, away from the old value.

        Return the change unchanged if the object would not remain certain.
        """
        old_value = start[d]
        move = change.after[0] - old_value
        column = self.table.columns[d]
        low = -np.inf
        high = np.inf
        if move < 0:
            low = np.nanmin(column)
        else:
            high = np.nanmax(column)
        sign = np.sign(move)
        first = -int(np.floor(np.log10(abs(move))))
        values = []
        for digits in range(first, first + 3):
            step = 10.0**-digits
            rounded = sign * np.ceil(sign * change.after[0] / step) * step
            value = float(round(rounded, max(digits, 0)))
            is_near = abs(value - old_value) <= _MAX_ROUNDING_FACTOR * abs(move)
            if low <= value <= high and is_near:
                values.append(value)
        if not values:
            return change
        points = np.tile(start, (len(values), 1))
        points[:, d] = values
        certain = self._certain_at(points) == cluster
        if not certain.any():
            return change
        value = values[int(certain.argmax())]
        size = float(abs(value - old_value) / self.table.deviations[d])
        return replace(change, after=(value,), size=size)

    # ---- changes of categories -------------------------------------------------------------------

    def _search_levels(self) -> list[Change]:
        """Try frequent values of single attributes, and replace attributes by those of a target."""
        values = [cell[0] for cell in self.cells]
        order = np.argsort(-np.abs(self.strengths), kind="stable").tolist()
        trials: list[tuple[dict[int, Any], Target | None]] = []
        for d in order[:_MAX_SINGLE_ATTRIBUTES]:
            trials += [
                ({d: level}, None) for level in self._levels(d) if level != values[d]
            ]
        for target in self.targets:
            replaced: dict[int, Any] = {}
            for d in order:
                if target.cells[d][0] != values[d]:
                    replaced = {**replaced, d: target.cells[d][0]}
                    trials.append((replaced, target))
        if not trials:
            return []
        columns = [np.repeat(cell, len(trials)) for cell in self.cells]
        for row, (replaced, _) in enumerate(trials):
            for d, value in replaced.items():
                columns[d][row] = value
        changes = []
        for (replaced, towards), cluster in zip(
            trials, self.certain_of(columns), strict=True
        ):
            for target in self.targets:
                if cluster == target.cluster and (towards is None or towards is target):
                    changes.append(self._build_change(replaced, target, towards))
        return changes

    def _levels(self, d: int) -> list[Any]:
        """Return the most frequent categories or the quantiles of attribute ``d``."""
        present = self.table.present(d)
        if len(present) == 0:
            return []
        if self.table.is_number[d]:
            levels = np.linspace(0, 1, _MAX_LEVELS)
            return np.unique(np.quantile(present, levels, method="nearest")).tolist()
        return [level for level, _ in Counter(present).most_common(_MAX_LEVELS)]

    def _build_change(
        self, replaced: dict[int, Any], target: Target, towards: Target | None
    ) -> Change:
        size = 0.0
        for d, value in replaced.items():
            unit = self.table.deviations[d]  # 0 for categories
            distance = np.nan
            if unit > 0:
                distance = abs(value - self.cells[d][0]) / unit
            size += 1.0 if np.isnan(distance) else distance
        return Change(
            target.cluster_name,
            attributes=tuple(self.table.names[d] for d in replaced),
            before=tuple(self.cells[d][0] for d in replaced),
            after=tuple(replaced.values()),
            size=float(size),
            towards=None if towards is None else towards.name,
        )
