"""The mixture of EGMM: a Gaussian for every set of clusters, and the step of EM that improves it.

Notation of Jiao, Denoeux, Liu and Pan (2022): g nonempty focal sets A_j, means mu_k of the c clusters, the mean of set
A_j that of the mu_k with k in A_j, one covariance matrix Sigma.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from dempster._arrays import Array, is_tensor
from dempster.belief import FocalSets
from dempster.cluster._doubt import doubtful_masses
from dempster.cluster.evidence import ClusterEvidence, quadratic_parts
from dempster.cluster.on_device import mixtures as on_device
from dempster.cluster.on_device.mixtures import RoundComponents
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.normal_equations import solve_normal_equations

__all__ = ["EvidentialMixture", "MixtureSums", "positive_definite", "neighbors_in_metric"]


@dataclass(frozen=True)
class EvidentialMixture:
    """The parameters, and how they turn objects into masses.

    Attributes
    ----------
    components : FocalSets
        The sets that have a Gaussian.
    means : (c, p) array
        Of the clusters, measured from ``origin``.
    covariance : (p, p) array
    weights : (g,) array
        Of the components, one a nonempty set.
    origin : (p,) array or None
        To be taken off the objects first; None if they are measured from it already.
    unit : float
        In which means and covariance are measured; the objects too, if ``origin`` is None.
    doubtful : FocalSets or None
        Single clusters and pairs of neighbors: masses are then on these, read off from the probabilities of the
        single clusters, which are the components.
    """

    components: FocalSets
    means: np.ndarray
    covariance: np.ndarray
    weights: np.ndarray
    origin: np.ndarray | None = None
    unit: float = 1.0
    doubtful: FocalSets | None = None

    @property
    def family(self) -> FocalSets:
        """The sets that carry mass."""
        return self.components if self.doubtful is None else self.doubtful

    @property
    def sets(self) -> np.ndarray:
        """(g, c) membership of the nonempty sets that have a Gaussian."""
        return self.components.membership[self.components.cardinality > 0].astype(float)

    @property
    def n_parameters(self) -> float:
        """Free parameters: weights, means, covariance."""
        c, p = self.means.shape
        return len(self.weights) - 1 + c * p + p * (p + 1) / 2

    def round_components(self) -> RoundComponents:
        """In the metric of the covariance all components are round, with variance one."""
        sets = self.sets
        values, vectors = np.linalg.eigh(self.covariance)
        rounded = vectors / np.sqrt(values)
        places = (sets / sets.sum(axis=1, keepdims=True)) @ self.means @ rounded
        with np.errstate(divide="ignore"):
            constant = np.log(self.weights) - np.einsum("jd,jd->j", places, places) / 2
        normalizer = -(len(values) * np.log(2 * np.pi) + np.log(values).sum()) / 2
        if self.origin is not None:
            normalizer -= len(values) * np.log(self.unit)
        return RoundComponents(rounded, places, constant, float(normalizer), self.origin, self.unit)

    def _densities(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """A function of objects that gives their masses on the nonempty sets and their log-densities."""
        known = self.round_components()
        rounded, places, constant, normalizer = known.rounded, known.places, known.constants, known.normalizer

        def densities(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            objects = X.astype(float) if self.origin is None else (X - self.origin) / self.unit
            objects = objects @ rounded
            logs = objects @ places.T + constant
            top = logs.max(axis=1)
            logs -= top[:, None]
            np.exp(logs, out=logs)
            total = logs.sum(axis=1)
            logs /= total[:, None]
            return logs, np.log(total) + top - np.einsum("id,id->i", objects, objects) / 2 + normalizer

        return densities

    def masses(self, values: Array, apply: Apply) -> Array:
        """(n, f) masses of objects; those of a tensor are found where it is."""
        if is_tensor(values):
            return self.masses_on_device(values, values.device)
        densities = self._densities()
        out = np.zeros((len(values), len(self.family)), dtype=values.dtype)
        columns = np.flatnonzero(self.components.cardinality > 0)

        def write(start: int, stop: int) -> None:
            probabilities = densities(values[start:stop])[0]
            if self.doubtful is None:
                out[start:stop, columns] = probabilities
            else:
                out[start:stop] = doubtful_masses(probabilities, self.doubtful)

        apply(write, row_blocks(len(values), most=None))
        return out

    def masses_on_device(self, values: Array, device: Any) -> Array:
        """(n, f) masses of objects, by torch."""
        doubtful = self.doubtful is not None
        return on_device.masses_on_device(self.round_components(), self.family, values, device, doubtful=doubtful)

    def evidence(self, values: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the logarithm of the weight times the density of its Gaussian."""
        objects = np.asarray(values, dtype=float)
        gap = (objects if self.origin is None else (objects - self.origin) / self.unit) - self.means
        nonempty = np.cumsum(self.components.cardinality > 0) - 1
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights[nonempty[self.components.singleton_index]])
        constant = -np.linalg.slogdet(2 * np.pi * self.covariance)[1] / 2
        if self.origin is not None:
            constant -= self.means.shape[1] * np.log(self.unit)
        parts = -quadratic_parts(gap, np.linalg.inv(self.covariance)[None]).T / 2
        return ClusterEvidence.of_attributes("logarithm of weight times density", parts, weights + constant)

    def log_densities(self, X: Array, apply: Apply) -> Array:
        """(n,) logarithms of the densities of objects."""
        if is_tensor(X):
            return on_device.log_densities_on_device(self.round_components(), X)
        densities = self._densities()
        parts = apply(lambda start, stop: densities(X[start:stop])[1], row_blocks(len(X), most=None))
        return np.concatenate(parts)

    def sums(self, X: Array, weights: Array | None, apply: Apply) -> MixtureSums:
        """What a step of EM needs of the objects; ``weights`` is empty, or None, if all count alike."""
        if is_tensor(X):
            return MixtureSums(*on_device.sums_on_device(self.round_components(), X, weights))
        assert weights is not None
        densities = self._densities()

        def sums(start: int, stop: int) -> MixtureSums:
            masses, logs = densities(X[start:stop])
            if len(weights) == 0:
                return MixtureSums(float(logs.sum()), masses.sum(axis=0), masses.T @ X[start:stop])
            w = weights[start:stop]
            masses *= w[:, None]
            return MixtureSums(float(logs @ w), masses.sum(axis=0), masses.T @ X[start:stop])

        return reduce(add, apply(sums, row_blocks(len(X), most=None)))

    def step(self, sums: MixtureSums, second: np.ndarray, n: float, ridge: float) -> tuple[float, EvidentialMixture]:
        """Minus the penalised log-likelihood, and the mixture after one step of EM (Jiao et al., 2022).

        ``second`` is the weighted sum of x x', which needs no masses because they sum to one, ``n`` that of weights.
        """
        penalty = ridge * n / 2 * float(np.trace(np.linalg.inv(self.covariance))) if ridge > 0 else 0.0
        return penalty - sums.likelihood, self._maximizer(sums.total, sums.first, second, n, ridge)

    def _maximizer(
        self, total: np.ndarray, first: np.ndarray, second: np.ndarray, n: float, ridge: float
    ) -> EvidentialMixture:
        sets = self.sets
        mean = sets / sets.sum(axis=1, keepdims=True)
        means = solve_normal_equations((mean.T * total) @ mean, mean.T @ first)
        places = mean @ means
        cross = first.T @ places
        scatter = (second - cross - cross.T + (places.T * total) @ places) / n
        return replace(
            self, means=means, covariance=positive_definite(scatter + ridge * np.eye(len(scatter))), weights=total / n
        )


