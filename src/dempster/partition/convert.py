"""Masses from hard, fuzzy, soft and rough partitions (possibilistic ones: `MassFunctions.from_contour`)."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import (
    as_reals,
    as_truth,
    check,
    check_choice,
    check_memory,
    choice,
    hashable,
    integer,
    is_missing,
    reading_labels,
    same_label,
)
from dempster.belief import FocalSets, inverse, transforms

__all__ = ["masses_from_hard", "masses_from_fuzzy", "masses_from_soft", "masses_from_rough", "checked_possibilities"]

_ROUNDING = 1e-6


def masses_from_hard(labels: Any, noise: Any) -> tuple[np.ndarray, FocalSets, list]:
    """Certain masses; objects labelled ``noise`` get the empty set. Also returns the names of the clusters."""
    values = _label_array(labels)
    check(noise, "noise", hashable)
    # an array of text turns -1 into "-1"
    text = values.dtype.kind == "U"
    mark = str(noise) if text and noise is not None else noise
    is_noise = _are_same(values, mark)
    names, code = _sorted_names(values[~is_noise])
    if len(names) == 0:
        raise InvalidInputError("labels must hold at least one object that belongs to a cluster")
    c = len(names)
    check_memory(8 * (len(values) + c) * (c + 1), f"a partition into {c:,} clusters", "labels are names of clusters")
    family = FocalSets.simple(len(names), empty=bool(is_noise.any()), omega=False)
    masses = np.zeros((len(values), len(family)))
    masses[np.flatnonzero(~is_noise), family.singleton_index[code]] = 1
    if is_noise.any():
        masses[is_noise, family.empty_index] = 1
    return masses, family, names


def _label_array(labels: Any) -> np.ndarray:
    """Labels as they were given: of lists with names and numbers numpy would make text."""
    mixed = isinstance(labels, list | tuple) and len({type(label) for label in labels}) > 1
    with reading_labels(labels, "labels"):
        values = np.array(labels, dtype=object) if mixed else np.asarray(labels)
    if values.ndim != 1 or len(values) == 0:
        raise InvalidInputError(f"labels must be a nonempty sequence, got shape {values.shape}")
    missing = values.dtype.kind in "OMm" and any(map(is_missing, values.tolist()))
    if missing or (values.dtype.kind == "f" and not np.isfinite(values).all()):
        raise InvalidInputError(
            "labels must not hold NaN, None or infinite values; mark objects without a cluster by -1"
        )
    if values.dtype.kind in "cV":
        raise InvalidInputError(f"labels must be names or real numbers, got {values.dtype}")
    return values


def _are_same(values: np.ndarray, mark: Any) -> np.ndarray:
    """(n,) whether labels are the same as a mark; numbers and text are looked at once, however often they stand."""
    different, code = (values, slice(None)) if values.dtype.kind == "O" else np.unique(values, return_inverse=True)
    return np.array([same_label(value, mark) for value in different.tolist()], dtype=bool)[code]


def _sorted_names(values: np.ndarray) -> tuple[list, np.ndarray]:
    """The different labels in order, numbers before text, and which of them each is."""
    if values.dtype.kind != "O":
        different, code = np.unique(values, return_inverse=True)
        return different.tolist(), code
    try:
        names = sorted(set(values.tolist()), key=lambda v: (not isinstance(v, Number), v))
    except TypeError as error:
        raise InvalidInputError(
            f"labels must be names or numbers that can be told apart and ordered: {error}"
        ) from error
    where = {name: k for k, name in enumerate(names)}
    return names, np.array([where[v] for v in values.tolist()], dtype=np.intp)


def masses_from_fuzzy(memberships: Any) -> tuple[np.ndarray, FocalSets]:
    """Memberships become masses of the singletons, what is missing to one the mass of the empty set."""
    u = as_reals(memberships, "memberships").astype(float, copy=False)
    if u.ndim != 2 or u.size == 0:
        raise InvalidInputError(f"memberships must be a nonempty table (n, c), got shape {u.shape}")
    missing = 1 - u.sum(axis=1)
    if not np.isfinite(u).all() or u.min() < -1e-10 or missing.min() < -1e-6:
        raise InvalidInputError(
            "memberships must be nonnegative with rows summing to at most one (else: from_possibilistic)"
        )
    family = FocalSets.simple(u.shape[1], omega=False)
    return np.column_stack([np.clip(missing, 0, None), u]), family


def masses_from_soft(memberships: Any, rule: str, remainder: str, max_size: int | None) -> tuple[np.ndarray, FocalSets]:
    """Nested masses: the doubt between clusters of similar membership becomes mass on their union."""
    check_choice(rule, "rule", _NESTED)
    check_choice(remainder, "remainder", ("outlier", "ignorance"))
    u = as_reals(memberships, "memberships").astype(float, copy=False)
    if u.ndim != 2 or u.size == 0:
        raise InvalidInputError(f"memberships must be a nonempty table (n, c), got shape {u.shape}")
    c = u.shape[1]
    check(max_size, "max_size", integer(1) | choice(None))
    largest = c if max_size is None else int(max_size)
    total = u.sum(axis=1)
    if not np.isfinite(u).all():
        row = int((~np.isfinite(u).all(axis=1)).argmax())
        raise InvalidInputError(f"memberships must be finite, but row {row} holds NaN or infinite values")
    if u.min() < -1e-10:
        raise InvalidInputError(f"memberships must not be negative, got {u.min():.6g}")
    if total.max() > 1 + _ROUNDING:
        raise InvalidInputError(
            f"memberships must sum to at most one in every row, but row {total.argmax()} sums to {total.max():.6g} "
            "(possibilities, which may sum to more: from_possibilistic)"
        )
    known = np.minimum(total, 1)
    known[np.abs(total - 1) <= _ROUNDING] = 1
    share = np.divide(np.maximum(u, 0), total[:, None], out=np.zeros_like(u), where=total[:, None] > 0)
    order, nested = _NESTED[rule](share)
    if largest < c:  # larger sets give their mass to the whole frame, so that no plausibility falls
        nested[:, c] += nested[:, largest + 1 : c].sum(axis=1)
        nested[:, largest + 1 : c] = 0
    nested *= known[:, None]
    nested[:, 0 if remainder == "outlier" else c] += 1 - known
    return inverse.nested(order, nested)


def _from_relative_memberships(share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Memberships over the largest one are the plausibilities; where there are none, the whole frame."""
    top = share.max(axis=1, keepdims=True)
    return transforms.consonant_from_contour(np.divide(share, top, out=np.ones_like(share), where=top > 0))


