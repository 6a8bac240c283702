"""Samples of rows, and means and scales that do not depend on their order.

Random choices are made along a fixed order of the rows (that of a projection), so that permuting the rows, or repeating
them instead of giving them a weight, leads to the same sample.
"""

from __future__ import annotations

import numpy as np

from dempster._arrays import Array
from dempster._validation import clip_to_range, has_missing, mean_of_rows

SAMPLE_SIZE = 20_000  # objects on which starts with prototypes compete


def evenly_spread(total: float, size: int, rng: np.random.RandomState) -> np.ndarray:
    """``size`` points from 0 to ``total``, one in each of as many equal parts."""
    return (np.arange(size) + rng.random_sample(size)) / size * total


def systematic_draw(weights: np.ndarray, size: int, rng: np.random.RandomState) -> np.ndarray:
    """``size`` positions in proportion to the weights, one from each of as many equal shares of their sum."""
    reach = np.cumsum(weights)
    at = evenly_spread(reach[-1], size, rng)
    return np.searchsorted(reach, at, side="right").clip(max=len(weights) - 1)


def order_along_line(X: np.ndarray) -> np.ndarray:
    """The objects along a line through the attributes: the same order however the rows are permuted.

    Different objects at the same place are ordered by their attributes; equal ones stay in the order of the rows.
    """
    # the direction is the same for all X with as many columns
    at, direction = np.zeros(len(X)), np.random.RandomState(0).normal(size=X.shape[1:])
    for start in range(0, len(X), 4096):
        for column, factor in zip(X[start : start + 4096].T, direction, strict=True):
            at[start : start + 4096] += factor * column  # a matrix product may round equal rows differently
    if np.isnan(at).any():
        return order_along_line(_beyond(X))
    order = np.argsort(at)
    with_next = np.diff(at[order]) == 0
    if with_next.any():
        place = np.cumsum(~np.concatenate(([False], with_next)))
        tied = np.concatenate((with_next, [False])) | np.concatenate(([False], with_next))
        objects = order[tied]
        order[tied] = objects[np.lexsort((objects, *X[objects].T[::-1], place[tied]))]
    return order


def _beyond(X: np.ndarray) -> np.ndarray:
    """The rows with their missing cells beyond all others of the column, like no cell that is there."""
    missing = np.isnan(X)
    low, high = np.where(missing, np.inf, X).min(axis=0), np.where(missing, -np.inf, X).max(axis=0)
    high = np.where(np.isfinite(high), high, 0)
    spread = high - np.minimum(low, high)
    constant = np.where(high == 0, spread.max() or 1.0, np.abs(high))  # in the units of X, whatever these are
    apart = np.where(spread > 0, spread, constant)
    return np.where(missing, high + apart, X)


def sample_in_order(
    order: np.ndarray, weights: np.ndarray, size: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Of the objects ``order``, those that have a weight, with their weights; of more than ``size`` of them some,
    drawn in proportion to the weights, and their new weights are how often they were drawn."""
    order = order[weights[order] > 0]
    if len(order) <= size:
        return order, weights[order]
    places, count = np.unique(systematic_draw(weights[order], size, rng), return_counts=True)
    return order[places], count.astype(float)


def representative_sample(
    X: np.ndarray, weights: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """The objects in a fixed order, that along a line, with weights; at most 20,000 of them, drawn in
    proportion to the weights."""
    order = order_along_line(X)
    w = np.ones(len(X)) if len(weights) == 0 else weights.astype(float)
    order = order[w[order] > 0]
    if len(order) <= SAMPLE_SIZE:
        return X[order], w[order]
    return X[order[systematic_draw(w[order], SAMPLE_SIZE, rng)]], np.ones(SAMPLE_SIZE)


def holds_all(sample: np.ndarray, X: Array, weights: np.ndarray) -> bool:
    """Whether such a sample is all objects that count."""
    return len(sample) == (np.count_nonzero(weights) if len(weights) else len(X))


def mean_of_objects(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean of the rows in double precision, over the values that are there; ``weights`` is empty if all count alike."""
    if has_missing(X):
        w = np.ones(len(X)) if len(weights) == 0 else weights
        mean = (w @ np.where(np.isnan(X), 0.0, X)) / np.maximum(w @ ~np.isnan(X), np.finfo(float).tiny)
        return clip_to_range(mean, X)
    return mean_of_rows(X, None if len(weights) == 0 else weights)


def mean_squared_deviation(X: np.ndarray, weights: np.ndarray) -> float:
    """Mean squared distance to the mean of the data, in blocks; the sum of the variances of the attributes."""
    w = None if len(weights) == 0 else weights
    mean = mean_of_objects(X, weights)
    if has_missing(X):
        return float(mean_of_objects(np.square(X - mean), weights).sum())
    total = 0.0
    for start in range(0, len(X), 65536):
        gap = X[start : start + 65536] - mean
        squared = np.einsum("ij,ij->i", gap, gap)
        total += float(squared.sum() if w is None else squared @ w[start : start + 65536])
    return total / (len(X) if w is None else float(w.sum()))
