"""Render the sections of a report as one HTML page."""

from __future__ import annotations

import base64
import hashlib
import inspect
import platform
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

import dempster
from dempster._text import format_count, format_share
from dempster.apps.map import STATIC_FOLDER, join_modules
from dempster.apps.recipe.conformal_sets import describe_guarantee, describe_stability
from dempster.apps.report.cluster_profiles import ClusterProfiles
from dempster.apps.report.coordinates import Axis, MapCoordinates, pack_coordinates
from dempster.apps.report.facts import DoubtfulObject, Facts
from dempster.apps.report.html import (
    Column,
    Html,
    answer_bar,
    cluster_bar,
    line_chart,
    scatter,
    sentence,
    swatch,
    table,
    tag,
)
from dempster.apps.report.report_input import ReportInput, short_name
from dempster.apps.report.wording import (
    caveats,
    describe_outcome,
    describe_run,
    describe_separation,
    verdicts,
)
from dempster.cluster import ConformalClustering
from dempster.cluster.conformal import MIN_STABILITY
from dempster.plot.palette import PALETTE

_STATIC = Path(__file__).parent / "static"
_N_SHADES = 10  # number of shades of the heat map for positive, and for negative, differences
_SECTIONS = {
    "map-section": "Map",
    "clusters": "Clusters",
    "doubt": "Doubtful objects",
    "sets": "Sets with a guarantee",
    "trust": "Reliability",
    "repeat": "Reproduce",
}


def render_page(facts: Facts, title: str) -> str:
    """Render the report as one HTML file that contains its style, script and data."""
    listed = caveats(facts)
    missing = {"map-section": facts.coordinates is None, "sets": facts.data.conformal is None}
    sections = [name for name in _SECTIONS if not missing.get(name)]
    theme = tag("button", "Dark", type="button", class_="plain live", id="theme", hidden=True)
    links = tag(
        "div", [tag("a", _SECTIONS[name], href=f"#{name}") for name in sections], class_="links"
    )
    script = _read_script()
    style = _read_style()
    body = tag(
        "body",
        tag("nav", tag("div", links, theme), aria_label="Sections"),
        tag(
            "main",
            _summary_section(facts, title, len(listed)),
            _map_section(facts, facts.coordinates) if facts.coordinates is not None else None,
            _clusters_section(facts),
            _doubt_section(facts),
            _sets_section(facts.data.conformal) if facts.data.conformal is not None else None,
            _trust_section(facts, listed),
            _repeat_section(facts),
            tag(
                "footer",
                f"Created with dempster {dempster.__version__}. This file loads no other files.",
            ),
        ),
        Html(f'<script type="application/octet-stream" id="data">{_map_data(facts)}</script>'),
        Html(f'<script type="module">{script}</script>'),
    )
    # The content security policy allows only this script and this style, and forbids all requests.
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content="dempster"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _section(name: str, *children: Any) -> Html:
    heading = _SECTIONS[name]
    return tag("section", tag("h2", heading), *children, id=name, aria_label=heading)


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


@cache
def _read_script() -> str:
    """Return one script that contains the map and the scripts of the report."""
    files = [STATIC_FOLDER / name for name in ("scatter.js", "partition_map.js")]
    return join_modules([*files, *(_STATIC / name for name in ("page.js", "tables.js", "map.js"))])


@cache
def _read_style() -> str:
    """Return the style sheet.

    The shades of the heat map use the first two colors of the palette.
    """
    low, high = (
        ", ".join(str(int(color[k : k + 2], 16)) for k in (1, 3, 5)) for color in PALETTE[:2]
    )
    shades = [
        f".{name}-{k} {{ background: rgba({color}, {0.05 * k:.2f}); }}"
        for name, color in (("low", low), ("high", high))
        for k in range(1, _N_SHADES + 1)
    ]
    return "\n".join([(_STATIC / "page.css").read_text(encoding="utf-8"), *shades])


# ---- summary -------------------------------------------------------------------------------------


