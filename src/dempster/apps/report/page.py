"""Render the sections of a report as one HTML page."""

from __future__ import annotations

import base64
import datetime
import hashlib
import inspect
import json
import platform
from collections.abc import Mapping, Sequence
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
from dempster.apps.report.facts import Counts, DoubtfulObject, Facts
from dempster.apps.report.html import (
    Column,
    Html,
    Locator,
    answer_bar,
    button,
    cluster_bar,
    dendrogram,
    fill_template,
    line_chart,
    region,
    scatter,
    swatch,
    table,
    tag,
)
from dempster.apps.report.report_input import ReportInput, short_name
from dempster.apps.report.wording import (
    caveats,
    describe_separation,
    summarize,
    verdicts,
    warnings_of_fit,
)
from dempster.cluster import ConformalClustering
from dempster.cluster.conformal import MIN_STABILITY
from dempster.plot import DendrogramDisplay
from dempster.plot.palette import PALETTE

_STATIC = Path(__file__).parent / "static"


def render_page(facts: Facts, title: str) -> str:
    """Render the report as one HTML file that contains its style, script and data."""
    counts = facts.counts
    coordinates = facts.coordinates
    conformal = facts.data.conformal
    listed = list(caveats(facts))
    layers = ("layers", "Layers", facts.layers and _layers_section(facts))
    has_many_clusters = counts.n_clusters > MAX_LEGEND_CLUSTERS
    sections: list[tuple[str, str, Any]] = [
        *([layers] if has_many_clusters else []),
        ("map-section", "Map", coordinates and _map_section(facts, coordinates)),
        ("clusters", "Clusters", _clusters_section(facts)),
        *([] if has_many_clusters else [layers]),
        ("doubt", "Doubtful objects", _doubt_section(facts)),
        ("sets", "Sets with a guarantee", conformal and _sets_section(conformal)),
        ("trust", "Reliability", _trust_section(facts, listed)),
        ("repeat", "Reproduce", _repeat_section(facts)),
    ]
    sections = [section for section in sections if section[-1]]
    advice = None
    if listed:
        link = tag("a", format_count(len(listed), "limitation"), href="#caveats")
        advice = tag(
            "p", "Note the ", link, " before you use the result.", class_="mind"
        )
    script = _read_script()
    style = (_STATIC / "page.css").read_text(encoding="utf-8")
    # The content security policy allows only this script and this style, and forbids all requests.
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    page = fill_template(
        _STATIC / "page.html",
        policy=policy,
        title=title,
        style=Html(style),
        links=[tag("a", heading, href=f"#{name}") for name, heading, _ in sections],
        warnings=_warnings(facts),
        summary=" ".join(summarize(facts)),
        copy=button(
            "Copy this summary", "plain live", data_copy="summary", hidden=True
        ),
        n_certain=f"{counts.n_certain:,}",
        n_ambiguous=f"{counts.n_ambiguous:,}",
        n_outliers=f"{counts.n_outliers:,}",
        share_certain=format_share(counts.n_certain, counts.n_objects),
        share_ambiguous=format_share(counts.n_ambiguous, counts.n_objects),
        share_outliers=format_share(counts.n_outliers, counts.n_objects),
        answer_bar=answer_bar(counts),
        advice=advice,
        sections=[
            tag("section", tag("h2", heading), content, id=name, aria_label=heading)
            for name, heading, content in sections
        ],
        version=dempster.__version__,
        date=datetime.date.today(),
        data=coordinates and _encode(_pack_map(facts, coordinates)),
        script=Html(script),
    )
    return f"<!doctype html>\n{page}\n"


def _warnings(facts: Facts) -> Html | None:
    """Return a box with the warnings of the fit; None if there are none."""
    texts = list(warnings_of_fit(facts))
    if not texts:
        return None
    return tag(
        "div", [tag("p", text) for text in texts], class_="warnings", role="note"
    )


def _digest(text: str) -> str:
    return f"'sha256-{_encode(hashlib.sha256(text.encode()).digest())}'"


def _encode(content: bytes) -> str:
    """Encode bytes as base64, which cannot contain the end tag of a script element."""
    return base64.b64encode(content).decode("ascii")


@cache
def _read_script() -> str:
    """Return one script that contains the map and the scripts of the report."""
    files = [STATIC_FOLDER / name for name in ("scatter.js", "partition_map.js")]
    files += [
        _STATIC / name for name in ("page.js", "tables.js", "review.js", "map.js")
    ]
    return join_modules(files)


