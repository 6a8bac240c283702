"""Quadratic programs on the probability simplex, solved exactly by an active set.

The row problem of EVCLUS, and of every method that fits one mass function at a time, is

    minimise  1/2 x'Hx + g'x   subject to   x >= 0,  sum(x) = 1,

with a small positive semidefinite H, often singular. The minimiser usually has very few nonzeros, and a good
guess of them is at hand (the previous row, or the best vertex), which is what an active set turns into speed.

How it works. The *passive set* P holds the indices allowed to be positive. On the face they span, one index r is
eliminated (x_r = 1 - the others), which leaves the unconstrained problem with Hessian
H_ij - H_ir - H_jr + H_rr; adding a constant to H, or to g, changes nothing, as it should on the simplex. Its LDL'
factorisation gives the Newton step. If the step leaves the simplex it is cut (or bent) at the boundary and the
indices that reach zero leave P; if not, the index off P that promises the largest decrease enters, and when none
does the point is the minimiser. Rows of the factorisation computed before a change of P stay valid, so an index
that enters costs O(|P|^2).

Singular Hessians need no special case. A pivot lost in rounding is replaced by a tiny positive one, which turns
the Newton step into a proximal one: the step gets very long along directions of zero curvature, and the line
search takes it to the boundary. At the minimiser the step vanishes, so the replacement does not bias the result.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Rows of the float64 scratch array; the block of H on the passive set (upper triangle) and the factorisation
# (strict lower triangle) lie below them.
_GRADIENT, _LINEAR, _MASS, _STEP, _SLOPE, _PIVOT, _SHIFT, _TRIAL, _BLOCK = range(9)

_FLAT = 1e-6  # a pivot below this fraction of the two diagonal elements it comes from is taken for rounding error
_RIDGE = 1e-12  # added to the diagonal, relative to the same two elements, when a pivot is lost
_STATIONARY = 1e-13  # relative size of a gradient difference on P that counts as zero
_ENTER = 1e-12  # relative size of a negative reduced gradient that lets an index enter P
_NEGLIGIBLE = 2e-16  # a mass this small that is shrinking has reached zero


@njit(cache=True, nogil=True)
def _extend_factor(H, m, valid, ridge, work, passive):
    """Factorise the reduced Hessian of the passive set, rows `valid` to m - 1 (those before are up to date).

    Returns False at the first pivot that is lost in rounding, if there is no ridge to keep it up.
    """
    for j in range(valid, m):
        row = H[passive[j]]
        for i in range(j + 1):
            work[_BLOCK + i, j] = row[passive[i]]
        if j == 0:
            continue
        corner = work[_BLOCK, 0]
        edge = work[_BLOCK, j] - corner
        for i in range(1, j):
            u = work[_BLOCK + i, j] - work[_BLOCK, i] - edge
            for k in range(1, i):
                u -= work[_BLOCK + j, k] * work[_BLOCK + i, k]
            work[_BLOCK + j, i] = u
        scale = work[_BLOCK + j, j] + corner
        shift = ridge * scale
        pivot = work[_BLOCK + j, j] - work[_BLOCK, j] - edge + shift
        for i in range(1, j):
            u = work[_BLOCK + j, i]
            low = u * work[_PIVOT, i]
            pivot -= low * u
            work[_BLOCK + j, i] = low
        if not pivot > _FLAT * scale:
            if ridge == 0.0:
                return False
            if not pivot > 0.0:
                shift = scale if scale > 0.0 else 1.0
                pivot = shift
        work[_PIVOT, j] = 1.0 / pivot
        work[_SHIFT, j] = shift
    return True


@njit(cache=True, nogil=True)
def _newton_step(m, work, passive):
    """Newton step on the face of the passive set.

    Returns its slope (0 when the point is stationary on the face) and its curvature.
    """
    scale = 0.0
    for i in range(m):
        s = work[_LINEAR, passive[i]]
        size = abs(s) + work[_BLOCK + i, i]
        for j in range(i):
            s += work[_BLOCK + j, i] * work[_MASS, j]
        for j in range(i, m):
            s += work[_BLOCK + i, j] * work[_MASS, j]
        work[_SLOPE, i] = s
        work[_TRIAL, i] = size + abs(s)
        scale += work[_MASS, i] * work[_TRIAL, i]
    scale += work[_TRIAL, 0]
    stationary = True
    for i in range(1, m):
        if abs(work[_SLOPE, i] - work[_SLOPE, 0]) > _STATIONARY * (scale + work[_TRIAL, i]):
            stationary = False
    if stationary:
        return 0.0, 0.0
    reference = work[_SLOPE, 0]
    for i in range(1, m):
        s = reference - work[_SLOPE, i]
        for k in range(1, i):
            s -= work[_BLOCK + i, k] * work[_STEP, k]
        work[_STEP, i] = s
    total = 0.0
    slope = 0.0
    shifted = 0.0
    for i in range(m - 1, 0, -1):
        d = work[_STEP, i] * work[_PIVOT, i]
        for k in range(i + 1, m):
            d -= work[_BLOCK + k, i] * work[_STEP, k]
        work[_STEP, i] = d
        total += d
        slope += (work[_SLOPE, i] - reference) * d
        shifted += work[_SHIFT, i] * d * d
    work[_STEP, 0] = -total
    return slope, -slope - shifted


@njit(cache=True, nogil=True)
def _bent_step(m, length, work):
    """Change of the objective if the step of this length is projected (negatives to zero, rescaled), in `_TRIAL`."""
    total = 0.0
    for i in range(m):
        y = max(0.0, work[_MASS, i] + length * work[_STEP, i])
        work[_TRIAL, i] = y
        total += y
    change = 0.0
    for i in range(m):
        work[_TRIAL, i] /= total
        e = work[_TRIAL, i] - work[_MASS, i]
        half = 0.5 * work[_BLOCK + i, i] * e
        for j in range(i):
            half += work[_BLOCK + j, i] * (work[_TRIAL, j] - work[_MASS, j])
        change += e * (work[_SLOPE, i] + half)
    return change


@njit(cache=True, nogil=True)
def _move(m, slope, curvature, work, passive):
    """Take the step on the face as far as the simplex allows and drop the indices that reach zero.

    Returns the new size of the passive set and how many leading rows of the factorisation are still valid.
    """
    length = 1.0 if curvature > -1e-14 * slope else np.inf
    limit = np.inf
    for i in range(m):
        d = work[_STEP, i]
        if d < 0.0 and work[_MASS, i] < -limit * d:
            limit = work[_MASS, i] / -d
    bent = False
    if limit < length:
        cut = limit * (slope + 0.5 * limit * curvature)
        if m > 2 and length < np.inf:
            bent = _bent_step(m, length, work) < cut
        length = limit
    kept = 0
    valid = m
    total = 0.0
    for i in range(m):
        d = work[_STEP, i]
        if bent:
            y = work[_TRIAL, i]
        else:
            y = work[_MASS, i] + length * d
        if y > _NEGLIGIBLE or (y > 0.0 and d >= 0.0):
            work[_MASS, kept] = y
            passive[kept] = passive[i]
            kept += 1
            total += y
        elif valid == m:
            valid = i
    if total != 1.0:
        for i in range(kept):
            work[_MASS, i] /= total
    return kept, min(valid, kept)


@njit(cache=True, nogil=True)
def _entering(H, m, work, passive):
    """Index off the passive set that promises the largest decrease along its edge, or -1 if none does."""
    f = H.shape[0]
    p = passive[0]
    row = H[p]
    x = work[_MASS, 0]
    for q in range(f):
        work[_GRADIENT, q] = work[_LINEAR, q] + x * row[q]
    for i in range(1, m):
        row = H[passive[i]]
        x = work[_MASS, i]
        for q in range(f):
            work[_GRADIENT, q] += x * row[q]
    mean = 0.0
    linear = 0.0
    scale = 0.0
    for i in range(m):
        p = passive[i]
        x = work[_MASS, i]
        mean += x * work[_GRADIENT, p]
        linear += x * work[_LINEAR, p]
        scale += x * (abs(work[_LINEAR, p]) + abs(work[_GRADIENT, p]) + H[p, p])
    for i in range(m):
        work[_GRADIENT, passive[i]] = mean
    best = -1
    best_gain = 0.0
    for q in range(f):
        r = work[_GRADIENT, q] - mean
        if r < 0.0:
            h = H[q, q]
            if r < -_ENTER * (abs(work[_LINEAR, q]) + abs(work[_GRADIENT, q]) + h + scale):
                curvature = h - 2.0 * (work[_GRADIENT, q] - work[_LINEAR, q]) + mean - linear
                gain = -0.5 * r * r / curvature if curvature > -r else r + 0.5 * curvature
                if gain < best_gain:
                    best_gain = gain
                    best = q
    return best


@njit(cache=True, nogil=True)
def _lead(H, m, valid, work, passive):
    """Put the index with the least H_pp first (it is the one eliminated) if it is much smaller than the leader's."""
    least = 0
    for i in range(1, m):
        if H[passive[i], passive[i]] < H[passive[least], passive[least]]:
            least = i
    if least > 0 and (valid == 0 or H[passive[least], passive[least]] < 0.1 * H[passive[0], passive[0]]):
        passive[0], passive[least] = passive[least], passive[0]
        work[_MASS, 0], work[_MASS, least] = work[_MASS, least], work[_MASS, 0]
        return 0
    return valid


