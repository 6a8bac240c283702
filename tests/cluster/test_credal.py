"""CredalClustering: selection of the shape and the number of clusters."""

import pickle
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
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
from dempster.cluster import EGMM, EVCLUS, CredalClustering
from dempster.cluster._pool import PooledModel
from dempster.datasets import make_circles as make_ring_and_disc
from dempster.explain import doubt_scores, explain_object
from dempster.optimize.blocks import block_map
from dempster.partition import CredalPartition
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
    assert "Connected" in model.reason()


def test_elongated_clusters_are_found(iris):
    _, y, model = iris
    assert model.selected_ == "elongated"
    assert adjusted_rand_score(y, model.labels_) > 0.9


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


def test_candidates_are_a_table(blobs):
    X, _ = blobs
    model = CredalClustering(3, random_state=0).fit(X)
    table = model.candidates_
    assert list(table["shape"][:2]) == ["compact", "elongated"]
    assert (table["n_clusters"] == 3).all()
    assert table["selected"].sum() == 1
    assert table.loc[table["selected"], "with_selected"].item() == 1
    assert table["reproducibility"].dropna().between(0, 1).all()
    assert model.credal_partition_.metadata["choices"]["shape"] == model.reason()


@pytest.mark.parametrize("shape", ["compact", "elongated", "connected"])
def test_a_requested_shape_is_used(blobs, shape):
    model = CredalClustering(3, shape=shape, random_state=0).fit(blobs[0])
    assert model.selected_ == shape
    assert set(model.candidates_["shape"]) == {shape}


@pytest.mark.parametrize("shape", ["compact", "connected"])
def test_a_single_candidate_is_not_averaged(blobs, shape):
    X, _ = blobs
    model = CredalClustering(3, shape=shape, random_state=0).fit(X)
    expected = EVCLUS(3, shape=shape, random_state=0).fit(X)
    np.testing.assert_array_equal(
        model.credal_partition_.masses, expected.credal_partition_.masses
    )
    np.testing.assert_array_equal(
        model.predict_mass(X[:5]).masses, expected.predict_mass(X[:5]).masses
    )


def normalized_contour(partition):
    contour = np.asarray(partition.contour)
    return contour / contour.max(axis=1, keepdims=True)


def test_clusters_with_different_covariances_are_elongated(iris):
    _, y, model = iris
    np.testing.assert_allclose(model.candidates_["weight"], [0, 1])
    assert model.candidates_["reproducibility"].isna().all()
    assert "covariances" in model.reason()
    assert adjusted_rand_score(y, model.labels_) > 0.85


def test_no_mixture_if_covariances_cannot_be_estimated(blobs):
    X, _ = blobs
    columns = np.random.default_rng(0).normal(0, 0.5, (len(X), 40))
    model = CredalClustering(3, random_state=0).fit(np.hstack([X, columns]))
    assert set(model.candidates_["shape"]) == {"compact"}


def test_reproducible_clusters_are_selected_although_some_are_empty():
    rng = np.random.default_rng(6)
    sizes = [200, 150, 100, 4, 3]
    centers = rng.normal(size=(5, 10)) * 3
    X = centers.repeat(sizes, axis=0) + rng.normal(size=(sum(sizes), 10))
    with pytest.warns(UserWarning, match="contain no object"):
        model = CredalClustering(6, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat(range(5), sizes), model.labels_) > 0.9


def test_background_noise_is_marked():
    rng = np.random.default_rng(3)
    centers = 7 * np.eye(3, 8)
    X = centers.repeat(200, axis=0) + rng.normal(size=(600, 8))
    noise = rng.uniform(X.min(axis=0) - 6, X.max(axis=0) + 6, (257, 8))
    model = CredalClustering(3, random_state=0).fit(np.vstack([X, noise]))
    is_outlier = np.isin(np.arange(857), model.credal_partition_.outliers)
    assert is_outlier[600:].mean() > 0.95
    assert is_outlier[:600].mean() < 0.03
    assert adjusted_rand_score(np.repeat(range(3), 200), model.labels_[:600]) > 0.97


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


