"""Evidential mixtures of Gaussian and t distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import count
from operator import add
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy.special import digamma, gammaln
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, is_tensor, precision_of, to_device_of, to_host
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._native import kernel
from dempster._random import as_random_state
from dempster._types import ArrayLike, MaybeUnset, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster import _device, _starts
from dempster.cluster._base import COMMON_RULES, FitRequest
from dempster.cluster._expressions import (
    RoundComponents,
    background_logs,
    mixture_logs,
)
from dempster.cluster._mass_step import (
    has_many_components,
    masses_from_plausibilities,
    nearest_doubt,
)
from dempster.cluster._online import OnlineClusterer
from dempster.cluster._search import (
    Families,
    FitResult,
    Method,
    Sample,
    require_singletons,
    resolve_families,
)
from dempster.cluster.belief_peaks import INIT_RULE, BeliefPeaks, centers_from_peaks
from dempster.data.rows import Rows
from dempster.optimize.blocks import Apply, Sums, block_map, row_blocks, sum_blocks
from dempster.optimize.descent import Run, descend, solve_normal_equations
from dempster.optimize.k_means import NearestCenters
from dempster.optimize.nearest import (
    NEAREST_ROWS,
    find_nearest_clusters,
    find_smallest,
    sum_nearest,
)
from dempster.partition import CredalPartition
from dempster.posterior.boundaries import count_boundaries, neighbor_family
from dempster.posterior.collection import collect_masses
from dempster.posterior.evidence import ClusterEvidence, quadratic_parts

_mixture_sums = kernel("""mixture_sums(
    X: real[n, d], Z: real[n, q], weights: float64[n] or None, places: real[p, g],
    constants: real[g], freedom: float, background: real[n] or None, total: float64[g] out,
    precision: float64[g] out, first: float64[d, g] out, empty: float64[1] out,
    masses: real[n, g] out or None) -> float""")
_mixture_densities = kernel("""mixture_probabilities(
    Z: real[n, q], places: real[p, g], constants: real[g], freedom: float,
    background: real[n] or None, probabilities: real[n, g] out, logs: real[n] out,
    empty: real[n] out or None, squares: real[n, g] out or None)""")

_CELLS = 1 << 16  # desired number of elements of a temporary array
_MIN_EIGENVALUE = 1e-12  # relative to the largest eigenvalue of a covariance
# array namespace for `mixture_logs`
_NUMPY = SimpleNamespace(
    constant=np.asarray,
    largest=lambda x: (x.max(axis=1, keepdims=True), None),
    log=np.log,
    maximum=np.maximum,
    sum=partial(np.sum, axis=1, keepdims=True),
    where=np.where,
)
# initial value and bounds of the estimated degrees of freedom
_INITIAL_FREEDOM = 10.0
_MIN_FREEDOM = 2.0
_MAX_FREEDOM = 200.0
_INITIAL_BACKGROUND = 0.05  # initial weight of the background
# number of iterations between two estimates of the degrees of freedom
_FREEDOM_STEPS = 4
_MIN_MASS = 1e-10  # smaller masses are neglected in these estimates


@dataclass(frozen=True)
class EvidentialMixture:
    """Parameters of an evidential mixture, with methods that compute the masses of rows.

    A mixture of t distributions may also have a background, the component of the empty set.

    With ``focal_sets="auto"``, only single clusters have components, and ``doubtful`` is the family
    of sets that carry mass (single clusters and pairs of neighboring clusters, and the empty set
    for t distributions). Otherwise, ``doubtful`` is None.
    """

    components: FocalSets  # sets that have a component, and possibly the empty set
    means: Annotated[np.ndarray, "c p"]  # means of the clusters, (mean - origin) / unit
    # covariance (scale matrix of t distributions) of all components or of each cluster, divided by
    # unit^2
    covariance: Annotated[np.ndarray, "p p", "c p p"]
    # weights of the components, one for each nonempty set
    weights: Annotated[np.ndarray, "g"]
    # subtracted from X; None if X is already centered and scaled
    origin: Annotated[np.ndarray, "p"] | None = None
    unit: float = 1.0  # divisor of X - origin
    doubtful: FocalSets | None = None
    # coefficient of the penalty on the covariances of the clusters; zero after the fit
    ridge: float = 0.0
    degrees_of_freedom: float = np.inf  # of t distributions; infinite for Gaussians
    # box of the background, (smallest, largest values - origin) / unit
    box: Annotated[np.ndarray, "2 p"] | None = None
    background_weight: float = 0.0

    @property
    def is_gaussian(self) -> bool:
        return np.isinf(self.degrees_of_freedom)

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
        n_weights = len(self.weights) - (self.box is None)
        return n_weights + c * p + (1 if self.is_tied else c) * p * (p + 1) / 2

    def round_components(self) -> RoundComponents:
        """Return the components in coordinates in which the covariance is the identity.

        The logarithm of a component with the covariance Sigma is reduced by ``ridge / 2
        tr(Sigma^-1)``.
        """
        sets = self.sets
        p = self.means.shape[1]
        nu = self.degrees_of_freedom
        values, vectors = self.spectrum
        averages = sets / sets.sum(axis=1, keepdims=True)
        places = averages @ self.means
        if self.is_tied:
            rounded = vectors / np.sqrt(values)
            places = places @ rounded
            subtracted = (np.log(values) + self.ridge / values).sum()
            if self.is_gaussian:
                norms = np.einsum("jd,jd->j", places, places)
                subtracted = subtracted + norms
        else:
            clusters = sets.argmax(axis=1)
            values = values[clusters]
            rounded = vectors[clusters] / np.sqrt(values)[:, None]
            places = np.einsum("jd,jde->je", places, rounded)
            subtracted = (np.log(values) + self.ridge / values).sum(axis=1)
        normalizer = log_normalizer(nu, p)
        with np.errstate(divide="ignore"):
            constant = np.log(self.weights) - subtracted / 2
            log_background = float(np.log(self.background_weight)) - normalizer
        if self.origin is not None:
            normalizer -= p * float(np.log(self.unit))
        return RoundComponents(
            rounded,
            places,
            constant,
            normalizer,
            self.origin,
            self.unit,
            nu,
            self.box,
            log_background,
        )

    @property
    def has_many_components(self) -> bool:
        """Whether the probabilities of most components are neglected."""
        return self.is_tied and has_many_components(self.components)

    def _densities(
        self, dtype: np.dtype, *, nearest: bool
    ) -> Callable[[np.ndarray], MixtureDensities]:
        """Return a function that maps rows to the probabilities of components and log-densities.

        If ``nearest`` is True, only the components with the largest probabilities are used.
        """
        if not nearest:
            return KernelMixture(self, dtype).densities
        components = self.round_components()

        def densities(X: np.ndarray) -> MixtureDensities:
            logs, background, squares, objects = mixture_logs(_NUMPY, X, components)
            near = find_smallest(-logs)
            logs = np.take_along_axis(logs, near, axis=1)
            if squares is not None:
                squares = np.take_along_axis(squares, near, axis=1)
            top = logs.max(axis=1)
            if background is not None:
                top = np.maximum(top, background[:, 0])
            logs -= top[:, None]
            np.exp(logs, out=logs)
            total = logs.sum(axis=1)
            empty = None
            if background is not None:
                empty = np.exp(background[:, 0] - top)
                total += empty
                empty /= total
            logs /= total[:, None]
            densities = np.log(total) + top
            if objects is not None:
                densities -= np.einsum("id,id->i", objects, objects) / 2
            densities += components.normalizer
            return MixtureDensities(logs, densities, empty, squares, near)

        return densities

    def _row_blocks(self, n: int) -> list[tuple[int, int]]:
        """Divide n rows into blocks.

        An array with a column for each cluster and attribute should be small.
        """
        if self.has_many_components:
            return row_blocks(n, NEAREST_ROWS, None)
        if self.is_tied:
            return row_blocks(n, most=None)
        return row_blocks(n, max(256, _CELLS // self.means.size), None)

    def masses(self, values: Array, apply: Apply) -> Array:
        """Compute the masses of n rows, shape (n, f), for f focal sets.

        A tensor is processed on its device.
        """
        if is_tensor(values):
            return self.masses_on_device(values, values.device)
        nearest = self.doubtful is not None and self.has_many_components
        densities = self._densities(values.dtype, nearest=nearest)
        columns = np.flatnonzero(self.components.cardinality > 0)

        def compute(start: int, stop: int) -> Array:
            probabilities, _, empty, _, near = densities(values[start:stop])
            if near is not None:
                return nearest_doubt(
                    near, probabilities, self.family, empty, values.dtype
                )
            if self.doubtful is not None:
                return masses_from_plausibilities(probabilities, self.doubtful, empty)
            masses = np.zeros((stop - start, len(self.family)))
            masses[:, columns] = probabilities
            if empty is not None:
                masses[:, self.family.empty_index] = empty
            return masses

        blocks = self._row_blocks(len(values))
        return collect_masses(compute, blocks, self.family, values.dtype, apply)

    def masses_on_device(self, values: Array, device: Any) -> Array:
        doubtful = self.doubtful is not None
        return _device.mixture_masses(
            self.round_components(), self.family, values, device, doubtful=doubtful
        )

    def evidence(self, values: np.ndarray, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: the logarithm of weight times density."""
        rows = np.asarray(values, float)
        if self.origin is not None:
            rows = (rows - self.origin) / self.unit
        gap = rows - self.means
        inverse = np.linalg.inv(self.covariance)
        nonempty = np.cumsum(self.components.cardinality > 0) - 1
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights[nonempty[self.components.singleton_index]])
        _, log_determinant = np.linalg.slogdet(self.covariance)
        constant = -log_determinant / 2
        constant += self.round_components().normalizer
        if self.is_tied:
            inverse = inverse[None]
        parts = quadratic_parts(gap, inverse).T
        rate = np.full(len(self.means), 0.5)
        if not self.is_gaussian:
            # The logarithm of the density is divided in proportion to the terms of the distance.
            nu = self.degrees_of_freedom
            squares = np.maximum(parts.sum(axis=0), np.finfo(float).eps)
            rate *= (nu + len(parts)) * np.log1p(squares / nu) / squares
        quantity = "logarithm of weight times density"
        constants = weights + constant
        return ClusterEvidence.from_attributes(quantity, -rate * parts, constants)

    def log_densities(self, X: Array, apply: Apply) -> Array:
        """Compute the log-densities of n rows, shape (n,)."""
        if is_tensor(X):
            return _device.mixture_log_densities(self.round_components(), X)
        densities = self._densities(np.dtype(float), nearest=False)

        def logs(start: int, stop: int) -> np.ndarray:
            return densities(X[start:stop]).logs

        parts = apply(logs, self._row_blocks(len(X)))
        return np.concatenate(parts)

    def with_best_freedom(
        self, X: np.ndarray, weights: np.ndarray, apply: Apply
    ) -> EvidentialMixture:
        """Return the mixture with the degrees of freedom that are best for the current masses.

        They maximize the sum of the masses times the log-densities of the components, so the
        likelihood does not decrease (Meng and van Dyk, 1997).
        """
        from scipy.optimize import brentq  # slow to import

        p = X.shape[1]
        densities = self._densities(X.dtype, nearest=self.has_many_components)

        def large(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            masses, _, _, squares, _ = densities(X[start:stop])
            assert squares is not None
            masses *= weights[start:stop, None]
            is_large = masses > _MIN_MASS
            return masses[is_large], squares[is_large]

        parts = apply(large, self._row_blocks(len(X)))
        masses, squares = map(np.concatenate, zip(*parts, strict=True))
        n = masses.sum()

        def gain(nu: float) -> float:
            logs = float(masses @ np.log1p(squares / nu))
            return n * log_normalizer(nu, p) - (nu + p) / 2 * logs

        def slope(nu: float) -> float:
            constant = digamma((nu + p) / 2) - digamma(nu / 2) - p / nu
            u = (nu + p) / (nu + squares)
            terms = squares / nu * u - np.log1p(squares / nu)
            return n * float(constant) + float(masses @ terms)

        if slope(_MAX_FREEDOM) >= 0:
            best = _MAX_FREEDOM
        elif slope(_MIN_FREEDOM) <= 0:
            best = _MIN_FREEDOM
        else:
            best = float(brentq(slope, _MIN_FREEDOM, _MAX_FREEDOM))
        current = gain(self.degrees_of_freedom)
        # Rounding errors must not decide whether the value changes.
        if gain(best) < current - 1e-12 * abs(current):
            return self
        return replace(self, degrees_of_freedom=best)

    def step(
        self, sums: MixtureSums, second: np.ndarray, n: float, ridge: float
    ) -> tuple[float, EvidentialMixture]:
        """Return minus the penalized log-likelihood, and the next mixture (Jiao et al., 2022).

        ``second`` is the weighted sum of x x' over the rows x. For Gaussians with the same
        covariance, it does not depend on the masses, because the masses of a row sum to one. ``n``
        is the sum of the sample weights. ``ridge`` is added to the diagonal of the covariance. The
        log-likelihood of a mixture with a ridge already contains the penalty. For t distributions,
        see Peel and McLachlan (2000).
        """
        sets = self.sets
        mean = sets / sets.sum(axis=1, keepdims=True)
        H = (mean.T * sums.precision) @ mean
        means = solve_normal_equations(H, mean.T @ sums.first)
        following = replace(
            self,
            means=means,
            weights=sums.total / n,
            background_weight=sums.background / n,
        )
        diagonal = ridge * np.eye(means.shape[1])
        if self.is_tied:
            if len(sums.second):
                [second] = sums.second
            places = mean @ means
            cross = sums.first.T @ places
            scatter = second - cross - cross.T + (places.T * sums.precision) @ places
            symmetric = (scatter + scatter.T) / 2
            covariance = symmetric / sums.total.sum() + diagonal
        else:
            covariance = self.covariance.copy()
            # The other clusters keep their covariances.
            filled = sums.total > np.finfo(float).eps * n
            clusters = sets.argmax(axis=1)[filled]
            centers = means[clusters]
            products = centers[:, :, None] * centers[:, None]
            scatter = sums.second[filled]
            scatter -= sums.precision[filled, None, None] * products
            scatter /= sums.total[filled, None, None]
            covariance[clusters] = (scatter + scatter.swapaxes(1, 2)) / 2 + diagonal
        following = replace(following, covariance=covariance, ridge=ridge)
        return -sums.likelihood, following.raise_small_eigenvalues()

    def raise_small_eigenvalues(self) -> EvidentialMixture:
        """Return the mixture, with larger small eigenvalues of ill-conditioned covariances."""
        values, vectors = self.spectrum
        largest = np.maximum(values[..., -1:], np.finfo(float).tiny * 1e20)
        least = _MIN_EIGENVALUE * largest
        is_good = values[..., :1] >= least
        if is_good.all():
            return self
        raised_values = np.maximum(values, least)[..., None, :]
        raised = (vectors * raised_values) @ vectors.swapaxes(-1, -2)
        covariance = np.where(is_good[..., None], self.covariance, raised)
        return replace(self, covariance=covariance)

    def count_boundaries(self, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Count the objects between single clusters (see the function of this name)."""
        components = self.round_components()
        c = len(self.means)
        counts = np.zeros((c, c))
        for start, stop in self._row_blocks(len(X)):
            logs, *_ = mixture_logs(_NUMPY, X[start:stop], components)
            counts += count_boundaries(-logs, weights[start:stop])
        return counts

    def neighbor_family(self, counts: np.ndarray) -> FocalSets:
        """Return single clusters and pairs of neighbors, and the empty set for a background."""
        return neighbor_family(counts, empty=self.box is not None)

    def _check_loaded(self) -> None:
        if len(self.weights) != (self.components.cardinality > 0).sum():
            raise InvalidInputError(
                "weights must contain one number for each nonempty set of components"
            )


class MixtureDensities(NamedTuple):
    """Probabilities and densities of n rows."""

    probabilities: np.ndarray  # (n, g), of the components
    logs: np.ndarray  # (n,), log-densities of the mixture
    empty: np.ndarray | None  # (n,), probabilities of the background
    # (n, g), squared distances (see `mixture_logs`); may be None for Gaussians
    squares: np.ndarray | None
    # (n, k), components of the columns of the other arrays; None if these are all components
    near: np.ndarray | None


class KernelMixture:
    """Mixture in the form that the kernels use, for rows of type ``dtype``."""

    def __init__(self, mixture: EvidentialMixture, dtype: np.dtype):
        self.mixture = mixture
        self.components = mixture.round_components()
        self.dtype = dtype
        maps = self.components.rounded
        if not mixture.is_tied:
            maps = np.hstack(list(maps))
        if self.components.origin is not None:
            maps = maps / self.components.unit
        self.maps = maps.astype(dtype)
        constants = self.components.constants
        places = self.components.places
        if mixture.is_tied and mixture.is_gaussian:
            constants = constants + np.square(places).sum(axis=1) / 2
        self.arguments = (
            np.ascontiguousarray(places.T, dtype),
            constants.astype(dtype),
            float(mixture.degrees_of_freedom),
        )

    def place(
        self, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the rows, their coordinates, and the log-densities of the background."""
        components = self.components
        X = rows.astype(self.dtype, copy=False)
        if components.origin is not None:
            X = X - components.origin.astype(self.dtype)
        background = None
        if components.box is not None:
            scaled = X if components.origin is None else X / components.unit
            logs = background_logs(_NUMPY, scaled, components.box)
            logs += components.log_background
            background = np.ascontiguousarray(logs[:, 0], self.dtype)
        return X, X @ self.maps, background

    def sums(self, rows: np.ndarray, weights: np.ndarray | None) -> MixtureSums:
        """Return the sums over a block of rows for one EM step."""
        mixture = self.mixture
        X, Z, background = self.place(rows)
        n, p = X.shape
        g = len(mixture.weights)
        total = np.empty(g)
        precision = np.empty(g)
        first = np.empty((p, g))
        empty = np.empty(1)
        masses = None
        needs_masses = not (mixture.is_tied and mixture.is_gaussian)
        if needs_masses:
            masses = np.empty((n, g), self.dtype)
        sums = (total, precision, first, empty, masses)
        likelihood = _mixture_sums(X, Z, weights, *self.arguments, background, *sums)
        n_weighted = n if weights is None else weights.sum()
        likelihood += n_weighted * self.components.normalizer
        second = np.empty((0, p, p))
        if masses is not None:
            # In single precision, small variances far from the origin would be inaccurate.
            exact = X.astype(float, copy=False)
            if mixture.is_tied:
                masses = masses.sum(axis=1, keepdims=True)
            second = np.stack([(exact.T * m) @ exact for m in masses.T])
        return MixtureSums(
            likelihood, total, precision, first.T, second, float(empty[0])
        )

    def densities(self, rows: np.ndarray) -> MixtureDensities:
        """Return the probabilities of all components and the densities of a block of rows."""
        _, Z, background = self.place(rows)
        n = len(Z)
        g = len(self.mixture.weights)
        probabilities = np.empty((n, g), self.dtype)
        logs = np.empty(n, self.dtype)
        empty = None if background is None else np.empty(n, self.dtype)
        squares = None if self.mixture.is_gaussian else np.empty((n, g), self.dtype)
        out = (probabilities, logs, empty, squares)
        _mixture_densities(Z, *self.arguments, background, *out)
        logs += self.components.normalizer
        return MixtureDensities(probabilities, logs, empty, squares, None)


@dataclass(frozen=True)
class MixtureSums(Sums):
    """Weighted sums over the rows of a block.

    A t distribution is a Gaussian whose precision is multiplied by a random number U, with the
    expected value u = (nu + p) / (nu + M) for a row with the squared distance M from the component.
    For Gaussians, u = 1.
    """

    likelihood: float  # sum of the log-densities
    total: Annotated[np.ndarray, "g"]  # sums of the masses on each nonempty set
    precision: Annotated[np.ndarray, "g"]  # sums of the masses times u
    first: Annotated[np.ndarray, "g p"]  # sums of the masses times u x, for rows x
    # (g, p, p), sums of the masses times u x x'; if all components have the same covariance, the
    # sum over the components, (1, p, p), or an empty array for Gaussians
    second: Annotated[np.ndarray, "* * *"]
    background: float  # sum of the masses on the empty set


def log_normalizer(degrees_of_freedom: float, p: int) -> float:
    """Return the logarithm of the density at the mean, in p dimensions, for the scale matrix I."""
    nu = degrees_of_freedom
    if np.isinf(nu):
        return -p / 2 * float(np.log(2 * np.pi))
    gammas = gammaln((nu + p) / 2) - gammaln(nu / 2)
    return float(gammas - p / 2 * np.log(nu * np.pi))


def sum_masses(
    X: Array, weights: Array | None, mixture: EvidentialMixture, apply: Apply
) -> MixtureSums:
    """Compute the sums over a block of rows for one EM step.

    ``weights`` is empty or None if all rows have the same weight.
    """
    if is_tensor(X):
        components = mixture.round_components()
        return MixtureSums(*_device.mixture_sums(components, X, weights))
    assert weights is not None
    if mixture.has_many_components:
        return _nearest_sums(X, weights, mixture, apply)
    kernel_mixture = KernelMixture(mixture, X.dtype)

    def sum_block(start: int, stop: int) -> MixtureSums:
        w = weights[start:stop] if len(weights) else None
        return kernel_mixture.sums(X[start:stop], w)

    return reduce(add, apply(sum_block, mixture._row_blocks(len(X))))


def _nearest_sums(
    X: np.ndarray, weights: np.ndarray, mixture: EvidentialMixture, apply: Apply
) -> MixtureSums:
    """Compute the sums if rows have masses only on their most probable components."""
    densities = mixture._densities(X.dtype, nearest=True)
    p = X.shape[1]
    nu = mixture.degrees_of_freedom
    n_clusters = len(mixture.means)

    def sum_block(start: int, stop: int) -> MixtureSums:
        rows = X[start:stop]
        masses, logs, empty, squares, near = densities(rows)
        assert near is not None
        w = weights[start:stop] if len(weights) else np.ones(len(rows))
        masses *= w[:, None]
        background = 0.0 if empty is None else float(empty @ w)
        total, first = sum_nearest(near, masses, rows, n_clusters)
        precision = total
        second = np.empty((0, p, p))
        if not mixture.is_gaussian:
            assert squares is not None
            masses *= (nu + p) / (squares + nu)
            precision, first = sum_nearest(near, masses, rows, n_clusters)
            second = ((rows.T * masses.sum(axis=1)) @ rows)[None]
        likelihood = float(logs @ w)
        return MixtureSums(likelihood, total, precision, first, second, background)

    with one_blas_thread():
        return sum_blocks(sum_block, len(X), NEAREST_ROWS, apply)


def sum_likelihood(
    rows: Array, weights: Array | None, model: EvidentialMixture, apply: Apply
) -> float:
    """Compute the log-likelihood of a block of rows."""
    if is_tensor(rows):
        logs = to_host(model.log_densities(rows, apply))
        if weights is None or len(weights) == 0:
            return float(logs.sum())
        return float(logs @ to_host(weights))
    assert weights is not None
    densities = model._densities(rows.dtype, nearest=False)

    def sum_block(start: int, stop: int) -> float:
        logs = densities(rows[start:stop]).logs
        if len(weights):
            return float(logs @ weights[start:stop])
        return float(logs.sum(dtype=float))

    return sum(apply(sum_block, model._row_blocks(len(rows))))


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
    # numbers of objects between the clusters (`count_boundaries`), from which `to_model` selects
    # pairs of neighbors; None if no pairs get mass
    boundaries: Annotated[np.ndarray, "c c"] | None = None
    sums: MixtureSums | None = None  # None before the first block
    second: np.ndarray | float = 0.0  # (p, p), weighted sum of x x' over the rows x
    n: float = 0.0  # sum of the sample weights

    @property
    def objective(self) -> float:
        """Minus the log-likelihood of all rows, each under the mixture before its update."""
        assert self.sums is not None
        p = self.model.means.shape[1]
        shift = self.n * p * float(np.log(self.unit))
        return shift - self.sums.likelihood

    def add_block(
        self, X: Array, weights: np.ndarray, kept: float, *, update: bool, apply: Apply
    ) -> Self:
        """Return the state after one more block of rows.

        The sums over earlier blocks are multiplied by ``kept``.
        """
        data = (X - to_device_of(self.origin, X)) / self.unit
        w = to_device_of(weights if len(weights) else np.ones(len(X)), X)
        sums = sum_masses(data, w, self.model, apply)
        exact = data.double() if is_tensor(data) else data.astype(float)
        second = to_host((exact.T * w) @ exact)
        n = float(w.sum())
        if self.sums is not None:
            sums = self.sums.scaled(kept) + sums
            second = kept * self.second + second
            n = kept * self.n + n
        boundaries = self.boundaries
        if boundaries is not None:
            counts = self.model.count_boundaries(to_host(data), weights)
            boundaries = kept * boundaries + counts
        model = self.model
        if update:
            products = second
            if len(sums.second):
                products = sums.second.sum(axis=0)
            precision = sums.precision.sum()
            mean = sums.first.sum(axis=0) / precision
            scatter = float(np.trace(products)) - precision * float(mean @ mean)
            variance = max(scatter, 0.0) / n / len(mean)
            model = model.step(sums, second, n, self.reg_covar * variance)[1]
        return replace(
            self, model=model, sums=sums, second=second, n=n, boundaries=boundaries
        )

    def to_model(self) -> EvidentialMixture:
        """Return the mixture for rows in the original coordinates of X."""
        doubtful = None
        if self.boundaries is not None:
            doubtful = self.model.neighbor_family(self.boundaries)
        return replace(
            self.model, origin=self.origin, unit=self.unit, doubtful=doubtful, ridge=0.0
        )


def _weighted_quantile(
    values: np.ndarray, weights: np.ndarray, level: float
) -> np.ndarray:
    """Return a quantile of each column of an array of shape (n, p)."""
    order = np.argsort(values, axis=0, kind="stable")
    reach = np.cumsum(weights[order], axis=0)
    rank = (reach < reach[-1] * level * (1 - 1e-12)).sum(axis=0)
    return np.take_along_axis(values, order, axis=0)[rank, np.arange(len(rank))]


# smallest tolerance with many components and more rows than in a sample
_MIN_TOLERANCE = 1e-5
_FIRST_STEPS = 10  # number of k-means iterations that improve the initial means


class EGMMMethod(Method[EvidentialMixture, EvidentialMixture]):
    """EM algorithm that fits an evidential mixture from several initial mixtures.

    The rows are centered to avoid rounding errors, and scaled so that relative changes of the
    likelihood do not depend on the units of X.
    """

    _least = np.inf  # smallest objective of the runs so far

    def __init__(self, estimator: EGMM, sample: Sample[Any], request: FitRequest):
        self.estimator = estimator
        self.used_tol = estimator.tol
        self.n_clusters = request.n_clusters
        # name of an initialization, an array of means, or a partition
        self.init = centers_from_peaks(estimator, sample.values, self.n_clusters)
        self.apply = request.apply
        self.rng = as_random_state(estimator.random_state)
        self.has_user_start = not isinstance(self.init, str)
        self.rows = sample.rows(request.apply, estimator.device)
        dtype = precision_of(self.rows.values)
        self.origin = self.rows.mean().astype(dtype)
        self.n = self.rows.total_weight
        scatter = self.rows.scatter(self.origin.astype(float))
        variance = np.trace(scatter) / self.n / len(scatter)
        self.unit = float(np.sqrt(variance)) or 1.0
        self.shifted = self.rows.shift(self.origin, self.unit)
        self.data = self.shifted.values
        self.weights = sample.weights
        self.sample, self.sample_weights = self.shifted.sample(self.rng)
        _starts.check_different_objects(
            self.data, self.sample, self.n_clusters, self.weights
        )
        self.second = scatter / self.unit**2
        self.mean_variance = float(variance) / self.unit**2
        self.freedom = np.inf
        if estimator.distribution == "t":
            self.freedom = _INITIAL_FREEDOM
            if estimator.degrees_of_freedom != "auto":
                self.freedom = float(estimator.degrees_of_freedom)
            middle = _weighted_quantile(self.sample, self.sample_weights, 1 / 2)
            self.mean_variance = self._robust_variance(self.sample - middle)
        self.ridge = estimator.reg_covar * self.mean_variance

    def _robust_variance(self, gaps: np.ndarray) -> float:
        """Return the median of the squares of the sample's gaps, divided by their dimension.

        If it is zero, return the mean.
        """
        squares = np.square(gaps).mean(axis=1)
        [median] = _weighted_quantile(squares[:, None], self.sample_weights, 1 / 2)
        return float(median or np.average(squares, weights=self.sample_weights))

    # ---- starts ----------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[EvidentialMixture]:
        if self.has_user_start:
            return [self._user_start(family)]
        n_init = self.estimator.n_init
        size = _starts.number_of_starts(n_init, self.init, self.n_clusters)
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=size)
        clusters = [self._draw_clusters(seed) for seed in seeds]
        # The first runs are probably the best ones, so that others are given up early.
        clusters.sort(key=lambda found: found.cost)
        return [self._from_means(family, found.centers) for found in clusters]

    def _user_start(self, family: FocalSets) -> EvidentialMixture:
        init = self.init
        if isinstance(init, CredalPartition):
            _starts.check_partition(init, len(self.data), self.n_clusters)
            share = to_host(init.pignistic())
            if self.weights is not None:
                share = share * self.weights[:, None]
            total = np.maximum(share.sum(axis=0), np.finfo(float).tiny)
            means = (share.T @ to_host(self.data)) / total[:, None]
        else:
            shape = (self.n_clusters, self.data.shape[1])
            means = _starts.validate_centers(init, shape)
            means = (means - self.origin) / self.unit
        start = self._from_means(family, means)
        if self.estimator._estimates_freedom:
            start = start.with_best_freedom(
                self.sample, self.sample_weights, self.apply
            )
        return start

    def _draw_clusters(self, seed: int) -> NearestCenters:
        rng = np.random.RandomState(seed)
        rows = (self.sample, self._start_weights)
        means = _starts.draw_centers(*rows, self.n_clusters, self.init, rng)
        clusters = NearestCenters(*rows, means)
        clusters.iterate(_FIRST_STEPS)
        return clusters

    @cached_property
    def _start_weights(self) -> np.ndarray:
        """Weights for drawing initial means."""
        if np.isinf(self.freedom):
            return self.sample_weights
        return _starts.without_isolated(
            self.sample, self.sample_weights, self.n_clusters
        )

    def _from_means(self, family: FocalSets, means: np.ndarray) -> EvidentialMixture:
        """Return a mixture with equal weights.

        Its covariance is that of the rows around their nearest means. For t distributions, distant
        rows have small weights.
        """
        require_singletons(family, "each has a mean of its own")
        nearest, _ = find_nearest_clusters(self.sample, means, 1)
        gap = self.sample - means[nearest[:, 0]]
        nu = self.freedom
        u = 1.0
        if np.isfinite(nu):
            p = gap.shape[1]
            variance = self._robust_variance(gap) or 1.0
            u = (nu + p) / (nu + np.square(gap).sum(axis=1) / variance)
        scatter = (gap.T * self.sample_weights * u) @ gap / self.sample_weights.sum()
        # The scatter is zero if there are as many clusters as rows.
        least = max(self.ridge, 1e-6 * self.mean_variance)
        covariance = scatter + least * np.eye(len(scatter))
        if self.estimator.covariance == "own":
            covariance = np.repeat(covariance[None], self.n_clusters, axis=0)
        g = int((family.cardinality > 0).sum())
        weights = np.full(g, 1 / g)
        box = None
        background_weight = 0.0
        is_named = isinstance(self.estimator.focal_sets, str)
        if np.isfinite(nu) and (is_named or family.empty_index is not None):
            box = self._background_box(least)
            background_weight = _INITIAL_BACKGROUND
            weights *= 1 - background_weight
        mixture = EvidentialMixture(
            family,
            means,
            covariance,
            weights,
            ridge=self.ridge,
            degrees_of_freedom=nu,
            box=box,
            background_weight=background_weight,
        )
        return mixture.raise_small_eigenvalues()

    def _background_box(self, least: float) -> np.ndarray:
        """Return a box around the objects, shape (2, p).

        It contains the whiskers of the box plots of the attributes, and all values that are
        reached from there without a gap larger than an interquartile range. It is half the mean
        difference of adjacent values larger on all sides, so that the box of an attribute with the
        values 0 and 1 is from -1/2 to 3/2. If more than three quarters of the values of an
        attribute are equal, all of its values are in the box.
        """
        first = _weighted_quantile(self.sample, self.sample_weights, 1 / 4)
        third = _weighted_quantile(self.sample, self.sample_weights, 3 / 4)
        ranges = third - first
        box = np.empty((2, len(ranges)))
        rows = self.sample[self.sample_weights > 0]
        for j, column in enumerate(rows.T.astype(float)):
            values = np.unique(column)
            if ranges[j] > 0:
                whisker = 1.5 * ranges[j]
                below = values[:-1] < first[j] - whisker
                above = values[1:] > third[j] + whisker
                is_gap = np.diff(values) > ranges[j]
                lower = np.flatnonzero(is_gap & below)
                upper = np.flatnonzero(is_gap & above)
                start = max(lower, default=-1) + 1
                stop = min(upper, default=len(values)) + 1
                values = values[start:stop]
            width = values[-1] - values[0]
            margin = width / max(len(values) - 1, 1) / 2
            margin = max(margin, np.sqrt(np.pi / 2 * least))
            box[:, j] = values[0] - margin, values[-1] + margin
        return box

    # ---- runs ------------------------------------------------------------------------------------

    @property
    def _compares_starts(self) -> bool:
        """Whether the iterations begin with a sample of the rows."""
        return not self.has_user_start or self.estimator._estimates_freedom

    def run_start(self, start: EvidentialMixture) -> Run[EvidentialMixture]:
        run = self._run(start, on_sample=self._compares_starts, least=self._least)
        self._least = min(run.objective, self._least)
        return run

    def refine(self, best: Run[EvidentialMixture]) -> Run[EvidentialMixture]:
        if not self._compares_starts or self.shifted.are_all_in(self.sample):
            return best
        return self._run(best.model)

    def extend(
        self, run: Run[EvidentialMixture], family: FocalSets
    ) -> Run[EvidentialMixture]:
        return self._run(self._from_means(family, run.model.means))

    def add_neighbor_pairs(self, run: Run[EvidentialMixture]) -> Run[EvidentialMixture]:
        """Add the pairs of neighboring clusters to the sets that carry mass.

        The masses on pairs follow from the probabilities of the single clusters. A pair has no
        component of its own, because a Gaussian between two clusters would often attract rows of a
        third cluster, or no rows at all.
        """
        model = run.model
        counts = model.count_boundaries(self.sample, self.sample_weights)
        doubtful = model.neighbor_family(counts)
        return replace(run, model=replace(model, doubtful=doubtful))

    def _run(
        self,
        start: EvidentialMixture,
        *,
        on_sample: bool = False,
        least: float = np.inf,
    ) -> Run[EvidentialMixture]:
        steps = count()
        rows = self.shifted
        second = self.second
        if on_sample:
            rows = Rows(self.sample, self.sample_weights, self.apply)
            second = rows.scatter(np.zeros(self.data.shape[1]))
        estimates_freedom = self.estimator._estimates_freedom and on_sample

        def step(mixture: EvidentialMixture) -> tuple[float, EvidentialMixture]:
            sums = rows.sum(sum_masses, mixture, MixtureSums)
            objective, following = mixture.step(
                sums, second, rows.total_weight, self.ridge
            )
            if estimates_freedom and next(steps) % _FREEDOM_STEPS == 0:
                following = following.with_best_freedom(
                    rows.values, rows.weights, self.apply
                )
            return objective, following

        if start.has_many_components and not self.shifted.are_all_in(self.sample):
            self.used_tol = max(self.used_tol, _MIN_TOLERANCE)
        max_iter = self.estimator.max_iter
        return descend(step, start, max_iter=max_iter, tol=self.used_tol, least=least)

    # ---- results ---------------------------------------------------------------------------------

    def result(self, run: Run[EvidentialMixture]) -> FitResult:
        model = replace(run.model, origin=self.origin, unit=self.unit, ridge=0.0)
        # converts the log-likelihood to the units of X
        shift = self.n * self.data.shape[1] * np.log(self.unit)
        history = [float(value + shift) for value in run.history]
        run = replace(run, history=history)
        return FitResult(run, model, self.rows.masses(model))

    def online(self, model: EvidentialMixture, *, neighbors: bool) -> OnlineMixture:
        """Return the state from which `partial_fit` starts.

        ``neighbors`` is True if pairs of clusters get mass.
        """
        model = replace(model, doubtful=None)
        boundaries = None
        if neighbors:
            boundaries = np.zeros((self.n_clusters, self.n_clusters))
        return OnlineMixture(
            model, self.origin, self.unit, self.estimator.reg_covar, boundaries
        )


class EGMM(OnlineClusterer):
    r"""Evidential mixture: objects between two clusters get mass on the pair of clusters.

    By default, the mixture has one Gaussian component for each cluster, and all components have the
    same covariance matrix. After the fit, objects between neighboring clusters get mass on the
    pair, computed from their probabilities. With ``focal_sets="pairs"`` and other families, the
    mixture also has components for sets of several clusters, as in the paper. Its density is

    .. math::

        p(x) = \sum_{A \neq \emptyset} \pi_A N(x; \mu_A, \Sigma),

    where mu_A is the mean of the means mu_k of the clusters k in A, pi_A is the weight of component
    A, and :math:`\Sigma` is the covariance matrix of all components. The mass of an object on A is
    then the probability that it comes from component A. Objects between two clusters increase the
    weight of the pair, so no parameter controls the imprecision. With ``covariance="own"``, only
    single clusters have a component, and each has its own covariance matrix.

    With ``distribution="t"``, the components have t distributions with a common number nu of
    degrees of freedom, and the empty set also has a component, the background:

    .. math::

        p(x) = \pi_\emptyset b(x) + \sum_{A \neq \emptyset} \pi_A t(x; \mu_A, \Sigma, \nu).

    The density b is constant in a box with the probability 0.9, and decreases slowly outside. In
    each attribute, the box extends to the first gap beyond the whiskers of the box plot that is
    wider than the interquartile range. Objects far from all
    clusters, and objects of a uniform noise, get mass on the empty set (they are outliers), and
    distant objects have little influence on the clusters. With Gaussian distributions, the empty
    set has no mass.

    The parameters are estimated by EM, and the likelihood never decreases. The cost of an iteration
    is linear in the number of objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data, as in `ECM`.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. Families given by name contain the empty set if
        ``distribution="t"``. "auto" fits single clusters; objects between two neighboring clusters
        (with objects between them) then get mass on the pair, computed from their
        probabilities. "simple", "pairs" and "full" fit a component for each set. "selected" fits
        single clusters, then adds the pairs of mutually nearest clusters and continues. With more
        than 50 clusters and one covariance, "auto" neglects all but the five most probable clusters
        of an object.
    covariance : {"tied", "own"}, default="tied"
        "tied" fits one covariance matrix for all components, and "own" fits one for each cluster.
        "own" requires ``focal_sets="auto"`` or a `FocalSets` whose nonempty sets are the single
        clusters.
    distribution : {"gaussian", "t"}, default="gaussian"
        Distribution of the components. "t" is for clusters with heavy tails, and for data with
        outliers or noise.
    degrees_of_freedom : float > 0 or "auto", default="auto"
        Degrees of freedom of the t distributions. Small values, such as 3, mean heavy tails. "auto"
        estimates a value between 2 and 200, from at most 20,000 objects; `partial_fit` estimates it
        from the first block.
    reg_covar : float >= 0, default=1e-6
        Factor of the mean variance that is added to the diagonal of each covariance matrix. With
        ``distribution="t"``, a median replaces the mean, because of outliers. This is done at every
        M-step, and maximizes the likelihood minus the penalty ``r n / 2 tr(Sigma^-1)``, where r is
        the number added to the diagonal and n is the number of objects.
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
        all objects. More than 25 clusters have one start, as in `ECM`.
    max_iter : int, default=500
        Maximum number of iterations.
    tol : float, default=1e-7
        Relative change of the log-likelihood at which the iterations stop. It is at least 1e-5 with
        more than 50 clusters, ``focal_sets="auto"``, one covariance and more than 20,000 objects.
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
        Covariance matrix of all components, or of each cluster if ``covariance="own"``. For t
        distributions, it is the scale matrix; the covariance matrix is nu / (nu - 2) times the
        scale matrix if nu > 2.
    degrees_of_freedom_ : float
        Degrees of freedom nu of the t distributions; infinite for Gaussian distributions.
    weights_ : ndarray of shape (n_focal_sets,)
        Weight of the component of every focal set; zero for a set without a component. The weight
        of the empty set is that of the background.
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
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the objects in the random sample on which the starts were compared, if X came in
        blocks.
    n_samples_seen_ : int
        Number of objects in `fit` and in all blocks of `partial_fit`.

    References
    ----------
    L. Jiao, T. Denoeux, Z. Liu and Q. Pan (2022). EGMM: an evidential version of the Gaussian
    mixture model for clustering. Applied Soft Computing 129.

    D. Peel and G. J. McLachlan (2000). Robust mixture modelling using the t distribution.
    Statistics and Computing 10.

    X.-L. Meng and D. van Dyk (1997). The EM algorithm - an old folk-song sung to a fast new tune.
    Journal of the Royal Statistical Society B 59.

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
        "covariance": rule.choice("tied", "own"),
        "distribution": rule.choice("gaussian", "t"),
        "degrees_of_freedom": rule.choice("auto") | rule.real(0, open_low=True),
        "reg_covar": rule.real(0),
        "init": INIT_RULE,
    }
    _model: EvidentialMixture
    _online: MaybeUnset[OnlineMixture]
    _support = replace(OnlineClusterer._support, products=True)
    _method_type = EGMMMethod

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        covariance: str = "tied",
        distribution: str = "gaussian",
        degrees_of_freedom: float | str = "auto",
        reg_covar: float = 1e-6,
        init: str | BeliefPeaks | ArrayLike | CredalPartition = "k-means++",
        n_init: int = 10,
        max_iter: int = 500,
        tol: float = 1e-7,
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
        self.distribution = distribution
        self.degrees_of_freedom = degrees_of_freedom
        self.reg_covar = reg_covar
        self.init = init
        self.checkpoint = checkpoint
        self.device = device

    @property
    def _estimates_freedom(self) -> bool:
        return self.distribution == "t" and isinstance(self.degrees_of_freedom, str)

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
            self.focal_sets, n_clusters, empty=self.distribution == "t"
        )
        if self.covariance == "own" and (families.first.cardinality > 1).any():
            expected = "'auto' or a FocalSets without sets of several clusters if covariance='own'"
            raise InvalidParameterError("focal_sets", expected, self.focal_sets)
        return families

    def _fitted_attributes(
        self, method: EGMMMethod | OnlineMixture, model: EvidentialMixture
    ) -> dict[str, Any]:
        means = (model.means * model.unit + method.origin).astype(
            self.credal_partition_.dtype
        )
        weights = np.zeros(len(model.family))
        components = model.components.membership[model.components.cardinality > 0]
        weights[model.family.find(components)] = model.weights
        if model.family.empty_index is not None:
            weights[model.family.empty_index] = model.background_weight
        attributes = {
            "means_": means,
            "cluster_centers_": means,
            "covariance_": model.covariance * model.unit**2,
            "degrees_of_freedom_": model.degrees_of_freedom,
            "weights_": weights,
        }
        if isinstance(method, EGMMMethod):
            likelihood = method.rows.sum(sum_likelihood, model, float)
            attributes["log_likelihood_"] = likelihood
            n_parameters = model.n_parameters + self._estimates_freedom
            attributes["ebic_"] = likelihood - n_parameters * np.log(method.n) / 2
        return attributes
