"""How EVCLUS descends: from which starts, in which stages, and what is done for the objects that were not fitted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dempster._arrays import Array, same_place, to_host
from dempster._errors import InvalidInputError
from dempster.belief import FocalSets
from dempster.cluster._medoid_starts import masses_from_medoids, masses_of_labels, medoid_starts, random_masses
from dempster.cluster._search import Method, Sample
from dempster.cluster._starts import checked_masses_start
from dempster.cluster.evclus._conflict_problems import AllPairs, Links, link_form
from dempster.cluster.evclus._distinct import distinct_objects
from dempster.cluster.evclus._doubt_model import DoubtModel, neighbors_of_pairs
from dempster.cluster.evclus._fitted_pairs import ALL_PAIRS_UP_TO, FittedPairs
from dempster.cluster.evclus._model import EvclusModel
from dempster.cluster.evclus._scale import Scale, ScaleTrial
from dempster.cluster.evclus._scale_on_landmarks import ScaleOnLandmarks, StartsOfTrials
from dempster.cluster.evclus._settings import EvclusSettings
from dempster.cluster.evclus._states import EvclusStart, ObjectMasses
from dempster.cluster.evclus._wanted_conflicts import twins_at_zero, wanted_terms
from dempster.cluster.evclus.shepard import Assessment, assess
from dempster.constraints import Constraints
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sampling import choose_landmarks, pairs_of_sparse
from dempster.dissimilarity.sources import DissimilaritySource, MatrixSource, SparseSource, TensorSource
from dempster.dissimilarity.transform import to_conflict
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, as_likely
from dempster.optimize.projection import projection_hessian, settle_links
from dempster.partition import CredalPartition

__all__ = ["EvclusMethod"]

_REFINE_ON = 2000  # objects that the landmarks are fitted to a second time
_LANDMARK_TOLERANCE = 1e-5  # finer than what landmarks say about the other objects
_FIRST_TOLERANCE, _FIRST_TOLERANCE_OF_LANDMARKS = 1e-5, 1e-2  # at which starts compete; the first is the papers'
_STARTS_AT_EACH, _STARTS_OF_TRIALS = 0.4, 0.2  # of n_init, at each of the scales that compete
_FIRST_XI = 0.05  # second of the three stages of the constraints
_SETTLING = 50, 1e-6  # sweeps over objects that are linked but not fitted, and the change of a mass that ends them


class EvclusMethod(Method[EvclusStart, ObjectMasses]):
    """EVCLUS on one sample of objects."""

    starts_in_threads = True

    def __init__(
        self,
        settings: EvclusSettings,
        sample: Sample[DissimilaritySource | SparseSource],
        constraints: Constraints | None,
        rng: np.random.Generator,
        apply: Apply,
    ):
        self.settings, self.objects, self.rng, self.apply = settings, sample.values, rng, apply
        self.n = len(sample.values)
        self.links = Links.of(constraints if settings.xi > 0 else None, self.n)
        # constraints may tell equal objects apart
        self.distinct = distinct_objects(sample, merge=len(self.links) == 0, device=settings.device)
        self.pairs = FittedPairs(settings, sample.values, self.distinct, self.links, rng)
        self.fitted_links = self.links.among(self.pairs.fitted)
        coarse = self.pairs.sampling == "landmarks"
        self.tol = max(settings.tol, _LANDMARK_TOLERANCE) if coarse else settings.tol
        self.first_tol = max(self.tol, _FIRST_TOLERANCE_OF_LANDMARKS if coarse else _FIRST_TOLERANCE)
        self.scale: Scale | None = None  # how d0 was found, if it was
        self._found: np.ndarray | None = None  # where a trial of the scales has led

    @property
    def d0(self) -> float:
        return self.pairs.d0

    def assess(self, model: EvclusModel | DoubtModel, masses: Array) -> Assessment:
        """How well the conflicts of all objects match their dissimilarities; if doubt was read off, those of the
        references before that."""
        if isinstance(model, DoubtModel):
            fit = model.fit
            compared = self.pairs.pairs_to_assess(fit.references.positions).among(fit.references.positions)
            return assess(fit.reference_masses, fit.family, compared, self.d0, self.rng)
        compared = self.pairs.pairs_to_assess()
        if isinstance(masses, np.ndarray):
            return assess(masses, model.family, compared, self.d0, self.rng)
        who = np.unique(np.concatenate([compared.i, compared.j]))
        some = to_host(masses[same_place(who, masses)])
        return assess(some, model.family, compared.among(who), self.d0, self.rng)

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> EvclusStart | None:
        """What was asked for; where scales compete, it does so at each of them."""
        if self._competing and self._are_landmarks:
            self._settle_scale(family)
        return None if self._competing or self._found is not None else self._given(family)

    def _given(self, family: FocalSets) -> EvclusStart | None:
        init, labels, scale = self.settings.init, self.settings.labels, self.pairs.settled
        if labels is not None:
            return EvclusStart(masses_of_labels(labels[self.pairs.fitted], family), family, self.rng, scale)
        return None if isinstance(init, str) else EvclusStart(self._given_masses(init, family), family, self.rng, scale)

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[EvclusStart], int]:
        given, pairs = self._given(family), self.pairs
        at = range(len(pairs.scales)) if self._competing else [pairs.settled]
        found = self.scale is not None
        few = (
            max(1, round(_STARTS_AT_EACH * self.settings.n_init)) if self._competing or found else self.settings.n_init
        )
        masses = [self._drawn_masses(family, k, few) if given is None else [given.masses] for k in at]
        if self._found is not None:
            masses[0].append(self._found)
        starts = [(start, k) for k, drawn in zip(at, masses, strict=True) for start in drawn]
        seeds = self.rng.integers(0, 2**63, len(starts))
        each = zip(starts, seeds, strict=True)
        return [EvclusStart(start, family, np.random.default_rng(seed), k) for (start, k), seed in each], len(starts)

    @property
    def _competing(self) -> bool:
        """Whether scales are still to be chosen from, by the starts themselves."""
        return len(self.pairs.scales) > 1 and self.scale is None

    def _settle_scale(self, family: FocalSets) -> None:
        """Find the scale on some of the landmarks; what was found there competes with other starts at this scale."""
        pairs, settings, given = self.pairs, self.settings, self._given(family)
        few = max(1, round(_STARTS_OF_TRIALS * settings.n_init))
        starts = StartsOfTrials(settings.init == "random", few, None if given is None else given.masses)
        trial = ScaleOnLandmarks.of(pairs, starts, settings.max_iter, self.first_tol)
        self.scale, labels = trial.found(pairs.scales, family, self.rng, self.apply)
        pairs.settle(self.scale.trials.index(self.scale.best))
        if given is None:
            self._found = masses_of_labels(trial.spread(labels, pairs.problem), family)

    def _given_masses(self, init: Any, family: FocalSets) -> np.ndarray:
        given = checked_masses_start(init, self.n, family)
        if np.any(given.masses[:, family.find(given.focal_sets.membership) < 0] > 0):
            raise InvalidInputError("init has masses on sets that focal_sets lacks")
        return np.ascontiguousarray(given.on(family).masses[self.pairs.fitted], dtype=float)

    def _drawn_masses(self, family: FocalSets, scale: int, n_init: int) -> list[np.ndarray]:
        s, m, problem = self.settings, len(self.pairs.fitted), self.pairs.problem_at(scale)
        if s.init == "random" or self.pairs.stored is not None:
            return [random_masses(m, family, self.rng) for _ in range(n_init)]
        if isinstance(problem, AllPairs):
            return masses_from_medoids(problem.delta, family, n_init, self.rng, self.pairs.counts)
        places = choose_landmarks(m, ALL_PAIRS_UP_TO, self.rng)
        some, counts = self.pairs.fitted[places], self.pairs.counts
        delta = to_conflict(self.pairs.source.block(some, some), self.pairs.scales[scale].d0)
        sets = medoid_starts(delta, s.n_clusters, n_init, self.rng, None if counts is None else counts[places])
        return [masses_of_labels(self._nearest(some[medoids]), family) for medoids in sets]

    def _nearest(self, medoids: np.ndarray) -> np.ndarray:
        """Number of the nearest medoid, for every object that is fitted."""
        fitted, source = self.pairs.fitted, self.pairs.source
        blocks = row_blocks(len(fitted), most=None)
        return np.concatenate([source.block(fitted[a:b], medoids).argmin(axis=1) for a, b in blocks])

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: EvclusStart) -> Run[ObjectMasses]:
        return self._swept(start, [], self.first_tol)

    def chosen(self, runs: Iterable[Run[ObjectMasses]], tol: float) -> Run[ObjectMasses]:
        """Of the starts at one scale that of smallest objective; of the scales the one whose clusters explain the data
        best: objectives at different scales cannot be compared."""
        pairs = self.pairs
        everyone = list(runs)
        if self._found is not None:  # the last start: it must not be lost to clusters that explain less
            two = super().chosen(everyone[:-1], tol), everyone[-1]
            return two[as_likely([pairs.likelihood(self.partition(run).labels) for run in two])[0]]
        if not self._competing:
            return super().chosen(everyone, tol)
        best, trials = [], []
        for k in sorted({run.model.scale for run in everyone}):
            best.append(super().chosen([run for run in everyone if run.model.scale == k], tol))
            likelihood = pairs.likelihood(self.partition(best[-1]).labels)
            trials.append(ScaleTrial(pairs.scales[k].quantile, pairs.scales[k].d0, likelihood))
        self.scale = Scale(tuple(trials))
        run = best[trials.index(self.scale.best)]
        pairs.settle(run.model.scale)
        return run

    def completed(self, best: Run[ObjectMasses]) -> Run[ObjectMasses]:
        return self._constrained(self._swept(self._going_on(best.model), best.history, self.tol))

    def descend(self, start: EvclusStart) -> Run[ObjectMasses]:
        return self._constrained(self._swept(start, [], self.tol))

    def extended(self, run: Run[ObjectMasses], family: FocalSets) -> Run[ObjectMasses]:
        padded = EvclusStart(np.asarray(self.partition(run).on(family).masses), family, self.rng, run.model.scale)
        return self._swept(padded, run.history, self.tol, (self._stages or [0.0])[-1])

    def _constrained(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Let the constraints in, in two further stages (Li, Li and Denoeux, 2018, section 3.2)."""
        for xi in self._stages:
            run = self._swept(self._going_on(run.model), [], self.tol, xi)
        return run

    def _swept(self, start: EvclusStart, before: list[float], tol: float, xi: float = 0.0) -> Run[ObjectMasses]:
        """Go on from a start; ``before`` is the history so far."""
        left = self.settings.max_iter - len(before)
        if left <= 0:
            return Run(ObjectMasses(start.family, start.masses, scale=start.scale), list(before), False)
        order = start.rng.permutation(len(start.masses))
        problem = self.pairs.problem_at(start.scale)
        masses, trace, converged = problem.descend(start.masses, start.family, order, left, tol, self.fitted_links, xi)
        return Run(ObjectMasses(start.family, masses, scale=start.scale), list(before) + trace.tolist(), converged)

    def _going_on(self, found: ObjectMasses) -> EvclusStart:
        return EvclusStart(found.masses, found.family, self.rng, found.scale)

    @property
    def _stages(self) -> list[float]:
        """Weights of the constraints in the stages after the first."""
        if len(self.fitted_links) == 0:
            return []
        share = self._link_share * len(self.fitted_links) / len(self.links)
        xi = self.settings.xi
        return [share * _FIRST_XI, share * xi] if xi > _FIRST_XI else [share * xi]

    @property
    def _link_share(self) -> float:
        """Landmarks stand for all objects: their constraints weigh against as many more pairs."""
        return self.settings.link_factor * (len(self.distinct.positions) / len(self.pairs.fitted))

    # ---- the end --------------------------------------------------------------------------------------------------

    def finished(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """Landmarks are refined; objects at dissimilarity zero in a matrix get equal masses, unless there are
        constraints, which may tell them apart. The objective is that of the masses then."""
        if len(self.links):
            return run
        if self._are_landmarks:
            return Run(self._refined(run.model), run.history, run.converged)
        if not isinstance(self.objects, MatrixSource):
            return run
        equalized = self._equalized(self.objects, run.model)
        if np.array_equal(equalized, run.model.masses):
            return run
        objective = self.pairs.problem.stress(equalized, run.model.family)
        return Run(replace(run.model, equalized=equalized), [*run.history[:-1], objective], run.converged)

    def with_neighbors(self, run: Run[ObjectMasses]) -> Run[ObjectMasses]:
        """A sparse matrix, which lacks most dissimilarities, is fitted again with the pairs of neighbors."""
        if self.pairs.stored is None:
            return Run(replace(run.model, doubtful=True), run.history, run.converged)
        pairs, _, d = self.pairs.stored
        labels = np.full(self.n, -1)
        labels[self.pairs.fitted] = self.partition(run).labels
        family = neighbors_of_pairs(labels[pairs[:, 0]], labels[pairs[:, 1]], d, self.settings.n_clusters)
        return self.extended(run, family)

    @property
    def _are_landmarks(self) -> bool:
        """Whether the objects that are fitted stand for others."""
        return len(self.pairs.fitted) < len(self.distinct.positions)

    def _refined(self, found: ObjectMasses) -> ObjectMasses:
        """Fit the landmarks once more, to a larger sample projected on them: it makes up for their small number. The
        processor does this, so that landmarks and families are the same on every device."""
        model = replace(self._model(found), device="cpu")
        sample, counts = self.pairs.drawn_objects(_REFINE_ON)
        masses = model.projected(self._values(sample), self.apply).astype(float)
        references = References.of(self.pairs.source, sample)
        wider = replace(model, references=references, reference_masses=masses, counts=counts)
        refined = wider.projected(self._values(self.pairs.fitted), self.apply, coincide=False)
        return replace(found, masses=refined.astype(float))

    def _equalized(self, matrix: MatrixSource, found: ObjectMasses) -> np.ndarray:
        """As new objects get their masses: one at dissimilarity zero from some gets the masses among theirs that suit
        it best."""
        fitted, conflict = self.pairs.fitted, found.family.conflict
        blocks = [fitted[a:b] for a, b in row_blocks(len(fitted), 1024, most=None)]
        twins = [twins_at_zero(matrix.block(rows, fitted), self.d0, found.masses, conflict) for rows in blocks]
        return found.masses[np.concatenate(twins)]

    def partition(self, run: Run[ObjectMasses]) -> CredalPartition:
        """The objects that are fitted (landmarks stand for all of them)."""
        return CredalPartition.unchecked(run.model.masses, run.model.family)

    def partition_weights(self, weights: np.ndarray | None) -> np.ndarray | None:
        return self.pairs.counts

    # ---- everybody ------------------------------------------------------------------------------------------------

    def result(self, run: Run[ObjectMasses]) -> tuple[EvclusModel | DoubtModel, Array]:
        model, found = self._model(run.model), run.model
        if found.doubtful and len(self.links) == 0:
            return self._doubtful_result(model)
        masses = self._masses_of_all(model, found)
        if len(self.links):
            masses = to_host(masses)
            masses[self.pairs.fitted] = found.masses
            self._settle(masses, model)
        return self._doubtful_result(model, masses) if found.doubtful else (model, masses)

    def _doubtful_result(self, fit: EvclusModel, constrained: np.ndarray | None = None) -> tuple[DoubtModel, Array]:
        """Linked objects keep the masses that their constraints gave them: those of the fit, ``constrained``."""
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

    def _model(self, found: ObjectMasses) -> EvclusModel:
        pairs = self.pairs
        return EvclusModel(
            family=found.family,
            references=self._references,
            reference_masses=found.masses[pairs.chosen],
            counts=None if pairs.counts is None else pairs.counts[pairs.chosen],
            d0=self.d0,
            device=self.settings.device,
            dtype=self.objects.dtype,
        )

    @cached_property
    def _references(self) -> References:
        positions = self.pairs.references
        if isinstance(self.objects, SparseSource):
            return References(positions, self.n, None)
        return References.of(self.objects, positions)

    def _masses_of_all(self, model: EvclusModel, found: ObjectMasses) -> Array:
        """(n, f) masses: with landmarks all objects, else those of weight zero are compared with the references as new
        objects are; equal objects share theirs."""
        if self._are_landmarks:
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
        """Some of the objects as a model takes them; all of them where they are, some in memory."""
        if isinstance(self.objects, SparseSource):
            pairs, _, d = pairs_of_sparse(self.objects.stored, symmetrize=self.settings.symmetrize)
            i, j = np.concatenate([pairs, pairs[:, ::-1]]).T
            return sparse.csr_matrix((np.tile(d, 2), (i, j)), shape=(self.n, self.n))[which]
        if isinstance(self.objects, TensorSource) and not isinstance(which, slice):
            return self.objects.rows(which)
        values = self.objects.matrix if self.objects.objects is None else self.objects.objects
        assert values is not None
        return values[which]

    def _settle(self, masses: np.ndarray, model: EvclusModel) -> None:
        """Constraints of objects that were not fitted: of weight zero, or more than there may be landmarks."""
        order = self.distinct.order
        outside = order[np.isin(order, self.links.objects) & ~np.isin(order, self.pairs.fitted)]
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
        weight = self.pairs.problem.total * self._link_share * self.settings.xi / (2 * len(self.links))
        everyone = masses.astype(float)
        settle_links(
            H, linear, outside, everyone, self.links.indptr, self.links.indices, weight * self.links.signs,
            link_form(model.family), *_SETTLING,
        )  # fmt: skip
        masses[outside] = everyone[outside]
