"""Belief peaks: objects with a high belief, far from any object with a higher belief.

The peaks are cluster centers. The neighbors of an object are evidence that the object is the center
of a cluster. Near neighbors are stronger evidence. Let delta be the distance from an object to the
nearest object of higher belief. Centers have a large belief and a large delta.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._native import kernel
from dempster.dissimilarity.neighbors import (
    BlockFinder,
    Finder,
    Neighbors,
    check_neighbors,
)
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.blocks import Apply, row_blocks

# Compute Bel_i = 1 - prod_j (1 - exp(-(d_ij / scale_j)^2) / K), where d_ij is the distance from row
# i to each of its K neighbors j (Su and Denoeux, 2019). A neighbor whose scale is zero contributes
# only if its distance is zero.
add_up_belief = kernel("""add_up_belief(
    index: int32[rows, K] below n, distance: float64[rows, K], scale: float64[n],
    belief: float64[rows] out)""")
# Find the nearest neighbor of higher belief; among equally near neighbors, select the one with the
# highest belief.
first_higher = kernel("""first_higher(
    objects: int64[rows] below n, index: int32[rows, K] below n, distance: float64[rows, K],
    rank: int64[n], nearest: int64[n] out, delta: float64[n] out)""")
# Give every row without a label the label of its nearest row of higher belief.
follow = kernel(
    "follow(order: int64[n] below n, nearest: int64[n] below n or -1, labels: int64[n] out)"
)

# A smaller automatic K is noisy; a larger K takes memory and time.
_MIN_NEIGHBORS = 30
_MAX_NEIGHBORS = 300
_MAX_DISSIMILARITIES = 20_000_000  # maximum number of dissimilarities in memory


@dataclass(frozen=True, eq=False)
class PeakScores:
    """Belief and delta of every row, and the nearest row of higher belief."""

    n_neighbors: int  # the number K of neighbors
    belief: np.ndarray  # (n,)
    delta: np.ndarray  # (n,)
    # (n,), nearest row of higher belief, -1 for the row with the highest belief
    nearest_higher: np.ndarray
    # (n,), row indices by decreasing belief; ties in the order of the rows
    order: np.ndarray
    n_maxima: int  # number of rows with a higher belief than all their neighbors

    @property
    def prominence(self) -> np.ndarray:
        return self.belief * self.delta


@dataclass(frozen=True, eq=False)
class Peaks:
    """Cluster centers and the labels of all rows.

    ``min_prominence`` is a value between the prominence of the last peak and the prominence of the
    next row. It is None if only the thresholds of belief and delta select the peaks.
    """

    scores: PeakScores
    indices: np.ndarray  # (c,), row indices of the centers, the most prominent first
    # (n,), every row has the label of its nearest row of higher belief
    labels: np.ndarray
    min_belief: float
    min_delta: float
    min_prominence: float | None

    def with_copies(self, kept: np.ndarray, first: np.ndarray) -> Peaks:
        """Return the peaks of a table of n rows, given those of the rows ``kept``.

        Every other row is a copy of the row ``first``, shape (n,), which is kept.
        """
        scores = self.scores
        row = np.searchsorted(kept, first)
        row[kept] = np.arange(len(kept))
        is_copy = np.ones(len(first), bool)
        is_copy[kept] = False
        higher = np.append(kept, -1)[scores.nearest_higher]  # -1 has no higher row
        order = np.append(kept[scores.order], np.flatnonzero(is_copy))
        complete = PeakScores(
            n_neighbors=scores.n_neighbors,
            belief=scores.belief[row],
            delta=np.where(is_copy, 0.0, scores.delta[row]),
            nearest_higher=np.where(is_copy, first, higher[row]),
            order=order[np.argsort(-scores.belief[row][order], kind="stable")],
            n_maxima=scores.n_maxima,
        )
        return replace(
            self, scores=complete, indices=kept[self.indices], labels=self.labels[row]
        )


def find_peaks(
    source: DissimilaritySource,
    find: Finder,
    apply: Apply,
    q: float,
    *,
    n_clusters: int | None = None,
    n_neighbors: int | str = "auto",
    min_belief: float | None = None,
    min_delta: float | None = None,
) -> Peaks:
    """Find cluster centers and the labels of all rows.

    Parameters that are None or "auto" are derived from the data.
    """
    n = len(source)
    if isinstance(n_neighbors, str):
        root = max(np.sqrt(n), min(_MIN_NEIGHBORS, n / 5))
        n_neighbors = min(int(np.ceil(root)), _MAX_NEIGHBORS, n - 1)
    elif n_neighbors >= n:
        raise InvalidParameterError(
            "n_neighbors", f"smaller than the number of objects, {n}", n_neighbors
        )
    scores = _compute_scores(source, find, int(n_neighbors), q, apply)
    indices, thresholds = _select_peaks(scores, n_clusters, min_belief, min_delta)
    labels = np.full(n, -1, np.int64)
    labels[indices] = np.arange(len(indices))
    follow(scores.order, scores.nearest_higher, labels)
    return Peaks(scores, indices, labels, *thresholds)


# ---- belief and delta ----------------------------------------------------------------------------


def _compute_scores(
    source: DissimilaritySource, find: Finder, n_neighbors: int, q: float, apply: Apply
) -> PeakScores:
    n = len(source)
    neighbors = Neighbors.find_all(find, n, n_neighbors)
    scale = neighbors.quantile(q)
    belief = np.empty(n)
    blocks = [
        (neighbors.index[a:b], neighbors.distance[a:b], scale, belief[a:b])
        for a, b in row_blocks(n)
    ]
    apply(add_up_belief, blocks)
    order = np.argsort(-belief, kind="stable")
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    nearest = np.empty(n, np.int64)
    delta = np.empty(n)
    first_higher(
        np.arange(n), neighbors.index, neighbors.distance, rank, nearest, delta
    )
    others = order[1:]
    isolated = others[nearest[others] < 0]
    _search_farther(source, find, isolated, order, rank, nearest, delta, n_neighbors)
    delta[order[0]] = delta[others].max()
    return PeakScores(n_neighbors, belief, delta, nearest, order, len(isolated) + 1)


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
    """Find the nearest row of higher belief for the rows ``rest``.

    None of their k neighbors has a higher belief. The number of neighbors increases while many rows
    remain. The last rows are compared with all rows. Approximate finders are not used, because
    missed neighbors would make delta too large. Finders that compare all rows are not used, because
    they would not be faster. ``nearest`` and ``delta`` are modified in place.
    """
    n = len(rank)
    uses_finder = find.kind == "exact" and not isinstance(find, BlockFinder)
    while uses_finder and len(rest) * n > 10 * _MAX_DISSIMILARITIES and 4 * k < n:
        # About a quarter of the rows remain in each round, so all rounds have the same cost.
        k *= 4
        for start, stop in row_blocks(
            len(rest), max(1, _MAX_DISSIMILARITIES // (4 * k)), most=None
        ):
            rows = rest[start:stop]
            index, distance = find(rows, k)
            check_neighbors(index, distance, n)
            index = index.astype(np.int32, order="C")
            distance = distance.astype(float, order="C", copy=False)
            first_higher(rows, index, distance, rank, nearest, delta)
        rest = rest[nearest[rest] < 0]
    rest = rest[np.argsort(rank[rest])]
    for start, stop in row_blocks(
        len(rest), max(1, _MAX_DISSIMILARITIES // n), most=None
    ):
        rows = rest[start:stop]
        higher = order[: rank[rows[-1]]]
        block = source.block(rows, higher)
        block[np.arange(len(higher)) >= rank[rows, None]] = np.inf
        nearest[rows] = higher[block.argmin(axis=1)]
        delta[rows] = source.pairs(rows, nearest[rows])


# ---- selection of the peaks ----------------------------------------------------------------------


def _select_peaks(
    scores: PeakScores,
    n_clusters: int | None,
    user_belief: float | None,
    user_delta: float | None,
) -> tuple[np.ndarray, tuple[float, float, float | None]]:
    """Return the indices of the peaks, and the thresholds of belief, delta and prominence."""
    belief = scores.belief
    delta = scores.delta
    order = scores.order
    has_thresholds = user_belief is not None or user_delta is not None
    min_belief = float(np.median(belief) if user_belief is None else user_belief)
    min_delta = float(user_delta or 0)
    eligible = (belief >= min_belief) & (delta >= min_delta)
    n_eligible = int(eligible.sum())
    if has_thresholds and n_eligible < (n_clusters or 1):
        thresholds = f"min_belief={user_belief} and min_delta={user_delta}"
        found = f"the largest belief is {belief.max():.6g}, the largest delta {delta.max():.6g}"
        raise InvalidInputError(
            f"at least {n_clusters or 1} objects must reach {thresholds}, got {n_eligible}; {found}"
        )
    prominence = scores.prominence
    # Resolve ties by the higher belief, then by the first row. Use duplicates (prominence zero)
    # only if needed.
    last = (prominence == 0) & (n_clusters is not None) & (not has_thresholds)
    ranked = order[np.lexsort((-prominence[order], ~eligible[order], last[order]))]
    values = prominence[ranked]
    if n_clusters is not None:
        count = n_clusters
    elif has_thresholds:
        count = n_eligible
    else:
        count = _count_peaks(values[:n_eligible], scores)
    min_prominence = None
    if n_clusters is not None or not has_thresholds:
        if count < n_eligible:
            following = values[count]
        else:
            following = 0.0
        min_prominence = float(np.sqrt(values[count - 1] * following))
    peaks = ranked[:count]
    # Peaks of low belief come last in `ranked`.
    peaks = peaks[np.argsort(-prominence[peaks], kind="stable")]
    return peaks, (min_belief, min_delta, min_prominence)


def _count_peaks(values: np.ndarray, scores: PeakScores) -> int:
    """Return the number of peaks after which the sorted prominences decrease most (ratio)."""
    if scores.n_maxima == 1:
        return 1
    # The mean cluster size is at least K / 2.
    most = max(2, int(np.ceil(2 * len(scores.belief) / scores.n_neighbors)))
    values = values[: most + 1]
    # Duplicates have prominence zero, so the step before them is infinite.
    if values[-1] == 0:
        return int(np.count_nonzero(values)) or 1
    n = len(values)
    if n < 3:
        return n
    count = np.arange(2, n)
    step = np.log(values[1:-1] / values[2:]) * np.log1p(count)
    return int(count[step.argmax()])
