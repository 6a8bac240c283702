"""What cells of a text file tell of its decimal mark, and whether its first line names the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dempster._errors import InvalidInputError
from dempster.io.written.numbers import MISSING_WORDS, UNITS, is_written_number, joined_thousands

__all__ = ["decimal_mark", "has_decimal_commas", "is_header", "is_number", "looks_like_number", "refuse_thousands"]

_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*")
_POINTS_APART = re.compile(r"\s*[-+]?[1-9]\d{0,2}(\.\d{3})+\s*")
_COMMA_AFTER_POINTS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(\.\d{3})+,\d+\s*")
_POINTS_TWICE = re.compile(r"\s*[-+]?[1-9]\d{0,2}(\.\d{3}){2,}\s*")
_COMMAS_TWICE = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3}){2,}\s*")
_WHOLE = re.compile(r"\d+")
_SIGNED = re.compile(r"[-+]?\d+")
_NO_UNITS = str.maketrans("", "", UNITS)


def decimal_mark(delimiter: str, body: Sequence[str]) -> str:
    """A comma if some numbers need it and none has a point but between thousands; units beside them do not count."""
    body = [joined_thousands(cell.translate(_NO_UNITS)) for cell in body]
    commas = [cell for cell in body if _DECIMAL_COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell)]
    points = [cell for cell in body if _DECIMAL_POINT.fullmatch(cell)]
    if delimiter == "," or not all(map(_POINTS_APART.fullmatch, points)):
        return "."
    if any(map(_COMMA_AFTER_POINTS.fullmatch, body)):
        return ","
    if any(map(_COMMAS_TWICE.fullmatch, body)) and all(map(_THOUSANDS.fullmatch, commas)):
        return "."
    twice = [cell for cell in body if _POINTS_TWICE.fullmatch(cell)]
    if not commas and not (points and twice):
        return "," if twice else "."
    settled = "set decimal=',' or decimal='.'"
    if points:
        other = (commas or twice)[0].strip()
        raise InvalidInputError(f"{points[0].strip()} or {other} may have its thousands set apart: {settled}")
    if delimiter != ";" and all(map(_THOUSANDS.fullmatch, commas)):
        raise InvalidInputError(f"the comma of {commas[0].strip()} may mark decimals or thousands: {settled}")
    return ","


def refuse_thousands(rows: Sequence[Sequence[str]], decimal: str) -> None:
    """Refuse numbers of which only those above 999 have the mark of decimals, always three digits behind it. Zeros,
    which are written alike everywhere, tell nothing."""
    apart = _THOUSANDS if decimal == "," else _POINTS_APART
    for column in range(min(map(len, rows), default=0)):
        cells = [row[column].strip() for row in rows]
        marked = [cell for cell in cells if decimal in cell]
        small = [cell for cell in cells if re.fullmatch(r"[-+]?\d{1,3}", cell) and cell.strip("+-0")]
        known = len(marked) + len(small) == sum(cell.strip("+-0").lower() not in MISSING_WORDS for cell in cells)
        if known and small and len(marked) > 1 and all(map(apart.fullmatch, marked)):
            raise InvalidInputError(
                f"the mark in {marked[0]} may be that of decimals or of thousands, which {small[0]} in the same column "
                "lacks: set decimal=',' or decimal='.'"
            )


def has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether the commas of a column mark decimals: all cells are numbers then, and some comma is not between
    thousands."""
    known = [joined_thousands(cell.translate(_NO_UNITS)).strip() for cell in cells]
    known = [cell for cell in known if cell.lower() not in MISSING_WORDS]
    commas = [cell for cell in known if _DECIMAL_COMMA.fullmatch(cell) or _COMMA_AFTER_POINTS.fullmatch(cell)]
    whole = [cell for cell in known if _SIGNED.fullmatch(cell) or _POINTS_APART.fullmatch(cell)]
    return not all(map(_THOUSANDS.fullmatch, commas)) and len(commas) + len(whole) == len(known)


def is_header(first: Sequence[str], below: Sequence[str] = ()) -> bool:
    """Names make a header; numbers, however they are written, and words for missing values do not.

    Whole numbers beside an empty corner may be names, if the cells ``below`` it may name the rows: 0, 1, 2, ... are, as
    pandas writes them; of others nobody knows.
    """
    numbers = [looks_like_number(cell) for cell in first]
    if _may_be_names(first, below):
        if first[1:] == [str(j) for j in range(max(len(first) - 1, 2))]:
            return True
        raise InvalidInputError(
            f"its first line may name the columns or be an object, as it holds {first[1]} beside an empty cell: set "
            "header=True or header=False"
        )
    if all(number or cell.strip().lower() in MISSING_WORDS for number, cell in zip(numbers, first, strict=True)):
        return False
    if any(numbers):
        raise InvalidInputError(
            f"its first line may name the columns or be an object, as it holds {first[numbers.index(True)]}: set "
            "header=True or header=False"
        )
    return True


def _may_be_names(first: Sequence[str], below: Sequence[str]) -> bool:
    """An empty corner, whole numbers that differ beside it, and cells that differ below it."""
    names = [cell.strip() for cell in below]
    whole = len(first) > 1 and first[0] == "" and all(map(_WHOLE.fullmatch, first[1:]))
    return whole and len(set(first)) == len(first) and all(names) and 1 < len(names) == len(set(names))


def looks_like_number(cell: str) -> bool:
    return is_number(cell, ".") or is_number(cell, ",")


def is_number(cell: str, decimal: str) -> bool:
    if "_" in cell:
        return False
    try:
        float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return is_written_number(cell, decimal)
    return cell.strip().lower().lstrip("+-") not in ("nan",)
