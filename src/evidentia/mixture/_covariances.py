"""The maximisation step of the 14 covariance models (Celeux and Govaert, 1995; the names are those of mclust).

Given the sizes n_k and scatter matrices W_k of the components, each function writes the covariances that maximise

    -1/2 sum_k  n_k log |S_k| + tr(W_k S_k^-1),      S_k = volume_k * D_k diag(shape_k) D_k'   with |diag(shape_k)| = 1,

within its model. All return -1, or the number of a component whose scatter matrix leaves no maximum. Matrices are full
and symmetric; ``least`` holds the smallest variance that an attribute may have.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from evidentia.mixture._linear_algebra import (
    eigenvectors,
    from_axes,
    in_axes,
    inverse_factor,
    rotate_matrix,
    rotate_rows,
)
from evidentia.mixture.models import MODELS

EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV, VVV = range(len(MODELS))

_INNER_TOLERANCE = 1e-12
_INNER_STEPS = 100


@njit(cache=True, nogil=True, error_model="numpy")
def _geometric_mean(values):
    total = 0.0
    for value in values:
        total += np.log(value)
    return np.exp(total / values.shape[0])


# Loops are written out where NumPy has a word for them: array expressions take the compiler seconds each.


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled(matrix, factor, out):
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[i, j] = factor * matrix[i, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _total(values):
    total = 0.0
    for value in values:
        total += value
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _diagonals(scatter, diagonals):
    for k in range(scatter.shape[0]):
        for j in range(scatter.shape[1]):
            diagonals[k, j] = scatter[k, j, j]


@njit(cache=True, nogil=True, error_model="numpy")
def _pooled(scatter, matrix):
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[0]):
            value = 0.0
            for k in range(scatter.shape[0]):
                value += scatter[k, i, j]
            matrix[i, j] = value


@njit(cache=True, nogil=True, error_model="numpy")
def _write_diagonal(values, matrix):
    for i in range(values.shape[0]):
        for j in range(values.shape[0]):
            matrix[i, j] = values[j] if i == j else 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def volumes_and_common_shape(sizes, spectra, shape, volumes):
    """Volumes (g,) and one shape (d,) for variances ``spectra`` (g, d) times sizes: two conditional maxima by turns.

    The problem is convex in the logarithms, so any first shape leads to the same place; a good one sooner.
    """
    g, d = spectra.shape
    mean = _geometric_mean(shape)
    for j in range(d):
        shape[j] /= mean
    for step in range(_INNER_STEPS):
        change = 0.0
        for k in range(g):
            volume = 0.0
            for j in range(d):
                volume += spectra[k, j] / shape[j]
            volume /= d * sizes[k]
            if not volume > 0.0:
                return k
            if step == 0 or abs(volume - volumes[k]) > change * volume:
                change = 1.0 if step == 0 else abs(volume - volumes[k]) / volume
            volumes[k] = volume
        for j in range(d):
            shape[j] = 0.0
            for k in range(g):
                shape[j] += spectra[k, j] / volumes[k]
            if not shape[j] > 0.0:
                return 0
        mean = _geometric_mean(shape)
        for j in range(d):
            shape[j] /= mean
        if change <= _INNER_TOLERANCE:
            break
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _common_volume(sizes, spectra, floors, out):
    """Variances (g, d) with one volume and a shape for each component."""
    g, d = spectra.shape
    volume = 0.0
    for k in range(g):
        for j in range(d):
            if not spectra[k, j] > floors[j] * sizes[k]:
                return k
        mean = _geometric_mean(spectra[k])
        volume += mean
        for j in range(d):
            out[k, j] = spectra[k, j] / mean
    volume /= _total(sizes)
    for k in range(g):
        for j in range(d):
            out[k, j] *= volume
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _diagonal_models(model, sizes, scatter, least, covariances, shape):
    g, d = scatter.shape[:2]
    n = _total(sizes)
    spectra, variances, volumes = np.empty((g, d)), np.empty((g, d)), np.empty(g)
    _diagonals(scatter, spectra)
    if model in (EII, EEI):
        for j in range(d):
            shape[j] = 0.0
            for k in range(g):
                shape[j] += spectra[k, j] / n
        mean = _total(shape) / d
        for k in range(g):
            for j in range(d):
                variances[k, j] = mean if model == EII else shape[j]
    elif model == VII:
        for k in range(g):
            mean = _total(spectra[k]) / (sizes[k] * d)
            for j in range(d):
                variances[k, j] = mean
    elif model == VEI:
        failed = volumes_and_common_shape(sizes, spectra, shape, volumes)
        if failed >= 0:
            return failed
        for k in range(g):
            for j in range(d):
                variances[k, j] = volumes[k] * shape[j]
    elif model == EVI:
        failed = _common_volume(sizes, spectra, least, variances)
        if failed >= 0:
            return failed
    else:
        for k in range(g):
            for j in range(d):
                variances[k, j] = spectra[k, j] / sizes[k]
    for k in range(g):
        _write_diagonal(variances[k], covariances[k])
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _common_covariance(sizes, scatter, covariances):
    _pooled(scatter, covariances[0])
    _scaled(covariances[0], 1.0 / _total(sizes), covariances[0])
    for k in range(1, sizes.shape[0]):
        _scaled(covariances[0], 1.0, covariances[k])
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _volumes_and_common_matrix(sizes, scatter, covariances, matrix):
    """VEE. ``matrix`` is the common one of the last call: where the turns begin."""
    g, d = scatter.shape[:2]
    volumes = np.empty(g)
    factor, inverse, none = np.zeros((d, d)), np.empty((d, d)), np.zeros(d)
    for step in range(_INNER_STEPS):
        log_det = inverse_factor(matrix, none, factor)
        if np.isnan(log_det):
            return 0
        scale = np.exp(log_det / d)
        for i in range(d):  # inverse of matrix / scale
            for j in range(i + 1):
                value = 0.0
                for s in range(i, d):
                    value += factor[s, i] * factor[s, j]
                inverse[i, j] = value * scale
                inverse[j, i] = value * scale
        change = 0.0
        for k in range(g):
            volume = 0.0
            for i in range(d):
                for j in range(d):
                    volume += scatter[k, i, j] * inverse[i, j]
            volume /= d * sizes[k]
            if not volume > 0.0:
                return k
            change = 1.0 if step == 0 else max(change, abs(volume - volumes[k]) / volume)
            volumes[k] = volume
        if change <= _INNER_TOLERANCE:
            break
        for i in range(d):
            for j in range(d):
                value = 0.0
                for k in range(g):
                    value += scatter[k, i, j] / volumes[k]
                matrix[i, j] = value
    log_det = inverse_factor(matrix, none, factor)
    if np.isnan(log_det):
        return 0
    for k in range(g):
        _scaled(matrix, volumes[k] / np.exp(log_det / d), covariances[k])
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def turn_common_axes(sizes, turned, axes, variances):
    """One sweep over all planes; each turns two axes to the exact minimum of sum_k tr(W_k D V_k^-1 D').

    ``turned`` (g, d, d) are the scatter matrices in the axes (rows of ``axes``), ``variances`` (g, d) those along them.
    In the plane of axes j and i the sum is P cos 2t + Q sin 2t plus a constant, t being the angle. Returns the largest
    turn (its sine).
    """
    g, d = variances.shape
    largest = 0.0
    for j in range(d - 1):
        for i in range(j + 1, d):
            even, odd = 0.0, 0.0
            for k in range(g):
                gap = 1.0 / variances[k, j] - 1.0 / variances[k, i]
                even += 0.5 * (turned[k, j, j] - turned[k, i, i]) * gap
                odd += turned[k, j, i] * gap
            if even == 0.0 and odd == 0.0:
                continue
            angle = 0.5 * np.arctan2(-odd, -even)
            c, s = np.cos(angle), np.sin(angle)
            largest = max(largest, abs(s))
            if s != 0.0:
                for k in range(g):
                    rotate_matrix(turned[k], j, i, c, s)
                rotate_rows(axes, j, i, c, s)
    return largest


@njit(cache=True, nogil=True, error_model="numpy")
def _common_axes(model, sizes, scatter, least, covariances, axes):
    """EVE and VVE: the axes for given variances and the variances for given axes, by turns."""
    g, d = scatter.shape[:2]
    turned, product = np.empty((g, d, d)), np.empty((d, d))
    spectra, variances, floors = np.empty((g, d)), np.empty((g, d)), np.empty(d)
    for k in range(g):
        in_axes(scatter[k], axes, product, turned[k])
    for step in range(_INNER_STEPS):
        _diagonals(turned, spectra)
        for j in range(d):
            floors[j] = 0.0
            for i in range(d):
                floors[j] += axes[j, i] ** 2 * least[i]
        failed = _common_volume(sizes, spectra, floors, variances)
        if failed >= 0:
            return failed
        if model == VVE:
            for k in range(g):
                for j in range(d):
                    variances[k, j] = spectra[k, j] / sizes[k]
        if step == _INNER_STEPS - 1 or turn_common_axes(sizes, turned, axes, variances) < 1e-9:
            break
    for k in range(g):
        from_axes(variances[k], axes, covariances[k])
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _own_axes(model, sizes, scatter, covariances, shape):
    """EEV and VEV: each component has its own axes, all have the shape (largest variance first) in common."""
    g, d = scatter.shape[:2]
    spectra, axes, volumes = np.empty((g, d)), np.empty((g, d, d)), np.empty(g)
    matrix = np.empty((d, d))
    for k in range(g):
        _scaled(scatter[k], 1.0, matrix)
        eigenvectors(matrix, spectra[k], axes[k])
    if model == EEV:
        for j in range(d):
            shape[j] = 0.0
            for k in range(g):
                volumes[k] = 1.0
                shape[j] += spectra[k, j] / _total(sizes)
    else:
        failed = volumes_and_common_shape(sizes, spectra, shape, volumes)
        if failed >= 0:
            return failed
    for k in range(g):
        for j in range(d):
            spectra[k, j] = volumes[k] * shape[j]
        from_axes(spectra[k], axes[k], covariances[k])
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def _common_volume_own_matrix(sizes, scatter, least, covariances):
    """EVV."""
    g, d = scatter.shape[:2]
    factor, floors = np.zeros((d, d)), np.empty(d)
    volume = 0.0
    for k in range(g):
        for j in range(d):
            floors[j] = least[j] * sizes[k]
        log_det = inverse_factor(scatter[k], floors, factor)
        if np.isnan(log_det):
            return k
        mean = np.exp(log_det / d)
        volume += mean
        _scaled(scatter[k], 1.0 / mean, covariances[k])
    for k in range(g):
        _scaled(covariances[k], volume / _total(sizes), covariances[k])
    return -1


@njit(cache=True, nogil=True, error_model="numpy")
def first_state(model, scatter, axes_known, shape, axes, matrix):
    """Where inner loops begin when nothing is known: the pooled scatter matrix, its shape and its axes."""
    _pooled(scatter, matrix)
    if model == VEV or (model in (EVE, VVE) and not axes_known):
        eigenvectors(matrix.copy(), shape, axes)
    else:
        for j in range(shape.shape[0]):
            shape[j] = matrix[j, j]
    for j in range(shape.shape[0]):
        if not shape[j] > 0.0:
            shape[j] = 1.0  # the inner loop will say what is wrong


@njit(cache=True, nogil=True, error_model="numpy")
def update_covariances(model, sizes, scatter, least, covariances, shape, axes, matrix):
    """Dispatch. ``shape`` (d,), ``axes`` (d, d) and ``matrix`` (d, d) carry the inner loops from call to call."""
    if model <= VVI:
        return _diagonal_models(model, sizes, scatter, least, covariances, shape)
    if model == EEE:
        return _common_covariance(sizes, scatter, covariances)
    if model == VEE:
        return _volumes_and_common_matrix(sizes, scatter, covariances, matrix)
    if model in (EVE, VVE):
        return _common_axes(model, sizes, scatter, least, covariances, axes)
    if model in (EEV, VEV):
        return _own_axes(model, sizes, scatter, covariances, shape)
    if model == EVV:
        return _common_volume_own_matrix(sizes, scatter, least, covariances)
    for k in range(sizes.shape[0]):
        _scaled(scatter[k], 1.0 / sizes[k], covariances[k])
    return -1
