"""What is measured of a partition of objects whose classes are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks.defaults.data import NOISE
from dempster import CredalPartition
from dempster.explain import doubt_scores, retention_curve
from dempster.explain.scores import match_clusters

__all__ = ["SHARES", "Measures", "of_labels", "of_partition"]

SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)  # of the objects kept
Measures = dict[str, Any]


def of_labels(labels: np.ndarray, y: np.ndarray, doubt: np.ndarray | None = None) -> Measures:
    """Agreement with the classes of all objects that have one and, by their doubt, of the surest."""
    real = y != NOISE
    measures: Measures = {"ari": adjusted_rand_score(y[real], labels[real])}
    if doubt is not None:
        measures["kept"] = retention_curve(labels[real], y[real], doubt=doubt[real], shares=SHARES).quality.tolist()
    return measures


def of_partition(partition: CredalPartition, y: np.ndarray) -> Measures:
    """The same, and what is said in doubt: how often, and whether it is true.

    Of the ambiguous objects, ``held`` is the share whose set holds the cluster of their class, ``hard`` the share
    whose label is that cluster. ``outliers`` counts false ones, ``planted`` the share found of those planted.
    """
    real = y != NOISE
    certain, ambiguous, outlying = real.copy(), np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
    ambiguous[partition.ambiguous] = True
    outlying[partition.outliers] = True
    certain &= ~ambiguous & ~outlying
    torn = real & ambiguous
    measures = of_labels(partition.labels, y, doubt_scores(partition))
    measures["ambiguous"] = float(ambiguous[real].mean())
    measures["outliers"] = float(outlying[real].mean())
    if (~real).any():
        measures["planted"] = float(outlying[~real].mean())
    if certain.sum() > 2:
        measures["certain"] = adjusted_rand_score(y[certain], partition.labels[certain])
    if torn.any():
        cluster = match_clusters(y[real], partition.labels[real])[y[torn]]
        known = cluster >= 0
        sets = partition.assignment()[torn]
        measures["held"] = float(np.mean(known & sets[np.arange(len(sets)), np.maximum(cluster, 0)]))
        measures["hard"] = float(np.mean(partition.labels[torn] == cluster))
    return measures
