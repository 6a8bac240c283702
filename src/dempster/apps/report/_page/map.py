"""The map of the objects: what the script draws, and a picture for paper."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from dempster.apps.report._facts.described import called
from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._facts.naming import shortened
from dempster.apps.report._facts.places import Axis
from dempster.apps.report._page.html import Html, tag
from dempster.apps.report._page.pictures import color_of, scatter, swatch
from dempster.explain import doubt_of

__all__ = ["map_section", "data_block"]

_LEVELS = 65_534  # of a coordinate; 65,535 says that it is not known
_MOST_TEXT = 600_000  # characters of the names of the objects
_HOW_TO_MOVE = " Drag to move; zoom by the buttons, by pinching, or by Ctrl and the wheel."
_MANY = 20  # entries of the legend, beyond which it has a frame and scrolls
_NAMED = 30  # clusters with their names on paper
_ON_PAPER = 1500  # objects of the picture that needs no script


def map_section(facts: Facts) -> Html | None:
    """A canvas with menus and a legend, and a still picture for paper; None where there is nothing to draw."""
    places = facts.places
    if places is None:
        return None
    n = facts.counts.n_objects
    size = f"{len(places.rows):,} of {n:,} objects" if len(places.rows) < n else f"{n:,} objects"
    caption = f"{size}; {places.how}. Two colors: torn between these clusters. Cross: outlier."
    menus = tag(
        "div",
        _menu("x", "Across", places.axes, places.first[0]),
        _menu("y", "Upwards", places.axes, places.first[1]),
        tag(
            "div",
            *(
                tag("button", sign, type="button", class_="square", data_zoom=what, aria_label=label)
                for sign, what, label in (("+", "in", "zoom in"), ("−", "out", "zoom out"), ("⟲", "reset", "whole map"))
            ),
            class_="zoom",
        ),
        class_="menus",
    )
    far = any(axis.inner != _ends(axis) for axis in (places.axes[a] for a in places.first))
    left_out = None
    if places.n_left_out:
        left_out = f" The menus have the {len(places.axes) - 3} columns that differ most between the clusters."
    return tag(
        "section",
        tag("h2", "Map"),
        tag(
            "figure",
            tag("div", menus, _legend(facts), class_="live", hidden=True),
            tag(
                "div",
                tag("canvas", tabindex=0, role="img", aria_label=f"Scatter plot of {caption}", id="map"),
                tag("div", "", class_="tip", id="tip", role="status", hidden=True),
                class_="live stage",
                hidden=True,
            ),
            _still(facts, caption),
            tag(
                "figcaption",
                caption,
                left_out,
                tag("span", " Objects far from all others are drawn at the edge.", class_="still") if far else None,
                tag("span", "", class_="live", id="outside", hidden=True),
                tag("span", _HOW_TO_MOVE, class_="live", hidden=True),
            ),
        ),
        id="map-section",
        aria_label="Map",
    )


def _ends(axis: Axis) -> tuple[float, float]:
    known = axis.values[np.isfinite(axis.values)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)


def _menu(name: str, label: str, axes: list[Axis], chosen: int) -> Html:
    options = [tag("option", axis.name, value=a, selected=a == chosen) for a, axis in enumerate(axes)]
    return tag("label", f"{label} ", tag("select", options, id=f"axis-{name}"))


def _legend(facts: Facts) -> Html:
    """A box to tick for each cluster, for torn objects and for outliers."""
    entries = [
        (str(k), swatch((k,)), called(facts.case, k), int(facts.counts.certain[k]))
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
    whole = (
        tag("button", "All", type="button", class_="plain", data_all="1"),
        tag("button", "None", type="button", class_="plain", data_all="0"),
    )
    return tag(
        "fieldset",
        tag("legend", "Shown", class_="unseen"),
        whole if len(entries) > 3 else None,
        boxes,
        class_="legend many" if len(entries) > _MANY else "legend",
    )


def _still(facts: Facts, caption: str) -> Html:
    places, partition = facts.places, facts.case.partition
    assert places is not None
    m = len(places.rows)
    some = np.arange(m) if m <= _ON_PAPER else np.unique(np.linspace(0, m - 1, _ON_PAPER).astype(int))
    xy = np.column_stack([np.clip(places.axes[a].values[some], *places.axes[a].inner) for a in places.first])
    which = partition.best_set[places.rows[some]]
    names = [called(facts.case, k) for k in range(facts.counts.n_clusters)]
    return scatter(
        xy,
        list(partition.focal_sets),
        which,
        names if len(names) <= _NAMED else [],
        f"Scatter plot of {caption}",
        one_unit=all(places.axes[a].kind == "component" for a in places.first),
    )


# ---- what the script draws ------------------------------------------------------------------------------------------


def data_block(facts: Facts) -> Html:
    """Numbers for the script, as JSON in which no character can end the element."""
    text = json.dumps(_data(facts), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, code in (
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("&", "\\u0026"),
        ("\u2028", "\\u2028"),
        ("\u2029", "\\u2029"),
    ):
        text = text.replace(character, code)
    return Html(f'<script type="application/json" id="data">{text}</script>')


def _data(facts: Facts) -> dict[str, Any]:
    places, partition = facts.places, facts.case.partition
    if places is None:
        return {}
    used, which = np.unique(partition.best_set[places.rows], return_inverse=True)
    sets = list(partition.focal_sets)
    quantized = [_quantized(axis) for axis in places.axes]
    return {
        "axes": [
            {"name": axis.name, "kind": axis.kind, "low": low, "high": high, "inner": axis.inner} | _categories(axis)
            for axis, (low, high, _) in zip(places.axes, quantized, strict=True)
        ],
        "values": _base64(np.concatenate([levels for _, _, levels in quantized]).astype("<u2")),
        "sets": [[int(k) for k in sets[j]] for j in used],
        "which": _base64(which.astype("<u2")),
        "doubt": _base64(np.round(127 * np.clip(doubt_of(partition[places.rows]), 0, 2)).astype(np.uint8)),
        "rows": _base64(places.rows.astype("<u4")),
        "names": _names(facts, places.rows),
        "labels": [shortened(name, 24) for name in facts.case.partition.frame],
        "clusters": [called(facts.case, k) for k in range(facts.counts.n_clusters)],
        "colors": [color_of(k) for k in range(facts.counts.n_clusters)],
    }


def _categories(axis: Axis) -> dict[str, Any]:
    return {"categories": axis.categories} if axis.kind == "category" else {}


def _quantized(axis: Axis) -> tuple[float, float, np.ndarray]:
    """Smallest and largest value, and the values in steps between them."""
    known, (low, high) = np.isfinite(axis.values), _ends(axis)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.round((axis.values / 2 - low / 2) / ((high / 2 - low / 2) or 1.0) * _LEVELS)
    return low, high, np.where(known, steps, _LEVELS + 1).astype(np.int64)


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def _names(facts: Facts, rows: np.ndarray) -> list[str] | None:
    """Names of the objects, cut where all of them would be too long; None if these are their positions."""
    objects = facts.case.objects
    if objects.are_positions:
        return None
    names = [objects[i] for i in rows]
    total = sum(map(len, names))
    return names if total <= _MOST_TEXT else [shortened(name, max(_MOST_TEXT // len(names), 8)) for name in names]
