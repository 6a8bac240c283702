"""Which attributes make two objects differ: the share of each in their dissimilarity.

Shares add up to one. For metrics that are a sum over attributes, or a root of one, they are the terms of that sum; a
term of a quadratic form that belongs to two attributes goes to both in equal parts, so that a share may be negative.
For any other metric an attribute counts for what the dissimilarity loses when the first object takes over its value
from the second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource, GowerSource

__all__ = ["attribute_shares"]

_OF_SQUARES = ("euclidean", "l2", "sqeuclidean", "nan_euclidean")
_OF_DIFFERENCES = ("manhattan", "cityblock", "l1", "braycurtis")
_SUMS = (*_OF_SQUARES, *_OF_DIFFERENCES, "seuclidean", "mahalanobis", "canberra", "hamming", "matching")
_PAIRS = 64  # compared at once by a metric that is no sum


def attribute_shares(source: DissimilaritySource, one: Any, others: Any) -> np.ndarray:
    """(r, p) shares of the attributes in the dissimilarities of one object to r others.

    Attributes that one of the two lacks have none; where two objects do not differ in any other, these have the same.

    Parameters
    ----------
    source : AttributeSource or GowerSource
        The metric. The columns of a `GowerSource` are the numeric ones first, then the categories.
    one, others : as ``source.objects``; ``one`` of a single object
    """
    if isinstance(source, GowerSource):
        terms = _gower_terms(one, others)
    else:
        assert isinstance(source, AttributeSource)
        x, Y = np.asarray(one, dtype=float)[0], np.asarray(others, dtype=float)
        metric = source.metric
        known = isinstance(metric, str) and metric in _SUMS
        terms = _terms_of(str(metric), source.parameters)(x, Y) if known else _losses(source, x, Y)
    known = np.isfinite(terms)
    terms = np.where(known, terms, 0)
    total = terms.sum(axis=1, keepdims=True)
    equal = known / np.maximum(known.sum(axis=1, keepdims=True), 1)
    return np.where(total > 0, terms / np.where(total > 0, total, 1), equal)


def _terms_of(metric: str, parameters: dict[str, np.ndarray]) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """The terms of the sum that a metric is, by attribute."""
    if metric in _OF_SQUARES:
        return lambda x, Y: (Y - x) ** 2
    if metric in _OF_DIFFERENCES:
        return lambda x, Y: np.abs(Y - x)
    if metric == "seuclidean":
        with np.errstate(divide="ignore", invalid="ignore"):
            return lambda x, Y: np.where(parameters["V"] > 0, (Y - x) ** 2 / parameters["V"], 0)
    if metric == "mahalanobis":
        return lambda x, Y: (Y - x) * ((Y - x) @ parameters["VI"])
    if metric == "canberra":
        return lambda x, Y: np.abs(Y - x) / np.maximum(np.abs(Y) + np.abs(x), np.finfo(float).tiny)
    return lambda x, Y: (x != Y).astype(float)


def _losses(source: AttributeSource, x: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """What the dissimilarity loses when an attribute is made the same; one attribute after the other."""
    whole = source.between(x[None], Y)[0]
    # metrics know blocks only, of which the diagonal is needed: small ones, single pairs where a function is called
    size = 1 if callable(source.metric) else _PAIRS
    terms = np.empty(Y.shape)
    for d in range(Y.shape[1]):
        for start in range(0, len(Y), size):
            some = Y[start : start + size]
            mixed = np.repeat(x[None], len(some), axis=0)
            mixed[:, d] = some[:, d]
            terms[start : start + size, d] = np.diagonal(source.between(mixed, some))
    return np.maximum(whole[:, None] - terms, 0)


def _gower_terms(one: Any, others: Any) -> np.ndarray:
    """Terms of Gower's mean, numeric columns first: none contributes more than its weight; NaN for missing ones."""
    numbers = np.minimum(np.abs(others.numeric - one.numeric[0]), 1) * others.numeric_weights
    # negative codes are missing cells (-1) or categories that were never seen (-2), which differ from everything
    missing = (others.codes == -1) | (one.codes[0] == -1)
    differ = (others.codes != one.codes[0]) | (others.codes < 0)
    categories = np.where(missing, np.nan, differ * others.code_weights)
    return np.hstack([numbers, categories])
