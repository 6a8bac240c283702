"""Computation of the masses of many objects from their conflicts with a few reference objects.

Let m_l be the masses of the p reference objects, the rows of M (p, f), w_l their weights, C the
conflict matrix, and delta_l the target conflicts of an object. Its masses m minimize sum_l w_l (m'
C m_l - delta_l)^2 over the simplex. The Hessian 2 C M'WM C is the same for all objects, so that a
block of objects requires one matrix product, and a small quadratic program for each object.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from dempster._arrays import Array, scale_rows
from dempster._native import kernel
from dempster.optimize.blocks import row_blocks
from dempster.optimize.simplex_qp import simplex_qp_batch

Terms = Callable[[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]]
"""Function of the start and the end of a block of b objects.

It returns the linear terms of their quadratic programs, shape (b, f), and for each object the index
of the nearest reference object and the dissimilarity to it.
"""

_euclidean_terms = kernel("""euclidean_terms(
    rows: real[n, d], references: real[p, d], image: real[p, f], gamma: float,
    linear: float64[n, f] out, nearest: int64[n] out, distance: real[n] out)""")

# Compute the masses of k objects with constraints between them, in place, by sweeps that minimize
# over one object after the other. H is the common Hessian of the objects, `linear` contains their
# linear terms without the constraints, and `rows` their rows in M. indptr, indices, coefficients
# and form have the format of `dempster.optimize.row_fit`. The sweeps end when no mass changes by
# more than tol, or after max_iter sweeps.
settle_links = kernel("""settle_links(
    H: float64[f, f], linear: float64[k, f], rows: int64[k] below n, M: float64[n, f] out,
    indptr: int64[n + 1] offsets in e, indices: int32[e] below n, coefficients: float64[e],
    form: float64[f, f], max_iter: int, tol: float)""")

_MAX_BLOCK_VALUES = 1 << 21  # Maximum number of conflicts that a thread stores.
# The distance from an object to itself may be a rounding error.
SHARE_TOLERANCE = 1e-6


def projection_hessian(
    masses: np.ndarray, conflict: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the Hessian 2 C M'WM C of the quadratic programs in double precision."""
    image = masses.astype(float) @ conflict
    if weights is not None:
        image *= np.sqrt(weights)[:, None]
    return 2 * (image.T @ image)


def linear_image(
    masses: np.ndarray, conflict: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return -2 W M C in double precision.

    The target conflicts times this matrix are the linear terms.
    """
    image = masses.astype(float) @ conflict * -2
    if weights is None:
        return image
    return weights[:, None] * image


def terms_of_conflicts(conflicts: Terms, image: np.ndarray) -> Terms:
    """Return a function that computes the linear terms for a block of objects."""

    def terms(start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        delta, nearest, distance = conflicts(start, stop)
        linear = np.ascontiguousarray(delta @ image.astype(delta.dtype))
        return linear, nearest, distance

    return terms


def euclidean_terms(
    rows: np.ndarray, references: np.ndarray, gamma: float, image: np.ndarray
) -> Terms:
    """Return a function that computes the linear terms for target conflicts 1 - exp(-gamma d^2).

    d is the Euclidean distance between an object, a row of ``rows``, and a reference object.
    ``rows`` must be C-contiguous and of the same type as ``references``. ``image`` is the result of
    `linear_image`.
    """
    references = np.ascontiguousarray(references)
    image = np.ascontiguousarray(image, rows.dtype)

    def terms(start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        linear = np.empty((stop - start, image.shape[1]))
        nearest = np.empty(stop - start, np.int64)
        distance = np.empty(stop - start, rows.dtype)
        block = rows[start:stop]
        _euclidean_terms(block, references, image, gamma, linear, nearest, distance)
        return linear, nearest, distance

    return terms


def project(
    terms: Terms,
    n: int,
    masses: np.ndarray,
    conflict: np.ndarray,
    dtype: np.dtype,
    apply: Callable,
    weights: np.ndarray | None = None,
    radii: np.ndarray | None = None,
) -> np.ndarray:
    """Return the masses of n objects, shape (n, f), in blocks.

    If ``radii`` is given, they approach the masses of the references (`approach_known_masses`).
    """
    out = np.zeros((n, masses.shape[1]), dtype)
    H = projection_hessian(masses, conflict, weights)

    def work(start: int, stop: int) -> None:
        linear, nearest, distance = terms(start, stop)
        block = out[start:stop]
        simplex_qp_batch(H, linear, block, 0, stop - start)
        if radii is not None:
            approach_known_masses(block, masses, nearest, distance, radii)

    rows = max(64, min(4096, _MAX_BLOCK_VALUES // max(len(masses), 1)))
    apply(work, row_blocks(n, rows, most=None))
    return out


def approach_radii(separations: np.ndarray) -> np.ndarray:
    """Return the radii of `approach_known_masses`.

    ``separations`` contains the dissimilarity of each reference to the nearest other training
    object. Half of it would keep objects within the radii of two references apart in a metric
    space, and a quarter of it does for squared distances, too. If there is no other object, the
    separation is infinite, and only equal objects get the masses of the reference.
    """
    return np.where(
        np.isfinite(separations), separations / 4, np.finfo(np.float32).tiny
    )


def approach_known_masses(
    masses: np.ndarray,
    known: np.ndarray,
    nearest: np.ndarray,
    distance: np.ndarray,
    radii: np.ndarray,
) -> None:
    """Move masses of objects in place towards the known masses of their nearest references.

    No training object is compared with itself, but a new object is compared with all of them, so
    that the masses of the fit and those computed for a new object with the same values differ. At
    the distance d from reference j, an object gets the share max(0, 1 - d / radii[j]) of the masses
    of j. The masses are then a continuous function of the object, which has the values of the fit
    at the references.
    """
    share = _known_shares(nearest, distance, radii)
    near = np.flatnonzero(share)
    own = share[near, None].astype(masses.dtype)
    masses[near] = (1 - own) * masses[near] + own * known[nearest[near]]


def approach_compressed(
    masses: sparse.csr_array,
    known: Array,
    nearest: np.ndarray,
    distance: np.ndarray,
    radii: np.ndarray,
) -> sparse.csr_array:
    """Return the result of `approach_known_masses` for compressed rows."""
    share = _known_shares(nearest, distance, radii)
    near = np.flatnonzero(share)
    own = sparse.csr_array(scale_rows(known[nearest[near]], share[near]))
    n_before = np.searchsorted(near, np.arange(len(share) + 1))
    own = sparse.csr_array((own.data, own.indices, own.indptr[n_before]), masses.shape)
    return (scale_rows(masses, 1 - share) + own).astype(masses.dtype)


def _known_shares(
    nearest: np.ndarray, distance: np.ndarray, radii: np.ndarray
) -> np.ndarray:
    return np.clip(1 + SHARE_TOLERANCE - distance / radii[nearest], 0, 1)
