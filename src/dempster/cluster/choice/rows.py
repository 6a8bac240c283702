"""Rows on which partitions are made and measured, and what all partitions share.

At most some thousand distinct rows are drawn. Equal rows are one row with the sum of their weights,
and the weights are divided by their mean, so that nothing depends on the order or the repetition of
the rows. Dissimilarities are divided by the root of the mean variance, so that nothing depends on
units. Isolated rows, which would form clusters of their own, are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dempster._validation import has_missing
from dempster.cluster.choice.trees import minimum_spanning_tree
from dempster.data.sampling import order_along_line, sample_in_order
from dempster.dissimilarity.input import find_spreads, spreads_differ
from dempster.dissimilarity.partial import impute_missing
from dempster.dissimilarity.paths import DensityTree
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource

N_NEIGHBORS = 10  # neighbors of a row that should have its label
_CORE_NEIGHBOR = 5  # The density of a row is that around its fifth neighbor.
_N_NEAR = 150  # neighbors among which the nearest row of another cluster is sought
# A row is isolated if the logarithm of the distance to its fifth neighbor exceeds the third
# quartile by more than this number of interquartile ranges.
_FENCE = 6.0
# Rows are also isolated if this distance exceeds this quantile of all distances.
_LARGE_DISTANCE = 0.85
_MAX_ISOLATED = 0.1  # If more rows are far, only logarithms are compared.
_MIN_RANGE = 0.1  # smallest interquartile range
_MIN_ROWS = 12  # Among fewer rows, none is isolated.
_MAX_SILHOUETTES = 1000  # rows whose silhouettes are averaged
_N_PARTS = 40  # parts of the density tree with which partitions are compared
# largest number of coordinates of mixtures and discriminants, and rows for each of them
_MAX_COORDINATES = 12
_ROWS_PER_COORDINATE = 15
_EXPLAINED = 0.95  # share of the variance that these coordinates explain


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows with weights, in units of the root of the mean variance."""

    which: np.ndarray  # (m,), indices of the rows in the source
    weights: np.ndarray  # (m,), with mean one
    X: np.ndarray  # (m, p), coordinates
    D: np.ndarray  # (m, m), dissimilarities
    # divisors of the attributes, None if the coordinates are in the units of the source
    unit: np.ndarray | None = None
    # the same rows in the units of the source, if these differ; partitions are made in both
    in_units: Rows | None = None

    @classmethod
    def draw(
        cls,
        source: DissimilaritySource,
        weights: np.ndarray | None,
        size: int,
        rng: np.random.RandomState,
        *,
        scale: bool | str = "auto",
    ) -> Rows:
        """Draw at most ``size`` rows by their weights, and compare them."""
        which, weights = _draw(source, weights, size, rng)
        drawn = source.subset(which)
        if isinstance(drawn, AttributeSource) and has_missing(drawn.objects):
            drawn = AttributeSource(impute_missing(drawn.objects), drawn.metric)
        unit = None
        if scale and isinstance(drawn, AttributeSource) and drawn.metric != "hamming":
            spreads = find_spreads(drawn.objects)
            if scale is True or spreads_differ(spreads):
                unit = np.where(spreads > 0, spreads, 1).astype(drawn.objects.dtype)
        measured = drawn
        if unit is not None:
            measured = AttributeSource(drawn.objects / unit, drawn.metric)
        kept = np.flatnonzero(~_are_isolated(_dissimilarities(measured), weights))
        weights = weights[kept] / weights[kept].mean()
        rows = cls._compare(measured.subset(kept), which[kept], weights)
        in_units = None
        if unit is not None and scale == "auto":
            in_units = cls._compare(drawn.subset(kept), which[kept], weights)
        return replace(rows, unit=unit, in_units=in_units)

    @classmethod
    def _compare(
        cls, source: DissimilaritySource, which: np.ndarray, weights: np.ndarray
    ) -> Rows:
        D = _dissimilarities(source)
        if source.is_euclidean:
            X = _principal_axes(source.objects, weights)
        else:
            X = _principal_coordinates(D, weights)
        size = _size(X, weights)
        return cls(which, weights, X / size, D / size)

    def __len__(self) -> int:
        return len(self.D)

    def prepare(self) -> None:
        """Compute what all measures need, before threads share the rows."""
        _ = self.nearest, self.cores, self.products, self.half, self.parts, self.spaced

    @cached_property
    def nearest(self) -> np.ndarray:
        """Indices of the nearest other rows of each row, in order, shape (m, at most 150)."""
        return _nearest(self.D, min(_N_NEAR, len(self) - 1))

    @cached_property
    def spaced(self) -> tuple[np.ndarray, np.ndarray]:
        """At most 1,000 equally spaced rows, and their dissimilarities to all rows."""
        step = -(-len(self) // _MAX_SILHOUETTES)
        rows = np.arange(0, len(self), step)
        return rows, self.D[rows] if step > 1 else self.D

    @cached_property
    def cores(self) -> np.ndarray:
        """Distance from each row to its fifth neighbor, shape (m,); a measure of the density."""
        place = min(_CORE_NEIGHBOR, len(self) - 1) - 1
        return self.D[np.arange(len(self)), self.nearest[:, place]]

    @cached_property
    def spanning_tree(self) -> np.ndarray:
        """Edges of the minimum spanning tree of the mutual reachability distances."""
        reach = np.maximum(self.D, np.maximum(self.cores[:, None], self.cores))
        return minimum_spanning_tree(reach)

    @cached_property
    def density_tree(self) -> DensityTree:
        return DensityTree.from_dissimilarities(self.D)

    @cached_property
    def parts(self) -> tuple[np.ndarray, np.ndarray]:
        """Largest prominences of merges of the density tree, and the rows on both sides.

        The second array contains the rows of the first sides of all merges, then those of the
        second sides, shape (2 merges, m).
        """
        tree = self.density_tree
        m = len(self)
        order = np.argsort(-tree.prominences, kind="stable")[:_N_PARTS]
        pairs = tree.merges[:, :2].astype(int)
        inside = np.zeros((2 * m - 1, m), bool)
        inside[np.arange(m), np.arange(m)] = True
        for merge, (first, second) in enumerate(pairs, start=m):
            inside[merge] = inside[first] | inside[second]
        return tree.prominences[order], inside[pairs[order].T.ravel()].astype(float)

    @cached_property
    def plane(self) -> np.ndarray:
        """Leading principal coordinates, in which covariances can be estimated, shape (m, q)."""
        X = _principal_axes(self.X, self.weights)
        variances = self.weights @ np.square(X)
        explained = np.cumsum(variances) / max(variances.sum(), np.finfo(float).tiny)
        q = int(np.searchsorted(explained, _EXPLAINED)) + 1
        most = min(_MAX_COORDINATES, len(self) // _ROWS_PER_COORDINATE, X.shape[1])
        return np.ascontiguousarray(X[:, : max(min(q, most), 1)])

    @cached_property
    def products(self) -> np.ndarray:
        """Products of the coordinates in the plane, shape (m, q * q)."""
        q = self.plane.shape[1]
        return (self.plane[:, :, None] * self.plane[:, None]).reshape(-1, q * q)

    @cached_property
    def half(self) -> np.ndarray:
        """Whether a row belongs to the first half of the rows, shape (m,)."""
        return np.random.RandomState(0).permutation(len(self)) < len(self) // 2


def _draw(
    source: DissimilaritySource,
    weights: np.ndarray | None,
    size: int,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows by their weights, independently of their order; equal rows are one row."""
    n = len(source)
    w = np.ones(n) if weights is None else weights.astype(float)
    if isinstance(source.objects, np.ndarray):
        # Constant columns carry nothing.
        varies = (source.objects != source.objects[:1]).any(axis=0)
        objects = np.ascontiguousarray(source.objects[:, varies])
        order = order_along_line(objects)
        rows = objects[order]
        first = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
        sums = np.add.reduceat(w[order], np.flatnonzero(first))
        order = order[first]
        w = np.zeros_like(w)
        w[order] = sums
    else:
        probes = np.arange(min(n, 200))
        order = np.argsort(
            source.block(np.arange(n), probes).sum(axis=1), kind="stable"
        )
    which, w = sample_in_order(order, w, size, rng)
    return which, w / w.mean()


def _dissimilarities(source: DissimilaritySource) -> np.ndarray:
    rows = np.arange(len(source))
    D = source.block(rows, rows).astype(float)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D


def _nearest(D: np.ndarray, k: int) -> np.ndarray:
    """Return the k nearest other rows of each row, in order."""
    apart = D.copy()
    np.fill_diagonal(apart, np.inf)
    near = np.argpartition(apart, k - 1, axis=1)[:, :k]
    order = np.argsort(np.take_along_axis(apart, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)


def _are_isolated(D: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return which rows are far from all but a few others; a row of weight 2 is two objects."""
    if len(D) < _MIN_ROWS:
        return np.zeros(len(D), bool)
    near = _nearest(D, _CORE_NEIGHBOR)
    heavy = weights / weights.min()
    n_objects = heavy[:, None] - 1 + np.cumsum(heavy[near], axis=1)
    place = np.minimum((n_objects < _CORE_NEIGHBOR).sum(axis=1), _CORE_NEIGHBOR - 1)
    distances = D[np.arange(len(D)), near[np.arange(len(D)), place]]
    logs = np.log(np.maximum(distances, np.finfo(float).tiny))
    low, high = np.quantile(logs, [0.25, 0.75])
    are_isolated = logs > high + _FENCE * max(high - low, _MIN_RANGE)
    # Logarithms vary too much in clusters of different densities to find all isolated rows.
    are_far = are_isolated | (distances > np.quantile(D, _LARGE_DISTANCE))
    return are_far if are_far.mean() <= _MAX_ISOLATED else are_isolated


def _size(X: np.ndarray, weights: np.ndarray) -> float:
    """Return the root of the mean variance of the columns that vary."""
    variances = weights @ np.square(X) / weights.sum()
    return float(np.sqrt(variances[variances > 0].mean())) if variances.any() else 1.0


def _principal_axes(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return centered coordinates along the principal axes, in decreasing order of the variances.

    All distances between the rows are kept; there are at most as many coordinates as rows.
    """
    X = X - np.average(X, axis=0, weights=weights)
    scaled = X * np.sqrt(weights)[:, None]
    axes = np.linalg.svd(scaled, full_matrices=False)[2]
    return np.ascontiguousarray(X @ axes.T)


def _principal_coordinates(D: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return coordinates by classical scaling, from dissimilarities; with positive variances."""
    share = weights / weights.sum()
    squares = np.square(D)
    means = squares @ share
    products = (means + means[:, None] - share @ means - squares) / 2
    root = np.sqrt(share)
    variances, axes = np.linalg.eigh(products * root[:, None] * root)
    kept = np.flatnonzero(variances > 1e-9 * max(variances[-1], 1e-300))[::-1]
    if len(kept) == 0:
        return np.zeros((len(D), 1))
    return np.ascontiguousarray(
        axes[:, kept] * np.sqrt(variances[kept]) / root[:, None]
    )
