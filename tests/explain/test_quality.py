"""Table of quality measures and baselines."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster import io
from dempster._errors import InvalidInputError
from dempster.cluster import ECM, EKNNClus
from dempster.explain import (
    credal_silhouette,
    doubt_scores,
    quality,
    retention_curve,
    set_scores,
    stability,
)

X, y = make_blobs(120, 2, centers=[[0, 0], [3, 0], [0, 9]], random_state=0)
MODEL = ECM(3, random_state=0)
PARTITION = MODEL.fit(X).credal_partition_


def test_measures():
    resamples = stability(MODEL, X, 3, random_state=0)
    result = quality(PARTITION, X, y, stability=resamples, random_state=0)
    silhouette = credal_silhouette(PARTITION, X)
    scores = set_scores(PARTITION, y)
    assert result.partition["silhouette"] == silhouette.mean
    assert result.partition["silhouette_certain"] == silhouette.certain_mean
    assert result.partition["silhouette_weighted"] == silhouette.weighted_mean
    assert (
        result.partition["held"],
        result.partition["size"],
        result.partition["u65"],
    ) == (
        scores.held,
        scores.size,
        scores.u65,
    )
    assert result.partition["ari_kept"] == retention_curve(
        PARTITION, y, shares=[0.8]
    ).at(0.8)
    assert result.partition["stability"] == resamples.mean
    assert result.partition["nonspecificity"] == PARTITION.nonspecificity_index()


def test_baselines():
    table = quality(PARTITION, X, y, random_state=0).to_frame()
    alone = table["labels alone"]
    shuffled = table["shuffled"]
    assert alone["silhouette"] == pytest.approx(silhouette_score(X, PARTITION.labels))
    assert alone["ari"] == pytest.approx(adjusted_rand_score(y, PARTITION.labels))
    assert (alone["size"], alone["nonspecificity"], alone["outliers"]) == (1, 0, 0)
    assert alone["held"] == alone["u65"] == table.loc["accuracy", "partition"]
    for key in ("nonspecificity", "ambiguous", "outliers", "size"):
        assert shuffled[key] == pytest.approx(table.loc[key, "partition"])
    assert abs(shuffled["ari"]) < 0.1
    assert shuffled["silhouette"] < 0.1 < table.loc["silhouette", "partition"]
    assert table.loc["ari_kept", "partition"] > alone["ari_kept"]


def test_without_table_or_classes(tmp_path):
    assert list(quality(PARTITION).partition) == [
        "nonspecificity",
        "ambiguous",
        "outliers",
    ]
    io.write_partition(PARTITION, tmp_path / "p.csv")
    loaded = io.read_partition(tmp_path / "p.csv")
    result = quality(loaded, y=y)
    assert "silhouette" not in result.partition
    assert result.partition["held"] == set_scores(PARTITION, y).held
    text = result.to_text()
    assert "sets that contain the class" in text
    assert text == str(result)
    assert text == repr(result)


def test_hard_labels_and_few_objects():
    result = quality([0, 0, 1, 1], [[0.0], [1], [8], [9]], list("aabb"), random_state=0)
    assert result.partition["held"] == result.partition["ari"] == 1
    assert quality([0], [[1.0]], ["a"]).partition["held"] == 1
    noise = quality([0, 0, -1, 1, 1], [[0.0], [1], [50], [8], [9]])
    assert noise.partition["outliers"] == 0.2


@pytest.mark.parametrize(
    ("name", "value"),
    [("stability", 0.5), ("y", y[:3]), ("X", X[:3]), ("partition", PARTITION[:0])],
)
def test_invalid_arguments(name, value):
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        quality(**{"partition": PARTITION, name: value})


@pytest.mark.parametrize(
    "measure",
    [
        doubt_scores,
        lambda p: credal_silhouette(p, X).values,
        lambda p: retention_curve(p, y).quality,
    ],
)
def test_fitted_estimators_instead_of_partitions(measure):
    model = ECM(3, random_state=0).fit(X)
    np.testing.assert_array_equal(measure(model), measure(model.credal_partition_))
    np.testing.assert_array_equal(
        measure(make_pipeline(model).fit(X)), measure(model.credal_partition_)
    )
    with pytest.raises(ValueError, match="not fitted"):
        measure(ECM(3))
    with pytest.raises(TypeError, match="^partition must"):
        measure(StandardScaler().fit(X))


def test_modularity_of_a_graph():
    networkx = pytest.importorskip("networkx")
    graph = networkx.karate_club_graph()
    partition = EKNNClus(random_state=0).fit(graph).credal_partition_
    table = quality(partition, graph, random_state=0).to_frame()
    A = networkx.to_numpy_array(graph)
    k = A.sum(axis=1)
    p = partition.pignistic()
    expected = ((A - np.outer(k, k) / k.sum()) * (p @ p.T)).sum() / k.sum()
    assert table.loc["modularity", "partition"] == pytest.approx(expected)
    communities = [np.flatnonzero(partition.labels == c) for c in (0, 1)]
    alone = networkx.community.modularity(graph, communities)
    assert table.loc["modularity", "labels alone"] == pytest.approx(alone)
    assert abs(table.loc["modularity", "shuffled"]) < 0.1
    assert "silhouette" not in table.index
    sparse_graph = networkx.to_scipy_sparse_array(graph)
    assert quality(partition, sparse_graph).partition["modularity"] == pytest.approx(
        expected
    )
    with pytest.raises(ValueError, match="34 nodes of the partition, got 5"):
        quality(partition, networkx.path_graph(5))
