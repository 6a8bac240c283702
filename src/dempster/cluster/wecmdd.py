"""Evidential c-medoids with weighted medoids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._types import ArrayLike, Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster._mass_step import MassStep
from dempster.cluster._medoids import (
    MEDOID_RULES,
    SAMPLE_SIZE,
    ComparedObjects,
    MedoidClusterer,
    MedoidDescent,
    MedoidMethod,
    MedoidModel,
    Representatives,
)
from dempster.cluster._search import FitResult
from dempster.cluster.belief_peaks import BeliefPeaks
from dempster.data import sampling
from dempster.dissimilarity.sources import References
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

_MAX_TURN = 8  # iterations after which an objective that comes back is noticed
_COINCIDE = 0.01  # of the weights differ between clusters that are one


@dataclass(frozen=True)
class PrototypeWeights(Representatives):
    """(c, L) weights of the L candidates; rows sum to one. A candidate that counts as two has the weight of both."""

    weights: np.ndarray


@dataclass(frozen=True)
class SetCosts:
    """How the costs of the nonempty sets follow from dissimilarities to the candidates.

    Attributes
    ----------
    coefficients : (g, L) array
        r(l) (w_A(l) / r(l))^psi (n / c)^(psi - 1), where r(l) is how many of the n objects candidate l counts for.
    means : (g, g) array or None
        Which costs are means of other ones: those of sets whose clusters share no object.
    """

    coefficients: np.ndarray
    means: np.ndarray | None

    @classmethod
    def of(
        cls, weights: np.ndarray, counts: np.ndarray, family: FocalSets, psi: float, concentration: float
    ) -> SetCosts:
        sets = family.membership[family.cardinality > 0]
        each = weights / counts
        coefficients = np.zeros((len(sets), len(counts)))
        orphans = []
        for j, members in enumerate(sets):
            shared = each[members].min(axis=0)
            largest = shared.max()
            if not largest > 0:
                orphans.append(j)
                continue
            if members.sum() > 1:
                shared = (shared / largest) ** concentration
            coefficients[j] = counts * (shared / (counts * shared).sum()) ** psi
        coefficients *= (counts.sum() / len(weights)) ** (psi - 1)
        if not orphans:
            return cls(coefficients, None)
        single = np.flatnonzero(sets.sum(axis=1) == 1)
        means = np.eye(len(sets))
        for j in orphans:
            members = single[sets[j, sets[single].argmax(axis=1)]]
            means[j] = 0
            means[j, members] = 1 / len(members)
        return cls(coefficients, means)

    def __call__(self, near: np.ndarray) -> np.ndarray:
        """(n, g) costs for (n, L) dissimilarities."""
        costs = near @ self.coefficients.T
        return costs if self.means is None else np.ascontiguousarray(costs @ self.means.T)


@dataclass(frozen=True)
class WeightedMedoidModel(MedoidModel):
    """The candidates of a fit, with their weights in each cluster.

    Attributes
    ----------
    weights : (c, L) array
    counts : (L,) array
        How many objects each candidate counts for.
    costs_of : SetCosts
    """

    weights: np.ndarray
    counts: np.ndarray
    costs_of: SetCosts

    @property
    def medoid_positions(self) -> np.ndarray:
        return self.references.positions[(self.weights / self.counts).argmax(axis=1)]

    @property
    def coefficients(self) -> np.ndarray:
        nonempty = np.cumsum(self.family.cardinality > 0) - 1
        return self.costs_of.coefficients[nonempty[self.family.singleton_index]]

    def costs(self, near: np.ndarray) -> np.ndarray:
        return self.costs_of(near)


def best_weights(totals: np.ndarray, counts: np.ndarray, psi: float) -> np.ndarray:
    """Minimise sum_l r(l) (w_k(l) / r(l))^psi totals[k, l] over weights that sum to one, for the counts r (Zhou et
    al., 2016)."""
    weights = np.empty_like(totals)
    for k, total in enumerate(totals):
        if total.min() > 0:
            weights[k] = (total.min() / total) ** (1 / (psi - 1))
        else:  # all objects of the cluster are twins of these
            weights[k] = total <= 0
    weights *= counts
    return weights / weights.sum(axis=1, keepdims=True)


def descend_until_settled(
    next_weights: Callable[[PrototypeWeights], tuple[float, PrototypeWeights]],
    start: PrototypeWeights,
    max_iter: int,
    tol: float,
) -> Run[PrototypeWeights]:
    """Until the objective stays; if values of it come back in turns, end with the least of them."""
    run = Run(start)
    recent: list[PrototypeWeights] = []
    following = start
    for _ in range(max_iter):
        run.model = following
        objective, following = next_weights(run.model)
        run.history.append(objective)
        recent = [*recent[1 - _MAX_TURN :], run.model]
        turn = _turn(run.history[-_MAX_TURN - 1 :], tol)
        if turn is None:
            continue
        run.converged = True
        best = int(np.argmin(run.history[-turn:]))
        run.model = recent[len(recent) - turn + best]
        run.history += run.history[len(run.history) - turn : len(run.history) - turn + best + 1] if turn > 1 else []
        break
    return run


def _turn(history: list[float], tol: float) -> int | None:
    """After how many iterations the last objective has come back; 1 if it stays, None if it is new."""
    for turn, before in enumerate(history[-2::-1], start=1):
        if abs(before - history[-1]) <= tol * abs(before):
            return turn
    return None


class WeightedMedoidDescent(MedoidDescent[PrototypeWeights]):
    """Descends on some objects, of which all or some, drawn at random, may have weights."""

    def __init__(self, method: MedoidMethod[PrototypeWeights], objects: ComparedObjects):
        super().__init__(method, objects)
        wanted, n, rng = self.params.n_candidates, len(objects), method.rng
        if wanted == "auto":
            wanted = None if objects.matrix is not None else SAMPLE_SIZE
        which, counts = sampling.sample_in_order(
            objects.order, objects.weights, n if wanted is None else int(wanted), rng
        )
        by_position = np.argsort(which)
        self.candidate_positions, self.counts = which[by_position], counts[by_position]

    def start(self, step: MassStep, medoids: np.ndarray) -> PrototypeWeights:
        """All weight on the medoids and their twins, as far as they are candidates."""
        near = self.objects.columns(medoids)
        near[medoids, np.arange(len(medoids))] = 0
        return PrototypeWeights(step, self._best_weights(near[self.candidate_positions].T))

    def enlarged(self, state: PrototypeWeights, positions: np.ndarray, whole: Self) -> PrototypeWeights:
        single = self._single_masses(self._masses(state), state) * self.objects.weights[:, None]
        totals = np.zeros((len(state.weights), len(whole.candidate_positions)))
        for start, stop in whole.objects.blocks_of(len(positions)):
            totals += single[start:stop].T @ whole.objects.block(positions[start:stop], whole.candidate_positions)
        return replace(state, weights=whole._best_weights(totals))

    def fitted(self, state: PrototypeWeights) -> WeightedMedoidModel:
        references = References.of(self.objects.source, self.candidate_positions)
        what = state.weights, self.counts, self._costs(state)
        return WeightedMedoidModel(state.step, references, self.params.power, *what, gaps=state.gaps)

    def run(self, start: PrototypeWeights) -> Run[PrototypeWeights]:
        return descend_until_settled(self._next, start, self.params.max_iter, self.params.tol)

    def _next(self, state: PrototypeWeights) -> tuple[float, PrototypeWeights]:
        """The objective, and the best weights given the masses."""
        objective, totals = 0.0, np.zeros_like(state.weights)
        costs = self._costs(state)
        for start, stop in self._blocks():
            near, weights = self._near(start, stop), self.objects.weights[start:stop]
            value, masses = state.step.masses(costs(near), weights, self.apply)
            objective += value
            totals += (self._single_masses(masses, state) * weights[:, None]).T @ near
        return objective, replace(state, weights=self._best_weights(totals))

    def _near(self, start: int, stop: int) -> np.ndarray:
        return self.objects.block(slice(start, stop), self.candidate_positions)

    def _single_masses(self, masses: np.ndarray, state: PrototypeWeights) -> np.ndarray:
        """(n, c) masses of the single clusters, as they count in the objective."""
        return masses[:, state.step.family.singleton_index] ** self.params.beta

    def _best_weights(self, totals: np.ndarray) -> np.ndarray:
        return best_weights(totals, self.counts, self.params.psi)

    def _masses(self, state: PrototypeWeights) -> np.ndarray:
        costs = self._costs(state)
        parts = []
        for start, stop in self._blocks():
            parts.append(state.step.masses(costs(self._near(start, stop)), np.empty(0), self.apply)[1])
        return np.concatenate(parts)

    def _costs(self, state: PrototypeWeights) -> SetCosts:
        psi, concentration = self.params.psi, self.params.concentration
        return SetCosts.of(state.weights, self.counts, state.step.family, psi, concentration)

    def _blocks(self) -> list[tuple[int, int]]:
        n = len(self.objects)
        return [(0, n)] if self.objects.matrix is not None else self.objects.blocks_of(n)


class WeightedMedoidMethod(MedoidMethod[PrototypeWeights]):
    """Evidential c-medoids with weighted medoids."""

    params: WECMdd
    descent = WeightedMedoidDescent

    def result(self, run: Run[PrototypeWeights]) -> FitResult:
        result = super().result(run)
        for k, weights in enumerate(result.model.weights):
            apart = np.abs(result.model.weights[:k] - weights).sum(axis=1) / 2
            if k > 0 and apart.min() < _COINCIDE:
                used = f"{self.params.psi:g} and {self.params.beta:g}"
                warning = f"clusters {apart.argmin()} and {k} coincide; try a smaller psi or beta, got {used}"
                return replace(result, warnings=(warning,))
        return result


class WECMdd(MedoidClusterer):
    """Evidential c-medoids with weighted medoids (wECMdd): every object represents every cluster, more or less.

    Takes any dissimilarities. Each cluster has nonnegative weights w_k over the objects, which sum to one. Masses
    minimise

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta D_i(A)  +  delta^2 sum_i m_i(empty)^beta,

        D_i(A) = (n / c)^(psi - 1) sum_l w_A(l)^psi d(i, l),

    (the constant factor, which is not in the paper, makes D_i an average dissimilarity when the weights of a cluster
    are spread evenly over n / c objects, so that ``delta`` means the same whatever n), and so do the weights of the
    clusters, in turn. Those of a set of clusters are large for objects that represent all of them: proportional to
    (min_{k in A} w_k(l))^concentration. As this rule is not derived from the objective, the objective may rise now
    and then; the iterations end when it stays, or takes some values in turns, and then with the least of them. Several
    objects describe a cluster better than one.

    Cost per iteration: n^2 dissimilarities, or n times ``n_candidates``. Up to 5,000 objects the matrix of all
    dissimilarities is kept; above, none is made if none was given, and 2,000 objects share the weights.

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
    power : float in (0, 50], default=2
        Dissimilarities are raised to this power first. The paper leaves this to the user; with squares the published
        results of Denoeux (2021) come out, and clusters are less prone to coincide.
    alpha : float >= 0, default=2
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        ``delta^2`` is the dissimilarity, to the power, to the empty set: smaller values give more outliers. "auto": the
        upper fence of a box plot of the dissimilarities to the nearest cluster with ``focal_sets="auto"``, where it is
        needed after the fit only; else the 0.95-quantile between different objects.
    psi : float in (1, 50], default=1.2
        Larger values spread the weights of a cluster over more objects, values near 1 give one medoid. The paper uses
        2, with which the weights are spread so widely that clusters easily coincide (a warning says so).
    concentration : float > 0, default=5
        Larger values concentrate the weights of a set on the objects that its clusters share (xi in the paper).
    n_candidates : int, None or "auto", default="auto"
        How many objects, drawn at random, may have weights; one that is drawn twice counts as two. None: all. "auto":
        all, or 2,000 of more than 5,000 objects that were not given by a matrix.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN) under "euclidean", "sqeuclidean" or "gower". "partial": objects are
        compared by the attributes that both have, and one that is missing adds its usual difference within clusters:
        the less is known of an object, the more it is in doubt. An object without any value is refused. (Gower's
        dissimilarity takes missing cells in any case; without "partial" it is the mean over those that are there.)
        ``docs/missing.md`` tells when to impute instead.
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, array of n_clusters positions or CredalPartition, \
default="medoids"
        Objects that have all the weight at first. "medoids": objects far from each other. "belief-peaks": the objects
        found by `BeliefPeaks`, which knows no weights, or by one with parameters of its own. A start without chance
        is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects. Starts that make the same partition but for a few objects count as one.
    max_iter : int, default=200
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
    prototype_weights_ : ndarray of shape (n_clusters, n_candidates)
        Weights of the candidates, one row a cluster; rows sum to one.
    candidate_indices_ : ndarray of shape (n_candidates,)
        Positions of the objects that may have weights.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Position of the object of largest weight in each cluster (for one that counts as several, its share of it).
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of these objects; absent for precomputed or Gower's dissimilarities.
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
    Pattern Recognition 60. T. Denoeux (2021). NN-EVCLUS: neural network-based evidential clustering. Information
    Sciences 572.

    Examples
    --------
    >>> from dempster.cluster import WECMdd
    >>> from dempster.datasets import make_fourclass
    >>> X, y = make_fourclass(200, random_state=0)
    >>> model = WECMdd(4, random_state=0).fit(X)
    >>> model.prototype_weights_.shape, bool((model.prototype_weights_.sum(axis=1).round(9) == 1).all())
    ((4, 200), True)
    """

    _method_type = WeightedMedoidMethod
    _rules = {
        **MEDOID_RULES,
        "power": rule.real(0, 50, open_low=True),
        "psi": rule.real(1, 50, open_low=True),
        "concentration": rule.real(0, open_low=True),
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        power: float = 2.0,
        alpha: float = 2.0,
        beta: float = 2.0,
        delta: float | str = "auto",
        psi: float = 1.2,
        concentration: float = 5.0,
        n_candidates: int | str | None = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "medoids",
        n_init: int = 10,
        max_iter: int = 200,
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
        self.psi = psi
        self.concentration = concentration
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

    def _fitted_attributes(self, method: WeightedMedoidMethod, model: WeightedMedoidModel) -> dict[str, Any]:
        candidates = model.references.positions
        weights = {"prototype_weights_": model.weights, "candidate_indices_": candidates}
        return {**super()._fitted_attributes(method, model), **weights}
