"""How a text file separates its columns: delimiter, decimal mark, header line, row names.

Files are CSV in name only: semicolons and decimal commas where the locale has them, tabs, aligned blanks, no header,
row names without a heading as R writes them. `sniff` splits the first lines by every delimiter, scores each reading by
how well its lines agree with the first one and by how much of the text becomes numbers, and takes the best. If two
readings are equally good, the error shows both and the options that settle it.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.io.numbers import MISSING_WORDS, choose_decimal, is_number, is_quantity, looks_like_number
from dempster.io.text import BLANKS, MAX_LINE_CHARACTERS, has_open_quote, open_text, split_cells

_DELIMITERS = (",", ";", "\t", "|")
_ONE_COLUMN = "\x1f"  # as a delimiter: a character that no text file holds
_SAMPLE_LINES = 100
_FRACTION = re.compile(r"\s*[-+]?\d*,(\d+([eE][-+]?\d+)?)\s*")
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_SEVERAL_BLANKS = re.compile(r"\S(\t|\s{2,})\S")
_REMEDY = (
    "remove lines of remarks, fill missing cells, put names in quotation marks, or set delimiter if something else "
    "separates the columns (delimiter=';' for a single column)"
)
_OTHER_FILES = (
    (re.compile(r'\s*"?sep=.?"?\s*'), "its first line is a remark for spreadsheets: remove it"),
    (re.compile(r'\s*[\[{]\s*(["\[{].*)?', re.DOTALL), "this is JSON and not a table in text: write it as CSV"),
    (
        re.compile(r"\s*<(\?xml|!doctype|html|head|body|table|svg)\b.*", re.DOTALL | re.IGNORECASE),
        "this is HTML or XML and not a table in text: write it as CSV",
    ),
)
_RULE = re.compile(r"[\s|+:]*(?:[-=*_~]{3,}[\s|+:]*)+")
_OTHER_QUOTES = re.compile(r"\s*['‘“„«].*['’”“»]\s*")


@dataclass(frozen=True)
class Dialect:
    """Layout of a text file.

    Attributes
    ----------
    delimiter : str
        A character; a blank stands for runs of blanks and tabs.
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


@dataclass(frozen=True)
class _Reading:
    """The first lines split by one delimiter; ``level`` and then ``coverage`` tell which reading is better.

    ``level`` is 2 if all lines have as many cells as the first, two or more; 1 if each has the name of its row besides,
    or all have one cell; 0 if some are shorter. ``coverage`` is the share of characters that belong to numbers.
    """

    delimiter: str
    cells: list[list[str]]
    level: int
    coverage: float
    row_names: bool
    trailing: bool

    @property
    def score(self) -> tuple[int, float, bool]:
        is_named = self.level == 2 and len(self.cells[0]) > 1 and not any(map(looks_like_number, self.cells[0]))
        return self.level, self.coverage, is_named


def sniff(
    path: str | os.PathLike[str],
    header: bool | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
) -> Dialect:
    """Find the layout of a text file from its first lines; what is not None is not questioned."""
    lines = _first_lines(path)
    if header is None:
        _refuse_remark(lines)
    reading = _best_reading(lines, header, delimiter, decimal)
    cells = reading.cells
    first = [cell.strip() for cell in cells[0]]
    if header is None:
        header = has_header(first, cells[1:], starts_with_remark=reading.row_names or lines[0].startswith("#"))
    if decimal is None:
        columns = [[cell or "" for cell in column] for column in zip_longest(*(cells[1:] or cells))]
        decimal = choose_decimal(reading.delimiter, columns)
    return Dialect(reading.delimiter, decimal, header, first, header and reading.row_names, header and reading.trailing)


