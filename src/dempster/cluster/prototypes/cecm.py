"""Constrained evidential c-means."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster import _parameters as rule
from dempster._random import as_random_state
from dempster._types import ArrayLike, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, Task
from dempster.cluster._search import Sample
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.starts import PEAKS_RULE, centers_from_peaks
from dempster.cluster.prototypes._constrained import ConstrainedMethod, ConstrainedModel, ConstrainedSettings
from dempster.constraints import Constraints
from dempster.partition import CredalPartition

__all__ = ["CECM"]


class CECM(EvidentialClusterer):
    """Constrained evidential c-means: `ECM` that listens to must-links and cannot-links.

    Minimises, over masses m and prototypes v,

        (1 - xi) / (n f s^2) J_ECM(m, v)
        + xi / |C| ( sum_{must-links} pl_ij(different) + sum_{cannot-links} pl_ij(same) ),

    with J_ECM the objective of `ECM` (``beta`` = 2) for n objects and f focal sets, s^2 a quarter of the mean variance
    of the attributes, |C| the number of constraints, and pl_ij the plausibilities, after the masses of objects i and
    j, that the two are in different clusters, or in the same one. With weights of objects, n is their sum. This is the
    objective of the paper, but for s^2, without which the units of X decide how much constraints count. It rewards mass
    on the empty set for linked objects, as both plausibilities vanish there; the published programs, and this class
    unless it is told otherwise, count constraints in a way that does not: see ``convention``.

    Masses of objects without constraints have a closed form; those of linked objects are improved one object after the
    other, each exactly. The objective never rises. Cost per iteration: linear in the number of objects and of
    constraints.

    New objects have no constraints: their masses are those of `ECM`. Only an object with the attributes of a linked
    object of the fit gets the masses of that one (of several, the first).

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": each cluster learns a matrix of determinant one (elongated clusters).
    xi : float in [0, 1), default=0.5
        Weight of the constraints.
    convention : {"scaled", "program", "paper"}, default="scaled"
        "scaled": must-links and cannot-links are averaged separately, and a must-link costs its objects 2 per unit of
        mass on the empty set (which in practice forbids it). "program": the same with s = 1, as in the published
        programs, so that results depend on the units of X. "paper": the objective above with s = 1.
    empty_penalty : float >= 0, default=0
        Cost of a unit of mass on the empty set for each linked object, added to the objective.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the data: smaller values give more outliers. "auto": the upper
        fence of a box plot (two interquartile ranges above the third quartile) of the distances to the nearest
        prototype.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN). "partial": objects are compared by the attributes that they have, and one
        that is missing adds the same to all costs, its variance within clusters: the less is known of an object, the
        more it is in doubt. An object without any value is refused, and so is the adaptive metric.
        ``docs/missing.md`` tells when to impute instead.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array of shape (n_clusters, n_features) or \
CredalPartition, default="k-means++"
        "belief-peaks": the centres found by `BeliefPeaks`, which knows no weights, or by one with parameters of its
        own. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 objects the starts compete on a sample of that size (with
        all linked objects) and the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
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
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        With the adaptive metric.
    focal_sets_ : FocalSets
    delta_ : float
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained evidential C-means algorithm.
    Computational Statistics & Data Analysis 56.

    Examples
    --------
    >>> from dempster.cluster import CECM
    >>> from dempster.constraints import Constraints
    >>> X = [[0.0], [1.0], [2.2], [3.8], [5.0], [6.0]]
    >>> labels = CECM(2, random_state=0).fit(X).labels_
    >>> (labels == labels[0]).tolist()
    [True, True, True, False, False, False]
    >>> known = Constraints(must_link=[(3, 0), (3, 1)], cannot_link=[(3, 5)])
    >>> model = CECM(2, random_state=0).fit(X, constraints=known)
    >>> (model.labels_ == model.labels_[0]).tolist()
    [True, True, True, True, False, False]
    >>> known.violations(model.credal_partition_)
    Violations(0 of 2 must-links put apart, 0 of 1 cannot-links put together, mean degree 0.00)
    """

    _rules = {
        **COMMON_RULES,
        "metric": rule.choice("euclidean", "adaptive"),
        "xi": rule.real(0, 1, open_high=True),
        "convention": rule.choice("scaled", "program", "paper"),
        "empty_penalty": rule.real(0),
        "alpha": rule.real(0),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": rule.choice("k-means++", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
        "missing": MISSING_RULE,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: str = "euclidean",
        xi: float = 0.5,
        convention: str = "scaled",
        empty_penalty: float = 0.0,
        alpha: float = 1.0,
        delta: float | str = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
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
        self.xi = xi
        self.convention = convention
        self.empty_penalty = empty_penalty
        self.alpha = alpha
        self.delta = delta
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: None = None,
        sample_weight: ArrayLike = None,
        *,
        constraints: Constraints | None = None,
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in J_ECM; an object of weight 2 counts as two. A constraint counts once, whatever the
            weights of its objects, and not at all if one of them is zero.
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster, or in different ones.
        """
        return self._fit(X, sample_weight=sample_weight, constraints=constraints)

    def _method(self, sample: Sample[np.ndarray], task: Task) -> ConstrainedMethod:
        settings = ConstrainedSettings(
            n_clusters=task.n_clusters,
            alpha=self.alpha,
            beta=2.0,
            delta=None if self.delta == "auto" else float(self.delta),
            adaptive=self.metric == "adaptive",
            init=centers_from_peaks(self.init, sample.values, task.n_clusters, self.random_state, self.n_jobs),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            xi=self.xi,
            convention=self.convention,
            empty_penalty=self.empty_penalty,
        )
        return ConstrainedMethod(settings, sample, task.constraints, as_random_state(self.random_state), task.apply)

    def _attributes(self, method: ConstrainedMethod, model: ConstrainedModel) -> dict[str, Any]:
        prototypes = model.prototypes
        found = {"cluster_centers_": prototypes.centers.astype(method.values.dtype), "delta_": method.delta}
        return found if prototypes.metrics is None else {**found, "metric_matrices_": prototypes.metrics}