def _summary_section(facts: Facts, title: str, n_caveats: int) -> Html:
    """Return the section with the title, the summary and the numbers of objects."""
    counts = facts.counts
    numbers = [
        ("certain", "Certain", counts.n_certain, "belong to one cluster"),
        ("ambiguous", "Ambiguous", counts.n_ambiguous, "may belong to several clusters"),
        ("outlying", "Outliers", counts.n_outliers, "belong to no cluster"),
    ]
    cards = []
    for kind, name, number, meaning in numbers:
        term = tag("dt", tag("span", "", class_=f"key bar-{kind}"), name)
        share = tag("span", format_share(number, counts.n_objects), class_="share")
        cards.append(
            tag("div", term, tag("dd", tag("strong", f"{number:,}"), share, tag("small", meaning)))
        )
    link = tag("a", format_count(n_caveats, "limitation"), href="#caveats")
    return tag(
        "header",
        tag("p", "Evidential clustering report", class_="overline"),
        tag("h1", title),
        tag("p", f"{describe_run(facts)} {describe_outcome(facts)}", class_="lede"),
        tag("dl", cards, class_="numbers"),
        answer_bar(counts.n_certain, counts.n_ambiguous, counts.n_outliers),
        tag("p", "Note the ", link, " before you use the result.", class_="mind")
        if n_caveats
        else None,
        id="top",
    )


# ---- map -----------------------------------------------------------------------------------------

MAX_LEGEND_ENTRIES = 20  # a legend with more entries scrolls
# maximum numbers of objects and cluster names on the map for print
MAX_STATIC_OBJECTS = 1500
MAX_STATIC_NAMES = 30
_HOW_TO_MOVE = (
    " Drag to move the map. Zoom with the buttons, by pinching, or with Ctrl and the mouse wheel."
)


def _map_section(facts: Facts, coordinates: MapCoordinates) -> Html:
    """Return the section with the interactive map, its menus and legend, and a static map for print."""
    n = facts.counts.n_objects
    m = len(coordinates.rows)
    if m < n:
        size = f"{m:,} of {n:,} objects"
    else:
        size = f"{n:,} objects"
    caption = (
        f"{size}; {coordinates.how}. Two colors: ambiguous between these clusters. Cross: outlier."
    )
    buttons = (("+", "in", "zoom in"), ("−", "out", "zoom out"), ("⟲", "reset", "reset the view"))
    zoom = [
        tag("button", sign, type="button", class_="square", data_zoom=what, aria_label=label)
        for sign, what, label in buttons
    ]
    x_menu = _axis_menu("x", "Horizontal axis", coordinates.axes, coordinates.first[0])
    y_menu = _axis_menu("y", "Vertical axis", coordinates.axes, coordinates.first[1])
    menus = tag("div", x_menu, y_menu, tag("div", zoom, class_="zoom"), class_="menus")
    has_edge = any(
        axis.inner != axis.ends for axis in (coordinates.axes[a] for a in coordinates.first)
    )
    left_out = None
    if coordinates.n_left_out:
        left_out = f" The menus list the {len(coordinates.axes) - 3} columns that differ most between the clusters."
    if has_edge:
        edge = tag("span", " Objects far from the others are shown at the edge.", class_="still")
    else:
        edge = None
    outside = tag("span", "", class_="live", id="outside", hidden=True)
    plot = tag("div", "", id="plot", aria_label=f"Scatter plot of {caption}")
    tip = tag("div", "", class_="tip", id="tip", role="status", hidden=True)
    figure = tag(
        "figure",
        tag("div", menus, _legend(facts), class_="live", hidden=True),
        tag("div", plot, tip, class_="live stage", hidden=True),
        _static_map(facts, coordinates, caption),
        tag(
            "figcaption",
            caption,
            left_out,
            edge,
            outside,
            tag("span", _HOW_TO_MOVE, class_="live", hidden=True),
        ),
    )
    return _section("map-section", figure)


def _axis_menu(name: str, label: str, axes: list[Axis], selected: int) -> Html:
    options = [
        tag("option", axis.name, value=a, selected=a == selected) for a, axis in enumerate(axes)
    ]
    return tag("label", f"{label} ", tag("select", options, id=f"axis-{name}"))


