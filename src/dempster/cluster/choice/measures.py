"""Measures of a partition, which do not depend on the method that found it.

They are invariant to units, and to the order and repetition of the rows.

- The *silhouette* (Rousseeuw, 1987): distances to the own and to the nearest other cluster.
- The agreement of *neighbors*: how often the nearest neighbors of a row are in its cluster,
  corrected for chance.
- *Valleys* of the density between adjacent clusters, and *gaps* between their medians, along the
  discriminant that is learned from one half of the rows, in the other half.
- *Inner valleys*, along the principal axes of each cluster: a cluster that should be divided.
- The *separation* of the clusters, by mutual reachability distances: the distance to the nearest
  row of another cluster, divided by the distance inside.
- The *parts* of the density tree that are cut off, by their prominence.
- The *sizes* of the clusters.
- The *likelihood* of the labelled rows under normal clusters, and its gain over one cluster after
  the penalty of BIC.
- The *agreement* with the candidates of other families.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dempster.cluster.choice.candidates import Candidate, rand_index
from dempster.cluster.choice.rows import N_NEIGHBORS, Rows
from dempster.optimize.blocks import Apply, row_blocks

_N_ADJACENT = 2  # clusters with which each cluster is compared
_GRID = np.linspace(-0.3, 1.3, 41)  # The medians of two groups are at 0 and 1.
_INSIDE = (_GRID > 0.02) & (_GRID < 0.98)
_MAX_LOG = 3.0  # Larger logarithms of ratios of distances are equally clear.
_TINY = 1e-12

OF_PARTITION = (
    "silhouette",
    "silhouette_negative",
    "silhouette_min",
    "neighbors",
    "neighbors_min",
    "valley_min",
    "valley_median",
    "valley_nearest",
    "gap_min",
    "gap_median",
    "inner_valley",
    "separation_median",
    "separation_mean",
    "uncut_max",
    "cut_share",
    "cut_min",
    "likelihood",
    "gain",
    "smallest",
    "entropy",
)
# measures that are also compared with the largest value of all candidates
COMPARED = (
    "silhouette",
    "neighbors",
    "valley_nearest",
    "separation_mean",
    "cut_share",
    "gain",
)
NAMES = (
    *OF_PARTITION,
    *(f"{name}_lost" for name in COMPARED),
    "agreement_best",
    "agreement_mean",
    "log_clusters",
    "log_rows",
    "log_coordinates",
)


def measure_candidates(
    rows: Rows, candidates: Sequence[Candidate], apply: Apply
) -> np.ndarray:
    """Return the measures of all candidates, shape (candidates, measures); see ``NAMES``.

    Candidates that were made in the units of the source are measured in these units.
    """
    measures = np.empty((len(candidates), len(NAMES)))
    agreement = measure_agreement(candidates)
    compared = [OF_PARTITION.index(name) for name in COMPARED]
    for own, in_units in ((rows, False), (rows.in_units, True)):
        places = [i for i, one in enumerate(candidates) if one.in_units == in_units]
        if own is None or not places:
            continue
        values = _measure_all(
            own, [candidates[place].labels for place in places], apply
        )
        lost = values[:, compared].max(axis=0) - values[:, compared]
        n_clusters = [candidates[place].n_clusters for place in places]
        shared = np.tile(np.log([len(own), own.plane.shape[1]]), (len(places), 1))
        columns = values, lost, agreement[places], np.log(n_clusters), shared
        measures[places] = np.column_stack(columns)
    return measures


def _measure_all(rows: Rows, labels: list[np.ndarray], apply: Apply) -> np.ndarray:
    rows.prepare()

    def measure_some(start: int, stop: int) -> np.ndarray:
        return np.array([measure(rows, one) for one in labels[start:stop]])

    return np.concatenate(apply(measure_some, row_blocks(len(labels), 4)))


def measure(rows: Rows, labels: np.ndarray) -> np.ndarray:
    """Return the measures of a partition in the order of ``OF_PARTITION``."""
    one = _Partition(rows, labels)
    if one.k == 1:
        between = [0.0] * 4 + [1.0] + [0.0] * 5
        separations = 0.0, 0.0
    else:
        between = [*_silhouettes(one), *_neighbors(one), *_valleys(one)]
        separations = _separations(one)
    return np.array(
        [
            *between,
            _inner_valley(one),
            *separations,
            *_parts(one),
            *_likelihoods(one),
            *_sizes(one),
        ]
    )


def measure_agreement(candidates: Sequence[Candidate]) -> np.ndarray:
    """Return the best agreement with a candidate of another family, and the mean over the families.

    The agreement with a family is the largest adjusted Rand index with one of its candidates that
    has at most twice or half as many clusters, 0 if there are none.
    """
    families = list(
        dict.fromkeys(one.family for one in candidates if one.n_clusters > 1)
    )
    best = np.zeros((len(candidates), len(families)))
    for i, first in enumerate(candidates):
        for j, second in enumerate(candidates[:i]):
            few, many = sorted((first.n_clusters, second.n_clusters))
            if first.family == second.family or few == 1 or many > 2 * few:
                continue
            found = rand_index(first.labels, second.labels)
            for place, other in ((i, second), (j, first)):
                family = families.index(other.family)
                best[place, family] = max(best[place, family], found)
    n_others = np.array(
        [sum(name != one.family for name in families) for one in candidates]
    )
    means = best.sum(axis=1) / np.maximum(n_others, 1)
    return np.column_stack([best.max(axis=1, initial=0), means])


class _Partition:
    """Labels of the rows, and sums over the k clusters."""

    def __init__(self, rows: Rows, labels: np.ndarray):
        self.rows = rows
        self.labels = labels
        self.k = int(labels.max()) + 1
        self.weights = rows.weights
        self.count = np.bincount(labels, minlength=self.k)
        self.totals = np.bincount(labels, self.weights, self.k)
        self.shares = self.totals / self.totals.sum()
        self.first = np.cumsum(self.count) - self.count

    def mean(self, values: np.ndarray) -> float:
        """Return the weighted mean over the rows."""
        return float(np.average(values, weights=self.weights))

    def scatters(
        self, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the weight, mean and scatter matrix of each cluster in the plane."""
        rows = self.rows
        q = rows.plane.shape[1]
        indicators = np.zeros((self.k, len(rows)))
        indicators[self.labels, np.arange(len(rows))] = weights
        totals = indicators.sum(axis=1)
        means = indicators @ rows.plane / np.maximum(totals, _TINY)[:, None]
        products = (indicators @ rows.products).reshape(self.k, q, q)
        outer = means[:, :, None] * means[:, None]
        return totals, means, products - totals[:, None, None] * outer


