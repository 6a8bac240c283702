"""Optimization problem of EVCLUS, which matches the conflicts between pairs of objects to target conflicts.

`AllPairs` and `SomePairs` minimize the stress from initial masses, with or without constraints
(`Links`). `distinct_objects` finds equal objects, and `Scale` contains the candidate values of
``d0``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from dempster._arrays import to_host
from dempster._native import Kernel
from dempster.belief import FocalSets
from dempster.cluster._search import Sample
from dempster.constraints import Constraints
from dempster.constraints.constraints import links as linked_pairs
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.partial import are_rows_equal
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    SparseSource,
    TensorSource,
)
from dempster.optimize.blocks import row_blocks
from dempster.optimize.descent import find_likeliest
from dempster.optimize.row_fit import (
    descend_all_pairs,
    descend_rows,
    descend_some_pairs,
    is_simple_family,
    pairs_value,
    symmetric_pairs,
)

MAX_ALL_PAIRS_ROWS = 1000  # maximum number of objects for which all pairs are used by default

# ---- constraints ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Links:
    """Constraints between objects, as a symmetric sparse matrix (CSR) with +1 for must-link and -1 for cannot-link."""

    indptr: np.ndarray
    indices: np.ndarray
    signs: np.ndarray

    def __len__(self) -> int:
        return len(self.signs) // 2

    @classmethod
    def from_constraints(cls, constraints: Constraints | None, n: int) -> Links:
        """Create the matrix of constraints between n objects."""
        if constraints is None:
            return cls(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))
        return cls(*linked_pairs(constraints, n))

    def among(self, which: np.ndarray) -> Links:
        """Return the constraints between the objects in ``which``, as indices into ``which``."""
        if len(self) == 0:
            return Links.from_constraints(None, len(which))
        n = len(self.indptr) - 1
        part = sparse.csr_matrix((self.signs, self.indices, self.indptr), shape=(n, n))[which][
            :, which
        ].tocsr()
        part.sort_indices()
        return Links(
            part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data.astype(float)
        )

    @property
    def objects(self) -> np.ndarray:
        """Indices of the objects that have constraints."""
        return np.flatnonzero(np.diff(self.indptr) > 0)


def link_form(family: FocalSets) -> np.ndarray:
    """Return the matrix Z such that m_i' Z m_j = pl(different) + 1 - pl(same) for two objects with masses m_i and m_j.

    pl(same) and pl(different) are the plausibilities that the objects are in the same cluster or in
    different clusters. The value is 0 if they are certainly in the same cluster, and 2 if they are
    certainly in different clusters.
    """
    nothing = (family.cardinality == 0).astype(float)
    empty = np.maximum(nothing[:, None], nothing[None, :])
    same = np.diag((family.cardinality == 1).astype(float))
    return np.ascontiguousarray(1 + family.conflict - empty - same)


# ---- problems ------------------------------------------------------------------------------------

_ROWS_PER_BLOCK = 1024  # number of objects whose conflicts with all objects are computed at once


class ConflictProblem(ABC):
    """Pairs of objects with weights w and target conflicts delta, for any family of focal sets."""

    kernel: Kernel  # compiled function that minimizes the objective
    arrays: tuple[np.ndarray, ...]  # arguments of the kernel
    total: float  # sum of w delta^2 over the pairs

    @abstractmethod
    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        """Return the sum of w (conflict - delta)^2 over the pairs, which is the stress times ``total``."""

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
        """Minimize the objective in sweeps.

        Return the masses, all objectives, and whether the sweeps converged.
        """
        masses = np.array(masses, dtype=float, order="C")
        conflict = np.array(family.conflict)
        # The objective is stress + xi / (2 N_c) [sum_ML m'Zm + sum_CL (2 - m'Zm)]; the kernel
        # multiplies it by total.
        if len(links):
            weight = self.total * xi / (2 * len(links))
        else:
            weight = 0.0
        n_cannot = int(np.sum(links.signs < 0)) // 2
        history, converged = descend_rows(
            self.kernel,
            masses,
            *self.arrays,
            conflict,
            is_simple_family(conflict),
            order,
            max_iter,
            tol,
            2 * weight * n_cannot,
            links.indptr,
            links.indices,
            weight * links.signs,
            link_form(family),
            max_iter=max_iter,
        )
        return masses, np.maximum(history, 0) / self.total, converged


class AllPairs(ConflictProblem):
    """All pairs of n objects, with an (n, n) matrix of target conflicts, weighted by the products of object weights."""

    kernel = descend_all_pairs

    def __init__(self, delta: np.ndarray, weights: np.ndarray | None = None):
        self.delta = np.ascontiguousarray(delta, dtype=float)
        if weights is None:
            self.weights = np.ones(len(delta))
        else:
            self.weights = np.asarray(weights, dtype=float)
        self.arrays = self.delta, self.weights
        self.total = float(np.sum(self.delta**2 * self.weights, axis=1) @ self.weights) / 2

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        image = masses @ family.conflict
        own = self.weights * np.einsum("ia,ia->i", image, masses)
        total = -float(own @ own)  # The sum below includes the pairs of each object with itself.
        for start in range(0, len(masses), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            gap = image[rows] @ masses.T - self.delta[rows]
            total += float(self.weights[rows] @ np.einsum("ij,ij,j->i", gap, gap, self.weights))
        return total / 2


class SomePairs(ConflictProblem):
    """Some pairs of n objects, with their weights.

    ``pairs`` contains the indices of the objects, shape (p, 2).
    """

    kernel = descend_some_pairs

    def __init__(self, n: int, pairs: np.ndarray, weights: np.ndarray, delta: np.ndarray):
        *adjacency, which = symmetric_pairs(n, pairs, weights)
        self.arrays = *adjacency, np.asarray(delta, dtype=float)[which]
        self.total = float(np.sum(weights * delta**2))

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        conflict = np.array(family.conflict)
        masses = np.ascontiguousarray(masses, dtype=float)
        return float(pairs_value(masses, *self.arrays, conflict, is_simple_family(conflict)))


# ---- objects -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistinctObjects:
    """Distinct objects with positive weight among n objects.

    Each of them represents a group of equal objects.
    """

    # (n,), indices of all objects, in an order that does not depend on the order of the rows of X
    order: np.ndarray
    rows: np.ndarray  # indices of the objects with positive weight, sorted like ``order``
    row_weights: np.ndarray | None  # (n,), weights of all objects; None if all weights are 1
    # indices of the distinct objects (the first of each group), sorted like ``order``
    positions: np.ndarray
    # (n,), at ``positions`` total weights of the groups, at most 1; None if all are equal
    weights: np.ndarray | None
    # (n,), for each object the index of the first equal object (itself if its weight is zero)
    first: np.ndarray


def distinct_objects(
    sample: Sample[DissimilaritySource | SparseSource], *, merge: bool, device: str = "cpu"
) -> DistinctObjects:
    """Sort the objects and, if ``merge`` is True, find groups of objects with equal features (not for matrices)."""
    n = len(sample.values)
    weights = sample.weights
    # Scaling by a power of two is exact and keeps sums of large weights finite.
    if weights is None:
        own = np.ones(n)
    else:
        own = np.ldexp(weights, -np.frexp(weights.max())[1])
    order, repeated = _sort_objects(sample.values, own, device)
    if weights is None and not (merge and repeated.any()):
        return DistinctObjects(order, order, None, order, None, np.arange(n))
    if merge:
        kind = np.cumsum(~repeated)
    else:
        kind = np.arange(n)
    counted = own[order] > 0
    rows = order[counted]
    starts = np.diff(kind[counted], prepend=-1) > 0
    positions = rows[starts]
    first = np.arange(n)
    first[rows] = positions[np.cumsum(starts) - 1]
    total = np.bincount(first, own, minlength=n)
    alike = np.ptp(total[positions]) == 0
    return DistinctObjects(
        order,
        rows,
        None if weights is None else own,
        positions,
        None if alike else total / total.max(),
        first,
    )


def _sort_objects(
    objects: DissimilaritySource | SparseSource, weights: np.ndarray, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return an order of the objects, and for each object in this order whether it is equal to the previous object.

    Objects with features are sorted by their projections on a line, rows of a Gower table by their
    keys, and objects of a matrix by their sums of dissimilarities. Objects of a sparse matrix keep
    their order.
    """
    n = len(objects)
    repeated = np.zeros(n, dtype=bool)
    if isinstance(objects, SparseSource):
        return np.arange(n), repeated
    if isinstance(objects, MatrixSource):
        sums = [
            objects.matrix[a:b].astype(float) @ weights for a, b in row_blocks(n, 1024, most=None)
        ]
        return np.argsort(np.concatenate(sums), kind="stable"), repeated
    if isinstance(objects, TensorSource) or (
        isinstance(objects, AttributeSource) and device != "cpu"
    ):
        from dempster.data.device import order_on_device, to_tensor

        if isinstance(objects, TensorSource):
            rows = objects.objects
        else:
            rows = to_tensor(objects.objects, device)
        order, again = order_on_device(rows)
        return to_host(order), to_host(again)
    if isinstance(objects, AttributeSource):
        order = order_along_line(objects.objects)
        for start, stop in row_blocks(n, 65536, most=None):
            rows = np.take(objects.objects, order[max(start - 1, 0) : stop], axis=0)
            if objects.lacks_cells:
                same = are_rows_equal(rows[1:], rows[:-1])
            else:
                same = (rows[1:] == rows[:-1]).all(axis=1)
            repeated[max(start, 1) : stop] = same
        return order, repeated
    keys = objects.keys(objects.objects)
    order = np.array(sorted(range(n), key=keys.__getitem__))
    repeated[1:] = [keys[i] == keys[j] for i, j in zip(order[1:], order[:-1], strict=True)]
    return order, repeated


