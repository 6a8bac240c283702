"""The answer to "why this object?": numbers, words, a table and a picture."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import hashable, same_label, shown
from dempster.explain.objects._changes import Change
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ObjectExplanation", "Exemplar", "ComparedObject"]


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
            raise InvalidInputError(
                f"{argument} must be one of the clusters in question ({known}), got {shown(cluster)}"
            )
        return places[0]

    def to_text(self) -> str:
        """A few plain sentences."""
        from dempster.explain.objects._words import in_words  # which reads what an explanation holds

        return in_words(self)

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
        from dempster.plot import ObjectExplanationDisplay  # a view of this value, imported when looked at

        return ObjectExplanationDisplay.from_explanation(self, ax=ax, **options)

    def __repr__(self) -> str:
        return self.to_text()
