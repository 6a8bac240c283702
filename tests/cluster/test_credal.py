"""CredalClustering: selection of the shape and the number of clusters."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs, make_circles, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from dempster._errors import InvalidParameterError
from dempster.cluster import EGMM, EVCLUS, CredalClustering
from dempster.explain import explain_object
from dempster.persistence import load, save


def spirals(n, noise, seed):
    rng = np.random.default_rng(seed)
    t = np.sqrt(rng.uniform(0.05, 1, n)) * 3 * np.pi
    arm = np.column_stack([t * np.cos(t), t * np.sin(t)]) / 9 + rng.normal(0, noise, (n, 2))
    return np.concatenate([arm, -arm]), np.repeat([0, 1], n)


def sticks(seed):
    rng = np.random.default_rng(seed)
    X = [rng.normal((0, 2 * k), (4, 0.25), (150, 2)) for k in range(3)]
    return np.concatenate(X), np.repeat(range(3), 150)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


CONNECTED = {
    "moons": make_moons(400, noise=0.1, random_state=3),
    "rings": make_circles(400, noise=0.07, factor=0.45, random_state=3),
    "spirals": spirals(250, 0.03, 3),
}


@pytest.mark.parametrize("name", CONNECTED)
def test_connected_clusters_and_their_number_are_found(name):
    X, y = CONNECTED[name]
    model = CredalClustering(random_state=0).fit(X)
    assert (model.selected_, model.n_clusters_) == ("connected", 2)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert "Connected" in model.reason()


def test_elongated_clusters_are_found():
    X, y = load_iris(return_X_y=True)
    model = CredalClustering(3, random_state=0).fit(X)
    assert model.selected_ == "elongated"
    assert isinstance(model.estimator_, EGMM)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_parallel_sticks_are_separated():
    X, y = sticks(0)
    assert adjusted_rand_score(y, CredalClustering(3, random_state=0).fit(X).labels_) > 0.8


def test_round_clusters_and_their_number_are_found(blobs):
    X, y = blobs
    model = CredalClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.97
    assert model.number_.best in model.candidates_["n_clusters"].unique()


def test_candidates_are_a_table(blobs):
    X, _ = blobs
    model = CredalClustering(3, random_state=0).fit(X)
    table = model.candidates_
    assert list(table["shape"][:3]) == ["compact", "elongated", "elongated"]
    assert (table["n_clusters"] == 3).all()
    assert table["selected"].sum() == 1
    assert table.loc[table["selected"], "with_selected"].item() == 1
    assert table[["agreement", "reproducibility"]].dropna().le(1).all(axis=None)
    assert model.credal_partition_.metadata["choices"]["shape"] == model.reason()


@pytest.mark.parametrize(("shape", "kind"), [("compact", EVCLUS), ("elongated", EGMM), ("connected", EVCLUS)])
def test_a_requested_shape_is_used(blobs, shape, kind):
    model = CredalClustering(3, shape=shape, random_state=0).fit(blobs[0])
    assert model.selected_ == shape
    assert isinstance(model.estimator_, kind)
    assert set(model.candidates_["shape"]) == {shape}


def test_the_partition_is_that_of_the_selected_method(blobs):
    X, _ = blobs
    model = CredalClustering(3, shape="compact", random_state=0).fit(X)
    expected = EVCLUS(3, random_state=0).fit(X).credal_partition_
    np.testing.assert_array_equal(model.credal_partition_.masses, expected.masses)
    np.testing.assert_array_equal(model.predict_mass(X[:5]).masses, model.estimator_.predict_mass(X[:5]).masses)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_dissimilarities():
    X, y = CONNECTED["moons"]
    D = cdist(X, X)
    model = CredalClustering(2, metric="precomputed", random_state=0).fit(D)
    assert model.selected_ == "connected"
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert len(model.predict(D[:7])) == 7
    with pytest.raises(InvalidParameterError, match="shape"):
        CredalClustering(2, shape="elongated", metric="precomputed").fit(D)


def test_table_with_categories_and_missing_values(blobs):
    X, y = blobs
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(y == 2, "x", "y")})
    table.loc[::9, "a"] = np.nan
    model = CredalClustering(3, metric="gower", random_state=0).fit(table)
    assert adjusted_rand_score(y, model.labels_) > 0.7


def test_missing_values(blobs):
    X, y = blobs[0].copy(), blobs[1]
    X[::7, 1] = np.nan
    with pytest.raises(InvalidParameterError, match="X"):
        CredalClustering(3).fit(X)
    model = CredalClustering(3, missing="partial", random_state=0).fit(X)
    assert isinstance(model.estimator_, EVCLUS)
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


@pytest.mark.parametrize("shape", ["compact", "elongated", "connected"])
def test_save_and_explain(blobs, shape, tmp_path):
    X, _ = blobs
    model = CredalClustering(3, shape=shape, random_state=0).fit(X)
    save(model, tmp_path / "model.dempster")
    again = load(tmp_path / "model.dempster")
    np.testing.assert_array_equal(again.predict_mass(X).masses, model.predict_mass(X).masses)
    pd.testing.assert_frame_equal(again.candidates_, model.candidates_)
    why = explain_object(model, X, 0)
    expected = explain_object(model.estimator_, X, 0)
    assert str(why) == str(expected)


def test_points_between_touching_shapes_are_ambiguous_and_distant_points_are_outliers():
    X, moon = make_moons(500, noise=0.13, random_state=1)
    X = np.concatenate([X, [[4.0, 3.0], [-4.0, -2.0]]])
    partition = CredalClustering(2, shape="connected", random_state=0).fit(X).credal_partition_
    assert {500, 501} <= set(partition.outliers)
    wrong = np.flatnonzero(partition.labels[:500] != (moon if partition.labels[0] == moon[0] else 1 - moon))
    assert np.isin(wrong, partition.ambiguous).mean() > 0.3
    assert len(partition.outliers) < 20


def test_few_objects_are_not_compared():
    model = CredalClustering(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    assert model.candidates_.empty
    assert model.selected_ == "compact"
    assert "too few" in model.reason()


def test_the_reason_needs_a_fit_and_other_candidates(blobs):
    with pytest.raises(NotFittedError):
        CredalClustering().reason()
    assert "no other shape" in CredalClustering(3, shape="compact", random_state=0).fit(blobs[0]).reason()


def test_iris_without_any_parameter():
    X, y = load_iris(return_X_y=True)
    model = CredalClustering(random_state=0).fit(X)
    assert model.n_clusters_ in (2, 3)
    assert adjusted_rand_score(y, model.labels_) > 0.55