# ---- scales --------------------------------------------------------------------------------------

# quantiles of the dissimilarities that are candidates for d0
SCALES = (0.06, 0.2, 0.35, 0.5, 0.8, 1.0)
# share of the mean variance that is added to the variance of each cluster, which may be zero
_MIN_VARIANCE = 0.02


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
        return Scale(tuple(replace(trial, log_likelihood=value) for trial, value in pairs))

    def reasons(self) -> str:
        """Return a text with the selected d0, and the difference in log-likelihood for every other candidate."""
        best = self.best
        others = []
        for trial in self.trials:
            # The difference is set to zero for equal likelihoods, because infinity minus infinity
            # is NaN.
            same = trial.log_likelihood == best.log_likelihood
            if same:
                difference = 0.0
            else:
                difference = trial.log_likelihood - best.log_likelihood
            if trial is not best:
                others.append(f"{trial.quantile:g} ({difference:+.2f})")
        selected = f"{best.d0:.4g}, the quantile {best.quantile:g} of the dissimilarities"
        if others:
            return f"{selected}; log-likelihood at other quantiles: {', '.join(others)}"
        return selected


class WeightedPairs(NamedTuple):
    """Pairs of objects i and j with their dissimilarities and weights."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray
    weight: np.ndarray

    def renumber(self, rows: np.ndarray) -> WeightedPairs:
        """Return the pairs with the position of each object in ``rows`` instead of its index."""
        order = np.argsort(rows)
        i, j = order[np.searchsorted(rows, [self.i, self.j], sorter=order)]
        return WeightedPairs(i, j, self.dissimilarity, self.weight)


def likelihood_of_clusters(
    dissimilarities: np.ndarray | WeightedPairs,
    labels: np.ndarray,
    dimension: float,
    weights: np.ndarray | None = None,
) -> float:
    """Return the log-likelihood per object of a partition whose clusters are spherical Gaussians, up to a constant.

    The classification likelihood (Celeux and Govaert) is

        sum_k (n_k / n) (log(n_k / n) - (p / 2) log(w_k + 0.02 w)),

    where n_k is the size of cluster k, w_k is half of the mean squared dissimilarity within cluster
    k, w is the mean of w_k over the objects, and p is the dimension. ``dissimilarities`` is an
    array of shape (n, n) or `WeightedPairs`.
    """
    if weights is None:
        w = np.ones(len(labels))
    else:
        w = weights
    clusters, at = np.unique(labels, return_inverse=True)
    total = np.bincount(at, w)
    if isinstance(dissimilarities, WeightedPairs):
        within = _mean_within(dissimilarities, at, len(clusters)) * (
            1 - np.bincount(at, w**2) / total**2
        )
    else:
        share = np.where(labels == clusters[:, None], w, 0.0)
        within = np.einsum("ki,ki->k", share @ np.square(dissimilarities, dtype=float), share) / (
            2 * total**2
        )
    part = total / total.sum()
    mean = float(part @ within)
    if not mean > 0:  # All objects of each cluster are equal.
        return np.inf
    return float(part @ (np.log(part) - dimension / 2 * np.log(within + _MIN_VARIANCE * mean)))


def _mean_within(pairs: WeightedPairs, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Return half of the mean squared dissimilarity within each cluster, or over all clusters if there are no pairs."""
    together = labels[pairs.i] == labels[pairs.j]
    where = labels[pairs.i[together]]
    weight = pairs.weight[together]
    squares = np.bincount(
        where, weight * np.square(pairs.dissimilarity[together]), minlength=n_clusters
    )
    counts = np.bincount(where, weight, minlength=n_clusters)
    overall = squares.sum() / max(counts.sum(), np.finfo(float).tiny)
    return np.where(counts > 0, squares / np.where(counts > 0, counts, 1), overall) / 2
