"""Masses of new objects, sparse matrices, devices."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import CredalPartition
from dempster.cluster import EVCLUS
from dempster.cluster.evclus import _fitted_pairs
from dempster.dissimilarity.transform import random_pairs
from dempster.optimize.blocks import block_map
from tests.cluster.evclus.helpers import blobs, evclus, iris, masses_of, sampled

# ---- new objects ---------------------------------------------------------------------------------


def largest_distance(a, b):
    return float(np.abs(a - b).max())


@sampled
@pytest.mark.parametrize(
    "dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    "metric",
    [
        "euclidean",
        "manhattan",
        "cosine",
        "correlation",
        "seuclidean",
        "mahalanobis",
        largest_distance,
    ],
)
def test_predict_agrees_with_fit(sampling, metric, dtype):
    """The dissimilarity of an object to itself may be a rounding error (cosine)."""
    X = iris()[0][::2].astype(dtype)
    X[3] = X[70]
    model = evclus(3, sampling, metric=metric, n_landmarks=30).fit(X)
    np.testing.assert_array_equal(model.predict_mass(X).masses, masses_of(model))
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@sampled
def test_predict_agrees_with_fit_precomputed(sampling):
    D = pairwise_distances(iris()[0][::2])
    D[3], D[:, 3] = D[70], D[:, 70]
    D[3, [3, 70]] = D[[3, 70], 3] = 0
    model = evclus(3, sampling, metric="precomputed", n_landmarks=30).fit(D)
    np.testing.assert_array_equal(model.predict_mass(D).masses, masses_of(model))
    np.testing.assert_array_equal(
        model.predict_mass(D[:, model.landmark_indices_]).masses, masses_of(model)
    )
    assert model.predict_mass(D.astype(np.float32)).masses.dtype == np.float32
    noisy = D + np.diag(np.full(75, 1e-12))
    np.testing.assert_array_equal(masses_of(clone(model).fit(noisy)), masses_of(model))
    np.testing.assert_array_equal(model.predict_mass(noisy).masses, masses_of(model))


def test_zero_between_different_objects():
    X, _ = blobs(60, cluster_std=2.0)
    D = pairwise_distances(X)
    i, j = np.unravel_index(np.argmax(D), D.shape)
    D[i, j] = D[j, i] = 0
    model = evclus(3, metric="precomputed").fit(D)
    np.testing.assert_array_equal(model.predict_mass(D).masses, masses_of(model))
    assert model.stress_ == pytest.approx(model.objective_, rel=1e-6)


@sampled
def test_predict_agrees_with_fit_gower(sampling):
    X, y = iris()
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X[::2], columns=list("abcd"), index=np.arange(0, 150, 2))
    table["kind"] = np.where(
        rng.random(75) < 0.8, y[::2], rng.integers(0, 3, 75)
    ).astype(str)
    table.loc[rng.random(75) < 0.2, "a"] = np.nan
    table.loc[rng.random(75) < 0.2, "kind"] = None
    model = evclus(3, sampling, metric="gower", n_landmarks=30).fit(table)
    assert model.n_features_in_ == 5
    assert adjusted_rand_score(y[::2], model.labels_) > 0.7
    np.testing.assert_array_equal(model.predict_mass(table).masses, masses_of(model))
    assert model.predict_mass(table.iloc[[4]]).index.tolist() == [8]


@sampled
def test_new_objects(sampling):
    X, y = blobs(400, centers=[[0, 0], [5, 0], [0, 5]])
    train = np.arange(400) % 2 == 0
    test = np.arange(400) % 2 == 1
    model = evclus(3, sampling, n_landmarks=100).fit(X[train])
    predicted = model.predict(X[test])
    joined = np.concatenate([model.labels_, predicted])
    assert adjusted_rand_score(np.concatenate([y[train], y[test]]), joined) > 0.94
    partition = model.predict_mass(X[test])
    assert isinstance(partition, CredalPartition)
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1, atol=1e-9)
    alone = np.vstack(
        [model.predict_mass(X[[i]]).masses for i in np.flatnonzero(test)[:20]]
    )
    np.testing.assert_allclose(alone, partition.masses[:20], atol=1e-9)
    D = pairwise_distances(X)
    given = evclus(
        3, sampling, metric="precomputed", n_landmarks=100, d0=model.d0_
    ).fit(D[np.ix_(train, train)])
    assert adjusted_rand_score(given.predict(D[np.ix_(test, train)]), predicted) > 0.95


def test_max_references(monkeypatch):
    monkeypatch.setattr(_fitted_pairs, "MAX_REFERENCES", 80)
    X, y = blobs(200)
    model = evclus(3, "random").fit(X)
    assert len(model.landmark_indices_) == 80
    np.testing.assert_array_equal(
        model.predict_mass(X[model.landmark_indices_]).masses,
        masses_of(model)[model.landmark_indices_],
    )
    assert adjusted_rand_score(y, model.predict(X)) == 1
    D = pairwise_distances(X)
    given = evclus(3, "random", metric="precomputed").fit(D)
    np.testing.assert_array_equal(
        given.predict(D), given.predict(D[:, given.landmark_indices_])
    )


# ---- sampled pairs in a sparse matrix ------------------------------------------------------------


def sparse_pairs(X, k=40, triangles="both", diagonal=False, seed=0):
    n = len(X)
    pairs, _ = random_pairs(n, k, np.random.default_rng(seed))
    d = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    i, j = pairs.T
    if triangles == "both":
        i, j, d = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(d, 2)
    if diagonal:
        i, j, d = (
            np.concatenate([a, b])
            for a, b in ((i, np.arange(n)), (j, np.arange(n)), (d, np.zeros(n)))
        )
    return sparse.coo_matrix((d, (i, j)), shape=(n, n))


@pytest.mark.parametrize(
    "form", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.lil_matrix]
)
def test_sparse_triangles(form):
    X, y = blobs()
    one = evclus(3, "random", metric="precomputed").fit(
        form(sparse_pairs(X, triangles="upper"))
    )
    both = evclus(3, "random", metric="precomputed").fit(
        form(sparse_pairs(X, triangles="both"))
    )
    auto = EVCLUS(3, metric="precomputed", random_state=0, n_init=2).fit(
        form(sparse_pairs(X, triangles="both"))
    )
    assert auto.sampling_ == "random"
    np.testing.assert_allclose(masses_of(one), masses_of(both), atol=1e-5)
    np.testing.assert_array_equal(masses_of(both), masses_of(auto))
    assert adjusted_rand_score(y, both.labels_) == 1
    assert both.stress_ == pytest.approx(both.objective_, rel=1e-9)


def test_sparse_new_objects():
    X, y = blobs()
    D = sparse_pairs(X, diagonal=True).tocsr()
    auto = evclus(3, "random", metric="precomputed").fit(D)
    np.testing.assert_array_equal(auto.predict_mass(D).masses, masses_of(auto))
    model = evclus(
        3, "random", metric="precomputed", focal_sets="pairs", d0_quantile=0.8
    ).fit(D)
    np.testing.assert_array_equal(model.predict_mass(D).masses, masses_of(model))
    bare = sparse_pairs(X).tocsr()  # Each row is one more update.
    np.testing.assert_allclose(
        model.predict_mass(bare).masses, masses_of(model), atol=2e-3
    )
    new = X[::3] + 0.05
    truth = y[::3]
    every = pairwise_distances(new, X)
    assert all(
        adjusted_rand_score(truth, each.predict(every)) == 1 for each in (auto, model)
    )
    some = sparse.csr_matrix(
        np.where(np.random.default_rng(0).random(every.shape) < 0.3, every, 0)
    )
    assert all(
        adjusted_rand_score(truth, each.predict(some)) == 1 for each in (auto, model)
    )
    dense = evclus(3, "landmarks", metric="precomputed").fit(pairwise_distances(X))
    # Only dissimilarities to landmarks are used.
    assert adjusted_rand_score(truth, dense.predict(some)) == 1
    whole = sparse.csr_matrix(
        (pairwise_distances(X).ravel(), np.indices((150, 150)).reshape(2, -1))
    )
    assert whole.nnz == 150**2  # A stored zero means an equal object.
    again = dense.predict_mass(whole).masses[dense.landmark_indices_]
    np.testing.assert_array_equal(again, masses_of(dense)[dense.landmark_indices_])


def test_stored_zeros():
    X, _ = blobs(40)
    D = sparse_pairs(X, k=39).tocsr()
    apart = evclus(3, "random", metric="precomputed").fit(D)
    i, j = np.unravel_index(np.argmax(D.toarray()), D.shape)
    D[i, j] = D[j, i] = 0
    assert D.nnz == 40 * 39
    together = evclus(3, "random", metric="precomputed", d0=apart.d0_).fit(D)
    before, after = (
        masses_of(model)[i] @ model.focal_sets_.conflict @ masses_of(model)[j]
        for model in (apart, together)
    )
    assert after < before


# ---- with torch ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-9), (np.float32, 2e-3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_doubt_by_torch(dtype, atol, weighted):
    """Compare the masses of `DoubtModel` by torch with those of the compiled kernel."""
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(3 * k, 1, (120, 2)) for k in range(3)]).astype(dtype)
    if weighted:
        weights = rng.integers(1, 4, len(X)).astype(float)
    else:
        weights = None
    model = EVCLUS(3, random_state=0).fit(X, sample_weight=weights)._model
    near = X[:40] + rng.normal(size=(40, 2)).astype(dtype) / 100
    new = np.concatenate([rng.uniform(-6, 14, (300, 2)).astype(dtype), X[:5], near])
    by_torch = replace(model, fit=replace(model.fit, device="cpu:0"))
    with block_map(1) as apply:
        masses = by_torch.masses(new, apply)
        np.testing.assert_allclose(masses, model.masses(new, apply), atol=atol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_projection_by_torch(dtype, weighted):
    """The device "cpu:0" uses torch, "cpu" does not."""
    pytest.importorskip("torch")
    X = blobs(400, cluster_std=2.0)[0].astype(dtype)
    if weighted:
        weights = np.random.default_rng(0).integers(0, 4, 400)
    else:
        weights = None
    plain, torch = (
        evclus(3, "landmarks", device=name).fit(X, sample_weight=weights)
        for name in ("cpu", "cpu:0")
    )
    assert masses_of(torch).dtype == dtype
    if dtype == np.float64:
        tolerance = 1e-6
    else:
        tolerance = 5e-3
    np.testing.assert_allclose(masses_of(torch), masses_of(plain), atol=tolerance)
    np.testing.assert_allclose(
        torch.predict_mass(X + 0.1).masses,
        plain.predict_mass(X + 0.1).masses,
        atol=tolerance,
    )
    np.testing.assert_array_equal(torch.predict_mass(X).masses, masses_of(torch))


def test_invalid_devices():
    pytest.importorskip("torch")
    X, _ = blobs(30)
    for device in ("nonsense", "cuda:7"):
        with pytest.raises(ValueError, match=f"device='{device}' is not available"):
            EVCLUS(2, device=device).fit(X)
    with pytest.raises(ValueError, match=r"\bdevice\b"):
        EVCLUS(2, device="cpu:0", metric="manhattan").fit(X)
