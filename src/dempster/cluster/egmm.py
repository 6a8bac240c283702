"""Evidential Gaussian mixture."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, is_tensor, precision_of, to_device_of, to_host
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._random import as_random_state
from dempster._types import ArrayLike, MaybeUnset, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster import _device, _starts
from dempster.cluster._base import COMMON_RULES, FitRequest
from dempster.cluster._expressions import RoundComponents, mixture_logs
from dempster.cluster._mass_step import masses_from_plausibilities
from dempster.cluster._online import CHECKPOINT_RULE, DEVICE_RULE, OnlineClusterer
from dempster.cluster._search import (
    Families,
    FitResult,
    Method,
    Sample,
    require_singletons,
    resolve_families,
)
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, centers_from_peaks
from dempster.cluster.explanation import ClusterEvidence, quadratic_parts
from dempster.data.rows import Rows
from dempster.optimize.blocks import Apply, block_map, row_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.partition import CredalPartition

_CELLS = 1 << 16  # desired number of elements of a temporary array
_MIN_EIGENVALUE = 1e-12  # relative to the largest eigenvalue of a covariance
_NUMPY = SimpleNamespace(constant=np.asarray)  # array namespace for `mixture_logs`


@dataclass(frozen=True)
class EvidentialMixture:
    """Parameters of an evidential Gaussian mixture, with methods that compute the masses of rows.

    With ``focal_sets="auto"``, only single clusters have Gaussian components, and ``doubtful`` is
    the family of sets that carry mass (single clusters and pairs of neighboring clusters).
    Otherwise, ``doubtful`` is None.
    """

    components: FocalSets  # sets that have a Gaussian component
    means: Annotated[np.ndarray, "c p"]  # means of the clusters, (mean - origin) / unit
    # covariance of all components or of each cluster, divided by unit^2
    covariance: Annotated[np.ndarray, "p p", "c p p"]
    weights: Annotated[
        np.ndarray, "g"
    ]  # weights of the components, one for each nonempty set
    # subtracted from X; None if X is already centered and scaled
    origin: Annotated[np.ndarray, "p"] | None = None
    unit: float = 1.0  # divisor of X - origin
    doubtful: FocalSets | None = None
    # coefficient of the penalty on the covariances of the clusters; zero after the fit
    ridge: float = 0.0

    @property
    def is_tied(self) -> bool:
        """Whether all components have the same covariance."""
        return self.covariance.ndim == 2

    @property
    def family(self) -> FocalSets:
        """Family of the sets that carry mass."""
        if self.doubtful is None:
            return self.components
        return self.doubtful

    @cached_property
    def sets(self) -> np.ndarray:
        """Indicators of the c clusters in the g nonempty sets with a component, shape (g, c)."""
        return self.components.membership[self.components.cardinality > 0].astype(float)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and eigenvectors of the covariance, or of each cluster's covariance."""
        return np.linalg.eigh(self.covariance)

    @property
    def n_parameters(self) -> float:
        c, p = self.means.shape
        return (
            len(self.weights) - 1 + c * p + (1 if self.is_tied else c) * p * (p + 1) / 2
        )

    def round_components(self) -> RoundComponents:
        """Return the components in coordinates in which the covariance is the identity.

        The logarithm of a component with its own covariance Sigma is reduced by ``ridge / 2
        tr(Sigma^-1)``.
        """
        sets = self.sets
        p = self.means.shape[1]
        values, vectors = self.spectrum
        places = (sets / sets.sum(axis=1, keepdims=True)) @ self.means
        if self.is_tied:
            rounded = vectors / np.sqrt(values)
            places = places @ rounded
            subtracted = np.einsum("jd,jd->j", places, places)
            normalizer = -(p * np.log(2 * np.pi) + np.log(values).sum()) / 2
        else:
            clusters = sets.argmax(axis=1)
            values = values[clusters]
            rounded = vectors[clusters] / np.sqrt(values)[:, None, :]
            places = np.einsum("jd,jde->je", places, rounded)
            subtracted = (np.log(values) + self.ridge / values).sum(axis=1)
            normalizer = -(p * np.log(2 * np.pi)) / 2
        if self.origin is not None:
            normalizer -= p * np.log(self.unit)
        with np.errstate(divide="ignore"):
            constant = np.log(self.weights) - subtracted / 2
        return RoundComponents(
            rounded, places, constant, float(normalizer), self.origin, self.unit
        )

    def _densities(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Return a function that maps rows to their masses on nonempty sets and log-densities."""
        components = self.round_components()

        def densities(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            objects, logs = mixture_logs(_NUMPY, X, components)
            top = logs.max(axis=1)
            logs -= top[:, None]
            np.exp(logs, out=logs)
            total = logs.sum(axis=1)
            logs /= total[:, None]
            densities = np.log(total) + top
            if objects is not None:
                densities -= np.einsum("id,id->i", objects, objects) / 2
            return logs, densities + components.normalizer

        return densities

    def _row_blocks(self, n: int) -> list[tuple[int, int]]:
        """Divide n rows into blocks.

        An array with a column for each cluster and attribute should be small.
        """
        if self.is_tied:
            return row_blocks(n, most=None)
        return row_blocks(n, max(256, _CELLS // self.means.size), None)

    def masses(self, values: Array, apply: Apply) -> Array:
        """Compute the masses of n rows, shape (n, f), for f focal sets.

        A tensor is processed on its device.
        """
        if is_tensor(values):
            return self.masses_on_device(values, values.device)
        densities = self._densities()
        out = np.zeros((len(values), len(self.family)), dtype=values.dtype)
        columns = np.flatnonzero(self.components.cardinality > 0)

        def write(start: int, stop: int) -> None:
            probabilities = densities(values[start:stop])[0]
            if self.doubtful is None:
                out[start:stop, columns] = probabilities
            else:
                out[start:stop] = masses_from_plausibilities(
                    probabilities, self.doubtful
                )

        apply(write, self._row_blocks(len(values)))
        return out

    def masses_on_device(self, values: Array, device: Any) -> Array:
        doubtful = self.doubtful is not None
        return _device.mixture_masses(
            self.round_components(), self.family, values, device, doubtful=doubtful
        )

    def evidence(self, values: np.ndarray, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: the logarithm of weight times density."""
        rows = np.asarray(values, dtype=float)
        if self.origin is not None:
            rows = (rows - self.origin) / self.unit
        gap = rows - self.means
        inverse = np.linalg.inv(self.covariance)
        nonempty = np.cumsum(self.components.cardinality > 0) - 1
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights[nonempty[self.components.singleton_index]])
        constant = -np.linalg.slogdet(2 * np.pi * self.covariance)[1] / 2
        if self.origin is not None:
            constant -= self.means.shape[1] * np.log(self.unit)
        parts = -quadratic_parts(gap, inverse[None] if self.is_tied else inverse).T / 2
        return ClusterEvidence.from_attributes(
            "logarithm of weight times density", parts, weights + constant
        )

    def log_densities(self, X: Array, apply: Apply) -> Array:
        """Compute the log-densities of n rows, shape (n,)."""
        if is_tensor(X):
            return _device.mixture_log_densities(self.round_components(), X)
        densities = self._densities()
        parts = apply(
            lambda start, stop: densities(X[start:stop])[1], self._row_blocks(len(X))
        )
        return np.concatenate(parts)

    def sums(self, X: Array, weights: Array | None, apply: Apply) -> MixtureSums:
        """Compute the sums over rows for one EM step.

        ``weights`` is empty or None if all rows have the same weight.
        """
        if is_tensor(X):
            return MixtureSums(
                *_device.mixture_sums(self.round_components(), X, weights)
            )
        assert weights is not None
        densities = self._densities()

        def sums(start: int, stop: int) -> MixtureSums:
            rows = X[start:stop]
            masses, logs = densities(rows)
            if len(weights):
                masses *= weights[start:stop, None]
                likelihood = logs @ weights[start:stop]
            else:
                likelihood = logs.sum()
            block = MixtureSums(float(likelihood), masses.sum(axis=0), masses.T @ rows)
            if self.is_tied:
                return block
            return replace(
                block, second=np.array([(rows.T * m) @ rows for m in masses.T])
            )

        return reduce(add, apply(sums, self._row_blocks(len(X))))

    def step(
        self, sums: MixtureSums, second: np.ndarray, n: float, ridge: float
    ) -> tuple[float, EvidentialMixture]:
        """Return minus the penalized log-likelihood, and the next mixture (Jiao et al., 2022).

        ``second`` is the weighted sum of x x' over the rows x. It does not depend on the masses,
        because the masses of a row sum to one. ``n`` is the sum of the sample weights. ``ridge`` is
        added to the diagonal of the covariance. The log-likelihood of a mixture with one covariance
        for each cluster already contains the penalty.
        """
        sets = self.sets
        mean = sets / sets.sum(axis=1, keepdims=True)
        means = solve_normal_equations(
            (mean.T * sums.total) @ mean, mean.T @ sums.first
        )
        following = replace(self, means=means, weights=sums.total / n)
        diagonal = ridge * np.eye(means.shape[1])
        objective = -sums.likelihood
        if self.is_tied:
            if ridge > 0:
                objective += (
                    ridge * n / 2 * float(np.trace(np.linalg.inv(self.covariance)))
                )
            places = mean @ means
            cross = sums.first.T @ places
            scatter = (second - cross - cross.T + (places.T * sums.total) @ places) / n
            covariance = (scatter + scatter.T) / 2 + diagonal
            following = replace(following, covariance=covariance)
        else:
            covariance = self.covariance.copy()
            # The other clusters keep their covariances.
            filled = sums.total > np.finfo(float).eps * n
            clusters = sets.argmax(axis=1)[filled]
            scatter = sums.second[filled] / sums.total[filled, None, None]
            scatter -= means[clusters, :, None] * means[clusters, None, :]
            covariance[clusters] = (scatter + scatter.swapaxes(1, 2)) / 2 + diagonal
            following = replace(following, covariance=covariance, ridge=ridge)
        return objective, following.raise_small_eigenvalues()

    def raise_small_eigenvalues(self) -> EvidentialMixture:
        """Return the mixture, with larger small eigenvalues of ill-conditioned covariances."""
        values, vectors = self.spectrum
        least = _MIN_EIGENVALUE * np.maximum(
            values[..., -1:], np.finfo(float).tiny * 1e20
        )
        if (values[..., :1] >= least).all():
            return self
        raised = (vectors * np.maximum(values, least)[..., None, :]) @ vectors.swapaxes(
            -1, -2
        )
        is_good = (values[..., :1] >= least)[..., None]
        return replace(self, covariance=np.where(is_good, self.covariance, raised))

    def find_neighbors(self) -> FocalSets:
        """Return single clusters and pairs of neighboring clusters, by the mean covariance."""
        covariance = self.covariance
        if not self.is_tied:
            covariance = np.tensordot(self.weights @ self.sets, covariance, axes=1)
        return neighbor_family(self.means, covariance)

    def _check_loaded(self) -> None:
        if len(self.weights) != (self.components.cardinality > 0).sum():
            raise InvalidInputError(
                "weights must contain one number for each nonempty set of components"
            )