# ---- map -----------------------------------------------------------------------------------------

# Clusters with more have a search field instead of a legend, and repeated colors.
MAX_LEGEND_CLUSTERS = len(PALETTE)
# maximum numbers of objects and cluster names on the map for print
MAX_STATIC_OBJECTS = 1500
MAX_STATIC_NAMES = 30


def _map_section(facts: Facts, coordinates: MapCoordinates) -> Html:
    """Return the interactive map, its menus and legend, and a static map for print."""
    n = facts.counts.n_objects
    m = len(coordinates.rows)
    size = f"{n:,} objects"
    if m < n:
        size = f"{m:,} of {size}"
    caption = (
        f"{size}; {coordinates.how}. Two colors: ambiguous "
        "between these clusters. Cross: outlier."
    )
    x, y = (coordinates.axes[a] for a in coordinates.first)
    left_out = None
    if coordinates.n_left_out:
        left_out = (
            f" The menus list the {len(coordinates.axes) - 3} columns that differ most "
            "between the clusters."
        )
    edge = None
    if x.inner != x.ends or y.inner != y.ends:
        edge = tag(
            "span",
            " Objects far from the others are shown at the edge.",
            class_="still",
        )
    return fill_template(
        _STATIC / "map.html",
        x_options=_axis_options(coordinates.axes, x),
        y_options=_axis_options(coordinates.axes, y),
        layers=_layer_menu(facts),
        legends=_legends(facts),
        caption=caption,
        static_map=_static_map(facts, coordinates, caption),
        left_out=left_out,
        edge=edge,
    )


def _axis_options(axes: list[Axis], selected: Axis) -> list[Html]:
    return [
        tag("option", axis.name, value=a, selected=axis is selected)
        for a, axis in enumerate(axes)
    ]


def _pack_map(facts: Facts, coordinates: MapCoordinates) -> bytes:
    layers = [{"groups": one.groups, "names": one.names} for one in facts.layers]
    return pack_coordinates(facts.data, coordinates, layers=layers)


def _layer_menu(facts: Facts) -> Html | None:
    """Return a menu of the layers, in which the finest one with a legend is selected."""
    if not facts.layers:
        return None
    numbers = [
        facts.counts.n_clusters,
        *(one.counts.n_clusters for one in facts.layers),
    ]
    shown = next((k for k in numbers if k <= MAX_LEGEND_CLUSTERS), numbers[0])
    options = [
        tag("option", format_count(k, "cluster"), value=layer, selected=k == shown)
        for layer, k in enumerate(numbers)
    ]
    return tag("label", "Layer ", tag("select", options, id="layer"))


def _legends(facts: Facts) -> list[Html]:
    """Return a legend for the clusters, and for each layer with few clusters."""
    named = [(facts.counts, facts.data.cluster_names)]
    named += [(one.counts, one.names) for one in facts.layers]
    return [
        tag(
            "fieldset",
            tag("legend", "Shown", class_="unseen"),
            _legend(counts, names),
            class_="legend",
            data_layer=layer,
        )
        for layer, (counts, names) in enumerate(named)
    ]


def _legend(counts: Counts, names: Sequence[str]) -> list[Html]:
    """Return check boxes for the clusters, for ambiguous objects and for outliers.

    Many clusters have a search field instead.
    """
    filled = np.flatnonzero(counts.possible).tolist()
    if len(filled) > MAX_LEGEND_CLUSTERS:
        options = [tag("option", value=names[k]) for k in filled]
        field = tag(
            "input",
            type="search",
            id="find-cluster",
            list="cluster-names",
            placeholder=names[filled[0]],
            autocomplete="off",
        )
        content = [
            tag("label", "Show only ", field, class_="find"),
            tag("datalist", options, id="cluster-names"),
        ]
        entries = []
    else:
        content = [button("All", data_all="1"), button("None", data_all="0")]
        entries = [
            (str(k), swatch((k,)), names[k], int(counts.certain[k])) for k in filled
        ]
    if counts.n_ambiguous:
        entries.append(("ambiguous", swatch((0, 1)), "ambiguous", counts.n_ambiguous))
    if counts.n_outliers:
        entries.append(("none", swatch(()), "outliers", counts.n_outliers))
    for key, mark, name, number in entries:
        box = tag("input", type="checkbox", checked=True, data_show=key)
        count = tag("span", f"{number:,}", class_="count")
        content.append(tag("label", box, mark, tag("bdi", name), count))
    return content


