"""Select and standardize the columns and rows of a table, and prepare new rows in the same way."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import (
    MAX_NAME_CHARACTERS,
    format_count,
    join_some,
    quote_names,
)
from dempster.data.identifiers import Identifier, find_identifier
from dempster.dissimilarity.input import find_unit
from dempster.io.numbers import (
    find_nonnumeric_cell,
    looks_like_number,
    read_text_columns,
)
from dempster.io.tables import INDEX_COL, check_columns_exist

MISSING = ("refuse", "drop", "partial")
SCALE = rule.auto | rule.flag
Note = Callable[[str], None]

_ALL = "all"  # value of ``categories`` that selects every text column
_MAX_DATE_CELLS = 1000  # number of cells of a column that are parsed to detect dates
_MAX_NAMED_COLUMNS = 12
_MISSING_CODES = (-99, -999, -9999, -99999)
# An extreme value that occurs several times may be a code only beside so many other values.
_MIN_OTHER_VALUES = 10


@dataclass(frozen=True, eq=False)
class Preparation:
    """Selected columns and standardization of a training table, used to prepare new rows.

    Attributes
    ----------
    numbers, categories : list of str
        Names of the numeric columns and of the categorical columns. The estimator gets the numeric
        columns first.
    center, scale : arrays
        Mean and standard deviation of each numeric column, or zeros and ones if the columns are not
        standardized.
    missing : {"refuse", "drop", "partial"}
        Treatment of rows with missing values (see `choose_attributes`).
    index_col : str or None
        Column with the names of the rows; None if the rows of the training table had names before,
        or have none.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import choose_attributes
    >>> table = pd.DataFrame({"length": [1.0, 2.0, 3.0], "weight": [40.0, 10.0, 70.0]})
    >>> preparation = choose_attributes(table).preparation
    >>> preparation.columns, preparation.center.tolist()
    (['length', 'weight'], [2.0, 40.0])
    >>> new = pd.DataFrame({"weight": [40.0], "length": [2.0], "name": ["new"]})
    >>> preparation.transform(new).to_dict("list")
    {'length': [0.0], 'weight': [0.0]}
    """

    numbers: list[str]
    categories: list[str]
    center: np.ndarray
    scale: np.ndarray
    missing: str = "refuse"
    index_col: str | None = None

    def __post_init__(self) -> None:
        for name in ("numbers", "categories"):
            names = rule.as_names(getattr(self, name), name, "names of columns")
            object.__setattr__(self, name, list(names))
        rule.convert_fields(self, center="d", scale="d")
        if len(self.center) != len(self.numbers):
            must = f"have one value for each of the {len(self.numbers)} numbers"
            raise InvalidParameterError("center", must=must)
        rule.check_choice(self.missing, "missing", MISSING)

    @property
    def columns(self) -> list[str]:
        """Names of the numeric columns and the categorical columns."""
        return [*self.numbers, *self.categories]

    @property
    def is_scaled(self) -> bool:
        """Whether the numeric columns are standardized."""
        return bool(np.any(self.center != 0) or np.any(self.scale != 1))

    def transform(self, table: pd.DataFrame, note: Note | None = None) -> pd.DataFrame:
        """Prepare new rows for the estimator.

        Parameters
        ----------
        table : DataFrame
            Table with the columns of the training run in any order. Additional columns are ignored.
        note : function, optional
            Function that is called with a text about rows that are left out.

        Returns
        -------
        DataFrame
        """
        check_table(table)
        rule.check(note, "note", rule.callback)
        check_columns_exist(_with_text_names(table), "table", self.columns)
        rows = self.select(self.name_rows(table))
        positions = _select_rows(rows, self.missing, note or (lambda text: None))
        return self.standardize(rows.iloc[positions])

    def name_rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """Name the rows of a table by the column `index_col`.

        Parameters
        ----------
        table : DataFrame
            Table, which may lack this column.

        Returns
        -------
        DataFrame
            The same table if its index has a name, or if it lacks this column.
        """
        if self.index_col not in table.columns or table.index.name is not None:
            return table
        return table.set_index(self.index_col)

    def select(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of the training run, as numbers and text.

        Parameters
        ----------
        table : DataFrame
            Table with the columns of the training run in any order.

        Returns
        -------
        DataFrame
            All rows, in the units of the table.
        """
        table = _with_text_names(table)
        read = _read_numbers(table[self.columns], self.numbers)[0]
        selection = _select_columns(read, self.columns, (), self.categories)
        return _convert_columns(read, selection)

    def describe(self) -> dict[str, Any]:
        """Return the entry ``clustered`` of the metadata of a partition.

        Returns
        -------
        dict
            Argument of `choose_recorded_attributes`.
        """
        return {
            "numbers": self.numbers,
            "categories": self.categories,
            "standardized": self.is_scaled,
        }

    def standardize(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows with standardized numeric columns.

        Parameters
        ----------
        rows : DataFrame
            Rows of the result of `select`.

        Returns
        -------
        DataFrame
            The same rows; numeric columns come first if they are standardized.
        """
        if not self.is_scaled:
            return rows
        values = (rows[self.numbers].to_numpy(dtype=float) - self.center) / self.scale
        numbers = pd.DataFrame(values, index=rows.index, columns=self.numbers)
        if self.categories:
            return pd.concat([numbers, rows[self.categories]], axis=1)
        return numbers


@dataclass(frozen=True, eq=False)
class Attributes:
    """Result of `choose_attributes`.

    Attributes
    ----------
    source : DataFrame
        All rows and columns, with the names of the rows as index.
    table : DataFrame
        Selected rows and columns in their original units.
    values : DataFrame
        The same rows and columns, standardized, for the estimator.
    preparation : Preparation
        Transformation from ``table`` to ``values``.
    rows : (n,) int array
        Positions of the selected rows in the original table.
    column_notes, row_notes : list of str
        Notes about columns that were left out, and about rows with missing values.
    """

    source: pd.DataFrame
    table: pd.DataFrame
    values: pd.DataFrame
    preparation: Preparation
    rows: np.ndarray
    column_notes: list[str]
    row_notes: list[str]

    @property
    def notes(self) -> list[str]:
        """All notes."""
        return [*self.column_notes, *self.row_notes]

    @property
    def is_scaled(self) -> bool:
        """Whether the numeric columns are standardized."""
        return self.preparation.is_scaled

    @property
    def columns(self) -> list[str]:
        """Names of the selected columns."""
        return self.preparation.columns


def choose_attributes(
    table: pd.DataFrame,
    *,
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    categories: Sequence[str] = (),
    numbers: bool = True,
    scale: bool | str = True,
    missing: str = "refuse",
    index_col: str | bool | None = None,
) -> Attributes:
    """Select the columns and rows of a table for clustering, and standardize them.

    Parameters
    ----------
    table : DataFrame
        Table, such as the result of `dempster.io.read_table`. Text such as "€470.55" and "45%" is
        read as a number, as `dempster.io.read_table` does. Names of columns that are not text, such
        as integers, are converted to text.
    columns : sequence of str, optional
        Columns to use. The default is all numeric columns except identifiers (row numbers, codes
        and similar integers) and copies of another column.
    exclude : sequence of str, optional
        Columns to ignore.
    categories : sequence of str, optional
        Columns to use as categories; ``["all"]`` selects all columns of text. Numeric columns are
        then not standardized, because Gower's dissimilarity scales them.
    numbers : bool, default=True
        If False, use only categorical columns, which include columns of integers.
    scale : bool or "auto", default=True
        Whether to standardize the numeric columns. Constant columns are then left out. "auto":
        divide the columns by their spreads if these differ clearly, like
        `dempster.cluster.CredalClustering`.
    missing : {"refuse", "drop", "partial"}, default="refuse"
        Treatment of rows with missing values. "refuse" raises an error, "drop" leaves the rows out,
        and "partial" keeps them for an estimator that accepts missing values.
    index_col : str or False, optional
        Column with the names of the rows. By default, if the table has a default index, the rows
        are named by the first column of short texts that differ in every row and that is not used
        otherwise. False: the rows have no names.

    Returns
    -------
    selection : Attributes

    Raises
    ------
    ValueError
        If no column or row is left, or if values are missing or infinite.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.apps.recipe import choose_attributes
    >>> table = pd.DataFrame({"name": list("abc"), "height": [1.0, 2.0, 3.0], "width": [5, 5, 5]})
    >>> attributes = choose_attributes(table)
    >>> attributes.notes
    ['the rows are named by the column name', 'left out constant columns: width']
    >>> attributes.values.round(2).to_dict("list")
    {'height': [-1.22, 0.0, 1.22]}
    >>> attributes.preparation.transform(pd.DataFrame({"height": [2.0]})).to_dict("list")
    {'height': [0.0]}
    """
    rule.check_choice(missing, "missing", MISSING)
    rule.check(scale, "scale", SCALE)
    rule.check(index_col, "index_col", INDEX_COL)
    columns = rule.as_texts(columns, "columns", "a list of names of columns")
    exclude = rule.as_texts(exclude, "exclude", "a list of names of columns")
    categories = rule.as_texts(categories, "categories", "a list of names of columns")
    rule.check_flags(numbers=numbers)
    check_table(table)
    table = _with_text_names(table)
    if len(table) == 0:
        raise InvalidParameterError("table", message="the table has no rows")
    duplicates = table.columns[table.columns.duplicated()]
    if len(duplicates):
        message = f"the table has several columns named {quote_names(duplicates[:1])}; rename them"
        raise InvalidParameterError("table", message=message)
    names_column = None
    if isinstance(index_col, str):
        names_column = index_col
        check_columns_exist(table, "index_col", [names_column])
        table = table.set_index(names_column)
    notes: list[str] = []
    if numbers:
        names = columns or [str(name) for name in table]
        ignored = [*exclude, *categories]
        table, notes = _read_numbers(table, [c for c in names if c not in ignored])
    selection = _select_columns(table, columns, exclude, categories, numbers=numbers)
    if index_col is None and rule.row_index(table) is None:
        used = [*exclude, *selection.numbers, *selection.categories]
        names_column = find_name_column(table, used)
        if names_column is not None:
            table = table.set_index(names_column)
            selection = selection.without(names_column)
            notes.append(f"the rows are named by the column {names_column}")
    _note_left_out(table, selection, notes.append)
    for name in selection.categories:
        if table[name].dtype.kind in "OTU":
            kind, reason = _describe(table[name])
            if kind == "like numbers":
                notes.append(f"used as categories: {name} {reason}")
    if not columns:
        _note_identifiers(table, selection.numbers, notes.append)
    converted = _convert_columns(table, selection)
    _note_missing_codes(converted[selection.numbers], notes.append)
    row_notes: list[str] = []
    _note_identical_rows(table, row_notes.append)
    advice = ", or use the values that are present (missing='partial')"
    positions = _select_rows(converted, missing, row_notes.append, advice)
    rows = converted
    if len(positions) < len(converted):
        rows = converted.iloc[positions]
    numbers_used = selection.numbers
    center = np.zeros(len(numbers_used))
    spread = np.ones(len(numbers_used))
    if scale and not selection.categories:
        rows = _drop_constant_columns(rows, notes.append)
        numbers_used = list(rows.columns)
        center, spread = _compute_moments(rows)
        if scale == "auto":
            unit = find_unit(rows.to_numpy(), only_if_clear=True)
            center = np.zeros(len(numbers_used))
            spread = np.ones(len(numbers_used)) if unit is None else unit
    preparation = Preparation(
        numbers_used, selection.categories, center, spread, missing, names_column
    )
    values = preparation.standardize(rows)
    return Attributes(table, rows, values, preparation, positions, notes, row_notes)


def choose_recorded_attributes(
    table: pd.DataFrame, record: Mapping[str, Any]
) -> Attributes:
    """Select the columns of a table that a partition was computed from.

    Parameters
    ----------
    table : DataFrame
        The clustered rows.
    record : mapping
        ``partition.metadata["clustered"]``, see `Preparation.describe`.

    Returns
    -------
    selection : Attributes
    """
    rule.check(record, "clustered", rule.kind(Mapping, words="values by name"))
    categories = list(record.get("categories", ()))
    columns = [*record.get("numbers", ()), *categories]
    check_columns_exist(_with_text_names(table), "table", columns)
    return choose_attributes(
        table,
        columns=columns,
        categories=categories,
        scale=bool(record.get("standardized", True)),
        missing="partial",
    )


def check_table(table: Any) -> None:
    """Raise an error unless the argument ``table`` is a pandas DataFrame."""
    rule.check(table, "table", rule.kind(pd.DataFrame, words="a pandas DataFrame"))


def _with_text_names(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the names of its columns as text, in which model files store them."""
    if all(isinstance(name, str) for name in table.columns):
        return table
    return table.set_axis([str(name) for name in table.columns], axis=1)


# ---- columns -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Selection:
    """Names of the selected columns.

    ``left_out`` lists (name, kind, reason) for each column that is not selected.
    """

    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str, str]] = field(default_factory=list)

    def reasons(self) -> list[str]:
        """Return texts with the columns that are left out for the same reason, and the reason."""
        names: dict[str, list[str]] = {}
        for name, _, reason in self.left_out:
            names.setdefault(reason, []).append(str(name))
        return [f"{join_some(these)} {reason}" for reason, these in names.items()]

    def without(self, name: str) -> _Selection:
        """Return the same selection for a table without a column that is not selected."""
        left_out = [one for one in self.left_out if one[0] != name]
        return replace(self, left_out=left_out)


