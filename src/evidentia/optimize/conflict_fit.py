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
def _conflict_gram(conflict, G, half, K):
    """K = C G C for symmetric G."""
    f = G.shape[0]
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
    _conflict_gram(conflict, G, half, K)
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
            if links[0][i + 1] > links[0][i]:
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


_HEAD = 4  # masses of an object that stand apart from the others
_COUNT = 6  # where their number stands, in rows of eight small integers


@njit(cache=True, nogil=True, error_model="numpy")
def _pack(i, M, where, value, head_where, head_value):
    """Nonzero masses of row i, one after the other, with their sets.

    The first four stand apart as well, zeros after the last, and their sets together with their number, so that most
    rows are read from two small arrays that stay in the processor's cache.
    """
    count = 0
    for q in range(M.shape[1]):
        if M[i, q] > 0:
            where[i, count] = q
            value[i, count] = M[i, q]
            count += 1
    for t in range(_HEAD):
        head_where[i, t] = where[i, t] if t < count else 0
        head_value[i, t] = value[i, t] if t < count else 0.0
    head_where[i, _COUNT] = count


@njit(cache=True, nogil=True, error_model="numpy")
def _gather(start, stop, indices, edges, where, value, head_where, head_value, G, sums):
    """Over the neighbours j of a row and their nonzero masses, with the edges (v_j, t_j):

    G[a, b] = sum_j v_j m_j(a) m_j(b) for a > b, and sums[a] = sum_j (v_j, t_j) m_j(a). The diagonal of G is left out:
    masses sum to one, so that it is what the sums leave (`_complete`).

    Most mass functions have three or four nonzeros. These are written out: short loops of unknown length cost more
    than what is in them, and so does a branch that cannot be foreseen, which is why zeros are added like the rest.
    """
    for e in range(start, stop):
        j = indices[e]
        v, t = edges[e, 0], edges[e, 1]
        a, x = head_where[j, 0], head_value[j, 0]
        first, second = sums[a, 0] + v * x, sums[a, 1] + t * x
        sums[a, 0], sums[a, 1] = first, second
        b, y = head_where[j, 1], head_value[j, 1]
        vy = v * y
        first, second = sums[b, 0] + vy, sums[b, 1] + t * y
        sums[b, 0], sums[b, 1] = first, second
        G[b, a] += vy * x
        d, z = head_where[j, 2], head_value[j, 2]
        vz = v * z
        first, second = sums[d, 0] + vz, sums[d, 1] + t * z
        sums[d, 0], sums[d, 1] = first, second
        G[d, a] += vz * x
        G[d, b] += vz * y
        count = head_where[j, _COUNT]
        if count <= 3:
            continue
        q, u = head_where[j, 3], head_value[j, 3]
        vu = v * u
        first, second = sums[q, 0] + vu, sums[q, 1] + t * u
        sums[q, 0], sums[q, 1] = first, second
        G[q, a] += vu * x
        G[q, b] += vu * y
        G[q, d] += vu * z
        for r in range(_HEAD, count):
            p = where[j, r]
            share = v * value[j, r]
            sums[p, 0] += share
            sums[p, 1] += t * value[j, r]
            for k in range(r):
                G[p, where[j, k]] += share * value[j, k]


@njit(cache=True, nogil=True, error_model="numpy")
def _complete(G, sums, rest):
    """The upper triangle of G, and its diagonal: sum_b m_j(b) = 1, so G[a, a] is sums[a] less the rest of its row."""
    f = G.shape[0]
    for a in range(f):
        rest[a] = 0.0
        for b in range(a):
            G[b, a] = G[a, b]
    for a in range(f):
        for b in range(f):
            rest[b] += G[a, b]
    for a in range(f):
        G[a, a] = max(sums[a, 0] - rest[a], 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _simple_conflict_gram(G, sums, own, K):
    """K = C G C for the empty set, the singletons and the frame.

    There C m = (1, s - m_1, ..., s - m_c, m_empty) with s = 1 - m(frame), so K holds sums of products of these.
    """
    f = G.shape[0]
    last = f - 1
    total = 0.0
    for a in range(f):
        total += sums[a, 0]
        own[a] = sums[a, 0] - G[a, last]  # of s and m_a
    squares = total - sums[last, 0] - own[last]  # of s and s
    for a in range(1, last):
        common = squares - own[a]
        for b in range(f):
            K[a, b] = G[a, b] + common - own[b]
    for a in range(1, last):
        K[a, 0] = total - sums[last, 0] - sums[a, 0]
        K[0, a] = K[a, 0]
        K[a, last] = own[0] - G[a, 0]
        K[last, a] = K[a, last]
    K[0, 0] = total
    K[last, 0] = sums[0, 0]
    K[0, last] = sums[0, 0]
    K[last, last] = G[0, 0]


@njit(cache=True, nogil=True, error_model="numpy")
def descend_some_pairs(M, indptr, indices, weights, delta, conflict, simple, order, max_iter, tol, constant, links):
    """As `descend_all_pairs`, for the pairs of a symmetric adjacency (each pair stands in both its rows)."""
    n, f = M.shape
    work, index = simplex_qp_workspace(f)
    G, half, H, sums = np.empty((f, f)), np.empty((f, f)), np.empty((f, f)), np.empty((f, 2))
    h, g, x, old, linked = np.empty(f), np.empty(f), np.empty(f), np.empty(f), np.empty(f)
    # unsigned: indices that cannot be negative are not checked for it
    neighbours = indices.astype(np.uint32)
    edges = np.empty((indices.shape[0], 2))  # side by side, with the factors of H = 2 C G C and g = -2 C h
    for e in range(indices.shape[0]):
        edges[e, 0] = 2 * weights[e]
        edges[e, 1] = -2 * weights[e] * delta[e]
    where, value = np.zeros((n, f), np.uint16), np.zeros((n, f))
    head_where, head_value = np.zeros((n, 8), np.uint16), np.zeros((n, _HEAD))
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
            sums[:, :] = 0
            _gather(indptr[i], indptr[i + 1], neighbours, edges, where, value, head_where, head_value, G, sums)
            _complete(G, sums, h)
            if simple:
                _simple_conflict_gram(G, sums, h, H)
            else:
                _conflict_gram(conflict, G, half, H)
            for a in range(f):
                h[a] = sums[a, 1]
                x[a] = M[i, a]
                old[a] = x[a]
            _times_conflict(conflict, simple, h, g)
            if links[0][i + 1] > links[0][i]:
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
