"""Model-based hierarchical clustering."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from dempster.mixture.gaussian_mixture import merge_tree


@pytest.mark.parametrize("model", ["EII", "VII", "VVV"])
def test_partitions_of_mclust(reference, model):
    case = reference("mclust_hc_iris")
    tree = merge_tree(case["x"], model=model)
    for column, g in enumerate(case.parameters["G"]):
        assert adjusted_rand_score(case[f"{model}_SVD"][:, column], tree.labels(g)) == 1
    if model == "VVV":
        scores = [adjusted_rand_score(case["y"], tree.labels(g)) for g in range(2, 6)]
        case.assert_equal("ari_VVV_SVD", scores)


def test_without_sphering_as_in_mclust(reference):
    """All merges of EII, and the last merges of the other criteria, which break ties differently."""
    case = reference("mclust_hc_iris")
    for model, exact in (("EII", 9), ("VII", 3), ("VVV", 3)):
        tree = merge_tree(case["x"], model=model, sphere=False)
        for g in range(2, exact + 1):
            assert (
                adjusted_rand_score(case[f"{model}_VARS"][:, g - 2], tree.labels(g))
                == 1
            )


def test_eii_is_the_method_of_ward():
    X = np.random.default_rng(0).normal(size=(80, 3))
    tree = merge_tree(X, model="EII", sphere=False)
    ward = linkage(X, "ward")
    for g in (1, 2, 5, 20, 79, 80):
        assert adjusted_rand_score(fcluster(ward, g, "maxclust"), tree.labels(g)) == 1


def naive_labels(X, n_clusters, spherical):
    """Merge the best of all pairs, with costs computed from the rows."""
    d = X.shape[1]
    alpha = X.var(axis=0).sum() / d

    def cost(rows):
        W = (X[rows] - X[rows].mean(axis=0)).T @ (X[rows] - X[rows].mean(axis=0))
        if spherical or len(rows) <= d:
            determinant = 0.0
        else:
            determinant = np.linalg.det(W / len(rows))
        return len(rows) * np.log(determinant + (np.trace(W) + alpha) / len(rows))

    clusters = [[i] for i in range(len(X))]
    while len(clusters) > n_clusters:
        pairs = [
            (i, j) for i in range(len(clusters)) for j in range(i + 1, len(clusters))
        ]
        rises = [
            cost(clusters[i] + clusters[j]) - cost(clusters[i]) - cost(clusters[j])
            for i, j in pairs
        ]
        i, j = pairs[int(np.argmin(rises))]
        clusters[i] += clusters.pop(j)
    labels = np.empty(len(X), int)
    for k, rows in enumerate(clusters):
        labels[rows] = k
    return labels


@pytest.mark.parametrize("model", ["VII", "VVV"])
@pytest.mark.parametrize("n_clusters", [2, 4, 8])
def test_merges_by_definition(model, n_clusters):
    X = 5 * np.random.default_rng(1).normal(size=(24, 2))
    expected = naive_labels(X, n_clusters, model == "VII")
    found = merge_tree(X, model=model, sphere=False).labels(n_clusters)
    assert adjusted_rand_score(expected, found) == 1


def test_order_repetition_and_weights():
    X = load_iris().data
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    labels = merge_tree(X).labels(4)
    np.testing.assert_array_equal(merge_tree(X[order]).labels(4), labels[order])
    Y = rng.normal(size=(60, 3))
    weights = rng.integers(0, 4, 60)
    rows = np.repeat(np.arange(60), weights)
    weighted = merge_tree(Y, sample_weight=weights).labels(5)
    np.testing.assert_array_equal(weighted[rows], merge_tree(Y[rows]).labels(5))
    assert (weighted[weights == 0] == -1).all()


def test_constant_and_collinear_attributes():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 20])
    X = np.column_stack([X, np.ones(40), X[:, 0] + X[:, 1]])
    np.testing.assert_array_equal(merge_tree(X).labels(2), np.repeat([0, 1], 20))
