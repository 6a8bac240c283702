"""What all medoid methods must do: medoids are members, matrices or attributes, new objects, large data, errors."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from evidentia import CredalPartition, FocalSets
from evidentia.cluster import MECM, BeliefPeaks, ECMdd, WECMdd, _medoids

METHODS = [MECM, ECMdd, WECMdd]
pytestmark = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, 2, centers=[[0, 0], [9, 1], [1, 10], [20, 12]], random_state=1)


def test_medoids_are_members(method, blobs):
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


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "sqeuclidean", "mahalanobis", "callable"])
def test_attributes_and_matrix_give_the_same(method, blobs, metric):
    X = blobs[0][:80]
    D = pairwise_distances(X, metric="chebyshev" if metric == "callable" else metric)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    metric = (lambda a, b: np.abs(a - b).max()) if metric == "callable" else metric
    a = method(3, metric=metric, random_state=0).fit(X)
    b = method(3, metric="precomputed", random_state=0).fit(D)
    np.testing.assert_array_equal(a.medoid_indices_, b.medoid_indices_)
    np.testing.assert_allclose(a.credal_partition_.masses, b.credal_partition_.masses, atol=1e-6)
    assert not hasattr(b, "cluster_centers_")


def test_new_objects(method, blobs):
    X, _ = blobs
    model = method(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict_mass(X).masses, model.credal_partition_.masses)
    np.testing.assert_allclose(model.predict_mass(X[:7]).masses, model.credal_partition_.masses[:7], atol=1e-12)
    new = X[:20] + 1e-7
    np.testing.assert_array_equal(model.predict(new), model.labels_[:20])
    assert model.predict_mass(X.mean(axis=0) + 1e6 * np.eye(2)).outliers.tolist() == [0, 1]
    D = pairwise_distances(X)
    relational = method(4, metric="precomputed", random_state=0).fit(D)
    np.testing.assert_array_equal(relational.predict_mass(D).masses, relational.credal_partition_.masses)
    np.testing.assert_array_equal(relational.predict(pairwise_distances(new, X)), model.labels_[:20])
    with pytest.raises(ValueError, match="expecting 200 features"):
        relational.predict(pairwise_distances(new, X[:50]))
    with pytest.raises(ValueError, match="Negative values"):
        relational.predict(-pairwise_distances(new, X))


@pytest.mark.parametrize("family", ["auto", "simple", "pairs", "full", "selected", FocalSets.full(4, empty=False)])
def test_all_families(method, blobs, family):
    X, y = blobs
    model = method(4, focal_sets=family, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    if isinstance(family, FocalSets):
        assert model.focal_sets_ == family
    assert model.history_[-1] == model.objective_
    assert model.n_iter_ == len(model.history_)


def test_starts(method, blobs):
    X, y = blobs
    peaks = BeliefPeaks(4).fit(X).peaks_
    named = method(4, init="belief-peaks").fit(X)
    given = method(4, init=peaks).fit(X)
    np.testing.assert_array_equal(named.credal_partition_.masses, given.credal_partition_.masses)
    relational = method(4, init="belief-peaks", metric="precomputed").fit(pairwise_distances(X))
    np.testing.assert_array_equal(relational.labels_, given.labels_)
    assert (method(4, init=CredalPartition.from_hard(y)).fit(X).labels_ == y).mean() > 0.9
    one, many = (method(4, init="random", n_init=n, random_state=5, delta=5.0).fit(X) for n in (1, 10))
    assert many.objective_ <= one.objective_ * (1 + 1e-6)


def test_same_seed_same_bits_whatever_the_threads(method):
    X, _ = make_blobs(2500, 3, centers=3, random_state=0)
    a, b = (method(3, n_init=2, random_state=3, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(a.credal_partition_.masses, b.credal_partition_.masses)
    method(2, random_state=np.random.default_rng(0)).fit(X[:50])


def test_permuting_the_objects_permutes_the_result(method, blobs):
    X, _ = blobs
    order = np.random.default_rng(0).permutation(len(X))
    start = np.array([0, 50, 100, 150])
    a = method(4, init=start).fit(X)
    b = method(4, init=np.argsort(order)[start]).fit(X[order])
    np.testing.assert_array_equal(order[b.medoid_indices_], a.medoid_indices_)
    np.testing.assert_allclose(b.credal_partition_.masses, a.credal_partition_.masses[order], atol=1e-6)


def test_large_data_need_no_matrix(method, monkeypatch):
    """Beyond some size starts compete on a sample, and no more dissimilarities than a block are made at once."""
    X, y = make_blobs(900, 2, centers=[[0, 0], [9, 1], [1, 10]], random_state=0)
    whole = method(3, random_state=0).fit(X)
    monkeypatch.setattr(_medoids, "WHOLE_MATRIX", 300)
    monkeypatch.setattr(_medoids, "SAMPLE_SIZE", 150)
    monkeypatch.setattr(_medoids, "_CELLS", 50_000)
    sizes = []
    between = _medoids.AttributeSource.between

    def spy(self, A, B):
        sizes.append(len(A) * len(B))
        return between(self, A, B)

    monkeypatch.setattr(_medoids.AttributeSource, "between", spy)
    model = method(3, random_state=0, n_candidates=100).fit(X)
    assert max(sizes) <= 50_000
    assert adjusted_rand_score(y, model.labels_) > 0.95
    assert adjusted_rand_score(whole.labels_, model.labels_) > 0.98
    exhaustive = method(3, random_state=0, n_candidates=None).fit(X)
    assert max(sizes) <= 50_000
    np.testing.assert_array_equal(model.predict_mass(X).masses, model.credal_partition_.masses)
    if method is not WECMdd:  # whose candidates are drawn, not chosen
        np.testing.assert_array_equal(exhaustive.medoid_indices_, model.medoid_indices_)


def test_tables_float32_and_metadata(method, blobs):
    X = blobs[0][:60]
    table = pd.DataFrame(X, columns=["a", "b"], index=[f"object {i}" for i in range(60)])
    model = method(3, random_state=0).fit(table)
    assert model.credal_partition_.to_frame().index.tolist() == table.index.tolist()
    single = method(3, random_state=0).fit(X.astype(np.float32))
    assert single.credal_partition_.masses.dtype == single.cluster_centers_.dtype == np.float32
    np.testing.assert_allclose(single.credal_partition_.masses, model.credal_partition_.masses, atol=1e-3)
    assert model.credal_partition_.metadata["method"] == method.__name__


def test_twins(method):
    X = np.repeat([[0.0, 0], [5, 5], [9, 0]], 10, axis=0)
    model = method(3, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert np.isfinite(model.credal_partition_.masses).all()
    few = method(3, random_state=0).fit(X[[0, 10, 20]])
    assert sorted(few.labels_.tolist()) == [0, 1, 2]
    assert (method(1, random_state=0).fit(X).labels_ == 0).all()
    assert method(1).fit(X[:1]).labels_.tolist() == [0]
    with pytest.raises(ValueError, match="n_clusters=4 is more than the 3 different objects in X"):
        method(4).fit(X)
    with pytest.raises(ValueError, match="init must hold different objects, got 0 and 1, which do not differ at all"):
        method(3, init=[0, 1, 12]).fit(X)


def test_far_objects_and_delta(method, blobs):
    X, y = blobs
    X, init = np.vstack([X, [[500.0, 500.0]]]), [int(np.flatnonzero(y == k)[0]) for k in range(4)]
    cp = method(4, delta=5.0, init=init).fit(X).credal_partition_
    assert 200 in cp.outliers
    assert len(method(4, delta=1e4, init=init).fit(X).credal_partition_.outliers) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer of at least 1, got 0"),
        ({"alpha": -1}, "alpha must be a number of at least 0, got -1"),
        ({"beta": 1}, "beta must be a number above 1, got 1"),
        ({"delta": 0}, "delta must be 'auto' or a number above 0, got 0"),
        ({"metric": 3}, "metric must be the name of a metric or a callable, got 3"),
        ({"n_candidates": 0}, "n_candidates must be 'auto' or None or an integer of at least 1, got 0"),
        ({"focal_sets": FocalSets.simple(3)}, "family on 3 clusters, but n_clusters=2"),
        ({"focal_sets": FocalSets.from_sets(2, [(), (0,), (0, 1)])}, "every single cluster"),
        ({"init": "middle"}, "init must be"),
        ({"init": [0, 1, 2]}, "init must hold the positions of 2 objects"),
        ({"init": [0.5, 1.5]}, "init must hold the positions of 2 objects, got an array of float64"),
        ({"init": [3, 3]}, r"init must hold different positions from 0 to 29, got \[3, 3\]"),
        ({"init": [3, 30]}, "init must hold different positions from 0 to 29"),
        ({"init": CredalPartition.from_hard([0, 1])}, "partition of 30 objects into 2 clusters"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
    ],
)
def test_clear_errors(method, change, message):
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    with pytest.raises(ValueError, match=message):
        method(**{"n_clusters": 2, **change}).fit(X)


def test_bad_matrices(method):
    D = pairwise_distances(np.random.default_rng(0).normal(size=(20, 2)))
    model = method(2, metric="precomputed")
    broken = D.copy()
    broken[0, 1] += 1
    for matrix, words in (
        (-D, "Negative values"),
        (D[:, :5], "square matrix"),
        (broken, "symmetric: .*symmetrize=True"),
        (D + np.eye(20), "zero diagonal"),
        (np.where(D > 2, np.nan, D), "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.set_params(symmetrize=True).fit(broken).converged_
    with pytest.raises(NotFittedError):
        method(2).predict(D)
