"""Relational evidential c-means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from evidentia import _parameters as rule
from evidentia._random import as_random_state
from evidentia._tables import object_index, object_weights
from evidentia.belief import FocalSets
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.prototypes._method import check_partition, require_singletons
from evidentia.cluster.prototypes._model import carried_masses
from evidentia.cluster.relational import _weighted_means as _relational
from evidentia.cluster.relational._weighted_means import RelationalModel
from evidentia.dissimilarity.sources import AttributeSource, GowerSource, check_square, check_values, rounding
from evidentia.optimize.blocks import block_map
from evidentia.optimize.descent import Run, descend
from evidentia.partition import CredalPartition

__all__ = ["RECM"]

_DELTA_SHARE = 0.95  # delta="auto": squared, this quantile of the dissimilarities
_SAMPLE_SIZE = 2000  # objects on which starts compete
_SQUARED_ALREADY = ("sqeuclidean", "gower")
_SHARES_OF_SHIFT = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0)  # tried in turn by correction="auto"
_REDRAWS = 5  # of a random start whose prototypes all end at the same place


class RECM(EvidentialClusterer):
    """Relational evidential c-means: `ECM` for objects known by their dissimilarities only.

    The dissimilarities are taken for *squared* distances between points, and the prototypes are weighted means of the
    points; their distances follow from the dissimilarities alone. On squared Euclidean distances the result is that
    of `ECM`. Memory and cost of an iteration: n^2 and n^2 c, for n objects and c clusters.

    Dissimilarities that no points could have ("non-Euclidean") may lead to negative squared distances, and the
    objective may then rise. See ``correction``.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        "precomputed": X is a square symmetric matrix of dissimilarities. Otherwise any metric of scikit-learn's
        ``pairwise_distances``, a function of two rows, or "gower" (tables with numbers, categories, missing cells).
    square : {"auto"} or bool, default="auto"
        Whether to square the dissimilarities first. "auto": those computed by a metric are squared ("sqeuclidean" and
        "gower" are not: they behave like squared distances), those of a given matrix are used as they are.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=1.5
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Distance (not squared) to the empty set: smaller values give more outliers. "auto": squared, the 0.95 quantile
        of the squared dissimilarities of different objects.
    correction : {"auto", "shift", "clip"}, default="auto"
        What to do if the dissimilarities are not Euclidean. "shift": add the same number to the squared dissimilarities
        of all pairs of different objects, the smallest that makes them Euclidean (twice the most negative eigenvalue
        of the Gram matrix, with the sign changed); the objective then never rises, but a large shift makes all
        objects about equally distant. "auto": the smallest of 0, 1/256, 1/64, 1/16, 1/4 and 1 times that number with
        which no squared distance is negative and the objective never rises. "clip": no shift; negative squared
        distances are replaced by a small positive number, and the objective may rise.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    init : {"k-means++", "random"}, CredalPartition or array, default="k-means++"
        "k-means++": objects far from each other; "random": random masses, as in the paper. An array holds masses (a
        column for each focal set), or the numbers of ``n_clusters`` objects to begin with. A given start is used
        once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and the
        winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbors : int, default=1
        For ``focal_sets="selected"``: pairs among the ``n_neighbors`` nearest clusters of each other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None
        Threads for the masses; matrix products use those of the linear algebra library.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    prototype_weights_ : ndarray of shape (n_clusters, n_samples)
        Weights of the objects in each prototype; rows sum to one.
    shift_ : float
        What was added to the squared dissimilarities of different objects, 0 if they were used as they are.
    delta_ : float
        The distance used. A given ``delta`` is enlarged along with the distances if they were shifted:
        ``delta_**2 = delta**2 + shift_ / 2``.
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    M.-H. Masson and T. Denoeux (2009). RECM: relational evidential c-means algorithm. Pattern Recognition Letters 30.
    Shift: R. J. Hathaway and J. C. Bezdek (1994). NERF c-means: non-Euclidean relational fuzzy clustering. Pattern
    Recognition 27.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from evidentia.cluster import RECM
    >>> from evidentia.datasets import load_butterfly
    >>> D = pairwise_distances(load_butterfly().data, metric="sqeuclidean")
    >>> model = RECM(2, metric="precomputed", delta=5, random_state=0).fit(D)
    >>> model.credal_partition_.ambiguous, model.credal_partition_.outliers
    (array([5]), array([11]))
    >>> model.predict_mass(D[[5, 11]]).outliers  # new objects, by their dissimilarities to the old ones
    array([1])
    """

    _rules = {
        **COMMON_RULES,
        "metric": rule.Rule("the name of a metric or a callable", lambda v: isinstance(v, str) or callable(v)),
        "square": rule.choice("auto") | rule.flag,
        "alpha": rule.real(0),
        "beta": rule.real(1, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "correction": rule.choice("auto", "shift", "clip"),
        "symmetrize": rule.flag,
        "init": rule.choice("k-means++", "random") | rule.kind(CredalPartition) | rule.array,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Any = "euclidean",
        square: bool | str = "auto",
        alpha: float = 1.0,
        beta: float = 1.5,
        delta: float | str = "auto",
        correction: str = "auto",
        symmetrize: bool = False,
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
        self.metric = metric
        self.square = square
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.correction = correction
        self.symmetrize = symmetrize
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RECM:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if ``metric="precomputed"``
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.
        """
        self._check_parameters()
        D = self._training_dissimilarities(X)
        weights = object_weights(sample_weight, len(D), default=np.empty(0))
        rng = as_random_state(self.random_state)
        with block_map(self.n_jobs) as apply:
            run, solver = self._solved(D, weights, rng, apply)
            model, masses = solver.final(run.model)
        self._model = model
        self.prototype_weights_ = model.weights
        self.shift_ = model.shift
        self.delta_ = model.delta
        self._set_result(run, masses.astype(D.dtype), model.family, object_index(X))
        return self

    def _solved(self, D: np.ndarray, weights, rng: np.random.RandomState, apply: Callable) -> tuple[Run, _Solver]:
        """The best run, with the shift that the correction asks for."""
        seed = rng.randint(np.iinfo(np.int32).max)
        enough = 0.0 if self.correction == "clip" else np.nan  # the shift that makes D Euclidean, once it is needed
        for share in _SHARES_OF_SHIFT if self.correction == "auto" else (1.0,):
            if share and np.isnan(enough):
                enough = max(0.0, -2 * _relational.smallest_eigenvalue(D))
            shift = share * enough if share else 0.0
            solver = _Solver(self, D, weights, np.random.RandomState(seed), apply, shift, share < 1)
            try:
                return self._one_or_two_steps(solver.solve, solver.partition_of), solver
            except _NotEuclidean:
                continue
        raise AssertionError("the last share is not watched")

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects; the prototypes stay where they are.

        Parameters
        ----------
        X : array-like
            Attributes, or with ``metric="precomputed"`` the dissimilarities of each new object (a row) to all training
            objects.
        """
        check_is_fitted(self, "credal_partition_")
        D = self._new_dissimilarities(X)
        with block_map(self.n_jobs) as apply:
            masses = _masses_of(self._model, D, apply)
        return CredalPartition.unchecked(masses.astype(D.dtype), self.focal_sets_, object_index(X))

    # ---- dissimilarities ------------------------------------------------------------------------------------------

    def _training_dissimilarities(self, X: Any) -> np.ndarray:
        """(n, n) squared dissimilarities, checked."""
        dtypes = [np.float64, np.float32]
        self._source: AttributeSource | GowerSource | None = None
        self._encoder: Any = None
        if self.metric == "gower":
            from evidentia.dissimilarity.gower import GowerEncoder

            self._encoder = GowerEncoder()
            encoded = self._encoder.fit_transform(X)
            self.n_features_in_ = encoded.numeric.shape[1] + encoded.codes.shape[1]
            self._source = GowerSource(encoded)
        else:
            data = validate_data(self, X, reset=True, dtype=dtypes, order="C")
            if self.metric != "precomputed":
                self._source = AttributeSource(data, self.metric)
        if self._source is None:
            D = check_square(data, symmetrize=bool(self.symmetrize))
        else:
            D = self._source.block(slice(None), slice(None))
            if not callable(self.metric):
                np.fill_diagonal(D, 0)  # zero but for rounding
            D = check_square(D, symmetrize=bool(self.symmetrize))
        if len(D) < self.n_clusters:
            raise ValueError(f"n_samples={len(D)} should be >= n_clusters={self.n_clusters}")
        return self._squared(D)

    def _new_dissimilarities(self, X: Any) -> np.ndarray:
        """(m, n) squared dissimilarities to the training objects."""
        if isinstance(self._source, GowerSource):
            return self._squared(self._source.between(self._encoder.transform(X), self._source.objects))
        if self._source is not None:
            data = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], order="C")
            return self._squared(self._source.astype(data.dtype).between(data, self._source.objects))
        D = check_values(check_array(X, dtype=[np.float64, np.float32]), "X")
        if D.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {D.shape[1]} features, but RECM is expecting {self.n_features_in_} features as input: the "
                "dissimilarities of each new object to the training objects"
            )
        return self._squared(D)

    def _squared(self, D: np.ndarray) -> np.ndarray:
        square = self.square
        if isinstance(square, str):
            square = self.metric != "precomputed" and self.metric not in _SQUARED_ALREADY
        if not square:
            return D
        with np.errstate(over="ignore"):
            D = D * D
        if not np.isfinite(D).all():
            raise ValueError("X holds dissimilarities too large to be squared; scale them down")
        return D

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        if self.metric == "gower":
            tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class _NotEuclidean(Exception):
    """A squared distance was negative, or the objective rose: no points have these dissimilarities."""


def _masses_of(model: RelationalModel, D: np.ndarray, apply: Callable) -> np.ndarray:
    """(n, f) masses of objects given by their dissimilarities to the training objects.

    With a shift, an object at no dissimilarity from a training object is that object (of several, the first).
    """
    own = np.zeros((len(D), len(model.weights)))
    if model.shift:
        limit = rounding(D.dtype) * float(D.max())
        same = np.less_equal(D, limit)
        known = np.flatnonzero(same.any(axis=1))
        own[known] = model.weights.T[same[known].argmax(axis=1)]
    costs, _ = model.costs(D, own)
    return model.all_masses(_nonnegative(costs, model), apply)


def _unit_rows(chosen: np.ndarray, n: int) -> np.ndarray:
    """Prototypes that are objects."""
    weights = np.zeros((len(chosen), n))
    weights[np.arange(len(chosen)), chosen] = 1
    return weights


def _nonnegative(costs: np.ndarray, model: RelationalModel) -> np.ndarray:
    """Negative squared distances become small positive ones; rounding errors below zero stay for the zero rule."""
    return np.where(costs < model.negative, -model.negative, costs)


class _Solver:
    """The dissimilarities of one fit, and how to descend for one family of focal sets."""

    def __init__(self, estimator: RECM, D: np.ndarray, weights, rng, apply: Callable, shift: float, watchful: bool):
        self.estimator, self.D, self.weights, self.rng, self.apply = estimator, D, weights, rng, apply
        self.shift, self.watchful = shift, watchful
        mean = float(D.mean(dtype=float))
        self.zero = 1e-12 * mean
        self.negative = -mean * (1e-9 if D.dtype == np.float64 else 1e-4)
        different = _relational.n_different(D, estimator.n_clusters, self.zero)
        if different < estimator.n_clusters:
            raise ValueError(f"n_clusters={estimator.n_clusters} is more than the {different} different objects in X")
        if estimator.delta == "auto":
            self.delta = float(np.sqrt(_relational.pair_quantile(D, weights, _DELTA_SHARE) + self.shift)) or 1.0
        else:
            self.delta = float(np.sqrt(float(estimator.delta) ** 2 + self.shift / 2))
        w = np.ones(len(D)) if len(weights) == 0 else weights
        # along the sum of dissimilarities: the same order of the objects however the rows are permuted
        self.order = np.argsort(D @ w.astype(D.dtype), kind="stable")
        self._draw_sample(w)

    def _draw_sample(self, w: np.ndarray) -> None:
        order = self.order[w[self.order] > 0]
        self.sample: np.ndarray = np.arange(len(self.D))
        self.sample_weights = self.weights
        if len(order) <= _SAMPLE_SIZE:
            return
        reach = np.cumsum(w[order])
        at = (np.arange(_SAMPLE_SIZE) + self.rng.random_sample(_SAMPLE_SIZE)) / _SAMPLE_SIZE * reach[-1]
        drawn = np.searchsorted(reach, at, side="right").clip(max=len(order) - 1)
        places, count = np.unique(drawn, return_counts=True)
        self.sample, self.sample_weights = order[places], count.astype(float)

    def solve(self, family: FocalSets, previous: Run | None) -> Run:
        """Best run for a family, from several starts or from the prototypes of the run before."""
        require_singletons(family)
        if previous is not None:
            return self._run(self._model(family, previous.model.weights))
        init = self.estimator.init
        if not isinstance(init, str):
            return self._run(self._given(init, family))
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.estimator.n_init)
        whole = len(self.sample) == len(self.D)
        D = self.D if whole else np.ascontiguousarray(self.D[np.ix_(self.sample, self.sample)])
        order = self.order if whole else np.arange(len(D))  # the sample is in order already
        best = self.estimator._best_of(
            seeds, len(seeds), partial(self._run_from_seed, D=D, order=order, family=family, method=init)
        )
        if whole:
            return best
        weights = np.zeros((self.estimator.n_clusters, len(self.D)))
        weights[:, self.sample] = best.model.weights
        return self._run(replace(best.model, weights=weights))

    def partition_of(self, run: Run) -> CredalPartition:
        _, masses = self.final(run.model)
        return CredalPartition.unchecked(masses, run.model.family)

    def final(self, model: RelationalModel) -> tuple[RelationalModel, np.ndarray]:
        """The model as new objects will need it, and the masses of the training objects."""
        _, inner = model.costs(self.D, model.weights.T)
        model = replace(model, inner=inner)
        return model, _masses_of(model, self.D, self.apply)

    # ---- starts ---------------------------------------------------------------------------------------------------

    def _model(self, family: FocalSets, weights: np.ndarray) -> RelationalModel:
        e = self.estimator
        return RelationalModel(
            family, weights, e.alpha, e.beta, self.delta, self.zero, shift=self.shift, negative=self.negative
        )

    def _from_masses(self, family: FocalSets, masses: np.ndarray) -> RelationalModel:
        empty = self._model(family, np.full((self.estimator.n_clusters, len(masses)), 1 / len(masses)))
        return empty.updated(masses, self.weights if len(self.weights) == len(masses) else self.sample_weights)

    def _given(self, init: Any, family: FocalSets) -> RelationalModel:
        c, n = self.estimator.n_clusters, len(self.D)
        if isinstance(init, CredalPartition):
            check_partition(init, n, c)
            return self._from_masses(family, carried_masses(init.masses, init.focal_sets, family))
        start = np.asarray(init)
        if start.shape == (c,) and np.issubdtype(start.dtype, np.integer):
            if start.min() < 0 or start.max() >= n:
                raise ValueError(f"init must hold numbers of objects below {n}, got {start.tolist()}")
            return self._model(family, _unit_rows(start, n))
        if start.shape != (n, len(family)):
            raise ValueError(
                f"init must hold the numbers of {c} objects, or masses of shape {(n, len(family))} (n_samples, number "
                f"of focal sets), got shape {start.shape}"
            )
        partition = CredalPartition(start, family)
        return self._from_masses(family, carried_masses(partition.masses, family, family))

    def _run_from_seed(self, seed: int, *, D: np.ndarray, order: np.ndarray, family: FocalSets, method: str) -> Run:
        rng = np.random.RandomState(seed)
        c = self.estimator.n_clusters
        if method == "k-means++":
            chosen = _relational.far_objects(D, self.sample_weights, order, c, rng)
            return self._run(self._model(family, _unit_rows(chosen, len(D))), D=D, weights=self.sample_weights)
        for _ in range(_REDRAWS):
            masses = np.empty((len(D), int((family.cardinality > 0).sum())))
            masses[order] = rng.random_sample(masses.shape)
            masses /= masses.sum(axis=1, keepdims=True)
            run = self._run(self._from_masses(family, masses), D=D, weights=self.sample_weights)
            if not self._coincide(run.model, D):
                break
        return run

    def _coincide(self, model: RelationalModel, D: np.ndarray) -> bool:
        """Whether all prototypes are at the same place: a fixed point that says nothing."""
        inner = model.weights @ np.asarray(D @ model.weights.T.astype(D.dtype), dtype=float)
        apart = inner - np.diagonal(inner) / 2 - np.diagonal(inner)[:, None] / 2
        return len(inner) > 1 and float(apart.max()) < 1e-6 * float(D.mean(dtype=float))

    # ---- the descent ----------------------------------------------------------------------------------------------

    def _run(self, start: RelationalModel, *, D: np.ndarray | None = None, weights: np.ndarray | None = None) -> Run:
        e = self.estimator
        D = self.D if D is None else D
        weights = self.weights if weights is None else weights
        lowest = np.inf

        def step(model: RelationalModel) -> tuple[float, RelationalModel]:
            nonlocal lowest
            costs, _ = model.costs(D, model.weights.T)
            if self.watchful and costs.min() < model.negative:
                raise _NotEuclidean
            objective, masses, _ = model.masses(_nonnegative(costs, model), weights, self.apply)
            if self.watchful and objective > lowest * (1 + 1e-9):
                raise _NotEuclidean
            lowest = objective
            return objective, model.updated(masses, weights)

        return descend(step, start, max_iter=e.max_iter, tol=e.tol)