def _silhouettes(one: _Partition) -> tuple[float, float, float]:
    """Return the mean silhouette, the share of negative ones, and the smallest of a cluster."""
    m = len(one.labels)
    seen, distances = one.rows.spaced
    labels = one.labels[seen]
    weights = one.weights[seen]
    indicators = np.zeros((m, one.k))
    indicators[np.arange(m), one.labels] = one.weights
    sums = distances @ indicators
    own = np.arange(len(seen)), labels
    others = one.totals[labels] - np.minimum(weights, 1)
    a = sums[own] / np.maximum(others, _TINY)
    means = sums / one.totals
    means[own] = np.inf
    b = means.min(axis=1)
    values = (b - a) / np.maximum(np.maximum(a, b), _TINY)
    values[others <= _TINY] = 0
    totals = np.bincount(labels, weights, one.k)
    of_clusters = (
        np.bincount(labels, values * weights, one.k)[totals > 0] / totals[totals > 0]
    )
    mean, negative = np.average(np.column_stack([values, values < 0]), 0, weights)
    return float(mean), float(negative), float(of_clusters.min())


def _neighbors(one: _Partition) -> tuple[float, float]:
    """Return the agreement of neighbors corrected for chance, and the smallest of a cluster."""
    near = one.rows.nearest[:, :N_NEIGHBORS]
    same = (one.labels[near] == one.labels[:, None]).mean(axis=1)
    chance = float(np.square(one.shares).sum())
    of_clusters = np.bincount(one.labels, same * one.weights, one.k) / one.totals
    return (one.mean(same) - chance) / (1 - chance), float(of_clusters.min())


