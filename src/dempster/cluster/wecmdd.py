"""Evidential c-medoids with weighted medoids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from dempster import _validation as rule
from dempster._types import Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster._base import FitRequest
from dempster.cluster._mass_step import MassStep
from dempster.cluster._medoids import (
    MEDOID_RULES,
    SAMPLE_SIZE,
    ComparedObjects,
    MedoidClusterer,
    MedoidMethod,
    MedoidModel,
    Representatives,
    split_rows,
)
from dempster.cluster._search import FitResult, Sample
from dempster.cluster.belief_peaks import Init
from dempster.data import sampling
from dempster.dissimilarity.sources import DissimilaritySource, References
from dempster.optimize.descent import Run

_MAX_CYCLE = 8  # maximum number of iterations in a cycle
_COINCIDE = 0.01  # Two clusters coincide if they differ in less than this share of their weights.


@dataclass(frozen=True)
class PrototypeWeights(Representatives):
    """Weights of the candidates in each cluster; only candidates can have nonzero weights."""

    # (c, L), weights of the L candidates in the c clusters; rows sum to one
    weights: np.ndarray


@dataclass(frozen=True)
class Candidates:
    """Indices of the objects with weights, and the number of objects that each represents."""

    positions: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class SetCosts:
    """Linear map from the dissimilarities to L candidates to the costs of g nonempty sets.

    The coefficient of candidate l for set A is r(l) (w_A(l) / r(l))^psi (n / c)^(psi - 1), where
    w_A(l) is the weight of the candidate in the set, and the candidate represents r(l) of the n
    objects. If the clusters of a set share no object, ``means`` gives the set the average cost of
    its clusters.
    """

    coefficients: Annotated[np.ndarray, "g L"]
    # applied to the costs; None if the clusters of every set share an object
    means: Annotated[np.ndarray, "g g"] | None

    @classmethod
    def from_weights(
        cls,
        weights: np.ndarray,
        counts: np.ndarray,
        family: FocalSets,
        psi: float,
        concentration: float,
    ) -> SetCosts:
        """Compute the coefficients from the weights of L candidates in c clusters, shape (c, L)."""
        sets = family.membership[family.cardinality > 0]
        each = weights / counts
        coefficients = np.zeros((len(sets), len(counts)))
        disjoint = []
        for j, members in enumerate(sets):
            shared = each[members].min(axis=0)
            largest = shared.max()
            if not largest > 0:
                disjoint.append(j)
                continue
            if members.sum() > 1:
                shared = (shared / largest) ** concentration
            coefficients[j] = counts * (shared / (counts * shared).sum()) ** psi
        coefficients *= (counts.sum() / len(weights)) ** (psi - 1)
        if not disjoint:
            return cls(coefficients, None)
        single = np.flatnonzero(sets.sum(axis=1) == 1)
        means = np.eye(len(sets))
        for j in disjoint:
            members = single[sets[j, sets[single].argmax(axis=1)]]
            means[j] = 0
            means[j, members] = 1 / len(members)
        return cls(coefficients, means)

    def __call__(self, near: np.ndarray) -> np.ndarray:
        """Return the costs of the g sets, shape (n, g), given dissimilarities of shape (n, L)."""
        costs = near @ self.coefficients.T
        if self.means is None:
            return costs
        return np.ascontiguousarray(costs @ self.means.T)


@dataclass(frozen=True)
class WeightedMedoidModel(MedoidModel):
    """Fitted model of `WECMdd`."""

    step: Annotated[MassStep, ".sets g *"]
    # weights of the L candidates in the c clusters
    weights: Annotated[np.ndarray, "c L"]
    # number of objects that each candidate represents
    counts: Annotated[np.ndarray, "L"]
    costs_of: Annotated[SetCosts, ".coefficients g L"]

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
    """Return the optimal weights w_k(l) of the candidates l in the clusters k (Zhou et al., 2016).

    For fixed masses, they minimize sum_l r(l) (w_k(l) / r(l))^psi totals[k, l] for each cluster k
    and sum to one over l; r is ``counts``.
    """
    weights = np.empty_like(totals)
    for k, total in enumerate(totals):
        if total.min() > 0:
            weights[k] = (total.min() / total) ** (1 / (psi - 1))
        else:  # All objects of the cluster are equal to the candidates with a total of zero.
            weights[k] = total <= 0
    weights *= counts
    return weights / weights.sum(axis=1, keepdims=True)


def descend_until_settled(
    next_weights: Callable[[PrototypeWeights], tuple[float, PrototypeWeights]],
    start: PrototypeWeights,
    max_iter: int,
    tol: float,
) -> Run[PrototypeWeights]:
    """Update the weights until the objective converges or repeats a cycle.

    Return the run with the best weights.
    """
    run = Run(start)
    recent: list[PrototypeWeights] = []
    following = start
    for _ in range(max_iter):
        run.model = following
        objective, following = next_weights(run.model)
        run.history.append(objective)
        recent = [*recent[1 - _MAX_CYCLE :], run.model]
        cycle = _cycle_length(run.history[-_MAX_CYCLE - 1 :], tol)
        if cycle is None:
            continue
        run.converged = True
        best = int(np.argmin(run.history[-cycle:]))
        run.model = recent[len(recent) - cycle + best]
        if cycle > 1:
            run.history += run.history[-cycle : len(run.history) - cycle + best + 1]
        break
    return run


def _cycle_length(history: list[float], tol: float) -> int | None:
    """Return the number of iterations since the current objective occurred before, or None."""
    for length, before in enumerate(history[-2::-1], start=1):
        if abs(before - history[-1]) <= tol * abs(before):
            return length
    return None


class WeightedMedoidMethod(MedoidMethod[PrototypeWeights]):
    """Algorithm of evidential c-medoids with weighted medoids."""

    def __init__(
        self, params: WECMdd, sample: Sample[DissimilaritySource], request: FitRequest
    ):
        super().__init__(params, sample, request)
        for objects in dict.fromkeys([self.whole, self.part]):
            size = self.count_candidates(objects, SAMPLE_SIZE)
            which, counts = sampling.sample_in_order(
                objects.order, objects.weights, size, self.rng
            )
            by_position = np.argsort(which)
            objects.candidates = Candidates(which[by_position], counts[by_position])

    def start(
        self, objects: ComparedObjects, step: MassStep, medoids: np.ndarray
    ) -> PrototypeWeights:
        """Return initial weights, which are positive for candidates that are equal to a medoid."""
        candidates = objects.candidates
        near = objects.columns(medoids)
        near[medoids, np.arange(len(medoids))] = 0
        weights = best_weights(
            near[candidates.positions].T, candidates.counts, self.estimator.psi
        )
        return PrototypeWeights(step, weights)

    def enlarge(self, state: PrototypeWeights) -> PrototypeWeights:
        part = self.part
        whole = self.whole
        candidates = whole.candidates
        costs = self._costs(part, state)
        masses = [
            state.step.masses(costs(near), np.empty(0), self.apply)[1]
            for _, near in self._near_blocks(part)
        ]
        single = (
            self._single_powers(np.concatenate(masses), state) * part.weights[:, None]
        )
        totals = np.zeros((len(state.weights), len(candidates.positions)))
        for start, stop in split_rows(len(self.positions), len(whole)):
            near = whole.block(self.positions[start:stop], candidates.positions)
            totals += single[start:stop].T @ near
        return replace(
            state, weights=best_weights(totals, candidates.counts, self.estimator.psi)
        )

    def fitted_model(self, state: PrototypeWeights) -> WeightedMedoidModel:
        candidates = self.whole.candidates
        references = References.from_source(self.source, candidates.positions)
        return WeightedMedoidModel(
            state.step,
            references,
            self.estimator.power,
            state.weights,
            candidates.counts,
            self._costs(self.whole, state),
            gaps=state.gaps,
        )

    def _run(
        self, start: PrototypeWeights, *, on_sample: bool
    ) -> Run[PrototypeWeights]:
        step = partial(self._step, on_sample=on_sample)
        params = self.estimator
        return descend_until_settled(step, start, params.max_iter, params.tol)

    def _step(
        self, state: PrototypeWeights, *, on_sample: bool
    ) -> tuple[float, PrototypeWeights]:
        objects = self.part if on_sample else self.whole
        objective = 0.0
        totals = np.zeros_like(state.weights)
        costs = self._costs(objects, state)
        for rows, near in self._near_blocks(objects):
            weights = objects.weights[rows]
            value, masses = state.step.masses(costs(near), weights, self.apply)
            objective += value
            totals += (self._single_powers(masses, state) * weights[:, None]).T @ near
        counts = objects.candidates.counts
        weights = best_weights(totals, counts, self.estimator.psi)
        return objective, replace(state, weights=weights)

    def _near_blocks(
        self, objects: ComparedObjects
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of objects, and the dissimilarities from these objects to the candidates."""
        n = len(objects)
        columns = objects.candidates.positions
        blocks = split_rows(n, n) if objects.matrix is None else [(0, n)]
        for start, stop in blocks:
            yield slice(start, stop), objects.block(slice(start, stop), columns)

    def _single_powers(self, masses: np.ndarray, state: PrototypeWeights) -> np.ndarray:
        """Return the masses on the c single clusters, raised to the power beta, shape (n, c)."""
        return masses[:, state.family.singleton_index] ** self.estimator.beta

    def _costs(self, objects: ComparedObjects, state: PrototypeWeights) -> SetCosts:
        return SetCosts.from_weights(
            state.weights,
            objects.candidates.counts,
            state.family,
            self.estimator.psi,
            self.estimator.concentration,
        )

    def result(self, run: Run[PrototypeWeights]) -> FitResult:
        """Return the result of a run, with a warning if two clusters coincide."""
        result = super().result(run)
        for k, weights in enumerate(result.model.weights):
            apart = np.abs(result.model.weights[:k] - weights).sum(axis=1) / 2
            if k > 0 and apart.min() < _COINCIDE:
                warning = (
                    f"clusters {apart.argmin()} and {k} coincide; decrease psi or beta"
                )
                return replace(result, warnings=(warning,))
        return result


