"""The problem that EVCLUS solves: pairs of objects, the conflicts they should have, and the scale of these.

`AllPairs` and `SomePairs` descend from given masses, with or without `Links`. `distinct_objects` says which objects
count, and `Scale` holds the values of d0 that compete.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dempster._arrays import to_host
from dempster._native import Kernel
from dempster.belief import FocalSets
from dempster.cluster._search import Sample
from dempster.constraints import Constraints
from dempster.constraints import links as linked_pairs
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.partial import same_rows
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    SparseSource,
    TensorSource,
)
from dempster.optimize.blocks import row_blocks
from dempster.optimize.descent import as_likely
from dempster.optimize.row_fit import (
    descend_all_pairs,
    descend_rows,
    descend_some_pairs,
    is_simple_family,
    pairs_value,
    symmetric_pairs,
)

# ---- constraints ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Links:
    """Constraints between the objects of a problem: symmetric adjacency with +1 (must-link) and -1 (cannot-link)."""

    indptr: np.ndarray
    indices: np.ndarray
    signs: np.ndarray

    def __len__(self) -> int:
        return len(self.signs) // 2

    @classmethod
    def of(cls, constraints: Constraints | None, n: int) -> Links:
        """Return the links among n objects; none without constraints."""
        if constraints is None:
            return cls(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
        return cls(*linked_pairs(constraints, n))

    def among(self, which: np.ndarray) -> Links:
        """Return the links between some of the objects, renumbered."""
        if len(self) == 0:
            return Links.of(None, len(which))
        from scipy.sparse import csr_matrix

        n = len(self.indptr) - 1
        part = csr_matrix((self.signs, self.indices, self.indptr), shape=(n, n))[which][:, which].tocsr()
        part.sort_indices()
        return Links(part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data.astype(float))

    @property
    def objects(self) -> np.ndarray:
        """Positions of the objects that have links."""
        return np.flatnonzero(np.diff(self.indptr) > 0)


def link_form(family: FocalSets) -> np.ndarray:
    """Return Z with m_i' Z m_j = pl(different) + 1 - pl(same): 0 for objects surely together, 2 for objects apart."""
    nothing = (family.cardinality == 0).astype(float)
    empty = np.maximum(nothing[:, None], nothing[None, :])
    same = np.diag((family.cardinality == 1).astype(float))
    return np.ascontiguousarray(1 + family.conflict - empty - same)


# ---- problems -------------------------------------------------------------------------------------------------------

_ROWS_PER_BLOCK = 1024  # of the conflicts of all pairs


