"""Formulas of clusterers as array expressions, evaluated by torch or recorded as a graph for ONNX.

The first argument of each function is an array namespace: `TorchOperations` of `_device`, or
`dempster.onnx.graph.GraphOperations`. Values have one row for each object. Reductions keep the
reduced axis, so that arrays of shapes (n, 1) and (n, f) can be combined. Torch tensors and values
of a graph support the operators of Python and the methods ``exp``, ``log``, ``sqrt`` and
``sigmoid``. The namespace provides all other operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dempster.belief import FocalSets


def mass_step(xp: Any, costs: Any, step: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Return unnormalized masses of the nonempty sets and of the empty set, and the smallest costs.

    ``costs``, shape (n, g), contains the squared distances from n objects to the barycenters of the
    g nonempty sets. ``step`` is the result of `MassStep.kernel_arguments`.
    """
    factor, size, delta2, beta, zero = step
    weighted = costs * xp.constant(factor)
    exponent = 1 / (beta - 1)
    least = xp.min(weighted)
    empty = least * 0
    if np.isfinite(delta2):
        least = xp.minimum(least, delta2)
        empty = xp.power(least / delta2, exponent)
    shares = xp.power(least / weighted, exponent)
    free = costs <= zero
    # The smallest sets with zero cost share the mass equally.
    if xp.holds_anywhere(free):
        more = float(size.max()) + 1
        sizes = xp.where(free, xp.constant(size), more)
        fewest = xp.min(sizes)
        on_prototype = fewest < more
        equal = xp.where(sizes <= fewest, 1.0, 0.0)
        shares = xp.where(on_prototype, equal, shares)
        empty = xp.where(on_prototype, 0.0, empty)
        least = xp.where(on_prototype, 0.0, least)
    return shares, empty, least


def masses_from_plausibilities(
    xp: Any, contour: Any, family: FocalSets, outlying: Any = None
) -> Any:
    """Return masses, shape (n, f), like `_mass_step.masses_from_plausibilities`."""
    top, best = xp.largest(contour)
    # columns of the pairs with the best cluster
    possible = xp.rows_of(xp.table(family.pair_index), best)
    neighbors = xp.where(possible > -1, contour, 0.0)
    second, place = xp.largest(neighbors)
    column = xp.at(possible, place)
    divisor = xp.where(top > 0, top, 1.0)
    pair = xp.where(column > -1, second / divisor, 0.0)
    single = 1 - pair
    cells = []
    if family.empty_index is not None:
        usual = top * 0 if outlying is None else outlying
        nowhere = xp.where(top > 0, usual, 1.0)
        somewhere = 1 - nowhere
        single = single * somewhere
        pair = pair * somewhere
        cells = [(family.empty_index, nowhere)]
    single_columns = xp.table(family.singleton_index[:, None])
    own = xp.rows_of(single_columns, best)
    column = xp.maximum(column, 0)
    return xp.scatter(len(family), (own, single), (column, pair), *cells)


@dataclass(frozen=True)
class RoundComponents:
    """Components of a mixture in coordinates in which their covariances are the identity."""

    # (p, p), matrix that maps objects to the new coordinates; (g, p, p), one for each component
    rounded: np.ndarray
    places: np.ndarray  # (g, p), means of the components in the new coordinates
    constants: np.ndarray  # (g,), constant term of the log-density of each component
    normalizer: float  # constant term that all log-densities have in common
    origin: np.ndarray | None  # (p,), point that is subtracted from the objects first
    # number by which the objects are divided after ``origin`` is subtracted
    unit: float
    degrees_of_freedom: float  # of t distributions; infinite for Gaussians
    # (2, p), smallest and largest values in the box of the background, or None
    box: np.ndarray | None
    # logarithm of the weight of the background, minus the normalizer
    log_background: float

    @property
    def width(self) -> int:
        """Number of columns of the largest temporary array."""
        if self.rounded.ndim == 2:
            return len(self.places)
        return self.places.size


class ComponentLogs(NamedTuple):
    """Log-densities of n objects without their common terms, of which the normalizer is one."""

    logs: Any  # (n, g), logarithms of weight times density of the components
    # (n, 1), logarithm of weight times density of the background, or None
    background: Any
    # (n, g), squared Mahalanobis distances, or None for Gaussians with the same coordinates
    squares: Any
    # (n, p), transformed objects, for Gaussians with the same coordinates, or None. Minus half of
    # their squared norms is then another common term.
    objects: Any


