"""Tables that can be sorted and searched; without a script they are tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dempster.apps.report._page.html import Html, tag

__all__ = ["Column", "table"]

_SEARCHED_FROM = 8  # rows, from which a field to search is worth its place
_SHOWN = 10  # rows, before the rest is asked for


@dataclass(frozen=True)
class Column:
    """A column: its heading, and whether it holds numbers, is wide, can be sorted, or is left out on phones."""

    heading: str
    is_number: bool = False
    is_wide: bool = False
    sorts: bool = True
    is_extra: bool = False

    @property
    def kinds(self) -> str | None:
        """Classes of its cells."""
        words = {"number": self.is_number, "wide": self.is_wide, "extra": self.is_extra}
        return " ".join(word for word, has in words.items() if has) or None


def table(
    name: str, caption: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]], *, shown: int = _SHOWN
) -> Html:
    """A table; a cell is text, HTML, or a pair of what is shown and what it is sorted by.

    Parameters
    ----------
    name : str
        Of the element.
    caption : str
        What it holds, for everyone.
    """
    body = [_row(columns, row, beyond=number >= shown) for number, row in enumerate(rows)]
    found = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", [_head(column) for column in columns])),
        tag("tbody", body),
        class_="sortable stacks" if any(column.is_wide for column in columns) else "sortable",
        id=name,
    )
    region = tag("div", found, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return tag("div", _tools(name, len(body), shown), region, _on_paper(len(body), shown), class_="table")


def _tools(name: str, n_rows: int, shown: int) -> Html | None:
    """A field to search, and a button to see all rows."""
    if n_rows < _SEARCHED_FROM:
        return None
    search = tag("label", "Search ", tag("input", type="search", data_table=name, autocomplete="off"))
    more = tag("button", f"Show all {n_rows:,}", type="button", class_="plain", data_more=name, data_number=n_rows)
    found = tag("span", "", class_="found", id=f"{name}-found", role="status")
    return tag("div", search, more if n_rows > shown else None, found, class_="tools", hidden=True)


def _on_paper(n_rows: int, shown: int) -> Html | None:
    if n_rows <= shown:
        return None
    return tag("p", f"On paper: the first {shown:,} of {n_rows:,} rows.", class_="on-paper")


def _head(column: Column) -> Html:
    return tag("th", column.heading, scope="col", class_=column.kinds, data_sort=column.sorts)


def _row(columns: Sequence[Column], cells: Sequence[Any], *, beyond: bool) -> Html:
    made = []
    for position, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        content, key = cell if isinstance(cell, tuple) else (cell, None)
        element = "th" if position == 0 else "td"
        scope = "row" if position == 0 else None
        label = column.heading if column.is_number else None
        made.append(tag(element, content, scope=scope, class_=column.kinds, data_v=key, data_label=label))
    return tag("tr", made, class_="beyond" if beyond else None)
