"""The doubtful objects, and why they are: in words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster.apps.recipe.units import Units
from dempster.apps.report._facts.case import Case
from dempster.apps.report._facts.frames import rows_of
from dempster.apps.report._facts.units import units_between
from dempster.explain import ObjectExplanation, doubt_of, explain_object
from dempster.explain.words import answer_words

__all__ = ["Told", "Reasons", "most_doubtful"]

_COMPARED = 4000  # objects that stand for all where no model explains


@dataclass(frozen=True)
class Told:
    """An object, what the partition says of it, and why.

    Attributes
    ----------
    position : int
    name : str
    answer : str
        Between which clusters it is, or that it is an outlier.
    mass : float
        On this answer.
    doubt : float
    label : str
        The most plausible cluster.
    why : list of str
        Sentences; none where nothing is known of the object, or reasons were too many.
    """

    position: int
    name: str
    answer: str
    mass: float
    doubt: float
    label: str
    why: list[str]


class Reasons:
    """Explains objects of a case until time is up.

    Attributes
    ----------
    trouble : str or None
        Why there are no reasons, where that is not plain.
    stopped : bool
        Whether time was up.
    """

    def __init__(self, case: Case, seconds: float):
        self._case, self._seconds = case, seconds
        self._spent = 0.0
        self.trouble: str | None = None
        self.stopped = False
        self._units: Units | None = None
        if case.features is not None and case.frame is not None:
            self._units = units_between(case.X, case.features, case.frame)

    def of(self, positions: Sequence[int], n_changes: int) -> list[list[str]]:
        """Sentences about each object; of the first few also what would make them certain."""
        out: list[list[str]] = []
        for number, i in enumerate(positions):
            if self._case.X is None or self.trouble is not None:
                out.append([])
                continue
            if self._spent > self._seconds:
                self.stopped = True
                out.append([])
                continue
            started = time.perf_counter()
            try:
                out.append(self._sentences(int(i), changes=number < n_changes))
            except (ValueError, TypeError, NotImplementedError) as error:
                self.trouble = str(error)
                out.append([])
            self._spent += time.perf_counter() - started
        return out

    def _sentences(self, i: int, *, changes: bool) -> list[str]:
        found, names = self._explained(i, changes)
        if self._units is not None:
            found = self._units.of_explanation(found)
        return _called(found, names).to_text().splitlines()[1:]  # where it is, the table says

    def _explained(self, i: int, changes: bool) -> tuple[ObjectExplanation, Any]:
        case = self._case
        if case.model is not None:
            beside = case.frame if case.is_pairwise else None
            found = explain_object(
                case.model, case.X, i, attributes=beside, feature_names=self._feature_names(), changes=changes
            )
            return found, case.objects
        if case.is_pairwise:
            found = explain_object(case.partition, case.X, i, attributes=case.frame, metric="precomputed")
            return found, case.objects
        rows = self._some_with(i)
        frame = case.frame if len(rows) == len(case.partition) else rows_of(case.frame, rows).reset_index(drop=True)
        found = explain_object(case.partition[rows], frame, int(np.searchsorted(rows, i)), changes=False)
        return found, [case.objects[j] for j in rows]

    def _feature_names(self) -> list[str] | None:
        case = self._case
        if case.is_pairwise:
            return None if case.frame is None else list(case.frame.columns)
        return case.features

    def _some_with(self, i: int) -> np.ndarray:
        """All objects, or a sample of them with this one."""
        n = len(self._case.partition)
        if n <= _COMPARED:
            return np.arange(n)
        return np.unique(np.append(np.random.default_rng(0).choice(n, _COMPARED, replace=False), i))


def _called(found: ObjectExplanation, names: Any) -> ObjectExplanation:
    """The explanation with the names of the objects instead of their positions."""

    def name(position: Any) -> Any:
        return names[int(position)] if isinstance(position, int | np.integer) else position

    objects = tuple(_named_row(row, names) for row in found.attributes) if found.by == "objects" else found.attributes
    return replace(
        found,
        name=name(found.name),
        attributes=objects,
        exemplars=tuple(exemplar._replace(name=names[exemplar.position]) for exemplar in found.exemplars),
        compared=tuple(other._replace(name=name(other.name)) for other in found.compared),
        changes=tuple(replace(change, towards=name(change.towards)) for change in found.changes),
    )


def _named_row(row: str, names: Any) -> str:
    """``17`` or ``17 in view 1``, with the name of the object."""
    position, _, where = str(row).partition(" ")
    return " ".join([names[int(position)], where]).strip() if position.isdigit() else str(row)


def most_doubtful(
    case: Case, candidates: np.ndarray, most: int, reasons: Reasons, n_explained: int, n_changes: int
) -> list[Told]:
    """The most doubtful of some objects; the first of them with reasons."""
    partition = case.partition
    mass = partition.masses[candidates, partition.best_set[candidates]]
    doubt = doubt_of(partition[candidates]) if len(candidates) else np.zeros(0)
    order = np.lexsort((candidates, -mass, -np.round(doubt, 6)))[:most]
    chosen = candidates[order]
    why = reasons.of(chosen[:n_explained].tolist(), n_changes)
    why += [[] for _ in range(len(chosen) - len(why))]
    frame, sets = partition.frame, list(partition.focal_sets)
    return [
        Told(
            position=int(i),
            name=case.objects[i],
            answer=answer_words(sets[partition.best_set[i]], frame),
            mass=float(mass[j]),
            doubt=float(doubt[j]),
            label=answer_words((int(partition.labels[i]),), frame),
            why=sentences,
        )
        for i, j, sentences in zip(chosen, order, why, strict=True)
    ]
