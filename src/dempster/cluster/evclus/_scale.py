"""Which d0: the dissimilarity at which two objects are almost surely in different clusters, found from the data.

Clusters are found at several scales, and the scale whose clusters explain the data best is taken. What explains is
the likelihood of a round Gaussian in each cluster, with a size of its own (Celeux and Govaert's classification
likelihood): for clusters of n_k objects with half the mean squared dissimilarity w_k within,

    sum_k (n_k / n) (log(n_k / n) - (p / 2) log(w_k + 0.02 w)),

with w the mean of the w_k, which keeps a cluster of twins from deciding everything, and p the number of dimensions:
that of the attributes, or for dissimilarities without any the one that the distances to the nearest objects speak of.
Where landmarks stand for many objects, half of them are enough to choose (`ScaleOnLandmarks`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._medoid_starts import masses_from_medoids, random_masses
from dempster.cluster.evclus._pairs import (
    AllPairs,
    ConflictProblem,
    FittedPairs,
    Links,
    ScaleChoice,
    likelihood_of_clusters,
)
from dempster.dissimilarity.transform import to_conflict
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import as_likely
from dempster.partition import CredalPartition

__all__ = [
    "Scale",
    "ScaleTrial",
    "ScaleOnLandmarks",
    "StartsOfTrials",
]


@dataclass(frozen=True)
class ScaleTrial:
    """One scale that was tried: the quantile of the dissimilarities, d0, and the log-likelihood, per object, of the
    clusters found there."""

    quantile: float
    d0: float
    log_likelihood: float


@dataclass(frozen=True)
class Scale:
    """Scales that were tried."""

    trials: tuple[ScaleTrial, ...]

    @property
    def best(self) -> ScaleTrial:
        """That of largest likelihood; the middle of equal ones."""
        equal = as_likely([trial.log_likelihood for trial in self.trials])
        return self.trials[equal[len(equal) // 2]]

    def reasons(self) -> str:
        """In words: the best scale, and how much worse the others explain the data."""
        best = self.best

        def behind(trial: ScaleTrial) -> float:
            same = trial.log_likelihood == best.log_likelihood  # perhaps both infinite
            return 0.0 if same else trial.log_likelihood - best.log_likelihood

        others = ", ".join(f"{trial.quantile:g} ({behind(trial):+.2f})" for trial in self.trials if trial is not best)
        where = f"{best.d0:.4g}, the quantile {best.quantile:g} of the dissimilarities"
        return f"{where}; log-likelihood at other quantiles: {others}" if others else where


_SHARE, _FEWEST = 1 / 2, 300  # of the landmarks
_SWEEPS = 8  # after which labels hardly change


@dataclass(frozen=True)
class StartsOfTrials:
    """Where trials start: from ``given`` masses of all landmarks, else so many times, at random or from medoids."""

    random: bool
    number: int
    given: np.ndarray | None

    def masses(self, trial: ScaleOnLandmarks, delta: np.ndarray, family: FocalSets, rng: np.random.Generator) -> list:
        if self.given is not None:
            return [self.given[trial.places]]
        if self.random:
            return [random_masses(len(delta), family, rng) for _ in range(self.number)]
        return masses_from_medoids(delta, family, self.number, rng, trial.counts)


@dataclass(frozen=True)
class ScaleOnLandmarks:
    """Lets scales compete on half of the landmarks, for a few sweeps.

    Attributes
    ----------
    places : (t,) array
        Which of the landmarks.
    D : (t, t) array
        Their dissimilarities.
    counts : (t,) array or None
        How much each of them counts.
    dimension : float
    starts : StartsOfTrials
    max_iter : int
    tol : float
        When a descent ends, after a few sweeps at the latest.
    """

    places: np.ndarray
    D: np.ndarray
    counts: np.ndarray | None
    dimension: float
    starts: StartsOfTrials
    max_iter: int
    tol: float

    @classmethod
    def of(cls, pairs: FittedPairs, starts: StartsOfTrials, max_iter: int, tol: float) -> ScaleOnLandmarks:
        D = pairs.dissimilarities
        assert isinstance(D, np.ndarray)
        size = min(len(D), max(round(_SHARE * len(D)), _FEWEST))
        places = np.arange(size) * len(D) // size
        counts = None if pairs.counts is None else pairs.counts[places]
        return cls(places, D[np.ix_(places, places)], counts, pairs.dimension, starts, min(max_iter, _SWEEPS), tol)

    def found(
        self, scales: list[ScaleChoice], family: FocalSets, rng: np.random.Generator, apply: Apply
    ) -> tuple[Scale, np.ndarray]:
        """How well each of the scales does, and the clusters of these landmarks at the best, by their numbers. Of
        several starts at one scale, the one counts that leads to the best clusters."""

        def tried(scale: ScaleChoice, seed: int) -> tuple[ScaleTrial, np.ndarray]:
            draw, problem = np.random.default_rng(seed), AllPairs(to_conflict(self.D, scale.d0), self.counts)
            nobody, found = Links.none(len(self.D)), []
            for start in self.starts.masses(self, problem.delta, family, draw):
                order = draw.permutation(len(start))
                masses, _, _ = problem.descend(start, family, order, self.max_iter, self.tol, nobody, 0.0)
                labels = CredalPartition.unchecked(masses, family).labels
                found.append((likelihood_of_clusters(self.D, labels, self.dimension, self.counts), labels))
            likelihood, labels = found[as_likely([each[0] for each in found])[0]]
            return ScaleTrial(scale.quantile, scale.d0, likelihood), labels

        seeds = rng.integers(0, 2**63, len(scales))
        results = list(apply(tried, list(zip(scales, seeds, strict=True))))
        scale = Scale(tuple(trial for trial, _ in results))
        return scale, results[scale.trials.index(scale.best)][1]

    def spread(self, labels: np.ndarray, problem: ConflictProblem) -> np.ndarray:
        """Labels of all landmarks: the others join the cluster that they should conflict least with, on average."""
        assert isinstance(problem, AllPairs)
        members = np.zeros((len(self.places), int(labels.max()) + 1))
        members[np.arange(len(labels)), labels] = 1 if self.counts is None else self.counts
        total = members.sum(axis=0)
        conflict = problem.delta[:, self.places] @ members / np.where(total > 0, total, 1)
        everyone = np.where(total > 0, conflict, np.inf).argmin(axis=1)
        everyone[self.places] = labels
        return everyone
