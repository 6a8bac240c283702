"""From a table to the numbers that are clustered: which columns, which rows, in which units."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evidentia.cli.errors import UserError
from evidentia.cli.output import counted, quoted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Attributes", "choose_attributes", "split_names"]

Note = Callable[[str], None]


@dataclass
class Attributes:
    """The columns to cluster.

    Attributes
    ----------
    table : DataFrame of floats
        In the units of the file, with the names of the rows.
    center, scale : arrays
        What `standardised` subtracts and divides by; zeros and ones when the columns are not to be scaled.
    is_scaled : bool
    """

    table: pd.DataFrame
    center: np.ndarray = field(default_factory=lambda: np.zeros(1))
    scale: np.ndarray = field(default_factory=lambda: np.ones(1))
    is_scaled: bool = False

    @property
    def standardised(self) -> pd.DataFrame:
        """The table that is clustered."""
        if not self.is_scaled:
            return self.table
        import pandas as pd

        values = (self.table.to_numpy() - self.center) / self.scale
        return pd.DataFrame(values, index=self.table.index, columns=self.table.columns)

    def in_units(self, points: np.ndarray) -> np.ndarray:
        """Points among the standardised columns in the units of the file."""
        return points * self.scale + self.center


def split_names(values: Sequence[str]) -> list[str]:
    """Names from options such as ``--columns a,b --columns '"c,d"'``: quotation marks protect commas."""
    names = [name.strip() for row in csv.reader(values, skipinitialspace=True) for name in row]
    found = [name for name in names if name]
    if values and not found:
        raise UserError("--columns and --exclude need the name of a column, got none")
    return found


def choose_attributes(
    table: pd.DataFrame,
    *,
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    scale: bool = True,
    drop_missing: bool = False,
    keep_missing: bool = False,
    note: Note,
) -> Attributes:
    """Numeric columns without infinite values, nor missing ones unless they are kept, standardised if asked; a
    UserError tells what to do."""
    if len(table) == 0:
        raise UserError("the table has no rows")
    for option, names in (("--columns", columns), ("--exclude", exclude)):
        unknown = [name for name in names if name not in table.columns]
        if unknown:
            raise UserError(f"{option}: there is no column {quoted(unknown)}; there are {quoted(table.columns, 20)}")
    chosen = list(dict.fromkeys(columns)) if columns else list(table.columns)
    numbers = _numeric(table[[name for name in chosen if name not in exclude]], asked=bool(columns), note=note)
    numbers = _with_missing(numbers, note) if keep_missing else _without_missing(numbers, drop_missing, note)
    infinite = np.isinf(numbers.to_numpy())
    if infinite.any():
        rows, where = infinite.any(axis=1).sum(), [name for name in numbers.columns if np.isinf(numbers[name]).any()]
        raise UserError(
            f"{counted(int(rows), 'row')} of {len(numbers):,} with infinite values (in {quoted(where)}); "
            f"correct them, or leave the columns out with --exclude {','.join(where)}"
        )
    return _scaled(numbers, note) if scale else Attributes(numbers)


def _numeric(table: pd.DataFrame, *, asked: bool, note: Note) -> pd.DataFrame:
    """The columns of numbers as floats (and of true and false, if asked for by name)."""
    import pandas as pd

    numbers, skipped = {}, []
    for name in table.columns:
        column = table[name]
        kind = column.dtype.kind
        if kind in "iuf" or (kind == "b" and asked):
            if column.notna().any():
                numbers[name] = column.to_numpy(dtype=float, na_value=np.nan)
            else:
                skipped.append((name, " (empty)"))
        else:
            skipped.append((name, _why_not_numeric(column)))
    if skipped and asked:
        name, why = skipped[0]
        raise UserError(f"--columns: '{name}' is not a column of numbers{why}")
    if not numbers:
        raise UserError(f"the table has no numeric column; its columns are {quoted(table.columns)}")
    if skipped:
        several = "columns that are" if len(skipped) > 1 else "column that is"
        note(f"left out the {several} not numeric: {', '.join(name + why for name, why in skipped)}")
    return pd.DataFrame(numbers, index=table.index)


def _why_not_numeric(column: pd.Series) -> str:
    """A column that is numbers but for a few cells was perhaps meant to be one."""
    import pandas as pd

    if column.dtype.kind not in "OTU" or isinstance(column.dtype, pd.CategoricalDtype):
        return ""
    filled = column[column.notna()]
    text = filled[pd.to_numeric(filled, errors="coerce").isna()]
    if len(filled) == 0:
        return " (empty)"
    if 0 < len(text) <= len(filled) / 2:
        return f" ({counted(len(text), 'cell')} of {len(filled):,} not a number, such as '{text.iloc[0]}')"
    return ""


def _with_missing(numbers: pd.DataFrame, note: Note) -> pd.DataFrame:
    """The rows, but for those without any value, of which nothing can be said."""
    nothing = np.asarray(numbers.isna().to_numpy().all(axis=1))
    if nothing.any():
        note(f"left out {counted(int(nothing.sum()), 'row')} of {len(numbers):,} without any value")
    kept = numbers.loc[~nothing]
    bad = kept.isna().to_numpy().any(axis=1)
    if bad.any():
        note(f"{counted(int(bad.sum()), 'row')} of {len(kept):,} compared by the values that are there")
    return kept


def _without_missing(numbers: pd.DataFrame, drop: bool, note: Note) -> pd.DataFrame:
    missing = numbers.isna().to_numpy()
    if not missing.any():
        return numbers
    bad = np.asarray(missing.any(axis=1))
    where = [name for name in numbers.columns if numbers[name].isna().any()]
    what = f"{counted(int(bad.sum()), 'row')} of {len(numbers):,} with missing values (in {quoted(where)})"
    if not drop:
        raise UserError(
            f"{what}; compare the rows by the values that are there with --missing partial, leave those rows out with "
            f"--drop-missing, or the columns with --exclude {','.join(where)}"
        )
    if bad.all():
        raise UserError(f"{what}; --drop-missing would leave none")
    note(f"left out {what}")
    return numbers.loc[~bad]


def _scaled(numbers: pd.DataFrame, note: Note) -> Attributes:
    """Mean 0 and standard deviation 1, of the values that are there; a column that does not vary says nothing and is
    left out."""
    values = numbers.to_numpy()
    varies = np.nanmax(values, axis=0) > np.nanmin(values, axis=0)
    if not varies.any():
        raise UserError("all the columns are constant: there is nothing to cluster")
    if not varies.all():
        note(f"left out as constant: {', '.join(numbers.columns[~varies])}")
    kept = numbers.loc[:, varies]
    with np.errstate(over="ignore", invalid="ignore"):
        center, scale = np.nanmean(kept.to_numpy(), axis=0), np.nanstd(kept.to_numpy(), axis=0)
    for name, spread in zip(kept.columns, scale, strict=True):
        if not (np.isfinite(spread) and spread > 0):
            raise UserError(f"the values of column '{name}' are too large or too close to each other to be scaled")
    return Attributes(kept, center, scale, is_scaled=True)
