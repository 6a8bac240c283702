"""Sections of a report as HTML, and the page they make."""

from __future__ import annotations

import base64
import hashlib
import inspect
import platform
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

import dempster
from dempster._text import format_count, format_share
from dempster.apps.map import STATIC_FOLDER, pack_objects
from dempster.apps.report.coordinates import Axis, MapCoordinates
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
from dempster.apps.report.inputs import ReportInput, short_name
from dempster.apps.report.profiles import ClusterProfiles
from dempster.apps.report.wording import caveats, describe_outcome, describe_run, describe_separation, verdicts
from dempster.plot.palette import PALETTE

_SHADES = 10  # of the heat map


def render_page(facts: Facts, title: str) -> str:
    """Render the report as one HTML file with its style, script and data; it loads nothing else."""
    listed = caveats(facts)
    places = [("#clusters", "Clusters"), ("#doubt", "The doubtful"), ("#trust", "Trust"), ("#repeat", "Do it again")]
    if facts.coordinates is not None:
        places.insert(0, ("#map-section", "Map"))
    theme = tag("button", "Dark", type="button", class_="plain live", id="theme", hidden=True)
    links = tag("div", [tag("a", words, href=place) for place, words in places], class_="links")
    script, style = _read_script(), _read_style()
    body = tag(
        "body",
        tag("nav", tag("div", links, theme), aria_label="Sections"),
        tag(
            "main",
            _summary_section(facts, title, len(listed)),
            _map_section(facts, facts.coordinates) if facts.coordinates is not None else None,
            _clusters_section(facts),
            _doubt_section(facts),
            _trust_section(facts, listed),
            _repeat_section(facts),
            tag(
                "footer",
                f"Made with dempster {dempster.__version__}. This file is complete: it loads nothing from elsewhere.",
            ),
        ),
        Html(f'<script type="application/octet-stream" id="data">{_map_data(facts)}</script>'),
        Html(f'<script type="module">{script}</script>'),
    )
    # Only this script and this style may act, and nothing may be loaded or sent.
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


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


@cache
def _read_script() -> str:
    """Read the scripts into one module: the plot that the studio also uses, then those of the report."""
    own = [_read_static(name) for name in ("page.js", "tables.js", "map.js")]
    return "\n".join([(STATIC_FOLDER / "scatter.js").read_text(encoding="utf-8"), *own])


@cache
def _read_style() -> str:
    """Read the style sheet and add the shades of the heat map, in the first two colors of the palette."""
    low, high = (", ".join(str(int(color[k : k + 2], 16)) for k in (1, 3, 5)) for color in PALETTE[:2])
    shades = [
        f".{name}-{k} {{ background: rgba({color}, {0.05 * k:.2f}); }}"
        for name, color in (("low", low), ("high", high))
        for k in range(1, _SHADES + 1)
    ]
    return "\n".join([_read_static("page.css"), *shades])


def _read_static(name: str) -> str:
    return files("dempster.apps.report").joinpath("static", name).read_text(encoding="utf-8")


# ---- summary --------------------------------------------------------------------------------------------------------


def _summary_section(facts: Facts, title: str, n_caveats: int) -> Html:
    """Title, two sentences, three numbers."""
    counts = facts.counts
    numbers = [
        ("certain", "Certain", counts.n_certain, "clearly in one cluster"),
        ("torn", "Torn", counts.n_torn, "between clusters; the data cannot say"),
        ("outlying", "Outliers", counts.n_outliers, "like none of the clusters"),
    ]
    cards = [
        tag(
            "div",
            tag("dt", tag("span", "", class_=f"key bar-{kind}"), name),
            tag(
                "dd",
                tag("strong", f"{number:,}"),
                tag("span", format_share(number, counts.n_objects), class_="share"),
                tag("small", words),
            ),
        )
        for kind, name, number, words in numbers
    ]
    link = tag("a", f"{format_count(n_caveats, 'thing')} to bear in mind", href="#caveats")
    return tag(
        "header",
        tag("p", "Evidential clustering report", class_="overline"),
        tag("h1", title),
        tag("p", f"{describe_run(facts)} {describe_outcome(facts)}", class_="lede"),
        tag("dl", cards, class_="numbers"),
        answer_bar(counts.n_certain, counts.n_torn, counts.n_outliers),
        tag("p", link, " before you act.", class_="mind") if n_caveats else None,
        id="top",
    )


# ---- map ------------------------------------------------------------------------------------------------------------

