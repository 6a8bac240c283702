"""Compiled loop of BootClus: probabilities of the components under many fits of a mixture at once (``kernels.c``)."""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["posteriors"]

_bootstrap_posteriors = kernel("""bootstrap_posteriors(
    X: float64[n, d], whiteners: float64[g, d, d, fits], means: float64[g, d, fits], constants: float64[g, fits],
    out: float32[n, g, fits] out)""")


def posteriors(
    X: np.ndarray,
    whiteners: np.ndarray,
    means: np.ndarray,
    constants: np.ndarray,
    out: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Posterior probabilities of objects start to stop - 1 under all fits; the fits run in the inner loops."""
    _bootstrap_posteriors(X[start:stop], whiteners, means, constants, out[start:stop])
