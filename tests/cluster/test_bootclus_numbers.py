"""Computations of BootClus: quantiles of pairs, posteriors under many fits, masses that match intervals."""

import numpy as np
import pytest

from dempster import CredalPartition, FocalSets
from dempster.cluster.bootclus import (
    Bootstraps,
    compute_pair_intervals,
    draw_references,
)
from dempster.optimize.blocks import block_map
from dempster.optimize.pair_quantiles import (
    quantile_ranks,
    quantiles_between,
    quantiles_of_pairs,
    quantiles_within,
)
from dempster.optimize.row_fit import descend_intervals
from dempster.partition.relational import pair_forms

FOCAL_3 = FocalSets.pairs(3, empty=False, omega=False)

# ---- quantiles of pairs --------------------------------------------------------------------------


def posteriors(n, c, n_fits, seed=0, concentration=0.3):
    """Return random probabilities (n, c, B), some of them certain."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(c, concentration), (n, n_fits)).astype(np.float32)
    # products that are all 0 or 1
    P[0] = np.eye(c)[0]
    P[1] = np.eye(c)[c - 1]
    P[2] = np.float32(1e-12)
    P[2, :, 0] = 1
    return np.ascontiguousarray(P.transpose(0, 2, 1))


@pytest.mark.parametrize("n_fits", [1, 2, 3, 21, 100, 101, 500])
@pytest.mark.parametrize("confidence", [0.001, 0.5, 0.8, 0.9, 0.95, 0.999])
def test_quantiles_equal_those_of_numpy(n_fits, confidence):
    P = posteriors(8, 3, n_fits, seed=n_fits)
    values = np.einsum("ikb,jkb->ijb", P.astype(float), P.astype(float))
    expected = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2], axis=2)
    lower = np.zeros((8, 8))
    upper = np.zeros((8, 8))
    ranks = quantile_ranks(n_fits, confidence)
    quantiles_within(P, *ranks, lower, upper, 0, 3)  # in two parts
    quantiles_within(P, *ranks, lower, upper, 3, 8)
    off = ~np.eye(8, dtype=bool)
    np.testing.assert_allclose(lower[off], expected[0][off], rtol=1e-6, atol=2e-9)
    np.testing.assert_allclose(upper[off], expected[1][off], rtol=1e-6, atol=2e-9)
    low = np.empty((3, 5))
    high = np.empty((3, 5))
    quantiles_between(P[:3].copy(), P[3:].copy(), *ranks, low, high)
    np.testing.assert_array_equal(low, lower[:3, 3:])
    np.testing.assert_array_equal(high, upper[:3, 3:])
    pairs = np.array([[5, 2], [7, 6]])
    below = np.empty(2)
    above = np.empty(2)
    quantiles_of_pairs(P, pairs, *ranks, below, above, 0, 2)
    np.testing.assert_array_equal(below, [lower[5, 2], lower[7, 6]])
    np.testing.assert_array_equal(above, [upper[5, 2], upper[7, 6]])


@pytest.mark.parametrize("name", ["bootclus_ci_iris", "bootclus_ci_faithful"])
def test_intervals_of_given_mixtures(reference, name):
    case = reference(name)
    fits = Bootstraps(case["boot_pro"], case["boot_mean"], case["boot_cov"])
    P = fits.posteriors(case["x"])
    first = P[:, :, 0].astype(float)
    case.assert_equal("P_first", first @ first.T)
    with block_map(2) as apply:
        bounds = np.stack(compute_pair_intervals(P, case.parameters["conf"], apply))
    case.assert_equal(
        "CI",
        bounds,
        where=np.broadcast_to(~np.eye(P.shape[0], dtype=bool), bounds.shape),
    )


# ---- masses that match intervals -----------------------------------------------------------------


def belief_forms(family):
    return np.ascontiguousarray(pair_forms(family)[1:3])


def problem(lower, upper):
    targets = np.stack([lower, 1 - upper]).astype(np.float32)
    for target in targets:
        np.fill_diagonal(target, 0)
    return targets


@pytest.mark.parametrize(
    "name",
    ["bootclus_masses_iris", "bootclus_masses_faithful", "bootclus_masses_iris_simple"],
)
def test_masses_of_given_bounds(reference, name):
    case = reference(name)
    family = FocalSets(case["F"].astype(bool)[1:])
    forms = belief_forms(family)
    targets = problem(case["P_lower"], case["P_upper"])
    n = len(case["m0"])
    masses = case["m0"].copy()
    descend_intervals(masses, targets, forms, np.arange(n), 1, 0.0)
    case.assert_equal("mass_pass1", np.column_stack([np.zeros(n), masses]))
    masses = case["m0"].copy()
    history, converged = descend_intervals(
        masses, targets, forms, np.arange(n), 1000, 1e-8
    )
    assert converged
    case.assert_equal("mass", np.column_stack([np.zeros(n), masses]))
    case.assert_equal("sum_squares", 2 * history[-1])
    partition = CredalPartition(masses, family)
    case.assert_equal("N", partition.nonspecificity_index())
    relations = partition.relational().to_dense()
    off = np.broadcast_to(~np.eye(n, dtype=bool), (2, n, n))
    case.assert_equal("BelPl", np.stack([relations[1], 1 - relations[2]]), where=off)
    untied = case["y_pl_tied"] == 0
    np.testing.assert_array_equal(partition.labels[untied], case["y_pl"][untied])


@pytest.mark.parametrize(
    "family",
    [FOCAL_3, FocalSets.full(3, empty=False), FocalSets.simple(3, empty=False)],
)
def test_objective_never_increases(family):
    rng = np.random.default_rng(0)
    n = 30
    bounds = np.sort(rng.random((2, n, n)), axis=0)
    targets = problem(*((b + b.T) / 2 for b in bounds))
    masses = rng.dirichlet(np.ones(len(family)), n)
    forms = belief_forms(family)
    history, _ = descend_intervals(masses, targets, forms, np.arange(n), 40, 0.0)
    assert (np.diff(history) <= 1e-9 * history[0]).all()
    assert (masses >= 0).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1)
    naive = 0.0  # equation 7 of the paper
    sets = list(family)
    for i in range(n):
        for j in range(i + 1, n):
            together = sum(
                masses[i, a] * masses[j, a] for a, s in enumerate(sets) if len(s) == 1
            )
            apart = sum(
                masses[i, a] * masses[j, b]
                for a, s in enumerate(sets)
                for b, t in enumerate(sets)
                if not set(s) & set(t)
            )
            naive += (together - targets[0, i, j]) ** 2 + (
                apart - targets[1, i, j]
            ) ** 2
    assert history[-1] == pytest.approx(naive, rel=1e-9)


def test_exact_intervals_are_recovered():
    rng = np.random.default_rng(1)
    truth = CredalPartition(rng.dirichlet(np.full(6, 0.3), 60), FOCAL_3)
    relations = truth.relational().to_dense()
    posterior = truth.pignistic()
    masses = np.full((60, 6), 0.1 / 6)
    masses[:, FOCAL_3.singleton_index] += 0.9 * posterior
    history, _ = descend_intervals(
        masses,
        problem(relations[1], 1 - relations[2]),
        belief_forms(FOCAL_3),
        np.arange(60),
        5000,
        1e-9,
    )
    assert history[-1] < 1e-5
    np.testing.assert_allclose(masses, truth.masses, atol=0.02)


# ---- reference objects and their intervals -------------------------------------------------------


def test_references_of_every_cluster():
    labels = np.repeat([0, 1, 2], [970, 25, 5])
    rows = draw_references(labels, 100, np.random.default_rng(0))
    assert len(np.unique(rows)) == len(rows)
    counts = np.bincount(labels[rows])
    assert counts[0] >= 90
    assert counts[1] >= 20
    assert counts[2] == 5
    assert draw_references(labels, 5000, np.random.default_rng(0)).tolist() == list(
        range(1000)
    )
