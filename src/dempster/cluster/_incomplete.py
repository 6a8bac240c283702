"""Contributions of missing values to dissimilarities, estimated before a fit.

A missing value contributes the variance of its feature within clusters or, for Gower's
dissimilarity, the mean difference within clusters (see `dempster.dissimilarity.partial`). The
contributions do not change during the iterations, so the objective never increases.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dempster._arrays import clip_to_range, divide
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._search import Sample
from dempster.data.sampling import order_along_line, sample_in_order
from dempster.dissimilarity.partial import impute_missing, squared_distances_to_points
from dempster.dissimilarity.sources import AttributeSource, GowerSource
from dempster.optimize.k_means import k_means

_SAMPLE_SIZE = 2000
_STARTS = 5  # number of runs of k-means
_MAX_COMPARED_ROWS = 500  # maximum number of rows of a mixed table that are compared
# number of clusters that is assumed before the number is selected
_DEFAULT_CLUSTERS = 5
# number of iterations without imputed values, after the best k-means run
_LAST_ITERATIONS = 5


def add_within_variances(sample: Sample[Any], n_clusters: int) -> Sample[Any]:
    """Return the sample with the contributions of missing values.

    A precomputed matrix does not change.
    """
    values = add_usual_differences(sample.values, n_clusters)
    if isinstance(values, AttributeSource):
        within = estimate_within_variances(values.objects, sample.weights, n_clusters)
        values = AttributeSource(
            values.objects, values.metric, values.parameters, within
        )
    if isinstance(values, np.ndarray):
        within = estimate_within_variances(values, sample.weights, n_clusters)
        return replace(sample, within=within)
    return replace(sample, values=values)


def add_usual_differences(source: Any, n_clusters: int = _DEFAULT_CLUSTERS) -> Any:
    """Add the contributions of missing values to a Gower source; others do not change."""
    if isinstance(source, GowerSource):
        differences = estimate_usual_differences(source, n_clusters)
        return GowerSource(source.objects, differences)
    return source


def estimate_usual_differences(source: GowerSource, n_clusters: int) -> np.ndarray:
    """Return the mean difference in each column within clusters found by k-medoids on a subset."""
    from dempster.dissimilarity.gower import column_differences, partial_gower_block

    keys = source.keys(source.objects)
    different = dict(zip(keys, range(len(source)), strict=True))
    order = np.array([different[key] for key in sorted(different)])
    n_compared = min(len(order), _MAX_COMPARED_ROWS)
    places = np.linspace(0, len(order) - 1, n_compared)
    which = np.unique(places.astype(int))
    some = source.objects[order[which]]
    gaps = np.array(column_differences(some))
    n = len(some)
    usual = _mean(gaps, np.ones((n, n), bool))
    D = partial_gower_block(some, some, usual)
    rng = np.random.default_rng(0)
    [medoids] = medoid_starts(D, min(n_clusters, n), 1, rng)
    labels = D[medoids].argmin(axis=0)
    together = labels[:, None] == labels
    np.fill_diagonal(together, False)
    return _mean(gaps, together)


def _mean(gaps: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the mean of ``gaps`` in each column over pairs of rows, zero if none is observed."""
    there = pairs & ~np.isnan(gaps)
    total = np.where(there, gaps, 0).sum(axis=(1, 2))
    count = there.sum(axis=(1, 2))
    return total / np.maximum(count, 1)


def estimate_within_variances(
    X: np.ndarray, weights: np.ndarray | None, n_clusters: int
) -> np.ndarray:
    """Return the variances of the features within the clusters of k-means, shape (p,).

    The best of several runs of k-means uses imputed values. The last iterations use only observed
    values, both for the distances and for the centers. The seed does not depend on
    ``random_state``, so the fit of complete data does not change.
    """
    rng = np.random.RandomState(0)
    w = np.ones(len(X)) if weights is None else weights.astype(float)
    which, counts = sample_in_order(order_along_line(X), w, _SAMPLE_SIZE, rng)
    rows = X[which] - clip_to_range(np.nanmean(X, axis=0, dtype=float), X)
    points = impute_missing(rows)
    k = min(n_clusters, len(points))
    centers, labels = k_means(points, k, rng, counts, n_runs=_STARTS)
    is_missing = np.isnan(rows)
    there = np.where(is_missing, 0.0, counts[:, None])
    for _ in range(_LAST_ITERATIONS):
        labels = squared_distances_to_points(rows, centers).argmin(axis=1)
        members = labels == np.arange(k)[:, None]
        amount = members @ there
        totals = members @ (there * np.nan_to_num(rows))
        moved = divide(totals, amount, 0)
        centers = np.where(amount > 0, moved, centers)
    # Use the imputed values of columns without observed values.
    there[:, ~there.any(axis=0)] = counts[:, None]
    gaps = np.where(is_missing, points, rows) - centers[labels]
    totals = (there * np.square(gaps)).sum(axis=0)
    return totals / there.sum(axis=0)
