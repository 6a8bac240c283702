"""Quadratic programs on the probability simplex, solved exactly by an active set.

The row problem of EVCLUS, and of every method that fits one mass function at a time, is

    minimise  1/2 x'Hx + g'x   subject to   x >= 0,  sum(x) = 1,

with a small positive semidefinite H, often singular. The minimiser usually has very few nonzeros, and a good
guess of them is at hand (the previous masses, or the best vertex), which is what an active set turns into speed.

How it works. The *passive set* P holds the indices allowed to be positive. On the face they span, one index r is
eliminated (x_r = 1 - the others), which leaves an unconstrained problem with Hessian H_ij - H_ir - H_jr + H_rr;
adding a constant to H, or to g, changes nothing, as it should on the simplex. Its LDL' factorisation gives the
Newton step. If the step leaves the simplex it is cut, or bent, at the boundary, and the indices that reach zero
leave P; if not, the index off P that promises the largest decrease enters; when none does, the point is the
minimiser. Row j of the factorisation depends on the first j indices of P only, so the rows shared with the last
factorisation are kept: an index that enters costs O(|P|^2), and rows of a batch that end alike share the work.

Singular Hessians. When a pivot is lost in rounding, a tiny ridge is added to the diagonal, which turns the Newton
step into a proximal one: very long along directions of zero curvature, so that it reaches the boundary, and zero
at a minimiser, so that repeating it leaves no trace of the ridge in the result.

Kernels are compiled by numba at the first call, take C-contiguous arrays (H in float64) and do not check their
arguments; the functions of `evidentia.optimize.solve` do.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["simplex_qp", "simplex_qp_batch", "simplex_qp_workspace"]

# Rows of the float64 scratch array. The block of H on the passive set (upper triangle) and its factorisation
# (strict lower triangle) lie below them.
_GRADIENT, _LINEAR, _MASS, _STEP, _SLOPE, _PIVOT, _SHIFT, _TRIAL, _BLOCK = range(9)
# Rows of the int64 scratch array: the passive set, and the indices whose rows of the factorisation are stored.
_PASSIVE, _STORED = 0, 1

_FLAT = 1e-6  # a pivot below this fraction of the diagonal elements it comes from calls for the ridge
_RIDGE = 1e-12  # the ridge, relative to the same elements
_STATIONARY = 1e-13  # relative difference of gradients on the passive set that counts as none
_ENTER = 1e-12  # relative size of the negative reduced gradient that lets an index enter
_NEGLIGIBLE = 2e-16  # a mass this small that is shrinking has reached zero
_CROWD = 6  # a start with more nonzeros than this must beat the best vertex to be worth its factorisation


@njit(cache=True, nogil=True, error_model="numpy")
def _hold(H, work, index):
    """Keep three arrays alive up to here.

    Numba releases an array where it is last used. If that place depends on the branch taken, it cannot leave out
    the (atomic) reference counts, which cost more than the arithmetic of these functions.
    """


@njit(cache=True, nogil=True, error_model="numpy")
def _factorise(H, m, known, ridge, work, index):
    """LDL' factorisation of the reduced Hessian on the passive set, reusing the stored rows that still fit.

    Returns the number of valid rows: m, or 0 if a pivot was lost and there is no ridge to keep it up.
    """
    j = 0
    while j < known and j < m and index[_STORED, j] == index[_PASSIVE, j]:
        j += 1
    lost = False
    while j < m and not lost:
        p = index[_PASSIVE, j]
        for i in range(j + 1):
            work[_BLOCK + i, j] = H[p, index[_PASSIVE, i]]
        if j > 0:
            corner = work[_BLOCK, 0]
            edge = work[_BLOCK, j] - corner
            scale = work[_BLOCK + j, j] + corner
            shift = ridge * scale
            pivot = work[_BLOCK + j, j] - work[_BLOCK, j] - edge + shift
            for i in range(1, j):
                u = work[_BLOCK + i, j] - work[_BLOCK, i] - edge
                for k in range(1, i):
                    u -= work[_BLOCK + j, k] * work[_BLOCK + i, k]
                work[_BLOCK + j, i] = u
            for i in range(1, j):
                u = work[_BLOCK + j, i]
                work[_BLOCK + j, i] = u * work[_PIVOT, i]
                pivot -= u * work[_BLOCK + j, i]
            if ridge == 0.0:
                lost = not pivot > _FLAT * scale
            elif not pivot > 0.0:
                if scale > 0.0:  # H is not positive semidefinite: a short step does no harm
                    shift = scale
                else:  # H vanishes here: a long one
                    for q in range(H.shape[0]):
                        shift = max(shift, _RIDGE * H[q, q])
                    shift = shift if shift > 0.0 else 1.0
                pivot = shift
            work[_PIVOT, j] = 1.0 / pivot if pivot > 0.0 else 0.0
            work[_SHIFT, j] = shift
        if not lost:
            index[_STORED, j] = p
            j += 1
    _hold(H, work, index)
    return 0 if lost else j


@njit(cache=True, nogil=True, error_model="numpy")
def _lead(H, m, known, work, index):
    """Make the index with the least H_pp the eliminated one, if that saves digits. Returns the valid rows left."""
    least = 0
    smallest = np.inf
    for i in range(m):
        h = H[index[_PASSIVE, i], index[_PASSIVE, i]]
        if h < smallest:
            smallest = h
            least = i
    if least > 0 and (known == 0 or smallest < 0.1 * H[index[_PASSIVE, 0], index[_PASSIVE, 0]]):
        p = index[_PASSIVE, 0]
        x = work[_MASS, 0]
        index[_PASSIVE, 0] = index[_PASSIVE, least]
        work[_MASS, 0] = work[_MASS, least]
        index[_PASSIVE, least] = p
        work[_MASS, least] = x
        known = 0
    _hold(H, work, index)
    return known


@njit(cache=True, nogil=True, error_model="numpy")
def _newton_step(m, work, index):
    """Newton step on the face of the passive set: its slope (0 if the point is stationary there) and curvature."""
    total = 0.0
    for i in range(m):
        s = work[_LINEAR, index[_PASSIVE, i]]
        size = abs(s) + work[_BLOCK + i, i]
        for j in range(i):
            s += work[_BLOCK + j, i] * work[_MASS, j]
        for j in range(i, m):
            s += work[_BLOCK + i, j] * work[_MASS, j]
        work[_SLOPE, i] = s
        work[_TRIAL, i] = size + abs(s)
        total += work[_MASS, i] * work[_TRIAL, i]
    total += work[_TRIAL, 0]
    moving = False
    for i in range(1, m):
        moving |= abs(work[_SLOPE, i] - work[_SLOPE, 0]) > _STATIONARY * (total + work[_TRIAL, i])
    slope = 0.0
    shifted = 0.0
    if moving:
        total = 0.0
        for i in range(1, m):
            s = work[_SLOPE, 0] - work[_SLOPE, i]
            for k in range(1, i):
                s -= work[_BLOCK + i, k] * work[_STEP, k]
            work[_STEP, i] = s
        for i in range(m - 1, 0, -1):
            d = work[_STEP, i] * work[_PIVOT, i]
            for k in range(i + 1, m):
                d -= work[_BLOCK + k, i] * work[_STEP, k]
            work[_STEP, i] = d
            total += d
            slope += (work[_SLOPE, i] - work[_SLOPE, 0]) * d
            shifted += work[_SHIFT, i] * d * d
        work[_STEP, 0] = -total
    _hold(work, work, index)
    return slope, -slope - shifted


@njit(cache=True, nogil=True, error_model="numpy")
def _bend(m, work):
    """Project the full step (negatives to zero, rescaled) into `_TRIAL`. Returns the change of the objective."""
    total = 0.0
    for i in range(m):
        work[_TRIAL, i] = max(0.0, work[_MASS, i] + work[_STEP, i])
        total += work[_TRIAL, i]
    change = 0.0
    for i in range(m):
        work[_TRIAL, i] /= total
        e = work[_TRIAL, i] - work[_MASS, i]
        s = work[_SLOPE, i] + 0.5 * work[_BLOCK + i, i] * e
        for j in range(i):
            s += work[_BLOCK + j, i] * (work[_TRIAL, j] - work[_MASS, j])
        change += e * s
    return change


@njit(cache=True, nogil=True, error_model="numpy")
def _move(m, slope, curvature, work, index):
    """Take the step as far as the simplex allows, drop the indices that reach zero. Returns how many are left."""
    length = 1.0 if curvature > -1e-14 * slope else np.inf  # no curvature but the ridge: down to the boundary
    limit = np.inf
    for i in range(m):
        if work[_STEP, i] < 0.0:
            limit = min(limit, work[_MASS, i] / -work[_STEP, i])
    bent = False
    if limit < length:
        if m > 2 and length == 1.0:
            bent = _bend(m, work) < limit * (slope + 0.5 * limit * curvature)
        length = limit
    kept = 0
    total = 0.0
    for i in range(m):
        d = work[_STEP, i]
        y = work[_TRIAL, i] if bent else work[_MASS, i] + length * d
        if y > _NEGLIGIBLE or (y > 0.0 and d >= 0.0):
            work[_MASS, kept] = y
            index[_PASSIVE, kept] = index[_PASSIVE, i]
            total += y
            kept += 1
    if total != 1.0:
        for i in range(kept):
            work[_MASS, i] /= total
    _hold(work, work, index)
    return kept


@njit(cache=True, nogil=True, error_model="numpy")
def _entering(H, m, work, index):
    """Index off the passive set that promises the largest decrease along its edge, or -1 if none does."""
    f = H.shape[0]
    for q in range(f):
        work[_GRADIENT, q] = work[_LINEAR, q]
    for i in range(m):
        p = index[_PASSIVE, i]
        x = work[_MASS, i]
        for q in range(f):
            work[_GRADIENT, q] += x * H[p, q]
    mean = 0.0
    linear = 0.0
    scale = 0.0
    for i in range(m):
        p = index[_PASSIVE, i]
        x = work[_MASS, i]
        mean += x * work[_GRADIENT, p]
        linear += x * work[_LINEAR, p]
        scale += x * (abs(work[_LINEAR, p]) + abs(work[_GRADIENT, p]) + H[p, p])
    for i in range(m):
        work[_GRADIENT, index[_PASSIVE, i]] = np.inf
    best = -1
    best_gain = 0.0
    for q in range(f):
        r = work[_GRADIENT, q] - mean
        if r < 0.0:
            h = H[q, q]
            if r < -_ENTER * (abs(work[_LINEAR, q]) + abs(work[_GRADIENT, q]) + h + scale):
                curvature = h - 2.0 * (work[_GRADIENT, q] - work[_LINEAR, q]) + mean - linear
                gain = 0.5 * r * r / curvature if curvature > -r else -r - 0.5 * curvature
                if gain > best_gain:
                    best_gain = gain
                    best = q
    _hold(H, work, index)
    return best


@njit(cache=True, nogil=True, error_model="numpy")
def _minimise(H, m, known, max_iter, work, index):
    """Active set from the point held in `index` and `work`; returns its final size, valid rows, iterations used."""
    ridge = 0.0
    refined = 0
    entered = -1
    iteration = 0
    done = False
    while iteration < max_iter and not done:
        iteration += 1
        before = m
        settled = True
        if m > 1:
            if ridge > 0.0:
                known = _lead(H, m, known, work, index)
            known = _factorise(H, m, known, ridge, work, index)
            if known == 0:
                ridge = _RIDGE
                known = _lead(H, m, known, work, index)
                known = _factorise(H, m, known, ridge, work, index)
            slope, curvature = _newton_step(m, work, index)
            if -np.inf < slope < 0.0:
                m = _move(m, slope, curvature, work, index)
                refined += 1
                settled = m == before and (ridge == 0.0 or refined > 3)
        if settled:
            entered = _entering(H, m, work, index)
            refined = 0
            if entered < 0:
                done = True
            else:
                index[_PASSIVE, m] = entered
                work[_MASS, m] = 0.0
                m += 1
        elif m < before:
            # The index that entered moves away from zero, but for rounding: nothing more can be gained.
            done = entered >= 0 and index[_PASSIVE, m - 1] != entered and index[_PASSIVE, 0] != entered
            entered = -1
    if ridge > 0.0:
        known = 0
    _hold(H, work, index)
    return m, known, iteration


@njit(cache=True, nogil=True, error_model="numpy")
def _start(H, work, index):
    """Compact form of the point in `_GRADIENT`: its positive entries, rescaled, or the best vertex. Returns its size.

    The vertex is taken if there are no positive entries, or if there are many and it is better.
    """
    f = H.shape[0]
    m = 0
    total = 0.0
    for q in range(f):  # no branch: where the nonzeros lie cannot be predicted
        y = work[_GRADIENT, q]
        y = y if y > 0.0 else 0.0
        index[_PASSIVE, m] = q
        work[_MASS, m] = y
        total += y
        m += y > 0.0
    if m > 0 and abs(total - 1.0) > 1e-15:
        for i in range(m):
            work[_MASS, i] /= total
    if m == 0 or m > _CROWD:
        value = 0.0 if m > 0 else np.inf
        for i in range(m):
            p = index[_PASSIVE, i]
            s = 0.0
            for j in range(m):
                s += H[p, index[_PASSIVE, j]] * work[_MASS, j]
            value += work[_MASS, i] * (work[_LINEAR, p] + 0.5 * s)
        vertex = -1
        for q in range(f):
            if work[_LINEAR, q] + 0.5 * H[q, q] < value:
                value = work[_LINEAR, q] + 0.5 * H[q, q]
                vertex = q
        if vertex >= 0 or m == 0:
            index[_PASSIVE, 0] = max(vertex, 0)
            work[_MASS, 0] = 1.0
            m = 1
    _hold(H, work, index)
    return m


@njit(cache=True, nogil=True, error_model="numpy")
def simplex_qp_workspace(f):
    """Scratch arrays for `simplex_qp` with f variables: float64 of shape (f + 8, f) and int64 of shape (2, f).

    Made once and used again for any number of problems of that size, one thread at a time. Callable from Python
    and from numba kernels.

    Examples
    --------
    >>> from evidentia.optimize.simplex_qp import simplex_qp_workspace
    >>> [scratch.shape for scratch in simplex_qp_workspace(3)]
    [(11, 3), (2, 3)]
    """
    return np.empty((f + _BLOCK, f)), np.empty((2, f), np.int64)


@njit(cache=True, nogil=True, error_model="numpy")
def simplex_qp(H, g, x, max_iter, work, index):
    """Minimise 1/2 x'Hx + g'x on the simplex, in place: the kernel behind `solve_simplex_qp`.

    Allocates nothing and releases the GIL. For numba kernels and hot loops: arguments are not checked.

    Parameters
    ----------
    H : (f, f) float64, C-contiguous, symmetric positive semidefinite
    g : (f,) float64
    x : (f,) float64
        On entry the starting point: negative entries count as zero and the rest is rescaled; all zeros asks for
        a cold start from the best vertex. On exit the minimiser.
    max_iter : int
        Cap on the iterations (10 f is ample). At the cap the point is feasible and not worse than the start.
    work, index : arrays
        Scratch from `simplex_qp_workspace`; contents do not matter.

    Returns
    -------
    int
        Iterations used: 1 when the start had the right nonzeros, and `max_iter` when the cap was reached.

    Examples
    --------
    >>> import numpy as np
    >>> from evidentia.optimize.simplex_qp import simplex_qp, simplex_qp_workspace
    >>> work, index = simplex_qp_workspace(3)
    >>> x = np.zeros(3)
    >>> _ = simplex_qp(np.eye(3), np.array([0.0, -0.5, 1.0]), x, 30, work, index)
    >>> x
    array([0.25, 0.75, 0.  ])
    """
    for q in range(H.shape[0]):
        work[_LINEAR, q] = g[q]
        work[_GRADIENT, q] = x[q]
    m = _start(H, work, index)
    m, _, iterations = _minimise(H, m, 0, max_iter, work, index)
    for q in range(H.shape[0]):
        x[q] = 0.0
    for i in range(m):
        x[index[_PASSIVE, i]] = work[_MASS, i]
    _hold(H, work, index)
    return iterations


@njit(cache=True, nogil=True, error_model="numpy")
def simplex_qp_batch(H, G, X, start, stop):
    """Rows start to stop - 1 of a batch of problems that share their Hessian: the kernel of `solve_simplex_qp_batch`.

    Row b of X is overwritten by the minimiser of 1/2 x'Hx + G[b]'x, started from what it holds (zeros: from the best
    vertex). A row's result depends on nothing but H and that row, so blocks of rows may go to different threads
    (the GIL is released). Arguments are not checked.

    Parameters
    ----------
    H : (f, f) float64, C-contiguous, symmetric positive semidefinite
    G, X : (n, f) float64 or float32
        Stored as they are; the arithmetic is in float64.
    start, stop : int

    Returns
    -------
    int
        The number of rows that met the cap of 10 f iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from evidentia.optimize.simplex_qp import simplex_qp_batch
    >>> X = np.zeros((2, 2))
    >>> simplex_qp_batch(np.eye(2), np.array([[0.0, 0.5], [2.0, 0.0]]), X, 0, 2)
    0
    >>> X
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    f = H.shape[0]
    work, index = simplex_qp_workspace(f)
    max_iter = 10 * f + 10
    known = 0
    capped = 0
    for b in range(start, stop):
        for q in range(f):
            work[_LINEAR, q] = G[b, q]
            work[_GRADIENT, q] = X[b, q]
        m = _start(H, work, index)
        m, known, iterations = _minimise(H, m, known, max_iter, work, index)
        capped += iterations == max_iter
        for q in range(f):
            X[b, q] = 0.0
        for i in range(m):
            X[b, index[_PASSIVE, i]] = work[_MASS, i]
    return capped
