"""Belief peaks, which estimate cluster centers and their number."""

from __future__ import annotations

import warnings
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, to_host
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._types import ArrayLike, MaybeUnset, Metric, Seed, TableLike
from dempster.cluster._base import COMMON_RULES
from dempster.cluster._distinct_rows import (
    find_first_copies,
    without_common_repetition,
)
from dempster.cluster._open_sample import (
    check_enough_rows,
    light_copy,
    named_rows,
    warn_about_table,
)
from dempster.cluster._peaks import find_peaks
from dempster.data.blocks import Blocks, comes_in_blocks, sample_rows
from dempster.data.in_process import open_blocks
from dempster.data.sampling import SAMPLE_SIZE
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.neighbors import ReferenceFinder, make_finder
from dempster.dissimilarity.partial import impute_missing
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    References,
    SparseSource,
)
from dempster.optimize.blocks import Apply, block_map
from dempster.partition import CredalPartition


class BeliefPeaks(ClusterMixin, DocumentedEstimator, BaseEstimator):
    r"""Find cluster centers (belief peaks) and their number.

    The K nearest neighbors j of an object i are pieces of evidence that i is the center of a
    cluster. Near neighbors are stronger evidence. Dempster's rule combines the pieces of evidence
    into the degree of belief

    .. math::

        Bel_i = 1 - \prod_j \Bigl(1 - \frac{1}{K} \exp\bigl(-(d_{ij} / s_j)^2\bigr)\Bigr),

    where d_ij is the distance between i and j, and s_j is the q-quantile of the distances from j to
    its neighbors. delta_i is the distance from i to the nearest object of higher belief. For the
    object of the highest belief, it is the largest delta of the other objects. The centers are
    peaks, which have a large Bel_i and a large delta_i. Every other object belongs to the cluster
    of its nearest object of higher belief.

    The candidates are the objects whose belief is at least the median, in decreasing order of the
    prominence delta_i Bel_i. There are three ways to select the peaks:

    - If ``n_clusters`` is set, the peaks are the first ``n_clusters`` candidates. Objects of lower
      belief, and objects equal to another object, are used only if there are too few candidates.
    - If thresholds are set, the peaks are all objects with ``belief_ >= min_belief`` and ``delta_
      >= min_delta``. `dempster.plot.DeltaBelDisplay` helps to choose the thresholds.
    - Otherwise, the peaks are the first k candidates. The number k, 2 <= k <= 2 n / K, maximizes
      the step :math:`\log(v_k / v_{k+1}) \log(1 + k)` of the sorted prominences v_1 >= v_2 >= ...
      of the n objects. The second factor is needed because the prominences of the first few peaks
      often differ much. There is one cluster if only one object has a higher belief than all its
      neighbors. The rule does not test whether there are clusters.

    If every object has the same number of copies, or a multiple of it, the copies are left out, so
    a table with all rows repeated gives the peaks of the table.

    The n x n matrix of distances is not stored. Each object needs 12 K bytes of memory.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters. None selects it by the thresholds or, without thresholds, automatically.
    metric : str or callable, default="euclidean"
        A metric of `sklearn.neighbors.NearestNeighbors`, a function of two rows, "gower" for a
        table with numbers, categories and missing values, or "precomputed" if X is a square matrix
        of dissimilarities. With a function and with "gower", every object is compared with all
        other objects.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    n_neighbors : int or "auto", default="auto"
        Number K of neighbors. It should be smaller than the clusters but large enough to reduce
        noise. "auto" is the square root of the number n of objects, but at least min(30, n / 5) and
        at most 300.
    q : float in (0, 1], default=0.9
        Level of the quantile of the distances to the neighbors that is the scale s_j.
    min_belief, min_delta : float or None, default=None
        Thresholds of belief and delta. If one of them is set, the peaks are all objects that reach
        both thresholds, or the ``n_clusters`` most prominent of these objects. None is the median
        belief for ``min_belief``, and zero for ``min_delta``.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Search for the neighbors. "approximate" is nearest-neighbor descent (requires
        ``dempster[neighbors]``). "auto" is "approximate" if there are more than 100,000 objects
        with more than six attributes, the metric is Euclidean and ``dempster[neighbors]`` is
        installed; otherwise it is "exact".
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``. Only approximate neighbors are
        random.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.

    Attributes
    ----------
    belief_ : ndarray of shape (n_samples,)
        Degree of belief Bel_i that each object is a center.
    delta_ : ndarray of shape (n_samples,)
        Distance delta_i from each object to the nearest object of higher belief.
    nearest_higher_ : ndarray of shape (n_samples,)
        Nearest object of higher belief, -1 for the object of the highest belief. If two objects
        have equal belief, the first object counts as higher.
    prominence_ : ndarray of shape (n_samples,)
        Belief times delta.
    peak_indices_ : ndarray of shape (n_clusters,)
        Indices of the centers, the most prominent first.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the peaks; absent for precomputed dissimilarities and for "gower".
    labels_ : ndarray of shape (n_samples,)
        Cluster of each object; the center of cluster k is ``peak_indices_[k]``.
    n_clusters_ : int
    n_neighbors_ : int
        Number K of neighbors.
    neighbors_ : str
        Search that was used, "exact" or "approximate".
    min_belief_, min_delta_ : float
        Thresholds that were used.
    min_prominence_ : float or None
        A value between the prominence of the last peak and the prominence of the next object; None
        if only thresholds select peaks.
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the objects in the sample, if X came in blocks. All attributes except ``labels_``
        then describe the sample, and indices refer to its rows.

    References
    ----------
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems
    27. A. Rodriguez and A. Laio (2014). Clustering by fast search and find of density peaks.
    Science 344.

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
        "n_clusters": rule.none | rule.positive_integer,
        "metric": METRIC_RULE,
        "symmetrize": rule.flag,
        "n_neighbors": rule.auto | rule.positive_integer,
        "q": rule.positive_share,
        "min_belief": rule.none | rule.share,
        "min_delta": rule.none | rule.nonnegative,
        "neighbors": rule.choice("auto", "exact", "approximate"),
        "random_state": COMMON_RULES["random_state"],
        "n_jobs": COMMON_RULES["n_jobs"],
    }
    _input: Annotated[DissimilarityInput, ".origin n_features"]
    _references: Annotated[References, ".positions n_objects:int"]
    _drawn_labels: Annotated[np.ndarray, "n_objects"]  # of the rows in memory
    belief_: Annotated[np.ndarray, "n_objects"]
    delta_: Annotated[np.ndarray, "n_objects"]
    prominence_: Annotated[np.ndarray, "n_objects"]
    nearest_higher_: Annotated[np.ndarray, "n_objects:int"]
    peak_indices_: Annotated[np.ndarray, "n_clusters:int"]
    labels_: MaybeUnset[Annotated[Any, "n_objects"]]

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
            Attributes or dissimilarities. X may come in blocks (``docs/blocks.md``). The peaks are
            then found in a sample of 20,000 objects, and the labels of all objects are lazy.
        y : ignored

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._set_attributes(X)
        if self.n_clusters_ > 1 and self.prominence_[self.peak_indices_].min() == 0:
            fewer = f"fewer different objects than n_clusters={self.n_clusters_}"
            warnings.warn(f"BeliefPeaks: X has {fewer}", UserWarning, stacklevel=2)
        return self

    def predict(self, X: TableLike) -> np.ndarray:
        """Return, for each new object, the cluster of the nearest training object.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features), or (n_new, n_samples) dissimilarities
            Attributes of new objects, or their dissimilarities to the training objects.

        Returns
        -------
        ndarray of shape (n_new,)
            Clusters of the new objects, lazy if X comes in blocks.
        """
        check_is_fitted(self)
        if self._comes_in_blocks(X):
            return self._block_labels(open_blocks(X, self.n_jobs)).to_lazy()
        with block_map(self.n_jobs) as apply:
            return self._nearest_labels(self._input.new(self, X), apply)

    def _comes_in_blocks(self, X: TableLike) -> bool:
        return self.metric != "precomputed" and comes_in_blocks(X)

    def _nearest_labels(self, values: Any, apply: Apply) -> np.ndarray:
        index, _ = ReferenceFinder(self._references)(values, 1, apply)
        return self._drawn_labels[index[:, 0]]

    def _block_labels(self, source: Blocks) -> Blocks:
        assert source.width is not None
        row = np.zeros((1, source.width), source.dtype)
        self._input.new(self, named_rows(row, source))  # Check the columns.
        state = ("_input", "_references", "_drawn_labels", "n_features_in_")
        return source.map(_label_block, light_copy(self, state), None, np.int64)

    def _set_attributes(self, X: TableLike) -> None:
        rule.check_parameters(self, self._rules)
        if not self._comes_in_blocks(X):
            self._fit_in_memory(X)
            return
        source = open_blocks(X, self.n_jobs)
        rows = sample_rows(source.count_rows(), SAMPLE_SIZE, self.random_state)
        self._fit_in_memory(named_rows(source.take(rows), source))
        self.sample_indices_ = rows
        self.labels_ = self._block_labels(source).to_lazy()

    def _fit_in_memory(self, X: TableLike) -> None:
        self._input = DissimilarityInput(
            self.metric, symmetrize=self.symmetrize, centered=True, fewest=2
        )
        source = self._input.training(self, X)
        assert isinstance(source, DissimilaritySource)
        warn_about_table(self, X)
        check_enough_rows(source, self.n_clusters)
        kept = without_common_repetition(source)
        table = source
        n_neighbors = self.n_neighbors
        if len(kept) < len(source):
            table = source.subset(kept)
            if not isinstance(n_neighbors, str) and n_neighbors < len(source):
                n_neighbors = min(n_neighbors, len(kept) - 1)
        find = make_finder(table, self.neighbors, self.random_state, self.n_jobs)
        with block_map(self.n_jobs) as apply:
            peaks = find_peaks(
                table,
                find,
                apply,
                self.q,
                n_clusters=self.n_clusters,
                n_neighbors=n_neighbors,
                min_belief=self.min_belief,
                min_delta=self.min_delta,
            )
        if len(kept) < len(source):
            peaks = peaks.with_copies(kept, find_first_copies(source))
        self._references = References.from_source(source, np.arange(len(source)))
        scores = peaks.scores
        self.belief_ = scores.belief
        self.delta_ = scores.delta
        self.nearest_higher_ = scores.nearest_higher
        self.prominence_ = scores.prominence
        self.n_neighbors_ = scores.n_neighbors
        self.peak_indices_ = peaks.indices
        self.labels_ = peaks.labels
        self._drawn_labels = peaks.labels
        self.n_clusters_ = len(peaks.indices)
        self.min_belief_ = peaks.min_belief
        self.min_delta_ = peaks.min_delta
        self.min_prominence_ = peaks.min_prominence
        self.neighbors_ = find.kind
        if self._input.metric not in ("precomputed", "gower"):
            self.cluster_centers_ = self._input.attributes(self, X, peaks.indices)

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)


def _label_block(block: np.ndarray, peaks: BeliefPeaks, apply: Apply) -> np.ndarray:
    if len(block) == 0:
        return np.empty(0, np.int64)
    return peaks._nearest_labels(peaks._input.new(peaks, block), apply)


Init = str | BeliefPeaks | ArrayLike | CredalPartition
"""Type of the parameter ``init`` of most clusterers."""
PEAKS_RULE = rule.choice("belief-peaks") | rule.kind(BeliefPeaks)
INIT_RULE = (
    rule.choice("k-means++", "random")
    | PEAKS_RULE
    | rule.kind(CredalPartition)
    | rule.array
)


def uses_belief_peaks(init: Any) -> bool:
    """Return whether ``init`` selects belief peaks as initial prototypes."""
    return isinstance(init, BeliefPeaks) or (
        isinstance(init, str) and init == "belief-peaks"
    )


def fit_peaks(
    init: str | BeliefPeaks,
    table: Any,
    n_clusters: int | None,
    metric: Metric,
    random_state: Seed,
    n_jobs: int | None,
) -> BeliefPeaks:
    """Return a fitted copy of ``init``, or a fitted `BeliefPeaks` if ``init`` is a name.

    Missing values are imputed first, because a peak that becomes a prototype must be complete. The
    function raises an error if the number of peaks is not ``n_clusters``.
    """
    if isinstance(init, BeliefPeaks):
        peaks = clone(init)
    else:
        peaks = BeliefPeaks(metric=metric, random_state=random_state, n_jobs=n_jobs)
    if peaks.n_clusters is None:
        peaks.n_clusters = n_clusters
    peaks.fit(impute_missing(table) if isinstance(table, np.ndarray) else table)
    if n_clusters is not None and peaks.n_clusters_ != n_clusters:
        message = (
            f"init finds {peaks.n_clusters_} belief peaks, but n_clusters={n_clusters}"
        )
        raise InvalidParameterError("init", message=message)
    return peaks


def fit_source_peaks(
    init: Any,
    source: DissimilaritySource | SparseSource,
    n_clusters: int,
    random_state: Seed,
    n_jobs: int | None,
) -> BeliefPeaks | None:
    """Return the belief peaks of ``source``, or None if ``init`` does not select them."""
    if not uses_belief_peaks(init):
        return None
    if isinstance(source, SparseSource):
        expected = "a method without belief peaks, which need all dissimilarities, for a sparse X"
        raise InvalidParameterError("init", expected, init)
    metric: Metric = "precomputed"
    table = source.matrix
    if isinstance(source, AttributeSource):
        metric = source.metric
        table = to_host(source.objects)
    elif table is None:
        rows = np.arange(len(source))
        table = source.block(rows, rows)
    if isinstance(init, BeliefPeaks):
        init = clone(init).set_params(metric=metric)
    return fit_peaks(init, table, n_clusters, metric, random_state, n_jobs)


def centers_from_peaks(estimator: Any, X: Array, n_clusters: int) -> Any:
    """Return ``init`` of the estimator, or the attributes of the belief peaks that it selects."""
    if not uses_belief_peaks(estimator.init):
        return estimator.init
    settings = "euclidean", estimator.random_state, estimator.n_jobs
    peaks = fit_peaks(estimator.init, to_host(X), n_clusters, *settings)
    return peaks.cluster_centers_.astype(float)
