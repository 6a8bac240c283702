"""Median evidential c-means."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dempster import _validation as rule
from dempster._native import kernel
from dempster._types import ArrayLike, Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster._mass_step import MassStep
from dempster.cluster._medoids import (
    MEDOID_RULES,
    MedoidClusterer,
    MedoidMethod,
    MedoidModel,
    Medoids,
    PlainMedoidDescent,
)
from dempster.cluster.belief_peaks import BeliefPeaks
from dempster.dissimilarity.sources import References
from dempster.optimize.blocks import row_blocks
from dempster.optimize.descent import Run, descend
from dempster.partition import CredalPartition

# (n, g) costs for dissimilarities ``near`` to the medoids and ``between`` them.
fill_costs = kernel("""median_costs(
    near: float64[n, c], between: float64[c, c], sets: bool[g, c], gamma: float, eta: float,
    costs: float64[n, g] out)""")
# For every candidate (a row of dissimilarities to all objects) the part of the objective that a cluster has a share in,
# were the candidate its medoid. ``weights`` are |A|^alpha m_i(A)^beta for the h sets with the cluster, ``sets`` their
# other members; ``near`` dissimilarities to the medoids, ``between`` among them, ``to_candidates`` from them to the
# candidates.
add_totals = kernel("""median_totals(
    rows: float64[candidates, n], weights: float64[h, n], near: float64[c, n], to_candidates: float64[c, candidates],
    between: float64[c, c], sets: bool[h, c], gamma: float, eta: float, totals: float64[candidates] out)""")


@dataclass(frozen=True)
class MedianModel(MedoidModel):
    """The medoids of a fit.

    Attributes
    ----------
    between : (c, c) array
        Dissimilarities of the medoids to each other.
    gamma, eta : float
        As in `MECM`.
    """

    between: np.ndarray
    gamma: float
    eta: float

    @property
    def medoid_positions(self) -> np.ndarray:
        return self.references.positions

    @property
    def coefficients(self) -> np.ndarray:
        return np.eye(self.family.n_clusters, len(self.references))

    def costs(self, near: np.ndarray) -> np.ndarray:
        sets = self.family.membership[self.family.cardinality > 0]
        costs = np.empty((len(near), len(sets)))
        fill_costs(np.ascontiguousarray(near), self.between, sets, self.gamma, self.eta, costs)
        return costs


class MedianDescent(PlainMedoidDescent):
    def fitted(self, state: Medoids) -> MedianModel:
        medoids, s = state.positions, self.params
        between = self.objects.columns(medoids)[medoids]
        references = References.of(self.objects.source, medoids)
        return MedianModel(state.step, references, s.power, between, s.gamma, s.eta)

    def run(self, start: Medoids) -> Run[Medoids]:
        return descend(self._next, start, max_iter=self.params.max_iter, tol=self.params.tol)

    def _next(self, state: Medoids) -> tuple[float, Medoids]:
        """The objective, and better medoids."""
        medoids = state.positions.copy()
        near = self.objects.columns(medoids)
        objective, masses = self._masses(state, near)
        for k in range(len(medoids)):
            better = self._best_medoid(k, medoids, near, masses, state.step)
            if better != medoids[k]:
                medoids[k] = better
                near[:, k] = self.objects.columns(medoids[[k]])[:, 0]
        return objective, replace(state, positions=medoids)

    def _masses(self, state: Medoids, near: np.ndarray) -> tuple[float, np.ndarray]:
        family, s = state.step.family, self.params
        sets = family.membership[family.cardinality > 0]
        costs = np.empty((len(near), len(sets)))
        between = near[state.positions]
        blocks = row_blocks(len(near))
        self.apply(fill_costs, [(near[a:b], between, sets, s.gamma, s.eta, costs[a:b]) for a, b in blocks])
        return state.step.masses(costs, self.objects.weights, self.apply)

    def _best_medoid(self, k: int, medoids: np.ndarray, near: np.ndarray, masses: np.ndarray, step: MassStep) -> int:
        """The candidate that lowers the objective most, the present medoid unless there is a better one."""
        s, family = self.params, step.family
        sets = family.membership[family.membership[:, k]].copy()
        own = masses[:, family.membership[:, k]]
        weights = own**s.beta * sets.sum(axis=1) ** s.alpha * self.objects.weights[:, None]
        weights = np.ascontiguousarray(weights.T)
        sets[:, k] = False
        limited = self.candidates(own.sum(axis=1))
        candidates = np.arange(len(self.objects)) if limited is None else np.union1d(limited, medoids[k])
        free = self.objects.weights > 0
        others = np.delete(medoids, k)
        if len(others):  # two clusters cannot have the same medoid, nor twins
            free &= ~self.taken(others)
        candidates = candidates[free[candidates] | (candidates == medoids[k])]
        totals = np.zeros(len(candidates))
        to_medoids, between = np.ascontiguousarray(near.T), near[medoids]

        def work(start: int, stop: int) -> None:
            rows, some = self.objects.block(candidates[start:stop]), totals[start:stop]
            to_candidates = np.ascontiguousarray(near[candidates[start:stop]].T)
            add_totals(rows, weights, to_medoids, to_candidates, between, sets, s.gamma, s.eta, some)

        self.apply(work, self._candidate_blocks(len(candidates)))
        here = float(totals[np.searchsorted(candidates, medoids[k])])
        best = int(totals.argmin())
        # rounding must not make two equally good objects take turns
        return int(candidates[best]) if totals[best] < here * (1 - 1e-12) else int(medoids[k])

    def _candidate_blocks(self, n_candidates: int) -> list[tuple[int, int]]:
        """Blocks that fit in memory, but several if there are many candidates, so that threads have work."""
        size = self.objects.blocks_of(n_candidates)[0][1]
        return row_blocks(n_candidates, min(size, 256), most=None)


class MedianMethod(MedoidMethod[Medoids]):
    """Median evidential c-means."""

    descent = MedianDescent
    cost_power = 2
    pairs_can_win = True


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
    Up to 5,000 objects the matrix of all dissimilarities is kept; above, none is made if none was given.

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
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, "gower" (tables with numbers,
        categories and missing cells), or "precomputed": X is a square matrix of dissimilarities.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Dissimilarity to the empty set: smaller values give more outliers. "auto": the upper fence of
        a box plot of the dissimilarities to the nearest medoid with ``focal_sets="auto"``, where it is needed after the
        fit only; else the 0.95-quantile of the dissimilarities between different objects.
    gamma : float >= 0, default=0.5
        Weight of the mean over the medoids of a set.
    eta : float > 0, default=1
        Larger values make sets cheaper for objects that are not halfway.
    n_candidates : int, None or "auto", default="auto"
        How many objects, those of largest plausibility, may become the medoid of a cluster. None: all. "auto": all, or
        500 of more than 5,000 objects that were not given by a matrix.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN) under "euclidean", "sqeuclidean" or "gower". "partial": objects are
        compared by the attributes that both have, and one that is missing adds its usual difference within clusters:
        the less is known of an object, the more it is in doubt. An object without any value is refused. (Gower's
        dissimilarity takes missing cells in any case; without "partial" it is the mean over those that are there.)
        ``docs/missing.md`` tells when to impute instead.
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, array of n_clusters positions or CredalPartition, \
default="medoids"
        "medoids": from objects far from each other. "belief-peaks": the objects found by `BeliefPeaks`, which knows no
        weights, or by one with parameters of its own. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects. Starts that make the same partition but for a few objects count as one.
    max_iter : int, default=100
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
    medoid_indices_ : ndarray of shape (n_clusters,)
        Positions of the medoids, all different.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the medoids; absent for precomputed or Gower's dissimilarities.
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
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2015). Median evidential c-means algorithm and its application to
    community detection. Knowledge-Based Systems 74.

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

    _method_type = MedianMethod
    _rules = {
        **MEDOID_RULES,
        "gamma": rule.real(0),
        "eta": rule.real(0, open_low=True),
    }

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
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "medoids",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        n_neighbor_clusters: int = 1,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
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
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
