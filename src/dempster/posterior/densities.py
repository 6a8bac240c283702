r"""Densities of the clusters: mixtures of t distributions.

In q coordinates z (`dempster.posterior.axes`), with the squared length r^2 of the other dimensions,
the joint density of a row and of component j is

.. math::

    \pi_j\, t_\nu(z; \mu_j, \Sigma_j)\, s_j^{-m/2} \exp(-r^2 / (2 s_j)),

where m is the dimension of the chi-squared distribution with the relative spread of r^2. The
parameters are estimated by a few EM steps from the memberships of the clusters; with more steps,
the components drift from the clusters, and the probabilities become worse. Covariances are shrunk
toward the common one: component j with the weight :math:`N_j` keeps the share
:math:`N_j / (N_j + 2 (q + 2))` of its own, the mean of a Wishart prior with twice the smallest
proper degrees of freedom. Mixtures of another family have the same covariance in all components.

A mixture can have one more component, which belongs to no cluster: a background with a uniform
density on the box that contains the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from scipy.special import fdtrc, gammaincc, gammaincinv, gammaln

from dempster.posterior.folds import N_FOLDS

_N_STEPS = 5  # EM steps from the memberships
_N_FOLD_STEPS = 3  # further EM steps without a fold
_N_RESIDUAL = 20.0  # weight of the common scale of the residual
_NORMAL_RANGE = 1.349  # interquartile range of the normal distribution
_REGULARIZATION = 1e-6  # relative to the mean variance
_MIN_VARIANCE = 1e-12  # relative to the mean square of the coordinates
_MIN_SHARE = 1e-9  # Rows with a smaller one do not change a covariance.
_TINY = np.finfo(float).tiny


class Points(NamedTuple):
    """Coordinates of n rows."""

    coordinates: np.ndarray  # (n, q)
    residuals: np.ndarray  # (n,), squared lengths of the other dimensions

    def select(self, rows: np.ndarray) -> Points:
        return Points(self.coordinates[rows], self.residuals[rows])


class Components(NamedTuple):
    """Parameters of g components, and of the background if there is one."""

    log_weights: np.ndarray  # (g,), or (g + 1,) with the background
    means: np.ndarray  # (g, q)
    roots: np.ndarray  # (g, q, q), factors L of the inverse scale matrices L L'
    log_determinants: np.ndarray  # (g,), of the scale matrices
    spreads: np.ndarray  # (g,), scales of the residual


@dataclass(frozen=True)
class Family:
    """What the components of a mixture have in common."""

    freedom: float  # degrees of freedom nu
    dimension: float = 0.0  # dimension m of the residual
    is_common: bool = False  # whether the components have the same scale matrix
    # log-density of the background in the coordinates
    log_background: float | None = None

    def estimate(
        self, points: Points, P: np.ndarray, tails: np.ndarray, weights: np.ndarray
    ) -> Components:
        """Return the parameters for the probabilities P and the weights of the tails, (n, g).

        With a background, P has one more column.
        """
        Z, residuals = points
        q = Z.shape[1]
        g = tails.shape[1]
        P = P * weights[:, None]
        with np.errstate(divide="ignore"):
            log_weights = np.log(P.sum(axis=0) / max(P.sum(), _TINY))
        P = P[:, :g]
        sizes = P.sum(axis=0)
        total = max(sizes.sum(), _TINY)
        P_tails = P * tails
        means = P_tails.T @ Z / np.maximum(P_tails.sum(axis=0), _TINY)[:, None]
        scatter = np.empty((g, q, q))
        for j in range(g):
            rows = np.flatnonzero(P_tails[:, j] > _MIN_SHARE)
            gap = Z[rows] - means[j]
            scatter[j] = (gap * P_tails[rows, j : j + 1]).T @ gap
        common = scatter.sum(axis=0) / total
        # Clusters of equal rows have no variance.
        smallest = _MIN_VARIANCE * max(float(np.square(Z).sum()) / max(Z.size, 1), 1.0)
        mean_variance = max(np.trace(common) / max(q, 1), smallest)
        common += _REGULARIZATION * mean_variance * np.eye(q)
        own = np.zeros((g, 1, 1))
        if not self.is_common:
            own = (sizes / (sizes + 2 * (q + 2)))[:, None, None]
        scatter /= np.maximum(sizes, _TINY)[:, None, None]
        values, vectors = np.linalg.eigh(own * scatter + (1 - own) * common)
        values = np.maximum(values, 1e-12 * mean_variance)
        spreads = np.ones(g)
        if self.dimension > 0:
            own_share = sizes / (sizes + _N_RESIDUAL)
            alone = _weighted_medians(residuals, P)
            together = float(sizes @ alone) / total
            spreads = own_share * alone + (1 - own_share) * together
            spreads = np.maximum(
                spreads / (2 * gammaincinv(self.dimension / 2, 0.5)), _TINY
            )
        roots = vectors / np.sqrt(values)[:, None, :]
        return Components(
            log_weights, means, roots, np.log(values).sum(axis=1), spreads
        )

    def log_joint(
        self, points: Points, components: Components
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the logarithms of weight times density, and the squared distances, (n, g).

        With a background, the first result has one more column.
        """
        Z, residuals = points
        n, q = Z.shape
        squares = np.empty((n, len(components.means)))
        for j, (mean, root) in enumerate(
            zip(components.means, components.roots, strict=True)
        ):
            gap = (Z - mean) @ root
            squares[:, j] = np.einsum("ij,ij->i", gap, gap)
        nu = self.freedom
        densities = -components.log_determinants / 2
        if np.isinf(nu):
            densities = densities - squares / 2 - q / 2 * np.log(2 * np.pi)
        else:
            normalizer = gammaln((nu + q) / 2) - gammaln(nu / 2)
            normalizer -= q / 2 * np.log(np.pi * nu)
            tails = (nu + q) / 2 * np.log1p(squares / nu)
            densities = densities + normalizer - tails
        if self.dimension > 0:
            densities = densities - self.dimension / 2 * np.log(components.spreads)
            densities = densities - residuals[:, None] / (2 * components.spreads)
        if self.log_background is not None:
            background = np.full((n, 1), self.log_background)
            densities = np.hstack([densities, background])
        return components.log_weights + densities, squares

    def tail_weights(self, squares: np.ndarray, q: int) -> np.ndarray:
        if np.isinf(self.freedom):
            return np.ones_like(squares)
        return (self.freedom + q) / (self.freedom + squares)

    def p_values(
        self, squares: np.ndarray, residuals: np.ndarray, q: int
    ) -> np.ndarray:
        """Return the probabilities of larger distances.

        ``residuals`` are divided by their scales.
        """
        p = np.ones_like(squares)
        if q > 0 and np.isinf(self.freedom):
            p = gammaincc(q / 2, squares / 2)
        elif q > 0:
            p = fdtrc(q, self.freedom, squares / q)
        if self.dimension == 0:
            return p
        rest = gammaincc(self.dimension / 2, residuals / 2)
        if q == 0:
            return rest
        return np.minimum(2 * np.minimum(p, rest), 1)

    def n_parameters(self, n_components: int, q: int) -> float:
        n_matrices = 1 if self.is_common else n_components
        n_parameters = n_matrices * q * (q + 1) / 2
        n_parameters += n_components * (1 + q + (self.dimension > 0))
        return n_parameters + (self.log_background is not None)


