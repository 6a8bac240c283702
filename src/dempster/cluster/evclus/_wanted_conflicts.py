"""The conflicts that objects should have with references, in blocks, and which of them coincide with one.

An object with the attributes of a reference is that reference again and gets its masses. Attributes are compared, not
dissimilarities: a dissimilarity of zero would be too much to ask (rounding) or too little (missing cells). Precomputed
dissimilarities leave no choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dempster._scale import mean_of_rows
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import rounding
from dempster.dissimilarity.transform import decay, to_conflict
from dempster.optimize.projection import Terms, euclidean_terms, linear_image, terms_of_conflicts

__all__ = ["wanted_terms", "needs_products", "twins_at_zero"]

_FEW_ATTRIBUTES = 32  # beyond, a product of matrices is faster than differences, attribute by attribute


def wanted_terms(
    values: Any,
    references: References,
    d0: float,
    masses: np.ndarray,
    conflict: np.ndarray,
    counts: np.ndarray | None,
) -> Terms:
    """Linear terms of the quadratic programs of objects read by `DissimilarityInput.new`, compared with references of
    these masses and counts; computed as they are needed."""
    image = linear_image(masses, conflict, counts)
    if not needs_products(values, references):
        assert references.source is not None
        rows = np.ascontiguousarray(values)
        return euclidean_terms(rows, references.source.objects.astype(rows.dtype), decay(d0), image)
    return terms_of_conflicts(_wanted_conflicts(values, references, d0, masses, conflict), image)


def needs_products(values: Any, references: References) -> bool:
    """Whether products of matrices are taken: they are not for Euclidean distances between few attributes."""
    return not references.are_points(values) or values.shape[1] > _FEW_ATTRIBUTES


def _wanted_conflicts(
    values: Any, references: References, d0: float, masses: np.ndarray, conflict: np.ndarray
) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """For the objects start..stop, the conflicts wanted with the references, and for each object the reference that it
    coincides with, -1 if there is none."""
    if references.are_points(values):
        return _euclidean_conflicts(values, references, decay(d0))

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        D = references.dissimilarities(values, start, stop)
        if references.source is None:
            return to_conflict(D, d0), twins_at_zero(D, d0, masses, conflict)
        return to_conflict(D, d0), references.equals(values, start, stop)

    return conflicts


def _euclidean_conflicts(
    rows: np.ndarray, references: References, gamma: float
) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """Euclidean distances of a block take one matrix product."""
    assert references.source is not None
    points = references.source.objects
    center = mean_of_rows(points, dtype=None)  # small numbers lose fewer digits
    B = points - center
    columns = np.ascontiguousarray(2 * B.T)
    square = np.einsum("pd,pd->p", B, B)

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        A = rows[start:stop] - center
        S = A @ columns
        S -= square
        own = np.einsum("bd,bd->b", A, A)
        S -= own[:, None]
        np.minimum(S, 0, out=S)  # minus the squared distances
        # few rows can be equal to a reference: those at a distance that may be rounding
        close = np.flatnonzero(S.max(axis=1) >= -1000 * np.finfo(S.dtype).eps * own)
        same = np.full(len(S), -1)
        same[close] = references.equals(rows[start:stop][close])
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
