"""Quantiles, over many fits of a model, of the probability that two objects belong together.

Fit b gives object i the probabilities p_ikb of the clusters k; objects i and j are together with probability
sum_k p_ikb p_jkb. The quantiles of that number over the fits are wanted for very many pairs, but never the numbers
themselves: a pair is computed, its two quantiles are found, and it is forgotten.

``pair_quantiles.c`` says how the order statistics are found.
"""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["quantile_ranks", "quantiles_within", "quantiles_between", "quantiles_of_pairs", "probabilities_of_pairs"]

_within = kernel("""quantiles_within(
    P: float32[n, c, n_fits], rank: int below n_fits, fraction: float, lower: real[n, n] out, upper: real[n, n] out,
    start: int up to stop, stop: int up to n)""")
_between = kernel("""quantiles_between(
    P: float32[n, c, n_fits], Q: float32[p, c, n_fits], rank: int below n_fits, fraction: float,
    lower: real[n, p] out, upper: real[n, p] out)""")
_of_pairs = kernel("""quantiles_of_pairs(
    P: float32[n, c, n_fits], pairs: int64[p, 2] below n, rank: int below n_fits, fraction: float,
    lower: real[p] out, upper: real[p] out, start: int up to stop, stop: int up to p)""")
_probabilities = kernel("""probabilities_of_pairs(
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


def quantiles_within(
    P: np.ndarray, rank: int, fraction: float, lower: np.ndarray, upper: np.ndarray, start: int, stop: int
) -> None:
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
    _within(P, rank, fraction, lower, upper, start, stop)


def quantiles_between(
    P: np.ndarray, Q: np.ndarray, rank: int, fraction: float, lower: np.ndarray, upper: np.ndarray
) -> None:
    """Quantiles of every object of P (n, c, B) with every object of Q (p, c, B), into two (n, p) matrices."""
    _between(P, Q, rank, fraction, lower, upper)


def quantiles_of_pairs(
    P: np.ndarray,
    pairs: np.ndarray,
    rank: int,
    fraction: float,
    lower: np.ndarray,
    upper: np.ndarray,
    start: int,
    stop: int,
) -> None:
    """Quantiles of the pairs start to stop - 1 of a list (p, 2), into two arrays (p,)."""
    _of_pairs(P, pairs, rank, fraction, lower, upper, start, stop)


def probabilities_of_pairs(P: np.ndarray, pairs: np.ndarray, out: np.ndarray) -> None:
    """The probabilities themselves of some pairs (p, 2), into a (p, B) float32 array."""
    _probabilities(P, pairs, out)