def _legend(facts: Facts) -> Html:
    """Return the legend, which has a checkbox for each cluster, for ambiguous objects and for outliers."""
    entries = [
        (str(k), swatch((k,)), facts.data.cluster_name(k), int(facts.counts.certain[k]))
        for k in range(facts.counts.n_clusters)
    ]
    if facts.counts.n_ambiguous:
        entries.append(("ambiguous", swatch((0, 1)), "ambiguous", facts.counts.n_ambiguous))
    if facts.counts.n_outliers:
        entries.append(("none", swatch(()), "outliers", facts.counts.n_outliers))
    boxes = []
    for key, mark, name, number in entries:
        box = tag("input", type="checkbox", checked=True, data_show=key)
        boxes.append(
            tag("label", box, mark, tag("bdi", name), tag("span", f"{number:,}", class_="count"))
        )
    all_or_none = [
        tag("button", text, type="button", class_="plain", data_all=key)
        for text, key in (("All", "1"), ("None", "0"))
    ]
    return tag(
        "fieldset",
        tag("legend", "Shown", class_="unseen"),
        all_or_none if len(entries) > 3 else None,
        boxes,
        class_="legend many" if len(entries) > MAX_LEGEND_ENTRIES else "legend",
    )


def _static_map(facts: Facts, coordinates: MapCoordinates, caption: str) -> Html:
    """Return the map for print and for browsers that do not run scripts."""
    partition = facts.data.partition
    m = len(coordinates.rows)
    if m <= MAX_STATIC_OBJECTS:
        some = np.arange(m)
    else:
        some = np.unique(np.linspace(0, m - 1, MAX_STATIC_OBJECTS).astype(int))
    axes = [coordinates.axes[a] for a in coordinates.first]
    names = [facts.data.cluster_name(k) for k in range(facts.counts.n_clusters)]
    return scatter(
        np.column_stack([np.clip(axis.values[some], *axis.inner) for axis in axes]),
        list(partition.focal_sets),
        partition.best_set[coordinates.rows[some]],
        names if len(names) <= MAX_STATIC_NAMES else [],
        f"Scatter plot of {caption}",
        equal_aspect=all(axis.kind == "component" for axis in axes),
    )


def _map_data(facts: Facts) -> str:
    """Return the data of the map in base64, which cannot contain the end tag of the script element."""
    if facts.coordinates is None:
        return ""
    return base64.b64encode(pack_coordinates(facts.data, facts.coordinates)).decode("ascii")


# ---- clusters ------------------------------------------------------------------------------------

N_OPEN_CARDS = 12  # number of expanded cards; the other cards are collapsed
N_CARD_ATTRIBUTES = 4
# maximum number of columns, and of rows without scrolling
MAX_HEAT_COLUMNS = 24
MAX_HEAT_ROWS = 20


def _clusters_section(facts: Facts) -> Html:
    """Return the section with a table of all clusters, a card for each cluster, and the heat map."""
    profiles = facts.profiles
    if profiles is None:
        cards = []
    else:
        cards = [_cluster_card(facts, profiles, k) for k in range(facts.counts.n_clusters)]
    more = None
    if len(cards) > N_OPEN_CARDS:
        summary = format_count(len(cards) - N_OPEN_CARDS, "more cluster")
        more = tag(
            "details", tag("summary", summary), tag("div", cards[N_OPEN_CARDS:], class_="cards")
        )
    return _section(
        "clusters",
        _cluster_table(facts),
        tag("div", cards[:N_OPEN_CARDS], class_="cards") if cards else None,
        more,
        _heat_map(facts, profiles)
        if profiles is not None and facts.counts.n_clusters > 1
        else None,
    )


def _object_link(facts: Facts, position: int, limit: int = 60) -> Html:
    """Return the name of an object as an element that the script links to the map."""
    name = short_name(facts.data.object_name(position), limit)
    return tag("span", tag("bdi", name), class_="object", data_object=position)


def _cluster_table(facts: Facts) -> Html:
    counts = facts.counts
    trust = facts.trust
    columns = [Column("Cluster"), Column("Certain and possible", is_sortable=False)]
    columns += [Column("Certain", is_number=True), Column("Possible", is_number=True)]
    measures = []
    if trust.silhouette is not None:
        measures.append(trust.silhouette.per_cluster()["certain_mean"].to_numpy(dtype=float))
        columns.append(Column("Silhouette", is_number=True))
    if trust.jaccard is not None:
        measures.append(trust.jaccard)
        columns.append(Column("Stability", is_number=True))
    if facts.profiles is not None:
        columns.append(Column("Typical objects", is_sortable=False, is_extra=True))
    rows = []
    for k in range(counts.n_clusters):
        certain = int(counts.certain[k])
        possible = int(counts.possible[k])
        row: list[Any] = [
            (
                tag("span", swatch((k,)), tag("bdi", facts.data.cluster_name(k)), class_="cluster"),
                k,
            ),
            cluster_bar(k, certain, possible, int(counts.possible.max(initial=1))),
            (f"{certain:,}", certain),
            (f"{possible:,}", possible),
        ]
        for value in (values[k] for values in measures):
            row.append(("–", -2.0) if np.isnan(value) else (f"{value:.2f}", round(float(value), 6)))
        if facts.profiles is not None:
            row.append(_typical_objects(facts, facts.profiles, k))
        rows.append(row)
    return table("cluster-table", "Clusters: certain and possible objects", columns, rows, shown=20)