# ---- valleys -------------------------------------------------------------------------------------


def _valleys(one: _Partition) -> tuple[float, float, float, float, float]:
    """Return the smallest, median and mean valley, and the smallest and median gap.

    The mean is over the rows, of the valley to the nearest cluster.
    """
    rows = one.rows
    q = rows.plane.shape[1]
    _, means, _ = one.scatters(one.weights)
    first, second = _adjacent_pairs(means).T
    depths = np.zeros((2, len(first)))
    gaps = np.zeros((2, len(first)))
    seen = np.zeros((2, len(first)), bool)
    ridge = (
        1e-6 * np.average(np.square(rows.plane).sum(axis=1), weights=one.weights) / q
    )
    for place, learned in enumerate((rows.half, ~rows.half)):
        totals, centers, scatters = one.scatters(one.weights * learned)
        pooled = scatters[first] + scatters[second]
        size = totals[first] + totals[second]
        directions = _discriminants(
            pooled, size, centers[second] - centers[first], ridge
        )
        pair, row = _rows_of_pairs(one, np.column_stack([first, second]))
        left_out = ~learned[row]
        pair = pair[left_out]
        row = row[left_out]
        values = np.einsum("ij,ij->i", rows.plane[row], directions[pair])
        side = (one.labels[row] == second[pair]).astype(int)
        depths[place], gaps[place] = _depths(values, pair, side, len(first))
        known = np.bincount(one.labels[learned], minlength=one.k)
        enough = np.minimum(known, one.count - known) >= 3
        seen[place] = enough[first] & enough[second]
    n_seen = seen.sum(axis=0)
    is_seen = n_seen > 0
    if not is_seen.any():
        return 0.0, 0.0, 0.0, 0.0, 0.0
    depth = ((depths * seen).sum(axis=0) / np.maximum(n_seen, 1))[is_seen]
    gap = np.log1p(((gaps * seen).sum(axis=0) / np.maximum(n_seen, 1))[is_seen])
    nearest = np.full(one.k, np.inf)
    np.minimum.at(nearest, first[is_seen], depth)
    np.minimum.at(nearest, second[is_seen], depth)
    nearest = np.where(np.isfinite(nearest), nearest, 0)
    return (
        float(depth.min()),
        float(np.median(depth)),
        float(one.shares @ nearest),
        float(gap.min()),
        float(np.median(gap)),
    )


def _adjacent_pairs(means: np.ndarray) -> np.ndarray:
    """Return the pairs of each cluster and its nearest ones, shape (pairs, 2)."""
    k = len(means)
    gaps = np.square(means[:, None] - means).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    n_adjacent = min(_N_ADJACENT, k - 1)
    near = np.argsort(gaps, axis=1, kind="stable")[:, :n_adjacent]
    first = np.repeat(np.arange(k), n_adjacent)
    pairs = np.sort(np.column_stack([first, near.ravel()]), axis=1)
    return np.unique(pairs, axis=0)


def _discriminants(
    scatters: np.ndarray, totals: np.ndarray, gaps: np.ndarray, ridge: float
) -> np.ndarray:
    """Return Fisher's direction for each pair of clusters; covariances are shrunk to a sphere."""
    q = gaps.shape[1]
    totals = np.maximum(totals, _TINY)
    covariances = scatters / totals[:, None, None]
    size = np.trace(covariances, axis1=1, axis2=2) / q
    shrunk = np.minimum((q + 1) / totals + 0.02, 1)
    sphere = (shrunk * size + ridge)[:, None, None] * np.eye(q)
    covariances = (1 - shrunk)[:, None, None] * covariances + sphere
    return np.linalg.solve(covariances, gaps[..., None])[..., 0]