@dataclass(frozen=True)
class MixtureSums:
    """Weighted sums over the rows of a block; the sums of several blocks can be added."""

    likelihood: float  # sum of the log-densities
    total: Annotated[np.ndarray, "g"]  # sums of the masses on each nonempty set
    first: Annotated[np.ndarray, "g p"]  # sums of the masses times the rows x
    # (g, p, p), sums of the masses times x x'; empty if all components have the same covariance
    second: Annotated[np.ndarray, "* * *"] = field(
        default_factory=lambda: np.zeros((0, 0, 0))
    )

    def __add__(self, other: MixtureSums) -> MixtureSums:
        return MixtureSums(
            **{name: value + vars(other)[name] for name, value in vars(self).items()}
        )

    def scaled(self, factor: float) -> MixtureSums:
        return MixtureSums(
            **{name: factor * value for name, value in vars(self).items()}
        )


def neighbor_family(means: np.ndarray, covariance: np.ndarray) -> FocalSets:
    """Return single clusters and pairs of neighboring clusters, by Mahalanobis distances."""
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, max(_MIN_EIGENVALUE * values[-1], np.finfo(float).tiny))
    return FocalSets.neighbors(means @ (vectors / np.sqrt(values)), empty=False)


def sum_masses(
    rows: Array, weights: Array | None, model: EvidentialMixture, apply: Apply
) -> MixtureSums:
    """Compute the sums for an EM step over a block of rows."""
    return model.sums(rows, weights, apply)


