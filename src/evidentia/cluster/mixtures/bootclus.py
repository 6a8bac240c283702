"""Calibrated model-based evidential clustering by bootstrapping."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from evidentia import _parameters as rule
from evidentia._random import seed_sequence
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster._starts import check_enough_objects
from evidentia.cluster.mixtures._bootstrap import Bootstraps, bootstrap_mixture
from evidentia.cluster.mixtures._intervals import Coverage, PairIntervals
from evidentia.cluster.mixtures._pair_fit import (
    Family,
    Remembered,
    choose_references,
    fit_masses,
    intervals_of_all_pairs,
    intervals_of_pairs,
)
from evidentia.mixture import ParsimoniousGaussianMixture
from evidentia.mixture.models import MODELS
from evidentia.optimize.blocks import block_map
from evidentia.optimize.pair_quantiles import probabilities_of_pairs
from evidentia.partition import CredalPartition
from evidentia.partition.nearest_pairs import mutual_neighbors
from evidentia.partition.relational import checked_pairs

__all__ = ["BootClus", "Bootstraps", "Coverage", "PairIntervals"]

_ALL_PAIRS_UP_TO = 2000  # objects, for n_pairs="auto"
_PARTNERS = 500  # of each object beyond
_PAIRS_UP_TO = 4  # clusters, for focal_sets="auto"
_TOLERANCE, _TOLERANCE_UP_TO = 1e-5, 300  # of EM, and the number of objects beyond which it is tightened
# Samples are fitted until the log-likelihood changes by no more than this, whatever its size: the estimates of a sample
# differ from those of the data by half a unit a parameter, of which EM must not leave out much.
_LARGEST_CHANGE = 0.01


@dataclass(frozen=True)
class _Fitted:
    """The mixtures, and what they were fitted for."""

    task: str
    mixture: ParsimoniousGaussianMixture
    posterior: np.ndarray
    bootstraps: Bootstraps
    for_references: np.random.SeedSequence


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

    Parameters
    ----------
    n_clusters : int or None, default=2
        None: chosen by BIC along with the covariance model, from 1 to 9.
    n_bootstraps : int, default=500
        Samples drawn with replacement.
    confidence : float in (0, 1), default=0.9
        Level of the intervals.
    mixture : None, str or ParsimoniousGaussianMixture, default=None
        Covariance model: None chooses among all fourteen by BIC, a name ("EII", "VEV", "VVV", ...) fixes it. An
        estimator is copied and given ``n_clusters`` components (with ``n_clusters=None`` it keeps its own).
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "pairs": single clusters and all pairs. "selected": single clusters and
        the pairs of mutually most similar clusters, by the similarity sum_i pi_ik pi_il. "auto": pairs up to four
        clusters, selected pairs beyond. "simple": single clusters and the frame. "full": all subsets.
    n_pairs : int, "all" or "auto", default="auto"
        "all": all pairs of objects are looked at. A number: the pairs of each object with that many reference objects,
        drawn at random but enough from each cluster, which are fitted among themselves first; time is then linear in
        the number of objects, and memory does not grow with their pairs (40 bytes each with "all"). "auto": all pairs
        up to 2,000 objects, 500 partners beyond.
    n_neighbors : int, default=2
        For selected pairs: each cluster must be among this many most similar ones of the other.
    max_iter : int, default=1000
        Sweeps over the objects when masses are fitted.
    tol : float, default=1e-6
        The sweeps end when e_t = (e_{t-1} + relative change of the objective) / 2 falls below it.
    warm_start : bool, default=False
        Fit again to the same data with the mixtures of the call before, which take most of the time: for other levels,
        focal sets or pairs (``set_params(confidence=0.95).fit(X)``). Mixtures are fitted anew where the data,
        ``n_clusters``, ``n_bootstraps``, ``mixture`` or ``random_state`` have changed.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``: each sample has a seed of its own.
    n_jobs : int or None
        Samples fitted at the same time, by joblib: in threads, or as `joblib.parallel_config` says (processes, a Dask
        cluster). None and -1 use all processors.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    mixture_ : ParsimoniousGaussianMixture
        Fitted to the data. Cluster k of the partition is its component k.
    n_clusters_ : int
    bootstraps_ : Bootstraps
        Parameters of the refitted mixtures.
    n_redrawn_ : int
        Samples that lost a cluster and were drawn again. (With very few objects most samples do; a sample drawn twenty
        times in vain is fitted with a ridge of a hundredth of the variances.)
    intervals_ : PairIntervals
        Confidence intervals and belief-plausibility intervals of all pairs of the reference objects (with all pairs:
        of all objects).
    references_ : ndarray
        Positions of the objects that all others, and new ones, are compared with.
    focal_sets_ : FocalSets
    objective_ : float
        Sum of squares over the pairs of the reference objects.
    history_ : ndarray
        Objective after every sweep.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information Sciences 528.

    Examples
    --------
    >>> from evidentia.cluster import BootClus
    >>> from evidentia.datasets import make_gaussian_mixture
    >>> sample = make_gaussian_mixture(1, as_bunch=True, random_state=0)
    >>> model = BootClus(3, n_bootstraps=100, mixture="EII", random_state=0).fit(sample.data)
    >>> model.intervals_
    PairIntervals(44850 pairs of 300 objects, confidence 0.9)
    >>> 0.7 < model.intervals_.coverage(sample.posterior).belief <= 1  # of the true probabilities
    True
    """

    _rules = {
        **{name: r for name, r in COMMON_RULES.items() if name != "n_init"},
        "n_clusters": rule.choice(None) | rule.integer(1),
        "n_bootstraps": rule.integer(2),
        "confidence": rule.real(0, 1, open_low=True, open_high=True),
        "mixture": rule.choice(None)
        | rule.choice("E", "V", *MODELS)
        | rule.kind(ParsimoniousGaussianMixture, words="a ParsimoniousGaussianMixture"),
        "n_pairs": rule.choice("auto", "all") | rule.integer(2),
        "warm_start": rule.flag,
    }

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        n_bootstraps: int = 500,
        confidence: float = 0.9,
        mixture: Any = None,
        focal_sets: str | FocalSets = "auto",
        n_pairs: int | str = "auto",
        n_neighbors: int = 2,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.n_bootstraps = n_bootstraps
        self.confidence = confidence
        self.mixture = mixture
        self.focal_sets = focal_sets
        self.n_pairs = n_pairs
        self.n_neighbors = n_neighbors
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # ---- fitting --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> BootClus:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A pandas table keeps its index.
        y : ignored
        """
        self._check_parameters()
        data = self._checked_objects(X, reset=True)
        values = np.ascontiguousarray(data, dtype=float)
        fitted = self._fitted(values)
        mixture, bootstraps, posterior = fitted.mixture, fitted.bootstraps, fitted.posterior
        references = self._references(posterior, np.random.default_rng(fitted.for_references))
        asked = self._family_of(posterior)
        family = Family.of(asked)
        with block_map(self.n_jobs) as apply:
            P = bootstraps.posteriors(values[references], apply)
            lower, upper = intervals_of_all_pairs(P, self.confidence, apply)
            del P
            run = fit_masses(lower, upper, family, posterior[references], self.max_iter, self.tol)
            self._remembered = Remembered(
                bootstraps, self.confidence, values[references], run.model, family, len(asked)
            )
            masses = self._remembered.masses_of(values, data.dtype, apply)
        self.mixture_ = mixture
        self.n_clusters_ = bootstraps.n_clusters
        self.bootstraps_ = bootstraps
        self.n_redrawn_ = bootstraps.n_redrawn
        self.references_ = references
        self._set_result(run, masses, asked, object_index(X))
        right = np.triu_indices(len(references), 1)
        self.intervals_ = PairIntervals(self.credal_partition_, references, lower[right], upper[right], self.confidence)
        return self

    def _checked_objects(self, X: Any, *, reset: bool) -> np.ndarray:
        data = validate_data(
            self, X, reset=reset, dtype=[np.float64, np.float32], order="C", ensure_min_samples=2 if reset else 1
        )
        if reset and self.n_clusters is not None and len(data) < self.n_clusters:
            raise ValueError(f"n_samples={len(data)} should be >= n_clusters={self.n_clusters}")
        if reset:
            check_enough_objects(data, data, self.n_clusters or 1)
        return data

    def _fitted(self, values: np.ndarray) -> _Fitted:
        """The mixtures of the data and of the samples; with ``warm_start`` those of the call before if they serve."""
        if not self.warm_start:
            return self._fit_mixtures(values, "")
        given = self.mixture.get_params() if isinstance(self.mixture, ParsimoniousGaussianMixture) else self.mixture
        task = f"{(values.shape, self.n_clusters, self.n_bootstraps, given, str(self.random_state))}"
        task += hashlib.sha256(values.data).hexdigest()
        known: _Fitted | None = getattr(self, "_known", None)
        self._known = known if known is not None and known.task == task else self._fit_mixtures(values, task)
        return self._known

    def _fit_mixtures(self, values: np.ndarray, task: str) -> _Fitted:
        for_mixture, for_samples, for_references = seed_sequence(self.random_state).spawn(3)
        mixture = self._fitted_mixture(values, for_mixture)
        posterior = mixture.predict_proba(values)
        with self._progress(self.n_bootstraps, "samples") as advance:
            bootstraps = bootstrap_mixture(
                values,
                mixture.parameters_,
                posterior,
                self.n_bootstraps,
                for_samples,
                tol=min(mixture.tol, _LARGEST_CHANGE / (1 + abs(mixture.log_likelihood_))),
                max_iter=mixture.max_iter,
                regularization=mixture.reg_covar,
                n_jobs=self.n_jobs,
                advance=advance,
            )
        return _Fitted(task, mixture, posterior, bootstraps, for_references)

    def _fitted_mixture(self, data: np.ndarray, seed: np.random.SeedSequence) -> ParsimoniousGaussianMixture:
        """The mixture asked for, fitted to the data."""
        number = int(seed.generate_state(1)[0] >> 1)
        if isinstance(self.mixture, ParsimoniousGaussianMixture):
            mixture = clone(self.mixture)
            if self.n_clusters is not None:
                mixture.set_params(n_components=self.n_clusters)
        else:
            components = "auto" if self.n_clusters is None else self.n_clusters
            model = "auto" if self.mixture is None else self.mixture
            tol = _TOLERANCE * min(1.0, _TOLERANCE_UP_TO / len(data))
            mixture = ParsimoniousGaussianMixture(components, model=model, tol=tol, n_jobs=self.n_jobs)
        if mixture.random_state is None:
            mixture.set_params(random_state=number)
        return mixture.fit(data)

    def _references(self, posterior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n = len(posterior)
        if self.n_pairs == "all" or (self.n_pairs == "auto" and n <= _ALL_PAIRS_UP_TO):
            return np.arange(n)
        partners = _PARTNERS if isinstance(self.n_pairs, str) else self.n_pairs
        return choose_references(posterior.argmax(axis=1), partners, rng)

    def _family_of(self, posterior: np.ndarray) -> FocalSets:
        c = posterior.shape[1]
        if isinstance(self.focal_sets, FocalSets):
            if (self.focal_sets.singleton_index < 0).any():
                raise ValueError("focal_sets must hold every single cluster: belief in a pair comes from them")
            return self.focal_sets
        if self.focal_sets == "full":
            return FocalSets.full(c, empty=False)
        if self.focal_sets == "simple":
            return FocalSets.simple(c, empty=False)
        if self.focal_sets == "pairs" or (self.focal_sets == "auto" and c <= _PAIRS_UP_TO):
            return FocalSets.pairs(c, empty=False, omega=False)
        similar = mutual_neighbors(posterior.T @ posterior, self.n_neighbors)
        return FocalSets.with_pairs(c, similar, empty=False, omega=False)

    # ---- pairs ----------------------------------------------------------------------------------------------------

    def pair_probabilities(self, X: Any, pairs: Any) -> np.ndarray:
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

    def pair_intervals(self, X: Any, pairs: Any) -> np.ndarray:
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

    def _posteriors_of_pairs(self, X: Any, pairs: Any) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of the objects that occur in the pairs, and the pairs among these."""
        check_is_fitted(self, "credal_partition_")
        data = self._checked_objects(X, reset=False)
        wanted = checked_pairs(pairs, len(data))
        objects, places = np.unique(wanted, return_inverse=True)
        P = self.bootstraps_.posteriors(np.ascontiguousarray(data[objects], dtype=float))
        return P, np.ascontiguousarray(places.reshape(wanted.shape), dtype=np.int64)

    # ---- new objects ----------------------------------------------------------------------------------------------

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects: each is compared with the reference objects, whose masses stay as they are.

        The bootstrap fits give intervals for the probability of being together with each reference object; the masses
        are those that match them best (a convex problem). An object with the attributes of a reference object gets the
        masses of that one, so the training objects keep theirs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        CredalPartition
        """
        return super().predict_mass(X)

    def _masses(self, X: np.ndarray) -> np.ndarray:
        with block_map(self.n_jobs) as apply:
            return self._remembered.masses_of(np.ascontiguousarray(X, dtype=float), X.dtype, apply)
