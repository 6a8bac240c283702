"""Prototypes that learn from blocks of objects: the sums that move them, of a block or of all blocks so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from evidentia.belief import FocalSets
from evidentia.cluster.prototypes._model import PrototypeModel, Statistics
from evidentia.optimize.blocks import Apply

__all__ = ["OnlinePrototypes", "block_statistics"]


def block_statistics(block: np.ndarray, shared: tuple[PrototypeModel, np.ndarray | None], apply: Apply) -> Statistics:
    """The sums of one block of objects, measured from the origin of the model if it has one."""
    model, origin = shared
    return model.statistics(block if origin is None else block - origin, np.empty(0), apply)


@dataclass(frozen=True)
class OnlinePrototypes:
    """Prototypes and the sums over the objects that they were learned from.

    The masses of a block are those under the prototypes of its time; new prototypes minimise the objective given the
    masses of all blocks so far (Neal and Hinton, 1998: incremental variants of EM).

    Attributes
    ----------
    model : PrototypeModel
        What moves, measured from ``origin``.
    origin : (p,) array or None
    delta : float
        Distance to the empty set.
    neighbors : bool
        Whether the empty set and pairs of neighboring clusters are read off.
    sums : Statistics or None
        None before the first block.
    """

    model: PrototypeModel
    origin: np.ndarray | None
    delta: float
    neighbors: bool
    sums: Statistics | None = None

    @property
    def objective(self) -> float:
        """That of all objects so far, each under the prototypes of its time."""
        assert self.sums is not None
        return self.sums.objective

    def after(self, X: np.ndarray, weights: np.ndarray, kept: float, *, update: bool, apply: Apply) -> Self:
        """After one more block; ``kept`` is the share of the earlier sums that is not forgotten."""
        data = X if self.origin is None else X - self.origin
        sums = self.model.statistics(data, weights, apply)
        if self.sums is not None:
            sums = self.sums.scaled(kept) + sums
        return replace(self, sums=sums, model=self.model.updated(sums) if update else self.model)

    def fitted(self) -> PrototypeModel:
        """The model for new objects, in their coordinates."""
        model = self.model
        if self.neighbors:
            step = replace(model.step, family=FocalSets.neighbors(model.centers), delta2=self.delta**2)
            model = replace(model, step=step)
        return model if self.origin is None else replace(model, centers=model.centers + self.origin)
