"""The evidential K nearest neighbour rule (`_eknn_kernels`, `_eknn_soft`), as operators of ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster.io.onnx.graph import Value, concatenated, take

__all__ = ["masses_of_classes", "masses_of_labels"]


def masses_of_classes(
    squares: Value, n_neighbors: int, codes: np.ndarray, gamma: np.ndarray, reliability: float
) -> Value:
    """(n, M + 1) masses of the classes and the frame, from (n, r) squared distances to the training objects."""
    nearest, which = squares.smallest(n_neighbors)
    supports = reliability * (-nearest * take(np.square(gamma)[codes], which, squares.dtype)).exp()
    of_class = take(np.eye(len(gamma))[codes], which, squares.dtype)
    weights = -((1 - supports).log().reshape(0, n_neighbors, 1) * of_class).sum().reshape(0, len(gamma))
    top = weights.max()
    masses = concatenated((1 - (-weights).exp()) * (weights - top).exp(), (-top).exp())
    return masses / masses.sum()


def masses_of_labels(squares: Value, n_neighbors: int, labels: Any, gamma: float, reliability: float) -> Value:
    """(n, f) masses on the family of soft labels, which neighbours keep a share of; masses are differences of
    commonalities, which double precision keeps apart.

    Parameters
    ----------
    squares : Value
    n_neighbors : int
    labels : SoftLabels
    gamma, reliability : float
    """
    nearest, which = squares.smallest(n_neighbors)
    supports = reliability * (nearest.double() * -(gamma**2)).exp()
    f = len(labels.family)
    kept = 1 - supports.reshape(0, n_neighbors, 1) * take(labels.missing, which, np.float64)
    logs = kept.log().sum().reshape(0, f)
    masses = ((logs - logs.max()).exp() @ np.linalg.inv(labels._supersets).T).relu()
    return (masses / masses.sum()).astype(squares.dtype)
