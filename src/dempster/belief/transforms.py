"""Equivalent representations of a mass function, and masses from them.

The transforms work on the last axis of an array, of length 2^c, in binary order: position s is the set whose element
k is present when bit k of s is set. They cost c 2^(c-1) additions a mass function (Kennes, 1992, "Computational
aspects of the Moebius transformation of graphs"). On families other than the power set, masses follow from a small
linear system.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dempster._arrays import Array, as_array, is_tensor, library_of
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_reals, check_memory, check_size
from dempster.belief.focal_sets import FocalSets, checked_family, inside, unique_sets


def _frame_size(values: Array) -> int:
    size = values.shape[-1] if values.ndim else 0
    c = size.bit_length() - 1
    if size < 2 or size != 1 << c:
        raise InvalidInputError(f"the last axis must have length 2^c for a frame of c >= 1 elements, got {size}")
    return c


def _sweep(values: Array, target: int, sign: int) -> Array:
    """Add (or subtract) the slice of every bit into the other one, one bit after the other."""
    out = _copy(values)
    for k in range(_frame_size(out)):
        # middle axis: bit k absent / present
        view = out.reshape(out.shape[:-1] + (out.shape[-1] >> (k + 1), 2, 1 << k))
        if sign > 0:
            view[..., target, :] += view[..., 1 - target, :]
        else:
            view[..., target, :] -= view[..., 1 - target, :]
    return out


def _copy(values: Array) -> Array:
    """A copy in floating-point numbers, whose axes are in order."""
    if not is_tensor(values):
        return np.array(values, dtype=np.result_type(values, np.float32), order="C")
    floating = values if values.is_floating_point() else values.double()
    return floating.clone(memory_format=library_of(values).contiguous_format)


def _reversed(values: Array) -> Array:
    """The last axis from its end: the sets in binary order become their complements."""
    return library_of(values).flip(values, (-1,))


def sweep_columns(columns: np.ndarray, target: int, sign: int) -> None:
    """The same sums in place, for mass functions that are the columns of an array: the first axis has length 2^c.

    Rows are then long, which is faster for many mass functions as long as a block of them stays in the cache.
    """
    for k in range(_frame_size(columns[:, 0])):
        view = columns.reshape(-1, 2, 1 << k, columns.shape[1])
        if sign > 0:
            view[:, target] += view[:, 1 - target]
        else:
            view[:, target] -= view[:, 1 - target]


def mass_to_commonality(mass: Array) -> Array:
    """q(A) = sum of m(B) over B containing A."""
    return _sweep(as_array(mass), 0, 1)


def commonality_to_mass(commonality: Array) -> Array:
    """Inverse of `mass_to_commonality`."""
    return _sweep(as_array(commonality), 0, -1)


def mass_to_implicability(mass: Array) -> Array:
    """b(A) = sum of m(B) over B contained in A, the empty set included."""
    return _sweep(as_array(mass), 1, 1)


def implicability_to_mass(implicability: Array) -> Array:
    """Inverse of `mass_to_implicability`."""
    return _sweep(as_array(implicability), 1, -1)


def mass_to_belief(mass: Array) -> Array:
    """bel(A) = b(A) - m(empty set), not normalised."""
    mass = as_array(mass)
    return mass_to_implicability(mass) - mass[..., :1]


def belief_to_mass(belief: Array) -> Array:
    """Inverse of `mass_to_belief`: m(empty set) = 1 - bel(whole frame)."""
    belief = as_array(belief)
    return implicability_to_mass(belief + (1 - belief[..., -1:]))


def mass_to_plausibility(mass: Array) -> Array:
    """pl(A) = 1 - b(complement of A), not normalised."""
    return 1 - _reversed(mass_to_implicability(mass))


def plausibility_to_mass(plausibility: Array) -> Array:
    """Inverse of `mass_to_plausibility`."""
    return implicability_to_mass(1 - _reversed(as_array(plausibility)))


def commonality_to_plausibility(commonality: Array) -> Array:
    """pl(A) = sum over nonempty B in A of (-1)^(|B|+1) q(B)."""
    return mass_to_plausibility(commonality_to_mass(commonality))


def mass_to_conjunctive_weights(mass: Array) -> Array:
    """Weights w of the conjunctive canonical decomposition; the mass must leave something on the whole frame.

    ln w(A) = -sum over B containing A of (-1)^(|B|-|A|) ln q(B); the entry of the whole frame is set to 1.
    """
    mass = as_array(mass)
    if (mass[..., -1] <= 0).any():
        raise InvalidInputError("conjunctive weights need m(whole frame) > 0 (a non-dogmatic mass function)")
    library = library_of(mass)
    weights = library.exp(-commonality_to_mass(library.log(mass_to_commonality(mass))))
    return library.concatenate([weights[..., :-1], library.ones_like(weights[..., :1])], -1)


def conjunctive_weights_to_mass(weights: Array) -> Array:
    """Inverse of `mass_to_conjunctive_weights`: q(B) = product of w(A) over A not containing B."""
    library = library_of(weights)
    logs = library.log(weights.double() if is_tensor(weights) else np.asarray(weights, dtype=float))
    logs[..., -1] = 0
    containing = mass_to_commonality(logs)
    return commonality_to_mass(library.exp(containing[..., :1] - containing))


def mass_to_disjunctive_weights(mass: Array) -> Array:
    """Weights v of the disjunctive canonical decomposition; needs m(empty set) > 0. The entry of the empty set is 1.

    They are the conjunctive weights of the complementary mass function.
    """
    mass = as_array(mass)
    if (mass[..., 0] <= 0).any():
        raise InvalidInputError("disjunctive weights need m(empty set) > 0 (a subnormal mass function)")
    return _reversed(mass_to_conjunctive_weights(_reversed(mass)))


def disjunctive_weights_to_mass(weights: Array) -> Array:
    """Inverse of `mass_to_disjunctive_weights`."""
    return _reversed(conjunctive_weights_to_mass(_reversed(as_array(weights))))


def consonant_from_contour(contour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nested sets and masses whose plausibilities of the singletons are ``contour`` (n, c).

    Returns the order (n, c) of the elements by decreasing value and the masses (n, c + 1) of the empty set, the first
    element, the first two, ... of that order. A stable sort gives ties to the lowest index.
    """
    contour = np.asarray(contour, dtype=float)
    order = np.argsort(-contour, axis=1, kind="stable")
    levels = np.take_along_axis(contour, order, axis=1)
    padded = np.concatenate([np.ones((len(levels), 1)), levels, np.zeros((len(levels), 1))], axis=1)
    return order, padded[:, :-1] - padded[:, 1:]


