"""Which constraints a partition breaks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster.partition import CredalPartition

__all__ = ["Violations"]


@dataclass(frozen=True, eq=False, repr=False)
class Violations:
    """Every constraint with what a partition makes of it; made by `Constraints.violations`. Its length is the number
    of violated constraints, so that an obeyed set of constraints is false.

    Attributes
    ----------
    pairs : (p, 2) array
        All constraints, the must-links first.
    is_must_link : (p,) Boolean array
    violated : (p,) Boolean array
        Whether the most plausible clusters break the constraint.
    degree : (p,) array
        How far the partition admits the contrary, 0 to 1: the plausibility that the objects of a must-link are in
        different clusters, that those of a cannot-link are in the same.

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.constraints import Constraints
    >>> cp = CredalPartition([[0, 1, 0, 0], [0, 0, 0.6, 0.4], [0, 0, 1, 0]], FocalSets.full(2))
    >>> found = Constraints(must_link=[(0, 1)], cannot_link=[(0, 2)]).violations(cp)
    >>> found.must_link, found.cannot_link
    (array([[0, 1]]), array([], shape=(0, 2), dtype=int64))
    >>> found.to_frame()
       i  j   constraint  violated  degree
    0  0  1    must-link      True     1.0
    1  0  2  cannot-link     False     0.0
    """

    pairs: np.ndarray
    is_must_link: np.ndarray
    violated: np.ndarray
    degree: np.ndarray

    @classmethod
    def of(cls, must_link: np.ndarray, cannot_link: np.ndarray, credal: CredalPartition) -> Violations:
        """What a partition makes of (p, 2) pairs of both kinds."""
        pairs = np.concatenate([must_link, cannot_link])
        must = np.arange(len(pairs)) < len(must_link)
        somewhere = np.asarray(credal.contour.max(axis=1) > 0)
        i, j = pairs.T
        together = (credal.labels[i] == credal.labels[j]) & somewhere[i] & somewhere[j]
        same, different, unknown = credal.relational(pairs).masses[:, 1:].T
        degree = np.clip(np.where(must, different, same) + unknown, 0, 1)
        return cls(pairs, must, together != must, degree)

    @property
    def must_link(self) -> np.ndarray:
        """(p, 2) must-links that are put apart."""
        return self.pairs[self.violated & self.is_must_link]

    @property
    def cannot_link(self) -> np.ndarray:
        """(p, 2) cannot-links that are put together."""
        return self.pairs[self.violated & ~self.is_must_link]

    @property
    def proportion(self) -> float:
        """Share of the constraints that are violated, 0 if there are none."""
        return float(self.violated.mean()) if len(self.pairs) else 0.0

    @property
    def mean_degree(self) -> float:
        """Mean of `degree`, 0 if there are no constraints."""
        return float(self.degree.mean(dtype=float)) if len(self.pairs) else 0.0

    def to_frame(self, *, only_violated: bool = False):
        """A pandas table with a row for each constraint, or for each violated one."""
        import pandas as pd

        table = pd.DataFrame(
            {
                "i": self.pairs[:, 0],
                "j": self.pairs[:, 1],
                "constraint": np.where(self.is_must_link, "must-link", "cannot-link"),
                "violated": self.violated,
                "degree": self.degree,
            }
        )
        return table[self.violated].reset_index(drop=True) if only_violated else table

    def __len__(self) -> int:
        """Number of violated constraints."""
        return int(self.violated.sum())

    def __repr__(self) -> str:
        musts = int(self.is_must_link.sum())
        return (
            f"Violations({len(self.must_link)} of {musts} must-links put apart, {len(self.cannot_link)} of "
            f"{len(self.pairs) - musts} cannot-links put together, mean degree {self.mean_degree:.2f})"
        )
