"""The quadratic program on the simplex whose Hessian is diagonal: exact, by sorting."""

from __future__ import annotations

from numba import njit

__all__ = ["diagonal_simplex_qp"]

_TINY = 1e-200  # a diagonal element below this is zero


@njit(cache=True, nogil=True, error_model="numpy")
def _sift(heap, root, size, g):
    """Restore the heap (least g on top, lowest index first among equals) below `root`."""
    item = heap[root]
    child = 2 * root + 1
    while child < size:
        p = heap[child]
        if child + 1 < size:
            q = heap[child + 1]
            if g[q] < g[p] or (g[q] == g[p] and q < p):
                child += 1
                p = q
        if g[item] < g[p] or (g[item] == g[p] and item < p):
            break
        heap[root] = p
        root = child
        child = 2 * root + 1
    heap[root] = item


@njit(cache=True, nogil=True, error_model="numpy")
def diagonal_simplex_qp(h, g, x, heap):
    """Write the minimiser of sum h_q x_q^2 + g_q x_q on the simplex into x: the kernel of `solve_diagonal`.

    `heap` is int64 scratch of the same length. Arguments are not checked. With multiplier t the minimiser is
    x_q = max(0, (t - g_q) / (2 h_q)); indices are taken by increasing g_q as long as t stays above g_q.
    """
    f = h.shape[0]
    for q in range(f):
        heap[q] = q
        x[q] = 0.0
    for root in range(f // 2 - 1, -1, -1):
        _sift(heap, root, f, g)
    least = g[heap[0]]  # measured from here t loses no digits
    size = f
    weight = 0.0
    total = 1.0
    widest = heap[0]  # takes what the others leave: its own formula is the one that rounding hurts most
    threshold = 0.0
    while size > 0:
        q = heap[0]
        c = g[q] - least
        if weight > 0.0 and total <= c * weight:
            break
        size -= 1
        heap[0] = heap[size]
        heap[size] = q
        _sift(heap, 0, size, g)
        if not h[q] > _TINY:  # linear in x_q: t cannot rise above g_q, and x_q takes the rest
            widest = q
            threshold = c
            break
        weight += 0.5 / h[q]
        total += 0.5 / h[q] * c
        threshold = total / weight
        if h[q] < h[widest]:
            widest = q
    rest = 1.0
    for i in range(size, f):
        q = heap[i]
        if q != widest:
            x[q] = max(0.0, (threshold - (g[q] - least)) * (0.5 / h[q]))
            rest -= x[q]
    x[widest] = max(0.0, rest)
