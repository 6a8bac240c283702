"""From a table to what is clustered: which columns, which rows, in which units; and new rows in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._validation import as_reals, read_fields
from dempster.apps.recipe.columns import as_numbers, check_table, choose_columns, notes_of_categories
from dempster.apps.recipe.words import counted, quoted

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Attributes", "Preparation", "choose_attributes", "MISSING"]

MISSING = ("refuse", "drop", "partial")
Note = Callable[[str], None]


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
            raise InvalidInputError(f"center and scale must hold a value for each of the {len(self.numbers)} numbers")
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
        chosen = choose_columns(table[self.columns], self.columns, (), self.categories)
        rows = _columns_of(table, chosen.numbers, chosen.categories)
        return self.apply(rows.iloc[_kept_rows(rows, self.missing, note or _nobody)])

    def check_columns(self, table: pd.DataFrame) -> None:
        """Refuse a table that lacks a column of the training run."""
        lacking = [name for name in self.columns if name not in table.columns]
        if lacking:
            raise InvalidInputError(
                f"the table lacks {'columns' if len(lacking) > 1 else 'column'} {quoted(lacking)}, by which the model "
                f"was made; it has {quoted(table.columns, 20)}"
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

    def in_units(self, points: np.ndarray) -> np.ndarray:
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
        raise InvalidInputError("the table has no rows")
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise InvalidInputError(f"the table has two columns of the name {quoted(twice[:1])}: rename one of them")
    notes: list[str] = []
    chosen = choose_columns(table, columns, exclude, categories, numbers=numbers)
    if chosen.left_out:
        told = ", ".join(name + why for name, why in chosen.left_out[:12])
        more = f" and {len(chosen.left_out) - 12} more" if len(chosen.left_out) > 12 else ""
        notes.append(f"left out the {'columns' if len(chosen.left_out) > 1 else 'column'} {told}{more}")
    notes += notes_of_categories(table, chosen.categories)
    everyone = _columns_of(table, chosen.numbers, chosen.categories)
    kept_rows = _kept_rows(everyone, missing, notes.append)
    rows = everyone if len(kept_rows) == len(everyone) else everyone.iloc[kept_rows]
    scaled = scale and not chosen.categories
    if scaled:
        rows = _varying(rows, notes.append)
    kept = list(rows.columns[: len(rows.columns) - len(chosen.categories)])
    center, spread = _moments(rows) if scaled else (np.zeros(len(kept)), np.ones(len(kept)))
    preparation = Preparation(kept, chosen.categories, center, spread, missing)
    return Attributes(rows, preparation.apply(rows), preparation, kept_rows, notes)


def _nobody(text: str) -> None:
    """Notes that nobody asked for."""


def _columns_of(table: pd.DataFrame, numbers: list[str], categories: list[str]) -> pd.DataFrame:
    """Numbers as floats, categories as text."""
    import pandas as pd

    found = as_numbers(table[numbers])
    if not categories:
        return found
    words: dict[str, Any] = {}
    for name in categories:
        cells = table[name].astype(object)
        words[name] = cells.where(cells.isna(), cells.map(str))
    return pd.concat([found, pd.DataFrame(words, index=table.index)], axis=1)


def _kept_rows(rows: pd.DataFrame, missing: str, note: Note) -> np.ndarray:
    """Positions of the rows to take: those without missing values unless these are kept; infinite ones are refused."""
    absent = rows.isna().to_numpy()
    kept = np.arange(len(rows))
    if absent.any():
        taken = _with_missing(rows, absent, note) if missing == "partial" else _complete(rows, absent, missing, note)
        kept = np.flatnonzero(taken)
    infinite = {name: np.isinf(rows[name].to_numpy()[kept]) for name in rows.columns if rows[name].dtype.kind == "f"}
    where = [name for name, cells in infinite.items() if cells.any()]
    if where:
        bad = int(np.any([infinite[name] for name in where], axis=0).sum())
        raise InvalidInputError(
            f"{counted(bad, 'row')} of {len(kept):,} with infinite values (in {quoted(where)}); correct them, or leave "
            f"the columns out with exclude='{','.join(where)}'"
        )
    return kept


def _with_missing(rows: pd.DataFrame, absent: np.ndarray, note: Note) -> np.ndarray:
    """Mask of the rows but for those without any value, of which nothing can be said."""
    nothing = np.asarray(absent.all(axis=1))
    if nothing.any():
        note(f"left out {counted(int(nothing.sum()), 'row')} of {len(rows):,} without any value")
    incomplete = int(absent[~nothing].any(axis=1).sum())
    if incomplete:
        note(f"{counted(incomplete, 'row')} of {int((~nothing).sum()):,} compared by the values that are there")
    return ~nothing


def _complete(rows: pd.DataFrame, absent: np.ndarray, missing: str, note: Note) -> np.ndarray:
    """Mask of the rows without missing values."""
    bad = np.asarray(absent.any(axis=1))
    where = list(rows.columns[np.asarray(absent.any(axis=0))])
    what = f"{counted(int(bad.sum()), 'row')} of {len(rows):,} with missing values (in {quoted(where)})"
    if missing == "refuse":
        raise InvalidInputError(
            f"{what}; compare the rows by the values that are there with missing='partial', leave those rows out with "
            f"missing='drop', or the columns with exclude='{','.join(where)}'"
        )
    if bad.all():
        raise InvalidInputError(f"{what}; missing='drop' would leave none")
    note(f"left out {what}")
    return ~bad


def _varying(numbers: pd.DataFrame, note: Note) -> pd.DataFrame:
    """A column that does not vary says nothing and is left out."""
    values = numbers.to_numpy()
    varies = np.asarray(np.nanmax(values, axis=0) > np.nanmin(values, axis=0))
    if not varies.any():
        raise InvalidInputError("all the columns are constant: there is nothing to cluster")
    if not varies.all():
        note(f"left out as constant: {', '.join(numbers.columns[~varies])}")
    return numbers.loc[:, varies]


def _moments(numbers: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the values that are there."""
    values = np.asfortranarray(numbers.to_numpy())  # sums along columns lose fewer digits so
    with np.errstate(over="ignore", invalid="ignore"):
        center, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    for name, spread in zip(numbers.columns, scale, strict=True):
        if not (np.isfinite(spread) and spread > 0):
            raise InvalidInputError(
                f"the values of column '{name}' are too large or too close to each other to be scaled"
            )
    return center, scale
