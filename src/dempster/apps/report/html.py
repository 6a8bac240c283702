"""Create elements, tables and charts as escaped HTML."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from dempster._types import ArrayLike
from dempster.apps.report.facts import Counts
from dempster.plot.palette import PALETTE

_VOID = {"input", "meta", "wbr"}


class Html(str):
    """Text that is already HTML; functions of this module escape all text of other types."""


def tag(element: str, *children: Any, **attributes: Any) -> Html:
    """Return an element such as ``tag("td", name, class_="number", data_v=3)``.

    Children and attributes are escaped.
    Attributes that are None or False are omitted. Attributes that are True are written without a
    value.
    """
    text = "".join(_attribute(name, value) for name, value in attributes.items())
    if element in _VOID:
        return Html(f"<{element}{text}>")
    return Html(f"<{element}{text}>{join(children)}</{element}>")


def fill_template(path: Path, **parts: Any) -> Html:
    """Return a file of HTML, without indentation, in which ``$name`` stands for a part."""
    lines = path.read_text(encoding="utf-8").splitlines()
    template = Template("".join(line.strip() for line in lines))
    return Html(
        template.substitute({name: join([part]) for name, part in parts.items()})
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


def button(text: str, class_: str = "plain", **attributes: Any) -> Html:
    """Return a button."""
    return tag("button", text, type="button", class_=class_, **attributes)


def region(element: str, content: Html, label: str, class_: str | None = None) -> Html:
    """Return an element that scrolls, with a name for screen readers."""
    return tag(
        element, content, class_=class_, tabindex=0, role="region", aria_label=label
    )


def _figure(description: str, *content: Any) -> Html:
    return tag("figure", *content, tag("figcaption", f"{description}."))


_N_SHOWN_ROWS = 10


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Its class is "number", "wide", or "extra" if the column is hidden on phones.
    """

    heading: str
    css_class: str | None = None
    is_sortable: bool = True


def table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
) -> Html:
    """Return a table.

    A cell is text, HTML, a number, or a pair (content, sort key). Rows after the first ones are
    collapsed.
    """
    body = [
        _row(columns, row, beyond=number >= _N_SHOWN_ROWS)
        for number, row in enumerate(rows)
    ]
    head = []
    for column in columns:
        attributes = {"class_": column.css_class, "data_sort": column.is_sortable}
        head.append(tag("th", column.heading, scope="col", **attributes))
    class_ = "sortable"
    if any(column.css_class == "wide" for column in columns):
        class_ += " stacks"
    content = tag(
        "table",
        tag("caption", caption, class_="unseen"),
        tag("thead", tag("tr", head)),
        tag("tbody", body),
        class_=class_,
        id=name,
    )
    note = None
    if len(body) > _N_SHOWN_ROWS:
        text = f"In print: the first {_N_SHOWN_ROWS} of {len(body):,} rows."
        note = tag("p", text, class_="on-paper")
    tools = _tools(name, len(body))
    return tag(
        "div", tools, region("div", content, caption, "scroll"), note, class_="table"
    )


def _tools(name: str, n_rows: int) -> Html | None:
    """Return a search field and a button that shows all rows; None for a short table."""
    if n_rows <= _N_SHOWN_ROWS:
        return None
    field = tag("input", type="search", data_table=name, autocomplete="off")
    more = button(f"Show all {n_rows:,}", data_more=name, data_number=n_rows)
    status = tag("span", "", class_="found", id=f"{name}-found", role="status")
    return tag(
        "div", tag("label", "Search ", field), more, status, class_="tools", hidden=True
    )


def _row(columns: Sequence[Column], cells: Sequence[Any], *, beyond: bool) -> Html:
    elements = []
    element = "th"
    scope: str | None = "row"
    for column, cell in zip(columns, cells, strict=True):
        content, key = _split_cell(cell)
        label = None
        if column.css_class == "number":
            label = column.heading
        attributes = {"class_": column.css_class, "data_v": key, "data_label": label}
        elements.append(tag(element, content, scope=scope, **attributes))
        element = "td"
        scope = None
    return tag("tr", elements, class_="beyond" if beyond else None)


