"""Initial medoids: weights equal repetitions, and the medoids are different objects."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances

from dempster.cluster._medoid_starts import medoid_starts
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
