"""Quantiles, over many fits of a model, of the probability that two objects belong together.

Fit b gives object i the probabilities p_ikb of the clusters k; objects i and j are together with probability
sum_k p_ikb p_jkb. The quantiles of that number over the fits are wanted for very many pairs, but never the numbers
themselves: a pair is computed, its two quantiles are found, and it is forgotten.

``pair_quantiles.c`` says how the order statistics are found.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

# P holds the probabilities p_ikb (object, cluster, fit); rank and fraction are those of `quantile_ranks`.

# All pairs of objects: rows start to stop - 1 of two symmetric matrices, right of the diagonal. Written at (i, j) and
# (j, i); blocks of rows may go to different threads.
quantiles_within = kernel("""quantiles_within(
    P: float32[n, c, n_fits], rank: int below n_fits, fraction: float, lower: real[n, n] out, upper: real[n, n] out,
    start: int up to stop, stop: int up to n)""")

# Every object of P with every object of Q.
quantiles_between = kernel("""quantiles_between(
    P: float32[n, c, n_fits], Q: float32[p, c, n_fits], rank: int below n_fits, fraction: float,
    lower: real[n, p] out, upper: real[n, p] out)""")

# The pairs start to stop - 1 of a list.
quantiles_of_pairs = kernel("""quantiles_of_pairs(
    P: float32[n, c, n_fits], pairs: int64[p, 2] below n, rank: int below n_fits, fraction: float,
    lower: real[p] out, upper: real[p] out, start: int up to stop, stop: int up to p)""")

# The probabilities themselves of some pairs.
probabilities_of_pairs = kernel("""probabilities_of_pairs(
    P: float32[n, c, n_fits], pairs: int64[p, 2] below n, out: float32[p, n_fits] out)""")


def quantile_ranks(n_values: int, confidence: float) -> tuple[int, float]:
    """Position and fraction of the lower bound of a central interval among sorted values; the upper one mirrors it.

    Linear interpolation between order statistics ("type 7", the default of numpy and of R).

    Examples
    --------
    >>> from dempster.optimize.pair_quantiles import quantile_ranks
    >>> quantile_ranks(11, 0.9)  # halfway between the smallest and the second of eleven
    (0, 0.5)
    """
    place = (n_values - 1) * (1 - confidence) / 2
    rank = int(np.floor(place + 1e-9))
    return rank, round(max(place - rank, 0.0), 9)
