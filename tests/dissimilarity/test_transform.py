"""Conflicts of all pairs, and the selection of pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dempster.dissimilarity.transform import (
    choose_landmarks,
    pairs_of_sparse,
    random_pairs,
    to_conflict,
)


def test_conflicts_of_a_list():
    np.testing.assert_allclose(
        to_conflict([[0, 1], [1, 0]], 2), to_conflict(np.array([[0, 1], [1, 0]]), 2)
    )
    assert to_conflict([0, 2], 2).tolist() == pytest.approx([0, 0.95])


# ---- random pairs --------------------------------------------------------------------------------


@settings(deadline=None)
@given(n=st.integers(2, 60), k=st.integers(1, 70), seed=st.integers(0, 2**32 - 1))
def test_partners_of_an_object_are_distinct(n, k, seed):
    pairs, count = random_pairs(n, k, np.random.default_rng(seed))
    assert np.all(pairs[:, 0] < pairs[:, 1])
    assert pairs.min() >= 0
    assert pairs.max() < n
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert np.isin(count, (1, 2)).all()
    # each object drew min(k, n - 1) others, none of them twice: a pair counts once for each of its
    # two drawers
    drawn = min(k, n - 1)
    assert count.sum() == n * drawn
    degree = np.bincount(pairs.ravel(), minlength=n)
    assert degree.min() >= min(drawn, n - 1)
    graph = sparse.coo_matrix((count, pairs.T), shape=(n, n))
    assert connected_components(graph, directed=False)[0] == 1


def test_all_pairs_if_there_are_few():
    pairs, count = random_pairs(6, 5, np.random.default_rng(0))
    np.testing.assert_array_equal(pairs, np.column_stack(np.triu_indices(6, 1)))
    assert np.all(count == 2)
    np.testing.assert_array_equal(
        random_pairs(6, 100, np.random.default_rng(0))[0], pairs
    )


@pytest.mark.parametrize("k", [7, 40])  # few of all objects, many of them
def test_partners_are_uniform(k):
    n = 50
    rng = np.random.default_rng(0)
    found = np.zeros((n, n))
    for _ in range(200):
        pairs, count = random_pairs(n, k, rng)
        found[pairs[:, 0], pairs[:, 1]] += count
    share = found[np.triu_indices(n, 1)] / (200 * 2 * k / (n - 1))
    assert share.mean() == pytest.approx(1)
    assert share.std() < 1.3 * np.sqrt((1 - k / (n - 1)) / (200 * 2 * k / (n - 1)))


def test_same_seed_same_pairs_across_blocks():
    one, two = (random_pairs(9000, 3, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one[0], two[0])
    assert one[1].sum() == 27_000


def test_landmarks_are_distinct_and_sorted():
    rng = np.random.default_rng(0)
    chosen = choose_landmarks(100, 30, rng)
    assert len(np.unique(chosen)) == 30
    assert np.all(np.diff(chosen) > 0)
    np.testing.assert_array_equal(choose_landmarks(10, 30, rng), np.arange(10))


# ---- sparse matrices of sampled pairs ------------------------------------------------------------


def stored(rows, columns, values, n=4):
    return sparse.coo_matrix((np.asarray(values, float), (rows, columns)), shape=(n, n))


@pytest.mark.parametrize("form", ["coo", "csr", "csc"])
@pytest.mark.parametrize("kind", [sparse.coo_matrix, sparse.coo_array])
def test_pairs_in_one_or_both_triangles(form, kind):
    D = kind(stored([0, 1, 2, 3, 3], [1, 0, 1, 0, 2], [2, 2, 5, 7, 0])).asformat(form)
    pairs, count, d = pairs_of_sparse(D)
    assert pairs.tolist() == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert count.tolist() == [2, 1, 1, 1]
    assert d.tolist() == [2, 7, 5, 0]  # a stored zero is a dissimilarity of zero


def test_zeros_on_the_diagonal_are_ignored():
    pairs, _, _ = pairs_of_sparse(stored([0, 0, 1], [0, 1, 1], [0, 3, 0]))
    assert pairs.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="diagonal"):
        pairs_of_sparse(stored([0, 0], [0, 1], [1, 3]))


def test_contradictory_values_of_a_pair():
    D = stored([0, 1, 2], [1, 0, 3], [2, 4, 1])
    with pytest.raises(ValueError, match="X must"):
        pairs_of_sparse(D)
    pairs, count, d = pairs_of_sparse(D, symmetrize=True)
    assert (pairs.tolist(), count.tolist(), d.tolist()) == (
        [[0, 1], [2, 3]],
        [2, 1],
        [3, 1],
    )


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-15), (np.float32, 1e-7)])
def test_rounding_errors_are_not_asymmetry(dtype, error):
    D = stored([0, 1], [1, 0], [2, 2 * (1 + error)], n=2).astype(dtype)
    assert pairs_of_sparse(D)[2][0] == pytest.approx(2, rel=1e-6)


def test_empty_sparse_matrix():
    pairs, count, d = pairs_of_sparse(stored([], [], []))
    assert pairs.shape == (0, 2)
    assert len(count) == len(d) == 0
