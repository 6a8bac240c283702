"""Lines of a text file that are no rows of a table, and files that are no tables; they are refused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.io.written.cells import blank_cells, is_regular, split_cells
from dempster.io.written.marks import looks_like_number
from dempster.io.written.numbers import is_one_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "refuse_columns_between_others",
    "refuse_first_again",
    "refuse_lines_of_remarks",
    "refuse_names_again",
    "refuse_other_text",
    "refuse_padded_title",
]

_REMARK = re.compile(r"\s*(#+\s.*|[-=*_~]{4,})\s*", re.DOTALL)
_SEPARATOR = re.compile(r'\s*"?sep=.?"?\s*')
_JSON = re.compile(r'\s*[\[{]\s*(["\[{].*)?', re.DOTALL)
_MARKUP = re.compile(r"\s*<(\?xml|!doctype|html|head|body|table|svg)\b.*", re.DOTALL | re.IGNORECASE)
_RULE = re.compile(r"[\s|+:]*(?:[-=*_~]{3,}[\s|+:]*)+")
_WHOLE_LINE = re.compile(r'\s*"((?:[^"]|"")*)"\s*')
_OTHER_MARKS = re.compile(r"\s*(?:'[^']*'|‘[^’]*’|“[^”]*”|„[^“”]*[“”]|«[^»]*»)\s*")
_BETWEEN = (",", ";", "\t", "|")
_RARE = ("^", "~", ":")  # between cells of tables of few programs


def refuse_other_text(lines: Sequence[str]) -> None:
    """What begins as other kinds of file do, lines that are drawn, and quotation marks that no CSV has."""
    if _SEPARATOR.fullmatch(lines[0]):
        raise InvalidInputError(f"its first line, {lines[0].strip()}, is a remark for spreadsheets: remove it")
    for pattern, kind in ((_JSON, "JSON"), (_MARKUP, "HTML or XML")):
        if pattern.fullmatch(lines[0]):
            raise InvalidInputError(f"this is {kind} and not a table in text: write it as CSV")
    rule = next((line.strip() for line in lines if len(line.strip()) > 3 and _RULE.fullmatch(line)), None)
    if rule is not None:
        raise InvalidInputError(f"its line {rule[:40]} is drawn and holds no cells: remove lines of remarks")
    _refuse_other_marks(lines)
    _refuse_whole_lines(lines)


def _refuse_other_marks(lines: Sequence[str]) -> None:
    """Cells of the first line, and some below it, between marks that stay part of the cells."""
    for delimiter in _BETWEEN:
        first, *others = (line.split(delimiter) for line in lines)
        marked = len(first) > 1 and all(map(_OTHER_MARKS.fullmatch, first))
        if marked and any(cell.strip()[:1] == first[0].strip()[:1] for row in others for cell in row):
            raise InvalidInputError(
                f'the cells of its lines, as {first[0].strip()}, are between other quotation marks than ": replace '
                "them, or remove them"
            )


def _refuse_whole_lines(lines: Sequence[str]) -> None:
    """Each line in quotation marks as if it were one cell, as a table that was written twice has them."""
    inside = [match[1] for match in map(_WHOLE_LINE.fullmatch, lines) if match]
    if len(inside) < max(len(lines), 2) or looks_like_number(inside[0]):
        return
    rows = [line + "\n" for line in inside]
    for cells in (split_cells(rows, delimiter) for delimiter in _BETWEEN):
        numbers = any(looks_like_number(cell) for row in cells[1:] for cell in row)
        if is_regular(cells) and len(cells[0]) == len(cells[-1]) and numbers:
            raise InvalidInputError(
                f"each of its lines is in quotation marks as a whole, as {lines[0].strip()[:40]}: remove these"
            )


def refuse_columns_between_others(lines: Sequence[str]) -> None:
    """Of lines that no delimiter splits alike: numbers between blanks among lines that are none, names with
    blanks in them above columns between more blanks, and cells between marks that few programs write."""
    several = [len(row) > 1 and all(map(looks_like_number, row)) for row in blank_cells(lines)]
    several = [is_row and not is_one_number(line) for is_row, line in zip(several, lines, strict=False)]
    if len(several) == len(lines) and any(several) and (several[0] or sum(several) > 1):
        raise InvalidInputError(
            f"its line {lines[several.index(True)].strip()[:40]} holds several numbers between blanks, others have "
            "more cells or fewer: remove lines of remarks, fill cells that are missing, or set delimiter=';' for one "
            "column"
        )
    apart = [re.split(r"\s{2,}|\t", line.strip()) for line in lines]
    if is_regular(apart) and len(apart[0]) == len(apart[-1]) and any(map(looks_like_number, apart[-1])):
        raise InvalidInputError(
            f"its lines may be {len(apart[0])} columns between runs of blanks, of which some names hold blanks, as "
            f"{apart[0][0]}: put these names in quotation marks, or set delimiter=';' for one column"
        )
    for delimiter in _RARE:
        cells = split_cells(lines, delimiter)
        body = [cell for row in cells[1:] for cell in row]
        if is_regular(cells) and len(cells[0]) == len(cells[-1]) and body and all(map(looks_like_number, body)):
            raise InvalidInputError(
                f"its lines may be split at {delimiter!r}: set delimiter={delimiter!r}, or delimiter=';' for a single "
                "column"
            )


def refuse_padded_title(cells: Sequence[Sequence[str]]) -> None:
    """A title that was filled up with empty cells to the width of the table below it."""
    first = [cell.strip() for cell in cells[0]]
    if len(first) < 2 or not first[0] or any(first[1:]):
        return
    numbers = [any(map(looks_like_number, row)) for row in cells]
    names = [place for place, row in enumerate(cells) if sum(map(bool, map(str.strip, row))) > 1 and not numbers[place]]
    if names and any(numbers[names[0] :]):
        raise InvalidInputError(
            f"its first line must name the columns, and has {first[0]!r} only: remove remarks, or set header=True"
        )


def refuse_first_again(cells: Sequence[Sequence[str]]) -> None:
    """A first line of words of which half or more stand in their columns again, as categories do and names do not."""
    columns = list(zip(*cells, strict=False)) if len(cells[0]) == len(cells[-1]) else []
    words = [column[0].strip() for column in columns]
    again = [
        word
        for word, column in zip(words, columns, strict=True)
        if word and not looks_like_number(word) and word in map(str.strip, column[1:])
    ]
    if again and 2 * len(again) >= sum(bool(word) and not looks_like_number(word) for word in words):
        raise InvalidInputError(
            f"its first line may name the columns or be an object, as {again[0]} stands in a later line as well: set "
            "header=True or header=False"
        )


def refuse_names_again(cells: Sequence[Sequence[str]]) -> None:
    """Lines with a cell more than the first line, which would name the rows, but stands before several of them."""
    names = [row[0].strip() for row in cells[1:]]
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise InvalidInputError(
            f"its lines have a cell more than the first, {shown(again)}, which stands before several and names no row: "
            "name its column too, or set delimiter if something else separates the columns"
        )


def refuse_lines_of_remarks(table: pd.DataFrame, row_names: bool) -> None:
    """Lines of one cell that are rules or begin with #, where all others have several."""
    rest = table if row_names else table.iloc[:, 1:]
    if rest.shape[1] == 0:
        return
    alone = rest.isna().all(axis=1).to_numpy()
    for cell in (table.index if row_names else table.iloc[:, 0])[alone]:
        if isinstance(cell, str) and _REMARK.fullmatch(cell):
            raise InvalidInputError(f"the line {shown(cell)} has no further cells: remove lines of remarks")
