"""Parse numbers in text cells, including percent signs, currencies, thousands separators and missing values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._validation import format_value

if TYPE_CHECKING:
    import pandas as pd


# Error values of spreadsheets, in several languages.
_ERRORS = {
    "#null!",
    "#n/a",
    "#nv",
    "#div/0!",
    "#num!",
    "#zahl!",
    "#value!",
    "#wert!",
    "#valeur!",
    "#ref!",
    "#bezug!",
}
MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "<na>", "?", "-", "."} | _ERRORS
_MISSING_CELLS = MISSING_WORDS | {
    "--",
    "—",
    "–",
    "n.a.",
    "n.a",
    "n.d.",
    "n.d",
    "missing",
    "unknown",
}
MAX_SAMPLE_CELLS = 1000
_SEPARATORS = "\u0020\u00a0\u202f\u2009'’"  # thousands separators besides comma and point
_UNITS = "€$£¥%"
_REMOVE_UNITS = str.maketrans("", "", _UNITS)
_SIGNS = " ()[]<>=≤≥~≈±+-−*\"'" + _UNITS  # characters that may stand beside a number
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
_COMMA_AFTER_POINTS = re.compile(r"[-+]?[1-9]\d{0,2}(\.\d{3})+,\d+")


# ---- single cells --------------------------------------------------------------------------------


def is_number(cell: str, decimal: str) -> bool:
    """Return whether a cell is a number with the given decimal mark, possibly with a unit and thousands separators."""
    if "_" in cell:
        return False
    try:
        float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return _pattern(decimal).fullmatch(cell.strip()) is not None
    return cell.strip().lower().lstrip("+-") != "nan"


def looks_like_number(cell: str) -> bool:
    """Return whether a cell is a number with a point or a comma as decimal mark."""
    return is_number(cell, ".") or is_number(cell, ",")


def is_quantity(text: str) -> bool:
    """Return whether a text is a number with a unit or thousands separators."""
    matches = [_pattern(decimal).fullmatch(text.strip()) for decimal in ".,"]
    return any(
        match is not None and any(map(match.group, ("apart", "before", "first", "unit")))
        for match in matches
    )


@cache
def _pattern(decimal: str) -> re.Pattern[str]:
    if decimal == ".":
        other = ","
        mark = r"\."
    else:
        other = r"\."
        mark = ","
    whole = rf"(?:[1-9][0-9]{{0,2}}(?P<apart>[{_SEPARATORS}{other}])[0-9]{{3}}(?:(?P=apart)[0-9]{{3}})*|[0-9]+)"
    power = r"(?(apart)|(?:[eE][-+]?[0-9]+)?)"
    number = rf"(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+){power}"
    blank = "[\u0020\u00a0\u202f\u2009]?"
    # The sign is before the currency, as in -€5, or after it, as in € -5.
    before = (
        rf"(?P<sign>[-+−–]?)(?P<before>[€$£¥]?){blank}|(?P<first>[€$£¥]){blank}(?P<then>[-+−–])"
    )
    return re.compile(rf"(?:{before})(?P<number>{number})(?P<unit>{blank}(?:%|€|\$|£|¥))?")


# ---- the decimal mark of a table -----------------------------------------------------------------


def choose_decimal(delimiter: str, columns: Iterable[Sequence[str]]) -> str:
    """Return the decimal mark of a table (point or comma).

    Raise InvalidParameterError if both are possible.

    The mark is a comma if some number needs it and no number needs a point. The cell 1,234 is
    ambiguous. It is read as 1.234 if the delimiter is a semicolon, and as 1234 if the delimiter is
    a comma (the cell is then quoted). For other delimiters an error is raised.
    """
    columns = [
        [_BLANK_IN_NUMBER.sub("", cell.translate(_REMOVE_UNITS)).strip() for cell in cells]
        for cells in columns
    ]
    cells = [cell for column in columns for cell in column if "." in cell or "," in cell]
    points = [cell for cell in cells if _DECIMALS["."].fullmatch(cell)]
    commas = [
        cell for cell in cells if _DECIMALS[","].fullmatch(cell) or _GROUPS[","].fullmatch(cell)
    ]
    several = [cell for cell in cells if cell.count(".") > 1 and _GROUPS["."].fullmatch(cell)]
    grouped = all(map(_GROUPS[","].fullmatch, commas))
    if not all(map(_GROUPS["."].fullmatch, points)) or (delimiter == "," and points):
        mark = "."
    elif any(map(_COMMA_AFTER_POINTS.fullmatch, cells)):
        mark = ","
    elif grouped and any(cell.count(",") > 1 for cell in commas):
        mark = "."
    elif points and (commas or several):
        raise _ambiguous_mark(points[0])
    elif not commas:
        if several:
            mark = ","
        else:
            mark = "."
    elif grouped and delimiter not in ",;":
        raise _ambiguous_mark(commas[0])
    else:
        if grouped and delimiter == ",":
            mark = "."
        else:
            mark = ","
    for column in columns if delimiter != "," else []:
        _check_grouped_integers(column, mark)
    return mark


def _check_grouped_integers(column: Sequence[str], mark: str) -> None:
    """Raise an error if the decimal mark may separate thousands in a column.

    This is possible if exactly the numbers above 999 contain the mark, always before three digits.
    """
    marked = [cell for cell in column if mark in cell]
    small = [cell for cell in column if re.fullmatch(r"[-+]?\d{1,3}", cell) and cell.strip("+-0")]
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
    if "." in cell:
        mark = "."
    else:
        mark = ","
    if mark == ".":
        other = ","
    else:
        other = "."
    return InvalidParameterError(
        "decimal",
        message=f"{cell} can be read as {cell.replace(mark, '.')} with decimal={mark!r} or as {cell.replace(mark, '')} "
        f"with decimal={other!r}; set decimal",
        settings={"decimal": (mark, other)},
    )


# ---- text columns --------------------------------------------------------------------------------


def parse_numbers(column: pd.Series, decimal: str) -> tuple[np.ndarray, str] | None:
    """Return the numbers in text cells and a description of the conversion, or None if a cell is not a number.

    ``decimal`` is the decimal mark of the file (point or comma); the other of the two may separate
    thousands. All numbers must have the same unit, which is removed (12 % becomes 12).
    """
    import pandas as pd

    codes, cells = pd.factorize(column)
    if not all(
        isinstance(cell, str | int | float) and not isinstance(cell, bool) for cell in cells
    ):
        return None
    pattern = _pattern(decimal)
    texts = [
        cell.strip() if isinstance(cell, str) else _number_as_text(cell, decimal) for cell in cells
    ]
    # Most text columns fail in the first part.
    for part in (texts[:MAX_SAMPLE_CELLS], texts[MAX_SAMPLE_CELLS:]):
        if not all(text.lower() in _MISSING_CELLS or pattern.fullmatch(text) for text in part):
            return None
    matches = [
        None if text.lower() in _MISSING_CELLS else pattern.fullmatch(text) for text in texts
    ]
    units = {match["unit"] or match["before"] or match["first"] or "" for match in matches if match}
    units = {"%" if "%" in unit else unit.strip() for unit in units}
    if len(units) != 1:
        return None
    values = np.array(
        [np.nan if match is None else _parse_match(match, decimal) for match in matches] + [np.nan]
    )
    return values[codes], _describe_conversion(units.pop(), matches, texts, decimal)


def _number_as_text(number: float, decimal: str) -> str:
    if float(number).is_integer():
        text = repr(int(number))
    else:
        text = repr(float(number))
    return text.replace(".", decimal)


def _parse_match(match: re.Match[str], decimal: str) -> float:
    text = match["number"].replace(match["apart"] or "\0", "")
    value = float(text.replace(",", ".") if decimal == "," else text)
    if (match["sign"] or match["then"]) in ("-", "−", "–"):
        return -value
    return value


def _describe_conversion(
    unit: str, matches: list[re.Match[str] | None], texts: list[str], decimal: str
) -> str:
    parts = []
    if unit:
        parts.append("without percent signs" if unit == "%" else f"without {unit}")
    grouped = [match for match in matches if match and match["apart"]]
    if grouped:
        parts.append(f"{grouped[0].group()} has thousands separators")
    missing = [text for text, match in zip(texts, matches, strict=True) if match is None]
    if missing:
        parts.append(f"'{missing[0]}' is a missing value")
    comma = next((text for text in texts if "," in text), None)
    return ", ".join(parts) or (
        f"{comma} has a decimal comma" if comma and decimal == "," else "stored as text"
    )


def warn_about_text(columns: pd.DataFrame, name: str) -> None:
    """Warn about text columns of the file ``name`` that probably contain numbers."""
    cells = {column: find_nonnumeric_cell(columns[column]) for column in columns}
    suspects = [
        f"{column!r} (such as {format_value(cell)})"
        for column, cell in cells.items()
        if cell is not None
    ]
    if suspects:
        if len(suspects) > 5:
            more = f" and {len(suspects) - 5} more columns"
        else:
            more = ""
        message = f"{name}: columns read as text although most cells look like numbers: {', '.join(suspects[:5])}{more}"
        warnings.warn(message, UserWarning, stacklevel=3)


def find_nonnumeric_cell(column: pd.Series) -> str | None:
    """Return a cell that prevents a text column from being numeric, or None if the column is probably not numeric.

    A column is probably numeric if most of its cells are numbers, or if all cells are numbers with
    the same text (a unit or currency) before or after them.
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
