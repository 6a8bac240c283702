"""What EK-NNclus leaves behind: the objects of a fit with their clusters, which lend evidence to new objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from dempster.belief import FocalSets
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.neighbors._graph import Evidence, Graph, as_rows, nearest_stored
from dempster.dissimilarity.reference_neighbors import ReferenceFinder
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource
from dempster.optimize.blocks import Apply, row_blocks

__all__ = ["NeighborModel", "references_of", "twins_of", "on_family"]

_ROWS = 16_384  # new objects whose neighbours are held at once


@dataclass(frozen=True, eq=False)
class NeighborModel:
    """Each new object is judged by its nearest objects of the fit; one that is the same as one of them has its masses.

    Attributes
    ----------
    family : FocalSets
        Empty set, single clusters, frame.
    references : References
        All objects of the fit.
    support : Evidence
        What a neighbour says at a distance.
    labels : (n,) array
        Clusters of the objects of the fit.
    own_masses : (n, f) array
        Masses of the objects of the fit, each by its own neighbours.
    n_neighbors : int
        That a new object is judged by.
    n_stored : int or None
        Of the stored entries of a sparse row so many count; None: all.
    searches : tuple of (int, float)
        Number of clusters and objective of every search that competed.
    """

    family: FocalSets
    references: References
    support: Evidence
    labels: np.ndarray
    own_masses: np.ndarray
    n_neighbors: int
    n_stored: int | None
    searches: tuple[tuple[int, float], ...]

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """(n, f) masses of objects as `DissimilarityInput.new` reads them: attributes, an encoded table, or a matrix,
        perhaps sparse, of dissimilarities to the objects of the fit."""
        if sparse.issparse(values):
            nearest = nearest_stored(values, self.n_stored, drop_diagonal=False)
            return self._combined(nearest, _first_stored_zeros(values), apply).astype(values.dtype, copy=False)
        find = ReferenceFinder(self.references)
        out = np.empty((len(values), len(self.family)), values.dtype if isinstance(values, np.ndarray) else float)
        for start, stop in row_blocks(len(values), _ROWS, most=None):
            some = values[start:stop]
            nearest = as_rows(*find(some, self.n_neighbors, apply), len(self.labels))
            same = self._known(some)
            out[start:stop] = self._combined(nearest, same, apply)
        return out

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the logarithm of the weight of evidence of its members among the neighbours.

        Of a cluster without any, which the method does not hear, the nearest member speaks.
        """
        stored = sparse.issparse(values)
        positions = values.indices if stored else np.arange(len(self.labels))
        d = np.asarray(values.data if stored else self.references.dissimilarities(values, exact=True)[0], dtype=float)
        order = np.argsort(d, kind="stable")
        order = order[positions[order] != itself]
        labels = self.labels[positions[order]]
        most = self.n_stored if stored else self.n_neighbors
        heard = np.arange(len(order)) < (len(order) if most is None else most)
        first = np.unique(labels, return_index=True)[1]
        heard[first[~np.isin(labels[first], labels[heard])]] = True
        which, labels = order[heard], labels[heard]
        energies, logs = self.support.energies(d[which]), np.full((len(which), self.family.n_clusters), -np.inf)
        logs[np.arange(len(which)), labels] = self.support.log_weights(d[which])
        words = "logarithm of the weight of evidence of the neighbors in the cluster"
        return ClusterEvidence.of_strengths(words, logs, energies, self.references.some(positions[which]), values)

    def without(self, position: int) -> NeighborModel:
        """The same, but that one object of the fit is nobody's neighbour."""
        others = np.flatnonzero(np.arange(len(self.labels)) != position)
        if len(others) == 0 or self.references.source is None:
            return self
        return replace(
            self,
            references=self.references.some(others),
            labels=self.labels[others],
            own_masses=self.own_masses[others],
            n_neighbors=min(self.n_neighbors, len(others)),
        )

    def _known(self, values: Any) -> np.ndarray:
        """The first object of the fit that cannot be told from each, -1 where there is none."""
        return _first_zeros(values) if self.references.source is None else self.references.equals(values)

    def _combined(self, neighbors: sparse.csr_matrix, same: np.ndarray, apply: Apply) -> np.ndarray:
        """The neighbours by Dempster's rule, except where the object is a known one."""
        graph = Graph.of(self.support.of(neighbors, apply), "directed", apply)
        masses = on_family(graph.masses(self.labels, self.family.n_clusters, apply))
        masses[same >= 0] = self.own_masses[same[same >= 0]]
        return masses


def on_family(masses: np.ndarray) -> np.ndarray:
    """With a single cluster the frame is that cluster."""
    return masses if masses.shape[1] > 3 else np.column_stack([masses[:, 0], masses[:, 1] + masses[:, 2]])


def references_of(source: DissimilaritySource | SparseSource) -> References:
    """All objects of a source, for comparison with new ones."""
    everyone = np.arange(len(source))
    if isinstance(source, SparseSource):
        return References(everyone, len(source), None)
    return References.of(source, everyone)


def twins_of(
    source: DissimilaritySource | SparseSource, references: References, among: np.ndarray | None = None
) -> np.ndarray:
    """The first object that cannot be told from each: equal attributes, or dissimilarity zero.

    ``among``: positions, in order, of all objects that may have a twin; None: any may.
    """
    if references.source is not None and among is not None:
        twins, some = np.arange(len(source)), References.of(references.source, among)
        twins[among] = among[some.equals(references.source.objects[among])]
        return twins
    if references.source is not None:
        return references.equals(references.source.objects)
    if isinstance(source, SparseSource):
        first = _first_stored_zeros(source.stored)
    else:
        blocks = row_blocks(len(source), most=None)
        first = np.concatenate([_first_zeros(source.block(slice(*rows), slice(None))) for rows in blocks])
    # where the diagonal is not stored, or not exactly zero, an object stands for itself
    return np.where(first >= 0, first, np.arange(len(source)))


def _first_zeros(block: np.ndarray) -> np.ndarray:
    """Lowest column of a zero in each row, -1 where there is none."""
    zero = block == 0
    return np.where(zero.any(axis=1), zero.argmax(axis=1), -1)


def _first_stored_zeros(matrix: sparse.csr_matrix) -> np.ndarray:
    """Lowest column of a stored zero in each row, -1 where there is none."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    zero = matrix.data == 0
    first = np.full(matrix.shape[0], matrix.shape[1])
    np.minimum.at(first, rows[zero], matrix.indices[zero])
    return np.where(first < matrix.shape[1], first, -1)
