"""Transforms between the equivalent representations of a mass function.

The transforms operate on the last axis of an array, which has length 2^c. Index s is the set that
contains element k if bit k of s is 1 (binary order). A transform needs c 2^(c-1) additions for each
mass function (Kennes, 1992, "Computational aspects of the Moebius transformation of graphs"). On
families other than the power set, the masses are the solution of a small linear system.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import Array, as_array, is_tensor, library_of, to_device_of, zeros
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_floats, check_memory
from dempster.belief.focal_sets import (
    FocalSets,
    is_subset,
    unique_sets,
    validate_family,
)


def to_dense(masses: Array, family: FocalSets) -> Array:
    """Return the masses of all sets in binary order, shape (n, 2^c)."""
    out = zeros((len(masses), 1 << family.n_clusters), masses)
    out[:, to_device_of(family.codes, out)] = masses
    return out


def _sweep(values: Array, target: int, sign: int) -> Array:
    """Return the result of `sweep_sets` for the last axis."""
    out = _copy(as_array(values))
    sweep_sets(out[..., None], target, sign)
    return out


def _copy(values: Array) -> Array:
    if not is_tensor(values):
        return np.array(values, np.result_type(values, np.float32), order="C")
    if not values.is_floating_point():
        values = values.double()
    return values.clone(memory_format=library_of(values).contiguous_format)


def _reversed(values: Array) -> Array:
    # Reversing the last axis replaces each set by its complement.
    return library_of(values).flip(values, (-1,))


def sweep_sets(values: Array, target: int, sign: int) -> None:
    """Add or subtract, for each bit, the values with the opposite bit where it is ``target``.

    The second to last axis of the contiguous array, which changes in place, has length 2^c. For
    many mass functions, this is fastest if they are columns, and if the array fits in the cache.
    """
    *lead, size, n = values.shape if values.ndim > 1 else (0, 0)
    c = size.bit_length() - 1
    if size < 2 or size != 1 << c:
        raise InvalidInputError(
            f"the last axis must have length 2^c for a frame of c >= 1 elements, got {size}"
        )
    for k in range(c):
        # The third to last axis is bit k.
        view = values.reshape(*lead, size >> (k + 1), 2, 1 << k, n)
        if sign > 0:
            view[..., target, :, :] += view[..., 1 - target, :, :]
        else:
            view[..., target, :, :] -= view[..., 1 - target, :, :]


def mass_to_commonality(mass: Array) -> Array:
    """Return the commonalities q(A), the sums of m(B) over all sets B that contain A."""
    return _sweep(mass, 0, 1)


def commonality_to_mass(commonality: Array) -> Array:
    """Invert `mass_to_commonality`."""
    return _sweep(commonality, 0, -1)


def mass_to_implicability(mass: Array) -> Array:
    """Return the implicabilities b(A), the sums of m(B) over all subsets B of A."""
    return _sweep(mass, 1, 1)


def implicability_to_mass(implicability: Array) -> Array:
    """Invert `mass_to_implicability`."""
    return _sweep(implicability, 1, -1)


def plausibility_to_mass(plausibility: Array) -> Array:
    """Return the masses from the unnormalized plausibilities pl(A) = 1 - b(complement of A)."""
    return implicability_to_mass(1 - _reversed(as_array(plausibility)))


def mass_to_conjunctive_weights(mass: Array) -> Array:
    """Return the weights w of the conjunctive canonical decomposition.

    It requires m(whole frame) > 0. With q the commonality, -ln w(A) is the sum of (-1)^(|B|-|A|)
    ln q(B) over all sets B that contain A. The weight of the whole frame is set to 1.
    """
    mass = as_array(mass)
    if (mass[..., -1] <= 0).any():
        raise InvalidInputError(
            "conjunctive weights need m(whole frame) > 0 (a non-dogmatic mass function)"
        )
    library = library_of(mass)
    weights = library.exp(-commonality_to_mass(library.log(mass_to_commonality(mass))))
    return library.concatenate(
        [weights[..., :-1], library.ones_like(weights[..., :1])], -1
    )


def conjunctive_weights_to_mass(weights: Array) -> Array:
    """Invert `mass_to_conjunctive_weights`.

    The commonality q(B) is the product of w(A) over all A not containing B.
    """
    library = library_of(weights)
    logs = library.log(
        weights.double() if is_tensor(weights) else np.asarray(weights, float)
    )
    logs[..., -1] = 0
    containing = mass_to_commonality(logs)
    return commonality_to_mass(library.exp(containing[..., :1] - containing))


def mass_to_disjunctive_weights(mass: Array) -> Array:
    """Return the weights v of the disjunctive canonical decomposition.

    It requires m(empty set) > 0. v(A) is the conjunctive weight of the complement of A for the mass
    function that gives the mass of each set to its complement. The weight of the empty set is set
    to 1.
    """
    mass = as_array(mass)
    if (mass[..., 0] <= 0).any():
        raise InvalidInputError(
            "disjunctive weights need m(empty set) > 0 (a subnormal mass function)"
        )
    return _reversed(mass_to_conjunctive_weights(_reversed(mass)))


def disjunctive_weights_to_mass(weights: Array) -> Array:
    """Invert `mass_to_disjunctive_weights`."""
    return _reversed(conjunctive_weights_to_mass(_reversed(as_array(weights))))


def consonant_from_contour(contour: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the order of the elements and the nested masses with given plausibilities.

    The order has shape (n, c) and sorts the elements by decreasing plausibility, then by index. The
    masses have shape (n, c + 1) and belong to the empty set, the first element in this order, the
    first two elements, and so on.
    """
    order, levels = _sort_decreasing(contour)
    return order, -np.diff(levels, axis=1, prepend=1.0, append=0.0)


