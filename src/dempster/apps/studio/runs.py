"""Tables and runs of the studio, and what the page is told of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.apps.map import name_sets, pack_objects, to_plain
from dempster.apps.recipe import choose_attributes
from dempster.explain import doubt_scores
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import Recipe
    from dempster.apps.studio.planes import Plane


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
    cache: dict[str, Any] = field(default_factory=dict)  # results that take a while to compute
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
            if column.dtype.kind in "iufb":
                spread = 1.0 if self.preparation.is_scaled else float(np.nanstd(column.to_numpy(dtype=float))) or 1.0
                is_mixed = bool(self.preparation.categories)
                columns.append(column.to_numpy(dtype=float)[:, None] / (spread if is_mixed else 1.0))
            else:
                columns.append(pd.get_dummies(column).to_numpy(dtype=float) / np.sqrt(2))
        return np.hstack(columns)

    @cached_property
    def names(self) -> list[str]:
        return [str(name) for name in self.table.index]

    @cached_property
    def set_names(self) -> list[str]:
        return name_sets(self.partition)

    @cached_property
    def doubt(self) -> np.ndarray:
        return doubt_scores(self.partition)

    def describe(self) -> dict[str, Any]:
        """For the list of runs."""
        partition, model = self.partition, self.estimator
        cardinality = partition.focal_sets.cardinality[partition.best_set]
        return to_plain(
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
        """Packed arrays from which the page draws the map and decides what each object is.

        They hold the mass of each object on the empty set, its largest mass on a single cluster and on several, and the
        sets with these masses. Whatever weight a slider gives to the three, the largest product wins.
        """
        partition = self.partition
        masses, cardinality = partition.masses, partition.focal_sets.cardinality
        arrays: dict[str, np.ndarray] = {}
        for name, kind in (("empty", cardinality == 0), ("single", cardinality == 1), ("several", cardinality > 1)):
            columns = np.flatnonzero(kind)
            # Of equal masses the smaller set wins, as in `CredalPartition.best_set`.
            columns = columns[np.argsort(cardinality[columns], kind="stable")]
            if len(columns):
                best = masses[:, columns].argmax(axis=1)
                arrays[name] = masses[np.arange(len(masses)), columns[best]].astype(np.float32)
                arrays[f"{name}_set"] = columns[best].astype(np.int32)
            else:
                arrays[name] = np.zeros(len(masses), dtype=np.float32)
                arrays[f"{name}_set"] = np.full(len(masses), -1, dtype=np.int32)
        arrays["label"] = partition.labels.astype(np.int32)
        return pack_objects(partition, self.rows, arrays)

    def cells(self, position: int) -> list[Any]:
        """Return the attributes of an object in the units of the file."""
        return to_plain(list(self.attributes.iloc[position]))


MAX_CATEGORIES = 50
MAX_COLUMNS = 2000
MAX_COUNTED_VALUES = 100_000


@dataclass(eq=False)
class Source:
    """A table that was loaded.

    Attributes
    ----------
    path : Path
        Where it lies: the file that was given, or a copy of what was uploaded.
    name : str
        What the person calls it; code and commands refer to it by this.
    options : dict
        How it was read, as `dempster.io.read_table` takes it.
    table : DataFrame
    """

    path: Path
    name: str
    options: dict[str, Any]
    table: pd.DataFrame
    notes: list[str] = field(default_factory=list)

    @cached_property
    def names(self) -> list[str]:
        return [str(name) for name in self.table.index]

    def describe(self) -> dict[str, Any]:
        """For the page."""
        suggested, remark = self._suggested
        return to_plain(
            {
                "name": self.name,
                "rows": len(self.table),
                "columns": [self._column(name, name in suggested) for name in self.table.columns[:MAX_COLUMNS]],
                "options": self.options,
                "index": self.table.index.name,
                "notes": [*self.notes, *remark],
                "missing": bool(self._missing.any()),
            }
        )

    @cached_property
    def _missing(self) -> np.ndarray:
        return self.table.isna().sum().to_numpy()

    @cached_property
    def _suggested(self) -> tuple[set[str], list[str]]:
        """The columns that the library would cluster by, and what it says of the others."""
        try:
            found = choose_attributes(self.table, missing="partial")
        except ValueError as error:
            return set(), [str(error)]
        return set(found.columns), found.notes

    def _column(self, name: str, suggested: bool) -> dict[str, Any]:
        column = self.table[name]
        kind = column.dtype.kind
        about: dict[str, Any] = {"name": name, "missing": int(column.isna().sum()), "suggested": suggested}
        if kind in "iuf":
            values = column.to_numpy(dtype=float, na_value=np.nan)
            values = values[np.isfinite(values)]
            low, high = (float(values.min()), float(values.max())) if len(values) else (None, None)
            different = len(np.unique(values)) if len(values) <= MAX_COUNTED_VALUES else MAX_CATEGORIES + 1
            return about | {"kind": "number", "low": low, "high": high, "different": different}
        if kind == "b":
            return about | {"kind": "truth", "different": 2}
        if kind in "Mm":
            return about | {"kind": "date"}
        different = int(column.nunique())
        return about | {"kind": "category" if different <= MAX_CATEGORIES else "text", "different": different}