def _first_lines(path: str | os.PathLike[str]) -> list[str]:
    """Read the first lines that are not blank, to the end of a cell in quotation marks."""
    with open_text(path) as file:
        following = iter(lambda: file.readline(MAX_LINE_CHARACTERS), "")
        lines = [line for line in islice(following, _SAMPLE_LINES) if line.strip()]
        while has_open_quote("".join(lines)) and (line := next(following, "")) and len(lines) < 2 * _SAMPLE_LINES:
            lines.append(line)
    with open_text(path) as file:
        while block := file.read(1 << 20):
            if "\0" in block:
                raise InvalidInputError("this is not a text file, it holds zero bytes")
    if not lines or lines == ["\ufeff"]:
        raise InvalidInputError("the file is empty")
    for pattern, words in _OTHER_FILES:
        if pattern.fullmatch(lines[0]):
            raise InvalidInputError(words)
    rule = next((line.strip() for line in lines if len(line.strip()) > 3 and _RULE.fullmatch(line)), None)
    if rule is not None:
        raise InvalidInputError(f"its line {rule[:40]} is drawn and holds no cells: remove lines of remarks")
    return lines


# ---- delimiters -----------------------------------------------------------------------------------------------------


def _best_reading(lines: list[str], header: bool | None, delimiter: str | None, decimal: str | None) -> _Reading:
    if delimiter is not None:
        others = [other for other in _DELIMITERS if other in lines[0]]
        if delimiter not in lines[0] and others and not looks_like_number(lines[0]):
            raise InvalidParameterError(
                "delimiter", message=f"delimiter={delimiter!r} is not in its first line, which has {others[0]!r}"
            )
        reading = _read(lines, delimiter, header, decimal)
        if reading is None:
            raise InvalidInputError(_explain_sample(lines, delimiter))
        return reading
    quoted = any('"' in line for line in lines)
    possible = [other for other in _DELIMITERS if other != decimal or quoted]
    found = {other: _read(lines, other, header, decimal) for other in possible}
    readings = [reading for reading in found.values() if reading is not None and len(reading.cells[-1]) > 1]
    blanks = _read(lines, BLANKS, header, decimal)
    has_tabs = any(reading.delimiter == "\t" for reading in readings)  # inside whose cells blanks may stand
    if blanks is not None and len(blanks.cells[-1]) > 1 and not _has_delimiters(blanks.cells) and not has_tabs:
        readings.append(blanks)
    column = _read_one_column(lines, header, decimal, is_rivalled=any(reading.level == 2 for reading in readings))
    if column is not None:
        readings.append(column)
    if not readings:
        raise InvalidInputError(_explain_sample(lines))
    readings = [reading for reading in readings if not _has_stray_quotes(reading.cells)] or readings
    best = max(readings, key=lambda reading: reading.score)
    rivals = [reading for reading in readings if reading is not best and _is_as_good(reading, best)]
    if best.coverage == 0 and not any('"' in line for line in lines[1:]):  # blanks inside words separate no columns
        rivals = [reading for reading in rivals if reading.delimiter != BLANKS]
        if best.delimiter == BLANKS and rivals:
            best = rivals.pop()
    if rivals:
        raise _ambiguous(lines, best, rivals[0])
    if best.delimiter == _ONE_COLUMN and best.coverage < 1 and _may_be_columns_between_blanks(lines):
        raise InvalidInputError(_explain_sample(lines, BLANKS))
    if best.delimiter == _ONE_COLUMN and best.coverage < 1 and quoted:
        inside = [row[0] for row in best.cells]
        inner = [_read(inside, other, header, decimal) for other in _DELIMITERS]
        if any(reading is not None and reading.level == 2 and reading.coverage > 0 for reading in inner):
            raise InvalidInputError(f"its lines, such as {lines[0].strip()[:40]}, are in quotation marks as a whole")
    return best


