"""Prototypes of clusters, and the sums over objects that move them.

Notation of Masson and Denoeux (2008): g nonempty focal sets A_j of c_j clusters, B the (g, c) membership matrix,
prototypes V (c, p), barycentres of the sets A V with A = diag(1 / c_j) B.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from dempster._arrays import Array, is_tensor, same_place
from dempster._missing import has_missing
from dempster.belief import FocalSets
from dempster.cluster._mass_step import MassStep, carried_masses
from dempster.cluster.evidence import ClusterEvidence, quadratic_parts
from dempster.cluster.on_device import prototypes as on_device
from dempster.cluster.on_device.rows import block_on_device
from dempster.cluster.prototypes import _kernels
from dempster.cluster.prototypes._partial import missing_costs, sums_of_masses, sums_of_present
from dempster.dissimilarity.partial import point_squares
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.normal_equations import solve_normal_equations

__all__ = ["PrototypeModel", "Statistics", "OnlinePrototypes", "block_statistics"]


@dataclass(frozen=True)
class PrototypeModel:
    """Prototypes with everything needed to turn an object into masses.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    centers : (c, p) array
    metrics : (c, p, p) array or None
        One matrix of determinant 1 a cluster (adaptive metric).
    within : (p,) array or None
        Variances of the attributes within clusters, for which missing ones count; None if none may be missing.
    """

    step: MassStep
    centers: np.ndarray
    metrics: np.ndarray | None = None
    within: np.ndarray | None = None

    @property
    def family(self) -> FocalSets:
        return self.step.family

    def kernel_arguments(self, dtype: np.dtype) -> tuple:
        """Barycentres, metrics (None: Euclidean), and the arguments of the mass step: as the kernels take them."""
        sets = self.step.sets
        mean = sets / sets.sum(axis=1)[:, None]
        barycentres = np.ascontiguousarray((mean @ self.centers).T, dtype=dtype)
        metrics = None
        if self.metrics is not None:
            metrics = np.ascontiguousarray(np.einsum("jk,kde->dej", mean, self.metrics), dtype=dtype)
        return barycentres, metrics, *self.step.kernel_arguments(dtype)

    def masses(self, X: Array, apply: Apply) -> Array:
        """(n, f) masses of the rows of X; those of a tensor are found where it is."""
        if is_tensor(X):
            return self.masses_on_device(X, X.device)
        if self._lacks_cells(X):
            return self._partial_masses(X, apply)
        out = np.zeros((len(X), len(self.family)), dtype=X.dtype)
        if self._needs_digits(X):
            apply(self._write_in_double, [(X, start, stop, out) for start, stop in row_blocks(len(X))])
            return out
        arguments = (*self.kernel_arguments(X.dtype), *self.step.columns(), out)
        apply(_kernels.write_masses, [(X, start, stop, *arguments) for start, stop in row_blocks(len(X))])
        return out

    def _write_in_double(self, X: np.ndarray, start: int, stop: int, out: np.ndarray) -> None:
        """Masses of the rows start..stop, computed in double precision."""
        rows, found = X[start:stop].astype(float), np.zeros((stop - start, len(self.family)))
        arguments = (*self.kernel_arguments(rows.dtype), *self.step.columns(), found)
        _kernels.write_masses(rows, 0, len(rows), *arguments)
        out[start:stop] = found

    def _needs_digits(self, X: np.ndarray) -> bool:
        """Whether distances need more digits than objects have: weights of a metric may be a million times apart."""
        return self.metrics is not None and X.dtype == np.float32

    def _lacks_cells(self, X: np.ndarray) -> bool:
        return self.within is not None and has_missing(X)

    def _partial_masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        """Rows that have all of their cells get the masses that they have among rows like them."""
        lacking = np.isnan(X).any(axis=1)
        out = np.empty((len(X), len(self.family)), dtype=X.dtype)
        if not lacking.all():
            out[~lacking] = self.masses(np.ascontiguousarray(X[~lacking]), apply)
        places = np.flatnonzero(lacking)
        for start, stop in row_blocks(len(places)):
            block = places[start:stop]
            out[block] = self.step.masses(self._partial_costs(X[block]), np.empty(0), apply)[1]
        return out

    def squared_distances(self, X: np.ndarray) -> np.ndarray:
        """(n, g) squared distances of objects to the barycentres of the nonempty sets; where attributes are missing,
        what the mass step takes for them (`_partial`)."""
        if self._lacks_cells(X):
            return self._partial_costs(X)
        if self._needs_digits(X):
            return self.squared_distances(X.astype(float))
        barycentres, metrics, *_ = self.kernel_arguments(X.dtype)
        return _kernels.squared_distances(X, barycentres, metrics)

    def _partial_costs(self, X: np.ndarray) -> np.ndarray:
        assert self.within is not None
        factor, *_ = self.step.kernel_arguments()
        return np.ascontiguousarray(self._present_squares(X) + missing_costs(X, factor, self.within))

    def _present_squares(self, X: np.ndarray) -> np.ndarray:
        """(n, g) squared distances over the attributes that objects have."""
        return point_squares(X, self.step.averages @ self.centers)

    def statistics(self, X: Array, weights: Array | None, apply: Apply) -> Statistics:
        """One pass over the data: the objective, and the sums that the updates need; of a tensor, where it is."""
        if is_tensor(X):
            return Statistics(*on_device.sums_on_device(self.kernel_arguments(np.dtype(float)), X, weights))
        assert weights is not None
        blocks = row_blocks(len(X))
        if self._lacks_cells(X):
            return reduce(add, apply(self._partial_statistics, [(X, weights, start, stop) for start, stop in blocks]))
        if self._needs_digits(X):
            return reduce(add, apply(self._double_statistics, [(X, weights, start, stop) for start, stop in blocks]))
        arguments = self.kernel_arguments(X.dtype)
        parts = apply(_kernels.accumulate, [(X, weights, start, stop, *arguments) for start, stop in blocks])
        return reduce(add, (Statistics(*part) for part in parts))

    def _double_statistics(self, X: np.ndarray, weights: np.ndarray, start: int, stop: int) -> Statistics:
        """Those of the rows start..stop, computed in double precision."""
        rows, given = X[start:stop].astype(float), weights[start:stop] if len(weights) else weights
        return Statistics(*_kernels.accumulate(rows, given, 0, len(rows), *self.kernel_arguments(rows.dtype)))

    def _partial_statistics(self, X: np.ndarray, weights: np.ndarray, start: int, stop: int) -> Statistics:
        """Those of the rows start..stop, some of whose cells are missing."""
        rows, given = X[start:stop], weights[start:stop] if len(weights) else weights
        return Statistics(*sums_of_masses(rows, self._partial_costs(rows), given, self.step))

    def masses_on_device(self, X: Array, device: Any) -> Array:
        """(n, f) masses of the rows of X, by torch."""
        return on_device.masses_on_device(self.kernel_arguments(np.dtype(float)), self.step, X, device)

    def updated(self, statistics: Statistics, *, move_centers: bool = True) -> Self:
        """The prototypes, then the metrics, that minimise the objective given the masses."""
        model = replace(self, centers=self._centers(statistics)) if move_centers else self
        return model if self.metrics is None else replace(model, metrics=model._best_metrics(statistics))

    def centers_from(self, masses: np.ndarray, family: FocalSets, X: np.ndarray) -> np.ndarray:
        """Prototypes that minimise the Euclidean objective for given masses on any family of sets."""
        weight = carried_masses(masses, family, self.family)
        weight **= self.step.beta
        if self._lacks_cells(X):
            return self._centers(Statistics(0.0, *sums_of_present(X, weight)))
        return self._best_centers(Statistics(0.0, weight.sum(axis=0), (weight.T @ X).T, np.empty(0)))

    def _centers(self, statistics: Statistics) -> np.ndarray:
        """The best prototypes, attribute by attribute where not all objects have all of them."""
        if statistics.total.ndim == 1:
            return self._best_centers(statistics)
        found = np.hstack([self._best_centers(statistics.of_attribute(d)) for d in range(len(statistics.total))])
        seen = statistics.total @ self.step.sets > 0
        return np.where(seen.T, found, self.centers)  # what no object of a cluster has stays where it was

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        """Solve H V = R (Masson and Denoeux, 2008, eq. 22; one block of p rows a cluster if the metric adapts)."""
        sets, alpha = self.step.sets, self.step.alpha
        size = sets.sum(axis=1)
        weight = size ** (alpha - 2) * statistics.total
        if self.metrics is None:
            H = (sets.T * weight) @ sets
            return solve_normal_equations(H, (sets.T * size ** (alpha - 1)) @ statistics.first.T)
        c, p = self.centers.shape
        mean = np.einsum("jk,kde->jde", sets / size[:, None], self.metrics)
        H = np.einsum("jk,jl,j,jde->kdle", sets, sets, weight, mean, optimize=True).reshape(c * p, c * p)
        R = np.einsum("jk,j,jde,ej->kd", sets, size ** (alpha - 1), mean, statistics.first, optimize=True)
        return solve_normal_equations(H, R.reshape(c * p, 1)).reshape(c, p)

    def _best_metrics(self, statistics: Statistics) -> np.ndarray:
        """S_k = det(Sigma_k)^(1/p) Sigma_k^-1, Sigma_k the scatter of cluster k (Antoine et al., 2012, eq. 20)."""
        sets = self.step.sets
        size = sets.sum(axis=1)
        bary = (sets / size[:, None]) @ self.centers
        lower = np.moveaxis(statistics.second, 2, 0)
        moment = lower + np.transpose(np.tril(lower, -1), (0, 2, 1))
        first = statistics.first.T
        cross = first[:, :, None] * bary[:, None, :]
        scatter = moment - cross - np.transpose(cross, (0, 2, 1))
        scatter += statistics.total[:, None, None] * bary[:, :, None] * bary[:, None, :]
        share = size ** (self.step.alpha - 1)
        sigma = np.einsum("jk,j,jde->kde", sets, share, scatter)
        return _metrics_of(sigma, np.einsum("jk,j,jdd->k", sets, share, moment), self.metrics)

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer its prototype, in each attribute, the more."""
        gap = X[0] - self.centers
        metrics = np.eye(gap.shape[1])[None] if self.metrics is None else self.metrics
        return ClusterEvidence.of_attributes(
            "minus the squared distance to the center", -quadratic_parts(gap, metrics).T
        )


