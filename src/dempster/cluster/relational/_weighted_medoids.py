"""How evidential c-medoids with weighted medoids descends: masses for given weights of the objects, and in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._mass_step import MassStep
from dempster.cluster._search import MassModel
from dempster.cluster.relational._compared import ComparedObjects
from dempster.cluster.relational._medoid_method import (
    SAMPLE_SIZE,
    MedoidDescent,
    MedoidMethod,
    MedoidSettings,
    Representatives,
)
from dempster.cluster.relational._medoid_model import MedoidModel
from dempster.dissimilarity.references import References
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run

__all__ = ["WeightedMedoidSettings", "WeightedMedoidModel", "WeightedMedoidMethod"]

_LONGEST_TURN = 8  # iterations after which an objective that comes back is noticed
_COINCIDE = 0.01  # of the weights differ between clusters that are one


@dataclass(frozen=True, kw_only=True)
class WeightedMedoidSettings(MedoidSettings):
    psi: float
    concentration: float


@dataclass(frozen=True)
class PrototypeWeights(Representatives):
    """(c, L) weights of the L candidates; rows sum to one. A candidate that counts as two has the weight of both."""

    weights: np.ndarray


@dataclass(frozen=True)
class SetCosts:
    """How the costs of the nonempty sets follow from dissimilarities to the candidates.

    Attributes
    ----------
    coefficients : (g, L) array
        r(l) (w_A(l) / r(l))^psi (n / c)^(psi - 1), where r(l) is how many of the n objects candidate l counts for.
    means : (g, g) array or None
        Which costs are means of other ones: those of sets whose clusters share no object.
    """

    coefficients: np.ndarray
    means: np.ndarray | None

    @classmethod
    def of(
        cls, weights: np.ndarray, counts: np.ndarray, family: FocalSets, psi: float, concentration: float
    ) -> SetCosts:
        sets = family.membership[family.cardinality > 0]
        each = weights / counts
        coefficients = np.zeros((len(sets), len(counts)))
        orphans = []
        for j, members in enumerate(sets):
            shared = each[members].min(axis=0)
            largest = shared.max()
            if not largest > 0:
                orphans.append(j)
                continue
            if members.sum() > 1:
                shared = (shared / largest) ** concentration
            coefficients[j] = counts * (shared / (counts * shared).sum()) ** psi
        coefficients *= (counts.sum() / len(weights)) ** (psi - 1)
        if not orphans:
            return cls(coefficients, None)
        single = np.flatnonzero(sets.sum(axis=1) == 1)
        means = np.eye(len(sets))
        for j in orphans:
            members = single[sets[j, sets[single].argmax(axis=1)]]
            means[j] = 0
            means[j, members] = 1 / len(members)
        return cls(coefficients, means)

    def __call__(self, near: np.ndarray) -> np.ndarray:
        """(n, g) costs for (n, L) dissimilarities."""
        costs = near @ self.coefficients.T
        return costs if self.means is None else np.ascontiguousarray(costs @ self.means.T)


@dataclass(frozen=True)
class WeightedMedoidModel(MedoidModel):
    """The candidates of a fit, with their weights in each cluster.

    Attributes
    ----------
    weights : (c, L) array
    counts : (L,) array
        How many objects each candidate counts for.
    costs_of : SetCosts
    """

    weights: np.ndarray
    counts: np.ndarray
    costs_of: SetCosts

    @property
    def medoid_positions(self) -> np.ndarray:
        return self.references.positions[(self.weights / self.counts).argmax(axis=1)]

    @property
    def coefficients(self) -> np.ndarray:
        nonempty = np.cumsum(self.family.cardinality > 0) - 1
        return self.costs_of.coefficients[nonempty[self.family.singleton_index]]

    def costs(self, near: np.ndarray) -> np.ndarray:
        return self.costs_of(near)


def best_weights(totals: np.ndarray, counts: np.ndarray, psi: float) -> np.ndarray:
    """Minimise sum_l r(l) (w_k(l) / r(l))^psi totals[k, l] over weights that sum to one, for the counts r (Zhou et
    al., 2016)."""
    weights = np.empty_like(totals)
    for k, total in enumerate(totals):
        if total.min() > 0:
            weights[k] = (total.min() / total) ** (1 / (psi - 1))
        else:  # all objects of the cluster are twins of these
            weights[k] = total <= 0
    weights *= counts
    return weights / weights.sum(axis=1, keepdims=True)


def descend_until_settled(
    next_weights: Callable[[PrototypeWeights], tuple[float, PrototypeWeights]],
    start: PrototypeWeights,
    max_iter: int,
    tol: float,
) -> Run[PrototypeWeights]:
    """Until the objective stays; if values of it come back in turns, end with the least of them."""
    run = Run(start)
    recent: list[PrototypeWeights] = []
    following = start
    for _ in range(max_iter):
        run.model = following
        objective, following = next_weights(run.model)
        run.history.append(objective)
        recent = [*recent[1 - _LONGEST_TURN :], run.model]
        turn = _turn(run.history[-_LONGEST_TURN - 1 :], tol)
        if turn is None:
            continue
        run.converged = True
        best = int(np.argmin(run.history[-turn:]))
        run.model = recent[len(recent) - turn + best]
        run.history += run.history[len(run.history) - turn : len(run.history) - turn + best + 1] if turn > 1 else []
        break
    return run


def _turn(history: list[float], tol: float) -> int | None:
    """After how many iterations the last objective has come back; 1 if it stays, None if it is new."""
    for turn, before in enumerate(history[-2::-1], start=1):
        if abs(before - history[-1]) <= tol * abs(before):
            return turn
    return None


class WeightedMedoidDescent(MedoidDescent[WeightedMedoidSettings, PrototypeWeights]):
    """Descends on some objects, of which all or some, drawn at random, may have weights."""

    def __init__(
        self,
        settings: WeightedMedoidSettings,
        objects: ComparedObjects,
        apply: Apply,
        rng: np.random.RandomState,
    ):
        super().__init__(settings, objects, apply)
        wanted, n = settings.n_candidates, len(objects)
        if wanted == "auto":
            wanted = None if objects.matrix is not None else SAMPLE_SIZE
        which, counts = _starts.sample_in_order(
            objects.order, objects.weights, n if wanted is None else int(wanted), rng
        )
        by_position = np.argsort(which)
        self.candidate_positions, self.counts = which[by_position], counts[by_position]

    def start(self, step: MassStep, medoids: np.ndarray) -> PrototypeWeights:
        """All weight on the medoids and their twins, as far as they are candidates."""
        near = self.objects.columns(medoids)
        near[medoids, np.arange(len(medoids))] = 0
        return PrototypeWeights(step, self._best_weights(near[self.candidate_positions].T))

    def enlarged(self, state: PrototypeWeights, positions: np.ndarray, whole: Self) -> PrototypeWeights:
        single = self._single_masses(self._masses(state), state) * self.objects.weights[:, None]
        totals = np.zeros((len(state.weights), len(whole.candidate_positions)))
        for start, stop in whole.objects.blocks_of(len(positions)):
            totals += single[start:stop].T @ whole.objects.block(positions[start:stop], whole.candidate_positions)
        return replace(state, weights=whole._best_weights(totals))

    def fitted(self, state: PrototypeWeights) -> WeightedMedoidModel:
        references = References.of(self.objects.source, self.candidate_positions)
        what = state.weights, self.counts, self._costs(state)
        return WeightedMedoidModel(state.step, references, self.settings.power, *what, gaps=state.gaps)

    def run(self, start: PrototypeWeights) -> Run[PrototypeWeights]:
        return descend_until_settled(self._next, start, self.settings.max_iter, self.settings.tol)

    def _next(self, state: PrototypeWeights) -> tuple[float, PrototypeWeights]:
        """The objective, and the best weights given the masses."""
        objective, totals = 0.0, np.zeros_like(state.weights)
        costs = self._costs(state)
        for start, stop in self._blocks():
            near, weights = self._near(start, stop), self.objects.weights[start:stop]
            value, masses = state.step.masses(costs(near), weights, self.apply)
            objective += value
            totals += (self._single_masses(masses, state) * weights[:, None]).T @ near
        return objective, replace(state, weights=self._best_weights(totals))

    def _near(self, start: int, stop: int) -> np.ndarray:
        return self.objects.block(slice(start, stop), self.candidate_positions)

    def _single_masses(self, masses: np.ndarray, state: PrototypeWeights) -> np.ndarray:
        """(n, c) masses of the single clusters, as they count in the objective."""
        return masses[:, state.step.family.singleton_index] ** self.settings.beta

    def _best_weights(self, totals: np.ndarray) -> np.ndarray:
        return best_weights(totals, self.counts, self.settings.psi)

    def _masses(self, state: PrototypeWeights) -> np.ndarray:
        costs = self._costs(state)
        parts = []
        for start, stop in self._blocks():
            parts.append(state.step.masses(costs(self._near(start, stop)), np.empty(0), self.apply)[1])
        return np.concatenate(parts)

    def _costs(self, state: PrototypeWeights) -> SetCosts:
        s = self.settings
        return SetCosts.of(state.weights, self.counts, state.step.family, s.psi, s.concentration)

    def _blocks(self) -> list[tuple[int, int]]:
        n = len(self.objects)
        return [(0, n)] if self.objects.matrix is not None else self.objects.blocks_of(n)


class WeightedMedoidMethod(MedoidMethod[WeightedMedoidSettings, PrototypeWeights]):
    """Evidential c-medoids with weighted medoids."""

    def _descent(self, objects: ComparedObjects) -> WeightedMedoidDescent:
        return WeightedMedoidDescent(self.settings, objects, self.apply, self.rng)

    def remarks(self, model: MassModel[Any]) -> list[str]:
        assert isinstance(model, WeightedMedoidModel)
        for k, weights in enumerate(model.weights):
            apart = np.abs(model.weights[:k] - weights).sum(axis=1) / 2
            if k > 0 and apart.min() < _COINCIDE:
                used = f"{self.settings.psi:g} and {self.settings.beta:g}"
                return [f"clusters {apart.argmin()} and {k} coincide; try a smaller psi or beta, got {used}"]
        return []
