"""Tables of any library (pandas, polars, arrays) as columns of numbers or categories, with cells missing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np

from dempster._arrays import is_tensor, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import with_plain_columns

_MAX_EXACT = 2**53  # beyond, floating-point numbers leave whole ones out
_NO_MEASURES = (bool, np.bool_, np.timedelta64)  # which count among the real numbers


@dataclass(frozen=True, eq=False)
class Column:
    """One column of any table: its cells as numbers (NaN for missing) or as objects."""

    name: Hashable
    series: Any  # a narwhals series
    described: str

    def __len__(self) -> int:
        return len(self.series)

    @cached_property
    def is_numeric(self) -> bool:
        """A column of numbers, or of objects that are all numbers but for missing ones."""
        return self.series.dtype.is_numeric() or self._holds_numbers

    @cached_property
    def _holds_numbers(self) -> bool:
        import narwhals as nw
        import pandas as pd

        if not isinstance(self.series.dtype, nw.Object):
            return False
        kinds = {type(cell) for cell in self.series.to_list() if not (np.ndim(cell) == 0 and pd.isna(cell))}
        return bool(kinds) and all(issubclass(k, Real | Decimal) and k not in _NO_MEASURES for k in kinds)

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
        """The cells as numbers, dates as days since 1970; NaN for missing ones and for anything else."""
        import narwhals as nw

        if self.is_date:
            series = self.series
            if getattr(series.dtype, "time_zone", None) is not None:
                series = series.dt.replace_time_zone(None)  # as the clock there shows it
            moments = np.asarray(series.cast(nw.Datetime("us")).to_numpy()).astype("datetime64[us]")
            return np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 86_400e6)
        if not self.is_numeric:
            return np.full(len(self), np.nan)
        values = self._numbers_of_objects() if self._holds_numbers else self.series.cast(nw.Float64()).to_numpy()
        values = np.asarray(values, dtype=float)
        if np.isinf(values).any():
            row = int(np.flatnonzero(np.isinf(values))[0])
            raise InvalidInputError(
                f"column {self.name!r} must not hold infinite numbers, got {values[row]} in row {row}"
            )
        return values

    def whole_origin(self) -> int:
        """The smallest of whole numbers that are too large to be told apart by their floating-point values; 0 of
        other columns."""
        low: Any = None
        if self.series.dtype.is_integer():
            low, high = self.series.min(), self.series.max()
        elif self._holds_numbers:
            cells = [cell for cell in self._cells() if cell is not None]
            if all(isinstance(cell, Integral) for cell in cells):
                low, high = min(cells), max(cells)
        return 0 if low is None or max(-int(low), int(high)) <= _MAX_EXACT else int(low)

    def numbers_from(self, origin: int) -> np.ndarray:
        """The cells as numbers, measured from a whole one without loss; NaN for missing ones."""
        if origin == 0:
            return self.numbers()
        return np.array([np.nan if cell is None else float(cell - origin) for cell in self._cells()])

    def _cells(self) -> list[Any]:
        """The cells of a column of numbers, None for missing ones."""
        import pandas as pd

        return [None if pd.isna(cell) else cell for cell in self.series.to_list()]

    def _numbers_of_objects(self) -> np.ndarray:
        import pandas as pd

        cells = self.objects()
        cells[pd.isna(cells)] = np.nan
        try:
            return cells.astype(float)
        except OverflowError as error:
            raise InvalidInputError(f"column {self.name!r} must hold numbers that a float can hold: {error}") from error

    def objects(self) -> np.ndarray:
        values = np.empty(len(self), dtype=object)
        values[:] = self.series.to_list()
        return values

    def low_and_range(self) -> tuple[float, float]:
        """Smallest number and distance to the largest; zeros if all are missing."""
        values = self.numbers()
        values = values[~np.isnan(values)]
        if len(values) == 0:
            return 0.0, 0.0
        low, high = float(values.min()), float(values.max())
        if not np.isfinite(high - low):
            raise InvalidInputError(f"column {self.name!r} spans more than a float can hold: {low} to {high}")
        return low, high - low

    def categories(self) -> np.ndarray:
        """Different cells without missing ones, sorted: whatever the order of the rows."""
        import pandas as pd

        try:
            cells = self.objects()
            if any(map(is_tensor, cells)):  # which are told apart by their places in memory
                raise InvalidInputError("tensors")
            found = pd.factorize(cells)[1]
        except Exception as error:  # of what cannot be hashed
            raise InvalidInputError(
                f"column {self.name!r} holds values that cannot be categories, such as lists; they must be text, "
                "numbers or other values that can be compared"
            ) from error
        out = np.empty(len(found), dtype=object)
        out[:] = sorted(found, key=_sort_key)
        return out

    def codes(self, categories: np.ndarray, *, missing: int, unseen: int) -> np.ndarray:
        """Position of each cell among the categories."""
        import pandas as pd

        values = self.objects()
        codes = pd.Index(categories, dtype=object).get_indexer(pd.Index(values, dtype=object))
        return np.where(pd.isna(values), missing, np.where(codes < 0, unseen, codes))


def _sort_key(cell: Any) -> tuple[str, float, str]:
    """Numbers come first, by their values; anything else by its type and its text."""
    if isinstance(cell, bool | int | float | np.number | np.bool_):
        try:
            return "", float(cell), ""
        except OverflowError:  # beyond the floating-point numbers
            return "", np.inf if cell > 0 else -np.inf, str(cell)
    return type(cell).__name__, 0.0, str(cell)


def read_columns(table: Any, *, dates: bool = False) -> dict[Hashable, Column]:
    """Columns by name, or by position for arrays; columns of dates are refused unless they are asked for."""
    import narwhals as nw

    frame = nw.from_native(with_plain_columns(to_host(table)), eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        frame = nw.from_native(_array_as_frame(to_host(table)), eager_only=True)
    columns = {}
    for series in frame.iter_columns():
        column = Column(series.name, series, f"the type {series.dtype}")
        _refuse_other_types(column, dates)
        columns[series.name] = column
    return columns


def _array_as_frame(table: Any) -> Any:
    import pandas as pd

    # a list of lists must not turn its numbers into text beside text
    array = table if isinstance(table, np.ndarray) else np.asarray(table, dtype=object)
    if array.ndim != 2:
        raise InvalidParameterError(
            "table", must=f"be a DataFrame or an array with two dimensions, got shape {array.shape}"
        )
    if array.dtype.kind in "iuf" and array.dtype.name in ("float16", "longdouble", "float128"):
        array = array.astype(float)
    if array.dtype.kind == "T":  # text of any length
        array = array.astype(object)
    frame = pd.DataFrame(array.astype(array.dtype.newbyteorder("="), copy=False))
    return frame.infer_objects() if array.dtype == object else frame


def _refuse_other_types(column: Column, dates: bool) -> None:
    """Dates (unless asked for), durations, lists and complex numbers have no meaning here; an empty column has any
    type."""
    import narwhals as nw

    kind = column.series.dtype
    if dates and isinstance(kind, nw.Date | nw.Datetime):
        return
    known = (nw.Boolean, nw.String, nw.Categorical, nw.Enum, nw.Object)
    if not (kind.is_numeric() or isinstance(kind, known) or column.is_empty):
        raise InvalidInputError(
            f"column {column.name!r} must hold numbers, Booleans, text or categories, got {column.described}; "
            "turn it into numbers or text, or leave it out"
        )
