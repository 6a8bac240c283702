"""Conflicts of all pairs from one product of coordinates, in single precision."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dempster.dissimilarity.transform import conflicts_among, decay, to_conflict


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 33, 100])
def test_conflicts_of_all_pairs(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    delta = conflicts_among(X, decay(1.0))
    assert delta.dtype == np.float32
    np.testing.assert_array_equal(delta, delta.T)
    np.testing.assert_array_equal(np.diag(delta), 0)
    np.testing.assert_allclose(delta, to_conflict(cdist(X, X), 1.0), atol=5e-6)


def test_distances_from_none_to_many():
    """Conflicts from 0 to 1, along a line."""
    x = np.concatenate([[0.0], np.geomspace(1e-6, 30, 500)])
    found = conflicts_among(x[:, None], 1.0)
    np.testing.assert_allclose(found, -np.expm1(-(np.subtract.outer(x, x) ** 2)), atol=1e-4)  # of products, lost digits
    assert (found.min(), found.max()) == (0, 1)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_far_from_the_origin(offset):
    X = np.random.default_rng(0).normal(size=(40, 3)) + offset
    delta = to_conflict(cdist(X, X), 2.0)
    np.testing.assert_allclose(conflicts_among(X, decay(2.0)), delta, atol=1e-6)
    np.testing.assert_allclose(conflicts_among(X.astype(np.float32), decay(2.0)), delta, atol=2e-4 if offset else 1e-6)


def test_a_point_far_from_the_others_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[7] = 1e7
    np.testing.assert_allclose(conflicts_among(X, decay(2.0)), to_conflict(cdist(X, X), 2.0), atol=1e-4)