def _metrics_of(sigma: np.ndarray, size: np.ndarray, old: np.ndarray | None) -> np.ndarray:
    """(k, p, p) metrics of determinant one that make tr(S_k Sigma_k) least, for moments about the origin of traces
    ``size``.

    A flat direction would get an infinite weight, so the variances of a cluster are kept above a millionth of their
    mean. That is no longer the least, and where it is above what the ``old`` metric gives, that one stays, so that the
    objective never rises. It stays as well where a cluster has lost its objects, and nothing is left but rounding.
    """
    assert old is not None
    trace = np.trace(sigma, axis1=1, axis2=2)
    known = trace > np.maximum(1e-15 * size, 1e-290)
    unit = np.ldexp(1.0, np.frexp(np.where(known, trace, 1.0))[1])[:, None, None]  # logarithms are not rounded alike
    values, vectors = np.linalg.eigh(np.where(known[:, None, None], sigma / unit, np.eye(sigma.shape[1])))
    floor = 1e-6 * values.mean(axis=1, keepdims=True)
    flat = (values < floor).any(axis=1)
    values = np.maximum(values, floor)
    scale = np.exp(np.log(values).mean(axis=1, keepdims=True))
    best = np.einsum("kde,ke,kfe->kdf", vectors, scale / values, vectors)
    worse = np.einsum("kde,kde->k", best, sigma) > np.einsum("kde,kde->k", old, sigma)
    return np.where((known & ~(flat & worse))[:, None, None], best, old)


