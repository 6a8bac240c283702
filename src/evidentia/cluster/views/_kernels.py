"""Compiled loops of the method with several tables: weighted squared distances to barycentres, and masses.

g nonempty focal sets, p attributes of all views together. The barycentres are stored (p, g), times the square roots of
the weights of the attributes; the kernels (``kernels.c``) multiply the objects by these roots as they go.
"""

from __future__ import annotations

import numpy as np

from evidentia._native import kernel

__all__ = ["powers_of_masses", "write_masses"]

_view_powers = kernel("""view_powers(
    X: float64[n, p], weights: float64[n] or None, roots: float64[p], barycentres: float64[p, g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    powers: float64[n, g] out) -> float""")
_view_masses = kernel("""view_masses(
    X: float64[n, p], roots: float64[p], barycentres: float64[p, g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: float64[n, f] out)""")


def powers_of_masses(
    X: np.ndarray,
    weights: np.ndarray,
    roots: np.ndarray,
    barycentres: np.ndarray,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
) -> tuple[float, np.ndarray]:
    """Objective, and (n, g) masses to the power beta times the weights; rows have weight 1 if ``weights`` is empty."""
    powers = np.empty((len(X), barycentres.shape[1]))
    given = weights if len(weights) else None
    return _view_powers(X, given, roots, barycentres, factor, size, delta2, beta, zero, powers), powers


def write_masses(
    X: np.ndarray,
    roots: np.ndarray,
    barycentres: np.ndarray,
    factor: np.ndarray,
    size: np.ndarray,
    delta2: float,
    beta: float,
    zero: float,
    columns: np.ndarray,
    empty_column: int,
    out: np.ndarray,
) -> None:
    """Masses of the rows into the columns of the family; ``empty_column`` is -1 if it lacks the empty set."""
    _view_masses(X, roots, barycentres, factor, size, delta2, beta, zero, columns, empty_column, out)
