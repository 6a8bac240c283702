"""EK-NNclus: clustering by the evidential k-nearest-neighbour rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from evidentia import _parameters as rule
from evidentia._random import generator
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.neighbors._graph import Evidence, Graph, nearest_stored, neighbors_of_all, renumbered
from evidentia.cluster.neighbors._memory import Remembered
from evidentia.dissimilarity.neighbors import exact_index, finder
from evidentia.dissimilarity.sources import AttributeSource, MatrixSource, check_square, check_values
from evidentia.optimize.blocks import block_map, row_blocks
from evidentia.optimize.descent import Run
from evidentia.partition import CredalPartition

__all__ = ["EKNNClus"]

_PER_ROOT = 2.5  # neighbours per square root of the number of objects (the authors advise two to three)
_MOST_NEIGHBORS = 400
_DISTINCT_UP_TO = 1_000  # objects that start in a cluster each; beyond, in a tenth as many clusters
_SAMPLE_FROM, _SAMPLE_SIZE = 20_000, 5_000
_MOST_NEIGHBORS_AFTER_SAMPLE = 50  # the sample has found the clusters; what remains is local
_LARGEST_PARTITION = 2**31  # cells of the table of masses: 17 GB


class EKNNClus(EvidentialClusterer):
    """Clustering by the evidential k-nearest-neighbour rule, which finds the number of clusters.

    That two objects at distance d belong together is supported to the degree phi(d) = exp(-(d / s)^power). Combined
    by Dempster's rule, these pieces of evidence make a partition the more plausible the more weight it keeps inside
    its clusters: up to a constant its log-plausibility is

        sum_{i<j} w_ij [i and j in the same cluster],    w_ij = -log(1 - phi(d_ij)),

    over pairs of neighbours. Starting from many small clusters, each object in turn joins the cluster that its
    neighbours support most, until nobody moves. The objective never falls, and the search ends at a partition that no
    move of a single object improves. (The global maximum would be a single cluster. The local one depends on
    ``n_neighbors``: few neighbours make many clusters.) Combining the neighbours of each object by Dempster's rule
    gives the credal partition, on single clusters and the whole frame: an object among those of one cluster is
    certain, one between clusters is not, and an isolated one has mass on the frame.

    Time and memory grow with the number of objects times that of neighbours; no n x n matrix is made.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        "auto": 2.5 times the square root of the number of objects, at most 400; 50 after a search on a sample; all
        stored entries of a sparse matrix.
    q : float in (0, 1], default=0.9
        s^power is the q-quantile of d^power between objects and their neighbours. Larger values give fewer clusters.
    power : float > 0, default=2
        1 or 2 in the papers.
    graph : {"union", "mean", "directed"}, default="union"
        Whose evidence counts for an object: "union" that of its neighbours and of the objects it is a neighbour of;
        "mean" likewise, but with half the weight if only one of the two is near the other; "directed" that of its
        own neighbours only, as in the published program. Then the objective, a running sum, may fall, and the search
        may be ended by ``max_iter``.
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`, or "precomputed": X is a square matrix of dissimilarities,
        or a SciPy sparse matrix that holds those to the neighbours of each object, stored zeros included (as made by
        scikit-learn's ``kneighbors_graph``).
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        "approximate": nearest-neighbour descent (needs ``evidentia[neighbors]``). "auto": exact, unless there are
        more than 100,000 objects with more than six attributes, the metric is Euclidean and the extra is installed.
    init : {"auto", "distinct", "sample"}, int, array of labels or CredalPartition, default="auto"
        "distinct": a cluster for each object. An integer: so many clusters at random. "sample": the clusters of
        5,000 objects, each of the others beginning in that of the nearest of them. "auto": distinct up to 1,000
        objects, a tenth as many random clusters as objects up to 20,000, then (with attributes) a sample. Given
        labels, or those of a partition, are used once, whatever ``n_init``.
    n_init : int, default=10
        Searches with other random labels and orders of visits. Because the objective favours few clusters, it only
        compares results with the same number of clusters: of those with the most frequent number (of equally
        frequent ones, that of the largest objective) the one with the largest objective is kept.
    max_iter : int, default=100
        Sweeps over the objects.
    symmetrize : bool, default=False
        Replace an asymmetric square matrix by the mean of itself and its transpose, instead of refusing it.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None
        Threads; None and -1 use all processors.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    n_clusters_ : int
    credal_partition_ : CredalPartition
        On the empty set (whose mass is zero), the single clusters and the frame. Objects that cannot be told apart
        have the same masses.
    labels_ : ndarray of shape (n_samples,)
    focal_sets_ : FocalSets
    objective_ : float
    history_ : ndarray
        Objective after every sweep of the search that was kept.
    n_clusters_found_, objectives_found_ : ndarray of shape (n_searches,)
        Number of clusters and objective of every search (on the sample, if there was one).
    n_neighbors_ : int
    scale_ : float
        The distance s at which the support has fallen to exp(-1).
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    T. Denoeux, O. Kanjanatarakul and S. Sriboonchitta (2015). EK-NNclus: a clustering procedure based on the
    evidential K-nearest neighbor rule. Knowledge-Based Systems 88.

    Examples
    --------
    >>> from evidentia.cluster import EKNNClus
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    >>> model = EKNNClus(random_state=0).fit(X)
    >>> model.n_clusters_
    3
    >>> model.predict_mass([[6, 1], [40, 40]]).masses[:, -1].round(2)  # mass of the frame: nothing known far away
    array([0., 1.])
    """

    _rules = {
        "n_neighbors": rule.choice("auto") | rule.integer(1),
        "q": rule.real(0, 1, open_low=True),
        "power": rule.real(0, open_low=True),
        "graph": rule.choice("union", "mean", "directed"),
        "metric": rule.Rule("the name of a metric or a callable", lambda v: isinstance(v, str) or callable(v)),
        "neighbors": rule.choice("auto", "exact", "approximate"),
        "init": rule.choice("auto", "distinct", "sample") | rule.integer(1) | rule.kind(CredalPartition) | rule.array,
        "symmetrize": rule.flag,
        **{name: COMMON_RULES[name] for name in ("n_init", "max_iter", "random_state", "n_jobs", "verbose")},
    }

    def __init__(
        self,
        *,
        n_neighbors: int | str = "auto",
        q: float = 0.9,
        power: float = 2.0,
        graph: str = "union",
        metric: Any = "euclidean",
        neighbors: str = "auto",
        init: Any = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        symmetrize: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_neighbors = n_neighbors
        self.q = q
        self.power = power
        self.graph = graph
        self.metric = metric
        self.neighbors = neighbors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.symmetrize = symmetrize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> EKNNClus:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or dissimilarities if ``metric="precomputed"``
        y : ignored
        """
        rule.check_parameters(self, self._rules)
        data = self._checked_objects(X, reset=True)
        source = self._source(data)
        rng = generator(self.random_state)
        with block_map(self.n_jobs) as apply:
            solver = _Solver(self, source, rng, apply)
            run = solver.solve()
            labels = renumbered(run.model)
            c = int(labels.max()) + 1
            self._check_size(len(labels), c)
            raw = _on_family(solver.graph.masses(labels, c, apply))
        self.n_clusters_ = c
        self.n_neighbors_ = solver.n_neighbors
        self.scale_ = solver.evidence.scale
        self.n_clusters_found_ = np.array([count for count, _ in solver.found])
        self.objectives_found_ = np.array([objective for _, objective in solver.found])
        self._remembered = Remembered.of(source, solver.evidence, labels, raw, self.n_neighbors)
        self._set_result(run, self._remembered.shared_masses(), FocalSets.simple(c), object_index(X))
        if c == 1:
            warnings.warn(
                "EKNNClus found a single cluster; decrease n_neighbors or q for more", UserWarning, stacklevel=2
            )
        return self

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects by the evidential k-nearest-neighbour rule.

        Parameters
        ----------
        X : array-like
            Attributes, or with ``metric="precomputed"`` the dissimilarities of each new object (a row) to all training
            objects; a sparse matrix holds those to its neighbours. An object with the attributes of a training object
            (precomputed: at dissimilarity zero from it) gets the masses of that one.
        """
        check_is_fitted(self, "credal_partition_")
        data = self._checked_objects(X, reset=False)
        if self._centre is not None:
            data = data - self._centre
        with block_map(self.n_jobs) as apply:
            masses = self._remembered.masses_of(data, self.n_neighbors_, self.n_jobs, apply)
        return CredalPartition.unchecked(masses, self.focal_sets_, object_index(X))

    # ---- data -----------------------------------------------------------------------------------------------------

    def _checked_objects(self, X: Any, *, reset: bool) -> Any:
        """Attributes, dissimilarities, or a sparse matrix of dissimilarities."""
        given = self.metric == "precomputed"
        data = validate_data(
            self,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            order=None if sparse.issparse(X) else "C",
            accept_sparse="csr" if given else False,
            ensure_min_samples=2 if reset else 1,
        )
        if not given:
            return data
        if sparse.issparse(data):
            check_values(np.asarray(data.data), "X")
            if reset and data.shape[0] != data.shape[1]:
                raise ValueError(f"X must be a square matrix of dissimilarities, got shape {data.shape}")
            return data
        return check_square(data, symmetrize=bool(self.symmetrize)) if reset else check_values(data, "X")

    def _source(self, data: Any) -> AttributeSource | MatrixSource | sparse.csr_matrix:
        """Far from the origin squared distances lose their digits, so attributes are centred for them."""
        self._centre = None
        if self.metric == "precomputed":
            return data if sparse.issparse(data) else MatrixSource(data)
        if self.metric in ("euclidean", "l2", "sqeuclidean"):
            self._centre = data.mean(axis=0, dtype=float).astype(data.dtype)
        # a copy, or the user's own array would be remembered
        return AttributeSource(data.copy() if self._centre is None else data - self._centre, self.metric)

    def _check_size(self, n: int, n_clusters: int) -> None:
        if n * (n_clusters + 2) > _LARGEST_PARTITION:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} left {n_clusters} clusters, and the masses of {n} objects would take "
                f"{8 * n * (n_clusters + 2) / 2**30:.0f} GB; use more neighbours, a larger q or init='sample'"
            )

    # ---- the result -----------------------------------------------------------------------------------------------

    def _set_result(self, run: Run, masses: np.ndarray, family: FocalSets, index: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it speaks of tol
            super()._set_result(run, masses, family, index)
        if not run.converged:
            warnings.warn(
                f"EKNNClus did not converge in max_iter={self.max_iter} sweeps; increase max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        given = self.metric == "precomputed"
        tags.input_tags.pairwise = tags.input_tags.positive_only = tags.input_tags.sparse = given
        return tags


class _Solver:
    """The graph of one fit, and the searches on it."""

    def __init__(self, estimator: EKNNClus, source: Any, rng: np.random.Generator, apply: Callable):
        self.estimator, self.source, self.rng, self.apply = estimator, source, rng, apply
        self.n = source.shape[0] if sparse.issparse(source) else len(source)
        self.start = self._kind_of_start()
        self.n_neighbors = self._number_of_neighbors()
        self.found: list[tuple[int, float]] = []
        seed = int(rng.integers(2**31))  # drawn whatever the data, so that the searches have the same chances
        if sparse.issparse(source):
            wanted = None if estimator.n_neighbors == "auto" else self.n_neighbors
            neighbors = nearest_stored(source, wanted, drop_diagonal=True)
            if neighbors.nnz == 0:
                raise ValueError("X must hold dissimilarities between different objects, got none")
        else:
            find = finder(source, estimator.neighbors, seed, estimator.n_jobs)
            neighbors = neighbors_of_all(find, self.n, self.n_neighbors)
        self.evidence = Evidence.learnt(neighbors, estimator.q, estimator.power)
        self.graph = Graph.of(self.evidence.of(neighbors), estimator.graph)

    def _kind_of_start(self) -> str:
        init = self.estimator.init
        if not isinstance(init, str):
            return "random" if isinstance(init, int | np.integer) else "given"
        if init == "sample" and not isinstance(self.source, AttributeSource):
            raise ValueError("init='sample' needs attributes, not precomputed dissimilarities")
        if init != "auto":
            return init
        if self.n <= _DISTINCT_UP_TO:
            return "distinct"
        return "sample" if self.n > _SAMPLE_FROM and isinstance(self.source, AttributeSource) else "random"

    def _number_of_neighbors(self) -> int:
        wanted = self.estimator.n_neighbors
        if not isinstance(wanted, str):
            if wanted >= self.n:
                raise ValueError(f"n_neighbors must be below the number of objects, {self.n}, got {wanted}")
            return int(wanted)
        if sparse.issparse(self.source):
            return int(np.diff(self.source.indptr).max())
        if self.start == "sample" and self.n > _SAMPLE_SIZE:
            return _MOST_NEIGHBORS_AFTER_SAMPLE
        return max(1, min(int(np.ceil(_PER_ROOT * np.sqrt(self.n))), _MOST_NEIGHBORS, self.n - 1))

    def solve(self) -> Run:
        """The best search, as `n_init` says."""
        if self.start == "given":
            return self._only(self._given_labels())
        if self.start == "sample":
            return self._only(self._labels_from_sample())
        seeds = self.rng.integers(2**63, size=self.estimator.n_init)
        with self.estimator._progress(len(seeds), "searches") as advance:

            def search(seed: int) -> Run:
                run = self._run(*self._drawn(np.random.default_rng(seed)))
                advance(f"{int(run.model.max()) + 1} clusters")
                return run

            runs = self.apply(search, [(seed,) for seed in seeds])
        self.found = [(int(run.model.max()) + 1, run.objective) for run in runs]
        return runs[_preferred(self.found)]

    def _only(self, start: np.ndarray) -> Run:
        run = self._run(start, self.rng)
        if not self.found:
            self.found = [(int(run.model.max()) + 1, run.objective)]
        return run

    def _run(self, start: np.ndarray, rng: np.random.Generator) -> Run:
        return Run(*self.graph.search(start, rng, self.estimator.max_iter))

    def _drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.random.Generator]:
        if self.start == "distinct":
            return np.arange(self.n), rng
        init = self.estimator.init
        count = max(2, self.n // 10) if isinstance(init, str) else int(init)
        return rng.integers(count, size=self.n), rng

    def _given_labels(self) -> np.ndarray:
        init = self.estimator.init
        if isinstance(init, CredalPartition):
            labels = init.labels
        else:
            labels = np.asarray(init)
            if labels.ndim != 1:
                raise ValueError(f"init must be a list of labels or a CredalPartition, got shape {labels.shape}")
            if labels.dtype.kind == "f" and not np.isfinite(labels).all():
                raise ValueError("init must hold a label for every object, got NaN or infinite values")
        if len(labels) != self.n:
            raise ValueError(f"init must hold {self.n} labels, one for each object, got {len(labels)}")
        return renumbered(labels)

    def _labels_from_sample(self) -> np.ndarray:
        """Cluster some of the objects; each of the others begins in the cluster of the nearest of them."""
        e = self.estimator
        which = np.sort(self.rng.permutation(self.n)[:_SAMPLE_SIZE])
        model = EKNNClus(**{**e.get_params(deep=False), "n_neighbors": "auto", "init": "auto"})
        model.set_params(random_state=self.rng, verbose=e.verbose)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(self.source.X[which])
        self.found = list(zip(model.n_clusters_found_.tolist(), model.objectives_found_.tolist(), strict=True))
        nearest = exact_index(self.source.subset(which), e.n_jobs)
        labels = np.empty(self.n, dtype=np.intp)
        for start, stop in row_blocks(self.n, most=None):
            rows = self.source.X[start:stop]
            labels[start:stop] = model.labels_[nearest.kneighbors(rows, 1, return_distance=False)[:, 0]]
        return labels


def _preferred(found: list[tuple[int, float]]) -> int:
    """Of the results with the most frequent number of clusters the one with the largest objective, the first on ties;
    of equally frequent numbers that of the largest objective."""
    counts = [count for count, _ in found]
    return max(range(len(found)), key=lambda r: (counts.count(counts[r]), found[r][1], -r))


def _on_family(masses: np.ndarray) -> np.ndarray:
    """With a single cluster the frame is that cluster."""
    return masses if masses.shape[1] > 3 else np.column_stack([masses[:, 0], masses[:, 1] + masses[:, 2]])