def _read(lines: list[str], delimiter: str, header: bool | None, decimal: str | None) -> _Reading | None:
    """Split the lines; None if they have more cells than the first one and its row names explain."""
    cells = split_cells(lines, delimiter)
    if not cells:
        raise InvalidInputError("the file is empty")
    sizes = [len(row) for row in cells]
    first, width = sizes[0], max(sizes[1:], default=sizes[0])
    trailing = len(cells) > 1 and cells[0][-1].strip() != "" and all(row[-1].strip() == "" for row in cells[1:])
    trailing = trailing and width in (first + 1, first + 2)
    row_names = width == first + 1 + trailing
    if set(sizes[1:]) <= {width} and width == first + trailing + row_names:
        if row_names and not _may_be_row_names([row[0].strip() for row in cells[1:]], header):
            return None
        level = 2 if width > 1 and not row_names else 1
    elif width == first and delimiter != BLANKS:
        level = 0
    else:
        return None
    if width > 1 and all(map(_OTHER_QUOTES.fullmatch, cells[0])):
        mark = cells[0][0].strip()[0]
        if any(cell.strip().startswith(mark) for row in cells[1:] for cell in row):
            raise InvalidInputError(
                f'its cells, such as {cells[0][0].strip()}, are between other quotation marks than ": replace them'
            )
    return _Reading(delimiter, cells, level, _coverage(cells, decimal, row_names), row_names, trailing)


def _may_be_row_names(names: list[str], header: bool | None) -> bool:
    """Whether first cells differ and are words or counted; fractions name rows only if the header is certain."""
    if len(set(names)) < len(names) or any(delimiter in name for name in names for delimiter in (";", "\t", "|")):
        return False
    return header is not None or not all(map(looks_like_number, names)) or all(map(str.isdigit, names))


def _coverage(cells: Sequence[Sequence[str]], decimal: str | None, row_names: bool) -> float:
    body = [cell.strip() for row in cells[1:] or cells for cell in row[row_names:]]
    body = [cell for cell in body if cell.lower() not in MISSING_WORDS]
    marks = [decimal] if decimal else [".", ","]
    found = max(sum(len(cell) for cell in body if is_number(cell, mark)) for mark in marks)
    return found / max(sum(map(len, body)), 1)


def _has_stray_quotes(cells: Sequence[Sequence[str]]) -> bool:
    return any(cell.count('"') % 2 for row in cells for cell in row)


def _has_delimiters(cells: Sequence[Sequence[str]]) -> bool:
    """Whether cells between blanks end with a delimiter: in the first line, or in all others."""
    ends = [any(cell.endswith(_DELIMITERS) for cell in row[:-1]) for row in cells]
    return ends[0] or (len(ends) > 1 and all(ends[1:]))


def _read_one_column(lines: list[str], header: bool | None, decimal: str | None, is_rivalled: bool) -> _Reading | None:
    """Read each line as a single cell; None if delimiters show that there are several."""
    cells = split_cells(lines, _ONE_COLUMN)
    values = [row[0].strip() for row in cells if row[0].strip().lower() not in MISSING_WORDS]
    whole = [_QUOTED.fullmatch(line.strip()) for line in lines]
    if any('"' in line and not match for line, match in zip(lines, whole, strict=True)):
        return None  # quotation marks inside a line show that it has several cells
    bare = ["" if match else line for line, match in zip(lines, whole, strict=True)]
    has_name = not looks_like_number(cells[0][0]) and cells[0][0].strip().lower() not in MISSING_WORDS
    body = values[has_name:]
    if any(delimiter in line for line in bare for delimiter in _DELIMITERS):
        marks = [decimal] if decimal else [".", ","]
        is_column = bool(body) and any(all(is_number(cell, mark) for cell in body) for mark in marks)
        counts = {delimiter: sum(delimiter in line for line in bare) for delimiter in _DELIMITERS}
        is_text = counts[","] == 0 and 2 * max(counts.values()) < len(lines)
        if not (is_column or is_text) or (has_name and any(delimiter in bare[0] for delimiter in _DELIMITERS)):
            return None
    level = 1 if has_name or not any("," in line for line in bare) else 0
    if is_rivalled and (all(map(is_quantity, body)) or (not has_name and _are_fractions(values))):
        level = 2
    return _Reading(_ONE_COLUMN, cells, level, _coverage(cells, decimal, False), False, False)


