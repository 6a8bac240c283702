"""The model of NN-EVCLUS: attributes in, masses out."""

from __future__ import annotations

from dataclasses import dataclass

from dempster._arrays import Array, zeros
from dempster.belief import FocalSets
from dempster.cluster.evclus.network._objective import Network
from dempster.cluster.evclus.network._preparation import Preparation
from dempster.optimize.blocks import Apply

__all__ = ["NetworkModel"]

_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class NetworkModel:
    """A trained network with everything needed to turn an object into masses.

    Attributes
    ----------
    family : FocalSets
    network : Network
    preparation : Preparation
    validation : tuple of float
        Errors on held-out pairs along the training, where there were any.
    """

    family: FocalSets
    network: Network
    preparation: Preparation
    validation: tuple[float, ...] = ()

    def masses(self, values: Array, apply: Apply) -> Array:
        """(n, f) masses of objects by a forward pass; of their precision, and where they are."""
        out = zeros((len(values), len(self.family)), values)
        for start in range(0, len(values), _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            inputs = self.preparation.inputs(values[rows])
            out[rows] = self.network.masses(inputs, self.preparation.decision(inputs), apply)
        out /= out.sum(axis=1, keepdims=True)
        return out
