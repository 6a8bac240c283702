"""Prototypes known by their dissimilarities only: weighted means of objects in a space nobody has to see.

If Delta holds squared Euclidean distances and the weights p sum to one, the mean of the objects with weights p is at
the squared distance (Delta p)_i - p' Delta p / 2 from object i (Hathaway, Davenport and Bezdek, 1989). That is the
double centring of Masson and Denoeux (2009) without the Gram matrix, and it holds for new objects as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evidentia.belief import FocalSets
from evidentia.cluster.prototypes._model import masses_from_costs, solve_normal_equations
from evidentia.optimize.blocks import row_blocks

__all__ = ["RelationalModel", "smallest_eigenvalue", "pair_quantile", "far_objects", "n_different"]

_DENSE = 500  # objects up to which all eigenvalues are computed


@dataclass(frozen=True)
class RelationalModel:
    """Prototypes as weighted means of the training objects.

    Attributes
    ----------
    family : FocalSets
    weights : (c, n) array
        Of the training objects in each prototype; rows sum to one.
    alpha, beta, delta, zero : float
        As in `Model`.
    shift : float
        Added to the dissimilarities of different objects.
    negative : float
        Squared distance below which the dissimilarities are not Euclidean (above, it is a rounding error).
    inner : (c, c) array or None
        P Delta P' for the weights P, once known.
    """

    family: FocalSets
    weights: np.ndarray
    alpha: float
    beta: float
    delta: float
    zero: float
    shift: float = 0.0
    negative: float = 0.0
    inner: np.ndarray | None = None

    @property
    def sets(self) -> np.ndarray:
        """(g, c) membership of the nonempty sets."""
        return self.family.membership[self.family.cardinality > 0].astype(float)

    def costs(self, D: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n, g) squared distances of objects to the prototypes of the sets, and P Delta P'.

        ``D`` holds the dissimilarities to the training objects, ``own`` (n, c) the weights of the objects themselves:
        an object is at no distance from itself, so nothing is added there by the shift.
        """
        sets = self.sets
        mean = sets / sets.sum(axis=1, keepdims=True)
        product = np.asarray(D @ self.weights.T.astype(D.dtype), dtype=float)
        inner = self.weights @ product if self.inner is None else self.inner
        costs = product @ mean.T
        constant = np.einsum("jk,kl,jl->j", mean, inner, mean) / 2
        if self.shift:
            costs += self.shift * (1 - own @ mean.T)
            norm = np.einsum("jk,kl,jl->j", mean, self.weights @ self.weights.T, mean)
            constant += self.shift * (1 - norm) / 2
        costs -= constant
        return costs, inner

    def masses(self, costs: np.ndarray, weights: np.ndarray, apply: Callable) -> tuple[float, np.ndarray, np.ndarray]:
        """Objective, (n, g) masses of the nonempty sets and (n,) masses of the empty set."""
        size = self.sets.sum(axis=1)
        delta2 = self.delta**2 if self.family.empty_index is not None else np.inf
        arguments = (size**self.alpha, size.astype(np.int64), delta2, float(self.beta), self.zero)
        masses, empty = np.empty_like(costs), np.empty(len(costs))
        parts = apply(
            masses_from_costs,
            [
                (costs[a:b], weights[a:b] if len(weights) else weights, *arguments, masses[a:b], empty[a:b])
                for a, b in row_blocks(len(costs))
            ],
        )
        return float(sum(parts)), masses, empty

    def all_masses(self, costs: np.ndarray, apply: Callable) -> np.ndarray:
        """(n, f) masses in the columns of the family."""
        _, masses, empty = self.masses(costs, np.empty(0), apply)
        out = np.zeros((len(costs), len(self.family)))
        out[:, np.flatnonzero(self.family.cardinality > 0)] = masses
        if self.family.empty_index is not None:
            out[:, self.family.empty_index] = empty
        return out

    def updated(self, masses: np.ndarray, weights: np.ndarray) -> RelationalModel:
        """The prototypes that minimise the objective given the masses (Masson and Denoeux, 2009)."""
        W = masses**self.beta
        if len(weights):
            W *= weights[:, None]
        sets = self.sets
        size = sets.sum(axis=1)
        H = (sets.T * (size ** (self.alpha - 2) * W.sum(axis=0))) @ sets
        best = solve_normal_equations(H, (sets.T * size ** (self.alpha - 1)) @ W.T)
        total = best.sum(axis=1, keepdims=True)
        lost = ~(total > 0.5)  # no mass is left for the cluster: its prototype stays
        best = np.where(lost, self.weights, best / np.where(lost, 1, total))
        return replace(self, weights=best, inner=None)


