"""Expectation-maximisation on plain arrays: objects are columns, so that inner loops run along memory.

The objects are taken in blocks that stay in the cache. A pass over them gives the responsibilities under the present
parameters, the log-likelihood, and the weighted sums from which the next parameters follow; the sums are taken around
the present means, which costs no digits.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.mixture._covariances import VVI, first_state, update_covariances
from evidentia.mixture._linear_algebra import inverse_factor

_BLOCK = 256
_NEGLIGIBLE = -700.0  # exp of less is zero for all purposes, and denormal numbers are slow
_LEAST_SHARE = 1e-10  # a component with less of the total weight has lost its objects

FINE, LOST, SINGULAR = 0, 1, 2


@njit(cache=True, nogil=True, error_model="numpy")
def _log_joint(X, start, stop, mean, inverse, constant, diagonal, gaps, line, out):
    """Logarithm of proportion times density of one component for objects start..stop, into ``out``."""
    d = X.shape[0]
    b = stop - start
    for i in range(b):
        out[i] = 0.0
    for j in range(d):
        row, gap, centre = X[j], gaps[j], mean[j]
        for i in range(b):
            gap[i] = row[start + i] - centre
        scale = inverse[j, j]
        for i in range(b):
            line[i] = scale * gap[i]
        if not diagonal:
            for s in range(j):
                factor, other = inverse[j, s], gaps[s]
                for i in range(b):
                    line[i] += factor * other[i]
        for i in range(b):
            out[i] += line[i] * line[i]
    for i in range(b):
        out[i] = constant - 0.5 * out[i]


@njit(cache=True, nogil=True, error_model="numpy")
def _normalise(Z, start, stop, weights, top, total):
    """Turn logarithms into responsibilities; return the weighted log-likelihood of objects start..stop."""
    g = Z.shape[0]
    b = stop - start
    row = Z[0]
    for i in range(b):
        top[i] = row[start + i]
        total[i] = 0.0
    for k in range(1, g):
        row = Z[k]
        for i in range(b):
            top[i] = max(top[i], row[start + i])
    for k in range(g):
        row = Z[k]
        for i in range(b):
            value = row[start + i] - top[i]
            value = np.exp(value) if value > _NEGLIGIBLE else 0.0
            row[start + i] = value
            total[i] += value
    likelihood = 0.0
    for i in range(b):
        likelihood += weights[start + i] * (top[i] + np.log(total[i]))
        total[i] = 1.0 / total[i]
    for k in range(g):
        row = Z[k]
        for i in range(b):
            row[start + i] *= total[i]
    return likelihood


@njit(cache=True, nogil=True, error_model="numpy")
def _dot(x, y, n):
    """Sum of products of the first n elements, n a multiple of 8.

    Eight sums are kept apart, which the processor adds at once, in an order that is written here: left to the
    compiler, the order would depend on where the arrays lie in memory, and with it the last digit.
    """
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(0, n, 8):
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
        s4 += x[i + 4] * y[i + 4]
        s5 += x[i + 5] * y[i + 5]
        s6 += x[i + 6] * y[i + 6]
        s7 += x[i + 7] * y[i + 7]
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@njit(cache=True, nogil=True, error_model="numpy")
def _add_sums(X, start, stop, weights, row, centre, diagonal, gaps, part, line, first, second):
    """Add the sums of one component over objects start..stop, around a centre; returns that of the weights."""
    d = X.shape[0]
    b = stop - start
    padded = b + -b % 8
    for i in range(b):
        part[i] = weights[start + i] * row[start + i]
        line[i] = 1.0
    for i in range(b, padded):
        part[i] = 0.0
        line[i] = 0.0
    size = _dot(part, line, padded)
    for j in range(d):
        attribute, gap, middle = X[j], gaps[j], centre[j]
        for i in range(b):
            gap[i] = attribute[start + i] - middle
        for i in range(b, padded):
            gap[i] = 0.0
        for i in range(padded):
            line[i] = part[i] * gap[i]
        first[j] += _dot(part, gap, padded)
        second[j, j] += _dot(line, gap, padded)
        if not diagonal:
            for s in range(j):
                second[j, s] += _dot(line, gaps[s], padded)
    return size


@njit(cache=True, nogil=True, error_model="numpy")
def _clear(sizes, first, second):
    sizes[:] = 0.0
    first[:] = 0.0
    second[:] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def weighted_sums(X, weights, Z, centres, diagonal, sizes, first, second):
    """Sums for given responsibilities."""
    d, n = X.shape
    gaps, part, line = np.empty((d, _BLOCK)), np.empty(_BLOCK), np.empty(_BLOCK)
    _clear(sizes, first, second)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        for k in range(Z.shape[0]):
            sizes[k] += _add_sums(
                X, start, stop, weights, Z[k], centres[k], diagonal, gaps, part, line, first[k], second[k]
            )


@njit(cache=True, nogil=True, error_model="numpy")
def expectation(X, weights, means, inverses, constants, diagonal, Z, sums, sizes, first, second):
    """Write the responsibilities Z (g, n), with ``sums`` the weighted sums too; return the log-likelihood."""
    d, n = X.shape
    gaps, part, line = np.empty((d, _BLOCK)), np.empty(_BLOCK), np.empty(_BLOCK)
    if sums:
        _clear(sizes, first, second)
    likelihood = 0.0
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        for k in range(Z.shape[0]):
            _log_joint(X, start, stop, means[k], inverses[k], constants[k], diagonal, gaps, line, Z[k, start:stop])
        likelihood += _normalise(Z, start, stop, weights, part, line)
        if sums:
            for k in range(Z.shape[0]):
                sizes[k] += _add_sums(
                    X, start, stop, weights, Z[k], means[k], diagonal, gaps, part, line, first[k], second[k]
                )
    return likelihood


@njit(cache=True, nogil=True, error_model="numpy")
def log_joint(X, means, inverses, constants, diagonal, out):
    """Write log(proportion * density) (g, n)."""
    d, n = X.shape
    gaps, line = np.empty((d, _BLOCK)), np.empty(_BLOCK)
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        for k in range(out.shape[0]):
            _log_joint(X, start, stop, means[k], inverses[k], constants[k], diagonal, gaps, line, out[k, start:stop])


@njit(cache=True, nogil=True, error_model="numpy")
def prepare(proportions, covariances, least, inverses, constants):
    """Inverse Cholesky factors and constants of the log-densities; -1, or the first component that is singular."""
    g, d = covariances.shape[:2]
    for k in range(g):
        log_det = inverse_factor(covariances[k], least, inverses[k])
        if not np.isfinite(log_det):
            return k
        constants[k] = np.log(proportions[k]) - 0.5 * (d * np.log(2.0 * np.pi) + log_det)
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _new_moments(regularization, proportions, means, sizes, first, second):
    """Proportions, means and (in ``second``) scatter matrices from sums around the old means."""
    g, d = means.shape
    total = sizes.sum()
    for k in range(g):
        if not sizes[k] > _LEAST_SHARE * total:
            return k
    for k in range(g):
        proportions[k] = sizes[k] / total
        for j in range(d):
            first[k, j] /= sizes[k]
            means[k, j] += first[k, j]
        for j in range(d):
            for s in range(j + 1):
                value = second[k, j, s] - sizes[k] * first[k, j] * first[k, s]
                if j == s:
                    value = max(value, 0.0) + sizes[k] * regularization[j]
                second[k, j, s] = value
                second[k, s, j] = value
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def mean_and_variances(X, weights, mean, variances):
    """Weighted moments of the attributes; the variance of a constant one is exactly zero."""
    d, n = X.shape
    total = weights.sum()
    for j in range(d):
        row = X[j]
        value, low, high = 0.0, row[0], row[0]
        for i in range(n):
            value += weights[i] * (row[i] - row[0])  # from the first object, to lose no digits
            low, high = min(low, row[i]), max(high, row[i])
        mean[j] = row[0] + value / total
        value = 0.0
        if low < high:
            for i in range(n):
                value += weights[i] * (row[i] - mean[j]) ** 2
        variances[j] = value / total


@njit(cache=True, nogil=True, error_model="numpy")
def run_em(
    X, weights, Z, given_parameters, proportions, means, covariances, axes, model, tol, max_iter, reg, share, history
):
    """EM from responsibilities Z (g, n), or from parameters; all are overwritten.

    ``reg`` times the variances of the data is added to those within components; covariances below ``share`` times
    them are singular. Returns the number of iterations, whether it converged, what went wrong (`FINE`, `LOST`,
    `SINGULAR`) and with which component.
    """
    g, d = means.shape
    diagonal = model <= VVI
    sizes, first, second = np.empty(g), np.empty((g, d)), np.empty((g, d, d))
    inverses, constants = np.zeros((g, d, d)), np.empty(g)
    shape, matrix = np.empty(d), np.empty((d, d))
    mean, variances = np.empty(d), np.empty(d)
    mean_and_variances(X, weights, mean, variances)
    least, added = np.empty(d), np.empty(d)
    for j in range(d):
        least[j] = share * variances[j]
        added[j] = reg * (variances[j] if variances[j] > 0.0 else variances.mean())
    if not given_parameters:
        for k in range(g):
            for j in range(d):
                means[k, j] = mean[j]
        weighted_sums(X, weights, Z, means, diagonal, sizes, first, second)
    for iteration in range(max_iter):
        if iteration > 0 or not given_parameters:
            failed = _new_moments(added, proportions, means, sizes, first, second)
            if failed >= 0:
                return iteration, False, LOST, failed
            if iteration == 0 or (iteration == 1 and given_parameters):
                first_state(model, second, given_parameters, shape, axes, matrix)
            failed = update_covariances(model, sizes, second, least, covariances, shape, axes, matrix)
            if failed >= 0:
                return iteration, False, SINGULAR, failed
        failed = prepare(proportions, covariances, least, inverses, constants)
        if failed >= 0:
            return iteration, False, SINGULAR, failed
        likelihood = expectation(X, weights, means, inverses, constants, diagonal, Z, True, sizes, first, second)
        history[iteration] = likelihood
        if iteration > 0 and abs(likelihood - history[iteration - 1]) <= tol * (1.0 + abs(likelihood)):
            return iteration + 1, True, FINE, -1
    return max_iter, False, FINE, -1
