"""Which objects EVCLUS fits, to which of their pairs, and at which scale.

=============  ======================================================================================================
``sampling``   what is fitted
=============  ======================================================================================================
"all"          all pairs of the objects that differ (of positive weight)
"random"       some partners of each of them, drawn or, in a sparse matrix, given
"landmarks"    all pairs of a few objects, on which the others are projected
=============  ======================================================================================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from dempster._arrays import to_host
from dempster._errors import InvalidInputError
from dempster._random import as_random_state
from dempster._types import ArrayLike
from dempster._validation import mean_of_rows
from dempster.belief import FocalSets
from dempster.cluster._search import Sample
from dempster.cluster.evclus.shepard import ComparedPairs
from dempster.constraints import Constraints
from dempster.constraints import links as linked_pairs
from dempster.data.sampling import order_along_line, systematic_draw
from dempster.dissimilarity.dimension import intrinsic_dimension
from dempster.dissimilarity.partial import filled, same_rows
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sampling import choose_landmarks, drawn_pairs, pairs_of_sparse, random_pairs
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    SparseSource,
    TensorSource,
    rounding,
)
from dempster.dissimilarity.transform import decay, scale_at, to_conflict
from dempster.optimize.blocks import row_blocks
from dempster.optimize.conflict_fit import descend_all_pairs, descend_some_pairs, is_simple_family, pairs_value
from dempster.optimize.projection import Terms, euclidean_terms, linear_image, terms_of_conflicts
from dempster.optimize.row_fit import symmetric_pairs
from dempster.partition import CredalPartition

__all__ = [
    "EvclusSettings",
    "SCALES",
    "PairDissimilarities",
    "likelihood_of_clusters",
    "ConflictProblem",
    "AllPairs",
    "SomePairs",
    "Links",
    "link_form",
    "DistinctObjects",
    "distinct_objects",
    "ALL_PAIRS_UP_TO",
    "FittedPairs",
    "ScaleChoice",
    "wanted_terms",
    "needs_products",
    "twins_at_zero",
]


_ROWS = 1024  # of the conflicts of all pairs, held at once


@dataclass(frozen=True)
class Links:
    """Constraints between the objects of a problem: symmetric adjacency with +1 (must-link) and -1 (cannot-link)."""

    indptr: np.ndarray
    indices: np.ndarray
    signs: np.ndarray

    @property
    def n_must(self) -> int:
        return int(np.sum(self.signs > 0)) // 2

    @property
    def n_cannot(self) -> int:
        return int(np.sum(self.signs < 0)) // 2

    def __len__(self) -> int:
        return len(self.signs) // 2

    @classmethod
    def of(cls, constraints: Constraints | None, n: int) -> Links:
        """Those of n objects; none without constraints."""
        return cls.none(n) if constraints is None else cls(*linked_pairs(constraints, n))

    @classmethod
    def none(cls, n: int) -> Links:
        return cls(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0))

    def among(self, which: np.ndarray) -> Links:
        """The links between some of the objects, renumbered."""
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
    """Z with m_i' Z m_j = pl(different) + 1 - pl(same): 0 when two objects are surely together, 2 when surely apart."""
    nothing = (family.cardinality == 0).astype(float)
    empty = np.maximum(nothing[:, None], nothing[None, :])
    same = np.diag((family.cardinality == 1).astype(float))
    return np.ascontiguousarray(1 + family.conflict - empty - same)


