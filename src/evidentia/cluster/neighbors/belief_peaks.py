"""Belief peaks: cluster centres as objects with a high belief, far from any object with a higher one.

For every object, its neighbours bear witness that it is the centre of a cluster, the nearer the more. With delta the
distance to the nearest object of higher belief, the centres stand out in the plane of belief and delta.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numba import njit
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from evidentia import _parameters as rule
from evidentia.cluster._base import COMMON_RULES
from evidentia.dissimilarity.neighbors import Finder, Neighbors, exact_index, finder
from evidentia.dissimilarity.sources import AttributeSource, MatrixSource, check_square, check_values
from evidentia.optimize.blocks import block_map, row_blocks

__all__ = ["BeliefPeaks"]

_FEWEST_NEIGHBORS, _MOST_NEIGHBORS = 30, 300  # bounds of the automatic K: noise below, memory and time above
_CELLS = 20_000_000  # dissimilarities held at once


# ---- compiled kernels -----------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def _add_up_belief(index, distance, scale, belief):
    """Bel_i = 1 - prod_j (1 - exp(-(d_ij / scale_j)^2) / K) over the K neighbours j (Su and Denoeux, 2019).

    Where the scale is zero (twins), only twins bear witness.
    """
    n_neighbors = index.shape[1]
    for i in range(len(belief)):
        doubt = 1.0
        for k in range(n_neighbors):
            d, s = distance[i, k], scale[index[i, k]]
            support = 1.0
            if d > 0:
                support = np.exp(-((d / s) ** 2)) if s > 0 else 0.0
            doubt *= 1 - support / n_neighbors
        belief[i] = 1 - doubt


@njit(cache=True, nogil=True)
def _first_higher(objects, index, distance, rank, nearest, delta):
    """The nearest of the given neighbours that is believed more, of equally near ones the most believed."""
    for r in range(len(objects)):
        i = objects[r]
        best = -1
        for k in range(index.shape[1]):
            j = index[r, k]
            if best >= 0 and distance[r, k] > delta[i]:
                break
            if rank[j] < rank[i] and (best < 0 or rank[j] < rank[best]):
                best = j
                delta[i] = distance[r, k]
        nearest[i] = best


@njit(cache=True, nogil=True)
def _follow(order, nearest, labels):
    """Every object takes the label of its nearest object of higher belief; peaks have theirs already."""
    for i in order:
        if labels[i] < 0:
            labels[i] = labels[nearest[i]]


# ---- the nearest object of higher belief ----------------------------------------------------------------------------


def _search_farther(source, find, rest, order, rank, nearest, delta, k) -> None:
    """For objects without a higher one among k neighbours: ask for more while they are many, then compare with all.

    An approximate finder is not asked: what it overlooks far away would make delta too large.
    """
    n = len(rank)
    while find.kind == "exact" and len(rest) * n > 10 * _CELLS and 4 * k < n:
        k *= 4  # about a quarter of them remain, so that each round costs the same
        for start, stop in row_blocks(len(rest), max(1, _CELLS // (4 * k)), most=None):
            rows = rest[start:stop]
            index, distance = find(rows, k)
            _first_higher(rows, index, distance, rank, nearest, delta)
        rest = rest[nearest[rest] < 0]
    rest = rest[np.argsort(rank[rest])]
    for start, stop in row_blocks(len(rest), max(1, _CELLS // n), most=None):
        rows = rest[start:stop]
        higher = order[: rank[rows[-1]]]
        block = source.block(rows, higher)
        block[np.arange(len(higher)) >= rank[rows, None]] = np.inf
        nearest[rows] = higher[block.argmin(axis=1)]
        delta[rows] = source.pairs(rows, nearest[rows])


# ---- estimator ------------------------------------------------------------------------------------------------------


class BeliefPeaks(ClusterMixin, BaseEstimator):
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

    - the first ``n_clusters``, or
    - those with ``belief_ >= min_belief`` and ``delta_ >= min_delta``, read off `evidentia.plot.DeltaBelDisplay`, or
    - automatically: the first k, where the prominences v_1 >= v_2 >= ... make the largest step
      log(v_k / v_{k+1}) log(1 + k), 2 <= k <= 2 n / K. The second factor is there because the first few peaks often
      differ among themselves by the layout of the clusters. There is one cluster if no object but the first is
      believed more than all its neighbours. The rule expects clusters: on data without any it finds some.

    No n x n matrix is made. Memory: 12 K bytes per object.

    Parameters
    ----------
    n_clusters : int or None, default=None
        None: from the thresholds or, without any, automatically.
    n_neighbors : int or "auto", default="auto"
        K, smaller than the clusters, large enough to smooth out chance. "auto": the square root of the number n of
        objects, but at least min(30, n / 5) and at most 300.
    q : float in (0, 1], default=0.9
        Quantile of the distances to the neighbours that serves as scale.
    min_belief, min_delta : float or None, default=None
        Thresholds. With either of them all objects above both are peaks, or the ``n_clusters`` most prominent of them.
        None: the median belief, any delta.
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`, or "precomputed": X is a square matrix of dissimilarities.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        "approximate": nearest-neighbour descent (needs ``evidentia[neighbors]``). "auto": exact, unless there are more
        than 100,000 objects with more than six attributes, the metric is Euclidean and the extra is installed.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    random_state : int, RandomState, Generator or None
        For approximate neighbours; all else is without chance.
    n_jobs : int or None
        Threads; None and -1 use all processors.

    Attributes
    ----------
    belief_ : ndarray of shape (n_samples,)
    delta_ : ndarray of shape (n_samples,)
    nearest_higher_ : ndarray of shape (n_samples,)
        Nearest object of higher belief, -1 for the most believed one. Of equally believed objects the first counts as
        higher.
    prominence_ : ndarray of shape (n_samples,)
        Belief times delta.
    peaks_ : ndarray of shape (n_clusters,)
        Positions of the centres, the most prominent first.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the peaks; absent for precomputed dissimilarities.
    labels_ : ndarray of shape (n_samples,)
        Cluster k is that of ``peaks_[k]``.
    n_clusters_ : int
    n_neighbors_ : int
    neighbors_ : str
        "exact" or "approximate".
    min_belief_, min_delta_ : float
        The thresholds that were applied.
    min_prominence_ : float or None
        A value between the prominences of the last peak and of the next object; None if only thresholds chose.
    n_features_in_ : int

    References
    ----------
    Z. Su and T. Denoeux (2019). BPEC: belief-peaks evidential clustering. IEEE Trans. Fuzzy Systems 27. A. Rodriguez
    and A. Laio (2014). Clustering by fast search and find of density peaks. Science 344.

    Examples
    --------
    >>> from evidentia.cluster import BeliefPeaks
    >>> from evidentia.datasets import make_fourclass
    >>> X, y = make_fourclass(400, random_state=0)
    >>> model = BeliefPeaks(n_neighbors=50).fit(X)
    >>> model.n_clusters_
    4
    >>> bool((model.belief_[model.peaks_] > 0.5).all())
    True
    """

    _rules = {
        "n_clusters": rule.choice(None) | rule.integer(1),
        "n_neighbors": rule.choice("auto") | rule.integer(1),
        "q": rule.real(0, 1, open_low=True),
        "min_belief": rule.choice(None) | rule.real(0, 1),
        "min_delta": rule.choice(None) | rule.real(0),
        "metric": rule.Rule("the name of a metric or a callable", lambda v: isinstance(v, str) or callable(v)),
        "neighbors": rule.choice("auto", "exact", "approximate"),
        "symmetrize": rule.flag,
        "random_state": COMMON_RULES["random_state"],
        "n_jobs": COMMON_RULES["n_jobs"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        n_neighbors: int | str = "auto",
        q: float = 0.9,
        min_belief: float | None = None,
        min_delta: float | None = None,
        metric: Any = "euclidean",
        neighbors: str = "auto",
        symmetrize: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.q = q
        self.min_belief = min_belief
        self.min_delta = min_delta
        self.metric = metric
        self.neighbors = neighbors
        self.symmetrize = symmetrize
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> BeliefPeaks:
        """Find the peaks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
        y : ignored
        """
        data = self._checked_data(X)
        source = self._source(data)
        n = len(data)
        find = finder(source, self.neighbors, self.random_state, self.n_jobs)
        self.neighbors_ = find.kind
        order, isolated = self._set_belief_and_delta(source, find)
        self.prominence_ = self.belief_ * self.delta_
        self.peaks_ = self._chosen_peaks(order, n_local_maxima=len(isolated) + 1)
        self.n_clusters_ = len(self.peaks_)
        self.labels_ = np.full(n, -1, dtype=np.intp)
        self.labels_[self.peaks_] = np.arange(self.n_clusters_)
        _follow(order, self.nearest_higher_, self.labels_)
        if isinstance(source, AttributeSource):
            self._objects = source.X
            self.cluster_centers_ = data[self.peaks_]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Cluster of the nearest of the objects given to `fit`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features), or (n_new, n_samples) dissimilarities to the objects of `fit`

        Returns
        -------
        ndarray of shape (n_new,)
        """
        check_is_fitted(self, "labels_")
        data = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        if self.metric == "precomputed":
            return self.labels_[check_values(data, "X").argmin(axis=1)]
        index = exact_index(AttributeSource(self._objects, self.metric), self.n_jobs)
        data = data if self._centre is None else data - self._centre
        return self.labels_[index.kneighbors(data, n_neighbors=1, return_distance=False)[:, 0]]

    # ---- data -----------------------------------------------------------------------------------------------------

    def _checked_data(self, X: Any) -> np.ndarray:
        """Attributes or dissimilarities; sets ``n_neighbors_``."""
        rule.check_parameters(self, self._rules)
        data = validate_data(self, X, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2)
        if self.metric == "precomputed":
            data = check_square(data, symmetrize=bool(self.symmetrize))
        n = len(data)
        if self.n_clusters is not None and n < self.n_clusters:
            raise ValueError(f"n_samples={n} should be >= n_clusters={self.n_clusters}")
        if isinstance(self.n_neighbors, str):
            wanted = max(np.sqrt(n), min(_FEWEST_NEIGHBORS, n / 5))
            self.n_neighbors_ = min(int(np.ceil(wanted)), _MOST_NEIGHBORS, n - 1)
        elif self.n_neighbors < n:
            self.n_neighbors_ = int(self.n_neighbors)
        else:
            raise ValueError(f"n_neighbors must be below the number of objects, {n}, got {self.n_neighbors}")
        return data

    def _source(self, data: np.ndarray) -> AttributeSource | MatrixSource:
        """Far from the origin squared distances lose their digits, so attributes are centred for them."""
        if self.metric == "precomputed":
            return MatrixSource(data)
        self._centre = None
        if self.metric in ("euclidean", "l2", "sqeuclidean"):
            self._centre = data.mean(axis=0, dtype=float).astype(data.dtype)
        return AttributeSource(data if self._centre is None else data - self._centre, self.metric)

    # ---- belief and delta -----------------------------------------------------------------------------------------

    def _set_belief_and_delta(self, source: Any, find: Finder) -> tuple[np.ndarray, np.ndarray]:
        """Sets the fitted arrays; returns the objects by decreasing belief, and those (without the first) that are
        believed more than all their neighbours."""
        n = len(source)
        neighbors = Neighbors.of_all(find, n, self.n_neighbors_)
        scale = neighbors.quantile(self.q)
        self.belief_ = np.empty(n)
        blocks = row_blocks(n)
        with block_map(self.n_jobs) as apply:
            apply(
                _add_up_belief,
                [(neighbors.index[a:b], neighbors.distance[a:b], scale, self.belief_[a:b]) for a, b in blocks],
            )
        order = np.argsort(-self.belief_, kind="stable")
        rank = np.empty(n, dtype=np.intp)
        rank[order] = np.arange(n)
        self.nearest_higher_ = np.empty(n, dtype=np.intp)
        self.delta_ = np.empty(n)
        found = self.nearest_higher_, self.delta_
        _first_higher(np.arange(n), neighbors.index, neighbors.distance, rank, *found)
        isolated = order[1:][self.nearest_higher_[order[1:]] < 0]
        _search_farther(source, find, isolated, order, rank, *found, self.n_neighbors_)
        self.delta_[order[0]] = self.delta_[order[1:]].max()
        return order, isolated

    # ---- peaks ----------------------------------------------------------------------------------------------------

    def _chosen_peaks(self, order: np.ndarray, n_local_maxima: int) -> np.ndarray:
        by_hand = self.min_belief is not None or self.min_delta is not None
        self.min_belief_ = float(np.median(self.belief_) if self.min_belief is None else self.min_belief)
        self.min_delta_ = float(self.min_delta or 0)
        eligible = (self.belief_ >= self.min_belief_) & (self.delta_ >= self.min_delta_)
        n_eligible = int(eligible.sum())
        if by_hand and n_eligible < (self.n_clusters or 1):
            raise ValueError(
                f"min_belief={self.min_belief} and min_delta={self.min_delta} must be reached by at least "
                f"{self.n_clusters or 1} objects, got {n_eligible}; the largest belief is {self.belief_.max():.6g}, "
                f"the largest delta {self.delta_.max():.6g}"
            )
        # stable: of equal prominences the more believed, then the first, wins
        ranked = order[np.lexsort((-self.prominence_[order], ~eligible[order]))]
        values = self.prominence_[ranked]
        if self.n_clusters is not None:
            count = self.n_clusters
        elif by_hand:
            count = n_eligible
        else:
            count = self._automatic_count(values[:n_eligible], n_local_maxima)
        if count > 1 and values[:count].min() == 0:
            warnings.warn(f"fewer different objects than the {count} peaks asked for", UserWarning, stacklevel=3)
        following = values[count] if count < n_eligible else 0.0
        chosen_by_rank = self.n_clusters is not None or not by_hand
        self.min_prominence_ = float(np.sqrt(values[count - 1] * following)) if chosen_by_rank else None
        return ranked[:count]

    def _automatic_count(self, values: np.ndarray, n_local_maxima: int) -> int:
        """Number of peaks after which the decreasing prominences make the largest step."""
        if n_local_maxima == 1:
            return 1
        most = max(2, int(np.ceil(2 * len(self.belief_) / self.n_neighbors_)))  # clusters of at least K / 2 objects
        values = values[: most + 1]
        if values[-1] == 0:  # twins of other objects: the step to them is the largest of all
            return int(np.count_nonzero(values)) or 1
        if len(values) < 3:
            return len(values)
        count = np.arange(2, len(values))
        step = np.log(values[1:-1] / values[2:]) * np.log1p(count)
        return int(count[step.argmax()])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        return tags