def _static_map(facts: Facts, coordinates: MapCoordinates, caption: str) -> Html:
    """Return the map for print and for browsers that do not run scripts."""
    partition = facts.data.partition
    sets = list(partition.focal_sets)
    m = len(coordinates.rows)
    some = np.unique(np.linspace(0, m - 1, min(m, MAX_STATIC_OBJECTS)).astype(int))
    axes = [coordinates.axes[a] for a in coordinates.first]
    names = facts.data.cluster_names
    if len(names) > MAX_STATIC_NAMES:
        names = []
    return scatter(
        np.column_stack([np.clip(axis.values[some], *axis.inner) for axis in axes]),
        [sets[k] for k in partition.best_set[coordinates.rows[some]]],
        names,
        f"Scatter plot of {caption}",
        equal_aspect=all(axis.kind == "component" for axis in axes),
    )


# ---- clusters ------------------------------------------------------------------------------------

N_OPEN_CARDS = 12  # number of expanded cards; the other cards are collapsed
N_CARD_ATTRIBUTES = 4
MAX_MEAN_COLUMNS = 24


def _clusters_section(facts: Facts) -> list[Any]:
    """Return a table of the clusters, a card for each cluster, and a table of means."""
    body = [_cluster_table(facts)]
    profiles = facts.profiles
    if profiles is not None:
        filled = np.flatnonzero(facts.counts.possible).tolist()
        cards = [_cluster_card(facts, profiles, k) for k in filled]
        body.append(tag("div", cards[:N_OPEN_CARDS], class_="cards"))
        if len(cards) > N_OPEN_CARDS:
            summary = format_count(len(cards) - N_OPEN_CARDS, "more cluster")
            more = tag("div", cards[N_OPEN_CARDS:], class_="cards")
            body.append(tag("details", tag("summary", summary), more))
        if facts.counts.n_clusters > 1:
            body.append(_mean_table(facts, profiles))
    return body


def _object_link(facts: Facts, position: int, limit: int = 60) -> Html:
    """Return the name of an object as an element that the script links to the map."""
    name = short_name(facts.data.object_name(position), limit)
    return tag("span", tag("bdi", name), class_="object", data_object=position)


def _name_clusters(clusters: Sequence[int], *names: Any) -> Html:
    return tag("span", swatch(clusters), *names, class_="cluster")


def _cluster_table(facts: Facts) -> Html:
    counts = facts.counts
    trust = facts.trust
    columns = [
        Column("Cluster"),
        Column("Certain and possible", is_sortable=False),
        Column("Certain", "number"),
        Column("Possible", "number"),
    ]
    measures = []
    if trust.silhouette is not None:
        measures.append(trust.silhouette.per_cluster()["certain_mean"].to_numpy())
        columns.append(Column("Silhouette", "number"))
    if trust.jaccard is not None:
        measures.append(trust.jaccard)
        columns.append(Column("Stability", "number"))
    largest = int(counts.possible.max(initial=1))
    rows = []
    for k in np.flatnonzero(counts.possible).tolist():
        certain = int(counts.certain[k])
        possible = int(counts.possible[k])
        name = [tag("bdi", facts.data.cluster_names[k])]
        if facts.data.descriptions[k]:
            name.append(tag("small", tag("bdi", facts.data.descriptions[k])))
        row: list[Any] = [
            (_name_clusters((k,), *name), k),
            cluster_bar(k, certain, possible, largest),
            certain,
            possible,
        ]
        rows.append(row + [float(values[k]) for values in measures])
    caption = "Clusters: certain and possible objects"
    return table("cluster-table", caption, columns, rows)


def _cluster_card(facts: Facts, profiles: ClusterProfiles, cluster: int) -> Html:
    certain = int(facts.counts.certain[cluster])
    possible = int(facts.counts.possible[cluster])
    size = format_count(certain)
    if possible > certain:
        size += f", {possible - certain:,} more possible"
    typical = None
    if not certain:
        body = tag("p", "This cluster has no certain object.")
    else:
        differences = profiles.differences(cluster, N_CARD_ATTRIBUTES)
        items = [tag("li", text) for text in differences or ["like the rest"]]
        body = tag("ul", items)
        links = [_object_link(facts, i, 28) for i in profiles.typical(cluster)]
        names = [part for link in links for part in (", ", link)][1:] or "–"
        typical = tag("p", "Typical: ", names, class_="quiet typical")
    return tag(
        "article",
        tag("h3", swatch((cluster,)), tag("bdi", facts.data.cluster_names[cluster])),
        tag("p", size, class_="quiet"),
        body,
        typical,
        class_="card",
    )


