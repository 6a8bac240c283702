"""Communities of a graph: the search of EK-NNclus with edges as evidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.special import entr, rel_entr

from dempster._arrays import divide, rows_of_entries
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike
from dempster._validation import as_labels, is_missing
from dempster.belief import FocalSets
from dempster.cluster._neighbor_graph import NeighborGraph, renumber
from dempster.data.blocks import Blocks
from dempster.data.in_process import open_blocks
from dempster.dissimilarity.graphs import GraphSource
from dempster.optimize.blocks import Apply

_RESOLUTION_STEP = 1.25
# evidence of an edge if there are more edges between communities than inside
_MIN_SCALE = 1e-6
_MAX_INCREASES = 10
_MAX_FAMILY_CELLS = 2**27  # The pairs are limited to a family of this size (128 MB).
_FULL_SUPPORT = 1e3  # support that leaves no mass on the frame
MAX_DENSE_MASSES = 2**25  # More masses are computed on access (256 MB).


class CommunityGraph(NeighborGraph):
    """Graph whose clusters are also merged, because there is evidence against large clusters."""

    def agreement(self, labels: np.ndarray) -> float:
        totals = np.bincount(labels, self.strengths)
        pairs = (totals @ totals - self.strengths @ self.strengths) / 2
        return super().agreement(labels) - float(pairs)

    def search(
        self, labels: np.ndarray, rng: np.random.Generator, max_iter: int
    ) -> tuple[np.ndarray, list[float], bool]:
        """Relabel the rows, then whole clusters as the rows of a smaller graph, in turn."""
        labels, history, converged = super().search(labels, rng, max_iter)
        while labels.max() + 1 < len(self):
            clusters = self._merge_rows(labels)
            merged, _, _ = clusters.search(np.arange(len(clusters)), rng, max_iter)
            if merged.max() + 1 == len(clusters):
                break
            labels, more, converged = super().search(merged[labels], rng, max_iter)
            history += more
        return self._without_isolated_clusters(labels), history, converged

    def _without_isolated_clusters(self, labels: np.ndarray) -> np.ndarray:
        """Return the labels with 0 for rows without edges, which are no clusters of their own."""
        is_isolated = np.zeros(len(self), bool)
        is_isolated[self.movable] = self.strengths[self.movable] == 0
        labels = np.where(is_isolated, -1, labels)
        labels[~is_isolated] = renumber(labels[~is_isolated])
        return np.maximum(labels, 0).astype(np.int32)

    def _relabel(
        self, labels: np.ndarray, *arguments: Any, **options: Any
    ) -> tuple[list[float], bool]:
        """Relabel the rows until no row moves although all are awake.

        A move changes the evidence against a cluster for all rows, not only for the neighbors.
        """
        next_order, max_iter = arguments
        gains: list[float] = []
        while True:
            left = max_iter - len(gains)
            more, converged = super()._relabel(labels, next_order, left, **options)
            gains += more
            if len(more) == 1 or not converged:
                return gains, converged

    def _merge_rows(self, labels: np.ndarray) -> CommunityGraph:
        """Return the graph of the clusters; clusters with a known label do not move."""
        merged = sum_by_cluster(self.indptr, self.indices, self.weights, labels)
        merged.setdiag(0)
        merged.eliminate_zeros()
        is_known = np.ones(len(self), bool)
        is_known[self.movable] = False
        clusters = np.arange(merged.shape[0])
        return CommunityGraph(
            merged.indptr,
            merged.indices,
            merged.data,
            np.bincount(labels, self.strengths),
            np.setdiff1d(clusters, labels[is_known]),
            True,
            clusters,
        )


def sum_by_cluster(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, labels: np.ndarray
) -> sparse.csr_array:
    """Return the sums of the weights of the edges between all pairs of clusters."""
    members = one_hot(labels).T.tocsr()
    shape = members.shape[::-1]
    edges = sparse.csr_array((weights, labels[indices], indptr), shape=shape)
    return members @ edges


def one_hot(labels: np.ndarray) -> sparse.csr_array:
    """Return a matrix with the entry 1 in row i and column labels[i]."""
    n = len(labels)
    return sparse.csr_array((np.ones(n), labels, np.arange(n + 1)))


def encode_known_labels(y: ArrayLike, names: Sequence[Hashable]) -> np.ndarray:
    """Return the position of the known label of each node among all known labels, or -1."""
    known = np.full(len(names), -1)
    if y is None:
        return known
    if isinstance(y, Mapping):
        unknown = y.keys() - set(names)
        if unknown:
            must = f"contain nodes of the graph, got {unknown.pop()!r}"
            raise InvalidParameterError("y", must=must)
        labels = [y.get(name) for name in names]
    else:
        labels = np.asarray(y, object).tolist()
        if len(labels) != len(names):
            must = f"contain {len(names)} labels, one for each node, got {len(labels)}"
            raise InvalidParameterError("y", must=must)
    given = {}
    for i, label in enumerate(labels):
        if not is_missing(label) and label != -1:
            given[i] = label
    if given:
        values = as_labels(list(given.values()), "y")
        known[list(given)] = np.unique(values, return_inverse=True)[1]
    return known


# ---- evidence ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EdgeEvidence:
    r"""Weights of evidence of the edges of a graph.

    Let m be the number of edges, and k_i the sum of the weights of the edges of node i, divided by
    the mean weight of an edge. An edge of relative weight a is evidence of weight ``scale`` * a for
    a common community. For each pair of nodes, there is evidence against it of weight ``scale`` *
    ``resolution`` * k_i k_j / (2 m), in proportion to the expected number of edges between them.
    """

    mean: float  # mean weight of an edge
    n_edges: int
    resolution: float = 1.0
    scale: float = 1.0

    @property
    def strength(self) -> float:
        """Strength of a node in `NeighborGraph` for each unit of its degree."""
        return float(np.sqrt(self.scale * self.resolution / (2 * self.n_edges)))


@dataclass(frozen=True)
class Edges:
    """Edges of a graph, with weights relative to their mean, and the nodes with known labels."""

    adjacency: sparse.csr_array
    evidence: EdgeEvidence
    known: np.ndarray  # label of each node, -1 if unknown

    @classmethod
    def from_source(cls, source: GraphSource, known: np.ndarray) -> Edges:
        mean = float(source.adjacency.data.mean())
        evidence = EdgeEvidence(mean, source.adjacency.nnz // 2)
        return cls(source.adjacency / mean, evidence, known)

    @cached_property
    def degrees(self) -> np.ndarray:
        return np.asarray(self.adjacency.sum(axis=1)).reshape(-1)

    def distinct_labels(self) -> np.ndarray:
        """Return labels in which each node without a known label is a cluster of its own."""
        known = self.known
        distinct = known.max() + 1 + np.arange(len(known))
        return np.where(known >= 0, known, distinct)

    def graph(self, evidence: EdgeEvidence) -> CommunityGraph:
        """Return the graph of the weights of evidence."""
        return CommunityGraph(
            self.adjacency.indptr,
            self.adjacency.indices,
            evidence.scale * self.adjacency.data,
            evidence.strength * self.degrees,
            np.flatnonzero(self.known < 0),
            True,
            np.arange(len(self.known)),
        )

    def select_evidence(
        self, resolution: float | None, rng: np.random.Generator, max_iter: int
    ) -> Communities:
        """Return communities, with the resolution that describes the graph best.

        The resolution first increases from 1 to its maximum likelihood, given the communities
        (Newman, 2016), and then decreases, as long as the description becomes shorter.
        ``resolution`` is the value to use; None selects it.
        """

        def search(resolution: float, labels: np.ndarray) -> Communities:
            evidence = replace(self.evidence, resolution=resolution)
            labels, _, _ = self.graph(evidence).search(labels, rng, max_iter)
            return Communities.compare(self, labels, evidence)

        distinct = self.distinct_labels()
        best = search(resolution or 1.0, distinct)
        if resolution is not None:
            return best
        for _ in range(_MAX_INCREASES):
            found = search(best.likely_resolution, distinct)
            if found.rank <= best.rank:
                break
            best = found
        found = best
        tried = best.evidence.resolution
        while found.n_clusters > 2 and found.merging_resolution > 0:
            tried = min(tried, found.merging_resolution) / _RESOLUTION_STEP
            starts = (found.labels, distinct)
            trials = [search(tried, labels) for labels in starts]
            found = max(trials, key=lambda trial: trial.rank)
            if found.rank < best.rank:
                break
            best = found
        return best


@dataclass(frozen=True)
class Communities:
    """Communities of a graph, and how much shorter they make its description."""

    labels: np.ndarray
    evidence: EdgeEvidence
    likely_resolution: float  # maximum-likelihood estimate (Newman, 2016)
    # resolution below which merging two communities decreases the objective
    merging_resolution: float
    # Logarithm of the likelihood ratio of the communities and a single community, less the entropy
    # of the labels, in nats. It is negative if the communities may be due to chance.
    saving: float

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def rank(self) -> tuple[bool, float]:
        """Criterion for the selection of communities; a single community is the last resort."""
        return self.n_clusters > 1, self.saving

    @classmethod
    def compare(
        cls, edges: Edges, labels: np.ndarray, evidence: EdgeEvidence
    ) -> Communities:
        """Compute the likelihood of the communities under a planted partition.

        The number of edges between nodes i and j has a Poisson distribution with mean omega k_i k_j
        / (2 m). There is one value of omega for all pairs of communities. Inside of communities,
        there is one value for the evidence, and one for each community for the saving.
        """
        matrix = edges.adjacency
        sums = sum_by_cluster(matrix.indptr, matrix.indices, matrix.data, labels)
        total = sums.sum()
        shares = sums.sum(axis=1) / total
        insides = sums.diagonal() / total
        inside = float(insides.sum())
        expected = float(shares @ shares)
        if len(shares) == 1 or expected == 1:
            return cls(labels, evidence, 1.0, 0.0, 0.0)
        ratio = inside / expected
        # Half an edge between communities avoids infinite evidence.
        other_ratio = max(1 - inside, 1 / total) / (1 - expected)
        weight = np.log(max(ratio, 1e-300) / other_ratio)
        scale = max(weight, _MIN_SCALE)
        sums.setdiag(0)
        pairs = sums.tocoo()
        merging = pairs.data / (total * shares[pairs.row] * shares[pairs.col])
        n_edges = total / 2
        has_edges = np.diff(matrix.indptr) > 0
        n_connected = has_edges.sum()
        sizes = np.bincount(labels[has_edges]) / n_connected
        likelihood = rel_entr(insides, shares**2).sum()
        likelihood += rel_entr(max(1 - inside, 0), 1 - expected)
        cost = n_connected * entr(sizes).sum()
        return cls(
            labels,
            replace(evidence, scale=float(scale)),
            likely_resolution=float(max(ratio - other_ratio, _MIN_SCALE) / scale),
            merging_resolution=float(merging.max(initial=0.0)),
            saving=float(n_edges * likelihood - cost),
        )


# ---- masses --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CommunityModel:
    """Fitted communities.

    The support u_k of community k for a node is the weight of the edges to its nodes, less the
    evidence against it. With the largest support u_1, the plausibility of community k is 2 u_k /
    (u_1 + u_k), and zero for a negative support. The masses are the consonant masses with these
    plausibilities, discounted by exp(-u_1). Sets that are not in the family are replaced by the
    frame.
    """

    family: FocalSets  # single communities, pairs and frame
    labels: Annotated[np.ndarray, "n:int"]  # communities of the nodes of `fit`
    totals: Annotated[np.ndarray, "c"]  # sums of the strengths of the nodes
    evidence: EdgeEvidence

    def masses(self, values: sparse.csr_array, apply: Apply) -> np.ndarray:
        """Return the masses of new nodes, given the weights of their edges to the nodes of fit."""
        return self.nested_masses(values / self.evidence.mean).masses(self.family)

    def nested_masses(
        self, edges: sparse.csr_array, own_labels: np.ndarray | None = None
    ) -> NestedMasses:
        """Return the masses on nested sets, given the relative weights of edges.

        ``own_labels`` are the communities of the nodes, if they are nodes of `fit`.
        """
        degrees = np.asarray(edges.sum(axis=1)).reshape(-1)
        n = len(degrees)
        support = sparse.csr_array(edges @ one_hot(self.labels))
        support.sort_indices()
        rows = rows_of_entries(support.indptr)
        communities = support.indices
        strengths = self.evidence.strength * degrees
        against = self.totals[communities]
        if own_labels is not None:  # There is no evidence of a node against itself.
            against -= strengths[rows] * (communities == own_labels[rows])
        values = self.evidence.scale * support.data - strengths[rows] * against
        order = np.lexsort((-values, rows))
        rank = np.arange(len(rows)) - support.indptr[rows]
        largest = np.zeros((n, 3))
        clusters = np.full((n, 3), -1)
        for j in range(3):
            which = order[rank == j]
            nodes = rows[which]
            largest[nodes, j] = np.maximum(values[which], 0)
            clusters[nodes, j] = communities[which]
        if own_labels is not None:
            # A node without positive support keeps its label, but has nearly all mass on the frame.
            is_alone = (largest[:, 0] == 0) & (degrees > 0)
            clusters[is_alone, 0] = own_labels[is_alone]
            largest[is_alone, 0] = 1e-9
        return NestedMasses(largest, clusters)


@dataclass(frozen=True)
class NestedMasses:
    """Masses of nodes on a community, a pair of communities and the frame."""

    support: np.ndarray  # three largest supports, in decreasing order
    clusters: np.ndarray  # their communities, -1 if there are fewer

    def with_known(self, labels: np.ndarray) -> NestedMasses:
        """Return the masses, with full support of the known labels (-1 is unknown)."""
        is_known = labels >= 0
        support = np.where(is_known[:, None], [_FULL_SUPPORT, 0.0, 0.0], self.support)
        clusters = self.clusters.copy()
        clusters[is_known, 0] = labels[is_known]
        return NestedMasses(support, clusters)

    @cached_property
    def values(self) -> np.ndarray:
        """Masses of the three sets, shape (n, 3)."""
        first = self.support[:, :1]
        sums = first + self.support
        plausible = divide(2 * self.support, sums, 0)
        plausible[:, 0] = 1
        nested = plausible.copy()
        nested[:, :2] -= plausible[:, 1:]
        certain = -np.expm1(-first)
        nested *= certain
        nested[:, 2] += 1 - certain[:, 0]
        return nested

    def pairs(self, n_clusters: int) -> np.ndarray:
        """Return the pairs of communities with the largest mass of a node.

        The pairs of most nodes are returned if there are too many.
        """
        if n_clusters < 3:
            return np.empty((0, 2), int)
        is_pair = self.values.argmax(axis=1) == 1
        found = np.sort(self.clusters[is_pair, :2])
        pairs, counts = np.unique(found, axis=0, return_counts=True)
        most = max(_MAX_FAMILY_CELLS // n_clusters - n_clusters, 0)
        most_frequent = np.argsort(-counts, kind="stable")[:most]
        return pairs[np.sort(most_frequent)]

    def lazy_masses(self, family: FocalSets, n_jobs: int | None) -> Blocks:
        """Return the masses on the sets of a family, which are computed on access."""
        rows = np.hstack([self.support, self.clusters])
        blocks = open_blocks([rows], n_jobs)
        return blocks.map(_expand_masses, family, len(family), blocks.dtype)

    def masses(self, family: FocalSets) -> np.ndarray:
        """Return the masses on the sets of a family."""
        on_first, on_pair, on_frame = self.values.T
        nodes = np.arange(len(on_first))
        masses = np.zeros((len(nodes), len(family)))
        frame = len(family) - 1
        if family.n_clusters == 1:
            masses[:, frame] = 1
            return masses
        first = self.clusters[:, 0]
        column = np.where(first < 0, frame, first)
        masses[:, frame] = on_frame
        masses[nodes, column] += on_first
        masses[nodes, self._find_pairs(family)] += on_pair
        return masses

    def _find_pairs(self, family: FocalSets) -> np.ndarray:
        """Return the set of the pair of each node in the family, or the frame."""
        c = family.n_clusters
        frame = len(family) - 1
        ends = np.nonzero(family.membership[c:frame])[1].reshape(-1, 2)
        keys = np.append(ends @ (c, 1), c * c)  # larger than the key of any pair
        pairs = np.sort(self.clusters[:, :2])
        wanted = pairs @ (c, 1)
        place = np.searchsorted(keys, wanted)
        return np.where(keys[place] == wanted, c + place, frame)


def _expand_masses(block: np.ndarray, family: FocalSets, apply: Apply) -> np.ndarray:
    return NestedMasses(block[:, :3], block[:, 3:].astype(int)).masses(family)
