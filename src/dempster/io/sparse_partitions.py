"""Partitions of which a file holds the largest masses only: for each object two lists, of sets and of their masses."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check, integer, shown
from dempster.belief import FocalSets
from dempster.io.atomic import as_path, atomic_write
from dempster.io.failures import missing_pyarrow
from dempster.partition import CredalPartition
from dempster.partition.lazy import family_with_frame, top_masses

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["is_sparse_schema", "read_sparse", "write_top_masses"]

_KEY = b"dempster-sparse"
_POSITION, _SETS, _MASSES = "row", "sets", "masses"


def write_top_masses(partition: CredalPartition, path: str | os.PathLike[str], top: int) -> None:
    """Write the largest masses of each object only, whole or not at all; the rest of its mass is on the frame.

    For very many clusters. No belief is larger than it was, no plausibility smaller; which small sets the rest was on
    is lost. The columns ``label`` and ``assignment`` are those of all masses. `read_partition` reads the file.

    Parameters
    ----------
    partition : CredalPartition
        Its clusters have no names of their own, and its objects are named by numbers, or not at all.
    path : path
        ``.parquet``.
    top : int
        How many masses of each object are kept.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import read_partition, write_top_masses
    >>> cp = CredalPartition([[0.7, 0.2, 0.06, 0.04, 0]], FocalSets.from_sets(3, [[0], [1], [2], [0, 1], [0, 1, 2]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_top_masses(cp, Path(folder) / "large.parquet", 2)
    ...     read_partition(Path(folder) / "large.parquet")
    CredalPartition(1 objects, 3 clusters)
    {0}: 0.7  {1}: 0.2  Ω: 0.1
    """
    if not isinstance(partition, CredalPartition):
        raise InvalidInputError(f"partition must be a CredalPartition, got {type(partition).__name__}")
    check(top, "top", integer(1))
    partition, path = partition.to_numpy(), as_path(path)
    if path.suffix.lower() != ".parquet":
        raise InvalidInputError(f"path must end in .parquet, got {shown(path.name)}")
    if partition.frame != tuple(range(partition.n_clusters)):
        raise InvalidInputError("partition must have clusters without names of their own: these are not kept")
    names = np.arange(len(partition)) if partition.index is None else np.asarray(partition.index)
    if names.dtype.kind not in "iu":
        raise InvalidInputError(
            "partition must have objects named by whole numbers, or not at all: other names are not kept"
        )
    family = family_with_frame(partition.focal_sets)
    masses = top_masses(partition.masses, partition.focal_sets, top)
    derived = {
        _POSITION: names,
        "label": partition.labels,
        "label_with_outliers": partition.labels_with_outliers,
        "assignment": np.array(partition.focal_sets.names())[partition.best_set],
    }
    with atomic_write(path) as temporary:
        try:
            _write(masses, family, derived, partition.metadata, temporary)
        except ImportError as error:
            raise missing_pyarrow(path) from error


def is_sparse_schema(schema: Any) -> bool:
    """Whether a Parquet file is one of these."""
    return _KEY in (schema.metadata or {})


def read_sparse(path: Path) -> tuple[sparse.csr_array, FocalSets, np.ndarray, dict[str, Any]]:
    """Masses, their sets, positions of the objects, and how they were made."""
    import pyarrow.parquet as pq

    table = pq.read_table(path).combine_chunks()
    about = json.loads(table.schema.metadata[_KEY])
    family = FocalSets.from_sets(int(about.pop("n_clusters")), about.pop("focal_sets"))
    sets, values = (table.column(name).combine_chunks() for name in (_SETS, _MASSES))
    places, ends = sets.flatten().to_numpy(), np.append(0, np.cumsum(sets.value_lengths().to_numpy()))
    data = values.flatten().to_numpy()
    if len(data) != len(places) or (len(places) and (places.min() < 0 or places.max() >= len(family))):
        raise InvalidInputError("the file is damaged: its masses do not go with its sets")
    from scipy import sparse

    masses = sparse.csr_array((data, places, ends), shape=(len(sets), len(family)))
    return masses, family, table.column(0).to_numpy(), about


def _write(
    masses: sparse.csr_array, family: FocalSets, derived: dict[str, np.ndarray], metadata: dict[str, Any], path: Path
) -> None:
    """Columns for people first, then positions of sets, and their masses; the sets are in the metadata of the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ends = pa.array(masses.indptr.astype(np.int32))
    columns = {name: pa.array(values) for name, values in derived.items()}
    columns[_SETS] = pa.ListArray.from_arrays(ends, pa.array(masses.indices.astype(np.int32)))
    columns[_MASSES] = pa.ListArray.from_arrays(ends, pa.array(masses.data))
    about = {"n_clusters": family.n_clusters, "focal_sets": [list(map(int, each)) for each in family], **metadata}
    table = pa.table(columns).replace_schema_metadata({_KEY: json.dumps(about, default=repr).encode()})
    pq.write_table(table, path)