def _split_cell(cell: Any) -> tuple[Any, float | None]:
    """Return the content of a cell and its sort key, which is None for text."""
    if isinstance(cell, tuple):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}", cell
    if not isinstance(cell, float):
        return cell, None
    if math.isnan(cell):
        return "–", -2.0
    return f"{cell:.2f}", round(cell, 6)


_MAX_SECTORS = 6
_MAX_DOTS = 40


def cluster_color(cluster: int) -> str:
    """Return the color of a cluster; colors repeat after twenty clusters."""
    return PALETTE[cluster % len(PALETTE)]


def swatch(clusters: Sequence[int]) -> Html:
    """Return a disc with a sector in the color of each cluster, or a cross without clusters."""
    mark = '<path d="M2 2 L10 10 M2 10 L10 2" class="cross"></path>'
    if len(clusters):
        mark = _disc(6, 6, 5.5, clusters)
    return Html(
        f'<svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">{mark}</svg>'
    )


def answer_bar(counts: Counts) -> Html:
    """Return a bar with the shares of certain objects, ambiguous objects and outliers."""
    numbers = {
        "certain": counts.n_certain,
        "ambiguous": counts.n_ambiguous,
        "outliers": counts.n_outliers,
    }
    scale = 1000 / counts.n_objects
    x = 0.0
    parts = []
    for name, number in numbers.items():
        if number:
            width = max(scale * number, 2)
            parts.append(_rect(x, width, 14, class_=f"bar-{name}"))
        x += scale * number
    label = ", ".join(f"{number:,} {name}" for name, number in numbers.items())
    return _svg("answer-bar", 1000, 14, label, parts, preserveAspectRatio="none")


def cluster_bar(cluster: int, certain: int, possible: int, most: int) -> Html:
    """Return a bar for the number of certain objects, and a paler bar for possible objects."""
    color = cluster_color(cluster)
    scale = 100 / max(most, 1)
    parts = [
        _rect(0, scale * possible, 10, fill=color, fill_opacity=0.3),
        _rect(0, scale * certain, 10, fill=color),
    ]
    label = f"{certain:,} certain, {possible - certain:,} more possible"
    return _svg("cluster-bar", 100, 10, label, parts, preserveAspectRatio="none")


def _rect(x: float, width: float, height: float, **attributes: Any) -> Html:
    return tag("rect", x=_n(x), y=0, width=_n(width), height=height, **attributes)


def line_chart(
    heading: str,
    x: ArrayLike,
    y: ArrayLike,
    x_label: str,
    y_label: str,
    description: str,
    *,
    limits: tuple[float, float],
    marked: int | None = None,
    percent: bool = False,
) -> Html:
    """Return a figure with a line chart.

    ``limits`` is the range of the vertical axis, and ``marked`` the position of the point with a
    larger dot.
    """
    width = 440
    height = 220
    left = 46
    right = 22
    top = 12
    bottom = 40
    xs = np.asarray(x, float)
    ys = np.asarray(y, float)
    x0 = xs.min()
    x1 = xs.max()
    y0, y1 = limits
    if not x1 > x0:
        x1 = x0 + 1

    def to_x(values: Any) -> Any:
        return left + (values - x0) / (x1 - x0) * (width - left - right)

    def to_y(values: Any) -> Any:
        return top + (1 - (values - y0) / (y1 - y0)) * (height - top - bottom)

    shapes = ""
    for value in _find_ticks(y0, y1, 4):
        at = to_y(value)
        shapes += (
            f'<line x1="{left}" x2="{width - right}" y1="{_n(at)}" y2="{_n(at)}" class="grid">'
            f'</line><text x="{left - 8}" y="{_n(at + 4)}" text-anchor="end">{value:g}</text>'
        )
    bottom_text = f'y="{height - bottom + 18}" text-anchor="middle"'
    for value in _find_ticks(x0, x1, 6, whole=not percent):
        label = f"{value:.0%}" if percent else f"{value:g}"
        shapes += f'<text x="{_n(to_x(value))}" {bottom_text}>{label}</text>'
    places = [(_n(a), _n(b)) for a, b in zip(to_x(xs), to_y(ys), strict=True)]
    points = " ".join(f"{a},{b}" for a, b in places)
    shapes += f'<polyline points="{points}" class="line"></polyline>'
    if len(xs) <= _MAX_DOTS:
        for k, (a, b) in enumerate(places):
            radius = 5.5 if k == marked else 2.6
            shapes += f'<circle cx="{a}" cy="{b}" r="{radius}" class="dot"></circle>'
    middle = _n((left + width - right) / 2)
    turn = f"translate(12 {(height - bottom + top) // 2}) rotate(-90)"
    axis = {"text_anchor": "middle", "class_": "axis"}
    x_axis = tag("text", x_label, x=middle, y=height - 6, **axis)
    y_axis = tag("text", y_label, x=0, y=0, transform=turn, **axis)
    chart = _svg("chart", width, height, description, Html(shapes), x_axis, y_axis)
    return _figure(description, tag("h3", heading), chart)


