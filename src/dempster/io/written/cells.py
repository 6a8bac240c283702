"""Lines of text as rows of cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["blank_cells", "ends_with_delimiter", "is_open", "is_regular", "split_cells"]

_BETWEEN_BLANKS = re.compile(r'"(?:[^"]|"")*"(?=[ \t\r\n]|$)|[^ \t\r\n]+|\r\n|[\r\n]')
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_OPENED = re.compile(r'(?:^|[,;\t| \r\n])"')


def split_cells(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    """Rows of cells, with quotation marks as in CSV, of any length; the last line may be cut inside quotes."""
    text = "".join(lines)
    plain = re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    rows: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        while at < len(text) and text[at] == " ":
            at += 1
        cell = ""
        if text.startswith('"', at):
            end = at + 1
            while (end := text.find('"', end)) >= 0 and text.startswith('""', end):
                end += 2
            end = len(text) if end < 0 else end
            cell, at = text[at + 1 : end].replace('""', '"'), end + 1
        match = plain.match(text, min(at, len(text)))
        assert match is not None
        rows[-1].append(cell + match.group())
        at = match.end()
        if text.startswith(delimiter, at):
            at += 1
            if at == len(text) or text[at] in "\r\n":
                rows[-1].append("")
        if at < len(text) and text[at] in "\r\n":
            at += 2 if text.startswith("\r\n", at) else 1
            rows.append([])
    return [row for row in rows if row and row != [""]]


def blank_cells(lines: Iterable[str]) -> list[list[str]]:
    """Cells between blanks and tabs; the blanks of typographers, which stand inside numbers, separate nothing."""
    rows: list[list[str]] = [[]]
    for cell in _BETWEEN_BLANKS.findall("".join(lines)):
        if cell in ("\n", "\r", "\r\n"):
            rows.append([])
        else:
            rows[-1].append(cell[1:-1].replace('""', '"') if cell.startswith('"') and len(cell) > 1 else cell)
    return [row for row in rows if row]


def is_open(text: str) -> bool:
    """Whether the text ends inside a cell in quotation marks."""
    return _OPENED.search(_QUOTED.sub("", text)) is not None


def is_regular(cells: Sequence[Sequence[str]]) -> bool:
    """All lines have the same number of cells, two at least; the header may lack that of the row names, and the empty
    one behind a delimiter at the end of all others."""
    if not cells:
        return False
    sizes = {len(row) for row in cells[1:]} or {len(cells[0])}
    lacking = max(sizes) - len(cells[0])
    return len(sizes) == 1 and max(sizes) > 1 and (lacking in (0, 1) or (lacking == 2 and ends_with_delimiter(cells)))


def ends_with_delimiter(cells: Sequence[Sequence[str]]) -> bool:
    """Whether the last cells are all empty, but that of the header."""
    return len(cells) > 1 and cells[0][-1].strip() != "" and all(row[-1].strip() == "" for row in cells[1:])
