"""Credal c-means."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia import _parameters as rule
from evidentia._random import as_random_state
from evidentia._tables import object_index, object_weights
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.neighbors.belief_peaks import BeliefPeaks
from evidentia.cluster.prototypes._method import PrototypeSolver, checked_centers, require_singletons
from evidentia.cluster.prototypes._model import Model, Statistics, solve_normal_equations
from evidentia.optimize.blocks import block_map
from evidentia.optimize.descent import Run
from evidentia.partition import CredalPartition

__all__ = ["CCM"]

_COINCIDE = 0.05  # prototypes nearer to each other, in standard deviations of the data, are one


class CCM(EvidentialClusterer):
    """Credal c-means: an object belongs to a set of clusters when it is near *all* their prototypes.

    Minimises, over masses m and prototypes v,

        sum_i sum_{A nonempty} m_i(A)^beta D_i(A)^2  +  delta^2 sum_i m_i(empty)^beta,

        D_i(A)^2 = (sum_{k in A} d(x_i, v_k)^2 + gamma d(x_i, v_A)^2) / (|A| + gamma),

    where v_A is the barycentre of the prototypes of A. In `ECM` only the last distance counts, so that the pair of the
    two outer of three clusters in a row competes with the middle cluster, whose prototype is their barycentre. Here
    the pair pays for the distance between its clusters, and objects are left undecided between neighbouring clusters
    only. The objective never rises. Cost per iteration: linear in the number of objects.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass; the published T_c is the size of the largest:
        ``FocalSets.max_cardinality(c, T_c)``. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    gamma : float >= 0, default=1
        Weight of the distance to the barycentre beside those to the prototypes.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the data: smaller values give more outliers. "auto": squared, ten times
        the mean squared distance to the nearest centre of a short k-means.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array of shape (n_clusters, n_features) or \
CredalPartition, default="k-means++"
        "belief-peaks": the centres found by `BeliefPeaks`, which knows no weights, or by one with parameters of its
        own. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects.
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
    Z.-G. Liu, Q. Pan, J. Dezert and G. Mercier (2015). Credal c-means clustering method based on belief functions.
    Knowledge-Based Systems 74.

    Examples
    --------
    Three groups in a row. In ECM the middle one is also the barycentre of the two others.

    >>> import numpy as np
    >>> from evidentia.cluster import CCM, ECM
    >>> spread = np.linspace(-1, 1, 21)
    >>> X = np.concatenate([spread - 4, spread, spread + 4])[:, None]
    >>> for method in (ECM, CCM):  # largest mass on the pair of the outer groups within the middle one
    ...     cp = method(3, focal_sets="pairs", init=[[-4.0], [0.0], [4.0]]).fit(X).credal_partition_
    ...     print(cp.masses[21:42, cp.focal_sets.index({0, 2})].max().round(2))
    0.27
    0.04
    """

    _rules = {
        **COMMON_RULES,
        "gamma": rule.real(0),
        "beta": rule.real(1, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": rule.choice("k-means++", "random", "belief-peaks")
        | rule.kind(BeliefPeaks, CredalPartition)
        | rule.array,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        gamma: float = 1.0,
        beta: float = 2.0,
        delta: float | str = "auto",
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
        self.gamma = gamma
        self.beta = beta
        self.delta = delta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CCM:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        self._check_parameters()
        data = self._checked_objects(X, reset=True)
        weights = object_weights(sample_weight, len(data), default=np.empty(0))
        rng = as_random_state(self.random_state)
        lifted = _lifted(data)
        with block_map(self.n_jobs) as apply:
            solver = _CredalSolver(self, lifted, weights, None, rng, apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
            masses = run.model.masses(lifted, apply)
        self._model = run.model
        self.cluster_centers_ = run.model.centers[:, :-1].astype(data.dtype)
        self.delta_ = run.model.delta
        solver.warn_if_clusters_coincide(run.model.centers)
        self._set_result(run, masses, run.model.family, object_index(X))
        return self

    def _masses(self, X: np.ndarray) -> np.ndarray:
        with block_map(self.n_jobs) as apply:
            return self._model.masses(_lifted(X), apply)


def _lifted(X: np.ndarray) -> np.ndarray:
    """The objects with one more attribute, zero for all."""
    return np.hstack([X, np.zeros((len(X), 1), dtype=X.dtype)])


@dataclass(frozen=True)
class _CredalModel(Model):
    """Prototypes of credal c-means, in one dimension more than the data.

    Because sum_{k in A} |x - v_k|^2 = |A| |x - v_A|^2 + sum_{k in A} |v_k - v_A|^2, the cost of a set is that of its
    barycentre plus a constant, D_i(A)^2 = |x_i - v_A|^2 + s_A / (|A| + gamma) with s_A the spread of its prototypes:
    the squared distance to a barycentre lifted off the space of the data. So the kernels of ECM serve.
    """

    gamma: float = 1.0

    def kernel_arguments(self, dtype: np.dtype) -> tuple:
        barycentres, *others = super().kernel_arguments(dtype)
        sets = self.sets
        size = sets.sum(axis=1)
        bary = sets @ self.centers / size[:, None]
        gap = self.centers[None] - bary[:, None]
        spread = np.einsum("jk,jkd,jkd->j", sets, gap, gap)
        barycentres[-1] = np.sqrt(spread / (size + self.gamma))
        return (barycentres, *others)

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        """Solve H V = R, the condition for a minimum given the masses (Liu et al., 2015)."""
        sets = self.sets
        size = sets.sum(axis=1)
        share = 1 / (size + self.gamma)
        H = np.diag(sets.T @ (share * statistics.total))
        H += (sets.T * (self.gamma * share * statistics.total / size**2)) @ sets
        return solve_normal_equations(H, (sets.T * ((1 + self.gamma / size) * share)) @ statistics.first.T)


class _CredalSolver(PrototypeSolver):
    """As for ECM, with prototypes of credal c-means. All coordinates have the additional zero."""

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> Model:
        e = self.estimator
        return _CredalModel(family, np.asarray(centers, float), 0.0, e.beta, self.delta, self.zero, None, e.gamma)

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        e = self.estimator
        if previous is None and (isinstance(e.init, BeliefPeaks) or _is(e.init, "belief-peaks")):
            peaks = _starts.belief_peaks(e.init, self.data[:, :-1], e.n_clusters, e)
            require_singletons(family)
            return self._run(self._model(family, _lifted(peaks.cluster_centers_)))
        return super().solve(family, previous)

    def _given_centers(self, init: Any, family: FocalSets) -> np.ndarray:
        if isinstance(init, CredalPartition):
            return super()._given_centers(init, family)
        return _lifted(checked_centers(init, (self.estimator.n_clusters, self.data.shape[1] - 1)))

    def warn_if_clusters_coincide(self, centers: np.ndarray) -> None:
        """A large beta in many dimensions draws all prototypes to the mean of the data."""
        gap = centers[:, None] - centers[None]
        apart = np.einsum("kld,kld->kl", gap, gap) + np.diag(np.full(len(centers), np.inf))
        k, other = np.unravel_index(apart.argmin(), apart.shape)
        scale = self.zero * 1e12  # mean squared deviation of the data
        if apart[k, other] < _COINCIDE**2 * scale:
            warnings.warn(
                f"CCM: clusters {k} and {other} coincide; try a smaller beta, got {self.estimator.beta:g}, "
                "or fewer sets",
                UserWarning,
                stacklevel=3,
            )


def _is(init: Any, name: str) -> bool:
    return isinstance(init, str) and init == name
