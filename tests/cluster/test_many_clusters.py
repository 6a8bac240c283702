"""Fits with many clusters, in which objects have masses only on their nearest clusters."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster.belief import FocalSets
from dempster.cluster import CCM, ECM, EGMM, EVCLUS
from dempster.cluster._mass_step import (
    MassStep,
    masses_from_plausibilities,
    nearest_doubt,
)
from dempster.cluster.ecm import PrototypeMethod, PrototypeModel
from dempster.cluster.egmm import EvidentialMixture, sum_masses
from dempster.cluster.evclus._fitted_pairs import _nearest_and_random_pairs
from dempster.cluster.evclus._model import (
    NearbyReferences,
    Surroundings,
    neighboring_clusters,
)
from dempster.cluster.evclus._pairs import AllPairs
from dempster.constraints import Constraints
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import block_map
from dempster.optimize.nearest import find_smallest, nearest_clusters
from dempster.partition import CredalPartition
from dempster.persistence import load, save

C = 60
K = 5  # number of clusters on which an object has mass
X, Y = make_blobs(1500, 6, centers=C, center_box=(-6, 6), random_state=0)
SINGLES = FocalSets.simple(C, empty=False, omega=False)


@pytest.mark.parametrize("dtype", [np.float32, float])
@pytest.mark.parametrize("n_clusters", [5, 6, 37, 64])
def test_smallest_costs_are_sorted_and_the_first_of_equal_ones(dtype, n_clusters):
    rng = np.random.default_rng(n_clusters)
    costs = rng.integers(0, 9, (50, n_clusters)).astype(dtype)
    costs[0] = np.inf
    costs[1, 1:] = np.inf
    expected = np.argsort(costs, axis=1, kind="stable")[:, :K]
    np.testing.assert_array_equal(find_smallest(costs), expected)


@pytest.mark.parametrize("dtype", [np.float32, float])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_nearest_clusters_are_accurate_far_from_the_origin(dtype, offset):
    rows = (X + offset).astype(dtype)
    centers = rows[:C].astype(float) + 0.25
    near, squares = nearest_clusters(rows, centers)
    gaps = rows[:, None].astype(float) - centers
    exact = np.square(gaps).sum(axis=2)
    np.testing.assert_allclose(
        squares, np.sort(exact, axis=1)[:, :K], rtol=2e-3, atol=2e-3
    )
    np.testing.assert_allclose(squares, np.take_along_axis(exact, near, 1), atol=2e-3)


def truncated(masses):
    """Return masses with all but the K largest of each row set to zero."""
    least = np.sort(masses, axis=1)[:, -K:].min(axis=1, keepdims=True)
    kept = np.where(masses >= least, masses, 0)
    return kept / kept.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("with_weights", [False, True])
def test_sums_of_ecm_are_those_of_masses_on_the_nearest_clusters(with_weights):
    weights = np.empty(0)
    if with_weights:
        weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = PrototypeModel(MassStep(SINGLES, 1.0, 1.4, np.inf, 1e-12), X[:C] + 0.1)
    squares = np.square(X[:, None] - model.centers).sum(axis=2)
    masses = truncated(squares ** (-1 / 0.4))
    w = weights if with_weights else np.ones(len(X))
    powers = w[:, None] * masses**1.4
    with block_map(2) as apply:
        sums = model.statistics(X, weights, apply)
    np.testing.assert_allclose(sums.objective, (powers * squares).sum())
    np.testing.assert_allclose(sums.total, powers.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(sums.first, X.T @ powers, atol=1e-9)
    centers = model.update(sums).centers
    moved = (powers.T @ X) / powers.sum(axis=0)[:, None]
    np.testing.assert_allclose(centers, moved)


@pytest.mark.parametrize("freedom", [np.inf, 7.0])
def test_sums_of_egmm_are_those_of_the_most_probable_components(freedom):
    rng = np.random.default_rng(0)
    share = rng.dirichlet(np.ones(C))
    mixture = EvidentialMixture(
        SINGLES, X[:C], 2 * np.eye(6), share, degrees_of_freedom=freedom
    )
    squares = np.square(X[:, None] - X[:C]).sum(axis=2) / 2
    u = np.ones_like(squares)
    logs = -squares / 2
    if np.isfinite(freedom):
        u = (freedom + 6) / (freedom + squares)
        logs = -(freedom + 6) / 2 * np.log1p(squares / freedom)
    masses = truncated(share * np.exp(logs))
    with block_map(1) as apply:
        sums = sum_masses(X, np.ones(len(X)), mixture, apply)
    np.testing.assert_allclose(sums.total, masses.sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(sums.precision, (masses * u).sum(axis=0), atol=1e-9)
    np.testing.assert_allclose(sums.first, (masses * u).T @ X, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [ECM(C, n_init=2), EGMM(C, n_init=2), EGMM(C, distribution="t", n_init=1)],
    ids=["ecm", "egmm", "t"],
)
def test_objective_never_increases_and_clusters_are_found(model):
    model.set_params(random_state=0).fit(X)
    steps = np.diff(model.history_)
    assert (steps <= 1e-9 * np.abs(model.history_[:-1])).all()
    assert model.converged_
    assert -steps[-1] <= model.tol * abs(model.history_[-2])
    assert adjusted_rand_score(Y, model.labels_) > 0.85


@pytest.mark.parametrize("empty", [False, True])
def test_compressed_doubt_is_the_doubt_of_the_nearest_clusters(empty):
    rng = np.random.default_rng(0)
    pairs = [(k, (k + step) % C) for k in range(C) for step in (1, 2, 7)]
    family = FocalSets.with_pairs(C, pairs, empty=empty, omega=False)
    contour = rng.random((300, C)) ** 8
    near = find_smallest(-contour)
    plausible = np.take_along_axis(contour, near, axis=1)
    outlying = rng.random(300) if empty else None
    if empty:
        plausible[:3] = 0
    few = np.zeros_like(contour)
    np.put_along_axis(few, near, plausible, axis=1)
    rows = nearest_doubt(near, plausible, family, outlying, np.dtype(float))
    expected = masses_from_plausibilities(few, family, outlying)
    np.testing.assert_allclose(rows.toarray(), expected, atol=2e-6)


def test_pairs_of_landmarks_estimate_the_sum_over_all_pairs():
    rng = np.random.default_rng(0)
    source = AttributeSource(X)
    fitted = rng.permutation(len(X))[:600]
    pairs, weights = _nearest_and_random_pairs(source, fitted, rng)
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    np.testing.assert_allclose(weights.sum(), 600 * 599 / 2)
    D = source.block(fitted, fitted)
    i, j = pairs.T
    np.testing.assert_allclose(weights @ D[i, j], np.triu(D).sum(), rtol=0.02)
    nearest = np.argsort(D, axis=1)[:, 1]
    ends = np.sort(np.column_stack([np.arange(600), nearest]), axis=1)
    assert np.isin(ends @ [600, 1], (pairs @ [600, 1])[weights == 1]).all()


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_evclus_compares_some_pairs_of_landmarks(metric):
    model = EVCLUS(C, metric=metric, n_init=2, random_state=0).fit(X)
    assert model.sampling_ == "landmarks"
    assert adjusted_rand_score(Y, model.labels_) > 0.8
    partition = model.credal_partition_
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1, rtol=1e-6)
    again = model.predict_mass(X)
    assert abs(again.stored_masses - partition.stored_masses).max() < 1e-9
    assert model.scale_ is None


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_references_of_near_clusters_are_sufficient(dtype):
    points = X[::2].astype(dtype)
    new = X[1::2].astype(dtype)
    labels = Y[::2].astype(np.int64)
    labels[labels == 3] = 4  # Cluster 3 has no references.
    blocks = blocks_of(points)
    family = neighboring_clusters(blocks, labels, C)
    nearby = NearbyReferences(points, labels, C, None)
    around = Surroundings.from_dissimilarities(blocks, len(points), None, C)
    contrast = around.compare(nearby.blocks, labels, C).contrast
    affinity = around.affinity(labels, contrast)
    affinities, near, nearest, distance = affinity.by_points(new, points)
    contour = contrast.plausibilities(affinities)
    found, clusters, *others = nearby.compare(new, affinity)
    assert nearby.family == family
    assert max(map(len, nearby.near)) < C / 2
    np.testing.assert_array_equal(others[1], nearest)
    np.testing.assert_array_equal(others[2], distance)
    assert np.isclose(others[0], near).mean() > 0.99
    assert (np.diff(found, axis=1) <= 0).all()
    np.testing.assert_array_equal(clusters[:, 0], contour.argmax(axis=1))
    expected = np.take_along_axis(contour, clusters, axis=1)
    assert np.isclose(found, expected, rtol=1e-4, atol=1e-6).all(axis=1).mean() > 0.98


def test_local_scales_are_smaller_than_clusters():
    rng = np.random.default_rng(0)
    spread = np.exp(0.5 * rng.normal(size=C))
    labels = rng.integers(0, C, 2000)
    centers = 2.5 * rng.normal(size=(C, 10))
    points = centers[labels] + spread[labels, None] * rng.normal(size=(2000, 10))
    blocks = blocks_of(points[:1000])
    around = Surroundings.from_dissimilarities(blocks, 1000, None, C)
    contrast = around.compare(blocks, labels[:1000], C).contrast
    affinity = around.affinity(labels[:1000], contrast)
    affinities = affinity.by_points(points[1000:], points[:1000])[0]
    contour = contrast.plausibilities(affinities)
    assert (contour.argmax(axis=1) == labels[1000:]).mean() > 0.93


def blocks_of(points):
    """Return the function that yields blocks of dissimilarities between points."""
    rows = np.array_split(np.arange(len(points)), 3)
    every = np.arange(len(points))
    return lambda: [(some, every, cdist(points[some], points)) for some in rows]


def test_evclus_never_needs_a_column_for_each_set(monkeypatch, tmp_path):
    def fail(self):
        raise AssertionError("masses were expanded")

    monkeypatch.setattr(CredalPartition, "masses", property(fail))
    model = EVCLUS(C, n_init=1, max_iter=3, random_state=0).fit(X)
    assert sparse.issparse(model._model.reference_masses)
    again = model.predict_mass(X[:99]).stored_masses
    assert abs(again - model.credal_partition_.stored_masses[:99]).max() < 1e-9
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model").predict_mass(X[:99]).stored_masses
    assert (loaded != again).nnz == 0


def test_constraints_with_many_clusters():
    model = EVCLUS(C, n_init=1, max_iter=3, random_state=0)
    model.fit(X[:1200], constraints=Constraints([(0, 1)], [(2, 3)]))
    total = model.credal_partition_.stored_masses.sum(axis=1)
    np.testing.assert_allclose(total, 1, rtol=1e-6)


def test_no_landmark_matrix_is_fitted_with_many_clusters(monkeypatch):
    def fail(*arguments):
        raise AssertionError("all pairs of landmarks are fitted")

    monkeypatch.setattr(AllPairs, "__init__", fail)
    EVCLUS(C, n_init=1, max_iter=3, random_state=0).fit(X[:1200])


@pytest.mark.parametrize("dtype", [np.float32, float])
def test_tensors_have_compressed_masses(dtype):
    torch = pytest.importorskip("torch")
    rows = X.astype(dtype)
    model = ECM(C, n_init=1, random_state=0).fit(rows)
    prototypes = model._model
    tensor = torch.as_tensor(rows)
    masses = prototypes.masses_on_device(tensor, "cpu")
    assert sparse.issparse(masses)
    assert masses.dtype == dtype
    expected = model.credal_partition_.stored_masses
    # Products in single precision lose half of the digits.
    assert abs(masses - expected).max() < (2e-3 if dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(masses.sum(axis=1), 1, rtol=1e-6)
    singles = PrototypeModel(MassStep(SINGLES, 1.0, 1.4, np.inf, 1e-12), X[:C] + 0.1)
    sums = singles.statistics(tensor, None, map)
    with block_map(1) as apply:
        expected = singles.statistics(rows, np.empty(0), apply)
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(sums.objective, expected.objective, rtol=tolerance)
    np.testing.assert_allclose(sums.total, expected.total, rtol=100 * tolerance)


def test_fit_of_a_tensor_with_many_clusters(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    model = ECM(C, n_init=1, random_state=0)
    with sklearn.config_context(array_api_dispatch=True):
        model.fit(torch.as_tensor(X))
        again = model.predict_mass(torch.as_tensor(X[:9])).stored_masses
    assert sparse.issparse(model.credal_partition_.stored_masses)
    assert isinstance(model.cluster_centers_, torch.Tensor)
    assert abs(again - model.credal_partition_.stored_masses[:9]).max() < 1e-9
    expected = ECM(C, n_init=1, random_state=0).fit(X)
    np.testing.assert_array_equal(np.asarray(model.labels_), expected.labels_)


def test_evclus_in_many_dimensions():
    """Test that few clusters are lost; medoids instead of k-means lose 0.04."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(80), 60)
    rows = rng.normal(size=(80, 50))[y] + rng.normal(size=(4800, 50))
    model = EVCLUS(80, random_state=0).fit(rows)
    assert adjusted_rand_score(y, model.labels_) > 0.93


