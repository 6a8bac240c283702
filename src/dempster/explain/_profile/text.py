"""A profile in words, and as a table for a notebook or a page."""

from __future__ import annotations

import html
from typing import Any, TypeAlias

import numpy as np

from dempster._text import format_count, format_number, printable
from dempster.explain._profile.attributes import Feature

__all__ = ["text", "html_table"]

Profile: TypeAlias = Any
"""`dempster.explain.Profile`, which knows this file."""

_SMALL = 0.147  # of Cliff's delta: below, a difference is negligible (Romano et al., 2006)
_NARROW = 0.5  # by how much smaller a spread than that of the rest is worth a word
_SHOWN_GROUPS = 40
_DOUBLE_DIPPING = (
    "p-values of clustered attributes are too small: the clusters were made so that these differ (double dipping)."
)
_UNKNOWN = "Which attributes were clustered is not known (see clustered=); p-values of those that were are too small."


def text(profile: Profile, n_features: int) -> str:
    """A paragraph for each group: who, how many, and what differs most from the rest."""
    lines = [
        f"{format_count(len(profile.partition))}, {format_count(profile.partition.n_clusters, 'cluster')}, "
        f"{format_count(len(profile.attributes), 'attribute')}"
    ]
    for g, group in enumerate(profile.groups[:_SHOWN_GROUPS]):
        lines += ["", _head(group)]
        if not profile.statistics["present"][g].any():
            continue
        strength = _strength(profile, g)
        best = [
            int(q) for q in np.argsort(-strength, kind="stable")[: max(int(n_features), 0)] if strength[q] >= _SMALL
        ]
        lines += [f"    {_sentence(profile, g, q)}" for q in best] or ["    like the rest"]
    if len(profile.groups) > _SHOWN_GROUPS:
        lines += ["", f"{len(profile.groups) - _SHOWN_GROUPS} smaller groups are not shown"]
    if note := _note(profile):
        lines += ["", note]
    return "\n".join(lines)


def _head(group: Any) -> str:
    name = printable(group.name)
    if not len(group):
        return f"{name}: no certain object{_possible(group)}"
    typical = ", ".join(printable(i) for i in group.typical)
    size = f"{format_count(len(group))}{_possible(group)}"
    return f"{name}: {size}{f'; typical: {typical}' if typical else ''}"


def _possible(group: Any) -> str:
    more = 0 if group.n_possible is None else group.n_possible - len(group)
    return f", {more:,} more possible" if more else ""


def _strength(profile: Profile, g: int) -> np.ndarray:
    """How much each feature is worth telling: the group is elsewhere than the rest, or in a part of its range."""
    at = {name: profile.statistics[name][g] for name in ("delta", "std", "rest_std")}
    with np.errstate(invalid="ignore", divide="ignore"):
        narrow = 1 - at["std"] / at["rest_std"]
    is_number = np.array([feature.attribute.is_number for feature in profile.features])
    narrow = np.where(is_number & (narrow >= _NARROW), narrow, 0)
    return np.maximum(np.abs(np.nan_to_num(at["delta"])), narrow)


def _sentence(profile: Profile, g: int, q: int) -> str:
    """``petal length: 1.46 ± 0.17, rest 4.9 ± 0.82; lower in 100 % of pairs``."""
    feature = profile.features[q]
    names = ("mean", "std", "rest", "rest_std", "delta", "p_adjusted")
    at = {name: float(profile.statistics[name][g, q]) for name in names}
    mean, rest = _mean(feature, at["mean"], at["std"]), _mean(feature, at["rest"], at["rest_std"])
    words, p = f"{feature.label}: {mean}, rest {rest}", f"({_p(at['p_adjusted'])})"
    if not feature.attribute.is_number:
        return f"{words} {p}"
    if abs(at["delta"]) < _NARROW and at["std"] <= (1 - _NARROW) * at["rest_std"]:
        return f"{words}; a part of its range"  # which no test of more or less is about
    return f"{words}; {'higher' if at['delta'] > 0 else 'lower'} in {(1 + abs(at['delta'])) / 2:.0%} of pairs {p}"


def _mean(feature: Feature, mean: float, std: float) -> str:
    """A mean and how far values spread, or a share."""
    attribute = feature.attribute
    words = attribute.text(mean)
    if not attribute.is_number or np.isnan(std):
        return words
    return f"{words} ± {format_number(std, 2)}{' days' * (attribute.kind == 'date')}"


def _p(p: float) -> str:
    if np.isnan(p):
        return "not tested"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _note(profile: Profile) -> str:
    flags = set(profile.attributes["clustered"])
    if True in flags:
        return _DOUBLE_DIPPING
    return _UNKNOWN if None in flags else ""


def html_table(profile: Profile) -> str:
    """The table as HTML; the stronger the shade, the more a group differs from the rest."""
    names = ["group", "objects", "possible", "typical", *(feature.label for feature in profile.features)]
    marks = [""] * 4 + ["*" if feature.attribute.clustered else "" for feature in profile.features]
    head = "".join(f"<th>{html.escape(name)}{mark}</th>" for name, mark in zip(names, marks, strict=True))
    body = "".join(_html_row(profile, g) for g in range(min(len(profile.groups), _SHOWN_GROUPS)))
    notes = [f"{len(profile.groups) - _SHOWN_GROUPS} smaller groups are not shown"] * (
        len(profile.groups) > _SHOWN_GROUPS
    )
    notes.append("Orange: higher than the rest; blue: lower (Cliff's delta, or the difference of shares).")
    if note := _note(profile):
        notes.append(f"* clustered. {note}" if any(marks) else note)
    below = "".join(f"<p>{html.escape(words)}</p>" for words in notes)
    return (
        f'<div style="overflow-x: auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>'
    )


def _html_row(profile: Profile, g: int) -> str:
    group = profile.groups[g]
    typical = ", ".join(printable(i) for i in group.typical)
    possible = "" if group.n_possible is None else f"{group.n_possible:,}"
    cells = [f"<td>{len(group):,}</td>", f"<td>{possible}</td>", f"<td>{html.escape(typical)}</td>"]
    for q, feature in enumerate(profile.features):
        mean, std, delta, p = (float(profile.statistics[n][g, q]) for n in ("mean", "std", "delta", "p_adjusted"))
        shown = feature.attribute.text(mean)
        if feature.attribute.kind == "number" and not np.isnan(std):
            shown += f" ± {format_number(std, 2)}"
        cells.append(
            f"<td{_shade(delta)} title={chr(34)}delta {delta:+.2f}, {html.escape(_p(p))}{chr(34)}>{shown}</td>"
        )
    return f"<tr><th>{html.escape(printable(group.name))}</th>{''.join(cells)}</tr>"


def _shade(delta: float) -> str:
    if np.isnan(delta) or abs(delta) < _SMALL:
        return ""
    color = "213, 94, 0" if delta > 0 else "0, 114, 178"
    return f' style="background: rgba({color}, {0.5 * abs(delta):.2f})"'
