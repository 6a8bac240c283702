"""Fit of mass functions to data on pairs of objects, by exact minimization over one row at a time.

The masses M (n, f), whose rows m_i are on the simplex, minimize

    sum over pairs i < j of w_ij sum_r (m_i' A_r m_j - t_ijr)^2
    + sum over linked pairs of a_ij m_i' Z m_j

for symmetric matrices A_r, weights w_ij and targets t_ijr. The second sum is a penalty for linked
pairs (constraints). If all other rows are fixed, row i is the solution of a small quadratic program
on the simplex with

    H = 2 sum_r A_r G A_r,   g = -2 sum_r A_r h_r + Z sum_j a_ij m_j,
    G = sum_j w_ij m_j m_j',  h_r = sum_j w_ij t_ijr m_j,

which is solved exactly (`dempster.optimize.simplex_qp`). A sweep over the rows does therefore not
increase the objective. Three problems have this form:

- EVCLUS has one matrix A_r, the conflict matrix C, and the targets delta_ij (Denoeux, Sriboonchitta
  and Kanjanatarakul, 2016; with constraints, Li, Li, Denoeux and Boukebir, 2018). For all pairs
  with w_ij = w_i w_j (``conflict_fit_all.c``), K = C M'WM C and T = M'W Delta are updated after
  every row, so that a row costs O(f^2) plus n additions for each mass that changed. For a subset of
  the pairs (``conflict_fit_some.c``), G and h are sums over the nonzero masses of the neighbors.
- BootClus fits two confidence bounds (Denoeux, 2020, eq. 7; ``interval_fit.c``). The matrix of
  "same cluster" has the lower bounds as targets, and the matrix of "different clusters" has one
  minus the upper bounds.
- The combination of partitions has two or three matrices A_r (``row_fit.c``).

The loop of the first two problems is in ``row_descent.c``. It uses over-relaxation, and every few
sweeps it extrapolates along the direction of the last sweeps while the objective decreases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._native import Kernel, interruptible, kernel

_LINKS = """link_indptr: int64[n + 1] offsets in e, link_indices: int32[e] below n,
    coefficients: float64[e], form: float64[f, f]"""
_PAIRS = """indptr: int64[n + 1] offsets in entries, indices: int32[entries] below n,
    weights: float64[entries], delta: float64[entries], conflict: float64[f, f], simple: bool"""
_LOOP = "order: int64[visits] below n, max_iter: int, tol: float, constant: float"
_END = "history: float64[max_iter] out, ending: int64[2] out"

# Kernels of EVCLUS for all pairs and for a subset of the pairs, called by `descend_rows`. delta is
# symmetric with a zero diagonal. `simple` is the result of `is_simple_family`. A sweep visits the
# rows in the given order. The sweeps end when the smoothed relative change of the objective is
# below tol. `constant` is added to the objective; it is the constant term of the penalty for linked
# pairs. indptr and indices are results of `symmetric_pairs`.
descend_all_pairs = kernel(f"""descend_all_pairs(
    M: float64[n, f] out, delta: float64[n, n], weights: float64[n], conflict: float64[f, f],
    simple: bool, {_LOOP}, {_LINKS}, {_END})""")
descend_some_pairs = kernel(
    f"descend_some_pairs(M: float64[n, f] out, {_PAIRS}, {_LOOP}, {_LINKS}, {_END})"
)
# Do the same if each row has masses on the empty set, few of many clusters and the frame. Row
# i of `sets` contains the set 0, -1, single clusters, the last set, and -1 for places without mass.
descend_near_pairs = kernel(f"""descend_near_pairs(
    M: float64[n, f] out, sets: int32[n, f] below n_sets or -1, n_sets: int,
    indptr: int64[n + 1] offsets in entries, indices: int32[entries] below n,
    weights: float64[entries], delta: float64[entries], order: int64[visits] below n,
    max_iter: int, tol: float, {_END})""")

# Return the sum of w (conflict - delta)^2 over the pairs, each counted once.
pairs_value = kernel(f"pairs_value(M: float64[n, f], {_PAIRS}) -> float")

# Run one sweep that minimizes over one row after the other, in place. indptr, indices and weights
# are results of `symmetric_pairs`. If reweight is true, each weight is divided by the current
# distance of the pair, sqrt(sum_r residual^2 / 2). The weighted sum of squares is then an upper
# bound of the sum of distances, with equality at the current point, so that the sum of distances
# does not increase.
sweep_rows = kernel(f"""sweep_rows(
    M: float64[n, f] out, order: int64[visits] below n, indptr: int64[n + 1] offsets in entries,
    indices: int32[entries] below n, weights: float64[entries], targets: float64[entries, q],
    forms: float64[q, f, f], reweight: bool, {_LINKS})""")

_descend_intervals = kernel(f"""descend_intervals(
    M: float64[n, f] out, targets: float32[q, n, n], forms: float64[q, f, f],
    order: int64[visits] below n, squares: float, max_iter: int, tol: float, {_END})""")
_pair_distances = kernel("""pair_distances(
    M: float64[n, f], pairs: int64[p, 2] below n, targets: float64[p, q], forms: float64[q, f, f],
    out: float64[p] out)""")
_conflicts_of_pairs = kernel("""conflicts_of_pairs(
    M: float64[n, f], conflict: float64[f, f], first: int64[p] below n, second: int64[p] below n,
    out: float64[p] out)""")

# indptr, indices, coefficients, form
Links = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def descend_rows(
    descent: Kernel, *problem: Any, max_iter: int
) -> tuple[np.ndarray, bool]:
    """Run the sweeps of a kernel.

    Return the objective after every sweep, and whether the sweeps converged.
    """
    history = np.empty(max_iter)
    ending = np.zeros(2, np.int64)
    interruptible(descent, *problem, history, ending)
    n_sweeps, converged = ending
    return history[:n_sweeps], bool(converged)


def descend_intervals(
    M: np.ndarray,
    targets: np.ndarray,
    forms: np.ndarray,
    order: np.ndarray,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, bool]:
    """Fit M in place by sweeps over the rows in ``order``.

    Return the objectives and whether the sweeps converged.

    ``targets``, shape (q, n, n), contains symmetric float32 matrices with a zero diagonal, and
    ``forms``, shape (q, f, f), the symmetric matrices A_r. The sweeps end when e_t = (e_{t-1} +
    relative change) / 2 is below ``tol`` (Denoeux, 2020, eq. 18).
    """
    squares = 0.5 * sum(float(np.einsum("ij,ij->", t, t, dtype=float)) for t in targets)
    return descend_rows(
        _descend_intervals,
        M,
        targets,
        forms,
        order,
        squares,
        max_iter,
        tol,
        max_iter=max_iter,
    )


def interval_hessian(masses: np.ndarray, forms: np.ndarray) -> np.ndarray:
    """Return the Hessian 2 sum_r A_r M'M A_r for an object, given the masses M of others."""
    images = masses.astype(float) @ forms  # Shape (q, n, f).
    return 2 * np.einsum("qnf,qng->fg", images, images)


