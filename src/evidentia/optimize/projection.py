"""Masses of any number of objects from their conflicts with a few remembered ones.

For an object with dissimilarities delta to p references of masses M (p, f), minimise sum_l w_l (m' C m_l - delta_l)^2
over the simplex. The Hessian 2 C M'WM C is the same for all objects, so a block of them is one matrix product and as
many tiny quadratic programs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit

from evidentia.optimize.blocks import row_blocks
from evidentia.optimize.simplex_qp import simplex_qp, simplex_qp_batch, simplex_qp_workspace

__all__ = ["project", "projection_hessian", "linear_image", "settle_links"]

_VALUES_AT_ONCE = 1 << 21  # conflicts held at once by a thread


def projection_hessian(masses: np.ndarray, conflict: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """2 C M'WM C in double precision."""
    image = masses.astype(float) @ conflict
    if weights is not None:
        image *= np.sqrt(weights)[:, None]
    return 2 * (image.T @ image)


def linear_image(masses: np.ndarray, conflict: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """-2 W M C in double precision: its product with the conflicts wanted is the linear term."""
    image = masses.astype(float) @ conflict * -2
    return image if weights is None else weights[:, None] * image


def project(
    conflicts: Callable[[int, int], tuple[np.ndarray, np.ndarray]],
    n: int,
    masses: np.ndarray,
    conflict: np.ndarray,
    dtype: np.dtype,
    apply: Callable,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """(n, f) masses of n objects, block by block.

    Parameters
    ----------
    conflicts : function of (start, stop)
        Gives delta (b, p) of a block of objects to the references, and for each object the number of the reference
        it coincides with, or -1: such an object gets the masses of that reference.
    n : int
    masses : (p, f) masses of the references
    conflict : (f, f)
    dtype : of the result
    apply : function that maps a kernel over blocks (`evidentia.optimize.blocks.block_map`)
    weights : (p,) weights of the references, all alike if None
    """
    out = np.zeros((n, masses.shape[1]), dtype=dtype)
    H = projection_hessian(masses, conflict, weights)
    image = np.ascontiguousarray(linear_image(masses, conflict, weights)).astype(dtype)

    def work(start: int, stop: int) -> None:
        delta, same = conflicts(start, stop)
        linear = delta @ image
        block = out[start:stop]
        simplex_qp_batch(H, linear, block, 0, stop - start)
        known = np.flatnonzero(same >= 0)
        block[known] = masses[same[known]]

    rows = max(64, min(4096, _VALUES_AT_ONCE // max(len(masses), 1)))
    apply(work, row_blocks(n, rows, most=None))
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def settle_links(H, linear, rows, M, indptr, indices, coefficients, form, max_iter, tol):
    """Objects that are projected but also linked to each other: minimise over each of them in turn, in place.

    Parameters
    ----------
    H : (f, f) Hessian shared by all
    linear : (k, f) linear terms of the objects without their links
    rows : (k,) positions of the objects in M
    M : (n, f) masses of all objects
    indptr, indices, coefficients, form : links, as in `evidentia.optimize.row_fit.sweep_rows`
    max_iter, tol : sweeps, and largest change of a mass that ends them
    """
    f = M.shape[1]
    work, index = simplex_qp_workspace(f)
    g, x, linked = np.empty(f), np.empty(f), np.empty(f)
    for _ in range(max_iter):
        largest = 0.0
        for k in range(rows.shape[0]):
            i = rows[k]
            linked[:] = 0
            for e in range(indptr[i], indptr[i + 1]):
                for a in range(f):
                    linked[a] += coefficients[e] * M[indices[e], a]
            for a in range(f):
                g[a] = linear[k, a]
                x[a] = M[i, a]
                for b in range(f):
                    g[a] += form[a, b] * linked[b]
            simplex_qp(H, g, x, 10 * f + 10, work, index)
            for a in range(f):
                largest = max(largest, abs(x[a] - M[i, a]))
                M[i, a] = x[a]
        if largest < tol:
            break
