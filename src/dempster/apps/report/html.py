"""Create elements, tables and charts as escaped HTML."""

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

# Without isolation, words in right-to-left scripts would change the order of the characters around
# them.
_RIGHT_TO_LEFT = re.compile(
    "([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[ \u200c\u200d][\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)*)"
)
_VOID = {"input", "meta", "wbr"}


class Html(str):
    """Text that is already HTML; functions of this module escape all text of other types."""


def tag(element: str, *children: Any, **attributes: Any) -> Html:
    """Return an element such as ``tag("td", name, class_="number", data_v=3)`` with escaped children and attributes.

    Attributes that are None or False are omitted. Attributes that are True are written without a
    value.
    """
    text = "".join(_attribute(name, value) for name, value in attributes.items())
    if element in _VOID:
        return Html(f"<{element}{text}>")
    return Html(f"<{element}{text}>{join(children)}</{element}>")


def sentence(text: str) -> Html:
    """Return text as HTML in which words in right-to-left scripts are isolated (``<bdi>``)."""
    return join(
        tag("bdi", part) if k % 2 else part for k, part in enumerate(_RIGHT_TO_LEFT.split(text))
    )


def join(children: Iterable[Any]) -> Html:
    """Concatenate HTML and text, which is escaped; None is ignored."""
    return Html("".join(_escape(child) for child in children if child is not None))


def _escape(child: Any) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, list | tuple):
        return join(child)
    return html.escape(str(child), quote=True)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {written}"
    return f' {written}="{html.escape(str(value), quote=True)}"'


_MIN_SEARCHED_ROWS = 8
_N_SHOWN_ROWS = 10


@dataclass(frozen=True)
class Column:
    """A column of a table; a column with ``is_extra`` is hidden on phones."""

    heading: str
    is_number: bool = False
    is_wide: bool = False
    is_sortable: bool = True
    is_extra: bool = False

    @property
    def css_classes(self) -> str | None:
        classes = {"number": self.is_number, "wide": self.is_wide, "extra": self.is_extra}
        return " ".join(name for name, applies in classes.items() if applies) or None


def table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    *,
    shown: int = _N_SHOWN_ROWS,
) -> Html:
    """Return a table.

    A cell is text, HTML, or a pair (content, sort key), and rows after ``shown`` are collapsed.
    """
    body = [_row(columns, row, beyond=number >= shown) for number, row in enumerate(rows)]
    head = [
        tag(
            "th",
            column.heading,
            scope="col",
            class_=column.css_classes,
            data_sort=column.is_sortable,
        )
        for column in columns
    ]
    content = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        class_="sortable stacks" if any(column.is_wide for column in columns) else "sortable",
        id=name,
    )
    region = tag("div", content, class_="scroll", tabindex=0, role="region", aria_label=caption)
    note = None
    if len(body) > shown:
        note = tag("p", f"In print: the first {shown:,} of {len(body):,} rows.", class_="on-paper")
    return tag("div", _tools(name, len(body), shown), region, note, class_="table")


def _tools(name: str, n_rows: int, shown: int) -> Html | None:
    """Return a search field and a button that shows all rows; None for a short table."""
    if n_rows < _MIN_SEARCHED_ROWS:
        return None
    search = tag(
        "label", "Search ", tag("input", type="search", data_table=name, autocomplete="off")
    )
    more = tag(
        "button",
        f"Show all {n_rows:,}",
        type="button",
        class_="plain",
        data_more=name,
        data_number=n_rows,
    )
    status = tag("span", "", class_="found", id=f"{name}-found", role="status")
    return tag("div", search, more if n_rows > shown else None, status, class_="tools", hidden=True)


def _row(columns: Sequence[Column], cells: Sequence[Any], *, beyond: bool) -> Html:
    elements = []
    for position, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        if isinstance(cell, tuple):
            content, key = cell
        else:
            content = cell
            key = None
        if position == 0:
            element = "th"
        else:
            element = "td"
        if position == 0:
            scope = "row"
        else:
            scope = None
        if column.is_number:
            label = column.heading
        else:
            label = None
        elements.append(
            tag(
                element,
                content,
                scope=scope,
                class_=column.css_classes,
                data_v=key,
                data_label=label,
            )
        )
    return tag("tr", elements, class_="beyond" if beyond else None)


_MAX_SECTORS = 6


