"""What prototype methods share: masses from costs, and the sums that update prototypes and metrics.

Notation of Masson and Denoeux (2008): g nonempty focal sets A_j of c_j clusters, B the (g, c) membership matrix,
prototypes V (c, p), barycentres of the sets A V with A = diag(1 / c_j) B. The kernels go through a block of rows and
keep nothing of size n x g; what they return can be added up over blocks (or machines).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from evidentia.belief import FocalSets
from evidentia.optimize.blocks import row_blocks

# Sums may be reordered (which vectorises them) but NaN and infinity keep their meaning.
_REORDER = {"reassoc", "contract"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _set_costs(x, barycentres, costs):
    """Squared Euclidean distances of one object to the barycentres.

    They are stored (p, g), so that the inner loop is long; four attributes at a time spare loads and stores.
    """
    p, g = barycentres.shape
    for j in range(g):
        costs[j] = 0
    whole = p - p % 4
    for d in range(0, whole, 4):
        row0, row1, row2, row3 = barycentres[d], barycentres[d + 1], barycentres[d + 2], barycentres[d + 3]
        x0, x1, x2, x3 = x[d], x[d + 1], x[d + 2], x[d + 3]
        for j in range(g):
            gap0, gap1, gap2, gap3 = x0 - row0[j], x1 - row1[j], x2 - row2[j], x3 - row3[j]
            costs[j] += gap0 * gap0 + gap1 * gap1 + gap2 * gap2 + gap3 * gap3
    for d in range(whole, p):
        row = barycentres[d]
        value = x[d]
        for j in range(g):
            gap = value - row[j]
            costs[j] += gap * gap


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _set_costs_adaptive(x, barycentres, metrics, gaps, costs):
    """Squared distances in the metric of each set; ``metrics`` is (p, p, g), ``gaps`` (p, g) scratch."""
    costs[:] = 0
    for d in range(barycentres.shape[0]):
        row = barycentres[d]
        gap = gaps[d]
        value = x[d]
        for j in range(costs.shape[0]):
            gap[j] = value - row[j]
        for e in range(d):
            metric = metrics[d, e]
            other = gaps[e]
            for j in range(costs.shape[0]):
                costs[j] += 2 * metric[j] * gap[j] * other[j]
        metric = metrics[d, d]
        for j in range(costs.shape[0]):
            costs[j] += metric[j] * gap[j] * gap[j]
    for j in range(costs.shape[0]):
        costs[j] = max(costs[j], 0)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def masses_of_row(costs, factor, size, delta2, beta, zero, masses):
    """Minimise sum_j factor_j m_j^beta costs_j + delta2 m_0^beta over the simplex (Masson and Denoeux, 2008, eq. 17).

    Writes the masses of the nonempty sets; returns the mass of the empty set and the minimum. ``delta2`` is infinite
    when the empty set is not allowed. Costs below ``zero`` count as zero: then the mass is shared equally by the
    smallest sets among those.
    """
    g = costs.shape[0]
    n_zero = 0
    for j in range(g):
        n_zero += costs[j] <= zero
    if n_zero > 0:
        return 0.0, _masses_on_prototype(costs, size, zero, masses)
    if beta == 2:
        total = 1 / delta2
        empty = total
        for j in range(g):
            masses[j] = 1 / (factor[j] * costs[j])
        for j in range(g):
            total += masses[j]
        scale = 1 / total
        for j in range(g):
            masses[j] *= scale
        return empty * scale, scale
    smallest = delta2  # powers are taken of ratios, which cannot overflow
    for j in range(g):
        smallest = min(smallest, factor[j] * costs[j])
    power = 1 / (beta - 1)
    total = (smallest / delta2) ** power
    empty = total
    for j in range(g):
        masses[j] = (smallest / (factor[j] * costs[j])) ** power
    for j in range(g):
        total += masses[j]
    scale = 1 / total
    for j in range(g):
        masses[j] *= scale
    return empty * scale, smallest * total ** (1 - beta)


@njit(cache=True, nogil=True, error_model="numpy")
def _masses_on_prototype(costs, size, zero, masses):
    """Equal masses for the smallest sets among those at no distance."""
    few = size.max()
    for j in range(costs.shape[0]):
        if costs[j] <= zero:
            few = min(few, size[j])
    count = 0
    for j in range(costs.shape[0]):
        chosen = costs[j] <= zero and size[j] == few
        masses[j] = chosen
        count += chosen
    for j in range(costs.shape[0]):
        masses[j] /= count
    return 0.0


_TILE = 4  # rows whose contributions are added to the sums together


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _accumulate(X, weights, start, stop, barycentres, metrics, factor, size, delta2, beta, zero):
    """Objective and sums over rows start..stop: of m^beta, of m^beta x, and (adaptive metric) of m^beta x x'."""
    p, g = barycentres.shape
    adaptive = metrics.shape[0] > 0
    costs = np.empty(g, X.dtype)
    tile = np.zeros((_TILE, g), X.dtype)
    gaps = np.empty((p, g), X.dtype)
    total = np.zeros(g)
    first = np.zeros((p, g))
    second = np.zeros((p if adaptive else 0, p if adaptive else 0, g))
    objective = 0.0
    for begin in range(start, stop, _TILE):
        last = min(begin + _TILE, stop) - 1
        for r in range(_TILE):
            masses = tile[r]
            i = begin + r
            weight = 0.0 if i > last else (weights[i] if weights.shape[0] > 0 else 1.0)
            if weight == 0:
                masses[:] = 0
                continue
            if adaptive:
                _set_costs_adaptive(X[i], barycentres, metrics, gaps, costs)
            else:
                _set_costs(X[i], barycentres, costs)
            _, value = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
            objective += weight * value
            if beta == 2:
                for j in range(g):
                    masses[j] = weight * masses[j] * masses[j]
            else:
                for j in range(g):
                    masses[j] = weight * masses[j] ** beta
        # rows beyond the last have no mass: any row of X will do for them
        x0, x1, x2, x3 = X[begin], X[min(begin + 1, last)], X[min(begin + 2, last)], X[min(begin + 3, last)]
        m0, m1, m2, m3 = tile[0], tile[1], tile[2], tile[3]
        for j in range(g):
            total[j] += m0[j] + m1[j] + m2[j] + m3[j]
        for d in range(p):
            _add_products(first[d], x0[d], m0, x1[d], m1, x2[d], m2, x3[d], m3)
            if adaptive:
                for e in range(d + 1):
                    _add_products(
                        second[d, e], x0[d] * x0[e], m0, x1[d] * x1[e], m1, x2[d] * x2[e], m2, x3[d] * x3[e], m3
                    )
    return objective, total, first, second


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_REORDER)
def _add_products(row, a0, m0, a1, m1, a2, m2, a3, m3):
    for j in range(row.shape[0]):
        row[j] += a0 * m0[j] + a1 * m1[j] + a2 * m2[j] + a3 * m3[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _write_masses(X, start, stop, barycentres, metrics, factor, size, delta2, beta, zero, columns, empty_column, out):
    """Masses of rows start..stop into the columns of the family."""
    p, g = barycentres.shape
    costs = np.empty(g, X.dtype)
    masses = np.empty(g, X.dtype)
    gaps = np.empty((p, g), X.dtype)
    for i in range(start, stop):
        if metrics.shape[0] > 0:
            _set_costs_adaptive(X[i], barycentres, metrics, gaps, costs)
        else:
            _set_costs(X[i], barycentres, costs)
        empty, _ = masses_of_row(costs, factor, size, delta2, beta, zero, masses)
        for j in range(g):
            out[i, columns[j]] = masses[j]
        if empty_column >= 0:
            out[i, empty_column] = empty


@njit(cache=True, nogil=True, error_model="numpy")
def squared_distances(X, barycentres, metrics):
    """(n, g) squared distances of the rows of X to the barycentres, for methods that need all of them at once."""
    p, g = barycentres.shape
    out = np.empty((X.shape[0], g), X.dtype)
    gaps = np.empty((p, g), X.dtype)
    for i in range(X.shape[0]):
        if metrics.shape[0] > 0:
            _set_costs_adaptive(X[i], barycentres, metrics, gaps, out[i])
        else:
            _set_costs(X[i], barycentres, out[i])
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def masses_from_costs(costs, weights, factor, size, delta2, beta, zero, masses, empty):
    """Masses of objects whose costs are known, a row each; returns the objective, weighted unless weights is empty."""
    objective = 0.0
    for i in range(costs.shape[0]):
        empty[i], value = masses_of_row(costs[i], factor, size, delta2, beta, zero, masses[i])
        objective += value * (weights[i] if weights.shape[0] > 0 else 1.0)
    return objective


@dataclass(frozen=True)
class Model:
    """Prototypes with everything needed to turn an object into masses.

    Attributes
    ----------
    family : FocalSets
    centers : (c, p) array
    alpha, beta, delta : float
        Penalty of large sets, fuzziness, distance to the empty set.
    zero : float
        Squared distance below which an object lies on a prototype.
    metrics : (c, p, p) array or None
        One matrix of determinant 1 a cluster (adaptive metric).
    """

    family: FocalSets
    centers: np.ndarray
    alpha: float
    beta: float
    delta: float
    zero: float
    metrics: np.ndarray | None = None

    @property
    def sets(self) -> np.ndarray:
        """(g, c) membership of the nonempty sets."""
        return self.family.membership[self.family.cardinality > 0].astype(float)

    def kernel_arguments(self, dtype: np.dtype) -> tuple:
        """Barycentres, metrics, factors, sizes, delta^2, beta, zero: as the kernels take them."""
        sets = self.sets
        size = sets.sum(axis=1)
        mean = sets / size[:, None]
        barycentres = np.ascontiguousarray((mean @ self.centers).T, dtype=dtype)
        if self.metrics is None:
            metrics = np.empty((0, 0, len(sets)), dtype=dtype)
        else:
            metrics = np.ascontiguousarray(np.einsum("jk,kde->dej", mean, self.metrics), dtype=dtype)
        delta2 = self.delta**2 if self.family.empty_index is not None else np.inf
        number = np.dtype(dtype).type
        return (
            barycentres,
            metrics,
            (size**self.alpha).astype(dtype),
            size.astype(np.int64),
            number(delta2),
            float(self.beta),
            number(self.zero),
        )

    def masses(self, X: np.ndarray, apply: Callable) -> np.ndarray:
        """(n, f) masses of the rows of X."""
        out = np.zeros((len(X), len(self.family)), dtype=X.dtype)
        columns = np.flatnonzero(self.family.cardinality > 0)
        empty = -1 if self.family.empty_index is None else self.family.empty_index
        arguments = self.kernel_arguments(X.dtype)
        blocks = row_blocks(len(X))
        apply(_write_masses, [(X, start, stop, *arguments, columns, empty, out) for start, stop in blocks])
        return out

    def statistics(self, X: np.ndarray, weights: np.ndarray, apply: Callable) -> Statistics:
        """One pass over the data: the objective, and the sums that the updates need."""
        arguments = self.kernel_arguments(X.dtype)
        parts = apply(_accumulate, [(X, weights, start, stop, *arguments) for start, stop in row_blocks(len(X))])
        return Statistics(*(sum(part[k] for part in parts) for k in range(4)))

    def updated(self, statistics: Statistics, *, move_centers: bool = True) -> Model:
        """The prototypes, then the metrics, that minimise the objective given the masses."""
        model = replace(self, centers=self._best_centers(statistics)) if move_centers else self
        return model if self.metrics is None else replace(model, metrics=model._best_metrics(statistics))

    def centers_from(self, masses: np.ndarray, family: FocalSets, X: np.ndarray) -> np.ndarray:
        """Prototypes that minimise the Euclidean objective for given masses on any family of sets."""
        weight = carried_masses(masses, family, self.family)
        weight **= self.beta
        return self._best_centers(Statistics(0.0, weight.sum(axis=0), (weight.T @ X).T, np.empty(0)))

    def _best_centers(self, statistics: Statistics) -> np.ndarray:
        """Solve H V = R (Masson and Denoeux, 2008, eq. 22; one block of p rows a cluster if the metric adapts)."""
        sets = self.sets
        size = sets.sum(axis=1)
        weight = size ** (self.alpha - 2) * statistics.total
        if self.metrics is None:
            H = (sets.T * weight) @ sets
            return solve_normal_equations(H, (sets.T * size ** (self.alpha - 1)) @ statistics.first.T)
        c, p = self.centers.shape
        mean = np.einsum("jk,kde->jde", sets / size[:, None], self.metrics)
        H = np.einsum("jk,jl,j,jde->kdle", sets, sets, weight, mean, optimize=True).reshape(c * p, c * p)
        R = np.einsum("jk,j,jde,ej->kd", sets, size ** (self.alpha - 1), mean, statistics.first, optimize=True)
        return solve_normal_equations(H, R.reshape(c * p, 1)).reshape(c, p)

    def _best_metrics(self, statistics: Statistics) -> np.ndarray:
        """S_k = det(Sigma_k)^(1/p) Sigma_k^-1, Sigma_k the scatter of cluster k (Antoine et al., 2012, eq. 20)."""
        sets = self.sets
        size = sets.sum(axis=1)
        bary = (sets / size[:, None]) @ self.centers
        lower = np.moveaxis(statistics.second, 2, 0)
        moment = lower + np.transpose(np.tril(lower, -1), (0, 2, 1))
        first = statistics.first.T
        cross = first[:, :, None] * bary[:, None, :]
        scatter = moment - cross - np.transpose(cross, (0, 2, 1))
        scatter += statistics.total[:, None, None] * bary[:, :, None] * bary[:, None, :]
        sigma = np.einsum("jk,j,jde->kde", sets, size ** (self.alpha - 1), scatter)
        values, vectors = np.linalg.eigh(sigma)
        # a flat direction would get an infinite weight
        floor = 1e-6 * np.maximum(values.mean(axis=1, keepdims=True), np.finfo(float).tiny)
        values = np.maximum(values, floor)
        scale = np.exp(np.log(values).mean(axis=1, keepdims=True))
        return np.einsum("kde,ke,kfe->kdf", vectors, scale / values, vectors)


@dataclass(frozen=True)
class Statistics:
    """Sums over objects, one value a nonempty set: they can be added over blocks of data.

    Attributes
    ----------
    objective : float
    total : (g,) sum of m^beta
    first : (p, g) sum of m^beta x
    second : (p, p, g) lower triangle of the sum of m^beta x x' (empty if the metric is fixed)
    """

    objective: float
    total: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.objective + other.objective,
            self.total + other.total,
            self.first + other.first,
            self.second + other.second,
        )


def carried_masses(masses: np.ndarray, source: FocalSets, target: FocalSets) -> np.ndarray:
    """(n, g) masses on the nonempty sets of another family; a set that it lacks counts for its clusters one by one."""
    here = target.membership[target.cardinality > 0]
    carried = np.zeros((len(masses), len(here)))
    for j in np.flatnonzero(source.cardinality > 0):
        row = source.membership[j]
        targets = np.flatnonzero((here == row).all(axis=1))
        if len(targets) == 0:
            targets = np.flatnonzero((here.sum(axis=1) == 1) & (here @ row))
        carried[:, targets] += masses[:, j, None] / len(targets)
    return carried


def solve_normal_equations(H: np.ndarray, R: np.ndarray) -> np.ndarray:
    """X with H X = R, for H symmetric and nonnegative definite."""
    try:
        solution = np.linalg.solve(H, R)
        if np.isfinite(solution).all():
            return solution
    except np.linalg.LinAlgError:
        pass
    # a cluster without mass leaves H singular
    return np.linalg.solve(H + 1e-10 * (np.trace(H) / len(H) + np.finfo(float).tiny) * np.eye(len(H)), R)
