"""From a table nobody prepared to what is clustered: which columns and rows, in which units; new rows likewise."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count, join_some, quote_names
from dempster._validation import as_reals, check_flags, hashable, listed, read_fields
from dempster.io.numbers import find_nonnumeric_cell

if TYPE_CHECKING:
    import pandas as pd


MISSING = ("refuse", "drop", "partial")
Note = Callable[[str], None]

_ALL = "all"  # instead of names of categories: every column of text
_IDENTIFIER = re.compile(r"(.*[\W_])?(id|ids|uuid|guid|key|index|row|rownames?|nr|no|number)", re.IGNORECASE)
_MAX_DATE_CELLS = 1000  # cells of a column of text that are tried as dates
_MAX_NAMED_COLUMNS = 12


@dataclass(frozen=True, eq=False)
class Preparation:
    """How a table became what was clustered, so that new rows are treated alike.

    Attributes
    ----------
    numbers, categories : list of str
        Columns, in the order in which they are clustered: numbers first.
    center, scale : arrays
        What is subtracted from the numbers and by what they are divided; zeros and ones if they are not standardised.
    missing : {"refuse", "drop", "partial"}

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import choose_attributes
    >>> table = pd.DataFrame({"length": [1.0, 2.0, 3.0], "weight": [40.0, 10.0, 70.0]})
    >>> preparation = choose_attributes(table).preparation
    >>> preparation.columns, preparation.center.tolist()
    (['length', 'weight'], [2.0, 40.0])
    >>> preparation.transform(pd.DataFrame({"weight": [40.0], "length": [2.0], "name": ["new"]})).to_dict("list")
    {'length': [0.0], 'weight': [0.0]}
    """

    numbers: list[str]
    categories: list[str]
    center: np.ndarray
    scale: np.ndarray
    missing: str = "refuse"

    def __post_init__(self) -> None:
        for name in ("numbers", "categories"):
            object.__setattr__(self, name, list(rule.names(getattr(self, name), name, "names of columns")))
        read_fields(self, center="d", scale="d")
        if len(self.center) not in (0, len(self.numbers)):
            message = f"center and scale must hold a value for each of the {len(self.numbers)} numbers"
            raise InvalidParameterError("center", message=message)
        rule.check_choice(self.missing, "missing", MISSING)

    @property
    def columns(self) -> list[str]:
        """All columns."""
        return [*self.numbers, *self.categories]

    @property
    def is_scaled(self) -> bool:
        """Whether the numbers are standardised."""
        return bool(np.any(self.center != 0) or np.any(self.scale != 1))

    def transform(self, table: pd.DataFrame, note: Note | None = None) -> pd.DataFrame:
        """New rows as the method knows them.

        Parameters
        ----------
        table : DataFrame
            With the columns of the training run, in any order; others are ignored.
        note : function, optional
            Is told in words which rows are left out.
        """
        check_table(table)
        rule.check(note, "note", rule.told)
        self.check_columns(table)
        chosen = _choose_columns(table[self.columns], self.columns, (), self.categories)
        rows = _convert_columns(table, chosen.numbers, chosen.categories)
        return self.apply(rows.iloc[_select_rows(rows, self.missing, note)])

    def check_columns(self, table: pd.DataFrame) -> None:
        """Refuse a table that lacks a column of the training run."""
        lacking = [name for name in self.columns if name not in table.columns]
        if lacking:
            raise InvalidParameterError(
                "table",
                message=f"the table lacks {'columns' if len(lacking) > 1 else 'column'} {quote_names(lacking)}, by "
                f"which the model was made; it has {quote_names(table.columns, 20)}",
            )

    def apply(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Standardise rows that were checked."""
        check_table(rows, "rows")
        if not self.is_scaled:
            return rows
        import pandas as pd

        values = (rows[self.numbers].to_numpy(dtype=float) - self.center) / self.scale
        numbers = pd.DataFrame(values, index=rows.index, columns=self.numbers)
        return pd.concat([numbers, rows[self.categories]], axis=1) if self.categories else numbers

    def to_original_units(self, points: np.ndarray) -> np.ndarray:
        """Points among the standardised numbers in the units of the table."""
        return as_reals(points, "points") * self.scale + self.center


