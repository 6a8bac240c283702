"""How BootClus comes from fitted mixtures to masses: reference objects, intervals of their pairs, masses that match."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._families import named_family, require_singletons
from dempster.cluster._search import Method, Sample
from dempster.cluster.mixtures._evidential_mixture import neighbors_in_metric
from dempster.cluster.mixtures._pair_fit import (
    PairFamily,
    PairMasses,
    choose_references,
    fit_masses,
    intervals_of_all_pairs,
)
from dempster.cluster.mixtures._pair_model import PairModel
from dempster.cluster.mixtures.mixture_fits import MixtureFits
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition
from dempster.partition.nearest_pairs import mutual_neighbors

__all__ = ["BootClusSettings", "BootClusMethod", "pair_family"]

_ALL_PAIRS_UP_TO = 2000  # objects, for n_partners="auto"
_PARTNERS = 500  # of each object beyond
_COMPARED = 150  # of these, with whom the other objects are compared: more change neither masses nor coverage


@dataclass(frozen=True)
class BootClusSettings:
    """What a user may set, once the mixtures are fitted."""

    confidence: float
    n_partners: int | str
    max_iter: int
    tol: float


class BootClusMethod(Method[PairMasses, PairMasses]):
    """The pairs of the reference objects, with one start: what the mixture says of each object."""

    def __init__(self, settings: BootClusSettings, sample: Sample[np.ndarray], fits: MixtureFits, apply: Apply):
        self.settings, self.values, self.fits, self.apply = settings, sample.values, fits, apply
        self.which, self.compared = self._reference_positions()
        data = np.ascontiguousarray(self.values, dtype=float)
        self.references = References.of(AttributeSource(data), self.which)
        probabilities = fits.bootstraps.posteriors(data[self.which], apply)
        self.lower, self.upper = intervals_of_all_pairs(probabilities, settings.confidence, apply)

    def _reference_positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the reference objects; which of them others are compared with."""
        n, wanted = len(self.values), self.settings.n_partners
        if wanted == "all" or (wanted == "auto" and n <= _ALL_PAIRS_UP_TO):
            return np.arange(n), np.arange(n)
        rng, labels = np.random.default_rng(self.fits.for_references), self.fits.posterior.argmax(axis=1)
        if not isinstance(wanted, str):
            which = choose_references(labels, wanted, rng)
            return which, np.arange(len(which))
        which = choose_references(labels, _PARTNERS, rng)
        return which, choose_references(labels[which], _COMPARED, rng)

    def given_start(self, family: FocalSets) -> PairMasses:
        return PairFamily.of(family).start(self.fits.posterior[self.which])

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[PairMasses], int]:
        return (), 0

    def descend(self, start: PairMasses) -> Run[PairMasses]:
        return fit_masses(start, self.lower, self.upper, self.settings.max_iter, self.settings.tol)

    def partition(self, run: Run[PairMasses]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses, run.model.family.sets)

    def result(self, run: Run[PairMasses]) -> tuple[PairModel, np.ndarray]:
        model = PairModel(self.fits.bootstraps, self.settings.confidence, self.references, run.model, self.compared)
        return model, model.masses(self.values, self.apply)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(p,) lower and upper bounds of the pairs (0, 1), (0, 2), ..., (1, 2), ... of the reference objects."""
        right = np.triu_indices(len(self.which), 1)
        return self.lower[right], self.upper[right]


def pair_family(focal_sets: str | FocalSets, fits: MixtureFits, n_neighbor_clusters: int) -> FocalSets:
    """What the parameter of BootClus stands for: with "auto" pairs of neighboring means, with "selected" pairs of
    mutually most similar clusters by the similarity sum_i pi_ik pi_il."""
    if isinstance(focal_sets, FocalSets):
        require_singletons(focal_sets, "belief in a pair comes from them")
        return focal_sets
    posterior, mixture = fits.posterior, fits.mixture
    n_clusters = posterior.shape[1]
    if focal_sets == "auto":
        within = np.tensordot(mixture.weights_, mixture.covariances_, axes=1)
        return neighbors_in_metric(mixture.means_, within)
    if focal_sets == "selected":
        similar = mutual_neighbors(posterior.T @ posterior, n_neighbor_clusters)
        return FocalSets.with_pairs(n_clusters, similar, empty=False, omega=False)
    return named_family(focal_sets, n_clusters, empty=False, omega=False)
