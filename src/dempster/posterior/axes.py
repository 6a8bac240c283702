r"""Coordinates in which the densities of the clusters are estimated.

With few attributes, the coordinates are the attributes. Otherwise, these compete with the
q = min(c - 1, p) discriminant axes of the c clusters. With the means :math:`m_k` and the shares
:math:`\pi_k` of the clusters and the common covariance :math:`W`, the axes span the vectors
:math:`W^{-1} (m_k - m)`, in which normal clusters with the covariance W differ. The remaining
:math:`p - q` dimensions are summarized by one number, the squared length

.. math:: r^2 = (x - m)' W^{-1} (x - m) - |z|^2,

which differs between clusters of different spreads. Given r, all directions of these dimensions
are equally probable, so that densities in both kinds of coordinates can be compared.

Axes that are estimated from few rows separate these rows better than new rows. Therefore, the rows
are divided into folds, and each fold has its own axes, estimated from the other folds. All axes are
rotated to a common orientation. A row of the training data is described in the axes of its fold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from scipy.special import gammaln

from dempster.posterior.densities import Points
from dempster.posterior.folds import N_FOLDS

# With at most this number of attributes, the densities are estimated in all of them.
MAX_ATTRIBUTES = 10
_MIN_EIGENVALUE = 1e-9  # relative to the largest eigenvalue
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Axes:
    """Linear maps of the rows to q coordinates, one for each of h folds."""

    origin: Annotated[np.ndarray, "p"]
    unit: Annotated[np.ndarray, "p"]  # divisors of the attributes
    columns: Annotated[np.ndarray, "k:int"]  # attributes that are not constant
    maps: Annotated[np.ndarray, "h k q"] | None  # None if there are few attributes
    # factors L of the inverse covariances L L'
    roots: Annotated[np.ndarray, "h k k"] | None

    @classmethod
    def fit(
        cls, X: np.ndarray, members: np.ndarray, weights: np.ndarray, fold: np.ndarray
    ) -> Axes:
        """Estimate the axes from n rows with the memberships (n, c) and the folds (n,).

        With few attributes, they are the axes.
        """
        total = weights.sum()
        origin = weights @ X / total
        X = X - origin
        members = members * weights[:, None]
        unit = np.sqrt(np.maximum(_within(X, members)[2].diagonal(), 0))
        spread = np.sqrt(weights @ X**2 / total)
        # Attributes that are constant within clusters have no scale within them.
        unit = np.maximum(unit, 1e-6 * spread)
        columns = np.flatnonzero(spread > 0)
        if len(columns) == 0:
            columns = np.zeros(1, np.intp)
        unit[unit == 0] = 1.0
        p = len(columns)
        if p <= MAX_ATTRIBUTES:
            return cls(origin, unit, columns, None, None)
        X = (X / unit)[:, columns]
        sizes, means, within = _within(X, members)
        center = sizes @ means / sizes.sum()
        scales = np.sqrt(sizes / sizes.sum())[:, None]
        q = min(members.shape[1] - 1, p)
        rotation = _leading(_gram(means - center, _root(within, members), scales), q)
        maps = []
        roots = []
        for k in range(N_FOLDS):
            kept = fold != k
            own_sizes, own_means, own_within = _within(X[kept], members[kept])
            # The mean of a cluster without other rows is that of all rows.
            lost = own_sizes < 1e-6 * sizes.max()
            own_means[lost] = means[lost]
            root = _root(own_within, members[kept])
            deviations = ((own_means - center) * scales) @ root
            inverse = _inverse_root(deviations @ deviations.T)
            maps.append(root @ (deviations.T @ (inverse @ rotation)))
            roots.append(root)
        origin[columns] += center * unit[columns]
        return cls(origin, unit, columns, np.array(maps), np.array(roots))

    def of_attributes(self) -> Axes:
        """Return the attributes as axes, in the same units."""
        return replace(self, maps=None, roots=None)

    def log_volumes(
        self, residuals: np.ndarray, dimension: float, fold: np.ndarray
    ) -> np.ndarray:
        """Return what turns log-densities in the axes into those in the attributes, shape (n,)."""
        if self.maps is None or self.roots is None:
            return np.zeros(len(residuals))
        _, determinants = np.linalg.slogdet(self.roots)
        if dimension == 0:
            return determinants[fold % N_FOLDS]
        half = (len(self.columns) - self.maps.shape[2]) / 2
        # density of the chi-squared distribution of r^2, and surface of the sphere of this radius
        logs = (dimension / 2 - half) * np.log(np.maximum(residuals, _TINY))
        logs -= dimension / 2 * np.log(2) + gammaln(dimension / 2)
        logs += gammaln(half) - half * np.log(np.pi)
        return logs + determinants[fold % N_FOLDS]

    def project(self, X: np.ndarray, fold: int) -> Points:
        """Return the coordinates of rows in the axes of a fold."""
        X = ((X - self.origin) / self.unit)[:, self.columns]
        if self.maps is None or self.roots is None:
            return Points(X, np.zeros(len(X)))
        Z = X @ self.maps[fold]
        white = X @ self.roots[fold]
        squares = np.einsum("ij,ij->i", white, white)
        return Points(Z, np.maximum(squares - np.einsum("ij,ij->i", Z, Z), 0))

    def project_folds(self, X: np.ndarray, fold: np.ndarray) -> Points:
        """Return the coordinates of each row in the axes of its fold."""
        own = fold % N_FOLDS
        parts = [self.project(X[own == k], k) for k in range(N_FOLDS)]
        order = np.argsort(np.argsort(own, kind="stable"))
        return Points(
            *(np.concatenate(part)[order] for part in zip(*parts, strict=True))
        )

    def matrix(self, fold: int) -> np.ndarray:
        """Return the matrix, shape (p, q), that multiplies the attributes."""
        selected = np.eye(len(self.unit))[:, self.columns] / self.unit[:, None]
        if self.maps is None:
            return selected
        return selected @ self.maps[fold]


def _within(
    X: np.ndarray, members: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the sizes and means of the clusters, and their common covariance."""
    sizes = members.sum(axis=0)
    means = members.T @ X / np.maximum(sizes, _TINY)[:, None]
    scatter = (X * members.sum(axis=1)[:, None]).T @ X - (means.T * sizes) @ means
    freedom = max(sizes.sum() - len(sizes), 1.0)
    return sizes, means, scatter / freedom


