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
from numba import njit

from evidentia.optimize.simplex_qp import simplex_qp, simplex_qp_workspace

__all__ = ["symmetric_pairs", "sweep_rows", "pair_distances", "no_links"]

_SMALLEST_DISTANCE = 1e-6  # in the weights that turn squares into distances


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


def no_links(n: int, f: int):
    """Arguments of `sweep_rows` for a problem without linked pairs."""
    return np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0), np.zeros((f, f))


@njit(cache=True, nogil=True, error_model="numpy")
def _nonzeros(row, where):
    """Positions of the nonzero masses of a row; returns how many."""
    count = 0
    for q in range(row.shape[0]):
        if row[q] > 0:
            where[count] = q
            count += 1
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _hessian(forms, G, half, H):
    """H = 2 sum_r A_r G A_r for symmetric A_r, through half = A_r G."""
    f = G.shape[0]
    H[:, :] = 0
    for r in range(forms.shape[0]):
        half[:, :] = 0
        for a in range(f):
            for b in range(f):
                value = forms[r, a, b]
                if value != 0:
                    for c in range(f):
                        half[a, c] += value * G[b, c]
        for a in range(f):
            for b in range(f):
                value = 2 * half[a, b]
                if value != 0:
                    for c in range(f):
                        H[a, c] += value * forms[r, b, c]


@njit(cache=True, nogil=True, error_model="numpy")
def sweep_rows(M, order, indptr, indices, weights, targets, forms, reweight, links):
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
    n, f = M.shape
    q = forms.shape[0]
    link_indptr, link_indices, link_weights, link_form = links
    work, index = simplex_qp_workspace(f)
    G, half, H = np.empty((f, f)), np.empty((f, f)), np.empty((f, f))
    h, image, g, linked = np.empty((q, f)), np.empty((q, f)), np.empty(f), np.empty(f)
    x = np.empty(f)
    nonzero = np.empty((n, f), np.int16)
    count = np.empty(n, np.int16)
    for i in range(n):
        count[i] = _nonzeros(M[i], nonzero[i])
    for i in order:
        G[:, :] = 0
        h[:, :] = 0
        if reweight:
            image[:, :] = 0
            for r in range(q):
                for t in range(count[i]):
                    a = nonzero[i, t]
                    for b in range(f):
                        image[r, b] += M[i, a] * forms[r, a, b]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            w = weights[e]
            if reweight:
                squared = 0.0
                for r in range(q):
                    residual = -targets[e, r]
                    for t in range(count[j]):
                        residual += image[r, nonzero[j, t]] * M[j, nonzero[j, t]]
                    squared += residual * residual
                w /= max(np.sqrt(squared / 2), _SMALLEST_DISTANCE)
            for t in range(count[j]):
                a = nonzero[j, t]
                share = w * M[j, a]
                for r in range(q):
                    h[r, a] += share * targets[e, r]
                for u in range(t + 1):
                    G[a, nonzero[j, u]] += share * M[j, nonzero[j, u]]
        for a in range(f):
            for b in range(a):
                G[b, a] = G[a, b]
        _hessian(forms, G, half, H)
        for a in range(f):
            g[a] = 0
            for r in range(q):
                for b in range(f):
                    g[a] -= 2 * forms[r, a, b] * h[r, b]
        if link_indptr[i + 1] > link_indptr[i]:
            linked[:] = 0
            for e in range(link_indptr[i], link_indptr[i + 1]):
                j = link_indices[e]
                for t in range(count[j]):
                    linked[nonzero[j, t]] += link_weights[e] * M[j, nonzero[j, t]]
            for a in range(f):
                for b in range(f):
                    g[a] += link_form[a, b] * linked[b]
        for a in range(f):
            x[a] = M[i, a]
        simplex_qp(H, g, x, 10 * f + 10, work, index)
        for a in range(f):
            M[i, a] = x[a]
        count[i] = _nonzeros(M[i], nonzero[i])


@njit(cache=True, nogil=True, error_model="numpy")
def pair_distances(M, pairs, targets, forms):
    """sqrt(sum_r (m_i' A_r m_j - t_r)^2 / 2) of every pair."""
    f = M.shape[1]
    out = np.empty(pairs.shape[0])
    for e in range(pairs.shape[0]):
        i, j = pairs[e, 0], pairs[e, 1]
        squared = 0.0
        for r in range(forms.shape[0]):
            residual = -targets[e, r]
            for a in range(f):
                if M[i, a] > 0:
                    for b in range(f):
                        residual += M[i, a] * forms[r, a, b] * M[j, b]
            squared += residual * residual
        out[e] = np.sqrt(squared / 2)
    return out
