"""Credal partitions of the R package evclust: its class ``credpart`` in files of ``saveRDS``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.belief import FocalSets
from dempster.io.atomic import as_file, as_path, atomic_write
from dempster.io.failures import failure_in_words, unwritable
from dempster.io.rds import RValue, read_rds, write_rds
from dempster.partition import CredalPartition

__all__ = ["read_r", "write_r"]


def read_r(path: str | os.PathLike[str]) -> CredalPartition:
    """Read a credal partition that R has written: ``saveRDS(clus, "clus.rds")``. Nothing in the file is run.

    Parameters
    ----------
    path : path
        A file of ``saveRDS`` (compressed or not) with a ``credpart`` of the package evclust, or any list with the
        matrices ``mass`` (n, f) and ``F`` (f, c).

    Returns
    -------
    CredalPartition
        Clusters are named by the columns of ``F`` if these have names, else 0, 1, ...: the first cluster of R is
        cluster 0. Objects are named by the rows of ``mass``. ``metadata`` has the method and its criterion.

    Raises
    ------
    ValueError
        It is no such file, or the masses are none.
    """
    path = as_file(path)
    with failure_in_words(path):
        try:
            return _from_r(read_rds(path))
        except InvalidInputError:
            raise
        except (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError, RecursionError) as error:
            raise InvalidInputError("its content is damaged, or none of a credal partition") from error


def write_r(partition: CredalPartition, path: str | os.PathLike[str]) -> None:
    """Write a credal partition for R: ``clus <- readRDS("clus.rds")`` is a ``credpart`` of the package evclust.

    It has what ``extractMass`` of that package makes of masses, so that ``plot``, ``summary``, ``pairwise_mass``, ...
    take it. Objects and clusters are counted from 1 there.

    Parameters
    ----------
    partition : CredalPartition
        The empty set is put first, and added without mass if it is not a focal set. Names of objects become names of
        the rows of ``mass``, names of clusters (other than 0, 1, ...) those of the columns of ``F``.
    path : path
        Usually ``.rds``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import read_r, write_r
    >>> cp = CredalPartition([[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]], FocalSets.full(2), index=["ann", "bob"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_r(cp, Path(folder) / "people.rds")
    ...     read_r(Path(folder) / "people.rds")
    CredalPartition(2 objects, 2 clusters)
    ann: {0}: 1
    bob: {0}: 0.25  {1}: 0.25  Ω: 0.5
    """
    if not isinstance(partition, CredalPartition):
        raise InvalidInputError(f"partition must be a CredalPartition, got {type(partition).__name__}")
    path = as_path(path)
    with atomic_write(path) as temporary:
        try:
            write_rds(_to_r(partition.to_numpy()), temporary)
        except UnicodeEncodeError as error:
            raise unwritable(path, error) from error


# ---- from R ---------------------------------------------------------------------------------------------------------


def _from_r(found: RValue | None) -> CredalPartition:
    mass, sets = (None, None) if found is None else (found.get("mass"), found.get("F"))
    if found is None or mass is None or sets is None:
        raise InvalidInputError("it holds no credal partition, a list with the matrices mass and F")
    masses, membership = mass.matrix(), sets.matrix()
    if masses.dtype.kind != "f" or membership.dtype.kind not in "if" or not np.isin(membership, (0, 1)).all():
        raise InvalidInputError("mass must hold numbers and F zeros and ones")
    if masses.shape[1] != len(membership):
        raise InvalidInputError(f"mass has {masses.shape[1]} columns, but F {len(membership)} rows")
    clusters = _dimension_names(sets)[1]
    names = _dimension_names(mass)[0]
    told = {"method": _first(found.get("method")), "objective": _first(found.get("crit"))}
    return CredalPartition(
        masses,
        FocalSets(membership == 1),
        names or None,
        frame=clusters or None,
        metadata={name: value for name, value in told.items() if value is not None},
    )


def _dimension_names(matrix: RValue) -> tuple[list[str], list[str]]:
    """Names of rows and columns, empty where there are none."""
    given = matrix.attributes.get("dimnames")
    parts = given.values if isinstance(given, RValue) else [None, None]
    rows, columns = ([] if part is None else [str(text) for text in part.values] for part in parts)
    return rows, columns


def _first(value: RValue | None) -> Any:
    """A number or text alone."""
    if value is None or len(value) != 1:
        return None
    only = value.values[0]
    return only.item() if isinstance(only, np.generic) else only if isinstance(only, str) else None


# ---- to R -----------------------------------------------------------------------------------------------------------


def _to_r(partition: CredalPartition) -> RValue:
    """What the manual of evclust says of a ``credpart``, under the names it has there."""
    partition = _with_empty_set_first(partition)
    membership, c = partition.focal_sets.membership, partition.n_clusters
    masses = np.asarray(partition.masses, dtype=float)
    conflict = masses[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = (1 / (1 - conflict))[:, None]  # an object that is an outlier for certain has no normalised masses
        contour = np.asarray(partition.contour, dtype=float)
        belief = masses @ (membership & (partition.focal_sets.cardinality == 1)[:, None]).astype(float)
        sizes = np.maximum(partition.focal_sets.cardinality, 1)[:, None]
        pignistic = masses @ (membership / sizes)
        share = contour / contour.sum(axis=1, keepdims=True)
        normalized = {"mass.n": scale * masses[:, 1:], "pl.n": scale * contour, "bel.n": scale * belief}
        normalized["betp.n"] = scale * pignistic
    largest = membership[masses.argmax(axis=1)]
    undominated = contour >= belief.max(axis=1, keepdims=True)
    logarithms = np.log(np.where(partition.focal_sets.cardinality > 0, partition.focal_sets.cardinality, c))
    specific = float((masses @ logarithms).mean() / np.log(c)) if c > 1 and len(masses) else 0.0
    fields: dict[str, RValue | None] = {
        "conf": RValue(conflict),
        "F": _matrix(membership.astype(float), columns=_cluster_names(partition)),
        "mass": _matrix(masses, rows=None if partition.index is None else [str(name) for name in partition.index]),
        **{name: _matrix(values) for name, values in normalized.items()},
        "pl": _matrix(contour),
        "bel": _matrix(belief),
        "p": _matrix(share),
        "betp": _matrix(pignistic),
        "y.pl": RValue(partition.labels.astype(np.int32) + 1),
        "y.bel": RValue(belief.argmax(axis=1).astype(np.int32) + 1),
        "Y": _matrix(largest.astype(float)),
        "Ynd": _matrix(undominated.astype(float)),
        "outlier": _positions(~largest.any(axis=1)),
        **_approximations(largest, ""),
        **_approximations(undominated, ".nd"),
        "N": RValue(np.array([specific])),
        "method": RValue([str(partition.metadata.get("method", "dempster"))]),
    }
    return RValue(list(fields.values()), {"names": RValue(list(fields)), "class": RValue(["credpart"])})


def _with_empty_set_first(partition: CredalPartition) -> CredalPartition:
    """The order that evclust asks for; other sets stay where they are."""
    family, masses = partition.focal_sets, partition.masses
    empty = family.empty_index
    others = [k for k in range(len(family)) if k != empty]
    first = np.zeros(len(masses)) if empty is None else masses[:, empty]
    rows = np.vstack([np.zeros((1, family.n_clusters), dtype=bool), family.membership[others]])
    return CredalPartition.unchecked(
        np.column_stack([first, masses[:, others]]),
        FocalSets(rows),
        partition.index,
        partition.frame,
        metadata=partition.metadata,
    )


def _cluster_names(partition: CredalPartition) -> list[str] | None:
    names = list(partition.frame)
    if names == list(range(partition.n_clusters)):
        return None
    written = [str(name) for name in names]
    if len(set(written)) < len(written):
        raise InvalidInputError(
            f"frame holds different names that are written alike, as 1 and '1': {names}; make all text"
        )
    return written


def _matrix(values: np.ndarray, rows: list[str] | None = None, columns: list[str] | None = None) -> RValue:
    attributes: dict[str, Any] = {"dim": RValue(np.array(values.shape, dtype=np.int32))}
    if rows or columns:
        named = [RValue(names) if names else None for names in (rows, columns)]
        attributes["dimnames"] = RValue(named)
    return RValue(np.ascontiguousarray(values.T).ravel(), attributes)  # column after column


def _positions(chosen: np.ndarray) -> RValue:
    return RValue(np.flatnonzero(chosen).astype(np.int32) + 1)


def _approximations(sets: np.ndarray, suffix: str) -> dict[str, RValue]:
    """Objects in the lower and upper approximation of each cluster."""
    alone = sets.sum(axis=1) == 1
    return {
        f"lower.approx{suffix}": RValue([_positions(column & alone) for column in sets.T]),
        f"upper.approx{suffix}": RValue([_positions(column) for column in sets.T]),
    }
