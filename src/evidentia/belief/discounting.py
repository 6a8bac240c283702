"""Discounting: believing a source less, everywhere alike or depending on what the answer is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from evidentia._scale import as_reals
from evidentia.belief.combination import combine_masses
from evidentia.belief.focal_sets import FocalSets

__all__ = ["discounted", "checked_contexts", "contextually_discounted"]


def discounted(masses: np.ndarray, family: FocalSets, rate: Any) -> tuple[np.ndarray, FocalSets]:
    """A share 1 - rate of each mass is kept, the rest goes to the whole frame (Shafer, 1976)."""
    n, c = len(masses), family.n_clusters
    rates = as_reals(rate, "rate").astype(float, copy=False)
    if rates.ndim > 1 or (rates.ndim == 1 and len(rates) != n):
        raise ValueError(
            f"rate must be a number or one per row ({n}), got shape {rates.shape}; rates of answers or sets are a "
            "mapping {set: rate}, or come with contexts"
        )
    _check_rates(rates)
    wider = family.union(FocalSets.from_sets(c, [range(c)]))
    keep = np.broadcast_to(1 - rates, (n,)).astype(masses.dtype)
    out = np.zeros((n, len(wider)), dtype=masses.dtype)
    out[:, wider.find(family.membership)] = masses * keep[:, None]
    out[:, wider.omega_index] += 1 - keep
    return out, wider


def checked_contexts(
    rate: Any, contexts: Any, n_answers: int, membership_rows: Callable[[Any], tuple[np.ndarray, bool]]
) -> tuple[np.ndarray, np.ndarray]:
    """(l, c) membership of the contexts and their (l,) rates, from a mapping or from two lists."""
    if isinstance(rate, Mapping):
        if contexts is not None:
            raise ValueError("contexts must be None when rate is a mapping {set: rate}")
        contexts, rate = list(rate), list(rate.values())
    if isinstance(contexts, str):
        if contexts != "answers":
            raise ValueError(f"contexts must be 'answers' or a list of sets, got {contexts!r}")
        rows = np.eye(n_answers, dtype=bool)
    else:
        if not isinstance(contexts, list):
            contexts = list(contexts) if isinstance(contexts, tuple) else contexts
        rows = membership_rows(contexts)[0].astype(bool)
    if len({row.tobytes() for row in rows}) < len(rows):
        raise ValueError("contexts must be different sets, but one comes twice")
    if not rows.any(axis=1).all():
        raise ValueError("contexts must be nonempty sets: the answer is never in the empty set")
    rates = as_reals(rate, "rate").astype(float, copy=False)
    if rates.shape != (len(rows),):
        raise ValueError(f"rate must hold {len(rows)} numbers, one for each context, got shape {rates.shape}")
    _check_rates(rates)
    return rows, rates


def contextually_discounted(
    masses: np.ndarray, family: FocalSets, contexts: np.ndarray, rates: np.ndarray
) -> tuple[np.ndarray, FocalSets]:
    """Disjunctive combination with m_A(empty set) = 1 - rate(A), m_A(A) = rate(A) for each context A.

    The form that Mercier, Quost and Denoeux (2008) give for it. The contexts, which are the same for all rows, are
    combined with each other first.
    """
    empty = np.zeros((1, family.n_clusters), dtype=bool)
    simple = [
        (np.array([[1 - rate, rate]], dtype=masses.dtype), FocalSets(np.vstack([empty, context])))
        for context, rate in zip(contexts, rates, strict=True)
        if rate > 0
    ]
    if not simple:
        return np.array(masses), family
    union = combine_masses(simple, "disjunctive") if len(simple) > 1 else simple[0]
    return combine_masses([(masses, family), union], "disjunctive")


def _check_rates(rates: np.ndarray) -> None:
    if not np.all((rates >= 0) & (rates <= 1)):
        raise ValueError("rate must lie in [0, 1]")
