"""Compiled loops of the methods with prototypes: squared distances to barycentres, masses, and sums over objects.

Notation of Masson and Denoeux (2008): g nonempty focal sets A_j of c_j clusters, prototypes V (c, p), barycentres of
the sets A V, stored (p, g). ``metrics`` is (p, p, g), or None for the Euclidean distance. The kernels (``kernels.c``)
go through a block of rows and keep nothing of size n x g; the sums can be added up over blocks (or machines).
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["accumulate", "write_masses", "squared_distances"]

_prototype_sums = kernel("""prototype_sums(
    X: real[n, p], weights: float64[n] or None, barycentres: real[p, g], metrics: real[p, p, g] or None,
    factor: real[g], size: int64[g], delta2: float, beta: float, zero: float,
    total: float64[g] out, first: float64[p, g] out, second: float64[p, p, g] out or None) -> float""")
_prototype_masses = kernel("""prototype_masses(
    X: real[n, p], barycentres: real[p, g], metrics: real[p, p, g] or None,
    factor: real[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: real[n, f] out)""")
_squared_distances = kernel("""squared_distances(
    X: real[n, p], barycentres: real[p, g], metrics: real[p, p, g] or None, out: real[n, g] out)""")


def accumulate(
    X: np.ndarray,
    weights: np.ndarray,
    start: int,
    stop: int,
    barycentres: np.ndarray,
    metrics: np.ndarray | None,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Objective and sums over rows start..stop: of m^beta, of m^beta x, and (adaptive metric) of m^beta x x'.

    Rows have weight 1 if ``weights`` is empty.
    """
    p, g = barycentres.shape
    total, first = np.empty(g), np.empty((p, g))
    second = np.empty((0, 0, g) if metrics is None else (p, p, g))
    objective = _prototype_sums(
        X[start:stop], weights[start:stop] if len(weights) else None, barycentres, metrics, factor, size, delta2, beta,
        zero, total, first, None if metrics is None else second,
    )  # fmt: skip
    return objective, total, first, second


def write_masses(
    X: np.ndarray,
    start: int,
    stop: int,
    barycentres: np.ndarray,
    metrics: np.ndarray | None,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
    columns: np.ndarray,
    empty_column: int,
    out: np.ndarray,
) -> None:
    """Masses of rows start..stop into the columns of the family; ``empty_column`` is -1 if it lacks the empty set."""
    _prototype_masses(
        X[start:stop], barycentres, metrics, factor, size, delta2, beta, zero, columns, empty_column, out[start:stop]
    )


def squared_distances(X: np.ndarray, barycentres: np.ndarray, metrics: np.ndarray | None) -> np.ndarray:
    """(n, g) squared distances of the rows of X to the barycentres, for methods that need all of them at once."""
    out = np.empty((len(X), barycentres.shape[1]), X.dtype)
    _squared_distances(X, barycentres, metrics, out)
    return out
