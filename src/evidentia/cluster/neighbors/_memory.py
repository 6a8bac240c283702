"""What EK-NNclus remembers for new objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from evidentia.cluster.neighbors._graph import Evidence, Graph, as_rows, nearest_stored
from evidentia.dissimilarity.neighbors import exact_index
from evidentia.dissimilarity.sources import AttributeSource, MatrixSource
from evidentia.optimize.blocks import row_blocks

__all__ = ["Remembered"]


@njit(cache=True, nogil=True)
def _find_equal(objects, known, index, found):
    """For each object the lowest position among its neighbours that has the same attributes, -1 if none has."""
    for r in range(index.shape[0]):
        found[r] = -1
        for k in range(index.shape[1]):
            j = index[r, k]
            same = True
            for d in range(objects.shape[1]):
                if objects[r, d] != known[j, d]:
                    same = False
                    break
            if same and (found[r] < 0 or j < found[r]):
                found[r] = j


@dataclass(frozen=True)
class Remembered:
    """The training objects with their clusters, and the masses that each has."""

    source: AttributeSource | None  # None for precomputed dissimilarities
    evidence: Evidence
    labels: np.ndarray
    masses: np.ndarray  # each object by its own neighbours
    twin: np.ndarray | None  # first object that cannot be told from each; None when all are different
    given_neighbors: Any  # the parameter: "auto" takes all entries of a sparse row

    @classmethod
    def of(cls, source: Any, evidence: Evidence, labels: np.ndarray, masses: np.ndarray, given: Any) -> Remembered:
        attributes = source if isinstance(source, AttributeSource) else None
        twin = _twins(source)
        return cls(attributes, evidence, labels, masses, None if _all_different(twin) else twin, given)

    def shared_masses(self) -> np.ndarray:
        """Masses of the training objects, those that cannot be told apart having the same."""
        return self.masses if self.twin is None else self.masses[self.twin]

    def masses_of(self, data: Any, n_neighbors: int, n_jobs: int | None, apply: Callable) -> np.ndarray:
        """Masses of new objects: attributes, or dissimilarities to the training objects."""
        if self.source is not None:
            return self._from_attributes(data, n_neighbors, n_jobs, apply)
        if sparse.issparse(data):
            wanted = None if isinstance(self.given_neighbors, str) else n_neighbors
            return self._combined(nearest_stored(data, wanted, drop_diagonal=False), _first_zeros(data), apply)
        out = np.empty((len(data), self.masses.shape[1]))
        for start, stop in row_blocks(len(data), most=None):
            block = data[start:stop]
            index = np.argsort(block, axis=1, kind="stable")[:, :n_neighbors]
            zero = np.where((block == 0).any(axis=1), (block == 0).argmax(axis=1), -1)
            rows = as_rows(index, np.take_along_axis(block, index, axis=1), len(self.labels))
            out[start:stop] = self._combined(rows, zero, apply)
        return out

    def _from_attributes(self, data: np.ndarray, n_neighbors: int, n_jobs: int | None, apply: Callable) -> np.ndarray:
        assert self.source is not None
        index = exact_index(self.source, n_jobs)
        known = self.source.X
        data = np.ascontiguousarray(data)
        out = np.empty((len(data), self.masses.shape[1]))
        for start, stop in row_blocks(len(data), most=None):
            distance, nearest = index.kneighbors(data[start:stop], n_neighbors=n_neighbors)
            equal: np.ndarray = np.empty(len(nearest), dtype=np.intp)
            _find_equal(data[start:stop], known, nearest, equal)
            if self.twin is not None:
                equal = np.where(equal >= 0, self.twin[equal], -1)
            out[start:stop] = self._combined(as_rows(nearest, distance, len(known)), equal, apply)
        return out

    def _combined(self, neighbors: sparse.csr_matrix, equal: np.ndarray, apply: Callable) -> np.ndarray:
        """The neighbours by Dempster's rule, except where the object is a known one."""
        graph = Graph.of(self.evidence.of(neighbors), "directed")
        c = int(self.labels.max()) + 1
        masses = graph.masses(self.labels, c, apply)
        if c == 1:
            masses = np.column_stack([masses[:, 0], masses[:, 1] + masses[:, 2]])
        masses[equal >= 0] = self.masses[equal[equal >= 0]]
        return masses


def _twins(source: AttributeSource | MatrixSource | sparse.csr_matrix) -> np.ndarray:
    """The first object that cannot be told from each: equal attributes, or dissimilarity zero."""
    if isinstance(source, AttributeSource):
        X = np.ascontiguousarray(source.X) + source.X.dtype.type(0)  # one zero only
        keys = X.view(np.uint8).reshape(len(X), -1).view(f"V{X.shape[1] * X.itemsize}").reshape(-1)
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        return first[group.reshape(-1)]
    if isinstance(source, MatrixSource):
        return np.array([int((row == 0).argmax()) if (row == 0).any() else i for i, row in enumerate(source.D)])
    zero = _first_zeros(source)
    # where no diagonal is stored, an object cannot be recognised
    return np.where(zero >= 0, zero, np.arange(source.shape[0]))


def _all_different(twin: np.ndarray) -> bool:
    return bool((twin == np.arange(len(twin))).all())


def _first_zeros(matrix: sparse.csr_matrix) -> np.ndarray:
    """Lowest column of a stored zero in each row, -1 where there is none."""
    matrix = sparse.csr_matrix(matrix)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    zero = matrix.data == 0
    first = np.full(matrix.shape[0], matrix.shape[1])
    np.minimum.at(first, rows[zero], matrix.indices[zero])
    return np.where(first < matrix.shape[1], first, -1)
