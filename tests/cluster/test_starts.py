"""Starts: nearest centers and the first steps of k-means, compared with all distances."""

import numpy as np

from dempster.cluster._starts import find_nearest_centers, move_centers

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4))
CENTERS = rng.normal(size=(7, 4))


def by_all_distances(X, centers):
    return np.linalg.norm(X[:, None] - centers, axis=2).argmin(axis=1)


def test_nearest_centers_against_all_distances():
    np.testing.assert_array_equal(
        find_nearest_centers(X, CENTERS), by_all_distances(X, CENTERS)
    )


def test_steps_of_k_means_against_weighted_means():
    # a centre that nobody is near
    weights = rng.integers(1, 4, len(X)).astype(float)
    far = np.full((1, 4), 50.0)
    found = expected = np.concatenate([CENTERS, far])
    for _ in range(3):
        nearest = by_all_distances(X, expected)
        expected = np.array(
            [
                np.average(X[nearest == k], axis=0, weights=weights[nearest == k])
                if (nearest == k).any()
                else center
                for k, center in enumerate(expected)
            ]
        )
    np.testing.assert_allclose(move_centers(X, weights, found, 3), expected, atol=1e-12)
