"""Intervals for the probability that two objects belong to the same cluster: of the bootstrap, and of the masses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dempster._errors import InvalidInputError
from dempster.partition import CredalPartition

__all__ = ["Coverage", "PairIntervals"]


class Coverage(NamedTuple):
    """Share of pairs whose true probability lies in their interval, and mean length of the intervals."""

    confidence: float
    belief: float
    confidence_length: float
    belief_length: float


class PairIntervals:
    """For all pairs of some objects, a confidence interval and the belief-plausibility interval fitted to it.

    Both are about the probability that the two objects belong to the same cluster. Pairs come in the order (0, 1),
    (0, 2), ..., (1, 2), ... as in `scipy.spatial.distance.squareform`.

    Parameters
    ----------
    partition : CredalPartition
        Of all objects.
    objects : array of shape (r,)
        The objects whose pairs are meant, by position.
    lower, upper : arrays of shape (r (r - 1) / 2,)
        Bounds of the confidence intervals.
    confidence : float
        Their level.

    Attributes
    ----------
    pairs : ndarray of shape (p, 2)
        Positions of the two objects.
    lower, upper : ndarray of shape (p,)
        Percentile confidence interval.
    belief, plausibility : ndarray of shape (p,)
        That the two objects belong to the same cluster (Denoeux, 2020, eq. 3).

    Examples
    --------
    >>> import numpy as np
    >>> from dempster import CredalPartition
    >>> from dempster.cluster.mixtures.bootclus import PairIntervals
    >>> cp = CredalPartition.from_rough([[True, False], [True, True]])
    >>> intervals = PairIntervals(cp, np.arange(2), np.array([0.25]), np.array([0.75]), 0.9)
    >>> intervals.belief, intervals.plausibility
    (array([0.]), array([1.]))
    >>> intervals.coverage([[1, 0], [0.95, 0.05]])
    Coverage(confidence=0.0, belief=1.0, confidence_length=0.5, belief_length=1.0)
    """

    def __init__(
        self, partition: CredalPartition, objects: np.ndarray, lower: np.ndarray, upper: np.ndarray, confidence: float
    ):
        self.partition = partition
        self.objects = objects
        self.confidence = confidence
        self._lower, self._upper = lower, upper  # single precision: there are many

    @property
    def lower(self) -> np.ndarray:
        return self._lower.astype(float)

    @property
    def upper(self) -> np.ndarray:
        return self._upper.astype(float)

    @property
    def pairs(self) -> np.ndarray:
        first, second = np.triu_indices(len(self.objects), 1)
        return np.column_stack([self.objects[first], self.objects[second]])

    @property
    def belief(self) -> np.ndarray:
        return self._relational[0]

    @property
    def plausibility(self) -> np.ndarray:
        return self._relational[1]

    @property
    def _relational(self) -> tuple[np.ndarray, np.ndarray]:
        masses = self.partition[self.objects].relational().masses.astype(float)
        return masses[:, 1], 1 - masses[:, 2]  # no mass on the empty set

    def __len__(self) -> int:
        return len(self._lower)

    def probabilities(self, posterior: Any) -> np.ndarray:
        """(p,) probability that each pair is together, from probabilities (n, c) of the clusters for all objects."""
        posterior = np.asarray(posterior, dtype=float)
        if posterior.ndim != 2 or len(posterior) != len(self.partition):
            raise InvalidInputError(
                f"posterior must be of shape ({len(self.partition)}, c), a row for each object, got {posterior.shape}"
            )
        chosen = posterior[self.objects]
        r = len(chosen)
        out = np.empty(r * (r - 1) // 2)
        start = 0
        for i in range(r - 1):
            stop = start + r - i - 1
            out[start:stop] = chosen[i + 1 :] @ chosen[i]
            start = stop
        return out

    def coverage(self, posterior: Any) -> Coverage:
        """How often the intervals hold the true probability, where it is known (simulated data).

        Parameters
        ----------
        posterior : array-like of shape (n, c)
            True probabilities of the clusters for all objects of the partition, in any order of the clusters.

        Returns
        -------
        Coverage
        """
        true = self.probabilities(posterior)
        lower, upper = self.lower, self.upper
        belief, plausibility = self._relational
        return Coverage(
            confidence=float(np.mean((lower <= true) & (true <= upper))),
            belief=float(np.mean((belief <= true) & (true <= plausibility))),
            confidence_length=float(np.mean(upper - lower)),
            belief_length=float(np.mean(plausibility - belief)),
        )

    def to_frame(self):
        """A pandas table with a row for each pair."""
        import pandas as pd

        belief, plausibility = self._relational
        columns = {"lower": self.lower, "upper": self.upper, "belief": belief, "plausibility": plausibility}
        return pd.DataFrame(columns, index=pd.MultiIndex.from_arrays(list(self.pairs.T), names=["first", "second"]))

    def __repr__(self) -> str:
        return f"PairIntervals({len(self)} pairs of {len(self.objects)} objects, confidence {self.confidence:g})"