@dataclass(frozen=True)
class MixtureSums:
    """Sums over objects: they can be added over blocks of data.

    Attributes
    ----------
    likelihood : float
        Its logarithm.
    total : (g,) sum of masses
    first : (g, p) sum of m x
    """

    likelihood: float
    total: np.ndarray
    first: np.ndarray

    def __add__(self, other: MixtureSums) -> MixtureSums:
        return MixtureSums(self.likelihood + other.likelihood, self.total + other.total, self.first + other.first)

    def scaled(self, factor: float) -> MixtureSums:
        """The sums of objects that count for so much."""
        return MixtureSums(factor * self.likelihood, factor * self.total, factor * self.first)


def neighbors_in_metric(means: np.ndarray, covariance: np.ndarray) -> FocalSets:
    """Single clusters and pairs of neighbors, in the metric in which the covariance is round."""
    values, vectors = np.linalg.eigh(positive_definite(covariance))
    return FocalSets.neighbors(means @ (vectors / np.sqrt(values)), empty=False)


def positive_definite(covariance: np.ndarray) -> np.ndarray:
    """The same matrix if it is well conditioned, else with its smallest eigenvalues raised."""
    covariance = (covariance + covariance.T) / 2
    values, vectors = np.linalg.eigh(covariance)
    least = 1e-12 * max(float(values[-1]), np.finfo(float).tiny * 1e20)
    if values[0] >= least:
        return covariance
    return (vectors * np.maximum(values, least)) @ vectors.T
