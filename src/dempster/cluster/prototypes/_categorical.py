"""Prototypes that are the most frequent categories, and how they are found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster import _starts
from dempster.cluster._families import require_singletons
from dempster.cluster._mass_step import MassStep, carried_masses
from dempster.cluster._search import Method, Sample
from dempster.cluster.evidence import ClusterEvidence
from dempster.cluster.prototypes import _category_kernels
from dempster.cluster.prototypes._categories import different_rows, mismatches
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run, descend
from dempster.partition import CredalPartition

__all__ = ["CategoricalSettings", "CategoricalModel", "CategoricalMethod"]

_DELTA_SHARE = 0.9  # delta="auto": squared, this share of the cost of disagreeing in everything
_ZERO = 1e-9  # mismatches below this are none
_TIE = 1e-12  # relative difference below which two sums of weights are equal


@dataclass(frozen=True)
class CategoricalModel:
    """Prototypes: one category of each attribute for each cluster.

    Attributes
    ----------
    step : MassStep
        The penalties, and the family of focal sets.
    modes : (c, p) numbers of categories
    offsets : (p + 1,) numbers of the first categories of the attributes, and of all
    """

    step: MassStep
    modes: np.ndarray
    offsets: np.ndarray

    @property
    def family(self) -> FocalSets:
        return self.step.family

    def masses(self, codes: np.ndarray, apply: Apply) -> np.ndarray:
        """(n, f) masses of encoded objects."""
        out = np.zeros((len(codes), len(self.family)))
        arguments = (self._mismatches(), *self.step.kernel_arguments(), *self.step.columns(), out)
        apply(_category_kernels.write_masses, [(codes, a, b, *arguments) for a, b in row_blocks(len(codes))])
        return out

    def evidence(self, codes: np.ndarray, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the fewer attributes differ from its prototype, the more."""
        differ = (self.modes != codes[0]).astype(float)
        return ClusterEvidence.of_attributes("minus the number of attributes that differ from the center", -differ.T)

    def improved(self, codes: np.ndarray, weights: np.ndarray, apply: Apply) -> tuple[float, CategoricalModel]:
        """The objective, and the prototypes that minimise it given the masses."""
        arguments = (self._mismatches(), self._shares(), *self.step.kernel_arguments())
        blocks = row_blocks(len(codes))
        parts = apply(_category_kernels.accumulate, [(codes, weights, a, b, *arguments) for a, b in blocks])
        return float(sum(part[0] for part in parts)), self._updated(np.sum([part[1] for part in parts], axis=0))

    def from_masses(self, codes: np.ndarray, masses: np.ndarray) -> CategoricalModel:
        """The prototypes that minimise the objective for given (n, g) masses of the nonempty sets."""
        pull = masses**self.step.beta @ self._shares()
        counts = np.zeros((int(self.offsets[-1]), len(self.modes)))
        for column in codes.T:
            np.add.at(counts, column, pull)
        return self._updated(counts)

    def _mismatches(self) -> np.ndarray:
        """(categories, g) mismatch of each category with each set."""
        sets = self.step.sets
        # members are counted, then divided: a sum of fractions would not give exactly zero
        agree = np.zeros((int(self.offsets[-1]), len(sets)))
        for k, modes in enumerate(self.modes):
            agree[modes] += sets[:, k]
        return 1 - agree / sets.sum(axis=1)

    def _shares(self) -> np.ndarray:
        """(g, c) weight with which a mass on a set counts for each of its clusters."""
        sets = self.step.sets
        return sets * (sets.sum(axis=1) ** (self.step.alpha - 1))[:, None]

    def _updated(self, counts: np.ndarray) -> CategoricalModel:
        """The objective is linear in the prototypes: the best is the category with the largest sum of weights.

        Of equal ones the present category is kept, or else the first taken.
        """
        modes = self.modes.copy()
        for d in range(modes.shape[1]):
            segment = counts[self.offsets[d] : self.offsets[d + 1]]
            best = segment.max(axis=0)
            first = (segment >= best * (1 - _TIE)).argmax(axis=0) + self.offsets[d]
            present = counts[modes[:, d], np.arange(len(modes))]
            modes[:, d] = np.where(present >= best * (1 - _TIE), modes[:, d], first)
        return replace(self, modes=modes)


@dataclass(frozen=True)
class CategoricalSettings:
    """What a user may set. ``delta`` is None if it follows from the data; ``init`` is the name of a way to draw
    starts, or the encoded prototypes or the partition to start from."""

    n_clusters: int
    alpha: float
    beta: float
    delta: float | None
    init: str | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    tol: float


