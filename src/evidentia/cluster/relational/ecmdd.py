"""Evidential c-medoids with one medoid for each cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evidentia import _parameters as rule
from evidentia.belief import FocalSets
from evidentia.cluster.relational._medoids import MEDOID_RULES, MedoidClusterer, Problem
from evidentia.optimize.descent import Run

__all__ = ["ECMdd"]


class ECMdd(MedoidClusterer):
    """Evidential c-medoids (sECMdd): the clusters, and the sets of clusters, are represented by objects.

    Takes any dissimilarities. With medoids v_k for the clusters and v_A for the sets of several clusters, masses
    minimise

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta D_i(A)  +  delta^2 sum_i m_i(empty)^beta,

        D_i({k}) = d(i, v_k),    D_i(A) = (d(i, v_A) + gamma mean_{k in A} d(i, v_k)) / (1 + gamma).

    The medoid of a cluster is the object with the least sum of m_i({k})^beta d(i, .), that of a set an object at
    about the same, small dissimilarity to all medoids of the set: it minimises their variance plus ``eta`` times
    their mean. This last rule is not derived from the objective, which may rise now and then; the iterations end when
    the medoids stay, or come back, and then with the best ones that come back.

    Cost per iteration: n^2 dissimilarities, or n times ``n_candidates``. Up to 5,000 objects given by attributes the
    matrix of all dissimilarities is kept; above, none is made.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, or "precomputed": X is a square matrix of dissimilarities.
    power : float > 0, default=1
        Dissimilarities are raised to this power first; 2 for costs like those of `ECM`.
    alpha : float >= 0, default=2
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        ``delta^2`` is the dissimilarity, to the power, to the empty set: smaller values give more outliers. "auto": the
        0.95-quantile.
    eta : float >= 0, default=1
        For the medoids of sets: how much being near counts beside being at the same dissimilarity.
    gamma : float >= 0, default=1
        Weight of the medoids of the clusters beside that of the set.
    n_candidates : int, None or "auto", default="auto"
        How many objects, those of largest mass, may become the medoid of a cluster. None: all. "auto": all, or 500
        when there are more than 5,000 objects given by attributes.
    init : {"medoids", "random", "belief-peaks"}, array of n_clusters positions or CredalPartition, default="medoids"
        "medoids": from objects far from each other. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects. Starts that make the same partition but for a few objects count as one.
    max_iter : int, default=50
    tol : float, default=1e-6
        Starts whose objectives differ by less, relatively, are tied: the first wins.
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
        Positions of the medoids.
    set_medoid_indices_ : ndarray
        Position of the medoid of every nonempty focal set.
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
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2016). ECMdd: evidential c-medoids clustering with multiple prototypes.
    Pattern Recognition 60.

    Examples
    --------
    >>> from evidentia.cluster import ECMdd
    >>> from evidentia.datasets import load_butterfly
    >>> model = ECMdd(2, random_state=0).fit(load_butterfly().data)
    >>> sorted(model.medoid_indices_.tolist())
    [2, 8]
    >>> model.set_medoid_indices_.tolist()[-1]  # the object in the middle stands for the two clusters together
    5
    """

    _rules = {**MEDOID_RULES, "power": rule.real(0, open_low=True), "eta": rule.real(0), "gamma": rule.real(0)}

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Any = "euclidean",
        power: float = 1.0,
        alpha: float = 2.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        eta: float = 1.0,
        gamma: float = 1.0,
        n_candidates: int | str | None = "auto",
        init: Any = "medoids",
        n_init: int = 10,
        max_iter: int = 50,
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
        self.eta = eta
        self.gamma = gamma
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

    def _remember(self, problem: _SingleMedoids, model: _Medoids) -> np.ndarray:
        self.medoid_indices_ = model.medoids
        to_medoids = problem.table.columns(model.medoids)
        several = _several(model.family)
        chosen = problem.set_medoids(model.family, to_medoids)
        self.set_medoid_indices_ = np.empty(int((model.family.cardinality > 0).sum()), dtype=np.intp)
        nonempty = model.family.membership[model.family.cardinality > 0]
        self.set_medoid_indices_[~several] = model.medoids[nonempty[~several].argmax(axis=1)]
        self.set_medoid_indices_[several] = chosen
        return np.concatenate([model.medoids, chosen])

    def _costs(self, to_references: np.ndarray) -> np.ndarray:
        return _costs(to_references[:, : self._c], to_references[:, self._c :], self.focal_sets_, self.gamma)


def _several(family: FocalSets) -> np.ndarray:
    """Which of the nonempty sets have more than one cluster."""
    return family.cardinality[family.cardinality > 0] > 1


def _costs(to_medoids: np.ndarray, to_set_medoids: np.ndarray, family: FocalSets, gamma: float) -> np.ndarray:
    """(n, g) costs of the nonempty sets (Zhou et al., 2016)."""
    sets = family.membership[family.cardinality > 0].astype(float)
    costs = to_medoids @ (sets / sets.sum(axis=1, keepdims=True)).T
    several = _several(family)
    costs[:, several] = (to_set_medoids + gamma * costs[:, several]) / (1 + gamma)
    return costs


@dataclass(frozen=True)
class _Medoids:
    family: FocalSets
    medoids: np.ndarray


class _SingleMedoids(Problem[_Medoids]):
    """Steps of sECMdd."""

    def start(self, family: FocalSets, medoids: np.ndarray) -> _Medoids:
        return _Medoids(family, np.asarray(medoids, dtype=np.intp))

    def enlarged(self, model: _Medoids, positions: np.ndarray, whole: Problem) -> _Medoids:
        return replace(model, medoids=positions[model.medoids])

    def with_family(self, model: _Medoids, family: FocalSets) -> _Medoids:
        return replace(model, family=family)

    def set_medoids(self, family: FocalSets, to_medoids: np.ndarray) -> np.ndarray:
        """The object for each set of several clusters (Zhou et al., 2016)."""
        sets = family.membership[family.cardinality > 1]
        chosen = np.empty(len(sets), dtype=np.intp)
        for j, members in enumerate(sets):
            near = to_medoids[:, members]
            chosen[j] = (near.var(axis=1) + self.estimator.eta * near.mean(axis=1)).argmin()
        return chosen

    def _masses(self, model: _Medoids) -> tuple[np.ndarray, float]:
        to_medoids = self.table.columns(model.medoids)
        to_set_medoids = self.table.columns(self.set_medoids(model.family, to_medoids))
        costs = _costs(to_medoids, to_set_medoids, model.family, self.estimator.gamma)
        return self.penalties.masses(costs, model.family, self.apply)

    def masses(self, model: _Medoids) -> np.ndarray:
        return self._masses(model)[0]

    def step(self, model: _Medoids) -> tuple[float, _Medoids]:
        masses, objective = self._masses(model)
        weights = masses[:, model.family.singleton_index] ** self.estimator.beta
        return objective, replace(model, medoids=self.central(weights))

    def run(self, start: _Medoids) -> Run[_Medoids]:
        """Until the medoids come back; of those that come back in turns, end with the ones of least objective."""
        run: Run[_Medoids] = Run(start)
        models: list[_Medoids] = []
        seen: dict[tuple[int, ...], int] = {}
        following = start
        for _ in range(self.estimator.max_iter):
            run.model = following
            key = tuple(run.model.medoids.tolist())
            if key in seen:
                cycle = run.history[seen[key] :]
                last = seen[key] + int(np.argmin(cycle))
                run.history += run.history[seen[key] : last + 1]
                run.model = models[last]
                run.converged = True
                break
            seen[key] = len(models)
            models.append(run.model)
            objective, following = self.step(run.model)
            run.history.append(objective)
        return run


ECMdd._problem = _SingleMedoids