def _mean_table(facts: Facts, profiles: ClusterProfiles) -> Html:
    """Return the means of the clusters; colors show differences from the remaining objects."""
    profile = profiles.profile
    columns = [Column("Cluster", is_sortable=False)]
    selected = profiles.strongest(MAX_MEAN_COLUMNS)
    for q in selected:
        name = short_name(profile.features[q].label, 40)
        columns.append(Column(name, "number", is_sortable=False))
    delta = np.nan_to_num(profile.statistics["delta"])
    rows = []
    for k in np.flatnonzero(facts.counts.possible).tolist():
        name = facts.data.cluster_names[k]
        row = [_name_clusters((k,), tag("bdi", name))]
        for q in selected:
            mean = float(profile.statistics["mean"][k, q])
            direction = "higher" if delta[k, q] > 0 else "lower"
            shade = f"{direction}-{round(3 * abs(delta[k, q]))}"
            text = profile.features[q].attribute.format(mean)
            row.append(tag("span", text, class_=shade))
        rows.append(row)
    caption = "Mean of each attribute, or share of a category, of the certain objects"
    if len(selected) < len(profile.features):
        caption += (
            f" (the {len(selected)} of {len(profile.features):,} that differ most)"
        )
    note = [
        f"{caption}. Colors: ",
        tag("span", "lower", class_="lower-2"),
        " or ",
        tag("span", "higher", class_="higher-2"),
        " than the remaining objects.",
    ]
    return tag(
        "div",
        tag("h3", "All clusters"),
        tag("p", note, class_="quiet"),
        table("mean-table", "Means of all clusters", columns, rows),
    )


# ---- layers --------------------------------------------------------------------------------------

MAX_TREE_NAMES = 60


def _layers_section(facts: Facts) -> list[Any]:
    """Return the numbers of ambiguous objects of coarser partitions, and the dendrogram."""
    columns = [
        Column("Clusters", "number"),
        Column("Certain, ambiguous, outliers", is_sortable=False),
        Column("Ambiguous", "number"),
        Column("Share", "number"),
    ]
    rows = [
        [
            counts.n_clusters,
            answer_bar(counts),
            counts.n_ambiguous,
            format_share(counts.n_ambiguous, counts.n_objects),
        ]
        for counts in (facts.counts, *(one.counts for one in facts.layers))
    ]
    c = facts.counts.n_clusters
    names = [short_name(str(name), 10) for name in facts.data.partition.frame]
    drawn = DendrogramDisplay(tree=facts.data.partition.merge_tree, names=names)
    shown = []
    if c <= MAX_TREE_NAMES:
        shown = [names[k] for k in drawn.order]
    # A layer with k clusters is between the mergers c - k - 1 and c - k.
    similarity = drawn.brackets[:, 1, 1]
    steps = [c - one.counts.n_clusters for one in facts.layers]
    cuts = [np.sqrt(similarity[k - 1] * similarity[k]) for k in steps]
    description = (
        "Order in which clusters merge, by the logarithm of their similarity, from clusters with "
        "many common objects (bottom) to clusters with none (top); dashed lines are the layers"
    )
    note = (
        "Clusters with many objects between them merge first. An object between two "
        "clusters is certain where they merge."
    )
    return [
        tag("p", note, class_="quiet"),
        table("layer-table", "Layers", columns, rows),
        dendrogram(drawn.brackets, shown, cuts, description),
    ]


# ---- doubtful objects ----------------------------------------------------------------------------


def _doubt_section(facts: Facts) -> list[Any]:
    """Return tables of ambiguous pairs of clusters, ambiguous objects and outliers."""
    counts = facts.counts
    body: list[Any] = []
    if facts.pairs:
        body.append(_pair_table(facts))
    locator = _make_locator(facts)
    if locator is not None:
        body.append(locator.define())
    if counts.n_ambiguous or counts.n_outliers:
        body.append(_review_tools(facts))
    if counts.n_ambiguous:
        body.append(
            _object_table(
                facts.ambiguous,
                "ambiguous object",
                counts.n_ambiguous,
                "by decreasing doubt",
                ("Ambiguous between", "Doubt"),
                facts,
                locator,
            )
        )
    if counts.n_outliers:
        body.append(
            _object_table(
                facts.outliers,
                "outlier",
                counts.n_outliers,
                "by decreasing evidence that the object belongs to no cluster",
                ("Nearest cluster", "Evidence"),
                facts,
                locator,
            )
        )
    return body or [tag("p", "There are no ambiguous objects and no outliers.")]


