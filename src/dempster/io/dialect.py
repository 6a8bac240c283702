"""Detect the layout of a text file (delimiter, decimal mark, header line, row names).

CSV files may have semicolons and decimal commas, tabs or aligned spaces, no header, or row names
without a heading (R). `sniff` splits the first lines by every delimiter and scores the result by
the number of cells per line and the share of numeric text. If two delimiters are equally good, the
error shows both results and the options that select each of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count
from dempster.io.numbers import (
    MISSING_WORDS,
    UNITS,
    choose_decimal,
    is_number,
    looks_like_number,
)
from dempster.io.text import (
    BLANKS,
    MAX_LINE_CHARACTERS,
    has_open_quote,
    open_text,
    split_cells,
)

_DELIMITERS = (",", ";", "\t", "|")
# delimiter for files with one column; text files do not contain this character
_ONE_COLUMN = "\x1f"
_SAMPLE_LINES = 100
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_FRACTION = re.compile(r"[-+]?\d*[, ](\d+(?:[eE][-+]?\d+)?)")
_ADVICE = (
    "remove comments, fill missing cells, quote names, or name the delimiter "
    "(delimiter=';' if there is a single column)"
)
_OTHER_FORMATS = {
    "a drawn table": re.compile(r"\s*\|.*[^\W\d].*\|\s*"),
    "JSON": re.compile(r'\s*[\[{]\s*(["\[{].*)?', re.DOTALL),
    "HTML or XML": re.compile(
        r"\s*<(\?xml|!doctype|html|head|body|table|svg)\b.*", re.DOTALL | re.IGNORECASE
    ),
}


@dataclass(frozen=True)
class Dialect:
    """Layout of a text file."""

    delimiter: str  # A space stands for any number of spaces and tabs.
    decimal: str  # decimal mark, "." or ","
    has_header: bool
    first_line: list[str]  # cells
    # whether lines start with a row name, for which the header has no cell
    row_names: bool = False
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
    row_names: bool = False
    trailing: bool = False

    @property
    def score(self) -> tuple[int, float]:
        return self.level, self.coverage

    def is_as_good_as(self, best: _Reading) -> bool:
        # If both delimiters result in row names, the names differ, and the coverage cannot decide.
        both_named = self.row_names and best.row_names and self.coverage > 0
        return self.score == best.score or (both_named and self.level == best.level)


def sniff(
    path: Path,
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Dialect:
    """Return the layout of a text file.

    Arguments that are None are detected from its first lines.
    """
    lines = _first_lines(path)
    if delimiter is None:
        reading = _detect_delimiter(lines, header, decimal)
    else:
        reading = _split_by(delimiter, lines, header, decimal)
    cells = reading.cells
    first = [cell.strip() for cell in cells[0]]
    if header is None:
        header = has_header(first, cells[1:], reading.row_names)
    if decimal is None:
        columns = zip_longest(*(cells[1:] or cells), fillvalue="")
        decimal = choose_decimal(reading.delimiter, columns)
    return Dialect(
        reading.delimiter,
        decimal,
        header,
        first,
        header and reading.row_names,
        header and reading.trailing,
    )


def _first_lines(path: Path) -> list[str]:
    """Return the first nonblank lines, including all lines of a quoted cell.

    Raise an error if they are not a table.
    """
    with open_text(path) as file:
        following = iter(lambda: file.readline(MAX_LINE_CHARACTERS), "")
        lines = [line for line in islice(following, _SAMPLE_LINES) if line.strip()]
        for line in islice(following, _SAMPLE_LINES):
            if not has_open_quote("".join(lines)):
                break
            lines.append(line)
    if not lines:
        raise InvalidInputError("the file is empty")
    if any(len(line) == MAX_LINE_CHARACTERS for line in lines):
        raise InvalidInputError(
            f"a line has more than {MAX_LINE_CHARACTERS:,} characters; the file is not a table"
        )
    if any("\0" in line for line in lines):
        raise InvalidInputError("the file is not a text file; it contains zero bytes")
    for name, pattern in _OTHER_FORMATS.items():
        if pattern.fullmatch(lines[0]):
            raise InvalidInputError(f"the file contains {name}; save it as CSV")
    return lines


# ---- delimiters ----------------------------------------------------------------------------------


def _split_by(
    delimiter: str, lines: list[str], header: bool | None, decimal: str | None
) -> _Reading:
    """Split the lines by the delimiter that the user set."""
    others = [other for other in _DELIMITERS if other in lines[0]]
    if delimiter not in lines[0] and others and not looks_like_number(lines[0]):
        raise InvalidParameterError(
            "delimiter",
            message=f"delimiter={delimiter!r} does not occur in the first line, "
            f"which contains {others[0]!r}",
        )
    reading = _read(lines, delimiter, header, decimal)
    if reading is None:
        raise InvalidInputError(_explain_sample(lines, delimiter))
    return reading


def _detect_delimiter(
    lines: list[str], header: bool | None, decimal: str | None
) -> _Reading:
    """Return the best reading of the lines; raise an error if there is none or a second one."""
    is_quoted = any('"' in line for line in lines)
    possible = [*(mark for mark in _DELIMITERS if mark != decimal or is_quoted), BLANKS]
    candidates = [_read(lines, delimiter, header, decimal) for delimiter in possible]
    readings = [one for one in candidates if one is not None and len(one.cells[-1]) > 1]
    if (
        readings
        and readings[-1].delimiter == BLANKS
        and not _may_be_blanks(readings, lines)
    ):
        readings.pop()
    column = _read_one_column(lines, decimal)
    if column is not None:
        readings.append(column)
    if not readings:
        raise InvalidInputError(_explain_sample(lines))
    # A cell with an odd number of quotation marks was split inside a quoted text.
    whole = [
        one
        for one in readings
        if not any(c.count('"') % 2 for row in one.cells for c in row)
    ]
    readings = whole or readings
    best = max(readings, key=lambda reading: reading.score)
    for reading in readings:
        if reading is not best and reading.is_as_good_as(best):
            raise _ambiguous(lines, best, reading)
    if best is not column:
        return best
    is_text = best.coverage < 1
    if (is_text or lines[0].startswith("#")) and _may_be_aligned_columns(lines):
        raise InvalidInputError(_explain_sample(lines, BLANKS))
    if is_text and is_quoted:
        lines = [row[0] for row in best.cells]
        for delimiter in _DELIMITERS:
            table = _read(lines, delimiter, header, decimal)
            if table is not None and table.level == 2 and table.coverage > 0:
                raise InvalidInputError(
                    f"whole lines are quoted, such as {lines[0][:40]}; remove the quotes"
                )
    return best


def _read(
    lines: list[str], delimiter: str, header: bool | None, decimal: str | None
) -> _Reading | None:
    """Split the lines by a delimiter.

    Return None if the numbers of cells per line are not consistent.
    """
    cells = split_cells(lines, delimiter)
    first, *others = [len(row) for row in cells]
    width = max(others, default=first)
    is_longer = width == first + 1
    is_even = set(others) <= {width} and width == first + is_longer
    trailing = (
        is_longer
        and cells[0][-1].strip() != ""
        and all(row[-1].strip() == "" for row in cells[1:])
    )
    row_names = is_longer and not trailing
    if not is_even and (width != first or delimiter == BLANKS):
        return None
    if is_even and row_names and not _may_be_row_names(cells, header):
        return None
    if not is_even:
        level = 0
    elif row_names or width == 1:
        level = 1
    else:
        level = 2
    coverage = _coverage([row[row_names:] for row in cells], decimal)
    return _Reading(delimiter, cells, level, coverage, row_names, trailing)


def _may_be_row_names(cells: list[list[str]], header: bool | None) -> bool:
    """Return whether the first cells of the lines may be row names.

    Row names are unique words or integers. Other numbers, and names below a comment, are accepted
    only if ``header`` is given.
    """
    names = [row[0].strip() for row in cells[1:]]
    if len(set(names)) < len(names) or re.search(r"[;\t|]", "".join(names)):
        return False
    if header is not None:
        return True
    is_number = all(map(looks_like_number, names)) and not all(map(str.isdigit, names))
    return not is_number and not cells[0][0].startswith("#")


def _coverage(cells: Sequence[Sequence[str]], decimal: str | None) -> float:
    body = [cell.strip() for row in cells[1:] or cells for cell in row]
    body = [cell for cell in body if cell.lower() not in MISSING_WORDS]
    n_numeric = max(
        sum(len(cell) for cell in body if is_number(cell, mark))
        for mark in decimal or ".,"
    )
    return n_numeric / max(sum(map(len, body)), 1)


def _may_be_blanks(readings: list[_Reading], lines: list[str]) -> bool:
    """Return whether spaces separate the columns.

    They do not if cells also end with another delimiter, if tabs separate the columns, if a cell is
    the unit of a number, or if all cells are words.
    """
    *others, blanks = readings
    if any(cell.endswith(_DELIMITERS) for row in blanks.cells for cell in row[:-1]):
        return False
    if any(cell in UNITS for row in blanks.cells for cell in row if cell):
        return False
    if any(reading.delimiter == "\t" for reading in others):
        return False
    return blanks.coverage > 0 or any('"' in line for line in lines[1:])


def _read_one_column(lines: list[str], decimal: str | None) -> _Reading | None:
    """Read each line as a single cell.

    Return None if delimiters show that the lines contain several cells. Commas in numbers are not
    delimiters; without a heading, two columns of numbers are more plausible, unless the numbers
    look like fractions.
    """
    unquoted = [line for line in lines if not _QUOTED.fullmatch(line.strip())]
    if any('"' in line for line in unquoted):
        return None  # Quotation marks inside a line show that it has several cells.
    cells = split_cells(lines, _ONE_COLUMN)
    values = [
        row[0].strip() for row in cells if row[0].strip().lower() not in MISSING_WORDS
    ]
    heading = cells[0][0].strip()
    has_heading = (
        not looks_like_number(heading) and heading.lower() not in MISSING_WORDS
    )
    level = 1
    if any(delimiter in line for line in unquoted for delimiter in _DELIMITERS):
        body = values[has_heading:]
        is_numeric = any(
            all(is_number(cell, mark) for cell in body) for mark in decimal or ".,"
        )
        is_split = has_heading and any(
            delimiter in heading for delimiter in _DELIMITERS
        )
        if not body or not is_numeric or is_split:
            return None
        level = int(has_heading)
    if not has_heading and _are_fractions(values):
        level = 2
    return _Reading(_ONE_COLUMN, cells, level, _coverage(cells, decimal))


def _are_fractions(values: list[str]) -> bool:
    """Return whether a comma or space in each number may be a decimal mark or separate thousands.

    This is the case if there is only one number, if a number has an exponent or decimals that start
    with a zero (1,05), or if three or more numbers all have the same number of decimals (at least
    two, or a single zero).
    """
    matches = [_FRACTION.fullmatch(value) for value in values]
    decimals = [match[1] for match in matches if match]
    if len(decimals) < len(values):
        return False
    if len(decimals) == 1 or any(
        re.match(r"0\d|\d+[eE]", digits) for digits in decimals
    ):
        return True
    same_length = len(decimals) > 2 and len(set(map(len, decimals))) == 1
    return same_length and (len(decimals[0]) > 1 or set(decimals) == {"0"})


def _ambiguous(
    lines: Sequence[str], best: _Reading, rival: _Reading
) -> InvalidParameterError:
    """Return an error that shows two ways to split a line, and the option for each of them."""
    options = [_option(best, rival), _option(rival, best)]
    shown = [
        " and ".join(cell.strip() for cell in one.cells[-1][:4])
        for one in (best, rival)
    ]
    (name, value), (other_name, other_value) = options
    return InvalidParameterError(
        name,
        message=f"the line {lines[-1].strip()[:60]} can be read as {shown[0]} "
        f"({name}={value!r}) or as {shown[1]} ({other_name}={other_value!r})",
    )


def _option(reading: _Reading, rival: _Reading) -> tuple[str, str]:
    """Return the option that selects a reading instead of its rival."""
    if reading.delimiter != _ONE_COLUMN:
        return "delimiter", reading.delimiter
    if rival.delimiter == ",":
        return "decimal", ","
    return "delimiter", ";"


def _may_be_aligned_columns(lines: Sequence[str]) -> bool:
    """Return whether lines look like space-separated columns with different numbers of cells."""
    rows = [split_cells([line], BLANKS)[0] for line in lines]
    n_numeric = sum(len(row) > 1 and any(map(looks_like_number, row)) for row in rows)
    return len(rows[0]) > 1 and 2 * n_numeric >= len(rows)


# ---- header --------------------------------------------------------------------------------------


def has_header(
    first: Sequence[str], rows: Sequence[Sequence[str]], row_names: bool = False
) -> bool:
    """Return whether the first row contains column names.

    Raise InvalidParameterError if this is ambiguous.

    Numbers and missing values are not column names. The exception is a first row written by pandas,
    which is an empty cell followed by 0, 1, 2, ...
    """
    if _is_pandas_header(first, rows):
        if first[1:] == [str(j) for j in range(len(first) - 1)]:
            return True
        raise _ambiguous_header(first[1])
    numbers = [cell for cell in first if looks_like_number(cell)]
    if len(numbers) == sum(cell.lower() not in MISSING_WORDS for cell in first):
        return False
    if numbers:
        raise _ambiguous_header(numbers[0])
    is_title = len(first) > 1 and not any(first[1:])
    if is_title or (row_names and _starts_with_names(rows)):
        raise InvalidParameterError(
            "header",
            message="the first line may be a title or comment above the header; remove it "
            "(header=True if it is the header)",
        )
    words = [word for word in first if word]
    repeated = [
        word
        for j, word in enumerate(first)
        if word
        and any(len(row) == len(first) and row[j].strip() == word for row in rows)
    ]
    # Repeated words may be categories instead of column names.
    if repeated and 2 * len(repeated) >= len(words):
        raise _ambiguous_header(repeated[0])
    return True


def _is_pandas_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a first row of different integers follows an empty cell above row names."""
    names = [row[0].strip() for row in rows]
    return (
        len(first) > 1
        and first[0] == ""
        and all(map(str.isdigit, first[1:]))
        and len(set(first)) == len(first)
        and all(names)
        and 1 < len(names) == len(set(names))
    )


