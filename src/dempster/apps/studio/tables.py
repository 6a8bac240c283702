"""A table for the page: what its columns are, and its cells as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.apps.recipe import choose_attributes
from dempster.apps.studio.packing import plain
from dempster.apps.studio.runs import object_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Source"]

_MOST_CATEGORIES = 50
_MOST_COLUMNS = 2000


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
        return object_names(self.table)

    def describe(self) -> dict[str, Any]:
        """For the page."""
        suggested, remark = self._suggested
        return plain(
            {
                "name": self.name,
                "rows": len(self.table),
                "columns": [self._column(name, name in suggested) for name in self.table.columns[:_MOST_COLUMNS]],
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
            different = len(np.unique(values)) if len(values) <= 100_000 else _MOST_CATEGORIES + 1
            return about | {"kind": "number", "low": low, "high": high, "different": different}
        if kind == "b":
            return about | {"kind": "truth", "different": 2}
        if kind in "Mm":
            return about | {"kind": "date"}
        different = int(column.nunique())
        return about | {"kind": "category" if different <= _MOST_CATEGORIES else "text", "different": different}
