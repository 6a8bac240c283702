"""How EK-NNclus searches: a graph of neighbours, labels to start from, sweeps until nobody moves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from dempster._errors import InvalidInputError
from dempster._reading import as_labels
from dempster._types import ArrayLike
from dempster.belief import FocalSets
from dempster.cluster._search import MassModel, Method, Sample
from dempster.cluster.neighbors._graph import Evidence, Graph, nearest_stored, neighbors_of_all, renumbered
from dempster.cluster.neighbors._model import NeighborModel, on_family, references_of, twins_of
from dempster.dissimilarity.neighbors import ExactFinder, finder
from dempster.dissimilarity.reference_neighbors import ReferenceFinder
from dempster.dissimilarity.references import References
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

__all__ = ["NeighborSettings", "NeighborMethod", "SampledNeighborMethod", "neighbor_method"]

_PER_ROOT = 2.5  # neighbours per square root of the number of objects (the authors advise two to three)
_MOST_NEIGHBORS = 400
_DISTINCT_UP_TO = 1_000  # objects that start in a cluster each; beyond, in a tenth as many clusters
_SAMPLE_FROM, _SAMPLE_SIZE = 20_000, 5_000
_MOST_NEIGHBORS_AFTER_SAMPLE = 50  # the sample has found the clusters; what remains is local
_LARGEST_PARTITION = 2**31  # cells of the table of masses: 17 GB


@dataclass(frozen=True)
class NeighborSettings:
    """What a user may set. ``n_neighbors`` is None if it follows from the number of objects; ``init`` is the name of a
    start, a number of random clusters, or the labels or the partition to start from."""

    n_neighbors: int | None
    q: float
    power: float
    graph: str
    neighbors: str
    init: str | int | ArrayLike | CredalPartition
    n_init: int
    max_iter: int
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class LabelStart:
    """Labels to start from, and the chance that orders the visits."""

    labels: np.ndarray
    rng: np.random.Generator


@dataclass(frozen=True, eq=False)
class FoundLabels:
    """Labels 0..c-1 at the end of a search; number of clusters and objective of every search that competed."""

    labels: np.ndarray
    searches: tuple[tuple[int, float], ...]


def neighbor_method(
    settings: NeighborSettings,
    sample: Sample[DissimilaritySource | SparseSource],
    rng: np.random.Generator,
    apply: Apply,
) -> NeighborMethod:
    """The method with the start that is asked for, or that suits the number of objects."""
    source, init = sample.values, settings.init
    has_objects = isinstance(source, DissimilaritySource) and source.objects is not None
    if isinstance(init, str) and init == "auto":
        init = "distinct" if len(source) <= _DISTINCT_UP_TO else max(2, len(source) // 10)
        if has_objects and len(source) > _SAMPLE_FROM:
            init = "sample"
    if isinstance(init, str) and init == "sample":
        if not has_objects:
            raise InvalidInputError("init='sample' needs attributes, not precomputed dissimilarities")
        return SampledNeighborMethod(settings, sample, rng, apply)
    return NeighborMethod(replace(settings, init=init), sample, rng, apply)


class NeighborMethod(Method[LabelStart, FoundLabels]):
    """The graph of one fit, and the searches on it."""

    starts_in_threads = True

    def __init__(
        self,
        settings: NeighborSettings,
        sample: Sample[DissimilaritySource | SparseSource],
        rng: np.random.Generator,
        apply: Apply,
    ):
        self.settings, self.source, self.rng, self.apply = settings, sample.values, rng, apply
        if isinstance(self.source, SparseSource):
            self.source = SparseSource(sparse.csr_matrix(self.source.stored))
        self.n = len(self.source)
        self.n_neighbors = self._number_of_neighbors()
        seed = int(rng.integers(2**31))  # drawn whatever the data, so that the searches have the same chances
        self.with_twins: np.ndarray | None = None  # objects that may have equal ones, if that is known
        neighbors, order = self._neighbors(seed)
        self.evidence = Evidence.learnt(neighbors, settings.q, settings.power)
        self.graph = Graph.of(self.evidence.of(neighbors, apply), settings.graph, apply, order)

    def _number_of_neighbors(self) -> int:
        wanted = self.settings.n_neighbors
        if wanted is None:
            return self._automatic_number_of_neighbors()
        if wanted >= self.n:
            raise InvalidInputError(f"n_neighbors must be below the number of objects, {self.n}, got {wanted}")
        return int(wanted)

    def _automatic_number_of_neighbors(self) -> int:
        if isinstance(self.source, SparseSource):
            return int(np.diff(self.source.stored.indptr).max())
        return max(1, min(int(np.ceil(_PER_ROOT * np.sqrt(self.n))), _MOST_NEIGHBORS, self.n - 1))

    def _neighbors(self, seed: int) -> tuple[sparse.csr_matrix, np.ndarray | None]:
        """(n, n) distances of every object to its neighbours; an order in which near objects stand together."""
        if isinstance(self.source, SparseSource):
            stored = nearest_stored(self.source.stored, self.settings.n_neighbors, drop_diagonal=True)
            if stored.nnz == 0:
                raise InvalidInputError("X must hold dissimilarities between different objects, got none")
            return stored, None
        find = finder(self.source, self.settings.neighbors, seed, self.settings.n_jobs)
        nearest = neighbors_of_all(find, self.n, self.n_neighbors)
        if not isinstance(find, ExactFinder):
            return nearest, None
        if find.has_tree:  # equal objects are at no distance from each other, to the last bit
            self.with_twins = np.flatnonzero(nearest.data[nearest.indptr[:-1]] == 0)
        return nearest, find.order

    # ---- starts ---------------------------------------------------------------------------------------------------

    def given_start(self, family: FocalSets) -> LabelStart | None:
        init = self.settings.init
        return None if isinstance(init, str | int | np.integer) else LabelStart(self._given_labels(init), self.rng)

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[LabelStart], int]:
        seeds = self.rng.integers(2**63, size=self.settings.n_init)
        return (self._drawn(np.random.default_rng(seed)) for seed in seeds), len(seeds)

    def _drawn(self, rng: np.random.Generator) -> LabelStart:
        init = self.settings.init
        return LabelStart(np.arange(self.n) if isinstance(init, str) else rng.integers(init, size=self.n), rng)

    def _given_labels(self, init: ArrayLike | CredalPartition) -> np.ndarray:
        labels = init.labels if isinstance(init, CredalPartition) else as_labels(init, "init")
        if len(labels) != self.n:
            raise InvalidInputError(f"init must hold {self.n} labels, one for each object, got {len(labels)}")
        return renumbered(labels)

    # ---- runs -----------------------------------------------------------------------------------------------------

    def descend(self, start: LabelStart) -> Run[FoundLabels]:
        labels, agreement, converged = self.graph.search(start.labels, start.rng, self.settings.max_iter)
        history = [-value for value in agreement]
        return Run(FoundLabels(labels, ((int(labels.max()) + 1, history[-1]),)), history, converged)

    def chosen(self, runs: Iterable[Run[FoundLabels]], tol: float) -> Run[FoundLabels]:
        """Because the objective favours few clusters, it compares results with the same number of them only."""
        runs = list(runs)
        searches = tuple(search for run in runs for search in run.model.searches)
        best = runs[preferred(searches)]
        return replace(best, model=replace(best.model, searches=searches))

    # ---- results --------------------------------------------------------------------------------------------------

    def partition(self, run: Run[FoundLabels]) -> CredalPartition:
        model, masses = self.result(run)
        return CredalPartition.unchecked(masses, model.family)

    def result(self, run: Run[FoundLabels]) -> tuple[NeighborModel, np.ndarray]:
        labels = run.model.labels
        n_clusters = int(labels.max()) + 1
        self._check_size(n_clusters)
        references = references_of(self.source)
        model = NeighborModel(
            family=FocalSets.simple(n_clusters),
            references=references,
            support=self.evidence,
            labels=labels,
            own_masses=on_family(self.graph.masses(labels, n_clusters, self.apply)),
            n_neighbors=self.n_neighbors,
            n_stored=self.settings.n_neighbors,
            searches=run.model.searches,
        )
        twins = twins_of(self.source, references, self.with_twins)
        all_differ = np.array_equal(twins, np.arange(self.n))
        masses = model.own_masses if all_differ else model.own_masses[twins]
        return model, masses.astype(self.source.dtype, copy=False)

    def _check_size(self, n_clusters: int) -> None:
        if self.n * (n_clusters + 2) > _LARGEST_PARTITION:
            raise InvalidInputError(
                f"n_neighbors={self.n_neighbors} left {n_clusters} clusters, and the masses of {self.n} objects would "
                f"take {8 * self.n * (n_clusters + 2) / 2**30:.0f} GB; use more neighbours, a larger q or init='sample'"
            )

    def remarks(self, model: MassModel) -> list[str]:
        if model.family.n_clusters > 1:
            return []
        return ["a single cluster was found; decrease n_neighbors or q for more"]


class SampledNeighborMethod(NeighborMethod):
    """The searches compete on a sample; each of the other objects then starts in the cluster of the nearest of it."""

    def __init__(
        self,
        settings: NeighborSettings,
        sample: Sample[DissimilaritySource | SparseSource],
        rng: np.random.Generator,
        apply: Apply,
    ):
        super().__init__(settings, sample, rng, apply)
        assert isinstance(self.source, DissimilaritySource)
        self.drawn = np.sort(rng.permutation(self.n)[:_SAMPLE_SIZE])
        on_sample = replace(settings, n_neighbors=None, init="auto")
        self.small = neighbor_method(on_sample, Sample(self.source.subset(self.drawn)), rng, apply)

    def _automatic_number_of_neighbors(self) -> int:
        if self.n > _SAMPLE_SIZE:
            return _MOST_NEIGHBORS_AFTER_SAMPLE
        return super()._automatic_number_of_neighbors()

    def given_start(self, family: FocalSets) -> None:
        return None

    def drawn_starts(self, family: FocalSets) -> tuple[Iterable[LabelStart], int]:
        return self.small.drawn_starts(family)

    def compete(self, start: LabelStart) -> Run[FoundLabels]:
        return self.small.descend(start)

    def completed(self, best: Run[FoundLabels]) -> Run[FoundLabels]:
        assert isinstance(self.source, DissimilaritySource)
        nearest, _ = ReferenceFinder(References.of(self.source, self.drawn))(self.source.objects, 1, self.apply)
        labels = self.small.partition(best).labels[nearest[:, 0]]
        run = self.descend(LabelStart(labels, self.rng))
        return replace(run, model=replace(run.model, searches=best.model.searches))


def preferred(searches: tuple[tuple[int, float], ...]) -> int:
    """Of the results with the most frequent number of clusters the one with the smallest objective, the first on ties;
    of equally frequent numbers that of the smallest objective."""
    counts = [count for count, _ in searches]
    return min(range(len(searches)), key=lambda r: (-counts.count(counts[r]), searches[r][1], r))