def dendrogram(
    brackets: np.ndarray, names: Sequence[str], cuts: Sequence[float], description: str
) -> Html:
    """Return a figure with a dendrogram and dashed lines at the similarities ``cuts``.

    ``brackets`` contains positions and similarities (`DendrogramDisplay.brackets`), and ``names``
    is empty or contains the names of the clusters from left to right.
    """
    width = 900
    height = 240
    bottom = 170
    step = width / (len(brackets) + 1)
    scale = bottom / min(np.log(brackets[..., 1].min()), -1)

    def to_y(similarity: Any) -> Any:
        return 2 + bottom - scale * np.log(similarity)

    shapes = ""
    for cut in cuts:
        y = _n(to_y(cut))
        shapes += f'<line x1="0" x2="{width}" y1="{y}" y2="{y}" class="grid"></line>'
    for corners in brackets:
        points = " ".join(f"{_n(step * (x + 0.5))},{_n(to_y(s))}" for x, s in corners)
        shapes += f'<polyline points="{points}" class="line"></polyline>'
    labels = []
    for k, name in enumerate(names):
        place = f"translate({_n(step * (k + 0.5))} {bottom + 10}) rotate(90)"
        labels.append(tag("text", name, transform=place, dominant_baseline="middle"))
    chart = _svg("dendrogram", width, height, description, Html(shapes), labels)
    return _figure(description, chart)


def _svg(
    class_: str,
    width: int,
    height: int,
    description: str,
    *children: Any,
    **attributes: str,
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
    names: Sequence[str],
    description: str,
    *,
    equal_aspect: bool,
) -> Html:
    """Return a static map with dots, split discs (ambiguous objects) and crosses (outliers).

    ``sets`` contains the clusters of each object, and ``names`` the names of the clusters.
    """
    low = np.nanmin(xy, axis=0)
    high = np.nanmax(xy, axis=0)
    span = np.where(high > low, high - low, 1)
    size = np.array([900, 560])
    if equal_aspect:
        size[1] = np.clip(900 * span[1] / span[0], 280, 560)
    inner = size - 40
    if equal_aspect:
        span = inner * (span / inner).max()
    at = size / 2 + (xy - (low + high) / 2) / span * inner * [1, -1]
    visible = np.flatnonzero(np.isfinite(xy).all(axis=1))
    at = at[visible]
    sets = [tuple(sets[i]) for i in visible.tolist()]
    certain = ambiguous = crosses = ""
    for (x, y), clusters in zip(at.tolist(), sets, strict=True):
        if len(clusters) == 1:
            certain += (
                f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{cluster_color(clusters[0])}" '
                'fill-opacity="0.7"></circle>'
            )
        elif clusters:
            ambiguous += _disc(x, y, 4.5, clusters)
        else:
            cross = f"M{x - 4:.0f} {y - 4:.0f}l8 8M{x - 4:.0f} {y + 4:.0f}l8 -8"
            crosses += f'<path d="{cross}" class="cross"></path>'
    labels = []
    for k, name in enumerate(names):
        # A name is above most certain objects of its cluster.
        members = at[[clusters == (k,) for clusters in sets]]
        if len(members):
            x = np.median(members[:, 0])
            y = max(np.quantile(members[:, 1], 0.05) - 10, 14)
            place = {"x": _n(x), "y": _n(y), "text_anchor": "middle"}
            labels.append(tag("text", name, **place, class_="name"))
    shapes = Html(certain + ambiguous + crosses)
    return _svg("static-map", *size.tolist(), description, shapes, labels)


