"""Candidate partitions of the rows into each number of clusters, by several families of methods.

- *k-means* and *Ward's* trees: round clusters.
- *Average* linkage: round clusters of unequal sizes.
- *Tied* and *t*: mixtures of normal distributions with a common covariance, and of t distributions
  with own covariances.
- *Merged*: components of the best of these t mixtures, merged where they overlap most.
- *Tree* and *Genie*: parts of the density tree, and of a spanning tree, of any shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from dempster.cluster.choice.rows import Rows
from dempster.cluster.choice.trees import genie
from dempster.mixture.em import fit_em
from dempster.optimize.blocks import Apply
from dempster.optimize.k_means import MAX_RESTARTED_CLUSTERS, k_means

_MIN_ROWS = 6  # rows for each cluster of the largest number
_MIN_SIZE = 4  # Fewer rows are not a cluster.
_STEP = 1.15  # ratio of successive numbers of clusters above ten
_MAX_PARTS = 40  # parts of the density tree
_N_RUNS = 3  # of k-means
_REGULARIZATION = 1e-3  # of the covariances of mixtures
_FREEDOM = 5.0  # degrees of freedom of the t distributions
_N_FIRST = 5  # iterations from each start, of which the best is continued
_N_ITER = 20
_TOL = 1e-4

# name of the method, and shape of its clusters
FAMILIES = {
    "one": ("one cluster", "compact"),
    "k-means": ("k-means", "compact"),
    "ward": ("Ward's tree", "compact"),
    "average": ("average linkage", "compact"),
    "tied": ("normal mixture, common covariance", "elongated"),
    "t": ("t mixture", "elongated"),
    "merged": ("merged t mixture", "connected"),
    "tree": ("density tree", "connected"),
    "genie": ("Genie", "connected"),
}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A partition of the rows."""

    family: str
    # (m,), numbers of the clusters, in the order of their first rows
    labels: np.ndarray
    in_units: bool = False  # whether it was made in the units of the source

    @cached_property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def method(self) -> str:
        return FAMILIES[self.family][0]

    @property
    def shape(self) -> str:
        return FAMILIES[self.family][1]


