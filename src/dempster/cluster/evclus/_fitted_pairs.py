"""Objects and pairs of objects that EVCLUS fits.

`distinct_objects` finds equal objects, and `select_pairs` selects the objects and pairs to fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import sparse

from dempster._arrays import to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._random import as_random_state
from dempster.cluster._revision import Links
from dempster.cluster._search import Sample
from dempster.cluster._starts import without_isolated
from dempster.cluster.evclus._pairs import (
    MAX_ALL_PAIRS_ROWS,
    AllPairs,
    ConflictProblem,
    SomePairs,
    WeightedPairs,
)
from dempster.data.sampling import order_along_line, systematic_draw
from dempster.dissimilarity.partial import are_rows_equal, impute_missing
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    PathSource,
    SparseSource,
    TensorSource,
)
from dempster.dissimilarity.transform import (
    choose_landmarks,
    conflicts_at,
    intrinsic_dimension,
    pairs_of_sparse,
    random_pairs,
)
from dempster.optimize.blocks import row_blocks
from dempster.optimize.k_means import MAX_RESTARTED_CLUSTERS
from dempster.optimize.nearest import find_nearest_clusters, find_smallest

# maximum number of landmarks with constraints, and of reference objects of k-EVCLUS
MAX_REFERENCES = 5000
ASSESSMENT_PAIRS = 50_000
_ASSESSMENT_PAIRS_OF_SLOW_METRICS = 5000
# A thin cluster needs more landmarks.
_MIN_LANDMARKS = {
    "compact": 600,
    "connected": 1500,
}
_LANDMARKS_PER_CLUSTER = 30
# With so many landmarks, further clusters have fewer landmarks each.
_MAX_DENSE_LANDMARKS = 1500
_MIN_LANDMARKS_PER_CLUSTER = 15
# With many clusters, numbers of nearest and random landmarks with which a landmark is compared
_NEAREST_LANDMARKS = 40
_RANDOM_LANDMARKS = 40
_BLOCK_ROWS = 1024
_DIMENSION_SAMPLE = 600
_DIMENSION_OF_SPARSE = 5.0  # The dimension cannot be estimated from a sparse matrix.
ALL_ZERO = (
    "all dissimilarities are zero, so the objects cannot be separated into clusters"
)

# ---- distinct objects ----------------------------------------------------------------------------


@dataclass(frozen=True)
class DistinctObjects:
    """Distinct objects with positive weight among n objects.

    Each of them represents a group of equal objects.
    """

    # (n,), indices of all objects, in an order that does not depend on the order of the rows of X
    order: np.ndarray
    # indices of the objects with positive weight, sorted like ``order``
    rows: np.ndarray
    # (n,), weights of all objects; None if all weights are 1
    row_weights: np.ndarray | None
    # indices of the distinct objects (the first of each group), sorted like ``order``
    positions: np.ndarray
    # (n,), at ``positions`` total weights of the groups, at most 1; None if all are equal
    weights: np.ndarray | None
    # (n,), for each object the index of the first equal object (itself if its weight is zero)
    first: np.ndarray


def distinct_objects(
    sample: Sample[DissimilaritySource | SparseSource],
    *,
    merge: bool,
    device: str = "cpu",
) -> DistinctObjects:
    """Sort the objects and, if ``merge`` is True, find groups of objects with equal features.

    Objects of a matrix are never merged.
    """
    n = len(sample.values)
    weights = sample.weights
    own = np.ones(n)
    if weights is not None:
        # Scaling by a power of two is exact and keeps sums of large weights finite.
        own = np.ldexp(weights, -np.frexp(weights.max())[1])
    order, repeated = _sort_objects(sample.values, own, device)
    if not merge:
        repeated[:] = False
    if weights is None and not repeated.any():
        return DistinctObjects(order, order, None, order, None, np.arange(n))
    group = np.cumsum(~repeated)
    is_counted = own[order] > 0
    rows = order[is_counted]
    is_first = np.diff(group[is_counted], prepend=-1) > 0
    positions = rows[is_first]
    first = np.arange(n)
    first[rows] = positions[np.cumsum(is_first) - 1]
    total = np.bincount(first, own, n)
    are_equal = np.ptp(total[positions]) == 0
    return DistinctObjects(
        order,
        rows,
        None if weights is None else own,
        positions,
        None if are_equal else total / total.max(),
        first,
    )


def _sort_objects(
    objects: DissimilaritySource | SparseSource, weights: np.ndarray, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the objects, and which objects are equal to the previous one in it.

    Objects with features are sorted by their projections on a line, rows of a Gower table by their
    keys, and objects of a matrix by their sums of dissimilarities. Objects of a sparse matrix keep
    their order.
    """
    n = len(objects)
    repeated = np.zeros(n, bool)
    if isinstance(objects, SparseSource):
        return np.arange(n), repeated
    if isinstance(objects, MatrixSource):
        blocks = row_blocks(n, 1024, most=None)
        sums = [objects.matrix[a:b].astype(float) @ weights for a, b in blocks]
        return np.argsort(np.concatenate(sums), kind="stable"), repeated
    if not isinstance(objects, AttributeSource):
        keys = objects.keys(objects.objects)
        order = np.array(sorted(range(n), key=keys.__getitem__))
        repeated[1:] = [
            keys[i] == keys[j] for i, j in zip(order[1:], order[:-1], strict=True)
        ]
        return order, repeated
    rows = objects.objects
    if isinstance(objects, TensorSource) or device != "cpu":
        from dempster.data.device import order_on_device, to_tensor

        if not isinstance(objects, TensorSource):
            rows = to_tensor(rows, device)
        order, repeated = order_on_device(rows)
        return to_host(order), to_host(repeated)
    order = order_along_line(rows)
    for start, stop in row_blocks(n, 65536, most=None):
        block = np.take(rows, order[max(start - 1, 0) : stop], axis=0)
        if objects.lacks_cells:
            same = are_rows_equal(block[1:], block[:-1])
        else:
            same = (block[1:] == block[:-1]).all(axis=1)
        repeated[max(start, 1) : stop] = same
    return order, repeated


