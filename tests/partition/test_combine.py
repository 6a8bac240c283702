"""Combination of partitions."""

import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.partition import (
    combine,
    combine_partitions,
    consistency_index,
    credal_rand_index,
    pairwise_nonspecificity,
)
from dempster.partition.combine import _PartitionFit, combine_relations
from dempster.partition.relational import pair_forms
from tests.strategies import partitions, random_masses

RULES = ["dempster", "dubois_prade", "yager", "average", "disjunctive", "conjunctive"]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from(RULES))
def test_closed_forms_agree_with_general_rules(seed, n_sources, rule):
    rng = np.random.default_rng(seed)
    full = FocalSets.full(2)  # empty, same, different, unknown
    relations = [random_masses(rng, 5, 4) for _ in range(n_sources)]
    if rule != "conjunctive":
        relations = [
            np.column_stack([np.zeros(5), r[:, 1:] + r[:, :1] / 3]) for r in relations
        ]
    relations = [0.99 * r + 0.01 * np.array([0, 0, 0, 1]) for r in relations]
    sources = [MassFunctions(r, full) for r in relations]
    general = sources[0].combine(*sources[1:], rule=rule).to_family(full).masses
    np.testing.assert_allclose(combine_relations(relations, rule), general, atol=1e-12)


@settings(deadline=None, max_examples=15)
@given(partitions(n=14, max_clusters=3), st.integers(0, 1000))
def test_sweeps_never_decrease_the_index(target, seed):
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(len(target), 1))
    relation = target.relational().masses
    family = FocalSets.full(target.n_clusters)
    problem = _PartitionFit(pairs, relation, family, len(target))
    masses = rng.dirichlet(np.ones(len(family)), len(target))
    index = [problem.index(masses)]
    for _ in range(15):
        masses, _, _ = problem.run(masses, 1, 0.0)
        index.append(problem.index(masses))
    assert np.all(np.diff(index) >= -1e-9)
    assert index[-1] > index[0]
    partition = CredalPartition(masses, family)
    assert problem.index(masses) == pytest.approx(
        float(credal_rand_index(partition, target)), abs=1e-9
    )


def test_row_problem_against_a_general_solver():
    from scipy.optimize import minimize

    from dempster.optimize.row_fit import no_links, sweep_rows, symmetric_pairs

    rng = np.random.default_rng(0)
    family = FocalSets.pairs(3)
    n = 8
    f = len(family)
    masses = random_masses(rng, n, f)
    pairs = np.column_stack(np.triu_indices(n, 1))
    weights = rng.random(len(pairs))
    targets = rng.random((len(pairs), 2))
    forms = np.ascontiguousarray(pair_forms(family)[1:3])
    indptr, indices, w, which = symmetric_pairs(n, pairs, weights)
    links = (
        np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]),
        np.array([5, 2], dtype=np.int32),
        np.array([0.3, 0.3]),
        family.conflict.copy(),
    )

    def objective(row, i):
        m = masses.copy()
        m[i] = row
        value = 0.0
        for (a, b), weight, target in zip(pairs, weights, targets, strict=True):
            value += weight * sum(
                (m[a] @ form @ m[b] - t) ** 2
                for form, t in zip(forms, target, strict=True)
            )
        return value + 0.3 * m[2] @ family.conflict @ m[5]

    for i in (2, 5, 7):
        ours = masses.copy()
        sweep_rows(
            ours,
            np.array([i]),
            indptr,
            indices,
            w,
            targets[which],
            forms,
            False,
            *links,
        )
        theirs = minimize(
            objective, masses[i], args=(i,), method="SLSQP", bounds=[(0, 1)] * f,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1}, options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        assert objective(ours[i], i) <= theirs.fun + 1e-9
        assert ours[i].min() >= 0
        assert ours[i].sum() == pytest.approx(1)
        untouched = np.arange(n) != i
        np.testing.assert_array_equal(ours[untouched], masses[untouched])
    assert no_links(n, f)[0].sum() == 0


