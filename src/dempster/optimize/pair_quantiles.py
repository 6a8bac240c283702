"""Quantiles of the probability that two objects are in the same cluster, over many mixtures.

Let p_ikb be the probability of cluster k for object i in fit b. In this fit, objects i and j are in
the same cluster with probability sum_k p_ikb p_jkb. For each pair of objects, only two quantiles of
these probabilities are stored. ``pair_quantiles.c`` explains how the order statistics are computed.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

# In all kernels, P contains the probabilities p_ikb, and rank and fraction are the results of
# `quantile_ranks`.

# Compute rows start to stop - 1 of the symmetric matrices of the lower and upper quantiles for all
# pairs. Each pair is computed once and written at (i, j) and (j, i). Different threads may compute
# different blocks of rows.
quantiles_within = kernel("""quantiles_within(
    P: float32[n, c, n_fits], rank: int below n_fits, fraction: float, lower: real[n, n] out,
    upper: real[n, n] out, start: int up to stop, stop: int up to n)""")

# Compute the quantiles for all pairs of an object of P and an object of Q.
quantiles_between = kernel("""quantiles_between(
    P: float32[n, c, n_fits], Q: float32[p, c, n_fits], rank: int below n_fits, fraction: float,
    lower: real[n, p] out, upper: real[n, p] out)""")

# Compute the quantiles for the pairs of objects in rows start to stop - 1 of `pairs`.
quantiles_of_pairs = kernel("""quantiles_of_pairs(
    P: float32[n, c, n_fits], pairs: int64[p, 2] below n, rank: int below n_fits, fraction: float,
    lower: real[p] out, upper: real[p] out, start: int up to stop, stop: int up to p)""")

# Compute the probability of "same cluster" in every fit, for the given pairs of objects.
probabilities_of_pairs = kernel("""probabilities_of_pairs(
    P: float32[n, c, n_fits], pairs: int64[p, 2] below n, out: float32[p, n_fits] out)""")


def quantile_ranks(n_values: int, confidence: float) -> tuple[int, float]:
    """Return the rank and the fraction that define the lower bound of a confidence interval.

    The bound is (1 - fraction) v[rank] + fraction v[rank + 1], where v are the sorted values (the
    default interpolation of NumPy and R). The upper bound has the same rank and fraction if the
    values are sorted in decreasing order.
    """
    place = (n_values - 1) * (1 - confidence) / 2
    rank = int(np.floor(place + 1e-9))
    return rank, round(max(place - rank, 0.0), 9)