def list_numbers(n_rows: int, largest: int) -> list[int]:
    """Return the numbers of clusters to compare: 2, 3, ..., 10, 12, 14, 17, ..."""
    if n_rows < 2 * _MIN_SIZE:
        return []
    most = min(max(n_rows // _MIN_ROWS, 2), largest)
    numbers = list(range(2, 11))
    while numbers[-1] < most:
        numbers.append(int(np.ceil(numbers[-1] * _STEP)))
    return [k for k in numbers if k <= most]


def make_candidates(
    rows: Rows, numbers: list[int], seed: int, apply: Apply, shape: str = "auto"
) -> list[Candidate]:
    """Return the partitions of all families into the numbers of clusters, without repetitions."""
    rng = np.random.RandomState(seed)
    found = [*_round_ones(rows, numbers, rng), *_connected_ones(rows, numbers)]
    found += _mixtures(rows, found, numbers, apply)
    if rows.in_units is not None:
        others = _round_ones(rows.in_units, numbers, rng)
        others += _connected_ones(rows.in_units, numbers)
        found += [Candidate(one.family, one.labels, in_units=True) for one in others]
    found = [_join_small(rows, one) for one in found if shape in ("auto", one.shape)]
    different = {
        one.labels.tobytes(): one for one in reversed(found) if one.n_clusters > 1
    }
    return list(reversed(different.values()))


def separate_rows(rows: Rows) -> Candidate:
    """Return the partition of which each different row is a cluster."""
    return Candidate("one", np.arange(len(rows)))


def _join_small(rows: Rows, one: Candidate) -> Candidate:
    """Join clusters of fewer rows than a cluster can have to the clusters of the nearest rows."""
    is_small = np.bincount(one.labels) < _MIN_SIZE
    members = np.flatnonzero(is_small[one.labels])
    if len(members) == 0 or is_small.all():
        return one
    near = one.labels[rows.nearest[members]]
    first = (~is_small[near]).argmax(axis=1)
    labels = one.labels.copy()
    labels[members] = near[np.arange(len(members)), first]
    return _candidate(one.family, labels, in_units=one.in_units)


def single_cluster(rows: Rows) -> Candidate:
    """Return the partition into one cluster."""
    return Candidate("one", np.zeros(len(rows), np.int64))


def _candidate(family: str, labels: np.ndarray, *, in_units: bool = False) -> Candidate:
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return Candidate(family, rank[codes].astype(np.int64), in_units)


def _round_ones(
    rows: Rows, numbers: list[int], rng: np.random.RandomState
) -> list[Candidate]:
    from scipy.cluster.hierarchy import linkage  # slow to import

    found = []
    for k in numbers:
        n_runs = _N_RUNS if k <= MAX_RESTARTED_CLUSTERS else 1
        labels = k_means(rows.X, k, rng, rows.weights, n_runs)[1]
        found.append(_candidate("k-means", labels))
    found += _cut("ward", linkage(rows.X, "ward"), numbers)
    return found


def _connected_ones(rows: Rows, numbers: list[int]) -> list[Candidate]:
    from scipy.cluster.hierarchy import linkage  # slow to import
    from scipy.spatial.distance import squareform

    found = _cut(
        "average", linkage(squareform(rows.D, checks=False), "average"), numbers
    )
    for k in numbers:
        if k <= _MAX_PARTS:
            found.append(_candidate("tree", rows.density_tree.cut(k)))
    found += [
        _candidate("genie", labels) for labels in genie(rows.spanning_tree, numbers)
    ]
    return found


def _cut(family: str, tree: np.ndarray, numbers: list[int]) -> list[Candidate]:
    from scipy.cluster.hierarchy import fcluster  # slow to import

    return [_candidate(family, fcluster(tree, k, "maxclust")) for k in numbers]


# ---- mixtures ------------------------------------------------------------------------------------


def _mixtures(
    rows: Rows, starts: list[Candidate], numbers: list[int], apply: Apply
) -> list[Candidate]:
    """Fit mixtures that start from k-means and from Ward's tree."""
    q = rows.plane.shape[1]
    m = len(rows)
    of_number = {
        k: [
            one.labels
            for one in starts
            if one.family in ("k-means", "ward") and one.n_clusters == k
        ]
        for k in numbers
        if 2 * q * k <= m
    }
    _ = rows.products  # before threads share the rows

    def fit(k: int) -> tuple[list[Candidate], float, np.ndarray]:
        tied = [_fit_tied(rows, labels) for labels in of_number[k]]
        likelihood, labels = max(tied, key=lambda one: one[0])
        found = [_candidate("tied", labels)] if np.isfinite(likelihood) else []
        likelihood, share = _fit_t(rows, of_number[k])
        found.append(_candidate("t", share.argmax(axis=1)))
        n_parameters = k * (1 + q + q * (q + 1) / 2)
        return found, likelihood - n_parameters * np.log(m) / (2 * m), share

    fits = apply(fit, [(k,) for k, labels in of_number.items() if labels])
    if not fits:
        return []
    found = [one for several, _, _ in fits for one in several]
    _, _, components = max(fits, key=lambda one: one[1])
    return found + [_candidate("merged", labels) for labels in _merge(components)]


def _fit_tied(rows: Rows, labels: np.ndarray) -> tuple[float, np.ndarray]:
    start = np.eye(labels.max() + 1)[labels]
    result = fit_em(
        rows.plane,
        rows.weights,
        start,
        "EEE",
        tol=_TOL,
        regularization=_REGULARIZATION,
    )
    if result.responsibilities is None:
        return -np.inf, labels
    return result.log_likelihood, result.responsibilities.argmax(axis=1)


def _fit_t(rows: Rows, starts: list[np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the mean log-likelihood and the probabilities of the clusters."""
    first = [_run_t(rows, _soften(labels), _N_FIRST) for labels in starts]
    return _run_t(rows, max(first, key=lambda one: one[0])[1], _N_ITER)


def _soften(labels: np.ndarray) -> np.ndarray:
    k = labels.max() + 1
    return 0.98 * np.eye(k)[labels] + 0.02 / k


def _run_t(rows: Rows, share: np.ndarray, n_iter: int) -> tuple[float, np.ndarray]:
    X = rows.plane
    n, p = X.shape
    k = share.shape[1]
    trust = np.ones((n, k))
    mean_square = np.average(np.square(X).sum(axis=1), weights=rows.weights) / p
    ridge = _REGULARIZATION * mean_square * np.eye(p)
    norm = gammaln((_FREEDOM + p) / 2) - gammaln(_FREEDOM / 2)
    norm -= p / 2 * np.log(_FREEDOM * np.pi)
    previous = -np.inf
    for _ in range(n_iter):
        part = share * rows.weights[:, None]
        sizes = part.sum(axis=0) + 1e-9
        strong = part * trust
        totals = strong.sum(axis=0) + 1e-9
        means = strong.T @ X / totals[:, None]
        scatters = (strong.T @ rows.products).reshape(k, p, p)
        scatters -= totals[:, None, None] * means[:, :, None] * means[:, None]
        covariances = scatters / sizes[:, None, None]
        variances = np.trace(covariances, axis1=1, axis2=2) / p
        shrunk = (p + 1) / (sizes + p + 1)
        sphere = (shrunk * variances)[:, None, None] * np.eye(p)
        covariances = (1 - shrunk)[:, None, None] * covariances + sphere + ridge
        roots = np.linalg.cholesky(covariances)
        inverse = np.linalg.inv(roots)
        # rows times the transposed inverses of all clusters, shape (n, k p)
        scaled = X @ inverse.reshape(k * p, p).T
        scaled -= np.einsum("kij,kj->ki", inverse, means).ravel()
        squares = np.square(scaled).reshape(n, k, p).sum(axis=2)
        log_root = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
        logs = np.log(sizes / sizes.sum()) + norm - log_root
        logs = logs - (_FREEDOM + p) / 2 * np.log1p(squares / _FREEDOM)
        top = logs.max(axis=1, keepdims=True)
        share = np.exp(logs - top)
        sums = share.sum(axis=1, keepdims=True)
        share /= sums
        trust = (_FREEDOM + p) / (_FREEDOM + squares)
        likelihood = float(np.average((top + np.log(sums))[:, 0], weights=rows.weights))
        if likelihood < previous + _TOL:
            break
        previous = likelihood
    return likelihood, share


def _merge(share: np.ndarray) -> list[np.ndarray]:
    """Merge the components that overlap most, pair by pair (Hennig, 2010); return the labels."""
    found = []
    while share.shape[1] > 2:
        labels = share.argmax(axis=1)
        k = share.shape[1]
        indicators = np.eye(k)[labels]
        sizes = indicators.sum(axis=0)
        overlap = indicators.T @ share / np.maximum(sizes, 1)[:, None]
        overlap[sizes == 0] = 2  # Empty components are merged first.
        np.fill_diagonal(overlap, -1)
        first, second = np.unravel_index(int(overlap.argmax()), overlap.shape)
        merged = share[:, first] + share[:, second]
        share = np.delete(share, [first, second], axis=1)
        share = np.column_stack([share, merged])
        found.append(share.argmax(axis=1))
    return found


def rand_index(first: np.ndarray, second: np.ndarray) -> float:
    """Return the adjusted Rand index of two arrays of labels (Hubert and Arabie, 1985)."""
    n = len(first)
    if n == 1:
        return 1.0
    width = int(second.max()) + 1
    height = int(first.max()) + 1
    codes = first * width + second
    table = np.bincount(codes, minlength=height * width).reshape(-1, width)
    counts = (table.ravel(), table.sum(axis=1), table.sum(axis=0))
    pairs, rows, columns = (float(count @ (count - 1.0)) for count in counts)
    expected = rows * columns / (n * (n - 1))
    largest = (rows + columns) / 2
    if largest == expected:
        return 1.0
    return (pairs - expected) / (largest - expected)
