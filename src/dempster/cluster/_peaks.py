"""Belief peaks: cluster centres as objects with a high belief, far from any object with a higher one.

For every object, its neighbours bear witness that it is the centre of a cluster, the nearer the more. With delta the
distance to the nearest object of higher belief, the centres stand out in the plane of belief and delta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._native import kernel
from dempster.dissimilarity.neighbors import BlockFinder, Finder, Neighbors, check_neighbors
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.blocks import Apply, row_blocks

# Bel_i = 1 - prod_j (1 - exp(-(d_ij / scale_j)^2) / K) over the K neighbours j (Su and Denoeux, 2019). Where the scale
# is zero (twins), only twins count.
add_up_belief = kernel("""add_up_belief(
    index: int32[rows, K] below n, distance: float64[rows, K], scale: float64[n], belief: float64[rows] out)""")
# The nearest of the given neighbours that is believed more, of equally near ones the most believed.
first_higher = kernel("""first_higher(
    objects: int64[rows] below n, index: int32[rows, K] below n, distance: float64[rows, K], rank: int64[n],
    nearest: int64[n] out, delta: float64[n] out)""")
# Every object takes the label of its nearest object of higher belief; peaks have theirs already.
follow = kernel("follow(order: int64[n] below n, nearest: int64[n] below n or -1, labels: int64[n] out)")

_MIN_NEIGHBORS, _MAX_NEIGHBORS = 30, 300  # bounds of the automatic K: noise below, memory and time above
_CELLS = 20_000_000  # dissimilarities held at once


@dataclass(frozen=True, eq=False)
class Relief:
    """Belief and delta of every object.

    Attributes
    ----------
    n_neighbors : int
        K, of the neighbours that bear witness.
    belief, delta : (n,) arrays
    nearest_higher : (n,) array
        Nearest object of higher belief, -1 for the most believed one.
    order : (n,) array
        The objects by decreasing belief, the first first on ties.
    n_maxima : int
        Objects that are believed more than all their neighbours.
    """

    n_neighbors: int
    belief: np.ndarray
    delta: np.ndarray
    nearest_higher: np.ndarray
    order: np.ndarray
    n_maxima: int

    @property
    def prominence(self) -> np.ndarray:
        return self.belief * self.delta


@dataclass(frozen=True, eq=False)
class Peaks:
    """The centres, and the clusters around them.

    Attributes
    ----------
    relief : Relief
    indices : (c,) array
        Positions of the centres, the most prominent first.
    labels : (n,) array
        Every object has the label of its nearest object of higher belief.
    min_belief, min_delta : float
        The thresholds that were applied.
    min_prominence : float or None
        A value between the prominences of the last peak and of the next object; None if only thresholds chose.
    """

    relief: Relief
    indices: np.ndarray
    labels: np.ndarray
    min_belief: float
    min_delta: float
    min_prominence: float | None

    def fit_warnings(self) -> list[str]:
        """What the user should be warned of."""
        count = len(self.indices)
        if count > 1 and self.relief.prominence[self.indices].min() == 0:
            return [f"fewer different objects than the {count} peaks asked for"]
        return []


def find_peaks(
    source: DissimilaritySource,
    find: Finder,
    apply: Apply,
    q: float,
    *,
    n_clusters: int | None = None,
    n_neighbors: int | None = None,
    min_belief: float | None = None,
    min_delta: float | None = None,
) -> Peaks:
    """Find the peaks of the objects of a source; parameters that are None follow from the data."""
    n = len(source)
    if n_neighbors is None:
        root = max(np.sqrt(n), min(_MIN_NEIGHBORS, n / 5))
        n_neighbors = min(int(np.ceil(root)), _MAX_NEIGHBORS, n - 1)
    elif n_neighbors >= n:
        raise InvalidParameterError("n_neighbors", f"below the number of objects, {n}", n_neighbors)
    relief = _relief(source, find, int(n_neighbors), q, apply)
    indices, thresholds = _select_peaks(relief, n_clusters, min_belief, min_delta)
    labels = np.full(n, -1, dtype=np.int64)
    labels[indices] = np.arange(len(indices))
    follow(relief.order, relief.nearest_higher, labels)
    return Peaks(relief, indices, labels, *thresholds)


# ---- belief and delta -----------------------------------------------------------------------------------------------


def _relief(source: DissimilaritySource, find: Finder, n_neighbors: int, q: float, apply: Apply) -> Relief:
    n = len(source)
    neighbors = Neighbors.of_all(find, n, n_neighbors)
    scale = neighbors.quantile(q)
    belief = np.empty(n)
    blocks = [(neighbors.index[a:b], neighbors.distance[a:b], scale, belief[a:b]) for a, b in row_blocks(n)]
    apply(add_up_belief, blocks)
    order = np.argsort(-belief, kind="stable")
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    nearest, delta = np.empty(n, dtype=np.int64), np.empty(n)
    first_higher(np.arange(n), neighbors.index, neighbors.distance, rank, nearest, delta)
    isolated = order[1:][nearest[order[1:]] < 0]
    _search_farther(source, find, isolated, order, rank, nearest, delta, n_neighbors)
    delta[order[0]] = delta[order[1:]].max()
    return Relief(n_neighbors, belief, delta, nearest, order, len(isolated) + 1)


def _search_farther(
    source: DissimilaritySource,
    find: Finder,
    rest: np.ndarray,
    order: np.ndarray,
    rank: np.ndarray,
    nearest: np.ndarray,
    delta: np.ndarray,
    k: int,
) -> None:
    """For objects without a higher one among k neighbours: ask for more while they are many, then compare with all.

    An approximate finder is not asked, because what it overlooks far away would make delta too large; nor is one that
    compares with all anyway. ``nearest`` and ``delta`` change in place.
    """
    n = len(rank)
    asked = find.kind == "exact" and not isinstance(find, BlockFinder)
    while asked and len(rest) * n > 10 * _CELLS and 4 * k < n:
        k *= 4  # about a quarter of them remain, so that each round costs the same
        for start, stop in row_blocks(len(rest), max(1, _CELLS // (4 * k)), most=None):
            rows = rest[start:stop]
            index, distance = find(rows, k)
            check_neighbors(index, distance, n)
            index, distance = index.astype(np.int32, order="C"), distance.astype(float, order="C", copy=False)
            first_higher(rows, index, distance, rank, nearest, delta)
        rest = rest[nearest[rest] < 0]
    rest = rest[np.argsort(rank[rest])]
    for start, stop in row_blocks(len(rest), max(1, _CELLS // n), most=None):
        rows = rest[start:stop]
        higher = order[: rank[rows[-1]]]
        block = source.block(rows, higher)
        block[np.arange(len(higher)) >= rank[rows, None]] = np.inf
        nearest[rows] = higher[block.argmin(axis=1)]
        delta[rows] = source.pairs(rows, nearest[rows])


# ---- the choice of the peaks ----------------------------------------------------------------------------------------


def _select_peaks(
    relief: Relief, wanted: int | None, given_belief: float | None, given_delta: float | None
) -> tuple[np.ndarray, tuple[float, float, float | None]]:
    """Return the positions of the peaks, and the thresholds of belief, delta and prominence that were applied."""
    belief, delta, order = relief.belief, relief.delta, relief.order
    by_hand = given_belief is not None or given_delta is not None
    min_belief = float(np.median(belief) if given_belief is None else given_belief)
    min_delta = float(given_delta or 0)
    eligible = (belief >= min_belief) & (delta >= min_delta)
    n_eligible = int(eligible.sum())
    if by_hand and n_eligible < (wanted or 1):
        raise InvalidInputError(
            f"min_belief={given_belief} and min_delta={given_delta} must be reached by at least "
            f"{wanted or 1} objects, got {n_eligible}; the largest belief is {belief.max():.6g}, "
            f"the largest delta {delta.max():.6g}"
        )
    prominence = relief.prominence
    # stable: of equal prominences the more believed, then the first, wins; twins of others only if nothing else is left
    last = (prominence == 0) & (wanted is not None) & (not by_hand)
    ranked = order[np.lexsort((-prominence[order], ~eligible[order], last[order]))]
    values = prominence[ranked]
    if wanted is not None:
        count = wanted
    elif by_hand:
        count = n_eligible
    else:
        count = _automatic_count(values[:n_eligible], relief)
    following = values[count] if count < n_eligible else 0.0
    chosen_by_rank = wanted is not None or not by_hand
    min_prominence = float(np.sqrt(values[count - 1] * following)) if chosen_by_rank else None
    chosen = ranked[:count]
    chosen = chosen[np.argsort(-prominence[chosen], kind="stable")]  # some may have come for want of believed ones
    return chosen, (min_belief, min_delta, min_prominence)


def _automatic_count(values: np.ndarray, relief: Relief) -> int:
    """Number of peaks after which the decreasing prominences make the largest step."""
    if relief.n_maxima == 1:
        return 1
    most = max(2, int(np.ceil(2 * len(relief.belief) / relief.n_neighbors)))  # clusters of at least K / 2 objects
    values = values[: most + 1]
    if values[-1] == 0:  # twins of other objects: the step to them is the largest of all
        return int(np.count_nonzero(values)) or 1
    if len(values) < 3:
        return len(values)
    count = np.arange(2, len(values))
    step = np.log(values[1:-1] / values[2:]) * np.log1p(count)
    return int(count[step.argmax()])
