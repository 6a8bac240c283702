import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.cluster import MECM, BeliefPeaks, ECMdd, WECMdd, _medoids, wecmdd
from dempster.dissimilarity.sources import AttributeSource
from tests.inputs import gower_matrix

pytestmark = pytest.mark.parametrize("method", [MECM, ECMdd, WECMdd])


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(
        200, 2, centers=[[0, 0], [9, 1], [1, 10], [20, 12]], random_state=1
    )


def test_medoids_belong_to_their_clusters(method, blobs):
    X, y = blobs
    model = method(4, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert len(set(model.medoid_indices_)) == 4
    assert sorted(y[model.medoid_indices_]) == [0, 1, 2, 3]
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(4))
    masses = model.credal_partition_.masses
    assert masses.min() >= 0
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize(
    "metric", ["euclidean", "cityblock", "sqeuclidean", "mahalanobis", "callable"]
)
def test_attributes_and_matrix_give_the_same_result(method, blobs, metric):
    X = blobs[0][:80]
    D = pairwise_distances(X, metric="chebyshev" if metric == "callable" else metric)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    if metric == "callable":

        def metric(a, b):
            return np.abs(a - b).max()

    a = method(3, metric=metric, random_state=0).fit(X)
    b = method(3, metric="precomputed", random_state=0).fit(D)
    np.testing.assert_array_equal(a.medoid_indices_, b.medoid_indices_)
    np.testing.assert_allclose(
        a.credal_partition_.masses, b.credal_partition_.masses, atol=1e-6
    )
    assert not hasattr(b, "cluster_centers_")


def test_new_objects(method, blobs):
    X, _ = blobs
    model = method(4, random_state=0).fit(X)
    np.testing.assert_array_equal(
        model.predict_mass(X).masses, model.credal_partition_.masses
    )
    np.testing.assert_allclose(
        model.predict_mass(X[:7]).masses, model.credal_partition_.masses[:7], atol=1e-12
    )
    new = X[:20] + 1e-7
    np.testing.assert_array_equal(model.predict(new), model.labels_[:20])
    assert model.predict_mass(X.mean(axis=0) + 1e6 * np.eye(2)).outliers.tolist() == [
        0,
        1,
    ]
    D = pairwise_distances(X)
    relational = method(4, metric="precomputed", random_state=0).fit(D)
    np.testing.assert_array_equal(
        relational.predict_mass(D).masses, relational.credal_partition_.masses
    )
    np.testing.assert_array_equal(
        relational.predict(pairwise_distances(new, X)), model.labels_[:20]
    )
    for D in (pairwise_distances(new, X[:50]), -pairwise_distances(new, X)):
        with pytest.raises(ValueError, match="X"):
            relational.predict(D)


@pytest.mark.parametrize(
    "family",
    ["auto", "simple", "pairs", "full", "selected", FocalSets.full(4, empty=False)],
)
def test_all_families(method, blobs, family):
    X, y = blobs
    model = method(4, focal_sets=family, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    if isinstance(family, FocalSets):
        assert model.focal_sets_ == family
    assert model.history_[-1] == model.objective_
    assert model.n_iter_ == len(model.history_)


def test_tables_of_mixed_columns(method, blobs):
    X, y = blobs
    table = pd.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "kind": np.array(["p", "q", "r", "s"])[y]}
    )
    table.loc[3, "a"] = np.nan
    model = method(4, metric="gower", random_state=0).fit(table)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(
        model.predict_mass(table).masses, model.credal_partition_.masses
    )
    given = method(4, metric="precomputed", random_state=0).fit(gower_matrix(table))
    np.testing.assert_array_equal(given.medoid_indices_, model.medoid_indices_)
    np.testing.assert_allclose(
        given.credal_partition_.masses, model.credal_partition_.masses, atol=1e-9
    )
    assert not hasattr(model, "cluster_centers_")
    assert (
        adjusted_rand_score(
            y, method(4, metric="gower", init="belief-peaks").fit(table).labels_
        )
        > 0.9
    )


