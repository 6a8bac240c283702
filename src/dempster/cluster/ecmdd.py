"""Evidential c-medoids with one medoid per cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._types import Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster._medoids import (
    MEDOID_RULES,
    ComparedObjects,
    IndexMedoidMethod,
    MedoidClusterer,
    MedoidModel,
    Medoids,
)
from dempster.cluster.belief_peaks import Init
from dempster.dissimilarity.sources import References
from dempster.optimize.descent import Run


@dataclass(frozen=True)
class SingleMedoidModel(MedoidModel):
    """Fitted model of `ECMdd`.

    The reference objects are the medoids of the single clusters, then those of larger sets.
    """

    gamma: float

    @property
    def set_medoid_positions(self) -> np.ndarray:
        """Indices of the medoids of all nonempty sets, shape (g,)."""
        nonempty = self.family.membership[self.family.cardinality > 0]
        several = nonempty.sum(axis=1) > 1
        positions = np.empty(len(nonempty), np.intp)
        positions[~several] = self.medoid_positions[nonempty[~several].argmax(axis=1)]
        positions[several] = self.references.positions[self.family.n_clusters :]
        return positions

    def costs(self, near: np.ndarray) -> np.ndarray:
        c = self.family.n_clusters
        return costs_of_sets(near[:, :c], near[:, c:], self.family, self.gamma)


def costs_of_sets(
    to_medoids: np.ndarray, to_set_medoids: np.ndarray, family: FocalSets, gamma: float
) -> np.ndarray:
    """Return the costs of the nonempty sets, shape (n, g) (Zhou et al., 2016)."""
    sets = family.membership[family.cardinality > 0].astype(float)
    size = sets.sum(axis=1)
    costs = to_medoids @ (sets / size[:, None]).T
    several = size > 1
    costs[:, several] = (to_set_medoids + gamma * costs[:, several]) / (1 + gamma)
    return costs


def descend_until_cycle(
    next_medoids: Callable[[Medoids], tuple[float, Medoids]],
    start: Medoids,
    max_iter: int,
) -> Run[Medoids]:
    """Iterate until the medoids repeat; the run ends with the best medoids of the cycle."""
    run = Run(start)
    visited: list[Medoids] = []
    iteration: dict[tuple[int, ...], int] = {}
    following = start
    for _ in range(max_iter):
        run.model = following
        key = tuple(run.model.positions.tolist())
        if key in iteration:
            first = iteration[key]
            best = first + int(np.argmin(run.history[first:]))
            run.history += run.history[first : best + 1]
            run.model = visited[best]
            run.converged = True
            break
        iteration[key] = len(visited)
        visited.append(run.model)
        objective, following = next_medoids(run.model)
        run.history.append(objective)
    return run


class SingleMedoidMethod(IndexMedoidMethod):
    """Algorithm of evidential c-medoids with one medoid for each cluster."""

    def fitted_model(self, state: Medoids) -> SingleMedoidModel:
        objects = self.whole
        params = self.estimator
        near = objects.columns(state.positions)
        set_medoids = self._set_medoids(objects, state.family, near)
        positions = np.concatenate([state.positions, set_medoids])
        references = References.from_source(objects.source, positions)
        return SingleMedoidModel(
            state.step, references, params.power, params.gamma, gaps=state.gaps
        )

    def _run(self, start: Medoids, *, on_sample: bool) -> Run[Medoids]:
        step = partial(self._step, on_sample=on_sample)
        return descend_until_cycle(step, start, self.estimator.max_iter)

    def _step(self, state: Medoids, *, on_sample: bool) -> tuple[float, Medoids]:
        objects = self.part if on_sample else self.whole
        family = state.family
        to_medoids = objects.columns(state.positions)
        to_set_medoids = objects.columns(self._set_medoids(objects, family, to_medoids))
        costs = costs_of_sets(to_medoids, to_set_medoids, family, self.estimator.gamma)
        objective, masses = state.step.masses(costs, objects.weights, self.apply)
        powers = masses[:, family.singleton_index] ** self.estimator.beta
        medoids = self.central_objects(objects, powers)
        return objective, replace(state, positions=medoids)

    def _set_medoids(
        self, objects: ComparedObjects, family: FocalSets, to_medoids: np.ndarray
    ) -> np.ndarray:
        """Return the medoid of each set of several clusters (Zhou et al., 2016).

        Ties are frequent, because both medoids of a pair are equally good. In case of a tie, the
        object nearest to the first cluster is selected, so that the result does not depend on the
        order of the rows.
        """
        sets = family.membership[family.cardinality > 1]
        medoids = np.empty(len(sets), np.intp)
        # The mean dissimilarity `unit` makes the units of both terms equal.
        eta = self.estimator.eta * self.unit
        for j, members in enumerate(sets):
            near = to_medoids[:, members]
            spread = near.var(axis=1) + eta * near.mean(axis=1)
            spread = np.where(objects.weights > 0, spread, np.inf)
            best = np.flatnonzero(spread <= spread.min() * (1 + 1e-12))
            medoids[j] = best[np.lexsort(near[best].T[::-1])[0]]
        return medoids


class ECMdd(MedoidClusterer):
    r"""Evidential c-medoids (sECMdd): objects represent the clusters and the sets of clusters.

    The method accepts any dissimilarities. With medoids v_k of the clusters and v_A of the sets of
    several clusters, masses minimize

    .. math::

        &\sum_i \sum_{A \neq \emptyset} |A|^\alpha m_i(A)^\beta D_i(A)
        + \delta^2 \sum_i m_i(\emptyset)^\beta,

        &D_i(\{k\}) = d(i, v_k), \qquad
        D_i(A) = \frac{1}{1 + \gamma}
        \Bigl(d(i, v_A) + \frac{\gamma}{|A|} \sum_{k \in A} d(i, v_k)\Bigr).

    The medoid of a cluster minimizes the sum of :math:`m_i(\{k\})^\beta d(i, \cdot)`. The medoid of
    a set is an object with small and nearly equal dissimilarities to the medoids of its clusters.
    It minimizes the variance of these dissimilarities plus ``eta`` times their mean, in units of
    the mean dissimilarity. This rule is not derived from the objective, so the objective may
    increase occasionally. The iterations stop when the medoids repeat, and the best of the
    repeating medoids are the result.

    An iteration uses n^2 dissimilarities, or n times ``n_candidates``. The matrix of all
    dissimilarities is kept in memory for up to 5,000 objects. For more objects it is not computed,
    unless X is a matrix of dissimilarities.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. "auto" fits single clusters, then adds the empty set
        and the pairs of neighboring clusters (with objects between them) without moving
        the medoids. The cost above of a pair is rarely below the costs of both clusters. With
        "auto", an object is therefore ambiguous between two clusters if the difference of their
        costs is less than 0.4 / ``alpha`` times the difference at the medoids. "simple", "pairs"
        and "full" fit the whole family with the cost above. "selected" fits single clusters, then
        adds the pairs of mutually nearest clusters and continues with the cost above.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Other names are metrics of scikit-learn's ``pairwise_distances``; a
        function has two rows as arguments.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    power : float in (0, 50], default=1
        Exponent of the dissimilarities; 2 gives costs like those of `ECM`.
    alpha : float >= 0, default=2
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness; values near 1 give nearly certain masses.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set; smaller values give more outliers. The cost of the empty set is
        ``delta**2``. With "auto", the cost is the 0.95-quantile of the dissimilarities between
        different objects, raised to ``power``. If ``focal_sets`` is also "auto", it is computed
        after the fit from the upper fence of a box plot of the dissimilarities to the nearest
        cluster.
    gamma : float >= 0, default=1
        Weight of the medoids of the clusters relative to the medoid of the set.
    eta : float >= 0, default=1
        For medoids of sets: weight of small dissimilarities relative to equal ones. It multiplies
        the mean, relative to the variance, in units of the mean dissimilarity, so that the units of
        X do not matter. The parameter eta of the paper has the units of X. It is this value times
        the mean dissimilarity.
    n_candidates : int, None or "auto", default="auto"
        Number of objects that may become the medoid of a cluster; None: all. They are the objects
        with the largest masses. "auto" is 500 if there are more than 5,000 objects and X is not a
        matrix of dissimilarities; otherwise it is all objects.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. "refuse" raises an error. "partial" needs the metric "euclidean", "sqeuclidean" or
        "gower"; it compares two objects by the attributes that both have and adds, for each missing
        attribute, its usual difference within clusters, so incomplete objects get less certain
        masses. A row that contains only NaN raises an error. Gower's dissimilarity accepts missing
        values in any case; without "partial" it is the mean over the attributes that both objects
        have. ``docs/missing.md`` explains when to impute instead.
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial medoids. "medoids" selects objects far from each other. "random" draws different
        objects, as in the papers. "belief-peaks" or a `BeliefPeaks` uses its peaks, without
        weights. An array contains the indices of ``n_clusters`` objects. A deterministic start is
        used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With more than 2,000
        objects the starts are compared on a sample of that size, and the best one is continued with
        all objects. Starts that give nearly the same partition count as one.
    max_iter : int, default=50
        Maximum number of iterations.
    tol : float, default=1e-6
        Relative difference below which the objectives of two starts are tied; the first start is
        then selected.
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
    medoid_indices_ : ndarray of shape (n_clusters,)
        Indices of the medoids.
    set_medoid_indices_ : ndarray
        Index of the medoid of every nonempty focal set.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the medoids; absent for precomputed or Gower's dissimilarities.
    focal_sets_ : FocalSets
    delta_ : float
        Value of ``delta`` that was used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2016). ECMdd: evidential c-medoids clustering with
    multiple prototypes. Pattern Recognition 60.

    Examples
    --------
    >>> from dempster.cluster import ECMdd
    >>> from dempster.datasets import load_butterfly
    >>> model = ECMdd(2, random_state=0).fit(load_butterfly().data)
    >>> sorted(model.medoid_indices_.tolist())
    [2, 8]
    >>> model.set_medoid_indices_.tolist()[-1]  # the object between the two clusters
    5
    """

    _model: SingleMedoidModel

    _advice = "increase max_iter"
    _method_type = SingleMedoidMethod
    _rules = {
        **MEDOID_RULES,
        "power": rule.real(0, 50, open_low=True),
        "gamma": rule.nonnegative,
        "eta": rule.nonnegative,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        power: float = 1.0,
        alpha: float = 2.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        gamma: float = 1.0,
        eta: float = 1.0,
        n_candidates: int | str | None = "auto",
        missing: str = "refuse",
        init: Init = "medoids",
        n_init: int = 10,
        max_iter: int = 50,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.symmetrize = symmetrize
        self.power = power
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.gamma = gamma
        self.eta = eta
        self.n_candidates = n_candidates
        self.missing = missing
        self.init = init

    def _fitted_attributes(
        self, method: SingleMedoidMethod, model: SingleMedoidModel
    ) -> dict[str, Any]:
        return {
            **super()._fitted_attributes(method, model),
            "set_medoid_indices_": model.set_medoid_positions,
        }