# ---- fitted pairs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class FittedPairs:
    """Objects and pairs of objects that are fitted.

    Dissimilarities between the m fitted objects are an (m, m) array for all pairs of them, or
    `WeightedPairs` for random pairs and for the pairs in a sparse matrix.
    """

    # dissimilarities that are fitted, which are path distances for ``shape="connected"``; a sparse
    # matrix has no other pairs than ``stored``
    source: DissimilaritySource
    distinct: DistinctObjects
    sampling: str  # "all", "random" or "landmarks"
    fitted: np.ndarray  # indices of the fitted objects
    counts: np.ndarray | None  # weights of the fitted objects; None if all are equal
    # positions, among the fitted objects, of those with which new objects are compared
    reference_places: np.ndarray
    dissimilarities: np.ndarray | WeightedPairs
    # dissimilarities after the imputation of missing values, which increase the dissimilarities, so
    # that the likelihood of clusters would be wrong
    imputed: np.ndarray | WeightedPairs
    stored: WeightedPairs | None = None  # pairs of objects in a sparse matrix

    @property
    def references(self) -> np.ndarray:
        """Indices of the objects with which new objects are compared."""
        return self.fitted[self.reference_places]

    @property
    def weighted_pairs(self) -> WeightedPairs:
        """Fitted pairs with their weights."""
        if isinstance(self.dissimilarities, WeightedPairs):
            return self.dissimilarities
        return WeightedPairs.from_matrix(self.dissimilarities).multiply(self.counts)

    def problem(self, d0: float) -> ConflictProblem:
        """Return the optimization problem for one value of ``d0``."""
        pairs = self.dissimilarities
        if not isinstance(pairs, WeightedPairs):
            return AllPairs(conflicts_at(pairs, d0), self.counts)
        ends = np.column_stack([pairs.i, pairs.j])
        delta = conflicts_at(pairs.dissimilarity, d0)
        return SomePairs(len(self.fitted), ends, pairs.weight, delta)

    def dimension(self, rng: np.random.Generator) -> float:
        """Return the number of features for Euclidean distances, or the intrinsic dimension."""
        if self.stored is not None:
            return _DIMENSION_OF_SPARSE
        if (
            isinstance(self.source, AttributeSource)
            and self.source.metric == "euclidean"
        ):
            return float(self.source.objects.shape[1])
        sample = self.fitted[choose_landmarks(len(self.fitted), _DIMENSION_SAMPLE, rng)]
        return intrinsic_dimension(self.source.block(sample, sample).astype(float))

    def assessment_pairs(
        self, rng: np.random.Generator, objects: np.ndarray | None = None
    ) -> WeightedPairs:
        """Return the pairs on which the stress of a fit is computed.

        They are all pairs, random pairs if there are many objects, or the pairs stored in a sparse
        matrix. If ``objects`` is given, only pairs of these objects are returned, and each of them
        has the total weight of all objects that are equal to it.
        """
        rows = self.distinct.rows
        weights = self.distinct.row_weights
        if objects is not None:
            rows = objects
            weights = self.distinct.weights
        if self.stored is not None:
            return self.stored.multiply(weights)
        n_pairs = ASSESSMENT_PAIRS
        if (
            isinstance(self.source, AttributeSource)
            and self.source.metric != "euclidean"
        ):
            n_pairs = _ASSESSMENT_PAIRS_OF_SLOW_METRICS
        return WeightedPairs.from_source(self.source, rows, n_pairs, rng).multiply(
            weights
        )


