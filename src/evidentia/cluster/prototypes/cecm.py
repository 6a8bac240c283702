"""Constrained evidential c-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evidentia import _parameters as rule
from evidentia._random import as_random_state
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer, checked_constraints
from evidentia.cluster.prototypes._links import LinkedObjects, LinkTerms
from evidentia.cluster.prototypes._method import PrototypeSolver
from evidentia.cluster.prototypes._model import Model, Statistics, squared_distances
from evidentia.constraints import Constraints
from evidentia.dissimilarity.sources import AttributeSource, Twins
from evidentia.optimize.blocks import block_map
from evidentia.optimize.descent import Run
from evidentia.partition import CredalPartition

__all__ = ["CECM"]


class CECM(EvidentialClusterer):
    """Constrained evidential c-means: `ECM` that listens to must-links and cannot-links.

    Minimises, over masses m and prototypes v,

        (1 - xi) / (n f) J_ECM(m, v)
        + xi / |C| ( sum_{must-links} pl_ij(different) + sum_{cannot-links} pl_ij(same) ),

    with J_ECM the objective of `ECM` (``beta`` = 2) for n objects and f focal sets, |C| the number of constraints, and
    pl_ij the plausibilities, after the masses of objects i and j, that the two are in different clusters, or in the
    same one. Masses of objects
    without constraints have a closed form; those of linked objects are improved one object after the other, each
    exactly. The objective never rises. Cost per iteration: linear in the number of objects and of constraints.

    The published objective rewards mass on the empty set for linked objects, as both plausibilities vanish there:
    see ``empty_penalty`` and ``xi_convention``.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    xi : float in [0, 1), default=0.5
        Weight of the constraints.
    xi_convention : {"paper", "program"}, default="paper"
        "paper": the objective above. "program": that of the published programs, where must-links and cannot-links are
        averaged separately, and a must-link costs its objects 2 per unit of mass on the empty set (which in practice
        forbids it) instead of rewarding it.
    empty_penalty : float >= 0, default=0
        Cost of a unit of mass on the empty set for each linked object, added to the objective.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the data: smaller values give more outliers. "auto": squared, ten times
        the mean squared distance to the nearest centre of a short k-means.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": each cluster learns a matrix of determinant one (elongated clusters).
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or CredalPartition, default="k-means++"
        A given start is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 objects the starts compete on a sample of that size (with
        all linked objects) and the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbors : int, default=1
        For ``focal_sets="selected"``: pairs among the ``n_neighbors`` nearest clusters of each other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None
        Threads; None and -1 use all processors.
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
    n_features_in_ : int

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained evidential C-means algorithm.
    Computational Statistics & Data Analysis 56.

    Examples
    --------
    >>> from evidentia.cluster import CECM
    >>> from evidentia.constraints import Constraints
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
        "xi": rule.real(0, 1, open_high=True),
        "xi_convention": rule.choice("paper", "program"),
        "empty_penalty": rule.real(0),
        "alpha": rule.real(0),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "metric": rule.choice("euclidean", "adaptive"),
        "init": rule.choice("k-means++", "random") | rule.kind(CredalPartition) | rule.array,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        xi: float = 0.5,
        xi_convention: str = "paper",
        empty_penalty: float = 0.0,
        alpha: float = 1.0,
        delta: float | str = "auto",
        metric: str = "euclidean",
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbors: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.xi = xi
        self.xi_convention = xi_convention
        self.empty_penalty = empty_penalty
        self.alpha = alpha
        self.delta = delta
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> CECM:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index.
        y : ignored
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster, or in different ones.
        """
        self._check_parameters()
        data = self._checked_objects(X, reset=True)
        known = checked_constraints(constraints, len(data))
        rng = as_random_state(self.random_state)
        # second moments lose digits far from the origin
        centre = data.mean(axis=0, dtype=float).astype(data.dtype) if self.metric == "adaptive" else None
        with block_map(self.n_jobs) as apply:
            solver = _Solver(self, data if centre is None else data - centre, known, centre, rng, apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
            linked = solver.linked_masses(run.model)
            model = run.model if centre is None else replace(run.model, centers=run.model.centers + centre)
            masses = model.masses(data, apply)
        masses[solver.linked.places] = linked
        self._model = model
        places = np.sort(solver.linked.places)
        self._linked_objects, self._linked_masses = data[places], masses[places]
        self.cluster_centers_ = model.centers.astype(data.dtype)
        if model.metrics is not None:
            self.metric_matrices_ = model.metrics
        self.delta_ = model.delta
        self._set_result(run, masses, model.family, object_index(X))
        return self

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects, which have no constraints: their masses are those of `ECM`.

        An object with the attributes of a linked training object gets the masses of that one (of several, the first).
        """
        return super().predict_mass(X)

    def _masses(self, X: np.ndarray) -> np.ndarray:
        with block_map(self.n_jobs) as apply:
            masses = self._model.masses(X, apply)
        if len(self._linked_objects):
            known = AttributeSource(self._linked_objects.astype(X.dtype))
            twin = Twins(known.keys(known.objects)).find(known.keys(X))
            masses[twin >= 0] = self._linked_masses[twin[twin >= 0]]
        return masses


