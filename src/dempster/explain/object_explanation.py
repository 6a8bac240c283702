"""Explanation of one object: numbers, sentences, a table and a picture."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._text import format_cell, format_cluster, format_clusters, join_words, printable
from dempster._validation import hashable, same_label
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


MAX_NAMED = 3  # attributes named on one side
MIN_RELATIVE_STRENGTH = 0.25  # of the strongest object, below which one is not named
MIN_SHARE = 0.08  # of all pulls, below which an attribute is not named


class Exemplar(NamedTuple):
    """A certain object of a cluster, near the one that is explained: its cluster, name, position and distance."""

    cluster: Hashable
    name: Hashable
    position: int
    distance: float


class ComparedObject(NamedTuple):
    """An object that the method compares with: its name, position, and how much it counts for each candidate."""

    name: Hashable
    position: int
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Change:
    """What would make an object certain of a cluster.

    Attributes
    ----------
    cluster : name of the cluster
    attributes : tuple of str
        Those that change.
    before, after : tuple
        Their values.
    size : float
        Length of the move in standard deviations of the attributes; of categories, how many change.
    towards : name of the object towards which all attributes move, or None if a single one does
    share : float or None
        How much of the way to it.
    """

    cluster: Hashable
    attributes: tuple[str, ...]
    before: tuple[Any, ...]
    after: tuple[Any, ...]
    size: float
    towards: Hashable | None = None
    share: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ObjectExplanation:
    """Why an object is where it is; made by `explain_object`.

    Attributes
    ----------
    name : name of the object, its position, or None for a new one
    masses : CredalPartition
        Of this object alone.
    clusters : tuple
        Names of the candidates, the clusters in question, the most plausible first.
    attributes : tuple of str
        What the rows of the contributions are: attributes, or, where there are none, the objects compared with.
    by : {"attributes", "objects"}
    parts : (p, q) array
        What each attribute adds to the evidence for each candidate.
    evidence : (q,) array
        How much speaks for each candidate: the sum of the parts, and of what belongs to no attribute (`base`).
    quantity : str
        What the evidence is, in words.
    values : tuple or None
        Attributes of the object.
    typical : tuple of tuples or None
        What is usual in each candidate: means of numbers, the most frequent category.
    exemplars : tuple of Exemplar
        The nearest certain objects of each candidate.
    compared : tuple of ComparedObject
        The objects that the method compares with, those that count most first; none where it has centers.
    changes : tuple of Change
        What would make the object certain, the smallest change first.
    movable : bool
        Whether changes were looked for.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.explain import explain_object
    >>> X = [[1.0, 5.0], [1.2, 5.6], [4.0, 5.4], [4.2, 5.8], [2.3, 5.5]]
    >>> left, right, torn = [0, 1, 0, 0], [0, 0, 1, 0], [0, 0.2, 0.1, 0.7]
    >>> partition = CredalPartition([left, left, right, right, torn], FocalSets.full(2))
    >>> why = explain_object(partition, X, 4, feature_names=["length", "width"])
    >>> print(why.to_text())
    Object 4 is torn between clusters 0 and 1 (mass 0.70 on the two together).
    It is pulled to cluster 0 by length (2.3), to cluster 1 by width (5.5).
    The nearest certain object of cluster 0 is 1 and of cluster 1 is 2.
    >>> why.contributions.round(2)
    array([[ 0.49, -0.49],
           [-0.21,  0.21]])
    """

    name: Hashable | None
    masses: CredalPartition
    clusters: tuple[Hashable, ...]
    attributes: tuple[str, ...]
    by: str
    parts: np.ndarray
    evidence: np.ndarray
    quantity: str
    values: tuple[Any, ...] | None
    typical: tuple[tuple[Any, ...], ...] | None
    exemplars: tuple[Exemplar, ...]
    compared: tuple[ComparedObject, ...]
    changes: tuple[Change, ...]
    movable: bool

    @cached_property
    def contributions(self) -> np.ndarray:
        """(p, q) how much each attribute pulls towards each candidate, compared with the mean of the candidates:
        positive towards it, negative away from it. Columns add up to `explained`. With a single candidate there is
        nothing to compare with, and these are the `parts`."""
        return self.parts - self._middle(self.parts) + 0.0  # no -0

    @cached_property
    def explained(self) -> np.ndarray:
        """(q,) what the attributes explain: the evidence for each candidate, compared with the mean of the candidates,
        but for the `base`."""
        return self._relative - self.base

    @cached_property
    def base(self) -> np.ndarray:
        """(q,) what speaks for each candidate besides the attributes, compared with the mean of the candidates: the
        weight of a Gaussian, how many neighbors there are, the plausibility where the clusters are balanced."""
        others = self.evidence - self.parts.sum(axis=0)
        # what is left of a sum that is complete is rounding
        others = np.where(np.abs(others) <= 1e-9 * np.abs(self.parts).sum(axis=0), 0, others)
        return others - self._middle(others)

    @property
    def _relative(self) -> np.ndarray:
        return self.evidence - self._middle(self.evidence)

    def _middle(self, values: np.ndarray) -> Any:
        return values.mean(axis=-1, keepdims=True) if len(self.clusters) > 1 else 0.0

    @property
    def best_set(self) -> tuple[Hashable, ...]:
        """Names of the clusters of the set of largest mass: one if the object is certain, none for an outlier."""
        members = self.masses.focal_sets.membership[self.masses.best_set[0]]
        return tuple(self.masses.frame[k] for k in np.flatnonzero(members))

    def between(self, first: Hashable | None = None, second: Hashable | None = None) -> np.ndarray:
        """(p,) how much each attribute pulls towards one candidate rather than another: negative towards ``first``,
        positive towards ``second``; the two most plausible ones by default."""
        names = [self.clusters[0], self.clusters[min(1, len(self.clusters) - 1)]]
        a = self._candidate(names[0] if first is None else first, "first")
        b = self._candidate(names[1] if second is None else second, "second")
        return self.parts[:, b] - self.parts[:, a]

    def _candidate(self, cluster: Hashable, argument: str) -> int:
        places = [k for k, name in enumerate(self.clusters) if hashable.test(cluster) and same_label(name, cluster)]
        if not places:
            known = ", ".join(map(str, self.clusters))
            raise InvalidParameterError(argument, f"one of the clusters in question ({known})", cluster)
        return places[0]

    def to_text(self) -> str:
        """A few plain sentences."""
        sentences = [_where(self), _why(self), _besides(self), _examples(self), *_what_if(self)]
        return "\n".join(sentence for sentence in sentences if sentence)

    def to_frame(self) -> pd.DataFrame:
        """A row for each attribute: its value, what is usual in each candidate, how much it pulls towards each."""
        import pandas as pd

        columns: dict[str, Any] = {}
        if self.values is not None:
            columns["value"] = list(self.values)
        if self.typical is not None:
            columns |= {f"usual in {k}": list(cells) for k, cells in zip(self.clusters, self.typical, strict=True)}
        columns |= {f"towards {k}": pull for k, pull in zip(self.clusters, self.contributions.T, strict=True)}
        heading = "attribute" if self.by == "attributes" else "object"
        return pd.DataFrame(columns, index=pd.Index(self.attributes, name=heading))

    def to_html(self) -> str:
        """The sentences and the table, for a page."""
        from html import escape

        sentences = "".join(f"<p>{escape(line)}</p>" for line in self.to_text().splitlines())
        return f"<div>{sentences}{self.to_frame().to_html(float_format='{:.3g}'.format)}</div>"

    def _repr_html_(self) -> str:
        return self.to_html()

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the pulls (see `dempster.plot.ObjectExplanationDisplay`)."""
        from dempster.plot.explanation import ObjectExplanationDisplay  # a view of this value, imported when looked at

        return ObjectExplanationDisplay.from_explanation(self, ax=ax, **options)

    def __repr__(self) -> str:
        return self.to_text()


