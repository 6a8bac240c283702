"""From scaled attributes back to their own units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evidentia.explain import ObjectExplanation

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Units", "units_between"]

_SAME = 1e-6  # of the range of a column, by which values may differ that are the same


@dataclass(frozen=True)
class Units:
    """For columns that were shifted and scaled: ``own = shift + factor * scaled``, by the names of the columns."""

    shift: dict[str, float]
    factor: dict[str, float]

    def own(self, name: str, value: Any) -> Any:
        """A value of a column in its own unit; what is no number, or of another column, as it is."""
        if name not in self.shift or not isinstance(value, float | int) or isinstance(value, bool):
            return value
        return self.shift[name] + self.factor[name] * value

    def of_explanation(self, found: ObjectExplanation) -> ObjectExplanation:
        """The same explanation, values of attributes in their own units."""
        if found.by != "attributes":
            return found

        def row(cells: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(self.own(name, cell) for name, cell in zip(found.attributes, cells, strict=True))

        changes = tuple(
            replace(
                change,
                before=tuple(self.own(name, v) for name, v in zip(change.attributes, change.before, strict=True)),
                after=tuple(self.own(name, v) for name, v in zip(change.attributes, change.after, strict=True)),
            )
            for change in found.changes
        )
        return replace(
            found,
            values=None if found.values is None else row(found.values),
            typical=None if found.typical is None else tuple(row(cells) for cells in found.typical),
            changes=changes,
        )


def units_between(scaled: Any, names: Sequence[str], frame: pd.DataFrame) -> Units | None:
    """How the columns of a scaled table come from those of the same names (or places) of the table in its own units;
    None if not one does by a shift and a factor."""
    values = np.asarray(scaled, dtype=float) if _is_numeric(scaled) else None
    if values is None or values.ndim != 2 or values.shape[0] != len(frame):
        return None
    by_place = values.shape[1] == frame.shape[1]
    shift, factor = {}, {}
    for j, name in enumerate(names):
        column = frame[name] if name in frame.columns else frame.iloc[:, j] if by_place else None
        if column is None or column.dtype.kind not in "iuf":
            continue
        found = _line(values[:, j], column.to_numpy(dtype=float))
        if found is not None:
            shift[name], factor[name] = found
    return Units(shift, factor) if shift else None


def _is_numeric(table: Any) -> bool:
    if hasattr(table, "dtypes"):
        return all(getattr(dtype, "kind", "O") in "iuf" for dtype in table.dtypes)
    return getattr(table, "dtype", np.dtype(object)).kind in "iuf"


def _line(scaled: np.ndarray, own: np.ndarray) -> tuple[float, float] | None:
    """Shift and factor, found between the smallest and the largest value and proved on all."""
    known = np.isfinite(scaled) & np.isfinite(own)
    if known.sum() < 2:
        return None
    x, y = scaled[known], own[known]
    low, high = int(x.argmin()), int(x.argmax())
    if not x[high] > x[low] or y[high] == y[low]:
        return None
    factor = float((y[high] - y[low]) / (x[high] - x[low]))
    shift = float(y[low] - factor * x[low])
    fits = np.abs(shift + factor * x - y).max() <= _SAME * float(np.ptp(y))
    return (shift, factor) if fits else None