def cluster_color(cluster: int) -> str:
    """Return the color of a cluster; colors repeat after twenty clusters."""
    return PALETTE[cluster % len(PALETTE)]


def swatch(clusters: Sequence[int]) -> Html:
    """Return a disc with a sector in the color of each cluster, or a cross if there are no clusters."""
    cross = tag("path", d="M2 2 L10 10 M2 10 L10 2", class_="cross")
    if len(clusters):
        mark = _disc(6, 6, 5.5, clusters)
    else:
        mark = cross
    return tag("svg", mark, class_="swatch", viewBox="0 0 12 12", aria_hidden="true")


def answer_bar(certain: int, ambiguous: int, outliers: int) -> Html:
    """Return a bar with the shares of certain objects, ambiguous objects and outliers."""
    total = max(certain + ambiguous + outliers, 1)
    x = 0.0
    parts = []
    for number, name in ((certain, "certain"), (ambiguous, "ambiguous"), (outliers, "outlying")):
        width = 1000 * number / total
        if number:
            parts.append(
                tag("rect", x=_n(x), y=0, width=_n(max(width, 2)), height=14, class_=f"bar-{name}")
            )
        x += width
    label = f"{certain:,} certain, {ambiguous:,} ambiguous, {outliers:,} outliers"
    return _svg("answer-bar", 1000, 14, label, parts, preserveAspectRatio="none")


def cluster_bar(cluster: int, certain: int, possible: int, most: int) -> Html:
    """Return a bar whose length is the number of certain objects, and a paler bar for the possible objects."""
    widths = [100 * number / max(most, 1) for number in (certain, possible)]
    color = cluster_color(cluster)
    pale = tag("rect", x=0, y=0, width=_n(widths[1]), height=10, fill=color, fill_opacity="0.3")
    full = tag("rect", x=0, y=0, width=_n(widths[0]), height=10, fill=color)
    label = f"{certain:,} certain, {possible - certain:,} more possible"
    return _svg("cluster-bar", 100, 10, label, pale, full, preserveAspectRatio="none")


def line_chart(
    x: ArrayLike,
    y: ArrayLike,
    x_label: str,
    y_label: str,
    description: str,
    *,
    marked: int | None = None,
    percent: bool = False,
    limits: tuple[float, float] | None = None,
) -> Html:
    """Return a line chart; ``marked`` is the position of the point with a larger dot."""
    width = 440
    height = 220
    left = 46
    right = 22
    top = 12
    bottom = 40
    xs = np.asarray(x, dtype=float)
    ys = np.asarray(y, dtype=float)
    if limits is None:
        y0 = float(np.nanmin(ys))
        y1 = float(np.nanmax(ys))
    else:
        y0, y1 = limits
    if not (y1 > y0):
        y1 = y0 + 1
    x0 = float(xs.min())
    if xs.max() > xs.min():
        x1 = float(xs.max())
    else:
        x1 = float(xs.min()) + 1
    px = left + (xs - x0) / (x1 - x0) * (width - left - right)
    py = top + (1 - (ys - y0) / (y1 - y0)) * (height - top - bottom)
    marks = []
    for value in nice_ticks(y0, y1, 4):
        at = top + (1 - (value - y0) / (y1 - y0)) * (height - top - bottom)
        marks.append(tag("line", x1=left, x2=width - right, y1=_n(at), y2=_n(at), class_="grid"))
        marks.append(tag("text", f"{value:g}", x=left - 8, y=_n(at + 4), text_anchor="end"))
    for value in nice_ticks(x0, x1, 6, whole=not percent):
        at = left + (value - x0) / (x1 - x0) * (width - left - right)
        if percent:
            label = f"{value:.0%}"
        else:
            label = f"{value:g}"
        marks.append(tag("text", label, x=_n(at), y=height - bottom + 18, text_anchor="middle"))
    points = " ".join(f"{_n(a)},{_n(b)}" for a, b in zip(px, py, strict=True))
    dots = [
        tag("circle", cx=_n(a), cy=_n(b), r=5.5 if k == marked else 2.6, class_="dot")
        for k, (a, b) in enumerate(zip(px, py, strict=True))
        if len(xs) <= 40
    ]
    line = tag("polyline", points=points, class_="line")
    middle = _n((left + width - right) / 2)
    x_axis = tag("text", x_label, x=middle, y=height - 6, text_anchor="middle", class_="axis")
    turn = f"translate(12 {(height - bottom + top) // 2}) rotate(-90)"
    y_axis = tag("text", y_label, x=0, y=0, transform=turn, text_anchor="middle", class_="axis")
    return _svg("chart", width, height, description, marks, line, dots, x_axis, y_axis)


