"""Conformal p-values and e-values: computation, selection and combination.

The p-values of the answers of a question are the contour of a consonant mass function
(`MassFunctions.from_contour`). A contour is *valid* if the plausibility of the true answer is at
most a with a probability of at most a, for every a.
"""

from __future__ import annotations

import numpy as np

import dempster._validation as rule
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike


def conformal_p_values(scores: ArrayLike, calibration_scores: ArrayLike) -> np.ndarray:
    """Return the share of calibration scores that are at least as large as each score.

    The score itself counts, too. If the scores of the calibration objects and of a new object are
    exchangeable, the p-value of the new object is at most a with a probability of at most a, for
    every a. Large scores mean that an object is unusual.

    Parameters
    ----------
    scores : array-like of any shape
        Scores of new objects.
    calibration_scores : array-like of shape (m,)
        Scores of m objects that were not used to define the score.

    Returns
    -------
    array with the shape of ``scores``
        The p-values, from 1 / (m + 1) to 1.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer (2005). Algorithmic Learning in a Random World. Springer.

    Examples
    --------
    >>> from dempster.belief import conformal_p_values
    >>> conformal_p_values([0.5, 9.0], [0.1, 0.4, 0.6, 1.3])
    array([0.6, 0.2])
    """
    values = rule.as_numbers(scores, "scores")
    known = rule.as_numbers(calibration_scores, "calibration_scores")
    m = known.size
    if known.ndim != 1 or m == 0:
        must = f"have the shape (m,) with m > 0, got {known.shape}"
        raise InvalidParameterError("calibration_scores", must=must)
    n_larger = m - np.searchsorted(np.sort(known), values)
    return (n_larger + 1) / (m + 1)


def upper_weights(
    scores: np.ndarray, calibration_scores: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the weight of the calibration scores that are at least as large as each score."""
    order = np.argsort(calibration_scores, kind="stable")
    tails = weights[order][::-1].cumsum()[::-1]
    tails = np.append(tails, 0.0)
    n_smaller = np.searchsorted(calibration_scores[order], scores)
    return tails[n_smaller]


def benjamini_hochberg(p_values: ArrayLike, level: float = 0.1) -> np.ndarray:
    """Select hypotheses to reject with an expected share of wrong rejections of at most ``level``.

    The guarantee (a *false discovery rate* of at most ``level``) holds for independent p-values,
    and for conformal p-values of independent objects that share one calibration sample (Bates et
    al., 2023).

    Parameters
    ----------
    p_values : array-like of shape (n,)
        One p-value for each object of a batch.
    level : float in (0, 1), default=0.1
        Upper bound of the false discovery rate.

    Returns
    -------
    Boolean array of shape (n,)
        Whether each hypothesis is rejected.

    References
    ----------
    Y. Benjamini and Y. Hochberg (1995). Controlling the false discovery rate. J. R. Statistical
    Society B 57.

    S. Bates, E. Candès, L. Lei, Y. Romano and M. Sesia (2023). Testing for outliers with conformal
    p-values. Annals of Statistics 51.

    Examples
    --------
    >>> from dempster.belief import benjamini_hochberg
    >>> benjamini_hochberg([0.01, 0.8, 0.04, 0.3], level=0.1)
    array([ True, False,  True, False])
    """
    p = rule.as_numbers(p_values, "p_values", 0, 1)
    inside = rule.proper_share
    rule.check(level, "level", inside)
    if p.ndim != 1:
        must = f"have the shape (n,), got {p.shape}"
        raise InvalidParameterError("p_values", must=must)
    ordered = np.sort(p)
    ranks = np.arange(1, len(p) + 1)
    bounds = level * ranks / len(p)
    # The tolerance allows for rounding: 0.1 * 3 / 3 must not be below 0.1.
    is_below = ordered <= bounds * (1 + 1e-12)
    return p <= ordered[is_below].max(initial=-1.0)


def merge_p_values(p_values: ArrayLike) -> np.ndarray:
    """Combine the p-values of several sources, which may depend on each other in any way.

    The result is min(1, 2 mean(p)), which is again a valid p-value (Rüger, 1978). Dempster's rule
    multiplies contours, and the product of p-values is not a valid p-value.

    Parameters
    ----------
    p_values : array-like of shape (n_sources, ...)
        The p-values of each source, for example the contours of several mass functions.

    Returns
    -------
    array of shape (...)
        The combined p-values.

    References
    ----------
    V. Vovk and R. Wang (2020). Combining p-values via averaging. Biometrika 107.

    Examples
    --------
    >>> from dempster.belief import merge_p_values
    >>> merge_p_values([[0.02, 0.9], [0.04, 0.7]])  # two sources, two answers
    array([0.06, 1.  ])
    """
    mean = _mean_of_sources(p_values, "p_values", 1)
    return np.minimum(2 * mean, 1.0)


def merge_e_values(e_values: ArrayLike) -> np.ndarray:
    """Combine the e-values of several, possibly dependent sources by their mean.

    An e-value is a nonnegative variable whose expectation is at most 1 for the true answer. Large
    values are evidence against the answer. ``min(1, 1 / e)`` is a p-value. e-values of independent
    sources can also be multiplied.

    Parameters
    ----------
    e_values : array-like of shape (n_sources, ...)
        The e-values of each source, see `p_to_e_values`.

    Returns
    -------
    array of shape (...)
        The combined e-values.

    References
    ----------
    V. Vovk and R. Wang (2021). E-values: calibration, combination and applications. Annals of
    Statistics 49.

    Examples
    --------
    >>> from dempster.belief import merge_e_values
    >>> merge_e_values([[20.0, 0.5], [4.0, 0.7]])
    array([12. ,  0.6])
    """
    return _mean_of_sources(e_values, "e_values", np.inf)


def p_to_e_values(p_values: ArrayLike) -> np.ndarray:
    """Convert p-values to e-values by (1 - p + p log p) / (p log(p)^2).

    This is the mean of k p^(k-1) over k in [0, 1].

    Parameters
    ----------
    p_values : array-like of any shape
        Positive p-values.

    Returns
    -------
    array with the shape of ``p_values``
        The e-values, which are at least 1/2.

    References
    ----------
    V. Vovk and R. Wang (2021). E-values: calibration, combination and applications. Annals of
    Statistics 49.

    Examples
    --------
    >>> from dempster.belief import p_to_e_values
    >>> p_to_e_values([0.001, 0.05, 1.0]).round(2)
    array([20.79,  1.78,  0.5 ])
    """
    p = rule.as_numbers(p_values, "p_values", 0, 1)
    if (p <= 0).any():
        raise InvalidParameterError("p_values", must="be positive")
    log = np.log(p)
    # The quotient loses its digits there; its limit is 1/2 - log(p)/6.
    is_near_one = np.abs(log) < 1e-4
    safe = np.where(is_near_one, -1.0, log)
    power = np.exp(safe)
    exact = (1 - power + power * safe) / (power * safe**2)
    return np.where(is_near_one, 0.5 - log / 6, exact)


def _mean_of_sources(values: ArrayLike, name: str, high: float) -> np.ndarray:
    """Return the mean over the rows of ``values``, which are between 0 and ``high``."""
    rows = rule.as_numbers(values, name, 0, high)
    if rows.ndim == 0 or len(rows) == 0:
        must = f"have one row for each source, got shape {rows.shape}"
        raise InvalidParameterError(name, must=must)
    return rows.mean(axis=0)
