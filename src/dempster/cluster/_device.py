"""Computation of sums over rows, and of masses, by torch on a device.

The formulas are in `dempster.cluster._expressions`. This module contains the torch namespace and
the loops over blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from dempster._arrays import Array, concatenate_rows, precision_of, to_host
from dempster.belief import FocalSets
from dempster.cluster._expressions import (
    RoundComponents,
    cluster_contour,
    mass_step,
    masses_from_plausibilities,
    mixture_logs,
)
from dempster.cluster._mass_step import MassStep
from dempster.data.device import allocate_rows, copy_into, import_torch, to_tensor
from dempster.optimize.nearest import N_NEAREST
from dempster.optimize.projection_torch import approach_known_rows
from dempster.posterior.collection import MIN_STORED_MASS

MAX_CELLS = 1 << 27  # maximum number of elements of a temporary matrix


class TorchOperations:
    """Array namespace of `dempster.cluster._expressions` for tensors on a device."""

    def __init__(self, dtype: Any, device: Any):
        import torch

        self.torch = torch
        self.dtype = dtype
        self.device = device

    def constant(self, numbers: np.ndarray) -> Any:
        """Return an array with the floating type of the computation."""
        return to_tensor(numbers, self.device).to(self.dtype)

    def table(self, numbers: np.ndarray) -> Any:
        """Return a lookup table that keeps its type."""
        return to_tensor(numbers, self.device)

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        return self.torch.where(condition, yes, no)

    def minimum(self, x: Any, bound: float) -> Any:
        return x.clamp(max=bound)

    def maximum(self, x: Any, bound: float) -> Any:
        return x.clamp(min=bound)

    def power(self, x: Any, exponent: float) -> Any:
        """Compute x^exponent, without logarithms for common values of beta."""
        if exponent == 0.5:
            return x.sqrt()
        if exponent == 1:
            return x
        if exponent == 1.5:
            return x * x.sqrt()
        if exponent == 2:
            return x * x
        return x**exponent

    def log(self, x: Any) -> Any:
        return x.log()

    def sum(self, x: Any) -> Any:
        """Return the sum of each row, shape (n, 1)."""
        return x.sum(dim=1, keepdim=True)

    def min(self, x: Any) -> Any:
        """Return the minimum of each row, shape (n, 1)."""
        return x.amin(dim=1, keepdim=True)

    def largest(self, x: Any) -> tuple[Any, Any]:
        """Return the maximum of each row, and its first column."""
        return x.max(dim=1, keepdim=True)

    def smallest(self, x: Any, k: int) -> tuple[Any, Any]:
        """Return the k smallest values of each row, and their columns."""
        return self.torch.topk(x, k, dim=1, largest=False, sorted=True)

    def cumsum(self, x: Any) -> Any:
        return x.cumsum(dim=1)

    def rows_of(self, table: Any, rows: Any) -> Any:
        """Return table[rows[i]] for each object i."""
        return table[rows[:, 0]]

    def cells_of(self, table: Any, places: Any) -> Any:
        """Return table[places], for a 1-D table."""
        return table[places]

    def column(self, x: Any, k: int) -> Any:
        """Return column k of x, shape (n, 1)."""
        return x[:, k : k + 1]

    def at(self, x: Any, columns: Any) -> Any:
        """Return x[i, columns[i]] for each object i."""
        return x.gather(1, columns)

    def scatter(self, width: int, *cells: tuple[Any, Any]) -> Any:
        """Return an (n, width) array; each cell (column, value) adds its values to its columns."""
        first = cells[0][1]
        out = first.new_zeros((len(first), width))
        for column, value in cells:
            if isinstance(column, int | np.integer):
                out[:, column] += value[:, 0]
            else:
                out.scatter_add_(1, column, value)
        return out

    def similarity(self, squares: Any, rates: Any, scales: Any) -> Any:
        """Return exp(-squares * rates / scales)."""
        return squares.mul_(rates).div_(scales).neg_().exp_()

    def holds_anywhere(self, x: Any) -> bool:
        """Return whether x is true for an object."""
        return bool(x.any())

    def squared_distances(self, rows: Any, places: np.ndarray) -> Any:
        """Return the squared distances between b rows and the r points ``places``, shape (b, r)."""
        # The coordinates are centered, because products of large numbers are inaccurate.
        middle = places.mean(axis=0)
        A = rows - self.constant(middle)
        B = self.constant(places - middle)
        norms = (B * B).sum(dim=1)
        squares = self.torch.addmm(norms, A, B.T, alpha=-2)
        squares += self.sum(A * A)
        return squares.clamp_(min=0)

    def zeros(self, *shape: int) -> Any:
        """Return zeros in double precision, for sums."""
        return self.torch.zeros(shape, dtype=self.torch.float64, device=self.device)


def _operations_for(X: Array, device: Any) -> TorchOperations:
    dtype = getattr(import_torch(device), str(precision_of(X)))
    return TorchOperations(dtype, device)


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1024, MAX_CELLS // width)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _rows_and_weights(
    X: Any, weights: Any | None, width: int
) -> Iterator[tuple[Any, Any | None]]:
    """Yield each block of b rows with its weights, shape (b, 1), or None if all are equal."""
    for block in _blocks(len(X), width):
        if weights is None or len(weights) == 0:
            yield X[block], None
        else:
            yield X[block], weights[block][:, None]


# ---- prototypes ----------------------------------------------------------------------------------
# In this section, ``arguments`` contains the barycenters of the g nonempty sets, shape (p, g), the
# metrics of the sets (or None), and the arguments of the mass step, as for the kernels in ecm.c.


def _prototype_shares(
    xp: TorchOperations, rows: Any, arguments: tuple, sets: np.ndarray | None
) -> tuple[Any, Any, Any]:
    """Return the results of `mass_step`, without sets of distant clusters if ``sets`` is given.

    ``sets`` contains the indicators of the clusters in the sets, shape (g, c).
    """
    places, metrics, *step = arguments
    if metrics is None:
        costs = xp.squared_distances(rows, places.T)
    else:
        middle = places.mean(axis=1)
        points = xp.constant(places.T - middle)
        gap = (rows - xp.constant(middle))[:, None] - points
        matrices = xp.constant(np.moveaxis(metrics, 2, 0))
        costs = xp.torch.einsum("igd,gde,ige->ig", gap, matrices, gap).clamp_(min=0)
    if sets is not None:
        is_single = sets.sum(axis=1) == 1
        singles = xp.table(np.flatnonzero(is_single))
        clusters = xp.table(sets[is_single].argmax(axis=1))
        _, order = xp.smallest(costs[:, singles], N_NEAREST)
        is_near = costs.new_zeros((len(costs), sets.shape[1]))
        is_near.scatter_(1, clusters[order], 1)
        n_distant = (1 - is_near) @ xp.constant(sets.T)
        costs.masked_fill_(n_distant > 0, np.inf)
    return mass_step(xp, costs, tuple(step))


def _prototype_width(arguments: tuple) -> int:
    places, metrics = arguments[:2]
    if metrics is None:
        return places.shape[1]
    return places.size


def prototype_sums(
    arguments: tuple, X: Any, weights: Any | None, sets: np.ndarray | None
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Return the objective, and the sums of m^beta, m^beta x and m^beta x x'.

    The sums are over the rows x of a tensor, whose masses are m. ``sets`` is given if rows have
    masses only on their nearest clusters.
    """
    xp = TorchOperations(X.dtype, X.device)
    places, metrics, *_ = arguments
    beta = arguments[5]
    p, g = places.shape
    objective = xp.zeros()
    total = xp.zeros(g)
    first = xp.zeros(p, g)
    n_products = 0 if metrics is None else p
    second = xp.zeros(n_products, n_products, g)
    for rows, w in _rows_and_weights(X, weights, _prototype_width(arguments)):
        shares, empty, least = _prototype_shares(xp, rows, arguments, sets)
        sums = xp.sum(shares) + empty
        minima = least * sums ** (1 - beta)
        powers = xp.power(shares / sums, beta)
        if w is not None:
            minima = minima * w
            powers = powers * w.to(powers.dtype)
        objective += minima.sum(dtype=objective.dtype)
        total += powers.sum(dim=0, dtype=total.dtype)
        first += (rows.T @ powers).double()
        for d in range(n_products):
            products = rows[:, : d + 1] * xp.column(rows, d)
            second[d, : d + 1] += (products.T @ powers).double()
    return float(objective), to_host(total), to_host(first), to_host(second)