def is_simple_family(conflict: np.ndarray) -> bool:
    """Return whether the conflict matrix is that of the empty set, the singletons and the frame."""
    f = len(conflict)
    simple = np.ones((f, f))
    simple[np.arange(1, f), np.arange(1, f)] = 0
    simple[-1, 1:] = 0
    simple[1:, -1] = 0
    return f > 3 and np.array_equal(conflict, simple)


def conflicts_of_pairs(
    M: np.ndarray, conflict: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Return the degrees of conflict m_i' C m_j of the pairs i = first[k], j = second[k]."""
    out = np.empty(len(first))
    i, j = np.array([first, second], np.int64)
    if len(M) > 2 * len(i):  # If there are few pairs, only their rows are copied.
        M = M[np.concatenate([i, j])]
        i, j = np.arange(2 * len(i)).reshape(2, -1)
    _conflicts_of_pairs(np.ascontiguousarray(M, float), conflict, i, j, out)
    return out


def symmetric_pairs(n: int, pairs: np.ndarray, weights: np.ndarray | None = None):
    """Return a symmetric sparse matrix: indptr, indices, weights and the indices of the pairs."""
    i, j = np.asarray(pairs, np.int64).T
    rows = np.concatenate([i, j])
    columns = np.concatenate([j, i])
    which = np.tile(np.arange(len(i)), 2)
    order = np.lexsort((columns, rows))
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    w = np.ones(len(i)) if weights is None else np.asarray(weights, float)
    return indptr, columns[order].astype(np.int32), w[which[order]], which[order]


def no_links(n: int, f: int) -> Links:
    """Return the arguments of `sweep_rows` that describe a problem without linked pairs."""
    return (
        np.zeros(n + 1, np.int64),
        np.empty(0, np.int32),
        np.empty(0),
        np.zeros((f, f)),
    )


def pair_distances(
    M: np.ndarray, pairs: np.ndarray, targets: np.ndarray, forms: np.ndarray
) -> np.ndarray:
    """Return sqrt(sum_r (m_i' A_r m_j - t_r)^2 / 2) for every pair (i, j) with targets t_r."""
    out = np.empty(len(pairs))
    _pair_distances(M, pairs, targets, forms, out)
    return out
