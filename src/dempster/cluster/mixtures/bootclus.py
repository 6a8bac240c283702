"""Calibrated model-based evidential clustering by bootstrapping."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dempster import _parameters as rule
from dempster._types import ArrayLike, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, Task
from dempster.cluster._families import Families
from dempster.cluster._search import Sample
from dempster.cluster._starts import check_different_objects
from dempster.cluster.mixtures._bootclus_method import BootClusMethod, BootClusSettings, pair_family
from dempster.cluster.mixtures._bootstrap import Bootstraps
from dempster.cluster.mixtures._intervals import Coverage, PairIntervals
from dempster.cluster.mixtures._pair_fit import intervals_of_pairs
from dempster.cluster.mixtures._pair_model import PairModel
from dempster.cluster.mixtures.mixture_fits import MixtureFits, MixtureSettings, fit_mixtures
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.mixture.models import MODELS
from dempster.optimize.blocks import Apply, block_map
from dempster.optimize.pair_quantiles import probabilities_of_pairs
from dempster.partition.relational import checked_pairs

__all__ = ["BootClus", "Bootstraps", "Coverage", "PairIntervals"]


class BootClus(EvidentialClusterer):
    """Calibrated model-based evidential clustering: how sure is a Gaussian mixture that two objects belong together?

    1. A Gaussian mixture is fitted to the data (the best covariance model by BIC, or a given one).
    2. The same model is refitted to samples drawn with replacement. Each fit gives every pair of objects a
       probability P_ij = sum_k pi_ik pi_jk of being in the same cluster; quantiles over the fits make a confidence
       interval [P^l_ij, P^u_ij].
    3. Masses m_1, ..., m_n over sets of clusters are found whose degrees of belief and plausibility of "same cluster"
       match the intervals:

           minimise  sum_{i<j} (Bel_ij - P^l_ij)^2 + (Pl_ij - P^u_ij)^2.

    If the model is right, [Bel_ij, Pl_ij] holds the true probability for a share of about ``confidence`` of the pairs:
    the partition is *calibrated*. A model that is too simple gives intervals that are short and wrong; when in doubt
    take a more general one (``mixture="VVV"``). Every object belongs to some cluster here: there is no mass on the
    empty set.

    A new object is compared with the reference objects, whose masses stay as they are: the refitted mixtures give
    intervals for the probability of being together with each of them, and its masses are those that match these best
    (a convex problem). One with the attributes of a reference object has the masses of that one.

    Parameters
    ----------
    n_clusters : int, "auto" or None, default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`). None: as
        ``focal_sets`` says if it is a family, else chosen by BIC along with the covariance model, from 1 to 9.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters and the pairs of neighboring ones (with no third
        one between their means). "pairs": single clusters and all pairs. "selected": single clusters and the pairs of
        mutually most similar clusters, by the similarity sum_i pi_ik pi_il. "simple": single clusters and the frame.
        "full": all subsets.
    mixture : None, str or ParsimoniousGaussianMixture, default=None
        Covariance model: None chooses among all fourteen by BIC, a name ("EII", "VEV", "VVV", ...) fixes it. An
        estimator is copied and given ``n_clusters`` components (with ``n_clusters=None`` it keeps its own).
    confidence : float in (0, 1), default=0.9
        Level of the intervals.
    n_bootstraps : int, default=500
        Samples drawn with replacement.
    n_partners : int, "all" or "auto", default="auto"
        "all": all pairs of objects are looked at. A number: the pairs of each object with that many reference objects,
        drawn at random but enough from each cluster, which are fitted among themselves first; time is then linear in
        the number of objects, and memory does not grow with their pairs (40 bytes each with "all"). "auto": all pairs
        up to 2,000 objects; beyond, 500 reference objects, with 150 of which the others are compared.
    max_iter : int, default=1000
        Sweeps over the objects when masses are fitted.
    tol : float, default=1e-6
        The sweeps end when e_t = (e_{t-1} + relative change of the objective) / 2 falls below it.
    n_neighbor_clusters : int, default=2
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other. (Nearest are
        the most similar; "auto" selects pairs as well, beyond four clusters.)
    warm_start : bool, default=False
        Fit again to the same data with the mixtures of the call before, which take most of the time: for other levels,
        focal sets or partners (``set_params(confidence=0.95).fit(X)``). Mixtures are fitted anew where the data,
        ``n_clusters``, ``n_bootstraps``, ``mixture`` or ``random_state`` have changed (a RandomState or Generator also
        if somebody has drawn from it in the meantime).
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``. Each sample has a seed of its own.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise. The samples are fitted
        by joblib, so in processes or on a Dask cluster if it says so.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    mixture_ : ParsimoniousGaussianMixture
        Fitted to the data. Cluster k of the partition is its component k.
    bootstraps_ : Bootstraps
        Parameters of the refitted mixtures.
    n_redrawn_ : int
        Samples that lost a cluster and were drawn again. (With very few objects most samples do; a sample drawn twenty
        times in vain is fitted with a ridge of a hundredth of the variances.)
    intervals_ : PairIntervals
        Confidence intervals and belief-plausibility intervals of all pairs of the reference objects (with all pairs:
        of all objects).
    reference_indices_ : ndarray
        Positions of the objects that all others, and new ones, are compared with.
    focal_sets_ : FocalSets
    objective_ : float
        Sum of squares over the pairs of the reference objects.
    history_ : ndarray
        Objective after every sweep.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks.

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information Sciences 528.

    Examples
    --------
    >>> from dempster.cluster import BootClus
    >>> from dempster.datasets import make_gaussian_mixture
    >>> sample = make_gaussian_mixture(1, as_bunch=True, random_state=0)
    >>> model = BootClus(3, n_bootstraps=100, mixture="EII", random_state=0).fit(sample.data)
    >>> model.intervals_
    PairIntervals(44850 pairs of 300 objects, confidence 0.9)
    >>> 0.7 < model.intervals_.coverage(sample.posterior).belief <= 1  # of the true probabilities
    True
    """

    _rules = {
        **{name: r for name, r in COMMON_RULES.items() if name != "n_init"},
        "n_clusters": rule.choice(None, "auto") | rule.integer(1),
        "mixture": rule.choice(None)
        | rule.choice("E", "V", *MODELS)
        | rule.kind(ParsimoniousGaussianMixture, words="a ParsimoniousGaussianMixture"),
        "confidence": rule.real(0, 1, open_low=True, open_high=True),
        "n_bootstraps": rule.repetitions(2),
        "n_partners": rule.choice("auto", "all") | rule.integer(2),
        "warm_start": rule.flag,
    }
    _fewest_objects = 2
    _fits: MixtureFits | None = None
    _takes_blocks = True

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        mixture: str | ParsimoniousGaussianMixture | None = None,
        confidence: float = 0.9,
        n_bootstraps: int = 500,
        n_partners: int | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_neighbor_clusters: int = 2,
        warm_start: bool = False,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.mixture = mixture
        self.confidence = confidence
        self.n_bootstraps = n_bootstraps
        self.n_partners = n_partners
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: None = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): a
            sample of 20,000 objects is then clustered, and the masses of all are lazy.
        y : ignored
        """
        return self._fit(X)

    def _number_of_clusters(self, sample: Sample[np.ndarray], apply: Apply) -> int:
        data = np.ascontiguousarray(sample.values, dtype=float)
        wanted = self.focal_sets.n_clusters if isinstance(self.focal_sets, FocalSets) else self._wanted_clusters()
        if self.n_clusters == "auto":
            wanted = super()._number_of_clusters(sample, apply)
        check_different_objects(data, data, wanted or 1)
        settings = MixtureSettings(wanted, self.mixture, self.n_bootstraps, self.random_state)
        known = self._fits if self.warm_start else None
        if known is None or known.fingerprint != settings.fingerprint(data):
            self._fits = fit_mixtures(settings, data, self.n_jobs, self._progress)
        return self._known_fits().bootstraps.n_clusters

    def _known_fits(self) -> MixtureFits:
        assert self._fits is not None
        return self._fits

    def _families(self, n_clusters: int) -> Families:
        return Families(pair_family(self.focal_sets, self._known_fits(), self.n_neighbor_clusters))

    def _method(self, sample: Sample[np.ndarray], task: Task) -> BootClusMethod:
        settings = BootClusSettings(self.confidence, self.n_partners, self.max_iter, self.tol)
        return BootClusMethod(settings, sample, self._known_fits(), task.apply)

    def _attributes(self, method: BootClusMethod, model: PairModel) -> dict[str, Any]:
        bootstraps = model.bootstraps
        return {
            "mixture_": method.fits.mixture,
            "bootstraps_": bootstraps,
            "n_redrawn_": bootstraps.n_redrawn,
            "reference_indices_": method.which,
            "intervals_": PairIntervals(self.credal_partition_, method.which, *method.bounds(), self.confidence),
        }

    # ---- pairs ----------------------------------------------------------------------------------------------------

    def pair_probabilities(self, X: TableLike, pairs: ArrayLike) -> np.ndarray:
        """Probabilities that pairs of objects belong to the same cluster, under each of the bootstrap fits.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, old or new.
        pairs : array-like of shape (p, 2)
            Positions of two objects each.

        Returns
        -------
        ndarray of shape (p, n_bootstraps)
        """
        P, chosen = self._posteriors_of_pairs(X, pairs)
        out = np.empty((len(chosen), len(self.bootstraps_)), dtype=np.float32)
        probabilities_of_pairs(P, chosen, out)
        return out.astype(float)

    def pair_intervals(self, X: TableLike, pairs: ArrayLike) -> np.ndarray:
        """Confidence intervals of the probability that pairs of objects belong to the same cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, old or new.
        pairs : array-like of shape (p, 2)
            Positions of two objects each.

        Returns
        -------
        ndarray of shape (p, 2)
            Lower and upper bounds.
        """
        P, chosen = self._posteriors_of_pairs(X, pairs)
        with block_map(self.n_jobs) as apply:
            return np.column_stack(intervals_of_pairs(P, chosen, self.confidence, apply))

    def _posteriors_of_pairs(self, X: TableLike, pairs: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of the objects that occur in the pairs, and the pairs among these."""
        check_is_fitted(self, "credal_partition_")
        values = self._read(X, reset=False)
        wanted = checked_pairs(pairs, len(values))
        objects, places = np.unique(wanted, return_inverse=True)
        P = self.bootstraps_.posteriors(np.ascontiguousarray(values[objects], dtype=float))
        return P, np.ascontiguousarray(places.reshape(wanted.shape), dtype=np.int64)
