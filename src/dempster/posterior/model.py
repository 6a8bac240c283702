r"""Probabilities and masses of the clusters of any clustering: the law of doubt.

Given a table and the clusters that were found, how plausible is each cluster, and each set of
clusters, for each object? The probability of cluster k for an object x is

.. math:: P(k | x) \propto \sum_v w_v P_v(k | x) \, (g_k(x) / \bar g_k)^{1 - \tau}.

The probabilities :math:`P_v` are those of several mixtures with the weights :math:`w_v`
(`dempster.posterior.comparison`). :math:`g_k(x)` is the share of cluster k in a random walk from x
to its neighbors, and :math:`\bar g_k` is its mean (`dempster.posterior.neighbors`). The trust
:math:`\tau` is one if no mixture of several components per cluster is better than those of one. The
mixtures are then sufficient, and the neighbors, which only know the clusters, would count them
twice. The worse single components fit the rows, the more weight the evidence of the neighbors has.

**An object is no evidence for itself.** The rows are divided into five folds. Axes and parameters
are estimated five times, without one of the folds. A training row gets the probabilities without
its fold, and it is not its own neighbor. For new rows, the logarithms of the five estimates are
averaged.

**Ignorance.** Let l be the log odds that an object is not in its most probable cluster. The
variance of l is estimated by the jackknife: it is 4 times the variance of the estimates
without one of the five folds, plus the variance between the mixtures. With four degrees of freedom,
:math:`l + 1.53 s` is an upper bound of l with the probability .9. The bound of the doubt
:math:`1 - P` is the smallest mass outside of the most probable cluster
(`dempster.posterior.masses`). It approaches the doubt as rows are added.

**Outliers.** The radius of an object is its distance to the nearest component, in standard
deviations. An object has mass on the empty set if its radius is beyond the fences of a box plot of
the radii of the training rows, and if a larger radius has a probability below 1 % in the mixtures
of single components.
The first condition does not depend on the tails of the mixture, which outliers make heavier; the
second one limits the share of outliers if clusters have heavy tails. If objects are scattered
between the clusters, the mixtures have a background, and its probability is the mass on the empty
set.

**Labels that are wrong.** An object has another most probable cluster than the one that was found
if the density contradicts the cluster, even if the neighbors do not.

The fit uses at most 4,000 rows, and the time of `masses` is linear in the number of rows. Objects
without coordinates get those of classical scaling (`dempster.posterior.scaling`). Equal rows are
merged, so that weights and repetitions are equivalent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from scipy.special import expit, logsumexp

from dempster._arrays import Array
from dempster._random import as_random_state
from dempster.belief import FocalSets
from dempster.belief.focal_sets import has_many_clusters
from dempster.dissimilarity.sources import DissimilaritySource, References
from dempster.optimize.blocks import Apply, row_blocks
from dempster.posterior.axes import Axes
from dempster.posterior.boundaries import count_boundaries, neighbor_family
from dempster.posterior.collection import collect_masses, compress_masses
from dempster.posterior.comparison import compare
from dempster.posterior.densities import (
    Components,
    FoldMixture,
    Points,
    normalize_logs,
    sum_owned,
)
from dempster.posterior.evidence import ClusterEvidence, quadratic_parts
from dempster.posterior.folds import N_FOLDS, draw_folds
from dempster.posterior.masses import to_masses
from dempster.posterior.neighbors import NeighborShares
from dempster.posterior.scaling import Scaling

MAX_ROWS = 4000  # rows from which the law is estimated
_BOUND = 1.533  # quantile of the t distribution with 4 degrees of freedom for 0.9
_INNER, _OUTER = 1.5, 4.5  # fences in interquartile ranges; their middle is the usual 3
_MAX_P = 0.01  # largest p-value with mass on the empty set; half of it has the mass 1/2
_MIN_LOG_ODDS = -700.0
_TINY = np.finfo(float).tiny


class Posterior(NamedTuple):
    """Posterior probabilities of m rows."""

    log_probabilities: np.ndarray  # (m, c)
    # (m,), upper bounds of one minus the probability of the most probable cluster
    bounds: np.ndarray
    radii: np.ndarray  # (m,), distances to the nearest components
    background: np.ndarray  # (m,), probability of the background


@dataclass(frozen=True)
class PosteriorModel:
    """Estimate of the probabilities of the clusters, from a table and its clusters.

    ``masses`` computes the masses of new rows, and ``training_masses`` those of the training rows,
    without evidence from the row itself.
    """

    family: FocalSets
    neighbors: NeighborShares
    axes: Axes
    mixtures: tuple[FoldMixture, ...]
    power: float  # exponent of the evidence of the neighbors
    scaling: Scaling | None  # None if the source has coordinates
    folds: Annotated[np.ndarray, "r:int"]  # fold of each reference row
    fences: Annotated[
        np.ndarray, "2"
    ]  # radii from which an object can be, and is, an outlier
    cluster_means: Annotated[np.ndarray, "c p"]

    @classmethod
    def fit(
        cls,
        source: DissimilaritySource,
        labels: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        random_state: Any,
        apply: Apply,
    ) -> Self:
        """Estimate the probabilities.

        ``labels`` contains the clusters, shape (n,), or -1 if the cluster is unknown, or the
        memberships, shape (n, c). A weight of two is equivalent to repeating a row.
        """
        rng = as_random_state(random_state)
        positions, members, weights = _draw_rows(source, labels, weights, rng)
        sample = source.subset(positions)
        n = len(positions)
        c = members.shape[1]
        fold = draw_folds(members, rng)
        scaling = None
        if sample.is_euclidean:
            X = np.asarray(sample.objects, float)
        else:
            scaling, X = Scaling.fit(sample, rng)
        references = References.from_source(source, positions)
        neighbors = NeighborShares.fit(references, sample, members, weights)
        comparison = compare(X, members, weights, fold, rng)
        axes = comparison.training.axes
        mixtures = comparison.mixtures()
        sizes = members.T @ weights
        means = members.T @ (X * weights[:, None]) / np.maximum(sizes, _TINY)[:, None]
        family = FocalSets.simple(c, omega=False)
        parts = neighbors, axes, mixtures, 1 - comparison.trust, scaling, fold
        model = cls(family, *parts, np.array([np.inf, np.inf]), means)
        rows = sample.matrix if sample.objects is None else sample.objects
        found = model._posterior(X, model.neighbors.training_shares(rows), np.arange(n))
        low, high = np.quantile(found.radii, [0.25, 0.75])
        fences = high + np.array([_INNER, _OUTER]) * (high - low)
        counts = count_boundaries(-found.log_probabilities, weights)
        return replace(model, fences=fences, family=neighbor_family(counts))

    # ---- results ---------------------------------------------------------------------------------

    @property
    def references(self) -> References:
        """Training rows with which other rows are compared."""
        return self.neighbors.references

    def masses(self, values: Any, apply: Apply) -> Array:
        """Compute the masses of n rows, shape (n, f).

        A row that is equal to a training row gets the masses of this row.
        """
        return self._masses(values, self._find_equal(values), apply)

    def training_masses(self, values: Any, apply: Apply) -> Array:
        """Compute the masses of the training rows, in which no row is evidence for itself."""
        return self._masses(values, self._find_references(values), apply)

    def probabilities(self, values: Any, *, training: bool = False) -> np.ndarray:
        """Return the probabilities of the clusters for n rows, shape (n, c)."""
        own = self._find_references(values) if training else np.full(len(values), -1)
        return np.exp(self._posterior_of_rows(values, own).log_probabilities)

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """Return the evidence for each cluster: the logarithm of its probability.

        Without coordinates, the evidence is the share of the cluster among the neighbors.
        """
        if self.scaling is not None:
            return self.neighbors.evidence(values, itself)
        references = self.neighbors.references
        own = np.flatnonzero(references.positions == itself)
        if len(own) == 0:
            own = np.array([-1])
        row = np.asarray(values, float)
        total = self._posterior_of_rows(values, own).log_probabilities[0]
        fold = self.folds[own[0]] % N_FOLDS if own[0] >= 0 else 0
        mixture = max(self.mixtures, key=lambda one: one.weight)
        points = self.axes.project(row, fold)
        components = mixture.components(fold)
        logs, squares = mixture.family.log_joint(points, components)
        parts = np.zeros((row.shape[1], self.family.n_clusters))
        for k, mean in enumerate(self.cluster_means):
            own_parts = np.flatnonzero(mixture.owners == k)
            j = own_parts[logs[0, own_parts].argmax()]
            root = self.axes.matrix(fold) @ components.roots[j]
            q = len(components.means[j])
            square = max(float(squares[0, j]), _TINY)
            rate = 0.5
            if np.isfinite(mixture.freedom):
                # The logarithm is divided in proportion to the terms of the squared distance.
                nu = mixture.freedom
                rate *= (nu + q) * np.log1p(square / nu) / square
            parts[:, k] = -rate * quadratic_parts(row[0] - mean, root @ root.T)
        quantity = "logarithm of the probability"
        return ClusterEvidence.from_attributes(
            quantity, parts, total - parts.sum(axis=0)
        )

    def _find_equal(self, values: Any) -> np.ndarray:
        """Return the reference row that is equal to each row, or -1."""
        source = self.references.source
        if source is None:
            D = self.references.dissimilarities(values)
            nearest = D.argmin(axis=1)
            return np.where(D[np.arange(len(D)), nearest] == 0, nearest, -1)
        places = {key: i for i, key in enumerate(source.keys(source.objects))}
        return np.array([places.get(key, -1) for key in source.keys(values)], np.intp)

    def _find_references(self, values: Any) -> np.ndarray:
        """Return the reference row that is equal to each training row, or -1."""
        own = self._find_equal(values)
        own[self.references.positions] = np.arange(len(self.references))
        return own

    def _masses(self, values: Any, own: np.ndarray, apply: Apply) -> Array:
        dtype = getattr(values, "dtype", np.dtype(float))
        if dtype.kind != "f":
            dtype = np.dtype(float)

        def compute(start: int, stop: int) -> Array:
            rows = values[start:stop]
            found = self._posterior_of_rows(rows, own[start:stop])
            outlying = self._outlying(rows, own[start:stop], found)
            P = np.exp(found.log_probabilities)
            sets, masses = to_masses(P, found.bounds, outlying, self.family)
            if has_many_clusters(self.family):
                return compress_masses(self.family, sets, masses, dtype)
            out = np.zeros((stop - start, len(self.family)))
            np.add.at(out, (np.arange(stop - start)[:, None], sets), masses)
            return out

        blocks = row_blocks(len(values), most=None)
        return collect_masses(compute, blocks, self.family, dtype, apply)

    def _outlying(self, values: Any, own: np.ndarray, found: Posterior) -> np.ndarray:
        """Return the masses of the empty set."""
        inner, outer = self.fences
        far = ((found.radii - inner) / max(outer - inner, _TINY)).clip(0, 1)
        # Only few rows need their p-values, which are slow.
        rows = np.flatnonzero(far)
        if len(rows):
            X = self._coordinates(values[rows])
            p_values = [self._p_values_in_fold(X, k) for k in range(N_FOLDS)]
            rare = 1 - self._combine(np.array(p_values), own[rows]) / _MAX_P
            far[rows] = np.minimum(far[rows], rare.clip(0, 1))
        return np.maximum(far, found.background.clip(0, 1))

    def _coordinates(self, values: Any) -> np.ndarray:
        if self.scaling is None:
            return np.asarray(values, float)
        return self.scaling.coordinates(self.references, values)

    def _combine(self, values: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return the means over the folds, or the value of its fold for a training row."""
        mean = values.mean(axis=0)
        known = np.flatnonzero(own >= 0)
        mean[known] = values[self.folds[own[known]] % N_FOLDS, known]
        return mean

    def _posterior_of_rows(self, values: Any, own: np.ndarray) -> Posterior:
        X = self._coordinates(values)
        shares = np.broadcast_to(self.neighbors.mean, (len(X), self.family.n_clusters))
        if self.power > 0:
            shares = self.neighbors.shares_of(values, own)
        return self._posterior(X, shares, own)

    def _posterior(
        self, X: np.ndarray, shares: np.ndarray, own: np.ndarray
    ) -> Posterior:
        """Return the probabilities for coordinates and shares of the neighbors.

        ``own`` contains the reference row that is equal to each row, or -1.
        """
        evidence = self.power * self.neighbors.log_evidence(shares)
        found = [self._posterior_in_fold(X, k) for k in range(N_FOLDS)]
        logs, spreads, radii, background = map(np.array, zip(*found, strict=True))
        mean = self._combine(logs, own) + evidence
        mean -= logsumexp(mean, axis=1, keepdims=True)
        best = mean.argmax(axis=1)
        odds = np.array([_log_odds_of_rest(one, best) for one in logs])
        variance = (N_FOLDS - 1) * odds.var(axis=0)
        # If mixtures are rejected, their disagreement is settled by the neighbors.
        variance += (1 - self.power) * self._combine(spreads, own)
        bounds = expit(_log_odds_of_rest(mean, best) + _BOUND * np.sqrt(variance))
        far = self._combine(radii, own), self._combine(background, own)
        return Posterior(mean, bounds, *far)

    def _posterior_in_fold(self, X: np.ndarray, fold: int) -> tuple[np.ndarray, ...]:
        """Return log-probabilities, variances of log odds between mixtures, radii and background.

        Radii are means over the mixtures of single components.
        """
        points = self.axes.project(X, fold)
        radii = np.zeros(len(X))
        background = np.zeros(len(X))
        all_logs = []
        weights = np.array([one.weight for one in self.mixtures])
        n_clusters = self.family.n_clusters
        for mixture, single_weight in zip(
            self.mixtures, self._single_weights, strict=True
        ):
            components = mixture.components(fold)
            logs, squares = mixture.family.log_joint(points, components)
            if mixture.log_background is not None:
                background += mixture.weight * normalize_logs(logs)[0][:, -1]
            P, _ = normalize_logs(logs[:, : len(mixture.owners)])
            clusters = sum_owned(P, mixture.owners, n_clusters)
            with np.errstate(divide="ignore"):
                all_logs.append(np.maximum(np.log(clusters), _MIN_LOG_ODDS))
            squares += _squared_residuals(mixture, components, points)
            radii += single_weight * np.sqrt(squares.min(axis=1))
        stacked = np.array(all_logs)
        mean = logsumexp(stacked, axis=0, b=weights[:, None, None])
        best = mean.argmax(axis=1)
        odds = np.array([_log_odds_of_rest(one, best) for one in stacked])
        between = weights @ np.square(odds - weights @ odds)
        return mean, between, radii, background

    @property
    def _single_weights(self) -> np.ndarray:
        """Weights of the mixtures of single components.

        A component of its own could be fitted to outliers.
        """
        c = self.family.n_clusters
        weights = [one.weight * (len(one.owners) == c) for one in self.mixtures]
        return np.array(weights) / sum(weights)

    def _p_values_in_fold(self, X: np.ndarray, fold: int) -> np.ndarray:
        """Return the largest probability of a larger distance: geometric means over mixtures."""
        points = self.axes.project(X, fold)
        logs = np.zeros(len(X))
        for mixture, weight in zip(self.mixtures, self._single_weights, strict=True):
            if weight == 0:
                continue
            components = mixture.components(fold)
            _, squares = mixture.family.log_joint(points, components)
            rest = _squared_residuals(mixture, components, points)
            q = points.coordinates.shape[1]
            p = mixture.family.p_values(squares, rest, q).max(axis=1)
            logs += weight * np.log(np.maximum(p, _TINY))
        return np.exp(logs)


