"""Fitted models of EVCLUS, which compare objects with reference objects.

`EvclusModel` computes the masses whose conflicts with the masses of the reference objects match the
dissimilarities best. `DoubtModel` computes the masses from the plausibility of each cluster for an
object.

Two models are needed because no value of ``d0`` serves both purposes. A small ``d0`` finds the
clusters but gives no mass to pairs of clusters, because half of the mass on each of two clusters
fits the conflicts better than mass on the pair. A large ``d0`` has the opposite effect. Therefore,
`EvclusModel` first finds the clusters, with masses on single clusters. In `DoubtModel`, the
plausibility of cluster k for object i is proportional to

    (A_ik / sqrt(A_kk))^b,    A_ik = mean_{j in k} exp(-gamma_ij d_ij^2),

where the mean is over the reference objects of cluster k, and A_kk is the mean of A_ik over them.
The factor gamma_ij is such that the target conflict 1 - exp(-gamma_ij d_ij^2) is 0.95 at d_ij = 1.5
sqrt(s_i s_j). The local scale s_i is the distance within which object i has sqrt(r) of the r
reference objects, or half of the mean number of reference objects per cluster if this is less (see
self-tuning spectral clustering, Zelnik-Manor and Perona, 2004), so that dense and sparse clusters
are treated alike. The divisor removes what two objects of one cluster have in common anyway: A_ik /
sqrt(A_kk) is the length of the projection of object i on the mean of cluster k in the feature space
of the kernel, and its logarithm is the counterpart of a_ik - a_kk / 2, the squared distance to the
mean of a cluster. Without the divisor, small clusters would be favored.

The exponent b makes the doubt independent of the number of dimensions. A_ik smooths the density of
a cluster with variance v by a kernel with variance h^2 = s_i s_j / (2 gamma), where gamma = ln 20 /
1.5^2. For a spherical normal cluster with mean mu in p dimensions,

    log A_ik = -|x_i - mu|^2 / (2 (v + h^2)) + constant,

whereas the log-density is -|x_i - mu|^2 / (2 v). The ratio is b = 1 + h^2 / v. In two dimensions,
h^2 is much smaller than v. As s_i^2 includes the distance 2 p v that two objects of a cluster have
on average, h^2 increases like p v, and log A_ik decreases to a difference of this order. v is
estimated by tr(C^2) / tr(C), where C is the covariance matrix of a cluster, which is v for
spherical clusters and nearly the largest variance for long ones. Dissimilarities are sufficient for
it: the mean of d_ij^2 is 2 tr(C), and the distance variance of d_ij^2 is 4 tr(C^2), of which
Szekely and Rizzo (2014, Partial distance correlation with methods for dissimilarities) give an
unbiased estimate.

An object is an outlier if it is much farther from its nearest reference objects than usual (beyond
the fence of a box plot).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils.validation import check_is_fitted

from dempster._arrays import (
    Array,
    concatenate_rows,
    divide,
    is_sparse,
    is_tensor,
    precision_of,
    row_mean,
)
from dempster._blas import one_blas_thread
from dempster._errors import InvalidParameterError
from dempster._native import kernel
from dempster._random import as_generator
from dempster._types import Seed
from dempster._validation import check, choice, integer
from dempster.belief import FocalSets
from dempster.belief.focal_sets import MAX_DENSE_CLUSTERS, has_many_clusters
from dempster.cluster._mass_step import (
    masses_from_plausibilities,
    nearest_doubt,
)
from dempster.cluster.evclus._pairs import WeightedPairs
from dempster.dissimilarity.sources import AttributeSource, References, rounding
from dempster.dissimilarity.transform import conflicts_at, decay, scale_at
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.nearest import (
    N_NEAREST,
    find_nearest_clusters,
    find_smallest,
    sum_nearest,
)
from dempster.optimize.projection import (
    Terms,
    approach_compressed,
    approach_known_masses,
    euclidean_terms,
    linear_image,
    project,
    terms_of_conflicts,
)
from dempster.optimize.row_fit import conflicts_of_pairs
from dempster.optimize.simplex_qp import solve_simplex_qp
from dempster.partition import CredalPartition
from dempster.posterior.boundaries import (
    count_boundaries,
    count_nearest,
    neighbor_family,
)
from dempster.posterior.collection import collect_masses
from dempster.posterior.evidence import ClusterEvidence

RowBlocks = Callable[[], Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]]
"""Function that returns blocks of dissimilarities between reference objects.

