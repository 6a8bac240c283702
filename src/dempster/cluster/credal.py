"""Clustering with automatic selection of the shape and the number of clusters.

The rule, on a sample of the rows:

1. The number of clusters has the largest support (see `number_of_clusters`), unless it is given.
2. Compact and elongated clusters are fitted to the sample. Elongated clusters are selected if the
   information criterion (BIC) is larger for own covariances of the clusters than for a common one,
   and if the sample has a row for each parameter of the covariances. Otherwise both are also fitted
   to halves of the sample, and the weight of a candidate is the square of its reproducibility, the
   agreement of the clusters of two halves.
3. Connected clusters, parts of a density tree, exclude all candidates with different clusters if
   they are prominent in the tree and separate far fewer nearest neighbors. They are selected if no
   candidate is left. A number that the tree separates very clearly replaces that of step 1, and
   one that it separates clearly replaces a single cluster.

`ComparedRows` fits the candidates, and `select` applies the rule. `CredalClustering` fits the
candidates to all rows, and averages their plausibilities.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._blas import one_blas_thread
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._random import as_integer_seed, as_random_state
from dempster._types import Advance, ArrayLike, MaybeUnset, Metric, Seed, TableLike
from dempster._validation import has_missing
from dempster.cluster._base import (
    COMMON_RULES,
    MISSING_RULE,
    EvidentialClusterer,
    Support,
)
from dempster.cluster._open_sample import in_blocks, open_sample, set_lazy_result
from dempster.cluster._pool import PooledModel
from dempster.cluster._search import FitResult, Sample
from dempster.cluster.egmm import EGMM, EvidentialMixture
from dempster.cluster.evclus._model import DoubtModel, EvclusModel
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.number_of_clusters import (
    compare_numbers,
    draw_complete_rows,
    find_isolated,
    principal_coordinates,
)
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.paths import DensityTree
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import Apply, block_map, n_threads, run_fits_in_threads
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition, LazyCredalPartition

if TYPE_CHECKING:
    import pandas as pd

SHAPES = ("compact", "elongated", "connected")
_LOG = logging.getLogger("dempster")
_MAX_ROWS = 1000  # rows on which the candidates are compared
_MIN_ROWS_PER_CLUSTER = 4  # With fewer distinct rows, nothing is compared.
_N_SPLITS = 2  # random splits of the rows into halves
_N_INIT = 2  # starts of each method
_N_LANDMARKS = 400  # With more rows, compact clusters are fitted to landmarks.
# This is added to the reproducibilities, so that no weight is zero.
_MIN_REPRODUCIBILITY = 0.01
_N_NEIGHBORS = 10  # neighbors of an object that should have its label
# An attribute with at most this number of different values is discrete.
_MAX_DISCRETE = 10
# Connected clusters exclude a candidate whose clusters are different (adjusted Rand index below
# _SAME) if the least prominent of them has this prominence per object of an average cluster, and if
# the disagreement of neighbors is smaller by this factor. The next part of the tree must be less
# prominent by the factor _MIN_RATIO; with _CLEAR_RATIO, the tree selects the number.
_MIN_PROMINENCE = 0.5
_MAX_ERROR = 0.65
_SAME = 0.8
_MIN_RATIO = 1.5
_CLEAR_RATIO = 3.0
_REG_COVAR = 1e-3  # of elongated clusters
_TOL = 1e-6  # of elongated clusters, larger than the default of EGMM
_SCALED = "The attributes were divided by their spreads, which differ clearly."


def _rand_index(first: np.ndarray, second: np.ndarray) -> float:
    """Return the adjusted Rand index of two arrays of labels, faster than scikit-learn."""
    n = len(first)
    width = int(second.max()) + 1
    height = int(first.max()) + 1
    table = np.bincount(first * width + second, minlength=height * width).reshape(
        -1, width
    )
    counts = (table.ravel(), table.sum(axis=1), table.sum(axis=0))
    pairs, rows, columns = (float(count @ (count - 1.0)) for count in counts)
    expected = rows * columns / (n * (n - 1))
    largest = (rows + columns) / 2
    if largest == expected:
        return 1.0
    return (pairs - expected) / (largest - expected)


# ---- candidates ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition of the compared rows into clusters of one shape."""

    shape: str
    method: str  # description of the method
    estimator: Any  # with the selected parameters, before the fit to all rows
    labels: np.ndarray  # (n,), clusters of the compared rows
    # (n,) arrays, clusters of the same rows after fits to halves of them; two for each random split
    refits: list[np.ndarray] = field(default_factory=list)
    # share of the nearest neighbors with the same label, corrected for chance
    neighbors: float = 0.0
    seconds: float = 0.0
    weight: float = 0.0  # in the mean of the plausibilities

    @property
    def n_clusters(self) -> int:
        return int(self.estimator.n_clusters)

    @property
    def reproducibility(self) -> float:
        """Mean agreement of the fits to two halves of the rows, at least zero."""
        halves = zip(self.refits[::2], self.refits[1::2], strict=True)
        scores = [_rand_index(*pair) for pair in halves]
        if not scores:
            return np.nan
        return max(float(np.mean(scores)), 0.0)


