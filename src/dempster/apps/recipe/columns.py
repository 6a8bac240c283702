"""What the columns of a table nobody prepared are: numbers, categories, or neither, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_flags, hashable, listed
from dempster.apps.recipe.words import counted, quoted
from dempster.io.numbers import meant_as_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ALL", "ChosenColumns", "as_numbers", "check_table", "choose_columns", "notes_of_categories"]

ALL = "all"  # instead of names of categories: every column of text
_IDENTIFIER = re.compile(r"(.*[\W_])?(id|ids|uuid|guid|key|index|row|rownames?|nr|no|number)", re.IGNORECASE)
_LOOKED_AT = 1000  # cells of a column of text that are tried as dates


@dataclass(frozen=True)
class ChosenColumns:
    """Columns to cluster by, and those left out.

    Attributes
    ----------
    numbers, categories : lists of names
    left_out : list of (name, reason) pairs
        A reason is empty or begins with a blank, as `` (dates)``.
    """

    numbers: list[str]
    categories: list[str]
    left_out: list[tuple[str, str]]


def choose_columns(
    table: pd.DataFrame,
    columns: Sequence[str],
    exclude: Sequence[str],
    categories: Sequence[str],
    *,
    numbers: bool = True,
) -> ChosenColumns:
    """Columns asked for by name are taken as they are, or refused; of all others those that tell the rows apart.

    Left out, unless asked for: text, dates, columns that number the rows, empty and repeated ones. ``numbers`` False:
    whole numbers are categories, and other numbers are left out.
    """
    columns, exclude = _names(columns, "columns"), _names(exclude, "exclude")
    categories = _names(categories, "categories")
    check_flags(numbers=numbers)
    every_text = categories == [ALL] and ALL not in table.columns
    known = {"columns": columns, "exclude": exclude} | ({} if every_text else {"categories": categories})
    for argument, names in known.items():
        _check_known(table, argument, names)
    both = [name for name in categories if name in exclude]
    if both:
        raise InvalidInputError(f"categories: {quoted(both)} is excluded too; take it out of one of the two")
    asked = list(dict.fromkeys(columns))
    # columns named as categories join those that are asked for
    asked += [name for name in categories if not every_text and asked and name not in asked]
    chosen = [name for name in (asked or table.columns) if name not in exclude]
    found = ChosenColumns([], [], [])
    places = {name: place for place, name in enumerate(table.columns)}
    for name in chosen:
        column = table[name]
        why = _why_useless(column, position=places[name]) if not asked else _why_empty(column)
        if why:
            found.left_out.append((name, why))
        elif name in categories or (every_text and _is_text(column)):
            found.categories.append(name)
        elif not numbers:
            _take_category(found, name, column)
        elif column.dtype.kind in "iuf" or (column.dtype.kind == "b" and bool(asked)):
            found.numbers.append(name)
        else:
            found.left_out.append((name, _why_not_numeric(column)))
    if found.left_out and asked:
        name, why = found.left_out[0]
        raise InvalidInputError(f"columns: '{name}' is not a column of numbers{why}")
    if not asked:
        _leave_out_repeated(table, found)
    if not found.numbers and not found.categories:
        reasons = ", ".join(name + why for name, why in found.left_out[:8]) or quoted(exclude)
        words = any("(text" in why for _, why in found.left_out)
        advice = "; take words as categories with categories=['all']" if words else ""
        raise InvalidInputError(f"the table has no numeric column to cluster by; left out: {reasons}{advice}")
    return found


def as_numbers(table: pd.DataFrame) -> pd.DataFrame:
    """Columns of numbers as floats, NaN where a cell is missing."""
    import pandas as pd

    values = {name: table[name].to_numpy(dtype=float, na_value=np.nan) for name in table.columns}
    return pd.DataFrame(values, index=table.index)


def check_table(table: Any, name: str = "table") -> None:
    """Refuse what is no table of pandas; ``name`` is that of the argument."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise InvalidInputError(f"{name} must be a DataFrame of pandas, got {type(table).__name__}")


def _names(names: Sequence[str], argument: str) -> list[str]:
    if isinstance(names, str):
        raise InvalidInputError(f"{argument} must hold names of columns, got the one name {names!r}: write [{names!r}]")
    return listed(names, argument, "names of columns")


