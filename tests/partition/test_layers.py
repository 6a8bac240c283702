"""Coarser partitions, in which clusters are merged."""

from itertools import chain, pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM
from dempster.partition.layers import cut_tree, merge_clusters, select_numbers

RNG = np.random.default_rng(0)
COARSE = np.array([[0, 0, 0], [40, 0, 0], [0, 40, 0], [0, 0, 40]])
FINE = np.repeat(COARSE, 15, axis=0) + RNG.normal(size=(60, 3)) * 4
X, Y = make_blobs(2400, 3, centers=FINE, random_state=0)


@pytest.fixture(scope="module")
def partition():
    return ECM(60, n_init=3, random_state=0).fit(X).credal_partition_


def test_layers_find_groups_of_clusters(partition):
    [layer] = partition.layers([4])
    assert adjusted_rand_score(Y // 15, layer.labels) > 0.99
    assert layer.metadata["method"] == "ECM"
    assert sorted(chain(*layer.metadata["merged"])) == list(range(60))


def test_automatic_layers(partition):
    layers = partition.layers()
    numbers = [layer.n_clusters for layer in layers]
    assert 4 in numbers
    assert all(2 <= coarse <= fine / 2 for fine, coarse in pairwise([60, *numbers]))
    [found] = [layer for layer in layers if layer.n_clusters == 4]
    assert adjusted_rand_score(Y // 15, found.labels) > 0.99
    assert CredalPartition([[1.0]], FocalSets.from_sets(1, [(0,)])).layers() == []


def test_numbers_of_layers():
    """Five groups of four clusters, whose similarities are 0.5 within and 0.01 between groups."""
    group = np.arange(20) // 4
    overlaps = np.where(group[:, None] == group, 0.5, 0.01)
    np.fill_diagonal(overlaps, 1)
    assert select_numbers(merge_clusters(overlaps)) == [5]
    assert select_numbers(merge_clusters(np.eye(8))) == []


def test_layers_are_coarsenings(partition):
    numbers = [60, 20, 7, 1]
    layers = partition.layers(numbers)
    assert [layer.n_clusters for layer in layers] == numbers
    np.testing.assert_allclose(layers[0].masses, partition.masses)
    for fine, coarse in pairwise(layers):
        parts = {}
        for k, members in enumerate(coarse.metadata["merged"]):
            inside = [
                j
                for j, other in enumerate(fine.metadata["merged"])
                if set(other) <= set(members)
            ]
            parts[k] = inside
        expected = fine.coarsen(parts)
        np.testing.assert_allclose(
            coarse.masses, expected.to_family(coarse.focal_sets).masses, atol=1e-12
        )
        assert len(coarse.ambiguous) <= len(fine.ambiguous)


def test_dense_and_compressed_masses_have_the_same_layers(partition):
    dense = CredalPartition(partition.masses, partition.focal_sets)
    np.testing.assert_allclose(dense.merge_tree, partition.merge_tree, atol=1e-9)
    for one, other in zip(partition.layers([9]), dense.layers([9]), strict=True):
        np.testing.assert_allclose(one.masses, other.masses, atol=1e-12)


def test_clusters_with_common_objects_merge_first():
    sets = FocalSets.with_pairs(4, [(0, 2), (1, 3)], omega=False)
    masses = np.eye(len(sets))[[1, 2, 3, 4, 5, 5, 6]]
    layer = CredalPartition(masses, sets, frame="abcd").layers([2])[0]
    assert layer.metadata["merged"] == [["a", "c"], ["b", "d"]]
    assert len(layer.ambiguous) == 0
    assert layer.labels.tolist() == [0, 1, 0, 1, 0, 0, 1]


def test_clusters_without_objects():
    overlaps = np.diag([3.0, 0.0, 2.0])
    overlaps[0, 2] = overlaps[2, 0] = 1
    tree = merge_clusters(overlaps)
    assert cut_tree(tree, 2).tolist() == [0, 1, 0]
    assert cut_tree(tree, 3).tolist() == [0, 1, 2]
    assert cut_tree(tree, 1).tolist() == [0, 0, 0]


def test_one_cluster():
    partition = CredalPartition([[1.0]], FocalSets.from_sets(1, [(0,)]))
    assert partition.layers([1])[0].n_clusters == 1
    assert partition.merge_tree.shape == (0, 4)


@pytest.mark.parametrize("numbers", [[61], [0], [2.5], 3, ["two"]])
def test_bad_numbers(partition, numbers):
    with pytest.raises(ValueError, match="n_clusters"):
        partition.layers(numbers)
    assert partition.layers([]) == []


def test_similarity_of_clusters():
    """The similarity is the sum of sqrt(pl_k pl_l) over objects, for clusters of total size one."""
    plausibilities = np.array([[0.9, 0.1], [0.5, 0.5], [0.3, 0.7]])
    sets = FocalSets.from_sets(2, [(0,), (1,)])
    partition = CredalPartition(plausibilities, sets)
    share = plausibilities / plausibilities.sum(axis=0)
    coefficient = np.sqrt(share.prod(axis=1)).sum()
    np.testing.assert_allclose(partition.merge_tree[0, 2], 1 - coefficient)
