"""How evidential c-medoids descends: central objects for clusters, objects in between for sets of clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster.relational._compared import ComparedObjects
from dempster.cluster.relational._medoid_method import MedoidMethod, Medoids, MedoidSettings, PlainMedoidDescent
from dempster.cluster.relational._medoid_model import MedoidModel
from dempster.dissimilarity.references import References
from dempster.optimize.descent import Run

__all__ = ["SingleMedoidSettings", "SingleMedoidModel", "SingleMedoidMethod"]


@dataclass(frozen=True, kw_only=True)
class SingleMedoidSettings(MedoidSettings):
    gamma: float
    eta: float


@dataclass(frozen=True)
class SingleMedoidModel(MedoidModel):
    """The medoids of a fit: first those of the clusters, then those of the sets of several clusters.

    Attributes
    ----------
    gamma : float
        As in `ECMdd`.
    """

    gamma: float

    @property
    def medoid_positions(self) -> np.ndarray:
        return self.references.positions[: self.family.n_clusters]

    @property
    def set_medoid_positions(self) -> np.ndarray:
        """(g,) of every nonempty set."""
        nonempty = self.family.membership[self.family.cardinality > 0]
        several = nonempty.sum(axis=1) > 1
        positions = np.empty(len(nonempty), dtype=np.intp)
        positions[~several] = self.medoid_positions[nonempty[~several].argmax(axis=1)]
        positions[several] = self.references.positions[self.family.n_clusters :]
        return positions

    @property
    def coefficients(self) -> np.ndarray:
        return np.eye(self.family.n_clusters, len(self.references))

    def costs(self, near: np.ndarray) -> np.ndarray:
        c = self.family.n_clusters
        return costs_of_sets(near[:, :c], near[:, c:], self.family, self.gamma)


def costs_of_sets(to_medoids: np.ndarray, to_set_medoids: np.ndarray, family: FocalSets, gamma: float) -> np.ndarray:
    """(n, g) costs of the nonempty sets (Zhou et al., 2016)."""
    sets = family.membership[family.cardinality > 0].astype(float)
    size = sets.sum(axis=1)
    costs = to_medoids @ (sets / size[:, None]).T
    several = size > 1
    costs[:, several] = (to_set_medoids + gamma * costs[:, several]) / (1 + gamma)
    return costs


def descend_until_back(
    next_medoids: Callable[[Medoids], tuple[float, Medoids]], start: Medoids, max_iter: int
) -> Run[Medoids]:
    """Until the medoids come back; of those that come back in turns, end with the ones of least objective."""
    run = Run(start)
    visited: list[Medoids] = []
    when: dict[tuple[int, ...], int] = {}
    following = start
    for _ in range(max_iter):
        run.model = following
        key = tuple(run.model.positions.tolist())
        if key in when:
            last = when[key] + int(np.argmin(run.history[when[key] :]))
            run.history += run.history[when[key] : last + 1]
            run.model = visited[last]
            run.converged = True
            break
        when[key] = len(visited)
        visited.append(run.model)
        objective, following = next_medoids(run.model)
        run.history.append(objective)
    return run


class SingleMedoidDescent(PlainMedoidDescent[SingleMedoidSettings]):
    def fitted(self, state: Medoids) -> SingleMedoidModel:
        chosen = self._set_medoids(state.step.family, self.objects.columns(state.positions))
        references = References.of(self.objects.source, np.concatenate([state.positions, chosen]))
        s = self.settings
        return SingleMedoidModel(state.step, references, s.power, s.gamma, gaps=state.gaps)

    def run(self, start: Medoids) -> Run[Medoids]:
        return descend_until_back(self._next, start, self.settings.max_iter)

    def _next(self, state: Medoids) -> tuple[float, Medoids]:
        """The objective, and the most central objects given the masses."""
        family = state.step.family
        to_medoids = self.objects.columns(state.positions)
        to_set_medoids = self.objects.columns(self._set_medoids(family, to_medoids))
        costs = costs_of_sets(to_medoids, to_set_medoids, family, self.settings.gamma)
        objective, masses = state.step.masses(costs, self.objects.weights, self.apply)
        return objective, replace(
            state, positions=self.central(masses[:, family.singleton_index] ** self.settings.beta)
        )

    def _set_medoids(self, family: FocalSets, to_medoids: np.ndarray) -> np.ndarray:
        """The object for each set of several clusters (Zhou et al., 2016); of objects as good as each other, as two
        medoids are for the set of both, the one nearest to the first cluster, in whatever order the rows are."""
        sets = family.membership[family.cardinality > 1]
        chosen = np.empty(len(sets), dtype=np.intp)
        for j, members in enumerate(sets):
            near = to_medoids[:, members]
            spread = near.var(axis=1) + self.settings.eta * near.mean(axis=1)
            spread = np.where(self.objects.weights > 0, spread, np.inf)
            best = np.flatnonzero(spread <= spread.min() * (1 + 1e-12))
            chosen[j] = best[np.lexsort(near[best].T[::-1])[0]]
        return chosen


class SingleMedoidMethod(MedoidMethod[SingleMedoidSettings, Medoids]):
    """Evidential c-medoids with one medoid for each cluster."""

    def _descent(self, objects: ComparedObjects) -> SingleMedoidDescent:
        # a variance is in squared units, a mean is not: eta counts in units of the data
        settings = replace(self.settings, eta=self.settings.eta * self.unit)
        return SingleMedoidDescent(settings, objects, self.apply)
