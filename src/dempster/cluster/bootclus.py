"""Calibrated model-based evidential clustering by bootstrapping.

A fit has three steps, in this order below: mixtures are fitted to the data and to bootstrap samples
(`fit_mixtures`), their probabilities give confidence intervals for pairs of reference objects
(`compute_pair_intervals`), and masses are fitted to these intervals (`BootClusMethod`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._native import kernel
from dempster._progress import report_progress_to
from dempster._random import as_seed_sequence
from dempster._types import ArrayFunction, ArrayLike, ArrayPair, Seed, TableLike
from dempster._validation import check_memory
from dempster.belief import FocalSets
from dempster.cluster._base import (
    COMMON_RULES,
    EvidentialClusterer,
    FitRequest,
    Support,
)
from dempster.cluster._distinct_rows import without_common_repetition
from dempster.cluster._search import (
    Families,
    FitResult,
    Method,
    Sample,
    check_number_of_sets,
    named_family,
    require_singletons,
)
from dempster.cluster._starts import check_different_objects
from dempster.dissimilarity.categories import ABSENT, CategoryEncoder
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    References,
    separations,
)
from dempster.mixture import (
    LatentClassModel,
    ParsimoniousGaussianMixture,
    em,
    latent_class,
)
from dempster.mixture.em import MODELS, GaussianParameters, binary_unit, normalize
from dempster.mixture.latent_class import LatentClassParameters, category_indicators
from dempster.optimize.blocks import Apply, block_map, n_threads, row_blocks
from dempster.optimize.descent import Run
from dempster.optimize.pair_quantiles import (
    probabilities_of_pairs,
    quantile_ranks,
    quantiles_between,
    quantiles_of_pairs,
    quantiles_within,
)
from dempster.optimize.projection import approach_known_masses, approach_radii
from dempster.optimize.row_fit import descend_intervals, interval_hessian
from dempster.optimize.simplex_qp import simplex_qp_batch
from dempster.partition import CredalPartition
from dempster.partition.compare import mutual_neighbors
from dempster.partition.relational import check_pair_indices, pair_forms
from dempster.posterior.boundaries import count_boundaries, neighbor_family
from dempster.posterior.evidence import ClusterEvidence, quadratic_parts

_SAMPLES_PER_TASK = 10
# number of redraws of a bootstrap sample after which an error is raised
_MAX_REDRAWS = 100
# number of redraws of a bootstrap sample after which regularization is added
_PLAIN_REDRAWS = 20
_RIDGE = 0.01  # regularization, as a share of the variance of each attribute
# With fewer objects per parameter, intervals of the most general model are long and cover too
# little.
_OBJECTS_PER_PARAMETER = 10
_ROWS_PER_TASK = 8  # number of rows of the matrix of pairs that one task computes
_PAIRS_PER_TASK = 4096
_ROWS = 64  # number of rows in a block
# largest number of rows for which n_partners="auto" uses all pairs
_ALL_PAIRS_UP_TO = 2000
_N_REFERENCES = 500  # number of reference rows if not all pairs are used
# number of reference rows that other rows are compared with; more do not change the results
_N_COMPARED = 150
_MIN_REFERENCES_PER_CLUSTER = 20
_UNIFORM_SHARE = 0.1  # weight of the uniform mass function in the initial masses
# Largest number of clusters for which focal_sets="auto" contains all pairs: a missing pair
# decreases the coverage.
_ALL_PAIRS_OF_CLUSTERS_UP_TO = 4

_bootstrap_posteriors = kernel("""bootstrap_posteriors(
    X: float64[n, d], whiteners: float64[g, d, width, fits], means: float64[g, d, fits],
    constants: float64[g, fits], out: float32[n, g, fits] out)""")


# ---- mixtures fitted to bootstrap samples --------------------------------------------------------


class BootstrapFits(ABC):
    """Parameters of B fits of a mixture of c components to bootstrap samples.

    Component k of every fit is matched to component k of the mixture fitted to the data.
    """

    proportions: np.ndarray  # (B, c)
    # EM on a sample stops when the log-likelihood changes by less than this value per parameter.
    max_change: ClassVar[float]
    refit_em: ClassVar[Callable[..., Any]]  # function that fits mixtures to samples

    def __len__(self) -> int:
        return len(self.proportions)

    @property
    def log_proportions(self) -> np.ndarray:
        return np.log(np.maximum(self.proportions, 1e-300))

    def posteriors(self, X: np.ndarray, apply: Apply | None = None) -> np.ndarray:
        """Return the posterior probabilities of the components under every fit, shape (n, c, B).

        Blocks of rows are processed in parallel if ``apply`` is not None.
        """
        compute = self.posterior_function()
        if apply is None:
            return compute(X)
        return _compute_in_blocks(compute, X, apply)

    @abstractmethod
    def posterior_function(self) -> ArrayFunction:
        """Return a function that computes `posteriors`; the parameters are prepared only once."""

    @abstractmethod
    def evidence(self, x: np.ndarray) -> ClusterEvidence:
        """Return the mean over the fits of log(proportion times density) of each cluster."""


def _compute_in_blocks(
    compute: ArrayFunction, X: np.ndarray, apply: Apply
) -> np.ndarray:
    """Return the result of a function of rows, computed in parallel for blocks of rows."""
    blocks = row_blocks(len(X), _ROWS, most=None)
    return np.concatenate(apply(compute, [(X[a:b],) for a, b in blocks]))


@dataclass(frozen=True, eq=False, repr=False)
class Bootstraps(BootstrapFits):
    """Gaussian mixtures fitted to bootstrap samples."""

    proportions: Annotated[np.ndarray, "B c"]
    means: Annotated[np.ndarray, "B c d"]
    covariances: Annotated[np.ndarray, "B c d d"]
    # EM converges slowly. With 0.001, it stops too early for models with many parameters, and the
    # coverage of VVV falls by 0.02 to 0.03.
    max_change = 3e-4
    refit_em = staticmethod(em.refit_em)

    def posterior_function(self) -> ArrayFunction:
        variances = np.diagonal(self.covariances, axis1=2, axis2=3)
        if np.count_nonzero(self.covariances) == np.count_nonzero(variances):
            deviations = np.sqrt(variances)
            whiteners = 1 / deviations[..., None]
        else:
            factors = np.linalg.cholesky(self.covariances)
            whiteners = np.linalg.inv(factors)
            deviations = np.diagonal(factors, axis1=2, axis2=3)
        # The unit is a power of two, so the division causes no rounding errors.
        unit = binary_unit(np.diagonal(self.covariances[0], axis1=1, axis2=2).mean())
        half_log_det = np.log(deviations / unit).sum(axis=2)
        constants = self.log_proportions - half_log_det
        # The kernel requires that the last axis is the axis of the fits.
        prepared = [
            np.ascontiguousarray(np.moveaxis(a, 0, -1))
            for a in (whiteners, self.means, constants)
        ]

        def compute(X: np.ndarray) -> np.ndarray:
            out = np.empty((len(X), *constants.T.shape), np.float32)
            _bootstrap_posteriors(X, *prepared, out)
            return out

        return compute

    def evidence(self, x: np.ndarray) -> ClusterEvidence:
        squares = quadratic_parts(x - self.means, np.linalg.inv(self.covariances))
        parts = -squares.mean(axis=0).T / 2
        determinants = np.linalg.slogdet(2 * np.pi * self.covariances)[1]
        base = (self.log_proportions - determinants / 2).mean(axis=0)
        return ClusterEvidence.from_attributes(
            "mean logarithm of weight times density", parts, base
        )


@dataclass(frozen=True, eq=False, repr=False)
class LatentClassBootstraps(BootstrapFits):
    """Latent class models fitted to bootstrap samples."""

    proportions: Annotated[np.ndarray, "B c"]
    # probabilities of the C categories of all attributes
    probabilities: Annotated[np.ndarray, "B c *"]
    max_change = 1e-5  # EM for latent class models converges even more slowly.
    refit_em = staticmethod(latent_class.refit_em)

    def posterior_function(self) -> ArrayFunction:
        n_fits, c, n_categories = self.probabilities.shape
        logs = np.log(self.probabilities).reshape(-1, n_categories).T.copy()
        constants = self.log_proportions

        def compute(X: np.ndarray) -> np.ndarray:
            joint = category_indicators(X, n_categories) @ logs
            joint = joint.reshape(len(X), n_fits, c) + constants
            posteriors = normalize(joint).transpose(0, 2, 1)
            return np.ascontiguousarray(posteriors, np.float32)

        return compute

    def evidence(self, x: np.ndarray) -> ClusterEvidence:
        logs = np.log(self.probabilities[:, :, x.astype(np.int64)]).mean(axis=0).T
        parts = np.where(x[:, None] == ABSENT, 0.0, logs)
        base = self.log_proportions.mean(axis=0)
        return ClusterEvidence.from_attributes(
            "mean logarithm of weight times probability", parts, base
        )


@dataclass(frozen=True, eq=False)
class MixtureFits:
    """Mixtures fitted to the data and to the bootstrap samples."""

    mixture: ParsimoniousGaussianMixture | LatentClassModel  # fitted to the data
    # indices of the training rows; only one copy if the table repeats another one
    rows: Annotated[np.ndarray, "n:int"]
    # probabilities of the components of `mixture`
    posterior: Annotated[np.ndarray, "n c"]
    bootstraps: Bootstraps | LatentClassBootstraps  # fitted to the bootstrap samples
    for_references: np.random.SeedSequence  # seed for drawing the reference rows
    # hash of the settings, the data and the random state after this fit
    fingerprint: str


def fit_mixtures(
    params: BootClus,
    n_clusters: int | None,
    data: np.ndarray,
    encoder: CategoryEncoder | None,
) -> MixtureFits:
    """Fit the mixture to the data, then to bootstrap samples.

    BIC selects ``n_clusters`` if it is None. If there is an encoder, the data are numbers of
    categories.
    """
    rows = without_common_repetition(AttributeSource(data))
    some = data[rows]
    table = some
    if encoder is not None:
        table = encoder.decode(some.astype(np.int64))
    for_mixture, for_samples, for_references = as_seed_sequence(
        params.random_state
    ).spawn(3)
    if encoder is None and (some == some[0]).all():
        # The density of equal rows is infinite. Any density gives a single cluster.
        n_clusters = 1
        table = some = some + np.random.default_rng(0).normal(size=some.shape)
    mixture: Any = params.mixture
    if isinstance(mixture, LatentClassModel | ParsimoniousGaussianMixture):
        mixture = clone(mixture)
        if n_clusters is not None:
            mixture.set_params(n_components=n_clusters)
    else:
        mixture = ParsimoniousGaussianMixture(
            n_clusters or "auto", model=mixture or "auto", n_jobs=params.n_jobs
        )
    if mixture.random_state is None:
        mixture.set_params(random_state=int(for_mixture.generate_state(1)[0] >> 1))
    with params._open_progress(None, "models") as advance:

        def report_progress(*progress: Any) -> None:
            _, done, _, _, note = progress
            if done:
                advance(note)

        with report_progress_to(report_progress):
            mixture.fit(table)
    posterior = mixture.predict_proba(table)
    bootstraps = _fit_bootstraps(params, mixture, some, posterior, for_samples)
    fingerprint = mixture_fingerprint(params, n_clusters, data)
    return MixtureFits(
        mixture, rows, posterior, bootstraps, for_references, fingerprint
    )


def _fit_bootstraps(
    params: BootClus,
    mixture: Any,
    data: np.ndarray,
    posterior: np.ndarray,
    seed: np.random.SeedSequence,
) -> Bootstraps | LatentClassBootstraps:
    """Fit mixtures to bootstrap samples; each fit starts from a mixture fitted to all data.

    Every sample has its own seed, so the result does not depend on the number of workers. joblib
    runs the fits: in threads by default, or in processes or on a Dask cluster if
    `joblib.parallel_config` selects them.
    """
    from joblib import Parallel, delayed

    kind: Any
    n = params.n_bootstraps
    if isinstance(mixture, LatentClassModel):
        kind = LatentClassBootstraps
        regularization = mixture.smoothing
        largest = mixture.parameters_.probabilities
    else:
        kind = Bootstraps
        regularization = mixture.reg_covar
        largest = mixture.covariances_
    check_memory(n * largest.nbytes, f"n_bootstraps={n:,}", "take fewer")
    settings = {
        "max_change": kind.max_change * mixture.n_parameters_,
        "max_iter": mixture.max_iter,
        "regularization": regularization,
    }
    refit = partial(_refit_samples, kind.refit_em, data, posterior, settings)
    seeds = iter(seed.spawn(n))
    tasks = []
    for fitted, count in _weigh_models(mixture, data, n):
        blocks = row_blocks(count, _SAMPLES_PER_TASK, most=None)
        tasks += [(fitted, list(islice(seeds, stop - start))) for start, stop in blocks]
    n_workers = min(n_threads(params.n_jobs), len(tasks))
    workers = Parallel(n_workers, prefer="threads", return_as="generator")
    results = workers(delayed(refit)(*task) for task in tasks)
    fits = []
    with params._open_progress(n, "samples") as advance:
        for fit in chain.from_iterable(results):
            fits.append(fit)
            advance("")
    return kind(*map(np.stack, zip(*fits, strict=True)))


def _weigh_models(mixture: Any, data: np.ndarray, n: int) -> list[tuple[Any, int]]:
    """Return fits of covariance models to the data, each with its number of bootstrap samples.

    With enough objects, the most general model has all n samples: its intervals do not depend
    on the selection of a model, so their coverage is nominal. Otherwise, its estimates vary too
    much. The numbers are then proportional to the Akaike weights exp(L - p), where L is the
    log-likelihood and p the number of parameters of a model, and the intervals include the
    uncertainty about the model; with the selected model alone they are too short. All fits start
    from the selected mixture.
    """
    table = mixture.bic_table_.loc[mixture.n_components_]
    gain = (table["log_likelihood"] - table["n_parameters"]).to_numpy()
    n_parameters = table["n_parameters"].to_numpy()
    general = n_parameters.argmax()
    weights = np.exp(gain - gain.max())
    has_enough = len(data) >= _OBJECTS_PER_PARAMETER * n_parameters[general]
    if has_enough and np.isfinite(gain[general]):
        weights = np.arange(len(table)) == general
    shares = np.cumsum(weights)
    models = table.index[np.searchsorted(shares, (np.arange(n) + 0.5) / n * shares[-1])]
    fits = []
    for name, count in models.value_counts(sort=False).items():
        fitted = mixture.parameters_
        if name != mixture.model_:
            refit = em.fit_em(
                data,
                None,
                fitted,
                name,
                tol=mixture.tol,
                max_iter=mixture.max_iter,
                regularization=mixture.reg_covar,
                scaled=mixture.convention == "scaled",
            )
            fitted = refit.parameters or fitted
        fits.append((fitted, int(count)))
    return fits


def _refit_samples(
    refit_em: Callable[..., Any],
    data: np.ndarray,
    posterior: np.ndarray,
    settings: dict[str, Any],
    fitted: GaussianParameters | LatentClassParameters,
    seeds: Sequence[np.random.SeedSequence],
) -> list[Any]:
    """Fit a mixture to bootstrap samples; draw a sample again if its fit loses a component.

    Return the parameters of the mixture of each sample.
    """
    n = len(data)
    rngs = [np.random.default_rng(seed) for seed in seeds]
    fits: list[Any] = [None] * len(seeds)
    left = list(range(len(seeds)))
    for redraws in range(_MAX_REDRAWS + 1):
        samples = [np.bincount(rngs[b].integers(n, size=n), minlength=n) for b in left]
        weights = np.stack(samples).astype(float)
        if redraws == _PLAIN_REDRAWS:
            # With very few rows, most samples are degenerate.
            ridge = max(settings["regularization"], _RIDGE)
            settings = {**settings, "regularization": ridge}
        refits = refit_em(data, weights, fitted, posterior, **settings)
        for i, b in enumerate(left):
            if refits.problems[i] is None:
                order = _match_components(refits.overlaps[i])
                fits[b] = [values[i][order] for values in refits.parameters]
        left = [b for b in left if fits[b] is None]
        if not left:
            return fits
    raise InvalidInputError(
        f"X has too few objects for n_clusters={len(fitted.proportions)} components of model "
        f"{fitted.model}: {_MAX_REDRAWS + 1} bootstrap samples in a row lost a component "
        f"(the last: {refits.problems[-1]}); use fewer clusters or a simpler mixture"
    )


def _match_components(overlaps: np.ndarray) -> np.ndarray:
    """Return the refitted component that matches each component of the original mixture best."""
    best = overlaps.argmax(axis=1)
    if np.array_equal(np.sort(best), np.arange(len(best))):
        return best
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(overlaps, maximize=True)[1]


def mixture_fingerprint(
    params: BootClus, n_clusters: int | None, data: np.ndarray
) -> str:
    """Return a hash of the data, the parameters of the mixtures and the random state."""
    import joblib

    mixture = clone(params.mixture, safe=False)  # without fitted attributes
    return joblib.hash(
        [data, n_clusters, mixture, params.n_bootstraps, params.random_state]
    )


# ---- confidence intervals of pairs ---------------------------------------------------------------


class Coverage(NamedTuple):
    """Coverage and mean length of the confidence intervals and the belief-plausibility intervals.

    The coverage is the share of pairs whose interval contains the true probability.
    """

    confidence: float
    belief: float
    confidence_length: float
    belief_length: float


class PairIntervals:
    """Confidence intervals and fitted belief-plausibility intervals for all pairs of some objects.

    Both intervals are for the probability that the two objects belong to the same cluster. The
    order of the pairs is (0, 1), (0, 2), ..., (1, 2), ..., the order of
    `scipy.spatial.distance.squareform`.

    Parameters
    ----------
    partition : CredalPartition
        Partition of all objects.
    objects : array of shape (r,)
        Indices of the r objects.
    lower, upper : arrays of shape (r (r - 1) / 2,)
        Bounds of the confidence intervals.
    confidence : float
        Confidence level.

    Attributes
    ----------
    pairs : ndarray of shape (p, 2)
        Indices of the two objects of each of the p pairs.
    lower, upper : ndarray of shape (p,)
        Bounds of the percentile confidence intervals.
    belief, plausibility : ndarray of shape (p,)
        Belief and plausibility that the two objects belong to the same cluster (Denoeux, 2020, eq.
        3).

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

    partition: CredalPartition
    objects: Annotated[np.ndarray, "r"]
    confidence: float
    # in single precision, to save memory
    _lower: Annotated[np.ndarray, "*"]
    _upper: Annotated[np.ndarray, "*"]

    def __init__(
        self,
        partition: CredalPartition,
        objects: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        confidence: float,
    ):
        self.partition = partition
        self.objects = objects
        self.confidence = confidence
        self._lower = lower
        self._upper = upper

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
    def _relational(self) -> ArrayPair:
        masses = self.partition[self.objects].relational().masses.astype(float)
        return masses[:, 1], 1 - masses[:, 2]  # The empty set has no mass.

    def __len__(self) -> int:
        return len(self._lower)

    def probabilities(self, posterior: Any) -> np.ndarray:
        """Return, for each pair, the probability that its two objects are in the same cluster.

        Parameters
        ----------
        posterior : array-like of shape (n, c)
            Probabilities of the clusters for all objects of the partition.

        Returns
        -------
        ndarray of shape (p,)
            Probability for each pair.
        """
        posterior = np.asarray(posterior, float)
        if posterior.ndim != 2 or len(posterior) != len(self.partition):
            raise InvalidParameterError(
                "posterior", f"of shape ({len(self.partition)}, c)", posterior.shape
            )
        rows = posterior[self.objects]
        return (rows @ rows.T)[np.triu_indices(len(rows), 1)]

    def coverage(self, posterior: Any) -> Coverage:
        """Compute how often the intervals contain the true probability.

        The true probability is known for simulated data.

        Parameters
        ----------
        posterior : array-like of shape (n, c)
            True probabilities of the clusters for all objects of the partition, in any order of the
            clusters.

        Returns
        -------
        Coverage
        """
        true = self.probabilities(posterior)
        rounded = true.astype(np.float32)  # the precision of the bounds
        lower = self._lower
        upper = self._upper
        belief, plausibility = self._relational
        return Coverage(
            confidence=float(np.mean((lower <= rounded) & (rounded <= upper))),
            belief=float(np.mean((belief <= true) & (true <= plausibility))),
            confidence_length=float(np.mean(upper - lower)),
            belief_length=float(np.mean(plausibility - belief)),
        )

    def __repr__(self) -> str:
        return (
            f"PairIntervals({len(self)} pairs of {len(self.objects)} objects, "
            f"confidence {self.confidence:g})"
        )


