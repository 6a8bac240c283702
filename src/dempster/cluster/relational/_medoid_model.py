"""What the medoid methods leave behind: objects that new ones are compared with, and the costs that follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._doubt import doubtful_masses, plausible_on_the_way
from dempster.cluster._mass_step import MassStep
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.relational._compared import blocks_of_rows, raised
from dempster.dissimilarity.references import References
from dempster.optimize.blocks import Apply

__all__ = ["MedoidModel"]

_SHARPNESS = 8  # of the mass of outliers: odds of ten at a cost a third above that of the empty set


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
    gaps : (c, c) array or None
        Differences of costs between the clusters, by which pairs are read off; None if pairs have costs of their own.
    """

    step: MassStep
    references: References
    power: float
    gaps: np.ndarray | None = field(default=None, kw_only=True)

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
        costs = self.costs_of_objects(values)
        masses = self.step.masses(costs, np.empty(0), apply)[1] if self.gaps is None else self._read_off(costs)
        return masses.astype(values.dtype, copy=False)

    def _read_off(self, costs: np.ndarray) -> np.ndarray:
        """Masses on single clusters, and on pairs of neighbors for what lies between them."""
        assert self.gaps is not None
        single = self.single_costs(costs)
        with np.errstate(divide="ignore", over="ignore"):
            outlying = 1 / (1 + (self.step.delta2 / single.min(axis=1)) ** _SHARPNESS)
        return doubtful_masses(plausible_on_the_way(single, self.gaps, self.step.alpha), self.family, outlying)

    def single_costs(self, costs: np.ndarray) -> np.ndarray:
        """(n, c) costs of the single clusters, of those of the nonempty sets."""
        column = np.cumsum(self.family.cardinality > 0) - 1
        return np.ascontiguousarray(costs[:, column[self.family.singleton_index]])

    def gaps_between(self, values: Any) -> np.ndarray:
        """(c, c) differences of the costs of two clusters at their medoids, given as the values of a fit."""
        at = self.single_costs(self.costs_of_objects(values))
        beyond = at - np.diagonal(at)[:, None]
        return np.maximum((beyond + beyond.T) / 2, 0)

    def costs_of_objects(self, values: Any) -> np.ndarray:
        """(n, g) costs of the nonempty sets for objects."""
        blocks = blocks_of_rows(len(values), len(self.references))
        return np.concatenate([self.costs(self._near(values, start, stop)) for start, stop in blocks])

    def _near(self, values: Any, start: int, stop: int) -> np.ndarray:
        return raised(self.references.dissimilarities(values, start, stop, exact=True), self.power)
