"""From dissimilarities to squared distances, which is what prototypes as weighted means need."""

from __future__ import annotations

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import Metric
from dempster.dissimilarity.sources import DissimilaritySource, check_square

__all__ = ["is_to_be_squared", "squared", "squared_matrix"]

_SQUARED_ALREADY = ("precomputed", "sqeuclidean", "gower")


def is_to_be_squared(square: bool | str, metric: Metric) -> bool:
    """What ``square="auto"`` stands for: a given matrix is used as it is, and some metrics are squares already."""
    return metric not in _SQUARED_ALREADY if isinstance(square, str) else bool(square)


def squared(D: np.ndarray, square: bool) -> np.ndarray:
    """The dissimilarities, squared if asked for."""
    if not square:
        return D
    with np.errstate(over="ignore"):
        D = D * D
    if not np.isfinite(D).all():
        raise InvalidInputError("X holds dissimilarities too large to be squared; scale them down")
    return D


def squared_matrix(source: DissimilaritySource, *, square: bool, symmetrize: bool) -> np.ndarray:
    """(n, n) squared distances between the objects of a fit."""
    if source.matrix is not None:
        return squared(source.matrix, square)
    D = source.block(slice(None), slice(None))
    if not callable(source.metric):
        np.fill_diagonal(D, 0)  # zero but for rounding
    return squared(check_square(D, symmetrize=symmetrize), square)
