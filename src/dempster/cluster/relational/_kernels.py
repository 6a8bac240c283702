"""Compiled sums of median and relational evidential c-means (``kernels.c``): see `dempster.cluster.relational._median`
and `dempster.cluster.relational._weighted_means`."""

from __future__ import annotations

import numpy as np

from dempster._native import kernel

__all__ = ["fill_costs", "add_totals", "fill_products", "relational_step"]

_median_costs = kernel("""median_costs(
    near: float64[n, c], between: float64[c, c], sets: bool[g, c], gamma: float, eta: float,
    costs: float64[n, g] out)""")
_median_totals = kernel("""median_totals(
    rows: float64[candidates, n], weights: float64[h, n], near: float64[c, n], to_candidates: float64[c, candidates],
    between: float64[c, c], sets: bool[h, c], gamma: float, eta: float, totals: float64[candidates] out)""")
_relational_products = kernel("""relational_products(
    D: real[n, m], P: float64[c, m], out: float64[n, c] out)""")
_relational_step = kernel("""relational_step(
    products: float64[n, c], P: float64[c, n], sets: bool[g, c], weights: float64[n] or None, factor: float64[g],
    size: int64[g], delta2: float, beta: float, zero: float, negative: float, shift: float, alpha: float,
    following: float64[c, n] out, least: float64[1] out) -> float""")


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


def fill_products(D: np.ndarray, P: np.ndarray, out: np.ndarray) -> None:
    """D (n, m) times P' (m, c): without BLAS, whose threads get in the way of small products, again and again."""
    _relational_products(D, P, out)


def relational_step(
    products: np.ndarray,
    P: np.ndarray,
    sets: np.ndarray,
    weights: np.ndarray,
    penalties: tuple,
    negative: float,
    shift: float,
    alpha: float,
) -> tuple[float, float, np.ndarray]:
    """One iteration: the objective of the prototypes P (c, n), the smallest squared distance, and the prototypes that
    follow. ``products`` (n, c) are those with the dissimilarities, ``penalties`` as `MassStep` gives them."""
    following, least = np.empty_like(P), np.empty(1)
    given = weights if len(weights) else None
    objective = _relational_step(products, P, sets, given, *penalties, negative, shift, alpha, following, least)
    return objective, float(least[0]), following
