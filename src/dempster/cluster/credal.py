"""Clustering with automatic selection of the shape and the number of clusters.

`ComparedRows` fits candidates to a sample of the rows. `select` returns a `Selection` of them, and
`pool_weights` the candidates whose fits to all rows `CredalClustering` averages.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
from dempster.cluster._base import (
    COMMON_RULES,
    MISSING_RULE,
    EvidentialClusterer,
    Support,
)
from dempster.cluster._open_sample import open_sample, set_lazy_result
from dempster.cluster._pool import PooledModel
from dempster.cluster._search import FitResult, Sample
from dempster.cluster.egmm import EGMM
from dempster.cluster.evclus._model import DoubtModel, EvclusModel
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.number_of_clusters import (
    NumberOfClusters,
    compare_numbers,
    draw_complete_rows,
    find_isolated,
    forms_clusters,
    principal_coordinates,
)
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.paths import DensityTree
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import Apply, block_map, n_threads, run_fits_in_threads
from dempster.optimize.descent import Run

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
_MAX_DISCRETE = (
    10  # An attribute with at most this number of different values is discrete.
)
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
_REG_COVAR = {
    "own": 1e-3,
    "tied": 1e-6,
}  # A matrix for each cluster is estimated from fewer rows.
# Clusters with own covariances follow t distributions, so that tails do not become clusters. With a
# common covariance, t distributions are worse on public data (0.646 instead of 0.666).
_DISTRIBUTION = {"own": "t", "tied": "gaussian"}
_WEIGHT_OF_AGREEMENT = 0.5  # relative to the support of a number of clusters
_CLOSE = (
    0.05  # difference of the scores of two numbers that are almost equally plausible
)
_MIN_WEIGHT = (
    0.1  # relative to the largest weight; mixtures with a smaller weight are left out
)


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
    neighbors: float = np.nan
    seconds: float = 0.0
    agreement: float = (
        np.nan
    )  # mean adjusted Rand index with the other partitions of these rows

    @property
    def n_clusters(self) -> int:
        return int(self.estimator.n_clusters)

    @property
    def has_empty_cluster(self) -> bool:
        return len(np.unique(self.labels)) < self.n_clusters

    @property
    def reproducibility(self) -> float:
        """Mean agreement of the fits to two halves of the rows, at least zero."""
        halves = zip(self.refits[::2], self.refits[1::2], strict=True)
        scores = [_rand_index(*pair) for pair in halves]
        if not scores:
            return np.nan
        return max(float(np.mean(scores)), 0.0)


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
        return np.argpartition(apart, n_nearest - 1, axis=1)[:, :n_nearest]

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
            return np.array(self.source.objects, dtype=float)
        return principal_coordinates(np.square(self.D), 2)

    def neighbor_agreement(self, labels: np.ndarray) -> float:
        """Return the share of neighbors with the same label, corrected like Cohen's kappa."""
        same = float((labels[self.nearest] == labels[:, None]).mean())
        chance = float(np.square(np.bincount(labels) / len(labels)).sum())
        if chance >= 1:
            return 0.0
        return (same - chance) / (1 - chance)

    def make_estimator(
        self, shape: str, n_clusters: int, covariance: str = "own"
    ) -> Any:
        """Return the estimator for clusters of one shape."""
        params = self.params
        common: dict[str, Any] = {"random_state": self.seed, "n_jobs": params.n_jobs}
        if shape == "elongated":
            common["n_init"] = max(_MIN_FINAL_INIT, n_clusters // 2)
            common["reg_covar"] = _REG_COVAR[covariance]
            common["distribution"] = _DISTRIBUTION[covariance]
            return EGMM(n_clusters, covariance=covariance, **common)
        common["metric"] = params.metric
        common["missing"] = params.missing
        return EVCLUS(n_clusters, shape=shape, **common)

    def fit(self, *members: tuple[str, str, Any]) -> list[Candidate]:
        """Fit candidates (shape, method and estimator) to the rows and to halves of them.

        Connected clusters, and mixtures with given initial means, are not fitted to halves.
        """
        tasks = []
        for place, (shape, method, estimator) in enumerate(members):
            _LOG.info("CredalClustering: %s, %d clusters", method, estimator.n_clusters)
            parts = [np.arange(len(self))]
            has_means = not isinstance(getattr(estimator, "init", "medoids"), str)
            if shape != "connected" and not has_means:
                parts += self.halves
            tasks += [(place, estimator, rows) for rows in parts]
        found: list[list[np.ndarray]] = [[] for _ in members]
        seconds = np.zeros(len(members))
        threads = n_threads(self.params.n_jobs)
        with one_blas_thread():  # The fits already run in threads.
            for place, labels, time_taken in run_fits_in_threads(
                self._predict, tasks, threads
            ):
                found[place].append(labels)
                seconds[place] += time_taken
        candidates = []
        for place, (shape, method, estimator) in enumerate(members):
            labels, *refits = found[place]
            neighbors = self.neighbor_agreement(labels)
            time_taken = float(seconds[place])
            candidates.append(
                Candidate(
                    shape, method, estimator, labels, refits, neighbors, time_taken
                )
            )
            self.advance(f"{method}, {estimator.n_clusters} clusters")
        return candidates

    def fit_connected(self, n_clusters: int) -> Candidate:
        estimator = self.make_estimator("connected", n_clusters)
        return self.fit(("connected", "EVCLUS, path distances", estimator))[0]

    def _predict(
        self, place: int, estimator: Any, rows: np.ndarray
    ) -> tuple[int, np.ndarray, float]:
        """Return the clusters of all rows after a fit to some of them, and the time in seconds."""
        began = time.perf_counter()
        trial = clone(estimator).set_params(n_jobs=1, n_init=_N_INIT)
        if isinstance(trial, EGMM):
            trial.set_params(tol=_TOLERANCE)
        elif trial.shape == "compact" and len(rows) > _N_LANDMARKS:
            n_landmarks = max(_N_LANDMARKS, 20 * trial.n_clusters)
            trial.set_params(sampling="landmarks", n_landmarks=n_landmarks)
        if self.is_euclidean:
            X = self.source.objects
        else:
            X = self.D[:, rows]
            trial.set_params(metric="precomputed", missing="refuse")
        weights = None if self.weights is None else self.weights[rows]
        trial._fit_silently(X[rows], weights)
        labels = trial.labels_ if len(rows) == len(X) else trial.predict(X)
        return place, labels, time.perf_counter() - began


def _compare_shapes(
    rows: ComparedRows, n_clusters: int
) -> tuple[list[Candidate], float]:
    """Fit compact and elongated clusters, and compare each partition with all others.

    The agreement of a candidate is the mean adjusted Rand index with the other candidates and with
    the partitions fitted to halves of the rows. Their weights are the reproducibilities of the
    candidates. The second value is the mean over all pairs of partitions.
    """
    shape = rows.params.shape
    members = []
    if shape != "elongated":
        members += [("compact", "EVCLUS", rows.make_estimator("compact", n_clusters))]
    if shape != "compact" and rows.takes_mixtures:
        own = rows.make_estimator("elongated", n_clusters)
        tied = rows.make_estimator("elongated", n_clusters, "tied")
        members += [
            ("elongated", "EGMM", own),
            ("elongated", "EGMM, common covariance", tied),
        ]
    candidates = rows.fit(*members)
    parts = [labels for one in candidates for labels in (one.labels, *one.refits)]
    n_parts = len(parts) // len(candidates)
    weights = np.repeat([one.reproducibility + 0.01 for one in candidates], n_parts)
    table = np.eye(len(parts))
    upper = np.triu_indices(len(parts), 1)
    for i, j in zip(*upper, strict=True):
        table[i, j] = table[j, i] = _rand_index(parts[i], parts[j])
    compared = []
    for k, one in enumerate(candidates):
        others = np.arange(len(parts)) != k * n_parts
        agreement = np.average(table[k * n_parts, others], weights=weights[others])
        compared.append(replace(one, agreement=float(agreement)))
    return compared, float(table[upper].mean())


# ---- selection -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Selection:
    """The selected candidate and the others."""

    best: Candidate
    candidates: tuple[Candidate, ...] = ()  # in the order in which they were fitted
    rejected: tuple[Candidate, ...] = ()  # excluded from the mean of the plausibilities
    # support of each number of clusters, plus half of the mean agreement of its candidates
    scores: Mapping[int, float] = field(default_factory=dict)

    def explain_number(self) -> str:
        """Return a text with the selected number of clusters and the other plausible numbers."""
        best = self.best.n_clusters
        if best == 1:
            return "1; the objects do not form several clusters"
        if best not in self.scores:
            return f"{best}; clearly separated in the density tree"
        own = self.scores[best]
        text = f"{best}; score {own:.2f} of at most {1 + _WEIGHT_OF_AGREEMENT:.2f}"
        others = sorted(
            ((score, k) for k, score in self.scores.items() if k != best), reverse=True
        )
        if not others:
            return text
        text += f"; next {', '.join(f'{k} ({score:.2f})' for score, k in others)}"
        score, k = others[0]
        if score > own - _CLOSE:
            text += f"; {k} clusters are about as plausible"
        return text


def select(
    rows: ComparedRows, number: NumberOfClusters | None, n_clusters: int | None
) -> Selection:
    """Select a candidate.

    ``number`` contains the support of the numbers of clusters if ``n_clusters`` is None.
    """
    shape = rows.params.shape
    if number is not None:
        least = number.best
    else:
        assert n_clusters is not None
        least = n_clusters
    if len(rows) < _MIN_ROWS_PER_CLUSTER * max(least, 2):
        if shape == "auto":
            shape = "compact"
        return Selection(_uncompared(rows, shape, least))
    if shape == "connected":
        best = rows.fit_connected(n_clusters or _find_tree_number(rows) or 2)
        return Selection(best, (best,))
    if least == 1:
        selection = Selection(_uncompared(rows, "compact", 1))
    elif number is not None:
        selection = _select_number(rows, number)
    else:
        candidates, _ = _compare_shapes(rows, least)
        selection = Selection(_best_shape(candidates), tuple(candidates))
    if shape == "auto":
        return _consider_connected(rows, selection, is_open=n_clusters is None)
    return selection


def _uncompared(rows: ComparedRows, shape: str, n_clusters: int) -> Candidate:
    estimator = rows.make_estimator(shape, n_clusters)
    labels = np.zeros(len(rows), int)
    return Candidate(shape, "not compared", estimator, labels, neighbors=0.0)


def _best_shape(candidates: list[Candidate]) -> Candidate:
    full = [one for one in candidates if not one.has_empty_cluster] or candidates
    best = max(full, key=lambda one: one.agreement)
    # The first candidate, compact clusters, also detects outliers.
    if full[0].agreement >= best.agreement - _TIE:
        return full[0]
    return best


def _select_number(rows: ComparedRows, number: NumberOfClusters) -> Selection:
    """Compare the best supported numbers by their support and the agreement of the candidates."""
    candidates: list[Candidate] = []
    best: dict[int, Candidate] = {}
    scores: dict[int, float] = {}
    for place in np.argsort(-number.support, kind="stable")[:_MAX_NUMBERS]:
        k = int(number.n_clusters[place])
        support = float(number.support[place])
        if support + _WEIGHT_OF_AGREEMENT <= max(scores.values(), default=0):
            break  # Even full agreement would not suffice.
        members, agreement = _compare_shapes(rows, k)
        candidates += members
        best[k] = _best_shape(members)
        scores[k] = support + _WEIGHT_OF_AGREEMENT * agreement
    selected = max(scores, key=lambda k: scores[k])
    return Selection(best[selected], tuple(candidates), scores=scores)


def _find_tree_number(rows: ComparedRows) -> int | None:
    """Return the number of clusters that the density tree separates most clearly, or None."""
    best = None
    largest = _MIN_RATIO
    for k in range(2, min(26, len(rows) // 10)):
        prominence, ratio = rows.tree.support(k)
        if prominence >= _MIN_PROMINENCE and ratio >= largest:
            best = k
            largest = ratio
    return best


def _find_connected_number(
    rows: ComparedRows, selection: Selection, *, is_open: bool
) -> int | None:
    """Return the number of connected clusters if they are clearly separated, or None.

    ``is_open`` means that the density tree also selects the number.
    """
    best = selection.best
    k = _find_tree_number(rows) if is_open else best.n_clusters
    if k is None or k < 2 or k > len(rows) // 10:
        return None
    prominence, ratio = rows.tree.support(k)
    if prominence < _MIN_PROMINENCE or ratio < _MIN_RATIO:
        return None
    if not is_open or k == best.n_clusters:
        return k
    shares = np.bincount(rows.tree.cut(k)) / len(rows)
    balance = float(np.exp(-shares @ np.log(shares))) / k
    is_cut = prominence >= _CUT_PROMINENCE and best.neighbors <= _CUT_AGREEMENT
    score = selection.scores.get(best.n_clusters, 0.0)
    is_clear = score > _MAX_SCORE and not is_cut
    if ratio < _MIN_OPEN_RATIO or balance < _MIN_BALANCE or is_clear:
        return None
    return k


def _consider_connected(
    rows: ComparedRows, selection: Selection, *, is_open: bool
) -> Selection:
    """Select connected clusters, or a simpler description of them, if clearly separated."""
    k = _find_connected_number(rows, selection, is_open=is_open)
    if k is None:
        return selection
    candidates = list(selection.candidates)
    others = [one for one in candidates if one.n_clusters == k]
    if not others:
        others, _ = _compare_shapes(rows, k)
        candidates += others
    connected = rows.fit_connected(k)
    candidates.append(connected)
    selection = replace(selection, candidates=tuple(candidates))

    def similarity(one: Candidate) -> float:
        return _rand_index(one.labels, connected.labels)

    # A candidate with nearly the same clusters describes them by a simpler shape.
    alike = [one for one in others if similarity(one) >= _SAME]
    if k != selection.best.n_clusters and any(one.shape == "compact" for one in alike):
        # The number was selected among compact clusters, so these have less support.
        return selection
    rivals = [one for one in others if one not in alike]
    if not rivals:
        return selection
    smallest_error = 1 - max(one.neighbors for one in rivals)
    if 1 - connected.neighbors > _MAX_ERROR * smallest_error:
        return selection
    # The starts of EGMM may be too far from these clusters.
    if rows.takes_mixtures and not connected.has_empty_cluster and not alike:
        X = rows.source.objects
        means = np.array([X[connected.labels == j].mean(axis=0) for j in range(k)])
        estimator = rows.make_estimator("elongated", k).set_params(init=means)
        [mixture] = rows.fit(("elongated", "EGMM from connected clusters", estimator))
        selection = replace(selection, candidates=(*candidates, mixture))
        if similarity(mixture) >= _SAME:
            alike = [mixture]
    if not alike:
        return replace(selection, best=connected)
    return replace(selection, best=max(alike, key=similarity), rejected=tuple(rivals))


def pool_weights(rows: ComparedRows, selection: Selection) -> dict[Candidate, float]:
    """Return the candidates whose plausibilities are averaged, and their weights.

    The weight of a candidate is proportional to its agreement. The first candidate has compact
    clusters, because its method detects outliers; its weight is zero if elongated clusters are
    requested.
    """
    best = selection.best
    if best.shape == "connected" or not selection.candidates:
        return {best: 1.0}
    weights: dict[Candidate, float] = {}
    for one in selection.candidates:
        if one.n_clusters == best.n_clusters and one.shape != "connected":
            agreement = float(np.nan_to_num(one.agreement, nan=1.0).clip(0))
            weights[one] = 0.0 if one in selection.rejected else agreement
    # It agrees with no other partition if all others are rejected.
    weights[best] = weights[best] or 1.0
    compact = [one for one in weights if one.shape == "compact"]
    if not compact:
        estimator = rows.make_estimator("compact", best.n_clusters)
        compact = [Candidate("compact", "EVCLUS", estimator, best.labels)]
    least = _MIN_WEIGHT * max(weights.values())
    elongated = [
        one for one in weights if one.shape == "elongated" and weights[one] >= least
    ]
    pool = {one: weights.get(one, 0.0) for one in compact + elongated}
    total = sum(pool.values())
    return {one: weight / total for one, weight in pool.items()}


def _describe(one: Candidate, best: Candidate, weight: float) -> dict[str, Any]:
    """Return a row of the table of candidates."""
    return {
        "shape": one.shape,
        "method": one.method,
        "n_clusters": one.n_clusters,
        "reproducibility": one.reproducibility,
        "agreement": one.agreement,
        "neighbors": one.neighbors,
        "with_selected": _rand_index(best.labels, one.labels),
        "weight": weight,
        "selected": one is best,
        "seconds": one.seconds,
    }


# ---- the estimator -------------------------------------------------------------------------------


def _is_continuous(rows: np.ndarray) -> bool:
    """Return whether at least half of the attributes have many different values."""
    n_values = np.array([len(np.unique(column)) for column in rows.T])
    return float(np.median(n_values)) > min(_MAX_DISCRETE, len(rows) / 4)


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
    `EVCLUS`, *elongated* clusters by `EGMM` with t distributions and one covariance matrix per
    cluster, or with Gaussian distributions and a common covariance matrix, and *connected* clusters
    of any shape, such as rings and crescents, by `EVCLUS` on path distances.

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
    separated_ : bool
        False if ``n_clusters`` is given, but the objects form a single group.
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
    (0.96).
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
        self._warn_empty_clusters()
        return self

    def _compare_and_fit(self, X: TableLike, sample_weight: ArrayLike) -> None:
        self._check_parameters()
        with (
            block_map(self.n_jobs) as apply,
            open_sample(self, X, sample_weight, {}, apply) as sample,
        ):
            if sample.blocks is None:
                sample = self._leave_out_isolated(sample)
            rows, selection = self._compare(sample, apply)
            best = selection.best
            weights = pool_weights(rows, selection)
            if sample.blocks is None:
                sample_weight = sample.weights
            members = [one.estimator for one in weights]
            for member in members:
                member._fit_silently(X, sample_weight)
            models = [member._model for member in members]
            selected = list(weights).index(best)

            def plausibilities(model: Any) -> np.ndarray:
                return (
                    model.masses(rows.source.objects, apply).astype(float)
                    @ model.family.membership
                )

            model = models[0]
            if len(models) > 1:
                contours = [plausibilities(one) for one in models]
                orders = np.array(
                    [
                        _match_clusters(contours[selected], contour)
                        for contour in contours
                    ]
                )
                shares = np.array(list(weights.values()))
                model = PooledModel.from_models(models, shares, orders, selected)
                if _has_empty_cluster(plausibilities(model)):
                    # The selected candidate alone; the first one detects outliers.
                    shares = np.eye(len(models))[selected]
                    model = PooledModel.from_models(models, shares, orders, selected)
                    weights = dict(zip(weights, shares.tolist(), strict=True))
            self.selected_ = best.shape
            self.n_clusters_ = best.n_clusters
            self._candidates = [
                _describe(one, best, weights.get(one, 0.0))
                for one in selection.candidates
            ]
            if selection.candidates:
                labels = {one: one.labels for one in selection.candidates}
                if isinstance(rows.source, AttributeSource):
                    # The fit to all objects may number the clusters differently.
                    contour = plausibilities(model)
                    indicators = np.eye(contour.shape[1])[best.labels]
                    labels[best] = _match_clusters(indicators, contour)[best.labels]
                self.candidate_labels_ = np.array(list(labels.values()))
                self.candidate_points_ = rows.coordinates()
            auto_params = {}
            if "number_" in vars(self):
                auto_params["n_clusters"] = selection.explain_number()
            if best.n_clusters > 1:
                auto_params["shape"] = self.reason()
            masses = None
            if sample.blocks is None:
                parts = [member.credal_partition_.masses for member in members]
                masses = model.pool(parts) if len(models) > 1 else parts[0]
            fitted = members[selected]
            run = Run(model, fitted.history_.tolist(), fitted.converged_)
            result = FitResult(run, model, masses)
            metadata = self._set_result(result, sample, auto_params, apply)
            if sample.blocks is not None:
                set_lazy_result(self, sample.blocks, metadata)

    def _leave_out_isolated(self, sample: Sample[Any]) -> Sample[Any]:
        """Set the weights of isolated rows to zero, so that they do not change the clusters."""
        weights = sample.weights
        isolated = find_isolated(sample.values, weights, self.random_state)
        if isolated.any():
            if weights is None:
                weights = np.ones(len(isolated))
            weights = np.where(isolated, 0.0, weights)
        return replace(sample, weights=weights)

    def _compare(
        self, sample: Sample[Any], apply: Apply
    ) -> tuple[ComparedRows, Selection]:
        """Compare the candidates on a sample of the rows, and select one of them."""
        source = sample.values
        takes_mixtures = self.metric == "euclidean" and not has_missing(source.objects)
        if self.shape == "elongated" and not takes_mixtures:
            expected = "'compact' or 'connected' for these data"
            raise InvalidParameterError("shape", expected, self.shape)
        n_clusters = self._requested_clusters()
        number = None
        if n_clusters is None:
            number = compare_numbers(
                source, sample.weights, None, self.random_state, apply
            )
            self.number_ = number
            self.separated_ = True
        else:
            self.separated_ = forms_clusters(source, sample.weights, self.random_state)
        rng = as_random_state(self.random_state)
        drawn, weights = draw_complete_rows(source, sample.weights, rng, _MAX_ROWS)
        unequal = None if np.ptp(weights) == 0 else weights / weights.mean()
        if self.shape == "auto" and takes_mixtures:
            takes_mixtures = _is_continuous(drawn.objects)
        seed = as_integer_seed(self.random_state)
        with self._open_progress(None, " candidates") as advance:
            rows = ComparedRows(drawn, unequal, self, seed, takes_mixtures, advance)
            return rows, select(rows, number, n_clusters)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(self.metric, fewest=2)
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
        """Explain in a sentence why the shape was selected.

        Returns
        -------
        str
        """
        check_is_fitted(self, "selected_")
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
        rivals = [one for one in others if one["shape"] != "connected"]
        if rivals and not np.isnan(selected["agreement"]):
            rival = max(rivals, key=lambda one: one["agreement"])
            return (
                f"{clusters} ({selected['method']}): agreement {selected['agreement']:.2f} with "
                "the other candidates and with fits to halves of the data; "
                f"{rival['shape']} clusters: {rival['agreement']:.2f}."
            )
        rival = max(rivals or others, key=lambda one: one["neighbors"])
        own = f"{selected['neighbors']:.2f}"
        other = f"{rival['neighbors']:.2f}"
        often = f"as often ({own}) as" if own == other else f"more often ({own}) than"
        rest = f"with {rival['shape']} clusters ({other})"
        return f"{clusters}: neighbors have the same label {often} {rest}."