def _squared_residuals(
    mixture: FoldMixture, components: Components, points: Points
) -> np.ndarray:
    """Return the squared lengths of the other dimensions, divided by their scales, (n, g)."""
    n, g = len(points.residuals), len(components.means)
    if mixture.dimension == 0:
        return np.zeros((n, g))
    return points.residuals[:, None] / components.spreads


def _log_odds_of_rest(logs: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the log odds that a row is not in the cluster ``best``."""
    rows = np.arange(len(logs))
    top = logs[rows, best]
    if logs.shape[1] == 1:
        return np.full(len(logs), _MIN_LOG_ODDS)
    rest = logs.copy()
    rest[rows, best] = -np.inf
    return np.maximum(logsumexp(rest, axis=1) - top, _MIN_LOG_ODDS)


def _draw_rows(
    source: DissimilaritySource,
    labels: np.ndarray,
    weights: np.ndarray | None,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions of different rows, their mean memberships and the sums of their weights."""
    labels = np.asarray(labels)
    n = len(source)
    chosen = np.arange(n)
    if weights is None:
        weights = np.ones(n)
    chosen = np.flatnonzero(weights > 0)
    if len(chosen) > MAX_ROWS:
        chosen = np.sort(rng.choice(chosen, MAX_ROWS, replace=False))
    weights = np.asarray(weights, float)[chosen]
    members = labels[chosen].astype(float)
    if labels.ndim == 1:
        members = (labels[chosen, None] == np.arange(labels.max() + 1)).astype(float)
    if source.objects is None:
        return chosen, members, weights
    keys = np.array(source.keys(source.rows(chosen)))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    total = np.bincount(inverse, weights)
    mean = np.zeros((len(first), members.shape[1]))
    np.add.at(mean, inverse, members * weights[:, None])
    return chosen[first], mean / total[:, None], total