# ---- what the dissimilarities are like ------------------------------------------------------------------------------


def smallest_eigenvalue(D: np.ndarray) -> float:
    """Smallest eigenvalue of the doubly centred matrix -Q D Q / 2 (0 if there is none below rounding errors).

    Above a few hundred objects by Lanczos iterations, which cost as much as a few dozen products with a vector. The
    value is on the safe side: not above the true one by more than rounding.
    """
    n = len(D)
    if n < 2:
        return 0.0
    negligible = 1e-10 if D.dtype == np.float64 else 1e-5
    if n <= _DENSE:
        D = D.astype(float)
        gram = -0.5 * (D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean())
        values = np.linalg.eigvalsh(gram)
        return float(values[0]) if values[0] < -negligible * abs(values[-1]) else 0.0
    from scipy.sparse.linalg import LinearOperator, eigsh

    def gram_times(v: np.ndarray) -> np.ndarray:
        v = v.reshape(-1) - v.mean()
        image = np.asarray(D @ v.astype(D.dtype), dtype=float)
        return -0.5 * (image - image.mean())

    start = np.random.RandomState(0).normal(size=n)
    precision = 1e-7 if D.dtype == np.float64 else 1e-4
    operator = LinearOperator((n, n), matvec=gram_times, dtype=float)
    largest = float(eigsh(operator, k=1, which="LM", v0=start, tol=precision, return_eigenvectors=False)[0])
    if largest < 0:
        return largest * (1 + precision)
    # what is smallest for the one is largest for the other, and the largest is found to a relative precision
    mirrored = LinearOperator((n, n), matvec=lambda v: largest * v.reshape(-1) - gram_times(v), dtype=float)
    reach = float(eigsh(mirrored, k=1, which="LA", v0=start, tol=precision, return_eigenvectors=False)[0])
    smallest = largest - reach
    return smallest - precision * reach if smallest < -10 * precision * largest else 0.0


def pair_quantile(D: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The smallest dissimilarity that a share of the pairs of different objects does not exceed; 0 without pairs."""
    positive = D > 0
    values = D[positive]
    if len(weights) == 0:
        if len(values) == 0:
            return 0.0
        rank = max(int(np.ceil(share * len(values) * (1 - 1e-12))) - 1, 0)
        return float(np.partition(values, rank)[rank])
    pair_weights = np.broadcast_to(weights[:, None] * weights[None, :], D.shape)[positive]
    if not pair_weights.any():
        return 0.0
    order = np.argsort(values, kind="stable")
    reach = np.cumsum(pair_weights[order])
    return float(values[order[np.searchsorted(reach, share * reach[-1] * (1 - 1e-12))]])


def n_different(D: np.ndarray, most: int, zero: float) -> int:
    """Number of objects apart from each other, counted up to ``most``."""
    nearest = D[0].copy()
    for count in range(1, most):
        farthest = int(nearest.argmax())
        if nearest[farthest] <= zero:
            return count
        np.minimum(nearest, D[farthest], out=nearest)
    return most


def far_objects(
    D: np.ndarray, weights: np.ndarray, order: np.ndarray, n_objects: int, rng: np.random.RandomState
) -> np.ndarray:
    """Objects far from each other: drawn in proportion to the squared distance to the nearest so far, the best of
    several each time (greedy k-means++; Arthur and Vassilvitskii, 2007), along a given order of the objects."""
    w = np.ones(len(D)) if len(weights) == 0 else weights
    trials = 2 + int(np.log(n_objects))

    def draw(chances: np.ndarray, size: int) -> np.ndarray:
        reach = np.cumsum(chances[order])
        at = np.searchsorted(reach, rng.random_sample(size) * reach[-1], side="right")
        return order[at.clip(max=len(order) - 1)]

    chosen = [draw(w, 1)[0]]
    nearest = D[chosen[0]].astype(float)
    for _ in range(1, n_objects):
        candidates = draw(nearest * w, trials)
        after = np.minimum(nearest, D[candidates])
        best = int((after @ w).argmin())
        chosen.append(candidates[best])
        nearest = after[best]
    return np.array(chosen)