def _root(within: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Return the inverse square root of a covariance that is shrunk toward the identity."""
    freedom = max(members.sum() - members.shape[1], 2.0)
    values, vectors = np.linalg.eigh(_shrink(within, freedom))
    kept = values > _MIN_EIGENVALUE * max(values[-1], _TINY)
    powers = np.zeros_like(values)
    powers[kept] = values[kept] ** -0.5
    return (vectors * powers) @ vectors.T


def _shrink(S: np.ndarray, n: float) -> np.ndarray:
    """Shrink a covariance toward a multiple of the identity by OAS (Chen et al., 2010)."""
    p = len(S)
    trace = float(np.trace(S))
    squares = float(np.square(S).sum())
    above = (1 - 2 / p) * squares + trace**2
    below = (n + 1 - 2 / p) * (squares - trace**2 / p)
    share = 1.0 if below <= 0 else min(1.0, above / below)
    return (1 - share) * S + share * trace / p * np.eye(p)


def _gram(means: np.ndarray, root: np.ndarray, scales: np.ndarray) -> np.ndarray:
    deviations = (means * scales) @ root
    return deviations @ deviations.T


def _leading(gram: np.ndarray, q: int) -> np.ndarray:
    """Return the q leading eigenvectors."""
    return np.linalg.eigh(gram)[1][:, ::-1][:, :q]


def _inverse_root(gram: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(gram)
    kept = values > _MIN_EIGENVALUE * max(values[-1], _TINY)
    powers = np.zeros_like(values)
    powers[kept] = values[kept] ** -0.5
    return (vectors * powers) @ vectors.T