class CategoricalMethod(Method[CategoricalModel, CategoricalModel]):
    """Categorical evidential c-means, on the different objects with their weights.

    Parameters
    ----------
    settings : CategoricalSettings
    sample : Sample
        Encoded objects.
    offsets : (p + 1,) array
        Where the categories of each attribute begin.
    family : FocalSets
        The first to be fitted, from which an automatic ``delta`` follows; pairs that are read off bring their own.
    rng, apply
    """

    def __init__(
        self,
        settings: CategoricalSettings,
        sample: Sample[np.ndarray],
        offsets: np.ndarray,
        family: FocalSets,
        rng: np.random.RandomState,
        apply: Apply,
    ):
        self.settings, self.offsets, self.rng, self.apply = settings, offsets, rng, apply
        # the same for all orders and repetitions of the rows
        self.codes, self.inverse = different_rows(sample.values, offsets)
        self.weights = np.bincount(self.inverse, sample.weights, minlength=len(self.codes)).astype(float)
        self.present = self.weights > 0
        if self.present.sum() < settings.n_clusters:
            raise _starts.too_few(settings.n_clusters, int(self.present.sum()), sample.weights)
        self.sample, self.sample_weights = self._drawn_sample()
        self.delta = self._outlier_distance(family)

    def _drawn_sample(self) -> tuple[np.ndarray, np.ndarray]:
        """The different objects on which starts compete, with weights."""
        codes, weights = self.codes[self.present], self.weights[self.present]
        if len(codes) <= _starts.SAMPLE_SIZE:
            return codes, weights
        drawn, count = np.unique(_starts.systematic_draw(weights, _starts.SAMPLE_SIZE, self.rng), return_counts=True)
        return codes[drawn], count.astype(float)

    def _outlier_distance(self, family: FocalSets) -> float:
        """delta: what was given, or from how cheap the cheapest set of the family is for an object like no other."""
        if self.settings.delta is not None:
            return self.settings.delta
        varying = int(np.ptp(self.codes[self.present], axis=0).astype(bool).sum())
        size = np.maximum(family.cardinality, 1).astype(float)
        return float(np.sqrt(_DELTA_SHARE * varying * (size**self.settings.alpha).min())) or 1.0

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> CategoricalModel | None:
        init = self.settings.init
        if isinstance(init, str):
            return None
        if not isinstance(init, CredalPartition):
            return self._model(family, init)
        c = self.settings.n_clusters
        _starts.check_partition(init, len(self.inverse), c)
        blank = self._model(family, np.tile(self.offsets[:-1], (c, 1)))
        return blank.from_masses(self.codes[self.inverse], carried_masses(init.masses, init.focal_sets, family))

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[CategoricalModel], int]:
        seeds = self.rng.randint(np.iinfo(np.int32).max, size=self.settings.n_init)
        return (self._model(family, self._drawn(np.random.RandomState(seed))) for seed in seeds), len(seeds)

    def _drawn(self, rng: np.random.RandomState) -> np.ndarray:
        """Different objects as prototypes, far from each other or just so."""
        codes, weights, c = self.sample, self.sample_weights, self.settings.n_clusters
        if self.settings.init == "random":
            return codes[rng.choice(len(codes), c, replace=False, p=weights / weights.sum())]

        def distances(which: Iterable[int]) -> np.ndarray:
            return np.stack([mismatches(codes, codes[k]) for k in which])

        return codes[_starts.far_objects(distances, weights, np.arange(len(codes)), c, rng)]

    def _model(self, family: FocalSets, modes: np.ndarray) -> CategoricalModel:
        require_singletons(family)
        step = MassStep(family, self.settings.alpha, self.settings.beta, self.delta**2, _ZERO)
        return CategoricalModel(step, modes, self.offsets)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def compete(self, start: CategoricalModel) -> Run[CategoricalModel]:
        return self._run(start, self.sample, self.sample_weights)

    def completed(self, best: Run[CategoricalModel]) -> Run[CategoricalModel]:
        return best if _starts.holds_all(self.sample, self.codes, self.weights) else self.descend(best.model)

    def descend(self, start: CategoricalModel) -> Run[CategoricalModel]:
        return self._run(start, self.codes, self.weights)

    def extended(self, run: Run[CategoricalModel], family: FocalSets) -> Run[CategoricalModel]:
        return self.descend(self._model(family, run.model.modes))

    def with_neighbors(self, run: Run[CategoricalModel]) -> Run[CategoricalModel]:
        """Mismatches are squared distances: those of the indicators of the categories."""
        modes = run.model.modes
        apart = np.stack([mismatches(modes, mode) for mode in modes])
        family = FocalSets.neighbors(squared_distances=apart)
        self.delta = self._outlier_distance(family)
        return Run(self._model(family, modes), run.history, run.converged)

    def _run(self, start: CategoricalModel, codes: np.ndarray, weights: np.ndarray) -> Run[CategoricalModel]:
        def step(model: CategoricalModel) -> tuple[float, CategoricalModel]:
            return model.improved(codes, weights, self.apply)

        return descend(step, start, max_iter=self.settings.max_iter, tol=self.settings.tol)

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[CategoricalModel]) -> CredalPartition:
        return CredalPartition.unchecked(self._masses(run.model), run.model.family)

    def result(self, run: Run[CategoricalModel]) -> tuple[CategoricalModel, np.ndarray]:
        return run.model, self._masses(run.model)

    def _masses(self, model: CategoricalModel) -> np.ndarray:
        return model.masses(self.codes, self.apply)[self.inverse]
