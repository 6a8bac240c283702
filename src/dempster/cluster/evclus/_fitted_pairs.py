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

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse

from dempster._errors import InvalidInputError
from dempster._random import as_random_state
from dempster.cluster._starts import systematic_draw
from dempster.cluster.evclus._conflict_problems import AllPairs, ConflictProblem, Links, SomePairs
from dempster.cluster.evclus._distinct import DistinctObjects
from dempster.cluster.evclus._scale import SCALES, PairDissimilarities, likelihood_of_clusters
from dempster.cluster.evclus._settings import EvclusSettings
from dempster.cluster.evclus.shepard import ComparedPairs
from dempster.dissimilarity.dimension import intrinsic_dimension
from dempster.dissimilarity.partial import filled
from dempster.dissimilarity.sampling import choose_landmarks, drawn_pairs, pairs_of_sparse, random_pairs
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, MatrixSource, SparseSource
from dempster.dissimilarity.transform import scale_at, to_conflict

__all__ = ["ALL_PAIRS_UP_TO", "FittedPairs", "ScaleChoice"]

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
