"""Insert numbers and tables of the reports in `benchmarks` into the pages.

``{{bench: DEFAULTS / Labels / EVCLUS / ARI}}`` is a cell of a table: report, heading of the
section, row and heading of the column. A row is identified by its first cell, or by its first cells
with commas between them. The beginning of a heading or row is sufficient if it is unique. A fifth
part gives the number that follows these words in the cell, or the first number for ``#``:
``{{bench: RESULTS / all / EVCLUS / quality / ARI}}``. ``{{table: QUESTIONS / Mean}}`` is a whole
table. The report ``REPRODUCTION`` is reproduce/RESULTS.md.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MARK = re.compile(r"\{\{(bench|table): (.+?)\}\}")
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?")


class RecordError(LookupError):
    """Raised if a report does not have a number."""


def report_file(name: str) -> Path:
    if name == "REPRODUCTION":
        return ROOT / "reproduce" / "RESULTS.md"
    return ROOT / "benchmarks" / f"{name}.md"


@cache
def sections(name: str) -> dict[str, list[list[str]]]:
    """Return the lines of each table of a report, by the heading of their section."""
    found: dict[str, list[list[str]]] = {}
    tables: list[list[str]] = []
    previous = ""
    for line in report_file(name).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            tables = found.setdefault(line.lstrip("# "), [])
        elif line.startswith("|"):
            if not previous.startswith("|"):
                tables.append([])
            tables[-1].append(line)
        previous = line
    return found


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def find(wanted: str, options: list[str], where: str) -> int:
    """Return the index of the option that is equal to the text, or else of the only one that begins with it."""
    matches = [i for i, option in enumerate(options) if option == wanted]
    matches = matches or [
        i for i, option in enumerate(options) if option.startswith(wanted)
    ]
    if len(matches) != 1:
        raise RecordError(
            f"{where}: {len(matches)} entries begin with {wanted!r}; there are {sorted(set(options))}"
        )
    return matches[0]


def tables_of(report: str, section: str) -> list[list[str]]:
    if not report_file(report).exists():
        raise RecordError(f"there is no report {report}")
    found = sections(report)
    return list(found.values())[find(section, list(found), report)]


def lookup(
    report: str, section: str, row: str, column: str, words: str | None = None
) -> str:
    """Return a cell of a report, or the number that follows the words in it (the first one for ``#``)."""
    where = f"{report} / {section}"
    tables = [
        table
        for table in tables_of(report, section)
        if any(h.startswith(column) for h in cells_of(table[0]))
    ]
    rows = [
        (cells_of(table[0]), cells_of(line)) for table in tables for line in table[2:]
    ]
    first = [cells[0] for _, cells in rows]
    if first.count(row) == 1:
        names = first
    else:
        names = [", ".join(cells) for _, cells in rows]
    heads, cells = rows[find(row, names, f"{where}, tables with the column {column}")]
    cell = cells[find(column, heads, f"{where} / {row}")]
    if words is not None:
        if words == "#":
            after = cell
        else:
            after = cell.partition(words)[2]
        number = NUMBER.search(after)
        if number:
            cell = number[0]
        else:
            cell = ""
    if not cell:
        raise RecordError(f"{where} / {row} / {column} has no value")
    return cell


def insert(text: str) -> str:
    """Replace all marks in a text."""

    def value(mark: re.Match[str]) -> str:
        keys = [key.strip() for key in mark[2].split(" / ")]
        if mark[1] == "table":
            return "\n".join(tables_of(*keys)[0])
        return lookup(*keys)

    return MARK.sub(value, text)


def reports_in(text: str) -> set[str]:
    """Return the names of the reports that a text refers to."""
    return {mark[2].split(" / ")[0].strip() for mark in MARK.finditer(text)}