class ConflictProblem(ABC):
    """Pairs with their dissimilarities, for any family of focal sets."""

    kernel: Kernel  # of the descent
    arrays: tuple[np.ndarray, ...]  # the pairs as the kernel takes them
    total: float  # sum over the pairs of w delta^2

    @abstractmethod
    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        """Return the sum over the pairs of w (conflict - delta)^2."""

    def stress(self, masses: np.ndarray, family: FocalSets) -> float:
        """Return the objective without constraints."""
        return self.squares(masses, family) / self.total

    def descend(
        self,
        masses: np.ndarray,
        family: FocalSets,
        order: np.ndarray,
        max_iter: int,
        tol: float,
        links: Links,
        xi: float,
    ) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return the masses, the objective after every sweep, and whether the descent converged."""
        masses = np.array(masses, dtype=float, order="C")
        conflict = np.array(family.conflict)
        # stress + xi / (2 N_c) [sum_ML m'Zm + sum_CL (2 - m'Zm)], in units of the sum of squares
        weight = self.total * xi / (2 * len(links)) if len(links) else 0.0
        n_cannot = int(np.sum(links.signs < 0)) // 2
        history, converged = descend_rows(
            self.kernel, masses, *self.arrays, conflict, is_simple_family(conflict), order, max_iter, tol,
            2 * weight * n_cannot, links.indptr, links.indices, weight * links.signs, link_form(family),
            max_iter=max_iter,
        )  # fmt: skip
        return masses, np.maximum(history, 0) / self.total, converged


class AllPairs(ConflictProblem):
    """Every pair of n objects, from the (n, n) matrix of conflicts wanted.

    A pair counts as much as the product of the weights (None: one each).
    """

    kernel = descend_all_pairs

    def __init__(self, delta: np.ndarray, weights: np.ndarray | None = None):
        self.delta = np.ascontiguousarray(delta, dtype=float)
        self.weights = np.ones(len(delta)) if weights is None else np.asarray(weights, dtype=float)
        self.arrays = self.delta, self.weights
        self.total = float(np.sum(self.delta**2 * self.weights, axis=1) @ self.weights) / 2

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        image = masses @ family.conflict
        own = self.weights * np.einsum("ia,ia->i", image, masses)
        total = -float(own @ own)  # pairs of an object with itself are no pairs
        for start in range(0, len(masses), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            gap = image[rows] @ masses.T - self.delta[rows]
            total += float(self.weights[rows] @ np.einsum("ij,ij,j->i", gap, gap, self.weights))
        return total / 2


class SomePairs(ConflictProblem):
    """Chosen pairs (p, 2) with weights."""

    kernel = descend_some_pairs

    def __init__(self, n: int, pairs: np.ndarray, weights: np.ndarray, delta: np.ndarray):
        *adjacency, which = symmetric_pairs(n, pairs, weights)
        self.arrays = *adjacency, np.asarray(delta, dtype=float)[which]
        self.total = float(np.sum(weights * delta**2))

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        conflict, masses = np.array(family.conflict), np.ascontiguousarray(masses, dtype=float)
        return float(pairs_value(masses, *self.arrays, conflict, is_simple_family(conflict)))


# ---- objects --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistinctObjects:
    """Which of n objects are fitted, and how much each of them counts.

    Attributes
    ----------
    order : (n,) array
        Positions of all objects, in an order that does not depend on the rows; equal ones stand together, in the order
        of their rows.
    rows : (m,) array
        Those of positive weight, in the same order.
    row_weights : (n,) array or None
        Their own weights; None if all are one.
    positions : (k,) array
        The first of each kind of equal objects among ``rows``, in the same order.
    weights : (n,) array or None
        At these positions the weight of all that are equal, at most 1; None if all count alike.
    first : (n,) array
        For each object the first that is equal to it; objects of weight zero are on their own.
    """

    order: np.ndarray
    rows: np.ndarray
    row_weights: np.ndarray | None
    positions: np.ndarray
    weights: np.ndarray | None
    first: np.ndarray


def distinct_objects(
    sample: Sample[DissimilaritySource | SparseSource], *, merge: bool, device: str = "cpu"
) -> DistinctObjects:
    """Order the objects and find equal ones.

    ``merge``: objects that are equal cell by cell are one. Those of a matrix have no cells.
    """
    n = len(sample.values)
    given = sample.weights
    # a power of two is an exact factor, and keeps sums of weights of any size finite
    own = np.ones(n) if given is None else np.ldexp(given, -np.frexp(given.max())[1])
    order, repeated = _sort_objects(sample.values, own, device)
    if given is None and not (merge and repeated.any()):
        return DistinctObjects(order, order, None, order, None, np.arange(n))
    kind = np.cumsum(~repeated) if merge else np.arange(n)
    counted = own[order] > 0
    rows = order[counted]
    starts = np.diff(kind[counted], prepend=-1) > 0  # equal objects stand together
    positions = rows[starts]
    first = np.arange(n)
    first[rows] = positions[np.cumsum(starts) - 1]
    total = np.bincount(first, own, minlength=n)
    alike = np.ptp(total[positions]) == 0
    return DistinctObjects(
        order, rows, None if given is None else own, positions, None if alike else total / total.max(), first
    )


def _sort_objects(
    objects: DissimilaritySource | SparseSource, weights: np.ndarray, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the objects, and which of them repeat the one before.

    Objects are sorted along a line through attributes, by the sums of the dissimilarities in a matrix, by the keys of
    anything else; those of a sparse matrix stay as they are.
    """
    n = len(objects)
    repeated = np.zeros(n, dtype=bool)
    if isinstance(objects, SparseSource):
        return np.arange(n), repeated
    if isinstance(objects, MatrixSource):
        sums = [objects.matrix[a:b].astype(float) @ weights for a, b in row_blocks(n, 1024, most=None)]
        return np.argsort(np.concatenate(sums), kind="stable"), repeated
    if isinstance(objects, TensorSource) or (isinstance(objects, AttributeSource) and device != "cpu"):
        from dempster.data.device import order_on_device, sent

        rows = objects.objects if isinstance(objects, TensorSource) else sent(objects.objects, device)
        order, again = order_on_device(rows)
        return to_host(order), to_host(again)
    if isinstance(objects, AttributeSource):
        order = order_along_line(objects.objects)
        for start, stop in row_blocks(n, 65536, most=None):
            rows = np.take(objects.objects, order[max(start - 1, 0) : stop], axis=0)
            same = same_rows(rows[1:], rows[:-1]) if objects.lacks_cells else (rows[1:] == rows[:-1]).all(axis=1)
            repeated[max(start, 1) : stop] = same
        return order, repeated
    keys = objects.keys(objects.objects)
    order = np.array(sorted(range(n), key=keys.__getitem__))
    repeated[1:] = [keys[i] == keys[j] for i, j in zip(order[1:], order[:-1], strict=True)]
    return order, repeated


# ---- scales ---------------------------------------------------------------------------------------------------------

SCALES = (0.06, 0.2, 0.35, 0.5, 0.8, 1.0)  # quantiles of the dissimilarities that are tried
_FLOOR = 0.02  # of the mean variance is added to that of each cluster, so that a cluster of twins does not decide