@dataclass(frozen=True, eq=False)
class Attributes:
    """What `choose_attributes` chose.

    Attributes
    ----------
    table : DataFrame
        The chosen rows and columns, in the units of the file, with the names of the rows.
    values : DataFrame
        The same as it is clustered.
    preparation : Preparation
        How one became the other.
    rows : (n,) int array
        Positions of the chosen rows in the table that was given.
    notes : list of str
        What was left out, in plain words.
    """

    table: pd.DataFrame
    values: pd.DataFrame
    preparation: Preparation
    rows: np.ndarray
    notes: list[str]

    @property
    def is_scaled(self) -> bool:
        """Whether the numbers are standardised."""
        return self.preparation.is_scaled

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are clustered."""
        return self.preparation.columns


def choose_attributes(
    table: pd.DataFrame,
    *,
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    categories: Sequence[str] = (),
    numbers: bool = True,
    scale: bool = True,
    missing: str = "refuse",
) -> Attributes:
    """Columns and rows to cluster, ready for an estimator.

    Parameters
    ----------
    table : DataFrame
        As `dempster.io.read_table` reads it.
    columns : sequence of str, optional
        The columns to take. By default all numeric ones, but for those that number the rows or repeat another one.
    exclude : sequence of str, optional
        Columns not to take.
    categories : sequence of str, optional
        Columns to take as categories; ``["all"]`` means all columns of text. Numbers are then left as they are, for
        Gower's dissimilarity.
    numbers : bool, default=True
        False: only categories, whole numbers among them.
    scale : bool, default=True
        Standardise the numbers; columns that do not vary are left out.
    missing : {"refuse", "drop", "partial"}, default="refuse"
        What to do with rows in which cells are missing: refuse the table, leave them out, or keep them (an estimator
        must then be able to compare them).

    Returns
    -------
    Attributes

    Raises
    ------
    ValueError
        There is nothing to cluster, cells are missing or infinite: the message says what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import choose_attributes
    >>> table = pd.DataFrame({"name": ["a", "b", "c"], "height": [1.0, 2.0, 3.0], "width": [5, 5, 5]})
    >>> attributes = choose_attributes(table)
    >>> attributes.notes
    ['left out the column name (text, 3 different values)', 'left out as constant: width']
    >>> attributes.values.round(2).to_dict("list")
    {'height': [-1.22, 0.0, 1.22]}
    >>> attributes.preparation.transform(pd.DataFrame({"height": [2.0]})).to_dict("list")
    {'height': [0.0]}
    """
    rule.check_choice(missing, "missing", MISSING)
    rule.check_flags(scale=scale)
    check_table(table)
    if len(table) == 0:
        raise InvalidParameterError("table", message="the table has no rows")
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        message = f"the table has two columns of the name {quote_names(twice[:1])}: rename one of them"
        raise InvalidParameterError("table", message=message)
    notes: list[str] = []
    chosen = _choose_columns(table, columns, exclude, categories, numbers=numbers)
    if chosen.left_out:
        several = "columns" if len(chosen.left_out) > 1 else "column"
        notes.append(f"left out the {several} {join_some(chosen.reasons(), _MAX_NAMED_COLUMNS)}")
    for name in chosen.categories:
        kind, reason = _describe(table[name]) if table[name].dtype.kind in "OTU" else ("", "")
        if kind == "like numbers":
            notes.append(f"taken as categories: {name} {reason}")
    converted = _convert_columns(table, chosen.numbers, chosen.categories)
    kept_rows = _select_rows(converted, missing, notes.append)
    rows = converted if len(kept_rows) == len(converted) else converted.iloc[kept_rows]
    is_scaled = scale and not chosen.categories
    if is_scaled:
        rows = _drop_constant_columns(rows, notes.append)
    kept = list(rows.columns[: len(rows.columns) - len(chosen.categories)])
    center, spread = _moments(rows) if is_scaled else (np.zeros(len(kept)), np.ones(len(kept)))
    preparation = Preparation(kept, chosen.categories, center, spread, missing)
    return Attributes(rows, preparation.apply(rows), preparation, kept_rows, notes)


def check_table(table: Any, name: str = "table") -> None:
    """Check that an argument is a pandas DataFrame."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        message = f"{name} must be a DataFrame of pandas, got {type(table).__name__}"
        raise InvalidParameterError(name, message=message)


