"""EVCLUS and its relatives: k-EVCLUS, CEVCLUS, k-CEVCLUS, and EVCLUS by landmarks.

`FittedPairs` decides which objects are fitted, and to which of their pairs:

=============  ======================================================================================================
``sampling``   what is fitted
=============  ======================================================================================================
"all"          all pairs of the objects that differ (of positive weight)
"random"       some partners of each of them, drawn or, in a sparse matrix, given
"landmarks"    all pairs of a few objects, on which the others are projected
=============  ======================================================================================================

`EvclusMethod` lets starts and scales compete on these pairs and gives masses to all objects; `EVCLUS` is the estimator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from scipy import sparse

from dempster import _validation as rule
from dempster._arrays import Array, to_device_of, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._random import as_random_state, generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import tensor_attributes
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, FitRequest, Support
from dempster.cluster._mass_step import carried_partition
from dempster.cluster._medoid_starts import masses_from_labels, masses_from_medoids, medoid_starts, random_masses
from dempster.cluster._search import Families, FitResult, Method, Sample, Search
from dempster.cluster._starts import checked_masses_start
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks
from dempster.cluster.evclus._model import (
    Assessment,
    DoubtModel,
    EvclusModel,
    ShepardMixin,
    assess,
    neighbors_of_pairs,
    twins_at_zero,
    wanted_terms,
)
from dempster.cluster.evclus._pairs import (
    SCALES,
    AllPairs,
    ConflictProblem,
    DistinctObjects,
    Links,
    Scale,
    ScaleTrial,
    SomePairs,
    WeightedPairs,
    distinct_objects,
    likelihood_of_clusters,
    link_form,
)
from dempster.constraints import Constraints
from dempster.data.sampling import systematic_draw
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.partial import filled
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    References,
    SparseSource,
    TensorSource,
)
from dempster.dissimilarity.transform import (
    choose_landmarks,
    conflicts_at,
    drawn_pairs,
    intrinsic_dimension,
    pairs_of_sparse,
    random_pairs,
    scale_at,
)
from dempster.optimize.blocks import row_blocks
from dempster.optimize.descent import Run, as_likely
from dempster.optimize.projection import projection_hessian, settle_links
from dempster.partition import CredalPartition

ALL_PAIRS_UP_TO = 1000  # objects, for sampling="auto" and to assess a fit
MAX_REFERENCES = 5000  # landmarks that constrained objects may add up to; references of k-EVCLUS
_MIN_LANDMARKS = 600
_LANDMARKS_PER_CLUSTER = 30
_ASSESSED_PAIRS = 50_000
_ASSESSED_PAIRS_OF_SLOW_METRICS = 5000
_DIMENSION_OF_SPARSE = 5.0  # a sparse matrix does not tell
_NOTHING_TO_TELL = "all dissimilarities are zero: there is nothing to tell the objects apart"


LINK_FACTORS = {"program": 4.0, "paper": 1.0}  # weight of the constraints, in units of the published formula


# ---- objects and pairs ----------------------------------------------------------------------------------------------


class FittedPairs:
    """The objects and pairs of one fit.

    Attributes
    ----------
    sampling : str
        What "auto" stands for.
    distinct : DistinctObjects
        Of its positions, in their order, everything is drawn.
    stored : tuple or None
        Pairs that a sparse matrix holds, how often, and their dissimilarities.
    fitted : (m,) array
        Positions of the objects that are fitted, some of these in the same order.
    counts : (m,) array or None
        How much each of them counts; None if all count alike.
    chosen : (r,) array
        Which of them others are compared with.
    references : (r,) array
        Positions of the objects that others are compared with.
    dissimilarities : (m, m) array or WeightedPairs
        Between them, or of the pairs that are fitted.
    scale : Scale
        The scales that may be chosen: one, unless ``d0`` is to be found.
    """

    def __init__(
        self,
        params: EVCLUS,
        n_clusters: int,
        objects: DissimilaritySource | SparseSource,
        distinct: DistinctObjects,
        links: Links,
        rng: np.random.Generator,
    ):
        self.params, self.objects, self.distinct, self.rng = params, objects, distinct, rng
        self.source = cast(DissimilaritySource, objects)  # a sparse matrix is not asked for other pairs than it holds
        self.counted, self.weights = distinct.positions, distinct.weights
        if len(distinct.rows) < max(2, n_clusters):
            raise InvalidInputError(
                f"sample_weight leaves {len(distinct.rows)} objects of positive weight, but at least "
                f"{max(2, n_clusters)} are needed"
            )
        if len(self.counted) < 2:
            raise InvalidInputError(_NOTHING_TO_TELL)
        self.sampling = params.sampling
        self.stored = None
        if isinstance(objects, SparseSource):
            self.stored = self._stored_pairs(objects)
            if self.sampling not in ("auto", "random"):
                raise InvalidInputError(
                    f"sampling={self.sampling!r} needs all dissimilarities, but X is a sparse matrix of some"
                )
            self.sampling = "random"
        elif self.sampling == "auto":
            self.sampling = "all" if len(self.counted) <= ALL_PAIRS_UP_TO else "landmarks"
        self.fitted: np.ndarray = self.counted
        self.counts = None if self.weights is None else self.weights[self.counted]
        if self.sampling == "landmarks":
            self.fitted, self.counts = self._landmarks(n_clusters, links)
        self.chosen: np.ndarray = np.arange(len(self.fitted))
        if self.sampling == "random" and self.stored is None:
            self.chosen = choose_landmarks(len(self.fitted), MAX_REFERENCES, rng)
        if isinstance(objects, MatrixSource):  # new objects come with their dissimilarities in the order of the rows
            self.chosen = self.chosen[np.argsort(self.fitted[self.chosen])]
        self.references = self.fitted[self.chosen]
        self._pairs: tuple[np.ndarray, np.ndarray] | None = None  # and their weights; None: all pairs
        self._problems: dict[int, ConflictProblem] = {}
        # what missing cells add to all dissimilarities would hide how wide the clusters are: they have stand-ins there
        complete = None
        if isinstance(objects, AttributeSource) and objects.lacks_cells:
            complete = AttributeSource(filled(objects.objects[self.fitted]), objects.metric)
        d, weights = self._some_pairs(complete) if self.sampling == "random" else self._all_pairs(complete)
        if not np.any(d > 0):
            raise InvalidInputError(_NOTHING_TO_TELL)
        self.scale = self._scale(d, weights)

    def problem_at(self, trial: int) -> ConflictProblem:
        """Return the pairs, with the conflicts that they should have at one of the scales."""
        if trial not in self._problems:
            delta = conflicts_at(self._apart, self.scale.trials[trial].d0)
            if self._pairs is None:
                self._problems[trial] = AllPairs(delta, self.counts)
            else:
                self._problems[trial] = SomePairs(len(self.fitted), *self._pairs, delta)
        return self._problems[trial]

    @cached_property
    def dimension(self) -> float:
        """Of the attributes, or the one that the distances to the nearest objects speak of."""
        if self.stored is not None:
            return _DIMENSION_OF_SPARSE
        if isinstance(self.source, AttributeSource) and self.source.metric == "euclidean":
            return float(self.source.objects.shape[1])
        few = self.fitted[choose_landmarks(len(self.fitted), _MIN_LANDMARKS, self.rng)]
        return intrinsic_dimension(self.source.block(few, few).astype(float))

    def draw_objects(self, places: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Draw some of these places among the counted objects, and return how much each counts (None: all alike).

        They are drawn in proportion to the weights; one that is drawn several times counts so much more.
        """
        if self.weights is None:
            return places[choose_landmarks(len(places), size, self.rng)], None
        weights = self.weights[self.counted[places]]
        if size >= len(places):
            return places, weights / weights.mean()
        which, times = np.unique(systematic_draw(weights, size, as_random_state(self.rng)), return_counts=True)
        return places[which], times.astype(float)

    def pairs_to_assess(self, some: np.ndarray | None = None) -> WeightedPairs:
        """Return all pairs of objects, equal ones too, or a random sample of many; of a sparse matrix those it holds.

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
            n_pairs = _ASSESSED_PAIRS_OF_SLOW_METRICS if slow else _ASSESSED_PAIRS
            pairs = rows[np.column_stack(drawn_pairs(len(rows), n_pairs, self.rng))]
            times, d = np.ones(len(pairs)), self.source.pairs(pairs[:, 0], pairs[:, 1])
        weight = times if weights is None else times * weights[pairs].prod(axis=1)
        return WeightedPairs(pairs[:, 0], pairs[:, 1], d, weight)

    def _landmarks(self, n_clusters: int, links: Links) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the constrained objects and others at random, and how much each counts."""
        p = self.params.n_landmarks
        if isinstance(p, str):
            p = max(_MIN_LANDMARKS, _LANDMARKS_PER_CLUSTER * n_clusters)
        if p < n_clusters:
            raise InvalidParameterError("n_landmarks", f"at least n_clusters={n_clusters}", p)
        free = ~np.isin(self.counted, links.objects)
        linked = np.flatnonzero(~free)
        if len(linked) > MAX_REFERENCES:
            linked = np.sort(self.rng.choice(linked, MAX_REFERENCES, replace=False))
            free = np.ones(len(free), dtype=bool)
            free[linked] = False
        more, times = self.draw_objects(np.flatnonzero(free), max(p - len(linked), p // 2))
        places = np.concatenate([linked, more])
        order = np.argsort(places)
        landmarks = self.counted[places[order]]
        if self.weights is None or times is None:
            return landmarks, None
        if len(landmarks) == len(self.counted):
            return landmarks, self.weights[landmarks]
        return landmarks, np.concatenate([np.ones(len(linked)), times])[order]

    def _all_pairs(self, complete: AttributeSource | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the dissimilarities of the pairs and their weights."""
        D = self.source.block(self.fitted, self.fitted).astype(float)
        np.fill_diagonal(D, 0)
        D = (D + D.T) / 2  # metrics may be symmetric up to rounding only
        self.dissimilarities: np.ndarray | WeightedPairs = (
            D if complete is None else complete.block(slice(None), slice(None))
        )
        self._apart = D
        i, j = np.triu_indices(len(D), 1)
        return D[i, j], None if self.counts is None else self.counts[i] * self.counts[j]

    def _some_pairs(self, complete: AttributeSource | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the same for some pairs of the fitted objects."""
        if self.stored is not None:
            stored, times, d = self.stored
            pairs = np.searchsorted(self.fitted, stored)
        else:
            pairs, times = random_pairs(len(self.fitted), self.params.n_partners, self.rng)
            d = self.source.pairs(*self.fitted[pairs].T)
        weights = times if self.counts is None else times * self.counts[pairs].prod(axis=1)
        apart = d if complete is None else complete.pairs(*pairs.T)
        self.dissimilarities = WeightedPairs(pairs[:, 0], pairs[:, 1], apart, weights)
        self._apart, self._pairs = d, (pairs, weights)
        return d, None if self.counts is None else weights

    def _stored_pairs(self, objects: SparseSource) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs of the counted objects that a sparse matrix holds, how often, and their dissimilarities."""
        pairs, times, d = pairs_of_sparse(objects.stored, symmetrize=bool(self.params.symmetrize))
        counts = np.zeros(len(objects), dtype=bool)
        counts[self.counted] = True
        kept = counts[pairs].all(axis=1)
        pairs, times, d = pairs[kept], times[kept], d[kept]
        n, ends = len(self.counted), np.searchsorted(self.counted, pairs)
        graph = sparse.coo_matrix((np.ones(len(ends)), ends.T), shape=(n, n))
        parts, label = sparse.csgraph.connected_components(graph, directed=False)
        if parts > 1:
            raise InvalidInputError(
                f"X holds pairs that connect the objects in {parts} separate groups (the smallest of "
                f"{int(np.bincount(label).min())}); without pairs between them their clusters cannot be compared"
            )
        return pairs, times, d

    def _scale(self, d: np.ndarray, weights: np.ndarray | None) -> Scale:
        """Return the scales, from the dissimilarities of the fitted pairs, or from more pairs where landmarks stand for
        many objects and distances cost little."""
        d0, quantile = self.params.d0, self.params.d0_quantile
        if not isinstance(d0, str):
            return Scale((ScaleTrial(np.nan, float(d0)),))
        if len(self.fitted) < len(self.counted) and self.source.metric == "euclidean":
            pairs = self.counted[np.column_stack(drawn_pairs(len(self.counted), _ASSESSED_PAIRS, self.rng))]
            d = self.source.pairs(pairs[:, 0], pairs[:, 1])
            weights = None if self.weights is None else self.weights[pairs].prod(axis=1)
        if quantile is not None:
            return Scale((ScaleTrial(float(quantile), scale_at(d, float(quantile), weights)),))
        # quantiles at which many objects do not differ are no scale; the largest always is
        trials = []
        for quantile in SCALES:
            d0 = scale_at(d, quantile, weights, zero=quantile < SCALES[-1])
            if d0 > 0:
                trials.append(ScaleTrial(quantile, d0))
        return Scale(tuple(trials))


# ---- the algorithm --------------------------------------------------------------------------------------------------

_REFINE_ON = 2000  # objects that the landmarks are fitted to a second time
_LANDMARK_TOLERANCE = 1e-5  # finer than what landmarks say about the other objects
_FIRST_TOLERANCE, _FIRST_TOLERANCE_OF_LANDMARKS = 1e-5, 1e-2  # at which starts compete; the first is the papers'
_STARTS_AT_EACH, _STARTS_OF_TRIALS = 0.4, 0.2  # of n_init, at each of the scales that compete
_TRIAL_SHARE, _MIN_TRIAL = 1 / 2, 300  # of the landmarks, on which scales compete
_TRIAL_SWEEPS = 8  # after which labels hardly change
_FIRST_XI = 0.05  # second of the three stages of the constraints
_SETTLING = 50, 1e-6  # sweeps over objects that are linked but not fitted, and the change of a mass that ends them
_MAX_SETS = 256  # of which 40 objects take a minute


@dataclass(frozen=True)
class ObjectMasses:
    """Masses of the objects that are fitted.

    Attributes
    ----------
    family : FocalSets
    masses : (m, f) array
        As the descent left them.
    trial : int
        Position of the scale that they were found at.
    equalized : (m, f) array or None
        The same at the very end, where objects at dissimilarity zero in a matrix have got equal ones.
    doubtful : bool
        Whether doubt between neighboring clusters is to be read off.
    """

    family: FocalSets
    masses: np.ndarray
    trial: int = 0
    equalized: np.ndarray | None = None
    doubtful: bool = False


Start = tuple[ObjectMasses, np.random.Generator]
"""Masses, and the generator from which the order of the sweeps is drawn."""


class EvclusMethod(Method[Start, ObjectMasses]):
    """EVCLUS on one sample of objects.

    ``scale`` holds the values of d0 that compete. Where all objects are fitted, starts at each of them do; where
    landmarks stand for others, half of them decide before the starts are drawn.
    """

    starts_in_threads = True

    def __init__(self, params: EVCLUS, sample: Sample[DissimilaritySource | SparseSource], request: FitRequest):
        self.training = sample
        self.params, self.objects, self.apply = params, sample.values, request.apply
        self.n, self.n_clusters = len(sample.values), request.n_clusters
        self.peaks = fit_source_peaks(params.init, sample.values, self.n_clusters, params.random_state, params.n_jobs)
        self.rng = generator(params.random_state)
        self.links = Links.of(request.constraints if params.xi > 0 else None, self.n)
        # constraints may tell equal objects apart
        self.distinct = distinct_objects(sample, merge=len(self.links) == 0, device=params.device)
        self.pairs = FittedPairs(params, self.n_clusters, sample.values, self.distinct, self.links, self.rng)
        self.scale = self.pairs.scale
        self.are_landmarks = len(self.pairs.fitted) < len(self.distinct.positions)  # whether they stand for others
        self.fitted_links = self.links.among(self.pairs.fitted)
        # landmarks stand for all objects: their constraints weigh against as many more pairs
        self.link_share = LINK_FACTORS[params.convention] * (len(self.distinct.positions) / len(self.pairs.fitted))
        # weights of the constraints in the stages after the first
        self.stages: list[float] = []
        if len(self.fitted_links):
            share = self.link_share * len(self.fitted_links) / len(self.links)
            self.stages = [share * _FIRST_XI, share * params.xi] if params.xi > _FIRST_XI else [share * params.xi]
        coarse = self.pairs.sampling == "landmarks"
        self.tol = max(params.tol, _LANDMARK_TOLERANCE) if coarse else params.tol
        self.first_tol = max(self.tol, _FIRST_TOLERANCE_OF_LANDMARKS if coarse else _FIRST_TOLERANCE)
        self._trial_masses: np.ndarray | None = None  # from the clusters at the scale that won on some landmarks

    # ---- starts ---------------------------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[Start]:
        """Return the masses of ``init``, or starts at the scale, or at each of the scales that compete."""
        if self.scale.is_open and self.are_landmarks:
            self._settle_scale(family)
        given, n_init, is_open = self._given_masses(family), self.params.n_init, self.scale.is_open
        self.has_user_start = given is not None and not is_open and self._trial_masses is None
        if given is not None and self.has_user_start:
            return [(ObjectMasses(family, given, self.scale.position), self.rng)]
        if len(self.scale.trials) > 1:
            n_init = max(1, round(_STARTS_AT_EACH * n_init))
        found = []
        for trial in range(len(self.scale.trials)) if is_open else [self.scale.position]:
            for masses in self._drawn_masses(family, trial, n_init) if given is None else [given]:
                found.append(ObjectMasses(family, masses, trial))
        if self._trial_masses is not None:
            found.append(ObjectMasses(family, self._trial_masses, self.scale.position))
        seeds = self.rng.integers(0, 2**63, len(found))
        return list(zip(found, map(np.random.default_rng, seeds), strict=True))

    def _given_masses(self, family: FocalSets) -> np.ndarray | None:
        """Return the masses that ``init`` holds, of the fitted objects; None if starts are to be drawn."""
        init, fitted = self.params.init, self.pairs.fitted
        if self.peaks is not None:
            return masses_from_labels(self.peaks.labels_[fitted], family)
        if isinstance(init, str):
            return None
        counts_doubt = self.params.focal_sets == "auto"  # single clusters are found first: doubt counts for these
        if counts_doubt and isinstance(init, CredalPartition) and init.n_clusters == self.n_clusters:
            init = carried_partition(init, family)
        given = checked_masses_start(init, self.n, family)
        if np.any(given.masses[:, family.find(given.focal_sets.membership) < 0] > 0):
            raise InvalidInputError("init has masses on sets that focal_sets lacks")
        return np.ascontiguousarray(given.on(family).masses[fitted], dtype=float)

    def _drawn_masses(self, family: FocalSets, trial: int, n_init: int) -> list[np.ndarray]:
        pairs, problem = self.pairs, self.pairs.problem_at(trial)
        fitted, counts, m = pairs.fitted, pairs.counts, len(pairs.fitted)
        if self.params.init == "random" or pairs.stored is not None:
            return [random_masses(m, family, self.rng) for _ in range(n_init)]
        if isinstance(problem, AllPairs):
            return masses_from_medoids(problem.delta, family, n_init, self.rng, counts)
        places = choose_landmarks(m, ALL_PAIRS_UP_TO, self.rng)
        some = fitted[places]
        delta = conflicts_at(pairs.source.block(some, some), self.scale.trials[trial].d0)
        sets = medoid_starts(delta, self.n_clusters, n_init, self.rng, None if counts is None else counts[places])
        blocks = row_blocks(m, most=None)
        nearest = [
            np.concatenate([pairs.source.block(fitted[a:b], some[medoids]).argmin(axis=1) for a, b in blocks])
            for medoids in sets
        ]
        return [masses_from_labels(labels, family) for labels in nearest]

    def _settle_scale(self, family: FocalSets) -> None:
        """Find the scale on half of the landmarks, by a few sweeps; the clusters found there are one of the starts."""
        given, D, max_iter = self._given_masses(family), self.pairs.dissimilarities, self.params.max_iter
        assert isinstance(D, np.ndarray)
        n_init = max(1, round(_STARTS_OF_TRIALS * self.params.n_init))
        size = min(len(D), max(round(_TRIAL_SHARE * len(D)), _MIN_TRIAL))
        places = np.arange(size) * len(D) // size
        D, counts = D[np.ix_(places, places)], None if self.pairs.counts is None else self.pairs.counts[places]
        dimension, no_links = self.pairs.dimension, Links.of(None, size)

        def cluster_at(d0: float, seed: int) -> tuple[float, np.ndarray]:
            """Return the best clusters of several starts at one scale, with their likelihood."""
            rng, problem = np.random.default_rng(seed), AllPairs(conflicts_at(D, d0), counts)
            if given is not None:
                starts = [given[places]]
            elif self.params.init == "random":
                starts = [random_masses(size, family, rng) for _ in range(n_init)]
            else:
                starts = masses_from_medoids(problem.delta, family, n_init, rng, counts)
            found = []
            for start in starts:
                order, sweeps = rng.permutation(size), min(max_iter, _TRIAL_SWEEPS)
                masses, _, _ = problem.descend(start, family, order, sweeps, self.first_tol, no_links, 0.0)
                labels = CredalPartition.unchecked(masses, family).labels
                found.append((likelihood_of_clusters(D, labels, dimension, counts), labels))
            return found[as_likely([likelihood for likelihood, _ in found])[0]]

        seeds = self.rng.integers(0, 2**63, len(self.scale.trials))
        scales = [(trial.d0, seed) for trial, seed in zip(self.scale.trials, seeds, strict=True)]
        results = list(self.apply(cluster_at, scales))
        self.scale = self.scale.settle([likelihood for likelihood, _ in results])
        if given is not None:
            return
        # the other landmarks join the cluster that they should conflict least with, on average
        labels, problem = results[self.scale.position][1], self.pairs.problem_at(self.scale.position)
        assert isinstance(problem, AllPairs)
        members = np.zeros((size, int(labels.max()) + 1))
        members[np.arange(size), labels] = 1 if counts is None else counts
        total = members.sum(axis=0)
        conflict = problem.delta[:, places] @ members / np.where(total > 0, total, 1)
        everyone = np.where(total > 0, conflict, np.inf).argmin(axis=1)
        everyone[places] = labels
        self._trial_masses = masses_from_labels(everyone, family)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def run_start(self, start: Start) -> Run[ObjectMasses]:
        return self._converge(Run(start[0])) if self.has_user_start else self._sweep(*start, [], self.first_tol)

    def select_run(self, runs: Iterable[Run[ObjectMasses]], tol: float) -> Run[ObjectMasses]:
        """Select, of the starts at one scale, that of smallest objective; of the scales the one whose clusters explain
        the data best: objectives at different scales cannot be compared."""
        if self._trial_masses is None and not self.scale.is_open:
            return super().select_run(runs, tol)
        groups: dict[int, list[Run[ObjectMasses]]] = {}
        for run in runs:
            groups.setdefault(run.model.trial, []).append(run)
        if self._trial_masses is not None:  # the last start: it must not be lost to clusters that explain less
            groups[-1] = [groups[self.scale.position].pop()]
        best, likelihoods, pairs = [], [], self.pairs
        for competitors in groups.values():
            best.append(super().select_run(competitors, tol))
            labels = self.partition(best[-1]).labels
            likelihoods.append(likelihood_of_clusters(pairs.dissimilarities, labels, pairs.dimension, pairs.counts))
        if self._trial_masses is not None:
            return best[as_likely(likelihoods)[0]]
        self.scale = self.scale.settle(likelihoods)
        return best[self.scale.position]

    def refine(self, best: Run[ObjectMasses]) -> Run[ObjectMasses]:
        return best if self.has_user_start else self._converge(best)

    def _converge(self, best: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Go on to the final tolerance, then let the constraints in, in two further stages (Li, Li and Denoeux, 2018,
        section 3.2)."""
        run = self._sweep(best.model, self.rng, best.history, self.tol)
        for xi in self.stages:
            run = self._sweep(run.model, self.rng, [], self.tol, xi)
        return run

    def extend(self, run: Run[ObjectMasses], family: FocalSets) -> Run[ObjectMasses]:
        wider = ObjectMasses(family, np.asarray(self.partition(run).on(family).masses), run.model.trial)
        return self._sweep(wider, self.rng, run.history, self.tol, (self.stages or [0.0])[-1])

    def _sweep(
        self, start: ObjectMasses, rng: np.random.Generator, before: list[float], tol: float, xi: float = 0.0
    ) -> Run[ObjectMasses]:
        """Go on from a start; ``before`` is the history so far."""
        left = self.params.max_iter - len(before)
        found = ObjectMasses(start.family, start.masses, start.trial)
        if left <= 0:
            return Run(found, list(before), False)
        order, problem = rng.permutation(len(start.masses)), self.pairs.problem_at(start.trial)
        masses, trace, converged = problem.descend(start.masses, start.family, order, left, tol, self.fitted_links, xi)
        return Run(replace(found, masses=masses), list(before) + trace.tolist(), converged)

    # ---- the end --------------------------------------------------------------------------------------------------

    def _finalize(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Refine landmarks; give objects at dissimilarity zero in a matrix equal masses.

        With constraints, which may tell such objects apart, nothing is done. The objective is that of the masses then.
        """
        if len(self.links):
            return run
        found = run.model
        if self.are_landmarks:
            return Run(replace(found, masses=self._refine(found)), run.history, run.converged)
        if not isinstance(self.objects, MatrixSource):
            return run
        fitted, conflict, d0 = self.pairs.fitted, found.family.conflict, self.scale.best.d0
        blocks = [fitted[a:b] for a, b in row_blocks(len(fitted), 1024, most=None)]
        twins = [twins_at_zero(self.objects.block(rows, fitted), d0, found.masses, conflict) for rows in blocks]
        equalized = found.masses[np.concatenate(twins)]
        if np.array_equal(equalized, found.masses):
            return run
        objective = self.pairs.problem_at(found.trial).stress(equalized, found.family)
        return Run(replace(found, equalized=equalized), [*run.history[:-1], objective], run.converged)

    def _refine(self, found: ObjectMasses) -> np.ndarray:
        """Fit the landmarks once more, to a larger sample projected on them: it makes up for their small number.

        The processor does this, so that landmarks and families are the same on every device.
        """
        model, pairs = replace(self._model(found), device="cpu"), self.pairs
        places, counts = pairs.draw_objects(np.arange(len(pairs.counted)), _REFINE_ON)
        sample = pairs.counted[places]
        masses = model.project(self._values(sample), self.apply).astype(float)
        wider = replace(model, references=References.of(pairs.source, sample), reference_masses=masses, counts=counts)
        return wider.project(self._values(pairs.fitted), self.apply, coincide=False).astype(float)

    def add_neighbor_pairs(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """A sparse matrix, which lacks most dissimilarities, is fitted again with the pairs of neighbors."""
        if self.pairs.stored is None:
            return Run(replace(run.model, doubtful=True), run.history, run.converged)
        pairs, _, d = self.pairs.stored
        labels = np.full(self.n, -1)
        labels[self.pairs.fitted] = self.partition(run).labels
        return self.extend(run, neighbors_of_pairs(labels[pairs[:, 0]], labels[pairs[:, 1]], d, self.n_clusters))

    def partition(self, run: Run[ObjectMasses]) -> CredalPartition:
        """Return the partition of the objects that are fitted (landmarks stand for all of them)."""
        return CredalPartition.unchecked(run.model.masses, run.model.family)

    # ---- all objects ----------------------------------------------------------------------------------------------

    def result(self, run: Run[ObjectMasses]) -> FitResult:
        run = self._finalize(run)
        model, found = self._model(run.model), run.model
        if found.doubtful and len(self.links) == 0:
            return FitResult(run, *self._read_off_doubt(model))
        masses = self._masses_of_all(model, found)
        if len(self.links):
            masses = to_host(masses)
            masses[self.pairs.fitted] = found.masses
            self._settle_links(masses, model)
        return FitResult(run, *(self._read_off_doubt(model, masses) if found.doubtful else (model, masses)))

    def assess(self, model: EvclusModel | DoubtModel, masses: Array) -> Assessment:
        """Measure how well the conflicts of all objects match their dissimilarities; if doubt was read off, those of
        the references before that."""
        if isinstance(model, DoubtModel):
            fit, positions = model.fit, self.pairs.references
            compared = self.pairs.pairs_to_assess(positions).among(positions)
            return assess(fit.reference_masses, fit.family, compared, fit.d0, self.rng)
        compared = self.pairs.pairs_to_assess()
        if not isinstance(masses, np.ndarray):
            who = np.unique(np.concatenate([compared.i, compared.j]))
            masses, compared = to_host(masses[to_device_of(who, masses)]), compared.among(who)
        return assess(masses, model.family, compared, model.d0, self.rng)

    def _model(self, found: ObjectMasses) -> EvclusModel:
        pairs, references = self.pairs, References(self.pairs.references, self.n, None)
        if not isinstance(self.objects, SparseSource):
            references = References.of(self.objects, pairs.references)
        return EvclusModel(
            family=found.family,
            references=references,
            reference_masses=found.masses[pairs.chosen],
            counts=None if pairs.counts is None else pairs.counts[pairs.chosen],
            d0=self.scale.best.d0,
            device=self.params.device,
            dtype=self.objects.dtype,
        )

    def _read_off_doubt(self, fit: EvclusModel, constrained: np.ndarray | None = None) -> tuple[DoubtModel, Array]:
        """Return the model of doubt and the masses of all objects.

        Linked objects keep the masses that their constraints gave them: those of the fit, ``constrained``.
        """
        positions, linked = self.pairs.references, self.links.objects
        D = self.pairs.source.block(positions, positions).astype(float)
        model = DoubtModel.of(fit, (D + D.T) / 2, np.flatnonzero(np.isin(positions, linked)))
        masses = model.masses(self._values(slice(None)), self.apply)
        again = np.flatnonzero(self.distinct.first != np.arange(self.n))
        masses[again] = masses[self.distinct.first[again]]
        if constrained is not None:
            masses = to_host(masses)
            masses[positions] = model.reference_masses
            model.keep(masses, linked, constrained[linked])
        return model, masses

    def _masses_of_all(self, model: EvclusModel, found: ObjectMasses) -> Array:
        """Return (n, f) masses: with landmarks all objects, else those of weight zero are compared with the references
        as new objects are; equal objects share theirs."""
        if self.are_landmarks:
            return model.masses(self._values(slice(None)), self.apply)
        masses = np.empty((self.n, len(found.family)), dtype=self.objects.dtype)
        masses[self.pairs.fitted] = found.masses if found.equalized is None else found.equalized
        rows = self.distinct.rows
        masses[rows] = masses[self.distinct.first[rows]]
        others = np.setdiff1d(np.arange(self.n), rows)
        if len(others):
            values = self._values(others)
            stored = sparse.issparse(values)
            masses[others] = model.masses_of_stored(values, others) if stored else model.masses(values, self.apply)
        return masses

    def _values(self, which: np.ndarray | slice) -> Any:
        """Return some of the objects as a model takes them; all of them where they are, some in memory."""
        if isinstance(self.objects, SparseSource):
            pairs, _, d = pairs_of_sparse(self.objects.stored, symmetrize=bool(self.params.symmetrize))
            i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
            return sparse.csr_matrix((np.tile(d, 2), (i, j)), shape=(self.n, self.n))[which]
        if isinstance(self.objects, TensorSource) and not isinstance(which, slice):
            return self.objects.rows(which)
        values = self.objects.matrix if self.objects.objects is None else self.objects.objects
        assert values is not None
        return values[which]

    def _settle_links(self, masses: np.ndarray, model: EvclusModel) -> None:
        """Let in the constraints of objects that were not fitted: of weight zero, or beyond ``MAX_REFERENCES``."""
        order, links = self.distinct.order, self.links
        outside = order[np.isin(order, links.objects) & ~np.isin(order, self.pairs.fitted)]
        if len(outside) == 0:
            return
        if isinstance(self.objects, SparseSource):
            raise InvalidInputError(
                "constraints of objects of weight zero need all dissimilarities, but X is a sparse matrix"
            )
        conflict, known = np.array(model.family.conflict), model.reference_masses
        H = projection_hessian(known, conflict, model.counts)
        terms = wanted_terms(self._values(outside), model.references, model.d0, known, conflict, model.counts)
        blocks = row_blocks(len(outside), 1024, most=None)
        linear = np.concatenate([terms(start, stop)[0] for start, stop in blocks], dtype=float)
        problem = self.pairs.problem_at(self.scale.position)
        weight = problem.total * self.link_share * self.params.xi / (2 * len(links))
        everyone = masses.astype(float)
        settle_links(
            H, linear, outside, everyone, links.indptr, links.indices, weight * links.signs, link_form(model.family),
            *_SETTLING,
        )  # fmt: skip
        masses[outside] = everyone[outside]


# ---- the estimator --------------------------------------------------------------------------------------------------


class EVCLUS(ShepardMixin, EvidentialClusterer):
    """Evidential clustering of dissimilarities: the more two objects differ, the more their masses conflict.

    Finds masses m_1, ..., m_n over sets of clusters whose degrees of conflict kappa_ij (one minus the plausibility
    that i and j are in the same cluster) match the dissimilarities:

        minimise  sum_{i<j} (kappa_ij - delta_ij)^2 / sum_{i<j} delta_ij^2,   delta = 1 - exp(-gamma d^2),

    with gamma such that delta = 0.95 at the dissimilarity ``d0``. No metric axioms are needed. With must-link and
    cannot-link ``constraints`` a penalty is added (CEVCLUS).

    Given the masses of the others, those of an object are a convex quadratic program, which is solved exactly for one
    object after the other. From the fourth sweep on they move beyond their optimum, up to 1.75 times as far
    (over-relaxation): less than twice as far, a convex quadratic is not above where it started, so the objective still
    never rises. After every fourth sweep all masses are carried on along the last sweeps while the objective falls.

    With ``focal_sets="auto"`` this finds the clusters; how plausible each is for an object is then read off at a scale
    of the objects themselves, by how near it is to the members of the clusters. An object nearly as near to a second
    cluster, a neighbor of the first, gets mass on the two; one far from everybody gets mass on the empty set.

    Which pairs are looked at is up to ``sampling``: all of them (EVCLUS), ``n_partners`` random partners of each object
    (k-EVCLUS), or all pairs of a few landmark objects, to which all others are then compared, at a cost linear in the
    number of objects and with little memory.

    Objects with equal attributes are one object, which counts as much as they do together, and what is drawn at random
    is drawn along an order of the objects that does not depend on the rows (along a line through the attributes, or by
    the sums of the dissimilarities): permuting the rows permutes the result, and repeating a row does what a weight
    does. In a matrix, which says nothing about attributes, an object at dissimilarity zero from others gets in the end
    the masses among theirs that suit it best. The same rules give new objects that are old ones the masses of these,
    so that `predict_mass` agrees with the fit. It jumps there: an object just beside is judged by what it is compared
    with, in which the old one had a say of its own. Constraints may tell equal objects apart, so with them every
    object keeps its own. A sparse matrix is taken as it is.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, "gower" (tables with numbers,
        categories and missing cells) or "precomputed": X is then a square matrix of dissimilarities, or a SciPy
        sparse matrix that holds sampled pairs only (stored zeros count as dissimilarities of zero).
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    d0 : float > 0 or "auto", default="auto"
        Dissimilarity at which two objects are almost surely in different clusters. "auto": clusters are found at
        several scales, and the one is taken whose clusters explain the data best, as round Gaussians (``scale_`` says
        what was tried). Starts are then shared among the scales; where landmarks stand for many objects, the scale is
        found on half of them first.
    d0_quantile : float in (0, 1], optional
        Quantile of the dissimilarities to take instead.
    xi : float >= 0, default=0.5
        Weight of the constraints. They enter in three stages, 0, 0.05 and ``xi``, each starting from the one before.
    convention : {"program", "paper"}, default="program"
        The published formula divides ``xi`` by twice the number of constraints; the published program, and with it
        the published results, gives the constraints four times that weight. "program" reproduces the results.
    sampling : {"auto", "all", "random", "landmarks"}, default="auto"
        "auto": all pairs up to 1,000 objects, landmarks beyond.
    n_partners : int, default=100
        Random partners of each object for ``sampling="random"``.
    n_landmarks : int or "auto", default="auto"
        "auto": 600, or 30 per cluster if that is more.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN) under "euclidean", "sqeuclidean" or "gower". "partial": objects are
        compared by the attributes that both have, and one that is missing adds its usual difference within clusters:
        the less is known of an object, the more it is in doubt. An object without any value is refused. (Gower's
        dissimilarity takes missing cells in any case; without "partial" it is the mean over those that are there.)
        ``docs/missing.md`` tells when to impute instead.
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, CredalPartition or array of masses, default="medoids"
        "medoids": from objects far from each other. "belief-peaks": from the clusters found by `BeliefPeaks`, which
        knows no weights, or by one with parameters of its own. A start without chance is used once, whatever
        ``n_init``.
    n_init : int, default=5
        Starts; the smallest objective is kept. Medoids that make the same partition but for a few objects count as
        one start.
    max_iter : int, default=1000
        Sweeps over the objects.
    tol : float, default=1e-7
        The descent ends when e_t = (e_{t-1} + relative change of the objective) / 2 falls below it. The papers use
        1e-5; starts compete at that precision and the best one goes on to ``tol`` (with landmarks: 1e-3, then 1e-5).
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    device : str, default="cpu"
        Where objects are compared with landmarks; "cuda" is a GPU (needs torch and ``metric="euclidean"``).
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config` sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    landmark_indices_ : ndarray
        Positions of the objects that new ones are compared with, in increasing order; of equal objects the first.
    sampling_ : str
        What "auto" chose.
    d0_ : float
    scale_ : Scale or None
        Which scales were tried for ``d0="auto"``, with the log-likelihood of their clusters, and the best.
    stress_, loss_ : float
        Sum of squares of conflict minus delta over all pairs, divided by the sum of delta^2, and by the number of
        pairs; beyond 1,000 objects estimated from 50,000 random pairs. Two rows with equal attributes are a pair, too,
        at dissimilarity zero: its conflict is that of their masses with themselves. With ``focal_sets="auto"``, of the
        clusters before doubt was read off.
    focal_sets_ : FocalSets
    objective_ : float
        What the descent minimised: stress plus penalty over the pairs that were fitted. These are pairs of different
        objects, each counted as often as the product of their weights or repetitions; with landmarks those of the
        landmarks, before they are refined with the help of other objects.
    history_ : ndarray
        Objective after every sweep; with constraints, of their last stage. The last value is that of the final masses:
        where objects at dissimilarity zero in a matrix have been given equal ones, it may be above the one before.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks.

    References
    ----------
    T. Denoeux and M.-H. Masson (2004). EVCLUS: evidential clustering of proximity data. IEEE Trans. SMC B 34.
    T. Denoeux, S. Sriboonchitta and O. Kanjanatarakul (2016). Evidential clustering of large dissimilarity data.
    Knowledge-Based Systems 106. F. Li, S. Li and T. Denoeux (2018). k-CEVCLUS: constrained evidential clustering of
    large dissimilarity data. Knowledge-Based Systems 142.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_butterfly
    >>> model = EVCLUS(2, focal_sets="full", d0=11, random_state=0).fit(load_butterfly().data)
    >>> model.credal_partition_.ambiguous, model.credal_partition_.outliers
    (array([5]), array([11]))
    >>> round(model.stress_, 5)
    0.00478
    """

    _rules = {
        **COMMON_RULES,
        "metric": METRIC_RULE,
        "symmetrize": rule.flag,
        "d0": rule.choice("auto") | rule.real(0, open_low=True),
        "d0_quantile": rule.choice(None) | rule.real(0, 1, open_low=True),
        "xi": rule.real(0),
        "convention": rule.choice("program", "paper"),
        "sampling": rule.choice("auto", "all", "random", "landmarks"),
        "n_partners": rule.integer(1),
        "n_landmarks": rule.choice("auto") | rule.integer(2),
        "init": rule.choice("medoids", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
        "device": rule.kind(str, words="the name of a device"),
        "missing": MISSING_RULE,
    }

    _model: EvclusModel | DoubtModel
    _support = Support(blocks=True, block_weights=True, tensors=True)

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        d0: float | str = "auto",
        d0_quantile: float | None = None,
        xi: float = 0.5,
        convention: str = "program",
        sampling: str = "auto",
        n_partners: int = 100,
        n_landmarks: int | str = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | CredalPartition | ArrayLike = "medoids",
        n_init: int = 5,
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_neighbor_clusters: int = 1,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.symmetrize = symmetrize
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.xi = xi
        self.convention = convention
        self.sampling = sampling
        self.n_partners = n_partners
        self.n_landmarks = n_landmarks
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: None = None,
        sample_weight: ArrayLike = None,
        *,
        constraints: Constraints | None = None,
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or dissimilarities if ``metric="precomputed"``
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): landmarks are
            then drawn over all of them, and the masses of all objects are lazy. It may be a tensor of torch
            (``docs/scale.md``), with ``metric="euclidean"``: objects are then compared where it is.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A pair of objects counts as much as the product of their weights; an object of weight zero is left out and
            gets masses as new objects do. Landmarks are drawn in proportion to the weights. Weights act as
            repetitions of the row.
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster, or in different ones.
        """
        return self._fit(X, sample_weight=sample_weight, constraints=constraints)

    def _min_sample(self) -> int:
        return 0 if isinstance(self.n_landmarks, str) else int(self.n_landmarks)

    def _accepts_tensors(self) -> bool:
        return super()._accepts_tensors() and isinstance(self.metric, str) and self.metric == "euclidean"

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(self.metric, symmetrize=self.symmetrize, sparse=True, fewest=2)
        if self._stays_on_device(X):
            values = tensor_attributes(self, X, reset=reset, fewest=2 if reset else 1)
            return TensorSource(values) if reset else values
        if reset:
            return self._input.training(self, X)
        few = None if sparse.issparse(X) else len(self._model.references)
        return self._input.new(self, X, or_width=few)

    def _comparison_source(self, values: DissimilaritySource | SparseSource) -> DissimilaritySource:
        if isinstance(values, SparseSource):
            raise InvalidInputError("n_clusters='auto' needs all dissimilarities, but X is a sparse matrix of some")
        return values.in_memory() if isinstance(values, TensorSource) else values

    def _make_method(self, sample: Sample[DissimilaritySource | SparseSource], request: FitRequest) -> EvclusMethod:
        if self.device != "cpu":
            from dempster.data.device import torch_on

            if self.metric != "euclidean":
                raise InvalidInputError(f"device={self.device!r} works with metric='euclidean' only")
            torch_on(self.device)
        if sample.blocks is not None and not sample.blocks.are_in_memory and self.sampling in ("all", "random"):
            expected = f"'auto' or 'landmarks' for {len(sample.blocks):,} objects in blocks"
            raise InvalidParameterError("sampling", expected, self.sampling)
        return EvclusMethod(self, sample, request)

    def _resolve_families(self, n_clusters: int) -> Families:
        """With "auto" the frame is there too: at a large scale objects between clusters would draw these together."""
        if self.focal_sets == "auto":
            return Families(FocalSets.simple(n_clusters), neighbors=True)
        families = super()._resolve_families(n_clusters)
        if len(families.first) > _MAX_SETS:
            raise InvalidInputError(
                f"focal_sets must hold at most {_MAX_SETS} sets, got {len(families.first):,}: every sweep solves a "
                "quadratic program of as many unknowns for each object; take 'simple', 'pairs' or 'selected'"
            )
        return families

    def _run_search(self, search: Search, sample: Sample[Any], request: FitRequest) -> tuple[EvclusMethod, Run[Any]]:
        method = self._make_method(sample, request)
        return method, search.run(method, self._resolve_families(request.n_clusters), method.pairs.counts)

    def _auto_params(self, method: EvclusMethod) -> dict[str, str]:
        return {"d0": method.scale.reasons()} if len(method.scale.trials) > 1 else {}

    def _fitted_attributes(self, method: EvclusMethod, model: EvclusModel | DoubtModel) -> dict[str, Any]:
        found = method.assess(model, self.credal_partition_.masses)
        return {
            "d0_": method.scale.best.d0,
            "scale_": method.scale if len(method.scale.trials) > 1 else None,
            "sampling_": method.pairs.sampling,
            "landmark_indices_": method.training.original_positions(np.sort(method.pairs.references)),
            "stress_": found.stress,
            "loss_": found.loss,
            "_shepard": found.shepard,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
