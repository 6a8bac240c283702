"""Validation of networks: graphs of networkx and igraph, and sparse adjacency matrices."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from dempster._arrays import is_graph
from dempster._errors import InvalidParameterError
from dempster._validation import validating
from dempster.dissimilarity.sources import rounding


@dataclass(frozen=True, eq=False)
class GraphSource:
    """Weights of the edges between n nodes: a symmetric matrix with an empty diagonal."""

    adjacency: sparse.csr_array
    names: list[Hashable]  # names of the nodes; 0, ..., n-1 for a matrix
    is_matrix: bool
    metric = "graph"
    dtype = np.dtype(float)

    def __len__(self) -> int:
        return self.adjacency.shape[0]


def read_graph(X: Any, *, symmetrize: bool = False) -> GraphSource:
    """Validate a graph or a sparse adjacency matrix.

    The weights of parallel edges are added. Self-loops and edges of weight zero are dropped.
    """
    names = _node_names(X)
    adjacency = _read_edges(X)
    n, width = adjacency.shape
    if n != width:
        must = f"be a square matrix of edge weights if it is sparse, got shape {(n, width)}"
        raise InvalidParameterError("X", must=must)
    _check_weights(adjacency)
    adjacency.setdiag(0)
    adjacency.eliminate_zeros()
    if adjacency.nnz == 0:
        raise InvalidParameterError("X", must="contain an edge between different nodes")
    transposed = adjacency.T.tocsr()
    if abs(adjacency - transposed).max() > rounding(float) * adjacency.max():
        if not symmetrize:
            must = "be undirected; use the mean, (X + X.T) / 2 or X.to_undirected()"
            raise InvalidParameterError("X", must=must)
        adjacency = (adjacency + transposed) / 2
    adjacency.sort_indices()
    return GraphSource(adjacency, names, sparse.issparse(X))


@dataclass(eq=False)
class GraphInput:
    """Validation of the edges of new nodes to the nodes of `fit`."""

    names: tuple[Hashable, ...]  # names of the nodes of `fit`
    # means that are subtracted from the attributes of a table; a graph has none
    origin: None = None

    def row_names(self, X: Any) -> list[Hashable] | None:
        """Return the names of the new nodes of a graph; those of all nodes if none is new."""
        if not is_graph(X):
            return None
        nodes = _node_names(X)
        known = set(self.names)
        names = [name for name in nodes if name not in known] or nodes
        if names == list(range(len(names))):
            return None
        return names

    def new(self, estimator: Any, X: Any) -> sparse.csr_array:
        """Return the edges of new nodes to the nodes of `fit`.

        X is a graph, whose new nodes are those that were not in `fit`, or a matrix with one row for
        each new node.
        """
        if is_graph(X):
            edges = self._read_new_nodes(X)
        else:
            edges = _read_matrix(X)
        if edges.shape[1] != len(self.names):
            must = f"have a column for each of the {len(self.names)} nodes of fit"
            raise InvalidParameterError("X", must=f"{must}, got {edges.shape[1]}")
        _check_weights(edges)
        return edges

    def _read_new_nodes(self, X: Any) -> sparse.csr_array:
        nodes = _node_names(X)
        position = {name: j for j, name in enumerate(nodes)}
        known = set(self.names)
        new = [j for j, name in enumerate(nodes) if name not in known]
        if not new:
            must = "contain nodes that were not in fit; the masses of others are in"
            raise InvalidParameterError("X", must=f"{must} credal_partition_")
        adjacency = _read_edges(X)
        adjacency.resize(len(nodes), len(nodes) + 1)
        # The last column is empty, for nodes of fit that are not in X.
        return adjacency[new][
            :, [position.get(name, len(nodes)) for name in self.names]
        ]


def _node_names(X: Any) -> list[Hashable]:
    if sparse.issparse(X):
        return list(range(X.shape[0]))
    if not hasattr(X, "vs"):
        return list(X)
    if "name" not in X.vertex_attributes():
        return list(range(X.vcount()))
    names = X.vs["name"]
    if len(set(names)) < len(names):
        raise InvalidParameterError("X", must="have a different name for each node")
    return names


def _read_matrix(X: Any) -> sparse.csr_array:
    with validating(X, "X"):
        matrix = check_array(
            X, accept_sparse="csr", dtype=float, copy=True, ensure_all_finite=False
        )
    return sparse.csr_array(matrix)


def _read_edges(X: Any) -> sparse.csr_array:
    """Return the sums of the weights of the edges between all pairs of nodes."""
    if sparse.issparse(X):
        adjacency = _read_matrix(X)
        adjacency.sum_duplicates()
        return adjacency
    try:
        if not hasattr(X, "vs"):
            import networkx  # not a dependency

            if not X:
                return sparse.csr_array((0, 0))
            return sparse.csr_array(networkx.to_scipy_sparse_array(X, dtype=float))
        ends = np.array(X.get_edgelist(), np.int64).reshape(-1, 2)
        weights = X.es["weight"] if X.is_weighted() else np.ones(len(ends))
        values = np.array(weights, float)
    except (TypeError, ValueError) as error:
        must = f"have numbers as the attribute 'weight' of its edges: {error}"
        raise InvalidParameterError("X", must=must) from error
    n = X.vcount()
    adjacency = sparse.coo_array((values, tuple(ends.T)), shape=(n, n))
    if not X.is_directed():
        adjacency = adjacency + adjacency.T
    return sparse.csr_array(adjacency)


def _check_weights(edges: sparse.csr_array) -> None:
    if not np.isfinite(edges.data).all():
        raise InvalidParameterError(
            "X", must="have finite weights of edges, got NaN or infinity"
        )
    smallest = edges.data.min(initial=0.0)
    if smallest < 0:
        must = f"have nonnegative weights of edges, got {smallest:.6g}"
        raise InvalidParameterError("X", must=must)