def _are_fractions(values: Sequence[str]) -> bool:
    """Whether the commas of a column without a name mark decimals rather than separate two columns of whole numbers.

    They do if zeros come first behind them, as in 1,05; with an exponent; if two digits or more, or nothing but zeros,
    stand behind each of several; and perhaps if there is a single line, which tells nothing.
    """
    found = [_FRACTION.fullmatch(value) for value in values]
    digits = [match[1] for match in found if match]
    if len(digits) < len(values):
        return False
    if len(digits) == 1 or any(re.match(r"0\d|\d+[eE]", part) for part in digits):
        return True
    same = len(digits) > 2 and len(set(map(len, digits))) == 1
    return same and (len(digits[0]) > 1 or set(digits) == {"0"})


def _is_as_good(reading: _Reading, best: _Reading) -> bool:
    if reading.score == best.score:
        return True
    # Where the first cells would name the rows, different delimiters give different names, however much is numbers.
    return reading.level == best.level and reading.row_names and best.row_names and reading.coverage > 0


def _ambiguous(lines: Sequence[str], best: _Reading, rival: _Reading) -> InvalidParameterError:
    """Show both readings of a line, and the options that choose between them."""
    options = []
    for reading, other in ((best, rival), (rival, best)):
        if reading.delimiter != _ONE_COLUMN:
            options.append(("delimiter", reading.delimiter))
        else:
            options.append(
                ("decimal", ",") if other.delimiter == "," else ("delimiter", "|" if other.delimiter == ";" else ";")
            )
    shown = []
    for reading in (best, rival):
        row = [cell.strip() for cell in reading.cells[-1]]
        shown.append(" and ".join(row[:4]) + (" ..." if len(row) > 4 else ""))
    (name, value), (other_name, other_value) = options
    return InvalidParameterError(
        name,
        message=f"its line {lines[-1].strip()[:60]} can be read as {shown[0]} with {name}={value!r} or as {shown[1]} "
        f"with {other_name}={other_value!r}: set one of them",
        settings={name: (value, other_value)} if name == other_name else {name: value, other_name: other_value},
    )


def _may_be_columns_between_blanks(lines: Sequence[str]) -> bool:
    """Whether lines that blanks split unevenly look like columns all the same."""
    rows = [split_cells([line], BLANKS)[0] for line in lines]
    several = [len(row) > 1 and all(map(looks_like_number, row)) for row in rows]
    several = [is_row and not is_quantity(line) for is_row, line in zip(several, lines, strict=True)]
    fitting = sum(len(row) == len(rows[0]) > 1 for row in rows[1:])
    longer = sum(len(row) > len(rows[0]) > 1 and any(map(looks_like_number, row)) for row in rows[1:])
    return (
        several[0]
        or sum(several) > 1
        or 2 * max(fitting, longer) > len(rows)
        or all(map(_SEVERAL_BLANKS.search, lines))
    )


# ---- header ---------------------------------------------------------------------------------------------------------


def has_header(first: Sequence[str], rows: Sequence[Sequence[str]], starts_with_remark: bool = False) -> bool:
    """Whether the first row names the columns; raise InvalidParameterError where nobody can tell.

    Numbers and words for missing values are no names; but whole numbers beside an empty corner are if they are 0, 1,
    2, ..., as pandas writes them.
    """
    numbers = [looks_like_number(cell) for cell in first]
    below = [row[0].strip() for row in rows]
    corner = len(first) > 1 and first[0] == "" and all(map(str.isdigit, first[1:])) and len(set(first)) == len(first)
    if corner and all(below) and 1 < len(below) == len(set(below)):
        if first[1:] == [str(j) for j in range(max(len(first) - 1, 2))]:
            return True
        raise _ambiguous_header(first[1])
    if all(number or cell.lower() in MISSING_WORDS for number, cell in zip(numbers, first, strict=True)):
        return False
    if len(first) > 1 and first[0] and not any(first[1:]):
        raise InvalidParameterError(
            "header",
            message=f"its first row must name the columns, and has {first[0]!r} only: remove remarks, or "
            "set header=True",
            settings={"header": True},
        )
    if any(numbers):
        raise _ambiguous_header(first[numbers.index(True)])
    if starts_with_remark and _starts_with_names(rows):
        raise InvalidParameterError(
            "header",
            message="its first line may be a remark and its second name the columns: remove the first, or set "
            "header=True if it names the columns",
            settings={"header": True},
        )
    words = [(word, j) for j, word in enumerate(first) if word]
    again = [word for word, j in words if any(len(row) == len(first) and row[j].strip() == word for row in rows)]
    if again and 2 * len(again) >= len(words):  # categories occur again, names do not
        raise _ambiguous_header(again[0])
    return True