def mixture_logs(xp: Any, X: Any, components: RoundComponents) -> ComponentLogs:
    """Return the log-densities of the components."""
    if components.origin is not None:
        X = (X - xp.constant(components.origin)) / components.unit
    rounded = components.rounded
    places = components.places
    g, p = places.shape
    nu = components.degrees_of_freedom
    constants = xp.constant(components.constants)
    if rounded.ndim == 2:
        objects = X @ xp.constant(rounded)
        products = objects @ xp.constant(places.T)
        if np.isinf(nu):
            return ComponentLogs(products + constants, None, None, objects)
        norms = np.square(places).sum(axis=1)
        squares = products * -2 + xp.constant(norms) + xp.sum(objects * objects)
        squares = xp.maximum(squares, 0.0)
    else:
        all_maps = np.hstack(list(rounded))
        gaps = X @ xp.constant(all_maps)  # (n, g p)
        gaps -= xp.constant(places.ravel())
        gaps *= gaps
        of_component = np.repeat(np.eye(g), p, axis=0)
        squares = gaps @ xp.constant(of_component)
    if np.isinf(nu):
        return ComponentLogs(squares * -0.5 + constants, None, squares, None)
    logs = xp.log(squares / nu + 1) * (-(nu + p) / 2) + constants
    background = None
    if components.box is not None:
        background = background_logs(xp, X, components.box)
        background = background + components.log_background
    return ComponentLogs(logs, background, squares, None)


_MASS_IN_BOX = 0.9  # probability of the box under the density of the background


def background_logs(xp: Any, X: Any, box: np.ndarray) -> Any:
    """Return the log-densities of the background, shape (n, 1).

    The density is constant in a box. Outside, it is proportional to r^-(p + 1), if the object is on
    the surface of the box enlarged by the factor r. It decreases more slowly than the densities of
    t distributions with more than one degree of freedom.
    """
    low, high = box
    p = len(low)
    middle = xp.constant((low + high) / 2)
    half_width = xp.constant((high - low) / 2)
    gaps = (X - middle) / half_width
    squares, _ = xp.largest(gaps * gaps)
    beyond = xp.log(xp.maximum(squares, 1.0)) * (-(p + 1) / 2)
    beyond = beyond + float(np.log((1 - _MASS_IN_BOX) / p))
    inside = xp.constant(np.log([[_MASS_IN_BOX]]))
    log_volume = np.log(high - low).sum()
    return xp.where(squares <= 1, inside, beyond) - float(log_volume)


# Smaller affinities than this one have no effect on ratios in single precision.
_MIN_AFFINITY = 1e-30


def cluster_contour(
    xp: Any, squares: Any, around: Any, affinity: Any
) -> tuple[Any, Any]:
    """Return the plausibilities of the clusters, (n, c), and the masses of the empty set, (n, 1).

    ``squares``, shape (n, r), contains the squared distances from n objects to the r reference
    objects. The function may overwrite the array. ``around`` and ``affinity`` are the
    `Surroundings` and the `Affinity` of EVCLUS.
    """
    weights = affinity.weights
    labels = affinity.labels
    scales = affinity.scales
    n_clusters = affinity.n_clusters
    near, far = _reached(xp, squares, weights, (affinity.near, affinity.far))
    contrast = affinity.contrast
    total = np.bincount(labels, weights, n_clusters)
    shares = weights / (total * np.sqrt(contrast.within))[labels]
    members = np.zeros((len(labels), n_clusters))
    members[np.arange(len(labels)), labels] = shares
    own = xp.maximum(far.sqrt(), float(scales.min()))
    rates = xp.constant(affinity.rate / scales)
    similarity = xp.similarity(squares, rates, own)
    relative = similarity @ xp.constant(members)
    largest, _ = xp.largest(relative)
    contour = xp.power(relative / xp.maximum(largest, _MIN_AFFINITY), contrast.exponent)
    least = float(np.exp(around.fence - 50 * around.softness))
    distance = xp.maximum(near.sqrt() / around.usual, least)
    excess = (distance.log() - around.fence) / around.softness
    return contour, excess.sigmoid()


def _reached(
    xp: Any, values: Any, weights: np.ndarray, amounts: tuple[float, float]
) -> list[Any]:
    """Return the values in each sorted row at which the cumulative weight reaches each amount."""
    # This number of smallest values is sufficient, even if they have the smallest weights.
    smallest_reach = np.cumsum(np.sort(weights))
    n_sufficient = int(np.searchsorted(smallest_reach, max(amounts))) + 1
    most = min(n_sufficient, len(weights))
    ordered, order = xp.smallest(values, most)
    weight = weights[0]
    if (weights == weight).all():
        numbers = [int(np.ceil(amount / weight - 1e-6)) for amount in amounts]
        ranks = [min(max(number, 1), most) for number in numbers]
        return [xp.column(ordered, rank - 1) for rank in ranks]
    cells = xp.cells_of(xp.table(weights), order)
    reach = xp.cumsum(cells)
    counts = [xp.sum(reach < amount) for amount in amounts]
    return [xp.at(ordered, xp.minimum(count, most - 1)) for count in counts]
