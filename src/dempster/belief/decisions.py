"""Decision rules for mass functions, which choose an act (a class, a set of classes or rejection).

A loss matrix has a row for every class and a column for every act. For a normalized mass function,
each act has a lower, an upper and a pignistic expected loss. The rules differ in the expected loss
that they minimize (Denoeux, 2019, "Decision-making with belief functions: a review").
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np

from dempster._arrays import (
    Array,
    library_of,
    look_up,
    multiply,
    precision_of,
    row_slices,
    zeros,
)
from dempster._errors import InvalidParameterError
from dempster._validation import as_numbers, check, check_choice, choice, integer, real
from dempster.belief.focal_sets import FocalSets

# Rules that choose one act.
SINGLE_RULES = (
    "maximax",
    "maximin",
    "hurwicz",
    "pignistic",
)
# Rules that keep all undominated acts.
SET_RULES = (
    "interval_dominance",
    "maximality",
)
_MAX_LOSSES = 100_000_000  # Maximum total number of losses of candidate sets.
DECISION_RULES = (*SINGLE_RULES, *SET_RULES)


def decide(
    masses: Array,
    family: FocalSets,
    rule: str,
    losses: Any,
    reject: float | None,
    optimism: float,
) -> Array:
    """Choose acts for normalized masses; see `MassFunctions.decide`."""
    check_choice(rule, "rule", DECISION_RULES)
    check(reject, "reject", choice(None) | real(0))
    table = validate_losses(losses, family.n_clusters)
    if rule in SET_RULES:
        if reject is not None:
            raise InvalidParameterError(
                "reject", f"None for rule={rule!r}, which keeps several acts", reject
            )
        keep = _find_maximal
        if rule == "interval_dominance":
            keep = _find_undominated
        return keep(masses, family, table)
    return _choose_acts(expected_losses(masses, family, table, rule, optimism), reject)


def decide_sets(
    masses: Array,
    family: FocalSets,
    tolerance: float,
    rule: str,
    optimism: float,
    max_size: int | None,
) -> Array:
    """Choose sets of answers for normalized masses; see `MassFunctions.decide_sets`."""
    candidates, utilities = candidate_sets(family, tolerance, max_size)
    rows = max(1, _MAX_LOSSES // (10 * len(candidates)))
    # In a tie the smaller set is chosen, then the set with the lower index.
    acts = [
        _choose_acts(
            expected_losses(masses[block], family, 1.0 - utilities, rule, optimism),
            None,
        )
        for block in row_slices(max(masses.shape[0], 1), rows)
    ]
    return look_up(candidates.membership, library_of(masses).concatenate(acts))


def candidate_sets(
    family: FocalSets, tolerance: float, max_size: int | None
) -> tuple[FocalSets, np.ndarray]:
    """Return the sets of at most ``max_size`` answers, and their utility for each true answer.

    The utilities have shape (c, number of sets). A set S that contains the true answer has the
    utility g_1(|S|). This is the first weight of the maximum-entropy ordered weighted average of
    |S| values with the given tolerance (Ma and Denoeux, 2021), which is 1 for a singleton and
    smaller for larger sets.
    """
    check(tolerance, "tolerance", real(0.5, 1))
    c = family.n_clusters
    size = max_size
    if size is None:
        size = 2 if c > 8 else c
    check(size, "max_size", integer(1))
    count = sum(comb(c, k) for k in range(1, min(int(size), c) + 1))
    if count * len(family) > _MAX_LOSSES:
        raise InvalidParameterError(
            "max_size",
            must=f"be smaller than {size}, which gives {count:,} candidate sets of {c} answers "
            f"and, with {len(family):,} focal sets, more than {_MAX_LOSSES:,} losses",
        )
    candidates = FocalSets.max_cardinality(c, size, empty=False)
    weights = np.array(
        [_largest_weight(int(size), tolerance) for size in candidates.cardinality]
    )
    return candidates, weights * candidates.membership.T


def validate_losses(losses: Any, c: int) -> np.ndarray:
    """Return the matrix of losses, shape (c, acts) or (c + 1, acts), by default 0-1 losses."""
    if losses is None:
        return 1.0 - np.eye(c)
    table = as_numbers(losses, "losses")
    if table.ndim != 2 or table.shape[0] not in (c, c + 1) or table.shape[1] == 0:
        raise InvalidParameterError(
            "losses", must=f"have {c} or {c + 1} rows, got shape {table.shape}"
        )
    return table


def expected_losses(
    masses: Array,
    family: FocalSets,
    losses: np.ndarray,
    rule: str,
    optimism: float = 0.5,
) -> Array:
    """Return the expected losses that a rule minimizes, shape (n, acts), for normalized masses.

    If ``losses`` has c + 1 rows, the last row is for an unknown class, which only the whole frame
    contains.
    """
    check_choice(rule, "rule", SINGLE_RULES)
    check(optimism, "optimism", real(0, 1))
    sets = _sets_of_states(family, losses)
    if rule == "pignistic":
        share = sets / np.maximum(sets.sum(axis=1), 1)[:, None]
        return multiply(masses, share @ losses)
    lowest, highest = _bounds(sets, losses)
    if rule == "maximax":
        return multiply(masses, lowest)
    if rule == "maximin":
        return multiply(masses, highest)
    optimism = float(optimism)
    return multiply(masses, optimism * lowest + (1 - optimism) * highest)


def _sets_of_states(family: FocalSets, losses: np.ndarray) -> np.ndarray:
    """Return the membership of the focal sets, with the unknown class if losses has c + 1 rows."""
    sets = family.membership
    if losses.shape[0] == family.n_clusters:
        return sets
    return np.column_stack([sets, sets.all(axis=1)])


def _bounds(sets: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest loss of each act over each set, shape (f, acts)."""
    lowest = np.zeros((len(sets), losses.shape[1]))
    highest = np.zeros_like(lowest)
    for j in np.flatnonzero(sets.any(axis=1)):
        lowest[j] = losses[sets[j]].min(axis=0)
        highest[j] = losses[sets[j]].max(axis=0)
    return lowest, highest


