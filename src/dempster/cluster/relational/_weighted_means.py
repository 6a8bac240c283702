"""Prototypes known by their dissimilarities only: weighted means of objects in a space nobody has to see.

If Delta holds squared Euclidean distances and the weights p sum to one, the mean of the objects with weights p is at
the squared distance (Delta p)_i - p' Delta p / 2 from object i (Hathaway, Davenport and Bezdek, 1989). That is the
double centring of Masson and Denoeux (2009) without the Gram matrix, and it holds for new objects as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._mass_step import MassStep
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.relational._kernels import fill_products, relational_step
from dempster.cluster.relational._squares import squared
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import rounding
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.normal_equations import solve_normal_equations

__all__ = ["WeightedMeans", "WeightedMeansModel"]

_ROWS = 256  # of dissimilarities in a block, at least
_CELLS = 16_000_000  # dissimilarities of new objects held at once


@dataclass(frozen=True)
class WeightedMeans:
    """Prototypes as weighted means of the objects of a fit.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    weights : (c, n) array
        Of the objects in each prototype; rows sum to one.
    shift : float
        Added to the dissimilarities of different objects.
    negative : float
        Squared distance below which the dissimilarities are not Euclidean (above, it is a rounding error).
    inner : (c, c) array or None
        P Delta P' for the weights P, once known.
    """

    step: MassStep
    weights: np.ndarray
    shift: float = 0.0
    negative: float = 0.0
    inner: np.ndarray | None = None

    @property
    def family(self) -> FocalSets:
        return self.step.family

    def costs(self, D: np.ndarray, own: np.ndarray, apply: Apply) -> tuple[np.ndarray, np.ndarray]:
        """(n, g) squared distances of objects to the prototypes of the sets, and P Delta P'.

        ``D`` holds the dissimilarities to the objects of the fit, ``own`` (n, c) the weights of the objects
        themselves: an object is at no distance from itself, so nothing is added there by the shift.
        """
        products = self._products(D, apply)
        inner = self.weights @ products if self.inner is None else self.inner
        return (products - self.shift * own) @ self.step.averages.T + self._offsets(inner), inner

    def squared_distances(self, D: np.ndarray, itself: int) -> np.ndarray:
        """(c,) of one object, at these dissimilarities (1, n) from those of the fit, to the prototypes."""
        assert self.inner is not None
        products = self.weights @ D[0] + (self.shift * (1 - self.weights[:, itself]) if itself >= 0 else self.shift)
        inner = np.diagonal(self.inner) + self.shift * (1 - (self.weights**2).sum(axis=1))
        return products - inner / 2

    def iterated(self, D: np.ndarray, weights: np.ndarray, apply: Apply) -> tuple[float, float, Self]:
        """One iteration with the objects of the fit: the objective, the smallest squared distance, the prototypes that
        follow; ``weights`` are those of the objects in the objective."""
        objective, least, following = relational_step(
            self._products(D, apply), self.weights, self.step.sets > 0, weights, self.step.kernel_arguments(),
            self.negative, self.shift, self.step.alpha,
        )  # fmt: skip
        return objective, least, replace(self, weights=following, inner=None)

    def _products(self, D: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, c) Delta P', without the shift."""
        D, out = np.ascontiguousarray(D), np.empty((len(D), len(self.weights)))
        apply(fill_products, [(D[a:b], self.weights, out[a:b]) for a, b in row_blocks(len(D), _ROWS)])
        return out

    def _offsets(self, inner: np.ndarray) -> np.ndarray:
        """What is added to the mean product of the clusters of a set, for P Delta P'."""
        averages = self.step.averages
        if self.shift:
            inner = inner + self.shift * (1 - self.weights @ self.weights.T)
        return self.shift - np.sum(averages @ inner * averages, axis=1) / 2

    def nonnegative(self, costs: np.ndarray) -> np.ndarray:
        """Negative squared distances become small positive ones; rounding errors below zero count as zero later."""
        return np.where(costs < self.negative, -self.negative, costs)

    def masses(self, D: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of objects given by their squared dissimilarities to those of the fit.

        With a shift, an object at no dissimilarity from one of the fit is that object (of several, the first).
        """
        own = np.zeros((len(D), len(self.weights)))
        if self.shift:
            same = np.less_equal(D, rounding(D.dtype) * float(D.max()))
            known = np.flatnonzero(same.any(axis=1))
            own[known] = self.weights.T[same[known].argmax(axis=1)]
        costs, _ = self.costs(D, own, apply)
        _, masses = self.step.masses(self.nonnegative(costs), np.empty(0), apply)
        return masses.astype(D.dtype, copy=False)

    def updated(self, masses: np.ndarray, weights: np.ndarray) -> Self:
        """The prototypes that minimise the objective given the masses of the nonempty sets (Masson and Denoeux, 2009);
        ``weights`` are those of the objects in the objective."""
        W = masses**self.step.beta
        if len(weights):
            W *= weights[:, None]
        sets, alpha = self.step.sets, self.step.alpha
        size = sets.sum(axis=1)
        H = (sets.T * (size ** (alpha - 2) * W.sum(axis=0))) @ sets
        best = solve_normal_equations(H, (sets.T * size ** (alpha - 1)) @ W.T)
        total = best.sum(axis=1, keepdims=True)
        lost = ~(total > 0.5)  # no mass is left for the cluster: its prototype stays
        best = np.where(lost, self.weights, best / np.where(lost, 1, total))
        return replace(self, weights=best, inner=None)


@dataclass(frozen=True)
class WeightedMeansModel:
    """The prototypes of a fit, for objects that are compared with those of the fit.

    Attributes
    ----------
    means : WeightedMeans
        With P Delta P' known.
    references : References
        All objects of the fit.
    square : bool
        Whether the dissimilarities are squared first.
    """

    means: WeightedMeans
    references: References
    square: bool

    @property
    def family(self) -> FocalSets:
        return self.means.family

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """(n, f) masses of new objects."""
        blocks = row_blocks(len(values), max(1, _CELLS // len(self.references)), most=None)
        distances = self.references.dissimilarities
        return np.concatenate(
            [self.means.masses(squared(distances(values, a, b), self.square), apply) for a, b in blocks]
        )

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the nearer its mean, the more.

        Where dissimilarities are squared Euclidean distances the mean is a point, with attributes. Elsewhere the
        attributes share the mean dissimilarity to the objects, and how far these are from each other counts besides.
        """
        D = squared(np.asarray(self.references.dissimilarities(values), dtype=float), self.square)
        words, P = "minus the squared distance to the center", self.means.weights
        total = -self.means.squared_distances(D, itself)
        found = ClusterEvidence.of_costs(words, D[0], P, total, self.references, values)
        source = self.references.source
        if source is None or not (source.is_euclidean if self.square else source.metric == "sqeuclidean"):
            return found
        gap = P @ np.asarray(source.objects, dtype=float) - values[0]
        return replace(found, parts=-(gap**2).T) if np.isfinite(gap).all() else found