@dataclass(frozen=True)
class _ConstrainedModel(Model):
    """Prototypes, and the masses that linked objects had in the iteration before (None: those of ECM)."""

    linked: np.ndarray | None = None


class _Solver(PrototypeSolver):
    """The data of one fit: linked objects apart from the others."""

    model_type = _ConstrainedModel

    def __init__(self, estimator: CECM, data, constraints: Constraints, centre, rng, apply: Callable):
        super().__init__(estimator, data, np.empty(0), centre, rng, apply)
        self.constraints = constraints if estimator.xi > 0 else Constraints()
        self.linked = LinkedObjects(data, self.constraints)
        self.linked_data = np.ascontiguousarray(data[self.linked.places], dtype=float)
        self.free = data[self.linked.others]
        if len(self.free):
            self.free_sample, weights = _starts.representative_sample(self.free, np.empty(0), rng)
            self.free_weights = weights * (len(self.free) / weights.sum())
        else:
            self.free_sample, self.free_weights = self.free, np.empty(0)

    def partition_of(self, run: Run) -> CredalPartition:
        masses = run.model.masses(self.data, self.apply)
        masses[self.linked.places] = self.linked_masses(run.model)
        return CredalPartition.unchecked(masses, run.model.family)

    def linked_masses(self, model: _ConstrainedModel) -> np.ndarray:
        """Best masses of the linked objects, found from those of the iteration before."""
        return self.linked.improved(self._costs(model), model.family, self._terms(model.family), self._before(model))

    def _before(self, model: _ConstrainedModel) -> np.ndarray:
        return model.masses(self.linked_data, self.apply) if model.linked is None else model.linked

    def _terms(self, family: FocalSets) -> LinkTerms:
        e, known = self.estimator, self.constraints
        if e.xi_convention == "paper":
            return LinkTerms.published(family, e.xi, max(len(known), 1), e.empty_penalty)
        return LinkTerms.of_program(family, e.xi, len(known.must_link), len(known.cannot_link), e.empty_penalty)

    def _factor(self, family: FocalSets) -> float:
        """Weight of the objective of ECM in the whole."""
        return (1 - self.estimator.xi) / (len(self.data) * len(family))

    def _costs(self, model: _ConstrainedModel) -> np.ndarray:
        """(q, f) cost of a squared mass of the linked objects."""
        family = model.family
        barycentres, metrics, factor, *_ = model.kernel_arguments(np.dtype(float))
        costs = np.full((len(self.linked), len(family)), model.delta**2)
        costs[:, np.flatnonzero(family.cardinality > 0)] = factor * squared_distances(
            self.linked_data, barycentres, metrics
        )
        return self._factor(family) * costs

    def _linked_statistics(self, model: _ConstrainedModel, masses: np.ndarray) -> Statistics:
        """Sums over the linked objects; the objective is left to the caller."""
        W = masses[:, model.family.cardinality > 0] ** 2
        X = self.linked_data
        second = np.zeros((0, 0, W.shape[1]))
        if model.metrics is not None:
            second = np.einsum("id,ie,ij->dej", X, X, W, optimize=True)
            second *= np.tri(X.shape[1])[:, :, None]
        return Statistics(0.0, W.sum(axis=0), X.T @ W, second)

    def _step(self, on_sample: bool) -> Callable[[Any], tuple[float, Any]]:
        data, weights = (self.free_sample, self.free_weights) if on_sample else (self.free, np.empty(0))

        def step(model: _ConstrainedModel) -> tuple[float, Model]:
            family = model.family
            if len(self.linked) == 0:
                statistics = model.statistics(data, weights, self.apply)
                return self._factor(family) * statistics.objective, model.updated(statistics)
            costs, terms = self._costs(model), self._terms(family)
            linked = self.linked.improved(costs, family, terms, self._before(model))
            statistics = self._linked_statistics(model, linked)
            if len(data):
                statistics = model.statistics(data, weights, self.apply) + statistics
            objective = self._factor(family) * statistics.objective + float(np.sum(costs * linked**2))
            objective += self.linked.pair_terms(family, terms, linked)
            return objective, replace(model, linked=linked).updated(statistics)

        return step
