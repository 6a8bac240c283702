"""Intervals of the pairs of some objects, and masses fitted to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster.belief import FocalSets
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.descent import Run
from dempster.optimize.interval_fit import descend_intervals
from dempster.optimize.pair_quantiles import quantile_ranks, quantiles_of_pairs, quantiles_within
from dempster.partition.relational import pair_forms

__all__ = [
    "PairFamily",
    "PairMasses",
    "choose_references",
    "intervals_of_all_pairs",
    "intervals_of_pairs",
    "fit_masses",
]

_ROWS_OF_PAIRS = 8  # rows of the matrix of pairs a thread takes at once
_PAIRS = 4096
_FEWEST_A_CLUSTER = 20  # references drawn from each cluster, if it has as many
_UNIFORM = 0.1  # share of the uniform mass function in the start


def choose_references(labels: np.ndarray, n_references: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of objects drawn at random, in proportion to the clusters but enough from each of them."""
    n = len(labels)
    if n_references >= n:
        return np.arange(n)
    chosen = rng.permutation(n)[:n_references]
    present = np.bincount(labels[chosen], minlength=labels.max() + 1)
    extra = []
    for k in np.unique(labels):
        missing = min(_FEWEST_A_CLUSTER, n_references // 2) - present[k]
        if missing > 0:
            rest = np.setdiff1d(np.flatnonzero(labels == k), chosen)
            extra.append(rng.permutation(rest)[:missing])
    return np.sort(np.concatenate([chosen, *extra]))


def intervals_of_all_pairs(P: np.ndarray, confidence: float, apply: Apply) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (n, n) float32 for all pairs of objects; the diagonals hold zeros."""
    n = len(P)
    lower, upper = np.zeros((n, n), dtype=np.float32), np.zeros((n, n), dtype=np.float32)
    ranks = quantile_ranks(P.shape[2], confidence)
    blocks = row_blocks(n, _ROWS_OF_PAIRS, most=None)
    apply(quantiles_within, [(P, *ranks, lower, upper, *rows) for rows in blocks])
    return lower, upper


def intervals_of_pairs(
    P: np.ndarray, pairs: np.ndarray, confidence: float, apply: Apply
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (p,) for chosen pairs."""
    lower, upper = np.empty(len(pairs)), np.empty(len(pairs))
    ranks = quantile_ranks(P.shape[2], confidence)
    blocks = row_blocks(len(pairs), _PAIRS, most=None)
    apply(quantiles_of_pairs, [(P, pairs, *ranks, lower, upper, *rows) for rows in blocks])
    return lower, upper


@dataclass(frozen=True, eq=False)
class PairFamily:
    """A family of focal sets without the empty set, which a probabilistic model gives no mass.

    Attributes
    ----------
    asked : FocalSets
        The family that was asked for.
    sets : FocalSets
        Its nonempty sets.
    columns : (f,) array
        Of these sets in the family that was asked for.
    forms : (2, f, f) array
        m_i' S m_j = belief, m_i' C m_j = 1 - plausibility of "same cluster".
    """

    asked: FocalSets
    sets: FocalSets
    columns: np.ndarray
    forms: np.ndarray

    @classmethod
    def of(cls, family: FocalSets) -> PairFamily:
        columns = np.flatnonzero(family.cardinality > 0)
        sets = FocalSets(family.membership[columns])
        return cls(family, sets, columns, np.ascontiguousarray(pair_forms(sets)[1:3]))

    def start(self, posterior: np.ndarray) -> PairMasses:
        """Masses on the single clusters as the mixture has them, a little uniform: all sets can be reached."""
        f = len(self.sets)
        masses = np.full((len(posterior), f), _UNIFORM / f)
        masses[:, self.sets.singleton_index] += (1 - _UNIFORM) * posterior
        masses /= masses.sum(axis=1, keepdims=True)
        return PairMasses(self, masses)


@dataclass(frozen=True, eq=False)
class PairMasses:
    """Masses of some objects, on the nonempty sets of a family.

    Attributes
    ----------
    family : PairFamily
    masses : (r, f) array
    """

    family: PairFamily
    masses: np.ndarray


def fit_masses(start: PairMasses, lower: np.ndarray, upper: np.ndarray, max_iter: int, tol: float) -> Run[PairMasses]:
    """Masses whose beliefs and plausibilities of pairs match the bounds (Denoeux, 2020, algorithm 2)."""
    family, masses = start.family, start.masses.copy()
    targets = np.stack([lower, 1 - upper])  # eq. 13
    for target in targets:
        np.fill_diagonal(target, 0)
    history, converged = descend_intervals(masses, targets, family.forms, np.arange(len(masses)), max_iter, tol)
    return Run(PairMasses(family, masses), [float(max(value, 0.0)) for value in history], bool(converged))
