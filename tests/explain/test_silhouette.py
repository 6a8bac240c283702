"""Credal silhouettes compared with scikit-learn and with loops."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances, silhouette_samples

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM
from dempster.explain import credal_silhouette, doubt_scores
from tests.strategies import random_masses

X, y = make_blobs(90, 3, centers=4, cluster_std=2.0, random_state=0)
FAMILY = FocalSets.pairs(4)
SOFT = CredalPartition(random_masses(np.random.default_rng(0), 90, len(FAMILY)), FAMILY)


def loop_silhouettes(partition, D):
    w = partition.pignistic(normalized=False)
    out = np.zeros(len(D))
    for i in range(len(D)):
        others = [j for j in range(len(D)) if j != i]
        near = {}
        for k in range(partition.n_clusters):
            total = sum(w[j, k] for j in others)
            if total > 0:
                near[k] = sum(w[j, k] * D[i, j] for j in others) / total
        value = known = 0.0
        for members, mass in zip(
            partition.focal_sets, partition.masses[i], strict=True
        ):
            if not members:
                continue
            known += mass
            rivals = [near[k] for k in near if k not in members]
            if rivals:
                b = min(rivals)
                parts = [
                    (b - near[k]) / max(b, near[k]) if k in near else 0 for k in members
                ]
                value += mass * sum(parts) / len(members)
        if known:
            out[i] = value / known
        else:
            out[i] = 0
    return out


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_hard_partitions_agree_with_scikit_learn(metric):
    result = credal_silhouette(y, X, metric=metric)
    np.testing.assert_allclose(
        result.values, silhouette_samples(X, y, metric=metric), atol=1e-7
    )
    np.testing.assert_array_equal(result.values, result.label_values)
    assert (
        result.mean
        == result.certain_mean
        == result.label_mean
        == pytest.approx(result.weighted_mean)
    )
    alone = np.where(np.arange(90) == 3, 9, y)  # a cluster of one object
    np.testing.assert_allclose(
        credal_silhouette(alone, X).values, silhouette_samples(X, alone), atol=1e-7
    )


def test_soft_partitions_agree_with_loops():
    result = credal_silhouette(SOFT, X)
    np.testing.assert_allclose(
        result.values, loop_silhouettes(SOFT, pairwise_distances(X)), atol=1e-9
    )
    sizes = np.array([len(list(SOFT.focal_sets)[j]) for j in SOFT.best_set])
    np.testing.assert_array_equal(result.sizes, sizes)
    assert result.mean == pytest.approx(result.values[sizes > 0].mean())
    assert result.certain_mean == pytest.approx(result.values[sizes == 1].mean())
    weights = np.where(sizes > 0, 1 - doubt_scores(SOFT), 0)
    assert result.weighted_mean == pytest.approx(
        weights @ result.values / weights.sum()
    )


def test_blocks_and_dissimilarities(monkeypatch):
    whole = credal_silhouette(SOFT, X).values
    monkeypatch.setattr("dempster.explain.silhouette.MAX_BLOCK_CELLS", 700)
    np.testing.assert_allclose(credal_silhouette(SOFT, X).values, whole, atol=1e-12)
    D = pairwise_distances(X)
    np.testing.assert_allclose(
        credal_silhouette(SOFT, D, metric="precomputed").values, whole, atol=1e-9
    )


def test_ambiguous_object():
    points = np.array([[0.0], [1.0], [4.9], [9.0], [10.0], [60.0], [61.0]])
    sets = [(0,), (0,), (0, 1), (1,), (1,), (2,), (2,)]
    ambiguous = CredalPartition.from_rough([[k in s for k in range(3)] for s in sets])
    hard = CredalPartition.from_hard([0, 0, 0, 1, 1, 2, 2])
    assert (
        credal_silhouette(ambiguous, points).values[2]
        > 0.9
        > 0.1
        > credal_silhouette(hard, points).values[2]
    )
    sets[0] = (0, 1)  # although it is clearly in cluster 0
    undue = CredalPartition.from_rough([[k in s for k in range(3)] for s in sets])
    points[5:] -= 45
    assert (
        credal_silhouette(undue, points).values[0]
        < credal_silhouette(ambiguous, points).values[0]
    )


def test_samples():
    many, _ = make_blobs(3000, 2, centers=5, random_state=1)
    partition = ECM(5, n_init=1, random_state=0).fit(many).credal_partition_
    whole, some = (
        credal_silhouette(partition, many, sample_size=s, random_state=0)
        for s in (None, 600)
    )
    assert (len(whole), len(some)) == (3000, 600)
    assert some.is_sampled
    assert not whole.is_sampled
    assert "600 of 3,000 objects sampled" in str(some)
    assert abs(some.mean - whole.mean) < 4 * some.values.std() / np.sqrt(600)
    np.testing.assert_allclose(some.values, whole.values[some.objects], atol=0.05)
    again = credal_silhouette(partition, many, sample_size=600, random_state=0)
    np.testing.assert_array_equal(some.objects, again.objects)


def test_samples_contain_small_clusters():
    many, groups = make_blobs(
        [2000, 5, 2000], 2, centers=[[0, 0], [9, 9], [0, 18]], random_state=0
    )
    result = credal_silhouette(groups, many, sample_size=200, random_state=0)
    whole = credal_silhouette(groups, many)
    np.testing.assert_allclose(result.values, whole.values[result.objects], atol=0.05)


def test_tables_and_text():
    named = CredalPartition(
        SOFT.masses, FAMILY, [f"o{i}" for i in range(90)], frame="abcd"
    )
    table = pd.DataFrame(X, index=[f"o{i}" for i in range(90)])
    result = credal_silhouette(named, table)
    np.testing.assert_allclose(result.values, credal_silhouette(SOFT, X).values)
    other = credal_silhouette(named, table.iloc[::-1])
    np.testing.assert_allclose(other.values, result.values, atol=1e-9)
    frame = result.to_frame()
    assert list(frame.columns) == [
        "set",
        "label",
        "doubt",
        "silhouette",
        "label_silhouette",
    ]
    assert frame.index[0] == "o0"
    clusters = result.per_cluster()
    assert list(clusters.index) == list("abcd")
    assert clusters["certain"].tolist() == [len(named.lower(k)) for k in "abcd"]
    assert clusters["possible"].tolist() == [len(named.upper(k)) for k in "abcd"]
    assert "cluster b" in result.to_text()
    assert repr(result) == result.to_text()


def test_nothing_to_compare():
    one = credal_silhouette(np.zeros(5, dtype=int), np.arange(5.0)[:, None])
    assert one.values.tolist() == [0] * 5
    same = credal_silhouette([0, 0, 1, 1], np.ones((4, 2)))
    assert same.values.tolist() == [0] * 4
    outliers = CredalPartition(np.tile([1.0, 0, 0, 0], (4, 1)), FocalSets.full(2))
    result = credal_silhouette(outliers, np.arange(4.0)[:, None])
    assert result.values.tolist() == [0] * 4
    assert np.isnan([result.mean, result.certain_mean, result.weighted_mean]).all()
    assert "-" in result.to_text()
    empty = CredalPartition(
        [[1.0, 0], [0, 1.0], [1.0, 0]], FocalSets.from_sets(3, [(0,), (2,)])
    )
    np.testing.assert_allclose(
        credal_silhouette(empty, [[0.0], [5], [1]]).values,
        silhouette_samples([[0.0], [5], [1]], [0, 2, 0]),
    )
    assert credal_silhouette([0], [[1.0]]).values.tolist() == [0]


def test_mixed_tables():
    table = pd.DataFrame({"a": [0.0, 0.1, 5.0, 5.2], "b": ["u", "u", "v", None]})
    assert credal_silhouette([0, 0, 1, 1], table, metric="gower").mean > 0.8


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("X", {"X": X[:-1]}),
        ("X", {"X": np.where(np.arange(90)[:, None] == 5, np.nan, X)}),
        ("metric", {"metric": 3}),
        ("X", {"metric": "precomputed"}),
        ("X", {"metric": "precomputed", "X": np.triu(np.ones((90, 90)), 1)}),
        ("partition", {"partition": SOFT[:0], "X": X[:0]}),
        ("sample_size", {"sample_size": 1}),
    ],
)
def test_invalid_arguments(name, options):
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        credal_silhouette(**{"partition": SOFT, "X": X, **options})
