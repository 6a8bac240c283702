"""Clustering with automatic selection of the shape and the number of clusters."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._blas import one_blas_thread
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._random import as_integer_seed, as_random_state
from dempster._types import Advance, ArrayLike, MaybeUnset, Metric, Seed, TableLike
from dempster._validation import has_missing
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, Support
from dempster.cluster._pool import PooledModel
from dempster.cluster._search import Sample
from dempster.cluster.egmm import EGMM
from dempster.cluster.evclus._model import DoubtModel, EvclusModel
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.number_of_clusters import (
    NumberOfClusters,
    compare_numbers,
    draw_complete_rows,
)
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.paths import DensityTree
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import Apply, block_map, n_threads, run_fits_in_threads
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import compute_labels

if TYPE_CHECKING:
    import pandas as pd

SHAPES = ("compact", "elongated", "connected")
_LOG = logging.getLogger("dempster")
_MAX_ROWS = 1000  # rows on which the candidates are compared
_TIE = 0.01  # difference of agreements below which compact clusters are preferred
# coarser than in the final fit
_TOLERANCE = 1e-5
_N_LANDMARKS = 400
_N_SPLITS = 2  # random splits of the rows into halves
_MIN_ROWS_PER_CLUSTER = 4  # With fewer distinct rows, nothing is compared.
_N_INIT = 2  # starts of each method
# starts of the mixtures that are fitted to all rows; half the number of clusters if this is larger
_MIN_FINAL_INIT = 4
_MAX_NUMBERS = 3  # numbers of clusters that are compared with each other
_MAX_DISCRETE = 10  # An attribute with at most this number of different values is discrete.
_N_NEIGHBORS = 10  # neighbors of an object that should have its label
# Connected clusters are accepted if the least prominent of them has this prominence per object of
# an average cluster, if the next part of the density tree is less prominent by this factor, and if
# the disagreement of neighbors is smaller than that of the other candidates by this factor.
_MIN_PROMINENCE = 0.5
_MIN_RATIO = 1.35
_MAX_ERROR = 0.65
# If the tree also selects the number: smallest ratio of prominences, smallest effective number of
# clusters relative to their number, and largest score of the number that is otherwise selected. The
# score does not matter if the connected clusters have this prominence and the others separate so
# many neighbors that they cut through dense regions.
_MIN_OPEN_RATIO = 2.0
_MIN_BALANCE = 0.85
_MAX_SCORE = 1.33
_CUT_PROMINENCE = 1.0
_CUT_AGREEMENT = 0.95
_SAME = 0.8  # adjusted Rand index above which two partitions are nearly the same
_REG_COVAR = {"own": 1e-3, "tied": 1e-6}  # A matrix for each cluster is estimated from fewer rows.
_WEIGHT_OF_AGREEMENT = 0.5  # relative to the support of a number of clusters
_CLOSE = 0.05  # difference of the scores of two numbers that are almost equally plausible
_MIN_WEIGHT = 0.1  # relative to the largest weight; mixtures with a smaller weight are left out


def _rand_index(first: np.ndarray, second: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions, given as labels (scikit-learn's function is much slower)."""
    width = int(second.max()) + 1
    table = np.bincount(first * width + second, minlength=(int(first.max()) + 1) * width).reshape(
        -1, width
    )
    pairs, rows, columns = (
        float(n @ (n - 1.0)) for n in (table.ravel(), table.sum(axis=1), table.sum(axis=0))
    )
    expected = rows * columns / (len(first) * (len(first) - 1))
    largest = (rows + columns) / 2
    if largest == expected:
        return 1.0
    return (pairs - expected) / (largest - expected)