def select_pairs(
    objects: DissimilaritySource | SparseSource,
    distinct: DistinctObjects,
    links: Links,
    n_clusters: int,
    rng: np.random.Generator,
    *,
    sampling: str,
    n_partners: int,
    n_landmarks: int | str,
    shape: str,
    symmetrize: bool,
    nearest: bool,
) -> FittedPairs:
    """Select the objects and pairs to fit.

    If ``nearest`` is True, landmarks are compared with the nearest and with random landmarks
    instead of all landmarks. The random numbers select the landmarks, the reference objects and the
    partners, in this order.
    """
    n_rows = len(distinct.rows)
    min_rows = max(2, n_clusters)
    if n_rows < min_rows:
        must = (
            f"be positive for at least {min_rows} objects; it is positive for {n_rows}"
        )
        raise InvalidParameterError("sample_weight", must=must)
    fitted = distinct.positions
    if len(fitted) < min(2, n_clusters):
        raise InvalidInputError(ALL_ZERO)
    counts = None
    if distinct.weights is not None:
        counts = distinct.weights[fitted]
    if isinstance(objects, SparseSource):
        if sampling not in ("auto", "random"):
            expected = "'auto' or 'random' for a sparse matrix X"
            raise InvalidParameterError("sampling", expected, sampling)
        return _select_stored_pairs(objects, distinct, counts, symmetrize=symmetrize)
    if sampling == "auto" and len(fitted) <= MAX_ALL_PAIRS_ROWS:
        sampling = "all"
    elif sampling == "auto":
        sampling = "landmarks"
    if sampling == "landmarks":
        number = _resolve_landmarks(n_landmarks, n_clusters, shape)
        fitted, counts = _draw_landmarks(distinct, links, number, rng)
        fitted, counts = _drop_isolated(objects, links, n_clusters, fitted, counts)
    source = objects
    if shape == "connected" and len(fitted) > 1:
        source = PathSource(objects, fitted)
    places = np.arange(len(fitted))
    if sampling == "random":
        places = choose_landmarks(len(fitted), MAX_REFERENCES, rng)
    if isinstance(objects, MatrixSource):
        # The columns of a matrix for new objects are in the order of X.
        places = places[np.argsort(fitted[places])]
    pairs = None
    if sampling == "random":
        pairs = random_pairs(len(fitted), n_partners, rng)
    elif sampling == "landmarks" and nearest:
        pairs = _nearest_and_random_pairs(source, fitted, rng)
    dissimilarities, imputed = _compute_dissimilarities(source, fitted, counts, pairs)
    return FittedPairs(
        source, distinct, sampling, fitted, counts, places, dissimilarities, imputed
    )


def _resolve_landmarks(n_landmarks: int | str, n_clusters: int, shape: str) -> int:
    """Return the number of landmarks, which must not be smaller than that of the clusters."""
    if isinstance(n_landmarks, str):
        return max(
            _MIN_LANDMARKS[shape],
            min(_LANDMARKS_PER_CLUSTER * n_clusters, _MAX_DENSE_LANDMARKS),
            _MIN_LANDMARKS_PER_CLUSTER * n_clusters,
        )
    if n_landmarks < n_clusters:
        expected = f"at least n_clusters={n_clusters}"
        raise InvalidParameterError("n_landmarks", expected, n_landmarks)
    return n_landmarks


def _compute_dissimilarities(
    source: DissimilaritySource,
    fitted: np.ndarray,
    counts: np.ndarray | None,
    pairs: tuple[np.ndarray, np.ndarray] | None,
) -> tuple[np.ndarray | WeightedPairs, np.ndarray | WeightedPairs]:
    """Return the dissimilarities of all pairs, or of the given pairs, which have weights.

    The second result is the first with missing values imputed.
    """
    complete = None
    if isinstance(source, AttributeSource) and source.lacks_cells:
        complete = AttributeSource(
            impute_missing(source.objects[fitted]), source.metric
        )
    if pairs is not None:
        i, j = pairs[0].T
        d = source.pairs(fitted[i], fitted[j])
        some = WeightedPairs(i, j, d, pairs[1]).multiply(counts)
        if complete is None:
            return some, some
        return some, some._replace(dissimilarity=complete.pairs(i, j))
    D = source.block(fitted, fitted).astype(float)
    np.fill_diagonal(D, 0)
    D = (D + D.T) / 2  # The metric may be symmetric only up to rounding.
    if complete is None:
        return D, D
    return D, complete.block(slice(None), slice(None))