class ConflictProblem(ABC):
    """Pairs with their dissimilarities, for any family of focal sets."""

    n: int
    total: float  # sum over the pairs of w delta^2
    n_pairs: float  # sum over the pairs of w

    @abstractmethod
    def _descend(self, masses, conflict, simple, order, max_iter, tol, constant, links): ...

    @abstractmethod
    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        """Sum over the pairs of w (conflict - delta)^2."""

    def stress(self, masses: np.ndarray, family: FocalSets) -> float:
        """The objective without constraints."""
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
        """Masses, objective after every sweep, and whether it converged."""
        masses = np.array(masses, dtype=float, order="C")
        conflict = np.array(family.conflict)
        # stress + xi / (2 N_c) [sum_ML m'Zm + sum_CL (2 - m'Zm)], in units of the sum of squares
        weight = self.total * xi / (2 * len(links)) if len(links) else 0.0
        linear = (links.indptr, links.indices, weight * links.signs, link_form(family))
        history, converged = self._descend(
            masses, conflict, is_simple_family(conflict), order, max_iter, tol, 2 * weight * links.n_cannot, linear
        )
        return masses, np.maximum(history, 0) / self.total, bool(converged)


class AllPairs(ConflictProblem):
    """Every pair of n objects, from the (n, n) matrix of conflicts wanted; a pair counts as much as the product of the
    weights (None: one each)."""

    def __init__(self, delta: np.ndarray, weights: np.ndarray | None = None):
        self.delta = np.ascontiguousarray(delta, dtype=float)
        self.n = len(delta)
        self.weights = np.ones(self.n) if weights is None else np.asarray(weights, dtype=float)
        self.total = float(np.sum(self.delta**2 * self.weights, axis=1) @ self.weights) / 2
        self.n_pairs = (float(np.sum(self.weights)) ** 2 - float(np.sum(self.weights**2))) / 2

    def _descend(self, masses, conflict, simple, order, max_iter, tol, constant, links):
        return descend_all_pairs(
            masses, self.delta, self.weights, conflict, simple, order, max_iter, tol, constant, links
        )

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        image = masses @ family.conflict
        own = self.weights * np.einsum("ia,ia->i", image, masses)
        total = -float(own @ own)  # pairs of an object with itself are no pairs
        for start in range(0, self.n, _ROWS):
            rows = slice(start, start + _ROWS)
            gap = image[rows] @ masses.T - self.delta[rows]
            total += float(self.weights[rows] @ np.einsum("ij,ij,j->i", gap, gap, self.weights))
        return total / 2


class SomePairs(ConflictProblem):
    """Chosen pairs (p, 2) with weights."""

    def __init__(self, n: int, pairs: np.ndarray, weights: np.ndarray, delta: np.ndarray):
        self.n = n
        self.indptr, self.indices, self.weights, which = symmetric_pairs(n, pairs, weights)
        self.delta = np.asarray(delta, dtype=float)[which]
        self.total = float(np.sum(weights * delta**2))
        self.n_pairs = float(np.sum(weights))

    def _descend(self, masses, conflict, simple, order, max_iter, tol, constant, links):
        return descend_some_pairs(
            masses, self.indptr, self.indices, self.weights, self.delta, conflict, simple, order, max_iter, tol,
            constant, links,
        )  # fmt: skip

    def squares(self, masses: np.ndarray, family: FocalSets) -> float:
        conflict, masses = np.array(family.conflict), np.ascontiguousarray(masses, dtype=float)
        simple = is_simple_family(conflict)
        return float(pairs_value(masses, self.indptr, self.indices, self.weights, self.delta, conflict, simple))


@dataclass(frozen=True)
class DistinctObjects:
    """Which of n objects are fitted, and how much each of them counts.

    Attributes
    ----------
    order : (n,) array
        Positions of all objects, in the order; equal ones stand together, in that of the rows.
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
    """``merge``: objects that are equal cell by cell are one. Those of a matrix have no cells."""
    n = len(sample.values)
    given = sample.weights
    # by a power of two, which is exact: sums of weights of any size stay finite
    own = np.ones(n) if given is None else np.ldexp(given, -np.frexp(given.max())[1])
    order, repeated = _order(sample.values, own, device)
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


def _order(
    objects: DissimilaritySource | SparseSource, weights: np.ndarray, device: str
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the objects: along a line through attributes, along the sums of the dissimilarities in a matrix, by
    the keys of anything else, and as they are in a sparse matrix; and which of them repeat the one before."""
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


