"""Belief peaks: cluster centres, and how many there are."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, to_host
from dempster._errors import InvalidInputError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._types import Metric, Seed, TableLike
from dempster.cluster._base import COMMON_RULES, check_enough_objects, named_rows
from dempster.cluster._peaks import Peaks, find_peaks
from dempster.data.blocks import Blocks, comes_in_blocks, sample_rows
from dempster.data.in_process import open_blocks
from dempster.data.sampling import SAMPLE_SIZE
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.neighbors import ReferenceFinder, finder
from dempster.dissimilarity.partial import filled
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, References, SparseSource
from dempster.optimize.blocks import Apply, block_map


class BeliefPeaks(ClusterMixin, DocumentedEstimator, BaseEstimator):
    """Finds cluster centres, and how many there are, in the plane of belief and delta.

    The K nearest neighbours j of an object i are pieces of evidence that i is the centre of a cluster, the stronger
    the nearer. Combined by Dempster's rule they give the degree of belief

        Bel_i = 1 - prod_j (1 - exp(-(d_ij / s_j)^2) / K),    s_j the q-quantile of the distances from j to its
                                                              neighbours.

    delta_i is the distance from i to the nearest object of higher belief (for the most believed object, the largest
    delta of the others). Centres are peaks: objects for which both are large. Every other object belongs to the
    cluster of its nearest object of higher belief.

    The peaks are chosen among the objects whose belief is at least the median, in decreasing order of prominence
    delta_i Bel_i:

    - the first ``n_clusters`` (of lower belief where too few are left, and equal to another object only then), or
    - those with ``belief_ >= min_belief`` and ``delta_ >= min_delta``, read off `dempster.plot.DeltaBelDisplay`, or
    - automatically: the first k, where the prominences v_1 >= v_2 >= ... make the largest step
      log(v_k / v_{k+1}) log(1 + k), 2 <= k <= 2 n / K. The second factor is there because the first few peaks often
      differ among themselves by the layout of the clusters. There is one cluster if no object but the first is
      believed more than all its neighbours. The rule expects clusters: on data without any it finds some.

    No n x n matrix is made. Memory: 12 K bytes per object.

    Parameters
    ----------
    n_clusters : int or None, default=None
        None: from the thresholds or, without any, automatically.
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`, a function of two rows, "gower" for a table with numbers,
        categories and missing cells, or "precomputed": X is a square matrix of dissimilarities. With a function and
        with "gower" every object is compared with all others.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    n_neighbors : int or "auto", default="auto"
        K, smaller than the clusters, large enough to smooth out chance. "auto": the square root of the number n of
        objects, but at least min(30, n / 5) and at most 300.
    q : float in (0, 1], default=0.9
        Quantile of the distances to the neighbours that serves as scale.
    min_belief, min_delta : float or None, default=None
        Thresholds. With either of them all objects above both are peaks, or the ``n_clusters`` most prominent of them.
        None: the median belief, any delta.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        "approximate": nearest-neighbour descent (needs ``dempster[neighbors]``). "auto": exact, unless there are more
        than 100,000 objects with more than six attributes, the metric is Euclidean and the extra is installed.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``. It is drawn from for approximate
        neighbours; all else is without chance.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.

    Attributes
    ----------
    belief_ : ndarray of shape (n_samples,)
    delta_ : ndarray of shape (n_samples,)
    nearest_higher_ : ndarray of shape (n_samples,)
        Nearest object of higher belief, -1 for the most believed one. Of equally believed objects the first counts as
        higher.
    prominence_ : ndarray of shape (n_samples,)
        Belief times delta.
    peak_indices_ : ndarray of shape (n_clusters,)
        Positions of the centres, the most prominent first.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the peaks; absent for precomputed dissimilarities and for "gower".
    labels_ : ndarray of shape (n_samples,)
        Cluster k is that of ``peak_indices_[k]``.
    n_clusters_ : int
    n_neighbors_ : int
    neighbors_ : str
        "exact" or "approximate".
    min_belief_, min_delta_ : float
        The thresholds that were applied.
    min_prominence_ : float or None
        A value between the prominences of the last peak and of the next object; None if only thresholds chose.
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks. All attributes but ``labels_`` are then those of the drawn ones,
        and positions are positions among these.

    References
    ----------
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems 27. A. Rodriguez
    and A. Laio (2014). Clustering by fast search and find of density peaks. Science 344.

    Examples
    --------
    >>> from dempster.cluster import BeliefPeaks
    >>> from dempster.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = BeliefPeaks(n_neighbors=50).fit(X)
    >>> model.n_clusters_
    4
    >>> bool((model.belief_[model.peak_indices_] > 0.5).all())
    True
    """

    _rules = {
        "n_clusters": rule.choice(None) | rule.integer(1),
        "metric": METRIC_RULE,
        "symmetrize": rule.flag,
        "n_neighbors": rule.choice("auto") | rule.integer(1),
        "q": rule.real(0, 1, open_low=True),
        "min_belief": rule.choice(None) | rule.real(0, 1),
        "min_delta": rule.choice(None) | rule.real(0),
        "neighbors": rule.choice("auto", "exact", "approximate"),
        "random_state": COMMON_RULES["random_state"],
        "n_jobs": COMMON_RULES["n_jobs"],
    }
    labels_: Any

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        n_neighbors: int | str = "auto",
        q: float = 0.9,
        min_belief: float | None = None,
        min_delta: float | None = None,
        neighbors: str = "auto",
        random_state: Seed = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.symmetrize = symmetrize
        self.n_neighbors = n_neighbors
        self.q = q
        self.min_belief = min_belief
        self.min_delta = min_delta
        self.neighbors = neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Find the peaks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
            It may come in blocks (``docs/blocks.md``): the peaks are then those of a sample of 20,000 objects, and the
            labels of all are lazy.
        y : ignored
        """
        with fit_transaction(self) as draft:
            peaks = draft._fitted_to(X)
        for words in peaks.fit_warnings():
            warnings.warn(f"BeliefPeaks: {words}", UserWarning, stacklevel=2)
        return self

    def predict(self, X: TableLike) -> np.ndarray:
        """Cluster of the nearest of the objects given to `fit`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features), or (n_new, n_samples) dissimilarities to the objects of `fit`

        Returns
        -------
        ndarray of shape (n_new,)
            Lazy if X comes in blocks.
        """
        check_is_fitted(self)
        if self._comes_in_blocks(X):
            return self._block_labels(open_blocks(X, self.n_jobs)).lazy()
        with block_map(self.n_jobs) as apply:
            return self._nearest_labels(self._input.new(self, X), apply)

    def _comes_in_blocks(self, X: TableLike) -> bool:
        return not (isinstance(self.metric, str) and self.metric == "precomputed") and comes_in_blocks(X)

    def _nearest_labels(self, values: Any, apply: Apply) -> np.ndarray:
        index, _ = ReferenceFinder(self._references)(values, 1, apply)
        drawn = vars(self).get("_drawn_labels")  # of the objects that were compared, if these were not all
        return (self.labels_ if drawn is None else drawn)[index[:, 0]]

    def _block_labels(self, source: Blocks) -> Blocks:
        assert source.width is not None
        self._input.new(self, named_rows(np.zeros((1, source.width), source.dtype), source))  # checks columns and names
        light = copy.copy(self)
        kept = ("_input", "_references", "_drawn_labels", "n_features_in_", *self.get_params(deep=False))
        known = {"_drawn_labels": self.labels_, **vars(self)}
        light.__dict__ = {name: value for name, value in known.items() if name in kept}
        return source.map(_labels_of_block, light, None, np.int64)

    def _fitted_to(self, X: TableLike) -> Peaks:
        """Set all fitted attributes."""
        rule.check_parameters(self, self._rules)
        if not self._comes_in_blocks(X):
            return self._fitted_to_all(X)
        source = open_blocks(X, self.n_jobs)
        rows = sample_rows(source.counted(), SAMPLE_SIZE, self.random_state)
        peaks = self._fitted_to_all(named_rows(source.take(rows), source))
        self._drawn_labels, self.sample_indices_ = self.labels_, rows
        self.labels_ = self._block_labels(source).lazy()
        return peaks

    def _fitted_to_all(self, X: TableLike) -> Peaks:
        """The same for objects in memory."""
        self._input = DissimilarityInput(self.metric, symmetrize=self.symmetrize, centered=True, fewest=2)
        source = self._input.training(self, X)
        assert isinstance(source, DissimilaritySource)
        check_enough_objects(len(source), self.n_clusters)
        find = finder(source, self.neighbors, self.random_state, self.n_jobs)
        with block_map(self.n_jobs) as apply:
            peaks = find_peaks(
                source,
                find,
                apply,
                self.q,
                n_clusters=self.n_clusters,
                n_neighbors=None if isinstance(self.n_neighbors, str) else self.n_neighbors,
                min_belief=self.min_belief,
                min_delta=self.min_delta,
            )
        self._references = References.of(source, np.arange(len(source)))
        relief = peaks.relief
        self.belief_ = relief.belief
        self.delta_ = relief.delta
        self.nearest_higher_ = relief.nearest_higher
        self.prominence_ = relief.prominence
        self.n_neighbors_ = relief.n_neighbors
        self.peak_indices_ = peaks.indices
        self.labels_ = peaks.labels
        self.n_clusters_ = len(peaks.indices)
        self.min_belief_ = peaks.min_belief
        self.min_delta_ = peaks.min_delta
        self.min_prominence_ = peaks.min_prominence
        self.neighbors_ = find.kind
        if not (self._input.is_precomputed or self._input.is_gower):
            self.cluster_centers_ = self._input.attributes(self, X, peaks.indices)
        return peaks

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


def _labels_of_block(block: np.ndarray, peaks: BeliefPeaks, apply: Apply) -> np.ndarray:
    if len(block) == 0:
        return np.empty(0, np.int64)
    return peaks._nearest_labels(peaks._input.new(peaks, block), apply)


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
    if (isinstance(init, str) and init != "belief-peaks") or not asks_for_peaks(init):
        return init
    return fitted_peaks(init, to_host(X), n_clusters, "euclidean", random_state, n_jobs).cluster_centers_.astype(float)
