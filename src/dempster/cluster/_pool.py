"""Weighted mean of the plausibilities of several models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from dempster._arrays import Array, concatenate_rows, select_columns
from dempster.belief import FocalSets
from dempster.cluster._mass_step import collect_masses, masses_from_plausibilities
from dempster.cluster.egmm import EvidentialMixture
from dempster.cluster.explanation import ClusterEvidence
from dempster.optimize.blocks import Apply, row_blocks

_MAX_ROWS = 1 << 16  # number of rows whose masses are computed at once
# Ratios of the plausibilities of a mixture are raised to this power. Its labels and the order of
# its doubts do not change, and about one in ten objects of the public data sets is ambiguous.
_POWER_OF_MIXTURE = 0.25


@dataclass(frozen=True)
class PooledModel:
    """Models of the same objects, and the probability (weight) that each of them is right.

    The relative plausibility of a cluster for an object is the weighted mean of its plausibilities
    in the models, where the most plausible cluster of each model has plausibility one. An object
    that the models assign to two neighboring clusters therefore gets mass on the pair. A mixture is
    too certain if the clusters are only roughly like its distributions, so its plausibilities are
    raised to a small power.

    The mass on the empty set is the largest of the models, because each of them detects other
    outliers.
    """

    family: FocalSets
    models: tuple[Any, ...]
    weights: Annotated[np.ndarray, "m"]  # weights of the models, with sum 1
    # cluster of each model that corresponds to a cluster of the family
    orders: Annotated[np.ndarray, "m c:int"]
    # index of the model whose evidence explains the masses; its clusters are those of the family
    selected: int

    @classmethod
    def from_models(
        cls, models: list[Any], weights: np.ndarray, orders: np.ndarray, selected: int
    ) -> PooledModel:
        """Create the model.

        Two clusters are neighbors if they are neighbors in one of the models.
        """
        pairs = []
        for model, order in zip(models, orders, strict=True):
            membership = model.family.membership[:, order]
            pairs += [
                tuple(np.flatnonzero(row).tolist())
                for row in membership
                if row.sum() == 2
            ]
        family = FocalSets.with_pairs(orders.shape[1], pairs, omega=False)
        return cls(family, tuple(models), weights / weights.sum(), orders, selected)

    @property
    def powers(self) -> list[float]:
        """Powers of the relative plausibilities in each model."""
        return [
            _POWER_OF_MIXTURE if isinstance(model, EvidentialMixture) else 1.0
            for model in self.models
        ]

    def masses(self, values: np.ndarray, apply: Apply) -> Array:
        """Compute the masses of n rows, shape (n, f)."""
        parts = []
        for start, stop in row_blocks(len(values), _MAX_ROWS, most=None):
            masses = [model.masses(values[start:stop], apply) for model in self.models]
            parts.append(self.pool(masses, apply))
        return concatenate_rows(parts)

    def pool(self, masses: list[Array], apply: Apply) -> Array:
        """Compute the masses of n rows from their masses in each model."""
        dtype = masses[0].dtype

        def compute(start: int, stop: int) -> np.ndarray:
            contour = np.zeros((stop - start, self.family.n_clusters), dtype)
            outlying = np.zeros(stop - start, dtype)
            for model, order, weight, power, part in zip(
                self.models, self.orders, self.weights, self.powers, masses, strict=True
            ):
                family = model.family
                block = part[start:stop]
                plausibilities = block @ family.membership[:, order].astype(dtype)
                largest = plausibilities.max(axis=1, keepdims=True)
                largest = np.maximum(largest, np.finfo(np.float32).tiny)
                relative = (plausibilities / largest) ** dtype.type(power)
                contour += relative * dtype.type(weight)
                empty = np.flatnonzero(family.cardinality == 0)
                mass = select_columns(block, empty).sum(axis=1)
                outlying = np.maximum(outlying, mass)
            return masses_from_plausibilities(contour, self.family, outlying)

        blocks = row_blocks(masses[0].shape[0])
        return collect_masses(compute, blocks, self.family, dtype, apply)

    def evidence(self, values: np.ndarray, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster in the selected model."""
        return self.models[self.selected].evidence(values, itself)

    def without(self, position: int) -> PooledModel:
        """Return the model without one training object.

        Mixtures do not depend on single objects.
        """
        models = [
            one.without(position) if hasattr(one, "without") else one
            for one in self.models
        ]
        return replace(self, models=tuple(models))
