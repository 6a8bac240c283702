"""Predictive belief functions: beliefs about the next observation, given earlier counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import divide
from dempster._errors import InvalidParameterError
from dempster._validation import as_reals, check_memory
from dempster.belief import transforms
from dempster.belief._arguments import SUM_TOLERANCE
from dempster.belief.focal_sets import FocalSets, is_subset

# Maximum number of answers (a linear program with 2^10 sets takes a second).
_MAX_ANSWERS = 10
_ROUNDING = 1e-10
_SINGLE_TOLERANCE = 1e-5  # relative tolerance for parameters in single precision
_COST_OF_DIFFERENCE = 1e-3  # A sum of beliefs has cost -1.


def validate_table(table: Any, name: str) -> np.ndarray:
    """Return a table as an array of shape (n, c) of finite nonnegative numbers."""
    values = np.atleast_2d(as_reals(table, name))
    is_valid = np.isfinite(values) & (values >= 0)
    if values.ndim != 2 or values.shape[1] < 2 or not is_valid.all():
        raise InvalidParameterError(
            name,
            must="be a table (n, c) of nonnegative numbers for at least two answers, "
            f"got shape {values.shape}",
        )
    return values


def goodman_intervals(
    counts: np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds of simultaneous confidence intervals of the answers (Goodman, 1965)."""
    from scipy.special import chdtri

    total = counts.sum(axis=1, keepdims=True)
    # of the chi-squared distribution
    quantile = chdtri(1, (1 - confidence) / counts.shape[1])
    variance = divide(counts * (total - counts), total, 0)
    middle = quantile + 2 * counts
    width = np.sqrt(quantile * (quantile + 4 * variance))
    scale = 2 * (total + quantile)
    return (middle - width) / scale, (middle + width) / scale


def masses_from_counts(
    counts: np.ndarray, confidence: float
) -> tuple[np.ndarray, FocalSets]:
    """Return the masses and the focal sets for counts; see `MassFunctions.from_counts`."""
    n, c = counts.shape
    if c > _MAX_ANSWERS:
        raise InvalidParameterError(
            "counts",
            must=f"have at most {_MAX_ANSWERS} answers, got {c}; use rule='dirichlet'",
        )
    family = FocalSets.full(c, empty=False)
    check_memory(
        3 * 8 * n * len(family),
        f"{n:,} rows of {len(family):,} masses",
        "use fewer rows at once",
    )
    lower = _lower_probabilities(counts, confidence, family)
    masses = transforms.masses_from_function(lower, family, "implicability")
    # This occurs only for four or more answers.
    invalid = masses.min(axis=1) < -_ROUNDING
    if invalid.any():
        masses[invalid] = _most_committed(counts[invalid], confidence, family)
    return masses, family


def _lower_probabilities(
    counts: np.ndarray, confidence: float, family: FocalSets
) -> np.ndarray:
    """Return the smallest probability of each set, given the confidence intervals."""
    lower, upper = goodman_intervals(counts, confidence)
    inside = family.membership.T
    return np.maximum(lower @ inside, 1 - upper @ ~inside)


def _most_committed(
    counts: np.ndarray, confidence: float, family: FocalSets
) -> np.ndarray:
    """Maximize the sum of all beliefs, with beliefs that are at most the lower probabilities.

    There are many solutions of this linear program. An additional variable with a small cost, the
    largest difference between the lower probabilities and the beliefs, selects one of them. It is
    averaged over sets that differ only in answers with the same count. Rows whose counts differ
    only in their order have the same linear program, which is solved once.
    """
    from scipy.optimize import LinearConstraint, milp
    from scipy.sparse import csr_array

    order = np.argsort(counts, kind="stable")
    rows, target = np.unique(
        np.take_along_axis(counts, order, axis=1), axis=0, return_inverse=True
    )
    is_inside = is_subset(family.membership, family.membership)
    costs = np.append(-is_inside.sum(axis=1, dtype=float), _COST_OF_DIFFERENCE)
    n_sets = len(family)
    beliefs, sums = (
        csr_array(np.column_stack([is_inside.T, np.full(n_sets, k)]), dtype=float)
        for k in (0, 1)
    )
    solutions = np.empty((len(rows), n_sets))
    for i, limits in enumerate(_lower_probabilities(rows, confidence, family)):
        constraints = (
            LinearConstraint(beliefs, -np.inf, limits),
            LinearConstraint(sums, limits, np.inf),
        )
        masses = np.maximum(milp(costs, constraints=constraints).x[:-1], 0)
        members = family.membership.astype(float) @ (
            rows[i][:, None] == np.unique(rows[i])
        )
        kind = np.unique(members, axis=0, return_inverse=True)[1].ravel()
        solutions[i] = (np.bincount(kind, masses) / np.bincount(kind))[kind]
    column = np.empty(1 << counts.shape[1], np.intp)
    column[family.codes] = np.arange(n_sets)
    out = np.empty((len(counts), n_sets))
    np.put_along_axis(
        out,
        column[(1 << order) @ family.membership.T],
        solutions[target.ravel()],
        axis=1,
    )
    return out


def masses_from_dirichlet(alpha: Any, prior: Any) -> tuple[np.ndarray, FocalSets]:
    """Return the masses and focal sets for Dirichlet parameters.

    See `MassFunctions.from_dirichlet`.
    """
    parameters = validate_table(alpha, "alpha")
    c = parameters.shape[1]
    before = as_reals(prior, "prior")
    if before.shape not in ((), (c,)) or not (np.isfinite(before) & (before > 0)).all():
        raise InvalidParameterError(
            "prior", f"a positive number, or {c} positive numbers", prior
        )
    before = np.broadcast_to(before, (c,)).astype(parameters.dtype)
    evidence = parameters - before
    tolerance = SUM_TOLERANCE
    if parameters.dtype == np.float32:
        tolerance = _SINGLE_TOLERANCE
    if (evidence < -tolerance * before).any():
        raise InvalidParameterError(
            "alpha",
            must=f"be at least the prior {prior}; if it contains evidence alone, add the prior",
        )
    evidence = np.maximum(evidence, 0)
    weight = before.sum()
    total = (evidence.sum(axis=1) + weight)[:, None]
    family = FocalSets.simple(c, empty=False)
    return np.column_stack([evidence / total, weight / total]), family
