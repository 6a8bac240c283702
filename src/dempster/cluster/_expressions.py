"""Formulas of clusterers as array expressions: torch evaluates them on a device, ONNX records them as a graph.

Each function takes an array namespace `Operations` first. Values have a row for each object, and reductions keep their
axis, so that (n, 1) and (n, f) can be combined. Tensors of torch and values of a graph have the operators of Python,
and the methods ``exp``, ``log``, ``sqrt`` and ``sigmoid``; other operations are in the namespace.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._mass_step import pair_columns


class Operations(Protocol):
    """Operations that the formulas use besides operators; ``x`` is a value with rows."""

    def constant(self, numbers: np.ndarray) -> Any: ...  # of the floating type of the computation
    def table(self, numbers: np.ndarray) -> Any: ...  # of its own type, to be looked up
    def cast(self, x: Any) -> Any: ...  # to the floating type of the computation
    def where(self, condition: Any, yes: Any, no: Any) -> Any: ...
    def minimum(self, x: Any, bound: float) -> Any: ...
    def maximum(self, x: Any, bound: float) -> Any: ...
    def power(self, x: Any, exponent: float) -> Any: ...
    def sum(self, x: Any) -> Any: ...  # (n, 1), as the next two
    def min(self, x: Any) -> Any: ...
    def largest(self, x: Any) -> tuple[Any, Any]: ...  # with its column, the first of equal ones
    def smallest(self, x: Any, k: int) -> tuple[Any, Any]: ...  # (n, k) in order, with their columns
    def cumsum(self, x: Any) -> Any: ...
    def rows_of(self, table: Any, rows: Any) -> Any: ...  # (n, k) rows of a table, for (n, 1) positions
    def cells_of(self, table: Any, places: Any) -> Any: ...  # cells of a (r,) table, for (n, k) positions
    def column(self, x: Any, k: int) -> Any: ...  # (n, 1)
    def at(self, x: Any, columns: Any) -> Any: ...  # (n, 1) cells of the rows, for (n, 1) columns
    def scatter(self, width: int, *cells: tuple[Any, Any]) -> Any: ...  # (n, width) sums of cells (column, value)
    def similarity(self, squares: Any, rates: Any, scales: Any) -> Any: ...  # exp(-squares * rates / scales)
    def holds_anywhere(self, x: Any) -> bool: ...  # False only if it is certain


def mass_step(xp: Any, costs: Any, step: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Return unnormalized masses, (n, g) of nonempty sets and (n, 1) of the empty set, and (n, 1) minima.

    Parameters
    ----------
    xp : Operations
    costs : (n, g) values
        Squared distances to the barycenters of the sets.
    step : tuple
        (g,) factors and sizes of the sets, delta^2, beta, and the largest cost that counts as zero.
    """
    factor, size, delta2, beta, zero = step
    weighted, exponent = costs * xp.constant(factor), 1 / (beta - 1)
    least = xp.min(weighted)
    if np.isfinite(delta2):
        least = xp.minimum(least, delta2)
    shares = xp.power(least / weighted, exponent)
    empty = xp.power(least / delta2, exponent) if np.isfinite(delta2) else least * 0
    free = costs <= zero
    if xp.holds_anywhere(free):  # The smallest sets with zero cost share the mass equally.
        more = float(size.max()) + 1
        sizes = xp.where(free, xp.constant(size), more)
        fewest = xp.min(sizes)
        on_prototype = fewest < more
        shares = xp.where(on_prototype, xp.cast(sizes <= fewest), shares)
        empty, least = xp.where(on_prototype, 0.0, empty), xp.where(on_prototype, 0.0, least)
    return shares, empty, least