def _choose_acts(expected: Array, reject: float | None) -> Array:
    """Return the first act with the smallest expected loss, or -1 if it exceeds ``reject``."""
    act = expected.argmin(axis=1)
    if reject is None:
        return act
    library = library_of(expected)
    return library.where(library.amin(expected, 1) > reject, -1, act)


def _find_undominated(masses: Array, family: FocalSets, losses: np.ndarray) -> Array:
    """Return a mask of the acts that no other act dominates, shape (n, acts).

    The lower expected loss of these acts is at most the smallest upper expected loss. With 0-1
    losses, the acts are the classes whose plausibility is at least the largest belief of a single
    class.
    """
    lower = expected_losses(masses, family, losses, "maximax")
    upper = expected_losses(masses, family, losses, "maximin")
    return lower <= library_of(upper).amin(upper, 1)[:, None] + _slack(masses, losses)


def _find_maximal(masses: Array, family: FocalSets, losses: np.ndarray) -> Array:
    """Return a mask, shape (n, acts), of the maximal acts (Walley, 1991; Denoeux, 2019).

    An act a is maximal if there is no act b such that the lower expectation of loss(a) - loss(b) is
    positive.
    """
    sets = _sets_of_states(family, losses)
    kept = zeros((masses.shape[0], losses.shape[1]), masses) == 0
    for b in range(losses.shape[1]):
        least, _ = _bounds(sets, losses - losses[:, [b]])
        kept &= multiply(masses, least) <= _slack(masses, losses)
    return kept


def _slack(masses: Array, losses: np.ndarray) -> float:
    """Return a tolerance for expected losses, so that rounding errors do not exclude equal acts."""
    tolerance = 1e-12 if precision_of(masses) == np.float64 else 1e-6
    return tolerance * max(1.0, float(np.abs(losses).max()))


@cache
def _largest_weight(size: int, tolerance: float) -> float:
    """Return the first weight of a maximum-entropy ordered weighted average of ``size`` values."""
    if size == 1 or tolerance >= 1:
        return 1.0
    if tolerance <= 0.5:
        return 1.0 / size
    from scipy.optimize import brentq

    t = (size - np.arange(1, size + 1)) / (size - 1)

    def weights(x: float) -> np.ndarray:
        g = np.exp(x * (t - 1))
        return g / g.sum()

    root = brentq(lambda x: weights(x) @ t - tolerance, 0.0, 1e4, xtol=1e-12)
    return float(weights(root)[0])
