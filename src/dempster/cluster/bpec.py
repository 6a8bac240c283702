"""Belief-peak evidential clustering."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._types import ArrayLike, Seed, TableLike
from dempster._validation import has_missing
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._base import COMMON_RULES, FitRequest, Support
from dempster.cluster._mass_step import MassMethod
from dempster.cluster._search import FitResult, Sample
from dempster.cluster._starts import outlier_distance
from dempster.cluster.belief_peaks import (
    PEAKS_RULE,
    BeliefPeaks,
    fit_peaks,
    uses_belief_peaks,
)
from dempster.cluster.ecm import ZERO, PrototypeClusterer, PrototypeModel
from dempster.data.rows import Rows
from dempster.data.sampling import mean_squared_deviation
from dempster.dissimilarity.partial import squared_distances_to_points
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run
from dempster.posterior.boundaries import count_boundaries, neighbor_family


class FixedPrototypeMethod(MassMethod[PrototypeModel]):
    """Evidential c-means with fixed prototypes and therefore a single start."""

    def __init__(
        self,
        estimator: BPEC,
        sample: Sample[np.ndarray],
        request: FitRequest,
        centers: np.ndarray,
    ):
        super().__init__(estimator, sample, request)
        self.values = sample.values
        rows = Rows(self.values, np.empty(0), self.apply)
        # The adaptive metric needs second moments, which are inaccurate far from the origin.
        origin = rows.mean().astype(self.values.dtype)
        rows = rows.shift(origin)
        self.data = rows.values
        self.centers = centers - origin
        self.within = sample.within
        self.original_centers = centers
        self.zero = ZERO * mean_squared_deviation(self.data, np.empty(0))

    def draw_starts(self, family: FocalSets) -> list[PrototypeModel]:
        metrics = None
        if self.estimator.metric == "adaptive":
            c, p = self.centers.shape
            metrics = np.stack([np.eye(p)] * c)
        return [self._model(family, metrics)]

    def add_neighbor_pairs(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        squares = run.model.squared_distances(self.data)
        family = neighbor_family(count_boundaries(squares))
        return replace(run, model=self._model(family, run.model.metrics))

    def result(self, run: Run[PrototypeModel]) -> FitResult:
        model = replace(run.model, centers=self.original_centers)
        return FitResult(run, model, model.masses(self.values, self.apply))

    def _model(self, family: FocalSets, metrics: np.ndarray | None) -> PrototypeModel:
        step = self._mass_step(family)
        return PrototypeModel(step, self.centers, metrics, self.within)

    def _outlier_cost(self) -> float:
        """Return the cost of the empty set, from the distances to the nearest prototype."""
        X = self.data
        if has_missing(X):
            squares = squared_distances_to_points(X, self.centers).min(axis=1)
            distances = np.sqrt(squares + np.isnan(X) @ self.within)
        else:
            from sklearn.metrics import pairwise_distances_argmin_min

            centers = self.centers.astype(X.dtype)
            _, distances = pairwise_distances_argmin_min(X, centers)
        return outlier_distance(distances, np.ones(len(X))) ** 2

    def _step(
        self, model: PrototypeModel, *, on_sample: bool
    ) -> tuple[float, PrototypeModel]:
        """Return the objective of a model, and the model with the best metrics for its masses."""
        statistics = model.statistics(self.data, np.empty(0), self.apply)
        return statistics.objective, model.update_metrics(statistics)


class BPEC(PrototypeClusterer):
    """Belief-peak evidential clustering: `ECM` with the fixed centers of `BeliefPeaks`.

    The masses minimize the objective of `ECM`, with prototypes fixed at the belief peaks. With
    ``metric="adaptive"``, a metric is fitted for each cluster, and the objective never increases.
    The result is deterministic, and `BeliefPeaks` can determine the number of clusters.

    Parameters
    ----------
    n_clusters : int, "auto" or None, default=None
        Number of clusters. "auto" or None is the number of clusters of ``focal_sets`` or ``init``
        if it is specified there; otherwise it is the number of peaks (see `BeliefPeaks` for the
        rule).
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without changing the metrics.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive" learns a metric matrix of determinant one for each cluster, for elongated
        clusters.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness; values near 1 give nearly certain masses. "auto" is 1.5 for up to five
        attributes, else smaller.
    delta : float > 0 or "auto", default="auto"
        Distance from objects to the empty set, in units of the data; smaller values give more
        outliers. "auto" is the upper fence of a box plot (third quartile plus two interquartile
        ranges) of their distances to the nearest peak.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN), as in `ECM`; "partial" compares objects by the attributes
        that they have. "refuse" raises an error. "partial" adds the variance within clusters for
        each missing attribute.
    init : "belief-peaks", BeliefPeaks or array-like, default="belief-peaks"
        Centers of the clusters: those of `BeliefPeaks` with default or given parameters, or an
        array.
    max_iter : int, default=500
        Maximum number of iterations for the adaptive metric.
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``. Only approximate neighbors, in
        large data of many dimensions, are random.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Masses of the objects.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the peaks, the most prominent first.
    belief_peaks_ : BeliefPeaks
        Fitted peaks, for `dempster.plot.DeltaBelDisplay.from_estimator`. Absent if ``init`` is an
        array.
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        Metric matrices of the clusters; only with the adaptive metric.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        Values of ``beta`` and ``delta`` that were used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the objects in the sample, if X came in blocks; ``belief_peaks_`` is fitted to
        the sample.

    References
    ----------
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems
    27.

    Examples
    --------
    >>> from dempster.cluster import BPEC, BeliefPeaks
    >>> from dempster.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = BPEC(init=BeliefPeaks(n_neighbors=50)).fit(X)
    >>> model.n_clusters_
    4
    >>> bool((model.cluster_centers_ == X[model.belief_peaks_.peak_indices_]).all())
    True
    """

    _model: PrototypeModel

    _rules = {
        **COMMON_RULES,
        "n_clusters": rule.choice(None, "auto") | rule.positive_integer,
        "metric": rule.choice("euclidean", "adaptive"),
        "init": PEAKS_RULE | rule.array,
    }
    _support = Support(blocks=True)

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: str = "euclidean",
        alpha: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | ArrayLike = "belief-peaks",
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.missing = missing
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Find the peaks and compute the masses.

        The method does not accept sample weights, because belief peaks cannot use them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 data are not converted. The partition keeps the index of a DataFrame. X may come
            in blocks (``docs/blocks.md``); the peaks are then found in a sample of 20,000 objects,
            and the masses of all objects are lazy.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X)

    def _find_n_clusters(self, sample: Sample[np.ndarray], apply: Apply) -> int:
        """Return the number of belief peaks, or the number of centers if ``init`` is an array."""
        n_clusters = self._requested_clusters()
        if isinstance(self.focal_sets, FocalSets):
            n_clusters = self.focal_sets.n_clusters
        self._peaks: BeliefPeaks | None = None
        if uses_belief_peaks(self.init):
            settings = "euclidean", self.random_state, self.n_jobs
            self._peaks = fit_peaks(self.init, sample.values, n_clusters, *settings)
            return self._peaks.n_clusters_
        if n_clusters is None:
            return len(self.init)
        return n_clusters

    def _make_method(
        self, sample: Sample[np.ndarray], request: FitRequest
    ) -> FixedPrototypeMethod:
        if self._peaks is None:
            shape = (request.n_clusters, sample.values.shape[1])
            centers = _starts.validate_centers(self.init, shape)
        else:
            centers = self._peaks.cluster_centers_.astype(float)
        return FixedPrototypeMethod(self, sample, request, centers)

    def _fitted_attributes(
        self, method: FixedPrototypeMethod, model: PrototypeModel
    ) -> dict[str, Any]:
        found = super()._fitted_attributes(method, model)
        if self._peaks is not None:
            found["belief_peaks_"] = self._peaks
        return found
