"""EVCLUS and its variants k-EVCLUS, CEVCLUS, k-CEVCLUS and EVCLUS with landmarks.

`EvclusMethod` minimizes the stress over the pairs that `select_pairs` selects, at the values of
``d0`` in a `ScaleSearch`, and computes the masses of all objects. `EVCLUS` is the estimator.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, Self, cast

import numpy as np
from scipy import sparse

from dempster import _validation as rule
from dempster._arrays import Array, is_tensor, to_device_of, to_host
from dempster._errors import InvalidParameterError
from dempster._random import as_generator, as_random_state
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import validate_tensor
from dempster.belief import FocalSets
from dempster.belief.focal_sets import MAX_DENSE_CLUSTERS
from dempster.cluster._base import (
    COMMON_RULES,
    MISSING_RULE,
    EvidentialClusterer,
    FitRequest,
    Support,
)
from dempster.cluster._mass_step import project_partition
from dempster.cluster._medoid_starts import (
    certain_masses,
    labelings_from_means,
    masses_from_labels,
    masses_from_medoids,
    medoid_starts,
    random_masses,
)
from dempster.cluster._revision import Links, are_satisfied, improvement
from dempster.cluster._search import (
    Families,
    FitResult,
    Method,
    Sample,
    Search,
    check_number_of_sets,
    resolve_families,
)
from dempster.cluster._starts import validate_initial_masses
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, fit_source_peaks
from dempster.cluster.evclus._fitted_pairs import (
    distinct_objects,
    draw_objects,
    select_pairs,
)
from dempster.cluster.evclus._model import (
    Assessment,
    DoubtModel,
    EvclusModel,
    ShepardMixin,
    assess,
    neighbors_of_pairs,
    twins_at_zero,
)
from dempster.cluster.evclus._pairs import (
    MAX_ALL_PAIRS_ROWS,
    AllPairs,
    link_form,
)
from dempster.cluster.evclus._revision import Revision, adapted_metrics
from dempster.cluster.evclus._scale import Scale, ScaleSearch, candidate_scales
from dempster.cluster.evclus._transforms import LinearTransform, RankTransform
from dempster.constraints import Constraints
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    References,
    SparseSource,
    TensorSource,
    separations,
)
from dempster.dissimilarity.transform import (
    choose_landmarks,
    conflicts_at,
    default_quantile,
    pairs_of_sparse,
    scale_at,
)
from dempster.optimize.blocks import row_blocks
from dempster.optimize.descent import Run, find_likeliest
from dempster.optimize.k_means import k_means
from dempster.optimize.projection import (
    approach_radii,
    projection_hessian,
    settle_links,
)
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import Deferred

# factor of the weight of the constraints in the published formula
LINK_FACTORS = {"scaled": 4.0, "program": 4.0, "paper": 1.0}
_REFINEMENT_OBJECTS = 2000  # number of objects for the second fit of the landmarks
# A smaller tolerance would not improve the masses of objects that are not landmarks.
_LANDMARK_TOLERANCE = 1e-5
# largest quantile of the dissimilarities that is used as d0 if there are many clusters, times their
# number
_MANY_CLUSTERS_QUANTILE = 5
# tolerances for the comparison of starts
_START_TOLERANCE = 1e-5
_START_TOLERANCE_OF_LANDMARKS = 1e-2
# number of starts at each candidate d0, divided by n_init
_STARTS_PER_SCALE = 0.4
_TRIAL_STARTS_PER_SCALE = 0.2
# number of rows per cluster from which medoids are drawn, and their maximum number
_ROWS_PER_MEDOID = 10
_MAX_MEDOID_ROWS = 6000
_TRIAL_SWEEPS = 8  # number of sweeps after which labels hardly change
_FIRST_XI = 0.05  # weight of the constraints in the second of three stages
# maximum number of sweeps over constrained objects that are not fitted, and tolerance
_SETTLING = 50, 1e-6
# number of fits, and relative decrease of the error at which they stop
_MAX_AFFINE_FITS = 20
_AFFINE_TOLERANCE = 0.01

# ---- the algorithm -------------------------------------------------------------------------------


@dataclass(frozen=True)
class ObjectMasses:
    """Masses of the fitted objects."""

    family: FocalSets
    masses: np.ndarray  # masses that minimize the objective
    trial: int = 0  # index of the candidate d0
    # source of the initial masses: "drawn" or given masses, clusters around "means", or the
    # clusters that selected d0 on half of the "landmarks"
    origin: str = "drawn"
    # the same masses, made equal for objects of a matrix at dissimilarity zero
    equalized: np.ndarray | None = None
    # whether masses on pairs of neighboring clusters are added after the fit
    adds_doubt: bool = False


Start = tuple[ObjectMasses, np.random.Generator]
"""Initial masses, and the random generator for the order of the objects in the sweeps."""


class EvclusMethod(Method[Start, ObjectMasses]):
    """Algorithm of EVCLUS.

    If all objects are fitted, starts are run at each candidate value of ``d0``. With landmarks, a
    short fit of half of the landmarks selects ``d0`` before the starts are drawn.
    """

    starts_in_threads = True

    def __init__(
        self,
        params: EVCLUS,
        sample: Sample[DissimilaritySource | SparseSource],
        request: FitRequest,
    ):
        self.params = params
        self.training = sample
        self.objects = sample.values
        self.n = len(sample.values)
        self.n_clusters = request.n_clusters
        self.apply = request.apply
        self.peaks = fit_source_peaks(
            params.init,
            sample.values,
            self.n_clusters,
            params.random_state,
            params.n_jobs,
        )
        constraints = None
        if params.xi > 0:
            constraints = request.constraints
        self.links = Links.from_constraints(constraints, self.n)
        self.metric_reasons: str | None = None  # why a learned metric is used
        # whether the constraints revise plausibilities instead of changing the objective
        self.revises = (
            params.convention == "scaled"
            and params.focal_sets == "auto"
            and not isinstance(sample.values, SparseSource)
        )
        # Equal objects are not merged if a penalty may separate them.
        self.distinct = distinct_objects(
            sample,
            merge=self.revises or len(self.links) == 0,
            device=params.device,
        )
        # All random numbers are drawn in a fixed order, beginning with those that select the pairs.
        self.rng = as_generator(params.random_state)
        nearest = (
            self.n_clusters > MAX_DENSE_CLUSTERS
            and params.focal_sets == "auto"
            and params.shape == "compact"
            and len(self.links) == 0
        )
        self.pairs = select_pairs(
            sample.values,
            self.distinct,
            self.links,
            self.n_clusters,
            self.rng,
            sampling=params.sampling,
            n_partners=params.n_partners,
            n_landmarks=params.n_landmarks,
            shape=params.shape,
            symmetrize=params.symmetrize,
            nearest=nearest,
        )
        # whether landmarks are compared with some of the landmarks
        self.compares_nearest = nearest and self.pairs.sampling == "landmarks"
        quantile = params.d0_quantile
        if self.compares_nearest and quantile is None:
            # In few dimensions, a larger d0 would join clusters.
            dimension = self.pairs.dimension(self.rng)
            quantile = min(1 + dimension / 2, _MANY_CLUSTERS_QUANTILE) / self.n_clusters
        scale = candidate_scales(
            self.pairs, self.n_clusters, params.d0, quantile, self.rng
        )
        self.scale_search = ScaleSearch(self.pairs, scale, self.rng)
        self.has_landmarks = len(self.pairs.fitted) < len(self.distinct.positions)
        self.fitted_links = self.links.among(self.pairs.fitted)
        # Landmarks represent all objects, so the weight of their constraints is increased in
        # proportion.
        represented = len(self.distinct.positions) / len(self.pairs.fitted)
        self.link_share = LINK_FACTORS[params.convention] * represented
        if params.convention == "scaled":
            self.link_share *= min(len(self.links) / len(self.distinct.positions), 1)
        # weights of the constraints in the stages after the first
        self.stages: list[float] = []
        if len(self.fitted_links) and not self.revises:
            share = self.link_share * len(self.fitted_links) / len(self.links)
            if params.xi > _FIRST_XI:
                self.stages.append(share * _FIRST_XI)
            self.stages.append(share * params.xi)
        if self.pairs.sampling == "landmarks":
            self.tol = max(params.tol, _LANDMARK_TOLERANCE)
            self.first_tol = max(self.tol, _START_TOLERANCE_OF_LANDMARKS)
        else:
            self.tol = params.tol
            self.first_tol = max(self.tol, _START_TOLERANCE)
        self.used_tol = self.tol

    @property
    def d0(self) -> float:
        return self.scale_search.scale.best.d0

    # ---- starts ----------------------------------------------------------------------------------

    @property
    def has_single_start(self) -> bool:
        """Whether ``init`` gives the only start, which is then run to the final tolerance."""
        is_given = self.peaks is not None or not isinstance(self.params.init, str)
        return is_given and (
            self.has_landmarks or len(self.scale_search.scale.trials) == 1
        )

    def draw_starts(self, family: FocalSets) -> list[Start]:
        """Return the masses given by ``init``, or draw masses for the candidate values of d0."""
        search = self.scale_search
        user_masses = self._user_masses(family)
        mean_labels = None
        if user_masses is None and search.scale.is_open:
            mean_labels = self._draw_mean_labels()
        if search.scale.is_open and self.has_landmarks:
            cluster = partial(self._cluster_landmarks, family, user_masses, mean_labels)
            search.try_landmarks(cluster, self.apply)
        if user_masses is not None and self.has_single_start:
            return [
                (ObjectMasses(family, user_masses, search.scale.position), self.rng)
            ]
        starts = []
        for trial in search.positions:
            if user_masses is None:
                drawn = self._draw_masses(family, trial)
            else:
                drawn = [user_masses]
            starts += [ObjectMasses(family, masses, trial) for masses in drawn]
        if mean_labels is not None:
            masses = certain_masses(mean_labels, family)
            for trial in search.positions:
                starts.append(ObjectMasses(family, masses, trial, "means"))
        if search.landmark_labels is not None:
            masses = certain_masses(search.landmark_labels, family)
            starts.append(
                ObjectMasses(family, masses, search.scale.position, "landmarks")
            )
        seeds = self.rng.integers(0, 2**63, len(starts))
        return list(zip(starts, map(np.random.default_rng, seeds), strict=True))

    def _user_masses(self, family: FocalSets) -> np.ndarray | None:
        """Return the masses of the fitted objects given by ``init``, or None if they are drawn."""
        init = self.params.init
        fitted = self.pairs.fitted
        if self.peaks is not None:
            return masses_from_labels(self.peaks.labels_[fitted], family)
        if isinstance(init, str):
            return None
        adds_doubt = self.params.focal_sets == "auto"
        if (
            adds_doubt
            and isinstance(init, CredalPartition)
            and init.n_clusters == self.n_clusters
        ):
            init = project_partition(init, family)
        start = validate_initial_masses(init, self.n, family)
        is_unknown = family.find(start.focal_sets.membership) < 0
        if np.any(start.masses[:, is_unknown] > 0):
            must = "have no mass on sets that are not in focal_sets"
            raise InvalidParameterError("init", must=must)
        return np.ascontiguousarray(start.to_family(family).masses[fitted], float)

    def _draw_mean_labels(self) -> np.ndarray | None:
        """Return the most likely clusters of the fitted objects around means.

        Return None if starts are random, if not all dissimilarities are known, or if a cluster has
        fewer than four objects.
        """
        D = self.pairs.imputed
        if self.params.init == "random" or not isinstance(D, np.ndarray):
            return None
        counts = self.pairs.counts
        n_init = self.params.n_init
        labelings = labelings_from_means(D, self.n_clusters, n_init, self.rng, counts)
        # Outliers can have a mean of their own. The variance of so few objects is not known.
        labelings = [
            labels
            for labels in labelings
            if np.bincount(labels, minlength=self.n_clusters).min() > 3
        ]
        if not labelings:
            return None
        likelihoods = self.scale_search.likelihoods(labelings)
        return labelings[find_likeliest(likelihoods)[0]]

    def _draw_masses(self, family: FocalSets, trial: int) -> list[np.ndarray]:
        """Draw initial masses of the fitted objects at one candidate value of ``d0``."""
        pairs = self.pairs
        search = self.scale_search
        problem = search.problem_at(trial)
        n_init = self.params.n_init
        if self.compares_nearest:
            n_init = max(1, round(_TRIAL_STARTS_PER_SCALE * n_init))
        elif len(search.scale.trials) > 1:
            n_init = max(1, round(_STARTS_PER_SCALE * n_init))
        m = len(pairs.fitted)
        if self.params.init == "random" or pairs.stored is not None:
            return [random_masses(m, family, self.rng) for _ in range(n_init)]
        counts = pairs.counts
        source = pairs.source
        if (
            self.compares_nearest
            and isinstance(source, AttributeSource)
            and source.is_euclidean
        ):
            points = to_host(source.rows(pairs.fitted))
            rng = as_random_state(self.rng)
            labels = k_means(points, self.n_clusters, rng, counts, n_runs=2)[1]
            return [masses_from_labels(labels, family)]
        if isinstance(problem, AllPairs):
            return masses_from_medoids(problem.delta, family, n_init, self.rng, counts)
        n_rows = min(_ROWS_PER_MEDOID * self.n_clusters, _MAX_MEDOID_ROWS)
        n_rows = max(n_rows, MAX_ALL_PAIRS_ROWS, 2 * self.n_clusters)
        places = choose_landmarks(m, n_rows, self.rng)
        if counts is not None:
            counts = counts[places]
        sample = pairs.fitted[places]
        delta = conflicts_at(
            pairs.source.block(sample, sample), search.scale.trials[trial].d0
        )
        blocks = [pairs.fitted[start:stop] for start, stop in row_blocks(m, most=None)]
        starts = []
        for medoids in medoid_starts(delta, self.n_clusters, n_init, self.rng, counts):
            nearest = [
                pairs.source.block(rows, sample[medoids]).argmin(axis=1)
                for rows in blocks
            ]
            starts.append(masses_from_labels(np.concatenate(nearest), family))
        return starts

    def _cluster_landmarks(
        self,
        family: FocalSets,
        user_masses: np.ndarray | None,
        mean_labels: np.ndarray | None,
        problem: AllPairs,
        places: np.ndarray,
        rng: np.random.Generator,
    ) -> Iterator[np.ndarray]:
        """Yield the labels of some landmarks after a few sweeps from each of several starts."""
        n_init = max(1, round(_TRIAL_STARTS_PER_SCALE * self.params.n_init))
        size = len(places)
        if user_masses is not None:
            starts = [user_masses[places]]
        elif self.params.init == "random":
            starts = [random_masses(size, family, rng) for _ in range(n_init)]
        else:
            counts = self.pairs.counts
            if counts is not None:
                counts = counts[places]
            starts = masses_from_medoids(problem.delta, family, n_init, rng, counts)
            if mean_labels is not None:
                starts.append(certain_masses(mean_labels[places], family))
        max_sweeps = min(self.params.max_iter, _TRIAL_SWEEPS)
        no_links = Links.from_constraints(None, size)
        for start in starts:
            order = rng.permutation(size)
            masses, _, _ = problem.descend(
                start, family, order, max_sweeps, self.first_tol, no_links, 0.0
            )
            yield CredalPartition.unchecked(masses, family).labels

    # ---- runs ------------------------------------------------------------------------------------

    def run_start(self, start: Start) -> Run[ObjectMasses]:
        if self.has_single_start:
            return self._converge(Run(start[0]))
        return self._sweep(*start, [], self.first_tol)

    def select_run(
        self, runs: Iterable[Run[ObjectMasses]], tol: float
    ) -> Run[ObjectMasses]:
        """Return the most likely of the best runs for each d0.

        Objectives with different d0 cannot be compared. With an unsuitable d0, the objective
        prefers wrong clusters. Therefore, runs from starts of different origins are compared by
        their likelihoods, too.
        """
        groups: dict[tuple[int, str], list[Run[ObjectMasses]]] = {}
        for run in runs:
            groups.setdefault((run.model.trial, run.model.origin), []).append(run)
        best = []
        for group in groups.values():
            best.append(super().select_run(group, tol))
        if len(best) == 1:
            return best[0]
        labelings = [self.partition(run).labels for run in best]
        return best[
            self.scale_search.select(labelings, [run.model.trial for run in best])
        ]

    def refine(self, best: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Continue the best run to the final tolerance.

        A run from clusters that were selected by their likelihood is not continued if this makes
        the clusters less likely.
        """
        if self.has_single_start or self.compares_nearest:
            return best
        refined = self._converge(best)
        if best.model.origin == "drawn" or self.stages:
            return refined
        before, after = self.scale_search.likelihoods(
            self.partition(run).labels for run in (best, refined)
        )
        return best if before > after else refined

    def _converge(self, best: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Continue a run to the final tolerance, then add the constraints in stages.

        The stages are those of Li, Li and Denoeux (2018), section 3.2.
        """
        run = self._sweep(best.model, self.rng, best.history, self.tol)
        for xi in self.stages:
            run = self._sweep(run.model, self.rng, [], self.tol, xi)
        return run

    def extend(self, run: Run[ObjectMasses], family: FocalSets) -> Run[ObjectMasses]:
        masses = np.asarray(self.partition(run).to_family(family).masses)
        wider = ObjectMasses(family, masses, run.model.trial)
        return self._sweep(
            wider, self.rng, run.history, self.tol, (self.stages or [0.0])[-1]
        )

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
        if max_sweeps <= 0:
            return Run(start, list(history), False)
        order = rng.permutation(len(start.masses))
        problem = self.scale_search.problem_at(start.trial)
        masses, trace, converged = problem.descend(
            start.masses, start.family, order, max_sweeps, tol, self.fitted_links, xi
        )
        return Run(replace(start, masses=masses), history + trace.tolist(), converged)

    def add_neighbor_pairs(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Mark the run for masses on pairs of neighboring clusters.

        For a sparse matrix, continue it with the pairs.
        """
        stored = self.pairs.stored
        if stored is None:
            return replace(run, model=replace(run.model, adds_doubt=True))
        pairs = stored.renumber(self.pairs.fitted)
        labels = self.partition(run).labels
        return self.extend(run, neighbors_of_pairs(pairs, labels, self.n_clusters))

    def partition(self, run: Run[ObjectMasses]) -> CredalPartition:
        return CredalPartition.unchecked(run.model.masses, run.model.family)

    # ---- masses of all objects -------------------------------------------------------------------

    def result(self, run: Run[ObjectMasses]) -> FitResult:
        has_links = len(self.links) > 0 and not self.revises
        # Constraints may separate objects at dissimilarity zero.
        if not has_links:
            run = self._finalize(run)
        fit = run.model
        are_clusters = len(self.pairs.fitted) == self.n_clusters and not has_links
        if fit.adds_doubt and are_clusters:
            # Equal objects have the weight of one, so that neighbors would outvote them.
            masses = np.eye(len(fit.family))[fit.family.singleton_index]
            fit = replace(fit, masses=masses, adds_doubt=False)
            run = replace(run, model=fit)
        model = self._model(fit)
        if fit.adds_doubt and not has_links:
            return FitResult(run, *self._add_doubt(model))
        masses = self._masses_of_all(model, fit)
        if has_links:
            masses = to_host(masses)
            masses[self.pairs.fitted] = fit.masses
            self._settle_links(masses, model)
        if fit.adds_doubt:
            return FitResult(run, *self._add_doubt(model, masses))
        return FitResult(run, model, masses)

    def _finalize(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Refine the masses of landmarks, or equalize those of objects at dissimilarity zero."""
        fit = run.model
        if self.has_landmarks:
            if self.params.shape == "compact" and not self.compares_nearest:
                fit = replace(fit, masses=self._refine_landmarks(fit))
            return replace(run, model=fit)
        if not isinstance(self.objects, MatrixSource):
            return run
        fitted = self.pairs.fitted
        twins = []
        for start, stop in row_blocks(len(fitted), 1024, most=None):
            D = self.objects.block(fitted[start:stop], fitted)
            twins.append(twins_at_zero(D, self.d0, fit.masses, fit.family.conflict))
        equalized = fit.masses[np.concatenate(twins)]
        if np.array_equal(equalized, fit.masses):
            return run
        problem = self.scale_search.problem_at(fit.trial)
        objective = problem.squares(equalized, fit.family) / problem.total
        history = [*run.history[:-1], objective]
        return Run(replace(fit, equalized=equalized), history, run.converged)

    def _refine_landmarks(self, fit: ObjectMasses) -> np.ndarray:
        """Return the masses of the landmarks, compared with a larger sample of objects.

        The masses of the sample are computed by comparison with the landmarks. The computation
        always runs on the CPU, so that the results are the same on every device.
        """
        model = replace(self._model(fit), device="cpu")
        sample, counts = draw_objects(
            self.distinct, self.distinct.positions, _REFINEMENT_OBJECTS, self.rng
        )
        masses = model.project(self._rows(sample), self.apply).astype(float)
        wider = replace(
            model,
            references=References.from_source(self.pairs.source, sample),
            reference_masses=masses,
            counts=counts,
        )
        landmarks = self._rows(self.pairs.fitted)
        return wider.project(landmarks, self.apply, approach=False).astype(float)

    def assess(
        self, model: EvclusModel | DoubtModel, partition: CredalPartition
    ) -> Assessment:
        """Compare conflicts with dissimilarities.

        The conflicts of a `DoubtModel` are those before pairs of clusters were added.
        """
        rows = None
        if isinstance(model, DoubtModel):
            model = model.fit
            rows = self.pairs.references
            masses = model.reference_masses
        else:
            masses = partition.masses
        pairs = self.pairs.assessment_pairs(self.rng, rows)
        if is_tensor(masses):
            rows = np.unique(np.concatenate([pairs.i, pairs.j]))
            masses = to_host(masses[to_device_of(rows, masses)])
        if rows is not None:
            pairs = pairs.renumber(rows)
        return assess(masses, model.family, pairs, model.d0, self.rng)

    def _model(self, fit: ObjectMasses) -> EvclusModel:
        pairs = self.pairs
        if isinstance(self.objects, SparseSource):
            references = References(pairs.references, self.n, None)
        else:
            references = References.from_source(self.objects, pairs.references)
        counts = pairs.counts
        if counts is not None:
            counts = counts[pairs.reference_places]
        return EvclusModel(
            family=fit.family,
            references=references,
            reference_masses=fit.masses[pairs.reference_places],
            counts=counts,
            radii=self._radii,
            d0=self.d0,
            device=self.params.device,
            dtype=self.objects.dtype,
        )

    @cached_property
    def _radii(self) -> np.ndarray:
        """Radii of the references in `approach_known_masses`."""
        positions = self.pairs.references
        if self.pairs.stored is None and not self.compares_nearest:
            source = cast(DissimilaritySource, self.objects).subset(positions)
            return approach_radii(separations(source))
        pairs = self.pairs.weighted_pairs
        least = np.full(len(self.pairs.fitted), np.inf)
        differ = pairs.dissimilarity > 0
        for ends in (pairs.i, pairs.j):
            np.minimum.at(least, ends[differ], pairs.dissimilarity[differ])
        return approach_radii(least[self.pairs.reference_places])

    def _add_doubt(
        self, fit: EvclusModel, constrained: np.ndarray | None = None
    ) -> tuple[DoubtModel, Array]:
        """Return a model with masses on pairs, and all masses.

        Objects with constraints keep ``constrained``, or get revised masses.
        """
        positions = self.pairs.references
        linked = self.links.objects
        revision = None
        if constrained is None and len(linked):
            revision = self._revise(fit)
            model = revision.model
        else:
            kept = None
            if len(linked):
                kept = np.flatnonzero(np.isin(positions, linked))
            model = DoubtModel.from_fit(fit, self._reference_blocks, kept)
        masses = model.masses(self._rows(), self.apply)
        if (self.distinct.first != np.arange(self.n)).any():
            masses = masses[to_device_of(self.distinct.first, masses)]
        if constrained is not None:
            masses = to_host(masses)
            masses[positions] = model.reference_masses
            model.keep(masses, linked, constrained[linked])
        if revision is not None:
            masses = to_host(masses)
            masses[self._revised_positions] = revision.masses
        return model, masses

    def _reference_blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yield indices of reference objects, all indices, and the dissimilarities."""
        positions = self.pairs.references
        objects = cast(DissimilaritySource, self.objects)
        for start, stop in row_blocks(len(positions), 1024, most=None):
            block = objects.block(positions[start:stop], positions)
            D = np.array(block, float, order="C")
            D[np.arange(stop - start), np.arange(start, stop)] = 0
            yield np.arange(start, stop), np.arange(len(positions)), D

    @property
    def _revised_positions(self) -> np.ndarray:
        """Indices of the reference objects, followed by other objects with constraints."""
        references = self.pairs.references
        return np.append(references, np.setdiff1d(self.links.objects, references))

    def _revise(self, fit: EvclusModel) -> Revision:
        """Add masses on pairs, and revise the plausibilities by the constraints."""
        D = np.concatenate([D for *_, D in self._reference_blocks()])
        positions = self._revised_positions
        references = positions[: len(D)]
        places = np.full(self.n, -1)
        places[references] = np.arange(len(D))
        objects = cast(DissimilaritySource, self.objects)
        blocks = [
            positions[len(D) + start : len(D) + stop]
            for start, stop in row_blocks(len(positions) - len(D), 1024, most=None)
        ]
        outside = (
            (
                np.ascontiguousarray(objects.block(rows, references), float),
                places[self.distinct.first[rows]],
            )
            for rows in blocks
        )
        model = DoubtModel.from_fit(
            fit,
            lambda: [(np.arange(len(D)), np.arange(len(D)), D)],
            np.empty(0, np.int64),
        )
        links = self.links.among(positions)
        return Revision.from_constraints(model, D, outside, links, self.params.xi)

    def revised_labels(self, run: Run[ObjectMasses]) -> tuple[np.ndarray, np.ndarray]:
        """Return the clusters before and after the revision by constraints.

        They are -1 for objects that are neither references nor constrained.
        """
        revision = self._revise(self._model(run.model))
        labels = np.full((2, self.n), -1)
        labels[:, self._revised_positions] = revision.former_labels, revision.labels
        return labels[0], labels[1]

    def _masses_of_all(self, model: EvclusModel, fit: ObjectMasses) -> Array:
        """Return the masses of all n objects, shape (n, f).

        Objects that were not fitted are treated like new ones.
        """
        if self.has_landmarks:
            return model.masses(self._rows(), self.apply)
        masses = np.empty((self.n, len(fit.family)), self.objects.dtype)
        masses[self.pairs.fitted] = (
            fit.masses if fit.equalized is None else fit.equalized
        )
        rows = self.distinct.rows
        masses[rows] = masses[self.distinct.first[rows]]
        others = np.setdiff1d(np.arange(self.n), rows)
        if len(others):
            values = self._rows(others)
            if sparse.issparse(values):
                masses[others] = model.masses_of_sparse(values, others)
            else:
                masses[others] = model.masses(values, self.apply)
        return masses

    def _rows(self, which: np.ndarray | slice = slice(None)) -> Any:
        """Return the given objects in the format of `EvclusModel.masses`.

        A slice of a tensor stays on its device.
        """
        objects = self.objects
        if isinstance(objects, SparseSource):
            pairs, _, d = pairs_of_sparse(
                objects.stored, symmetrize=self.params.symmetrize
            )
            i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
            return sparse.csr_matrix((np.tile(d, 2), (i, j)), shape=(self.n, self.n))[
                which
            ]
        if isinstance(objects, TensorSource) and not isinstance(which, slice):
            return objects.rows(which)
        if objects.matrix is not None:
            return objects.matrix[which]
        return objects.objects[which]

    def _settle_links(self, masses: np.ndarray, model: EvclusModel) -> None:
        """Update, in place, the masses of objects that have constraints but were not fitted."""
        links = self.links
        order = self.distinct.order
        outside = order[
            np.isin(order, links.objects) & ~np.isin(order, self.pairs.fitted)
        ]
        if len(outside) == 0:
            return
        if isinstance(self.objects, SparseSource):
            must = "not concern objects with sample_weight 0 if X is a sparse matrix"
            raise InvalidParameterError("constraints", must=must)
        conflict = np.array(model.family.conflict)
        known = model.reference_masses
        terms = model.linear_terms(self._rows(outside))
        blocks = row_blocks(len(outside), 1024, most=None)
        linear = np.concatenate(
            [terms(start, stop)[0] for start, stop in blocks], dtype=float
        )
        problem = self.scale_search.problem_at(self.scale_search.scale.position)
        weight = problem.total * self.link_share * self.params.xi / (2 * len(links))
        settled = masses.astype(float)
        settle_links(
            projection_hessian(known, conflict, model.counts),
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
    dissimilarities need not be a metric. Must-link and cannot-link ``constraints`` revise the
    result, or add a penalty to the stress (CEVCLUS, see ``convention``).

    With ``focal_sets="auto"``, this minimization finds the clusters. The plausibility of each
    cluster for an object is then computed from the distances to the members of the cluster,
    relative to the local density. An object that is almost as near to a neighboring cluster as to
    its own gets mass on the pair of clusters. An object that is far from all other objects gets
    mass on the empty set.

    ``sampling`` selects the pairs of objects: all pairs (EVCLUS), pairs of each object with
    ``n_partners`` random partners (k-EVCLUS), or all pairs of a few landmarks. All objects are then
    compared with the landmarks, so the cost is linear in the number of objects. With more than 50
    clusters and ``focal_sets="auto"``, each landmark is compared with the 40 nearest landmarks and
    with 40 random ones, which have a larger weight, so that the stress estimates that of all pairs.
    For Euclidean distances, the other objects are then compared only with the landmarks of the
    clusters around the nearest mean of a cluster. With more than 100 clusters, a landmark has
    masses only on the clusters of its neighbors.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then contains the candidates and
        the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. "auto" fits single clusters, then adds masses on the
        empty set and on pairs of neighboring clusters (with objects between them) for
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
        values. With landmarks, it is selected on half of them first. With more than 50 clusters and
        landmarks, "auto" is the quantile 5 / c for c clusters. For "linear" and "affine", "auto" is
        the quantile 0.8 (2.5 / c for c > 4 clusters).
    d0_quantile : float in (0, 1] or None, default=None
        Quantile of the dissimilarities that is used as ``d0``.
    xi : float >= 0, default=0.5
        Weight of the constraints. With smaller values, constraints that contradict the
        dissimilarities are violated. A penalty is added in three stages with weights 0, 0.05 and
        ``xi``.
    convention : {"scaled", "program", "paper"}, default="scaled"
        Effect of the constraints. "scaled" gives a constraint the same weight for any number of
        constraints. With ``focal_sets="auto"``, the constraints revise the result of a fit without
        constraints (see Notes). With other focal sets or a sparse matrix, they add a penalty: the
        one of "program" for as many constraints as objects, if there are fewer. "paper" and
        "program" always add a penalty, whose total weight does not depend on the number of
        constraints. The published formula ("paper") divides ``xi`` by twice the number of
        constraints. The published program gives the constraints four times this weight, so
        "program" reproduces the published results.
    sampling : {"auto", "all", "random", "landmarks"}, default="auto"
        Pairs of objects to compare; "auto": all pairs up to 1,000 objects, landmarks for more.
    n_partners : int, default=100
        Number of random partners of each object for ``sampling="random"``.
    n_landmarks : int or "auto", default="auto"
        Number of landmarks; "auto": 30 per cluster, but at least 600; with more than 50 clusters,
        15 per cluster, but at least 1,500.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have. "refuse" raises an error. "partial" needs the metric "euclidean", "sqeuclidean" or
        "gower"; it compares two objects by the features that both have, and adds the mean
        difference within clusters for each missing feature; objects with more missing values get
        less certain masses. A row that contains only NaN raises an error. ("gower" always accepts
        missing values; without "partial" it uses the mean over the features that both objects
        have.) ``docs/missing.md`` explains when to impute instead.
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, CredalPartition or array of masses
        Initial masses. "medoids" uses clusters around objects far from each other, or, with
        landmarks, more than 50 clusters and Euclidean distances, k-means with exchanges of centers
        (as in `ECM`). If several values of ``d0`` are compared, each of them has one more start,
        the most likely clusters around means. "belief-peaks" or a `BeliefPeaks` uses its clusters,
        computed without weights. A deterministic start is used once, whatever ``n_init``.
    n_init : int, default=5
        Number of starts; the result with the smallest objective is kept. Medoids that give almost
        the same partition count as one start.
    max_iter : int, default=1000
        Maximum number of sweeps over the objects.
    tol : float, default=1e-7
        Smoothed relative change of the objective at which the sweeps stop. Its value after sweep t
        is e_t = (e_{t-1} + relative change of the objective in sweep t) / 2. Starts are compared
        with the tolerance 1e-5 of the papers, and the best one is continued with ``tol``. With
        landmarks, the two tolerances are 1e-2 and 1e-5, or ``tol``, if it is larger. With more than
        50 clusters, the sweeps stop at 1e-2, and the landmarks move to their most plausible
        clusters.
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
        constraints, if there is one. With landmarks, the fitted pairs are the pairs of landmarks,
        and the value does not include the final refinement of their masses.
    history_ : ndarray
        Objective after every sweep (with a penalty, every sweep of the last stage). The last
        value belongs to the final masses. It can be larger than the previous value if objects at
        dissimilarity zero get equal masses.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    tol_ : float
        Tolerance that was used, which may be larger than ``tol``.
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
    at dissimilarity zero get the masses of one of them, whichever fit best. With a penalty
    for constraints, objects are not merged, because constraints may separate equal objects.

    In the fit, no object is compared with itself, but a new object is compared with all landmarks.
    At a distance d from its nearest landmark that is smaller than a quarter h of the distance from
    this landmark to the nearest other one, a new object gets the share 1 - d / h of the masses of
    the landmark. `predict_mass` therefore agrees with the fit and does not jump at training
    objects.

    With the default ``convention`` and ``focal_sets="auto"``, constraints act on the plausibilities
    of the clusters. The plausibility of cluster k for object i becomes the plausibility of the most
    plausible labels of all constrained objects in which i is in k: the product of the
    plausibilities of these labels and of exp(-10 ``xi``) for each violated constraint. The result
    changes as little as possible, and constraints that hold already confirm it. The constraints
    inform other objects in two ways, if this is supported by the constraints themselves:

    - Changes are extended to near objects if more constraints can be predicted from the changes
      that are due to other constraints.
    - For Euclidean distances, a second fit uses Mahalanobis distances with the covariance matrix of
      the features within the clusters. If there are more must-links than features, a third fit
      uses Mahalanobis distances learned from them. Each of them is used if it satisfies more
      constraints before any revision; the partition then names the metric among its choices.

    In both cases, the increase must exceed the standard deviation of a sign test, or twice this
    value for the metric learned from must-links.

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
        "convention": rule.choice("scaled", "program", "paper"),
        "sampling": rule.choice("auto", "all", "random", "landmarks"),
        "n_partners": rule.integer(1),
        "n_neighbor_clusters": rule.integer(1),
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
        convention: str = "scaled",
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
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or dissimilarities if ``metric="precomputed"``. Data of type float32 keep
            their precision, and the results keep the index of a DataFrame. If X is given in blocks
            (``docs/blocks.md``), landmarks are drawn from all blocks, and the masses are computed
            lazily. If X is a torch tensor (``docs/scale.md``; only with ``metric="euclidean"``),
            computations run on its device.
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
        return self.metric == "euclidean" and super()._accepts_tensors()

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(
                self.metric, symmetrize=self.symmetrize, sparse=True, fewest=2
            )
        if self._stays_on_device(X):
            values = validate_tensor(self, X, reset=reset, min_rows=2 if reset else 1)
            if reset:
                return TensorSource(values)
            return values
        if reset:
            return self._convert_training(self._input.training(self, X))
        n_references = None if sparse.issparse(X) else len(self._model.references)
        values = self._input.new(self, X, or_width=n_references)
        if self._transform is None:
            return values
        return self._transform(values)

    def _convert_training(
        self, source: DissimilaritySource | SparseSource
    ) -> DissimilaritySource | SparseSource:
        """Return the source, with ranks as dissimilarities if ``target_conflict="ordinal"``."""
        self.__dict__.pop("_transform", None)
        if self.target_conflict == "exponential":
            return source
        if not isinstance(source, MatrixSource):
            expected = (
                "'exponential' unless metric='precomputed' and X is a dense matrix"
            )
            raise InvalidParameterError(
                "target_conflict", expected, self.target_conflict
            )
        if self.target_conflict != "ordinal":
            return source
        self._transform = RankTransform.from_matrix(source.matrix)
        return MatrixSource(self._transform(source.matrix))

    def _defer_separation(self, sample: Sample[Any]) -> bool | Deferred | None:
        if isinstance(sample.values, SparseSource) or self.shape == "connected":
            return None
        if isinstance(sample.values, TensorSource):
            sample = replace(sample, values=sample.values.objects)
        return super()._defer_separation(sample)

    def _comparison_source(
        self, values: DissimilaritySource | SparseSource
    ) -> DissimilaritySource:
        if isinstance(values, SparseSource):
            expected = "an integer for a sparse matrix X"
            raise InvalidParameterError("n_clusters", expected, self.n_clusters)
        if self.shape == "connected":
            expected = (
                "an integer if shape='connected' (CredalClustering selects the number)"
            )
            raise InvalidParameterError("n_clusters", expected, self.n_clusters)
        if isinstance(values, TensorSource):
            return AttributeSource(to_host(values.objects))
        return super()._comparison_source(values)

    def _make_method(
        self, sample: Sample[DissimilaritySource | SparseSource], request: FitRequest
    ) -> EvclusMethod:
        if self.device != "cpu":
            from dempster.data.device import import_torch

            if self.metric != "euclidean":
                expected = f"'cpu' for metric={self.metric!r}"
                raise InvalidParameterError("device", expected, self.device)
            import_torch(self.device)
        if self.shape == "connected":
            if self.focal_sets != "auto":
                expected = "'auto' if shape='connected'"
                raise InvalidParameterError("focal_sets", expected, self.focal_sets)
            if self.sampling == "random" or isinstance(sample.values, SparseSource):
                expected = "'compact' for random pairs or a sparse matrix X"
                raise InvalidParameterError("shape", expected, self.shape)
            if request.constraints is not None:
                raise InvalidParameterError(
                    "constraints", must="be None if shape='connected'"
                )
        blocks = sample.blocks
        if (
            blocks is not None
            and not blocks.are_in_memory
            and self.sampling in ("all", "random")
        ):
            expected = f"'auto' or 'landmarks' for {len(blocks):,} rows in blocks"
            raise InvalidParameterError("sampling", expected, self.sampling)
        return EvclusMethod(self, sample, request)

    def _resolve_families(self, n_clusters: int) -> Families:
        """Return the families.

        "auto" includes the frame, because clusters would otherwise merge if ``d0`` is large.
        """
        if self.focal_sets == "auto":
            return Families(FocalSets.simple(n_clusters), neighbors=True)
        families = resolve_families(
            self.focal_sets, n_clusters, self.n_neighbor_clusters
        )
        check_number_of_sets(families.first)
        return families

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[EvclusMethod, Run[Any]]:
        families = self._resolve_families(request.n_clusters)
        if self.target_conflict in ("linear", "affine"):
            return self._run_linear(search, families, sample, request)
        method = self._make_method(sample, request)
        run = search.run(method, families, method.pairs.counts)
        if len(method.links) and method.revises:
            return self._adapt_metric(search, families, sample, request, method, run)
        return method, run

    def _adapt_metric(
        self,
        search: Search,
        families: Families,
        sample: Sample[Any],
        request: FitRequest,
        method: EvclusMethod,
        run: Run[Any],
    ) -> tuple[EvclusMethod, Run[Any]]:
        """Fit Mahalanobis distances, and return a fit that satisfies more constraints, if any.

        The clusters are not fitted to the constraints, which can therefore compare the metrics.
        """
        source = sample.values
        quantile = method.scale_search.scale.best.quantile
        if not (type(source) is AttributeSource and source.is_euclidean):
            return method, run
        if self.device != "cpu" or np.isnan(quantile):
            return method, run
        former, labels = method.revised_labels(run)
        before = are_satisfied(method.links, former)
        if before.all():
            return method, run
        known = np.flatnonzero(labels >= 0)
        X = source.objects
        metrics = adapted_metrics(
            X[known].astype(float), labels[known], method.links.among(known)
        )
        other = copy.copy(self)
        other.d0_quantile = quantile
        best = method, run
        n_before = before.sum()
        for matrix, least in metrics:
            adapted = AttributeSource(X, "mahalanobis", {"VI": matrix})
            second = other._make_method(replace(sample, values=adapted), request)
            second_run = search.run(second, families, second.pairs.counts)
            after = are_satisfied(method.links, second.revised_labels(second_run)[0])
            if improvement(before, after) < least:
                continue
            before = after
            best = second, second_run
            second.metric_reasons = (
                f"mahalanobis, which satisfies {after.sum()} instead of {n_before} of "
                f"{len(after)} constraints"
            )
        return best

    def _run_linear(
        self,
        search: Search,
        families: Families,
        sample: Sample[Any],
        request: FitRequest,
    ) -> tuple[EvclusMethod, Run[Any]]:
        """Fit converted dissimilarities, whose exponential transformation is linear.

        For "affine", the fit and the regression alternate.
        """
        D = sample.values.matrix
        c = request.n_clusters
        if isinstance(self.d0, str):
            quantile = float(self.d0_quantile or default_quantile(c))
            transform = LinearTransform(
                scale_at(D[np.triu_indices(len(D), 1)], quantile)
            )
        else:
            transform = LinearTransform(float(self.d0))
        plain = copy.copy(self)
        plain.d0 = 1.0
        plain.d0_quantile = None
        smallest = np.inf
        for _ in range(_MAX_AFFINE_FITS):
            converted = replace(sample, values=MatrixSource(transform(D)))
            method = plain._make_method(converted, request)
            run = search.run(method, families, method.pairs.counts)
            self._transform = transform
            if self.target_conflict == "linear":
                break
            fitted = method.pairs.fitted
            i, j = np.triu_indices(len(fitted), 1)
            masses = run.model.masses
            conflicts = (masses @ run.model.family.conflict @ masses.T)[i, j]
            transform, error = transform.fit(
                sample.values.block(fitted, fitted)[i, j], conflicts
            )
            if error > (1 - _AFFINE_TOLERANCE) * smallest:
                break
            smallest = error
            result = method.result(run)
            labels = CredalPartition.unchecked(
                result.masses, result.model.family
            ).labels
            clusters = FocalSets.simple(c, empty=False, omega=False)
            plain.init = CredalPartition(np.eye(c)[labels], clusters)
        return method, run

    def _auto_params(self, method: EvclusMethod) -> dict[str, str]:
        reasons = {}
        scale = method.scale_search.scale
        if len(scale.trials) > 1:
            reasons["d0"] = scale.reasons()
        if method.metric_reasons is not None:
            reasons["metric"] = method.metric_reasons
        return reasons

    def _fitted_attributes(
        self, method: EvclusMethod, model: EvclusModel | DoubtModel
    ) -> dict[str, Any]:
        assessment = method.assess(model, self.credal_partition_)
        d0 = method.d0
        shepard = assessment.shepard
        transform = self._transform
        if isinstance(transform, LinearTransform):
            d0 = transform.slope + transform.offset
            dissimilarity = transform.slope * shepard.delta + transform.offset
            shepard = shepard._replace(dissimilarity=dissimilarity)
        scale = method.scale_search.scale
        landmarks = np.sort(method.pairs.references)
        return {
            "d0_": d0,
            "scale_": scale if len(scale.trials) > 1 else None,
            "sampling_": method.pairs.sampling,
            "landmark_indices_": method.training.original_positions(landmarks),
            "stress_": assessment.stress,
            "loss_": assessment.loss,
            "_shepard": shepard,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
