"""Median evidential c-means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from dempster import _validation as rule
from dempster._native import kernel
from dempster._types import Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster._medoids import (
    MEDOID_RULES,
    ComparedObjects,
    IndexMedoidMethod,
    MedoidClusterer,
    MedoidModel,
    Medoids,
    split_rows,
)
from dempster.cluster.belief_peaks import Init
from dempster.dissimilarity.sources import References
from dempster.optimize.blocks import row_blocks

# Compute the costs of g sets for n objects. ``near`` contains the dissimilarities from the objects
# to the medoids, and ``between`` contains the dissimilarities between the medoids.
fill_costs = kernel("""median_costs(
    near: float64[n, c], between: float64[c, c], sets: bool[g, c], gamma: float, eta: float,
    costs: float64[n, g] out)""")
# For every object that may become the medoid of one cluster (candidate), compute the terms of the
# objective that depend on the medoid. ``rows`` contains the dissimilarities from each candidate to
# all objects. ``weights`` contains |A|^alpha m_i(A)^beta for the h sets A that include the cluster,
# and ``sets`` marks the other clusters in these sets. ``near``, ``between`` and ``to_candidates``
# contain the dissimilarities from the current medoids to all objects, to each other, and to the
# candidates.
add_totals = kernel("""median_totals(
    rows: float64[candidates, n], weights: float64[h, n], near: float64[c, n],
    to_candidates: float64[c, candidates], between: float64[c, c], sets: bool[h, c], gamma: float,
    eta: float, totals: float64[candidates] out)""")


@dataclass(frozen=True)
class MedianModel(MedoidModel):
    """Fitted model of `MECM`."""

    between: Annotated[np.ndarray, "c c"]  # dissimilarities between the medoids
    gamma: float
    eta: float

    def costs(self, near: np.ndarray) -> np.ndarray:
        return costs_of_sets(near, self.between, self.family, self.gamma, self.eta)


def costs_of_sets(
    near: np.ndarray, between: np.ndarray, family: FocalSets, gamma: float, eta: float
) -> np.ndarray:
    """Return the costs of the g nonempty sets, shape (n, g)."""
    sets = family.membership[family.cardinality > 0]
    costs = np.empty((len(near), len(sets)))
    fill_costs(np.ascontiguousarray(near), between, sets, gamma, eta, costs)
    return costs


class MedianMethod(IndexMedoidMethod):
    """Algorithm of median evidential c-means."""

    cost_power = 2
    pairs_can_win = True

    def fitted_model(self, state: Medoids) -> MedianModel:
        medoids = state.positions
        params = self.estimator
        between = self.whole.columns(medoids)[medoids]
        references = References.from_source(self.source, medoids)
        return MedianModel(
            state.step, references, params.power, between, params.gamma, params.eta
        )

    def _step(self, state: Medoids, *, on_sample: bool) -> tuple[float, Medoids]:
        objects = self.part if on_sample else self.whole
        medoids = state.positions.copy()
        near = objects.columns(medoids)
        family = state.family
        params = self.estimator
        costs = costs_of_sets(near, near[medoids], family, params.gamma, params.eta)
        objective, masses = state.step.masses(costs, objects.weights, self.apply)
        for k in range(len(medoids)):
            better = self._best_medoid(objects, k, medoids, near, masses, family)
            if better != medoids[k]:
                medoids[k] = better
                near[:, k] = objects.columns(medoids[[k]])[:, 0]
        return objective, replace(state, positions=medoids)

    def _best_medoid(
        self,
        objects: ComparedObjects,
        k: int,
        medoids: np.ndarray,
        near: np.ndarray,
        masses: np.ndarray,
        family: FocalSets,
    ) -> int:
        """Return the index of the best medoid of cluster k for fixed masses.

        Ties do not change the medoid.
        """
        params = self.estimator
        sets = family.membership[family.membership[:, k]].copy()
        own = masses[:, family.membership[:, k]]
        weights = (
            own**params.beta
            * sets.sum(axis=1) ** params.alpha
            * objects.weights[:, None]
        )
        weights = np.ascontiguousarray(weights.T)
        sets[:, k] = False
        candidates = self.candidates(objects, own.sum(axis=1))
        if candidates is None:
            candidates = np.arange(len(objects))
        else:
            candidates = np.union1d(candidates, medoids[k])
        free = objects.weights > 0
        if len(medoids) > 1:  # Two clusters must not have equal medoids.
            free &= ~self.equal_to_any(objects, np.delete(medoids, k))
        candidates = candidates[free[candidates] | (candidates == medoids[k])]
        totals = np.zeros(len(candidates))
        to_medoids = np.ascontiguousarray(near.T)
        others = near[medoids], sets, params.gamma, params.eta

        def add_block(start: int, stop: int) -> None:
            some = candidates[start:stop]
            rows = objects.block(some), weights, to_medoids
            to_candidates = np.ascontiguousarray(near[some].T)
            add_totals(*rows, to_candidates, *others, totals[start:stop])

        # The blocks fit into memory and are small enough to keep all threads busy.
        size = split_rows(len(candidates), len(objects))[0][1]
        self.apply(add_block, row_blocks(len(candidates), min(size, 256), most=None))
        current = float(totals[np.searchsorted(candidates, medoids[k])])
        best = int(totals.argmin())
        # Without this tolerance, rounding errors could make two equally good medoids alternate.
        if totals[best] < current * (1 - 1e-12):
            return int(candidates[best])
        return int(medoids[k])


class MECM(MedoidClusterer):
    r"""Median evidential c-means: prototypes are objects, and dissimilarities may be arbitrary.

    For any dissimilarities d, the method minimizes, over the masses m and the medoids v,

    .. math::

        \sum_i \sum_{A \neq \emptyset} |A|^\alpha m_i(A)^\beta D_i(A)
        + \delta^2 \sum_i m_i(\emptyset)^\beta,

    with :math:`D_i(\{k\}) = d(i, v_k)^2` for a single cluster and, for several clusters,

    .. math::

        D_i(A) &= \frac{1}{1 + \gamma} \Bigl(
        \frac{\gamma}{|A|} \sum_{k \in A} d(i, v_k)^2 + \rho_i(A) \min_{k \in A} d(i, v_k)^2 \Bigr),

        \rho_i(A) &= \frac{\sum_{k, l \in A} |d(i, v_k) - d(i, v_l)|}
        {\eta \sum_{k, l \in A} d(v_k, v_l)}.

    The cost D_i(A) is small for objects with nearly equal dissimilarities to all medoids of the set
    A. Each iteration optimizes the masses for fixed medoids, then one medoid after the other for
    fixed masses, so the objective never increases.

    An iteration uses n^2 dissimilarities for each cluster and each set that contains it, or n times
    ``n_candidates``. Up to 5,000 objects, the matrix of all dissimilarities is kept in memory. For
    more objects, dissimilarities are computed when they are needed, unless X is a matrix of
    dissimilarities.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECM`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the prototypes.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Other names are metrics of scikit-learn's ``pairwise_distances``; a
        function has two rows as arguments.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    alpha : float >= 0, default=1
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness; values near 1 give nearly certain masses.
    delta : float > 0 or "auto", default="auto"
        Dissimilarity of each object to the empty set; smaller values give more outliers. With
        ``focal_sets="auto"``, "auto" is the upper fence of a box plot of the dissimilarities of
        objects to the nearest medoids, computed after the fit. Otherwise, it is the 0.95-quantile
        of the dissimilarities between different objects.
    gamma : float >= 0, default=0.5
        Weight of the mean over the medoids of a set.
    eta : float > 0, default=1
        Larger values decrease the cost of a set for objects that are not halfway between its
        medoids.
    n_candidates : int, None or "auto", default="auto"
        Number of objects that may become the medoid of a cluster; None: all. They are the objects
        with the largest plausibility. "auto" means all, or 500 if there are more than 5,000 objects
        and X is not a matrix of dissimilarities.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. "refuse" raises an error. "partial" adds a correction for missing attributes (see
        `ECMdd`).
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial medoids, as in `ECMdd`. "medoids" selects objects far from each other, and "random"
        draws them.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. Large data are sampled, as
        in `ECMdd`.
    max_iter : int, default=100
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
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Indices of the medoids, all different.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the medoids; absent for precomputed or Gower's dissimilarities.
    focal_sets_ : FocalSets
    delta_ : float
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
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2015). Median evidential c-means algorithm and its
    application to community detection. Knowledge-Based Systems 74.

    Examples
    --------
    >>> from dempster.cluster import MECM
    >>> from dempster.datasets import load_butterfly
    >>> model = MECM(2, focal_sets="full", random_state=0).fit(load_butterfly().data)
    >>> sorted(model.medoid_indices_.tolist())
    [2, 8]
    >>> model.credal_partition_.ambiguous  # the object in the middle
    array([5])
    """

    _model: MedianModel

    _method_type = MedianMethod
    _rules = {**MEDOID_RULES, "gamma": rule.nonnegative, "eta": rule.positive}

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        alpha: float = 1.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        gamma: float = 0.5,
        eta: float = 1.0,
        n_candidates: int | str | None = "auto",
        missing: str = "refuse",
        init: Init = "medoids",
        n_init: int = 10,
        max_iter: int = 100,
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
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.gamma = gamma
        self.eta = eta
        self.n_candidates = n_candidates
        self.missing = missing
        self.init = init
