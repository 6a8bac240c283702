"""Agglomeration by a Gaussian classification likelihood: the kernel.

A cluster of size n_k and scatter matrix W_k (d, d) costs (Banfield and Raftery, 1993; Fraley, 1998)

    EII:  tr W_k
    VII:  n_k log(tr W_k / n_k + a)
    VVV:  n_k log(|W_k / n_k| + tr W_k / n_k + a)

where a is the mean variance of a column of the data; it and the trace keep the cost defined for small clusters, whose
scatter matrix is singular. At every step the two clusters are merged whose union raises the total cost least.
"""

from __future__ import annotations

import numpy as np
from numba import njit

EII, VII, VVV = 0, 1, 2


@njit(cache=True, nogil=True, error_model="numpy")
def log_determinant(matrix, factor):
    """log |matrix| of a symmetric matrix (lower triangle read), -inf if it is not positive definite."""
    d = matrix.shape[0]
    total = 0.0
    for j in range(d):
        pivot = matrix[j, j]
        for s in range(j):
            pivot -= factor[j, s] * factor[j, s]
        if not pivot > 0.0:
            return -np.inf
        total += np.log(pivot)
        pivot = np.sqrt(pivot)
        factor[j, j] = pivot
        for i in range(j + 1, d):
            value = matrix[i, j]
            for s in range(j):
                value -= factor[i, s] * factor[j, s]
            factor[i, j] = value / pivot
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _cost(model, size, trace, log_det, alpha, d):
    if model == EII:
        return trace
    spherical = (trace + alpha) / size
    if model == VII or log_det == -np.inf:
        return size * np.log(spherical)
    log_det -= d * np.log(size)
    if log_det > 0.0:  # no overflow
        return size * (log_det + np.log1p(np.exp(-log_det) * spherical))
    return size * np.log(np.exp(log_det) + spherical)


@njit(cache=True, nogil=True, error_model="numpy")
def _cost_of_union(model, i, j, means, sizes, traces, scatter, alpha, matrix, factor):
    """Cost of clusters i and j together. W of the union = W_i + W_j + n_i n_j / (n_i + n_j) (m_i - m_j)(m_i - m_j)'."""
    d = means.shape[1]
    size = sizes[i] + sizes[j]
    share = sizes[i] * sizes[j] / size
    gap = 0.0
    for a in range(d):
        gap += (means[i, a] - means[j, a]) ** 2
    trace = traces[i] + traces[j] + share * gap
    if model != VVV or size <= d:
        return _cost(model, size, trace, -np.inf, alpha, d)
    for a in range(d):
        for b in range(a + 1):
            product = (means[i, a] - means[j, a]) * (means[i, b] - means[j, b])
            matrix[a, b] = scatter[i, a, b] + scatter[j, a, b] + share * product
    return _cost(model, size, trace, log_determinant(matrix, factor), alpha, d)


@njit(cache=True, nogil=True, error_model="numpy")
def _unite(i, j, means, sizes, traces, scatter):
    """Cluster i becomes the union of i and j."""
    d = means.shape[1]
    size = sizes[i] + sizes[j]
    share = sizes[i] * sizes[j] / size
    traces[i] += traces[j]
    for a in range(d):
        for b in range(a + 1):
            product = share * (means[i, a] - means[j, a]) * (means[i, b] - means[j, b])
            if scatter.shape[0] > 0:
                scatter[i, a, b] += scatter[j, a, b] + product
            if a == b:
                traces[i] += product
    for a in range(d):
        means[i, a] += sizes[j] / size * (means[j, a] - means[i, a])
    sizes[i] = size


@njit(cache=True, nogil=True, error_model="numpy")
def _scan(row, active, rises, best, nearest):
    """The cheapest partner of a cluster among those after it; the first on ties."""
    best[row] = np.inf
    nearest[row] = -1
    for s in range(row + 1, active.shape[0]):
        if active[s] and rises[row, s] < best[row]:
            best[row] = rises[row, s]
            nearest[row] = s


@njit(cache=True, nogil=True, error_model="numpy")
def agglomerate(points, sizes, model, alpha):
    """(m - 1, 2) merges, in order, of m points of given sizes; of two clusters the lower number lives on."""
    m, d = points.shape
    means = points.copy()
    sizes = sizes.copy()
    traces = np.zeros(m)
    scatter = np.zeros((m if model == VVV else 0, d, d))
    matrix, factor = np.empty((d, d)), np.empty((d, d))
    active = np.ones(m, np.bool_)
    costs = np.empty(m)
    rises = np.empty((m, m))
    best, nearest = np.empty(m), np.empty(m, np.int64)
    for i in range(m):
        costs[i] = _cost(model, sizes[i], 0.0, -np.inf, alpha, d)
    for i in range(m):
        for j in range(i + 1, m):
            union = _cost_of_union(model, i, j, means, sizes, traces, scatter, alpha, matrix, factor)
            rises[i, j] = union - costs[i] - costs[j]
        _scan(i, active, rises, best, nearest)
    merges = np.empty((m - 1, 2), np.int64)
    for step in range(m - 1):
        i = -1
        for r in range(m):
            if active[r] and nearest[r] >= 0 and (i < 0 or best[r] < best[i]):
                i = r
        j = nearest[i]
        merges[step, 0], merges[step, 1] = i, j
        costs[i] += costs[j] + rises[i, j]
        _unite(i, j, means, sizes, traces, scatter)
        active[j] = False
        for r in range(m):
            if not active[r] or r == i:
                continue
            union = _cost_of_union(model, i, r, means, sizes, traces, scatter, alpha, matrix, factor)
            low, high = min(i, r), max(i, r)
            rises[low, high] = union - costs[i] - costs[r]
            if r < i and rises[r, i] < best[r]:
                best[r], nearest[r] = rises[r, i], i
            elif r < j and (nearest[r] == j or nearest[r] == i):
                _scan(r, active, rises, best, nearest)
        _scan(i, active, rises, best, nearest)
    return merges


@njit(cache=True, nogil=True)
def cut(merges, n_points, n_clusters):
    """Labels of the points after all merges but the last n_clusters - 1, numbered by first appearance."""
    parent = np.arange(n_points)
    for step in range(n_points - n_clusters):
        parent[merges[step, 1]] = merges[step, 0]
    labels = np.empty(n_points, np.int64)
    count = 0
    for i in range(n_points):  # a cluster lives on under its lowest number, so parents come before their children
        if parent[i] == i:
            labels[i] = count
            count += 1
        else:
            labels[i] = labels[parent[i]]
    return labels
