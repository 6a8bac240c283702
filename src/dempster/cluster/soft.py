"""Fuzzy, noise, possibilistic and rough clustering, relatives of evidential c-means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import add
from typing import Annotated, Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._arrays import copy_array, freeze
from dempster._types import ArrayLike, ArrayPair, Seed, TableLike
from dempster._validation import check_memory
from dempster.belief import FocalSets, transforms
from dempster.cluster._base import COMMON_RULES, FUZZINESS_RULE, Support
from dempster.cluster._search import Families, FitResult, Sample
from dempster.cluster.belief_peaks import INIT_RULE, Init
from dempster.cluster.ecm import (
    ECM,
    PrototypeClusterer,
    PrototypeMethod,
    PrototypeModel,
    Statistics,
)
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition


def _single_clusters(clusterer: Any, n_clusters: int) -> Families:
    return Families(FocalSets.simple(n_clusters, empty=False, omega=False))


class FuzzyCMeans(ECM):
    r"""Fuzzy c-means: `ECM` with masses on single clusters only.

    The method minimizes, over memberships u that sum to one for each object and prototypes v,

    .. math::

        \sum_i \sum_k u_{ik}^\beta \|x_i - v_k\|^2.

    The masses of the single clusters are the memberships, so ``credal_partition_.contour`` contains
    the memberships.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    beta : float > 1, default=2
        Fuzziness (often called m); values near 1 give nearly hard memberships. In high dimensions,
        all prototypes converge to the mean of the data unless ``beta`` is close to 1.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN), as in `ECM`; "partial" compares objects by the attributes
        that they have. "refuse" raises an error.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes. An array has the shape (n_clusters, n_features). A deterministic start
        is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With more than 20,000
        objects the starts are compared on a sample of that size, and the best one is continued with
        all objects.
    max_iter : int, default=500
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
        Masses of the objects on single clusters.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest membership.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes of the clusters.
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the sampled rows, if X came in blocks.
    n_samples_seen_ : int
        Number of objects in `fit` and in all blocks of `partial_fit`.

    References
    ----------
    J. C. Bezdek (1981). Pattern Recognition with Fuzzy Objective Function Algorithms. Plenum Press.

    Examples
    --------
    >>> from dempster.cluster import FuzzyCMeans
    >>> from dempster.datasets import load_butterfly
    >>> model = FuzzyCMeans(2, random_state=0).fit(load_butterfly().data)
    >>> memberships = model.credal_partition_.contour
    >>> memberships[[0, 5]].round(2)  # an object of a cluster, and the object between the clusters
    array([[0.94, 0.06],
           [0.73, 0.27]])
    """

    _rules = {**COMMON_RULES, "beta": FUZZINESS_RULE, "init": INIT_RULE}
    _estimated: tuple[str, ...] = ()
    _resolve_families = _single_clusters

    # Parameters of `ECM` that are fixed here; without the empty set, ``delta`` is infinite.
    alpha = 1.0
    delta: float | str = np.inf

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        beta: float = 2.0,
        missing: str = "refuse",
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.beta = beta
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose


class NoiseClustering(FuzzyCMeans):
    r"""Noise clustering: fuzzy c-means with a noise cluster for outliers.

    The method is `ECM` with masses on the single clusters and on the empty set, which represents
    noise. It minimizes

    .. math::

        \sum_i \sum_k u_{ik}^\beta \|x_i - v_k\|^2
        + \delta^2 \sum_i \Bigl(1 - \sum_k u_{ik}\Bigr)^\beta.

    Outliers have little mass on clusters, so they hardly move the prototypes.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    beta : float > 1, default=2
        Fuzziness; values near 1 give nearly hard memberships.
    delta : float > 0 or "auto", default="auto"
        Distance from objects to the noise cluster, in units of the data; smaller values give more
        outliers. "auto" is the upper fence of a box plot (third quartile plus two interquartile
        ranges) of distances to the nearest center of k-means.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN), as in `ECM`; "partial" compares objects by the attributes
        that they have. "refuse" raises an error.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes. An array has the shape (n_clusters, n_features). A deterministic start
        is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With more than 20,000
        objects the starts are compared on a sample of that size, and the best one is continued with
        all objects.
    max_iter : int, default=500
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
        Masses of the objects on the single clusters and on the empty set.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest membership.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes of the clusters.
    delta_ : float
        Value of ``delta`` that was used.
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the sampled rows, if X came in blocks.
    n_samples_seen_ : int
        Number of objects in `fit` and in all blocks of `partial_fit`.

    References
    ----------
    R. N. Davé (1991). Characterization and detection of noise in clustering. Pattern Recognition
    Letters 12.

    Examples
    --------
    >>> from dempster.cluster import NoiseClustering
    >>> from dempster.datasets import load_butterfly
    >>> NoiseClustering(2, random_state=0).fit(load_butterfly().data).credal_partition_.outliers
    array([11])
    """

    _estimated = ("delta",)

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        beta: float = 2.0,
        delta: float | str = "auto",
        missing: str = "refuse",
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters,
            beta=beta,
            missing=missing,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.delta = delta

    def _resolve_families(self, n_clusters: int) -> Families:
        return Families(FocalSets.simple(n_clusters, omega=False))


# ---- masses on all sets of clusters --------------------------------------------------------------


@lru_cache(maxsize=16)
def _all_sets(n_clusters: int) -> tuple[FocalSets, np.ndarray]:
    """Return all sets of clusters, and the index of each set by its code (`FocalSets.codes`)."""
    family = FocalSets.full(n_clusters)
    return family, np.argsort(family.codes)


@dataclass(frozen=True)
class SubsetModel(PrototypeModel):
    """Prototypes, and masses on all sets of clusters.

    Subclasses define `_set_masses` and `_weigh`.
    """

    @property
    def family(self) -> FocalSets:
        return _all_sets(len(self.centers))[0]

    def masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        family, columns = _all_sets(len(self.centers))
        what = f"the masses of {len(family):,} sets of clusters"
        check_memory(len(X) * len(family) * X.itemsize, what, "use fewer clusters")
        out = np.zeros((len(X), len(family)), X.dtype)

        def write(start: int, stop: int) -> None:
            squares = self.squared_distances(X[start:stop]).astype(float)
            codes, masses = self._set_masses(squares)
            np.put_along_axis(out[start:stop], columns[codes], masses, axis=1)

        apply(write, row_blocks(len(X)))
        return out

    def statistics(
        self, X: np.ndarray, weights: np.ndarray | None, apply: Apply
    ) -> Statistics:
        assert weights is not None

        def sums(start: int, stop: int) -> Statistics:
            rows = X[start:stop]
            w = weights[start:stop] if len(weights) else np.ones(stop - start)
            costs, powers = self._weigh(self.squared_distances(rows).astype(float))
            powers = powers * w[:, None]
            first = rows.T.astype(float) @ powers
            return Statistics(float(w @ costs), powers.sum(axis=0), first, np.empty(0))

        return reduce(add, apply(sums, row_blocks(len(X))))

    def _set_masses(self, squares: np.ndarray) -> ArrayPair:
        """Return the codes of some sets for each of n objects, and the masses of these sets."""
        raise NotImplementedError

    def _weigh(self, squares: np.ndarray) -> ArrayPair:
        """Return the costs of n objects, shape (n,), and their weights in the sums for `update`."""
        raise NotImplementedError


class SubsetClusterer(PrototypeClusterer):
    """Base class of the clusterers with masses on all sets of clusters."""

    _support = Support(blocks=True, block_weights=True)
    _estimated: tuple[str, ...] = ()
    _resolve_families = _single_clusters
    # parameters of `ECM`, fixed here
    alpha = 1.0
    delta = np.inf

    def fit(
        self, X: TableLike, y: None = None, sample_weight: ArrayLike = None
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            X may come in blocks (``docs/blocks.md``); every iteration is then a pass over the
            blocks.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight)


# ---- possibilistic c-means -----------------------------------------------------------------------


@dataclass(frozen=True)
class PossibilisticModel(SubsetModel):
    """Prototypes of possibilistic c-means."""

    # squared distances at which the typicality is 1/2
    scales: Annotated[np.ndarray, "c"] | None = None

    def _typicalities(self, squares: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return 1 / (1 + (squares / self.scales) ** (1 / (self.step.beta - 1)))

    def _set_masses(self, squares: np.ndarray) -> ArrayPair:
        order, nested = transforms.consonant_from_contour(self._typicalities(squares))
        codes = np.cumsum(np.int64(1) << order, axis=1)
        return np.hstack([np.zeros_like(codes[:, :1]), codes]), nested

    def _weigh(self, squares: np.ndarray) -> ArrayPair:
        assert self.scales is not None
        typicalities = self._typicalities(squares)
        powers = typicalities**self.step.beta
        costs = powers * squares + self.scales * (1 - typicalities) ** self.step.beta
        return costs.sum(axis=1), powers

    def update(self, statistics: Statistics) -> Self:
        return _move(self, _means(statistics).T)


def _means(statistics: Statistics) -> np.ndarray:
    """Return the weighted means, shape (p, g), with NaN where the sum of the weights is zero."""
    with np.errstate(invalid="ignore"):
        return statistics.first / statistics.total


def _move(model: Any, centers: np.ndarray) -> Any:
    """Return the model with the given centers; NaN means that a center does not move."""
    return replace(model, centers=np.where(np.isnan(centers), model.centers, centers))


def _sum_dispersions(
    rows: np.ndarray, weights: np.ndarray, model: PrototypeModel, apply: Apply
) -> np.ndarray:
    """Return the sums of u^beta d^2 and of u^beta for fuzzy memberships u, shape (2, c)."""
    squares = np.ascontiguousarray(model.squared_distances(rows), float)
    powers = model.step.nonempty_masses(squares, weights, apply)[1] ** model.step.beta
    if len(weights):
        powers *= weights[:, None]
    return np.stack([(powers * squares).sum(axis=0), powers.sum(axis=0)])


class PossibilisticMethod(PrototypeMethod):
    """Fuzzy c-means from several starts, then possibilistic c-means from the best result."""

    def refine(self, best: Run[PrototypeModel]) -> Run[PrototypeModel]:
        fuzzy = super().refine(best).model
        dispersion, size = self.rows.sum(_sum_dispersions, fuzzy, np.ndarray)
        scales = np.maximum(dispersion / size, np.finfo(float).tiny)
        start = PossibilisticModel(fuzzy.step, fuzzy.centers, scales=scales)
        return self._run(start, on_sample=False)


class PossibilisticCMeans(SubsetClusterer):
    r"""Possibilistic c-means: the typicality for a cluster does not depend on the other clusters.

    The method minimizes, over typicalities t in [0, 1] and prototypes v,

    .. math::

        \sum_i \sum_k t_{ik}^\beta \|x_i - v_k\|^2 + \sum_k \eta_k \sum_i (1 - t_{ik})^\beta,

    starting from fuzzy c-means. The typicality is 1/2 at the squared distance eta_k, which is the
    mean squared distance from the prototype of cluster k, weighted by u^beta for the memberships u
    of fuzzy c-means. The typicalities are the plausibilities of consonant masses, so
    ``credal_partition_.contour`` contains the typicalities. An object that is typical of no cluster
    has mass on the empty set. Two prototypes may converge to the same point.

    The focal sets are all 2^c sets of the c clusters, so the method is for at most about ten
    clusters.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    beta : float > 1, default=2
        Fuzziness; values near 1 give typicalities near 0 and 1.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes of fuzzy c-means. An array has the shape (n_clusters, n_features). A
        deterministic start is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts of fuzzy c-means; the result with the smallest objective is kept. With more
        than 20,000 objects the starts are compared on a sample of that size, and the best one is
        continued with all objects.
    max_iter : int, default=500
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
        Consonant masses whose plausibilities are the typicalities.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest typicality.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes of the clusters.
    scales_ : ndarray of shape (n_clusters,)
        Squared distances eta_k at which the typicality is 1/2.
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the sampled rows, if X came in blocks.

    References
    ----------
    R. Krishnapuram and J. M. Keller (1993). A possibilistic approach to clustering. IEEE
    Transactions on Fuzzy Systems 1.

    Examples
    --------
    >>> from dempster.cluster import PossibilisticCMeans
    >>> from dempster.datasets import load_butterfly
    >>> model = PossibilisticCMeans(2, random_state=0).fit(load_butterfly().data)
    >>> # The distant object is typical of no cluster.
    >>> bool(model.credal_partition_.contour[11].max() < 0.1)
    True
    """

    _model: PossibilisticModel
    _method_type = PossibilisticMethod

    _rules = {**COMMON_RULES, "beta": FUZZINESS_RULE, "init": INIT_RULE}

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        beta: float = 2.0,
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.beta = beta
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _fitted_attributes(
        self, method: PossibilisticMethod, model: PossibilisticModel
    ) -> dict[str, Any]:
        return {**super()._fitted_attributes(method, model), "scales_": model.scales}


# ---- rough k-means -------------------------------------------------------------------------------


@dataclass(frozen=True)
class RoughModel(SubsetModel):
    """Prototypes of rough k-means, and the parameters of the approximations of the clusters."""

    rule: str = "peters"
    threshold: float = 1.5
    lower_weight: float = 0.7

    def _upper(self, squares: np.ndarray) -> np.ndarray:
        """Return whether each object is in each upper approximation, shape (n, c)."""
        return squares <= self.threshold**2 * squares.min(axis=1, keepdims=True)

    def _set_masses(self, squares: np.ndarray) -> ArrayPair:
        codes = self._upper(squares) @ (np.int64(1) << np.arange(squares.shape[1]))
        return codes[:, None], np.ones((len(codes), 1))

    def _weigh(self, squares: np.ndarray) -> ArrayPair:
        upper = self._upper(squares)
        size = upper.sum(axis=1, keepdims=True)
        lower = upper & (size == 1)
        others = {"lingras": upper & ~lower, "peters": upper, "pi": upper / size}
        return (upper * squares / size).sum(axis=1), np.hstack(
            [lower, others[self.rule]]
        )

    def update(self, statistics: Statistics) -> Self:
        lower, others = np.split(_means(statistics), 2, axis=1)
        weight = 0.0
        if self.rule != "pi":
            weight = self.lower_weight
        both = weight * lower + (1 - weight) * others
        either = np.where(np.isnan(others), lower, others)
        return _move(self, np.where(np.isnan(both), either, both).T)


class RoughMethod(PrototypeMethod):
    """Rough k-means."""

    model_type = RoughModel

    def _model_parameters(self) -> dict[str, Any]:
        return {
            "rule": self.estimator.rule,
            "threshold": float(self.estimator.threshold),
            "lower_weight": float(self.estimator.lower_weight),
        }


class RoughKMeans(SubsetClusterer):
    """Rough k-means: a cluster has a lower and an upper approximation.

    Let d be the distance from an object to the nearest prototype. The object is in the upper
    approximation of all clusters whose prototypes are at most at the distance ``threshold`` d. If
    there is only one such cluster, the object is in its lower approximation; otherwise it is in the
    boundaries of several clusters, and its label is the cluster of the nearest prototype. All mass
    of an object is on the set of these clusters, so ``credal_partition_.lower(k)`` and
    ``credal_partition_.upper(k)`` return the approximations of cluster k. The new prototypes are
    weighted means over the approximations (see ``rule``).

    Rough k-means does not minimize an objective. ``objective_`` is the sum of the squared distances
    from objects to the prototypes of their clusters (the mean for several clusters). It selects the
    best start, and the iterations stop if it does not change. They may also cycle between several
    states until ``max_iter``, especially with "lingras".

    The focal sets are all 2^c sets of the c clusters, so the method is for at most about ten
    clusters.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    rule : {"lingras", "peters", "pi"}, default="peters"
        Rule for the prototypes of the clusters. "lingras" is the mean of the lower approximation
        times ``lower_weight``, plus the mean of the boundary times 1 - ``lower_weight`` (Lingras
        and West, 2004, with the relative threshold of later papers). "peters" uses the mean of the
        upper approximation instead of the boundary (Peters, 2006). With "pi", an object in s upper
        approximations has weight 1/s in the means of these s clusters (Peters, 2014). If one of two
        means is not defined because the approximation is empty, the other mean is used.
    threshold : float >= 1, default=1.5
        Larger values give larger boundaries; with 1, the method is equal to k-means.
    lower_weight : float in [0, 1], default=0.7
        Weight of the lower approximation in the means, for the rules "lingras" and "peters".
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial prototypes. An array has the shape (n_clusters, n_features). A deterministic start
        is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the smallest objective is kept. With more than 20,000
        objects the starts are compared on a sample of that size, and the best one is continued with
        all objects.
    max_iter : int, default=500
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
        Masses of the objects; each object has mass 1 on one set.
    labels_ : ndarray of shape (n_samples,)
        Cluster of the nearest prototype; if X came in blocks, first cluster of the set of each
        object.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Prototypes of the clusters.
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the sampled rows, if X came in blocks.

    References
    ----------
    P. Lingras and C. West (2004). Interval set clustering of web users with rough k-means. Journal
    of Intelligent Information Systems 23. G. Peters (2006). Some refinements of rough k-means
    clustering. Pattern Recognition 39. G. Peters (2014). Rough clustering utilizing the principle
    of indifference. Information Sciences 277.

    Examples
    --------
    >>> from dempster.cluster import RoughKMeans
    >>> from dempster.datasets import load_butterfly
    >>> RoughKMeans(2, random_state=0).fit(load_butterfly().data).credal_partition_.ambiguous
    array([5])
    """

    _model: RoughModel
    _method_type = RoughMethod
    # exponent that is used only to compute prototypes from an initial partition
    beta = 1.0

    _rules = {
        **COMMON_RULES,
        "init": INIT_RULE,
        "rule": rule.choice("lingras", "peters", "pi"),
        "threshold": rule.real(1),
        "lower_weight": rule.share,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        rule: str = "peters",
        threshold: float = 1.5,
        lower_weight: float = 0.7,
        init: Init = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.rule = rule
        self.threshold = threshold
        self.lower_weight = lower_weight
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _set_result(
        self, result: FitResult, sample: Sample[Any], *others: Any, **options: Any
    ) -> dict[str, Any]:
        metadata = super()._set_result(result, sample, *others, **options)
        if sample.blocks is None:
            self._label_nearest(self.credal_partition_, sample.values)
            self.labels_ = copy_array(self.credal_partition_.labels)
        return metadata

    def predict_mass(self, X: TableLike) -> Any:
        """Return the credal partition of new objects.

        Parameters
        ----------
        X : array-like
            New objects in the same form as in `fit`.

        Returns
        -------
        CredalPartition
            Masses of the new objects; a `LazyCredalPartition` if X comes in blocks.
        """
        partition = super().predict_mass(X)
        if isinstance(partition, CredalPartition):
            self._label_nearest(partition, self._read(X, reset=False))
        return partition

    def _label_nearest(self, partition: CredalPartition, values: np.ndarray) -> None:
        """Set the labels to the nearest prototypes, because plausibilities are tied."""
        squares = self._model.squared_distances(values)
        partition.labels = freeze(squares.argmin(axis=1))
