"""Formulas that several kinds of models have in common, as operators of ONNX."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from dempster.onnx.graph import Value, take, where

__all__ = ["centred", "squared_distances", "squares_of", "masses_of_known", "softplus"]

_FEW_ATTRIBUTES = 32  # beyond, a product of matrices takes the place of differences, attribute by attribute


def centred(X: Value, centre: Any, unit: Any = 1.0) -> Value:
    """(X - centre) / unit. Numbers far from zero lose their digits in this difference, unless it is taken in double
    precision."""
    shifted = X.double() - np.asarray(centre, dtype=float)
    return (shifted if np.all(np.asarray(unit) == 1) else shifted / np.asarray(unit, dtype=float)).astype(X.dtype)


def squared_distances(X: Value, places: np.ndarray) -> Value:
    """(n, r) squared Euclidean distances to r places: exactly zero for those who are at one, if ``places`` have the
    type of X and at most 32 attributes."""
    middle = places.mean(axis=0, dtype=float)
    return squares_of(centred(X, middle), (places.astype(float) - middle).astype(X.dtype))


def squares_of(rows: Value, places: np.ndarray) -> Value:
    """(n, r) squared distances between rows and places near zero."""
    p = places.shape[1]
    if p <= _FEW_ATTRIBUTES:
        gaps = [column - places[:, d] for d, column in enumerate(rows.split(p))]
        return reduce(add, [gap * gap for gap in gaps])
    squares = np.square(places, dtype=float).sum(axis=1)
    return ((rows * rows).sum() - 2 * (rows @ places.T) + squares).relu()


def masses_of_known(masses: Value, X: Value, squares: Value, objects: np.ndarray, known: np.ndarray) -> Value:
    """The same, but that those who are one of some objects again have its masses.

    Parameters
    ----------
    masses, X : Value
    squares : Value
        Distances to the objects: only the nearest one can be the same.
    objects : (r, p) array
    known : (r, f) array
        Their masses.
    """
    nearest = squares.argmin()
    same = take(objects, nearest, X.dtype).equals(X).astype(X.dtype).min() > 0.5
    return where(same, take(known, nearest, masses.dtype), masses)


def softplus(x: Value) -> Value:
    """log(1 + exp(x)), for numbers of any size."""
    return x.relu() + ((-x.abs()).exp() + 1).log()
