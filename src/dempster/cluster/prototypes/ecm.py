"""Evidential c-means."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

from dempster import _parameters as rule
from dempster._arrays import precision_of
from dempster._random import as_random_state
from dempster._types import ArrayLike, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, Task
from dempster.cluster._online import CHECKPOINT_RULE, DEVICE_RULE, OnlineClusterer
from dempster.cluster._scales import fuzziness, reasons
from dempster.cluster._search import Sample
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.starts import PEAKS_RULE, centers_from_peaks
from dempster.cluster.prototypes._method import PrototypeMethod, PrototypeSettings
from dempster.cluster.prototypes._model import OnlinePrototypes, PrototypeModel
from dempster.partition import CredalPartition

__all__ = ["ECM"]


class ECM(OnlineClusterer):
    """Evidential c-means: every *set* of clusters has a prototype, the barycentre of those of its clusters.

    Minimises, over masses m and prototypes v,

        sum_i sum_{A nonempty} |A|^alpha m_i(A)^beta d(x_i, v_A)^2  +  delta^2 sum_i m_i(empty)^beta,

    by turns: masses for given prototypes, prototypes for given masses. The objective never rises. An object near one
    prototype gets mass on that cluster, one halfway between two on the pair, one farther than ``delta`` from all on
    the empty set. Cost per iteration: linear in the number of objects.

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
    metric : {"euclidean", "adaptive"}, default="euclidean"
        "adaptive": each cluster learns a matrix of determinant one (elongated clusters).
    alpha : float >= 0, default=1
        Penalty of large sets: larger values give smaller sets.
    beta : float > 1 or "auto", default="auto"
        Fuzziness: towards 1 the masses become certain. "auto": 1.5 up to five attributes, then less the more there are.
    delta : float > 0 or "auto", default="auto"
        Distance to the empty set, in units of the data: smaller values give more outliers. "auto": the upper
        fence of a box plot (two interquartile ranges above the third quartile) of the distances to the nearest
        prototype.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN). "partial": objects are compared by the attributes that they have, and one
        that is missing adds the same to all costs, its variance within clusters: the less is known of an object, the
        more it is in doubt. An object without any value is refused, and so is the adaptive metric.
        ``docs/missing.md`` tells when to impute instead.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array of shape (n_clusters, n_features) or \
CredalPartition, default="k-means++"
        "belief-peaks": the centres found by `BeliefPeaks`, which knows no weights, or by one with parameters of its
        own. A start without chance is used once, whatever ``n_init``.
    n_init : int, default=10
        Starts; the smallest objective is kept. Above 20,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-6
        Relative change of the objective that ends the iterations.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    checkpoint : path, optional
        For X that comes in blocks: a file to which what each pass over them gave is added; a fit that was killed goes
        on from it, to the same result. It is refused if data or parameters are others.
    device : str, default="cpu"
        Where the sums over all objects are taken, in memory or in blocks; "cuda" is a GPU (needs torch, and all cells
        of X). A tensor is not moved. Starts compete on the processor.
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
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
    metric_matrices_ : ndarray of shape (n_clusters, n_features, n_features)
        With the adaptive metric.
    focal_sets_ : FocalSets
    beta_, delta_ : float
        What was used.
    objective_ : float
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks.
    n_samples_seen_ : int
        Objects of all blocks, after `partial_fit`.

    References
    ----------
    M.-H. Masson and T. Denoeux (2008). ECM: an evidential version of the fuzzy c-means algorithm. Pattern
    Recognition 41. Adaptive metric: V. Antoine, B. Quost, M.-H. Masson and T. Denoeux (2012). CECM: constrained
    evidential C-means algorithm. Computational Statistics & Data Analysis 56.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> X = load_butterfly().data
    >>> model = ECM(2, focal_sets="full", delta=5, random_state=0).fit(X)
    >>> model.credal_partition_.ambiguous  # the object in the middle
    array([5])
    >>> model.credal_partition_.outliers  # the one far away
    array([11])
    """

    _rules = {
        **COMMON_RULES,
        "checkpoint": CHECKPOINT_RULE,
        "metric": rule.choice("euclidean", "adaptive"),
        "alpha": rule.real(0),
        "beta": rule.choice("auto") | rule.real(1, 50, open_low=True),
        "delta": rule.choice("auto") | rule.real(0, open_low=True),
        "init": rule.choice("k-means++", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
        "device": DEVICE_RULE,
        "missing": MISSING_RULE,
    }

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: str = "euclidean",
        alpha: float = 1.0,
        beta: float | str = "auto",
        delta: float | str = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-6,
        n_neighbor_clusters: int = 1,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): every
            iteration is then a pass over them, and what has a row for each object is lazy. It may be a tensor of torch
            (``docs/scale.md``): the fit then runs where it is, and the results are tensors there.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two. It may come in blocks if X
            does.
        """
        return self._fit(X, sample_weight=sample_weight)

    def _method(self, sample: Sample[np.ndarray], task: Task) -> PrototypeMethod:
        settings = PrototypeSettings(
            n_clusters=task.n_clusters,
            alpha=self.alpha,
            beta=fuzziness(sample.values.shape[1]) if self.beta == "auto" else float(self.beta),
            delta=None if self.delta == "auto" else float(self.delta),
            adaptive=self.metric == "adaptive",
            init=centers_from_peaks(self.init, sample.values, task.n_clusters, self.random_state, self.n_jobs),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            device=self.device,
        )
        return PrototypeMethod(settings, sample, as_random_state(self.random_state), task.apply)

    def _choices(self, method: PrototypeMethod) -> dict[str, str]:
        used = method.settings.beta, method.delta
        return {**super()._choices(method), **reasons(self.beta, self.delta, *used)}

    def _attributes(self, method: PrototypeMethod, model: PrototypeModel) -> dict[str, Any]:
        return self._shown(model, method, precision_of(method.values))

    def _shown(
        self, model: PrototypeModel, learned: PrototypeMethod | OnlinePrototypes, dtype: np.dtype
    ) -> dict[str, Any]:
        found = {
            "cluster_centers_": model.centers.astype(dtype),
            "delta_": learned.delta,
            "beta_": model.step.beta,
        }
        return found if model.metrics is None else {**found, "metric_matrices_": model.metrics}
