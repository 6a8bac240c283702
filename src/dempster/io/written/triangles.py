"""Matrices of which a text file holds one triangle: lines of 1, 2, 3, ... cells, or of as many as are left."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_memory, shown
from dempster.io.written.cells import blank_cells, split_cells
from dempster.io.written.marks import decimal_mark, is_number, looks_like_number
from dempster.io.written.numbers import MISSING_WORDS
from dempster.io.written.text import open_text

__all__ = ["Triangle", "read_triangle"]

_DELIMITERS = (",", ";", "\t", "|", " ")
_CODE = re.compile(r"0\d+")
_TAKES = 20  # bytes for each character, while cells are text
_LOOKED_AT = 8  # lines that tell whether to read the others
_MANY = 1000  # cells that tell what separates them


@dataclass(frozen=True)
class Triangle:
    """A square matrix made of one of its halves.

    Attributes
    ----------
    names : list of str or None
        Of the objects, if the file names them.
    values : (n, n) array
    """

    names: list[str] | None
    values: np.ndarray


def read_triangle(
    path: str | os.PathLike[str], header: bool | None = None, delimiter: str | None = None, decimal: str | None = None
) -> Triangle | None:
    """The matrix, if each line has one cell more than the one before, or each one less; else None.

    The first line may name the columns, or tell how many objects there are, and the first cells may name the rows. The
    diagonal may be left out, which its zeros would show; it is refused where nobody can tell whether it is.
    """
    with open_text(path) as file:
        first = list(islice((line for line in file if line.strip()), _LOOKED_AT))
        if not _triangles(first, header, delimiter, decimal, whole=False):
            return None
        lines = first + [line for line in file if line.strip()]
    check_memory(_TAKES * sum(map(len, lines)), "reading a triangle as text", "save the matrix as .npy")
    found = _triangles(lines, header, delimiter, decimal, whole=True)
    if "\t" in found:
        found.pop(" ", None)
    if len(found) > 1:
        options = " or ".join(f"delimiter={delimiter!r}" for delimiter in found)
        raise InvalidInputError(f"its lines, those of a triangle, can be split in more than one way: set {options}")
    return _square(found.popitem()[1], decimal) if found else None


@dataclass(frozen=True)
class _Rows:
    """A reading of the lines: the names of columns, none if there are none, and the cells below them."""

    delimiter: str
    names: list[str]
    cells: list[list[str]]


def _triangles(
    lines: Sequence[str], header: bool | None, delimiter: str | None, decimal: str | None, whole: bool
) -> dict[str, _Rows]:
    """Readings of the lines as a triangle, by their delimiters; with names of columns if none is without, or if they
    are those of the rows."""
    found: dict[str, _Rows] = {}
    for rows in _readings(lines, header, delimiter):
        first, above = [row[0] for row in rows.cells], _above(rows)
        preferred = rows.delimiter not in found or (first in (above, above[1:]) and _share_names(above, first))
        if preferred and _steps(rows) and _holds_numbers(rows, decimal, whole):
            found[rows.delimiter] = rows
    return found


def _readings(lines: Sequence[str], header: bool | None, delimiter: str | None) -> list[_Rows]:
    """What the lines may be, with names of columns or without; nothing where a delimiter splits all alike."""
    found = []
    for candidate in _DELIMITERS if delimiter is None else (delimiter,):
        cells = _cells(lines, candidate)
        if {len(row) for row in cells} == {1}:
            continue
        if len({len(row) for row in cells}) == 1:
            return []
        if all(row[-1] == "" for row in cells):  # every line ends with a delimiter
            cells = [row[:-1] for row in cells]
        found += [_Rows(candidate, [], cells)] * (header is not True)
        found += [_Rows(candidate, cells[0], cells[1:])] * (header is not False)
    return found


def _cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    if any('"' in line for line in lines):
        split = blank_cells(lines) if delimiter == " " else split_cells(lines, delimiter)
    else:
        split = [line.split() if delimiter == " " else line.strip("\r\n").split(delimiter) for line in lines]
    return [[cell.strip() for cell in row] for row in split]


def _steps(rows: _Rows) -> int:
    """1 if the lines become longer by a cell each, -1 if shorter, else 0."""
    sizes = [len(row) for row in rows.cells]
    steps = {after - before for before, after in pairwise(sizes)}
    return steps.pop() if steps in ({1}, {-1}) else 0


def _holds_numbers(rows: _Rows, decimal: str | None, whole: bool) -> bool:
    """Whether all cells but names are numbers or missing; of a ``whole`` file, whether its shortest line has one cell,
    or a name and a cell, and names of columns that are numbers are as many as the objects."""
    marks = [decimal] if decimal else ["."] if rows.delimiter == "," else [".", ","]
    known = [cell for row in rows.cells for cell in row[1:] if cell.lower() not in MISSING_WORDS]
    if not any(all(is_number(cell, mark) for cell in known[:_MANY]) for mark in marks):
        return False
    if not whole:
        return True
    m, above = len(rows.cells), _above(rows)
    first = [row[0] for row in rows.cells]
    if any(map(looks_like_number, above)) and not _share_names(above, first) and len(above) not in (m, m + 1):
        return False
    return min(map(len, rows.cells)) <= 2


def _above(rows: _Rows) -> list[str]:
    """Names in the first line, without an empty corner; the number of objects is none."""
    return [] if rows.names == [str(len(rows.cells))] else rows.names[rows.names[:1] == [""] :]


def _share_names(above: Sequence[str], first: Sequence[str]) -> bool:
    """Whether lines begin with the names above them: all, all but a corner, or but one at either end."""
    if len(set(first)) < len(first) or len(set(above)) < len(above):
        return False
    return first in (above, above[1:], above[:-1]) or (len(above) > 1 and above[1:] in (first[:-1], first[1:]))


def _square(rows: _Rows, decimal: str | None) -> Triangle:
    """The lines as those of a lower triangle; an upper one is that of the objects in the opposite order."""
    upper, above = _steps(rows) < 0, _above(rows)
    cells = rows.cells[::-1] if upper else rows.cells
    begun = [row[0] for row in cells]
    zeros = len(cells[0]) == 1 or all(_is_zero(row, upper) for row in cells)
    corner = zeros and above[1:] == [row[0] for row in rows.cells]
    above = above[corner:][::-1] if upper else above[corner:]
    named = len(cells[0]) > 1 or not any(map(_is_value, begun)) or (bool(above) and _share_names(above, begun))
    first = begun if named else None
    cells = [row if first is None else row[1:] for row in cells]
    mark = decimal or _mark(rows.delimiter, [cell for row in cells for cell in row])
    values = [[_value(cell, mark) for cell in (row[::-1] if upper else row)] for row in cells]
    names, diagonal = _objects(first, above, values, upper)
    n = len(values) + (not diagonal and len(values[0]) == 1)
    out = np.zeros((n, n))
    out[np.tril_indices(n, 0 if diagonal else -1)] = [value for row in values for value in row]
    out = np.tril(out) + np.tril(out, -1).T
    if upper:
        return Triangle(None if names is None else names[::-1], out[::-1, ::-1].copy())
    return Triangle(names, out)


def _is_value(cell: str) -> bool:
    """A number; but one that begins with zeros, as 007, is a name."""
    return looks_like_number(cell) and not _CODE.fullmatch(cell)


def _is_zero(row: Sequence[str], upper: bool) -> bool:
    """Whether the diagonal of a row that begins with a name is zero."""
    return re.fullmatch(r"0*[.,]?0*", row[1 if upper else -1]) is not None


def _objects(
    first: list[str] | None, above: list[str], values: Sequence[Sequence[float]], upper: bool
) -> tuple[list[str] | None, bool]:
    """The names of the objects, and whether the lines hold the diagonal."""
    m, zeros = len(values), bool(values[0]) and all(row[-1] == 0 for row in values)
    if first is not None and not values[0]:  # the first object has a name and no cell
        return first, False
    if first is not None and (above == first or (not above and zeros)):
        return first, True
    if first is not None and len(above) == m and above[1:] == first[:-1]:  # as R prints distances
        return [above[0], *first], False
    if first is not None and len(above) == m + 1 and above[1:] == first:
        return above, False
    if first is None and len(above) in (m, m + 1):
        return above, len(above) == m
    ends = [row[-1 if upper else 0] for row in values]
    counted = _are_counted(ends) or (upper and _are_counted(values[-1]))
    if first is None and not above and (zeros or not counted):
        return None, zeros
    raise InvalidInputError(
        "its lines have a cell more each, or less, as those of a triangle of a square matrix, but do not tell which "
        "objects they are: write the zeros of its diagonal, and the name of each object before its line"
    )


def _are_counted(numbers: Sequence[float]) -> bool:
    """Whether numbers follow each other as those of objects do, so that they may be names."""
    return len(numbers) > 1 and {after - before for before, after in pairwise(numbers)} in ({1}, {-1})


def _mark(delimiter: str, cells: Sequence[str]) -> str:
    return decimal_mark(delimiter, cells) if any("," in cell for cell in cells) else "."


def _value(cell: str, decimal: str) -> float:
    try:
        return float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        if cell.lower() in MISSING_WORDS:
            return np.nan
        raise InvalidInputError(f"{shown(cell)} stands where a number must be") from None
