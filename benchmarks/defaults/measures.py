"""Measures of a partition of objects with known classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.defaults.data import NOISE
from dempster import CredalPartition
from dempster.explain import doubt_scores, retention_curve
from dempster.explain.scores import count_pairs, match_one_to_one

__all__ = ["SHARES", "Measures", "of_labels", "of_partition"]

# proportions of the objects that are kept
SHARES = (
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1.0,
)
Measures = dict[str, Any]


def match_clusters(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the cluster of each class, matched one to one, or -1 for a class without a cluster."""
    n_classes = classes.max() + 1
    n_clusters = labels.max() + 1
    return match_one_to_one(count_pairs(classes, labels, n_classes, n_clusters))


def of_labels(
    labels: np.ndarray, y: np.ndarray, doubt: np.ndarray | None = None
) -> Measures:
    """Return the ARI of all objects that have a class and of the most certain ones."""
    real = y != NOISE
    measures: Measures = {"ari": adjusted_rand_score(y[real], labels[real])}
    if doubt is not None:
        measures["kept"] = retention_curve(
            labels[real], y[real], doubt=doubt[real], shares=SHARES
        ).quality.tolist()
    return measures


def of_partition(partition: CredalPartition, y: np.ndarray) -> Measures:
    """Return the same measures, and the frequency and correctness of ambiguous results.

    ``held`` is the proportion of ambiguous objects whose set contains the cluster of their class,
    ``hard`` the proportion whose label is that cluster. ``outliers`` is the proportion of false
    outliers, ``planted`` the proportion of planted outliers that are found.
    """
    real = y != NOISE
    certain = real.copy()
    ambiguous = np.zeros(len(y), dtype=bool)
    outlying = np.zeros(len(y), dtype=bool)
    ambiguous[partition.ambiguous] = True
    outlying[partition.outliers] = True
    certain &= ~ambiguous & ~outlying
    in_doubt = real & ambiguous
    measures = of_labels(partition.labels, y, doubt_scores(partition))
    measures["ambiguous"] = float(ambiguous[real].mean())
    measures["outliers"] = float(outlying[real].mean())
    if (~real).any():
        measures["planted"] = float(outlying[~real].mean())
    if certain.sum() > 2:
        measures["certain"] = adjusted_rand_score(y[certain], partition.labels[certain])
    if in_doubt.any():
        cluster = match_clusters(y[real], partition.labels[real])[y[in_doubt]]
        known = cluster >= 0
        sets = partition.assignment()[in_doubt]
        measures["held"] = float(
            np.mean(known & sets[np.arange(len(sets)), np.maximum(cluster, 0)])
        )
        measures["hard"] = float(np.mean(partition.labels[in_doubt] == cluster))
    return measures
