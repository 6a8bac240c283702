"""Measure the reliability of a partition by silhouettes, stability and agreement with known classes."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from dempster._errors import InvalidParameterError
from dempster.apps.report.report_input import ReportInput, is_numeric, to_frame
from dempster.dissimilarity.views import joined_views
from dempster.explain import CredalSilhouette, RetentionCurve, Stability, credal_silhouette, retention_curve, stability
from dempster.explain.resamples import Resampling
from dempster.explain.scores import count_pairs, match_one_to_one
from dempster.partition import CredalPartition

# Maximum numbers of objects with a silhouette, and of differences of attributes to compute for them.
MAX_SILHOUETTES, MAX_SILHOUETTE_DIFFERENCES = 3000, 2e9
MAX_RESAMPLED_OBJECTS = 500
_RESAMPLES = (10, 5)  # candidate numbers of resamples; the first that fits into the time limit is used


@dataclass(eq=False)
class Trust:
    """Measures of the reliability of a partition; a measure is None if it was not computed."""

    silhouette: CredalSilhouette | None = None
    metric: str = ""  # metric of the silhouettes
    stability: Stability | None = None
    n_resampled: int = 0  # number of objects in the stability analysis, which may be a sample
    jaccard: np.ndarray | None = None  # mean Jaccard index of each cluster; NaN for clusters without a match
    kept: RetentionCurve | None = None
    n_labelled: int = 0  # number of objects with a known class
    left_out: list[str] = field(default_factory=list)  # sentences that explain why measures were not computed


def measure_trust(
    data: ReportInput,
    labelled: CredalPartition,
    y: Any,
    requested: bool | Stability,
    seconds: float,
    rng: np.random.Generator,
) -> Trust:
    """Compute all measures for which data are available; ``labelled`` contains the objects with the classes ``y``."""
    trust = Trust()
    if data.partition.n_clusters < 2:
        trust.left_out.append("Silhouettes and stability need at least two clusters.")
    else:
        _add_silhouette(trust, data, rng)
        _add_stability(trust, data, requested, seconds, rng)
    if y is not None:
        trust.kept, trust.n_labelled = retention_curve(labelled, y), len(labelled)
    return trust


# ---- silhouettes ----------------------------------------------------------------------------------------------------


def _add_silhouette(trust: Trust, data: ReportInput, rng: np.random.Generator) -> None:
    if data.X is None:
        trust.left_out.append("Silhouettes were not computed, because they need the table.")
        return
    X, trust.metric = _compared_table(data)
    width = 1 if data.is_pairwise else max(int(np.shape(X)[1]), 1)
    size = max(int(min(MAX_SILHOUETTES, np.sqrt(MAX_SILHOUETTE_DIFFERENCES / width))), 2)
    try:
        trust.silhouette = credal_silhouette(data.partition, X, metric=trust.metric, sample_size=size, random_state=rng)
    except (ValueError, TypeError) as error:
        trust.left_out.append(f"Silhouettes could not be computed: {error}.")


def _compared_table(data: ReportInput) -> tuple[Any, str]:
    """Return the table and the metric of the model; for categories or missing values, use Gower's dissimilarity."""
    if data.is_pairwise:
        return joined_views(data.X, "precomputed"), "precomputed"
    metric = getattr(data.model, "metric", "euclidean")
    X = joined_views(data.X) if not data.is_image else data.frame
    if is_numeric(X) and not np.any(pd.isna(X)) and not hasattr(data.model, "categories_"):
        is_row_metric = isinstance(metric, str) and metric not in ("adaptive", "precomputed")
        return X, metric if is_row_metric else "euclidean"
    frame = to_frame(X)
    if hasattr(data.model, "categories_"):
        return frame.astype(str), "gower"  # The model treats numbers as categories.
    for name in frame.columns[[dtype.kind in "mM" for dtype in frame.dtypes]]:
        frame[name] = frame[name].astype("int64").where(frame[name].notna())
    return frame, "gower"


# ---- stability ------------------------------------------------------------------------------------------------------


def _add_stability(
    trust: Trust, data: ReportInput, requested: bool | Stability, seconds: float, rng: np.random.Generator
) -> None:
    n, n_clusters = len(data.partition), data.partition.n_clusters
    if isinstance(requested, Stability):
        _match_clusters(trust, data, requested, np.arange(n))
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
    size = min(n, max(MAX_RESAMPLED_OBJECTS, 10 * n_clusters))
    rows = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
    X, fit_params = data.table, dict(data.fit_params)
    if size < n:
        resampling = Resampling(data.estimator, X, fit_params)
        X, fit_params = resampling.select_rows(rows), resampling.select_params(rows)
    seed = int(rng.integers(2**31 - 1))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method = _fix_n_clusters(data)
            start = time.process_time()
            clone(method).fit(X, **fit_params)
            fit_seconds = time.process_time() - start
            resamples = next((r for r in _RESAMPLES if fit_seconds * (r + 1) <= seconds), 0)
            result = stability(method, X, resamples, random_state=seed, n_jobs=1, **fit_params) if resamples else None
    except (ValueError, TypeError) as error:
        trust.left_out.append(f"Stability could not be computed: {error}.")
        return
    if result is None:
        trust.left_out.append(
            f"Stability was not computed, because one fit to {size:,} objects takes {fit_seconds:.1f} s of processor "
            f"time, and at most {seconds:g} s were allowed."
        )
        return
    _match_clusters(trust, data, result, rows)


def _fix_n_clusters(data: ReportInput) -> Any:
    """Return a clone of the estimator in which the number of clusters is fixed to that of the partition."""
    method = clone(data.estimator)
    numbers = {
        name: data.partition.n_clusters
        for name, value in method.get_params(deep=True).items()
        if name.split("__")[-1] == "n_clusters" and isinstance(value, str)
    }
    return method.set_params(**numbers)


def _match_clusters(trust: Trust, data: ReportInput, result: Stability, rows: np.ndarray) -> None:
    """Set the stability; match the clusters of its partition one to one with the clusters of the report."""
    if len(result) != len(rows):
        raise InvalidParameterError("stability", must=f"have {len(rows):,} objects, got {len(result):,}")
    n_clusters = data.partition.n_clusters
    labels = data.partition.labels_with_outliers[rows]
    counts = count_pairs(labels, result.partition.labels_with_outliers, n_clusters, result.partition.n_clusters)
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    trust.stability, trust.n_resampled, trust.jaccard = result, len(rows), np.full(n_clusters, np.nan)
    for k, other in enumerate(match_one_to_one(counts)):
        if other >= 0 and counts[k, other] > sizes[k] / 2:
            trust.jaccard[k] = result.clusters[other]