def _nearest_and_random_pairs(
    source: DissimilaritySource, fitted: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of nearest objects and random pairs, shape (p, 2), and their weights.

    A random pair represents many pairs, so that the weighted sum over these pairs is an estimate of
    the sum over all pairs. Few random pairs would be in the same cluster if there are many.
    """
    n = len(fitted)
    near = _nearest_objects(source, fitted)
    first = np.broadcast_to(np.arange(n)[:, None], near.shape)
    codes = np.minimum(first, near) * n + np.maximum(first, near)
    codes = np.unique(codes[first != near])
    pairs, times = random_pairs(n, _RANDOM_LANDMARKS, rng)
    is_other = ~np.isin(pairs @ [n, 1], codes)
    times = times[is_other]
    represented = n * (n - 1) / 2 - len(codes)
    weights = [np.ones(len(codes)), times * represented / max(times.sum(), 1)]
    near_pairs = np.column_stack([codes // n, codes % n])
    return np.concatenate([near_pairs, pairs[is_other]]), np.concatenate(weights)


def _nearest_objects(source: DissimilaritySource, fitted: np.ndarray) -> np.ndarray:
    """Return the nearest of the fitted objects, which may include the object itself."""
    k = min(_NEAREST_LANDMARKS + 1, len(fitted))
    if isinstance(source, AttributeSource) and source.is_euclidean:
        points = source.rows(fitted)
        return find_nearest_clusters(points, points, k)[0]
    blocks = row_blocks(len(fitted), _BLOCK_ROWS, None)
    near = [
        find_smallest(np.ascontiguousarray(source.block(fitted[a:b], fitted)), k)
        for a, b in blocks
    ]
    return np.concatenate(near)


def draw_objects(
    distinct: DistinctObjects, objects: np.ndarray, size: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    """Draw some of the objects by weight; return them and new weights (None if all are equal)."""
    if distinct.weights is None:
        return objects[choose_landmarks(len(objects), size, rng)], None
    weights = distinct.weights[objects]
    if size >= len(objects):
        return objects, weights / weights.mean()
    drawn = systematic_draw(weights, size, as_random_state(rng))
    which, times = np.unique(drawn, return_counts=True)
    return objects[which], times.astype(float)


def _draw_landmarks(
    distinct: DistinctObjects, links: Links, n_landmarks: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the landmarks, objects with constraints and random objects, and their weights."""
    candidates = distinct.positions
    linked = candidates[np.isin(candidates, links.objects)]
    if len(linked) > MAX_REFERENCES:
        linked = rng.choice(linked, MAX_REFERENCES, replace=False)
    free = candidates[~np.isin(candidates, linked)]
    size = max(n_landmarks - len(linked), n_landmarks // 2)
    others, times = draw_objects(distinct, free, size, rng)
    landmarks = candidates[np.isin(candidates, np.concatenate([linked, others]))]
    if distinct.weights is None:
        return landmarks, None
    if len(landmarks) == len(candidates):
        return landmarks, distinct.weights[landmarks]
    weights = np.ones(len(distinct.order))
    weights[others] = times
    return landmarks, weights[landmarks]


def _drop_isolated(
    objects: DissimilaritySource,
    links: Links,
    n_clusters: int,
    landmarks: np.ndarray,
    counts: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the landmarks that have constraints or are not isolated, and their weights.

    An isolated landmark would become one of many clusters. With few clusters, or without Euclidean
    distances, return all landmarks.
    """
    if n_clusters <= MAX_RESTARTED_CLUSTERS or not objects.is_euclidean:
        return landmarks, counts
    points = to_host(objects.rows(landmarks))
    kept = without_isolated(points, np.ones(len(points)), n_clusters) > 0
    kept |= np.isin(landmarks, links.objects)
    if counts is not None:
        counts = counts[kept]
    return landmarks[kept], counts


def _select_stored_pairs(
    objects: SparseSource,
    distinct: DistinctObjects,
    counts: np.ndarray | None,
    *,
    symmetrize: bool,
) -> FittedPairs:
    """Select the pairs in a sparse matrix, whose graph must be connected."""
    fitted = distinct.positions
    pairs, times, d = pairs_of_sparse(objects.stored, symmetrize=symmetrize)
    kept = np.isin(pairs, fitted).all(axis=1)
    i, j = pairs[kept].T
    stored = WeightedPairs(i, j, d[kept], times[kept])
    places = stored.renumber(fitted)
    n = len(fitted)
    graph = sparse.coo_matrix((np.ones(len(i)), (places.i, places.j)), shape=(n, n))
    n_parts, parts = sparse.csgraph.connected_components(graph, directed=False)
    if n_parts > 1:
        message = (
            f"the pairs in X form {n_parts} unconnected components (the smallest has "
            f"{int(np.bincount(parts).min())} objects), so clusters cannot be compared; "
            "add pairs that connect them"
        )
        raise InvalidParameterError("X", message=message)
    weighted = places.multiply(counts)
    return FittedPairs(
        cast(DissimilaritySource, objects),
        distinct,
        "random",
        fitted,
        counts,
        np.arange(n),
        weighted,
        weighted,
        stored,
    )
