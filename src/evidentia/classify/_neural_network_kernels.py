"""Compiled loops of the evidential neural network: masses of objects, loss and gradient.

Notation of Denoeux (2000): r prototypes p_i with scales gamma_i, reliabilities alpha_i and memberships u_ik to the M
classes. Prototype i lends s_i = alpha_i exp(-gamma_i^2 |x - p_i|^2 / 2), of which s_i u_ik to {k}, and leaves 1 - s_i
to the frame. Dempster's rule gives, with A_k = prod_i (1 - s_i + s_i u_ik) and B = prod_i (1 - s_i),

    m({k}) = (A_k - B) / Z,    m(frame) = B / Z,    Z = sum_k A_k - (M - 1) B.

Only ratios matter, so products that become small are scaled up together.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["write_masses", "loss_and_gradient"]

_SMALL = 1e-100
_NOTHING = 1e-15  # support that changes nothing: 1 - s is 1


@njit(cache=True, nogil=True, error_model="numpy")
def _support(x, prototypes, gamma, alpha, squared, s):
    """Squared distances of one object to the prototypes, and what each of them lends."""
    for i in range(len(gamma)):
        total = 0.0
        for d in range(len(x)):
            gap = x[d] - prototypes[i, d]
            total += gap * gap
        squared[i] = total
        s[i] = alpha[i] * np.exp(-0.5 * gamma[i] * gamma[i] * total)


@njit(cache=True, nogil=True, error_model="numpy")
def _products(s, u, A):
    """A_k into ``A``; returns B and Z. All are multiplied by the same number when they become small."""
    n_classes = len(A)
    A[:] = 1.0
    B = 1.0
    for i in range(len(s)):
        if s[i] < _NOTHING:
            continue
        largest = 0.0
        for k in range(n_classes):
            A[k] *= 1.0 - s[i] * (1.0 - u[i, k])
            largest = max(largest, A[k])
        B *= 1.0 - s[i]
        if largest < _SMALL:
            for k in range(n_classes):
                A[k] /= largest
            B /= largest
    Z = -(n_classes - 1) * B
    for k in range(n_classes):
        Z += A[k]
    return B, Z


@njit(cache=True, nogil=True, error_model="numpy")
def write_masses(X, start, stop, prototypes, gamma, alpha, u, out):
    """Masses of objects start..stop: the classes, then the frame."""
    n_classes = u.shape[1]
    squared, s, A = np.empty(len(gamma)), np.empty(len(gamma)), np.empty(n_classes)
    for n in range(start, stop):
        _support(X[n], prototypes, gamma, alpha, squared, s)
        B, Z = _products(s, u, A)
        for k in range(n_classes):
            out[n, k] = max(A[k] - B, 0.0) / Z
        out[n, n_classes] = B / Z


@njit(cache=True, nogil=True, error_model="numpy")
def loss_and_gradient(X, lower, upper, start, stop, prototypes, gamma, alpha, u, mixing):
    """Half the sum of squares over objects start..stop of the outputs' excess over their bounds, and its derivatives.

    The outputs are o_k = m({k}) + mixing m(frame); the bounds are equal where the class is known. Returns the loss and
    the derivatives by prototypes, gamma, alpha and u.
    """
    r, n_classes = u.shape
    n_features = X.shape[1]
    squared, s = np.empty(r), np.empty(r)
    A, by_A = np.empty(n_classes), np.empty(n_classes)
    d_prototypes, d_gamma = np.zeros((r, n_features)), np.zeros(r)
    d_alpha, d_u = np.zeros(r), np.zeros((r, n_classes))
    loss = 0.0
    for n in range(start, stop):
        _support(X[n], prototypes, gamma, alpha, squared, s)
        B, Z = _products(s, u, A)
        total, weighted = 0.0, 0.0
        for k in range(n_classes):
            output = (A[k] - B + mixing * B) / Z
            gap = output - min(max(output, lower[n, k]), upper[n, k])
            loss += 0.5 * gap * gap
            total += gap
            weighted += gap * output
            by_A[k] = gap
        for k in range(n_classes):
            by_A[k] = (by_A[k] - weighted) * (A[k] / Z)  # derivative by the logarithm of A_k
        by_B = ((mixing - 1.0) * total + (n_classes - 1) * weighted) * (B / Z)
        for i in range(r):
            if s[i] < _NOTHING:
                continue
            by_s = -by_B / (1.0 - s[i])
            for k in range(n_classes):
                by_factor = by_A[k] / (1.0 - s[i] * (1.0 - u[i, k]))
                d_u[i, k] += by_factor * s[i]
                by_s += by_factor * (u[i, k] - 1.0)
            d_alpha[i] += by_s * s[i] / alpha[i]
            d_gamma[i] -= by_s * s[i] * gamma[i] * squared[i]
            scale = by_s * s[i] * gamma[i] * gamma[i]
            for d in range(n_features):
                d_prototypes[i, d] += scale * (X[n, d] - prototypes[i, d])
    return loss, d_prototypes, d_gamma, d_alpha, d_u