def find_name_column(table: pd.DataFrame, used: Collection[str]) -> str | None:
    """Return the first column of short texts that differ in every row, and is not used otherwise.

    Such a column names the rows. Return None if there is none.
    """
    for name in table.columns:
        column = table[name]
        if (
            name not in used
            and column.dtype.kind in "OTU"
            and column.map(lambda cell: isinstance(cell, str)).all()
            and column.is_unique
            and column.str.len().median() <= MAX_NAME_CHARACTERS
            and _describe(column)[0] == "text"
        ):
            return str(name)
    return None


def _select_columns(
    table: pd.DataFrame,
    columns: Sequence[str],
    exclude: Sequence[str],
    categories: Sequence[str],
    *,
    numbers: bool = True,
) -> _Selection:
    """Select the columns given by name or, if no name is given, all informative columns.

    Text, dates, row numbers, empty columns and copies of other columns are left out unless they are
    given by name. If ``numbers`` is False, columns of integers are categories and columns of floats
    are left out.
    """
    all_text = categories == [_ALL] and _ALL not in table.columns
    check_columns_exist(table, "columns", columns)
    check_columns_exist(table, "exclude", exclude)
    if not all_text:
        check_columns_exist(table, "categories", categories)
    both = [name for name in categories if name in exclude]
    if both:
        message = f"categories: {quote_names(both)} is also in exclude; remove it from one of them"
        raise InvalidParameterError("categories", message=message)
    more = categories if columns and not all_text else []
    wanted = list(dict.fromkeys([*columns, *more]))
    selection = _Selection()
    for position, name in enumerate(wanted or table.columns):
        if name in exclude:
            continue
        column = table[name]
        if wanted:
            kind, reason = _find_empty(column)
        else:
            kind, reason = _find_uninformative(column, position)
        if kind:
            selection.left_out.append((name, kind, reason))
        elif (
            name in categories
            or (all_text and _is_text(column))
            or (not numbers and _is_category(column))
        ):
            selection.categories.append(name)
        elif numbers and (
            column.dtype.kind in "iuf" or (column.dtype.kind == "b" and wanted)
        ):
            selection.numbers.append(name)
        elif not numbers and column.dtype.kind == "f":
            selection.left_out.append(
                (name, "numbers", "(measurements, not categories)")
            )
        else:
            selection.left_out.append((name, *_describe(column)))
    if selection.left_out and wanted:
        name, _, reason = selection.left_out[0]
        message = (
            f"columns: column '{name}' is not numeric {reason}; "
            f"use it as categories (categories=[{str(name)!r}])"
        )
        raise InvalidParameterError("columns", message=message)
    if not wanted:
        _drop_repeated(table, selection)
    if not selection.numbers and not selection.categories:
        message = "the table has no numeric column to cluster; left out: "
        message += ", ".join(selection.reasons()[:8]) or quote_names(exclude)
        if any(kind in ("text", "like numbers") for _, kind, _ in selection.left_out):
            message += "; use text as categories (categories=['all'])"
        raise InvalidParameterError("table", message=message)
    return selection


