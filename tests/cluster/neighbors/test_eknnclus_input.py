"""EK-NNclus: what may be given to it, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster.cluster import EKNNClus
from dempster.cluster import eknnclus as _method
from dempster.dissimilarity.gower import gower_matrix


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, 3, centers=4, cluster_std=0.6, random_state=2)


def test_the_table_of_the_user_is_not_remembered(blobs):
    table = blobs[0].copy()
    model = EKNNClus(random_state=0, metric="cityblock").fit(table)
    table[:] = 0
    np.testing.assert_array_equal(model.predict(blobs[0]), model.labels_)


def test_tables_with_categories_and_gaps():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    table = pd.DataFrame({"x": rng.normal(6 * y, 1), "size": rng.normal(-4 * y, 1), "kind": np.array(list("abc"))[y]})
    table.loc[::7, "x"] = np.nan
    model = EKNNClus(metric="gower", random_state=0).fit(table)
    given = EKNNClus(metric="precomputed", random_state=0).fit(gower_matrix(table))
    np.testing.assert_array_equal(model.credal_partition_.masses, given.credal_partition_.masses)
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict_mass(table).masses, model.credal_partition_.masses)
    new = pd.DataFrame({"x": [np.nan, 6.0], "size": [-8.0, -4.0], "kind": ["c", None]})
    np.testing.assert_array_equal(model.predict(new), model.labels_[[100, 50]])
    sampled = EKNNClus(metric="gower", init="sample", random_state=0).fit(table)
    assert adjusted_rand_score(y, sampled.labels_) == 1


def test_twins_only():
    with pytest.warns(UserWarning, match="single cluster"):
        model = EKNNClus(random_state=0).fit(np.ones((20, 2)))
    assert model.n_clusters_ == 1
    assert model.credal_partition_.masses.shape == (20, 2)
    np.testing.assert_allclose(model.credal_partition_.masses, [[0, 1]] * 20)
    assert model.predict([[5, 5], [1, 1]]).tolist() == [0, 0]
    np.testing.assert_allclose(model.predict_mass([[5, 5], [1, 1]]).masses, [[0, 1]] * 2)
    two = EKNNClus(random_state=0, n_neighbors=4).fit(np.repeat([[0.0], [1.0]], 10, axis=0))
    assert two.n_clusters_ >= 2
    assert np.isfinite(two.credal_partition_.masses).all()


def test_two_objects():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert EKNNClus().fit([[0.0], [1.0]]).n_clusters_ == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be 'auto' or an integer of at least 1, got 0"),
        ({"n_neighbors": 150}, "n_neighbors must be below the number of objects, 150, got 150"),
        ({"q": 0}, "q must be a number above 0 and at most 1, got 0"),
        ({"power": -1}, "power must be a number above 0, got -1"),
        ({"graph": "both"}, "graph must be 'union', 'mean' or 'directed', got 'both'"),
        ({"init": "k-means++"}, "init must be"),
        ({"init": [0, 1]}, "init must hold 150 labels, one for each object, got 2"),
        ({"init": np.zeros((150, 2))}, r"init must be one label for each object, shape \(n,\), got shape \(150, 2\)"),
        ({"init": np.full(150, np.nan)}, "init must hold labels without missing values"),
        ({"init": 0}, "init must be"),
        ({"n_init": 0}, "n_init must be an integer of at least 1"),
        ({"random_state": "x"}, "random_state must be"),
        ({"neighbors": "fast"}, "neighbors must be"),
        ({"metric": 3}, "metric must be the name of a metric or a callable, got 3"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        EKNNClus(**parameters).fit(load_iris().data)


def test_bad_data(blobs):
    X, _ = blobs
    D = pairwise_distances(X)
    given = EKNNClus(metric="precomputed")
    with pytest.raises(ValueError, match="square"):
        given.fit(D[:, :5])
    with pytest.raises(ValueError, match="square"):
        given.fit(sparse.csr_matrix(D[:, :5]))
    with pytest.raises(ValueError, match="Negative"):
        given.fit(-D)
    with pytest.raises(ValueError, match="Negative"):
        given.fit(sparse.csr_matrix(-D))
    asymmetric = D.copy()
    asymmetric[0, 1] += 9
    with pytest.raises(ValueError, match="symmetric"):
        given.fit(asymmetric)
    assert EKNNClus(metric="precomputed", symmetrize=True, random_state=0).fit(asymmetric).converged_
    with pytest.raises(ValueError, match="got none"):
        given.fit(sparse.csr_matrix((5, 5)))
    with pytest.raises(ValueError, match="init='sample' needs attributes"):
        EKNNClus(metric="precomputed", init="sample").fit(D)
    bad = X.copy()
    bad[3, 1] = np.nan
    for wrong in (bad, X[:1], X[:0], X[:, 0]):
        with pytest.raises(ValueError):
            EKNNClus().fit(wrong)
    with pytest.raises(ValueError, match="features"):
        EKNNClus(random_state=0).fit(X).predict(X[:, :2])
    with pytest.raises(ValueError, match="features"):
        EKNNClus(random_state=0, metric="precomputed").fit(D).predict(D[:, :7])


def test_metrics_that_cannot_be_used(blobs):
    X, _ = blobs
    flat = np.column_stack([X, np.ones(len(X))])  # an attribute without variance to divide by
    with pytest.raises(ValueError, match="metric gave dissimilarities that are NaN or infinite"):
        EKNNClus(metric="seuclidean").fit(flat)
    with pytest.raises(ValueError, match="metric must be symmetric"):
        EKNNClus(metric=lambda a, b: abs(a - b).sum() * (1 + (a[0] > b[0]))).fit(X)


def test_a_partition_that_would_not_fit_in_memory(monkeypatch, blobs):
    X, _ = blobs
    monkeypatch.setattr(_method, "_MAX_PARTITION", 3000)
    with pytest.raises(ValueError, match="n_neighbors=2 left .* clusters"):
        EKNNClus(n_neighbors=2, random_state=0).fit(X)