def _rows_of_pairs(one: _Partition, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the pairs, and the rows that belong to one of their clusters."""
    order = np.argsort(one.labels, kind="stable")
    clusters = pairs.ravel()
    lengths = one.count[clusters]
    pair = np.repeat(np.repeat(np.arange(len(pairs)), 2), lengths)
    ends = np.cumsum(lengths)
    within = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
    return pair, order[np.repeat(one.first[clusters], lengths) + within]


def _inner_valley(one: _Partition) -> float:
    """Return the mean over the rows of the deepest valley inside their cluster.

    It is sought along the first two principal axes of the cluster, between the two sides of the
    mean.
    """
    rows = one.rows
    _, means, scatters = one.scatters(one.weights)
    axes = np.linalg.eigh(scatters)[1]
    centered = rows.plane - means[one.labels]
    deepest = np.zeros(one.k)
    for place in range(1, min(rows.plane.shape[1], 2) + 1):
        values = np.einsum("ij,ij->i", centered, axes[one.labels, :, -place])
        side = (values > 0).astype(int)
        deepest = np.maximum(deepest, _depths(values, one.labels, side, one.k)[0])
    deepest[one.count < 8] = 0
    return float(one.shares @ deepest)


def _depths(
    values: np.ndarray, group: np.ndarray, side: np.ndarray, n_groups: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return how deep the density falls between the two sides of each group of projected rows.

    0 means that it does not fall between the medians of the sides, and 1 that there are no rows in
    between. The second result is the distance of the medians, divided by the sum of the median
    deviations.
    """
    code = 2 * group + side
    middle = _medians(values, code, 2 * n_groups)
    spread = 1.4826 * _medians(np.abs(values - middle[code]), code, 2 * n_groups)
    low, high = middle.reshape(-1, 2).T
    width = np.abs(high - low)
    gaps = width / (spread.reshape(-1, 2).sum(axis=1) + _TINY)
    width = np.where(width > _TINY, width, np.inf)
    places = np.where(high >= low, 1, -1)[group] * (values - low[group]) / width[group]
    count = np.maximum(np.bincount(code, minlength=2 * n_groups), 1)
    means = np.bincount(code, values, 2 * n_groups) / count
    variances = np.bincount(code, np.square(values - means[code]), 2 * n_groups) / count
    deviations = np.sqrt(variances).reshape(-1, 2).min(axis=1)
    smallest = count.reshape(-1, 2).min(axis=1)
    bandwidth = 0.9 * np.minimum(deviations / width, 0.5) * smallest**-0.2 + 1e-3
    away = (places[:, None] - _GRID) / bandwidth[group][:, None]
    heights = np.exp(-np.square(away) / 2)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(n_groups))
    present = np.flatnonzero(np.bincount(group, minlength=n_groups))
    density = np.zeros((n_groups, len(_GRID)))
    density[present] = np.add.reduceat(heights[order], starts[present])
    left = np.maximum.accumulate(density, axis=1)
    right = np.maximum.accumulate(density[:, ::-1], axis=1)[:, ::-1]
    lowest = np.where(_INSIDE, density, np.inf).argmin(axis=1)
    at = np.arange(n_groups), lowest
    depths = 1 - density[at] / np.maximum(np.minimum(left[at], right[at]), _TINY)
    return np.where(np.isfinite(width), depths, 0), gaps