ALL_PAIRS_UP_TO = 1000  # objects, for sampling="auto" and to assess a fit
MOST_REFERENCES = 5000  # landmarks that constrained objects may add up to; references of k-EVCLUS
_FEWEST_LANDMARKS = 600
_LANDMARKS_PER_CLUSTER = 30
_ASSESSED_PAIRS = 50_000
_UNKNOWN_DIMENSION = 5.0  # of a sparse matrix
_ASSESSED_PAIRS_OF_SLOW_METRICS = 5000
_NOTHING_TO_TELL = "all dissimilarities are zero: there is nothing to tell the objects apart"


class ScaleChoice(NamedTuple):
    """A scale that may be chosen: a quantile of the dissimilarities (NaN if d0 is given) and d0."""

    quantile: float
    d0: float


class FittedPairs:
    """The objects and pairs of one fit.

    Attributes
    ----------
    sampling : str
        What "auto" stands for.
    distinct : DistinctObjects
        Of its positions, in their order, everything is drawn.
    fitted : (m,) array
        Positions of the objects that are fitted, some of these in the same order.
    counts : (m,) array or None
        How much each of them counts; None if all count alike.
    chosen : (r,) array
        Which of them others are compared with.
    dissimilarities : (m, m) array or PairDissimilarities
        Between them, or of the pairs that are fitted.
    scales : list of ScaleChoice
        The scales that may be chosen: one, unless ``d0`` is to be found.
    settled : int
        Which of them was.
    """

    def __init__(
        self,
        settings: EvclusSettings,
        objects: DissimilaritySource | SparseSource,
        distinct: DistinctObjects,
        links: Links,
        rng: np.random.Generator,
    ):
        self.settings, self.objects, self.distinct, self.rng = settings, objects, distinct, rng
        self.n = len(objects)
        self.counted, self.weights = distinct.positions, distinct.weights
        if len(distinct.rows) < max(2, settings.n_clusters):
            raise InvalidInputError(
                f"sample_weight leaves {len(distinct.rows)} objects of positive weight, but at least "
                f"{max(2, settings.n_clusters)} are needed"
            )
        if len(self.counted) < 2:
            raise InvalidInputError(_NOTHING_TO_TELL)
        self.stored = self._stored_pairs(objects) if isinstance(objects, SparseSource) else None
        self.sampling = self._chosen_sampling()
        self.fitted, self.counts = self._fitted_objects(links)
        self.chosen: np.ndarray = np.arange(len(self.fitted))
        if self.sampling == "random" and self.stored is None:
            self.chosen = choose_landmarks(len(self.fitted), MOST_REFERENCES, rng)
        if isinstance(objects, MatrixSource):  # new objects come with their dissimilarities in the order of the rows
            self.chosen = self.chosen[np.argsort(self.references)]
        d, weights, self._problem_of = self._some_pairs() if self.sampling == "random" else self._all_pairs()
        if not np.any(d > 0):
            raise InvalidInputError(_NOTHING_TO_TELL)
        self.scales = self._scales(d, weights)
        self._problems: dict[int, ConflictProblem] = {}
        self.settled = 0

    @property
    def source(self) -> DissimilaritySource:
        """The objects, if any pair of them can be asked for."""
        assert not isinstance(self.objects, SparseSource)
        return self.objects

    @property
    def references(self) -> np.ndarray:
        """Positions of the objects that others are compared with."""
        return self.fitted[self.chosen]

    @property
    def d0(self) -> float:
        """Dissimilarity at which two objects are almost surely in different clusters."""
        return self.scales[self.settled].d0

    @property
    def problem(self) -> ConflictProblem:
        """The pairs, with the conflicts that they should have."""
        return self.problem_at(self.settled)

    def problem_at(self, which: int) -> ConflictProblem:
        """The same at one of the scales."""
        if which not in self._problems:
            self._problems[which] = self._problem_of(self.scales[which].d0)
        return self._problems[which]

    def settle(self, which: int) -> None:
        """Go on with one of the scales."""
        self.settled = which

    def likelihood(self, labels: np.ndarray) -> float:
        """How well clusters of the fitted objects explain the dissimilarities of the pairs."""
        return likelihood_of_clusters(self.dissimilarities, labels, self.dimension, self.counts)

    @cached_property
    def dimension(self) -> float:
        """Of the attributes, or the one that the dissimilarities speak of."""
        if self.stored is not None:
            return _UNKNOWN_DIMENSION
        if isinstance(self.source, AttributeSource) and self.source.metric == "euclidean":
            return float(self.source.objects.shape[1])
        few = self.fitted[choose_landmarks(len(self.fitted), _FEWEST_LANDMARKS, self.rng)]
        return intrinsic_dimension(self.source.block(few, few).astype(float))

    @cached_property
    def _stand_ins(self) -> AttributeSource | None:
        """The fitted objects with a stand-in for every missing cell, if there are any: what these add to all
        dissimilarities would hide how wide the clusters are."""
        objects = self.objects
        if not (isinstance(objects, AttributeSource) and objects.lacks_cells):
            return None
        return AttributeSource(filled(objects.objects[self.fitted]), objects.metric)

    def drawn_objects(self, size: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Objects at random, in proportion to their weights, and how much each counts (None: all alike)."""
        places, times = self._drawn_from(np.arange(len(self.counted)), size)
        return self.counted[places], times

    def pairs_to_assess(self, some: np.ndarray | None = None) -> ComparedPairs:
        """All pairs of objects, equal ones too, or a random sample of many; of a sparse matrix those that it holds.

        ``some``: of these objects only, each of which counts for its equals.
        """
        rows, weights = self.distinct.rows, self.distinct.row_weights
        if some is not None:
            rows, weights = some, self.weights
        if self.stored is not None:
            pairs, times, d = self.stored
        elif len(rows) <= ALL_PAIRS_UP_TO:
            i, j = np.triu_indices(len(rows), 1)
            pairs, times, d = rows[np.column_stack([i, j])], np.ones(len(i)), self.source.block(rows, rows)[i, j]
        else:
            slow = isinstance(self.source, AttributeSource) and self.source.metric != "euclidean"
            pairs = self._random_pairs(rows, _ASSESSED_PAIRS_OF_SLOW_METRICS if slow else _ASSESSED_PAIRS)
            times, d = np.ones(len(pairs)), self.source.pairs(pairs[:, 0], pairs[:, 1])
        weight = times if weights is None else times * weights[pairs].prod(axis=1)
        return ComparedPairs(pairs[:, 0], pairs[:, 1], d, weight)

    # ---- objects --------------------------------------------------------------------------------------------------

    def _chosen_sampling(self) -> str:
        sampling = self.settings.sampling
        if self.stored is not None:
            if sampling not in ("auto", "random"):
                raise InvalidInputError(
                    f"sampling={sampling!r} needs all dissimilarities, but X is a sparse matrix of some"
                )
            return "random"
        if sampling != "auto":
            return sampling
        return "all" if len(self.counted) <= ALL_PAIRS_UP_TO else "landmarks"

    def _fitted_objects(self, links: Links) -> tuple[np.ndarray, np.ndarray | None]:
        if self.sampling == "landmarks":
            return self._landmarks(links)
        return self.counted, None if self.weights is None else self.weights[self.counted]

    def _landmarks(self, links: Links) -> tuple[np.ndarray, np.ndarray | None]:
        """Constrained objects, and others at random."""
        c, asked = self.settings.n_clusters, self.settings.n_landmarks
        p = max(_FEWEST_LANDMARKS, _LANDMARKS_PER_CLUSTER * c) if asked is None else asked
        if p < c:
            raise InvalidInputError(f"n_landmarks={p} must be at least n_clusters={c}")
        free = ~np.isin(self.counted, links.objects)
        linked = np.flatnonzero(~free)
        if len(linked) > MOST_REFERENCES:
            linked = np.sort(self.rng.choice(linked, MOST_REFERENCES, replace=False))
            free = np.ones(len(free), dtype=bool)
            free[linked] = False
        others = np.flatnonzero(free)
        more, times = self._drawn_from(others, max(p - len(linked), p // 2))
        places = np.concatenate([linked, more])
        order = np.argsort(places)
        landmarks = self.counted[places[order]]
        if self.weights is None or times is None:
            return landmarks, None
        if len(landmarks) == len(self.counted):
            return landmarks, self.weights[landmarks]
        return landmarks, np.concatenate([np.ones(len(linked)), times])[order]

    def _drawn_from(self, places: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Some of these places among the counted objects; with weights, one that is drawn several times counts so much
        more."""
        if self.weights is None:
            return places[choose_landmarks(len(places), size, self.rng)], None
        weights = self.weights[self.counted[places]]
        if size >= len(places):
            return places, weights / weights.mean()
        which, times = np.unique(systematic_draw(weights, size, as_random_state(self.rng)), return_counts=True)
        return places[which], times.astype(float)

    # ---- pairs ----------------------------------------------------------------------------------------------------

    def _all_pairs(self) -> tuple[np.ndarray, np.ndarray | None, Callable[[float], ConflictProblem]]:
        """Dissimilarities of the pairs and their weights, and the problem at a scale."""
        D = self.source.block(self.fitted, self.fitted).astype(float)
        np.fill_diagonal(D, 0)
        D = (D + D.T) / 2  # metrics may be symmetric up to rounding only
        whole = self._stand_ins
        self.dissimilarities: np.ndarray | PairDissimilarities = (
            D if whole is None else whole.block(slice(None), slice(None))
        )
        i, j = np.triu_indices(len(D), 1)
        weights = None if self.counts is None else self.counts[i] * self.counts[j]
        return D[i, j], weights, lambda d0: AllPairs(to_conflict(D, d0), self.counts)

    def _some_pairs(self) -> tuple[np.ndarray, np.ndarray | None, Callable[[float], ConflictProblem]]:
        """The same for some pairs of the fitted objects, by their positions among these."""
        m = len(self.fitted)
        if self.stored is not None:
            stored, times, d = self.stored
            pairs = np.searchsorted(self.fitted, stored)
        else:
            pairs, times = random_pairs(m, self.settings.n_partners, self.rng)
            d = self.source.pairs(*self.fitted[pairs].T)
        weights = times if self.counts is None else times * self.counts[pairs].prod(axis=1)
        apart = d if self._stand_ins is None else self._stand_ins.pairs(*pairs.T)
        self.dissimilarities = PairDissimilarities(pairs[:, 0], pairs[:, 1], apart, weights)
        given = None if self.counts is None else weights
        return d, given, lambda d0: SomePairs(m, pairs, weights, to_conflict(d, d0))

    def _stored_pairs(self, objects: SparseSource) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of the counted objects that a sparse matrix holds, how often, and their dissimilarities."""
        pairs, times, d = pairs_of_sparse(objects.stored, symmetrize=self.settings.symmetrize)
        counts = np.zeros(self.n, dtype=bool)
        counts[self.counted] = True
        kept = counts[pairs].all(axis=1)
        pairs, times, d = pairs[kept], times[kept], d[kept]
        _check_connected(len(self.counted), np.searchsorted(self.counted, pairs))
        return pairs, times, d

    def _random_pairs(self, objects: np.ndarray, n_pairs: int) -> np.ndarray:
        return objects[np.column_stack(drawn_pairs(len(objects), n_pairs, self.rng))]

    # ---- scale ----------------------------------------------------------------------------------------------------

    def _scales(self, d: np.ndarray, weights: np.ndarray | None) -> list[ScaleChoice]:
        """Quantiles and values of d0 from the dissimilarities of the fitted pairs, or from more pairs where landmarks
        stand for many objects and distances cost little."""
        s = self.settings
        if s.d0 is not None:
            return [ScaleChoice(np.nan, s.d0)]
        if len(self.fitted) < len(self.counted) and self.source.metric == "euclidean":
            pairs = self._random_pairs(self.counted, _ASSESSED_PAIRS)
            d = self.source.pairs(pairs[:, 0], pairs[:, 1])
            weights = None if self.weights is None else self.weights[pairs].prod(axis=1)
        if s.d0_quantile is not None:
            return [ScaleChoice(s.d0_quantile, scale_at(d, s.d0_quantile, weights))]
        # quantiles at which many objects do not differ are no scale; the largest always is
        found = [ScaleChoice(q, d0) for q in SCALES[:-1] if (d0 := scale_at(d, q, weights, zero=True)) > 0]
        return [*found, ScaleChoice(SCALES[-1], scale_at(d, SCALES[-1], weights))]


def _check_connected(n: int, pairs: np.ndarray) -> None:
    graph = sparse.coo_matrix((np.ones(len(pairs)), pairs.T), shape=(n, n))
    parts, label = sparse.csgraph.connected_components(graph, directed=False)
    if parts > 1:
        smallest = int(np.bincount(label).min())
        raise InvalidInputError(
            f"X holds pairs that connect the objects in {parts} separate groups (the smallest of {smallest}); "
            "without pairs between them their clusters cannot be compared"
        )


_FEW_ATTRIBUTES = 32  # beyond, a product of matrices is faster than differences, attribute by attribute


def wanted_terms(
    values: Any,
    references: References,
    d0: float,
    masses: np.ndarray,
    conflict: np.ndarray,
    counts: np.ndarray | None,
) -> Terms:
    """Linear terms of the quadratic programs of objects read by `DissimilarityInput.new`, compared with references of
    these masses and counts; computed as they are needed."""
    image = linear_image(masses, conflict, counts)
    if not needs_products(values, references):
        assert references.source is not None
        rows = np.ascontiguousarray(values)
        return euclidean_terms(rows, references.source.objects.astype(rows.dtype), decay(d0), image)
    return terms_of_conflicts(_wanted_conflicts(values, references, d0, masses, conflict), image)


def needs_products(values: Any, references: References) -> bool:
    """Whether products of matrices are taken: they are not for Euclidean distances between few attributes."""
    return not references.are_points(values) or values.shape[1] > _FEW_ATTRIBUTES


def _wanted_conflicts(
    values: Any, references: References, d0: float, masses: np.ndarray, conflict: np.ndarray
) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """For the objects start..stop, the conflicts wanted with the references, and for each object the reference that it
    coincides with, -1 if there is none."""
    if references.are_points(values):
        return _euclidean_conflicts(values, references, decay(d0))

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        D = references.dissimilarities(values, start, stop)
        if references.source is None:
            return to_conflict(D, d0), twins_at_zero(D, d0, masses, conflict)
        return to_conflict(D, d0), references.equals(values, start, stop)

    return conflicts


def _euclidean_conflicts(
    rows: np.ndarray, references: References, gamma: float
) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
    """Euclidean distances of a block take one matrix product."""
    assert references.source is not None
    points = references.source.objects
    center = mean_of_rows(points, dtype=None)  # small numbers lose fewer digits
    B = points - center
    columns = np.ascontiguousarray(2 * B.T)
    square = np.einsum("pd,pd->p", B, B)

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        A = rows[start:stop] - center
        S = A @ columns
        S -= square
        own = np.einsum("bd,bd->b", A, A)
        S -= own[:, None]
        np.minimum(S, 0, out=S)  # minus the squared distances
        # few rows can be equal to a reference: those at a distance that may be rounding
        close = np.flatnonzero(S.max(axis=1) >= -1000 * np.finfo(S.dtype).eps * own)
        same = np.full(len(S), -1)
        same[close] = references.equals(rows[start:stop][close])
        S *= S.dtype.type(gamma)
        np.exp(S, out=S)  # twice as fast as expm1, whose digits near zero are not needed here
        np.subtract(1, S, out=S)
        return S, same

    return conflicts


def twins_at_zero(D: np.ndarray, d0: float, masses: np.ndarray, conflict: np.ndarray) -> np.ndarray:
    """For each row a reference at dissimilarity zero (up to rounding), -1 if there is none.

    Of several the one whose masses suit the row best: without metric axioms, zero does not make two objects the same.
    """
    zero = D / d0 <= rounding(D.dtype)
    twins = np.where(zero.any(axis=1), zero.argmax(axis=1), -1)
    for i in np.flatnonzero(zero.sum(axis=1) > 1):
        candidates = np.flatnonzero(zero[i])
        gap = masses[candidates] @ conflict @ masses.T - to_conflict(D[i], d0)
        twins[i] = candidates[np.square(gap).sum(axis=1).argmin()]
    return twins


SCALES = (0.06, 0.2, 0.35, 0.5, 0.8, 1.0)  # quantiles of the dissimilarities that are tried


_FLOOR = 0.02


class PairDissimilarities(NamedTuple):
    """Some pairs of objects i and j with their dissimilarities and weights."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray
    weight: np.ndarray


def likelihood_of_clusters(
    dissimilarities: np.ndarray | PairDissimilarities,
    labels: np.ndarray,
    dimension: float,
    weights: np.ndarray | None = None,
) -> float:
    """Log-likelihood per object, up to a constant, of a round Gaussian in each cluster.

    Parameters
    ----------
    dissimilarities : (n, n) array or PairDissimilarities
    labels : (n,) array
    dimension : float
    weights : (n,) array, optional
        Of the objects.
    """
    w = np.ones(len(labels)) if weights is None else weights
    clusters, at = np.unique(labels, return_inverse=True)
    total = np.bincount(at, w)
    if isinstance(dissimilarities, PairDissimilarities):
        within = _mean_of_pairs(dissimilarities, at, len(clusters)) * (1 - np.bincount(at, w**2) / total**2)
    else:
        share = np.where(labels == clusters[:, None], w, 0.0)
        within = np.einsum("ki,ki->k", share @ np.square(dissimilarities, dtype=float), share) / (2 * total**2)
    part = total / total.sum()
    mean = float(part @ within)
    if not mean > 0:  # every cluster is a place
        return np.inf
    return float(part @ (np.log(part) - dimension / 2 * np.log(within + _FLOOR * mean)))


def _mean_of_pairs(pairs: PairDissimilarities, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """Half the mean squared dissimilarity of the pairs within each cluster; their mean over all where there is none."""
    together = labels[pairs.i] == labels[pairs.j]
    where, weight = labels[pairs.i[together]], pairs.weight[together]
    squares = np.bincount(where, weight * np.square(pairs.dissimilarity[together]), minlength=n_clusters)
    counts = np.bincount(where, weight, minlength=n_clusters)
    overall = squares.sum() / max(counts.sum(), np.finfo(float).tiny)
    return np.where(counts > 0, squares / np.where(counts > 0, counts, 1), overall) / 2


@dataclass(frozen=True)
class EvclusSettings:
    """The parameters of one fit.

    Attributes
    ----------
    d0 : float or None
        None: the dissimilarity at ``d0_quantile``, or if that is None, too, to be found from the data.
    n_landmarks : int or None
        None: as many as the number of clusters asks for.
    xi, link_factor : float
        Weight of the constraints, and the units it is given in (`link_factor`).
    init : str, CredalPartition or array of masses
        The name of a way to draw starts, or where to start from.
    labels : array or None
        A hard partition to start from instead.
    """

    n_clusters: int
    d0: float | None
    d0_quantile: float | None
    sampling: str
    n_partners: int
    n_landmarks: int | None
    symmetrize: bool
    xi: float
    link_factor: float
    init: str | CredalPartition | ArrayLike
    labels: np.ndarray | None
    n_init: int
    max_iter: int
    tol: float
    device: str
