"""How constrained evidential c-means descends: linked objects apart from the others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dempster._missing import has_missing
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._search import Sample
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.prototypes._links import LinkCosts, LinkedObjects
from dempster.cluster.prototypes._method import PrototypeMethod, PrototypeSettings, PrototypeStep
from dempster.cluster.prototypes._model import PrototypeModel, Statistics
from dempster.cluster.prototypes._partial import sums_of_present
from dempster.constraints import Constraints
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

__all__ = ["ConstrainedSettings", "ConstrainedModel", "ConstrainedMethod", "LinkedPrototypes"]


# Of the mean variance of the attributes. Of 1, 0.5, 0.25, 0.1 and 0.03 it finds the classes of iris, wine and six sets
# of Gaussian blobs best on average with single clusters, and within 0.01 (adjusted Rand index) of the best with pairs.
_SQUARED_UNIT = 0.25


@dataclass(frozen=True)
class ConstrainedSettings(PrototypeSettings):
    """Those of ECM, and how the constraints count: their weight, the published objective ("paper"), that of the
    published program ("program"), or the latter in units of the data ("scaled"), and what a linked object pays for
    mass on the empty set."""

    xi: float
    convention: str
    empty_penalty: float


@dataclass(frozen=True)
class LinkedPrototypes(PrototypeModel):
    """Prototypes, and the masses that linked objects had in the iteration before (None: those of ECM).

    Attributes
    ----------
    linked_masses : (q, f) array or None
    """

    linked_masses: np.ndarray | None = None


@dataclass(frozen=True)
class ConstrainedModel:
    """What is left for new objects, which have no constraints: their masses are those of ECM.

    An object with the attributes of a linked one gets the masses of that one (of several, the first).

    Attributes
    ----------
    prototypes : PrototypeModel
    linked : References
        The linked objects.
    linked_masses : (q, f) array
    """

    prototypes: PrototypeModel
    linked: References
    linked_masses: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.prototypes.family

    def masses(self, X: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of the rows of X."""
        masses = self.prototypes.masses(X, apply)
        if len(self.linked):
            twin = self.linked.equals(X)  # up to the digits of X
            masses[twin >= 0] = self.linked_masses[twin[twin >= 0]]
        return masses

    def evidence(self, X: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster besides the constraints."""
        return self.prototypes.evidence(X, itself)


class ConstrainedMethod(PrototypeMethod):
    """Constrained evidential c-means. Objects of weight zero take no part, and neither do their constraints."""

    settings: ConstrainedSettings

    def __init__(
        self,
        settings: ConstrainedSettings,
        sample: Sample[np.ndarray],
        constraints: Constraints | None,
        rng: np.random.RandomState,
        apply: Apply,
    ):
        super().__init__(settings, sample, rng, apply)
        w = sample.weights
        known = Constraints() if constraints is None or settings.xi == 0 else constraints
        self.constraints = known if w is None else _among_weighted(known, w)
        self.total_weight = float(len(self.data) if w is None else w.sum())
        self.linked = LinkedObjects(self.data, self.constraints)
        self.linked_data = np.ascontiguousarray(self.data[self.linked.places], dtype=float)
        self.linked_weights = np.ones(len(self.linked)) if w is None else w[self.linked.places]
        free = self.linked.others if w is None else self.linked.others[w[self.linked.others] > 0]
        self.free, self.free_weights = self.data[free], self.weights if w is None else w[free]
        self.free_sample, self.free_sample_weights = self._sample_of_free(rng)

    def _sample_of_free(self, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Objects without constraints on which starts compete; they weigh as much as all of them."""
        if len(self.free) == 0:
            return self.free, np.empty(0)
        drawn, weights = _starts.representative_sample(self.free, self.free_weights, rng)
        total = self.free_weights.sum() if len(self.free_weights) else len(self.free)
        return drawn, weights * (total / weights.sum())

    def _model(self, family: FocalSets, centers: np.ndarray, metrics: np.ndarray | None = None) -> LinkedPrototypes:
        return LinkedPrototypes(self._mass_step(family), np.asarray(centers, float), metrics, self.within)

    def _step(self, *, on_sample: bool) -> PrototypeStep:
        whole, drawn = (self.free, self.free_weights), (self.free_sample, self.free_sample_weights)
        data, weights = drawn if on_sample else whole

        def step(model: PrototypeModel) -> tuple[float, PrototypeModel]:
            assert isinstance(model, LinkedPrototypes)
            family = model.family
            if len(self.linked) == 0:
                statistics = model.statistics(data, weights, self.apply)
                return self._share(family) * statistics.objective, model.updated(statistics)
            squared_costs, link_costs = self._squared_costs(model), self._link_costs(family)
            linked = self.linked.improved_masses(self._before(model), squared_costs, link_costs)
            statistics = self._linked_statistics(model, linked)
            if len(data):
                statistics = model.statistics(data, weights, self.apply) + statistics
            objective = self._share(family) * statistics.objective + float(np.sum(squared_costs * linked**2))
            objective += self.linked.cost_of_links(linked, link_costs)
            return objective, replace(model, linked_masses=linked).updated(statistics)

        return step

    def with_neighbors(self, run: Run[PrototypeModel]) -> Run[PrototypeModel]:
        """The masses of the linked objects are found again on the wider family, from those they had."""
        wider = super().with_neighbors(run)
        assert isinstance(wider.model, LinkedPrototypes)
        if wider.model.linked_masses is None:
            return wider
        found = CredalPartition.unchecked(wider.model.linked_masses, run.model.family)
        wider.model = replace(wider.model, linked_masses=np.asarray(found.on(wider.model.family).masses))
        return wider

    # ---- linked objects -------------------------------------------------------------------------------------------

    def _before(self, model: PrototypeModel) -> np.ndarray:
        """Masses of the linked objects in the iteration before."""
        assert isinstance(model, LinkedPrototypes)
        return model.masses(self.linked_data, self.apply) if model.linked_masses is None else model.linked_masses

    def _link_costs(self, family: FocalSets) -> LinkCosts:
        s = self.settings
        costs = LinkCosts.of_paper if s.convention == "paper" else LinkCosts.of_program
        return costs(family, self.constraints, s.xi, s.empty_penalty)

    def _share(self, family: FocalSets) -> float:
        """Weight of the objective of ECM in the whole: squared distances, beside plausibilities that have no units."""
        squared_unit = 1.0
        if self.settings.convention == "scaled":
            squared_unit = _SQUARED_UNIT * self.mean_squared_deviation / self.data.shape[1] or 1.0
        return (1 - self.settings.xi) / (self.total_weight * len(family) * squared_unit)

    def _squared_costs(self, model: PrototypeModel) -> np.ndarray:
        """(q, f) costs of the squared masses of the linked objects."""
        family = model.family
        factor, *_ = model.step.kernel_arguments()
        costs = np.full((len(self.linked), len(family)), model.step.delta2)
        costs[:, family.cardinality > 0] = factor * model.squared_distances(self.linked_data)
        return self._share(family) * costs * self.linked_weights[:, None]

    def _linked_statistics(self, model: PrototypeModel, masses: np.ndarray) -> Statistics:
        """Sums over the linked objects; the objective is left to the caller."""
        W = self.linked_weights[:, None] * masses[:, model.family.cardinality > 0] ** 2
        X = self.linked_data
        if has_missing(X):
            return Statistics(0.0, *sums_of_present(X, W))
        second = np.zeros((0, 0, W.shape[1]))
        if model.metrics is not None:
            second = np.einsum("id,ie,ij->dej", X, X, W, optimize=True)
            second *= np.tri(X.shape[1])[:, :, None]
        return Statistics(0.0, W.sum(axis=0), X.T @ W, second)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[PrototypeModel]) -> CredalPartition:
        masses = run.model.masses(self.data, self.apply)
        masses[self.linked.places] = self._linked_masses(run.model)
        return CredalPartition.unchecked(masses, run.model.family)

    def result(self, run: Run[PrototypeModel]) -> tuple[ConstrainedModel, np.ndarray]:
        model = run.model
        centers = model.centers if self.origin is None else model.centers + self.origin
        prototypes = PrototypeModel(model.step, centers, model.metrics, self.within)
        masses = prototypes.masses(self.values, self.apply)
        masses[self.linked.places] = self._linked_masses(model)
        places = np.sort(self.linked.places)
        linked = References.of(AttributeSource(self.values), places)
        return ConstrainedModel(prototypes, linked, masses[places]), masses

    def _linked_masses(self, model: PrototypeModel) -> np.ndarray:
        """Best masses of the linked objects, found from those of the iteration before."""
        costs = self._squared_costs(model), self._link_costs(model.family)
        return self.linked.improved_masses(self._before(model), *costs)


def _among_weighted(constraints: Constraints, weights: np.ndarray) -> Constraints:
    """The constraints between objects of positive weight."""
    must, cannot = constraints.must_link, constraints.cannot_link
    present = weights > 0
    return Constraints(must[present[must].all(axis=1)], cannot[present[cannot].all(axis=1)])
