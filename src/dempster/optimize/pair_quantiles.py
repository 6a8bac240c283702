"""Quantiles, over many fits of a model, of the probability that two objects are in the same cluster.

Fit b gives object i the probabilities p_ikb of the clusters k; objects i and j are in the same cluster with probability
sum_k p_ikb p_jkb. For each pair, two quantiles of the probabilities are stored instead of the probabilities.
``pair_quantiles.c`` explains how the order statistics are found.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

# P contains the probabilities p_ikb (object, cluster, fit); rank and fraction come from `quantile_ranks`.

# Compute rows start to stop - 1 of two symmetric matrices for all pairs. Each pair is computed once and written at
# (i, j) and (j, i). Different threads may compute different blocks of rows.
quantiles_within = kernel("""quantiles_within(
    P: float32[n, c, n_fits], rank: int below n_fits, fraction: float, lower: real[n, n] out, upper: real[n, n] out,
    start: int up to stop, stop: int up to n)""")

# Compute the quantiles for every object of P with every object of Q.
quantiles_between = kernel("""quantiles_between(
    P: float32[n, c, n_fits], Q: float32[p, c, n_fits], rank: int below n_fits, fraction: float,
    lower: real[n, p] out, upper: real[n, p] out)""")

# Compute the quantiles for the pairs start to stop - 1 of a list.
quantiles_of_pairs = kernel("""quantiles_of_pairs(
    P: float32[n, c, n_fits], pairs: int64[p, 2] below n, rank: int below n_fits, fraction: float,
    lower: real[p] out, upper: real[p] out, start: int up to stop, stop: int up to p)""")

# Compute the probabilities of some pairs.
probabilities_of_pairs = kernel("""probabilities_of_pairs(
    P: float32[n, c, n_fits], pairs: int64[p, 2] below n, out: float32[p, n_fits] out)""")


def quantile_ranks(n_values: int, confidence: float) -> tuple[int, float]:
    """Return the rank and the fraction of the lower bound of a central interval; the upper bound is symmetric.

    The quantiles are linear interpolations between order statistics ("type 7", the default of NumPy and R).

    Examples
    --------
    >>> from dempster.optimize.pair_quantiles import quantile_ranks
    >>> quantile_ranks(11, 0.9)  # halfway between the smallest and the second of eleven
    (0, 0.5)
    """
    place = (n_values - 1) * (1 - confidence) / 2
    rank = int(np.floor(place + 1e-9))
    return rank, round(max(place - rank, 0.0), 9)
