"""Fuzzy, noise, possibilistic and rough clustering against independent implementations, from the same start."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs

from dempster import FocalSets
from dempster.cluster import (
    ECM,
    FuzzyCMeans,
    NoiseClustering,
    PossibilisticCMeans,
    RoughKMeans,
)
from dempster.partition import CredalPartition

X = load_iris().data
START = X[[0, 60, 120]] + 0.05
EXACT = {"init": START, "tol": 0.0, "max_iter": 2000}


def squared_distances(V):
    return ((X[:, None] - V[None]) ** 2).sum(axis=2)


def fuzzy_c_means(beta, n_iter, delta=np.inf):
    """Bezdek's algorithm, with Davé's noise cluster if ``delta`` is finite."""
    V = START
    for _ in range(n_iter):
        D = squared_distances(V)
        closeness = D ** (-1 / (beta - 1))
        if np.isinf(delta):
            noise = 0
        else:
            noise = delta ** (-2 / (beta - 1))
        U = closeness / (closeness.sum(axis=1, keepdims=True) + noise)
        V = (U**beta).T @ X / (U**beta).sum(axis=0)[:, None]
    return U, V


@pytest.mark.filterwarnings("ignore:.*did not converge")
@pytest.mark.parametrize("beta", [1.3, 2.0])
def test_fuzzy_c_means(beta):
    model = FuzzyCMeans(3, beta=beta, **EXACT).fit(X)
    memberships, centers = fuzzy_c_means(beta, 60)
    np.testing.assert_allclose(model.credal_partition_.contour, memberships, atol=1e-5)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_noise_clustering():
    model = NoiseClustering(3, delta=0.7, **EXACT).fit(X)
    memberships, centers = fuzzy_c_means(2.0, 80, delta=0.7)
    np.testing.assert_allclose(model.credal_partition_.contour, memberships, atol=1e-5)
    np.testing.assert_allclose(
        model.credal_partition_.empty, 1 - memberships.sum(axis=1), atol=1e-5
    )
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-5)
    same = ECM(
        3, focal_sets=FocalSets.simple(3, omega=False), beta=2.0, delta=0.7, **EXACT
    ).fit(X)
    np.testing.assert_array_equal(
        model.credal_partition_.masses, same.credal_partition_.masses
    )


@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_possibilistic_c_means():
    model = PossibilisticCMeans(3, beta=1.8, **EXACT).fit(X)
    U, V = fuzzy_c_means(1.8, 60)
    D = squared_distances(V)
    scales = (U**1.8 * D).sum(axis=0) / (U**1.8).sum(axis=0)
    np.testing.assert_allclose(model.scales_, scales, rtol=1e-6)
    for _ in range(200):
        T = 1 / (1 + (squared_distances(V) / scales) ** (1 / 0.8))
        V = (T**1.8).T @ X / (T**1.8).sum(axis=0)[:, None]
    np.testing.assert_allclose(model.cluster_centers_, V, atol=1e-5)
    np.testing.assert_allclose(model.credal_partition_.contour, T, atol=1e-5)
    expected = CredalPartition.from_contour(T).to_family(model.focal_sets_)
    np.testing.assert_allclose(
        model.credal_partition_.masses, expected.masses, atol=1e-5
    )
    objective = (T**1.8 * squared_distances(V) + scales * (1 - T) ** 1.8).sum()
    assert model.objective_ == pytest.approx(objective, rel=1e-6)


def rough_k_means(rule, threshold, lower_weight):
    """Return the upper approximations and the means when the approximations do not change any more."""
    V = START
    before = None
    while True:
        D = np.sqrt(squared_distances(V))
        upper = [{k for k in range(3) if d[k] <= threshold * min(d)} for d in D]
        if upper == before:
            return upper, V
        before = upper
        V = V.copy()
        for k in range(3):
            lower = [x for x, u in zip(X, upper, strict=True) if u == {k}]
            boundary = [
                x for x, u in zip(X, upper, strict=True) if k in u and len(u) > 1
            ]
            if rule == "pi":
                weights = [1 / len(u) * (k in u) for u in upper]
                V[k] = np.average(X, axis=0, weights=weights)
            elif not lower or not boundary:
                V[k] = np.mean(lower or boundary, axis=0)
            else:
                if rule == "lingras":
                    others = boundary
                else:
                    others = lower + boundary
                V[k] = lower_weight * np.mean(lower, axis=0) + (
                    1 - lower_weight
                ) * np.mean(others, axis=0)


@pytest.mark.parametrize("rule", ["lingras", "peters", "pi"])
@pytest.mark.parametrize(
    ("threshold", "lower_weight"), [(1.5, 0.7), (1.2, 0.9), (6.0, 0.5)]
)
def test_rough_k_means(rule, threshold, lower_weight):
    model = RoughKMeans(
        3, rule=rule, threshold=threshold, lower_weight=lower_weight, **EXACT
    ).fit(X)
    upper, means = rough_k_means(rule, threshold, lower_weight)
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-9)
    partition = model.credal_partition_
    assert [set(np.flatnonzero(row)) for row in partition.assignment()] == upper
    assert (partition.masses.max(axis=1) == 1).all()
    np.testing.assert_array_equal(
        partition.lower(1), [i for i, u in enumerate(upper) if u == {1}]
    )


def test_rough_k_means_with_threshold_one_is_k_means():
    model = RoughKMeans(3, threshold=1.0, **EXACT).fit(X)
    expected = KMeans(3, init=START, n_init=1, tol=0).fit(X)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.objective_ == pytest.approx(expected.inertia_)


@pytest.mark.parametrize("kind", [PossibilisticCMeans, RoughKMeans])
def test_initial_partition_and_blocks(kind):
    labels = load_iris().target
    given = kind(3, init=CredalPartition.from_hard(labels)).fit(X)
    means = np.array([X[labels == k].mean(axis=0) for k in range(3)])
    expected = kind(3, init=means).fit(X)
    np.testing.assert_allclose(given.cluster_centers_, expected.cluster_centers_)
    blocks = kind(3, init=means).fit([X[:70], X[70:]])
    np.testing.assert_allclose(blocks.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_allclose(
        blocks.credal_partition_.compute().masses,
        expected.credal_partition_.masses,
        atol=1e-9,
    )


def test_too_many_clusters_for_all_sets():
    with pytest.raises(ValueError, match="at most 20|memory"):
        RoughKMeans(21, n_init=1, random_state=0).fit(X)


@pytest.mark.parametrize("c", [2, 3, 4])
def test_ambiguous_objects_have_the_label_of_the_nearest_prototype(c):
    X, _ = make_blobs(240, 3, centers=c, cluster_std=2.5, random_state=c)
    model = RoughKMeans(c, random_state=0).fit(X[:200])
    for rows, partition, labels in (
        (X[:200], model.credal_partition_, model.labels_),
        (X[200:], model.predict_mass(X[200:]), model.predict(X[200:])),
    ):
        nearest = cdist(rows, model.cluster_centers_).argmin(axis=1)
        assert len(np.unique(nearest[partition.ambiguous])) > 1
        np.testing.assert_array_equal(labels, nearest)
        np.testing.assert_array_equal(partition.labels, nearest)
        for k in range(c):
            assert set(np.flatnonzero(labels == k)) <= set(partition.upper(k))
