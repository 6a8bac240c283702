"""Belief peaks as starts of other methods: what ``init="belief-peaks"``, or a `BeliefPeaks`, stands for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from dempster import _parameters as rule
from dempster._arrays import Array, to_host
from dempster._errors import InvalidInputError
from dempster._types import Metric, Seed
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.dissimilarity.partial import filled
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, SparseSource

__all__ = ["PEAKS_RULE", "asks_for_peaks", "fitted_peaks", "peaks_of_source", "centers_from_peaks"]

PEAKS_RULE = rule.choice("belief-peaks") | rule.kind(BeliefPeaks)


def asks_for_peaks(init: Any) -> bool:
    """Whether a start is to be found by belief peaks."""
    return isinstance(init, BeliefPeaks) or (isinstance(init, str) and init == "belief-peaks")


def fitted_peaks(
    init: str | BeliefPeaks, table: Any, n_clusters: int | None, metric: Metric, random_state: Seed, n_jobs: int | None
) -> BeliefPeaks:
    """Belief peaks of the objects; one of the user's own is copied. Their number must be that of the clusters.

    Missing cells have stand-ins: a peak that becomes a prototype must have all attributes.
    """
    peaks = BeliefPeaks(n_clusters, metric=metric, random_state=random_state, n_jobs=n_jobs)
    if isinstance(init, BeliefPeaks):
        peaks = clone(init)
        if peaks.n_clusters is None:
            peaks.set_params(n_clusters=n_clusters)
    peaks.fit(filled(table) if isinstance(table, np.ndarray) else table)
    if n_clusters is not None and peaks.n_clusters_ != n_clusters:
        raise InvalidInputError(f"init finds {peaks.n_clusters_} belief peaks, but n_clusters={n_clusters}")
    return peaks


def peaks_of_source(
    init: Any,
    source: DissimilaritySource | SparseSource,
    n_clusters: int,
    random_state: Seed,
    n_jobs: int | None,
) -> BeliefPeaks | None:
    """Belief peaks of objects with these dissimilarities, if they are asked for; a `BeliefPeaks` of the user's own
    compares them in the same way."""
    if not asks_for_peaks(init):
        return None
    if isinstance(source, SparseSource):
        raise InvalidInputError(
            "init asks for belief peaks, which need all dissimilarities, but X is a sparse matrix of some"
        )
    if isinstance(source, AttributeSource):
        metric, table = source.metric, to_host(source.objects)
    else:
        everyone = np.arange(len(source))
        metric, table = "precomputed", source.block(everyone, everyone) if source.matrix is None else source.matrix
    if isinstance(init, BeliefPeaks):
        init = clone(init).set_params(metric=metric)
    return fitted_peaks(init, table, n_clusters, metric, random_state, n_jobs)


def centers_from_peaks(init: Any, X: Array, n_clusters: int, random_state: Seed, n_jobs: int | None) -> Any:
    """The attributes of the peaks, if they are asked for; any other start as it is."""
    if not asks_for_peaks(init):
        return init
    return fitted_peaks(init, to_host(X), n_clusters, "euclidean", random_state, n_jobs).cluster_centers_.astype(float)
