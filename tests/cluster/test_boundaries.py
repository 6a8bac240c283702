"""Pairs of clusters that are selected by the objects between them."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dempster.cluster import ECM, EGMM, EVCLUS
from dempster.posterior.boundaries import count_boundaries, neighbor_family


def naive_counts(costs, weights):
    counts = np.zeros((costs.shape[1], costs.shape[1]))
    for row, weight in zip(costs, weights, strict=True):
        order = np.argsort(row)
        counts[order[0], order[0]] += weight
        counts[order[0], order[1]] += weight
    return counts


def test_counts_are_those_of_the_two_nearest_clusters():
    rng = np.random.default_rng(0)
    costs = rng.random((200, 5))
    weights = rng.integers(0, 4, 200).astype(float)
    expected = naive_counts(costs, weights)
    np.testing.assert_allclose(count_boundaries(costs, weights), expected)
    repeated = np.repeat(costs, weights.astype(int), axis=0)
    np.testing.assert_allclose(count_boundaries(repeated), expected)


def test_tied_clusters_count_in_any_order():
    costs = np.array([[0.0, 1.0, 1.0], [2.0, 2.0, 5.0], [0.0, np.inf, np.inf]])
    counts = count_boundaries(costs)
    assert counts.tolist() == [[3, 2, 1], [1, 1, 0], [0, 0, 0]]
    order = [2, 0, 1]
    assert (count_boundaries(costs[:, order]) == counts[np.ix_(order, order)]).all()


def test_rare_boundaries_do_not_make_neighbors():
    counts = np.diag([1000.0, 1000.0, 1000.0])
    counts[0, 1] = 10
    counts[1, 2] = 9
    assert list(neighbor_family(counts))[4:] == [(0, 1)]
    assert list(neighbor_family(counts, empty=False, omega=True))[3:] == [
        (0, 1),
        (0, 1, 2),
    ]


def test_a_hub_is_the_neighbor_of_all_its_satellites():
    c = 21
    counts = np.diag(np.full(c, 20.0))
    counts[1:, 0] = 20
    family = neighbor_family(counts)
    pairs = [clusters for clusters in family if len(clusters) == 2]
    assert pairs == [(0, k) for k in range(1, c)]


def test_one_cluster_has_no_neighbors():
    assert list(neighbor_family(count_boundaries(np.ones((4, 1))))) == [(), (0,)]


@pytest.mark.parametrize("method", [ECM, EGMM, EVCLUS])
def test_number_of_pairs_in_many_dimensions(method):
    """Nearly all of the 435 pairs are neighbors in the Gabriel graph of the centers."""
    X, _ = make_blobs(1500, 20, centers=30, cluster_std=3.0, random_state=0)
    model = method(30, n_init=1, random_state=0).fit(X)
    pairs = model.focal_sets_.membership[model.focal_sets_.cardinality == 2]
    assert 30 < len(pairs) <= 8 * 30
    assert pairs.any(axis=0).all()


@pytest.mark.parametrize("method", [ECM, EGMM])
def test_online_learning_finds_the_neighbors_of_all_blocks(method):
    X, _ = make_blobs(600, 2, centers=6, random_state=3)
    init = method(6, random_state=0).fit(X)._model
    centers = init.centers if method is ECM else init.means * init.unit + init.origin
    whole = method(6, init=centers, random_state=0).partial_fit(X)
    model = method(6, init=centers, random_state=0)
    for block in np.array_split(X, 20):
        model.partial_fit(block, update=False)
    assert model.focal_sets_ == whole.focal_sets_
    assert (model.focal_sets_.cardinality == 2).sum() >= 5
