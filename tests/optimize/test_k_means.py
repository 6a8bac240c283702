"""Weighted k-means."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster.optimize.k_means import NearestCenters, k_means


def inertia(X, centers, labels, weights=1.0):
    return float((weights * ((X - centers[labels]) ** 2).sum(axis=1)).sum())


def rng(seed=0):
    return np.random.RandomState(seed)


@pytest.mark.parametrize(
    ("X", "k"),
    [(load_iris().data, 3), (make_blobs(700, 5, centers=12, random_state=0)[0], 12)],
)
def test_as_good_as_scikit_learn(X, k):
    ours = [inertia(X, *k_means(X, k, rng(seed))) for seed in range(20)]
    others = [
        KMeans(k, n_init=1, random_state=seed).fit(X).inertia_ for seed in range(20)
    ]
    assert min(ours) <= min(others) * (1 + 1e-3)
    assert np.mean(ours) <= np.mean(others) * 1.1


def test_labels_and_centers_agree():
    X = make_blobs(500, 3, centers=6, cluster_std=3.0, random_state=1)[0]
    centers, labels = k_means(X, 6, rng())
    np.testing.assert_array_equal(labels, cdist(X, centers).argmin(axis=1))
    means = np.array([X[labels == k].mean(axis=0) for k in range(6)])
    # The last moves are below the tolerance.
    assert np.abs(means - centers).max() < 0.1


def test_weights_are_repetitions():
    X = make_blobs(60, 2, centers=4, random_state=2)[0]
    weights = np.random.default_rng(0).integers(0, 4, size=60, dtype=np.intp)
    repeated = np.repeat(X, weights, axis=0)
    scale = np.sqrt(repeated.var(axis=0).mean() / X.var(axis=0).mean())
    assert 0.5 < scale < 2  # The tolerance depends on the variance.
    centers, labels = k_means(X, 4, rng(3), weights)
    again, _ = k_means(repeated, 4, rng(3))
    np.testing.assert_allclose(centers, again, rtol=1e-12)
    assert set(labels) <= set(range(4))
    without = k_means(X, 4, rng(3), np.where(np.arange(60) == 7, 0.0, 1.0))[0]
    # A row without weight has no influence.
    far = np.where(np.arange(60)[:, None] == 7, 1e3, X)
    np.testing.assert_allclose(
        k_means(far, 4, rng(3), np.where(np.arange(60) == 7, 0.0, 1.0))[0].min(),
        without.min(),
        atol=1,
    )


def test_seeds():
    X = make_blobs(300, 2, centers=9, cluster_std=2.0, random_state=0)[0]
    first = k_means(X, 9, rng(1))
    again = k_means(X, 9, rng(1))
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert (k_means(X, 9, rng(2))[0] != first[0]).any()


@pytest.mark.parametrize("seed", range(20))
def test_no_empty_clusters(seed):
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0], [9.0, 1.0]], 5, axis=0)
    centers, labels = k_means(X, 4, rng(seed))
    assert np.bincount(labels).tolist() == [5, 5, 5, 5]
    assert inertia(X, centers, labels) == 0


def test_more_clusters_than_distinct_rows():
    centers, labels = k_means(np.repeat([[0.0], [1.0]], 3, axis=0), 4, rng())
    assert centers.shape == (4, 1)
    assert inertia(np.repeat([[0.0], [1.0]], 3, axis=0), centers, labels) == 0


def test_one_cluster_and_float32():
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    centers, labels = k_means(X, 1, rng())
    np.testing.assert_allclose(centers[0], X.mean(axis=0, dtype=float), rtol=1e-12)
    assert not labels.any()


# ---- many clusters -------------------------------------------------------------------------------


def blobs(k=60, per_cluster=20, seed=0):
    y = np.repeat(np.arange(k), per_cluster)
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(k, 8))[y] + 0.15 * generator.normal(size=(len(y), 8))
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_exchanged_centers_find_all_clusters(seed):
    X, y = blobs(200, 10, seed)
    restarts = min(inertia(X, *k_means(X, 200, rng(i))) for i in range(10))
    centers, labels = k_means(X, 200, rng(seed), n_runs=10)
    assert inertia(X, centers, labels) < 0.98 * restarts
    assert adjusted_rand_score(y, labels) > 0.98


def test_exchanged_centers_are_a_fixed_point_of_k_means():
    X = np.random.default_rng(0).normal(size=(900, 3))
    centers, labels = k_means(X, 40, rng(), n_runs=2)
    np.testing.assert_array_equal(labels, cdist(X, centers).argmin(axis=1))
    means = np.array([X[labels == k].mean(axis=0) for k in range(40)])
    np.testing.assert_allclose(centers, means, atol=1e-12)
    first = k_means(X, 40, rng())
    assert inertia(X, centers, labels) <= inertia(X, *first)


def test_exchanges_with_weights_are_those_of_repeated_rows():
    X, _ = blobs()
    weights = np.random.default_rng(0).integers(0, 4, size=len(X), dtype=np.intp)
    centers, _ = k_means(X, 60, rng(3), weights, n_runs=2)
    again, _ = k_means(np.repeat(X, weights, axis=0), 60, rng(3), n_runs=2)
    np.testing.assert_allclose(centers, again, rtol=1e-9)


def test_exchanges_with_equal_rows():
    X = np.repeat(np.arange(40.0)[:, None], 5, axis=0)
    centers, labels = k_means(X, 40, rng(), n_runs=2)
    np.testing.assert_array_equal(np.sort(centers[:, 0]), np.arange(40))
    np.testing.assert_array_equal(centers[labels], X)


def test_only_changed_centers_are_compared():
    """Test the labels against those of all centers after every iteration."""
    X, _ = blobs()
    weights = np.random.default_rng(1).uniform(size=len(X))
    clusters = NearestCenters(X, weights, X[::30] + 0.3)
    for _ in range(6):
        D = cdist(X, clusters.centers)
        np.testing.assert_array_equal(clusters.labels, D.argmin(axis=1))
        np.testing.assert_allclose(clusters.squares, D.min(axis=1) ** 2, rtol=1e-9)
        clusters.iterate(1)
    assert clusters.cost == pytest.approx(weights @ clusters.squares)


def test_steps_of_k_means_against_weighted_means():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(500, 4))
    weights = generator.integers(1, 4, len(X)).astype(float)
    far = np.full((1, 4), 50.0)  # a center that is nearest to no row
    expected = np.concatenate([X[:7], far])
    clusters = NearestCenters(X, weights, expected)
    clusters.iterate(3)
    for _ in range(3):
        nearest = cdist(X, expected).argmin(axis=1)
        expected = np.array(
            [
                np.average(X[nearest == k], axis=0, weights=weights[nearest == k])
                if (nearest == k).any()
                else center
                for k, center in enumerate(expected)
            ]
        )
    np.testing.assert_allclose(clusters.centers, expected, atol=1e-12)
