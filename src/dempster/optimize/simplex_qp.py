"""Quadratic programs on the probability simplex, solved exactly by an active set method.

EVCLUS and other methods that fit one mass function at a time solve the problem

    minimize  1/2 x'Hx + g'x   subject to   x >= 0,  sum(x) = 1,

with a small positive semidefinite matrix H, which is often singular. ``simplex_qp.c`` explains the
algorithm.

The kernels validate types and shapes only; the ``solve_`` functions also validate the values.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from dempster._errors import InvalidParameterError
from dempster._native import kernel
from dempster._validation import as_reals, check, check_size, integer
from dempster.optimize.blocks import block_map, row_blocks

# Kernel of `solve_simplex_qp`. Minimize 1/2 x'Hx + g'x over the simplex, without checking that H is
# positive semidefinite. On entry x contains the initial point. Its negative entries are set to
# zero, and its positive entries are rescaled. If x is zero, the initial point is the best vertex.
# On exit x contains the minimizer. If max_iter (10 f is usually sufficient) is reached, x is
# feasible and not worse than the initial point. The result is the number of iterations, which is 1
# if the initial point had the right nonzero entries.
simplex_qp = kernel("""simplex_qp(
    H: float64[f, f], g: float64[f], x: float64[f] out, max_iter: int,
    work: float64[f + 8, f] out, index: int64[2, f] out) -> int""")

# Kernel of `solve_simplex_qp_batch`. Row b of X contains the initial point, and is overwritten by
# the minimizer of 1/2 x'Hx + G[b]'x, for all b from start to stop - 1. The minimizer depends only
# on H, G[b] and X[b], so that different threads may solve different blocks of rows. The arithmetic
# is in float64. The result is the number of rows that reached the limit of 10 f + 10 iterations.
simplex_qp_batch = kernel("""simplex_qp_batch(
    H: float64[f, f], G: real1[n, f], X: real2[n, f] out, start: int up to stop, stop: int up to n)
    -> int""")

_diagonal_simplex_qp = kernel("""diagonal_simplex_qp(
    h: float64[f], g: float64[f], x: float64[f] out, heap: int64[f] out)""")


def simplex_qp_workspace(f: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays ``work`` and ``index`` of `simplex_qp`, which a thread can reuse."""
    return np.empty((f + 8, f)), np.empty((2, f), np.int64)


def solve_simplex_qp(
    H: ArrayLike,
    g: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    max_iter: int | None = None,
) -> np.ndarray:
    """Minimize 1/2 x'Hx + g'x over the probability simplex.

    The solution is exact up to rounding errors. If the minimizer is not unique, one minimizer is
    returned.

    Parameters
    ----------
    H : array-like of shape (f, f)
        Symmetric positive semidefinite matrix, singular or not.
    g : array-like of shape (f,)
        Linear term.
    x0 : array-like of shape (f,), optional
        Initial point on the simplex, by default the best vertex. The method is fastest if the
        initial point has the same nonzero entries as the minimizer.
    max_iter : int, optional
        Maximum number of iterations, 10 f + 10 by default. If it is reached, a `ConvergenceWarning`
        is issued, and the result is feasible and not worse than the initial point.

    Returns
    -------
    ndarray of shape (f,)
        Minimizer, whose entries are nonnegative and sum to one.

    References
    ----------
    .. [1] J. Nocedal and S. J. Wright, "Numerical Optimization", 2nd ed., Springer, 2006, section
       16.5.
    .. [2] T. Denœux, S. Sriboonchitta and O. Kanjanatarakul, "Evidential clustering of large
       dissimilarity data", Knowledge-Based Systems 106, 2016.

    Examples
    --------
    >>> from dempster.optimize import solve_simplex_qp
    >>> solve_simplex_qp([[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]], [0.0, -1.0, 3.0])
    array([0.25, 0.75, 0.  ])
    """
    hessian = _check_hessian(H)
    f = len(hessian)
    linear = _check_array(g, "g", (f,), np.float64)
    x = np.zeros(f) if x0 is None else _check_masses(x0, "x0", (f,), np.float64)
    if max_iter is None:
        max_iter = 10 * f + 10
    check(max_iter, "max_iter", integer(1))
    if simplex_qp(hessian, linear, x, max_iter, *simplex_qp_workspace(f)) == max_iter:
        _warn_capped(1, 1)
    return x


