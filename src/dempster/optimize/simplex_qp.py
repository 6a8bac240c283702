"""Quadratic programs on the probability simplex, solved exactly by an active set.

The row problem of EVCLUS, and of every method that fits one mass function at a time, is

    minimise  1/2 x'Hx + g'x   subject to   x >= 0,  sum(x) = 1,

with a small positive semidefinite H, often singular. ``simplex_qp.c`` says how it is solved.

The functions here take C-contiguous arrays (H in float64), release the GIL, and look at types and shapes only; those of
`dempster.optimize.solve` look at the numbers, too.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["simplex_qp", "simplex_qp_batch", "simplex_qp_workspace"]

_simplex_qp = kernel("""simplex_qp(
    H: float64[f, f], g: float64[f], x: float64[f] out, max_iter: int,
    work: float64[f + 8, f] out, index: int64[2, f] out) -> int""")
_simplex_qp_batch = kernel("""simplex_qp_batch(
    H: float64[f, f], G: real1[n, f], X: real2[n, f] out, start: int up to stop, stop: int up to n) -> int""")


def simplex_qp_workspace(f: int) -> tuple[np.ndarray, np.ndarray]:
    """Scratch arrays for `simplex_qp` with f variables: float64 of shape (f + 8, f) and int64 of shape (2, f).

    Made once and used again for any number of problems of that size, one thread at a time.

    Examples
    --------
    >>> from dempster.optimize.simplex_qp import simplex_qp_workspace
    >>> [scratch.shape for scratch in simplex_qp_workspace(3)]
    [(11, 3), (2, 3)]
    """
    return np.empty((f + 8, f)), np.empty((2, f), np.int64)


def simplex_qp(H: np.ndarray, g: np.ndarray, x: np.ndarray, max_iter: int, work: np.ndarray, index: np.ndarray) -> int:
    """Minimise 1/2 x'Hx + g'x on the simplex, in place: the kernel behind `solve_simplex_qp`.

    Allocates nothing. Whether H is positive semidefinite is not checked.

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
    >>> from dempster.optimize.simplex_qp import simplex_qp, simplex_qp_workspace
    >>> work, index = simplex_qp_workspace(3)
    >>> x = np.zeros(3)
    >>> _ = simplex_qp(np.eye(3), np.array([0.0, -0.5, 1.0]), x, 30, work, index)
    >>> x
    array([0.25, 0.75, 0.  ])
    """
    return _simplex_qp(H, g, x, max_iter, work, index)


def simplex_qp_batch(H: np.ndarray, G: np.ndarray, X: np.ndarray, start: int, stop: int) -> int:
    """Rows start to stop - 1 of a batch of problems that share their Hessian: the kernel of `solve_simplex_qp_batch`.

    Row b of X is overwritten by the minimiser of 1/2 x'Hx + G[b]'x, started from what it holds (zeros: from the best
    vertex). A row's result depends on nothing but H and that row, so blocks of rows may go to different threads.

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
    >>> from dempster.optimize.simplex_qp import simplex_qp_batch
    >>> X = np.zeros((2, 2))
    >>> simplex_qp_batch(np.eye(2), np.array([[0.0, 0.5], [2.0, 0.0]]), X, 0, 2)
    0
    >>> X
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    return _simplex_qp_batch(H, G, X, start, stop)
