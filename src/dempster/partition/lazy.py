"""A credal partition of objects that come in blocks: what is long stays where the objects are until it is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._validation import check, choice, integer, is_integer
from dempster.belief import FocalSets
from dempster.data.blocks import Blocks
from dempster.optimize.blocks import Apply
from dempster.partition.credal_partition import CredalPartition, PartitionSummary

if TYPE_CHECKING:
    from scipy import sparse


_NAMED_OUTLIERS = 1000  # that a summary lists by their positions


class LazyCredalPartition:
    """The credal partition of a fit, or of new objects, that come in blocks.

    What has a row for each object is lazy: a Dask array where X was one, else an array that ``compute()`` or
    ``numpy.asarray`` brings into memory and ``blocks()`` gives piece by piece. Positions count from the first object of
    all blocks. What is short, `counts`, `summary` and `nonspecificity_index`, takes one pass over the objects.

    Estimators make it; there is no need to call the constructor.

    Parameters
    ----------
    masses : Blocks
        Rows of masses.
    focal_sets : FocalSets
    metadata : mapping, optional
        How it was made, as in `CredalPartition`.

    Examples
    --------
    >>> import numpy as np
    >>> from dempster.cluster import ECM
    >>> def blocks():  # begins anew whenever it is called
    ...     for k in range(4):
    ...         yield np.random.default_rng(k).normal(size=(50, 2)) + 8 * (k % 2)
    >>> partition = ECM(2, random_state=0).fit(blocks).credal_partition_
    >>> partition
    LazyCredalPartition(200 objects, 2 clusters)
    >>> sum(partition.counts().values())
    200
    >>> partition.labels.compute().shape
    (200,)
    >>> for part in partition.partitions():  # one CredalPartition after the other
    ...     print(len(part))
    200
    """

    def __init__(self, masses: Blocks, focal_sets: FocalSets, metadata: Mapping[str, Any] | None = None):
        self._rows = masses
        self.focal_sets = focal_sets
        self.metadata = dict(metadata or {})

    @property
    def n_clusters(self) -> int:
        return self.focal_sets.n_clusters

    @property
    def n_objects(self) -> int | None:
        """None if it is not known before all blocks were read."""
        return self._rows.n_rows

    def __len__(self) -> int:
        """Reads all blocks if the number of objects is not known."""
        return self._rows.counted()

    # ---- a row for each object, lazily ----------------------------------------------------------------------------

    @property
    def masses(self) -> Any:
        """(n, f) masses."""
        return self._rows.lazy()

    @property
    def labels(self) -> Any:
        """(n,) cluster of largest plausibility, as in `CredalPartition`."""
        return self._made("labels", None, np.int64).lazy()

    @property
    def labels_with_outliers(self) -> Any:
        """`labels`, with -1 for outliers."""
        return self._made("labels_with_outliers", None, np.int64).lazy()

    @property
    def best_set(self) -> Any:
        """(n,) position in `focal_sets` of the set of largest mass."""
        return self._made("best_set", None, np.int64).lazy()

    @property
    def contour(self) -> Any:
        """(n, c) plausibilities of the clusters."""
        return self._made("contour", self.n_clusters, self._rows.dtype).lazy()

    def pignistic(self, *, normalized: bool = True) -> Any:
        """(n, c) probabilities: each mass is shared equally inside its set."""
        return self._made("pignistic", self.n_clusters, self._rows.dtype, normalized=normalized).lazy()

    def nonspecificity(self) -> Any:
        """(n,) nonspecificities of the masses, 0 (precise) to log2 c (knows nothing)."""
        return self._made("nonspecificity", None, self._rows.dtype).lazy()

    def assignment(self, rule: str = "max_mass", *, keep_outliers: bool = True) -> Any:
        """(n, c) truth values: the clusters each object is assigned to, as in `CredalPartition`."""
        return self._made("assignment", self.n_clusters, bool, rule, keep_outliers=keep_outliers).lazy()

    # ---- positions, lazily ----------------------------------------------------------------------------------------

    def lower(self, cluster: int, rule: str = "max_mass", *, keep_outliers: bool = True) -> Any:
        """Positions of the objects that certainly belong to the cluster."""
        return self._found("lower", self._checked(cluster), rule, keep_outliers=keep_outliers)

    def upper(self, cluster: int, rule: str = "max_mass", *, keep_outliers: bool = True) -> Any:
        """Positions of the objects that possibly belong to the cluster."""
        return self._found("upper", self._checked(cluster), rule, keep_outliers=keep_outliers)

    @property
    def outliers(self) -> Any:
        """Positions of the objects whose largest mass is on the empty set."""
        return self._found("outliers")

    @property
    def ambiguous(self) -> Any:
        """Positions of the objects whose largest mass is on a set of two clusters or more."""
        return self._found("ambiguous")

    # ---- what is short: one pass ----------------------------------------------------------------------------------

    def counts(self) -> dict[tuple[int, ...], int]:
        """How many objects have their largest mass on each of the focal sets."""
        return dict(zip(self.focal_sets, self._totals().counts.tolist(), strict=True))

    def nonspecificity_index(self) -> float:
        """N*: mean nonspecificity over log2 c, 0 (precise) to 1 (nothing known); 0 for a single cluster."""
        return self._totals().nonspecificity_index(self.n_clusters)

    def summary(self) -> PartitionSummary:
        """Clusters, certain, ambiguous and outlying objects, as a table a person reads.

        Of more than 1,000 outliers the first are named.
        """
        totals = self._totals()
        return PartitionSummary.from_counts(
            self.focal_sets,
            totals.counts,
            typical=[int(at) for at in totals.where],
            outliers=totals.outliers.tolist(),
            nonspecificity=totals.nonspecificity_index(self.n_clusters),
            choices=self.metadata.get("choices", {}),
        )

    def _totals(self) -> _Totals:
        return self._rows.reduce(_totals, self.focal_sets, _one_by_one)

    # ---- block by block -------------------------------------------------------------------------------------------

    def partitions(self) -> Iterator[CredalPartition]:
        """One `CredalPartition` after the other, of the objects of a block each."""
        for block in self._rows.blocks():
            yield CredalPartition.unchecked(block, self.focal_sets, metadata=self.metadata)

    def compute(self) -> CredalPartition:
        """All of it in memory."""
        return CredalPartition.unchecked(self._rows.compute(), self.focal_sets, metadata=self.metadata)

    def sparse_masses(self, top: int) -> Iterator[sparse.csr_array]:
        """The ``top`` largest masses of each object, block by block; the rest of its mass is on the frame.

        For very many clusters: an object has few masses that are not small. With the rest on the set of all clusters
        no belief is larger than it was (but that of all clusters together, if mass of the empty set is among the
        rest) and no plausibility smaller; what is lost is on which small masses it was.
        The columns are `focal_sets`, and one more for the frame if this is not among them.
        """
        check(top, "top", integer(1))
        for block in self._rows.blocks():
            yield top_masses(block, self.focal_sets, top)

    def to_parquet(self, folder: str | os.PathLike[str], *, top: int | None = None) -> list[Path]:
        """Write a Parquet file for each block into a folder, where the blocks are, and give their paths in order.

        Each is a table that `dempster.io.read_partition` reads; its objects are named by their positions. The folder
        must be new or empty, and one that all workers of Dask see.

        Parameters
        ----------
        folder : path
        top : int, optional
            For very many clusters: only so many masses of each object are written, the largest, as two lists, of the
            positions of sets and of their masses; the rest of its mass is on the frame, as in `sparse_masses`.
        """
        check(top, "top", choice(None) | integer(1))
        if not isinstance(folder, str | os.PathLike):
            raise InvalidParameterError("folder", "text or a Path", folder)
        target = Path(folder).absolute()
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise InvalidParameterError("folder", must=f"be new or empty, but {folder} is not")
        target.mkdir(parents=True, exist_ok=True)
        paths = self._rows.each(_written, (self.focal_sets, self.metadata, target, top))
        return [path for path in paths if path is not None]

    def __repr__(self) -> str:
        n = "an unknown number of" if self.n_objects is None else f"{self.n_objects:,}"
        return f"LazyCredalPartition({n} objects, {self.n_clusters} clusters)"

    # ---- how ------------------------------------------------------------------------------------------------------

    def _made(self, name: str, width: int | None, dtype: np.dtype | type, *arguments: Any, **options: Any) -> Blocks:
        """A summary of `CredalPartition` that has a row for each object."""
        return self._rows.map(_summarized, (self.focal_sets, name, arguments, options), width, dtype)

    def _found(self, name: str, *arguments: Any, **options: Any) -> Any:
        """A summary of `CredalPartition` that gives positions."""
        return self._rows.map(_marked, (self.focal_sets, name, arguments, options), None, bool).positions().lazy()

    def _checked(self, cluster: int) -> int:
        if not is_integer(cluster) or not 0 <= cluster < self.n_clusters:
            raise InvalidParameterError("cluster", f"an integer from 0 to {self.n_clusters - 1}", cluster)
        return int(cluster)


_Asked = tuple[FocalSets, str, tuple[Any, ...], dict[str, Any]]


def _summarized(block: np.ndarray, asked: _Asked, apply: Apply) -> np.ndarray:
    family, name, arguments, options = asked
    found = getattr(CredalPartition.unchecked(block, family), name)
    return found(*arguments, **options) if callable(found) else found


def _marked(block: np.ndarray, asked: _Asked, apply: Apply) -> np.ndarray:
    marks = np.zeros(len(block), dtype=bool)
    marks[_summarized(block, asked, apply)] = True
    return marks


def _one_by_one(function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], /) -> list[Any]:
    return [function(*each) for each in arguments]


def _written(
    block: np.ndarray, start: int, number: int, shared: tuple[FocalSets, dict[str, Any], Path, int | None]
) -> Path | None:
    """Write one block; the same file if a worker is lost and it is done again."""
    import pandas as pd

    from dempster.io.partitions import write_partition, write_top_masses  # above this package

    family, metadata, folder, top = shared
    if len(block) == 0:
        return None
    path = folder / f"part-{number:06d}.parquet"
    partition = CredalPartition.unchecked(block, family, pd.RangeIndex(start, start + len(block)), metadata=metadata)
    if top is None:
        write_partition(partition, path)
    else:
        write_top_masses(partition, path, top)
    return path


@dataclass(frozen=True)
class _Totals:
    """What a summary wants to know of some objects; those of the objects that follow can be added.

    Attributes
    ----------
    n : int
    counts : (f,) array
        Objects whose largest mass is on each set.
    most, where : (c,) arrays
        Largest mass on each single cluster, and the position of the first object that has it.
    outliers : (o,) array
        Positions of the first of them.
    nonspecificity : float
        Sum over the objects.
    """

    n: int
    counts: np.ndarray
    most: np.ndarray
    where: np.ndarray
    outliers: np.ndarray
    nonspecificity: float

    def __add__(self, later: _Totals) -> _Totals:
        more = later.most > self.most
        return _Totals(
            self.n + later.n,
            self.counts + later.counts,
            np.where(more, later.most, self.most),
            np.where(more, self.n + later.where, self.where),
            np.concatenate([self.outliers, self.n + later.outliers])[:_NAMED_OUTLIERS],
            self.nonspecificity + later.nonspecificity,
        )

    def nonspecificity_index(self, n_clusters: int) -> float:
        if n_clusters == 1:
            return 0.0
        return float(np.clip(self.nonspecificity / self.n / np.log2(n_clusters), 0, 1))


def _totals(block: np.ndarray, family: FocalSets, apply: Apply) -> _Totals:
    partition = CredalPartition.unchecked(block, family)
    own = partition.singleton_belief
    return _Totals(
        len(block),
        np.bincount(partition.best_set, minlength=len(family)),
        own.max(axis=0),
        own.argmax(axis=0),
        partition.outliers[:_NAMED_OUTLIERS],
        float(partition.nonspecificity().sum(dtype=float)),
    )


# ---- the largest masses, for very many clusters ---------------------------------------------------------------------

# A mass function with its k largest masses kept and the rest on the frame is an outer approximation of it: no degree of
# belief is larger than it was, no plausibility smaller. What is lost is which of the small sets the rest was on.


def family_with_frame(family: FocalSets) -> FocalSets:
    """The same sets in the same order, and the set of all clusters at the end if it is not among them."""
    if family.omega_index is not None:
        return family
    return FocalSets(np.vstack([family.membership, np.ones((1, family.n_clusters), dtype=bool)]))


def top_masses(masses: np.ndarray, family: FocalSets, top: int) -> sparse.csr_array:
    """(n, f) the ``top`` largest masses of each row, of equal ones the first, with the rest on the frame.

    ``family`` is that of the masses; the columns are those of `family_with_frame`. Rows sum to what they did.
    """
    from scipy import sparse  # which tables and partitions do without

    wider = family_with_frame(family)
    assert wider.omega_index is not None
    n, f = masses.shape
    k = min(top, f)
    sets = np.sort(np.argsort(-masses, axis=1, kind="stable")[:, :k], axis=1)
    kept = np.take_along_axis(masses, sets, axis=1)
    rest = np.maximum(masses.sum(axis=1) - kept.sum(axis=1), 0)
    rows = np.repeat(np.arange(n), k)
    everything = np.concatenate([kept.ravel(), rest])
    places = np.concatenate([sets.ravel(), np.full(n, wider.omega_index)])
    found = sparse.csr_array((everything, (np.concatenate([rows, np.arange(n)]), places)), shape=(n, len(wider)))
    found.eliminate_zeros()
    found.sort_indices()
    return found
