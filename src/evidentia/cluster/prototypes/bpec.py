"""Belief-peak evidential clustering."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from evidentia import _parameters as rule
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.neighbors.belief_peaks import BeliefPeaks
from evidentia.cluster.prototypes._method import checked_centers, require_singletons
from evidentia.cluster.prototypes._model import Model
from evidentia.optimize.blocks import block_map, row_blocks
from evidentia.optimize.descent import Run, descend
from evidentia.partition import CredalPartition

__all__ = ["BPEC"]

_DELTA_FACTOR = 10.0  # delta="auto": squared, this many times the mean squared distance to the nearest centre


class BPEC(EvidentialClusterer):
    """Belief-peak evidential clustering: `BeliefPeaks` finds the centres, and they stay where they are.

    Masses are those of `ECM` with the prototypes fixed at the belief peaks; with ``metric="adaptive"`` each cluster
    learns its own metric, and the objective of ECM never rises. Nothing is drawn at random and, given the number of
    neighbours, the number of clusters can be left open.

    Parameters
    ----------
    n_clusters : int or None, default=None
        None: as many as there are peaks (see `BeliefPeaks` for the rule), or as ``init`` or ``focal_sets`` say.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the data: smaller values give more outliers. "auto": squared, ten times
        the mean squared distance to the nearest peak.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": each cluster learns a matrix of determinant one (elongated clusters).
    init : "belief-peaks", BeliefPeaks or array of shape (n_clusters, n_features), default="belief-peaks"
        The centres: found with the default parameters of `BeliefPeaks`, with those of the one given, or given.
    max_iter : int, default=500
        For the adaptive metric.
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbors : int, default=1
        For ``focal_sets="selected"``: pairs among the ``n_neighbors`` nearest clusters of each other. The neighbours
        that bear witness to a peak are a parameter of `BeliefPeaks`.
    random_state : int, RandomState, Generator or None
        For approximate neighbours in large data of many dimensions; all else is without chance.
    n_jobs : int or None
        Threads; None and -1 use all processors.
    verbose : int, default=0
        Ignored: there is one start only.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The peaks, the most prominent first.
    belief_peaks_ : BeliefPeaks
        As fitted; `evidentia.plot.DeltaBelDisplay.from_estimator` shows it. Absent if centres were given.
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        With the adaptive metric.
    n_clusters_ : int
    focal_sets_ : FocalSets
    delta_ : float
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems 27.

    Examples
    --------
    >>> from evidentia.cluster import BPEC, BeliefPeaks
    >>> from evidentia.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = BPEC(init=BeliefPeaks(n_neighbors=50)).fit(X)
    >>> model.n_clusters_
    4
    >>> bool((model.cluster_centers_ == X[model.belief_peaks_.peaks_]).all())
    True
    """

    _rules = {
        **{name: r for name, r in COMMON_RULES.items() if name != "n_init"},
        "n_clusters": rule.choice(None) | rule.integer(1),
        "alpha": rule.real(0),
        "beta": rule.real(1, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "metric": rule.choice("euclidean", "adaptive"),
        "init": rule.choice("belief-peaks") | rule.kind(BeliefPeaks) | rule.array,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        focal_sets: str | FocalSets = "auto",
        alpha: float = 1.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        metric: str = "euclidean",
        init: Any = "belief-peaks",
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbors: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.metric = metric
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _c(self) -> int:
        return self.n_clusters_

    def fit(self, X: Any, y: Any = None) -> BPEC:
        """Find the peaks and the masses around them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index.
        y : ignored
        """
        self._check_parameters()
        data = self._checked_objects(X, reset=True)
        centers = self._centers(data)
        self.n_clusters_ = len(centers)
        # second moments lose digits far from the origin
        origin = data.mean(axis=0, dtype=float).astype(data.dtype)
        with block_map(self.n_jobs) as apply:
            solver = _Solver(self, data - origin, centers - origin, apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
            model = replace(run.model, centers=centers)
            masses = model.masses(data, apply)
        self._model = model
        self.cluster_centers_ = centers.astype(data.dtype)
        if model.metrics is not None:
            self.metric_matrices_ = model.metrics
        self.delta_ = model.delta
        self._set_result(run, masses, model.family, object_index(X))
        return self

    def _centers(self, data: np.ndarray) -> np.ndarray:
        wanted = self.focal_sets.n_clusters if isinstance(self.focal_sets, FocalSets) else self.n_clusters
        if isinstance(self.init, str | BeliefPeaks):
            self.belief_peaks_ = _starts.belief_peaks(self.init, data, wanted, self)
            return self.belief_peaks_.cluster_centers_.astype(float)
        return checked_centers(self.init, (len(self.init) if wanted is None else wanted, data.shape[1]))

    def _masses(self, X: np.ndarray) -> np.ndarray:
        with block_map(self.n_jobs) as apply:
            return self._model.masses(X, apply)


class _Solver:
    """The data of one fit, and how to learn the metrics for one family of focal sets."""

    def __init__(self, estimator: BPEC, data: np.ndarray, centers: np.ndarray, apply: Callable):
        self.estimator, self.data, self.centers, self.apply = estimator, data, centers, apply
        self.zero = 1e-12 * _starts.mean_squared_deviation(data, np.empty(0))
        if estimator.delta != "auto":
            self.delta = float(estimator.delta)
        else:
            self.delta = float(np.sqrt(_DELTA_FACTOR * _mean_squared_distance(data, centers))) or 1.0

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        require_singletons(family)
        e = self.estimator
        metrics = None
        if e.metric == "adaptive":
            metrics = np.stack([np.eye(self.data.shape[1])] * len(self.centers))
            metrics = metrics if previous is None else previous.model.metrics
        start = Model(family, self.centers, e.alpha, e.beta, self.delta, self.zero, metrics)
        return descend(self._step, start, max_iter=e.max_iter, tol=e.tol)

    def partition_of(self, run: Run) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def _step(self, model: Model) -> tuple[float, Model]:
        statistics = model.statistics(self.data, np.empty(0), self.apply)
        return statistics.objective, model.updated(statistics, move_centers=False)


def _mean_squared_distance(X: np.ndarray, centers: np.ndarray) -> float:
    """Mean squared distance to the nearest centre, in blocks."""
    from sklearn.metrics import pairwise_distances_argmin_min

    total = 0.0
    for start, stop in row_blocks(len(X), most=None):
        _, distance = pairwise_distances_argmin_min(X[start:stop], centers.astype(X.dtype))
        total += float(np.sum(distance.astype(float) ** 2))
    return total / len(X)