MAX_LEGEND_ENTRIES = 20  # a longer legend scrolls
MAX_STILL_OBJECTS = 1500  # objects of the picture that needs no script
MAX_STILL_NAMES = 30
MAX_NAMES_CHARACTERS = 600_000  # all names of objects together
_LEVELS = 65_534  # steps of a coordinate; 65,535 says that it is unknown
_HOW_TO_MOVE = " Drag to move; zoom by the buttons, by pinching, or by Ctrl and the wheel."


def _map_section(facts: Facts, coordinates: MapCoordinates) -> Html:
    """A plot with menus and a legend, and a still picture for paper."""
    n, m = facts.counts.n_objects, len(coordinates.rows)
    size = f"{m:,} of {n:,} objects" if m < n else f"{n:,} objects"
    caption = f"{size}; {coordinates.how}. Two colors: torn between these clusters. Cross: outlier."
    buttons = (("+", "in", "zoom in"), ("−", "out", "zoom out"), ("⟲", "reset", "whole map"))
    zoom = [
        tag("button", sign, type="button", class_="square", data_zoom=what, aria_label=label)
        for sign, what, label in buttons
    ]
    menus = tag(
        "div",
        _axis_menu("x", "Across", coordinates.axes, coordinates.first[0]),
        _axis_menu("y", "Upwards", coordinates.axes, coordinates.first[1]),
        tag("div", *zoom, class_="zoom"),
        class_="menus",
    )
    has_edge = any(axis.inner != axis.ends for axis in (coordinates.axes[a] for a in coordinates.first))
    left_out = None
    if coordinates.n_left_out:
        left_out = f" The menus have the {len(coordinates.axes) - 3} columns that differ most between the clusters."
    figure = tag(
        "figure",
        tag("div", menus, _legend(facts), class_="live", hidden=True),
        tag(
            "div",
            tag("div", "", id="plot", aria_label=f"Scatter plot of {caption}"),
            tag("div", "", class_="tip", id="tip", role="status", hidden=True),
            class_="live stage",
            hidden=True,
        ),
        _still_map(facts, coordinates, caption),
        tag(
            "figcaption",
            caption,
            left_out,
            tag("span", " Objects far from all others are drawn at the edge.", class_="still") if has_edge else None,
            tag("span", "", class_="live", id="outside", hidden=True),
            tag("span", _HOW_TO_MOVE, class_="live", hidden=True),
        ),
    )
    return tag("section", tag("h2", "Map"), figure, id="map-section", aria_label="Map")


def _axis_menu(name: str, label: str, axes: list[Axis], selected: int) -> Html:
    options = [tag("option", axis.name, value=a, selected=a == selected) for a, axis in enumerate(axes)]
    return tag("label", f"{label} ", tag("select", options, id=f"axis-{name}"))


def _legend(facts: Facts) -> Html:
    """A box to tick for each cluster, for torn objects and for outliers."""
    entries = [
        (str(k), swatch((k,)), facts.data.cluster_name(k), int(facts.counts.certain[k]))
        for k in range(facts.counts.n_clusters)
    ]
    if facts.counts.n_torn:
        entries.append(("torn", swatch((0, 1)), "between clusters", facts.counts.n_torn))
    if facts.counts.n_outliers:
        entries.append(("none", swatch(()), "outliers", facts.counts.n_outliers))
    boxes = [
        tag(
            "label",
            tag("input", type="checkbox", checked=True, data_show=key),
            mark,
            tag("bdi", name),
            tag("span", f"{number:,}", class_="count"),
        )
        for key, mark, name, number in entries
    ]
    all_or_none = [
        tag("button", words, type="button", class_="plain", data_all=key)
        for words, key in (("All", "1"), ("None", "0"))
    ]
    return tag(
        "fieldset",
        tag("legend", "Shown", class_="unseen"),
        all_or_none if len(entries) > 3 else None,
        boxes,
        class_="legend many" if len(entries) > MAX_LEGEND_ENTRIES else "legend",
    )