def test_weights(method, blobs):
    """Only proportions matter, and objects of weight 0 are never medoids."""
    X, y = blobs
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    a, b = (
        method(4, random_state=0).fit(X, sample_weight=w)
        for w in (weights, 0.25 * weights)
    )
    np.testing.assert_array_equal(a.medoid_indices_, b.medoid_indices_)
    np.testing.assert_allclose(
        a.credal_partition_.masses, b.credal_partition_.masses, atol=1e-9
    )
    assert b.objective_ == pytest.approx(0.25 * a.objective_)
    assert (weights[a.medoid_indices_] > 0).all()
    assert adjusted_rand_score(y, a.labels_) > 0.95
    given = method(4, init=a.credal_partition_).fit(X, sample_weight=weights)
    assert (weights[given.medoid_indices_] > 0).all()
    heavy = method(1, random_state=0).fit(
        X, sample_weight=np.where(np.arange(len(X)) == 7, 1e6, 1.0)
    )
    assert heavy.medoid_indices_.tolist() == [7]
    with pytest.raises(InvalidInputError, match="n_clusters=4"):
        method(4).fit(X, sample_weight=np.arange(len(X)) < 3)


def test_starts(method, blobs):
    X, y = blobs
    peaks = BeliefPeaks(4).fit(X).peak_indices_
    given = method(4, init=peaks).fit(X)
    for init in ("belief-peaks", BeliefPeaks()):
        named = method(4, init=init).fit(X)
        np.testing.assert_array_equal(
            named.credal_partition_.masses, given.credal_partition_.masses
        )
        relational = method(4, init=init, metric="precomputed").fit(
            pairwise_distances(X)
        )
        np.testing.assert_array_equal(relational.labels_, given.labels_)
    assert (
        method(4, init=CredalPartition.from_hard(y)).fit(X).labels_ == y
    ).mean() > 0.9
    one, many = (method(4, n_init=n, random_state=5, delta=5.0).fit(X) for n in (1, 10))
    assert many.objective_ <= one.objective_ * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_random_starts(method, blobs, seed):
    X, y = blobs
    weights = np.random.default_rng(seed).integers(0, 3, len(X)).astype(float)
    model = method(4, init="random", n_init=20, random_state=seed)
    model.fit(X, sample_weight=weights)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    repeated = np.repeat(X, weights.astype(int), axis=0)
    same = method(4, init="random", n_init=20, random_state=seed).fit(repeated)
    assert same.objective_ == pytest.approx(model.objective_, rel=1e-6)

    one, many = (
        method(4, init="random", n_init=n, random_state=seed, delta=5.0).fit(X)
        for n in (1, 20)
    )
    assert many.objective_ <= one.objective_ * (1 + 1e-6)
    order = np.random.default_rng(seed).permutation(len(X))
    permuted = method(4, init="random", n_init=20, random_state=seed, delta=5.0)
    permuted.fit(X[order])
    np.testing.assert_array_equal(permuted.labels_, many.labels_[order])


def test_random_starts_are_different_objects(method):
    """Also if most objects are equal, or the objects differ by little."""
    X = np.repeat([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]], [900, 1, 1], axis=0)
    for seed in range(3):
        model = method(3, init="random", n_init=1, random_state=seed).fit(X)
        assert len(set(model.labels_[[0, 900, 901]])) == 3
    near = np.array([[0.0], [1e-9], [1.0], [1.0]])
    assert np.isfinite(method(3, init="random").fit(near).objective_)


def test_no_matrix_for_large_data(method, monkeypatch):
    """Starts are compared on a sample, and dissimilarities are computed in blocks."""
    X, y = make_blobs(900, 2, centers=[[0, 0], [9, 1], [1, 10]], random_state=0)
    whole = method(3, random_state=0).fit(X)
    monkeypatch.setattr(_medoids, "MAX_MATRIX_ROWS", 300)
    monkeypatch.setattr(_medoids, "MAX_BLOCK_CELLS", 50_000)
    for module in (_medoids, wecmdd):
        monkeypatch.setattr(module, "SAMPLE_SIZE", 150)
    sizes = []
    between = AttributeSource.between

    def spy(self, A, B, *, exact=False):
        sizes.append(len(A) * len(B))
        return between(self, A, B, exact=exact)

    monkeypatch.setattr(AttributeSource, "between", spy)
    model = method(3, random_state=0, n_candidates=100).fit(X)
    assert max(sizes) <= 50_000
    if method is WECMdd:  # its candidates are drawn at random
        assert adjusted_rand_score(y, model.labels_) > 0.9
    else:
        assert adjusted_rand_score(y, model.labels_) > 0.95
        assert adjusted_rand_score(whole.labels_, model.labels_) > 0.98
    exhaustive = method(3, random_state=0, n_candidates=None).fit(X)
    assert max(sizes) <= 50_000
    np.testing.assert_array_equal(
        model.predict_mass(X).masses, model.credal_partition_.masses
    )
    if method is not WECMdd:
        np.testing.assert_array_equal(exhaustive.medoid_indices_, model.medoid_indices_)


