"""EVCLUS and its variants k-EVCLUS, CEVCLUS, k-CEVCLUS and EVCLUS with landmarks.

`FittedPairs` selects the objects and pairs to fit, `EvclusMethod` minimizes the stress and computes
the masses of all objects, and `EVCLUS` is the estimator.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self, cast

import numpy as np
from scipy import sparse

from dempster import _validation as rule
from dempster._arrays import Array, to_device_of, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._random import as_generator, as_random_state
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import validate_tensor
from dempster.belief import FocalSets
from dempster.cluster._base import (
    COMMON_RULES,
    MISSING_RULE,
    EvidentialClusterer,
    FitRequest,
    Support,
)
from dempster.cluster._mass_step import project_partition
from dempster.cluster._medoid_starts import (
    masses_from_labels,
    masses_from_medoids,
    medoid_starts,
    random_masses,
)
from dempster.cluster._search import Families, FitResult, Method, Sample, Search
from dempster.cluster._starts import validate_initial_masses
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks
from dempster.cluster.evclus._model import (
    Assessment,
    DoubtModel,
    EvclusModel,
    ShepardMixin,
    assess,
    linear_terms,
    neighbors_of_pairs,
    twins_at_zero,
)
from dempster.cluster.evclus._pairs import (
    MAX_ALL_PAIRS_ROWS,
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
from dempster.cluster.evclus._transforms import LinearTransform, RankTransform
from dempster.constraints import Constraints
from dempster.data.sampling import systematic_draw
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.partial import impute_missing
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    PathSource,
    References,
    SparseSource,
    TensorSource,
)
from dempster.dissimilarity.transform import (
    choose_landmarks,
    conflicts_at,
    default_quantile,
    intrinsic_dimension,
    pairs_of_sparse,
    random_pairs,
    sample_pairs,
    scale_at,
)
from dempster.optimize.blocks import row_blocks
from dempster.optimize.descent import Run, find_likeliest
from dempster.optimize.projection import projection_hessian, settle_links
from dempster.partition import CredalPartition

# maximum number of landmarks with constraints, and of reference objects of k-EVCLUS
MAX_REFERENCES = 5000
_MIN_LANDMARKS = {"compact": 600, "connected": 1500}  # A thin cluster needs more landmarks.
_LANDMARKS_PER_CLUSTER = 30
_ASSESSMENT_PAIRS = 50_000
_ASSESSMENT_PAIRS_OF_SLOW_METRICS = 5000
_DIMENSION_OF_SPARSE = 5.0  # The dimension cannot be estimated from a sparse matrix.
_ALL_ZERO = "all dissimilarities are zero, so the objects cannot be separated into clusters"
# factor of the weight of the constraints in the published formula
LINK_FACTORS = {"program": 4.0, "paper": 1.0}


# ---- objects and pairs ---------------------------------------------------------------------------


class FittedPairs:
    """Objects and pairs of objects that are fitted, with the candidate values of ``d0``.

    Distinct objects with positive weight can be fitted. ``sampling`` is "all" (all pairs of them),
    "random" (pairs of each object with partners that are drawn at random or stored in a sparse
    matrix) or "landmarks" (all pairs of a few objects). ``dissimilarities`` contains the
    dissimilarities between the fitted objects, computed after the imputation of missing values, as
    an array or as `WeightedPairs`.
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
        self.params = params
        self.distinct = distinct
        self.rng = rng
        # Only the stored pairs of a sparse matrix are used.
        self.source = cast(DissimilaritySource, objects)
        self.counted = distinct.positions
        self.weights = distinct.weights
        n_rows = len(distinct.rows)
        min_rows = max(2, n_clusters)
        if n_rows < min_rows:
            must = f"be positive for at least {min_rows} objects; it is positive for {n_rows}"
            raise InvalidParameterError("sample_weight", must=must)
        if len(self.counted) < 2:
            raise InvalidInputError(_ALL_ZERO)
        self.sampling = params.sampling
        self.stored = None  # result of `_stored_pairs` for a sparse matrix
        if isinstance(objects, SparseSource):
            self.stored = self._stored_pairs(objects)
            if self.sampling not in ("auto", "random"):
                raise InvalidParameterError(
                    "sampling", "'auto' or 'random' for a sparse matrix X", self.sampling
                )
            self.sampling = "random"
        elif self.sampling == "auto":
            if len(self.counted) <= MAX_ALL_PAIRS_ROWS:
                self.sampling = "all"
            else:
                self.sampling = "landmarks"
        # Indices of the fitted objects, and their weights (None if all are equal).
        self.fitted: np.ndarray = self.counted
        if self.weights is None:
            self.counts = None
        else:
            self.counts = self.weights[self.counted]
        if self.sampling == "landmarks":
            self.fitted, self.counts = self._draw_landmarks(n_clusters, links)
        if params.shape == "connected":
            self.source = PathSource(self.source, self.fitted)
        # Reference objects with which new objects are compared: positions among the fitted objects,
        # and indices.
        self.reference_places: np.ndarray = np.arange(len(self.fitted))
        if self.sampling == "random" and self.stored is None:
            self.reference_places = choose_landmarks(len(self.fitted), MAX_REFERENCES, rng)
        # The columns of a matrix for new objects are in the order of X.
        if isinstance(objects, MatrixSource):
            self.reference_places = self.reference_places[
                np.argsort(self.fitted[self.reference_places])
            ]
        self.references = self.fitted[self.reference_places]
        # pairs and their weights; None means all pairs
        self._pairs: tuple[np.ndarray, np.ndarray] | None = None
        self._problems: dict[int, ConflictProblem] = {}
        # Missing values increase all dissimilarities, so that the likelihood of clusters would be
        # wrong. They are therefore imputed.
        complete = None
        if (
            isinstance(objects, AttributeSource)
            and objects.lacks_cells
            and params.shape == "compact"
        ):
            complete = AttributeSource(impute_missing(objects.objects[self.fitted]), objects.metric)
        if self.sampling == "random":
            d, weights = self._some_pairs(complete)
        else:
            d, weights = self._all_pairs(complete)
        if not np.any(d > 0):
            raise InvalidInputError(_ALL_ZERO)
        self.scale = self._candidate_scales(d, weights)

    def problem_at(self, trial: int) -> ConflictProblem:
        """Return the optimization problem for the candidate value of ``d0`` with index ``trial``."""
        if trial not in self._problems:
            delta = conflicts_at(self._apart, self.scale.trials[trial].d0)
            if self._pairs is None:
                self._problems[trial] = AllPairs(delta, self.counts)
            else:
                self._problems[trial] = SomePairs(len(self.fitted), *self._pairs, delta)
        return self._problems[trial]

    @cached_property
    def dimension(self) -> float:
        """Number of features for Euclidean distances, otherwise an estimate of the intrinsic dimension."""
        if self.stored is not None:
            return _DIMENSION_OF_SPARSE
        if isinstance(self.source, AttributeSource) and self.source.metric == "euclidean":
            return float(self.source.objects.shape[1])
        sample = self.fitted[
            choose_landmarks(len(self.fitted), _MIN_LANDMARKS["compact"], self.rng)
        ]
        return intrinsic_dimension(self.source.block(sample, sample).astype(float))

    def draw_objects(self, places: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Draw objects by weight.

        Return their positions in ``counted`` and new weights (None if all are equal).
        """
        if self.weights is None:
            return places[choose_landmarks(len(places), size, self.rng)], None
        weights = self.weights[self.counted[places]]
        if size >= len(places):
            return places, weights / weights.mean()
        which, times = np.unique(
            systematic_draw(weights, size, as_random_state(self.rng)), return_counts=True
        )
        return places[which], times.astype(float)

    def assessment_pairs(self, objects: np.ndarray | None = None) -> WeightedPairs:
        """Return the pairs on which the stress of a fit is computed.

        They are all pairs, random pairs if there are many objects, or the pairs stored in a sparse
        matrix. If ``objects`` is given, only pairs of these objects are returned, and each of them
        has the total weight of all objects that are equal to it.
        """
        rows = self.distinct.rows
        weights = self.distinct.row_weights
        if objects is not None:
            rows = objects
            weights = self.weights
        if self.stored is not None:
            pairs, times, d = self.stored
        elif len(rows) <= MAX_ALL_PAIRS_ROWS:
            i, j = np.triu_indices(len(rows), 1)
            pairs = rows[np.column_stack([i, j])]
            times = np.ones(len(i))
            d = self.source.block(rows, rows)[i, j]
        else:
            is_slow = isinstance(self.source, AttributeSource) and self.source.metric != "euclidean"
            if is_slow:
                n_pairs = _ASSESSMENT_PAIRS_OF_SLOW_METRICS
            else:
                n_pairs = _ASSESSMENT_PAIRS
            pairs = rows[np.column_stack(sample_pairs(len(rows), n_pairs, self.rng))]
            times = np.ones(len(pairs))
            d = self.source.pairs(pairs[:, 0], pairs[:, 1])
        if weights is None:
            weight = times
        else:
            weight = times * weights[pairs].prod(axis=1)
        return WeightedPairs(pairs[:, 0], pairs[:, 1], d, weight)

    def _draw_landmarks(
        self, n_clusters: int, links: Links
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the landmarks, which are objects with constraints and random objects, and their weights."""
        p = self.params.n_landmarks
        if isinstance(p, str):
            p = max(_MIN_LANDMARKS[self.params.shape], _LANDMARKS_PER_CLUSTER * n_clusters)
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
        """Store all pairs of the fitted objects; return their dissimilarities and weights."""
        D = self.source.block(self.fitted, self.fitted).astype(float)
        np.fill_diagonal(D, 0)
        D = (D + D.T) / 2  # The metric may be symmetric only up to rounding.
        self.dissimilarities: np.ndarray | WeightedPairs = (
            D if complete is None else complete.block(slice(None), slice(None))
        )
        self._apart = D
        i, j = np.triu_indices(len(D), 1)
        return D[i, j], None if self.counts is None else self.counts[i] * self.counts[j]

    def _some_pairs(self, complete: AttributeSource | None) -> tuple[np.ndarray, np.ndarray | None]:
        """Store random or stored pairs of the fitted objects.

        Return their dissimilarities and weights.
        """
        if self.stored is not None:
            stored, times, d = self.stored
            pairs = np.searchsorted(self.fitted, stored)
        else:
            pairs, times = random_pairs(len(self.fitted), self.params.n_partners, self.rng)
            d = self.source.pairs(*self.fitted[pairs].T)
        if self.counts is None:
            weights = times
        else:
            weights = times * self.counts[pairs].prod(axis=1)
        if complete is None:
            apart = d
        else:
            apart = complete.pairs(*pairs.T)
        self.dissimilarities = WeightedPairs(pairs[:, 0], pairs[:, 1], apart, weights)
        self._apart = d
        self._pairs = (pairs, weights)
        return d, None if self.counts is None else weights

    def _stored_pairs(self, objects: SparseSource) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs in a sparse matrix, the number of times each pair is stored, and the dissimilarities."""
        pairs, times, d = pairs_of_sparse(objects.stored, symmetrize=bool(self.params.symmetrize))
        is_counted = np.zeros(len(objects), dtype=bool)
        is_counted[self.counted] = True
        kept = is_counted[pairs].all(axis=1)
        pairs = pairs[kept]
        times = times[kept]
        d = d[kept]
        n = len(self.counted)
        ends = np.searchsorted(self.counted, pairs)
        graph = sparse.coo_matrix((np.ones(len(ends)), ends.T), shape=(n, n))
        parts, label = sparse.csgraph.connected_components(graph, directed=False)
        if parts > 1:
            raise InvalidInputError(
                f"the pairs in X form {parts} unconnected components (the smallest has "
                f"{int(np.bincount(label).min())} objects), so clusters cannot be compared; add pairs that connect them"
            )
        return pairs, times, d

    def _candidate_scales(self, d: np.ndarray, weights: np.ndarray | None) -> Scale:
        """Return the candidate values of ``d0``, which are quantiles of the dissimilarities d of the fitted pairs."""
        d0 = self.params.d0
        quantile = self.params.d0_quantile
        if not isinstance(d0, str):
            return Scale((ScaleTrial(np.nan, float(d0)),))
        if len(self.fitted) < len(self.counted) and self.source.metric == "euclidean":
            pairs = self.counted[
                np.column_stack(sample_pairs(len(self.counted), _ASSESSMENT_PAIRS, self.rng))
            ]
            d = self.source.pairs(pairs[:, 0], pairs[:, 1])
            if self.weights is None:
                weights = None
            else:
                weights = self.weights[pairs].prod(axis=1)
        if quantile is not None:
            return Scale((ScaleTrial(float(quantile), scale_at(d, float(quantile), weights)),))
        # With many equal objects a quantile can be zero, which is not a valid d0. The largest
        # quantile is positive.
        trials = []
        for quantile in SCALES:
            d0 = scale_at(d, quantile, weights, zero=quantile < SCALES[-1])
            if d0 > 0:
                trials.append(ScaleTrial(quantile, d0))
        return Scale(tuple(trials))


# ---- the algorithm -------------------------------------------------------------------------------

_REFINEMENT_OBJECTS = 2000  # number of objects for the second fit of the landmarks
# A smaller tolerance would not improve the masses of objects that are not landmarks.
_LANDMARK_TOLERANCE = 1e-5
# tolerances for the comparison of starts
_START_TOLERANCE = 1e-5
_START_TOLERANCE_OF_LANDMARKS = 1e-2
# number of starts at each candidate d0, divided by n_init
_STARTS_PER_SCALE = 0.4
_TRIAL_STARTS_PER_SCALE = 0.2
# share and minimum number of landmarks used to select d0
_TRIAL_SHARE = 1 / 2
_MIN_TRIAL_LANDMARKS = 300
_TRIAL_SWEEPS = 8  # number of sweeps after which labels hardly change
_FIRST_XI = 0.05  # weight of the constraints in the second of three stages
# maximum number of sweeps over constrained objects that are not fitted, and tolerance
_SETTLING = 50, 1e-6
# number of fits, and relative decrease of the error at which they stop
_MAX_AFFINE_FITS = 20
_AFFINE_TOLERANCE = 0.01
_MAX_SETS = 256  # With this number of focal sets, the fit of 40 objects takes a minute.


@dataclass(frozen=True)
class ObjectMasses:
    """Masses of the fitted objects."""

    family: FocalSets
    masses: np.ndarray  # masses that minimize the objective
    trial: int = 0  # index of the candidate d0
    # the same masses, made equal for objects of a matrix at dissimilarity zero
    equalized: np.ndarray | None = None
    # whether masses on pairs of neighboring clusters are added after the fit
    adds_doubt: bool = False


Start = tuple[ObjectMasses, np.random.Generator]
"""Initial masses, and the random generator for the order of the objects in the sweeps."""


class EvclusMethod(Method[Start, ObjectMasses]):
    """Algorithm of EVCLUS.

    ``scale`` contains the candidate values of ``d0``. If all objects are fitted, starts are run at
    each candidate. With landmarks, a short fit of half of the landmarks selects ``d0`` before the
    starts are drawn.
    """

    starts_in_threads = True

    def __init__(
        self,
        params: EVCLUS,
        sample: Sample[DissimilaritySource | SparseSource],
        request: FitRequest,
    ):
        self.training = sample
        self.params = params
        self.objects = sample.values
        self.apply = request.apply
        self.n = len(sample.values)
        self.n_clusters = request.n_clusters
        self.peaks = fit_source_peaks(
            params.init, sample.values, self.n_clusters, params.random_state, params.n_jobs
        )
        self.rng = as_generator(params.random_state)
        self.links = Links.from_constraints(request.constraints if params.xi > 0 else None, self.n)
        # Equal objects are not merged if there are constraints, which may separate them.
        self.distinct = distinct_objects(sample, merge=len(self.links) == 0, device=params.device)
        self.pairs = FittedPairs(
            params, self.n_clusters, sample.values, self.distinct, self.links, self.rng
        )
        self.scale = self.pairs.scale
        self.has_landmarks = len(self.pairs.fitted) < len(self.distinct.positions)
        self.fitted_links = self.links.among(self.pairs.fitted)
        # Landmarks represent all objects, so the weight of their constraints is increased in
        # proportion.
        self.link_share = LINK_FACTORS[params.convention] * (
            len(self.distinct.positions) / len(self.pairs.fitted)
        )
        self.stages: list[float] = []  # weights of the constraints in the stages after the first
        if len(self.fitted_links):
            share = self.link_share * len(self.fitted_links) / len(self.links)
            if params.xi > _FIRST_XI:
                self.stages = [share * _FIRST_XI, share * params.xi]
            else:
                self.stages = [share * params.xi]
        is_coarse = self.pairs.sampling == "landmarks"
        if is_coarse:
            self.tol = max(params.tol, _LANDMARK_TOLERANCE)
        else:
            self.tol = params.tol
        self.first_tol = max(
            self.tol, _START_TOLERANCE_OF_LANDMARKS if is_coarse else _START_TOLERANCE
        )
        self._trial_masses: np.ndarray | None = None  # initial masses found by `_select_scale`

    # ---- starts ----------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[Start]:
        """Return the initial masses given by ``init``, or draw them for the selected d0 or for all candidates."""
        if self.scale.is_open and self.has_landmarks:
            self._select_scale(family)
        user_masses = self._user_masses(family)
        n_init = self.params.n_init
        is_open = self.scale.is_open
        self.has_user_start = user_masses is not None and not is_open and self._trial_masses is None
        if user_masses is not None and self.has_user_start:
            return [(ObjectMasses(family, user_masses, self.scale.position), self.rng)]
        if len(self.scale.trials) > 1:
            n_init = max(1, round(_STARTS_PER_SCALE * n_init))
        starts = []
        for trial in range(len(self.scale.trials)) if is_open else [self.scale.position]:
            for masses in (
                self._draw_masses(family, trial, n_init) if user_masses is None else [user_masses]
            ):
                starts.append(ObjectMasses(family, masses, trial))
        if self._trial_masses is not None:
            starts.append(ObjectMasses(family, self._trial_masses, self.scale.position))
        seeds = self.rng.integers(0, 2**63, len(starts))
        return list(zip(starts, map(np.random.default_rng, seeds), strict=True))

    def _user_masses(self, family: FocalSets) -> np.ndarray | None:
        """Return the initial masses of the fitted objects given by ``init``, or None if they must be drawn."""
        init = self.params.init
        fitted = self.pairs.fitted
        if self.peaks is not None:
            return masses_from_labels(self.peaks.labels_[fitted], family)
        if isinstance(init, str):
            return None
        adds_doubt = self.params.focal_sets == "auto"
        if adds_doubt and isinstance(init, CredalPartition) and init.n_clusters == self.n_clusters:
            init = project_partition(init, family)
        start = validate_initial_masses(init, self.n, family)
        if np.any(start.masses[:, family.find(start.focal_sets.membership) < 0] > 0):
            raise InvalidParameterError(
                "init", must="have no mass on sets that are not in focal_sets"
            )
        return np.ascontiguousarray(start.to_family(family).masses[fitted], dtype=float)

    def _draw_masses(self, family: FocalSets, trial: int, n_init: int) -> list[np.ndarray]:
        pairs, problem = self.pairs, self.pairs.problem_at(trial)
        fitted, counts, m = pairs.fitted, pairs.counts, len(pairs.fitted)
        if self.params.init == "random" or pairs.stored is not None:
            return [random_masses(m, family, self.rng) for _ in range(n_init)]
        if isinstance(problem, AllPairs):
            return masses_from_medoids(problem.delta, family, n_init, self.rng, counts)
        places = choose_landmarks(m, MAX_ALL_PAIRS_ROWS, self.rng)
        sample = fitted[places]
        delta = conflicts_at(pairs.source.block(sample, sample), self.scale.trials[trial].d0)
        sets = medoid_starts(
            delta, self.n_clusters, n_init, self.rng, None if counts is None else counts[places]
        )
        blocks = row_blocks(m, most=None)
        nearest = [
            np.concatenate(
                [pairs.source.block(fitted[a:b], sample[medoids]).argmin(axis=1) for a, b in blocks]
            )
            for medoids in sets
        ]
        return [masses_from_labels(labels, family) for labels in nearest]

    def _select_scale(self, family: FocalSets) -> None:
        """Select ``d0`` by a few sweeps on half of the landmarks, and store the clusters as an additional start."""
        user_masses = self._user_masses(family)
        D = self.pairs.dissimilarities
        max_iter = self.params.max_iter
        assert isinstance(D, np.ndarray)
        n_init = max(1, round(_TRIAL_STARTS_PER_SCALE * self.params.n_init))
        size = min(len(D), max(round(_TRIAL_SHARE * len(D)), _MIN_TRIAL_LANDMARKS))
        places = np.arange(size) * len(D) // size
        D = D[np.ix_(places, places)]
        if self.pairs.counts is None:
            counts = None
        else:
            counts = self.pairs.counts[places]
        dimension = self.pairs.dimension
        no_links = Links.from_constraints(None, size)

        def cluster_at(d0: float, seed: int) -> tuple[float, np.ndarray]:
            """Return the likelihood and the labels of the best of several starts at one value of d0."""
            rng = np.random.default_rng(seed)
            problem = AllPairs(conflicts_at(D, d0), counts)
            if user_masses is not None:
                starts = [user_masses[places]]
            elif self.params.init == "random":
                starts = [random_masses(size, family, rng) for _ in range(n_init)]
            else:
                starts = masses_from_medoids(problem.delta, family, n_init, rng, counts)
            results = []
            for start in starts:
                order = rng.permutation(size)
                sweeps = min(max_iter, _TRIAL_SWEEPS)
                masses, _, _ = problem.descend(
                    start, family, order, sweeps, self.first_tol, no_links, 0.0
                )
                labels = CredalPartition.unchecked(masses, family).labels
                results.append((likelihood_of_clusters(D, labels, dimension, counts), labels))
            return results[find_likeliest([likelihood for likelihood, _ in results])[0]]

        seeds = self.rng.integers(0, 2**63, len(self.scale.trials))
        scales = [(trial.d0, seed) for trial, seed in zip(self.scale.trials, seeds, strict=True)]
        results = list(self.apply(cluster_at, scales))
        self.scale = self.scale.with_likelihoods([likelihood for likelihood, _ in results])
        if user_masses is not None:
            return
        # The remaining landmarks join the cluster with the smallest mean target conflict.
        labels = results[self.scale.position][1]
        problem = self.pairs.problem_at(self.scale.position)
        assert isinstance(problem, AllPairs)
        members = np.zeros((size, int(labels.max()) + 1))
        if counts is None:
            members[np.arange(size), labels] = 1
        else:
            members[np.arange(size), labels] = counts
        total = members.sum(axis=0)
        conflict = problem.delta[:, places] @ members / np.where(total > 0, total, 1)
        all_labels = np.where(total > 0, conflict, np.inf).argmin(axis=1)
        all_labels[places] = labels
        self._trial_masses = masses_from_labels(all_labels, family)

    # ---- runs ------------------------------------------------------------------------------------

    def run_start(self, start: Start) -> Run[ObjectMasses]:
        if self.has_user_start:
            return self._converge(Run(start[0]))
        return self._sweep(*start, [], self.first_tol)

    def select_run(self, runs: Iterable[Run[ObjectMasses]], tol: float) -> Run[ObjectMasses]:
        """Return the most likely of the best runs for each d0.

        Objectives with different d0 cannot be compared.
        """
        if self._trial_masses is None and not self.scale.is_open:
            return super().select_run(runs, tol)
        groups: dict[int, list[Run[ObjectMasses]]] = {}
        for run in runs:
            groups.setdefault(run.model.trial, []).append(run)
        # The start from `_select_scale` is compared by its likelihood.
        if self._trial_masses is not None:
            groups[-1] = [groups[self.scale.position].pop()]
        best = []
        likelihoods = []
        pairs = self.pairs
        for group in groups.values():
            best.append(super().select_run(group, tol))
            labels = self.partition(best[-1]).labels
            likelihoods.append(
                likelihood_of_clusters(pairs.dissimilarities, labels, pairs.dimension, pairs.counts)
            )
        if self._trial_masses is not None:
            return best[find_likeliest(likelihoods)[0]]
        self.scale = self.scale.with_likelihoods(likelihoods)
        return best[self.scale.position]

    def refine(self, best: Run[ObjectMasses]) -> Run[ObjectMasses]:
        if self.has_user_start:
            return best
        return self._converge(best)

    def _converge(self, best: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Continue a run to the final tolerance, then add the constraints in stages (Li et al., 2018, section 3.2)."""
        run = self._sweep(best.model, self.rng, best.history, self.tol)
        for xi in self.stages:
            run = self._sweep(run.model, self.rng, [], self.tol, xi)
        return run

    def extend(self, run: Run[ObjectMasses], family: FocalSets) -> Run[ObjectMasses]:
        wider = ObjectMasses(
            family, np.asarray(self.partition(run).to_family(family).masses), run.model.trial
        )
        return self._sweep(wider, self.rng, run.history, self.tol, (self.stages or [0.0])[-1])

    def _sweep(
        self,
        start: ObjectMasses,
        rng: np.random.Generator,
        history: list[float],
        tol: float,
        xi: float = 0.0,
    ) -> Run[ObjectMasses]:
        """Minimize the objective from initial masses.

        ``history`` contains the objective after the previous sweeps.
        """
        max_sweeps = self.params.max_iter - len(history)
        result = ObjectMasses(start.family, start.masses, start.trial)
        if max_sweeps <= 0:
            return Run(result, list(history), False)
        order = rng.permutation(len(start.masses))
        problem = self.pairs.problem_at(start.trial)
        masses, trace, converged = problem.descend(
            start.masses, start.family, order, max_sweeps, tol, self.fitted_links, xi
        )
        return Run(replace(result, masses=masses), list(history) + trace.tolist(), converged)

    # ---- after the descent -----------------------------------------------------------------------

    def _finalize(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Refine the masses of landmarks, or give equal masses to objects of a matrix at dissimilarity zero.

        With constraints, the run does not change, because constraints may separate objects at
        dissimilarity zero.
        """
        if len(self.links):
            return run
        model = run.model
        if self.has_landmarks and self.params.shape == "compact":
            return Run(
                replace(model, masses=self._refine_landmarks(model)), run.history, run.converged
            )
        if self.has_landmarks or not isinstance(self.objects, MatrixSource):
            return run
        fitted = self.pairs.fitted
        conflict = model.family.conflict
        d0 = self.scale.best.d0
        blocks = [fitted[a:b] for a, b in row_blocks(len(fitted), 1024, most=None)]
        twins = [
            twins_at_zero(self.objects.block(rows, fitted), d0, model.masses, conflict)
            for rows in blocks
        ]
        equalized = model.masses[np.concatenate(twins)]
        if np.array_equal(equalized, model.masses):
            return run
        problem = self.pairs.problem_at(model.trial)
        objective = problem.squares(equalized, model.family) / problem.total
        return Run(
            replace(model, equalized=equalized), [*run.history[:-1], objective], run.converged
        )

    def _refine_landmarks(self, fit: ObjectMasses) -> np.ndarray:
        """Return new masses of the landmarks, computed by comparing them with a larger sample of objects.

        The masses of the sample are computed by comparison with the landmarks. The computation
        always runs on the CPU, so that the results are the same on every device.
        """
        model = replace(self._model(fit), device="cpu")
        pairs = self.pairs
        places, counts = pairs.draw_objects(np.arange(len(pairs.counted)), _REFINEMENT_OBJECTS)
        sample = pairs.counted[places]
        masses = model.project(self._values(sample), self.apply).astype(float)
        wider = replace(
            model,
            references=References.from_source(pairs.source, sample),
            reference_masses=masses,
            counts=counts,
        )
        return wider.project(self._values(pairs.fitted), self.apply, coincide=False).astype(float)

    def add_neighbor_pairs(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Mark the run for masses on pairs of neighboring clusters.

        For a sparse matrix, continue it with the pairs.
        """
        if self.pairs.stored is None:
            return Run(replace(run.model, adds_doubt=True), run.history, run.converged)
        pairs, _, d = self.pairs.stored
        labels = np.full(self.n, -1)
        labels[self.pairs.fitted] = self.partition(run).labels
        return self.extend(
            run, neighbors_of_pairs(labels[pairs[:, 0]], labels[pairs[:, 1]], d, self.n_clusters)
        )

    def partition(self, run: Run[ObjectMasses]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses, run.model.family)

    # ---- all objects -----------------------------------------------------------------------------

    def result(self, run: Run[ObjectMasses]) -> FitResult:
        run = self._finalize(run)
        model, fit = self._model(run.model), run.model
        if fit.adds_doubt and len(self.links) == 0:
            return FitResult(run, *self._add_doubt(model))
        masses = self._masses_of_all(model, fit)
        if len(self.links):
            masses = to_host(masses)
            masses[self.pairs.fitted] = fit.masses
            self._settle_links(masses, model)
        return FitResult(
            run, *(self._add_doubt(model, masses) if fit.adds_doubt else (model, masses))
        )

    def assess(self, model: EvclusModel | DoubtModel, masses: Array) -> Assessment:
        """Compare conflicts with dissimilarities (for a `DoubtModel`, before pairs of clusters were added)."""
        if isinstance(model, DoubtModel):
            fit = model.fit
            positions = self.pairs.references
            pairs = self.pairs.assessment_pairs(positions).renumber(positions)
            return assess(fit.reference_masses, fit.family, pairs, fit.d0, self.rng)
        pairs = self.pairs.assessment_pairs()
        if not isinstance(masses, np.ndarray):
            rows = np.unique(np.concatenate([pairs.i, pairs.j]))
            masses = to_host(masses[to_device_of(rows, masses)])
            pairs = pairs.renumber(rows)
        return assess(masses, model.family, pairs, model.d0, self.rng)

    def _model(self, fit: ObjectMasses) -> EvclusModel:
        pairs, references = self.pairs, References(self.pairs.references, self.n, None)
        if not isinstance(self.objects, SparseSource):
            references = References.from_source(self.objects, pairs.references)
        return EvclusModel(
            family=fit.family,
            references=references,
            reference_masses=fit.masses[pairs.reference_places],
            counts=None if pairs.counts is None else pairs.counts[pairs.reference_places],
            d0=self.scale.best.d0,
            device=self.params.device,
            dtype=self.objects.dtype,
        )

    def _add_doubt(
        self, fit: EvclusModel, constrained: np.ndarray | None = None
    ) -> tuple[DoubtModel, Array]:
        """Return a model with masses on pairs, and all masses.

        Objects with constraints keep ``constrained``.
        """
        positions = self.pairs.references
        linked = self.links.objects
        D = cast(DissimilaritySource, self.objects).block(positions, positions).astype(float)
        model = DoubtModel.from_fit(fit, (D + D.T) / 2, np.flatnonzero(np.isin(positions, linked)))
        masses = model.masses(self._values(slice(None)), self.apply)
        repeated = np.flatnonzero(self.distinct.first != np.arange(self.n))
        masses[repeated] = masses[self.distinct.first[repeated]]
        if constrained is not None:
            masses = to_host(masses)
            masses[positions] = model.reference_masses
            model.keep(masses, linked, constrained[linked])
        return model, masses

    def _masses_of_all(self, model: EvclusModel, fit: ObjectMasses) -> Array:
        """Return the masses of all n objects, shape (n, f).

        Objects that were not fitted are treated like new ones.
        """
        if self.has_landmarks:
            return model.masses(self._values(slice(None)), self.apply)
        masses = np.empty((self.n, len(fit.family)), dtype=self.objects.dtype)
        if fit.equalized is None:
            masses[self.pairs.fitted] = fit.masses
        else:
            masses[self.pairs.fitted] = fit.equalized
        rows = self.distinct.rows
        masses[rows] = masses[self.distinct.first[rows]]
        others = np.setdiff1d(np.arange(self.n), rows)
        if len(others):
            values = self._values(others)
            is_sparse = sparse.issparse(values)
            if is_sparse:
                masses[others] = model.masses_of_sparse(values, others)
            else:
                masses[others] = model.masses(values, self.apply)
        return masses

    def _values(self, which: np.ndarray | slice) -> Any:
        """Return the given objects in the format of `EvclusModel.masses`.

        A slice of a tensor stays on its device.
        """
        if isinstance(self.objects, SparseSource):
            pairs, _, d = pairs_of_sparse(
                self.objects.stored, symmetrize=bool(self.params.symmetrize)
            )
            i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
            return sparse.csr_matrix((np.tile(d, 2), (i, j)), shape=(self.n, self.n))[which]
        if isinstance(self.objects, TensorSource) and not isinstance(which, slice):
            return self.objects.rows(which)
        if self.objects.objects is None:
            values = self.objects.matrix
        else:
            values = self.objects.objects
        assert values is not None
        return values[which]

    def _settle_links(self, masses: np.ndarray, model: EvclusModel) -> None:
        """Update, in place, the masses of objects that have constraints but were not fitted."""
        order = self.distinct.order
        links = self.links
        outside = order[np.isin(order, links.objects) & ~np.isin(order, self.pairs.fitted)]
        if len(outside) == 0:
            return
        if isinstance(self.objects, SparseSource):
            raise InvalidInputError(
                "constraints on objects with sample_weight 0 are not supported for a sparse X"
            )
        conflict = np.array(model.family.conflict)
        known = model.reference_masses
        H = projection_hessian(known, conflict, model.counts)
        terms = linear_terms(
            self._values(outside), model.references, model.d0, known, conflict, model.counts
        )
        blocks = row_blocks(len(outside), 1024, most=None)
        linear = np.concatenate([terms(start, stop)[0] for start, stop in blocks], dtype=float)
        problem = self.pairs.problem_at(self.scale.position)
        weight = problem.total * self.link_share * self.params.xi / (2 * len(links))
        settled = masses.astype(float)
        settle_links(
            H,
            linear,
            outside,
            settled,
            links.indptr,
            links.indices,
            weight * links.signs,
            link_form(model.family),
            *_SETTLING,
        )
        masses[outside] = settled[outside]


# ---- the estimator -------------------------------------------------------------------------------


class EVCLUS(ShepardMixin, EvidentialClusterer):
    r"""Evidential clustering: the more dissimilar two objects are, the more their masses conflict.

    The method computes masses whose degrees of conflict match the dissimilarities d_ij. The degree
    of conflict kappa_ij is one minus the plausibility that objects i and j are in the same cluster.
    The masses minimize the stress

    .. math::

        \frac{\sum_{i<j} (\kappa_{ij} - \delta_{ij})^2}{\sum_{i<j} \delta_{ij}^2}, \qquad
        \delta_{ij} = 1 - \exp(-\gamma d_{ij}^2),

    with :math:`\gamma` such that :math:`\delta = 0.95` at the dissimilarity ``d0``. The
    dissimilarities need not be a metric. Must-link and cannot-link ``constraints`` add a penalty
    (CEVCLUS).

    With ``focal_sets="auto"``, this minimization finds the clusters. The plausibility of each
    cluster for an object is then computed from the distances to the members of the cluster,
    relative to the local density. An object that is almost as near to a neighboring cluster as to
    its own gets mass on the pair of clusters. An object that is far from all other objects gets
    mass on the empty set.

    ``sampling`` selects the pairs of objects: all pairs (EVCLUS), pairs of each object with
    ``n_partners`` random partners (k-EVCLUS), or all pairs of a few landmarks. All objects are then
    compared with the landmarks, so the cost is linear in the number of objects.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then contains the candidates and
        the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. "auto" fits single clusters, then adds masses on the
        empty set and on pairs of neighboring clusters (with no third cluster between them) for
        fixed clusters. "simple", "pairs" and "full" fit the whole family. "selected" fits single
        clusters, then adds the pairs of mutually nearest clusters and continues.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Other names are metrics of scikit-learn's ``pairwise_distances``; a
        function has two rows as arguments. With "precomputed", X is a square matrix of
        dissimilarities, or a SciPy sparse matrix that stores the dissimilarities of some pairs,
        including zeros.
    shape : {"compact", "connected"}, default="compact"
        "connected" finds clusters of any shape, such as rings, by path distances through dense
        regions (`dempster.dissimilarity.paths`). Masses on pairs of clusters, outliers and new
        objects depend on the dissimilarities themselves. Needs ``focal_sets="auto"`` and no
        constraints.
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of the matrix and its transpose instead of raising
        an error.
    target_conflict : {"exponential", "linear", "affine", "ordinal"}, default="exponential"
        Target conflict as a function of the dissimilarity d of two objects. "exponential" is 1 -
        exp(-gamma d^2), with the value 0.95 at ``d0``. "linear" is d / ``d0``, at most 1. "affine"
        is (d - b) / a, limited to [0, 1], where a and b minimize the sum of (a conflict + b - d)^2
        over the pairs of objects (Denoeux and Masson, 2004, but they divide the squares by d). The
        fit and the regression alternate, starting from "linear". "ordinal" replaces dissimilarities
        by their ranks, divided by the number of pairs, before the exponential transformation; only
        the order of the dissimilarities matters. All except "exponential" need
        ``metric="precomputed"`` and a dense matrix.
    d0 : float > 0 or "auto", default="auto"
        Dissimilarity at which two objects are almost certainly in different clusters. "auto" finds
        clusters with several values and selects the value whose clusters, modeled as spherical
        Gaussians, have the largest likelihood (see ``scale_``). The starts are divided among the
        values. With landmarks, the value is selected on half of the landmarks first. For "linear"
        and "affine", "auto" is the quantile 0.8 (2.5 / c for c > 4 clusters).
    d0_quantile : float in (0, 1] or None, default=None
        Quantile of the dissimilarities that is used as ``d0``.
    xi : float >= 0, default=0.5
        Weight of the constraints. They are added in three stages with weights 0, 0.05 and ``xi``.
    convention : {"program", "paper"}, default="program"
        Meaning of ``xi``, as in the published program or in the paper. The published formula
        ("paper") divides ``xi`` by twice the number of constraints. The published program gives the
        constraints four times this weight, so "program" reproduces the published results.
    sampling : {"auto", "all", "random", "landmarks"}, default="auto"
        Pairs of objects to compare; "auto": all pairs up to 1,000 objects, landmarks for more.
    n_partners : int, default=100
        Number of random partners of each object for ``sampling="random"``.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks; "auto": 30 per cluster, but at least 600.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. "refuse" raises an error. "partial" needs the metric "euclidean", "sqeuclidean" or
        "gower"; it compares two objects by the features that both have, and adds the mean
        difference within clusters for each missing feature; objects with more missing values get
        less certain masses. A row that contains only NaN raises an error. ("gower" always accepts
        missing values; without "partial" it uses the mean over the features that both objects
        have.) ``docs/missing.md`` explains when to impute instead.
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, CredalPartition or array of masses
        Initial masses. "medoids" uses clusters around objects far from each other. "belief-peaks"
        or a `BeliefPeaks` uses its clusters, computed without weights. A deterministic start is
        used once, whatever ``n_init``.
    n_init : int, default=5
        Number of starts; the result with the smallest objective is kept. Medoids that give almost
        the same partition count as one start.
    max_iter : int, default=1000
        Maximum number of sweeps over the objects.
    tol : float, default=1e-7
        Smoothed relative change of the objective at which the sweeps stop. Its value after sweep t
        is e_t = (e_{t-1} + relative change of the objective in sweep t) / 2. Starts are compared
        with the tolerance 1e-5 of the papers, and the best one is continued with ``tol``. With
        landmarks, the two tolerances are 1e-2 and 1e-5 (or ``tol``, if it is larger).
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: a pair is added if each cluster is among this many nearest
        clusters of the other.
    device : str, default="cpu"
        Device that compares objects with landmarks; "cuda" is a GPU. A GPU requires torch and
        ``metric="euclidean"``.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    landmark_indices_ : ndarray
        Indices of the objects with which new objects are compared, in increasing order. Among equal
        objects, only the first is included.
    sampling_ : str
        Value of ``sampling`` that was used.
    d0_ : float
        Value of ``d0`` that was used; for ``target_conflict="affine"``, the dissimilarity a + b
        with target conflict 1.
    scale_ : Scale or None
        Candidate values for ``d0="auto"``, with the log-likelihoods of their clusters;
        ``scale_.best`` was selected.
    stress_, loss_ : float
        Sum of (conflict - delta)^2 over all pairs, divided by the sum of delta^2 (stress) or by the
        number of pairs (loss). For more than 1,000 objects, they are estimated from 50,000 random
        pairs. Two equal rows are a pair at dissimilarity zero. With ``focal_sets="auto"``, they
        describe the masses on single clusters, before masses on pairs of clusters are added.
    focal_sets_ : FocalSets
    objective_ : float
        Final value of the objective, which is the stress over the fitted pairs plus the penalty for
        constraints. With landmarks, the fitted pairs are the pairs of landmarks, and the value does
        not include the final refinement of their masses.
    history_ : ndarray
        Objective after every sweep (with constraints, every sweep of the last stage). The last
        value belongs to the final masses. It can be larger than the previous value if objects at
        dissimilarity zero get equal masses.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the rows in the random sample that was fitted, if X is given in blocks.

    Notes
    -----
    For fixed masses of all other objects, the masses of one object solve a convex quadratic
    program. Each sweep solves it exactly for one object after the other. From the fourth sweep on,
    the masses are moved beyond the solution by a factor of up to 1.75 (over-relaxation); with a
    factor below 2 the objective does not increase. After every fourth sweep, all masses are
    extrapolated in the direction of the last sweeps, as long as the objective decreases.

    Objects with equal features are merged into one object with the sum of their weights, and random
    choices do not depend on the order of the rows. A permutation of the rows therefore permutes the
    result, and repeating a row is equivalent to a weight. In a matrix of dissimilarities, objects
    at dissimilarity zero get the masses of one of them, whichever fit best. New objects that are
    equal to training objects get the same masses, so `predict_mass` agrees with the fit. With
    constraints, objects are not merged, because constraints may separate equal objects.

    References
    ----------
    T. Denoeux and M.-H. Masson (2004). EVCLUS: evidential clustering of proximity data. IEEE Trans.
    SMC B 34. T. Denoeux, S. Sriboonchitta and O. Kanjanatarakul (2016). Evidential clustering of
    large dissimilarity data. Knowledge-Based Systems 106. F. Li, S. Li and T. Denoeux (2018).
    k-CEVCLUS: constrained evidential clustering of large dissimilarity data. Knowledge-Based
    Systems 142.

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
        "shape": rule.choice("compact", "connected"),
        "symmetrize": rule.flag,
        "target_conflict": rule.choice("exponential", "linear", "affine", "ordinal"),
        "d0": rule.choice("auto") | rule.real(0, open_low=True),
        "d0_quantile": rule.choice(None) | rule.real(0, 1, open_low=True),
        "xi": rule.real(0),
        "convention": rule.choice("program", "paper"),
        "sampling": rule.choice("auto", "all", "random", "landmarks"),
        "n_partners": rule.integer(1),
        "n_landmarks": rule.choice("auto") | rule.integer(2),
        "init": rule.choice("medoids", "random")
        | PEAKS_RULE
        | rule.kind(CredalPartition)
        | rule.array,
        "device": rule.kind(str, words="the name of a device"),
        "missing": MISSING_RULE,
    }

    _model: EvclusModel | DoubtModel
    _input: Annotated[DissimilarityInput, ".origin n_features"]
    scale_: Scale | None
    _transform: LinearTransform | RankTransform | None = None
    _support = Support(blocks=True, block_weights=True, tensors=True)
    _prediction_state = (*EvidentialClusterer._prediction_state, "_transform")

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        shape: str = "compact",
        symmetrize: bool = False,
        target_conflict: str = "exponential",
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
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
        self.metric = metric
        self.shape = shape
        self.symmetrize = symmetrize
        self.target_conflict = target_conflict
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.xi = xi
        self.convention = convention
        self.sampling = sampling
        self.n_partners = n_partners
        self.n_landmarks = n_landmarks
        self.missing = missing
        self.init = init
        self.n_neighbor_clusters = n_neighbor_clusters
        self.device = device

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
            Data of type float32 keep their precision, and the results keep the index of a
            DataFrame. If X is given in blocks (``docs/blocks.md``), landmarks are drawn from all
            blocks, and the masses are computed lazily. If X is a torch tensor (``docs/scale.md``;
            only with ``metric="euclidean"``), computations run on its device.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            The weight of a pair is the product of the weights of its objects. A weight is
            equivalent to repeating the row. Landmarks are drawn in proportion to the weights.
            Objects with weight zero are not fitted and get masses like new objects.
        constraints : Constraints, optional
            Pairs of objects that are known to be in the same cluster or in different clusters.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight, constraints=constraints)

    def _min_sample(self) -> int:
        if isinstance(self.n_landmarks, str):
            return 0
        return int(self.n_landmarks)

    def _accepts_tensors(self) -> bool:
        return (
            super()._accepts_tensors()
            and isinstance(self.metric, str)
            and self.metric == "euclidean"
        )

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(
                self.metric, symmetrize=self.symmetrize, sparse=True, fewest=2
            )
        if self._stays_on_device(X):
            values = validate_tensor(self, X, reset=reset, fewest=2 if reset else 1)
            if reset:
                return TensorSource(values)
            return values
        if reset:
            return self._convert_training(self._input.training(self, X))
        if sparse.issparse(X):
            few = None
        else:
            few = len(self._model.references)
        values = self._input.new(self, X, or_width=few)
        if self._transform is None:
            return values
        return self._transform(values)

    def _convert_training(
        self, source: DissimilaritySource | SparseSource
    ) -> DissimilaritySource | SparseSource:
        """Return the source, with ranks instead of dissimilarities if ``target_conflict="ordinal"``."""
        self.__dict__.pop("_transform", None)
        if self.target_conflict == "exponential":
            return source
        if not isinstance(source, MatrixSource):
            expected = "'exponential' unless metric='precomputed' and X is a dense matrix"
            raise InvalidParameterError("target_conflict", expected, self.target_conflict)
        if self.target_conflict != "ordinal":
            return source
        self._transform = RankTransform.from_matrix(source.matrix)
        return MatrixSource(self._transform(source.matrix))

    def _comparison_source(self, values: DissimilaritySource | SparseSource) -> DissimilaritySource:
        if isinstance(values, SparseSource):
            raise InvalidParameterError(
                "n_clusters", "an integer for a sparse matrix X", self.n_clusters
            )
        if self.shape == "connected":
            expected = "an integer if shape='connected' (CredalClustering selects the number)"
            raise InvalidParameterError("n_clusters", expected, self.n_clusters)
        if isinstance(values, TensorSource):
            return AttributeSource(to_host(values.objects))
        return values

    def _make_method(
        self, sample: Sample[DissimilaritySource | SparseSource], request: FitRequest
    ) -> EvclusMethod:
        if self.device != "cpu":
            from dempster.data.device import import_torch

            if self.metric != "euclidean":
                raise InvalidParameterError(
                    "device", f"'cpu' for metric={self.metric!r}", self.device
                )
            import_torch(self.device)
        if self.shape == "connected":
            if self.focal_sets != "auto":
                raise InvalidParameterError(
                    "focal_sets", "'auto' if shape='connected'", self.focal_sets
                )
            if self.sampling == "random" or isinstance(sample.values, SparseSource):
                raise InvalidParameterError(
                    "shape", "'compact' for random pairs or a sparse matrix X", self.shape
                )
            if request.constraints is not None:
                raise InvalidParameterError("constraints", must="be None if shape='connected'")
        if (
            sample.blocks is not None
            and not sample.blocks.are_in_memory
            and self.sampling in ("all", "random")
        ):
            expected = f"'auto' or 'landmarks' for {len(sample.blocks):,} rows in blocks"
            raise InvalidParameterError("sampling", expected, self.sampling)
        return EvclusMethod(self, sample, request)

    def _resolve_families(self, n_clusters: int) -> Families:
        """Return the families.

        "auto" includes the frame, because clusters would otherwise merge if ``d0`` is large.
        """
        if self.focal_sets == "auto":
            return Families(FocalSets.simple(n_clusters), neighbors=True)
        families = super()._resolve_families(n_clusters)
        if len(families.first) > _MAX_SETS:
            raise InvalidParameterError(
                "focal_sets",
                must=f"contain at most {_MAX_SETS} sets, got {len(families.first):,}; "
                "use 'simple', 'pairs' or 'selected'",
            )
        return families

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[EvclusMethod, Run[Any]]:
        if self.target_conflict in ("linear", "affine"):
            return self._run_linear(search, sample, request)
        method = self._make_method(sample, request)
        return method, search.run(
            method, self._resolve_families(request.n_clusters), method.pairs.counts
        )

    def _run_linear(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[EvclusMethod, Run[Any]]:
        """Fit converted dissimilarities, whose exponential transformation is linear.

        For "affine", repeatedly.
        """
        D = sample.values.matrix
        c = request.n_clusters
        plain = copy.copy(self)
        families = self._resolve_families(c)
        least = np.inf
        plain.d0 = 1.0
        plain.d0_quantile = None
        if self.d0_quantile is None:
            quantile = default_quantile(c)
        else:
            quantile = float(self.d0_quantile)
        if isinstance(self.d0, str):
            d0 = scale_at(D[np.triu_indices(len(D), 1)], quantile)
        else:
            d0 = float(self.d0)
        following = LinearTransform(d0)
        for _ in range(_MAX_AFFINE_FITS):
            converted = replace(sample, values=MatrixSource(following(D)))
            method = plain._make_method(converted, request)
            run = search.run(method, families, method.pairs.counts)
            self._transform = following
            if self.target_conflict == "linear":
                break
            i, j = np.triu_indices(len(method.pairs.fitted), 1)
            conflicts = (run.model.masses @ run.model.family.conflict @ run.model.masses.T)[i, j]
            d = sample.values.block(method.pairs.fitted, method.pairs.fitted)[i, j]
            following, error = following.fit(d, conflicts)
            if error > (1 - _AFFINE_TOLERANCE) * least:
                break
            least = error
            result = method.result(run)
            labels = CredalPartition.unchecked(result.masses, result.model.family).labels
            plain.init = CredalPartition(
                np.eye(c)[labels], FocalSets.simple(c, empty=False, omega=False)
            )
        return method, run

    def _auto_params(self, method: EvclusMethod) -> dict[str, str]:
        if len(method.scale.trials) > 1:
            return {"d0": method.scale.reasons()}
        return {}

    def _fitted_attributes(
        self, method: EvclusMethod, model: EvclusModel | DoubtModel
    ) -> dict[str, Any]:
        assessment = method.assess(model, self.credal_partition_.masses)
        d0 = method.scale.best.d0
        shepard = assessment.shepard
        if isinstance(self._transform, LinearTransform):
            d0 = self._transform.slope + self._transform.offset
            shepard = shepard._replace(
                dissimilarity=self._transform.slope * shepard.delta + self._transform.offset
            )
        return {
            "d0_": d0,
            "scale_": method.scale if len(method.scale.trials) > 1 else None,
            "sampling_": method.pairs.sampling,
            "landmark_indices_": method.training.original_positions(
                np.sort(method.pairs.references)
            ),
            "stress_": assessment.stress,
            "loss_": assessment.loss,
            "_shepard": shepard,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
