"""Compiled sums of median evidential c-means (``kernels.c``): see `evidentia.cluster.relational._median`."""

from __future__ import annotations

import numpy as np

from evidentia._native import kernel

__all__ = ["fill_costs", "add_totals"]

_median_costs = kernel("""median_costs(
    near: float64[n, c], between: float64[c, c], sets: bool[g, c], gamma: float, eta: float,
    costs: float64[n, g] out)""")
_median_totals = kernel("""median_totals(
    rows: float64[candidates, n], weights: float64[h, n], near: float64[c, n], to_candidates: float64[c, candidates],
    between: float64[c, c], sets: bool[h, c], gamma: float, eta: float, totals: float64[candidates] out)""")


def fill_costs(
    near: np.ndarray, between: np.ndarray, sets: np.ndarray, gamma: float, eta: float, costs: np.ndarray
) -> None:
    """(n, g) costs for dissimilarities ``near`` (n, c) to the medoids and ``between`` (c, c) them."""
    _median_costs(near, between, sets, gamma, eta, costs)


def add_totals(
    rows: np.ndarray,
    weights: np.ndarray,
    near: np.ndarray,
    to_candidates: np.ndarray,
    between: np.ndarray,
    sets: np.ndarray,
    gamma: float,
    eta: float,
    totals: np.ndarray,
) -> None:
    """For every candidate (a row of dissimilarities to all objects) the part of the objective that a cluster has a
    share in, were the candidate its medoid.

    ``weights`` (h, n) are |A|^alpha m_i(A)^beta for the h sets with the cluster, ``sets`` (h, c) their other members;
    ``near`` (c, n) dissimilarities to the medoids, ``between`` (c, c) among them, ``to_candidates`` (c, candidates)
    from them to the candidates.
    """
    _median_totals(rows, weights, near, to_candidates, between, sets, gamma, eta, totals)