def solve_simplex_qp_batch(
    H: ArrayLike, G: ArrayLike, X0: ArrayLike | None = None, *, n_jobs: int | None = -1
) -> np.ndarray:
    """Minimize 1/2 x'Hx + g'x over the probability simplex for every row g of G.

    Parameters
    ----------
    H : array-like of shape (f, f)
        Symmetric positive semidefinite matrix, singular or not.
    G : array-like of shape (n, f)
        Linear terms, one per row.
    X0 : array-like of shape (n, f), optional
        Initial points on the simplex, one per row; by default the best vertex for each row.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config`
        sets another number.

    Returns
    -------
    ndarray of shape (n, f)
        Minimizers, one per row, of type float32 if G has this type, else float64.

    Examples
    --------
    >>> from dempster.optimize import solve_simplex_qp_batch
    >>> solve_simplex_qp_batch([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.5], [2.0, 0.0]])
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    hessian = _check_hessian(H)
    dtype = np.float32 if getattr(G, "dtype", None) == np.float32 else np.float64
    linear = _check_array(G, "G", (None, len(hessian)), dtype)
    if X0 is None:
        X = np.zeros_like(linear)
    else:
        X = _check_masses(X0, "X0", linear.shape, dtype)
    n = len(linear)
    with block_map(n_jobs) as apply:
        capped = sum(
            apply(
                simplex_qp_batch, [(hessian, linear, X, a, b) for a, b in row_blocks(n)]
            )
        )
    if capped:
        _warn_capped(capped, n)
    return X


def solve_diagonal(h: ArrayLike, g: ArrayLike) -> np.ndarray:
    """Minimize sum_q (h_q x_q^2 + g_q x_q) over the probability simplex, exactly.

    Constrained evidential c-means (CECM) solves this problem to update the masses of an object.

    Parameters
    ----------
    h : array-like of shape (f,)
        Nonnegative coefficients of the squares. If the minimizer is not unique, because of
        coefficients that are zero, the entry with the lowest index is the largest possible.
    g : array-like of shape (f,)
        Linear term.

    Returns
    -------
    ndarray of shape (f,)
        Minimizer, whose entries are nonnegative and sum to one.

    References
    ----------
    .. [1] V. Antoine, B. Quost, M.-H. Masson and T. Denœux, "CECM: Constrained evidential C-means
       algorithm", Computational Statistics & Data Analysis 56(4), 2012.

    Examples
    --------
    >>> from dempster.optimize import solve_diagonal
    >>> solve_diagonal([1.0, 1.0, 1.0], [0.0, -1.0, 3.0])
    array([0.25, 0.75, 0.  ])
    """
    squares = _check_array(h, "h", (None,), np.float64)
    if len(squares) == 0 or squares.min() < 0:
        raise InvalidParameterError(
            "h",
            must="contain at least one number and no negative number",
            value=squares,
        )
    linear = _check_array(g, "g", squares.shape, np.float64)
    x = np.empty(len(squares))
    _diagonal_simplex_qp(squares, linear, x, np.empty(len(squares), np.int64))
    return x


def _check_array(values: ArrayLike, name: str, shape: tuple, dtype: type) -> np.ndarray:
    """Return ``values`` as a finite C-contiguous array of the given shape (None: any length)."""
    array: np.ndarray = np.asarray(as_reals(values, name), dtype=dtype, order="C")
    if array.ndim != len(shape) or any(
        want not in (None, got) for want, got in zip(shape, array.shape, strict=True)
    ):
        wanted = ", ".join("n" if want is None else str(want) for want in shape)
        raise InvalidParameterError(
            name,
            must=f"have shape ({wanted}{',' * (len(shape) == 1)}), got {array.shape}",
        )
    if not np.isfinite(array).all():
        raise InvalidParameterError(name, must="be finite, got NaN or infinity")
    return array


def _check_hessian(H: ArrayLike) -> np.ndarray:
    """Return H as a symmetric matrix of type float64.

    Raise an error if it is not symmetric and semidefinite.
    """
    hessian = _check_array(H, "H", (None, None), np.float64)
    if len(hessian) == 0 or hessian.shape[0] != hessian.shape[1]:
        raise InvalidParameterError(
            "H", must=f"be a square matrix, got shape {hessian.shape}"
        )
    check_size(hessian, "H")
    tolerance = 1e-6 * np.abs(hessian).max()  # H may be in single precision.
    asymmetry = np.abs(hessian - hessian.T).max()
    if asymmetry > tolerance:
        raise InvalidParameterError(
            "H",
            must=f"be symmetric, got entries H[i, j] and H[j, i] that differ by {asymmetry:.3g}",
        )
    hessian = 0.5 * (hessian + hessian.T)
    smallest = np.linalg.eigvalsh(hessian)[0]
    if smallest < -tolerance:
        raise InvalidParameterError(
            "H", must=f"be positive semidefinite, got an eigenvalue of {smallest:.3g}"
        )
    return hessian


def _check_masses(x: ArrayLike, name: str, shape: tuple, dtype: type) -> np.ndarray:
    """Return a copy of a point (or of several points in rows).

    Raise an error if it is not on the simplex.
    """
    masses = _check_array(x, name, shape, dtype).copy()
    sums = masses.sum(-1, dtype=np.float64)
    if masses.size and (masses.min() < -1e-6 or np.abs(sums - 1).max() > 1e-5):
        raise InvalidParameterError(
            name,
            must=f"lie on the simplex (nonnegative entries with sum 1), got the smallest entry "
            f"{masses.min():.3g} and sums from {sums.min():.6g} to {sums.max():.6g}",
        )
    return masses


def _warn_capped(capped: int, n: int) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"{capped} of {n} quadratic programs reached max_iter; "
        "their solutions are feasible but may not be optimal",
        ConvergenceWarning,
        stacklevel=3,
    )