def _typical_objects(facts: Facts, profiles: ClusterProfiles, cluster: int) -> Html:
    links = [_object_link(facts, i, 28) for i in profiles.typical(cluster)]
    return tag("span", [part for link in links for part in (", ", link)][1:] or "–")


def _cluster_card(facts: Facts, profiles: ClusterProfiles, cluster: int) -> Html:
    certain = int(facts.counts.certain[cluster])
    possible = int(facts.counts.possible[cluster])
    size = format_count(certain) + (
        f", {possible - certain:,} more possible" if possible > certain else ""
    )
    differences = []
    for label, words, value, rest in profiles.differences(cluster, N_CARD_ATTRIBUTES):
        values = tag("span", value, class_="value"), tag("span", f" (rest {rest})", class_="quiet")
        differences.append(tag("li", tag("strong", tag("bdi", label)), f" {words}: ", values))
    if differences:
        body = tag("ul", differences)
    else:
        body = tag("p", "Similar to the rest.")
    if not certain:
        body = tag("p", "This cluster has no certain object.")
    typical = tag(
        "p", "Typical: ", _typical_objects(facts, profiles, cluster), class_="quiet typical"
    )
    return tag(
        "article",
        tag("h3", swatch((cluster,)), tag("bdi", facts.data.cluster_name(cluster))),
        tag("p", size, class_="quiet"),
        body,
        typical if certain else None,
        class_="card",
    )


def _heat_map(facts: Facts, profiles: ClusterProfiles) -> Html:
    """Return a table of means by cluster and attribute.

    Shades show the difference from the remaining objects.
    """
    columns = profiles.strongest(MAX_HEAT_COLUMNS)
    features = [profiles.profile.features[q] for q in columns]
    delta = profiles.profile.statistics["delta"]
    mean = profiles.profile.statistics["mean"]
    rows = []
    for g, group in enumerate(profiles.profile.groups[: facts.counts.n_clusters]):
        cells = [
            tag(
                "td",
                feature.attribute.format(float(mean[g, q])),
                class_=f"number {_shade(delta[g, q])}".strip(),
            )
            for q, feature in zip(columns, features, strict=True)
        ]
        rows.append(
            tag("tr", tag("th", swatch(group.clusters), tag("bdi", group.name), scope="row"), cells)
        )
    n_features = len(profiles.profile.features)
    caption = "Mean of each attribute by cluster, or share of a category. "
    if len(columns) < n_features:
        caption += f"Only the {len(columns)} of {n_features:,} that differ most are shown."
    shades = (("lower", " low-8"), ("", " low-4"), ("", ""), ("", " high-4"), ("higher", " high-8"))
    key = [tag("span", text, class_=f"key-cell{shade}") for text, shade in shades]
    head = [tag("th", tag("bdi", _breakable(feature.label)), scope="col") for feature in features]
    head_row = tag("thead", tag("tr", tag("th", "Cluster", scope="col"), head))
    heat = tag("table", tag("caption", caption), head_row, tag("tbody", rows), class_="heat")
    if len(rows) > MAX_HEAT_ROWS:
        kind = "scroll tall"
    else:
        kind = "scroll"
    return tag(
        "div",
        tag("h3", "Differences between clusters"),
        tag("p", *key, " than the rest", class_="heat-key"),
        tag("div", heat, class_=kind, tabindex=0, role="region", aria_label="Means by cluster"),
    )


def _breakable(name: str) -> list[Any]:
    """Return a name in which the browser may break the line after separators."""
    parts = re.split(r"(?<=[_/.\-])", name)
    return [piece for part in parts for piece in (part, tag("wbr"))][:-1]


def _shade(delta: float) -> str:
    if np.isnan(delta):
        return ""
    strength = min(int(abs(delta) * _N_SHADES), _N_SHADES)
    if strength:
        return f"{'high' if delta > 0 else 'low'}-{strength}"
    return ""


# ---- doubtful objects ----------------------------------------------------------------------------