# ---- columns --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ChosenColumns:
    """Names of columns to cluster by, and (name, kind, reason) of those left out (see `_describe`)."""

    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str, str]] = field(default_factory=list)

    def reasons(self) -> list[str]:
        return [f"{name} {reason}" for name, _, reason in self.left_out]


def _choose_columns(
    table: pd.DataFrame,
    columns: Sequence[str],
    exclude: Sequence[str],
    categories: Sequence[str],
    *,
    numbers: bool = True,
) -> _ChosenColumns:
    """Take the columns that are named, or all that tell the rows apart.

    Text, dates, columns that number the rows, empty and repeated columns are left out unless they are named. If
    ``numbers`` is False, whole numbers are categories and other numbers are left out.
    """
    columns, exclude = _list_names(columns, "columns"), _list_names(exclude, "exclude")
    categories = _list_names(categories, "categories")
    check_flags(numbers=numbers)
    every_text = categories == [_ALL] and _ALL not in table.columns
    named = {"columns": columns, "exclude": exclude} | ({} if every_text else {"categories": categories})
    for argument, names in named.items():
        unknown = [name for name in names if not hashable.test(name) or name not in table]
        if unknown:
            there = quote_names(table.columns, 20)
            message = f"{argument}: there is no column {quote_names(unknown)}; there are {there}"
            raise InvalidParameterError(argument, message=message)
    both = [name for name in categories if name in exclude]
    if both:
        message = f"categories: {quote_names(both)} is excluded too; take it out of one of the two"
        raise InvalidParameterError("categories", message=message)
    wanted = list(dict.fromkeys(columns))
    # columns named as categories join those that are named
    wanted += [name for name in categories if not every_text and wanted and name not in wanted]
    found = _ChosenColumns()
    positions = {name: position for position, name in enumerate(table.columns)}
    for name in [name for name in (wanted or table.columns) if name not in exclude]:
        column = table[name]
        kind, reason = _find_useless(column, positions[name]) if not wanted else _find_empty(column)
        if kind:
            found.left_out.append((name, kind, reason))
        elif name in categories or (every_text and _is_text(column)) or (not numbers and _is_category(column)):
            found.categories.append(name)
        elif not numbers:
            is_number = column.dtype.kind == "f"
            why = ("numbers", "(measurements, not categories)") if is_number else _describe(column)
            found.left_out.append((name, *why))
        elif column.dtype.kind in "iuf" or (column.dtype.kind == "b" and bool(wanted)):
            found.numbers.append(name)
        else:
            found.left_out.append((name, *_describe(column)))
    if found.left_out and wanted:
        name, _, reason = found.left_out[0]
        raise InvalidParameterError("columns", message=f"columns: '{name}' is not a column of numbers {reason}")
    if not wanted:
        _drop_repeated(table, found)
    if not found.numbers and not found.categories:
        _refuse_without_columns(found, exclude)
    return found


def _refuse_without_columns(found: _ChosenColumns, exclude: list[str]) -> None:
    message = "the table has no numeric column to cluster by; left out: "
    message += ", ".join(found.reasons()[:8]) or quote_names(exclude)
    if all(kind not in ("text", "like numbers") for _, kind, _ in found.left_out):
        raise InvalidParameterError("table", message=message)
    message += "; take words as categories with categories=['all']"
    raise InvalidParameterError("table", message=message, settings={"categories": ["all"]})


