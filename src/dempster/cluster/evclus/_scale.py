"""Selection of ``d0``, the scale of the dissimilarities, by the likelihood of the clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dempster._arrays import divide
from dempster._errors import InvalidInputError
from dempster.cluster.evclus._fitted_pairs import (
    ALL_ZERO,
    ASSESSMENT_PAIRS,
    FittedPairs,
)
from dempster.cluster.evclus._pairs import AllPairs, ConflictProblem, WeightedPairs
from dempster.dissimilarity.transform import conflicts_at, scale_at
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import find_likeliest

# quantiles of the dissimilarities that are candidates for d0
SCALES = (0.06, 0.2, 0.35, 0.5, 0.8, 1.0)
# share of the mean variance that is added to the variance of each cluster, which may be zero
_MIN_VARIANCE = 0.02
# share and minimum number of landmarks used to select d0
_TRIAL_SHARE = 1 / 2
_MIN_TRIAL_LANDMARKS = 300


@dataclass(frozen=True)
class ScaleTrial:
    """Candidate value of the parameter ``d0`` of `EVCLUS`."""

    # quantile of the dissimilarities that is equal to d0; NaN if d0 is a number set by the user
    quantile: float
    d0: float
    # log-likelihood per object of the clusters found with this d0; NaN before the fit
    log_likelihood: float = np.nan


@dataclass(frozen=True)
class Scale:
    """Candidate values of ``d0``.

    The one whose clusters have the largest likelihood is selected.
    """

    trials: tuple[ScaleTrial, ...]

    @property
    def is_open(self) -> bool:
        """Whether there are several candidates whose likelihoods have not been computed."""
        return len(self.trials) > 1 and bool(np.isnan(self.trials[0].log_likelihood))

    @property
    def position(self) -> int:
        """Index of the candidate with the largest likelihood.

        In case of ties, the median candidate.
        """
        if len(self.trials) == 1:
            return 0
        ties = find_likeliest([trial.log_likelihood for trial in self.trials])
        return int(ties[len(ties) // 2])

    @property
    def best(self) -> ScaleTrial:
        """Candidate with the largest likelihood; in case of ties, the median candidate."""
        return self.trials[self.position]

    def with_likelihoods(self, log_likelihoods: Sequence[float]) -> Scale:
        """Return a copy of the candidates with the given log-likelihoods."""
        pairs = zip(self.trials, log_likelihoods, strict=True)
        return Scale(
            tuple(replace(trial, log_likelihood=value) for trial, value in pairs)
        )

    def reasons(self) -> str:
        """Return a text with the selected d0 and the likelihoods of the other candidates."""
        best = self.best
        others = []
        for trial in self.trials:
            difference = 0.0  # Infinity minus infinity would be NaN.
            if trial.log_likelihood != best.log_likelihood:
                difference = trial.log_likelihood - best.log_likelihood
            if trial is not best:
                others.append(f"{trial.quantile:g} ({difference:+.2f})")
        selected = (
            f"{best.d0:.4g}, the quantile {best.quantile:g} of the dissimilarities"
        )
        if others:
            return f"{selected}; log-likelihood at other quantiles: {', '.join(others)}"
        return selected


def candidate_scales(
    fitted: FittedPairs,
    n_clusters: int,
    d0: float | str,
    quantile: float | None,
    rng: np.random.Generator,
) -> Scale:
    """Return the candidate values of ``d0``, which are quantiles of the dissimilarities."""
    pairs = fitted.weighted_pairs
    are_equal = not np.any(pairs.dissimilarity > 0)
    if are_equal and n_clusters > 1:
        raise InvalidInputError(ALL_ZERO)
    if not isinstance(d0, str):
        return Scale((ScaleTrial(np.nan, float(d0)),))
    if are_equal:  # Every d0 gives the same target conflicts.
        return Scale((ScaleTrial(np.nan, 1.0),))
    distinct = fitted.distinct
    weights = fitted.counts
    if (
        len(fitted.fitted) < len(distinct.positions)
        and fitted.source.metric == "euclidean"
    ):
        weights = distinct.weights
        pairs = WeightedPairs.sample(
            fitted.source, distinct.positions, ASSESSMENT_PAIRS, rng
        )
        pairs = pairs.multiply(weights)
    # If all objects have equal weights, a pair that was drawn twice counts once.
    has_equal_weights = weights is None and np.ptp(pairs.weight) <= 1
    pair_weights = None if has_equal_weights else pairs.weight
    if quantile is not None:
        level = float(quantile)
        return Scale(
            (ScaleTrial(level, scale_at(pairs.dissimilarity, level, pair_weights)),)
        )
    # With many equal objects a quantile can be zero, which is not a valid d0. The largest quantile
    # is positive.
    trials = []
    for level in SCALES:
        d0 = scale_at(pairs.dissimilarity, level, pair_weights, zero=level < SCALES[-1])
        if d0 > 0:
            trials.append(ScaleTrial(level, d0))
    return Scale(tuple(trials))


class ScaleSearch:
    """Search for the value of ``d0`` whose clusters have the largest likelihood.

    ``scale`` contains the candidates. If there are several, their likelihoods are those of short
    fits to landmarks (`try_landmarks`), or those of fits to all objects (`select`).
    ``landmark_labels`` contains the clusters of the landmarks that `try_landmarks` found.
    """

    def __init__(self, pairs: FittedPairs, scale: Scale, rng: np.random.Generator):
        self.pairs = pairs
        self.scale = scale
        self.rng = rng
        self.landmark_labels: np.ndarray | None = None
        self._problems: dict[int, ConflictProblem] = {}

    @property
    def positions(self) -> Sequence[int]:
        """Indices of the selected candidate, or of all candidates before one is selected."""
        if self.scale.is_open:
            return range(len(self.scale.trials))
        return [self.scale.position]

    @cached_property
    def _dimension(self) -> float:
        return self.pairs.dimension(self.rng)

    def problem_at(self, trial: int) -> ConflictProblem:
        """Return the optimization problem for the candidate with the index ``trial``."""
        if trial not in self._problems:
            self._problems[trial] = self.pairs.problem(self.scale.trials[trial].d0)
        return self._problems[trial]

    def select(self, labelings: Iterable[np.ndarray], trials: Sequence[int]) -> int:
        """Return the index of the labels of the fitted objects with the largest likelihood.

        ``trials`` contains the candidate with which each labeling was found. If no candidate is
        selected yet, there is at least one labeling for each of them.
        """
        likelihoods = self.likelihoods(labelings)
        if self.scale.is_open:
            largest = np.full(len(self.scale.trials), -np.inf)
            np.maximum.at(largest, trials, likelihoods)
            self.scale = self.scale.with_likelihoods(largest.tolist())
        is_selected = np.asarray(trials) == self.scale.position
        selected = np.where(is_selected, likelihoods, -np.inf)
        return int(find_likeliest(selected.tolist())[0])

    def likelihoods(self, labelings: Iterable[np.ndarray]) -> list[float]:
        """Return the log-likelihood per object of each labeling of the fitted objects."""
        D = self.pairs.imputed
        counts = self.pairs.counts
        return [
            likelihood_of_clusters(D, labels, self._dimension, counts)
            for labels in labelings
        ]

    def try_landmarks(
        self,
        cluster: Callable[
            [AllPairs, np.ndarray, np.random.Generator], Iterable[np.ndarray]
        ],
        apply: Apply,
    ) -> None:
        """Select ``d0`` by clustering half of the landmarks, and assign the others to the clusters.

        ``cluster`` returns the labels of several short fits, given the problem, the positions of
        its objects among the landmarks and a random generator.
        """
        D = self.pairs.imputed
        assert isinstance(D, np.ndarray)
        size = min(len(D), max(round(_TRIAL_SHARE * len(D)), _MIN_TRIAL_LANDMARKS))
        places = np.arange(size) * len(D) // size
        D = D[np.ix_(places, places)]
        counts = self.pairs.counts
        if counts is not None:
            counts = counts[places]
        dimension = self._dimension

        def cluster_at(d0: float, seed: int) -> tuple[float, np.ndarray]:
            """Return the largest likelihood at one value of d0, and the labels."""
            problem = AllPairs(conflicts_at(D, d0), counts)
            labelings = list(cluster(problem, places, np.random.default_rng(seed)))
            likelihoods = [
                likelihood_of_clusters(D, labels, dimension, counts)
                for labels in labelings
            ]
            best = find_likeliest(likelihoods)[0]
            return likelihoods[best], labelings[best]

        seeds = self.rng.integers(0, 2**63, len(self.scale.trials))
        d0s = [trial.d0 for trial in self.scale.trials]
        results = apply(cluster_at, list(zip(d0s, seeds, strict=True)))
        self.scale = self.scale.with_likelihoods(
            [likelihood for likelihood, _ in results]
        )
        labels = results[self.scale.position][1]
        problem = self.problem_at(self.scale.position)
        assert isinstance(problem, AllPairs)
        # The remaining landmarks join the cluster with the smallest mean target conflict.
        members = np.zeros((size, int(labels.max()) + 1))
        members[np.arange(size), labels] = 1 if counts is None else counts
        total = members.sum(axis=0)
        conflict = divide(problem.delta[:, places] @ members, total, np.inf)
        self.landmark_labels = conflict.argmin(axis=1)
        self.landmark_labels[places] = labels


def likelihood_of_clusters(
    dissimilarities: np.ndarray | WeightedPairs,
    labels: np.ndarray,
    dimension: float,
    weights: np.ndarray | None = None,
) -> float:
    """Return the log-likelihood per object of clusters that are spherical Gaussians.

    The classification likelihood (Celeux and Govaert, 1992) is, up to a constant,

        sum_k (n_k / n) (log(n_k / n) - (p / 2) log(w_k + 0.02 w)),

    where n_k is the size of cluster k, w_k is half of the mean squared dissimilarity within cluster
    k, w is the mean of w_k over the objects, and p is the dimension. ``dissimilarities`` is an
    array of shape (n, n) or `WeightedPairs`.
    """
    if weights is None:
        weights = np.ones(len(labels))
    clusters, at = np.unique(labels, return_inverse=True)
    total = np.bincount(at, weights)
    if isinstance(dissimilarities, WeightedPairs):
        other_objects = 1 - np.bincount(at, weights**2) / total**2
        within = _mean_within(dissimilarities, at, len(clusters)) * other_objects
    else:
        members = np.where(labels == clusters[:, None], weights, 0.0)
        sums = members @ np.square(dissimilarities, dtype=float)
        within = np.einsum("ki,ki->k", sums, members) / (2 * total**2)
    share = total / total.sum()
    mean = float(share @ within)
    if not mean > 0:  # All objects of each cluster are equal.
        return np.inf
    return float(
        share @ (np.log(share) - dimension / 2 * np.log(within + _MIN_VARIANCE * mean))
    )


def _mean_within(
    pairs: WeightedPairs, labels: np.ndarray, n_clusters: int
) -> np.ndarray:
    """Return half of the mean squared dissimilarity within each cluster.

    A cluster without pairs gets the mean over all clusters.
    """
    together = labels[pairs.i] == labels[pairs.j]
    cluster = labels[pairs.i[together]]
    weight = pairs.weight[together]
    squares = weight * np.square(pairs.dissimilarity[together])
    sums = np.bincount(cluster, squares, n_clusters)
    counts = np.bincount(cluster, weight, n_clusters)
    overall = sums.sum() / max(counts.sum(), np.finfo(float).tiny)
    return divide(sums, counts, overall) / 2
