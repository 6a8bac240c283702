"""The doubt of EVCLUS does not depend on the number of dimensions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS
from dempster.cluster.evclus._model import _RATE, Contrast, Surroundings


def two_clusters(n_features, apart, rng, n=500):
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, n_features))
    X[:, 0] += apart * y
    axes = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0]
    return X @ axes, y


def contrast_of(X, labels, weights=None):
    D = cdist(X, X)
    every = np.arange(len(X))

    def blocks():
        return [(every[:99], every, D[:99]), (every[99:], every, D[99:])]

    c = int(labels.max()) + 1
    around = Surroundings.from_dissimilarities(blocks, len(X), weights, c)
    return around.compare(blocks, labels, c).contrast, around


@pytest.mark.parametrize(
    ("apart", "most", "agreement"), [(6, 0.02, 0.95), (3, 0.12, 0.5)]
)
def test_same_doubt_in_all_dimensions(apart, most, agreement):
    shares = []
    for n_features in (2, 12, 60, 170):
        X, y = two_clusters(n_features, apart, np.random.default_rng(31 + n_features))
        model = EVCLUS(2, random_state=0).fit(X)
        shares.append(len(model.credal_partition_.ambiguous) / len(X))
        assert adjusted_rand_score(y, model.labels_) > agreement
    assert max(shares) < most
    assert max(shares) - min(shares) < 0.08


def test_plausibilities_are_those_of_normal_clusters():
    """The logarithm of their ratio is proportional to the position between the means."""
    for n_features in (10, 40, 120):
        rng = np.random.default_rng(n_features)
        X, y = two_clusters(n_features, 5, rng, 800)
        contrast, around = contrast_of(X, y)
        affinity = around.affinity(y, contrast)
        new, labels = rng.normal(size=(400, n_features)), np.repeat([0, 1], 200)
        means = np.array([X[y == k].mean(axis=0) for k in range(2)])
        new += means[labels]
        found = contrast.plausibilities(affinity.by_points(new, X)[0])
        true = -0.5 * cdist(new, means) ** 2
        log_ratio = np.log(found[:, 1] / found[:, 0])
        slope = np.polyfit(true[:, 1] - true[:, 0], log_ratio, 1)[0]
        assert slope == pytest.approx(1, abs=0.25)


def test_exponent_against_covariance_matrices():
    rng = np.random.default_rng(5)
    spread = np.geomspace(0.3, 2, 15)
    X = rng.normal(size=(700, 15)) * spread
    labels = np.repeat([0, 1], [500, 200])
    X[labels == 1] = 3 * X[labels == 1] + 40
    contrast, around = contrast_of(X, labels)
    squares = spread**2
    variance = np.array([1, 9]) * (squares**2).sum() / squares.sum()
    traces = np.array([1, 9]) * squares.sum()
    means = np.array([around.scales[labels == k].mean() for k in range(2)])
    bandwidths = means**2 / (2 * _RATE)
    sizes = np.array([500, 200])
    expected = 1 + sizes @ (traces / bandwidths) / (
        sizes @ (variance * traces / bandwidths**2)
    )
    assert contrast.exponent == pytest.approx(expected, rel=0.1)


def test_exponent_of_few_objects_is_unbiased():
    """Clusters of ten objects in many dimensions have the exponent of large clusters."""
    rng = np.random.default_rng(8)
    found = []
    for size in (10, 200):
        labels = np.repeat(np.arange(600 // size), size)
        X = rng.normal(size=(600, 60)) + 50 * labels[:, None]
        contrast, around = contrast_of(X, labels)
        bandwidth = around.scales.mean() ** 2 / (2 * _RATE)
        found.append((contrast.exponent - 1) / bandwidth)
    assert found[0] == pytest.approx(found[1], rel=0.25)


def test_weights_are_repetitions():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 6))
    labels = (X[:, 0] > 0).astype(np.int64)
    two = np.concatenate([X, X + 1e-9])
    contrast, _ = contrast_of(two, np.tile(labels, 2))
    once, _ = contrast_of(X, labels, np.full(200, 2.0))
    assert once.exponent == contrast_of(X, labels)[0].exponent
    assert contrast.exponent == pytest.approx(once.exponent, rel=0.2)


def test_degenerate_clusters_keep_their_affinities():
    same = np.repeat(np.eye(3), 40, axis=0)
    labels = np.repeat([0, 1, 2], 40)
    assert contrast_of(same, labels)[0].exponent == 1
    few = np.random.default_rng(0).normal(size=(120, 2))
    pairs = np.repeat(np.arange(60), 2)
    assert contrast_of(few, pairs)[0].exponent == 1


def test_unused_clusters():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    labels = rng.integers(0, 2, 150) * 2  # Cluster 1 is empty.
    contrast, around = contrast_of(X, labels)
    assert np.isfinite(contrast.within).all()
    affinity = around.affinity(labels, contrast)
    found = contrast.plausibilities(affinity.by_points(X, X)[0])
    assert (found[:, 1] == 0).all()


def test_plausibilities_of_distant_objects_are_zero():
    affinities = np.array([[0, 0], [1e-40, 2e-40], [0.5, 0.25]])
    found = Contrast(np.ones(2), 100.0).plausibilities(affinities)
    np.testing.assert_allclose(found, [[0, 0], [0.5**100, 1], [1, 0.5**100]])


def test_small_cluster_in_many_dimensions_keeps_its_objects():
    rng = np.random.default_rng(19)
    y = np.repeat([0, 1], [450, 45])
    X = rng.normal(size=(495, 70))
    X[y == 1, 0] += 7
    model = EVCLUS(2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_evidence_is_the_logarithm_of_the_plausibility():
    X, _ = two_clusters(30, 4, np.random.default_rng(3))
    model = EVCLUS(2, random_state=0).fit(X)._model
    new = X[:5] + 0.1
    found = [model.evidence(row[None], -1).total for row in new]
    contour = model.contrast.plausibilities(
        model.affinity.by_points(new, model.references.source.objects)[0]
    )
    np.testing.assert_allclose(
        np.diff(found)[:, 0], np.diff(np.log(contour))[:, 0], rtol=1e-6
    )


def test_many_clusters_in_many_dimensions():
    rng = np.random.default_rng(17)
    y = np.repeat(np.arange(53), 40)
    X = 5 * rng.normal(size=(53, 45))[y] / np.sqrt(45) * np.sqrt(2)
    X += rng.normal(size=X.shape)
    model = EVCLUS(53, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert len(model.credal_partition_.ambiguous) < 0.1 * len(X)