def _make_locator(facts: Facts) -> Locator | None:
    """Return small maps of the objects on the map, or None without a map."""
    coordinates = facts.coordinates
    if coordinates is None:
        return None
    axes = [coordinates.axes[a] for a in coordinates.first]
    return Locator(
        np.column_stack([np.clip(axis.values, *axis.inner) for axis in axes]),
        facts.data.partition.labels[coordinates.rows],
        equal_aspect=all(axis.kind == "component" for axis in axes),
    )


def _review_tools(facts: Facts) -> Html:
    """Return the button that saves the list of doubtful objects, and the number of checked ones."""
    objects = [*facts.ambiguous, *facts.outliers]
    names = [facts.data.object_name(one.position) for one in objects]
    listed = "\n".join([*map(str, facts.data.cluster_names), *names])
    return tag(
        "div",
        button("Save the list (CSV)", id="save-review"),
        tag("span", "", id="checked", role="status"),
        class_="tools live",
        hidden=True,
        id="review",
        # The browser stores check marks and notes under the digest of the list.
        data_key=hashlib.sha256(listed.encode()).hexdigest()[:16],
    )


def _checked_name(facts: Facts, one: DoubtfulObject) -> Html:
    """Return the name of an object with a check box and a field for a note."""
    partition = facts.data.partition
    name = facts.data.object_name(one.position)
    frame = list(map(str, partition.frame))
    row = {
        "object": name,
        "cluster": frame[partition.labels[one.position]],
        "possible clusters": " or ".join(frame[k] for k in one.clusters) or "outlier",
        "doubt": round(one.doubt, 4),
    }
    box = tag(
        "input",
        type="checkbox",
        data_check=json.dumps(row),
        aria_label=f"{name} is checked",
    )
    note = tag("input", type="text", placeholder="note", aria_label=f"Note on {name}")
    return tag(
        "div",
        _object_link(facts, one.position),
        tag("span", box, class_="live", hidden=True),
        tag("span", note, class_="live note", hidden=True),
        class_="checked",
    )


def _pair_table(facts: Facts) -> Html:
    columns = [Column("Clusters"), Column("Ambiguous objects", "number")]
    if facts.profiles is not None:
        columns.append(Column("Best rule to separate them", "wide", is_sortable=False))
    rows = []
    for pair in facts.pairs:
        first, second = (tag("bdi", facts.data.cluster_names[k]) for k in pair.clusters)
        both = _name_clusters(pair.clusters, first, " and ", second)
        row: list[Any] = [(both, pair.clusters[0]), pair.n_objects]
        if facts.profiles is not None:
            quality = tag("small", describe_separation(pair.separation))
            row.append([pair.rule, quality])
        rows.append(row)
    heading = tag("h3", "Clusters that are hard to distinguish")
    return tag("div", heading, table("pair-table", "Pairs of clusters", columns, rows))


def _object_table(
    objects: Sequence[DoubtfulObject],
    noun: str,
    total: int,
    order: str,
    headings: tuple[str, str],
    facts: Facts,
    locator: Locator | None,
) -> Html:
    n_explained = sum(1 for obj in objects if obj.reasons)
    notes = f"Sorted {order}."
    if len(objects) < total:
        notes += f" The table has the first {len(objects):,}."
    if 0 < n_explained < len(objects):
        notes += f" The first {n_explained} are explained."
    columns = [Column("Object"), Column(headings[0]), Column(headings[1], "number")]
    if locator is not None:
        columns.append(Column("Place", "place", is_sortable=False))
    if n_explained:
        columns.append(Column("Explanation", "wide", is_sortable=False))
    rows = []
    for obj in objects:
        row: list[Any] = [
            _checked_name(facts, obj),
            _name_clusters(obj.clusters, tag("bdi", obj.answer)),
            obj.measure,
        ]
        if locator is not None:
            assert facts.coordinates is not None
            i = int(np.searchsorted(facts.coordinates.rows, obj.position))
            name = facts.data.object_name(obj.position)
            row.append(locator.draw(i, obj.clusters, name))
        if n_explained:
            row.append(_reasons(obj))
        rows.append(row)
    return tag(
        "div",
        tag("h3", format_count(total, noun)),
        tag("p", notes, class_="quiet"),
        table(f"{noun.split()[0]}-table", f"{noun.capitalize()}s", columns, rows),
    )


