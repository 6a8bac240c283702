"""Conformal sets of clusters, and novelty with a guaranteed rate of false alarms."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster._errors import InvalidInputError
from dempster.classify import EKNNClassifier
from dempster.cluster import (
    ECM,
    EGMM,
    ConformalClustering,
    ConformalNoveltyDetector,
    conformal,
)

CENTERS = [[0, 0], [3, 0], [0, 3]]
X, y = make_blobs(400, centers=CENTERS, random_state=0)
NEW, TRUTH = make_blobs(1000, centers=CENTERS, random_state=1)
# the components have the order of the centers
MIXTURE = GaussianMixture(3, means_init=CENTERS, random_state=0)


@pytest.fixture(scope="module")
def model():
    return ConformalClustering(MIXTURE, random_state=0).fit(X)


# ---- clusters ------------------------------------------------------------------------------------


def test_results_agree(model):
    sets = model.predict_set(NEW)
    masses = model.predict_mass(NEW)
    np.testing.assert_allclose(
        masses.contour, model.classifier_.predict_mass(NEW).contour
    )
    np.testing.assert_array_equal(sets, masses.contour > 0.1 + 1e-9)
    np.testing.assert_array_equal(
        model.sets_, model.credal_partition_.contour > 0.1 + 1e-9
    )
    np.testing.assert_allclose(model.soft_labels_.sum(axis=1), 1)
    assert model.n_clusters_ == 3
    assert np.mean(model.predict(NEW) == TRUTH) > 0.87
    np.testing.assert_array_equal(model.labels_, model.clusterer_.predict(X))


def test_coverage_of_new_and_of_clustered_objects(model):
    """The standard deviation of the coverage is about 0.03 for 120 calibration objects."""
    assert 0.82 < model.predict_set(NEW)[np.arange(1000), TRUTH].mean() < 0.99
    assert 0.82 < model.sets_[np.arange(400), y].mean() < 0.99


def test_same_seed_gives_the_same_result(model):
    again = clone(model).fit(X)
    np.testing.assert_array_equal(
        again.credal_partition_.masses, model.credal_partition_.masses
    )
    np.testing.assert_array_equal(again.predict_set(NEW), model.predict_set(NEW))


def test_stability(model):
    noise = np.random.default_rng(0).normal(size=(400, 2))
    unstable = ConformalClustering(
        GaussianMixture(3, random_state=0), random_state=0
    ).fit(noise)
    assert unstable.stability_ < 0.92 < model.stability_ <= 1
    single = ConformalClustering(MIXTURE, n_refits=0, random_state=0).fit(X)
    assert np.isnan(single.stability_)
    np.testing.assert_allclose(single.soft_labels_, single.clusterer_.predict_proba(X))


@pytest.mark.parametrize(("threshold", "merge"), [(0.0, np.mean), (1.0, np.max)])
def test_soft_labels_of_refits(threshold, merge, monkeypatch):
    """Stable clusterings use the mean over the refits, unstable ones the largest probability."""
    monkeypatch.setattr(conformal, "MIN_STABILITY", threshold)
    model = ConformalClustering(MIXTURE, n_refits=3, random_state=0).fit(X)
    rng = np.random.RandomState(0)
    fits = [MIXTURE.fit(X).predict_proba(X)]
    # The means of the refits start at the true ones, so the clusters keep their order.
    for _ in range(3):
        fits.append(MIXTURE.fit(X[np.sort(rng.choice(400, 400))]).predict_proba(X))
    expected = merge(fits, axis=0)
    np.testing.assert_allclose(
        model.soft_labels_, expected / expected.sum(axis=1, keepdims=True)
    )


@pytest.mark.parametrize(
    "clusterer",
    [
        ECM(3, n_init=2, random_state=0),
        EGMM(3, n_init=2, random_state=0),
        make_pipeline(StandardScaler(), ECM(3)),
    ],
    ids=["ECM", "EGMM", "pipeline"],
)
def test_evidential_clusterers(clusterer):
    table = pd.DataFrame(
        X, columns=["a", "b"], index=[f"object {i}" for i in range(400)]
    )
    model = ConformalClustering(
        clusterer, EKNNClassifier(15), n_refits=1, random_state=0
    ).fit(table)
    assert list(model.credal_partition_.index) == list(table.index)
    assert list(model.predict_mass(table[:5]).index) == list(table.index[:5])
    assert model.predict_set(table).mean() < 0.7


def test_default_clusterer_selects_the_number_of_clusters():
    clear, _ = make_blobs(400, centers=2 * np.array(CENTERS), random_state=0)
    model = ConformalClustering(n_refits=1, random_state=0).fit(clear)
    assert isinstance(model.clusterer_, EGMM)
    assert model.n_clusters_ == 3
    again = clone(model).fit(clear)
    np.testing.assert_array_equal(model.sets_, again.sets_)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ConformalClustering(KMeans(2)), "^clusterer must be a clusterer with"),
        (ConformalClustering("ECM"), "^clusterer must be None or an estimator"),
        (
            ConformalClustering(GaussianMixture(1)),
            "^clusterer must find at least two clusters, got 1",
        ),
        (ConformalClustering(MIXTURE, KMeans), "^classifier must be"),
        (ConformalClustering(MIXTURE, confidence=1.0), "^confidence must be"),
        (ConformalClustering(MIXTURE, n_refits=-1), "^n_refits must be"),
    ],
)
def test_invalid_clusterings(model, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.predict_set(X)


@pytest.mark.parametrize(
    ("rows", "confidence", "message"),
    [
        (X, 0.995, "confidence=0.995 needs at least 830 objects, got 400; all sets"),
        (X[:30], 0.9, "confidence=0.9 needs at least 38 objects, got 30; all sets"),
        (
            np.vstack([X[:200], [[1000.0, 0.0], [1000.0, 1.0]]]),
            0.9,
            r"two clusters need at least 10 objects, got sizes \[200, 2\]; all sets",
        ),
    ],
    ids=["confidence", "few objects", "one large cluster"],
)
def test_sets_contain_all_clusters_if_none_can_be_excluded(rows, confidence, message):
    mixture = GaussianMixture(2, random_state=0)
    with pytest.warns(UserWarning, match=f"^{message}"):
        model = ConformalClustering(
            mixture, confidence=confidence, n_refits=0, random_state=0
        ).fit(rows)
    assert model.sets_.all()
    assert model.predict_set(NEW).all()
    assert (model.predict_mass(NEW).contour == 1).all()
    assert (model.credal_partition_.contour == 1).all()
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_summary_of_sets_says_that_clusters_are_not_separated():
    noise = np.random.default_rng(2).uniform(size=(200, 2))
    clusterer = ECM(3, n_init=1, random_state=0)
    model = ConformalClustering(clusterer, n_refits=0, random_state=0).fit(noise)
    assert not model.credal_partition_.summary().is_separated


@parametrize_with_checks(
    [
        ConformalClustering(GaussianMixture(2, random_state=0), n_refits=1),
        ConformalClustering(ECM(3, n_init=1, random_state=0), n_refits=1),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_the_clustering(estimator, check):
    check(estimator)


# ---- novelty -------------------------------------------------------------------------------------


def test_false_alarms():
    """The mean over 20 draws has a standard deviation of 0.005."""
    found = []
    for seed in range(20):
        rows = make_blobs(900, centers=CENTERS, random_state=10 + seed)[0]
        model = ConformalNoveltyDetector(
            GaussianMixture(3), false_alarm_rate=0.1, random_state=seed
        ).fit(rows[:400])
        found.append(np.mean(model.predict(rows[400:]) == -1))
    assert 0.08 < np.mean(found) < 0.12


@pytest.mark.parametrize(
    "detector",
    [
        IsolationForest(n_estimators=20, random_state=0),
        ECM(3, n_init=1, random_state=0),
    ],
    ids=["forest", "empty set"],
)
def test_detections(detector):
    model = ConformalNoveltyDetector(detector, random_state=0).fit(X)
    assert (model.predict(np.full((5, 2), 12.0)) == -1).all()
    assert model.predict(CENTERS).tolist() == [1, 1, 1]
    np.testing.assert_allclose(model.p_values([[12.0, 12.0]]), 1 / 201)


@parametrize_with_checks(
    [
        ConformalNoveltyDetector(IsolationForest(n_estimators=10, random_state=0)),
        ConformalNoveltyDetector(LocalOutlierFactor(novelty=True)),
        ConformalNoveltyDetector(ECM(2, n_init=1, random_state=0)),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_the_detector(estimator, check):
    check(estimator)


@pytest.mark.parametrize("rate", [0.005, 0.05, 0.1, 0.5])
def test_scores_and_alarms_agree(rate):
    """An object is reported if its p-value is at most the rate, also if it equals a calibration object."""
    detector = ConformalNoveltyDetector(
        ECM(3, n_init=1, random_state=0), false_alarm_rate=rate, random_state=0
    ).fit(X)
    rows = np.vstack([X, NEW])
    is_reported = detector.p_values(rows) <= rate * (1 + 1e-9)
    np.testing.assert_array_equal(detector.predict(rows) == -1, is_reported)
    np.testing.assert_array_equal(detector.decision_function(rows) < 0, is_reported)
    np.testing.assert_array_equal(
        detector.score_samples(rows), -detector.detector_.predict_mass(rows).empty
    )


def test_few_calibration_objects_report_nothing():
    detector = ConformalNoveltyDetector(IsolationForest(), false_alarm_rate=0.001)
    with pytest.warns(UserWarning, match="at least 999 .* got 200; .* no object is"):
        detector.fit(X)
    assert (detector.predict([[50.0, 50.0]]) == 1).all()


def test_columns_in_another_order_raise_an_error():
    table = pd.DataFrame(X, columns=["a", "b"])
    detector = ConformalNoveltyDetector(LocalOutlierFactor(novelty=True)).fit(table)
    clusters = ConformalClustering(MIXTURE, n_refits=0).fit(table)
    for method in (
        detector.predict,
        detector.p_values,
        detector.score_samples,
        clusters.predict_set,
        clusters.predict_mass,
    ):
        with pytest.raises(ValueError, match="feature names"):
            method(table[["b", "a"]])
    frozen = FrozenEstimator(LocalOutlierFactor(novelty=True).fit(table))
    with pytest.raises(ValueError, match="feature names"):
        ConformalNoveltyDetector(frozen).fit(table[["b", "a"]])


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_distances_that_overflow(form):
    detector = ConformalNoveltyDetector(LocalOutlierFactor(novelty=True))
    with pytest.raises(InvalidInputError, match="^X must contain numbers of absolute"):
        detector.fit(form(1e160 * X))


def test_fitted_detector():
    forest = IsolationForest(n_estimators=20, random_state=0).fit(X[:200])
    model = ConformalNoveltyDetector(FrozenEstimator(forest)).fit(X[200:])
    np.testing.assert_allclose(
        model.calibration_scores_, np.asarray(-forest.score_samples(X[200:]))
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ConformalNoveltyDetector(KMeans(2)), "^detector must be"),
        (ConformalNoveltyDetector("forest"), "^detector must be"),
    ],
)
def test_invalid_detectors(model, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X)


def test_coverage_of_small_clusters():
    """The mean of the smallest cluster over the draws has a standard deviation of 0.04."""
    rng = np.random.default_rng(204)
    shares = [0.9, 0.08, 0.02]
    centers = np.array([[0, 0], [2.5, 0], [0, 2.5]])
    mixture = GaussianMixture(
        3,
        weights_init=shares,
        means_init=centers,
        covariance_type="tied",
        random_state=0,
    )
    coverage = {False: [], True: []}
    for seed in range(2):
        y = rng.choice(3, size=8000, p=shares)
        X = rng.normal(size=(8000, 2)) + centers[y]
        for by_class, found in coverage.items():
            model = ConformalClustering(
                mixture, n_refits=0, by_class=by_class, random_state=seed
            ).fit(X[:4000])
            sets = model.predict_set(X[4000:])
            hits = sets[np.arange(4000), y[4000:]]
            found.append([hits[y[4000:] == k].mean() for k in range(3)])
    assert np.mean(coverage[False], axis=0).min() < 0.6
    assert np.mean(coverage[True], axis=0).min() >= 0.87


def test_summary_and_small_clusters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    X[:30] += [2.5, 0]
    mixture = GaussianMixture(
        2,
        weights_init=[0.95, 0.05],
        means_init=[[0, 0], [2.5, 0]],
        covariance_type="tied",
        random_state=0,
    )
    model = ConformalClustering(mixture, n_refits=2, random_state=0).fit(X)
    assert model.summary().startswith("On average over all objects")
    assert "by_class=True" in model.summary()
    low = model.classifier_.class_coverage_ < 0.6
    assert low.any() == ("Low coverage" in model.summary())
    each = ConformalClustering(mixture, n_refits=2, by_class=True, random_state=0)
    each.fit(X)
    assert each.summary().startswith("For the objects of each cluster separately")
    far = clone(mixture).set_params(means_init=[[0, 0], [20, 20]])
    few = clone(each).set_params(clusterer=far, n_refits=0)
    with pytest.warns(UserWarning, match="two clusters need at least|by_class=True"):
        few.fit(np.concatenate([X[30:], X[:3] + 20]))
    assert "All sets contain all clusters" in few.summary()
    # A third cluster is too small for a calibration of its own.
    mixture = GaussianMixture(
        3, means_init=[[0, 0], [8, 0], [20, 20]], covariance_type="tied"
    )
    third = np.concatenate([X[30:330], X[330:] + [8, 0], X[:3] + 20])
    all_clusters = ConformalClustering(
        mixture, n_refits=0, by_class=True, random_state=0
    )
    with pytest.warns(UserWarning, match="by_class=True needs at least 10 objects"):
        all_clusters.fit(third)