def _doubt_section(facts: Facts) -> Html:
    """Return the section with tables of ambiguous pairs of clusters, ambiguous objects and outliers."""
    counts = facts.counts
    body = []
    if facts.pairs:
        body.append(_pair_table(facts))
    if counts.n_ambiguous:
        body.append(_object_table(facts, facts.ambiguous, counts.n_ambiguous))
    if counts.n_outliers:
        body.append(_object_table(facts, facts.outliers, counts.n_outliers, are_outliers=True))
    if not body:
        body.append(tag("p", "There are no ambiguous objects and no outliers."))
    return _section("doubt", *body)


def _pair_table(facts: Facts) -> Html:
    is_explained = facts.profiles is not None
    columns = [Column("Clusters"), Column("Ambiguous objects", is_number=True)]
    columns += (
        [Column("Best rule to separate them", is_wide=True, is_sortable=False)]
        if is_explained
        else []
    )
    rows = []
    for pair in facts.pairs:
        names = [tag("bdi", facts.data.cluster_name(k)) for k in pair.clusters]
        both = tag("span", swatch(pair.clusters), names[0], " and ", names[1], class_="cluster")
        rule = [sentence(pair.rule), tag("small", describe_separation(pair.separation))]
        row = [(both, pair.clusters[0]), (f"{pair.n_objects:,}", pair.n_objects)]
        rows.append([*row, rule] if is_explained else row)
    heading = tag("h3", "Clusters that are hard to distinguish")
    return tag("div", heading, table("pair-table", "Pairs of clusters", columns, rows))


def _object_table(
    facts: Facts, objects: Sequence[DoubtfulObject], total: int, *, are_outliers: bool = False
) -> Html:
    if are_outliers:
        kind = "outlier"
    else:
        kind = "ambiguous object"
    if are_outliers:
        order = "by decreasing mass on the empty set"
    else:
        order = "by decreasing doubt"
    n_explained = sum(1 for obj in objects if obj.reasons)
    notes = f"Sorted {order}."
    if len(objects) < total:
        notes += f" The table has the first {len(objects):,}."
    if 0 < n_explained < len(objects):
        notes += f" The first {n_explained} are explained."
    if are_outliers:
        answer_heading = "Nearest cluster"
        measure_heading = "Mass"
    else:
        answer_heading = "Ambiguous between"
        measure_heading = "Doubt"
    columns = [Column("Object"), Column(answer_heading), Column(measure_heading, is_number=True)]
    columns += [Column("Explanation", is_wide=True, is_sortable=False)] if n_explained else []
    partition = facts.data.partition
    rows = []
    for obj in objects:
        clusters = np.flatnonzero(partition.focal_sets.membership[partition.best_set[obj.position]])
        if are_outliers:
            answer = obj.label
            measure = obj.mass
        else:
            answer = obj.answer
            measure = obj.doubt
        cell = tag("span", swatch([int(k) for k in clusters]), tag("bdi", answer), class_="cluster")
        reasons = [tag("p", sentence(reason)) for reason in obj.reasons] or "–"
        row = [_object_link(facts, obj.position), cell, (f"{measure:.2f}", round(measure, 6))]
        rows.append([*row, reasons] if n_explained else row)
    return tag(
        "div",
        tag("h3", format_count(total, kind)),
        tag("p", notes, class_="quiet"),
        table(
            "outlier-table" if are_outliers else "ambiguous-table",
            f"{kind.capitalize()}s",
            columns,
            rows,
        ),
    )


# ---- conformal sets ------------------------------------------------------------------------------

_CONFIDENCES = np.linspace(0.5, 0.98, 25)


