"""Explanation of one object, which can be converted to text, a table, HTML or a figure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dempster._text import (
    format_cell,
    format_cluster,
    format_clusters,
    join_words,
    printable,
)
from dempster.partition import CredalPartition

MAX_NAMED = 3  # maximum number of attributes or objects in a sentence for each cluster
# minimum evidence from a named object, relative to the strongest evidence
MIN_RELATIVE_STRENGTH = 0.25
MIN_SHARE = 0.08  # attributes with a smaller share of the evidence are not named


class Exemplar(NamedTuple):
    """An object that certainly belongs to a cluster and is near the explained object."""

    cluster: Hashable
    name: Hashable
    position: int
    distance: float


@dataclass(frozen=True)
class Change:
    """A change of attributes that would make an object a certain member of a cluster."""

    cluster: Hashable
    attributes: tuple[str, ...]  # attributes that change
    before: tuple[Any, ...]  # old values of these attributes
    after: tuple[Any, ...]  # new values of these attributes
    # length of the change, in standard deviations of numbers; each changed category adds 1
    size: float
    # object towards which all attributes move, None if a single attribute changes
    towards: Hashable | None = None
    # length of the move, relative to the distance from the object ``towards``
    share: float | None = None


@dataclass(frozen=True, eq=False, repr=False)
class ObjectExplanation:
    """Explanation of the mass function of one object; returned by `explain_object`.

    Attributes
    ----------
    name : hashable or None
        Name of the object, or its position; None for a new object.
    masses : CredalPartition
        Masses of this object.
    clusters : tuple
        Names of the candidate clusters, the most plausible first.
    attributes : tuple of str
        Names of the p attributes or, if there are no attributes, of the p objects that are compared
        with this object.
    by : {"attributes", "objects"}
        Whether the evidence is divided among attributes or among compared objects.
    parts : array of shape (p, q)
        Contribution of each attribute (or compared object) to the evidence for each of the q
        candidates.
    evidence : array of shape (q,)
        Evidence for each candidate. It is the sum of the parts and of a term that does not depend
        on the attributes.
    quantity : str
        Name of the quantity that measures the evidence, for example "plausibility".
    values : tuple or None
        Attributes of the object.
    typical : tuple of tuples or None
        Mean or most frequent category of each attribute in each candidate cluster.
    exemplars : tuple of Exemplar
        For each candidate cluster, the certain objects that are nearest to the explained object.
    changes : tuple of Change
        Changes that would make the object certain, sorted by size.
    movable : bool
        Whether `explain_object` searched for changes.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.explain import explain_object
    >>> X = [[1.0, 5.0], [1.2, 5.6], [4.0, 5.4], [4.2, 5.8], [2.3, 5.5]]
    >>> left, right, ambiguous = [0, 1, 0, 0], [0, 0, 1, 0], [0, 0.2, 0.1, 0.7]
    >>> partition = CredalPartition([left, left, right, right, ambiguous], FocalSets.full(2))
    >>> why = explain_object(partition, X, 4, feature_names=["length", "width"])
    >>> print(why.to_text())
    Object 4 is ambiguous between clusters 0 and 1 (mass 0.70 on the two together).
    Evidence for cluster 0: length (2.3); for cluster 1: width (5.5).
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
    changes: tuple[Change, ...]
    movable: bool

    @cached_property
    def contributions(self) -> np.ndarray:
        """Contributions of the attributes to the evidence, minus the means over the candidates.

        The array has the same shape as `parts`, and its columns add up to `explained`. With a
        single candidate, it is equal to `parts`.
        """
        return self._center(self.parts) + 0.0  # turns -0 into 0

    @cached_property
    def explained(self) -> np.ndarray:
        """Evidence from the attributes for each candidate, minus the mean over the candidates."""
        return self._center(self.evidence) - self.base

    @cached_property
    def base(self) -> np.ndarray:
        """Evidence that does not depend on the attributes, minus the mean over the candidates.

        Depending on the method, it comes from the weights of the mixture components, the numbers of
        neighbors, or the plausibilities at the midpoint of the clusters.
        """
        rest = self.evidence - self.parts.sum(axis=0)
        # rounding error
        rest = np.where(np.abs(rest) <= 1e-9 * np.abs(self.parts).sum(axis=0), 0, rest)
        return self._center(rest)

    def _center(self, values: np.ndarray) -> np.ndarray:
        if len(self.clusters) == 1:
            return values
        return values - values.mean(axis=-1, keepdims=True)

    @property
    def best_set(self) -> tuple[Hashable, ...]:
        """Names of the clusters in the set with the largest mass; empty for an outlier."""
        members = self.masses.focal_sets.membership[self.masses.best_set[0]]
        return tuple(self.masses.frame[k] for k in np.flatnonzero(members))

    @property
    def difference(self) -> np.ndarray:
        """Contributions of the attributes to the comparison of the first two candidates.

        Negative values favor the first candidate, and positive values the second. All values are
        zero if there is only one candidate.
        """
        second = min(1, len(self.clusters) - 1)
        return self.parts[:, second] - self.parts[:, 0]

    def to_text(self) -> str:
        """Return a few sentences that explain the masses of the object.

        Returns
        -------
        str
        """
        sentences = [
            _answer_sentence(self),
            _evidence_sentence(self),
            _base_sentence(self),
            _exemplar_sentence(self),
        ]
        sentences += _change_sentences(self)
        return "\n".join(sentence for sentence in sentences if sentence)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with a row for each attribute.

        The columns contain the value of the attribute, its typical value in each candidate ("usual
        in"), and its contribution to the evidence for each candidate ("towards").

        Returns
        -------
        pandas.DataFrame
        """
        columns: dict[str, Any] = {}
        if self.values is not None:
            columns["value"] = list(self.values)
        if self.typical is not None:
            for k, cells in zip(self.clusters, self.typical, strict=True):
                columns[f"usual in {k}"] = list(cells)
        for k, column in zip(self.clusters, self.contributions.T, strict=True):
            columns[f"towards {k}"] = column
        heading = self.by.removesuffix("s")
        return pd.DataFrame(columns, index=pd.Index(self.attributes, name=heading))

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Plot the contributions of the attributes to the comparison of two clusters.

        The clusters are the two most plausible ones. The bar of each attribute extends towards the
        cluster that the attribute supports. At most 15 attributes have bars of their own. The last
        bar is the total, which includes the part that
        does not come from the attributes.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional
            By default the assignment of the object.

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_``, ``bars_``, ``pulls``, ``base`` and
            ``total``.
        """
        # dempster.plot imports this package
        from dempster.plot.explanation import ObjectExplanationDisplay

        return ObjectExplanationDisplay(self).plot(ax=ax, title=title)

    __repr__ = to_text


# ---- sentences -----------------------------------------------------------------------------------


def _answer_sentence(e: ObjectExplanation) -> str:
    subject = "The object"
    if e.name is not None:
        subject = f"Object {printable(e.name)}"
    mass = float(e.masses.masses[0, e.masses.best_set[0]])
    size = len(e.best_set)
    if size == 0:
        return f"{subject} is an outlier (mass {mass:.2f} on the empty set)."
    if size == 1:
        return f"{subject} is in {format_cluster(e.best_set[0])} (mass {mass:.2f})."
    clusters = format_clusters(e.best_set)
    if size == e.masses.n_clusters > 3:
        clusters = f"all {size} clusters"
    together = "them together" if size > 2 else "the two together"
    return f"{subject} is ambiguous between {clusters} (mass {mass:.2f} on {together})."


def _evidence_sentence(e: ObjectExplanation) -> str:
    distance = "" if e.best_set else _distance_sentence(e)
    if len(e.clusters) == 1:
        return distance
    first, second = e.clusters[:2]
    difference = e.difference
    size = np.abs(difference).sum()
    if not size > 0:
        return f"It does not differ in its evidence for {format_clusters((first, second))}."
    if e.by == "objects":
        return _neighbor_sentences(e)
    order = np.argsort(-np.abs(difference), kind="stable")
    strong = [d for d in order if abs(difference[d]) >= MIN_SHARE * size] or [
        int(order[0])
    ]
    parts = []
    # the strongest evidence first
    for sign in (np.sign(difference[order[0]]), -np.sign(difference[order[0]])):
        attributes = [d for d in strong if np.sign(difference[d]) == sign]
        if attributes:
            cluster = first if sign < 0 else second
            parts.append(
                f"for {format_cluster(cluster)}: {_join_attributes(e, attributes)}"
            )
    return f"{distance} Evidence {'; '.join(parts)}.".strip()


def _neighbor_sentences(e: ObjectExplanation) -> str:
    """Name the objects that are evidence for and against the two most plausible candidates."""
    sentences = []
    threshold = MIN_RELATIVE_STRENGTH * float(np.abs(e.parts[:, :2]).max())
    for k, cluster in enumerate(e.clusters[:2]):
        for sign, where, verdict in ((1, "near", "for"), (-1, "far from", "against")):
            strength = np.where(
                np.array(e.attributes) == str(e.name), 0, sign * e.parts[:, k]
            )
            order = np.argsort(-strength, kind="stable")[:MAX_NAMED]
            names = [
                printable(e.attributes[j]) for j in order if strength[j] > threshold
            ]
            if names:
                claim = f"evidence {verdict} {format_cluster(cluster)}"
                sentences.append(
                    f"It is {where} {join_words(names)}, which is {claim}."
                )
    return " ".join(sentences)


def _join_attributes(e: ObjectExplanation, attributes: list[int]) -> str:
    """Return the names and the values of the first attributes."""
    names = []
    for d in attributes[:MAX_NAMED]:
        name = printable(e.attributes[d])
        if e.values is not None:
            name += f" ({format_cell(e.values[d])})"
        names.append(name)
    return join_words(names)


def _distance_sentence(e: ObjectExplanation) -> str:
    """Name the attributes in which an outlier is farthest from the nearest cluster."""
    nearest = e.parts[:, int(np.argmax(e.evidence))]
    if e.by != "attributes" or not (nearest < 0).any():
        return ""
    order = np.argsort(nearest, kind="stable")
    threshold = 2 * MIN_SHARE * nearest[nearest < 0].sum()
    far = [d for d in order if nearest[d] <= threshold] or [order[0]]
    return f"It is far even from the nearest cluster, mainly in {_join_attributes(e, far)}."


def _base_sentence(e: ObjectExplanation) -> str:
    if len(e.clusters) == 1:
        return ""
    difference = float(e.base[1] - e.base[0])
    if abs(difference) <= 0.25 * np.abs(e.difference).sum():
        return ""
    favored = format_cluster(e.clusters[int(difference > 0)])
    return f"Even without the attributes, {favored} would be more likely."


def _exemplar_sentence(e: ObjectExplanation) -> str:
    nearest: dict[Any, Any] = {}
    for exemplar in e.exemplars:
        nearest.setdefault(exemplar.cluster, exemplar.name)
    parts = [
        f"of {format_cluster(k)} is {printable(nearest[k])}"
        for k in e.clusters[:3]
        if k in nearest
    ]
    if not parts:
        return "These clusters have no other certain object."
    return f"The nearest certain object {join_words(parts)}."


def _change_sentences(e: ObjectExplanation) -> list[str]:
    if not e.movable:
        return []
    sentences = []
    for cluster in e.clusters[:3]:
        if e.best_set == (cluster,):
            continue
        goal = f"a certain object of {format_cluster(cluster)}"
        changes = [change for change in e.changes if change.cluster == cluster]
        if not changes:
            sentences.append(f"No change was found that makes it {goal}.")
            continue
        # Prefer a change of one attribute, which is easier to understand, unless a change of all is
        # much smaller.
        change = min(
            changes, key=lambda one: one.size * (1 if one.towards is None else 2)
        )
        sentences.append(f"It would be {goal} if {_condition_text(change)}.")
    return sentences


def _condition_text(change: Change) -> str:
    if change.share is not None:
        share = max(change.share, 0.01)
        return f"it moved {share:.0%} of the way to object {printable(change.towards)}"
    cells = zip(change.attributes, change.before, change.after, strict=True)
    parts = [
        f"{printable(name)} were {format_cell(after)} instead of {format_cell(before)}"
        for name, before, after in cells
    ]
    text = join_words(parts[:4])
    if len(parts) > 4:
        text += f" and {len(parts) - 4} more changed"
    return text
