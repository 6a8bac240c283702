"""EK-NNclus: clustering by the evidential k-nearest-neighbour rule."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from dempster import _parameters as rule
from dempster._random import generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, Task
from dempster.cluster._search import Sample
from dempster.cluster.neighbors._method import NeighborMethod, NeighborSettings, neighbor_method
from dempster.cluster.neighbors._model import NeighborModel
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource
from dempster.optimize.blocks import Apply
from dempster.partition import CredalPartition

__all__ = ["EKNNClus"]


class EKNNClus(EvidentialClusterer):
    """Clustering by the evidential k-nearest-neighbour rule, which finds the number of clusters.

    That two objects at distance d belong together is supported to the degree phi(d) = exp(-(d / s)^power). Combined
    by Dempster's rule, these pieces of evidence make a partition the more plausible the more weight it keeps inside
    its clusters: up to a constant its log-plausibility is

        sum_{i<j} w_ij [i and j in the same cluster],    w_ij = -log(1 - phi(d_ij)),

    over pairs of neighbours. Starting from many small clusters, each object in turn joins the cluster that its
    neighbours support most, until nobody moves. The log-plausibility never falls, and the search ends at a partition
    that no move of a single object improves. (The global maximum would be a single cluster. The local one depends on
    ``n_neighbors``: few neighbours make many clusters.) Combining the neighbours of each object by Dempster's rule
    gives the credal partition, on single clusters and the whole frame: an object among those of one cluster is
    certain, one between clusters is not, and an isolated one has mass on the frame.

    Time and memory grow with the number of objects times that of neighbours; no n x n matrix is made.

    A new object is judged by its nearest objects of `fit`; one that cannot be told from one of these (equal attributes,
    dissimilarity zero) has its masses.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.neighbors.NearestNeighbors`, a function of two rows, "gower" for a table with numbers,
        categories and missing cells, or "precomputed": X is a square matrix of dissimilarities, or a SciPy sparse
        matrix that holds those to the neighbours of each object, stored zeros included (as made by scikit-learn's
        ``kneighbors_graph``). With a function and with "gower" every object is compared with all others.
    symmetrize : bool, default=False
        Replace an asymmetric square matrix by the mean of itself and its transpose, instead of refusing it.
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
        own neighbours only, as in the published program. Then the objective, a running sum, may rise, and the search
        may be ended by ``max_iter``.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        "approximate": nearest-neighbour descent (needs ``dempster[neighbors]``). "auto": exact, unless there are
        more than 100,000 objects with more than six attributes, the metric is Euclidean and the extra is installed.
    init : {"auto", "distinct", "sample"}, int, array of labels or CredalPartition, default="auto"
        "distinct": a cluster for each object. An integer: so many clusters at random. "sample": the clusters of
        5,000 objects, each of the others beginning in that of the nearest of them. "auto": distinct up to 1,000
        objects, a tenth as many random clusters as objects up to 20,000, then (with attributes) a sample. Given
        labels, or those of a partition, are used once, whatever ``n_init``.
    n_init : int, default=10
        Searches with other random labels and orders of visits. Because the objective favours few clusters, it only
        compares results with the same number of clusters: of those with the most frequent number (of equally
        frequent ones, that of the smallest objective) the one with the smallest objective is kept.
    max_iter : int, default=100
        Sweeps over the objects.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        On the empty set (whose mass is zero), the single clusters and the frame. Objects that cannot be told apart
        have the same masses.
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    focal_sets_ : FocalSets
    objective_ : float
        Minus the log-plausibility of the partition, up to a constant.
    history_ : ndarray
        Objective after every sweep of the search that was kept.
    n_clusters_found_, objectives_found_ : ndarray of shape (n_searches,)
        Number of clusters and objective of every search (on the sample, if there was one).
    n_neighbors_ : int
    scale_ : float
        The distance s at which the support has fallen to exp(-1).
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    T. Denoeux, O. Kanjanatarakul and S. Sriboonchitta (2015). EK-NNclus: a clustering procedure based on the
    evidential K-nearest neighbor rule. Knowledge-Based Systems 88.

    Examples
    --------
    >>> from dempster.cluster import EKNNClus
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    >>> model = EKNNClus(random_state=0).fit(X)
    >>> model.n_clusters_
    3
    >>> model.predict_mass([[6, 1], [40, 40]]).masses[:, -1].round(2)  # mass of the frame: nothing known far away
    array([0., 1.])
    """

    _rules = {
        "metric": METRIC_RULE,
        "symmetrize": rule.flag,
        "n_neighbors": rule.choice("auto") | rule.integer(1),
        "q": rule.real(0, 1, open_low=True),
        "power": rule.real(0, open_low=True),
        "graph": rule.choice("union", "mean", "directed"),
        "neighbors": rule.choice("auto", "exact", "approximate"),
        "init": rule.choice("auto", "distinct", "sample") | rule.integer(1) | rule.kind(CredalPartition) | rule.array,
        **{name: COMMON_RULES[name] for name in ("n_init", "max_iter", "random_state", "n_jobs", "verbose")},
    }
    _advice = 'increase max_iter (the sweeps may go on for ever with graph="directed")'
    _takes_blocks = True

    def __init__(
        self,
        *,
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        n_neighbors: int | str = "auto",
        q: float = 0.9,
        power: float = 2.0,
        graph: str = "union",
        neighbors: str = "auto",
        init: str | int | ArrayLike | CredalPartition = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.metric = metric
        self.symmetrize = symmetrize
        self.n_neighbors = n_neighbors
        self.q = q
        self.power = power
        self.graph = graph
        self.neighbors = neighbors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or dissimilarities if ``metric="precomputed"``
            A pandas table keeps its index.
        y : ignored
        """
        return self._fit(X)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(
                self.metric, symmetrize=self.symmetrize, sparse=True, centered=True, fewest=2
            )
            return self._input.training(self, X)
        return self._input.new(self, X)

    def _wanted_clusters(self) -> None:
        return None

    def _number_of_clusters(self, sample: Sample[Any], apply: Apply) -> int:
        return 1  # nobody asks: the searches find it

    def _method(self, sample: Sample[DissimilaritySource | SparseSource], task: Task) -> NeighborMethod:
        settings = NeighborSettings(
            n_neighbors=None if isinstance(self.n_neighbors, str) else self.n_neighbors,
            q=self.q,
            power=self.power,
            graph=self.graph,
            neighbors=self.neighbors,
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
        )
        return neighbor_method(settings, sample, generator(self.random_state), task.apply)

    def _attributes(self, method: NeighborMethod, model: NeighborModel) -> dict[str, Any]:
        counts, objectives = zip(*model.searches, strict=True)
        return {
            "n_clusters_found_": np.array(counts),
            "objectives_found_": np.array(objectives),
            "n_neighbors_": method.n_neighbors,
            "scale_": method.evidence.scale,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
