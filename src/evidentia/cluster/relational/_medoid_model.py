"""What the medoid methods leave behind: objects that new ones are compared with, and the costs that follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from evidentia.belief import FocalSets
from evidentia.cluster._mass_step import MassStep
from evidentia.cluster.evidence import ClusterEvidence
from evidentia.cluster.relational._compared import blocks_of_rows, raised
from evidentia.dissimilarity.references import References
from evidentia.optimize.blocks import Apply

__all__ = ["MedoidModel"]


@dataclass(frozen=True)
class MedoidModel(ABC):
    """Objects that represent clusters, for objects that are compared with them.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    references : References
        The objects that represent clusters or sets of them.
    power : float
        Dissimilarities are raised to this power first.
    """

    step: MassStep
    references: References
    power: float

    @property
    def family(self) -> FocalSets:
        return self.step.family

    @property
    @abstractmethod
    def medoid_positions(self) -> np.ndarray:
        """(c,) where the object that represents each cluster best was among those of the fit."""

    @abstractmethod
    def costs(self, near: np.ndarray) -> np.ndarray:
        """(n, g) costs of the nonempty sets for objects with these dissimilarities, to the power, to the references."""

    @property
    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """(c, r) what a single cluster pays for the dissimilarity, to the power, to each reference."""

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer the objects that represent it, the more."""
        near = self._near(values, 0, 1)[0]
        coefficients = self.coefficients
        words = "minus the dissimilarity to the objects that represent the cluster"
        return ClusterEvidence.of_costs(words, near, coefficients, -coefficients @ near, self.references, values)

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """(n, f) masses of new objects."""
        _, masses = self.step.masses(self.costs_of_objects(values), np.empty(0), apply)
        return masses.astype(values.dtype, copy=False)

    def costs_of_objects(self, values: Any) -> np.ndarray:
        """(n, g) costs of the nonempty sets for objects."""
        blocks = blocks_of_rows(len(values), len(self.references))
        return np.concatenate([self.costs(self._near(values, start, stop)) for start, stop in blocks])

    def _near(self, values: Any, start: int, stop: int) -> np.ndarray:
        return raised(self.references.dissimilarities(values, start, stop, exact=True), self.power)
