"""Detect the layout of a text file (delimiter, decimal mark, header line, row names).

CSV files may have semicolons and decimal commas, tabs or aligned spaces, no header, or row names
without a heading (R). `sniff` splits the first lines by every delimiter and scores the result by
the number of cells per line and the share of numeric text. If two delimiters are equally good, the
error shows both results and the options that select each of them.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count
from dempster.io.numbers import (
    MISSING_WORDS,
    choose_decimal,
    is_number,
    is_quantity,
    looks_like_number,
)
from dempster.io.text import BLANKS, MAX_LINE_CHARACTERS, has_open_quote, open_text, split_cells

_DELIMITERS = (",", ";", "\t", "|")
# delimiter for files with one column; text files do not contain this character
_ONE_COLUMN = "\x1f"
_SAMPLE_LINES = 100
_FRACTION = re.compile(r"\s*[-+]?\d*,(\d+([eE][-+]?\d+)?)\s*")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SEVERAL_BLANKS = re.compile(r"\S(\t|\s{2,})\S")
_ADVICE = "remove comments, fill missing cells, quote names, or set delimiter (';' if there is a single column)"
_OTHER_FORMATS = (
    (re.compile(r'\s*[\[{]\s*(["\[{].*)?', re.DOTALL), "the file contains JSON; save it as CSV"),
    (
        re.compile(r"\s*<(\?xml|!doctype|html|head|body|table|svg)\b.*", re.DOTALL | re.IGNORECASE),
        "the file contains HTML or XML; save it as CSV",
    ),
)
_RULE = re.compile(r"[\s|+:]*(?:[-=*_~]{3,}[\s|+:]*)+")


@dataclass(frozen=True)
class Dialect:
    """Layout of a text file."""

    delimiter: str  # A space stands for any number of spaces and tabs.
    decimal: str  # decimal mark, "." or ","
    has_header: bool
    first_line: list[str]  # cells
    row_names: bool = False  # whether lines start with a row name, for which the header has no cell
    trailing: bool = False  # whether all lines except the header end with a delimiter


@dataclass(frozen=True)
class _Reading:
    """First lines of a file, split by one delimiter.

    Readings are compared by ``level``, then by ``coverage``, the share of characters that belong to
    numbers. ``level`` is 2 if all lines have the same number of cells (at least two). It is 1 if
    all lines have one cell, or if all lines except the first have an additional cell (row names).
    It is 0 if some lines have fewer cells than others.
    """

    delimiter: str
    cells: list[list[str]]
    level: int
    coverage: float
    row_names: bool
    trailing: bool

    @property
    def score(self) -> tuple[int, float, bool]:
        is_named = (
            self.level == 2
            and len(self.cells[0]) > 1
            and not any(map(looks_like_number, self.cells[0]))
        )
        return self.level, self.coverage, is_named


def sniff(
    path: str | os.PathLike[str],
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Dialect:
    """Return the layout of a text file.

    Arguments that are None are detected from its first lines.
    """
    lines = _first_lines(path)
    if header is None:
        _check_comment(lines)
    reading = _best_reading(lines, header, delimiter, decimal)
    cells = reading.cells
    first = [cell.strip() for cell in cells[0]]
    if header is None:
        header = has_header(
            first, cells[1:], starts_with_comment=reading.row_names or lines[0].startswith("#")
        )
    if decimal is None:
        columns = [[cell or "" for cell in column] for column in zip_longest(*(cells[1:] or cells))]
        decimal = choose_decimal(reading.delimiter, columns)
    return Dialect(
        reading.delimiter,
        decimal,
        header,
        first,
        header and reading.row_names,
        header and reading.trailing,
    )


def _first_lines(path: str | os.PathLike[str]) -> list[str]:
    """Return the first nonblank lines, including all lines of a quoted cell.

    Raise an error if they are not a table.
    """
    with open_text(path) as file:
        following = iter(lambda: file.readline(MAX_LINE_CHARACTERS), "")
        lines = [line for line in islice(following, _SAMPLE_LINES) if line.strip()]
        while (
            has_open_quote("".join(lines))
            and (line := next(following, ""))
            and len(lines) < 2 * _SAMPLE_LINES
        ):
            lines.append(line)
    if any(len(line) == MAX_LINE_CHARACTERS for line in lines):
        raise InvalidInputError(
            f"a line has more than {MAX_LINE_CHARACTERS:,} characters; the file is not a table"
        )
    with open_text(path) as file:
        while block := file.read(1 << 20):
            if "\0" in block:
                raise InvalidInputError("the file is not a text file; it contains zero bytes")
    if not lines:
        raise InvalidInputError("the file is empty")
    for pattern, message in _OTHER_FORMATS:
        if pattern.fullmatch(lines[0]):
            raise InvalidInputError(message)
    rule = next(
        (line.strip() for line in lines if len(line.strip()) > 3 and _RULE.fullmatch(line)), None
    )
    if rule is not None:
        raise InvalidInputError(
            f"the line {rule[:40]} contains no cells; remove such lines and comments"
        )
    return lines


# ---- delimiters ----------------------------------------------------------------------------------


def _best_reading(
    lines: list[str], header: bool | None, delimiter: str | None, decimal: str | None
) -> _Reading:
    if delimiter is not None:
        others = [other for other in _DELIMITERS if other in lines[0]]
        if delimiter not in lines[0] and others and not looks_like_number(lines[0]):
            message = f"delimiter={delimiter!r} does not occur in the first line, which contains {others[0]!r}"
            raise InvalidParameterError("delimiter", message=message)
        reading = _read(lines, delimiter, header, decimal)
        if reading is None:
            raise InvalidInputError(_explain_sample(lines, delimiter))
        return reading
    quoted = any('"' in line for line in lines)
    possible = [other for other in _DELIMITERS if other != decimal or quoted]
    candidates = [_read(lines, other, header, decimal) for other in possible]
    readings = [
        reading for reading in candidates if reading is not None and len(reading.cells[-1]) > 1
    ]
    blanks = _read(lines, BLANKS, header, decimal)
    # Cells between tabs may contain spaces.
    has_tabs = any(reading.delimiter == "\t" for reading in readings)
    if (
        blanks is not None
        and len(blanks.cells[-1]) > 1
        and not _has_delimiters(blanks.cells)
        and not has_tabs
    ):
        readings.append(blanks)
    column = _read_one_column(
        lines, header, decimal, has_rival=any(reading.level == 2 for reading in readings)
    )
    if column is not None:
        readings.append(column)
    if not readings:
        raise InvalidInputError(_explain_sample(lines))
    # A cell with an odd number of quotation marks was split inside a quoted text.
    readings = [
        one for one in readings if not any(c.count('"') % 2 for row in one.cells for c in row)
    ] or readings
    best = max(readings, key=lambda reading: reading.score)
    rivals = [reading for reading in readings if reading is not best and _is_as_good(reading, best)]
    # Spaces between words do not separate columns.
    if best.coverage == 0 and not any('"' in line for line in lines[1:]):
        rivals = [reading for reading in rivals if reading.delimiter != BLANKS]
        if best.delimiter == BLANKS and rivals:
            best = rivals.pop()
    if rivals:
        raise _ambiguous(lines, best, rivals[0])
    if best.delimiter == _ONE_COLUMN and best.coverage < 1 and _may_be_aligned_columns(lines):
        raise InvalidInputError(_explain_sample(lines, BLANKS))
    if best.delimiter == _ONE_COLUMN and best.coverage < 1 and quoted:
        inside = [row[0] for row in best.cells]
        inner = [_read(inside, other, header, decimal) for other in _DELIMITERS]
        if any(
            reading is not None and reading.level == 2 and reading.coverage > 0 for reading in inner
        ):
            raise InvalidInputError(
                f"whole lines are quoted, such as {lines[0].strip()[:40]}; remove the quotes"
            )
    return best


def _read(
    lines: list[str], delimiter: str, header: bool | None, decimal: str | None
) -> _Reading | None:
    """Split the lines by a delimiter.

    Return None if the numbers of cells per line are not consistent.
    """
    cells = split_cells(lines, delimiter)
    if not cells:
        raise InvalidInputError("the file is empty")
    sizes = [len(row) for row in cells]
    first = sizes[0]
    width = max(sizes[1:], default=sizes[0])
    is_longer = width == first + 1
    trailing = (
        is_longer and cells[0][-1].strip() != "" and all(row[-1].strip() == "" for row in cells[1:])
    )
    row_names = is_longer and not trailing
    if set(sizes[1:]) <= {width} and width == first + is_longer:
        if row_names and not _may_be_row_names([row[0].strip() for row in cells[1:]], header):
            return None
        if width > 1 and not row_names:
            level = 2
        else:
            level = 1
    elif width == first and delimiter != BLANKS:
        level = 0
    else:
        return None
    return _Reading(
        delimiter, cells, level, _coverage(cells, decimal, row_names), row_names, trailing
    )


def _may_be_row_names(names: list[str], header: bool | None) -> bool:
    """Return whether the first cells of the lines may be row names.

    Row names are unique words or integers. Other numbers are accepted only if ``header`` is given.
    """
    if len(set(names)) < len(names) or any(
        delimiter in name for name in names for delimiter in (";", "\t", "|")
    ):
        return False
    return (
        header is not None or not all(map(looks_like_number, names)) or all(map(str.isdigit, names))
    )


def _coverage(cells: Sequence[Sequence[str]], decimal: str | None, row_names: bool) -> float:
    body = [cell.strip() for row in cells[1:] or cells for cell in row[row_names:]]
    body = [cell for cell in body if cell.lower() not in MISSING_WORDS]
    if decimal:
        marks = [decimal]
    else:
        marks = [".", ","]
    n_numeric = max(sum(len(cell) for cell in body if is_number(cell, mark)) for mark in marks)
    return n_numeric / max(sum(map(len, body)), 1)


def _has_delimiters(cells: Sequence[Sequence[str]]) -> bool:
    """Return whether cells separated by spaces also end with a delimiter, in the first line or in all other lines."""
    ends = [any(cell.endswith(_DELIMITERS) for cell in row[:-1]) for row in cells]
    return ends[0] or (len(ends) > 1 and all(ends[1:]))


def _read_one_column(
    lines: list[str], header: bool | None, decimal: str | None, has_rival: bool
) -> _Reading | None:
    """Read each line as a single cell.

    Return None if delimiters show that the lines contain several cells.
    """
    cells = split_cells(lines, _ONE_COLUMN)
    values = [row[0].strip() for row in cells if row[0].strip().lower() not in MISSING_WORDS]
    whole = [_QUOTED.fullmatch(line.strip()) for line in lines]
    if any('"' in line and not match for line, match in zip(lines, whole, strict=True)):
        return None  # Quotation marks inside a line show that it has several cells.
    bare = ["" if match else line for line, match in zip(lines, whole, strict=True)]
    has_name = (
        not looks_like_number(cells[0][0]) and cells[0][0].strip().lower() not in MISSING_WORDS
    )
    body = values[has_name:]
    if any(delimiter in line for line in bare for delimiter in _DELIMITERS):
        if decimal:
            marks = [decimal]
        else:
            marks = [".", ","]
        is_column = bool(body) and any(
            all(is_number(cell, mark) for cell in body) for mark in marks
        )
        counts = {delimiter: sum(delimiter in line for line in bare) for delimiter in _DELIMITERS}
        is_text = counts[","] == 0 and 2 * max(counts.values()) < len(lines)
        if not (is_column or is_text) or (
            has_name and any(delimiter in bare[0] for delimiter in _DELIMITERS)
        ):
            return None
    if has_name or not any("," in line for line in bare):
        level = 1
    else:
        level = 0
    if has_rival and (all(map(is_quantity, body)) or (not has_name and _are_fractions(values))):
        level = 2
    return _Reading(_ONE_COLUMN, cells, level, _coverage(cells, decimal, False), False, False)


def _are_fractions(values: Sequence[str]) -> bool:
    """Return whether the commas in a column without a heading are decimal marks rather than delimiters.

    This is the case if there is only one number, if a number has an exponent or decimals that start
    with a zero (1,05), or if three or more numbers all have the same number of decimals (at least
    two, or a single zero).
    """
    matches = [_FRACTION.fullmatch(value) for value in values]
    digits = [match[1] for match in matches if match]
    if len(digits) < len(values):
        return False
    if len(digits) == 1 or any(re.match(r"0\d|\d+[eE]", part) for part in digits):
        return True
    same = len(digits) > 2 and len(set(map(len, digits))) == 1
    return same and (len(digits[0]) > 1 or set(digits) == {"0"})


def _is_as_good(reading: _Reading, best: _Reading) -> bool:
    if reading.score == best.score:
        return True
    # If both delimiters result in row names, the names differ. The coverage cannot decide between
    # them.
    return (
        reading.level == best.level
        and reading.row_names
        and best.row_names
        and reading.coverage > 0
    )


def _ambiguous(lines: Sequence[str], best: _Reading, rival: _Reading) -> InvalidParameterError:
    """Return an error that shows two ways to split a line, and the options that select each of them."""
    options = []
    for reading, other in ((best, rival), (rival, best)):
        if reading.delimiter != _ONE_COLUMN:
            options.append(("delimiter", reading.delimiter))
        elif other.delimiter == ",":
            options.append(("decimal", ","))
        else:
            options.append(("delimiter", "|" if other.delimiter == ";" else ";"))
    shown = []
    for reading in (best, rival):
        row = [cell.strip() for cell in reading.cells[-1]]
        shown.append(" and ".join(row[:4]) + (" ..." if len(row) > 4 else ""))
    (name, value), (other_name, other_value) = options
    return InvalidParameterError(
        name,
        message=f"the line {lines[-1].strip()[:60]} can be read as {shown[0]} with {name}={value!r} or as {shown[1]} "
        f"with {other_name}={other_value!r}; set one of them",
        settings={name: (value, other_value)}
        if name == other_name
        else {name: value, other_name: other_value},
    )


def _may_be_aligned_columns(lines: Sequence[str]) -> bool:
    """Return whether lines look like space-separated columns although their numbers of cells differ."""
    rows = [split_cells([line], BLANKS)[0] for line in lines]
    several = [len(row) > 1 and all(map(looks_like_number, row)) for row in rows]
    several = [
        is_row and not is_quantity(line) for is_row, line in zip(several, lines, strict=True)
    ]
    fitting = sum(len(row) == len(rows[0]) > 1 for row in rows[1:])
    longer = sum(
        len(row) > len(rows[0]) > 1 and any(map(looks_like_number, row)) for row in rows[1:]
    )
    return (
        several[0]
        or sum(several) > 1
        or 2 * max(fitting, longer) > len(rows)
        or all(map(_SEVERAL_BLANKS.search, lines))
    )


# ---- header --------------------------------------------------------------------------------------


def has_header(
    first: Sequence[str], rows: Sequence[Sequence[str]], starts_with_comment: bool = False
) -> bool:
    """Return whether the first row contains column names.

    Raise InvalidParameterError if this is ambiguous.

    Numbers and missing values are not column names. The exception is a first row written by pandas,
    which is an empty cell followed by 0, 1, 2, ...
    """
    numbers = [looks_like_number(cell) for cell in first]
    below = [row[0].strip() for row in rows]
    corner = (
        len(first) > 1
        and first[0] == ""
        and all(map(str.isdigit, first[1:]))
        and len(set(first)) == len(first)
    )
    if corner and all(below) and 1 < len(below) == len(set(below)):
        if first[1:] == [str(j) for j in range(max(len(first) - 1, 2))]:
            return True
        raise _ambiguous_header(first[1])
    if all(
        number or cell.lower() in MISSING_WORDS for number, cell in zip(numbers, first, strict=True)
    ):
        return False
    if len(first) > 1 and first[0] and not any(first[1:]):
        message = f"the first row must contain column names, got {first[0]!r} only; remove the rows above the column "
        message += "names, or set header=True if they are in the first row"
        raise InvalidParameterError("header", message=message, settings={"header": True})
    if any(numbers):
        raise _ambiguous_header(first[numbers.index(True)])
    if starts_with_comment and _starts_with_names(rows):
        message = "the first line may be a comment above the header; remove it, or set header=True if it is the header"
        raise InvalidParameterError("header", message=message, settings={"header": True})
    words = [(word, j) for j, word in enumerate(first) if word]
    repeated = [
        word
        for word, j in words
        if any(len(row) == len(first) and row[j].strip() == word for row in rows)
    ]
    # Repeated words may be categories instead of column names.
    if repeated and 2 * len(repeated) >= len(words):
        raise _ambiguous_header(repeated[0])
    return True


def _ambiguous_header(cell: str) -> InvalidParameterError:
    return InvalidParameterError(
        "header",
        message=f"the first line, which contains {cell}, can be read as column names with header=True or as a row with "
        "header=False; set header",
        settings={"header": (True, False)},
    )


def _starts_with_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row has neither numbers nor missing values, and a later row has numbers."""
    has_numbers = [any(map(looks_like_number, row)) for row in rows]
    if len(rows) < 2 or has_numbers[0] or not any(has_numbers):
        return False
    return not any(cell.strip().lower() in MISSING_WORDS | {"true", "false"} for cell in rows[0])