@dataclass(eq=False)
class Candidate:
    """A partition of the sampled rows into clusters of one shape.

    Attributes
    ----------
    shape, method : str
        Shape of the clusters, and description of the method.
    estimator : clusterer
        Estimator with the selected parameters, before the fit to all rows.
    labels : (n,) int array
        Clusters of the sampled rows.
    refits : list of (n,) int arrays
        Clusters of the same rows, predicted after fits to halves of the rows; two for each random
        split.
    neighbors : float
        Share of the nearest neighbors with the same label, corrected for chance.
    seconds : float
    agreement : float
        Mean adjusted Rand index with the other partitions of these rows.
    weight : float
        Weight in the mean of the plausibilities.
    """

    shape: str
    method: str
    estimator: Any
    labels: np.ndarray
    refits: list[np.ndarray]
    neighbors: float
    seconds: float
    agreement: float = np.nan
    weight: float = 0.0

    @property
    def n_clusters(self) -> int:
        return int(self.estimator.n_clusters)

    @property
    def reproducibility(self) -> float:
        """Mean agreement of the fits to two halves of the rows, at least zero."""
        scores = [
            _rand_index(*pair) for pair in zip(self.refits[::2], self.refits[1::2], strict=True)
        ]
        if scores:
            return max(float(np.mean(scores)), 0.0)
        return np.nan


