"""Evidential c-medoids with one medoid for each cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._types import ArrayLike, Metric, Seed
from dempster.belief import FocalSets
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
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition


@dataclass(frozen=True)
class SingleMedoidModel(MedoidModel):
    """The medoids of a fit: first those of the clusters, then those of the sets of several clusters.

    Attributes
    ----------
    gamma : float
        As in `ECMdd`.
    """

    gamma: float

    @property
    def medoid_positions(self) -> np.ndarray:
        return self.references.positions[: self.family.n_clusters]

    @property
    def set_medoid_positions(self) -> np.ndarray:
        """(g,) of every nonempty set."""
        nonempty = self.family.membership[self.family.cardinality > 0]
        several = nonempty.sum(axis=1) > 1
        positions = np.empty(len(nonempty), dtype=np.intp)
        positions[~several] = self.medoid_positions[nonempty[~several].argmax(axis=1)]
        positions[several] = self.references.positions[self.family.n_clusters :]
        return positions

    @property
    def coefficients(self) -> np.ndarray:
        return np.eye(self.family.n_clusters, len(self.references))

    def costs(self, near: np.ndarray) -> np.ndarray:
        c = self.family.n_clusters
        return costs_of_sets(near[:, :c], near[:, c:], self.family, self.gamma)


def costs_of_sets(to_medoids: np.ndarray, to_set_medoids: np.ndarray, family: FocalSets, gamma: float) -> np.ndarray:
    """(n, g) costs of the nonempty sets (Zhou et al., 2016)."""
    sets = family.membership[family.cardinality > 0].astype(float)
    size = sets.sum(axis=1)
    costs = to_medoids @ (sets / size[:, None]).T
    several = size > 1
    costs[:, several] = (to_set_medoids + gamma * costs[:, several]) / (1 + gamma)
    return costs


def descend_until_back(
    next_medoids: Callable[[Medoids], tuple[float, Medoids]], start: Medoids, max_iter: int
) -> Run[Medoids]:
    """Until the medoids come back; of those that come back in turns, end with the ones of least objective."""
    run = Run(start)
    visited: list[Medoids] = []
    when: dict[tuple[int, ...], int] = {}
    following = start
    for _ in range(max_iter):
        run.model = following
        key = tuple(run.model.positions.tolist())
        if key in when:
            last = when[key] + int(np.argmin(run.history[when[key] :]))
            run.history += run.history[when[key] : last + 1]
            run.model = visited[last]
            run.converged = True
            break
        when[key] = len(visited)
        visited.append(run.model)
        objective, following = next_medoids(run.model)
        run.history.append(objective)
    return run


class SingleMedoidDescent(PlainMedoidDescent):
    def fitted(self, state: Medoids) -> SingleMedoidModel:
        chosen = self._set_medoids(state.step.family, self.objects.columns(state.positions))
        references = References.of(self.objects.source, np.concatenate([state.positions, chosen]))
        s = self.params
        return SingleMedoidModel(state.step, references, s.power, s.gamma, gaps=state.gaps)

    def run(self, start: Medoids) -> Run[Medoids]:
        return descend_until_back(self._next, start, self.params.max_iter)

    def _next(self, state: Medoids) -> tuple[float, Medoids]:
        """The objective, and the most central objects given the masses."""
        family = state.step.family
        to_medoids = self.objects.columns(state.positions)
        to_set_medoids = self.objects.columns(self._set_medoids(family, to_medoids))
        costs = costs_of_sets(to_medoids, to_set_medoids, family, self.params.gamma)
        objective, masses = state.step.masses(costs, self.objects.weights, self.apply)
        return objective, replace(state, positions=self.central(masses[:, family.singleton_index] ** self.params.beta))

    def _set_medoids(self, family: FocalSets, to_medoids: np.ndarray) -> np.ndarray:
        """The object for each set of several clusters (Zhou et al., 2016); of objects as good as each other, as two
        medoids are for the set of both, the one nearest to the first cluster, in whatever order the rows are."""
        sets = family.membership[family.cardinality > 1]
        chosen = np.empty(len(sets), dtype=np.intp)
        eta = self.params.eta * self.unit  # a variance is in squared units, a mean is not
        for j, members in enumerate(sets):
            near = to_medoids[:, members]
            spread = near.var(axis=1) + eta * near.mean(axis=1)
            spread = np.where(self.objects.weights > 0, spread, np.inf)
            best = np.flatnonzero(spread <= spread.min() * (1 + 1e-12))
            chosen[j] = best[np.lexsort(near[best].T[::-1])[0]]
        return chosen


class SingleMedoidMethod(MedoidMethod[Medoids]):
    """Evidential c-medoids with one medoid for each cluster."""

    descent = SingleMedoidDescent


class ECMdd(MedoidClusterer):
    """Evidential c-medoids (sECMdd): the clusters, and the sets of clusters, are represented by objects.

    Takes any dissimilarities. With medoids v_k for the clusters and v_A for the sets of several clusters, masses
    minimise

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta D_i(A)  +  delta^2 sum_i m_i(empty)^beta,

        D_i({k}) = d(i, v_k),    D_i(A) = (d(i, v_A) + gamma mean_{k in A} d(i, v_k)) / (1 + gamma).

    The medoid of a cluster is the object with the least sum of m_i({k})^beta d(i, .), that of a set an object at
    about the same, small dissimilarity to all medoids of the set: it minimises their variance plus ``eta`` times
    their mean, in units of the mean dissimilarity. This last rule is not derived from the objective, which may rise
    now and then; the iterations end when the medoids stay, or come back, and then with the best ones that come back.

    Cost per iteration: n^2 dissimilarities, or n times ``n_candidates``. Up to 5,000 objects the matrix of all
    dissimilarities is kept; above, none is made if none was given.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move: an
        object is between two clusters if their costs differ little beside what they differ by at the medoids (by less
        than 0.4 / ``alpha``). The costs above, by which a pair is hardly ever cheaper than both of its clusters, are
        those of "simple", "pairs" and "full", which are fitted as a whole, and of "selected": single clusters first,
        then the pairs of mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, "gower" (tables with numbers,
        categories and missing cells), or "precomputed": X is a square matrix of dissimilarities.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    power : float in (0, 50], default=1
        Dissimilarities are raised to this power first; 2 for costs like those of `ECM`.
    alpha : float >= 0, default=2
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        ``delta^2`` is the dissimilarity, to the power, to the empty set: smaller values give more outliers. "auto": the
        upper fence of a box plot of the dissimilarities to the nearest cluster with ``focal_sets="auto"``, where it is
        needed after the fit only; else the 0.95-quantile between different objects.
    gamma : float >= 0, default=1
        Weight of the medoids of the clusters beside that of the set.
    eta : float >= 0, default=1
        For the medoids of sets: how much being near counts beside being at the same dissimilarity, in units of the
        mean dissimilarity, so that the units of X do not matter. The published form has none: it is that of eta
        divided by the mean dissimilarity.
    n_candidates : int, None or "auto", default="auto"
        How many objects, those of largest mass, may become the medoid of a cluster. None: all. "auto": all, or 500 of
        more than 5,000 objects that were not given by a matrix.
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
    max_iter : int, default=50
    tol : float, default=1e-6
        Starts whose objectives differ by less, relatively, are tied: the first wins.
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
        Positions of the medoids.
    set_medoid_indices_ : ndarray
        Position of the medoid of every nonempty focal set.
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
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2016). ECMdd: evidential c-medoids clustering with multiple prototypes.
    Pattern Recognition 60.

    Examples
    --------
    >>> from dempster.cluster import ECMdd
    >>> from dempster.datasets import load_butterfly
    >>> model = ECMdd(2, random_state=0).fit(load_butterfly().data)
    >>> sorted(model.medoid_indices_.tolist())
    [2, 8]
    >>> model.set_medoid_indices_.tolist()[-1]  # the object in the middle stands for the two clusters together
    5
    """

    _advice = "increase max_iter"
    _method_type = SingleMedoidMethod
    _rules = {
        **MEDOID_RULES,
        "power": rule.real(0, 50, open_low=True),
        "gamma": rule.real(0),
        "eta": rule.real(0),
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
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "medoids",
        n_init: int = 10,
        max_iter: int = 50,
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
        self.power = power
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

    def _fitted_attributes(self, method: SingleMedoidMethod, model: SingleMedoidModel) -> dict[str, Any]:
        return {**super()._fitted_attributes(method, model), "set_medoid_indices_": model.set_medoid_positions}
