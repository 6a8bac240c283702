"""In which units scaled attributes were, found from the table in its own units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.apps.recipe.units import Units

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["units_between"]

_SAME = 1e-6  # of the range of a column, by which values may differ that are the same


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
