"""Calibrated model-based evidential clustering by bootstrapping."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError
from dempster._progress import heard_by
from dempster._random import seed_sequence
from dempster._types import Advance, ArrayLike, Seed, TableLike
from dempster._validation import check_memory
from dempster.belief import FocalSets
from dempster.cluster import egmm as _kernels
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, FitRequest, Support
from dempster.cluster._search import Families, FitResult, Method, Sample, named_family, require_singletons
from dempster.cluster._starts import check_different_objects
from dempster.cluster.egmm import neighbors_in_metric
from dempster.cluster.evidence import ClusterEvidence, quadratic_parts
from dempster.dissimilarity.sources import AttributeSource, References
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.mixture.em import MODELS, GaussianParameters, binary_unit, fit_em, unit_log_likelihood
from dempster.optimize.blocks import Apply, block_map, n_threads, row_blocks
from dempster.optimize.descent import Run
from dempster.optimize.pair_quantiles import (
    probabilities_of_pairs,
    quantile_ranks,
    quantiles_between,
    quantiles_of_pairs,
    quantiles_within,
)
from dempster.optimize.row_fit import descend_intervals, interval_hessian
from dempster.optimize.simplex_qp import simplex_qp_batch
from dempster.partition import CredalPartition
from dempster.partition.compare import mutual_neighbors
from dempster.partition.relational import checked_pairs, pair_forms


class Coverage(NamedTuple):
    """Share of pairs whose true probability lies in their interval, and mean length of the intervals."""

    confidence: float
    belief: float
    confidence_length: float
    belief_length: float


class PairIntervals:
    """For all pairs of some objects, a confidence interval and the belief-plausibility interval fitted to it.

    Both are about the probability that the two objects belong to the same cluster. Pairs come in the order (0, 1),
    (0, 2), ..., (1, 2), ... as in `scipy.spatial.distance.squareform`.

    Parameters
    ----------
    partition : CredalPartition
        Of all objects.
    objects : array of shape (r,)
        The objects whose pairs are meant, by position.
    lower, upper : arrays of shape (r (r - 1) / 2,)
        Bounds of the confidence intervals.
    confidence : float
        Their level.

    Attributes
    ----------
    pairs : ndarray of shape (p, 2)
        Positions of the two objects.
    lower, upper : ndarray of shape (p,)
        Percentile confidence interval.
    belief, plausibility : ndarray of shape (p,)
        That the two objects belong to the same cluster (Denoeux, 2020, eq. 3).

    Examples
    --------
    >>> import numpy as np
    >>> from dempster import CredalPartition
    >>> from dempster.cluster.bootclus import PairIntervals
    >>> cp = CredalPartition.from_rough([[True, False], [True, True]])
    >>> intervals = PairIntervals(cp, np.arange(2), np.array([0.25]), np.array([0.75]), 0.9)
    >>> intervals.belief, intervals.plausibility
    (array([0.]), array([1.]))
    >>> intervals.coverage([[1, 0], [0.95, 0.05]])
    Coverage(confidence=0.0, belief=1.0, confidence_length=0.5, belief_length=1.0)
    """

    def __init__(
        self, partition: CredalPartition, objects: np.ndarray, lower: np.ndarray, upper: np.ndarray, confidence: float
    ):
        self.partition = partition
        self.objects = objects
        self.confidence = confidence
        self._lower, self._upper = lower, upper  # single precision: there are many

    @property
    def lower(self) -> np.ndarray:
        return self._lower.astype(float)

    @property
    def upper(self) -> np.ndarray:
        return self._upper.astype(float)

    @property
    def pairs(self) -> np.ndarray:
        first, second = np.triu_indices(len(self.objects), 1)
        return np.column_stack([self.objects[first], self.objects[second]])

    @property
    def belief(self) -> np.ndarray:
        return self._relational[0]

    @property
    def plausibility(self) -> np.ndarray:
        return self._relational[1]

    @property
    def _relational(self) -> tuple[np.ndarray, np.ndarray]:
        masses = self.partition[self.objects].relational().masses.astype(float)
        return masses[:, 1], 1 - masses[:, 2]  # no mass on the empty set

    def __len__(self) -> int:
        return len(self._lower)

    def probabilities(self, posterior: Any) -> np.ndarray:
        """(p,) probability that each pair is together, from probabilities (n, c) of the clusters for all objects."""
        posterior = np.asarray(posterior, dtype=float)
        if posterior.ndim != 2 or len(posterior) != len(self.partition):
            raise InvalidInputError(
                f"posterior must be of shape ({len(self.partition)}, c), a row for each object, got {posterior.shape}"
            )
        chosen = posterior[self.objects]
        r = len(chosen)
        out = np.empty(r * (r - 1) // 2)
        start = 0
        for i in range(r - 1):
            stop = start + r - i - 1
            out[start:stop] = chosen[i + 1 :] @ chosen[i]
            start = stop
        return out

    def coverage(self, posterior: Any) -> Coverage:
        """How often the intervals hold the true probability, where it is known (simulated data).

        Parameters
        ----------
        posterior : array-like of shape (n, c)
            True probabilities of the clusters for all objects of the partition, in any order of the clusters.

        Returns
        -------
        Coverage
        """
        true = self.probabilities(posterior)
        lower, upper = self.lower, self.upper
        belief, plausibility = self._relational
        return Coverage(
            confidence=float(np.mean((lower <= true) & (true <= upper))),
            belief=float(np.mean((belief <= true) & (true <= plausibility))),
            confidence_length=float(np.mean(upper - lower)),
            belief_length=float(np.mean(plausibility - belief)),
        )

    def to_frame(self):
        """A pandas table with a row for each pair."""
        import pandas as pd

        belief, plausibility = self._relational
        columns = {"lower": self.lower, "upper": self.upper, "belief": belief, "plausibility": plausibility}
        return pd.DataFrame(columns, index=pd.MultiIndex.from_arrays(list(self.pairs.T), names=["first", "second"]))

    def __repr__(self) -> str:
        return f"PairIntervals({len(self)} pairs of {len(self.objects)} objects, confidence {self.confidence:g})"


_ROWS_OF_PAIRS = 8  # rows of the matrix of pairs a thread takes at once
_PAIRS = 4096
_MIN_A_CLUSTER = 20  # references drawn from each cluster, if it has as many
_UNIFORM = 0.1  # share of the uniform mass function in the start


def choose_references(labels: np.ndarray, n_references: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of objects drawn at random, in proportion to the clusters but enough from each of them."""
    n = len(labels)
    if n_references >= n:
        return np.arange(n)
    chosen = rng.permutation(n)[:n_references]
    present = np.bincount(labels[chosen], minlength=labels.max() + 1)
    extra = []
    for k in np.unique(labels):
        missing = min(_MIN_A_CLUSTER, n_references // 2) - present[k]
        if missing > 0:
            rest = np.setdiff1d(np.flatnonzero(labels == k), chosen)
            extra.append(rng.permutation(rest)[:missing])
    return np.sort(np.concatenate([chosen, *extra]))


def intervals_of_all_pairs(P: np.ndarray, confidence: float, apply: Apply) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (n, n) float32 for all pairs of objects; the diagonals hold zeros."""
    n = len(P)
    lower, upper = np.zeros((n, n), dtype=np.float32), np.zeros((n, n), dtype=np.float32)
    ranks = quantile_ranks(P.shape[2], confidence)
    blocks = row_blocks(n, _ROWS_OF_PAIRS, most=None)
    apply(quantiles_within, [(P, *ranks, lower, upper, *rows) for rows in blocks])
    return lower, upper


def intervals_of_pairs(
    P: np.ndarray, pairs: np.ndarray, confidence: float, apply: Apply
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (p,) for chosen pairs."""
    lower, upper = np.empty(len(pairs)), np.empty(len(pairs))
    ranks = quantile_ranks(P.shape[2], confidence)
    blocks = row_blocks(len(pairs), _PAIRS, most=None)
    apply(quantiles_of_pairs, [(P, pairs, *ranks, lower, upper, *rows) for rows in blocks])
    return lower, upper


@dataclass(frozen=True, eq=False)
class PairFamily:
    """A family of focal sets without the empty set, which a probabilistic model gives no mass.

    Attributes
    ----------
    asked : FocalSets
        The family that was asked for.
    sets : FocalSets
        Its nonempty sets.
    columns : (f,) array
        Of these sets in the family that was asked for.
    forms : (2, f, f) array
        m_i' S m_j = belief, m_i' C m_j = 1 - plausibility of "same cluster".
    """

    asked: FocalSets
    sets: FocalSets
    columns: np.ndarray
    forms: np.ndarray

    @classmethod
    def of(cls, family: FocalSets) -> PairFamily:
        columns = np.flatnonzero(family.cardinality > 0)
        sets = FocalSets(family.membership[columns])
        return cls(family, sets, columns, np.ascontiguousarray(pair_forms(sets)[1:3]))

    def start(self, posterior: np.ndarray) -> PairMasses:
        """Masses on the single clusters as the mixture has them, a little uniform: all sets can be reached."""
        f = len(self.sets)
        masses = np.full((len(posterior), f), _UNIFORM / f)
        masses[:, self.sets.singleton_index] += (1 - _UNIFORM) * posterior
        masses /= masses.sum(axis=1, keepdims=True)
        return PairMasses(self, masses)


@dataclass(frozen=True, eq=False)
class PairMasses:
    """Masses of some objects, on the nonempty sets of a family.

    Attributes
    ----------
    family : PairFamily
    masses : (r, f) array
    """

    family: PairFamily
    masses: np.ndarray


def fit_masses(start: PairMasses, lower: np.ndarray, upper: np.ndarray, max_iter: int, tol: float) -> Run[PairMasses]:
    """Masses whose beliefs and plausibilities of pairs match the bounds (Denoeux, 2020, algorithm 2)."""
    family, masses = start.family, start.masses.copy()
    targets = np.stack([lower, 1 - upper])  # eq. 13
    for target in targets:
        np.fill_diagonal(target, 0)
    history, converged = descend_intervals(masses, targets, family.forms, np.arange(len(masses)), max_iter, tol)
    return Run(PairMasses(family, masses), [float(max(value, 0.0)) for value in history], bool(converged))


_MAX_REDRAWS = 100  # of one sample, before the model is called unfit for these data
_PLAIN_REDRAWS = 20  # of one sample, before a ridge keeps its components from collapsing
_RIDGE = 0.01  # of the variance of each attribute
_SAMPLES_A_TASK = 10
_ROWS = 64  # objects whose probabilities are computed together


class _Refit(NamedTuple):
    """What every sample is drawn from, where its fit starts, and how it is fitted; can be sent to other processes."""

    data: np.ndarray
    fitted: GaussianParameters
    posterior: np.ndarray
    tol: float
    max_iter: int
    regularization: float
    scaled: bool


class _Replicate(NamedTuple):
    proportions: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: float
    n_redrawn: int


@dataclass(frozen=True, eq=False)
class Bootstraps:
    """Parameters of B fits of a mixture of c components to bootstrap samples.

    Component k of every fit is the one that shares most objects with component k of the mixture fitted to the data.

    Attributes
    ----------
    proportions : ndarray of shape (B, c)
    means : ndarray of shape (B, c, d)
    covariances : ndarray of shape (B, c, d, d)
    log_likelihood : ndarray of shape (B,)
        Of each sample under its own fit.
    n_redrawn : int
        Samples thrown away because the fit lost a component, and drawn again.
    """

    proportions: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: np.ndarray
    n_redrawn: int

    def __len__(self) -> int:
        return len(self.proportions)

    @property
    def n_clusters(self) -> int:
        return int(self.proportions.shape[1])

    def posteriors(self, X: np.ndarray, apply: Apply | None = None) -> np.ndarray:
        """(n, c, B) float32 probabilities of the components given each object, under every fit.

        Parameters
        ----------
        X : (n, d) float64
        apply : Apply, optional
            Several blocks of objects at the same time.
        """
        return self.posterior_function()(X, apply)

    def posterior_function(self) -> Callable[..., np.ndarray]:
        """`posteriors` as a function, with what depends on the fits alone computed once."""
        prepared = self._prepared()

        def posteriors(X: np.ndarray, apply: Apply | None = None) -> np.ndarray:
            out = np.empty((len(X), self.n_clusters, len(self)), dtype=np.float32)
            if apply is None:
                _kernels.posteriors(X, *prepared, out, 0, len(X))
            else:
                blocks = row_blocks(len(X), _ROWS, most=None)
                apply(_kernels.posteriors, [(X, *prepared, out, *rows) for rows in blocks])
            return out

        return posteriors

    def _prepared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inverse Cholesky factors (c, d, d, B), means (c, d, B) and constants (c, B) of the log-densities."""
        factors = np.linalg.cholesky(self.covariances)
        whiteners = np.linalg.inv(factors)
        # in a unit that is a power of two, so that those of X change no digit
        unit = binary_unit(np.diagonal(self.covariances[0], axis1=1, axis2=2).mean())
        half_log_det = np.log(np.diagonal(factors, axis1=2, axis2=3) / unit).sum(axis=2)
        constants = np.log(np.maximum(self.proportions, 1e-300)) - half_log_det
        last = (np.ascontiguousarray(np.moveaxis(a, 0, -1)) for a in (whiteners, self.means, constants))
        return tuple(last)  # type: ignore[return-value]

    def __repr__(self) -> str:
        return f"Bootstraps({len(self)} fits of {self.n_clusters} components, {self.n_redrawn} samples redrawn)"


def bootstrap_mixture(
    data: np.ndarray,
    fitted: GaussianParameters,
    posterior: np.ndarray,
    n_bootstraps: int,
    seed: np.random.SeedSequence,
    *,
    tol: float,
    max_iter: int,
    regularization: float,
    scaled: bool,
    n_jobs: int | None,
    advance: Advance,
) -> Bootstraps:
    """Refit a mixture to samples drawn with replacement, each fit starting from the mixture of all data.

    Every sample has a seed of its own, so the result does not depend on how the work is shared out. The work goes
    through joblib: threads by default, whatever `joblib.parallel_config` says otherwise (processes, a Dask cluster).

    Parameters
    ----------
    data : (n, d) float64
    fitted : the mixture fitted to the data
    posterior : (n, c) its probabilities of the components, to recognise them in the fits
    n_bootstraps : int
    seed : numpy SeedSequence
    tol, max_iter, regularization, scaled : of the EM algorithm
    n_jobs : int or None
    advance : function called after every sample with a word on the state
    """
    refit = _Refit(data, fitted, posterior, tol, max_iter, regularization, scaled)
    check_memory(n_bootstraps * fitted.covariances.nbytes, f"n_bootstraps={n_bootstraps:,}", "take fewer")
    seeds = seed.spawn(n_bootstraps)
    tasks = [seeds[s : s + _SAMPLES_A_TASK] for s in range(0, n_bootstraps, _SAMPLES_A_TASK)]
    replicates: list[_Replicate] = []
    redrawn = 0
    for some in _in_parallel(n_jobs, refit, tasks):
        for replicate in some:
            replicates.append(replicate)
            redrawn += replicate.n_redrawn
            advance(f"{redrawn} redrawn" if redrawn else "")
    return Bootstraps(
        proportions=np.stack([r.proportions for r in replicates]),
        means=np.stack([r.means for r in replicates]),
        covariances=np.stack([r.covariances for r in replicates]),
        log_likelihood=np.array([r.log_likelihood for r in replicates]),
        n_redrawn=redrawn,
    )


def _in_parallel(
    n_jobs: int | None, refit: _Refit, tasks: list[list[np.random.SeedSequence]]
) -> Iterator[list[_Replicate]]:
    """Results of the tasks in their order, as they come."""
    from joblib import Parallel, delayed

    workers = min(n_threads(n_jobs), len(tasks))
    if workers == 1:
        return (_refit(refit, seeds) for seeds in tasks)
    return Parallel(n_jobs=workers, prefer="threads", return_as="generator")(
        delayed(_refit)(refit, seeds) for seeds in tasks
    )


def _refit(refit: _Refit, seeds: list[np.random.SeedSequence]) -> list[_Replicate]:
    """One task: a few samples."""
    return [_refit_once(refit, np.random.default_rng(seed)) for seed in seeds]


def _refit_once(refit: _Refit, rng: np.random.Generator) -> _Replicate:
    """Draw a sample and fit it; draw again as long as the fit loses a component, after a while with a ridge."""
    data, fitted, posterior, tol, max_iter, regularization, scaled = refit
    n = len(data)
    for redrawn in range(_MAX_REDRAWS + 1):
        weights = np.bincount(rng.integers(n, size=n), minlength=n).astype(float)
        if redrawn == _PLAIN_REDRAWS:  # very few objects: most samples are degenerate
            regularization = max(regularization, _RIDGE)
        result = fit_em(
            data,
            weights,
            fitted,
            fitted.model,
            tol=tol,
            max_iter=max_iter,
            regularization=regularization,
            scaled=scaled,
        )
        if result.problem is None:
            p = result.parameters
            assert p is not None
            assert result.responsibilities is not None
            order = _alignment(result.responsibilities, posterior)
            likelihood = float(result.log_likelihood)
            return _Replicate(p.proportions[order], p.means[order], p.covariances[order], likelihood, redrawn)
    raise InvalidInputError(
        f"X has too few objects for n_clusters={len(fitted.proportions)} components of model {fitted.model}: "
        f"{_MAX_REDRAWS + 1} bootstrap samples in a row lost a component (the last: {result.problem}); "
        "use fewer clusters or a simpler mixture"
    )


def _alignment(responsibilities: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """For each component of the mixture, the component of the refit that shares most objects with it."""
    shared = posterior.T @ responsibilities
    best = shared.argmax(axis=1)
    if np.array_equal(np.sort(best), np.arange(len(best))):
        return best
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(shared, maximize=True)[1]


@dataclass(frozen=True, eq=False)
class PairModel:
    """Each object is compared with the reference objects, whose masses stay as they are.

    Attributes
    ----------
    bootstraps : Bootstraps
    confidence : float
        Level of the intervals.
    references : References
        In double precision.
    fitted : PairMasses
        Of the references.
    compared : (r,) array
        The references, by their numbers, that other objects are compared with.
    """

    bootstraps: Bootstraps
    confidence: float
    references: References
    fitted: PairMasses
    compared: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.fitted.family.asked

    def masses(self, values: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of any objects; one with the attributes of a reference object has the masses of that one.

        For the others the intervals of their pairs with some of the reference objects are computed, and matched with
        the masses of these held fixed: a small convex quadratic program each.
        """
        out = np.zeros((len(values), len(self.family)), dtype=values.dtype)
        X = np.ascontiguousarray(values, dtype=float)
        same = self.references.equals(X)
        known, new = np.flatnonzero(same >= 0), np.flatnonzero(same < 0)
        out[np.ix_(known, self.fitted.family.columns)] = self.fitted.masses[same[known]]
        if len(new):
            # threads go over blocks, so the matrix products inside must not start their own
            with one_blas_thread():
                self._project(X, new, out, apply)
        return out

    def evidence(self, values: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the logarithm of the weight times the density of its Gaussian, in the mean over
        the bootstrap fits."""
        fits = self.bootstraps
        gap = np.asarray(values, dtype=float)[0] - fits.means
        parts = -quadratic_parts(gap, np.linalg.inv(fits.covariances)).mean(axis=0).T / 2
        determinants = np.linalg.slogdet(2 * np.pi * fits.covariances)[1]
        base = (np.log(np.maximum(fits.proportions, 1e-300)) - determinants / 2).mean(axis=0)
        return ClusterEvidence.of_attributes("mean logarithm of weight times density", parts, base)

    def without(self, position: int) -> PairModel:
        """The same, but that one object of the fit is not compared with."""
        others = self.compared[self.references.positions[self.compared] != position]
        return replace(self, compared=others) if len(others) else self

    def _project(self, X: np.ndarray, which: np.ndarray, out: np.ndarray, apply: Apply) -> None:
        assert self.references.source is not None
        family, fixed = self.fitted.family, self.fitted.masses[self.compared]
        posterior_of = self.bootstraps.posterior_function()
        Q = posterior_of(self.references.source.objects[self.compared], apply)
        ranks = quantile_ranks(len(self.bootstraps), self.confidence)
        H = interval_hessian(fixed, family.forms)
        same, different = (-2 * fixed @ form for form in family.forms)

        def work(start: int, stop: int) -> None:
            rows = which[start:stop]
            lower, upper = np.empty((len(rows), len(Q))), np.empty((len(rows), len(Q)))
            quantiles_between(posterior_of(X[rows]), Q, *ranks, lower, upper)
            linear = lower @ same + (1 - upper) @ different
            masses = np.zeros_like(linear)
            simplex_qp_batch(H, linear, masses, 0, len(rows))
            out[np.ix_(rows, family.columns)] = masses

        apply(work, row_blocks(len(which), _ROWS, most=None))


_TOLERANCE, _TOLERANCE_UP_TO = 1e-5, 300  # of EM, and the number of objects beyond which it is tightened
# Samples are fitted until the log-likelihood changes by no more than this, whatever its size: the estimates of a sample
# differ from those of the data by half a unit a parameter, of which EM must not leave out much.
_MAX_CHANGE = 0.01


def mixture_fingerprint(params: BootClus, n_clusters: int | None, data: np.ndarray) -> str:
    """Return a digest that changes with the data, with the parameters of the mixtures, and with the state of a
    generator of random numbers."""
    given = params.mixture.get_params() if isinstance(params.mixture, ParsimoniousGaussianMixture) else params.mixture
    parts = (data.shape, n_clusters, given, params.n_bootstraps, params.random_state)
    return hashlib.sha256(pickle.dumps(parts) + hashlib.sha256(data.data).digest()).hexdigest()


@dataclass(frozen=True, eq=False)
class MixtureFits:
    """Mixtures, and what they were fitted to.

    Attributes
    ----------
    mixture : ParsimoniousGaussianMixture
        Fitted to the data.
    posterior : (n, c) array
        Its probabilities of the components.
    bootstraps : Bootstraps
        Fitted to the samples.
    for_references : numpy SeedSequence
        For what is drawn afterwards.
    fingerprint : str
        Of the settings and the data, with the random state as this fit has left it: as long as nobody draws from it,
        it stands for these mixtures.
    """

    mixture: ParsimoniousGaussianMixture
    posterior: np.ndarray
    bootstraps: Bootstraps
    for_references: np.random.SeedSequence
    fingerprint: str


def fit_mixtures(params: BootClus, n_clusters: int | None, data: np.ndarray) -> MixtureFits:
    """Fit the mixture to the data, then to samples of them; BIC chooses the number of clusters if it is None."""
    for_mixture, for_samples, for_references = seed_sequence(params.random_state).spawn(3)
    if isinstance(params.mixture, ParsimoniousGaussianMixture):
        mixture = clone(params.mixture)
        if n_clusters is not None:
            mixture.set_params(n_components=n_clusters)
    else:
        mixture = ParsimoniousGaussianMixture(
            "auto" if n_clusters is None else n_clusters,
            model="auto" if params.mixture is None else params.mixture,
            tol=_TOLERANCE * min(1.0, _TOLERANCE_UP_TO / len(data)),
            n_jobs=params.n_jobs,
        )
    if mixture.random_state is None:
        mixture.set_params(random_state=int(for_mixture.generate_state(1)[0] >> 1))
    with params._open_progress(None, "models") as advance:

        def hear(name: str, done: int, total: int | None, unit: str, note: str) -> None:
            if done:
                advance(note)

        with heard_by(hear):
            mixture.fit(data)
    posterior = mixture.predict_proba(data)
    scaled = mixture.convention == "scaled"
    likelihood = mixture.log_likelihood_ - (unit_log_likelihood(data) if scaled else 0.0)
    with params._open_progress(params.n_bootstraps, "samples") as advance:
        bootstraps = bootstrap_mixture(
            data,
            mixture.parameters_,
            posterior,
            params.n_bootstraps,
            for_samples,
            tol=min(mixture.tol, _MAX_CHANGE / (1 + abs(likelihood))),
            max_iter=mixture.max_iter,
            regularization=mixture.reg_covar,
            scaled=scaled,
            n_jobs=params.n_jobs,
            advance=advance,
        )
    return MixtureFits(mixture, posterior, bootstraps, for_references, mixture_fingerprint(params, n_clusters, data))


_ALL_PAIRS_UP_TO = 2000  # objects, for n_partners="auto"
_PARTNERS = 500  # of each object beyond
_COMPARED = 150  # of these, with whom the other objects are compared: more change neither masses nor coverage


class BootClusMethod(Method[PairMasses, PairMasses]):
    """The pairs of the reference objects, with one start: what the mixture says of each object."""

    def __init__(self, params: BootClus, sample: Sample[np.ndarray], fits: MixtureFits, apply: Apply):
        self.params, self.values, self.fits, self.apply = params, sample.values, fits, apply
        self.which, self.compared = self._reference_positions()
        data = np.ascontiguousarray(self.values, dtype=float)
        self.references = References.of(AttributeSource(data), self.which)
        probabilities = fits.bootstraps.posteriors(data[self.which], apply)
        self.lower, self.upper = intervals_of_all_pairs(probabilities, params.confidence, apply)

    def _reference_positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the reference objects; which of them others are compared with."""
        n, wanted = len(self.values), self.params.n_partners
        if wanted == "all" or (wanted == "auto" and n <= _ALL_PAIRS_UP_TO):
            return np.arange(n), np.arange(n)
        rng, labels = np.random.default_rng(self.fits.for_references), self.fits.posterior.argmax(axis=1)
        if not isinstance(wanted, str):
            which = choose_references(labels, wanted, rng)
            return which, np.arange(len(which))
        which = choose_references(labels, _PARTNERS, rng)
        return which, choose_references(labels[which], _COMPARED, rng)

    def draw_starts(self, family: FocalSets) -> list[PairMasses]:
        return [PairFamily.of(family).start(self.fits.posterior[self.which])]

    def run_start(self, start: PairMasses) -> Run[PairMasses]:
        return fit_masses(start, self.lower, self.upper, self.params.max_iter, self.params.tol)

    def partition(self, run: Run[PairMasses]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses, run.model.family.sets)

    def result(self, run: Run[PairMasses]) -> FitResult:
        model = PairModel(self.fits.bootstraps, self.params.confidence, self.references, run.model, self.compared)
        return FitResult(run, model, model.masses(self.values, self.apply))

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(p,) lower and upper bounds of the pairs (0, 1), (0, 2), ..., (1, 2), ... of the reference objects."""
        right = np.triu_indices(len(self.which), 1)
        return self.lower[right], self.upper[right]


def pair_family(focal_sets: str | FocalSets, fits: MixtureFits, n_neighbor_clusters: int) -> FocalSets:
    """What the parameter of BootClus stands for: with "auto" pairs of neighboring means, with "selected" pairs of
    mutually most similar clusters by the similarity sum_i pi_ik pi_il."""
    if isinstance(focal_sets, FocalSets):
        require_singletons(focal_sets, "belief in a pair comes from them")
        return focal_sets
    posterior, mixture = fits.posterior, fits.mixture
    n_clusters = posterior.shape[1]
    if focal_sets == "auto":
        within = np.tensordot(mixture.weights_, mixture.covariances_, axes=1)
        return neighbors_in_metric(mixture.means_, within)
    if focal_sets == "selected":
        similar = mutual_neighbors(posterior.T @ posterior, n_neighbor_clusters)
        return FocalSets.with_pairs(n_clusters, similar, empty=False, omega=False)
    return named_family(focal_sets, n_clusters, empty=False, omega=False)


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
    _min_rows = 2
    _fits: MixtureFits | None = None
    _support = Support(blocks=True)

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

    def _find_n_clusters(self, sample: Sample[np.ndarray], apply: Apply) -> int:
        data = np.ascontiguousarray(sample.values, dtype=float)
        wanted = self.focal_sets.n_clusters if isinstance(self.focal_sets, FocalSets) else self._requested_clusters()
        if self.n_clusters == "auto":
            wanted = super()._find_n_clusters(sample, apply)
        check_different_objects(data, data, wanted or 1)
        known = self._fits if self.warm_start else None
        if known is None or known.fingerprint != mixture_fingerprint(self, wanted, data):
            self._fits = fit_mixtures(self, wanted, data)
        return self._known_fits().bootstraps.n_clusters

    def _known_fits(self) -> MixtureFits:
        assert self._fits is not None
        return self._fits

    def _resolve_families(self, n_clusters: int) -> Families:
        return Families(pair_family(self.focal_sets, self._known_fits(), self.n_neighbor_clusters))

    def _make_method(self, sample: Sample[np.ndarray], request: FitRequest) -> BootClusMethod:
        return BootClusMethod(self, sample, self._known_fits(), request.apply)

    def _fitted_attributes(self, method: BootClusMethod, model: PairModel) -> dict[str, Any]:
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
