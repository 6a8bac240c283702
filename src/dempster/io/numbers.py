"""Parse numbers in text cells with percent signs, currencies and thousands separators."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._text import join_some
from dempster._validation import format_value

if TYPE_CHECKING:
    import pandas as pd


# error values of spreadsheets, in several languages
_ERRORS = {
    *("#null!", "#n/a", "#nv", "#div/0!", "#num!", "#zahl!"),
    *("#value!", "#wert!", "#valeur!", "#ref!", "#bezug!"),
}
MISSING_WORDS = {
    "",
    "na",
    "n/a",
    "nan",
    "null",
    "none",
    "<na>",
    "?",
    "-",
    ".",
} | _ERRORS
_MISSING_CELLS = MISSING_WORDS | {
    *("--", "—", "–", "n.a.", "n.a", "n.d.", "n.d", "missing", "unknown")
}
MAX_SAMPLE_CELLS = 1000
# thousands separators besides comma and point
_SEPARATORS = "\u0020\u00a0\u202f\u2009'’"
UNITS = "€$£¥%"
_REMOVE_UNITS = str.maketrans("", "", UNITS)
_SIGNS = " ()[]<>=≤≥~≈±+-−*\"'" + UNITS  # characters that may stand beside a number
# with a point or a comma
_PLAIN_NUMBER = re.compile(r"[-+−]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?")
_NUMBER_WITH_TEXT = re.compile(
    r"(?P<before>[^\w.,]*(?:[^\W\d_]{1,3}[.$]?\s)?[^\w.,]*)"
    r"(?:\d+(?:[.,]\d+)?|\d{1,3}(?:[.,'’\s]\d{2,3})*[.,'’\s]\d{3}(?:[.,]\d+)?)(?:[eEdD][-+]?\d+)?"
    r"(?P<after>[^\d.,:]*)"
)
_BLANK_IN_NUMBER = re.compile(rf"(?<=\d)[{_SEPARATORS}](?=\d{{3}}(?!\d))")
_DECIMALS = {mark: re.compile(rf"[-+]?\d*[{mark}]\d+([eE][-+]?\d+)?") for mark in ".,"}
_GROUPS = {mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}([{mark}]\d{{3}})+") for mark in ".,"}
_LEADING_ZERO = re.compile(r"\s*0\d")
_COMMA_AFTER_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+,\d+")


# ---- single cells --------------------------------------------------------------------------------


def is_number(cell: str, decimal: str) -> bool:
    """Return whether a cell is a number, possibly with a unit and thousands separators."""
    if "_" in cell:
        return False
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return _pattern(decimal).fullmatch(cell.strip()) is not None
    return cell.strip().lower().lstrip("+-") != "nan"


def looks_like_number(cell: str) -> bool:
    """Return whether a cell is a number with a point or a comma as decimal mark."""
    return is_number(cell, ".") or is_number(cell, ",")


def may_be_thousands(cell: str) -> bool:
    """Return whether all commas of a cell may separate thousands, as in 1,234."""
    return _GROUPS[","].fullmatch(cell.strip()) is not None


@cache
def _pattern(decimal: str) -> re.Pattern[str]:
    mark = re.escape(decimal)
    separators = f"{_SEPARATORS}.,".replace(decimal, "")
    groups = rf"[1-9][0-9]{{0,2}}(?P<apart>[{separators}])[0-9]{{3}}(?:(?P=apart)[0-9]{{3}})*"
    power = r"(?(apart)|(?:[eE][-+]?[0-9]+)?)"
    number = rf"(?:(?:{groups}|[0-9]+)(?:{mark}[0-9]*)?|{mark}[0-9]+){power}"
    blank = "[\u0020\u00a0\u202f\u2009]?"
    # The sign is before the currency, as in -€5, or after it, as in € -5.
    sign_first = rf"(?P<sign>[-+−–]?)(?P<before>[€$£¥]?){blank}"
    sign_second = rf"(?P<first>[€$£¥]){blank}(?P<then>[-+−–])"
    unit = rf"(?P<unit>{blank}(?:%|€|\$|£|¥))?"
    return re.compile(rf"(?:{sign_first}|{sign_second})(?P<number>{number}){unit}")


# ---- the decimal mark of a table -----------------------------------------------------------------


def choose_decimal(delimiter: str, columns: Iterable[Sequence[str]]) -> str:
    """Return the decimal mark of a table (point or comma).

    Raise InvalidParameterError if both are possible.

    The mark is a comma if some number needs it and no number needs a point. The cell 1,234 is
    ambiguous. It is read as 1.234 if the delimiter is a semicolon, and as 1234 if the delimiter is
    a comma (the cell is then quoted). For other delimiters an error is raised.
    """
    columns = [
        [
            _BLANK_IN_NUMBER.sub("", cell.translate(_REMOVE_UNITS)).strip()
            for cell in cells
        ]
        for cells in columns
    ]
    mark = _find_mark(delimiter, [cell for column in columns for cell in column])
    if delimiter != ",":
        for column in columns:
            _check_grouped_integers(column, mark)
    return mark


def _find_mark(delimiter: str, cells: list[str]) -> str:
    points = [cell for cell in cells if _DECIMALS["."].fullmatch(cell)]
    commas = [
        cell
        for cell in cells
        if _DECIMALS[","].fullmatch(cell) or _GROUPS[","].fullmatch(cell)
    ]
    has_several_points = any(
        cell.count(".") > 1 and _GROUPS["."].fullmatch(cell) for cell in cells
    )
    is_grouped = all(map(_GROUPS[","].fullmatch, commas))
    if not all(map(_GROUPS["."].fullmatch, points)) or (delimiter == "," and points):
        return "."
    if any(map(_COMMA_AFTER_POINTS.fullmatch, cells)):
        return ","
    if is_grouped and any(cell.count(",") > 1 for cell in commas):
        return "."
    if points and (commas or has_several_points):
        raise _ambiguous_mark(points[0])
    if not commas:
        if has_several_points:
            return ","
        return "."
    if not is_grouped or delimiter == ";":
        return ","
    if delimiter == ",":
        return "."
    raise _ambiguous_mark(commas[0])


def _check_grouped_integers(column: Sequence[str], mark: str) -> None:
    """Raise an error if the decimal mark may separate thousands in a column.

    This is possible if exactly the numbers above 999 contain the mark, always before three digits.
    """
    marked = [cell for cell in column if mark in cell]
    small = [
        cell
        for cell in column
        if re.fullmatch(r"[-+]?\d{1,3}", cell) and cell.strip("+-0")
    ]
    # Zeros are not counted, because they have the same value with either mark.
    n_values = sum(cell.strip("+-0").lower() not in MISSING_WORDS for cell in column)
    if (
        small
        and len(marked) > 1
        and len(marked) + len(small) == n_values
        and all(map(_GROUPS[mark].fullmatch, marked))
    ):
        raise _ambiguous_mark(marked[0])


def _ambiguous_mark(cell: str) -> InvalidParameterError:
    mark = "." if "." in cell else ","
    other = ",.".replace(mark, "")
    return InvalidParameterError(
        "decimal",
        message=f"{cell} can be read as {cell.replace(mark, '.')} (decimal={mark!r}) "
        f"or as {cell.replace(mark, '')} (decimal={other!r})",
    )


# ---- text columns --------------------------------------------------------------------------------


def parse_numbers(column: pd.Series, decimal: str) -> tuple[np.ndarray, str] | None:
    """Return the numbers in text cells and a description of the conversion.

    Return None if a cell is not a number. ``decimal`` is the decimal mark of the file (point or
    comma); the other of the two may separate thousands. All numbers must have the same unit, which
    is removed (12 % becomes 12).
    """
    import pandas as pd

    codes, cells = pd.factorize(column)
    if not all(
        isinstance(cell, str | int | float) and not isinstance(cell, bool)
        for cell in cells
    ):
        return None
    texts = [_to_text(cell, decimal) for cell in cells]
    matches = []
    for text in texts:
        match = _pattern(decimal).fullmatch(text)
        if match is None and text.lower() not in _MISSING_CELLS:
            return None
        matches.append(match)
    found = [match for match in matches if match is not None]
    units = {
        (match["unit"] or match["before"] or match["first"] or "").strip()
        for match in found
    }
    if len(units) != 1:
        return None
    # The code of an empty cell is -1.
    values = np.array([*(_parse_match(match, decimal) for match in matches), np.nan])
    parts = []
    if unit := units.pop():
        parts.append("without percent signs" if unit == "%" else f"without {unit}")
    grouped = [match.group() for match in found if match["apart"]]
    if grouped:
        parts.append(f"{grouped[0]} has thousands separators")
    missing = [
        text for text, match in zip(texts, matches, strict=True) if match is None
    ]
    if missing:
        parts.append(f"'{missing[0]}' is a missing value")
    return values[codes], ", ".join(parts) or "stored as text"


def read_column(table: pd.DataFrame, name: str, decimal: str) -> str | None:
    """Replace a text column of a table by numbers, and return a note.

    Return None and do not change the table if a cell is not a number.
    """
    numbers = parse_numbers(table[name], decimal)
    if numbers is None:
        return None
    table[name], description = numbers
    return f"read '{name}' as numbers: {description}"


def read_text_columns(
    table: pd.DataFrame, names: Iterable[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with numbers in place of text in some columns where possible, and notes.

    The columns are read like those of a file with tabs between its cells. Columns of codes with
    leading zeros, such as 01234, remain text.
    """
    import pandas as pd

    texts = {}
    for name in names:
        dtype = table[name].dtype
        if dtype.kind not in "OTU" or isinstance(dtype, pd.CategoricalDtype):
            continue
        values = [cell for cell in table[name].unique() if isinstance(cell, str)]
        if values and not any(map(_LEADING_ZERO.match, values)):
            texts[name] = values
    marks = dict.fromkeys(texts, ".")
    try:
        marks = dict.fromkeys(texts, choose_decimal("\t", texts.values()))
    except InvalidParameterError:
        for name, values in list(texts.items()):
            try:
                marks[name] = choose_decimal("\t", [values])
            except InvalidParameterError:
                del marks[name]
    table = table.copy(deep=False)
    notes = [read_column(table, name, mark) for name, mark in marks.items()]
    return table, [note for note in notes if note is not None]


