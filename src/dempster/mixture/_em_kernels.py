"""Expectation-maximisation on plain arrays, compiled (``em.c``): objects are columns."""

from __future__ import annotations

import numpy as np

from dempster._native import interruptible, kernel

__all__ = ["FINE", "LOST", "SINGULAR", "densities", "run_em"]

FINE, LOST, SINGULAR = 0, 1, 2

_densities = kernel("""mixture_densities(
    X: float64[d, n], proportions: float64[g], means: float64[g, d], covariances: float64[g, d, d],
    diagonal: bool, normalized: bool, out: float64[g, n] out) -> int""")

_run_em = kernel("""run_em(
    X: float64[d, n], weights: float64[n], Z: float64[g, n] out, given_parameters: bool,
    proportions: float64[g] out, means: float64[g, d] out, covariances: float64[g, d, d] out, axes: float64[d, d] out,
    model: int, tol: float, reference: float, max_iter: int, regularization: float, share: float,
    history: float64[max_iter] out, outcome: int64[4] out)""")


def densities(
    X: np.ndarray,
    proportions: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    diagonal: bool,
    normalized: bool,
    out: np.ndarray,
) -> int:
    """Write log(proportion * density) (g, n) of the objects X (d, n) or, if ``normalized``, their responsibilities.

    Returns -1, or the first component whose covariance matrix is not positive definite.
    """
    return _densities(X, proportions, means, covariances, diagonal, normalized, out)


def run_em(
    X: np.ndarray,
    weights: np.ndarray,
    Z: np.ndarray,
    given_parameters: bool,
    proportions: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    axes: np.ndarray,
    model: int,
    tol: float,
    reference: float,
    max_iter: int,
    regularization: float,
    share: float,
    history: np.ndarray,
) -> tuple[int, bool, int, int]:
    """EM from responsibilities Z (g, n), or from parameters; all are overwritten.

    EM ends when the log-likelihood L changes by no more than ``tol * (1 + |L - reference|)``.
    ``regularization`` times the variances of the data is added to those within components; covariances below ``share``
    times them are singular. Returns the number of iterations, whether it converged, what went wrong (`FINE`, `LOST`,
    `SINGULAR`) and with which component.
    """
    outcome = np.empty(4, np.int64)
    interruptible(_run_em,
        X, weights, Z, given_parameters, proportions, means, covariances, axes, model, tol, reference, max_iter,
        regularization, share, history, outcome,
    )  # fmt: skip
    n_iter, converged, flaw, component = outcome.tolist()
    return n_iter, bool(converged), flaw, component