def _sets_section(conformal: ConformalClustering) -> Html:
    """Return the section with the sizes, coverage and stability of the conformal sets of clusters."""
    counts = np.bincount(conformal.sets_.sum(axis=1))
    n = len(conformal.sets_)
    columns = [
        Column("Clusters in the set"),
        Column("Objects", is_number=True),
        Column("Share", is_number=True),
    ]
    rows = [
        (
            (f"{size}" if size else "none", size),
            (f"{counts[size]:,}", int(counts[size])),
            format_share(counts[size], n),
        )
        for size in np.flatnonzero(counts).tolist()
    ]
    is_stable = conformal.stability_ >= MIN_STABILITY
    if is_stable:
        verdict = "The clustering is stable"
    else:
        verdict = "Warning: the clustering is not stable"
    texts = {f"Confidence {conformal.confidence:.4g}": describe_guarantee(conformal)}
    if conformal.n_refits:
        texts[verdict] = describe_stability(conformal)
    cards = [
        tag("article", tag("h3", heading), tag("p", text), class_="card")
        for heading, text in texts.items()
    ]
    # A set contains the clusters whose p-value is above 1 - confidence.
    p_values = np.sort(np.asarray(conformal.credal_partition_.contour, dtype=float), axis=None)
    levels = np.union1d(_CONFIDENCES, conformal.confidence)
    mean_size = (
        p_values.size - np.searchsorted(p_values, (1 - levels) * (1 + 1e-9), side="right")
    ) / n
    description = f"Mean number of clusters in a set by confidence, {conformal.sets_.sum() / n:.2f} for this report"
    labels = ("confidence", "mean number of clusters", description)
    marked = int(np.searchsorted(levels, conformal.confidence))
    limits = (0.0, float(conformal.n_clusters_))
    chart = line_chart(levels, mean_size, *labels, marked=marked, percent=True, limits=limits)
    figure = tag(
        "figure", tag("h3", "Size and confidence"), chart, tag("figcaption", f"{description}.")
    )
    return _section(
        "sets",
        tag("div", cards, class_="verdicts"),
        table("set-table", "Sizes of the sets of clusters", columns, rows),
        tag("div", figure, class_="charts"),
    )


# ---- trust ---------------------------------------------------------------------------------------


def _trust_section(facts: Facts, listed: Sequence[str]) -> Html:
    """Return the section with verdicts on the reliability of the partition, charts and caveats."""
    cards = [
        tag("article", tag("h3", heading), tag("p", text), class_="card")
        for heading, text in verdicts(facts)
    ]
    charts = []
    number = facts.number
    kept = facts.trust.kept
    if number is not None and len(number) > 1:
        description = f"Support for each number of clusters, largest for {number.best}"
        labels = ("number of clusters", "support", description)
        best = int(number.support.argmax())
        chart = line_chart(number.n_clusters, number.support, *labels, marked=best, limits=(0, 1))
        charts.append(
            tag(
                "figure",
                tag("h3", "Number of clusters"),
                chart,
                tag("figcaption", f"{description}."),
            )
        )
    if kept is not None:
        description = (
            "Agreement with the known classes if only the objects with the least doubt are kept"
        )
        labels = ("share of the objects kept", "adjusted Rand index", description)
        limits = (min(0.0, float(kept.quality.min())), 1.0)
        chart = line_chart(kept.share, kept.quality, *labels, percent=True, limits=limits)
        charts.append(
            tag("figure", tag("h3", "Retention curve"), chart, tag("figcaption", f"{description}."))
        )
    limitations = tag("ul", [tag("li", caveat) for caveat in listed], class_="caveats")
    return _section(
        "trust",
        tag("div", cards, class_="verdicts")
        if cards
        else tag("p", "No measure could be computed."),
        tag("div", charts, class_="charts") if charts else None,
        tag("div", tag("h3", "Limitations"), limitations, id="caveats") if listed else None,
    )


# ---- reproduction --------------------------------------------------------------------------------

MAX_SETTING_CHARACTERS = 120
MAX_CHOICE_CHARACTERS = 300


def _repeat_section(facts: Facts) -> Html:
    """Return the section with the command, code, settings and versions that reproduce the result."""
    data = facts.data
    recipe = data.recipe
    run = _describe_run(facts) | ({"read from": data.file_names} if data.file_names else {})
    return _section(
        "repeat",
        _code_block("Command", None if recipe is None else recipe.to_command(), "command"),
        _code_block("Python", _write_code(data) if recipe is None else recipe.to_code(), "code"),
        tag(
            "div",
            _settings(data),
            tag("div", tag("h3", "Run"), _entries(run), id="run"),
            class_="lists",
        ),
        _convergence_chart(facts.history),
    )


def _code_block(heading: str, text: str | None, name: str) -> Html | None:
    if not text:
        return None
    button = tag("button", "Copy", type="button", class_="plain live", data_copy=name, hidden=True)
    return tag(
        "div",
        tag("div", tag("h3", heading), button, class_="code-head"),
        tag("pre", tag("code", text, id=name), tabindex=0, role="region", aria_label=heading),
    )


