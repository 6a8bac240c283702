"""Kernels of median evidential c-means, beside the same sums written naively."""

from itertools import combinations

import numpy as np
import pytest

from evidentia.cluster.relational._kernels import add_totals, fill_costs

SETS = np.array([[k in chosen for k in range(4)] for size in (1, 2, 3, 4) for chosen in combinations(range(4), size)])


def naive_cost(near, between, members, gamma, eta):
    """D_i(A) of Zhou et al. (2015) for one object and one set."""
    if len(members) == 1:
        return near[members[0]] ** 2
    pairs = list(combinations(members, 2))
    spread = sum(between[k, m] for k, m in pairs)
    ratio = sum(abs(near[k] - near[m]) for k, m in pairs) / (eta * spread) if spread > 0 else 0.0
    squares = near[members] ** 2
    return (gamma * squares.mean() + ratio * squares.min()) / (1 + gamma)


def dissimilarities(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_costs_against_naive_loops(gamma):
    D = dissimilarities(40)
    medoids = np.array([3, 17, 21, 30])
    near = np.ascontiguousarray(D[:, medoids])
    costs = np.empty((40, len(SETS)))
    for between in (near[medoids], np.zeros((4, 4))):
        fill_costs(near, between, SETS, gamma, 1.3, costs)
        wanted = [[naive_cost(row, between, np.flatnonzero(s), gamma, 1.3) for s in SETS] for row in near]
        np.testing.assert_allclose(costs, wanted, rtol=1e-13)


@pytest.mark.parametrize("n", [20, 255, 256, 600])
def test_totals_of_candidates_against_naive_loops(n):
    rng = np.random.default_rng(n)
    D, k, gamma, eta = dissimilarities(n), 1, 0.5, 1.3
    medoids, candidates = np.array([3, 7, 11, 15]), np.array([0, 3, 19])
    with_k = SETS[SETS[:, k]]
    weights, others = rng.random((len(with_k), n)), with_k.copy()
    others[:, k] = False
    near, totals = D[:, medoids], np.ones(3)
    add_totals(
        D[candidates], weights, np.ascontiguousarray(near.T), np.ascontiguousarray(near[candidates].T), near[medoids],
        others, gamma, eta, totals,
    )  # fmt: skip
    for o, total in zip(candidates, totals, strict=True):
        moved = medoids.copy()
        moved[k] = o
        to, between = D[:, moved], D[np.ix_(moved, moved)]
        costs = [[naive_cost(row, between, np.flatnonzero(s), gamma, eta) for row in to] for s in with_k]
        assert total == pytest.approx(1 + np.sum(weights * costs), rel=1e-12)
