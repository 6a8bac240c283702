"""How a text file separates its columns: delimiter, decimal mark, header line, row names.

People's files are CSV in name only: semicolons and decimal commas where the locale has them, tabs, aligned blanks, no
header, row names without a heading as R writes them. The first lines tell which. Readings that agree with the header
come first, then those with more numbers; where two are left, neither is taken: the error names the option that
settles it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from dempster._errors import InvalidInputError
from dempster.io.written.cells import blank_cells, ends_with_delimiter, is_open, is_regular, split_cells
from dempster.io.written.marks import decimal_mark, is_header, is_number, looks_like_number, refuse_thousands
from dempster.io.written.numbers import MISSING_WORDS, UNITS, is_one_number
from dempster.io.written.remarks import (
    refuse_columns_between_others,
    refuse_first_again,
    refuse_names_again,
    refuse_other_text,
    refuse_padded_title,
)
from dempster.io.written.text import open_text

__all__ = [
    "Dialect",
    "check_lengths",
    "later_decimal",
    "sniff",
]

_DELIMITERS = (",", ";", "\t", "|")
_BLANKS = r"\s+"
_WHOLE, _DIGITS = re.compile(r"\s*[-+]?\d*\s*"), re.compile(r"\s*\d+([eE][-+]?\d+)?\s*")
_SAMPLE_LINES = 100
_LONGEST_LINE = 1 << 24


@dataclass(frozen=True)
class Dialect:
    """What `sniff` found.

    Attributes
    ----------
    delimiter : str
        A character, or a regular expression for runs of blanks.
    decimal : str
        Decimal mark, ``"."`` or ``","``.
    has_header : bool
    first_line : list of str
        Cells of the first line.
    row_names : bool
        The lines have one more cell than the header: the first is the name of the row.
    trailing : bool
        The lines end with a delimiter that the header does not have.
    """

    delimiter: str
    decimal: str
    has_header: bool
    first_line: list[str]
    row_names: bool = False
    trailing: bool = False


def sniff(
    path: str | os.PathLike[str],
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Dialect:
    """Look at the first lines of a text file; what is None is found out, or refused where two readings are left."""
    with open_text(path) as file:
        following = iter(lambda: file.readline(_LONGEST_LINE), "")
        lines = [line for line in islice(following, _SAMPLE_LINES) if line.strip()]
        while is_open("".join(lines)) and (line := next(following, "")) and len(lines) < 2 * _SAMPLE_LINES:
            lines.append(line)
    if not lines:
        raise InvalidInputError("the file is empty")
    _refuse_zero_bytes(path)
    refuse_other_text(lines)
    delimiter, cells = _best_delimiter(lines, delimiter, decimal)
    if not cells:
        raise InvalidInputError("the file is empty")
    remark = lines[0].startswith("#") or len(cells[0]) < len(cells[min(1, len(cells) - 1)])
    if header is None and remark and _begins_with_names(cells[1:]):
        raise InvalidInputError(
            "its first line may be a remark and its second name the columns: remove the first, or set header=True if "
            "it names the columns"
        )
    if decimal is None:
        decimal = decimal_mark(delimiter, [cell for row in cells[1:] or cells for cell in row])
        if delimiter != ",":
            refuse_thousands(cells[1:], decimal)
    first = [cell.strip() for cell in cells[0]]
    if header is None:
        header = is_header(first, [row[0] for row in cells[1:]])
        refuse_first_again(cells)
        refuse_padded_title(cells)
        _refuse_remark_over_numbers(cells, delimiter)
    longer = {len(row) - len(first) for row in cells[1:]} if header else {0}
    trailing = longer in ({1}, {2}) and ends_with_delimiter(cells)
    row_names = longer == {1 + trailing}
    if row_names:
        refuse_names_again(cells)
    return Dialect(delimiter, decimal, header, first, row_names=row_names, trailing=trailing)


def _refuse_zero_bytes(path: str | os.PathLike[str]) -> None:
    with open_text(path) as file:
        while block := file.read(1 << 20):
            if "\0" in block:
                raise InvalidInputError("this is not a text file, it holds zero bytes")


def _refuse_remark_over_numbers(cells: Sequence[Sequence[str]], delimiter: str) -> None:
    """A remark above lines that have a cell more, the first of them numbers: it would name the columns, and they the
    rows. It begins with a number sign, or is one cell above fractions."""
    first, names = cells[0], [row[0].strip() for row in cells[1:]]
    longer = names and all(len(row) == len(first) + 1 and row[-1].strip() for row in cells[1:])
    if not longer or not all(map(looks_like_number, names)):
        return
    if first[0].startswith("#") or (len(first) == 1 and not all(name.isdigit() for name in names)):
        raise InvalidInputError(
            f"its first line, {first[0].strip()}, may be a remark above columns without names: remove it, or set "
            "header=True if it names the columns and the first cells name the rows"
            + (", decimal=',' if commas mark decimals" if delimiter == "," else "")
        )


# ---- readings -------------------------------------------------------------------------------------------------------


def _best_delimiter(lines: Sequence[str], given: str | None, decimal: str | None) -> tuple[str, list[list[str]]]:
    """The delimiter that gives every line the same number of cells, and the cells."""
    if given is not None:
        _check_given(lines[0], given)
        return (_BLANKS, blank_cells(lines)) if given == " " else (given, split_cells(lines, given))
    possible = [delimiter for delimiter in _DELIMITERS if delimiter != decimal]
    readings = {delimiter: split_cells(lines, delimiter) for delimiter in possible}
    regular = [delimiter for delimiter, cells in readings.items() if is_regular(cells)]
    exact = [delimiter for delimiter in regular if len(readings[delimiter][0]) == len(readings[delimiter][-1])]
    best = _most_numbers(exact or regular, readings, decimal)
    blanks = blank_cells(lines)
    words = _are_words(lines, blanks, decimal)
    other = _has_other_delimiter(blanks) or _splits_names(lines)
    may_be_blanks = is_regular(blanks) and not words and not other
    if may_be_blanks and (best is None or _blanks_fit_better(blanks, readings[best], best, decimal, best in exact)):
        _refuse_one_column(lines, blanks, "' '")
        return _BLANKS, blanks
    if best is None and _is_column_of_numbers(lines, decimal):
        free = next(delimiter for delimiter in ("\t", ";", "|") if not any(delimiter in line for line in lines))
        return free, split_cells(lines, free)
    if best is None:
        # One column, or a ragged file: the commonest delimiter of the first line, so that the reader can name the line.
        best = max(possible, key=lines[0].count)
        fitting = sum(is_regular([blanks[0], row]) for row in blanks[1:])
        if best not in lines[0] and not words and fitting > len(blanks) / 2:
            return _BLANKS, blanks
        _refuse_single_cells(readings[best], best)
        _refuse_title(readings)
        _refuse_remark_over_blanks(lines[0], blanks, decimal)
        if decimal == "," and any('"' in line for line in lines) and is_regular(quoted := split_cells(lines, ",")):
            return ",", quoted  # its commas mark decimals between quotation marks, and separate cells elsewhere
        if all(len(row) == 1 for row in readings[best]):
            refuse_columns_between_others(lines)
    elif best == "," and decimal is None and _may_be_one_column(readings[best]):
        if len(readings[best][0]) == 2:
            _refuse_one_column(lines, readings[best], "','")
        what = "the names of rows from values" if len(readings[best][0]) == 1 else "two columns"
        raise InvalidInputError(
            f"its commas may separate {what}, or mark decimals of a single column: set delimiter=',' or decimal=','"
        )
    elif best == ",":
        _refuse_one_column(lines, readings[best], "','")
    return best, readings[best]


def _are_words(lines: Sequence[str], blanks: Sequence[Sequence[str]], decimal: str | None) -> bool:
    """One name above words with blanks in them, such as New York; or above numbers with a unit, such as 3 kg, of which
    some occur again, as names of rows do not."""
    if len(blanks[0]) > 1 or any('"' in line for line in lines[1:]):
        return False
    first, rest = [row[0] for row in blanks[1:]], [row[1:] for row in blanks[1:]]
    if _numbers([[], *rest], _BLANKS, decimal):
        return False
    return len(set(first)) < len(first) or not _numbers([[], first], _BLANKS, decimal)


def _refuse_one_column(lines: Sequence[str], cells: Sequence[Sequence[str]], delimiter: str) -> None:
    """Refuse lines that are one number each or several columns, if there are no names that show which."""
    body = [line.strip() for line in lines[1:] or lines]
    units = delimiter == "' '" and all(line.startswith(tuple(UNITS)) or line.endswith(tuple(UNITS)) for line in body)
    named = len(cells[0]) == len(cells[-1]) and not is_one_number(lines[0]) and not units
    if not named and all(map(is_one_number, lines[1:] or lines)):
        raise InvalidInputError(_one_or_several(lines[-1].strip(), delimiter))


def _one_or_several(number: str, delimiter: str) -> str:
    return (
        f"its lines may be one number each, as {number}, or several columns: set delimiter={delimiter} for columns, "
        "delimiter=';' for one"
    )


def _is_column_of_numbers(lines: Sequence[str], decimal: str | None) -> bool:
    """Whether the lines are single numbers, some with a decimal comma, under one name.

    Without a name short lines of several columns would look the same, and are refused.
    """
    name, body = lines[0].strip(), [line.strip() for line in lines[1:]]
    nameless = name.lower() in MISSING_WORDS or looks_like_number(name)
    values = [text for text in [name, *body] if text.lower() not in MISSING_WORDS]
    values = values if nameless else values[1:]
    if decimal == "." or not any("," in text for text in values) or not all(is_number(text, ",") for text in values):
        return False
    if nameless and decimal is None:
        raise InvalidInputError(_one_or_several(next(text for text in values if "," in text), "','"))
    return nameless or not any(delimiter in name for delimiter in _DELIMITERS)


def _refuse_single_cells(cells: Sequence[Sequence[str]], delimiter: str) -> None:
    """A name that holds a delimiter, or lines that lack all cells but one."""
    if len(cells[0]) > 1 and len(cells) > 1 and all(len(row) == 1 for row in cells[1:]):
        raise InvalidInputError(
            f"its first line has {len(cells[0])} cells between {delimiter!r}, all others have one: put the first line "
            "in quotation marks if it is one name"
        )


def _refuse_title(readings: dict[str, list[list[str]]]) -> None:
    """A line of one cell above a table of several columns."""
    for delimiter, cells in readings.items():
        if len(cells[0]) == 1 and len(cells) > 2 and is_regular(cells[1:]):
            raise InvalidInputError(
                f"its first line, {cells[0][0].strip()}, has one cell, all others have {len(cells[-1])} between "
                f"{delimiter!r}: remove lines of remarks"
            )


def _refuse_remark_over_blanks(first: str, blanks: Sequence[Sequence[str]], decimal: str | None) -> None:
    """A number sign and a remark, or names, above columns between blanks, as numpy.savetxt writes them."""
    if first.startswith("#") and is_regular(blanks[1:]) and _numbers(blanks, _BLANKS, decimal):
        raise InvalidInputError(
            f"its first line, {first.strip()}, has a number sign that the others, with {len(blanks[-1])} cells between "
            "blanks, lack: remove the sign if it names the columns, or the line"
        )


def _splits_names(lines: Sequence[str]) -> bool:
    """Whether a delimiter is in every line, and between those of the first are names with blanks, as in ``t [s];b``."""
    return any(
        all(delimiter in line for line in lines)
        and any(" " in cell.strip() for cell in lines[0].split(delimiter) if '"' not in cell)
        for delimiter in (";", "|", "\t")
    )


def _has_other_delimiter(blanks: Sequence[Sequence[str]]) -> bool:
    """Whether another delimiter shows in what would be names between blanks, or behind a cell of every line."""
    others, names = tuple(_DELIMITERS), blanks[0]
    if all(any(cell.endswith(others) for cell in row[:-1]) for row in blanks[1:] or blanks):
        return True
    return any(name.endswith(others) for name in names[:-1]) or (
        len(names) < len(blanks[-1]) and len(names) == 1 and any(delimiter in names[0] for delimiter in others)
    )


def check_lengths(path: str | os.PathLike[str], dialect: Dialect) -> None:
    """Refuse lines between whose blanks a cell is missing, as nobody knows which."""
    if dialect.delimiter != _BLANKS:
        return
    with open_text(path) as file:
        record, first = "", True
        for number, line in enumerate(file, 1):
            record += line
            if not record.strip() or is_open(record):
                continue
            found = sum(map(len, blank_cells([record])))
            if found != len(dialect.first_line) + (dialect.row_names and not first):
                raise InvalidInputError(f"line {number} has {found} cells, the first {len(dialect.first_line)}")
            record, first = "", False


def _check_given(first: str, given: str) -> None:
    """A delimiter that the first line lacks, though it has another one, is a mistake and no single column."""
    others = [delimiter for delimiter in _DELIMITERS if delimiter in first]
    if given not in first and others and not looks_like_number(first):
        raise InvalidInputError(f"delimiter={given!r} is not in its first line, which has {others[0]!r}")


def _begins_with_names(cells: Sequence[Sequence[str]]) -> bool:
    """A line of names, which are neither numbers nor missing, above lines with numbers."""
    numbers = [any(map(looks_like_number, row)) for row in cells]
    if len(numbers) < 2 or numbers[0] or not any(numbers):
        return False
    return not any(cell.strip().lower() in MISSING_WORDS | {"true", "false"} for cell in cells[0])


def _most_numbers(delimiters: Sequence[str], readings: dict[str, list[list[str]]], decimal: str | None) -> str | None:
    """Of several delimiters that fit the one with the largest share of numbers, None if none fits; but one with more
    columns and as many numbers before it, as glueing cells together makes shares larger."""
    if not delimiters:
        return None
    shares = {delimiter: _numbers(readings[delimiter], delimiter, decimal) for delimiter in delimiters}
    best = [delimiter for delimiter in delimiters if shares[delimiter] == max(shares.values())]
    found = {
        delimiter: (len(readings[delimiter][-1]), _count(readings[delimiter], shares[delimiter]))
        for delimiter in delimiters
    }
    width, numbers = found[best[0]]
    wider = [delimiter for delimiter, (columns, n) in found.items() if columns > width and n >= numbers > 0]
    best = wider if wider and max(shares.values()) < 1 else best
    if len(best) > 1:
        options = " or ".join(f"delimiter={delimiter!r}" for delimiter in best)
        raise InvalidInputError(f"its lines can be split in more than one way: set {options}")
    return best[0]


def _blanks_fit_better(
    blanks: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], delimiter: str, decimal: str | None, exact: bool
) -> bool:
    """Whether blanks give more numbers than the best delimiter; or as many, where they alone give each column a name.

    Where that alone does (``exact``), it stands.
    """
    ours, theirs = _numbers(blanks, _BLANKS, decimal), _numbers(cells, delimiter, decimal)
    named = len(blanks[0]) == len(blanks[-1])
    if delimiter == "\t" and (exact or any("" in row for row in cells[1:])):
        return False  # blanks stand inside its cells
    if named == exact or delimiter == "\t":
        alike = ours == theirs > 0 and len(blanks[-1]) == len(cells[-1])
        glued = len(cells[0]) == 1 < len(blanks[0]) and _count(blanks, ours) >= _count(cells, theirs) > 0
        if not named and delimiter != "\t" and (alike or glued):
            raise InvalidInputError(
                f"its lines can be split in more than one way: set delimiter=' ' or delimiter={delimiter!r}"
            )
        return ours > theirs and named >= exact
    return named and (ours > theirs or _count(blanks, ours) >= _count(cells, theirs) > 0)


def _count(cells: Sequence[Sequence[str]], share: float) -> int:
    return round(share * sum(map(len, cells[1:] or cells)))


def _numbers(cells: Sequence[Sequence[str]], delimiter: str, decimal: str | None) -> float:
    """Share of the cells below the first line that are numbers."""
    marks = [decimal] if decimal else ["."] if delimiter == "," else [".", ","]
    body = [cell for row in cells[1:] or cells for cell in row]
    return max(sum(is_number(cell, mark) for cell in body) for mark in marks) / max(len(body), 1)


def _may_be_one_column(cells: Sequence[Sequence[str]]) -> bool:
    """One name in the header, and two runs of digits in every line below, the second perhaps with an exponent; or no
    header, and digits that look like those of fractions."""
    named = len(cells[0]) == 1
    body = cells[1:] if named else cells
    if not body or not all(len(row) == 2 and _WHOLE.fullmatch(row[0]) and _DIGITS.fullmatch(row[1]) for row in body):
        return False
    return named or _are_fractions([row[1].strip() for row in body])


def _are_fractions(digits: Sequence[str]) -> bool:
    """Zeros before other digits, as in 1,05; an exponent; or so many digits in every line, two or more, as in prices,
    or nothing but a zero; or a single line, which tells nothing."""
    if len(digits) == 1 or any(re.match(r"0\d|\d+[eE]", cell) for cell in digits):
        return True
    same = len(digits) > 2 and len({len(cell) for cell in digits}) == 1
    return same and (len(digits[0]) > 1 or set(digits) == {"0"})


# ---- numbers and names ----------------------------------------------------------------------------------------------


def later_decimal(dialect: Dialect, cells: Sequence[str]) -> str:
    """The decimal mark of a file whose first lines have none, by the cells that were not read as numbers."""
    if dialect.decimal == "," or dialect.delimiter == "," or not any("," in cell for cell in cells):
        return dialect.decimal
    return decimal_mark(dialect.delimiter, [cell for cell in cells if "," in cell or "." in cell])