def _list_names(names: Sequence[str], argument: str) -> list[str]:
    if isinstance(names, str):
        message = f"{argument} must hold names of columns, got the one name {names!r}: write [{names!r}]"
        raise InvalidParameterError(argument, message=message)
    return listed(names, argument, "names of columns")


def _is_category(column: pd.Series) -> bool:
    """Whether a column is words or whole numbers, which may be floats where cells are missing."""
    is_whole = column.dtype.kind in "iub" or (column.dtype.kind == "f" and bool((column.dropna() % 1 == 0).all()))
    return is_whole or _is_text(column)


def _is_text(column: pd.Series) -> bool:
    return column.dtype.kind in "OTUb" and not _are_dates(column)


def _find_empty(column: pd.Series) -> tuple[str, str]:
    if column.dtype.kind == "O" and not column.map(hashable.test).all():
        return "lists", "(lists, not single values)"
    return ("", "") if column.notna().any() else ("empty", "(empty)")


def _find_useless(column: pd.Series, position: int) -> tuple[str, str]:
    """Kind and reason of a column that says nothing of what the rows are like; empty if it does say something."""
    kind, reason = _find_empty(column)
    if kind or not column.is_unique:
        return kind, reason
    if column.dtype.kind in "iu":
        steps = np.diff(column.to_numpy().astype(float))
        is_identifier = _IDENTIFIER.fullmatch(str(column.name)) is not None
        if len(steps) > 2 and (steps == 1).all() and (position == 0 or is_identifier):
            return "identifier", "(it numbers the rows)"
        if is_identifier:
            return "identifier", "(it identifies the rows)"
    if column.dtype.kind in "OTU" and len(column) > 10:
        kind, reason = _describe(column)
        if kind == "nearly numeric":
            return "", ""
        return kind, "(text, different in every row)" if kind == "text" else reason
    return "", ""


def _describe(column: pd.Series) -> tuple[str, str]:
    """Return what a column that is not numeric holds, and how to say so."""
    import pandas as pd

    if _are_dates(column):
        return "dates", "(dates)"
    if column.dtype.kind == "b":
        return "flags", "(true or false)"
    filled = column[column.notna()].astype(str)
    if len(filled) == 0:
        return "empty", "(empty)"
    text = filled[pd.to_numeric(filled, errors="coerce").isna()]
    if 0 < len(text) <= len(filled) / 2:
        counts = f"{format_count(len(text), 'cell')} of {len(filled):,}"
        return "nearly numeric", f"({counts} not a number, such as '{text.iloc[0]}')"
    cell = find_nonnumeric_cell(column)
    if cell is not None:
        return "like numbers", f"(text that looks like numbers, such as '{cell}')"
    return "text", f"(text, {format_count(filled.nunique(), 'different value')})"


def _are_dates(column: pd.Series) -> bool:
    import pandas as pd

    if column.dtype.kind in "Mm":
        return True
    if column.dtype.kind not in "OTU":
        return False
    cells = column.dropna().iloc[:_MAX_DATE_CELLS].astype(str)
    if not len(cells) or not cells.str.contains(r"\d", regex=True).all():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if pd.to_numeric(cells, errors="coerce").notna().any():
            return False
        return any(pd.to_datetime(cells, errors="coerce", dayfirst=first).notna().all() for first in (False, True))


def _drop_repeated(table: pd.DataFrame, found: _ChosenColumns) -> None:
    """Leave out columns with the cells of an earlier one, which would count twice."""
    import pandas as pd

    first: dict[int, str] = {}
    for names in (found.numbers, found.categories):
        for name in list(names):
            key = hash(pd.util.hash_pandas_object(table[name], index=False).to_numpy().tobytes())
            if key in first and table[name].equals(table[first[key]]):
                names.remove(name)
                found.left_out.append((name, "repeated", f"(the same as '{first[key]}')"))
            else:
                first.setdefault(key, name)


