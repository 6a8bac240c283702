"""Quantiles, over many fits of a model, of the probability that two objects belong together.

Fit b gives object i the probabilities p_ikb of the clusters k; objects i and j are together with probability
sum_k p_ikb p_jkb. The quantiles of that number over the fits are wanted for very many pairs, but never the numbers
themselves: a pair is computed, its two quantiles are found, and it is forgotten.

The order statistics are found by bisection on the value: count how many of the numbers are not larger than a threshold,
move the threshold. A count is a pass over a few kilobytes that the compiler turns into vector instructions, so a
dozen of them cost less than one partial sort. Numbers that are not negative are ordered like the integers with the
same bits, and bisecting these finds a number of any size in at most 31 steps, exactly.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["quantile_ranks", "quantiles_within", "quantiles_between", "quantiles_of_pairs", "probabilities_of_pairs"]

_NOTHING = np.float32(1e-9)  # if even the largest probability is below this, the exact quantile does not matter


def quantile_ranks(n_values: int, confidence: float) -> tuple[int, float]:
    """Position and fraction of the lower bound of a central interval among sorted values; the upper one mirrors it.

    Linear interpolation between order statistics ("type 7", the default of numpy and of R).

    Examples
    --------
    >>> from evidentia.optimize.pair_quantiles import quantile_ranks
    >>> quantile_ranks(11, 0.9)  # halfway between the smallest and the second of eleven
    (0, 0.5)
    """
    place = (n_values - 1) * (1 - confidence) / 2
    rank = int(np.floor(place + 1e-9))
    return rank, round(max(place - rank, 0.0), 9)


@njit(cache=True, nogil=True, error_model="numpy")
def _products(P, i, Q, j, t):
    """t_b = sum_k P_ikb Q_jkb."""
    n_fits = t.shape[0]
    for b in range(n_fits):
        t[b] = P[i, 0, b] * Q[j, 0, b]
    for k in range(1, P.shape[1]):
        for b in range(n_fits):
            t[b] += P[i, k, b] * Q[j, k, b]


@njit(cache=True, nogil=True, error_model="numpy")
def _count(bits, threshold):
    """How many are not larger. Sums and comparisons stay in 32 bits, or half the vector would be idle."""
    limit = np.int32(threshold)
    count = np.int32(0)
    for b in range(bits.shape[0]):
        count = np.int32(count + np.int32(bits[b] <= limit))
    return count


@njit(cache=True, nogil=True, error_model="numpy")
def _order_statistics(bits, rank, low, high):
    """Bits of the values of the given rank (from 0) and of the next one, all values lying in (low, high]."""
    while high - low > 1:
        middle = low + ((high - low) >> 1)
        count = _count(bits, middle)
        if count == rank + 1:
            below, above = np.int32(0), np.int32(0x7FFFFFFF)
            limit = np.int32(middle)
            for b in range(bits.shape[0]):
                inside = bits[b] <= limit
                below = max(below, bits[b] if inside else np.int32(0))
                above = min(above, np.int32(0x7FFFFFFF) if inside else bits[b])
            return below, above
        if count <= rank:
            low = middle
        else:
            high = middle
    return np.int32(high), np.int32(high)  # several values are equal, or it is the largest


@njit(cache=True, nogil=True, error_model="numpy")
def _interval(t, bits, cell, cell_bits, rank, fraction):
    """Lower and upper quantile of the values t, whose bits are seen through ``bits``."""
    smallest, largest = np.int32(bits[0]), np.int32(bits[0])
    for b in range(bits.shape[0]):
        smallest = min(smallest, bits[b])
        largest = max(largest, bits[b])
    cell_bits[0], cell_bits[1] = smallest, largest
    if cell[1] < _NOTHING:
        return np.float64(cell[0]), np.float64(cell[1])
    cell_bits[0], cell_bits[1] = _order_statistics(bits, rank, smallest - 1, largest)
    lower = (1 - fraction) * cell[0] + fraction * cell[1]
    # counted from the top the upper bound lies between the values of rank and rank + 1 as well
    last = bits.shape[0] - 1
    if rank == last - rank and fraction == 0:
        return lower, lower
    if fraction == 0:
        cell_bits[0], cell_bits[1] = _order_statistics(bits, last - rank, smallest - 1, largest)
        return lower, np.float64(cell[0])
    cell_bits[0], cell_bits[1] = _order_statistics(bits, last - rank - 1, smallest - 1, largest)
    return lower, fraction * cell[0] + (1 - fraction) * cell[1]


@njit(cache=True, nogil=True, error_model="numpy")
def quantiles_within(P, rank, fraction, lower, upper, start, stop):
    """Quantiles of all pairs of objects: rows start to stop - 1 of two symmetric matrices, right of the diagonal.

    Parameters
    ----------
    P : (n, c, B) float32
        Probabilities of the clusters for each object, over the fits.
    rank, fraction : `quantile_ranks`
    lower, upper : (n, n)
        Written at (i, j) and (j, i). Blocks of rows may go to different threads.
    start, stop : int
    """
    n = P.shape[0]
    t = np.empty(P.shape[2], np.float32)
    bits = t.view(np.int32)
    cell = np.empty(2, np.float32)
    cell_bits = cell.view(np.int32)
    for i in range(start, stop):
        for j in range(i + 1, n):
            _products(P, i, P, j, t)
            a, b = _interval(t, bits, cell, cell_bits, rank, fraction)
            lower[i, j] = a
            lower[j, i] = a
            upper[i, j] = b
            upper[j, i] = b


@njit(cache=True, nogil=True, error_model="numpy")
def quantiles_between(P, Q, rank, fraction, lower, upper):
    """Quantiles of every object of P (n, c, B) with every object of Q (p, c, B), into two (n, p) matrices."""
    t = np.empty(P.shape[2], np.float32)
    bits = t.view(np.int32)
    cell = np.empty(2, np.float32)
    cell_bits = cell.view(np.int32)
    for i in range(P.shape[0]):
        for j in range(Q.shape[0]):
            _products(P, i, Q, j, t)
            lower[i, j], upper[i, j] = _interval(t, bits, cell, cell_bits, rank, fraction)


@njit(cache=True, nogil=True, error_model="numpy")
def quantiles_of_pairs(P, pairs, rank, fraction, lower, upper, start, stop):
    """Quantiles of the pairs start to stop - 1 of a list (p, 2), into two arrays (p,)."""
    t = np.empty(P.shape[2], np.float32)
    bits = t.view(np.int32)
    cell = np.empty(2, np.float32)
    cell_bits = cell.view(np.int32)
    for e in range(start, stop):
        _products(P, pairs[e, 0], P, pairs[e, 1], t)
        lower[e], upper[e] = _interval(t, bits, cell, cell_bits, rank, fraction)


@njit(cache=True, nogil=True, error_model="numpy")
def probabilities_of_pairs(P, pairs, out):
    """The probabilities themselves of some pairs (p, 2), into a (p, B) float32 array."""
    for e in range(pairs.shape[0]):
        _products(P, pairs[e, 0], P, pairs[e, 1], out[e])