def blobs(k, per_cluster, n_features, spread, seed=0):
    y = np.repeat(np.arange(k), per_cluster)
    rng = np.random.default_rng(seed)
    centers = spread * rng.normal(size=(k, n_features))
    return centers[y] + rng.normal(size=(len(y), n_features)), y


@pytest.mark.parametrize("model", [ECM, EGMM, EVCLUS])
def test_overlapping_clusters_are_found_as_well_as_by_k_means(model):
    rows, y = blobs(70, 50, 20, 1.2)
    restarts = KMeans(70, n_init=10, random_state=0).fit(rows)
    ours = model(70, random_state=0).fit(rows).labels_
    assert adjusted_rand_score(y, ours) > adjusted_rand_score(y, restarts.labels_)


def test_only_random_starts_are_repeated_with_many_clusters(monkeypatch):
    counts = []
    run = PrototypeMethod.run_start

    def count(self, start):
        counts.append(1)
        return run(self, start)

    monkeypatch.setattr(PrototypeMethod, "run_start", count)
    ECM(C, random_state=0).fit(X)
    assert len(counts) == 1
    ECM(C, n_init=2, init="random", max_iter=2, random_state=0).fit(X)
    assert len(counts) == 3


def test_landmarks_are_in_their_most_plausible_clusters():
    rows, y = blobs(60, 40, 6, 2.5)
    model = EVCLUS(60, random_state=0).fit(rows)._model
    plausible = CredalPartition(model.reference_masses, model.family).labels
    assert np.mean(plausible != model.labels) < 0.02
    first = model.fit.reference_masses[:, model.fit.family.singleton_index].argmax(
        axis=1
    )
    classes = y[model.references.positions]
    gain = adjusted_rand_score(classes, model.labels) - adjusted_rand_score(
        classes, first
    )
    assert gain > 0.03


