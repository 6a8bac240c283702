"""What a missing attribute counts for, its variance or usual difference within clusters: learnt before a method begins.

See `dempster.dissimilarity.partial` for why. The variance stays the same during a descent, so that an objective with
it never rises.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dempster._validation import clip_to_range
from dempster.cluster._medoid_starts import medoid_starts
from dempster.cluster._search import Sample
from dempster.data.sampling import order_along_line, sample_in_order
from dempster.dissimilarity.partial import filled, point_squares
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, GowerSource
from dempster.optimize.k_means import k_means

_SAMPLE_SIZE = 2000
_STARTS = 5  # of k-means
_COMPARED = 500  # rows of a mixed table
_SOME_CLUSTERS = 5  # where their number is to be found
_LAST_STEPS = 5  # of the best of them, without stand-ins


def prepared(sample: Sample[Any], n_clusters: int) -> Sample[Any]:
    """The same objects, and what attributes that they, or new ones, lack count for. Those of a matrix stay as they
    are."""
    values = sample.values
    if isinstance(values, GowerSource):
        return replace(sample, values=GowerSource(values.objects, usual_differences(values, n_clusters)))
    if isinstance(values, AttributeSource):
        within = within_variances(values.objects, sample.weights, n_clusters)
        return replace(sample, values=values.with_within(within))
    if isinstance(values, np.ndarray):
        return replace(sample, within=within_variances(values, sample.weights, n_clusters))
    return sample


def comparable(source: DissimilaritySource) -> DissimilaritySource:
    """Objects that can be compared, before their number of clusters is known."""
    if isinstance(source, GowerSource):
        return GowerSource(source.objects, usual_differences(source, _SOME_CLUSTERS))
    return source


def usual_differences(source: GowerSource, n_clusters: int) -> np.ndarray:
    """(p,) mean differences of the columns of a mixed table between rows of the same cluster, by medoids among some of
    the different rows; weights have no part in it."""
    from dempster.dissimilarity.gower import column_differences, partial_gower_block

    different = dict(zip(source.keys(source.objects), range(len(source)), strict=True))
    order = np.array([different[key] for key in sorted(different)])
    some = source.objects[order[np.unique(np.linspace(0, len(order) - 1, min(len(order), _COMPARED)).astype(int))]]
    gaps = np.array(column_differences(some))
    D = partial_gower_block(some, some, _mean(gaps, np.ones(gaps.shape[1:], dtype=bool)))
    medoids = medoid_starts(D, min(n_clusters, len(D)), 1, np.random.default_rng(0))[0]
    labels = D[medoids].argmin(axis=0)
    together = (labels[:, None] == labels) & ~np.eye(len(D), dtype=bool)
    return _mean(gaps, together)


def _mean(gaps: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """(p,) means of (p, n, n) differences over some pairs, where there are any; zero where there are none."""
    there = pairs & ~np.isnan(gaps)
    return np.where(there, gaps, 0).sum(axis=(1, 2)) / np.maximum(there.sum(axis=(1, 2)), 1)


def within_variances(X: np.ndarray, weights: np.ndarray | None, n_clusters: int) -> np.ndarray:
    """(p,) variances of the attributes within the clusters of the best of several k-means, over the values that are
    there.

    The k-means begin with stand-ins for missing cells and end without: objects by the attributes that they have,
    centers by the objects that have them. Chance has no part in it that a user could set: complete data give the same
    fit with and without it.
    """
    rng = np.random.RandomState(0)
    w = np.ones(len(X)) if weights is None else weights.astype(float)
    which, counts = sample_in_order(order_along_line(X), w, _SAMPLE_SIZE, rng)
    rows = X[which] - clip_to_range(np.nanmean(X, axis=0, dtype=float), X)
    points = filled(rows)
    runs = [k_means(points, min(n_clusters, len(points)), rng, counts) for _ in range(_STARTS)]
    centers, labels = min(runs, key=lambda run: float(counts @ np.square(points - run[0][run[1]]).sum(axis=1)))
    there = np.where(np.isnan(rows), 0.0, counts[:, None])
    for _ in range(_LAST_STEPS):
        labels = point_squares(rows, centers).argmin(axis=1)
        members = labels == np.arange(len(centers))[:, None]
        amount = members @ there
        moved = members @ (there * np.nan_to_num(rows)) / np.where(amount > 0, amount, 1)
        centers = np.where(amount > 0, moved, centers)
    there[:, ~there.any(axis=0)] = counts[:, None]  # a column of which the sample has nothing
    gaps = np.where(np.isnan(rows), points, rows) - centers[labels]
    return (there * np.square(gaps)).sum(axis=0) / there.sum(axis=0)