def _medians(values: np.ndarray, code: np.ndarray, n_codes: int) -> np.ndarray:
    """Return the median of the values with each code; 0 if there are none."""
    order = np.lexsort((values, code))
    count = np.bincount(code, minlength=n_codes)
    first = np.cumsum(count) - count
    middle = np.minimum(first + count // 2, len(values) - 1)
    return np.where(count > 0, values[order[middle]], 0.0)


# ---- separation and likelihood -------------------------------------------------------------------


def _separations(one: _Partition) -> tuple[float, float]:
    """Return the median over the clusters, and the mean over the rows, of the log separations."""
    rows = one.rows
    near = rows.nearest
    other = one.labels[near] != one.labels[:, None]
    place = np.where(other.any(axis=1), other.argmax(axis=1), near.shape[1] - 1)
    at = np.arange(len(rows))
    neighbor = near[at, place]
    outside = np.maximum(
        rows.D[at, neighbor], np.maximum(rows.cores, rows.cores[neighbor])
    )
    ordered = outside[np.lexsort((outside, one.labels))]
    low = ordered[one.first + (0.02 * one.count).astype(int)]
    ordered = rows.cores[np.lexsort((rows.cores, one.labels))]
    inside = ordered[
        one.first + np.minimum((0.9 * one.count).astype(int), one.count - 1)
    ]
    logs = np.log((low + _TINY) / (inside + _TINY)).clip(-_MAX_LOG, _MAX_LOG)
    return float(np.median(logs)), float(one.shares @ logs)


def _parts(one: _Partition) -> tuple[float, float, float]:
    """Compare the partition with the most prominent parts of the density tree.

    A part is cut off if the rows of the two sides of its merge have different labels. Return the
    largest prominence that is not cut off, the share of the prominence that is cut off, and the
    smallest of the k - 1 largest prominences.
    """
    prominences, sides = one.rows.parts
    counts = np.zeros((len(sides), one.k))
    for k in range(one.k):
        members = one.labels == k
        counts[:, k] = sides[:, members] @ one.weights[members]
    first, second = counts.argmax(axis=1).reshape(2, -1)
    cut = np.where(first != second, prominences, 0.0)
    largest = (prominences - cut).max(initial=0) / len(one.labels)
    smallest = 0.0
    if 2 <= one.k <= len(prominences) + 1:
        smallest = prominences[one.k - 2] * one.k / len(one.labels)
    return (
        float(largest),
        float(cut.sum() / max(prominences.sum(), _TINY)),
        float(smallest),
    )


def _sizes(one: _Partition) -> tuple[float, float]:
    """Return the log share of the smallest cluster relative to the mean, and the entropy."""
    entropy = 1.0
    if one.k > 1:
        entropy = float(-(one.shares @ np.log(one.shares)) / np.log(one.k))
    return float(np.log(one.shares.min() * one.k)), entropy


def _likelihoods(one: _Partition) -> tuple[float, float]:
    """Return the log-likelihood of the labelled rows, and its gain over one cluster, by BIC."""
    rows = one.rows
    q = rows.plane.shape[1]
    likelihood = _log_likelihood(one)
    single = _log_likelihood(_Partition(rows, np.zeros_like(one.labels)))
    n_parameters = (one.k - 1) * (1 + q + q * (q + 1) / 2)
    penalty = n_parameters * np.log(len(rows)) / (2 * len(rows))
    return likelihood / q, (likelihood - single - penalty) / q


def _log_likelihood(one: _Partition) -> float:
    q = one.rows.plane.shape[1]
    totals, _, scatters = one.scatters(one.weights)
    covariances = scatters / totals[:, None, None]
    size = np.maximum(np.trace(covariances, axis1=1, axis2=2) / q, 1e-4)
    shrunk = (q + 1) / (totals + q + 1)
    sphere = (shrunk * size)[:, None, None] * np.eye(q)
    covariances = (1 - shrunk)[:, None, None] * covariances + sphere
    logs = np.log(one.shares) - np.linalg.slogdet(covariances)[1] / 2
    return float(one.shares @ logs)