def prototype_masses(
    arguments: tuple, step: MassStep, X: Array, device: Any, *, nearest: bool
) -> Array:
    """Return the masses of the rows of X, shape (n, f).

    An array is copied to the device in blocks. If ``nearest`` is true, rows have masses only on
    their nearest clusters and the pairs among them, and the result is compressed rows in the memory
    of the host.
    """
    xp = _operations_for(X, device)
    n_sets = len(step.family)
    sets = None
    out = None
    if nearest:
        sets = step.sets
    else:
        out = allocate_rows(X, n_sets)
    columns, empty_column = step.columns()
    parts = []
    for block in _blocks(len(X), _prototype_width(arguments)):
        rows = to_tensor(X[block], device)
        shares, empty, _ = _prototype_shares(xp, rows, arguments, sets)
        total = xp.sum(shares) + empty
        masses = shares.new_zeros((len(shares), n_sets))
        masses[:, xp.table(columns)] = shares / total
        if empty_column >= 0:
            masses[:, empty_column] = (empty / total)[:, 0]
        if out is None:
            parts.append(_compress_rows(masses))
        else:
            copy_into(masses, out[block])
    if out is None:
        return concatenate_rows(parts)
    return out


def _compress_rows(masses: Any) -> sparse.csr_array:
    """Return the rows of a tensor as compressed rows without small masses."""
    masses = masses.masked_fill(masses < MIN_STORED_MASS, 0)
    masses /= masses.sum(dim=1, keepdim=True)
    kept = masses > 0
    ends = to_host(kept.sum(dim=1).cumsum(dim=0))
    columns = to_host(kept.nonzero()[:, 1].int())
    cells = to_host(masses[kept]), columns, np.append(0, ends)
    return sparse.csr_array(cells, shape=tuple(masses.shape))


