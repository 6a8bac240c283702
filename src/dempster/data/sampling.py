"""Samples of rows, and means, that do not depend on the order of the rows.

Before sampling, the rows are sorted by their projection on a fixed direction. The sample is
therefore the same if the rows are permuted, or if rows are repeated instead of weighted.
"""

from __future__ import annotations

import numpy as np

from dempster._arrays import clip_to_range, row_mean
from dempster._native import kernel
from dempster._validation import has_missing

# maximum number of rows on which different initial prototypes are compared
SAMPLE_SIZE = 20_000

_project_rows = kernel("""project_rows(
    X: real[n, p], direction: float64[p], out: float64[n] out)""")


def draw_indices(n: int, size: int) -> np.ndarray:
    """Return random indices of at most ``size`` of n rows, in time that does not depend on n."""
    if n <= size:
        return np.arange(n)
    return np.unique(np.random.RandomState(0).randint(n, size=size))


def draw_evenly(total: float, size: int, rng: np.random.RandomState) -> np.ndarray:
    """Draw one number from each of ``size`` intervals of equal length that divide [0, total]."""
    places = np.arange(size) + rng.random_sample(size)
    return places / size * total


def systematic_draw(
    weights: np.ndarray, size: int, rng: np.random.RandomState, n: int | None = None
) -> np.ndarray:
    """Draw ``size`` positions in proportion to the weights (systematic sampling).

    If ``weights`` is empty, all n weights are equal.
    """
    if len(weights) == 0 and n is not None:
        return draw_evenly(n, size, rng).astype(np.intp).clip(max=n - 1)
    reach = np.cumsum(weights)
    at = draw_evenly(reach[-1], size, rng)
    drawn = np.searchsorted(reach, at, "right")
    return drawn.clip(max=len(weights) - 1)


def order_along_line(X: np.ndarray) -> np.ndarray:
    """Return the order of the rows by their projection on a fixed direction.

    Rows with nearly the same projection are sorted by their columns.
    """
    n = len(X)
    # The direction depends only on the number of columns.
    direction = np.random.RandomState(0).normal(size=X.shape[1:])
    projection = np.empty(n)
    _project_rows(np.ascontiguousarray(X), direction, projection)
    if np.isnan(projection).any():
        return order_along_line(_fill_missing(X))
    # Sorting numbers is much faster than finding their order, so the last bits of each number are
    # replaced by the index of its row.
    last = np.uint64((1 << max(n - 1, 1).bit_length()) - 1)
    keys = (_ordered_bits(projection) & ~last) | np.arange(n, dtype=np.uint64)
    keys.sort()
    order = (keys & last).astype(np.intp)
    is_tie = (keys[1:] ^ keys[:-1]) <= last
    if is_tie.any():
        with_previous = np.append(False, is_tie)
        tied = np.append(is_tie, False) | with_previous
        place = np.cumsum(~with_previous)
        objects = order[tied]
        columns = X[objects].T[::-1]
        by_columns = np.lexsort((objects, *columns, place[tied]))
        order[tied] = objects[by_columns]
    return order


def _ordered_bits(values: np.ndarray) -> np.ndarray:
    """Return unsigned integers in the order of the values, float64 without NaN."""
    sign = np.uint64(1 << 63)
    bits = (values + 0.0).view(np.uint64)  # without negative zeros
    return np.where(bits >= sign, ~bits, bits | sign)


def _fill_missing(X: np.ndarray) -> np.ndarray:
    """Replace missing values by a number that is larger than all other values of the column."""
    missing = np.isnan(X)
    low = np.where(missing, np.inf, X).min(axis=0)
    high = np.where(missing, -np.inf, X).max(axis=0)
    high = np.where(np.isfinite(high), high, 0)
    spread = high - np.minimum(low, high)
    widest = spread.max() or 1.0
    constant = np.where(high == 0, widest, np.abs(high))  # in the units of X
    apart = np.where(spread > 0, spread, constant)
    return np.where(missing, high + apart, X)


def sample_in_order(
    order: np.ndarray, weights: np.ndarray, size: int, rng: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers and weights of at most ``size`` rows with positive weight, in order.

    If there are more rows, they are drawn with probabilities proportional to the weights, and the
    returned weights are the numbers of draws.
    """
    order = order[weights[order] > 0]
    weights = weights[order]
    if len(order) <= size:
        return order, weights
    drawn = systematic_draw(weights, size, rng)
    places, count = np.unique(drawn, return_counts=True)
    return order[places], count.astype(float)


def mean_of_objects(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the mean of the observed values of each column.

    ``weights`` is empty if all weights are 1.
    """
    if not has_missing(X):
        return row_mean(X, weights if len(weights) else None)
    if len(weights) == 0:
        weights = np.ones(len(X))
    is_missing = np.isnan(X)
    present = weights @ ~is_missing
    sums = weights @ np.where(is_missing, 0.0, X)
    total = np.maximum(present, np.finfo(float).tiny)
    return clip_to_range(sums / total, X)


def mean_squared_deviation(X: np.ndarray, weights: np.ndarray) -> float:
    """Return the mean squared distance of the rows from their mean, over observed values."""
    squares = np.square(X - mean_of_objects(X, weights))
    return float(mean_of_objects(squares, weights).sum())
