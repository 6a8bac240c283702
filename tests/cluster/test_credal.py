"""CredalClustering: selection of the shape and the number of clusters."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import (
    load_iris,
    make_blobs,
    make_circles,
    make_moons,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from dempster._errors import InvalidParameterError
from dempster.cluster import CredalClustering
from dempster.explain import explain_object
from dempster.persistence import load, save


def spirals(n, noise, seed):
    rng = np.random.default_rng(seed)
    t = np.sqrt(rng.uniform(0.05, 1, n)) * 3 * np.pi
    arm = np.column_stack([t * np.cos(t), t * np.sin(t)]) / 9 + rng.normal(
        0, noise, (n, 2)
    )
    return np.concatenate([arm, -arm]), np.repeat([0, 1], n)


def sticks(seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal((0, 2 * k), (4, 0.25), (150, 2)) for k in range(3)]
    return np.concatenate(X), np.repeat(range(3), 150)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


@pytest.fixture(scope="module")
def iris():
    """Return the attributes, the species and a fitted model."""
    X, y = load_iris(return_X_y=True)
    return X, y, CredalClustering(3, random_state=0).fit(X)


CONNECTED = {
    "moons": make_moons(400, noise=0.1, random_state=3),
    "rings": make_circles(400, noise=0.07, factor=0.45, random_state=3),
    "spirals": spirals(250, 0.03, 3),
}


@pytest.mark.parametrize(
    ("name", "n_clusters"), [("moons", "auto"), ("rings", 2), ("spirals", 2)]
)
def test_connected_clusters_are_found(name, n_clusters):
    X, y = CONNECTED[name]
    model = CredalClustering(n_clusters, random_state=0).fit(X)
    assert (model.selected_, model.n_clusters_) == ("connected", 2)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert "connected clusters" in model.reason()


def test_elongated_clusters_are_found(iris):
    _, y, model = iris
    assert adjusted_rand_score(y, model.labels_) > 0.7


def test_parallel_sticks_are_separated():
    X, y = sticks(0)
    model = CredalClustering(3, random_state=0).fit(X)
    assert model.selected_ == "elongated"
    assert adjusted_rand_score(y, model.labels_) > 0.98


def test_round_clusters_and_their_number_are_found(blobs):
    X, y = blobs
    model = CredalClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.97
    assert model.number_.best in model.candidates_["n_clusters"].unique()


@pytest.mark.parametrize("shape", ["compact", "elongated", "connected"])
def test_a_requested_shape_is_used(blobs, shape):
    model = CredalClustering(3, shape=shape, random_state=0).fit(blobs[0])
    assert model.selected_ == shape
    assert set(model.candidates_["shape"]) == {shape}


@pytest.mark.parametrize("distance", [8, 15, 50, 1000])
def test_scattered_outliers_do_not_change_clusters_of_different_densities(distance):
    rng = np.random.default_rng(2)
    scales = np.array([0.3, 1, 2]).repeat(200)[:, None]
    X = np.array([[0, 0], [5, 0], [0, 9]]).repeat(200, axis=0)
    X = X + scales * rng.normal(size=(600, 2))
    angles = rng.uniform(0, 2 * np.pi, 30)
    outliers = np.column_stack([np.cos(angles), np.sin(angles)]) * X.std(axis=0)
    outliers = X.mean(axis=0) + np.sqrt(2) * distance * outliers
    labels = CredalClustering(3, random_state=0).fit(X).labels_
    model = CredalClustering(3, random_state=0).fit(np.vstack([X, outliers]))
    assert adjusted_rand_score(labels, model.labels_[:600]) > 0.98
    assert set(range(600, 630)) <= set(model.credal_partition_.outliers.tolist())


def test_a_rare_broad_cluster_is_not_isolated():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(450, 5)), 4 + 2 * rng.normal(size=(50, 5))])
    model = CredalClustering(2, random_state=0).fit(X)
    y = np.arange(500) >= 450
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("draw", ["uniform", "standard_normal", "standard_exponential"])
def test_one_attribute_without_a_valley_has_one_cluster(draw):
    X = getattr(np.random.default_rng(0), draw)(size=(300, 1))
    assert CredalClustering(random_state=0).fit(X).n_clusters_ == 1


def test_curved_clusters_replace_a_single_one():
    X, y = make_circles(600, factor=0.45, noise=0.09, random_state=1)
    model = CredalClustering(random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_outliers_are_found_whatever_the_shape():
    X, _ = load_iris(return_X_y=True)
    far = np.concatenate([X, [[20.0, 20, 20, 20], [-9, 12, -9, 12]]])
    for shape in ("compact", "elongated", "connected"):
        partition = (
            CredalClustering(3, shape=shape, random_state=0).fit(far).credal_partition_
        )
        assert {150, 151} <= set(partition.outliers), shape


def test_dissimilarities():
    X, y = CONNECTED["moons"]
    D = cdist(X, X)
    model = CredalClustering(2, metric="precomputed", random_state=0).fit(D)
    assert model.selected_ == "connected"
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert len(model.predict(D[:7])) == 7


def test_table_with_categories_and_missing_values(blobs):
    X, y = blobs
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(y == 2, "x", "y")})
    table.loc[::9, "a"] = np.nan
    model = CredalClustering(3, metric="gower", random_state=0).fit(table)
    assert adjusted_rand_score(y, model.labels_) > 0.7


def test_missing_values(blobs):
    X = blobs[0].copy()
    y = blobs[1]
    X[::7, 1] = np.nan
    with pytest.raises(InvalidParameterError, match="X"):
        CredalClustering(3).fit(X)
    model = CredalClustering(3, missing="partial", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_names_and_blocks(blobs):
    X, _ = blobs
    table = pd.DataFrame(X, columns=["a", "b"], index=[f"r{i}" for i in range(len(X))])
    model = CredalClustering(3, random_state=0).fit(table)
    assert list(model.credal_partition_.index) == list(table.index)
    assert list(model.feature_names_in_) == ["a", "b"]
    in_blocks = CredalClustering(3, random_state=0).fit([X[:120], X[120:]])
    assert adjusted_rand_score(np.asarray(in_blocks.labels_), model.labels_) > 0.95


def test_weights_of_zero_exclude_objects(blobs):
    X, y = blobs
    far = np.concatenate([X, np.full((40, 2), 50.0) + np.arange(80).reshape(40, 2)])
    weights = np.repeat([1.0, 0.0], [len(X), 40])
    model = CredalClustering(3, random_state=0).fit(far, sample_weight=weights)
    assert adjusted_rand_score(y, model.labels_[: len(X)]) > 0.97


@pytest.mark.parametrize("shape", ["auto", "compact", "elongated", "connected"])
def test_save_and_explain(blobs, shape, tmp_path):
    X, _ = blobs
    model = CredalClustering(3, shape=shape, random_state=0).fit(X)
    save(model, tmp_path / "model.dempster")
    again = load(tmp_path / "model.dempster")
    np.testing.assert_array_equal(
        again.predict_mass(X).masses, model.predict_mass(X).masses
    )
    pd.testing.assert_frame_equal(again.candidates_, model.candidates_)
    assert f"cluster {model.labels_[0]}" in str(explain_object(again, X, 0))


def test_points_between_touching_shapes_are_ambiguous_and_distant_points_are_outliers():
    X, moon = make_moons(500, noise=0.13, random_state=1)
    X = np.concatenate([X, [[4.0, 3.0], [-4.0, -2.0]]])
    partition = (
        CredalClustering(2, shape="connected", random_state=0).fit(X).credal_partition_
    )
    assert {500, 501} <= set(partition.outliers)
    wrong = np.flatnonzero(
        partition.labels[:500] != (moon if partition.labels[0] == moon[0] else 1 - moon)
    )
    assert np.isin(wrong, partition.ambiguous).mean() > 0.3
    assert len(partition.outliers) < 20


def test_iris_without_any_parameter():
    X, y = load_iris(return_X_y=True)
    model = CredalClustering(random_state=0).fit(X)
    assert model.n_clusters_ in (2, 3)
    assert adjusted_rand_score(y, model.labels_) > 0.55


def test_candidates_are_numbered_like_the_result(blobs):
    model = CredalClustering(3, random_state=0).fit(blobs[0])
    selected = model.candidate_labels_[model.candidates_["selected"].to_numpy()][0]
    assert np.mean(model.predict(model.candidate_points_) == selected) > 0.9


def customers(n=240):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    units = np.array([1.0, 1500, 0.5])
    centers = np.array([[25, 25, 12], [45, 38, 4], [65, 27, 6]])
    return (centers[y] + rng.normal(0, 5, (n, 3))) * units


def test_attributes_with_different_units_are_scaled(tmp_path):
    X = customers()
    model = CredalClustering(3, random_state=0).fit(X)
    assert "divided by their spreads" in model.reason()
    assert "scale" in model.credal_partition_.metadata["choices"]
    spread = X.std(axis=0)
    scaled = CredalClustering(3, scale=False, random_state=0).fit(X / spread)
    assert adjusted_rand_score(model.labels_, scaled.labels_) > 0.95
    save(model, tmp_path / "model.dempster")
    again = load(tmp_path / "model.dempster")
    np.testing.assert_array_equal(
        again.predict_mass(X).masses, model.predict_mass(X).masses
    )


def test_similar_attributes_are_not_scaled(blobs):
    X, _ = blobs
    stretched = X * [1.0, 4.0]
    far = np.concatenate([stretched, [[1e5, 0.0]]])
    for rows in (stretched, far):
        model = CredalClustering(3, random_state=0).fit(rows)
        assert "spreads" not in model.reason()
    model = CredalClustering(3, scale=True, random_state=0).fit(stretched)
    plain = CredalClustering(3, scale=True, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, plain.labels_)


COLUMNS = [
    "shape",
    "method",
    "n_clusters",
    "expected_agreement",
    "with_selected",
    "selected",
]


@pytest.mark.parametrize("n_clusters", ["auto", 3])
def test_table_of_the_candidates(blobs, n_clusters):
    model = CredalClustering(n_clusters, random_state=0).fit(blobs[0])
    table = model.candidates_
    assert list(table) == COLUMNS
    assert table["selected"].tolist() == [True] + [False] * (len(table) - 1)
    assert table["n_clusters"][0] == model.n_clusters_
    assert table["shape"][0] == model.selected_
    assert table["expected_agreement"][0] == model.expected_agreement_
    assert model.objective_ == 1 - model.expected_agreement_
    assert table["with_selected"][0] == 1
    for place, labels in enumerate(model.candidate_labels_):
        expected = adjusted_rand_score(model.candidate_labels_[0], labels)
        assert table["with_selected"][place] == pytest.approx(expected)
        assert len(np.unique(labels)) == table["n_clusters"][place]


def test_choices_are_the_reason(blobs):
    model = CredalClustering(random_state=0).fit(blobs[0])
    choices = model.credal_partition_.metadata["choices"]
    assert choices["n_clusters"] == model.number_.reasons()
    assert choices["shape"].startswith(f"{model.selected_} clusters (")
    assert f"{model.expected_agreement_:.2f}" in choices["shape"]
    assert model.reason() == " ".join(f"{text}." for text in choices.values())


def test_the_reason_needs_a_fit():
    with pytest.raises(NotFittedError):
        CredalClustering().reason()


def test_reason_of_one_requested_cluster(blobs):
    model = CredalClustering(1).fit(blobs[0])
    assert model.reason() == "1, as requested."
    assert model.n_clusters_ == 1
    assert set(model.labels_) == {0}
    assert not hasattr(model, "number_")


@pytest.mark.parametrize("n_clusters", [1, 2, 4])
def test_partition_into_another_number_of_clusters(blobs, n_clusters):
    X, _ = blobs
    model = CredalClustering(random_state=0).fit(X)
    partition = model.partition_at(n_clusters, X)
    assert partition.n_clusters == n_clusters
    assert set(partition.labels) == set(range(n_clusters))
    assert model.n_clusters_ == 3
    with pytest.raises(NotFittedError):
        CredalClustering().partition_at(n_clusters, X)


@pytest.mark.parametrize(
    "rows", [[[2.0, 1.0]] * 8, [[0.0, 1.0], [3.0, 1.0]], [[0.0], [1.0], [2.0]]]
)
def test_few_or_equal_objects_are_one_cluster(rows):
    model = CredalClustering(random_state=0).fit(rows)
    assert model.n_clusters_ == 1
    assert set(model.labels_) == {0}
    np.testing.assert_allclose(model.credal_partition_.masses.sum(axis=1), 1)


def test_repeated_points_are_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]], 20, axis=0)
    model = CredalClustering(random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat(range(3), 20), model.labels_) == 1


@pytest.mark.parametrize("n_clusters", ["auto", 2])
def test_a_small_far_group_leaves_the_large_one_whole(n_clusters):
    X, y = make_blobs([1000, 20], centers=[[0, 0], [10, 0]], random_state=1)
    model = CredalClustering(n_clusters, random_state=0).fit(X)
    large = np.bincount(model.labels_[y == 0])
    assert large.max() > 0.98 * 1000
    if n_clusters == 2:
        assert adjusted_rand_score(y, model.labels_) > 0.95
