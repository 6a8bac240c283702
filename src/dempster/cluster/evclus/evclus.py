"""EVCLUS and its relatives: k-EVCLUS, CEVCLUS, k-CEVCLUS, and EVCLUS by landmarks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from dempster import _validation as rule
from dempster._arrays import Array, same_place, to_host
from dempster._errors import InvalidInputError
from dempster._random import generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster._validation import tensor_attributes
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, Task
from dempster.cluster._families import Families
from dempster.cluster._mass_step import carried_partition
from dempster.cluster._medoid_starts import masses_from_medoids, masses_of_labels, medoid_starts, random_masses
from dempster.cluster._search import Method, Sample
from dempster.cluster._starts import checked_masses_start
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks, peaks_of_source
from dempster.cluster.evclus._model import DoubtModel, EvclusModel, neighbors_of_pairs
from dempster.cluster.evclus._pairs import (
    ALL_PAIRS_UP_TO,
    AllPairs,
    EvclusSettings,
    FittedPairs,
    Links,
    distinct_objects,
    link_form,
    twins_at_zero,
    wanted_terms,
)
from dempster.cluster.evclus._scale import Scale, ScaleOnLandmarks, ScaleTrial, StartsOfTrials
from dempster.cluster.evclus.shepard import Assessment, ShepardMixin, assess
from dempster.constraints import Constraints
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sampling import choose_landmarks, pairs_of_sparse
from dempster.dissimilarity.sources import DissimilaritySource, MatrixSource, SparseSource, TensorSource
from dempster.dissimilarity.transform import to_conflict
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, as_likely
from dempster.optimize.projection import projection_hessian, settle_links
from dempster.partition import CredalPartition

__all__ = ["link_factor", "EvclusStart", "ObjectMasses", "EvclusMethod", "EVCLUS"]


def link_factor(convention: str) -> float:
    """Weight of the constraints in units of the published formula: the published program gives them four times as
    much."""
    return 4.0 if convention == "program" else 1.0


@dataclass(frozen=True)
class ObjectMasses:
    """Masses of the objects that are fitted.

    Attributes
    ----------
    family : FocalSets
    masses : (m, f) array
        As the descent left them.
    equalized : (m, f) array or None
        The same at the very end, where objects at dissimilarity zero in a matrix have got equal ones.
    doubtful : bool
        Whether doubt between neighboring clusters is to be read off.
    scale : int
        Which of the scales that compete they were found at.
    """

    family: FocalSets
    masses: np.ndarray
    equalized: np.ndarray | None = None
    doubtful: bool = False
    scale: int = 0


class EvclusStart(NamedTuple):
    """Masses of the objects that are fitted, what the order of the sweeps is drawn from, and at which of the scales."""

    masses: np.ndarray
    family: FocalSets
    rng: np.random.Generator
    scale: int = 0


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


_MOST_SETS = 256  # of which 40 objects take a minute


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
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.
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
    _takes_blocks = True
    _weighs_blocks = True
    _attributes_in_rows = ("landmark_indices_",)

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

    def _fewest_drawn(self) -> int:
        return 0 if isinstance(self.n_landmarks, str) else int(self.n_landmarks)

    @property
    def _takes_tensors(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == "euclidean"

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(self.metric, symmetrize=self.symmetrize, sparse=True, fewest=2)
        if self._follows(X):
            values = tensor_attributes(self, X, reset=reset, fewest=2 if reset else 1)
            return TensorSource(values) if reset else values
        if reset:
            return self._input.training(self, X)
        few = None if sparse.issparse(X) else len(self._model.references)
        return self._input.new(self, X, or_width=few)

    def _compared(self, values: DissimilaritySource | SparseSource) -> DissimilaritySource:
        if isinstance(values, SparseSource):
            raise InvalidInputError("n_clusters='auto' needs all dissimilarities, but X is a sparse matrix of some")
        return values.in_memory() if isinstance(values, TensorSource) else values

    def _method(self, sample: Sample[DissimilaritySource | SparseSource], task: Task) -> EvclusMethod:
        self._check_device()
        if sample.everyone is not None and not sample.everyone.are_drawn and self.sampling in ("all", "random"):
            raise InvalidInputError(
                f"sampling must be 'auto' or 'landmarks' for {len(sample.everyone):,} objects in blocks, got "
                f"{self.sampling!r}"
            )
        c = task.n_clusters
        peaks = peaks_of_source(self.init, sample.values, c, self.random_state, self.n_jobs)
        settings = EvclusSettings(
            n_clusters=c,
            d0=None if isinstance(self.d0, str) else float(self.d0),
            d0_quantile=None if self.d0_quantile is None else float(self.d0_quantile),
            sampling=self.sampling,
            n_partners=self.n_partners,
            n_landmarks=None if self.n_landmarks == "auto" else int(self.n_landmarks),
            symmetrize=bool(self.symmetrize),
            xi=self.xi,
            link_factor=link_factor(self.convention),
            init=self._given_start(c),
            labels=None if peaks is None else peaks.labels_,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            device=self.device,
        )
        return EvclusMethod(settings, sample, task.constraints, generator(self.random_state), task.apply)

    def _given_start(self, n_clusters: int) -> str | CredalPartition | ArrayLike:
        """``init``; with "auto", which finds single clusters first, doubt in a partition counts for its clusters."""
        init = self.init
        if self.focal_sets != "auto" or not isinstance(init, CredalPartition) or init.n_clusters != n_clusters:
            return init
        return carried_partition(init, self._families(n_clusters).first)

    def _families(self, n_clusters: int) -> Families:
        """With "auto" the frame is there too: at a large scale objects between clusters would draw these together."""
        if self.focal_sets == "auto":
            return Families(FocalSets.simple(n_clusters), neighbors=True)
        families = super()._families(n_clusters)
        if len(families.first) > _MOST_SETS:
            raise InvalidInputError(
                f"focal_sets must hold at most {_MOST_SETS} sets, got {len(families.first):,}: every sweep solves a "
                "quadratic program of as many unknowns for each object; take 'simple', 'pairs' or 'selected'"
            )
        return families

    def _check_device(self) -> None:
        if self.device == "cpu":
            return
        from dempster.data.device import torch_on

        if self.metric != "euclidean":
            raise InvalidInputError(f"device={self.device!r} works with metric='euclidean' only")
        torch_on(self.device)

    def _choices(self, method: EvclusMethod) -> dict[str, str]:
        chosen = super()._choices(method)
        return chosen if method.scale is None else {**chosen, "d0": method.scale.reasons()}

    def _attributes(self, method: EvclusMethod, model: EvclusModel | DoubtModel) -> dict[str, Any]:
        found = method.assess(model, self.credal_partition_.masses)
        return {
            "d0_": model.d0,
            "scale_": method.scale,
            "sampling_": method.pairs.sampling,
            "landmark_indices_": np.sort(model.references.positions),
            "stress_": found.stress,
            "loss_": found.loss,
            "_shepard": found.shepard,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