def _reasons(one: DoubtfulObject) -> list[Html] | str:
    """Return the first sentence of an explanation, and the others collapsed."""
    if not one.reasons:
        return "–"
    first, *others = one.reasons
    more = []
    if others:
        sentences = [tag("p", sentence) for sentence in others]
        more = [tag("details", tag("summary", "more"), sentences)]
    return [tag("p", first), *more]


# ---- conformal sets ------------------------------------------------------------------------------

_CONFIDENCES = np.linspace(0.5, 0.98, 25)


def _sets_section(conformal: ConformalClustering) -> list[Any]:
    """Return the sizes, coverage and stability of the conformal sets of clusters."""
    counts = np.bincount(conformal.sets_.sum(axis=1))
    n = len(conformal.sets_)
    columns = [
        Column("Clusters in the set"),
        Column("Objects", "number"),
        Column("Share", "number"),
    ]
    rows = []
    for size in np.flatnonzero(counts).tolist():
        number = int(counts[size])
        rows.append([(size or "none", size), number, format_share(number, n)])
    texts = {f"Confidence {conformal.confidence:.4g}": describe_guarantee(conformal)}
    if conformal.n_refits:
        verdict = "Warning: the clustering is not stable"
        if conformal.stability_ >= MIN_STABILITY:
            verdict = "The clustering is stable"
        texts[verdict] = describe_stability(conformal)
    return [
        _verdict_cards(texts),
        table("set-table", "Sizes of the sets of clusters", columns, rows),
        tag("div", _size_chart(conformal), class_="charts"),
    ]


def _size_chart(conformal: ConformalClustering) -> Html:
    """Return a chart of the mean number of clusters in a set by confidence.

    A set contains the clusters whose p-value is above 1 - confidence.
    """
    n = len(conformal.sets_)
    p_values = np.sort(
        np.asarray(conformal.credal_partition_.contour, float), axis=None
    )
    levels = np.union1d(_CONFIDENCES, conformal.confidence)
    n_excluded = np.searchsorted(p_values, (1 - levels) * (1 + 1e-9), "right")
    mean_size = conformal.sets_.sum() / n
    description = f"Mean number of clusters in a set by confidence, {mean_size:.2f} for this report"
    return line_chart(
        "Size and confidence",
        levels,
        (p_values.size - n_excluded) / n,
        "confidence",
        "mean number of clusters",
        description,
        marked=int(np.searchsorted(levels, conformal.confidence)),
        percent=True,
        limits=(0.0, float(conformal.n_clusters_)),
    )


# ---- trust ---------------------------------------------------------------------------------------


def _verdict_cards(texts: Mapping[str, str]) -> Html:
    cards = [
        tag("article", tag("h3", heading), tag("p", text), class_="card")
        for heading, text in texts.items()
    ]
    return tag("div", cards, class_="verdicts")


def _trust_section(facts: Facts, listed: Sequence[str]) -> list[Any]:
    """Return verdicts on the reliability of the partition, charts and caveats."""
    body = [_verdict_cards(verdicts(facts))]
    charts = []
    number = facts.number
    if number is not None and len(number) > 1:
        description = (
            f"Plausibility of each number of clusters; the best is {number.best}"
        )
        chart = line_chart(
            "Number of clusters",
            number.n_clusters,
            number.plausibility,
            "number of clusters",
            "plausibility",
            description,
            marked=int(np.flatnonzero(number.n_clusters == number.best)[0]),
            limits=(0, 1),
        )
        charts.append(chart)
    kept = facts.trust.kept
    if kept is not None:
        description = (
            "Agreement with the known classes if only the "
            "objects with the least doubt are kept"
        )
        chart = line_chart(
            "Retention curve",
            kept.share,
            kept.quality,
            "share of the objects kept",
            "adjusted Rand index",
            description,
            percent=True,
            limits=(min(0.0, float(kept.quality.min())), 1.0),
        )
        charts.append(chart)
    body.append(tag("div", charts, class_="charts"))
    if listed:
        limitations = tag(
            "ul", [tag("li", caveat) for caveat in listed], class_="caveats"
        )
        body.append(tag("div", tag("h3", "Limitations"), limitations, id="caveats"))
    return body


