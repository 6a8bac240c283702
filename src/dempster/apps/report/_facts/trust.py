"""How far to trust a partition: silhouettes, what stays when objects are drawn again, what the doubt is worth."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

from dempster._errors import InvalidInputError
from dempster.apps.report._facts.case import Case
from dempster.apps.report._facts.frames import as_frame, rows_of
from dempster.constraints import Constraints
from dempster.dissimilarity.views import Views, joined_views, square_part
from dempster.explain import CredalSilhouette, KeptCurve, Stability, credal_silhouette, kept_curve, stability
from dempster.explain.scores import one_to_one, shared_objects

__all__ = ["Trust", "Drawn", "trust_of"]

_JUDGED, _MOST_WORK = 3000, 2e9  # objects whose silhouettes are computed; differences of attributes on the way
_SAMPLE = 500  # objects among which stability is looked at
_RESAMPLES = (10, 5)  # or none, where these take too long


@dataclass(frozen=True, eq=False)
class Drawn:
    """Stability, and what it was found on.

    Attributes
    ----------
    found : Stability
    n_objects : int
        Of which objects were drawn: all, or a sample.
    jaccard : (c,) array
        How well each cluster of the report was found again; NaN for one that the sample does not show.
    """

    found: Stability
    n_objects: int
    jaccard: np.ndarray


@dataclass(eq=False)
class Trust:
    """What was measured, None where it was not, and why not.

    Attributes
    ----------
    silhouette : CredalSilhouette or None
    metric : str
        By which dissimilarities.
    drawn : Drawn or None
    kept : KeptCurve or None
    left_out : list of str
        What was not measured, in whole sentences.
    """

    silhouette: CredalSilhouette | None = None
    metric: str = ""
    drawn: Drawn | None = None
    kept: KeptCurve | None = None
    left_out: list[str] = field(default_factory=list)


def trust_of(case: Case, y: Any, wanted: bool | Stability, seconds: float, rng: np.random.Generator) -> Trust:
    """All that can be measured, in bounded time."""
    trust = Trust()
    if case.partition.n_clusters < 2:
        trust.left_out.append("Silhouettes and stability compare clusters; there is only one.")
    else:
        _add_silhouette(trust, case, rng)
        _add_stability(trust, case, wanted, seconds, rng)
    if y is not None:
        trust.kept = kept_curve(case.partition, y)
    return trust


# ---- silhouettes ----------------------------------------------------------------------------------------------------


def _add_silhouette(trust: Trust, case: Case, rng: np.random.Generator) -> None:
    if case.X is None:
        trust.left_out.append("Silhouettes need the objects or their dissimilarities, which were not given.")
        return
    X, trust.metric = _compared(case)
    width = 1 if case.is_pairwise else max(int(np.shape(X)[1]), 1)
    most = int(min(_JUDGED, np.sqrt(_MOST_WORK / width)))
    try:
        trust.silhouette = credal_silhouette(
            case.partition, X, metric=trust.metric, sample_size=max(most, 2), random_state=rng
        )
    except (ValueError, TypeError) as error:
        trust.left_out.append(f"Silhouettes could not be computed: {error}.")


def _compared(case: Case) -> tuple[Any, str]:
    """The objects as they are compared, and the metric: that of the model where it is one of two rows."""
    if case.is_pairwise:
        return joined_views(case.X, "precomputed"), "precomputed"
    metric = getattr(case.model, "metric", "euclidean")
    X = joined_views(case.X) if not case.is_image else case.frame
    if _are_numbers(X) and not hasattr(case.model, "categories_"):
        known = isinstance(metric, str) and metric not in ("adaptive", "precomputed", "gower")
        return X, metric if known else "gower" if metric == "gower" else "euclidean"
    frame = as_frame(X)
    if hasattr(case.model, "categories_"):
        return frame.astype(str), "gower"  # numbers are names of categories
    for name in frame.columns[[dtype.kind in "mM" for dtype in frame.dtypes]]:
        frame[name] = frame[name].astype("int64").where(frame[name].notna())
    return frame, "gower"


def _are_numbers(X: Any) -> bool:
    """Whether a table holds numbers, all of them known."""
    if hasattr(X, "dtypes"):
        return all(getattr(d, "kind", "O") in "iuf" for d in X.dtypes) and not X.isna().to_numpy().any()
    return X.dtype.kind in "iuf" and bool(np.isfinite(X).all())


# ---- stability ------------------------------------------------------------------------------------------------------


def _add_stability(
    trust: Trust, case: Case, wanted: bool | Stability, seconds: float, rng: np.random.Generator
) -> None:
    if isinstance(wanted, Stability):
        trust.drawn = _matched(case, wanted, np.arange(len(case.partition)))
        return
    if not wanted:
        trust.left_out.append("Stability was not asked for.")
        return
    if case.whole is None or case.given is None:
        trust.left_out.append("Stability needs the method and its objects; a partition alone cannot be made again.")
        return
    n = len(case.partition)
    if case.is_image or n < max(2 * case.partition.n_clusters, 4):
        why = "an image cannot be drawn pixel by pixel" if case.is_image else "there are too few objects"
        trust.left_out.append(f"Stability was not looked at: {why}.")
        return
    size = min(n, max(_SAMPLE, 10 * case.partition.n_clusters))
    rows = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
    X = case.given if size == n else _some_of(case, rows)
    learned = dict(case.learned) if size == n else {name: _cut(value, rows, n) for name, value in case.learned.items()}
    seed = int(rng.integers(2**31 - 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that are thrown away
            started = time.process_time()
            method = _with_number(case)
            clone(method).fit(X, **learned)
            each = time.process_time() - started
            resamples = next((r for r in _RESAMPLES if each * (r + 1) <= seconds), 0)
            found = stability(method, X, resamples, random_state=seed, n_jobs=1, **learned) if resamples else None
    except (ValueError, TypeError) as error:
        trust.left_out.append(f"Stability could not be found: {error}.")
        return
    if found is None:
        trust.left_out.append(
            f"Stability was left out: one fit to {size:,} objects takes {each:.1f} s of processor time, several take "
            f"more than the {seconds:g} s that were allowed."
        )
        return
    trust.drawn = _matched(case, found, rows)


def _with_number(case: Case) -> Any:
    """The method with the number of clusters that was found: whether that is found again is another question."""
    method = clone(case.whole)
    wanted = {
        name: case.partition.n_clusters
        for name, value in method.get_params(deep=True).items()
        if name.split("__")[-1] == "n_clusters" and isinstance(value, str)
    }
    return method.set_params(**wanted)


def _some_of(case: Case, rows: np.ndarray) -> Any:
    views = Views.of(case.given)
    if views is not None:
        return views.square_parts(rows) if case.is_pairwise else views.rows(rows)
    return square_part(case.given, rows) if case.is_pairwise else rows_of(case.given, rows)


def _cut(value: Any, rows: np.ndarray, n: int) -> Any:
    """What belongs to objects, for some of them."""
    if isinstance(value, Constraints):
        return value[rows]
    values = np.asarray(value)
    return values[rows] if values.shape[:1] == (n,) else value


def _matched(case: Case, found: Stability, rows: np.ndarray) -> Drawn:
    """The clusters of the resamples' partition as those of the report: matched one to one by their objects."""
    if len(found) != len(rows):
        raise InvalidInputError(
            f"stability must be that of the {len(rows):,} objects of the partition, got one of {len(found):,}"
        )
    ours, theirs = case.partition.labels_with_outliers[rows], found.partition.labels_with_outliers
    shared = shared_objects(ours, theirs, case.partition.n_clusters, found.partition.n_clusters)
    partner = one_to_one(shared)
    sizes = np.bincount(ours[ours >= 0], minlength=case.partition.n_clusters)
    jaccard = np.full(case.partition.n_clusters, np.nan)
    for k, other in enumerate(partner):
        if other >= 0 and shared[k, other] > sizes[k] / 2:
            jaccard[k] = found.clusters[other]
    return Drawn(found, len(rows), jaccard)