def draw_references(
    labels: np.ndarray, n_references: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the sorted indices of random rows.

    Clusters with fewer than 20 of these rows get additional ones.
    """
    n = len(labels)
    if n_references >= n:
        return np.arange(n)
    sample = rng.permutation(n)[:n_references]
    counts = np.bincount(labels[sample], minlength=labels.max() + 1)
    extra = []
    for k in np.unique(labels):
        missing = min(_MIN_REFERENCES_PER_CLUSTER, n_references // 2) - counts[k]
        if missing > 0:
            rest = np.setdiff1d(np.flatnonzero(labels == k), sample)
            extra.append(rng.permutation(rest)[:missing])
    return np.sort(np.concatenate([sample, *extra]))


def compute_pair_intervals(P: np.ndarray, confidence: float, apply: Apply) -> ArrayPair:
    """Return the lower and upper confidence bounds for all pairs, shape (n, n) each."""
    n = len(P)
    lower = np.zeros((n, n), np.float32)
    upper = np.zeros((n, n), np.float32)
    ranks = quantile_ranks(P.shape[2], confidence)
    blocks = row_blocks(n, _ROWS_PER_TASK, most=None)
    apply(quantiles_within, [(P, *ranks, lower, upper, *rows) for rows in blocks])
    return lower, upper


# ---- masses fitted to the intervals --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairModel:
    """Model that compares each row with the reference rows, whose masses are fixed."""

    bootstraps: Bootstraps | LatentClassBootstraps
    confidence: float  # confidence level of the intervals
    references: References  # attributes of the reference rows, in double precision
    family: FocalSets
    # Matrices S and C. If two rows have the masses m_i and m_j on the nonempty sets, the belief
    # that they are in the same cluster is m_i' S m_j, and the plausibility is 1 - m_i' C m_j.
    forms: Annotated[np.ndarray, "2 g g"]
    known: Annotated[np.ndarray, "r *"]  # masses of the reference rows
    radii: Annotated[np.ndarray, "r"]  # see `approach_known_masses`
    # indices of the reference rows that other rows are compared with
    compared: Annotated[np.ndarray, "r"]

    def masses(self, values: np.ndarray, apply: Apply) -> np.ndarray:
        """Return the masses of rows, shape (n, f).

        They match the intervals of the pairs with the reference rows, whose masses are fixed, and
        approach the masses of the reference rows (`approach_known_masses`). They are the solution
        of a small convex quadratic program.
        """
        assert self.references.source is not None
        X = np.ascontiguousarray(values, float)
        out = np.zeros((len(values), len(self.family)), values.dtype)
        columns = np.flatnonzero(self.family.cardinality > 0)
        fixed = self.known[self.compared]
        posterior_of = self.bootstraps.posterior_function()
        compared = self.references.source.objects[self.compared]
        ranks = quantile_ranks(len(self.bootstraps), self.confidence)

        def work(start: int, stop: int) -> None:
            rows = X[start:stop]
            nearest, distance = self.references.nearest(rows)
            masses = np.zeros((len(rows), len(columns)))
            new = np.flatnonzero(distance > 0)
            lower = np.empty((len(new), len(Q)))
            upper = np.empty((len(new), len(Q)))
            quantiles_between(posterior_of(rows[new]), Q, *ranks, lower, upper)
            linear = lower @ same + (1 - upper) @ different
            found = np.zeros_like(linear)
            simplex_qp_batch(H, linear, found, 0, len(new))
            masses[new] = found
            approach_known_masses(masses, self.known, nearest, distance, self.radii)
            out[start:stop, columns] = masses

        # Threads process the blocks, so the matrix products inside must not start more threads.
        with one_blas_thread():
            Q = _compute_in_blocks(posterior_of, compared, apply)
            H = interval_hessian(fixed, self.forms)
            same, different = (-2 * fixed @ form for form in self.forms)
            apply(work, row_blocks(len(X), _ROWS, most=None))
        return out

    def evidence(self, values: np.ndarray, itself: int) -> ClusterEvidence:
        return self.bootstraps.evidence(np.asarray(values, float)[0])

    def without(self, position: int) -> PairModel:
        """Return a model that does not compare rows with the training row ``position``."""
        others = self.compared[self.references.positions[self.compared] != position]
        if len(others):
            return replace(self, compared=others)
        return self


class BootClusMethod(Method[np.ndarray, np.ndarray]):
    """Fit the masses of the reference rows, starting from the probabilities of the mixture."""

    def __init__(
        self,
        params: BootClus,
        sample: Sample[np.ndarray],
        fits: MixtureFits,
        apply: Apply,
    ):
        self.params = params
        self.values = sample.values
        self.fits = fits
        self.apply = apply
        positions, self.compared = self._reference_positions()
        self.posterior = fits.posterior[positions]
        self.which = fits.rows[positions]
        data = np.ascontiguousarray(self.values, float)
        self.references = References.from_source(AttributeSource(data), self.which)
        probabilities = fits.bootstraps.posteriors(data[self.which], apply)
        self.lower, self.upper = compute_pair_intervals(
            probabilities, params.confidence, apply
        )

    def _reference_positions(self) -> ArrayPair:
        """Return the indices of the reference rows among the rows of the fits.

        Also return the indices of the reference rows that rows are compared with.
        """
        n = len(self.fits.rows)
        n_partners = self.params.n_partners
        if n_partners == "all" or (n_partners == "auto" and n <= _ALL_PAIRS_UP_TO):
            return np.arange(n), np.arange(n)
        rng = np.random.default_rng(self.fits.for_references)
        labels = self.fits.posterior.argmax(axis=1)
        if not isinstance(n_partners, str):
            which = draw_references(labels, n_partners, rng)
            return which, np.arange(len(which))
        which = draw_references(labels, _N_REFERENCES, rng)
        return which, draw_references(labels[which], _N_COMPARED, rng)

    def draw_starts(self, family: FocalSets) -> list[np.ndarray]:
        """Return the probabilities as masses of singletons, mixed with a uniform mass function."""
        self.family = family
        # The empty set has no mass in a mixture.
        sets = FocalSets(family.membership[family.cardinality > 0])
        self.forms = np.ascontiguousarray(pair_forms(sets)[1:3])
        f = len(sets)
        masses = np.full((len(self.which), f), _UNIFORM_SHARE / f)
        masses[:, sets.singleton_index] += (1 - _UNIFORM_SHARE) * self.posterior
        return [masses / masses.sum(axis=1, keepdims=True)]

    def run_start(self, start: np.ndarray) -> Run[np.ndarray]:
        """Fit beliefs and plausibilities to the bounds (Denoeux, 2020, algorithm 2)."""
        params = self.params
        targets = np.stack([self.lower, 1 - self.upper])  # eq. 13
        for target in targets:
            np.fill_diagonal(target, 0)
        rows = np.arange(len(start))
        history, converged = descend_intervals(
            start, targets, self.forms, rows, params.max_iter, params.tol
        )
        return Run(start, np.maximum(history, 0.0).tolist(), converged)

    def result(self, run: Run[np.ndarray]) -> FitResult:
        assert self.references.source is not None
        radii = approach_radii(separations(self.references.source))
        model = PairModel(
            self.fits.bootstraps,
            self.params.confidence,
            self.references,
            self.family,
            self.forms,
            run.model,
            radii,
            self.compared,
        )
        return FitResult(run, model, model.masses(self.values, self.apply))

    def intervals(self, partition: CredalPartition) -> PairIntervals:
        pairs = np.triu_indices(len(self.which), 1)
        bounds = self.lower[pairs], self.upper[pairs]
        return PairIntervals(partition, self.which, *bounds, self.params.confidence)


# ---- the estimator -------------------------------------------------------------------------------


class BootClus(EvidentialClusterer):
    r"""Calibrated evidential clustering: bootstrap confidence intervals of a mixture.

    1. Fit a Gaussian mixture to the data, or a latent class model to a table of categories. BIC
       selects the covariance model of a Gaussian mixture unless ``mixture`` specifies it.
    2. Refit the mixture to samples drawn with replacement (bootstrap samples). If ``mixture`` does
       not specify the covariance model, the samples are fitted with the most general model,
       provided that there are at least ten objects for each of its parameters. With fewer objects,
       each sample is fitted with one of the models, and the number of samples of a model is
       proportional to its Akaike weight, exp(log-likelihood - number of parameters). Under each
       fit, the probability that objects i and j are in the same cluster is
       :math:`P_{ij} = \sum_k \pi_{ik} \pi_{jk}`, where pi_ik is the probability of cluster k for
       object i. Quantiles of P_ij over the fits give a confidence interval
       :math:`[P^l_{ij}, P^u_{ij}]`.
    3. Fit the masses m_1, ..., m_n of the objects over sets of clusters. The masses minimize

       .. math::

           \sum_{i<j} (Bel_{ij} - P^l_{ij})^2 + (Pl_{ij} - P^u_{ij})^2,

       where Bel_ij and Pl_ij are the belief and the plausibility that objects i and j are in the
       same cluster.

    If the mixture model is correct, [Bel_ij, Pl_ij] contains the true probability for a share of
    about ``confidence`` of the pairs. The partition is then called *calibrated*. A covariance model
    that is too simple gives intervals that are short and wrong. Denoeux (2020) uses the model with
    the largest BIC for all samples, which often is too simple;
    ``mixture=ParsimoniousGaussianMixture(n_clusters).fit(X).model_`` gives this variant. The empty
    set has no mass, because every object belongs to a cluster.

    A new object is compared with the reference objects, whose masses are fixed. The refitted
    mixtures give intervals for the probability that the new object and each reference object are in
    the same cluster, and the masses of the new object match these intervals best (a convex
    problem). Close to a reference object (nearer than a quarter of its distance to the nearest
    other reference object), the masses approach those of the reference object.

    Equal objects are independent observations, unless every object has the same number of copies,
    or a multiple of it: the copies of a table carry no information.

    Parameters
    ----------
    n_clusters : int, "auto" or None, default=2
        Number of clusters. "auto" selects it from the data (see
        `dempster.model_selection.number_of_clusters`). None is the number of clusters of
        ``focal_sets`` if it is a FocalSets; otherwise, BIC selects a number from 1 to 9 along with
        the covariance model.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. "auto": single clusters and all pairs for up to four
        clusters; for more clusters, only the pairs of neighboring clusters (the two most
        probable clusters of some objects). "pairs": single clusters and all pairs. "selected":
        single clusters and the pairs of mutually most similar clusters, where the similarity of
        clusters k and l is sum_i pi_ik pi_il. "simple": single clusters and the frame (the set of
        all clusters).
        "full": all subsets (for at most eight clusters).
    mixture : None, str, ParsimoniousGaussianMixture or LatentClassModel, default=None
        Covariance model; None compares fourteen models. None selects the best of fourteen models by
        BIC for ``mixture_``; the bootstrap samples are fitted with the most general model, or with
        all of them if there are few objects. A name ("EII", "VEV", "VVV", ...) selects one model.
        An estimator is copied and gets ``n_clusters`` components; if ``n_clusters=None``, it keeps
        its number of components. With a `LatentClassModel`, X is a table of categories, which may
        contain missing values.
    confidence : float in (0, 1), default=0.9
        Confidence level of the intervals.
    n_bootstraps : int, default=500
        Number of bootstrap samples.
    n_partners : int, "all" or "auto", default="auto"
        Number of objects with which each object is compared; "auto": all up to 2,000 objects. "all"
        uses all pairs of objects and needs 40 bytes of memory for each pair. An integer draws that
        many reference objects at random (more from small clusters), fits their masses, and compares
        all other objects with them; time and memory are then linear in the number of objects.
        "auto" uses all pairs for up to 2,000 objects. For more objects, it draws 500 reference
        objects and compares all other objects with 150 of the 500.
    max_iter : int, default=1000
        Maximum number of sweeps over the objects when masses are fitted.
    tol : float, default=1e-6
        Smoothed relative change of the objective at which the sweeps stop. Its value after sweep t
        is e_t = (e_{t-1} + relative change of the objective in sweep t) / 2.
    n_neighbor_clusters : int, default=2
        For ``focal_sets="selected"``: a pair is added if each cluster is among this many nearest
        clusters of the other. The nearest clusters are the most similar ones.
    warm_start : bool, default=False
        Reuse the mixtures of the previous fit to the same data. They take most of the time, and are
        reused if only ``confidence``, ``focal_sets`` or ``n_partners`` have changed
        (``set_params(confidence=0.95).fit(X)``). The mixtures are fitted again if the data,
        ``n_clusters``, ``n_bootstraps``, ``mixture`` or ``random_state`` have changed. A
        RandomState or Generator changes whenever numbers are drawn from it.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number. joblib runs the bootstrap fits, in processes or on a Dask cluster if it
        is configured to do so.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    mixture_ : ParsimoniousGaussianMixture or LatentClassModel
        Mixture fitted to the data. Cluster k of the partition is component k of the mixture.
    bootstraps_ : Bootstraps or LatentClassBootstraps
        Parameters of the B refitted mixtures: ``proportions`` (B, n_clusters), ``means`` and
        ``covariances``, or ``probabilities`` of the categories. A bootstrap sample is drawn again
        if its fit loses a cluster, which is frequent if there are very few objects. After twenty
        redraws, one hundredth of the variances is added to the covariance matrices.
    intervals_ : PairIntervals
        Confidence intervals and belief-plausibility intervals of all pairs of the reference
        objects.
    reference_indices_ : ndarray
        Indices of the reference objects.
    focal_sets_ : FocalSets
    objective_ : float
        Value of the sum above over the pairs of reference objects.
    history_ : ndarray
        Objective after every sweep.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the objects in the sample, if X came in blocks.

    References
    ----------
    T. Denoeux (2020). Calibrated model-based evidential clustering using bootstrapping. Information
    Sciences 528. K. P. Burnham and D. R. Anderson (2002). Model selection and multimodel inference
    (Akaike weights). Springer.

    Examples
    --------
    >>> from dempster.cluster import BootClus
    >>> from dempster.datasets import make_gaussian_mixture
    >>> sample = make_gaussian_mixture(1, as_bunch=True, random_state=0)
    >>> model = BootClus(3, n_bootstraps=100, mixture="EII", random_state=0).fit(sample.data)
    >>> model.intervals_
    PairIntervals(44850 pairs of 300 objects, confidence 0.9)
    >>> 0.7 < model.intervals_.coverage(sample.posterior).belief <= 1
    True
    """

    _rules = {
        **COMMON_RULES,
        "n_clusters": rule.choice(None, "auto") | rule.positive_integer,
        "mixture": rule.none
        | rule.choice("E", "V", *MODELS)
        | rule.kind(ParsimoniousGaussianMixture, words="a ParsimoniousGaussianMixture")
        | rule.kind(LatentClassModel, words="a LatentClassModel"),
        "confidence": rule.proper_share,
        "n_bootstraps": rule.repetitions(2),
        "n_neighbor_clusters": rule.positive_integer,
        "n_partners": rule.choice("auto", "all") | rule.integer(2),
        "warm_start": rule.flag,
    }
    _min_rows = 2
    _model: PairModel
    _fits: MixtureFits | None = None
    # encodes the categories for a LatentClassModel
    _encoder: CategoryEncoder | None = None
    bootstraps_: Bootstraps | LatentClassBootstraps
    intervals_: PairIntervals
    _prediction_state = (*EvidentialClusterer._prediction_state, "_encoder", "mixture_")

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        mixture: str | ParsimoniousGaussianMixture | LatentClassModel | None = None,
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
            Numbers, or categories if ``mixture`` is a `LatentClassModel`. float32 data are not
            converted. The partition keeps the index of a DataFrame. Numbers may come in blocks
            (``docs/blocks.md``); a sample of 20,000 rows is then clustered, and the masses of all
            rows are lazy.
        y : ignored

        Returns
        -------
        self
        """
        return self._fit(X)

    @property
    def _support(self) -> Support:  # type: ignore[override]
        return Support(blocks=not isinstance(self.mixture, LatentClassModel))

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        """Validate X and return its attributes, or numbers of categories for latent classes."""
        unknown = "error"
        if reset:
            is_latent = isinstance(self.mixture, LatentClassModel)
            self._encoder = CategoryEncoder(missing="ignore") if is_latent else None
        elif self._encoder is not None:
            unknown = self.mixture_.handle_unknown
        if self._encoder is None:
            return super()._read(X, reset=reset)
        return self._encoder.read(self, X, reset=reset, unknown=unknown).astype(float)

    def _comparison_source(self, values: Any) -> DissimilaritySource:
        if self._encoder is None:
            return super()._comparison_source(values)
        return AttributeSource(values, "hamming")

    def _find_n_clusters(self, sample: Sample[np.ndarray], apply: Apply) -> int:
        data = np.ascontiguousarray(sample.values, float)
        n_clusters = None  # selected by BIC
        if self.n_clusters is not None or isinstance(self.focal_sets, FocalSets):
            n_clusters = super()._find_n_clusters(sample, apply)
            check_number_of_sets(super()._resolve_families(n_clusters).first)
        check_different_objects(data, data, n_clusters or 1)
        fits = self._fits if self.warm_start else None
        if fits is None or fits.fingerprint != mixture_fingerprint(
            self, n_clusters, data
        ):
            fits = fit_mixtures(self, n_clusters, data, self._encoder)
        self._fits = fits
        return fits.posterior.shape[1]

    def _resolve_families(self, n_clusters: int) -> Families:
        return Families(self._select_family(n_clusters))

    def _select_family(self, n_clusters: int) -> FocalSets:
        assert self._fits is not None
        posterior = self._fits.posterior
        focal_sets = self.focal_sets
        if isinstance(focal_sets, FocalSets):
            require_singletons(
                focal_sets, "beliefs about pairs of objects depend on them"
            )
            return focal_sets
        if focal_sets == "selected":
            similar = mutual_neighbors(
                posterior.T @ posterior, self.n_neighbor_clusters
            )
            return FocalSets.with_pairs(n_clusters, similar, empty=False, omega=False)
        if focal_sets != "auto":
            return named_family(focal_sets, n_clusters, empty=False, omega=False)
        if n_clusters <= _ALL_PAIRS_OF_CLUSTERS_UP_TO:
            return named_family("pairs", n_clusters, empty=False, omega=False)
        with np.errstate(divide="ignore"):
            costs = -np.log(posterior)
        return neighbor_family(count_boundaries(costs), empty=False)

    def _make_method(
        self, sample: Sample[np.ndarray], request: FitRequest
    ) -> BootClusMethod:
        assert self._fits is not None
        return BootClusMethod(self, sample, self._fits, request.apply)

    def _fitted_attributes(
        self, method: BootClusMethod, model: PairModel
    ) -> dict[str, Any]:
        return {
            "mixture_": method.fits.mixture,
            "bootstraps_": model.bootstraps,
            "reference_indices_": method.which,
            "intervals_": method.intervals(self.credal_partition_),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.mixture, LatentClassModel):
            tags.input_tags.categorical = tags.input_tags.string = (
                tags.input_tags.allow_nan
            ) = True
            # The precision of codes of categories has no meaning.
            tags.transformer_tags.preserves_dtype = []
        return tags

    # ---- pairs -----------------------------------------------------------------------------------

    def pair_probabilities(self, X: TableLike, pairs: ArrayLike) -> np.ndarray:
        """Compute the probability of being in the same cluster under each bootstrap fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training or new objects.
        pairs : array-like of shape (p, 2)
            Row indices of the two objects of each pair.

        Returns
        -------
        ndarray of shape (p, n_bootstraps)
            Probability for each pair and each bootstrap fit.
        """
        P, positions = self._posteriors_of_pairs(X, pairs)
        out = np.empty((len(positions), len(self.bootstraps_)), np.float32)
        probabilities_of_pairs(P, positions, out)
        return out.astype(float)

    def pair_intervals(self, X: TableLike, pairs: ArrayLike) -> np.ndarray:
        """Compute confidence intervals for the probability of being in the same cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training or new objects.
        pairs : array-like of shape (p, 2)
            Row indices of the two objects of each pair.

        Returns
        -------
        ndarray of shape (p, 2)
            Lower and upper bounds.
        """
        P, positions = self._posteriors_of_pairs(X, pairs)
        n = len(positions)
        lower = np.empty(n)
        upper = np.empty(n)
        ranks = quantile_ranks(P.shape[2], self.confidence)
        with block_map(self.n_jobs) as apply:
            blocks = row_blocks(n, _PAIRS_PER_TASK, most=None)
            apply(
                quantiles_of_pairs,
                [(P, positions, *ranks, lower, upper, *rows) for rows in blocks],
            )
        return np.column_stack([lower, upper])

    def _posteriors_of_pairs(self, X: TableLike, pairs: ArrayLike) -> ArrayPair:
        """Return the cluster probabilities of the rows in ``pairs``, and the pairs among them."""
        check_is_fitted(self, "credal_partition_")
        values = self._read(X, reset=False)
        pairs = check_pair_indices(pairs, len(values))
        rows, positions = np.unique(pairs, return_inverse=True)
        P = self.bootstraps_.posteriors(np.ascontiguousarray(values[rows], float))
        return P, np.ascontiguousarray(positions.reshape(pairs.shape), np.int64)

    def _check_loaded(self) -> None:
        bootstraps = self._model.bootstraps
        if isinstance(bootstraps, LatentClassBootstraps) != (self._encoder is not None):
            raise InvalidInputError(
                "_encoder must be None if and only if the mixtures are Gaussian"
            )
        if isinstance(bootstraps, LatentClassBootstraps):
            assert self._encoder is not None
            n_categories = bootstraps.probabilities.shape[2]
            self._encoder.check_categories(self.n_features_in_, n_categories)
