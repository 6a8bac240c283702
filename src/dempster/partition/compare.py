"""Similarity, consistency and precision of credal partitions.

All indices compare pairs of objects, so they do not depend on the numbering of the clusters and
accept partitions with different numbers of clusters and different focal sets (Denoeux, Li and
Sriboonchitta, 2018, "Evaluating and comparing soft partitions: an approach based on Dempster-Shafer
theory", IEEE Trans. Fuzzy Systems 26). If objects have names, rows are matched by name, in any
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dempster._validation as validation
from dempster._arrays import decompress, row_products
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.belief.focal_sets import MAX_DENSE_CLUSTERS
from dempster.partition.credal_partition import (
    CredalPartition,
    as_credal_partition,
    as_credal_partitions,
    match_objects,
)
from dempster.partition.relational import pair_forms, sample_pairs

# Maximum number of objects for which the credal Rand index uses all pairs.
_EXACT_UP_TO = 20_000
# the same for partitions of many clusters, with which each pair takes longer
_EXACT_UP_TO_WITH_MANY_CLUSTERS = 2_000
_DEFAULT_SAMPLE = 2_000_000  # Number of sampled pairs above this limit.


class IndexEstimate(float):
    """Float with the attributes ``standard_error`` (0 if all pairs were used) and ``n_pairs``."""

    standard_error: float
    n_pairs: int

    def __new__(
        cls, value: float, standard_error: float = 0.0, n_pairs: int = 0
    ) -> IndexEstimate:
        self = super().__new__(cls, value)
        self.standard_error = float(standard_error)
        self.n_pairs = int(n_pairs)
        return self

    def __reduce__(self):
        return type(self), (float(self), self.standard_error, self.n_pairs)

    def __repr__(self) -> str:
        if not self.standard_error:
            return repr(float(self))
        error = f"standard error {self.standard_error:.1g}"
        return f"{float(self):.6g} ({error}, {self.n_pairs} sampled pairs)"


def credal_rand_index(
    a: Any,
    b: Any,
    *,
    distance: str = "jousselme",
    n_pairs: int | str | None = "auto",
    random_state: Any = None,
) -> IndexEstimate:
    """Compute one minus the mean distance between the pairwise masses of two partitions.

    The index is equal to the Rand index if both partitions are hard, and to 1 if the partitions are
    identical. One minus the index is a metric.

    Parameters
    ----------
    a, b : CredalPartition or hard labels
        Partitions of the same objects.
    distance : {"jousselme", "belief"}
        Distance between the mass functions that ``a`` and ``b`` give to a pair of objects.
    n_pairs : int, "auto" or None
        Number of sampled pairs. None uses all pairs. "auto" uses all pairs of hard partitions, of
        up to 20,000 objects, or of up to 2,000 objects if there are more than 50 clusters, and
        2,000,000 sampled pairs of more objects.
    random_state : int, RandomState, Generator or None
        Seed for the sampling of pairs.

    Returns
    -------
    IndexEstimate
        Index, a float with the attributes ``standard_error`` and ``n_pairs``.

    Examples
    --------
    >>> from dempster import CredalPartition
    >>> from dempster.partition import credal_rand_index
    >>> a = CredalPartition.from_hard([0, 0, 1, 1])
    >>> b = CredalPartition.from_hard([0, 0, 0, 1])
    >>> credal_rand_index(a, b)
    0.5
    """
    validation.check_choice(distance, "distance", _DISTANCES)
    validation.check(random_state, "random_state", validation.seed)
    a, b = _match_objects(a, b)
    n = len(a)
    measure = _DISTANCES[distance]
    number = validation.integer(2) | validation.choice("auto", None)
    validation.check(n_pairs, "n_pairs", number)
    is_number_given = n_pairs not in ("auto", None)
    if not is_number_given and _are_hard(a, b):
        from sklearn.metrics import rand_score  # slow to import

        return IndexEstimate(rand_score(a.labels, b.labels), 0.0, n * (n - 1) // 2)
    if isinstance(n_pairs, str):
        n_pairs = _DEFAULT_SAMPLE
        limit = _EXACT_UP_TO
        if max(a.n_clusters, b.n_clusters) > MAX_DENSE_CLUSTERS:
            limit = _EXACT_UP_TO_WITH_MANY_CLUSTERS
        if n <= limit:
            n_pairs = None
    if n_pairs is not None:
        pairs = sample_pairs(n, int(n_pairs), random_state)
        values = measure(
            a.relational().pair_masses(pairs) - b.relational().pair_masses(pairs)
        )
        error = values.std() / np.sqrt(n_pairs)
        return IndexEstimate(1 - values.mean(), error, n_pairs)
    total = 0.0
    blocks = zip(a.relational().blocks(), b.relational().blocks(), strict=True)
    for (rows, left), (_, right) in blocks:
        values = measure(left - right)
        own_column = rows - rows[0]
        upper = np.arange(values.shape[1]) > own_column[:, None]
        total += float(values[upper].sum(dtype=float))
    count = n * (n - 1) // 2
    return IndexEstimate(1 - total / count, 0.0, count)


def _are_hard(*partitions: CredalPartition) -> bool:
    """Return whether each object of the partitions certainly belongs to one cluster."""
    return all(bool(partition.is_certain.all()) for partition in partitions)


def jousselme_distances(d: np.ndarray) -> np.ndarray:
    """Compute Jousselme distances D from the differences d of pairwise masses, shape (..., 4).

    With the indices e (empty), s (same) and n (different), 2 D^2 = 2 d_e^2 + d_s^2 + d_n^2 + d_e
    (d_s + d_n).
    """
    empty = d[..., 0]
    same = d[..., 1]
    different = d[..., 2]
    squared = 2 * empty**2 + same**2 + different**2 + empty * (same + different)
    return np.sqrt(np.maximum(squared / 2, 0))


_DISTANCES = {
    "jousselme": jousselme_distances,
    "belief": lambda d: np.abs(d[..., :3]).sum(axis=-1) / 2,
}


def consistency_index(a: Any, b: Any) -> float:
    """Compute one minus the mean conflict between the pairwise masses of two partitions.

    The index is equal to the Rand index for hard partitions. A vacuous partition is consistent with
    every partition, so use the index together with `pairwise_nonspecificity`. All pairs are used,
    in time linear in the number of objects.

    Parameters
    ----------
    a, b : CredalPartition, fitted clusterer or hard labels
        Partitions of the same objects.

    Returns
    -------
    float

    Examples
    --------
    >>> from dempster.partition import consistency_index
    >>> consistency_index([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    a, b = _match_objects(a, b)
    empty_a, same_a, different_a, _ = pair_forms(a.focal_sets)
    empty_b, same_b, different_b, _ = pair_forms(b.focal_sets)
    ones_a = np.ones_like(empty_a)
    ones_b = np.ones_like(empty_b)
    # The conflict of two mass functions on {same, different} is the sum of these signed products.
    terms = [
        (1.0, empty_a, ones_b),
        (1.0, ones_a, empty_b),
        (-1.0, empty_a, empty_b),
        (1.0, same_a, different_b),
        (1.0, different_a, same_b),
    ]
    # Let m_i and n_i be the masses of object i in the two partitions, and Z the sum of the matrices
    # m_i n_i'. The sum of (m_i' A m_j)(n_i' B n_j) over all i and j is <Z, A Z B>. The sum over
    # pairs is half of it without i = j.
    Z = decompress(a.stored_masses.T @ b.stored_masses).astype(float)
    conflict = 0.0
    for sign, left, right in terms:
        own_a = row_products(a.stored_masses, left, a.stored_masses)
        own_b = row_products(b.stored_masses, right, b.stored_masses)
        conflict += sign * (np.sum(Z * (left @ Z @ right)) - own_a @ own_b) / 2
    n = len(a)
    return float(1 - conflict / (n * (n - 1) / 2))


def pairwise_nonspecificity(partition: Any) -> float:
    """Compute the mean mass of ignorance over pairs of objects.

    It is 0 for a hard and 1 for a vacuous partition.

    Parameters
    ----------
    partition : CredalPartition, fitted clusterer or hard labels
        Partition of at least two objects.

    Returns
    -------
    float

    Examples
    --------
    >>> from dempster.partition import pairwise_nonspecificity
    >>> pairwise_nonspecificity([0, 0, 1, 1])
    0.0
    """
    partition = as_credal_partition(partition)
    _check_two_objects(partition)
    relational = partition.relational()
    totals = relational.totals()
    return float(np.clip((totals[0] + totals[3]) / len(relational), 0, 1))


def dominates(a: Any, b: Any, reference: Any) -> bool:
    """Return whether ``a`` is at least as precise and as consistent with a reference as ``b``.

    Parameters
    ----------
    a, b, reference : CredalPartition, fitted clusterer or hard labels
        Partitions of the same objects.

    Returns
    -------
    bool

    Examples
    --------
    >>> from dempster.partition import dominates
    >>> dominates([0, 0, 1, 1], [0, 0, 0, 1], reference=[0, 0, 1, 1])
    True
    """
    reference = as_credal_partition(reference, "reference")
    first = _scores(as_credal_partition(a, "a"), reference)
    second = _scores(as_credal_partition(b, "b"), reference)
    return bool((first >= second).all())


def non_dominated(partitions: Sequence[Any], reference: Any) -> list[int]:
    """Return the indices of the partitions that no other one strictly dominates (see `dominates`).

    Parameters
    ----------
    partitions : sequence of CredalPartition, fitted clusterers or hard labels
        Partitions of the same objects.
    reference : CredalPartition, fitted clusterer or hard labels
        Reference partition of the same objects.

    Returns
    -------
    list of int

    Examples
    --------
    >>> from dempster.partition import non_dominated
    >>> non_dominated([[0, 0, 0, 1], [0, 0, 1, 1]], reference=[0, 0, 1, 1])
    [1]
    """
    candidates = as_credal_partitions(partitions)
    reference = as_credal_partition(reference, "reference")
    scores = np.array([_scores(p, reference) for p in candidates]).reshape(-1, 2)
    no_worse = np.all(scores >= scores[:, None], axis=2)
    better = np.any(scores > scores[:, None], axis=2)
    return np.flatnonzero(~np.any(no_worse & better, axis=1)).tolist()


def _scores(partition: CredalPartition, reference: CredalPartition) -> np.ndarray:
    """Return the consistency with the reference and the precision of a partition."""
    consistency = consistency_index(partition, reference)
    return np.array([consistency, -pairwise_nonspecificity(partition)])


def _match_objects(a: Any, b: Any) -> tuple[CredalPartition, CredalPartition]:
    """Validate two partitions, and sort the rows of ``b`` like those of ``a``."""
    a = as_credal_partition(a, "a")
    b = as_credal_partition(b, "b")
    if len(a) != len(b):
        raise InvalidInputError(
            f"a and b must have the same number of objects, got {len(a)} and {len(b)}"
        )
    _check_two_objects(a)
    return a, match_objects(b, a)


def _check_two_objects(partition: CredalPartition) -> None:
    if len(partition) < 2:
        raise InvalidInputError(
            f"the partition must have at least two objects, got {len(partition)}"
        )


# ---- map of partitions ---------------------------------------------------------------------------


@dataclass(frozen=True)
class PartitionMap:
    """Embedding of partitions in the plane.

    Attributes
    ----------
    coordinates : (N, 2) array
        Position of each partition.
    dissimilarity : (N, N) array
        One minus the credal Rand index of each pair of partitions.
    stress : float
        Normalized stress (Kruskal's stress-1), 0 for an exact embedding.
    names : list of str
        Names of the partitions.
    """

    coordinates: np.ndarray
    dissimilarity: np.ndarray
    stress: float
    names: list[str]


def embed_partitions(
    partitions: Sequence[Any], names: Sequence[Any] | None = None
) -> PartitionMap:
    """Embed partitions in the plane by multidimensional scaling of their credal Rand indices.

    Parameters
    ----------
    partitions : sequence of CredalPartition or hard labels
        Partitions of the same objects.
    names : sequence of str, optional
        Names of the partitions; 0, 1, ... by default.

    Returns
    -------
    PartitionMap
        Coordinates, names, dissimilarities and stress.

    Examples
    --------
    >>> from dempster.partition import embed_partitions
    >>> m = embed_partitions([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], names=["a", "b", "c"])
    >>> m.dissimilarity.round(2)
    array([[0.  , 0.  , 0.67],
           [0.  , 0.  , 0.67],
           [0.67, 0.67, 0.  ]])
    """
    partitions = as_credal_partitions(partitions)
    n = len(partitions)
    if n < 2:
        must = f"contain at least two partitions, got {n}"
        raise InvalidParameterError("partitions", must=must)
    if names is None:
        names = range(n)
    labels = validation.as_texts(names, "names", "names")
    if len(labels) != n:
        must = f"contain {n} names, got {len(labels)}"
        raise InvalidParameterError("names", must=must)
    d = np.zeros((n, n))
    for i, a in enumerate(partitions):
        for j, b in enumerate(partitions[:i]):
            index = credal_rand_index(a, b, random_state=0)
            d[i, j] = d[j, i] = max(0.0, 1 - index)
    from sklearn.decomposition import KernelPCA
    from sklearn.manifold import smacof

    # Classical scaling is kernel PCA of the squared dissimilarities.
    scaling = KernelPCA(2, kernel="precomputed", eigen_solver="dense")
    xy = scaling.fit_transform(-(d**2) / 2)
    if n > 2 and d.any():
        # The classical solution as initial value makes the result deterministic.
        xy, _ = smacof(
            d, n_components=2, init=xy, n_init=1, metric=True, normalized_stress=False
        )
    distances = np.linalg.norm(xy[:, None] - xy, axis=2)
    total = np.sum(d**2)
    stress = 0.0
    if total > 0:
        error = np.sum((distances - d) ** 2)
        stress = float(np.sqrt(error / total))
    return PartitionMap(xy, d, stress, labels)


# ---- pairs of mutually nearest clusters ----------------------------------------------------------


def cluster_similarity(
    partition: CredalPartition, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the similarity of each pair of clusters, shape (c, c).

    The similarity of two clusters is the sum over all objects of the product of their normalized
    plausibilities. Outliers (mass on the empty set above 1 - 1e-6) are ignored.
    """
    empty = partition.empty
    inside = empty <= 1 - 1e-6
    nonempty = 1 - empty[inside].astype(float)
    plausible = partition.contour[inside].astype(float) / nonempty[:, None]
    if weights is None:
        return plausible.T @ plausible
    return plausible.T @ (plausible * weights[inside, None])


def mutual_neighbors(similarity: Any, n_neighbors: int = 1) -> list[tuple[int, int]]:
    """Return the pairs of clusters that are both among the ``n_neighbors`` most similar ones."""
    validation.check(n_neighbors, "n_neighbors", validation.integer(1))
    similarity = np.array(similarity, float)
    c = len(similarity)
    np.fill_diagonal(similarity, -np.inf)  # A cluster is not a neighbor of itself.
    near = np.zeros((c, c), bool)
    k = min(n_neighbors, c - 1)
    order = np.argsort(-similarity, kind="stable")[:, :k]
    np.put_along_axis(near, order, True, axis=1)
    is_mutual = np.triu(near & near.T, 1)
    return [(int(one), int(other)) for one, other in np.argwhere(is_mutual)]


def nearest_pairs(
    partition: CredalPartition, n_neighbors: int = 1, weights: np.ndarray | None = None
) -> list[tuple[int, int]]:
    """Return the pairs of mutually nearest clusters of a partition.

    In the two-step strategy, a first fit uses single clusters, and the second fit adds these pairs
    to the focal sets (Denoeux, 2021, NN-EVCLUS, section 2.3).

    Parameters
    ----------
    partition : CredalPartition
        Partition whose focal sets are usually the single clusters.
    n_neighbors : int, default=1
        A pair is selected if each of its clusters is among the ``n_neighbors`` nearest clusters of
        the other one.
    weights : array of shape (n,), optional
        Weights of the objects.

    Returns
    -------
    list of pairs of int
        Pairs of cluster indices.

    Examples
    --------
    >>> from dempster import CredalPartition
    >>> from dempster.partition import nearest_pairs
    >>> cp = CredalPartition.from_fuzzy([[0.5, 0.5, 0], [0.6, 0.4, 0], [0, 0.2, 0.8]])
    >>> nearest_pairs(cp)
    [(0, 1)]
    """
    credal = as_credal_partition(partition)
    weights = validation.reorder_like(weights, credal.index)
    weights = validation.validate_weights(weights, len(credal), "weights")
    return mutual_neighbors(cluster_similarity(credal, weights), n_neighbors)