def _to_text(cell: str | float, decimal: str) -> str:
    if isinstance(cell, str):
        return cell.strip()
    text = repr(int(cell)) if float(cell).is_integer() else repr(float(cell))
    return text.replace(".", decimal)


def _parse_match(match: re.Match[str] | None, decimal: str) -> float:
    if match is None:
        return np.nan
    text = match["number"].replace(match["apart"] or "\0", "")
    value = float(text.replace(decimal, "."))
    if (match["sign"] or match["then"]) in ("-", "−", "–"):
        return -value
    return value


def warn_about_text(columns: pd.DataFrame, name: str) -> None:
    """Warn about text columns of the file ``name`` that probably contain numbers."""
    cells = {column: find_nonnumeric_cell(columns[column]) for column in columns}
    suspects = [
        f"{column!r} (such as {format_value(cell)})"
        for column, cell in cells.items()
        if cell is not None
    ]
    if suspects:
        message = (
            f"{name}: columns read as text although most cells look like numbers: "
            f"{join_some(suspects, 5)}"
        )
        warnings.warn(message, UserWarning, stacklevel=3)


def find_nonnumeric_cell(column: pd.Series) -> str | None:
    """Return a cell that prevents a text column from being numeric.

    Return None if the column is probably not numeric. A column is probably numeric if most of its
    cells are numbers, or if all cells are numbers with the same text (a unit or currency) before or
    after them.
    """
    import pandas as pd

    texts = [
        str(cell).strip()
        for cell in pd.unique(column.dropna())[:MAX_SAMPLE_CELLS]
        if not isinstance(cell, bool)
    ]
    texts = [text for text in texts if text.lower() not in _MISSING_CELLS]
    others = [text for text in texts if not _PLAIN_NUMBER.fullmatch(text)]
    if others and 2 * len(others) < len(texts):
        return others[0]
    matches = [_NUMBER_WITH_TEXT.fullmatch(text) for text in texts]
    if len(texts) < 2 or not all(matches):
        return None
    words = [
        {match[side].strip(_SIGNS) for match in matches if match} - {""}
        for side in ("before", "after")
    ]
    if all(len(side) < 2 for side in words):
        return (others or texts)[0]
    return None