# ---- mixtures ------------------------------------------------------------------------------------


def _densities(
    xp: TorchOperations, rows: Any, components: RoundComponents
) -> tuple[Any, Any, Any, Any]:
    """Return the probabilities of the components, (b, g), and log-densities, (b, 1).

    The other results are the probabilities of the background, (b, 1), and the squared distances;
    they are None if not used.
    """
    logs, background, squares, objects = mixture_logs(xp, rows, components)
    total = xp.torch.logsumexp(logs, dim=1, keepdim=True)
    empty = None
    if background is not None:
        total = xp.torch.logaddexp(total, background)
        empty = (background - total).exp_()
    common = 0.0
    if objects is not None:
        common = (objects * objects).sum(dim=1, keepdim=True) / 2
    densities = total - common + components.normalizer
    return (logs - total).exp_(), densities, empty, squares


def mixture_sums(
    components: RoundComponents, X: Any, weights: Any | None
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Return the sums over the rows of a tensor, in the order of the fields of `MixtureSums`."""
    xp = TorchOperations(X.dtype, X.device)
    g = len(components.constants)
    p = X.shape[1]
    nu = components.degrees_of_freedom
    is_tied = components.rounded.ndim == 2
    likelihood = xp.zeros()
    total = xp.zeros(g)
    precision = xp.zeros(g)
    background = xp.zeros()
    first = xp.zeros(g, p)
    n_products = g
    if is_tied:
        n_products = int(np.isfinite(nu))
    second = xp.zeros(n_products, p, p)
    for rows, w in _rows_and_weights(X, weights, components.width):
        masses, logs, empty, squares = _densities(xp, rows, components)
        if empty is None:
            empty = xp.zeros(1)
        if w is not None:
            w = w.to(masses.dtype)
            masses = masses * w
            logs = logs * w
            empty = empty * w
        background += empty.sum(dtype=background.dtype)
        likelihood += logs.sum(dtype=likelihood.dtype)
        total += masses.sum(dim=0, dtype=total.dtype)
        if np.isfinite(nu):
            masses = masses * ((nu + p) / (squares + nu))
        precision += masses.sum(dim=0, dtype=total.dtype)
        first += (masses.T @ rows).double()
        if is_tied:
            masses = masses.sum(dim=1, keepdim=True)
        # In single precision, small variances far from the origin would be inaccurate.
        exact = rows.double()
        for j in range(n_products):
            second[j] += (exact.T * masses[:, j]) @ exact
    return (
        float(likelihood),
        to_host(total),
        to_host(precision),
        to_host(first),
        to_host(second),
        float(background),
    )


def mixture_masses(
    components: RoundComponents,
    family: FocalSets,
    X: Array,
    device: Any,
    *,
    doubtful: bool,
) -> Array:
    """Return the masses of the rows of X, shape (n, f); an array is copied to the device in blocks.

    The components of the mixture are the nonempty sets of the family. If ``doubtful`` is true, they
    are the clusters, and objects between two neighboring clusters get mass on the pair of clusters.
    """
    xp = _operations_for(X, device)
    out = allocate_rows(X, len(family))
    columns = xp.table(np.flatnonzero(family.cardinality > 0))
    for block in _blocks(len(X), components.width):
        rows = to_tensor(X[block], device)
        masses, _, empty, _ = _densities(xp, rows, components)
        if doubtful:
            found = masses_from_plausibilities(xp, masses, family, empty)
        else:
            found = masses.new_zeros((len(masses), len(family)))
            found[:, columns] = masses
            if empty is not None:
                found[:, family.empty_index] = empty[:, 0]
        copy_into(found, out[block])
    return out


def mixture_log_densities(components: RoundComponents, X: Array) -> Array:
    """Return the log-densities of the rows of a tensor, shape (n,), in double precision."""
    import torch

    xp = TorchOperations(torch.float64, X.device)
    parts = []
    for block in _blocks(len(X), components.width):
        _, logs, _, _ = _densities(xp, X[block].double(), components)
        parts.append(logs[:, 0])
    return torch.cat(parts)


# ---- reference objects of EVCLUS -----------------------------------------------------------------


def reference_masses(
    rows: Array,
    references: np.ndarray,
    around: Any,
    affinity: Any,
    family: FocalSets,
    known: np.ndarray,
    radii: np.ndarray,
    device: Any,
) -> Array:
    """Return the masses of rows, shape (n, f).

    ``rows`` is an array in the memory of the host, or a tensor on the device. ``references``,
    ``known`` and ``radii`` contain the attributes, masses and radii of the reference objects. See
    `dempster.cluster._expressions.cluster_contour` for ``around`` and ``affinity``.
    """
    xp = _operations_for(rows, device)
    out = allocate_rows(rows, len(family))
    for block in _blocks(len(rows), max(len(references), 1)):
        A = to_tensor(rows[block], device)
        squares = xp.squared_distances(A, references)
        nearest = squares.argmin(dim=1)
        contour, outlying = cluster_contour(xp, squares, around, affinity)
        masses = masses_from_plausibilities(xp, contour, family, outlying)
        approach_known_rows(masses, known, A, references, nearest, radii)
        copy_into(masses, out[block])
    return out
