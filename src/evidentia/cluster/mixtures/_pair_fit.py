"""From bootstraps to masses: intervals of the pairs of some objects, masses fitted to them, all others projected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evidentia.belief import FocalSets
from evidentia.cluster.mixtures._bootstrap import Bootstraps
from evidentia.dissimilarity.sources import AttributeSource, Twins
from evidentia.optimize.blocks import row_blocks
from evidentia.optimize.descent import Run
from evidentia.optimize.interval_fit import descend_intervals, interval_hessian
from evidentia.optimize.pair_quantiles import quantile_ranks, quantiles_between, quantiles_of_pairs, quantiles_within
from evidentia.optimize.simplex_qp import simplex_qp_batch
from evidentia.partition.relational import pair_forms

__all__ = ["Remembered", "choose_references", "intervals_of_all_pairs", "intervals_of_pairs", "fit_masses"]

_ROWS_OF_PAIRS = 8  # rows of the matrix of pairs a thread takes at once
_ROWS = 64  # objects projected together
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


def intervals_of_all_pairs(P: np.ndarray, confidence: float, apply: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (n, n) float32 for all pairs of objects; the diagonals hold zeros."""
    n = len(P)
    lower, upper = np.zeros((n, n), dtype=np.float32), np.zeros((n, n), dtype=np.float32)
    ranks = quantile_ranks(P.shape[2], confidence)
    blocks = row_blocks(n, _ROWS_OF_PAIRS, most=None)
    apply(quantiles_within, [(P, *ranks, lower, upper, *rows) for rows in blocks])
    return lower, upper


def intervals_of_pairs(
    P: np.ndarray, pairs: np.ndarray, confidence: float, apply: Callable
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds (p,) for chosen pairs."""
    lower, upper = np.empty(len(pairs)), np.empty(len(pairs))
    ranks = quantile_ranks(P.shape[2], confidence)
    blocks = row_blocks(len(pairs), _PAIRS, most=None)
    apply(quantiles_of_pairs, [(P, pairs, *ranks, lower, upper, *rows) for rows in blocks])
    return lower, upper


class Family(NamedTuple):
    """A family of focal sets without the empty set, which a probabilistic model gives no mass."""

    sets: FocalSets
    columns: np.ndarray  # of these sets in the family that was asked for
    forms: np.ndarray  # (2, f, f): m_i' S m_j = belief, m_i' C m_j = 1 - plausibility of "same cluster"

    @classmethod
    def of(cls, family: FocalSets) -> Family:
        columns = np.flatnonzero(family.cardinality > 0)
        sets = FocalSets(family.membership[columns])
        return cls(sets, columns, np.ascontiguousarray(pair_forms(sets)[1:3]))

    def start(self, posterior: np.ndarray) -> np.ndarray:
        """Masses on the single clusters as the mixture has them, a little uniform: all sets can be reached."""
        f = len(self.sets)
        masses = np.full((len(posterior), f), _UNIFORM / f)
        masses[:, self.sets.singleton_index] += (1 - _UNIFORM) * posterior
        return masses


def fit_masses(
    lower: np.ndarray, upper: np.ndarray, family: Family, posterior: np.ndarray, max_iter: int, tol: float
) -> Run[np.ndarray]:
    """Masses whose beliefs and plausibilities of pairs match the bounds (Denoeux, 2020, algorithm 2)."""
    masses = family.start(posterior)
    masses /= masses.sum(axis=1, keepdims=True)
    targets = np.stack([lower, 1 - upper])  # eq. 13
    for target in targets:
        np.fill_diagonal(target, 0)
    history, converged = descend_intervals(masses, targets, family.forms, np.arange(len(masses)), max_iter, tol)
    return Run(masses, [float(max(value, 0.0)) for value in history], bool(converged))


@dataclass(frozen=True, eq=False)
class Remembered:
    """The objects that all others are compared with, and what is needed to compare."""

    bootstraps: Bootstraps
    confidence: float
    objects: np.ndarray  # (r, d) attributes
    masses: np.ndarray  # (r, f)
    family: Family
    n_sets: int  # of the family that was asked for

    def masses_of(self, X: np.ndarray, dtype: np.dtype, apply: Callable) -> np.ndarray:
        """(n, n_sets) masses of any objects; one with the attributes of a remembered object has the masses of that one.

        For the others the pairwise intervals with the remembered objects are computed, and matched with their masses
        held fixed: a small convex quadratic program each.
        """
        from threadpoolctl import threadpool_limits

        out = np.zeros((len(X), self.n_sets), dtype=dtype)
        source = AttributeSource(self.objects)
        twins = Twins(source.keys(self.objects)).find(source.keys(X))
        known, new = np.flatnonzero(twins >= 0), np.flatnonzero(twins < 0)
        out[np.ix_(known, self.family.columns)] = self.masses[twins[known]]
        if len(new):
            # threads go over blocks, so the matrix products inside must not start their own
            with threadpool_limits(1, user_api="blas"):
                self._project(X, new, out, apply)
        return out

    def _project(self, X: np.ndarray, which: np.ndarray, out: np.ndarray, apply: Callable) -> None:
        posterior_of = self.bootstraps.posterior_function()
        Q = posterior_of(self.objects, apply)
        ranks = quantile_ranks(len(self.bootstraps), self.confidence)
        H = interval_hessian(self.masses, self.family.forms)
        same, different = (-2 * self.masses @ form for form in self.family.forms)

        def work(start: int, stop: int) -> None:
            rows = which[start:stop]
            lower, upper = np.empty((len(rows), len(Q))), np.empty((len(rows), len(Q)))
            quantiles_between(posterior_of(X[rows]), Q, *ranks, lower, upper)
            linear = lower @ same + (1 - upper) @ different
            masses = np.zeros_like(linear)
            simplex_qp_batch(H, linear, masses, 0, len(rows))
            out[np.ix_(rows, self.family.columns)] = masses

        apply(work, row_blocks(len(which), _ROWS, most=None))