@dataclass(frozen=True)
class ScaleTrial:
    """One scale: the quantile of the dissimilarities, d0, and the log-likelihood, per object, of the clusters found.

    The quantile is NaN if d0 was given, the log-likelihood until clusters have been found.
    """

    quantile: float
    d0: float
    log_likelihood: float = np.nan


@dataclass(frozen=True)
class Scale:
    """The values of d0 that compete: clusters are found at each, and those that explain the data best decide.

    What explains is the likelihood of a round Gaussian in each cluster (`likelihood_of_clusters`).
    """

    trials: tuple[ScaleTrial, ...]

    @property
    def is_open(self) -> bool:
        """Whether several scales compete and none has won yet."""
        return len(self.trials) > 1 and bool(np.isnan(self.trials[0].log_likelihood))

    @property
    def position(self) -> int:
        """Position of the trial with the largest likelihood, the median one in case of ties."""
        if len(self.trials) == 1:
            return 0
        equal = as_likely([trial.log_likelihood for trial in self.trials])
        return int(equal[len(equal) // 2])

    @property
    def best(self) -> ScaleTrial:
        """Trial with the largest likelihood; the median one in case of ties."""
        return self.trials[self.position]

    def settle(self, log_likelihoods: Sequence[float]) -> Scale:
        """Return the same scales with the log-likelihoods of their clusters."""
        trials = []
        for trial, value in zip(self.trials, log_likelihoods, strict=True):
            trials.append(replace(trial, log_likelihood=value))
        return Scale(tuple(trials))

    def reasons(self) -> str:
        """Describe the best scale, and how much worse the others explain the data."""
        best, others = self.best, []
        for trial in self.trials:
            # two infinite likelihoods are equal
            same = trial.log_likelihood == best.log_likelihood
            behind = 0.0 if same else trial.log_likelihood - best.log_likelihood
            if trial is not best:
                others.append(f"{trial.quantile:g} ({behind:+.2f})")
        where = f"{best.d0:.4g}, the quantile {best.quantile:g} of the dissimilarities"
        return f"{where}; log-likelihood at other quantiles: {', '.join(others)}" if others else where


class WeightedPairs(NamedTuple):
    """Pairs of objects i and j with their dissimilarities and weights."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray
    weight: np.ndarray

    def among(self, who: np.ndarray) -> WeightedPairs:
        """Return the same pairs, with their objects by positions among these."""
        order = np.argsort(who)
        i, j = order[np.searchsorted(who, [self.i, self.j], sorter=order)]
        return WeightedPairs(i, j, self.dissimilarity, self.weight)


def likelihood_of_clusters(
    dissimilarities: np.ndarray | WeightedPairs,
    labels: np.ndarray,
    dimension: float,
    weights: np.ndarray | None = None,
) -> float:
    """Return the log-likelihood per object, up to a constant, of a round Gaussian in each cluster.

    For clusters of n_k objects with half the mean squared dissimilarity w_k within (Celeux and Govaert's
    classification likelihood),

        sum_k (n_k / n) (log(n_k / n) - (p / 2) log(w_k + 0.02 w)),

    with w the mean of the w_k and p the number of dimensions.

    Parameters
    ----------
    dissimilarities : (n, n) array or WeightedPairs
    labels : (n,) array
    dimension : float
    weights : (n,) array, optional
        Of the objects.
    """
    w = np.ones(len(labels)) if weights is None else weights
    clusters, at = np.unique(labels, return_inverse=True)
    total = np.bincount(at, w)
    if isinstance(dissimilarities, WeightedPairs):
        within = _mean_within(dissimilarities, at, len(clusters)) * (1 - np.bincount(at, w**2) / total**2)
    else:
        share = np.where(labels == clusters[:, None], w, 0.0)
        within = np.einsum("ki,ki->k", share @ np.square(dissimilarities, dtype=float), share) / (2 * total**2)
    part = total / total.sum()
    mean = float(part @ within)
    if not mean > 0:  # the objects of every cluster are in one place
        return np.inf
    return float(part @ (np.log(part) - dimension / 2 * np.log(within + _FLOOR * mean)))


def _mean_within(pairs: WeightedPairs, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return half the mean squared dissimilarity of the pairs within each cluster, or within all where it has none."""
    together = labels[pairs.i] == labels[pairs.j]
    where, weight = labels[pairs.i[together]], pairs.weight[together]
    squares = np.bincount(where, weight * np.square(pairs.dissimilarity[together]), minlength=n_clusters)
    counts = np.bincount(where, weight, minlength=n_clusters)
    overall = squares.sum() / max(counts.sum(), np.finfo(float).tiny)
    return np.where(counts > 0, squares / np.where(counts > 0, counts, 1), overall) / 2
