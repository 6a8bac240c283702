"""One clustering in the studio: what was asked for, what came out, and the arrays that the page draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.apps.studio.packing import packed, plain
from dempster.explain import doubt_of
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import Recipe
    from dempster.apps.studio.planes.plane import Plane

__all__ = ["Run", "object_names"]

_NUMBER_KINDS = "iufb"


@dataclass(eq=False)
class Run:
    """A clustering.

    Attributes
    ----------
    id, name : str
    recipe : Recipe
        What was asked for; its file is one of the session.
    estimator : fitted clusterer
    table : DataFrame
        The objects, with all columns of the file.
    attributes, values : DataFrames
        The columns that were clustered, in the units of the file and as they were clustered.
    preparation : Preparation
        How one became the other.
    rows : (n,) array
        Positions of the objects in the table of the session.
    notes : list of str
        What was left out, warned of, in plain words.
    seconds : float
    origin : str
        Where it started: "all objects", "rule ...", "5 belief peaks".
    """

    id: str
    name: str
    recipe: Recipe
    estimator: Any
    table: pd.DataFrame
    attributes: pd.DataFrame
    values: pd.DataFrame
    preparation: Any
    rows: np.ndarray
    notes: list[str]
    seconds: float
    origin: str
    planes: dict[str, Plane] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)  # answers that cost a while, by their question
    lock: RLock = field(default_factory=RLock)

    @property
    def partition(self) -> CredalPartition:
        return self.estimator.credal_partition_

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def numbers(self) -> np.ndarray:
        """(n, p) what is clustered as numbers; categories become columns of zeros and ones, two of them one apart."""
        import pandas as pd

        columns = []
        for name in self.values.columns:
            column = self.values[name]
            if column.dtype.kind in _NUMBER_KINDS:
                spread = 1.0 if self.preparation.is_scaled else float(np.nanstd(column.to_numpy(dtype=float))) or 1.0
                is_mixed = bool(self.preparation.categories)
                columns.append(column.to_numpy(dtype=float)[:, None] / (spread if is_mixed else 1.0))
            else:
                columns.append(pd.get_dummies(column).to_numpy(dtype=float) / np.sqrt(2))
        return np.hstack(columns)

    @cached_property
    def names(self) -> list[str]:
        """Names of the objects, as explanations call them."""
        return object_names(self.table)

    @cached_property
    def set_names(self) -> list[str]:
        """What each set of clusters says of an object."""
        frame = [str(name) for name in self.partition.frame]
        said = []
        for members in self.partition.focal_sets.membership:
            clusters = [name for name, inside in zip(frame, members, strict=True) if inside]
            if not clusters:
                said.append("outlier")
            elif len(clusters) == 1:
                said.append(f"cluster {clusters[0]}")
            elif len(clusters) == len(frame) > 2:
                said.append("any cluster")
            else:
                said.append("between " + ", ".join(clusters[:-1]) + " and " + clusters[-1])
        return said

    @cached_property
    def doubt(self) -> np.ndarray:
        return doubt_of(self.partition)

    def describe(self) -> dict[str, Any]:
        """For the list of runs."""
        partition, model = self.partition, self.estimator
        cardinality = partition.focal_sets.cardinality[partition.best_set]
        return plain(
            {
                "id": self.id,
                "name": self.name,
                "method": type(model).__name__,
                "origin": self.origin,
                "n": len(self),
                "n_clusters": partition.n_clusters,
                "clusters": [str(name) for name in partition.frame],
                "certain": int((cardinality == 1).sum()),
                "ambiguous": int((cardinality > 1).sum()),
                "outliers": int((cardinality == 0).sum()),
                "nonspecificity": partition.nonspecificity_index(),
                "objective": getattr(model, "objective_", None),
                "converged": getattr(model, "converged_", None),
                "iterations": getattr(model, "n_iter_", None),
                "columns": list(self.values.columns),
                "notes": self.notes,
                "seconds": self.seconds,
                "can_predict": hasattr(model, "predict_mass"),
                "can_shepard": hasattr(model, "shepard"),
                "categories": list(self.preparation.categories),
            }
        )

    @cached_property
    def objects(self) -> bytes:
        """What the page must know of each object to draw and to decide without asking again.

        Of each object: its mass on the empty set, the largest mass on a single cluster and on several, with the sets
        that hold them. Whatever weight a slider gives to the three, the largest product says what the object is.
        """
        partition = self.partition
        masses, cardinality = partition.masses, partition.focal_sets.cardinality
        arrays: dict[str, np.ndarray] = {}
        for name, kind in (("empty", cardinality == 0), ("single", cardinality == 1), ("several", cardinality > 1)):
            columns = np.flatnonzero(kind)
            # of equal masses the smaller set wins, as in `CredalPartition.best_set`
            columns = columns[np.argsort(cardinality[columns], kind="stable")]
            if len(columns):
                best = masses[:, columns].argmax(axis=1)
                arrays[name] = masses[np.arange(len(masses)), columns[best]].astype(np.float32)
                arrays[f"{name}_set"] = columns[best].astype(np.int32)
            else:
                arrays[name] = np.zeros(len(masses), dtype=np.float32)
                arrays[f"{name}_set"] = np.full(len(masses), -1, dtype=np.int32)
        arrays["best"] = partition.best_set.astype(np.int32)
        arrays["label"] = partition.labels.astype(np.int32)
        arrays["doubt"] = self.doubt.astype(np.float32)
        arrays["rows"] = self.rows.astype(np.int32)
        sets = [np.flatnonzero(members).tolist() for members in partition.focal_sets.membership]
        return packed(arrays, sets=sets, set_names=self.set_names, n=len(self))


def object_names(table: pd.DataFrame) -> list[str]:
    """Names of the rows of a table."""
    return [str(name) for name in table.index]
