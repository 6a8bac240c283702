"""Revision of plausibilities by constraints, compared with all labelings of the objects."""

from itertools import product

import numpy as np
import pytest

from dempster.cluster._revision import Links, improvement, revise_plausibilities
from dempster.cluster.evclus._revision import adapted_metrics, pooled_covariance
from dempster.constraints import Constraints

TREES = [
    Constraints([(0, 1)], []),
    Constraints([], [(0, 1)]),
    Constraints([(0, 1), (3, 4)], [(1, 2), (2, 3)]),
    Constraints([(0, 1), (0, 2)], [(0, 3), (0, 4)]),
]


def normalize(values):
    return values / values.sum(axis=1, keepdims=True)


def most_plausible(contour, known, xi):
    """Return the largest plausibility of a labeling for each object and cluster."""
    q, c = contour.shape
    best = np.zeros((q, c))
    for labels in map(np.array, product(range(c), repeat=q)):
        must = known.must_link
        cannot = known.cannot_link
        n_violated = np.sum(labels[must[:, 0]] != labels[must[:, 1]])
        n_violated += np.sum(labels[cannot[:, 0]] == labels[cannot[:, 1]])
        value = contour[np.arange(q), labels].prod() * np.exp(-10 * xi * n_violated)
        best[np.arange(q), labels] = np.maximum(best[np.arange(q), labels], value)
    return normalize(best)


@pytest.mark.parametrize("known", TREES, ids=repr)
@pytest.mark.parametrize("xi", [0.05, 0.5])
def test_largest_plausibility_of_labelings(known, xi):
    # The bound on the factors hardly changes plausibilities near one.
    contour = np.random.default_rng(0).uniform(0.8, 1, (5, 3))
    before, after = revise_plausibilities(contour, Links.from_constraints(known, 5), xi)
    np.testing.assert_allclose(before, normalize(contour), rtol=1e-12)
    expected = most_plausible(contour, known, xi)
    np.testing.assert_allclose(after, expected, rtol=0.15)
    assert (after.argmax(axis=1) == expected.argmax(axis=1)).all()


def test_constraints_hold_within_cycles_and_clear_clusters():
    contour = np.full((6, 3), 1e-9)
    contour[:3, 0] = contour[3:, 1] = 1
    contour[2, 1] = contour[3, 0] = 1e-4
    known = Constraints([(2, 3), (3, 4), (2, 4)], [(0, 1), (0, 3)])
    _, after = revise_plausibilities(contour, Links.from_constraints(known, 6), 0.5)
    labels = after.argmax(axis=1)
    assert labels[2] == labels[3] == labels[4] == 1
    assert labels[0] != labels[1]
    assert labels[5] == 1


def test_satisfied_constraints_only_confirm():
    contour = np.array([[1, 0.4], [1, 1e-6], [0.2, 1]])
    known = Constraints([(0, 1)], [(0, 2)])
    before, after = revise_plausibilities(
        contour, Links.from_constraints(known, 3), 0.5
    )
    assert (after.argmax(axis=1) == before.argmax(axis=1)).all()
    assert (after.max(axis=1) >= before.max(axis=1) - 1e-12).all()
    assert after[0, 0] > 0.95 > before[0, 0]


def test_improvement():
    satisfied = np.array([True, False, False, False])
    assert improvement(satisfied, satisfied) == 0
    assert improvement(satisfied, np.array([True, True, False, False])) == 1
    assert improvement(satisfied, np.array([False, True, True, True])) == 1
    assert improvement(satisfied, np.array([False, True, False, False])) == 0


def test_pooled_covariance():
    rng = np.random.default_rng(0)
    scales = np.array([1.0, 3.0])
    labels = np.repeat([0, 1], 500)
    X = rng.normal(size=(1000, 2)) * scales + 20 * labels[:, None]
    covariance = pooled_covariance(X, labels)
    np.testing.assert_allclose(covariance, np.diag(scales**2), atol=0.6)
    assert pooled_covariance(labels[:, None] * np.ones((1, 2)), labels) is None
    assert pooled_covariance(X * 1e200, labels) is None


def test_must_links_adapt_the_metric():
    """The clusters divide the long axis of two classes that differ in the short one."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 50)
    X = np.column_stack([rng.normal(3 * y, 0.5), rng.uniform(-3, 3, 100)])
    clusters = (X[:, 1] > 0).astype(int)
    pairs = rng.permutation(100).reshape(-1, 2)
    for n, n_metrics in ((2, 1), (50, 2)):
        known = Constraints.from_pairs(pairs[:n], y)
        links = Links.from_constraints(known, 100)
        metrics = [matrix for matrix, _ in adapted_metrics(X, clusters, links)]
        assert len(metrics) == n_metrics
    ratios = [matrix[0, 0] / matrix[1, 1] for matrix in metrics]
    assert ratios[0] < 1
    assert ratios[1] > 10
    assert (np.linalg.eigvalsh(metrics[1]) > 0).all()
    assert adapted_metrics(X * 1e200, clusters, links) == []
