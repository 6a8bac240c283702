"""Read and write partitions of the R package evclust in files of ``saveRDS``, without R.

The package rdata (extra ``r``) reads and writes the files.
"""

from __future__ import annotations

import bz2
import gzip
import io
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, MissingExtraError
from dempster._types import FilePath
from dempster.belief import FocalSets
from dempster.io.atomic import as_file, as_path, wrap_read_errors, write_atomically
from dempster.io.partitions import check_partition
from dempster.io.text import LimitedReader
from dempster.partition import CredalPartition


def _open_xz(path: FilePath) -> Any:
    import lzma  # not a part of every Python

    return lzma.open(path)


_COMPRESSED: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": _open_xz,
}


@dataclass
class RValue:
    """Vector, matrix or list in R with attributes (dimnames, names, class)."""

    values: Any
    attributes: dict[str, Any] = field(default_factory=dict)


def read_r(path: FilePath) -> CredalPartition:
    """Read a credal partition written in R by ``saveRDS(clus, "clus.rds")``.

    Code in the file is not executed. This function requires rdata (``pip install dempster[r]``).

    Parameters
    ----------
    path : path
        File written by ``saveRDS`` (compressed or not). It contains a ``credpart`` of the package
        evclust, or any list with the matrices ``mass`` of shape (n, f) and ``F`` of shape (f, c),
        for n objects, f focal sets and c clusters.

    Returns
    -------
    CredalPartition
        The names of the columns of ``F`` become the names of the clusters. Without names, R's first
        cluster becomes cluster 0. The names of the rows of ``mass`` become the index. ``metadata``
        contains the method and its criterion.

    Raises
    ------
    ValueError
        The file contains no credal partition.
    """
    path = as_file(path)
    rdata = _import_rdata("read_r")
    with wrap_read_errors(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rdata does not know the class credpart.
        content = _read_content(path)
        try:
            value = rdata.read_rds(io.BytesIO(content))
        except OSError:
            raise
        except Exception as error:  # rdata raises errors of many types.
            raise InvalidInputError(
                "the file is damaged, or was not written by R's saveRDS"
            ) from error
        return _to_partition(value)


def write_r(partition: CredalPartition, path: FilePath) -> None:
    """Write a credal partition to a file for ``readRDS`` in R.

    The R object is a ``credpart`` of the package evclust. It has the components that
    ``extractMass`` computes, so that ``plot``, ``summary`` and ``pairwise_mass`` work. Objects and
    clusters are numbered from 1. This function requires rdata (``pip install dempster[r]``).

    Parameters
    ----------
    partition : CredalPartition
        Partition to write. The empty set becomes the first focal set and is added if necessary.
        Names of objects become row names of ``mass``. Names of clusters other than 0, 1, ... become
        column names of ``F``.
    path : path
        File to write, usually with the extension ``.rds``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import write_r
    >>> masses = [[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]]
    >>> cp = CredalPartition(masses, FocalSets.full(2), index=["ann", "bob"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_r(cp, Path(folder) / "people.rds")
    """
    check_partition(partition)
    _import_rdata("write_r")
    with write_atomically(as_path(path)) as temporary:
        write_rds(_to_r(partition.to_numpy()), temporary)


def _import_rdata(function: str) -> Any:
    try:
        import rdata
    except ImportError as error:
        raise MissingExtraError(function, "rdata", "r") from error
    return rdata


# ---- from R --------------------------------------------------------------------------------------


def _read_content(path: Path) -> bytes:
    """Return the decompressed content of a file."""
    with open(path, "rb") as file:
        start = file.read(len(b"\xfd7zXZ"))
        for magic, open_file in _COMPRESSED.items():
            if start.startswith(magic):
                with io.BufferedReader(LimitedReader(path, open_file)) as content:
                    return content.read()
        return start + file.read()


def _to_partition(value: Any) -> CredalPartition:
    """Return the partition in an R object that was converted by rdata."""
    if not isinstance(value, dict) or not {"mass", "F"} <= value.keys():
        raise InvalidInputError(
            "the file must contain a credal partition, a list with the matrices mass and F; use in "
            "R: saveRDS(clus[c('mass', 'F', 'method')], file)"
        )
    masses = _as_matrix(value["mass"])
    membership = _as_matrix(value["F"])
    if masses.dtype.kind != "f" or not np.isin(membership, (0, 1)).all():
        raise InvalidInputError("mass must contain numbers, and F zeros and ones")
    if masses.shape[1] != len(membership):
        raise InvalidInputError(
            f"mass has {masses.shape[1]} columns, but F has {len(membership)} rows"
        )
    metadata = {
        "method": _to_scalar(value.get("method")),
        "objective": _to_scalar(value.get("crit")),
    }
    return CredalPartition(
        masses,
        FocalSets(membership == 1),
        _names(value["mass"], "dim_0"),
        frame=_names(value["F"], "dim_1"),
        metadata={name: entry for name, entry in metadata.items() if entry is not None},
    )


def _as_matrix(values: Any) -> np.ndarray:
    """Return a matrix; a vector becomes one column."""
    matrix = np.asarray(values)
    if matrix.ndim == 1:
        return matrix[:, None]
    return matrix


def _names(matrix: Any, dimension: str) -> list[str] | None:
    """Return the names of the rows or columns of a matrix, or None if there are none."""
    coordinates = getattr(matrix, "coords", {})
    if dimension not in coordinates:
        return None
    return [str(name) for name in coordinates[dimension].values]


def _to_scalar(value: Any) -> Any:
    """Return the number or text in a vector of length 1, or None for other values."""
    values = np.asarray(value)
    if values.size == 1:
        return values.item()
    return None


# ---- to R ----------------------------------------------------------------------------------------


def _to_r(partition: CredalPartition) -> RValue:
    """Return a partition as a ``credpart`` in R, with the components documented by evclust."""
    partition = _with_empty_set_first(partition)
    membership = partition.focal_sets.membership
    cardinality = partition.focal_sets.cardinality
    c = partition.n_clusters
    masses = np.asarray(partition.masses, float)
    contour = np.asarray(partition.contour, float)
    belief = masses @ (membership & (cardinality == 1)[:, None]).astype(float)
    pignistic = masses @ (membership / np.maximum(cardinality, 1)[:, None])
    conflict = masses[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        # infinite for certain outliers, which have no normalized masses
        scale = (1 / (1 - conflict))[:, None]
        share = contour / contour.sum(axis=1, keepdims=True)
        normalized = {
            "mass.n": scale * masses[:, 1:],
            "pl.n": scale * contour,
            "bel.n": scale * belief,
            "betp.n": scale * pignistic,
        }
    largest = membership[masses.argmax(axis=1)]
    undominated = contour >= belief.max(axis=1, keepdims=True)
    specific = 0.0
    if c > 1 and len(masses):
        logarithms = np.log(np.where(cardinality > 0, cardinality, c))
        specific = float((masses @ logarithms).mean() / np.log(c))
    names = None
    if partition.index is not None:
        names = [str(name) for name in partition.index]
    fields = {
        "conf": conflict,
        "F": _matrix(membership.astype(float), columns=_cluster_names(partition)),
        "mass": _matrix(masses, rows=names),
        **normalized,
        "pl": contour,
        "bel": belief,
        "p": share,
        "betp": pignistic,
        "y.pl": partition.labels + 1,
        "y.bel": belief.argmax(axis=1) + 1,
        "Y": largest.astype(float),
        "Ynd": undominated.astype(float),
        "outlier": _positions(~largest.any(axis=1)),
        **_approximations(largest, ""),
        **_approximations(undominated, ".nd"),
        "N": specific,
        "method": str(partition.metadata.get("method", "dempster")),
    }
    attributes = {"names": np.array(list(fields)), "class": "credpart"}
    return RValue(list(fields.values()), attributes)


def _with_empty_set_first(partition: CredalPartition) -> CredalPartition:
    """Return the partition with the empty set as first focal set, which evclust requires."""
    family = partition.focal_sets
    empty = np.zeros((1, family.n_clusters), bool)
    others = family.membership[family.cardinality > 0]
    moved = partition.to_family(FocalSets(np.vstack([empty, others])))
    return CredalPartition.unchecked(
        moved.masses,
        moved.focal_sets,
        partition.index,
        partition.frame,
        metadata=partition.metadata,
    )


def _cluster_names(partition: CredalPartition) -> list[str] | None:
    names = list(partition.frame)
    if names == list(range(partition.n_clusters)):
        return None
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise InvalidInputError(
            f"frame must contain names that differ as text, got {names}; convert all"
        )
    return texts


def _matrix(
    values: np.ndarray, rows: list[str] | None = None, columns: list[str] | None = None
) -> Any:
    if not rows and not columns:
        return values
    dimnames = [np.array(names, object) if names else None for names in (rows, columns)]
    attributes = {"dim": np.array(values.shape), "dimnames": dimnames}
    return RValue(values.ravel(order="F"), attributes)


def _positions(mask: np.ndarray) -> np.ndarray:
    return np.flatnonzero(mask) + 1


def _approximations(sets: np.ndarray, suffix: str) -> dict[str, list[np.ndarray]]:
    """Return the positions of the objects in the lower and upper approximations of the clusters."""
    is_single = sets.sum(axis=1) == 1
    return {
        f"lower.approx{suffix}": [_positions(column & is_single) for column in sets.T],
        f"upper.approx{suffix}": [_positions(column) for column in sets.T],
    }


def write_rds(value: Any, path: Path) -> None:
    """Write an R object like ``saveRDS(x, file, version = 2)``, for R 1.4 and later versions."""
    from rdata.conversion import convert_python_to_r_data
    from rdata.unparser import unparse_data

    data = convert_python_to_r_data(
        value, format_version=2, constructor_dict={RValue: _convert}
    )
    # The same partition gives the same file.
    content = unparse_data(data, file_type="rds")
    path.write_bytes(gzip.compress(content, compresslevel=6, mtime=0))


def _convert(value: RValue, converter: Any) -> Any:
    """Return the representation in rdata of a value with attributes."""
    converted = converter.convert_to_r_object(value.values)
    converted.attributes = converter.convert_to_r_attributes(value.attributes)
    converted.info.attributes = True
    converted.info.object = "class" in value.attributes
    return converted