@njit(cache=True, nogil=True)
def _minimise(H, m, work, passive, max_iter):
    """Active set on the compact point (`passive`, masses in `work`); returns the size of the final passive set."""
    valid = 0
    ridge = 0.0
    refinements = 0
    entered = -1
    for iteration in range(max_iter):
        if m > 1:
            if ridge > 0.0:
                valid = _lead(H, m, valid, work, passive)
            if not _extend_factor(H, m, valid, ridge, work, passive):
                ridge = _RIDGE
                _lead(H, m, 0, work, passive)
                _extend_factor(H, m, 0, ridge, work, passive)
            slope, curvature = _newton_step(m, work, passive)
            valid = m
            if -np.inf < slope < 0.0:
                before = m
                m, valid = _move(m, slope, curvature, work, passive)
                if m < before:
                    if entered >= 0 and passive[m - 1] != entered and passive[0] != entered:
                        return m, -iteration
                    entered = -1
                    continue
                if ridge > 0.0 and refinements < 3:
                    refinements += 1
                    continue
        refinements = 0
        q = _entering(H, m, work, passive)
        if q < 0:
            return m, iteration
        passive[m] = q
        work[_MASS, m] = 0.0
        m += 1
        entered = q
    return m, max_iter


@njit(cache=True, nogil=True)
def _load(H, G, X, b, work, passive):
    """Compact form of the starting point: its positive entries, rescaled; the best vertex if there are none."""
    m = 0
    total = 0.0
    for q in range(X.shape[1]):  # no branch: where the nonzeros lie cannot be predicted
        work[_LINEAR, q] = G[b, q]
        y = X[b, q] if X[b, q] > 0.0 else 0.0
        passive[m] = q
        work[_MASS, m] = y
        total += y
        m += y > 0.0
    if m == 0:
        best = 0
        for q in range(1, X.shape[1]):
            if 0.5 * H[q, q] + work[_LINEAR, q] < 0.5 * H[best, best] + work[_LINEAR, best]:
                best = q
        passive[0] = best
        work[_MASS, 0] = 1.0
        return 1
    if abs(total - 1.0) > 1e-15:
        for i in range(m):
            work[_MASS, i] /= total
    return m


@njit(cache=True, nogil=True)
def simplex_qp_batch(H, G, X, start, stop):
    f = H.shape[0]
    work = np.empty((f + _BLOCK, f))
    passive = np.empty(f, np.int64)
    total = 0
    for b in range(start, stop):
        m = _load(H, G, X, b, work, passive)
        m, it = _minimise(H, m, work, passive, 10 * f)
        for q in range(f):
            X[b, q] = 0.0
        for i in range(m):
            X[b, passive[i]] = work[_MASS, i]
        total += abs(it)
    return total
