"""The objects of labels: tables, dissimilarities, sparse features, graphs, and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_array

from dempster import _validation as rule
from dempster._arrays import is_graph
from dempster._errors import InvalidParameterError
from dempster._types import Index, MaybeUnset, Metric, Seed, TableLike
from dempster._validation import row_index, validating
from dempster.data.blocks import Blocks, comes_in_blocks
from dempster.data.in_process import open_blocks
from dempster.dissimilarity.graphs import GraphSource, read_graph
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource

_RULES = {"metric": METRIC_RULE, "random_state": rule.seed, "n_jobs": rule.n_jobs}
# The documentation of scikit-learn's TruncatedSVD recommends this number for documents.
_N_COMPONENTS = 100


class InputValidator(BaseEstimator):
    """Validate X, and new rows in the same form.

    A sparse matrix of features is replaced by its coordinates on the leading singular vectors.
    """

    def __init__(self, metric: Metric, random_state: Seed, n_jobs: int | None):
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs

    _input: Annotated[DissimilarityInput, ".unit n_features"]
    _components: MaybeUnset[Annotated[np.ndarray, "q p"]]

    def read(self, X: TableLike) -> DissimilaritySource:
        """Validate the parameters and X, and return the objects."""
        rule.check_parameters(self, _RULES)
        self._input = DissimilarityInput(self.metric, centered=True)
        if self._has_sparse_features(X):
            X = self._fit_components(_read_features(X))
        source = self._input.training(self, X)
        assert not isinstance(source, SparseSource)
        return source

    def read_new(self, X: TableLike, n_references: int) -> Any:
        """Validate new rows."""
        if "_components" in vars(self):
            features = _read_features(X)
            p = self._components.shape[1]
            if features.shape[1] != p:
                must = f"have {p} features, like the training objects, got {features.shape[1]}"
                raise InvalidParameterError("X", must=must)
            X = features @ self._components.T
        return self._input.new(self, X, or_width=n_references)

    def _has_sparse_features(self, X: TableLike) -> bool:
        if not sparse.issparse(X) or self.metric == "precomputed":
            return False
        if self.metric != "euclidean":
            expected = '"euclidean" if X is a sparse matrix of features'
            raise InvalidParameterError("metric", expected, self.metric)
        return True

    def _fit_components(self, features: sparse.csr_array) -> np.ndarray:
        """Compute the leading right singular vectors, and return the coordinates on them."""
        q = min(_N_COMPONENTS, *features.shape)
        *_, vectors = randomized_svd(features, q, random_state=self.random_state)
        self._components = vectors
        return features @ vectors.T


def _read_features(X: Any) -> sparse.csr_array:
    with validating(X, "X"):
        return sparse.csr_array(check_array(X, accept_sparse="csr", dtype=float))


@dataclass(frozen=True)
class LabeledRows:
    """Objects in memory, nodes of a graph, or blocks of which some objects are in memory."""

    validator: InputValidator
    index: Index
    n: int
    source: DissimilaritySource | None  # all objects, if they are in memory
    blocks: Blocks | None
    graph: GraphSource | None = None

    @classmethod
    def open(cls, validator: InputValidator, X: TableLike) -> Self:
        """Validate the parameters, and X if it is in memory."""
        if is_graph(X) or validator.metric == "graph":
            rule.check_parameters(validator, _RULES)
            if not is_graph(X) and not sparse.issparse(X):
                must = 'be a graph or a sparse matrix if metric="graph"'
                raise InvalidParameterError("X", must=f"{must}, got {type(X).__name__}")
            graph = read_graph(X)
            index = None if graph.is_matrix else graph.names
            return cls(validator, index, len(graph), None, None, graph)
        if not comes_in_blocks(X):
            source = validator.read(X)
            return cls(validator, row_index(X), len(source), source, None)
        rule.check_parameters(validator, _RULES)
        if validator.metric in ("precomputed", "gower"):
            must = f"be in memory, not in blocks, if metric={validator.metric!r}"
            raise InvalidParameterError("X", must=must)
        blocks = open_blocks(X, validator.n_jobs)
        return cls(validator, None, blocks.count_rows(), None, blocks)

    def order_labels(self, labels: Any) -> Any:
        """Return a mapping of nodes to clusters as a list; other labels do not change."""
        if self.graph is None or not isinstance(labels, Mapping):
            return labels
        unknown = labels.keys() - set(self.graph.names)
        if unknown:
            must = f"contain nodes of the graph, got {unknown.pop()!r}"
            raise InvalidParameterError("labels", must=must)
        return [labels.get(name) for name in self.graph.names]

    def draw(self, positions: np.ndarray) -> tuple[DissimilaritySource, np.ndarray]:
        """Return a source, and the positions of the drawn objects in it.

        The source contains all objects that are in memory, or only the drawn ones.
        """
        if self.blocks is None:
            assert self.source is not None
            return self.source, positions
        values = name_columns(self.blocks.take(positions), self.blocks.names)
        return self.validator.read(values), np.arange(len(positions))


def name_columns(values: np.ndarray, names: tuple[str, ...] | None) -> TableLike:
    """Return rows of blocks as a table if the blocks have column names, else unchanged."""
    if names is None:
        return values
    import pandas as pd  # slow to import

    return pd.DataFrame(values, columns=list(names))
