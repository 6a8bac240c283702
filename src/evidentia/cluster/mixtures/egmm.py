"""Evidential Gaussian mixture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evidentia import _parameters as rule
from evidentia._random import as_random_state
from evidentia._tables import object_index, object_weights
from evidentia.belief import FocalSets
from evidentia.cluster import _starts
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.prototypes._method import check_partition, checked_centers, require_singletons
from evidentia.cluster.prototypes._model import solve_normal_equations
from evidentia.optimize.blocks import block_map, row_blocks
from evidentia.optimize.descent import Run, descend
from evidentia.partition import CredalPartition

__all__ = ["EGMM"]

_FIRST_STEPS = 10  # of k-means, from the first prototypes


class EGMM(EvidentialClusterer):
    """Evidential Gaussian mixture: a component for every *set* of clusters, at the barycentre of their means.

    The model is the mixture density

        p(x) = sum_{A nonempty} pi_A N(x; mu_A, Sigma),    mu_A the mean of mu_k, k in A,

    with one covariance matrix for all components; the mass of an object on A is the probability that it comes from
    component A. There is no mass on the empty set. Fitted by EM: the likelihood never falls. Since all components
    have the same shape, no parameter says what is imprecise or far away: objects between two clusters make the weight
    of the pair grow. Cost per iteration: linear in the number of objects.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass, the empty set left out of the named families. "auto": all pairs up to
        four clusters, beyond that single clusters and the whole frame. "selected": single clusters first, then the
        pairs of mutually nearest clusters are added.
    reg_covar : float >= 0, default=1e-6
        Times the mean variance of the attributes, added to the diagonal of the covariance matrix at every M-step (the
        exact maximiser of the likelihood with the penalty ``reg n / 2 tr(Sigma^-1)``).
    init : {"k-means++", "random"}, array of shape (n_clusters, n_features) or CredalPartition, default="k-means++"
        First means, moved by a few steps of k-means when drawn. A given start is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the largest likelihood is kept. Above 20,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-7
        Relative change of the likelihood that ends the iterations.
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
    means_ : ndarray of shape (n_clusters, n_features)
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The same.
    covariance_ : ndarray of shape (n_features, n_features)
    weights_ : ndarray
        Probability of every focal set.
    log_likelihood_ : float
        Of all objects.
    ebic_ : float
        Log-likelihood minus half the number of parameters times log n: the number of clusters that makes it largest
        is a good one.
    focal_sets_ : FocalSets
    objective_ : float
        Minus the penalised log-likelihood.
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    L. Jiao, T. Denoeux, Z. Liu and Q. Pan (2022). EGMM: an evidential version of the Gaussian mixture model for
    clustering. Applied Soft Computing 129.

    Examples
    --------
    >>> import numpy as np
    >>> from evidentia.cluster import EGMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, 80), rng.normal(4, 1, 80), rng.normal(0, 1, 20)])[:, None]
    >>> model = EGMM(2, random_state=0).fit(X)
    >>> model.focal_sets_.names()
    ['{0}', '{1}', 'Ω']
    >>> model.weights_.round(2)
    array([0.45, 0.44, 0.11])
    """

    _rules = {
        **COMMON_RULES,
        "reg_covar": rule.real(0),
        "init": rule.choice("k-means++", "random") | rule.kind(CredalPartition) | rule.array,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        reg_covar: float = 1e-6,
        init: Any = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-7,
        n_neighbors: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.reg_covar = reg_covar
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> EGMM:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the likelihood; an object of weight 2 counts as two.
        """
        self._check_parameters()
        data = self._checked_objects(X, reset=True)
        weights = object_weights(sample_weight, len(data), default=np.ones(len(data)))
        with block_map(self.n_jobs) as apply:
            solver = _Solver(self, data, weights, as_random_state(self.random_state), apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
            self._mixture = replace(run.model, origin=solver.origin)
            masses = self._mixture.masses(data, apply)
        self._set_mixture(data, weights)
        self._set_result(run, masses, run.model.family, object_index(X))
        return self

    def _set_mixture(self, data: np.ndarray, weights: np.ndarray) -> None:
        mixture = self._mixture
        self.means_ = (mixture.means + mixture.origin).astype(data.dtype)
        self.cluster_centers_ = self.means_
        self.covariance_ = mixture.covariance
        self.weights_ = np.zeros(len(mixture.family))
        self.weights_[mixture.family.cardinality > 0] = mixture.weights
        n, (c, p) = float(weights.sum()), mixture.means.shape
        self.log_likelihood_ = float(self.score_samples(data) @ weights)
        n_parameters = len(mixture.weights) - 1 + c * p + p * (p + 1) / 2
        self.ebic_ = self.log_likelihood_ - n_parameters * np.log(n) / 2

    def _masses(self, X: np.ndarray) -> np.ndarray:
        with block_map(self.n_jobs) as apply:
            return self._mixture.masses(X, apply)

    def score_samples(self, X: Any) -> np.ndarray:
        """Logarithm of the density of each object: low for objects unlike those of `fit`."""
        check_is_fitted(self, "means_")
        data = self._checked_objects(X, reset=False)
        with block_map(self.n_jobs) as apply:
            return self._mixture.log_densities(data, apply)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean logarithm of the density."""
        return float(self.score_samples(X).mean())


@dataclass(frozen=True)
class _Mixture:
    """The parameters, and how they turn objects into masses.

    Attributes
    ----------
    family : FocalSets
    means : (c, p) array
        Of the clusters, measured from ``origin``.
    covariance : (p, p) array
    weights : (g,) array
        Of the components, one a nonempty set.
    origin : (p,) array or None
        To be taken off the objects first; None if they are measured from it already.
    """

    family: FocalSets
    means: np.ndarray
    covariance: np.ndarray
    weights: np.ndarray
    origin: np.ndarray | None = None

    @property
    def sets(self) -> np.ndarray:
        """(g, c) membership of the nonempty sets."""
        return self.family.membership[self.family.cardinality > 0].astype(float)

    def _densities(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """A function of objects that gives their masses on the nonempty sets and their log-densities."""
        sets = self.sets
        # in the metric of the covariance all components are round, with variance one
        values, vectors = np.linalg.eigh(self.covariance)
        rounded = vectors / np.sqrt(values)
        places = (sets / sets.sum(axis=1, keepdims=True)) @ self.means @ rounded
        with np.errstate(divide="ignore"):
            constant = np.log(self.weights) - np.einsum("jd,jd->j", places, places) / 2
        normaliser = -(len(values) * np.log(2 * np.pi) + np.log(values).sum()) / 2

        def densities(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            objects = X.astype(float) if self.origin is None else X - self.origin
            objects = objects @ rounded
            logs = objects @ places.T + constant
            top = logs.max(axis=1)
            logs -= top[:, None]
            np.exp(logs, out=logs)
            total = logs.sum(axis=1)
            logs /= total[:, None]
            return logs, np.log(total) + top - np.einsum("id,id->i", objects, objects) / 2 + normaliser

        return densities

    def masses(self, X: np.ndarray, apply: Callable) -> np.ndarray:
        """(n, f) masses of the rows of X."""
        densities = self._densities()
        out = np.zeros((len(X), len(self.family)), dtype=X.dtype)
        columns = np.flatnonzero(self.family.cardinality > 0)

        def write(start: int, stop: int) -> None:
            out[start:stop, columns] = densities(X[start:stop])[0]

        apply(write, row_blocks(len(X), most=None))
        return out

    def log_densities(self, X: np.ndarray, apply: Callable) -> np.ndarray:
        densities = self._densities()
        parts = apply(lambda start, stop: densities(X[start:stop])[1], row_blocks(len(X), most=None))
        return np.concatenate(parts)

    def step(self, X: np.ndarray, weights: np.ndarray, second: np.ndarray, ridge: float, apply: Callable):
        """Minus the penalised log-likelihood, and the mixture after one step of EM (Jiao et al., 2022).

        ``second`` is the weighted sum of x x', which needs no masses because they sum to one.
        """
        densities = self._densities()

        def sums(start: int, stop: int) -> tuple[float, np.ndarray, np.ndarray]:
            masses, logs = densities(X[start:stop])
            w = weights[start:stop]
            masses *= w[:, None]
            return float(logs @ w), masses.sum(axis=0), masses.T @ X[start:stop]

        parts = apply(sums, row_blocks(len(X), most=None))
        likelihood, total, first = (sum(part[k] for part in parts) for k in range(3))
        n = float(weights.sum())
        penalty = ridge * n / 2 * np.trace(np.linalg.inv(self.covariance)) if ridge > 0 else 0.0
        return penalty - likelihood, self._maximiser(total, np.asarray(first), second, n, ridge)

    def _maximiser(self, total: np.ndarray, first: np.ndarray, second: np.ndarray, n: float, ridge: float) -> _Mixture:
        sets = self.sets
        mean = sets / sets.sum(axis=1, keepdims=True)
        means = solve_normal_equations((mean.T * total) @ mean, mean.T @ first)
        places = mean @ means
        cross = first.T @ places
        scatter = (second - cross - cross.T + (places.T * total) @ places) / n
        return replace(
            self, means=means, covariance=_positive(scatter + ridge * np.eye(len(scatter))), weights=total / n
        )


def _positive(covariance: np.ndarray) -> np.ndarray:
    """The same matrix if it is well conditioned, else with its smallest eigenvalues raised."""
    covariance = (covariance + covariance.T) / 2
    values, vectors = np.linalg.eigh(covariance)
    least = 1e-12 * max(float(values[-1]), np.finfo(float).tiny * 1e20)
    if values[0] >= least:
        return covariance
    return (vectors * np.maximum(values, least)) @ vectors.T


class _Solver:
    """The data of one fit, and how to maximise the likelihood for one family of focal sets."""

    def __init__(self, estimator: EGMM, data: np.ndarray, weights: np.ndarray, rng, apply: Callable):
        self.estimator, self.weights, self.rng, self.apply = estimator, weights, rng, apply
        # products of attributes lose digits far from the origin
        self.origin = np.average(data, axis=0, weights=weights)
        self.data = data - self.origin
        self.sample, self.sample_weights = _starts.representative_sample(self.data, weights, rng)
        _starts.check_enough_objects(self.data, self.sample, estimator.n_clusters)
        self.second = (self.data.T * weights) @ self.data
        self.ridge = estimator.reg_covar * float(np.trace(self.second)) / weights.sum() / data.shape[1]

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        """Best run for a family, from several starts or from the mixture of the run before."""
        e = self.estimator
        if not isinstance(e.focal_sets, FocalSets):
            family = FocalSets(family.membership[family.cardinality > 0])
        require_singletons(family)
        if previous is not None:
            return self._run(self._from_means(family, previous.model.means))
        if not isinstance(e.init, str):
            return self._run(self._from_means(family, self._given_means(e.init)))
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=e.n_init)
        starts = (self._drawn(family, np.random.RandomState(seed)) for seed in seeds)
        best = e._best_of(starts, len(seeds), lambda start: self._run(start, on_sample=True))
        return best if len(self.data) == len(self.sample) else self._run(best.model)

    def partition_of(self, run: Run) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses(self.data, self.apply), run.model.family)

    def _drawn(self, family: FocalSets, rng: np.random.RandomState) -> _Mixture:
        e = self.estimator
        means = _starts.first_centers(self.sample, self.sample_weights, e.n_clusters, e.init, rng)
        return self._from_means(family, _starts.k_means(self.sample, self.sample_weights, means, _FIRST_STEPS))

    def _from_means(self, family: FocalSets, means: np.ndarray) -> _Mixture:
        """Equal weights, and the scatter of the objects about their nearest mean as covariance."""
        from sklearn.metrics import pairwise_distances_argmin

        gap = self.sample - means[pairwise_distances_argmin(self.sample, means)]
        scatter = (gap.T * self.sample_weights) @ gap / self.sample_weights.sum()
        # as many clusters as objects leave no scatter
        least = max(self.ridge, 1e-6 * float(np.trace(self.second)) / self.weights.sum() / len(scatter))
        g = int((family.cardinality > 0).sum())
        return _Mixture(family, means, _positive(scatter + least * np.eye(len(scatter))), np.full(g, 1 / g))

    def _given_means(self, init: Any) -> np.ndarray:
        shape = (self.estimator.n_clusters, self.data.shape[1])
        if isinstance(init, CredalPartition):
            check_partition(init, len(self.data), shape[0])
            share = init.pignistic() * self.weights[:, None]
            return (share.T @ self.data) / np.maximum(share.sum(axis=0), np.finfo(float).tiny)[:, None]
        return checked_centers(init, shape) - self.origin

    def _run(self, start: _Mixture, *, on_sample: bool = False) -> Run:
        data, weights = (self.sample, self.sample_weights) if on_sample else (self.data, self.weights)
        second = (data.T * weights) @ data if on_sample else self.second
        e = self.estimator
        return descend(
            lambda mixture: mixture.step(data, weights, second, self.ridge, self.apply),
            start,
            max_iter=e.max_iter,
            tol=e.tol,
        )