@dataclass
class Comparison:
    """Comparison of candidates on a sample of the rows.

    Attributes
    ----------
    source : DissimilaritySource
        Sampled rows, without missing values.
    weights : (n,) array or None
    estimator : CredalClustering
        Parameters.
    advance : function
        Called with the name of each candidate after its fits, to show the progress.
    takes_mixtures : bool
        Whether X contains numeric attributes without missing values, so that mixtures can be
        fitted.
    """

    source: DissimilaritySource
    weights: np.ndarray | None
    estimator: CredalClustering
    advance: Advance
    takes_mixtures: bool
    candidates: list[Candidate] = field(default_factory=list)
    # excluded from the mean of the plausibilities
    rejected: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seed = as_integer_seed(self.estimator.random_state)
        everything = np.arange(len(self.source))
        self.D = self.source.block(everything, everything).astype(float)
        self.is_euclidean = isinstance(self.source, AttributeSource) and self.source.is_euclidean
        near = max(min(_N_NEIGHBORS, len(self.D) - 1), 1)
        apart = self.D + np.diag(np.full(len(self.D), np.inf))
        self.nearest = np.argpartition(apart, near - 1, axis=1)[:, :near]
        rng = np.random.default_rng(self.seed)
        # mean agreement of all partitions into each number of clusters
        self.consensus: dict[int, float] = {}
        self.scores: dict[int, float] = {}  # support of each number, plus half of the consensus
        self.halves: list[np.ndarray] = []
        for _ in range(_N_SPLITS):
            rows = rng.permutation(len(self.D))
            self.halves += [np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])]

    def coordinates(self) -> np.ndarray:
        """Return the positions of the rows in the plane, which are two attributes or the result of classical scaling.

        For Euclidean distances, classical scaling gives the first two principal components.
        """
        if self.is_euclidean and self.source.objects.shape[1] == 2:
            return np.array(self.source.objects, dtype=float)
        from scipy.sparse.linalg import eigsh  # slow to import

        means = np.square(self.D).mean(axis=0)
        products = (means + means[:, None] - means.mean() - np.square(self.D)) / 2
        variances, axes = eigsh(products, k=2, v0=np.arange(1.0, 1 + len(products)))
        return (axes * np.sqrt(np.maximum(variances, 0)))[:, ::-1]

    # ---- candidates ------------------------------------------------------------------------------

    def make_estimator(self, shape: str, n_clusters: int, covariance: str = "own") -> Any:
        """Return the estimator for clusters of one shape."""
        params = self.estimator
        common: dict[str, Any] = {"random_state": self.seed, "n_jobs": params.n_jobs}
        if shape == "elongated":
            n_init = max(_MIN_FINAL_INIT, n_clusters // 2)
            return EGMM(
                n_clusters,
                covariance=covariance,
                reg_covar=_REG_COVAR[covariance],
                n_init=n_init,
                **common,
            )
        return EVCLUS(
            n_clusters, shape=shape, metric=params.metric, missing=params.missing, **common
        )

    def fit(self, members: list[tuple[str, str, Any]]) -> list[Candidate]:
        """Fit candidates (shape, method and estimator) to the sampled rows and, unless connected, to their halves."""
        tasks = []
        for place, (shape, method, estimator) in enumerate(members):
            _LOG.info("CredalClustering: %s, %d clusters", method, estimator.n_clusters)
            is_found = shape == "connected" or not isinstance(
                getattr(estimator, "init", "medoids"), str
            )
            parts = [np.arange(len(self.D)), *(() if is_found else self.halves)]
            tasks += [(place, estimator, rows) for rows in parts]
        found: list[list[tuple[np.ndarray, float]]] = [[] for _ in members]
        with one_blas_thread():  # The fits already run in threads.
            for place, labels, seconds in run_fits_in_threads(
                self._predict, tasks, n_threads(self.estimator.n_jobs)
            ):
                found[place].append((labels, seconds))
        candidates = []
        for (shape, method, estimator), results in zip(members, found, strict=True):
            labels, *refits = [labels for labels, _ in results]
            seconds = sum(seconds for _, seconds in results)
            neighbors = self.neighbor_agreement(labels)
            candidates.append(
                Candidate(shape, method, estimator, labels, refits, neighbors, seconds)
            )
            self.advance(f"{method}, {estimator.n_clusters} clusters")
        self.candidates += candidates
        return candidates

    def _predict(
        self, place: int, estimator: Any, rows: np.ndarray
    ) -> tuple[int, np.ndarray, float]:
        """Return the clusters of all sampled rows after a fit to some of them, and the time in seconds."""
        began = time.perf_counter()
        trial = clone(estimator).set_params(n_jobs=1, n_init=_N_INIT)
        if isinstance(trial, EGMM):
            trial.set_params(tol=_TOLERANCE)
        elif trial.shape == "compact" and len(rows) > _N_LANDMARKS:
            trial.set_params(
                sampling="landmarks", n_landmarks=max(_N_LANDMARKS, 20 * trial.n_clusters)
            )
        if self.weights is None:
            weights = None
        else:
            weights = self.weights[rows]
        if self.is_euclidean:
            X = self.source.objects
        else:
            X = self.D[:, rows]
        if not self.is_euclidean:
            trial.set_params(metric="precomputed", missing="refuse")
        trial.fit(X[rows], sample_weight=weights)
        if len(rows) == len(X):
            labels = trial.labels_
        else:
            labels = trial.predict(X)
        return place, labels, time.perf_counter() - began

    def neighbor_agreement(self, labels: np.ndarray) -> float:
        """Return the share of nearest neighbors with the same label, corrected for chance like Cohen's kappa."""
        same = float((labels[self.nearest] == labels[:, None]).mean())
        chance = float(np.square(np.bincount(labels) / len(labels)).sum())
        if chance < 1:
            return (same - chance) / (1 - chance)
        return 0.0

    def compare_shapes(self, n_clusters: int) -> list[Candidate]:
        """Fit compact and elongated clusters, and compute the agreement of each partition with all others.

        The agreement is the mean adjusted Rand index with the other candidates and with the
        partitions fitted to halves of the rows. Their weights are the reproducibilities of the
        candidates.
        """
        wanted = self.estimator.shape
        make = self.make_estimator
        if wanted == "elongated":
            members = []
        else:
            members = [("compact", "EVCLUS", make("compact", n_clusters))]
        if wanted != "compact" and self.takes_mixtures:
            members += [
                ("elongated", "EGMM", make("elongated", n_clusters)),
                ("elongated", "EGMM, common covariance", make("elongated", n_clusters, "tied")),
            ]
        candidates = self.fit(members)
        parts = [labels for one in candidates for labels in (one.labels, *one.refits)]
        n_parts = 1 + len(self.halves)
        weights = np.repeat([one.reproducibility + 0.01 for one in candidates], n_parts)
        table = np.eye(len(parts))
        for i, j in zip(*np.triu_indices(len(parts), 1), strict=True):
            table[i, j] = table[j, i] = _rand_index(parts[i], parts[j])
        for place, one in zip(range(0, len(parts), n_parts), candidates, strict=True):
            others = np.arange(len(parts)) != place
            one.agreement = float(np.average(table[place, others], weights=weights[others]))
        self.consensus[n_clusters] = float(table[np.triu_indices(len(parts), 1)].mean())
        return candidates

    # ---- selection -------------------------------------------------------------------------------

    def select(self, n_clusters: int | None, number: NumberOfClusters | None) -> Candidate:
        """Return the best candidate.

        ``number`` contains the support of the numbers if ``n_clusters`` is None.
        """
        if len(self.D) < _MIN_ROWS_PER_CLUSTER * (n_clusters or 2):
            if self.estimator.shape == "auto":
                shape = "compact"
            else:
                shape = self.estimator.shape
            estimator = self.make_estimator(
                shape, n_clusters or (1 if number is None else number.best)
            )
            return Candidate(
                shape, "not compared", estimator, np.zeros(len(self.D), dtype=int), [], np.nan, 0.0
            )
        if self.estimator.shape == "connected":
            return self._fit_connected(n_clusters or self._find_tree_number() or 2)
        if n_clusters is not None:
            best = self._best_shape(self.compare_shapes(n_clusters))
        else:
            assert number is not None
            best = self._best_number(number)
        if self.estimator.shape != "auto":
            return best
        return self._connected_or(best, is_open=n_clusters is None)

    @staticmethod
    def _best_shape(members: list[Candidate]) -> Candidate:
        best = max(members, key=lambda one: one.agreement)
        # The first candidate, compact clusters, also detects outliers.
        if members[0].agreement >= best.agreement - _TIE:
            return members[0]
        return best

    def _best_number(self, number: NumberOfClusters) -> Candidate:
        """Compare the best supported numbers by their support and by the mean agreement of the candidates."""
        best: dict[int, Candidate] = {}
        for place in np.argsort(-number.support, kind="stable")[:_MAX_NUMBERS]:
            k = int(number.n_clusters[place])
            support = float(number.support[place])
            if support + _WEIGHT_OF_AGREEMENT <= max(self.scores.values(), default=0):
                break  # Even full agreement would not suffice.
            best[k] = self._best_shape(self.compare_shapes(k))
            self.scores[k] = support + _WEIGHT_OF_AGREEMENT * self.consensus[k]
        return best[max(self.scores, key=lambda k: self.scores[k])]

    def explain_number(self, best: Candidate) -> str:
        """Return a text with the selected number of clusters and the other plausible numbers."""
        others = sorted(
            ((score, k) for k, score in self.scores.items() if k != best.n_clusters), reverse=True
        )
        if best.n_clusters not in self.scores:
            return f"{best.n_clusters}; clearly separated in the density tree"
        own = self.scores[best.n_clusters]
        text = f"{best.n_clusters}; score {own:.2f} of at most {1 + _WEIGHT_OF_AGREEMENT:.2f}"
        if others:
            text += f"; next {', '.join(f'{k} ({score:.2f})' for score, k in others)}"
        is_close = bool(others) and others[0][0] > own - _CLOSE
        if is_close:
            return f"{text}; {others[0][1]} clusters are about as plausible"
        return text

    def pooled(self, best: Candidate) -> list[Candidate]:
        """Return the candidates whose masses are averaged, and set their weights.

        The weight of a candidate is proportional to its agreement. The first candidate has compact
        clusters, because its method detects outliers; its weight is zero if elongated clusters are
        requested.
        """
        best.weight = 1.0
        if best.shape == "connected" or not self.candidates:
            return [best]
        others = [
            one
            for one in self.candidates
            if one.n_clusters == best.n_clusters and one.shape != "connected"
        ]
        for one in others:
            if one in self.rejected:
                one.weight = 0.0
            else:
                one.weight = float(np.nan_to_num(one.agreement, nan=1.0).clip(0))
        # It agrees with no other partition if all others are rejected.
        best.weight = best.weight or 1.0
        compact = [one for one in others if one.shape == "compact"]
        if not compact:
            estimator = self.make_estimator("compact", best.n_clusters)
            compact = [Candidate("compact", "EVCLUS", estimator, best.labels, [], np.nan, 0.0)]
        least = _MIN_WEIGHT * max(one.weight for one in others)
        pool = compact + [one for one in others if one.shape == "elongated" and one.weight >= least]
        total = sum(one.weight for one in pool)
        for one in others:
            if one in pool:
                one.weight = one.weight / total
            else:
                one.weight = 0.0
        return pool

    @cached_property
    def tree(self) -> DensityTree:
        return DensityTree.from_dissimilarities(self.D)

    def _find_tree_number(self) -> int | None:
        """Return the number of clusters that the density tree separates most clearly, or None."""
        best = None
        largest = _MIN_RATIO
        for k in range(2, min(26, len(self.D) // 10)):
            prominence, ratio = self.tree.support(k)
            if prominence >= _MIN_PROMINENCE and ratio >= largest:
                best = k
                largest = ratio
        return best

    def _fit_connected(self, n_clusters: int) -> Candidate:
        return self.fit(
            [("connected", "EVCLUS, path distances", self.make_estimator("connected", n_clusters))]
        )[0]

    def _connected_or(self, best: Candidate, *, is_open: bool) -> Candidate:
        """Return connected clusters if the data clearly have this shape, otherwise ``best``."""
        if is_open:
            k = self._find_tree_number()
        else:
            k = best.n_clusters
        if k is None or k < 2 or k > len(self.D) // 10:
            return best
        prominence, ratio = self.tree.support(k)
        if prominence < _MIN_PROMINENCE or ratio < _MIN_RATIO:
            return best
        if is_open and k != best.n_clusters:
            shares = np.bincount(self.tree.cut(k)) / len(self.D)
            balance = float(np.exp(-shares @ np.log(shares))) / k
            is_cut = prominence >= _CUT_PROMINENCE and best.neighbors <= _CUT_AGREEMENT
            is_clear = self.scores[best.n_clusters] > _MAX_SCORE and not is_cut
            if ratio < _MIN_OPEN_RATIO or balance < _MIN_BALANCE or is_clear:
                return best
        others = [one for one in self.candidates if one.n_clusters == k] or self.compare_shapes(k)
        connected = self._fit_connected(k)
        # A candidate with nearly the same clusters describes them by a simpler shape.
        alike = [one for one in others if _rand_index(one.labels, connected.labels) >= _SAME]
        if k != best.n_clusters and any(one.shape == "compact" for one in alike):
            # The number was selected among compact clusters, so these have less support.
            return best
        rivals = [one for one in others if one not in alike]
        if not rivals or 1 - connected.neighbors > _MAX_ERROR * (
            1 - max(one.neighbors for one in rivals)
        ):
            return best
        is_full = len(np.unique(connected.labels)) == k
        # The starts of EGMM may be too far from these clusters.
        if self.takes_mixtures and is_full and not alike:
            means = np.array(
                [self.source.objects[connected.labels == j].mean(axis=0) for j in range(k)]
            )
            estimator = self.make_estimator("elongated", k).set_params(init=means)
            one = self.fit([("elongated", "EGMM from connected clusters", estimator)])[0]
            if _rand_index(one.labels, connected.labels) >= _SAME:
                alike = [one]
            else:
                alike = []
        if not alike:
            return connected
        self.rejected = rivals
        return max(alike, key=lambda one: _rand_index(one.labels, connected.labels))


def _is_continuous(rows: np.ndarray) -> bool:
    """Return whether at least half of the attributes have many different values, as Gaussians do."""
    n_values = np.array([len(np.unique(column)) for column in rows.T])
    return float(np.median(n_values)) > min(_MAX_DISCRETE, len(rows) / 4)


def _match_clusters(models: list[Any], selected: int, rows: np.ndarray, apply: Apply) -> np.ndarray:
    """Return, for each model, its clusters that correspond to the clusters of the selected model, shape (m, c).

    The sum of the products of the plausibilities of corresponding clusters over the rows is as
    large as possible.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import

    contours = [one.masses(rows, apply).astype(float) @ one.family.membership for one in models]
    return np.array(
        [linear_sum_assignment(-contours[selected].T @ contour)[1] for contour in contours]
    )


def _number_like(labels: np.ndarray, model: Any, rows: np.ndarray, apply: Apply) -> np.ndarray:
    """Renumber the clusters of the rows like those of a model, whose fit to all objects may number them differently."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    contour = model.masses(rows, apply).astype(float) @ model.family.membership
    return linear_sum_assignment(-np.eye(contour.shape[1])[labels].T @ contour)[1][labels]


class CredalClustering(EvidentialClusterer):
    """Clustering that selects the number and the shape (compact, elongated, connected) of clusters.

    Candidates are compared on a sample of at most 1,000 rows. *Compact* clusters are found by
    `EVCLUS`, *elongated* clusters by `EGMM` with one covariance matrix per cluster or with a common
    covariance matrix, and *connected* clusters of any shape, such as rings and crescents, by
    `EVCLUS` on path distances.

    - *Compact or elongated*: every candidate is also fitted to both halves of two random splits of
      the sample. The candidate that agrees most with the others and with the partitions from the
      halves is selected (adjusted Rand index, weighted by the agreement between the halves);
      compact clusters in a tie.
    - *Connected*: selected if the clusters are clearly separated in a tree of the densities, if far
      fewer nearest neighbors have different labels than with the best other candidate, and if no
      other candidate finds nearly the same clusters.
    - *Number of clusters*: the numbers with the largest support (see
      `dempster.model_selection.number_of_clusters`) are compared by their support plus half of the
      mean agreement of the candidates, so that more clusters than can be found again in a part of
      the data are not selected.

    Compact and elongated candidates are then fitted to all objects. The relative plausibility of
    each cluster is the weighted mean over the candidates, whose weights are proportional to their
    agreements with the others. An object about which plausible candidates disagree therefore gets
    mass on a pair of clusters. Connected clusters, and the clusters of a single candidate, are not
    averaged. Mixtures are not fitted if most attributes are discrete (at most ten different
    values).

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
        between the halves), agreement (with the other partitions), neighbors (share of nearest
        neighbors with the same label, corrected for chance), adjusted Rand index with the selected
        candidate, weight in the mean of the plausibilities, whether it is selected, and time in
        seconds.
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
    Connected clusters: neighbors have the same label more often (0.99) than with elongated clusters
    (0.97).
    """

    _model: DoubtModel | EvclusModel | PooledModel
    _input: DissimilarityInput
    _candidates: list[dict[str, Any]]
    candidate_labels_: MaybeUnset[Annotated[np.ndarray, "m n:int"]]
    candidate_points_: MaybeUnset[Annotated[np.ndarray, "n 2"]]

    _rules = {
        "n_clusters": COMMON_RULES["n_clusters"],
        "shape": rule.choice("auto", *SHAPES),
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
        missing: str = "refuse",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.shape = shape
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Select the shape and the number of clusters, and cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or dissimilarities if ``metric="precomputed"``
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
        return self

    def _compare_and_fit(self, X: TableLike, sample_weight: ArrayLike) -> None:
        self._check_parameters()
        with (
            block_map(self.n_jobs) as apply,
            self._open_sample(X, sample_weight, {}, apply) as sample,
        ):
            comparison, best = self._compare(sample, apply)
            pool = comparison.pooled(best)
            members = [one.estimator.fit(X, sample_weight=sample_weight) for one in pool]
            chosen = pool.index(best)
            models = [one._model for one in members]
            self._model = models[0]
            if len(models) > 1:
                orders = _match_clusters(models, chosen, comparison.source.objects, apply)
                self._model = PooledModel.from_models(
                    models, np.array([one.weight for one in pool]), orders, chosen
                )
            self.selected_ = best.shape
            self._candidates = [
                {
                    "shape": one.shape,
                    "method": one.method,
                    "n_clusters": one.n_clusters,
                    "reproducibility": one.reproducibility,
                    "agreement": one.agreement,
                    "neighbors": one.neighbors,
                    "with_selected": _rand_index(best.labels, one.labels),
                    "weight": one.weight,
                    "selected": one is best,
                    "seconds": one.seconds,
                }
                for one in comparison.candidates
            ]
            if comparison.candidates:
                if isinstance(comparison.source, AttributeSource):
                    best.labels = _number_like(
                        best.labels, self._model, comparison.source.objects, apply
                    )
                self.candidate_labels_ = np.array([one.labels for one in comparison.candidates])
                self.candidate_points_ = comparison.coordinates()
            for name in ("objective_", "history_", "n_iter_", "converged_"):
                setattr(self, name, getattr(members[chosen], name))
            self.focal_sets_ = self._model.family
            self.n_clusters_ = self._model.family.n_clusters
            if "number_" in vars(self):
                choices = {"n_clusters": comparison.explain_number(best)}
            else:
                choices = {}
            metadata = self._make_metadata(choices | {"shape": self.reason()})
            if sample.blocks is not None:
                self.credal_partition_ = self._make_lazy_partition(sample.blocks.source, metadata)
                self.labels_ = self.credal_partition_.labels
                self.sample_indices_ = sample.blocks.indices
                return
            parts = [one.credal_partition_.masses for one in members]
            if isinstance(self._model, PooledModel):
                masses = self._model.pool(parts)
            else:
                masses = parts[0]
            self.credal_partition_ = CredalPartition.unchecked(
                masses, self.focal_sets_, sample.index, metadata=metadata
            )
            compute_labels(self.credal_partition_, apply)
            self.labels_ = self.credal_partition_.labels.copy()

    def _compare(self, sample: Sample[Any], apply: Apply) -> tuple[Comparison, Candidate]:
        """Compare the candidates on a sample of the rows, and select one of them."""
        source = sample.values
        takes_mixtures = self.metric == "euclidean" and not has_missing(source.objects)
        if self.shape == "elongated" and not takes_mixtures:
            raise InvalidParameterError(
                "shape", "'compact' or 'connected' for these data", self.shape
            )
        n_clusters = self._requested_clusters()
        if n_clusters is None:
            self.number_ = compare_numbers(source, sample.weights, None, self.random_state, apply)
        rng = as_random_state(self.random_state)
        rows, weights = draw_complete_rows(source, sample.weights, rng, _MAX_ROWS)
        if isinstance(rows, AttributeSource):  # Repeated rows and weights give the same result.
            distinct, places = np.unique(rows.objects, axis=0, return_inverse=True)
            weights = np.bincount(places, weights)
            rows = AttributeSource(distinct[weights > 0], rows.metric)
            weights = weights[weights > 0]
        if np.ptp(weights) == 0:
            unequal = None
        else:
            unequal = weights / weights.mean()
        if self.shape == "auto" and takes_mixtures:
            takes_mixtures = _is_continuous(rows.objects)
        with self._open_progress(None, " candidates") as advance:
            comparison = Comparison(rows, unequal, self, advance, takes_mixtures)
            return comparison, comparison.select(n_clusters, getattr(self, "number_", None))

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(self.metric, fewest=2)
            return self._input.training(self, X)
        references = getattr(self._model, "references", None)
        return self._input.new(self, X, or_width=None if references is None else len(references))

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)

    @property
    def candidates_(self) -> pd.DataFrame:
        """Table of the candidates, in the order in which they were fitted."""
        import pandas as pd

        check_is_fitted(self, "credal_partition_")
        return pd.DataFrame(self._candidates)

    def reason(self) -> str:
        """Return a sentence that explains the selection of the shape, and other plausible numbers of clusters.

        Returns
        -------
        str
        """
        check_is_fitted(self, "selected_")
        table = self._candidates
        clusters = f"{self.selected_.capitalize()} clusters"
        if not table:
            return f"{clusters}: there are too few objects for a comparison."
        selected = next(one for one in table if one["selected"])
        others = [
            one
            for one in table
            if one["n_clusters"] == selected["n_clusters"] and one["shape"] != self.selected_
        ]
        rivals = [one for one in others if one["shape"] != "connected"]
        if not others:
            return f"{clusters}: no other shape was compared."
        if not rivals or np.isnan(selected["agreement"]):
            rival = max(rivals or others, key=lambda one: one["neighbors"])
            own = f"{selected['neighbors']:.2f}"
            other = f"{rival['neighbors']:.2f}"
            if own == other:
                often = f"as often ({own}) as"
            else:
                often = f"more often ({own}) than"
            return f"{clusters}: neighbors have the same label {often} with {rival['shape']} clusters ({other})."
        rival = max(rivals, key=lambda one: one["agreement"])
        return (
            f"{clusters} ({selected['method']}): agreement {selected['agreement']:.2f} with the other candidates and "
            f"with fits to halves of the data; {rival['shape']} clusters: {rival['agreement']:.2f}."
        )
