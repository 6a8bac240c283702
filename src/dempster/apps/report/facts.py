"""Compute the counts, cluster profiles, doubtful objects, coordinates and reliability measures of a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dempster._text import format_answer
from dempster._validation import reorder_like
from dempster.apps.recipe.model import Units
from dempster.apps.report.cluster_profiles import find_pairs, profile_clusters
from dempster.apps.report.coordinates import place_objects
from dempster.apps.report.report_input import ReportInput, is_numeric
from dempster.apps.report.trust import measure_trust
from dempster.cluster.number import NumberOfClusters
from dempster.explain import ObjectExplanation, Stability, doubt_scores, explain_object
from dempster.explain.inputs import select_rows
from dempster.explain.scores import validate_classes
from dempster.partition import CredalPartition

MAX_LISTED_OBJECTS = 200
MAX_EXPLAINING_SECONDS = 8.0
_N_WITH_CHANGES = 5  # number of explanations that name the changes that would make the object certain


class Counts:
    """Numbers of certain, ambiguous and outlying objects, in total and for each cluster."""

    def __init__(self, partition: CredalPartition):
        numbers = np.bincount(partition.best_set, minlength=len(partition.focal_sets))
        membership, size = np.asarray(partition.focal_sets.membership, dtype=int), partition.focal_sets.cardinality
        self.n_objects, self.n_clusters = len(partition), partition.n_clusters
        self.certain = numbers[size == 1] @ membership[size == 1]
        self.possible = numbers @ membership
        self.n_certain = int(numbers[size == 1].sum())
        self.n_ambiguous = int(numbers[size > 1].sum())
        self.n_outliers = int(numbers[size == 0].sum())


class Facts:
    """Contents of a report, computed in bounded time."""

    def __init__(
        self,
        data: ReportInput,
        stability: bool | Stability,
        seconds: float,
        n_explained: int,
        max_points: int,
        rng: np.random.Generator,
    ):
        partition = data.partition
        y, labelled = reorder_like(data.y, data.index), partition
        if isinstance(y, pd.Series) and len(y) == len(partition) and y.hasnans:  # classes of some objects are unknown
            known = np.flatnonzero(y.notna())
            y, labelled = (y.iloc[known], partition[known]) if len(known) else (None, partition)
        classes = None if y is None else validate_classes(y, labelled)
        self.data, self.counts = data, Counts(partition)
        self.profiles = profile_clusters(data, rng)
        self.pairs = find_pairs(data, self.profiles)
        explainer = Explainer(data)
        self.ambiguous = _rank_doubtful(data, partition.ambiguous, explainer, n_explained)
        self.outliers = _rank_doubtful(data, partition.outliers, explainer, n_explained)
        self.explaining_stopped, self.explaining_error = explainer.stopped, explainer.error
        linked = {obj.position for obj in (*self.ambiguous, *self.outliers)}
        if self.profiles is not None:
            linked |= {i for g in range(len(self.profiles.profile.groups)) for i in self.profiles.typical(g)}
        self.coordinates = place_objects(data, self.profiles, max_points, np.array(sorted(linked), dtype=np.intp), rng)
        self.trust = measure_trust(data, labelled, classes, stability, seconds, rng)

    @property
    def number(self) -> NumberOfClusters | None:
        """Support for each number of clusters; None if the number was not estimated."""
        number = getattr(self.data.model, "number_", None)
        return number if isinstance(number, NumberOfClusters) else None

    @property
    def history(self) -> np.ndarray:
        """Objective after every iteration; empty if the model has no history."""
        history = np.asarray(getattr(self.data.model, "history_", ()), dtype=float)
        return history if history.ndim == 1 and np.isfinite(history).all() else np.zeros(0)


# ---- doubtful objects -----------------------------------------------------------------------------------------------

MAX_COMPARED_OBJECTS = 4000  # maximum sample size for explanations of a partition without a model
_ROUNDING = 1e-6  # tolerance relative to the range of a column


@dataclass(frozen=True)
class DoubtfulObject:
    """An ambiguous object or an outlier."""

    position: int
    answer: str  # clusters to which the object may belong, or "no cluster (outlier)"
    mass: float  # mass of the set of these clusters
    doubt: float
    label: str  # the most plausible cluster
    reasons: list[str]  # sentences of the explanation


def _rank_doubtful(
    data: ReportInput, candidates: np.ndarray, explainer: Explainer, n_explained: int
) -> list[DoubtfulObject]:
    """Return the most doubtful candidates in decreasing order; explain the first ``n_explained`` of them."""
    partition = data.partition
    mass = partition.masses[candidates, partition.best_set[candidates]]
    doubt = doubt_scores(partition[candidates]) if len(candidates) else np.zeros(0)
    order = np.lexsort((candidates, -mass, -np.round(doubt, 6)))[:MAX_LISTED_OBJECTS]
    frame, sets = partition.frame, list(partition.focal_sets)
    return [
        DoubtfulObject(
            position=int(candidates[j]),
            answer=format_answer(sets[partition.best_set[candidates[j]]], frame),
            mass=float(mass[j]),
            doubt=float(doubt[j]),
            label=format_answer((int(partition.labels[candidates[j]]),), frame),
            reasons=explainer.reasons(int(candidates[j]), changes=rank < _N_WITH_CHANGES) if rank < n_explained else [],
        )
        for rank, j in enumerate(order)
    ]


class Explainer:
    """Explanations of objects, with the names and in the units of the table."""

    def __init__(self, data: ReportInput):
        self._data, self._seconds = data, 0.0
        self.stopped = False  # whether an object was not explained because the time was exceeded
        self.error: str | None = None  # message of the error that prevents explanations
        self._units = None
        if data.features is not None and data.frame is not None:
            self._units = _find_units(data.X, data.features, data.frame)

    def explain(self, position: int, *, changes: bool) -> ObjectExplanation:
        """Explain an object, optionally with changes that would make it certain."""
        explanation, names = self._explain(position, changes)
        if self._units is not None:
            explanation = self._units.convert_explanation(explanation)
        return _use_names(explanation, names)

    def reasons(self, position: int, *, changes: bool) -> list[str]:
        """Return the sentences of an explanation, or none if the total time exceeds `MAX_EXPLAINING_SECONDS`."""
        if self._data.X is None or self.error is not None:
            return []
        if self._seconds > MAX_EXPLAINING_SECONDS:
            self.stopped = True
            return []
        start = time.perf_counter()
        try:
            # The first line names the set of the object, which is a column of the table.
            return self.explain(position, changes=changes).to_text().splitlines()[1:]
        except (ValueError, TypeError, NotImplementedError) as error:
            self.error = str(error)
            return []
        finally:
            self._seconds += time.perf_counter() - start

    def _explain(self, i: int, changes: bool) -> tuple[ObjectExplanation, Callable[[int], str]]:
        """Return the explanation of object ``i``, and a function from positions in the explanation to names."""
        data = self._data
        if data.model is not None:
            attributes, names = (data.frame, None) if data.is_pairwise else (None, data.features)
            options: dict[str, Any] = {"attributes": attributes, "feature_names": names, "changes": changes}
            return explain_object(data.model, data.X, i, **options), data.object_name
        if data.is_pairwise:
            explanation = explain_object(data.partition, data.X, i, attributes=data.frame, metric="precomputed")
            return explanation, data.object_name
        n, frame = len(data.partition), data.frame
        if n <= MAX_COMPARED_OBJECTS:
            return explain_object(data.partition, frame, i, changes=False), data.object_name
        rows = np.unique(np.append(np.random.default_rng(0).choice(n, MAX_COMPARED_OBJECTS, replace=False), i))
        frame = select_rows(frame, rows).reset_index(drop=True)
        explanation = explain_object(data.partition[rows], frame, int(np.searchsorted(rows, i)), changes=False)
        return explanation, lambda j: data.object_name(rows[j])


def _use_names(explanation: ObjectExplanation, object_name: Callable[[int], str]) -> ObjectExplanation:
    """Replace positions of objects in an explanation by their names."""

    def name(position: Any) -> Any:
        return object_name(int(position)) if isinstance(position, int | np.integer) else position

    def row_name(row: str) -> str:  # "17" or "17 in view 1"
        position, _, where = str(row).partition(" ")
        return " ".join([object_name(int(position)), where]).strip() if position.isdigit() else str(row)

    return replace(
        explanation,
        name=name(explanation.name),
        attributes=tuple(row_name(row) if explanation.by == "objects" else row for row in explanation.attributes),
        exemplars=tuple(exemplar._replace(name=object_name(exemplar.position)) for exemplar in explanation.exemplars),
        compared=tuple(other._replace(name=name(other.name)) for other in explanation.compared),
        changes=tuple(replace(change, towards=name(change.towards)) for change in explanation.changes),
    )


def _find_units(scaled: Any, names: Sequence[str], frame: pd.DataFrame) -> Units | None:
    """Return the shifts and factors that convert scaled columns to the units of the original columns in ``frame``.

    Columns are matched by name, otherwise by position. Return None if no original column is a linear function of its
    scaled column.
    """
    if not is_numeric(scaled) or np.ndim(scaled) != 2 or len(scaled) != len(frame):
        return None
    values = np.asarray(scaled, dtype=float)
    by_position = values.shape[1] == frame.shape[1]
    shift, factor = {}, {}
    for j, name in enumerate(names):
        column = frame[name] if name in frame.columns else frame.iloc[:, j] if by_position else None
        if column is None or column.dtype.kind not in "iuf":
            continue
        line = _fit_line(values[:, j], column.to_numpy(dtype=float))
        if line is not None:
            shift[name], factor[name] = line
    return Units(shift, factor) if shift else None


def _fit_line(scaled: np.ndarray, own: np.ndarray) -> tuple[float, float] | None:
    """Return the shift and factor with own = shift + factor * scaled; None if the relation is not linear."""
    is_finite = np.isfinite(scaled) & np.isfinite(own)
    if is_finite.sum() < 2:
        return None
    x, y = scaled[is_finite], own[is_finite]
    low, high = int(x.argmin()), int(x.argmax())
    if not x[high] > x[low] or y[high] == y[low]:
        return None
    factor = float((y[high] - y[low]) / (x[high] - x[low]))
    shift = float(y[low] - factor * x[low])
    fits = np.abs(shift + factor * x - y).max() <= _ROUNDING * float(np.ptp(y))
    return (shift, factor) if fits else None
