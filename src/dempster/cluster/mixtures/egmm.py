"""Evidential Gaussian mixture."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dempster import _parameters as rule
from dempster._arrays import precision_of
from dempster._random import as_random_state
from dempster._types import ArrayLike, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, Task
from dempster.cluster._families import Families, families_of
from dempster.cluster._online import CHECKPOINT_RULE, DEVICE_RULE, OnlineClusterer
from dempster.cluster._search import Sample
from dempster.cluster.mixtures._egmm_method import EGMMMethod, EGMMSettings
from dempster.cluster.mixtures._evidential_mixture import EvidentialMixture
from dempster.cluster.mixtures._online import OnlineMixture
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.starts import PEAKS_RULE, centers_from_peaks
from dempster.optimize.blocks import block_map
from dempster.partition import CredalPartition

__all__ = ["EGMM"]


class EGMM(OnlineClusterer):
    """Evidential Gaussian mixture: a component for every *set* of clusters, at the barycentre of their means.

    The model is the mixture density

        p(x) = sum_{A nonempty} pi_A N(x; mu_A, Sigma),    mu_A the mean of mu_k, k in A,

    with one covariance matrix for all components; the mass of an object on A is the probability that it comes from
    component A. There is no mass on the empty set. Fitted by EM: the likelihood never falls. Since all components
    have the same shape, no parameter says what is imprecise or far away: objects between two clusters make the weight
    of the pair grow. Cost per iteration: linear in the number of objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass, the empty set left out of the named families. "auto": the mixture has
        single clusters as components; then doubt between neighboring clusters (with no third one between them) is read
        off from their probabilities, as mass on the pair. "simple", "pairs" and "full" are fitted as a whole, each set
        with a Gaussian. "selected": single clusters first, then the pairs of mutually nearest clusters are added.
    reg_covar : float >= 0, default=1e-6
        Times the mean variance of the attributes, added to the diagonal of the covariance matrix at every M-step (the
        exact maximiser of the likelihood with the penalty ``reg n / 2 tr(Sigma^-1)``).
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array of shape (n_clusters, n_features) or \
CredalPartition, default="k-means++"
        First means, moved by a few steps of k-means when drawn. "belief-peaks": the centres found by `BeliefPeaks`,
        which knows no weights, or by one with parameters of its own. A start without chance is used once, whatever
        ``n_init``.
    n_init : int, default=10
        Starts; the largest likelihood is kept. Above 20,000 objects the starts compete on a sample of that size and
        the winner goes on with all objects.
    max_iter : int, default=500
    tol : float, default=1e-7
        Relative change of the likelihood that ends the iterations.
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
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks.
    n_samples_seen_ : int
        Objects of all blocks, after `partial_fit`.

    References
    ----------
    L. Jiao, T. Denoeux, Z. Liu and Q. Pan (2022). EGMM: an evidential version of the Gaussian mixture model for
    clustering. Applied Soft Computing 129.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import EGMM
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(-4, 1, 80), rng.normal(4, 1, 80), rng.normal(0, 1, 20)])[:, None]
    >>> model = EGMM(2, focal_sets="pairs", random_state=0).fit(X)
    >>> model.focal_sets_.names()
    ['{0}', '{1}', 'Ω']
    >>> model.weights_.round(2)
    array([0.45, 0.44, 0.11])
    """

    _rules = {
        **COMMON_RULES,
        "checkpoint": CHECKPOINT_RULE,
        "reg_covar": rule.real(0),
        "init": rule.choice("k-means++", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
        "device": DEVICE_RULE,
    }
    _model: EvidentialMixture
    _sums_products = True

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        reg_covar: float = 1e-6,
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-7,
        n_neighbor_clusters: int = 1,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.reg_covar = reg_covar
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
            Weight of each object in the likelihood; an object of weight 2 counts as two. It may come in blocks if X
            does.
        """
        return self._fit(X, sample_weight=sample_weight)

    def score_samples(self, X: TableLike) -> np.ndarray:
        """Logarithm of the density of each object: low for objects unlike those of `fit`."""
        check_is_fitted(self, "means_")
        values = self._read(X, reset=False)
        with block_map(self.n_jobs) as apply:
            return self._model.log_densities(values, apply)

    def score(self, X: TableLike, y: None = None) -> float:
        """Mean logarithm of the density."""
        return float(self.score_samples(X).mean())

    def _families(self, n_clusters: int) -> Families:
        return families_of(self.focal_sets, n_clusters, self.n_neighbor_clusters, empty=False)

    def _method(self, sample: Sample[np.ndarray], task: Task) -> EGMMMethod:
        settings = EGMMSettings(
            n_clusters=task.n_clusters,
            reg_covar=self.reg_covar,
            init=centers_from_peaks(self.init, sample.values, task.n_clusters, self.random_state, self.n_jobs),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            device=self.device,
        )
        return EGMMMethod(settings, sample, as_random_state(self.random_state), task.apply)

    def _attributes(self, method: EGMMMethod, model: EvidentialMixture) -> dict[str, Any]:
        likelihood = method.log_likelihood(model)
        return {
            **self._shown(model, method, precision_of(method.values)),
            "log_likelihood_": likelihood,
            "ebic_": likelihood - model.n_parameters * np.log(method.n) / 2,
        }

    def _shown(self, model: EvidentialMixture, learned: EGMMMethod | OnlineMixture, dtype: np.dtype) -> dict[str, Any]:
        means = (model.means * model.unit + learned.origin).astype(dtype)
        weights = np.zeros(len(model.family))
        components = model.components.membership[model.components.cardinality > 0]
        weights[model.family.find(components)] = model.weights
        return {
            "means_": means,
            "cluster_centers_": means,
            "covariance_": model.covariance * model.unit**2,
            "weights_": weights,
        }
