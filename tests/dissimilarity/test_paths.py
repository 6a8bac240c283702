"""Path distances and the density tree."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS, RECM, ECMdd
from dempster.dissimilarity.paths import DensityTree, PathMetric, _average_neighbors
from dempster.dissimilarity.sources import AttributeSource, PathSource
from dempster.persistence import load, save


@pytest.fixture
def moons():
    return make_moons(200, noise=0.08, random_state=1)


def naive_paths(reach):
    """Compute the largest step on the best path by relaxation over all intermediate objects (Floyd, Warshall)."""
    paths = reach.copy()
    for k in range(len(paths)):
        paths = np.minimum(paths, np.maximum(paths[:, [k]], paths[[k]]))
    np.fill_diagonal(paths, 0)
    return paths


def test_average_neighbors_agrees_with_means_of_coordinates(moons):
    X, _ = moons
    D = cdist(X, X)
    nearest = np.argsort(D, axis=1, kind="stable")[:, :6]
    means = X[nearest].mean(axis=1)
    np.testing.assert_allclose(_average_neighbors(D), cdist(means, means), atol=1e-7)


def test_path_distances_agree_with_a_naive_computation(moons):
    X, _ = moons
    D = _average_neighbors(cdist(X, X))
    core = np.sort(D, axis=1)[:, 5]
    expected = naive_paths(np.maximum(D, np.maximum(core[:, None], core)))
    np.testing.assert_allclose(
        DensityTree.from_dissimilarities(cdist(X, X)).path_distances(),
        expected,
        atol=1e-10,
    )


def test_prominence_is_the_smaller_excess_of_mass(moons):
    X, _ = moons
    tree = DensityTree.from_dissimilarities(cdist(X, X))
    members = [{i} for i in range(len(X))]
    for t, (a, b, height, size) in enumerate(tree.merges):
        parts = members[int(a)], members[int(b)]
        expected = min(
            sum(np.log(max(height, tree.cores.min()) / tree.cores[i]) for i in part)
            for part in parts
        )
        assert tree.prominences[t] == pytest.approx(expected, abs=1e-9)
        members.append(parts[0] | parts[1])
        assert len(members[-1]) == size


def test_cut_separates_the_moons(moons):
    X, moon = moons
    tree = DensityTree.from_dissimilarities(cdist(X, X))
    assert adjusted_rand_score(moon, tree.cut(2)) == 1
    for k in (1, 3, 10):
        assert len(np.unique(tree.cut(k))) == k
    prominence, ratio = tree.support(2)
    assert prominence > 1
    assert ratio > 2


def test_cut_does_not_separate_a_single_object():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (100, 2)), rng.normal(8, 1, (100, 2)), [[100.0, 100.0]]]
    labels = DensityTree.from_dissimilarities(cdist(X, X)).cut(2)
    assert adjusted_rand_score(np.repeat([0, 1], 100), labels[:200]) == 1


def test_equal_objects_are_possible():
    X = np.repeat(np.arange(4.0)[:, None] * 5, 20, axis=0)
    tree = DensityTree.from_dissimilarities(cdist(X, X))
    assert np.isfinite(tree.prominences).all()
    assert adjusted_rand_score(np.repeat(range(4), 20), tree.cut(4)) == 1


def test_source_of_some_objects(moons):
    X, _ = moons
    which = np.arange(0, 200, 2)
    source = PathSource(AttributeSource(X), which)
    expected = DensityTree.from_dissimilarities(
        cdist(X[which], X[which])
    ).path_distances()
    np.testing.assert_allclose(source.block(which[:5], which), expected[:5], atol=1e-6)
    np.testing.assert_allclose(
        source.pairs(which[:5], which[5:10]),
        expected[range(5), range(5, 10)],
        atol=1e-6,
    )
    np.testing.assert_array_equal(
        source.subset(which[:4]).matrix, source.block(which[:4], which[:4])
    )
    assert len(source) == 200


def test_path_metric_of_all_objects_is_exact(moons):
    X, _ = moons
    X = np.unique(X, axis=0)
    expected = np.minimum(
        DensityTree.from_dissimilarities(cdist(X, X)).path_distances(), cdist(X, X)
    )
    source = AttributeSource(X, "path")
    np.testing.assert_allclose(source.block(slice(None), slice(None)), expected)
    i = np.arange(20)
    j = np.arange(30, 50)
    np.testing.assert_allclose(source.pairs(i, j), expected[i, j])


def test_path_metric_by_way_of_landmarks():
    X, moon = make_moons(5000, noise=0.06, random_state=0)
    source = AttributeSource(X, "path")
    assert len(source.parameters["landmarks"]) < len(X)
    some = np.arange(300)
    D = source.block(some, some)
    np.testing.assert_array_equal(np.diagonal(D), 0)
    np.testing.assert_allclose(D, D.T)
    same = moon[some][:, None] == moon[some]
    assert np.quantile(D[same], 0.95) < np.quantile(D[~same], 0.05)
    np.testing.assert_array_equal(
        PathMetric(**source.parameters).block(X[:5], X[:9]), D[:5, :9]
    )


@pytest.mark.parametrize("make", [EVCLUS, RECM, ECMdd])
def test_clusterers_with_path_distances(make, moons, tmp_path):
    X, moon = moons
    model = make(2, metric="path", random_state=0).fit(X)
    assert adjusted_rand_score(moon, model.labels_) > 0.95
    assert adjusted_rand_score(moon[::3], model.predict(X[::3] + 0.01)) > 0.95
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
