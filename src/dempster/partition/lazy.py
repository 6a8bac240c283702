"""Credal partitions of data in blocks, which are computed on access."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._arrays import Array, concatenate_rows, largest_in_rows
from dempster._errors import InvalidParameterError
from dempster._validation import check, check_memory, choice, integer, kind
from dempster.belief import FocalSets
from dempster.data.blocks import BlockFunction, Blocks
from dempster.optimize.blocks import Apply, block_map
from dempster.partition.credal_partition import (
    CredalPartition,
    FitRecord,
    PartitionSummary,
    summarize_counts,
)

if TYPE_CHECKING:
    import pandas as pd
    from scipy import sparse


_MAX_LISTED_OUTLIERS = 1000  # Maximum number of outliers in a summary.


class LazyCredalPartition(FitRecord):
    """Credal partition of training or new data that are given in blocks.

    Arrays with a row for each object are lazy. If X is a Dask collection, they are Dask arrays.
    Otherwise they are objects with the method ``blocks()``, which iterates over the blocks, and the
    method ``compute()``, which returns an array. Row indices count from the first object of all
    blocks. `counts`, `summary` and `nonspecificity_index` read the data once.

    Estimators create lazy partitions; there is no need to call the constructor.

    Parameters
    ----------
    rows : Blocks
        Blocks of masses, or of rows from which ``predict`` computes masses.
    focal_sets : FocalSets
        Focal sets of the columns of the masses.
    metadata : mapping, optional
        Information about the fit; see `CredalPartition`.
    predict : tuple of a function and its second argument, optional
        ``function(block, argument, apply)`` returns the masses of a block.
    frame : sequence, optional
        Names of the clusters, by default 0, ..., c-1.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import ECM
    >>> def blocks():  # starts again at every call
    ...     for k in range(4):
    ...         yield np.random.default_rng(k).normal(size=(50, 2)) + 8 * (k % 2)
    >>> partition = ECM(2, random_state=0).fit(blocks).credal_partition_
    >>> partition
    LazyCredalPartition(200 objects, 2 clusters)
    >>> sum(partition.counts().values())
    200
    >>> partition.labels.compute().shape
    (200,)
    >>> for part in partition.partitions():
    ...     print(len(part))
    200
    """

    def __init__(
        self,
        rows: Blocks,
        focal_sets: FocalSets,
        metadata: Mapping[str, Any] | None = None,
        predict: tuple[BlockFunction, Any] | None = None,
        frame: Sequence[Hashable] | None = None,
    ):
        self._rows = rows
        self.focal_sets = focal_sets
        self._metadata = dict(metadata or {})
        self._predict = predict
        self.frame = tuple(range(focal_sets.n_clusters) if frame is None else frame)

    @property
    def n_clusters(self) -> int:
        return self.focal_sets.n_clusters

    @property
    def n_objects(self) -> int | None:
        """Number of objects, or None if it is unknown until all blocks have been read."""
        return self._rows.n_rows

    def __len__(self) -> int:
        """Return the number of objects; read all blocks if it is unknown."""
        return self._rows.count_rows()

    @property
    def dtype(self) -> np.dtype:
        """Type of the masses."""
        return self._rows.dtype

    # ---- one row for each object, lazy -----------------------------------------------------------

    @property
    def masses(self) -> Any:
        """Masses, shape (n, f)."""
        return self._map("masses", len(self.focal_sets), self.dtype)

    @property
    def labels(self) -> Any:
        """Index of the cluster with the largest plausibility for each object, shape (n,)."""
        return self._map("labels", None, np.int64)

    @property
    def labels_with_outliers(self) -> Any:
        """`labels`, but -1 for outliers."""
        return self._map("labels_with_outliers", None, np.int64)

    @property
    def best_set(self) -> Any:
        """Index in `focal_sets` of the set with the largest mass for each object, shape (n,)."""
        return self._map("best_set", None, np.int64)

    @property
    def contour(self) -> Any:
        """Plausibilities of the clusters, shape (n, c)."""
        return self._map("contour", self.n_clusters, self.dtype)

    def pignistic(self, *, normalized: bool = True) -> Any:
        """Return the pignistic probabilities; see `MassFunctions.pignistic`.

        Parameters
        ----------
        normalized : bool, default=True
            Whether to divide by 1 - m(empty set).

        Returns
        -------
        lazy array of shape (n, c)
        """
        return self._map(
            "pignistic", self.n_clusters, self.dtype, normalized=normalized
        )

    # ---- row indices, lazy -----------------------------------------------------------------------

    def lower(self, cluster: int, rule: str = "max_mass") -> Any:
        """Return the indices of the objects that are assigned to this cluster only.

        Parameters
        ----------
        cluster : int
            Index of the cluster.
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            Rule of assignment; see `CredalPartition.assignment`.

        Returns
        -------
        integer array
        """
        return self._find("lower", cluster=self._check_cluster(cluster), rule=rule)

    def upper(self, cluster: int, rule: str = "max_mass") -> Any:
        """Return the indices of the objects in the upper approximation (possibly in this cluster).

        Parameters
        ----------
        cluster : int
            Index of the cluster.
        rule : {"max_mass", "interval_dominance"}, default="max_mass"
            Rule of assignment; see `CredalPartition.assignment`.

        Returns
        -------
        integer array
        """
        return self._find("upper", cluster=self._check_cluster(cluster), rule=rule)

    @property
    def outliers(self) -> Any:
        """Indices of the objects whose largest mass is on the empty set."""
        return self._find("outliers")

    @property
    def ambiguous(self) -> Any:
        """Indices of the objects whose largest mass is on a set of two or more clusters."""
        return self._find("ambiguous")

    # ---- short results: one pass -----------------------------------------------------------------

    def counts(self) -> dict[tuple[int, ...], int]:
        """Return the number of objects whose largest mass is on each focal set.

        Returns
        -------
        dict
            Keys are tuples of cluster indices.
        """
        return dict(zip(self.focal_sets, self._totals().counts.tolist(), strict=True))

    def nonspecificity_index(self) -> float:
        """Return N*, the mean nonspecificity divided by log2 c, from 0 (precise) to 1 (vacuous).

        Returns
        -------
        float
        """
        return self._totals().nonspecificity_index(self.n_clusters)

    def summary(self, *, verbose: bool = False) -> PartitionSummary:
        """Return the numbers of certain, possible and ambiguous objects, and of outliers.

        At most 1,000 outliers are listed.

        Parameters
        ----------
        verbose : bool, default=False
            As in `CredalPartition.summary`.

        Returns
        -------
        PartitionSummary
        """
        totals = self._totals()
        return summarize_counts(
            self.focal_sets,
            totals.counts,
            names=self.frame,
            typical=totals.typical.tolist(),
            outliers=totals.outliers.tolist(),
            nonspecificity=totals.nonspecificity_index(self.n_clusters),
            metadata=self.metadata,
            verbose=verbose,
        )

    def _totals(self) -> _Totals:
        with block_map(1) as apply:
            return self._rows.reduce(_compute_totals, self._recipe, apply)

    # ---- blocks ----------------------------------------------------------------------------------

    def partitions(self) -> Iterator[CredalPartition]:
        """Iterate over the blocks as `CredalPartition` objects.

        Yields
        ------
        CredalPartition
            Rows of one block.
        """
        parts: Any = self._rows.map(_compute_partition, self._recipe, None, object)
        for part in parts.blocks():
            part._metadata = self._metadata
            yield part

    def compute(self) -> CredalPartition:
        """Return the whole partition in memory.

        Returns
        -------
        CredalPartition
        """
        none = np.empty((0, len(self.focal_sets)), self.dtype)
        parts = [part.stored_masses for part in self.partitions()]
        return CredalPartition.unchecked(
            concatenate_rows(parts or [none]),
            self.focal_sets,
            frame=self.frame,
            metadata=self._metadata,
        )

    def to_frame(self, *, top: int | None = None) -> pd.DataFrame:
        """Return a table with a column for each set, or with the largest masses, in memory.

        Parameters
        ----------
        top : int or None, default=None
            As in `CredalPartition.to_frame`.

        Returns
        -------
        DataFrame
            Its index counts the rows from 0.
        """
        n_bytes = len(self) * len(self.focal_sets) * self.dtype.itemsize
        advice = "write it in blocks (to_parquet), or iterate over partitions()"
        check_memory(n_bytes, "the table of all masses", advice)
        return self.compute().to_frame(top=top)

    def to_parquet(
        self, folder: str | os.PathLike[str], *, top: int | None = None
    ) -> list[Path]:
        """Write one Parquet file for each block, and return their paths in order.

        `dempster.io.read_partition` reads the files. The names of the objects are their indices.

        Parameters
        ----------
        folder : path
            New or empty folder, to which all Dask workers have access.
        top : int, optional
            Number of masses to write for each object, for a very large number of clusters. The
            largest masses are written as a list of set indices and a list of masses; the rest is
            moved to the frame. No plausibility decreases. No belief increases, except that of the
            frame if mass on the empty set is moved.

        Returns
        -------
        list of Path
        """
        check(top, "top", choice(None) | integer(1))
        check(folder, "folder", kind(str, os.PathLike, words="a path"))
        target = Path(folder).absolute()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InvalidParameterError(
                "folder", must=f"be new or empty, but {folder} is not"
            )
        target.mkdir(parents=True, exist_ok=True)
        paths = self._rows.map_numbered(
            _write_block, (self._recipe, self.metadata, target, top)
        )
        return [path for path in paths if path is not None]

    def __repr__(self) -> str:
        number = "an unknown number of"
        if self.n_objects is not None:
            number = f"{self.n_objects:,}"
        name = type(self).__name__
        return f"{name}({number} objects, {self.n_clusters} clusters)"

    # ---- helpers ---------------------------------------------------------------------------------

    @property
    def _recipe(self) -> _Recipe:
        return self.focal_sets, self.frame, self._predict

    def _map(
        self,
        name: str,
        width: int | None,
        dtype: np.dtype | type,
        **options: Any,
    ) -> Any:
        """Evaluate an attribute or method of `CredalPartition` with a row per object, by blocks."""
        request = self._recipe, name, options
        return self._rows.map(_compute_summary, request, width, dtype).to_lazy()

    def _find(self, name: str, **options: Any) -> Any:
        """Evaluate an attribute or method of `CredalPartition` with row indices, by blocks."""
        request = self._recipe, name, options
        mask = self._rows.map(_compute_mask, request, None, bool)
        return mask.positions().to_lazy()

    def _check_cluster(self, cluster: int) -> int:
        check(cluster, "cluster", integer(0, self.n_clusters - 1))
        return int(cluster)


# the sets of the partition, the names of the clusters, and the function that computes the masses
# of a block
_Recipe = tuple[FocalSets, tuple[Hashable, ...], tuple[BlockFunction, Any] | None]
_Request = tuple[_Recipe, str, dict[str, Any]]


def _compute_partition(
    block: np.ndarray, recipe: _Recipe, apply: Apply
) -> CredalPartition:
    family, frame, predict = recipe
    masses: Array = block
    if predict is not None:
        function, argument = predict
        masses = function(block, argument, apply)
    return CredalPartition.unchecked(masses, family, frame=frame)


def _compute_summary(block: np.ndarray, request: _Request, apply: Apply) -> np.ndarray:
    recipe, name, options = request
    summary = getattr(_compute_partition(block, recipe, apply), name)
    if callable(summary):
        return summary(**options)
    return summary


def _compute_mask(block: np.ndarray, request: _Request, apply: Apply) -> np.ndarray:
    mask = np.zeros(len(block), bool)
    mask[_compute_summary(block, request, apply)] = True
    return mask


def _write_block(
    block: np.ndarray,
    start: int,
    number: int,
    shared: tuple[_Recipe, dict[str, Any], Path, int | None],
) -> Path | None:
    """Write one block to a file.

    If Dask repeats the task after losing a worker, the same file is written.
    """
    import pandas as pd

    # A top-level import would be circular.
    from dempster.io.partitions import write_partition, write_top_masses

    recipe, metadata, folder, top = shared
    if len(block) == 0:
        return None
    path = folder / f"part-{number:06d}.parquet"
    with block_map(1) as apply:
        partition = _compute_partition(block, recipe, apply)
    partition.index = pd.RangeIndex(start, start + len(block))
    partition._metadata = metadata
    if top is None:
        write_partition(partition, path)
    else:
        write_top_masses(partition, path, top)
    return path


@dataclass(frozen=True)
class _Totals:
    """Statistics of the rows of one or several consecutive blocks.

    Statistics of later blocks can be added.
    """

    n: int
    # Number of rows with their largest mass on each focal set, shape (f,).
    counts: np.ndarray
    largest: np.ndarray  # Largest mass on each single cluster, shape (c,).
    typical: np.ndarray  # Index of the first row with this largest mass, shape (c,).
    outliers: np.ndarray  # Indices of the first outliers.
    nonspecificity: float  # Sum over the rows.

    def __add__(self, later: _Totals) -> _Totals:
        is_larger = later.largest > self.largest
        return _Totals(
            self.n + later.n,
            self.counts + later.counts,
            np.where(is_larger, later.largest, self.largest),
            np.where(is_larger, self.n + later.typical, self.typical),
            np.concatenate([self.outliers, self.n + later.outliers])[
                :_MAX_LISTED_OUTLIERS
            ],
            self.nonspecificity + later.nonspecificity,
        )

    def nonspecificity_index(self, n_clusters: int) -> float:
        if n_clusters == 1:
            return 0.0
        return float(np.clip(self.nonspecificity / self.n / np.log2(n_clusters), 0, 1))


def _compute_totals(block: np.ndarray, recipe: _Recipe, apply: Apply) -> _Totals:
    partition = _compute_partition(block, recipe, apply)
    own = partition.singleton_belief
    return _Totals(
        len(block),
        np.bincount(partition.best_set, minlength=len(partition.focal_sets)),
        own.max(axis=0),
        own.argmax(axis=0),
        partition.outliers[:_MAX_LISTED_OUTLIERS],
        float(partition.nonspecificity().sum(dtype=float)),
    )


# ---- largest masses, for very many clusters ------------------------------------------------------


def family_with_frame(family: FocalSets) -> FocalSets:
    """Return the family with the frame, which is added as the last set if it is missing."""
    if family.omega_index is not None:
        return family
    return FocalSets(
        np.vstack([family.membership, np.ones((1, family.n_clusters), bool)])
    )


def top_masses(masses: Array, family: FocalSets, top: int) -> sparse.csr_array:
    """Return the ``top`` largest masses of each row, with the rest moved to the frame.

    No belief increases and no plausibility decreases. In case of ties the first columns are kept.
    The columns of the result are those of `family_with_frame`.
    """
    from scipy import sparse  # Imported here, because only this function needs it.

    wider = family_with_frame(family)
    assert wider.omega_index is not None
    n, f = masses.shape
    k = min(top, f)
    sets, largest = largest_in_rows(masses, k)
    rest = np.maximum(masses.sum(axis=1) - largest.sum(axis=1), 0)
    rows = np.concatenate([np.repeat(np.arange(n), k), np.arange(n)])
    columns = np.concatenate(
        [np.maximum(sets, 0).ravel(), np.full(n, wider.omega_index)]
    )
    values = np.concatenate([largest.ravel(), rest])
    result = sparse.csr_array((values, (rows, columns)), shape=(n, len(wider)))
    result.eliminate_zeros()
    result.sort_indices()
    return result