@dataclass(frozen=True)
class Statistics:
    """Sums over objects, one value a nonempty set: they can be added over blocks of data.

    Attributes
    ----------
    objective : float
    total : (g,) sum of m^beta, or (p, g) over the objects that have an attribute, where some are missing
    first : (p, g) sum of m^beta x
    second : (p, p, g) lower triangle of the sum of m^beta x x' (empty if the metric is fixed)
    """

    objective: float
    total: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def of_attribute(self, d: int) -> Statistics:
        """Those of one attribute, where not all objects have it."""
        return Statistics(self.objective, self.total[d], self.first[d : d + 1], np.empty(0))

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.objective + other.objective,
            self.total + other.total,
            self.first + other.first,
            self.second + other.second,
        )

    def scaled(self, factor: float) -> Statistics:
        """The sums of objects that count for so much."""
        return Statistics(factor * self.objective, factor * self.total, factor * self.first, factor * self.second)


# ---- blocks of objects ----------------------------------------------------------------------------------------------


def block_statistics(
    block: np.ndarray, weights: np.ndarray, shared: tuple[PrototypeModel, np.ndarray | None, str], apply: Apply
) -> Statistics:
    """The sums of one block of objects, measured from the origin of the model if it has one, on a device."""
    model, origin, device = shared
    rows = block_on_device(block, device)
    return model.statistics(
        rows if origin is None else rows - same_place(origin, rows), same_place(weights, rows), apply
    )


@dataclass(frozen=True)
class OnlinePrototypes:
    """Prototypes and the sums over the objects that they were learned from.

    The masses of a block are those under the prototypes of its time; new prototypes minimise the objective given the
    masses of all blocks so far (Neal and Hinton, 1998: incremental variants of EM).

    Attributes
    ----------
    model : PrototypeModel
        What moves, measured from ``origin``.
    origin : (p,) array or None
    delta : float
        Distance to the empty set.
    neighbors : bool
        Whether the empty set and pairs of neighboring clusters are read off.
    sums : Statistics or None
        None before the first block.
    """

    model: PrototypeModel
    origin: np.ndarray | None
    delta: float
    neighbors: bool
    sums: Statistics | None = None

    @property
    def objective(self) -> float:
        """That of all objects so far, each under the prototypes of its time."""
        assert self.sums is not None
        return self.sums.objective

    def after(self, X: Array, weights: np.ndarray, kept: float, *, update: bool, apply: Apply) -> Self:
        """After one more block; ``kept`` is the share of the earlier sums that is not forgotten."""
        data = X if self.origin is None else X - same_place(self.origin, X)
        sums = self.model.statistics(data, same_place(weights, X), apply)
        if self.sums is not None:
            sums = self.sums.scaled(kept) + sums
        return replace(self, sums=sums, model=self.model.updated(sums) if update else self.model)

    def fitted(self) -> PrototypeModel:
        """The model for new objects, in their coordinates."""
        model = self.model
        if self.neighbors:
            step = replace(model.step, family=FocalSets.neighbors(model.centers), delta2=self.delta**2)
            model = replace(model, step=step)
        return model if self.origin is None else replace(model, centers=model.centers + self.origin)