def _svg(
    class_: str, width: int, height: int, description: str, *children: Any, **attributes: str
) -> Html:
    box = f"0 0 {width} {height}"
    return tag(
        "svg",
        *children,
        class_=class_,
        viewBox=box,
        **attributes,
        role="img",
        aria_label=description,
    )


def scatter(
    xy: np.ndarray,
    sets: Sequence[Sequence[int]],
    which: np.ndarray,
    names: Sequence[str],
    description: str,
    *,
    equal_aspect: bool,
) -> Html:
    """Return a static map with certain objects as dots, ambiguous objects as split discs, and outliers as crosses."""
    width = 900
    height = 560
    edge = 14
    low = np.nanmin(xy, axis=0)
    high = np.nanmax(xy, axis=0)
    span = np.where(high > low, high - low, 1)
    inner = np.array([width - 2 * edge, height - 2 * edge])
    if equal_aspect:
        span = inner * (span / inner).max()
    at = (xy - (low + high) / 2) / span
    px = width / 2 + at[:, 0] * inner[0]
    py = height / 2 - at[:, 1] * inner[1]
    certain = []
    ambiguous = []
    crosses = []
    for x, y, s in zip(px, py, which, strict=True):
        clusters = sets[int(s)]
        if not (math.isfinite(x) and math.isfinite(y)):
            continue
        if len(clusters) == 1:
            color = cluster_color(clusters[0])
            certain.append(
                Html(
                    f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{color}" fill-opacity="0.7"></circle>'
                )
            )
        elif len(clusters):
            ambiguous.append(_disc(float(x), float(y), 4.5, clusters))
        else:
            d = f"M{x - 4:.0f} {y - 4:.0f}l8 8M{x - 4:.0f} {y + 4:.0f}l8 -8"
            crosses.append(tag("path", d=d, class_="cross"))
    labels = _cluster_names(px, py, sets, which, names)
    return _svg("static-map", width, height, description, certain, ambiguous, crosses, labels)


def _cluster_names(
    px: np.ndarray,
    py: np.ndarray,
    sets: Sequence[Sequence[int]],
    which: np.ndarray,
    names: Sequence[str],
) -> Html:
    """Return a text element for each cluster name, at the median position of the certain objects."""
    out = []
    is_visible = np.isfinite(px) & np.isfinite(py)
    for k, name in enumerate(names):
        members = is_visible & np.array([tuple(sets[int(s)]) == (k,) for s in which])
        if members.any():
            x = np.median(px[members])
            y = np.median(py[members])
            out.append(tag("text", name, x=_n(x), y=_n(y), text_anchor="middle", class_="name"))
    return join(out)


def _disc(x: float, y: float, r: float, clusters: Sequence[int]) -> Html:
    colors = [cluster_color(k) for k in clusters[:_MAX_SECTORS]]
    if len(colors) == 1:
        return tag("circle", cx=_n(x), cy=_n(y), r=_n(r), fill=colors[0])
    angles = [2 * math.pi * k / len(colors) + math.pi / 2 for k in range(len(colors) + 1)]
    ends = [f"{_n(x + r * math.cos(a))} {_n(y - r * math.sin(a))}" for a in angles]
    return join(
        tag("path", d=f"M{_n(x)} {_n(y)}L{start}A{_n(r)} {_n(r)} 0 0 0 {end}Z", fill=color)
        for color, start, end in zip(colors, ends[:-1], ends[1:], strict=True)
    )


def nice_ticks(low: float, high: float, number: int, *, whole: bool = False) -> list[float]:
    """Return round tick values between two numbers; their number is about ``number`` or less."""
    step = 10 ** math.floor(math.log10((high - low) / number))
    step *= min((m for m in (1, 2, 5, 10) if (high - low) / (m * step) <= number), default=10)
    if whole:
        step = max(round(step), 1)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _n(value: float) -> str:
    """Format a coordinate with at most one decimal."""
    return f"{float(value):.1f}".removesuffix(".0")