def _convert_columns(table: pd.DataFrame, numbers: list[str], categories: list[str]) -> pd.DataFrame:
    """Numbers as floats, NaN where a cell is missing, and categories as text."""
    import pandas as pd

    cells: dict[str, Any] = {name: table[name].to_numpy(dtype=float, na_value=np.nan) for name in numbers}
    for name in categories:
        column = table[name].astype(object)
        cells[name] = column.where(column.isna(), column.map(str))
    return pd.DataFrame(cells, index=table.index)


# ---- rows -----------------------------------------------------------------------------------------------------------


def _select_rows(rows: pd.DataFrame, missing: str, note: Note | None) -> np.ndarray:
    """Positions of the rows to take, by what is missing in them; infinite values are refused."""
    absent = rows.isna().to_numpy()
    kept = np.arange(len(rows))
    if absent.any():
        select = _select_not_empty if missing == "partial" else _select_complete
        mask, remarks = select(rows, absent, missing)
        kept = np.flatnonzero(mask)
        if note is not None:
            for remark in remarks:
                note(remark)
    infinite = {name: np.isinf(rows[name].to_numpy()[kept]) for name in rows.columns if rows[name].dtype.kind == "f"}
    where = [name for name, cells in infinite.items() if cells.any()]
    if where:
        bad, names = int(np.any([infinite[name] for name in where], axis=0).sum()), ",".join(where)
        raise InvalidParameterError(
            "table",
            message=f"{format_count(bad, 'row')} of {len(kept):,} with infinite values (in {quote_names(where)}); "
            f"correct them, or leave the columns out with exclude={names!r}",
            settings={"exclude": names},
        )
    return kept


def _select_not_empty(rows: pd.DataFrame, absent: np.ndarray, _: str) -> tuple[np.ndarray, list[str]]:
    empty = np.asarray(absent.all(axis=1))
    remarks = []
    if empty.any():
        remarks.append(f"left out {format_count(int(empty.sum()), 'row')} of {len(rows):,} without any value")
    incomplete = int(absent[~empty].any(axis=1).sum())
    if incomplete:
        total = int((~empty).sum())
        remarks.append(f"{format_count(incomplete, 'row')} of {total:,} compared by the values that are there")
    return ~empty, remarks


def _select_complete(rows: pd.DataFrame, absent: np.ndarray, missing: str) -> tuple[np.ndarray, list[str]]:
    bad = np.asarray(absent.any(axis=1))
    where = list(rows.columns[np.asarray(absent.any(axis=0))])
    what = f"{format_count(int(bad.sum()), 'row')} of {len(rows):,} with missing values (in {quote_names(where)})"
    if missing == "refuse":
        names = ",".join(where)
        raise InvalidParameterError(
            "table",
            message=f"{what}; compare the rows by the values that are there with missing='partial', leave those rows "
            f"out with missing='drop', or the columns with exclude={names!r}",
            settings={"missing": ("partial", "drop"), "exclude": names},
        )
    if bad.all():
        message = f"{what}; missing='drop' would leave none"
        raise InvalidParameterError("table", message=message, settings={"missing": "drop"})
    return ~bad, [f"left out {what}"]


def _drop_constant_columns(numbers: pd.DataFrame, note: Note) -> pd.DataFrame:
    values = numbers.to_numpy()
    varies = np.asarray(np.nanmax(values, axis=0) > np.nanmin(values, axis=0))
    if not varies.any():
        raise InvalidInputError("all the columns are constant: there is nothing to cluster")
    if not varies.all():
        note(f"left out as constant: {', '.join(numbers.columns[~varies])}")
    return numbers.loc[:, varies]


def _moments(numbers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the values that are there."""
    values = np.asfortranarray(numbers.to_numpy())  # sums along contiguous columns lose fewer digits
    with np.errstate(over="ignore", invalid="ignore"):
        center, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    for name, spread in zip(numbers.columns, scale, strict=True):
        if not (np.isfinite(spread) and spread > 0):
            raise InvalidInputError(
                f"the values of column '{name}' are too large or too close to each other to be scaled"
            )
    return center, scale