def sum_likelihood(
    rows: Array, weights: Array | None, model: EvidentialMixture, apply: Apply
) -> float:
    """Compute the log-likelihood of a block of rows."""
    logs = to_host(model.log_densities(rows, apply))
    return float(
        logs.sum() if weights is None or len(weights) == 0 else logs @ to_host(weights)
    )


@dataclass(frozen=True)
class OnlineMixture:
    """State of `partial_fit`: the current mixture and the sums over all earlier blocks of rows.

    The masses of each block are computed with the mixture that is current when the block arrives
    (incremental EM, Neal and Hinton, 1998). The weight of earlier blocks is reduced (online EM,
    Cappe and Moulines, 2009).
    """

    model: EvidentialMixture  # current mixture for the rows (X - origin) / unit
    origin: Annotated[np.ndarray, "p"]
    unit: float
    reg_covar: float  # parameter of `EGMM`
    neighbors: bool  # whether pairs of neighboring clusters get mass
    sums: MixtureSums | None = None  # None before the first block
    second: np.ndarray | float = 0.0  # (p, p), weighted sum of x x' over the rows x
    n: float = 0.0  # sum of the sample weights

    @property
    def objective(self) -> float:
        """Minus the log-likelihood of all rows, each under the mixture before its update."""
        assert self.sums is not None
        return (
            self.n * self.model.means.shape[1] * float(np.log(self.unit))
            - self.sums.likelihood
        )

    def add_block(
        self, X: Array, weights: np.ndarray, kept: float, *, update: bool, apply: Apply
    ) -> Self:
        """Return the state after one more block of rows.

        The sums over earlier blocks are multiplied by ``kept``.
        """
        data = (X - to_device_of(self.origin, X)) / self.unit
        w = to_device_of(weights if len(weights) else np.ones(len(X)), X)
        sums = self.model.sums(data, w, apply)
        second = to_host((data.T * w) @ data)
        n = float(w.sum())
        if self.sums is not None:
            sums = self.sums.scaled(kept) + sums
            second = kept * self.second + second
            n = kept * self.n + n
        model = self.model
        if update:
            mean = sums.first.sum(axis=0) / n  # The masses of each row sum to one.
            variance = max(float(np.trace(second)) / n - float(mean @ mean), 0.0) / len(
                mean
            )
            model = model.step(sums, second, n, self.reg_covar * variance)[1]
        return replace(self, model=model, sums=sums, second=second, n=n)

    def to_model(self) -> EvidentialMixture:
        """Return the mixture for rows in the original coordinates of X."""
        doubtful = self.model.find_neighbors() if self.neighbors else None
        return replace(
            self.model, origin=self.origin, unit=self.unit, doubtful=doubtful, ridge=0.0
        )


