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
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, FitRequest, Support
from dempster.cluster._mass_step import MassStep
from dempster.cluster._search import FitResult, Method, Sample, require_singletons
from dempster.cluster._starts import fuzziness, outlier_distance, reasons
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, asks_for_peaks, fitted_peaks
from dempster.cluster.ecm import ZERO, PrototypeModel
from dempster.data import sampling
from dempster.dissimilarity.partial import point_squares
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run, descend
from dempster.partition import CredalPartition


class FixedPrototypeMethod(Method[PrototypeModel, PrototypeModel]):
    """Evidential c-means whose prototypes do not move. There is one start."""

    def __init__(self, estimator: BPEC, sample: Sample[np.ndarray], request: FitRequest, centers: np.ndarray):
        self.estimator, self.values, self.weights, self.apply = (
            estimator,
            sample.values,
            sample.kernel_weights,
            request.apply,
        )
        # second moments, which the adaptive metric needs, lose digits far from the origin
        origin = sampling.mean_of_objects(self.values, self.weights).astype(self.values.dtype)
        self.data, self.centers, self.within = self.values - origin, centers - origin, sample.within
        self.given_centers = centers
        self.zero = ZERO * sampling.mean_squared_deviation(self.data, self.weights)
        self.beta = fuzziness(self.values.shape[1]) if estimator.beta == "auto" else float(estimator.beta)
        self.delta = self._outlier_distance() if estimator.delta == "auto" else float(estimator.delta)

    def draw_starts(self, family: FocalSets) -> list[PrototypeModel]:
        c, p = self.centers.shape
        return [self._model(family, np.stack([np.eye(p)] * c) if self.estimator.metric == "adaptive" else None)]

    def run_start(self, start: PrototypeModel) -> Run[PrototypeModel]:
        return descend(self._step, start, max_iter=self.estimator.max_iter, tol=self.estimator.tol)

    def extend(self, run: Run[PrototypeModel], family: FocalSets) -> Run[PrototypeModel]:
        return self.run_start(self._model(family, run.model.metrics))

    def add_neighbor_pairs(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        return Run(self._model(FocalSets.neighbors(self.centers), run.model.metrics), run.history, run.converged)

    def partition(self, run: Run[PrototypeModel]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def result(self, run: Run[PrototypeModel]) -> FitResult:
        model = replace(run.model, centers=self.given_centers)
        return FitResult(run, model, model.masses(self.values, self.apply))

    def _model(self, family: FocalSets, metrics: np.ndarray | None) -> PrototypeModel:
        require_singletons(family)
        step = MassStep(family, self.estimator.alpha, self.beta, self.delta**2, self.zero)
        return PrototypeModel(step, self.centers, metrics, self.within)

    def _outlier_distance(self) -> float:
        """What delta="auto" stands for, from the distances to the nearest prototype."""
        if has_missing(self.data):
            squares = point_squares(self.data, self.centers).min(axis=1) + np.isnan(self.data) @ self.within
            distances = np.sqrt(squares)
        else:
            from sklearn.metrics import pairwise_distances_argmin_min

            _, distances = pairwise_distances_argmin_min(self.data, self.centers.astype(self.data.dtype))
        return outlier_distance(distances, self.weights if len(self.weights) else np.ones(len(distances)))

    def _step(self, model: PrototypeModel) -> tuple[float, PrototypeModel]:
        """The objective of a model, and the model with the best metrics for its masses."""
        statistics = model.statistics(self.data, self.weights, self.apply)
        return statistics.objective, model.updated(statistics, move_centers=False)


class BPEC(EvidentialClusterer):
    """Belief-peak evidential clustering: `BeliefPeaks` finds the centres, and they stay where they are.

    Masses are those of `ECM` with the prototypes fixed at the belief peaks; with ``metric="adaptive"`` each cluster
    learns its own metric, and the objective of ECM never rises. Nothing is drawn at random and, given the number of
    neighbours, the number of clusters can be left open.

    Parameters
    ----------
    n_clusters : int, "auto" or None, default=None
        "auto" or None: as many as there are peaks (see `BeliefPeaks` for the rule), or as ``init`` or ``focal_sets``
        say.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": each cluster learns a matrix of determinant one (elongated clusters).
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness: towards 1 the masses become certain. "auto": 1.5 up to five attributes, then less the more there are.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the data: smaller values give more outliers. "auto": the upper
        fence of a box plot (two interquartile ranges above the third quartile) of the distances to the nearest
        peak.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN). "partial": objects are compared by the attributes that they have, and one
        that is missing adds the same to all costs, its variance within clusters: the less is known of an object, the
        more it is in doubt. An object without any value is refused, and so is the adaptive metric.
        ``docs/missing.md`` tells when to impute instead.
    init : "belief-peaks", BeliefPeaks or array of shape (n_clusters, n_features), default="belief-peaks"
        The centres: found with the default parameters of `BeliefPeaks`, with those of the one given, or given.
    max_iter : int, default=500
        For the adaptive metric.
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``. It is drawn from for approximate
        neighbours in large data of many dimensions; all else is without chance.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The peaks, the most prominent first.
    belief_peaks_ : BeliefPeaks
        As fitted; `dempster.plot.DeltaBelDisplay.from_estimator` shows it. Absent if centres were given.
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        With the adaptive metric.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        What was used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks; ``belief_peaks_`` are those of these.

    References
    ----------
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems 27.

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

    _rules = {
        **{name: r for name, r in COMMON_RULES.items() if name != "n_init"},
        "n_clusters": rule.choice(None, "auto") | rule.integer(1),
        "metric": rule.choice("euclidean", "adaptive"),
        "alpha": rule.real(0),
        "beta": rule.choice("auto") | rule.real(1, 50, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": PEAKS_RULE | rule.array,
        "missing": MISSING_RULE,
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
        n_neighbor_clusters: int = 1,
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
        self.n_neighbor_clusters = n_neighbor_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Find the peaks and the masses around them.

        There are no weights: belief peaks know none, so that a fit with weights could not be that of repeated rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): the peaks are
            then those of a sample of 20,000 objects, and the masses of all are lazy.
        y : ignored
        """
        return self._fit(X)

    def _find_n_clusters(self, sample: Sample[np.ndarray], apply: Apply) -> int:
        """As many as there are peaks, unless the centres are given."""
        wanted = self.focal_sets.n_clusters if isinstance(self.focal_sets, FocalSets) else self._requested_clusters()
        self._peaks: BeliefPeaks | None = None
        if asks_for_peaks(self.init):
            settings = "euclidean", self.random_state, self.n_jobs
            self._peaks = fitted_peaks(self.init, sample.values, wanted, *settings)
            return self._peaks.n_clusters_
        return len(self.init) if wanted is None else wanted

    def _make_method(self, sample: Sample[np.ndarray], request: FitRequest) -> FixedPrototypeMethod:
        if self._peaks is None:
            centers = _starts.checked_centers(self.init, (request.n_clusters, sample.values.shape[1]))
        else:
            centers = self._peaks.cluster_centers_.astype(float)
        return FixedPrototypeMethod(self, sample, request, centers)

    def _auto_params(self, method: FixedPrototypeMethod) -> dict[str, str]:
        used = method.beta, method.delta
        return reasons(self.beta, self.delta, *used)

    def _fitted_attributes(self, method: FixedPrototypeMethod, model: PrototypeModel) -> dict[str, Any]:
        found = {
            "cluster_centers_": model.centers.astype(method.values.dtype),
            "delta_": method.delta,
            "beta_": method.beta,
        }
        if self._peaks is not None:
            found["belief_peaks_"] = self._peaks
        if model.metrics is not None:
            found["metric_matrices_"] = model.metrics
        return found
