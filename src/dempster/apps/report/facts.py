"""Collect what a report says: counts, cluster profiles, doubtful objects, map coordinates and measures of trust."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._text import format_answer
from dempster._validation import ordered_like
from dempster.apps.recipe.model import Units
from dempster.apps.report.coordinates import MapCoordinates, place_objects
from dempster.apps.report.inputs import ReportInput
from dempster.apps.report.profiles import ClusterProfiles, Pair, find_pairs, profile_clusters
from dempster.apps.report.trust import Trust, measure_trust
from dempster.cluster.number import NumberOfClusters
from dempster.explain import ObjectExplanation, Stability, doubt_scores, explain_object
from dempster.explain.inputs import select_rows
from dempster.explain.scores import validate_classes

if TYPE_CHECKING:
    import pandas as pd


MAX_LISTED_OBJECTS = 200
MAX_EXPLAINING_SECONDS = 8.0
_N_WITH_CHANGES = 5  # explained objects for which the report also says what would make them certain


@dataclass(frozen=True, eq=False)
class Counts:
    """Numbers of objects by answer.

    Attributes
    ----------
    n_objects, n_clusters, n_certain, n_torn, n_outliers : int
    certain, possible : (c,) arrays
        Objects of each cluster.
    """

    n_objects: int
    n_clusters: int
    certain: np.ndarray
    possible: np.ndarray
    n_torn: int
    n_outliers: int

    @property
    def n_certain(self) -> int:
        return int(self.certain.sum())


@dataclass(eq=False)
class Facts:
    """Everything a report says, before it is put into words."""

    data: ReportInput
    counts: Counts
    profiles: ClusterProfiles | None
    pairs: list[Pair]
    torn: list[DoubtfulObject]
    outliers: list[DoubtfulObject]
    coordinates: MapCoordinates | None
    trust: Trust
    explaining_stopped: bool
    explaining_error: str | None

    @property
    def number(self) -> NumberOfClusters | None:
        """Candidates for the number of clusters, where it was found from the data."""
        found = getattr(self.data.model, "number_", None)
        return found if isinstance(found, NumberOfClusters) else None

    @property
    def history(self) -> np.ndarray:
        """Objective after every iteration, empty if unknown."""
        found = np.asarray(getattr(self.data.model, "history_", ()), dtype=float)
        return found if found.ndim == 1 and np.isfinite(found).all() else np.zeros(0)


def collect_facts(
    data: ReportInput,
    *,
    stability: bool | Stability,
    seconds: float,
    n_explained: int,
    max_points: int,
    rng: np.random.Generator,
) -> Facts:
    """Compute everything a report says, in bounded time."""
    partition = data.partition
    classes = None if data.y is None else validate_classes(ordered_like(data.y, data.objects.names), partition)
    profiles = profile_clusters(data, rng)
    explainer = _Explainer(data)
    torn = _rank_doubtful(data, partition.ambiguous, explainer, n_explained)
    outliers = _rank_doubtful(data, partition.outliers, explainer, n_explained)
    always = {one.position for one in (*torn, *outliers)}
    if profiles is not None:
        always |= {i for g in range(len(profiles.profile.groups)) for i in profiles.typical(g)}
    return Facts(
        data=data,
        counts=_count_answers(data),
        profiles=profiles,
        pairs=find_pairs(data, profiles),
        torn=torn,
        outliers=outliers,
        coordinates=place_objects(data, profiles, max_points, np.array(sorted(always), dtype=np.intp), rng),
        trust=measure_trust(data, classes, stability, seconds, rng),
        explaining_stopped=explainer.stopped,
        explaining_error=explainer.error,
    )


def _count_answers(data: ReportInput) -> Counts:
    partition = data.partition
    numbers = np.bincount(partition.best_set, minlength=len(partition.focal_sets))
    membership, size = np.asarray(partition.focal_sets.membership), partition.focal_sets.cardinality
    return Counts(
        n_objects=len(partition),
        n_clusters=partition.n_clusters,
        certain=numbers[size == 1] @ membership[size == 1].astype(int),
        possible=numbers @ membership.astype(int),
        n_torn=int(numbers[size > 1].sum()),
        n_outliers=int(numbers[size == 0].sum()),
    )


# ---- doubtful objects -----------------------------------------------------------------------------------------------

MAX_COMPARED_OBJECTS = 4000  # objects that stand for all where there is no model to explain by
_ROUNDING = 1e-6  # difference of equal values, as a share of the range of a column


@dataclass(frozen=True)
class DoubtfulObject:
    """A torn object or an outlier.

    Attributes
    ----------
    position : int
    answer : str
        The clusters it lies between, or that it is an outlier.
    mass : float
        Mass of this answer.
    doubt : float
    label : str
        The most plausible cluster.
    reasons : list of str
        Sentences; empty for objects that were not explained.
    """

    position: int
    answer: str
    mass: float
    doubt: float
    label: str
    reasons: list[str]


def _rank_doubtful(
    data: ReportInput, candidates: np.ndarray, explainer: _Explainer, n_explained: int
) -> list[DoubtfulObject]:
    """Return the most doubtful of some objects, the first of them with reasons."""
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
            reasons=explainer.explain(int(candidates[j]), changes=rank < _N_WITH_CHANGES) if rank < n_explained else [],
        )
        for rank, j in enumerate(order)
    ]


class _Explainer:
    """Explains objects until `MAX_EXPLAINING_SECONDS` are spent.

    Attributes
    ----------
    stopped : bool
        Whether the time was spent.
    error : str or None
        Why the objects cannot be explained.
    """

    def __init__(self, data: ReportInput):
        self._data = data
        self._seconds = 0.0
        self.stopped = False
        self.error: str | None = None
        self._units = None
        if data.features is not None and data.frame is not None:
            self._units = _find_units(data.X, data.features, data.frame)

    def explain(self, position: int, *, changes: bool) -> list[str]:
        """Return sentences about an object, if asked with the changes that would make it certain."""
        if self._data.X is None or self.error is not None:
            return []
        if self._seconds > MAX_EXPLAINING_SECONDS:
            self.stopped = True
            return []
        start = time.perf_counter()
        try:
            found, names = self._explain(position, changes)
            if self._units is not None:
                found = self._units.of_explanation(found)
            return _use_names(found, names).to_text().splitlines()[1:]  # the table says where it is
        except (ValueError, TypeError, NotImplementedError) as error:
            self.error = str(error)
            return []
        finally:
            self._seconds += time.perf_counter() - start

    def _explain(self, i: int, changes: bool) -> tuple[ObjectExplanation, Any]:
        """Return an explanation, and the names of the objects by the positions it uses."""
        data = self._data
        if data.model is not None:
            attributes, names = (data.frame, None) if data.is_pairwise else (None, data.features)
            if attributes is not None:
                names = list(attributes.columns)
            found = explain_object(data.model, data.X, i, attributes=attributes, feature_names=names, changes=changes)
            return found, data.objects
        if data.is_pairwise:
            found = explain_object(data.partition, data.X, i, attributes=data.frame, metric="precomputed")
            return found, data.objects
        n, frame = len(data.partition), data.frame
        if n <= MAX_COMPARED_OBJECTS:
            return explain_object(data.partition, frame, i, changes=False), data.objects
        rows = np.unique(np.append(np.random.default_rng(0).choice(n, MAX_COMPARED_OBJECTS, replace=False), i))
        frame = select_rows(frame, rows).reset_index(drop=True)
        found = explain_object(data.partition[rows], frame, int(np.searchsorted(rows, i)), changes=False)
        return found, [data.objects[j] for j in rows]


def _use_names(found: ObjectExplanation, names: Any) -> ObjectExplanation:
    """Replace positions of objects in an explanation by their names."""

    def name(position: Any) -> Any:
        return names[int(position)] if isinstance(position, int | np.integer) else position

    def row_name(row: str) -> str:  # "17" or "17 in view 1"
        position, _, where = str(row).partition(" ")
        return " ".join([names[int(position)], where]).strip() if position.isdigit() else str(row)

    return replace(
        found,
        name=name(found.name),
        attributes=tuple(map(row_name, found.attributes)) if found.by == "objects" else found.attributes,
        exemplars=tuple(exemplar._replace(name=names[exemplar.position]) for exemplar in found.exemplars),
        compared=tuple(other._replace(name=name(other.name)) for other in found.compared),
        changes=tuple(replace(change, towards=name(change.towards)) for change in found.changes),
    )


def _find_units(scaled: Any, names: Sequence[str], frame: pd.DataFrame) -> Units | None:
    """Find how the columns of a scaled table come from those of the same names, or places, in their own units.

    None if no column does by a shift and a factor.
    """
    dtypes = scaled.dtypes if hasattr(scaled, "dtypes") else [getattr(scaled, "dtype", None)]
    if not all(getattr(dtype, "kind", "O") in "iuf" for dtype in dtypes):
        return None
    values = np.asarray(scaled, dtype=float)
    if values.ndim != 2 or values.shape[0] != len(frame):
        return None
    by_place = values.shape[1] == frame.shape[1]
    shift, factor = {}, {}
    for j, name in enumerate(names):
        column = frame[name] if name in frame.columns else frame.iloc[:, j] if by_place else None
        if column is None or column.dtype.kind not in "iuf":
            continue
        line = _fit_line(values[:, j], column.to_numpy(dtype=float))
        if line is not None:
            shift[name], factor[name] = line
    return Units(shift, factor) if shift else None


def _fit_line(scaled: np.ndarray, own: np.ndarray) -> tuple[float, float] | None:
    """Return shift and factor between the smallest and the largest value, if they hold for all values."""
    is_known = np.isfinite(scaled) & np.isfinite(own)
    if is_known.sum() < 2:
        return None
    x, y = scaled[is_known], own[is_known]
    low, high = int(x.argmin()), int(x.argmax())
    if not x[high] > x[low] or y[high] == y[low]:
        return None
    factor = float((y[high] - y[low]) / (x[high] - x[low]))
    shift = float(y[low] - factor * x[low])
    fits = np.abs(shift + factor * x - y).max() <= _ROUNDING * float(np.ptp(y))
    return (shift, factor) if fits else None
