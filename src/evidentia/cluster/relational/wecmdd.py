"""Evidential c-medoids with weighted medoids."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evidentia import _parameters as rule
from evidentia.belief import FocalSets
from evidentia.cluster.relational._medoids import MEDOID_RULES, SAMPLE_SIZE, MedoidClusterer, Problem
from evidentia.optimize.descent import Run

__all__ = ["WECMdd"]

_LONGEST_TURN = 8  # iterations after which an objective that comes back is noticed
_COINCIDE = 0.01  # of the weights differ between clusters that are one


class WECMdd(MedoidClusterer):
    """Evidential c-medoids with weighted medoids (wECMdd): every object represents every cluster, more or less.

    Takes any dissimilarities. Each cluster has nonnegative weights w_k over the objects, which sum to one. Masses
    minimise

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta D_i(A)  +  delta^2 sum_i m_i(empty)^beta,

        D_i(A) = (n / c)^(psi - 1) sum_l w_A(l)^psi d(i, l),

    (the constant factor, which is not in the paper, makes D_i an average dissimilarity when the weights of a cluster
    are spread evenly over n / c objects, so that ``delta`` means the same whatever n), and so do the weights of the
    clusters, in turn. Those of a set of clusters are large for objects that represent all of them: proportional to
    (min_{k in A} w_k(l))^xi. As this rule is not derived from the objective, the objective may rise now and then;
    the iterations end when it stays, or takes some values in turns, and then with the least of them. Several objects
    describe a cluster better than one.

    Cost per iteration: n^2 dissimilarities, or n times ``n_candidates``. Up to 5,000 objects given by attributes the
    matrix of all dissimilarities is kept; above, none is made, and 2,000 objects share the weights.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, or "precomputed": X is a square matrix of dissimilarities.
    power : float > 0, default=2
        Dissimilarities are raised to this power first. The paper leaves this to the user; with squares the published
        results of Denoeux (2021) come out, and clusters are less prone to coincide.
    alpha : float >= 0, default=2
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        ``delta^2`` is the dissimilarity, to the power, to the empty set: smaller values give more outliers. "auto": the
        0.95-quantile.
    psi : float > 1, default=1.2
        Larger values spread the weights of a cluster over more objects, values near 1 give one medoid. The paper uses
        2, with which the weights are spread so widely that clusters easily coincide (a warning says so).
    xi : float > 0, default=5
        Larger values concentrate the weights of a set on the objects that its clusters share.
    n_candidates : int, None or "auto", default="auto"
        How many objects, drawn at random, may have weights. None: all. "auto": all, or 2,000 when there are more than
        5,000 objects given by attributes.
    init : {"medoids", "random", "belief-peaks"}, array of n_clusters positions or CredalPartition, default="medoids"
        Objects that have all the weight at first. "medoids": objects far from each other. A start without chance is
        used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects. Starts that make the same partition but for a few objects count as one.
    max_iter : int, default=200
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
    weights_ : ndarray of shape (n_clusters, n_candidates)
        Weights of the objects, one row a cluster.
    candidate_indices_ : ndarray of shape (n_candidates,)
        Positions of the objects that may have weights.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Position of the object of largest weight in each cluster.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of these objects; absent for precomputed dissimilarities.
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
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2016). ECMdd: evidential c-medoids clustering with multiple prototypes.
    Pattern Recognition 60. T. Denoeux (2021). NN-EVCLUS: neural network-based evidential clustering. Information
    Sciences 572.

    Examples
    --------
    >>> from evidentia.cluster import WECMdd
    >>> from evidentia.datasets import make_fourclass
    >>> X, y = make_fourclass(200, random_state=0)
    >>> model = WECMdd(4, random_state=0).fit(X)
    >>> model.weights_.shape, bool((model.weights_.sum(axis=1).round(9) == 1).all())
    ((4, 200), True)
    """

    _rules = {
        **MEDOID_RULES,
        "power": rule.real(0, open_low=True),
        "psi": rule.real(1, open_low=True),
        "xi": rule.real(0, open_low=True),
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Any = "euclidean",
        power: float = 2.0,
        alpha: float = 2.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        psi: float = 1.2,
        xi: float = 5.0,
        n_candidates: int | str | None = "auto",
        init: Any = "medoids",
        n_init: int = 10,
        max_iter: int = 200,
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
        self.power = power
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.psi = psi
        self.xi = xi
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

    def _remember(self, problem: _WeightedMedoids, model: _Weights) -> np.ndarray:
        self.weights_ = model.weights
        self.candidate_indices_ = problem.objects
        self.medoid_indices_ = problem.objects[model.weights.argmax(axis=1)]
        self._warn_if_clusters_coincide()
        return problem.objects

    def _warn_if_clusters_coincide(self) -> None:
        for k, weights in enumerate(self.weights_):
            apart = np.abs(self.weights_[:k] - weights).sum(axis=1) / 2
            if k > 0 and apart.min() < _COINCIDE:
                warnings.warn(
                    f"WECMdd: clusters {apart.argmin()} and {k} coincide; try a smaller psi or beta, got {self.psi:g} "
                    f"and {self.beta:g}",
                    UserWarning,
                    stacklevel=4,
                )
                return

    def _costs(self, to_references: np.ndarray) -> np.ndarray:
        return _Coefficients.of(self.weights_, self.focal_sets_, self.psi, self.xi).costs(to_references)


@dataclass(frozen=True)
class _Coefficients:
    """How the costs of the nonempty sets follow from dissimilarities to the candidates.

    Attributes
    ----------
    of_sets : (g, L) array
        w_A(l)^psi (n / c)^(psi - 1).
    means : (g, g) array or None
        Which costs are means of other ones: those of sets whose clusters share no object.
    """

    of_sets: np.ndarray
    means: np.ndarray | None

    @classmethod
    def of(cls, weights: np.ndarray, family: FocalSets, psi: float, xi: float) -> _Coefficients:
        sets = family.membership[family.cardinality > 0]
        c, n_candidates = weights.shape
        of_sets = np.zeros((len(sets), n_candidates))
        orphans = []
        for j, members in enumerate(sets):
            shared = weights[members].min(axis=0)
            largest = shared.max()
            if not largest > 0:
                orphans.append(j)
                continue
            if members.sum() > 1:
                shared = (shared / largest) ** xi
            of_sets[j] = (shared / shared.sum()) ** psi
        of_sets *= (n_candidates / c) ** (psi - 1)
        if not orphans:
            return cls(of_sets, None)
        single = np.flatnonzero(sets.sum(axis=1) == 1)
        means = np.eye(len(sets))
        for j in orphans:
            members = single[sets[j, sets[single].argmax(axis=1)]]
            means[j] = 0
            means[j, members] = 1 / len(members)
        return cls(of_sets, means)

    def costs(self, near: np.ndarray) -> np.ndarray:
        costs = near @ self.of_sets.T
        return costs if self.means is None else np.ascontiguousarray(costs @ self.means.T)


@dataclass(frozen=True)
class _Weights:
    family: FocalSets
    weights: np.ndarray


class _WeightedMedoids(Problem[_Weights]):
    """Steps of wECMdd."""

    def __init__(self, estimator: Any, table: Any, penalties: Any, apply: Any):
        super().__init__(estimator, table, penalties, apply)
        wanted = estimator.n_candidates
        if wanted == "auto":
            wanted = None if table.matrix is not None else SAMPLE_SIZE
        self.objects = np.arange(table.n)
        if wanted is not None and wanted < table.n:
            self.objects = np.sort(np.random.default_rng(0).choice(table.n, wanted, replace=False))

    def start(self, family: FocalSets, medoids: np.ndarray) -> _Weights:
        """All weight on the medoids, as far as they are candidates."""
        if len(self.objects) == self.table.n:
            weights = np.zeros((len(medoids), self.table.n))
            weights[np.arange(len(medoids)), medoids] = 1
            return _Weights(family, weights)
        return _Weights(family, _best_weights(self.table.block(medoids, self.objects), self.estimator.psi))

    def enlarged(self, model: _Weights, positions: np.ndarray, whole: Any) -> _Weights:
        single = self.masses(model)[:, model.family.singleton_index] ** self.estimator.beta
        totals = np.zeros((len(model.weights), len(whole.objects)))
        for start, stop in whole.table.blocks_of(len(positions)):
            totals += single[start:stop].T @ whole.table.block(positions[start:stop], whole.objects)
        return _Weights(model.family, _best_weights(totals, self.estimator.psi))

    def with_family(self, model: _Weights, family: FocalSets) -> _Weights:
        return replace(model, family=family)

    def step(self, model: _Weights) -> tuple[float, _Weights]:
        e = self.estimator
        objective, totals = 0.0, np.zeros_like(model.weights)
        coefficients = _Coefficients.of(model.weights, model.family, e.psi, e.xi)
        for start, stop in self._blocks():
            near = self.table.block(slice(start, stop), self.objects)
            masses, value = self.penalties.masses(coefficients.costs(near), model.family, self.apply)
            objective += value
            totals += (masses[:, model.family.singleton_index] ** e.beta).T @ near
        return objective, replace(model, weights=_best_weights(totals, e.psi))

    def masses(self, model: _Weights) -> np.ndarray:
        coefficients = _Coefficients.of(model.weights, model.family, self.estimator.psi, self.estimator.xi)
        parts = []
        for start, stop in self._blocks():
            near = self.table.block(slice(start, stop), self.objects)
            parts.append(self.penalties.masses(coefficients.costs(near), model.family, self.apply)[0])
        return np.concatenate(parts)

    def run(self, start: _Weights) -> Run[_Weights]:
        """Until the objective stays; if values of it come back in turns, end with the least of them."""
        e = self.estimator
        run: Run[_Weights] = Run(start)
        recent: list[_Weights] = []
        following = start
        for _ in range(e.max_iter):
            run.model = following
            objective, following = self.step(run.model)
            run.history.append(objective)
            recent = [*recent[1 - _LONGEST_TURN :], run.model]
            turn = self._turn(run.history[-_LONGEST_TURN - 1 :])
            if turn is None:
                continue
            run.converged = True
            best = int(np.argmin(run.history[-turn:]))
            run.model = recent[len(recent) - turn + best]
            run.history += run.history[len(run.history) - turn : len(run.history) - turn + best + 1] if turn > 1 else []
            break
        return run

    def _turn(self, history: list[float]) -> int | None:
        """After how many iterations the last objective has come back; 1 if it stays, None if it is new."""
        for turn, before in enumerate(history[-2::-1], start=1):
            if abs(before - history[-1]) <= self.estimator.tol * abs(before):
                return turn
        return None

    def _blocks(self) -> list[tuple[int, int]]:
        return [(0, self.table.n)] if self.table.matrix is not None else self.table.blocks_of(self.table.n)


def _best_weights(totals: np.ndarray, psi: float) -> np.ndarray:
    """Minimise sum_l w_k(l)^psi totals[k, l] over weights that sum to one (Zhou et al., 2016)."""
    weights = np.empty_like(totals)
    for k, total in enumerate(totals):
        if total.min() > 0:
            weights[k] = (total.min() / total) ** (1 / (psi - 1))
        else:  # all objects of the cluster are twins of these
            weights[k] = total <= 0
    return weights / weights.sum(axis=1, keepdims=True)


WECMdd._problem = _WeightedMedoids
