"""Kernels that several methods share (mass step, seeds and medoids), compared with loops."""

import numpy as np
import pytest

from dempster.cluster._mass_step import masses_from_costs
from dempster.cluster._medoid_starts import far_seeds, to_medoids

# ---- the mass step -------------------------------------------------------------------------------


def masses_of(costs, size, alpha=1.5, delta2=2.0, beta=2.0, zero=1e-12, weights=None):
    costs = np.atleast_2d(np.asarray(costs, float))
    size = np.asarray(size)
    masses = np.empty_like(costs)
    empty = np.empty(len(costs))
    value = masses_from_costs(
        costs, weights, size**alpha, size, delta2, beta, zero, masses, empty
    )
    return masses, empty, value


def naive_masses(costs, size, alpha, delta2, beta):
    """Return masses by Masson and Denoeux (2008), eq.

    17, for positive costs; the last is on the empty set.
    """
    weighted = np.append(size**alpha * costs, delta2)
    share = (weighted.min() / weighted) ** (1 / (beta - 1))
    masses = share / share.sum()
    return masses, np.sum(np.where(masses > 0, weighted, 0) * masses**beta)


@pytest.mark.parametrize("beta", [1.1, 1.5, 1.7, 2.0, 3.0])
@pytest.mark.parametrize("g", [1, 2, 3, 4, 5, 8, 11, 16, 57])
def test_masses_follow_the_formula(g, beta):
    rng = np.random.default_rng(g)
    costs = rng.exponential(size=(20, g))
    size = rng.integers(1, 4, g)
    weights = rng.integers(0, 3, 20).astype(float)
    for delta2 in (0.3, np.inf):
        masses, empty, value = masses_of(
            costs, size, 1.5, delta2, beta, weights=weights
        )
        wanted = [naive_masses(row, size, 1.5, delta2, beta) for row in costs]
        np.testing.assert_allclose(
            np.column_stack([masses, empty]), [m for m, _ in wanted], rtol=1e-12
        )
        assert value == pytest.approx(
            np.dot(weights, [v for _, v in wanted]), rel=1e-12
        )
        assert masses_of(costs, size, 1.5, delta2, beta)[2] == pytest.approx(
            sum(v for _, v in wanted), rel=1e-12
        )


@pytest.mark.parametrize("beta", [1.5, 2.0])
@pytest.mark.parametrize("unit", [1e-307, 1e-200, 1e200, 1e300])
def test_masses_do_not_depend_on_the_unit(unit, beta):
    costs = np.array([[1.0, 3.0, 0.2, 7.0]])
    size = np.array([1, 1, 2, 3])
    masses, empty, value = masses_of(costs, size, beta=beta, zero=0.0)
    scaled = masses_of(unit * costs, size, delta2=2.0 * unit, beta=beta, zero=0.0)
    np.testing.assert_allclose(scaled[0], masses, rtol=1e-12)
    np.testing.assert_allclose(scaled[1], empty, rtol=1e-12)
    assert scaled[2] == pytest.approx(unit * value, rel=1e-12)


@pytest.mark.parametrize("beta", [1.5, 2.0])
def test_objects_on_a_prototype_get_the_smallest_set(beta):
    size = np.array([1, 1, 2, 3])
    on_one = [[0.0, 5.0, 0.0, 1.0], [1e-13, 5.0, -1e-14, 1.0], [-3.0, 5.0, 3.0, 1.0]]
    masses, empty, value = masses_of(on_one, size, beta=beta)
    assert masses.tolist() == [[1, 0, 0, 0]] * 3
    assert empty.tolist() == [0, 0, 0]
    assert value == 0
    assert masses_of([0.0, 0.0, 0.0, 0.0], size, beta=beta)[0].tolist() == [
        [0.5, 0.5, 0, 0]
    ]


def test_each_negative_cost_counts_as_zero():
    """A negative cost counts as zero even if the sum of the reciprocals is positive."""
    masses, _, _ = masses_of([-1e-13, 1e-13, 1.0], [1, 2, 1])
    assert masses.tolist() == [[1, 0, 0]]


# ---- seeds and medoids ---------------------------------------------------------------------------


def naive_seeds(delta, uniform):
    n = len(delta)
    seeds = [min(int(uniform[0, 0] * n), n - 1)]
    nearest = delta[seeds[0]].copy()
    for draws in uniform[1:]:
        reach = np.cumsum(nearest.astype(float))
        if reach[-1] > 0:
            places = np.searchsorted(reach, draws * reach[-1], side="right")
        else:
            places = (draws * n).astype(int)
        places = np.minimum(places, n - 1)
        best = places[
            np.argmin([np.minimum(nearest, delta[p]).sum(dtype=float) for p in places])
        ]
        seeds.append(best)
        nearest = np.minimum(nearest, delta[best])
    return np.array(seeds)


def naive_medoids(delta, medoids, steps):
    for _ in range(steps):
        labels = delta[medoids].argmin(axis=0)
        moved = medoids.copy()
        for k in range(len(medoids)):
            group = np.flatnonzero(labels == k)
            if len(group):
                moved[k] = group[
                    delta[np.ix_(group, group)].sum(axis=1, dtype=float).argmin()
                ]
        if np.array_equal(moved, medoids):
            break
        medoids = moved
    return medoids


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("trials", [1, 4, 6, 9])
def test_seeds_and_medoids_against_naive_loops(trials, dtype):
    rng = np.random.default_rng(trials)
    points = rng.normal(size=(70, 2)) + 4 * rng.integers(0, 3, (70, 1))
    delta = np.abs(points[:, None] - points[None]).sum(axis=2).astype(dtype)
    for c in (1, 3, 5):
        uniform = rng.random((c, trials))
        seeds = np.zeros(c, np.int64)
        far_seeds(delta, uniform, seeds)
        np.testing.assert_array_equal(seeds, naive_seeds(delta, uniform))
        for steps in (0, 1, 10):
            medoids = seeds.copy()
            to_medoids(delta, medoids, steps)
            np.testing.assert_array_equal(medoids, naive_medoids(delta, seeds, steps))


def test_seeds_among_equal_rows():
    seeds = np.zeros(3, np.int64)
    far_seeds(np.zeros((4, 4)), np.array([[0.99], [0.5], [0.0]]), seeds)
    assert seeds.tolist() == [3, 2, 0]


def test_medoids_out_of_range():
    with pytest.raises(ValueError, match="medoids must"):
        to_medoids(np.zeros((4, 4)), np.array([0, 4], np.int64), 1)
