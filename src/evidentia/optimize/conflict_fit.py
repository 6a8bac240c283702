"""EVCLUS: masses whose degrees of conflict match given dissimilarities, by exact descent one row at a time.

Minimise over masses M (n, f), rows on the simplex,

    sum over pairs i < j of w_ij (m_i' C m_j - delta_ij)^2  +  sum over linked pairs of a_ij m_i' Z m_j

(Denoeux, Sriboonchitta and Kanjanatarakul, 2016; Li, Li, Denoeux and Boukebir, 2018 with links). With the other rows
fixed, row i is a quadratic program on the simplex with Q = C G C, G = sum_j w_ij m_j m_j', and b = C sum_j w_ij
delta_ij m_j. Two ways to have them cheaply:

- all pairs: K = C G C and T = M' Delta are kept and corrected after every row, so that a row costs O(f^2) and as many
  additions as n times the masses that changed;
- some pairs: G and b are summed over the nonzero masses of the neighbours.

The descents run to the end in compiled code without the GIL, so several starts can run in threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.optimize.simplex_qp import simplex_qp, simplex_qp_workspace

__all__ = ["descend_all_pairs", "descend_some_pairs", "pairs_value", "conflicts_of_pairs", "is_simple_family"]


def is_simple_family(conflict: np.ndarray) -> bool:
    """Whether the sets are the empty set, the singletons and the frame, in this order: C then has closed forms."""
    f = len(conflict)
    simple = np.ones((f, f))
    simple[np.arange(1, f), np.arange(1, f)] = 0
    simple[-1, 1:] = 0
    simple[1:, -1] = 0
    return f > 3 and np.array_equal(conflict, simple)


@njit(cache=True, nogil=True, error_model="numpy")
def _times_conflict(conflict, simple, v, out):
    """out = C v."""
    f = v.shape[0]
    if simple:
        total = 0.0
        for q in range(1, f - 1):
            total += v[q]
        out[0] = v[0] + total + v[f - 1]
        for q in range(1, f - 1):
            out[q] = v[0] + total - v[q]
        out[f - 1] = v[0]
        return
    for a in range(f):
        s = 0.0
        for b in range(f):
            s += conflict[a, b] * v[b]
        out[a] = s


@njit(cache=True, nogil=True, error_model="numpy")
def _conflict_gram(conflict, simple, G, half, K):
    """K = C G C for symmetric G."""
    f = G.shape[0]
    if simple:
        last = f - 1
        for a in range(f):  # half = G C
            total = 0.0
            for q in range(1, last):
                total += G[a, q]
            first = G[a, 0]
            for q in range(1, last):
                half[a, q] = first + total - G[a, q]
            half[a, 0] = first + total + G[a, last]
            half[a, last] = first
        for b in range(f):
            K[0, b] = half[1, b]
        for a in range(2, last):
            for b in range(f):
                K[0, b] += half[a, b]
        for a in range(1, last):
            for b in range(f):
                K[a, b] = half[0, b] + K[0, b] - half[a, b]
        for b in range(f):
            K[0, b] += half[0, b] + half[last, b]
            K[last, b] = half[0, b]
        return
    for a in range(f):
        for c in range(f):
            half[a, c] = 0
        for b in range(f):
            value = G[a, b]
            if value != 0:
                for c in range(f):
                    half[a, c] += value * conflict[b, c]
    for a in range(f):
        for c in range(f):
            K[a, c] = 0
        for b in range(f):
            if conflict[a, b] != 0:
                for c in range(f):
                    K[a, c] += half[b, c]


@njit(cache=True, nogil=True, error_model="numpy")
def _nonzeros(row, where):
    count = 0
    for q in range(row.shape[0]):
        where[count] = q
        count += row[q] > 0
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _add_links(i, M, links, f, linked, g):
    """Linear term of the linked pairs of row i."""
    indptr, indices, coefficients, form = links
    if indptr[i + 1] == indptr[i]:
        return
    linked[:] = 0
    for e in range(indptr[i], indptr[i + 1]):
        for q in range(f):
            linked[q] += coefficients[e] * M[indices[e], q]
    for a in range(f):
        for b in range(f):
            g[a] += form[a, b] * linked[b]


@njit(cache=True, nogil=True, error_model="numpy")
def _value(H, g, x):
    """1/2 x'Hx + g'x over the nonzeros of x."""
    value = 0.0
    for a in range(x.shape[0]):
        if x[a] != 0:
            s = 0.0
            for b in range(x.shape[0]):
                s += H[a, b] * x[b]
            value += x[a] * (g[a] + 0.5 * s)
    return value


@njit(cache=True, nogil=True, error_model="numpy")
def links_value(M, links):
    """Sum over linked pairs, each counted once, of a_ij m_i' Z m_j."""
    indptr, indices, coefficients, form = links
    total = 0.0
    f = M.shape[1]
    for i in range(M.shape[0]):
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j > i:
                for a in range(f):
                    if M[i, a] != 0:
                        s = 0.0
                        for b in range(f):
                            s += form[a, b] * M[j, b]
                        total += coefficients[e] * M[i, a] * s
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _add_row(T, a, factor, delta, i):
    """T[a] += factor delta[i], by indices: slices would cost more than the sums they are used for."""
    for j in range(T.shape[1]):
        T[a, j] += factor * delta[i, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _dense_state(M, delta, conflict, simple, G, half, K, T):
    """K = C M'M C and T = M' Delta from scratch; returns the sum over pairs of conflict^2 - 2 conflict delta."""
    n, f = M.shape
    G[:, :] = 0
    T[:, :] = 0
    where = np.empty(f + 1, np.int64)
    for i in range(n):
        count = _nonzeros(M[i], where)
        for s in range(count):
            a = where[s]
            for t in range(count):
                G[a, where[t]] += M[i, a] * M[i, where[t]]
            _add_row(T, a, M[i, a], delta, i)
    _conflict_gram(conflict, simple, G, half, K)
    squared = 0.0
    for a in range(f):
        for b in range(f):
            squared += K[a, b] * G[a, b]
    y = np.empty(f)
    cross = 0.0
    for i in range(n):
        _times_conflict(conflict, simple, M[i], y)
        own = 0.0
        for a in range(f):
            own += M[i, a] * y[a]
            cross += y[a] * T[a, i]
        squared -= own * own
    return 0.5 * squared - cross


_EXACT_FIRST = 3  # sweeps before rows are moved beyond their minimum
_BEYOND = 1.75  # 1 would be plain coordinate descent; 2 would not descend
_EVERY = 4  # sweeps between two looks ahead
_LONGEST = 64.0
_PERFECT = 1e-13  # of the sum of squared dissimilarities: what is left is rounding


@njit(cache=True, nogil=True, error_model="numpy")
def _overshoot(old, x):
    """Move beyond the minimiser x of a row, as far as the simplex allows (successive over-relaxation).

    At old + w (x - old) with w < 2 a convex quadratic is not above its value at old.
    """
    f = x.shape[0]
    limit = _BEYOND
    for a in range(f):
        change = x[a] - old[a]
        if change < 0 and old[a] < -limit * change:
            limit = old[a] / -change
    if limit <= 1:
        return
    total = 0.0
    for a in range(f):
        x[a] = max(old[a] + limit * (x[a] - old[a]), 0.0)
        total += x[a]
    for a in range(f):
        x[a] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def _look_ahead(M, before, step, trial):
    """trial = M + step (M - before), back on the simplex: negative masses to zero, rows rescaled."""
    n, f = M.shape
    for i in range(n):
        total = 0.0
        for a in range(f):
            value = max(M[i, a] + step * (M[i, a] - before[i, a]), 0.0)
            trial[i, a] = value
            total += value
        for a in range(f):
            trial[i, a] /= total


@njit(cache=True, nogil=True, error_model="numpy")
def descend_all_pairs(M, delta, conflict, simple, order, max_iter, tol, constant, links):
    """Sweep over all rows, in place, until the smoothed relative change of the objective is below ``tol``.

    Parameters
    ----------
    M : (n, f) float64
    delta : (n, n) float64, symmetric with zero diagonal
    conflict : (f, f)
    simple : bool, whether the family is the empty set, singletons and frame in this order
    order : (n,) order of the rows
    max_iter, tol : stopping rule of the papers
    constant : float added to the objective (the links are a penalty up to a constant)
    links : indptr, indices, coefficients, form

    Returns
    -------
    history : objective after every sweep
    converged : bool
    """
    n, f = M.shape
    work, index = simplex_qp_workspace(f)
    G, half, K, H = np.empty((f, f)), np.empty((f, f)), np.empty((f, f)), np.empty((f, f))
    T = np.empty((f, n))
    h, g, x, old = np.empty(f), np.empty(f), np.empty(f), np.empty(f)
    y, y_new, linked = np.empty(f), np.empty(f), np.empty(f)
    history = np.empty(max_iter)
    squares = 0.5 * np.sum(delta * delta)
    constant += squares
    perfect = _PERFECT * squares
    previous = _dense_state(M, delta, conflict, simple, G, half, K, T) + links_value(M, links) + constant
    error = 1.0
    before, trial, chosen, step = M.copy(), M.copy(), M.copy(), 1.0
    for sweep in range(max_iter):
        objective = previous
        for i in order:
            for a in range(f):
                x[a] = M[i, a]
                old[a] = x[a]
                h[a] = T[a, i]
            _times_conflict(conflict, simple, x, y)
            for a in range(f):
                for b in range(f):
                    H[a, b] = 2 * (K[a, b] - y[a] * y[b])
            _times_conflict(conflict, simple, h, g)
            for a in range(f):
                g[a] *= -2
            _add_links(i, M, links, f, linked, g)
            simplex_qp(H, g, x, 10 * f + 10, work, index)
            if sweep >= _EXACT_FIRST:
                _overshoot(old, x)
            moved = False
            for a in range(f):
                if x[a] != old[a]:
                    moved = True
                    _add_row(T, a, x[a] - old[a], delta, i)
                    M[i, a] = x[a]
            if moved:
                objective += _value(H, g, x) - _value(H, g, old)
                _times_conflict(conflict, simple, x, y_new)
                for a in range(f):
                    for b in range(f):
                        K[a, b] += y_new[a] * y_new[b] - y[a] * y[b]
        if sweep % _EVERY == _EVERY - 1:
            # where the last sweeps lead, farther and farther as long as the objective falls
            objective = _dense_state(M, delta, conflict, simple, G, half, K, T) + links_value(M, links) + constant
            found = False
            while step <= _LONGEST:
                _look_ahead(M, before, step, trial)
                value = (
                    _dense_state(trial, delta, conflict, simple, G, half, K, T) + links_value(trial, links) + constant
                )
                if not value < objective:
                    break
                objective, found = value, True
                trial, chosen = chosen, trial
                step *= 2
            if found:
                M[:, :] = chosen
            step = max(step / 2, 1.0)
            _dense_state(M, delta, conflict, simple, G, half, K, T)  # from scratch, against drift
            before[:, :] = M
        history[sweep] = objective
        error = 0.5 * error + 0.5 * abs(objective - previous) / max(abs(previous), 1e-300)
        previous = objective
        if error < tol or objective <= perfect:
            return history[: sweep + 1], True
    return history, False


@njit(cache=True, nogil=True, error_model="numpy")
def pairs_value(M, indptr, indices, weights, delta, conflict, simple):
    """Sum over the pairs of the adjacency, each counted once, of w (conflict - delta)^2."""
    n, f = M.shape
    y = np.empty(f)
    total = 0.0
    for i in range(n):
        _times_conflict(conflict, simple, M[i], y)
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            if j > i:
                kappa = 0.0
                for a in range(f):
                    kappa += y[a] * M[j, a]
                total += weights[e] * (kappa - delta[e]) ** 2
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def conflicts_of_pairs(M, conflict, first, second):
    """Degrees of conflict m_i' C m_j of the given pairs."""
    f = M.shape[1]
    out = np.zeros(first.shape[0])
    for e in range(first.shape[0]):
        i, j = first[e], second[e]
        for a in range(f):
            if M[i, a] > 0:
                s = 0.0
                for b in range(f):
                    s += conflict[a, b] * M[j, b]
                out[e] += M[i, a] * s
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _pack(i, M, where, value, head_where, head_value):
    """Nonzero masses of row i, one after the other, with their sets.

    The first three stand apart as well, their sets together with their number, so that most rows are read from two
    small arrays that stay in the processor's cache.
    """
    count = 0
    for q in range(M.shape[1]):
        if M[i, q] > 0:
            where[i, count] = q
            value[i, count] = M[i, q]
            if count < 3:
                head_where[i, count] = q
                head_value[i, count] = M[i, q]
            count += 1
    head_where[i, 3] = count


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(start, stop, indices, weights, delta, where, value, head_where, head_value, G, h):
    """G = sum_j w_ij m_j m_j' (lower triangle) and h = sum_j w_ij delta_ij m_j over the nonzeros of the neighbours.

    Most mass functions have one to three nonzeros, which are written out: short loops of unknown length cost more
    than what is in them.
    """
    for e in range(start, stop):
        j = indices[e]
        w = weights[e]
        target = delta[e]
        c = head_where[j, 3]
        a, x = head_where[j, 0], head_value[j, 0]
        wx = w * x
        h[a] += wx * target
        G[a, a] += wx * x
        if c == 1:
            continue
        b, y = head_where[j, 1], head_value[j, 1]
        wy = w * y
        h[b] += wy * target
        G[b, a] += wy * x
        G[b, b] += wy * y
        if c == 2:
            continue
        d, z = head_where[j, 2], head_value[j, 2]
        wz = w * z
        h[d] += wz * target
        G[d, a] += wz * x
        G[d, b] += wz * y
        G[d, d] += wz * z
        for t in range(3, c):
            p = where[j, t]
            share = w * value[j, t]
            h[p] += share * target
            for u in range(t + 1):
                G[p, where[j, u]] += share * value[j, u]


@njit(cache=True, nogil=True, error_model="numpy")
def descend_some_pairs(M, indptr, indices, weights, delta, conflict, simple, order, max_iter, tol, constant, links):
    """As `descend_all_pairs`, for the pairs of a symmetric adjacency (each pair stands in both its rows)."""
    n, f = M.shape
    work, index = simplex_qp_workspace(f)
    G, half, H = np.empty((f, f)), np.empty((f, f)), np.empty((f, f))
    h, g, x, old, linked = np.empty(f), np.empty(f), np.empty(f), np.empty(f), np.empty(f)
    # unsigned: indices that cannot be negative are not checked for it
    neighbours = indices.astype(np.uint32)
    where, value = np.zeros((n, f), np.uint16), np.zeros((n, f))
    head_where, head_value = np.zeros((n, 4), np.uint16), np.zeros((n, 3))
    for i in range(n):
        _pack(i, M, where, value, head_where, head_value)
    history = np.empty(max_iter)
    previous = pairs_value(M, indptr, indices, weights, delta, conflict, simple) + links_value(M, links) + constant
    perfect = _PERFECT * 0.5 * np.sum(weights * delta * delta)
    error = 1.0
    before, trial, chosen, step = M.copy(), M.copy(), M.copy(), 1.0
    for sweep in range(max_iter):
        objective = previous
        for i in order:
            G[:, :] = 0
            h[:] = 0
            _gather(indptr[i], indptr[i + 1], neighbours, weights, delta, where, value, head_where, head_value, G, h)
            for a in range(f):
                for b in range(a):
                    twice = 2 * G[a, b]
                    G[a, b] = twice
                    G[b, a] = twice
                G[a, a] *= 2
                h[a] *= -2
                x[a] = M[i, a]
                old[a] = x[a]
            _conflict_gram(conflict, simple, G, half, H)
            _times_conflict(conflict, simple, h, g)
            _add_links(i, M, links, f, linked, g)
            simplex_qp(H, g, x, 10 * f + 10, work, index)
            if sweep >= _EXACT_FIRST:
                _overshoot(old, x)
            moved = False
            for a in range(f):
                if x[a] != old[a]:
                    moved = True
                    M[i, a] = x[a]
            if moved:
                objective += _value(H, g, x) - _value(H, g, old)
                _pack(i, M, where, value, head_where, head_value)
        if sweep % _EVERY == _EVERY - 1:
            found = False
            while step <= _LONGEST:
                _look_ahead(M, before, step, trial)
                ahead = pairs_value(trial, indptr, indices, weights, delta, conflict, simple)
                ahead += links_value(trial, links) + constant
                if not ahead < objective:
                    break
                objective, found = ahead, True
                trial, chosen = chosen, trial
                step *= 2
            if found:
                M[:, :] = chosen
                for i in range(n):
                    _pack(i, M, where, value, head_where, head_value)
            step = max(step / 2, 1.0)
            before[:, :] = M
        history[sweep] = objective
        error = 0.5 * error + 0.5 * abs(objective - previous) / max(abs(previous), 1e-300)
        previous = objective
        if error < tol or objective <= perfect:
            return history[: sweep + 1], True
    return history, False