@pytest.mark.parametrize("rule", RULES)
def test_equal_partitions(rule):
    labels = np.repeat([0, 1, 2], 8)
    renamed = (labels + 1) % 3
    combined = combine_partitions([labels, renamed], rule, random_state=0)
    assert credal_rand_index(combined, labels) == pytest.approx(1, abs=1e-4)
    assert combined.metadata["credal_rand_index"] == pytest.approx(1, abs=1e-4)


def test_exact_solution():
    rng = np.random.default_rng(3)
    family = FocalSets.pairs(3, empty=False)
    truth = CredalPartition(random_masses(rng, 40, len(family)), family)
    combined = combine_partitions([truth], "average", random_state=0)
    assert credal_rand_index(combined, truth) > 0.999


def test_complementary_partitions():
    """One source separates the first cluster from the rest, the other the last one."""
    truth = np.repeat([0, 1, 2], 20)
    family = FocalSets.pairs(3, empty=False)
    left = np.zeros((60, len(family)))
    right = np.zeros((60, len(family)))
    left[
        np.arange(60),
        [family.index({0}) if y == 0 else family.index({1, 2}) for y in truth],
    ] = 1
    right[
        np.arange(60),
        [family.index({2}) if y == 2 else family.index({0, 1}) for y in truth],
    ] = 1
    sources = [CredalPartition(left, family), CredalPartition(right, family)]
    combined = combine_partitions(sources, "dempster", random_state=0)
    assert pairwise_nonspecificity(combined) < min(
        pairwise_nonspecificity(s) for s in sources
    )
    assert consistency_index(combined, truth) > 0.95


def test_contradicting_hard_partitions_under_dempster():
    combined = combine_partitions(
        [[0, 0, 1, 1], [0, 1, 0, 1]], "dempster", random_state=0
    )
    assert np.isfinite(combined.masses).all()


def test_different_numbers_of_clusters_and_outliers():
    a = [0, 0, 0, 1, 1, 1, 2, 2]
    b = [0, 0, 0, 1, 1, 1, 1, -1]
    combined = combine_partitions([a, b], random_state=0)
    assert combined.n_clusters == 3
    assert (
        combine_partitions(
            [a, b], n_clusters=2, focal_sets="simple", random_state=0
        ).n_clusters
        == 2
    )
    kept = combine_partitions([b, b], "conjunctive", random_state=0)
    assert kept.outliers.tolist() == [7]


def test_many_objects_use_sampled_pairs(monkeypatch):
    monkeypatch.setattr(combine, "_PAIRS_PER_OBJECT", 20)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 3000)
    noisy = np.where(rng.random(3000) < 0.1, rng.integers(0, 3, 3000), truth)
    combined = combine_partitions([truth, noisy], n_init=2, max_iter=10, random_state=0)
    assert combined.metadata["n_pairs"] <= 3000 * 20
    assert consistency_index(combined, truth) > 0.9
    again = combine_partitions([truth, noisy], n_init=2, max_iter=10, random_state=0)
    np.testing.assert_array_equal(again.masses, combined.masses)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1], [0, 1, 1]],), "partitions .* got \\[2, 3\\]"),
        (([],), "at least one partition"),
        (([[0]],), "at least two objects"),
        (([[0, 1]], "x"), "rule must be"),
    ],
)
def test_invalid_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        combine_partitions(*arguments)
    for keyword, value in (
        ("n_init", 0),
        ("focal_sets", "x"),
    ):
        with pytest.raises(ValueError, match=keyword):
            combine_partitions([[0, 1, 1]], **{keyword: value})
    with pytest.raises(ValueError, match="focal_sets .* n_clusters=2"):
        combine_partitions([[0, 1, 1]], n_clusters=2, focal_sets=FocalSets.simple(3))


@pytest.mark.usefixtures("default_interrupts")
def test_interrupt():
    labels = [np.random.default_rng(k).integers(0, 3, 400) for k in range(3)]
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        combine_partitions(labels, n_init=100_000, random_state=0)
