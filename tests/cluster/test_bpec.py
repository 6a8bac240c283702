"""BPEC: reference values, adaptive metrics, number of clusters, errors."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import FocalSets
from dempster.cluster import BPEC, ECM, BeliefPeaks
from dempster.plot import DeltaBelDisplay
from tests.cluster.models import one_thread, prototypes


def fitted(case, **changes):
    p = case.parameters
    return BPEC(
        focal_sets=FocalSets(case["F"]), alpha=p["alpha"], beta=p["beta"], delta=p["delta"], init=case["g"],
        metric=("euclidean", "adaptive")[p["distance"]], tol=1e-13, max_iter=20_000, **changes,
    ).fit(case["x"])  # fmt: skip


@pytest.mark.parametrize(
    "name", ["bpec_fourclass_full_euclid", "bpec_fourclass_pairs_maha"]
)
def test_reference(reference, name):
    case = reference(name)
    model = fitted(case)
    case.assert_equal("mass", model.credal_partition_.masses)
    case.assert_equal("crit", model.objective_, rtol=1e-9)
    case.assert_equal("N", model.credal_partition_.nonspecificity_index())
    shared_length = min(len(model.history_), len(case["crit_trace"]))
    np.testing.assert_allclose(
        model.history_[:shared_length], case["crit_trace"][:shared_length], rtol=1e-12
    )
    free = case["y_pl_tied"] == 0
    case.assert_equal("y_pl", model.labels_, where=free)
    if model.metric == "adaptive":
        sets = (
            model.focal_sets_.membership[1:] / model.focal_sets_.cardinality[1:, None]
        )
        case.assert_equal(
            "S",
            np.einsum("jk,kde->jde", sets, model.metric_matrices_),
            rtol=0,
            atol=3e-5,
        )


def test_reference_with_another_exponent(reference):
    """The reference program uses exponent 2 in the scatter matrices for every beta.

    Our criterion is lower.
    """
    case = reference("bpec_iris_simple_noomega_maha")
    p = case.parameters
    theirs = prototypes(
        FocalSets(case["F"]), case["g"], p["alpha"], p["beta"], p["delta"], case["S"]
    )
    case.assert_equal("mass", theirs.masses(case["x"], one_thread))
    model = fitted(case)
    assert model.objective_ < float(case["crit"])
    # with the first metric
    assert model.history_[0] == pytest.approx(case["crit_trace"][0], rel=1e-9)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])


def test_metrics_are_a_minimum(reference):
    """Small changes of the metrics, of determinant one, increase the criterion."""
    case = reference("bpec_iris_simple_noomega_maha")
    model = fitted(case)
    rng = np.random.default_rng(0)
    for _ in range(20):
        changed = model.metric_matrices_ @ (
            np.eye(4) + 1e-2 * rng.normal(size=(3, 4, 4))
        )
        changed = changed @ changed.transpose(0, 2, 1)
        changed = np.stack([np.linalg.cholesky(m) for m in changed])
        values, vectors = np.linalg.eigh(np.einsum("kde,kfe->kdf", changed, changed))
        nearby = np.einsum("kde,ke,kfe->kdf", vectors, np.sqrt(values), vectors)
        nearby /= np.linalg.det(nearby)[:, None, None] ** 0.25
        other = prototypes(
            model.focal_sets_,
            model.cluster_centers_,
            model.alpha,
            model.beta,
            model.delta_,
            nearby,
        )
        assert (
            other.statistics(case["x"], np.empty(0), one_thread).objective
            >= model.objective_ - 1e-9
        )


def test_published_peaks_of_fourclass(shared_data):
    X, y = shared_data("fourclass")
    model = BPEC(init=BeliefPeaks(n_neighbors=50)).fit(X)
    assert model.n_clusters_ == 4
    assert (model.belief_peaks_.peak_indices_ + 1).tolist() == [132, 386, 252, 57]
    np.testing.assert_array_equal(
        model.cluster_centers_, X[model.belief_peaks_.peak_indices_]
    )
    assert adjusted_rand_score(y, model.labels_) > 0.7
    display = DeltaBelDisplay.from_estimator(model.belief_peaks_)
    assert display.peaks.tolist() == model.belief_peaks_.peak_indices_.tolist()


@pytest.mark.parametrize(
    ("name", "printed"), [("s2", 0.93), ("s4", 0.65), ("d31", 0.94)]
)
def test_published_results(shared_data, name, printed):
    """Denoeux (2021), NN-EVCLUS, Table 3."""
    X, y = shared_data(name, standardise=True)
    model = BPEC(
        len(np.unique(y)), focal_sets="selected", delta=5, metric="adaptive"
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(printed, abs=0.02)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])


@pytest.mark.long
def test_centers_of_large_data(shared_data):
    X, y = shared_data("birch1")
    model = BPEC().fit(X)
    assert model.n_clusters_ == 100
    means = np.array([X[y == k].mean(axis=0) for k in range(100)])
    apart = pairwise_distances(means) + np.diag(np.full(100, np.inf))
    near = pairwise_distances(means, model.cluster_centers_).min(axis=1)
    assert (near < apart.min(axis=1) / 2).sum() >= 97
    assert adjusted_rand_score(y, model.labels_) > 0.88


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, 2, centers=5, cluster_std=0.8, random_state=3)


def test_number_of_clusters(blobs):
    X, y = blobs
    assert BPEC().fit(X).n_clusters_ == 5
    assert BPEC(3).fit(X).n_clusters_ == 3
    assert BPEC(focal_sets=FocalSets.simple(4)).fit(X).n_clusters_ == 4
    assert BPEC(init=X[:2]).fit(X).n_clusters_ == 2
    assert BPEC(init=BeliefPeaks(6)).fit(X).n_clusters_ == 6
    assert adjusted_rand_score(y, BPEC().fit(X).labels_) > 0.9
    with pytest.raises(ValueError, match="init .* n_clusters=5"):
        BPEC(5, init=BeliefPeaks(6)).fit(X)


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
def test_predicting_the_training_objects_gives_their_masses(blobs, metric):
    X, _ = blobs
    model = BPEC(metric=metric).fit(X)
    np.testing.assert_array_equal(
        model.predict_mass(X).masses, model.credal_partition_.masses
    )
    certain = model.credal_partition_[model.belief_peaks_.peak_indices_]
    np.testing.assert_array_equal(certain.labels, np.arange(5))
    np.testing.assert_allclose(certain.masses.max(axis=1), 1)
    assert model.predict_mass(X.mean(axis=0) + 1e4 * np.eye(2)).outliers.tolist() == [
        0,
        1,
    ]


def test_masses_of_ecm_with_the_same_prototypes(blobs):
    X, _ = blobs
    ecm = ECM(5, random_state=0, tol=1e-14, max_iter=5000).fit(X)
    model = BPEC(init=ecm.cluster_centers_, delta=ecm.delta_).fit(X)
    np.testing.assert_allclose(
        model.credal_partition_.masses, ecm.credal_partition_.masses, atol=1e-6
    )
    assert model.objective_ == pytest.approx(ecm.objective_)


@pytest.mark.parametrize("family", ["auto", "simple", "pairs", "full", "selected"])
def test_all_families(family):
    X, y = make_blobs(
        200, 2, centers=[[0, 0], [9, 1], [1, 10], [20, 12]], random_state=1
    )
    for metric in ("euclidean", "adaptive"):
        model = BPEC(focal_sets=family, metric=metric).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.9
        assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])


def test_elongated_clusters():
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [
            rng.normal(size=(200, 2)) * [6, 0.4],
            rng.normal(size=(200, 2)) * [6, 0.4] + [0, 5],
        ]
    )
    y = np.repeat([0, 1], 200)
    init = [[0.0, 0.0], [0.0, 5.0]]
    adaptive, plain = (
        BPEC(init=init, metric=m).fit(X) for m in ("adaptive", "euclidean")
    )
    assert adjusted_rand_score(y, adaptive.labels_) > 0.95
    assert (
        adaptive.credal_partition_.nonspecificity_index()
        < plain.credal_partition_.nonspecificity_index()
    )
    np.testing.assert_allclose(np.linalg.det(adaptive.metric_matrices_), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be .* got 0"),
        ({"alpha": -1}, "alpha must be .* got -1"),
        ({"beta": 1}, "beta must be .* got 1"),
        ({"delta": 0}, "delta must be .* got 0"),
        ({"metric": "cosine"}, "metric must be .* got 'cosine'"),
        (
            {"n_clusters": 2, "focal_sets": FocalSets.simple(3)},
            "focal_sets .* n_clusters=2",
        ),
        ({"focal_sets": FocalSets.from_sets(2, [(), (0,), (0, 1)])}, "focal_sets"),
        ({"init": "k-means++"}, "init must be"),
        ({"init": np.zeros((2, 3))}, r"init must have shape \(2, 2\)"),
        ({"n_clusters": 3, "init": np.zeros((2, 2))}, r"init must have shape \(3, 2\)"),
        ({"init": np.full((2, 2), np.nan)}, "init must be finite"),
        ({"n_clusters": 31}, "n_clusters=31"),
    ],
)
def test_invalid_parameters(change, message):
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    with pytest.raises(ValueError, match=message):
        BPEC(**change).fit(X)


def test_a_fit_with_given_centers_removes_the_peaks(blobs):
    X, _ = blobs
    model = BPEC().fit(X)
    assert model.belief_peaks_.n_clusters_ == 5
    model.set_params(init=X[:2]).fit(X)
    assert not hasattr(model, "belief_peaks_")


def test_one_object_with_a_given_center():
    model = BPEC(init=[[0.0, 0.0]]).fit([[1.0, 1.0]])
    assert model.labels_.tolist() == [0]