def test_background_noise_does_not_look_like_connected_clusters():
    rng = np.random.default_rng(0)
    X = 4 * rng.normal(size=(3, 15)).repeat(150, axis=0) + rng.normal(size=(450, 15))
    noise = rng.uniform(X.min(axis=0) - 3, X.max(axis=0) + 3, (193, 15))
    model = CredalClustering(3, random_state=0).fit(np.vstack([X, noise]))
    is_outlier = np.isin(np.arange(643), model.credal_partition_.outliers)
    assert is_outlier[450:].mean() > 0.95
    assert is_outlier[:450].mean() < 0.03


def test_own_covariances_need_a_row_for_each_parameter():
    rng = np.random.default_rng(1)
    scales = np.array([0.5, 2]).repeat(60)[:, None]
    X = 4 * np.eye(2, 12).repeat(60, axis=0) + scales * rng.normal(size=(120, 12))
    model = CredalClustering(2, random_state=0).fit(X)  # 156 parameters
    assert model.candidates_["reproducibility"].notna().all()
    many = 4 * np.eye(2, 12).repeat(300, axis=0)
    many += scales.repeat(5, axis=0) * rng.normal(size=(600, 12))
    model = CredalClustering(2, random_state=0).fit(many)
    assert model.candidates_["reproducibility"].isna().all()


def test_plausibilities_are_weighted_means_over_the_candidates():
    X, _ = make_blobs(200, centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
    model = CredalClustering(3, random_state=0).fit(X)
    weights = model.candidates_["weight"]
    assert weights.sum() == pytest.approx(1)
    compact = EVCLUS(3, random_state=0).fit(X)
    elongated = EGMM(
        3, covariance="own", distribution="t", reg_covar=1e-3, random_state=0
    ).fit(X)
    candidates = [compact, elongated]
    squares = model.candidates_["reproducibility"].add(0.01) ** 2
    np.testing.assert_allclose(weights, squares / squares.sum())
    mean = np.zeros((len(X), 3))
    for weight, power, one in zip(weights, [1, 1 / 4], candidates, strict=True):
        contours = [
            normalized_contour(one.credal_partition_)[:, list(order)] ** power
            for order in permutations(range(3))
        ]
        likeness = [
            np.sum(contour * normalized_contour(model.credal_partition_))
            for contour in contours
        ]
        mean += weight * contours[int(np.argmax(likeness))]
    expected = mean / mean.max(axis=1, keepdims=True)
    second = np.sort(expected, axis=1)[:, 1]
    assert np.mean(expected.argmax(axis=1) == model.labels_) > 0.99
    np.testing.assert_allclose(
        np.sort(normalized_contour(model.credal_partition_), axis=1)[:, 1],
        second,
        atol=0.02,  # The mixture of the model begins with other means.
    )
    empty = [one.credal_partition_.masses[:, 0] for one in candidates]
    np.testing.assert_allclose(
        model.credal_partition_.masses[:, 0], np.max(empty, axis=0), atol=0.02
    )
    np.testing.assert_allclose(
        model.predict_mass(X).masses, model.credal_partition_.masses, atol=1e-12
    )


def test_elongated_clusters_have_the_order_of_the_doubts_of_the_mixture(iris):
    X, _, model = iris
    mixture = EGMM(3, covariance="own", distribution="t", reg_covar=1e-3, tol=1e-6)
    mixture.set_params(random_state=0).fit(X)
    order = np.argsort(doubt_scores(mixture)[:100])
    assert (np.diff(doubt_scores(model)[:100][order]) > -0.01).all()
    n_ambiguous = len(mixture.credal_partition_.ambiguous)
    assert len(model.credal_partition_.ambiguous) > n_ambiguous


def test_outliers_are_found_whatever_the_shape():
    X, _ = load_iris(return_X_y=True)
    far = np.concatenate([X, [[20.0, 20, 20, 20], [-9, 12, -9, 12]]])
    for shape in ("compact", "elongated", "connected"):
        partition = (
            CredalClustering(3, shape=shape, random_state=0).fit(far).credal_partition_
        )
        assert {150, 151} <= set(partition.outliers), shape


def test_mixtures_are_not_fitted_to_discrete_attributes():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, (200, 5)), rng.normal(size=200)])
    assert set(CredalClustering(2, random_state=0).fit(X).candidates_["shape"]) <= {
        "compact",
        "connected",
    }


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
    X = blobs[0].copy()
    y = blobs[1]
    X[::7, 1] = np.nan
    with pytest.raises(InvalidParameterError, match="X"):
        CredalClustering(3).fit(X)
    model = CredalClustering(3, missing="partial", random_state=0).fit(X)
    assert set(model.candidates_["shape"]) == {"compact"}
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


