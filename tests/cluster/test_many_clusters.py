"""Fits with many clusters, in which objects have masses only on their nearest clusters."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster.belief import FocalSets
from dempster.cluster import ECM, EGMM, EVCLUS
from dempster.cluster._mass_step import (
    MassStep,
    find_smallest,
    masses_from_plausibilities,
    nearest_clusters,
    nearest_doubt,
)
from dempster.cluster.ecm import PrototypeModel
from dempster.cluster.egmm import EvidentialMixture
from dempster.cluster.evclus._fitted_pairs import _nearest_and_random_pairs
from dempster.cluster.evclus._pairs import AllPairs
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import block_map

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
        sums = mixture.sums(X, np.ones(len(X)), apply)
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
    assert model.scale_.best.quantile < 0.35


def test_no_landmark_matrix_is_fitted_with_many_clusters(monkeypatch):
    def fail(*arguments):
        raise AssertionError("all pairs of landmarks are fitted")

    monkeypatch.setattr(AllPairs, "__init__", fail)
    EVCLUS(C, n_init=1, max_iter=3, random_state=0).fit(X[:1200])
