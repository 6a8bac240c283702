"""Constrained evidential c-means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse

from dempster import _validation as rule
from dempster._arrays import to_host
from dempster._native import kernel
from dempster._types import ArrayLike, Seed, TableLike
from dempster._validation import has_missing
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, FitRequest
from dempster.cluster._revision import ConstrainedModel, improvement
from dempster.cluster._search import FitResult, Method, Sample
from dempster.cluster.belief_peaks import INIT_RULE, Init
from dempster.cluster.ecm import (
    PrototypeClusterer,
    PrototypeMethod,
    PrototypeModel,
    Statistics,
    sum_present,
)
from dempster.constraints import Constraints
from dempster.constraints.constraints import links
from dempster.data.rows import Rows
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

# maximum number of sweeps over the linked objects before each update of the prototypes
_MAX_SWEEPS = 10
_MASS_TOL = 1e-6  # The sweeps stop when no mass changes by more than this value.

_sweep_links = kernel("""sweep_links(
    costs: float64[n, f], penalty: float64[n, f], indptr: int64[n + 1] offsets in e,
    indices: int64[e] below n, sign: float64[e], must: float64[f, f], cannot: float64[f, f],
    masses: float64[n, f] out, max_sweeps: int, settled: float) -> int""")
_link_terms = kernel("""link_terms(
    masses: float64[n, f], penalty: float64[n, f], indptr: int64[n + 1] offsets in e,
    indices: int64[e] below n, sign: float64[e], must: float64[f, f],
    cannot: float64[f, f]) -> float""")


@dataclass(frozen=True)
class LinkCosts:
    """Costs of constraints for one family of focal sets."""

    family: FocalSets
    # (f, f), cost of a must-link between objects with mass one on set j and on set k
    must: np.ndarray
    cannot: np.ndarray  # (f, f), the same for a cannot-link
    empty_must: float  # cost of a unit of mass on the empty set for each must-link of the object
    constant: float  # constant term of the objective

    @classmethod
    def from_parameters(
        cls, family: FocalSets, constraints: Constraints, xi: float, convention: str
    ) -> LinkCosts:
        """Return the plausibilities that constraints are violated (Antoine et al., 2012).

        The published program averages each type of links, and has other costs of the empty set.
        """
        same = np.diag(family.cardinality == 1).astype(float)
        possible = 1 - family.conflict
        if convention == "paper":
            nonempty = family.cardinality > 0
            different = np.outer(nonempty, nonempty) - same
            weight = xi / max(len(constraints), 1)
            return cls(family, weight * different, weight * possible, 0.0, 0.0)
        must = xi / max(len(constraints.must_link), 1)
        cannot = xi / max(len(constraints.cannot_link), 1)
        return cls(family, -must * same, cannot * possible, 2.0, xi)


class LinkedObjects:
    """Objects with constraints (``places``) and without (``others``).

    The order of ``places`` does not depend on the order of the rows. ``empty_penalty`` is the cost
    of a unit of mass on the empty set for each linked object.
    """

    def __init__(self, X: np.ndarray, constraints: Constraints, empty_penalty: float):
        self.empty_penalty = empty_penalty
        indptr, indices, sign = links(constraints, len(X))
        graph = sparse.csr_matrix((sign, indices, indptr), shape=(len(X), len(X)))
        where = np.flatnonzero(np.diff(indptr) > 0)
        direction = np.random.RandomState(0).normal(size=X.shape[1])
        self.places = where[
            np.argsort(np.nan_to_num(X[where]) @ direction, kind="stable")
        ]
        self.others = np.setdiff1d(np.arange(len(X)), where)
        graph = graph[self.places][:, self.places].tocsr()
        graph.sort_indices()
        self._graph = (
            graph.indptr.astype(np.int64),
            graph.indices.astype(np.int64),
            graph.data,
        )
        self.n_must_links = np.asarray((graph > 0).sum(axis=1)).ravel()

    def __len__(self) -> int:
        return len(self.places)

    def improve_masses(
        self, masses: np.ndarray, squared_costs: np.ndarray, costs: LinkCosts
    ) -> np.ndarray:
        """Return masses that no change of a single linked object can improve."""
        masses = np.array(masses, float, order="C")
        arguments = self._cost_arguments(costs)
        _sweep_links(squared_costs, *arguments, masses, _MAX_SWEEPS, _MASS_TOL)
        return masses

    def constraint_cost(self, masses: np.ndarray, costs: LinkCosts) -> float:
        return _link_terms(masses, *self._cost_arguments(costs)) + costs.constant

    def _cost_arguments(self, costs: LinkCosts) -> tuple[np.ndarray, ...]:
        """Return the costs of the masses (not squared), shape (q, f), and those of the links.

        The first costs are nonzero only for the empty set.
        """
        linear = np.zeros((len(self), len(costs.family)))
        empty = costs.family.empty_index
        if empty is not None:
            linear[:, empty] = self.empty_penalty + costs.empty_must * self.n_must_links
        return linear, *self._graph, costs.must, costs.cannot


# The constant s^2 of the objective, as a fraction of the mean variance of the attributes. The
# values 1, 0.5, 0.25, 0.1 and 0.03 were compared on iris, wine and six sets of Gaussian blobs. This
# value has the largest mean adjusted Rand index if single clusters are fitted, and is within 0.01
# of the largest if pairs are fitted too.
_SQUARED_UNIT = 0.25
# improvement (in standard deviations of a sign test) above which constraints move the prototypes,
# as for the metric that EVCLUS fits to constraints
_CONFIRMING = 2.0


@dataclass(frozen=True)
class LinkedPrototypes(PrototypeModel):
    """Prototypes, and the masses of the linked objects in the previous iteration.

    The constraints have no effect if these masses are None.
    """

    linked_masses: Annotated[np.ndarray, "q f"] | None = None


class ConstrainedMethod(PrototypeMethod):
    """Algorithm of constrained evidential c-means.

    It ignores objects of weight zero and their constraints.
    """

    model_type = LinkedPrototypes

    def __init__(self, estimator: Any, sample: Sample[Any], request: FitRequest):
        super().__init__(estimator, sample, request)
        X = self.rows.values
        self.constraints = Constraints()
        if request.constraints is not None and estimator.xi > 0:
            self.constraints = request.constraints
        w = sample.weights
        if w is not None:
            self.constraints = _select_weighted(self.constraints, w)
        # whether the constraints revise a fit without constraints
        is_scaled = estimator.convention == "scaled"
        self.revises = is_scaled and estimator.focal_sets == "auto"
        self.linked = LinkedObjects(X, self.constraints, estimator.empty_penalty)
        places = self.linked.places
        self.linked_data = np.ascontiguousarray(X[places], float)
        free = self.linked.others
        free_weights = np.empty(0)
        self.linked_weights = np.ones(len(places))
        if w is not None:
            self.linked_weights = w[places]
            free = free[w[free] > 0]
            free_weights = w[free]
        self._starts: list[PrototypeModel] = []
        self.free = Rows(X[free], free_weights, self.apply)
        self.free_sample = self.free
        if len(free):
            drawn, weights = self.free.sample(self.rng)
            weights = weights * (self.free.total_weight / weights.sum())
            self.free_sample = Rows(drawn, weights, self.apply)

    def select_run(
        self, runs: Iterable[Run[PrototypeModel]], tol: float
    ) -> Run[PrototypeModel]:
        if len(self.linked) and not self.revises:
            # The objective includes the constraints.
            return Method.select_run(self, runs, tol)
        return super().select_run(runs, tol)

    def run_start(self, start: PrototypeModel) -> Run[PrototypeModel]:
        if not self.revises:
            start = self._add_constraints(start)
        return super().run_start(start)

    def refine(self, best: Run[PrototypeModel]) -> Run[PrototypeModel]:
        best = super().refine(best)
        return self._revise(best) if self.revises else best

    def extend(
        self, run: Run[PrototypeModel], family: FocalSets
    ) -> Run[PrototypeModel]:
        model = self._model(family, run.model.centers, run.model.metrics)
        return self._run(self._add_constraints(model), on_sample=False)

    def _add_constraints(self, model: PrototypeModel) -> PrototypeModel:
        """Return the model with masses of the linked objects, if there are any."""
        if len(self.linked) == 0:
            return model
        assert isinstance(model, LinkedPrototypes)
        masses = to_host(model.masses(self.linked_data, self.apply))
        return replace(model, linked_masses=masses)

    def draw_starts(self, family: FocalSets) -> list[PrototypeModel]:
        self._starts = super().draw_starts(family)
        return self._starts

    def _revise(self, free: Run[PrototypeModel]) -> Run[PrototypeModel]:
        """Return a run with the constraints, given a run without them.

        A constraint has as much weight as the distances of all objects, so that few constraints
        could move all prototypes. They move only if the constraints confirm it: the nearest
        prototypes of the linked objects must satisfy more constraints than before. Otherwise the
        constraints revise only the masses of the linked objects (`result`).
        """
        if len(self.linked) == 0:
            return free
        constrained = map(self._add_constraints, self._starts)
        runs = [self._run(start, on_sample=True) for start in constrained]
        best = Method.select_run(self, runs, self.estimator.tol)
        fitted = super().refine(best)
        gain = improvement(self._satisfied(free.model), self._satisfied(fitted.model))
        if gain > _CONFIRMING:
            return fitted
        return free

    def _satisfied(self, model: PrototypeModel) -> np.ndarray:
        """Return whether the nearest prototypes of the linked objects satisfy each constraint."""
        labels = np.empty(len(self.rows.values), np.int64)
        squares = model.squared_distances(self.linked_data)
        labels[self.linked.places] = squares.argmin(axis=1)
        must = self.constraints.must_link
        cannot = self.constraints.cannot_link
        together = labels[must[:, 0]] == labels[must[:, 1]]
        apart = labels[cannot[:, 0]] != labels[cannot[:, 1]]
        return np.concatenate([together, apart])

    def _step(
        self, model: PrototypeModel, *, on_sample: bool
    ) -> tuple[float, PrototypeModel]:
        assert isinstance(model, LinkedPrototypes)
        family = model.family
        if model.linked_masses is None:
            objective, updated = super()._step(model, on_sample=on_sample)
            return self._share(family) * objective, updated
        free = self.free_sample if on_sample else self.free
        squared_costs = self._squared_costs(model)
        link_costs = self._link_costs(family)
        linked = self.linked.improve_masses(
            model.linked_masses, squared_costs, link_costs
        )
        statistics = self._linked_statistics(model, linked)
        if len(free.values):
            statistics = (
                model.statistics(free.values, free.weights, self.apply) + statistics
            )
        objective = self._share(family) * statistics.objective
        objective += float(np.sum(squared_costs * linked**2))
        objective += self.linked.constraint_cost(linked, link_costs)
        return objective, replace(model, linked_masses=linked).update(statistics)

    def add_neighbor_pairs(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        """Add the pairs of neighboring clusters, also to the masses of the linked objects."""
        wider = super().add_neighbor_pairs(run)
        model = wider.model
        assert isinstance(model, LinkedPrototypes)
        if model.linked_masses is None:
            return wider
        linked = CredalPartition.unchecked(model.linked_masses, run.model.family)
        masses = np.asarray(linked.to_family(model.family).masses)
        return replace(wider, model=replace(model, linked_masses=masses))

    # ---- linked objects --------------------------------------------------------------------------

    def _link_costs(self, family: FocalSets) -> LinkCosts:
        xi = self.estimator.xi
        convention = self.estimator.convention
        return LinkCosts.from_parameters(family, self.constraints, xi, convention)

    def _share(self, family: FocalSets) -> float:
        """Return the factor of the objective of ECM, which makes it independent of the units."""
        squared_unit = 1.0
        if self.estimator.convention == "scaled":
            n_attributes = self.rows.values.shape[1]
            deviation = self.mean_squared_deviation
            squared_unit = _SQUARED_UNIT * deviation / n_attributes or 1.0
        n = self.rows.total_weight
        return (1 - self.estimator.xi) / (n * len(family) * squared_unit)

    def _squared_costs(self, model: PrototypeModel) -> np.ndarray:
        """Return the costs of the squared masses of the q linked objects, shape (q, f)."""
        family = model.family
        factor, *_ = model.step.kernel_arguments()
        costs = np.full((len(self.linked), len(family)), model.step.delta2)
        costs[:, family.cardinality > 0] = factor * model.squared_distances(
            self.linked_data
        )
        return self._share(family) * costs * self.linked_weights[:, None]

    def _linked_statistics(
        self, model: PrototypeModel, masses: np.ndarray
    ) -> Statistics:
        """Return the sums over the linked objects that determine the prototypes.

        The objective is set to zero.
        """
        W = self.linked_weights[:, None] * masses[:, model.family.cardinality > 0] ** 2
        X = self.linked_data
        if has_missing(X):
            return Statistics(0.0, *sum_present(X, W))
        second = np.zeros((0, 0, W.shape[1]))
        if model.metrics is not None:
            second = np.einsum("id,ie,ij->dej", X, X, W, optimize=True)
            second *= np.tri(X.shape[1])[:, :, None]
        return Statistics(0.0, W.sum(axis=0), X.T @ W, second)

    # ---- results ---------------------------------------------------------------------------------

    def result(self, run: Run[PrototypeModel]) -> FitResult:
        model = run.model
        centers = model.centers if self.origin is None else model.centers + self.origin
        prototypes = PrototypeModel(model.step, centers, model.metrics, self.within)
        X = self.original.values
        source = AttributeSource(X)
        masses = to_host(prototypes.masses(X, self.apply))
        assert isinstance(model, LinkedPrototypes)
        if len(self.linked) and model.linked_masses is None:
            fitted, masses = ConstrainedModel.revise(
                prototypes, masses, source, self.constraints, self.estimator.xi
            )
            return FitResult(run, fitted, masses)
        if model.linked_masses is not None:
            # The initial values are the masses of the previous iteration.
            masses[self.linked.places] = self.linked.improve_masses(
                model.linked_masses,
                self._squared_costs(model),
                self._link_costs(model.family),
            )
        places = np.sort(self.linked.places)
        fitted = ConstrainedModel.from_source(
            prototypes, source, places, masses[places]
        )
        return FitResult(run, fitted, masses)


def _select_weighted(constraints: Constraints, weights: np.ndarray) -> Constraints:
    """Return the constraints between objects of positive weight."""
    must = constraints.must_link
    cannot = constraints.cannot_link
    present = weights > 0
    return Constraints(
        must[present[must].all(axis=1)], cannot[present[cannot].all(axis=1)]
    )


class CECM(PrototypeClusterer):
    r"""Constrained evidential c-means: `ECM` with must-link and cannot-link constraints.

    The method minimizes, over masses m and prototypes v,

    .. math::

        \frac{1 - \xi}{n f s^2} J_{ECM}(m, v) + \frac{\xi}{|C|} \Bigl(
        \sum_{\text{must-links}} pl_{ij}(\text{different})
        + \sum_{\text{cannot-links}} pl_{ij}(\text{same}) \Bigr),

    where :math:`J_{ECM}` is the objective of `ECM` (``beta`` = 2) for n objects and f focal sets,
    :math:`s^2` is a quarter of the mean variance of the attributes, |C| is the number of
    constraints, and pl_ij is the plausibility that objects i and j are in different clusters, or in
    the same cluster. With sample weights, n is their sum. This is the objective of the paper except
    for :math:`s^2`, which makes the weight of the constraints independent of the units of X. The
    objective rewards mass on the empty set for linked objects, because both plausibilities are then
    zero. The published programs, and the default of this class, use costs without this effect (see
    ``convention``).

    Masses of objects without constraints have a closed form. Masses of linked objects are updated
    one object at a time, to the exact minimum for this object. The objective never increases. The
    cost of an iteration is linear in the number of objects and of constraints.

    New objects have no constraints, so they get the masses of `ECM`. Close to a linked object of
    `fit` (nearer than a quarter of its distance to the nearest other object), the masses approach
    those of the linked object.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive" learns a metric matrix of determinant one for each cluster, for elongated
        clusters.
    xi : float in [0, 1), default=0.5
        Weight of the constraints.
    convention : {"scaled", "program", "paper"}, default="scaled"
        Effect of the constraints; that of "scaled" does not depend on the units of X. "scaled"
        averages must-links and cannot-links separately, and each must-link adds a cost of 2 per
        unit of mass on the empty set, which in practice prevents such mass. With
        ``focal_sets="auto"``, the constraints of "scaled" revise the result of a fit without
        constraints (see Notes). "program" averages like "scaled" with s = 1, like the published
        programs; the results then depend on the units of X. "paper" uses the objective above with s
        = 1.
    empty_penalty : float >= 0, default=0
        Cost of a unit of mass on the empty set for each linked object, added to the objective.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    delta : float > 0 or "auto", default="auto"
        Distance from objects to the empty set, in units of the data; smaller values give more
        outliers. "auto" is the upper fence of a box plot (third quartile plus two interquartile
        ranges) of distances to the nearest prototype.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN), as in `ECM`; "partial" compares objects by the attributes
        that they have. "refuse" raises an error. "partial" adds the variance within clusters for
        each missing attribute.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes. "belief-peaks" or a `BeliefPeaks` uses its centers, computed without
        weights. An array contains the prototypes, shape (n_clusters, n_features). A deterministic
        start is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. Without constraints, and
        if the constraints revise a fit without them, the starts are compared as in `ECM`. With more
        than 20,000 objects the starts are compared on a sample of that size plus all linked
        objects, and the best one is continued with all objects. More than 25 clusters have one
        start, as in `ECM`.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative change of the objective at which the iterations stop.
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
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes of the clusters.
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        Metric matrices of the clusters; only with the adaptive metric.
    focal_sets_ : FocalSets
    delta_ : float
        Value of ``delta`` that was used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    Notes
    -----
    Each kind of constraints has as much weight as the distances of all objects, so that a single
    constraint can select other clusters for all objects. With the default ``convention`` and
    ``focal_sets="auto"``, the prototypes are therefore fitted without and with the constraints. The
    latter prototypes are used only if they satisfy significantly more constraints (by a sign test),
    where an object belongs to the nearest prototype. Otherwise the prototypes are those without
    constraints, and only the masses of linked objects change: each moves to the most plausible
    cluster that satisfies the constraints, as in `EVCLUS`. Smaller values of ``xi`` let the data
    outweigh constraints that contradict them.

    References
    ----------
    V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained evidential C-means
    algorithm. Computational Statistics & Data Analysis 56.

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
    Violations(0 of 2 must-links, 0 of 1 cannot-links violated)
    """

    _model: ConstrainedModel
    _method_type = ConstrainedMethod
    _estimated = ("delta",)
    beta = 2.0  # parameter of `ECM`, fixed here

    _rules = {
        **COMMON_RULES,
        "metric": rule.choice("euclidean", "adaptive"),
        "xi": rule.real(0, 1, open_high=True),
        "convention": rule.choice("scaled", "program", "paper"),
        "empty_penalty": rule.nonnegative,
        "init": INIT_RULE,
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
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.xi = xi
        self.convention = convention
        self.empty_penalty = empty_penalty
        self.alpha = alpha
        self.delta = delta
        self.missing = missing
        self.init = init

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
            float32 data are not converted. The partition keeps the index of a DataFrame.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in J_ECM; an object of weight 2 counts as two. A constraint counts
            once, whatever the weights of its objects, and is ignored if one of these weights is
            zero.
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster or in different clusters.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight, constraints=constraints)

    def _fitted_attributes(
        self, method: ConstrainedMethod, model: ConstrainedModel
    ) -> dict[str, Any]:
        return super()._fitted_attributes(method, model.free)
