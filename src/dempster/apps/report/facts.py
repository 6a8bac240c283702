"""Compute the contents of a report: counts, profiles, doubtful objects, map and reliability."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dempster._errors import InvalidParameterError
from dempster._text import format_answer
from dempster._validation import reorder_like
from dempster.apps.recipe.model import Units
from dempster.apps.report.cluster_profiles import find_pairs, profile_clusters
from dempster.apps.report.coordinates import place_objects
from dempster.apps.report.report_input import (
    ReportInput,
    dates_to_numbers,
    is_numeric,
    to_frame,
)
from dempster.data.blocks import sample_rows
from dempster.dissimilarity.views import joined_views
from dempster.explain import (
    CredalSilhouette,
    ObjectExplanation,
    RetentionCurve,
    Stability,
    credal_silhouette,
    doubt_scores,
    explain_object,
    retention_curve,
    stability,
)
from dempster.explain.resamples import Resampling
from dempster.explain.scores import count_pairs, match_one_to_one, validate_classes
from dempster.model_selection import NumberOfClusters
from dempster.partition import CredalPartition

MAX_LISTED_OBJECTS = 200
MIN_LAYERED_CLUSTERS = 10
MAX_POINTS = 20_000  # maximum number of objects on the map
_N_EXPLAINED = 12  # numbers of ambiguous objects and of outliers with an explanation
# number of explanations that name the changes that would make the object certain
_N_WITH_CHANGES = 5


class Counts:
    """Numbers of certain, ambiguous and outlying objects, in total and for each cluster."""

    def __init__(self, partition: CredalPartition):
        numbers = np.bincount(partition.best_set, minlength=len(partition.focal_sets))
        membership = np.asarray(partition.focal_sets.membership, int)
        size = partition.focal_sets.cardinality
        self.n_objects = len(partition)
        self.n_clusters = partition.n_clusters
        self.certain = numbers[size == 1] @ membership[size == 1]
        self.possible = numbers @ membership
        self.n_certain = int(numbers[size == 1].sum())
        self.n_ambiguous = int(numbers[size > 1].sum())
        self.n_outliers = int(numbers[size == 0].sum())


class Layer:
    """Coarser partition, in which clusters are merged to groups."""

    def __init__(self, partition: CredalPartition, data: ReportInput):
        self.counts = Counts(partition)
        frame = list(data.partition.frame)
        sizes = np.bincount(data.partition.labels, minlength=len(frame))
        # the group of each cluster, and the name of each group, after its largest cluster
        self.groups = np.zeros(len(frame), np.int32)
        self.names = []
        for g, part in enumerate(partition.metadata["merged"]):
            members = [frame.index(name) for name in part]
            self.groups[members] = g
            name = data.cluster_names[max(members, key=sizes.__getitem__)]
            if len(members) > 1:
                name += f" + {len(members) - 1}"
            self.names.append(name)


class Facts:
    """Contents of a report, computed in bounded time."""

    def __init__(
        self,
        data: ReportInput,
        stability: bool | Stability,
        rng: np.random.Generator,
    ):
        self.data = data
        self.counts = Counts(data.partition)
        labelled, classes = _labelled_objects(data)
        self.layers: list[Layer] = []
        if self.counts.n_clusters >= MIN_LAYERED_CLUSTERS:
            self.layers = [Layer(layer, data) for layer in data.partition.layers()]
        self.profiles = profile_clusters(data, rng)
        self.pairs = find_pairs(data, self.profiles)
        explainer = Explainer(data)
        self.ambiguous = _rank_doubtful(data, data.partition.ambiguous, explainer)
        self.outliers = _rank_doubtful(data, data.partition.outliers, explainer)
        self.explaining_error = explainer.error
        linked = {obj.position for obj in (*self.ambiguous, *self.outliers)}
        if self.profiles is not None:
            for g in range(len(self.profiles.profile.groups)):
                linked.update(self.profiles.typical(g))
        shown = np.array(sorted(linked), np.intp)
        self.coordinates = place_objects(data, self.profiles, MAX_POINTS, shown, rng)
        self.trust = measure_trust(data, labelled, classes, stability, rng)

    @property
    def number(self) -> NumberOfClusters | None:
        """Support for each number of clusters; None if the number was not estimated."""
        return getattr(self.data.model, "number_", None)


def _labelled_objects(data: ReportInput) -> tuple[CredalPartition, Any]:
    """Return the objects with a known class, and their classes (None if no class is known)."""
    partition = data.partition
    y = reorder_like(data.y, data.index)
    if isinstance(y, pd.Series) and len(y) == len(partition) and y.hasnans:
        known = np.flatnonzero(y.notna())
        y = y.iloc[known]
        partition = partition[known]
    if y is None or not len(y):
        return partition, None
    return partition, validate_classes(y, partition)


# ---- doubtful objects ----------------------------------------------------------------------------

# maximum sample size for explanations of a partition without a model
MAX_COMPARED_OBJECTS = 4000
_ROUNDING = 1e-6  # tolerance relative to the range of a column


@dataclass(frozen=True)
class DoubtfulObject:
    """An ambiguous object or an outlier."""

    position: int
    clusters: Sequence[int]  # clusters to which the object may belong
    answer: str  # these clusters or, for an outlier, the most plausible cluster
    doubt: float
    measure: float  # doubt or, for an outlier, the mass of the empty set
    reasons: list[str]  # sentences of the explanation


def _rank_doubtful(
    data: ReportInput, candidates: np.ndarray, explainer: Explainer
) -> list[DoubtfulObject]:
    """Return the most doubtful candidates in decreasing order, the first ones with reasons."""
    if not len(candidates):
        return []
    partition = data.partition
    sets = list(partition.focal_sets)
    mass = partition.best_mass[candidates]
    doubt = doubt_scores(partition[candidates])
    order = np.lexsort((candidates, -mass, -np.round(doubt, 6)))[:MAX_LISTED_OBJECTS]
    objects = []
    for rank, j in enumerate(order):
        position = int(candidates[j])
        clusters = sets[partition.best_set[position]]
        nearest = clusters
        measure = doubt[j]
        if not clusters:
            nearest = (int(partition.labels[position]),)
            measure = mass[j]
        answer = format_answer(nearest, partition.frame)
        reasons = []
        if rank < _N_EXPLAINED:
            reasons = explainer.reasons(position, changes=rank < _N_WITH_CHANGES)
        one = DoubtfulObject(
            position, clusters, answer, float(doubt[j]), float(measure), reasons
        )
        objects.append(one)
    return objects


class Explainer:
    """Explanations of objects, with the names and in the units of the table."""

    def __init__(self, data: ReportInput):
        self._data = data
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
        """Return the sentences of an explanation, or none if the model cannot be explained."""
        if self._data.X is None or self.error is not None:
            return []
        try:
            # The first line names the set of the object, which is a column of the table.
            return self.explain(position, changes=changes).to_text().splitlines()[1:]
        except (ValueError, TypeError, NotImplementedError) as error:
            self.error = str(error)
            return []

    def _explain(
        self, i: int, changes: bool
    ) -> tuple[ObjectExplanation, Callable[[int], str]]:
        """Return the explanation of object ``i``, and a function from its positions to names."""
        data = self._data
        if data.model is not None or data.is_pairwise:
            subject = data.model
            options: dict[str, Any] = {"feature_names": data.features}
            if data.is_pairwise:
                options = {"attributes": data.frame}
            if subject is None:
                subject = data.partition
                options["metric"] = "precomputed"
            explanation = explain_object(subject, data.X, i, changes=changes, **options)
            return explanation, data.object_name
        table = data.frame
        if data.clustered is not None:
            table = to_frame(data.X)
        assert table is not None
        rows = sample_rows(len(table), MAX_COMPARED_OBJECTS, 0)
        rows = np.union1d(rows, i)
        frame = table.iloc[rows].reset_index(drop=True)
        at = int(np.searchsorted(rows, i))
        explanation = explain_object(data.partition[rows], frame, at, changes=False)
        return explanation, lambda j: data.object_name(rows[j])


def _use_names(
    explanation: ObjectExplanation, object_name: Callable[[int], str]
) -> ObjectExplanation:
    """Replace positions of objects in an explanation by their names."""

    def name(position: Any) -> Any:
        if isinstance(position, int | np.integer):
            return object_name(int(position))
        return position

    def row_name(row: str) -> str:  # "17" or "17 in view 1"
        position, _, where = str(row).partition(" ")
        if position.isdigit():
            return " ".join([object_name(int(position)), where]).strip()
        return str(row)

    attributes = explanation.attributes
    if explanation.by == "objects":
        attributes = tuple(row_name(row) for row in attributes)
    return replace(
        explanation,
        name=name(explanation.name),
        attributes=attributes,
        exemplars=tuple(
            one._replace(name=name(one.position)) for one in explanation.exemplars
        ),
        changes=tuple(
            replace(one, towards=name(one.towards)) for one in explanation.changes
        ),
    )


def _find_units(scaled: Any, names: Sequence[str], frame: pd.DataFrame) -> Units | None:
    """Return the conversion of scaled columns to the units of the columns of ``frame``.

    Columns are matched by name, otherwise by position. Return None if no original column is a
    linear function of its scaled column.
    """
    if not is_numeric(scaled) or np.ndim(scaled) != 2 or len(scaled) != len(frame):
        return None
    values = np.asarray(scaled, float)
    by_position = values.shape[1] == frame.shape[1]
    shift = {}
    factor = {}
    for j, name in enumerate(names):
        if name in frame.columns:
            column = frame[name]
        elif by_position:
            column = frame.iloc[:, j]
        else:
            continue
        if column.dtype.kind not in "iuf":
            continue
        line = _fit_line(values[:, j], column.to_numpy(dtype=float))
        if line is not None:
            shift[name], factor[name] = line
    if shift:
        return Units(shift, factor)
    return None


def _fit_line(scaled: np.ndarray, own: np.ndarray) -> tuple[float, float] | None:
    """Return shift and factor of own = shift + factor * scaled, or None if it is not linear."""
    is_finite = np.isfinite(scaled) & np.isfinite(own)
    if not is_finite.any():
        return None
    x = scaled[is_finite]
    y = own[is_finite]
    low = int(x.argmin())
    high = int(x.argmax())
    start_x = x[low]
    start_y = y[low]
    if not x[high] > start_x or y[high] == start_y:
        return None
    factor = float((y[high] - start_y) / (x[high] - start_x))
    shift = float(start_y - factor * start_x)
    if np.abs(shift + factor * x - y).max() > _ROUNDING * float(np.ptp(y)):
        return None
    return shift, factor


# ---- reliability ---------------------------------------------------------------------------------

MAX_SILHOUETTES = 3000
MAX_RESAMPLED_OBJECTS = 200
N_RESAMPLES = 5


@dataclass(eq=False)
class Trust:
    """Measures of the reliability of a partition; a measure is None if it was not computed."""

    silhouette: CredalSilhouette | None = None
    metric: str = ""  # metric of the silhouettes
    stability: Stability | None = None
    # number of objects in the stability analysis, which may be a sample
    n_resampled: int = 0
    # mean Jaccard index of each cluster; NaN for clusters without a match
    jaccard: np.ndarray | None = None
    kept: RetentionCurve | None = None
    n_labelled: int = 0  # number of objects with a known class
    # sentences that explain why measures were not computed
    left_out: list[str] = field(default_factory=list)


def measure_trust(
    data: ReportInput,
    labelled: CredalPartition,
    y: Any,
    requested: bool | Stability,
    rng: np.random.Generator,
) -> Trust:
    """Compute all measures for which data are available.

    ``labelled`` contains the objects with the classes ``y``.
    """
    trust = Trust()
    if data.partition.n_clusters < 2:
        trust.left_out.append("Silhouettes and stability need at least two clusters.")
    else:
        _add_silhouette(trust, data, rng)
        _add_stability(trust, data, requested, rng)
    if y is not None:
        trust.kept = retention_curve(labelled, y)
        trust.n_labelled = len(labelled)
    return trust


# ---- silhouettes ---------------------------------------------------------------------------------


def _add_silhouette(trust: Trust, data: ReportInput, rng: np.random.Generator) -> None:
    if data.X is None:
        trust.left_out.append(
            "Silhouettes were not computed, because they need the table."
        )
        return
    X, trust.metric = _compared_table(data)
    try:
        trust.silhouette = credal_silhouette(
            data.partition,
            X,
            metric=trust.metric,
            sample_size=MAX_SILHOUETTES,
            random_state=rng,
        )
    except (ValueError, TypeError) as error:
        trust.left_out.append(f"Silhouettes could not be computed: {error}.")


def _compared_table(data: ReportInput) -> tuple[Any, str]:
    """Return the table and the metric of the model.

    For categories or missing values, use Gower's dissimilarity.
    """
    if data.is_pairwise:
        return data.X, "precomputed"
    X = data.frame
    if not data.is_image:
        X = joined_views(data.X)
    if (
        is_numeric(X)
        and not np.any(pd.isna(X))
        and not hasattr(data.model, "categories_")
    ):
        metric = getattr(data.model, "metric", "euclidean")
        if not isinstance(metric, str) or metric in ("adaptive", "precomputed"):
            metric = "euclidean"
        return X, metric
    frame = to_frame(X)
    if hasattr(data.model, "categories_"):
        return frame.astype(str), "gower"  # The model treats numbers as categories.
    return dates_to_numbers(frame), "gower"


# ---- stability -----------------------------------------------------------------------------------


def _add_stability(
    trust: Trust,
    data: ReportInput,
    requested: bool | Stability,
    rng: np.random.Generator,
) -> None:
    n = len(data.partition)
    n_clusters = data.partition.n_clusters
    rows = np.arange(n)
    if isinstance(requested, Stability):
        _match_clusters(trust, data, requested, rows)
        return
    reason = None
    if not requested:
        reason = "it was switched off"
    elif data.estimator is None or data.table is None:
        reason = "it needs the method and its table"
    elif data.is_image:
        reason = "pixels of an image cannot be resampled"
    elif n < max(2 * n_clusters, 4):
        reason = "there are too few objects"
    if reason is not None:
        trust.left_out.append(f"Stability was not computed, because {reason}.")
        return
    X = data.table
    fit_params = dict(data.fit_params)
    size = max(MAX_RESAMPLED_OBJECTS, 10 * n_clusters)
    if size < n:
        rows = np.sort(rng.choice(n, size, replace=False))
        resampling = Resampling(data.estimator, X, fit_params)
        X = resampling.select_rows(rows)
        fit_params = resampling.select_params(rows)
    seed = int(rng.integers(2**31 - 1))
    method = _fix_n_clusters(data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = stability(
                method, X, N_RESAMPLES, random_state=seed, n_jobs=1, **fit_params
            )
    except (ValueError, TypeError) as error:
        trust.left_out.append(f"Stability could not be computed: {error}.")
        return
    _match_clusters(trust, data, result, rows)


def _fix_n_clusters(data: ReportInput) -> Any:
    """Return a clone of the estimator with the number of clusters of the partition."""
    method = clone(data.estimator)
    numbers = {
        name: data.partition.n_clusters
        for name, value in method.get_params(deep=True).items()
        if name.split("__")[-1] == "n_clusters" and isinstance(value, str)
    }
    return method.set_params(**numbers)


def _match_clusters(
    trust: Trust, data: ReportInput, result: Stability, rows: np.ndarray
) -> None:
    """Set the stability.

    Match the clusters of its partition one to one with the clusters of the report.
    """
    if len(result) != len(rows):
        raise InvalidParameterError(
            "stability", must=f"have {len(rows):,} objects, got {len(result):,}"
        )
    n_clusters = data.partition.n_clusters
    labels = data.partition.labels_with_outliers[rows]
    counts = count_pairs(
        labels,
        result.partition.labels_with_outliers,
        n_clusters,
        result.partition.n_clusters,
    )
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    trust.stability = result
    trust.n_resampled = len(rows)
    trust.jaccard = np.full(n_clusters, np.nan)
    for k, other in enumerate(match_one_to_one(counts)):
        if other >= 0 and counts[k, other] > sizes[k] / 2:
            trust.jaccard[k] = result.clusters[other]