def masses_from_plausibilities(xp: Any, contour: Any, family: FocalSets, outlying: Any = None) -> Any:
    """Return (n, f) masses for (n, c) plausibilities of the clusters, after (n, 1) masses on the empty set.

    The formulas are those of `dempster.cluster._mass_step.masses_from_plausibilities`.
    """
    top, best = xp.largest(contour)
    possible = xp.rows_of(xp.table(pair_columns(family)), best)  # columns of pairs with the best cluster
    second, place = xp.largest(xp.where(possible > -1, contour, 0.0))
    column = xp.at(possible, place)
    pair = xp.where(column > -1, second / xp.where(top > 0, top, 1.0), 0.0)
    single = 1 - pair
    cells = []
    if family.empty_index is not None:
        nowhere = xp.where(top > 0, top * 0 if outlying is None else outlying, 1.0)
        single, pair = single * (1 - nowhere), pair * (1 - nowhere)
        cells = [(family.empty_index, nowhere)]
    own = xp.rows_of(xp.table(family.singleton_index[:, None]), best)
    return xp.scatter(len(family), (own, single), (xp.maximum(column, 0), pair), *cells)


@dataclass(frozen=True)
class RoundComponents:
    """Components of a mixture, in coordinates in which they are spherical with variance one.

    Attributes
    ----------
    rounded : (p, p) array
        Maps objects to these coordinates.
    places : (g, p) array
        Means of the components.
    constants : (g,) array
        Constant terms of their log-densities.
    normalizer : float
        Common term of all log-densities.
    origin : (p,) array or None
        Subtracted from the objects, which are then divided by ``unit``.
    unit : float
    """

    rounded: np.ndarray
    places: np.ndarray
    constants: np.ndarray
    normalizer: float
    origin: np.ndarray | None
    unit: float


def mixture_logs(xp: Any, X: Any, components: RoundComponents) -> tuple[Any, Any]:
    """Return (n, p) transformed coordinates and (n, g) log-densities without their common term."""
    if components.origin is not None:
        X = (X - xp.constant(components.origin)) / components.unit
    objects = X @ xp.constant(components.rounded)
    return objects, objects @ xp.constant(components.places.T) + xp.constant(components.constants)


def cluster_contour(xp: Any, squares: Any, around: Any, affinity: Any) -> tuple[Any, Any]:
    """Return (n, c) plausibilities of the clusters and (n, 1) masses on the empty set.

    Parameters
    ----------
    xp : Operations
    squares : (n, r) values
        Squared distances to the references; they may be overwritten.
    around : Surroundings
    affinity : Affinity
        Affinity to the same references.
    """
    weights, scales = affinity.weights, affinity.scales
    near, far = _reached(xp, squares, weights, (affinity.near, affinity.far))
    total = np.bincount(affinity.labels, weights, minlength=affinity.n_clusters)
    members = np.zeros((len(weights), affinity.n_clusters))
    members[np.arange(len(weights)), affinity.labels] = weights / np.sqrt(total[affinity.labels])
    own = xp.maximum(far.sqrt(), float(scales.min()))
    contour = xp.similarity(squares, xp.constant(affinity.rate / scales), own) @ xp.constant(members)
    distance = xp.maximum(near.sqrt() / around.usual, float(np.exp(around.fence - 50 * around.softness)))
    return contour, ((distance.log() - around.fence) / around.softness).sigmoid()


def _reached(xp: Any, values: Any, weights: np.ndarray, amounts: tuple[float, float]) -> list[Any]:
    """Return the (n, 1) smallest values of the rows up to which the weights add up to each amount."""
    # This number is sufficient even if they have the smallest weights.
    most = min(int(np.searchsorted(np.cumsum(np.sort(weights)), max(amounts))) + 1, len(weights))
    ordered, order = xp.smallest(values, most)
    if (weights == weights[0]).all():
        ranks = [min(max(int(np.ceil(amount / weights[0] - 1e-6)), 1), most) for amount in amounts]
        return [xp.column(ordered, rank - 1) for rank in ranks]
    reach = xp.cumsum(xp.cells_of(xp.table(weights), order))
    counts = [xp.sum(reach < amount) for amount in amounts]
    return [xp.at(ordered, xp.minimum(count, most - 1)) for count in counts]
