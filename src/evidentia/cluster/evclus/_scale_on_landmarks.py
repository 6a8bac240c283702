"""The scale of many objects, found on some of the landmarks that stand for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidentia.belief import FocalSets
from evidentia.cluster._medoid_starts import masses_of_labels, medoid_starts, random_masses
from evidentia.cluster.evclus._conflict_problems import AllPairs, Links
from evidentia.cluster.evclus._fitted_pairs import FittedPairs, ScaleChoice
from evidentia.cluster.evclus._scale import Scale, ScaleTrial, likelihood_of_clusters
from evidentia.dissimilarity.transform import to_conflict
from evidentia.optimize.blocks import Apply
from evidentia.partition import CredalPartition

__all__ = ["ScaleOnLandmarks"]

_SHARE, _FEWEST = 1 / 2, 300  # of the landmarks
_SWEEPS = 8  # after which labels hardly change


@dataclass(frozen=True)
class ScaleOnLandmarks:
    """Lets scales compete on half of the landmarks, a few sweeps from one start at each of them.

    Attributes
    ----------
    places : (t,) array
        Which of the landmarks.
    D : (t, t) array
        Their dissimilarities.
    counts : (t,) array or None
        How much each of them counts.
    dimension : float
    max_iter : int
    tol : float
        When a descent ends, after a few sweeps at the latest.
    """

    places: np.ndarray
    D: np.ndarray
    counts: np.ndarray | None
    dimension: float
    max_iter: int
    tol: float

    @classmethod
    def of(cls, pairs: FittedPairs, max_iter: int, tol: float) -> ScaleOnLandmarks:
        D = pairs.dissimilarities
        assert isinstance(D, np.ndarray)
        size = min(len(D), max(round(_SHARE * len(D)), _FEWEST))
        places = np.arange(size) * len(D) // size
        counts = None if pairs.counts is None else pairs.counts[places]
        return cls(places, D[np.ix_(places, places)], counts, pairs.dimension, min(max_iter, _SWEEPS), tol)

    def found(
        self,
        scales: list[ScaleChoice],
        family: FocalSets,
        given: np.ndarray | None,
        init: object,
        rng: np.random.Generator,
        apply: Apply,
    ) -> Scale:
        """How well each of the scales does; from the masses that are ``given`` for all landmarks, or as ``init``
        says."""

        def tried(scale: ScaleChoice, seed: int) -> ScaleTrial:
            draw, problem = np.random.default_rng(seed), AllPairs(to_conflict(self.D, scale.d0), self.counts)
            if given is not None:
                start = given[self.places]
            elif init == "random":
                start = random_masses(len(self.D), family, draw)
            else:
                medoids = medoid_starts(problem.delta, family.n_clusters, 1, draw, self.counts)[0]
                start = masses_of_labels(problem.delta[medoids].argmin(axis=0), family)
            order, nobody = draw.permutation(len(start)), Links.none(len(start))
            masses, _, _ = problem.descend(start, family, order, self.max_iter, self.tol, nobody, 0.0)
            labels = CredalPartition.unchecked(masses, family).labels
            likelihood = likelihood_of_clusters(self.D, labels, self.dimension, self.counts)
            return ScaleTrial(scale.quantile, scale.d0, likelihood)

        seeds = rng.integers(0, 2**63, len(scales))
        return Scale(tuple(apply(tried, list(zip(scales, seeds, strict=True)))))
