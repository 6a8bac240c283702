r"""Evidence of the nearest neighbors.

The rows are the nodes of a graph of nearest neighbors. A random walk from a row moves to a neighbor
j of row i with a probability proportional to

.. math:: w_{ij} = \exp(-d_{ij}^2 / (s_i s_j)),

where :math:`s_i` is the distance from row i to one of its neighbors. At every row it stops with
the probability r. The share of a cluster is the probability that the walk from the row stops in the
cluster. The share divided by the mean share of the cluster is a ratio of likelihoods.

A new row takes the mean of the shares of its neighbors, with these weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from dempster._arrays import row_slices
from dempster.dissimilarity.neighbors import (
    BlockFinder,
    Finder,
    exact_index,
    make_finder,
    minkowski_power,
    nearest_columns,
)
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    References,
)
from dempster.posterior.evidence import ClusterEvidence

N_NEIGHBORS = 10
_SCALE_NEIGHBOR = 6  # index of the neighbor whose distance is the scale of a row
_RESTART = 0.03  # probability that the walk stops
_FLOOR = 2e-3  # added to the shares, so that none is zero
_N_STEPS = 60
_TINY = np.finfo(float).tiny
_CELLS = 4_000_000


@dataclass(frozen=True)
class NeighborShares:
    """Shares of the clusters among the neighbors of r reference rows."""

    references: References
    scales: Annotated[np.ndarray, "r"]
    counts: Annotated[np.ndarray, "r"]  # weights of the reference rows
    shares: Annotated[np.ndarray, "r c"]
    mean: Annotated[np.ndarray, "c"]  # mean shares

    @classmethod
    def fit(
        cls,
        references: References,
        source: DissimilaritySource,
        members: np.ndarray,
        weights: np.ndarray,
    ) -> NeighborShares:
        """Compute the shares of the rows of a source by a random walk on their graph."""
        n = len(source)
        k = min(N_NEIGHBORS, n - 1)
        c = members.shape[1]
        if k < 1:
            return cls(references, np.ones(n), weights, members, np.full(c, 1 / c))
        index, distance = _make_finder(source).others(np.arange(n), k)
        scales = distance[:, min(_SCALE_NEIGHBOR, k - 1)] + _TINY
        near = _similarities(distance, scales, scales[index])
        ends = np.arange(0, n * k + 1, k)
        graph = sparse.csr_array((near.ravel(), index.ravel(), ends), shape=(n, n))
        graph = graph.maximum(graph.T).multiply(weights)
        graph = graph.multiply(1 / graph.sum(axis=1)[:, None]).tocsr()
        shares = members
        for _ in range(_N_STEPS):
            shares = (1 - _RESTART) * (graph @ shares) + _RESTART * members
        shares = _normalize(shares)
        return cls(
            references, scales, weights, shares, weights @ shares / weights.sum()
        )

    def log_evidence(self, shares: np.ndarray) -> np.ndarray:
        """Return the logarithms of the ratios of shares to their means."""
        floor = _FLOOR / shares.shape[1]
        return np.log((shares + floor) / (self.mean + floor))

    def training_shares(self, rows: Any) -> np.ndarray:
        """Return the shares for the reference rows, without evidence from themselves."""
        if self.references.source is None:
            rows = rows[:, : len(self.references)]
        return self.shares_of(rows, np.arange(len(self.references)))

    def shares_of(self, values: Any, own: np.ndarray) -> np.ndarray:
        """Return the shares for m rows, shape (m, c).

        ``own`` contains the reference row that equals each row, or -1; it is not a neighbor.
        """
        k = min(N_NEIGHBORS, len(self.scales) - 1)
        if k < 1:
            return np.repeat(self.mean[None], len(values), axis=0)
        parts = []
        for start, index, distance in self._nearest(values, k + 1):
            is_self = index == own[start : start + len(index), None]
            is_self[:, -1] |= ~is_self.any(axis=1)
            kept = np.arange(k + 1) != is_self.argmax(axis=1)[:, None]
            index = index[kept].reshape(-1, k)
            distance = distance[kept].reshape(-1, k)
            scales = distance[:, min(_SCALE_NEIGHBOR, k - 1)] + _TINY
            near = _similarities(distance, scales, self.scales[index])
            near = near * self.counts[index]
            near /= near.sum(axis=1, keepdims=True)
            rows = np.arange(0, index.size + 1, k)
            graph = sparse.csr_array(
                (near.ravel(), index.ravel(), rows),
                shape=(len(index), len(self.scales)),
            )
            parts.append(graph @ self.shares)
        return np.concatenate(parts)

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """Return the logarithms of the shares of the clusters among the neighbors of one row."""
        references = self.references
        k = min(N_NEIGHBORS, len(references) - 1)
        d = references.dissimilarities(values)[0].astype(float)
        d[references.positions == itself] = np.inf
        which = np.argsort(d, kind="stable")[:k]
        d = d[which]
        scale = d[min(_SCALE_NEIGHBOR, k - 1)] + _TINY
        energies = d**2 / (scale * self.scales[which])
        with np.errstate(divide="ignore"):
            logs = (
                np.log(self.shares[which] * self.counts[which, None])
                - energies[:, None]
            )
        quantity = "logarithm of the share of the cluster among the neighbors"
        compared = references.select(which)
        return ClusterEvidence.from_strengths(
            quantity, logs, energies, compared, values
        )

    @cached_property
    def _index(self) -> Any:
        assert self.references.source is not None
        return exact_index(self.references.source, 1)

    def _nearest(
        self, values: Any, k: int
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the first row of a block, and the indices of and distances to its references."""
        source = self.references.source
        if source is not None and _has_index(source):
            distance, found = self._index.kneighbors(values, n_neighbors=k)
            yield 0, found, distance
            return
        size = max(1, _CELLS // len(self.references))
        for block in row_slices(len(values), size):
            D = self.references.dissimilarities(values, block.start, block.stop)
            yield block.start, *nearest_columns(D, k)


def _has_index(source: DissimilaritySource) -> bool:
    return (
        isinstance(source, AttributeSource)
        and minkowski_power(source.metric) is not None
        and not source.lacks_cells
    )


def _make_finder(source: DissimilaritySource) -> Finder:
    if source.metric == "path":
        return BlockFinder(source, 1)
    return make_finder(source, "exact", n_jobs=1)


def _similarities(
    distance: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return the similarities of rows with the scales ``first`` and their neighbors."""
    return np.exp(-(distance**2) / (first[:, None] * second)) + _TINY


def _normalize(shares: np.ndarray) -> np.ndarray:
    total = shares.sum(axis=1, keepdims=True)
    return np.where(
        total > 0, shares / np.where(total > 0, total, 1), 1 / shares.shape[1]
    )