def test_few_objects_are_not_compared():
    model = CredalClustering(2, random_state=0).fit([[0.0], [0.1], [5.0], [5.1]])
    assert model.candidates_.empty
    assert model.selected_ == "compact"
    assert "too few" in model.reason()


def test_the_other_plausible_numbers_are_named(blobs):
    model = CredalClustering(random_state=0).fit(blobs[0])
    number = model.number_
    plausibility = number.to_frame()["plausibility"]
    assert plausibility[model.n_clusters_] == 1
    gap = number.support.max() - number.support
    assert (np.diff(plausibility.to_numpy()[np.argsort(gap)]) <= 0).all()
    text = model.credal_partition_.metadata["choices"]["n_clusters"]
    assert text.startswith("3; ")
    for k, value in plausibility.items():
        assert (f"{k} ({value:.2f})" in text) == (value >= 0.1 and k != 3)


def test_partition_into_another_number_of_clusters(blobs, tmp_path):
    X, _ = blobs
    model = CredalClustering(random_state=0).fit(X)
    partition = model.partition_at(2)
    assert set(partition.labels) == {0, 1}
    assert adjusted_rand_score(partition.labels, model.labels_) > 0.4
    assert model.n_clusters_ == 3
    save(model, tmp_path / "model.dempster")
    for again in (load(tmp_path / "model.dempster"), pickle.loads(pickle.dumps(model))):
        with pytest.raises(NotFittedError, match="training data"):
            again.partition_at(2)


def test_the_reason_needs_a_fit_and_other_candidates(blobs):
    with pytest.raises(NotFittedError):
        CredalClustering().reason()
    assert (
        "no other shape"
        in CredalClustering(3, shape="compact", random_state=0).fit(blobs[0]).reason()
    )


def test_iris_without_any_parameter():
    X, y = load_iris(return_X_y=True)
    model = CredalClustering(random_state=0).fit(X)
    assert model.n_clusters_ in (2, 3)
    assert adjusted_rand_score(y, model.labels_) > 0.55


def test_number_of_crescents_that_compact_clusters_cut_reproducibly():
    """Here, 13 compact clusters have a high score, but they separate 7 % of the nearest neighbors."""
    X, y = make_moons(500, noise=0.08, random_state=7)
    model = CredalClustering(random_state=0).fit(X / X.std(axis=0))
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(y, model.labels_) > 0.95


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
    np.testing.assert_array_equal(model.labels_, scaled.labels_)
    np.testing.assert_allclose(
        model.predict_mass(X).masses, scaled.predict_mass(X / spread).masses
    )
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


def test_pooled_masses_of_many_clusters_are_compressed():
    centers = 10 * np.random.default_rng(3).random((55, 3))
    X, _ = make_blobs(600, centers=centers, cluster_std=0.2, random_state=1)
    X[-1] = 100.0  # All of the mass of this object is on the empty set.
    one = EGMM(55, distribution="t", init=centers, max_iter=5)
    one._fit_silently(X, None)
    orders = np.array([np.arange(55), np.arange(55)])
    pooled = PooledModel.from_models([one._model] * 2, np.ones(2), orders, 0)
    with block_map(1) as apply:
        masses = pooled.masses(X, apply)
    assert issparse(masses)
    partition = CredalPartition.unchecked(masses, pooled.family)
    assert partition.outliers[-1]
    np.testing.assert_array_equal(partition.labels[:-1], one.labels_[:-1])
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1)


def test_reason_of_compact_clusters_that_are_similar_to_connected_ones():
    X, _ = make_ring_and_disc(random_state=1)
    model = CredalClustering(2, random_state=0).fit(X)
    assert model.selected_ == "compact"
    assert model.candidates_["weight"].max() == 1
    assert "connected parts" in model.reason()
