"""Fitted methods: every method with its defaults, and the simple methods for comparison."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture

from benchmarks.defaults.data import PUBLIC, DataSet
from benchmarks.defaults.measures import Measures, of_labels, of_partition
from dempster import FocalSets, cluster

__all__ = [
    "FINDERS",
    "FRONT",
    "GIVEN_NUMBER",
    "HDBSCAN_NAME",
    "K_MEANS",
    "MIXTURE",
    "Method",
    "RIVALS",
    "SILHOUETTE",
    "SINGLE",
    "run",
]

K_MEANS = "k-means"
MIXTURE = "Gaussian mixture"
SILHOUETTE = "silhouette"
HDBSCAN_NAME = "HDBSCAN"
TIED = "tied mixture"
SPECTRAL = "spectral clustering"
FRONT = "CredalClustering"
SINGLE = "single clusters"  # ECM without sets of several clusters
RIVALS = (K_MEANS, MIXTURE, TIED, SPECTRAL, SILHOUETTE, HDBSCAN_NAME)
_NUMBERS = range(2, 41)  # up to more than the largest number of classes


@dataclass(frozen=True)
class Method:
    """Function that returns the measures of a data set, and the data sets it is used on."""

    measure: Callable[[DataSet], Measures]
    most_objects: int | None = None
    most_clusters: int | None = None
    families: tuple[str, ...] | None = None  # None for all
    settings: str = ""  # settings that are not the defaults

    def takes(self, data: DataSet) -> bool:
        small = self.most_objects is None or len(data.X) <= self.most_objects
        few = self.most_clusters is None or data.n_classes <= self.most_clusters
        return small and few and (self.families is None or data.family in self.families)

    @property
    def limits(self) -> str:
        """Description of the data sets it is used on; empty for all."""
        parts = [
            f"of at most {limit:,} {what}"
            for limit, what in (
                (self.most_objects, "objects"),
                (self.most_clusters, "clusters"),
            )
            if limit is not None
        ]
        if parts or self.families:
            return " ".join([", ".join(self.families or ()), "sets", *parts]).strip()
        return ""


def run(method: Method, data: DataSet) -> Measures:
    """Return the measures with the processor time of the fit; an error is also a result."""
    began = time.process_time()
    try:
        measures = method.measure(data)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    measures.setdefault("seconds", time.process_time() - began)
    return measures


# ---- the number of clusters is given -------------------------------------------------------------


def _evidential(name: str, **settings: Any) -> Callable[[DataSet], Measures]:
    def measure(data: DataSet) -> Measures:
        model = getattr(cluster, name)(
            data.n_classes, random_state=0, n_jobs=1, **settings
        )
        began = time.process_time()
        model.fit(data.X)
        seconds = time.process_time() - began
        return {**of_partition(model.credal_partition_, data.y), "seconds": seconds}

    return measure


def _evclus(data: DataSet) -> Measures:
    """Fit EVCLUS, and again with the scale that it found to measure the time."""
    began = time.process_time()
    model = cluster.EVCLUS(data.n_classes, random_state=0, n_jobs=1).fit(data.X)
    seconds = time.process_time() - began
    began = time.process_time()
    cluster.EVCLUS(data.n_classes, d0=model.d0_, random_state=0, n_jobs=1).fit(data.X)
    given = time.process_time() - began
    return {
        **of_partition(model.credal_partition_, data.y),
        "seconds": seconds,
        "seconds_given": given,
    }


def _single_clusters(data: DataSet) -> Measures:
    """Fit ECM with single clusters only; the labels of the defaults must agree."""
    family = FocalSets.simple(data.n_classes, empty=False, omega=False)
    return _evidential("ECM", focal_sets=family)(data)


def _k_means(data: DataSet) -> Measures:
    """Use the ratio of the distances to the two nearest centers as doubt."""
    model = KMeans(data.n_classes, n_init=10, random_state=0).fit(data.X)
    near = np.sort(model.transform(data.X), axis=1)
    return of_labels(model.labels_, data.y, near[:, 0] / np.maximum(near[:, 1], 1e-12))


def _mixture(covariance: str) -> Callable[[DataSet], Measures]:
    """Use one minus the largest posterior probability as doubt."""

    def measure(data: DataSet) -> Measures:
        model = GaussianMixture(
            data.n_classes,
            covariance_type=covariance,
            n_init=5,
            random_state=0,
            reg_covar=1e-5,
        )
        posterior = model.fit(data.X).predict_proba(data.X)
        return of_labels(posterior.argmax(axis=1), data.y, 1 - posterior.max(axis=1))

    return measure


def _spectral(data: DataSet) -> Measures:
    model = SpectralClustering(
        data.n_classes, affinity="nearest_neighbors", random_state=0
    )
    return of_labels(model.fit_predict(data.X), data.y)


_SMALL = 1000
_SMALLEST = 400
GIVEN_NUMBER = {
    FRONT: Method(_evidential(FRONT)),
    "EVCLUS": Method(_evclus),
    "ECM": Method(_evidential("ECM")),
    "CCM": Method(_evidential("CCM")),
    "CECM": Method(_evidential("CECM"), settings="no constraints"),
    "EGMM": Method(_evidential("EGMM")),
    "BPEC": Method(_evidential("BPEC")),
    "BootClus": Method(
        _evidential("BootClus", n_bootstraps=30),
        most_clusters=15,
        settings="30 bootstraps",
    ),
    "NNEVCLUS": Method(_evidential("NNEVCLUS"), _SMALLEST, families=(PUBLIC,)),
    "RECM": Method(_evidential("RECM"), _SMALL, families=(PUBLIC,)),
    "MECM": Method(_evidential("MECM"), _SMALL, families=(PUBLIC,)),
    "ECMdd": Method(_evidential("ECMdd"), _SMALL, families=(PUBLIC,)),
    "WECMdd": Method(_evidential("WECMdd"), _SMALL, families=(PUBLIC,)),
    SINGLE: Method(_single_clusters, families=("in a row",)),
    K_MEANS: Method(_k_means),
    MIXTURE: Method(_mixture("full")),
    TIED: Method(_mixture("tied"), settings="one covariance matrix"),
    SPECTRAL: Method(_spectral, settings="nearest neighbors"),
}


# ---- the number of clusters is to be found -------------------------------------------------------


def _found(labels: np.ndarray, n_clusters: int, data: DataSet) -> Measures:
    return {**of_labels(labels, data.y), "found": int(n_clusters)}


def _automatic(name: str, **settings: Any) -> Callable[[DataSet], Measures]:
    def measure(data: DataSet) -> Measures:
        model = getattr(cluster, name)(random_state=0, n_jobs=1, **settings).fit(data.X)
        return _found(model.labels_, model.n_clusters_, data)

    return measure


def _silhouette(data: DataSet) -> Measures:
    """Fit k-means with the number of clusters of largest silhouette."""
    some = np.random.default_rng(0).choice(
        len(data.X), min(1500, len(data.X)), replace=False
    )
    best = -2.0
    labels = np.zeros(len(data.X), dtype=int)
    for k in _NUMBERS:
        if k > len(data.X) // 2:
            break
        tried = KMeans(k, n_init=5, random_state=0).fit_predict(data.X)
        if len(set(tried[some])) > 1:
            value = silhouette_score(data.X[some], tried[some])
        else:
            value = -1
        if value > best:
            best = value
            labels = tried
    return _found(labels, len(set(labels)), data)


def _hdbscan(data: DataSet) -> Measures:
    """Noise is a cluster in the labels, but does not count in their number."""
    labels = HDBSCAN(
        min_cluster_size=max(5, len(data.X) // 100), copy=True
    ).fit_predict(data.X)
    return _found(labels, len(set(labels) - {-1}), data)


FINDERS = {
    "CredalClustering()": Method(_automatic(FRONT)),
    'EVCLUS("auto")': Method(_automatic("EVCLUS", n_clusters="auto")),
    'ECM("auto")': Method(_automatic("ECM", n_clusters="auto")),
    "BeliefPeaks": Method(_automatic("BeliefPeaks")),
    "BPEC()": Method(_automatic("BPEC")),
    "EKNNClus": Method(_automatic("EKNNClus")),
    SILHOUETTE: Method(
        _silhouette,
        settings="k-means with the number from 2 to 40 of largest silhouette",
    ),
    HDBSCAN_NAME: Method(
        _hdbscan, settings="clusters of at least a hundredth of the objects"
    ),
}
