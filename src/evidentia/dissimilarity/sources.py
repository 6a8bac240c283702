"""Dissimilarities on demand: computed from attributes, looked up in a matrix, never n x n unless asked.

A source answers for blocks (every row against every column) and for chosen pairs; what a clusterer fits to is one of
these, and what it predicts from is the block of new objects against those it remembers.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

__all__ = ["DissimilaritySource", "AttributeSource", "MatrixSource", "GowerSource", "check_square", "check_values"]


class DissimilaritySource(Protocol):
    """Dissimilarities between n objects."""

    dtype: np.dtype

    def __len__(self) -> int: ...

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        """(r, c) dissimilarities of the objects ``rows`` to the objects ``columns``."""
        ...

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """(p,) dissimilarities of the objects i to the objects j."""
        ...

    def subset(self, which: np.ndarray) -> DissimilaritySource:
        """The same for some of the objects."""
        ...


class AttributeSource:
    """Any metric of scikit-learn, by name, or a callable, on a table of attributes."""

    def __init__(self, X: np.ndarray, metric: Any = "euclidean"):
        self.X, self.metric = X, metric
        self.dtype = X.dtype

    def __len__(self) -> int:
        return len(self.X)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.between(self.X[rows], self.X[columns])

    def between(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Dissimilarities of other objects, given by their attributes."""
        from sklearn.metrics import pairwise_distances

        return check_values(pairwise_distances(A, B, metric=self.metric), "metric")

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        out = np.empty(len(i), dtype=self.dtype)
        if self.metric == "euclidean":
            for start in range(0, len(i), 65536):
                stop = start + 65536
                gap = self.X[i[start:stop]] - self.X[j[start:stop]]
                out[start:stop] = np.sqrt(np.einsum("pd,pd->p", gap, gap))
            return out
        # other metrics know blocks only: one for each different first object
        order = np.argsort(i, kind="stable")
        first, begin = np.unique(i[order], return_index=True)
        for k, start in enumerate(begin):
            who = order[start : begin[k + 1] if k + 1 < len(begin) else None]
            out[who] = self.block([first[k]], j[who])[0]
        return out

    def subset(self, which: np.ndarray) -> AttributeSource:
        return AttributeSource(np.ascontiguousarray(self.X[which]), self.metric)


class GowerSource:
    """Gower's dissimilarity of tables with numbers, categories and missing cells."""

    def __init__(self, data: Any):
        self.data = data
        self.dtype = np.dtype(float)

    def __len__(self) -> int:
        return len(self.data)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.between(self.data[rows], self.data[columns])

    def between(self, A: Any, B: Any) -> np.ndarray:
        from evidentia.dissimilarity.gower import gower_block

        return gower_block(A, B)

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        from evidentia.dissimilarity.gower import gower_pairs

        return gower_pairs(self.data, i, self.data, j)

    def subset(self, which: np.ndarray) -> GowerSource:
        return GowerSource(self.data[which])


class MatrixSource:
    """A square symmetric matrix of dissimilarities."""

    def __init__(self, D: np.ndarray):
        self.D = D
        self.dtype = D.dtype

    def __len__(self) -> int:
        return len(self.D)

    def block(self, rows: Any, columns: Any) -> np.ndarray:
        return self.D[rows][:, columns]

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.D[i, j]

    def subset(self, which: np.ndarray) -> MatrixSource:
        return MatrixSource(self.D[np.ix_(which, which)])


def check_values(D: np.ndarray, name: str) -> np.ndarray:
    """Dissimilarities must be finite and nonnegative."""
    if not np.isfinite(D).all():
        raise ValueError(f"{name} gave dissimilarities that are NaN or infinite; they must be finite")
    if D.size and D.min() < 0:
        if D.min() >= -1e-10 * max(float(D.max()), 1.0):
            return np.maximum(D, 0)  # rounding, as in cosine distances
        raise ValueError(f"{name} gave negative dissimilarities (down to {D.min():.6g}); they must be at least 0")
    return D


def check_square(D: np.ndarray, *, symmetrize: bool) -> np.ndarray:
    """A square matrix of dissimilarities, symmetric (or made so when asked), with a zero diagonal."""
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise ValueError(f"X must be a square matrix of dissimilarities when metric='precomputed', got shape {D.shape}")
    D = check_values(D, "X")
    asymmetry = float(np.abs(D - D.T).max()) if len(D) else 0.0
    if asymmetry > 1e-8 * max(float(D.max()), np.finfo(float).tiny):
        if not symmetrize:
            i, j = np.unravel_index(np.abs(D - D.T).argmax(), D.shape)
            raise ValueError(
                f"X must be symmetric: X[{i}, {j}] = {D[i, j]:.6g} but X[{j}, {i}] = {D[j, i]:.6g} "
                f"(difference {asymmetry:.6g}); set symmetrize=True to use the mean of the two"
            )
        D = (D + D.T) / 2
    if np.diagonal(D).any():
        worst = float(np.abs(np.diagonal(D)).max())
        raise ValueError(f"X must have a zero diagonal (an object does not differ from itself), got up to {worst:.6g}")
    return D