A block contains the sorted indices of the reference objects in its rows and in its columns, which
include those in its rows, and the dissimilarities.
"""

# ---- surroundings --------------------------------------------------------------------------------

_reach = kernel("""reach(
    D: real[n, r], weights: real[r], itself: int64[n] below r or -1 or None, unit: float,
    near_amount: float, far_amount: float, near: real[n] out, far: real[n] out)""")
_affinity = kernel("""affinity(
    D: real[n, r], scales: real[r], weights: real[r], labels: int64[r] below c,
    itself: int64[n] below r or -1 or None, unit: float, rate: float, near_amount: float,
    far_amount: float, least: float, near: real[n] out, out: real[n, c] out)""")
_affinity_of_points = kernel("""affinity_of_points(
    A: real[n, d], B: real[r, d], scales: real[r], weights: real[r], labels: int64[r] below c,
    unit: float, rate: float, near_amount: float, far_amount: float, least: float,
    near: real[n] out, nearest: int64[n] out, distance: real[n] out, out: real[n, c] out)""")


@dataclass(frozen=True)
class Contrast:
    """Conversion of the affinities to c clusters to plausibilities, as the module describes."""

    within: Annotated[np.ndarray, "c"]  # mean affinity of the members of each cluster
    exponent: float

    @classmethod
    def neutral(cls, n_clusters: int) -> Contrast:
        """Return the conversion that leaves the ratios of affinities as they are."""
        return cls(np.ones(n_clusters), 1.0)

    def select(self, clusters: np.ndarray) -> Contrast:
        """Return the conversion for some of the clusters."""
        return replace(self, within=self.within[clusters])

    def plausibilities(self, affinities: np.ndarray) -> np.ndarray:
        """Return the plausibilities of the clusters; the largest one of a row is 1.

        The plausibilities of an object without any affinity are zero.
        """
        relative = affinities / np.sqrt(self.within).astype(affinities.dtype)
        largest = relative.max(axis=1, keepdims=True)
        largest[largest == 0] = 1
        return (relative / largest) ** affinities.dtype.type(self.exponent)


@dataclass(frozen=True)
class Affinity:
    """Affinity of objects to clusters, computed from their distances to r reference objects.

    The affinity of object i to cluster k is the weighted mean of exp(-rate d_ij^2 / (s_i s_j)) over
    the reference objects j of the cluster. It is zero for an empty cluster. The local scale s_i is
    the distance within which the reference objects have the total weight ``far``. It is at least
    the smallest scale of a reference object.
    """

    scales: np.ndarray  # (r,), local scales of the reference objects
    weights: np.ndarray  # (r,), weights of the reference objects
    labels: np.ndarray  # (r,), clusters of the reference objects
    n_clusters: int
    unit: float  # weight of one object
    rate: float
    near: float  # total weight of the nearest reference objects that identify outliers
    # total weight of the nearest reference objects that define a local scale
    far: float
    contrast: Contrast

    def by_distances(
        self, D: np.ndarray, itself: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the affinities, shape (n, c), and the distances to the nearest objects.

        Within these distances, reference objects have the total weight ``near``. ``D`` contains the
        dissimilarities to the reference objects, shape (n, r). ``itself`` is explained in `reach`,
        but an object that is alone in its cluster counts as a member of the cluster.
        """
        near = np.empty(len(D), D.dtype)
        out = np.empty((len(D), self.n_clusters), D.dtype)
        _affinity(D, *self._references(D.dtype), itself, *self._constants(), near, out)
        return out, near

    def by_points(
        self, A: np.ndarray, B: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays of `by_distances` for points A, the nearest of B, and its distance.

        The distance between equal points is exactly zero.
        """
        n = len(A)
        near, distance = np.empty((2, n), A.dtype)
        nearest = np.empty(n, np.int64)
        out = np.empty((n, self.n_clusters), A.dtype)
        points = np.ascontiguousarray(A), np.ascontiguousarray(B)
        arguments = *self._references(A.dtype), *self._constants()
        _affinity_of_points(*points, *arguments, near, nearest, distance, out)
        return out, near, nearest, distance

    def select(self, which: np.ndarray, clusters: np.ndarray) -> Affinity:
        """Return the affinity to some clusters (sorted), given the indices of their references."""
        return replace(
            self,
            scales=self.scales[which],
            weights=self.weights[which],
            labels=np.searchsorted(clusters, self.labels[which]),
            n_clusters=len(clusters),
            contrast=self.contrast.select(clusters),
        )

    def _references(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.scales.astype(dtype), self.weights.astype(dtype), self.labels

    def _constants(self) -> tuple[float, float, float, float, float]:
        return (
            self.unit,
            self.rate,
            self.near,
            self.far,
            float(self.scales.min()),
        )


def reach(
    D: np.ndarray,
    weights: np.ndarray,
    itself: np.ndarray | None,
    unit: float,
    near: float,
    far: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances within which reference objects have weights ``near`` and ``far``.

    ``D`` contains the dissimilarities to r reference objects, shape (n, r), and ``weights`` their
    weights. ``itself`` contains, for each object, its index among the reference objects, or -1. The
    weight of this reference object is reduced by ``unit``, the weight of one object. Any remaining
    weight counts as other objects at distance zero.
    """
    close, distant = np.empty((2, len(D)), D.dtype)
    _reach(D, weights, itself, unit, near, far, close, distant)
    return close, distant


# distance, divided by sqrt(s_i s_j), at which two objects should be in different clusters
_WIDTH = 1.5
_RATE = decay(_WIDTH)  # factor of the scaled squared distances
# number of nearest reference objects that decide whether an object is an outlier
_NEAR = 5
_FENCE = 2.0  # number of interquartile ranges from the third quartile to the fence
_MIN_RANGE = 0.1  # smallest interquartile range of the logarithms of the distances
# The mass on the empty set is 0.27 and 0.73 at this number of interquartile ranges from the fence.
_SOFTNESS = 1 / 8
_MAX_DISSIMILARITIES = 1_000_000  # maximum number of dissimilarities in memory at once
# maximum number of exchanges between many clusters, and share of references at which they stop
_MAX_EXCHANGES = 5
_MAX_EXCHANGED = 0.005


@dataclass(frozen=True)
class Surroundings:
    """Typical distances from the r reference objects to their neighbors."""

    weights: Annotated[np.ndarray, "r"]  # weights of the reference objects
    unit: float  # weight of one object, the mean of the weights
    n_neighbors: int  # number of other reference objects within a local scale
    scales: Annotated[np.ndarray, "r"]  # local scales of the reference objects
    # third quartile of the distances within which each of them has 5 other reference objects
    usual: float
    fence: float  # log(distance / usual) at which the mass on the empty set is 1/2
    softness: float  # width of the transition at the fence

    @classmethod
    def from_dissimilarities(
        cls,
        blocks: RowBlocks,
        r: int,
        weights: np.ndarray | None,
        n_clusters: int,
    ) -> Surroundings:
        """Compute the distances from the dissimilarities between r reference objects."""
        w = np.ones(r) if weights is None else weights.astype(float)
        unit = float(w.mean())
        per_cluster = round(r / (2 * n_clusters))
        n_neighbors = max(min(round(np.sqrt(r)), per_cluster), _NEAR)
        amounts = _neighbor_weights(unit, r, n_neighbors)
        near, far = np.empty((2, r))
        for rows, columns, D in blocks():
            others = w[columns], np.searchsorted(columns, rows), unit
            near[rows], far[rows] = reach(D, *others, *amounts)
        scales = _replace_zeros(far, blocks)
        near = _replace_zeros(near, blocks)
        low = scale_at(near, 0.25, w)
        high = scale_at(near, 0.75, w)
        width = max(float(np.log(high / low)), _MIN_RANGE)
        return cls(
            w, unit, n_neighbors, scales, high, _FENCE * width, _SOFTNESS * width
        )

    def affinity(self, labels: np.ndarray, contrast: Contrast) -> Affinity:
        """Return the object that computes affinities.

        ``labels`` contains the clusters of the reference objects.
        """
        return Affinity(
            self.scales,
            self.weights,
            labels,
            len(contrast.within),
            self.unit,
            _RATE,
            *self.neighbor_weights,
            contrast,
        )

    def compare(
        self, blocks: RowBlocks, labels: np.ndarray, n_clusters: int
    ) -> ReferenceAffinities:
        """Return the affinities of the reference objects to the clusters ``labels``."""
        affinity = self.affinity(labels, Contrast.neutral(n_clusters))
        r = len(labels)
        own, squares, fourths = np.empty((3, r))
        length = self.scales.mean()
        v = self.weights / self.unit
        parts = []
        for rows, columns, D in blocks():
            clusters = np.unique(labels[columns])
            affinities, near = affinity.select(columns, clusters).by_distances(
                D, np.searchsorted(columns, rows)
            )
            parts.append((rows, clusters, affinities, near))
            place = np.searchsorted(clusters, labels[rows])
            own[rows] = affinities[np.arange(len(rows)), place]
            same = labels[rows, None] == labels[columns]
            inside = np.where(same, np.square(D / length), 0)
            squares[rows] = inside @ v[columns]
            fourths[rows] = np.square(inside) @ v[columns]
        n = np.bincount(labels, v, n_clusters)
        within = divide(np.bincount(labels, v * own, n_clusters), n, 1.0)
        # An object is alike at least to itself.
        within = np.maximum(within, 1 / np.maximum(n, 1))
        sums = [
            np.bincount(labels, v * values, n_clusters)
            for values in (squares, np.square(squares), fourths, self.scales / length)
        ]
        exponent = _contrast_exponent(n, *sums)
        return ReferenceAffinities(parts, Contrast(within, exponent))

    @property
    def neighbor_weights(self) -> tuple[float, float]:
        """Parameters ``near`` and ``far`` of `reach`."""
        return _neighbor_weights(self.unit, len(self.weights), self.n_neighbors)

    def outlying(self, near: np.ndarray) -> np.ndarray:
        """Return the masses on the empty set.

        ``near`` contains the distances within which objects have 5 neighbors.
        """
        far = np.maximum(near / self.usual, np.exp(self.fence - 50 * self.softness))
        above = (np.log(far) - self.fence) / self.softness
        return 1 / (1 + np.exp(-np.minimum(above, 50)))


class ReferenceAffinities(NamedTuple):
    """Affinities of reference objects to clusters, and their conversion to plausibilities."""

    # indices of some reference objects, the clusters that they are compared with, the affinities,
    # and the distances within which they have 5 neighbors
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
    contrast: Contrast


def _contrast_exponent(
    n: np.ndarray,
    squares: np.ndarray,
    squared_sums: np.ndarray,
    fourths: np.ndarray,
    scales: np.ndarray,
) -> float:
    """Return 1 + h^2 / v, pooled over the clusters.

    For each cluster, ``n`` is its size, ``squares`` and ``fourths`` are the sums of d_ij^2 and
    d_ij^4 over all pairs of its objects, ``squared_sums`` is the sum over the objects i of the
    square of sum_j d_ij^2, and ``scales`` is the sum of the local scales. Smaller clusters than of
    four objects have no distance variance.
    """
    is_measurable = n > 3
    if not is_measurable.any():
        return 1.0
    n, squares, squared_sums, fourths, scales = (
        values[is_measurable] for values in (n, squares, squared_sums, fourths, scales)
    )
    trace = squares / (2 * n * (n - 1))
    centered = fourths - 2 / (n - 2) * squared_sums + squares**2 / ((n - 1) * (n - 2))
    trace_of_square = np.maximum(centered, 0) / (4 * n * (n - 3))
    bandwidth = np.square(scales / n) / (2 * _RATE)
    variance = n @ (trace_of_square / bandwidth**2)
    if not variance > 0:
        return 1.0
    return float(1 + n @ (trace / bandwidth) / variance)


def _neighbor_weights(unit: float, r: int, n_neighbors: int) -> tuple[float, float]:
    """Return the parameters ``near`` and ``far`` of `reach` for r reference objects."""
    others = max(r - 1, 1)
    near = min(_NEAR, others)
    far = min(n_neighbors, others)
    return unit * near * (1 - 1e-9), unit * far * (1 - 1e-9)


def _replace_zeros(distances: np.ndarray, blocks: RowBlocks) -> np.ndarray:
    """Replace zero distances by a small positive distance.

    If all are zero, use the smallest positive dissimilarity in the blocks.
    """
    finite = distances[np.isfinite(distances) & (distances > 0)]
    if not len(finite):
        least = min(D[D > 0].min(initial=np.inf) for *_, D in blocks())
        return np.full(len(distances), least if np.isfinite(least) else 1.0)
    return np.clip(distances, 1e-6 * float(np.median(finite)), finite.max())


def neighboring_clusters(
    blocks: RowBlocks,
    labels: np.ndarray,
    n_clusters: int,
    weights: np.ndarray | None = None,
) -> FocalSets:
    """Return the empty set, single clusters and pairs of neighboring clusters.

    ``labels`` contains the clusters of the reference objects, and ``weights`` their weights. The
    blocks contain all dissimilarities.
    """
    n = len(labels)
    w = np.ones(n) if weights is None else weights
    cells = w, (np.arange(n), labels)
    members = sparse.csc_array(cells, (n, n_clusters))
    squares = [np.square(D, dtype=float) @ members for *_, D in blocks()]
    with np.errstate(invalid="ignore"):
        means = np.concatenate(squares) / members.sum(axis=0)
    costs = _costs_of_clusters(means, labels, w)
    return neighbor_family(count_boundaries(costs, weights))


def neighbors_of_pairs(
    pairs: WeightedPairs, labels: np.ndarray, n_clusters: int
) -> FocalSets:
    """Return the empty set, single clusters, pairs of neighbors and the frame.

    Only the dissimilarities of some pairs of objects are known.
    """
    squares, counts = np.zeros((2, len(labels), n_clusters))
    for first, second in ((pairs.i, pairs.j), (pairs.j, pairs.i)):
        np.add.at(squares, (first, labels[second]), np.square(pairs.dissimilarity))
        np.add.at(counts, (first, labels[second]), 1)
    with np.errstate(invalid="ignore"):
        means = squares / counts
    costs = _costs_of_clusters(means, labels, np.ones(len(labels)))
    return neighbor_family(count_boundaries(costs), omega=True)


def _costs_of_clusters(
    means: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the costs of the clusters for the objects, infinite if they are unknown.

    ``means`` contains the mean squared dissimilarities of n objects to the members of c clusters,
    NaN if they are unknown. The cost is the mean minus half of the mean within the cluster. For
    Euclidean distances, this is the squared distance to the mean of the cluster.
    """
    own = np.nan_to_num(means[np.arange(len(labels)), labels])
    total = np.bincount(labels, weights, means.shape[1])
    with np.errstate(invalid="ignore"):
        within = np.bincount(labels, weights * own, len(total)) / total
    return np.nan_to_num(means - within / 2, nan=np.inf)


# ---- models --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvclusModel:
    """Reference objects with masses.

    An object gets the masses whose conflicts match its dissimilarities best.
    """

    family: FocalSets
    references: References
    reference_masses: Annotated[np.ndarray, "r f"]  # masses of the reference objects
    # weights of the reference objects; None if all are equal
    counts: Annotated[np.ndarray, "r"] | None
    # distances at which masses begin to approach those of the nearest reference object
    radii: Annotated[np.ndarray, "r"]
    d0: float
    device: str  # device for large inputs; devices other than "cpu" require torch
    dtype: np.dtype  # type of the masses for inputs without a floating-point type

    def masses(self, values: Any, apply: Apply) -> Array:
        """Return the masses of n objects read by `DissimilarityInput.new`, shape (n, f).

        Tensors are not moved.
        """
        if sparse.issparse(values):
            return self.masses_of_sparse(values, np.arange(values.shape[0]))
        return self.project(values, apply)

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster.

        It is minus the mean squared error of the conflicts if the cluster contained the object. For
        object i, the evidence is

            -mean_j (delta_ij - (1 - pl_j))^2,

        where delta_ij is the target conflict with reference object j, and pl_j is the plausibility
        that reference object j is in the cluster. Object j contributes -2 pl_j delta_ij. The
        remaining terms are equal for all clusters or do not depend on object i.
        """
        if sparse.issparse(values):
            which, d = self._known_dissimilarities(values.indices, values.data)
        else:
            which = np.arange(len(self.references))
            d = self.references.dissimilarities(values)[0].astype(float)
        compared = self.references.select(which)
        delta = conflicts_at(d, self.d0)
        plausible = (self.reference_masses @ self.family.membership)[which]
        counts = self._weights()[which]
        counts[compared.positions == itself] = 0
        counts /= counts.sum() or 1
        total = -counts @ (delta[:, None] - (1 - plausible)) ** 2
        shares = 2 * (counts[:, None] * plausible).T
        quantity = (
            "minus the mean squared error of the conflicts if the object were certainly in the "
            "cluster"
        )
        return ClusterEvidence.from_costs(
            quantity, delta, shares, total, compared, values
        )

    def without(self, position: int) -> EvclusModel:
        """Return the model in which one training object has weight zero."""
        counts = self._weights()
        counts[self.references.positions == position] = 0
        if not counts.any():
            return self
        return replace(self, counts=counts)

    def _weights(self) -> np.ndarray:
        """Return new weights of the reference objects."""
        if self.counts is None:
            return np.ones(len(self.references))
        return self.counts.astype(float)

    def _known_dissimilarities(
        self, columns: np.ndarray, d: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the reference objects among the columns of a sparse row, and their entries."""
        places = self._places[columns]
        return places[places >= 0], d[places >= 0].astype(float)

    @cached_property
    def _places(self) -> np.ndarray:
        """Index of each training object among the reference objects, or -1."""
        places = np.full(self.references.n_training, -1)
        places[self.references.positions] = np.arange(len(self.references))
        return places

    def project(self, values: Any, apply: Apply, *, approach: bool = True) -> Array:
        """Return the masses of objects by comparison with the references.

        If ``approach`` is True, they approach the masses of the references
        (`approach_known_masses`).
        """
        dtype = self.precision(values)
        references = self.references.astype(dtype)
        masses = self.reference_masses
        counts = self.counts
        conflict = np.array(self.family.conflict)
        if self.uses_torch(values) and approach and references.are_points(values):
            from dempster.optimize.projection_torch import project_euclidean

            points = cast(AttributeSource, references.source).objects
            gamma = decay(self.d0)
            device = self.device_of(values)
            return project_euclidean(
                values, points, masses, conflict, gamma, device, counts, self.radii
            )
        terms = self.linear_terms(values)
        radii = self.radii if approach else None
        with _blas_threads(values, references):
            return project(
                terms, len(values), masses, conflict, dtype, apply, counts, radii
            )

    def linear_terms(self, values: Any) -> Terms:
        """Return a function that computes the linear terms of the quadratic programs of a block."""
        d0 = self.d0
        references = self.references.astype(self.precision(values))
        masses = self.reference_masses
        conflict = np.array(self.family.conflict)
        image = linear_image(masses, conflict, self.counts)
        if not _needs_products(values, references):
            rows = np.ascontiguousarray(values)
            points = cast(AttributeSource, references.source).objects
            return euclidean_terms(rows, points, decay(d0), image)
        if references.are_points(values):
            return terms_of_conflicts(
                _euclidean_conflicts(values, references, decay(d0)), image
            )

        def conflicts(
            start: int, stop: int
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            D = references.dissimilarities(values, start, stop)
            nearest = self.nearest(D, references, values[start:stop])
            return conflicts_at(D, d0), *nearest

        return terms_of_conflicts(conflicts, image)

    def nearest(
        self, D: np.ndarray, references: References, block: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the index of the reference nearest to each object, and the distance to it.

        ``D`` contains the dissimilarities of a block of objects to the references. Among several
        references at dissimilarity zero in a matrix, the one whose masses fit best is selected.
        """
        if references.source is not None:
            return references.nearest(block, D)
        conflict = np.array(self.family.conflict)
        twins = twins_at_zero(D, self.d0, self.reference_masses, conflict)
        nearest = np.where(twins >= 0, twins, D.argmin(axis=1))
        distance = np.where(twins >= 0, 0, D[np.arange(len(D)), nearest])
        return nearest, distance

    def precision(self, values: Any) -> np.dtype:
        if isinstance(values, np.ndarray) or is_tensor(values):
            return precision_of(values)
        return self.dtype

    def uses_torch(self, values: Any) -> bool:
        return self.device != "cpu" or is_tensor(values)

    def device_of(self, values: Any) -> Any:
        if is_tensor(values):
            return values.device
        return self.device

    def masses_of_sparse(self, D: sparse.csr_matrix, itself: np.ndarray) -> np.ndarray:
        """Return the masses for a sparse matrix.

        Row i approaches object ``itself[i]`` if this entry is stored.
        """
        conflict = np.array(self.family.conflict)
        n = D.shape[0]
        out = np.empty((n, len(self.family)), self.dtype)
        nearest = np.zeros(n, np.int64)
        distance = np.full(n, np.inf)
        for i in range(n):
            row = slice(D.indptr[i], D.indptr[i + 1])
            known, d = self._known_dissimilarities(D.indices[row], D.data[row])
            if len(d) == 0:
                message = f"row {i} of X contains no dissimilarity to any of landmark_indices_"
                raise InvalidParameterError("X", message=message)
            masses = self.reference_masses[known]
            image = masses @ conflict
            delta = conflicts_at(d, self.d0)
            if self.counts is not None:
                root = np.sqrt(self.counts[known])
                image = root[:, None] * image
                delta = root * delta
            out[i] = solve_simplex_qp(2 * image.T @ image, -2 * image.T @ delta)
            for k in np.flatnonzero(self.references.positions[known] == itself[i]):
                nearest[i] = known[k]
                distance[i] = d[k]
        approach_known_masses(out, self.reference_masses, nearest, distance, self.radii)
        return out


@dataclass(frozen=True)
class DoubtModel:
    """Reference objects with labels.

    An object gets masses from its affinities to the members of the clusters.
    """

    family: FocalSets  # empty set, single clusters and pairs of neighboring clusters
    # model with masses on single clusters, which determined the labels
    fit: EvclusModel
    labels: Annotated[np.ndarray, "r:int64"]  # clusters of the reference objects
    surroundings: Surroundings
    contrast: Contrast
    # masses of the reference objects, compressed rows if there are many clusters
    reference_masses: Annotated[np.ndarray, "r f"] | sparse.csr_array

    def __post_init__(self) -> None:
        shape = len(self.labels), len(self.family)
        if self.reference_masses.shape != shape:
            must = f"have shape {shape}, got {self.reference_masses.shape}"
            raise InvalidParameterError("reference_masses", must=must)

    @classmethod
    def from_fit(
        cls, fit: EvclusModel, blocks: RowBlocks, kept: np.ndarray | None = None
    ) -> DoubtModel:
        """Create the model from a fit and the dissimilarities of its references.

        The references with the indices ``kept`` keep their masses; None if there are no
        constraints. If there are many clusters, their references are exchanged until almost all
        are in their most plausible clusters.
        """
        labels = fit.reference_masses[:, fit.family.singleton_index].argmax(axis=1)
        model = cls._from_labels(fit, labels, blocks, kept)
        if not is_sparse(model.reference_masses):
            return model
        for _ in range(_MAX_EXCHANGES):
            partition = CredalPartition.unchecked(model.reference_masses, model.family)
            labels = partition.labels
            if np.mean(labels != model.labels) <= _MAX_EXCHANGED:
                break
            model = cls._from_labels(fit, labels, blocks, around=model.surroundings)
        return model

    @classmethod
    def _from_labels(
        cls,
        fit: EvclusModel,
        labels: np.ndarray,
        blocks: RowBlocks,
        kept: np.ndarray | None = None,
        around: Surroundings | None = None,
    ) -> DoubtModel:
        """Create the model from the clusters of the references."""
        c = fit.family.n_clusters
        source = fit.references.source
        is_compressed = kept is None and c > MAX_DENSE_CLUSTERS
        if (
            is_compressed
            and isinstance(source, AttributeSource)
            and source.is_euclidean
        ):
            nearby = NearbyReferences(source.objects, labels, c, fit.counts)
            blocks = nearby.blocks
            family = nearby.family
        else:
            family = neighboring_clusters(blocks, labels, c, fit.counts)
        if around is None:
            weights = fit.counts
            around = Surroundings.from_dissimilarities(blocks, len(labels), weights, c)
        compared = around.compare(blocks, labels, c)
        order = []
        parts = []
        for rows, clusters, affinities, near in compared.parts:
            contour = compared.contrast.select(clusters).plausibilities(affinities)
            outlying = around.outlying(near)
            order.append(rows)
            if is_compressed:
                parts.append(_compress_doubt(contour, clusters, family, outlying))
            else:
                every = np.zeros((len(rows), c))
                every[:, clusters] = contour
                parts.append(masses_from_plausibilities(every, family, outlying))
        masses = concatenate_rows(parts)[np.argsort(np.concatenate(order))]
        model = cls(family, fit, labels, around, compared.contrast, masses)
        if kept is not None and len(kept):
            model.keep(masses, kept, fit.reference_masses[kept])
        return model

    def keep(self, masses: np.ndarray, rows: np.ndarray, fitted: np.ndarray) -> None:
        """Replace the masses of rows in place by masses of the `EvclusModel` without the frame."""
        replace_masses(masses, self.family, rows, fitted, self.fit.family)

    @property
    def affinity(self) -> Affinity:
        """Affinity of objects to the clusters of the references."""
        return self.surroundings.affinity(self.labels, self.contrast)

    @property
    def references(self) -> References:
        return self.fit.references

    @property
    def d0(self) -> float:
        return self.fit.d0

    def masses(self, values: Any, apply: Apply) -> Array:
        """Return the masses of n objects read by `DissimilarityInput.new`, shape (n, f).

        Tensors are not moved.

        They approach the masses of the reference objects (`approach_known_masses`). For a sparse
        matrix of dissimilarities, the masses whose conflicts with the masses of the reference
        objects match the dissimilarities best are returned.
        """
        if sparse.issparse(values):
            return self._as_fit().masses(values, apply)
        fit = self.fit
        dtype = fit.precision(values)
        references = fit.references.astype(dtype)
        family = self.family
        affinity = self.affinity
        if fit.uses_torch(values) and references.are_points(values):
            from dempster.cluster._device import reference_masses

            return reference_masses(
                values,
                cast(AttributeSource, references.source).objects,
                self.surroundings,
                affinity,
                family,
                self.reference_masses,
                fit.radii,
                fit.device_of(values),
            )

        products = _needs_products(values, references)
        nearby = None
        size = max(1, _MAX_DISSIMILARITIES // len(references))
        if has_many_clusters(family) and references.are_points(values):
            nearby = self._nearby
            size = _ROWS_PER_CLUSTER * family.n_clusters

        def compute(start: int, stop: int) -> Array:
            block = values[start:stop]
            if nearby is not None:
                contour, clusters, near, nearest, distance = nearby.compare(
                    block, affinity
                )
            elif products:
                D = np.ascontiguousarray(
                    references.dissimilarities(values, start, stop)
                )
                affinities, near = affinity.by_distances(D)
                contour = self.contrast.plausibilities(affinities)
                nearest, distance = fit.nearest(D, references, block)
            else:
                points = cast(AttributeSource, references.source).objects
                affinities, near, nearest, distance = affinity.by_points(block, points)
                contour = self.contrast.plausibilities(affinities)
            outlying = self.surroundings.outlying(near)
            known = self.reference_masses, nearest, distance, fit.radii
            if nearby is not None:
                rows = nearest_doubt(clusters, contour, family, outlying, contour.dtype)
                return approach_compressed(rows, *known)
            if has_many_clusters(family):
                every = np.arange(family.n_clusters)
                rows = _compress_doubt(contour, every, family, outlying)
                return approach_compressed(rows, *known)
            masses = masses_from_plausibilities(contour, family, outlying)
            approach_known_masses(masses, *known)
            return masses

        blocks = row_blocks(len(values), size, most=None)
        with _blas_threads(values, references):
            return collect_masses(compute, blocks, family, dtype, apply)

    @cached_property
    def _nearby(self) -> NearbyReferences:
        points = cast(AttributeSource, self.references.source).objects
        c = self.family.n_clusters
        return NearbyReferences(points, self.labels, c, self.fit.counts)

    def _as_fit(self) -> EvclusModel:
        return replace(
            self.fit, family=self.family, reference_masses=self.reference_masses
        )

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster, the logarithm of its plausibility."""
        if sparse.issparse(values):
            return self._as_fit().evidence(values, itself)
        around = self.surroundings
        references = self.references.astype(np.dtype(float))
        D = np.ascontiguousarray(references.dissimilarities(values, exact=True), float)
        own = np.flatnonzero(references.positions == itself)
        w = around.weights.copy()
        unit = around.unit
        _, far = reach(
            D, w, own if len(own) else np.array([-1]), unit, *around.neighbor_weights
        )
        scale = np.maximum(far[0], around.scales.min())
        energies = _RATE * D[0] ** 2 / (scale * around.scales)
        if len(own) and w[self.labels == self.labels[own[0]]].sum() > unit:
            # An object is not evidence for its own cluster, unless it is alone.
            w[own] = max(w[own[0]] - unit, 0)
        logs = np.full((len(w), self.family.n_clusters), -np.inf)
        sizes = np.bincount(self.labels, w)[self.labels]
        with np.errstate(divide="ignore"):
            own_logs = np.log(w) - np.log(np.where(sizes > 0, sizes, 1)) - energies
        logs[np.arange(len(w)), self.labels] = own_logs
        logs -= np.log(self.contrast.within) / 2
        totals = np.logaddexp.reduce(logs, axis=0)
        exponent = self.contrast.exponent
        # The terms of a cluster are multiplied by the same factor, so that their sum is the power.
        logs += np.where(np.isfinite(totals), (exponent - 1) * totals, 0)
        quantity = "logarithm of the affinity to the members of the cluster"
        return ClusterEvidence.from_strengths(
            quantity, logs, exponent * energies, references, values
        )

    def without(self, position: int) -> DoubtModel:
        """Return the model without one training object.

        An object that is alone in its cluster is not removed.
        """
        weights = self.surroundings.weights.copy()
        own = self.references.positions == position
        weights[own] = np.maximum(weights[own] - self.surroundings.unit, 0)
        alone = not all(weights[self.labels == k].any() for k in self.labels[own])
        if alone:
            return self
        return replace(self, surroundings=replace(self.surroundings, weights=weights))


# ---- comparison with references of near clusters -------------------------------------------------

_ROWS_PER_CLUSTER = 64  # number of rows in a block, divided by the number of clusters
# number of clusters with which a point is compared, without neighbors
_NEAR_CLUSTERS = 16


class NearbyReferences:
    """References of a few clusters, with which a point is compared if there are many clusters.

    They are the references of the cluster with the nearest mean, of its neighbors, and of the
    clusters whose means are nearest to this mean.
    """

    def __init__(
        self,
        points: np.ndarray,
        labels: np.ndarray,
        n_clusters: int,
        weights: np.ndarray | None,
    ):
        w = np.ones(len(labels)) if weights is None else weights
        self.points = points
        self.labels = labels
        self.owners, place = np.unique(labels, return_inverse=True)
        total, sums = sum_nearest(place[:, None], w[:, None], points, len(self.owners))
        self.centers = sums / total[:, None]
        two = self.owners[find_nearest_clusters(points, self.centers, 2)[0]]
        self.family = neighbor_family(count_nearest(two, w, n_clusters))
        order = np.argsort(labels, kind="stable")
        self.members = np.split(order, np.cumsum(np.bincount(place))[:-1])
        near = find_nearest_clusters(self.centers, self.centers, _NEAR_CLUSTERS)[0]
        is_near = self.family.pair_index[np.ix_(self.owners, self.owners)] >= 0
        np.put_along_axis(is_near, near, values=True, axis=1)
        self.near = [np.flatnonzero(row) for row in is_near]

    def references(self, k: int) -> np.ndarray:
        """Return the references near the cluster ``owners[k]``."""
        return np.sort(np.concatenate([self.members[m] for m in self.near[k]]))

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield the references of each cluster, those near it, and the distances."""
        for k, rows in enumerate(self.members):
            columns = self.references(k)
            D = cdist(self.points[rows], self.points[columns])
            yield rows, columns, D

    def compare(self, A: np.ndarray, affinity: Affinity) -> tuple[np.ndarray, ...]:
        """Return the largest plausibilities of clusters for points A, and these clusters.

        The other results are those of `Affinity.by_points`.
        """
        n = len(A)
        owner = find_nearest_clusters(A, self.centers, 1)[0][:, 0]
        contour = np.zeros((n, N_NEAREST), A.dtype)
        clusters = np.zeros((n, N_NEAREST), np.int64)
        near, distance = np.empty((2, n), A.dtype)
        nearest = np.empty(n, np.int64)
        order = np.argsort(owner, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(owner[order])) + 1):
            k = owner[rows[0]]
            some = self.owners[self.near[k]]
            which = self.references(k)
            points = self.points[which].astype(A.dtype, copy=False)
            nearby = affinity.select(which, some)
            found = nearby.by_points(A[rows], points)
            affinities, near[rows], closest, distance[rows] = found
            nearest[rows] = which[closest]
            best, plausible = _find_largest(nearby.contrast.plausibilities(affinities))
            contour[rows, : len(best.T)] = plausible
            clusters[rows, : len(best.T)] = some[best]
        return contour, clusters, near, nearest, distance


def _find_largest(contour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of the largest plausibilities, in decreasing order, and their values."""
    best = find_smallest(-contour, min(N_NEAREST, contour.shape[1]))
    return best, np.take_along_axis(contour, best, axis=1)


def _compress_doubt(
    contour: np.ndarray,
    clusters: np.ndarray,
    family: FocalSets,
    outlying: np.ndarray,
) -> sparse.csr_array:
    """Return the masses of `masses_from_plausibilities` on the most plausible clusters."""
    best, plausible = _find_largest(contour)
    return nearest_doubt(clusters[best], plausible, family, outlying, contour.dtype)


# ---- comparison with references ------------------------------------------------------------------

# With more features, matrix products are faster than differences.
_MAX_FEATURES_FOR_DIFFERENCES = 32


def _needs_products(values: Any, references: References) -> bool:
    """Return False for Euclidean distances with few features, which are sums of differences."""
    return (
        not references.are_points(values)
        or values.shape[1] > _MAX_FEATURES_FOR_DIFFERENCES
    )


def _blas_threads(values: Any, references: References) -> Any:
    """Return a context with one BLAS thread if other threads already compute products."""
    if _needs_products(values, references):
        return one_blas_thread()
    return nullcontext()


def _euclidean_conflicts(
    rows: np.ndarray, references: References, gamma: float
) -> Terms:
    """Return a function that computes the target conflicts between a block and the references."""
    source = cast(AttributeSource, references.source)
    center = row_mean(source.objects, dtype=None)  # Centering avoids cancellation.
    B = source.objects - center
    columns = np.ascontiguousarray(2 * B.T)
    square = np.einsum("pd,pd->p", B, B)

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        A = rows[start:stop] - center
        S = A @ columns
        S -= square
        own = np.einsum("bd,bd->b", A, A)
        S -= own[:, None]
        np.minimum(S, 0, out=S)  # minus the squared distances
        nearest = S.argmax(axis=1)
        distance = source.compare_rows(A, B[nearest])
        S *= S.dtype.type(gamma)
        np.exp(S, out=S)  # This is twice as fast as expm1, and accurate enough.
        np.subtract(1, S, out=S)
        return S, nearest, distance

    return conflicts


def twins_at_zero(
    D: np.ndarray, d0: float, masses: np.ndarray, conflict: np.ndarray
) -> np.ndarray:
    """Return, for each row, the index of a reference at dissimilarity zero (up to rounding), or -1.

    If there are several, the index of the reference object whose masses fit the row best is
    returned, because objects at dissimilarity zero can be different if the dissimilarity is not a
    metric.
    """
    zero = D / d0 <= rounding(D.dtype)
    twins = np.where(zero.any(axis=1), zero.argmax(axis=1), -1)
    for i in np.flatnonzero(zero.sum(axis=1) > 1):
        candidates = np.flatnonzero(zero[i])
        gap = masses[candidates] @ conflict @ masses.T - conflicts_at(D[i], d0)
        twins[i] = candidates[np.square(gap).sum(axis=1).argmin()]
    return twins


def replace_masses(
    masses: np.ndarray,
    family: FocalSets,
    rows: np.ndarray,
    fitted: np.ndarray,
    other: FocalSets,
) -> None:
    """Replace the masses of rows in place by masses ``fitted`` on another family.

    Masses on sets that are not in the family are left out, and the rest is normalized.
    """
    columns = family.find(other.membership)
    kept = fitted[:, columns >= 0]
    total = kept.sum(axis=1)
    is_positive = total > 0
    changed = rows[is_positive]
    masses[changed] = 0
    places = np.ix_(changed, columns[columns >= 0])
    masses[places] = kept[is_positive] / total[is_positive, None]


# ---- assessment ----------------------------------------------------------------------------------

_MAX_SHEPARD_PAIRS = 20_000


class ShepardData(NamedTuple):
    """Dissimilarities, target conflicts (delta) and conflicts of k pairs of objects."""

    dissimilarity: Annotated[np.ndarray, "k"]
    delta: Annotated[np.ndarray, "k"]
    conflict: Annotated[np.ndarray, "k"]


class ShepardMixin:
    """Mixin with the method ``shepard``, for clusterers that match conflicts to dissimilarities."""

    _shepard: ShepardData

    def shepard(
        self, n_pairs: int | None = 5000, random_state: Seed = 0
    ) -> ShepardData:
        """Return the data of a Shepard diagram.

        Parameters
        ----------
        n_pairs : int or None, default=5000
            Maximum number of random pairs of training objects. None returns all stored pairs, at
            most 20,000.
        random_state : int, RandomState, Generator or None, default=0
            Seed of the random selection of pairs.

        Returns
        -------
        ShepardData
            Named tuple of the arrays ``dissimilarity``, ``delta`` (target conflicts) and
            ``conflict``, with one entry for each pair.
        """
        check_is_fitted(self, "credal_partition_")
        check(n_pairs, "n_pairs", choice(None) | integer(1))
        data = self._shepard
        if n_pairs is None or n_pairs >= len(data.delta):
            return data
        kept = as_generator(random_state).choice(
            len(data.delta), n_pairs, replace=False
        )
        return ShepardData(*(values[kept] for values in data))


class Assessment(NamedTuple):
    """Comparison of the conflicts between pairs of objects with the target conflicts delta."""

    stress: float  # weighted sum of (conflict - delta)^2, divided by the weighted sum of delta^2
    loss: float  # weighted mean of (conflict - delta)^2
    shepard: ShepardData


def assess(
    masses: np.ndarray,
    family: FocalSets,
    pairs: WeightedPairs,
    d0: float,
    rng: np.random.Generator,
) -> Assessment:
    """Compare the conflicts between the masses of pairs of objects with their dissimilarities."""
    i, j, d, weight = pairs
    kappa = conflicts_of_pairs(masses, np.array(family.conflict), i, j)
    delta = conflicts_at(d, d0)
    squares = float(np.sum(weight * (kappa - delta) ** 2))
    # The sums are zero if all objects are equal.
    stress = squares / (float(np.sum(weight * delta**2)) or 1.0)
    loss = squares / (float(np.sum(weight)) or 1.0)
    shepard = ShepardData(np.asarray(d, float), np.asarray(delta, float), kappa)
    if len(i) > _MAX_SHEPARD_PAIRS:
        kept = rng.choice(len(i), _MAX_SHEPARD_PAIRS, replace=False)
        shepard = ShepardData(*(values[kept] for values in shepard))
    return Assessment(stress, loss, shepard)