class Trial(NamedTuple):
    """Result of a fit to some of the compared rows."""

    labels: np.ndarray  # (n,), clusters of all compared rows
    means: np.ndarray | None  # of a mixture
    criterion: float  # of a mixture, otherwise NaN
    seconds: float


@dataclass(frozen=True)
class ComparedRows:
    """Sample of the rows, to which the candidates are fitted."""

    source: DissimilaritySource  # without missing values
    weights: np.ndarray | None  # (n,)
    params: CredalClustering
    seed: int
    # whether X contains numeric attributes without missing values, so that mixtures can be fitted
    takes_mixtures: bool
    advance: Advance  # called with the name of each candidate after its fits

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def D(self) -> np.ndarray:
        """Dissimilarities, shape (n, n)."""
        everything = np.arange(len(self))
        return self.source.block(everything, everything).astype(float)

    @cached_property
    def tree(self) -> DensityTree:
        return DensityTree.from_dissimilarities(self.D)

    @cached_property
    def nearest(self) -> np.ndarray:
        """Indices of the nearest neighbors of each row, shape (n, k)."""
        n_nearest = max(min(_N_NEIGHBORS, len(self) - 1), 1)
        apart = self.D + np.diag(np.full(len(self), np.inf))
        return np.argpartition(apart, n_nearest - 1)[:, :n_nearest]

    @cached_property
    def halves(self) -> list[np.ndarray]:
        """Indices of the rows in both halves of each random split."""
        rng = np.random.default_rng(self.seed)
        halves = []
        for _ in range(_N_SPLITS):
            rows = rng.permutation(len(self))
            middle = len(rows) // 2
            halves += [np.sort(rows[:middle]), np.sort(rows[middle:])]
        return halves

    @property
    def is_euclidean(self) -> bool:
        return isinstance(self.source, AttributeSource) and self.source.is_euclidean

    def coordinates(self) -> np.ndarray:
        """Return the rows in the plane: two attributes, or the result of classical scaling.

        For Euclidean distances, classical scaling gives the first two principal components.
        """
        if self.is_euclidean and self.source.objects.shape[1] == 2:
            return np.array(self.source.objects, float)
        return principal_coordinates(np.square(self.D), 2)

    def neighbor_agreement(self, labels: np.ndarray) -> float:
        """Return the share of neighbors with the same label, corrected like Cohen's kappa."""
        same = float((labels[self.nearest] == labels[:, None]).mean())
        chance = float(np.square(np.bincount(labels) / len(labels)).sum())
        if chance >= 1:
            return 0.0
        return (same - chance) / (1 - chance)

    def make_estimator(self, shape: str, n_clusters: int) -> Any:
        """Return the estimator for clusters of one shape."""
        params = self.params
        common: dict[str, Any] = {"random_state": self.seed, "n_jobs": params.n_jobs}
        if shape == "elongated":
            # t distributions, so that tails do not become clusters
            common["distribution"] = "t"
            common["reg_covar"] = _REG_COVAR
            return EGMM(n_clusters, covariance="own", tol=_TOL, **common)
        common["metric"] = params.metric
        common["missing"] = params.missing
        return EVCLUS(n_clusters, shape=shape, **common)

    def fit(self, n_clusters: int) -> list[Candidate]:
        """Fit compact and elongated clusters to the rows and, if necessary, to halves of them."""
        shapes = ["compact", "elongated"]
        if self.params.shape != "auto":
            shapes = [self.params.shape]
        elif not self._takes_mixtures_of(n_clusters):
            shapes = ["compact"]
        estimators = [self.make_estimator(shape, n_clusters) for shape in shapes]
        compared = estimators.copy()
        may_prefer_own = len(shapes) > 1 and self._estimates_covariances(n_clusters)
        if may_prefer_own:
            compared.append(clone(estimators[1]).set_params(covariance="tied"))
        _LOG.info("CredalClustering: candidates with %d clusters", n_clusters)
        trials = self._try_parts(compared, [np.arange(len(self))])
        prefers_own = False
        if may_prefer_own:
            _, own, common = trials[0]
            prefers_own = own.criterion > common.criterion
            prefers_own &= len(np.unique(own.labels)) == n_clusters
        if len(shapes) > 1 and not prefers_own:
            trials += self._try_parts(estimators, self.halves)
        candidates = []
        for place, shape in enumerate(shapes):
            first, *others = [found[place] for found in trials]
            estimator = estimators[place]
            if shape == "elongated":
                # The fit to all rows begins with the means of the fit to the sample.
                estimator.set_params(init=first.means)
            one = Candidate(
                shape,
                type(estimator).__name__,
                estimator,
                first.labels,
                [trial.labels for trial in others],
                self.neighbor_agreement(first.labels),
                first.seconds + sum(trial.seconds for trial in others),
            )
            # NaN if there are no halves
            reproducibility = float(np.nan_to_num(one.reproducibility))
            # Empty clusters are not reproduced.
            reproducibility *= len(np.unique(one.labels)) / n_clusters
            weight = (reproducibility + _MIN_REPRODUCIBILITY) ** 2
            if prefers_own:
                weight = float(shape == "elongated")
            candidates.append(replace(one, weight=weight))
            self.advance(f"{shape}, {n_clusters} clusters")
        return candidates

    def _takes_mixtures_of(self, n_clusters: int) -> bool:
        """Return whether a cluster has more rows in a half of the sample than attributes.

        Its covariance cannot be estimated otherwise.
        """
        if not self.takes_mixtures:
            return False
        n_attributes = self.source.objects.shape[1]
        return len(self) > 2 * n_clusters * n_attributes

    def _estimates_covariances(self, n_clusters: int) -> bool:
        """Return whether there is a row for each parameter of the covariances of the clusters."""
        n_attributes = self.source.objects.shape[1]
        return len(self) >= n_clusters * n_attributes * (n_attributes + 1) / 2

    def cut_tree(self, n_clusters: int) -> Candidate:
        """Return the connected clusters of the density tree."""
        began = time.perf_counter()
        estimator = self.make_estimator("connected", n_clusters)
        labels = self.tree.cut(n_clusters)
        return Candidate(
            "connected",
            "EVCLUS, path distances",
            estimator,
            labels,
            neighbors=self.neighbor_agreement(labels),
            seconds=time.perf_counter() - began,
            weight=1.0,
        )

    def tree_number(self, min_ratio: float) -> int | None:
        """Return the number of clusters that the density tree separates most clearly, or None."""
        best = None
        largest = min_ratio
        for k in range(2, self._max_connected + 1):
            prominence, ratio = self.tree.support(k)
            if prominence >= _MIN_PROMINENCE and ratio >= largest:
                best = k
                largest = ratio
        return best

    @property
    def _max_connected(self) -> int:
        return min(25, len(self) // 10)

    def has_connected(self, n_clusters: int) -> bool:
        """Return whether the density tree has this number of prominent parts."""
        if not 2 <= n_clusters <= self._max_connected:
            return False
        prominence, ratio = self.tree.support(n_clusters)
        return prominence >= _MIN_PROMINENCE and ratio >= _MIN_RATIO

    def _try_parts(
        self, estimators: list[Any], parts: list[np.ndarray]
    ) -> list[list[Trial]]:
        """Fit estimators to parts of the rows."""
        tasks = [(estimators, rows) for rows in parts]
        threads = n_threads(self.params.n_jobs)
        with one_blas_thread():  # The fits already run in threads.
            return list(run_fits_in_threads(self._try, tasks, threads))

    def _try(self, estimators: list[Any], rows: np.ndarray) -> list[Trial]:
        """Fit estimators to some of the rows; mixtures begin also with the compact clusters."""
        trials: list[Trial] = []
        compact = None
        for estimator in estimators:
            began = time.perf_counter()
            fitted = self.fit_some(estimator, rows)
            if compact is None:
                compact = fitted.credal_partition_
            elif len(np.unique(compact.labels)) == compact.n_clusters:
                other = self.fit_some(estimator, rows, init=compact)
                fitted = min(fitted, other, key=lambda one: one.objective_)
            labels = fitted.labels_
            if len(rows) < len(self):
                labels = fitted.predict(self._objects(rows))
            criterion = getattr(fitted, "ebic_", np.nan)
            seconds = time.perf_counter() - began
            means = getattr(fitted, "means_", None)
            trials.append(Trial(labels, means, criterion, seconds))
        return trials

    def _objects(self, rows: np.ndarray) -> np.ndarray:
        """Return all rows, as attributes or as dissimilarities to some of them."""
        if self.is_euclidean:
            return self.source.objects
        return self.D[:, rows]

    def fit_some(self, estimator: Any, rows: np.ndarray, **params: Any) -> Any:
        """Fit a copy of the estimator, with other parameters, to some of the rows."""
        trial = clone(estimator).set_params(n_jobs=1, n_init=_N_INIT, **params)
        n_landmarks = max(_N_LANDMARKS, 10 * trial.n_clusters)
        if isinstance(trial, EVCLUS) and len(rows) > n_landmarks:
            trial.set_params(sampling="landmarks", n_landmarks=n_landmarks)
        if not self.is_euclidean:
            trial.set_params(metric="precomputed", missing="refuse")
        weights = None
        if self.weights is not None:
            weights = self.weights[rows]
        trial._fit_silently(self._objects(rows)[rows], weights)
        return trial


# ---- selection -----------------------------------------------------------------------------------


def select(
    rows: ComparedRows, n_clusters: int, *, is_open: bool
) -> tuple[Candidate, ...]:
    """Return the candidates with their weights, in the order in which they were fitted.

    ``is_open`` means that the density tree may select another number of clusters.
    """
    shape = rows.params.shape
    if len(rows) < _MIN_ROWS_PER_CLUSTER * max(n_clusters, 2):
        return ()
    if shape == "connected":
        if is_open:
            n_clusters = rows.tree_number(1.0) or 2
        return (rows.cut_tree(n_clusters),)
    candidates: list[Candidate] = []
    if n_clusters > 1:
        candidates = rows.fit(n_clusters)
    is_line = rows.is_euclidean and rows.source.objects.shape[1] == 1
    if shape != "auto" or is_line:  # On a line, connected clusters are compact.
        return tuple(candidates)
    clearest = None
    if is_open:
        clearest = rows.tree_number(_MIN_RATIO if n_clusters == 1 else _CLEAR_RATIO)
    for k in dict.fromkeys((clearest or n_clusters, n_clusters)):
        if rows.has_connected(k):
            found = _compare_connected(rows, candidates, k, is_new=k != n_clusters)
            if found is not None:
                return tuple(found)
    return tuple(candidates)


def _compare_connected(
    rows: ComparedRows, candidates: list[Candidate], n_clusters: int, *, is_new: bool
) -> list[Candidate] | None:
    """Exclude candidates whose clusters differ from connected ones; None if these are not better.

    ``is_new`` means that the other candidates have another number of clusters. If compact clusters
    are like the connected ones, their number was already compared with others, and is not better.
    """
    connected = rows.cut_tree(n_clusters)
    if is_new:
        everything = np.arange(len(rows))
        compact = rows.make_estimator("compact", n_clusters)
        labels = rows.fit_some(compact, everything).labels_
        if _rand_index(labels, connected.labels) >= _SAME:
            return None
    others = rows.fit(n_clusters) if is_new else candidates
    alike = [
        one for one in others if _rand_index(one.labels, connected.labels) >= _SAME
    ]
    unlike = [one for one in others if one not in alike]
    if not unlike:
        return None
    smallest_error = 1 - max(one.neighbors for one in unlike)
    if 1 - connected.neighbors > _MAX_ERROR * smallest_error:
        return None
    excluded = [*candidates, *unlike] if is_new else unlike
    if alike:  # A simpler shape describes the connected clusters.
        connected = replace(connected, weight=0.0)
    if not any(one.weight for one in alike):
        alike = [replace(one, weight=1.0) for one in alike]
    return [*alike, connected, *(replace(one, weight=0.0) for one in excluded)]


# ---- the estimator -------------------------------------------------------------------------------


def _describe(one: Candidate, best: Candidate, weight: float) -> dict[str, Any]:
    """Return a row of the table of candidates."""
    return {
        "shape": one.shape,
        "method": one.method,
        "n_clusters": one.n_clusters,
        "reproducibility": one.reproducibility,
        "neighbors": one.neighbors,
        "with_selected": _rand_index(best.labels, one.labels),
        "weight": weight,
        "selected": one is best,
        "seconds": one.seconds,
    }


def _is_continuous(rows: np.ndarray) -> bool:
    """Return whether at least half of the attributes have many different values."""
    n_values = np.array([len(np.unique(column)) for column in rows.T])
    return float(np.median(n_values)) > min(_MAX_DISCRETE, len(rows) / 4)


def _plausibilities(model: Any, rows: ComparedRows, apply: Apply) -> np.ndarray:
    """Return the plausibilities of the clusters for the compared rows, shape (n, c)."""
    masses = model.masses(rows.source.objects, apply)
    return masses.astype(float) @ model.family.membership


def _pool_masses(model: Any, members: list[Any], apply: Apply) -> Any:
    """Return the masses of the training objects, computed from those of the fitted members."""
    parts = [member.credal_partition_.stored_masses for member in members]
    if isinstance(model, PooledModel):
        return model.pool(parts, apply)
    return parts[0]


def _has_empty_cluster(contour: np.ndarray) -> bool:
    """Return whether a cluster is the most plausible one of no object."""
    return len(np.unique(contour.argmax(axis=1))) < contour.shape[1]


def _match_clusters(target: np.ndarray, contour: np.ndarray) -> np.ndarray:
    """Return the column of ``contour`` that corresponds to each column of ``target``.

    The sum of the products of corresponding columns over the rows is as large as possible.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    return linear_sum_assignment(-target.T @ contour)[1]


class CredalClustering(EvidentialClusterer):
    """Clustering that selects the number and the shape (compact, elongated, connected) of clusters.

    Candidates are compared on a sample of at most 1,000 rows. *Compact* clusters are found by
    `EVCLUS`, *elongated* clusters by `EGMM` with t distributions, which begins with random means
    and with the compact clusters, and *connected* clusters of any shape, such as rings and
    crescents, by `EVCLUS` on path distances.

    - *Number of clusters*: the number with the largest support (see
      `dempster.model_selection.number_of_clusters`).
    - *Compact or elongated*: elongated clusters are selected if the Bayesian information criterion
      of the mixture is larger with a covariance of each cluster than with a common covariance, and
      if the sample has a row for each parameter of the covariances. Otherwise both are also fitted
      to the halves of two random splits of the sample. The reproducibility of a candidate is the
      mean adjusted Rand index between the clusters of two halves, times the share of clusters that
      contain objects; the candidate with the larger one is selected.
    - *Connected*: selected if the clusters are prominent in a tree of the densities, if far fewer
      nearest neighbors have different labels than with the other candidates, and if no other
      candidate finds nearly the same clusters. A number of connected clusters that the tree
      separates very clearly replaces the number of compact ones; a single cluster is also replaced
      by a number that the tree separates clearly.

    Elongated clusters selected by their covariances, or compact and elongated clusters, are then
    fitted to all objects. The relative plausibility of each cluster is the mean over both, with
    weights proportional to the squares of the reproducibilities. An object about which reproducible
    candidates disagree therefore gets mass on a pair of clusters. The ratios of the plausibilities
    of elongated clusters are first raised to the power 1/4, because a mixture is too certain if the
    clusters are only roughly like its distributions. An object has as much mass on the empty set as
    in the candidate that regards it most as an outlier. Connected clusters are not averaged.
    Elongated clusters are not fitted if most attributes are discrete (at most ten different
    values), or if a half of the sample has no more rows per cluster than attributes.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" selects it together with the shape.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Others are as in `EVCLUS`. With another metric than the Euclidean distance,
        clusters are compact or connected.
    shape : {"auto", "compact", "elongated", "connected"}, default="auto"
        Shape of the clusters; "auto" compares them. "elongated" needs numeric attributes without
        missing values.
    scale : bool or "auto", default="auto"
        Whether to divide the attributes by their spreads (standard deviations, hardly changed by
        outliers). "auto" does so if the largest spread is more than ten times the median, as for
        attributes with different units. Dissimilarities and X in blocks are never scaled.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. Clusters are then compact or connected.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
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
    selected_ : str
        Shape of the selected clusters.
    candidates_ : pandas.DataFrame
        One row for each candidate: shape, method, number of clusters, reproducibility (agreement
        between the halves, NaN without fits to halves), neighbors (share of nearest neighbors with
        the same label, corrected for chance), adjusted Rand index with the selected candidate,
        weight in the mean of the plausibilities, whether it is selected, and time in seconds.
    candidate_labels_ : ndarray of shape (n_candidates, n_rows)
        Clusters of the sampled rows, if candidates were compared.
    candidate_points_ : ndarray of shape (n_rows, 2)
        Positions of the sampled rows in the plane: two attributes, two principal components or, for
        other dissimilarities than the Euclidean distance, two coordinates by classical scaling.
    number_ : NumberOfClusters
        Numbers of clusters and their support, if ``n_clusters="auto"``.
    focal_sets_ : FocalSets
    objective_ : float
        Final objective of the selected candidate.
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    See Also
    --------
    EVCLUS : Compact clusters, and connected clusters with ``shape="connected"``.
    EGMM : Elongated clusters.

    References
    ----------
    A. Ben-Hur, A. Elisseeff and I. Guyon (2002). A stability based method for discovering structure
    in clustered data. Pacific Symposium on Biocomputing 7. R. Campello, D. Moulavi and J. Sander
    (2013). Density-based clustering based on hierarchical density estimates. PAKDD.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dempster.cluster import CredalClustering
    >>> X, moon = make_moons(400, noise=0.1, random_state=3)
    >>> model = CredalClustering(random_state=0).fit(X)
    >>> model.selected_, model.n_clusters_
    ('connected', 2)
    >>> print(model.reason())  # doctest: +NORMALIZE_WHITESPACE
    Connected clusters: neighbors have the same label more often (0.99) than with compact clusters
    (0.95).
    """

    _model: DoubtModel | EvclusModel | PooledModel
    _input: Annotated[DissimilarityInput, ".unit n_features"]
    _candidates: list[dict[str, Any]]
    candidate_labels_: MaybeUnset[Annotated[np.ndarray, "m n:int"]]
    candidate_points_: MaybeUnset[Annotated[np.ndarray, "n 2"]]

    _rules = {
        "n_clusters": COMMON_RULES["n_clusters"],
        "shape": rule.choice("auto", *SHAPES),
        "scale": rule.auto | rule.flag,
        "metric": METRIC_RULE,
        "missing": MISSING_RULE,
        **{name: COMMON_RULES[name] for name in ("random_state", "n_jobs", "verbose")},
    }
    _support = Support(blocks=True, block_weights=True)

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        metric: Metric = "euclidean",
        shape: str = "auto",
        scale: bool | str = "auto",
        missing: str = "refuse",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.shape = shape
        self.scale = scale
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: TableLike, y: None = None, sample_weight: ArrayLike = None
    ) -> Self:
        """Select the shape and the number of clusters, and cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
            X may come in blocks (``docs/blocks.md``).
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object; an object of weight 2 counts as two.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._compare_and_fit(X, sample_weight)
        self._training = (X, sample_weight)
        self._warn_empty_clusters()
        return self

    def partition_at(self, n_clusters: int) -> CredalPartition | LazyCredalPartition:
        """Cluster the training objects into another number of clusters of the selected shape.

        Neither numbers nor shapes are compared again. The training data are not saved with the
        estimator.

        Parameters
        ----------
        n_clusters : int
            For example another plausible number (``number_.plausibility``).

        Returns
        -------
        CredalPartition
        """
        check_is_fitted(self, "selected_")
        if not hasattr(self, "_training"):
            raise NotFittedError(
                "The training data are not saved; fit the estimator again"
            )
        X, sample_weight = self._training
        other = clone(self).set_params(n_clusters=n_clusters, shape=self.selected_)
        return other.fit(X, sample_weight=sample_weight).credal_partition_

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__().copy()
        state.pop("_training", None)
        return state

    def _compare_and_fit(self, X: TableLike, sample_weight: ArrayLike) -> None:
        self._check_parameters()
        scale = False if in_blocks(self, X) else self.scale
        self._input = DissimilarityInput(self.metric, scale=scale, fewest=2)
        with (
            block_map(self.n_jobs) as apply,
            open_sample(self, X, sample_weight, {}, apply) as sample,
        ):
            if sample.blocks is None:
                sample = self._leave_out_isolated(sample, apply)
            rows, candidates = self._compare(sample, apply)
            pool = [one for one in candidates if one.weight > 0]
            if not pool:
                pool = [self._uncompared(rows)]
            if sample.blocks is None:
                sample_weight = sample.weights
            if self._input.unit is not None:
                X = sample.values.objects
            for one in pool:
                one.estimator._fit_silently(X, sample_weight)
            members = [one.estimator for one in pool]
            models = [member._model for member in members]
            shares = np.array([one.weight for one in pool])
            selected = int(shares.argmax())
            best = pool[selected]
            model, shares = self._pool_models(rows, models, shares, apply)
            self.selected_ = best.shape
            self.n_clusters_ = best.n_clusters
            weights = dict(zip(pool, (shares / shares.sum()).tolist(), strict=True))
            self._candidates = [
                _describe(one, best, weights.get(one, 0.0)) for one in candidates
            ]
            if candidates:
                labels = {one: one.labels for one in candidates}
                if isinstance(rows.source, AttributeSource):
                    # The fit to all objects may number the clusters differently.
                    contour = _plausibilities(model, rows, apply)
                    indicators = np.eye(contour.shape[1])[best.labels]
                    labels[best] = _match_clusters(indicators, contour)[best.labels]
                self.candidate_labels_ = np.array(list(labels.values()))
                self.candidate_points_ = rows.coordinates()
            auto_params = {}
            if "number_" in vars(self):
                auto_params["n_clusters"] = self._explain_number()
            if best.n_clusters > 1:
                auto_params["shape"] = self._explain_shape()
            if self.scale == "auto" and self._input.unit is not None:
                auto_params["scale"] = _SCALED
            masses = None
            if sample.blocks is None:
                masses = _pool_masses(model, members, apply)
            fitted = members[selected]
            run = Run(model, fitted.history_.tolist(), fitted.converged_)
            is_separated = self._defer_separation(sample)
            if best.shape == "connected" and rows.has_connected(best.n_clusters):
                is_separated = True
            result = FitResult(run, model, masses, is_separated=is_separated)
            metadata = self._set_result(result, sample, auto_params, apply)
            if sample.blocks is not None:
                set_lazy_result(self, sample.blocks, metadata)

    def _pool_models(
        self, rows: ComparedRows, models: list[Any], shares: np.ndarray, apply: Apply
    ) -> tuple[Any, np.ndarray]:
        """Return the model that averages the plausibilities, and the weights of the models."""
        if len(models) == 1 and not isinstance(models[0], EvidentialMixture):
            return models[0], shares
        selected = int(shares.argmax())
        contours = [_plausibilities(one, rows, apply) for one in models]
        target = contours[selected]
        orders = np.array([_match_clusters(target, contour) for contour in contours])
        model = PooledModel.from_models(models, shares, orders, selected)
        if _has_empty_cluster(_plausibilities(model, rows, apply)):
            # The selected candidate alone; the others only detect outliers.
            shares = np.eye(len(models))[selected]
            model = PooledModel.from_models(models, shares, orders, selected)
        return model, shares

    def _leave_out_isolated(self, sample: Sample[Any], apply: Apply) -> Sample[Any]:
        """Set the weights of isolated rows to zero, so that they do not change the clusters."""
        weights = sample.weights
        isolated = find_isolated(sample.values, weights, self.random_state, apply)
        if isolated.any():
            if weights is None:
                weights = np.ones(len(isolated))
            weights = np.where(isolated, 0.0, weights)
        return replace(sample, weights=weights)

    def _uncompared(self, rows: ComparedRows) -> Candidate:
        """Return the only candidate if there is one cluster or there are few rows."""
        n_clusters = self._requested_clusters() or self.number_.best
        shape = "compact"
        if self.shape != "auto":
            shape = self.shape
        estimator = rows.make_estimator(shape, n_clusters)
        labels = np.zeros(len(rows), int)
        return Candidate(shape, "not compared", estimator, labels, weight=1.0)

    def _compare(
        self, sample: Sample[Any], apply: Apply
    ) -> tuple[ComparedRows, tuple[Candidate, ...]]:
        """Compare the candidates on a sample of the rows."""
        source = sample.values
        takes_mixtures = self.metric == "euclidean" and not has_missing(source.objects)
        if self.shape == "elongated" and not takes_mixtures:
            expected = "'compact' or 'connected' for these data"
            raise InvalidParameterError("shape", expected, self.shape)
        n_clusters = self._requested_clusters()
        is_open = n_clusters is None
        if n_clusters is None:
            self.number_ = compare_numbers(
                source, sample.weights, None, self.random_state, apply
            )
            n_clusters = self.number_.best
        rng = as_random_state(self.random_state)
        drawn, weights = draw_complete_rows(source, sample.weights, rng, _MAX_ROWS)
        unequal = None
        if np.ptp(weights) != 0:
            unequal = weights / weights.mean()
        if self.shape == "auto" and takes_mixtures:
            takes_mixtures = _is_continuous(drawn.objects)
        seed = as_integer_seed(self.random_state)
        with self._open_progress(None, " candidates") as advance:
            rows = ComparedRows(drawn, unequal, self, seed, takes_mixtures, advance)
            return rows, select(rows, n_clusters, is_open=is_open)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            return self._input.training(self, X)
        references = getattr(self._model, "references", None)
        return self._input.new(
            self, X, or_width=None if references is None else len(references)
        )

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)

    @property
    def candidates_(self) -> pd.DataFrame:
        """Table of the candidates, in the order in which they were fitted."""
        import pandas as pd

        check_is_fitted(self, "credal_partition_")
        return pd.DataFrame(self._candidates)

    def reason(self) -> str:
        """Explain why the shape was selected, and whether the attributes were scaled.

        Returns
        -------
        str
        """
        check_is_fitted(self, "selected_")
        text = self._explain_shape()
        if self.scale == "auto" and self._input.unit is not None:
            text += f" {_SCALED}"
        return text

    def _explain_shape(self) -> str:
        clusters = f"{self.selected_.capitalize()} clusters"
        if self.n_clusters_ == 1:
            return "A single cluster: the objects do not form several clusters."
        if not self._candidates:
            return f"{clusters}: there are too few objects for a comparison."
        [selected] = [one for one in self._candidates if one["selected"]]
        others = [
            one
            for one in self._candidates
            if one["n_clusters"] == selected["n_clusters"]
            and one["shape"] != self.selected_
        ]
        if not others:
            return f"{clusters}: no other shape was compared."
        rivals = [one for one in others if one["shape"] != "connected"] or others
        rival = max(rivals, key=lambda one: one["weight"])
        if self.selected_ == "connected" or rival["shape"] == "connected":
            own = f"{selected['neighbors']:.2f}"
            other = f"{rival['neighbors']:.2f}"
            often = (
                f"as often ({own}) as" if own == other else f"more often ({own}) than"
            )
            rest = f"with {rival['shape']} clusters ({other})"
            return f"{clusters}: neighbors have the same label {often} {rest}."
        if np.isnan(selected["reproducibility"]):
            if self.selected_ == "elongated":
                return f"{clusters}: the covariances of the clusters are different."
            return f"{clusters}: they are similar to the connected parts of the data."
        text = (
            f"{clusters}: those of two halves of the data agree by "
            f"{selected['reproducibility']:.2f}, {rival['shape']} clusters by "
            f"{rival['reproducibility']:.2f}"
        )
        if selected["reproducibility"] < rival["reproducibility"]:
            is_unlike = any(one["shape"] == "connected" for one in others)
            differ = "these differ from the connected parts of the data"
            text += f", but {differ if is_unlike else 'one of these is empty'}"
        return f"{text}."

    def _explain_number(self) -> str:
        """Return a text with the selected number of clusters and the other plausible numbers."""
        if self.n_clusters_ != self.number_.best:
            return f"{self.n_clusters_}; clearly separated in the density tree"
        return self.number_.reasons()