def _ambiguous_header(cell: str) -> InvalidParameterError:
    return InvalidParameterError(
        "header",
        message=f"the first line, which contains {cell}, can be read as column names "
        "(header=True) or as a row (header=False)",
    )


def _starts_with_names(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row contains only names, and a later row numbers."""
    has_numbers = [any(map(looks_like_number, row)) for row in rows]
    if has_numbers[0] or not any(has_numbers):
        return False
    return not any(
        cell.strip().lower() in MISSING_WORDS | {"true", "false"} for cell in rows[0]
    )


# ---- uneven lines --------------------------------------------------------------------------------


def _explain_sample(lines: list[str], delimiter: str | None = None) -> str:
    """Return an error message about a line with an unusual number of cells."""
    if delimiter is None:
        counts = {mark: sum(mark in line for line in lines) for mark in _DELIMITERS}
        delimiter = max(counts, key=counts.__getitem__)
        if not counts[delimiter]:
            delimiter = BLANKS
    sizes = [len(row) for row in split_cells(lines, delimiter)]
    usual = Counter(sizes[1:] or sizes).most_common(1)[0][0]
    for number, size in enumerate(sizes, 1):
        if size != usual:
            return _describe_line(number, size, usual, delimiter)
    return f"the lines cannot be split by {_name_delimiter(delimiter)}; {_ADVICE}"


def explain_uneven_lines(path: Path, dialect: Dialect) -> str | None:
    """Return a message about the first line with a wrong number of cells, or None."""
    expected = len(dialect.first_line)
    record = ""
    is_first = True
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            record += line
            if not record.strip() or has_open_quote(record):
                continue
            size = sum(map(len, split_cells([record], dialect.delimiter)))
            if size > expected or (size < expected and dialect.delimiter == BLANKS):
                return _describe_line(number, size, expected, dialect.delimiter)
            record = ""
            if is_first:
                expected += dialect.row_names + dialect.trailing
                is_first = False
    if record.strip():
        return "a quotation mark is not closed"
    return None


def _describe_line(number: int, size: int, expected: int, delimiter: str) -> str:
    cells = format_count(size, "cell")
    return (
        f"line {number} has {cells} split by {_name_delimiter(delimiter)}, "
        f"other lines have {expected}; {_ADVICE}"
    )


def _name_delimiter(delimiter: str) -> str:
    if delimiter == BLANKS:
        return "spaces"
    return repr(delimiter)
