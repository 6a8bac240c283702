"""Relational evidential c-means."""

from __future__ import annotations

from typing import Any

from dempster import _parameters as rule
from dempster._random import as_random_state
from dempster._types import ArrayLike, Metric, Seed
from dempster.belief import FocalSets
from dempster.cluster._base import Task
from dempster.cluster._search import Sample, Search
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.starts import PEAKS_RULE, peaks_of_source
from dempster.cluster.relational._base import RELATIONAL_RULES, RelationalClusterer
from dempster.cluster.relational._relational_method import (
    NotEuclidean,
    RelationalMethod,
    RelationalSettings,
    shifted_methods,
)
from dempster.cluster.relational._squares import is_to_be_squared
from dempster.cluster.relational._weighted_means import WeightedMeans, WeightedMeansModel
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

__all__ = ["RECM"]


class RECM(RelationalClusterer):
    """Relational evidential c-means: `ECM` for objects known by their dissimilarities only.

    The dissimilarities are taken for *squared* distances between points, and the prototypes are weighted means of the
    points; their distances follow from the dissimilarities alone. On squared Euclidean distances the result is that
    of `ECM`. Memory and cost of an iteration: n^2 and n^2 c, for n objects and c clusters.

    Dissimilarities that no points could have ("non-Euclidean") may lead to negative squared distances, and the
    objective may then rise. See ``correction``.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, "gower" (tables with numbers,
        categories and missing cells), or "precomputed": X is a square matrix of dissimilarities.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    square : {"auto"} or bool, default="auto"
        Whether to square the dissimilarities first. "auto": those computed by a metric are squared ("sqeuclidean" and
        "gower" are not: they behave like squared distances), those of a given matrix are used as they are.
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1, default=1.5
        Fuzziness: towards 1 the masses become certain.
    delta : float > 0 or "auto", default="auto"
        Distance (not squared) to the empty set: smaller values give more outliers. "auto": the upper
        fence of a box plot of the distances to the nearest prototype with ``focal_sets="auto"``, where it is needed
        after the fit only; else, squared, the 0.95 quantile of the squared dissimilarities of different objects.
    correction : {"auto", "shift", "clip"}, default="auto"
        What to do if the dissimilarities are not Euclidean. "shift": add the same number to the squared dissimilarities
        of all pairs of different objects, the smallest that makes them Euclidean (twice the most negative eigenvalue
        of the Gram matrix, with the sign changed); the objective then never rises, but a large shift makes all
        objects about equally distant (and repeated rows are different objects, which a weight does not make). "auto":
        the smallest of 0, 1/256, 1/64, 1/16, 1/4 and 1 times that number with which no squared distance is negative
        and the objective never rises. "clip": no shift; negative squared distances are replaced by a small positive
        number, and the objective may rise.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN) under "euclidean", "sqeuclidean" or "gower". "partial": objects are
        compared by the attributes that both have, and one that is missing adds its usual difference within clusters:
        the less is known of an object, the more it is in doubt. An object without any value is refused. (Gower's
        dissimilarity takes missing cells in any case; without "partial" it is the mean over those that are there.)
        ``docs/missing.md`` tells when to impute instead.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array or CredalPartition, default="k-means++"
        "k-means++": objects far from each other. "random": random masses, as in the paper. "belief-peaks": the objects
        found by `BeliefPeaks`, which knows no weights, or by one with parameters of its own. An array holds the
        positions of ``n_clusters`` objects to begin with, or masses (a column for each focal set). A start without
        chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 2,000 objects the starts compete on a sample of that size and the
        winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise. Matrix products use
        those of the linear algebra library.
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
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    M.-H. Masson and T. Denoeux (2009). RECM: relational evidential c-means algorithm. Pattern Recognition Letters 30.
    Shift: R. J. Hathaway and J. C. Bezdek (1994). NERF c-means: non-Euclidean relational fuzzy clustering. Pattern
    Recognition 27.

    Examples
    --------
    >>> from sklearn.metrics import pairwise_distances
    >>> from dempster.cluster import RECM
    >>> from dempster.datasets import load_butterfly
    >>> D = pairwise_distances(load_butterfly().data, metric="sqeuclidean")
    >>> model = RECM(2, focal_sets="full", metric="precomputed", delta=5, random_state=0).fit(D)
    >>> model.credal_partition_.ambiguous, model.credal_partition_.outliers
    (array([5]), array([11]))
    >>> model.predict_mass(D[[5, 11]]).outliers  # new objects, by their dissimilarities to the old ones
    array([1])
    """

    _rules = {
        **RELATIONAL_RULES,
        "square": rule.choice("auto") | rule.flag,
        "correction": rule.choice("auto", "shift", "clip"),
        "init": rule.choice("k-means++", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        square: bool | str = "auto",
        alpha: float = 1.0,
        beta: float = 1.5,
        delta: float | str = "auto",
        correction: str = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
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
        self.square = square
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.correction = correction
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _searched(
        self, search: Search, sample: Sample[DissimilaritySource], task: Task
    ) -> tuple[RelationalMethod, Run[WeightedMeans]]:
        """Shifts are tried one after the other."""
        peaks = peaks_of_source(self.init, sample.values, task.n_clusters, self.random_state, self.n_jobs)
        settings = RelationalSettings(
            n_clusters=task.n_clusters,
            symmetrize=bool(self.symmetrize),
            square=is_to_be_squared(self.square, self.metric),
            alpha=self.alpha,
            beta=self.beta,
            delta=None if self.delta == "auto" else float(self.delta),
            correction=self.correction,
            init=self.init if peaks is None else peaks.peak_indices_,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        families = self._families(task.n_clusters)
        for method in shifted_methods(settings, sample, as_random_state(self.random_state), task.apply):
            try:
                return method, search.run(method, families, sample.weights)
            except NotEuclidean:
                continue
        raise AssertionError("the last method does not give up")

    def _attributes(self, method: RelationalMethod, model: WeightedMeansModel) -> dict[str, Any]:
        return {"prototype_weights_": model.means.weights, "shift_": method.shift, "delta_": method.delta}
