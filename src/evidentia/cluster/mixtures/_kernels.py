"""Compiled loop of BootClus: probabilities of the components under many fits of a mixture at once."""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["posteriors"]


@njit(cache=True, nogil=True, error_model="numpy")
def posteriors(X, whiteners, means, constants, out, start, stop):
    """Posterior probabilities of objects start to stop - 1 under all fits; the fits run in the inner loops."""
    g, d, n_fits = means.shape
    logs, part, top = np.empty((g, n_fits)), np.empty(n_fits), np.empty(n_fits)
    for i in range(start, stop):
        top[:] = -np.inf
        for k in range(g):
            for b in range(n_fits):
                logs[k, b] = constants[k, b]
            for r in range(d):
                for b in range(n_fits):
                    part[b] = 0.0
                for s in range(r + 1):
                    x = X[i, s]
                    for b in range(n_fits):
                        part[b] += whiteners[k, r, s, b] * (x - means[k, s, b])
                for b in range(n_fits):
                    logs[k, b] -= 0.5 * part[b] * part[b]
            for b in range(n_fits):
                top[b] = max(top[b], logs[k, b])
        for b in range(n_fits):
            part[b] = 0.0
        for k in range(g):
            for b in range(n_fits):
                logs[k, b] = np.exp(logs[k, b] - top[b])
                part[b] += logs[k, b]
        for k in range(g):
            for b in range(n_fits):
                out[i, k, b] = logs[k, b] / part[b]