def consonant_from_pignistic(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Least committed nested masses with the given pignistic probabilities (n, c), as in `consonant_from_contour`.

    m({first k elements}) = k (p_(k) - p_(k+1)).
    """
    probabilities = np.asarray(probabilities, dtype=float)
    order = np.argsort(-probabilities, axis=1, kind="stable")
    levels = np.take_along_axis(probabilities, order, axis=1)
    steps = levels - np.concatenate([levels[:, 1:], np.zeros((len(levels), 1))], axis=1)
    masses = steps * np.arange(1, levels.shape[1] + 1)
    return order, np.concatenate([np.zeros((len(levels), 1)), masses], axis=1)


# ---- masses on any family -------------------------------------------------------------------------------------------


def masses_from_implicability(values: Any, family: FocalSets) -> np.ndarray:
    """(n, f) masses with the given implicabilities of the sets of the family."""
    checked_family(family, "focal_sets")
    return _solved(values, family, implicability_to_mass, inside(family.membership, family.membership))


def masses_from_commonality(values: Any, family: FocalSets) -> np.ndarray:
    """(n, f) masses with the given commonalities."""
    checked_family(family, "focal_sets")
    return _solved(values, family, commonality_to_mass, inside(family.membership, family.membership).T)


def masses_from_plausibility(values: Any, family: FocalSets) -> np.ndarray:
    """(n, f) masses with the given plausibilities, if these determine them."""
    if checked_family(family, "focal_sets").is_full:
        return _solved(values, family, plausibility_to_mass, 1 - family.conflict)
    values = table_of_values(values, family)
    # sets that meet, and the masses sum to one
    system = np.column_stack([1 - family.conflict, np.ones(len(family))])
    if np.linalg.matrix_rank(system) < len(family):
        raise InvalidInputError(
            "plausibilities of this family of sets do not determine the masses; use the full power set"
        )
    right = np.column_stack([values, np.ones(len(values))])
    return np.linalg.lstsq(system.T, right.T, rcond=None)[0].T


def nested_masses(order: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, FocalSets]:
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
        raise InvalidParameterError(
            "values", must=f"have a row at least and one column per set ({len(family)}), got {values.shape}"
        )
    if not np.isfinite(values).all():
        raise InvalidParameterError("values", must="be finite; they hold NaN or infinite values")
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
