"""Comparison of partitions: relational masses, indices, dominance, map."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import rand_score

from dempster import CredalPartition, FocalSets
from dempster.partition import (
    compare,
    consistency_index,
    credal_rand_index,
    dominates,
    embed_partitions,
    non_dominated,
    pairwise_nonspecificity,
)
from tests.strategies import partitions


def read(case, name):
    return CredalPartition(case[f"{name}_mass"], FocalSets(case[f"{name}_F"]))


def test_reference(reference):
    case = reference("pairwise_credal_ri")
    parts = [read(case, name) for name in case.parameters["partitions"]]
    for name, cp in zip(case.parameters["partitions"], parts, strict=True):
        masses = cp.relational().masses
        case.assert_equal(f"{name}_Me", masses[:, 0])
        case.assert_equal(f"{name}_M1", masses[:, 1])
        case.assert_equal(f"{name}_M0", masses[:, 2])
        case.assert_equal(f"{name}_nonspecificity", pairwise_nonspecificity(cp))
    for key, index in (
        ("credal_RI_j", credal_rand_index),
        ("credal_RI_b", lambda a, b: credal_rand_index(a, b, distance="belief")),
        ("credal_RI_c", consistency_index),
    ):
        case.assert_equal(key, [[index(a, b) for b in parts] for a in parts])


def test_pairwise_masses_by_hand():
    family = FocalSets.full(2)
    cp = CredalPartition(
        [[0.3, 0.6, 0.1, 0], [0, 0.7, 0.1, 0.2], [0, 0.1, 0.6, 0.3]], family
    )
    expected = [
        [0.30, 0.43, 0.13, 0.14],
        [0.30, 0.12, 0.37, 0.21],
        [0, 0.13, 0.43, 0.44],
    ]
    np.testing.assert_allclose(cp.relational().masses, expected, atol=1e-12)


@given(partitions(n=9), st.integers(1, 9))
def test_relational_masses_and_blocks(cp, rows):
    sets = [set(s) for s in cp.focal_sets]
    expected = []
    for i in range(len(cp)):
        for j in range(i + 1, len(cp)):
            m = np.zeros(4)
            for a, x in zip(sets, cp.masses[i], strict=True):
                for b, y in zip(sets, cp.masses[j], strict=True):
                    if not a or not b:
                        m[0] += x * y
                    elif not a & b:
                        m[2] += x * y
                    elif len(a) == len(b) == 1:
                        m[1] += x * y
                    else:
                        m[3] += x * y
            expected.append(m)
    relational = cp.relational()
    np.testing.assert_allclose(relational.masses, expected, atol=1e-12)
    np.testing.assert_allclose(
        cp.relational(relational.pairs).masses, expected, atol=1e-12
    )
    np.testing.assert_allclose(
        relational.totals(), np.sum(expected, axis=0), atol=1e-10
    )
    dense = relational.to_dense()
    np.testing.assert_allclose(dense[:, *relational.pairs.T].T, expected, atol=1e-12)
    count = np.zeros((len(cp), len(cp)), dtype=int)
    with mock.patch("dempster.partition.relational._PAIRS_PER_BLOCK", rows * len(cp)):
        blocks = list(relational.blocks())
    for indices, block in blocks:
        for i, row in zip(indices, block, strict=True):
            np.testing.assert_allclose(
                row[i - indices[0] + 1 :], dense[:, i, i + 1 :].T, atol=1e-12
            )
            count[i, i + 1 :] += 1
    assert (count == np.triu(np.ones_like(count), 1)).all()


@settings(deadline=None)
@given(partitions(n=8), st.integers(0, 1000), st.sampled_from(["jousselme", "belief"]))
def test_credal_rand_index_properties(a, seed, distance):
    rng = np.random.default_rng(seed)
    b = a[rng.permutation(len(a))]
    c = a[rng.permutation(len(a))]

    def similarity(x, y):
        return credal_rand_index(x, y, distance=distance)

    assert similarity(a, a) == pytest.approx(1)
    assert 0 <= similarity(a, b) <= 1 + 1e-12
    assert similarity(a, b) == pytest.approx(similarity(b, a))
    assert 1 - similarity(a, c) <= 1 - similarity(a, b) + 1 - similarity(b, c) + 1e-9
    renamed = CredalPartition(
        a.masses, FocalSets(a.focal_sets.membership[:, rng.permutation(a.n_clusters)])
    )
    assert similarity(renamed, b) == pytest.approx(similarity(a, b))
    assert consistency_index(renamed, b) == pytest.approx(consistency_index(a, b))
    assert pairwise_nonspecificity(renamed) == pytest.approx(pairwise_nonspecificity(a))


@settings(deadline=None)
@given(partitions(n=7), partitions(n=7))
def test_consistency_of_every_pair(a, b):
    m = a.relational().masses
    k = b.relational().masses
    conflict = (
        m[:, 0] + k[:, 0] - m[:, 0] * k[:, 0] + m[:, 1] * k[:, 2] + m[:, 2] * k[:, 1]
    )
    assert consistency_index(a, b) == pytest.approx(1 - conflict.mean())
    assert consistency_index(a, b) == pytest.approx(consistency_index(b, a))


@given(st.lists(st.integers(0, 3), min_size=2, max_size=30), st.integers(0, 1000))
def test_rand_index_of_hard_partitions(labels, seed):
    other = np.random.default_rng(seed).integers(0, 3, len(labels))
    expected = rand_score(labels, other)
    assert credal_rand_index(labels, other) == pytest.approx(expected)
    assert credal_rand_index(labels, other, distance="belief") == pytest.approx(
        expected
    )
    assert consistency_index(labels, other) == pytest.approx(expected)
    assert pairwise_nonspecificity(labels) == 0


def test_vacuous_partition():
    vacuous = CredalPartition(np.ones((5, 1)), FocalSets([[True] * 3]))
    assert consistency_index(vacuous, [0, 0, 1, 2, 1]) == pytest.approx(1)
    assert pairwise_nonspecificity(vacuous) == 1


def test_dominance():
    truth = [0, 0, 1, 1]
    vacuous = CredalPartition(np.ones((4, 1)), FocalSets([[True] * 2]))
    wrong = [0, 1, 0, 1]
    assert dominates(truth, vacuous, truth)
    assert dominates(truth, truth, truth)
    assert not dominates(vacuous, wrong, truth)  # more consistent but less precise
    assert not dominates(wrong, vacuous, truth)
    assert non_dominated([truth, vacuous, wrong], truth) == [0]
    assert non_dominated([vacuous, wrong], truth) == [0, 1]


def test_standard_error_of_sampled_pairs():
    rng = np.random.default_rng(0)
    family = FocalSets.pairs(3)
    a, b = (
        CredalPartition(rng.dirichlet(np.ones(len(family)), 300), family)
        for _ in range(2)
    )
    exact = credal_rand_index(a, b)
    assert exact.standard_error == 0
    assert exact.n_pairs == 300 * 299 // 2
    misses = 0
    for seed in range(20):
        sampled = credal_rand_index(a, b, n_pairs=2000, random_state=seed)
        assert sampled.n_pairs == 2000
        misses += abs(sampled - exact) > 2.6 * sampled.standard_error
    assert misses <= 2  # 1 % of the seeds if the standard error is correct
    assert "sampled pairs" in repr(sampled)
    assert credal_rand_index(a, b, n_pairs=2000, random_state=7) == credal_rand_index(
        a, b, n_pairs=2000, random_state=7
    )


def test_large_partitions():
    rng = np.random.default_rng(0)
    family = FocalSets.simple(4)
    a = CredalPartition(
        rng.dirichlet(np.ones(len(family)), 100_000).astype(np.float32), family
    )
    assert credal_rand_index(a, a, n_pairs=10_000, random_state=0) == pytest.approx(1)
    small = consistency_index(a[:2000], a[:2000])
    assert consistency_index(a, a) == pytest.approx(small, abs=0.01)
    assert pairwise_nonspecificity(a) == pytest.approx(
        pairwise_nonspecificity(a[:2000]), abs=0.01
    )
    assert len(a.relational()) == 100_000 * 99_999 // 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: credal_rand_index([0, 1], [0, 1, 1]), "a and b .* got 2 and 3"),
        (lambda: credal_rand_index([0, 1], [0, 1], distance="x"), "distance must be"),
        (lambda: credal_rand_index([0, 1], [0, 1], n_pairs=0), "n_pairs must be"),
        (lambda: pairwise_nonspecificity([0]), "at least two objects"),
        (lambda: embed_partitions([[0, 1]]), "at least two partitions"),
        (lambda: embed_partitions([[0, 1], [0, 1]], names=["a"]), "2 names"),
    ],
)
def test_invalid_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_map_of_partitions():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 60)
    noisy = truth.copy()
    noisy[:10] = rng.integers(0, 3, 10)
    far = rng.integers(0, 3, 60)
    result = embed_partitions([truth, (truth + 1) % 3, noisy, far], names=list("abcd"))
    distances = np.linalg.norm(
        result.coordinates[:, None] - result.coordinates[None], axis=2
    )
    assert result.dissimilarity[0, 1] == pytest.approx(0)  # renamed clusters
    assert distances[0, 1] == pytest.approx(0, abs=1e-3)
    np.testing.assert_allclose(distances, result.dissimilarity, atol=0.05)
    assert result.stress < 0.1


@pytest.mark.parametrize("distance", ["jousselme", "belief"])
def test_hard_partitions_of_many_objects_are_compared_exactly(distance, monkeypatch):
    rng = np.random.default_rng(0)
    one, other = rng.integers(100, size=(2, 50_000))
    other[:30_000] = one[:30_000]
    exact = credal_rand_index(one, other, distance=distance)
    assert (exact.standard_error, exact.n_pairs) == (0, 50_000 * 49_999 // 2)
    assert exact == pytest.approx(rand_score(one, other))
    few = one[:300], other[29_850:30_150]
    exact = credal_rand_index(*few, distance=distance)
    monkeypatch.setattr(compare, "_are_hard", lambda *partitions: False)
    assert exact == pytest.approx(credal_rand_index(*few, distance=distance))


def test_map_uses_the_same_pairs_for_all_comparisons(monkeypatch):
    monkeypatch.setattr(compare, "_EXACT_UP_TO", 100)
    monkeypatch.setattr(compare, "_DEFAULT_SAMPLE", 200)
    rng = np.random.default_rng(0)
    one, other = rng.integers(3, size=(2, 300))
    result = embed_partitions([one, one.copy(), other])
    assert result.dissimilarity[0, 2] == result.dissimilarity[1, 2]


def test_arguments_are_named_in_errors():
    with pytest.raises(ValueError, match="^reference must"):
        dominates([0, 1], [0, 1], None)
    with pytest.raises(ValueError, match="^b must"):
        dominates([0, 1], None, [0, 1])
    with pytest.raises(ValueError, match="^reference must"):
        non_dominated([[0, 1]], None)


def test_pairs_of_many_clusters():
    """Compressed rows give the masses of all pairs, and the sampled index is near the exact one."""
    rng = np.random.default_rng(0)
    family = FocalSets.with_pairs(60, [(k, k + 1) for k in range(59)])
    parts = []
    for noise in (0.5, 2.0):
        best = np.repeat(np.arange(60), 35)
        masses = np.zeros((2100, len(family)))
        rows = np.arange(2100)
        masses[rows, 1 + best] = 1
        masses[rows, rng.integers(len(family), size=2100)] += noise * rng.random(2100)
        masses /= masses.sum(axis=1, keepdims=True)
        parts.append(CredalPartition(sparse.csr_array(masses), family))
    some = parts[0][:90]
    pairs = np.array([(i, j) for i in range(90) for j in range(90) if i != j])
    dense = CredalPartition(some.masses, family).relational().to_dense()
    np.testing.assert_allclose(
        some.relational().pair_masses(pairs), dense[:, pairs[:, 0], pairs[:, 1]].T
    )
    sampled = credal_rand_index(*parts, random_state=0)
    assert sampled.n_pairs == 2_000_000
    exact = credal_rand_index(*parts, n_pairs=None)
    assert sampled == pytest.approx(exact, abs=5 * sampled.standard_error)