_MAX_LOCATOR_OBJECTS = 600  # number of other objects on small maps
_LOCATOR_SIZE = np.array([96, 66])
_LOCATOR_MARGIN = 5


class Locator:
    """Small maps that show where single objects lie.

    ``xy`` contains the positions of the objects, and ``labels`` their clusters. A sample of the
    objects is drawn once, with a path for each cluster, and all maps refer to these paths.
    """

    def __init__(self, xy: np.ndarray, labels: np.ndarray, *, equal_aspect: bool):
        low = np.nanmin(xy, axis=0)
        high = np.nanmax(xy, axis=0)
        span = np.where(high > low, high - low, 1)
        inner = _LOCATOR_SIZE - 2 * _LOCATOR_MARGIN
        if equal_aspect:
            span = inner * (span / inner).max()
        self._at = _LOCATOR_SIZE / 2 + (xy - (low + high) / 2) / span * inner * [1, -1]
        visible = np.flatnonzero(np.isfinite(self._at).all(axis=1))
        n_shown = min(len(visible), _MAX_LOCATOR_OBJECTS)
        shown = visible[np.linspace(0, len(visible) - 1, n_shown).astype(int)]
        self._paths = {}
        for k in np.unique(labels[shown]).tolist():
            at = np.unique(self._at[shown[labels[shown] == k]].round(1), axis=0)
            dots = "".join(f"M{_n(x)} {_n(y)}h0" for x, y in at.tolist())
            self._paths[k] = tag("path", id=f"place-{k}", d=dots)

    def define(self) -> Html:
        """Return the hidden element with the paths, which must be once on the page."""
        group = tag("g", [tag("use", href=f"#place-{k}") for k in self._paths])
        every = tag("symbol", group, id="places", overflow="visible")
        paths = list(self._paths.values())
        return tag(
            "svg", tag("defs", paths, every), class_="unseen", aria_hidden="true"
        )

    def draw(self, i: int, clusters: Sequence[int], name: str) -> Html | None:
        """Return the map of the object at position ``i``, with its possible clusters in color."""
        x, y = self._at[i].tolist()
        if not math.isfinite(x + y):
            return None
        colored = [
            tag("use", href=f"#place-{k}", stroke=cluster_color(k))
            for k in clusters[:_MAX_SECTORS]
            if k in self._paths
        ]
        every = tag("use", href="#places", class_="others")
        ring = tag("circle", cx=_n(x), cy=_n(y), r=4.5)
        size = _LOCATOR_SIZE.tolist()
        return _svg("locator", *size, f"{name} on the map", every, colored, ring)


def _disc(x: float, y: float, r: float, clusters: Sequence[int]) -> str:
    colors = [cluster_color(k) for k in clusters[:_MAX_SECTORS]]
    if len(colors) == 1:
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(r)}" fill="{colors[0]}"></circle>'
    angles = [
        2 * math.pi * k / len(colors) + math.pi / 2 for k in range(len(colors) + 1)
    ]
    ends = [f"{_n(x + r * math.cos(a))} {_n(y - r * math.sin(a))}" for a in angles]
    arc = f"A{_n(r)} {_n(r)} 0 0 0"
    return "".join(
        f'<path d="M{_n(x)} {_n(y)}L{start}{arc} {end}Z" fill="{color}"></path>'
        for color, start, end in zip(colors, ends[:-1], ends[1:], strict=True)
    )


def _find_ticks(
    low: float, high: float, number: int, *, whole: bool = False
) -> list[float]:
    """Return at most about ``number`` round values between two numbers."""
    least = (high - low) / number
    power = 10 ** math.floor(math.log10(least))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= least)
    if whole:
        step = max(step, 1)
    rounding = 1e-9
    first = math.ceil(low / step - rounding)
    last = math.floor(high / step + rounding)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _n(value: float) -> str:
    """Format a coordinate with at most one decimal."""
    return f"{float(value):.1f}".removesuffix(".0")