def _read_numbers(
    table: pd.DataFrame, names: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with numbers in place of text such as "45%" in some columns, and notes."""
    if "header" in table.attrs:  # `read_table` has read the numbers.
        return table, []
    return read_text_columns(table, [name for name in names if name in table])


def _is_category(column: pd.Series) -> bool:
    """Return whether a column contains text or integers, which may be floats with NaN."""
    is_integer = column.dtype.kind in "iub" or (
        column.dtype.kind == "f" and bool((column.dropna() % 1 == 0).all())
    )
    return is_integer or _is_text(column)


def _is_text(column: pd.Series) -> bool:
    return column.dtype.kind in "OTUb" and not _are_dates(column)


def _find_empty(column: pd.Series) -> tuple[str, str]:
    if column.dtype.kind == "O" and not column.map(rule.hashable.test).all():
        return "lists", "(lists, not single values)"
    if column.isna().all():
        return "empty", "(empty)"
    return "", ""


def _find_uninformative(column: pd.Series, position: int) -> tuple[str, str]:
    """Return the kind of an uninformative column and the reason to leave it out, or empty texts."""
    kind, reason = _find_empty(column)
    if kind:
        return kind, reason
    found = _find_identifier(column, position)
    if found is not None and found.is_strong:
        return "identifier", f"({found.reason})"
    if column.dtype.kind in "OTU" and len(column) > 10 and column.is_unique:
        kind, reason = _describe(column)
        if kind == "text":
            reason = "(text, different in every row; it may be the index)"
        if kind != "nearly numeric":
            return kind, reason
    return "", ""


def _find_identifier(column: pd.Series, position: int) -> Identifier | None:
    if column.dtype.kind not in "iuf":
        return None
    # NaN makes integers floats.
    is_integer = column.dtype.kind in "iu" or column.hasnans
    values = column.dropna().to_numpy()
    return find_identifier(column.name, values, is_first=position == 0 and is_integer)


def _describe(column: pd.Series) -> tuple[str, str]:
    """Return the kind of a column that is not numeric, and its content in parentheses."""
    if _are_dates(column):
        return "dates", "(dates)"
    if column.dtype.kind == "b":
        return "flags", "(true or false)"
    filled = column.dropna().astype(str)
    text = _text_cells(filled)
    if 0 < len(text) <= len(filled) / 2:
        counts = f"{format_count(len(text), 'cell')} of {len(filled):,}"
        return "nearly numeric", f"({counts} not a number, such as '{text.iloc[0]}')"
    cell = find_nonnumeric_cell(column)
    if cell is not None:
        return "like numbers", f"(text that looks like numbers, such as '{cell}')"
    return "text", f"(text, {format_count(filled.nunique(), 'different value')})"


def _text_cells(filled: pd.Series) -> pd.Series:
    return filled[pd.to_numeric(filled, errors="coerce").isna()]


def _are_dates(column: pd.Series) -> bool:
    if column.dtype.kind in "Mm":
        return True
    if column.dtype.kind not in "OTU":
        return False
    cells = column.dropna().iloc[:_MAX_DATE_CELLS].astype(str)
    if not len(cells) or not cells.str.contains(r"\d").all():
        return False
    if any(map(looks_like_number, cells)):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dates = pd.to_datetime(cells, errors="coerce", format="mixed")
    return bool(dates.notna().all())


def _drop_repeated(table: pd.DataFrame, selection: _Selection) -> None:
    """Remove copies of earlier columns from a selection, because they would count twice."""
    first: dict[int, str] = {}
    for names in (selection.numbers, selection.categories):
        for name in list(names):
            key = hash(
                pd.util.hash_pandas_object(table[name], index=False)
                .to_numpy()
                .tobytes()
            )
            if key in first and table[name].equals(table[first[key]]):
                names.remove(name)
                selection.left_out.append(
                    (name, "repeated", f"(the same as '{first[key]}')")
                )
            else:
                first.setdefault(key, name)


def _convert_columns(table: pd.DataFrame, selection: _Selection) -> pd.DataFrame:
    """Return numeric columns as floats with NaN for missing values, and categories as text."""
    cells: dict[str, Any] = {}
    for name in selection.numbers:
        cells[name] = table[name].to_numpy(dtype=float, na_value=np.nan)
    for name in selection.categories:
        column = table[name].astype(object)
        cells[name] = column.where(column.isna(), column.map(str))
    return pd.DataFrame(cells, index=table.index)


def _note_left_out(table: pd.DataFrame, selection: _Selection, note: Note) -> None:
    """Note the columns that were left out, and how some of them can be used."""
    if not selection.left_out:
        return
    names: dict[str, list[str]] = {}
    for name, kind, _ in selection.left_out:
        names.setdefault(kind, []).append(name)
    reasons = join_some(selection.reasons(), _MAX_NAMED_COLUMNS)
    note(f"left out the column{'s' * (len(selection.left_out) > 1)} {reasons}")
    if nearly := names.get("nearly numeric"):
        cells = [str(_text_cells(table[name].dropna()).iloc[0]) for name in nearly]
        note(
            f"to use {quote_names(nearly)}, correct the cells that are not numbers, or delete "
            f"them (na_values={list(dict.fromkeys(cells))})"
        )
    if dates := names.get("dates"):
        what = "numbers, such as the days since the first date"
        note(f"to use {quote_names(dates)}, replace the dates by {what}")
    n_texts = len(names.get("text", ()))
    if not selection.categories and n_texts > len(selection.numbers):
        advice = "it can be used as categories (categories=['all'])"
        note(f"most columns are text, which was not used; {advice}")


def _note_identifiers(table: pd.DataFrame, names: list[str], note: Note) -> None:
    """Note selected columns that may be identifiers or codes."""
    found = [name for name in names if _find_identifier(table[name], -1) is not None]
    if found:
        note(
            f"{quote_names(found)} may contain codes, identifiers or years instead of "
            f"measurements; if so, leave them out (exclude={list(map(str, found))})"
        )


def _note_missing_codes(numbers: pd.DataFrame, note: Note) -> None:
    """Note codes of missing values, such as -999."""
    codes = {}
    for name in numbers:
        code = _find_code(numbers[name].to_numpy())
        if code is not None:
            codes[name] = code
    if codes:
        cells = sorted({f"{code:.0f}" for code in codes.values()})
        note(
            f"{', '.join(cells)} in {quote_names(codes)} may mean missing values; if so, delete "
            f"these cells (na_values={cells})"
        )


def _find_code(values: np.ndarray) -> float | None:
    """Return the code of missing values among the values of a column, or None.

    It is a single negative number such as -999, or -1 or an isolated largest or smallest integer
    that occurs several times. Isolated means that its distance from the other values is at least
    their range. The other values can have decimals.
    """
    unique, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    if len(unique) < 2:
        return None
    is_only_negative = unique[0] < 0 <= unique[1]
    if is_only_negative and unique[0] in _MISSING_CODES:
        return float(unique[0])
    if len(unique) <= _MIN_OTHER_VALUES:
        return None
    is_repeated_integer = (counts > 1) & (unique % 1 == 0)
    if is_only_negative and unique[0] == -1 and is_repeated_integer[0]:
        return -1.0
    gaps = np.diff(unique)
    if is_repeated_integer[-1] and gaps[-1] >= unique[-2] - unique[0]:
        return float(unique[-1])
    if is_repeated_integer[0] and gaps[0] >= unique[-1] - unique[1]:
        return float(unique[0])
    return None


# ---- rows ----------------------------------------------------------------------------------------


def _note_identical_rows(table: pd.DataFrame, note: Note) -> None:
    """Note rows that equal an earlier row in all columns and in their name."""
    is_plain = [_find_empty(table[name])[0] != "lists" for name in table]
    is_repeated = table.loc[:, is_plain].duplicated().to_numpy()
    if not isinstance(table.index, pd.RangeIndex):
        is_repeated = is_repeated & table.index.duplicated()
    n_repeated = int(is_repeated.sum())
    if n_repeated:
        rows = format_count(n_repeated, "row")
        verb = "equals" if n_repeated == 1 else "equal"
        note(f"{rows} of {len(table):,} {verb} an earlier row in all columns")


def _select_rows(
    rows: pd.DataFrame, missing: str, note: Note, other_advice: str = ""
) -> np.ndarray:
    """Return the positions of the rows to use; raise an error for infinite values."""
    is_missing = rows.isna().to_numpy()
    is_incomplete = np.asarray(is_missing.any(axis=1))
    is_empty = np.asarray(is_missing.all(axis=1))
    kept = np.flatnonzero(~(is_empty if missing == "partial" else is_incomplete))
    left_out = f"{format_count(len(rows) - len(kept), 'row')} of {len(rows):,}"
    if missing == "partial":
        if is_empty.any():
            note(f"left out {left_out} without any value")
        if is_incomplete[kept].any():
            n_incomplete = format_count(int(is_incomplete[kept].sum()), "row")
            note(
                f"{n_incomplete} of {len(kept):,} compared by the values that are present"
            )
    elif is_incomplete.any():
        columns = list(rows.columns[np.asarray(is_missing.any(axis=0))])
        text = f"{left_out} with missing values (in {quote_names(columns)})"
        if missing == "refuse":
            message = f"{text}; leave the rows out (missing='drop'){other_advice}"
            raise InvalidParameterError("table", message=message)
        if not len(kept):
            message = f"{text}; no row is complete"
            raise InvalidParameterError("table", message=message)
        note(f"left out {text}")
    numbers = rows.iloc[kept].select_dtypes("float")
    is_infinite = np.isinf(numbers.to_numpy())
    if is_infinite.any():
        columns = list(numbers.columns[is_infinite.any(axis=0)])
        count = format_count(int(is_infinite.any(axis=1).sum()), "row")
        message = (
            f"{count} of {len(kept):,} with infinite values (in {quote_names(columns)}); "
            "correct or delete them"
        )
        raise InvalidParameterError("table", message=message)
    return kept


def _drop_constant_columns(numbers: pd.DataFrame, note: Note) -> pd.DataFrame:
    if len(numbers) == 1:
        raise InvalidInputError("the table must have at least two rows, got 1")
    values = numbers.to_numpy()
    varies = np.asarray(np.nanmax(values, axis=0) > np.nanmin(values, axis=0))
    if not varies.any():
        raise InvalidInputError("all columns are constant")
    if not varies.all():
        note(f"left out constant columns: {', '.join(numbers.columns[~varies])}")
    return numbers.loc[:, varies]


def _compute_moments(numbers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean and the standard deviation of each column, without missing values."""
    # NumPy sums contiguous columns more accurately.
    values = np.asfortranarray(numbers.to_numpy())
    with np.errstate(over="ignore", invalid="ignore"):
        center = np.nanmean(values, axis=0)
        scale = np.nanstd(values, axis=0)
    is_valid = np.isfinite(scale) & (scale > 0)
    if not is_valid.all():
        name = numbers.columns[is_valid.argmin()]
        raise InvalidInputError(
            f"column '{name}' cannot be standardized: its values are too large or too close"
        )
    return center, scale
