"""Initial medoids: weights equal repetitions, and the medoids are different objects."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from dempster.cluster._medoid_starts import labelings_from_means, medoid_starts
from dempster.data.sampling import sample_in_order


@pytest.fixture
def blobs():
    return make_blobs(80, 2, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)


@pytest.mark.parametrize("seed", range(5))
def test_weights_equal_repetitions(blobs, seed):
    X, y = blobs
    counts = np.random.default_rng(seed).integers(1, 4, 80)
    owner = np.repeat(np.arange(80), counts)
    D = pairwise_distances(X)
    weighted = medoid_starts(D, 3, 4, np.random.default_rng(seed), counts.astype(float))
    repeated = medoid_starts(D[np.ix_(owner, owner)], 3, 4, np.random.default_rng(seed))
    assert [seeds.tolist() for seeds in weighted] == [
        owner[seeds].tolist() for seeds in repeated
    ]
    assert sorted(y[weighted[0]]) == [0, 1, 2]


def test_equal_weights_have_no_effect(blobs):
    D = pairwise_distances(blobs[0])
    plain, weighted = (
        medoid_starts(D, 3, 4, np.random.default_rng(0), weights)
        for weights in (None, np.ones(80))
    )
    assert [seeds.tolist() for seeds in plain] == [seeds.tolist() for seeds in weighted]


def test_samples_are_sorted():
    order = np.array([3, 0, 2, 1, 4])
    weights = np.array([1.0, 0, 2, 1, 5])
    positions, same = sample_in_order(order, weights, 9, np.random.RandomState(0))
    assert positions.tolist() == [3, 0, 2, 4]  # without the one that does not count
    assert same.tolist() == [1, 1, 2, 5]
    total = np.zeros(5)
    for seed in range(300):
        positions, counts = sample_in_order(
            order, weights, 3, np.random.RandomState(seed)
        )
        assert counts.sum() == 3
        total[positions] += counts
    np.testing.assert_allclose(total / total.sum(), weights / weights.sum(), atol=0.03)


def test_clusters_around_means_include_a_small_distant_one():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(606, 2))
    X[600:, 0] += 11
    D = pairwise_distances(X)
    labelings = labelings_from_means(D, 2, 5, rng)
    sizes = [np.bincount(labels, minlength=2).min() for labels in labelings]
    assert 6 in sizes


def test_clusters_around_means_are_those_of_k_means():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 30))
    X[:70, 0] += 6
    X[140:, 1] += 8
    weights = rng.integers(1, 4, 150).astype(float)
    for labels in labelings_from_means(pairwise_distances(X), 3, 2, rng, weights):
        means = [
            np.average(X[labels == k], axis=0, weights=weights[labels == k])
            for k in range(3)
        ]
        nearest = pairwise_distances(X, means).argmin(axis=1)
        np.testing.assert_array_equal(labels, nearest)