def _write_code(data: ReportInput) -> str | None:
    """Return Python code that fits the model; None for a partition without a model."""
    if data.estimator is None:
        return None
    if data.conformal is None:
        estimator = data.estimator
    else:
        estimator = data.conformal
    imports: dict[str, set[str]] = {"dempster.apps.report": {"make_report"}}
    for part in _nested_estimators(estimator):
        names = type(part).__module__.split(".")
        if names[0] in ("dempster", "sklearn"):  # Import the class from its public package.
            names = [name for name in names[:2] if not name.startswith("_")]
        imports.setdefault(".".join(names), set()).add(type(part).__name__)
    lines = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(imports.items())
    ]
    more = "".join(f", {name}={name}" for name in data.fit_params)
    fit = f"model.fit(X{more})  # X: the same {'dissimilarities' if data.is_pairwise else 'table'}"
    return "\n".join(
        [*lines, "", f"model = {estimator!r}", fit, 'make_report(model, X).save("report.html")']
    )


def _nested_estimators(estimator: Any) -> list[Any]:
    steps = [
        step for _, step in getattr(estimator, "steps", []) if step not in ("passthrough", None)
    ]
    if isinstance(estimator, ConformalClustering):
        steps = [step for step in (estimator.clusterer, estimator.classifier) if step is not None]
    return [estimator, *(part for step in steps for part in _nested_estimators(step))]


def _entries(entries: dict[str, str]) -> Html:
    rows = [
        tag("div", tag("dt", key), tag("dd", tag("bdi", value))) for key, value in entries.items()
    ]
    return tag("dl", rows, class_="entries")


def _settings(data: ReportInput) -> Html | None:
    """Return a table of the parameters that the user set or the method chose, and a list of the default values."""
    model = data.model
    metadata = data.partition.metadata
    if hasattr(model, "get_params"):
        parameters = model.get_params(deep=False)
    else:
        parameters = metadata.get("parameters", {})
    defaults = {} if model is None else inspect.signature(type(model)).parameters
    choices = metadata.get("choices", {})
    changed: dict[str, str] = {}
    unchanged: dict[str, str] = {}
    for name, value in parameters.items():
        text = _format_setting(value)
        if name in defaults:
            default = defaults[name].default
        else:
            default = inspect.Parameter.empty
        if name in choices:
            changed[name] = f"{text}: {short_name(choices[name], MAX_CHOICE_CHARACTERS)}"
        elif type(value) is type(default) and repr(value) == repr(default):
            unchanged[name] = text
        else:
            changed[name] = text
    if not changed and not unchanged:
        return None
    rest = None
    if unchanged:
        rest = tag(
            "details",
            tag("summary", format_count(len(unchanged), "default value")),
            _entries(unchanged),
        )
    return tag("div", tag("h3", "Settings"), _entries(changed), rest, id="settings")


def _describe_run(facts: Facts) -> dict[str, str]:
    metadata = facts.data.partition.metadata
    run = {}
    if (method := metadata.get("method")) is not None:
        run["method"] = str(method)
    if (objective := metadata.get("objective")) is not None:
        run["objective"] = f"{float(objective):.6g}"
    if (n_iter := metadata.get("n_iter")) is not None:
        converged = metadata.get("converged")
        if converged is None:
            end = ""
        elif converged:
            end = ", converged"
        else:
            end = ", not converged"
        run["iterations"] = f"{int(n_iter):,}{end}"
    if "random_state" in metadata:
        run["seed"] = _format_setting(metadata["random_state"])
    run["nonspecificity"] = (
        f"{facts.data.partition.nonspecificity_index():.3f} (0 certain, 1 no information)"
    )
    run |= {
        "dempster": dempster.__version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    return run | {"SciPy": scipy.__version__, "scikit-learn": sklearn.__version__}


def _format_setting(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{type(value).__name__} with unknown state"
    return short_name(value if isinstance(value, str) else repr(value), MAX_SETTING_CHARACTERS)


def _convergence_chart(history: np.ndarray) -> Html | None:
    if len(history) < 3:
        return None
    some = np.unique(np.linspace(0, len(history) - 1, 200).astype(int))
    description = f"Objective after each of {len(history):,} iterations, {history[0]:.4g} to {history[-1]:.4g}"
    chart = line_chart(some + 1, history[some], "iteration", "objective", description)
    return tag(
        "details",
        tag("summary", "Convergence"),
        tag("figure", chart, tag("figcaption", f"{description}.")),
    )