_NESTED = {"plausibility": _from_relative_memberships, "pignistic": transforms.consonant_from_pignistic}


def checked_possibilities(possibilities: Any) -> np.ndarray:
    """(n, c) degrees of possibility."""
    values = as_reals(possibilities, "possibilities")
    if values.ndim not in (1, 2) or values.size == 0 or not ((values >= 0) & (values <= 1)).all():
        raise InvalidInputError(
            f"possibilities must be a nonempty table (n, c) of numbers in [0, 1], got shape {values.shape}"
        )
    return values


def masses_from_rough(upper: Any, lower: Any = None) -> tuple[np.ndarray, FocalSets]:
    """All mass on the set of clusters whose upper approximation holds the object."""
    up = as_truth(upper, "upper")
    if up.ndim != 2 or up.size == 0:
        raise InvalidInputError("upper must be a nonempty Boolean table (n, c)")
    if lower is not None:
        low = as_truth(lower, "lower")
        if low.shape != up.shape:
            raise InvalidInputError(f"lower must have the shape of upper {up.shape}, got {low.shape}")
        wrong = (low & (up.sum(axis=1) != 1)[:, None]) | (low & ~up)
        if wrong.any():
            row = int(np.flatnonzero(wrong.any(axis=1))[0])
            raise InvalidInputError(
                f"object {row} is in a lower approximation but not in exactly that upper approximation"
            )
    rows, which = np.unique(up, axis=0, return_inverse=True)
    family = FocalSets(rows)
    ordered = family.sorted()
    masses = np.zeros((len(up), len(ordered)))
    masses[np.arange(len(up)), ordered.find(rows)[which.reshape(-1)]] = 1
    return masses, ordered