@dataclass(frozen=True)
class Fit:
    """A mixture after EM, with one row for each training row."""

    family: Family
    owners: np.ndarray  # (g,), cluster of each component
    # (n, g), probabilities of the components, zero for rows without a cluster; the last of g + 1
    # columns is that of the background
    P: np.ndarray
    tails: np.ndarray  # (n, g)
    logs: np.ndarray  # (n,), log-densities


def _weighted_medians(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the medians of ``values``, shape (n,), for each column of weights, shape (n, g).

    A few far rows do not change them.
    """
    order = np.argsort(values, kind="stable")
    reach = weights[order].cumsum(axis=0)
    return values[order][(reach >= reach[-1] / 2).argmax(axis=0)]


def sum_owned(P: np.ndarray, owners: np.ndarray, n_clusters: int) -> np.ndarray:
    """Add the columns of the components of each cluster, without the background."""
    belongs = owners[:, None] == np.arange(n_clusters)
    return P[:, : len(owners)] @ belongs.astype(float)


def normalize_logs(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities (n, g) and the log-densities (n,)."""
    top = logs.max(axis=1, keepdims=True)
    P = np.exp(logs - top)
    total = P.sum(axis=1, keepdims=True)
    return P / total, (top + np.log(total))[:, 0]


def residual_dimension(
    residuals: np.ndarray, members: np.ndarray, weights: np.ndarray, largest: int
) -> float:
    """Return the dimension of the chi-squared distribution with the relative spread of r^2."""
    if largest <= 0:
        return 0.0
    order = np.argsort(residuals, kind="stable")
    residuals = residuals[order]
    members = (members * weights[:, None])[order]
    sizes = members.sum(axis=0)
    many = sizes > 5
    if not many.any():
        return 0.0
    reach = members[:, many].cumsum(axis=0) / sizes[many]
    # Quartiles, which far objects do not change, instead of moments.
    low, middle, high = (
        residuals[(reach >= level).argmax(axis=0)] for level in (0.25, 0.5, 0.75)
    )
    if (middle <= 0).any():
        return 0.0
    relative = np.square((high - low) / _NORMAL_RANGE / middle)
    mean = max(np.average(relative, weights=sizes[many]), _TINY)
    return float(np.clip(2 / mean, 0.5, largest))


def run_em(
    family: Family,
    points: Points,
    start: np.ndarray,
    weights: np.ndarray,
    owners: np.ndarray,
    n_steps: int | None = None,
    tails: np.ndarray | None = None,
) -> Fit:
    """Run EM from probabilities; rows without a cluster do not count."""
    used = start.sum(axis=1, keepdims=True) > 0
    P = start
    if tails is None:
        tails = np.ones((len(start), len(owners)))
    for _ in range(n_steps or _N_STEPS):
        components = family.estimate(points, P, tails, weights)
        logs, squares = family.log_joint(points, components)
        tails = family.tail_weights(squares, points.coordinates.shape[1])
        P, densities = normalize_logs(logs)
        P = P * used
    return Fit(family, owners, P, tails, densities)


@dataclass(frozen=True)
class FoldMixture:
    """A mixture, estimated without each of h folds, with its weight among several mixtures."""

    freedom: float
    dimension: float
    log_background: float | None
    weight: float
    owners: Annotated[np.ndarray, "g:int"]  # clusters of the components
    log_weights: Annotated[np.ndarray, "h k"]
    means: Annotated[np.ndarray, "h g q"]
    roots: Annotated[np.ndarray, "h g q q"]
    log_determinants: Annotated[np.ndarray, "h g"]
    spreads: Annotated[np.ndarray, "h g"]

    @classmethod
    def from_fit(
        cls,
        fit: Fit,
        weight: float,
        points: Points,
        weights: np.ndarray,
        fold: np.ndarray,
    ) -> FoldMixture:
        folds = []
        for k in range(N_FOLDS):
            rest = fold != k
            some = points.select(rest)
            # Without these steps, the probabilities would still depend on the fold.
            again = run_em(
                fit.family,
                some,
                fit.P[rest],
                weights[rest],
                fit.owners,
                _N_FOLD_STEPS,
                fit.tails[rest],
            )
            folds.append(fit.family.estimate(some, again.P, again.tails, weights[rest]))
        arrays = map(np.array, zip(*folds, strict=True))
        return cls(
            fit.family.freedom,
            fit.family.dimension,
            fit.family.log_background,
            weight,
            fit.owners,
            *arrays,
        )

    @property
    def family(self) -> Family:
        return Family(self.freedom, self.dimension, log_background=self.log_background)

    def components(self, fold: int) -> Components:
        return Components(
            self.log_weights[fold],
            self.means[fold],
            self.roots[fold],
            self.log_determinants[fold],
            self.spreads[fold],
        )