_FIRST_STEPS = 10  # number of k-means iterations that improve the initial means


class EGMMMethod(Method[EvidentialMixture, EvidentialMixture]):
    """EM algorithm that fits an evidential Gaussian mixture from several initial mixtures.

    The rows are centered to avoid rounding errors, and scaled so that relative changes of the
    likelihood do not depend on the units of X. ``init`` is the name of an initialization, an array
    of means, or a partition.
    """

    def __init__(
        self,
        estimator: EGMM,
        sample: Sample[Any],
        request: FitRequest,
        init: str | ArrayLike | CredalPartition,
    ):
        self.estimator = estimator
        self.n_clusters = request.n_clusters
        self.init = init
        self.apply = request.apply
        self.rng = as_random_state(estimator.random_state)
        self.has_user_start = not isinstance(init, str)
        self.rows = sample.rows(request.apply, estimator.device, explicit_weights=True)
        self.origin = self.rows.mean()
        spread = self.rows.shift(self.origin).mean_squared_deviation()
        self.unit = float(np.sqrt(spread / self.rows.values.shape[1])) or 1.0
        self.shifted = self.rows.shift(self.origin, self.unit)
        self.data = self.shifted.values
        self.weights = (
            np.ones(len(self.data)) if sample.weights is None else sample.weights
        )
        self.sample, self.sample_weights = self.shifted.sample(self.rng)
        _starts.check_different_objects(
            self.data, self.sample, self.n_clusters, self.weights
        )
        self.n = self.rows.total_weight
        self.second = self.shifted.scatter()
        self.mean_variance = float(np.trace(self.second)) / self.n / self.data.shape[1]
        self.ridge = estimator.reg_covar * self.mean_variance

    # ---- starts ----------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[EvidentialMixture]:
        if self.has_user_start:
            return [self._user_start(family)]
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.estimator.n_init)
        return [self._draw(family, seed) for seed in seeds]

    def _user_start(self, family: FocalSets) -> EvidentialMixture:
        if isinstance(self.init, CredalPartition):
            _starts.check_partition(self.init, len(self.data), self.n_clusters)
            share = to_host(self.init.pignistic()) * self.weights[:, None]
            total = np.maximum(share.sum(axis=0), np.finfo(float).tiny)
            means = (share.T @ to_host(self.data)) / total[:, None]
        else:
            means = _starts.validate_centers(
                self.init, (self.n_clusters, self.data.shape[1])
            )
            means = (means - self.origin) / self.unit
        return self._from_means(family, means)

    def _draw(self, family: FocalSets, seed: int) -> EvidentialMixture:
        assert isinstance(self.init, str)
        rng = np.random.RandomState(seed)
        rows = (self.sample, self.sample_weights)
        means = _starts.draw_centers(*rows, self.n_clusters, self.init, rng)
        return self._from_means(
            family, _starts.move_centers(*rows, means, _FIRST_STEPS)
        )

    def _from_means(self, family: FocalSets, means: np.ndarray) -> EvidentialMixture:
        """Return a mixture with equal weights.

        Its covariance is that of the rows around their nearest means.
        """
        require_singletons(family, "each has a mean of its own")
        gap = self.sample - means[_starts.find_nearest_centers(self.sample, means)]
        scatter = (gap.T * self.sample_weights) @ gap / self.sample_weights.sum()
        # The scatter is zero if there are as many clusters as rows.
        least = max(self.ridge, 1e-6 * self.mean_variance)
        covariance = scatter + least * np.eye(len(scatter))
        if self.estimator.covariance == "own":
            covariance = np.repeat(covariance[None], self.n_clusters, axis=0)
        g = int((family.cardinality > 0).sum())
        weights = np.full(g, 1 / g)
        mixture = EvidentialMixture(
            family, means, covariance, weights, ridge=self.ridge
        )
        return mixture.raise_small_eigenvalues()

    # ---- runs ------------------------------------------------------------------------------------

    def run_start(self, start: EvidentialMixture) -> Run[EvidentialMixture]:
        if self.has_user_start:
            return self._run(start, self.shifted, self.second)
        rows = Rows(self.sample, self.sample_weights, self.apply)
        return self._run(start, rows, rows.scatter())

    def refine(self, best: Run[EvidentialMixture]) -> Run[EvidentialMixture]:
        if self.has_user_start or self.shifted.are_all_in(self.sample):
            return best
        return self._run(best.model, self.shifted, self.second)

    def extend(
        self, run: Run[EvidentialMixture], family: FocalSets
    ) -> Run[EvidentialMixture]:
        return self._run(
            self._from_means(family, run.model.means), self.shifted, self.second
        )

    def add_neighbor_pairs(self, run: Run[EvidentialMixture]) -> Run[EvidentialMixture]:
        """Add the pairs of neighboring clusters to the sets that carry mass.

        The masses on pairs follow from the probabilities of the single clusters. A pair has no
        component of its own, because a Gaussian between two clusters would often attract rows of a
        third cluster, or no rows at all.
        """
        return replace(
            run, model=replace(run.model, doubtful=run.model.find_neighbors())
        )

    def _run(
        self, start: EvidentialMixture, rows: Rows, second: np.ndarray
    ) -> Run[EvidentialMixture]:
        def step(mixture: EvidentialMixture) -> tuple[float, EvidentialMixture]:
            sums = rows.sum(sum_masses, mixture, MixtureSums)
            return mixture.step(sums, second, rows.total_weight, self.ridge)

        # The products of "own" are many and small, and other threads already work on other blocks.
        with nullcontext() if start.is_tied else one_blas_thread():
            return descend(
                step, start, max_iter=self.estimator.max_iter, tol=self.estimator.tol
            )

    # ---- results ---------------------------------------------------------------------------------

    def partition(self, run: Run[EvidentialMixture]) -> CredalPartition:
        return CredalPartition.unchecked(
            run.model.masses(self.data, self.apply), run.model.family
        )

    def result(self, run: Run[EvidentialMixture]) -> FitResult:
        model = replace(run.model, origin=self.origin, unit=self.unit, ridge=0.0)
        # converts the log-likelihood to the units of X
        shift = self.n * self.data.shape[1] * np.log(self.unit)
        run = replace(run, history=[float(value + shift) for value in run.history])
        return FitResult(run, model, self.rows.masses(model))

    def log_likelihood(self, model: EvidentialMixture) -> float:
        return self.rows.sum(sum_likelihood, model, float)

    def online(self, model: EvidentialMixture, *, neighbors: bool) -> OnlineMixture:
        """Return the initial state of `partial_fit`.

        ``neighbors`` is True if pairs of clusters get mass.
        """
        return OnlineMixture(
            model, self.origin, self.unit, self.estimator.reg_covar, neighbors
        )


