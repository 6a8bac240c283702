"""Input and parameters of BeliefPeaks and EKNNClus."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster.cluster import BeliefPeaks, EKNNClus
from dempster.cluster import eknnclus as _method
from tests.inputs import gower_matrix


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, 3, centers=4, cluster_std=0.6, random_state=2)


@pytest.fixture(params=[BeliefPeaks, EKNNClus])
def clusterer(request):
    return request.param


def test_tables_with_categories_and_missing_values(clusterer):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    table = pd.DataFrame(
        {
            "x": rng.normal(6 * y, 1),
            "size": rng.normal(-4 * y, 1),
            "kind": np.array(list("abc"))[y],
        }
    )
    table.loc[::7, "x"] = np.nan
    model = clusterer(metric="gower", random_state=0).fit(table)
    precomputed = clusterer(metric="precomputed", random_state=0).fit(
        gower_matrix(table)
    )
    np.testing.assert_array_equal(model.labels_, precomputed.labels_)
    if clusterer is BeliefPeaks:
        for name in ("belief_", "nearest_higher_", "peak_indices_"):
            np.testing.assert_array_equal(
                getattr(model, name), getattr(precomputed, name)
            )
        assert not hasattr(model, "cluster_centers_")
    else:
        np.testing.assert_array_equal(
            model.credal_partition_.masses, precomputed.credal_partition_.masses
        )
        np.testing.assert_array_equal(
            model.predict_mass(table).masses, model.credal_partition_.masses
        )
        sampled = EKNNClus(metric="gower", init="sample", random_state=0).fit(table)
        assert adjusted_rand_score(y, sampled.labels_) == 1
    assert adjusted_rand_score(y, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    new = pd.DataFrame({"x": [np.nan, 6.0], "size": [-8.0, -4.0], "kind": ["c", None]})
    np.testing.assert_array_equal(model.predict(new), model.labels_[[100, 50]])


COMMON_ERRORS = [
    ({"n_neighbors": 150}, "n_neighbors .* 150, got 150"),
    ({"n_neighbors": "all"}, "n_neighbors must be 'auto' or an integer"),
    ({"q": 0}, "q must be .* got 0"),
    ({"neighbors": "fast"}, "neighbors must be .* got 'fast'"),
    ({"metric": 2}, "metric must be .* got 2"),
    ({"metric": "precomputed"}, "square"),
]
PEAK_ERRORS = [
    ({"n_clusters": 0}, "n_clusters must be .* got 0"),
    ({"n_clusters": 151}, "n_clusters=151"),
    ({"min_belief": 1.5}, "min_belief must be"),
    ({"min_delta": 1000}, "min_delta=1000"),
]
NEIGHBOR_ERRORS = [
    ({"n_neighbors": 0}, "n_neighbors must be .* got 0"),
    ({"power": -1}, "power must be .* got -1"),
    ({"neighbor_graph": "both"}, "neighbor_graph must be .* got 'both'"),
    ({"init": "k-means++"}, "init must be"),
    ({"init": [0, 1]}, "init must .* 150 labels.* got 2"),
    ({"init": np.zeros((150, 2))}, r"init must be .* got shape \(150, 2\)"),
    ({"init": np.full(150, np.nan)}, "init must"),
    ({"init": 0}, "init must be"),
    ({"n_init": 0}, "n_init must be"),
    ({"random_state": "x"}, "random_state must be"),
]


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [(model, *case) for model in (BeliefPeaks, EKNNClus) for case in COMMON_ERRORS]
    + [(BeliefPeaks, *case) for case in PEAK_ERRORS]
    + [(EKNNClus, *case) for case in NEIGHBOR_ERRORS],
)
def test_invalid_parameters(model, parameters, message):
    with pytest.raises(ValueError, match=message):
        model(**parameters).fit(load_iris().data)


def test_invalid_dissimilarities(clusterer, blobs):
    X, _ = blobs
    D = pairwise_distances(X)
    asymmetric = D * (1 + 0.1 * np.triu(np.ones_like(D)))
    for wrong, message in (
        (D[:, :5], "square"),
        (-D, "Negative"),
        (asymmetric, "symmetric"),
    ):
        with pytest.raises(ValueError, match=message):
            clusterer(metric="precomputed").fit(wrong)
    model = clusterer(metric="precomputed", symmetrize=True, random_state=0).fit(
        asymmetric
    )
    assert (
        adjusted_rand_score(model.labels_, clusterer(random_state=0).fit(X).labels_)
        > 0.9
    )
    with pytest.raises(ValueError, match="features"):
        model.predict(D[:, :7])


def test_invalid_sparse_dissimilarities(blobs):
    D = pairwise_distances(blobs[0])
    model = EKNNClus(metric="precomputed")
    for wrong, message in (
        (D[:, :5], "square"),
        (-D, "Negative"),
        (np.zeros((5, 5)), "X must contain"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(sparse.csr_matrix(wrong))
    with pytest.raises(ValueError, match="init='sample'"):
        model.set_params(init="sample").fit(D)


def test_metrics_that_cannot_be_used(clusterer, blobs):
    X, _ = blobs
    # a column without a variance to divide by
    constant = np.column_stack([X, np.ones(len(X))])
    with pytest.raises(ValueError, match="metric must.*finite"):
        clusterer(metric="seuclidean").fit(constant)
    with pytest.raises(ValueError, match=r"\bmetric\b"):
        clusterer(metric=lambda a, b: abs(a - b).sum() * (1 + (a[0] > b[0]))).fit(X)


def test_approximate_neighbors_need_the_extra_and_attributes(
    clusterer, monkeypatch, blobs
):
    X, _ = blobs
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    with pytest.raises(ImportError, match="dempster\\[neighbors\\]"):
        clusterer(neighbors="approximate").fit(X)
    for metric, data in (
        ("precomputed", pairwise_distances(X)),
        (lambda a, b: abs(a - b).sum(), X),
    ):
        with pytest.raises(ValueError, match="neighbors='approximate'"):
            clusterer(neighbors="approximate", metric=metric).fit(data)


# ---- EKNNClus ------------------------------------------------------------------------------------


def test_equal_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EKNNClus(random_state=0).fit(np.ones((20, 2)))
    assert model.n_clusters_ == 1
    np.testing.assert_allclose(model.credal_partition_.masses, [[0, 1]] * 20)
    assert model.predict([[5, 5], [1, 1]]).tolist() == [0, 0]
    np.testing.assert_allclose(
        model.predict_mass([[5, 5], [1, 1]]).masses, [[0, 1]] * 2
    )
    two = EKNNClus(random_state=0, n_neighbors=4).fit(
        np.repeat([[0.0], [1.0]], 10, axis=0)
    )
    assert two.n_clusters_ == 1  # as of two rows, see `test_two_rows`
    assert np.isfinite(two.credal_partition_.masses).all()


def test_two_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert EKNNClus().fit([[0.0], [1.0]]).n_clusters_ == 1


def test_masses_that_do_not_fit_into_memory(monkeypatch, blobs):
    monkeypatch.setattr(_method, "_MAX_MASSES", 3000)
    with pytest.raises(ValueError, match="n_neighbors=2 gives .* clusters"):
        EKNNClus(n_neighbors=2, random_state=0).fit(blobs[0])