# ---- sentences ------------------------------------------------------------------------------------------------------


def _format_object(name: Any) -> str:
    """Name an object at the beginning of a sentence."""
    return "The object" if name is None else f"Object {printable(name)}"


def _where(e: ObjectExplanation) -> str:
    who, mass = _format_object(e.name), float(e.masses.masses[0, e.masses.best_set[0]])
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
    named = [d for d in order if abs(pull[d]) >= MIN_SHARE * size] or [int(order[0])]
    sides = []
    for cluster in (first, second) if pull[order[0]] < 0 else (second, first):  # the strongest first
        sign = -1 if cluster == first else 1
        some = [d for d in named if np.sign(pull[d]) == sign][:MAX_NAMED]
        if some:
            sides.append(f"to {format_cluster(cluster)} by {join_words([_attribute(e, d) for d in some])}")
    text = f"It is pulled {', '.join(sides)}."
    return f"{_far(e)} {text}".strip() if len(e.best_set) == 0 else text


def _near_and_far(e: ObjectExplanation) -> str:
    """Name the objects that speak for and against each of the two clusters in question."""
    sentences = []
    least = MIN_RELATIVE_STRENGTH * float(np.abs(e.parts[:, :2]).max())
    for k, cluster in enumerate(e.clusters[:2]):
        for sign, where, verdict in ((1, "near", "for"), (-1, "far from", "against")):
            strength = np.where(np.array(e.attributes) == str(e.name), 0, sign * e.parts[:, k])  # others only
            some = [j for j in np.argsort(-strength, kind="stable")[:MAX_NAMED] if strength[j] > least]
            if some:
                who = join_words([printable(e.attributes[j]) for j in some])
                sentences.append(f"It is {where} {who}, which speaks {verdict} {format_cluster(cluster)}.")
    return " ".join(sentences)


def _attribute(e: ObjectExplanation, d: int) -> str:
    value = "" if e.values is None else f" ({format_cell(e.values[d])})"
    return f"{printable(e.attributes[d])}{value}"


def _far(e: ObjectExplanation) -> str:
    """Name the attributes in which an outlier is farthest from the nearest cluster."""
    nearest = e.parts[:, int(np.argmax(e.evidence))]
    if e.by != "attributes" or not (nearest < 0).any():
        return ""
    order = np.argsort(nearest, kind="stable")
    far = [d for d in order if nearest[d] <= 2 * MIN_SHARE * nearest[nearest < 0].sum()][:MAX_NAMED] or [order[0]]
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