# ---- reproduction --------------------------------------------------------------------------------

MAX_SETTING_CHARACTERS = 120
MAX_CHOICE_CHARACTERS = 300


def _repeat_section(facts: Facts) -> list[Any]:
    """Return the command, code, settings and versions that reproduce the result."""
    data = facts.data
    blocks = []
    if data.recipe is not None:
        blocks.append(_code_block("Command", data.recipe.to_command(), "command"))
        blocks.append(_code_block("Python", data.recipe.to_code(), "code"))
    elif data.estimator is not None:
        blocks.append(_code_block("Python", _write_code(data), "code"))
    run = tag("div", tag("h3", "Run"), _entries(_describe_run(facts)), id="run")
    return [*blocks, tag("div", _settings(data), run, class_="lists")]


def _code_block(heading: str, text: str, name: str) -> Html:
    copy = button("Copy", "plain live", data_copy=name, hidden=True)
    return tag(
        "div",
        tag("div", tag("h3", heading), copy, class_="code-head"),
        region("pre", tag("code", text, id=name), heading),
    )


def _write_code(data: ReportInput) -> str:
    """Return Python code that fits the model."""
    estimator = data.conformal or data.estimator
    imports: dict[str, set[str]] = {"dempster.apps.report": {"make_report"}}
    for part in (estimator, *estimator.get_params().values()):
        if isinstance(part, type) or not hasattr(part, "get_params"):
            continue
        module = type(part).__module__
        names = module.split(".")
        if names[0] in ("dempster", "sklearn"):
            module = ".".join(names[:2])  # the public package of the class
        imports.setdefault(module, set()).add(type(part).__name__)
    lines = [
        f"from {module} import {', '.join(sorted(names))}"
        for module, names in sorted(imports.items())
    ]
    more = "".join(f", {name}={name}" for name in data.fit_params)
    content = "dissimilarities" if data.is_pairwise else "table"
    lines += [
        "",
        f"model = {estimator!r}",
        f"model.fit(X{more})  # X: the same {content}",
        'make_report(model, X).save("report.html")',
    ]
    return "\n".join(lines)


def _entries(entries: dict[str, str]) -> Html:
    rows = [
        tag("div", tag("dt", key), tag("dd", tag("bdi", value)))
        for key, value in entries.items()
    ]
    return tag("dl", rows, class_="entries")


def _settings(data: ReportInput) -> Html | None:
    """Return the parameters that the user set, and those that the method chose with the reasons."""
    metadata = data.partition.metadata
    choices = metadata.get("choices", {})
    defaults: Mapping[str, inspect.Parameter] = {}
    if data.model is not None:
        defaults = inspect.signature(type(data.model)).parameters
    entries = {}
    for name, value in metadata.get("parameters", {}).items():
        text = _format_setting(value)
        if name in choices:
            reason = short_name(choices[name], MAX_CHOICE_CHARACTERS)
            entries[name] = f"{text}: {reason}"
        elif name not in defaults or value != defaults[name].default:
            entries[name] = text
    if not entries:
        return None
    return tag("div", tag("h3", "Settings"), _entries(entries), id="settings")


def _describe_run(facts: Facts) -> dict[str, str]:
    data = facts.data
    metadata = data.partition.metadata
    run = {}
    if metadata.get("method") is not None:
        run["method"] = str(metadata["method"])
    if metadata.get("objective") is not None:
        run["objective"] = f"{float(metadata['objective']):.6g}"
    if metadata.get("n_iter") is not None:
        end: dict[Any, str] = {True: ", converged", False: ", not converged"}
        run["iterations"] = (
            f"{int(metadata['n_iter']):,}{end.get(metadata.get('converged'), '')}"
        )
    if "random_state" in metadata:
        run["seed"] = _format_setting(metadata["random_state"])
    nonspecificity = data.partition.nonspecificity_index()
    run["nonspecificity"] = f"{nonspecificity:.3f} (0 certain, 1 nothing known)"
    run |= {
        "dempster": dempster.__version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    if data.file_names:
        run["read from"] = data.file_names
    return run


def _format_setting(value: Any) -> str:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"{type(value).__name__} with unknown state"
    if not isinstance(value, str):
        value = repr(value)
    return short_name(value, MAX_SETTING_CHARACTERS)