def test_equal_objects(method):
    X = np.repeat([[0.0, 0], [5, 5], [9, 0]], 10, axis=0)
    model = method(3, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert np.isfinite(model.credal_partition_.masses).all()
    few = method(3, random_state=0).fit(X[[0, 10, 20]])
    assert sorted(few.labels_.tolist()) == [0, 1, 2]
    assert (method(1, random_state=0).fit(X).labels_ == 0).all()
    assert method(1).fit(X[:1]).labels_.tolist() == [0]
    with pytest.raises(InvalidInputError, match="n_clusters=4"):
        method(4).fit(X)
    with pytest.raises(InvalidInputError, match=r"\binit\b"):
        method(3, init=[0, 1, 12]).fit(X)


def test_objects_between_neighbors_are_ambiguous(method):
    """Two clusters touch, a third one is separate."""
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(size=(150, 2)) + center for center in ([0, 0], [4, 0], [2, 14])]
    )
    model = method(3, random_state=0).fit(X)
    left, right, above = model.predict([[0, 0], [4, 0], [2, 14]])
    new = model.predict_mass(
        [[2.0, 0.0], [-0.5, 0.0], [4.5, 0.0], [2.0, 14.5], [2.0, 7.0]]
    )
    sets = new.assignment()
    assert np.flatnonzero(sets[0]).tolist() == sorted([left, right])
    assert [np.flatnonzero(row).tolist() for row in sets[1:4]] == [
        [left],
        [right],
        [above],
    ]
    cp = model.credal_partition_
    assert 0 < len(cp.ambiguous) < 45
    assert not (model.labels_[cp.ambiguous] == above).any()
    assert (np.abs(X[cp.ambiguous, 0] - 2) < 1.2).all()  # in the middle between the two
    assert len(cp.outliers) < 14


def test_delta_limits_outliers(method, blobs):
    X, y = blobs
    X = np.vstack([X, [[500.0, 500.0]]])
    init = [int(np.flatnonzero(y == k)[0]) for k in range(4)]
    cp = method(4, delta=5.0, init=init).fit(X).credal_partition_
    assert 200 in cp.outliers
    assert len(method(4, delta=1e4, init=init).fit(X).credal_partition_.outliers) == 0


@pytest.mark.parametrize(
    "invalid",
    [
        {"n_clusters": 0},
        {"n_clusters": 31},
        {"alpha": -1},
        {"beta": 1},
        {"delta": 0},
        {"metric": 3},
        {"n_candidates": 0},
        {"focal_sets": FocalSets.simple(3)},
        {"focal_sets": FocalSets.from_sets(2, [(), (0,), (0, 1)])},
        {"init": "middle"},
        {"init": [0, 1, 2]},
        {"init": [0.5, 1.5]},
        {"init": [3, 3]},
        {"init": [3, 30]},
        {"init": CredalPartition.from_hard([0, 1])},
        {"random_state": "seed"},
    ],
)
def test_invalid_parameters(method, invalid):
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    with pytest.raises(InvalidInputError, match=next(iter(invalid))):
        method(**{"n_clusters": 2, **invalid}).fit(X)


def test_invalid_matrices(method):
    D = pairwise_distances(np.random.default_rng(0).normal(size=(20, 2)))
    model = method(2, metric="precomputed")
    broken = D.copy()
    broken[0, 1] += 1
    for matrix, match in (
        (-D, "Negative values"),
        (D[:, :5], "square matrix"),
        (broken, "be symmetric"),
        (D + np.eye(20), "zero diagonal"),
        (np.where(D > 2, np.nan, D), "NaN"),
    ):
        with pytest.raises(ValueError, match=match):
            model.fit(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.set_params(symmetrize=True).fit(broken).converged_
