"""Quadratic programs on the probability simplex, solved exactly by an active set method.

EVCLUS and other methods that fit one mass function at a time solve the problem

    minimize  1/2 x'Hx + g'x   subject to   x >= 0,  sum(x) = 1,

with a small positive semidefinite matrix H, which is often singular. ``simplex_qp.c`` explains the
algorithm.

The kernels validate types and shapes only.

References
----------
.. [1] J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., Springer, 2006, section 16.5.
.. [2] T. Denœux, S. Sriboonchitta and O. Kanjanatarakul, "Evidential clustering of large
   dissimilarity data", Knowledge-Based Systems 106, 2016.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

# Minimize 1/2 x'Hx + g'x over the simplex, without checking that H is
# positive semidefinite. On entry x contains the initial point. Its negative entries are set to
# zero, and its positive entries are rescaled. If x is zero, the initial point is the best vertex.
# On exit x contains the minimizer. If max_iter (10 f is usually sufficient) is reached, x is
# feasible and not worse than the initial point. The result is the number of iterations, which is 1
# if the initial point had the right nonzero entries.
simplex_qp = kernel("""simplex_qp(
    H: float64[f, f], g: float64[f], x: float64[f] out, max_iter: int,
    work: float64[f + 8, f] out, index: int64[2, f] out) -> int""")

# Row b of X contains the initial point, and is overwritten by
# the minimizer of 1/2 x'Hx + G[b]'x, for all b from start to stop - 1. The minimizer depends only
# on H, G[b] and X[b], so that different threads may solve different blocks of rows. The arithmetic
# is in float64. The result is the number of rows that reached the limit of 10 f + 10 iterations.
simplex_qp_batch = kernel("""simplex_qp_batch(
    H: float64[f, f], G: real1[n, f], X: real2[n, f] out, start: int up to stop, stop: int up to n)
    -> int""")


def simplex_qp_workspace(f: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays ``work`` and ``index`` of `simplex_qp`, which a thread can reuse."""
    return np.empty((f + 8, f)), np.empty((2, f), np.int64)


def solve_simplex_qp(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return the minimizer of 1/2 x'Hx + g'x, computed from the best vertex."""
    f = len(g)
    x = np.zeros(f)
    symmetric = 0.5 * (H + H.T)
    simplex_qp(symmetric, g, x, 10 * f + 10, *simplex_qp_workspace(f))
    return x
