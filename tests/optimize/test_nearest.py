"""Nearest centers, compared with all distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dempster.optimize.nearest import find_nearest_clusters


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_centers", [1, 2, 9, 64, 65])
@pytest.mark.parametrize("n_columns", [1, 3, 40])
def test_nearest_center(n_columns, n_centers, dtype):
    rng = np.random.default_rng(n_centers)
    X = rng.normal(size=(150, n_columns)).astype(dtype)
    centers = rng.normal(size=(n_centers, n_columns))
    squares = cdist(X, centers.astype(dtype), "sqeuclidean")
    near, found = find_nearest_clusters(X, centers, 1)
    np.testing.assert_array_equal(near[:, 0], squares.argmin(axis=1))
    np.testing.assert_allclose(found[:, 0], squares.min(axis=1), rtol=1e-5)


def test_first_of_equal_centers():
    centers = np.array([[5.0], [1.0], [1.0], [-1.0]])
    near, squares = find_nearest_clusters(np.zeros((70, 1)), centers, 1)
    assert set(near[:, 0]) == {1}
    assert set(squares[:, 0]) == {1.0}
