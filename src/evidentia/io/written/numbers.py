"""Numbers as people write them: with percent signs, currencies, thousands apart, and marks for what is not known."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING_WORDS", "is_one_number", "is_written_number", "joined_thousands", "written_numbers"]

# what spreadsheets and statistical programs write into cells that they could not compute, in several languages
_FAILED = {"#null!", "#n/a", "#nv", "#div/0!", "#num!", "#zahl!", "#value!", "#wert!", "#valeur!", "#ref!", "#bezug!"}
MISSING_WORDS = {"", "na", "n/a", "nan", "null", "none", "<na>", "?", "-", "."} | _FAILED
_UNKNOWN = MISSING_WORDS | {"--", "—", "–", "n.a.", "n.a", "missing", "unknown"}
_MANY = 1000  # different cells that are looked at first
_BLANKS = "\u0020\u00a0\u202f\u2009'’"  # what stands between thousands besides comma and point
_APART = re.compile(rf"(?<=\d)[{_BLANKS}](?=\d{{3}}(?!\d))")


def written_numbers(column: pd.Series, decimal: str) -> tuple[np.ndarray, str] | None:
    """Cells of text as numbers, and in words what was taken off; None unless all of them are numbers or not known.

    ``decimal`` is the decimal mark of the file; the other mark may set thousands apart. Percentages stay as they are
    written, 12 % is 12: a column in which some cells have a percent sign and some have none is no column of numbers.
    """
    import pandas as pd

    codes, cells = pd.factorize(column)
    if not all(isinstance(cell, str) for cell in cells):
        return None
    pattern = _pattern(decimal)
    texts = [cell.strip() for cell in cells]
    for part in (texts[:_MANY], texts[_MANY:]):  # most columns of text are refused after a few cells
        if not all(text.lower() in _UNKNOWN or pattern.fullmatch(text) for text in part):
            return None
    found = [None if text.lower() in _UNKNOWN else pattern.fullmatch(text) for text in texts]
    marks = {match["unit"] or match["before"] or match["first"] or "" for match in found if match}
    marks = {"%" if "%" in mark else mark.strip() for mark in marks}
    if not marks or len(marks) > 1:
        return None
    values = np.array([np.nan if match is None else _value(match, decimal) for match in found] + [np.nan])
    return values[codes], _words(marks.pop(), found, texts)


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
    number = rf"(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    before = r"(?P<sign>[-+−]?)(?P<before>[€$£¥]?)\s?|(?P<first>[€$£¥])\s?(?P<then>[-+−])"  # -€5, and € -5 in Dutch
    return re.compile(rf"(?:{before})(?P<number>{number})(?P<unit>\s?(?:%|€|\$|£|¥))?")


def _value(match: re.Match[str], decimal: str) -> float:
    text = match["number"]
    if match["apart"]:
        text = text.replace(match["apart"], "")
    value = float(text.replace(",", ".") if decimal == "," else text)
    return -value if (match["sign"] or match["then"]) in ("-", "−") else value


def _words(mark: str, found: list[re.Match[str] | None], texts: list[str]) -> str:
    told = []
    if mark:
        told.append("without percent signs" if mark == "%" else f"without {mark}")
    apart = [match for match in found if match and match["apart"]]
    if apart:
        told.append(f"{apart[0].group()} has thousands set apart")
    unknown = [text for text, match in zip(texts, found, strict=True) if match is None]
    if unknown:
        told.append(f"'{unknown[0]}' means that a cell is missing")
    return ", ".join(told) or "written as text"
