"""EVCLUS: masses whose degrees of conflict match given dissimilarities, by exact descent one row at a time.

Minimise over masses M (n, f), rows on the simplex,

    sum over pairs i < j of w_ij (m_i' C m_j - delta_ij)^2  +  sum over linked pairs of a_ij m_i' Z m_j

(Denoeux, Sriboonchitta and Kanjanatarakul, 2016; Li, Li, Denoeux and Boukebir, 2018 with links). With the other rows
fixed, row i is a quadratic program on the simplex with Q = C G C, G = sum_j w_ij m_j m_j', and b = C sum_j w_ij
delta_ij m_j. Two ways to have them cheaply:

- all pairs (``conflict_fit_all.c``), with w_ij = w_i w_j: K = C M'WM C and T = M'W Delta are kept and corrected after
  every row, so that a row costs O(f^2) and as many additions as n times the masses that changed;
- some pairs (``conflict_fit_some.c``): G and b are summed over the nonzero masses of the neighbours.

`dempster.optimize.row_descent` has the loop around both.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel
from dempster.optimize.row_descent import descend_rows
from dempster.optimize.row_fit import Links

__all__ = ["descend_all_pairs", "descend_some_pairs", "pairs_value", "conflicts_of_pairs", "is_simple_family"]

_LINKS = """link_indptr: int64[n + 1] offsets in e, link_indices: int32[e] below n, coefficients: float64[e],
    form: float64[f, f]"""
_PAIRS = """indptr: int64[n + 1] offsets in entries, indices: int32[entries] below n, weights: float64[entries],
    delta: float64[entries], conflict: float64[f, f], simple: bool"""
_LOOP = "order: int64[visits] below n, max_iter: int, tol: float, constant: float"
_END = "history: float64[max_iter] out, ending: int64[2] out"

_descend_all_pairs = kernel(f"""descend_all_pairs(
    M: float64[n, f] out, delta: float64[n, n], weights: float64[n], conflict: float64[f, f], simple: bool, {_LOOP},
    {_LINKS}, {_END})""")
_descend_some_pairs = kernel(f"descend_some_pairs(M: float64[n, f] out, {_PAIRS}, {_LOOP}, {_LINKS}, {_END})")
_pairs_value = kernel(f"pairs_value(M: float64[n, f], {_PAIRS}) -> float")
_conflicts_of_pairs = kernel("""conflicts_of_pairs(
    M: float64[n, f], conflict: float64[f, f], first: int64[p] below n, second: int64[p] below n,
    out: float64[p] out)""")


def is_simple_family(conflict: np.ndarray) -> bool:
    """Whether the sets are the empty set, the singletons and the frame, in this order: C then has closed forms."""
    f = len(conflict)
    simple = np.ones((f, f))
    simple[np.arange(1, f), np.arange(1, f)] = 0
    simple[-1, 1:] = 0
    simple[1:, -1] = 0
    return f > 3 and np.array_equal(conflict, simple)


def descend_all_pairs(
    M: np.ndarray,
    delta: np.ndarray,
    weights: np.ndarray,
    conflict: np.ndarray,
    simple: bool,
    order: np.ndarray,
    max_iter: int,
    tol: float,
    constant: float,
    links: Links,
) -> tuple[np.ndarray, bool]:
    """Sweep over all rows, in place, until the smoothed relative change of the objective is below ``tol``.

    Parameters
    ----------
    M : (n, f) float64
    delta : (n, n) float64, symmetric with zero diagonal
    weights : (n,) float64, positive, of the objects
    conflict : (f, f) float64
    simple : bool, whether the family is the empty set, singletons and frame in this order
    order : (k,) int64, rows to visit in a sweep
    max_iter, tol : stopping rule of the papers
    constant : float added to the objective (the links are a penalty up to a constant)
    links : indptr, indices, coefficients, form

    Returns
    -------
    history : objective after every sweep
    converged : bool
    """
    return descend_rows(
        _descend_all_pairs, M, delta, weights, conflict, simple, order, max_iter, tol, constant, *links,
        max_iter=max_iter,
    )  # fmt: skip


def descend_some_pairs(
    M: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    delta: np.ndarray,
    conflict: np.ndarray,
    simple: bool,
    order: np.ndarray,
    max_iter: int,
    tol: float,
    constant: float,
    links: Links,
) -> tuple[np.ndarray, bool]:
    """As `descend_all_pairs`, for the pairs of a symmetric adjacency (each pair stands in both its rows)."""
    return descend_rows(
        _descend_some_pairs, M, indptr, indices, weights, delta, conflict, simple, order, max_iter, tol, constant,
        *links, max_iter=max_iter,
    )  # fmt: skip


def pairs_value(
    M: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    delta: np.ndarray,
    conflict: np.ndarray,
    simple: bool,
) -> float:
    """Sum over the pairs of the adjacency, each counted once, of w (conflict - delta)^2."""
    return _pairs_value(M, indptr, indices, weights, delta, conflict, simple)


def conflicts_of_pairs(M: np.ndarray, conflict: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Degrees of conflict m_i' C m_j of the given pairs."""
    out = np.empty(len(first))
    i, j = (np.ascontiguousarray(each, dtype=np.int64) for each in (first, second))
    if len(M) > 2 * len(i):  # few pairs of many objects: a copy of theirs is smaller than one of all
        M, i, j = M[np.concatenate([i, j])], np.arange(len(i)), np.arange(len(i), 2 * len(i))
    masses = np.ascontiguousarray(M, dtype=float)
    _conflicts_of_pairs(masses, conflict, i, j, out)
    return out