def _ambiguous_header(cell: str) -> InvalidParameterError:
    return InvalidParameterError(
        "header",
        message=f"its first line, which holds {cell}, can be read as names of columns with header=True or as a row "
        "with header=False: set one of them",
        settings={"header": (True, False)},
    )


def _starts_with_names(rows: Sequence[Sequence[str]]) -> bool:
    """Whether a line without numbers and missing values stands above lines with numbers."""
    has_numbers = [any(map(looks_like_number, row)) for row in rows]
    if len(rows) < 2 or has_numbers[0] or not any(has_numbers):
        return False
    return not any(cell.strip().lower() in MISSING_WORDS | {"true", "false"} for cell in rows[0])


def _refuse_remark(lines: list[str]) -> None:
    """Refuse a first line that begins with # and has other cells than all others, as numpy.savetxt writes it."""
    if not lines[0].startswith("#"):
        return
    sizes = [[len(row) for row in split_cells(lines, delimiter)] for delimiter in (*_DELIMITERS, BLANKS)]
    even = [each for each in sizes if len(each) > 1 and len(set(each[1:])) == 1 and each[1] > 1]
    if even and all(each[0] != each[1] for each in even):
        raise InvalidInputError(
            f"its first line, {lines[0].strip()}, begins with a number sign and has other cells than the lines below: "
            "remove the sign if it names the columns, or the line if it is a remark"
        )


# ---- uneven lines ---------------------------------------------------------------------------------------------------


def _explain_sample(lines: list[str], delimiter: str | None = None) -> str:
    """Name a line that has other cells than most."""
    if delimiter is None:
        possible = [each for each in _DELIMITERS if any(each in line for line in lines)] or [BLANKS]
        delimiter = max(possible, key=lambda each: sum(each in line for line in lines))
    sizes = [len(row) for row in split_cells(lines, delimiter)]
    usual = Counter(sizes[1:] or sizes).most_common(1)[0][0]
    odd = next((k for k, size in enumerate(sizes) if size != usual), None)
    if odd is None:
        return f"its lines cannot be read as rows between {_in_words(delimiter)}: {_REMEDY}"
    return f"line {odd + 1} has {sizes[odd]} cells between {_in_words(delimiter)}, others have {usual}: {_REMEDY}"


def explain_uneven_lines(path: str | os.PathLike[str], dialect: Dialect) -> str | None:
    """Name the first line of a file with too many cells, or too few between blanks; None if there is none."""
    width, record, is_first = len(dialect.first_line), "", True
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            record += line
            if not record.strip() or has_open_quote(record):
                continue
            size = sum(map(len, split_cells([record], dialect.delimiter)))
            expected = width + ((dialect.row_names + dialect.trailing) if not is_first else 0)
            if size > expected or (size < expected and dialect.delimiter == BLANKS):
                words = _in_words(dialect.delimiter)
                return f"line {number} has {size} cells between {words}, those before have {expected}: {_REMEDY}"
            record, is_first = "", False
    return "a quotation mark is opened and never closed" if record.strip() else None


def _in_words(delimiter: str) -> str:
    return "blanks" if delimiter == BLANKS else repr(delimiter)
