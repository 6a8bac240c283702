"""HTML that is escaped unless it was made here."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._types import ArrayLike
from dempster.plot.palette import PALETTE

# words written from right to left, which would turn the signs around them
_FROM_THE_RIGHT = re.compile(
    "([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[ \u200c\u200d][\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)*)"
)
_VOID = {"input", "meta", "wbr"}


class Html(str):
    """Text that is HTML already; any other text is escaped when it is put into an element."""


def tag(element: str, *children: Any, **attributes: Any) -> Html:
    """``tag("td", name, class_="number", data_v=3)``: children and attributes are escaped; an attribute that is None or
    False is left out, one that is True has no value."""
    given = "".join(_attribute(name, value) for name, value in attributes.items())
    if element in _VOID:
        return Html(f"<{element}{given}>")
    return Html(f"<{element}{given}>{joined(children)}</{element}>")


def sentence(text: str) -> Html:
    """Text in which words written from right to left are kept apart from the rest."""
    return joined(tag("bdi", part) if k % 2 else part for k, part in enumerate(_FROM_THE_RIGHT.split(text)))


def joined(children: Iterable[Any], between: str = "") -> Html:
    """Elements and texts one after the other; what is None is left out."""
    return Html(between.join(_escaped(child) for child in children if child is not None))


def _escaped(child: Any) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, list | tuple):
        return joined(child)
    return html.escape(str(child), quote=True)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    return f" {written}" if value is True else f' {written}="{html.escape(str(value), quote=True)}"'


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


_MAX_SECTORS = 6


def color_of(cluster: int) -> str:
    """The color of a cluster; after twenty the palette begins again."""
    return PALETTE[cluster % len(PALETTE)]


def swatch(clusters: Sequence[int], size: int = 12) -> Html:
    """A disc in the color of a cluster, in sectors for several, a cross for none."""
    r = size / 2
    if not len(clusters):
        mark = tag("path", d=f"M2 2 L{size - 2} {size - 2} M2 {size - 2} L{size - 2} 2", class_="cross")
    else:
        mark = _disc(r, r, r - 0.5, clusters)
    return tag("svg", mark, class_="swatch", viewBox=f"0 0 {size} {size}", aria_hidden="true")


def answer_bar(certain: int, torn: int, outliers: int) -> Html:
    """All objects as one bar: certain, torn, outlying."""
    total = max(certain + torn + outliers, 1)
    x, parts = 0.0, []
    for number, name in ((certain, "certain"), (torn, "torn"), (outliers, "outlying")):
        width = 1000 * number / total
        if number:
            parts.append(tag("rect", x=_n(x), y=0, width=_n(max(width, 2)), height=14, class_=f"bar-{name}"))
        x += width
    words = f"{certain:,} certain, {torn:,} torn, {outliers:,} outliers"
    return tag(
        "svg",
        parts,
        class_="answer-bar",
        viewBox="0 0 1000 14",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )


def cluster_bar(cluster: int, certain: int, possible: int, most: int) -> Html:
    """The certain objects of a cluster in its color, and those that may belong to it paler."""
    widths = [100 * number / max(most, 1) for number in (certain, possible)]
    color = color_of(cluster)
    paler = tag("rect", x=0, y=0, width=_n(widths[1]), height=10, fill=color, fill_opacity="0.3")
    sure = tag("rect", x=0, y=0, width=_n(widths[0]), height=10, fill=color)
    words = f"{certain:,} certain, {possible - certain:,} more possible"
    return tag(
        "svg",
        paler,
        sure,
        class_="cluster-bar",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        role="img",
        aria_label=words,
    )


def line_chart(
    x: ArrayLike,
    y: ArrayLike,
    *,
    across: str,
    upwards: str,
    words: str,
    marked: int | None = None,
    percent: bool = False,
    low: float | None = None,
    high: float | None = None,
) -> Html:
    """A line with dots; ``marked`` is the position of one that stands out. ``words`` say what it shows."""
    width, height, left, right, top, bottom = 440, 220, 46, 22, 12, 40
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    y0 = float(np.nanmin(ys)) if low is None else low
    y1 = float(np.nanmax(ys)) if high is None else high
    y1 = y1 if y1 > y0 else y0 + 1
    x0, x1 = float(xs.min()), float(xs.max()) if xs.max() > xs.min() else float(xs.min()) + 1
    px = left + (xs - x0) / (x1 - x0) * (width - left - right)
    py = top + (1 - (ys - y0) / (y1 - y0)) * (height - top - bottom)
    marks = []
    for value in nice_ticks(y0, y1, 4):
        at = top + (1 - (value - y0) / (y1 - y0)) * (height - top - bottom)
        marks.append(tag("line", x1=left, x2=width - right, y1=_n(at), y2=_n(at), class_="grid"))
        marks.append(tag("text", f"{value:g}", x=left - 8, y=_n(at + 4), text_anchor="end"))
    for value in nice_ticks(x0, x1, 6, whole=not percent):
        at = left + (value - x0) / (x1 - x0) * (width - left - right)
        label = f"{value:.0%}" if percent else f"{value:g}"
        marks.append(tag("text", label, x=_n(at), y=height - bottom + 18, text_anchor="middle"))
    points = " ".join(f"{_n(a)},{_n(b)}" for a, b in zip(px, py, strict=True))
    dots = [
        tag("circle", cx=_n(a), cy=_n(b), r=5.5 if k == marked else 2.6, class_="dot")
        for k, (a, b) in enumerate(zip(px, py, strict=True))
        if len(xs) <= 40
    ]
    return tag(
        "svg",
        marks,
        tag("polyline", points=points, class_="line"),
        dots,
        tag("text", across, x=_n((left + width - right) / 2), y=height - 6, text_anchor="middle", class_="axis"),
        tag(
            "text",
            upwards,
            x=0,
            y=0,
            transform=f"translate(12 {(height - bottom + top) // 2}) rotate(-90)",
            text_anchor="middle",
            class_="axis",
        ),
        class_="chart",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=words,
    )


def scatter(
    xy: np.ndarray,
    sets: Sequence[Sequence[int]],
    which: np.ndarray,
    names: Sequence[str],
    words: str,
    *,
    one_unit: bool,
) -> Html:
    """The map for paper, and where no script runs: dots for certain objects, sectors for torn ones, crosses."""
    width, height, edge = 900, 560, 14
    low, high = np.nanmin(xy, axis=0), np.nanmax(xy, axis=0)
    span = np.where(high > low, high - low, 1)
    room = np.array([width - 2 * edge, height - 2 * edge])
    if one_unit:  # a step to the right is worth one upwards
        span = room * (span / room).max()
    at = (xy - (low + high) / 2) / span
    px, py = width / 2 + at[:, 0] * room[0], height / 2 - at[:, 1] * room[1]
    certain, torn, crosses = [], [], []
    for x, y, s in zip(px, py, which, strict=True):
        clusters = sets[int(s)]
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        if len(clusters) == 1:
            color = color_of(clusters[0])
            certain.append(Html(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{color}" fill-opacity="0.7"></circle>'))
        elif len(clusters):
            torn.append(_disc(float(x), float(y), 4.5, clusters))
        else:
            d = f"M{x - 4:.0f} {y - 4:.0f}l8 8M{x - 4:.0f} {y + 4:.0f}l8 -8"
            crosses.append(tag("path", d=d, class_="cross"))
    return tag(
        "svg",
        certain,
        torn,
        crosses,
        _cluster_names(px, py, sets, which, names),
        class_="static-map",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=words,
    )


def _cluster_names(
    px: np.ndarray, py: np.ndarray, sets: Sequence[Sequence[int]], which: np.ndarray, names: Sequence[str]
) -> Html:
    """The name of each cluster in the middle of its certain objects that are drawn."""
    out = []
    drawn = np.isfinite(px) & np.isfinite(py)
    for k, name in enumerate(names):
        members = drawn & np.array([tuple(sets[int(s)]) == (k,) for s in which])
        if members.any():
            x, y = np.median(px[members]), np.median(py[members])
            out.append(tag("text", name, x=_n(x), y=_n(y), text_anchor="middle", class_="name"))
    return joined(out)


def _disc(x: float, y: float, r: float, clusters: Sequence[int]) -> Html:
    """A disc in equal sectors."""
    colors = [color_of(k) for k in clusters[:_MAX_SECTORS]]
    if len(colors) == 1:
        return tag("circle", cx=_n(x), cy=_n(y), r=_n(r), fill=colors[0])
    angles = [2 * math.pi * k / len(colors) + math.pi / 2 for k in range(len(colors) + 1)]
    ends = [(x + r * math.cos(a), y - r * math.sin(a)) for a in angles]
    return joined(
        tag(
            "path", d=f"M{_n(x)} {_n(y)}L{_n(a[0])} {_n(a[1])}A{_n(r)} {_n(r)} 0 0 0 {_n(b[0])} {_n(b[1])}Z", fill=color
        )
        for color, a, b in zip(colors, ends[:-1], ends[1:], strict=True)
    )


def nice_ticks(low: float, high: float, number: int, *, whole: bool = False) -> list[float]:
    """Round numbers between two others."""
    step = 10 ** math.floor(math.log10((high - low) / number))
    step *= min((m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= number), default=10)
    if whole:
        step = max(round(step), 1)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _n(value: float) -> str:
    """A coordinate with one digit."""
    return f"{float(value):.1f}".removesuffix(".0")
