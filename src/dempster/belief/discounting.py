"""Discounting: believing a source less, everywhere alike or depending on what the answer is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dempster._arrays import Array, is_tensor, library_of, like, zeros
from dempster._errors import InvalidInputError
from dempster._validation import as_reals, check_memory, shown
from dempster.belief.focal_sets import FocalSets, unique_sets

__all__ = ["discounted", "checked_contexts", "contextually_discounted"]

_MOST_SETS = 1 << 17  # after discounting


def discounted(masses: Array, family: FocalSets, rate: Any) -> tuple[Array, FocalSets]:
    """A share 1 - rate of each mass is kept, the rest goes to the whole frame (Shafer, 1976)."""
    n, c = len(masses), family.n_clusters
    learnt = is_tensor(rate) and is_tensor(masses)  # gradients go through
    rates: Array = rate if learnt else as_reals(rate, "rate").astype(float, copy=False)
    if rates.ndim > 1 or (rates.ndim == 1 and len(rates) != n):
        raise InvalidInputError(
            f"rate must be a number or one per row ({n}), got shape {rates.shape}; rates of answers or sets are a "
            "mapping {set: rate}, or come with contexts"
        )
    _check_rates(rates)
    wider = family.union(FocalSets.from_sets(c, [range(c)]))
    keep = (1 - rates).to(masses) if learnt else like(1 - rates, masses)
    keep = library_of(keep).broadcast_to(keep, (n,))
    out = zeros((n, len(wider)), masses)
    out[:, wider.find(family.membership)] = masses * keep[:, None]
    out[:, wider.omega_index] += 1 - keep
    return out, wider


def checked_contexts(
    rate: Any, contexts: Any, n_answers: int, membership_rows: Callable[[Any], tuple[np.ndarray, bool]]
) -> tuple[np.ndarray, np.ndarray]:
    """(l, c) membership of the contexts and their (l,) rates, from a mapping or from two lists."""
    if isinstance(rate, Mapping):
        if contexts is not None:
            raise InvalidInputError("contexts must be None when rate is a mapping {set: rate}")
        contexts, rate = list(rate), list(rate.values())
    if isinstance(contexts, str):
        if contexts != "answers":
            raise InvalidInputError(f"contexts must be 'answers' or a list of sets, got {shown(contexts)}")
        rows = np.eye(n_answers, dtype=bool)
    else:
        if not isinstance(contexts, list):
            contexts = list(contexts) if isinstance(contexts, tuple) else contexts
        try:
            rows = membership_rows(contexts)[0].astype(bool)
        except ValueError as error:
            raise InvalidInputError(f"contexts must be sets of answers: {error}") from error
    if len({row.tobytes() for row in rows}) < len(rows):
        raise InvalidInputError("contexts must be different sets, but one comes twice")
    if not rows.any(axis=1).all():
        raise InvalidInputError("contexts must be nonempty sets: the answer is never in the empty set")
    rates = as_reals(rate, "rate").astype(float, copy=False)
    if rates.shape != (len(rows),):
        raise InvalidInputError(f"rate must hold {len(rows)} numbers, one for each context, got shape {rates.shape}")
    _check_rates(rates)
    return rows, rates


def contextually_discounted(
    masses: Array, family: FocalSets, contexts: np.ndarray, rates: np.ndarray
) -> tuple[Array, FocalSets]:
    """Disjunctive combination with m_A(empty set) = 1 - rate(A), m_A(A) = rate(A) for each context A.

    The form that Mercier, Quost and Denoeux (2008) give for it. A context A leaves a share 1 - rate of the mass of
    every set where it is and moves the rest to the union of the set with A; these steps are the same for all rows, so
    they are multiplied with each other first, as sparse matrices.
    """
    from scipy import sparse

    rows = family.membership
    moves = sparse.identity(len(rows), format="csr")
    for context, rate in zip(contexts, rates, strict=True):
        if rate > 0:
            kept, target = unique_sets(np.vstack([rows, rows | context]))
            shares = np.repeat([1 - rate, rate], len(rows))
            step = sparse.coo_matrix((shares, (np.tile(np.arange(len(rows)), 2), target)), (len(rows), len(kept)))
            moves, rows = moves @ step.tocsr(), kept
            _check_sets(len(masses), len(rows), len(contexts))
    reached = np.flatnonzero(np.asarray(moves.sum(axis=0)).ravel() > 0)
    wider = FocalSets(rows[reached])
    ordered = wider.sorted()
    columns = reached[wider.find(ordered.membership)]
    if is_tensor(masses):
        return masses @ like(moves[:, columns].toarray(), masses), ordered
    return np.ascontiguousarray((moves[:, columns].T.astype(masses.dtype) @ masses.T).T), ordered


def _check_sets(n: int, f: int, n_contexts: int) -> None:
    advice = f"take fewer than {n_contexts} contexts (sets of answers instead of single ones), or fewer rows at once"
    if f > _MOST_SETS:
        raise InvalidInputError(
            f"contextual discounting would widen the family to more than {_MOST_SETS:,} sets; {advice}"
        )
    check_memory(2 * 8 * n * f, f"{n:,} mass functions on more than {f:,} sets", advice)


def _check_rates(rates: Array) -> None:
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InvalidInputError("rate must lie in [0, 1]")
