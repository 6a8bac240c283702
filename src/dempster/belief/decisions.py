"""Decisions under evidence: the choice of an act (a class, a rejection, a set of classes).

A loss matrix has a row for every class and a column for every act. For a normalized mass function each act has a lower,
an upper and a pignistic expected loss; the rules differ in the loss that they minimize (Denoeux, 2019,
"Decision-making with belief functions: a review").
"""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np

from dempster._arrays import Array, library_of, look_up, multiply, precision_of, zeros
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_reals, check, check_choice, integer, is_number, real
from dempster.belief.focal_sets import FocalSets

SINGLE_RULES = ("maximax", "maximin", "hurwicz", "pignistic")  # Rules that choose one act.
SET_RULES = ("interval_dominance", "maximality")  # Rules that keep all undominated acts.
_MAX_LOSSES = 100_000_000  # Maximum total number of losses of candidate sets.
DECISION_RULES = (*SINGLE_RULES, *SET_RULES)


def decide(masses: Array, family: FocalSets, rule: str, losses: Any, reject: float | None, optimism: float) -> Array:
    """Choose acts under normalized mass functions, see `MassFunctions.decide`."""
    check_choice(rule, "rule", DECISION_RULES)
    check(optimism, "optimism", real(0, 1))
    if reject is not None and not (is_number(reject) and reject >= 0):
        raise InvalidParameterError("reject", "None or a loss of at least 0", reject)
    table = validate_losses(losses, family.n_clusters)
    if rule in SET_RULES:
        if reject is not None:
            raise InvalidParameterError("reject", f"None for rule={rule!r}, which keeps several acts", reject)
        keep = _find_undominated if rule == "interval_dominance" else _find_maximal
        return keep(masses, family, table)
    return _choose_acts(expected_losses(masses, family, table, rule, optimism), reject)


def decide_sets(
    masses: Array, family: FocalSets, tolerance: float, rule: str, optimism: float, max_size: int | None
) -> Array:
    """Choose sets under normalized mass functions, see `MassFunctions.decide_sets`."""
    check(tolerance, "tolerance", real(0.5, 1))
    check(optimism, "optimism", real(0, 1))
    check_choice(rule, "rule", SINGLE_RULES)
    c = family.n_clusters
    size = (2 if c > 8 else c) if max_size is None else max_size
    check(size, "max_size", integer(1))
    count = sum(comb(c, k) for k in range(1, min(int(size), c) + 1))
    if count * len(family) > _MAX_LOSSES:
        raise InvalidInputError(
            f"max_size={size} of {c} answers gives {count:,} candidate sets, and with {len(family):,} focal sets more "
            f"than {_MAX_LOSSES:,} losses; use a smaller max_size"
        )
    candidates = FocalSets.max_cardinality(c, size, empty=False)
    # A set S that contains the truth has the utility g_1(|S|), the first weight of the maximum-entropy ordered weighted
    # average of the 0-1 utilities with the given tolerance to imprecision (Ma and Denoeux, 2021): 1 for a singleton,
    # less for larger sets. Ties are resolved by the smaller set, then by the lower index.
    utility = np.array([_largest_weight(int(size), tolerance) for size in candidates.cardinality])
    losses = 1.0 - utility[None, :] * candidates.membership.T
    rows = max(1, _MAX_LOSSES // (10 * len(candidates)))
    blocks = [masses[start : start + rows] for start in range(0, max(len(masses), 1), rows)]
    acts = [_choose_acts(expected_losses(block, family, losses, rule, optimism), None) for block in blocks]
    return look_up(candidates.membership, library_of(masses).concatenate(acts))


def validate_losses(losses: Any, c: int) -> np.ndarray:
    """Return (c or c + 1, acts) losses, by default 0-1 losses."""
    table = 1.0 - np.eye(c) if losses is None else as_reals(losses, "losses").astype(float, copy=False)
    if table.ndim != 2 or table.shape[0] not in (c, c + 1) or table.shape[1] == 0:
        raise InvalidParameterError("losses", must=f"have {c} rows (or one more), got shape {table.shape}")
    if not np.isfinite(table).all():
        raise InvalidParameterError("losses", must="be finite")
    return table


def expected_losses(masses: Array, family: FocalSets, losses: np.ndarray, rule: str, optimism: float = 0.5) -> Array:
    """Return (n, acts) expected losses of normalized mass functions under one rule.

    An additional row of ``losses`` is for an unknown class, which belongs to the whole frame and to no other set.
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
    share = float(optimism)
    return multiply(masses, share * lowest + (1 - share) * highest)


def _sets_of_states(family: FocalSets, losses: np.ndarray) -> np.ndarray:
    """Return the membership of the focal sets, with a column for the unknown class if the losses have a row for it."""
    sets = family.membership
    return sets if losses.shape[0] == family.n_clusters else np.column_stack([sets, sets.all(axis=1)])


def _bounds(sets: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the (f, acts) smallest and largest loss of each act in each set; zero for the empty set."""
    lowest = np.zeros((len(sets), losses.shape[1]))
    highest = np.zeros_like(lowest)
    for j in np.flatnonzero(sets.any(axis=1)):
        lowest[j] = losses[sets[j]].min(axis=0)
        highest[j] = losses[sets[j]].max(axis=0)
    return lowest, highest


def _choose_acts(expected: Array, reject: float | None) -> Array:
    """Return the index of the act with the smallest expected loss (ties: lowest), or -1 if rejection costs less."""
    act = expected.argmin(axis=1)
    if reject is None:
        return act
    library = library_of(expected)
    return library.where(library.amin(expected, 1) > reject, -1, act)


def _find_undominated(masses: Array, family: FocalSets, losses: np.ndarray) -> Array:
    """Return an (n, acts) mask of the acts whose lower loss is at most the smallest upper loss.

    With 0-1 losses the mask selects the classes whose plausibility is at least the largest belief of a class.
    """
    lower = expected_losses(masses, family, losses, "maximax")
    upper = expected_losses(masses, family, losses, "maximin")
    return lower <= library_of(upper).amin(upper, 1)[:, None] + _slack(masses, losses)


def _find_maximal(masses: Array, family: FocalSets, losses: np.ndarray) -> Array:
    """Return an (n, acts) mask of the acts that no other act beats under every probability that the evidence allows.

    Act b is better than a if the lower expectation of the loss of a minus that of b is positive (Walley, 1991; Denoeux,
    2019).
    """
    sets = _sets_of_states(family, losses)
    kept = zeros((len(masses), losses.shape[1]), masses) == 0
    for b in range(losses.shape[1]):
        least, _ = _bounds(sets, losses - losses[:, [b]])
        kept &= multiply(masses, least) <= _slack(masses, losses)
    return kept


def _slack(masses: Array, losses: np.ndarray) -> float:
    """Return the tolerance for rounding errors: acts that are equal in exact arithmetic are not dominated."""
    return (1e-12 if precision_of(masses) == np.float64 else 1e-6) * max(1.0, float(np.abs(losses).max()))


@cache
def _largest_weight(size: int, tolerance: float) -> float:
    """Return the weight g_1 of the maximum-entropy ordered weighted average of a given size and tolerance degree."""
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