def _check_comment(lines: list[str]) -> None:
    """Raise an error if the first line starts with # and has a different number of cells than the other lines."""
    if not lines[0].startswith("#"):
        return
    sizes = [
        [len(row) for row in split_cells(lines, delimiter)] for delimiter in (*_DELIMITERS, BLANKS)
    ]
    even = [each for each in sizes if len(each) > 1 and len(set(each[1:])) == 1 and each[1] > 1]
    if even and all(each[0] != each[1] for each in even):
        raise InvalidInputError(
            f"the first line, {lines[0].strip()}, starts with # and has a different number of cells than the "
            "other lines; remove # if the line contains column names, or the line if it is a comment"
        )


# ---- uneven lines --------------------------------------------------------------------------------


def _explain_sample(lines: list[str], delimiter: str | None = None) -> str:
    """Return an error message about a line with an unusual number of cells."""
    if delimiter is None:
        possible = [each for each in _DELIMITERS if any(each in line for line in lines)] or [BLANKS]
        delimiter = max(possible, key=lambda each: sum(each in line for line in lines))
    sizes = [len(row) for row in split_cells(lines, delimiter)]
    usual = Counter(sizes[1:] or sizes).most_common(1)[0][0]
    odd = next((k for k, size in enumerate(sizes) if size != usual), None)
    if odd is None:
        return f"the lines cannot be split by {_name_delimiter(delimiter)}; {_ADVICE}"
    return _describe_line(odd + 1, sizes[odd], usual, delimiter)


def explain_uneven_lines(path: str | os.PathLike[str], dialect: Dialect) -> str | None:
    """Return an error message about the first line with a wrong number of cells, or None if all lines are valid."""
    width = len(dialect.first_line)
    record = ""
    is_first = True
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            record += line
            if not record.strip() or has_open_quote(record):
                continue
            size = sum(map(len, split_cells([record], dialect.delimiter)))
            expected = width + ((dialect.row_names + dialect.trailing) if not is_first else 0)
            if size > expected or (size < expected and dialect.delimiter == BLANKS):
                return _describe_line(number, size, expected, dialect.delimiter)
            record = ""
            is_first = False
    if record.strip():
        return "a quotation mark is not closed"
    return None


def _describe_line(number: int, size: int, expected: int, delimiter: str) -> str:
    cells = format_count(size, "cell")
    return f"line {number} has {cells} split by {_name_delimiter(delimiter)}, other lines have {expected}; {_ADVICE}"


def _name_delimiter(delimiter: str) -> str:
    if delimiter == BLANKS:
        return "spaces"
    return repr(delimiter)
