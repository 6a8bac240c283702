r"""The doubt about labels of the nodes of a graph.

An edge is evidence that its nodes have the same cluster, and the number of edges that a random
graph with the same degrees would have is evidence against it. With the weights of evidence of
`dempster.cluster.communities`, estimated from the given clusters, the support of cluster k for node
i is

.. math:: u_{ik} = w \sum_j a_{ij} m_{jk} - s_i \sum_{j \neq i} s_j m_{jk},

where :math:`m_{jk}` is the membership of node j. The label of a node is no evidence for itself.
Nodes without a label are no evidence for any cluster. Such a node has mass on the frame if a random
walk along the edges may fail to reach a labeled node (`dempster.labels.connection`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import eigsh

from dempster._errors import InvalidParameterError
from dempster.belief import FocalSets
from dempster.cluster.communities import (
    Communities,
    EdgeEvidence,
    Edges,
    NestedMasses,
)
from dempster.dissimilarity.graphs import GraphInput, GraphSource
from dempster.labels.connection import Connection, move_unconnected
from dempster.optimize.blocks import row_blocks

_N_COORDINATES = 50
_N_DIFFUSION_STEPS = 3
_N_LARGEST = 3  # communities that nested masses need
_ALONE = 1e-9  # support of the label of a node without other support


@dataclass(frozen=True)
class GraphModel:
    """Clusters of the nodes of a graph, and the weights of evidence of its edges."""

    nodes: GraphInput
    family: FocalSets  # single clusters, pairs and frame
    members: Annotated[np.ndarray, "n c"]  # zero for nodes without a label
    totals: Annotated[np.ndarray, "c"]  # sums of the strengths of the nodes
    evidence: EdgeEvidence
    # probability that a walk that arrives at a node reaches a labeled one, shape (n,)
    reached: Annotated[np.ndarray, "n"]

    @classmethod
    def fit(cls, source: GraphSource, members: np.ndarray) -> tuple[Self, np.ndarray]:
        """Return the model for the memberships of the nodes, (n, c), and their masses."""
        known = members.any(axis=1)
        labeled = np.flatnonzero(known)
        inside = source.adjacency[labeled][:, labeled]
        if inside.nnz == 0:
            must = "contain an edge between different nodes with a label"
            raise InvalidParameterError("X", must=must)
        unknown = np.full(len(labeled), -1)
        edges = Edges.from_source(replace(source, adjacency=inside), unknown)
        codes = members[labeled].argmax(axis=1)
        codes = np.unique(codes, return_inverse=True)[1]
        found = Communities.compare(edges, codes, edges.evidence)
        evidence = replace(found.evidence, resolution=found.likely_resolution)
        adjacency = source.adjacency / evidence.mean
        strengths = evidence.strength * _sums(adjacency)
        connection = Connection.from_graph(
            adjacency, np.ones(len(source)), known.astype(float)
        )
        no_pairs = FocalSets.with_pairs(members.shape[1], [], empty=False)
        model = cls(
            GraphInput(tuple(source.names)),
            no_pairs,
            members,
            members.T @ strengths,
            evidence,
            connection.reached,
        )
        nested = model._nested_masses(adjacency, members * strengths[:, None])
        pairs = nested.pairs(members.shape[1]).tolist()
        family = FocalSets.with_pairs(members.shape[1], pairs, empty=False)
        masses = nested.masses(family)
        masses = move_unconnected(masses, len(family) - 1, connection.connected)
        return replace(model, family=family), masses

    def masses(self, X: Any) -> np.ndarray:
        """Return the masses of new nodes, from their edges to the nodes of the graph."""
        edges = self.nodes.new(None, X) / self.evidence.mean
        masses = self._nested_masses(edges, None).masses(self.family)
        total = _sums(edges)
        connected = (edges @ self.reached) / np.where(total > 0, total, 1)
        return move_unconnected(masses, len(self.family) - 1, connected)

    def _nested_masses(
        self, edges: sparse.csr_array, own: np.ndarray | None
    ) -> NestedMasses:
        """Return the masses for the relative weights of edges to the nodes, shape (m, n).

        ``own`` contains the parts of the nodes themselves in ``totals``, shape (m, c), if they are
        nodes of the graph.
        """
        m = edges.shape[0]
        c = self.members.shape[1]
        k = min(_N_LARGEST, c)
        largest = np.zeros((m, _N_LARGEST))
        clusters = np.full((m, _N_LARGEST), -1)
        strengths = self.evidence.strength * _sums(edges)
        for start, stop in row_blocks(m, most=None):
            rows = slice(start, stop)
            support = self.evidence.scale * (edges[rows] @ self.members)
            against = np.broadcast_to(self.totals, support.shape)
            if own is not None:
                against = against - own[rows]
            support = support - strengths[rows, None] * against
            order = np.argsort(-support, axis=1, kind="stable")[:, :k]
            found = np.maximum(np.take_along_axis(support, order, axis=1), 0)
            if own is not None:
                # A node without support keeps its label, with nearly all mass on the frame.
                alone = np.flatnonzero((found[:, 0] == 0) & own[rows].any(axis=1))
                order[alone, 0] = own[rows][alone].argmax(axis=1)
                found[alone, 0] = _ALONE
            largest[rows, :k] = found
            clusters[rows, :k] = order
        return NestedMasses(largest, clusters)


def diffusion_coordinates(graph: GraphSource) -> np.ndarray:
    """Return coordinates whose Euclidean distances are diffusion distances (Coifman et al., 2005).

    They compare the nodes at which random walks of a few steps from two nodes end.
    """
    n = len(graph)
    degrees = _sums(graph.adjacency)
    roots = 1 / np.sqrt(np.where(degrees > 0, degrees, 1))
    scale = sparse.diags_array(roots)
    q = min(_N_COORDINATES + 1, n - 1)
    start = np.random.RandomState(0).uniform(size=n)
    values, vectors = eigsh(scale @ graph.adjacency @ scale, q, which="LA", v0=start)
    order = np.argsort(-values)[1:]
    shrunk = np.maximum(values[order], 0) ** _N_DIFFUSION_STEPS
    return np.ascontiguousarray(vectors[:, order] * roots[:, None] * shrunk)


def _sums(edges: sparse.csr_array) -> np.ndarray:
    return np.asarray(edges.sum(axis=1)).reshape(-1)
