"""Median evidential c-means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numba import njit

from evidentia import _parameters as rule
from evidentia.belief import FocalSets
from evidentia.cluster.relational._medoids import MEDOID_RULES, MedoidClusterer, Problem
from evidentia.optimize.blocks import row_blocks

__all__ = ["MECM"]

# Sums may be reordered (which vectorises them) but NaN and infinity keep their meaning.
_REORDER = {"reassoc", "contract"}


class MECM(MedoidClusterer):
    """Median evidential c-means: prototypes are objects, and any dissimilarities d will do.

    Minimises, over masses m and medoids v,

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta D_i(A)  +  delta^2 sum_i m_i(empty)^beta,

    with D_i({k}) = d(i, v_k)^2 for a single cluster and for several

        D_i(A) = (gamma mean_{k in A} d(i, v_k)^2 + rho_i(A) min_{k in A} d(i, v_k)^2) / (1 + gamma),
        rho_i(A) = sum_{k, l in A} |d(i, v_k) - d(i, v_l)| / (eta sum_{k, l in A} d(v_k, v_l)),

    so that a set is cheap for objects at about the same dissimilarity from all its medoids. The masses, then each
    medoid in turn, are set to their best values given the rest: the objective never rises.

    Cost per iteration: n^2 dissimilarities for each cluster and each set that it is in, or n times ``n_candidates``.
    Up to 5,000 objects given by attributes the matrix of all dissimilarities is kept; above, none is made.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, or "precomputed": X is a square matrix of dissimilarities.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Dissimilarity to the empty set: smaller values give more outliers. "auto": the 0.95-quantile of the
        dissimilarities.
    gamma : float >= 0, default=0.5
        Weight of the mean over the medoids of a set.
    eta : float > 0, default=1
        Larger values make sets cheaper for objects that are not halfway.
    n_candidates : int, None or "auto", default="auto"
        How many objects, those of largest plausibility, may become the medoid of a cluster. None: all. "auto": all, or
        500 when there are more than 5,000 objects given by attributes.
    init : {"medoids", "random", "belief-peaks"}, array of n_clusters positions or CredalPartition, default="medoids"
        "medoids": from objects far from each other. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects. Starts that make the same partition but for a few objects count as one.
    max_iter : int, default=100
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
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
    medoid_indices_ : ndarray of shape (n_clusters,)
        Positions of the medoids, all different.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the medoids; absent for precomputed dissimilarities.
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
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2015). Median evidential c-means algorithm and its application to
    community detection. Knowledge-Based Systems 74.

    Examples
    --------
    >>> from evidentia.cluster import MECM
    >>> from evidentia.datasets import load_butterfly
    >>> model = MECM(2, random_state=0).fit(load_butterfly().data)
    >>> sorted(model.medoid_indices_.tolist())
    [2, 8]
    >>> model.credal_partition_.ambiguous  # the object in the middle
    array([5])
    """

    _rules = {**MEDOID_RULES, "gamma": rule.real(0), "eta": rule.real(0, open_low=True)}

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Any = "euclidean",
        alpha: float = 1.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        gamma: float = 0.5,
        eta: float = 1.0,
        n_candidates: int | str | None = "auto",
        init: Any = "medoids",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        symmetrize: bool = False,
        n_neighbors: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.gamma = gamma
        self.eta = eta
        self.n_candidates = n_candidates
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.symmetrize = symmetrize
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _remember(self, problem: _Median, model: _Medoids) -> np.ndarray:
        self.medoid_indices_ = model.medoids
        self._between_medoids = problem.table.columns(model.medoids)[model.medoids]
        return model.medoids

    def _costs(self, to_references: np.ndarray) -> np.ndarray:
        sets = self.focal_sets_.membership[self.focal_sets_.cardinality > 0]
        costs = np.empty((len(to_references), len(sets)))
        _fill_costs(to_references, self._between_medoids, sets, self.gamma, self.eta, costs)
        return costs


# ---- compiled kernels -----------------------------------------------------------------------------------------------


@njit(cache=True, nogil=True, error_model="numpy")
def _fill_costs(near, between, sets, gamma, eta, costs):
    """(n, g) costs for dissimilarities ``near`` (n, c) to the medoids and ``between`` (c, c) them."""
    g, c = sets.shape
    for j in range(g):
        size = 0
        spread = 0.0
        for k in range(c):
            size += sets[j, k]
            for m in range(k):
                if sets[j, k] and sets[j, m]:
                    spread += between[k, m]
        for i in range(near.shape[0]):
            total, least, gaps = 0.0, np.inf, 0.0
            for k in range(c):
                if not sets[j, k]:
                    continue
                square = near[i, k] ** 2
                total += square
                least = min(least, square)
                for m in range(k):
                    if sets[j, m]:
                        gaps += abs(near[i, k] - near[i, m])
            if size == 1:
                costs[i, j] = total
            else:
                ratio = gaps / (eta * spread) if spread > 0 else 0.0
                costs[i, j] = (gamma * total / size + ratio * least) / (1 + gamma)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _totals(rows, weights, near, between, sets, k, gamma, eta, totals):
    """For every candidate (a row of dissimilarities to all objects) the part of the objective that cluster k has a
    share in, were the candidate its medoid.

    ``weights`` (h, n) are |A|^alpha m_i(A)^beta for the h sets with cluster k, ``sets`` (h, c) their members, k left
    out; ``near`` (c, n) dissimilarities to the medoids, of which row k is not used, ``between`` (c, o) from them to
    the candidates in its first columns and among them in the last c.
    """
    h = sets.shape[0]
    n = near.shape[1]
    gaps = np.empty(n)
    for j in range(h):
        members = np.flatnonzero(sets[j])
        size = 1 + len(members)
        # what the other medoids contribute, for each object
        total, least, apart = np.zeros(n), np.full(n, np.inf), np.zeros(n)
        others_apart = 0.0
        for at, a in enumerate(members):
            for i in range(n):
                total[i] += near[a, i] ** 2
                least[i] = min(least[i], near[a, i] ** 2)
            for b in members[:at]:
                others_apart += between[a, len(totals) + b]
                for i in range(n):
                    apart[i] += abs(near[a, i] - near[b, i])
        weight = weights[j]
        for o in range(rows.shape[0]):
            row = rows[o]
            value = 0.0
            if size == 1:
                for i in range(n):
                    value += weight[i] * row[i] * row[i]
                totals[o] += value
                continue
            spread = others_apart
            gaps[:] = apart
            for a in members:
                spread += between[a, o]
                u = near[a]
                for i in range(n):
                    gaps[i] += abs(row[i] - u[i])
            share = 1 / (eta * spread) if spread > 0 else 0.0
            for i in range(n):
                square = row[i] * row[i]
                value += weight[i] * (gamma * (square + total[i]) / size + gaps[i] * share * min(square, least[i]))
            totals[o] += value / (1 + gamma)


# ---- steps ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Medoids:
    family: FocalSets
    medoids: np.ndarray


class _Median(Problem[_Medoids]):
    """Steps of MECM."""

    costs_power = 2

    def start(self, family: FocalSets, medoids: np.ndarray) -> _Medoids:
        return _Medoids(family, np.asarray(medoids, dtype=np.intp))

    def enlarged(self, model: _Medoids, positions: np.ndarray, whole: Problem) -> _Medoids:
        return replace(model, medoids=positions[model.medoids])

    def with_family(self, model: _Medoids, family: FocalSets) -> _Medoids:
        return replace(model, family=family)

    def _masses(self, model: _Medoids, near: np.ndarray) -> tuple[np.ndarray, float]:
        e = self.estimator
        sets = model.family.membership[model.family.cardinality > 0]
        costs = np.empty((len(near), len(sets)))
        between = near[model.medoids]
        blocks = row_blocks(len(near))
        self.apply(_fill_costs, [(near[a:b], between, sets, e.gamma, e.eta, costs[a:b]) for a, b in blocks])
        return self.penalties.masses(costs, model.family, self.apply)

    def masses(self, model: _Medoids) -> np.ndarray:
        return self._masses(model, self.table.columns(model.medoids))[0]

    def step(self, model: _Medoids) -> tuple[float, _Medoids]:
        near = self.table.columns(model.medoids)
        masses, objective = self._masses(model, near)
        medoids = model.medoids.copy()
        for k in range(len(medoids)):
            better = self._best_medoid(k, medoids, near, masses, model.family)
            if better != medoids[k]:
                medoids[k] = better
                near[:, k] = self.table.columns(medoids[[k]])[:, 0]
        return objective, replace(model, medoids=medoids)

    def _candidate_blocks(self, n_candidates: int) -> list[tuple[int, int]]:
        """Blocks that fit in memory, but several if there are many candidates, so that threads have work."""
        size = self.table.blocks_of(n_candidates)[0][1]
        return row_blocks(n_candidates, min(size, 256), most=None)

    def _best_medoid(self, k: int, medoids: np.ndarray, near: np.ndarray, masses: np.ndarray, family: FocalSets) -> int:
        """The candidate that lowers the objective most, the present medoid unless there is a better one."""
        e = self.estimator
        sets = family.membership[family.membership[:, k]].copy()
        own = masses[:, family.membership[:, k]]
        weights = np.ascontiguousarray((own**e.beta * sets.sum(axis=1) ** e.alpha).T)
        sets[:, k] = False
        plausible = own.sum(axis=1)
        limited = self.candidates(plausible)
        objects = np.arange(self.table.n) if limited is None else np.union1d(limited, medoids[k])
        others = np.delete(medoids, k)
        if len(others):  # two clusters cannot have the same medoid, nor twins
            objects = objects[~self.taken(others)[objects] | (objects == medoids[k])]
        totals = np.zeros(len(objects))
        to_medoids = np.ascontiguousarray(near.T)

        def work(start: int, stop: int) -> None:
            rows = self.table.block(objects[start:stop])
            between = np.hstack([to_medoids[:, objects[start:stop]], to_medoids[:, medoids]])
            _totals(rows, weights, to_medoids, between, sets, k, e.gamma, e.eta, totals[start:stop])

        self.apply(work, self._candidate_blocks(len(objects)))
        here = float(totals[np.searchsorted(objects, medoids[k])])
        best = int(totals.argmin())
        # rounding must not make two equally good objects take turns
        return int(objects[best]) if totals[best] < here * (1 - 1e-12) else int(medoids[k])


MECM._problem = _Median