class WECMdd(MedoidClusterer):
    r"""Evidential c-medoids with weights (wECMdd): several objects represent each cluster.

    The method accepts any dissimilarities d. Cluster k has nonnegative weights w_k(l) of the
    objects l, which sum to one. Alternating updates of the masses m and the weights minimize

    .. math::

        &\sum_i \sum_{A \neq \emptyset} |A|^\alpha m_i(A)^\beta D_i(A)
        + \delta^2 \sum_i m_i(\emptyset)^\beta,

        &D_i(A) = (n / c)^{\psi - 1} \sum_l w_A(l)^\psi d(i, l).

    The constant factor, which is not in the paper, makes D_i an average dissimilarity if the
    weights of a cluster are spread evenly over n / c objects. The meaning of ``delta`` then does
    not depend on n. For a set A of several clusters, the weights w_A(l) are proportional to
    :math:`(\min_{k \in A} w_k(l))^{\mathrm{concentration}}`, so they are large for objects that
    represent all clusters of the set. This rule is not derived from the objective. With
    ``focal_sets="auto"``, only single clusters are fitted, and the objective never increases. With
    other families, it increased in 73 of 120 random problems, and ``objective_`` may be larger than
    earlier values in ``history_``. The iterations stop when the objective converges or repeats a
    cycle of values. In the second case, the result with the smallest value in the cycle is kept.

    An iteration uses n^2 dissimilarities, or n times ``n_candidates``. Up to 5,000 objects, the
    matrix of all dissimilarities is kept in memory. For more objects, only 2,000 of them have
    weights by default, and dissimilarities are computed when they are needed, unless X is a matrix
    of dissimilarities.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass, as in `ECMdd`. "auto" fits single clusters, then adds
        the empty set and the pairs of neighboring clusters without moving the medoids.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Other names are metrics of scikit-learn's ``pairwise_distances``; a
        function has two rows as arguments.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    power : float in (0, 50], default=2
        Exponent of the dissimilarities. The paper does not specify it. The value 2 reproduces the
        published results of Denoeux (2021), and clusters coincide less often.
    alpha : float >= 0, default=2
        Penalty of large sets; larger values give smaller sets.
    beta : float > 1, default=2
        Fuzziness; values near 1 give nearly certain masses.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set; smaller values give more outliers. The cost of the empty set is
        ``delta**2``, which is compared with dissimilarities raised to ``power``. "auto" selects the
        value like `ECMdd`.
    psi : float in (1, 50], default=1.2
        Larger values spread the weights of a cluster over more objects; values near 1 give one
        medoid. With 2, the value in the paper, the weights are spread so widely that clusters often
        coincide, which causes a warning.
    concentration : float > 0, default=5
        Larger values concentrate the weights of a set on the objects that its clusters share (xi in
        the paper).
    n_candidates : int, None or "auto", default="auto"
        Number of randomly drawn objects that may have weights; None: all. An object that is drawn
        twice counts as two objects. "auto" means all objects, or 2,000 if there are more than 5,000
        objects and X is not a matrix of dissimilarities.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. "refuse" raises an error. "partial" adds a correction for missing attributes (see
        `ECMdd`).
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Objects that have all the weight initially, as in `ECMdd`. "medoids" selects objects far
        from each other, and "random" draws them.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. Large data are sampled, as
        in `ECMdd`.
    max_iter : int, default=200
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
    prototype_weights_ : ndarray of shape (n_clusters, n_candidates)
        Weights of the candidates, one row per cluster; rows sum to one.
    candidate_indices_ : ndarray of shape (n_candidates,)
        Indices of the objects that may have weights.
    medoid_indices_ : ndarray of shape (n_clusters,)
        Index of the object with the largest weight in each cluster, where the weight of an object
        that was drawn several times is divided by the number of draws.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Attributes of the objects in ``medoid_indices_``; absent for precomputed or Gower's
        dissimilarities.
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
    K. Zhou, A. Martin, Q. Pan and Z.-G. Liu (2016). ECMdd: evidential c-medoids clustering with
    multiple prototypes. Pattern Recognition 60. T. Denoeux (2021). NN-EVCLUS: neural network-based
    evidential clustering. Information Sciences 572.

    Examples
    --------
    >>> from dempster.cluster import WECMdd
    >>> from dempster.datasets import make_fourclass
    >>> X, y = make_fourclass(200, random_state=0)
    >>> model = WECMdd(4, random_state=0).fit(X)
    >>> model.prototype_weights_.shape
    (4, 200)
    >>> model.prototype_weights_.sum(axis=1).round(9)
    array([1., 1., 1., 1.])
    """

    _model: WeightedMedoidModel
    prototype_weights_: Annotated[np.ndarray, "n_clusters n_candidates"]

    _method_type = WeightedMedoidMethod
    _rules = {
        **MEDOID_RULES,
        "power": rule.real(0, 50, open_low=True),
        "psi": rule.real(1, 50, open_low=True),
        "concentration": rule.positive,
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
        init: Init = "medoids",
        n_init: int = 10,
        max_iter: int = 200,
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
        self.psi = psi
        self.concentration = concentration
        self.n_candidates = n_candidates
        self.missing = missing
        self.init = init

    def _fitted_attributes(
        self, method: WeightedMedoidMethod, model: WeightedMedoidModel
    ) -> dict[str, Any]:
        return {
            **super()._fitted_attributes(method, model),
            "prototype_weights_": model.weights,
            "candidate_indices_": model.references.positions,
        }
