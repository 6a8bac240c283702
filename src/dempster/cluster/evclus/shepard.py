"""How well conflicts match dissimilarities: stress, loss, and the data of a Shepard diagram."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dempster._random import generator
from dempster._types import Seed
from dempster._validation import check, choice, integer
from dempster.belief import FocalSets
from dempster.dissimilarity.transform import to_conflict
from dempster.optimize.conflict_fit import conflicts_of_pairs

__all__ = ["ShepardData", "ShepardMixin", "ComparedPairs", "Assessment", "assess"]

_SHOWN_PAIRS = 20_000


class ShepardData(NamedTuple):
    """Pairs of objects: their dissimilarity, the conflict wanted (delta) and the conflict found.

    Attributes
    ----------
    dissimilarity, delta, conflict : (k,) arrays
    """

    dissimilarity: np.ndarray
    delta: np.ndarray
    conflict: np.ndarray

    def sample(self, n_pairs: int | None, random_state: Seed) -> ShepardData:
        """Some of the pairs; all if there are no more, or for None."""
        check(n_pairs, "n_pairs", choice(None) | integer(1))
        if n_pairs is None or n_pairs >= len(self.delta):
            return self
        kept = generator(random_state).choice(len(self.delta), n_pairs, replace=False)
        return ShepardData(*(values[kept] for values in self))


class ShepardMixin:
    """For clusterers that match conflicts to dissimilarities."""

    _shepard: ShepardData

    def shepard(self, n_pairs: int | None = 5000, random_state: Seed = 0) -> ShepardData:
        """Dissimilarity, delta and conflict of pairs of objects of the fit, for a Shepard diagram.

        Parameters
        ----------
        n_pairs : int or None, default=5000
            At most so many, and at most 20,000, are drawn; None: 20,000.
        random_state : int, RandomState, Generator or None, default=0
        """
        check_is_fitted(self, "credal_partition_")
        return self._shepard.sample(n_pairs, random_state)


class ComparedPairs(NamedTuple):
    """Pairs of objects i and j with their dissimilarities and weights."""

    i: np.ndarray
    j: np.ndarray
    dissimilarity: np.ndarray
    weight: np.ndarray

    def among(self, who: np.ndarray) -> ComparedPairs:
        """The same pairs, with their objects by positions among those."""
        order = np.argsort(who)
        i, j = (order[np.searchsorted(who, objects, sorter=order)] for objects in (self.i, self.j))
        return ComparedPairs(i, j, self.dissimilarity, self.weight)


class Assessment(NamedTuple):
    """Weighted sum of (conflict - delta)^2, divided by that of delta^2 (stress) and by that of the weights (loss)."""

    stress: float
    loss: float
    shepard: ShepardData


def assess(
    masses: np.ndarray, family: FocalSets, pairs: ComparedPairs, d0: float, rng: np.random.Generator
) -> Assessment:
    """How well the conflicts of masses match some dissimilarities."""
    i, j, d, weight = pairs
    kappa = conflicts_of_pairs(masses, np.array(family.conflict), i, j)
    delta = to_conflict(d, d0)
    squares = float(np.sum(weight * (kappa - delta) ** 2))
    kept = slice(None) if len(i) <= _SHOWN_PAIRS else rng.choice(len(i), _SHOWN_PAIRS, replace=False)
    shown = ShepardData(np.asarray(d, float)[kept], np.asarray(delta, float)[kept], kappa[kept])
    return Assessment(squares / float(np.sum(weight * delta**2)), squares / float(np.sum(weight)), shown)
