"""An explanation in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._text import format_cell, format_cluster, format_clusters, join_words, printable

if TYPE_CHECKING:
    from dempster.explain.objects._changes import Change
    from dempster.explain.objects.explanation import ObjectExplanation

__all__ = ["in_words"]

_NAMED = 3  # attributes named on one side
_LEAST_OF_LARGEST = 0.25  # of the strongest object, below which one is not named
_LEAST_SHARE = 0.08  # of all pulls, below which an attribute is not named


def in_words(explanation: ObjectExplanation) -> str:
    """One line a thought: where it is, why, whom it resembles, what would make it certain."""
    lines = [_where(explanation), _why(explanation), _besides(explanation), _examples(explanation)]
    lines += _what_if(explanation)
    return "\n".join(line for line in lines if line)


def _object(name: Any) -> str:
    """An object at the beginning of a sentence."""
    return "The object" if name is None else f"Object {printable(name)}"


def _where(e: ObjectExplanation) -> str:
    who, mass = _object(e.name), float(e.masses.masses[0, e.masses.best_set[0]])
    if len(e.best_set) == 0:
        return f"{who} is an outlier: mass {mass:.2f} says that it belongs to none of the clusters."
    if len(e.best_set) == 1:
        return f"{who} is in {format_cluster(e.best_set[0])} (mass {mass:.2f})."
    where = (
        f"all {len(e.best_set)} clusters" if len(e.best_set) == e.masses.n_clusters > 3 else format_clusters(e.best_set)
    )
    together = "them together" if len(e.best_set) > 2 else "the two together"
    return f"{who} is torn between {where} (mass {mass:.2f} on {together})."


def _why(e: ObjectExplanation) -> str:
    if len(e.clusters) == 1:
        return _far(e) if len(e.best_set) == 0 else ""
    first, second = e.clusters[:2]
    pull = e.between(first, second)
    size = np.abs(pull).sum()
    if not size > 0:
        return f"Nothing about it tells {format_clusters((first, second))} apart."
    if e.by == "objects":
        return _near_and_far(e)
    order = np.argsort(-np.abs(pull), kind="stable")
    named = [d for d in order if abs(pull[d]) >= _LEAST_SHARE * size] or [int(order[0])]
    sides = []
    for cluster in (first, second) if pull[order[0]] < 0 else (second, first):  # the strongest first
        sign = -1 if cluster == first else 1
        some = [d for d in named if np.sign(pull[d]) == sign][:_NAMED]
        if some:
            sides.append(f"to {format_cluster(cluster)} by {join_words([_attribute(e, d) for d in some])}")
    text = f"It is pulled {', '.join(sides)}."
    return f"{_far(e)} {text}".strip() if len(e.best_set) == 0 else text


def _near_and_far(e: ObjectExplanation) -> str:
    """Who speaks for each of the two clusters in question, and who against it."""
    sentences = []
    least = _LEAST_OF_LARGEST * float(np.abs(e.parts[:, :2]).max())
    for k, cluster in enumerate(e.clusters[:2]):
        for sign, where, verdict in ((1, "near", "for"), (-1, "far from", "against")):
            strength = np.where(np.array(e.attributes) == str(e.name), 0, sign * e.parts[:, k])  # others only
            some = [j for j in np.argsort(-strength, kind="stable")[:_NAMED] if strength[j] > least]
            if some:
                who = join_words([printable(e.attributes[j]) for j in some])
                sentences.append(f"It is {where} {who}, which speaks {verdict} {format_cluster(cluster)}.")
    return " ".join(sentences)


def _attribute(e: ObjectExplanation, d: int) -> str:
    value = "" if e.values is None else f" ({format_cell(e.values[d])})"
    return f"{printable(e.attributes[d])}{value}"


def _far(e: ObjectExplanation) -> str:
    """What makes it an outlier: the attributes in which it is farthest from the nearest cluster."""
    nearest = e.parts[:, int(np.argmax(e.evidence))]
    if e.by != "attributes" or not (nearest < 0).any():
        return ""
    order = np.argsort(nearest, kind="stable")
    far = [d for d in order if nearest[d] <= 2 * _LEAST_SHARE * nearest[nearest < 0].sum()][:_NAMED] or [order[0]]
    return f"Even from the nearest cluster it is far, most in {join_words([_attribute(e, d) for d in far])}."


def _besides(e: ObjectExplanation) -> str:
    if len(e.clusters) == 1:
        return ""
    others, pull = float(e.base[1] - e.base[0]), np.abs(e.between()).sum()
    if abs(others) <= 0.25 * pull:
        return ""
    return f"Besides, more speaks for {format_cluster(e.clusters[int(others > 0)])} whatever the attributes."


def _examples(e: ObjectExplanation) -> str:
    nearest: dict[Any, Any] = {}
    for exemplar in e.exemplars:
        nearest.setdefault(exemplar.cluster, exemplar.name)
    shown = [(k, nearest[k]) for k in e.clusters[:3] if k in nearest]
    if not shown:
        return "No other object is certain of these clusters."
    parts = [f"of {format_cluster(k)} is {printable(name)}" for k, name in shown]
    return f"The nearest certain object {join_words(parts)}."


def _what_if(e: ObjectExplanation) -> list[str]:
    if not e.movable:
        return []
    lines = []
    for cluster in e.clusters[:3]:
        if e.best_set == (cluster,):
            continue
        single, whole = (
            next((c for c in e.changes if c.cluster == cluster and (c.towards is None) == alone), None)
            for alone in (True, False)
        )
        if single is None and whole is None:
            lines.append(f"Nothing that was tried makes it certain of {format_cluster(cluster)}.")
            continue
        # one attribute is easier to say; all of them only if that is a much smaller move
        told = whole if single is None or (whole is not None and whole.size < single.size / 2) else single
        assert told is not None
        lines.append(f"It would be certain of {format_cluster(cluster)} if {_condition(told)}.")
    return lines


def _condition(change: Change) -> str:
    if change.towards is not None and change.share is not None:
        return f"it moved {max(change.share, 0.01):.0%} of the way to object {printable(change.towards)}"
    parts = [
        f"{printable(name)} were {format_cell(after)} instead of {format_cell(before)}"
        for name, before, after in zip(change.attributes, change.before, change.after, strict=True)
    ]
    return join_words(parts[:4]) + (f" and {len(parts) - 4} more changed" if len(parts) > 4 else "")
