"""The clusters: how large, how sure, what is particular about each, and a map of what differs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dempster.apps.report._facts.described import Particular, called
from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._facts.naming import shortened
from dempster.apps.report._page.html import Html, tag
from dempster.apps.report._page.pictures import cluster_bar, swatch
from dempster.apps.report._page.tables import Column, table
from dempster.explain.words import numbered

__all__ = ["clusters_section", "object_link"]

_CARDS = 12  # clusters in words, before the others are asked for
_WORDS = 4  # attributes told of each
_HEAT_COLUMNS = 24
_SHADES = 10
_TALL = 20  # rows, beyond which the heat map scrolls


def clusters_section(facts: Facts) -> Html:
    """A table of all clusters, what is particular about each, and the heat map."""
    cards = [_card(facts, k) for k in range(facts.counts.n_clusters)] if facts.described is not None else []
    more = None
    if len(cards) > _CARDS:
        rest = len(cards) - _CARDS
        more = tag(
            "details",
            tag("summary", f"{numbered(rest, 'more cluster')} in words"),
            tag("div", cards[_CARDS:], class_="cards"),
        )
    return tag(
        "section",
        tag("h2", "The clusters"),
        _overview(facts),
        tag("div", cards[:_CARDS], class_="cards") if cards else None,
        more,
        _heat(facts),
        id="clusters",
        aria_label="The clusters",
    )


def object_link(facts: Facts, position: int, longest: int = 60) -> Html:
    """The name of an object; with a script it shows it on the map."""
    name = shortened(facts.case.objects[position], longest)
    return tag("span", tag("bdi", name), class_="object", data_object=position)


def _overview(facts: Facts) -> Html:
    counts, trust = facts.counts, facts.trust
    columns = [
        Column("Cluster"),
        Column("Certain and possible", sorts=False),
        Column("Certain", is_number=True),
        Column("Possible", is_number=True),
    ]
    silhouettes = jaccard = None
    if trust.silhouette is not None:
        silhouettes = trust.silhouette.per_cluster()["certain_mean"].to_numpy(dtype=float)
        columns.append(Column("Silhouette", is_number=True))
    if trust.drawn is not None:
        jaccard = trust.drawn.jaccard
        columns.append(Column("Stability", is_number=True))
    if facts.described is not None:
        columns.append(Column("Typical objects", sorts=False, is_extra=True))
    most = int(counts.possible.max(initial=1))
    rows = []
    for k in range(counts.n_clusters):
        certain, possible = int(counts.certain[k]), int(counts.possible[k])
        row: list[Any] = [
            (tag("span", swatch((k,)), tag("bdi", called(facts.case, k)), class_="cluster"), k),
            cluster_bar(k, certain, possible, most),
            (f"{certain:,}", certain),
            (f"{possible:,}", possible),
        ]
        row += [_measure(values[k]) for values in (silhouettes, jaccard) if values is not None]
        if facts.described is not None:
            row.append(_typical(facts, k))
        rows.append(row)
    return table("cluster-table", "Clusters: certain and possible objects", columns, rows, shown=20)


def _measure(value: float) -> tuple[str, float]:
    return ("–", -2.0) if np.isnan(value) else (f"{value:.2f}", round(float(value), 6))


def _typical(facts: Facts, cluster: int) -> Html:
    found = facts.described
    assert found is not None
    links = [object_link(facts, i, 28) for i in found.typical(cluster)]
    return tag("span", [part for link in links for part in (", ", link)][1:] or "–")


def _card(facts: Facts, cluster: int) -> Html:
    found, counts = facts.described, facts.counts
    assert found is not None
    particular = found.particular(cluster, _WORDS)
    more = int(counts.possible[cluster] - counts.certain[cluster])
    size = numbered(int(counts.certain[cluster])) + (f", {more:,} more possible" if more else "")
    words = tag("ul", [tag("li", _words(one)) for one in particular]) if particular else tag("p", "Like the rest.")
    if not counts.certain[cluster]:
        words = tag("p", "No object is certain of it.")
    return tag(
        "article",
        tag("h3", swatch((cluster,)), tag("bdi", called(facts.case, cluster))),
        tag("p", size, class_="quiet"),
        words,
        tag("p", "Typical: ", _typical(facts, cluster), class_="quiet typical") if counts.certain[cluster] else None,
        class_="card",
    )


def _words(one: Particular) -> list[Any]:
    return [
        tag("strong", tag("bdi", one.label)),
        f" {one.words}: ",
        tag("span", one.value, class_="value"),
        tag("span", f" (rest {one.rest})", class_="quiet"),
    ]


# ---- heat map -------------------------------------------------------------------------------------------------------


def _heat(facts: Facts) -> Html | None:
    """A cell for each group and attribute: its mean, shaded by how much it differs from the rest."""
    found = facts.described
    if found is None or facts.counts.n_clusters < 2:
        return None
    chosen = found.strongest(_HEAT_COLUMNS)
    features = [found.profile.features[q] for q in chosen]
    delta, mean = found.profile.statistics["delta"], found.profile.statistics["mean"]
    rows = []
    for g, group in enumerate(found.profile.groups[: facts.counts.n_clusters]):
        cells = [
            tag("td", feature.attribute.text(float(mean[g, q])), class_=f"number {_shade(float(delta[g, q]))}".strip())
            for q, feature in zip(chosen, features, strict=True)
        ]
        rows.append(tag("tr", tag("th", swatch(group.clusters), tag("bdi", group.name), scope="row"), cells))
    left_out = len(found.profile.features) - len(chosen)
    words = "Mean of each attribute by cluster, or the share of a category. " + (
        f"Shown are the {len(chosen)} that differ most, of {len(found.profile.features):,}." if left_out else ""
    )
    key = tag(
        "p",
        tag("span", "lower", class_="key-cell low-8"),
        tag("span", "", class_="key-cell low-4"),
        tag("span", "", class_="key-cell"),
        tag("span", "", class_="key-cell high-4"),
        tag("span", "higher", class_="key-cell high-8"),
        " than the rest",
        class_="heat-key",
    )
    head = [tag("th", tag("bdi", _breakable(feature.label)), scope="col") for feature in features]
    heat = tag(
        "table",
        tag("caption", words),
        tag("thead", tag("tr", tag("th", "Cluster", scope="col"), head)),
        tag("tbody", rows),
        class_="heat",
    )
    return tag(
        "div",
        tag("h3", "What differs"),
        key,
        tag(
            "div",
            heat,
            class_="scroll tall" if len(rows) > _TALL else "scroll",
            tabindex=0,
            role="region",
            aria_label="Means by cluster",
        ),
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
