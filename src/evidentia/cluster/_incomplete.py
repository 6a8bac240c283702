"""What a missing attribute counts for: its variance within clusters, learnt before a method begins.

See `evidentia.dissimilarity.partial` for why. The variance stays the same during a descent, so that an objective with
it never rises.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evidentia.cluster._search import Sample
from evidentia.cluster._starts import order_along_line, sample_in_order
from evidentia.dissimilarity.partial import filled
from evidentia.dissimilarity.sources import AttributeSource
from evidentia.optimize.k_means import k_means

__all__ = ["prepared", "within_variances"]

_SAMPLE_SIZE = 2000
_STARTS = 5  # of k-means


def prepared(sample: Sample[Any], n_clusters: int) -> Sample[Any]:
    """The same objects, and what attributes that they, or new ones, lack count for. Objects without attributes of
    numbers stay as they are."""
    values = sample.values
    if isinstance(values, AttributeSource):
        within = within_variances(values.objects, sample.weights, n_clusters)
        return replace(sample, values=values.with_within(within))
    if isinstance(values, np.ndarray):
        return replace(sample, within=within_variances(values, sample.weights, n_clusters))
    return sample


def within_variances(X: np.ndarray, weights: np.ndarray | None, n_clusters: int) -> np.ndarray:
    """(p,) variances of the attributes within the clusters of the best of several k-means, over the values that are
    there. Chance has no part in it that a user could set: complete data give the same fit with and without it."""
    rng = np.random.RandomState(0)
    w = np.ones(len(X)) if weights is None else weights.astype(float)
    which, counts = sample_in_order(order_along_line(X), w, _SAMPLE_SIZE, rng)
    rows = X[which].astype(float)
    points = filled(rows - np.nanmean(X, axis=0, dtype=float))
    best, least = points, np.inf
    for _ in range(_STARTS):
        centers, labels = k_means(points, min(n_clusters, len(points)), rng, counts)
        gaps = np.square(points - centers[labels])
        if (inertia := float(counts @ gaps.sum(axis=1))) < least:
            best, least = gaps, inertia
    there = np.where(np.isnan(rows), 0.0, counts[:, None])
    there[:, ~there.any(axis=0)] = counts[:, None]  # a column of which the sample has nothing
    return (there * best).sum(axis=0) / there.sum(axis=0)
