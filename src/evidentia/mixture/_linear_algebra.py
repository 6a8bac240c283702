"""Cholesky factors and eigenvectors of small symmetric matrices, without a call into LAPACK for each."""

from __future__ import annotations

import numpy as np
from numba import njit

_EPSILON2 = 2.220446049250313e-16**2
_SWEEPS = 60


@njit(cache=True, nogil=True, error_model="numpy")
def inverse_factor(matrix, least, inverse):
    """Write the inverse of the lower Cholesky factor; return the log-determinant, or NaN for a singular matrix.

    The square of a diagonal element of the factor is the variance of an attribute given those before it: one that is
    not above ``least`` makes the matrix singular.
    """
    d = matrix.shape[0]
    log_det = 0.0
    for j in range(d):
        pivot = matrix[j, j]
        for s in range(j):
            pivot -= inverse[j, s] * inverse[j, s]
        if not pivot > least[j]:
            return np.nan
        log_det += np.log(pivot)
        pivot = np.sqrt(pivot)
        inverse[j, j] = pivot
        for i in range(j + 1, d):
            value = matrix[i, j]
            for s in range(j):
                value -= inverse[i, s] * inverse[j, s]
            inverse[i, j] = value / pivot
    for j in range(d):  # the factor is overwritten by its inverse, column by column
        inverse[j, j] = 1.0 / inverse[j, j]
        for i in range(j + 1, d):
            value = 0.0
            for s in range(j, i):
                value -= inverse[i, s] * inverse[s, j]
            inverse[i, j] = value / inverse[i, i]
    return log_det


@njit(cache=True, nogil=True, error_model="numpy")
def eigenvectors(matrix, values, vectors):
    """Eigenvalues, largest first, and eigenvectors (rows) of a symmetric matrix, which is destroyed.

    Cyclic Jacobi rotations: every eigenvalue of a positive definite matrix comes out with a small relative error.
    """
    d = matrix.shape[0]
    vectors[:] = 0.0
    for j in range(d):
        vectors[j, j] = 1.0
    for _ in range(_SWEEPS):
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                off = matrix[p, q]
                if off * off <= _EPSILON2 * abs(matrix[p, p] * matrix[q, q]):
                    continue
                rotated = True
                half = (matrix[q, q] - matrix[p, p]) / (2.0 * off)
                t = 1.0 / (half + np.sqrt(1.0 + half * half)) if half > 0 else 1.0 / (half - np.sqrt(1.0 + half * half))
                c = 1.0 / np.sqrt(1.0 + t * t)
                rotate(matrix, vectors, p, q, c, -t * c)
        if not rotated:
            break
    for j in range(d):
        values[j] = matrix[j, j]
    for j in range(d - 1):  # selection sort: d is small
        largest = j
        for i in range(j + 1, d):
            if values[i] > values[largest]:
                largest = i
        if largest != j:
            values[j], values[largest] = values[largest], values[j]
            for i in range(d):
                vectors[j, i], vectors[largest, i] = vectors[largest, i], vectors[j, i]


@njit(cache=True, nogil=True, error_model="numpy")
def rotate_matrix(matrix, p, q, c, s):
    """Axes p and q of a symmetric matrix become c p + s q and c q - s p."""
    for i in range(matrix.shape[0]):
        x, y = matrix[i, p], matrix[i, q]
        matrix[i, p], matrix[i, q] = c * x + s * y, c * y - s * x
    rotate_rows(matrix, p, q, c, s)


@njit(cache=True, nogil=True, error_model="numpy")
def rotate_rows(vectors, p, q, c, s):
    for i in range(vectors.shape[1]):
        x, y = vectors[p, i], vectors[q, i]
        vectors[p, i], vectors[q, i] = c * x + s * y, c * y - s * x


@njit(cache=True, nogil=True, error_model="numpy")
def rotate(matrix, vectors, p, q, c, s):
    rotate_matrix(matrix, p, q, c, s)
    rotate_rows(vectors, p, q, c, s)


@njit(cache=True, nogil=True, error_model="numpy")
def in_axes(matrix, vectors, product, rotated):
    """Write vectors matrix vectors': a symmetric matrix in the axes that are the rows of ``vectors``."""
    d = matrix.shape[0]
    for i in range(d):
        for j in range(d):
            value = 0.0
            for s in range(d):
                value += vectors[i, s] * matrix[s, j]
            product[i, j] = value
    for i in range(d):
        for j in range(d):
            value = 0.0
            for s in range(d):
                value += product[i, s] * vectors[j, s]
            rotated[i, j] = value


@njit(cache=True, nogil=True, error_model="numpy")
def from_axes(values, vectors, matrix):
    """Write the symmetric matrix with these eigenvalues and eigenvectors (rows)."""
    d = values.shape[0]
    for i in range(d):
        for j in range(i + 1):
            value = 0.0
            for s in range(d):
                value += values[s] * vectors[s, i] * vectors[s, j]
            matrix[i, j] = value
            matrix[j, i] = value
