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
    check_square,
    check_values,
)
from evidentia.dissimilarity.transform import decay, to_conflict
from evidentia.optimize.projection import project

if TYPE_CHECKING:
    from evidentia.cluster._conflict_problems import Links
    from evidentia.cluster._evclus_solver import Solver
    from evidentia.cluster.evclus import EVCLUS

__all__ = ["TrainingData", "Remembered", "training_data", "conflicts_with"]


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
        pairs, count, d = pairs_of_sparse(X)
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
    rows: Any, references: Any, source: Any, d0: float
) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """A function that gives, for a block of rows, the conflicts wanted with the references, and coincidences.

    Blocks are computed as they are needed. Euclidean distances take one matrix product; an object coincides with a
    reference when their attributes are equal, or else when the dissimilarity is zero.
    """
    if isinstance(source, AttributeSource) and source.metric == "euclidean":
        return _euclidean_conflicts(rows, references, decay(d0))

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        D = source.between(rows[start:stop], references)
        return to_conflict(D, d0), _first_zero(D)

    return conflicts


def _euclidean_conflicts(rows: np.ndarray, references: np.ndarray, gamma: float) -> Callable:
    centre = references.mean(axis=0)  # small numbers lose fewer digits
    B = references - centre
    columns = np.ascontiguousarray(2 * B.T)
    square = np.einsum("pd,pd->p", B, B)

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        A = rows[start:stop] - centre
        S = A @ columns
        S -= square
        S -= np.einsum("bd,bd->b", A, A)[:, None]
        np.minimum(S, 0, out=S)  # minus the squared distances
        nearest = S.argmax(axis=1)
        close = S[np.arange(len(S)), nearest] * gamma > -1e-6
        same = np.full(len(S), -1)
        who = np.flatnonzero(close)
        if len(who):
            equal = (rows[start:stop][who] == references[nearest[who]]).all(axis=1)
            same[who[equal]] = nearest[who[equal]]
        S *= S.dtype.type(gamma)
        np.expm1(S, out=S)
        np.negative(S, out=S)
        return S, same

    return conflicts


def _first_zero(D: np.ndarray) -> np.ndarray:
    """For each row the first column that is zero, -1 if none."""
    nearest = D.argmin(axis=1)
    return np.where(D[np.arange(len(D)), nearest] == 0, nearest, -1)


@dataclass(frozen=True)
class Remembered:
    """The objects that new ones are compared with, with their masses."""

    references: np.ndarray  # positions among the training objects
    objects: Any  # their attributes (encoded), None for precomputed dissimilarities
    encoder: Any
    masses: np.ndarray
    conflict: np.ndarray
    d0: float
    n_training: int
    dtype: np.dtype

    @classmethod
    def of(cls, estimator: EVCLUS, data: TrainingData, solver: Solver, run: Any) -> Remembered:
        objects = None
        if isinstance(data.source, AttributeSource):
            objects = np.ascontiguousarray(data.source.X[solver.references])
        elif isinstance(data.source, GowerSource):
            objects = data.source.data[solver.references]
        return cls(
            references=solver.references,
            objects=objects,
            encoder=data.encoder,
            masses=run.model.masses,
            conflict=np.array(run.model.family.conflict),
            d0=solver.d0,
            n_training=len(data),
            dtype=data.dtype,
        )

    def masses_of(self, estimator: EVCLUS, X: Any, apply: Callable) -> np.ndarray:
        """Masses of new objects, whatever form they come in."""
        if estimator.metric == "gower":
            rows = self.encoder.transform(X)
            conflicts = conflicts_with(rows, self.objects, GowerSource(rows), self.d0)
            return project(conflicts, len(rows), self.masses, self.conflict, self.dtype, apply)
        if estimator.metric != "precomputed":
            rows = validate_data(estimator, X, reset=False, dtype=[np.float64, np.float32], order="C")
            return self.project_attributes(estimator, rows, apply)
        if sparse.issparse(X):
            return self._from_sparse(X)
        D = check_values(check_array(X, dtype=[np.float64, np.float32]), "X")
        if D.shape[1] == self.n_training:
            D = D[:, self.references]
        elif D.shape[1] != len(self.references):
            raise ValueError(
                f"X must hold the dissimilarities of each new object to the {self.n_training} training objects"
                f" (or to the {len(self.references)} of landmarks_), got {D.shape[1]} features"
            )

        def given(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            return to_conflict(D[start:stop], self.d0), _first_zero(D[start:stop])

        return project(given, len(D), self.masses, self.conflict, D.dtype, apply)

    def project_attributes(self, estimator: EVCLUS, rows: np.ndarray, apply: Callable) -> np.ndarray:
        references = self.objects.astype(rows.dtype, copy=False)
        if estimator.device != "cpu":
            from evidentia.optimize.projection_torch import project_euclidean

            if estimator.metric != "euclidean":
                raise ValueError(f"device={estimator.device!r} works with metric='euclidean' only")
            return project_euclidean(rows, references, self.masses, self.conflict, decay(self.d0), estimator.device)
        from threadpoolctl import threadpool_limits

        conflicts = conflicts_with(rows, references, AttributeSource(references, estimator.metric), self.d0)
        # threads go over blocks, so the matrix products inside must not start their own
        with threadpool_limits(1, user_api="blas"):
            return project(conflicts, len(rows), self.masses, self.conflict, rows.dtype, apply)

    def _from_sparse(self, X: Any) -> np.ndarray:
        """Rows that hold some dissimilarities to training objects: a problem of its own each."""
        from evidentia.optimize import solve_simplex_qp

        X = X.tocsr()
        if X.shape[1] != self.n_training:
            raise ValueError(f"X must have {self.n_training} columns, one for each training object, got {X.shape[1]}")
        check_values(np.asarray(X.data), "X")
        where = {int(r): k for k, r in enumerate(self.references)}
        out = np.empty((X.shape[0], self.masses.shape[1]), dtype=self.dtype)
        for i in range(X.shape[0]):
            who = X.indices[X.indptr[i] : X.indptr[i + 1]]
            if len(who) == 0:
                raise ValueError(f"row {i} of X holds no dissimilarity")
            image = self.masses[[where[int(j)] for j in who]] @ self.conflict
            delta = to_conflict(X.data[X.indptr[i] : X.indptr[i + 1]].astype(float), self.d0)
            out[i] = solve_simplex_qp(2 * image.T @ image, -2 * image.T @ delta)
        return out


def settled_links(links: Links, inside: np.ndarray) -> np.ndarray:
    """Objects that have links but are not among those given."""
    linked = np.flatnonzero(np.diff(links.indptr) > 0)
    return np.setdiff1d(linked, inside)
