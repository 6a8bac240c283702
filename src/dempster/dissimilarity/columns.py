"""Conversion of the columns of pandas, polars and NumPy tables to numbers or categories."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from dempster._arrays import is_tensor, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import to_plain_columns


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table, stored as a narwhals series."""

    name: Hashable
    series: Any

    def __len__(self) -> int:
        return len(self.series)

    @cached_property
    def is_numeric(self) -> bool:
        """Whether each value is a number or missing."""
        return self.series.dtype.is_numeric() or self._holds_numbers

    @cached_property
    def _holds_numbers(self) -> bool:
        import narwhals as nw
        import pandas as pd

        if not isinstance(self.series.dtype, nw.Object):
            return False
        cells = self.series.to_list()
        kinds = {type(cell) for cell in cells if np.ndim(cell) > 0 or not pd.isna(cell)}
        if not kinds or kinds & {bool, np.bool_}:
            return False
        return all(issubclass(kind, Real | Decimal) for kind in kinds)

    @cached_property
    def is_date(self) -> bool:
        return self.series.dtype.is_temporal()

    @cached_property
    def is_boolean(self) -> bool:
        import narwhals as nw

        return isinstance(self.series.dtype, nw.Boolean)

    @cached_property
    def is_empty(self) -> bool:
        return bool(self.series.is_null().all())

    def numbers(self) -> np.ndarray:
        """Return the values as numbers, with dates as days since 1970.

        Values that are not numbers are NaN.
        """
        import narwhals as nw
        import pandas as pd

        if self.is_date:
            series = self.series
            if getattr(series.dtype, "time_zone", None) is not None:
                series = series.dt.replace_time_zone(None)  # Keep the local time.
            moments = np.asarray(series.cast(nw.Datetime("us")).to_numpy()).astype(
                "datetime64[us]"
            )
            return np.where(
                np.isnat(moments), np.nan, moments.astype(np.int64) / 86_400e6
            )
        if not self.is_numeric:
            return np.full(len(self), np.nan)
        if self._holds_numbers:
            values = self.objects()
            values[pd.isna(values)] = np.nan
        else:
            values = self.series.cast(nw.Float64()).to_numpy()
        values = np.asarray(values, float)
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise InvalidInputError(
                f"column {self.name!r} must be finite, got {values[row]} in row {row}"
            )
        return values

    def objects(self) -> np.ndarray:
        values = np.empty(len(self), object)
        values[:] = self.series.to_list()
        return values

    def low_and_range(self) -> tuple[float, float]:
        """Return the minimum and the range of the values, two zeros if all values are missing."""
        values = self.numbers()
        values = values[~np.isnan(values)]
        if len(values) == 0:
            return 0.0, 0.0
        low = float(values.min())
        high = float(values.max())
        if not np.isfinite(high - low):
            raise InvalidInputError(
                f"the range of column {self.name!r} exceeds that of float64: {low} to {high}"
            )
        return low, high - low

    def categories(self) -> np.ndarray:
        """Return the sorted distinct values without missing values."""
        import pandas as pd

        try:
            cells = self.objects()
            # Equal tensors would be different categories: they are hashed by address.
            if any(map(is_tensor, cells)):
                raise InvalidInputError("tensors")
            distinct = pd.factorize(cells)[1]
        except Exception as error:  # Hashing a value of any type can fail.
            raise InvalidInputError(
                f"column {self.name!r} contains values that cannot be categories, such as lists; "
                "use text or numbers"
            ) from error
        out = np.empty(len(distinct), object)
        out[:] = sorted(distinct, key=_sort_key)
        return out

    def codes(self, categories: np.ndarray, *, missing: int, unseen: int) -> np.ndarray:
        """Return the positions of the values in ``categories``, or the codes of other values."""
        import pandas as pd

        values = self.objects()
        codes = pd.Index(categories, dtype=object).get_indexer(
            pd.Index(values, dtype=object)
        )
        return np.where(pd.isna(values), missing, np.where(codes < 0, unseen, codes))


def _sort_key(cell: Any) -> tuple[str, float, str]:
    """Return a key that sorts numbers first, by value, then others by type and text."""
    if isinstance(cell, bool | int | float | np.number | np.bool_):
        return "", float(cell), ""
    return type(cell).__name__, 0.0, str(cell)


def read_columns(table: Any, *, dates: bool = False) -> dict[Hashable, Column]:
    """Return the columns of a table by name (by position for arrays).

    Raise for dates unless ``dates`` is True.
    """
    import narwhals as nw

    frame = nw.from_native(
        to_plain_columns(to_host(table)), eager_only=True, pass_through=True
    )
    if not isinstance(frame, nw.DataFrame):
        frame = nw.from_native(_array_as_frame(to_host(table)), eager_only=True)
    columns = {}
    for series in frame.iter_columns():
        column = Column(series.name, series)
        _check_type(column, dates)
        columns[series.name] = column
    return columns


def _array_as_frame(table: Any) -> Any:
    import pandas as pd

    # Without dtype=object, NumPy would convert the numbers in a list of lists to text if one
    # element is text.
    array = table if isinstance(table, np.ndarray) else np.asarray(table, object)
    if array.ndim != 2:
        raise InvalidParameterError(
            "table",
            must=f"be a DataFrame or an array with two dimensions, got shape {array.shape}",
        )
    dtype = float if array.dtype.kind == "f" else array.dtype.newbyteorder("=")
    frame = pd.DataFrame(array.astype(dtype, copy=False))
    if array.dtype == object:
        return frame.infer_objects()
    return frame


def _check_type(column: Column, dates: bool) -> None:
    """Raise an error for durations, lists and complex numbers, and for dates unless ``dates``."""
    import narwhals as nw

    kind = column.series.dtype
    if dates and isinstance(kind, nw.Date | nw.Datetime):
        return
    known = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object)
    if not (kind.is_numeric() or isinstance(kind, known) or column.is_empty):
        raise InvalidInputError(
            f"column {column.name!r} must contain numbers, Booleans, text or categories, "
            f"got the type {kind}; convert it to numbers or text, or remove it"
        )