def _still_map(facts: Facts, coordinates: MapCoordinates, caption: str) -> Html:
    """The map for paper, and where no script runs."""
    partition, m = facts.data.partition, len(coordinates.rows)
    some = np.arange(m) if m <= MAX_STILL_OBJECTS else np.unique(np.linspace(0, m - 1, MAX_STILL_OBJECTS).astype(int))
    axes = [coordinates.axes[a] for a in coordinates.first]
    names = [facts.data.cluster_name(k) for k in range(facts.counts.n_clusters)]
    return scatter(
        np.column_stack([np.clip(axis.values[some], *axis.inner) for axis in axes]),
        list(partition.focal_sets),
        partition.best_set[coordinates.rows[some]],
        names if len(names) <= MAX_STILL_NAMES else [],
        f"Scatter plot of {caption}",
        one_unit=all(axis.kind == "component" for axis in axes),
    )


def _map_data(facts: Facts) -> str:
    """What the script draws, in base64, which holds no character that could end the element."""
    coordinates, data = facts.coordinates, facts.data
    if coordinates is None:
        return ""
    names = None
    if not data.objects.are_positions:
        names = [data.objects[i] for i in coordinates.rows]
        if sum(map(len, names)) > MAX_NAMES_CHARACTERS:
            names = [short_name(name, max(MAX_NAMES_CHARACTERS // len(names), 8)) for name in names]
    axes = [
        {
            "name": a.name,
            "kind": a.kind,
            "low": a.ends[0],
            "high": a.ends[1],
            "inner": a.inner,
            "categories": a.categories,
        }
        for a in coordinates.axes
    ]
    content = pack_objects(
        data.partition[coordinates.rows],
        coordinates.rows,
        {"levels": np.concatenate([_quantize(axis) for axis in coordinates.axes])},
        axes=axes,
        names=names,
        clusters=[data.cluster_name(k) for k in range(facts.counts.n_clusters)],
        labels=[short_name(name, 24) for name in data.partition.frame],
    )
    return base64.b64encode(content).decode("ascii")


def _quantize(axis: Axis) -> np.ndarray:
    """Return the values in steps between the smallest and the largest one."""
    low, high = axis.ends
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.round((axis.values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0) * _LEVELS)
    return np.where(np.isfinite(axis.values), steps, _LEVELS + 1).astype(np.uint16)


# ---- clusters -------------------------------------------------------------------------------------------------------

N_OPEN_CARDS = 12  # further cards are folded
N_CARD_ATTRIBUTES = 4
MAX_HEAT_COLUMNS, MAX_HEAT_ROWS = 24, 20  # a longer heat map scrolls


def _clusters_section(facts: Facts) -> Html:
    """A table of all clusters, the attributes in which each differs, and the heat map."""
    profiles = facts.profiles
    cards = [] if profiles is None else [_cluster_card(facts, profiles, k) for k in range(facts.counts.n_clusters)]
    more = None
    if len(cards) > N_OPEN_CARDS:
        words = f"{format_count(len(cards) - N_OPEN_CARDS, 'more cluster')} in words"
        more = tag("details", tag("summary", words), tag("div", cards[N_OPEN_CARDS:], class_="cards"))
    return tag(
        "section",
        tag("h2", "The clusters"),
        _cluster_table(facts),
        tag("div", cards[:N_OPEN_CARDS], class_="cards") if cards else None,
        more,
        _heat_map(facts, profiles) if profiles is not None and facts.counts.n_clusters > 1 else None,
        id="clusters",
        aria_label="The clusters",
    )


def _object_link(facts: Facts, position: int, limit: int = 60) -> Html:
    """The name of an object; the script makes it a link to the map."""
    name = short_name(facts.data.objects[position], limit)
    return tag("span", tag("bdi", name), class_="object", data_object=position)


def _cluster_table(facts: Facts) -> Html:
    counts, trust = facts.counts, facts.trust
    columns = [
        Column("Cluster"),
        Column("Certain and possible", sorts=False),
        Column("Certain", is_number=True),
        Column("Possible", is_number=True),
    ]
    measures = []
    if trust.silhouette is not None:
        measures.append(trust.silhouette.per_cluster()["certain_mean"].to_numpy(dtype=float))
        columns.append(Column("Silhouette", is_number=True))
    if trust.jaccard is not None:
        measures.append(trust.jaccard)
        columns.append(Column("Stability", is_number=True))
    if facts.profiles is not None:
        columns.append(Column("Typical objects", sorts=False, is_extra=True))
    rows = []
    for k in range(counts.n_clusters):
        certain, possible = int(counts.certain[k]), int(counts.possible[k])
        row: list[Any] = [
            (tag("span", swatch((k,)), tag("bdi", facts.data.cluster_name(k)), class_="cluster"), k),
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
    certain, possible = int(facts.counts.certain[cluster]), int(facts.counts.possible[cluster])
    size = format_count(certain) + (f", {possible - certain:,} more possible" if possible > certain else "")
    differences = [
        tag(
            "li",
            tag("strong", tag("bdi", one.label)),
            f" {one.words}: ",
            tag("span", one.value, class_="value"),
            tag("span", f" (rest {one.rest})", class_="quiet"),
        )
        for one in profiles.differences(cluster, N_CARD_ATTRIBUTES)
    ]
    words = tag("ul", differences) if differences else tag("p", "Like the rest.")
    if not certain:
        words = tag("p", "No object is certain of it.")
    typical = tag("p", "Typical: ", _typical_objects(facts, profiles, cluster), class_="quiet typical")
    return tag(
        "article",
        tag("h3", swatch((cluster,)), tag("bdi", facts.data.cluster_name(cluster))),
        tag("p", size, class_="quiet"),
        words,
        typical if certain else None,
        class_="card",
    )


def _heat_map(facts: Facts, profiles: ClusterProfiles) -> Html:
    """A cell for each cluster and attribute: its mean, shaded by how much it differs from the rest."""
    columns = profiles.strongest(MAX_HEAT_COLUMNS)
    features = [profiles.profile.features[q] for q in columns]
    delta, mean = profiles.profile.statistics["delta"], profiles.profile.statistics["mean"]
    rows = []
    for g, group in enumerate(profiles.profile.groups[: facts.counts.n_clusters]):
        cells = [
            tag("td", feature.attribute.format(float(mean[g, q])), class_=f"number {_shade(delta[g, q])}".strip())
            for q, feature in zip(columns, features, strict=True)
        ]
        rows.append(tag("tr", tag("th", swatch(group.clusters), tag("bdi", group.name), scope="row"), cells))
    n_features = len(profiles.profile.features)
    words = "Mean of each attribute by cluster, or the share of a category. "
    if len(columns) < n_features:
        words += f"Shown are the {len(columns)} that differ most, of {n_features:,}."
    shades = (("lower", " low-8"), ("", " low-4"), ("", ""), ("", " high-4"), ("higher", " high-8"))
    key = [tag("span", text, class_=f"key-cell{shade}") for text, shade in shades]
    head = [tag("th", tag("bdi", _breakable(feature.label)), scope="col") for feature in features]
    heat = tag(
        "table",
        tag("caption", words),
        tag("thead", tag("tr", tag("th", "Cluster", scope="col"), head)),
        tag("tbody", rows),
        class_="heat",
    )
    kind = "scroll tall" if len(rows) > MAX_HEAT_ROWS else "scroll"
    return tag(
        "div",
        tag("h3", "What differs"),
        tag("p", *key, " than the rest", class_="heat-key"),
        tag("div", heat, class_=kind, tabindex=0, role="region", aria_label="Means by cluster"),
    )


def _breakable(name: str) -> list[Any]:
    """A name that may be broken after its separators."""
    parts = re.split(r"(?<=[_/.\-])", name)
    return [piece for part in parts for piece in (part, tag("wbr"))][:-1]


def _shade(delta: float) -> str:
    """The class of a shade: Cliff's delta in tenths."""
    if np.isnan(delta):
        return ""
    strength = min(int(abs(delta) * _SHADES), _SHADES)
    return f"{'high' if delta > 0 else 'low'}-{strength}" if strength else ""


# ---- doubtful objects -----------------------------------------------------------------------------------------------


def _doubt_section(facts: Facts) -> Html:
    """Pairs of clusters, torn objects and outliers."""
    counts = facts.counts
    body = []
    if facts.pairs:
        body.append(_pair_table(facts))
    if counts.n_torn:
        heading = format_count(counts.n_torn, "torn object")
        body.append(_object_table(facts, facts.torn, counts.n_torn, heading, "Torn objects, the most doubtful first"))
    if counts.n_outliers:
        heading = format_count(counts.n_outliers, "outlier")
        body.append(
            _object_table(facts, facts.outliers, counts.n_outliers, heading, "Outliers, the clearest first", torn=False)
        )
    if not body:
        body.append(tag("p", "No object is torn between clusters, and none is an outlier."))
    return tag("section", tag("h2", "The doubtful"), *body, id="doubt", aria_label="The doubtful")


def _pair_table(facts: Facts) -> Html:
    is_explained = facts.profiles is not None
    columns = [Column("Hard to tell apart"), Column("Objects between", is_number=True)]
    columns += [Column("What tells them apart", is_wide=True, sorts=False)] if is_explained else []
    rows = []
    for pair in facts.pairs:
        names = [tag("bdi", facts.data.cluster_name(k)) for k in pair.clusters]
        both = tag("span", swatch(pair.clusters), names[0], " and ", names[1], class_="cluster")
        rule = [sentence(pair.rule), tag("small", describe_separation(pair.separation))]
        row = [(both, pair.clusters[0]), (f"{pair.n_objects:,}", pair.n_objects)]
        rows.append([*row, rule] if is_explained else row)
    heading = tag("h3", "Clusters that are hard to tell apart")
    return tag("div", heading, table("pair-table", "Pairs of clusters", columns, rows))


def _object_table(
    facts: Facts, objects: Sequence[DoubtfulObject], total: int, heading: str, caption: str, *, torn: bool = True
) -> Html:
    n_explained = sum(1 for one in objects if one.reasons)
    which = "the most doubtful" if torn else "the clearest"
    words = f"The table has {which} {len(objects):,}" if len(objects) < total else "The table has all of them"
    if 0 < n_explained < len(objects):
        words += f", the first {n_explained} with their reasons"
    columns = [
        Column("Object"),
        Column("Torn between" if torn else "Nearest cluster"),
        Column("Doubt" if torn else "Mass", is_number=True),
    ]
    columns += [Column("Why", is_wide=True, sorts=False)] if n_explained else []
    partition, rows = facts.data.partition, []
    for one in objects:
        clusters = np.flatnonzero(partition.focal_sets.membership[partition.best_set[one.position]])
        answer, measure = (one.answer, one.doubt) if torn else (one.label, one.mass)
        cell = tag("span", swatch([int(k) for k in clusters]), tag("bdi", answer), class_="cluster")
        reasons = [tag("p", sentence(reason)) for reason in one.reasons] or "–"
        row = [_object_link(facts, one.position), cell, (f"{measure:.2f}", round(measure, 6))]
        rows.append([*row, reasons] if n_explained else row)
    return tag(
        "div",
        tag("h3", heading),
        tag("p", f"{words}.", class_="quiet"),
        table("torn-table" if torn else "outlier-table", caption, columns, rows),
    )


# ---- trust ----------------------------------------------------------------------------------------------------------


def _trust_section(facts: Facts, listed: Sequence[str]) -> Html:
    """Verdicts, the charts behind them, and caveats."""
    found = [tag("article", tag("h3", heading), tag("p", words), class_="card") for heading, words in verdicts(facts)]
    charts, number, kept = [], facts.number, facts.trust.kept
    if number is not None and len(number) > 1:
        words = f"Support for each number of clusters, largest for {number.best}"
        chart = line_chart(
            number.n_clusters,
            number.support,
            across="number of clusters",
            upwards="support",
            words=words,
            marked=int(number.support.argmax()),
            low=0,
            high=1,
        )
        charts.append(tag("figure", tag("h3", "How many clusters"), chart, tag("figcaption", f"{words}.")))
    if kept is not None:
        words = "Agreement with the known classes when only the surest objects are kept"
        chart = line_chart(
            kept.share,
            kept.quality,
            across="share of the objects kept",
            upwards="adjusted Rand index",
            words=words,
            percent=True,
            low=min(0.0, float(kept.quality.min())),
            high=1,
        )
        charts.append(tag("figure", tag("h3", "What the doubt is worth"), chart, tag("figcaption", f"{words}.")))
    mind = tag("ul", [tag("li", words) for words in listed], class_="caveats")
    return tag(
        "section",
        tag("h2", "How far to trust it"),
        tag("div", found, class_="verdicts") if found else tag("p", "Nothing could be measured here; see below why."),
        tag("div", charts, class_="charts") if charts else None,
        tag("div", tag("h3", "To bear in mind"), mind, id="caveats") if listed else None,
        id="trust",
        aria_label="How far to trust it",
    )


# ---- how to repeat it -----------------------------------------------------------------------------------------------

MAX_SETTING_CHARACTERS, MAX_CHOICE_CHARACTERS = 120, 300


def _repeat_section(facts: Facts) -> Html:
    """Command, code, settings and versions that give the same result."""
    data = facts.data
    recipe = data.recipe
    run = _describe_run(facts) | ({"read from": data.file_names} if data.file_names else {})
    return tag(
        "section",
        tag("h2", "Do it again"),
        _code_block("Command", None if recipe is None else recipe.to_command(), "command"),
        _code_block("Python", _write_code(data) if recipe is None else recipe.to_code(), "code"),
        tag("div", _settings(data), tag("div", tag("h3", "Run"), _entries(run), id="run"), class_="lists"),
        _convergence_chart(facts.history),
        id="repeat",
        aria_label="Do it again",
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
    """Write Python code that fits the model again; None for a partition alone."""
    if data.estimator is None:
        return None
    imports: dict[str, set[str]] = {"dempster.apps.report": {"make_report"}}
    for part in _nested_estimators(data.estimator):
        names = type(part).__module__.split(".")
        if names[0] in ("dempster", "sklearn"):  # people import from the package, not from the file
            names = [name for name in names[:2] if not name.startswith("_")]
        imports.setdefault(".".join(names), set()).add(type(part).__name__)
    more = "".join(f", {name}={name}" for name in data.fit_params)
    return "\n".join(
        [
            *(f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())),
            "",
            f"model = {data.estimator!r}",
            f"model.fit(X{more})  # X: the same {'dissimilarities' if data.is_pairwise else 'table'}",
            'make_report(model, X).save("report.html")',
        ]
    )


def _nested_estimators(estimator: Any) -> list[Any]:
    steps = [step for _, step in getattr(estimator, "steps", []) if step not in ("passthrough", None)]
    return [estimator, *(part for step in steps for part in _nested_estimators(step))]


def _entries(entries: dict[str, str]) -> Html:
    rows = [tag("div", tag("dt", key), tag("dd", tag("bdi", value))) for key, value in entries.items()]
    return tag("dl", rows, class_="entries")


def _settings(data: ReportInput) -> Html | None:
    """Parameters of the method: those that were set or chosen, and those left at their defaults."""
    model = data.model
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else data.metadata.get("parameters", {})
    defaults = {} if model is None else inspect.signature(type(model)).parameters
    choices = data.metadata.get("choices", {})
    changed: dict[str, str] = {}
    unchanged: dict[str, str] = {}
    for name, value in parameters.items():
        words = _format_setting(value)
        default = defaults[name].default if name in defaults else inspect.Parameter.empty
        if name in choices:
            changed[name] = f"{words}: {short_name(choices[name], MAX_CHOICE_CHARACTERS)}"
        elif type(value) is type(default) and repr(value) == repr(default):
            unchanged[name] = words
        else:
            changed[name] = words
    if not changed and not unchanged:
        return None
    rest = None
    if unchanged:
        rest = tag("details", tag("summary", f"{len(unchanged)} at their defaults"), _entries(unchanged))
    return tag("div", tag("h3", "Settings"), _entries(changed), rest, id="settings")


def _describe_run(facts: Facts) -> dict[str, str]:
    import scipy
    import sklearn

    metadata = facts.data.metadata
    run = {}
    if (method := metadata.get("method")) is not None:
        run["method"] = str(method)
    if (objective := metadata.get("objective")) is not None:
        run["objective"] = f"{float(objective):.6g}"
    if (n_iter := metadata.get("n_iter")) is not None:
        converged = metadata.get("converged")
        end = "" if converged is None else ", converged" if converged else ", not converged"
        run["iterations"] = f"{int(n_iter):,}{end}"
    if "random_state" in metadata:
        run["seed"] = _format_setting(metadata["random_state"])
    run["nonspecificity"] = f"{facts.data.partition.nonspecificity_index():.3f} (0 certain, 1 nothing known)"
    run |= {"dempster": dempster.__version__, "Python": platform.python_version(), "NumPy": np.__version__}
    return run | {"SciPy": scipy.__version__, "scikit-learn": sklearn.__version__}


def _format_setting(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"a {type(value).__name__}, whose state is not known"
    return short_name(value if isinstance(value, str) else repr(value), MAX_SETTING_CHARACTERS)


def _convergence_chart(history: np.ndarray) -> Html | None:
    if len(history) < 3:
        return None
    some = np.unique(np.linspace(0, len(history) - 1, 200).astype(int))
    words = f"Objective after each of {len(history):,} iterations, {history[0]:.4g} to {history[-1]:.4g}"
    chart = line_chart(some + 1, history[some], across="iteration", upwards="objective", words=words)
    figure = tag("figure", chart, tag("figcaption", f"{words}."))
    return tag("details", tag("summary", "How the method converged"), figure)
