"""The mass step of the c-means family (`prototypes._kernels`), as operators of ONNX.

``arguments`` are those of the kernels: (p, g) barycentres of the nonempty sets, their metrics or None, factors and
sizes, delta^2, beta, and the cost up to which an object lies on a prototype.
"""

from __future__ import annotations

import numpy as np

from dempster.cluster._mass_step import MassStep
from dempster.io.onnx.formulas import centred, squared_distances
from dempster.io.onnx.graph import Value, concatenated, minimum, where

__all__ = ["prototype_masses"]


def prototype_masses(X: Value, arguments: tuple, step: MassStep, n_features: int) -> Value:
    """(n, f) masses of objects. Coordinates of the barycentres beyond the attributes are what they are lifted by
    (`prototypes._lifted`)."""
    barycentres, metrics, factor, size, delta2, beta, zero = arguments
    places, lifts = barycentres[:n_features].T, barycentres[n_features:]
    costs = squared_distances(X, places) if metrics is None else _adaptive_costs(X, places, np.moveaxis(metrics, 2, 0))
    if len(lifts):
        costs = costs + np.square(lifts).sum(axis=0)
    weighted, power = costs * factor, 1 / (beta - 1)
    least = weighted.min()
    if np.isfinite(delta2):
        least = minimum(least, delta2)
    shares = (least / weighted) ** power
    # on a prototype: equal shares for the smallest sets among those that cost nothing
    none = int(size.max()) + 1
    sizes = where(costs <= zero, size.astype(float), costs * 0 + none)
    few = sizes.min()
    there = few < none
    shares = where(there, (sizes <= few).astype(X.dtype), shares)
    columns, empty_column = step.columns()
    if empty_column < 0:
        return (shares / shares.sum()).columns(np.argsort(columns))
    empty = where(there, 0.0, (least / delta2) ** power)
    total = shares.sum() + empty
    return (concatenated(shares, empty) / total).columns(np.argsort(np.append(columns, empty_column)))


def _adaptive_costs(X: Value, places: np.ndarray, metrics: np.ndarray) -> Value:
    """(n, g) squared distances to places, each in a metric of its own: those after a map L with L L' = metric."""
    g, p = places.shape
    middle = places.mean(axis=0)
    maps = np.linalg.cholesky(metrics)
    gaps = centred(X, middle) @ np.moveaxis(maps, 0, 1).reshape(p, g * p)
    gaps = gaps - np.einsum("jd,jde->je", places - middle, maps).ravel()
    return (gaps * gaps).reshape(0, g, p).sum(axis=2).reshape(0, g)
