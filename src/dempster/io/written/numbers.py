"""Numbers as people write them: with percent signs, currencies, thousands apart, and marks for what is not known."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dempster._validation import shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISSING_WORDS",
    "UNITS",
    "is_one_number",
    "is_written_number",
    "joined_thousands",
    "meant_as_number",
    "warn_of_text",
    "written_numbers",
]

# what spreadsheets and statistical programs write into cells that they could not compute, in several languages
_FAILED = {"#null!", "#n/a", "#nv", "#div/0!", "#num!", "#zahl!", "#value!", "#wert!", "#valeur!", "#ref!", "#bezug!"}
MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "<na>", "?", "-", "."} | _FAILED
_UNKNOWN = MISSING_WORDS | {"--", "—", "–", "n.a.", "n.a", "missing", "unknown"}
_MANY = 1000  # different cells that are looked at first
_BLANKS = "\u0020\u00a0\u202f\u2009'’"  # what stands between thousands besides comma and point
UNITS = "€$£¥%"
_SIGNS = " ()[]<>=≤≥~≈±+-−*\"'" + UNITS  # beside numbers
_FOUND = re.compile(r"[-+−]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?")  # numbers, whatever their decimal mark
_BESIDE = re.compile(
    r"(?P<before>[^\w.,]*(?:[^\W\d_]{1,3}[.$]?\s)?[^\w.,]*)"
    r"(?:\d+(?:[.,]\d+)?|\d{1,3}(?:[.,'’\s]\d{2,3})*[.,'’\s]\d{3}(?:[.,]\d+)?)(?:[eEdD][-+]?\d+)?"
    r"(?P<after>[^\d.,:]*)"
)
_APART = re.compile(rf"(?<=\d)[{_BLANKS}](?=\d{{3}}(?!\d))")


def written_numbers(column: pd.Series, decimal: str) -> tuple[np.ndarray, str] | None:
    """Cells of text as numbers, and in words what was taken off; None unless all of them are numbers or not known.

    ``decimal`` is the decimal mark of the file; the other mark may set thousands apart. Percentages stay as they are
    written, 12 % is 12: a column in which some cells have a percent sign and some have none is no column of numbers.
    """
    import pandas as pd

    codes, cells = pd.factorize(column)
    if not all(isinstance(cell, str | int | float) and not isinstance(cell, bool) for cell in cells):
        return None
    pattern = _pattern(decimal)
    texts = [cell.strip() if isinstance(cell, str) else _as_text(cell, decimal) for cell in cells]
    for part in (texts[:_MANY], texts[_MANY:]):  # most columns of text are refused after a few cells
        if not all(text.lower() in _UNKNOWN or pattern.fullmatch(text) for text in part):
            return None
    found = [None if text.lower() in _UNKNOWN else pattern.fullmatch(text) for text in texts]
    marks = {match["unit"] or match["before"] or match["first"] or "" for match in found if match}
    marks = {"%" if "%" in mark else mark.strip() for mark in marks}
    if not marks or len(marks) > 1:
        return None
    values = np.array([np.nan if match is None else _value(match, decimal) for match in found] + [np.nan])
    return values[codes], _words(marks.pop(), found, texts, decimal)


def warn_of_text(columns: pd.DataFrame, name: str) -> None:
    """Warn of columns of text that may have been meant as numbers; ``name`` is that of the file."""
    found = {column: meant_as_number(columns[column]) for column in columns}
    told = [f"{column!r} (such as {shown(cell)})" for column, cell in found.items() if cell is not None]
    if told:
        more = f" and {len(told) - 5} more columns" if len(told) > 5 else ""
        warnings.warn(
            f"{name}: read as text, though most of it looks like numbers: {', '.join(told[:5])}{more}",
            UserWarning,
            stacklevel=3,
        )


def meant_as_number(column: pd.Series) -> str | None:
    """A cell that keeps a column of text from being numbers, if most of the others are, or all are with the same word
    beside them: the unit, the currency, brackets; None for words, dates and codes."""
    import pandas as pd

    texts = [str(cell).strip() for cell in pd.unique(column.dropna())[:_MANY] if not isinstance(cell, bool)]
    texts = [text for text in texts if text.lower() not in _UNKNOWN]
    others = [text for text in texts if not _FOUND.fullmatch(text)]
    if others and 2 * len(others) < len(texts):
        return others[0]
    found = [_BESIDE.fullmatch(text) for text in texts]
    if len(texts) < 2 or not all(found):
        return None
    words = [{match[side].strip(_SIGNS) for match in found if match} - {""} for side in ("before", "after")]
    strange = next((text for text in texts if not _FOUND.fullmatch(text)), texts[0])
    return strange if all(len(side) < 2 for side in words) else None


def is_written_number(cell: str, decimal: str) -> bool:
    """Whether a cell is a number as people write it, with a unit or thousands set apart."""
    return _pattern(decimal).fullmatch(cell.strip()) is not None


def is_one_number(text: str) -> bool:
    """Whether a text is one number, as its unit or its thousands that are set apart show."""
    found = [_pattern(decimal).fullmatch(text.strip()) for decimal in (".", ",")]
    return any(match is not None and any(map(match.group, ("apart", "before", "first", "unit"))) for match in found)


def joined_thousands(text: str) -> str:
    """The text without the blanks and apostrophes between thousands."""
    return _APART.sub("", text)


@cache
def _pattern(decimal: str) -> re.Pattern[str]:
    other = "," if decimal == "." else r"\."
    mark = r"\." if decimal == "." else ","
    apart = f"[{_BLANKS}{other}]"
    whole = rf"(?:[1-9][0-9]{{0,2}}(?P<apart>{apart})[0-9]{{3}}(?:(?P=apart)[0-9]{{3}})*|[0-9]+)"
    power = r"(?(apart)|(?:[eE][-+]?[0-9]+)?)"
    number = rf"(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+){power}"
    blank = "[\u0020\u00a0\u202f\u2009]?"
    # -€5, and € -5 in Dutch
    before = rf"(?P<sign>[-+−–]?)(?P<before>[€$£¥]?){blank}|(?P<first>[€$£¥]){blank}(?P<then>[-+−–])"
    return re.compile(rf"(?:{before})(?P<number>{number})(?P<unit>{blank}(?:%|€|\$|£|¥))?")


def _as_text(number: float, decimal: str) -> str:
    """A number of a sheet as the text of others that stand beside it."""
    text = repr(int(number)) if float(number).is_integer() else repr(float(number))
    return text.replace(".", decimal)


def _value(match: re.Match[str], decimal: str) -> float:
    text = match["number"]
    if match["apart"]:
        text = text.replace(match["apart"], "")
    value = float(text.replace(",", ".") if decimal == "," else text)
    return -value if (match["sign"] or match["then"]) in ("-", "−", "–") else value


def _words(mark: str, found: list[re.Match[str] | None], texts: list[str], decimal: str) -> str:
    told = []
    if mark:
        told.append("without percent signs" if mark == "%" else f"without {mark}")
    apart = [match for match in found if match and match["apart"]]
    if apart:
        told.append(f"{apart[0].group()} has thousands set apart")
    unknown = [text for text, match in zip(texts, found, strict=True) if match is None]
    if unknown:
        told.append(f"'{unknown[0]}' means that a cell is missing")
    comma = next((text for text in texts if "," in text), None)
    return ", ".join(told) or (f"{comma} has a decimal comma" if comma and decimal == "," else "written as text")
