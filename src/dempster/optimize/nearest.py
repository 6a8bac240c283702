"""Nearest of many centers, and sums over the objects that are nearest to each center."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from dempster._blas import one_blas_thread
from dempster._native import kernel
from dempster.optimize.blocks import row_blocks

N_NEAREST = 5  # number of clusters on which an object of compressed rows has mass
# number of centers up to which all distances are computed faster without a product of matrices
_FEW_CENTERS = 64
NEAREST_ROWS = 1024  # number of rows that are compared with all clusters at once

# Write the columns of the k smallest costs of each row, in increasing order of the costs.
smallest_costs = kernel("smallest_costs(costs: real[n, c], columns: int64[n, k] out)")

_nearest_center = kernel("""nearest_center(
    X: real[n, p], centers: real[p, k], labels: int64[n] out, squares: real[n] out)""")


def find_smallest(costs: np.ndarray, k: int = N_NEAREST) -> np.ndarray:
    """Return the columns of the k smallest costs of each row in increasing order, shape (n, k)."""
    near = np.empty((len(costs), k), np.int64)
    smallest_costs(costs, near)
    return near


def sum_nearest(
    near: np.ndarray, values: np.ndarray, X: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of v, shape (c,), and of v x, shape (c, p), for values v of rows x.

    ``near`` contains the clusters of the values, shape (n, k).
    """
    n, k = near.shape
    clusters = near.ravel()
    entries = values.ravel()
    cells = entries, clusters, np.arange(0, n * k + 1, k)
    sums = sparse.csc_array(cells, (n_clusters, n)) @ X
    totals = np.bincount(clusters, entries, n_clusters)
    return totals, sums


def nearest_clusters(
    X: np.ndarray, centers: np.ndarray, k: int = N_NEAREST
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest k of c centers, shape (n, k), and the squared distances to them.

    They are selected by a matrix product, in coordinates in which it is accurate.
    """
    centers = centers.astype(X.dtype)
    origin = centers.mean(axis=0)
    places = centers - origin
    lifted = np.column_stack([-2 * places, np.square(places).sum(axis=1)])
    costs = np.column_stack([X - origin, np.ones(len(X), X.dtype)]) @ lifted.T
    near = find_smallest(costs, k)
    gaps = X[:, None] - centers[near]
    return near, np.einsum("ikd,ikd->ik", gaps, gaps).astype(float)


def find_nearest_clusters(
    X: np.ndarray, centers: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the arrays of `nearest_clusters` for many rows and up to k centers, in blocks."""
    k = min(k, len(centers))
    near = np.empty((len(X), k), np.int64)
    if k == 1 and len(centers) <= _FEW_CENTERS:
        nearest = np.empty((len(X), 1), X.dtype)
        columns = np.ascontiguousarray(centers.T, X.dtype)
        _nearest_center(np.ascontiguousarray(X), columns, near[:, 0], nearest[:, 0])
        return near, nearest.astype(float)
    squares = np.empty((len(X), k))
    # On busy cores, several threads take much longer for small products.
    with one_blas_thread():
        for a, b in row_blocks(len(X), NEAREST_ROWS, None):
            near[a:b], squares[a:b] = nearest_clusters(X[a:b], centers, k)
    return near, squares
