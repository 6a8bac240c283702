"""How a text file separates its columns: delimiter, decimal mark, header line, row names.

People's files are CSV in name only: semicolons and decimal commas where the locale has them, tabs, aligned blanks, no
header, row names without a heading as R writes them. The first lines tell which.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

__all__ = ["Dialect", "sniff", "open_text"]

# A comma may also be a decimal mark; the others are hardly ever in every line by chance, so they are tried first.
_DELIMITERS = ("\t", ";", "|", ",")
_BLANKS = r"\s+"
_SAMPLE_LINES = 100
_LONGEST_LINE = 1 << 24
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+([eE][-+]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[-+]?\d+\.\d+([eE][-+]?\d+)?\s*")


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


def open_text(path: str | os.PathLike[str]) -> IO[str]:
    """The file as UTF-8 text (with or without byte order mark), decompressed if its name ends in .gz."""
    if Path(path).suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return open(path, encoding="utf-8-sig", newline="")


def sniff(path: str | os.PathLike[str], header: bool | None = None) -> Dialect:
    """Look at the first lines of a text file; ``header=None`` decides by whether the first line is all numbers."""
    with open_text(path) as file:
        lines = [line for line in islice(iter(lambda: file.readline(_LONGEST_LINE), ""), _SAMPLE_LINES) if line.strip()]
    if not lines:
        raise ValueError("the file is empty")
    if any("\0" in line for line in lines):
        raise ValueError("this is not a text file")
    delimiter, cells = _best_delimiter(lines)
    body = [cell for row in cells[1:] or cells for cell in row]
    comma = delimiter != "," and any(map(_DECIMAL_COMMA.fullmatch, body))
    decimal = "," if comma and not any(map(_DECIMAL_POINT.fullmatch, body)) else "."
    first = [cell.strip() for cell in cells[0]]
    if header is None:
        header = not all(_is_number(cell, decimal) for cell in first)
    longer = header and len(cells) > 1 and all(len(row) == len(first) + 1 for row in cells[1:])
    trailing = longer and all(row[-1].strip() == "" for row in cells[1:])
    return Dialect(delimiter, decimal, header, first, row_names=longer and not trailing, trailing=trailing)


def _best_delimiter(lines: Sequence[str]) -> tuple[str, list[list[str]]]:
    """The delimiter that gives every line the same number of cells, and the cells."""
    for delimiter in _DELIMITERS:
        cells = _split(lines, delimiter)
        if _is_regular(cells):
            return delimiter, cells
    if not any(delimiter in lines[0] for delimiter in _DELIMITERS):
        cells = [line.split() for line in lines]
        if _is_regular(cells):
            return _BLANKS, cells
    # One column, or a ragged file: the commonest delimiter of the first line, so that the reader can name the bad line.
    delimiter = max(reversed(_DELIMITERS), key=lines[0].count)
    return delimiter, _split(lines, delimiter)


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    # the last line may be cut inside quotes, which the csv module forgives
    rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    return [row for row in rows if row]


def _is_regular(cells: Sequence[Sequence[str]]) -> bool:
    """All lines have the same number of cells, two at least; the header may lack that of the row names."""
    sizes = {len(row) for row in cells[1:]} or {len(cells[0])}
    return len(sizes) == 1 and max(sizes) > 1 and max(sizes) - len(cells[0]) in (0, 1)


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return False
    return True
