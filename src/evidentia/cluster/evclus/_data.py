"""What EVCLUS is given, and what it remembers for new objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from evidentia.dissimilarity.sampling import pairs_of_sparse
from evidentia.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    GowerSource,
    MatrixSource,
    Twins,
    check_square,
    check_values,
    rounding,
)
from evidentia.dissimilarity.transform import decay, to_conflict
from evidentia.optimize.projection import project

if TYPE_CHECKING:
    from evidentia.cluster.evclus._conflict_problems import Links
    from evidentia.cluster.evclus._method import Solver
    from evidentia.cluster.evclus.evclus import EVCLUS

__all__ = ["TrainingData", "Remembered", "training_data", "conflicts_with", "twins_at_zero", "shared_masses"]


@dataclass(frozen=True)
class TrainingData:
    """Dissimilarities between n objects: a source that answers for any pair, or sampled pairs only."""

    n: int
    dtype: np.dtype
    source: DissimilaritySource | None = None
    sampled: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None  # pairs, how often stored, dissimilarities
    encoder: Any = None

    def __len__(self) -> int:
        return self.n


def training_data(estimator: EVCLUS, X: Any) -> TrainingData:
    """Check what `fit` was given, according to the metric."""
    data = _training_data(estimator, X)
    if len(data) < estimator.n_clusters:
        raise ValueError(f"n_samples={len(data)} should be >= n_clusters={estimator.n_clusters}")
    if len(data) < 2:
        raise ValueError("n_samples=1 leaves nothing to compare: EVCLUS needs at least two objects")
    return data


def _training_data(estimator: EVCLUS, X: Any) -> TrainingData:
    dtypes = [np.float64, np.float32]
    if estimator.metric == "gower":
        from evidentia.dissimilarity.gower import GowerEncoder

        encoder = GowerEncoder()
        encoded = encoder.fit_transform(X)
        estimator.n_features_in_ = encoded.numeric.shape[1] + encoded.codes.shape[1]
        return TrainingData(len(encoded), np.dtype(float), GowerSource(encoded), encoder=encoder)
    if estimator.metric != "precomputed":
        values = validate_data(estimator, X, reset=True, dtype=dtypes, order="C")
        return TrainingData(len(values), values.dtype, AttributeSource(values, estimator.metric))
    if sparse.issparse(X):
        X = validate_data(estimator, X, reset=True, dtype=dtypes, accept_sparse=["csr", "coo", "csc"])
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"X must be a square matrix of dissimilarities, got shape {X.shape}")
        check_values(np.asarray(X.data), "X")
        pairs, count, d = pairs_of_sparse(X, symmetrize=bool(estimator.symmetrize))
        _check_connected(X.shape[0], pairs)
        return TrainingData(X.shape[0], X.dtype, sampled=(pairs, count, d))
    values = validate_data(estimator, X, reset=True, dtype=dtypes, order="C")
    return TrainingData(
        len(values), values.dtype, MatrixSource(check_square(values, symmetrize=bool(estimator.symmetrize)))
    )


def _check_connected(n: int, pairs: np.ndarray) -> None:
    graph = sparse.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(n, n))
    parts, label = sparse.csgraph.connected_components(graph, directed=False)
    if parts > 1:
        smallest = int(np.bincount(label).min())
        raise ValueError(
            f"X holds pairs that connect the objects in {parts} separate groups (the smallest of {smallest}); "
            "without pairs between them their clusters cannot be compared"
        )


def conflicts_with(
    rows: Any, references: AttributeSource | GowerSource, d0: float
) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """A function that gives, for a block of rows, the conflicts wanted with the references, and coincidences.

    Blocks are computed as they are needed; Euclidean distances take one matrix product. An object coincides with a
    reference when their attributes are equal: a dissimilarity of zero would be too much to ask (rounding) or too
    little (missing cells).
    """
    known = Twins(references.keys(references.objects))
    if isinstance(references, AttributeSource) and references.metric == "euclidean":
        return _euclidean_conflicts(rows, references, known, decay(d0))

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        block = rows[start:stop]
        D = references.between(block, references.objects)
        return to_conflict(D, d0), known.find(references.keys(block))

    return conflicts


def _euclidean_conflicts(rows: np.ndarray, references: AttributeSource, known: Twins, gamma: float) -> Callable:
    centre = references.X.mean(axis=0)  # small numbers lose fewer digits
    B = references.X - centre
    columns = np.ascontiguousarray(2 * B.T)
    square = np.einsum("pd,pd->p", B, B)

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        A = rows[start:stop] - centre
        S = A @ columns
        S -= square
        own = np.einsum("bd,bd->b", A, A)
        S -= own[:, None]
        np.minimum(S, 0, out=S)  # minus the squared distances
        # few rows can be equal to a reference: those at a distance that may be rounding
        close = np.flatnonzero(S.max(axis=1) >= -1000 * np.finfo(S.dtype).eps * own)
        same = np.full(len(S), -1)
        same[close] = known.find(references.keys(rows[start:stop][close]))
        S *= S.dtype.type(gamma)
        np.exp(S, out=S)  # twice as fast as expm1, whose digits near zero are not needed here
        np.subtract(1, S, out=S)
        return S, same

    return conflicts


def twins_at_zero(D: np.ndarray, d0: float, masses: np.ndarray, conflict: np.ndarray) -> np.ndarray:
    """For each row a reference at dissimilarity zero (up to rounding), -1 if there is none.

    Of several the one whose masses suit the row best: without metric axioms, zero does not make two objects the same.
    """
    zero = D / d0 <= rounding(D.dtype)
    twins = np.where(zero.any(axis=1), zero.argmax(axis=1), -1)
    for i in np.flatnonzero(zero.sum(axis=1) > 1):
        candidates = np.flatnonzero(zero[i])
        gap = masses[candidates] @ conflict @ masses.T - to_conflict(D[i], d0)
        twins[i] = candidates[np.square(gap).sum(axis=1).argmin()]
    return twins


def shared_masses(data: TrainingData, masses: np.ndarray, conflict: np.ndarray, d0: float) -> np.ndarray:
    """The masses of all objects, those that cannot be told apart having the same: as `Remembered` will see them."""
    if isinstance(data.source, AttributeSource | GowerSource):
        keys = data.source.keys(data.source.objects)
        return masses[Twins(keys).find(keys)]
    if isinstance(data.source, MatrixSource):
        D = data.source.D
        blocks = [twins_at_zero(D[s : s + 1024], d0, masses, conflict) for s in range(0, len(D), 1024)]
        return masses[np.concatenate(blocks)]
    return masses


@dataclass(frozen=True)
class Remembered:
    """The objects that new ones are compared with, with their masses."""

    references: np.ndarray  # positions among the training objects
    source: AttributeSource | GowerSource | None  # their attributes, None for precomputed dissimilarities
    encoder: Any
    masses: np.ndarray
    conflict: np.ndarray
    d0: float
    n_training: int
    dtype: np.dtype

    @classmethod
    def of(cls, estimator: EVCLUS, data: TrainingData, solver: Solver, run: Any) -> Remembered:
        source = data.source if isinstance(data.source, AttributeSource | GowerSource) else None
        return cls(
            references=solver.references,
            source=None if source is None else source.subset(solver.references),
            encoder=data.encoder,
            masses=run.model.masses,
            conflict=np.array(run.model.family.conflict),
            d0=solver.d0,
            n_training=len(data),
            dtype=data.dtype,
        )

    def masses_of(self, estimator: EVCLUS, X: Any, apply: Callable) -> np.ndarray:
        """Masses of new objects, whatever form they come in."""
        if isinstance(self.source, GowerSource):
            rows = self.encoder.transform(X)
            conflicts = conflicts_with(rows, self.source, self.d0)
            return project(conflicts, len(rows), self.masses, self.conflict, self.dtype, apply)
        if isinstance(self.source, AttributeSource):
            rows = validate_data(estimator, X, reset=False, dtype=[np.float64, np.float32], order="C")
            return self._from_attributes(rows, self.source.astype(rows.dtype), estimator.device, apply)
        if sparse.issparse(X):
            return self._from_sparse(X)
        D = check_values(check_array(X, dtype=[np.float64, np.float32]), "X")
        if D.shape[1] == self.n_training:
            D = D[:, self.references]
        elif D.shape[1] != len(self.references):
            raise ValueError(
                f"X has {D.shape[1]} features, but EVCLUS is expecting {self.n_training} features as input: the "
                f"dissimilarities of each new object to the training objects (or to the {len(self.references)} of "
                "landmarks_)"
            )

        def given(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            block = D[start:stop]
            return to_conflict(block, self.d0), twins_at_zero(block, self.d0, self.masses, self.conflict)

        return project(given, len(D), self.masses, self.conflict, D.dtype, apply)

    def _from_attributes(
        self, rows: np.ndarray, references: AttributeSource, device: str, apply: Callable
    ) -> np.ndarray:
        if device != "cpu":
            from evidentia.optimize.projection_torch import project_euclidean

            if references.metric != "euclidean":
                raise ValueError(f"device={device!r} works with metric='euclidean' only")
            return project_euclidean(rows, references.X, self.masses, self.conflict, decay(self.d0), device)
        from threadpoolctl import threadpool_limits

        conflicts = conflicts_with(rows, references, self.d0)
        # threads go over blocks, so the matrix products inside must not start their own
        with threadpool_limits(1, user_api="blas"):
            return project(conflicts, len(rows), self.masses, self.conflict, rows.dtype, apply)

    def _from_sparse(self, X: Any) -> np.ndarray:
        """Rows that hold some dissimilarities to training objects: a problem of its own each, unless it is object i
        again (row i of the training matrix with its diagonal stored)."""
        from evidentia.optimize import solve_simplex_qp

        X = X.tocsr()
        if X.shape[1] != self.n_training:
            raise ValueError(f"X must have {self.n_training} columns, one for each training object, got {X.shape[1]}")
        check_values(np.asarray(X.data), "X")
        where = np.full(self.n_training, -1)
        where[self.references] = np.arange(len(self.references))
        out = np.empty((X.shape[0], self.masses.shape[1]), dtype=self.dtype)
        for i in range(X.shape[0]):
            columns, d = X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]].astype(float)
            columns, d = columns[where[columns] >= 0], d[where[columns] >= 0]
            if len(d) == 0:
                raise ValueError(f"row {i} of X holds no dissimilarity to any of landmarks_")
            if np.any((columns == i) & (d == 0)):
                out[i] = self.masses[where[i]]
                continue
            image = self.masses[where[columns]] @ self.conflict
            out[i] = solve_simplex_qp(2 * image.T @ image, -2 * image.T @ to_conflict(d, self.d0))
        return out


def settled_links(links: Links, inside: np.ndarray) -> np.ndarray:
    """Objects that have links but are not among those given."""
    linked = np.flatnonzero(np.diff(links.indptr) > 0)
    return np.setdiff1d(linked, inside)
