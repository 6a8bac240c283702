from itertools import combinations

import numpy as np
import pytest

from dempster.belief import FocalSets
from dempster.cluster._mass_step import MassStep
from dempster.cluster.mecm import add_totals, fill_costs
from dempster.cluster.recm import WeightedMeans, fill_products

SETS = np.array(
    [
        [k in chosen for k in range(4)]
        for size in (1, 2, 3, 4)
        for chosen in combinations(range(4), size)
    ]
)


def naive_cost(near, between, members, gamma, eta):
    """Return D_i(A) of Zhou et al. (2015) for one object and one set."""
    if len(members) == 1:
        return near[members[0]] ** 2
    pairs = list(combinations(members, 2))
    spread = sum(between[k, m] for k, m in pairs)
    if spread > 0:
        ratio = sum(abs(near[k] - near[m]) for k, m in pairs) / (eta * spread)
    else:
        ratio = 0.0
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
        wanted = [
            [naive_cost(row, between, np.flatnonzero(s), gamma, 1.3) for s in SETS]
            for row in near
        ]
        np.testing.assert_allclose(costs, wanted, rtol=1e-13)


@pytest.mark.parametrize("n", [20, 255, 256, 600])
def test_totals_of_candidates_against_naive_loops(n):
    rng = np.random.default_rng(n)
    D = dissimilarities(n)
    k = 1
    gamma = 0.5
    eta = 1.3
    medoids = np.array([3, 7, 11, 15])
    candidates = np.array([0, 3, 19])
    with_k = SETS[SETS[:, k]]
    weights = rng.random((len(with_k), n))
    others = with_k.copy()
    others[:, k] = False
    near = D[:, medoids]
    totals = np.ones(3)
    add_totals(
        D[candidates], weights, np.ascontiguousarray(near.T), np.ascontiguousarray(near[candidates].T), near[medoids],
        others, gamma, eta, totals,
    )  # fmt: skip
    for o, total in zip(candidates, totals, strict=True):
        moved = medoids.copy()
        moved[k] = o
        to = D[:, moved]
        between = D[np.ix_(moved, moved)]
        costs = [
            [naive_cost(row, between, np.flatnonzero(s), gamma, eta) for row in to]
            for s in with_k
        ]
        assert total == pytest.approx(1 + np.sum(weights * costs), rel=1e-12)


def inline(function, arguments):
    return [function(*each) for each in arguments]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 1e-5)]
)
@pytest.mark.parametrize(
    ("n", "m", "c"), [(1, 1, 1), (5, 7, 2), (13, 30, 3), (40, 65, 5), (0, 3, 2)]
)
def test_products_with_prototypes(n, m, c, dtype, tolerance):
    rng = np.random.default_rng(n)
    D = rng.random((n, m)).astype(dtype)
    P = rng.random((c, m))
    out = np.empty((n, c))
    fill_products(D, P, out)
    np.testing.assert_allclose(out, D @ P.T, rtol=tolerance)


@pytest.mark.parametrize(
    ("shift", "alpha", "beta"), [(0.0, 1.0, 2.0), (0.7, 0.5, 1.5), (0.3, 1.5, 3.0)]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_iteration_equals_its_steps(shift, alpha, beta, weighted):
    """The kernel gives the result of the single steps in NumPy."""
    rng = np.random.default_rng(3)
    D = dissimilarities(25) ** 2
    P = rng.dirichlet(np.ones(25), size=4)
    if weighted:
        weights = rng.integers(0, 3, 25).astype(float)
    else:
        weights = np.ones(25)
    step = MassStep(FocalSets.pairs(4), alpha, beta, 2.0, 1e-12)
    means = WeightedMeans(step, P, shift=shift, negative=-1e-9)
    costs, _ = means.costs(D, P.T, inline)
    wanted, masses, _ = step.nonempty_masses(
        means.make_nonnegative(costs), weights, inline
    )
    objective, least, following = means.iterate(D, weights, inline)
    assert objective == pytest.approx(wanted, rel=1e-12)
    assert least == pytest.approx(costs.min(), abs=1e-12)
    np.testing.assert_allclose(
        following.weights, means.update(masses, weights).weights, atol=1e-12
    )


def test_cluster_without_mass_keeps_its_prototype():
    D = np.array([[0.0, 1e12], [1e12, 0.0]])
    P = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    family = FocalSets([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    step = MassStep(family, 1.0, 2.0, 1.0, 1e-12)
    _, _, following = WeightedMeans(step, P).iterate(D, np.ones(2), inline)
    np.testing.assert_allclose(following.weights, P, atol=1e-12)