def consonant_from_pignistic(
    probabilities: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the order and the least committed masses with given pignistic probabilities.

    The mass of the k most probable elements is k (p_(k) - p_(k+1)), where p_(k) is the k-th largest
    probability. The shapes are those of `consonant_from_contour`.
    """
    order, levels = _sort_decreasing(probabilities)
    masses = -np.diff(levels, axis=1, append=0.0) * np.arange(1, levels.shape[1] + 1)
    return order, np.concatenate([np.zeros((len(levels), 1)), masses], axis=1)


def _sort_decreasing(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = np.asarray(values, float)
    order = np.argsort(-values, kind="stable")
    return order, np.take_along_axis(values, order, axis=1)


# ---- masses on any family ------------------------------------------------------------------------

# These functions compute the masses of the power set in binary order.
_INVERSES = {
    "implicability": implicability_to_mass,
    "plausibility": plausibility_to_mass,
    "commonality": commonality_to_mass,
}
KINDS = ("belief", *_INVERSES)


def masses_from_function(values: Any, family: FocalSets, kind: str) -> np.ndarray:
    """Return the masses, shape (n, f), from the values of a set function for the f sets."""
    validate_family(family, "focal_sets")
    values = np.atleast_2d(as_floats(values, "values"))
    if values.ndim != 2 or values.shape[1] != len(family) or len(values) == 0:
        raise InvalidParameterError(
            "values",
            must=f"have at least one row and one column per set ({len(family)}), "
            f"got shape {values.shape}",
        )
    if kind == "belief":
        if family.omega_index is None:
            raise InvalidParameterError(
                "focal_sets",
                must="contain the whole frame, because m(∅) = 1 - bel(frame)",
            )
        values = values + (1 - values[:, [family.omega_index]])
        kind = "implicability"
    if len(family) == 1 << family.n_clusters:
        dense = np.empty_like(values)
        dense[:, family.codes] = values
        return _INVERSES[kind](dense)[:, family.codes]
    if kind == "plausibility":
        raise InvalidParameterError(
            "focal_sets", must="contain all sets for kind='plausibility'"
        )
    # The system has a unique solution, because it is unit triangular if the sets are sorted by
    # cardinality.
    system = is_subset(family.membership, family.membership).astype(float)
    if kind == "implicability":
        system = system.T
    return np.linalg.solve(system, values.T).T


def nested_masses(
    order: np.ndarray, masses: np.ndarray
) -> tuple[np.ndarray, FocalSets]:
    """Return the masses and their family from the two results of `consonant_from_contour`."""
    n, c = order.shape
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(c), axis=1)
    rows_with_mass = [np.flatnonzero(masses[:, k] > 0) for k in range(c + 1)]
    unique, target = unique_sets(
        np.concatenate([rank[rows] < k for k, rows in enumerate(rows_with_mass)])
    )
    what = f"nested masses of {n:,} rows on {len(unique):,} different sets"
    check_memory(
        2 * 8 * n * len(unique),
        what,
        "use fewer rows at once, or limit the size of the sets",
    )
    out = np.zeros((n, len(unique)))
    start = 0
    for k, rows in enumerate(rows_with_mass):
        out[rows, target[start : start + len(rows)]] = masses[rows, k]
        start += len(rows)
    return sort_sets(out, unique)


def sort_sets(masses: Array, rows: np.ndarray) -> tuple[Array, FocalSets]:
    """Sort the sets by cardinality, then lexicographically.

    Return the reordered masses and the family.
    """
    family = FocalSets(rows)
    ordered = family.sorted()
    return masses[:, family.find(ordered.membership)], ordered
