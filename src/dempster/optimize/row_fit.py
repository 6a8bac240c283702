"""Fit mass functions to what is known about pairs of objects, one row at a time.

Find masses M (n, f), rows on the simplex, that minimise

    sum over pairs i < j of w_ij sum_r (m_i' A_r m_j - t_ijr)^2  +  sum over linked pairs of a_ij m_i' Z m_j

for symmetric forms A_r. EVCLUS has one form (the conflict) and dissimilarities as targets; a combined relation or a
confidence interval has two or three. With the other rows fixed, row i is a quadratic program on the simplex with

    H = 2 sum_r A_r G A_r,   g = -2 sum_r A_r h_r + Z sum_j a_ij m_j,
    G = sum_j w_ij m_j m_j',  h_r = sum_j w_ij t_ijr m_j,

which is solved exactly, so a sweep over the rows never raises the objective. Mass functions are sparse (few sets carry
mass), so G and h are summed over nonzeros only.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["symmetric_pairs", "sweep_rows", "pair_distances", "no_links"]

_sweep_rows = kernel("""sweep_rows(
    M: float64[n, f] out, order: int64[visits] below n,
    indptr: int64[n + 1] offsets in entries, indices: int32[entries] below n, weights: float64[entries],
    targets: float64[entries, q], forms: float64[q, f, f], reweight: bool,
    link_indptr: int64[n + 1] offsets in e, link_indices: int32[e] below n, coefficients: float64[e],
    form: float64[f, f])""")
_pair_distances = kernel("""pair_distances(
    M: float64[n, f], pairs: int64[p, 2] below n, targets: float64[p, q], forms: float64[q, f, f],
    out: float64[p] out)""")

Links = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # indptr, indices, coefficients, form


def symmetric_pairs(n: int, pairs: np.ndarray, weights: np.ndarray | None = None):
    """Adjacency (indptr, indices, weights, position of the pair) in which each pair appears in both its rows."""
    i, j = np.asarray(pairs, dtype=np.int64).T
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    which = np.tile(np.arange(len(i)), 2)
    order = np.lexsort((columns, rows))
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    w = np.ones(len(i)) if weights is None else np.asarray(weights, dtype=float)
    return indptr, columns[order].astype(np.int32), w[which[order]], which[order]


def no_links(n: int, f: int) -> Links:
    """Arguments of `sweep_rows` for a problem without linked pairs."""
    return np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), np.zeros((f, f))


def sweep_rows(
    M: np.ndarray,
    order: np.ndarray,
    indptr: np.ndarray,
    indices: np.ndarray,
    weights: np.ndarray,
    targets: np.ndarray,
    forms: np.ndarray,
    reweight: bool,
    links: Links,
) -> None:
    """Minimise over every row of M once, in the given order, in place.

    Parameters
    ----------
    M : (n, f) float64
    order : (k,) int64, rows to visit
    indptr, indices, weights : adjacency of the pairs (`symmetric_pairs`)
    targets : (entries, q) targets of every entry of the adjacency
    forms : (q, f, f) symmetric
    reweight : bool
        Divide each weight by the current distance of the pair, sqrt(sum_r residual^2 / 2): squares then bound
        distances from above and touch them at the current point, so that the sum of distances does not rise.
    links : indptr, indices, coefficients and form Z of the linear terms (`no_links`)
    """
    _sweep_rows(M, order, indptr, indices, weights, targets, forms, reweight, *links)


def pair_distances(M: np.ndarray, pairs: np.ndarray, targets: np.ndarray, forms: np.ndarray) -> np.ndarray:
    """sqrt(sum_r (m_i' A_r m_j - t_r)^2 / 2) of every pair."""
    out = np.empty(len(pairs))
    _pair_distances(M, pairs, targets, forms, out)
    return out
