"""EK-NNclus: clustering by the evidential k-nearest-neighbor rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone

from dempster import _validation as rule
from dempster._arrays import is_graph, rows_of_entries
from dempster._errors import InvalidParameterError
from dempster._random import as_generator
from dempster._types import (
    ArrayLike,
    ArrayPair,
    Index,
    MaybeUnset,
    Metric,
    Seed,
    TableLike,
)
from dempster._validation import as_labels, reorder_like
from dempster.belief import FocalSets
from dempster.cluster._base import (
    COMMON_RULES,
    EvidentialClusterer,
    FitRequest,
    Support,
)
from dempster.cluster._distinct_rows import DistinctRows, Source, merge_columns
from dempster.cluster._neighbor_graph import (
    NeighborGraph,
    combine_evidence,
    renumber,
)
from dempster.cluster._search import FitResult, Method, Sample
from dempster.cluster.communities import (
    MAX_DENSE_MASSES,
    Communities,
    CommunityModel,
    Edges,
    encode_known_labels,
)
from dempster.dissimilarity.graphs import GraphInput, GraphSource, read_graph
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.neighbors import (
    Finder,
    Neighbors,
    ReferenceFinder,
    make_finder,
)
from dempster.dissimilarity.sources import (
    DissimilaritySource,
    References,
    SparseSource,
    rounding,
)
from dempster.optimize.blocks import Apply, block_map, row_blocks
from dempster.optimize.descent import Run
from dempster.optimize.projection import approach_known_masses, approach_radii
from dempster.partition import CredalPartition
from dempster.posterior.evidence import ClusterEvidence

if TYPE_CHECKING:
    import pandas as pd

# These bounds limit the weights to [1e-6, 20.7].
_MIN_SUPPORT = 1e-6
_MAX_SUPPORT = 1 - 1e-9
# This number of distances fits into the cache of a processor.
_DISTANCES_PER_BLOCK = 65_536
# maximum number of distances from which the quantile q is computed
_QUANTILE_VALUES = 10_000_000


@dataclass(frozen=True)
class Evidence:
    """Degree of support phi(d) = exp(-(d / scale)^power) that two rows are in the same cluster."""

    scale: float
    power: float

    @classmethod
    def from_neighbors(
        cls, neighbors: sparse.csr_matrix, q: float, power: float
    ) -> Evidence:
        """Return the evidence whose scale^power is the q-quantile of d^power over all neighbors."""
        d = np.asarray(neighbors.data, float)
        d = d[:: max(1, len(d) // _QUANTILE_VALUES)]
        largest = float(d.max(initial=0.0))
        if largest == 0:
            return cls(1.0, power)  # All distances to neighbors are zero.
        # Dividing by the largest distance avoids overflow.
        relative = (d / largest) ** power
        quantile = float(np.quantile(relative, q)) or float(
            relative[relative > 0].mean()
        )
        return cls(largest * max(quantile, np.finfo(float).tiny) ** (1 / power), power)

    def energies(self, d: np.ndarray) -> np.ndarray:
        """Return (d / scale)^power, which is minus the logarithm of the support."""
        with np.errstate(over="ignore"):
            energies = (np.asarray(d, float) / self.scale) ** self.power
        return np.minimum(energies, np.finfo(float).max)

    def log_weights(self, d: np.ndarray) -> np.ndarray:
        """Return the logarithms of the weights.

        For distant rows, use the approximation -(d / scale)^power.
        """
        energies = self.energies(d)
        return np.where(
            np.exp(-energies) > _MIN_SUPPORT, np.log(self.weights(d)), -energies
        )

    def weights(self, d: np.ndarray) -> np.ndarray:
        """Return the weights of evidence w = -log(1 - phi(d)) for distances d."""
        return -np.log1p(
            -np.clip(np.exp(-self.energies(d)), _MIN_SUPPORT, _MAX_SUPPORT)
        )

    def weight_graph(
        self, neighbors: sparse.csr_matrix, apply: Apply
    ) -> sparse.csr_matrix:
        """Return the graph of neighbors with weights of evidence instead of distances."""
        d = neighbors.data
        w = np.empty(len(d))

        def write(start: int, stop: int) -> None:
            w[start:stop] = self.weights(d[start:stop])

        apply(write, row_blocks(len(d), _DISTANCES_PER_BLOCK, most=None))
        return sparse.csr_matrix(
            (w, neighbors.indices, neighbors.indptr), neighbors.shape
        )


# ---- neighbors and model -------------------------------------------------------------------------


def neighbor_distances(find: Finder, n: int, n_neighbors: int) -> sparse.csr_matrix:
    """Return a sparse (n, n) matrix of the distances from every row to its nearest neighbors."""
    nearest = Neighbors.find_all(find, n, n_neighbors)
    return _to_sparse(nearest.index, nearest.distance, n)


def _to_sparse(
    index: np.ndarray, distance: np.ndarray, n_columns: int
) -> sparse.csr_matrix:
    n, k = index.shape
    indptr = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**31 else np.int64)
    return sparse.csr_matrix(
        (distance.reshape(-1), index.reshape(-1), indptr), (n, n_columns)
    )


def nearest_stored(
    matrix: sparse.csr_matrix, n_neighbors: int | None, *, drop_diagonal: bool
) -> sparse.csr_matrix:
    """Keep the ``n_neighbors`` smallest stored entries of every row, including stored zeros.

    None keeps all entries.
    """
    matrix.sort_indices()
    rows = rows_of_entries(matrix.indptr)
    kept = np.arange(matrix.nnz)
    if drop_diagonal:
        kept = np.flatnonzero(matrix.indices != rows)
    if n_neighbors is not None:
        order = kept[np.lexsort((matrix.data[kept], rows[kept]))]
        rank = np.arange(len(order)) - np.searchsorted(rows[order], rows[order])
        kept = np.sort(order[rank < n_neighbors])
    indptr = np.searchsorted(rows[kept], np.arange(matrix.shape[0] + 1)).astype(
        matrix.indptr.dtype
    )
    return sparse.csr_matrix(
        (matrix.data[kept], matrix.indices[kept], indptr), matrix.shape
    )


_ROWS_PER_BLOCK = 16_384


@dataclass(frozen=True, eq=False)
class NeighborModel:
    """Fitted model of `EKNNClus`.

    The masses combine the evidence of the nearest training rows, and approach the masses of the
    training rows (`approach_known_masses`).
    """

    family: FocalSets  # empty set, single clusters, frame
    references: References  # the distinct training rows
    support: Evidence  # degree of support by a neighbor, as a function of its distance
    labels: Annotated[np.ndarray, "g:int"]  # clusters of the distinct rows
    # numbers of copies of the distinct rows, divided by their mean
    sizes: Annotated[np.ndarray, "g"]
    # masses of the distinct rows, computed from their neighbors
    own_masses: Annotated[np.ndarray, "g f"]
    radii: Annotated[np.ndarray, "g"]  # see `approach_known_masses`
    group: Annotated[np.ndarray, "n:int"]  # distinct row of each training row
    n_neighbors: int  # number of neighbors of a new row
    # number of stored entries used in each row of a sparse matrix; None means all
    n_stored: int | None

    def masses(self, values: Any, apply: Apply) -> np.ndarray:
        """Compute the masses of n rows, shape (n, f), which `DissimilarityInput.new` has read."""
        if sparse.issparse(values):
            values = self._merge_copies(values)
            nearest = nearest_stored(values, self.n_stored, drop_diagonal=False)
            masses = self._combine(nearest, *_smallest_stored(values), apply)
            return masses.astype(values.dtype, copy=False)
        find = ReferenceFinder(self.references)
        dtype = float
        if isinstance(values, np.ndarray):
            dtype = values.dtype
        out = np.empty((len(values), len(self.family)), dtype)
        for start, stop in row_blocks(len(values), _ROWS_PER_BLOCK, most=None):
            rows = values[start:stop]
            index, distance = find(rows, self.n_neighbors, apply)
            nearest = index[:, 0], distance[:, 0]
            if not self.references.are_complete(rows):
                nearest = self.references.nearest(rows)
            neighbors = _to_sparse(index, distance, len(self.labels))
            out[start:stop] = self._combine(neighbors, *nearest, apply)
        return out

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """Return the logarithm of the total weight of the neighbors in each cluster.

        For a cluster without neighbors, the weight of its nearest member is used.
        """
        if sparse.issparse(values):
            values = self._merge_copies(values)
            positions = values.indices
            d = values.data
            n_used = self.n_stored
        else:
            positions = np.arange(len(self.labels))
            d = self.references.dissimilarities(values, exact=True)[0]
            n_used = self.n_neighbors
        d = np.asarray(d, float)
        order = np.argsort(d, kind="stable")
        if itself >= 0:
            order = order[positions[order] != self.group[itself]]
        labels = self.labels[positions[order]]
        is_used = np.arange(len(order)) < (n_used or len(order))
        first = np.unique(labels, return_index=True)[1]
        is_used[first[~np.isin(labels[first], labels[is_used])]] = True
        which = order[is_used]
        labels = labels[is_used]
        energies = self.support.energies(d[which])
        logs = np.full((len(which), self.family.n_clusters), -np.inf)
        weights = self.support.log_weights(d[which])
        weights += np.log(self.sizes[positions[which]])
        logs[np.arange(len(which)), labels] = weights
        quantity = "logarithm of the weight of evidence of the neighbors in the cluster"
        return ClusterEvidence.from_strengths(
            quantity, logs, energies, self.references.select(positions[which]), values
        )

    def without(self, position: int) -> NeighborModel:
        """Return the model without one training row and its copies."""
        others = np.flatnonzero(np.arange(len(self.labels)) != self.group[position])
        if len(others) == 0 or self.references.source is None:
            return self
        return replace(
            self,
            references=self.references.select(others),
            labels=self.labels[others],
            sizes=self.sizes[others],
            own_masses=self.own_masses[others],
            radii=self.radii[others],
            n_neighbors=min(self.n_neighbors, len(others)),
        )

    def _merge_copies(self, values: Any) -> sparse.csr_matrix:
        """Return dissimilarities to the training rows as dissimilarities to the distinct rows."""
        matrix = sparse.csr_matrix(values)
        return merge_columns(matrix, self.group, len(self.labels))

    def _combine(
        self,
        neighbors: sparse.csr_matrix,
        nearest: np.ndarray,
        distance: np.ndarray,
        apply: Apply,
    ) -> np.ndarray:
        """Return the masses from the neighbors, which approach those of the nearest one."""
        weights = self.support.weight_graph(neighbors, apply)
        counted = weights.data * self.sizes[weights.indices]
        edges = weights.indptr, weights.indices, counted
        n_clusters = self.family.n_clusters
        masses = combine_evidence(edges, self.labels, n_clusters, apply)
        approach_known_masses(masses, self.own_masses, nearest, distance, self.radii)
        return masses


def _smallest_stored(matrix: sparse.csr_matrix) -> ArrayPair:
    """Return the column of the smallest stored entry of each row, and the entry.

    The entry is infinite for a row without entries.
    """
    nearest = nearest_stored(matrix, 1, drop_diagonal=False)
    rows = rows_of_entries(nearest.indptr)
    columns = np.zeros(matrix.shape[0], np.int64)
    smallest = np.full(matrix.shape[0], np.inf)
    columns[rows] = nearest.indices
    smallest[rows] = nearest.data
    return columns, smallest


def neighbor_radii(neighbors: sparse.csr_matrix) -> np.ndarray:
    """Return the radii of `approach_known_masses` from the distances to the neighbors of n rows."""
    n = neighbors.shape[0]
    rows = rows_of_entries(neighbors.indptr)
    largest = np.zeros(n)
    np.maximum.at(largest, rows, neighbors.data)
    differ = neighbors.data > rounding(neighbors.dtype) * largest[rows]
    separation = np.full(n, np.inf)
    np.minimum.at(separation, rows[differ], neighbors.data[differ])
    return approach_radii(separation)


# neighbors per square root of the number of rows (the authors recommend two to three)
_NEIGHBORS_PER_ROOT = 2.5
_MAX_NEIGHBORS = 400
# largest number of rows for which each row starts in its own cluster
_DISTINCT_UP_TO = 1_000
_SAMPLE_FROM = 20_000
_SAMPLE_SIZE = 5_000
# A few neighbors suffice after the sample has determined the clusters.
_MAX_NEIGHBORS_AFTER_SAMPLE = 50
_MAX_MASSES = 2**31  # maximum number of masses (17 GB)


Start = tuple[np.ndarray, np.random.Generator]
"""Initial labels of a search, and the random generator for the order of the rows."""


class NeighborMethod(Method[Start, np.ndarray]):
    """EK-NNclus algorithm, which runs several searches on the graph of neighbors."""

    starts_in_threads = True

    def __init__(
        self,
        params: EKNNClus,
        rows: DistinctRows,
        rng: np.random.Generator,
        apply: Apply,
        init: Any,
        n_neighbors: int | None,
    ):
        self.params = params
        self.rows = rows
        self.source = rows.source
        self.rng = rng
        self.apply = apply
        self.init = init
        self.n_neighbors_param = n_neighbors
        self.n = len(rows)
        self.n_rows = rows.n_rows
        self.positions = rows.first
        if n_neighbors is None:
            self.n_neighbors = self._default_n_neighbors()
        elif n_neighbors < rows.n_rows:
            self.n_neighbors = min(int(n_neighbors), self.n - 1)
        else:
            expected = f"smaller than the number of objects, {rows.n_rows}"
            raise InvalidParameterError("n_neighbors", expected, n_neighbors)
        # Always draw the seed, so that the searches do not depend on the finder.
        seed = int(rng.integers(2**31))
        neighbors, order = self._find_neighbors(seed)
        self.evidence = Evidence.from_neighbors(neighbors, params.q, params.power)
        self.radii = neighbor_radii(neighbors)
        weights = self.evidence.weight_graph(neighbors, apply)
        sizes = None
        if (rows.sizes != 1).any():
            sizes = rows.sizes
        self.graph = NeighborGraph.from_weights(
            weights, params.neighbor_graph, apply, order, sizes
        )

    def _default_n_neighbors(self) -> int:
        if isinstance(self.source, SparseSource):
            return int(np.diff(self.source.stored.indptr).max())
        wanted = int(np.ceil(_NEIGHBORS_PER_ROOT * np.sqrt(self.n)))
        return min(wanted, _MAX_NEIGHBORS, self.n - 1)

    def _find_neighbors(self, seed: int) -> tuple[sparse.csr_matrix, np.ndarray | None]:
        """Return a sparse (n, n) matrix of distances to neighbors, and an order of the rows."""
        if isinstance(self.source, SparseSource):
            stored = nearest_stored(
                self.source.stored, self.n_neighbors_param, drop_diagonal=True
            )
            if stored.nnz == 0:
                raise InvalidParameterError(
                    "X", must="contain dissimilarities between different objects"
                )
            return stored, None
        if self.n == 1:  # All rows are equal.
            return sparse.csr_matrix((1, 1), dtype=self.source.dtype), None
        find = make_finder(self.source, self.params.neighbors, seed, self.params.n_jobs)
        nearest = neighbor_distances(find, self.n, self.n_neighbors)
        return nearest, find.order

    # ---- starts ----------------------------------------------------------------------------------

    def draw_starts(self, family: FocalSets) -> list[Start]:
        init = self.init
        if isinstance(init, str):
            return [(np.arange(self.n), rng) for rng in self._draw_rngs()]
        if isinstance(init, int | np.integer):
            rngs = self._draw_rngs()
            return [(rng.integers(init, size=self.n), rng) for rng in rngs]
        if isinstance(init, CredalPartition):
            labels = init.labels
        else:
            labels = as_labels(init, "init")
        if len(labels) != self.n_rows:
            must = f"contain {self.n_rows} labels, one for each row, got {len(labels)}"
            raise InvalidParameterError("init", must=must)
        return [(renumber(labels[self.positions]), self.rng)]

    def _draw_rngs(self) -> list[np.random.Generator]:
        seeds = self.rng.integers(2**63, size=self.params.n_init)
        return [np.random.default_rng(seed) for seed in seeds]

    # ---- runs ------------------------------------------------------------------------------------

    def run_start(self, start: Start) -> Run[np.ndarray]:
        labels, agreement, converged = self.graph.search(*start, self.params.max_iter)
        return Run(labels, [-value for value in agreement], converged)

    def select_run(
        self, runs: Iterable[Run[np.ndarray]], tol: float
    ) -> Run[np.ndarray]:
        runs = list(runs)
        self.n_clusters_found = np.array([int(run.model.max()) + 1 for run in runs])
        return self._best_run(runs, tol)

    def _best_run(self, runs: list[Run[np.ndarray]], tol: float) -> Run[np.ndarray]:
        """Return the best run with the most frequent number of clusters.

        The objective favors few clusters.
        """
        objectives = np.array([run.objective for run in runs])
        return runs[select_search(self.n_clusters_found, objectives)]

    # ---- results ---------------------------------------------------------------------------------

    def result(self, run: Run[np.ndarray]) -> FitResult:
        labels = run.model
        n_clusters = int(labels.max()) + 1
        n_masses = self.rows.n_rows * (n_clusters + 2)
        if n_masses > _MAX_MASSES:
            found = f"n_neighbors={self.n_neighbors} gives {n_clusters} clusters"
            memory = f"{8 * n_masses / 2**30:.0f} GB of masses"
            advice = "use more neighbors, a larger q or init='sample'"
            raise InvalidParameterError(
                "n_neighbors", message=f"{found} and {memory}; {advice}"
            )
        masses = self.graph.masses(labels, n_clusters, self.apply)
        model = NeighborModel(
            family=FocalSets.simple(n_clusters),
            references=self.rows.references(),
            support=self.evidence,
            labels=labels,
            sizes=self.rows.sizes,
            own_masses=masses,
            radii=self.radii,
            group=self.rows.group,
            # A single distinct row has no neighbors, but is one of new rows.
            n_neighbors=max(self.n_neighbors, 1),
            n_stored=self.n_neighbors_param,
        )
        masses = masses.astype(self.source.dtype, copy=False)
        if self.n < self.rows.n_rows:
            masses = masses[self.rows.group]
        result = FitResult(run, model, masses)
        if self.n == 1:  # All rows are equal.
            return result
        return self._warn_single(result, "decrease n_neighbors or q")

    @staticmethod
    def _warn_single(result: FitResult, advice: str) -> FitResult:
        if result.model.family.n_clusters > 1:
            return result
        warning = f"found only a single cluster; {advice} to find more"
        return replace(result, warnings=(warning,))


class CommunityMethod(NeighborMethod):
    """EK-NNclus on the edges of a graph, with evidence against a common community."""

    def __init__(
        self,
        params: EKNNClus,
        source: GraphSource,
        rng: np.random.Generator,
        request: FitRequest,
    ):
        self.params = params
        self.rng = rng
        self.init = params.init
        self.n = self.n_rows = len(source)
        self.positions = np.arange(self.n)
        self.nodes = source
        known = encode_known_labels(request.labels, source.names)
        self.edges = Edges.from_source(source, known)
        resolution = None
        if not isinstance(params.resolution, str):
            resolution = float(params.resolution)
        self.first = self.edges.select_evidence(resolution, rng, params.max_iter)
        self.graph = self.edges.graph(self.first.evidence)

    def draw_starts(self, family: FocalSets) -> list[Start]:
        if isinstance(self.init, str):
            first, *others = self._draw_rngs()
            distinct = self.edges.distinct_labels()
            return [(self.first.labels, first), *((distinct, rng) for rng in others)]
        known = self.edges.known
        # The known labels come first.
        return [
            (np.where(known < 0, self.n + labels, known), rng)
            for labels, rng in super().draw_starts(family)
        ]

    def _best_run(self, runs: list[Run[np.ndarray]], tol: float) -> Run[np.ndarray]:
        """Return the run that describes the graph best, or has the best objective.

        For a given resolution, the objective can compare different numbers of communities.
        """
        if self.params.resolution != "auto":
            return Method.select_run(self, runs, tol)
        evidence = self.first.evidence
        return max(
            runs,
            key=lambda run: Communities.compare(self.edges, run.model, evidence).rank,
        )

    def label_nodes(self, labels: np.ndarray) -> np.ndarray | pd.Series:
        """Return the labels, indexed by the names of the nodes if X is not a matrix."""
        import pandas as pd  # slow to import

        labels = labels.astype(np.int64)
        if self.nodes.is_matrix:
            return labels
        names = pd.Index(self.nodes.names, tupleize_cols=False)
        return pd.Series(labels, names, name="community")

    def result(self, run: Run[np.ndarray]) -> FitResult:
        labels = run.model
        n_clusters = int(labels.max()) + 1
        model = CommunityModel(
            family=FocalSets.with_pairs(n_clusters, [], empty=False),
            labels=labels,
            totals=np.bincount(labels, self.graph.strengths),
            evidence=self.first.evidence,
        )
        nested = model.nested_masses(self.edges.adjacency, labels)
        nested = nested.with_known(self.edges.known)
        pairs = nested.pairs(n_clusters)
        family = FocalSets.with_pairs(n_clusters, pairs.tolist(), empty=False)
        masses: Any
        if self.n * len(family) <= MAX_DENSE_MASSES:
            masses = nested.masses(family)
        else:
            masses = nested.lazy_masses(family, self.params.n_jobs)
        model = replace(model, family=family)
        result = FitResult(run, model, masses, is_separated=self.first.saving > 0)
        return self._warn_single(result, "increase the resolution")


class SampledNeighborMethod(NeighborMethod):
    """EK-NNclus for many rows.

    Searches are compared on a sample, whose clusters are the initial clusters of all rows.
    """

    def __init__(self, params: EKNNClus, rows: DistinctRows, *others: Any):
        super().__init__(params, rows, *others)
        self.sample_rows = np.sort(self.rng.permutation(self.n)[:_SAMPLE_SIZE])
        part = rows.subset(self.sample_rows)
        self.sample_method = NeighborMethod(
            params, part, self.rng, self.apply, default_init(part.source), None
        )

    def _default_n_neighbors(self) -> int:
        if self.n > _SAMPLE_SIZE:
            return _MAX_NEIGHBORS_AFTER_SAMPLE
        return super()._default_n_neighbors()

    def draw_starts(self, family: FocalSets) -> list[Start]:
        return self.sample_method.draw_starts(family)

    def run_start(self, start: Start) -> Run[np.ndarray]:
        return self.sample_method.run_start(start)

    def refine(self, best: Run[np.ndarray]) -> Run[np.ndarray]:
        assert isinstance(self.source, DissimilaritySource)
        find = ReferenceFinder(References.from_source(self.source, self.sample_rows))
        nearest, _ = find(self.source.objects, 1, self.apply)
        labels = self.sample_method.partition(best).labels[nearest[:, 0]]
        return super().run_start((labels, self.rng))


def has_attributes(source: Source | GraphSource) -> bool:
    """Return whether the rows have attributes, not only dissimilarities."""
    return getattr(source, "objects", None) is not None


def default_init(source: Source | GraphSource) -> str | int:
    """Return the value of ``init="auto"``, which depends on the number of rows."""
    n = len(source)
    if n > _SAMPLE_FROM and has_attributes(source):
        return "sample"
    if n > _DISTINCT_UP_TO:
        return max(2, n // 10)
    return "distinct"


def select_search(n_clusters: np.ndarray, objectives: np.ndarray) -> int:
    """Return the index of the best search with the most frequent number of clusters."""
    frequency = np.bincount(n_clusters)[n_clusters]
    return int(np.lexsort((objectives, -frequency))[0])


class EKNNClus(EvidentialClusterer):
    r"""Clustering by the evidential k-nearest-neighbor rule, which selects the number of clusters.

    The degree of support that two objects at distance d belong to the same cluster is
    :math:`\phi(d) = \exp(-(d / s)^{\mathrm{power}})`.
    Combining the evidence of all pairs of neighbors by Dempster's rule gives the log-plausibility
    of a partition, up to a constant,

    .. math::

        \sum_{(i,j)} w_{ij}, \qquad w_{ij} = -\log(1 - \phi(d_{ij})),

    where the sum is over the pairs of neighbors i and j in the same cluster.

    The search starts from many small clusters. Each object in turn joins the cluster that its
    neighbors support most, until no object moves. The log-plausibility never decreases, and at the
    end no move of a single object increases it. The result is a local maximum that depends on
    ``n_neighbors``; few neighbors give many clusters. (The global maximum would be a single
    cluster.)

    The masses of each object on the single clusters and the frame combine the evidence of its
    neighbors by Dempster's rule. An object inside a cluster has nearly all mass on this cluster. An
    object between clusters divides its mass between them. An isolated object has mass on the frame.
    The masses of a new object are computed from its nearest training objects. Close to a training
    object (nearer than a quarter of its distance to the nearest other object), they approach the
    masses of the training object, which is not a neighbor of itself.

    Equal objects are one object, whose weight is the number of its copies divided by the mean
    number of copies. Neighbors are distinct objects, and their evidence is multiplied by their
    weights, so a table with all rows repeated gives the same clusters.

    Time and memory grow with the number of objects times the number of neighbors. No n x n matrix
    is computed.

    **Graphs.** If X is a graph, its edges replace the search for neighbors. Let :math:`m` be the
    number of edges, and :math:`k_i` the weight of all edges of node i, relative to the mean weight
    of an edge. An edge of relative weight :math:`a_{ij}` is evidence for a common community, and
    its expectation in a random graph with the same degrees is evidence against it:

    .. math::

        w_{ij} = \log\frac{\omega_1}{\omega_0}
        \left(a_{ij} - \mathrm{resolution}\,\frac{k_i k_j}{2m}\right),

    where :math:`\omega_1` and :math:`\omega_0` are the weight of the edges inside and between
    communities, divided by its expectation. The log-plausibility is proportional to the modularity
    with this resolution. The search moves nodes as above and then whole communities. With
    ``resolution="auto"``, the communities describe the graph best: they maximize the likelihood of
    the edges less the entropy of the labels.

    Let :math:`u_k` be the sum of the evidence of a node for community k. With the largest support
    :math:`u_1`, the plausibility of community k is :math:`2 u_k / (u_1 + u_k)`, or 0 if
    :math:`u_k < 0`. The masses are nested sets with these plausibilities, where more than two
    communities are replaced by the frame, discounted by :math:`\exp(-u_1)`. A node between two
    communities has mass on the pair. A node with few edges has mass on the frame, and an isolated
    node has nothing else; its label, 0, has no meaning. Self-loops are ignored, and the weights of
    parallel edges are added. The masses of a new node are computed from its edges to the nodes of
    `fit`; `predict_mass` takes a graph, whose nodes that were not in `fit` are new, or a matrix
    with a row for each new node. If there are more than 2^25 masses, ``credal_partition_`` is a
    `LazyCredalPartition`.

    Parameters
    ----------
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Other names are metrics of `sklearn.neighbors.NearestNeighbors`; a function
        has two rows as arguments. With "precomputed", X is a square matrix of dissimilarities, or a
        SciPy sparse matrix that stores the dissimilarities from each object to its neighbors,
        including zeros (like scikit-learn's ``kneighbors_graph``). With a function or "gower",
        every object is compared with all others.
    symmetrize : bool, default=False
        Replace an asymmetric square matrix by the mean of the matrix and its transpose instead of
        raising an error.
    n_neighbors : int or "auto", default="auto"
        Number of distinct neighbors of each object; "auto": 2.5 times the square root of the number
        of distinct objects, at most 400. With ``init="sample"``, it is 50 for the search over all
        objects. For a sparse matrix, all stored entries are neighbors.
    q : float in (0, 1], default=0.9
        Quantile that defines the scale s; larger values give fewer clusters. s^power is the
        q-quantile of d^power over all pairs of neighbors.
    power : float > 0, default=2
        Exponent of the distances in phi(d); the papers use 1 or 2.
    resolution : float > 0 or "auto", default="auto"
        If X is a graph, factor of the evidence against a common community; larger values give more
        communities. "auto" selects the value whose communities describe the graph best.
    neighbor_graph : {"union", "mean", "directed"}, default="union"
        Graph of neighbors, which determines the objects that are evidence for an object. "union"
        uses its neighbors and the objects that have it as a neighbor. "mean" uses the same objects,
        with half the weight if only one of two objects is a neighbor of the other. "directed" uses
        its neighbors only, like the published program; the objective may then increase, and the
        search may continue until ``max_iter``.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search; "approximate" is nearest-neighbor descent (requires
        ``dempster[neighbors]``). "auto" uses it if this extra is installed, the metric is
        Euclidean, and there are more than 100,000 objects with more than six attributes. Otherwise
        the search is exact.
    init : {"auto", "distinct", "sample"}, int, array of labels or CredalPartition
        Initial labels. "distinct" puts each object into its own cluster. An integer is a number of
        random clusters. "sample" first clusters a sample of 5,000 objects; every object then starts
        in the cluster of the nearest object in the sample. "auto" is "distinct" up to 1,000
        objects, n / 10 random clusters up to 20,000 objects, and "sample" for more objects (only if
        X contains attributes). An array or a partition gives the initial labels of a single search,
        whatever ``n_init``.
    n_init : int, default=10
        Number of searches with different random labels and orders of the objects. The result is the
        search with the smallest objective among the searches with the most frequent number of
        clusters, because the objective favors few clusters and cannot compare different numbers of
        clusters.
    max_iter : int, default=100
        Maximum number of sweeps over the objects.
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
        Masses of the empty set (always zero), the single clusters and the frame. Equal objects have
        the same masses. For a graph, masses of the single communities, of the pairs between which a
        node lies, and of the frame.
    labels_ : ndarray of shape (n_samples,) or Series
        Cluster with the largest plausibility. For a graph of networkx or igraph, a pandas Series
        indexed by the names of the nodes.
    focal_sets_ : FocalSets
    objective_ : float
        Minus the log-plausibility of the final partition, up to a constant.
    history_ : ndarray
        Objective after every sweep of the best search.
    n_clusters_found_ : ndarray of shape (n_searches,)
        Number of clusters at the end of every search (on the sample, with ``init="sample"``).
    n_neighbors_ : int
        Number of neighbors used.
    scale_ : float
        Distance s at which the degree of support is exp(-1).
    resolution_ : float
        Value of ``resolution`` that was used for a graph, which has no ``n_neighbors_`` and no
        ``scale_``.
    n_iter_ : int
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int

    References
    ----------
    T. Denoeux, O. Kanjanatarakul and S. Sriboonchitta (2015). EK-NNclus: a clustering procedure
    based on the evidential K-nearest neighbor rule. Knowledge-Based Systems 88.

    M. E. J. Newman (2016). Equivalence between modularity optimization and maximum likelihood
    methods for community detection. Physical Review E 94.

    Examples
    --------
    >>> from dempster.cluster import EKNNClus
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)
    >>> model = EKNNClus(random_state=0).fit(X)
    >>> model.n_clusters_
    3
    >>> model.predict_mass([[6, 1], [40, 40]]).masses[:, -1].round(2)  # mass of the frame
    array([0., 1.])

    A graph of two triangles, and node 6 with an edge to each of them:

    >>> from scipy.sparse import csr_array
    >>> edges = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (0, 6), (3, 6)]
    >>> A = csr_array((np.ones(8), np.transpose(edges)), shape=(7, 7))
    >>> partition = EKNNClus(resolution=1, random_state=0).fit(A + A.T).credal_partition_
    >>> partition.labels[:6], partition.ambiguous
    (array([0, 0, 0, 1, 1, 1]), array([6]))
    """

    _model: NeighborModel | CommunityModel
    _input: Annotated[DissimilarityInput | GraphInput, ".origin n_features"]
    labels_: MaybeUnset[Annotated[Any, "n_samples"]]
    n_neighbors_: MaybeUnset[int]
    scale_: MaybeUnset[float]
    resolution_: MaybeUnset[float]
    n_clusters_found_: Annotated[np.ndarray, "s"]

    _rules = {
        **COMMON_RULES,
        "metric": METRIC_RULE,
        "symmetrize": rule.flag,
        "n_neighbors": rule.auto | rule.positive_integer,
        "q": rule.positive_share,
        "power": rule.positive,
        "resolution": rule.auto | rule.positive,
        "neighbor_graph": rule.choice("union", "mean", "directed"),
        "neighbors": rule.choice("auto", "exact", "approximate"),
        "init": rule.choice("auto", "distinct", "sample")
        | rule.positive_integer
        | rule.kind(CredalPartition)
        | rule.array,
    }
    _advice = (
        'increase max_iter (with neighbor_graph="directed" the sweeps may never end)'
    )
    _support = Support(blocks=True)

    def __init__(
        self,
        *,
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        n_neighbors: int | str = "auto",
        q: float = 0.9,
        power: float = 2.0,
        resolution: float | str = "auto",
        neighbor_graph: str = "union",
        neighbors: str = "auto",
        init: str | int | ArrayLike | CredalPartition = "auto",
        n_init: int = 10,
        max_iter: int = 100,
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.metric = metric
        self.symmetrize = symmetrize
        self.n_neighbors = n_neighbors
        self.q = q
        self.power = power
        self.resolution = resolution
        self.neighbor_graph = neighbor_graph
        self.neighbors = neighbors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: TableLike, y: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples), or graph
            Objects, or dissimilarities if ``metric="precomputed"``. The results keep the index of a
            DataFrame. A graph is an undirected graph of networkx or igraph, whose edges may have
            the attribute "weight", or, unless ``metric="precomputed"``, a SciPy sparse matrix of
            the weights of the edges. The results keep the names of the nodes.
        y : array-like of shape (n_samples,) or mapping of nodes to labels, optional
            Known labels of some nodes of a graph, with -1 or a missing value for other nodes. Nodes
            with the k-th known label, in sorted order, stay in cluster k. Ignored if X is not a
            graph.

        Returns
        -------
        self
        """
        return self._fit(X, y=y if self._is_network(X) else None)

    def log_plausibility(self, X: TableLike, labels: ArrayLike) -> float:
        """Return the log-plausibility of any partition of the rows of X.

        The value is minus the sum of the weights w_ij over the pairs of neighbors in different
        clusters. It is 0 for a single cluster. For the same X and parameters, it differs from the
        log-plausibility in ``objective_`` by a constant, the sum of all weights. The estimator need
        not be fitted; the neighbors and the scale are computed from X. Equal objects must have
        equal labels.

        Parameters
        ----------
        X : array-like
            Objects or dissimilarities, as in `fit`.
        labels : array-like of shape (n_samples,)
            Clusters of the objects.

        Returns
        -------
        float

        Examples
        --------
        >>> from dempster.cluster import EKNNClus
        >>> X = [[0.0], [1.0], [5.0], [6.0]]
        >>> model = EKNNClus(n_neighbors=2)
        >>> partitions = [0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0]
        >>> [round(model.log_plausibility(X, labels), 2) for labels in partitions]
        [-1.67, -7.39, 0.0]
        """
        reader = clone(self)  # Reading X sets attributes.
        reader._check_parameters()
        source = reader._read(X, reset=True)
        aligned = reorder_like(labels, reader._row_names(X))
        clusters = renumber(as_labels(aligned, "labels"))
        if len(clusters) != len(source):
            must = f"contain {len(source)} labels, got {len(clusters)}"
            raise InvalidParameterError("labels", must=must)
        with block_map(self.n_jobs) as apply:
            request = FitRequest(1, None, None, apply)
            method = reader._make_method(Sample(source), request)
        graph = method.graph
        if isinstance(method, CommunityMethod):
            found = clusters
        else:
            found = clusters[method.rows.first]
            if (found[method.rows.group] != clusters).any():
                must = "be the same for equal objects"
                raise InvalidParameterError("labels", must=must)
        return graph.agreement(found) - graph.agreement(np.zeros_like(found))

    def _is_network(self, X: Any) -> bool:
        """Return whether X is a graph or a sparse matrix of the weights of edges."""
        return is_graph(X) or (sparse.issparse(X) and self.metric != "precomputed")

    def _row_names(self, X: TableLike) -> Index:
        reader = getattr(self, "_input", None)
        if isinstance(reader, GraphInput):
            return reader.row_names(X)
        return super()._row_names(X)

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset and self._is_network(X):
            source = read_graph(X, symmetrize=self.symmetrize)
            self._input = GraphInput(tuple(source.names))
            self.n_features_in_ = len(source)
            return source
        if reset:
            self._input = DissimilarityInput(
                self.metric,
                symmetrize=self.symmetrize,
                sparse=True,
                centered=True,
                fewest=2,
            )
            return self._input.training(self, X)
        return self._input.new(self, X)

    def _requested_clusters(self) -> None:
        return None

    def _find_n_clusters(self, sample: Sample[Any], apply: Apply) -> int:
        return 1  # The value is not used, because the searches determine the number of clusters.

    def _make_method(
        self, sample: Sample[Source | GraphSource], request: FitRequest
    ) -> NeighborMethod:
        source = sample.values
        rng = as_generator(self.random_state)
        n_neighbors = None if isinstance(self.n_neighbors, str) else self.n_neighbors
        init = self.init
        if isinstance(source, GraphSource):
            rows = None
        else:
            rows = DistinctRows.from_source(source)
        if isinstance(init, str) and init == "auto":
            init = default_init(source if rows is None else rows.source)
        is_sampled = isinstance(init, str) and init == "sample"
        if is_sampled and not has_attributes(source):
            message = "init='sample' needs attributes, not a graph or dissimilarities"
            raise InvalidParameterError("init", message=message)
        if isinstance(source, GraphSource):
            return CommunityMethod(self, source, rng, request)
        method: type[Any] = SampledNeighborMethod if is_sampled else NeighborMethod
        return method(self, rows, rng, request.apply, init, n_neighbors)

    def _fitted_attributes(
        self, method: NeighborMethod, model: NeighborModel
    ) -> dict[str, Any]:
        found = {"n_clusters_found_": method.n_clusters_found}
        if isinstance(method, CommunityMethod):
            # A lazy partition has no labels yet.
            labels = getattr(self, "labels_", model.labels)
            return {
                **found,
                "labels_": method.label_nodes(labels),
                "resolution_": method.first.evidence.resolution,
            }
        return {
            **found,
            "n_neighbors_": method.n_neighbors,
            "scale_": method.evidence.scale,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