class EGMM(OnlineClusterer):
    r"""Evidential Gaussian mixture: objects between two clusters get mass on the pair of clusters.

    By default, the mixture has one component for each cluster, and all components have the same
    covariance matrix. After the fit, objects between neighboring clusters get mass on the pair,
    computed from their probabilities. With ``focal_sets="pairs"`` and other families, the mixture
    also has components for sets of several clusters, as in the paper. Its density is

    .. math::

        p(x) = \sum_{A \neq \emptyset} \pi_A N(x; \mu_A, \Sigma),

    where mu_A is the mean of the means mu_k of the clusters k in A, pi_A is the weight of component
    A, and :math:`\Sigma` is the covariance matrix of all components. The mass of an object on A is
    then the probability that it comes from component A. Objects between two clusters increase the
    weight of the pair, so no parameter controls the imprecision. With ``covariance="own"``, only
    single clusters have a component, and each has its own covariance matrix.

    The empty set has no mass. The parameters are estimated by EM, and the likelihood never
    decreases. The cost of an iteration is linear in the number of objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. Families given by name do not contain the empty set.
        "auto" fits single clusters; objects between two neighboring clusters (with no third cluster
        between them) then get mass on the pair, computed from their probabilities. "simple",
        "pairs" and "full" fit a Gaussian for each set. "selected" fits single clusters, then adds
        the pairs of mutually nearest clusters and continues.
    covariance : {"tied", "own"}, default="tied"
        "tied" fits one covariance matrix for all components, and "own" fits one for each cluster.
        "own" requires ``focal_sets="auto"`` or a `FocalSets` whose nonempty sets are the single
        clusters.
    reg_covar : float >= 0, default=1e-6
        Factor of the mean variance that is added to the diagonal of each covariance matrix. This is
        done at every M-step, and maximizes the likelihood minus the penalty ``r n / 2
        tr(Sigma^-1)``, where r is the number added to the diagonal and n is the number of objects.
        With ``covariance="own"``, the fit instead subtracts ``r / 2 tr(Sigma_k^-1)`` from the
        log-density of each cluster k. A positive value is then necessary in practice, because the
        likelihood is unbounded if r is zero.
    init : {"k-means++", "random", "belief-peaks"}, BeliefPeaks, array-like or CredalPartition
        Initial means. Random means are improved by a few iterations of k-means. "belief-peaks" or a
        `BeliefPeaks` uses its centers, computed without weights. An array contains the means, shape
        (n_clusters, n_features). A deterministic start is used once, whatever ``n_init``.
    n_init : int, default=10
        Number of starts; the result with the largest likelihood is kept. With more than 20,000
        objects the starts are compared on a sample of that size, and the best one is continued with
        all objects.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-7
        Relative change of the log-likelihood at which the iterations stop.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: a pair is added if each cluster is among this many nearest
        clusters of the other.
    checkpoint : path or None, default=None
        For X in blocks: file from which an interrupted fit resumes, with the same result, as in
        `ECM`.
    device : str, default="cpu"
        Device that computes the sums over all objects, as in `ECM`; "cuda" is a GPU. A GPU requires
        torch.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    means_ : ndarray of shape (n_clusters, n_features)
        Means of the clusters.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Same as ``means_``.
    covariance_ : ndarray of shape (n_features, n_features) or (n_clusters, n_features, n_features)
        Covariance matrix of all components, or of each cluster if ``covariance="own"``.
    weights_ : ndarray of shape (n_focal_sets,)
        Weight of the component of every focal set; zero for a set without a component.
    log_likelihood_ : float
        Log-likelihood of all objects.
    ebic_ : float
        Evidential BIC, the log-likelihood minus half the number of parameters times log(n). The
        number of clusters with the largest value is the best.
    focal_sets_ : FocalSets
    objective_ : float
        Minus the penalized log-likelihood of the fitted mixture.
    history_ : ndarray
        Objective after every iteration.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the objects in the random sample on which the starts were compared, if X came in
        blocks.
    n_samples_seen_ : int
        Number of objects in all blocks passed to `partial_fit`.

    References
    ----------
    L. Jiao, T. Denoeux, Z. Liu and Q. Pan (2022). EGMM: an evidential version of the Gaussian
    mixture model for clustering. Applied Soft Computing 129.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import EGMM
    >>> rng = np.random.default_rng(0)
    >>> parts = rng.normal(-4, 1, 80), rng.normal(4, 1, 80), rng.normal(0, 1, 20)
    >>> X = np.concatenate(parts)[:, None]
    >>> model = EGMM(2, focal_sets="pairs", random_state=0).fit(X)
    >>> model.focal_sets_.names()
    ['{0}', '{1}', 'Ω']
    >>> model.weights_.round(2)
    array([0.45, 0.44, 0.11])
    """

    _rules = {
        **COMMON_RULES,
        "checkpoint": CHECKPOINT_RULE,
        "covariance": rule.choice("tied", "own"),
        "reg_covar": rule.real(0),
        "init": rule.choice("k-means++", "random")
        | PEAKS_RULE
        | rule.kind(CredalPartition)
        | rule.array,
        "device": DEVICE_RULE,
    }
    _model: EvidentialMixture
    _online: MaybeUnset[OnlineMixture]
    _support = replace(OnlineClusterer._support, products=True)

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        covariance: str = "tied",
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
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.covariance = covariance
        self.reg_covar = reg_covar
        self.init = init
        self.n_neighbor_clusters = n_neighbor_clusters
        self.checkpoint = checkpoint
        self.device = device

    def score_samples(self, X: TableLike) -> np.ndarray:
        """Compute the log-density of the mixture at each object; outliers have a low density.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "means_")
        values = self._read(X, reset=False)
        with block_map(self.n_jobs) as apply:
            return self._model.log_densities(values, apply)

    def score(self, X: TableLike, y: None = None) -> float:
        """Compute the mean of the log-density of the mixture over the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects, not necessarily those of the fit.
        y : ignored

        Returns
        -------
        float
        """
        return float(self.score_samples(X).mean())

    def _resolve_families(self, n_clusters: int) -> Families:
        families = resolve_families(
            self.focal_sets, n_clusters, self.n_neighbor_clusters, empty=False
        )
        if self.covariance == "own" and (families.first.cardinality > 1).any():
            expected = "'auto' or a FocalSets without sets of several clusters if covariance='own'"
            raise InvalidParameterError("focal_sets", expected, self.focal_sets)
        return families

    def _make_method(
        self, sample: Sample[np.ndarray], request: FitRequest
    ) -> EGMMMethod:
        init = centers_from_peaks(self, sample.values, request.n_clusters)
        return EGMMMethod(self, sample, request, init)

    def _fitted_attributes(
        self, method: EGMMMethod | OnlineMixture, model: EvidentialMixture
    ) -> dict[str, Any]:
        means = (model.means * model.unit + method.origin).astype(
            precision_of(self.credal_partition_.masses)
        )
        weights = np.zeros(len(model.family))
        components = model.components.membership[model.components.cardinality > 0]
        weights[model.family.find(components)] = model.weights
        attributes = {
            "means_": means,
            "cluster_centers_": means,
            "covariance_": model.covariance * model.unit**2,
            "weights_": weights,
        }
        if isinstance(method, EGMMMethod):
            likelihood = method.log_likelihood(model)
            attributes["log_likelihood_"] = likelihood
            attributes["ebic_"] = likelihood - model.n_parameters * np.log(method.n) / 2
        return attributes
