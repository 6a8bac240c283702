"""Compiled loops of the method with several tables: weighted squared distances to prototypes, and masses.

c clusters, g nonempty focal sets, p attributes of all views together. The prototypes are stored (p, c), times the
square roots of the weights of the attributes; the kernels (``kernels.c``) multiply the objects by these roots as they
go. Distances to the barycentres of sets follow from those to the prototypes, whatever the number of attributes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster._native import kernel
from dempster.cluster._mass_step import MassStep

__all__ = ["Comparison"]

_view_powers = kernel("""view_powers(
    X: float64[n, p], weights: float64[n] or None, roots: float64[p], centers: float64[p, c],
    offsets: int64[o], members: int64[t] below c, inside: float64[g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    powers: float64[n, g] out) -> float""")
_view_masses = kernel("""view_masses(
    X: float64[n, p], roots: float64[p], centers: float64[p, c],
    offsets: int64[o], members: int64[t] below c, inside: float64[g],
    factor: float64[g], size: int64[g], delta2: float, beta: float, zero: float,
    columns: int64[g] below f, empty_column: int below f or -1, out: float64[n, f] out)""")


@dataclass(frozen=True)
class Comparison:
    """What objects are compared with, as the kernels take it."""

    step: MassStep
    arguments: tuple

    @classmethod
    def of(cls, step: MassStep, centers: np.ndarray, roots: np.ndarray) -> Comparison:
        """For (c, p) prototypes, and the roots of the weights of the attributes."""
        placed = np.ascontiguousarray((centers * roots).T)
        sizes = step.sets.sum(axis=1).astype(np.int64)
        offsets = np.append(0, np.cumsum(sizes))
        members = np.ascontiguousarray(np.nonzero(step.sets)[1])
        own = np.square(centers * roots).sum(axis=1)
        means = step.averages @ (centers * roots)
        inside = np.where(sizes > 1, step.averages @ own - np.square(means).sum(axis=1), 0.0)
        return cls(step, (roots, placed, offsets, members, inside, *step.kernel_arguments()))

    def powers(self, X: np.ndarray, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """Objective, and (n, g) masses to the power beta times the weights; rows have weight 1 if there are none."""
        powers = np.empty((len(X), len(self.step.sets)))
        return _view_powers(X, weights if len(weights) else None, *self.arguments, powers), powers

    def write_masses(self, X: np.ndarray, out: np.ndarray) -> None:
        """Masses of the rows into the columns of the family."""
        _view_masses(X, *self.arguments, *self.step.columns(), out)
