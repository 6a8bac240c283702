"""EVCLUS and its relatives: k-EVCLUS, CEVCLUS, k-CEVCLUS, and EVCLUS by landmarks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from evidentia import _parameters as rule
from evidentia._random import generator
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer, checked_constraints
from evidentia.cluster.evclus._conflict_problems import Links
from evidentia.cluster.evclus._data import Remembered, training_data
from evidentia.cluster.evclus._method import Solver
from evidentia.constraints import Constraints
from evidentia.optimize.blocks import block_map
from evidentia.optimize.conflict_fit import conflicts_of_pairs
from evidentia.partition import CredalPartition

__all__ = ["EVCLUS", "ShepardData"]


class ShepardData(NamedTuple):
    """Pairs of objects: their dissimilarity, the conflict wanted (delta) and the conflict found."""

    dissimilarity: np.ndarray
    delta: np.ndarray
    conflict: np.ndarray

    def sample(self, n_pairs: int, random_state: Any) -> ShepardData:
        """Some of the pairs, all if there are no more."""
        if n_pairs >= len(self.delta):
            return self
        kept = generator(random_state).choice(len(self.delta), n_pairs, replace=False)
        return ShepardData(*(values[kept] for values in self))


class EVCLUS(EvidentialClusterer):
    """Evidential clustering of dissimilarities: the more two objects differ, the more their masses conflict.

    Finds masses m_1, ..., m_n over sets of clusters whose degrees of conflict kappa_ij (one minus the plausibility
    that i and j are in the same cluster) match the dissimilarities:

        minimise  sum_{i<j} (kappa_ij - delta_ij)^2 / sum_{i<j} delta_ij^2,   delta = 1 - exp(-gamma d^2),

    with gamma such that delta = 0.95 at the dissimilarity ``d0``. No metric axioms are needed. Each mass function is
    in turn set to its exact optimum given the others, so the objective never rises. With must-link and cannot-link
    ``constraints`` a penalty is added (CEVCLUS).

    Which pairs are looked at is up to ``sampling``: all of them (EVCLUS), ``n_pairs`` random partners per object
    (k-EVCLUS), or all pairs of a few landmark objects on which all others are then projected, at a cost linear in the
    number of objects and with little memory.

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": all pairs up to four clusters, beyond that single clusters and
        the whole frame. "selected": single clusters first, then the pairs of mutually nearest clusters are added and
        the descent goes on.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, "gower" (tables with numbers,
        categories and missing cells) or "precomputed": X is then a square matrix of dissimilarities, or a SciPy
        sparse matrix that holds sampled pairs only (stored zeros count as dissimilarities of zero).
    d0 : float, optional
        Dissimilarity at which two objects are almost surely in different clusters.
    d0_quantile : float in (0, 1] or "auto", default="auto"
        If ``d0`` is not given: quantile of the dissimilarities. "auto": 0.8 up to four clusters, 2.5 / c beyond.
        Smaller values give more mass on the empty set (more outliers), larger ones more on large sets (more
        ambiguous objects).
    sampling : {"auto", "all", "random", "landmarks"}, default="auto"
        "auto": all pairs up to 1,000 objects, landmarks beyond.
    n_pairs : int, default=100
        Random partners per object for ``sampling="random"``.
    n_landmarks : int or "auto", default="auto"
        "auto": 600, or 30 per cluster if that is more.
    init : {"medoids", "random"}, CredalPartition or array of masses, default="medoids"
        "medoids": from objects far from each other. A given partition is used once, whatever ``n_init``.
    n_init : int, default=5
        Starts, of which the one with the smallest objective is kept. Medoids that make the same partition but for a
        few objects count as one start.
    xi : float >= 0, default=0.5
        Weight of the constraints. They enter in three stages, 0, 0.05 and ``xi``, each starting from the one before.
    xi_convention : {"program", "paper"}, default="program"
        The published formula divides ``xi`` by twice the number of constraints; the published program, and with it
        the published results, gives the constraints four times that weight. "program" reproduces the results.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    max_iter : int, default=1000
        Sweeps over the objects.
    tol : float, default=1e-7
        The descent ends when e_t = (e_{t-1} + relative change of the objective) / 2 falls below it. The papers use
        1e-5; starts compete at that precision and the best one goes on to ``tol`` (with landmarks: 1e-3, then 1e-5).
    n_neighbors : int, default=1
        For ``focal_sets="selected"``.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None
        Threads; None and -1 use all processors.
    device : str, default="cpu"
        "cuda" projects objects on landmarks with a GPU (needs torch).
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
    focal_sets_ : FocalSets
    d0_ : float
    objective_ : float
        Stress plus penalty over the pairs that were fitted (of the landmarks, with landmarks).
    history_ : ndarray
        Objective after every sweep of the best start.
    stress_, loss_ : float
        Sum of squares of conflict minus delta over all pairs, divided by the sum of delta^2, and by the number of
        pairs; beyond 1,000 objects estimated from 50,000 random pairs.
    landmarks_ : ndarray
        Positions of the objects that new ones are compared with.
    sampling_ : str
        What "auto" chose.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    T. Denoeux and M.-H. Masson (2004). EVCLUS: evidential clustering of proximity data. IEEE Trans. SMC B 34.
    T. Denoeux, S. Sriboonchitta and O. Kanjanatarakul (2016). Evidential clustering of large dissimilarity data.
    Knowledge-Based Systems 106. F. Li, S. Li and T. Denoeux (2018). k-CEVCLUS: constrained evidential clustering of
    large dissimilarity data. Knowledge-Based Systems 142.

    Examples
    --------
    >>> from evidentia.cluster import EVCLUS
    >>> from evidentia.datasets import load_butterfly
    >>> model = EVCLUS(2, focal_sets="full", d0=11, random_state=0).fit(load_butterfly().data)
    >>> model.credal_partition_.ambiguous, model.credal_partition_.outliers
    (array([5]), array([11]))
    >>> round(model.stress_, 5)
    0.00478
    """

    _rules = {
        **COMMON_RULES,
        "metric": rule.Rule("the name of a metric or a callable", lambda v: isinstance(v, str) or callable(v)),
        "d0": rule.choice(None) | rule.real(0, open_low=True),
        "d0_quantile": rule.choice("auto") | rule.real(0, 1, open_low=True),
        "sampling": rule.choice("auto", "all", "random", "landmarks"),
        "n_pairs": rule.integer(1),
        "n_landmarks": rule.choice("auto") | rule.integer(2),
        "init": rule.choice("medoids", "random") | rule.kind(CredalPartition) | rule.array,
        "xi": rule.real(0),
        "xi_convention": rule.choice("program", "paper"),
        "symmetrize": rule.flag,
        "device": rule.kind(str, words="the name of a device"),
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Any = "euclidean",
        d0: float | None = None,
        d0_quantile: float | str = "auto",
        sampling: str = "auto",
        n_pairs: int = 100,
        n_landmarks: int | str = "auto",
        init: Any = "medoids",
        n_init: int = 5,
        xi: float = 0.5,
        xi_convention: str = "program",
        symmetrize: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_neighbors: int = 1,
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.sampling = sampling
        self.n_pairs = n_pairs
        self.n_landmarks = n_landmarks
        self.init = init
        self.n_init = n_init
        self.xi = xi
        self.xi_convention = xi_convention
        self.symmetrize = symmetrize
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbors = n_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, constraints: Constraints | None = None) -> EVCLUS:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or dissimilarities if ``metric="precomputed"``
        y : ignored
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster, or in different ones.
        """
        self._check_parameters()
        data = training_data(self, X)
        links = self._checked_links(constraints, len(data))
        rng = generator(self.random_state)
        with block_map(self.n_jobs) as apply:
            solver = Solver(self, data, links, rng, apply)
            run = self._one_or_two_steps(solver.solve, solver.partition_of)
            masses = solver.masses_of_all(run)
        self.d0_ = solver.d0
        self.sampling_ = solver.sampling
        self.landmarks_ = solver.references
        self._remembered = Remembered.of(self, data, solver, run)
        self._set_result(run, masses, run.model.family, object_index(X))
        self._assess(solver, rng)
        return self

    def _checked_links(self, constraints: Constraints | None, n: int) -> Links:
        if constraints is None:
            return Links.none(n)
        from evidentia.constraints import links

        known = checked_constraints(constraints, n)
        return Links(*links(known, n)) if self.xi > 0 else Links.none(n)

    def _assess(self, solver: Solver, rng: np.random.Generator) -> None:
        """Stress and loss of the final partition, and the data of the Shepard diagram."""
        i, j, d, weights = solver.pairs_to_assess(rng)
        masses = self.credal_partition_.masses
        kappa = conflicts_of_pairs(masses, np.array(self.focal_sets_.conflict), i, j)
        delta = solver.to_conflict(d)
        squares = float(np.sum(weights * (kappa - delta) ** 2))
        self.stress_ = squares / float(np.sum(weights * delta**2))
        self.loss_ = squares / float(np.sum(weights))
        kept = slice(None) if len(i) <= 20_000 else rng.choice(len(i), 20_000, replace=False)
        self._shepard = ShepardData(np.asarray(d, float)[kept], np.asarray(delta, float)[kept], kappa[kept])

    def shepard(self, n_pairs: int = 5000, random_state: Any = 0) -> ShepardData:
        """Dissimilarity, delta and conflict of up to ``n_pairs`` pairs, for a Shepard diagram (at most 20,000)."""
        check_is_fitted(self, "credal_partition_")
        return self._shepard.sample(n_pairs, random_state)

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects: each is compared with the remembered ones, which stay as they are.

        Parameters
        ----------
        X : array-like
            Attributes, or with ``metric="precomputed"`` the dissimilarities of each new object (a row) to all training
            objects, or to those of `landmarks_` only; a sparse matrix holds some of them. An object with the attributes
            of a remembered one (precomputed: at dissimilarity zero from it) gets the masses of that one.
        """
        check_is_fitted(self, "credal_partition_")
        with block_map(self.n_jobs) as apply:
            masses = self._remembered.masses_of(self, X, apply)
        return CredalPartition.unchecked(masses, self.focal_sets_, object_index(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric == "precomputed"
        tags.input_tags.positive_only = self.metric == "precomputed"
        if self.metric == "gower":
            tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
