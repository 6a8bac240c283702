"""Clustering with automatic selection of the shape and the number of clusters."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._random import as_integer_seed, as_random_state
from dempster._types import Advance, ArrayLike, Metric, Seed, TableLike
from dempster._validation import has_missing
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, Support
from dempster.cluster.egmm import EGMM
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.number import NumberOfClusters, compare_numbers, draw_complete_rows
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.paths import DensityTree
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import block_map, n_threads, run_fits_in_threads
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

SHAPES = ("compact", "elongated", "connected")
_LOG = logging.getLogger("dempster")
_MAX_ROWS = 1000  # rows on which the candidates are compared
_TIE = 0.01  # difference of agreements below which compact clusters are preferred
_TOLERANCE, _N_LANDMARKS = 1e-5, 400  # coarser than in the final fit
_N_SPLITS = 2  # random splits of the rows into halves
_MIN_ROWS_PER_CLUSTER = 4  # With fewer distinct rows, nothing is compared.
_N_INIT = 3  # starts of each method
_MAX_NUMBERS = 3  # numbers of clusters that are compared with each other
_N_NEIGHBORS = 10  # neighbors of an object that should have its label
# Connected clusters are accepted if the least prominent of them has this prominence per object of an average cluster,
# if the next part of the density tree is less prominent by this factor, and if the disagreement of neighbors is smaller
# than that of the other candidates by this factor.
_MIN_PROMINENCE, _MIN_RATIO, _MAX_ERROR = 0.5, 1.35, 0.7
# If the tree also selects the number: smallest ratio of prominences, smallest effective number of clusters relative to
# their number, and largest score of the number that is otherwise selected.
_MIN_OPEN_RATIO, _MIN_BALANCE, _MAX_SCORE = 2.0, 0.85, 1.33
_SAME = 0.8  # adjusted Rand index above which two partitions are nearly the same
_REG_COVAR = {"own": 1e-3, "tied": 1e-6}  # A matrix for each cluster is estimated from fewer rows.
_WEIGHT_OF_AGREEMENT = 0.5  # relative to the support of a number of clusters


def _rand_index(first: np.ndarray, second: np.ndarray) -> float:
    """Return the adjusted Rand index of two partitions."""
    from sklearn.metrics import adjusted_rand_score  # slow to import

    return float(adjusted_rand_score(first, second))


@dataclass
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
        Clusters of the same rows, predicted after fits to halves of the rows; two for each random split.
    neighbors : float
        Share of the nearest neighbors with the same label, corrected for chance.
    seconds : float
    agreement : float
        Mean adjusted Rand index with the other partitions of these rows.
    """

    shape: str
    method: str
    estimator: Any
    labels: np.ndarray
    refits: list[np.ndarray]
    neighbors: float
    seconds: float
    agreement: float = np.nan

    @property
    def n_clusters(self) -> int:
        return int(self.estimator.n_clusters)

    @property
    def reproducibility(self) -> float:
        """Mean agreement of the fits to two halves of the rows, at least zero."""
        scores = [_rand_index(*pair) for pair in zip(self.refits[::2], self.refits[1::2], strict=True)]
        return max(float(np.mean(scores)), 0.0) if scores else np.nan


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
        Whether X contains numeric attributes without missing values, so that mixtures can be fitted.
    """

    source: DissimilaritySource
    weights: np.ndarray | None
    estimator: CredalClustering
    advance: Advance
    takes_mixtures: bool
    candidates: list[Candidate] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seed = as_integer_seed(self.estimator.random_state)
        everything = np.arange(len(self.source))
        self.D = self.source.block(everything, everything).astype(float)
        self.is_euclidean = isinstance(self.source, AttributeSource) and self.source.is_euclidean
        near = max(min(_N_NEIGHBORS, len(self.D) - 1), 1)
        apart = self.D + np.diag(np.full(len(self.D), np.inf))
        self.nearest = np.argpartition(apart, near - 1, axis=1)[:, :near]
        rng = np.random.default_rng(self.seed)
        self.consensus: dict[int, float] = {}  # mean agreement of all partitions into each number of clusters
        self.scores: dict[int, float] = {}  # support of each number, plus half of the consensus
        self.halves: list[np.ndarray] = []
        for _ in range(_N_SPLITS):
            rows = rng.permutation(len(self.D))
            self.halves += [np.sort(rows[: len(rows) // 2]), np.sort(rows[len(rows) // 2 :])]

    # ---- candidates -----------------------------------------------------------------------------------------------

    def make_estimator(self, shape: str, n_clusters: int, covariance: str = "own") -> Any:
        """Return the estimator for clusters of one shape."""
        params = self.estimator
        common: dict[str, Any] = {"random_state": self.seed, "n_jobs": params.n_jobs}
        if shape == "elongated":
            return EGMM(n_clusters, covariance=covariance, reg_covar=_REG_COVAR[covariance], **common)
        return EVCLUS(n_clusters, shape=shape, metric=params.metric, missing=params.missing, **common)

    def fit(self, members: list[tuple[str, str, Any]]) -> list[Candidate]:
        """Fit candidates (shape, method and estimator) to the sampled rows and, unless connected, to their halves."""
        tasks = []
        for place, (shape, method, estimator) in enumerate(members):
            _LOG.info("CredalClustering: %s, %d clusters", method, estimator.n_clusters)
            parts = [np.arange(len(self.D)), *(() if shape == "connected" else self.halves)]
            tasks += [(place, estimator, rows) for rows in parts]
        found: list[list[tuple[np.ndarray, float]]] = [[] for _ in members]
        for place, labels, seconds in run_fits_in_threads(self._predict, tasks, n_threads(self.estimator.n_jobs)):
            found[place].append((labels, seconds))
        candidates = []
        for (shape, method, estimator), results in zip(members, found, strict=True):
            labels, *refits = [labels for labels, _ in results]
            seconds = sum(seconds for _, seconds in results)
            neighbors = self.neighbor_agreement(labels)
            candidates.append(Candidate(shape, method, estimator, labels, refits, neighbors, seconds))
            self.advance(f"{method}, {estimator.n_clusters} clusters")
        self.candidates += candidates
        return candidates

    def _predict(self, place: int, estimator: Any, rows: np.ndarray) -> tuple[int, np.ndarray, float]:
        """Return the clusters of all sampled rows after a fit to some of them, and the time in seconds."""
        began = time.perf_counter()
        trial = clone(estimator).set_params(n_jobs=1, n_init=_N_INIT)
        if isinstance(trial, EGMM):
            trial.set_params(tol=_TOLERANCE)
        elif trial.shape == "compact" and len(rows) > _N_LANDMARKS:
            trial.set_params(sampling="landmarks", n_landmarks=max(_N_LANDMARKS, 20 * trial.n_clusters))
        weights = None if self.weights is None else self.weights[rows]
        X = self.source.objects if self.is_euclidean else self.D[:, rows]
        if not self.is_euclidean:
            trial.set_params(metric="precomputed", missing="refuse")
        trial.fit(X[rows], sample_weight=weights)
        labels = trial.labels_ if len(rows) == len(X) else trial.predict(X)
        return place, labels, time.perf_counter() - began

    def neighbor_agreement(self, labels: np.ndarray) -> float:
        """Return the share of nearest neighbors with the same label, corrected for chance like Cohen's kappa."""
        same = float((labels[self.nearest] == labels[:, None]).mean())
        chance = float(np.square(np.bincount(labels) / len(labels)).sum())
        return (same - chance) / (1 - chance) if chance < 1 else 0.0

    def compare_shapes(self, n_clusters: int) -> list[Candidate]:
        """Fit compact and elongated clusters, and compute the agreement of each partition with all others.

        The agreement is the mean adjusted Rand index with the other candidates and with the partitions fitted to halves
        of the rows. Their weights are the reproducibilities of the candidates.
        """
        wanted, make = self.estimator.shape, self.make_estimator
        members = [] if wanted == "elongated" else [("compact", "EVCLUS", make("compact", n_clusters))]
        if wanted != "compact" and self.takes_mixtures:
            members += [
                ("elongated", "EGMM", make("elongated", n_clusters)),
                ("elongated", "EGMM, common covariance", make("elongated", n_clusters, "tied")),
            ]
        candidates = self.fit(members)
        parts = [labels for one in candidates for labels in (one.labels, *one.refits)]
        n_parts = 1 + len(self.halves)
        weights = np.repeat([one.reproducibility + 0.01 for one in candidates], n_parts)
        table = np.array([[_rand_index(a, b) for b in parts] for a in parts])
        for place, one in zip(range(0, len(parts), n_parts), candidates, strict=True):
            others = np.arange(len(parts)) != place
            one.agreement = float(np.average(table[place, others], weights=weights[others]))
        self.consensus[n_clusters] = float(table[np.triu_indices(len(parts), 1)].mean())
        return candidates

    # ---- selection ------------------------------------------------------------------------------------------------

    def select(self, n_clusters: int | None, number: NumberOfClusters | None) -> Candidate:
        """Return the best candidate; ``number`` contains the support of the numbers if ``n_clusters`` is None."""
        if len(self.D) < _MIN_ROWS_PER_CLUSTER * (n_clusters or 2):
            shape = "compact" if self.estimator.shape == "auto" else self.estimator.shape
            estimator = self.make_estimator(shape, n_clusters or (1 if number is None else number.best))
            return Candidate(shape, "not compared", estimator, np.zeros(len(self.D), dtype=int), [], np.nan, 0.0)
        if self.estimator.shape == "connected":
            return self._fit_connected(n_clusters or self._find_tree_number() or 2)
        if n_clusters is not None:
            best = self._best_shape(self.compare_shapes(n_clusters))
        else:
            assert number is not None
            best = self._best_number(number)
        return best if self.estimator.shape != "auto" else self._connected_or(best, is_open=n_clusters is None)

    @staticmethod
    def _best_shape(members: list[Candidate]) -> Candidate:
        best = max(members, key=lambda one: one.agreement)
        # The first candidate, compact clusters, also detects outliers.
        return members[0] if members[0].agreement >= best.agreement - _TIE else best

    def _best_number(self, number: NumberOfClusters) -> Candidate:
        """Compare the best supported numbers by their support and by the mean agreement of the candidates."""
        best: dict[int, Candidate] = {}
        for place in np.argsort(-number.support, kind="stable")[:_MAX_NUMBERS]:
            k, support = int(number.n_clusters[place]), float(number.support[place])
            if support + _WEIGHT_OF_AGREEMENT <= max(self.scores.values(), default=0):
                break  # Even full agreement would not suffice.
            best[k] = self._best_shape(self.compare_shapes(k))
            self.scores[k] = support + _WEIGHT_OF_AGREEMENT * self.consensus[k]
        return best[max(self.scores, key=lambda k: self.scores[k])]

    @cached_property
    def tree(self) -> DensityTree:
        return DensityTree.from_dissimilarities(self.D)

    def _find_tree_number(self) -> int | None:
        """Return the number of clusters that the density tree separates most clearly, or None."""
        best, largest = None, _MIN_RATIO
        for k in range(2, min(26, len(self.D) // 10)):
            prominence, ratio = self.tree.support(k)
            if prominence >= _MIN_PROMINENCE and ratio >= largest:
                best, largest = k, ratio
        return best

    def _fit_connected(self, n_clusters: int) -> Candidate:
        return self.fit([("connected", "EVCLUS, path distances", self.make_estimator("connected", n_clusters))])[0]

    def _connected_or(self, best: Candidate, *, is_open: bool) -> Candidate:
        """Return connected clusters if the data clearly have this shape, otherwise ``best``."""
        k = self._find_tree_number() if is_open else best.n_clusters
        if k is None or k < 2 or k > len(self.D) // 10:
            return best
        prominence, ratio = self.tree.support(k)
        if prominence < _MIN_PROMINENCE or ratio < _MIN_RATIO:
            return best
        rival = best
        if is_open and k != best.n_clusters:
            shares = np.bincount(self.tree.cut(k)) / len(self.D)
            balance = float(np.exp(-shares @ np.log(shares))) / k
            if ratio < _MIN_OPEN_RATIO or balance < _MIN_BALANCE or self.scores[best.n_clusters] > _MAX_SCORE:
                return best
            fitted = [one for one in self.candidates if one.n_clusters == k]
            rival = self._best_shape(fitted or self.compare_shapes(k))
        connected = self._fit_connected(k)
        if 1 - connected.neighbors > _MAX_ERROR * (1 - rival.neighbors):
            return best
        # Another candidate with nearly the same clusters describes them by a simpler shape.
        others = [one for one in self.candidates if one.n_clusters == k and one is not connected]
        alike = max(others, key=lambda one: _rand_index(one.labels, connected.labels))
        if _rand_index(alike.labels, connected.labels) < _SAME:
            return connected
        return alike if k == best.n_clusters else best


class CredalClustering(EvidentialClusterer):
    """Clustering that selects the shape and the number of clusters, and returns one credal partition.

    Candidates are compared on a sample of at most 1,000 rows. *Compact* clusters are found by `EVCLUS`, *elongated*
    clusters by `EGMM` with one covariance matrix per cluster or with a common covariance matrix, and *connected*
    clusters of any shape, such as rings and crescents, by `EVCLUS` on path distances.

    - *Compact or elongated*: every candidate is also fitted to both halves of two random splits of the sample. The
      candidate that agrees most with the others and with the partitions from the halves is selected (adjusted Rand
      index, weighted by the agreement between the halves); compact clusters in a tie.
    - *Connected*: selected if the clusters are clearly separated in a tree of the densities, if far fewer nearest
      neighbors have different labels than with the best other candidate, and if no other candidate finds nearly the
      same clusters.
    - *Number of clusters*: the numbers with the largest support (see `dempster.model_selection.number_of_clusters`) are
      compared by their support plus half of the mean agreement of the candidates, so that more clusters than can be
      found again in a part of the data are not selected.

    The selected method is then fitted to all objects.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        "auto": selected together with the shape.
    metric : str or callable, default="euclidean"
        As in `EVCLUS`. With another metric than the Euclidean distance, clusters are compact or connected.
    shape : {"auto", "compact", "elongated", "connected"}, default="auto"
        Shape of the clusters. "elongated" needs numeric attributes without missing values.
    missing : {"refuse", "partial"}, default="refuse"
        "partial": objects with missing values are compared by the attributes that are present. Clusters are then
        compact or connected.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Masses of the objects, computed by the selected method.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    estimator_ : EVCLUS or EGMM
        The selected method, fitted to all objects.
    selected_ : str
        Shape of the selected clusters.
    candidates_ : pandas.DataFrame
        One row for each candidate: shape, method, number of clusters, reproducibility (agreement between the halves),
        agreement (with the other partitions), neighbors (share of nearest neighbors with the same label, corrected for
        chance), adjusted Rand index with the selected candidate, whether it is selected, and time in seconds.
    number_ : NumberOfClusters
        Numbers of clusters and their support, if ``n_clusters="auto"``.
    focal_sets_ : FocalSets
    objective_ : float
        Final objective of the selected method.
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
    A. Ben-Hur, A. Elisseeff and I. Guyon (2002). A stability based method for discovering structure in clustered data.
    Pacific Symposium on Biocomputing 7. R. Campello, D. Moulavi and J. Sander (2013). Density-based clustering based on
    hierarchical density estimates. PAKDD.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dempster.cluster import CredalClustering
    >>> X, moon = make_moons(400, noise=0.1, random_state=3)
    >>> model = CredalClustering(random_state=0).fit(X)
    >>> model.selected_, model.n_clusters_
    ('connected', 2)
    >>> print(model.reason())
    Connected clusters: neighbors have the same label more often (0.99) than with elongated clusters (0.96).
    """

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
        """
        with fit_transaction(self) as draft:
            draft._compare_and_fit(X, sample_weight)
        return self

    def _compare_and_fit(self, X: TableLike, sample_weight: ArrayLike) -> None:
        self._check_parameters()
        with block_map(self.n_jobs) as apply, self._open_sample(X, sample_weight, {}, apply) as sample:
            source = sample.values
            takes_mixtures = self.metric == "euclidean" and not has_missing(source.objects)
            if self.shape == "elongated" and not takes_mixtures:
                raise InvalidParameterError("shape", "'compact' or 'connected' for these data", self.shape)
            n_clusters = self._requested_clusters()
            if n_clusters is None:
                self.number_ = compare_numbers(source, sample.weights, None, self.random_state, apply)
            rng = as_random_state(self.random_state)
            rows, weights = draw_complete_rows(source, sample.weights, rng, _MAX_ROWS)
            if isinstance(rows, AttributeSource):  # Repeated rows and weights give the same result.
                distinct, places = np.unique(rows.objects, axis=0, return_inverse=True)
                weights = np.bincount(places, weights)
                rows, weights = AttributeSource(distinct[weights > 0], rows.metric), weights[weights > 0]
            unequal = None if np.ptp(weights) == 0 else weights / weights.mean()
            with self._open_progress(None, " candidates") as advance:
                comparison = Comparison(rows, unequal, self, advance, takes_mixtures)
                best = comparison.select(n_clusters, getattr(self, "number_", None))
        self._candidates: list[dict[str, Any]] = [
            {
                "shape": one.shape,
                "method": one.method,
                "n_clusters": one.n_clusters,
                "reproducibility": one.reproducibility,
                "agreement": one.agreement,
                "neighbors": one.neighbors,
                "with_selected": _rand_index(best.labels, one.labels),
                "selected": one is best,
                "seconds": one.seconds,
            }
            for one in comparison.candidates
        ]
        self.selected_ = best.shape
        self.estimator_ = best.estimator.fit(X, sample_weight=sample_weight)
        partition = self.estimator_.credal_partition_
        choices = {**partition.metadata["choices"], "shape": self.reason()}
        metadata = {**partition.metadata, "method": type(self).__name__, "choices": choices}
        if isinstance(partition, CredalPartition):
            partition = CredalPartition.unchecked(
                partition.masses, partition.focal_sets, partition.index, metadata=metadata
            )
        self.credal_partition_, self.labels_ = partition, self.estimator_.labels_
        for name in ("focal_sets_", "n_clusters_", "objective_", "history_", "n_iter_", "converged_"):
            setattr(self, name, getattr(self.estimator_, name))

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            return DissimilarityInput(self.metric, fewest=2).training(self, X)
        return self.estimator_._read(X, reset=False)

    def _read_objects(self, attributes: TableLike, like: Any) -> Any:
        return self.estimator_._read_objects(attributes, like)

    @property
    def _model(self) -> Any:  # type: ignore[override]
        return self.estimator_._model

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)

    @property
    def candidates_(self) -> pd.DataFrame:
        """Table of the candidates, in the order in which they were fitted."""
        import pandas as pd

        check_is_fitted(self, "credal_partition_")
        return pd.DataFrame(self._candidates)

    def reason(self) -> str:
        """Return a sentence that explains the selection of the shape."""
        check_is_fitted(self, "selected_")
        table, clusters = self._candidates, f"{self.selected_.capitalize()} clusters"
        if not table:
            return f"{clusters}: there are too few objects for a comparison."
        selected = next(one for one in table if one["selected"])
        others = [
            one for one in table if one["n_clusters"] == selected["n_clusters"] and one["shape"] != self.selected_
        ]
        if not others:
            return f"{clusters}: no other shape was compared."
        rival = max(others, key=lambda one: (np.nan_to_num(one["agreement"]), one["neighbors"]))
        if self.selected_ == "connected":
            return (
                f"{clusters}: neighbors have the same label more often ({selected['neighbors']:.2f}) than with "
                f"{rival['shape']} clusters ({rival['neighbors']:.2f})."
            )
        return (
            f"{clusters} ({selected['method']}): agreement {selected['agreement']:.2f} with the other candidates and "
            f"with fits to halves of the data; {rival['shape']} clusters: {rival['agreement']:.2f}."
        )

    def predict_mass(self, X: TableLike) -> Any:
        """Return the credal partition of new objects, computed by the selected method (see `EVCLUS.predict_mass`)."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_mass(X)