def _check_known(table: pd.DataFrame, argument: str, names: list[str]) -> None:
    unknown = [name for name in names if not hashable.test(name) or name not in table]
    if unknown:
        raise InvalidInputError(
            f"{argument}: there is no column {quoted(unknown)}; there are {quoted(table.columns, 20)}"
        )


def _take_category(found: ChosenColumns, name: str, column: pd.Series) -> None:
    """Where only categories are wanted, words and whole numbers are some, measurements are not."""
    if column.dtype.kind in "iub" or _is_text(column):
        found.categories.append(name)
    elif column.dtype.kind == "f" and bool((column.dropna() % 1 == 0).all()):
        found.categories.append(name)  # whole numbers with cells missing
    else:
        found.left_out.append((name, " (measurements, not categories)" if column.dtype.kind == "f" else ""))


def _is_text(column: pd.Series) -> bool:
    return column.dtype.kind in "OTUb" and not _are_dates(column)


def _why_empty(column: pd.Series) -> str:
    if column.dtype.kind == "O" and not column.map(hashable.test).all():
        return " (lists, not single values)"
    return "" if column.notna().any() else " (empty)"


def _why_useless(column: pd.Series, position: int) -> str:
    """Why a column says nothing of what the rows are like."""
    empty = _why_empty(column)
    if empty:
        return empty
    if column.dtype.kind in "iu" and column.is_unique:
        steps = np.diff(column.to_numpy().astype(float))
        if len(steps) > 2 and (steps == 1).all() and (position == 0 or _IDENTIFIER.fullmatch(str(column.name))):
            return " (it numbers the rows)"
        if _IDENTIFIER.fullmatch(str(column.name)):
            return " (it identifies the rows)"
    if column.dtype.kind in "OTU" and column.is_unique and len(column) > 10 and not _nearly_numeric(column):
        return " (dates)" if _are_dates(column) else _like_numbers(column) or " (text, different in every row)"
    return ""


def _leave_out_repeated(table: pd.DataFrame, found: ChosenColumns) -> None:
    """A column with the cells of an earlier one would count twice."""
    first: dict[bytes | int, str] = {}
    for names in (found.numbers, found.categories):
        for name in list(names):
            import pandas as pd

            key = hash(pd.util.hash_pandas_object(table[name], index=False).to_numpy().tobytes())
            if key in first and table[name].equals(table[first[key]]):
                names.remove(name)
                found.left_out.append((name, f" (the same as '{first[key]}')"))
            else:
                first.setdefault(key, name)


def notes_of_categories(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """Which columns that are taken as categories may have been meant as numbers."""
    found = {name: _like_numbers(table[name]) for name in names if table[name].dtype.kind in "OTU"}
    return [f"taken as categories: {name}{why}" for name, why in found.items() if why]


def _nearly_numeric(column: pd.Series) -> bool:
    return bool(_why_not_numeric(column).startswith(" (") and "not a number" in _why_not_numeric(column))


def _why_not_numeric(column: pd.Series) -> str:
    """A column that is numbers but for a few cells was perhaps meant to be one."""
    import pandas as pd

    if column.dtype.kind in "Mm" or _are_dates(column):
        return " (dates)"
    if column.dtype.kind == "b":
        return " (true or false)"
    filled = column[column.notna()].astype(str)
    if len(filled) == 0:
        return " (empty)"
    text = filled[pd.to_numeric(filled, errors="coerce").isna()]
    if 0 < len(text) <= len(filled) / 2:
        return f" ({counted(len(text), 'cell')} of {len(filled):,} not a number, such as '{text.iloc[0]}')"
    return _like_numbers(column) or f" (text, {counted(filled.nunique(), 'different value')})"


def _like_numbers(column: pd.Series) -> str:
    cell = meant_as_number(column)
    return "" if cell is None else f" (text that looks like numbers, such as '{cell}')"


def _are_dates(column: pd.Series) -> bool:
    import warnings

    import pandas as pd

    if column.dtype.kind in "Mm":
        return True
    if column.dtype.kind not in "OTU":
        return False
    cells = column.dropna().iloc[:_LOOKED_AT].astype(str)
    if not len(cells) or not cells.str.contains(r"\d", regex=True).all():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numeric = pd.to_numeric(cells, errors="coerce").notna().any()
        ways = (pd.to_datetime(cells, errors="coerce", dayfirst=dayfirst) for dayfirst in (False, True))
        return not numeric and any(found.notna().all() for found in ways)