@pytest.mark.parametrize("method", [ECM, CCM, EGMM])
def test_starts_and_tolerance_are_reported(method, monkeypatch):
    """Many clusters have one start, and a larger tolerance if there are many objects."""
    monkeypatch.setattr("dempster.data.sampling.SAMPLE_SIZE", 1000)
    many, _ = blobs(60, 20, 2, 20.0)
    few, _ = blobs(3, 400, 2, 20.0)
    model = method(60, tol=1e-7, random_state=0).fit(many)
    assert model.n_starts_ == 1
    assert model.tol_ == {ECM: 1e-4, CCM: 1e-4, EGMM: 1e-5}[method]
    assert method(60, tol=1e-3, random_state=0).fit(many).tol_ == 1e-3
    model = method(3, tol=1e-7, n_init=4, random_state=0).fit(few)
    assert model.n_starts_ == 4
    assert model.tol_ == 1e-7
    assert method(3, init=model.cluster_centers_).fit(few).n_starts_ == 1


def test_tolerance_of_landmarks_is_reported():
    data, _ = blobs(3, 100, 2, 20.0)
    many, _ = blobs(3, 1000, 2, 20.0)
    landmarks = EVCLUS(3, tol=1e-9, random_state=0).fit(many)
    assert landmarks.tol_ == 1e-5
    assert EVCLUS(3, tol=1e-9, random_state=0).fit(data).tol_ == 1e-9


@pytest.mark.parametrize("n_clusters", [30, C])
@pytest.mark.parametrize("model", [ECM, CCM, EVCLUS])
def test_far_objects_do_not_take_the_place_of_clusters(model, n_clusters):
    rng = np.random.default_rng(7)
    centers = 2 * rng.normal(size=(n_clusters, 10))
    y = np.repeat(np.arange(n_clusters), 45)
    near = centers[y] + rng.normal(size=(len(y), 10))
    directions = rng.normal(size=(40, 10))
    far = 200 * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    found = []
    for rows in (near, np.r_[near, far]):
        labels = model(n_clusters, random_state=0).fit(rows).labels_
        found.append(adjusted_rand_score(y, labels[: len(y)]))
    assert found[0] > 0.85
    assert found[1] > found[0] - 0.05
