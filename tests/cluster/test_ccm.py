"""Credal c-means: published criterion, clusters in a row, starts, errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster.cluster import CCM, ECM, BeliefPeaks
from dempster.datasets import load_butterfly


def naive_objective(model, X, centers=None, masses=None):
    """Return the published criterion, computed by loops."""
    cp = model.credal_partition_
    total = 0.0
    if centers is None:
        centers = model.cluster_centers_
    if masses is None:
        masses = cp.masses
    for x, row in zip(X, masses, strict=True):
        for clusters, mass in zip(cp.focal_sets, row, strict=True):
            if not clusters:
                total += model.delta_**2 * mass**model.beta_
                continue
            own = centers[list(clusters)]
            cost = ((x - own) ** 2).sum() + model.gamma * (
                (x - own.mean(axis=0)) ** 2
            ).sum()
            total += mass**model.beta_ * cost / (len(clusters) + model.gamma)
    return total


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full"]),
    st.sampled_from([1.1, 1.5, 2.0, 3.0]),
    st.sampled_from([0.0, 0.5, 1.0, 10.0]),
)
def test_objective_never_increases_and_masses_are_valid(seed, family, beta, gamma):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2)) + 3 * rng.integers(0, 3, (40, 1))
    model = CCM(
        3,
        focal_sets=family,
        beta=beta,
        gamma=gamma,
        n_init=1,
        max_iter=30,
        tol=0,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])
    assert model.objective_ == pytest.approx(naive_objective(model, X), rel=1e-9)
    masses = model.credal_partition_.masses
    assert masses.min() >= 0
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


def test_result_is_a_local_minimum():
    X, _ = make_blobs(60, 2, centers=3, random_state=1)
    exactly = {"beta": 2.0, "max_iter": 20_000, "tol": 1e-14}
    model = CCM(
        3, focal_sets="full", gamma=0.7, n_init=1, random_state=0, **exactly
    ).fit(X)
    best = naive_objective(model, X)
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = model.cluster_centers_ + 1e-3 * rng.normal(size=(3, 2))
        assert naive_objective(model, X, centers=moved) >= best - 1e-9
        shifted = np.clip(
            model.credal_partition_.masses + 1e-3 * rng.normal(size=(60, 8)), 0, None
        )
        shifted /= shifted.sum(axis=1, keepdims=True)
        assert naive_objective(model, X, masses=shifted) >= best - 1e-9


def three_in_a_row():
    spread = np.linspace(-1, 1, 21)
    return np.concatenate([spread - 4, spread, spread + 4, [-2.0, 2.0]])[:, None]


def test_three_clusters_in_a_row():
    """The barycenter of the outer clusters is the middle one: ECM is in doubt there, CCM is not."""
    X = three_in_a_row()
    init = [[-4.0], [0.0], [4.0]]
    family = FocalSets.pairs(3)
    ecm, ccm = (
        m(3, focal_sets=family, beta=2.0, init=init).fit(X).credal_partition_
        for m in (ECM, CCM)
    )
    middle = slice(21, 42)
    outer = family.index({0, 2})
    assert ecm.masses[middle, outer].max() > 0.2
    assert ccm.masses[middle, outer].max() < 0.05
    assert set(ccm.best_set[middle]) == {family.index({1})}
    # halfway between neighbours CCM is imprecise
    assert ccm.best_set[-2:].tolist() == [family.index({0, 1}), family.index({1, 2})]
    assert ccm.ambiguous.tolist() == [63, 64]


def test_butterfly():
    model = CCM(2, focal_sets="full", beta=2.0, delta=5, random_state=0).fit(
        load_butterfly().data
    )
    assert 5 in model.credal_partition_.ambiguous
    assert model.credal_partition_.outliers.tolist() == [11]


def test_translation_and_rotation_have_no_effect():
    X, _ = make_blobs(150, 2, centers=3, random_state=2)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    start = X[[0, 50, 100]]
    exactly = {"tol": 1e-12, "delta": 3.0}
    a = CCM(3, init=start, **exactly).fit(X).credal_partition_
    b = CCM(3, init=start @ turn + 10, **exactly).fit(X @ turn + 10).credal_partition_
    np.testing.assert_allclose(a.masses, b.masses, atol=1e-5)


def test_starts():
    X, y = make_blobs(300, 2, centers=5, cluster_std=0.8, random_state=3)
    peaks = BeliefPeaks(5).fit(X)
    by_array = CCM(5, init=peaks.cluster_centers_).fit(X)
    by_name = CCM(5, init="belief-peaks").fit(X)
    by_finder = CCM(5, init=BeliefPeaks(n_neighbors=40)).fit(X)
    np.testing.assert_array_equal(by_array.labels_, by_name.labels_)
    assert min(adjusted_rand_score(y, m.labels_) for m in (by_array, by_finder)) > 0.9
    start = CredalPartition.from_hard(y)
    assert (CCM(5, init=start).fit(X).labels_ == y).mean() > 0.9
    with pytest.raises(ValueError, match="init finds 3 belief peaks, but n_clusters=5"):
        CCM(5, init=BeliefPeaks(3)).fit(X)


@pytest.mark.parametrize(
    "family",
    ["auto", "simple", "pairs", "full", "selected", FocalSets.max_cardinality(4, 3)],
)
def test_all_families(family):
    X, y = make_blobs(
        200, 2, centers=[[0, 0], [9, 1], [1, 10], [20, 12]], random_state=1
    )
    model = CCM(4, focal_sets=family, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_warning_if_clusters_coincide():
    X = np.random.default_rng(0).normal(size=(100, 20))
    with pytest.warns(UserWarning, match="CCM: clusters . and . coincide; try a beta"):
        CCM(3, beta=4.0, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must"),
        ({"gamma": -1}, "gamma must"),
        ({"beta": 1}, "beta must"),
        ({"delta": 0}, "delta must"),
        ({"focal_sets": FocalSets.simple(3)}, "focal_sets must"),
        (
            {"focal_sets": FocalSets.from_sets(2, [(), (0,), (0, 1)])},
            "every single cluster",
        ),
        (
            {
                "focal_sets": FocalSets.from_sets(2, [(), (0,), (0, 1)]),
                "init": "belief-peaks",
            },
            "every single cluster",
        ),
        ({"init": "middle"}, "init must"),
        ({"init": np.zeros((2, 3))}, r"init must"),
        ({"init": np.full((2, 2), np.nan)}, "init must"),
    ],
)
def test_invalid_parameters(change, message):
    X, _ = make_blobs(30, 2, centers=2, random_state=0)
    with pytest.raises(ValueError, match=message):
        CCM(**{"n_clusters": 2, **change}).fit(X)


def test_invalid_data():
    with pytest.raises(
        ValueError, match="n_clusters=3 is more than the 2 different objects"
    ):
        CCM(3).fit(np.repeat([[0.0, 0], [1, 1]], 10, axis=0))


@pytest.mark.parametrize(
    ("name", "printed"), [("iris", 0.63), ("seeds", 0.79), ("heart", 0.37)]
)
def test_published_results(shared_data, name, printed):
    """Denoeux (2021), Table 3: standardized data, gamma = 1, beta = 2, delta = 5, pairs and the frame."""
    X, y = shared_data(name, standardise=True)
    c = len(np.unique(y))
    model = CCM(c, focal_sets="pairs", beta=2.0, delta=5, n_init=5, random_state=0).fit(
        X
    )
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(printed, abs=0.03)
