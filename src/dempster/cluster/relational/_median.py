"""How median evidential c-means descends: each medoid in turn is the best object, given the masses and the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dempster.cluster._mass_step import MassStep
from dempster.cluster.relational import _kernels
from dempster.cluster.relational._compared import ComparedObjects
from dempster.cluster.relational._medoid_method import MedoidMethod, Medoids, MedoidSettings, PlainMedoidDescent
from dempster.cluster.relational._medoid_model import MedoidModel
from dempster.dissimilarity.references import References
from dempster.optimize.blocks import row_blocks
from dempster.optimize.descent import Run, descend

__all__ = ["MedianSettings", "MedianModel", "MedianMethod"]


@dataclass(frozen=True, kw_only=True)
class MedianSettings(MedoidSettings):
    gamma: float
    eta: float


@dataclass(frozen=True)
class MedianModel(MedoidModel):
    """The medoids of a fit.

    Attributes
    ----------
    between : (c, c) array
        Dissimilarities of the medoids to each other.
    gamma, eta : float
        As in `MECM`.
    """

    between: np.ndarray
    gamma: float
    eta: float

    @property
    def medoid_positions(self) -> np.ndarray:
        return self.references.positions

    @property
    def coefficients(self) -> np.ndarray:
        return np.eye(self.family.n_clusters, len(self.references))

    def costs(self, near: np.ndarray) -> np.ndarray:
        sets = self.family.membership[self.family.cardinality > 0]
        costs = np.empty((len(near), len(sets)))
        _kernels.fill_costs(np.ascontiguousarray(near), self.between, sets, self.gamma, self.eta, costs)
        return costs


class MedianDescent(PlainMedoidDescent[MedianSettings]):
    def fitted(self, state: Medoids) -> MedianModel:
        medoids, s = state.positions, self.settings
        between = self.objects.columns(medoids)[medoids]
        references = References.of(self.objects.source, medoids)
        return MedianModel(state.step, references, s.power, between, s.gamma, s.eta)

    def run(self, start: Medoids) -> Run[Medoids]:
        return descend(self._next, start, max_iter=self.settings.max_iter, tol=self.settings.tol)

    def _next(self, state: Medoids) -> tuple[float, Medoids]:
        """The objective, and better medoids."""
        medoids = state.positions.copy()
        near = self.objects.columns(medoids)
        objective, masses = self._masses(state, near)
        for k in range(len(medoids)):
            better = self._best_medoid(k, medoids, near, masses, state.step)
            if better != medoids[k]:
                medoids[k] = better
                near[:, k] = self.objects.columns(medoids[[k]])[:, 0]
        return objective, replace(state, positions=medoids)

    def _masses(self, state: Medoids, near: np.ndarray) -> tuple[float, np.ndarray]:
        family, s = state.step.family, self.settings
        sets = family.membership[family.cardinality > 0]
        costs = np.empty((len(near), len(sets)))
        between = near[state.positions]
        blocks = row_blocks(len(near))
        self.apply(_kernels.fill_costs, [(near[a:b], between, sets, s.gamma, s.eta, costs[a:b]) for a, b in blocks])
        return state.step.masses(costs, self.objects.weights, self.apply)

    def _best_medoid(self, k: int, medoids: np.ndarray, near: np.ndarray, masses: np.ndarray, step: MassStep) -> int:
        """The candidate that lowers the objective most, the present medoid unless there is a better one."""
        s, family = self.settings, step.family
        sets = family.membership[family.membership[:, k]].copy()
        own = masses[:, family.membership[:, k]]
        weights = own**s.beta * sets.sum(axis=1) ** s.alpha * self.objects.weights[:, None]
        weights = np.ascontiguousarray(weights.T)
        sets[:, k] = False
        limited = self.candidates(own.sum(axis=1))
        candidates = np.arange(len(self.objects)) if limited is None else np.union1d(limited, medoids[k])
        free = self.objects.weights > 0
        others = np.delete(medoids, k)
        if len(others):  # two clusters cannot have the same medoid, nor twins
            free &= ~self.taken(others)
        candidates = candidates[free[candidates] | (candidates == medoids[k])]
        totals = np.zeros(len(candidates))
        to_medoids, between = np.ascontiguousarray(near.T), near[medoids]

        def work(start: int, stop: int) -> None:
            rows, some = self.objects.block(candidates[start:stop]), totals[start:stop]
            to_candidates = np.ascontiguousarray(near[candidates[start:stop]].T)
            _kernels.add_totals(rows, weights, to_medoids, to_candidates, between, sets, s.gamma, s.eta, some)

        self.apply(work, self._candidate_blocks(len(candidates)))
        here = float(totals[np.searchsorted(candidates, medoids[k])])
        best = int(totals.argmin())
        # rounding must not make two equally good objects take turns
        return int(candidates[best]) if totals[best] < here * (1 - 1e-12) else int(medoids[k])

    def _candidate_blocks(self, n_candidates: int) -> list[tuple[int, int]]:
        """Blocks that fit in memory, but several if there are many candidates, so that threads have work."""
        size = self.objects.blocks_of(n_candidates)[0][1]
        return row_blocks(n_candidates, min(size, 256), most=None)


class MedianMethod(MedoidMethod[MedianSettings, Medoids]):
    """Median evidential c-means."""

    cost_power = 2
    pairs_can_win = True

    def _descent(self, objects: ComparedObjects) -> MedianDescent:
        return MedianDescent(self.settings, objects, self.apply)
