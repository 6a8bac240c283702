"""Combination and discounting of mass functions.

Every rule combines all sources of evidence at once, because some rules (Yager, Dubois-Prade, PCR6)
are not associative. A source of evidence is an array of masses with its family of focal sets.
`MassFunctions.combine` and `MassFunctions.discount` validate the arguments.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import product
from math import prod
from operator import add, mul
from typing import Any

import numpy as np

from dempster._arrays import (
    Array,
    add_to_column,
    cast_like,
    divide,
    is_tensor,
    library_of,
    move_columns,
    precision_of,
    row_slices,
    scale_rows,
    select_columns,
    to_device_of,
    to_host,
    zeros,
)
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import as_floats, check_choice, check_memory
from dempster.belief import transforms
from dempster.belief.focal_sets import FocalSets, unique_sets

_BLOCK_ROWS = 8192  # Number of rows in a block that fits in the cache.
_MAX_TUPLES = 1_000_000  # Maximum number of tuples of focal sets in PCR6.
_MAX_PAIRS = 30_000_000  # Maximum number of pairs of focal sets of two sources.
# Maximum number of products of masses (about twenty seconds).
_MAX_PRODUCTS = 5_000_000_000
_MAX_FRAME = 20  # Maximum number of answers in a frame whose power set is computed.
_TENSOR_CELLS = 1 << 26  # Maximum number of products of masses in one tensor.
_MAX_SETS = 1 << 17  # Maximum number of sets in a family after discounting.

Source = tuple[Array, FocalSets]


def combine_masses(sources: Sequence[Source], rule: str) -> Source:
    """Combine sources of n mass functions each.

    A source with one mass function is repeated for every row.
    """
    check_choice(rule, "rule", RULES)
    lengths = [len(masses) for masses, _ in sources]
    n = next((length for length in lengths if length != 1), 1)
    if not {1, n}.issuperset(lengths):
        raise InvalidInputError(
            f"the sources must contain the same number of mass functions (or one), got {lengths}"
        )
    library = library_of(sources[0][0])
    sources = unify_tensors(sources)
    spread = [
        (library.broadcast_to(masses, (n, masses.shape[1])), family)
        for masses, family in sources
    ]
    if library is not np and rule in _ON_HOST:
        return _on_host(spread, rule)
    return RULES[rule](spread)


def unify_tensors(sources: Sequence[Source]) -> Sequence[Source]:
    """Convert the masses, which must be on one device, to the highest precision among them."""
    devices = {
        str(masses.device) if is_tensor(masses) else "a NumPy array"
        for masses, _ in sources
    }
    if len(devices) > 1:
        raise InvalidInputError(
            f"the mass functions must be on the same device, got {' and '.join(sorted(devices))}; "
            "move the tensors to one device, or use to_numpy()"
        )
    if not is_tensor(sources[0][0]):
        return sources
    widest = max(
        (masses.dtype for masses, _ in sources), key=lambda dtype: dtype.itemsize
    )
    return [(masses.to(widest), family) for masses, family in sources]


def _on_host(sources: Sequence[Source], rule: str) -> Source:
    """Apply a rule to tensors by converting them to NumPy arrays, without gradients."""
    if any(masses.requires_grad for masses, _ in sources):
        raise InvalidInputError(
            f"rule={rule!r} has no gradient; detach() the masses, or use another rule"
        )
    masses, family = RULES[rule]([(to_host(m), f) for m, f in sources])
    return to_device_of(masses, sources[0][0]), family


# ---- joining focal sets pair by pair -------------------------------------------------------------

Join = Callable[[np.ndarray, np.ndarray], np.ndarray]
Sets = tuple[Array, np.ndarray]  # masses, and the membership of their columns


def _join(first: Sets, second: Sets, join: Join) -> Sets:
    """Add each product of the masses of sets A and B to the mass of ``join(A, B)``."""
    a, rows_a = first
    b, rows_b = second
    pairs = len(rows_a) * len(rows_b)
    n = len(a)
    if pairs > _MAX_PAIRS or pairs * n > _MAX_PRODUCTS:
        raise InvalidInputError(
            f"the combination of families of {len(rows_a):,} and {len(rows_b):,} sets in "
            f"{len(a):,} rows needs {pairs * len(a):,} products, more than {_MAX_PRODUCTS:,} (or "
            f"{_MAX_PAIRS:,} in one row); use families of fewer sets, or fewer rows at once"
        )
    both = join(rows_a[:, None], rows_b)
    both = both.reshape(-1, both.shape[-1])
    rows, target = unique_sets(both)
    n_sets = len(rows)
    if is_tensor(a):
        return _sum_products(a, b, target, n_sets), rows
    dtype = np.result_type(a, b)
    if pairs > n:
        out = np.empty((n, n_sets), dtype)
        for i in range(n):
            out[i] = np.bincount(target, np.outer(a[i], b[i]).ravel(), n_sets)
        return out, rows
    target = target.reshape(len(rows_a), len(rows_b))
    out = np.zeros((n, n_sets), dtype)
    for block in row_slices(n, _BLOCK_ROWS):
        columns_a = np.ascontiguousarray(a[block].T)
        columns_b = np.ascontiguousarray(b[block].T)
        total = np.zeros((n_sets, columns_a.shape[1]), out.dtype)
        scratch = np.empty_like(total[0])
        for i in range(len(rows_a)):
            for j in range(len(rows_b)):
                total[target[i, j]] += np.multiply(
                    columns_a[i], columns_b[j], out=scratch
                )
        out[block] = total.T
    return out, rows


def _sum_products(a: Array, b: Array, target: np.ndarray, n_sets: int) -> Array:
    """Sum the products of masses over the pairs of columns with the same target.

    Return an (n, n_sets) tensor.
    """
    torch = library_of(a)
    where = to_device_of(target, a)
    size = max(1, _TENSOR_CELLS // len(target))
    parts = []
    for block in row_slices(max(len(a), 1), size):
        products = torch.einsum("if,ig->ifg", a[block], b[block]).flatten(1)
        parts.append(
            products.new_zeros((len(products), n_sets)).index_add(1, where, products)
        )
    return torch.cat(parts)


def _by_pairs(sources: Sequence[Source], join: Join) -> Source:
    sets = [(masses, family.membership) for masses, family in sources]
    return transforms.sort_sets(*reduce(partial(_join, join=join), sets))


def _check_power_set(n: int, c: int) -> None:
    if c > _MAX_FRAME:
        raise InvalidInputError(
            f"this rule needs all 2^{c} sets of {c} answers, the limit is 2^{_MAX_FRAME}; use "
            "another rule or a smaller frame"
        )
    check_memory(
        4 * 8 * n << c,
        f"{n:,} mass functions on all 2^{c} sets",
        "combine fewer rows at once",
    )


def _dense_is_cheaper(sources: Sequence[Source]) -> bool:
    """Return whether the transforms (c 2^c additions per source) are faster than a loop."""
    c = sources[0][1].n_clusters
    return c <= _MAX_FRAME and sum(len(f) for _, f in sources) ** 2 > 4 * 3 * c * 2**c


# ---- the rules -----------------------------------------------------------------------------------


def _multiply(
    sources: Sequence[Source],
    join: Join,
    transform: Callable[[Array], Array],
    inverse: Callable[[Array], Array],
) -> Source:
    """Assign products of masses to joined sets, or multiply the transforms of the masses."""
    if not _dense_is_cheaper(sources):
        return _by_pairs(sources, join)
    family = FocalSets.full(sources[0][1].n_clusters)
    _check_power_set(len(sources[0][0]), family.n_clusters)
    values = [transform(transforms.to_dense(*source)) for source in sources]
    dense = inverse(reduce(mul, values))
    masses = dense[:, to_device_of(family.codes, dense)]
    return library_of(masses).clip(masses, 0, None), family


_conjunctive = partial(
    _multiply,
    join=np.logical_and,
    transform=transforms.mass_to_commonality,
    inverse=transforms.commonality_to_mass,
)
_disjunctive = partial(
    _multiply,
    join=np.logical_or,
    transform=transforms.mass_to_implicability,
    inverse=transforms.implicability_to_mass,
)


def _dempster(sources: Sequence[Source]) -> Source:
    """Apply Dempster's rule, the normalized conjunctive rule (Shafer, 1976).

    Raise an error if the conflict is 1.
    """
    masses, family = _conjunctive(sources)
    if family.empty_index is None:
        return masses, family
    if len(family) == 1:
        masses, family = _with_omega(masses, family)
    rest, family = _drop_empty(masses, family)
    agreement = rest.sum(axis=1)
    if (agreement < max(1e-300, np.finfo(precision_of(agreement)).tiny)).any():
        raise InvalidInputError(
            f"Dempster's rule is undefined for mass functions with conflict 1 (row "
            f"{int(agreement.argmin())}); discount the sources or use rule='dubois_prade' or "
            "'yager'"
        )
    if (agreement < 1e-12).any():
        warnings.warn(
            "the conflict in Dempster's rule is close to 1; the result has few correct digits",
            stacklevel=4,
        )
    return rest / agreement[:, None], family


def remove_empty(masses: Array, family: FocalSets) -> Source:
    """Divide the masses of the nonempty sets by their sum.

    A row with all mass on the empty set becomes vacuous.
    """
    empty = family.empty_index
    if empty is None:
        return masses, family
    lost = select_columns(masses, np.array([empty]))[:, 0] >= 1
    if lost.any() or len(family) == 1:
        masses, family = _with_omega(masses, family)
    rest, family = _drop_empty(masses, family)
    out = divide(rest, rest.sum(axis=1)[:, None], 0)
    if lost.any():
        assert family.omega_index is not None
        is_vacuous = lost * cast_like(np.ones(1), masses)
        # The masses of the nonempty sets may contain rounding errors.
        out = scale_rows(out, 1 - is_vacuous)
        out = add_to_column(out, family.omega_index, is_vacuous)
    return out, family


def _drop_empty(masses: Array, family: FocalSets) -> Source:
    kept = np.arange(len(family)) != family.empty_index
    return masses[:, kept], FocalSets(family.membership[kept])


def _with_omega(masses: Array, family: FocalSets) -> Source:
    """Return a copy of the masses on the family extended by the whole frame."""
    wider = family.union(
        FocalSets.from_sets(family.n_clusters, [range(family.n_clusters)])
    )
    return move_columns(masses, wider.find(family.membership), len(wider)), wider


def move_empty_to_omega(masses: Array, family: FocalSets) -> Source:
    """Move the mass of the empty set to the whole frame, and remove the empty set."""
    if family.empty_index is None:
        return masses, family
    out, wider = _with_omega(masses, family)
    assert wider.omega_index is not None
    empty = select_columns(masses, np.array([family.empty_index]))[:, 0]
    return _drop_empty(add_to_column(out, wider.omega_index, empty), wider)


NORMALIZATIONS = {"dempster": remove_empty, "yager": move_empty_to_omega}


def _dubois_prade(sources: Sequence[Source]) -> Source:
    """Assign products of masses to the intersection or, if empty, the union (Dubois and Prade)."""
    if len(sources) == 1:
        return sources[0]
    c = sources[0][1].n_clusters

    def join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [a[..., :c] & b[..., :c], a[..., c:] | b[..., c:]], axis=-1
        )

    def last(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        both, either = np.split(join(a, b), 2, axis=-1)
        return np.where(both.any(axis=-1, keepdims=True), both, either)

    # A membership row has c columns for the intersection, then c columns for the union.
    doubled = [(masses, np.tile(family.membership, 2)) for masses, family in sources]
    joined = reduce(partial(_join, join=join), doubled[:-1])
    return transforms.sort_sets(*_join(joined, doubled[-1], last))


def _pcr6(sources: Sequence[Source]) -> Source:
    """Divide each conflicting product among its sets by their masses (Martin and Osswald, 2006)."""
    for masses, family in sources:
        if family.empty_index is not None and np.any(masses[:, family.empty_index] > 0):
            raise InvalidInputError(
                "rule='pcr6' does not allow mass on the empty set; normalize the mass functions"
            )
    families = [family for _, family in sources]
    n_tuples = prod(len(family) for family in families)
    if n_tuples > _MAX_TUPLES:
        raise InvalidInputError(
            f"rule='pcr6' needs {n_tuples:,} tuples of focal sets, more than {_MAX_TUPLES:,}"
        )
    choices = list(product(*(range(len(family)) for family in families)))
    tuples = product(*(family.membership for family in families))
    both = np.array([np.logical_and.reduce(rows) for rows in tuples])
    wider = reduce(FocalSets.union, families, FocalSets(np.unique(both, axis=0)))
    wider = FocalSets(wider.membership[wider.cardinality > 0])
    target = wider.find(both)  # The index is -1 if the intersection is empty.
    position = [wider.find(family.membership) for family in families]
    dtype = np.result_type(*(masses for masses, _ in sources))
    out = np.empty((len(sources[0][0]), len(wider)), dtype)
    tiny = np.finfo(dtype).tiny
    for rows in row_slices(len(out), _BLOCK_ROWS):
        columns = [np.ascontiguousarray(masses[rows].T) for masses, _ in sources]
        total = np.zeros((len(wider), columns[0].shape[1]), dtype)
        for choice, where in zip(choices, target, strict=True):
            parts = [column[k] for column, k in zip(columns, choice, strict=True)]
            share = reduce(mul, parts)
            if where >= 0:
                total[where] += share
                continue
            # If all masses are zero, their product is zero, too.
            share = share / np.maximum(reduce(add, parts), tiny)
            for own, k, part in zip(position, choice, parts, strict=True):
                if own[k] >= 0:  # The index of the empty set, which has no mass, is -1.
                    total[own[k]] += part * share
        out[rows] = total.T
    return out, wider


def _average(sources: Sequence[Source]) -> Source:
    """Return the arithmetic mean of the masses."""
    wider = reduce(FocalSets.union, [family for _, family in sources])
    widest = max(
        (masses for masses, _ in sources), key=lambda masses: masses.dtype.itemsize
    )
    out = zeros((len(widest), len(wider)), widest)
    for masses, family in sources:
        out[:, wider.find(family.membership)] += masses
    return out / len(sources), wider


def _minimize_weights(sources: Sequence[Source], complemented: bool) -> Source:
    """Apply the cautious rule or, if ``complemented``, the bold rule (Denoeux, 2008).

    The cautious rule takes the minimum of the conjunctive weights w of the sources for every set
    (see `transforms.mass_to_conjunctive_weights`). The bold rule applies the cautious rule to the
    complements of all sets. The minimum of w is computed as the maximum of -ln w.
    """
    c = sources[0][1].n_clusters
    flip = 0
    needed = (
        "conjunctive weights need m(whole frame) > 0 (a non-dogmatic mass function)"
    )
    if complemented:
        # XOR with this number maps the code of a set to that of its complement.
        flip = (1 << c) - 1
        needed = "disjunctive weights need m(empty set) > 0 (a subnormal mass function)"
    for masses, family in sources:
        column = family.empty_index if complemented else family.omega_index
        if column is None or not np.all(masses[:, column] > 0):
            raise InvalidInputError(needed)
    n = len(sources[0][0])
    _check_power_set(n, c)
    family = FocalSets.full(c)
    out = np.empty((n, 1 << c))
    for rows in row_slices(len(out), _BLOCK_ROWS):
        logs = [
            _minus_log_weights(masses[rows], f.codes ^ flip, c) for masses, f in sources
        ]
        largest = reduce(np.maximum, logs)
        transforms.sweep_sets(largest, 0, 1)
        commonality = np.exp(largest - largest[0])
        transforms.sweep_sets(commonality, 0, -1)
        out[rows] = commonality[family.codes ^ flip].T
    return np.clip(out, 0, None, out=out), family


def _minus_log_weights(masses: np.ndarray, codes: np.ndarray, c: int) -> np.ndarray:
    """Return -ln w, shape (2^c, n), for the conjunctive weights w of n mass functions.

    The frame has value 0.
    """
    columns = np.zeros((1 << c, len(masses)))
    columns[codes] = masses.T
    transforms.sweep_sets(columns, 0, 1)
    np.log(columns, out=columns)
    transforms.sweep_sets(columns, 0, -1)
    columns[-1] = 0
    return columns


_ON_HOST = ("pcr6", "cautious", "bold")  # Rules that support only NumPy arrays.
RULES: dict[str, Callable[[Sequence[Source]], Source]] = {
    "dempster": _dempster,
    "conjunctive": _conjunctive,
    "disjunctive": _disjunctive,
    "dubois_prade": _dubois_prade,
    # Yager (1987)
    "yager": lambda sources: move_empty_to_omega(*_conjunctive(sources)),
    "pcr6": _pcr6,
    "average": _average,
    "cautious": partial(_minimize_weights, complemented=False),
    "bold": partial(_minimize_weights, complemented=True),
}


# ---- discounting ---------------------------------------------------------------------------------


def discount(masses: Array, family: FocalSets, rate: Any) -> Source:
    """Multiply each mass by 1 - rate and add the rest to the whole frame (Shafer, 1976)."""
    n = masses.shape[0]
    has_gradient = is_tensor(rate) and is_tensor(masses)
    rates: Array = rate
    if not has_gradient:
        rates = as_floats(rate, "rate")
    if rates.ndim > 1 or (rates.ndim == 1 and len(rates) != n):
        raise InvalidParameterError(
            "rate",
            must=f"be a number or contain one number per row ({n}), got shape {rates.shape}; for "
            "one rate per answer or set, use a mapping {set: rate}",
        )
    _check_rates(rates)
    keep = (1 - rates).to(masses) if has_gradient else cast_like(1 - rates, masses)
    keep = library_of(keep).broadcast_to(keep, (n,))
    out, wider = _with_omega(scale_rows(masses, keep), family)
    assert wider.omega_index is not None
    return add_to_column(out, wider.omega_index, 1 - keep), wider


def discount_contexts(
    masses: Array, family: FocalSets, contexts: np.ndarray, rates: Any
) -> Source:
    """Apply contextual discounting (Mercier, Quost and Denoeux, 2008).

    For each context A, the mass of every set B is multiplied by 1 - rate(A), and the rest is moved
    to the union of A and B. This is a linear map of the masses, the same for all rows. The sparse
    matrices of all contexts are therefore multiplied first.
    """
    from scipy import sparse

    rates = as_floats(rates, "rate")
    if rates.shape != (len(contexts),):
        raise InvalidParameterError("rate", must="have one number for each set")
    _check_rates(rates)
    if len(unique_sets(contexts)[0]) < len(contexts) or not contexts.any(axis=1).all():
        raise InvalidParameterError("rate", must="have different nonempty sets as keys")
    rows = family.membership
    moves = sparse.identity(len(rows), format="csr")
    for context, rate in zip(contexts, rates, strict=True):
        if rate > 0:
            kept, target = unique_sets(np.vstack([rows, rows | context]))
            shares = np.repeat([1 - rate, rate], len(rows))
            step = sparse.coo_matrix(
                (shares, (np.tile(np.arange(len(rows)), 2), target)),
                (len(rows), len(kept)),
            )
            moves = moves @ step.tocsr()
            rows = kept
            _check_sets(len(masses), len(rows))
    reached = np.flatnonzero(np.asarray(moves.sum(axis=0)).ravel() > 0)
    wider = FocalSets(rows[reached])
    ordered = wider.sorted()
    columns = reached[wider.find(ordered.membership)]
    if is_tensor(masses):
        return masses @ cast_like(moves[:, columns].toarray(), masses), ordered
    return np.ascontiguousarray(
        (moves[:, columns].T.astype(masses.dtype) @ masses.T).T
    ), ordered


def _check_sets(n: int, f: int) -> None:
    advice = "use fewer contexts, or fewer rows at once"
    if f > _MAX_SETS:
        raise InvalidInputError(
            f"contextual discounting gives a family of more than {_MAX_SETS:,} sets; {advice}"
        )
    check_memory(2 * 8 * n * f, f"{n:,} mass functions on more than {f:,} sets", advice)


def _check_rates(rates: Array) -> None:
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InvalidParameterError("rate", must="lie in [0, 1]")
