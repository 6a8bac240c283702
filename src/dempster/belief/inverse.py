"""Masses from other representations: fast Moebius on the full power set, a small linear system on other families."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import as_reals, check_memory, check_size
from dempster.belief import transforms
from dempster.belief.focal_sets import FocalSets, checked_family, inside, unique_sets

__all__ = ["from_implicability", "from_commonality", "from_plausibility", "nested", "table_of_values"]


def from_implicability(values: Any, family: FocalSets) -> np.ndarray:
    """(n, f) masses with the given implicabilities of the sets of the family."""
    checked_family(family, "focal_sets")
    return _solved(values, family, transforms.implicability_to_mass, inside(family.membership, family.membership))


def from_commonality(values: Any, family: FocalSets) -> np.ndarray:
    """(n, f) masses with the given commonalities."""
    checked_family(family, "focal_sets")
    return _solved(values, family, transforms.commonality_to_mass, inside(family.membership, family.membership).T)


def from_plausibility(values: Any, family: FocalSets) -> np.ndarray:
    """(n, f) masses with the given plausibilities, if these determine them."""
    if checked_family(family, "focal_sets").is_full:
        return _solved(values, family, transforms.plausibility_to_mass, 1 - family.conflict)
    values = table_of_values(values, family)
    # sets that meet, and the masses sum to one
    system = np.column_stack([1 - family.conflict, np.ones(len(family))])
    if np.linalg.matrix_rank(system) < len(family):
        raise InvalidInputError(
            "plausibilities of this family of sets do not determine the masses; use the full power set"
        )
    right = np.column_stack([values, np.ones(len(values))])
    return np.linalg.lstsq(system.T, right.T, rcond=None)[0].T


def nested(order: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, FocalSets]:
    """Masses (n, c + 1) of the first 0, 1, ..., c answers of each row's order, on the sets that occur."""
    n, c = order.shape
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(c)[None, :].repeat(n, axis=0), axis=1)
    carriers = [np.flatnonzero(masses[:, k] > 0) for k in range(c + 1)]
    unique, target = unique_sets(np.concatenate([rank[who] < k for k, who in enumerate(carriers)]))
    what = f"nested masses of {n:,} rows, which have {len(unique):,} different sets,"
    check_memory(2 * 8 * n * len(unique), what, "take fewer rows at once, or limit the size of the sets")
    out = np.zeros((n, len(unique)))
    start = 0
    for k, who in enumerate(carriers):
        out[who, target[start : start + len(who)]] = masses[who, k]
        start += len(who)
    family = FocalSets(unique)
    ordered = family.sorted()
    return out[:, family.find(ordered.membership)], ordered


def table_of_values(values: Any, family: FocalSets) -> np.ndarray:
    """(n, f) numbers, one for each set of the family, that are finite and can be added."""
    values = np.atleast_2d(as_reals(values, "values")).astype(float, copy=False)
    if values.ndim != 2 or values.shape[1] != len(family) or len(values) == 0:
        raise InvalidInputError(
            f"values must have a row at least and one column per set ({len(family)}), got {values.shape}"
        )
    if not np.isfinite(values).all():
        raise InvalidInputError("values must be finite; they hold NaN or infinite values")
    check_size(values, "values")
    return values


def _solved(values: Any, family: FocalSets, fast: Callable, system: np.ndarray) -> np.ndarray:
    values = table_of_values(values, family)
    if family.is_full and family.n_clusters <= 20:
        dense = np.empty_like(values)
        dense[:, family.codes] = values
        return fast(dense)[:, family.codes]
    # unit triangular once the sets are ordered by cardinality, hence always solvable
    return np.linalg.solve(system.T.astype(float), values.T).T
